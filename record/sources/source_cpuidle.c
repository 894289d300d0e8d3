/* Idle states as the kernel counts them: entries, time, and how often the choice was wrong. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "record/sources/filegrid.h"
#include "record/plan/member.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"

#define STATES_MAX 16
#define SYS_CPU    "/sys/devices/system/cpu/"

struct state {
	char name[48], part[48], shown[48];
};

/* CPUs with the same states are one matrix; hybrids have several. */
struct idle_set {
	struct state state[STATES_MAX];
	unsigned n;
	struct filegrid *grid;
	struct idle_set *next;
};

struct cpuidle {
	struct filegrid *grids;
	struct idle_set *sets; /* only while planning */
	bool full;             /* no more files can be opened, which has been said */
};

/*
 * The name is that of turbostat's columns: cut at '-' ("C6-SKX"), without '_' ("C1_ACPI"). Where that leaves two
 * states of a CPU with one name (LPI-0, LPI-1), the state's number makes the difference.
 */
static void name_state(struct idle_set *set, unsigned k, const char *name)
{
	struct state *s = &set->state[k];
	size_t n = 0;

	snprintf(s->name, sizeof(s->name), "%s", name);
	for (const char *p = name; *p && *p != '-' && n + 8 < sizeof(s->shown); p++)
		if (*p != '_')
			s->shown[n++] = isalnum((unsigned char)*p) ? *p : '_';
	s->shown[n] = '\0';
	for (unsigned i = 0; i < k; i++) {
		if (strcasecmp(set->state[i].shown, s->shown))
			continue;
		snprintf(s->shown + n, sizeof(s->shown) - n, "_%u", k);
		break;
	}
	member_part(s->part, sizeof(s->part), s->shown, strlen(s->shown));
}

static void read_states(const struct plan *p, uint32_t cpu, struct idle_set *set)
{
	char name[48];

	memset(set, 0, sizeof(*set)); /* sets are compared as memory */
	while (set->n < STATES_MAX &&
	       !root_line(p->root, name, sizeof(name), SYS_CPU "cpu%u/cpuidle/state%u/name", cpu, set->n))
		name_state(set, set->n++, name);
}

static struct idle_set *find_set(struct cpuidle *d, struct plan *p, const struct idle_set *like)
{
	struct idle_set *set;

	for (set = d->sets; set; set = set->next)
		if (set->n == like->n && !memcmp(set->state, like->state, like->n * sizeof(like->state[0])))
			return set;
	set = malloc(sizeof(*set));
	if (!set)
		return NULL;
	*set = *like;
	set->grid = filegrid_new(p);
	if (!set->grid) {
		free(set);
		return NULL;
	}
	/* The kernel counts an entry, its time and whether it was a wrong choice at once, when it is over. */
	set->grid->own_times = true;
	set->grid->tells = set->n;
	set->next = d->sets;
	d->sets = set;
	return set;
}

static int64_t state_counter(struct plan *p, const struct catalog_counter *row, const struct state *s)
{
	char family[32];

	snprintf(family, sizeof(family), "%.*s", (int)(strlen(row->name) - 2), row->name);
	return member_counter(p, row, &(struct member){ .part = s->part, .shown = s->shown, .family = family });
}

static int add_cpu(struct cpuidle *d, struct plan *p, uint32_t cpu, const struct idle_set *like)
{
	int64_t instance = plan_cpu_instance(p, cpu), counter;
	struct idle_set *set;
	const struct catalog_counter *row;
	size_t n;
	int err;

	if (instance < 0)
		return (int)instance;
	row = catalog_source("cpuidle", &n);
	if (!like->n || d->full)
		return 0;
	set = find_set(d, p, like);
	if (!set)
		return -ENOMEM;
	for (size_t r = 0; r < n; r++) {
		for (unsigned k = 0; k < set->n; k++) {
			counter = state_counter(p, &row[r], &set->state[k]);
			if (counter < 0)
				return (int)counter;
			err = filegrid_add(set->grid, counter, instance, cpu, 0, SYS_CPU "cpu%u/cpuidle/state%u/%s",
					   cpu, k, row[r].key);
			if (err == -EMFILE) {
				d->full = true;
				/* Half a CPU would make a list of the matrix. */
				filegrid_drop(set->grid, cpu);
				return plan_refused(p, pm_reason_errno(err), "a higher `ulimit -Hn`",
						    "cpuidle of CPU %u and those after it", cpu);
			}
			/* Old kernels have no above and below. */
			if (err && err != -ENOENT)
				plan_refused(p, filegrid_reason(err, false), NULL, "cpu%u/cpuidle/state%u/%s", cpu, k,
					     row[r].key);
		}
	}
	return 0;
}

