/*
 * A reader's ticks in a time of the test's own: the linker puts a clock in place of the machine's that stands still
 * until a reader waits for a deadline, which comes at once, or reads something, which takes as long as the test says.
 * So every time and every loss is known to the nanosecond, however busy the machine is.
 */
#include <stdatomic.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "record/sample/sampler.h"
#include "tests/unit/lib/fake_plan.h"

#define S     (1000000 * MS) /* when the epoch begins */
#define US    1000ull
#define TICK  (10 * MS)
#define UNITS 3

static _Atomic uint64_t now;
static _Atomic uint64_t oversleeps_at, oversleeps_ns; /* who waits for this time is woken that much later */
static _Atomic bool held;                             /* a reading waits */
static _Atomic uint32_t pinned_to;                    /* the last mask of one CPU */
static _Atomic unsigned pinned, unpinned;
static bool never_released;
static _Atomic unsigned finished; /* readings */
static unsigned held_for;         /* at most, in ms of the machine's time */

static _Atomic uint64_t takes_at; /* what is there when this time is waited for is taken */
static struct ring_buf *_Atomic taken;

static void take_early(void);
uint64_t __wrap_clocks_monotonic(void);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long g);
long __real_syscall(long number, long a, long b, long c, long d, long e, long g);
int __wrap_sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set);

/* Whoever looks while a reading is held may do so for ever. */
uint64_t __wrap_clocks_monotonic(void)
{
	return held ? atomic_fetch_add(&now, 1000 * MS) + 1000 * MS : now;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long g)
{
	if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && d) {
		const struct timespec *t = (const struct timespec *)(uintptr_t)d;
		uint64_t until = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;

		if (until == takes_at)
			take_early();
		until += until == oversleeps_at ? oversleeps_ns : 0;
		if (*(_Atomic uint32_t *)(uintptr_t)a == (uint32_t)c && until > now)
			now = until;
		return 0;
	}
	return __real_syscall(number, a, b, c, d, e, g);
}

/* A reader whose CPU others keep gets on once it may run anywhere. */
int __wrap_sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *set)
{
	if (CPU_COUNT_S(size, set) == 1 && !tid) {
		for (uint32_t cpu = 0; !CPU_ISSET_S(cpu, size, set);)
			pinned_to = ++cpu;
		pinned++;
	} else {
		assert_true(tid > 0);
		unpinned++;
		held = never_released && held;
	}
	return 0;
}

struct fixture {
	struct fake_plan plan;
	struct ring ring;
	struct clock_source clocks;
	struct sampler *sampler;
	_Atomic uint32_t wake;
	_Atomic int64_t slept;
	unsigned n;
	/* By unit: what its readings take, from 1; the default, if 0. */
	uint64_t takes[UNITS], takes_at[UNITS][32];
	unsigned reads[UNITS], dies_at[UNITS], fails_at[UNITS], holds_at[UNITS];
	unsigned sleeps_at; /* the machine sleeps in that reading of unit 0 */
	/* Samples: */
	unsigned next[UNITS], skips[UNITS], last[UNITS];
};
static struct fixture f;

static void take_early(void)
{
	const struct ring_epoch *e;

	taken = ring_take(&f.ring, &e);
}

static unsigned unit_number(const struct unit *u)
{
	return (unsigned)(u - f.plan.unit);
}

static int read_now(struct unit *u, struct cells *c)
{
	unsigned k = unit_number(u), n = ++f.reads[k];
	struct timespec t = { .tv_nsec = 1000000 };

	now += n < 32 && f.takes_at[k][n] ? f.takes_at[k][n] : f.takes[k];
	/* The clock runs away from now on: another thread must be done with its reading, and with what follows it. */
	for (unsigned i = 0; never_released && n == f.holds_at[k] && i<100; i += finished> 0)
		nanosleep(&t, NULL);
	if (n == f.holds_at[k])
		held = true;
	for (unsigned i = 0; held && i < held_for; i++)
		nanosleep(&t, NULL);
	held = false;
	if (k == 0 && n == f.sleeps_at)
		f.slept += 3600000 * MS;
	if (f.dies_at[k] && n >= f.dies_at[k])
		return -ENODEV;
	for (uint32_t i = 0; i < c->n; i++)
		cells_set(c, i, 10 * n + i);
	if (n == f.fails_at[k])
		cells_fail(c, 0, PM_REASON_FORMAT);
	finished++;
	return 0;
}

