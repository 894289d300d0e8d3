#include "report/replay/track.h"

#include <math.h>
#include <string.h>

#include "common/double_bits.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/status.h"

static double number(const struct track *t, uint64_t raw)
{
	double d = t->type == PM_F64 ? double_from_bits(raw) : t->type == PM_S64 ? (double)(int64_t)raw : (double)raw;

	return t->scaled ? d * t->mul / t->div : d;
}

static uint64_t mask_of(const struct track *t)
{
	return UINT64_MAX >> (64 - t->width);
}

static bool is_level(const struct track *t)
{
	return t->semantics != PM_CUMULATIVE && t->semantics != PM_DELTA && t->semantics != PM_PEAK;
}

static uint64_t midpoint(const struct column *c, uint32_t row)
{
	return c->begin[row] + (c->end[row] - c->begin[row]) / 2;
}

/* How far the moment of the reading may be from its midpoint. */
static uint64_t half(const struct column *c, uint32_t row)
{
	return (c->end[row] - c->begin[row]) / 2;
}

static void add(struct track *t, uint64_t delta)
{
	if (t->type == PM_F64)
		t->sum = double_to_bits((t->any ? double_from_bits(t->sum) : 0) + double_from_bits(delta));
	else
		t->sum = (t->any ? t->sum : 0) + delta;
	t->any = true;
}

/* The difference between two readings; a wide counter that goes back was reset, a narrow one has wrapped. */
static void difference(struct track *t, uint64_t now)
{
	if (t->type == PM_F64) {
		double d = double_from_bits(now) - double_from_bits(t->prev);

		if (d < 0 || isnan(d))
			t->reason = t->reason ? t->reason : REPORT_RESET;
		else
			add(t, double_to_bits(d));
	} else if (t->width == 64 && now < t->prev) {
		t->reason = t->reason ? t->reason : REPORT_RESET;
	} else {
		add(t, (now - t->prev) & mask_of(t));
	}
}

/* Whether the difference may be taken. */
static bool rule_holds(struct track *t, uint64_t now, uint64_t time)
{
	const struct counter_rule *r = t->more->rule;
	uint16_t why = 0;

	if (r->wrap_ns && time - t->prev_time >= r->wrap_ns)
		why = REPORT_WRAP;
	else if (r->never_zero && !now && !t->prev)
		why = PM_REASON_SUSPECT;
	else if (r->advances && now == t->prev)
		why = r->hz > 0 ? REPORT_TSC : REPORT_STILL;
	if (why && !t->reason)
		t->reason = why;
	return !why;
}

/* Off by more than 2 %, beyond a millisecond and all doubt about when within the two readings it was read. */
static bool off_rate(const struct track *t, double ticks)
{
	const struct track_more *m = t->more;
	double s = (double)t->elapsed / 1e9, doubt = (double)(m->first_half + m->prev_half) / 1e9, hz = m->rule->hz;

	return hz > 0 && fabs(ticks - hz * s) > hz * (0.02 * s + 0.001 + doubt);
}

static void step_more(struct track *t, uint64_t now, uint64_t since)
{
	struct track_more *m = t->more;
	double d = number(t, now);

	/* The level over a stretch is taken as the mean of its two ends. */
	if (m->any) {
		m->weighted += (m->last + d) / 2 * (double)since;
		m->weight += since;
		m->max = d > m->max ? d : m->max;
	} else {
		/* Differences of a counter go on behind a pause: what lies between first and last is what `elapsed`
		 * saw. */
		bool goes_on = t->semantics == PM_CUMULATIVE && t->elapsed;

		m->first = goes_on ? d - (m->last - m->first) : d;
		m->max = d;
		m->any = true;
	}
	m->last = d;
}

static bool has_rule(const struct track *t)
{
	return t->more && t->more->rule;
}

