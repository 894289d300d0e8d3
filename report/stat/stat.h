/*
 * perf stat's view of a recording: lines of one event at one place, with value, enabled and running time, in
 * perf's order and by perf's rules. stat.c finds the lines and their numbers, stat_print.c writes them as perf does.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/error.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "report/export/output.h"
#include "report/pipeline/pipeline.h"

enum stat_aggr {
	STAT_GLOBAL, /* one line an event */
	STAT_NONE,   /* -A: one per CPU */
	STAT_THREAD,
	STAT_SOCKET,
	STAT_DIE,
	STAT_CLUSTER,
	STAT_CACHE,
	STAT_CORE,
	STAT_NODE,
	STAT_CGROUP,
	STAT_AGGRS
};

/* What a line is of. */
struct stat_level {
	enum pm_kind kind;
	const char *word; /* perf's, for heads and keys; NULL: none */
	int width;        /* of the place in text */
	bool counted;     /* perf says how many counters were merged */
};
extern const struct stat_level stat_levels[STAT_AGGRS];

enum stat_form { STAT_TEXT, STAT_CSV, STAT_JSON };

struct stat_words {
	char **word; /* owned, with the texts */
	size_t n;
};

struct stat_ids {
	uint64_t *id; /* owned */
	size_t n;
};

struct stat_config {
	enum stat_aggr aggr;
	enum stat_form form;
	const char *separator;    /* of STAT_CSV */
	char *iostat;             /* "0000:3d=1.0,...": port = number of the IIO PMU . die; NULL: lines of events */
	struct stat_words events; /* names or globs; empty: the events requested when recording */
	struct stat_words metrics;
	struct stat_words cgroups;
	struct cpulist cpus;
	struct stat_ids programs, pids, tids;
	unsigned detailed; /* -d, -dd, -ddd */
	bool all_events, no_merge, hybrid_merge, big_num, intervals, summary, no_csv_summary, table;
	bool metric_only, no_quotes, no_threshold, no_scale, verbose, show_thread, color;
	bool started; /* a file begins with the time at which it was written */
	bool topdown; /* the metrics are those of slots */
	bool null;    /* no blank line stands after the lines */
	bool clear;   /* clear the screen before every interval */
	bool window;  /* only a part of the recording is read */
};

/* An event as printed: one counter, or those of several PMUs, merged. */
struct stat_event {
	char *name;         /* owned */
	const char *unit;   /* "" for counts; borrowed of the model, as below */
	const char *cgroup; /* or NULL */
	uint32_t in_cgroup; /* number of the cgroup, from 1; 0: counted in none; PM_NONE: wherever it was */
	const struct pm_counter *first;
	uint32_t *counter; /* owned: ids */
	uint32_t n_counters;
	double mul, div; /* from counts to units */
	bool fraction;   /* two decimals, because the scale is not a whole number */
	bool per_pkg, percore;
	bool placed;        /* it stays where it was typed, whatever its cgroup */
	bool counted;       /* in some column */
	bool asked;         /* by the user, when recording or now */
	bool hidden;        /* only metrics use it */
	uint32_t order;     /* among the events of its cgroup */
	uint32_t before;    /* place + 1 of the event before it with the same words; 0: none */
	uint16_t invalid;   /* why it could not be opened at all */
	const char *unfed;  /* unit of the metric that perf has for it, where that has no value; NULL: it has none */
	struct buf written; /* what the fields of CSV and JSON have of it */
};

/* A place, or a thread, with lines. */
struct stat_row {
	struct place place;
	char *label;                /* owned: "S0-D0-C1", "bash-123", "" for the whole system */
	bool counted;               /* perf says how many counters were merged */
	struct buf written, cgroup; /* what the fields of CSV and JSON have of it, before the value and after it */
};

/* Counts of several columns together. */
struct stat_sum {
	uint64_t v;                /* scaled for multiplexing, unless --no-scale */
	double rest;               /* fraction of the mean of runs beyond v; else 0 */
	uint64_t raw;              /* as it was counted */
	uint64_t enabled, running; /* ns */
	uint64_t lost;             /* ns of enabled time without a reading */
	uint32_t nr;               /* columns */
	uint16_t reason;           /* 0, or why nothing was counted */
};

/* Mean and spread over runs, as perf has them: by Welford. */
struct stat_spread {
	double n, mean, m2;
};

struct stat_line {
	uint32_t row, event;
	uint32_t counter, cgroup; /* the first counter of the event, and stat_event.in_cgroup */
	uint64_t order[2];        /* row and rank of the event; perf prints as it was recorded, cgroup after cgroup */
	uint32_t first, n;        /* in stat.track */
	struct stat_sum now, total;
	struct stat_spread value, enabled, running; /* over runs */
};

/* A metric after a line, or on a line of its own. */
struct stat_metric {
	double value;                   /* NaN if reason is not 0 */
	uint16_t reason;                /* 0, or why there is none */
	unsigned char width, precision; /* of the value in text: %*.*f */
	unsigned char percent;          /* as in struct shadow */
	bool own;              /* not one of perf's: without a value it is "-" in text and null in json, not "nan" */
	const char *unit;      /* all that follows the number: "insn per cycle", "GHz  cycles_frequency" */
	const char *threshold; /* "good", "bad" ...; NULL: none is known */
	const char *color;     /* SGR parameters, or NULL */
};
#define STAT_METRICS 32 /* after one line */

struct stat_column { /* a track of the replay that a line sums up */
	uint32_t track, counter, instance;
	uint32_t package, die;
	uint64_t unseen_ns; /* ns since it was last counted */
};

