/* Lists of up to PM_BLOCK small numbers, most of them 0 or all alike, in as few bits as possible. */
#pragma once

#include "format/codec/bits.h"

struct pm_list_cost {
	unsigned bits; /* all of it, head included */
	unsigned mode;
	unsigned a, b; /* its parameters: runs and lengths; width; rest bits */
	uint64_t base;
};

/* The cheapest way. x[] as two's complement. */
struct pm_list_cost pm_list_measure(const uint64_t *x, size_t n);
int pm_list_put(struct bit_writer *w, const struct pm_kernel *k, const struct pm_list_cost *cost, const uint64_t *x,
		size_t n);
/* Sets r->bad where the input is malformed; x[] then holds anything. */
void pm_list_get(struct bit_reader *r, const struct pm_kernel *k, uint64_t *x, size_t n);
