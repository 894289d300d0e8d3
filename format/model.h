/*
 * What a recording says about the machine and itself, apart from the numbers: one struct that pmrec fills and pmrep
 * reads. The writer turns additions into definition frames; the reader adds what such frames say. The model assigns
 * ids, which start at 1 and are never reused.
 *
 * A *counter* is a kind of number (cpuidle.time.c1). An *instance* has counters: CPU 3, package 0, a PMU, a task. A
 * *column* is one counter of one instance. A *group* is a set of columns that are read together. A *snapshot* is one
 * reading of all groups.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/names.h"
#include "format/remark.h"
#include "format/value.h"

#define PM_NONE UINT32_MAX /* a CPU or topology number that is unknown or does not apply */

/* An unknown number of a type, semantics, aggregation or kind says itself whether that matters (SPEC.md, "Later
 * versions"). If it is critical, what it belongs to is `newer`, and its values are missing with PM_REASON_NEWER.
 * Otherwise values are plain numbers, with which nothing is computed. */
static inline bool pm_number_critical(unsigned number)
{
	return !(number & 64);
}
/* The same for keys of the maps that SPEC.md names. */
static inline bool pm_key_critical(uint32_t key)
{
	return key < 400 && key % 100 >= 80 && key % 100 < 90;
}

/* ---- counters ---- */

enum pm_type {
	PM_U64 = 0,
	PM_S64 = 1,
	PM_F64 = 2,   /* the column holds the bits of an IEEE 754 double */
	PM_TEXT = 3,  /* the column holds an id of a string */
	PM_BYTES = 4, /* the same */
};

enum pm_semantics {
	PM_CUMULATIVE = 0, /* rises from an arbitrary start; only differences have a meaning */
	PM_DELTA = 1,      /* the count since the previous snapshot */
	PM_GAUGE = 2,      /* the level at the time of reading */
	PM_PEAK = 3,       /* the highest level since the previous snapshot */
	PM_STATE = 4,      /* the name or number of a state; no arithmetic */
	PM_BITFIELD = 5,   /* fields that bits() extracts */
};

/* How to combine the values of several instances. */
enum pm_aggregation {
	PM_AGG_SUM = 0,
	PM_AGG_MEAN = 1,
	PM_AGG_MAX = 2,
	PM_AGG_MIN = 3,
	PM_AGG_FIRST = 4,   /* all instances agree; takes the first valid one */
	PM_AGG_NONE = 5,    /* cannot be combined; missing above its own level */
	PM_AGG_NEWER = 255, /* never in files: as PM_AGG_NONE, because this program is too old */
};

/* A value times num / den is in the counter's unit. If `text`, the decimal text of a sysfs .scale file, is set, it is
 * the factor instead, and num/den are 1/1. */
struct pm_scale {
	uint64_t num, den; /* den > 0 */
	char *text;        /* owned or NULL */
};

/* Whether parse_double() accepts the text, and it is above 0. */
bool pm_scale_good(const char *text);

/* Rows of keys of maps: the name here, the number in files, the kind of the value, and a stable id for json. */
#define PM_KEY_NUMBER(key, number, kind, name) key = number,

