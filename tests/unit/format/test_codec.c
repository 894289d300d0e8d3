/* What is packed comes out again, whatever the shape of the numbers, by all kernels; malformed bytes do not. */
#include <float.h>

#include "format/codec/codec.h"
#include "format/codec/codec_list.h"
#include "tests/unit/lib/test.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define UNTOUCHED     0xa5a5a5a5a5a5a5a5u

static uint64_t seed = 1;

static uint64_t next_random(void)
{
	uint64_t z = seed += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t n)
{
	return next_random() % n;
}

static uint64_t mask_of(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* A matrix that owns all it points to. */
struct sample {
	struct pm_matrix m;
	struct pm_band *band;
	uint64_t *tick, *before, *growth;
	size_t columns;
};

static void sample_init(struct sample *s, const struct pm_band *band, uint32_t n_bands, uint32_t rows, size_t stride,
			bool with_before)
{
	memset(s, 0, sizeof(*s));
	s->band = calloc(n_bands ? n_bands : 1, sizeof(*band));
	assert_non_null(s->band);
	if (n_bands)
		memcpy(s->band, band, n_bands * sizeof(*band));
	for (uint32_t b = 0; b < n_bands; b++)
		s->columns += band[b].columns;
	s->tick = malloc(rows * sizeof(uint64_t));
	s->before = malloc((s->columns + 1) * sizeof(uint64_t));
	s->growth = calloc(s->columns + 1, sizeof(uint64_t));
	s->m = (struct pm_matrix){
		.band = s->band,
		.n_bands = n_bands,
		.rows = rows,
		.stride = stride,
		.v = malloc((s->columns * stride + 1) * sizeof(uint64_t)),
		.tick = s->tick,
		.before = with_before ? s->before : NULL,
		.growth = with_before ? s->growth : NULL,
		.before_tick = 990000000,
	};
	assert_non_null(s->tick);
	assert_non_null(s->before);
	assert_non_null(s->growth);
	assert_non_null(s->m.v);
	for (size_t i = 0; i < s->columns * stride; i++)
		s->m.v[i] = UNTOUCHED;
	for (uint32_t r = 0; r < rows; r++)
		s->tick[r] = 1000000000 + r * (uint64_t)10000000;
}

static void sample_release(struct sample *s)
{
	free(s->band);
	free(s->tick);
	free(s->before);
	free(s->growth);
	free(s->m.v);
}

static uint64_t *cell(struct sample *s, size_t column, size_t row)
{
	return &s->m.v[column * s->m.stride + row];
}

/* How the numbers of a band run. */
enum shape {
	CONSTANT, /* the same number for ever */
	NOISE,    /* around a level */
	COUNTER,  /* up by about as much each time */
	SLOPE,    /* up by more each time */
	ALIKE,    /* as the column beside it, with a little noise */
	NEAR_REF, /* the reference and a jitter */
	REF_WALK, /* the reference and a slowly growing distance */
	WILD,     /* all bits random */
	EXTREMES, /* 0 and the highest number */
	RARE,     /* mostly still */
	OVERFLOW, /* wider than the band says */
	ABOVE,    /* every other column a counter whose start is */
	SHAPES
};

static void fill_band(struct sample *s, uint32_t band, uint32_t first, enum shape shape, unsigned noise_bits)
{
	const struct pm_band *b = &s->band[band];
	uint64_t mask = mask_of(b->bits), noise = mask_of(noise_bits) & mask, level, step, grow;

	for (uint32_t c = 0; c < b->columns; c++) {
		size_t column = first + c;
		size_t ref = (size_t)b->ref_first + (b->ref_columns == 1 ? 0 : c);

		level = next_random() & mask;
		step = next_random() & mask >> 20;
		grow = next_random() & mask >> 40;
		for (long r = -1; r < (long)s->m.rows; r++) {
			uint64_t jitter = noise ? next_random() & noise : 0, other = 0, x;

			if (b->ref_first == PM_REF_TICK)
				other = r < 0 ? s->m.before_tick : s->tick[r];
			else if (b->ref_first != PM_NO_REF)
				other = r < 0 ? s->before[ref] : *cell(s, ref, (size_t)r);
			switch (shape) {
			case NOISE:
				x = level + jitter;
				break;
			case COUNTER:
				x = level += step + jitter;
				break;
			case SLOPE:
				step += grow + jitter;
				x = level += step;
				break;
			case ALIKE:
				level += step + (c ? 0 : next_random() & mask >> 4);
				x = c ? (r < 0 ? s->before[column - 1] : *cell(s, column - 1, (size_t)r)) + jitter :
					level;
				break;
			case NEAR_REF:
				x = other + jitter;
				break;
			case REF_WALK:
				level += jitter;
				x = other + level;
				break;
			case WILD:
				x = next_random();
				break;
			case EXTREMES:
				x = next_random() & 1 ? UINT64_MAX : 0;
				break;
			case RARE:
				if (!below(20))
					level += jitter;
				x = level;
				break;
			case ABOVE:
				if (r < 0 && c % 2)
					level |= (uint64_t)1 << 63;
				x = level += step + jitter;
				if (c % 2 == 0)
					break;
				if (r < 0)
					s->before[column] = x;
				else
					*cell(s, column, (size_t)r) = x;
				continue;
			case OVERFLOW:
				s->before[column] = x = next_random() >> below(64);
				if (r >= 0)
					*cell(s, column, (size_t)r) = x;
				continue;
			default:
				x = level;
			}
			if (r < 0)
				s->before[column] = x & mask;
			else
				*cell(s, column, (size_t)r) = x & mask;
		}
		/* What it goes on by, and sometimes anything. */
		s->growth[column] = below(9) ? *cell(s, column, 0) - s->before[column] + (noise & 3) : next_random();
	}
}

/* Unpacks into fresh memory and compares. */
static void check_unpack(struct pm_packer *p, struct sample *s, const struct buf *packed)
{
	struct pm_matrix m = s->m;

	m.stride = s->m.rows + below(3);
	m.v = malloc((s->columns * m.stride + 1) * sizeof(uint64_t));
	assert_non_null(m.v);
	for (size_t i = 0; i < s->columns * m.stride; i++)
		m.v[i] = UNTOUCHED;
	assert_int_equal(pm_unpack(p, &m, packed->data, packed->len), 0);
	for (size_t c = 0; c < s->columns; c++)
		for (size_t r = 0; r < m.stride; r++)
			assert_true(m.v[c * m.stride + r] == (r < m.rows ? *cell(s, c, r) : UNTOUCHED));
	free(m.v);
}

#define LEVELS 3

/* Packs at every level, compares the bytes, unpacks at every level; returns the size. */
static size_t round_trip(struct pm_packer *p, struct sample *s)
{
	struct buf packed[LEVELS + 1] = { BUF_INIT };
	size_t size;

	for (int level = 1; level <= LEVELS; level++) {
		pm_packer_force(p, level);
		buf_addch(&packed[level], '!');
		assert_int_equal(pm_pack(p, &s->m, &packed[level]), 0);
		assert_int_equal(packed[level].len, packed[1].len);
		assert_memory_equal(packed[level].data, packed[1].data, packed[1].len);
	}
	size = packed[1].len - 1;
	for (int level = 1; level <= LEVELS; level++) {
		/* A copy of exactly the right size, so that the sanitizer sees every byte read behind it. */
		struct buf exact = { .data = malloc(size), .len = size };

		assert_non_null(exact.data);
		memcpy(exact.data, packed[level].data + 1, size);
		pm_packer_force(p, level);
		check_unpack(p, s, &exact);
		free(exact.data);
		buf_release(&packed[level]);
	}
	pm_packer_force(p, 0);
	return size;
}

/* Doubles as sensors give them, and such as no grain has. */
enum { QUARTERS, THOUSANDTHS, FLOATS, ALL_DIGITS, HUGE_STEPS, ODDITIES, DOUBLES };

static uint64_t double_of(unsigned nature, double walk)
{
	static const double odd[] = { -0.0,    NAN,     -NAN,     INFINITY,  -INFINITY, 5e-324,   DBL_MIN,
				      DBL_MAX, 0x1p51,  -0x1p51,  0x1p53,    0,         1,        -1e22,
				      1e-22,   0x1p104, 0x1p-127, 0.1 + 0.2, 1e300,     0x1p-128, -5e-20 };
	uint64_t bits;
	double v;

	switch (nature) {
	case QUARTERS:
		v = floor(walk) / 4;
		break;
	case THOUSANDTHS:
		v = floor(walk * 100) / 1000;
		break;
	case FLOATS:
		v = (float)(walk / 7);
		break;
	case ALL_DIGITS:
		v = walk / 7;
		break;
	case HUGE_STEPS:
		v = floor(walk) * 0x1p90;
		break;
	default:
		v = odd[below(ARRAY_SIZE(odd))];
	}
	memcpy(&bits, &v, sizeof(bits));
	/* Any NaN, with whatever bits below. */
	return nature == ODDITIES && v != v ? bits | below(1u << 31) : bits;
}

/* A walk around 100 in each column, a new one at each tenth row. */
static void fill_doubles(struct sample *s, uint32_t first, uint32_t columns, unsigned nature)
{
	for (uint32_t c = first; c < first + columns; c++) {
		double walk = 80 + (double)below(40);

		for (uint32_t r = 0; r <= s->m.rows; r++) {
			walk += (double)below(1000) / 500 - 1;
			*(r ? cell(s, c, r - 1) : &s->before[c]) =
				double_of(nature == ODDITIES && below(4) ? QUARTERS : nature, walk);
		}
		s->growth[c] = next_random();
	}
}

/* The most bits a number that each kind may take, at 100 rows and at one, of 100 columns; what no grain has costs what
 * its bits cost without one. */
static void test_doubles(void **state)
{
	static const struct {
		double most[2];
	} want[DOUBLES] = {
		[QUARTERS] = { { 5, 8 } },     [THOUSANDTHS] = { { 10, 12 } }, [FLOATS] = { { 26, 30 } },
		[ALL_DIGITS] = { { 60, 64 } }, [HUGE_STEPS] = { { 5, 8 } },    [ODDITIES] = { { 70, 70 } },
	};
	struct pm_packer *p = pm_packer_new();

	for (unsigned nature = 0; nature < DOUBLES; nature++) {
		for (int few = 0; few < 2; few++) {
			struct pm_band band = { .columns = 100, .bits = 64, .real = true, .ref_first = PM_NO_REF };
			uint32_t rows = few ? 1 : 100;
			struct sample s;
			size_t with, without;

			sample_init(&s, &band, 1, rows, rows, true);
			fill_doubles(&s, 0, 100, nature);
			with = round_trip(p, &s);
			s.band[0].real = false;
			without = round_trip(p, &s);
			assert_true((double)with * 8 / 100 / rows <= want[nature].most[few]);
			assert_true(with <= without);
			if (nature != ALL_DIGITS && nature != ODDITIES)
				assert_true(with < without * 3 / 4);
			sample_release(&s);
		}
	}
	for (unsigned round = 0; round < 600; round++) {
		uint32_t columns = 1 + (uint32_t)below(20), rows = 1 + (uint32_t)below(below(2) ? 3 : 128);
		const struct pm_band bands[] = {
			{ .columns = 3, .bits = 64, .ref_first = PM_REF_TICK },
			{ .columns = columns, .bits = 64, .real = true, .ref_first = PM_NO_REF },
			{ .columns = 2, .bits = 32, .ref_first = PM_NO_REF },
			{ .columns = 9, .bits = 64, .real = true, .ref_first = PM_NO_REF },
		};
		struct sample s;

		sample_init(&s, bands, ARRAY_SIZE(bands), rows, rows + below(3), below(2));
		fill_band(&s, 0, 0, NEAR_REF, 9);
		for (uint32_t c = 0; c < columns; c++)
			fill_doubles(&s, 3 + c, 1, (unsigned)below(DOUBLES));
		fill_band(&s, 2, 3 + columns, (enum shape)below(SHAPES), 9);
		fill_doubles(&s, 5 + columns, 9, (unsigned)below(DOUBLES));
		round_trip(p, &s);
		sample_release(&s);
	}
	pm_packer_free(p);
}

/* Damaged bytes give an error or numbers, never more. The sanitizer watches. */
static void test_damage(void **state)
{
	const struct pm_band bands[] = {
		{ .columns = 4, .bits = 64, .ref_first = PM_REF_TICK },
		{ .columns = 4, .bits = 64, .ref_first = 0, .ref_columns = 4 },
		{ .columns = 4, .bits = 32, .ref_first = PM_NO_REF },
		{ .columns = 1, .bits = 64, .ref_first = 8, .ref_columns = 1 },
		{ .columns = 9, .bits = 64, .real = true, .ref_first = PM_NO_REF },
	};
	struct pm_packer *p = pm_packer_new();
	unsigned refused = 0, taken = 0;

	for (unsigned round = 0; round < 300; round++) {
		uint32_t rows = round % 2 ? 1 + (uint32_t)below(15) : 16 + (uint32_t)below(113);
		/* With real numbers, and as columns or rows without. */
		uint32_t n = round % 3 ? ARRAY_SIZE(bands) : ARRAY_SIZE(bands) - 1;
		struct buf packed = BUF_INIT;
		struct sample s;

		sample_init(&s, bands, n, rows, rows, round & 2);
		for (uint32_t b = 0, first = 0; b < n; first += bands[b++].columns)
			fill_band(&s, b, first, (enum shape)below(SHAPES), (unsigned)below(30));
		if (round % 3)
			fill_doubles(&s, 13, 9, (unsigned)below(FLOATS));
		assert_int_equal(pm_pack(p, &s.m, &packed), 0);
		assert_int_equal(!(packed.data[0] & 32), round % 3 == 0);
		for (size_t cut = 0; cut <= packed.len; cut++) {
			uint8_t *copy = malloc(cut ? cut : 1);

			assert_non_null(copy);
			memcpy(copy, packed.data, cut);
			pm_packer_force(p, 1 + (int)(cut % LEVELS));
			assert_int_equal(pm_unpack(p, &s.m, copy, cut), cut == packed.len ? 0 : -EBADMSG);
			free(copy);
		}
		for (unsigned flip = 0; flip < 200; flip++) {
			uint8_t *copy = malloc(packed.len + 1);
			size_t at = below(2) ? below(packed.len) : below(packed.len < 40 ? packed.len : 40);
			int err;

			assert_non_null(copy);
			memcpy(copy, packed.data, packed.len);
			copy[at] = (uint8_t)(below(2) ? next_random() : (uint64_t)copy[at] ^ 1u << below(8));
			pm_packer_force(p, 1 + (int)(flip % LEVELS));
			err = pm_unpack(p, &s.m, copy, packed.len);
			assert_true(err == 0 || err == -EBADMSG);
			if (err)
				refused++;
			else
				taken++;
			free(copy);
		}
		buf_release(&packed);
		sample_release(&s);
	}
	print_message("%u flips refused, %u gave other numbers (or the same)\n", refused, taken);
	assert_true(refused && taken);
	pm_packer_free(p);
}

static size_t list_round_trip(const struct pm_list_cost *cost, const uint64_t *x, size_t n)
{
	struct buf bytes = BUF_INIT;
	struct bit_writer w = { .out = &bytes };
	struct bit_reader r;
	uint64_t got[PM_BLOCK];
	size_t len;

	assert_int_equal(pm_list_put(&w, &pm_kernel_portable, cost, x, n), 0);
	bits_align(&w);
	len = bytes.len;
	assert_int_equal(buf_reserve(&bytes, PM_SLACK), 0);
	r = (struct bit_reader){ .p = (uint8_t *)bytes.data, .end = (uint8_t *)bytes.data + len };
	pm_list_get(&r, &pm_kernel_portable, got, n);
	assert_false(r.bad);
	assert_memory_equal(got, x, n * sizeof(*x));
	buf_release(&bytes);
	return len;
}

/* A list takes the bytes that it was said to take, wherever one of its numbers ends: 20 ones in front of a number mean
 * that it follows as it is, in up to 64 bits. */
static void test_lists(void **state)
{
	const struct pm_list_cost rice = { .mode = 3 };
	uint64_t x[PM_BLOCK];

	for (unsigned shape = 0; shape < 3; shape++)
		for (uint64_t far = 1; far < 400; far++) {
			struct pm_list_cost cost;
			size_t len, n = PM_BLOCK - below(20);

			for (size_t i = 0; i < n; i++)
				x[i] = shape == 0 ? below(4) : shape == 1 ? 0 : below(far + 1) - far;
			x[n / 2] = far;
			cost = pm_list_measure(x, n);
			len = list_round_trip(&cost, x, n);
			/* Packed bits begin at a byte; what is left before is counted as the most it can be. */
			assert_int_equal(len, (cost.bits + (cost.mode == 2 ? 0 : 7)) / 8);
		}
	for (uint64_t far = 1; far < 40; far++)
		list_round_trip(&rice, &far, 1);
	for (unsigned bits = 1; bits <= 64; bits++)
		list_round_trip(&rice, (uint64_t[]){ mask_of(bits) }, 1);
}

/* What is fresh was packed without a history, whatever the reader knows. */
static void test_fresh(void **state)
{
	const struct pm_band bands[] = {
		{ .columns = 4, .bits = 64, .ref_first = PM_REF_TICK },
		{ .columns = 5, .bits = 48, .ref_first = PM_NO_REF },
	};
	struct pm_packer *p = pm_packer_new();

	for (uint32_t rows = 1; rows < 60; rows += 13) {
		struct buf packed = BUF_INIT;
		struct sample s;

		sample_init(&s, bands, ARRAY_SIZE(bands), rows, rows, false);
		fill_band(&s, 0, 0, REF_WALK, 9);
		fill_band(&s, 1, 4, COUNTER, 9);
		assert_int_equal(pm_pack(p, &s.m, &packed), 0);
		packed.data[0] |= PM_FORM_FRESH;
		for (size_t c = 0; c < s.columns; c++)
			s.before[c] = s.growth[c] = 12345 + c;
		s.m.before = s.before;
		s.m.growth = s.growth;
		check_unpack(p, &s, &packed);
		buf_release(&packed);
		sample_release(&s);
	}
	pm_packer_free(p);
}

/* The worked examples of SPEC.md, "Packed columns", both ways. */
static void check_example(const struct pm_matrix *m, size_t cells, const uint8_t *bytes, size_t len)
{
	struct pm_packer *p = pm_packer_new();
	struct pm_matrix copy = *m;
	struct buf packed = BUF_INIT;
	uint64_t v[32];

	assert_in_range(cells, 1, ARRAY_SIZE(v));
	for (int level = 1; level <= LEVELS; level++) {
		pm_packer_force(p, level);
		buf_clear(&packed);
		assert_int_equal(pm_pack(p, m, &packed), 0);
		assert_int_equal(packed.len, len);
		assert_memory_equal(packed.data, bytes, len);
		memset(v, 0, sizeof(v));
		copy.v = v;
		assert_int_equal(pm_unpack(p, &copy, bytes, len), 0);
		assert_memory_equal(v, m->v, cells * sizeof(*v));
	}
	buf_release(&packed);
	pm_packer_free(p);
}

static uint64_t bits_of(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

/* Grains that are not those of the columns, and numbers that no writer has. */
static void test_bad_grains(void **state)
{
	static const struct {
		uint8_t bytes[12];
		uint8_t len;
		int err;
	} cases[] = {
		{ { 0x21, 0x01, 0x01, 0x00 }, 4, 0 }, /* one column, in mode zero */
		{ { 0x21, 0x00, 0x01, 0x00 }, 4, 0 },
		{ { 0x21, 0xff, 0x01, 0x00 }, 4, 0 },
		{ { 0x21, 0x01, 0x00, 0x00 }, 4, -EBADMSG },
		{ { 0x21, 0x01, 0x02, 0x00 }, 4, -EBADMSG },
		{ { 0x21, 0x01 }, 2, -EBADMSG },
		{ { 0x21 }, 1, -EBADMSG },
		{ { 0x41, 0x01, 0x01, 0x00 }, 4, -EBADMSG },
	};
	struct pm_band band = { .columns = 1, .bits = 64, .real = true, .ref_first = PM_NO_REF };
	const uint64_t tick = 1, limit = (uint64_t)1 << 51;
	struct pm_packer *p = pm_packer_new();
	uint64_t v;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pm_matrix m = {
			.band = &band, .n_bands = 1, .rows = 1, .stride = 1, .v = &v, .tick = &tick
		};

		assert_int_equal(pm_unpack(p, &m, cases[i].bytes, cases[i].len), cases[i].err);
		band.real = false;
		assert_int_equal(pm_unpack(p, &m, cases[i].bytes, cases[i].len), -EBADMSG);
		band.real = true;
	}
	/* A course from the row before on, which does not grow: 8 columns, kind 6, mode zero. */
	{
		static const struct pm_band eight = {
			.columns = 8, .bits = 64, .real = true, .ref_first = PM_NO_REF
		};
		static const uint8_t course[] = { 0x21, 0x01, 0x08, 0x06 };
		uint64_t before[8], growth[8], after[8];
		const struct pm_matrix m = {
			.band = &eight,
			.n_bands = 1,
			.rows = 1,
			.stride = 1,
			.v = after,
			.tick = &tick,
			.before = before,
			.growth = growth,
		};

		for (int c = 0; c < 8; c++) {
			before[c] = bits_of(c - 3);
			growth[c] = next_random();
		}
		assert_int_equal(pm_unpack(p, &m, course, sizeof(course)), 0);
		assert_memory_equal(after, before, sizeof(before));
	}
	/* Whole numbers of either side of the limit: a matrix of integers, with the grain put before it. */
	for (int k = 0; k < 4; k++) {
		uint64_t number = (uint64_t[]){ limit - 1, limit, -(limit - 1), -limit }[k];
		const struct pm_matrix m = {
			.band = &band, .n_bands = 1, .rows = 1, .stride = 1, .v = &number, .tick = &tick
		};
		struct buf packed = BUF_INIT, whole = BUF_INIT;

		band.real = false;
		assert_int_equal(pm_pack(p, &m, &packed), 0);
		band.real = true;
		buf_addch(&whole, 0x21);
		buf_addch(&whole, 1);
		buf_addch(&whole, 1);
		buf_add(&whole, packed.data + 1, packed.len - 1);
		assert_int_equal(pm_unpack(p, &m, whole.data, whole.len), k % 2 ? -EBADMSG : 0);
		if (k % 2 == 0)
			assert_true(number == bits_of(k ? -(double)(limit - 1) : (double)(limit - 1)));
		buf_release(&packed);
		buf_release(&whole);
	}
	pm_packer_free(p);
}

static void test_examples(void **state)
{
	static const struct pm_band one = { .columns = 1, .bits = 64, .ref_first = PM_NO_REF };
	static const struct pm_band three[] = {
		{ .columns = 1, .bits = 64, .ref_first = PM_REF_TICK, .ref_columns = 1 },
		{ .columns = 1, .bits = 64, .ref_first = 0, .ref_columns = 1 },
		{ .columns = 6, .bits = 64, .ref_first = PM_NO_REF },
	};
	static const uint8_t along_time[] = { 0x00, 0x01, 0x01, 0x14, 0xbc, 0x0f, 0x54, 0x52 };
	static const uint8_t across[] = { 0x01, 0x01, 0xca, 0xe5, 0x01 };
	static const struct pm_band real = { .columns = 3, .bits = 64, .real = true, .ref_first = PM_NO_REF };
	static const uint8_t grains[] = { 0x21, 0x03, 0x03, 0x21, 0x33, 0x2b, 0x01 };
	const uint64_t real_before[] = { bits_of(20.5), bits_of(-1), bits_of(36.6) };
	uint64_t real_row[] = { bits_of(20.25), bits_of(-1), bits_of(36.7) };
	static const uint64_t before[] = { 990041, 990050, 5, 70, 6, 300, 0, 12 };
	uint64_t counter[] = { 1000, 1010, 1021, 1031, 1042, 1052, 1063, 1073,
			       1083, 1094, 1104, 1114, 1125, 1135, 1146, 1156 };
	uint64_t row[] = { 1000040, 1000052, 5, 70, 9, 300, 0, 12 }, tick[16] = { 1000000 };
	const struct pm_matrix first = {
		.band = &one, .n_bands = 1, .rows = 16, .stride = 16, .v = counter, .tick = tick
	};
	const struct pm_matrix second = {
		.band = three,
		.n_bands = 3,
		.rows = 1,
		.stride = 1,
		.v = row,
		.tick = tick,
		.before = before,
		.before_tick = 990000,
	};
	const struct pm_matrix third = {
		.band = &real,
		.n_bands = 1,
		.rows = 1,
		.stride = 1,
		.v = real_row,
		.tick = tick,
		.before = real_before,
	};

	check_example(&first, 16, along_time, sizeof(along_time));
	check_example(&second, 8, across, sizeof(across));
	check_example(&third, 3, grains, sizeof(grains));
}

/* A row in which nothing happened costs next to nothing, and one in which little happened little. */
static void test_quiet_row(void **state)
{
	const struct pm_band bands[] = {
		{ .columns = 1, .bits = 64, .ref_first = PM_REF_TICK, .ref_columns = 1 },
		{ .columns = 1, .bits = 64, .ref_first = 0, .ref_columns = 1 },
		{ .columns = 500, .bits = 64, .ref_first = PM_NO_REF },
		{ .columns = 2, .bits = 64, .ref_first = PM_NO_REF },
		{ .columns = 2, .bits = 64, .ref_first = PM_NO_REF },
	};
	struct pm_packer *p = pm_packer_new();
	struct sample s;

	sample_init(&s, bands, ARRAY_SIZE(bands), 1, 1, true);
	s.before[0] = s.m.before_tick + 5;
	s.before[1] = s.m.before_tick + 9;
	*cell(&s, 0, 0) = s.tick[0] + 5;
	*cell(&s, 1, 0) = s.tick[0] + 9;
	for (size_t c = 2; c < s.columns; c++)
		*cell(&s, c, 0) = s.before[c] = next_random();
	assert_in_range(round_trip(p, &s), 1, 4);
	for (size_t c = 2; c < s.columns; c += 50)
		*cell(&s, c, 0) += 1000;
	/* Ten bits and a sign, their length, and where they are. */
	assert_in_range(round_trip(p, &s), 1, 40);
	sample_release(&s);
	pm_packer_free(p);
}

/* A block has 1 to 128 rows, whatever bytes come with it, and a first byte. */
static void test_rows(void **state)
{
	static const uint32_t rows[] = { 1, PM_BLOCK, 0, PM_BLOCK + 1 };
	const struct pm_band band = { .columns = 1, .bits = 64, .ref_first = PM_NO_REF };
	uint64_t v[PM_BLOCK + 1] = { 0 }, tick[PM_BLOCK + 1] = { 0 };
	struct pm_packer *p = pm_packer_new();
	struct buf bytes = BUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct pm_matrix m = {
			.band = &band, .n_bands = 1, .rows = rows[i], .stride = PM_BLOCK + 1, .v = v, .tick = tick
		};
		bool fits = i < 2;

		if (fits)
			buf_clear(&bytes);
		assert_int_equal(pm_pack(p, &m, &bytes), fits ? 0 : -EINVAL);
		/* Those of the last that fit, which say so little that more rows could be read from them. */
		assert_int_equal(pm_unpack(p, &m, bytes.data, bytes.len), fits ? 0 : -EBADMSG);
		assert_int_equal(pm_unpack(p, &m, bytes.data, 0), -EBADMSG);
	}
	buf_release(&bytes);
	pm_packer_free(p);
}

UNIT_TESTS(cmocka_unit_test(test_rows), cmocka_unit_test(test_examples), cmocka_unit_test(test_quiet_row),
	   cmocka_unit_test(test_damage), cmocka_unit_test(test_fresh), cmocka_unit_test(test_lists),
	   cmocka_unit_test(test_doubles), cmocka_unit_test(test_bad_grains))
