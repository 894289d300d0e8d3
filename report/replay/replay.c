/* What one counter of one instance did, reading by reading or, where nothing is missing, many rows at once; and from
 * chunks to intervals: which columns feed which tracks, rows of short chunks gathered, counters that formulas use
 * together, levels combined row by row, readings that took long, what has ended, and the clocks. */
#include "report/replay/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/buf.h"
#include "common/catalog/catalog.h"
#include "common/double_bits.h"
#include "common/parse.h"
#include "common/memory.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/status.h"

#define ARENA_ROWS  PM_CHUNK_ROWS /* intervals at once, if there are few tracks */
#define GATHER_TILE 8             /* columns taken from rows together: a cache line of each row */

/* ---- one counter of one instance: differences are computed here only ---- */

struct track {
	uint32_t counter, instance;
	uint32_t seen;  /* chunk in which it was read last */
	uint32_t group; /* that feeds it; another one that has the same column is a series by itself */
	uint8_t width;  /* bits that it counts, 1 to 64 */
	bool started;   /* the next reading may be compared with `prev` */
	uint8_t aspects;
	uint8_t type;       /* pm_type */
	uint8_t semantics;  /* pm_semantics */
	bool scaled : 1;    /* mul or div is not 1 */
	bool perf : 1;      /* the group has enabled and running, and scaling is wanted */
	bool counts_on : 1; /* also while CPUs are offline: of a package, node, device or uncore PMU */
	bool uncore : 1;    /* of an uncore PMU */
	bool any : 1;       /* a difference or level was taken in this interval */
	bool several : 1;   /* several levels were: the mean is not the last one */
	bool ended : 1;     /* its instance has retired */
	bool over : 1;      /* and an interval without it was closed */
	bool away : 1;      /* it was absent at the last row */
	bool odd : 1;       /* the previous reading was a reset: it began again there, or that was no reading */
	bool folded : 1;    /* what it had is in the track of all that have ended, or in a track_end */
	uint16_t gap;       /* why the previous reading is missing; 0: it is not */
	uint16_t absent;    /* why there is no value, if nothing was read or lost */
	uint16_t before;    /* why there was no reading before the first; 0: no special reason */
	uint16_t unseen;    /* why it is not in the current chunk */
	uint32_t back;      /* how far it may step back without a reset: that counts 0 */
	double mul, div;
	uint64_t before_reset;     /* the reading before the previous one, if `odd` */
	uint64_t prev, prev_time;  /* of a gauge: the bits of the levels so far, each times its ns */
	uint64_t sum;              /* difference so far, or the latest level; the bits of a double if type is F64 */
	uint64_t elapsed;          /* ns of this interval for which it is known */
	struct track_times *times; /* owned; NULL unless its group has enabled and running */
	struct track_more *more;   /* owned; NULL unless it has a rule, or FIRST, LAST, MEAN, MAX or SPAN is wanted */
	struct track_loss *loss;   /* owned; NULL as long as nothing was missing */
	struct track_average *average; /* owned; NULL: its levels are combined with no others row by row */
};

struct track_times {
	uint64_t prev_enabled, prev_running;
	uint64_t enabled, running; /* of this interval */
	uint64_t lost;             /* part of `enabled` in which what it counted is lost */
	double made;               /* the sum, scaled */
	bool shared;               /* it was multiplexed */
};

struct track_more {
	const struct counter_rule *rule; /* NULL: none; the replay owns it */
	bool any;                        /* `last` is the previous reading */
	bool begun;                      /* `first` is a level at the beginning of this interval */
	bool paused;                     /* `last` is not compared with the next reading */
	bool some;                       /* something was read in this interval */
	double first, last, max, weighted;
	uint64_t bits; /* `last` as it was read */
	double span;   /* microseconds */
	uint64_t weight;
};

/* Where a counter was not known. */
struct track_loss {
	uint64_t absent, lost;     /* ns of this interval */
	uint64_t pending;          /* ns since the last reading: lost, unless the next one carries them */
	uint64_t earlier;          /* ns of earlier intervals that it would carry, too */
	uint64_t before;           /* ns of these that a reading of this interval carried */
	uint64_t hidden;           /* unseen ns after it was absent: absent, if it is still absent afterwards */
	uint64_t undue;            /* ns since a snapshot with a reading, or a failed one: none was due */
	uint64_t ended_ns;         /* of an ended track: ns of the open interval until then */
	struct track_joint *joint; /* owned; NULL: no formula takes it with others */
	struct track_sum *sum;     /* owned; NULL: it does not stand for ended tracks */
	struct support *at;        /* [replay_block()], behind it */
	uint16_t owed;             /* why `pending` is missing */
	uint16_t why;              /* reason of the lost time */
	uint16_t last;             /* why it was lost last */
	bool carried : 1;          /* a reading of this interval carried earlier time */
	bool ever : 1;             /* it has been known */
	bool some : 1;             /* `at` is in use for the current block */
};

/* What an ended track comes to. */
struct track_end {
	uint32_t counter, instance;
	uint8_t aspects; /* one of VALUE, ELAPSED, RATE */
	bool divides;    /* `v` is a difference of which the rate is wanted */
	bool some;       /* `at` is not that of one that was known all the time */
	struct value v;
	union {
		struct {
			uint64_t known, absent, lost, before; /* ns; absent: without what follows its end */
			uint16_t why;
		} ns; /* until the interval ends */
		struct support at;
	};
};

/* One column of a chunk. */
struct column {
	const uint64_t *v;
	const uint16_t *status;                          /* NULL: all valid */
	const uint64_t *begin, *end, *enabled, *running; /* the last two NULL without perf times */
	const double *seconds; /* since the row before, for all rows but the first; NULL: not computed */
	const uint64_t *tick;
	uint32_t first;        /* the row after `before` */
	uint64_t before;       /* the tick before that row; 0: none to compare with */
	bool begins;           /* an interval begins with that row */
	double slope;          /* seconds in a second of CLOCK_MONOTONIC */
	bool averages;         /* some interval has several rows */
	struct row_note *note; /* by row: findings of a step; NULL: not wanted */
};

/* ns of CLOCK_MONOTONIC as they would have been without its slewing. */
static inline uint64_t monotonic_ns(uint64_t ns, double slope)
{
	return __builtin_expect(slope == 1, 1) ? ns : (uint64_t)((double)ns * slope + 0.5);
}

static inline uint64_t true_ns(const struct column *c, uint64_t ns)
{
	return monotonic_ns(ns, c->slope);
}

static inline uint64_t midpoint(const struct column *c, uint32_t row)
{
	return c->begin[row] + (c->end[row] - c->begin[row]) / 2;
}

/* From the previous snapshot to the row. */
static inline uint64_t column_ns(const struct column *c, uint32_t row)
{
	uint64_t before = row > c->first ? c->tick[row - 1] : c->before;

	return before ? true_ns(c, c->tick[row] - before) : 0;
}

/* What a step found about the time since the previous snapshot: reasons, or 0. */
struct row_note {
	uint16_t absent;
	uint16_t lost;  /* it is lost, with all that waited */
	uint16_t gone;  /* what waited is lost, but not this time */
	uint16_t waits; /* the next reading may carry it */
	bool goes_on;   /* as for the time before: the next reading, or this one, carries both */
};

/* The decision about that time for all counters that a formula takes together. */
struct joint_row {
	enum { JOINT_TAKE, JOINT_WAIT, JOINT_LOSE, JOINT_ABSENT } what;
	uint16_t why;
	uint16_t gone; /* what waited is lost first */
};

/* Over a longer interval the mean, greatest or least of several members is the mean by time of what each row has.
 * Those of members that are away for a while could not be combined afterwards. */
struct average {
	const void *owner;
	uint32_t part;
	enum pm_aggregation rule;
	bool used;                                        /* by the current rows */
	double sum[PM_CHUNK_ROWS], weight[PM_CHUNK_ROWS]; /* by row */
	double so_far, ns;                                /* of the open interval: row * ns */
	double value[ARENA_ROWS];
};

/* Where a track counts. */
struct track_average {
	struct average *in;
	struct track_average *next;
};

/* Forgets with which others its levels are combined. */
static void average_leave(struct track *t)
{
	while (t->average) {
		struct track_average *next = t->average->next;

		free(t->average);
		t->average = next;
	}
}

/* Adds a level, known for `ns`, to those of its row. */
static void average_take(struct track *t, uint32_t row, double level, uint64_t ns)
{
	for (struct track_average *in = t->average; in; in = in->next) {
		struct average *a = in->in;
		bool first = a->weight[row] == 0;

		a->used = true;
		if (a->rule == PM_AGG_MEAN) {
			a->sum[row] += level * (double)ns;
			a->weight[row] += (double)ns;
		} else {
			a->sum[row] = first                 ? level :
				      a->rule == PM_AGG_MAX ? fmax(a->sum[row], level) :
							      fmin(a->sum[row], level);
			a->weight[row] = 1;
		}
	}
}

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

static bool is_shared(const struct track *t)
{
	return t->times && t->times->shared;
}

/* The loss of a track, created for blocks of `rows`. */
static struct track_loss *track_loss_of(struct track *t, size_t rows)
{
	if (t->loss)
		return t->loss;
	/* In one allocation: where tasks come and go there are many. */
	t->loss = memory_new(1, sizeof(*t->loss) + rows * sizeof(*t->loss->at));
	t->loss->at = (struct support *)(t->loss + 1);
	t->loss->ever = t->started || t->elapsed;
	return t->loss;
}

/* Loses `ns` of the interval, whatever was read before and after. It has a loss. */
static void track_lose(struct track *t, uint16_t reason, uint64_t ns)
{
	t->loss->lost += ns;
	if (ns && !t->loss->why)
		t->loss->why = reason;
	if (ns)
		t->loss->last = reason;
}

/* Nothing was seen for `ns`. It has a loss. */
static void track_hide(struct track *t, uint64_t ns)
{
	if (t->away)
		t->loss->hidden += ns;
	else
		track_lose(t, VALUE_GAP, ns);
}

/* It was observed, and is not absent. */
static void is_back(struct track *t)
{
	if (t->away && t->loss->hidden)
		track_lose(t, VALUE_GAP, t->loss->hidden);
	if (t->away)
		t->loss->hidden = 0;
	t->away = false;
}

/* What the next reading was to include is lost after all. */
static void give_up(struct track *t)
{
	if (t->loss->pending)
		track_lose(t, t->loss->owed, t->loss->pending);
	t->loss->pending = t->loss->earlier = 0;
}

/* Makes what was pending known. */
static void track_carry(struct track_loss *l)
{
	l->carried |= l->pending || l->earlier;
	l->before += l->earlier;
	l->pending = l->earlier = 0;
}

/* What does not stop with its CPUs is lost while it cannot be read. */
static uint16_t reason_of(const struct track *t, uint16_t reason)
{
	return t->counts_on && status_absent(reason) ? REPORT_UNREACHABLE : reason;
}

static bool is_absent(const struct track *t, uint16_t reason)
{
	return (status_absent(reason) && !t->counts_on) || reason == PM_REASON_GONE;
}

/* The next reading is a first one; `before`: why there is none before it. */
static void restart_at(struct track *t, uint16_t before)
{
	/* Nothing that follows can cover it. */
	if (t->loss) {
		give_up(t);
		t->loss->undue = 0;
	}
	t->started = false;
	t->gap = 0;
	t->before = before;
	if (t->more)
		t->more->any = false;
}

static bool carries(const struct track *t)
{
	return t->semantics == PM_CUMULATIVE;
}

/* Whether the next reading covers the time of one that is missing for that reason. */
static bool bridges(const struct track *t, uint16_t status)
{
	return carries(t) || (is_level(t) && status == PM_REASON_NOT_READ);
}

static void be_absent(struct track *t, uint16_t reason, uint64_t ns)
{
	restart_at(t, reason);
	t->loss->absent += ns + t->loss->hidden;
	t->loss->hidden = 0;
	t->absent = reason;
	t->away = true;
}

static void step_missing(struct track *t, uint16_t status, uint64_t ns)
{
	status = reason_of(t, status);
	if (is_absent(t, status)) {
		be_absent(t, status, ns);
		return;
	}
	is_back(t);
	/* The next reading starts from this one, no longer from what could not count. */
	t->before = 0;
	if (bridges(t, status) && status != PM_REASON_NOT_COUNTED) {
		if (!t->gap || carries(t))
			t->gap = status;
		if (!t->loss->pending)
			t->loss->owed = status;
		t->loss->pending += ns;
		t->loss->undue += ns;
	} else {
		give_up(t);
		t->loss->undue = 0;
		t->gap = status;
		track_lose(t, status, ns);
		/* Switched off by name, while its group continued: what it would have counted is unknown. */
		t->started &= !carries(t);
	}
}

/* It was not read for `ns`. It has a loss. */
static void track_missed(struct track *t, uint16_t reason, uint64_t ns)
{
	if (t->more)
		t->more->paused = false;
	step_missing(t, is_absent(t, reason_of(t, reason)) ? reason : PM_REASON_NOT_READ, ns);
}

/* Whether the difference may be taken; else why not. */
static uint16_t track_against_rule(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns)
{
	const struct counter_rule *r = t->more->rule;

	if (r->wrap_ns && ns >= r->wrap_ns && !(r->may_be_wide && t->width == 64))
		return REPORT_WRAP;
	if (r->never_zero && !now && !prev)
		return PM_REASON_SUSPECT;
	if (r->advances && now == prev)
		return r->is_clock ? REPORT_TSC : REPORT_STILL;
	if (r->most > 0)
		return (double)((now - prev) & mask_of(t)) > r->most * (double)(ns + r->late_ns) ? REPORT_RESET : 0;
	return 0;
}

static bool is_bounded(const struct track *t)
{
	return has_rule(t) && t->more->rule->most > 0;
}

/* Whether the counter was reset; not asked if a rule knows how fast it counts. One that falls no further than it
 * may has not counted. */
static bool track_is_reset(const struct track *t, uint64_t prev, uint64_t now)
{
	return is_too_much(t, prev, now, t->back) && !is_bounded(t);
}

/* The difference from the previous reading; 0, or why there is none. */
static uint16_t difference(struct track *t, const struct column *c, uint32_t row, uint64_t now, uint64_t ns)
{
	uint64_t d, e, r;
	uint16_t why = has_rule(t) ? track_against_rule(t, t->prev, now, ns) : 0;

	if (why)
		return why;
	if (t->type == PM_F64) {
		double f = double_from_bits(now) - double_from_bits(t->prev);

		if (!(f >= 0))
			return REPORT_RESET;
		if (c->enabled && t->perf && c->running[row] > t->times->prev_running)
			f = f * (double)(c->enabled[row] - t->times->prev_enabled) /
			    (double)(c->running[row] - t->times->prev_running);
		add(t, double_to_bits(f));
		return 0;
	}
	if (track_is_reset(t, t->prev, now))
		return REPORT_RESET;
	d = rise(t, t->prev, now);
	if (c->enabled) {
		e = c->enabled[row] - t->times->prev_enabled;
		r = c->running[row] - t->times->prev_running;
		if (c->enabled[row] < t->times->prev_enabled || c->running[row] < t->times->prev_running)
			return REPORT_RESET;
		if (t->perf && r < e && !r)
			return PM_REASON_NOT_COUNTED;
		t->times->shared |= t->perf && r < e;
		t->times->made += t->perf && r < e ? (double)d * (double)e / (double)r : (double)d;
	}
	add(t, d);
	return 0;
}

/* `since`: ns that the reading covers; `begins`: it was taken at the moment at which the interval begins. */
static void step_more(struct track *t, uint64_t now, uint64_t since, bool begins)
{
	struct track_more *m = t->more;
	double d = number(t, now);

	m->weighted += d * (double)since;
	m->weight += since;
	if (begins || (!m->some && !m->begun && !(m->any && since)))
		m->first = d;
	m->max = m->some && m->max > d ? m->max : d;
	m->any = true;
	m->begun |= begins;
	m->some |= !begins;
	m->last = d;
	m->bits = now;
}

/* For a track without an earlier reading: why there is none, if it existed at all. */
static void begin_here(struct track *t, uint64_t ns)
{
	bool away = t->before && is_absent(t, t->before);

	give_up(t);
	if (away) {
		t->absent = t->before;
		t->loss->absent += ns;
	} else {
		track_lose(t, t->gap ? t->gap : t->before ? t->before : VALUE_NO_INTERVAL, ns);
	}
}

