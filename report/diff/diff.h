/* Comparing two sets of recordings, for `pmrep diff` and pages of two recordings. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/names.h"
#include "common/options.h"
#include "report/diff/verdict.h"
#include "report/input/spool.h"
#include "report/machine/places.h"
#include "report/metric/select.h"

enum diff_side { DIFF_BASE, DIFF_NEW, DIFF_SIDES };

/* ---- options ---- */

struct diff_gate {
	char *word;    /* owned */
	double margin; /* NaN: as elsewhere */
	bool known;    /* a series has it */
};

enum diff_format { DIFF_TABLE, DIFF_CSV, DIFF_JSON, DIFF_MARKDOWN };

struct diff_options {
	char **path[DIFF_SIDES]; /* owned arrays of the command line's words, up to NULL */
	char **place;            /* words without a side; borrowed */
	size_t n_places;
	struct diff_gate *gate; /* owned */
	size_t n_gates;
	struct selection selection;
	struct vendor_files *vendor; /* owned; of --metrics-file */
	double margin;               /* NaN: by metric */
	double run_sd;               /* NaN: unknown */
	double alpha;                /* 0.05 */
	uint32_t per;                /* bits of the levels wanted beside the system; 0: below each flagged parent */
	enum diff_format format;
	bool force, rate, all, pairs;
};
extern const struct options_spec diff_spec;

/* ---- recordings ---- */

/* Facts that are compared before any number, in the order in which differences are told: name, whether numbers of
 * sides that differ in it cannot be compared, the key of the header that holds it, and the one-time reading. */
#define DIFF_EACH_FACT(FACT) \
	FACT(ARCH, "architecture", true, PM_HEADER_ARCH, NULL) \
	FACT(CPU_MODEL, "CPU model", true, PM_HEADER_CPU_MODEL, NULL) \
	FACT(CPU_ID, "CPU identification", false, PM_HEADER_CPU_ID, NULL) \
	FACT(MICROCODE, "microcode", false, PM_HEADER_MICROCODE, NULL) \
	FACT(TOPOLOGY, "topology (online)", true, 0, NULL) \
	FACT(SMT, "SMT", false, PM_HEADER_SMT, NULL) \
	FACT(HYPERVISOR, "hypervisor", false, PM_HEADER_HYPERVISOR, NULL) \
	FACT(EMULATED, "emulated", true, PM_HEADER_EMULATED, NULL) \
	FACT(MEMORY, "memory", false, 0, NULL) \
	FACT(BIOS, "BIOS", false, PM_HEADER_BIOS, NULL) \
	FACT(KERNEL, "kernel", false, PM_HEADER_KERNEL, NULL) \
	FACT(OS, "operating system", false, PM_HEADER_OS, NULL) \
	FACT(GOVERNOR, "governor", false, 0, "cpufreq.scaling_governor") \
	FACT(DRIVER, "frequency driver", false, 0, "cpufreq.scaling_driver") \
	FACT(WATCHDOG, "NMI watchdog", false, PM_HEADER_NMI_WATCHDOG, NULL) \
	FACT(TARGET, "what was recorded", true, PM_HEADER_TARGET, NULL) \
	FACT(COMMAND, "command", false, PM_HEADER_COMMAND, NULL) \
	FACT(EXIT, "exit status", false, 0, NULL) \
	FACT(INTERVAL, "interval", false, 0, NULL) \
	FACT(SOURCES, "sources", false, PM_HEADER_SOURCES, NULL) \
	FACT(EVENTS, "events", false, 0, NULL) \
	FACT(GAPS, "gaps", false, 0, NULL) \
	FACT(TOOL, "recorded by", false, PM_HEADER_TOOL, NULL)

#define DIFF_FACT_ENUM(fact, ...) DIFF_##fact,
enum diff_fact { DIFF_EACH_FACT(DIFF_FACT_ENUM) DIFF_FACTS };

/* Of a command that was recorded: elapsed, CPU, user and system time in s, and bytes. */
enum diff_number { DIFF_ELAPSED, DIFF_CPU, DIFF_USER, DIFF_SYSTEM, DIFF_MAX_RSS, DIFF_NUMBERS };

/* One run: the recording, or one of the runs of `pmrec -r`. */
struct diff_run {
	uint32_t run;
	uint64_t from_ns, to_ns;      /* first and last tick, CLOCK_MONOTONIC */
	uint64_t wall_ns;             /* of its first chunk, since 1970; 0: not recorded */
	double command[DIFF_NUMBERS]; /* the kernel's numbers for the command, if it ended */
	bool exited;
	bool failed; /* a signal, or an exit status other than 0: does not count for verdicts */
};

