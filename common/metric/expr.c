#include "common/metric/expr.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/names.h"
#include "common/parse.h"

#define EXPR_MAX_LEVELS 200

/* A level of nesting holds at most eight values (six binary operators and the two of an `if`); real formulas
 * hold few at more than a few levels, and the limit lets evaluation live on the C stack. */
#define EXPR_MAX_DEPTH 512

enum expr_op {
	OP_NUMBER,
	OP_INPUT,
	OP_NEGATE,
	OP_ADD,
	OP_SUBTRACT,
	OP_MULTIPLY,
	OP_DIVIDE,
	OP_MODULO,
	OP_LESS,
	OP_GREATER,
	OP_AND,
	OP_XOR,
	OP_OR,
	OP_MIN,
	OP_MAX,
	OP_RATIO,
	OP_POW2,
	OP_BITS,
	OP_PERCENT,
	OP_SELECT, /* operands in the order of the text: A, C, B of `A if C else B` */
	OP_COUNT
};

struct expr_op_row {
	const char *text; /* the operator, or the name of the function */
	unsigned char operands;
	unsigned char precedence; /* of a binary operator, from LOOSEST on; 0: it is none */
};

/* Functions that take one id, or seconds() two. */
struct expr_aspect_row {
	const char *text;
	enum expr_aspect aspect;
	bool reserved; /* perf's: the word is not an id, even without a '(' */
};

/* One step of the program in postfix order. */
struct expr_step {
	enum expr_op op;
	union {
		struct value number; /* OP_NUMBER; NaN for the literal of that name */
		struct {
			uint32_t input;    /* OP_INPUT */
			uint32_t from, to; /* its place in the text */
		};
	};
};

struct expr {
	struct expr_step *step;
	size_t n_steps;
	struct expr_input *input;
	size_t n_inputs;
	size_t depth; /* values on the stack at most */
};

enum token_kind {
	TOKEN_END,
	TOKEN_NUMBER,
	TOKEN_ID,
	TOKEN_LITERAL,
	TOKEN_MARK, /* one character of the grammar */
};

struct lexer {
	const char *text;
	size_t len;
	size_t at;
	struct error *error; /* the first: then there are only ends, and nothing is emitted */
	int err;             /* its -errno */
	/* The token that was read last. */
	enum token_kind kind;
	size_t start;
	double number;
	char mark;
	bool plain;      /* TOKEN_ID: as written, so it may be a keyword */
	struct buf word; /* TOKEN_ID, TOKEN_LITERAL: resolved */
};

static const struct expr_op_row expr_ops[OP_COUNT] = {
	[OP_NEGATE] = { "-", 1 },    [OP_OR] = { "|", 2, 1 },         [OP_XOR] = { "^", 2, 2 },
	[OP_AND] = { "&", 2, 3 },    [OP_LESS] = { "<", 2, 4 },       [OP_GREATER] = { ">", 2, 4 },
	[OP_ADD] = { "+", 2, 5 },    [OP_SUBTRACT] = { "-", 2, 5 },   [OP_MULTIPLY] = { "*", 2, 6 },
	[OP_DIVIDE] = { "/", 2, 6 }, [OP_MODULO] = { "%", 2, 6 },     [OP_MIN] = { "min", 2 },
	[OP_MAX] = { "max", 2 },     [OP_RATIO] = { "d_ratio", 2 },   [OP_POW2] = { "pow2", 1 },
	[OP_BITS] = { "bits", 3 },   [OP_PERCENT] = { "percent", 2 }, [OP_SELECT] = { "if", 3 },
};

static const struct expr_aspect_row expr_aspects[] = {
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
	{ "seconds", EXPR_SECONDS, false },
	{ NULL, EXPR_VALUE, false },
};

struct parser {
	struct lexer lex;
	struct expr *x;
	struct names known; /* aspect letter and name -> place in x->input */
	unsigned levels;
	size_t depth; /* values on the stack after the program so far */
};
/* The precedence of all binary operators, which bind the looser the lower it is. */
#define LOOSEST 1

static void parse_word(struct parser *p);
static void parse_binary(struct parser *p, unsigned precedence);

/* The text of an error goes there if it is the first. */
static struct error *first(const struct lexer *l)
{
	return l->err ? NULL : l->error;
}

static void stop(struct lexer *l, int err)
{
	l->err = l->err ? l->err : err;
	l->kind = TOKEN_END;
}