static void level(struct track *t, uint64_t now, uint64_t ns)
{
	double so_far = t->any && t->elapsed ? double_from_bits(t->prev) : 0;

	/* With the first snapshot no interval ends. */
	if (!ns)
		return;
	t->several |= t->any && t->elapsed;
	t->prev = double_to_bits(so_far + number(t, now) * (double)ns);
	t->sum = now;
	t->elapsed += ns;
	t->any = true;
}

/* Whether a reading after a reset is back where the counter was: the one between was none. */
static bool is_back_again(const struct track *t, uint64_t now)
{
	return t->odd && (t->prev < t->before_reset ? now >= t->before_reset : now < t->prev);
}

/* As difference(), which does not know what was before the previous reading. */
static uint16_t judge(struct track *t, const struct column *c, uint32_t row, uint64_t now, uint64_t ns)
{
	bool again = is_back_again(t, now);
	uint16_t why = again ? (uint16_t)REPORT_RESET : difference(t, c, row, now, ns);

	t->odd = why == REPORT_RESET && !again && t->type == PM_U64 && !c->enabled && !is_bounded(t) &&
		 (now > t->prev || t->prev - now > now);
	if (t->odd)
		t->before_reset = t->prev;
	return why;
}

/* `waits`: it had no counter since the previous reading, even if nobody wanted it to count. Returns ns that the
 * difference covers; 0: it is lost. */
static uint64_t take_cumulative(struct track *t, const struct column *c, uint32_t row, uint64_t now, uint64_t time,
				bool waits)
{
	uint64_t ns = true_ns(c, time - t->prev_time);
	uint16_t why = waits ? (uint16_t)PM_REASON_NOT_COUNTED : judge(t, c, row, now, ns);

	if (why) {
		if (c->enabled)
			t->times->lost += c->enabled[row] - t->times->prev_enabled;
		give_up(t);
		track_lose(t, why, column_ns(c, row));
		return 0;
	}
	if (t->loss)
		track_carry(t->loss);
	t->elapsed += ns;
	return ns;
}

/* A value that stands alone covers the time since the previous snapshot. Returns that time. */
static uint64_t take_single(struct track *t, const struct column *c, uint32_t row, uint64_t time)
{
	uint64_t now = c->v[row], ns = column_ns(c, row);
	uint64_t seen = ns + (t->loss ? t->loss->pending + t->loss->earlier : 0);

	/* What was not due is due now, with all of its time. */
	if (t->started && (!t->gap || bridges(t, t->gap))) {
		ns = true_ns(c, time - t->prev_time);
		if (t->loss)
			track_carry(t->loss);
	} else if (t->loss) {
		/* A level covers the time since a failure in which none was due. */
		if (is_level(t)) {
			ns += t->loss->undue;
			track_carry(t->loss);
		}
		give_up(t);
	}
	if (t->loss)
		t->loss->undue = 0;
	if (is_level(t)) {
		if (c->averages && t->average && ns)
			average_take(t, row, number(t, now), seen);
		level(t, now, ns);
		return ns;
	}
	/* With the first snapshot no interval ends. */
	if (!ns)
		return ns;
	if (t->semantics == PM_DELTA)
		add(t, now);
	else if (!t->any || number(t, now) > number(t, t->sum))
		t->sum = now;
	t->any = true;
	t->elapsed += ns;
	return ns;
}

/* Whether an event that shares its counter has not had its turn since it was opened: it is 0, and its first interval
 * begins here like that of the others. */
static bool never_ran(const struct track *t, const struct column *c, uint32_t row)
{
	return !t->started && t->perf && t->semantics == PM_CUMULATIVE && c->enabled && !c->running[row] &&
	       c->status[row] == PM_REASON_NOT_COUNTED;
}

static void start_at_zero(struct track *t, const struct column *c, uint32_t row)
{
	t->prev = 0;
	t->prev_time = midpoint(c, row);
	t->times->prev_enabled = c->enabled[row];
	t->times->prev_running = 0;
	if (t->more)
		step_more(t, 0, 0, c->begins && row == c->first);
	t->started = true;
	t->gap = t->before = 0;
}

/* Whether it has waited for a counter since the previous reading, and is unchanged. */
static bool still_waits(const struct track *t, const struct column *c, uint32_t row)
{
	return t->started && t->semantics == PM_CUMULATIVE && c->enabled && c->status[row] == PM_REASON_NOT_COUNTED &&
	       c->running[row] == t->times->prev_running;
}

static void step(struct track *t, const struct column *c, uint32_t row)
{
	const uint16_t status = reading_status(t, c, row);
	bool missing = status, waits = missing && still_waits(t, c, row);
	bool begins = missing && never_ran(t, c, row);
	uint64_t now = waits ? t->prev : c->v[row], time, since = 0;

	if (t->more) {
		t->more->paused = false;
		t->more->begun &= !(missing && c->begins && row == c->first);
	}
	if (!missing || waits || begins)
		is_back(t);
	if (begins) {
		if (t->loss) {
			give_up(t);
			track_lose(t, PM_REASON_NOT_COUNTED, column_ns(c, row));
		}
		start_at_zero(t, c, row);
		return;
	}
	if (missing && !waits) {
		step_missing(t, status, column_ns(c, row));
		return;
	}
	time = midpoint(c, row);
	if (!t->started && has_rule(t) && t->more->rule->may_be_wide && now > mask_of(t))
		t->width = 64;
	if (carries(t) && !t->started && t->loss)
		begin_here(t, column_ns(c, row));
	if (c->enabled && t->started) {
		t->times->enabled += c->enabled[row] - t->times->prev_enabled;
		t->times->running += c->running[row] - t->times->prev_running;
	}
	if (!carries(t))
		since = take_single(t, c, row, time);
	else if (t->started)
		since = take_cumulative(t, c, row, now, time, waits);
	else
		t->odd = false;
	if (t->more) {
		step_more(t, now, since, c->begins && row == c->first);
		t->more->span = (double)(c->end[row] - c->begin[row]) / 1e3;
	}
	if (!is_level(t))
		t->prev = now;
	t->prev_time = time;
	if (c->enabled) {
		t->times->prev_enabled = c->enabled[row];
		t->times->prev_running = c->running[row];
	}
	t->started = true;
	t->gap = t->before = 0;
}

/* Records what a step found that began with such a loss. */
static void make_note(const struct track *t, const struct track_loss *before, bool away, struct row_note *n)
{
	const struct track_loss *l = t->loss;
	uint64_t hidden = away ? before->hidden : 0;
	bool waited = before->pending || before->earlier;

	n->waits = l->pending ? l->owed : 0;
	if (l->absent > before->absent) {
		n->absent = t->absent;
		n->gone = waited ? before->owed : 0;
	} else if (l->lost > before->lost + hidden) {
		n->lost = before->pending ? before->owed : l->last;
	}
	n->goes_on = waited && !n->absent && !n->lost;
}

/* Takes one reading. The track has a loss unless the row is regular. */
static void track_step(struct track *t, const struct column *c, uint32_t row)
{
	struct track_loss before;
	bool away = t->away;

	if (!c->note || !t->loss) {
		step(t, c, row);
		return;
	}
	before = *t->loss;
	step(t, c, row);
	make_note(t, &before, away, &c->note[row]);
}

/* As track_missed(), for the time before a row; `note` as in struct column. */
static void track_unseen(struct track *t, uint16_t reason, uint64_t ns, struct row_note *note)
{
	const struct track_loss before = *t->loss;
	bool away = t->away;

	track_missed(t, reason, ns);
	if (note)
		make_note(t, &before, away, note);
}

/* Starts the next interval at the end of the last. */
static void track_begin_interval(struct track *t)
{
	t->any = t->several = false;
	t->absent = 0;
	t->sum = t->elapsed = 0;
	if (t->times)
		t->times->enabled = t->times->running = t->times->lost = 0, t->times->made = 0,
		t->times->shared = false;
	if (t->more) {
		/* The end of this interval is the start of the next. */
		struct track_more *m = t->more;

		m->any = m->any && t->started && (!t->gap || carries(t));
		m->begun = (m->any && !t->gap) || m->paused;
		m->some = false;
		m->first = m->last;
		m->weighted = m->span = 0;
		m->weight = 0;
	}
}

/* Removes the sums from the track, which starts again with the next reading. */
static struct tally tally_take(struct track *t)
{
	struct tally y = {
		.sum = t->sum, .elapsed = t->elapsed, .absent = t->absent, .any = t->any, .several = t->several
	};

	if (is_level(t)) {
		y.level = t->prev;
		t->prev = 0;
	}
	if (t->times)
		y.times = *t->times;
	if (t->more)
		y.more = *t->more;
	track_begin_interval(t);
	return y;
}

static void put_more(struct track *t, const struct track_more *before)
{
	struct track_more *m = t->more;

	if (!before->some)
		return;
	m->first = before->first;
	m->max = m->some && m->max > before->max ? m->max : before->max;
	m->last = m->some ? m->last : before->last;
	m->bits = m->some ? m->bits : before->bits;
	m->span = m->some ? m->span : before->span;
	m->weighted += before->weighted;
	m->weight += before->weight;
	m->begun = before->begun;
	m->some = true;
}

/* Prepends sums to those of the track. */
static void tally_put(struct track *t, const struct tally *before)
{
	double level = (t->any ? double_from_bits(t->prev) : 0) + double_from_bits(before->level);

	if (is_level(t)) {
		t->sum = t->any ? t->sum : before->sum;
		t->several |= before->several || (t->any && before->any);
		t->prev = before->any ? double_to_bits(level) : t->prev;
	} else if (before->any && t->semantics == PM_PEAK) {
		t->sum = t->any && number(t, t->sum) > number(t, before->sum) ? t->sum : before->sum;
	} else if (before->any) {
		add(t, before->sum);
	}
	t->any |= before->any;
	t->elapsed += before->elapsed;
	t->absent = t->absent ? t->absent : before->absent;
	if (t->times) {
		t->times->enabled += before->times.enabled;
		t->times->running += before->times.running;
		t->times->lost += before->times.lost;
		t->times->made += before->times.made;
		t->times->shared |= before->times.shared;
	}
	if (t->more)
		put_more(t, &before->more);
}

/* Per second, at the end of an interval. */
static double track_sum_rate(const struct track *sum)
{
	double d = (double)sum->loss->absent / 1e9, rate = 0;

	/* c / (d + x) = c / d - c x / d^2 + c x^2 / d^3 ... */
	for (unsigned k = TRACK_TERMS; k; k--)
		rate = (sum->loss->sum->term[k - 1] - rate) / d;
	return rate;
}

static struct value why_nothing(const struct track *t)
{
	const struct track_loss *l = t->loss;

	if (l && l->lost)
		return value_missing(l->why);
	if (l && l->pending)
		return value_missing(l->owed);
	if (t->gap && !(l && l->joint))
		return value_missing(t->gap);
	return value_missing(t->absent ? t->absent : VALUE_NO_INTERVAL);
}

/* The value of the open interval. */
static struct value track_value(const struct track *t)
{
	if (!t->any)
		return why_nothing(t);
	if (t->semantics == PM_GAUGE && t->several)
		return value_of(double_from_bits(t->prev) / (double)t->elapsed);
	if (is_level(t) && t->type == PM_U64 && !t->scaled)
		return value_of_u64(t->sum);
	return value_of(is_shared(t) ? scaled(t, t->times->made) : number(t, t->sum));
}

/* How long it was observed. While the events of an uncore PMU are moved to another CPU they stand still, as the
 * kernel's clock of the event shows. */
static uint64_t observed_ns(const struct track *t)
{
	uint64_t ns = t->uncore && t->perf ? t->times->enabled - t->times->lost : 0;

	return ns ? ns : t->elapsed;
}

static struct count interval_count(const struct track *t, uint16_t reason)
{
	uint64_t v = t->any ? t->sum : 0;
	struct count c = { .v = v, .made = v, .enabled = t->elapsed, .running = t->elapsed, .reason = reason };

	if (t->times) {
		c.enabled = t->times->enabled;
		c.running = t->times->running;
		c.made = is_shared(t) ? (uint64_t)t->times->made : v;
	}
	/* What never ran is not counted, whatever it says. */
	if (!reason && (!c.enabled || !c.running) && !is_level(t))
		c.reason = PM_REASON_NOT_COUNTED;
	return c;
}

static void close_loss(struct track *t, size_t k, struct value v)
{
	struct track_loss *l = t->loss;
	uint64_t absent = l->absent - (l->sum ? l->sum->known : 0), earlier = l->earlier + l->pending;

	give_up(t);
	l->earlier = earlier;
	l->at[k] = (struct support){ (double)t->elapsed / 1e9, (double)(int64_t)absent / 1e9, (double)l->lost / 1e9,
				     (double)l->before / 1e9, l->why };
	l->some |= absent || l->lost || v.reason || l->carried;
	l->ever |= t->elapsed != 0;
	l->last = l->why ? l->why : l->last;
	l->absent = l->lost = l->before = 0;
	l->why = 0;
	l->carried = false;
	if (l->sum)
		*l->sum = (struct track_sum){ 0 };
}

static void close_interval(struct track *t, struct value *out, size_t stride, size_t k, struct count *counts)
{
	struct value v = track_value(t);
	uint64_t counted = observed_ns(t) + (t->loss ? t->loss->absent : 0);

	out += k;
	if (counts)
		counts[k] = interval_count(t, v.reason);
	if (t->aspects & 1u << TRACK_VALUE) {
		*out = v;
		out += stride;
	}
	for (unsigned a = TRACK_FIRST; t->more && a <= TRACK_MAX; a++) {
		const struct track_more *m = t->more;
		double d;

		if (!(t->aspects & 1u << a))
			continue;
		d = a == TRACK_FIRST ? m->first :
		    a == TRACK_LAST  ? m->last :
		    a == TRACK_MAX   ? m->max :
		    m->weight        ? m->weighted / (double)m->weight :
				       m->last;
		*out = !m->some || v.reason ? value_missing(v.reason ? v.reason : VALUE_NO_INTERVAL) :
		       a == TRACK_LAST && t->type == PM_U64 && !t->scaled ? value_of_u64(m->bits) :
									    value_of(d);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_ELAPSED) {
		*out = v.reason ? v : value_of((double)observed_ns(t) / 1e9);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_RATE) {
		*out = v.reason || is_level(t) || t->semantics == PM_PEAK ? v :
		       counted && t->loss && t->loss->sum                 ? value_of(track_sum_rate(t)) :
		       counted                                            ? value_of(v.v / ((double)counted / 1e9)) :
									    value_missing(VALUE_DIVISION_BY_ZERO);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_SPAN)
		*out = v.reason ? v : value_of(t->more->span);
	if (t->loss)
		close_loss(t, k, v);
	track_begin_interval(t);
}

/* Ends the interval with the previous reading: result k of each wanted aspect, in arrays from `base` on, `stride`
 * apart. `counts`: an array for its counts, or NULL. */
static void track_close(struct track *t, struct value *base, size_t stride, size_t k, struct count *counts)
{
	struct track_joint *j = t->loss ? t->loss->joint : NULL;
	struct tally waits;
	struct track_more more = { 0 };

	if (!j || !j->slow) {
		close_interval(t, base, stride, k, counts);
		return;
	}
	waits = tally_take(t);
	more = t->more ? *t->more : more;
	tally_put(t, &j->taken);
	j->taken = (struct tally){ 0 };
	close_interval(t, base, stride, k, counts);
	if (t->more)
		*t->more = more;
	tally_put(t, &waits);
}

/* Whether track_joint_step() was called after the last track_joint_resume(). */
static bool track_joint_waits(const struct track *t)
{
	return t->loss && t->loss->joint && t->loss->joint->slow;
}

/* Loses what waits for the next reading. */
static void track_joint_restart(struct track *t)
{
	if (!track_joint_waits(t))
		return;
	t->loss->joint->own.pending = t->loss->joint->own.undue = 0;
	tally_take(t);
}

/* The next reading is a first one: a stretch of the recording ends. */
static void track_pause(struct track *t)
{
	bool any = t->more && t->more->any && !t->gap;

	restart_at(t, 0);
	track_joint_restart(t);
	if (any)
		t->more->paused = true;
}

