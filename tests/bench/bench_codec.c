/*
 * How small and how fast packed columns are, on synthetic counters (gen.h), zstd included.
 *
 *   bench_codec [ROWS-A-CHUNK]     100: a second at 10 ms
 *
 * The yardstick of size is the order-0 entropy of the same columns' deltas, by the m-spacing estimator: with
 * the n deltas of a column sorted, H = mean of log2((n + 1) / m * (x[i+m] - x[i])) + log2(m) - digamma(m) /
 * ln 2, m = sqrt(n). Counts are whole numbers, so each gets a uniform number of [0,1) added first: that makes
 * the entropy of the continuous number equal to that of the count. A column's entropy is at least 0. (An
 * estimate from frequencies would be far too low: a thousand deltas of a counter are a thousand different
 * numbers.) Order-0 means that what neighbouring rows and columns know of each other is not counted; the
 * codec uses some of it. The time columns count as what they are coded from: begin less the tick, end less
 * begin; "deltas throughout" prints their plain deltas instead.
 *
 * The yardstick of speed is memcpy() of the same raw numbers, between the same kind of buffers, in the same
 * run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/codec/codec.h"
#include "format/compress.h"
#include "tests/bench/gen.h"

#define ROUNDS 7

struct chunk {
	struct pm_matrix m;
	struct buf packed, coded, bits;
	uint64_t *tick, *before, *out;
};

struct bench {
	struct gen_config config;
	struct pm_band *band;
	uint32_t n_bands, rows, n_chunks;
	size_t columns;
	struct chunk *chunk;
	uint64_t *raw, *copy, *ticks, *before;
	struct pm_zstd *zstd;
	struct buf scratch;
};

static void *get(size_t n)
{
	void *p = malloc(n);

	if (!p) {
		fputs("bench_codec: no memory\n", stderr);
		exit(1);
	}
	return p;
}

static void must(int err, const char *what)
{
	if (err) {
		fprintf(stderr, "bench_codec: %s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), compare);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static double digamma(double x)
{
	double y = 0;

	for (; x < 8; x++)
		y -= 1 / x;
	return y + log(x) - 1 / (2 * x) - 1 / (12 * x * x) + 1 / (120 * x * x * x * x);
}

static double spacing_entropy(double *x, size_t n)
{
	size_t m = (size_t)sqrt((double)n);
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		x[i] += (double)rand() / ((double)RAND_MAX + 1);
	qsort(x, n, sizeof(*x), compare);
	for (size_t i = 0; i + m < n; i++)
		sum += log2((double)(n + 1) / (double)m * (x[i + m] - x[i]));
	sum = sum / (double)(n - m) + log2((double)m) - digamma((double)m) / log(2);
	return sum > 0 ? sum : 0;
}

static const uint64_t *column(const struct bench *b, size_t c, size_t row)
{
	return &b->chunk[row / b->rows].m.v[c * b->rows + row % b->rows];
}

/* Bits of all numbers of the columns from ... to. */
static double entropy(const struct bench *b, size_t from, size_t to, bool relative)
{
	size_t n = (size_t)b->n_chunks * b->rows;
	double *x = get(n * sizeof(*x)), sum = 0;

	for (size_t c = from; c < to; c++) {
		unsigned k = (unsigned)(c / b->config.cpus);
		unsigned shift = k < 2 ? 0 : 64 - gen_counter[k - 2].width;

		for (size_t r = relative ? 0 : 1; r < n; r++) {
			uint64_t v = *column(b, c, r), last;

			if (!relative)
				last = *column(b, c, r - 1);
			else
				last = k ? *column(b, c - b->config.cpus, r) : b->ticks[r];
			x[relative ? r : r - 1] = (double)((int64_t)((v - last) << shift) >> shift);
		}
		sum += spacing_entropy(x, relative ? n : n - 1) * (double)n;
	}
	free(x);
	return sum;
}

