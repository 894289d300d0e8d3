#include "record/perf/perf_pmu.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/event/class_pmu.h"
#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/metric/metric.h"
#include "common/number.h"
#include "common/pci_map.h"
#include "record/host/cpuid.h"
#include "record/host/privileges.h"
#include "record/perf/perf_group.h"
#include "record/plan/plan.h"

#define PCI_DEVICES      "/sys/bus/pci/devices"
#define CONFIG_BYTES     4096
#define CONFIG_HEAD      64    /* what the kernel shows without CAP_SYS_ADMIN */
#define EXTENDED         0x100 /* extended capabilities begin here */
#define CAP_DVSEC        0x23
#define VENDOR_NVIDIA    0x10de
#define CLASS_PCI_BRIDGE 0x0604
#define FUNCTIONS_MAX    65536 /* at most these many are recorded */

static uint32_t config_le32(const char *config, size_t at)
{
	const unsigned char *c = (const unsigned char *)config + at;

	return c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

/* Offset of NVIDIA's DVSEC 4, which has 17 bytes; 0: there is none. There may be others, such as CXL's. */
static size_t find_dvsec(const char *config, size_t len)
{
	size_t at = EXTENDED;

	for (unsigned turns = 0; at >= EXTENDED && at + 4 <= len && turns < (CONFIG_BYTES - EXTENDED) / 8; turns++) {
		uint32_t head = config_le32(config, at);

		if (!head || head == UINT32_MAX)
			return 0;
		if ((head & 0xffff) == CAP_DVSEC && at + 0x11 <= len) {
			uint32_t vendor = config_le32(config, at + 4);

			if ((vendor & 0xffff) == VENDOR_NVIDIA && vendor >> 20 >= 0x11 &&
			    (config_le32(config, at + 8) & 0xffff) == 4)
				return at;
		}
		at = head >> 20 & 0xffc;
	}
	return 0;
}

/* "0x060400" */
static bool read_hex(const struct root *root, const char *device, const char *file, uint32_t *value)
{
	uint64_t v;

	if (root_u64(root, &v, PCI_DEVICES "/%s/%s", device, file))
		return false;
	*value = (uint32_t)v;
	return true;
}

static int read_node(const struct root *root, const char *device)
{
	char line[16];

	if (root_line(root, line, sizeof(line), PCI_DEVICES "/%s/numa_node", device))
		return -1;
	return atoi(line);
}

/* If the port's registers do not say where it is, records their state in *state. */
static void add_port(struct pci_map *m, const struct root *root, const char *device, struct pci_address at)
{
	struct root whole = *root;
	SCOPED(buf_release) struct buf config = BUF_INIT;
	const char *c;
	size_t dvsec;
	ssize_t len;

	whole.whole = true;
	len = root_read(&whole, &config, CONFIG_BYTES, PCI_DEVICES "/%s/config", device);
	c = buf_str(&config);
	dvsec = len > EXTENDED ? find_dvsec(c, (size_t)len) : 0;

	if (dvsec) {
		struct pci_port port = {
			.at = at,
			.bus = (uint8_t)c[dvsec + 0xc],
			.segment = (uint8_t)c[dvsec + 0xd],
			.rp = (uint8_t)c[dvsec + 0xe],
			.rc = (uint8_t)c[dvsec + 0xf],
			.socket = (uint8_t)c[dvsec + 0x10],
			.secondary = (uint8_t)c[0x19],
			.subordinate = (uint8_t)c[0x1a],
			.node = read_node(root, device),
		};

		m->state = PCI_KNOWN;
		pci_map_add_port(m, &port);
	} else if (m->state != PCI_KNOWN) {
		bool cut = len <= CONFIG_HEAD && len != -ENOENT;

		m->state = cut || m->state == PCI_NEEDS_ROOT ? PCI_NEEDS_ROOT : PCI_NO_SUCH;
	}
}

static void add_function(struct pci_map *m, const struct root *root, const char *device, struct pci_address at)
{
	struct pci_function f = { .at = at };
	uint32_t vendor = 0, id = 0;

	if (m->n_functions >= FUNCTIONS_MAX || !pci_map_place(m, &f))
		return;
	read_hex(root, device, "class", &f.class);
	if (read_hex(root, device, "vendor", &vendor) && read_hex(root, device, "device", &id)) {
		f.vendor = (uint16_t)vendor;
		f.device = (uint16_t)id;
	}
	pci_map_add_function(m, &f);
}

/* Reads NVIDIA's root ports and the devices below them from PCI configuration space; a machine may have none. */
static void pci_map_read(struct pci_map *m, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, PCI_DEVICES);

	*m = (struct pci_map){ 0 };
	/* Ports first: the buses below them place the functions. */
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < n; i++) {
			struct pci_address at;
			uint32_t vendor, class;
			bool domain;

			if (!pci_parse(names[i], &at, &domain) || !domain)
				continue;
			if (pass)
				add_function(m, root, names[i], at);
			else if (read_hex(root, names[i], "vendor", &vendor) && vendor == VENDOR_NVIDIA &&
				 read_hex(root, names[i], "class", &class) && class >> 8 == CLASS_PCI_BRIDGE)
				add_port(m, root, names[i], at);
		}
		pci_map_sort(m);
		if (!m->n_ports)
			break;
	}
}

static struct pm_value config_row(const int64_t *v, uint32_t n)
{
	struct pm_value row = plan_array(n);

	for (uint32_t i = 0; i < n; i++)
		row.array.item[i] = v[i] < 0 ? pm_s64(v[i]) : pm_u64((uint64_t)v[i]);
	return row;
}

static void record_ports(const struct pci_map *m, struct plan *p)
{
	struct pm_value all = plan_array((uint32_t)m->n_ports);

	for (size_t i = 0; i < m->n_ports; i++) {
		const struct pci_port *t = &m->port[i];

		all.array.item[i] = config_row((const int64_t[]){ t->at.domain, t->at.id, t->bus, t->segment, t->rp,
								  t->rc, t->socket, t->node },
					       8);
	}
	plan_fact(p, all, "pci.root_ports");
}

