#include "record/plan/machine.h"

#include <errno.h>
#include <pwd.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/parse.h"
#include "record/host/clocks.h"
#include "record/host/cpuid.h"

/* ---- the topology ---- */

#define CPU        "/sys/devices/system/cpu/cpu%u/"
#define CACHES_MAX 16 /* index directories of one CPU that are examined */

/* Until a CPU has a cluster, x86 kernels show the 16-bit "bad APIC id". */
#define CLUSTER_UNKNOWN 65535

static uint32_t number(const struct root *r, const char *file, uint32_t cpu)
{
	uint64_t v;

	if (root_u64(r, &v, CPU "topology/%s", cpu, file) || v >= PM_NONE)
		return PM_NONE; /* the kernel writes -1 for unknown */
	return (uint32_t)v;
}

/* What the kernel names by numbers that may repeat, or be missing, and by lists of CPUs, which tell for certain. */
enum { PACKAGE, DIE, CLUSTER, CORE, CACHES, LEVELS = CACHES + PM_CACHES };

static const struct {
	size_t number;       /* in struct pm_cpu */
	const char *list[2]; /* the second one is the name that older kernels have */
	bool within;         /* the numbers begin again in each package and die */
} levels[LEVELS] = {
	[PACKAGE] = { offsetof(struct pm_cpu, package), { "package_cpus_list", "core_siblings_list" }, false },
	[DIE] = { offsetof(struct pm_cpu, die), { "die_cpus_list" }, true },
	[CLUSTER] = { offsetof(struct pm_cpu, cluster), { "cluster_cpus_list" }, true },
	[CORE] = { offsetof(struct pm_cpu, core), { "core_cpus_list", "thread_siblings_list" }, true },
	[CACHES + PM_CACHE_L1D] = { offsetof(struct pm_cpu, cache[PM_CACHE_L1D]), { NULL }, false },
	[CACHES + PM_CACHE_L1I] = { offsetof(struct pm_cpu, cache[PM_CACHE_L1I]), { NULL }, false },
	[CACHES + PM_CACHE_L2] = { offsetof(struct pm_cpu, cache[PM_CACHE_L2]), { NULL }, false },
	[CACHES + PM_CACHE_L3] = { offsetof(struct pm_cpu, cache[PM_CACHE_L3]), { NULL }, false },
};

struct reading {
	const struct root *root;
	const struct pm_topology *before; /* or NULL */
	struct pm_topology *t;
	struct {
		uint32_t first;  /* the lowest online CPU of its place; PM_NONE: there is no list */
		uint32_t n;      /* CPUs in the list */
		uint32_t number; /* the kernel's */
	} (*of)[LEVELS];         /* owned, by index in t->cpu */
	bool caches, capacities; /* whether to read them; the kernel shows capacities of all CPUs or of none */
};

static uint32_t *number_of(struct pm_cpu *c, int level)
{
	return (uint32_t *)((char *)c + levels[level].number);
}

/* One list serves all its CPUs. */
static void mark(struct reading *r, int level, const struct cpulist *list)
{
	uint32_t first = PM_NONE;

	for (size_t i = 0; i < list->n; i++) {
		const struct pm_cpu *c = pm_topology_cpu(r->t, list->cpu[i]);

		if (!c || !c->online)
			continue;
		first = first == PM_NONE ? c->cpu : first;
		r->of[c - r->t->cpu][level].first = first;
		r->of[c - r->t->cpu][level].n = (uint32_t)list->n;
	}
}

/* Also finds the threads of a core, by their places in the list. */
static void read_list(struct reading *r, int level, uint32_t at)
{
	SCOPED(cpulist_release) struct cpulist list = { 0 };
	struct pm_cpu *c = &r->t->cpu[at];

	if (r->of[at][level].first != PM_NONE)
		return;
	if (root_cpulist(r->root, &list, CPU "topology/%s", c->cpu, levels[level].list[0]) && levels[level].list[1])
		root_cpulist(r->root, &list, CPU "topology/%s", c->cpu, levels[level].list[1]);
	if (!cpulist_has(&list, c->cpu))
		return;
	mark(r, level, &list);
	for (uint32_t i = 0; i < list.n && level == CORE; i++) {
		const struct pm_cpu *thread = pm_topology_cpu(r->t, list.cpu[i]);

		if (thread && thread->online)
			r->t->cpu[thread - r->t->cpu].thread = i;
	}
}

static int cache_kind(uint64_t level, const char *type)
{
	if (level == 1)
		return !strcmp(type, "Data") ? PM_CACHE_L1D : !strcmp(type, "Instruction") ? PM_CACHE_L1I : -1;
	return level == 2 ? PM_CACHE_L2 : level == 3 ? PM_CACHE_L3 : -1;
}

