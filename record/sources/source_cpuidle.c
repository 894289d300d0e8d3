/* Idle states as the kernel counts them: entries, time, and how often the choice was wrong. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define STATES_MAX 16
#define ROWS_MAX   8
#define SYS_CPU    "/sys/devices/system/cpu/"

struct state {
	char name[48], part[48], shown[48];
};

/* CPUs with the same states are one matrix; hybrids may have several. */
struct idle_kind {
	uint32_t type; /* of the last of the CPUs, as in the topology */
	bool apart;    /* the kernel describes the states of some of them apart */
	struct state state[STATES_MAX];
	unsigned n;
	int64_t counter[ROWS_MAX][STATES_MAX]; /* ids */
	struct filegrid *grid;
	struct cpulist cpus; /* those that have idle states */
	struct idle_kind *next;
};

struct cpuidle {
	struct filegrid *grids;
	/* only while planning */
	struct idle_kind *kinds;
	bool many_drivers; /* whether CPUs may have different drivers */
	int why;           /* the error by which a CPU has no states */
};

/* How much of a state's name is shown: Intel's driver appends the processor ("C6-SKX"), which is no part of it. */
static size_t shown_length(const char *name)
{
	size_t len = strcspn(name, "-"), initials = strspn(name + len, "-ABCDEFGHIJKLMNOPQRSTUVWXYZ");

	return name[0] == 'C' && isdigit((unsigned char)name[1]) && initials > 1 && !name[len + initials] ?
		       len :
		       strlen(name);
}

static bool is_taken(const struct idle_kind *kind, unsigned n, const char *part)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(kind->state[i].part, part))
			return true;
	return false;
}

/* C-states have the names of turbostat's columns: "C6-SKX" is C6, "C1_ACPI" is C1ACPI. Others ("cpu-sleep-0-0",
 * "stop0_lite") keep theirs. If two states of a CPU would have the same counters, the state's number distinguishes
 * them. */
static void name_state(struct idle_kind *kind, unsigned k, const char *name)
{
	struct state *s = &kind->state[k];
	bool c_state = name[0] == 'C' && isdigit((unsigned char)name[1]);
	size_t n = 0, len = shown_length(name);

	snprintf(s->name, sizeof(s->name), "%s", name);
	for (size_t i = 0; i < len && n + 16 < sizeof(s->shown); i++)
		if (name[i] != '_' || !c_state)
			s->shown[n++] = isalnum((unsigned char)name[i]) || strchr("-.", name[i]) ? name[i] : '_';
	if (!n)
		n = (size_t)snprintf(s->shown, sizeof(s->shown), "state%u", k);
	s->shown[n] = '\0';
	member_part(s->part, sizeof(s->part), s->shown, n);
	for (unsigned number = k; is_taken(kind, k, s->part); number++) {
		snprintf(s->shown + n, sizeof(s->shown) - n, "_%u", number);
		member_part(s->part, sizeof(s->part), s->shown, strlen(s->shown));
	}
}

static int read_states(const struct plan *p, uint32_t cpu, struct idle_kind *kind)
{
	char name[48];
	int err = 0;

	while (kind->n < STATES_MAX &&
	       !(err = root_line(p->root, name, sizeof(name), SYS_CPU "cpu%u/cpuidle/state%u/name", cpu, kind->n)))
		name_state(kind, kind->n++, name);
	return kind->n ? 0 : err;
}

static int64_t state_counter(struct plan *p, const struct catalog_counter *row, const struct state *s)
{
	char family[32];

	snprintf(family, sizeof(family), "%.*s", (int)(strlen(row->name) - 2), row->name);
	return member_counter(p, row, &(struct member){ .part = s->part, .shown = s->shown, .family = family });
}

/* The kind of a CPU. A kernel with one driver for all CPUs has one description of the states of a type. NULL: the CPU
 * has no states. */
static struct idle_kind *find_kind(struct cpuidle *d, struct plan *p, uint32_t cpu)
{
	const struct pm_cpu *c = pm_topology_cpu(&p->model->topology, cpu);
	uint32_t type = c ? c->type : PM_NONE;
	const struct catalog_counter *row;
	struct idle_kind *kind, *new;
	size_t n;

	if (!d->kinds)
		d->many_drivers = root_exists(p->root, SYS_CPU "cpu%u/cpuidle/driver", cpu);
	for (kind = d->many_drivers ? NULL : d->kinds; kind; kind = kind->next)
		if (kind->type == type)
			return kind;
	new = memory_new(1, sizeof(*new)); /* states are compared as memory */
	d->why = read_states(p, cpu, new);
	for (kind = d->why ? NULL : d->kinds; kind && memcmp(kind->state, new->state, sizeof(new->state));)
		kind = kind->next;
	if (kind) {
		kind->type = type;
		kind->apart = true;
	}
	if (d->why || kind) {
		free(new);
		return kind;
	}
	new->type = type;
	new->grid = filegrid_new(p);
	row = catalog_source("cpuidle", &n);
	for (size_t r = 0; r < n && r < ROWS_MAX; r++)
		for (unsigned k = 0; k < new->n; k++)
			new->counter[r][k] = state_counter(p, &row[r], &new->state[k]);
	/* The kernel counts an entry, its time and whether the choice was wrong together, when it is over. */
	new->grid->own_times = true;
	new->grid->tells = new->n;
	new->grid->expects = (uint64_t)n *new->n * p->cpus.n;
	new->next = d->kinds;
	return d->kinds = new;
}

