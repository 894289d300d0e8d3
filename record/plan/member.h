/* Counters named after a part of the machine: a catalog row with a '*', and what replaces it. */
#pragma once

#include "common/catalog/catalog.h"

struct plan;

/* A member; NULL for what is unknown. */
struct member {
	const char *part;    /* stands for '*' in the name; [a-z0-9_] */
	const char *shown;   /* stands for '*' in the display name; NULL: part */
	const char *family;  /* PM_COUNTER_FAMILY; NULL: no family, no member name */
	const char *help;    /* replaces the row's */
	const char *devices; /* PM_COUNTER_DEVICES, if privacy allows */
};

/* The counter of the member, added if new. Id > 0 or -errno. */
int64_t member_counter(struct plan *p, const struct catalog_counter *row, const struct member *m);
/* Turns a text into a part of a counter name: lower case, with '_' for what is not [a-z0-9], cut to the array. */
void member_part(char *part, size_t size, const char *text, size_t len);
