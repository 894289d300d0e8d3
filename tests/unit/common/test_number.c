/* The digits themselves are compared with other implementations in number_diff.py; here are the edges and the C
 * library. */
#include <time.h>

#include "common/number.h"
#include "tests/unit/lib/test.h"

static uint64_t random_u64(uint64_t *state)
{
	/* splitmix64 */
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static double from_bits(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The C library rounds the exact value half to even as well. */
static void test_fixed(void **state)
{
	static const double edges[] = {
		0.5,    1.5,   2.5,    0.125, 0.375, 1e14 + 0.5, 999999.9999995, 0.045,           1e-300,
		5e-324, 0.999, -0.001, -0.25, -0.75, 0.0625,     123456789,      999999999999999, 4.35
	};
	uint64_t seed = 3;
	char text[NUMBER_MAX + 1], expected[400];

	for (unsigned i = 0; i < 200000; i++) {
		double v = i < sizeof(edges) / sizeof(edges[0]) ? edges[i] :
			   i % 3 == 0                           ? from_bits(random_u64(&seed)) :
			   i % 3 == 1                           ? (double)(int64_t)(random_u64(&seed) >> 40) / 4096 :
								  (double)(int64_t)(random_u64(&seed) >> 44) / 1000;

		for (unsigned decimals = 0; decimals <= 9; decimals++) {
			if (!(fabs(v) < 1e15))
				continue;
			text[number_fixed(text, v, decimals)] = '\0';
			snprintf(expected, sizeof(expected), "%.*f", (int)decimals, v);
			if (expected[0] == '-' && strspn(expected, "-0.") == strlen(expected))
				memmove(expected, expected + 1, strlen(expected));
			assert_string_equal(text, expected);
		}
	}
	text[number_fixed(text, 1e15, 2)] = '\0';
	assert_string_equal(text, "1000000000000000");
	text[number_fixed(text, NAN, 2)] = '\0';
	assert_string_equal(text, "nan");
}

static void test_time(void **state)
{
	uint64_t seed = 4;
	char text[64], expected[64];

	text[number_time(text, 0, 0)] = '\0';
	assert_string_equal(text, "1970-01-01T00:00:00.000000000Z");
	text[number_time(text, 1763717107123456789, 0)] = '\0';
	assert_string_equal(text, "2025-11-21T09:25:07.123456789Z");
	text[number_time(text, 1763717107123456789, 19800)] = '\0';
	assert_string_equal(text, "2025-11-21T14:55:07.123456789+05:30");
	text[number_time(text, 0, -3600)] = '\0';
	assert_string_equal(text, "1969-12-31T23:00:00.000000000-01:00");
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t ns = random_u64(&seed);
		time_t s = (time_t)(ns / 1000000000);
		struct tm tm;
		size_t n;

		gmtime_r(&s, &tm);
		n = strftime(expected, sizeof(expected), "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(expected + n, sizeof(expected) - n, ".%09luZ", (unsigned long)(ns % 1000000000));
		text[number_time(text, ns, 0)] = '\0';
		assert_string_equal(text, expected);
	}
}

UNIT_TESTS(cmocka_unit_test(test_fixed), cmocka_unit_test(test_time))
