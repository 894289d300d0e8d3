/*
 * Evaluates expressions for tests/unit/tools/expr_diff.py. A line of stdin is EXPR and then ID=VALUE pairs, separated
 * by TABs; ID is the resolved name, with the function before it for all but plain values: "aggr_nr(x)",
 * "#smt_on". The answer is a line with the value, "nan" and its reason, or "error" and the message. Every line
 * is evaluated alone and as rows; they have to agree.
 *
 * `expr_tool --load PATH` prints instead what a vendor's file or folder of metrics comes to: a line a metric with
 * its name, formula and threshold, between TABs; what had to be left out goes to stderr.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/metric/expr.h"
#include "common/metric/metric.h"
#include "common/number.h"

#define ROWS 300

static void key_of(const struct expr_input *in, struct buf *out)
{
	static const char *const functions[] = {
		[EXPR_FIRST] = "first",     [EXPR_LAST] = "last",           [EXPR_MEAN] = "mean",
		[EXPR_MAX] = "max_of",      [EXPR_ELAPSED] = "elapsed",     [EXPR_SOURCE_COUNT] = "source_count",
		[EXPR_AGGR_NR] = "aggr_nr", [EXPR_HAS_EVENT] = "has_event", [EXPR_CPUID_MATCH] = "strcmp_cpuid_str",
		[EXPR_RATE] = "rate",       [EXPR_SYSTEM] = "system",
	};

	if (in->aspect == EXPR_VALUE)
		buf_addstr(out, in->name);
	else if (in->aspect == EXPR_LITERAL)
		buf_printf(out, "#%s", in->name);
	else
		buf_printf(out, "%s(%s)", functions[in->aspect], in->name);
}

static struct value find(char **pair, size_t n, const struct expr_input *in)
{
	struct value v = value_missing(VALUE_NO_INPUT);
	struct buf key = BUF_INIT;

	key_of(in, &key);
	for (size_t i = 0; i < n; i++) {
		const char *equals = strrchr(pair[i], '=');

		if (equals && key.len == (size_t)(equals - pair[i]) && !memcmp(pair[i], key.data, key.len))
			v = value_of(strtod(equals + 1, NULL));
	}
	buf_release(&key);
	return v;
}

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static bool same(struct value a, struct value b)
{
	return a.reason == b.reason && (isnan(a.v) ? isnan(b.v) : a.v == b.v);
}

static struct value evaluate(const struct expr *x, char **pair, size_t pairs)
{
	size_t n;
	const struct expr_input *in = expr_inputs(x, &n);
	struct value *one = must(calloc(n + 1, sizeof(*one)));
	struct value *rows = must(calloc((n + 1) * ROWS, sizeof(*rows)));
	struct value *scratch = must(calloc(expr_depth(x) * ROWS, sizeof(*scratch)));
	struct value *out = must(calloc(ROWS, sizeof(*out)));
	const struct value **place = must(calloc(n + 1, sizeof(*place)));
	struct value result;

	for (size_t i = 0; i < n; i++) {
		one[i] = find(pair, pairs, &in[i]);
		place[i] = rows + i * ROWS;
		for (size_t r = 0; r < ROWS; r++)
			rows[i * ROWS + r] = one[i];
	}
	result = expr_eval(x, one);
	expr_eval_rows(x, place, ROWS, out, scratch);
	for (size_t r = 0; r < ROWS; r++)
		if (!same(out[r], result)) {
			fprintf(stderr, "row %zu differs from the single value\n", r);
			exit(1);
		}
	free(one);
	free(rows);
	free(scratch);
	free(out);
	free(place);
	return result;
}

static void answer(char *line)
{
	char *pair[4096], *expression = strsep(&line, "\t");
	struct error e = { 0 };
	struct expr *x;
	struct value v;
	size_t n = 0;

	while (line && n < 4096)
		pair[n++] = strsep(&line, "\t");
	if (expr_parse(&x, expression, &e)) {
		printf("error %s\n", e.text);
		return;
	}
	v = evaluate(x, pair, n);
	if (v.reason)
		printf("nan %s\n", value_reason_name(v.reason));
	else
		printf("%.17g\n", v.v);
	expr_free(x);
}

static int load(const char *path)
{
	struct metric_set set;
	struct error e = { 0 };

	if (metric_set_load(&set, path, NULL, &e)) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	for (size_t i = 0; i < set.n; i++)
		printf("%s\t%s\t%s\n", set.row[i].display, set.row[i].expr,
		       set.row[i].threshold ? set.row[i].threshold : "");
	fputs(buf_str(&set.skipped), stderr);
	metric_set_release(&set);
	return 0;
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	if (argc == 3 && !strcmp(argv[1], "--load"))
		return load(argv[2]);
	while ((len = getline(&line, &cap, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		answer(line);
	}
	free(line);
	return 0;
}