/* Whether the reading is there, and is taken as it is. `back`: how far it may step back. */
static inline bool is_regular(const struct track *t, const struct column *c, uint32_t row, uint64_t back)
{
	uint64_t now = c->v[row], e, r;

	if (!t->started || t->gap || t->odd || reading_status(t, c, row))
		return false;
	if (t->semantics != PM_CUMULATIVE)
		return true;
	if (has_rule(t) && track_against_rule(t, t->prev, now, true_ns(c, midpoint(c, row) - t->prev_time)))
		return false;
	if (t->type == PM_F64 ? !(double_from_bits(now) >= double_from_bits(t->prev)) :
				is_too_much(t, t->prev, now, has_rule(t) ? t->back : back) && !is_bounded(t))
		return false;
	if (!c->enabled)
		return true;
	/* Times that go back are those of a group that was reopened; and nothing runs for longer than it is
	 * enabled. */
	e = c->enabled[row] - t->times->prev_enabled;
	r = c->running[row] - t->times->prev_running;
	return c->enabled[row] >= t->times->prev_enabled && c->running[row] >= t->times->prev_running && r <= e &&
	       (!t->perf || r || !e);
}

/* Whether a reading of [row, end) cannot be compared with the previous one. */
static bool track_breaks(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	bool sensor = has_rule(t) && t->more->rule->sensor, broken = false;
	struct track_times times = { 0 };
	struct track from = *t;

	if (!sensor && (t->semantics != PM_CUMULATIVE || t->gap))
		return false;
	if (t->times)
		times = *t->times;
	from.times = &times;
	for (; row < end && !broken; row++) {
		if (c->status && c->status[row]) {
			from.started = from.odd = false;
			continue;
		}
		broken =
			sensor ? reading_status(t, c, row) != 0 : from.started && !is_regular(&from, c, row, t->back);
		from.odd &= from.started;
		from.started = true;
		from.prev = c->v[row];
		from.prev_time = midpoint(c, row);
		if (c->enabled) {
			times.prev_enabled = c->enabled[row];
			times.prev_running = c->running[row];
		}
	}
	return broken;
}

/* Writes the results of `n` intervals in which nothing was missing, from result k on. */
static inline void put_simple(struct track *t, const struct value *v, const double *seconds, size_t n,
			      struct value *base, size_t rows, size_t k)
{
	struct value *out = base + k;

	if (t->aspects & 1u << TRACK_VALUE) {
		memcpy(out, v, n * sizeof(*out));
		out += rows;
	}
	if (t->aspects & 1u << TRACK_ELAPSED) {
		for (size_t i = 0; i < n; i++)
			out[i] = value_of(seconds[i]);
		out += rows;
	}
	if (t->aspects & 1u << TRACK_RATE && t->semantics == PM_GAUGE)
		memcpy(out, v, n * sizeof(*out));
	else if (t->aspects & 1u << TRACK_RATE)
		for (size_t i = 0; i < n; i++)
			out[i] = __builtin_expect(seconds[i] != 0, 1) ? value_of(v[i].v / seconds[i]) :
									value_missing(VALUE_DIVISION_BY_ZERO);
	if (!t->loss)
		return;
	t->loss->ever = true;
	for (size_t i = 0; i < n; i++)
		t->loss->at[k + i] = (struct support){ seconds[i], 0, 0, 0, 0 };
}

/* Whether no loss has to be told at the end of the interval. */
static bool is_clean(const struct track *t)
{
	return !t->loss || !(t->loss->lost || t->loss->absent || t->loss->before || t->loss->carried);
}

/* Whether readings of the column may be taken by take_simple(). */
static bool is_simple(const struct track *t, const struct column *c, bool counts)
{
	const unsigned timed = 1u << TRACK_ELAPSED | 1u << TRACK_RATE;

	return !t->more && t->type == PM_U64 && !(t->aspects & ~(timed | 1u << TRACK_VALUE)) &&
	       !(t->uncore && t->perf && t->aspects & timed) &&
	       (t->semantics == PM_CUMULATIVE ||
		(t->semantics == PM_GAUGE && !counts && !(t->average && c->averages)));
}

/* As track_step() and track_close() for rows from `row` on, as long as they are what nearly all are: readings of a
 * count that rose by little, or of a level that is all of an interval. Results begin with the *k-th, which it moves.
 * Returns the first row that is none. `timed`: beside perf's times; `each`: no interval was begun, and every row of a
 * count ends one, so that nothing is added up. */
static inline __attribute__((always_inline)) uint32_t take_simple(struct track *t, const struct column *c,
								  uint32_t row, uint32_t end, const bool *closes,
								  struct value *base, size_t rows, size_t *k,
								  struct count *counts, bool level, bool timed,
								  bool each)
{
	const uint64_t mask = mask_of(t), few = level ? mask : mask / 4, *enabled = c->enabled, *running = c->running;
	const uint16_t *status = c->status;
	const uint32_t first = row;
	const bool clean = each || is_clean(t), perf = t->perf;
	struct track_times y = timed ? *t->times : (struct track_times){ 0 };
	uint64_t prev = t->prev, sum = t->any ? t->sum : 0, elapsed = t->elapsed, before = t->prev_time;
	struct value v[PM_CHUNK_ROWS];
	double seconds[PM_CHUNK_ROWS];
	bool any = t->any;
	size_t n = 0;

	for (; row < end && !(status && status[row]); row++) {
		uint64_t now = c->v[row], d = (now - prev) & mask;
		bool closing = each || closes[row];
		double made;

		/* What was lost before is told at the end of the interval; a level read twice at once is none. */
		if (d > few || (closing && !clean) || (level && (any || !closing || midpoint(c, row) == before)))
			break;
		if (timed) {
			uint64_t e = enabled[row] - y.prev_enabled, r = running[row] - y.prev_running;

			made = (double)d;
			if (enabled[row] < y.prev_enabled || running[row] < y.prev_running || r > e ||
			    (perf && !r && e))
				break;
			if (perf && r < e && !level)
				made = made * (double)e / (double)r;
			y.made = each ? made : y.made + made;
			y.shared = (!each && y.shared) || (perf && r < e);
			y.enabled = each ? e : y.enabled + e;
			y.running = each ? r : y.running + r;
			y.prev_enabled = enabled[row];
			y.prev_running = running[row];
		}
		sum = level ? now : each ? d : sum + d;
		prev = now;
		any = true;
		if (!closing)
			continue;
		elapsed += each ? 0 : true_ns(c, midpoint(c, row) - before);
		before = each ? before : midpoint(c, row);
		if (counts) {
			uint64_t e = timed ? y.enabled : elapsed, r = timed ? y.running : elapsed;

			counts[*k + n] = (struct count){ sum, y.shared ? (uint64_t)y.made : sum, e, r,
							 e && r ? 0 : PM_REASON_NOT_COUNTED };
		}
		seconds[n] = each ? c->seconds[row] : (double)elapsed / 1e9;
		made = timed && (each || (y.shared && !level)) ? y.made : (double)sum;
		v[n++] = level && !t->scaled ? value_of_u64(sum) : value_of(made);
		any = false;
		sum = elapsed = 0;
		if (timed)
			y = (struct track_times){ y.prev_enabled, y.prev_running, 0, 0, 0, 0, false };
	}
	if (row == first)
		return row;
	for (size_t i = 0; t->scaled && i < n; i++)
		v[i].v = scaled(t, v[i].v);
	if (n) {
		put_simple(t, v, seconds, n, base, rows, *k);
		t->absent = 0;
	}
	*k += n;
	t->any = any;
	t->prev = level ? 0 : prev;
	t->prev_time = midpoint(c, row - 1);
	t->sum = sum;
	t->elapsed = elapsed + (any ? true_ns(c, t->prev_time - before) : 0);
	if (timed)
		*t->times = y;
	return row;
}

/* A step for each row of [row, end), and a close where closes[] says so, from result 0 on, in arrays of `rows`.
 * False: some reading was not taken as it is, and the track has a loss. */
static bool track_take(struct track *t, const struct column *c, uint32_t row, uint32_t end, const bool *closes,
		       struct value *base, size_t rows, struct count *counts)
{
	bool simple = is_simple(t, c, counts), level = t->semantics == PM_GAUGE, timed = c->enabled, plain = true;
	bool each = c->seconds && !level && (!counts || timed);
	uint32_t first = row;
	size_t k = 0;

	while (row < end) {
		/* One function, compiled for each kind of loop. */
		if (simple && t->started && !t->gap && !t->odd) {
			if (each && row > first && !t->any && !t->elapsed && is_clean(t) &&
			    t->prev_time == midpoint(c, row - 1))
				row = counts ? take_simple(t, c, row, end, closes, base, rows, &k, counts, false,
							   true, true) :
				      timed  ? take_simple(t, c, row, end, closes, base, rows, &k, NULL, false, true,
							   true) :
					       take_simple(t, c, row, end, closes, base, rows, &k, NULL, false, false,
							   true);
			else
				row = take_simple(t, c, row, each ? row + 1 : end, closes, base, rows, &k, counts,
						  level, timed, false);
		}
		if (row == end)
			break;
		/* With the first snapshot of a stretch nothing can be lost yet. */
		if ((!t->loss || c->note) && !is_regular(t, c, row, 0) &&
		    (c->before || row != c->first || t->started || t->before || reading_status(t, c, row))) {
			plain = false;
			track_loss_of(t, rows);
		}
		track_step(t, c, row);
		if (closes[row])
			track_close(t, base, rows, k++, counts);
		row++;
	}
	return plain;
}

/* From here on, takes only what all counters of a formula have. It has a loss. */
static void track_join(struct track *t)
{
	t->loss->joint = memory_new(1, sizeof(*t->loss->joint));
	t->loss->joint->own = *t->loss;
	t->loss->joint->own.joint = NULL;
}

/* All have it now. */
static void take(struct track *t)
{
	struct track_loss *l = t->loss;

	track_carry(l);
	tally_put(t, &l->joint->taken);
	l->joint->taken = tally_take(t);
}

static void lose(struct track *t, uint16_t why)
{
	track_lose(t, why, t->loss->pending);
	t->loss->pending = t->loss->earlier = 0;
	tally_take(t);
}

/* Steps with its own reading; returns whether that is, or was, absent. */
static bool step_alone(struct track *t, const struct column *c, uint32_t row, uint64_t ns)
{
	struct track_loss *of_all = t->loss, *own = &of_all->joint->own;

	own->absent = 0;
	t->loss = own;
	if (c)
		track_step(t, c, row);
	else
		track_missed(t, t->unseen, ns);
	t->loss = of_all;
	return own->absent != 0;
}

/* As track_step(), or track_unseen() where `c` is NULL. */
static void track_joint_step(struct track *t, const struct column *c, uint32_t row, const struct joint_row *j,
			     uint64_t ns)
{
	struct track_loss *l = t->loss;
	uint64_t hidden = l->hidden;
	uint16_t away;
	bool absent;

	if (!l->joint->slow)
		l->joint->taken = tally_take(t);
	l->joint->slow = true;
	if (j->gone)
		lose(t, j->gone);
	absent = step_alone(t, c, row, ns);
	away = j->what == JOINT_ABSENT ? j->why : t->absent;
	t->away |= j->what == JOINT_ABSENT;
	l->hidden = 0;
	if (t->away)
		l->absent += hidden;
	else
		track_lose(t, VALUE_GAP, hidden);
	if (absent || j->what == JOINT_ABSENT)
		l->absent += ns;
	else if (j->what == JOINT_LOSE)
		track_lose(t, j->why, ns);
	switch (j->what) {
	case JOINT_TAKE:
		take(t);
		break;
	case JOINT_WAIT:
		l->owed = l->pending ? l->owed : j->why;
		l->pending += absent ? 0 : ns;
		break;
	case JOINT_LOSE:
		lose(t, j->why);
		break;
	case JOINT_ABSENT:
		tally_take(t);
		break;
	}
	if (absent || j->what == JOINT_ABSENT)
		l->joint->taken.absent = away;
}

/* Call it after rows of which the last was taken: the track continues as any other. */
static void track_joint_resume(struct track *t)
{
	struct track_joint *j = t->loss->joint;

	tally_put(t, &j->taken);
	j->taken = (struct tally){ 0 };
	j->slow = false;
}

/* Times that differ from the interval's by at most one part in so many: then the first terms are exact to a double.
 */
#define ALIKE 10000

/* Begins a track that stands for all ended ones of the counter of `t`. */
static void track_begin_sum(struct track *sum, const struct track *t, size_t rows)
{
	*sum = *t;
	sum->loss = NULL;
	sum->times = t->times ? memory_new(1, sizeof(*sum->times)) : NULL;
	track_begin_interval(sum);
	track_loss_of(sum, rows)->sum = memory_new(1, sizeof(*sum->loss->sum));
	sum->loss->ever = true;
}

/* Moves into *sum what an ended track has of the open interval; false: it has to stay. */
static bool track_fold(struct track *sum, struct track *t)
{
	const struct track_loss *l = t->loss;
	struct track_sum *s = sum->loss->sum;
	int64_t beyond = (int64_t)(t->elapsed + l->absent - l->ended_ns);
	double v = t->any ? track_value(t).v : 0;
	struct tally y;

	if (t->more || t->uncore || !t->times != !sum->times || l->joint || l->lost || l->before || l->pending ||
	    l->earlier || l->hidden || (uint64_t)llabs(beyond) > l->ended_ns / ALIKE)
		return false;
	for (unsigned k = 0; k < TRACK_TERMS; k++, v *= (double)beyond / 1e9)
		s->term[k] += v;
	s->known += t->any ? l->ended_ns - l->absent : 0;
	y = tally_take(t);
	tally_put(sum, &y);
	return true;
}

/* Moves into *e what an ended track, which is released, has of the open interval; false: that needs more. */
static bool track_end(struct track_end *e, struct track *t)
{
	const struct track_loss *l = t->loss;
	const unsigned simple = 1u << TRACK_VALUE | 1u << TRACK_ELAPSED | 1u << TRACK_RATE;
	struct value v = track_value(t);

	if (t->more || t->uncore || l->joint || t->aspects & ~simple || __builtin_popcount(t->aspects) != 1)
		return false;
	*e = (struct track_end){
		.counter = t->counter,
		.instance = t->instance,
		.aspects = t->aspects,
		.divides = t->aspects == 1u << TRACK_RATE && !is_level(t) && t->semantics != PM_PEAK,
		.some = l->absent || l->lost || v.reason || l->carried,
		.v = v.reason || t->aspects != 1u << TRACK_ELAPSED ? v : value_of((double)t->elapsed / 1e9),
		.ns = { t->elapsed, l->absent - l->ended_ns, l->lost, l->before, l->why },
	};
	return true;
}

/* Ends the interval, of `ns`. */
static void track_end_close(struct track_end *e, uint64_t ns)
{
	uint64_t known = e->ns.known, absent = e->ns.absent + ns, counted = known + absent;

	if (e->divides && !e->v.reason)
		e->v = counted ? value_of(e->v.v / ((double)counted / 1e9)) : value_missing(VALUE_DIVISION_BY_ZERO);
	e->some |= absent != 0;
	e->at = (struct support){ (double)known / 1e9, (double)(int64_t)absent / 1e9, (double)e->ns.lost / 1e9,
				  (double)e->ns.before / 1e9, e->ns.why };
}

/* Begins the next one, all of which comes after its end. */
static void track_end_again(struct track_end *e)
{
	e->v = value_missing(PM_REASON_OFFLINE);
	e->some = true;
	e->ns.known = e->ns.absent = e->ns.lost = e->ns.before = e->ns.why = 0;
}

/* ---- what a replay holds ---- */

/* Which track a value column of a group feeds. */
struct feed {
	uint32_t column, time, track;
};

/* How long readings took, in ns: the one at the beginning of the open interval, and the last. */
struct spans {
	uint64_t first, last;
};

struct group_feeds {
	uint32_t group, slot; /* as struct pm_group has them */
	struct feed *feed;    /* owned */
	uint32_t n;
	struct spans *spans;     /* owned: of each of its times */
	uint8_t *doubt;          /* owned: times x rows of results; NULL: none was read so far */
	uint32_t stretch, first; /* the last stretch in which it was read, and the first chunk there */
};

/* Of a counter that has one, for all of its tracks in a package: packages may count energy in different units.
 * `place`: the package's number, or the id of a device. */
struct rule_row {
	uint32_t counter, place;
	struct counter_rule rule;
};

/* What every value needs of its track, close together. */
struct brief {
	uint32_t slot; /* first of its arrays of results, in arrays */
	uint8_t aspects;
};

/* A group of the gathered rows. */
struct gathered {
	uint32_t columns, head; /* all; those of times */
	uint32_t room;          /* for columns */
	uint64_t *row;          /* owned: row by row */
	uint64_t *time;         /* owned: head x rows of the gather, filled once the rows are complete */
	uint64_t *tile;         /* owned: GATHER_TILE x rows of the gather: the current columns */
	uint32_t tiled;         /* the first of them; PM_NONE: none yet */
	uint16_t *status;       /* owned: room x rows; NULL: not needed so far */
	bool some_missing;      /* `status` counts */
};