static void step_missing(struct track *t, uint16_t status)
{
	if (status == PM_REASON_NOT_READ) {
		t->absent = t->absent ? t->absent : status;
	} else if (status_absent(status) || (t->may_go && status == PM_REASON_GONE)) {
		track_restart(t, status);
		t->absent = status;
	} else if (status == PM_REASON_NOT_COUNTED && t->any && !t->started) {
		/* Switched off where this segment begins: what it counted in those before stands. */
		t->absent = status;
	} else {
		t->gap = status;
		/* What such a counter counted up to this reading is lost for good. */
		if (t->semantics == PM_DELTA || t->semantics == PM_PEAK)
			t->reason = status;
	}
}

static void take(struct track *t, uint64_t now, uint64_t time)
{
	switch (t->semantics) {
	case PM_CUMULATIVE:
		if (t->started && t->stale)
			/* Part of this difference belongs to an interval that was closed without it. */
			t->reason = t->reason ? t->reason : t->gap;
		else if (t->started && (!has_rule(t) || rule_holds(t, now, time)))
			difference(t, now);
		break;
	case PM_DELTA:
		if (t->started)
			add(t, now);
		break;
	case PM_PEAK:
		if (t->started && (!t->any || number(t, now) > number(t, t->sum)))
			t->sum = now;
		t->any |= t->started;
		break;
	default:
		t->sum = now;
		t->any = true;
	}
}

/*
 * An event that shares its counter with others and has not had its turn since it was opened: it stands at 0, and its
 * first interval begins here as that of the others does.
 */
static bool never_ran(const struct track *t, const struct column *c, uint32_t row)
{
	return !t->started && !t->before && t->perf && t->semantics == PM_CUMULATIVE && c->enabled &&
	       c->enabled[row] && !c->running[row] && c->status[row] == PM_REASON_NOT_COUNTED;
}

static void start_at_zero(struct track *t, const struct column *c, uint32_t row)
{
	t->prev = 0;
	t->prev_time = midpoint(c, row);
	t->times->prev_enabled = c->enabled[row];
	t->times->prev_running = 0;
	t->started = true;
	t->stale = false;
}

void track_step(struct track *t, const struct column *c, uint32_t row)
{
	uint64_t now = c->v[row], time;

	if (c->status && c->status[row]) {
		if (!never_ran(t, c, row))
			step_missing(t, c->status[row]);
		else
			start_at_zero(t, c, row);
		return;
	}
	time = midpoint(c, row);
	take(t, now, time);
	if (!t->started && t->before)
		t->absent = t->before;
	if (t->started && !t->stale) {
		if (t->more && !t->elapsed)
			t->more->first_half = t->more->prev_half;
		t->elapsed += time - t->prev_time;
		if (c->enabled) {
			t->times->enabled += c->enabled[row] - t->times->prev_enabled;
			t->times->running += c->running[row] - t->times->prev_running;
		}
	}
	if (t->more) {
		step_more(t, now, t->started ? time - t->prev_time : 0);
		t->more->span = (double)(c->end[row] - c->begin[row]) / 1e3;
		t->more->prev_half = half(c, row);
	}
	t->prev = now;
	t->prev_time = time;
	if (c->enabled) {
		t->times->prev_enabled = c->enabled[row];
		t->times->prev_running = c->running[row];
	}
	t->started = true;
	t->gap = t->before = 0;
	t->stale = false;
}

static struct value interval_value(const struct track *t)
{
	double v;

	if (t->gap && !(is_level(t) && t->any))
		return value_missing(t->gap);
	if (t->reason)
		return value_missing(t->reason);
	if (!t->any)
		return value_missing(t->absent ? t->absent : VALUE_NO_INTERVAL);
	if (is_level(t) && t->type == PM_U64 && !t->scaled)
		return value_of_u64(t->sum);
	v = number(t, t->sum);
	if (t->perf && t->semantics == PM_CUMULATIVE && t->times->running < t->times->enabled) {
		if (!t->times->running)
			return value_missing(PM_REASON_NOT_COUNTED);
		/* perf counts in whole events, and so do its users. */
		if (t->type == PM_U64)
			v = trunc((double)t->sum * (double)t->times->enabled / (double)t->times->running);
		if (t->type == PM_U64 && t->scaled)
			v = v * t->mul / t->div;
	}
	return value_of(v);
}

