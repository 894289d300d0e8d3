/* What recording has cost the machine, for the recording to say. */
#ifndef RECORD_COST_H
#define RECORD_COST_H

#include <stdint.h>

#include "record/plan/plan.h"
#include "record/sample/recording.h"

struct cost {
	uint64_t waited_ns; /* its threads, while they could have run */
	uint64_t reader_ns; /* of that, the readers */
};

/* Adds what the threads that are there now have waited; before they end. */
void cost_add_threads(struct cost *c);
/* One-time values pmrec.cost.*, with the model locked. 0 or -errno. */
int cost_record(const struct cost *c, struct plan *p, struct recording *r, uint64_t dropped);

#endif
