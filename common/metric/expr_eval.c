/* Runs a compiled expression on a stack of values, each with the reason if it is missing; for one row, or for blocks
 * of rows at once. */
#include <math.h>

#include "common/metric/expr_internal.h"

/* Rows evaluated together: few enough for the stack of a deep formula to stay in the L1 cache. */
#define BLOCK 128

#define INLINE inline __attribute__((always_inline))

const char *value_reason_name(uint16_t reason)
{
	switch (reason) {
	case VALUE_DIVISION_BY_ZERO:
		return "division-by-zero";
	case VALUE_UNDEFINED:
		return "undefined";
	case VALUE_NO_INPUT:
		return "no-counter";
	case VALUE_GAP:
		return "gap";
	case VALUE_NO_INTERVAL:
		return "no-interval";
	case VALUE_UNSTABLE:
		return "unstable";
	}
	return NULL;
}

/* Inside the program v is NaN exactly if there is a reason, whatever the caller left in the unused field. */
static INLINE struct value load(struct value x)
{
	if (__builtin_expect(x.reason != 0, 0))
		return value_missing(x.reason);
	if (__builtin_expect(x.v != x.v, 0))
		return value_missing(VALUE_UNDEFINED);
	return x;
}

static INLINE struct value missing(struct value a, struct value b, uint16_t otherwise)
{
	return value_missing(a.reason ? a.reason : b.reason ? b.reason : otherwise);
}

static INLINE struct value arithmetic(double v, struct value a, struct value b)
{
	return __builtin_expect(v == v, 1) ? value_of(v) : missing(a, b, VALUE_UNDEFINED);
}

static INLINE struct value comparison(bool holds, struct value a, struct value b)
{
	return a.reason || b.reason ? missing(a, b, 0) : value_of(holds);
}

static struct value modulo(struct value a, struct value b)
{
	int64_t x, y;

	if (a.reason || b.reason)
		return missing(a, b, 0);
	if (b.v > -1 && b.v < 1)
		return value_missing(VALUE_DIVISION_BY_ZERO);
	if (fabs(a.v) >= 0x1p63 || fabs(b.v) >= 0x1p63)
		return value_missing(VALUE_UNDEFINED);
	x = (int64_t)a.v;
	y = (int64_t)b.v;
	return value_of((double)(x % y));
}

/* All 64 bits of a number that value_of_u64() made, or of a negative one in two's complement. */
static bool as_register(struct value x, uint64_t *bits)
{
	if (x.v != floor(x.v) || x.v < -0x1p63 || x.v > 0x1p64 || (x.v == 0x1p64 && x.rest >= 0))
		return false;
	*bits = x.v < 0 ? (uint64_t)(int64_t)x.v : x.v == 0x1p64 ? 0 : (uint64_t)x.v;
	*bits += (uint64_t)(int64_t)x.rest;
	return true;
}

static struct value field(struct value x, struct value hi, struct value lo)
{
	uint64_t bits;

	if (x.reason)
		return x;
	if (hi.reason || lo.reason)
		return missing(hi, lo, 0);
	if (!(hi.v <= 63 && lo.v <= hi.v && lo.v >= 0) || hi.v != floor(hi.v) || lo.v != floor(lo.v) ||
	    !as_register(x, &bits))
		return value_missing(VALUE_UNDEFINED);
	bits >>= (unsigned)lo.v;
	return value_of_u64(bits & (~(uint64_t)0 >> (63 - ((unsigned)hi.v - (unsigned)lo.v))));
}

static struct value percent(struct value a, struct value b)
{
	double p;

	if (b.v == 0)
		return missing(a, b, VALUE_DIVISION_BY_ZERO);
	p = 100 * a.v / b.v;
	return p < 0 || p > 110 ? value_missing(VALUE_UNSTABLE) : arithmetic(p, a, b);
}

static INLINE struct value apply(enum expr_op op, struct value a, struct value b, struct value c)
{
	switch (op) {
	case OP_NEGATE:
		return a.reason ? a : value_of(-a.v);
	case OP_ADD:
		return arithmetic(a.v + b.v, a, b);
	case OP_SUBTRACT:
		return arithmetic(a.v - b.v, a, b);
	case OP_MULTIPLY:
		return arithmetic(a.v * b.v, a, b);
	case OP_DIVIDE:
		if (__builtin_expect(b.v == 0, 0))
			return missing(a, b, VALUE_DIVISION_BY_ZERO);
		return arithmetic(a.v / b.v, a, b);
	case OP_MODULO:
		return modulo(a, b);
	case OP_LESS:
		return comparison(a.v < b.v, a, b);
	case OP_GREATER:
		return comparison(a.v > b.v, a, b);
	case OP_AND:
		if (a.v == 0 || b.v == 0)
			return value_of(0);
		return comparison(true, a, b);
	case OP_OR:
		if ((!a.reason && a.v != 0) || (!b.reason && b.v != 0))
			return value_of(1);
		return comparison(false, a, b);
	case OP_XOR:
		return comparison((a.v != 0) != (b.v != 0), a, b);
	case OP_MIN:
		return a.v < b.v ? a : b;
	case OP_MAX:
		return a.v > b.v ? a : b;
	case OP_RATIO:
		return b.v == 0 ? value_of(0) : arithmetic(a.v / b.v, a, b);
	case OP_POW2:
		return a.reason ? a : value_of(exp2(a.v));
	case OP_BITS:
		return field(a, b, c);
	case OP_PERCENT:
		return percent(a, b);
	case OP_SELECT:
		return b.reason || b.v != 0 ? a : c;
	case OP_NUMBER:
	case OP_INPUT:
	case OP_COUNT:
		break;
	}
	return a;
}

