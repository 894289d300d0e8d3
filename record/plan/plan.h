/*
 * What is to be recorded: built before sampling from the options and the machine, extended at run time by hotplug,
 * new tasks and -r. Sources write into it; the sampler reads it.
 */
#pragma once

#include "common/catalog/catalog.h"
#include "common/memory.h"
#include "format/model.h"
#include "format/writer.h"
#include "record/plan/source.h"

enum target_kind {
	TARGET_SYSTEM,  /* all CPUs, or those of -C */
	TARGET_COMMAND, /* perf events follow the command and its children; the rest is system-wide */
	TARGET_TASKS,   /* -p, -t, or --per-thread of the whole system */
};

/* One -G: its names go to the events before it. */
struct cgroup_option {
	char *names;     /* "a,,b": an empty name means no cgroup */
	size_t n_events; /* texts of -e before it */
};

/* Options: plain data that record/cmd_record.c fills; nobody changes them afterwards. Texts are borrowed from the
 * command line; NULL: not given. */

/* What perf events count. */
struct perf_options {
	char **events;      /* texts of -e in order; NULL-terminated; NULL: defaults */
	char **event_files; /* --events-file, NULL-terminated */
	char **pfm_events;  /* --pfm-events, likewise */
	char **filters;     /* --filter of events[i], or NULL entries */
	char **metrics;     /* texts of -M, likewise */
	char **metric_files;
	char *pids, *tids;
	struct cgroup_option *cgroups; /* -G, n_cgroups of them */
	size_t n_cgroups;
	char *each_cgroup;  /* --for-each-cgroup: names and patterns */
	char *cputype;      /* "core" or "atom" */
	char *pmu_filter;   /* name of a PMU */
	char *bpf_programs; /* -b: ids */
	char *bpf_attr_map;
	int64_t delay_ms;  /* -D: -1 = start disabled, 0 = none */
	uint64_t td_level; /* 0: all levels */
	unsigned detailed; /* -d count */
	bool metric_no_group, metric_no_merge, metric_no_threshold;
	bool no_vendor;   /* ignore the pack of vendors' events and metrics */
	bool system_wide; /* -a */
	bool per_thread;  /* one instance per thread; new ones are followed */
	bool as_perf;     /* counts of the kernel alone are 0, as with perf, where the kernel may not be counted */
	bool brief;       /* the recording is read once, and says of the machine what pmrep stat prints */
	bool turbostat;   /* `events` are not shown as counters, and others stand in for registers that are shut */
	bool transaction, topdown, smi_cost, bpf_counters, null, no_inherit, all_user, all_kernel;
	bool no_scale; /* noted in the header, applied when reporting */
};

/* --sampling: who reads perf events. --threads: how many readers there are; AUTO: measured. */
enum sampling { SAMPLING_AUTO, SAMPLING_KERNEL, SAMPLING_READER };
enum reader_threads { THREADS_AUTO, THREADS_ONE, THREADS_CPU };

/* When snapshots are taken, and of which sources. */
struct sample_options {
	char *sources;        /* --sources */
	uint64_t interval_ns; /* default 1 s */
	uint64_t iterations;  /* -n: 0 = no end */
	enum sampling sampling;
	enum reader_threads threads;
};

/* The file, or files. */
struct output_options {
	char *output;          /* -o */
	int fd;                /* of a reader that stands in for perf or turbostat; 0: there is none */
	bool keeps;            /* the output is another, and the reader gets a copy */
	char **labels;         /* KEY=VALUE, NULL-terminated */
	uint64_t rotate_bytes; /* --rotate: size of a file; 0 = no limit */
	uint64_t rotate_ns;    /* --rotate: time of a file; 0 = no limit */
	uint64_t keep;         /* --keep: files that stay; 0 = all */
	uint64_t ring_ns;      /* --ring: time of all files; 0 = no limit */
	uint64_t ring_bytes;   /* and their bytes; 0 = no limit */
	uint64_t sync_ns;      /* --sync=SEC: interval of flushing to disk; 0 = at the end of a file */
	uint64_t buffer_bytes; /* --buffer: bytes that may wait for the output; 0 = the default */
	bool overwrite;
	enum pm_codec codec;
};

