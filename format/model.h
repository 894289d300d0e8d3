/*
 * What a recording says about the machine and about itself, apart from the numbers: one struct that pmrec
 * fills and pmrep reads. The writer turns what was added since the last time into definition frames; the
 * reader adds what such frames say. Ids are given by the model, start at 1, and are never reused.
 *
 * The words. A *counter* is a kind of number ("cpuidle.time of C1"). An *instance* is a thing that has
 * counters (CPU 3, package 0, a PMU, a task). A *column* is one counter of one instance. A *group* is a set of
 * columns that are read together. A *snapshot* is one pass over all groups.
 */
#ifndef FORMAT_MODEL_H
#define FORMAT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/names.h"
#include "format/value.h"

#define PM_NONE UINT32_MAX /* "unknown" or "does not apply" for a CPU or topology number */

/* Numbers of types, semantics, aggregations and kinds that this version does not know say themselves whether that
 * matters (SPEC.md, "Readers of an older version"). What they are critical for is `newer`: its values are missing with
 * PM_REASON_NEWER. Of the others a plain number is left, which nothing is computed with. */
static inline bool pm_number_critical(unsigned number)
{
	return !(number & 64);
}
/* Likewise keys of the maps that SPEC.md names. */
static inline bool pm_key_critical(uint32_t key)
{
	return key < 400 && key % 100 >= 80 && key % 100 < 90;
}

/* ---- counters ---- */

enum pm_type {
	PM_U64 = 0,
	PM_S64 = 1,
	PM_F64 = 2,   /* the column holds the bits of an IEEE 754 double */
	PM_TEXT = 3,  /* the column holds a string id of the model */
	PM_BYTES = 4, /* likewise */
};

enum pm_semantics {
	PM_CUMULATIVE = 0, /* runs up from an arbitrary start; only differences mean something */
	PM_DELTA = 1,      /* what happened since the snapshot before */
	PM_GAUGE = 2,      /* the level at the time of reading */
	PM_PEAK = 3,       /* the highest level since the snapshot before */
	PM_STATE = 4,      /* a name or number of a state; no arithmetic */
	PM_BITFIELD = 5,   /* fields to be taken out with bits() */
};

/* How the values of several instances become one. */
enum pm_aggregation {
	PM_AGG_SUM = 0,
	PM_AGG_MEAN = 1,
	PM_AGG_MAX = 2,
	PM_AGG_MIN = 3,
	PM_AGG_FIRST = 4,   /* every instance says the same; the first valid one is taken */
	PM_AGG_NONE = 5,    /* cannot be put together; missing above its own level */
	PM_AGG_NEWER = 255, /* never in files: as none, but this program is what is too old */
};

/* value x num / den in the counter's unit. `text` is the decimal text of a sysfs .scale file, kept as it was
 * read; where it is present it is the truth, and num/den are 1/1. */
struct pm_scale {
	uint64_t num, den; /* den > 0 */
	char *text;        /* owned or NULL */
};

/* A decimal number as parse_double() takes it, above 0. */
bool pm_scale_good(const char *text);

