/*
 * Matching events of formulas by what they count, not by how they are written: "cpu/event=0xc0/" and "instructions"
 * may be the same to a PMU. The texts are resolved with the PMUs that the recording describes, never those of the
 * machine that replays it, and compared with the attr words of the recorded events.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/event/event.h"
#include "common/event/vendor_events.h"
#include "format/model.h"

struct meaning {
	const struct pm_model *model;
	struct event_pmu *pmu; /* owned */
	size_t n_pmus;
	bool tried;
};

/* Borrows the model; resolves nothing yet. */
void meaning_init(struct meaning *x, const struct pm_model *m);
void meaning_release(struct meaning *x);
/* Recorded events that the text means: ids into `found` (at most `max`); their number, 0 if the text means nothing
 * there. `events` (NULL: none) adds names of a vendor's files. */
uint32_t meaning_find(struct meaning *x, struct vendor_events *events, const char *text, uint32_t *found,
		      uint32_t max);
/* `bytes` of the recorded perf_event_attr from `at` on as a number; it has the byte order of its machine, and 0 after
 * its end. */
uint64_t meaning_attr(const struct pm_model *m, const struct pm_counter *c, size_t at, size_t bytes);
