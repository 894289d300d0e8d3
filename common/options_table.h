/*
 * Tables of options: common/options_record.def, options_show.def and options_stat.def have one row per option. From a
 * row follow parsing and help of its program (common/options_rows.h), completion (`--help=options`), and what the
 * other programs say to those who type it there (options_foreign_refuse(), options_letter_refuse()).
 *
 *   HEADING(text)                                            begins a part of the help
 *   OPTION(id, letter, name, argument, how, hint, help)      letter 0: none; argument NULL: a flag
 *   OPTIONAL(id, letter, name, argument, how, hint, help)    the argument may be left out
 *   ALIAS(name, hint)                                        another name of the option before it
 *   HIDDEN(name, hint)                                       the same, not in the help
 *   LETTER(letter)                                           another letter of the option before it
 *
 * `how` is one of the macros below, or of the program. `hint` ends the message of the other programs ("--delay
 * belongs to pmrec: HINT"); NULL: no hint; "": typed elsewhere it abbreviates
 * another option.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/options.h"

enum option_kind {
	OPTION_NOTHING, /* accepted, without effect */
	OPTION_FLAG,    /* bool: set to true */
	OPTION_CLEAR,   /* bool: set to false */
	OPTION_COUNT,   /* unsigned: incremented */
	OPTION_TEXT,    /* char *: the argument; one of `words` if there are any */
	OPTION_LIST,    /* char **: appended to a NULL-terminated array, to be freed */
	OPTION_WORD,    /* unsigned or enum: the argument's index in `words` */
	OPTION_NUMBER,  /* unsigned or enum: `number` */
	OPTION_BITS,    /* unsigned: `number` is or'ed to it */
	OPTION_AMOUNT,  /* uint32_t or uint64_t: a number from `least` to `most` */
	OPTION_TIME,    /* uint64_t: a duration in ns, `least` or more */
	OPTION_SIZE,    /* uint64_t: bytes, 1 or more */
	OPTION_READ,    /* read() */
	OPTION_CALL,    /* set() */
};

/* What is done with an option. Where it is a row of options_spec.rows, a whole option: `help` NULL makes it another
 * name of the row before it, which help leaves out, and `name` NULL begins a part of the help. */
struct option_action {
	const char *name;
	int key;              /* of argp; in a row the letter, or 0 */
	const char *argument; /* rows only, like `help`; NULL: a flag */
	const char *help;
	enum option_kind kind;
	size_t at, size; /* of the member; `size` for OPTION_AMOUNT only */
	const char *const *words;
	unsigned number;
	uint64_t least, most;
	int (*read)(void *member, const char *arg,
		    struct error *e); /* 0, or -errno with a text that does not name the option */
	error_t (*set)(void *into, char *arg, struct argp_state *state);
};

/* `how`; OPTIONS_INTO is the struct to fill. */
#define NOTHING              .kind = OPTION_NOTHING
#define FLAG(member)         .kind = OPTION_FLAG, .at = offsetof(OPTIONS_INTO, member)
#define CLEAR(member)        .kind = OPTION_CLEAR, .at = offsetof(OPTIONS_INTO, member)
#define COUNT(member)        .kind = OPTION_COUNT, .at = offsetof(OPTIONS_INTO, member)
#define TEXT(member)         .kind = OPTION_TEXT, .at = offsetof(OPTIONS_INTO, member)
#define ONE_OF(member, list) .kind = OPTION_TEXT, .at = offsetof(OPTIONS_INTO, member), .words = list
#define LIST(member)         .kind = OPTION_LIST, .at = offsetof(OPTIONS_INTO, member)
#define WORD(member, list)   .kind = OPTION_WORD, .at = offsetof(OPTIONS_INTO, member), .words = list
#define NUMBER(member, n)    .kind = OPTION_NUMBER, .at = offsetof(OPTIONS_INTO, member), .number = n
#define BITS(member, n)      .kind = OPTION_BITS, .at = offsetof(OPTIONS_INTO, member), .number = n
#define TIME(member, low)    .kind = OPTION_TIME, .at = offsetof(OPTIONS_INTO, member), .least = low
#define SIZE(member)         .kind = OPTION_SIZE, .at = offsetof(OPTIONS_INTO, member)
#define READ(member, reader) .kind = OPTION_READ, .at = offsetof(OPTIONS_INTO, member), .read = reader
#define CALL(setter)         .kind = OPTION_CALL, .set = set_##setter
#define AMOUNT(member, low, high) \
	.kind = OPTION_AMOUNT, .at = offsetof(OPTIONS_INTO, member), .size = sizeof(((OPTIONS_INTO *)0)->member), \
	.least = low, .most = high

/* For a parser: does what the key's row says; ARGP_ERR_UNKNOWN without a row. */
error_t options_take(const struct option_action *action, size_t n, void *into, int key, char *arg,
		     struct argp_state *state);
/* The same for rows that end with a zero row and have keys of options_of_rows(). */
error_t options_take_row(const struct option_action *row, void *into, int key, char *arg, struct argp_state *state);
/* The rows as argp's options, which the caller frees. NULL without memory. */
struct argp_option *options_of_rows(const struct option_action *row);
/* Appends to a NULL-terminated array. 0 or ENOMEM. */
error_t options_append(char ***list, char *text);
/* The index of the word in `words`; otherwise an error that names the nearest, or all. */
error_t options_word(const char *option, const char *arg, const char *const *words, unsigned *place,
		     struct argp_state *state);

/* ---- options of other programs ---- */

/* The full name of a text that names an option of any program, or abbreviates it with `min_abbreviation` letters or
 * more (SIZE_MAX: no abbreviations). NULL: no program has it. */
const char *options_foreign(const char *text, size_t len, size_t min_abbreviation);
/* "--NAME belongs to PROGRAM: HINT" for a foreign name, typed at the program of `column`. -EINVAL. */
int options_foreign_refuse(const char *name, enum options_column column, struct error *e);
/* The long name for a letter in a program, or NULL. */
const char *options_letter(char letter, enum options_column column);
/* -EINVAL, with the reason why the program does not have the letter. */
int options_letter_refuse(char letter, enum options_column column, struct error *e);