static void record_functions(const struct pci_map *m, struct plan *p)
{
	struct pm_value all = plan_array((uint32_t)m->n_functions);

	for (size_t i = 0; i < m->n_functions; i++) {
		const struct pci_function *f = &m->function[i];

		all.array.item[i] = config_row(
			(const int64_t[]){ f->at.domain, f->at.id, f->port, f->class, f->vendor, f->device }, 6);
	}
	if (m->n_functions)
		plan_fact(p, all, "pci.functions");
}

/* Records the map, or why there is none: one-time values "pci.root_ports", an array of [domain, id, bus, segment,
 * port, root complex, socket, node (-1: unknown)], and "pci.functions", an array of [domain, id, place of its root
 * port, class, vendor, device]. */
static void pci_map_record(const struct pci_map *m, struct plan *p)
{
	switch (m->state) {
	case PCI_ABSENT:
		break;
	case PCI_NO_SUCH:
		plan_config_missing(p, PM_SYSTEM, PM_NONE, PM_REASON_NOT_SUPPORTED, "pci.root_ports");
		break;
	case PCI_NEEDS_ROOT:
		plan_refused(p, PM_REASON_NO_PERMISSION, pm_remark(PM_REMEDY_PCI_ROOT),
			     pm_remark(PM_REMARK_PCI_CONFIG));
		plan_config_missing(p, PM_SYSTEM, PM_NONE, PM_REASON_NO_PERMISSION, "pci.root_ports");
		break;
	case PCI_KNOWN:
		record_ports(m, p);
		record_functions(m, p);
	}
}

#define CLASS_COUNTERS 33 /* more than any PMU has */
#define PMU_DEVICES    "/sys/bus/event_source/devices"
#define LINE_MAX_BYTES 4096 /* sysfs files have at most one page */

/* ---- PMUs ---- */

const struct pmu_class *perf_class(const struct event_pmu *pmu)
{
	return pmu->class ? pmu->unit->class : NULL;
}

/* The number of events that fit into a group besides the clock; 0: not known. */
static unsigned perf_class_counters(const struct event_pmu *pmu)
{
	return perf_class(pmu) ? pmu->unit->counters : 0;
}

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

static void perf_classes_release(struct perf_pmus *p)
{
	if (!p->classes)
		return;
	pci_map_release(&p->classes->pci);
	free(p->classes->pmu);
	free(p->classes->instance);
	free(p->classes);
	p->classes = NULL;
}

void perf_pmus_release(struct perf_pmus *p)
{
	for (size_t i = 0; i < p->n; i++)
		event_pmu_release(&p->pmu[i]);
	perf_classes_release(p);
	free(p->pmu);
	*p = (struct perf_pmus){ 0 };
}

static void read_formats(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, PMU_DEVICES "/%s/format", pmu->name);

	if (n <= 0)
		return;
	pmu->format = memory_new((size_t)n, sizeof(*pmu->format));
	for (int i = 0; i < n; i++) {
		struct event_format *f = &pmu->format[pmu->n_formats];

		if (root_line(root, line, sizeof(line), PMU_DEVICES "/%s/format/%s", pmu->name, names[i]))
			continue;
		pmu->n_formats++;
		f->name = memory_text(names[i]);
		f->text = memory_text(line);
	}
}

/* Whether it describes another event, as "cas.scale" and "cas.unit" describe "cas". */
static bool is_side_file(const char *name)
{
	static const char *const ends[] = { ".scale",
					    ".unit",
					    ".per-pkg",
					    ".snapshot",
					    ".retirement_latency.mean",
					    ".retirement_latency.min",
					    ".retirement_latency.max" };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (len > strlen(ends[i]) && !strcmp(name + len - strlen(ends[i]), ends[i]))
			return true;
	return false;
}

/* The line of a side file of names[i]. Few events have any, so they are looked up in the list. */
static bool side_line(char *line, size_t size, const struct event_pmu *pmu, char *const *names, int i,
		      const char *side, const struct root *root)
{
	const size_t len = strlen(names[i]);
	char *const *name = names;

	while (*name && (strncmp(*name, names[i], len) || strcmp(*name + len, side)))
		name++;
	return *name && !root_line(root, line, size, PMU_DEVICES "/%s/events/%s", pmu->name, *name) && line[0];
}

static char *side_text(const struct event_pmu *pmu, char *const *names, int i, const char *side,
		       const struct root *root)
{
	char line[256];

	return side_line(line, sizeof(line), pmu, names, i, side, root) ? memory_text(line) : NULL;
}

static bool side_flag(const struct event_pmu *pmu, char *const *names, int i, const char *side,
		      const struct root *root)
{
	char line[16];

	return side_line(line, sizeof(line), pmu, names, i, side, root) && !strcmp(line, "1");
}

static void read_aliases(struct event_pmu *pmu, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, PMU_DEVICES "/%s/events", pmu->name);

	if (n <= 0)
		return;
	pmu->alias = memory_new((size_t)n, sizeof(*pmu->alias));
	for (int i = 0; i < n; i++) {
		struct event_alias *a = &pmu->alias[pmu->n_aliases];

		if (is_side_file(names[i]) ||
		    root_line(root, line, sizeof(line), PMU_DEVICES "/%s/events/%s", pmu->name, names[i]) || !line[0])
			continue;
		pmu->n_aliases++;
		a->name = memory_text(names[i]);
		a->text = memory_text(line);
		a->scale = side_text(pmu, names, i, ".scale", root);
		a->unit = side_text(pmu, names, i, ".unit", root);
		/* Without a numeric scale, the unit is plain counts. */
		if (a->scale && !pm_scale_good(a->scale)) {
			free(a->scale);
			free(a->unit);
			a->scale = a->unit = NULL;
		}
		a->per_pkg = side_flag(pmu, names, i, ".per-pkg", root);
		a->snapshot = side_flag(pmu, names, i, ".snapshot", root);
	}
}