static void read_caches(struct reading *r, uint32_t at)
{
	SCOPED(cpulist_release) struct cpulist shared = { 0 };
	struct pm_cpu *c = &r->t->cpu[at];
	char type[32] = "";
	uint64_t level, id;
	int kind;

	for (unsigned i = 0; i < CACHES_MAX && c->cache[PM_CACHE_L3] == PM_NONE; i++) {
		if (root_u64(r->root, &level, CPU "cache/index%u/level", c->cpu, i))
			break;
		if (level == 1 && root_line(r->root, type, sizeof(type), CPU "cache/index%u/type", c->cpu, i))
			continue;
		kind = cache_kind(level, type);
		if (kind < 0)
			continue;
		if (r->of[at][CACHES + kind].first == PM_NONE &&
		    !root_cpulist(r->root, &shared, CPU "cache/index%u/shared_cpu_list", c->cpu, i) &&
		    cpulist_has(&shared, c->cpu))
			mark(r, CACHES + kind, &shared);
		if (!root_u64(r->root, &id, CPU "cache/index%u/id", c->cpu, i) && id < PM_NONE)
			c->cache[kind] = (uint32_t)id;
		/* Firmware without cache numbers still says who shares them. */
		else
			c->cache[kind] = r->of[at][CACHES + kind].first;
	}
}

static void read_cpu(struct reading *r, uint32_t at)
{
	struct pm_cpu *c = &r->t->cpu[at], *sibling;
	bool own_caches = false;
	uint64_t capacity;

	read_list(r, CORE, at);
	/* The threads of a core have all of this in common; but every other thread of eight may have other caches
	 * (POWER9 and 10, whose large cores are two small ones). */
	if (r->of[at][CORE].first < c->cpu) {
		const struct pm_cpu own = *c;

		sibling = &r->t->cpu[pm_topology_cpu(r->t, r->of[at][CORE].first) - r->t->cpu];
		*c = *sibling;
		c->cpu = own.cpu;
		c->thread = own.thread;
		memcpy(r->of[at], r->of[sibling - r->t->cpu], CACHES * sizeof(r->of[at][0]));
		for (int level = CACHES; level < LEVELS; level++)
			own_caches |= r->of[at][level].first != r->of[sibling - r->t->cpu][level].first;
		if (own_caches) {
			memset(c->cache, 0xff, sizeof(c->cache));
			read_caches(r, at);
		}
		return;
	}
	c->package = number(r->root, "physical_package_id", c->cpu);
	c->die = number(r->root, "die_id", c->cpu);
	c->cluster = number(r->root, "cluster_id", c->cpu);
	if (c->cluster == CLUSTER_UNKNOWN)
		c->cluster = PM_NONE;
	c->core = number(r->root, "core_id", c->cpu);
	if (r->capacities && !root_u64(r->root, &capacity, CPU "cpu_capacity", c->cpu) && capacity < PM_NONE)
		c->capacity = (uint32_t)capacity;
	r->capacities = c->capacity != PM_NONE;
	for (int level = PACKAGE; level < CORE; level++)
		if (*number_of(c, level) != PM_NONE || level == PACKAGE)
			read_list(r, level, at);
	if (r->caches)
		read_caches(r, at);
}

static bool same_numbers(int level, const struct pm_cpu *a, const struct pm_cpu *b)
{
	const size_t at = levels[level].number;

	if (levels[level].within && (a->package != b->package || (level != DIE && a->die != b->die)))
		return false;
	return !memcmp((const char *)a + at, (const char *)b + at, sizeof(uint32_t));
}

/* Whether another place has the number. What the CPUs that are offline belong to is known from before. */
static bool is_taken(const struct reading *r, int level, uint32_t at)
{
	const struct pm_topology *t = r->t;
	const struct pm_cpu *c = &t->cpu[at], *known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;

	for (uint32_t i = 0; i < t->n; i++) {
		const struct pm_cpu *other = &t->cpu[i], *old;

		if (!same_numbers(level, c, other) || (other->online && i >= at))
			continue;
		if (other->online ?
			    r->of[i][level].first != PM_NONE && r->of[i][level].first != r->of[at][level].first :
			    known && (old = pm_topology_cpu(r->before, other->cpu)) &&
				    !same_numbers(level, known, old))
			return true;
	}
	return false;
}

/* A number that no place has, above those that the kernel gives. */
static uint32_t next_number(struct reading *r, int level, const struct pm_cpu *c)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < r->t->n; i++) {
		struct pm_cpu like = *c, *other = &r->t->cpu[i];
		uint32_t n = *number_of(&like, level) = *number_of(other, level);

		if (n != PM_NONE && n >= next && same_numbers(level, &like, other))
			next = n + 1;
	}
	return next;
}

/*
 * Gives each place a number of its own. Several nodes of one package number their cores alike (Opteron, Threadripper;
 * arm64 in clusters), books of s390x their sockets, and some kernels number nothing. Where the kernel knows no
 * packages at all, it lists each CPU alone.
 */
