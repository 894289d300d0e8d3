/* What is packed comes out again, whatever the shape of the numbers; malformed bytes do not. */
#include "format/codec/codec.h"
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

/* A matrix in bytes: copies of exactly the right size, so that the sanitizer sees every byte read behind them. */
struct packed {
	uint8_t *lengths, *bits;
	size_t len, n_bits;
};

static uint8_t *exact(const void *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	if (len)
		memcpy(copy, data, len);
	return copy;
}

static struct packed pack(const struct pm_matrix *m)
{
	struct buf lengths = BUF_INIT, bits = BUF_INIT;
	struct packed p;

	/* It appends. */
	buf_addch(&lengths, '!');
	buf_addch(&bits, '!');
	assert_int_equal(pm_pack(m, &lengths, &bits), 0);
	p = (struct packed){ exact(lengths.data + 1, lengths.len - 1), exact(bits.data + 1, bits.len - 1),
			     lengths.len - 1, bits.len - 1 };
	buf_release(&lengths);
	buf_release(&bits);
	return p;
}

static void packed_release(struct packed *p)
{
	free(p->lengths);
	free(p->bits);
}

static int unpack(const struct pm_matrix *m, const struct packed *p)
{
	return pm_unpack(m, p->lengths, p->len, p->bits, p->n_bits);
}

/* Unpacks into fresh memory and compares; returns the size. */
static size_t round_trip(struct sample *s)
{
	struct packed p = pack(&s->m);
	struct pm_matrix m = s->m;
	size_t size = p.len + p.n_bits;

	m.stride = s->m.rows + below(3);
	m.v = malloc((s->columns * m.stride + 1) * sizeof(uint64_t));
	assert_non_null(m.v);
	for (size_t i = 0; i < s->columns * m.stride; i++)
		m.v[i] = UNTOUCHED;
	assert_int_equal(unpack(&m, &p), 0);
	for (size_t c = 0; c < s->columns; c++)
		for (size_t r = 0; r < m.stride; r++)
			assert_true(m.v[c * m.stride + r] == (r < m.rows ? *cell(s, c, r) : UNTOUCHED));
	free(m.v);
	packed_release(&p);
	return size;
}

static uint32_t some_rows(void)
{
	return 1 + (uint32_t)below(below(3) ? 12 : PM_MATRIX_ROWS);
}

/* Bands of all widths, with references of each sort, one of each shape and noise. */
static void all_shapes_come_back(void **state)
{
	for (unsigned round = 0; round < 4000; round++) {
		uint32_t columns = 1 + (uint32_t)below(below(4) ? 6 : 300), rows = some_rows();
		const struct pm_band bands[] = {
			{ .columns = columns, .bits = 64, .ref_first = PM_REF_TICK },
			{ .columns = columns, .bits = 64, .ref_first = 0, .ref_columns = columns },
			{ .columns = columns, .bits = 1 + (uint8_t)below(64), .ref_first = PM_NO_REF },
			{ .columns = 2, .bits = 1 + (uint8_t)below(64), .ref_first = columns, .ref_columns = 1 },
			{ .columns = 3, .bits = 64, .ref_first = 3 * columns, .ref_columns = 3 }, /* not before it */
		};
		uint32_t n = 1 + (uint32_t)below(ARRAY_SIZE(bands)), first = 0;
		struct sample s;

		sample_init(&s, bands, n, rows, rows + below(3), below(2));
		for (uint32_t b = 0; b < n; first += bands[b++].columns)
			fill_band(&s, b, first, b < 4 || below(2) ? (enum shape)below(SHAPES) : WILD,
				  (unsigned)below(bands[b].bits + 1));
		round_trip(&s);
		sample_release(&s);
	}
}

