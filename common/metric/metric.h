/*
 * Definitions of metrics: rows of C tables, or objects of a vendor's JSON file. Data only; who owns the numbers
 * evaluates them.
 */
#ifndef COMMON_METRIC_METRIC_H
#define COMMON_METRIC_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/error.h"

enum metric_better { METRIC_NEUTRAL, METRIC_HIGHER, METRIC_LOWER };

/* The lowest level at which the metric means something. */
enum metric_scope {
	METRIC_ANY, /* that of its inputs */
	METRIC_CPU,
	METRIC_CORE,
	METRIC_CLUSTER,
	METRIC_DIE,
	METRIC_PACKAGE,
	METRIC_NODE,
	METRIC_DEVICE,
	METRIC_SYSTEM,
};

/* Whether the events of a metric should be counted at the same time, in one group. */
enum metric_grouping {
	METRIC_GROUPED,
	METRIC_UNGROUPED,               /* they do not fit, or cannot be scheduled together */
	METRIC_UNGROUPED_NMI,           /* ... while the NMI watchdog holds a counter */
	METRIC_UNGROUPED_SMT,           /* ... while threads share the counters of a core */
	METRIC_UNGROUPED_THRESHOLD_NMI, /* ... while the watchdog does, if the threshold's events are wanted too */
};

/*
 * One metric. If `each` names a counter family ("cpuidle.time"), the row stands for one metric a member of it:
 * every '*' is replaced by the member's name in `display` and `help`, by its lower-case form in `name`, and in
 * `expr` by what follows the last dot of the counter's name, except behind a blank, where it multiplies.
 */
struct metric {
	const char *name;       /* stable id, [a-z0-9_.]+; unique */
	const char *display;    /* column head in tables */
	const char *aliases;    /* further names that --show takes, comma separated; or NULL */
	const char *categories; /* comma separated: "idle,sysfs"; or NULL */
	const char *each;       /* counter family, or NULL */
	const char *unit;       /* UCUM, as csv and json say it: "%", "MHz", "W", "1/s", "Cel" */
	const char *expr;
	const char *otherwise; /* formulas for recordings that lack what expr needs, tried in turn; ';' between */
	const char *when;      /* literal without '#': where it is 0 the metric is not shown by default; or NULL */
	const char *help;      /* one sentence */
	const char *threshold; /* expression of counters, as `expr`: non-zero is bad; or NULL */
	const char *threshold_otherwise; /* others for recordings that lack what it needs, as `otherwise` */
	const char *ungrouped_in;        /* categories: asked for by these, its events are not grouped; or NULL */
	enum metric_grouping grouping;
	double margin; /* smallest relative change that matters to `diff`; 0: the default, 0.02 */
	enum metric_scope scope;
	enum metric_better better;
	unsigned char precision; /* decimals in tables */
	bool default_on;
	bool inherits; /* what counts for more than a place of `scope` goes to each: a core's to its CPUs */
};

/* All built-in tables; the last has NULL rows. */
struct metric_table {
	const char *name; /* what the table is about: "system", "idle" ... */
	const struct metric *row;
	size_t n;
};
extern const struct metric_table metric_tables[];

/* A set of metrics of a vendor (perf's JSON schema: MetricName, MetricExpr, MetricGroup, ScaleUnit, MetricThreshold,
 * MetricConstraint, ArchStdEvent, BriefDescription ...), from a file or a folder of files. Objects that are no
 * metrics are skipped. A metric that refers to other metrics of the same set is expanded. MetricName is display and
 * alias; `name` is made from it. None is shown by default. A metric whose formula cannot be understood, or that
 * refers to itself, is left out and named in `skipped`, unless it is the only kind there is: then that is the
 * error. */
struct metric_set {
	struct metric *row; /* owned with all strings; ScaleUnit's factor is part of expr */
	size_t n;
	struct buf skipped; /* a line a metric: its name and why */
};
/* 0 or -errno, and then the set is empty; -ENOTSUP in a build without JSON. */
int metric_set_load(struct metric_set *set, const char *path, struct error *e);
/* The same; a folder with a mapfile.csv stands for the one that it names for `cpuid` ("GenuineIntel-6-55-7"; NULL:
 * not known, which is an error there). */
int metric_set_load_for(struct metric_set *set, const char *path, const char *cpuid, struct error *e);
int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e);
struct json;
/* Appends the metrics of a file or a folder to an array of objects in perf's schema, with their descriptions or
 * without; of a file that is for one kind of cores, those of the PMU `pmu` (or NULL). 0 or -errno. */
int metric_files_copy(const char *path, const char *pmu, bool help, struct json *to, struct error *e);
void metric_set_release(struct metric_set *set);
/* What a row of a set owns. */
void metric_row_release(struct metric *row);

#endif