static void bench_init(struct bench *b, uint32_t rows)
{
	uint32_t cpus = 256;
	size_t values;
	struct gen *g;

	memset(b, 0, sizeof(*b));
	b->config = (struct gen_config){
		.cpus = cpus,
		.counters = GEN_COUNTERS,
		.period_ns = 10000000,
		.jitter_ns = 50000,
		.seed = 2026,
	};
	b->columns = gen_columns(&b->config);
	b->rows = rows;
	b->n_chunks = (1000 + rows - 1) / rows;
	b->n_bands = 2 + GEN_COUNTERS;
	b->band = get(b->n_bands * sizeof(*b->band));
	b->band[0] = (struct pm_band){ .columns = cpus, .bits = 64, .ref_first = PM_REF_TICK, .ref_columns = 1 };
	b->band[1] = (struct pm_band){ .columns = cpus, .bits = 64, .ref_first = 0, .ref_columns = cpus };
	for (unsigned k = 0; k < GEN_COUNTERS; k++)
		b->band[2 + k] = (struct pm_band){
			.columns = cpus,
			.bits = gen_counter[k].width,
			.ref_first = PM_NO_REF,
		};
	values = b->columns * rows * b->n_chunks;
	b->raw = get(values * sizeof(uint64_t));
	b->copy = get(values * sizeof(uint64_t));
	b->ticks = get((size_t)rows * b->n_chunks * sizeof(uint64_t));
	b->before = get((size_t)b->n_chunks * b->columns * 2 * sizeof(uint64_t));
	b->chunk = get(b->n_chunks * sizeof(*b->chunk));
	b->zstd = pm_zstd_new();
	g = gen_new(&b->config);
	if (!b->zstd || !g)
		must(-12, "setup");
	for (uint32_t i = 0; i < b->n_chunks; i++) {
		struct chunk *c = &b->chunk[i];
		uint64_t *v = b->raw + b->columns * rows * i, *tick = b->ticks + (size_t)rows * i;

		*c = (struct chunk){ 0 };
		for (uint32_t r = 0; r < rows; r++)
			gen_row(g, &tick[r], v + r, rows);
		c->m = (struct pm_matrix){
			.band = b->band,
			.n_bands = b->n_bands,
			.rows = rows,
			.stride = rows,
			.v = v,
			.tick = tick,
		};
		if (i % 16) {
			uint64_t *before = b->before + b->columns * 2 * i;

			for (size_t k = 0; k < b->columns; k++) {
				const uint64_t *last = v + k * rows - b->columns * rows + rows - 1;
				const uint64_t *second = rows > 1 ? last - 1 : i % 16 > 1 ? last - b->columns : NULL;

				before[k] = *last;
				before[b->columns + k] = second ? pm_growth(*second, *last) : 0;
			}
			c->m.before = before;
			c->m.growth = before + b->columns;
			c->m.before_tick = tick[-1];
		}
		c->out = b->copy + b->columns * rows * i;
	}
	gen_free(g);
}

static void bench_release(struct bench *b)
{
	for (uint32_t i = 0; i < b->n_chunks; i++) {
		buf_release(&b->chunk[i].packed);
		buf_release(&b->chunk[i].coded);
		buf_release(&b->chunk[i].bits);
	}
	buf_release(&b->scratch);
	pm_zstd_free(b->zstd);
	free(b->chunk);
	free(b->before);
	free(b->ticks);
	free(b->copy);
	free(b->raw);
	free(b->band);
}

static double time_memcpy(struct bench *b)
{
	double start = now();

	memcpy(b->copy, b->raw, b->columns * b->rows * b->n_chunks * sizeof(uint64_t));
	return now() - start;
}

