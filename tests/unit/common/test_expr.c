/* Metric expressions: grammar, values, and why a value is missing. */
#include "common/metric/expr.h"
#include "tests/unit/lib/test.h"

#define MISSING_A 5 /* reasons of a caller */
#define MISSING_B 1002

/* a b c d are 6 2 0 and 3; m and n are missing; everything else has no counter. */
static struct value input_of(const struct expr_input *in)
{
	static const struct {
		const char *name;
		struct value v;
	} known[] = {
		{ "a", { .v = 6 } },
		{ "b", { .v = 2 } },
		{ "c", { .v = 0 } },
		{ "d", { .v = 3 } },
		{ "m", { .v = 1, .reason = MISSING_A } },
		{ "n", { .v = NAN, .reason = MISSING_B } },
		{ "nan", { .v = NAN } },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, in->name))
			return known[i].v;
	return value_missing(VALUE_NO_INPUT);
}

static struct value eval(const char *text)
{
	struct error e = { 0 };
	struct value in[64], v;
	const struct expr_input *inputs;
	struct expr *x;
	size_t n;

	if (expr_parse(&x, text, &e))
		fail_msg("%s: %s", text, e.text);
	inputs = expr_inputs(x, &n);
	assert_true(n <= 64);
	for (size_t i = 0; i < n; i++)
		in[i] = input_of(&inputs[i]);
	v = expr_eval(x, in);
	expr_free(x);
	return v;
}

