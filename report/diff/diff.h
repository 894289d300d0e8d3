/*
 * Comparing two sets of recordings: the data of `pmrep diff`. A first pass finds the facts of each recording
 * (diff_input), a second one a number per run for every metric and place (diff_collect); these become verdicts
 * (diff_judge), which are printed in several formats (diff_output).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/names.h"
#include "report/machine/places.h"
#include "report/metric/select.h"
#include "report/input/spool.h"
#include "report/diff/verdict.h"

enum diff_side { DIFF_BASE, DIFF_NEW, DIFF_SIDES };

/* ---- recordings ---- */

/* Facts that are compared before any number. */
enum diff_fact {
	DIFF_ARCH,
	DIFF_CPU_MODEL,
	DIFF_CPU_ID,
	DIFF_MICROCODE,
	DIFF_TOPOLOGY,
	DIFF_SMT,
	DIFF_HYPERVISOR,
	DIFF_EMULATED,
	DIFF_MEMORY,
	DIFF_BIOS,
	DIFF_KERNEL,
	DIFF_OS,
	DIFF_GOVERNOR,
	DIFF_DRIVER,
	DIFF_WATCHDOG,
	DIFF_TARGET,
	DIFF_COMMAND,
	DIFF_EXIT,
	DIFF_INTERVAL,
	DIFF_SOURCES,
	DIFF_EVENTS,
	DIFF_MULTIPLEXING,
	DIFF_COST,
	DIFF_GAPS,
	DIFF_TOOL,
	DIFF_FACTS
};

/* One run: the recording, or one of the runs of `pmrec -r`. */
struct diff_run {
	uint32_t run;
	uint64_t from_ns, to_ns;               /* first and last tick, CLOCK_MONOTONIC */
	uint64_t wall_ns;                      /* of its first chunk, since 1970; 0: not recorded */
	uint64_t start_ns, exit_ns;            /* of the command; 0: unknown */
	uint64_t from_marker_ns, to_marker_ns; /* 0: not found */
	uint64_t elapsed_ns, user_ns, system_ns, max_rss;
	uint64_t cpu_ns; /* user and system */
	bool exited;
	bool failed; /* a signal, or an exit status other than 0 */
};

struct diff_recording {
	const char *path;  /* borrowed: as users name it */
	const char *place; /* borrowed: where it is read */
	const char *name;  /* the last part of its path */
	enum diff_side side;
	struct diff_run *run; /* owned */
	uint32_t n_runs;
	char *fact[DIFF_FACTS]; /* owned; NULL: not recorded */
	char **event;           /* owned: events of perf, sorted */
	uint32_t n_events;
	uint8_t id[8];
	char *boot;        /* owned: its boot id; NULL: not recorded */
	uint32_t session;  /* number of that boot among all recordings */
	double cost;       /* cost of recording in CPUs; with fact[DIFF_COST] */
	uint64_t first_ns; /* tick of its first snapshot, CLOCK_MONOTONIC; 0: none */
	uint64_t snapshots, lost_ticks, damages;
	uint32_t parts; /* recordings in the file */
	bool command;   /* it recorded a command: counts are those of a fixed amount of work */
	bool damaged, cut;
	bool open;         /* cut because it is still being written */
	uint32_t values;   /* numbers that it gave */
	uint32_t doubtful; /* of these, numbers of readings that took too long */
	uint32_t first;    /* place of its first run among the runs of its side */
	struct buf notes;  /* lines for the user */
};

/* The order of both sides' runs in time. */
enum diff_order { DIFF_ORDER_UNKNOWN, DIFF_BASE_FIRST, DIFF_NEW_FIRST, DIFF_MIXED, DIFF_TURNS };

struct diff_recordings {
	struct diff_recording *recording; /* owned */
	size_t n;
	char **owned; /* paths that were found in folders */
	size_t n_owned;
	struct spool input; /* standard input, if its name is set */
	enum diff_order order;
	uint32_t boots[DIFF_SIDES]; /* with recordings of that side; 0: not known */
	uint32_t boots_shared;      /* of both */
};

/* ---- series ---- */

/* One metric at one place: a number per run. */
struct diff_value {
	uint32_t recording, run;
	double v;
	double error;   /* standard error within the run; NaN: not estimated */
	double samples; /* intervals that the error was made of */
	double time;    /* autocorrelation time in samples; NaN: not estimated */
};

struct diff_series {
	char *metric, *display, *unit; /* owned */
	char *where;                   /* owned: "" for the system, "package 0", a name */
	struct place place;            /* as in the first recording; `instance` means nothing */
	uint32_t order;                /* of its metric, as show has it */
	double margin;                 /* 0: the default */
	enum metric_better better;
	const struct diff_gate *gate; /* the gate that names it, or NULL */
	struct diff_value *value;     /* owned; by recording, then run, once complete */
	uint32_t n;
};

struct diff_data {
	struct diff_series *series; /* owned; by level, metric, unit and place */
	size_t n;
	struct names names; /* "metric\nunit\nplace" -> number, while they are collected */
};

/* ---- options ---- */

struct diff_gate {
	char *word;    /* owned */
	double margin; /* NaN: as elsewhere */
};

enum diff_format { DIFF_TABLE, DIFF_CSV, DIFF_JSON, DIFF_MARKDOWN, DIFF_JUNIT };

struct diff_options {
	char **path[DIFF_SIDES]; /* owned arrays of the command line's words, up to NULL */
	size_t n_paths[DIFF_SIDES];
	char **label[DIFF_SIDES]; /* owned arrays, up to NULL: key=value */
	size_t n_labels[DIFF_SIDES];
	char **place; /* words without a side; borrowed */
	size_t n_places;
	struct diff_gate *gate; /* owned */
	size_t n_gates;
	struct selection selection;
	struct selection lower, higher; /* metrics of which less, or more, is better */
	struct vendor_files *vendor;    /* owned; of --metrics-file */
	double margin;                  /* NaN: by metric */
	double run_sd;                  /* NaN: unknown */
	const char *noise, *save_noise, *from_marker, *to_marker;
	unsigned overwrite; /* of save_noise: OUTFILE_OVERWRITE or 0 */
	uint64_t skip_ns;
	uint32_t per; /* bits of the levels wanted beside the system; 0: below each flagged parent */
	enum diff_format format;
	unsigned align_command; /* 1: only the time of the command */
	bool force, strict, rate, all, allow_failures, pairs;
	double alpha;  /* 0.05 */
	unsigned jobs; /* 0: as many as there are CPUs */
};
