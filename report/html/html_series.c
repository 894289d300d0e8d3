#include "report/html/html_series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/machine/status.h"

void html_set_init(struct html_set *s, uint32_t buckets, double width_s, uint64_t memory, bool quick)
{
	*s = (struct html_set){ .cap = buckets, .width_s = width_s, .memory = memory, .quick = quick };
}

/* Buckets are stored in blocks of so many series that one bucket of all of them fills some cache lines. While values
 * arrive, they are stored bucket by bucket, because values of one time arrive together for all series, and each of
 * very many would otherwise be on a page of its own; in a finished set they are stored series by series. */
static uint32_t in_block(const struct html_set *s)
{
	return s->quick ? 64 : 1;
}

static struct spark_bin *bucket_at(const struct html_set *s, uint32_t series, uint32_t at)
{
	uint32_t n = in_block(s);
	struct spark_bin *block = s->block[series / n];

	return block ? block + (size_t)at * n + series % n : NULL;
}

void html_set_release(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n_blocks; i++)
		free(s->block[i]);
	free(s->block);
	free(s->series);
	free(s->slot);
	free(s->open);
	free(s->taken);
	*s = (struct html_set){ 0 };
}

/* The open values become bucket `at` of the series, or a part of it. */
static inline void close_of(const struct html_set *s, uint32_t series, uint32_t at, const struct spark_bin *b)
{
	struct spark_bin *to = bucket_at(s, series, at);

	if (!to)
		return;
	if (at < s->filled)
		spark_join(to, b);
	else
		*to = *b;
}

static void close_bucket(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		close_of(s, i, s->open_at, &s->open[i]);
		s->open[i] = (struct spark_bin){ 0 };
	}
	if (s->filled <= s->open_at)
		s->filled = s->open_at + 1;
}

/* Joins pairs of buckets in all series: buckets become twice as long. */
static void widen(struct html_set *s)
{
	uint32_t n = in_block(s);

	for (uint32_t i = 0; i < s->n_blocks; i++) {
		struct spark_bin *b = s->block[i];

		for (size_t k = 0; b && k < s->cap / 2; k++)
			for (uint32_t x = 0; x < n; x++) {
				struct spark_bin both = b[2 * k * n + x];

				spark_join(&both, &b[(2 * k + 1) * n + x]);
				b[k * n + x] = both;
			}
		if (b)
			memset(b + (size_t)(s->cap / 2) * n, 0, (size_t)(s->cap - s->cap / 2) * n * sizeof(*b));
	}
	s->width_s *= 2;
	s->filled = (s->filled + 1) / 2;
	s->used = (s->used + 1) / 2;
	s->open_at /= 2;
}

static void halve(struct html_set *s)
{
	if (s->used > s->cap / 2)
		widen(s);
	s->cap /= 2;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		struct spark_bin *b = s->block[i];

		b = b ? reallocarray(b, (size_t)s->cap * in_block(s), sizeof(*b)) : NULL;
		if (b)
			s->block[i] = b;
	}
}

/* Makes room for the buckets of a series. */
static int make_block(struct html_set *s, uint32_t series, bool totals)
{
	uint32_t at = series / in_block(s);

	if (at >= s->n_blocks) {
		if (array_room(&s->block, s->n_blocks, sizeof(*s->block)))
			return -ENOMEM;
		s->block[s->n_blocks++] = NULL;
	}
	if (!totals && !s->block[at])
		s->block[at] = calloc((size_t)s->cap * in_block(s), sizeof(**s->block));
	return totals || s->block[at] ? 0 : -ENOMEM;
}

/* The slot of the series, or the free one for it. */
static uint32_t *slot_of(const struct html_set *s, uint32_t metric, uint32_t row)
{
	uint64_t hash = ((uint64_t)metric << 32 | row) * 0x9e3779b97f4a7c15;

	for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
		uint32_t *slot = &s->slot[i & (s->slots - 1)];

		if (!*slot || (s->series[*slot - 1].metric == metric && s->series[*slot - 1].row == row))
			return slot;
	}
}