static void clock_read(void *ctx, struct pm_clocks *out)
{
	out->monotonic = now;
}

static int64_t clock_slept(void *ctx)
{
	return f.slept;
}

/* The machine's units, read by one thread, or by one each. */
static void begin(unsigned n, uint32_t flags)
{
	uint32_t g;

	memset(&f, 0, sizeof(f));
	now = S;
	oversleeps_at = 0;
	takes_at = 0;
	pinned = 0;
	unpinned = 0;
	held = false;
	held_for = 20000;
	pinned_to = PM_NONE;
	fake_begin(&f.plan);
	g = fake_group(&f.plan, 2, n, flags);
	for (f.n = 0; f.n < n; f.n++) {
		fake_unit(&f.plan, g, f.n, f.n)->read = read_now;
		f.takes[f.n] = 100 * US;
	}
}

static void start(uint64_t interval_ns, uint64_t chunk_ns, bool per_cpu)
{
	struct sampler_config config = { .ring = &f.ring, .clocks = &f.clocks };
	struct error e = { 0 };

	f.clocks = (struct clock_source){ .read = clock_read, .slept = clock_slept };
	assert_int_equal(readout_init(&f.plan.readout, &f.plan.plan, interval_ns, chunk_ns, per_cpu, NULL, &e), 0);
	assert_int_equal(f.plan.readout.n_readers, 1);
	ring_init(&f.ring, &f.plan.readout, 0, &f.wake);
	assert_int_equal(sampler_new(&f.sampler, &config, &e), 0);
}

static void end(void)
{
	assert_true(sampler_free(f.sampler));
	ring_release(&f.ring);
	fake_end(&f.plan);
}

static void wait_end(void)
{
	struct pollfd p = { .fd = sampler_fd(f.sampler), .events = POLLIN };

	assert_true(sampler_running(f.sampler));
	assert_int_equal(poll(&p, 1, 60000), 1);
	sampler_park(f.sampler);
	assert_false(sampler_running(f.sampler));
}

/* Ticks `first` to `last`, of which the first is due one interval from now. */
static void run(uint64_t first, uint64_t last)
{
	struct ring_epoch e = {
		.run = 1, .first_number = first, .last_number = last, .start_ns = S, .flags = PM_SNAPSHOT_LAST
	};

	assert_true(sampler_begin(f.sampler, &e));
	wait_end();
}

static struct ring_buf *take(uint32_t rows)
{
	const struct ring_epoch *e;
	struct ring_buf *b = ring_take(&f.ring, &e);

	assert_non_null(b);
	assert_int_equal(f.ring.rows.n, rows);
	return b;
}

static uint64_t cell(const struct ring_buf *b, uint32_t column, uint32_t row)
{
	return b->group[0].v[column * b->group[0].stride + row];
}

static unsigned status(const struct ring_buf *b, uint32_t column, uint32_t row)
{
	return b->group[0].status[column * b->group[0].stride + row];
}

/* Columns of a plain group of two counters. */
static uint32_t begin_of(unsigned unit)
{
	return unit;
}
static uint32_t end_of(unsigned unit)
{
	return f.n + unit;
}
static uint32_t value_of(unsigned unit, unsigned counter)
{
	return (2 + counter) * f.n + unit;
}

