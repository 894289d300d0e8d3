/* Blocks along time: one per column. */
#include <errno.h>

#include "format/codec/codec_impl.h"

/* After this many columns of a band that do not resemble their neighbours, only one in this many is compared with its
 * neighbour. */
#define PATIENCE 4

/* What was chosen for a column. */
struct choice {
	size_t cost; /* bytes */
	uint8_t kind;
	uint8_t width;
	uint64_t base;
	struct pm_series series;
};

/* The numbers before the first are chosen so that the first differences need no more bits than the block's width:
 * they repeat the difference that follows. They are written for the decoder. */
static struct pm_series series_of(const uint64_t *v, const uint64_t *other, size_t n, unsigned shift,
				  const uint64_t *before, uint64_t other_before)
{
	struct pm_series s = { .v = v, .other = other, .n = n, .shift = shift };
	uint64_t first = v[0] - (other ? other[0] : 0), second = v[1] - (other ? other[1] : 0);

	s.last = before ? *before - other_before : 2 * first - second;
	s.last2 = s.last - (2 * (first - s.last) - (second - first));
	return s;
}

static unsigned varint_size(uint64_t x)
{
	return x ? (pm_width_of(x) + 6) / 7 : 1;
}

/* What was written for the previous column of this band; a column's base and sum are differences from it. */
struct last {
	uint64_t base, sum;
};

static void consider(const struct pm_kernel *k, struct choice *best, enum pm_source source, const struct pm_series *s,
		     bool has_before, const struct last *last)
{
	struct pm_range range[PM_ORDERS];

	k->ranges(s, range);
	for (unsigned order = 0; order < PM_ORDERS; order++) {
		uint64_t lo = (uint64_t)range[order].lo, hi = (uint64_t)range[order].hi, base = last->base;
		unsigned width = pm_width_of(hi - lo);
		uint64_t spare = pm_mask(width) - (hi - lo);
		size_t cost = pm_packed_size(s->n, width);

		if (cost >= best->cost)
			continue;
		/* Any base from lo - spare to lo keeps the width: the one nearest to the last base is shortest. */
		if (lo - base > spare)
			base = (int64_t)(base - lo) > 0 ? lo : lo - spare;
		cost += varint_size(pm_zigzag(base - last->base));
		if (order && !has_before)
			cost += varint_size(pm_zigzag(pm_extend(s->last - last->sum, s->shift)));
		if (order == 2)
			cost += varint_size(pm_zigzag(pm_extend(s->last - s->last2, s->shift)));
		if (cost < best->cost) {
			*best = (struct choice){
				.cost = cost,
				.kind = (uint8_t)(source * PM_ORDERS + order),
				.width = (uint8_t)width,
				.base = base,
				.series = *s,
			};
		}
	}
}

int pm_pack_time(struct pm_packer *p, const struct pm_matrix *m, struct buf *out)
{
	const struct pm_kernel *k = p->kernel;
	size_t n = m->rows, columns = 0, at;
	struct last last;
	uint8_t *kinds, *widths;
	uint32_t first = 0;

	for (uint32_t b = 0; b < m->n_bands; b++)
		columns += m->band[b].columns;
	buf_clear(&p->heads);
	buf_clear(&p->varints);
	buf_clear(&p->bits);
	if (buf_reserve(&p->heads, 2 * columns + 1))
		return -ENOMEM;
	kinds = p->heads.data;
	widths = kinds + columns;
	p->heads.len = 2 * columns;
	for (uint32_t b = 0; b < m->n_bands; first += m->band[b].columns, b++) {
		struct pm_place place = pm_place(&m->band[b], first);

		unsigned misses = 0;

		last = (struct last){ 0 };
		for (uint32_t c = 0; c < place.band->columns; c++) {
			size_t column = (size_t)first + c;
			const uint64_t *v = m->v + column * m->stride;
			const uint64_t *before = m->before ? m->before + column : NULL;
			struct choice best = { .cost = SIZE_MAX };
			unsigned shift = place.shift;
			uint64_t other_before;
			struct pm_series series;
			bool wide;

			/* A number that is wider than its band must be restored, too. */
			wide = shift && (k->bits(v, n) | (before ? *before : 0)) & ~place.mask;
			if (wide)
				shift = 0;
			series = series_of(v, NULL, n, shift, before, 0);
			consider(k, &best, PM_SOURCE_NONE, &series, before, &last);
			if (place.has_ref && best.width) {
				const uint64_t *other = pm_ref_rows(m, &place, c, &other_before);

				series = series_of(v, other, n, shift, before, other_before);
				consider(k, &best, PM_SOURCE_REF, &series, before, &last);
			}
			if (c && best.width && (misses < PATIENCE || c % PATIENCE == 0)) {
				series = series_of(v, v - m->stride, n, shift, before, before ? before[-1] : 0);
				consider(k, &best, PM_SOURCE_NEIGHBOUR, &series, before, &last);
				misses = best.kind / PM_ORDERS == PM_SOURCE_NEIGHBOUR ? 0 : misses + 1;
			}
			kinds[column] = best.kind + (wide ? PM_KIND_WIDE : 0);
			widths[column] = best.width;
			pm_add_varint(&p->varints, pm_zigzag(best.base - last.base));
			last.base = best.base;
			if (best.kind % PM_ORDERS && !before) {
				uint64_t step = pm_extend(best.series.last - last.sum, shift);

				pm_add_varint(&p->varints, pm_zigzag(step));
				last.sum += step; /* as the reader does: without `wide` only its low bits are right */
			}
			if (best.kind % PM_ORDERS == 2)
				pm_add_varint(&p->varints,
					      pm_zigzag(pm_extend(best.series.last - best.series.last2, shift)));
			if (buf_reserve(&p->bits, pm_packed_size(n, best.width) + PM_SLACK))
				return -ENOMEM;
			k->pack(p->bits.data + p->bits.len, &best.series, best.kind % PM_ORDERS, best.base,
				best.width);
			p->bits.len += pm_packed_size(n, best.width);
		}
	}
	at = 1 + p->heads.len + p->varints.len + p->bits.len;
	if (p->varints.err || buf_reserve(out, at))
		return -ENOMEM;
	buf_addch(out, PM_FORM_TIME);
	buf_add(out, p->heads.data, p->heads.len);
	buf_add(out, p->varints.data, p->varints.len);
	buf_add(out, p->bits.data, p->bits.len);
	return out->err;
}

