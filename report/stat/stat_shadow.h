/* The metrics after each line: found by stat_shadow.c and stat_metrics.c, computed by stat_behind.c. */
#pragma once

#include "common/metric/shadow.h"
#include "report/stat/stat.h"

/* A metric of perf's Default group, as its newer versions have it. */
struct named {
	const char *event;  /* whose line has it */
	const char *metric; /* the row of our tables */
	const char *label;  /* perf's name */
	const char *unit;
	double factor; /* from our unit to perf's */
	double bad;    /* from where on perf calls it bad, in perf's unit; 0: nowhere */
	bool below;    /* what is below the bound is bad, not what is above */
};
extern const struct named stat_named[];
extern const size_t stat_named_n;

/* A metric that is printed. */
struct shown {
	uint32_t event; /* whose line it stands behind; UINT32_MAX: a line of its own at the end of a row */
	uint32_t place; /* of that event among the lines */
	const struct shadow *shadow; /* one of these two, or neither for -M */
	const struct named *named;
	const struct bound_metric *metric; /* of a rate: the clock; NULL: its events could not be opened */
	const char *name, *unit;
	uint8_t precision;
	uint32_t *events; /* owned: places in stat.event of what it consists of */
	uint32_t n_events;
	uint32_t cgroup; /* whose events it consists of; PM_NONE: wherever they were counted */
	char *group;     /* owned: perf prints it below this head, and the events that it consists of not; or NULL */
	uint32_t head;   /* the event whose times that head gives */
	uint64_t rank;   /* of that event */
	const char *pmu; /* the only kind of CPUs whose events it consists of, where there are several; or NULL */
	char *words;     /* owned: unit and name as they are printed */
	bool judged;     /* it has a threshold */
	bool of_pmus;    /* it computes PMU by PMU */
	bool rate;       /* the count a second of the clock */
};

struct behind {
	uint32_t event, shown;
};

struct stat_shadow {
	bool asked;          /* the metrics are those of -M, and no choice of perf's own */
	struct shown *shown; /* owned, ordered by event */
	uint32_t n;
	struct behind *behind; /* owned, ordered by event: which metrics may stand after its lines */
	uint32_t n_behind;
	uint32_t *first; /* owned: into behind, by event, n_events + 1 of them; then those without */
	uint32_t n_first;
};

/* The PMU of a counter if it counts one kind of CPUs of those that there may be; else NULL. */
const char *stat_core_pmu(const struct pm_model *m, const struct pm_counter *c);
/* A new one, or NULL without memory. Those before may have moved. */
struct shown *stat_shown_add(struct stat_shadow *sh);
/* "GHz  cycles_frequency"; NULL without memory. */
char *stat_words_of(const char *unit, const char *name);
/* Of the events that are printed the one with the fewest `uses` (by event), or the first of these; UINT32_MAX: none. */
uint32_t stat_home(const struct stat_sheet *s, const struct shown *x, const uint32_t *uses);
/* The metric of the binding that has the name, that of a kind of CPUs if there is one; NULL: none has. */
const struct bound_metric *stat_metric_named(const struct stat_sheet *s, const char *name, const char *pmu);
/* Fills in the metric and its events in the cgroup that is in *x. 0 or -ENOMEM. */
int stat_take_metric(struct stat_sheet *s, struct shown *x, const struct bound_metric *m);
/* The metrics that a word of -M names, for every cgroup; `in_default`: as perf's Default group. 0 or -errno. */
int stat_metrics_add(struct stat_sheet *s, const char *word, bool in_default, struct buf *notes, struct error *e);
