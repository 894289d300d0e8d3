/*
 * How much each metric varies from run to run, in a file, for comparisons of few runs. JSON: "pmrep_noise"
 * is the version, "metrics" an array of objects with "metric", "unit", "place", "relative_sd" and "df", the degrees
 * of freedom that the deviation was estimated with.
 */
#pragma once

#include "common/error.h"
#include "report/diff/diff.h"

struct diff_noise {
	struct json *file; /* owned; NULL: none */
};

int diff_noise_load(struct diff_noise *n, const char *path, struct error *e);
void diff_noise_release(struct diff_noise *n);
/*
 * The relative deviation of the metric from run to run, to be taken as known: an estimate from few runs is enlarged
 * by Student's distribution. NaN: not in the file.
 */
double diff_noise_of(const struct diff_noise *n, const struct diff_series *s);
/* Writes the deviations within both sides, pooled, to o->save_noise. -ENODATA if no side has two runs. */
int diff_noise_save(const struct diff_data *d, const struct diff_recordings *r, const struct diff_options *o,
		    struct error *e);