/* Keys of pm_counter.attrs. */
enum pm_counter_key {
	PM_COUNTER_HELP = 1,             /* text: one sentence */
	PM_COUNTER_REQUESTED = 2,        /* bool: the user named it (so it is shown by default) */
	PM_COUNTER_FAMILY = 3,           /* text: counters that a wildcard of a formula takes together */
	PM_COUNTER_MEMBER = 4,           /* text: what tells the members of a family apart ("C1") */
	PM_COUNTER_FROM_ZERO = 5,        /* bool: it stood at 0 when its instance was added */
	PM_COUNTER_LANE = 6,             /* u64: place among the counters of its family that make up one value */
	PM_COUNTER_ABOVE = 7,            /* f64: a lane of a histogram counts what is above this */
	PM_COUNTER_UP_TO = 8,            /* f64: and not above this */
	PM_COUNTER_BOUND_UNIT = 9,       /* text: unit of these two */
	PM_COUNTER_PERF_ATTR = 10,       /* bytes: the whole perf_event_attr, in the byte order of the machine */
	PM_COUNTER_PERF_PMU = 11,        /* text: name of the PMU */
	PM_COUNTER_PERF_EVENT = 12,      /* text: the canonical event text */
	PM_COUNTER_PERF_GROUP = 13,      /* u64: number of the event group it was opened in */
	PM_COUNTER_PERF_POSITION = 14,   /* u64: place in that group, 0 = leader */
	PM_COUNTER_PERF_WEAK = 15,       /* bool */
	PM_COUNTER_PERF_PINNED = 16,     /* bool */
	PM_COUNTER_PERF_PER_PKG = 17,    /* bool: count one CPU of each package */
	PM_COUNTER_PERF_SNAPSHOT = 18,   /* bool: take no differences */
	PM_COUNTER_PERF_PERCORE = 19,    /* bool */
	PM_COUNTER_PERF_WILDCARD = 20,   /* u64: number of the wildcard that it came from */
	PM_COUNTER_PERF_METRIC_ID = 21,  /* text: the id that a metric's formula knows it by */
	PM_COUNTER_PERF_GROUP_NAME = 22, /* text */
	PM_COUNTER_PERF_USER_TEXT = 23,  /* text: the event as the user wrote it, if technical */
	PM_COUNTER_PERF_PARSED = 24,     /* u64: place in the user's list, for printing in that order */
	PM_COUNTER_PERF_INVALID = 25,    /* u64: pm_reason why it could not be opened at all */
	PM_COUNTER_PERF_BPF = 26,        /* text: BPF programs counted it: "program 12" (while that ran), "shared"
	                                 * or "alone" (with other recorders or not), "cgroups" */
	PM_COUNTER_ADDED = 30,           /* text: --add made it; scope of its column: cpu, core, package */
	PM_COUNTER_ADD_FORMAT = 31,      /* text: raw, delta, percent, average */
	PM_COUNTER_ADD_TYPE = 32,        /* text: cycles, seconds, usec, txtal_time, tcore_clock; absent: things */
	PM_COUNTER_SHIFT = 33,           /* u64: a lane of one number: it stands for its value * 2^shift */
	PM_COUNTER_DEVICES = 100,        /* text: what an interrupt line is connected to; may name interfaces */
	PM_COUNTER_PERF_PROGRAM = 101,   /* text: name of the BPF program that it was counted in */
	PM_COUNTER_PERF_FILTER = 200,    /* text: tracepoint filter */
	PM_COUNTER_PERF_CGROUP = 201,    /* text: cgroup that it counts */
};

struct pm_counter {
	uint32_t id;
	enum pm_type type : 8;
	enum pm_semantics semantics : 8;
	enum pm_aggregation aggregation : 8;
	uint8_t width; /* bits that the hardware counts, 1-64; differences are taken modulo 2^width */
	bool newer;    /* this version cannot read its values */
	bool wide;     /* and one of them takes several columns */
	char *name;    /* owned; stable, unique, [a-z0-9_.]+ for ours; perf events keep their own text */
	char *display; /* owned; what tables print */
	char *source;  /* owned; "perf", "cpuidle", ... */
	char *unit;    /* owned; UCUM: "s", "J", "W", "Cel", "Hz", "By", "V", "%", "1" for counts */
	struct pm_scale scale;
	struct pm_map attrs;
};

/* Whether its columns hold ids of strings. Of the types that this version does not know, 80 to 95 do. */
static inline bool pm_counter_texts(const struct pm_counter *c)
{
	return c->type == PM_TEXT || c->type == PM_BYTES || ((unsigned)c->type & 112) == 80;
}
/* How its values become one, as far as this version can tell. */
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
enum pm_instance_key {
	PM_INSTANCE_NAME = 1,          /* text: technical name (PMU, thermal zone, "task-3" as a pseudonym) */
	PM_INSTANCE_CPUS = 2,          /* text: CPUs it belongs to, list notation */
	PM_INSTANCE_LEVEL = 3,         /* u64: cache level */
	PM_INSTANCE_DEVICE_PATH = 100, /* text: where it hangs, if that tells one machine from another */
	PM_INSTANCE_PID = 200,         /* u64 */
	PM_INSTANCE_TID = 201,         /* u64 */
	PM_INSTANCE_COMM = 202,        /* text */
	PM_INSTANCE_CGROUP = 203,      /* text: path */
	PM_INSTANCE_PARENT = 204,      /* u64: pid of the parent */
	PM_INSTANCE_PARENT_COMM = 205, /* text: its name */
	PM_INSTANCE_ARGUMENTS = 206,   /* text: command line of a process */
};

