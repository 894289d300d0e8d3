/* What one counter of one instance did, reading by reading or, where nothing is missing, many rows at once; beside
 * others of a formula; and all that has ended in one track. */
#include "report/replay/track.h"

#include <string.h>

#include "common/memory.h"
#include "common/double_bits.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/status.h"

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

struct track_loss *track_loss_of(struct track *t, size_t rows)
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

void track_hide(struct track *t, uint64_t ns)
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

static void step_missing(struct track *t, uint16_t status, uint64_t ns)
{
	status = reason_of(t, status);
	if (is_absent(t, status)) {
		track_missed(t, status, ns);
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

void track_missed(struct track *t, uint16_t reason, uint64_t ns)
{
	reason = reason_of(t, reason);
	if (t->more)
		t->more->paused = false;
	if (!is_absent(t, reason)) {
		step_missing(t, PM_REASON_NOT_READ, ns);
		return;
	}
	restart_at(t, reason);
	t->loss->absent += ns + t->loss->hidden;
	t->loss->hidden = 0;
	t->absent = reason;
	t->away = true;
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

void track_unseen(struct track *t, uint16_t reason, uint64_t ns, struct row_note *note)
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
		*out = m->some && !v.reason ? value_of(d) : value_missing(v.reason ? v.reason : VALUE_NO_INTERVAL);
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

void track_close(struct track *t, struct value *base, size_t stride, size_t k, struct count *counts)
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

void track_pause(struct track *t)
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

bool track_breaks(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
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

/* Writes results k of an interval in which nothing was missing. */
static inline void put_simple(struct track *t, struct value v, double seconds, struct value *base, size_t rows,
			      size_t k)
{
	struct value *out = base + k;

	if (t->aspects & 1u << TRACK_VALUE) {
		*out = v;
		out += rows;
	}
	if (t->aspects & 1u << TRACK_ELAPSED) {
		*out = value_of(seconds);
		out += rows;
	}
	if (t->aspects & 1u << TRACK_RATE)
		*out = t->semantics == PM_GAUGE          ? v :
		       __builtin_expect(seconds != 0, 1) ? value_of(v.v / seconds) :
							   value_missing(VALUE_DIVISION_BY_ZERO);
	if (!t->loss)
		return;
	t->loss->ever = true;
	t->loss->at[k] = (struct support){ seconds, 0, 0, 0, 0 };
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
 * Returns the first row that is none. `timed`: beside perf's times; `each`: every row ends an interval. */
static inline __attribute__((always_inline)) uint32_t take_simple(struct track *t, const struct column *c,
								  uint32_t row, uint32_t end, const bool *closes,
								  struct value *base, size_t rows, size_t *k,
								  struct count *counts, bool level, bool timed,
								  bool each)
{
	const uint64_t mask = mask_of(t), few = level ? mask : mask / 4;
	const uint32_t first = row;
	const bool clean = !t->loss || !(t->loss->lost || t->loss->absent || t->loss->before || t->loss->carried);
	struct track_times own = { 0 }, *times = timed ? t->times : &own;
	uint64_t prev = t->prev, sum = t->any ? t->sum : 0, elapsed = t->elapsed, before = t->prev_time,
		 prev_enabled = times->prev_enabled, prev_running = times->prev_running, enabled = times->enabled,
		 running = times->running;
	bool any = t->any, shared = times->shared;
	double made = times->made;

	for (; row < end && !(c->status && c->status[row]); row++) {
		uint64_t now = c->v[row], d = (now - prev) & mask;
		bool closing = each || closes[row], alone = each && row > first;

		/* What was lost before is told at the end of the interval; a level read twice at once is none. */
		if (d > few || (closing && !clean) || (level && (any || !closing || midpoint(c, row) == before)))
			break;
		if (timed) {
			uint64_t e = c->enabled[row] - prev_enabled, r = c->running[row] - prev_running;

			if (c->enabled[row] < prev_enabled || c->running[row] < prev_running || r > e ||
			    (t->perf && !r && e))
				break;
			made += t->perf && r < e && !level ? (double)d * (double)e / (double)r : (double)d;
			shared |= t->perf && r < e;
			enabled += e;
			running += r;
			prev_enabled += e;
			prev_running += r;
		}
		sum = level ? now : sum + d;
		prev = now;
		any = true;
		if (!closing)
			continue;
		if (!alone || counts) {
			elapsed += true_ns(c, midpoint(c, row) - before);
			before = midpoint(c, row);
		}
		put_simple(t,
			   level && !t->scaled ? value_of_u64(sum) :
						 value_of(scaled(t, shared && !level ? made : (double)sum)),
			   alone ? c->seconds[row] : (double)elapsed / 1e9, base, rows, *k);
		if (counts)
			counts[*k] = (struct count){ sum, shared ? (uint64_t)made : sum, timed ? enabled : elapsed,
						     timed ? running : elapsed, 0 };
		if (counts && (!counts[*k].enabled || !counts[*k].running))
			counts[*k].reason = PM_REASON_NOT_COUNTED;
		++*k;
		any = shared = false;
		sum = elapsed = enabled = running = 0;
		made = 0;
		times->lost = 0;
		t->absent = 0;
	}
	if (row == first)
		return row;
	if (any)
		elapsed += true_ns(c, midpoint(c, row - 1) - before);
	t->any = any;
	t->prev = level ? 0 : prev;
	t->prev_time = midpoint(c, row - 1);
	t->sum = sum;
	t->elapsed = elapsed;
	times->prev_enabled = prev_enabled;
	times->prev_running = prev_running;
	times->enabled = enabled;
	times->running = running;
	times->made = made;
	times->shared = shared;
	return row;
}

bool track_take(struct track *t, const struct column *c, uint32_t row, uint32_t end, const bool *closes,
		struct value *base, size_t rows, struct count *counts)
{
	bool simple = is_simple(t, c, counts), level = t->semantics == PM_GAUGE, timed = c->enabled, plain = true;
	size_t k = 0;

	while (row < end) {
		/* One function, compiled for each kind of loop. */
		if (simple && t->started && !t->gap && !t->odd)
			row = level || counts ?
				      take_simple(t, c, row, end, closes, base, rows, &k, counts, level, timed,
						  false) :
			      !c->seconds ?
				      take_simple(t, c, row, end, closes, base, rows, &k, NULL, false, timed, false) :
			      timed ? take_simple(t, c, row, end, closes, base, rows, &k, NULL, false, true, true) :
				      take_simple(t, c, row, end, closes, base, rows, &k, NULL, false, false, true);
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

void track_join(struct track *t)
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

void track_joint_step(struct track *t, const struct column *c, uint32_t row, const struct joint_row *j, uint64_t ns)
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

bool track_joint_waits(const struct track *t)
{
	return t->loss && t->loss->joint && t->loss->joint->slow;
}

void track_joint_resume(struct track *t)
{
	struct track_joint *j = t->loss->joint;

	tally_put(t, &j->taken);
	j->taken = (struct tally){ 0 };
	j->slow = false;
}

void track_joint_restart(struct track *t)
{
	if (!track_joint_waits(t))
		return;
	t->loss->joint->own.pending = t->loss->joint->own.undue = 0;
	tally_take(t);
}

/* Times that differ from the interval's by at most one part in so many: then the first terms are exact to a double.
 */
#define ALIKE 10000

void track_begin_sum(struct track *sum, const struct track *t, size_t rows)
{
	*sum = *t;
	sum->loss = NULL;
	sum->times = t->times ? memory_new(1, sizeof(*sum->times)) : NULL;
	track_begin_interval(sum);
	track_loss_of(sum, rows)->sum = memory_new(1, sizeof(*sum->loss->sum));
	sum->loss->ever = true;
}

bool track_fold(struct track *sum, struct track *t)
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

bool track_end(struct track_end *e, struct track *t)
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

void track_end_close(struct track_end *e, uint64_t ns)
{
	uint64_t known = e->ns.known, absent = e->ns.absent + ns, counted = known + absent;

	if (e->divides && !e->v.reason)
		e->v = counted ? value_of(e->v.v / ((double)counted / 1e9)) : value_missing(VALUE_DIVISION_BY_ZERO);
	e->some |= absent != 0;
	e->at = (struct support){ (double)known / 1e9, (double)(int64_t)absent / 1e9, (double)e->ns.lost / 1e9,
				  (double)e->ns.before / 1e9, e->ns.why };
}

void track_end_again(struct track_end *e)
{
	e->v = value_missing(PM_REASON_OFFLINE);
	e->some = true;
	e->ns.known = e->ns.absent = e->ns.lost = e->ns.before = e->ns.why = 0;
}
