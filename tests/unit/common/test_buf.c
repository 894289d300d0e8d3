/* The small helpers that everything stands on: buf, error, names, cpulist, parse. */
#include "common/buf.h"
#include "common/cpulist.h"
#include "common/error.h"
#include "common/names.h"
#include "common/parse.h"
#include "tests/unit/lib/test.h"

static void buf_grows_and_prints(void **state)
{
	struct buf b = BUF_INIT;
	char *text;

	assert_string_equal(buf_str(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%d,", i);
	assert_int_equal(b.err, 0);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	buf_clear(&b);
	buf_printf(&b, "%0200d", 7);
	assert_int_equal(b.len, 200);
	text = buf_detach(&b);
	assert_int_equal(strlen(text), 200);
	assert_int_equal(text[199], '7');
	free(text);
	assert_null(b.data);
}

static void buf_error_sticks(void **state)
{
	struct buf b = BUF_INIT;

	buf_addstr(&b, "kept");
	assert_int_equal(buf_reserve(&b, SIZE_MAX - 2), -ENOMEM);
	buf_addstr(&b, "lost");
	assert_int_equal(b.len, 4);
	assert_int_equal(b.err, -ENOMEM);
	assert_null(buf_detach(&b));
}

static void error_texts(void **state)
{
	struct error e;

	assert_int_equal(error_set(&e, EINVAL, "bad %s", "line\nbreak"), -EINVAL);
	assert_string_equal(e.text, "bad line break");
	assert_int_equal(error_prefix(&e, "file %d", 3), -EINVAL);
	assert_string_equal(e.text, "file 3: bad line break");
	assert_int_equal(error_sys(&e, ENOENT, "/x"), -ENOENT);
	assert_string_equal(e.text, "/x: No such file or directory");
	assert_int_equal(error_set(NULL, EIO, "nobody listens"), -EIO);
}

static void names_find(void **state)
{
	struct names m = { 0 };
	char key[16];
	uint32_t v;

	assert_false(names_get(&m, "a", &v));
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "n%u", i);
		assert_int_equal(names_set(&m, key, i), 0);
	}
	assert_int_equal(names_set(&m, "n77", 1), 0);
	assert_int_equal(m.n, 5000);
	for (uint32_t i = 0; i < 5000; i++) {
		snprintf(key, sizeof(key), "n%u", i);
		assert_true(names_get(&m, key, &v));
		assert_int_equal(v, i == 77 ? 1 : i);
	}
	assert_false(names_get(&m, "n5000", &v));
	names_release(&m);
}

/* Names that a file's author can compute: FNV-1a has one hash for all of them. */
static void names_that_were_chosen(void **state)
{
	static const char pair[][2][7] = {
		{ "eaxswr", "sefukl" }, { "kadkpo", "yieuew" }, { "bazsea", "dhqbnk" }, { "abrnce", "wijpgv" },
		{ "jthhmk", "edjdul" }, { "yginpx", "ljlcbj" }, { "yxnsqt", "bcytgf" }, { "tcpgjv", "jetbty" },
	};
	unsigned low[256] = { 0 }, used = 0;

	for (unsigned i = 0; i < 256; i++) {
		char key[64] = "";

		for (unsigned k = 0; k < 8; k++)
			strcat(key, pair[k][i >> k & 1]);
		low[names_hash(key) & 255] = 1;
		assert_int_equal(names_hash(key), names_hash(key));
	}
	for (unsigned i = 0; i < 256; i++)
		used += low[i];
	/* Of 256 places 162 by chance, give or take 7. */
	assert_in_range(used, 100, 256);
}

static void cpulist_forms(void **state)
{
	static const struct {
		const char *text, *canonical;
		int dots, err;
	} t[] = {
		{ "", "", 0, 0 },
		{ "\n", "", 0, 0 },
		{ "0", "0", 0, 0 },
		{ "0-3,8\n", "0-3,8", 0, 0 },
		{ " 8 , 0-3", "0-3,8", 0, 0 },
		{ "3,2,1,0,2", "0-3", 0, 0 },
		{ "4,5", "4,5", 0, 0 },
		{ "10-14:2", "10,12,14", 0, 0 },
		{ "0-9:2/5", "0,1,5,6", 0, 0 },
		{ "1..3,7", "1-3,7", 1, 0 },
		{ "65535", "65535", 0, 0 },
		{ "1..3", NULL, 0, -EINVAL },
		{ "3-1", NULL, 0, -EINVAL },
		{ "1,,2", NULL, 0, -EINVAL },
		{ "1,", NULL, 1, -EINVAL },
		{ ",1", NULL, 0, -EINVAL },
		{ "a", NULL, 0, -EINVAL },
		{ "1-", NULL, 0, -EINVAL },
		{ "-1", NULL, 0, -EINVAL },
		{ "1 2", NULL, 0, -EINVAL },
		{ "0-9:0", NULL, 0, -EINVAL },
		{ "0-9:3/2", NULL, 0, -EINVAL },
		{ "65536", NULL, 0, -ERANGE },
		{ "99999999999999999999", NULL, 0, -ERANGE },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct cpulist l = { 0 };
		struct buf b = BUF_INIT;
		struct error e;

		assert_int_equal(cpulist_parse(&l, t[i].text, t[i].dots, &e), t[i].err);
		if (!t[i].err) {
			cpulist_print(&l, &b);
			assert_string_equal(buf_str(&b), t[i].canonical);
		} else {
			assert_int_equal(e.number, -t[i].err);
			assert_int_equal(l.n, 0);
		}
		buf_release(&b);
		cpulist_release(&l);
	}
}

