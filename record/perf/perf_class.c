#include "record/perf/perf_class.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/array.h"
#include "common/event/class_pmu.h"
#include "record/host/clocks.h"
#include "record/host/cputype.h"
#include "record/perf/pci_config.h"
#include "record/perf/perf_group.h"

#define DEVICES "/sys/bus/event_source/devices"

struct class_instance {
	const struct event_pmu *pmu;
	uint32_t cpu, id;
};

struct perf_classes {
	struct class_pmu *pmu;           /* owned, one for each PMU that has a class */
	struct class_instance *instance; /* owned; those in the recording */
	size_t n_instances;
	struct pci_map pci;
	bool pci_wanted;
	uint64_t family; /* of an x86 processor; 0: another */
	uint64_t midr;   /* implementer and part of an Arm processor; 0: another */
	char soc[32];    /* "jep106:0a16:0001"; empty: unknown */
};

void perf_classes_release(struct perf_pmus *p)
{
	if (!p->classes)
		return;
	pci_map_release(&p->classes->pci);
	free(p->classes->pmu);
	free(p->classes->instance);
	free(p->classes);
	p->classes = NULL;
}

const struct pmu_class *perf_class(const struct event_pmu *pmu)
{
	return pmu->class ? ((const struct class_pmu *)pmu->hook_data)->class : NULL;
}

const struct event_pmu *perf_class_first(const struct perf_pmus *p, const struct pmu_class *c)
{
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) == c)
			return &p->pmu[i];
	return NULL;
}

const struct pci_map *perf_classes_pci(const struct perf_pmus *p)
{
	return p->classes && p->classes->pci_wanted ? &p->classes->pci : NULL;
}

