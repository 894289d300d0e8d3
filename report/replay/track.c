#include "report/replay/track.h"

#include <stdlib.h>

#include "report/machine/status.h"
#include "report/replay/track_private.h"

static bool is_shared(const struct track *t)
{
	return t->times && t->times->shared;
}

/* ---- what is missing ---- */

struct track_loss *track_loss_of(struct track *t, size_t rows)
{
	if (t->loss)
		return t->loss;
	/* In one allocation: where tasks come and go there are many. */
	t->loss = calloc(1, sizeof(*t->loss) + rows * sizeof(*t->loss->at));
	if (t->loss) {
		t->loss->at = (struct support *)(t->loss + 1);
		t->loss->ever = t->started || t->elapsed;
	}
	return t->loss;
}

void track_lose(struct track *t, uint16_t reason, uint64_t ns)
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

void track_carry(struct track_loss *l)
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

static void step_missing(struct track *t, uint16_t status, uint64_t ns);

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

/* ---- readings ---- */

uint16_t track_against_rule(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns)
{
	const struct counter_rule *r = t->more->rule;

	if (r->wrap_ns && ns >= r->wrap_ns)
		return REPORT_WRAP;
	if (r->never_zero && !now && !prev)
		return PM_REASON_SUSPECT;
	if (r->advances && now == prev)
		return r->is_clock ? REPORT_TSC : REPORT_STILL;
	return 0;
}

bool track_is_reset(const struct track *t, uint64_t prev, uint64_t now, uint64_t ns)
{
	uint64_t range = mask_of(t), d = (now - prev) & range;
	uint64_t turn = has_rule(t) ? t->more->rule->wrap_ns : 0;

	if (now >= prev)
		return false;
	return d > range / 2 + 1 && !(turn && (double)d <= (double)range * (double)ns / (double)turn);
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
	if (track_is_reset(t, t->prev, now, ns))
		return REPORT_RESET;
	d = (now - t->prev) & mask_of(t);
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

/* `waits`: it had no counter since the previous reading, even if nobody wanted it to count. Returns ns that the
 * difference covers; 0: it is lost. */
static uint64_t take_cumulative(struct track *t, const struct column *c, uint32_t row, uint64_t now, uint64_t time,
				bool waits)
{
	uint64_t ns = true_ns(c, time - t->prev_time);
	uint16_t why = waits ? (uint16_t)PM_REASON_NOT_COUNTED : difference(t, c, row, now, ns);

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
	bool missing = c->status && c->status[row], waits = missing && still_waits(t, c, row);
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
		step_missing(t, c->status[row], column_ns(c, row));
		return;
	}
	time = midpoint(c, row);
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

void track_step(struct track *t, const struct column *c, uint32_t row)
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

/* ---- intervals ---- */

void track_begin_interval(struct track *t)
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

struct value track_value(const struct track *t)
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
