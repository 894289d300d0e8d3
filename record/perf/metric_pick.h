/* Which metrics -M means, for perf_metrics.c, which opens their events; nobody else includes this. */
#ifndef RECORD_METRIC_PICK_H
#define RECORD_METRIC_PICK_H

#include "common/metric/metric.h"
#include "record/perf/perf_source.h"

/* An event of a metric. */
struct want {
	char *text; /* owned */
	char *pmu;  /* owned; of the first event that it stands for */
	bool done;
};

struct picked {
	const struct metric *row;
	char *word; /* owned; of -M, and whether it named a group of metrics */
	bool by_group;
	bool vendor;
	bool ungrouped;
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
	struct event_set scratch;
};

/* Loads the files of --metrics-file; metrics that had to be left out become notes. 0 or -errno with *m->error. */
int metric_sets_load(struct metrics *m);
/* Fills m->picked with what the texts of -M name; -ENOENT names what comes near. */
int metrics_pick(struct metrics *m);
/* Whether a comma separated list has the word, in capitals or not. */
bool metric_in_list(const char *list, const char *word);
/* -ENOMEM, with the text in *m->error. */
int metrics_no_memory(struct metrics *m);

#endif
