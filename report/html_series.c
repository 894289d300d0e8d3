#include "report/html_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void html_set_init(struct html_set *s, uint32_t buckets, double width_s, uint64_t memory, bool quick)
{
	*s = (struct html_set){ .cap = buckets, .width_s = width_s, .memory = memory, .quick = quick };
}

void html_set_release(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->series[i].bucket);
	free(s->series);
	free(s->open);
	*s = (struct html_set){ 0 };
}

static void join(struct html_bucket *to, const struct html_bucket *from)
{
	if (from->weight == 0)
		return;
	if (to->weight == 0) {
		*to = *from;
		return;
	}
	to->sum += from->sum;
	to->weight += from->weight;
	to->low = fminf(to->low, from->low);
	to->high = fmaxf(to->high, from->high);
}

static void close_bucket(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->series[i].bucket)
			join(&s->series[i].bucket[s->open_at], &s->open[i]);
		s->open[i] = (struct html_bucket){ 0 };
	}
}

/* Pairs become one, in all series: buckets are twice as long. */
static void widen(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct html_bucket *b = s->series[i].bucket;

		if (!b)
			continue;
		for (uint32_t k = 0; k < s->cap / 2; k++) {
			struct html_bucket both = b[2 * k];

			join(&both, &b[2 * k + 1]);
			b[k] = both;
		}
		memset(b + s->cap / 2, 0, (s->cap - s->cap / 2) * sizeof(*b));
	}
	s->width_s *= 2;
	s->used = (s->used + 1) / 2;
	s->open_at /= 2;
}

static void halve(struct html_set *s)
{
	if (s->used > s->cap / 2)
		widen(s);
	s->cap /= 2;
	for (uint32_t i = 0; i < s->n; i++) {
		struct html_bucket *b = s->series[i].bucket;

		b = b ? reallocarray(b, s->cap, sizeof(*b)) : NULL;
		if (b)
			s->series[i].bucket = b;
	}
}

int html_set_add(struct html_set *s, uint32_t metric, uint32_t row, bool totals, uint32_t *place)
{
	struct html_series *n;

	if (!s->used)
		s->used = 1;
	while (!totals && (uint64_t)(s->n + 1) * s->cap * sizeof(struct html_bucket) > s->memory) {
		if (s->cap / 2 < HTML_BUCKETS_LEAST) {
			s->left_out++;
			return -ENOSPC;
		}
		halve(s);
	}
	if (s->n == s->cap_series) {
		uint32_t cap = s->cap_series ? s->cap_series * 2 : 64;
		struct html_bucket *open = reallocarray(s->open, cap, sizeof(*open));

		if (!open)
			return -ENOMEM;
		s->open = open;
		n = reallocarray(s->series, cap, sizeof(*n));
		if (!n)
			return -ENOMEM;
		s->series = n;
		s->cap_series = cap;
	}
	s->open[s->n] = (struct html_bucket){ 0 };
	n = &s->series[s->n];
	*n = (struct html_series){ .metric = metric, .row = row };
	if (!totals && !(n->bucket = calloc(s->cap, sizeof(*n->bucket))))
		return -ENOMEM;
	*place = s->n++;
	return 0;
}

void html_set_reach(struct html_set *s, double at_s)
{
	uint32_t bucket;

	if (at_s < 0)
		at_s = 0;
	bucket = at_s / s->width_s < s->cap ? (uint32_t)(at_s / s->width_s) : s->cap;
	if (bucket == s->open_at)
		return;
	close_bucket(s);
	while (at_s / s->width_s >= s->cap)
		widen(s);
	s->open_at = (uint32_t)(at_s / s->width_s);
	if (s->open_at >= s->used)
		s->used = s->open_at + 1;
}

void html_set_finish(struct html_set *s)
{
	if (!s->n)
		return;
	close_bucket(s);
	for (uint32_t i = 0; i < s->n && s->quick; i++) {
		struct html_series *x = &s->series[i];
		bool any = false;

		x->sum = x->weight = 0;
		for (uint32_t k = 0; k < s->used; k++) {
			const struct html_bucket *b = &x->bucket[k];

			if (b->weight == 0)
				continue;
			x->sum += (double)b->sum;
			x->weight += (double)b->weight;
			x->low = !any || (double)b->low < x->low ? (double)b->low : x->low;
			x->high = !any || (double)b->high > x->high ? (double)b->high : x->high;
			any = true;
		}
		x->present = any;
	}
}

/* ---- packing ---- */

uint32_t html_form_buckets(const struct html_set *s, const struct html_form *f)
{
	return (s->used + f->merge - 1) / f->merge;
}

uint64_t html_form_bytes(const struct html_set *s, const struct html_form *f)
{
	return (uint64_t)s->n * html_form_buckets(s, f) * f->bytes * (f->band ? 3 : 1);
}

static void put(struct buf *out, double v, const struct html_series *s, uint32_t bytes)
{
	uint32_t most = bytes == 1 ? UINT8_MAX : UINT16_MAX, n = 0;

	if (!isnan(v)) {
		double part = s->high > s->low ? (v - s->low) / (s->high - s->low) : 0;

		n = 1 + (uint32_t)lround(fmin(fmax(part, 0), 1) * (most - 1));
	}
	buf_addch(out, (char)n);
	if (bytes == 2)
		buf_addch(out, (char)(n >> 8));
}

void html_series_pack(const struct html_set *s, const struct html_series *series, const struct html_form *f,
		      struct buf *out)
{
	uint32_t n = html_form_buckets(s, f);

	for (int what = 0; what < (f->band ? 3 : 1); what++)
		for (uint32_t i = 0; i < n; i++) {
			struct html_bucket b = { 0 };

			for (uint32_t k = i * f->merge; k < (i + 1) * f->merge && k < s->used; k++)
				join(&b, &series->bucket[k]);
			put(out, b.weight == 0 ? (double)NAN : what == 0 ? (double)b.sum / (double)b.weight :
			    what == 1 ? (double)b.low : (double)b.high, series, f->bytes);
		}
}