/*
 * How long something was watched. The events of an uncore PMU stand still while they are moved to another CPU, and
 * the kernel's clock of the event knows.
 */
static uint64_t observed_ns(const struct track *t)
{
	return t->uncore && t->perf && t->times->enabled ? t->times->enabled : t->elapsed;
}

static struct count interval_count(const struct track *t, uint16_t reason)
{
	struct count c = { .v = t->sum, .enabled = t->elapsed, .running = t->elapsed, .reason = reason };

	if (t->times) {
		c.enabled = t->times->enabled;
		c.running = t->times->running;
	}
	/* What never ran is not counted, whatever it says. */
	if (!reason && (!c.enabled || !c.running) && !is_level(t))
		c.reason = PM_REASON_NOT_COUNTED;
	return c;
}

void track_close(struct track *t, struct value *base, size_t stride, size_t k, struct count *counts)
{
	struct value v = interval_value(t), seen = v;
	struct value *out = base + t->slot * stride + k;

	if (counts)
		counts[k] = interval_count(t, v.reason);
	if (has_rule(t) && !v.reason && off_rate(t, v.v))
		v = value_missing(REPORT_TSC);
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
		*out = m->any ? value_of(d) : value_missing(v.reason ? v.reason : VALUE_NO_INTERVAL);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_ELAPSED) {
		*out = seen.reason ? seen : value_of((double)observed_ns(t) / 1e9);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_RATE) {
		*out = v.reason || is_level(t) || t->semantics == PM_PEAK ? v :
		       t->elapsed ? value_of(v.v / ((double)t->elapsed / 1e9)) :
				    value_missing(VALUE_DIVISION_BY_ZERO);
		out += stride;
	}
	if (t->aspects & 1u << TRACK_SPAN)
		*out = v.reason ? v : value_of(t->more->span);
	t->stale = t->gap != 0;
	t->any = false;
	t->reason = t->absent = 0;
	t->sum = t->elapsed = 0;
	if (t->times)
		t->times->enabled = t->times->running = 0;
	if (t->more) {
		/* The end of this interval is the start of the next. */
		struct track_more *m = t->more;

		m->any = m->any && t->started && !t->gap;
		m->first = m->max = m->last;
		m->weighted = m->span = 0;
		m->weight = 0;
	}
}

static bool all_valid(const uint16_t *status, uint32_t row, uint32_t end)
{
	uint16_t any = 0;

	if (!status)
		return true;
	for (; row < end; row++)
		any |= status[row];
	return !any;
}

/* Multiplexed intervals among [row, end): scales what was computed as if always running. */
static void scale_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *out)
{
	uint64_t enabled = t->times->prev_enabled, running = t->times->prev_running;

	for (; row < end; row++, out++) {
		uint64_t e = c->enabled[row] - enabled, r = c->running[row] - running;

		enabled = c->enabled[row];
		running = c->running[row];
		if (__builtin_expect(r >= e, 1) || out->reason)
			continue;
		if (!r)
			*out = value_missing(PM_REASON_NOT_COUNTED);
		else
			out->v = trunc(out->v * (double)e / (double)r);
	}
}

void track_span(struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	bool simple =
		t->started && !t->gap && !t->stale && !t->more && t->type == PM_U64 && t->semantics == PM_CUMULATIVE;
	uint64_t sum = 0, prev = t->prev, time;

	if (row == end)
		return;
	simple = simple && all_valid(c->status, row, end);
	if (simple && t->width == 64) {
		bool back = false;

		/* Differences that all rise add up to the one between the ends. */
		for (uint32_t r = row; r < end; r++) {
			back |= c->v[r] < prev;
			prev = c->v[r];
		}
		sum = prev - t->prev;
		simple = !back;
	} else if (simple) {
		uint64_t mask = mask_of(t);

		for (uint32_t r = row; r < end; r++) {
			sum += (c->v[r] - prev) & mask;
			prev = c->v[r];
		}
	}
	if (!simple) {
		for (; row < end; row++)
			track_step(t, c, row);
		return;
	}
	add(t, sum);
	time = midpoint(c, end - 1);
	t->elapsed += time - t->prev_time;
	t->prev = prev;
	t->prev_time = time;
	t->before = 0;
	if (!c->enabled)
		return;
	t->times->enabled += c->enabled[end - 1] - t->times->prev_enabled;
	t->times->running += c->running[end - 1] - t->times->prev_running;
	t->times->prev_enabled = c->enabled[end - 1];
	t->times->prev_running = c->running[end - 1];
}