/* Keys of pm_counter.attrs. */
/* clang-format off */
#define PM_COUNTER_KEYS(X) \
	X(PM_COUNTER_HELP, 1, TEXT, "help") /* one sentence */ \
	X(PM_COUNTER_REQUESTED, 2, BOOL, "requested") /* the user named it; shown by default */ \
	X(PM_COUNTER_FAMILY, 3, TEXT, "family") /* counters that a formula's wildcard matches */ \
	X(PM_COUNTER_MEMBER, 4, TEXT, "member") /* the member of the family ("C1") */ \
	X(PM_COUNTER_FROM_ZERO, 5, BOOL, "from_zero") /* it was 0 when its instance was added */ \
	X(PM_COUNTER_LANE, 6, U64, "lane") /* place among the counters of its family that form one value */ \
	X(PM_COUNTER_ABOVE, 7, F64, "above") /* a lane of a histogram counts what is above this, */ \
	X(PM_COUNTER_UP_TO, 8, F64, "up_to") /* and at most this */ \
	X(PM_COUNTER_BOUND_UNIT, 9, TEXT, "bound_unit") /* the unit of both */ \
	X(PM_COUNTER_PERF_ATTR, 10, BYTES, "perf_attr") /* the whole perf_event_attr, in the byte order of the machine */ \
	X(PM_COUNTER_PERF_PMU, 11, TEXT, "perf_pmu") /* name of the PMU */ \
	X(PM_COUNTER_PERF_EVENT, 12, TEXT, "perf_event") /* the canonical event text */ \
	X(PM_COUNTER_PERF_GROUP, 13, U64, "perf_group") /* number of the event group it was opened in */ \
	X(PM_COUNTER_PERF_POSITION, 14, U64, "perf_position") /* place in that group, 0 = leader */ \
	X(PM_COUNTER_PERF_WEAK, 15, BOOL, "perf_weak") \
	X(PM_COUNTER_PERF_PINNED, 16, BOOL, "perf_pinned") \
	X(PM_COUNTER_PERF_PER_PKG, 17, BOOL, "perf_per_pkg") /* counted on one CPU of each package */ \
	X(PM_COUNTER_PERF_SNAPSHOT, 18, BOOL, "perf_snapshot") /* take no differences */ \
	X(PM_COUNTER_PERF_PERCORE, 19, BOOL, "perf_percore") \
	X(PM_COUNTER_PERF_WILDCARD, 20, U64, "perf_wildcard") /* number of the wildcard that it came from */ \
	X(PM_COUNTER_PERF_METRIC_ID, 21, TEXT, "perf_metric_id") /* its id in a metric's formula */ \
	X(PM_COUNTER_PERF_GROUP_NAME, 22, TEXT, "perf_group_name") \
	X(PM_COUNTER_PERF_USER_TEXT, 23, TEXT, "perf_user_text") /* the event as the user wrote it, if it is technical */ \
	X(PM_COUNTER_PERF_PARSED, 24, U64, "perf_parsed") /* place in the user's list, the order of output */ \
	X(PM_COUNTER_PERF_INVALID, 25, U64, "perf_invalid") /* pm_reason why it could not be opened at all */ \
	X(PM_COUNTER_PERF_BPF, 26, TEXT, "perf_bpf") /* how BPF counted it: "program 12", "shared", "alone" */ \
	X(PM_COUNTER_ADDED, 30, TEXT, "added") /* made by --add; scope of its column: cpu, core, package */ \
	X(PM_COUNTER_ADD_FORMAT, 31, TEXT, "add_format") /* raw, delta, percent, average */ \
	X(PM_COUNTER_ADD_TYPE, 32, TEXT, "add_type") /* cycles, seconds, usec; absent: a count */ \
	X(PM_COUNTER_SHIFT, 33, U64, "shift") /* a lane of one number: counts value * 2^shift */ \
	X(PM_COUNTER_DEVICES, 100, TEXT, "devices") /* devices of an interrupt line; may name interfaces */ \
	X(PM_COUNTER_PERF_PROGRAM, 101, TEXT, "perf_program") /* name of the BPF program in which it was counted */ \
	X(PM_COUNTER_PERF_FILTER, 200, TEXT, "perf_filter") /* tracepoint filter */ \
	X(PM_COUNTER_PERF_CGROUP, 201, TEXT, "perf_cgroup") /* cgroup that it counts */
/* clang-format on */
enum pm_counter_key { PM_COUNTER_KEYS(PM_KEY_NUMBER) };

struct pm_counter {
	uint32_t id;
	enum pm_type type : 8;
	enum pm_semantics semantics : 8;
	enum pm_aggregation aggregation : 8;
	uint8_t width; /* bits of the hardware's counter, 1-64; differences are modulo 2^width */
	bool newer;    /* this version cannot read its values */
	bool wide;     /* because each takes several columns */
	char *name;    /* owned; stable, unique, [a-z0-9_.]+ for ours; perf events keep their own text */
	char *display; /* owned; what tables print */
	char *source;  /* owned; "perf", "cpuidle", ... */
	char *unit;    /* owned; UCUM: "s", "J", "W", "Cel", "Hz", "By", "V", "%", "1" for counts */
	struct pm_scale scale;
	struct pm_map attrs;
};

/* Whether its columns hold ids of strings. Of unknown types, 80 to 95 do. */
static inline bool pm_counter_texts(const struct pm_counter *c)
{
	return c->type == PM_TEXT || c->type == PM_BYTES || ((unsigned)c->type & 112) == 80;
}
/* Whether values of both are in the same unit, by the same scale. */
bool pm_counters_measure_alike(const struct pm_counter *a, const struct pm_counter *b);
/* How to combine its values, as far as this version knows. */
static inline enum pm_aggregation pm_counter_joins(const struct pm_counter *c)
{
	if (c->newer || (c->aggregation > PM_AGG_NONE && pm_number_critical(c->aggregation)))
		return PM_AGG_NEWER;
	return c->aggregation > PM_AGG_NONE || c->semantics > PM_BITFIELD || c->type > PM_BYTES ? PM_AGG_NONE :
												  c->aggregation;
}

/* ---- instances ---- */

