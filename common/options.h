/*
 * Command lines of both programs: long names with one dash, clusters, abbreviations, letters that belong to the other
 * program, and the options that every command has (--help, --version, --color).
 *
 * A command describes itself with a struct options_spec, whose rows (common/options_table.h) fill its struct:
 *
 *   #define OPTIONS_INTO struct info
 *   static const struct option_row rows[] = {
 *           { "all", 0, NULL, "groups, one-time values and all events too", FLAG(all) },
 *           { 0 },
 *   };
 *   const struct options_spec info_spec = { .name = "pmrep info", .rows = rows,
 *                                           .operands = cmd_files, .operands_doc = "FILE...", .brief = brief };
 *
 * The rows of pmrec, pmrep show and pmrep stat come from tables that other commands read, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

#define OPTIONS_LIST "@\n"

struct options_spec {
	const char *name;              /* "pmrec", "pmrep show": begins messages and help */
	const struct option_row *rows; /* up to one that is all zero */
	/* Takes the n operands, after all options, and checks what cannot stand together. 0, or -errno with the text
	 * in *e. NULL: there are no operands. */
	int (*operands)(void *into, int n, char **operand, struct error *e);
	const char *operands_doc;
	/* For -h, one screen at most: usage, examples, and OPTIONS_LIST where all options of the command go, or what
	 * matters of them. NULL: usage and all options. */
	const char *brief;
	bool reads;   /* reads recordings: has --max-memory */
	bool command; /* options end at the first operand, which is a COMMAND (pmrec) */
	/* Whether a pager may have what is printed, by the struct that the rows filled. NULL: never, and then there
	 * is no --no-pager. */
	bool (*paged)(const void *into);
};

/* For `paged`: yes. */
bool options_always_paged(const void *into);

enum options_color { OPTIONS_COLOR_AUTO, OPTIONS_COLOR_ALWAYS, OPTIONS_COLOR_NEVER };

/* Options of every command. Zero it before options_parse(), except for defaults. */
struct options_common {
	enum options_color color;
	struct buf text; /* help or version, if requested */
	int argc;
	char **argv;    /* owned: a copy of the command line; option values and operands point into it */
	char **operand; /* owned array, up to NULL */
	char **said;    /* owned: the options as they were understood, "--since=-60", up to NULL */
	char help;      /* 0, 'h', 'a' (--help=all) or 'o' (--help=options) */
	bool version, no_pager;
	uint64_t max_memory; /* bytes; 0: no limit */
	bool paged;          /* standard output goes to a pager, which is on a terminal */
};

/*
 * Reads argv[1..] and fills `into` by the rows, in the order of the words.
 *  - A one-dash word is a cluster of letters if all are letters that take no argument but the last; otherwise a long
 *    name or an unambiguous abbreviation of one; otherwise letters of which one has its argument attached ("-I1000").
 *  - '_' and '-' are the same in long names.
 *  - "--no-NAME" cancels all "--NAME" before it, for a flag NAME, and "--NAME" cancels "--no-NAME" if only that
 *    exists. If both exist, both are rows.
 *  - What follows "--", or COMMAND with spec->command, is an operand.
 * 0: continue. 1: print common->text to stdout and exit with 0. -errno: a usage error, with its text in *e, which
 * names the right spelling or program. Values that `into` keeps are valid until options_common_release().
 */
int options_parse(const struct options_spec *spec, int argc, char **argv, void *into, struct options_common *common,
		  struct error *e);
void options_common_release(struct options_common *common);

/* Whether to use colors on a descriptor: by --color, then NO_COLOR and TERM=dumb, then whether it is a terminal. */
bool options_use_color(const struct options_common *common, int fd);

/* The nearest of the n names (up to a NULL entry if n is SIZE_MAX) to a word that is none of them, for "did you
 * mean"; NULL if none is near. */
const char *options_nearest(const char *word, const char *const *names, size_t n);