/* Reads the CPUs of a mask; if it is invalid there are none, so that nothing is counted. False: there is no file. */
static bool read_mask(struct event_pmu *pmu, const char *file, const struct root *root)
{
	char line[LINE_MAX_BYTES];
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	if (root_line(root, line, sizeof(line), PMU_DEVICES "/%s/%s", pmu->name, file))
		return false;
	pmu->cpus = memory_text(cpulist_parse(&cpus, line, false, NULL) ? "" : line);
	return true;
}

/* False: its events cannot be opened. */
static bool read_pmu(struct event_pmu *pmu, const char *name, const struct root *root)
{
	char line[LINE_MAX_BYTES];
	uint64_t type = UINT32_MAX; /* nothing has it */

	/* A PMU whose kind is added up must not be left out silently. */
	if (event_pmu_takes_pointer(name) ||
	    (root_u64(root, &type, PMU_DEVICES "/%s/type", name) && !pmu_class_of(name, NULL)))
		return false;
	*pmu = (struct event_pmu){ .name = memory_text(name), .type = (uint32_t)type };
	if (!root_line(root, line, sizeof(line), PMU_DEVICES "/%s/identifier", name) && line[0])
		pmu->identifier = memory_text(line);
	/* A mask says where to open an uncore PMU; "cpus" says which CPUs a core PMU of a hybrid belongs to. */
	pmu->uncore = read_mask(pmu, "cpumask", root);
	pmu->core =
		!pmu->uncore && (read_mask(pmu, "cpus", root) || !strcmp(name, "cpu") || !strcmp(name, "cpum_cf"));
	read_formats(pmu, root);
	read_aliases(pmu, root);
	return true;
}

/* Core PMUs in the kernel's order (the big cores of a hybrid come first), then all others by name. */
static int compare_pmus(const void *left, const void *right)
{
	const struct event_pmu *a = left, *b = right;

	if (a->core != b->core)
		return a->core ? -1 : 1;
	if (a->core && a->type != b->type)
		return a->type < b->type ? -1 : 1;
	return strverscmp(a->name, b->name);
}