enum pm_kind {
	PM_SYSTEM = 0,
	PM_PACKAGE = 1,
	PM_DIE = 2,
	PM_CLUSTER = 3,
	PM_CACHE = 4,
	PM_NODE = 5,
	PM_CORE = 6,
	PM_CPU = 7,
	PM_PMU = 8,
	PM_TASK = 9,
	PM_CGROUP = 10,
	PM_DEVICE = 11,
	PM_KINDS
};

/* Keys of pm_instance.attrs. */
/* clang-format off */
#define PM_INSTANCE_KEYS(X) \
	X(PM_INSTANCE_NAME, 1, TEXT, "name") /* technical name: a PMU, a thermal zone, the pseudonym "task-3" */ \
	X(PM_INSTANCE_CPUS, 2, TEXT, "cpus") /* CPUs it belongs to, list notation */ \
	X(PM_INSTANCE_LEVEL, 3, U64, "level") /* cache level */ \
	X(PM_INSTANCE_LAYER, 4, U64, "layer") /* 1: a device that stands on others, which count the same */ \
	X(PM_INSTANCE_DEVICE_PATH, 100, TEXT, "device_path") /* where it is connected, if that identifies the machine */ \
	X(PM_INSTANCE_PID, 200, U64, "pid") \
	X(PM_INSTANCE_TID, 201, U64, "tid") \
	X(PM_INSTANCE_COMM, 202, TEXT, "comm") \
	X(PM_INSTANCE_CGROUP, 203, TEXT, "cgroup") /* path */ \
	X(PM_INSTANCE_PARENT, 204, U64, "parent") /* pid of the parent */ \
	X(PM_INSTANCE_PARENT_COMM, 205, TEXT, "parent_comm") /* its name */ \
	X(PM_INSTANCE_ARGUMENTS, 206, TEXT, "arguments") /* command line of a process */
/* clang-format on */
enum pm_instance_key { PM_INSTANCE_KEYS(PM_KEY_NUMBER) };

struct pm_instance {
	uint32_t id;
	uint32_t copy;                 /* struct definitions_seen.copy when it was defined last */
	uint32_t slot;                 /* small; unique in the model, and reused once the instance is forgotten */
	enum pm_kind kind;             /* an unknown one becomes PM_DEVICE */
	bool newer;                    /* this version cannot read what belongs to it */
	uint32_t number;               /* the kernel's number: CPU 3, package 1, cache id; PM_NONE: none */
	uint32_t cpu;                  /* a CPU of it, by which the topology places it; PM_NONE: whole system */
	uint64_t added_ns, retired_ns; /* CLOCK_MONOTONIC; retired 0: alive */
	struct pm_map attrs;
};

/* ---- groups ---- */

enum pm_group_flags {
	PM_GROUP_LIST = 1 << 0,        /* columns are the pairs (counter[i], instance[i]); one time for all */
	PM_GROUP_SHARED_TIME = 1 << 1, /* matrix, but one begin and end for all instances */
	PM_GROUP_PERF_TIMES = 1 << 2,  /* enabled and running (ns) beside begin and end */
};

/*
 * Columns of a group, in this order:
 *   begin[T] end[T] ([enabled[T] running[T]]) values
 * T is the number of instances, or 1 for LIST and SHARED_TIME. Values of a matrix are ordered by counter, then by
 * instance; those of a list are in its order. A group never changes; what is read in another way becomes a new group.
 * A series belongs to its counter and instance and continues there. A matrix that differs from an earlier one in its
 * instances only may *continue* it, so that members that stay cost nothing (SPEC.md, "Schema").
 */
struct pm_group {
	uint32_t id;
	uint32_t copy, slot; /* as an instance's */
	char *source;        /* owned */
	uint32_t flags;
	uint32_t *counter; /* owned; counter ids */
	uint32_t n_counters;
	uint32_t *instance;   /* owned; instance ids */
	uint32_t n_instances; /* LIST: equal to n_counters */
	uint32_t continues; /* id of a group with the same flags and counters, which retires; 0: none. Instances that
			       * stay come first, in that group's order */
	bool retired;       /* not in later chunks */
	bool continued;     /* retired because another group continues it */
	bool newer;         /* this version cannot read its columns */
};

/* Times of a snapshot: one for each instance, or 1. */
static inline uint32_t pm_group_times(const struct pm_group *g)
{
	return g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME) ? 1 : g->n_instances;
}
/* The number of value columns. */
static inline uint32_t pm_group_values(const struct pm_group *g)
{
	return g->flags & PM_GROUP_LIST ? g->n_counters : g->n_counters * g->n_instances;
}
/* The first value column; those before it are times. */
static inline uint32_t pm_group_head(const struct pm_group *g)
{
	return pm_group_times(g) * (g->flags & PM_GROUP_PERF_TIMES ? 4 : 2);
}
/* The number of all columns, with times. */
static inline uint32_t pm_group_columns(const struct pm_group *g)
{
	return pm_group_head(g) + pm_group_values(g);
}
/* The begin column of value column `v`, which counts from 0. With t = pm_group_times(), end is t columns further,
 * enabled 2 t, running 3 t. */