static void settle_level(struct reading *r, int level)
{
	struct pm_topology *t = r->t;
	bool lists = t->n == 1 || level == CORE;

	for (uint32_t i = 0; i < t->n; i++) {
		r->of[i][level].number = *number_of(&t->cpu[i], level);
		lists = lists || (level == PACKAGE && r->of[i][level].first != PM_NONE && r->of[i][level].n > 1);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		struct pm_cpu *c = &t->cpu[i];
		uint32_t first = r->of[i][level].first, *to = number_of(c, level);
		const struct pm_cpu *known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;

		if (!c->online || first == PM_NONE || (*to == PM_NONE && !lists))
			continue;
		if (first != c->cpu) {
			const struct pm_cpu *leader = pm_topology_cpu(t, first);

			/* Lists of cores outrank numbers, but one list of packages may have several chips. */
			if (level == CORE || *to == r->of[leader - t->cpu][level].number)
				*to = *number_of((struct pm_cpu *)leader, level);
			continue;
		}
		if (*to != PM_NONE && !is_taken(r, level, i))
			continue;
		*to = known ? *number_of((struct pm_cpu *)known, level) : PM_NONE;
		if (*to == PM_NONE || is_taken(r, level, i))
			*to = next_number(r, level, c);
	}
}

static void read_nodes(const struct root *r, struct pm_topology *t)
{
	SCOPED(cpulist_release) struct cpulist nodes = { 0 }, cpus = { 0 };
	size_t at;

	if (root_cpulist(r, &nodes, "/sys/devices/system/node/online"))
		root_cpulist(r, &nodes, "/sys/devices/system/node/possible");
	for (size_t i = 0; i < nodes.n; i++) {
		if (root_cpulist(r, &cpus, "/sys/devices/system/node/node%u/cpulist", nodes.cpu[i]))
			continue;
		at = 0;
		for (uint32_t k = 0; k < t->n; k++) {
			while (at < cpus.n && cpus.cpu[at] < t->cpu[k].cpu)
				at++;
			if (at < cpus.n && cpus.cpu[at] == t->cpu[k].cpu)
				t->cpu[k].node = nodes.cpu[i];
		}
	}
}

static int present_cpus(const struct root *r, struct cpulist *present, struct cpulist *online, struct error *e)
{
	int err = root_online(r, online);

	if (err)
		return error_sys(e, -err, "%s" ROOT_ONLINE, r->prefix);
	if (!online->n)
		return error_set(e, EINVAL, "%s" ROOT_ONLINE " is empty", r->prefix);
	if (root_cpulist(r, present, "/sys/devices/system/cpu/present"))
		present->n = 0;
	/* A copied tree may say less than the kernel does. */
	for (size_t i = 0; i < online->n; i++)
		memory_must(cpulist_add(present, online->cpu[i]));
	return 0;
}

static void read_cpus(struct reading *r, const struct cpulist *present, const struct cpulist *online)
{
	struct pm_topology *t = r->t;
	const struct pm_cpu *known;

	t->n = (uint32_t)present->n;
	memset(t->cpu, 0xff, t->n * sizeof(*t->cpu)); /* PM_NONE everywhere */
	memset(r->of, 0xff, t->n * sizeof(*r->of));
	for (uint32_t i = 0; i < t->n; i++) {
		t->cpu[i].cpu = present->cpu[i];
		t->cpu[i].online = cpulist_has(online, present->cpu[i]);
	}
	for (uint32_t i = 0; i < t->n; i++) {
		known = r->before ? pm_topology_cpu(r->before, t->cpu[i].cpu) : NULL;
		if (t->cpu[i].online) {
			read_cpu(r, i);
		} else if (known) {
			t->cpu[i] = *known;
			t->cpu[i].online = false;
		}
	}
	for (int level = 0; level < LEVELS; level++)
		settle_level(r, level);
	for (uint32_t i = 0; i < t->n; i++) {
		struct pm_cpu *c = &t->cpu[i];

		known = r->before ? pm_topology_cpu(r->before, c->cpu) : NULL;
		/* If a sibling goes offline, the remaining thread moves to the front of the list: it keeps its old
		 * position. */
		if (known && known->thread != PM_NONE && known->thread + 1 > c->thread + 1 &&
		    same_numbers(CORE, known, c))
			c->thread = known->thread;
	}
}

/*
 * Reads the topology of all CPUs that are present. Offline CPUs, which sysfs does not describe, keep their
 * entry of `before` (or NULL). If a recording of tasks is brief (perf_options), caches are unknown. The caller
 * owns *t. 0 or -errno.
 */
static int topology_read(const struct plan *p, const struct pm_topology *before, struct pm_topology *t,
			 struct error *e)
{
	/* Counts of tasks alone belong to no cache. */
	const bool caches = !p->options->perf.brief || p->options->target == TARGET_SYSTEM;
	SCOPED(cpulist_release) struct cpulist present = { 0 }, online = { 0 };
	struct reading r = { p->root, before, t, .caches = caches, .capacities = true };
	int err;

	*t = (struct pm_topology){ .time_ns = clocks_monotonic() };
	err = present_cpus(p->root, &present, &online, e);
	if (err)
		return err;
	t->cpu = memory_new(present.n, sizeof(*t->cpu));
	r.of = memory_new(present.n, sizeof(*r.of));
	read_cpus(&r, &present, &online);
	read_nodes(p->root, t);
	cputype_read(p->root, before, t);
	free(r.of);
	return 0;
}