static void ticks_have_their_times(void **state)
{
	struct ring_buf *b;

	begin(2, 0);
	f.takes[1] = 250 * US;
	start(TICK, 4 * TICK, false);
	run(1, 6);
	for (uint64_t chunk = 0, tick = 1; chunk < 2; chunk++) {
		b = take(chunk ? 2 : 4);
		for (uint32_t i = 0; i < f.ring.rows.n; i++, tick++) {
			assert_int_equal(f.ring.rows.number[i], tick);
			assert_int_equal(f.ring.rows.tick[i], S + tick * TICK);
			assert_int_equal(f.ring.rows.flags[i], tick == 6 ? PM_SNAPSHOT_LAST : 0);
			assert_int_equal(cell(b, begin_of(0), i), S + tick * TICK);
			assert_int_equal(cell(b, end_of(0), i), S + tick * TICK + 100 * US);
			assert_int_equal(cell(b, begin_of(1), i), S + tick * TICK + 100 * US);
			assert_int_equal(cell(b, end_of(1), i), S + tick * TICK + 350 * US);
			assert_int_equal(cell(b, value_of(1, 1), i), 10 * tick + 1);
		}
		/* Once a chunk, at its first tick. */
		assert_int_equal(b->clocks.monotonic, S + (1 + 4 * chunk) * TICK);
		ring_give_back(&f.ring, b);
	}
	assert_int_equal(sampler_next_chunk(f.sampler), 2);
	assert_int_equal(sampler_delay(f.sampler).missed, 0);
	assert_int_equal(sampler_delay(f.sampler).late_ns, 0);
	assert_int_equal(sampler_delay(f.sampler).overrun_ns, 0);
	assert_int_equal(f.reads[0], 6);
	/* The next epoch has chunks of its own. */
	run(8, 8);
	b = take(1);
	assert_int_equal(f.ring.rows.number[0], 8);
	ring_give_back(&f.ring, b);
	assert_int_equal(sampler_next_chunk(f.sampler), 3);
	end();
}

/* A chunk can be had when its last tick has been read, not when the next one is due. */
static void a_full_chunk_is_left_at_once(void **state)
{
	begin(1, 0);
	start(TICK, 4 * TICK, false);
	takes_at = S + 5 * TICK;
	run(1, 6);
	assert_non_null(taken);
	ring_give_back(&f.ring, taken);
	ring_give_back(&f.ring, take(2));
	end();
}

static void who_wakes_up_late_loses_ticks(void **state)
{
	static const uint64_t number[] = { 1, 2, 5, 6 };
	struct ring_buf *b;

	begin(1, 0);
	start(TICK, 20 * TICK, false);
	oversleeps_at = S + 3 * TICK;
	oversleeps_ns = 25 * MS;
	run(1, 6);
	b = take(4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(f.ring.rows.number[i], number[i]);
		assert_int_equal(cell(b, begin_of(0), i), S + number[i] * TICK + (i == 2 ? 5 * MS : 0));
	}
	ring_give_back(&f.ring, b);
	assert_int_equal(sampler_delay(f.sampler).late_ns, 25 * MS);
	assert_int_equal(sampler_delay(f.sampler).overrun_ns, 0);
	assert_int_equal(sampler_delay(f.sampler).missed, 2);
	/* Less than a tick is no loss, and the last tick comes, however late. */
	oversleeps_at = S + 8 * TICK;
	oversleeps_ns = TICK - 1;
	run(8, 9);
	ring_give_back(&f.ring, take(2));
	assert_int_equal(sampler_delay(f.sampler).late_ns, 25 * MS);
	oversleeps_at = S + 11 * TICK;
	oversleeps_ns = 100 * MS;
	run(11, 12);
	b = take(1);
	assert_int_equal(f.ring.rows.number[0], 12);
	assert_int_equal(f.ring.rows.flags[0], PM_SNAPSHOT_LAST);
	ring_give_back(&f.ring, b);
	assert_int_equal(sampler_delay(f.sampler).late_ns, 125 * MS);
	assert_int_equal(sampler_delay(f.sampler).missed, 3);
	end();
}

/* Rows whose tick is far away lie in the chunk that these are in. */
static void chunks_that_nobody_reached_are_left(void **state)
{
	const struct ring_epoch *e;
	struct ring_buf *b;

	begin(1, 0);
	start(TICK, 4 * TICK, false);
	oversleeps_at = S + 2 * TICK;
	oversleeps_ns = 95 * MS;
	run(1, 13);
	b = take(1);
	ring_give_back(&f.ring, b);
	/* 5 to 8 were passed over. */
	b = ring_take(&f.ring, &e);
	assert_int_equal(f.ring.rows.n, 0);
	ring_give_back(&f.ring, b);
	b = take(2);
	assert_int_equal(f.ring.rows.number[0], 11);
	assert_int_equal(f.ring.rows.number[1], 12);
	assert_int_equal(f.ring.rows.place[0], 2);
	ring_give_back(&f.ring, b);
	ring_give_back(&f.ring, take(1));
	assert_int_equal(sampler_delay(f.sampler).missed, 9);
	assert_int_equal(sampler_next_chunk(f.sampler), 4);
	end();
}

