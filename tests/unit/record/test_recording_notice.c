/* What the writer thread says of lost ticks, dead units and set clocks, at the edges that no run meets on purpose. */
#include "record/sample/recording.c"
#include "tests/unit/lib/test.h"

static struct pm_event said[4];
static unsigned n_said, n_breaks;
static uint64_t dropped;

bool __wrap_outlet_await_room(struct outlet *o, size_t bytes);
int __wrap_pm_writer_event(struct pm_writer *w, const struct pm_event *event);
struct pm_writer_stats __wrap_pm_writer_stats(const struct pm_writer *w);
void __wrap_pm_writer_break(struct pm_writer *w);
uint64_t __wrap_ring_dropped(const struct ring *r);

bool __wrap_outlet_await_room(struct outlet *o, size_t bytes)
{
	return true;
}

/* Keeps the attributes from their owner. */
int __wrap_pm_writer_event(struct pm_writer *w, const struct pm_event *event)
{
	assert_in_range(n_said, 0, 3);
	said[n_said++] = *event;
	((struct pm_event *)event)->attrs = (struct pm_map){ 0 };
	return 0;
}

struct pm_writer_stats __wrap_pm_writer_stats(const struct pm_writer *w)
{
	return (struct pm_writer_stats){ 0 };
}

void __wrap_pm_writer_break(struct pm_writer *w)
{
	n_breaks++;
}

uint64_t __wrap_ring_dropped(const struct ring *r)
{
	return dropped;
}

static void forget(void)
{
	while (n_said)
		pm_event_release(&said[--n_said]);
	n_breaks = 0;
}

static int teardown(void **state)
{
	forget();
	dropped = 0;
	return 0;
}

static uint64_t number(unsigned event, uint32_t key)
{
	return pm_map_u64(&said[event].attrs, key, UINT64_MAX);
}

#define TICK 10u

/* Two rows of a chunk that begins when tick `next` is due: what is lost before each of them. */
static void lost_ticks_are_those_between_rows(void **state)
{
	static const struct {
		uint64_t next, row[2], lost[2];
		unsigned breaks;
	} rows[] = {
		{ 4, { 4, 5 }, { 0, 0 }, 0 }, { 4, { 5, 6 }, { 1, 0 }, 1 }, { 4, { 4, 7 }, { 0, 2 }, 0 },
		{ 4, { 6, 9 }, { 2, 2 }, 1 }, { 4, { 3, 4 }, { 0, 0 }, 0 }, { 4, { 3, 5 }, { 0, 1 }, 0 },
	};
	const struct readout layout = { .interval_ns = TICK };
	const struct ring ring = { .readout = &layout };
	const struct ring_epoch epoch = { .start_ns = 1000, .serial = 3 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rows two = { .number = { rows[i].row[0], rows[i].row[1] }, .n = 2 };
		struct recording r = { .next_number = rows[i].next, .serial = 3, .rows = &two };
		uint64_t first = rows[i].next;
		unsigned n = 0;

		find_lost(&r, &ring, &epoch);
		for (unsigned k = 0; k < 2; k++) {
			if (rows[i].lost[k]) {
				assert_true(n < n_said);
				assert_int_equal(said[n].type, PM_EVENT_LOST);
				assert_int_equal(said[n].time_ns, 1000 + first * TICK);
				assert_int_equal(number(n, PM_EVENT_KEY_SINCE), 1000 + first * TICK);
				assert_int_equal(number(n, PM_EVENT_KEY_COUNT), rows[i].lost[k]);
				assert_int_equal(number(n++, PM_EVENT_KEY_REASON), PM_REASON_MISSED);
			}
			first = rows[i].row[k] >= first ? rows[i].row[k] + 1 : first;
		}
		assert_int_equal(n_said, n);
		assert_int_equal(r.lost, rows[i].lost[0] + rows[i].lost[1]);
		assert_int_equal(r.next_number, first);
		assert_int_equal(n_breaks, rows[i].breaks);
		forget();
	}
}

/* Ticks that nobody wanted are not lost, but only those before an epoch that is new. */
static void a_resumed_epoch_begins_where_it_says(void **state)
{
	static const struct {
		bool resumed;
		uint32_t serial;
		uint64_t lost;
	} row[] = { { true, 4, 1 }, { true, 3, 5 }, { false, 4, 5 }, { false, 3, 5 } };
	const struct readout layout = { .interval_ns = TICK };
	const struct ring ring = { .readout = &layout };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct ring_epoch epoch = { .first_number = 8,
						  .serial = row[i].serial,
						  .resumed = row[i].resumed };
		struct rows one = { .number = { 9 }, .n = 1 };
		struct recording r = { .next_number = 4, .serial = 3, .rows = &one };

		find_lost(&r, &ring, &epoch);
		assert_int_equal(r.lost, row[i].lost);
		assert_int_equal(r.serial, row[i].serial);
		forget();
	}
}