/* Of the first CPU, of perhaps hundreds. */
static uint64_t family_of(const struct root *root)
{
	SCOPED(fd_close) int fd = root_open(root, "/proc/cpuinfo");
	char text[1024] = "";
	const char *line = fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 ? NULL : strstr(text, "cpu family\t: ");

	return line ? strtoull(line + strlen("cpu family\t: "), NULL, 10) : 0;
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

/* Where to open a PMU without a mask, because other CPUs would count the same once more: on the first CPU of each
 * place whose CPUs this file lists. A `device` is opened once for the CPUs that it says it belongs to, and once where
 * no file tells. */
static void add_mask(struct event_pmu *pmu, const struct root *root, const char *siblings, bool device)
{
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	SCOPED(buf_release) struct buf firsts = BUF_INIT;
	bool own = device && !root_cpulist(root, &cpus, PMU_DEVICES "/%s/associated_cpus", pmu->name) && cpus.n;

	if (!own)
		(void)root_cpulist(root, &cpus, "/sys/devices/system/cpu/online");
	for (size_t i = 0; i < cpus.n && !(own && i); i++) {
		SCOPED(cpulist_release) struct cpulist with = { 0 };
		int err =
			root_cpulist(root, &with, "/sys/devices/system/cpu/cpu%u/topology/%s", cpus.cpu[i], siblings);

		if (!own && (err ? device && i : with.n && with.cpu[0] != cpus.cpu[i]))
			continue;
		buf_printf(&firsts, "%s%u", firsts.len ? "," : "", cpus.cpu[i]);
	}
	pmu->uncore = true;
	pmu->cpus = memory_checked(buf_detach(&firsts));
}

static void set_text(char **to, const char *text)
{
	if (!*to && text)
		*to = memory_text(text);
}

/* Its files contain neither units nor descriptions. */
static void describe_events(struct event_pmu *pmu, const struct pmu_class *c)
{
	for (size_t i = 0; i < pmu->n_aliases; i++) {
		const struct pmu_class_event *ev = pmu_class_event(c, pmu->alias[i].name);

		if (!ev)
			continue;
		set_text(&pmu->alias[i].help, ev->help);
		set_text(&pmu->alias[i].unit, ev->unit);
	}
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

static void name_events(const struct perf_classes *all, struct event_pmu *pmu, const struct pmu_class *c)
{
	size_t n = 0;

	while (c->event[n].name)
		n++;
	pmu->alias = memory_resize(pmu->alias, pmu->n_aliases + n, sizeof(*pmu->alias));
	for (size_t i = 0; i < n; i++) {
		struct event_alias *a = &pmu->alias[pmu->n_aliases];
		bool have = event_pmu_alias(pmu, c->event[i].name, strlen(c->event[i].name));
		char code[32];

		snprintf(code, sizeof(code), "event=0x%llx", (unsigned long long)c->event[i].code);
		if (have || (c->pmu && (!c->event[i].terms || !takes(pmu, c->event[i].terms))) ||
		    (c->event[i].where && !is_there(all, pmu, c->event[i].where)))
			continue;
		*a = (struct event_alias){ .name = memory_text(c->event[i].name),
					   .text = memory_text(c->event[i].terms ? c->event[i].terms : code) };
		pmu->n_aliases++;
	}
}

static void classify(struct perf_classes *all, struct event_pmu *pmu, const struct pmu_class *c,
		     struct class_pmu *self, const struct root *root)
{
	char peer[64] = "";

	root_line(root, peer, sizeof(peer), PMU_DEVICES "/%s/peer", pmu->name);
	class_pmu_init(self, c, pmu->name, peer[0] ? peer : NULL, &all->pci);
	self->counters = c->counters;
	pmu->class = c->name;
	pmu->ruled = !c->pmu;
	pmu->unit = self;
	all->pci_wanted |= c->per_rc;
	if (!pmu->core && !pmu->cpus)
		add_mask(pmu, root, "core_siblings_list", true);
	if (c->pmu || is_unnamed(pmu, c))
		name_events(all, pmu, c);
	describe_events(pmu, c);
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
static void find_sockets(struct perf_pmus *p, const struct root *root)
{
	struct perf_classes *all = p->classes;
	SCOPED(scoped_free) char(*cpus)[256] = memory_new(p->n, sizeof(*cpus));
	SCOPED(scoped_free) const char **text = memory_new(p->n, sizeof(*text));
	SCOPED(scoped_free) struct class_pmu **pmu = memory_new(p->n, sizeof(*pmu));
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (!perf_class(&p->pmu[i]) || !perf_class(&p->pmu[i])->per_rc)
			continue;
		pmu[n] = p->pmu[i].unit;
		root_line(root, cpus[n], sizeof(*cpus), PMU_DEVICES "/%s/associated_cpus", p->pmu[i].name);
		text[n] = cpus[n];
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		int socket = cpus[i][0] ? pci_map_socket(&all->pci, text, n, i, node_of(root, cpus[i])) : -1;

		if (socket >= 0)
			pmu[i]->socket = socket;
	}
}

/* Finds the classes of all PMUs and adds what sysfs lacks: rules, units, names of events. Call it once their
 * addresses are final. */
static void perf_classes_find(struct perf_pmus *p, const struct root *root)
{
	struct perf_classes *all = p->classes = memory_new(1, sizeof(*all));
	size_t n = 0;

	all->pmu = memory_new(p->n, sizeof(*all->pmu));
	all->family = family_of(root);
	all->midr = cputype_chip(root, all->soc);
	for (size_t i = 0; i < p->n; i++) {
		const struct pmu_class *c = pmu_class_of(p->pmu[i].name, p->pmu[i].identifier);

		if (c)
			classify(all, &p->pmu[i], c, &all->pmu[n++], root);
		for (size_t k = 0; k < sizeof(shared) / sizeof(shared[0]) && !c && !p->pmu[i].cpus; k++)
			if (!strcmp(shared[k].pmu, p->pmu[i].name))
				add_mask(&p->pmu[i], root, shared[k].siblings, false);
	}
	if (all->pci_wanted)
		pci_map_read(&all->pci, root);
	if (all->pci.state == PCI_KNOWN)
		find_sockets(p, root);
}

void perf_pmus_read(struct perf_pmus *p, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, PMU_DEVICES);

	*p = (struct perf_pmus){ 0 };
	p->pmu = memory_new((size_t)(n < 0 ? 0 : n) + 1, sizeof(*p->pmu));
	for (int i = 0; i < n; i++)
		p->n += read_pmu(&p->pmu[p->n], names[i], root);
	event_tool_pmu(&p->pmu[p->n]);
	p->n++;
	qsort(p->pmu, p->n, sizeof(*p->pmu), compare_pmus);
	perf_classes_find(p, root);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int perf_pmus_add_files(struct perf_pmus *p, char *const *path, char *const *metrics, const char *cpuid,
			struct buf *notes, struct error *e)
{
	struct vendor_events *v = NULL;
	int err = 0, n = 0;
	bool asked = path && *path, changed;

	changed = privileges_become_caller();
	for (; metrics && *metrics; metrics++) {
		struct error ignored = { 0 };

		/* If one cannot be read, the error belongs to those who want the metrics. */
		if (is_folder(*metrics))
			(void)vendor_events_load(&v, *metrics, NULL, cpuid, &ignored);
	}
	for (; path && *path && !err; path++)
		err = vendor_events_load(&v, *path, NULL, cpuid, e);
	privileges_become_self(changed);
	if (!err && v)
		n = vendor_events_apply(v, p->pmu, p->n, notes);
	if (!err && asked && !n)
		buf_addstr(notes, "the event files have no events for the PMUs of this machine\n");
	vendor_events_free(v);
	return err;
}

int perf_pmus_add_pack(struct perf_pmus *p, const char *cpuid, char *const *words, bool metrics,
		       struct vendor_texts *texts, struct buf *notes)
{
	struct vendor_pack pack;
	struct vendor_events *v = NULL;
	struct error e = { 0 };
	bool changed = privileges_become_caller();
	int err = vendor_pack_find(&pack, &e);

	privileges_become_self(changed);
	*texts = (struct vendor_texts){ 0 };
	if (!err) {
		err = vendor_pack_texts(&pack, cpuid, texts, &e);
		vendor_pack_close(&pack);
	}
	if (err && e.number)
		buf_printf(notes, "%s\n", e.text);
	if (err)
		return e.number ? 0 : err;
	for (uint32_t i = 0; i < texts->n; i++) {
		vendor_events_unpack(&v, texts->set[i].rows, NULL);
		texts->set[i].rows = NULL;
		/* Metrics name events, too. */
		if (words && metrics)
			vendor_events_words(v, texts->set[i].metrics);
	}
	for (; words && *words && v; words++)
		vendor_events_words(v, *words);
	(void)vendor_events_apply(v, p->pmu, p->n, notes);
	vendor_events_free(v);
	return (int)texts->n;
}

/* ---- their description in the recording ---- */

static struct pm_value pair(const char *name, const char *text)
{
	struct pm_value v = plan_array(2);

	v.array.item[0] = pm_text(name);
	v.array.item[1] = pm_text(text);
	return v;
}

/* Sets the first n of the values, unless there are none. */
static void set_used(struct pm_map *attrs, uint32_t key, struct pm_value v, uint32_t n)
{
	v.array.n = n;
	if (n)
		plan_set(attrs, key, v);
	else
		pm_value_release(&v);
}

static void add_formats(struct pm_map *attrs, const struct event_pmu *pmu)
{
	struct pm_value v = plan_array((uint32_t)pmu->n_formats);

	for (size_t i = 0; i < pmu->n_formats; i++)
		v.array.item[i] = pair(pmu->format[i].name, pmu->format[i].text);
	set_used(attrs, PM_PMU_FORMATS, v, v.array.n);
}

/* Whether the alias is one of the events, whose canonical names begin with "PMU/ALIAS". */
static bool is_used(const struct event_pmu *pmu, const struct event_alias *a, const struct event_set *set)
{
	size_t pmu_len = strlen(pmu->name), len = strlen(a->name);

	for (size_t i = 0; set && i < set->n; i++) {
		const char *name = set->event[i].name;

		if (strcmp(set->event[i].pmu, pmu->name) || strncmp(name, pmu->name, pmu_len) || name[pmu_len] != '/')
			continue;
		for (name += pmu_len; *name; name += 1 + strcspn(name + 1, ",/"))
			if (!strncasecmp(name + 1, a->name, len) && (name[1 + len] == ',' || name[1 + len] == '/'))
				return true;
	}
	return false;
}

static void add_aliases(struct pm_map *attrs, const struct event_pmu *pmu, const struct event_set *set)
{
	struct pm_value v = plan_array((uint32_t)pmu->n_aliases);
	uint32_t used = 0;

	for (size_t i = 0; i < pmu->n_aliases; i++) {
		const struct event_alias *a = &pmu->alias[i];
		struct pm_value row;

		/* A vendor has thousands. */
		if (a->vendor && !is_used(pmu, a, set))
			continue;
		row = plan_array(5);
		row.array.item[0] = pm_text(a->name);
		row.array.item[1] = pm_text(a->text);
		row.array.item[2] = pm_text(a->scale ? a->scale : "");
		row.array.item[3] = pm_text(a->unit ? a->unit : "");
		row.array.item[4] =
			pm_u64((a->per_pkg ? PM_PMU_EVENT_PER_PKG : 0) | (a->snapshot ? PM_PMU_EVENT_SNAPSHOT : 0) |
			       (a->given ? PM_PMU_EVENT_GIVEN : 0));
		v.array.item[used++] = row;
	}
	set_used(attrs, PM_PMU_EVENTS, v, used);
}

/* Adds the files of a directory as pairs, except those in `except` (ends with NULL). */
static void add_files(struct pm_map *attrs, uint32_t key, const struct root *root, const char *pmu, const char *dir,
		      const char *const *except)
{
	SCOPED(root_list_free) char **names = NULL;
	char line[LINE_MAX_BYTES];
	int n = root_list(root, &names, PMU_DEVICES "/%s%s", pmu, dir);
	struct pm_value all = plan_array(n < 0 ? 0 : (uint32_t)n);
	uint32_t used = 0;

	for (int i = 0; i < n; i++) {
		int k = 0;

		while (except[k] && strcmp(except[k], names[i]))
			k++;
		/* Directories, and files that cannot be read, are skipped. */
		if (!except[k] && !root_line(root, line, sizeof(line), PMU_DEVICES "/%s%s/%s", pmu, dir, names[i]) &&
		    line[0])
			all.array.item[used++] = pair(names[i], line);
	}
	set_used(attrs, key, all, used);
}

void perf_pmus_record(const struct perf_pmus *p, const struct event_set *set, struct plan *plan)
{
	static const char *const nothing[] = { NULL };
	static const char *const known[] = { "type",    "uevent",          "format", "events", "caps",
					     "power",   "subsystem",       "device", "driver", "identifier",
					     "cpumask", "associated_cpus", "cpus",   NULL };
	const bool whole = !plan->options->perf.brief;

	for (size_t i = 0; i < p->n; i++) {
		const struct event_pmu *pmu = &p->pmu[i];
		struct pm_pmu out = { 0 };
		char line[LINE_MAX_BYTES];

		plan_set(&out.attrs, PM_PMU_NAME, pm_text(pmu->name));
		plan_set(&out.attrs, PM_PMU_TYPE, pm_u64(pmu->type));
		if (pmu->identifier)
			plan_set(&out.attrs, PM_PMU_IDENTIFIER, pm_text(pmu->identifier));
		if (pmu->cpus)
			plan_set(&out.attrs, pmu->uncore ? PM_PMU_CPUMASK : PM_PMU_CPUS, pm_text(pmu->cpus));
		if (whole && !root_line(plan->root, line, sizeof(line), PMU_DEVICES "/%s/associated_cpus", pmu->name))
			plan_set(&out.attrs, PM_PMU_ASSOCIATED_CPUS, pm_text(line));
		add_formats(&out.attrs, pmu);
		if (perf_class_counters(pmu))
			plan_set(&out.attrs, PM_PMU_COUNTERS, pm_u64(perf_class_counters(pmu)));
		add_aliases(&out.attrs, pmu, set);
		if (whole || pmu->core)
			add_files(&out.attrs, PM_PMU_CAPS, plan->root, pmu->name, "/caps", nothing);
		if (whole)
			add_files(&out.attrs, PM_PMU_FILES, plan->root, pmu->name, "", known);
		memory_must(pm_model_add_pmu(plan->model, &out));
		pm_map_release(&out.attrs);
	}
}

/* ---- tracepoints ---- */

/* tracefs is in its own place, or where it was before Linux 4.1. */
static int list_systems(const struct root *root, char ***names, const char **where)
{
	static const char *const places[] = { "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events" };
	int first = -ENODEV;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int n = root_list(root, names, "%s", places[i]);

		if (n >= 0) {
			*where = places[i];
			return n;
		}
		if (n != -ENOENT && n != -ENOTDIR && first == -ENODEV)
			first = n;
	}
	/* The file system of tracepoints is empty then. */
	return first == -ENODEV && root_locked_down(root, true) ? -EPERM : first;
}

static int tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	const struct root *root = data;
	const char *where;
	SCOPED(root_list_free) char **systems = NULL;
	int n = list_systems(root, &systems, &where), count = 0, err = 0;

	if (n < 0)
		return n;
	for (int i = 0; i < n && !err; i++) {
		SCOPED(root_list_free) char **names = NULL;
		int m;

		if (fnmatch(system, systems[i], 0))
			continue;
		m = root_list(root, &names, "%s/%s", where, systems[i]);
		for (int k = 0; k < m && !err; k++) {
			uint64_t id;

			/* Files such as "enable" have no id. */
			if (fnmatch(name, names[k], 0) ||
			    root_u64(root, &id, "%s/%s/%s/id", where, systems[i], names[k]))
				continue;
			err = found(arg, systems[i], names[k], id);
			count++;
		}
	}
	return err ? err : count;
}

