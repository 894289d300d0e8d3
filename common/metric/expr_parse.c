/* Recursive descent that emits a postfix program directly; there is no tree. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/metric/expr_internal.h"
#include "common/names.h"

const struct expr_op_row expr_ops[OP_COUNT] = {
	[OP_NUMBER] = { "", 0, PRECEDENCE_VALUE },
	[OP_INPUT] = { "", 0, PRECEDENCE_VALUE },
	[OP_NEGATE] = { "-", 1, PRECEDENCE_UNARY },
	[OP_OR] = { "|", 2, 1 },
	[OP_XOR] = { "^", 2, 2 },
	[OP_AND] = { "&", 2, 3 },
	[OP_LESS] = { "<", 2, 4 },
	[OP_GREATER] = { ">", 2, 4 },
	[OP_ADD] = { "+", 2, 5 },
	[OP_SUBTRACT] = { "-", 2, 5 },
	[OP_MULTIPLY] = { "*", 2, 6 },
	[OP_DIVIDE] = { "/", 2, 6 },
	[OP_MODULO] = { "%", 2, 6 },
	[OP_MIN] = { "min", 2, PRECEDENCE_VALUE },
	[OP_MAX] = { "max", 2, PRECEDENCE_VALUE },
	[OP_RATIO] = { "d_ratio", 2, PRECEDENCE_VALUE },
	[OP_POW2] = { "pow2", 1, PRECEDENCE_VALUE },
	[OP_BITS] = { "bits", 3, PRECEDENCE_VALUE },
	[OP_PERCENT] = { "percent", 2, PRECEDENCE_VALUE },
	[OP_SELECT] = { "if", 3, PRECEDENCE_IF },
};

const struct expr_aspect_row expr_aspects[] = {
	{ "source_count", EXPR_SOURCE_COUNT, true },
	{ "aggr_nr", EXPR_AGGR_NR, true },
	{ "has_event", EXPR_HAS_EVENT, true },
	{ "strcmp_cpuid_str", EXPR_CPUID_MATCH, true },
	{ "first", EXPR_FIRST, false },
	{ "last", EXPR_LAST, false },
	{ "mean", EXPR_MEAN, false },
	{ "max_of", EXPR_MAX, false },
	{ "elapsed", EXPR_ELAPSED, false },
	{ "rate", EXPR_RATE, false },
	{ "system", EXPR_SYSTEM, false },
	{ NULL, EXPR_VALUE, false },
};

struct parser {
	struct lexer lex;
	struct expr *x;
	struct names known; /* aspect letter and name -> place in x->input */
	struct error *error;
	unsigned levels;
	size_t depth; /* values on the stack after the program so far */
};

static int parse_if(struct parser *p);
static int parse_binary(struct parser *p, unsigned precedence);

static int no_memory(struct parser *p)
{
	return error_set(p->error, ENOMEM, "out of memory");
}

static int enter(struct parser *p)
{
	if (++p->levels > EXPR_MAX_LEVELS)
		return error_set(p->error, E2BIG, "column %zu: nested deeper than %d levels", p->lex.start + 1,
				 EXPR_MAX_LEVELS);
	return 0;
}

static int emit(struct parser *p, struct expr_step step)
{
	struct expr *x = p->x;

	if (array_room(&x->step, x->n_steps, sizeof(*x->step)))
		return no_memory(p);
	x->step[x->n_steps++] = step;
	p->depth = p->depth + 1 - expr_ops[step.op].operands;
	if (p->depth > EXPR_MAX_DEPTH)
		return error_set(p->error, E2BIG, "column %zu: holds more than %d values at once", p->lex.start + 1,
				 EXPR_MAX_DEPTH);
	if (p->depth > x->depth)
		x->depth = p->depth;
	return 0;
}

static int emit_op(struct parser *p, enum expr_op op)
{
	return emit(p, (struct expr_step){ .op = op });
}

static int add_input(struct parser *p, const char *name, const char *by, enum expr_aspect aspect, size_t column,
		     uint32_t *place)
{
	struct expr *x = p->x;
	struct expr_input *input;

	if (array_room(&x->input, x->n_inputs, sizeof(*x->input)))
		return no_memory(p);
	input = &x->input[x->n_inputs];
	*input = (struct expr_input){ .name = strdup(name), .aspect = aspect, .column = (uint32_t)column };
	input->by = by ? strdup(by) : NULL;
	*place = (uint32_t)x->n_inputs++;
	if (!input->name || (by && !input->by))
		return no_memory(p);
	return 0;
}

static int emit_input_by(struct parser *p, const char *name, const char *by, enum expr_aspect aspect, size_t column)
{
	struct buf key = BUF_INIT;
	uint32_t place = 0;
	int err;

	buf_addch(&key, (char)('a' + aspect));
	buf_addstr(&key, name);
	if (by)
		buf_printf(&key, "\n%s", by);
	err = key.err;
	if (!err && !names_get(&p->known, buf_str(&key), &place)) {
		err = add_input(p, name, by, aspect, column, &place);
		if (!err)
			err = names_set(&p->known, buf_str(&key), place);
	}
	buf_release(&key);
	if (err)
		return no_memory(p);
	return emit(p, (struct expr_step){ .op = OP_INPUT, .input = place });
}