static void enter(struct parser *p)
{
	if (++p->levels > EXPR_MAX_LEVELS)
		stop(&p->lex, error_set(first(&p->lex), E2BIG, "column %zu: nested deeper than %d levels",
					p->lex.start + 1, EXPR_MAX_LEVELS));
}

static void emit(struct parser *p, struct expr_step step)
{
	struct expr *x = p->x;

	if (p->lex.err)
		return;
	memory_room(&x->step, x->n_steps, sizeof(*x->step));
	x->step[x->n_steps++] = step;
	p->depth = p->depth + 1 - expr_ops[step.op].operands;
	if (p->depth > EXPR_MAX_DEPTH)
		stop(&p->lex, error_set(first(&p->lex), E2BIG, "column %zu: holds more than %d values at once",
					p->lex.start + 1, EXPR_MAX_DEPTH));
	if (p->depth > x->depth)
		x->depth = p->depth;
}

static void emit_op(struct parser *p, enum expr_op op)
{
	emit(p, (struct expr_step){ .op = op });
}

static void emit_number(struct parser *p, double v)
{
	emit(p, (struct expr_step){ .op = OP_NUMBER, .number = value_of(v) });
}

/* Of the text between these places. `by`: the clock of seconds(), or NULL. */
static void emit_input(struct parser *p, const char *name, const char *by, enum expr_aspect aspect, size_t from,
		       size_t to)
{
	SCOPED(scoped_free)
	char *key = memory_format("%c%s%s%s", 'a' + (char)aspect, name, by ? "\n" : "", by ? by : "");
	struct expr *x = p->x;
	uint32_t place = (uint32_t)x->n_inputs;

	if (!names_get(&p->known, key, &place)) {
		memory_room(&x->input, x->n_inputs, sizeof(*x->input));
		x->input[x->n_inputs++] = (struct expr_input){ .name = memory_text(name),
							       .by = by ? memory_text(by) : NULL,
							       .aspect = aspect,
							       .column = (uint32_t)from };
		memory_done(names_set(&p->known, key, place));
	}
	emit(p, (struct expr_step){ .op = OP_INPUT, .input = place, .from = (uint32_t)from, .to = (uint32_t)to });
}

/* The current token should have been `wanted`. */
static void unexpected(struct parser *p, const char *wanted)
{
	struct lexer *l = &p->lex;
	size_t len = l->at - l->start;

	if (l->kind == TOKEN_END)
		stop(l, error_set(first(l), EINVAL, "column %zu: the expression ends where %s is expected",
				  l->start + 1, wanted));
	else
		stop(l, error_set(first(l), EINVAL, "column %zu: found '%.*s' where %s is expected", l->start + 1,
				  (int)(len < 40 ? len : 40), l->text + l->start, wanted));
}

static bool at_mark(const struct parser *p, char mark)
{
	return p->lex.kind == TOKEN_MARK && p->lex.mark == mark;
}

