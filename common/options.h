/*
 * Command lines of both programs: long names with one dash, clusters, abbreviations, letters that belong to the other
 * program, and the options that every command has (--help, --version, --color).
 *
 * A command describes itself with a struct options_spec:
 *
 *   #define OPTIONS_INTO struct info
 *   static const struct option_action rows[] = {
 *           { "all", 0, NULL, "groups, one-time values and all events too", FLAG(all) },
 *           { 0 },
 *   };
 *   const struct options_spec info_spec = { .name = "pmrep info", .rows = rows,
 *                                           .operands = cmd_files, .operands_doc = "FILE...", .brief = "Usage: ..." };
 *
 * or by an argp of its own. The options of pmrec, pmrep show and pmrep stat are in tables that other commands read,
 * too (common/options_table.h).
 *
 * options_parse() adds --help, --version and --color, rewrites the words so that argp cannot misunderstand them, and
 * runs argp over them. parse_opt gets state->input == the `input` given to options_parse(), and reports a bad value
 * with `return options_bad(state, "...")`.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

/* Programs with a table of options (common/options_table.h). */
enum options_column {
	OPTIONS_OTHER, /* any other command: its letters are the keys of its own array */
	OPTIONS_PMREC,
	OPTIONS_SHOW,
	OPTIONS_STAT,
	OPTIONS_COLUMNS
};

struct options_spec {
	const char *name; /* "pmrec", "pmrep show": begins messages and help */
	enum options_column column;
	const struct argp *argp;          /* the command's own options and children; or: */
	const struct option_action *rows; /* up to one that is all zero; they fill the parser's input */
	error_t (*operands)(int key, char *arg, struct argp_state *state); /* parses operands; or NULL */
	const char *operands_doc;
	const char *brief; /* for -h: usage, main options, examples, one screen at most. NULL: all options */
	bool reads;        /* reads recordings: has --max-memory */
	bool command;      /* options end at the first operand, which is a COMMAND (pmrec) */
	/* Whether a pager may have what is printed, by the parser's input. NULL: never, and then there is no
	 * --no-pager. */
	bool (*paged)(const void *input);
};

/*
 * Rewrites argv[1..] so that argp has nothing to guess: every option becomes one word, "--name" or "--name=value"
 * ("-x" and "VALUE" if it has no long name), in order; then "--"; then all operands in order. What follows "--", or
 * COMMAND with spec->command, stays as it is.
 *  - A one-dash word is a cluster of letters if all are letters that take no argument but the last; otherwise a long
 *    name or an unambiguous abbreviation of one; otherwise letters of which one has its argument attached ("-I1000").
 *  - '_' and '-' are the same in long names.
 *  - "--no-NAME" cancels all "--NAME" before it, for a flag NAME, and "--NAME" cancels "--no-NAME" if only that exists.
 *    If both exist, both are passed on.
 * 0, -ENOMEM, or -EINVAL with a message that names the right spelling or program.
 */
int options_rewrite(const struct options_spec *spec, int argc, char **argv, int *new_argc, char ***new_argv,
		    struct error *e);
void options_argv_free(char **argv); /* what options_rewrite() made, also after argp has permuted it */

enum options_color { OPTIONS_COLOR_AUTO, OPTIONS_COLOR_ALWAYS, OPTIONS_COLOR_NEVER };

/* Options of every command. Zero it before options_parse(), except for defaults. */
struct options_common {
	enum options_color color;
	struct buf text; /* help or version, if requested */
	int argc;
	char **argv; /* owned: the rewritten words; option values and operands point into it */
	char help;   /* 0, 'h' or 'a' (--help=all) */
	bool version, no_pager;
	uint64_t max_memory; /* bytes; 0: no limit */
	bool paged;          /* standard output goes to a pager, which is on a terminal */
};

/*
 * Rewrites and parses. `input` becomes state->input of the spec's parser. 0: continue. 1: print common->text to
 * stdout and exit with 0. -errno: a usage error, with its text in *e. Values that the parser keeps are valid until
 * options_common_release().
 */
int options_parse(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common,
		  struct error *e);
void options_common_release(struct options_common *common);

/* For the parser: `return options_bad(state, "--interval: '%s' is not a duration", arg);` */
error_t options_bad(struct argp_state *state, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether to use colors on a descriptor: by --color, then NO_COLOR and TERM=dumb, then whether it is a terminal. */
bool options_use_color(const struct options_common *common, int fd);

/*
 * The nearest of the n names (up to a NULL entry if n is SIZE_MAX) to a word that is none of them, for "did you
 * mean"; NULL if none is near.
 */
const char *options_nearest(const char *word, const char *const *names, size_t n);