static int set_text(char **to, const char *text)
{
	if (*to || !text)
		return 0;
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* Its files contain neither units nor descriptions. */
static int describe(struct event_pmu *pmu, const struct pmu_class *c)
{
	int err = 0;

	for (size_t i = 0; i < pmu->n_aliases && !err; i++) {
		const struct pmu_class_event *ev = pmu_class_event(c, pmu->alias[i].name);

		if (!ev)
			continue;
		err = set_text(&pmu->alias[i].help, ev->help);
		if (!err)
			err = set_text(&pmu->alias[i].unit, ev->unit);
	}
	return err;
}

/* Whether a kernel older than the hardware gives it another name, and names at most its clock. */
static bool is_unnamed(const struct event_pmu *pmu, const struct pmu_class *c)
{
	for (size_t i = 0; i < pmu->n_aliases; i++)
		if (strcasecmp(pmu->alias[i].name, PMU_CLASS_CLOCK) && strcasecmp(pmu->alias[i].name, "bus_cycles") &&
		    pmu_class_event(c, pmu->alias[i].name))
			return false;
	return event_pmu_format(pmu, "event");
}

/* Whether the PMU has formats for "event=0x0a,rdwrmask=0x1", wide enough. */
static bool takes(const struct event_pmu *pmu, const char *terms)
{
	struct event_term *term;
	int n = event_terms_parse(&term, terms, NULL);
	bool all = n > 0;

	for (int i = 0; i < n && all; i++) {
		uint64_t config[EVENT_CONFIGS] = { 0 }, max;
		const char *format = event_pmu_format(pmu, term[i].key);

		all = format && !event_format_pack(format, term[i].number, config, &max);
	}
	if (n > 0)
		event_terms_free(term, (size_t)n);
	return all;
}

/* Of the first CPU, of perhaps hundreds. */
static uint64_t family_of(const struct root *root)
{
	SCOPED(fd_close) int fd = root_open(root, "/proc/cpuinfo");
	char text[1024] = "";
	const char *line = fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ? NULL : strstr(text, "cpu family\t: ");

	return line ? strtoull(line + strlen("cpu family\t: "), NULL, 10) : 0;
}

/* Whether an event's words mean that on this PMU (struct pmu_class_event.where). */
static bool is_there(const struct perf_classes *all, const struct event_pmu *pmu, const char *where)
{
	size_t equals = strcspn(where, "=");
	const char *format;
	char name[32];

	if (!strncmp(where, "family=", 7))
		return strtoull(where + 7, NULL, 10) == all->family;
	if (!strncmp(where, "midr=", 5))
		return strtoull(where + 5, NULL, 16) == all->midr;
	if (!strncmp(where, "soc=", 4))
		return !strcmp(where + 4, all->soc);
	snprintf(name, sizeof(name), "%.*s", (int)equals, where);
	format = event_pmu_format(pmu, name);
	return format && !strcmp(format, where + equals + 1);
}

static int name_events(const struct perf_classes *all, struct event_pmu *pmu, const struct pmu_class *c)
{
	struct event_alias *bigger;
	size_t n = 0;

	while (c->event[n].name)
		n++;
	bigger = realloc(pmu->alias, (pmu->n_aliases + n + 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	pmu->alias = bigger;
	for (size_t i = 0; i < n; i++) {
		struct event_alias *a = &pmu->alias[pmu->n_aliases];
		bool have = event_pmu_alias(pmu, c->event[i].name, strlen(c->event[i].name));
		char code[32];

		snprintf(code, sizeof(code), "event=0x%llx", (unsigned long long)c->event[i].code);
		if (have || (c->pmu && (!c->event[i].terms || !takes(pmu, c->event[i].terms))) ||
		    (c->event[i].where && !is_there(all, pmu, c->event[i].where)))
			continue;
		*a = (struct event_alias){ .name = strdup(c->event[i].name),
					   .text = strdup(c->event[i].terms ? c->event[i].terms : code) };
		pmu->n_aliases++;
		if (!a->name || !a->text)
			return -ENOMEM;
	}
	return 0;
}

/* Where to open a PMU outside the cores without a mask: once for the CPUs it says it belongs to, else once per
 * package. */
static int add_mask(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	struct buf firsts = BUF_INIT;
	bool one = !root_cpulist(root, &cpus, DEVICES "/%s/associated_cpus", pmu->name) && cpus.n;
	uint64_t package, seen[64] = { 0 };

	if (!one)
		(void)root_cpulist(root, &cpus, "/sys/devices/system/cpu/online");
	for (size_t i = 0; i < cpus.n && !(one && i); i++) {
		if (root_u64(root, &package, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id",
			     cpus.cpu[i]))
			package = 0;
		if (package < 4096 && !(seen[package / 64] >> package % 64 & 1))
			buf_printf(&firsts, "%s%u", firsts.len ? "," : "", cpus.cpu[i]);
		seen[package / 64 % 64] |= UINT64_C(1) << package % 64;
	}
	pmu->uncore = true;
	pmu->cpus = buf_detach(&firsts);
	return pmu->cpus ? 0 : -ENOMEM;
}

/* clang-format off */
/* The kernel's PMUs that count what several CPUs share, and the file of these, for the case that nothing else tells. */
static const struct {
	const char *pmu, *siblings;
} shared[] = {
	{ "power", "core_siblings_list" },
	{ "power_core", "thread_siblings_list" },
	{ "cstate_pkg", "core_siblings_list" },
	{ "cstate_core", "thread_siblings_list" },
	{ "cstate_module", "cluster_cpus_list" },
};
/* clang-format on */

/* Where to open such a PMU without a mask: on the first CPU of each package or core, because others would count the
 * same once more. */
static int add_shared_mask(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(cpulist_release) struct cpulist online = { 0 };
	SCOPED(buf_release) struct buf firsts = BUF_INIT;
	size_t k = 0;

	while (k < sizeof(shared) / sizeof(shared[0]) && strcmp(shared[k].pmu, pmu->name))
		k++;
	if (k == sizeof(shared) / sizeof(shared[0]) || pmu->cpus)
		return 0;
	(void)root_cpulist(root, &online, "/sys/devices/system/cpu/online");
	for (size_t i = 0; i < online.n; i++) {
		SCOPED(cpulist_release) struct cpulist with = { 0 };

		if (!root_cpulist(root, &with, "/sys/devices/system/cpu/cpu%u/topology/%s", online.cpu[i],
				  shared[k].siblings) &&
		    with.n && with.cpu[0] != online.cpu[i])
			continue;
		buf_printf(&firsts, "%s%u", firsts.len ? "," : "", online.cpu[i]);
	}
	pmu->uncore = true;
	pmu->cpus = buf_detach(&firsts);
	return pmu->cpus ? 0 : -ENOMEM;
}

static int classify(struct perf_classes *all, struct event_pmu *pmu, const struct pmu_class *c,
		    struct class_pmu *self, const struct root *root)
{
	char peer[64] = "";
	int err = 0;

	root_line(root, peer, sizeof(peer), DEVICES "/%s/peer", pmu->name);
	class_pmu_init(self, c, pmu->name, peer[0] ? peer : NULL, &all->pci);
	self->counters = c->counters;
	pmu->class = c->name;
	pmu->hooks = c->pmu ? NULL : &nvidia_hooks;
	pmu->hook_data = self;
	all->pci_wanted |= c->per_rc;
	if (!pmu->core && !pmu->cpus)
		err = add_mask(pmu, root);
	if (!err && (c->pmu || is_unnamed(pmu, c)))
		err = name_events(all, pmu, c);
	return err ? err : describe(pmu, c);
}

static bool overlap(const struct cpulist *a, const struct cpulist *b)
{
	for (size_t i = 0; i < a->n; i++)
		if (cpulist_has(b, a->cpu[i]))
			return true;
	return false;
}

/* The first NUMA node with CPUs of a list; nodes list the online ones. -1: unknown. */
static int node_of(const struct root *root, const char *cpus)
{
	SCOPED(cpulist_release) struct cpulist wanted = { 0 };
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, "/sys/devices/system/node"), node = -1;
	bool known = !cpulist_parse(&wanted, cpus, false, NULL);

	for (int i = 0; i < n && known; i++) {
		SCOPED(cpulist_release) struct cpulist list = { 0 };
		char *end;
		long number = strncmp(names[i], "node", 4) ? -1 : strtol(names[i] + 4, &end, 10);

		if (number < 0 || *end || end == names[i] + 4 || (node >= 0 && number > node))
			continue;
		if (!root_cpulist(root, &list, "/sys/devices/system/node/%s/cpulist", names[i]) &&
		    overlap(&wanted, &list))
			node = (int)number;
	}
	return node;
}

/* Assigns the PMUs of root complexes to the sockets of the root ports. */
static int find_sockets(struct perf_pmus *p, const struct root *root)
{
	struct perf_classes *all = p->classes;
	SCOPED(scoped_free) char(*cpus)[256] = calloc(p->n + 1, sizeof(*cpus));
	SCOPED(scoped_free) const char **text = calloc(p->n + 1, sizeof(*text));
	SCOPED(scoped_free) struct class_pmu **pmu = calloc(p->n + 1, sizeof(*pmu));
	size_t n = 0;

	if (!cpus || !text || !pmu)
		return -ENOMEM;
	for (size_t i = 0; i < p->n; i++) {
		if (!perf_class(&p->pmu[i]) || !perf_class(&p->pmu[i])->per_rc)
			continue;
		pmu[n] = p->pmu[i].hook_data;
		root_line(root, cpus[n], sizeof(*cpus), DEVICES "/%s/associated_cpus", p->pmu[i].name);
		text[n] = cpus[n];
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		int socket = cpus[i][0] ? pci_map_socket(&all->pci, text, n, i, node_of(root, cpus[i])) : -1;

		if (socket >= 0)
			pmu[i]->socket = socket;
	}
	return 0;
}

int perf_classes_find(struct perf_pmus *p, const struct root *root)
{
	struct perf_classes *all = NULL;
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < p->n; i++)
		n += pmu_class_of(p->pmu[i].name, p->pmu[i].identifier) != NULL;
	all = p->classes = calloc(1, sizeof(*all));
	if (!all || !(all->pmu = calloc(n + 1, sizeof(*all->pmu))))
		return -ENOMEM;
	n = 0;
	all->family = family_of(root);
	all->midr = cputype_chip(root, all->soc);
	for (size_t i = 0; i < p->n && !err; i++) {
		const struct pmu_class *c = pmu_class_of(p->pmu[i].name, p->pmu[i].identifier);

		err = c ? classify(all, &p->pmu[i], c, &all->pmu[n++], root) : add_shared_mask(&p->pmu[i], root);
	}
	if (!err && all->pci_wanted)
		err = pci_map_read(&all->pci, root);
	return err || all->pci.state != PCI_KNOWN ? err : find_sockets(p, root);
}

int64_t perf_class_instance(struct perf_pmus *p, struct plan *plan, const struct event_pmu *pmu, uint32_t cpu)
{
	struct perf_classes *all = p->classes;
	struct pm_instance i = { .kind = PM_PMU, .number = PM_NONE, .cpu = cpu };
	char cpus[256] = "";
	int64_t added;
	int err;

	for (size_t k = 0; k < all->n_instances; k++)
		if (all->instance[k].pmu == pmu && all->instance[k].cpu == cpu)
			return all->instance[k].id;
	if (array_room(&all->instance, all->n_instances, sizeof(*all->instance)))
		return -ENOMEM;
	root_line(plan->root, cpus, sizeof(cpus), DEVICES "/%s/associated_cpus", pmu->name);
	err = pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(pmu->name));
	if (!err && cpus[0])
		err = pm_map_set(&i.attrs, PM_INSTANCE_CPUS, pm_text(cpus));
	added = plan_instance(plan, &i, err);
	if (added > 0)
		all->instance[all->n_instances++] = (struct class_instance){ pmu, cpu, (uint32_t)added };
	return added;
}