static bool same_topology(const struct pm_topology *a, const struct pm_topology *b)
{
	if (a->n != b->n || a->n_types != b->n_types)
		return false;
	for (uint32_t i = 0; i < a->n_types; i++)
		if (strcmp(a->type[i], b->type[i]))
			return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct pm_cpu *x = &a->cpu[i], *y = &b->cpu[i];

		if (x->cpu != y->cpu || x->package != y->package || x->die != y->die || x->cluster != y->cluster ||
		    x->core != y->core || x->node != y->node || x->thread != y->thread || x->type != y->type ||
		    x->capacity != y->capacity || x->online != y->online ||
		    memcmp(x->cache, y->cache, sizeof(x->cache)))
			return false;
	}
	return true;
}

int topology_refresh(struct plan *p)
{
	struct pm_topology t;
	int err = topology_read(p, &p->model->topology, &t, NULL);

	if (err)
		return err;
	if (!same_topology(&t, &p->model->topology)) {
		memory_must(pm_model_set_topology(p->model, &t));
		err = 1;
	}
	pm_topology_release(&t);
	return err;
}

static uint32_t place_number(const struct pm_cpu *c, enum pm_kind kind)
{
	return kind == PM_PACKAGE ? c->package :
	       kind == PM_DIE     ? c->die :
	       kind == PM_CLUSTER ? c->cluster :
	       kind == PM_CACHE   ? c->cache[PM_CACHE_L3] :
	       kind == PM_NODE    ? c->node :
	       kind == PM_CORE    ? c->core :
	       kind == PM_CPU     ? c->cpu :
				    PM_NONE;
}

/* Dies are numbered in each package, clusters in each die. Some machines number cores within the cluster, others
 * within the die. */
bool topology_same_place(const struct pm_cpu *a, const struct pm_cpu *b, enum pm_kind kind)
{
	const bool core = kind == PM_CORE, cluster = core || kind == PM_CLUSTER, die = cluster || kind == PM_DIE;

	return place_number(a, kind) == place_number(b, kind) && (!die || a->package == b->package) &&
	       (!cluster || a->die == b->die) && (!core || a->cluster == b->cluster);
}

/* The first CPU of its place, online or not. */
static const struct pm_cpu *leader(const struct pm_topology *t, enum pm_kind kind, const struct pm_cpu *c)
{
	const struct pm_cpu *first = kind == PM_CORE && !c->thread ? c : t->cpu;

	while (!topology_same_place(first, c, kind))
		first++;
	return first;
}

bool topology_shares(const struct pm_topology *t, enum pm_kind kind, uint32_t cpu, uint32_t other)
{
	const struct pm_cpu *a = pm_topology_cpu(t, cpu), *b = pm_topology_cpu(t, other);

	if (kind == PM_CPU)
		return cpu == other;
	return a && b && place_number(a, kind) != PM_NONE && topology_same_place(a, b, kind);
}

int64_t topology_instance(struct plan *p, enum pm_kind kind, uint32_t cpu)
{
	const struct pm_topology *t = &p->model->topology;
	const struct pm_cpu *c = pm_topology_cpu(t, cpu);
	struct pm_instance add = { .kind = kind };
	uint32_t *at;
	int64_t id;

	if (kind == PM_CPU)
		return plan_cpu_instance(p, cpu);
	if (!c || place_number(c, kind) == PM_NONE)
		return -ENOENT;
	at = &p->place[place_number(c, kind) % PLAN_PLACES];
	for (uint32_t i = *at; i; i = p->place_next[i]) {
		const struct pm_instance *known = pm_model_instance(p->model, i);
		const struct pm_cpu *of;

		if (known->kind != kind || known->number != place_number(c, kind) || known->retired_ns)
			continue;
		of = pm_topology_cpu(t, known->cpu);
		if (of && topology_same_place(of, c, kind))
			return i;
	}
	add.number = place_number(c, kind);
	add.cpu = leader(t, kind, c)->cpu;
	if (kind == PM_CACHE)
		plan_set(&add.attrs, PM_INSTANCE_LEVEL, pm_u64(3));
	id = plan_instance(p, &add);
	if (id > 0) {
		memory_hold(&p->place_next, &p->n_place_next, (uint32_t)id + 1, sizeof(*p->place_next));
		p->place_next[id] = *at;
		*at = (uint32_t)id;
	}
	return id;
}

/* ---- the header ---- */

#define HEAD_MAX 8192 /* bytes of a long text file: its first lines are enough */

/* Adds a text to the header, unless it is empty or privacy excludes it. */
static void config_text(struct plan *p, uint32_t key, const char *text)
{
	if (text[0] && plan_may_record(p->options, key))
		plan_set(&p->model->header, key, pm_text(text));
}

/* Files whose first line is the header's text, in order of preference. */
static const struct {
	uint32_t key;
	const char *path;
} text_file[] = {
	{ PM_HEADER_ARCH, "/proc/sys/kernel/arch" },
	{ PM_HEADER_KERNEL, "/proc/sys/kernel/osrelease" },
	{ PM_HEADER_SMT, "/sys/devices/system/cpu/smt/control" },
	{ PM_HEADER_MICROCODE, "/sys/devices/system/cpu/cpu0/microcode/version" },
	{ PM_HEADER_HOST, "/proc/sys/kernel/hostname" },
	{ PM_HEADER_BOOT_ID, "/proc/sys/kernel/random/boot_id" },
	{ PM_HEADER_MACHINE_ID, "/etc/machine-id" },
	{ PM_HEADER_CMDLINE, "/proc/cmdline" },
	{ PM_HEADER_HYPERVISOR, "/sys/hypervisor/type" },
	{ PM_HEADER_PRODUCT, "/sys/firmware/devicetree/base/model" }, /* where there is no DMI */
};

