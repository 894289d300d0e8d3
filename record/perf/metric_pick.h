/* What the files of -M share: which metrics it means, and which of their events are counted together. */
#pragma once

#include "common/metric/metric.h"
#include "record/perf/perf_source.h"

/* An event of a metric. */
struct want {
	char *text;           /* owned */
	struct event_set set; /* owned; its events, at least one */
	bool extra;           /* requested by the threshold alone */
	bool done;            /* it is in a group */
	bool alone;           /* it fits into none */
};

struct picked {
	const struct metric *row;
	char *word; /* owned; of -M, and whether it named a group of metrics */
	bool by_group;
	bool vendor;
	bool ungrouped;
	bool parted;       /* its events had no room in one group */
	bool extra;        /* while events of the threshold are added */
	struct want *want; /* owned */
	size_t n;
};

struct metrics {
	struct perf_source *s;
	struct plan *p;
	struct error *error;
	struct metric_set *set; /* owned; of --metrics-file */
	size_t n_sets;
	struct picked *picked; /* owned */
	size_t n;
	bool watchdog, smt;
	unsigned chips, cores; /* values of '?' in metrics of packages, and in all others */
};

/* Loads the files of --metrics-file; metrics that had to be left out become notes. 0 or -errno with *m->error. */
int metric_sets_load(struct metrics *m);
/* Fills m->picked with what the texts of -M name; the text of -ENOENT names the nearest. */
int metrics_pick(struct metrics *m);
/* Opens a text, and notes what formulas call its events. 0 or -errno with *m->error. */
int metrics_open(struct metrics *m, const char *text);
/* Opens what is to be counted together (metric_groups.c), and marks it done. 0 or -errno with *m->error. */
int metric_groups_open(struct metrics *m);
/* Whether a comma separated list has the word, in capitals or not. */
bool metric_in_list(const char *list, const char *word);
/* -ENOMEM, with the text in *m->error. */
int metrics_no_memory(struct metrics *m);