/* A reading of 35 ms that usually takes 0.1 is read again, and what was due meanwhile is lost to it. */
static void what_takes_long_is_read_again_and_loses_ticks(void **state)
{
	struct ring_buf *b;

	begin(1, 0);
	f.takes_at[0][3] = 35 * MS;
	f.fails_at[0] = 3;
	start(TICK, 20 * TICK, false);
	run(1, 8);
	b = take(6);
	/* The fourth reading, from when the third had ended. */
	assert_int_equal(f.ring.rows.number[2], 3);
	assert_int_equal(cell(b, begin_of(0), 2), S + 65 * MS);
	assert_int_equal(cell(b, end_of(0), 2), S + 65 * MS + 100 * US);
	assert_int_equal(cell(b, value_of(0, 0), 2), 40);
	assert_int_equal(status(b, value_of(0, 0), 2), PM_OK);
	assert_int_equal(f.ring.rows.number[3], 6);
	assert_int_equal(cell(b, begin_of(0), 3), S + 65 * MS + 100 * US);
	ring_give_back(&f.ring, b);
	assert_int_equal(sampler_delay(f.sampler).missed, 2);
	assert_int_equal(sampler_delay(f.sampler).late_ns, 0);
	/* Tick 4 was due at 40 ms and came at 65.1. */
	assert_int_equal(sampler_delay(f.sampler).overrun_ns, 25 * MS + 100 * US);
	end();
}

/* 0.1 ms is a hundredth of the tick: in doubt is what takes more than that and more than four times the shortest. */
static void not_everything_is_in_doubt(void **state)
{
	begin(1, 0);
	f.takes[0] = 20 * US;
	f.takes_at[0][2] = 100 * US;
	start(TICK, 20 * TICK, false);
	run(1, 3);
	assert_int_equal(f.reads[0], 3);
	ring_give_back(&f.ring, take(3));
	f.takes_at[0][4] = 101 * US;
	run(4, 4);
	assert_int_equal(f.reads[0], 5);
	ring_give_back(&f.ring, take(1));
	end();
	begin(1, 0);
	f.takes[0] = 200 * US;
	f.takes_at[0][2] = 800 * US;
	start(TICK, 20 * TICK, false);
	run(1, 3);
	assert_int_equal(f.reads[0], 3);
	ring_give_back(&f.ring, take(3));
	/* Slower from now on: read twice until what is usual has doubled, here once. */
	f.takes[0] = 1000 * US;
	run(4, 7);
	assert_int_equal(f.reads[0], 3 + 4 + 1);
	ring_give_back(&f.ring, take(4));
	/* The shortest is 0.4 ms now. */
	f.takes_at[0][9] = 1601 * US;
	f.takes_at[0][11] = 1600 * US;
	run(8, 9);
	assert_int_equal(f.reads[0], 11);
	ring_give_back(&f.ring, take(2));
	end();
}

/* 10 ms / 16384 is 610 ns: within that, sums of begin and end, the usual times stand for others. */
static void even_units_have_their_usual_times(void **state)
{
	/* What each reading of unit 1 takes, and what its row says: 51221 differs by more than 2 x 610 from what is usual,
	 * and what follows does so, too, which makes it usual; 50000 later is unusual once. */
	static const uint64_t takes[] = { 50000, 50600, 51220, 51221, 51300, 51350, 50000, 51290 },
			      says[] = { 50000, 50000, 50000, 51221, 51300, 51300, 50000, 51300 };
	struct ring_buf *b;

	begin(2, 0);
	f.plan.unit[1].even = true;
	for (unsigned i = 0; i < 8; i++)
		f.takes_at[1][i + 1] = takes[i];
	start(TICK, 20 * TICK, false);
	run(1, 8);
	b = take(8);
	for (uint32_t i = 0; i < 8; i++) {
		uint64_t at = S + (i + 1) * TICK + 100 * US;

		assert_int_equal(cell(b, begin_of(1), i), at);
		assert_int_equal(cell(b, end_of(1), i) - at, says[i]);
	}
	ring_give_back(&f.ring, b);
	end();
}