static void test_reasons(void **state)
{
	static const struct {
		const char *text;
		uint16_t reason;
		double v; /* if reason is 0 */
	} rows[] = {
		{ "m", MISSING_A },
		{ "m + n", MISSING_A },
		{ "n + m", MISSING_B },
		{ "a * n", MISSING_B },
		{ "-n", MISSING_B },
		{ "unknown", VALUE_NO_INPUT },
		{ "a / c", VALUE_DIVISION_BY_ZERO },
		{ "m / c", MISSING_A },
		{ "a % c", VALUE_DIVISION_BY_ZERO },
		{ "a % 0.9", VALUE_DIVISION_BY_ZERO },
		{ "1e30 % 7", VALUE_UNDEFINED },
		{ "1e300 * 1e300 - 1e300 * 1e300", VALUE_UNDEFINED },
		{ "NaN", VALUE_UNDEFINED },
		{ "nan", VALUE_UNDEFINED }, /* an input that is NaN without a reason */
		{ "a < m", MISSING_A },
		{ "0 & m", 0, 0 },
		{ "m & 0", 0, 0 },
		{ "1 & m", MISSING_A },
		{ "n & m", MISSING_B },
		{ "1 | m", 0, 1 },
		{ "m | 1", 0, 1 },
		{ "0 | m", MISSING_A },
		{ "1 ^ m", MISSING_A },
		{ "a if m else b", 0, 6 },
		{ "m if 1 else b", MISSING_A },
		{ "m if 0 else b", 0, 2 },
		{ "min(m, b)", 0, 2 },
		{ "min(b, m)", MISSING_A },
		{ "max(n, m)", MISSING_A },
		{ "max(m, b)", 0, 2 },
		{ "d_ratio(m, 0)", 0, 0 },
		{ "d_ratio(m, 1)", MISSING_A },
		{ "d_ratio(1, n)", MISSING_B },
		{ "pow2(m)", MISSING_A },
		{ "percent(m, 1)", MISSING_A },
		{ "percent(1, n)", MISSING_B },
		{ "percent(1, 0)", VALUE_DIVISION_BY_ZERO },
		{ "percent(111, 100)", VALUE_UNSTABLE },
		{ "percent(-1, 100)", VALUE_UNSTABLE },
		{ "bits(m, 3, 0)", MISSING_A },
		{ "bits(a, b, d)", VALUE_UNDEFINED },
		{ "bits(1.5, 3, 0)", VALUE_UNDEFINED },
		{ "bits(1e30, 3, 0)", VALUE_UNDEFINED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct value v = eval(rows[i].text);

		if (v.reason != rows[i].reason || (v.reason ? !isnan(v.v) : v.v != rows[i].v))
			fail_msg("%s: %g, reason %u, not %u", rows[i].text, v.v, v.reason, rows[i].reason);
	}
}

static bool none_and_two(void *ctx, const char *name, double *v)
{
	*v = !strcmp(name, "two") ? 2 : 0;
	return !strcmp(name, "two") || !strcmp(name, "none");
}

/* What literals decide is not looked for, and the value is what it was. */
static void test_fold(void **state)
{
	static const struct {
		const char *text, *folded;
	} cases[] = {
		{ "a + (b if #none > 0 else c)", "a + c" },
		{ "a + (b if #two > 1 else c) * d", "a + b * d" },
		{ "(a if #none else b) if (c if #two else d) else e", "b if c else e" },
		{ "a * (b > 1 & #none) + (#two | c)", "a * 0 + 1" },
		{ "(b / c if #none > 0 & #two > 1 else 1) - a", "1 - a" },
		{ "a if #unknown else b", "a if #unknown else b" },
		{ "a if b & #two else c", "a if b & #two else c" },
		{ "#none * a", "#none * a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const struct value in[] = { { .v = 2 }, { .v = 3 }, { .v = 5 }, { .v = 7 } };
		const struct expr_input *got, *wanted;
		struct expr *x, *y;
		size_t n, m;

		assert_int_equal(expr_parse(&x, cases[i].text, NULL), 0);
		assert_int_equal(expr_parse(&y, cases[i].folded, NULL), 0);
		expr_fold(x, none_and_two, NULL);
		got = expr_inputs(x, &n);
		wanted = expr_inputs(y, &m);
		assert_int_equal(n, m);
		for (size_t k = 0; k < n; k++)
			assert_string_equal(got[k].name, wanted[k].name);
		assert_true(expr_depth(x) >= expr_depth(y));
		assert_true(expr_eval(x, in).v == expr_eval(y, in).v);
		expr_free(x);
		expr_free(y);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *text;
		unsigned column; /* from 1 */
	} rows[] = {
		{ "", 1 },
		{ "  ", 3 },
		{ "1 +", 4 },
		{ "1 + * 2", 5 },
		{ "a b", 3 },
		{ "(1", 3 },
		{ "1)", 2 },
		{ "a $ b", 3 },
		{ "a == b", 3 },
		{ "a\xc3\xa4", 2 },
		{ "min(1)", 6 },
		{ "min(1, 2, 3)", 9 },
		{ "min + 1", 5 },
		{ "min(a if b else c, 1)", 7 },
		{ "a if b", 7 },
		{ "a if b if c else d else e", 8 },
		{ "if", 1 },
		{ "a + else", 5 },
		{ "unknown(1)", 1 },
		{ "has_event(1)", 11 },
		{ "has_event(a + b)", 13 },
		{ "first(a, b)", 8 },
		{ "# 1", 1 },
		{ "2 * cpu@event", 8 },
		{ "a\\", 2 },
		{ "bits(a, 3, 7)", 1 },
		{ "1 + bits(a, 64, 0)", 5 },
		{ "a + 1e999", 5 },
		{ "a,b", 2 },
		{ "#num_packages-1 2", 17 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error e = { 0 };
		struct expr *x;
		unsigned column = 0;

		if (expr_parse(&x, rows[i].text, &e) != -EINVAL)
			fail_msg("'%s' is taken", rows[i].text);
		assert_null(x);
		sscanf(e.text, "column %u:", &column);
		if (column != rows[i].column)
			fail_msg("'%s': %s; should be column %u", rows[i].text, e.text, rows[i].column);
	}
}

static char *repeat(const char *before, size_t n_before, const char *middle, const char *after, size_t n_after)
{
	struct buf b = BUF_INIT;

	while (n_before--)
		buf_addstr(&b, before);
	buf_addstr(&b, middle);
	while (n_after--)
		buf_addstr(&b, after);
	return buf_detach(&b);
}

static int parse_owned(char *text)
{
	struct error e = { 0 };
	struct expr *x;
	int err = expr_parse(&x, text, &e);

	expr_free(x);
	free(text);
	return err;
}

static void test_limits(void **state)
{
	struct expr *x;

	assert_int_equal(parse_owned(repeat("(", 200, "1", ")", 200)), 0);
	assert_int_equal(parse_owned(repeat("(", 201, "1", ")", 201)), -E2BIG);
	assert_int_equal(parse_owned(repeat("-", 100000, "1", "", 0)), -E2BIG);
	assert_int_equal(parse_owned(repeat("a if b else ", 5000, "1", "", 0)), -E2BIG);
	assert_int_equal(parse_owned(repeat("min(1,", 5000, "1", ")", 5000)), -E2BIG);
	assert_int_equal(parse_owned(repeat("1|(1^(1&(1<(1+(1*(", 30, "1", "))))))", 30)), 0);
	assert_int_equal(parse_owned(repeat("1+", 49999, "1", "", 0)), 0);
	assert_int_equal(parse_owned(repeat("1+", 500001, "1", "", 0)), -E2BIG);

	/* What is long but flat needs no deep stack. */
	{
		char *text = repeat("1+", 40000, "1", "", 0);

		assert_int_equal(expr_parse(&x, text, NULL), 0);
		assert_int_equal(expr_depth(x), 2);
		assert_true(expr_eval(x, NULL).v == 40001);
		expr_free(x);
		free(text);
	}
}

static void test_replace(void **state)
{
	static const char *const rows[][2] = {
		{ "a+b*a", "(x + 1)+b*(x + 1)" },
		{ " min( a , has_event(a) ) if b else a", " min( (x + 1) , has_event(a) ) if b else (x + 1)" },
		{ "b-1", "b-1" },
		{ "seconds(a, b) + rate(a) - \\a", "seconds(a, b) + rate(a) - (x + 1)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *with[4] = { NULL };
		const struct expr_input *in;
		struct buf b = BUF_INIT;
		struct expr *x;
		size_t n;

		assert_int_equal(expr_parse(&x, rows[i][0], NULL), 0);
		in = expr_inputs(x, &n);
		for (size_t k = 0; k < n; k++)
			with[k] = in[k].aspect == EXPR_VALUE && !strcmp(in[k].name, "a") ? "x + 1" : NULL;
		assert_int_equal(expr_replace(x, rows[i][0], with, &b), 0);
		assert_string_equal(buf_str(&b), rows[i][1]);
		buf_release(&b);
		expr_free(x);
	}
}

/* Each row has its own numbers and holes, over several blocks; the single evaluation is the reference. */
static void test_rows(void **state)
{
	enum { N = 1000, INPUTS = 3 };
	static const char *const texts[] = {
		"100 * (a - b) / c",
		"a",
		"7",
		"a if b > 0.5 else c",
		"min(a, b) + max(b, c) - (a | b & c ^ a)",
		"a % 3 + bits(b, 3, 1) * pow2(c) + d_ratio(a, c)",
		"-(a < b) * (2 - (c > a))",
		"1 - 2 * (3 - a) * 4",
	};
	struct value *in = calloc(N * INPUTS, sizeof(*in)), *out = calloc(N, sizeof(*out));

	assert_non_null(in);
	assert_non_null(out);
	srand(1);
	for (size_t i = 0; i < N * INPUTS; i++)
		in[i] = rand() % 10 ? value_of(rand() % 8 - 2) : value_missing((uint16_t)(1 + rand() % 9));
	for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		const struct value *column[INPUTS];
		const struct expr_input *names;
		struct value *scratch;
		struct expr *x;
		size_t n;

		assert_int_equal(expr_parse(&x, texts[t], NULL), 0);
		names = expr_inputs(x, &n);
		for (size_t i = 0; i < n; i++)
			column[i] = in + (size_t)(names[i].name[0] - 'a') * N;
		scratch = calloc(expr_depth(x) * N, sizeof(*scratch));
		assert_non_null(scratch);
		expr_eval_rows(x, column, N, out, scratch);
		for (size_t r = 0; r < N; r++) {
			struct value row[INPUTS] = { 0 }, v;

			for (size_t i = 0; i < n; i++)
				row[i] = column[i][r];
			v = expr_eval(x, row);
			assert_int_equal(v.reason, out[r].reason);
			assert_true(v.reason ? isnan(out[r].v) : v.v == out[r].v);
		}
		free(scratch);
		expr_free(x);
	}
	free(in);
	free(out);
}

static void test_reason_names(void **state)
{
	assert_string_equal(value_reason_name(VALUE_DIVISION_BY_ZERO), "division-by-zero");
	for (uint16_t r = VALUE_DIVISION_BY_ZERO; r <= VALUE_UNSTABLE; r++)
		assert_non_null(value_reason_name(r));
	assert_null(value_reason_name(0));
	assert_null(value_reason_name(5));
}

UNIT_TESTS(cmocka_unit_test(test_reasons), cmocka_unit_test(test_fold), cmocka_unit_test(test_errors),
	   cmocka_unit_test(test_limits), cmocka_unit_test(test_replace), cmocka_unit_test(test_rows),
	   cmocka_unit_test(test_reason_names))
