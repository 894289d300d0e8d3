/* The figures that a scan is made of, of values for which they are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/incident/incident_scan.h"

#define NORMAL_MEDIAN 0.6745
#define N             256

static bool near(double a, double b, double by)
{
	return fabs(a - b) <= by;
}

/* Median, and median distance from it, which is that of a normal distribution after division. */
static void spreads(void **state)
{
	static const struct {
		double v[8];
		uint32_t n;
		double level, distance;
		double least, above; /* in distances; what is left of it then */
	} cases[] = {
		{ { 3, 1, 2, 100, 4 }, 5, 3, 1, -1, 1 },
		{ { 3, 1, 2, 100, 4 }, 5, 3, 1, 1, 0 },
		{ { 3, 1, 2, 100, 4 }, 5, 3, 1, 0.9, 1 },
		{ { 5, 5, 5, 5 }, 4, 5, 0, -1, 0 },
		{ { -7 }, 1, -7, 0, -1, 0 },
		{ { 0, 10, 20, 30, 40, 50, 60 }, 7, 30, 20, 19, 20 },
		{ { 0, 10, 20, 30, 40, 50, 60 }, 7, 30, 20, 20, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		double work[8], level = 99, same[8];
		const double *v = cases[i].v;
		uint32_t n = cases[i].n;

		assert_true(near(scan_spread(work, v, n, &level), cases[i].distance / NORMAL_MEDIAN, 1e-9));
		assert_true(level == cases[i].level);
		memcpy(same, v, sizeof(same));
		level = 99;
		assert_true(near(scan_spread(same, same, n, &level), cases[i].distance / NORMAL_MEDIAN, 1e-9));
		assert_true(level == cases[i].level);
		assert_true(near(scan_spread_above(work, v, n, cases[i].least / NORMAL_MEDIAN * (1 + 1e-11), &level),
				 cases[i].above / NORMAL_MEDIAN, 1e-9));
	}
}

struct room {
	struct incident_store s;
	struct scan x;
	double y[N], z[N], work[2 * N], work2[N], with_waves[N], common[N];
	double complex spectrum[2 * N];
	uint32_t bin[N];
};

static void begin(struct room *r)
{
	memset(r, 0, sizeof(*r));
	r->s.used = N;
	r->x = (struct scan){ .s = &r->s,
			      .y = r->y,
			      .z = r->z,
			      .work = r->work,
			      .work2 = r->work2,
			      .with_waves = r->with_waves,
			      .common = r->common,
			      .spectrum = r->spectrum,
			      .bin = r->bin,
			      .n = N,
			      .spread = 1 };
}

/* The largest peaks that lie apart by two lengths and the reach, largest first; of equal ones the first. */
static void peaks_lie_apart(void **state)
{
	static const struct {
		uint32_t l, reach, most, want;
		uint32_t from[4];
	} cases[] = {
		{ 0, 0, 4, 4, { 50, 60, 10, 100 } }, /* 51 and 61 are too near */
		{ 0, 10, 4, 3, { 50, 10, 100, 0 } }, { 0, 7, 4, 4, { 50, 60, 10, 100 } },
		{ 0, 8, 4, 4, { 50, 60, 10, 100 } }, { 0, 9, 4, 4, { 50, 61, 10, 100 } },
		{ 0, 0, 2, 2, { 50, 60, 0, 0 } },    { 0, 40, 4, 3, { 50, 100, 0, 200 } },
	};
	static struct room r;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct peak block[N + 1] = { { 0 } }, out[4];
		uint32_t n;

		begin(&r);
		for (uint32_t b = 0; b <= N; b++)
			block[b] = (struct peak){ 0, b, 0 };
		block[50].size = 9;
		block[51].size = 8.5F;
		block[60].size = 8;
		block[61].size = 7;
		block[10].size = 6;
		block[100].size = 6;
		block[0].size = 2;
		block[200].size = 2;
		n = scan_apart(&r.x, block, cases[i].l, cases[i].reach, out, cases[i].most);
		if (i + 1 < sizeof(cases) / sizeof(*cases)) {
			for (uint32_t k = 0; k < cases[i].want && k < n; k++)
				if (out[k].from != cases[i].from[k])
					fail_msg("%zu: %u at %u", i, out[k].from, k);
			assert_true(n >= cases[i].want);
		} else {
			/* Those of 50 and 100, and 10 is nearer to 50 than 42. */
			assert_int_equal(out[0].from, 50);
			assert_int_equal(out[1].from, 100);
		}
	}
}

/* A wave that is all of a series is taken off, but for a quarter of it where it begins and ends; noise without one stays as it is. */
static void waves(void **state)
{
	static const double period[] = { 8, 13.7, 40, 100 };
	static struct room r;
	uint32_t noise = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(period) / sizeof(*period); i++) {
		begin(&r);
		r.x.spread = 2;
		for (uint32_t k = 0; k < N; k++) {
			r.z[k] = 3 * cos(2 * M_PI * k / period[i] + 1);
			r.y[k] = 100 + 2 * r.z[k];
		}
		assert_true(take_wave(&r.x));
		for (uint32_t k = 0; k < N; k++)
			if (!near(r.y[k], 100, 1.5))
				fail_msg("%g: %g at %u", period[i], r.y[k], k);
	}
	begin(&r);
	for (uint32_t k = 0; k < N; k++)
		r.y[k] = r.z[k] = (double)((noise = noise * 1664525u + 1013904223u) >> 8) / (1 << 22) - 2;
	assert_false(take_wave(&r.x));
	for (uint32_t k = 0; k < N; k++)
		assert_true(r.y[k] == r.z[k]);
}

/* What all of a family do, in spreads of that: the median by bin; where none has a value, the one before. */
static void what_is_common(void **state)
{
	static struct room r;
	static float v[7][N];
	struct incident_row_series series[7];
	uint32_t place[7];

	(void)state;
	for (uint32_t many = 5; many <= 7; many++) {
		begin(&r);
		for (uint32_t k = 0; k < many; k++) {
			series[k] = (struct incident_row_series){ .v = v[k] };
			place[k] = k;
			for (uint32_t i = 0; i < N; i++)
				v[k][i] = (float)((i + 1) % 4 * 10 + (k == 6 ? 500 : k == 5 ? -500 : 0));
			v[k][9] = NAN;
		}
		v[0][20] = NAN;
		r.s.series = series;
		find_common(&r.x, place, many);
		assert_int_equal(r.x.has_common, many >= 6);
		assert_int_equal(r.x.err, 0);
		/* Of 0, 10, 20, 30 the median is 15, and half of them are 5 from it and half 15: 10. */
		for (uint32_t i = 0; i < N && many >= 6; i++) {
			uint32_t at = i == 9 ? 8 : i;
			double want = ((at + 1) % 4 * 10.0 - 15) / (10 / NORMAL_MEDIAN);

			if (!near(r.common[i], want, 0.6))
				fail_msg("%g, not %g at %u", r.common[i], want, i);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(spreads), cmocka_unit_test(peaks_lie_apart),
					    cmocka_unit_test(waves), cmocka_unit_test(what_is_common) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