static void text_files(struct plan *p)
{
	char line[2048];

	for (size_t i = 0; i < sizeof(text_file) / sizeof(text_file[0]); i++)
		if (!pm_map_get(&p->model->header, text_file[i].key) &&
		    !root_line(p->root, line, sizeof(line), "%s", text_file[i].path))
			config_text(p, text_file[i].key, line);
}

/* The firmware's table of persistent memory, which formulas ask for (#has_pmem). If it cannot be read, there is none:
 * events were chosen on that basis. */
static void persistent_memory(struct plan *p)
{
	plan_fact(p, pm_u64(root_exists(p->root, "/sys/firmware/acpi/tables/NFIT")), "machine.has_pmem");
}

static void dmi(struct plan *p)
{
	static const char *const file[2][3] = { { "sys_vendor", "product_name", "product_version" },
						{ "bios_vendor", "bios_version", "bios_date" } };
	static const uint32_t key[2] = { PM_HEADER_PRODUCT, PM_HEADER_BIOS };
	char text[400], line[128];

	for (int k = 0; k < 2; k++) {
		text[0] = '\0';
		for (int i = 0; i < 3; i++) {
			size_t n = strlen(text);

			if (!root_line(p->root, line, sizeof(line), "/sys/class/dmi/id/%s", file[k][i]) && line[0])
				snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "", line);
		}
		config_text(p, key[k], text);
	}
}

/* Reads the beginning of a file of any length. */
static int read_head(const struct root *r, const char *path, char *text, size_t size)
{
	SCOPED(fd_close) int fd = root_open(r, "%s", path);
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	for (size_t len = 0; len < size - 1; len += (size_t)n, text[len] = '\0') {
		n = read(fd, text + len, size - 1 - len);
		if (n <= 0)
			break;
	}
	return 0;
}

/* The value of a line "key : value" or "key=value", without quotes. */
static bool find_line(const char *text, const char *key, const char *separator, char *value, size_t size)
{
	size_t len = strlen(key), n;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at;

		line += *line == '\n';
		if (strncmp(line, key, len))
			continue;
		at = line + len + strspn(line + len, " \t");
		if (strncmp(at, separator, strlen(separator)))
			continue;
		at += strlen(separator);
		at += strspn(at, " \t\"'");
		n = strcspn(at, "\n");
		while (n && strchr(" \t\"'\r", at[n - 1]))
			n--;
		snprintf(value, size, "%.*s", (int)n, at);
		return n > 0;
	}
	return false;
}

static void os_and_memory(struct plan *p)
{
	char text[HEAD_MAX], value[256];
	uint64_t kib;

	if (read_head(p->root, "/etc/os-release", text, sizeof(text)))
		read_head(p->root, "/usr/lib/os-release", text, sizeof(text));
	if (find_line(text, "PRETTY_NAME", "=", value, sizeof(value)))
		config_text(p, PM_HEADER_OS, value);
	read_head(p->root, "/proc/meminfo", text, sizeof(text));
	if (find_line(text, "MemTotal", ":", value, sizeof(value)) &&
	    !parse_u64_span(value, strcspn(value, " "), 10, &kib))
		plan_set(&p->model->header, PM_HEADER_MEMORY, pm_u64(kib * 1024));
}

static void kernel_switches(struct plan *p)
{
	char line[64];
	int64_t level;
	uint64_t v;
	SCOPED(fd_close) int fd = -1;
	int32_t us;

	if (!root_line(p->root, line, sizeof(line), "/proc/sys/kernel/perf_event_paranoid") &&
	    !parse_s64(line, &level))
		plan_set(&p->model->header, PM_HEADER_PARANOID, level < 0 ? pm_s64(level) : pm_u64((uint64_t)level));
	if (!root_u64(p->root, &v, "/proc/sys/kernel/nmi_watchdog"))
		plan_set(&p->model->header, PM_HEADER_NMI_WATCHDOG, pm_u64(v));
	if (p->options->tcc_celsius)
		plan_fact(p, pm_u64(p->options->tcc_celsius), "tcc_celsius");
	/* Opening it requests nothing, so nothing changes; the number is what others requested. */
	fd = root_open(p->root, "/dev/cpu_dma_latency");
	if (fd >= 0 && read(fd, &us, sizeof(us)) == sizeof(us))
		plan_fact(p, pm_s64(us), "cpu_dma_latency_us");
}

static struct pm_value regs_value(const struct cpuid_regs *r)
{
	const uint32_t reg[4] = { r->eax, r->ebx, r->ecx, r->edx };
	uint8_t raw[16];

	for (int i = 0; i < 16; i++)
		raw[i] = (uint8_t)(reg[i / 4] >> (8 * (i % 4)));
	return pm_bytes(raw, sizeof(raw));
}

