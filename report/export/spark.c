#include "report/export/spark.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define WIDTH_FIRST_NS 1000
#define SPAN_LEAST     0.1 /* of the size of values, from bottom to top */

void spark_init(struct spark_set *s, uint32_t bins)
{
	*s = (struct spark_set){ .bins = bins, .width_ns = WIDTH_FIRST_NS };
}

void spark_release(struct spark_set *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->series[i]);
	free(s->series);
	*s = (struct spark_set){ 0 };
}

int64_t spark_add(struct spark_set *s)
{
	struct spark_bin *bin;

	if (array_room(&s->series, s->n, sizeof(*s->series)))
		return -ENOMEM;
	bin = calloc(s->bins, sizeof(*bin));
	if (!bin)
		return -ENOMEM;
	s->series[s->n] = bin;
	return (int64_t)s->n++;
}

static void fold(struct spark_set *s)
{
	uint32_t half = s->bins / 2;

	for (size_t i = 0; i < s->n; i++) {
		struct spark_bin *b = s->series[i];

		for (uint32_t k = 0; k < half; k++) {
			struct spark_bin both = b[2 * k];

			spark_join(&both, &b[2 * k + 1]);
			b[k] = both;
		}
		memset(b + half, 0, half * sizeof(*b));
	}
	s->width_ns *= 2;
}

static uint64_t bins_for(const struct spark_set *s, uint64_t ns)
{
	return ns / s->width_ns + (ns % s->width_ns != 0);
}

void spark_reach(struct spark_set *s, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t earlier, shift;

	if (!s->to_ns)
		s->from_ns = s->to_ns = from_ns;
	if (to_ns > s->to_ns)
		s->to_ns = to_ns;
	earlier = from_ns < s->from_ns ? s->from_ns - from_ns : 0;
	while (bins_for(s, earlier) + bins_for(s, s->to_ns - s->from_ns) > s->bins)
		fold(s);
	shift = bins_for(s, earlier);
	if (!shift || shift * s->width_ns > s->from_ns)
		return;
	s->from_ns -= shift * s->width_ns;
	for (size_t i = 0; i < s->n; i++) {
		memmove(s->series[i] + shift, s->series[i], (s->bins - shift) * sizeof(**s->series));
		memset(s->series[i], 0, shift * sizeof(**s->series));
	}
}

void spark_take(struct spark_set *s, size_t series, uint64_t from_ns, uint64_t to_ns, double v)
{
	uint64_t first, last;

	if (!isfinite(v) || from_ns < s->from_ns || to_ns > s->to_ns)
		return;
	first = (from_ns - s->from_ns) / s->width_ns;
	last = (to_ns - s->from_ns + s->width_ns - 1) / s->width_ns;
	if (first >= s->bins)
		first = s->bins - 1;
	if (last <= first)
		last = first + 1;
	for (uint64_t i = first; i < last; i++) {
		uint64_t begin = s->from_ns + i * s->width_ns, end = begin + s->width_ns;
		float seconds;

		begin = begin > from_ns ? begin : from_ns;
		end = end < to_ns ? end : to_ns;
		/* An instant without duration counts, too. */
		seconds = end > begin ? (float)(end - begin) / 1e9f : 1e-9f;
		spark_join(&s->series[series][i],
			   &(struct spark_bin){ (float)v, (float)v, (float)v * seconds, seconds });
	}
}

bool spark_column(const struct spark_set *s, size_t series, uint32_t at, uint32_t columns, struct spark_bin *out)
{
	double span = (double)(s->to_ns - s->from_ns) / (double)s->width_ns;
	double first = span * at / columns, end = span * (at + 1) / columns;
	uint32_t from = (uint32_t)first, to = (uint32_t)ceil(end - 1e-9);

	*out = (struct spark_bin){ 0 };
	if (to > s->bins)
		to = s->bins;
	if (to <= from)
		to = from + 1;
	/* A bin across two columns belongs to the one that contains its middle, unless columns are shorter than bins.
	 */
	if (span > columns) {
		from = (uint32_t)(first + 0.5);
		to = (uint32_t)(end + 0.5);
	}
	for (uint32_t i = from; i < to && i < s->bins; i++)
		spark_join(out, &s->series[series][i]);
	return out->weight > 0;
}

bool spark_mean_range(const struct spark_set *s, size_t series, uint32_t columns, double *low, double *high)
{
	struct spark_bin b;
	bool any = false;

	for (uint32_t i = 0; i < columns; i++) {
		if (!spark_column(s, series, i, columns, &b))
			continue;
		*low = fmin(*low, spark_mean(&b));
		*high = fmax(*high, spark_mean(&b));
		any = true;
	}
	return any;
}

const char *spark_mark(unsigned level, bool utf8)
{
	static const char *const block[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[SPARK_LEVELS] = { "_", ".", "-", ":", "=", "+", "*", "#" };

	return (utf8 ? block : ascii)[level < SPARK_LEVELS ? level : SPARK_LEVELS - 1];
}

double spark_share(double v, double low, double high)
{
	double span = fmax(high - low, SPAN_LEAST * fmax(fabs(low), fabs(high)));
	double share = span > 0 ? 0.5 + (v - (low + high) / 2) / span : 0;

	/* Infinite numbers have no share. */
	return share > 0 ? fmin(share, 1) : 0;
}

unsigned spark_level(double v, double low, double high)
{
	double share = spark_share(v, low, high);

	return share >= 1 ? SPARK_LEVELS - 1 : (unsigned)(share * SPARK_LEVELS);
}

void spark_line(struct buf *out, const struct spark_set *s, size_t series, uint32_t cells, double low, double high,
		bool utf8)
{
	for (uint32_t i = 0; i < cells; i++) {
		struct spark_bin b;

		if (spark_column(s, series, i, cells, &b))
			buf_addstr(out, spark_mark(spark_level(spark_mean(&b), low, high), utf8));
		else
			buf_addch(out, ' ');
	}
}