/* Whether it is one of several of its kind, by class or number; power and C-states belong to their CPUs. */
static bool is_device(const struct event_pmu *pmu)
{
	size_t len = strlen(pmu->name);

	return perf_class(pmu) || (pmu->uncore && len && isdigit((unsigned char)pmu->name[len - 1]));
}

const struct event_pmu *perf_class_of_group(const struct perf_pmus *p, const struct perf_group *g)
{
	uint32_t first = g->member[0]->ev->pmu_index;

	for (uint32_t k = 1; k < g->n; k++)
		if (g->member[k]->ev->pmu_index != first)
			return NULL;
	return first != EVENT_NONE && is_device(&p->pmu[first]) ? &p->pmu[first] : NULL;
}

static bool is_clock(const struct perf_event *e)
{
	const char *slash = strchr(e->ev->name, '/');
	size_t len = strlen(PMU_CLASS_CLOCK);

	return slash && !strncasecmp(slash + 1, PMU_CLASS_CLOCK, len) && strchr("/,", slash[1 + len]);
}

int perf_class_stands(const struct event_pmu *pmu, const struct perf_group *g, struct plan *plan)
{
	const struct pmu_class *c = perf_class(pmu);
	uint64_t enabled, running, count;

	for (uint32_t k = 0; k < g->n; k++) {
		if (perf_row_count(g->row[0], k, &count, &enabled, &running) || !enabled)
			continue;
		if (!running)
			return plan_refused(plan, PM_REASON_NOT_COUNTED, NULL,
					    "%s never got a counter: others hold them, or %s", g->member[k]->ev->name,
					    c && c->still ? c->still : "the unit is not in use");
		if (c && is_clock(g->member[k]) && !count)
			return plan_refused(plan, PM_REASON_NOT_COUNTED, NULL, "%s: its clock does not run: %s",
					    pmu->name, c->still ? c->still : "the unit is not in use");
	}
	return 0;
}