static void cpuid_config(struct plan *p, const struct cpuid_cpu *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (c[i].err)
			plan_config_missing(p, PM_CPU, c[i].cpu, pm_reason_errno(c[i].err), "cpuid.00000000.0");
		for (uint32_t k = 0; k < c[i].n; k++)
			plan_config(p, PM_CPU, c[i].cpu, regs_value(&c[i].leaf[k].regs), "cpuid.%08x.%u",
				    c[i].leaf[k].leaf, c[i].leaf[k].subleaf);
	}
}

static void cpuid_header(struct plan *p, const struct cpuid_cpu *c, size_t n)
{
	char vendor[13], brand[49], name[64], hypervisor[13];
	size_t i = 0;

	while (i < n && c[i].err)
		i++;
	if (i == n)
		return;
	if (cpuid_vendor(&c[i], vendor))
		config_text(p, PM_HEADER_CPU_VENDOR, vendor);
	if (cpuid_brand(&c[i], brand))
		config_text(p, PM_HEADER_CPU_MODEL, brand);
	if (cpuid_name(&c[i], name, sizeof(name)))
		config_text(p, PM_HEADER_CPU_ID, name);
	if (cpuid_hypervisor(&c[i], hypervisor))
		config_text(p, PM_HEADER_HYPERVISOR, hypervisor);
}

static void describe_x86(struct plan *p)
{
	uint32_t here = (uint32_t)sched_getcpu();
	/* To visit the others costs more than to count a short command. */
	struct cpulist one = { .cpu = &here, .n = 1 };
	const struct cpulist *cpus = p->options->perf.brief && !p->root->emulated ? &one : &p->cpus;
	struct cpuid_cpu *c = cpuid_collect(p->root, cpus, p->options->perf.brief);

	if (!c)
		return;
	cpuid_header(p, c, cpus->n);
	cpuid_config(p, c, cpus->n);
	cpuid_free(c, cpus->n);
}

/* What MIDR_EL1 says. */
static void put_midr(struct plan *p, uint64_t v)
{
	char text[64], name[32];

	snprintf(text, sizeof(text), "0x%016llx", (unsigned long long)v);
	config_text(p, PM_HEADER_CPU_ID, text);
	snprintf(text, sizeof(text), "0x%02x", (unsigned)(v >> 24) & 0xff);
	cputype_name(v, name, sizeof(name));
	config_text(p, PM_HEADER_CPU_VENDOR, text);
	config_text(p, PM_HEADER_CPU_MODEL, name);
}

static void describe_arm(struct plan *p)
{
	static const char *const file[] = { "midr_el1", "revidr_el1", "smidr_el1" };
	uint64_t v;

	if (!p->cpus.n || !root_exists(p->root, "/sys/devices/system/cpu/cpu%u/regs", p->cpus.cpu[0]))
		return;
	for (size_t k = 0; k < sizeof(file) / sizeof(file[0]); k++)
		for (size_t i = 0; i < p->cpus.n; i++)
			if (!root_u64(p->root, &v, "/sys/devices/system/cpu/cpu%u/regs/identification/%s",
				      p->cpus.cpu[i], file[k]))
				plan_config(p, PM_CPU, p->cpus.cpu[i], pm_u64(v), "arm64.%s", file[k]);
	v = cputype_midr(p->root, p->cpus.cpu[0]);
	if (v)
		put_midr(p, v);
}

/* The values of up to four lines of /proc/cpuinfo, and the numbers that they are (UINT64_MAX: none). */
static bool find_lines(const char *text, const char *const line[4], char value[4][128], uint64_t number[4])
{
	for (size_t i = 0; i < 4 && line[i]; i++) {
		if (!find_line(text, line[i], ":", value[i], sizeof(value[i])))
			return false;
		if (parse_u64(value[i], &number[i]))
			number[i] = UINT64_MAX;
	}
	return true;
}

/* What cpuid_name() would say of an x86 processor, and what MIDR or perf say of others. */
static void put_identity(struct plan *p, const char *text)
{
	static const char *const x86[4] = { "vendor_id", "cpu family", "model", "stepping" };
	static const char *const arm[4] = { "CPU implementer", "CPU variant", "CPU part", "CPU revision" };
	static const char *const riscv[4] = { "mvendorid", "marchid", "mimpid" };
	const char *pvr = strstr(text, "(pvr ");
	char value[4][128], id[128] = "";
	unsigned version, revision;
	uint64_t n[4];

	if (find_lines(text, arm, value, n) && (n[0] | n[1] | n[2] | n[3]) != UINT64_MAX)
		put_midr(p, n[0] << 24 | n[1] << 20 | 0xf << 16 | n[2] << 4 | n[3]);
	else if (find_lines(text, x86, value, n) && (n[1] | n[2] | n[3]) != UINT64_MAX)
		snprintf(id, sizeof(id), "%.32s-%u-%X-%X", value[0], (unsigned)n[1], (unsigned)n[2], (unsigned)n[3]);
	else if (find_lines(text, riscv, value, n))
		snprintf(id, sizeof(id), "%.32s-%.32s-%.32s", value[0], value[1], value[2]);
	else if (pvr && sscanf(pvr, "(pvr %x %x)", &version, &revision) == 2)
		snprintf(id, sizeof(id), "0x%04x%04x", version & 0xffff, revision & 0xffff);
	config_text(p, PM_HEADER_CPU_ID, id);
}