static void what_is_read_rarely_is_absent_between(void **state)
{
	struct ring_buf *b;

	begin(2, 0);
	f.plan.unit[1].min_period_ns = 3 * TICK;
	start(TICK, 20 * TICK, false);
	run(1, 7);
	b = take(7);
	for (uint32_t i = 0; i < 7; i++) {
		/* The first one, too. */
		bool read = i == 0 || (i + 1) % 3 == 0;

		assert_int_equal(status(b, value_of(1, 0), i), read ? PM_OK : PM_REASON_NOT_READ);
		assert_int_equal(status(b, value_of(0, 0), i), PM_OK);
		assert_int_equal(cell(b, end_of(1), i) - cell(b, begin_of(1), i), read ? 100 * US : 0);
	}
	assert_int_equal(f.reads[1], 3);
	ring_give_back(&f.ring, b);
	/* A single snapshot has it, whatever its number. */
	{
		struct ring_epoch e = {
			.run = 1, .first_number = 8, .last_number = 8, .tick_ns = S + 80 * MS, .start_ns = S
		};

		assert_true(sampler_begin(f.sampler, &e));
		sampler_park(f.sampler);
		b = take(1);
		assert_int_equal(f.ring.rows.tick[0], S + 80 * MS);
		assert_int_equal(status(b, value_of(1, 0), 0), PM_OK);
		assert_int_equal(cell(b, begin_of(0), 0), S + 80 * MS);
		ring_give_back(&f.ring, b);
	}
	end();
}

static void what_has_failed_for_good_is_left_alone(void **state)
{
	struct ring_buf *b;

	begin(2, 0);
	f.dies_at[0] = 2;
	start(TICK, 20 * TICK, false);
	run(1, 4);
	b = take(4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(status(b, value_of(0, 1), i), i ? PM_REASON_GONE : PM_OK);
		assert_int_equal(cell(b, end_of(0), i) - cell(b, begin_of(0), i), i < 2 ? 100 * US : 0);
		assert_int_equal(cell(b, begin_of(1), i), S + (i + 1) * TICK + (i < 2 ? 100 * US : 0));
		assert_int_equal(cell(b, value_of(1, 1), i), 10 * (i + 1) + 1);
	}
	assert_int_equal(f.reads[0], 2);
	assert_int_equal(f.plan.readout.slot[0].dead, -ENODEV);
	assert_int_equal(f.plan.readout.slot[1].dead, 0);
	ring_give_back(&f.ring, b);
	end();
}

/* Seen at the next row; 5 ms are not sleep. */
static void a_sleep_is_seen_once(void **state)
{
	struct ring_buf *b;

	begin(1, 0);
	f.slept = 12345;
	start(TICK, 20 * TICK, false);
	f.slept += 5 * MS;
	f.sleeps_at = 3;
	run(1, 6);
	b = take(6);
	assert_int_equal(b->slept_row, 3);
	assert_int_equal(b->slept_ns, 3600005 * MS);
	ring_give_back(&f.ring, b);
	run(7, 8);
	b = take(2);
	assert_int_equal(b->slept_row, PM_NONE);
	assert_int_equal(b->slept_ns, 0);
	ring_give_back(&f.ring, b);
	end();
}

/* Who begins or ends something waits for no CPU that others keep: its reader goes elsewhere, and comes back. */
static void who_has_no_cpu_may_run_anywhere(void **state)
{
	struct ring_epoch e = { .run = 1, .first_number = 1, .last_number = 1, .tick_ns = S + TICK, .start_ns = S };

	begin(1, 0);
	f.plan.unit[0].cpu = 7;
	f.holds_at[0] = 1;
	start(TICK, 20 * TICK, true);
	assert_int_equal(f.plan.readout.reader[0].cpu, 7);
	assert_true(sampler_begin(f.sampler, &e));
	sampler_park(f.sampler);
	assert_int_equal(unpinned, 1);
	assert_int_equal(pinned, 1);
	assert_int_equal(pinned_to, 7);
	ring_give_back(&f.ring, take(1));
	run(2, 2);
	assert_int_equal(pinned, 2);
	ring_give_back(&f.ring, take(1));
	run(3, 3);
	assert_int_equal(pinned, 2);
	ring_give_back(&f.ring, take(1));
	/* Its CPU has come back; another one is not its own. */
	sampler_pin_again(f.sampler, 6);
	run(4, 4);
	assert_int_equal(pinned, 2);
	ring_give_back(&f.ring, take(1));
	sampler_pin_again(f.sampler, 7);
	run(5, 5);
	assert_int_equal(pinned, 3);
	end();
}