static void count_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct count *out)
{
	uint64_t prev = t->prev, enabled = t->times->prev_enabled, running = t->times->prev_running,
		 mask = mask_of(t);

	for (; row < end; row++, out++) {
		out->v = (c->v[row] - prev) & mask;
		out->enabled = c->enabled[row] - enabled;
		out->running = c->running[row] - running;
		out->reason = t->width == 64 && c->v[row] < prev ? REPORT_RESET :
			      out->enabled && out->running       ? 0 :
								   PM_REASON_NOT_COUNTED;
		prev = c->v[row];
		enabled = c->enabled[row];
		running = c->running[row];
	}
}

void track_seconds(const struct column *c, uint32_t row, uint32_t end, double *seconds)
{
	uint64_t before = midpoint(c, row);

	for (uint32_t r = row + 1; r < end; r++) {
		uint64_t time = midpoint(c, r);

		seconds[r] = (double)(time - before) / 1e9;
		before = time;
	}
}

/* The values of intervals that each end with a valid reading. */
static void value_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *out)
{
	uint64_t prev = t->prev, mask = mask_of(t);

	for (uint32_t r = row; r < end; r++) {
		uint64_t now = c->v[r];

		if (t->semantics == PM_GAUGE)
			out[r - row] = value_of_u64(now);
		else if (__builtin_expect(t->width == 64 && now < prev, 0))
			out[r - row] = value_missing(REPORT_RESET);
		else
			out[r - row] = value_of((double)((now - prev) & mask));
		prev = now;
	}
	/* Events first, then units: perf counts in whole events. */
	if (t->perf && t->semantics == PM_CUMULATIVE)
		scale_rows(t, c, row, end, out);
	if (t->scaled)
		for (uint32_t r = 0; r < end - row; r++)
			out[r] = out[r].reason ? out[r] : value_of(out[r].v * t->mul / t->div);
}

static void elapsed_rows(const struct value *v, double first, const double *seconds, size_t n, struct value *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = v[i].reason ? v[i] : value_of(i ? seconds[i] : first);
}

/* Where no time went by there is no rate. */
static inline struct value rate(struct value v, double seconds)
{
	if (__builtin_expect(!v.reason && seconds != 0, 1))
		return value_of(v.v / seconds);
	return v.reason ? v : value_missing(VALUE_DIVISION_BY_ZERO);
}

static void rate_rows(const struct value *v, double first, const double *seconds, size_t n, struct value *out)
{
	out[0] = rate(v[0], first);
	for (size_t i = 1; i < n; i++)
		out[i] = rate(v[i], seconds[i]);
}

typedef double pair __attribute__((vector_size(16)));

static inline struct value plain_rate(const struct track *t, uint64_t now, uint64_t prev, double seconds)
{
	if (__builtin_expect(t->width == 64 && now < prev, 0))
		return value_missing(REPORT_RESET);
	return rate(value_of((double)((now - prev) & mask_of(t))), seconds);
}

/* Rates of a counter whose readings are whole numbers of its unit, in one go; two at once, because dividing is what
 * takes the time. */
static void plain_rates(const struct track *t, const struct column *c, uint32_t row, uint32_t end, double first,
			struct value *out)
{
	uint64_t prev = c->v[row], mask = mask_of(t);
	bool wide = t->width == 64;
	uint32_t r = row + 1;

