/* Many rows of a track at once: the same as a step for each, but faster. */
#include <string.h>

#include "report/replay/track_private.h"

static bool all_valid(const uint16_t *status, uint32_t row, uint32_t end)
{
	uint16_t any = 0;

	for (; status && row < end; row++)
		any |= status[row];
	return !any;
}

/* Whether the event ran all the time: only the ends need to be checked. */
static bool always_ran(const struct track *t, const struct column *c, uint32_t end)
{
	return !t->perf ||
	       c->running[end - 1] - t->times->prev_running == c->enabled[end - 1] - t->times->prev_enabled;
}

/* Times that go back are those of a group that was reopened. */
static bool times_rise(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t enabled = t->times->prev_enabled, running = t->times->prev_running;
	bool back = false;

	for (; row < end; row++) {
		back |= c->enabled[row] < enabled || c->running[row] < running;
		enabled = c->enabled[row];
		running = c->running[row];
	}
	return !back;
}

static bool ran_in_each(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t enabled = t->times->prev_enabled, running = t->times->prev_running;
	bool each = true;

	for (; row < end; row++) {
		each &= c->running[row] != running || c->enabled[row] == enabled;
		enabled = c->enabled[row];
		running = c->running[row];
	}
	return each;
}

static bool never_back(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t prev = t->prev, mask = mask_of(t), half = mask / 2 + 1, any = 0;
	const uint64_t *v = c->v;
	bool back = false;

	for (uint32_t r = row; t->type == PM_F64 && r < end; r++) {
		back |= !(double_from_bits(v[r]) >= double_from_bits(prev));
		prev = v[r];
	}
	if (t->type == PM_F64 || row == end)
		return !back;
	/* Nearly always no difference is larger than half of what the counter holds. */
	any = v[row] - prev;
	for (uint32_t r = row + 1; r < end; r++)
		any |= v[r] - v[r - 1];
	for (; (any & mask) > half && row < end; row++) {
		back |= v[row] < prev && ((v[row] - prev) & mask) > half;
		prev = v[row];
	}
	return !back;
}

static bool keeps_rule(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t prev = t->prev, before = t->prev_time;

	for (; row < end; row++) {
		uint64_t time = midpoint(c, row), ns = true_ns(c, time - before);

		if (track_against_rule(t, prev, c->v[row], ns) || track_is_reset(t, prev, c->v[row], ns))
			return false;
		prev = c->v[row];
		before = time;
	}
	return true;
}

bool track_is_regular(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	if (!t->started || t->gap || !all_valid(c->status, row, end))
		return false;
	if (t->semantics != PM_CUMULATIVE || row == end)
		return true;
	if (has_rule(t) ? !keeps_rule(t, c, row, end) : !never_back(t, c, row, end))
		return false;
	return !c->enabled || (times_rise(t, c, row, end) && (always_ran(t, c, end) || ran_in_each(t, c, row, end)));
}

/* Whether a reading among complete rows cannot be compared with the previous one. */
static bool breaks(const struct track *t, const struct column *c, uint32_t row, uint32_t end, bool started)
{
	struct track from = *t;
	struct track_times times = { 0 };

	if (t->times)
		times = *t->times;
	from.times = t->times ? &times : NULL;
	if (!started) {
		from.started = true;
		from.prev = c->v[row];
		from.prev_time = midpoint(c, row);
		if (c->enabled) {
			times.prev_enabled = c->enabled[row];
			times.prev_running = c->running[row];
		}
		row++;
	}
	return !track_is_regular(&from, c, row, end);
}

bool track_breaks(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	struct column some = *c;
	bool broken = false, started = t->started;

	some.status = NULL;
	for (uint32_t last = row; row < end && !broken; row = last + 1) {
		for (last = row; last < end && !(c->status && c->status[last]);)
			last++;
		broken = last > row && t->semantics == PM_CUMULATIVE && !t->gap &&
			 breaks(t, &some, row, last, started);
		started = false;
	}
	return broken;
}

