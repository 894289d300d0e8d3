/*
 * perf stat's view of a recording: lines of one event at one place, with value, enabled and running time, in
 * perf's order and by perf's rules. The replay gives counts by column; stat_layout.c says which columns make
 * a line, stat_counts.c adds them up, and stat_text.c, stat_csv.c and stat_json.c write them as perf does.
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
#include "report/metric/bind.h"
#include "report/export/output.h"
#include "report/pipeline/sink.h"
#include "report/machine/places.h"
#include "report/replay/replay.h"

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

enum stat_form { STAT_TEXT, STAT_CSV, STAT_JSON };
enum stat_sort { STAT_SORT_NONE, STAT_SORT_VALUE, STAT_SORT_NAME, STAT_SORT_RUNNING };

struct stat_words {
	char **word; /* owned, with the texts */
	size_t n;
};

struct stat_config {
	enum stat_aggr aggr;
	enum stat_form form;
	enum stat_sort sort;
	const char *separator;    /* of STAT_CSV */
	char *iostat;             /* "0000:3d=1.0,...": port = number of the IIO PMU . die; NULL: lines of events */
	struct stat_words events; /* names or globs; empty: the events requested when recording */
	struct stat_words metrics;
	struct stat_words cgroups;
	struct stat_words programs; /* ids of -b */
	struct cpulist cpus;
	uint64_t *id; /* owned: of -p and -t: process ids, then thread ids */
	size_t n_pids, n_tids;
	uint32_t top;                /* lines of a block that are printed; 0: all */
	unsigned detailed;           /* -d, -dd, -ddd */
	struct vendor_files *vendor; /* of --metrics-file; NULL: none; borrowed */
	bool all_events, no_merge, hybrid_merge, big_num, intervals, summary, no_csv_summary, table, stats;
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
	bool placed;       /* it stays where it was typed, whatever its cgroup */
	bool asked;        /* by the user, when recording or now */
	bool hidden;       /* only metrics use it */
	uint32_t order;    /* among the events of its cgroup */
	uint32_t before;   /* place + 1 of the event before it with the same words; 0: none */
	uint16_t invalid;  /* why it could not be opened at all */
	const char *unfed; /* unit of the metric that perf has for it, where that has no value; NULL: it has none */
};

/* A place, or a thread, with lines. */
struct stat_row {
	struct place place;
	char *label;  /* owned: "S0-D0-C1", "bash-123", "" for the whole system */
	bool counted; /* perf says how many counters were merged */
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

/* A stretch of stat_sheet.text. */
struct stat_text {
	uint32_t at, len;
};

struct stat_line {
	uint32_t row, event;
	uint32_t counter, cgroup;       /* the first counter of the event, and stat_event.in_cgroup */
	uint64_t rank;                  /* of the event: perf prints in the order of recording, cgroup after cgroup */
	struct stat_text before, after; /* what a format always writes around the value */
	uint32_t first, n;              /* in stat.track */
	struct stat_sum now, total;
	struct stat_spread value, enabled, running; /* over runs */
	struct buf history;                         /* doubles, one an interval, with --stats */
};

/* A metric after a line, or on a line of its own. */
struct stat_metric {
	double value;                   /* NaN if reason is not 0 */
	uint16_t reason;                /* 0, or why there is none */
	unsigned char width, precision; /* of the value in text: %*.*f */
	unsigned char percent;          /* as in struct shadow */
	bool own;              /* not one of perf's: without a value it is "-" in text and null in json, not "nan" */
	const char *unit;      /* all that follows the number: "insn per cycle", "GHz  cycles_frequency" */
	const char *name;      /* the metric's name, which heads columns of --metric-only */
	const char *threshold; /* "good", "bad" ...; NULL: none is known */
	const char *color;     /* SGR parameters, or NULL */
	uint32_t id;           /* place in the columns of --metric-only */
};
#define STAT_METRICS 32 /* after one line */

struct stat_column { /* a track of the replay that a line sums up */
	uint32_t track, counter, instance;
	uint32_t package, die, cpu;
	uint32_t lost; /* intervals in which others were counted, but not this one */
	uint16_t why;
	uint64_t unseen_ns; /* ns since it was last counted */
};

/* Values of a metric at a place, one an interval, for --stats. */
struct stat_history {
	char *where, *head;      /* owned */
	const char *name, *unit; /* within head, or "" */
	struct buf values;       /* doubles */
};

/* Events were disabled between these times (CLOCK_MONOTONIC); UINT64_MAX: they still are. */
struct stat_off {
	uint64_t from_ns, to_ns;
};

struct stat_sheet {
	struct sink sink;
	const struct stat_config *config;
	struct stat_config own_config; /* borrows all but the places of lines */
	struct output *out;            /* where text goes */
	const struct places *places;
	const struct places *shared; /* those of the pipeline, which change with the machine */
	struct places own_places;    /* with --per-cache=LEVEL: the same, but for the level */
	int cache_level;             /* 2, 3; 0: the last that the machine has */
	struct replay *replay;
	struct stat_event *event;
	uint32_t n_events;
	struct names known; /* PMUs by name, and the last event that others may belong to, by its words */
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
	struct buf text;         /* pieces of lines; empty: not made yet */
	double seconds;          /* covered by the current counts */
	struct stat_spread wall; /* ns, over runs */
	double *run_wall;        /* owned: ns of each run, for --table */
	uint32_t n_runs;
	struct stat_shadow *shadow;
	struct stat_numbers *numbers;
	struct stat_history *history; /* owned; of metrics that were requested, with --stats */
	size_t n_histories;
	struct names history_of; /* "place, newline, head" -> place in history */
	const struct binding *binding;
	struct stat_finder *finder; /* where instances count */
	bool laid_out, shaped;      /* since the last plan */
	/* Of the recording. */
	uint64_t elapsed_ns;  /* of the last command that ended; 0: none */
	uint64_t counted_ns;  /* ns with events enabled, over the intervals so far */
	uint64_t off_ns;      /* ns without, in the current interval */
	struct stat_off *off; /* owned: when they were disabled */
	size_t n_off;
	struct stat_spread user, system;
	bool child, runs, each, system_wide;
	bool begins;      /* its first lines are not printed yet */
	bool switched;    /* events were enabled or disabled meanwhile: the command's time is not theirs */
	char time[32];    /* of the current interval */
	bool summing;     /* printing the totals of --summary */
	struct buf notes; /* lines for stderr, at the end */
	bool partial;     /* a sum lacks a part */
	bool doubtful;    /* a metric has readings that took too long */
};

void stat_init(struct stat_sheet *s, const struct stat_config *config, struct output *out);
void stat_release(struct stat_sheet *s);

/* ---- stat_layout.c ---- */

/* Events, rows and lines for the model and the replay's tracks. Call stat_declare() first, which requests the tracks.
 * 0 or -errno. */
int stat_declare(struct stat_sheet *s, struct buf *notes, struct error *e);
int stat_lay_out(struct stat_sheet *s, struct buf *notes, struct error *e);
void stat_forget_layout(struct stat_sheet *s);
/* Appends what a row of that place is called: "S0-D0-C1", "CPU3", "comm-TID". */
void stat_label_place(const struct stat_sheet *s, const struct place *p, struct buf *out);
/* The row in which a counter of an instance counts, as an event of that cgroup; PM_NONE: none. */
uint32_t stat_row_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup,
		     const struct pm_instance *i);