struct pm_instance {
	uint32_t id;
	uint32_t slot;     /* small; no other instance in the model has it, a later one may once this is forgotten */
	enum pm_kind kind; /* one that this version does not know is a device */
	bool newer;        /* this version cannot read what belongs to it */
	uint32_t number;   /* the kernel's number: CPU 3, package 1, cache id; PM_NONE if it has none */
	uint32_t cpu;      /* a CPU that belongs to it, by which the topology places it; PM_NONE: whole system */
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
 * T = number of instances, or 1 for LIST and SHARED_TIME. Values of a matrix are counter by counter, and
 * within a counter instance by instance; those of a list are in the order of the list.
 * A group never changes. What is to be read differently becomes a new group; a series belongs to its counter
 * and instance and goes on there. A matrix that differs from one before in its instances alone may *continue* it: then
 * members that stay cost nothing (SPEC.md, "Schema").
 */
struct pm_group {
	uint32_t id;
	uint32_t slot; /* as that of an instance */
	char *source;  /* owned */
	uint32_t flags;
	uint32_t *counter; /* owned; counter ids */
	uint32_t n_counters;
	uint32_t *instance;   /* owned; instance ids */
	uint32_t n_instances; /* LIST: equal to n_counters */
	uint32_t continues;   /* id of a group with the same flags and counters; 0: none. Those of its instances that
			       * stay come first, in its order */
	bool retired;         /* no chunk to come has it */
	bool newer;           /* this version cannot read its columns */
};

/* Times of a snapshot: one for each instance, or one that all share. */
static inline uint32_t pm_group_times(const struct pm_group *g)
{
	return g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME) ? 1 : g->n_instances;
}
/* Columns of values. */
static inline uint32_t pm_group_values(const struct pm_group *g)
{
	return g->flags & PM_GROUP_LIST ? g->n_counters : g->n_counters * g->n_instances;
}
/* First column of the values; the columns before it are times. */
static inline uint32_t pm_group_head(const struct pm_group *g)
{
	return pm_group_times(g) * (g->flags & PM_GROUP_PERF_TIMES ? 4 : 2);
}
/* All columns, those of times included. */
static inline uint32_t pm_group_columns(const struct pm_group *g)
{
	return pm_group_head(g) + pm_group_values(g);
}
/* The begin column that goes with value column `v` (0 = first value); end is + times, enabled + 2 times ... */
static inline uint32_t pm_group_time_of(const struct pm_group *g, uint32_t v)
{
	return pm_group_times(g) == 1 ? 0 : v % g->n_instances;
}
/* Counter and instance ids of value column `v`. */
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

/* Every number is the kernel's own; PM_NONE if the kernel does not say. */
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

/* NULL if the topology does not have that CPU. */
const struct pm_cpu *pm_topology_cpu(const struct pm_topology *t, uint32_t cpu);

/* ---- PMU descriptions, probe results, one-time values, events ---- */

enum pm_pmu_key {
	PM_PMU_NAME = 1,            /* text */
	PM_PMU_TYPE = 2,            /* u64: attr.type */
	PM_PMU_IDENTIFIER = 3,      /* text */
	PM_PMU_CPUMASK = 4,         /* text */
	PM_PMU_ASSOCIATED_CPUS = 5, /* text */
	PM_PMU_CPUS = 6,            /* text */
	PM_PMU_FORMATS = 7,         /* array of [name, text] */
	PM_PMU_EVENTS = 8,          /* array of [name, text, scale or "", unit or "", flags: 1 per-pkg, 2 snapshot] */
	PM_PMU_CAPS = 9,            /* array of [name, text] */
	PM_PMU_FILES = 10,          /* array of [name, text]: any other file ("peer", "mux interval") */
	PM_PMU_COUNTERS = 11,       /* u64: programmable counters found by probing */
	PM_PMU_REFUSED = 12,        /* u64: pm_reason why default events of its kind were not recorded of it */
};

struct pm_pmu {
	struct pm_map attrs;
};

/* Why a value is missing. Below 100 ours; 1000 + n is Linux errno n (numbers of asm-generic/errno.h). */
enum pm_reason {
	PM_OK = 0,
	PM_REASON_NOT_COUNTED = 1,   /* perf: the event never ran in the interval */
	PM_REASON_NOT_SUPPORTED = 2, /* not supported by the kernel or the hardware */
	PM_REASON_NO_PERMISSION = 3,
	PM_REASON_OFFLINE = 4,   /* its CPU was offline */
	PM_REASON_MISSED = 5,    /* the reader came too late for this snapshot */
	PM_REASON_GONE = 6,      /* the task, cgroup, device or file has ended */
	PM_REASON_DROPPED = 7,   /* read, but lost before it was written */
	PM_REASON_SUSPECT = 8,   /* the value cannot be what it claims to be */
	PM_REASON_FORMAT = 9,    /* the kernel's text was not as expected */
	PM_REASON_NOT_READ = 10, /* not due in this snapshot */
	PM_REASON_LEFT_OUT = 11, /* recorded, and left out of a smaller copy */
	PM_REASON_NEWER = 12,    /* recorded in a way that this program does not know */
	PM_REASON_ERRNO = 1000,
};

