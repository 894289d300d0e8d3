/* The cost of recording, for the recording. */
#pragma once

#include "record/sources/textfile.h"
#include "record/sample/recording.h"
#include "record/sample/sampler.h"

struct cost {
	uint64_t begin_ns;  /* all is counted from then on, CLOCK_MONOTONIC */
	uint64_t waited_ns; /* its threads, while runnable */
	uint64_t reader_ns; /* of that, the readers */
	struct sampler_delay delay;
	/* Time stolen by the host: the most from one CPU, while this many ticks were lost. */
	uint64_t stolen_ns, stolen_ticks;
	uint64_t spare_ns; /* at the last look, for ticks found lost later */
	uint64_t lost, look_ns;
	struct textfile stat; /* data NULL: not begun */
	uint64_t *stolen;     /* owned; by CPU, as the kernel has it */
	uint32_t n_stolen;
	uint64_t throttled_ns; /* by quotas, when it began */
	bool may_steal;        /* the host has ever taken time */
};

/* Begins to watch stolen time for cost_look(); without the file it has no effect. */
void cost_begin(struct cost *c, const struct root *r);
void cost_release(struct cost *c);
/* Call it every second or every few, and at the end, with the number of ticks lost so far. */
void cost_look(struct cost *c, uint64_t lost, uint64_t interval_ns);

/* Adds how long the current threads have waited, and what delayed the readers; call it before they end. */
void cost_add_threads(struct cost *c, const struct sampler *s);
/* One-time values pmrec.cost.*, with the model locked. */
void cost_record(const struct cost *c, struct plan *p, struct recording *r, uint64_t dropped);
