#include "format/codec/codec.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What a number is predicted from, and which difference to that is stored. */
enum kind {
	KIND_VALUE,            /* nothing */
	KIND_DIFFERENCE,       /* the row before */
	KIND_COURSE,           /* the row before and its growth */
	KIND_NEIGHBOR,         /* the column before */
	KIND_NEIGHBOR_CHANGES, /* the column before, and how far from it the row before was */
	KIND_REF,              /* what the band refers to */
	KIND_REF_CHANGES,      /* what the band refers to, and how far from it the row before was */
	KINDS,
	KIND_WIDE = 16, /* beside one of these: a number is wider than its band, so that all go by 64 bits */
};

/* From so many rows on, a column may have one length for all of its numbers. */
#define EVEN_ROWS 8
/* That it has, and not lengths of their own. */
#define EVEN 128

/* One length for all numbers is worth so many bits a number more, for it takes half the time. */
#define EVEN_GAIN 4

/* How many numbers of a column tell how long they are. */
#define SAMPLES 16

/* How many columns of a band, and rows of these, decide about its kind. */
#define JUDGED_COLUMNS 8
#define JUDGED_ROWS    32
/* Another kind than usual has to save so many bits: it costs a byte that would not be like the others. */
#define UNUSUAL 12

struct place {
	const struct pm_band *band;
	uint32_t first; /* its first column */
	bool has_ref;   /* what it refers to lies before it */
	enum kind kind;
	unsigned bits; /* of its numbers: 1 to 64 */
};

/* A band, of the usual kind. */
static struct place place_of(const struct pm_band *b, uint32_t first)
{
	bool within = (uint64_t)b->ref_first + (b->ref_columns == 1 ? 1 : b->columns) <= first;

	struct place p = {
		.band = b,
		.first = first,
		.has_ref = b->ref_first == PM_REF_TICK || (b->ref_first != PM_NO_REF && within),
		.bits = b->bits >= 1 && b->bits <= 64 ? b->bits : 64,
	};
	p.kind = p.has_ref ? KIND_REF_CHANGES : KIND_DIFFERENCE;
	return p;
}

/* False for a kind that no packer writes. */
static bool set_kind(struct place *p, uint8_t byte)
{
	p->kind = (enum kind)(byte & ~KIND_WIDE);
	p->bits = byte & KIND_WIDE ? 64 : p->bits;
	return p->kind < KINDS && (p->kind < KIND_REF || p->has_ref);
}

/* The rows that column c of the band is compared with, and the number before them; NULL: with nothing. */
static const uint64_t *others(const struct pm_matrix *m, const struct place *p, uint32_t c, uint64_t *before)
{
	size_t column = p->first + c;

	*before = 0;
	if (p->kind < KIND_NEIGHBOR || (p->kind < KIND_REF && !c))
		return NULL;
	if (p->kind >= KIND_REF && p->band->ref_first == PM_REF_TICK) {
		*before = m->before ? m->before_tick : 0;
		return m->tick;
	}
	column = p->kind < KIND_REF ? column - 1 : p->band->ref_first + (p->band->ref_columns == 1 ? 0 : c);
	*before = m->before ? m->before[column] : 0;
	return m->v + column * m->stride;
}

/* Numbers near 0 of either sign as small ones: 0, -1, 1, -2 ... are 0, 1, 2, 3 ... */
static uint64_t zigzag(uint64_t x)
{
	return x << 1 ^ (uint64_t)((int64_t)x >> 63);
}

static uint64_t unzigzag(uint64_t x)
{
	return x >> 1 ^ -(x & 1);
}

static unsigned length(uint64_t x)
{
	return x ? 64 - (unsigned)__builtin_clzll(x) : 0;
}

/* Keeps the low 64 - shift bits, and extends their sign. */
static uint64_t extend(uint64_t x, unsigned shift)
{
	return (uint64_t)((int64_t)(x << shift) >> shift);
}