/* The machine of s390x, which its processor is named after (arch/s390/kernel, setup_elf_platform()). */
static void put_ibm_z(struct plan *p, const char *text)
{
	static const struct {
		unsigned type;
		const char *name;
	} z[] = { { 0x2817, "z196" }, { 0x2827, "zEC12" }, { 0x2964, "z13" }, { 0x3906, "z14" },
		  { 0x8561, "z15" },  { 0x3931, "z16" },   { 0x9175, "z17" } };
	const char *at = strstr(text, "machine = ");
	unsigned type, of = 0;
	char name[64];

	if (!at || sscanf(at, "machine = %x", &type) != 1)
		return;
	/* The small machine of a generation has the next number or a near one. */
	while (of < sizeof(z) / sizeof(z[0]) && (type < z[of].type || type > z[of].type + 1))
		of++;
	snprintf(name, sizeof(name), "IBM %s%stype %04X", of < sizeof(z) / sizeof(z[0]) ? z[of].name : "",
		 of < sizeof(z) / sizeof(z[0]) ? ", " : "", type & 0xffff);
	config_text(p, PM_HEADER_CPU_MODEL, name);
}

/* Adds what CPUID and MIDR did not say, from the kernel's text for people. */
static void from_cpuinfo(struct plan *p)
{
	static const struct {
		uint32_t key;
		const char *line;
	} row[] = {
		{ PM_HEADER_CPU_VENDOR, "vendor_id" }, { PM_HEADER_CPU_VENDOR, "mvendorid" }, /* riscv */
		{ PM_HEADER_CPU_MODEL, "model name" }, { PM_HEADER_CPU_MODEL, "Model Name" }, /* loongarch */
		{ PM_HEADER_CPU_MODEL, "cpu model" },  { PM_HEADER_CPU_MODEL, "cpu" }, /* mips; powerpc, sparc */
		{ PM_HEADER_CPU_MODEL, "uarch" },      { PM_HEADER_CPU_MODEL, "isa" }, /* riscv */
		{ PM_HEADER_MICROCODE, "microcode" },
	};
	/* Before 6.1 no file of /proc names the architecture. */
	static const struct {
		const char *text, *arch;
	} arch[] = { { "CPU architecture: 7", "arm" },   { "CPU implementer", "aarch64" }, { "IBM/S390", "s390x" },
		     { "vendor_id", "x86_64" },          { "isa\t\t: rv64", "riscv64" },   { "(pvr ", "ppc64" },
		     { "Loongson-64bit", "loongarch64" } };
	char text[HEAD_MAX], value[128];

	if (read_head(p->root, "/proc/cpuinfo", text, sizeof(text)))
		return;
	if (!pm_map_get(&p->model->header, PM_HEADER_CPU_ID))
		put_identity(p, text);
	if (strstr(text, "IBM/S390"))
		put_ibm_z(p, text);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		if (!pm_map_get(&p->model->header, row[i].key) &&
		    find_line(text, row[i].line, ":", value, sizeof(value))) {
			/* "POWER9 (raw), altivec supported" */
			if (!strcmp(row[i].line, "cpu"))
				value[strcspn(value, ",")] = '\0';
			config_text(p, row[i].key, value);
		}
	for (size_t i = 0; i < sizeof(arch) / sizeof(arch[0]); i++)
		if (!pm_map_get(&p->model->header, PM_HEADER_ARCH) && strstr(text, arch[i].text))
			config_text(p, PM_HEADER_ARCH, arch[i].arch);
}

static void from_uname(struct plan *p)
{
	struct utsname u;

	if (p->root->emulated || uname(&u))
		return;
	if (!pm_map_get(&p->model->header, PM_HEADER_ARCH))
		config_text(p, PM_HEADER_ARCH, u.machine);
	if (!pm_map_get(&p->model->header, PM_HEADER_KERNEL))
		config_text(p, PM_HEADER_KERNEL, u.release);
}

int machine_describe(struct plan *p, struct error *e)
{
	void (*const step[])(struct plan *) = { dmi,          os_and_memory, /* the others are brief */
						text_files,   kernel_switches, describe_x86,     describe_arm,
						from_cpuinfo, from_uname,      persistent_memory };
	struct pm_topology t;
	int err;

	err = topology_read(p, NULL, &t, e);
	if (err)
		return err;
	memory_must(pm_model_set_topology(p->model, &t));
	pm_topology_release(&t);
	for (size_t i = p->options->perf.brief ? 2 : 0; i < sizeof(step) / sizeof(step[0]); i++)
		step[i](p);
	return 0;
}

/* What the user typed to have it in the file is not a secret of the machine. */
static bool may_put(const struct record_options *o, uint32_t key)
{
	if ((key == PM_HEADER_COMMAND || key == PM_HEADER_LABELS) && strcmp(o->privacy, "strict"))
		return true;
	return plan_may_record(o, key);
}