/* ---- stat_words.c ---- */

/* Takes a comma separated list; commas between slashes or in braces do not separate. 0 or -ENOMEM. */
int stat_words_add(struct stat_words *w, const char *list);
void stat_words_release(struct stat_words *w);

/* ---- stat_events.c ---- */

int stat_events_find(struct stat_sheet *s, struct buf *notes, struct error *e);
/* The number of the cgroup that an instance counts events in, CPU by CPU; 0: none. */
static inline uint32_t stat_cgroup_of(const struct pm_instance *i)
{
	return i->kind == PM_CGROUP && i->cpu != PM_NONE ? i->number : 0;
}
static inline uint64_t stat_rank(const struct stat_event *e)
{
	return (uint64_t)(e->in_cgroup == PM_NONE || e->placed ? 0 : e->in_cgroup) << 32 | e->order;
}
/* Counts of BPF programs (-b): whether both are one event in two programs; whether the counter's program is wanted,
 * or all are; and appends " [12 name]" for an event of a program. */
bool stat_programs_same(const struct pm_counter *a, const struct pm_counter *b);
bool stat_programs_wanted(const struct stat_words *wanted, const struct pm_counter *c);
void stat_programs_put(const struct pm_counter *c, struct buf *out);
/* Their ids, with commas between; false if there are none. */
bool stat_programs_list(const struct stat_sheet *s, struct buf *out);
/* The name of a cgroup: its path, or its pseudonym; and whether -G names it, or none. */
const char *stat_cgroup_name(const struct pm_instance *i);
bool stat_wants_cgroup(const struct stat_config *config, const char *cgroup);
/* The event that a counter belongs to, in a cgroup as stat_event.in_cgroup has it; one that is not printed is added.
 * Its place or -ENOMEM. */
int64_t stat_event_of(struct stat_sheet *s, uint32_t counter, uint32_t cgroup);
void stat_events_release(struct stat_sheet *s);

/* ---- stat_counts.c ---- */

/* Sums of interval k into line.now. */
void stat_count(struct stat_sheet *s, size_t k);
void stat_add_total(struct stat_sheet *s);
void stat_add_run(struct stat_sheet *s, double wall_ns);
/* line.now = what was added up. */
void stat_take_totals(struct stat_sheet *s);
void stat_take_means(struct stat_sheet *s);
void stat_spread_add(struct stat_spread *w, double v);
/* Standard deviation of the mean. */
double stat_spread_error(const struct stat_spread *w);
/* The same in percent of the mean. */
double stat_spread_percent(const struct stat_spread *w);
/* Of the time in which the event was enabled, the percent in which it counted, whole ones as perf has them. */
unsigned stat_percent(const struct stat_sum *sum);
/* Whether it shared its counter with others, or waited for one all the time. */
bool stat_is_shared(const struct stat_sum *sum);
/* The value in the event's unit. */
double stat_value(const struct stat_event *e, const struct stat_sum *sum);
/* Notes for the user on sums that lack a part, or have an unwanted one. */
void stat_note_lost(struct stat_sheet *s);