static int make_slots(struct html_set *s)
{
	uint32_t slots = s->slots ? 2 * s->slots : 64;
	uint32_t *slot;

	if (s->n + s->n / 2 < s->slots)
		return 0;
	slot = calloc(slots, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	free(s->slot);
	s->slot = slot;
	s->slots = slots;
	for (uint32_t i = 0; i < s->n; i++)
		*slot_of(s, s->series[i].metric, s->series[i].row) = i + 1;
	return 0;
}

int html_set_add(struct html_set *s, uint32_t metric, uint32_t row, bool totals, uint32_t *place)
{
	uint32_t *slot;
	int err = make_slots(s);

	if (err)
		return err;
	slot = slot_of(s, metric, row);
	if (*slot) {
		*place = *slot - 1;
		return 0;
	}
	if (!s->used)
		s->used = 1;
	while (!totals && (uint64_t)(s->n + 1) * s->cap * sizeof(struct spark_bin) > s->memory) {
		if (s->cap / 2 < HTML_BUCKETS_LEAST) {
			s->left_out++;
			return -ENOSPC;
		}
		halve(s);
	}
	if (array_room(&s->open, s->n, sizeof(*s->open)) || array_room(&s->taken, s->n, sizeof(*s->taken)) ||
	    array_room(&s->series, s->n, sizeof(*s->series)))
		return -ENOMEM;
	if ((err = make_block(s, s->n, totals)))
		return err;
	s->open[s->n] = (struct spark_bin){ 0 };
	s->taken[s->n] = s->steps - 1;
	s->series[s->n] = (struct html_series){ .metric = metric, .row = row };
	*place = s->n++;
	*slot = s->n;
	return 0;
}

void html_set_expect(struct html_set *s, double span_s)
{
	while (span_s / s->width_s > s->cap)
		s->width_s *= 2;
}

static void open_bucket(struct html_set *s, uint32_t at)
{
	s->open_at = at;
	if (at >= s->used)
		s->used = at + 1;
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
	open_bucket(s, (uint32_t)(at_s / s->width_s));
}

/* ---- values ---- */

bool html_set_has(const struct html_set *s, double at_s, uint32_t *bucket)
{
	double at = at_s / s->width_s;

	if (!(at >= s->open_at && at < s->cap))
		return false;
	*bucket = (uint32_t)at;
	return true;
}

void html_steps_add(struct html_steps *s, uint32_t bucket, double weight_s, bool partial)
{
	size_t k = s->n++;

	s->weight_s[k] = weight_s;
	s->weight[k] = (float)weight_s;
	s->partial[k] = partial;
	s->some_partial = partial || (k && s->some_partial);
	if (!s->n_runs || s->run[s->n_runs - 1].bucket != bucket)
		s->run[s->n_runs++] = (struct html_run){ .bucket = bucket };
	s->run[s->n_runs - 1].end = (uint32_t)s->n;
	s->run[s->n_runs - 1].weight += s->weight[k];
}

static inline void take(struct spark_bin *b, float weight_s, float v)
{
	b->low = b->weight == 0 || v < b->low ? v : b->low;
	b->high = b->weight == 0 || v > b->high ? v : b->high;
	b->sum += v * weight_s;
	b->weight += weight_s;
}

/* Adds what the buckets do not contain. */
static void take_total(struct html_series *x, double weight_s, double v, bool again)
{
	x->sum += v * weight_s;
	x->weight += weight_s;
	if (again)
		return;
	x->low = !x->present || v < x->low ? v : x->low;
	x->high = !x->present || v > x->high ? v : x->high;
	x->present++;
}

static bool is_number(const struct value *v)
{
	return !v->reason && v->v - v->v == 0;
}

static void take_missing(struct html_series *x, uint16_t reason)
{
	if (status_absent(reason))
		return;
	if (!x->missing++)
		x->reason = reason;
}

/* Takes steps [k, end), which are in one bucket. */
static struct spark_bin take_careful(struct html_set *s, struct html_series *x, struct spark_bin b,
				     const struct html_steps *steps, size_t k, size_t end,
				     const struct html_value_run *run)
{
	for (; k < end; k++) {
		const struct value *v = &run->value[k];

		if (!is_number(v)) {
			if (!run->again)
				take_missing(x, v->reason);
			continue;
		}
		if (!run->again && (steps->partial[k] || (run->coverage && run->coverage[k] < 1)))
			x->partial++;
		else if (!run->again)
			x->doubtful += run->coverage && run->coverage[k] > 1;
		take(&b, steps->weight[k], (float)v->v);
		if (!s->quick)
			take_total(x, steps->weight_s[k], v->v, run->again);
	}
	return b;
}

/* The same for numbers that are all known, as nearly all are; false: some are not, and nothing was done. A missing
 * value makes the sum not a number. */
static bool take_plain(struct spark_bin *bucket, const struct html_steps *steps, size_t k, const struct html_run *r,
		       const struct value *value)
{
	struct spark_bin b = *bucket;
	uint32_t reasons = 0;

	if (b.weight == 0)
		b.low = b.high = (float)value[k].v;
	for (; k < r->end; k++) {
		float v = (float)value[k].v;

		reasons |= value[k].reason;
		b.low = v < b.low ? v : b.low;
		b.high = v > b.high ? v : b.high;
		b.sum += v * steps->weight[k];
	}
	b.weight += r->weight;
	if (reasons || b.sum - b.sum != 0)
		return false;
	*bucket = b;
	return true;
}

void html_set_take(struct html_set *s, uint32_t place, const struct html_steps *steps,
		   const struct html_value_run *run)
{
	struct html_series *x = &s->series[place];
	bool plain = s->quick && !run->coverage && !steps->some_partial;
	struct spark_bin b = s->open[place];
	uint32_t at = s->open_at;
	size_t k = 0;

	for (size_t i = 0; i < steps->n_runs; k = steps->run[i++].end) {
		const struct html_run *r = &steps->run[i];

		if (r->bucket != at) {
			close_of(s, place, at, &b);
			b = (struct spark_bin){ 0 };
			at = r->bucket;
		}
		if (!plain || !take_plain(&b, steps, k, r, run->value))
			b = take_careful(s, x, b, steps, k, r->end, run);
	}
	s->open[place] = b;
	s->taken[place] = s->steps;
}

void html_set_end_steps(struct html_set *s, const struct html_steps *steps)
{
	uint32_t last = steps->run[steps->n_runs - 1].bucket;

	for (uint32_t i = 0; i < s->n && last != s->open_at; i++) {
		if (s->taken[i] == s->steps)
			continue;
		close_of(s, i, s->open_at, &s->open[i]);
		s->open[i] = (struct spark_bin){ 0 };
	}
	open_bucket(s, last);
	s->filled = s->filled < last ? last : s->filled;
	s->steps++;
}

/* Turns the buckets of a block into series by series. */
static int turn_blocks(struct html_set *s)
{
	uint32_t n = in_block(s);
	size_t size = (size_t)s->cap * n;
	SCOPED(scoped_free) struct spark_bin *turned = n > 1 && s->n_blocks ? malloc(size * sizeof(*turned)) : NULL;

	if (n > 1 && s->n_blocks && !turned)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_blocks; i++) {
		struct spark_bin *b = s->block[i];

		for (uint32_t x = 0; x < n && b && n > 1; x++)
			for (uint32_t k = 0; k < s->cap; k++)
				turned[(size_t)x * s->cap + k] = b[(size_t)k * n + x];
		if (b && n > 1) {
			s->block[i] = turned;
			turned = b;
		}
		for (uint32_t x = 0; x < n && i * n + x < s->n; x++)
			s->series[i * n + x].bucket = b ? s->block[i] + (size_t)x * s->cap : NULL;
	}
	return 0;
}