static inline uint32_t pm_group_time_of(const struct pm_group *g, uint32_t v)
{
	return pm_group_times(g) == 1 ? 0 : v % g->n_instances;
}
/* The ids of counter and instance of value column `v`. */
static inline uint32_t pm_group_counter_of(const struct pm_group *g, uint32_t v)
{
	return g->flags & PM_GROUP_LIST ? g->counter[v] : g->counter[v / g->n_instances];
}
static inline uint32_t pm_group_instance_of(const struct pm_group *g, uint32_t v)
{
	return g->flags & PM_GROUP_LIST ? g->instance[v] : g->instance[v % g->n_instances];
}

/* ---- topology ---- */

enum { PM_CACHE_L1D, PM_CACHE_L1I, PM_CACHE_L2, PM_CACHE_L3, PM_CACHES };

/* Numbers are the kernel's; PM_NONE if it does not say. Where it gives one number to several places, or none to what
 * its lists of CPUs tell apart, others stand for these. Numbers of packages and of a level's caches are unique; those
 * of dies, clusters and cores are so within their package and die. */
struct pm_cpu {
	uint32_t cpu;
	uint32_t package, die, cluster, core, node;
	uint32_t thread;           /* place among the SMT siblings of its core, 0 = first */
	uint32_t cache[PM_CACHES]; /* cache/indexN/id */
	uint32_t type;             /* index into pm_topology.type, for hybrids */
	uint32_t capacity;         /* cpu_capacity */
	bool online;
};

struct pm_topology {
	uint64_t time_ns;   /* CLOCK_MONOTONIC when it was read; 0: none recorded */
	struct pm_cpu *cpu; /* owned, ascending by cpu */
	uint32_t n;
	char **type; /* owned: names of CPU types ("cpu_core", "cpu_atom", "cortex-a78") */
	uint32_t n_types;
};

/* NULL if the topology lacks the CPU. */
const struct pm_cpu *pm_topology_cpu(const struct pm_topology *t, uint32_t cpu);

/* ---- PMU descriptions, probe results, one-time values, events ---- */

/* clang-format off */
#define PM_PMU_KEYS(X) \
	X(PM_PMU_NAME, 1, TEXT, "name") \
	X(PM_PMU_TYPE, 2, U64, "type") /* attr.type */ \
	X(PM_PMU_IDENTIFIER, 3, TEXT, "identifier") \
	X(PM_PMU_CPUMASK, 4, TEXT, "cpumask") \
	X(PM_PMU_ASSOCIATED_CPUS, 5, TEXT, "associated_cpus") \
	X(PM_PMU_CPUS, 6, TEXT, "cpus") \
	X(PM_PMU_FORMATS, 7, ARRAY, "formats") /* of [name, text] */ \
	X(PM_PMU_EVENTS, 8, ARRAY, "events") /* of [name, text, scale or "", unit or "", flags] */ \
	X(PM_PMU_CAPS, 9, ARRAY, "caps") /* of [name, text] */ \
	X(PM_PMU_FILES, 10, ARRAY, "files") /* of [name, text]: other files ("peer", "mux interval") */ \
	X(PM_PMU_COUNTERS, 11, U64, "counters") /* programmable counters found by probing */ \
	X(PM_PMU_REFUSED, 12, U64, "refused") /* pm_reason why its default events were not recorded */
/* clang-format on */
enum pm_pmu_key { PM_PMU_KEYS(PM_KEY_NUMBER) };

struct pm_pmu {
	struct pm_map attrs;
};

/* Why a value is missing. 1000 + n is errno n of asm-generic/errno.h. */
enum pm_reason {
	PM_OK = 0,
	PM_REASON_NOT_COUNTED = 1,   /* perf: the event never ran in the interval */
	PM_REASON_NOT_SUPPORTED = 2, /* not supported by the kernel or the hardware */
	PM_REASON_NO_PERMISSION = 3,
	PM_REASON_OFFLINE = 4,   /* its CPU was offline */
	PM_REASON_MISSED = 5,    /* the reading came too late for this snapshot */
	PM_REASON_GONE = 6,      /* the task, cgroup, device or file has ended */
	PM_REASON_DROPPED = 7,   /* read, but lost before it was written */
	PM_REASON_SUSPECT = 8,   /* the value cannot be true */
	PM_REASON_FORMAT = 9,    /* the kernel's text was not as expected */
	PM_REASON_NOT_READ = 10, /* not due in this snapshot */
	PM_REASON_LEFT_OUT = 11, /* recorded, but left out of a smaller copy */
	PM_REASON_NEWER = 12,    /* recorded in a way that is unknown to this version */
	PM_REASON_ERRNO = 1000,
};