struct event_view perf_view(const struct perf_pmus *p, const struct root *root)
{
	return (struct event_view){ .pmu = p->pmu,
				    .n_pmus = p->n,
				    .tracepoints = tracepoints,
				    .data = (void *)root,
				    .cores_first = p->cores_first };
}

int perf_events_of(const struct perf_pmus *p, const struct root *root, const char *text, struct event_set *set,
		   struct buf *notes, struct error *e)
{
	struct event_view view = perf_view(p, root);
	struct event_list *list = NULL;
	int err = event_parse(&list, text, e);

	if (!err)
		err = event_resolve(list, &view, set, notes, e);
	event_list_free(list);
	return err;
}

const struct event_pmu *perf_class_first(const struct perf_pmus *p, const struct pmu_class *c)
{
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) == c)
			return &p->pmu[i];
	return NULL;
}

int64_t perf_class_instance(struct perf_pmus *p, struct plan *plan, const struct event_pmu *pmu, uint32_t cpu)
{
	struct perf_classes *all = p->classes;
	struct pm_instance i = { .kind = PM_PMU, .number = PM_NONE, .cpu = cpu };
	char cpus[256] = "";
	int64_t added;

	for (size_t k = 0; k < all->n_instances; k++)
		if (all->instance[k].pmu == pmu && all->instance[k].cpu == cpu)
			return all->instance[k].id;
	memory_room(&all->instance, all->n_instances, sizeof(*all->instance));
	root_line(plan->root, cpus, sizeof(cpus), PMU_DEVICES "/%s/associated_cpus", pmu->name);
	plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(pmu->name));
	if (cpus[0])
		plan_set(&i.attrs, PM_INSTANCE_CPUS, pm_text(cpus));
	added = plan_instance(plan, &i);
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

