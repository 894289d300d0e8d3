/* What the parts of a scan share: figures that resist outliers, and the list of findings. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/statistics.h"
#include "report/incident/incident_scan.h"

#define NORMAL_MEDIAN 0.6745 /* of a normal distribution's deviations, in spreads */

double scan_spread(double *work, const double *v, uint32_t n, double *level)
{
	return scan_spread_above(work, v, n, -1, level);
}

double scan_spread_above(double *work, const double *v, uint32_t n, double least, double *level)
{
	/* Rounding must not decide. */
	double limit = least * NORMAL_MEDIAN * (1 - 1e-12);
	uint32_t within = 0;

	memmove(work, v, n * sizeof(*work));
	*level = statistics_median(work, n);
	for (uint32_t i = 0; i < n; i++) {
		work[i] = fabs(v[i] - *level);
		within += work[i] <= limit;
	}
	/* To count them costs far less than to find the median. */
	return within > n / 2 ? 0 : statistics_median(work, n) / NORMAL_MEDIAN;
}

uint32_t scan_apart(struct scan *x, const struct peak *block, uint32_t l, uint32_t reach, struct peak *out,
		    uint32_t most)
{
	struct peak top[4 * PEAKS];
	uint32_t n = blocks_of(x, l), want = 4 * most, some = 0, found = 0;
	double least = 0;

	if (n > want) {
		for (uint32_t i = 0; i < n; i++)
			x->work[i] = (double)block[i].size;
		least = statistics_kth(x->work, n, n - want);
	}
	/* If values are few and small, many equal the least one. */
	for (int ties = 0; ties < 2; ties++)
		for (uint32_t i = 0; i < n && some < want; i++)
			if (ties ? (double)block[i].size == least && least > 0 : (double)block[i].size > least)
				top[some++] = block[i];
	reach += 2 * scan_length[l];
	for (; some && found < most; found++) {
		uint32_t left = 0;

		/* Of equal ones the first. */
		out[found] = top[0];
		for (uint32_t i = 1; i < some; i++)
			if (top[i].size > out[found].size)
				out[found] = top[i];
		for (uint32_t i = 0; i < some; i++) {
			struct peak p = top[i];

			top[left] = p;
			left += p.from >= out[found].from + reach || out[found].from >= p.from + reach;
		}
		some = left;
	}
	return found;
}

void scan_report(struct scan *x, struct finding f)
{
	if (array_room(&x->out->f, x->out->n, sizeof(f)))
		x->err = -ENOMEM;
	else
		x->out->f[x->out->n++] = f;
}