/* The reason for an errno of either sign. */
static inline uint16_t pm_reason_errno(int err)
{
	return (uint16_t)(PM_REASON_ERRNO + (err < 0 ? -err : err));
}
/* A stable id for the status column: "ok", "not-counted", "offline", or "errno-5" in `buf`. */
const char *pm_reason_name(uint16_t reason, char buf[static 16]);
/* A sentence for people. */
const char *pm_reason_text(uint16_t reason);

/* What was refused or absent before sampling began. */
struct pm_probe {
	char *source;         /* owned */
	struct pm_value what; /* a remark (remark.h): an event, a path, a register */
	struct pm_value hint; /* a remark: the command or setting that would permit it; U64 0: none */
	uint16_t reason;
	struct pm_map attrs;
};

/* A value that is read once, or at start and end. */
struct pm_config {
	char *name; /* owned: "cpuid.00000007.0", "msr.0x606", "cpufreq.scaling_driver" */
	enum pm_privacy privacy;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the reading */
	enum pm_kind kind;
	struct cpulist instances; /* numbers of all instances of `kind` with this value */
	uint16_t reason;          /* PM_OK, or why there is no value */
	uint32_t change;          /* the model's count of changes of entries when it was added or joined last */
	struct pm_value value;
};

enum pm_event_type {
	PM_EVENT_MARKER = 1,
	PM_EVENT_CPU_ONLINE = 2,
	PM_EVENT_CPU_OFFLINE = 3,
	PM_EVENT_LOST = 4,       /* ticks without a snapshot */
	PM_EVENT_CLOCK_STEP = 5, /* REALTIME was set */
	PM_EVENT_SUSPEND = 6,    /* BOOTTIME continued, MONOTONIC stopped */
	PM_EVENT_ENABLE = 7,
	PM_EVENT_DISABLE = 8,
	PM_EVENT_CHILD_START = 9,
	PM_EVENT_CHILD_EXIT = 10,
	PM_EVENT_FAILED = 11, /* a source, or a part of it, stopped */
	PM_EVENT_RUN_START = 12,
	PM_EVENT_RUN_END = 13,
	PM_EVENT_GONE = 14, /* a task, cgroup or device ended */
	PM_EVENT_NOTE = 15, /* a remark of the recorder */
};

/* clang-format off */
#define PM_EVENT_KEYS(X) \
	X(PM_EVENT_KEY_COUNT, 1, U64, "count") /* lost ticks */ \
	X(PM_EVENT_KEY_SINCE, 2, U64, "since") /* CLOCK_MONOTONIC ns at which the loss began */ \
	X(PM_EVENT_KEY_CPU, 3, U64, "cpu") \
	X(PM_EVENT_KEY_STEP, 4, S64, "step") /* ns that the clock jumped */ \
	X(PM_EVENT_KEY_SOURCE, 5, TEXT, "source") \
	X(PM_EVENT_KEY_REASON, 6, U64, "reason") /* pm_reason */ \
	X(PM_EVENT_KEY_INSTANCE, 7, U64, "instance") /* instance id */ \
	X(PM_EVENT_KEY_RUN, 8, U64, "run") \
	X(PM_EVENT_KEY_EXIT, 9, U64, "exit") /* exit status */ \
	X(PM_EVENT_KEY_SIGNAL, 10, U64, "signal") \
	X(PM_EVENT_KEY_USER_NS, 11, U64, "user_ns") /* child's user time */ \
	X(PM_EVENT_KEY_SYSTEM_NS, 12, U64, "system_ns") \
	X(PM_EVENT_KEY_MAXRSS, 13, U64, "maxrss") /* bytes */ \
	X(PM_EVENT_KEY_RUSAGE, 14, ARRAY, "rusage") /* of u64: minflt majflt inblock oublock nvcsw nivcsw */ \
	X(PM_EVENT_KEY_NOTE, 15, ARRAY, "note") /* a remark (remark.h) */ \
	X(PM_EVENT_KEY_ELAPSED_NS, 16, U64, "elapsed_ns") /* the child's elapsed time by CLOCK_MONOTONIC */ \
	X(PM_EVENT_KEY_TEXT, 200, TEXT, "text") /* a marker's text */ \
	X(PM_EVENT_KEY_PID, 201, U64, "pid")
/* clang-format on */
enum pm_event_key { PM_EVENT_KEYS(PM_KEY_NUMBER) };

struct pm_event {
	enum pm_event_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct pm_map attrs;
};

/* Frees the attributes. */
void pm_event_release(struct pm_event *e);
/* "marker", "cpu-offline", ...; NULL for an unknown number. */
const char *pm_event_name(enum pm_event_type type);

/* ---- the header ---- */

