/*
 * Rows of options. What pmrec, pmrep show and pmrep stat take is in tables that all programs include:
 * options_record.def, options_show.def and options_stat.def. From a row follow parsing, help, completion and the
 * option list of the manual page (`--help=options`), and the answer of the other programs to those who type it there.
 *
 *   HEADING(text)                                      begins a part of the help
 *   OPTION(letter, name, argument, how, help)          letter 0: none; argument NULL: a flag
 *   OPTIONAL(letter, name, argument, how, help)        the argument may be left out
 *   ALIAS(name)                                        another name of the option before it
 *   HIDDEN(name)                                       the same, not in the help
 *   LETTER(letter)                                     another letter of the option before it
 *
 * `how` is one of the macros below, or of the program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/options.h"

enum option_kind {
	OPTION_NOTHING, /* accepted, without effect */
	OPTION_FLAG,    /* bool: set to true */
	OPTION_CLEAR,   /* bool: set to false */
	OPTION_COUNT,   /* unsigned: incremented */
	OPTION_TEXT,    /* char *: the argument */
	OPTION_ONE_OF,  /* the same, one of those that `argument` names ("on|off"); "" if it is left out */
	OPTION_LIST,    /* char **: appended to a NULL-terminated array, to be freed */
	OPTION_WORD,    /* unsigned or enum: its place among those, from `least` on */
	OPTION_NUMBER,  /* unsigned or enum: `number` */
	OPTION_BITS,    /* unsigned: `number` is or'ed to it */
	OPTION_AMOUNT,  /* uint32_t or uint64_t: a number from `least` to `most` */
	OPTION_TIME,    /* uint64_t: a duration in ns, `least` or more */
	OPTION_MS,      /* the same; numbers without a unit are milliseconds */
	OPTION_SIZE,    /* uint64_t: bytes, `least` or more */
	OPTION_READ,    /* read() */
	OPTION_CALL,    /* set() */
};

/* An option and what is done with it. `help` NULL: another name or letter of the row before it. `name` NULL and no
 * letter: `help` begins a part of the help. */
struct option_row {
	const char *name;     /* NULL: a letter only */
	char letter;          /* or 0 */
	const char *argument; /* NULL: a flag */
	const char *help;
	enum option_kind kind;
	size_t at, size; /* of the member; `size` for OPTION_AMOUNT only */
	unsigned number; /* also the value if an optional argument is left out */
	uint64_t least, most;
	const char *refusal; /* answers an argument, which is its %s; NULL: the answer of the kind */
	int (*read)(void *member, const char *arg,
		    struct error *e); /* 0, or -errno with a text that does not name the option */
	int (*set)(void *into, char *arg, struct error *e); /* 0, or -errno with a text */
	bool optional;                                      /* the argument may be left out, and is NULL then */
	bool many;                                          /* operands after the argument are arguments, too */
	bool shown;                                         /* another name that the help lists */
};

/* `how`; OPTIONS_INTO is the struct to fill. */
#define NOTHING              .kind = OPTION_NOTHING
#define FLAG(member)         .kind = OPTION_FLAG, .at = offsetof(OPTIONS_INTO, member)
#define CLEAR(member)        .kind = OPTION_CLEAR, .at = offsetof(OPTIONS_INTO, member)
#define COUNT(member)        .kind = OPTION_COUNT, .at = offsetof(OPTIONS_INTO, member)
#define TEXT(member)         .kind = OPTION_TEXT, .at = offsetof(OPTIONS_INTO, member)
#define ONE_OF(member)       .kind = OPTION_ONE_OF, .at = offsetof(OPTIONS_INTO, member)
#define LIST(member)         .kind = OPTION_LIST, .at = offsetof(OPTIONS_INTO, member)
#define WORD(member)         .kind = OPTION_WORD, .at = offsetof(OPTIONS_INTO, member)
#define NUMBER(member, n)    .kind = OPTION_NUMBER, .at = offsetof(OPTIONS_INTO, member), .number = n
#define BITS(member, n)      .kind = OPTION_BITS, .at = offsetof(OPTIONS_INTO, member), .number = n
#define TIME(member, low)    .kind = OPTION_TIME, .at = offsetof(OPTIONS_INTO, member), .least = low
#define MS(member, low)      .kind = OPTION_MS, .at = offsetof(OPTIONS_INTO, member), .least = low
#define SIZE(member, low)    .kind = OPTION_SIZE, .at = offsetof(OPTIONS_INTO, member), .least = low
#define READ(member, reader) .kind = OPTION_READ, .at = offsetof(OPTIONS_INTO, member), .read = reader
#define CALL(setter)         .kind = OPTION_CALL, .set = set_##setter
#define AMOUNT(member, low, high) \
	.kind = OPTION_AMOUNT, .at = offsetof(OPTIONS_INTO, member), .size = sizeof(((OPTIONS_INTO *)0)->member), \
	.least = low, .most = high

/* After one of those. */
#define DEFAULT(n)    , .number = n
#define FIRST(n)      , .least = n
#define REFUSAL(text) , .refusal = text

/* Rows of a table; a file that defines HOW() leaves out what is done with them. */
#ifndef HOW
#define HOW(...) __VA_ARGS__
#endif
#define HEADING(text)                                { .help = text },
#define OPTION(letter, name_, argument_, how, help_) { name_, letter, argument_, help_, HOW(how) },
#define OPTIONAL(letter, name_, argument_, how, help_) \
	{ name_, letter, argument_, help_, HOW(how), .optional = true },
#define ALIAS(name_)    { name_, .shown = true },
#define HIDDEN(name_)   { name_ },
#define LETTER(letter_) { .letter = letter_ },

/* Does what the row says. 0, or -errno with a text in *e. */
int options_take(const struct option_row *row, void *into, char *arg, struct error *e);
/* Appends to a NULL-terminated array. */
void options_append(char ***list, char *text);
/* The index of the word in `words`; otherwise an error that names the nearest, or all. */
int options_word(const char *option, const char *arg, const char *const *words, unsigned *place, struct error *e);
