/* Between the parts of report/incident. */
#pragma once

#include "common/memory.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "report/incident/incident.h"

struct incident_metric {
	char *name; /* owned, and so are the next, which are in it */
	const char *display, *unit;
	bool amount; /* grows with time: divided by it */
	bool counts; /* counts single occurrences, so few are few */
	enum metric_fault fault;
};
struct incident_row {
	char *label; /* owned: "CPU 3"; "" for the system */
	enum pm_kind kind;
	uint32_t package, cpu;
	uint32_t *series, room; /* owned: by metric, the place of its series, from 1 on */
};
struct incident_row_series {
	uint32_t metric, row;
	float *v;     /* owned; one a bin; NaN: none */
	double usual; /* once it was scanned: its level; NaN: it has no value */
};

/* A time that is lost, from an event or damage. */
struct incident_loss {
	double from_s, to_s;
	uint64_t ticks;
	char *text; /* owned */
};

/* One of the recordings of a file: its first interval, on our clock and its own. */
struct incident_start {
	double at_s;
	uint64_t origin_ns;
};

/* Everything that was collected, in memory that does not grow with the recording. */
struct incident_store {
	struct incident_metric *metric; /* owned, as all below */
	struct incident_row *row;
	struct incident_row_series *series;
	struct incident_loss *loss;
	struct incident_start *start; /* by recording */
	double *from_s, *to_s;        /* by bin */
	uint32_t n_metrics, n_rows, n_series, n_losses, recordings;
	uint32_t bins, used; /* bins there is room for; and those that are filled */
	uint32_t per_bin;    /* intervals of the recorder that are one bin */
	struct names metrics, rows;
	double bin_s; /* mean length of a bin */
	bool joined;  /* a bin is more than one interval of the recorder */
	bool tasks;   /* they were recorded */
};
void store_release(struct incident_store *s);
/* Makes room for more bins. */
void store_bins(struct incident_store *s, uint32_t bins);
/* The place of a series, added if new; PM_NONE: there is no room. */
uint32_t store_series(struct incident_store *s, uint32_t metric, uint32_t row);
/* Reads the recording. `only`: the incident whose metrics are read, interval by interval; NULL: all. */
int store_collect(struct incident_store *s, struct incidents *found, const char *path, const char *name,
		  const struct pipeline_config *config, const struct incident *only, struct error *e);
/* The same beside another sink: see incidents_begin(). */
int store_begin(struct incident_store *s, struct sink **sink, struct pm_reader *reader, const char *path,
		struct error *e);
void store_end(struct sink *sink, struct incidents *found);
/* Reads the time of an incident again, interval by interval, for its exact beginning and end. */
int store_refine(const struct incident_store *whole, struct incident *i, const char *path,
		 const struct pipeline_config *config, struct error *e);

/* Something about a series. */
struct finding {
	uint32_t series;
	enum incident_kind kind;
	uint32_t from, to; /* bins [from, to) */
	float score;       /* how far beyond what chance and the series do elsewhere; 1: just */
	float usual, value;
	float period; /* bins, of a rhythm */
	float recurs; /* times at irregular distances, by their size; INFINITY: it is usual */
};
struct findings {
	struct finding *f; /* owned */
	uint32_t n;
};
void scan_all(struct incident_store *s, struct findings *out);
/* Joins what happens at one time into one incident; best first. */
void merge_all(struct incident_store *s, struct findings *f, struct incidents *out);
#define INCIDENTS_REFINED 5
#define SCORE_LEAST       0.8 /* of an incident that is worth a line */
/* The tasks of the first incidents. */
int find_tasks(struct incidents *found, const char *path, struct error *e);
/* Whether people have a word for a counter. */
bool say_knows(const char *metric);
/* The least change of a metric that matters, in its unit; 0: any. */
double say_least(const char *metric);
/* Puts what people know by name first. */
void say_order(struct incident *i);
/* The sentence. */
void say(const struct incidents *all, struct incident *i);

/* The run of values with the largest sum, fed value by value; to 0: none is above 0. */
struct best_run {
	double sum, best;
	uint32_t start, from, to;
};

static inline void best_run_add(struct best_run *r, uint32_t i, double excess)
{
	r->sum += excess;
	if (r->sum <= 0) {
		r->sum = 0;
		r->start = i + 1;
	} else if (r->sum > r->best) {
		r->best = r->sum;
		r->from = r->start;
		r->to = i + 1;
	}
}
