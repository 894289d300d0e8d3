/* What the lexer, the parser, the evaluator and the printer of expressions share; nobody else includes it. */
#pragma once

#include "common/metric/expr.h"

#define EXPR_MAX_TEXT   1000000
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
	unsigned char precedence; /* 0: if; 1-6: binary; 7: unary; 8: a value or a function */
};
extern const struct expr_op_row expr_ops[OP_COUNT];

enum {
	PRECEDENCE_IF = 0,
	PRECEDENCE_BINARY = 1,
	PRECEDENCE_UNARY = 7,
	PRECEDENCE_VALUE = 8,
};

/* Functions that take one id; the row's text is also what expr_print() writes. */
struct expr_aspect_row {
	const char *text;
	enum expr_aspect aspect;
	bool reserved; /* perf's: the word is not an id, even without a '(' */
};
extern const struct expr_aspect_row expr_aspects[]; /* ends with text NULL */

/* One step of the program in postfix order. */
struct expr_step {
	enum expr_op op;
	uint32_t input;      /* OP_INPUT */
	struct value number; /* OP_NUMBER; NaN for the literal of that name */
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
	struct error *error;
	/* The token that was read last. */
	enum token_kind kind;
	size_t start;
	double number;
	char mark;
	bool plain;      /* TOKEN_ID: as written, so it may be a keyword */
	struct buf word; /* TOKEN_ID, TOKEN_LITERAL: resolved */
};

/* Reads the next token. 0 or -errno with the text set. */
int lexer_next(struct lexer *l);
/* Length of the number at the start of `text`, 0 if there is none. */
size_t lexer_number_length(const char *text, size_t len);
bool lexer_is_id_char(char c);
/* Words that are never an id when they stand unescaped. */
bool lexer_is_keyword(const char *word);

/* As expr_print(), but an input of aspect EXPR_VALUE whose replacement[i] is not NULL is printed as that text in
 * parentheses. `replacement` may be NULL. */
void expr_print_replaced(const struct expr *x, const char *const *replacement, struct buf *out);