/* clang-format off */
#define PM_HEADER_KEYS(X) \
	X(PM_HEADER_TOOL, 1, TEXT, "tool") /* "pmrec 0.1.0" */ \
	X(PM_HEADER_FORMAT_MINOR, 2, U64, "format_minor") \
	X(PM_HEADER_COMPATIBLE, 3, U64, "compatible") /* feature bits that a reader may ignore */ \
	X(PM_HEADER_INCOMPATIBLE, 4, U64, "incompatible") /* feature bits that a reader must know */ \
	X(PM_HEADER_ARCH, 5, TEXT, "arch") /* "x86_64" */ \
	X(PM_HEADER_KERNEL, 6, TEXT, "kernel") /* uname release */ \
	X(PM_HEADER_OS, 7, TEXT, "os") /* PRETTY_NAME */ \
	X(PM_HEADER_CPU_VENDOR, 8, TEXT, "cpu_vendor") \
	X(PM_HEADER_CPU_MODEL, 9, TEXT, "cpu_model") /* brand string or implementer/part */ \
	X(PM_HEADER_CPU_ID, 10, TEXT, "cpu_id") /* as in perf's mapfile: GenuineIntel-6-55-7, or the MIDR */ \
	X(PM_HEADER_MICROCODE, 11, TEXT, "microcode") \
	X(PM_HEADER_HYPERVISOR, 12, TEXT, "hypervisor") /* "kvm", absent on bare metal */ \
	X(PM_HEADER_INTERVAL, 13, U64, "interval") /* ns between ticks; 0: no interval, start and end only */ \
	X(PM_HEADER_CLOCK_COUNTER, 14, TEXT, "clock_counter") /* "tsc", "cntvct", absent: not readable */ \
	X(PM_HEADER_CLOCK_COUNTER_HZ, 15, U64, "clock_counter_hz") \
	X(PM_HEADER_TICK_HZ, 16, U64, "tick_hz") /* USER_HZ */ \
	X(PM_HEADER_PAGE_SIZE, 17, U64, "page_size") \
	X(PM_HEADER_TARGET, 18, TEXT, "target") /* "system", "command", "pid", "tid", "cgroup", "cpu" */ \
	X(PM_HEADER_PRIVACY, 19, TEXT, "privacy") /* strict, default, full */ \
	X(PM_HEADER_EMULATED, 20, BOOL, "emulated") /* recorded under --root */ \
	X(PM_HEADER_SOURCES, 21, ARRAY, "sources") /* of text: sources that recorded */ \
	X(PM_HEADER_HISTORY, 22, ARRAY, "history") /* of text: what cut, merge, redact did */ \
	X(PM_HEADER_MEMORY, 23, U64, "memory") /* MemTotal in bytes */ \
	X(PM_HEADER_PARANOID, 24, S64, "paranoid") /* perf_event_paranoid */ \
	X(PM_HEADER_NMI_WATCHDOG, 25, U64, "nmi_watchdog") \
	X(PM_HEADER_SCALED, 26, BOOL, "scaled") /* false with --no-scale */ \
	X(PM_HEADER_CPUS, 27, TEXT, "cpus") /* CPUs of -C */ \
	X(PM_HEADER_LITTLE_ENDIAN, 28, BOOL, "little_endian") /* byte order of raw structures (perf attrs, PCI config) */ \
	X(PM_HEADER_SMT, 29, TEXT, "smt") /* contents of cpu/smt/control */ \
	X(PM_HEADER_RUNS, 30, U64, "runs") /* -r */ \
	X(PM_HEADER_METRICS, 31, ARRAY, "metrics") /* metrics of -M: names of known ones, or texts: pm_metric_field */ \
	X(PM_HEADER_REDACTED, 32, ARRAY, "redacted") /* of text: classes that were redacted: machine, person, time */ \
	X(PM_HEADER_METRIC_WORDS, 33, ARRAY, "metric_words") /* of text: names and groups of metrics in -M */ \
	X(PM_HEADER_HOST, 100, TEXT, "host") /* node name */ \
	X(PM_HEADER_BOOT_ID, 101, TEXT, "boot_id") /* text; strict privacy leaves it out */ \
	X(PM_HEADER_PRODUCT, 102, TEXT, "product") /* DMI vendor and product, not serials */ \
	X(PM_HEADER_BIOS, 103, TEXT, "bios") \
	X(PM_HEADER_MACHINE_ID, 104, TEXT, "machine_id") /* of /etc/machine-id; strict privacy leaves it out */ \
	X(PM_HEADER_COMMAND, 200, TEXT, "command") /* argv[0] of the command */ \
	X(PM_HEADER_ARGUMENTS, 201, ARRAY, "arguments") /* of text: the rest of the command */ \
	X(PM_HEADER_CMDLINE, 202, TEXT, "cmdline") /* kernel command line */ \
	X(PM_HEADER_LABELS, 203, ARRAY, "labels") /* of [key, value] */ \
	X(PM_HEADER_USER, 204, TEXT, "user") \
	X(PM_HEADER_PMREC_ARGS, 205, ARRAY, "pmrec_args") /* of text: pmrec's arguments */
