#include "format/codec/codec_list.h"

enum {
	MODE_ZERO = 0,   /* nothing but zeros */
	MODE_SPARSE = 1, /* runs of zeros; between them numbers with their lengths */
	MODE_FRAME = 2,  /* base and packed bits */
	MODE_RICE = 3,   /* a base, and Rice codes of what exceeds it */
};

#define MODE_BITS   2
#define RUN_BITS    3  /* parameter of the run lengths */
#define LENGTH_BITS 2  /* parameter of the number lengths */
#define WIDTH_BITS  7  /* 0 ... 64 */
#define REST_BITS   6  /* parameter of the Rice codes */
#define RICE_ESCAPE 20 /* after this many ones, the number follows as it is */

static unsigned number_bits(uint64_t x)
{
	return WIDTH_BITS + pm_width_of(pm_zigzag(x));
}

/* Writes the length of a number's zigzag form, and its bits. */
static void put_number(struct bit_writer *w, uint64_t x)
{
	uint64_t z = pm_zigzag(x);

	bits_put(w, pm_width_of(z), WIDTH_BITS);
	bits_put(w, z, pm_width_of(z));
}

static uint64_t get_number(struct bit_reader *r)
{
	unsigned n = (unsigned)bits_get(r, WIDTH_BITS);

	if (n > 64) {
		r->bad = true;
		return 0;
	}
	return pm_unzigzag(bits_get(r, n));
}

static uint64_t magnitude(uint64_t x)
{
	return (int64_t)x < 0 ? -x : x;
}

static unsigned rice_bits(uint64_t x, unsigned rest)
{
	return (unsigned)(x >> rest) + 1 + rest;
}

static void put_ones(struct bit_writer *w, unsigned n)
{
	for (; n > 32; n -= 32)
		bits_put(w, UINT32_MAX, 32);
	bits_put(w, UINT32_MAX, n);
}

/* Only for numbers that are known to be small. */
static void put_rice(struct bit_writer *w, uint64_t x, unsigned rest)
{
	put_ones(w, (unsigned)(x >> rest));
	bits_put(w, 0, 1);
	bits_put(w, x, rest);
}

static uint64_t get_rice(struct bit_reader *r, unsigned rest, unsigned limit)
{
	uint64_t high = bits_unary(r, (limit >> rest) + 1);

	return high << rest | bits_get(r, rest);
}

/* ---- sparse ---- */

/* The best parameter for numbers of which count[] gives the frequencies, and the bits that they take. */
static unsigned best_rice(const uint8_t *count, unsigned limit, unsigned bits, unsigned *parameter)
{
	unsigned least = UINT32_MAX;

	for (unsigned k = 0; k < 1u << bits; k++) {
		unsigned cost = 0;

		for (unsigned x = 0; x <= limit; x++)
			cost += count[x] * rice_bits(x, k);
		if (cost < least) {
			least = cost;
			*parameter = k;
		}
	}
	return least;
}

static void measure_sparse(struct pm_list_cost *best, const uint64_t *x, size_t n)
{
	struct pm_list_cost cost = { .mode = MODE_SPARSE, .bits = MODE_BITS + RUN_BITS + LENGTH_BITS };
	uint8_t runs[PM_BLOCK + 1] = { 0 }, lengths[64] = { 0 };
	unsigned start = 0, longest = 0, widest = 0;

	for (unsigned i = 0; i <= n && start < n; i++) {
		unsigned length;

		if (i < n && !x[i])
			continue;
		runs[i - start]++;
		longest = i - start > longest ? i - start : longest;
		start = i + 1;
		if (i == n)
			break;
		length = pm_width_of(magnitude(x[i])) - 1;
		lengths[length]++;
		widest = length > widest ? length : widest;
		cost.bits += 1 + length;
	}
	cost.bits += best_rice(runs, longest, RUN_BITS, &cost.a) + best_rice(lengths, widest, LENGTH_BITS, &cost.b);
	if (cost.bits < best->bits)
		*best = cost;
}

static void put_sparse(struct bit_writer *w, const struct pm_list_cost *cost, const uint64_t *x, size_t n)
{
	bits_put(w, cost->a, RUN_BITS);
	bits_put(w, cost->b, LENGTH_BITS);
	for (size_t i = 0, start = 0; i <= n; i++) {
		unsigned length;

		if (i < n && !x[i])
			continue;
		put_rice(w, i - start, cost->a);
		start = i + 1;
		if (i == n)
			break;
		length = pm_width_of(magnitude(x[i])) - 1;
		put_rice(w, length, cost->b);
		bits_put(w, (int64_t)x[i] < 0, 1);
		bits_put(w, magnitude(x[i]), length);
		if (start == n)
			break;
	}
}

static void get_sparse(struct bit_reader *r, uint64_t *x, size_t n)
{
	unsigned a = (unsigned)bits_get(r, RUN_BITS), b = (unsigned)bits_get(r, LENGTH_BITS);

	memset(x, 0, n * sizeof(*x));
	for (size_t i = 0; i < n && !r->bad; i++) {
		uint64_t run = get_rice(r, a, PM_BLOCK), length, sign;

		if (run > n - i) {
			r->bad = true;
			return;
		}
		i += run;
		if (i == n)
			return;
		length = get_rice(r, b, 63);
		if (length > 63) {
			r->bad = true;
			return;
		}
		sign = bits_get(r, 1);
		x[i] = bits_get(r, (unsigned)length) | (uint64_t)1 << length;
		if (sign)
			x[i] = -x[i];
	}
}

/* ---- frame of reference, Rice codes ---- */