/* The command, time limits and messages. */
struct run_options {
	char **command;      /* argv of COMMAND */
	char *pre, *post;    /* commands of the shell around each run */
	char *control;       /* --control */
	char *report;        /* --report: "show", "stat" or "", which is show */
	uint64_t timeout_ns; /* 0 = none */
	unsigned runs;       /* -r */
	bool quiet, verbose, sync_first;
	bool dry;  /* --dry-run: nothing is recorded */
	bool list; /* -l: list counters instead of recording */
};

struct record_options {
	enum target_kind target;
	char *cpus;        /* -C */
	char *privacy;     /* "strict", "default", "full" */
	char *root;        /* --root */
	struct add *added; /* --add, n_added of them */
	size_t n_added;
	unsigned tcc_celsius; /* --TCC: to be stored for the report; 0: none */
	bool no_perf, no_msr; /* -P, --no-msr: turbostat's ways to leave a source out */
	struct perf_options perf;
	struct sample_options sample;
	struct output_options output;
	struct run_options run;
};

/* Lists of places are kept apart by their number modulo this. */
#define PLAN_PLACES 256

struct plan {
	const struct record_options *options;
	const struct root *root;
	struct pm_model *model;
	struct cpulist cpus; /* online CPUs to be recorded: all, or those of -C */
	pid_t child;         /* the command, forked and waiting for its exec; 0: none */
	struct unit *units;  /* list, in the order of adding */
	struct unit **units_end;
	uint32_t unit_changes;        /* changes of `units`, to which slots of a readout point */
	const struct source *sources; /* all of them, wanted or not */
	size_t n_sources;
	struct source *source;    /* the source that is planning */
	uint32_t system_instance; /* id of the PM_SYSTEM instance */
	uint32_t *cpu_instance;   /* id of each CPU's instance, by CPU number; 0: none yet */
	uint32_t n_cpu_instance;
	/* Instances of places, by number: the newest; then, by id, the previous one; 0: none. */
	uint32_t place[PLAN_PLACES];
	uint32_t *place_next, n_place_next;
	struct pm_event *event; /* owned: events to be written; the session takes them */
	uint32_t n_events;
	char told[320];     /* a line for the user; the recorder prints and empties it */
	bool sampling;      /* the plan is extended while it is recorded */
	bool full;          /* since then, something exceeded a limit of the format, and is left out */
	bool targets_gone;  /* all that -p, -t or -G named has ended */
	uint64_t within_ns; /* all must be read that often, as counters wrap; 0: none does */
	uint64_t time_ns;   /* of planning: the same for all one-time values, so that equal ones can be joined */
	uint64_t added_ns;  /* of the newest instances that told no time */
};

/* An empty plan for the online CPUs (of -C), with the PM_SYSTEM instance. Borrows its arguments. */
int plan_init(struct plan *p, const struct record_options *options, const struct root *root, struct pm_model *model,
	      struct error *e);

/* Some counter may wrap after that time or more. */
static inline void plan_read_within(struct plan *p, uint64_t ns)
{
	p->within_ns = p->within_ns && p->within_ns < ns ? p->within_ns : ns;
}

/* Releases the units. */
void plan_release(struct plan *p);
/* Lets every wanted source plan; `s` are `n` sources in the order of sources[], filled by sources_select(). */
int plan_sources(struct plan *p, struct source *s, size_t n, struct error *e);

/* Whether --privacy lets a value with this key into the file. */
bool plan_may_record(const struct record_options *options, uint32_t key);

/* The same of a name of a task or cgroup, with its pid (enum pm_instance_key). */
bool plan_may_name(const struct record_options *options, uint32_t key);

static inline bool plan_rotates(const struct record_options *o)
{
	return o->output.rotate_bytes || o->output.rotate_ns;
}

/* Whether something remains to be started, or a file to be made or removed, with the caller's rights. */
static inline bool plan_starts_more(const struct record_options *o)
{
	return o->run.command || o->run.pre || o->run.post || o->run.report || plan_rotates(o);
}

/* Whether -C lets a CPU be recorded that has come online. */
static inline bool plan_wants_cpu(const struct plan *p, uint32_t cpu)
{
	return !p->options->cpus || cpulist_has(&p->cpus, cpu);
}

/* What follows ends pmrec without memory. A limit of the format ends it, too, unless it is sampling: then ids are
 * -E2BIG, and `full` is set. */