/* clang-format on */
enum pm_header_key { PM_HEADER_KEYS(PM_KEY_NUMBER) };

/* The texts of a metric of the user's in PM_HEADER_METRICS. */
enum pm_metric_field {
	PM_METRIC_NAME,
	PM_METRIC_UNIT,
	PM_METRIC_FORMULA,
	PM_METRIC_THRESHOLD,
	PM_METRIC_GROUPS,
	PM_METRIC_HELP,
	PM_METRIC_VENDOR /* true: of no file of the user's; otherwise absent */
};

/* Flags in PM_PMU_EVENTS. */
enum pm_pmu_event_flags {
	PM_PMU_EVENT_PER_PKG = 1,
	PM_PMU_EVENT_SNAPSHOT = 2,
	PM_PMU_EVENT_GIVEN = 4, /* of a file that the user named: the name may be his own */
};

/* A row for each key: what `pmrep info` prints, and what redaction may keep. Ends with key 0. */
struct pm_key_row {
	uint32_t key;
	enum pm_value_kind kind;
	const char *name; /* stable id for json */
};
extern const struct pm_key_row pm_header_keys[];
extern const struct pm_key_row pm_counter_keys[];
extern const struct pm_key_row pm_instance_keys[];
extern const struct pm_key_row pm_pmu_keys[];
extern const struct pm_key_row pm_event_keys[];
/* NULL for an unknown key. */
const struct pm_key_row *pm_key_find(const struct pm_key_row *rows, uint32_t key);

/* ---- the model ---- */

/* Open addressing: places in an array of the model, + 1; 0: free. */
struct model_slots {
	uint32_t *slot;
	uint32_t n;
};

struct model_texts;

/* Where the instances (or groups) are, and which of their slots are free. */
struct model_ids {
	uint32_t *place; /* open addressing: place in the array + 1; 0: free; NULL: id - 1 is the place of all */
	uint32_t places;
	uint64_t secret; /* odd; decides where an id is put, as in common/names.h */
	uint32_t *spare; /* free slots */
	uint32_t n_spare, spare_room, slots;
	uint32_t *retired; /* ids that retired since the last pm_model_forget(), in that order */
	uint32_t n_retired;
	uint32_t n_kept; /* how many of the first in retired[] could not be forgotten, because they are needed */
};

/* How the model finds things, and what it counts; for format/ alone. */
struct pm_model_index {
	struct model_slots counters; /* by name */
	struct model_texts *texts;   /* of all counters */
	uint64_t bytes;              /* estimate of what the definitions occupy, against PM_MAX_MODEL */
	uint32_t topology_version;   /* rises with every pm_model_set_topology() */
	struct model_ids instance_ids, group_ids;
	uint32_t forgotten;         /* rises when something is forgotten: retired[] of both then start over */
	uint32_t config_changes;    /* rises with every entry added or joined */
	struct names config_names;  /* name -> newest entry */
	uint32_t *config_older;     /* the previous entry of the same name, + 1; 0: none */
	struct model_slots configs; /* by everything but their instances: entries that agree in that are one */
};

struct pm_model {
	uint8_t recording_id[8]; /* random; the same in all frames of a recording */
	struct pm_map header;
	struct pm_topology topology;
	struct pm_counter *counter; /* by id - 1 */
	struct pm_value *string;    /* by id - 1; TEXT or BYTES values that columns refer to */
	/* What is not forgotten, mostly ascending by id. An index is not id - 1. */
	struct pm_instance *instance;
	struct pm_group *group;
	uint32_t last_instance, last_group; /* the largest ids assigned so far */
	struct pm_pmu *pmu;
	struct pm_probe *probe;
	struct pm_config *config;
	uint32_t n_counters, n_instances, n_groups, n_strings, n_pmus, n_probes, n_configs;
	double counter_hz;    /* rate of clocks.counter by pm_reader_clocks(); 0: not known */
	struct names strings; /* string -> id, for writers */
	struct pm_model_index index;
};

/* pm_model_init() makes an empty model; pm_model_release() frees all that it owns. */
void pm_model_init(struct pm_model *m);
void pm_model_release(struct pm_model *m);

/* Each copies its argument and returns the new id (> 0) or -errno: -EEXIST for a counter whose name exists, -EINVAL
 * for a group that names an unknown id or cannot continue the one it names, -E2BIG above a limit of format/limits.h.
 * Limits of instances and groups do not count retired ones. */
