/* What parses must print to something that parses to the same program, and rows must agree with single values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/metric/expr.h"

#define ROWS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool same(struct value a, struct value b)
{
	return a.reason == b.reason && (isnan(a.v) ? isnan(b.v) : a.v == b.v);
}

/* Input i of row r: some numbers, some holes, the same for both programs because the inputs keep their order. */
static struct value number(size_t i, size_t r)
{
	static const double v[] = { 0, 1, -1, 2.5, 1e9, 63, 7 };
	size_t k = i * ROWS + r;

	return k % 5 == 4 ? value_missing((uint16_t)(1 + k % 7)) : value_of(v[k % 7]);
}

static void evaluate(const struct expr *x, struct value out[ROWS])
{
	const struct value **column;
	struct value *in, *scratch;
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct value a[ROWS];
	struct expr *x;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (!expr_parse(&x, text, NULL)) {
		evaluate(x, a);
		expr_free(x);
	}
	free(text);
	return 0;
}
