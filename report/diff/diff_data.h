/* The series of a comparison while they are gathered. Not for several threads at once. */
#pragma once

#include "report/diff/diff.h"

void diff_data_release(struct diff_data *d);
/* The index of the series with the metric, unit and place of `as`, of which it adds a copy if new; -ENOMEM. */
int64_t diff_series_find(struct diff_data *d, const struct diff_series *as);
/* The value of the run, added if new; valid until another is added. NULL without memory. */
struct diff_value *diff_series_value(struct diff_series *s, uint32_t recording, uint32_t run);
/* Time and memory of the commands, as far as the options choose them. 0 or -ENOMEM. */
int diff_add_command(struct diff_data *d, struct diff_recordings *all, struct diff_options *o);
/* Sorts what threads have found in any order. */
void diff_data_sort(struct diff_data *d);