static void who_may_run_anywhere_is_waited_for(void **state)
{
	struct ring_epoch e = { .run = 1, .first_number = 1, .last_number = 1, .tick_ns = S + TICK, .start_ns = S };

	begin(1, 0);
	f.plan.unit[0].cpu = PM_NONE;
	f.holds_at[0] = 1;
	held_for = 80;
	start(TICK, 20 * TICK, false);
	assert_int_equal(f.plan.readout.reader[0].cpu, PM_NONE);
	assert_true(sampler_begin(f.sampler, &e));
	sampler_park(f.sampler);
	ring_give_back(&f.ring, take(1));
	run(2, 2);
	assert_int_equal(unpinned + pinned, 0);
	end();
}

/* ---- what the kernel samples ---- */

static void sampled_start(struct unit *u)
{
	f.next[unit_number(u)] = 2;
}

/* Of every tick, 2 ms after it, from the second on. */
static bool sampled_peek(struct unit *u, uint64_t *time_ns)
{
	unsigned k = unit_number(u);

	f.next[k] += f.next[k] && f.next[k] == f.skips[k];
	*time_ns = S + f.next[k] * TICK + 2 * MS;
	return f.next[k] && *time_ns <= now && !(f.last[k] && f.next[k] > f.last[k]);
}

static uint64_t sampled_take(struct unit *u, struct cells *c)
{
	unsigned n = f.next[unit_number(u)]++;

	for (uint32_t i = 0; c && i < c->n; i++)
		cells_set(c, i, 1000 + 10 * n + i);
	return 0;
}

static const struct unit_sampling sampling = { .start = sampled_start, .peek = sampled_peek, .take = sampled_take };

static void begin_sampled(unsigned n)
{
	begin(n, 0);
	for (unsigned k = 0; k < n; k++)
		f.plan.unit[k].sampling = &sampling;
}

/* `rows` of a chunk of one unit: 0 is a row that is not there, n < 1000 the reading n / 10, the rest the sample. */
static void expect_chunk(const uint64_t *rows)
{
	uint32_t n = 0, want = 0;
	struct ring_buf *b;

	for (uint32_t i = 0; i < 4; i++)
		want += rows[i] != 0;
	b = take(want);
	for (uint32_t i = 0; i < 4; i++) {
		if (!rows[i])
			continue;
		assert_int_equal(f.ring.rows.place[n], i);
		assert_int_equal(cell(b, value_of(0, 0), n), rows[i]);
		assert_int_equal(status(b, value_of(0, 0), n), PM_OK);
		n++;
	}
	ring_give_back(&f.ring, b);
}

/* The first tick is read, and in the first chunk what has not come half a tick later. */
static void samples_are_taken_once_a_chunk(void **state)
{
	static const uint64_t chunk[3][4] = { { 10, 1020, 1030, 20 }, { 1050, 1060, 1070, 1080 }, { 1090, 1100 } };

	begin_sampled(1);
	f.skips[0] = 4;
	start(TICK, 4 * TICK, true);
	assert_true(f.plan.readout.reader[0].sampled);
	run(1, 10);
	/* After the last tick it waits two more, so that the last sample has come. */
	assert_int_equal(now, S + 12 * TICK);
	for (unsigned i = 0; i < 3; i++)
		expect_chunk(chunk[i]);
	assert_int_equal(f.reads[0], 2);
	assert_int_equal(sampler_delay(f.sampler).stood_in, 1);
	assert_int_equal(sampler_next_chunk(f.sampler), 3);
	assert_int_equal(sampler_delay(f.sampler).late_ns, 0);
	end();
}