void perf_class_stands(const struct event_pmu *pmu, const struct perf_group *g, struct plan *plan)
{
	const struct pmu_class *c = perf_class(pmu);
	uint64_t enabled, running, count;

	for (uint32_t k = 0; k < g->n; k++) {
		if (perf_row_count(g->row[0], k, &count, &enabled, &running) || !enabled)
			continue;
		if (!running)
			plan_refused(plan, PM_REASON_NOT_COUNTED, pm_remark(0),
				     pm_remark(PM_REMARK_NEVER_COUNTED, g->member[k]->ev->name,
					       c && c->still ? c->still : "the unit is not in use"));
		else if (c && is_clock(g->member[k]) && !count)
			plan_refused(plan, PM_REASON_NOT_COUNTED, pm_remark(0),
				     pm_remark(PM_REMARK_CLOCK_STANDS, pmu->name,
					       c->still ? c->still : "the unit is not in use"));
		else
			continue;
		return;
	}
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
	int fd[CLASS_COUNTERS];
	unsigned n = 0;

	while (n < CLASS_COUNTERS) {
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

void perf_class_probe(struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root)
{
	const struct pmu_class *c = perf_class(pmu);
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	union perf_attr attr;
	unsigned n = 0;

	if (!c || perf_class_counters(pmu) || root->emulated || countable(p, pmu, root, &attr))
		return;
	if (pmu->cpus && !cpulist_parse(&cpus, pmu->cpus, false, NULL) && cpus.n)
		n = open_group(&attr, (int)cpus.cpu[0]);
	/* All PMUs of a class are the same hardware. */
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) == c)
			p->pmu[i].unit->counters = n;
}

void perf_class_refuse(const struct event_pmu *pmu, uint16_t reason)
{
	struct class_pmu *c = pmu && pmu->class ? pmu->unit : NULL;

	if (c && !c->refused)
		c->refused = reason;
}

void perf_classes_record(const struct perf_pmus *p, struct pm_model *m)
{
	for (size_t i = 0; i < p->n && i < m->n_pmus; i++) {
		const struct class_pmu *c = p->pmu[i].class ? p->pmu[i].unit : NULL;

		if (c && c->refused)
			plan_set(&m->pmu[i].attrs, PM_PMU_REFUSED, pm_u64(c->refused));
	}
}

#define DEFAULTS_MAX 64
struct packing {
	const struct event_pmu *pmu;
	struct {
		const char *name;
		size_t len;
		unsigned group;
	} event[DEFAULTS_MAX];
	unsigned n, groups, used[DEFAULTS_MAX + 1]; /* of each group */
};

int perf_classes_check(struct perf_pmus *p, const struct event_set *set, const struct plan *plan, struct error *e)
{
	struct event_view view = perf_view(p, plan->root);
	bool asked = plan->options->perf.events || plan->options->perf.metrics;

	for (size_t i = 0; i < set->n; i++) {
		const struct event *ev = &set->event[i];
		const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &p->pmu[ev->pmu_index];

		if (!pmu || !perf_class(pmu))
			continue;
		if (asked && pmu->ruled && plan->options->target != TARGET_SYSTEM)
			return error_set(e, EINVAL, "\"%.80s\" counts a socket and cannot follow a %s", ev->text,
					 plan->options->target == TARGET_COMMAND ?
						 "command: add -a" :
						 "process or thread; use -a instead of -p and -t");
		perf_class_probe(p, pmu, plan->root);
	}
	return class_pmu_check(&view, set, e);
}

/* The default events of PMUs that have a class, packed into as few groups as their counters allow. */

#define DEFAULT_COUNTERS 4 /* used where it cannot be found out */

