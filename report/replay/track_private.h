/* What track.c does reading by reading and track_rows.c in one go. */
#pragma once

#include "common/double_bits.h"
#include "report/machine/cpu_facts.h"
#include "report/replay/track.h"

static inline uint64_t mask_of(const struct track *t)
{
	return UINT64_MAX >> (64 - t->width);
}

static inline uint64_t midpoint(const struct column *c, uint32_t row)
{
	return c->begin[row] + (c->end[row] - c->begin[row]) / 2;
}

/* ns of CLOCK_MONOTONIC as they would have been without its slewing. */
static inline uint64_t true_ns(const struct column *c, uint64_t ns)
{
	return __builtin_expect(c->slope == 1, 1) ? ns : (uint64_t)((double)ns * c->slope + 0.5);
}

static inline void add(struct track *t, uint64_t delta)
{
	if (t->type == PM_F64)
		t->sum = double_to_bits((t->any ? double_from_bits(t->sum) : 0) + double_from_bits(delta));
	else
		t->sum = (t->any ? t->sum : 0) + delta;
	t->any = true;
}

static inline bool has_rule(const struct track *t)
{
	return t->more && t->more->rule;
}

/* Whether the difference may be taken; else why not. */
uint16_t track_against_rule(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns);
/* A narrow counter that goes backwards has wrapped, unless it would have run through more than half its range, and can not
 * be that fast. */
bool track_is_reset(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns);