static void measure_frame(struct pm_list_cost *best, uint64_t lo, uint64_t hi, size_t n)
{
	struct pm_list_cost cost = { .mode = MODE_FRAME, .a = pm_width_of(hi - lo), .base = lo };

	/* 7: at most, to the next byte boundary */
	cost.bits = MODE_BITS + number_bits(lo) + WIDTH_BITS + 7 + 8 * (unsigned)pm_packed_size(n, cost.a);
	if (cost.bits < best->bits)
		*best = cost;
}

static void measure_rice(struct pm_list_cost *best, const uint64_t *x, uint64_t lo, uint64_t hi, size_t n)
{
	struct pm_list_cost cost = { .mode = MODE_RICE, .base = lo };
	uint64_t sum = 0;

	if ((hi - lo) >> 56)
		return; /* the sum might overflow, and the gain would be small */
	for (size_t i = 0; i < n; i++)
		sum += x[i] - lo;
	/* The best parameter is close to the length of the mean. */
	cost.a = pm_width_of(sum / n);
	cost.a = cost.a > 1 ? cost.a - 1 : 0;
	cost.bits = MODE_BITS + REST_BITS + number_bits(lo) + (unsigned)n * (1 + cost.a);
	for (size_t i = 0; i < n; i++) {
		uint64_t above = x[i] - lo, high = above >> cost.a;

		cost.bits += high < RICE_ESCAPE ? (unsigned)high :
						  RICE_ESCAPE + WIDTH_BITS + pm_width_of(above) - 1 - cost.a;
	}
	if (cost.bits < best->bits)
		*best = cost;
}

static void put_numbers(struct bit_writer *w, const struct pm_list_cost *cost, const uint64_t *x, size_t n)
{
	bits_put(w, cost->a, REST_BITS);
	put_number(w, cost->base);
	for (size_t i = 0; i < n; i++) {
		uint64_t above = x[i] - cost->base;

		if (above >> cost->a < RICE_ESCAPE) {
			put_rice(w, above, cost->a);
		} else {
			put_ones(w, RICE_ESCAPE);
			bits_put(w, pm_width_of(above), WIDTH_BITS);
			bits_put(w, above, pm_width_of(above));
		}
	}
}

static void get_numbers(struct bit_reader *r, uint64_t *x, size_t n)
{
	unsigned rest = (unsigned)bits_get(r, REST_BITS);
	uint64_t base = get_number(r);

	for (size_t i = 0; i < n && !r->bad; i++) {
		unsigned high = 0;

		while (high < RICE_ESCAPE && bits_get(r, 1))
			high++;
		if (high < RICE_ESCAPE) {
			x[i] = base + ((uint64_t)high << rest | bits_get(r, rest));
		} else {
			unsigned width = (unsigned)bits_get(r, WIDTH_BITS);

			if (width > 64) {
				r->bad = true;
				return;
			}
			x[i] = base + bits_get(r, width);
		}
	}
}

static void get_frame(struct bit_reader *r, const struct pm_kernel *k, uint64_t *x, size_t n)
{
	uint8_t tail[PM_BLOCK * 8 + PM_SLACK];
	uint64_t base = get_number(r);
	unsigned width = (unsigned)bits_get(r, WIDTH_BITS);
	size_t size = pm_packed_size(n, width);
	const uint8_t *in;

	if (width > 64) {
		r->bad = true;
		return;
	}
	in = bits_bytes(r, size);
	if (!in)
		return;
	if ((size_t)(r->end - in) < size + PM_SLACK) {
		memset(tail + size, 0, PM_SLACK);
		memcpy(tail, in, size);
		in = tail;
	}
	k->unpack(x, in, n, 0, base, width, 0, 0, NULL, UINT64_MAX);
}

/* ---- all of them ---- */

struct pm_list_cost pm_list_measure(const uint64_t *x, size_t n)
{
	struct pm_list_cost best = { .bits = MODE_BITS, .mode = MODE_ZERO };
	int64_t lo = INT64_MAX, hi = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		lo = (int64_t)x[i] < lo ? (int64_t)x[i] : lo;
		hi = (int64_t)x[i] > hi ? (int64_t)x[i] : hi;
	}
	if (!lo && !hi)
		return best;
	best.bits = UINT32_MAX;
	measure_sparse(&best, x, n);
	measure_frame(&best, (uint64_t)lo, (uint64_t)hi, n);
	measure_rice(&best, x, (uint64_t)lo, (uint64_t)hi, n);
	return best;
}

int pm_list_put(struct bit_writer *w, const struct pm_kernel *k, const struct pm_list_cost *cost, const uint64_t *x,
		size_t n)
{
	bits_put(w, cost->mode, MODE_BITS);
	switch (cost->mode) {
	case MODE_SPARSE:
		put_sparse(w, cost, x, n);
		break;
	case MODE_FRAME:
		put_number(w, cost->base);
		bits_put(w, cost->a, WIDTH_BITS);
		bits_align(w);
		if (buf_reserve(w->out, pm_packed_size(n, cost->a) + PM_SLACK))
			return w->out->err;
		k->pack(w->out->data + w->out->len, &(struct pm_series){ .v = x, .n = n }, 0, cost->base, cost->a);
		w->out->len += pm_packed_size(n, cost->a);
		break;
	case MODE_RICE:
		put_numbers(w, cost, x, n);
		break;
	default:
		break;
	}
	return w->out->err;
}

void pm_list_get(struct bit_reader *r, const struct pm_kernel *k, uint64_t *x, size_t n)
{
	switch (bits_get(r, MODE_BITS)) {
	case MODE_SPARSE:
		get_sparse(r, x, n);
		break;
	case MODE_FRAME:
		get_frame(r, k, x, n);
		break;
	case MODE_RICE:
		get_numbers(r, x, n);
		break;
	default:
		memset(x, 0, n * sizeof(*x));
		break;
	}
}
