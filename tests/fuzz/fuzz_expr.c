/* Rows of what parses must agree with single values, and a name replaced by a number with an input of that number. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/metric/expr.h"

#define ROWS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(struct value a, struct value b)
{
	return a.reason == b.reason && (isnan(a.v) ? isnan(b.v) : a.v == b.v);
}

/* Input i of row r: some numbers, some holes. */
static struct value number(size_t i, size_t r)
{
	static const double v[] = { 0, 1, -1, 2.5, 1e9, 63, 7 };
	size_t k = i * ROWS + r;

	return k % 5 == 4 ? value_missing((uint16_t)(1 + k % 7)) : value_of(v[k % 7]);
}

static void evaluate(const struct expr *x)
{
	const struct value **column;
	struct value *in, *scratch, out[ROWS];
	size_t n;

	expr_inputs(x, &n);
	in = calloc(n + 1, ROWS * sizeof(*in));
	column = calloc(n + 1, sizeof(*column));
	scratch = calloc(expr_depth(x), ROWS * sizeof(*scratch));
	if (!in || !column || !scratch)
		abort();
	for (size_t i = 0; i < n; i++) {
		column[i] = in + i * ROWS;
		for (size_t r = 0; r < ROWS; r++)
			in[i * ROWS + r] = number(i, r);
	}
	expr_eval_rows(x, column, ROWS, out, scratch);
	for (size_t r = 0; r < ROWS; r++) {
		for (size_t i = 0; i < n; i++)
			in[i] = number(i, r);
		if (!same(expr_eval(x, in), out[r]))
			abort();
	}
	free(in);
	free(column);
	free(scratch);
}

/* With `known` every name is worth 3; nothing else is known. */
static struct value once(const struct expr *x, bool known)
{
	const struct expr_input *input;
	struct value *in, v;
	size_t n;

	input = expr_inputs(x, &n);
	in = calloc(n + 1, sizeof(*in));
	if (!in)
		abort();
	for (size_t i = 0; i < n; i++)
		in[i] = known && input[i].aspect == EXPR_VALUE ? value_of(3) : value_missing(VALUE_NO_INPUT);
	v = expr_eval(x, in);
	free(in);
	return v;
}

static void replace(const struct expr *x, const char *text)
{
	const struct expr_input *input;
	struct buf with = BUF_INIT;
	const char **by;
	struct expr *y;
	size_t n, left;

	input = expr_inputs(x, &n);
	by = calloc(n + 1, sizeof(*by));
	if (!by)
		abort();
	for (size_t i = 0; i < n; i++)
		by[i] = input[i].aspect == EXPR_VALUE ? "1 + 2" : NULL;
	/* With more parentheses it may nest too deep. */
	if (!expr_replace(x, text, by, &with) && !expr_parse(&y, buf_str(&with), NULL)) {
		input = expr_inputs(y, &left);
		for (size_t i = 0; i < left; i++)
			if (input[i].aspect == EXPR_VALUE)
				abort();
		if (!same(once(x, true), once(y, false)))
			abort();
		expr_free(y);
	}
	free(by);
	buf_release(&with);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct expr *x;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!expr_parse(&x, text, NULL)) {
		evaluate(x);
		replace(x, text);
		expr_free(x);
	}
	free(text);
	return 0;
}