/* What each shape may take, in bytes a hundred numbers: the right kind is found. */
static void kinds_are_found(void **state)
{
	static const struct {
		enum shape shape;
		unsigned noise_bits, ref; /* 0: none, 1: the tick */
		double most[2];           /* of 100 rows; of one */
	} want[] = {
		{ CONSTANT, 0, 0, { 3, 101 } }, { NOISE, 8, 0, { 120, 210 } },    { COUNTER, 8, 0, { 130, 210 } },
		{ SLOPE, 8, 0, { 310, 800 } },  { NEAR_REF, 8, 1, { 120, 210 } }, { REF_WALK, 8, 1, { 120, 210 } },
		{ RARE, 8, 0, { 110, 110 } },   { ALIKE, 4, 0, { 90, 180 } },     { WILD, 0, 0, { 880, 900 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		for (int few = 0; few < 2; few++) {
			struct pm_band band = { .columns = 100, .bits = 64, .ref_columns = 1 };
			uint32_t rows = few ? 1 : 100;
			struct sample s;
			double size;

			band.ref_first = want[i].ref ? PM_REF_TICK : PM_NO_REF;
			sample_init(&s, &band, 1, rows, rows, true);
			fill_band(&s, 0, 0, want[i].shape, want[i].noise_bits);
			size = (double)round_trip(&s) / rows;
			if (size > want[i].most[few])
				fail_msg("shape %u takes %.1f bytes a hundred numbers, %u rows", want[i].shape, size,
					 rows);
			sample_release(&s);
		}
	}
}

/* Damaged bytes give an error or numbers, never more. The sanitizer watches. */
static void damage_is_refused_or_numbers(void **state)
{
	const struct pm_band bands[] = {
		{ .columns = 4, .bits = 64, .ref_first = PM_REF_TICK },
		{ .columns = 4, .bits = 64, .ref_first = 0, .ref_columns = 4 },
		{ .columns = 40, .bits = 32, .ref_first = PM_NO_REF },
		{ .columns = 1, .bits = 64, .ref_first = 8, .ref_columns = 1 },
	};
	unsigned refused = 0, taken = 0;

	for (unsigned round = 0; round < 200; round++) {
		uint32_t rows = some_rows();
		struct packed p;
		struct sample s;

		sample_init(&s, bands, ARRAY_SIZE(bands), rows, rows, round & 2);
		for (uint32_t b = 0, first = 0; b < ARRAY_SIZE(bands); first += bands[b++].columns)
			fill_band(&s, b, first, (enum shape)below(SHAPES), (unsigned)below(30));
		p = pack(&s.m);
		for (size_t cut = 0; cut <= p.len + p.n_bits; cut++) {
			size_t len = cut < p.len ? cut : p.len, n_bits = cut < p.len ? p.n_bits : cut - p.len;
			struct packed part = { exact(p.lengths, len), exact(p.bits, n_bits), len, n_bits };

			assert_int_equal(unpack(&s.m, &part), cut == p.len + p.n_bits ? 0 : -EBADMSG);
			packed_release(&part);
		}
		for (unsigned flip = 0; flip < 300; flip++) {
			struct packed bad = { exact(p.lengths, p.len), exact(p.bits, p.n_bits), p.len, p.n_bits };
			uint8_t *at = below(4) || !p.n_bits ? bad.lengths + below(p.len) : bad.bits + below(p.n_bits);
			int err;

			*at = (uint8_t)(below(2) ? next_random() : (uint64_t)*at ^ 1u << below(8));
			err = unpack(&s.m, &bad);
			assert_true(err == 0 || err == -EBADMSG);
			refused += err != 0;
			taken += !err;
			packed_release(&bad);
		}
		packed_release(&p);
		sample_release(&s);
	}
	assert_true(refused && taken);
}

/* A matrix of bytes as SPEC.md has them. */
static void check_example(const struct pm_matrix *m, const uint8_t *lengths, size_t len, const uint8_t *bits,
			  size_t n_bits)
{
	struct packed p = pack(m);
	uint64_t *v = malloc(64 * sizeof(*v));
	struct pm_matrix back = *m;

	assert_non_null(v);
	assert_int_equal(p.len, len);
	assert_memory_equal(p.lengths, lengths, len);
	assert_int_equal(p.n_bits, n_bits);
	assert_memory_equal(p.bits, bits, n_bits);
	back.v = v;
	assert_int_equal(unpack(&back, &p), 0);
	assert_memory_equal(v, m->v, 8 * sizeof(*v));
	free(v);
	packed_release(&p);
}

static void the_standard_s_examples(void **state)
{
	static const struct pm_band row[] = { { 1, 64, PM_REF_TICK, 1 }, { 1, 64, 0, 1 }, { 6, 64, PM_NO_REF, 0 } };
	static const struct pm_band column = { 1, 64, PM_NO_REF, 0 };
	uint64_t before[] = { 990041, 990050, 5, 70, 6, 300, 0, 12 }, ticks[8] = { 1000000 };
	uint64_t now[] = { 1000040, 1000052, 5, 70, 9, 300, 0, 12 }, counts[] = { 10, 20, 31, 41, 52, 62, 73, 83 };

	check_example(&(struct pm_matrix){ .band = row,
					   .n_bands = 3,
					   .rows = 1,
					   .stride = 1,
					   .v = now,
					   .tick = ticks,
					   .before = before,
					   .before_tick = 990000 },
		      (const uint8_t[]){ 0, 1, 3, 0, 0, 3, 0, 0, 0 }, 9, (const uint8_t[]){ 0x0a }, 1);
	check_example(
		&(struct pm_matrix){
			.band = &column, .n_bands = 1, .rows = 8, .stride = 8, .v = counts, .tick = ticks },
		(const uint8_t[]){ 0, 0x81, 5 }, 3, (const uint8_t[]){ 0x44, 5 }, 2);
}

/* What "Packed columns" calls malformed, of a band without reference and, with `referring`, one of the tick. */
static void what_is_malformed_is_refused(void **state)
{
	static const struct {
		uint8_t rows, columns, len, n_bits, lengths[12], bits[10];
		bool good, referring;
	} cases[] = {
		{ 1, 1, 2, 0, { 0, 0 }, .good = true },
		{ 1, 1, 2, 0, { 1, 0 }, .good = true },
		{ 1, 1, 2, 0, { 4, 0 } }, /* flags */
		{ 1, 1, 3, 0, { 2, 0, 0 }, .good = true },
		{ 1, 1, 3, 0, { 3, 16, 0 }, .good = true },
		{ 1, 1, 3, 0, { 2, 4, 0 }, .good = true },
		{ 1, 1, 3, 0, { 2, 5, 0 } }, /* nothing to refer to */
		{ 1, 1, 3, 0, { 2, 6, 0 } },
		{ 1, 1, 3, 0, { 2, 5, 0 }, .good = true, .referring = true },
		{ 1, 1, 3, 0, { 2, 22, 0 }, .good = true, .referring = true },
		{ 1, 1, 3, 0, { 2, 7, 0 } }, /* kinds */
		{ 1, 1, 3, 0, { 2, 32, 0 } },
		{ 1, 1, 1, 0, { 2 } }, /* no kinds, no lengths */
		{ 1, 1, 1, 0, { 0 } },
		{ 1, 2, 2, 0, { 0, 0 } },
		{ 1, 1, 3, 0, { 0, 0, 0 } },     /* a length too many */
		{ 1, 1, 2, 1, { 0, 0 }, { 0 } }, /* bits too many */
		{ 1, 1, 2, 1, { 0, 2 }, { 1 }, .good = true },
		{ 1, 1, 2, 1, { 0, 2 }, { 2 } }, /* what fills the last byte */
		{ 1, 1, 2, 0, { 0, 2 } },        /* bits too few */
		{ 1, 1, 2, 8, { 0, 64 }, { 255, 255, 255, 255, 255, 255, 255, 127 }, .good = true },
		{ 1, 1, 2, 8, { 0, 65 }, { 255, 255, 255, 255, 255, 255, 255, 255 } },
		{ 1, 1, 3, 0, { 0, 128, 0 } }, /* even, of too few rows */
		{ 7, 1, 3, 0, { 0, 128, 0 } },
		{ 8, 1, 3, 0, { 0, 128, 0 }, .good = true },
		{ 8, 1, 3, 1, { 0, 129, 0 }, { 0xa5 }, .good = true },
		{ 8, 1, 3, 0, { 0, 129, 0 } },
		{ 8, 1, 3, 1, { 0, 129, 128 }, { 0 } },
		{ 8, 1, 3, 10, { 0, 192, 0 } }, /* even, of 64 bits */
		{ 8, 1, 2, 0, { 0, 128 } },
		{ 8, 1, 9, 0, { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, .good = true },
		{ 8, 1, 9, 0, { 0, 0, 128, 0, 0, 0, 0, 0, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pm_band band = { cases[i].columns, 32, cases[i].referring ? PM_REF_TICK : PM_NO_REF, 1 };
		struct packed p = { exact(cases[i].lengths, cases[i].len), exact(cases[i].bits, cases[i].n_bits),
				    cases[i].len, cases[i].n_bits };
		uint64_t v[16], tick[8] = { 0 };
		struct pm_matrix m = {
			.band = &band, .n_bands = 1, .rows = cases[i].rows, .stride = 8, .v = v, .tick = tick
		};

		if (unpack(&m, &p) != (cases[i].good ? 0 : -EBADMSG))
			fail_msg("case %zu", i);
		packed_release(&p);
	}
}

/* Numbers as far apart as they can be, in columns of one length and of many, up to the last byte of the bits. */
static void extremes_come_back(void **state)
{
	static const uint64_t extreme[] = {
		0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1, 1u << 31, UINT32_MAX
	};

	for (unsigned round = 0; round < 3000; round++) {
		struct pm_band band = { 1 + (uint32_t)below(3), 1 + (uint8_t)below(64), PM_NO_REF, 0 };
		uint32_t rows = some_rows();
		struct sample s;

		sample_init(&s, &band, below(9) != 0, rows, rows, below(2));
		for (size_t c = 0; c < s.columns; c++) {
			s.before[c] = extreme[below(ARRAY_SIZE(extreme))];
			s.growth[c] = extreme[below(ARRAY_SIZE(extreme))];
			for (uint32_t r = 0; r < rows; r++)
				*cell(&s, c, r) =
					extreme[below(ARRAY_SIZE(extreme))] + (below(3) ? 0 : below(1u << 20));
		}
		round_trip(&s);
		sample_release(&s);
	}
}

/* A matrix that starts anew says so, and is read without its row before. */
static void what_is_fresh_needs_no_row_before(void **state)
{
	struct pm_band band = { .columns = 20, .bits = 64, .ref_first = PM_NO_REF };
	struct packed p;
	struct sample s;

	sample_init(&s, &band, 1, 10, 10, false);
	fill_band(&s, 0, 0, COUNTER, 9);
	p = pack(&s.m);
	assert_false(p.lengths[0] & PM_MATRIX_FRESH);
	p.lengths[0] |= PM_MATRIX_FRESH;
	s.m.before = s.before;
	s.m.growth = s.growth;
	{
		uint64_t v[200];
		struct pm_matrix back = s.m;

		back.v = v;
		assert_int_equal(unpack(&back, &p), 0);
		assert_memory_equal(v, s.m.v, sizeof(v));
	}
	packed_release(&p);
	sample_release(&s);
}

static void rows_have_a_limit(void **state)
{
	static const uint32_t rows[] = { 1, PM_MATRIX_ROWS, 0, PM_MATRIX_ROWS + 1 };
	struct pm_band band = { .columns = 1, .bits = 64, .ref_first = PM_NO_REF };
	uint64_t v[PM_MATRIX_ROWS + 1] = { 0 }, tick[PM_MATRIX_ROWS + 1] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct pm_matrix m = { .band = &band,
				       .n_bands = 1,
				       .rows = rows[i],
				       .stride = PM_MATRIX_ROWS + 1,
				       .v = v,
				       .tick = tick };
		struct buf lengths = BUF_INIT, bits = BUF_INIT;

		assert_int_equal(pm_pack(&m, &lengths, &bits), i < 2 ? 0 : -EINVAL);
		if (i >= 2)
			buf_addch(&lengths, 0);
		assert_int_equal(pm_unpack(&m, lengths.data, lengths.len, bits.data, bits.len), i < 2 ? 0 : -EBADMSG);
		buf_release(&lengths);
		buf_release(&bits);
	}
}

UNIT_TESTS(cmocka_unit_test(all_shapes_come_back), cmocka_unit_test(kinds_are_found),
	   cmocka_unit_test(damage_is_refused_or_numbers), cmocka_unit_test(the_standard_s_examples),
	   cmocka_unit_test(what_is_malformed_is_refused), cmocka_unit_test(extremes_come_back),
	   cmocka_unit_test(what_is_fresh_needs_no_row_before), cmocka_unit_test(rows_have_a_limit))
