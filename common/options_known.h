/* The options of a command, to be looked up as users write them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/options_table.h"

/* A name or letter of an option. */
struct known {
	const struct option_row *row;    /* has the name */
	const struct option_row *option; /* has the rest: the row itself, or the previous one */
	void *into;
};

struct known_options {
	struct known *known; /* to be freed */
	size_t n;
};

enum match { MATCH_NONE, MATCH_ONE, MATCH_NEGATED, MATCH_MANY };

/* Adds the rows of a command. 0 or -ENOMEM. */
int known_add(struct known_options *all, const struct option_row *row, void *into);
/* By a long name, its abbreviation, or either with "no-"; *second: another match of MATCH_MANY. */
enum match known_find(const struct known_options *all, const char *text, size_t len, const struct known **found,
		      const struct known **second);
/* The option of a letter; NULL with a message in *why (which may be NULL) if there is none. */
const struct known *known_letter(const struct known_options *all, enum options_column column, char letter,
				 struct error *why);

/* '_' and '-' are the same, because turbostat writes num_iterations and perf interval-count. */
bool option_name_begins(const char *name, const char *text, size_t len);
bool option_name_is(const char *name, const char *text, size_t len);