/* Adds a value if privacy permits it and it is not there yet. */
static void put_key(struct plan *p, uint32_t key, struct pm_value v)
{
	if (may_put(p->options, key) && !pm_map_get(&p->model->header, key))
		plan_set(&p->model->header, key, v);
	else
		pm_value_release(&v);
}

static struct pm_value texts(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list && list[n])
		n++;
	v = plan_array(n);
	for (uint32_t i = 0; i < n; i++)
		v.array.item[i] = pm_text(list[i]);
	return v;
}

static struct pm_value labels(char *const *list)
{
	struct pm_value v;
	uint32_t n = 0;

	while (list[n])
		n++;
	v = plan_array(n);
	for (uint32_t i = 0; i < n; i++) {
		size_t key = strcspn(list[i], "=");
		struct pm_value pair = plan_array(2);

		pair.array.item[0] = pm_text_n(list[i], key);
		pair.array.item[1] = pm_text(list[i] + key + 1);
		v.array.item[i] = pair;
	}
	return v;
}

static struct pm_value source_names(const struct plan *p, const struct source *s, size_t n)
{
	struct pm_value v = plan_array((uint32_t)n);

	v.array.n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct unit *u = p->units;

		while (u && u->source != &s[i])
			u = u->next;
		if (u)
			v.array.item[v.array.n++] = pm_text(s[i].ops->name);
	}
	return v;
}

static const char *target(const struct record_options *o)
{
	switch (o->target) {
	case TARGET_COMMAND:
		return "command";
	case TARGET_TASKS:
		return o->perf.pids ? "pid" : o->perf.tids ? "tid" : "system";
	case TARGET_SYSTEM:
		break;
	}
	if (o->perf.n_cgroups || o->perf.each_cgroup)
		return "cgroup";
	return o->cpus ? "cpu" : "system";
}

/* From /etc/passwd only: what name services load does not belong in a program with capabilities. */
static char *user_name(void)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *row = NULL;
	char *name;

	while (f && (row = fgetpwent(f)) && row->pw_uid != getuid())
		;
	name = row ? memory_text(row->pw_name) : memory_format("%u", (unsigned)getuid());
	if (f)
		fclose(f);
	return name;
}

static void put_people(struct plan *p, char *const *argv)
{
	const struct record_options *o = p->options;
	struct utsname host;
	char *user;

	if (!o->root && !uname(&host))
		put_key(p, PM_HEADER_HOST, pm_text(host.nodename));
	if (o->run.command) {
		put_key(p, PM_HEADER_COMMAND, pm_text(o->run.command[0]));
		if (o->run.command[1])
			put_key(p, PM_HEADER_ARGUMENTS, texts(o->run.command + 1));
	}
	if (o->output.labels)
		put_key(p, PM_HEADER_LABELS, labels(o->output.labels));
	user = user_name();
	put_key(p, PM_HEADER_USER, pm_text(user));
	free(user);
	put_key(p, PM_HEADER_PMREC_ARGS, texts(argv));
}

void header_fill(struct plan *p, const struct source *s, size_t n, char *const *argv)
{
	const struct record_options *o = p->options;
	SCOPED(buf_release) struct buf cpus = BUF_INIT;

	put_key(p, PM_HEADER_TOOL, pm_text("pmrec " PM_VERSION));
	put_key(p, PM_HEADER_INTERVAL, pm_u64(o->sample.interval_ns));
	put_key(p, PM_HEADER_TICK_HZ, pm_u64((uint64_t)sysconf(_SC_CLK_TCK)));
	put_key(p, PM_HEADER_PAGE_SIZE, pm_u64((uint64_t)sysconf(_SC_PAGESIZE)));
	put_key(p, PM_HEADER_TARGET, pm_text(target(o)));
	put_key(p, PM_HEADER_PRIVACY, pm_text(o->privacy));
	put_key(p, PM_HEADER_SOURCES, source_names(p, s, n));
	put_key(p, PM_HEADER_LITTLE_ENDIAN, pm_bool(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__));
	if (p->root->emulated)
		put_key(p, PM_HEADER_EMULATED, pm_bool(true));
	if (o->perf.no_scale)
		put_key(p, PM_HEADER_SCALED, pm_bool(false));
	if (o->run.runs != 1)
		put_key(p, PM_HEADER_RUNS, pm_u64(o->run.runs == UINT32_MAX ? 0 : o->run.runs));
	if (clocks_counter_name() && !p->root->emulated) {
		put_key(p, PM_HEADER_CLOCK_COUNTER, pm_text(clocks_counter_name()));
		if (clocks_counter_hz())
			put_key(p, PM_HEADER_CLOCK_COUNTER_HZ, pm_u64(clocks_counter_hz()));
	}
	if (o->cpus) {
		cpulist_print(&p->cpus, &cpus);
		/* As typed, if that is how lists are written. */
		put_key(p, PM_HEADER_CPUS,
			pm_text(o->cpus[strspn(o->cpus, "0123456789,-")] ? buf_str(&cpus) : o->cpus));
	}
	put_people(p, argv);
}
