/* Metric files of vendors: what is wrong with them, how large they may grow, and where they lie. */
#include "common/metric/metric.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static void test_vendor_errors(void **state)
{
	static const struct {
		const char *text, *says;
		int err;
	} rows[] = {
		{ "[ { \"MetricName\": \"a\", \"MetricExpr\": \"1 +\" } ]", "metric a: column 4", -EINVAL },
		{ "[ { \"MetricName\": \"a\", \"MetricExpr\": \"b + 1\" }, { \"MetricName\": \"b\", "
		  "\"MetricExpr\": \"c\" }, "
		  "{ \"MetricName\": \"c\", \"MetricExpr\": \"2 * b\" } ]",
		  "themselves: b", -ELOOP },
		{ "[ { \"MetricName\": \"self\", \"MetricExpr\": \"self * 2\" } ]", "themselves: self", -ELOOP },
		{ "[ { \"MetricName\": \"a\", \"MetricExpr\": \"x\", \"MetricThreshold\": \"a <\" } ]",
		  "MetricThreshold of a", -EINVAL },
		{ "[ { \"MetricName\": \"a\", \"MetricExpr\": \"x\", \"ScaleUnit\": \"1e999%\" } ]", "ScaleUnit",
		  -EINVAL },
		{ "[]", "no object", -EINVAL },
		{ "{}", "neither events nor metrics", -EINVAL },
		{ "3", "neither events nor metrics", -EINVAL },
		{ "{ \"Metrics\": [ { \"MetricName\": \"a\", \"Formula\": \"b\" } ] }", "column 1", -EINVAL },
		{ "[ {\n }", "line 2", -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metric_set set;
		struct error e = { 0 };
		int err = metric_set_load_text(&set, rows[i].text, strlen(rows[i].text), &e);

		if (err != rows[i].err || !strstr(e.text, rows[i].says) || set.n || set.row)
			fail_msg("%s: %d %s", rows[i].text, err, e.text);
	}
}

/* Each metric holds the one before it ten times: what would grow to 10^30 characters is refused at once. */
static void test_vendor_growth(void **state)
{
	struct buf text = BUF_INIT;
	struct metric_set set;
	struct error e = { 0 };

	buf_addstr(&text, "[ { \"MetricName\": \"m0\", \"MetricExpr\": \"x\" }");
	for (int i = 1; i <= 30; i++) {
		buf_printf(&text, ", { \"MetricName\": \"m%d\", \"MetricExpr\": \"1", i);
		for (int k = 0; k < 10; k++)
			buf_printf(&text, " + m%d", i - 1);
		buf_addstr(&text, "\" }");
	}
	buf_addstr(&text, " ]");
	assert_int_equal(metric_set_load_text(&set, buf_str(&text), text.len, &e), 0);
	assert_in_range(set.n, 4, 6); /* m4 holds ten thousand */
	assert_non_null(strstr(buf_str(&set.skipped), "metric m9 left out: metric m9: longer than"));
	metric_set_release(&set);
	buf_clear(&text);
	buf_addstr(&text, "[ { \"MetricName\": \"m0\", \"MetricExpr\": \"x\" }");
	for (int i = 100; i > 0; i--)
		buf_printf(&text, ", { \"MetricName\": \"m%d\", \"MetricExpr\": \"m%d\" }", i, i - 1);
	buf_addstr(&text, " ]");
	/* Those at the end of a chain that is short enough remain. */
	assert_int_equal(metric_set_load_text(&set, buf_str(&text), text.len, &e), 0);
	assert_non_null(strstr(buf_str(&set.skipped), "a chain of more than"));
	assert_in_range(set.n, 60, 70);
	metric_set_release(&set);
	buf_release(&text);
}

UNIT_TESTS(cmocka_unit_test(test_vendor_errors), cmocka_unit_test(test_vendor_growth))