/* ---- how many counters ---- */

/* Fills in attr words of an event of the PMU that needs a programmable counter. */
static int countable(const struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root,
		     union perf_attr *attr)
{
	SCOPED(event_set_release) struct event_set set = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct error e = { 0 };
	char text[160];
	int err = -ENOENT;

	for (size_t i = 0; i < pmu->n_aliases && err == -ENOENT; i++) {
		if (!strcasecmp(pmu->alias[i].name, PMU_CLASS_CLOCK))
			continue;
		snprintf(text, sizeof(text), "%s/%s/", pmu->name, pmu->alias[i].name);
		err = perf_events_of(p, root, text, &set, &notes, &e);
		if (!err)
			perf_attr_fill(attr, &set.event[0]);
	}
	return err;
}

static unsigned open_group(const union perf_attr *attr, int cpu)
{
	int fd[PERF_CLASS_COUNTERS];
	unsigned n = 0;

	while (n < PERF_CLASS_COUNTERS) {
		union perf_attr one = *attr;

		one.a.disabled = !n;
		fd[n] = perf_open_relaxed(&one, perf_on_cpu(cpu), n ? fd[0] : -1);
		if (fd[n] < 0)
			break;
		n++;
	}
	for (unsigned i = n; i-- > 0;)
		close(fd[i]);
	return n;
}

