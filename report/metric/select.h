/*
 * Which metrics are shown: --show, --hide and --enable with names, aliases, column heads, globs and categories. Case
 * matters only if a name is otherwise ambiguous.
 */
#pragma once

#include <stdbool.h>

#include "common/error.h"
#include "report/metric/bind.h"

enum selection_verb { SELECT_SHOW, SELECT_HIDE, SELECT_ENABLE };

struct selection_word {
	enum selection_verb verb;
	char *word; /* owned */
	bool known; /* diff: a metric of some recording has that name */
};

struct selection {
	struct selection_word *word; /* owned, in the order of the command line */
	size_t n;
	bool all; /* everything that is hidden by default, too (--debug) */
	bool has_show;
	bool lenient; /* an unknown name is a note, not an error */
	enum pm_kind
		who; /* kind of rows: of PM_TASK and PM_CGROUP by default what is known of those, if anything is */
	bool joules; /* energy, not power */
};

void selection_release(struct selection *s);
/* Takes a comma separated list. 0, or -EINVAL for an empty word. */
int selection_add(struct selection *s, enum selection_verb verb, const char *list, struct error *e);

/*
 * Sets shown[i] for each metric of the binding. -ENOENT for an unknown word, with a text that names the nearest; for
 * --hide that is only a note. A known metric that this recording cannot feed is a line in `notes` that says what it
 * lacks.
 */
int selection_apply(const struct selection *s, const struct binding *b, const struct places *p, bool *shown,
		    struct buf *notes, struct error *e);

/* Whether definitions have the word, and notes what the recording lacks for them; and -ENOENT with a text that names
 * the nearest. */
bool selection_lacks(const char *word, const struct binding *b, const struct places *p, struct buf *notes);
int selection_unknown(const char *word, const struct binding *b, const struct places *p, struct error *e);

/* Appends a line on turbostat's default columns for which the recording has no registers, unless there is a --show,
 * and one on shown columns without any number; by reason, with the first names. */
void selection_note_absent(const struct selection *s, const struct binding *b, const bool *shown, struct buf *out);

/* Whether the word names the metric (by id, head or alias), or one of its categories. */
bool selection_matches(const char *word, const char *name, const char *display, const char *aliases,
		       const char *categories);
