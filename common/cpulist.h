/*
 * Sets of small integers (CPUs, nodes, snapshots of a list file) in the kernel's list notation:
 * "0-3,8,10-14:2". Sorted, without duplicates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

#define CPULIST_MAX 65535 /* the largest number a list may hold */

struct cpulist {
	uint32_t *cpu; /* owned, ascending */
	size_t n;
};

void cpulist_release(struct cpulist *l);
/* Replaces *l. Accepts the kernel's notation with blanks and a newline at the end; the empty text is the empty set.
 * With `dots`, "A..B" works like "A-B", as in turbostat's --cpu. 0, -EINVAL, -ERANGE or -ENOMEM. */
int cpulist_parse(struct cpulist *l, const char *text, bool dots, struct error *e);
/* 0, also if it was there; -ERANGE above CPULIST_MAX, -ENOMEM. */
int cpulist_add(struct cpulist *l, uint32_t cpu);
bool cpulist_has(const struct cpulist *l, uint32_t cpu);
/* Does not free what *to held. 0 or -ENOMEM. */
int cpulist_copy(struct cpulist *to, const struct cpulist *from);
/* Keeps in *l what both have. */
void cpulist_intersect(struct cpulist *l, const struct cpulist *with);
/* Appends the shortest list notation ("0-3,8"). */
void cpulist_print(const struct cpulist *l, struct buf *out);