	*out++ = plain_rate(t, prev, t->prev, first);
	for (; r + 1 < end; r += 2, out += 2) {
		uint64_t now = c->v[r], next = c->v[r + 1];
		double s = c->seconds[r], z = c->seconds[r + 1];
		pair v = { (double)((now - prev) & mask), (double)((next - now) & mask) };

		if (__builtin_expect((wide && (now < prev || next < now)) || s == 0 || z == 0, 0)) {
			out[0] = plain_rate(t, now, prev, s);
			out[1] = plain_rate(t, next, now, z);
		} else {
			v /= (pair){ s, z };
			out[0] = value_of(v[0]);
			out[1] = value_of(v[1]);
		}
		prev = next;
	}
	if (r < end)
		*out = plain_rate(t, c->v[r], prev, c->seconds[r]);
}

void track_rows(struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *base,
		size_t stride, size_t k, struct count *counts)
{
	const unsigned timed = 1u << TRACK_ELAPSED | 1u << TRACK_RATE;
	bool simple = t->started && !t->gap && !t->stale && !t->any && !t->reason && !t->more && t->type == PM_U64 &&
		      (t->semantics == PM_CUMULATIVE || t->semantics == PM_GAUGE) &&
		      !(t->aspects & ~(timed | 1u << TRACK_VALUE)) && (c->seconds || !(t->aspects & timed)) &&
		      !t->elapsed;
	struct value *out = base + t->slot * stride + k, *v = out;
	const double *seconds = c->seconds ? c->seconds + row : NULL;
	size_t n = end - row;
	double first;
	bool plain;

	/* Without times of its own a count has those of the readings, which this does not look at. */
	simple = simple && (!counts || (t->times && t->semantics == PM_CUMULATIVE));
	/* The clock of the event counts, and no reading's time. */
	simple = simple && !(t->uncore && t->perf && t->aspects & 1u << TRACK_ELAPSED);
	if (!simple || !all_valid(c->status, row, end)) {
		for (; row < end; row++, k++) {
			track_step(t, c, row);
			track_close(t, base, stride, k, counts);
		}
		return;
	}
	if (row == end)
		return;
	if (counts)
		count_rows(t, c, row, end, counts + k);
	first = (double)(midpoint(c, row) - t->prev_time) / 1e9;
	/* What is made of the values may take their place, if they are not asked for. */
	if (t->aspects & 1u << TRACK_VALUE)
		out += stride;
	else if (t->aspects & 1u << TRACK_RATE && t->aspects & 1u << TRACK_ELAPSED)
		v = out + stride;
	plain = t->aspects == 1u << TRACK_RATE && t->semantics == PM_CUMULATIVE && !t->perf && !t->scaled;
	if (plain)
		plain_rates(t, c, row, end, first, out);
	else
		value_rows(t, c, row, end, v);
	if (t->aspects & 1u << TRACK_ELAPSED) {
		elapsed_rows(v, first, seconds, n, out);
		out += stride;
	}
	if (!plain && t->aspects & 1u << TRACK_RATE && t->semantics == PM_CUMULATIVE)
		rate_rows(v, first, seconds, n, out);
	else if (t->aspects & 1u << TRACK_RATE && v != out)
		memcpy(out, v, n * sizeof(*out));
	t->prev = c->v[end - 1];
	t->prev_time = midpoint(c, end - 1);
	if (c->enabled) {
		t->times->prev_enabled = c->enabled[end - 1];
		t->times->prev_running = c->running[end - 1];
	}
}

void track_missed(struct track *t, uint16_t reason)
{
	if (status_absent(reason) || (t->may_go && reason == PM_REASON_GONE)) {
		track_restart(t, reason);
		t->absent = reason;
	} else {
		track_restart(t, 0);
		t->gap = reason;
	}
}

void track_restart(struct track *t, uint16_t before)
{
	t->started = t->stale = false;
	t->gap = 0;
	t->before = before;
	if (t->more)
		t->more->any = false;
}