/* The line of an event in a row, or NULL. */
static inline const struct stat_line *stat_line_at(const struct stat_sheet *s, uint32_t row, uint32_t event)
{
	uint32_t at = s->line_of[(size_t)row * s->n_events + event];

	return at ? &s->line[at - 1] : NULL;
}

/* ---- stat_shadow.c, stat_behind.c ---- */

/* Finds the metrics for the events, and adds what these need. */
int stat_shadow_bind(struct stat_sheet *s, struct buf *notes, struct error *e);
void stat_shadow_release(struct stat_sheet *s);
/* Whether lines may have the metric without a request for it. */
bool stat_may_show(const struct metric *row);
/* Metrics of a line, at most STAT_METRICS. */
size_t stat_shadow(const struct stat_sheet *s, const struct stat_line *l,
		   struct stat_metric out[static STAT_METRICS]);
/* Whether they stand on the same line, as perf has them for events of slots. */
bool stat_is_beside(const struct stat_sheet *s, const struct stat_event *e);
/* Metrics that belong to no line, for a row. */
size_t stat_shadow_alone(const struct stat_sheet *s, uint32_t row, struct stat_metric out[static STAT_METRICS]);
bool stat_shadow_has_alone(const struct stat_sheet *s);
/* The columns of --metric-only: their number, and the head of each: words and name. */
uint32_t stat_shadow_heads(const struct stat_sheet *s);
void stat_shadow_head(const struct stat_sheet *s, uint32_t id, struct buf *out);
/* The value of column `id` in a row. */
void stat_shadow_cell(const struct stat_sheet *s, uint32_t row, uint32_t id, struct stat_metric *out);

/* ---- stat_numbers.c ---- */

/* Requests the printed metrics at the rows of the lines. 0 or -ENOMEM. */
int stat_numbers_plan(struct stat_sheet *s, struct sink_plan *plan);
/* Call it once rows are known. 0 or -ENOMEM. */
int stat_numbers_shape(struct stat_sheet *s, const struct sheet *sheet, size_t n_sheets);
/* Takes the values of interval k; `sheet` is that of the shape, or has the same rows and cells. */
void stat_numbers_take(struct stat_sheet *s, const struct sheet *sheet, size_t k);
/* The engine's value of a printed metric. */
struct value stat_numbers_get(const struct stat_sheet *s, uint32_t shown, uint32_t row, enum sheet_verdict *verdict);
void stat_numbers_release(struct stat_sheet *s);

/* ---- the formats ---- */

struct stat_form_ops {
	void (*begin)(struct stat_sheet *s); /* of a recording; NULL: prints nothing */
	void (*lines)(struct stat_sheet *s); /* of an interval, of all, or of the totals */
};
typedef void stat_put_alone(struct stat_sheet *s, uint32_t row, const struct stat_metric *m);
/* Calls put_line() for each line to be printed, in order, and put_alone() for each metric that belongs to no line:
 * after the lines of a place, or after all lines where those of an event stand together. Stops where the output
 * fails; the exporter knows. */
void stat_each_line(struct stat_sheet *s, void (*put_line)(struct stat_sheet *s, const struct stat_line *l),
		    stat_put_alone *put_alone);
/* Orders s->order by --sort. 0 or -ENOMEM. */
int stat_sort_lines(struct stat_sheet *s);
/* The lines of --iostat, in the text's form or in that of STAT_CSV. */
void stat_put_ports(struct stat_sheet *s);
extern const struct stat_form_ops stat_text, stat_csv, stat_json;
extern const enum pm_kind stat_aggr_kinds[STAT_AGGRS]; /* places of lines */
extern const char *const stat_aggr_words[STAT_AGGRS];  /* "core", "socket": perf's names; NULL: none */
/* --stats: a table over the intervals, in any of the forms. */
void stat_print_stats(struct stat_sheet *s);
/* Keeps the values of metrics that were requested, now or when recording, in this interval for it. 0 or -ENOMEM. */
int stat_keep_metrics(struct stat_sheet *s);
void stat_forget_history(struct stat_sheet *s);

/* Makes the pieces before and after the values, unless they exist: `make` appends the one or the other. */
void stat_texts(struct stat_sheet *s, void (*make)(struct stat_sheet *s, const struct stat_line *l, bool after));
/* Appends a piece. */
static inline char *stat_put(char *at, const void *data, size_t len)
{
	memcpy(at, data, len);
	return at + len;
}

/* "<not counted>" or "<not supported>". */
const char *stat_missing(uint16_t reason);
/* Whether lines are sorted and cut within those of an event, not of a place. */
static inline bool stat_is_by_event(const struct stat_sheet *s)
{
	return s->config->aggr == STAT_NONE || s->config->aggr == STAT_THREAD;
}
/* Whether the line is not printed. */
bool stat_skips(const struct stat_sheet *s, const struct stat_line *l);
