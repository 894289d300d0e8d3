/* From recordings to numbers: one per run for every metric at every place of the wanted levels. */
#pragma once

#include "common/error.h"
#include "report/diff/diff_data.h"

/*
 * Reads all recordings, several at a time. Counters give ratios of sums, levels their mean over time. `within`: also
 * how the numbers vary within the runs, which takes a second pass. 0 or -errno; release the data in both cases.
 * Damage is noted in the recordings.
 */
int diff_collect(struct diff_data *d, struct diff_recordings *r, struct diff_options *o, bool within,
		 struct error *e);