/* The reason that stands for an errno, of either sign. */
static inline uint16_t pm_reason_errno(int err)
{
	return (uint16_t)(PM_REASON_ERRNO + (err < 0 ? -err : err));
}
/* A short stable id for the status column: "ok", "not-counted", "offline", "errno-5"; buf for the last. */
const char *pm_reason_name(uint16_t reason, char buf[static 16]);
/* A sentence for people. */
const char *pm_reason_text(uint16_t reason);

/* Something that was tried and refused, or found absent, before sampling began. */
struct pm_probe {
	char *source; /* owned */
	char *what;   /* owned: what was tried: an event, a path, a register */
	char *hint;   /* owned or NULL: the command or setting that would allow it */
	uint16_t reason;
	struct pm_map attrs;
};

/* A value that is read once, or at the start and the end. */
struct pm_config {
	char *name; /* owned: "cpuid.00000007.0", "msr.0x606", "cpufreq.scaling_driver" */
	enum pm_privacy privacy;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the reading */
	enum pm_kind kind;
	struct cpulist instances; /* numbers of all instances of `kind` that have this very value */
	uint16_t reason;          /* PM_OK, or why there is no value */
	struct pm_value value;
};

enum pm_event_type {
	PM_EVENT_MARKER = 1,
	PM_EVENT_CPU_ONLINE = 2,
	PM_EVENT_CPU_OFFLINE = 3,
	PM_EVENT_LOST = 4,       /* ticks that had no snapshot */
	PM_EVENT_CLOCK_STEP = 5, /* REALTIME was set */
	PM_EVENT_SUSPEND = 6,    /* the machine slept: BOOTTIME ran on, MONOTONIC stood still */
	PM_EVENT_ENABLE = 7,
	PM_EVENT_DISABLE = 8,
	PM_EVENT_CHILD_START = 9,
	PM_EVENT_CHILD_EXIT = 10,
	PM_EVENT_FAILED = 11, /* a source or a part of it stopped delivering */
	PM_EVENT_RUN_START = 12,
	PM_EVENT_RUN_END = 13,
	PM_EVENT_GONE = 14, /* a task, cgroup or device ended */
	PM_EVENT_NOTE = 15, /* a remark of the recorder */
};

enum pm_event_key {
	PM_EVENT_KEY_COUNT = 1,       /* u64: lost ticks */
	PM_EVENT_KEY_SINCE = 2,       /* u64: CLOCK_MONOTONIC ns where the lost stretch began */
	PM_EVENT_KEY_CPU = 3,         /* u64 */
	PM_EVENT_KEY_STEP = 4,        /* s64 or u64: ns that the clock jumped */
	PM_EVENT_KEY_SOURCE = 5,      /* text */
	PM_EVENT_KEY_REASON = 6,      /* u64: pm_reason */
	PM_EVENT_KEY_INSTANCE = 7,    /* u64: instance id */
	PM_EVENT_KEY_RUN = 8,         /* u64 */
	PM_EVENT_KEY_EXIT = 9,        /* u64: exit status */
	PM_EVENT_KEY_SIGNAL = 10,     /* u64 */
	PM_EVENT_KEY_USER_NS = 11,    /* u64: child's user time */
	PM_EVENT_KEY_SYSTEM_NS = 12,  /* u64 */
	PM_EVENT_KEY_MAXRSS = 13,     /* u64: bytes */
	PM_EVENT_KEY_RUSAGE = 14,     /* array of u64: minflt majflt inblock oublock nvcsw nivcsw */
	PM_EVENT_KEY_NOTE = 15,       /* text of the recorder itself */
	PM_EVENT_KEY_ELAPSED_NS = 16, /* u64: wall time of the child by CLOCK_MONOTONIC */
	PM_EVENT_KEY_COUNTER = 17,    /* u64: enable and disable of one counter: its id */
	PM_EVENT_KEY_TEXT = 200,      /* text: a marker's text */
	PM_EVENT_KEY_PID = 201,       /* u64 */
};

struct pm_event {
	enum pm_event_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	struct pm_map attrs;
};