static bool holds(const struct packing *k, unsigned group, const char *name, size_t len)
{
	for (unsigned i = 0; i < k->n; i++)
		if (k->event[i].group == group && k->event[i].len == len && !strncmp(k->event[i].name, name, len))
			return true;
	return false;
}

/* Events besides the clock that fit one group. */
static unsigned room(const struct event_pmu *pmu)
{
	unsigned n = perf_class_counters(pmu);

	return perf_class(pmu)->fixed ? CLASS_COUNTERS - 1 : n ? n : DEFAULT_COUNTERS;
}

/* Counts, or adds, the events of a bundle that the PMU has and the group does not; returns their number. */
static unsigned place(struct packing *k, const char *bundle, size_t len, unsigned group, bool put)
{
	unsigned n = 0;

	for (size_t at = 0, one; at < len; at += one + 1) {
		one = strcspn(bundle + at, ",;");
		if (at + one > len)
			one = len - at;
		/* The clock joins every group. */
		if (!event_pmu_alias(k->pmu, bundle + at, one) || holds(k, group, bundle + at, one) ||
		    (one == strlen(PMU_CLASS_CLOCK) && !strncasecmp(bundle + at, PMU_CLASS_CLOCK, one)))
			continue;
		n++;
		if (!put || k->n == DEFAULTS_MAX)
			continue;
		k->event[k->n].name = bundle + at;
		k->event[k->n].len = one;
		k->event[k->n++].group = group;
		k->used[group]++;
	}
	return n;
}

void perf_class_groups(const struct event_pmu *pmu, const char *bundles, const char *called, struct buf *out)
{
	struct packing k = { .pmu = pmu };
	unsigned counters = room(pmu);

	for (const char *b = bundles; b && *b;) {
		bool optional = *b == '?';
		size_t len;
		unsigned g = 1, need;

		b += optional;
		len = strcspn(b, ";");
		while (g <= k.groups && k.used[g] + place(&k, b, len, g, false) > counters)
			g++;
		need = place(&k, b, len, g, false);
		if (need && (g <= k.groups || !optional) && g < DEFAULTS_MAX) {
			k.groups = g > k.groups ? g : k.groups;
			place(&k, b, len, g, true);
		}
		b += len + (b[len] == ';');
	}
	for (unsigned g = 1; g <= k.groups; g++) {
		buf_addstr(out, g > 1 ? ",{" : "{");
		for (unsigned i = 0; i < k.n; i++)
			if (k.event[i].group == g)
				buf_printf(out, "%s/%.*s/,", called, (int)k.event[i].len, k.event[i].name);
		if (event_pmu_alias(pmu, PMU_CLASS_CLOCK, strlen(PMU_CLASS_CLOCK)))
			buf_printf(out, "%s/" PMU_CLASS_CLOCK "/", called);
		else if (out->len)
			out->len--;
		buf_addstr(out, "}:W");
	}
	if (!k.groups && event_pmu_alias(pmu, PMU_CLASS_CLOCK, strlen(PMU_CLASS_CLOCK)))
		buf_printf(out, "%s/" PMU_CLASS_CLOCK "/", called);
}

/* Whether the machine has better PMUs for the same numbers, by the names that they have here. */
static bool has_instead(const struct perf_pmus *p, const struct pmu_class *c)
{
	const struct pmu_class *better = c->instead ? pmu_class_named(c->instead) : NULL;

	for (size_t i = 0; better && i < p->n; i++) {
		struct packing k = { .pmu = &p->pmu[i] };

		if (perf_class(k.pmu) == better && place(&k, better->defaults, strlen(better->defaults), 0, false))
			return true;
	}
	return false;
}

/* Whether all PMUs of a kind have the default events of one: their counts are added up. */
static bool has_all(const struct perf_pmus *p, const struct event_pmu *pmu, const char *bundles)
{
	for (size_t i = 0; i < p->n; i++)
		for (const char *b = bundles; perf_class(&p->pmu[i]) == perf_class(pmu) && *b;
		     b += strcspn(b, ",;")) {
			size_t len;

			b += strspn(b, ",;?");
			len = strcspn(b, ",;");
			if (event_pmu_alias(&p->pmu[i], b, len) && !event_pmu_alias(pmu, b, len))
				return false;
		}
	return true;
}

void perf_class_defaults(struct perf_pmus *p, const struct root *root, const struct event_pmu *pmu, struct buf *out)
{
	const struct pmu_class *c = perf_class(pmu);
	const char *bundles = c ? c->defaults : NULL;

	/* A mask has one CPU of each socket. */
	if (c && has_instead(p, c))
		bundles = pmu->cpus && strpbrk(pmu->cpus, ",-") ? c->sockets : NULL;
	if (!bundles)
		return;
	if (!has_all(p, pmu, bundles))
		perf_class_refuse(pmu, PM_REASON_NOT_SUPPORTED);
	perf_class_probe(p, pmu, root);
	perf_class_groups(pmu, bundles, pmu->name, out);
	memory_whole(out);
}

/* Whether firmware devices whose names begin with a text are on a bus of sysfs. */
static bool has_device(const struct root *root, const char *bus, const char *start)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, "/sys/bus/%s/devices", bus);
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		found = !strncmp(names[i], start, strlen(start));
	return found;
}

/* Whether there is a PMU of the generic Arm kind, whatever its class. */
static bool has_cspmu(const struct perf_pmus *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) ? !perf_class(&p->pmu[i])->hid && !perf_class(&p->pmu[i])->pmu :
					     !strncmp(p->pmu[i].name, "arm_cspmu_", 10))
			return true;
	return false;
}

static void driver_missing(struct plan *plan, const struct pmu_class *c, const char *what)
{
	plan_refused(plan, PM_REASON_NOT_SUPPORTED, pm_remark(PM_REMEDY_MODULE, c->module, c->config),
		     pm_remark(PM_REMARK_NO_DRIVER, what));
}

