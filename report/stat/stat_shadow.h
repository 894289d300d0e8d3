/* The metrics after each line: found by stat_shadow.c and stat_metrics.c, computed by stat_behind.c. */
#pragma once

#include "common/metric/shadow.h"
#include "report/stat/stat.h"

/* A metric of perf's Default group, in its newer versions. */
struct named {
	const char *event;  /* the event with the metric on its line */
	const char *metric; /* the row in the metric tables */
	const char *label;  /* perf's name */
	const char *unit;
	double factor; /* from our unit to perf's */
	double bad;    /* bound from which perf calls it bad, in perf's unit; 0: none */
	bool below;    /* bad is below the bound, not above */
};
extern const struct named stat_named[];
extern const size_t stat_named_n;

#define SHADOW_INPUTS 8 /* of the formula of a struct shadow */

/* A metric that is printed. */
struct shown {
	uint32_t
		event; /* the event with the metric on its line; UINT32_MAX: on a separate line at the end of a row */
	uint32_t place;              /* index among the lines of that event */
	const struct shadow *shadow; /* one of these two, or neither for -M */
	const struct named *named;
	const struct bound_metric *metric; /* of a rate: the clock; NULL: its events could not be opened */
	const char *name, *unit;
	uint8_t precision;
	uint32_t *events; /* owned: its events, as places in stat.event */
	uint32_t n_events;
	uint32_t cgroup; /* the cgroup of its events; PM_NONE: any */
	char *group;     /* owned: perf prints it below this head, without its events; or NULL */
	uint32_t head;   /* the event with the times of that head */
	uint64_t rank;   /* of that event */
	int turn;        /* its place among metrics of slots as perf 7 has them; 0: by name */
	uint8_t part;    /* stat_metric.part */
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
/* The metrics that a word of -M names, for every cgroup; `in_default`: as perf's Default group. 0 or -errno. */
int stat_metrics_add(struct stat_sheet *s, const char *word, bool in_default, struct buf *notes, struct error *e);