int perf_class_probe(struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root)
{
	const struct pmu_class *c = perf_class(pmu);
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	union perf_attr attr;
	unsigned n = 0;
	int err;

	if (!c || perf_class_counters(pmu) || root->emulated)
		return 0;
	err = countable(p, pmu, root, &attr);
	if (err)
		return err == -ENOMEM ? err : 0;
	if (pmu->cpus && !cpulist_parse(&cpus, pmu->cpus, false, NULL) && cpus.n)
		n = open_group(&attr, (int)cpus.cpu[0]);
	/* All PMUs of a class are the same hardware. */
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) == c)
			((struct class_pmu *)p->pmu[i].hook_data)->counters = n;
	return 0;
}

unsigned perf_class_counters(const struct event_pmu *pmu)
{
	return perf_class(pmu) ? ((const struct class_pmu *)pmu->hook_data)->counters : 0;
}

void perf_class_refuse(const struct event_pmu *pmu, uint16_t reason)
{
	struct class_pmu *c = pmu && pmu->class ? pmu->hook_data : NULL;

	if (c && !c->refused)
		c->refused = reason;
}

int perf_classes_record(const struct perf_pmus *p, struct pm_model *m)
{
	int err = 0;

	for (size_t i = 0; i < p->n && i < m->n_pmus && !err; i++) {
		const struct class_pmu *c = p->pmu[i].class ? p->pmu[i].hook_data : NULL;

		if (c && c->refused)
			err = pm_map_set(&m->pmu[i].attrs, PM_PMU_REFUSED, pm_u64(c->refused));
	}
	return err;
}

int perf_classes_check(struct perf_pmus *p, const struct event_set *set, const struct plan *plan, struct error *e)
{
	struct event_view view = perf_view(p, plan->root);
	bool asked = plan->options->perf.events || plan->options->perf.metrics;
	int err = 0;

	for (size_t i = 0; i < set->n && !err; i++) {
		const struct event *ev = &set->event[i];
		const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &p->pmu[ev->pmu_index];

		if (!pmu || !perf_class(pmu))
			continue;
		if (asked && pmu->hooks && plan->options->target != TARGET_SYSTEM)
			return error_set(e, EINVAL, "\"%.80s\" counts a socket and cannot follow a %s", ev->text,
					 plan->options->target == TARGET_COMMAND ?
						 "command: add -a" :
						 "process or thread; use -a instead of -p and -t");
		err = perf_class_probe(p, pmu, plan->root);
	}
	return err ? err : class_pmu_check(&view, set, e);
}
