/*
 * What happened in a recording, and when: stretches in which series differ from the rest, slow drifts, CPUs that
 * stand out among their equals, lost ticks and damage. What happens at the same time is one incident.
 *
 *   incident.c        all metrics at all levels, in a bounded number of bins; who was busy, sentences
 *   incident_scan.c   each series against itself, and against its peers; what belongs together
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/json.h"
#include "report/pipeline/pipeline.h"

enum incident_kind {
	INCIDENT_STRETCH, /* a series was different for a while */
	INCIDENT_DRIFT,   /* a series rose or fell throughout */
	INCIDENT_PEER,    /* one among equals differed throughout */
	INCIDENT_LOSS,    /* ticks were lost, or bytes are damaged */
};

/* One series of an incident, which owns its texts. */
struct incident_series {
	uint32_t id; /* of the series in the store */
	const char *metric, *display, *unit;
	const char *label;  /* "CPU 3", "sda"; "" for the system */
	const char *device; /* a name without a number; "" otherwise */
	enum pm_kind kind;
	uint32_t package, cpu; /* PM_NONE: does not apply */
	double usual, value, score;
};

struct incident_task {
	char *name; /* owned: "sh (pid 4711)", "9,120 short-lived cc1 of make" */
	uint64_t pid, ended;
	double cpu, bytes; /* CPU seconds, and bytes read and written, in that time */
	double rss;        /* bytes of memory that it took, if the incident is about that; or 0 */
};

#define INCIDENT_SERIES 100 /* named in an incident; more are counted */
#define INCIDENT_TASKS  5

struct incident {
	enum incident_kind kind;
	double from_s, to_s; /* seconds after the start */
	double score;
	uint32_t times;                 /* of a loss: how many ticks */
	char *text;                     /* owned: the sentence, without the time */
	struct incident_series *series; /* owned; best first */
	uint32_t n_series, n_all;
	struct incident_task task[INCIDENT_TASKS];
	uint32_t n_tasks;
};

struct incidents {
	struct incident *incident; /* owned; best first */
	uint32_t n;
	uint32_t n_scanned;       /* series that were searched */
	int64_t start_wall_ns;    /* 0: not recorded */
	double duration_s, bin_s; /* bin_s: an interval of the recorder */
	struct pipeline_result result;
	struct incident_store *store; /* owned: holds the texts of series */
};

#define INCIDENTS_MOST 50

/* Reads a recording, `path`; errors name it `name`. 0 or -errno with the text in *e; release in both cases. */
int incidents_find(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		   struct error *e);
/* The same beside another sink, which reads `path` with `reader`, every interval, with rates: its plan(), shape(),
 * intervals(), event() and end() call those of *sink. plan() wishes metrics first; more may be shown in these sheets,
 * which shape() gets. incidents_finish() ends it, and does nothing else if `err`, which it returns, says that reading
 * failed. */
int incidents_begin(struct incidents *found, struct sink **sink, struct pm_reader *reader, const char *path,
		    struct error *e);
int incidents_finish(struct incidents *found, struct sink *sink, const char *path, int err, struct error *e);
void incidents_release(struct incidents *found);

/* "+23 s for 5 s", "throughout". */
void incident_put_time(const struct incidents *all, const struct incident *i, struct buf *out);
struct json *incident_json(const struct incidents *all, uint32_t i);
/* Whether series `k` is the first of its metric. */
bool incident_names_first(const struct incident *i, uint32_t k);