int64_t pm_model_add_counter(struct pm_model *m, const struct pm_counter *c);
int64_t pm_model_add_instance(struct pm_model *m, const struct pm_instance *i);
int64_t pm_model_add_group(struct pm_model *m, const struct pm_group *g);
int64_t pm_model_add_string(struct pm_model *m, const void *data, size_t len,
			    bool bytes); /* or the id of an equal string */
/* 0 or -errno. */
int pm_model_add_pmu(struct pm_model *m, const struct pm_pmu *p);
int pm_model_add_probe(struct pm_model *m, const struct pm_probe *p);
/* Adds `instances` to an entry with the same name, kind, reason, value and time, if there is one. */
int pm_model_add_config(struct pm_model *m, const struct pm_config *c);
/* Of what is not in a model: a copy, which shares nothing, 0 or -ENOMEM with nothing to release. */
int pm_counter_copy(struct pm_counter *to, const struct pm_counter *from);
int pm_probe_copy(struct pm_probe *to, const struct pm_probe *from);
int pm_config_copy(struct pm_config *to, const struct pm_config *from);
void pm_counter_release(struct pm_counter *c);
void pm_group_release(struct pm_group *g);
void pm_probe_release(struct pm_probe *p);
void pm_config_release(struct pm_config *c);
/* Replaces the topology by a copy. 0, -ENOMEM or -E2BIG. */
int pm_model_set_topology(struct pm_model *m, const struct pm_topology *t);
/* The instance is gone since `time_ns` of CLOCK_MONOTONIC; a second call has no effect. 0, -EINVAL for an unknown id,
 * or -ENOMEM. */
int pm_model_retire_instance(struct pm_model *m, uint32_t id, uint64_t time_ns);
/* Later chunks do not have this group. 0, -EINVAL for an unknown id, or -ENOMEM. */
int pm_model_retire_group(struct pm_model *m, uint32_t id);
/* Marks the instances that the caller still needs, by their slots. */
typedef void pm_model_needs(void *ctx, const struct pm_model *m, bool *needed);
/* Drops retired groups, and retired instances that no other group names and nobody needs (`needs` NULL: none is); of
 * a needed one it keeps the groups that no other continues. Their ids become unknown, and pointers into the model
 * invalid. Its cost grows with what remains: unless `few`, it does nothing until a third of all has retired. */
void pm_model_forget(struct pm_model *m, pm_model_needs *needs, void *ctx, bool few);

/* NULL if there is none. Valid until the model changes. */
const struct pm_counter *pm_model_counter(const struct pm_model *m, uint32_t id);
const struct pm_counter *pm_model_counter_named(const struct pm_model *m, const char *name);
/* The counter of an event that could not be recorded; NULL: none. */
const struct pm_counter *pm_model_probe_counter(const struct pm_model *m, const struct pm_probe *p);
/* Appends what could not be recorded: its counter's display name, or the name where that is one of several such. */
void pm_model_probe_text(const struct pm_model *m, const struct pm_probe *p, struct buf *out);
const struct pm_instance *pm_model_instance(const struct pm_model *m, uint32_t id);
const struct pm_group *pm_model_group(const struct pm_model *m, uint32_t id);
const struct pm_value *pm_model_string(const struct pm_model *m, uint32_t id);
/* The newest entry of the name that covers instance `number` (PM_NONE: any). */
const struct pm_config *pm_model_config(const struct pm_model *m, const char *name, uint32_t number);

/* Frees what the topology owns, and empties it. */
void pm_topology_release(struct pm_topology *t);

/* Stable names for csv and json: "system", "package", ...; NULL for an unknown number. */
const char *pm_kind_name(enum pm_kind kind);
const char *pm_type_name(enum pm_type type);
const char *pm_semantics_name(enum pm_semantics semantics);
const char *pm_aggregation_name(enum pm_aggregation aggregation);

/* ---- for format/ alone ---- */

/* As pm_model_add_*(), under an id that is not there yet. */
int64_t model_add_instance(struct pm_model *m, const struct pm_instance *i, uint32_t id);
int64_t model_add_group(struct pm_model *m, const struct pm_group *g, uint32_t id);
/* Adds a duplicate, too: ids are those of the recording. */
int64_t model_append_string(struct pm_model *m, const void *data, size_t len, bool bytes);
/* How many of the first instances of `g` come from `from`, which it continues: *kept, and for each its place there in
 * place[] (room for all of g; or NULL). */
uint32_t model_group_kept(const struct pm_group *g, const struct pm_group *from, uint32_t *place);
/* Equal but for the ids. */
bool model_counter_equal(const struct pm_counter *a, const struct pm_counter *b);
bool model_group_equal(const struct pm_group *a, const struct pm_group *b);