/* Finds uncore PMUs that are missing here, and those that this kernel does not know. */
static void note_missing(const struct perf_pmus *p, struct plan *plan)
{
	const struct pmu_class *generic = &pmu_classes[0];

	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		if (c->hid && !perf_class_first(p, c) && has_device(plan->root, "acpi", c->hid))
			driver_missing(plan, c, c->title);
	if (!has_cspmu(p) && has_device(plan->root, "platform", "arm-cs-arch-pmu"))
		driver_missing(plan, generic, "Arm CoreSight uncore PMUs");
	for (size_t i = 0; i < p->n; i++) {
		const struct pmu_class *c = perf_class(&p->pmu[i]);
		struct pmu_name name;

		if (c && pmu_name_parse(p->pmu[i].name, &name) && !strcmp(name.stem, "uncore") && c->stem &&
		    strcmp(c->stem, "uncore"))
			plan_refused(plan, PM_REASON_NOT_SUPPORTED, pm_remark(PM_REMEDY_NEWER_KERNEL),
				     pm_remark(PM_REMARK_UNKNOWN_TO_KERNEL, p->pmu[i].name, c->title));
	}
}

void perf_classes_note(const struct perf_pmus *p, struct plan *plan)
{
	if (p->classes->pci_wanted)
		pci_map_record(&p->classes->pci, plan);
	if (!plan->options->perf.brief)
		note_missing(p, plan);
}

/* ---- memory bandwidth ---- */

/* By vendor, what a machine lacks whose memory traffic no PMU counts. */
static const struct {
	const char *maker, *cure; /* as the CPU is identified */
} lacking[] = {
	{ "GenuineIntel", "modprobe intel_uncore (kernel option CONFIG_PERF_EVENTS_INTEL_UNCORE)" },
	{ "AuthenticAMD", "modprobe amd_uncore (CONFIG_PERF_EVENTS_AMD_UNCORE); Zen 4 and later need Linux 6.8" },
	{ "0x00000000c0", "modprobe ampere_cspmu (CONFIG_AMPERE_CORESIGHT_PMU_ARCH_SYSTEM_PMU), Linux 6.7" },
	{ "0x0000000048", "modprobe hisi_uncore_ddrc_pmu (CONFIG_HISI_PMU)" },
	{ "0x000000004e", "modprobe nvidia_cspmu (CONFIG_NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU)" },
	{ "0x0000000041", "modprobe arm-cmn arm_dmc620_pmu nvidia_cspmu, by what the processor has" },
};

/* Whether a metric of memory traffic has a formula over its events. */
static bool counts_memory(const struct pmu_class *c)
{
	char named[64];
	bool found = false;

	snprintf(named, sizeof(named), "%s@", c->name);
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n && !found; i++)
			found = !strncmp(t->row[i].name, "mem.", 4) &&
				(strstr(t->row[i].expr, named) ||
				 (t->row[i].otherwise && strstr(t->row[i].otherwise, named)));
	return found;
}

static bool counts(const struct plan *plan, const struct event_pmu *pmu)
{
	const struct pm_model *m = plan->model;

	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(pm_map_text(&m->counter[i].attrs, PM_COUNTER_PERF_PMU, ""), pmu->name))
			return true;
	return false;
}

/* Why no event of the PMU is counted. */
static void say_why_not(const struct plan *plan, const struct event_pmu *pmu, struct buf *out)
{
	const struct pm_model *m = plan->model;

	if (!pmu->unit->refused) {
		buf_addstr(out, "this kernel names none of its events that measure traffic");
		return;
	}
	for (uint32_t i = 0; i < m->n_probes; i++) {
		SCOPED(buf_release) struct buf what = BUF_INIT;

		pm_remark_text(&what, &m->probe[i].what);
		if (!strcmp(m->probe[i].source, "perf") && pm_remark_code(&m->probe[i].hint) &&
		    (strstr(buf_str(&what), pmu->class) || strstr(buf_str(&what), pmu->name))) {
			pm_remark_text(out, &m->probe[i].hint);
			return;
		}
	}
	buf_addstr(out, "its events were refused");
}

void perf_classes_tell(const struct perf_pmus *p, const struct plan *plan, struct buf *out)
{
	const char *id = cpuid_for_vendor(pm_map_text(&plan->model->header, PM_HEADER_CPU_ID, NULL)), *why = NULL;

	/* First what is counted, then what could be; of several classes the table has the better one first. */
	for (int pass = 0; pass < 2; pass++)
		for (const struct pmu_class *c = pmu_classes; c->name; c++) {
			const struct event_pmu *first = NULL, *other = NULL;
			const bool memory = counts_memory(c);
			unsigned n = 0, counted = 0;

			for (size_t i = 0; i < p->n && memory; i++)
				if (perf_class(&p->pmu[i]) == c) {
					bool here = counts(plan, &p->pmu[i]);

					first = first ? first : &p->pmu[i];
					other = other || here ? other : &p->pmu[i];
					counted += here;
					n++;
				}
			if (!first || (!counted && !pass))
				continue;
			buf_printf(out, "memory bandwidth: %u PMU%s such as %s", n, plural(n), first->name);
			if (!counted)
				buf_addstr(out, ", which cannot be counted: ");
			else if (other)
				buf_printf(out, "; %s cannot be counted, so sums are missing: ", other->name);
			if (!counted || other)
				say_why_not(plan, counted ? other : first, out);
			buf_addstr(out, "\n");
			return;
		}
	for (size_t i = 0; id && i < sizeof(lacking) / sizeof(lacking[0]) && !why; i++)
		if (!strncmp(id, lacking[i].maker, strlen(lacking[i].maker)))
			why = lacking[i].cure;
	if (pm_map_get(&plan->model->header, PM_HEADER_HYPERVISOR))
		why = "this virtual machine has none; record on its host";
	buf_printf(out, "memory bandwidth: no PMU counts it: %s", why ? why : "no event is known for this processor");
	buf_addstr(out, root_exists(plan->root, "/sys/fs/resctrl/mon_data") ? "; resctrl groups do\n" : "\n");
}