static void total(struct html_series *x, uint32_t used)
{
	bool any = false;

	x->sum = x->weight = 0;
	for (uint32_t k = 0; k < used; k++) {
		const struct spark_bin *b = &x->bucket[k];

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

int html_set_finish(struct html_set *s)
{
	int err;

	if (!s->n)
		return 0;
	close_bucket(s);
	if ((err = turn_blocks(s)))
		return err;
	for (uint32_t i = 0; i < s->n && s->quick; i++)
		total(&s->series[i], s->used);
	return 0;
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

/* 0: missing; else from 1 on, rounded to the nearest. */
static inline uint32_t number_of(double v, const struct html_series *s, double span, uint32_t most)
{
	double part = span > 0 ? (v - s->low) / span : 0;
	uint32_t n;

	part = part > 0 ? part < 1 ? part : 1 : 0;
	part *= most - 1;
	n = (uint32_t)part;
	return 1 + n + (part - n >= 0.5);
}

static inline void put(uint8_t *out, uint32_t n, uint32_t bytes)
{
	out[0] = (uint8_t)n;
	if (bytes == 2)
		out[1] = (uint8_t)(n >> 8);
}

void html_series_pack(const struct html_set *s, const struct html_series *series, const struct html_form *f,
		      struct buf *out)
{
	uint32_t n = html_form_buckets(s, f), most = f->bytes == 1 ? UINT8_MAX : UINT16_MAX;
	size_t part = (size_t)n * f->bytes, len = part * (f->band ? 3 : 1);
	double span = series->high - series->low;
	uint8_t *to;

	if (buf_reserve(out, len))
		return;
	to = out->data + out->len;
	for (uint32_t i = 0; i < n; i++, to += f->bytes) {
		struct spark_bin b = { 0 };
		bool any;

		for (uint32_t k = i * f->merge; k < (i + 1) * f->merge && k < s->used; k++)
			spark_join(&b, &series->bucket[k]);
		any = b.weight != 0;
		put(to, any ? number_of((double)b.sum / (double)b.weight, series, span, most) : 0, f->bytes);
		if (!f->band)
			continue;
		put(to + part, any ? number_of((double)b.low, series, span, most) : 0, f->bytes);
		put(to + 2 * part, any ? number_of((double)b.high, series, span, most) : 0, f->bytes);
	}
	out->len += len;
}