/* Frees the attributes. */
void pm_event_release(struct pm_event *e);
/* "marker", "cpu-offline", ... or NULL for a number that this version does not know. */
const char *pm_event_name(enum pm_event_type type);

/* ---- the header ---- */

enum pm_header_key {
	PM_HEADER_TOOL = 1,              /* text: "pmrec 0.1.0" */
	PM_HEADER_FORMAT_MINOR = 2,      /* u64 */
	PM_HEADER_COMPATIBLE = 3,        /* u64: feature bits that a reader may ignore */
	PM_HEADER_INCOMPATIBLE = 4,      /* u64: feature bits that a reader must know */
	PM_HEADER_ARCH = 5,              /* text: "x86_64" */
	PM_HEADER_KERNEL = 6,            /* text: uname release */
	PM_HEADER_OS = 7,                /* text: PRETTY_NAME */
	PM_HEADER_CPU_VENDOR = 8,        /* text */
	PM_HEADER_CPU_MODEL = 9,         /* text: brand string or implementer/part */
	PM_HEADER_CPU_ID = 10,           /* text: as perf's mapfile has it: GenuineIntel-6-55-7 or the MIDR */
	PM_HEADER_MICROCODE = 11,        /* text */
	PM_HEADER_HYPERVISOR = 12,       /* text: "kvm", absent on bare metal */
	PM_HEADER_INTERVAL = 13,         /* u64: ns between ticks; 0: no interval, start and end only */
	PM_HEADER_CLOCK_COUNTER = 14,    /* text: "tsc", "cntvct", absent: not readable */
	PM_HEADER_CLOCK_COUNTER_HZ = 15, /* u64 */
	PM_HEADER_TICK_HZ = 16,          /* u64: USER_HZ */
	PM_HEADER_PAGE_SIZE = 17,        /* u64 */
	PM_HEADER_TARGET = 18,           /* text: "system", "command", "pid", "tid", "cgroup", "cpu" */
	PM_HEADER_PRIVACY = 19,          /* text: strict, default, full */
	PM_HEADER_EMULATED = 20,         /* bool: recorded under --root */
	PM_HEADER_SOURCES = 21,          /* array of text: sources that took part */
	PM_HEADER_HISTORY = 22,          /* array of text: what cut, merge, redact did */
	PM_HEADER_MEMORY = 23,           /* u64: MemTotal in bytes */
	PM_HEADER_PARANOID = 24,         /* s64/u64: perf_event_paranoid */
	PM_HEADER_NMI_WATCHDOG = 25,     /* u64 */
	PM_HEADER_SCALED = 26,           /* bool: false with --no-scale */
	PM_HEADER_CPUS = 27,             /* text: CPUs that were asked for with -C */
	PM_HEADER_LITTLE_ENDIAN = 28,    /* bool: byte order of raw structures (perf attrs, PCI config) */
	PM_HEADER_SMT = 29,              /* text: contents of cpu/smt/control */
	PM_HEADER_RUNS = 30,             /* u64: -r */
	PM_HEADER_METRICS = 31,          /* array: metrics of -M: names of known ones, or [name, unit, formula,
	                                  * threshold, groups, help] */
	PM_HEADER_REDACTED = 32,         /* array of text: classes that were redacted: machine, person, time */
	PM_HEADER_METRIC_WORDS = 33,     /* array of text: names and groups of metrics as -M was given them */
	PM_HEADER_HOST = 100,            /* text: node name */
	PM_HEADER_BOOT_ID = 101,         /* text; strict privacy leaves it out */
	PM_HEADER_PRODUCT = 102,         /* text: DMI vendor and product, not serials */
	PM_HEADER_BIOS = 103,            /* text */
	PM_HEADER_MACHINE_ID = 104,      /* text: of /etc/machine-id; strict privacy leaves it out */
	PM_HEADER_COMMAND = 200,         /* text: argv[0] of the command */
	PM_HEADER_ARGUMENTS = 201,       /* array of text: the rest of the command */
	PM_HEADER_CMDLINE = 202,         /* text: kernel command line */
	PM_HEADER_LABELS = 203,          /* array of [key, value] */
	PM_HEADER_USER = 204,            /* text */
	PM_HEADER_PMREC_ARGS = 205,      /* array of text: how pmrec was called */
};