/* Packs all; seconds, those before zstd to *alone. */
static double time_encode(struct bench *b, double *alone)
{
	double start = now(), packing = 0;

	for (uint32_t i = 0; i < b->n_chunks; i++) {
		struct chunk *c = &b->chunk[i];
		double from = now();

		buf_clear(&c->packed);
		buf_clear(&c->bits);
		buf_clear(&c->coded);
		must(pm_pack(&c->m, &c->packed, &c->bits), "pm_pack");
		packing += now() - from;
		must(pm_zstd_compress(b->zstd, c->packed.data, c->packed.len, 1, &c->coded), "pm_zstd_compress");
	}
	*alone = packing;
	return now() - start;
}

static double time_decode(struct bench *b, double *alone)
{
	double start = now(), unpacking = 0;

	for (uint32_t i = 0; i < b->n_chunks; i++) {
		struct chunk *c = &b->chunk[i];
		struct pm_matrix m = c->m;
		double from;

		m.v = c->out;
		buf_clear(&b->scratch);
		must(pm_zstd_decompress(b->zstd, c->coded.data, c->coded.len, c->packed.len, &b->scratch),
		     "pm_zstd_decompress");
		from = now();
		must(pm_unpack(&m, b->scratch.data, b->scratch.len, c->bits.data, c->bits.len), "pm_unpack");
		unpacking += now() - from;
	}
	*alone = unpacking;
	return now() - start;
}

int main(int argc, char **argv)
{
	uint32_t rows = argc > 1 ? (uint32_t)atoi(argv[1]) : 100, cpus;
	double copies[ROUNDS], seconds[ROUNDS], parts[ROUNDS], copy, values, raw, packed = 0, coded = 0, bits, times,
										  plain;
	struct bench b;

	if (rows < 1 || rows > 128) {
		fputs("usage: bench_codec [ROWS-A-CHUNK]; rows 1 to 128\n", stderr);
		return 2;
	}
	bench_init(&b, rows);
	cpus = b.config.cpus;
	values = (double)b.columns * rows * b.n_chunks;
	raw = values * 8;
	printf("%u CPUs x %u counters, %u chunks of %u rows, %.1f MB raw\n", cpus, GEN_COUNTERS, b.n_chunks, rows,
	       raw / 1e6);
	time_memcpy(&b);
	for (int way = 0; way < 2; way++) {
		for (int round = 0; round < ROUNDS; round++) {
			copies[round] = time_memcpy(&b);
			seconds[round] = way ? time_decode(&b, &parts[round]) : time_encode(&b, &parts[round]);
		}
		if (way && memcmp(b.raw, b.copy, (size_t)raw))
			must(-74, "comparison");
		copy = median(copies, ROUNDS);
		printf("%s: %5.2f GB/s = %.3f of memcpy (%.2f GB/s); without zstd %5.2f GB/s\n",
		       way ? "decode" : "encode", raw / median(seconds, ROUNDS) / 1e9, copy / median(seconds, ROUNDS),
		       raw / copy / 1e9, raw / median(parts, ROUNDS) / 1e9);
	}
	for (uint32_t i = 0; i < b.n_chunks; i++) {
		packed += (double)b.chunk[i].packed.len + (double)b.chunk[i].bits.len;
		coded += (double)b.chunk[i].coded.len + (double)b.chunk[i].bits.len;
	}
	times = entropy(&b, 0, 2 * cpus, true);
	plain = entropy(&b, 0, 2 * cpus, false);
	bits = entropy(&b, 2 * cpus, b.columns, false);
	printf("bytes a value: %.4f packed, %.4f with zstd -1 (time stamps included)\n", packed / values,
	       coded / values);
	printf("entropy: %.4f bytes a value (time stamps %.3f bits, counters %.3f bits); ratio %.3f\n",
	       (bits + times) / 8 / values, times / (2.0 * cpus * rows * b.n_chunks),
	       bits / (values - 2.0 * cpus * rows * b.n_chunks), coded * 8 / (bits + times));
	printf("deltas throughout: %.4f bytes a value; ratio %.3f\n", (bits + plain) / 8 / values,
	       coded * 8 / (bits + plain));
	bench_release(&b);
	return 0;
}
