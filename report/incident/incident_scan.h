/* The series of a recording, and what is found in them. */
#pragma once

#include "common/memory.h"
#include "common/metric/metric.h"
#include "report/incident/incident.h"
#include "report/pipeline/bins.h"

struct incident_metric {
	const char *name, *display, *unit; /* of the one in `about` */
	bool amount;                       /* grows with time: divided by it */
	bool counts;                       /* counts single occurrences, so few are few */
	enum metric_fault fault;
};
struct incident_row {
	uint32_t *series, room; /* owned: by metric, the place of its series, from 1 on */
};
struct incident_row_series {
	uint32_t metric, row;
	float *v;             /* owned; one a bin; NaN: none */
	double usual;         /* once it was scanned: its level; NaN: it has no value */
	double sum, weight;   /* of values by their seconds, in `bin` */
	uint32_t bin, layout; /* layout: in which it was laid out last */
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
	struct bins about;              /* metrics and rows; without bins */
	struct incident_metric *metric; /* owned, as all below; the same metrics and rows again */
	struct incident_row *row;
	struct incident_row_series *series;
	struct incident_loss *loss;
	struct incident_start *start; /* by recording */
	double *from_s, *to_s;        /* by bin */
	uint32_t n_metrics, n_rows, n_series, n_losses, recordings;
	uint32_t bins, used; /* bins there is room for; and those that are filled */
	uint32_t per_bin;    /* intervals of the recorder that one bin joins */
	double bin_s;        /* mean length of a bin */
	bool tasks;          /* they were recorded */
};

/* Finds incidents, best first. Their series have no order yet, and they have no tasks and sentences.
 * What recurs in series loses its values. */
void scan_all(struct incident_store *s, struct incidents *out);

/* The least change of a metric that matters, in its unit; 0: any. */
double incident_least(const char *metric);