struct value expr_eval(const struct expr *x, const struct value *input)
{
	struct value stack[EXPR_MAX_DEPTH];
	struct value *top = stack; /* one above the newest */

	for (size_t i = 0; i < x->n_steps; i++) {
		const struct expr_step *s = &x->step[i];

		if (s->op == OP_NUMBER) {
			*top++ = load(s->number);
			continue;
		}
		if (s->op == OP_INPUT) {
			*top++ = load(input[s->input]);
			continue;
		}
		switch (expr_ops[s->op].operands) {
		case 1:
			top[-1] = apply(s->op, top[-1], top[-1], top[-1]);
			break;
		case 2:
			top[-2] = apply(s->op, top[-2], top[-1], top[-1]);
			break;
		default:
			top[-3] = apply(s->op, top[-3], top[-2], top[-1]);
		}
		top -= expr_ops[s->op].operands - 1;
	}
	return stack[0];
}

/* A stack entry for all rows of a block: an array, or one value for all rows (step 0). */
struct slot {
	const struct value *v;
	size_t step;
};

static INLINE void apply_rows(enum expr_op op, const struct slot *a, const struct slot *b, const struct slot *c,
			      size_t n, struct value *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = apply(op, load(a->v[i * a->step]), load(b->v[i * b->step]), load(c->v[i * c->step]));
}

static void run_step(enum expr_op op, const struct slot *a, const struct slot *b, const struct slot *c, size_t n,
		     struct value *out)
{
	switch (op) {
#define CASE(OP) \
	case OP: \
		apply_rows(OP, a, b, c, n, out); \
		break
		CASE(OP_NEGATE);
		CASE(OP_ADD);
		CASE(OP_SUBTRACT);
		CASE(OP_MULTIPLY);
		CASE(OP_DIVIDE);
		CASE(OP_MODULO);
		CASE(OP_LESS);
		CASE(OP_GREATER);
		CASE(OP_AND);
		CASE(OP_XOR);
		CASE(OP_OR);
		CASE(OP_MIN);
		CASE(OP_MAX);
		CASE(OP_RATIO);
		CASE(OP_POW2);
		CASE(OP_BITS);
		CASE(OP_PERCENT);
		CASE(OP_SELECT);
#undef CASE
	case OP_NUMBER:
	case OP_INPUT:
	case OP_COUNT:
		break;
	}
}

static void run_block(const struct expr *x, const struct value *const *input, size_t row, size_t n, struct value *out,
		      struct value *scratch)
{
	struct slot stack[EXPR_MAX_DEPTH];
	size_t top = 0;

	for (size_t i = 0; i < x->n_steps; i++) {
		const struct expr_step *s = &x->step[i];
		struct value *to;
		const struct slot *a;
		unsigned operands = expr_ops[s->op].operands;

		if (s->op == OP_INPUT) {
			stack[top++] = (struct slot){ input[s->input] + row, 1 };
			continue;
		}
		if (s->op == OP_NUMBER) {
			stack[top++] = (struct slot){ &s->number, 0 };
			continue;
		}
		/* Every stack entry has its own scratch space, so the result may overwrite the first operand row by
		 * row. */
		top -= operands;
		to = i + 1 == x->n_steps ? out : scratch + top * n;
		a = &stack[top];
		run_step(s->op, a, operands > 1 ? a + 1 : a, operands > 2 ? a + 2 : a, n, to);
		stack[top++] = (struct slot){ to, 1 };
	}
	if (stack[0].v != out)
		for (size_t i = 0; i < n; i++)
			out[i] = load(stack[0].v[i * stack[0].step]);
}

void expr_eval_rows(const struct expr *x, const struct value *const *input, size_t n, struct value *out,
		    struct value *scratch)
{
	for (size_t row = 0; row < n; row += BLOCK)
		run_block(x, input, row, n - row < BLOCK ? n - row : BLOCK, out + row, scratch);
}
