/*
 * Blocks across columns and bands, for the few rows of a slow recording: too few for one block per column.
 *
 * The columns lie end to end as one list of numbers, cut into blocks. A band of PM_OWN_RUN columns or more is a
 * separate run of blocks and states its prediction; smaller bands share a run and have the fixed prediction of their
 * kind, because stating it would cost more than it saves.
 */
#include <errno.h>

#include "format/codec/bits.h"
#include "format/codec/codec_impl.h"
#include "format/codec/codec_list.h"

#define PM_OWN_RUN 8
#define KIND_BITS  3 /* source * 2 + order */
/* Order 0: the row before and its growth. No number is predicted from another one, so order 1 has no meaning. */
#define KIND_COURSE (PM_SOURCE_COURSE * 2)
#define KINDS       (KIND_COURSE + 1)

/* Bands that are coded together. */
struct run {
	uint32_t from, to; /* bands */
	uint32_t first;    /* column */
	uint32_t columns;
	bool own;
};

static struct run run_after(const struct pm_matrix *m, const struct run *last)
{
	struct run run = { .from = last->to, .to = last->to, .first = last->first + last->columns };

	while (run.to < m->n_bands) {
		run.own = m->band[run.to].columns >= PM_OWN_RUN;
		if (run.own && run.to > run.from) {
			run.own = false;
			break;
		}
		run.columns += m->band[run.to++].columns;
		if (run.own)
			break;
	}
	return run;
}

/* Visits the numbers of a run, column by column. */
struct cursor {
	const struct pm_matrix *m;
	struct pm_place place;
	uint32_t b, c, r, to; /* band, column, row; the band after the run */
	bool own, wide;
	unsigned kind; /* of an own run */
	unsigned source, order;
	unsigned shift;
	uint64_t mask;
	/* Of the column: its numbers, those that predict it, and of each the number before. */
	uint64_t *v;
	const uint64_t *other; /* NULL: none */
	const uint64_t *before, *other_before, *growth_before;
	size_t other_stride; /* to `other` of the next column */
	bool dependent;
	uint64_t last;   /* the number before, less the other's */
	uint64_t growth; /* of a course */
};

static const uint64_t nothing;

/* Starts from `before` and its counterpart. */
static inline void begin_column(struct cursor *u)
{
	u->r = 0;
	u->last = *u->before - *u->other_before;
	u->growth = *u->growth_before;
}

static inline void next_column(struct cursor *u)
{
	if (u->source == PM_SOURCE_NEIGHBOUR) {
		u->other = u->v;
		u->other_before = u->before;
	} else if (u->other_stride) {
		u->other += u->other_stride;
		u->other_before += u->dependent;
	}
	u->v += u->m->stride;
	u->before += u->dependent;
	u->growth_before += u->growth_before != &nothing;
	begin_column(u);
}

static void enter_band(struct cursor *u, uint32_t b, uint32_t first)
{
	const struct pm_matrix *m = u->m;
	const struct pm_band *band = &m->band[b];

	u->b = b;
	u->c = 0;
	u->place = pm_place(band, first);
	u->mask = u->wide ? UINT64_MAX : u->place.mask;
	u->shift = u->wide ? 0 : u->place.shift;
	u->source = u->own ? u->kind / 2 : u->place.has_ref ? PM_SOURCE_REF : PM_SOURCE_NONE;
	u->order = u->own ? u->kind % 2 : 1;
	u->v = m->v + (size_t)first * m->stride;
	u->dependent = m->before;
	u->before = m->before ? m->before + first : &nothing;
	u->growth_before = m->growth ? m->growth + first : &nothing;
	u->other = NULL;
	u->other_before = &nothing;
	u->other_stride = 0;
	if (u->source == PM_SOURCE_REF && band->ref_first == PM_REF_TICK) {
		u->other = m->tick;
		u->other_before = m->before ? &m->before_tick : &nothing;
	} else if (u->source == PM_SOURCE_REF) {
		u->other = m->v + (size_t)band->ref_first * m->stride;
		u->other_before = m->before ? m->before + band->ref_first : &nothing;
		u->other_stride = band->ref_columns == 1 ? 0 : m->stride;
	}
	begin_column(u);
}

static struct cursor cursor_of(const struct pm_matrix *m, const struct run *run, bool wide, unsigned kind)
{
	struct cursor u = { .m = m, .to = run->to, .own = run->own, .wide = wide, .kind = kind };

	enter_band(&u, run->from, run->first);
	return u;
}

/* Moves to the next number; the caller counts. */
static inline void advance(struct cursor *u)
{
	if (++u->r < u->m->rows)
		return;
	if (++u->c < u->place.band->columns)
		next_column(u);
	else if (u->b + 1 < u->to)
		enter_band(u, u->b + 1, u->place.first + u->place.band->columns);
}

static void take_course(struct cursor *u, uint64_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++, advance(u)) {
		uint64_t v = u->v[u->r];

		x[i] = pm_extend(v - u->last - u->growth, u->shift);
		u->growth = pm_growth(u->last, v);
		u->last = v;
	}
}