static int emit_input(struct parser *p, const char *name, enum expr_aspect aspect, size_t column)
{
	return emit_input_by(p, name, NULL, aspect, column);
}

/* -EINVAL: the current token should have been `wanted`. */
static int unexpected(struct parser *p, const char *wanted)
{
	const struct lexer *l = &p->lex;
	size_t len = l->at - l->start;

	if (l->kind == TOKEN_END)
		return error_set(p->error, EINVAL, "column %zu: the expression ends where %s is expected",
				 l->start + 1, wanted);
	return error_set(p->error, EINVAL, "column %zu: found '%.*s' where %s is expected", l->start + 1,
			 (int)(len < 40 ? len : 40), l->text + l->start, wanted);
}

static bool at_mark(const struct parser *p, char mark)
{
	return p->lex.kind == TOKEN_MARK && p->lex.mark == mark;
}

static bool at_keyword(struct parser *p, const char *word)
{
	return p->lex.kind == TOKEN_ID && p->lex.plain && !strcmp(buf_str(&p->lex.word), word);
}

static int expect_mark(struct parser *p, char mark, const char *wanted)
{
	if (!at_mark(p, mark))
		return unexpected(p, wanted);
	return lexer_next(&p->lex);
}

/* Reads an id, which the caller frees. */
static int parse_id(struct parser *p, char **name)
{
	if (p->lex.kind != TOKEN_ID || (p->lex.plain && lexer_is_keyword(buf_str(&p->lex.word))))
		return unexpected(p, "the name of a counter");
	*name = strdup(buf_str(&p->lex.word));
	return *name ? lexer_next(&p->lex) : no_memory(p);
}

/* seconds(x,y), after the opening parenthesis. */
static int parse_seconds(struct parser *p)
{
	size_t column = p->lex.start;
	SCOPED(scoped_free) char *by = NULL, *name = NULL;
	int err = parse_id(p, &name);

	if (!err)
		err = expect_mark(p, ',', "',' and the clock");
	if (!err)
		err = parse_id(p, &by);
	if (!err)
		err = expect_mark(p, ')', "')'");
	if (!err)
		err = emit_input_by(p, name, by, EXPR_SECONDS, column);
	return err;
}

/* After the opening parenthesis: one id and the closing parenthesis. */
static int parse_aspect(struct parser *p, enum expr_aspect aspect)
{
	size_t column;
	SCOPED(scoped_free) char *name = NULL;
	int err;

	column = p->lex.start;
	name = NULL;
	err = parse_id(p, &name);
	if (!err)
		err = expect_mark(p, ')', "')'");
	if (!err)
		err = emit_input(p, name, aspect, column);
	return err;
}

/* A field outside the register is a mistake in the text, not a missing value. */
static int check_bits(struct parser *p, size_t column)
{
	const struct expr_step *hi = &p->x->step[p->x->n_steps - 2], *lo = hi + 1;

	if (hi->op != OP_NUMBER || lo->op != OP_NUMBER)
		return 0;
	if (hi->number.v <= 63 && lo->number.v <= hi->number.v && hi->number.v == floor(hi->number.v) &&
	    lo->number.v == floor(lo->number.v))
		return 0;
	return error_set(p->error, EINVAL, "column %zu: bits(x,hi,lo) takes whole numbers with 63 >= hi >= lo",
			 column + 1);
}

/* After the opening parenthesis: the operands and the closing parenthesis. */
static int parse_call(struct parser *p, enum expr_op op, size_t column)
{
	int err;

	for (unsigned i = 0; i < expr_ops[op].operands; i++) {
		if (i) {
			err = expect_mark(p, ',', "',' and one more operand");
			if (err)
				return err;
		}
		err = parse_binary(p, PRECEDENCE_BINARY);
		if (err)
			return err;
	}
	err = expect_mark(p, ')', at_keyword(p, "if") ? "')' (an 'if' in here needs parentheses)" : "')'");
	if (!err && op == OP_BITS)
		err = check_bits(p, column);
	return err ? err : emit_op(p, op);
}

/* A word is a function if '(' follows; functions of our own need that. */
static int parse_word(struct parser *p)
{
	static const struct {
		const char *text;
		enum expr_op op;
	} calls[] = {
		{ "min", OP_MIN },   { "max", OP_MAX },   { "d_ratio", OP_RATIO },
		{ "pow2", OP_POW2 }, { "bits", OP_BITS }, { "percent", OP_PERCENT },
	};
	size_t column = p->lex.start;
	bool plain = p->lex.plain;
	SCOPED(scoped_free) char *word = NULL;
	int err;

	if (at_keyword(p, "if") || at_keyword(p, "else"))
		return unexpected(p, "a value");
	if (at_keyword(p, "NaN")) {
		err = lexer_next(&p->lex);
		return err ? err : emit(p, (struct expr_step){ .op = OP_NUMBER, .number = value_of(NAN) });
	}
	word = strdup(buf_str(&p->lex.word));
	if (!word)
		return no_memory(p);
	err = lexer_next(&p->lex);
	if (err || !plain || !at_mark(p, '(')) {
		if (!err && plain && lexer_is_keyword(word))
			err = unexpected(p, "the '(' of a function");
		if (!err)
			err = emit_input(p, word, EXPR_VALUE, column);
		goto out;
	}
	err = enter(p);
	if (!err)
		err = lexer_next(&p->lex);
	if (err)
		goto leave;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(calls[i].text, word)) {
			err = parse_call(p, calls[i].op, column);
			goto leave;
		}
	for (const struct expr_aspect_row *row = expr_aspects; row->text; row++)
		if (!strcmp(row->text, word)) {
			err = parse_aspect(p, row->aspect);
			goto leave;
		}
	if (!strcmp(word, "seconds"))
		err = parse_seconds(p);
	else
		err = error_set(p->error, EINVAL, "column %zu: there is no function '%.40s'", column + 1, word);
