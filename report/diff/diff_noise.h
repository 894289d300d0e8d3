/*
 * How much a metric varies from run to run, kept in a file: what a comparison of few runs lacks. JSON: "pmrep_noise"
 * is the version, "metrics" an array of objects with "metric", "unit", "place", "relative_sd" and "df", the degrees
 * of freedom that the deviation was estimated with.
 */
#ifndef REPORT_DIFF_NOISE_H
#define REPORT_DIFF_NOISE_H

#include "common/error.h"
#include "report/diff/diff.h"

struct diff_noise {
	struct json *file; /* owned; NULL: none */
};

int diff_noise_load(struct diff_noise *n, const char *path, struct error *e);
void diff_noise_release(struct diff_noise *n);
/*
 * Relative deviation from run to run of the metric as if it were known for certain: one that was estimated from few
 * runs is made larger by what Student's distribution asks for. NaN: not in the file.
 */
double diff_noise_of(const struct diff_noise *n, const struct diff_series *s);
/* Writes to o->save_noise what the runs of both sides say, pooled within the sides. -ENODATA if no side has two. */
int diff_noise_save(const struct diff_data *d, const struct diff_recordings *r, const struct diff_options *o,
		    struct error *e);

#endif
