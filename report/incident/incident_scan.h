/* One series at hand, for incident_scan.c and incident_level.c. */
#ifndef REPORT_INCIDENT_SCAN_H
#define REPORT_INCIDENT_SCAN_H

#include "report/incident/incident_private.h"

#define VALUES_LEAST 8
#define LENGTHS      16
#define BULK         4.0 /* spreads from the median: what lies farther away says nothing of the rest */

struct scan {
	struct incident_store *s;
	struct findings *out;
	double limit;               /* of standard errors, that chance does not reach */
	double *y, *z, *work, *raw; /* by value */
	double *sum;                /* z up to there */
	uint32_t *bin;              /* of value */
	bool *used;                 /* in a stretch already */
	double worth[LENGTHS]; /* by length: how much wider means of so many are than those of independent values */
	uint32_t n;
	int err;
};
extern const uint32_t scan_length[LENGTHS];

/* Of n values, which are reordered. */
double scan_median(double *v, size_t n);
/* The smallest step of a series that has few values; 0: it has many. */
double scan_step(const double *v, uint32_t n);
/* Level and spread of the values that are in no stretch; NaN: there are too few. Begins with medians, because those stay
 * as they are whatever a few values do, and ends with mean and deviation of what lies within `bulk` spreads, because sums
 * are compared with them. */
double scan_level(struct scan *x, const struct incident_metric *m, double step, double bulk, double *spread);
/* Values that resemble those before them make means that scatter more: seen from the means of parts. */
void scan_worth(struct scan *x);
double scan_worth_of(const struct scan *x, uint32_t n);
/* How much a value is like the one before, 0 to 1. */
double scan_resemblance(const struct scan *x);
void scan_report(struct scan *x, struct finding f);
/* A series that goes one way all the time is reported, and left with what it does beside that. */
bool scan_drift(struct scan *x, uint32_t series, const struct incident_metric *m, double step);
/* What comes again and again at a fixed distance is usual: each value less the median of those one and two periods away,
 * which one incident does not move. False: there is no period, or it explains little. */
bool scan_fold(struct scan *x, double level, double spread);
/* What rises and falls slowly: each value less the median of those around it. */
bool scan_smooth(struct scan *x, double level);

#endif