/* Events were disabled between these times (CLOCK_MONOTONIC); UINT64_MAX: they still are. */
struct stat_off {
	uint64_t from_ns, to_ns;
};

struct stat_sheet {
	struct sink sink;
	const struct stat_config *config;
	enum stat_aggr aggr; /* the config's, or by cgroup */
	struct output *out;
	struct buf *text; /* of `out`: where lines go */
	const struct places *places;
	struct replay *replay;
	struct stat_event *event;
	uint32_t n_events;
	struct names known; /* the last event that others may belong to, by its words */
	struct names pmus;  /* places in the model, by name */
	uint32_t kinds;     /* of CPUs, as far as the PMUs say */
	struct stat_row *row;
	uint32_t n_rows;
	uint32_t *row_at;       /* rows by place_compare() */
	struct stat_line *line; /* in perf's order */
	uint32_t n_lines;
	uint32_t *line_of; /* row * n_events + event: line + 1; 0: none */
	uint32_t *order;   /* lines in the order of printing */
	struct stat_column *column;
	uint32_t n_columns;
	uint64_t intervals;      /* printed so far */
	struct buf stamp;        /* what begins every line of an interval in CSV and JSON */
	double seconds;          /* covered by the current counts */
	struct stat_spread wall; /* ns, over runs */
	double *run_wall;        /* owned: ns of each run, for --table */
	uint32_t n_runs;
	struct stat_shown *shown; /* metrics, which are the columns of --metric-only, ordered by event */
	uint32_t n_heads;
	uint32_t *behind; /* places in shown[] of what may follow the lines of an event, by event */
	uint32_t *first;  /* into behind, by event; then those on lines of their own, and their end */
	/* What is asked of the engine, once for each cgroup with events of the metric. */
	struct sheet_custom wish;
	bool *wanted;               /* by metric of the binding */
	uint32_t *cgroup;           /* by scope */
	struct stat_answer *answer; /* row by row */
	bool asked;                 /* they were requested, and are not perf's choice */
	const struct binding *binding;
	bool laid_out, shaped; /* since the last plan */
	/* Of the recording. */
	uint64_t elapsed_ns;  /* of the last command that ended; 0: none */
	uint64_t counted_ns;  /* ns with events enabled, over the intervals so far */
	uint64_t off_ns;      /* ns without, in the current interval */
	struct stat_off *off; /* owned: when they were disabled */
	size_t n_off;
	struct stat_spread user, system;
	bool child, runs, each, system_wide;
	bool begins;                 /* its first lines are not printed yet */
	bool switched;               /* events were enabled or disabled meanwhile: the command's time is not theirs */
	char time[32];               /* of the current interval */
	bool summing;                /* printing the totals of --summary */
	struct buf notes;            /* lines for stderr, at the end */
	struct listed lost, lost_at; /* events of which a sum lacks a part, and where */
	uint16_t why_lost;
	bool partial;  /* that was so in some recording */
	bool doubtful; /* a metric has readings that took too long */
};

/* ---- stat.c ---- */

void stat_init(struct stat_sheet *s, const struct stat_config *config, struct output *out);
void stat_release(struct stat_sheet *s);

/* Whether lines may have the metric without a request for it. */
bool stat_may_show(const struct metric *row);

/* The line of an event in a row, or NULL. */
static inline const struct stat_line *stat_line_at(const struct stat_sheet *s, uint32_t row, uint32_t event)
{
	uint32_t at = s->line_of[(size_t)row * s->n_events + event];

	return at ? &s->line[at - 1] : NULL;
}
/* Ids of BPF programs (-b) that are counted, with commas between, or false if there are none. */
bool stat_programs_list(const struct stat_sheet *s, struct buf *out);

void stat_spread_add(struct stat_spread *w, double v);
/* Standard deviation of the mean, and the same in percent of the mean. */
double stat_spread_error(const struct stat_spread *w);
double stat_spread_percent(const struct stat_spread *w);
/* Of the time in which the event was enabled, the percent in which it counted, whole ones as perf has them. */
unsigned stat_percent(const struct stat_sum *sum);
/* Whether it shared its counter with others, or waited for one all the time. */
bool stat_is_shared(const struct stat_sum *sum);
/* The value in the event's unit. */
double stat_value(const struct stat_event *e, const struct stat_sum *sum);
/* "<not counted>" or "<not supported>". */
const char *stat_missing(uint16_t reason);

/* Metrics of a line, at most STAT_METRICS; without one, those of a row that belong to no line. */
size_t stat_metrics(const struct stat_sheet *s, uint32_t row, const struct stat_line *l,
		    struct stat_metric out[static STAT_METRICS]);
/* Whether they stand on the same line, as perf has them for events of slots. */
bool stat_is_beside(const struct stat_sheet *s, const struct stat_event *e);
/* Whether there are metrics that belong to no line. */
bool stat_has_alone(const struct stat_sheet *s);
/* The head of a column of --metric-only: words and name; and its value in a row. */
const char *stat_head(const struct stat_sheet *s, uint32_t id);
void stat_metric_at(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out);

/* ---- stat_print.c ---- */

/* Whether the lines of an event are together, not those of a place. */
static inline bool stat_is_by_event(const struct stat_sheet *s)
{
	return s->aggr == STAT_NONE || s->aggr == STAT_THREAD;
}
/* Once rows and events are known: prepares what is written of them, and writes heads before the first. */
void stat_print_shape(struct stat_sheet *s);
/* Lines of an interval, of all, or of the totals. */
void stat_print(struct stat_sheet *s);