/* Rows of chunks too short for a pass over all columns. */
struct gather {
	struct gathered *group; /* owned: beside chunk.group */
	uint32_t cap_groups;
	struct pm_chunk chunk; /* owns its groups, of which only times and status are in place */
	uint32_t rows;         /* room */
	uint64_t tick[PM_CHUNK_ROWS];
	int64_t wall[PM_CHUNK_ROWS];
};

struct clock_pair {
	uint64_t monotonic, raw;
};

#define CLOCK_PAIRS 64

/* The current rows, which end no more intervals than the arena holds. */
struct slice {
	const uint64_t *tick;
	uint32_t row;    /* the first */
	uint64_t before; /* tick of the previous snapshot; 0: none in this stretch */
	bool begins;     /* an interval begins with it */
	bool each;       /* each ends one */
};

struct formula {
	uint32_t *counter; /* owned, ascending */
	uint32_t n;
	enum pm_kind area; /* PM_KINDS: of an instance */
	const struct places *places;
};

/* What the counters of one place share that a formula takes together. */
struct joint {
	uint32_t formula;                    /* its number */
	bool of_area;                        /* of several instances */
	bool waits;                          /* for some, the next reading may cover the row before */
	bool stepped;                        /* the current rows are not plain */
	uint16_t owed;                       /* why it waits */
	uint16_t lost;                       /* why waiting was in vain; 0: it was not, so far */
	struct row_note note[PM_CHUNK_ROWS]; /* findings of the tracks */
	struct joint_row row[PM_CHUNK_ROWS]; /* consequence for all */
};

/* Of a track. */
struct joint_link {
	uint32_t joint; /* its joint: place + 1; 0: none, it is plain */
	uint32_t next;  /* the next for this counter and instance, for another formula; 0: none */
	bool missed;    /* a part of it was missing */
	bool fresh;     /* and that is new */
};

#define JOINT_TAKEN 1 /* a formula takes it with other counts */
#define JOINT_MIXED 2 /* one takes it with others of which some are levels */

struct joints {
	struct formula *formula; /* owned */
	struct joint *joint;     /* owned */
	struct joint_link *link; /* owned: by track */
	unsigned char *taken;    /* owned: by counter id: JOINT_ bits */
	uint32_t n_formulas, n, n_taken;
	size_t n_links, n_seen; /* n_seen: tracks seen before */
};

struct replay {
	struct replay_config config;
	replay_sink sink;
	void *ctx;
	const struct pm_model *model;
	uint16_t *want;   /* by counter id: aspects */
	uint32_t *sum_of; /* likewise: the track of all that have ended, + 1; 0: none */
	size_t n_want, n_folded;
	struct track *track;
	size_t n_tracks, cap_tracks;
	struct track_end *past; /* of a total, what single tracks that have ended came to; their numbers follow */
	size_t n_past;
	uint32_t *live; /* tracks that have not ended; room for all */
	size_t n_live;
	uint32_t *key; /* the live ones, + 1, by open addressing from counter and instance; 0: free */
	size_t n_keys, used_keys;
	struct group_feeds *group; /* that have not retired */
	uint32_t n_groups, cap_groups;
	uint32_t *at_slot; /* by slot: place in group[] + 1; 0: none */
	uint32_t n_slots;
	uint32_t groups_seen, last_seen; /* of the model: how many were seen; id of the last of them */
	struct rule_row **rule;          /* owned: what tracks point to, so it does not move */
	size_t n_rules;
	struct cpu_facts facts; /* of the package `facts_of` */
	uint32_t facts_of;
	bool has_facts;
	struct value *arena;
	struct brief *brief;  /* by track */
	struct count *counts; /* tracks x rows, if they are wanted */
	size_t arrays, rows;  /* arena: arrays x rows */
	size_t cap_arena;     /* values that fit */
	bool placed;          /* all tracks have a place in it */
	uint32_t places;      /* how often they got it */
	struct gather gather;
	uint32_t newest; /* largest id of a group of a chunk that found nothing gathered */
	struct joints joints;
	struct average **average; /* owned */
	size_t n_averages;
	bool averages;   /* some interval of the current rows has several */
	double *seconds; /* owned: times x rows of the current group, as in struct column */
	uint32_t cap_seconds;
	uint32_t chunk;   /* number of the current chunk, or of those gathered */
	uint32_t stretch; /* number of the current stretch, from 1 */
	size_t unseen;    /* live tracks not found in it so far */
	uint32_t run, segment;
	bool begun;            /* a snapshot of this run was seen */
	bool fresh;            /* none of this stretch was: nothing is known about the time before */
	bool open;             /* an interval is open: it holds what is in `now` */
	bool losses;           /* some track has missed something, */
	bool some_loss;        /* and does in the current block; only inside a sink */
	const uint8_t **doubt; /* owned: by track, of the current block; NULL: nothing was ever doubtful */
	bool some_doubt;       /* in the current block */
	struct slice slice;
	double slope;                        /* seconds in a second of CLOCK_MONOTONIC, in the current chunk */
	struct clock_pair head[CLOCK_PAIRS]; /* of the last chunks; the oldest is that of n_heads - CLOCK_PAIRS */
	uint64_t n_heads;
	bool perf_scale;
	uint64_t last_ns, next_ns;
	int64_t wall; /* what to add to a tick; INT64_MIN: unknown */
	struct interval now;
	struct interval done[ARENA_ROWS];
};

/* What a number stands for that is none of track[]; NULL: it is one. */
static inline struct track_end *replay_past(const struct replay *r, size_t track)
{
	return track < r->n_tracks ? NULL : &r->past[track - r->n_tracks];
}

/* Wherever an interval ends, tracks have a place for it. */
static inline struct value *results_of(const struct replay *r, size_t track)
{
	return r->arena + r->brief[track].slot * r->rows;
}

static struct count *counts_of(const struct replay *r, size_t track)
{
	return r->counts ? r->counts + track * r->rows : NULL;
}

/* What a group feeds; NULL: unknown group. */
static struct group_feeds *replay_feeds(const struct replay *r, uint32_t group)
{
	const struct pm_group *g = pm_model_group(r->model, group);
	struct group_feeds *f =
		g && g->slot < r->n_slots && r->at_slot[g->slot] ? &r->group[r->at_slot[g->slot] - 1] : NULL;

	return f && f->group == group ? f : NULL;
}

/* What a group of the current chunk feeds, and notes that it was read; NULL if it is unknown or absent. */
static struct group_feeds *replay_read(const struct replay *r, const struct pm_chunk_group *cg)
{
	struct group_feeds *f = cg->absent ? NULL : replay_feeds(r, cg->group);

	if (f && f->stretch != r->stretch)
		f->first = r->chunk;
	if (f)
		f->stretch = r->stretch;
	return f;
}

/* Whether the group feeds the track. Where two groups have one column, the one to be read first in a stretch does;
 * when it retires, a later one that was not read beside it continues the series. */
static bool replay_takes(const struct replay *r, const struct group_feeds *f, struct track *t)
{
	const struct pm_group *g;
	const struct group_feeds *other;

	if (t->group == f->group)
		return true;
	g = pm_model_group(r->model, t->group);
	other = g && !g->retired ? replay_feeds(r, t->group) : NULL;
	if (f->first != r->chunk || (other && other->stretch == r->stretch))
		return false;
	t->group = f->group;
	return true;
}

/* The same, of a chunk: the track is in it. */
static bool replay_sees(struct replay *r, const struct group_feeds *f, struct track *t)
{
	if (!replay_takes(r, f, t))
		return false;
	r->unseen -= t->seen != r->chunk;
	t->seen = r->chunk;
	return true;
}

/* Room for so many tracks. */
static void replay_reserve_tracks(struct replay *r, size_t n)
{
	if (n <= r->cap_tracks)
		return;
	r->track = memory_resize(r->track, n, sizeof(*r->track));
	r->live = memory_resize(r->live, n, sizeof(*r->live));
	/* Nothing is in doubt between blocks, and rarely ever again. */
	free(r->doubt);
	r->doubt = NULL;
	r->cap_tracks = n;
}

/* A new live track, empty. */
static uint32_t replay_add_track(struct replay *r)
{
	if (r->n_tracks == r->cap_tracks)
		replay_reserve_tracks(r, r->cap_tracks + r->cap_tracks / 2 + 64);
	r->track[r->n_tracks] = (struct track){ 0 };
	r->live[r->n_live++] = (uint32_t)r->n_tracks;
	return (uint32_t)r->n_tracks++;
}

static void interval_done(struct replay *r, size_t k)
{
	struct interval *i = &r->done[k];

	*i = r->now;
	i->to_ns = r->last_ns;
	i->wall_ns = r->wall == INT64_MIN ? 0 : (int64_t)(r->last_ns + (uint64_t)r->wall);
	r->open = false;
}

/* Allocates the record of what the track is missing. */
static void make_loss(struct replay *r, struct track *t)
{
	r->losses = true;
	track_loss_of(t, r->rows);
}

/* The columns of times that belong to the values of a feed. */
static struct column times_of(const struct replay *r, const struct pm_group *g, const struct pm_chunk_group *cg,
			      uint32_t time)
{
	uint32_t times = pm_group_times(g);
	size_t stride = cg->stride;
	struct column c = {
		.begin = cg->v + time * stride,
		.end = cg->v + (times + time) * stride,
		.tick = r->slice.tick,
		.first = r->slice.row,
		.before = r->slice.before,
		.begins = r->slice.begins,
		.slope = r->slope,
		.averages = r->averages,
	};

	if (g->flags & PM_GROUP_PERF_TIMES) {
		c.enabled = cg->v + (2 * times + time) * stride;
		c.running = cg->v + (3 * times + time) * stride;
	}
	return c;
}

/* If each row had the same alignment in a page, one column of all rows would share a few cache lines. */
static size_t row_stride(const struct gathered *x)
{
	return (((size_t)x->room + 7) & ~(size_t)7) + 8;
}

#define AHEAD (4 * GATHER_TILE) /* columns that will be requested soon */

/* Copies columns [from, end) of all rows. */
static void take_columns(const struct gather *g, const struct gathered *x, uint32_t from, uint32_t end, uint64_t *to)
{
	size_t stride = row_stride(x);

	for (uint32_t row = 0; row < g->chunk.rows; row++) {
		const uint64_t *v = x->row + row * stride;

		/* Each row is a stream of its own, more than processors predict. */
		__builtin_prefetch(v + from + AHEAD);
		for (uint32_t c = from; c < end; c++)
			to[(size_t)(c - from) * g->rows + row] = v[c];
	}
}

/* A gathered column of group `i`; valid until a column of another tile is read. Fast in ascending order. */
static const uint64_t *gather_column(struct gather *g, uint32_t i, uint32_t column)
{
	struct gathered *x = &g->group[i];
	uint32_t first = column - column % GATHER_TILE, end = first + GATHER_TILE;

	if (x->tiled != first)
		take_columns(g, x, first, end < x->columns ? end : x->columns, x->tile);
	x->tiled = first;
	return x->tile + (size_t)(column - first) * g->rows;
}

static inline struct column column_in(struct replay *r, const struct pm_chunk *chunk, uint32_t i,
				      const struct pm_group *g, const struct feed *x)
{
	const struct pm_chunk_group *cg = &chunk->group[i];
	struct column c = times_of(r, g, cg, x->time);

	c.v = chunk == &r->gather.chunk ? gather_column(&r->gather, i, x->column) : cg->v + x->column * cg->stride;
	c.status = cg->status ? cg->status + x->column * cg->stride : NULL;
	return c;
}

static struct column column_at(struct replay *r, const struct pm_chunk *chunk, uint32_t i, const struct feed *x)
{
	return column_in(r, chunk, i, pm_model_group(r->model, chunk->group[i].group), x);
}

/* ---- levels combined row by row ---- */

static struct average *average_of(const struct track *t, const void *owner, uint32_t part)
{
	const struct track_average *a = t->average;

	while (a && (a->in->owner != owner || a->in->part != part))
		a = a->next;
	return a ? a->in : NULL;
}

static void enter(struct track *t, struct average *a, bool fresh)
{
	struct track_average *more = memory_new(1, sizeof(*more));

	*more = (struct track_average){ a, t->average };
	t->average = more;
	/* It was the only one so far. */
	if (fresh && t->any) {
		a->so_far += double_from_bits(t->prev);
		a->ns += (double)t->elapsed;
	}
}

const struct average *replay_average(struct replay *r, const void *owner, uint32_t part, enum pm_aggregation rule,
				     const uint32_t *track, uint32_t n)
{
	struct average *a = NULL;
	bool fresh;

	for (uint32_t i = 0; i < n; i++)
		if (replay_past(r, track[i]) || r->track[track[i]].semantics != PM_GAUGE)
			return NULL;
	for (uint32_t i = 0; i < n && !a; i++)
		a = average_of(&r->track[track[i]], owner, part);
	fresh = !a;
	if (fresh) {
		memory_room(&r->average, r->n_averages, sizeof(*r->average));
		r->average[r->n_averages++] = a = memory_new(1, sizeof(*a));
		a->owner = owner;
		a->part = part;
		a->rule = rule;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!average_of(&r->track[track[i]], owner, part))
			enter(&r->track[track[i]], a, fresh);
	return a;
}

const double *replay_averaged(const struct replay *r, const struct average *a)
{
	return a && r->averages ? a->value : NULL;
}

static void close_average(struct average *a, size_t k)
{
	a->value[k] = a->ns > 0 ? a->so_far / a->ns : NAN;
	a->so_far = a->ns = 0;
}

static void averages_close(struct replay *r, size_t k)
{
	for (size_t i = 0; i < r->n_averages; i++)
		close_average(r->average[i], k);
}

/* Takes rows [row, end) as all tracks have them, and ends the intervals that end there. */
static void averages_settle(struct replay *r, uint32_t row, uint32_t end, const bool *closes)
{
	const struct column c = { .tick = r->slice.tick, .first = row, .before = r->slice.before, .slope = r->slope };

	for (size_t i = 0; i < r->n_averages && r->averages; i++) {
		struct average *a = r->average[i];
		size_t n = 0;

		for (uint32_t k = row; k < end; k++) {
			if (a->used && a->weight[k] > 0) {
				double ns = (double)column_ns(&c, k);

				a->so_far += a->sum[k] / a->weight[k] * ns;
				a->ns += ns;
			}
			if (closes[k])
				close_average(a, n++);
		}
		if (a->used) {
			memset(a->sum + row, 0, (end - row) * sizeof(*a->sum));
			memset(a->weight + row, 0, (end - row) * sizeof(*a->weight));
		}
		a->used = false;
	}
}

static void averages_release(struct replay *r)
{
	for (size_t i = 0; i < r->n_averages; i++)
		free(r->average[i]);
	free(r->average);
}

/* ---- counters that a formula uses together ---- */

/* While nothing is missing, the value of each is that of its track. From the first missing reading on, joint tracks
 * follow all of them, and use only what all have. */