/* The residuals of one column, as two's complement. */
static void residuals(const struct pm_matrix *m, const struct place *p, uint32_t c, uint64_t *x)
{
	const size_t column = p->first + c;
	const uint64_t *v = m->v + column * m->stride, *other;
	const unsigned shift = 64 - p->bits;
	uint64_t w[PM_MATRIX_ROWS], other_before, last, growth;

	other = others(m, p, c, &other_before);
	for (uint32_t r = 0; r < m->rows; r++)
		w[r] = other ? v[r] - other[r] : v[r];
	last = m->before ? m->before[column] - other_before : 0;
	switch (p->kind) {
	case KIND_DIFFERENCE:
	case KIND_NEIGHBOR_CHANGES:
	case KIND_REF_CHANGES:
		x[0] = extend(w[0] - last, shift);
		for (uint32_t r = 1; r < m->rows; r++)
			x[r] = extend(w[r] - w[r - 1], shift);
		break;
	case KIND_COURSE:
		growth = m->growth && m->before ? m->growth[column] : 0;
		for (uint32_t r = 0; r < m->rows; r++) {
			x[r] = extend(w[r] - last - growth, shift);
			growth = pm_growth(last, w[r]);
			last = w[r];
		}
		break;
	default:
		for (uint32_t r = 0; r < m->rows; r++)
			x[r] = extend(w[r], shift);
	}
}

/* ---- packing ---- */

static bool has_wide(const struct pm_matrix *m, const struct place *p)
{
	uint64_t any = 0;

	for (uint32_t c = 0; c < p->band->columns && p->bits < 64; c++)
		for (uint32_t r = 0; r < m->rows; r++)
			any |= m->v[(p->first + c) * m->stride + r];
	return length(any) > p->bits;
}

/* How a column is written, and about how many bits that takes. */
struct way {
	bool even;      /* one length for all numbers, less the least one */
	uint64_t least; /* as two's complement */
	unsigned width; /* of the others less that */
	uint64_t bits;
};

/* About how many bits numbers with lengths of their own take: zstd makes about two of a length, and a number leaves
 * out its highest. Some of many numbers tell. */
static uint64_t bits_apart(const uint64_t *x, uint32_t rows)
{
	uint32_t step = rows < 2 * SAMPLES ? 1 : rows / SAMPLES, n = 0;
	uint64_t bits = 0;

	for (uint32_t r = step - 1; r < rows; r += step, n++)
		bits += length(zigzag(x[r])) + (x[r] != 0);
	return bits * rows / n;
}

static struct way cheaper_way(const uint64_t *x, uint32_t rows)
{
	int64_t lo = INT64_MAX, hi = INT64_MIN;
	uint64_t apart, even;
	struct way way;

	for (uint32_t r = 0; r < rows; r++) {
		lo = (int64_t)x[r] < lo ? (int64_t)x[r] : lo;
		hi = (int64_t)x[r] > hi ? (int64_t)x[r] : hi;
	}
	way = (struct way){ .least = (uint64_t)lo, .width = length((uint64_t)hi - (uint64_t)lo) };
	even = (uint64_t)rows * way.width + 8 + length(zigzag(way.least));
	apart = bits_apart(x, rows);
	way.even = rows >= EVEN_ROWS && way.width < 64 && even <= apart + EVEN_GAIN * rows;
	way.bits = even < apart && way.even ? even : apart;
	return way;
}

/* How many bits some columns of the band take. */
static uint64_t judge(const struct pm_matrix *m, const struct place *p)
{
	uint32_t columns = p->band->columns, judged = columns < JUDGED_COLUMNS ? columns : JUDGED_COLUMNS;
	struct pm_matrix part = *m;
	uint64_t x[JUDGED_ROWS], bits = 0;

	part.rows = m->rows < JUDGED_ROWS ? m->rows : JUDGED_ROWS;
	for (uint32_t k = 0; k < judged; k++) {
		residuals(&part, p, (uint32_t)((k + 1ull) * columns / judged - 1), x);
		bits += cheaper_way(x, part.rows).bits;
	}
	return bits;
}

/* The kind of band `b`, which begins at column `first`, as a byte; whether it is the usual one. */
static bool choose_kind(const struct pm_matrix *m, uint32_t b, uint32_t first, uint8_t *byte)
{
	struct place p = place_of(&m->band[b], first);
	const enum kind usual = p.kind;
	const bool wide = has_wide(m, &p);
	uint64_t least;

	p.bits = wide ? 64 : p.bits;
	*byte = usual;
	least = judge(m, &p);
	for (unsigned kind = 0; kind < KINDS && least > UNUSUAL; kind++) {
		uint64_t bits;

		if (kind == usual || (kind >= KIND_REF && !p.has_ref) ||
		    ((kind == KIND_NEIGHBOR || kind == KIND_NEIGHBOR_CHANGES) && p.band->columns == 1))
			continue;
		p.kind = (enum kind)kind;
		bits = judge(m, &p) + UNUSUAL * (*byte == usual);
		if (bits < least) {
			least = bits;
			*byte = (uint8_t)kind;
		}
	}
	*byte |= wide ? KIND_WIDE : 0;
	return *byte == usual;
}

