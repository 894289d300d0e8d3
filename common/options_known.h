/* The options of a command, to be looked up as users write them. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/options.h"

/* An option of the command, or another name of one. */
struct known {
	const char *name; /* or NULL: letter only */
	int key;
	enum { ARG_NONE, ARG_NEEDED, ARG_OPTIONAL } arg;
	const char *arg_name;
	const char *doc; /* NULL: another name of the option before it */
	size_t same;     /* index of the option that has this name */
	bool hidden;     /* not in the help */
};

struct known_options {
	struct known *option; /* to be freed */
	size_t n;
};

enum match { MATCH_NONE, MATCH_ONE, MATCH_NEGATED, MATCH_MANY };

/* Adds the options of argp and of its children. 0 or -ENOMEM. */
int known_collect(struct known_options *all, const struct argp *argp);
/* By a long name, its abbreviation, or either with "no-"; *second: another match of MATCH_MANY. */
enum match known_find(const struct known_options *all, const char *text, size_t len, struct known **found,
		      struct known **second);
/* The option of a letter; NULL with a message in *why (which may be NULL) if there is none. */
struct known *known_letter(const struct known_options *all, enum options_column column, char letter,
			   struct error *why);

/* '_' and '-' are the same, because turbostat writes num_iterations and perf interval-count. `fold`: ignore case. */
bool option_name_begins(const char *name, const char *text, size_t len, bool fold);
bool option_name_is(const char *name, const char *text, size_t len);
