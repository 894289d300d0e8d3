/* The metrics after each line: found by stat_shadow.c and stat_metrics.c, computed by stat_behind.c. */
#pragma once

#include "common/metric/shadow.h"
#include "report/stat/stat.h"

#define SHADOW_INPUTS 8 /* of the formula of a struct shadow */

/* A metric that is printed. */
struct shown {
	uint32_t
		event; /* the event with the metric on its line; UINT32_MAX: on a separate line at the end of a row */
	const struct shadow *shadow;       /* NULL: of -M, or a rate */
	const struct bound_metric *metric; /* of a rate: the clock; NULL: its events could not be opened */
	const char *name, *unit;
	uint8_t precision;
	uint32_t *events; /* owned: its events, as places in stat.event */
	uint32_t n_events;
	uint32_t cgroup; /* the cgroup of its events; PM_NONE: any */
	uint32_t turn;   /* it was the n-th to be found */
	const char *pmu; /* the kind of CPUs of its events, where there are several; or NULL */
	char *words;     /* owned: unit and name as printed */
	bool judged;     /* it has a threshold */
	bool of_pmus;    /* computed PMU by PMU */
	bool rate;       /* the count a second of the clock */
	bool fed;        /* of another mode than the engine's: computed of the lines of these events */
	uint32_t feed[SHADOW_INPUTS];
};

struct behind {
	uint32_t event, shown;
};

struct stat_shadow {
	bool asked;          /* the metrics are those of -M, not perf's choice */
	struct shown *shown; /* owned, ordered by event */
	uint32_t n;
	struct behind *behind; /* owned, ordered by event: metrics that may follow its lines */
	uint32_t n_behind;
	uint32_t *first; /* owned: into behind, by event, n_events + 1 of them; then those without */
	uint32_t n_first;
};

/* What the recording says about PMUs, for the functions below. 0 or -ENOMEM. */
int stat_know_pmus(struct stat_sheet *s);
/* NULL: it says nothing. */
const struct pm_pmu *stat_pmu(const struct stat_sheet *s, const char *name);
/* Whether the counter is an event of a PMU that is not the CPUs'. */
bool stat_is_uncore(const struct stat_sheet *s, const struct pm_counter *c);
/* The PMU of a counter, if it counts one of several kinds of CPUs; else NULL. */
const char *stat_core_pmu(const struct stat_sheet *s, const struct pm_counter *c);
/* A new one, or NULL without memory. Earlier ones may have moved. */
struct shown *stat_shown_add(struct stat_shadow *sh);
/* "GHz  cycles_frequency"; NULL without memory. */
char *stat_words_of(const char *unit, const char *name);
/* The printed event with the fewest `uses` (by event), or the first of these; UINT32_MAX: none. */
uint32_t stat_home(const struct stat_sheet *s, const struct shown *x, const uint32_t *uses);
/* The metric of this name in the binding, that of a kind of CPUs if there is one; NULL: none. */
const struct bound_metric *stat_metric_named(const struct stat_sheet *s, const char *name, const char *pmu);
/* Fills in the metric and its events in the cgroup that is in *x. 0 or -ENOMEM. */
int stat_take_metric(struct stat_sheet *s, struct shown *x, const struct bound_metric *m);
/* The metrics that a word of -M names, for every cgroup. 0 or -errno. */
int stat_metrics_add(struct stat_sheet *s, const char *word, struct buf *notes, struct error *e);