struct bit_writer {
	uint8_t *to;
	uint64_t bits;
	unsigned n; /* of them, below 64 */
};

/* The low n bits, 0 to 63, of a number that has no others. */
static inline void put_bits(struct bit_writer *w, uint64_t x, unsigned n)
{
	w->bits |= x << w->n;
	w->n += n;
	if (w->n < 64)
		return;
	store_le64(w->to, w->bits);
	w->to += 8;
	w->n -= 64;
	w->bits = w->n ? x >> (n - w->n) : 0;
}

/* What is below the highest bit of a number, whose length comes back. */
static inline uint8_t put_number(struct bit_writer *w, uint64_t x)
{
	unsigned bits = length(x), below = bits ? bits - 1 : 0;

	put_bits(w, x & ~(UINT64_MAX << below), below);
	return (uint8_t)bits;
}

/* Writes numbers of one length, in pairs while two fit: that halves the steps that wait for each other. */
static void put_even(struct bit_writer *w, const uint64_t *x, uint32_t n, const struct way *way)
{
	uint64_t y[PM_MATRIX_ROWS + 1];
	unsigned width = way->width;
	uint64_t total = (uint64_t)n * width;

	for (uint32_t i = 0; i < n; i++)
		y[i] = x[i] - way->least;
	for (; width && width < 32 && n > 1; width *= 2, n = (n + 1) / 2) {
		y[n] = 0;
		for (uint32_t i = 0; i < (n + 1) / 2; i++)
			y[i] = y[2 * i] | y[2 * i + 1] << width;
	}
	for (uint32_t i = 0; i < n && width; i++, total -= width)
		put_bits(w, y[i], total < width ? (unsigned)total : width);
}

/* Writes the residuals of a column: their lengths to *at, which moves on. */
static void put_column(struct bit_writer *w, uint8_t **at, const uint64_t *x, uint32_t rows)
{
	const struct way way = cheaper_way(x, rows);

	if (!way.even) {
		for (uint32_t r = 0; r < rows; r++)
			*(*at)++ = put_number(w, zigzag(x[r]));
		return;
	}
	*(*at)++ = (uint8_t)(EVEN | way.width);
	*(*at)++ = put_number(w, zigzag(way.least));
	put_even(w, x, rows, &way);
}

/* Packs the columns of a band. 0 or -ENOMEM. */
static int put_band(const struct pm_matrix *m, const struct place *p, struct buf *lengths, struct bit_writer *w,
		    struct buf *bits)
{
	uint64_t x[PM_MATRIX_ROWS];

	for (uint32_t c = 0; c < p->band->columns; c++) {
		uint8_t *at;

		if (buf_reserve(lengths, m->rows) || buf_reserve(bits, (m->rows + 2ull) * 8))
			return -ENOMEM;
		at = lengths->data + lengths->len;
		w->to = bits->data + bits->len;
		residuals(m, p, c, x);
		put_column(w, &at, x, m->rows);
		lengths->len = (size_t)(at - lengths->data);
		bits->len = (size_t)(w->to - bits->data);
	}
	return 0;
}

static int pack(const struct pm_matrix *m, struct buf *lengths, struct buf *bits)
{
	size_t start = lengths->len, kinds = start + 1;
	struct bit_writer w = { 0 };
	bool usual = true;
	uint8_t tail[8];

	if (!m->rows || m->rows > PM_MATRIX_ROWS)
		return -EINVAL;
	if (buf_reserve(lengths, m->n_bands + 1ull))
		return -ENOMEM;
	for (uint32_t b = 0, first = 0; b < m->n_bands; first += m->band[b++].columns)
		usual &= choose_kind(m, b, first, &lengths->data[kinds + b]);
	lengths->data[start] = usual ? 0 : PM_MATRIX_KINDS;
	lengths->len = kinds + (usual ? 0 : m->n_bands);
	for (uint32_t b = 0, first = 0; b < m->n_bands; first += m->band[b++].columns) {
		struct place p = place_of(&m->band[b], first);

		if (!usual)
			set_kind(&p, lengths->data[kinds + b]);
		if (put_band(m, &p, lengths, &w, bits))
			return -ENOMEM;
	}
	store_le64(tail, w.bits);
	buf_add(bits, tail, (w.n + 7) / 8);
	return bits->err;
}