/* What the ring dropped explains lost ticks until as many are told; more than that readers missed. */
static void dropped_ticks_explain_lost_ones_once(void **state)
{
	static const struct {
		uint64_t dropped, row, reason, told;
	} step[] = {
		{ 0, 1, PM_REASON_MISSED, 0 }, { 3, 3, PM_REASON_DROPPED, 1 },  { 3, 6, PM_REASON_DROPPED, 3 },
		{ 3, 8, PM_REASON_MISSED, 3 }, { 4, 12, PM_REASON_DROPPED, 4 }, { 4, 14, PM_REASON_MISSED, 4 },
	};
	const struct readout layout = { .interval_ns = TICK };
	const struct ring ring = { .readout = &layout };
	const struct ring_epoch epoch = { .start_ns = 0 };
	struct recording r = { .next_number = 0 };

	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++) {
		struct rows one = { .number = { step[i].row }, .n = 1 };

		dropped = step[i].dropped;
		r.rows = &one;
		find_lost(&r, &ring, &epoch);
		assert_int_equal(n_said, 1);
		assert_int_equal(number(0, PM_EVENT_KEY_REASON), step[i].reason);
		assert_int_equal(r.dropped, step[i].told);
		forget();
	}
}

static void units_die_once(void **state)
{
	/* Without units: those of ended tasks are freed before the writer comes here. */
	struct slot slot[] = { { .source = "stat", .cpu = 5, .dead = EIO },
			       { .source = "pmrec", .cpu = PM_NONE, .dead = ENODEV },
			       { .source = "stat", .cpu = 6 },
			       { .source = "stat", .cpu = 0, .dead = EIO } };
	const struct readout layout = { .slot = slot, .n_slots = 4 };
	struct recording r = { .model_lock = PTHREAD_MUTEX_INITIALIZER, .dead = BUF_INIT };
	char want[256];

	find_dead(&r, &layout);
	assert_int_equal(n_said, 3);
	for (unsigned i = 0; i < 3; i++) {
		const struct pm_value *source_of = pm_map_get(&said[i].attrs, PM_EVENT_KEY_SOURCE);

		assert_int_equal(said[i].type, PM_EVENT_FAILED);
		assert_in_range(said[i].time_ns, 1, clocks_monotonic());
		assert_string_equal(source_of->str.data, i == 1 ? "pmrec" : "stat");
		assert_int_equal(number(i, PM_EVENT_KEY_REASON), pm_reason_errno(i == 1 ? ENODEV : EIO));
	}
	assert_int_equal(number(0, PM_EVENT_KEY_CPU), 5);
	assert_null(pm_map_get(&said[1].attrs, PM_EVENT_KEY_CPU));
	assert_int_equal(number(2, PM_EVENT_KEY_CPU), 0);
	/* One line for a source and a reason. */
	snprintf(want, sizeof(want), "stat stopped delivering: %s\npmrec stopped delivering: %s\n",
		 pm_reason_text(pm_reason_errno(EIO)), pm_reason_text(pm_reason_errno(ENODEV)));
	assert_string_equal(buf_str(&r.dead), want);
	forget();
	find_dead(&r, &layout);
	assert_int_equal(n_said, 0);
	slot[2].dead = ESRCH;
	find_dead(&r, &layout);
	assert_int_equal(n_said, 1);
	assert_int_equal(number(0, PM_EVENT_KEY_CPU), 6);
	buf_release(&r.dead);
}

/* Up to 2 ms two readings may differ; the clock may also wander that far in small steps before it is said. */
static void a_wall_clock_that_jumps_is_told(void **state)
{
	static const struct {
		int64_t wall; /* ns against the first */
		int64_t step; /* 0: none is told */
	} look[] = {
		{ 0, 0 },
		{ 2000000, 0 },
		{ -2000000, 0 },
		{ 2000001, 2000001 },
		{ 2000001, 0 },
		{ 1, 0 },
		{ 0, -2000001 },
		{ 1500000, 0 },
		{ 3000000, 3000000 },
		{ 4000000, 0 },
		{ -6000000, -9000000 },
		{ -6000000, 0 },
	};
	struct recording r = { .wall_known = false };

	for (size_t i = 0; i < sizeof(look) / sizeof(look[0]); i++) {
		const struct pm_clocks c = { .monotonic = 100 + i,
					     .boottime = 7000,
					     .realtime = (uint64_t)(1700000000000000000 + look[i].wall) };

		find_step(&r, &c);
		assert_int_equal(n_said, look[i].step != 0);
		if (n_said) {
			const struct pm_value *v = pm_map_get(&said[0].attrs, PM_EVENT_KEY_STEP);

			assert_int_equal(said[0].type, PM_EVENT_CLOCK_STEP);
			assert_int_equal(said[0].time_ns, 100 + i);
			assert_int_equal(v->kind, look[i].step < 0 ? PM_VALUE_S64 : PM_VALUE_U64);
			assert_int_equal(v->s64, look[i].step);
		}
		forget();
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

UNIT_TESTS(TEST(lost_ticks_are_those_between_rows), TEST(a_resumed_epoch_begins_where_it_says),
	   TEST(dropped_ticks_explain_lost_ones_once), TEST(units_die_once), TEST(a_wall_clock_that_jumps_is_told))