static void joints_release(struct joints *j)
{
	for (uint32_t i = 0; i < j->n_formulas; i++)
		free(j->formula[i].counter);
	free(j->formula);
	free(j->joint);
	free(j->link);
	free(j->taken);
	*j = (struct joints){ 0 };
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool is_among(const uint32_t *sorted, size_t n, uint32_t number)
{
	return bsearch(&number, sorted, n, sizeof(*sorted), by_number) != NULL;
}

uint32_t replay_join(struct replay *r, uint32_t *counter, uint32_t n, enum pm_kind area, const struct places *places)
{
	struct joints *j = &r->joints;
	uint32_t kept = 0;
	bool mixed = false;

	qsort(counter, n, sizeof(*counter), by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || counter[i] != counter[kept - 1])
			counter[kept++] = counter[i];
	if (kept < 2)
		return 0;
	for (uint32_t i = 0; i < j->n_formulas; i++)
		if (j->formula[i].n == kept && j->formula[i].area == area &&
		    !memcmp(j->formula[i].counter, counter, kept * sizeof(*counter)))
			return i + 1;
	if (counter[kept - 1] >= j->n_taken) {
		j->taken = memory_resize(j->taken, counter[kept - 1] + 1, 1);
		memset(j->taken + j->n_taken, 0, counter[kept - 1] + 1 - j->n_taken);
		j->n_taken = counter[kept - 1] + 1;
	}
	for (uint32_t i = 0; i < kept; i++)
		mixed |= pm_model_counter(r->model, counter[i])->semantics != PM_CUMULATIVE;
	for (uint32_t i = 0; i < kept; i++)
		j->taken[counter[i]] |= mixed ? JOINT_MIXED : JOINT_TAKEN;
	memory_room(&j->formula, j->n_formulas, sizeof(*j->formula));
	j->formula[j->n_formulas++] =
		(struct formula){ memory_copy(counter, kept, sizeof(*counter)), kept, area, places };
	return j->n_formulas;
}

/* Whether a track is one of them. */
static bool joints_own(const struct joints *j, size_t track)
{
	return track < j->n_links && j->link[track].joint;
}

uint32_t replay_joined(const struct replay *r, uint32_t track, uint32_t formula)
{
	const struct joints *j = &r->joints;
	uint32_t t = formula && track < j->n_links ? j->link[track].next : 0;

	while (t && j->joint[j->link[t].joint - 1].formula != formula)
		t = j->link[t].next;
	return t ? t : track;
}

static void reserve_links(struct joints *j, size_t n)
{
	if (n <= j->n_links)
		return;
	j->link = memory_resize(j->link, n, sizeof(*j->link));
	memset(j->link + j->n_links, 0, (n - j->n_links) * sizeof(*j->link));
	j->n_links = n;
}

/* If one is absent, the others nearly always follow at once; but a level is known as soon as it is back. */
static bool is_missing(const struct replay *r, const struct track *t, const uint16_t *status, uint32_t row,
		       uint32_t end)
{
	bool mixed = r->joints.taken[t->counter] & JOINT_MIXED;

	while (row < end && (!status[row] || (status_absent(status[row]) && !t->counts_on && !mixed)))
		row++;
	return row < end;
}

/* Whether a formula uses it with others, and nothing of it is known to be missing yet. */
static bool is_whole(const struct replay *r, size_t track)
{
	const struct joint_link *l = &r->joints.link[track];
	const struct track *t = &r->track[track];

	return !l->joint && !l->missed && t->counter < r->joints.n_taken && r->joints.taken[t->counter];
}

static size_t note(struct replay *r, size_t track)
{
	if (!is_whole(r, track))
		return 0;
	r->joints.link[track].missed = r->joints.link[track].fresh = true;
	return 1;
}

/* Whether rows of a column lack something that the track would have. */
static bool lacks(struct replay *r, const struct pm_chunk *c, uint32_t i, const struct feed *x, uint32_t row,
		  uint32_t end)
{
	struct column of = column_at(r, c, i, x);
	struct track *t = &r->track[x->track];

	t->perf = r->perf_scale && of.enabled;
	return (of.status && is_missing(r, t, of.status, row, end)) || track_breaks(t, &of, row, end);
}

/* Marks tracks of which something is missing for the first time; returns how many. */
static size_t note_missing(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		struct group_feeds *f = replay_read(r, cg);

		for (uint32_t k = 0; f && k < f->n; k++)
			if (replay_sees(r, f, &r->track[f->feed[k].track]) && is_whole(r, f->feed[k].track) &&
			    lacks(r, c, i, &f->feed[k], row, end))
				n += note(r, f->feed[k].track);
	}
	for (size_t i = 0; i < r->n_live && r->unseen; i++) {
		const struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = pm_model_instance(r->model, t->instance);

		if (t->seen && t->seen != r->chunk && in && !in->retired_ns)
			n += note(r, r->live[i]);
	}
	return n;
}

static void *copy_of(const void *from, size_t size)
{
	return from ? memory_copy(from, 1, size) : NULL;
}

/* From here on it differs from its track. */
static void follow(struct replay *r, uint32_t track, uint32_t joint)
{
	struct joints *j = &r->joints;
	struct track *t, *own;
	uint32_t number = replay_add_track(r);

	reserve_links(j, r->cap_tracks);
	t = &r->track[track];
	own = &r->track[number];
	*own = *t;
	own->times = copy_of(t->times, sizeof(*t->times));
	own->more = copy_of(t->more, sizeof(*t->more));
	own->loss = NULL;
	own->average = NULL;
	r->unseen += t->seen != r->chunk;
	j->link[number] = (struct joint_link){ .joint = joint, .next = j->link[track].next };
	j->link[track].next = number;
	track_loss_of(own, r->rows);
	if (t->loss) {
		struct support *at = own->loss->at;

		*own->loss = *t->loss;
		own->loss->at = at;
		own->loss->some = false;
	}
	r->losses = true;
	track_join(own);
}

struct member {
	struct place at; /* those at one place are used together */
	uint32_t track;
};

static int by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = place_compare(&x->at, &y->at);

	return order ? order : (x->track > y->track) - (x->track < y->track);
}

/* Joins those of a place that are not joined yet, if one of them has just begun to miss something. */
static void join(struct replay *r, uint32_t formula, const struct member *m, size_t n)
{
	struct joints *j = &r->joints;
	uint32_t joint = 0, own;
	bool fresh = false;

	for (size_t i = 0; i < n; i++) {
		own = replay_joined(r, m[i].track, formula);
		joint = own != m[i].track ? j->link[own].joint : joint;
		fresh |= j->link[m[i].track].fresh;
	}
	if (n < 2 || !fresh)
		return;
	if (!joint) {
		j->joint = memory_resize(j->joint, j->n + 1, sizeof(*j->joint));
		j->joint[j->n++] =
			(struct joint){ .formula = formula, .of_area = j->formula[formula - 1].area != PM_KINDS };
		joint = j->n;
	}
	for (size_t i = 0; i < n; i++)
		if (replay_joined(r, m[i].track, formula) == m[i].track)
			follow(r, m[i].track, joint);
}

/* Where the track meets others; false: unknown. */
static bool find_place(const struct replay *r, const struct formula *f, const struct track *t, struct place *at)
{
	*at = (struct place){ .kind = f->area, .instance = t->instance };
	return f->area == PM_KINDS || places_find(f->places, pm_model_instance(r->model, t->instance), f->area, at);
}

/* All that the formula may use together with what has just begun to miss something. */
static size_t members_of(const struct replay *r, const struct formula *f, const uint32_t *instance, size_t fresh,
			 struct member *m)
{
	bool somewhere = true;
	size_t n = 0;

	for (size_t i = 0; i < r->n_live; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (joints_own(&r->joints, r->live[i]) || !is_among(f->counter, f->n, t->counter) ||
		    (f->area == PM_KINDS && !is_among(instance, fresh, t->instance)))
			continue;
		somewhere &= find_place(r, f, t, &m[n].at);
		m[n++].track = r->live[i];
	}
	/* What has no place meets the others in the system. */
	for (size_t i = 0; i < n && !somewhere; i++)
		m[i].at = PLACE_NOWHERE(PM_SYSTEM);
	qsort(m, n, sizeof(*m), by_place);
	return n;
}

static void join_formula(struct replay *r, uint32_t formula, const uint32_t *instance, size_t fresh, struct member *m)
{
	size_t n = members_of(r, &r->joints.formula[formula - 1], instance, fresh, m), end;

	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && !place_compare(&m[end].at, &m[i].at);)
			end++;
		join(r, formula, m + i, end - i);
	}
}

/* Whether any track is new. */
static bool join_all(struct replay *r)
{
	size_t before = r->n_live, fresh = 0;
	SCOPED(scoped_free) uint32_t *instance = memory_new(before, sizeof(*instance));
	SCOPED(scoped_free) struct member *m = memory_new(before, sizeof(*m));
	SCOPED(scoped_free) bool *of_fresh = memory_new(r->joints.n_taken, sizeof(*of_fresh));

	for (size_t i = 0; i < before; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (!r->joints.link[r->live[i]].fresh || t->counter >= r->joints.n_taken)
			continue;
		instance[fresh++] = t->instance;
		of_fresh[t->counter] = true;
	}
	qsort(instance, fresh, sizeof(*instance), by_number);
	for (uint32_t f = 1; f <= r->joints.n_formulas; f++) {
		const struct formula *of = &r->joints.formula[f - 1];
		bool any = false;

		for (uint32_t k = 0; k < of->n; k++)
			any |= of_fresh[of->counter[k]];
		if (any)
			join_formula(r, f, instance, fresh, m);
	}
	for (size_t i = 0; i < before; i++)
		r->joints.link[r->live[i]].fresh = false;
	return r->n_live > before;
}

/* Creates joint tracks for what misses something from rows [row, end) on. True: attach them and lay out their
 * results. */
static bool joints_split(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	bool some = false;

	if (!r->joints.n_formulas)
		return false;
	reserve_links(&r->joints, r->n_tracks);
	/* New tracks join those that are joined already. */
	for (size_t i = r->joints.n_seen; i < r->n_tracks && r->joints.n; i++) {
		r->joints.link[i].fresh = !r->joints.link[i].joint;
		some = true;
	}
	r->joints.n_seen = r->n_tracks;
	some |= note_missing(r, c, row, end) > 0;
	return some && join_all(r);
}

/* Another group may have changed what its track keeps. */
static void keep_up(struct track *own, const struct track *t)
{
	own->aspects = t->aspects;
	own->times = own->times ? own->times : copy_of(t->times, sizeof(*t->times));
	own->more = own->more ? own->more : copy_of(t->more, sizeof(*t->more));
}

/* Lets groups feed these tracks. */
static void joints_attach(struct replay *r)
{
	struct joints *j = &r->joints;

	if (j->n)
		reserve_links(j, r->n_tracks);
	for (uint32_t i = 0; j->n && i < r->n_groups; i++) {
		struct group_feeds *f = &r->group[i];
		struct feed *all;
		uint32_t n = 0, kept = 0;

		for (uint32_t k = 0; k < f->n; k++) {
			if (joints_own(j, f->feed[k].track))
				continue;
			f->feed[kept++] = f->feed[k];
			n++;
			for (uint32_t t = j->link[f->feed[k].track].next; t; t = j->link[t].next)
				n++;
		}
		if (n == kept)
			continue;
		all = memory_new(n, sizeof(*all));
		n = 0;
		/* After its own, so that columns ascend. */
		for (uint32_t k = 0; k < kept; k++) {
			all[n++] = f->feed[k];
			for (uint32_t t = j->link[f->feed[k].track].next; t; t = j->link[t].next) {
				keep_up(&r->track[t], &r->track[f->feed[k].track]);
				all[n++] = (struct feed){ f->feed[k].column, f->feed[k].time, t };
			}
		}
		free(f->feed);
		f->feed = all;
		f->n = n;
	}
}

/* Renumbers tracks: place[] has the new number, or PM_NONE if dropped. */
static void joints_renumber(struct joints *j, const uint32_t *place, size_t n)
{
	SCOPED(scoped_free) uint32_t *joint = memory_new(j->n, sizeof(*joint));
	size_t kept = 0;
	uint32_t n_joints = 0;

	n = n < j->n_links ? n : j->n_links;
	for (size_t i = 0; i < n; i++) {
		struct joint_link *l = &j->link[i];

		if (place[i] == PM_NONE)
			continue;
		l->next = l->next ? place[l->next] : 0;
		if (l->joint)
			joint[l->joint - 1] = 1;
		j->link[kept++] = *l;
	}
	j->n_links = j->n_seen = kept;
	for (uint32_t i = 0; i < j->n; i++) {
		if (!joint[i])
			continue;
		j->joint[n_joints] = j->joint[i];
		joint[i] = ++n_joints;
	}
	for (size_t i = 0; i < kept; i++)
		if (j->link[i].joint)
			j->link[i].joint = joint[j->link[i].joint - 1];
	j->n = n_joints;
}

/* The next readings are not compared with earlier ones. */
static void joints_restart(struct joints *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		j->joint[i].waits = false;
		j->joint[i].lost = 0;
	}
}

/* Decides rows [row, end): begins before plain tracks are fed, takes what those found, ends before joint tracks are
 * fed. */
static void joints_begin(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++) {
		memset(j->joint[i].note + row, 0, (end - row) * sizeof(*j->joint[i].note));
		j->joint[i].stepped = j->joint[i].waits;
	}
}

static bool joints_ask(const struct joints *j, size_t track)
{
	return track < j->n_links && j->link[track].next && !j->link[track].joint;
}

static uint16_t either(uint16_t a, uint16_t b)
{
	return a ? a : b;
}

static void joints_note(struct joints *j, size_t track, const struct row_note *found, uint32_t row, uint32_t end)
{
	for (uint32_t t = j->link[track].next; t; t = j->link[t].next) {
		struct joint *x = &j->joint[j->link[t].joint - 1];

		x->stepped = true;
		for (uint32_t k = row; k < end; k++) {
			struct row_note *n = &x->note[k];

			/* Of several instances at a place, absent ones are left out. */
			n->absent = either(n->absent, x->of_area ? 0 : found[k].absent);
			n->lost = either(n->lost, found[k].lost);
			n->gone = either(n->gone, found[k].gone);
			n->waits = either(n->waits, found[k].waits);
			n->goes_on |= found[k].goes_on;
		}
	}
}

static struct joint_row decide(struct joint *x, const struct row_note *n)
{
	struct joint_row r = { .what = JOINT_TAKE };

	if (n->absent) {
		r = (struct joint_row){ JOINT_ABSENT, n->absent, x->waits ? x->owed : 0 };
		/* What reaches into it is lost with its end. */
		x->lost = n->waits;
		x->waits = false;
		return r;
	}
	if (n->gone && n->goes_on) {
		x->lost = either(x->lost, n->gone);
	} else if (n->gone) {
		r.gone = n->gone;
		x->lost = 0;
	}
	x->lost = either(x->lost, n->lost);
	if (n->waits) {
		r.what = JOINT_WAIT;
		r.why = n->waits;
		x->owed = n->waits;
	} else if (x->lost) {
		r.what = JOINT_LOSE;
		r.why = either(n->lost, x->lost);
		x->lost = 0;
	}
	x->waits = n->waits != 0;
	return r;
}

static void joints_end(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++)
		for (uint32_t k = row; k < end; k++)
			j->joint[i].row[k] = decide(&j->joint[i], &j->joint[i].note[k]);
}

/* The decisions for its rows, or NULL: as for any track. */
static const struct joint_row *joint_rows(const struct replay *r, uint32_t track)
{
	const struct joint *x = &r->joints.joint[r->joints.link[track].joint - 1];

	return x->stepped || track_joint_waits(&r->track[track]) ? x->row : NULL;
}

/* ---- chunks and intervals ---- */

struct replay *replay_new(const struct replay_config *config, replay_sink sink, void *ctx)
{
	struct replay *r = memory_new(1, sizeof(*r));

	r->config = *config;
	r->sink = sink;
	r->ctx = ctx;
	r->wall = INT64_MIN;
	r->slope = 1;
	r->fresh = true;
	r->stretch = 1;
	return r;
}

static void release_feeds(struct group_feeds *f)
{
	free(f->feed);
	free(f->doubt);
	f->feed = NULL;
	f->doubt = NULL;
	f->n = f->stretch = 0;
}

static void group_release(struct gathered *x)
{
	free(x->row);
	free(x->time);
	free(x->tile);
	free(x->status);
	*x = (struct gathered){ 0 };
}

static void gather_release(struct gather *g)
{
	for (uint32_t i = 0; i < g->cap_groups; i++)
		group_release(&g->group[i]);
	free(g->group);
	free(g->chunk.group);
	*g = (struct gather){ 0 };
}

static void track_release(struct track *t)
{
	free(t->times);
	free(t->more);
	if (t->loss) {
		free(t->loss->joint);
		free(t->loss->sum);
	}
	free(t->loss);
	average_leave(t);
	t->times = NULL;
	t->more = NULL;
	t->loss = NULL;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_groups; i++) {
		release_feeds(&r->group[i]);
		free(r->group[i].spans);
	}
	free(r->group);
	free(r->at_slot);
	gather_release(&r->gather);
	joints_release(&r->joints);
	averages_release(r);
	free(r->doubt);
	free(r->seconds);
	for (size_t i = 0; i < r->n_tracks; i++)
		track_release(&r->track[i]);
	for (size_t i = 0; i < r->n_rules; i++)
		free(r->rule[i]);
	free(r->rule);
	free(r->track);
	free(r->past);
	free(r->live);
	free(r->brief);
	free(r->key);
	free(r->want);
	free(r->sum_of);
	free(r->arena);
	free(r->counts);
	free(r);
}

