/* Between the files of event_resolve(); private to them. */
#pragma once

#include "common/event/event.h"

struct resolver {
	const struct event_list *list;
	const struct event_view *view;
	struct event_set *set;
	struct buf *notes;
	struct error *e;
	const struct event_node *node; /* being resolved */
	uint32_t wildcard;             /* number for what it expands to; 0: it cannot be several */
};

/* "column N: ..." for the place `column` (from 0). Returns -number. */
int resolve_fail(struct resolver *r, int number, uint32_t column, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Collects the names nearest to what was written. */
struct nearest {
	const char *word;
	unsigned distance; /* of the best so far */
	char names[3][64];
	unsigned n;
};
void nearest_offer(struct nearest *near, const char *name);
/* ", did you mean a, b?" or "" */
const char *nearest_text(const struct nearest *near, char *text, size_t size);

/* All names that could have been meant, where they are few. */
struct listing {
	char text[160];
	size_t len;
	bool too_many;
};
void listing_add(struct listing *l, const char *name);
/* "; WHAT a, b, c", or "" if there are none or too many */
const char *listing_text(struct listing *l, const char *what);

/* Applies the node's terms to ev, which has its PMU (NULL: none) and what its name said. */
int resolve_terms(struct resolver *r, struct event *ev, const struct event_pmu *pmu);
/* Appends the event, which it takes over in any case, with the texts that are still missing: `body` is the
 * canonical text without modifiers; `expanded`: its display name cannot be what the user wrote. */
int resolve_add(struct resolver *r, struct event *ev, const char *body, bool expanded);
/* Modifiers of the node, with those that its group hands down. */
uint32_t resolve_mods(const struct resolver *r);
/* Modifiers after a canonical text: "cycles:u", "cpu/cycles/u". Owned; NULL without memory. */
char *resolve_with_mods(const char *body, uint32_t mods);
/* Does the term say what is counted, as against what it is called and how it would be sampled? */
bool resolve_term_counts(const struct event_term *t);
/* Numbers the groups of the events from `start` on, which all come from one pair of braces. */
int resolve_groups(struct resolver *r, size_t start, const struct event_group *g);