static void cpulist_sets(void **state)
{
	struct cpulist a = { 0 }, b = { 0 };

	/* 0, 7, 14 ... in an order that keeps inserting in the middle. */
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(cpulist_add(&a, i * 617 % 1000 * 7), 0);
	assert_int_equal(a.n, 1000);
	for (uint32_t i = 0; i < 7000; i++)
		assert_int_equal(cpulist_has(&a, i), i % 7 == 0);
	assert_int_equal(cpulist_parse(&b, "0-20", false, NULL), 0);
	cpulist_intersect(&b, &a);
	assert_int_equal(b.n, 3);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(cpulist_add(&b, 100 + i), 0);
	assert_int_equal(b.n, 103);
	assert_int_equal(cpulist_copy(&b, &a), 0);
	assert_int_equal(b.n, 1000);
	assert_memory_equal(a.cpu, b.cpu, 1000 * sizeof(*a.cpu));
	assert_int_equal(cpulist_add(&b, CPULIST_MAX + 1), -ERANGE);
	cpulist_release(&a);
	cpulist_release(&b);
}

static void parse_numbers(void **state)
{
	uint64_t u;
	int64_t s;
	double d;

	assert_int_equal(parse_u64("18446744073709551615", &u), 0);
	assert_true(u == UINT64_MAX);
	assert_int_equal(parse_u64("18446744073709551616", &u), -ERANGE);
	assert_int_equal(parse_u64("0xFf", &u), 0);
	assert_int_equal(u, 255);
	assert_int_equal(parse_u64("0x", &u), -EINVAL);
	assert_int_equal(parse_u64("", &u), -EINVAL);
	assert_int_equal(parse_u64("+1", &u), -EINVAL);
	assert_int_equal(parse_u64(" 1", &u), -EINVAL);
	assert_int_equal(parse_u64("1 ", &u), -EINVAL);
	assert_int_equal(parse_u64("-1", &u), -EINVAL);
	assert_int_equal(parse_s64("-9223372036854775808", &s), 0);
	assert_true(s == INT64_MIN);
	assert_int_equal(parse_s64("9223372036854775808", &s), -ERANGE);
	assert_int_equal(parse_s64("--1", &s), -EINVAL);
	assert_int_equal(parse_double("2.3283064365386962890625e-10", &d), 0);
	assert_true(d == 0x1p-32);
	assert_int_equal(parse_double(".5", &d), 0);
	assert_true(d == 0.5);
	for (const char *const *bad = (const char *const[]){ "", ".", "1e", "0x1", "inf", "nan", " 1", "1,5", NULL };
	     *bad; bad++)
		assert_int_equal(parse_double(*bad, &d), -EINVAL);
	assert_int_equal(parse_double("1e999", &d), -ERANGE);
}

static void parse_units(void **state)
{
	static const struct {
		int (*parse)(const char *text, uint64_t *v);
		const char *text;
		int err;
		uint64_t v;
	} t[] = {
		{ parse_duration, "1", 0, 1000000000 },
		{ parse_duration, "0.01", 0, 10000000 },
		{ parse_duration, ".5", 0, 500000000 },
		{ parse_duration, "1.123456789", 0, 1123456789 },
		{ parse_duration, "1.1234567899", 0, 1123456789 },
		{ parse_duration, "10ms", 0, 10000000 },
		{ parse_duration, "2.5us", 0, 2500 },
		{ parse_duration, "1.5h", 0, 5400000000000 },
		{ parse_duration, "3ns", 0, 3 },
		{ parse_duration, "2m", 0, 120000000000 },
		{ parse_duration, "", -EINVAL, 0 },
		{ parse_duration, ".", -EINVAL, 0 },
		{ parse_duration, "1.2.3", -EINVAL, 0 },
		{ parse_duration, "-1", -EINVAL, 0 },
		{ parse_duration, "1 s", -EINVAL, 0 },
		{ parse_duration, "1d", -EINVAL, 0 },
		{ parse_duration, "99999999999999", -ERANGE, 0 },
		{ parse_duration_ms, "10", 0, 10000000 },
		{ parse_duration_ms, "1s", 0, 1000000000 },
		{ parse_size, "17", 0, 17 },
		{ parse_size, "4Ki", 0, 4096 },
		{ parse_size, "4KiB", 0, 4096 },
		{ parse_size, "1.5Mi", 0, 1572864 },
		{ parse_size, "25MB", 0, 25000000 },
		{ parse_size, "2G", 0, 2000000000 },
		{ parse_size, "1X", -EINVAL, 0 },
		{ parse_size, "20000000T", -ERANGE, 0 },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint64_t v = 0;

		if (t[i].parse(t[i].text, &v) != t[i].err || v != t[i].v)
			fail_msg("\"%s\" gave %llu", t[i].text, (unsigned long long)v);
	}
}

UNIT_TESTS(cmocka_unit_test(buf_grows_and_prints), cmocka_unit_test(buf_error_sticks), cmocka_unit_test(error_texts),
	   cmocka_unit_test(names_find), cmocka_unit_test(names_that_were_chosen), cmocka_unit_test(cpulist_forms),
	   cmocka_unit_test(cpulist_sets), cmocka_unit_test(parse_numbers), cmocka_unit_test(parse_units))