static bool at_keyword(struct parser *p, const char *word)
{
	return p->lex.kind == TOKEN_ID && p->lex.plain && !strcmp(buf_str(&p->lex.word), word);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool lexer_is_id_char(char c)
{
	return is_digit(c) || is_letter(c) || c == '_' || c == '.' || c == ':' || c == '?';
}

/* Copies the id at `start` to l->word. Returns its end, which is `start` if there is none. */
static size_t scan_id(struct lexer *l, size_t start)
{
	size_t i = start, open = 0;
	bool section = false;

	buf_clear(&l->word);
	l->plain = true;
	for (; i < l->len; i++) {
		char c = l->text[i];

		if (c == '\\') {
			if (i + 1 == l->len) {
				stop(l,
				     error_set(first(l), EINVAL, "column %zu: nothing follows the backslash", i + 1));
				break;
			}
			buf_addch(&l->word, l->text[++i]);
			l->plain = false;
		} else if (c == '@') {
			section = !section;
			open = i;
			buf_addch(&l->word, '/');
			l->plain = false;
		} else if (section || lexer_is_id_char(c)) {
			buf_addch(&l->word, c);
		} else {
			break;
		}
	}
	if (section)
		stop(l, error_set(first(l), EINVAL, "column %zu: the '@' here has no closing '@'", open + 1));
	memory_whole(&l->word);
	return i;
}

static void scan_number(struct lexer *l, size_t start, size_t len)
{
	SCOPED(scoped_free) char *text = memory_format("%.*s", (int)len, l->text + start);

	l->kind = TOKEN_NUMBER;
	l->at = start + len;
	if (parse_double(text, &l->number))
		stop(l, error_set(first(l), EINVAL, "column %zu: %.40s is too large for a number", start + 1, text));
}

static void scan_literal(struct lexer *l, size_t start)
{
	size_t i = start + 1;

	buf_clear(&l->word);
	for (; i < l->len; i++) {
		char c = l->text[i];

		if (!is_digit(c) && !is_letter(c) && c != '_' && c != '.' && c != '-')
			break;
		buf_addch(&l->word, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	l->kind = TOKEN_LITERAL;
	l->at = i;
	if (i == start + 1)
		stop(l, error_set(first(l), EINVAL, "column %zu: a name must follow '#'", start + 1));
	memory_whole(&l->word);
}

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

/* Reads the next token. */
static void lexer_next(struct lexer *l)
{
	size_t start, end, number;
	char c;

	l->at += strspn(l->text + l->at, " \t\n\v\f\r");
	start = l->start = l->at;
	l->kind = TOKEN_END;
	if (l->err || start == l->len)
		return;
	c = l->text[start];
	if (strchr("+-*/%()<>&|^,", c)) {
		l->kind = TOKEN_MARK;
		l->mark = c;
		l->at++;
		return;
	}
	if (c == '#') {
		scan_literal(l, start);
		return;
	}
	/* The longer one wins, as in a generated lexer: 1e9 is a number, 1GHz and 1E9 are ids, 1e-9 is a number
	 * again. */
	end = scan_id(l, start);
	number = parse_number_length(l->text + start, "e", "-");
	if (l->err)
		return;
	if (number && start + number >= end) {
		scan_number(l, start, number);
	} else if (end > start) {
		l->kind = TOKEN_ID;
		l->at = end;
	} else if (c > ' ' && c < 0x7f) {
		stop(l, error_set(first(l), EINVAL, "column %zu: '%c' is not allowed here", start + 1, c));
	} else {
		stop(l, error_set(first(l), EINVAL, "column %zu: the byte 0x%02x is not allowed here", start + 1,
				  (unsigned char)c));
	}
}

static void expect_mark(struct parser *p, char mark, const char *wanted)
{
	if (at_mark(p, mark))
		lexer_next(&p->lex);
	else
		unexpected(p, wanted);
}

/* Words that are never an id when they stand unescaped. */
static bool lexer_is_keyword(const char *word)
{
	static const char *const words[] = { "if", "else", "NaN", "min", "max", "d_ratio" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], word))
			return true;
	for (const struct expr_aspect_row *row = expr_aspects; row->text; row++)
		if (row->reserved && !strcmp(row->text, word))
			return true;
	return false;
}

/* Reads an id, which the caller frees; NULL: there is none. */
static char *parse_id(struct parser *p)
{
	char *name;

	if (p->lex.kind != TOKEN_ID || (p->lex.plain && lexer_is_keyword(buf_str(&p->lex.word)))) {
		unexpected(p, "the name of a counter");
		return NULL;
	}
	name = memory_text(buf_str(&p->lex.word));
	lexer_next(&p->lex);
	return name;
}

/* After the opening parenthesis: one id, or two, and the closing parenthesis. */
static void parse_aspect(struct parser *p, enum expr_aspect aspect)
{
	size_t column = p->lex.start;
	SCOPED(scoped_free) char *name = parse_id(p), *by = NULL;

	if (aspect == EXPR_SECONDS) {
		expect_mark(p, ',', "',' and the clock");
		by = parse_id(p);
	}
	expect_mark(p, ')', "')'");
	if (!p->lex.err)
		emit_input(p, name, by, aspect, column, column);
}

/* A field outside the register is a mistake in the text, not a missing value. */
static void check_bits(struct parser *p, size_t column)
{
	const struct expr_step *hi, *lo;

	if (p->lex.err)
		return;
	hi = &p->x->step[p->x->n_steps - 2];
	lo = hi + 1;
	if (hi->op != OP_NUMBER || lo->op != OP_NUMBER)
		return;
	if (!(hi->number.v <= 63 && lo->number.v <= hi->number.v) || hi->number.v != floor(hi->number.v) ||
	    lo->number.v != floor(lo->number.v))
		stop(&p->lex,
		     error_set(first(&p->lex), EINVAL,
			       "column %zu: bits(x,hi,lo) takes whole numbers with 63 >= hi >= lo", column + 1));
}

static void parse_if(struct parser *p)
{
	parse_binary(p, LOOSEST);
	if (!at_keyword(p, "if"))
		return;
	enter(p);
	lexer_next(&p->lex);
	parse_binary(p, LOOSEST);
	if (!at_keyword(p, "else"))
		unexpected(p, "'else'");
	lexer_next(&p->lex);
	parse_if(p);
	emit_op(p, OP_SELECT);
	p->levels--;
}

static void parse_value(struct parser *p)
{
	if (p->lex.kind == TOKEN_NUMBER) {
		emit_number(p, p->lex.number);
		lexer_next(&p->lex);
	} else if (p->lex.kind == TOKEN_LITERAL) {
		emit_input(p, buf_str(&p->lex.word), NULL, EXPR_LITERAL, p->lex.start, p->lex.at);
		lexer_next(&p->lex);
	} else if (p->lex.kind == TOKEN_ID) {
		parse_word(p);
	} else if (at_mark(p, '(')) {
		enter(p);
		lexer_next(&p->lex);
		parse_if(p);
		expect_mark(p, ')', "')'");
		p->levels--;
	} else {
		unexpected(p, "a value");
	}
}

static void parse_unary(struct parser *p)
{
	if (!at_mark(p, '-')) {
		parse_value(p);
		return;
	}
	enter(p);
	lexer_next(&p->lex);
	parse_unary(p);
	emit_op(p, OP_NEGATE);
	p->levels--;
}

/* The binary operator at the current token, or OP_COUNT. */
static enum expr_op binary_op(const struct parser *p)
{
	for (enum expr_op op = 0; op < OP_COUNT; op++)
		if (expr_ops[op].precedence && at_mark(p, expr_ops[op].text[0]))
			return op;
	return OP_COUNT;
}

/* Operators of this precedence and higher; all are left-associative. */
static void parse_binary(struct parser *p, unsigned precedence)
{
	enum expr_op op;

	parse_unary(p);
	while ((op = binary_op(p)) != OP_COUNT && expr_ops[op].precedence >= precedence) {
		lexer_next(&p->lex);
		parse_binary(p, expr_ops[op].precedence + 1u);
		emit_op(p, op);
	}
}

/* After the opening parenthesis: the operands and the closing parenthesis. */
static void parse_call(struct parser *p, enum expr_op op, size_t column)
{
	for (unsigned i = 0; i < expr_ops[op].operands; i++) {
		if (i)
			expect_mark(p, ',', "',' and one more operand");
		parse_binary(p, LOOSEST);
	}
	expect_mark(p, ')', at_keyword(p, "if") ? "')' (an 'if' in here needs parentheses)" : "')'");
	if (op == OP_BITS)
		check_bits(p, column);
	emit_op(p, op);
}

/* From the '(' behind the function's name to the closing parenthesis. */
static void parse_function(struct parser *p, const char *word, size_t column)
{
	lexer_next(&p->lex);
	for (enum expr_op op = OP_MIN; op < OP_SELECT; op++)
		if (!strcmp(expr_ops[op].text, word)) {
			parse_call(p, op, column);
			return;
		}
	for (const struct expr_aspect_row *row = expr_aspects; row->text; row++)
		if (!strcmp(row->text, word)) {
			parse_aspect(p, row->aspect);
			return;
		}
	stop(&p->lex,
	     error_set(first(&p->lex), EINVAL, "column %zu: there is no function '%.40s'", column + 1, word));
}

/* A word is a function if '(' follows; functions of our own need that. */
static void parse_word(struct parser *p)
{
	size_t column = p->lex.start, end = p->lex.at;
	bool plain = p->lex.plain;
	SCOPED(scoped_free) char *word = memory_text(buf_str(&p->lex.word));

	if (at_keyword(p, "if") || at_keyword(p, "else")) {
		unexpected(p, "a value");
		return;
	}
	lexer_next(&p->lex);
	if (plain && !strcmp(word, "NaN")) {
		emit_number(p, NAN);
	} else if (plain && at_mark(p, '(')) {
		enter(p);
		parse_function(p, word, column);
		p->levels--;
	} else if (plain && lexer_is_keyword(word)) {
		unexpected(p, "the '(' of a function");
	} else {
		emit_input(p, word, NULL, EXPR_VALUE, column, end);
	}
}

int expr_parse(struct expr **x, const char *text, struct error *e)
{
	struct parser p = { .lex = { .text = text, .len = strnlen(text, EXPR_MAX_TEXT + 1), .error = e } };

	*x = NULL;
	if (p.lex.len > EXPR_MAX_TEXT)
		return error_set(e, E2BIG, "the expression is longer than %d characters", EXPR_MAX_TEXT);
	p.x = memory_new(1, sizeof(*p.x));
	lexer_next(&p.lex);
	parse_if(&p);
	if (p.lex.kind != TOKEN_END)
		unexpected(&p, "an operator or the end");
	buf_release(&p.lex.word);
	names_release(&p.known);
	if (p.lex.err)
		expr_free(p.x);
	else
		*x = p.x;
	return p.lex.err;
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

void expr_fold(struct expr *x, bool (*literal)(void *ctx, const char *name, double *v), void *ctx)
{
	struct part stack[EXPR_MAX_DEPTH];
	SCOPED(scoped_free) uint32_t *place = memory_new(x->n_inputs, sizeof(*place));
	size_t top = 0, n = 0;

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
}

/* Rows evaluated together: few enough for the stack of a deep formula to stay in the L1 cache. */
#define BLOCK  128
#define INLINE inline __attribute__((always_inline))

const char *value_reason_name(uint16_t reason)
{
	static const char *const names[] = {
		[VALUE_DIVISION_BY_ZERO - 3000] = "division-by-zero",
		[VALUE_UNDEFINED - 3000] = "undefined",
		[VALUE_NO_INPUT - 3000] = "no-counter",
		[VALUE_GAP - 3000] = "gap",
		[VALUE_NO_INTERVAL - 3000] = "no-interval",
		[VALUE_UNSTABLE - 3000] = "unstable",
	};

	return reason >= 3000 && reason < 3000 + sizeof(names) / sizeof(names[0]) ? names[reason - 3000] : NULL;
}

/* Inside the program v is NaN exactly if there is a reason, whatever the caller left in the unused field. */
static INLINE struct value load_value(struct value x)
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

static struct value bit_field(struct value x, struct value hi, struct value lo)
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
		return bit_field(a, b, c);
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

/* A stack entry for all rows of a block: an array, or one value for all rows (step 0). */
struct slot {
	const struct value *v;
	size_t step;
};

static INLINE void apply_rows(enum expr_op op, const struct slot *a, const struct slot *b, const struct slot *c,
			      size_t n, struct value *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = apply(op, load_value(a->v[i * a->step]), load_value(b->v[i * b->step]),
			       load_value(c->v[i * c->step]));
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

/* The rows from input[i][row] on; or a single row, one[]. */
static void run_block(const struct expr *x, const struct value *const *input, const struct value *one, size_t row,
		      size_t n, struct value *out, struct value *scratch)
{
	struct slot stack[EXPR_MAX_DEPTH];
	size_t top = 0;

	for (size_t i = 0; i < x->n_steps; i++) {
		const struct expr_step *s = &x->step[i];
		struct value *to;
		const struct slot *a;
		unsigned operands = expr_ops[s->op].operands;

		if (s->op == OP_INPUT) {
			stack[top++] = (struct slot){ one ? one + s->input : input[s->input] + row, 1 };
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
			out[i] = load_value(stack[0].v[i * stack[0].step]);
}

void expr_eval_rows(const struct expr *x, const struct value *const *input, size_t n, struct value *out,
		    struct value *scratch)
{
	for (size_t row = 0; row < n; row += BLOCK)
		run_block(x, input, NULL, row, n - row < BLOCK ? n - row : BLOCK, out + row, scratch);
}

struct value expr_eval(const struct expr *x, const struct value *input)
{
	struct value out, scratch[EXPR_MAX_DEPTH];

	run_block(x, NULL, input, 0, 1, &out, scratch);
	return out;
}

/* Leaves stand in the program in the order of the text. */
int expr_replace(const struct expr *x, const char *text, const char *const *replacement, struct buf *out)
{
	size_t at = 0;

	for (const struct expr_step *s = x->step; s < x->step + x->n_steps; s++) {
		if (s->op != OP_INPUT || !replacement[s->input])
			continue;
		buf_add(out, text + at, s->from - at);
		buf_addch(out, '(');
		buf_addstr(out, replacement[s->input]);
		buf_addch(out, ')');
		at = s->to;
		/* A hostile file can multiply lengths with every reference. */
		if (out->len > EXPR_MAX_TEXT)
			return -E2BIG;
	}
	buf_addstr(out, text + at);
	return out->len > EXPR_MAX_TEXT ? -E2BIG : 0;
}