static const struct {
	const char *file;
	bool number;
} state_facts[] = {
	{ "desc", false },           { "latency", true }, { "residency", true },
	{ "default_status", false }, { "disable", true },
};

static int config_cpu(struct plan *p, uint32_t cpu, const struct idle_set *set)
{
	char line[128];
	int err = 0;

	for (unsigned k = 0; k < set->n && !err; k++) {
		err = plan_config(p, PM_CPU, cpu, PM_PRIVACY_TECHNICAL, pm_text(set->state[k].name),
				  "cpuidle.state%u.name", k);
		for (size_t f = 0; f < sizeof(state_facts) / sizeof(state_facts[0]) && !err; f++) {
			const char *file = state_facts[f].file;
			uint64_t v;

			if (root_line(p->root, line, sizeof(line), SYS_CPU "cpu%u/cpuidle/state%u/%s", cpu, k, file))
				continue;
			if (!state_facts[f].number)
				err = plan_config(p, PM_CPU, cpu, PM_PRIVACY_TECHNICAL, pm_text(line),
						  "cpuidle.state%u.%s", k, file);
			else if (!filegrid_parse(line, &v))
				err = plan_config(p, PM_CPU, cpu, PM_PRIVACY_TECHNICAL, pm_u64(v),
						  "cpuidle.state%u.%s", k, file);
		}
	}
	return err;
}

static int config_system(struct plan *p)
{
	static const char *const file[] = { "current_driver", "current_governor_ro", "current_governor",
					    "low_power_idle_cpu_residency_us", "low_power_idle_system_residency_us" };
	char line[64];
	int err = 0;

	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]) && !err; i++)
		if (!root_line(p->root, line, sizeof(line), SYS_CPU "cpuidle/%s", file[i]))
			err = plan_config(p, PM_SYSTEM, PM_NONE, PM_PRIVACY_TECHNICAL, pm_text(line), "cpuidle.%s",
					  file[i]);
	return err;
}

static int commit_sets(struct cpuidle *d, struct plan *p, int err)
{
	while (d->sets) {
		struct idle_set *set = d->sets;

		d->sets = set->next;
		err = filegrid_finish(set->grid, p, &d->grids, err);
		free(set);
	}
	return err;
}

static int cpuidle_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cpuidle *d = calloc(1, sizeof(*d));
	int err = d ? 0 : -ENOMEM;

	s->data = d;
	if (!err)
		err = config_system(p);
	for (size_t i = 0; i < p->cpus.n && !err; i++) {
		struct idle_set set;

		read_states(p, p->cpus.cpu[i], &set);
		err = add_cpu(d, p, p->cpus.cpu[i], &set);
		if (!err)
			err = config_cpu(p, p->cpus.cpu[i], &set);
	}
	if (d)
		err = commit_sets(d, p, err);
	if (err || d->grids)
		return err;
	return plan_refused(p, PM_REASON_NOT_SUPPORTED, "load a cpuidle driver; virtual machines often have none",
			    SYS_CPU "cpuN/cpuidle");
}

static int cpuidle_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct cpuidle *d = s->data;
	struct idle_set set;

	if (!d || cpu == PM_NONE || filegrid_cpu(d->grids, cpu, online) || !online || !plan_wants_cpu(p, cpu))
		return 0;
	read_states(p, cpu, &set);
	return commit_sets(d, p, add_cpu(d, p, cpu, &set));
}

static void cpuidle_release(struct source *s)
{
	free(s->data);
	s->data = NULL;
}

const struct source_ops source_cpuidle = {
	.name = "cpuidle",
	.help = "idle states: entries, time, wrong choices (sysfs)",
	.plan = cpuidle_plan,
	.update = cpuidle_update,
	.release = cpuidle_release,
};
