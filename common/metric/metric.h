/*
 * Definitions of metrics: rows of C tables, or objects of a vendor's JSON file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/error.h"

enum metric_better { METRIC_NEUTRAL, METRIC_HIGHER, METRIC_LOWER };

/* What there should be none of. */
enum metric_fault {
	METRIC_NO_FAULT,
	METRIC_FAULT, /* lost packets, pages swapped out: one or two are no news */
	METRIC_GRAVE, /* throttling, a kill for want of memory: one is */
};

/* The lowest level at which the metric is meaningful. */
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
 * One metric. If `each` names a family of counters ("cpuidle.time"), the row means one metric for each member: every
 * '*' is replaced by the member's name in `display` and `help`, by its lower-case form in `name`, and in `expr` by
 * what follows the last dot of the counter's name. Behind a blank, a '*' in `expr` multiplies.
 */
struct metric {
	const char *name;       /* stable id, [a-z0-9_.]+; unique */
	const char *display;    /* column head in tables */
	const char *aliases;    /* other names that --show takes, separated by commas; or NULL */
	const char *categories; /* separated by commas: "idle,sysfs"; or NULL */
	const char *each;       /* counter family, or NULL */
	const char *unit;       /* UCUM: "%", "MHz", "W", "1/s", "Cel" */
	const char *expr;
	const char *otherwise; /* formulas for recordings that lack inputs of expr, tried in turn; separated by ';' */
	const char *of;        /* metric without which the formula is not read at all; or NULL */
	const char *requests;  /* of a mean: the metric that says of how many; or NULL */
	const char *when;      /* literal without '#'; the metric is hidden by default where it is 0; or NULL */
	const char *help;      /* one sentence */
	const char *threshold; /* expression like `expr`; non-zero is bad; or NULL */
	const char *threshold_otherwise; /* for recordings that lack its inputs, like `otherwise` */
	const char *ungrouped_in;        /* categories by which its events are not grouped; or NULL */
	const char *board; /* "arm_cmn=434.*": the PMU that it is about, and what that calls itself; or NULL */
	enum metric_grouping grouping;
	double margin; /* smallest relative change that matters to `diff`; 0: the default, 0.02 */
	enum metric_scope scope;
	enum metric_better better;
	enum metric_fault fault;
	unsigned char precision; /* decimals in tables */
	bool default_on;
	bool estimate; /* no measurement: its values say so */
	bool share; /* of the time, as any with percent(): above 100 it was booked late, or read at several moments */
	bool inherits; /* a counter of a larger place goes to each place of `scope`: a core's to its CPUs */
};

/* All built-in tables; the last has NULL rows. */
struct metric_table {
	const char *name; /* what the table is about: "system", "idle" ... */
	const struct metric *row;
	size_t n;
};
extern const struct metric_table metric_tables[];

/* The stable id [a-z0-9_.]+ that a name becomes, allocated. */
char *metric_id(const char *name);

/* A vendor's metrics (perf's JSON schema: MetricName, MetricExpr, MetricGroup, ScaleUnit, MetricThreshold,
 * MetricConstraint, ArchStdEvent, BriefDescription ...), from a file or a folder of files. Other objects are ignored.
 * References to metrics of the same set are expanded. MetricName becomes display and alias, and `name` is made from
 * it. None is shown by default. `skipped` names metrics with an invalid formula, or that refer to themselves; if
 * there are no others, that is the error. */
struct metric_set {
	struct metric *row; /* owned with all strings; ScaleUnit's factor is part of expr */
	size_t n;
	struct buf skipped; /* lines with a metric's name and the reason */
};
/* 0, or -errno with an empty set; -ENOTSUP in a build without JSON. A folder with a mapfile.csv stands for the folder
 * that it names for `cpuid` ("GenuineIntel-6-55-7"); there, NULL for an unknown CPU is an error. */
int metric_set_load(struct metric_set *set, const char *path, const char *cpuid, struct error *e);
int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e);
void metric_set_release(struct metric_set *set);
/* Frees what a row of a set owns. */
void metric_row_release(struct metric *row);
