/* Removes what constants decide from an expression, so that inputs without effect are not needed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/metric/expr_internal.h"

/* The values on the stack at a step, and where their steps begin. */
struct part {
	size_t start;
	bool known;
	double v;
};

static struct part number(struct expr *x, size_t start, size_t *n, double v)
{
	x->step[start] = (struct expr_step){ .op = OP_NUMBER, .number = value_of(v) };
	*n = start + 1;
	return (struct part){ start, true, v };
}

/* `A if C else B` with a known C: only the steps of A or B remain. */
static struct part choose(struct expr *x, const struct part *p, size_t *n)
{
	struct part kept = p[1].v != 0 ? p[0] : p[2];
	size_t len = p[1].v != 0 ? p[1].start - p[0].start : *n - p[2].start;

	memmove(&x->step[p[0].start], &x->step[kept.start], len * sizeof(*x->step));
	*n = p[0].start + len;
	kept.start = p[0].start;
	return kept;
}

static struct part fold_step(struct expr *x, enum expr_op op, const struct part *p, size_t *n)
{
	struct part out = { .start = p[0].start };

	if (op == OP_SELECT && p[1].known)
		return choose(x, p, n);
	if (op == OP_AND && ((p[0].known && p[0].v == 0) || (p[1].known && p[1].v == 0)))
		return number(x, out.start, n, 0);
	if (op == OP_OR && ((p[0].known && p[0].v != 0) || (p[1].known && p[1].v != 0)))
		return number(x, out.start, n, 1);
	if ((op == OP_LESS || op == OP_GREATER) && p[0].known && p[1].known) {
		out.known = true;
		out.v = op == OP_LESS ? p[0].v < p[1].v : p[0].v > p[1].v;
	} else if ((op == OP_AND || op == OP_OR) && p[0].known && p[1].known) {
		out.known = true;
		out.v = op == OP_AND;
	}
	x->step[(*n)++] = (struct expr_step){ .op = op };
	return out;
}

static void drop_inputs(struct expr *x, uint32_t *place)
{
	size_t kept = 0;

	for (size_t i = 0; i < x->n_inputs; i++)
		place[i] = UINT32_MAX;
	for (size_t i = 0; i < x->n_steps; i++)
		if (x->step[i].op == OP_INPUT)
			place[x->step[i].input] = 0;
	for (size_t i = 0; i < x->n_inputs; i++) {
		if (place[i] == UINT32_MAX) {
			free(x->input[i].name);
			free(x->input[i].by);
			continue;
		}
		place[i] = (uint32_t)kept;
		x->input[kept++] = x->input[i];
	}
	x->n_inputs = kept;
	for (size_t i = 0; i < x->n_steps; i++)
		if (x->step[i].op == OP_INPUT)
			x->step[i].input = place[x->step[i].input];
}

int expr_fold(struct expr *x, bool (*literal)(void *ctx, const char *name, double *v), void *ctx)
{
	struct part stack[EXPR_MAX_DEPTH];
	SCOPED(scoped_free) uint32_t *place = malloc((x->n_inputs + 1) * sizeof(*place));
	size_t top = 0, n = 0;

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_steps; i++) {
		struct expr_step s = x->step[i];
		struct part p = { .start = n };

		if (s.op != OP_NUMBER && s.op != OP_INPUT) {
			top -= expr_ops[s.op].operands;
			stack[top] = fold_step(x, s.op, &stack[top], &n);
			top++;
			continue;
		}
		if (s.op == OP_NUMBER && !s.number.reason)
			p = (struct part){ n, true, s.number.v };
		else if (s.op == OP_INPUT && x->input[s.input].aspect == EXPR_LITERAL)
			p.known = literal(ctx, x->input[s.input].name, &p.v);
		x->step[n++] = s;
		stack[top++] = p;
	}
	x->n_steps = n;
	drop_inputs(x, place);
	return 0;
}
