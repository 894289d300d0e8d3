/* What the parts of a scan share: figures that a few values do not move, and the list of what was found. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/array.h"
#include "report/incident/incident_scan.h"

/* Puts those below the pivot first, and with `same` those that equal it; returns how many. Without a branch on values,
 * which nobody can foretell. */
static size_t part(double *v, size_t from, size_t to, double pivot, bool same)
{
	size_t below = from;

	for (size_t i = from; i < to; i++) {
		double t = v[i];

		v[i] = v[below];
		v[below] = t;
		below += same ? t <= pivot : t < pivot;
	}
	return below;
}

double scan_kth(double *v, size_t n, size_t k)
{
	size_t from = 0, to = n;

	while (to - from > 1) {
		double a = v[from], b = v[from + (to - from) / 2], c = v[to - 1];
		double pivot = fmax(fmin(a, b), fmin(fmax(a, b), c));
		size_t at = part(v, from, to, pivot, false);

		if (k < at) {
			to = at;
			continue;
		}
		from = part(v, at, to, pivot, true);
		if (k < from || isnan(pivot))
			return pivot;
	}
	return v[k];
}

double scan_median(double *v, size_t n)
{
	double upper = scan_kth(v, n, n / 2);

	return n % 2 ? upper : (upper + scan_kth(v, n, n / 2 - 1)) / 2;
}

double scan_spread(double *work, const double *v, uint32_t n, double *level)
{
	memcpy(work, v, n * sizeof(*work));
	*level = scan_median(work, n);
	for (uint32_t i = 0; i < n; i++)
		work[i] = fabs(v[i] - *level);
	return scan_median(work, n) / 0.6745;
}

void scan_report(struct scan *x, struct finding f)
{
	if (array_room(&x->out->f, x->out->n, sizeof(f)))
		x->err = -ENOMEM;
	else
		x->out->f[x->out->n++] = f;
}