/* ---- unpacking ---- */

struct bit_reader {
	const uint8_t *data;
	size_t len;
	uint64_t at; /* in bits */
};

/* 0 to 63 bits, which are there. */
static uint64_t get_bits(struct bit_reader *in, unsigned n)
{
	size_t byte = in->at / 8, left = in->len - byte;
	unsigned shift = in->at % 8;
	uint8_t near[9] = { 0 };

	if (left)
		memcpy(near, in->data + byte, left < sizeof(near) ? left : sizeof(near));
	in->at += n;
	return (load_le64(near) >> shift | (uint64_t)near[8] << 1 << (63 - shift)) & ~(UINT64_MAX << n);
}

/* Whether so many bits are there, and then some, none of them more than one load away from where it begins. */
static bool is_easy(const struct bit_reader *in, uint64_t bits, unsigned most)
{
	return most <= 57 && in->at + bits + 64 <= in->len * 8ull;
}

/* n residuals from their lengths; *at moves on. */
static bool get_numbers(struct bit_reader *in, const uint8_t **at, const uint8_t *end, uint64_t *x, uint32_t n)
{
	const uint8_t *lengths = *at, *data = in->data;
	uint64_t bits = 0, pos = in->at;
	uint8_t most = 0;

	if ((size_t)(end - lengths) < n)
		return false;
	*at += n;
	for (uint32_t i = 0; i < n; i++) {
		bits += lengths[i] - (lengths[i] != 0);
		most = lengths[i] > most ? lengths[i] : most;
	}
	if (most > 64 || pos + bits > in->len * 8ull)
		return false;
	if (!is_easy(in, bits, most)) {
		for (uint32_t i = 0; i < n; i++)
			x[i] = lengths[i] ?
				       unzigzag(get_bits(in, lengths[i] - 1u) | (uint64_t)1 << (lengths[i] - 1)) :
				       0;
		return true;
	}
	for (uint32_t i = 0, stop; i < n;) {
		stop = n - i < 8 ? n : i + 8;
		/* Most counters stand still most of the time. */
		if (stop == i + 8 && !load_le64(lengths + i)) {
			memset(x + i, 0, 8 * sizeof(*x));
			i = stop;
		}
		for (; i < stop; i++) {
			unsigned any = lengths[i] != 0, below = lengths[i] - any;
			uint64_t bits_of = load_le64(data + pos / 8) >> pos % 8 & (((uint64_t)1 << below) - 1);

			x[i] = unzigzag(bits_of | (uint64_t)any << below);
			pos += below;
		}
	}
	in->at = pos;
	return true;
}

static void get_even(uint64_t *x, uint32_t n, const uint8_t *data, uint64_t pos, unsigned width, uint64_t base)
{
	const uint64_t mask = ((uint64_t)1 << width) - 1;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t at = pos + (uint64_t)i * width;

		x[i] = base + (load_le64(data + at / 8) >> at % 8 & mask);
	}
}

/* The residuals of a column. */
static bool get_column(struct bit_reader *in, const uint8_t **at, const uint8_t *end, uint64_t *x, uint32_t rows)
{
	unsigned width;
	uint64_t base;

	if (rows < EVEN_ROWS || *at == end || !(**at & EVEN))
		return get_numbers(in, at, end, x, rows);
	width = *(*at)++ & ~EVEN;
	if (width > 63 || !get_numbers(in, at, end, &base, 1) || in->at + (uint64_t)width * rows > in->len * 8ull)
		return false;
	if (!is_easy(in, (uint64_t)width * rows, width)) {
		for (uint32_t r = 0; r < rows; r++)
			x[r] = base + get_bits(in, width);
		return true;
	}
	get_even(x, rows, in->data, in->at, width, base);
	in->at += (uint64_t)width * rows;
	return true;
}