/* The start of the packed bits, after the numbers that the kinds need. NULL: malformed. */
static const uint8_t *find_bits(const struct pm_matrix *m, const uint8_t *kinds, const uint8_t *widths,
				size_t columns, const uint8_t *in, const uint8_t *end)
{
	size_t varints = columns, size = 0;

	for (size_t c = 0; c < columns; c++) {
		unsigned kind = kinds[c] & ~PM_KIND_WIDE;

		if (kind >= PM_KINDS || widths[c] > 64)
			return NULL;
		varints += (kind % PM_ORDERS && !m->before) + (kind % PM_ORDERS == 2);
		size += pm_packed_size(m->rows, widths[c]);
	}
	if (size > (size_t)(end - in))
		return NULL;
	end -= size;
	/* The last byte of each number has its top bit clear. */
	for (const uint8_t *p = in; p < end; p++)
		varints -= !(*p & 0x80);
	return varints ? NULL : end;
}

int pm_unpack_time(struct pm_packer *p, const struct pm_matrix *m, const uint8_t *in, const uint8_t *end)
{
	const uint8_t *kinds = in, *widths, *bits, *numbers_end;
	uint8_t tail[PM_BLOCK * 8 + PM_SLACK];
	size_t columns = 0, n = m->rows;
	uint32_t first = 0;

	for (uint32_t b = 0; b < m->n_bands; b++)
		columns += m->band[b].columns;
	if ((size_t)(end - in) / 2 < columns)
		return -EBADMSG;
	widths = kinds + columns;
	in = widths + columns;
	bits = find_bits(m, kinds, widths, columns, in, end);
	if (!bits)
		return -EBADMSG;
	numbers_end = bits;
	for (uint32_t b = 0; b < m->n_bands; first += m->band[b].columns, b++) {
		struct pm_place place = pm_place(&m->band[b], first);
		uint64_t last_base = 0, last_sum = 0;

		for (uint32_t c = 0; c < place.band->columns; c++) {
			size_t column = (size_t)first + c;
			uint64_t *v = m->v + column * m->stride;
			bool wide = kinds[column] & PM_KIND_WIDE;
			unsigned kind = kinds[column] & ~PM_KIND_WIDE;
			unsigned source = kind / PM_ORDERS, order = kind % PM_ORDERS;
			uint64_t x, sum = 0, step = 0, other_before = 0;
			const uint64_t *other = NULL;
			const uint8_t *block = bits;
			size_t size = pm_packed_size(n, widths[column]);

			if (pm_get_varint(&in, numbers_end, &x))
				return -EBADMSG;
			last_base += pm_unzigzag(x);
			if (order && !m->before) {
				if (pm_get_varint(&in, numbers_end, &x))
					return -EBADMSG;
				sum = last_sum += pm_unzigzag(x);
			}
			if (order == 2) {
				if (pm_get_varint(&in, numbers_end, &x))
					return -EBADMSG;
				step = pm_unzigzag(x);
			}
			bits += size;
			if ((source == PM_SOURCE_NEIGHBOUR && !c) || (source == PM_SOURCE_REF && !place.has_ref))
				return -EBADMSG;
			if (source == PM_SOURCE_NEIGHBOUR) {
				other = v - m->stride;
				other_before = m->before ? m->before[column - 1] : 0;
			} else if (source == PM_SOURCE_REF) {
				other = pm_ref_rows(m, &place, c, &other_before);
			}
			if (m->before)
				sum = m->before[column] - other_before;
			if ((size_t)(end - block) < size + PM_SLACK) {
				memset(tail, 0, sizeof(tail));
				memcpy(tail, block, size);
				block = tail;
			}
			p->kernel->unpack(v, block, n, order, last_base, widths[column], order ? sum : 0, step, other,
					  wide ? UINT64_MAX : place.mask);
		}
	}
	return in == numbers_end ? 0 : -EBADMSG;
}
