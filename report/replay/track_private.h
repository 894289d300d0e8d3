/* The inside of tracks. */
#pragma once

#include "common/double_bits.h"
#include "report/machine/cpu_facts.h"
#include "report/replay/track.h"

static inline uint64_t mask_of(const struct track *t)
{
	return UINT64_MAX >> (64 - t->width);
}

/* Whether it cannot have counted that from one reading to the next: through a wrap, more than half of its range;
 * in 64 bits, 2^62 in any way. `back`: how far it may fall. */
static inline bool is_too_much(const struct track *t, uint64_t prev, uint64_t now, uint64_t back)
{
	uint64_t d = (now - prev) & mask_of(t);

	return t->width == 64 ? d > UINT64_C(1) << 62 && !(now < prev && prev - now <= back) :
				d > mask_of(t) / 2 + 1 && now < prev && prev - now > back;
}

/* What it counted from one reading to the next, unless track_is_reset(). */
static inline uint64_t rise(const struct track *t, uint64_t prev, uint64_t now)
{
	return now < prev && prev - now <= t->back ? 0 : (now - prev) & mask_of(t);
}

static inline uint64_t midpoint(const struct column *c, uint32_t row)
{
	return c->begin[row] + (c->end[row] - c->begin[row]) / 2;
}

static inline void add(struct track *t, uint64_t delta)
{
	if (t->type == PM_F64)
		t->sum = double_to_bits((t->any ? double_from_bits(t->sum) : 0) + double_from_bits(delta));
	else
		t->sum = (t->any ? t->sum : 0) + delta;
	t->any = true;
}

static inline bool is_level(const struct track *t)
{
	return t->semantics != PM_CUMULATIVE && t->semantics != PM_DELTA && t->semantics != PM_PEAK;
}

static inline double scaled(const struct track *t, double d)
{
	return t->scaled ? d * t->mul / t->div : d;
}

static inline double number(const struct track *t, uint64_t raw)
{
	return scaled(t, t->type == PM_F64 ? double_from_bits(raw) :
			 t->type == PM_S64 ? (double)(int64_t)raw :
					     (double)raw);
}

static inline bool has_rule(const struct track *t)
{
	return t->more && t->more->rule;
}

/* Why a reading is missing; 0: it is a number. */
static inline uint16_t reading_status(const struct track *t, const struct column *c, uint32_t row)
{
	if (c->status && c->status[row])
		return c->status[row];
	return has_rule(t) && t->more->rule->sensor && !sensor_may_say(t->more->rule->sensor, number(t, c->v[row])) ?
		       PM_REASON_SUSPECT :
		       0;
}

/* The sums of the open interval, without the readings for the next difference. */
struct tally {
	uint64_t sum, level, elapsed; /* level: bits, as in track.prev of a level */
	struct track_times times;
	struct track_more more;
	uint16_t absent;
	bool any, several;
};

/* A counter that a formula takes together with others. */
struct track_joint {
	struct track_loss own; /* of its own readings */
	struct tally taken;    /* of the open interval, where all had it; what the track has waits */
	bool slow;             /* `taken` is in use; else the track has all */
};

#define TRACK_TERMS 4

/* Of a track that stands for ended ones. */
struct track_sum {
	double term[TRACK_TERMS]; /* sums of count * (time - time of the interval)^k, in s */
	uint64_t known;           /* ns between ticks, of all */
};

/* The value of the open interval. */
struct value track_value(const struct track *t);
/* Per second, at the end of an interval. */
double track_sum_rate(const struct track *sum);
/* Removes the sums from the track, which starts again with the next reading. */
struct tally tally_take(struct track *t);
/* Prepends sums to those of the track. */
void tally_put(struct track *t, const struct tally *before);
/* Whether the difference may be taken; else why not. */
uint16_t track_against_rule(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns);
/* Whether the counter was reset; not asked if a rule knows how fast it counts. One that falls no further than it
 * may has not counted. */
bool track_is_reset(const struct track *t, uint64_t prev, uint64_t now);