/* Scales multiplexed intervals among [row, end), which were computed as if always running. */
static void scale_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *out)
{
	uint64_t enabled = t->times->prev_enabled, running = t->times->prev_running;

	for (; row < end; row++, out++) {
		uint64_t e = c->enabled[row] - enabled, r = c->running[row] - running;

		enabled = c->enabled[row];
		running = c->running[row];
		if (__builtin_expect(r < e, 0))
			out->v = out->v * (double)e / (double)r;
	}
}

/* Adds the events of rows in each of which it ran. */
static void make_up(struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t prev = t->prev, enabled = t->times->prev_enabled, running = t->times->prev_running;

	for (; row < end; row++) {
		uint64_t d = (c->v[row] - prev) & mask_of(t), e = c->enabled[row] - enabled,
			 r = c->running[row] - running;

		t->times->made += r < e ? (double)d * (double)e / (double)r : (double)d;
		t->times->shared |= r < e;
		prev = c->v[row];
		enabled = c->enabled[row];
		running = c->running[row];
	}
}

static uint64_t sum_of(const struct track *t, const struct column *c, uint32_t row, uint32_t end)
{
	uint64_t sum = 0, prev = t->prev, mask = mask_of(t);

	/* Differences that are all positive add up to the one between the ends. */
	if (t->width == 64)
		return c->v[end - 1] - t->prev;
	for (; row < end; row++) {
		sum += (c->v[row] - prev) & mask;
		prev = c->v[row];
	}
	return sum;
}

void track_span(struct track *t, const struct column *c, uint32_t row, uint32_t end, bool regular)
{
	uint64_t sum, time;

	if (row == end)
		return;
	if (!regular || t->more || t->type != PM_U64 || t->semantics != PM_CUMULATIVE) {
		for (; row < end; row++)
			track_step(t, c, row);
		return;
	}
	sum = sum_of(t, c, row, end);
	if (c->enabled) {
		if (always_ran(t, c, end))
			t->times->made += (double)sum;
		else
			make_up(t, c, row, end);
		t->times->enabled += c->enabled[end - 1] - t->times->prev_enabled;
		t->times->running += c->running[end - 1] - t->times->prev_running;
		t->times->prev_enabled = c->enabled[end - 1];
		t->times->prev_running = c->running[end - 1];
	}
	add(t, sum);
	time = midpoint(c, end - 1);
	t->elapsed += true_ns(c, time - t->prev_time);
	t->prev = c->v[end - 1];
	t->prev_time = time;
	t->before = 0;
}

static void count_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct count *out)
{
	uint64_t prev = t->prev, enabled = t->times->prev_enabled, running = t->times->prev_running,
		 mask = mask_of(t);

	for (; row < end; row++, out++) {
		out->v = out->made = (c->v[row] - prev) & mask;
		out->enabled = c->enabled[row] - enabled;
		out->running = c->running[row] - running;
		if (t->perf && out->running < out->enabled && out->running)
			out->made = (uint64_t)((double)out->v * (double)out->enabled / (double)out->running);
		out->reason = out->enabled && out->running ? 0 : PM_REASON_NOT_COUNTED;
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

		seconds[r] = (double)true_ns(c, time - before) / 1e9;
		before = time;
	}
}

/* The values of intervals that each end with a regular reading. */
static void value_rows(const struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *out)
{
	uint64_t prev = t->prev, mask = mask_of(t);

	for (uint32_t r = row; r < end; r++) {
		uint64_t now = c->v[r];

		out[r - row] = t->semantics == PM_GAUGE ? value_of_u64(now) : value_of((double)((now - prev) & mask));
		prev = now;
	}
	/* Events first, then units: perf counts in whole events. */
	if (t->perf && t->semantics == PM_CUMULATIVE)
		scale_rows(t, c, row, end, out);
	if (t->scaled)
		for (uint32_t r = 0; r < end - row; r++)
			out[r] = value_of(out[r].v * t->mul / t->div);
}