static void take_numbers(struct cursor *u, uint64_t *x, size_t n)
{
	if (u->source == PM_SOURCE_COURSE) {
		take_course(u, x, n);
		return;
	}
	for (size_t i = 0; i < n; i++, advance(u)) {
		uint64_t w = u->v[u->r] - (u->other ? u->other[u->r] : 0);

		x[i] = pm_extend(u->order ? w - u->last : w, u->shift);
		u->last = w;
	}
}

static void give_course(struct cursor *u, const uint64_t *x, size_t n)
{
	for (size_t i = 0; i < n; i++, advance(u)) {
		uint64_t v = (u->last + u->growth + x[i]) & u->mask;

		u->v[u->r] = v;
		u->growth = pm_growth(u->last, v);
		u->last = v;
	}
}

static void give_numbers(struct cursor *u, const uint64_t *x, size_t n)
{
	if (u->source == PM_SOURCE_COURSE) {
		give_course(u, x, n);
		return;
	}
	for (size_t i = 0; i < n; i++, advance(u)) {
		u->last = u->order ? u->last + x[i] : x[i];
		u->v[u->r] = (u->last + (u->other ? u->other[u->r] : 0)) & u->mask;
	}
}

/* The cheapest prediction for a band that has its own run. */
static unsigned best_kind(const struct pm_matrix *m, const struct run *run, bool wide)
{
	bool has_ref = pm_ref_valid(&m->band[run->from], run->first);
	unsigned best = PM_SOURCE_NONE * 2 + 1;
	size_t least = SIZE_MAX;

	/* Among equals prefer differences: they do not change when all values are shifted. */
	for (unsigned i = 0; i < KINDS; i++) {
		unsigned kind = i == KIND_COURSE ? i : i ^ 1;
		struct cursor u;
		size_t cost = 0;

		if ((kind / 2 == PM_SOURCE_REF && !has_ref) || (kind == KIND_COURSE && !m->growth))
			continue;
		u = cursor_of(m, run, wide, kind);
		for (size_t left = (size_t)run->columns * m->rows; left && cost < least;) {
			uint64_t x[PM_BLOCK];
			size_t n = left < PM_BLOCK ? left : PM_BLOCK;

			take_numbers(&u, x, n);
			cost += pm_list_measure(x, n).bits;
			left -= n;
		}
		if (cost < least) {
			least = cost;
			best = kind;
		}
	}
	return best;
}

static bool any_wide(const struct pm_packer *p, const struct pm_matrix *m)
{
	uint32_t first = 0;

	for (uint32_t b = 0; b < m->n_bands; first += m->band[b].columns, b++) {
		struct pm_place place = pm_place(&m->band[b], first);

		for (uint32_t c = 0; place.shift && c < place.band->columns; c++) {
			size_t column = (size_t)first + c;

			if ((p->kernel->bits(m->v + column * m->stride, m->rows) |
			     (m->before ? m->before[column] : 0)) &
			    ~place.mask)
				return true;
		}
	}
	return false;
}

int pm_pack_rows(struct pm_packer *p, const struct pm_matrix *m, struct buf *out)
{
	bool wide = any_wide(p, m);
	struct bit_writer w = { .out = out };
	struct run run = { 0 };

	buf_addch(out, wide ? PM_FORM_ROW_WIDE : PM_FORM_ROW);
	for (run = run_after(m, &run); run.columns; run = run_after(m, &run)) {
		unsigned kind = run.own ? best_kind(m, &run, wide) : 0;
		struct cursor u = cursor_of(m, &run, wide, kind);

		if (run.own)
			bits_put(&w, kind, KIND_BITS);
		for (size_t left = (size_t)run.columns * m->rows; left;) {
			uint64_t x[PM_BLOCK];
			size_t n = left < PM_BLOCK ? left : PM_BLOCK;
			struct pm_list_cost cost;

			take_numbers(&u, x, n);
			cost = pm_list_measure(x, n);
			if (pm_list_put(&w, p->kernel, &cost, x, n))
				return -ENOMEM;
			left -= n;
		}
	}
	bits_align(&w);
	return out->err;
}

int pm_unpack_rows(struct pm_packer *p, const struct pm_matrix *m, bool wide, const uint8_t *in, const uint8_t *end)
{
	struct bit_reader r = { .p = in, .end = end };
	struct run run = { 0 };

	for (run = run_after(m, &run); run.columns; run = run_after(m, &run)) {
		unsigned kind = run.own ? (unsigned)bits_get(&r, KIND_BITS) : 0;
		struct cursor u;

		if (r.bad || kind >= KINDS ||
		    (kind / 2 == PM_SOURCE_REF && !pm_ref_valid(&m->band[run.from], run.first)))
			return -EBADMSG;
		u = cursor_of(m, &run, wide, kind);
		for (size_t left = (size_t)run.columns * m->rows; left;) {
			uint64_t x[PM_BLOCK];
			size_t n = left < PM_BLOCK ? left : PM_BLOCK;

			pm_list_get(&r, p->kernel, x, n);
			if (r.bad)
				return -EBADMSG;
			give_numbers(&u, x, n);
			left -= n;
		}
	}
	return bits_bytes(&r, 0) == end ? 0 : -EBADMSG;
}