struct diff_recording {
	const char *path;  /* borrowed: as users name it */
	const char *place; /* borrowed: where it is read */
	enum diff_side side;
	struct diff_run *run; /* owned */
	uint32_t n_runs;
	char *fact[DIFF_FACTS]; /* owned; NULL: not recorded */
	uint8_t id[8];
	char *boot;        /* owned: its boot id; NULL: not recorded */
	uint32_t session;  /* number of that boot among all recordings */
	uint64_t first_ns; /* tick of its first snapshot, CLOCK_MONOTONIC; 0: none */
	uint64_t snapshots, lost_ticks;
	bool command;            /* it recorded a command: counts are those of a fixed amount of work */
	bool damaged, cut, open; /* open: cut because it is still being written */
	uint32_t doubtful;       /* numbers of readings that took too long */
	struct buf notes;        /* lines for the user */
};

/* Differences between machines, recorders and recordings, apart from their numbers. */
struct diff_difference {
	const char *name;
	char *side[DIFF_SIDES]; /* owned: the value of each side; several with their recordings */
	bool meaningless;       /* numbers of such sides cannot be compared */
};

struct diff_environment {
	struct diff_difference difference[DIFF_FACTS];
	size_t n, meaningless;
};

/* The order of both sides' runs in time. */
enum diff_order { DIFF_ORDER_UNKNOWN, DIFF_BASE_FIRST, DIFF_NEW_FIRST, DIFF_MIXED, DIFF_TURNS };

struct diff_recordings {
	struct diff_recording *recording; /* owned; those of the base first */
	size_t n;
	char **owned; /* paths that were found in folders */
	size_t n_owned;
	struct spool input; /* standard input, if its name is set */
	struct diff_environment environment;
	enum diff_order order;
	uint32_t boots[DIFF_SIDES]; /* with recordings of that side; 0: not known */
	uint32_t boots_shared;      /* of both */
};

/* ---- series ---- */

struct diff_value {
	uint32_t recording, run;
	double v;
	double error; /* standard error within the run; NaN: not estimated */
};

/* One metric at one place: a number per run. */
struct diff_series {
	char *metric, *display, *unit; /* owned */
	char *where;                   /* owned: "" for the system, "package 0", a name */
	struct place place;            /* as in the first recording; `instance` means nothing */
	uint32_t order;                /* of its metric, as show has it */
	double margin;                 /* 0: the default */
	enum metric_better better;
	struct diff_gate *gate;   /* the gate that names it, or NULL */
	struct diff_value *value; /* owned; by recording, then run, once complete */
	uint32_t n;
};

struct diff_data {
	struct diff_series *series; /* owned; by level, metric, unit and place */
	size_t n;
	struct names names; /* "metric\nunit\nplace" -> number, while they are collected */
};

/* ---- results ---- */

struct diff_result {
	const struct diff_series *series;
	struct verdict v;
	struct verdict_rules rules;
	bool gated;           /* named by --gate */
	bool decides;         /* without --gate: has to be decided for success */
	double *value;        /* owned: the base's runs, then the new ones */
	size_t n[DIFF_SIDES]; /* their number; the verdict may count sessions instead */
	char why[120];        /* a remark on the verdict, or "" */
};

struct diff_results {
	struct diff_result *result; /* owned; by level, then by size of the effect */
	size_t n;
	size_t count[VERDICT_ABSENT + 1]; /* of the metrics with a direction; with gates, of all that are gated */
	size_t neutral;                   /* without gates: metrics of the system without a direction */
	bool failed, inconclusive;        /* for the exit code */
};

/* Whether nothing was decided. */
static inline bool diff_open(const struct diff_result *x)
{
	return x->v.kind == VERDICT_INCONCLUSIVE || x->v.kind == VERDICT_ABSENT || x->v.capped;
}
/* The remark that all results have, which is then said once; NULL: there is none. */
const char *diff_why_of_all(const struct diff_results *all);
/* What its verdict counts: runs or boots. */
static inline const char *diff_unit(const struct diff_result *x)
{
	return x->rules.by_session ? "boots" : "runs";
}

/* ---- the comparison ---- */

struct diff {
	struct diff_options o; /* first: the rows of the options fill it */
	struct diff_recordings recordings;
	struct diff_data data;
	struct diff_results results;
};
#define DIFF_INIT ((struct diff){ .o = { .margin = NAN, .run_sd = NAN, .alpha = 0.05 } })

/*
 * Finds the recordings of both sides, files or those of folders, and their facts, runs and events, without decoding.
 * 0, or -errno with a text that names the unreadable path: -EINVAL where the command line makes no sense, or a
 * recording occurs twice, because it is not independent of itself. Oddities become notes of the recording.
 */
int diff_find(struct diff *d, struct error *e);
/*
 * Reads all recordings. Counters give ratios of sums, levels their mean over time. If there are few runs, a second
 * pass finds how the numbers vary within them. 0 or -errno. Damage is noted in the recordings, and in the options
 * which words name something.
 */
int diff_collect(struct diff *d, struct error *e);
void diff_judge(struct diff *d);
/* The options, too. */
void diff_release(struct diff *d);