static void elapsed_rows(double first, const double *seconds, size_t n, struct value *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = value_of(i ? seconds[i] : first);
}

/* Without elapsed time there is no rate. */
static inline struct value rate(double v, double seconds)
{
	return __builtin_expect(seconds != 0, 1) ? value_of(v / seconds) : value_missing(VALUE_DIVISION_BY_ZERO);
}

static void rate_rows(const struct value *v, double first, const double *seconds, size_t n, struct value *out)
{
	out[0] = rate(v[0].v, first);
	for (size_t i = 1; i < n; i++)
		out[i] = rate(v[i].v, seconds[i]);
}

typedef double pair __attribute__((vector_size(16)));

/* Rates of a counter whose readings are whole numbers of its unit, in one loop; two at once, because division is what
 * takes the time. */
static void plain_rates(const struct track *t, const struct column *c, uint32_t row, uint32_t end, double first,
			struct value *out)
{
	uint64_t prev = c->v[row], mask = mask_of(t);
	uint32_t r = row + 1;

	*out++ = rate((double)((prev - t->prev) & mask), first);
	for (; r + 1 < end; r += 2, out += 2) {
		uint64_t now = c->v[r], next = c->v[r + 1];
		double s = c->seconds[r], z = c->seconds[r + 1];
		pair v = { (double)((now - prev) & mask), (double)((next - now) & mask) };

		if (__builtin_expect(s == 0 || z == 0, 0)) {
			out[0] = rate(v[0], s);
			out[1] = rate(v[1], z);
		} else {
			v /= (pair){ s, z };
			out[0] = value_of(v[0]);
			out[1] = value_of(v[1]);
		}
		prev = next;
	}
	if (r < end)
		*out = rate((double)((c->v[r] - prev) & mask), c->seconds[r]);
}

void track_rows(struct track *t, const struct column *c, uint32_t row, uint32_t end, struct value *base,
		size_t stride, size_t k, struct count *counts, bool regular)
{
	const unsigned timed = 1u << TRACK_ELAPSED | 1u << TRACK_RATE;
	bool simple = regular && !t->any && !t->more && t->type == PM_U64 &&
		      (t->semantics == PM_CUMULATIVE || t->semantics == PM_GAUGE) &&
		      !(t->aspects & ~(timed | 1u << TRACK_VALUE)) && (c->seconds || !(t->aspects & timed)) &&
		      !t->elapsed && !(t->loss && (t->loss->lost || t->loss->absent));
	struct value *out = base + k, *v = out;
	const double *seconds = c->seconds ? c->seconds + row : NULL;
	size_t n = end - row;
	double first;
	bool plain;

	/* Without times of its own a count has those of the readings, which are not examined here. */
	simple = simple && (!counts || (t->times && t->semantics == PM_CUMULATIVE));
	/* The event's clock counts, not the time of a reading. */
	simple = simple && !(t->uncore && t->perf && t->aspects & timed);
	if (!simple) {
		for (; row < end; row++, k++) {
			track_step(t, c, row);
			track_close(t, base, stride, k, counts);
		}
		return;
	}
	if (row == end)
		return;
	if (t->loss)
		t->loss->ever = true;
	if (counts)
		count_rows(t, c, row, end, counts + k);
	first = (double)true_ns(c, midpoint(c, row) - t->prev_time) / 1e9;
	/* What is computed from the values may overwrite them, if they are not requested. */
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
		elapsed_rows(first, seconds, n, out);
		out += stride;
	}
	if (!plain && t->aspects & 1u << TRACK_RATE && t->semantics == PM_CUMULATIVE)
		rate_rows(v, first, seconds, n, out);
	else if (t->aspects & 1u << TRACK_RATE && v != out)
		memcpy(out, v, n * sizeof(*out));
	if (t->semantics == PM_CUMULATIVE)
		t->prev = c->v[end - 1];
	t->prev_time = midpoint(c, end - 1);
	if (c->enabled) {
		t->times->prev_enabled = c->enabled[end - 1];
		t->times->prev_running = c->running[end - 1];
	}
}
