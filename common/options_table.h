/*
 * Tables of options: common/options_record.def, options_show.def and options_stat.def have a row an option. From a row
 * follow parsing and help of its program (common/options_rows.h), completion (`--help=options`), and what the other
 * programs say to those who type it there (options_hint(), options_letter()).
 *
 *   HEADING(text)                                            begins a part of the help
 *   OPTION(id, letter, name, argument, how, hint, help)      letter 0: none; argument NULL: a flag
 *   OPTIONAL(id, letter, name, argument, how, hint, help)    the argument may be left out
 *   ALIAS(name, hint)                                        another name of the option before it
 *   HIDDEN(name, hint)                                       the same, not in the help
 *   LETTER(letter)                                           another letter of the option before it
 *
 * `how` is one of the macros below, or of the program. `hint` ends the message of the other programs ("--delay belongs
 * to pmrec: HINT"); NULL: nothing is to be said; "": what is typed elsewhere is not this option, but an abbreviation.
 */
#ifndef COMMON_OPTIONS_TABLE_H
#define COMMON_OPTIONS_TABLE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/options.h"

enum option_kind {
	OPTION_NOTHING, /* taken, without effect */
	OPTION_FLAG,    /* bool: true */
	OPTION_CLEAR,   /* bool: false */
	OPTION_COUNT,   /* unsigned: one more */
	OPTION_TEXT,    /* char *: the argument; one of `words` if there are any */
	OPTION_LIST,    /* char **: one more, NULL-terminated; to be freed */
	OPTION_WORD,    /* unsigned or enum: the place of the argument in `words` */
	OPTION_NUMBER,  /* unsigned or enum: `number` */
	OPTION_BITS,    /* unsigned: `number` too */
	OPTION_CALL,    /* set() */
};

/* What is done with an option. */
struct option_action {
	int key;
	const char *name;
	enum option_kind kind;
	size_t at; /* where in what is filled */
	const char *const *words;
	unsigned number;
	error_t (*set)(void *into, char *arg, struct argp_state *state);
};

/* `how`, where OPTIONS_INTO is the struct that is filled. */
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
#define CALL(setter)         .kind = OPTION_CALL, .set = set_##setter

/* For a parser: does what the row of the key says; ARGP_ERR_UNKNOWN if there is none. */
error_t options_take(const struct option_action *action, size_t n, void *into, int key, char *arg,
		     struct argp_state *state);
/* Appends to a NULL-terminated array. 0 or ENOMEM. */
error_t options_append(char ***list, char *text);
/* The place of the word among `words`; otherwise the complaint names the nearest, or all. */
error_t options_word(const char *option, const char *arg, const char *const *words, unsigned *place,
		     struct argp_state *state);

/* ---- the other half ---- */

/* A name of some program's table, or one that all of them only explain; the longest abbreviation is of
 * `min_abbreviation` letters (SIZE_MAX: whole names only). NULL: nobody has it. */
const char *options_foreign(const char *text, size_t len, size_t min_abbreviation);
/* "--NAME belongs to PROGRAM: HINT" for a foreign name, typed at the program of `column`. -EINVAL. */
int options_foreign_refuse(const char *name, enum options_column column, struct error *e);
/* The long name that a letter has in a program; NULL: none. */
const char *options_letter(char letter, enum options_column column);
/* Why a letter is no option there. -EINVAL. */
int options_letter_refuse(char letter, enum options_column column, struct error *e);

#endif