/* Ends interval k of the track. After its end a track is absent. */
static void close_track(struct replay *r, size_t track, size_t k)
{
	struct track *t = &r->track[track];
	uint64_t rest = t->ended ? r->done[k].duration_ns - t->loss->ended_ns : 0;

	if (rest) {
		track_missed(t, PM_REASON_OFFLINE, rest);
		t->over = true;
	}
	if (t->ended)
		t->loss->ended_ns = 0;
	track_close(t, results_of(r, track), r->rows, k, counts_of(r, track));
}

/* Call it after a block was passed to the sink. */
static void doubt_forget(struct replay *r)
{
	for (size_t i = 0; r->some_doubt && i < r->n_tracks; i++)
		r->doubt[i] = NULL;
	r->some_doubt = false;
}

static int emit(struct replay *r, size_t n)
{
	int err;

	/* From the last, because what has just begun was not there before. */
	r->some_loss = false;
	for (size_t i = r->n_tracks; i-- && n && r->losses && !r->some_loss;)
		r->some_loss = r->track[i].loss && r->track[i].loss->some;
	err = n ? r->sink(r->ctx, r->done, n) : 0;
	doubt_forget(r);
	for (size_t i = 0; i < r->n_tracks && r->some_loss; i++)
		if (r->track[i].loss)
			r->track[i].loss->some = false;
	return err;
}

static void want_of(const struct replay *r, struct track *t)
{
	const unsigned rare =
		1u << TRACK_FIRST | 1u << TRACK_LAST | 1u << TRACK_MEAN | 1u << TRACK_MAX | 1u << TRACK_SPAN;

	t->aspects = (uint8_t)r->want[t->counter];
	if (t->aspects & rare && !t->more)
		t->more = memory_new(1, sizeof(*t->more));
}

static void place_results(struct replay *r)
{
	free(r->brief);
	r->brief = memory_new(r->n_tracks, sizeof(*r->brief));
	r->arrays = 0;
	r->places++;
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track *t = &r->track[i];

		want_of(r, t);
		r->brief[i] = (struct brief){ (uint32_t)r->arrays, t->aspects };
		r->arrays += (size_t)__builtin_popcount(t->aspects);
	}
}

#define HUGE_PAGE (2u << 20) /* the usual size; a different one does no harm */

/* Everything passes through all of it repeatedly: use large pages if it fills some and the system has them. */
static struct value *new_arena(size_t size)
{
	struct value *arena;

	if (size < HUGE_PAGE)
		return memory_resize(NULL, size, 1);
	size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
	arena = memory_checked(aligned_alloc(HUGE_PAGE, size));
	madvise(arena, size, MADV_HUGEPAGE);
	return arena;
}

static void reserve_results(struct replay *r)
{
	size_t n = r->arrays * r->rows + 1;

	if (n > r->cap_arena || n < r->cap_arena / 4) {
		free(r->arena);
		r->arena = new_arena(n * sizeof(*r->arena));
		r->cap_arena = n;
	}
	if (r->config.counts) {
		free(r->counts);
		r->counts = memory_resize(NULL, r->n_tracks * r->rows, sizeof(*r->counts));
	}
	r->placed = true;
}

/* Allocates the results of all tracks; earlier ones are lost. */
static void replay_lay_results(struct replay *r)
{
	place_results(r);
	reserve_results(r);
}

#define SHARE 100 /* of an interval, that a reading may take without doubt */

static bool is_long(uint64_t span_ns, uint64_t of_ns)
{
	return span_ns > of_ns / SHARE;
}

/* Lets tracks find what is known of their readings. */
static void point_tracks(struct replay *r, const struct group_feeds *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		r->doubt[f->feed[i].track] = f->doubt + f->feed[i].time * r->rows;
	r->some_doubt = true;
}

/* Checks how long the readings of an interval took that ends without a snapshot. */
static void doubt_close(struct replay *r)
{
	for (uint32_t i = 0; r->doubt && i < r->n_groups; i++) {
		struct group_feeds *f = &r->group[i];
		const struct pm_group *g = f->doubt ? pm_model_group(r->model, f->group) : NULL;
		bool some = false;

		for (uint32_t t = 0; g && t < pm_group_times(g); t++) {
			struct spans *s = &f->spans[t];

			f->doubt[t * r->rows] = is_long(s->first > s->last ? s->first : s->last, r->now.duration_ns);
			some |= f->doubt[t * r->rows];
			s->first = s->last;
		}
		if (some)
			point_tracks(r, f);
	}
}

/* Whether it ended before the open, or last closed, interval began; or has added its sums to another. */
static bool is_over(const struct replay *r, size_t track)
{
	return r->config.mode == REPLAY_TOTAL ? r->track[track].folded : r->track[track].over;
}

/* Drops those that no interval needs any more. */
static void replay_drop_ended(struct replay *r)
{
	SCOPED(scoped_free) uint32_t *place = NULL;
	uint32_t n = 0;
	size_t over = 0;

	for (size_t i = 0; i < r->n_tracks && r->n_live < r->n_tracks; i++)
		over += is_over(r, i);
	if (!over)
		return;
	place = memory_new(r->n_tracks, sizeof(*place));
	for (size_t i = 0; i < r->n_tracks; i++) {
		place[i] = is_over(r, i) ? PM_NONE : n;
		if (place[i] == PM_NONE)
			track_release(&r->track[i]);
		else
			r->track[n++] = r->track[i];
	}
	joints_renumber(&r->joints, place, r->n_tracks);
	r->n_tracks = n;
	for (size_t i = 0; i < r->n_live; i++)
		r->live[i] = place[r->live[i]];
	for (uint32_t i = 0; i < r->n_groups; i++)
		for (uint32_t k = 0; k < r->group[i].n; k++)
			r->group[i].feed[k].track = place[r->group[i].feed[k].track];
	for (size_t i = 0; i < r->n_want; i++)
		r->sum_of[i] = r->sum_of[i] ? place[r->sum_of[i] - 1] + 1 : 0;
	r->n_folded = 0;
	/* Keys and results have the old numbers. */
	r->placed = false;
	r->used_keys = r->n_keys;
}

/* Closes the open interval at the current place. */
static int flush(struct replay *r)
{
	int err;

	if (!r->open)
		return 0;
	if (r->n_folded)
		replay_drop_ended(r);
	if (!r->placed)
		replay_lay_results(r);
	interval_done(r, 0);
	doubt_close(r);
	r->averages = true;
	averages_close(r, 0);
	for (size_t i = 0; i < r->n_tracks; i++)
		close_track(r, i, 0);
	for (size_t i = 0; i < r->n_past; i++)
		track_end_close(&r->past[i], r->done[0].duration_ns);
	err = emit(r, 1);
	for (size_t i = 0; i < r->n_past; i++)
		track_end_again(&r->past[i]);
	return err;
}

static void restart(struct replay *r)
{
	for (size_t i = 0; i < r->n_live; i++)
		track_pause(&r->track[r->live[i]]);
	joints_restart(&r->joints);
	r->stretch++;
	r->fresh = true;
}

int replay_finish(struct replay *r)
{
	int err = replay_settle(r);

	/* What is made of the intervals needs room, too. */
	gather_release(&r->gather);
	free(r->key);
	r->key = NULL;
	r->n_keys = r->used_keys = 0;
	if (!err)
		err = flush(r);
	restart(r);
	r->begun = false;
	return err;
}

static int new_stretch(struct replay *r, const struct pm_chunk *c)
{
	int err;

	if (r->run == c->run && r->segment == c->segment && !c->after_loss)
		return 0;
	if ((err = replay_settle(r)))
		return err;
	if (r->config.mode == REPLAY_EACH && (err = flush(r)))
		return err;
	if (r->run != c->run) {
		err = r->config.join_runs ? 0 : flush(r);
		r->begun = false;
	}
	restart(r);
	r->run = c->run;
	r->segment = c->segment;
	return err;
}

static void open_interval(struct replay *r)
{
	if (!r->open)
		r->now = (struct interval){ .from_ns = r->last_ns, .run = r->run, .segment = r->segment };
	r->open = true;
	r->now.segment = r->segment;
}

/* What was not observed between two stretches has no row of its own, but is part of longer intervals. */
static void lose_hidden(struct replay *r, uint64_t tick)
{
	uint64_t ns = monotonic_ns(tick - r->last_ns, r->slope);

	if (r->config.mode == REPLAY_EACH)
		return;
	open_interval(r);
	r->now.duration_ns += ns;
	r->now.partial = true;
	for (size_t i = 0; i < r->n_live; i++) {
		struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = pm_model_instance(r->model, t->instance);

		if (!t->seen || !in || in->retired_ns)
			continue;
		make_loss(r, t);
		track_hide(t, ns);
	}
}

/* Takes a snapshot at `tick`; returns whether an interval ends with it. `between`: none that was asked for does. */
static bool advance(struct replay *r, uint64_t tick, bool between)
{
	uint64_t every = r->config.every_ns;
	bool first = r->fresh;

	if (!r->begun)
		r->next_ns = every < UINT64_MAX - tick ? tick + every : UINT64_MAX;
	else if (r->config.mode == REPLAY_EVERY && tick > r->next_ns)
		r->next_ns += (tick - r->next_ns + every - 1) / every * every;
	if (!first) {
		open_interval(r);
		r->now.duration_ns += monotonic_ns(tick - r->last_ns, r->slope);
	}
	r->begun = true;
	r->fresh = false;
	r->last_ns = tick;
	return !first && ((r->config.mode == REPLAY_EACH && !between) ||
			  (r->config.mode == REPLAY_EVERY && tick == r->next_ns));
}

/* Whether the open interval must end before a snapshot at `tick`: what spans its end belongs to the next one. */
static bool ends_before(const struct replay *r, uint64_t tick)
{
	return r->config.mode == REPLAY_EVERY && r->open && tick > r->next_ns;
}

/* Rows of a track that is used together with others, some of which are incomplete. */
static void feed_joint(struct replay *r, uint32_t track, const struct column *c, uint32_t row, uint32_t end,
		       const bool *closes, const struct joint_row *what)
{
	struct track *t = &r->track[track];
	size_t k = 0;

	for (; row < end; row++) {
		track_joint_step(t, c->v ? c : NULL, row, &what[row], column_ns(c, row));
		if (closes[row])
			track_close(t, results_of(r, track), r->rows, k++, counts_of(r, track));
	}
	if (what[end - 1].what == JOINT_TAKE && !t->away)
		track_joint_resume(t);
}

/* Rows [row, end), of which those in closes[] end an interval. False: something was missing in a plain track. */
static bool feed_track(struct replay *r, uint32_t track, const struct column *c, uint32_t row, uint32_t end,
		       const bool *closes)
{
	struct track *t = &r->track[track];
	const struct joint_row *joint = r->joints.n && joints_own(&r->joints, track) ? joint_rows(r, track) : NULL;
	bool plain;

	t->perf = r->perf_scale && c->enabled;
	if (joint) {
		feed_joint(r, track, c, row, end, closes, joint);
		return true;
	}
	/* Without a place for results no row ends an interval. */
	plain = track_take(t, c, row, end, closes, r->placed ? results_of(r, track) : NULL, r->rows,
			   r->placed ? counts_of(r, track) : NULL);
	r->losses |= t->loss != NULL;
	return plain;
}

/* How long it was from row to row, once for all counters of an instance. */
static void fill_seconds(struct replay *r, const struct pm_group *g, const struct pm_chunk_group *cg, uint32_t row,
			 uint32_t end)
{
	uint32_t times = pm_group_times(g);

	memory_hold(&r->seconds, &r->cap_seconds, (size_t)times * end, sizeof(*r->seconds));
	for (uint32_t i = 0; i < times; i++) {
		const struct column c = times_of(r, g, cg, i);

		for (uint32_t k = row + 1; k < end; k++)
			r->seconds[(size_t)i * end + k] =
				(double)true_ns(&c, midpoint(&c, k) - midpoint(&c, k - 1)) / 1e9;
	}
}

static uint16_t why_missing(const struct replay *r, const struct track *t)
{
	const struct pm_instance *i = pm_model_instance(r->model, t->instance);

	return !i || i->retired_ns || !t->seen ? PM_REASON_OFFLINE : PM_REASON_DROPPED;
}

/* Notes which tracks are in the chunk, and why others are not: it will be replayed later, when that is no longer
 * known. */
static void replay_see(struct replay *r, const struct pm_chunk *c)
{
	r->chunk++;
	r->unseen = r->n_live;
	for (uint32_t i = 0; i < c->n_groups; i++) {
		struct group_feeds *f = replay_read(r, &c->group[i]);

		for (uint32_t k = 0; f && k < f->n; k++)
			replay_sees(r, f, &r->track[f->feed[k].track]);
	}
	for (size_t i = 0; i < r->n_live && r->unseen; i++) {
		struct track *t = &r->track[r->live[i]];

		if (t->seen != r->chunk)
			t->unseen = why_missing(r, t);
	}
}

static bool is_fed(const struct replay *r, const struct pm_chunk_group *cg)
{
	const struct group_feeds *f = cg->absent ? NULL : replay_feeds(r, cg->group);

	return f && f->n;
}

static void begin_group(const struct gather *g, struct gathered *x, const struct pm_group *of)
{
	uint32_t columns = pm_group_columns(of), head = pm_group_head(of);

	x->some_missing = false;
	x->tiled = PM_NONE;
	/* Members that come and go change it by little. */
	if (x->row && x->room >= columns && x->room / 2 <= columns && x->head == head) {
		x->columns = columns;
		return;
	}
	group_release(x);
	x->columns = columns;
	x->room = columns + columns / 8;
	x->head = head;
	x->tiled = PM_NONE;
	x->row = memory_resize(NULL, g->rows * row_stride(x), sizeof(*x->row));
	x->time = memory_resize(NULL, (size_t)head * g->rows, sizeof(*x->time));
	x->tile = memory_resize(NULL, (size_t)GATHER_TILE * g->rows, sizeof(*x->tile));
}

static void begin(struct replay *r, const struct pm_chunk *c, uint32_t rows)
{
	struct gather *g = &r->gather;

	if (rows != g->rows) {
		gather_release(g);
		g->rows = rows;
	}
	memory_hold(&g->group, &g->cap_groups, c->n_groups, sizeof(*g->group));
	g->chunk.group = memory_resize(g->chunk.group, c->n_groups, sizeof(*g->chunk.group));
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];

		g->chunk.group[i] = (struct pm_chunk_group){ .group = cg->group, .absent = true };
		if (!is_fed(r, cg))
			continue;
		begin_group(g, &g->group[i], pm_model_group(r->model, cg->group));
		g->chunk.group[i].absent = false;
		g->chunk.group[i].v = g->group[i].time;
		g->chunk.group[i].stride = g->rows;
	}
	g->chunk.n_groups = c->n_groups;
	g->chunk.tick = g->tick;
	replay_see(r, c);
}

/* Checks how long the readings of a group took in rows [row, end). */
static void doubt_read(struct replay *r, struct group_feeds *f, const struct pm_chunk_group *cg, uint32_t row,
		       uint32_t end, const bool *closes)
{
	uint32_t times = pm_group_times(pm_model_group(r->model, cg->group));
	bool some = false;

	if (!f->n)
		return;
	if (!r->doubt)
		r->doubt = memory_new(r->cap_tracks, sizeof(*r->doubt));
	if (!f->doubt)
		f->doubt = memory_new(times * r->rows, 1);
	for (uint32_t t = 0; t < times; t++) {
		const uint64_t *begin = cg->v + t * cg->stride, *done = begin + times * cg->stride;
		struct spans *s = &f->spans[t];
		size_t n = 0;

		for (uint32_t k = row; k < end; k++) {
			s->last = done[k] - begin[k];
			if (r->slice.begins && k == r->slice.row)
				s->first = s->last;
			if (!closes[k])
				continue;
			f->doubt[t * r->rows + n] =
				is_long(s->first > s->last ? s->first : s->last, r->done[n].duration_ns);
			some |= f->doubt[t * r->rows + n++];
			s->first = s->last;
		}
	}
	if (some)
		point_tracks(r, f);
}