static void restore(const struct pm_matrix *m, const struct place *p, uint32_t c, const uint64_t *x)
{
	const size_t column = p->first + c;
	const uint64_t mask = UINT64_MAX >> (64 - p->bits), *other;
	uint64_t *v = m->v + column * m->stride, other_before, last, growth;

	other = others(m, p, c, &other_before);
	last = m->before ? m->before[column] - other_before : 0;
	switch (p->kind) {
	case KIND_DIFFERENCE:
		for (uint32_t r = 0; r < m->rows; r++)
			v[r] = (last += x[r]) & mask;
		break;
	case KIND_NEIGHBOR_CHANGES:
	case KIND_REF_CHANGES:
		for (uint32_t r = 0; r < m->rows; r++)
			v[r] = ((last += x[r]) + (other ? other[r] : 0)) & mask;
		break;
	case KIND_COURSE:
		growth = m->growth && m->before ? m->growth[column] : 0;
		for (uint32_t r = 0; r < m->rows; r++) {
			growth += x[r];
			v[r] = (last + growth) & mask;
			growth = last ? growth : 0;
			last = v[r];
		}
		break;
	default:
		for (uint32_t r = 0; r < m->rows; r++)
			v[r] = (x[r] + (other ? other[r] : 0)) & mask;
	}
}

/* What restore() does, where one row and most columns are: the differences of n columns. */
static void restore_row(const struct pm_matrix *m, const struct place *p, uint32_t c, uint32_t n, const uint64_t *x)
{
	const uint64_t mask = UINT64_MAX >> (64 - p->bits), *before = m->before ? m->before + p->first + c : NULL;
	uint64_t *v = m->v + (p->first + c) * m->stride;

	for (uint32_t k = 0; k < n; k++)
		v[k * m->stride] = ((before ? before[k] : 0) + x[k]) & mask;
}

static int unpack(const struct pm_matrix *m, const void *lengths, size_t len, const void *bits, size_t bits_len)
{
	struct bit_reader in = { .data = bits, .len = bits_len };
	const uint8_t *at = lengths, *end = at + len, *kind;
	uint64_t x[PM_MATRIX_ROWS];
	struct pm_matrix fresh;

	if (!m->rows || m->rows > PM_MATRIX_ROWS || !len || *at > (PM_MATRIX_FRESH | PM_MATRIX_KINDS))
		return -EBADMSG;
	if (*at & PM_MATRIX_FRESH) {
		fresh = *m;
		fresh.before = fresh.growth = NULL;
		m = &fresh;
	}
	kind = *at++ & PM_MATRIX_KINDS ? at : NULL;
	if (kind && (size_t)(end - at) < m->n_bands)
		return -EBADMSG;
	at += kind ? m->n_bands : 0;
	for (uint32_t b = 0, first = 0; b < m->n_bands; first += m->band[b++].columns) {
		struct place p = place_of(&m->band[b], first);

		if (kind && !set_kind(&p, kind[b]))
			return -EBADMSG;
		for (uint32_t c = 0, n; c < p.band->columns; c += n) {
			n = 1;
			if (m->rows == 1 && p.kind == KIND_DIFFERENCE) {
				n = p.band->columns - c < PM_MATRIX_ROWS ? p.band->columns - c : PM_MATRIX_ROWS;
				if (!get_numbers(&in, &at, end, x, n))
					return -EBADMSG;
				restore_row(m, &p, c, n, x);
				continue;
			}
			if (!get_column(&in, &at, end, x, m->rows))
				return -EBADMSG;
			restore(m, &p, c, x);
		}
	}
	/* What fills the last byte is 0. */
	if (at != end || (in.at + 7) / 8 != in.len || get_bits(&in, (unsigned)(in.len * 8 - in.at)))
		return -EBADMSG;
	return 0;
}

/* ---- on CPUs that shift many numbers at once ---- */

#ifdef __x86_64__
#define SHIFTS_MANY (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
#define FOR_MANY    __attribute__((target("avx2,bmi,bmi2,lzcnt"), flatten))
#else
#define SHIFTS_MANY false
#define FOR_MANY
#endif

FOR_MANY static int pack_many(const struct pm_matrix *m, struct buf *lengths, struct buf *bits)
{
	return pack(m, lengths, bits);
}

FOR_MANY static int unpack_many(const struct pm_matrix *m, const void *lengths, size_t len, const void *bits,
				size_t bits_len)
{
	return unpack(m, lengths, len, bits, bits_len);
}

int pm_pack(const struct pm_matrix *m, struct buf *lengths, struct buf *bits)
{
	return SHIFTS_MANY ? pack_many(m, lengths, bits) : pack(m, lengths, bits);
}

int pm_unpack(const struct pm_matrix *m, const void *lengths, size_t len, const void *bits, size_t bits_len)
{
	return SHIFTS_MANY ? unpack_many(m, lengths, len, bits, bits_len) : unpack(m, lengths, len, bits, bits_len);
}
