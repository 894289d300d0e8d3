/* All sources of counters, and which of them --sources selects. */
#pragma once

#include "record/plan/source.h"

/* In the order in which they are planned; ends with NULL. */
extern const struct source_ops *const sources[];

/* Reads --sources ("perf,cpuidle" or "-msr"; NULL: those that are on by default) into an owned array of all
 * sources. 0, or -errno with the text in *e. */
int sources_select(struct source **s, size_t *n, const char *list, struct error *e);
void sources_release(struct source *s, size_t n);