/* Group `i` of the chunk: its plain tracks, or those that formulas use together. */
static void feed_chunk_group(struct replay *r, const struct pm_chunk *chunk, uint32_t i, uint32_t row, uint32_t end,
			     const bool *closes, bool joint)
{
	const struct pm_chunk_group *cg = &chunk->group[i];
	const struct pm_group *g = pm_model_group(r->model, cg->group);
	struct group_feeds *f = replay_read(r, cg);
	struct row_note note[PM_CHUNK_ROWS];

	if (!f)
		return;
	if (!joint)
		doubt_read(r, f, cg, row, end, closes);
	if (r->slice.each)
		fill_seconds(r, g, cg, row, end);
	for (uint32_t k = 0; k < f->n; k++) {
		const struct feed *x = &f->feed[k];
		struct column c;

		if ((r->joints.n && joints_own(&r->joints, x->track) != joint) ||
		    !replay_sees(r, f, &r->track[x->track]))
			continue;
		c = column_in(r, chunk, i, g, x);
		if (r->slice.each)
			c.seconds = r->seconds + (size_t)x->time * end;
		if (!joint && joints_ask(&r->joints, x->track))
			c.note = memset(note, 0, end * sizeof(*note));
		if (!feed_track(r, x->track, &c, row, end, closes) && c.note)
			joints_note(&r->joints, x->track, note, row, end);
	}
}

/* A track that is not in the chunk. */
static void miss_track(struct replay *r, uint32_t track, uint32_t row, uint32_t end, const bool *closes)
{
	const struct column c = {
		.tick = r->slice.tick, .first = r->slice.row, .before = r->slice.before, .slope = r->slope
	};
	struct track *t = &r->track[track];
	bool asked = joints_ask(&r->joints, track);
	struct row_note note[PM_CHUNK_ROWS] = { 0 };
	size_t k = 0;

	make_loss(r, t);
	if (joints_own(&r->joints, track)) {
		feed_joint(r, track, &c, row, end, closes, joint_rows(r, track));
		return;
	}
	for (uint32_t i = row; i < end; i++) {
		track_unseen(t, t->unseen, column_ns(&c, i), asked ? &note[i] : NULL);
		if (closes[i])
			track_close(t, results_of(r, track), r->rows, k++, counts_of(r, track));
	}
	if (asked)
		joints_note(&r->joints, track, note, row, end);
}

/* Plain tracks that are not in the chunk, or those that formulas use together. */
static void miss_tracks(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, const bool *closes,
			bool joint)
{
	for (size_t i = 0; i < r->n_live && r->unseen; i++) {
		struct track *t = &r->track[r->live[i]];

		if (t->seen == r->chunk || joints_own(&r->joints, r->live[i]) != joint)
			continue;
		if (c != &r->gather.chunk)
			t->unseen = why_missing(r, t);
		miss_track(r, r->live[i], row, end, closes);
	}
}

/* Rows [row, end) end at most as many intervals as the arena holds. */
static int feed_slice(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, const bool *closes,
		      size_t n)
{
	if (joints_split(r, c, row, end)) {
		joints_attach(r);
		r->placed = false;
	}
	if (n && !r->placed)
		replay_lay_results(r);
	r->slice.each = n > 1 && n == end - row;
	joints_begin(&r->joints, row, end);
	for (uint32_t i = 0; i < c->n_groups; i++)
		feed_chunk_group(r, c, i, row, end, closes, false);
	miss_tracks(r, c, row, end, closes, false);
	joints_end(&r->joints, row, end);
	for (uint32_t i = 0; i < c->n_groups && r->joints.n; i++)
		feed_chunk_group(r, c, i, row, end, closes, true);
	if (r->joints.n)
		miss_tracks(r, c, row, end, closes, true);
	averages_settle(r, row, end, closes);
	for (size_t i = 0; n && i < r->n_tracks && r->n_live < r->n_tracks; i++)
		for (size_t k = 0; k < n && r->track[i].ended; k++)
			close_track(r, i, k);
	return emit(r, n);
}

/* Replays rows [row, end) of a chunk; `wall`: of each row; NULL: r->wall for all. */
static int replay_rows(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t rows, const int64_t *wall)
{
	bool closes[PM_CHUNK_ROWS];
	uint32_t end;
	int err;

	while (row < rows) {
		size_t n = 0;

		if (ends_before(r, c->tick[row]) && (err = flush(r)))
			return err;
		if (r->fresh && r->begun)
			lose_hidden(r, c->tick[row]);
		r->averages = r->n_averages && r->open;
		r->slice = (struct slice){ c->tick, row, r->fresh ? 0 : r->last_ns, r->fresh && !r->open };
		for (end = row; end < rows && n < r->rows; end++) {
			if (end > row && ends_before(r, c->tick[end])) {
				closes[end - 1] = true;
				interval_done(r, n++);
				if (n == r->rows)
					break;
			}
			closes[end] = advance(r, c->tick[end], c->flags && c->flags[end] & PM_SNAPSHOT_BETWEEN);
			r->wall = wall ? wall[end] : r->wall;
			if (closes[end])
				interval_done(r, n++);
		}
		/* Before the first row there is none. */
		r->averages |= r->n_averages && n + !r->slice.before < end - row;
		if ((err = feed_slice(r, c, row, end, closes, n)))
			return err;
		row = end;
	}
	return 0;
}

/* What a damaged chunk lacks starts again: what was lost may have said that it was away. */
static void lose_unseen(struct replay *r)
{
	for (size_t i = 0; i < r->n_live; i++)
		if (r->track[r->live[i]].seen != r->chunk)
			track_pause(&r->track[r->live[i]]);
}

static bool slope_between(struct replay *r, const struct clock_pair *then, const struct pm_clocks *now,
			  uint64_t least_ns)
{
	double slope;

	if (now->monotonic < then->monotonic + least_ns || now->monotonic_raw <= then->raw)
		return false;
	slope = (double)(now->monotonic_raw - then->raw) / (double)(now->monotonic - then->monotonic);
	r->slope = slope > 1.001 || slope < 0.999 ? slope : 1;
	return true;
}

/* Finds how fast CLOCK_MONOTONIC_RAW ran in a chunk, from the newest earlier head that is at least a second older. */
static bool replay_find_slope(struct replay *r, const struct pm_clocks *now)
{
	uint64_t n = r->n_heads, least = n > CLOCK_PAIRS ? n - CLOCK_PAIRS : 0;
	bool found = false;

	if (!now->monotonic || !now->monotonic_raw)
		return false;
	for (uint64_t i = n; i-- > least && !found;)
		found = slope_between(r, &r->head[i % CLOCK_PAIRS], now, 1000000000);
	/* Many within a second would displace older ones. */
	if (!n || now->monotonic >= r->head[(n - 1) % CLOCK_PAIRS].monotonic + 50000000)
		r->head[r->n_heads++ % CLOCK_PAIRS] = (struct clock_pair){ now->monotonic, now->monotonic_raw };
	return found;
}

#define GATHER_LEAST 4 /* rows */

#define GATHER_BYTES (6u << 20) /* that rows may take */
#define GATHER_ROOMY (16u << 20)

/* How many rows are worth waiting for, and fit. */
static uint32_t gather_rows_for(const struct replay *r, const struct pm_chunk *c)
{
	size_t rows = r->config.mode == REPLAY_EACH ? r->rows : ARENA_ROWS, columns = 1;
	size_t most = (r->config.roomy ? GATHER_ROOMY : GATHER_BYTES) / sizeof(uint64_t);

	for (uint32_t i = 0; i < c->n_groups; i++)
		if (is_fed(r, &c->group[i]))
			columns += pm_group_columns(pm_model_group(r->model, c->group[i].group));
	if (rows > most / columns)
		rows = most / columns;
	return (uint32_t)(rows < ARENA_ROWS ? rows : ARENA_ROWS);
}

/* Whether the chunk has the same columns as those gathered so far. */
static bool goes_on(const struct replay *r, const struct pm_chunk *c)
{
	const struct gather *g = &r->gather;

	if (c->n_groups != g->chunk.n_groups)
		return false;
	for (uint32_t i = 0; i < c->n_groups; i++)
		if (c->group[i].group != g->chunk.group[i].group ||
		    is_fed(r, &c->group[i]) == g->chunk.group[i].absent)
			return false;
	return true;
}

static void take_status(struct gather *g, struct gathered *x, const struct pm_chunk_group *cg, uint32_t row)
{
	size_t cells = (size_t)x->room * g->rows;

	if (!x->status)
		x->status = memory_resize(NULL, cells, sizeof(*x->status));
	if (!x->some_missing)
		memset(x->status, 0, cells * sizeof(*x->status));
	x->some_missing = true;
	for (uint32_t c = 0; c < x->columns; c++)
		if (cg->status[c * cg->stride + row])
			x->status[c * g->rows + g->chunk.rows] = cg->status[c * cg->stride + row];
}

static void store(uint64_t *to, const uint64_t *v, size_t stride, uint32_t n)
{
	if (stride == 1)
		memcpy(to, v, n * sizeof(*to));
	else
		for (uint32_t k = 0; k < n; k++)
			to[k] = v[k * stride];
}

/* Stores a row after the others. */
static void store_row(struct gather *g, const struct pm_chunk *c, uint32_t row)
{
	uint32_t n = g->chunk.rows;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		struct gathered *x = &g->group[i];

		if (g->chunk.group[i].absent)
			continue;
		store(x->row + n * row_stride(x), cg->v + row, cg->stride, x->columns);
		if (cg->status)
			take_status(g, x, cg, row);
	}
	g->tick[n] = c->tick[row];
	g->wall[n] = c->clocks.realtime ? (int64_t)(c->clocks.realtime - c->clocks.monotonic) : INT64_MIN;
	g->chunk.rows++;
}

/* Whether a group is new with this chunk. Where members come and go every second, the next chunk has another one. */
static bool is_fresh(struct replay *r, const struct pm_chunk *c)
{
	uint32_t before = r->newest;

	for (uint32_t i = 0; i < c->n_groups; i++)
		r->newest = c->group[i].group > r->newest ? c->group[i].group : r->newest;
	return r->newest != before;
}

static bool has_between(const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	uint8_t any = 0;

	for (; row < end; row++)
		any |= c->flags[row];
	return any & PM_SNAPSHOT_BETWEEN;
}

/* Keeps rows [row, end) of a chunk for later, if that pays. False: it does not, or earlier rows have to be replayed
 * first. */
static bool gather_take(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end)
{
	struct gather *g = &r->gather;

	if (!r->config.gather || has_between(c, row, end))
		return false;
	if (!g->chunk.rows) {
		uint32_t rows = gather_rows_for(r, c);

		if (is_fresh(r, c) || rows < GATHER_LEAST || (end - row) * 3 > rows)
			return false;
		begin(r, c, rows);
	} else if (g->chunk.rows + (end - row) > g->rows || !goes_on(r, c)) {
		return false;
	}
	for (; row < end; row++)
		store_row(g, c, row);
	return true;
}

int replay_chunk(struct replay *r, const struct pm_chunk *c)
{
	uint32_t row = 0, rows = c->rows;
	double slope;
	bool kept;
	int err;

	while (row < rows && c->tick[row] < r->config.since_ns)
		row++;
	while (rows > row && r->config.until_ns && c->tick[rows - 1] > r->config.until_ns)
		rows--;
	if (row >= rows || rows > PM_CHUNK_ROWS)
		return 0;
	if ((err = new_stretch(r, c)))
		return err;
	slope = r->slope;
	replay_find_slope(r, &c->clocks);
	if (slope != r->slope && r->gather.chunk.rows) {
		double now = r->slope;

		r->slope = slope;
		if ((err = replay_settle(r)))
			return err;
		r->slope = now;
	}
	kept = !c->partial && gather_take(r, c, row, rows);
	if (!kept && r->gather.chunk.rows) {
		if ((err = replay_settle(r)))
			return err;
		kept = !c->partial && gather_take(r, c, row, rows);
	}
	if (kept)
		return r->gather.chunk.rows == r->gather.rows ? replay_settle(r) : 0;
	r->wall = c->clocks.realtime ? (int64_t)(c->clocks.realtime - c->clocks.monotonic) : INT64_MIN;
	r->chunk++;
	r->unseen = r->n_live;
	err = replay_rows(r, c, row, rows, NULL);
	if (c->partial)
		lose_unseen(r);
	return err;
}

void replay_until(struct replay *r, uint64_t ns)
{
	r->config.until_ns = ns;
}

void replay_foresee(struct replay *r, const struct pm_clocks *clocks, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = replay_find_slope(r, &clocks[i]);
	if (!found && r->n_heads && n)
		slope_between(r, &r->head[0], &clocks[n - 1], 1);
	r->n_heads = 0;
}

#define ARENA_VALUES (1u << 18) /* results held at once, over all tracks: bounds memory, 4 MiB */
#define ARENA_ROOMY  (1u << 21) /* 32 MiB */
#define FEW_ROWS     8

void replay_begin_tracks(struct replay *r, const struct pm_model *model)
{
	size_t n = (size_t)model->n_counters + 1;

	free(r->want);
	r->want = memory_new(n, sizeof(*r->want));
	r->sum_of = memory_resize(r->sum_of, n, sizeof(*r->sum_of));
	for (size_t i = r->n_want; i < n; i++)
		r->sum_of[i] = 0;
	for (uint32_t i = 0; i < r->n_groups; i++)
		release_feeds(&r->group[i]);
	r->groups_seen = r->last_seen = 0;
	r->n_want = n;
	r->model = model;
	r->perf_scale = !r->config.no_scale && pm_map_bool(&model->header, PM_HEADER_SCALED, true);
}

void replay_want(struct replay *r, uint32_t counter, unsigned aspects)
{
	if (counter && counter < r->n_want)
		r->want[counter] |= (uint16_t)aspects;
}

static void track_describe(struct track *t, const struct pm_counter *c)
{
	t->type = (uint8_t)c->type;
	t->semantics = (uint8_t)(pm_map_bool(&c->attrs, PM_COUNTER_PERF_SNAPSHOT, false) ? PM_GAUGE : c->semantics);
	t->width = c->width && c->width < 64 ? c->width : 64;
	t->mul = (double)c->scale.num;
	t->div = (double)(c->scale.den ? c->scale.den : 1);
	if (c->scale.text && parse_double(c->scale.text, &t->mul))
		t->mul = 1;
	/* No double is exactly 1e-6, but 1000000 is one: 1996247569 / 1000000 is 1996.247569, times 1e-6 it is
	 * 1996.2475689999999. */
	if (t->mul > 1e-15 && t->mul < 1 && t->mul == 1 / (double)(uint64_t)(1 / t->mul + 0.5)) {
		t->div = (double)(uint64_t)(1 / t->mul + 0.5);
		t->mul = 1;
	}
	t->scaled = t->mul != 1 || t->div != 1;
}

static uint32_t package_of(const struct pm_model *m, uint32_t instance)
{
	const struct pm_instance *i = pm_model_instance(m, instance);
	const struct pm_cpu *cpu = pm_topology_cpu(&m->topology, i->cpu);

	return cpu ? cpu->package : i->kind == PM_PACKAGE ? i->number : PM_NONE;
}

static bool rule_before(const struct rule_row *row, uint32_t counter, uint32_t place)
{
	return row->counter != counter ? row->counter < counter : row->place < place;
}

/* The rule of a counter at an instance; NULL: none. */
static const struct counter_rule *rule_for(struct replay *r, const struct pm_counter *c, uint32_t instance)
{
	const struct pm_instance *of = pm_model_instance(r->model, instance);
	struct counter_rule found;
	struct rule_row *row;
	uint32_t package, place;
	size_t at;

	if (!counter_may_have_rule(c))
		return NULL;
	package = package_of(r->model, instance);
	place = of->kind == PM_DEVICE ? instance : package;
	at = ARRAY_PLACE(r->n_rules, i, rule_before(r->rule[i], c->id, place));
	if (at < r->n_rules && r->rule[at]->counter == c->id && r->rule[at]->place == place)
		return &r->rule[at]->rule;
	if (!r->has_facts || r->facts_of != package) {
		cpu_facts_find(r->model, package, &r->facts);
		r->facts_of = package;
		r->has_facts = true;
	}
	if (!counter_rule(&r->facts, r->model, c, of, &found))
		return NULL;
	memory_room(&r->rule, r->n_rules, sizeof(*r->rule));
	/* Tracks point to them, so each stays where it is. */
	row = memory_new(1, sizeof(*row));
	*row = (struct rule_row){ c->id, place, found };
	memmove(&r->rule[at + 1], &r->rule[at], (r->n_rules - at) * sizeof(*r->rule));
	r->rule[at] = row;
	r->n_rules++;
	return &row->rule;
}

/* How far the kernel lets the counter step back. The catalog knows, so recordings gain that are older than it. */
static uint32_t back_of(const struct replay *r, const struct pm_counter *c, const struct pm_instance *i)
{
	const struct catalog_counter *row = c->semantics == PM_CUMULATIVE ? catalog_named(c->source, c->name) : NULL;
	uint32_t cpus = i->kind == PM_SYSTEM && r->model->topology.n ? r->model->topology.n : 1;

	return row ? row->back * cpus : 0;
}

