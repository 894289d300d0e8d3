/* Prints a compiled expression with as few parentheses as possible, optionally under other names. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/metric/expr_internal.h"
#include "common/number.h"

/* Between two '@' an event stays as people write it; outside them, all characters that cannot be in an id are
 * escaped. */
static void print_name(const char *name, struct buf *out)
{
	size_t len = strlen(name), number = lexer_number_length(name, len);
	const char *first = strchr(name, '/'), *last = strrchr(name, '/');
	/* A word that would be read as something else gets an escape before its first character. */
	bool escape = lexer_is_keyword(name) || (number && number == len);

	for (size_t i = 0; i < len; i++) {
		const char *c = name + i;

		if (c == first && last > first) {
			buf_addch(out, '@');
		} else if (c == last && last > first) {
			buf_addch(out, '@');
		} else if (first && last > first && c > first && c < last) {
			if (*c == '@' || *c == '\\')
				buf_addch(out, '\\');
			buf_addch(out, *c);
		} else {
			if (!lexer_is_id_char(*c) || (escape && i == 0))
				buf_addch(out, '\\');
			buf_addch(out, *c);
		}
	}
}

static void print_input(const struct expr_input *input, const char *replacement, struct buf *out)
{
	const struct expr_aspect_row *row = expr_aspects;

	if (input->aspect == EXPR_LITERAL) {
		buf_printf(out, "#%s", input->name);
		return;
	}
	if (input->aspect == EXPR_VALUE) {
		/* Not by buf_printf(): it may be long, and formats twice. */
		if (replacement) {
			buf_addch(out, '(');
			buf_addstr(out, replacement);
			buf_addch(out, ')');
		} else {
			print_name(input->name, out);
		}
		return;
	}
	while (row->text && row->aspect != input->aspect)
		row++;
	buf_printf(out, "%s(", input->aspect == EXPR_SECONDS ? "seconds" : row->text);
	print_name(input->name, out);
	if (input->by) {
		buf_addstr(out, ", ");
		print_name(input->by, out);
	}
	buf_addch(out, ')');
}

static void print_number(double v, struct buf *out)
{
	char text[NUMBER_MAX];

	if (isnan(v))
		buf_addstr(out, "NaN");
	else
		buf_add(out, text, number_double(text, v));
}

/* What is still to be printed: a text, or a step of the program with the precedence that its place requires. */
struct item {
	const char *text;
	size_t step;
	unsigned precedence;
};

struct printer {
	const struct expr *x;
	const char *const *replacement;
	struct buf *out;
	size_t (*child)[3]; /* steps that compute the operands of a step */
	struct item *item;
	size_t n;
};

static void push_text(struct printer *p, const char *text)
{
	p->item[p->n++] = (struct item){ .text = text };
}

static void push_step(struct printer *p, size_t step, unsigned precedence)
{
	p->item[p->n++] = (struct item){ .step = step, .precedence = precedence };
}

static void find_children(struct printer *p, size_t *stack)
{
	size_t top = 0;

	for (size_t i = 0; i < p->x->n_steps; i++) {
		unsigned operands = expr_ops[p->x->step[i].op].operands;

		top -= operands;
		for (unsigned k = 0; k < operands; k++)
			p->child[i][k] = stack[top + k];
		stack[top++] = i;
	}
}

/* Splits an operator into pieces, which are pushed in reverse order. */
static void open_step(struct printer *p, size_t i, unsigned wanted)
{
	enum expr_op op = p->x->step[i].op;
	const struct expr_op_row *row = &expr_ops[op];
	const size_t *child = p->child[i];

	if (row->precedence < wanted) {
		buf_addch(p->out, '(');
		push_text(p, ")");
	}
	if (op == OP_SELECT) {
		push_step(p, child[2], PRECEDENCE_IF);
		push_text(p, " else ");
		push_step(p, child[1], PRECEDENCE_BINARY);
		push_text(p, " if ");
		push_step(p, child[0], PRECEDENCE_BINARY);
	} else if (op == OP_NEGATE) {
		push_step(p, child[0], PRECEDENCE_UNARY);
		push_text(p, "-");
	} else if (row->precedence == PRECEDENCE_VALUE) {
		push_text(p, ")");
		for (unsigned k = row->operands; k-- > 0;) {
			push_step(p, child[k], PRECEDENCE_BINARY);
			push_text(p, k ? ", " : "(");
		}
		push_text(p, row->text);
	} else {
		push_step(p, child[1], row->precedence + 1u);
		push_text(p, " ");
		push_text(p, row->text);
		push_text(p, " ");
		push_step(p, child[0], row->precedence);
	}
}

static void print_items(struct printer *p)
{
	while (p->n) {
		struct item it = p->item[--p->n];
		const struct expr_step *s = &p->x->step[it.step];

		if (it.text)
			buf_addstr(p->out, it.text);
		else if (s->op == OP_NUMBER)
			print_number(s->number.v, p->out);
		else if (s->op == OP_INPUT)
			print_input(&p->x->input[s->input], p->replacement ? p->replacement[s->input] : NULL, p->out);
		else
			open_step(p, it.step, it.precedence);
	}
}

void expr_print_replaced(const struct expr *x, const char *const *replacement, struct buf *out)
{
	struct printer p = { .x = x, .replacement = replacement, .out = out };
	SCOPED(scoped_free) size_t *stack = calloc(x->depth, sizeof(*stack));

	p.child = calloc(x->n_steps, sizeof(*p.child));
	/* Each step is pushed at most once and adds at most eight pieces. The stack is explicit because `1+1+1+...`
	 * nests to the left as deep as it is long. */
	p.item = calloc(x->n_steps * 8 + 1, sizeof(*p.item));
	if (stack && p.child && p.item) {
		find_children(&p, stack);
		push_step(&p, x->n_steps - 1, PRECEDENCE_IF);
		print_items(&p);
	} else if (!out->err) {
		out->err = -ENOMEM;
	}
	free(p.child);
	free(p.item);
}

void expr_print(const struct expr *x, struct buf *out)
{
	expr_print_replaced(x, NULL, out);
}