/* Sets an attribute; takes ownership of `v`. */
static inline void plan_set(struct pm_map *attrs, uint32_t key, struct pm_value v)
{
	memory_must(pm_map_set(attrs, key, v));
}
/* For n values, all null. */
static inline struct pm_value plan_array(uint32_t n)
{
	struct pm_value v = pm_array(n);

	if (n)
		memory_checked(v.array.item);
	return v;
}
/* Adds an instance, which begins now if it does not say when. Releases its attributes. */
int64_t plan_instance(struct plan *p, struct pm_instance *i);
/* The instance of a CPU, added if new. */
int64_t plan_cpu_instance(struct plan *p, uint32_t cpu);
/* Adds a column group, whose lists are copied. */
int64_t plan_group(struct plan *p, const struct pm_group *g);
/* Appends and takes ownership; sets unit->source. */
void plan_add_unit(struct plan *p, struct unit *u);
/* Releases the units of which gone() is true. */
void plan_drop_units(struct plan *p, bool (*gone)(struct unit *u));
/* Notes what could not be recorded: a probe result in the file, a line of doctor. `remedy` is what would help against
 * this reason; pm_remark(0): what helps against such an errno everywhere, if anything does. PM_REASON_NOT_SUPPORTED
 * becomes the errno of a file that the source could not open for lack of descriptors or memory. Takes ownership of
 * both remarks. Returns 0. */
int plan_refused(struct plan *p, uint16_t reason, struct pm_value remedy, struct pm_value what);
/* The instance, a task or cgroup, has ended; readers derive an event. */
void plan_gone(struct plan *p, uint32_t instance, uint64_t time_ns);
/* Adds an event with a remark of the recorder, about a number of things. Takes ownership of it. */
void plan_note(struct plan *p, uint64_t count, struct pm_value remark);
/* Shows a remark to the user. */
void plan_tell(struct plan *p, const struct pm_value *remark);
/* One-time value of the machine itself, none of its users', for instance `number` of `kind` (PM_SYSTEM: PM_NONE).
 * Takes ownership of `v`. */
void plan_config(struct plan *p, enum pm_kind kind, uint32_t number, struct pm_value v, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* The same of the whole system. */
#define plan_fact(p, ...) plan_config(p, PM_SYSTEM, PM_NONE, __VA_ARGS__)
/* One that is the same for all these CPUs. */
void plan_config_cpus(struct plan *p, const struct cpulist *cpus, struct pm_value v, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void plan_config_missing(struct plan *p, enum pm_kind kind, uint32_t number, uint16_t reason, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* The model's counter for a row of the catalog, added if new. */
int64_t plan_counter(struct plan *p, const struct catalog_counter *row);

/* Counters named after a part of the machine: a catalog row with a '*', and what replaces it. */

/* A member; NULL for what is unknown. */
struct member {
	const char *part;    /* stands for '*' in the name; [a-z0-9_] */
	const char *shown;   /* stands for '*' in the display name; NULL: part */
	const char *family;  /* PM_COUNTER_FAMILY; NULL: no family, no member name */
	const char *help;    /* replaces the row's */
	const char *devices; /* PM_COUNTER_DEVICES, if privacy allows */
};

/* The counter of the member, added if new. */
int64_t member_counter(struct plan *p, const struct catalog_counter *row, const struct member *m);
/* Turns a text into a part of a counter name: lower case, with '_' for what is not [a-z0-9], cut to the array. */
void member_part(char *part, size_t size, const char *text, size_t len);

/* Instances for things that are neither CPUs nor places in the topology: sensors, zones. */

/*
 * Adds a PM_DEVICE instance. If a device already has the name, ".2", ".3" ... is appended. `path` says where the
 * device is connected and may be NULL; privacy may omit it. `cpu`: one that it is next to, or PM_NONE.
 */
int64_t device_instance(struct plan *p, const char *name, const char *path, uint32_t cpu);
/* An instance for what users may have named, such as an interface or a mount. If privacy forbids the name, it is the
 * source's device of this number (from 0). `layer`: it stands on others that count the same. */
int64_t device_named(struct plan *p, const char *name, uint32_t number, bool layer);

/* Reporting what could not be recorded: once, briefly, with the command that would allow it. */

/* Appends a few lines about missing permissions; `all`: also about what the machine lacks. */
void refused_print(const struct pm_model *m, bool all, struct buf *out);

/* The first refusal by a limit that somebody set: open files and memory, or else rights. NULL: none. */
const struct pm_probe *refused_first(const struct pm_model *m);