static void describe_new(struct replay *r, struct track *t)
{
	const struct pm_counter *c = pm_model_counter(r->model, t->counter);
	const struct pm_instance *i = pm_model_instance(r->model, t->instance);
	const struct counter_rule *rule = rule_for(r, c, t->instance);

	track_describe(t, c);
	t->back = back_of(r, c, i);
	t->counts_on = !(i->kind == PM_CPU || i->kind == PM_CORE || i->kind == PM_CLUSTER || i->kind == PM_TASK ||
			 i->kind == PM_CGROUP);
	t->uncore = i->kind == PM_PMU;
	if (rule) {
		t->more = memory_new(1, sizeof(*t->more));
		t->more->rule = rule;
		t->width = rule->width ? rule->width : t->width;
	}
	/* What appears in the middle was not there before: it has no part in the interval that its first reading
	 * begins in, unless it is known to have been 0. */
	if (r->begun && !r->fresh && t->semantics == PM_CUMULATIVE &&
	    pm_map_bool(&c->attrs, PM_COUNTER_FROM_ZERO, false)) {
		t->prev_time = i->added_ns;
		t->started = true;
	} else {
		t->before = r->begun ? PM_REASON_OFFLINE : 0;
	}
	if (r->begun && r->open && r->now.duration_ns) {
		make_loss(r, t);
		t->loss->absent = r->now.duration_ns;
	}
}

static uint32_t *find_key(const struct replay *r, uint32_t counter, uint32_t instance)
{
	uint64_t both = (uint64_t)counter << 32 | instance;
	/* Bits below these depend on the instance alone, which may be the only one. */
	size_t i = (size_t)((both * 0x9e3779b97f4a7c15u) >> 32) & (r->n_keys - 1);

	while (r->key[i] &&
	       (r->track[r->key[i] - 1].counter != counter || r->track[r->key[i] - 1].instance != instance))
		i = (i + 1) & (r->n_keys - 1);
	return &r->key[i];
}

/* Makes room for one more; what has ended is left out. */
static void reserve_keys(struct replay *r)
{
	size_t n = 1024;

	if (r->used_keys * 2 < r->n_keys)
		return;
	while (n <= r->n_live * 4)
		n *= 2;
	free(r->key);
	r->key = memory_new(n, sizeof(*r->key));
	r->n_keys = n;
	r->used_keys = 0;
	for (size_t i = 0; i < r->n_live; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (joints_own(&r->joints, r->live[i]))
			continue;
		*find_key(r, t->counter, t->instance) = r->live[i] + 1;
		r->used_keys++;
	}
}

static uint32_t track_for(struct replay *r, uint32_t counter, uint32_t instance)
{
	uint32_t *key, track;

	reserve_keys(r);
	key = find_key(r, counter, instance);
	if (*key && !r->track[*key - 1].ended)
		return *key - 1;
	track = replay_add_track(r);
	r->track[track].counter = counter;
	r->track[track].instance = instance;
	*key = track + 1;
	r->used_keys++;
	describe_new(r, &r->track[track]);
	return track;
}

bool replay_wants_group(const struct replay *r, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_counters; i++)
		if (g->counter[i] < r->n_want && r->want[g->counter[i]])
			return true;
	return false;
}

/* The feeds of the group that this one continues: those of remaining instances come first, in its order. NULL: there
 * is none, or they are not one per column. */
static const struct group_feeds *feeds_before(const struct replay *r, const struct pm_group *g, uint32_t counters)
{
	const struct pm_group *from = g->flags & PM_GROUP_LIST ? NULL : pm_model_group(r->model, g->continues);
	const struct group_feeds *f = from ? replay_feeds(r, from->id) : NULL;

	return f && f->n == counters * from->n_instances ? f : NULL;
}

/* The index that each instance has there; returns how many have one. */
static uint32_t places_before(const struct pm_group *g, const struct pm_group *from, uint32_t *place)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < from->n_instances && kept < g->n_instances; i++)
		if (from->instance[i] == g->instance[kept])
			place[kept++] = i;
	return kept;
}

/* The track that column v of the group feeds. */
static uint32_t feed_column(struct replay *r, const struct pm_group *g, uint32_t v)
{
	uint32_t track = track_for(r, pm_group_counter_of(g, v), pm_group_instance_of(g, v));
	struct track *t = &r->track[track];

	want_of(r, t);
	if (g->flags & PM_GROUP_PERF_TIMES && !t->times)
		t->times = memory_new(1, sizeof(*t->times));
	t->group = t->group ? t->group : g->id;
	return track;
}

/* Passes on what is known of a group to the one that continues it: `kept` of its instances, each from a place there.
 */
static void doubt_continue(struct group_feeds *f, const struct group_feeds *before, const uint32_t *place,
			   uint32_t kept, uint32_t times)
{
	for (uint32_t t = 0; t < times && (t < kept || times == 1); t++)
		f->spans[t] = before->spans[times == 1 ? 0 : place[t]];
}

static void feed_group(struct replay *r, const struct pm_group *g, struct group_feeds *f)
{
	uint32_t n = pm_group_values(g), per = g->flags & PM_GROUP_LIST ? 1 : g->n_instances;
	bool fresh = !f->spans;
	uint32_t counters = 0, kept = 0, members = 0;
	SCOPED(scoped_free) uint32_t *place = NULL;
	const struct group_feeds *before;

	for (uint32_t k = 0; k < g->n_counters; k++)
		counters += r->want[g->counter[k]] != 0;
	if (!counters || !per)
		return;
	f->feed = memory_resize(NULL, (size_t)counters * per, sizeof(*f->feed));
	f->spans = fresh ? memory_new(pm_group_times(g), sizeof(*f->spans)) : f->spans;
	if ((before = feeds_before(r, g, counters))) {
		place = memory_new(per, sizeof(*place));
		members = pm_model_group(r->model, g->continues)->n_instances;
		kept = places_before(g, pm_model_group(r->model, g->continues), place);
		if (fresh)
			doubt_continue(f, before, place, kept, pm_group_times(g));
	}
	for (uint32_t v = 0; v < n; v++) {
		struct feed *x = &f->feed[f->n];

		if (!r->want[pm_group_counter_of(g, v)])
			continue;
		*x = (struct feed){ pm_group_head(g) + v, pm_group_time_of(g, v), 0 };
		if (v % per < kept) {
			x->track = before->feed[f->n / per * members + place[v % per]].track;
			if (r->track[x->track].group == before->group)
				r->track[x->track].group = g->id;
		} else {
			x->track = feed_column(r, g, v);
		}
		f->n++;
	}
}

/* Wanted columns of a group. */
static size_t wanted_of(const struct replay *r, const struct pm_group *g)
{
	size_t n = 0;

	for (uint32_t k = 0; k < g->n_counters; k++)
		n += r->want[g->counter[k]] ? (g->flags & PM_GROUP_LIST ? 1 : g->n_instances) : 0;
	return n;
}

/* Adds a group that feeds nothing yet. */
static struct group_feeds *replay_add_group(struct replay *r, const struct pm_group *g)
{
	memory_hold(&r->group, &r->cap_groups, r->n_groups + 1, sizeof(*r->group));
	memory_hold(&r->at_slot, &r->n_slots, (size_t)g->slot + 1, sizeof(*r->at_slot));
	r->group[r->n_groups] = (struct group_feeds){ .group = g->id, .slot = g->slot };
	r->at_slot[g->slot] = ++r->n_groups;
	return &r->group[r->n_groups - 1];
}

/* Adds groups that are new in the model: after the others, unless it has forgotten some. */
static void add_groups(struct replay *r)
{
	const struct pm_model *m = r->model;
	uint32_t first = r->groups_seen;

	if (first > m->n_groups || (first && m->group[first - 1].id != r->last_seen))
		first = 0;
	/* Room for the columns of the largest group, which are often all there are; growing step by step would leave
	 * holes. */
	for (uint32_t i = first; i < m->n_groups && !r->n_tracks; i++)
		replay_reserve_tracks(r, wanted_of(r, &m->group[i]));
	for (uint32_t i = first; i < m->n_groups; i++) {
		struct group_feeds *f = replay_feeds(r, m->group[i].id);

		if (!m->group[i].retired && !(f && f->feed))
			feed_group(r, &m->group[i], f ? f : replay_add_group(r, &m->group[i]));
	}
	r->groups_seen = m->n_groups;
	r->last_seen = m->n_groups ? m->group[m->n_groups - 1].id : 0;
}

/* From here on blocks have so many rows. */
static void change_rows(struct replay *r, size_t rows)
{
	if (rows == r->rows)
		return;
	r->rows = rows;
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track_loss *l = r->track[i].loss;

		if (!l)
			continue;
		r->track[i].loss = NULL;
		l->at = track_loss_of(&r->track[i], rows)->at;
		l->some = false;
		*r->track[i].loss = *l;
		free(l);
	}
	for (uint32_t i = 0; i < r->n_groups; i++) {
		free(r->group[i].doubt);
		r->group[i].doubt = NULL;
	}
}

static size_t rows_for(const struct replay *r, size_t values)
{
	return r->arrays ? values / (r->arrays + (r->config.counts ? 2 * r->n_tracks : 0)) : ARENA_ROWS;
}

static size_t choose_rows(const struct replay *r)
{
	size_t rows = rows_for(r, r->config.roomy ? ARENA_ROOMY : ARENA_VALUES);

	if (r->config.mode == REPLAY_TOTAL)
		return 1;
	/* With so many columns, memory goes elsewhere, and a few rows do not matter. */
	if (rows < FEW_ROWS)
		rows = rows_for(r, ARENA_VALUES / 2);
	rows = rows < 1 ? 1 : rows > ARENA_ROWS ? ARENA_ROWS : rows;
	return r->rows <= rows && rows < 2 * r->rows ? r->rows : rows;
}

/* Drops groups that have retired since the last call. */
static void replay_drop_retired(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_groups;) {
		struct group_feeds *f = &r->group[i];
		const struct pm_group *g = pm_model_group(r->model, f->group);

		if (g && !g->retired) {
			i++;
			continue;
		}
		release_feeds(f);
		free(f->spans);
		r->at_slot[f->slot] = 0;
		*f = r->group[--r->n_groups];
		if (i < r->n_groups)
			r->at_slot[f->slot] = i + 1;
	}
}

/* Keeps of a track only what it comes to, if nothing else can be wanted of it. */
static void set_aside(struct replay *r, struct track *t)
{
	memory_room(&r->past, r->n_past, sizeof(*r->past));
	t->folded = track_end(&r->past[r->n_past], t);
	r->n_past += t->folded;
	r->n_folded += t->folded;
	if (t->folded)
		track_release(t);
}

/* Lets one track represent this and all others of the counter that have ended, if only their sum is wanted. */
static void fold(struct replay *r, uint32_t track)
{
	uint32_t counter = r->track[track].counter, *sum = &r->sum_of[counter], number = *sum - 1;
	uint8_t semantics = r->track[track].semantics;

	if (r->config.mode != REPLAY_TOTAL || r->config.counts || joints_own(&r->joints, track) ||
	    joints_ask(&r->joints, track))
		return;
	if (r->want[counter] & 1u << TRACK_EACH || (semantics != PM_CUMULATIVE && semantics != PM_DELTA) ||
	    pm_counter_joins(pm_model_counter(r->model, counter)) != PM_AGG_SUM) {
		set_aside(r, &r->track[track]);
		return;
	}
	if (!*sum) {
		number = replay_add_track(r);
		r->n_live--;
		track_begin_sum(&r->track[number], &r->track[track], r->rows);
		*sum = number + 1;
	}
	r->track[track].folded = track_fold(&r->track[number], &r->track[track]);
	r->n_folded += r->track[track].folded;
}

/* Tracks of tasks and cgroups that have gone cost nothing from here on, until the interval is closed. */
static void replay_end_retired(struct replay *r)
{
	SCOPED(scoped_free) bool *fed = memory_new(r->n_tracks, sizeof(*fed));
	size_t kept = 0;

	for (uint32_t i = 0; i < r->n_groups; i++)
		for (uint32_t k = 0; k < r->group[i].n; k++)
			fed[r->group[i].feed[k].track] = true;
	for (size_t i = 0; i < r->n_live; i++) {
		struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = NULL;

		if (!fed[r->live[i]])
			in = pm_model_instance(r->model, t->instance);
		if (!in || !in->retired_ns || (in->kind != PM_TASK && in->kind != PM_CGROUP)) {
			r->live[kept++] = r->live[i];
			continue;
		}
		make_loss(r, t);
		if (track_joint_waits(t)) {
			track_joint_restart(t);
			track_joint_resume(t);
		}
		track_missed(t, PM_REASON_OFFLINE, 0);
		t->loss->ended_ns = r->open ? r->now.duration_ns : 0;
		t->ended = true;
		t->over = !t->seen;
		fold(r, r->live[i]);
	}
	r->n_live = kept;
}

void replay_end_tracks(struct replay *r)
{
	if (r->config.mode == REPLAY_TOTAL ? r->n_folded > r->n_tracks / 2 : r->config.forget)
		replay_drop_ended(r);
	add_groups(r);
	replay_drop_retired(r);
	joints_attach(r);
	replay_end_retired(r);
	r->placed = false;
	/* What comes and goes within an interval is not requested before its end. */
	if (r->config.mode == REPLAY_TOTAL && r->open)
		return;
	place_results(r);
	change_rows(r, choose_rows(r));
	reserve_results(r);
}

size_t replay_tracks(const struct replay *r)
{
	return r->n_tracks + r->n_past;
}

struct track_info replay_track(const struct replay *r, size_t track)
{
	const struct track_end *e = replay_past(r, track);
	const struct track *t = e ? NULL : &r->track[track];

	if (e)
		return (struct track_info){ e->counter, e->instance, e->aspects };
	return (struct track_info){ joints_own(&r->joints, track) ? 0 : t->counter, t->instance, t->aspects };
}

size_t replay_block(const struct replay *r)
{
	return r->rows;
}

const struct value *replay_values(const struct replay *r, size_t track, enum track_aspect aspect)
{
	const struct track_end *e = replay_past(r, track);
	const struct brief *t;
	uint32_t below;

	if (e)
		return e->aspects & 1u << aspect ? &e->v : NULL;
	t = &r->brief[track];
	below = t->aspects & ((1u << aspect) - 1);
	if (!(t->aspects & 1u << aspect))
		return NULL;
	/* Counting bits is a call on many processors, and mostly there is one aspect. */
	return r->arena + (t->slot + (below ? (size_t)__builtin_popcount(below) : 0)) * r->rows;
}

uint32_t replay_settled(const struct replay *r)
{
	return r->some_loss || r->some_doubt || r->n_past ? 0 : r->places;
}

const struct support *replay_support(const struct replay *r, size_t track)
{
	const struct track_end *e = replay_past(r, track);
	const struct track_loss *l = r->some_loss && !e ? r->track[track].loss : NULL;

	return e && e->some ? &e->at : l && l->some ? l->at : NULL;
}

uint16_t replay_never_known(const struct replay *r, size_t track)
{
	const struct track_loss *l = replay_past(r, track) ? NULL : r->track[track].loss;

	return l && !l->ever && !joints_own(&r->joints, track) ? l->last : 0;
}

const struct count *replay_counts(const struct replay *r, size_t track)
{
	return counts_of(r, track);
}

int replay_settle(struct replay *r)
{
	struct gather *g = &r->gather;
	uint32_t rows = g->chunk.rows;
	int err;

	if (!rows)
		return 0;
	for (uint32_t i = 0; i < g->chunk.n_groups; i++) {
		struct gathered *x = &g->group[i];

		if (g->chunk.group[i].absent)
			continue;
		g->chunk.group[i].status = x->some_missing ? x->status : NULL;
		for (uint32_t c = 0; c < x->head; c += GATHER_TILE)
			take_columns(g, x, c, c + GATHER_TILE < x->head ? c + GATHER_TILE : x->head,
				     x->time + (size_t)c * g->rows);
	}
	err = replay_rows(r, &g->chunk, 0, rows, g->wall);
	g->chunk.rows = 0;
	return err;
}

bool replay_doubts(const struct replay *r)
{
	return r->some_doubt;
}

const uint8_t *replay_doubt(const struct replay *r, size_t track)
{
	return r->some_doubt && !replay_past(r, track) ? r->doubt[track] : NULL;
}