static void add_cpu(struct cpuidle *d, struct plan *p, uint32_t cpu)
{
	int64_t instance = plan_cpu_instance(p, cpu);
	struct idle_kind *kind = find_kind(d, p, cpu);
	const struct catalog_counter *row;
	struct filegrid *g;
	uint32_t before;
	size_t n;
	int err;

	if (!kind)
		return;
	row = catalog_source("cpuidle", &n);
	g = kind->grid;
	before = g->n;
	for (size_t r = 0; r < n && r < ROWS_MAX; r++) {
		for (unsigned k = 0; k < kind->n; k++) {
			err = filegrid_add(g, kind->counter[r][k], instance, cpu, 0,
					   SYS_CPU "cpu%u/cpuidle/state%u/%s", cpu, k, row[r].key);
			/* Old kernels have no above and below. */
			if (err && err != -ENOENT && err != -E2BIG)
				plan_refused(p, filegrid_reason(err, false), pm_remark(0),
					     pm_remark(PM_REMARK_CPUIDLE_FILE, cpu, k, row[r].key));
		}
	}
	if (g->n > before)
		memory_must(cpulist_add(&kind->cpus, cpu));
}

/* Facts about states. */
static void config_kind(struct plan *p, const struct idle_kind *kind)
{
	static const struct {
		const char *file;
		bool number, each; /* each: it differs between CPUs */
	} fact[] = { { "desc", false, false },
		     { "latency", true, false },
		     { "residency", true, false },
		     { "default_status", false, false },
		     { "disable", true, true } };
	char line[128];
	uint64_t v;

	for (unsigned k = 0; k < kind->n && kind->cpus.n; k++) {
		plan_config_cpus(p, &kind->cpus, pm_text(kind->state[k].name), "cpuidle.state%u.name", k);
		for (size_t f = 0; f < sizeof(fact) / sizeof(fact[0]); f++) {
			const bool each = fact[f].each || kind->apart;

			for (size_t i = 0; i < (each ? kind->cpus.n : 1); i++) {
				struct cpulist one = { .cpu = &kind->cpus.cpu[i], .n = 1 };

				if (root_line(p->root, line, sizeof(line), SYS_CPU "cpu%u/cpuidle/state%u/%s",
					      one.cpu[0], k, fact[f].file) ||
				    (fact[f].number && filegrid_parse(line, &v)))
					continue;
				plan_config_cpus(p, each ? &one : &kind->cpus,
						 fact[f].number ? pm_u64(v) : pm_text(line), "cpuidle.state%u.%s", k,
						 fact[f].file);
			}
		}
	}
}

static void config_system(struct plan *p)
{
	static const char *const file[] = { "current_driver", "current_governor_ro", "current_governor",
					    "low_power_idle_cpu_residency_us", "low_power_idle_system_residency_us" };
	char line[64];

	for (size_t i = 0; i < sizeof(file) / sizeof(file[0]); i++)
		if (!root_line(p->root, line, sizeof(line), SYS_CPU "cpuidle/%s", file[i]))
			plan_fact(p, pm_text(line), "cpuidle.%s", file[i]);
}

static void commit(struct cpuidle *d, struct plan *p, bool facts)
{
	while (d->kinds) {
		struct idle_kind *kind = d->kinds;

		d->kinds = kind->next;
		if (facts)
			config_kind(p, kind);
		filegrid_finish(kind->grid, p, &d->grids);
		cpulist_release(&kind->cpus);
		free(kind);
	}
}

static int cpuidle_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cpuidle *d = s->data = memory_new(1, sizeof(*d));

	config_system(p);
	for (size_t i = 0; i < p->cpus.n; i++)
		add_cpu(d, p, p->cpus.cpu[i]);
	commit(d, p, true);
	if (d->grids)
		return 0;
	return filegrid_refused(p, d->why ? d->why : -ENOENT, PM_REMEDY_CPUIDLE, SYS_CPU "cpuN/cpuidle");
}

static void cpuidle_update(struct source *s, struct plan *p, uint32_t cpu, bool online)
{
	struct cpuidle *d = s->data;

	if (cpu == PM_NONE || filegrid_cpu(d->grids, cpu, online) || !online || !plan_wants_cpu(p, cpu))
		return;
	add_cpu(d, p, cpu);
	commit(d, p, false);
}

/* Its units own the grids. */
static void cpuidle_release(struct source *s)
{
}

const struct source_ops source_cpuidle = {
	.name = "cpuidle",
	.help = "idle states: entries, time, wrong choices (sysfs)",
	.plan = cpuidle_plan,
	.update = cpuidle_update,
	.release = cpuidle_release,
};