/* One row a key: what `pmrep info` prints and what redaction may keep. Ends with key 0. */
struct pm_key_row {
	uint32_t key;
	enum pm_value_kind kind;
	const char *name; /* stable id for json */
	const char *help;
};
extern const struct pm_key_row pm_header_keys[];
extern const struct pm_key_row pm_counter_keys[];
extern const struct pm_key_row pm_instance_keys[];
extern const struct pm_key_row pm_pmu_keys[];
extern const struct pm_key_row pm_event_keys[];
/* NULL for a key that this version does not know. */
const struct pm_key_row *pm_key_find(const struct pm_key_row *rows, uint32_t key);

/* ---- the model ---- */

struct pm_model {
	uint8_t recording_id[8]; /* random; ties the frames of one recording together */
	struct pm_map header;
	struct pm_topology topology;
	struct pm_counter *counter; /* by id - 1 */
	struct pm_value *string;    /* by id - 1; TEXT or BYTES values that columns refer to */
	/* Those that are not forgotten, nearly always ascending by id. Never take a place in them for id - 1. */
	struct pm_instance *instance;
	struct pm_group *group;
	uint32_t last_instance, last_group; /* greatest ids that were ever given */
	struct pm_pmu *pmu;
	struct pm_probe *probe;
	struct pm_config *config;
	uint32_t n_counters, n_instances, n_groups, n_strings, n_pmus, n_probes, n_configs;
	double counter_hz;    /* rate of clocks.counter by the heads of chunks: pm_reader_clocks(); 0: not known */
	struct names strings; /* string -> id, for writers */
	struct pm_model_caps *caps; /* private: allocated sizes */
};

/* An empty model; pm_model_release() frees all that it owns. */
void pm_model_init(struct pm_model *m);
void pm_model_release(struct pm_model *m);

/* Each copies what it is given and returns the new id (> 0), or -errno. A counter whose name exists is -EEXIST,
 * a group that names an unknown id or continues one that it cannot -EINVAL, anything over a limit of format/limits.h
 * -E2BIG: that of instances and groups counts those that have not retired. */
int64_t pm_model_add_counter(struct pm_model *m, const struct pm_counter *c);
int64_t pm_model_add_instance(struct pm_model *m, const struct pm_instance *i);
int64_t pm_model_add_group(struct pm_model *m, const struct pm_group *g);
int64_t pm_model_add_string(struct pm_model *m, const void *data, size_t len, bool bytes); /* or the old id */
/* 0 or -errno. */
int pm_model_add_pmu(struct pm_model *m, const struct pm_pmu *p);
int pm_model_add_probe(struct pm_model *m, const struct pm_probe *p);
/* Joins `instances` with an entry of the same name, kind, reason, value and time, if there is one. */
int pm_model_add_config(struct pm_model *m, const struct pm_config *c);
/* Replaces the topology by a copy. 0, -ENOMEM or -E2BIG. */
int pm_model_set_topology(struct pm_model *m, const struct pm_topology *t);
/* The instance is gone since then (CLOCK_MONOTONIC); a second time changes nothing. 0, -EINVAL for an unknown id,
 * -ENOMEM. */
int pm_model_retire_instance(struct pm_model *m, uint32_t id, uint64_t time_ns);
/* No chunk to come has this group. 0, -EINVAL, -ENOMEM. */
int pm_model_retire_group(struct pm_model *m, uint32_t id);
/* Drops retired groups, and retired instances that no other group names. Pointers into the model become stale, and
 * the ids are unknown from then on. It costs as much as what is left is large, so it waits until a third of them all
 * has retired. */
void pm_model_forget(struct pm_model *m);

/* NULL if there is none. */
const struct pm_counter *pm_model_counter(const struct pm_model *m, uint32_t id);
const struct pm_counter *pm_model_counter_named(const struct pm_model *m, const char *name);
const struct pm_instance *pm_model_instance(const struct pm_model *m, uint32_t id);
const struct pm_group *pm_model_group(const struct pm_model *m, uint32_t id);
const struct pm_value *pm_model_string(const struct pm_model *m, uint32_t id);
/* The newest entry of that name that covers instance `number` (PM_NONE: any). */
const struct pm_config *pm_model_config(const struct pm_model *m, const char *name, uint32_t number);

/* Frees what the topology owns; it is then empty. */
void pm_topology_release(struct pm_topology *t);

/* Stable words for csv and json: "system", "package", ...; NULL for an unknown number. */
const char *pm_kind_name(enum pm_kind kind);
const char *pm_type_name(enum pm_type type);
const char *pm_semantics_name(enum pm_semantics semantics);
const char *pm_aggregation_name(enum pm_aggregation aggregation);

#endif