leave:
	p->levels--;
out:
	return err;
}

static int parse_value(struct parser *p)
{
	int err;

	if (p->lex.kind == TOKEN_NUMBER) {
		err = emit(p, (struct expr_step){ .op = OP_NUMBER, .number = value_of(p->lex.number) });
		return err ? err : lexer_next(&p->lex);
	}
	if (p->lex.kind == TOKEN_LITERAL) {
		err = emit_input(p, buf_str(&p->lex.word), EXPR_LITERAL, p->lex.start);
		return err ? err : lexer_next(&p->lex);
	}
	if (p->lex.kind == TOKEN_ID)
		return parse_word(p);
	if (at_mark(p, '(')) {
		err = enter(p);
		if (!err)
			err = lexer_next(&p->lex);
		if (!err)
			err = parse_if(p);
		if (!err)
			err = expect_mark(p, ')', "')'");
		p->levels--;
		return err;
	}
	return unexpected(p, "a value");
}

static int parse_unary(struct parser *p)
{
	int err;

	if (!at_mark(p, '-'))
		return parse_value(p);
	err = enter(p);
	if (!err)
		err = lexer_next(&p->lex);
	if (!err)
		err = parse_unary(p);
	if (!err)
		err = emit_op(p, OP_NEGATE);
	p->levels--;
	return err;
}

/* The binary operator at the current token, or OP_COUNT. */
static enum expr_op binary_op(const struct parser *p)
{
	for (enum expr_op op = 0; op < OP_COUNT; op++)
		if (expr_ops[op].operands == 2 && expr_ops[op].precedence < PRECEDENCE_UNARY &&
		    at_mark(p, expr_ops[op].text[0]))
			return op;
	return OP_COUNT;
}

/* Operators of this precedence and higher; all are left-associative. */
static int parse_binary(struct parser *p, unsigned precedence)
{
	int err = parse_unary(p);

	while (!err) {
		enum expr_op op = binary_op(p);

		if (op == OP_COUNT || expr_ops[op].precedence < precedence)
			break;
		err = lexer_next(&p->lex);
		if (!err)
			err = parse_binary(p, expr_ops[op].precedence + 1u);
		if (!err)
			err = emit_op(p, op);
	}
	return err;
}

static int parse_if(struct parser *p)
{
	int err = parse_binary(p, PRECEDENCE_BINARY);

	if (err || !at_keyword(p, "if"))
		return err;
	err = enter(p);
	if (!err)
		err = lexer_next(&p->lex);
	if (!err)
		err = parse_binary(p, PRECEDENCE_BINARY);
	if (!err && !at_keyword(p, "else"))
		err = unexpected(p, "'else'");
	if (!err)
		err = lexer_next(&p->lex);
	if (!err)
		err = parse_if(p);
	if (!err)
		err = emit_op(p, OP_SELECT);
	p->levels--;
	return err;
}

int expr_parse(struct expr **x, const char *text, struct error *e)
{
	struct parser p = { .lex = { .text = text, .len = strnlen(text, EXPR_MAX_TEXT + 1), .error = e },
			    .error = e };
	int err;

	*x = NULL;
	if (p.lex.len > EXPR_MAX_TEXT)
		return error_set(e, E2BIG, "the expression is longer than %d characters", EXPR_MAX_TEXT);
	p.x = calloc(1, sizeof(*p.x));
	if (!p.x)
		return no_memory(&p);
	err = lexer_next(&p.lex);
	if (!err)
		err = parse_if(&p);
	if (!err && p.lex.kind != TOKEN_END)
		err = unexpected(&p, "an operator or the end");
	if (err == -ENOMEM)
		no_memory(&p);
	buf_release(&p.lex.word);
	names_release(&p.known);
	if (err) {
		expr_free(p.x);
		return err;
	}
	*x = p.x;
	return 0;
}

void expr_free(struct expr *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n_inputs; i++) {
		free(x->input[i].name);
		free(x->input[i].by);
	}
	free(x->input);
	free(x->step);
	free(x);
}

const struct expr_input *expr_inputs(const struct expr *x, size_t *n)
{
	*n = x->n_inputs;
	return x->input;
}

size_t expr_depth(const struct expr *x)
{
	return x->depth;
}
