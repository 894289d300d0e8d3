/* A line in a table that shows how a metric went. */
#include <math.h>

#include "report/html.h"

#define SPARK_X 120 /* of its box */
#define SPARK_Y 28
#define SPARK_POINTS 60

/* Means over time, in at most SPARK_POINTS columns; a gap stays one. */
static void put_spark_line(const struct html_set *set, const struct html_series *s, double low, double high,
			   double seconds, size_t which, struct buf *out)
{
	uint32_t every = (set->used + SPARK_POINTS - 1) / SPARK_POINTS, used = set->used;
	double part = seconds > 0 ? SPARK_X / seconds * set->width_s : 1;
	bool pen = false;

	buf_printf(out, "<path class=\"line s%zu\" d=\"", which);
	for (uint32_t i = 0; i < used; i += every) {
		uint32_t end = i + every < used ? i + every : used;
		double sum = 0, weight = 0, y;

		for (uint32_t k = i; k < end; k++) {
			sum += (double)s->bucket[k].sum;
			weight += (double)s->bucket[k].weight;
		}
		if (weight <= 0) {
			pen = false;
			continue;
		}
		/* Sums of floats may lie a little beyond the values that they are of. */
		y = high - low > 1e-6 * fabs(high) ? fmin(fmax((high - sum / weight) / (high - low), 0), 1) : .5;
		buf_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M', (i + end) / 2.0 * part, 2 + y * (SPARK_Y - 4));
		/* A point alone is a dash that can be seen. */
		if (!pen)
			buf_addstr(out, "h.1");
		pen = true;
	}
	buf_addstr(out, "\"/>");
}

void html_put_spark(const struct html_recording *r, const struct html_series *const *series, size_t n,
		    struct buf *out)
{
	double low = (double)INFINITY, high = -(double)INFINITY, seconds = 0;

	for (size_t i = 0; i < n; i++) {
		if (!series[i] || !series[i]->bucket)
			continue;
		low = fmin(low, series[i]->low);
		high = fmax(high, series[i]->high);
		seconds = fmax(seconds, r[i].duration_s);
	}
	if (low >= 0 && low < high / 2)
		low = 0;
	buf_printf(out, "<svg class=spark viewBox=\"0 0 %d %d\" preserveAspectRatio=none aria-hidden=true>", SPARK_X,
		   SPARK_Y);
	for (size_t i = 0; i < n; i++)
		if (series[i] && series[i]->bucket)
			put_spark_line(&r[i].near, series[i], low, high, seconds, i, out);
	buf_addstr(out, "</svg>");
}
