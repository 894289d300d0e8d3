/* A sparkline in a table. */
#include <math.h>

#include "report/html/html.h"

#define SPARK_X      120 /* of its box */
#define SPARK_Y      28
#define SPARK_POINTS 60

/* The box that a line is drawn in: from the lowest to the highest value, and so many seconds wide. */
struct box {
	double low, high, seconds;
};

static double place_of(const struct box *b, double v)
{
	return 2 + (1 - spark_share(v, b->low, b->high)) * (SPARK_Y - 4);
}

/* Some buckets as one. */
static struct spark_bin column(const struct html_series *s, uint32_t from, uint32_t end)
{
	struct spark_bin all = { 0 };

	for (uint32_t k = from; k < end; k++)
		spark_join(&all, &s->bucket[k]);
	return all;
}

/* Means over time, in at most SPARK_POINTS columns, with gaps; then the range of the values, without which a short
 * peak would be invisible. */
static void put_line(const struct html_set *set, const struct html_series *s, const struct box *box, size_t which,
		     struct buf *out)
{
	uint32_t every = (set->used + SPARK_POINTS - 1) / SPARK_POINTS;
	double part = box->seconds > 0 ? SPARK_X / box->seconds * set->width_s : 1;
	SCOPED(buf_release) struct buf reach = BUF_INIT;
	bool pen = false;

	buf_printf(out, "<path class=\"line s%zu\" d=\"", which);
	for (uint32_t i = 0; i < set->used; i += every) {
		uint32_t end = i + every < set->used ? i + every : set->used;
		struct spark_bin b = column(s, i, end);
		double x = (i + end) / 2.0 * part, top = place_of(box, (double)b.high);
		double bottom = place_of(box, (double)b.low);

		if (b.weight <= 0) {
			pen = false;
			continue;
		}
		buf_printf(out, "%c%.1f %.1f", pen ? 'L' : 'M', x, place_of(box, (double)b.sum / (double)b.weight));
		/* A single point becomes a visible dash. */
		if (!pen)
			buf_addstr(out, "h.1");
		if (bottom - top > 1)
			buf_printf(&reach, "M%.1f %.1fV%.1f", x, top, bottom);
		pen = true;
	}
	buf_addstr(out, "\"/>");
	if (reach.len)
		buf_printf(out, "<path class=\"reach s%zu\" d=\"%s\"/>", which, buf_str(&reach));
	buf_carry(out, &reach);
}

void html_put_spark(const struct html_recording *r, const struct html_series *const *series, size_t n,
		    struct buf *out)
{
	struct box box = { .low = (double)INFINITY, .high = -(double)INFINITY };

	for (size_t i = 0; i < n; i++) {
		if (!series[i] || !series[i]->bucket)
			continue;
		box.low = fmin(box.low, series[i]->low);
		box.high = fmax(box.high, series[i]->high);
		box.seconds = fmax(box.seconds, r[i].duration_s);
	}
	if (box.low >= 0 && box.low < box.high / 2)
		box.low = 0;
	buf_printf(out, "<svg class=spark viewBox=\"0 0 %d %d\" preserveAspectRatio=none aria-hidden=true>", SPARK_X,
		   SPARK_Y);
	for (size_t i = 0; i < n; i++)
		if (series[i] && series[i]->bucket)
			put_line(&r[i].near, series[i], &box, i, out);
	buf_addstr(out, "</svg>");
}