static void one_tick_is_read_and_its_chunk_is_left(void **state)
{
	begin_sampled(1);
	start(TICK, 4 * TICK, true);
	run(1, 1);
	assert_int_equal(sampler_next_chunk(f.sampler), 1);
	assert_int_equal(f.reads[0], 1);
	ring_give_back(&f.ring, take(1));
	/* So late that it is the last one of three. */
	oversleeps_at = S + 3 * TICK;
	oversleeps_ns = 70 * MS;
	run(3, 5);
	ring_give_back(&f.ring, take(1));
	assert_int_equal(f.ring.rows.number[0], 5);
	assert_int_equal(sampler_next_chunk(f.sampler), 2);
	/* In the second chunk. */
	oversleeps_at = S + 12 * TICK;
	oversleeps_ns = 50 * MS;
	run(12, 17);
	{
		const struct ring_epoch *e;
		struct ring_buf *b = ring_take(&f.ring, &e);

		assert_int_equal(f.ring.rows.n, 0);
		ring_give_back(&f.ring, b);
	}
	ring_give_back(&f.ring, take(1));
	assert_int_equal(f.ring.rows.number[0], 17);
	assert_int_equal(sampler_next_chunk(f.sampler), 4);
	end();
}

/* What was asked for last is there, if its sample does not come. */
static void the_last_tick_is_read_if_need_be(void **state)
{
	struct ring_buf *b;

	begin_sampled(1);
	f.last[0] = 6;
	start(TICK, 4 * TICK, true);
	run(1, 7);
	ring_give_back(&f.ring, take(4));
	b = take(3);
	assert_int_equal(f.ring.rows.number[2], 7);
	assert_int_equal(f.ring.rows.flags[2], PM_SNAPSHOT_LAST);
	assert_int_equal(cell(b, value_of(0, 0), 1), 1060);
	assert_int_equal(cell(b, value_of(0, 0), 2), 20);
	assert_int_equal(cell(b, begin_of(0), 2), S + 9 * TICK);
	ring_give_back(&f.ring, b);
	end();
}

/* A reading that does not end, at the end: its reader is left behind, and the other one goes on. */
static void who_does_not_come_back_is_left_behind(void **state)
{
	struct ring_epoch e = { .run = 1, .first_number = 1, .last_number = 1, .tick_ns = S + TICK, .start_ns = S };
	struct sampler_config config = { .ring = &f.ring, .clocks = &f.clocks };
	struct error error = { 0 };

	assert_true(sampler_free(NULL));
	begin(2, 0);
	f.holds_at[1] = 1;
	held_for = UINT_MAX;
	f.clocks = (struct clock_source){ .read = clock_read, .slept = clock_slept };
	assert_int_equal(readout_init(&f.plan.readout, &f.plan.plan, TICK, 20 * TICK, true, NULL, &error), 0);
	assert_int_equal(f.plan.readout.n_readers, 2);
	ring_init(&f.ring, &f.plan.readout, 0, &f.wake);
	assert_int_equal(sampler_new(&f.sampler, &config, &error), 0);
	never_released = true;
	finished = 0;
	assert_true(sampler_begin(f.sampler, &e));
	sampler_hurry(f.sampler);
	sampler_park(f.sampler);
	assert_int_equal(f.plan.readout.slot[0].dead, 0);
	assert_int_equal(f.plan.readout.slot[1].dead, -ETIMEDOUT);
	e.first_number = e.last_number = 2;
	assert_true(sampler_begin(f.sampler, &e));
	sampler_park(f.sampler);
	assert_int_equal(f.reads[0], 2);
	assert_int_equal(f.reads[1], 1);
	/* What it may touch has to stay. */
	assert_false(sampler_free(f.sampler));
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ticks_have_their_times),
		TEST(a_full_chunk_is_left_at_once),
		TEST(who_wakes_up_late_loses_ticks),
		TEST(chunks_that_nobody_reached_are_left),
		TEST(what_takes_long_is_read_again_and_loses_ticks),
		TEST(not_everything_is_in_doubt),
		TEST(even_units_have_their_usual_times),
		TEST(what_is_read_rarely_is_absent_between),
		TEST(what_has_failed_for_good_is_left_alone),
		TEST(a_sleep_is_seen_once),
		TEST(who_has_no_cpu_may_run_anywhere),
		TEST(who_may_run_anywhere_is_waited_for),
		TEST(samples_are_taken_once_a_chunk),
		TEST(one_tick_is_read_and_its_chunk_is_left),
		TEST(the_last_tick_is_read_if_need_be),
		TEST(who_does_not_come_back_is_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
