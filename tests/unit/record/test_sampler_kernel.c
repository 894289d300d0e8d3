/*
 * Samples that the kernel took, without a kernel and without a clock: queues that a test fills stand for its rings,
 * the linker puts a clock of the test in place of the machine's, and one thread takes what a reader would.
 */
#include <errno.h>

#include "record/sample/sampler.c"
#include "tests/unit/lib/fake_plan.h"

#define S     (1000000 * MS) /* when the epoch began */
#define TICK  (10 * MS)
#define ROWS  8
#define UNITS 2

static uint64_t now;
uint64_t __wrap_clocks_monotonic(void);

uint64_t __wrap_clocks_monotonic(void)
{
	return now;
}

static struct ring_epoch epoch = { .run = 1, .first_number = 1, .last_number = 1000, .start_ns = S };

struct fixture {
	struct fake_plan plan;
	struct ring ring;
	struct clock_source clocks;
	struct sampler sampler;
	struct reader reader;
	_Atomic uint32_t wake;
	unsigned clock_reads;
	int64_t slept;
	/* By unit: */
	uint64_t time[UNITS][2 * PM_CHUNK_ROWS]; /* of samples that wait, 0 ends them */
	unsigned next[UNITS], dropped[UNITS], started[UNITS], reads[UNITS];
	int fails[UNITS];
	uint64_t late[UNITS];  /* its values, after their time */
	unsigned lacks[UNITS]; /* this sample, from 1, has no second value */
};
static struct fixture f;

static unsigned unit_number(const struct unit *u)
{
	return (unsigned)(u - f.plan.unit);
}

static void start(struct unit *u)
{
	f.started[unit_number(u)]++;
}

static bool peek(struct unit *u, uint64_t *time_ns)
{
	unsigned k = unit_number(u);

	*time_ns = f.time[k][f.next[k]];
	return *time_ns != 0;
}

/* Sample n, from 0, has the values 1000 n + 100, + 101, and counted for n + 1 s, half of the time. */
static uint64_t take(struct unit *u, struct cells *c)
{
	unsigned k = unit_number(u), n = f.next[k]++;

	f.dropped[k] += !c;
	if (!c)
		return 0;
	for (uint32_t i = 0; i < c->n; i++)
		cells_set(c, i, 1000 * n + 100 + i);
	if (n + 1 == f.lacks[k])
		cells_fail(c, 1, PM_REASON_FORMAT);
	*c->enabled = 2 * (n + 1) * 1000 * MS;
	*c->running = (n + 1) * 1000 * MS;
	return f.late[k];
}

/* Takes 3 us. */
static int read_now(struct unit *u, struct cells *c)
{
	unsigned k = unit_number(u);

	f.reads[k]++;
	now += 3000;
	for (uint32_t i = 0; i < c->n; i++)
		cells_set(c, i, 70 + i);
	return f.fails[k];
}

static void clock_read(void *ctx, struct pm_clocks *out)
{
	f.clock_reads++;
	out->monotonic = now;
}

static int64_t clock_slept(void *ctx)
{
	return f.slept;
}

static const struct unit_sampling sampling = { .start = start, .peek = peek, .take = take };

static void begin_with(uint64_t tick_ns, uint32_t rows)
{
	struct error e = { 0 };
	uint32_t g;

	memset(&f, 0, sizeof(f));
	fake_begin(&f.plan);
	g = fake_group(&f.plan, 2, UNITS, PM_GROUP_PERF_TIMES);
	for (uint32_t i = 0; i < UNITS; i++) {
		struct unit *u = fake_unit(&f.plan, g, i, i);

		u->sampling = &sampling;
		u->read = read_now;
	}
	assert_int_equal(readout_init(&f.plan.readout, &f.plan.plan, tick_ns, rows * tick_ns, true, NULL, &e), 0);
	assert_int_equal(f.plan.readout.rows, rows);
	assert_int_equal(f.plan.readout.n_readers, 1);
	ring_init(&f.ring, &f.plan.readout, 0, &f.wake);
	assert_int_equal(f.ring.n_bufs, 4);
	f.clocks = (struct clock_source){ .read = clock_read, .slept = clock_slept };
	f.sampler.config = (struct sampler_config){ .ring = &f.ring, .clocks = &f.clocks };
	f.reader.sampler = &f.sampler;
	now = S;
	start_samples(&f.reader);
}

static int setup(void **state)
{
	begin_with(TICK, ROWS);
	return 0;
}

static int teardown(void **state)
{
	ring_release(&f.ring);
	fake_end(&f.plan);
	return 0;
}

/* Waits for a reader: a sample, this long after the epoch began. */
static void sample(unsigned unit, uint64_t after_ns)
{
	unsigned n = 0;

	while (f.time[unit][n])
		n++;
	f.time[unit][n] = S + after_ns;
}

/* All ticks of a chunk whose first one is `tick`, each `late_ns` after it. */
static void samples(unsigned unit, uint64_t tick, unsigned n, uint64_t late_ns)
{
	for (unsigned i = 0; i < n; i++)
		sample(unit, (tick + i) * f.plan.readout.interval_ns + late_ns);
}

static void collect(uint64_t chunk)
{
	uint32_t rows = f.plan.readout.rows;

	collect_samples(&f.reader, &epoch, chunk, 1 + chunk * rows, (chunk + 1) * rows);
}

/* Columns: begin, end, enabled, running of both units in turn, then their values. */
enum { BEGIN = 0, END = 2, ENABLED = 4, RUNNING = 6, FIRST = 8, SECOND = 10 };

static uint64_t cell(uint64_t chunk, uint32_t column, uint32_t row)
{
	const struct pm_chunk_group *g = &f.ring.buf[chunk % 4]->group[0];

	return g->v[column * g->stride + row];
}

static unsigned status(uint64_t chunk, unsigned unit, uint32_t row)
{
	const struct pm_chunk_group *g = &f.ring.buf[chunk % 4]->group[0];

	assert_int_equal(g->status[(FIRST + unit) * g->stride + row], g->status[(SECOND + unit) * g->stride + row]);
	return g->status[(FIRST + unit) * g->stride + row];
}

static uint64_t filled(uint64_t chunk, uint32_t word)
{
	return f.ring.buf[chunk % 4]->filled[0].rows[word];
}

/* Which sample a row has, from 0, or -1 and none. */
static int sample_in(unsigned unit, uint32_t row)
{
	return (int)((int64_t)cell(0, FIRST + unit, row) - 100) / 1000 - (cell(0, FIRST + unit, row) < 100);
}

static void a_sample_goes_to_its_row_with_its_time(void **state)
{
	samples(0, 1, ROWS, 2 * MS);
	samples(1, 1, ROWS, 3 * MS);
	assert_int_equal(f.started[0], 1);
	assert_int_equal(f.started[1], 1);
	collect(0);
	assert_int_equal(filled(0, 0), 0xff);
	assert_true(f.ring.buf[0]->slot_read[0] && f.ring.buf[0]->slot_read[1]);
	assert_false(f.ring.buf[0]->slot_missing[0] || f.ring.buf[0]->slot_missing[1]);
	for (uint32_t row = 0; row < ROWS; row++)
		for (unsigned k = 0; k < UNITS; k++) {
			uint64_t time = S + (row + 1) * TICK + (2 + k) * MS;

			assert_int_equal(cell(0, BEGIN + k, row), time);
			assert_int_equal(cell(0, END + k, row), time);
			assert_int_equal(cell(0, ENABLED + k, row), 2 * (row + 1) * 1000 * MS);
			assert_int_equal(cell(0, RUNNING + k, row), (row + 1) * 1000 * MS);
			assert_int_equal(cell(0, FIRST + k, row), 1000 * row + 100);
			assert_int_equal(cell(0, SECOND + k, row), 1000 * row + 101);
			assert_int_equal(status(0, k, row), PM_OK);
		}
	assert_false(f.reader.gaps);
	assert_int_equal(f.reads[0] + f.reads[1] + f.dropped[0] + f.dropped[1], 0);
	/* The first reader reads the clocks, once a chunk. */
	assert_int_equal(f.clock_reads, 1);
	assert_int_equal(f.ring.buf[0]->clocks.monotonic, S);
	assert_int_equal(f.ring.reader[0].in, 0);
	assert_int_equal(f.ring.buf[0]->slept_row, PM_NONE);
	/* Nothing of this chunk is left for the next one; of a sleep it is not known when in a chunk it was. */
	f.slept = 3600000 * MS;
	samples(0, 9, 1, 2 * MS);
	collect(1);
	assert_int_equal(filled(1, 0), 1);
	assert_int_equal(cell(1, FIRST, 0), 8100);
	assert_int_equal(f.ring.buf[1]->clocks.monotonic, S);
	assert_int_equal(f.ring.buf[1]->slept_row, 0);
	assert_int_equal(f.ring.buf[1]->slept_ns, 3600000 * MS);
}

/* Interrupts are late, never early: less than half a tick changes nothing, and the least lateness is that of the timer. */
static void lateness_does_not_shift_ticks(void **state)
{
	/* The timer began 2 ms after a tick. */
	sample(0, 12 * MS);
	sample(0, 22 * MS + 4999999);
	sample(0, 36 * MS + 999999);
	sample(0, 52 * MS);
	/* The first one was late itself, and the second says so: 4 ms, 2 ms. */
	sample(1, 14 * MS);
	sample(1, 22 * MS);
	sample(1, 37 * MS); /* 5 ms late by that: as near to the next tick as to its own */
	sample(1, 62 * MS);
	collect(0);
	assert_int_equal(sample_in(0, 0), 0);
	assert_int_equal(sample_in(0, 1), 1);
	assert_int_equal(sample_in(0, 2), 2);
	assert_int_equal(sample_in(0, 3), -1);
	assert_int_equal(sample_in(0, 4), 3);
	assert_int_equal(sample_in(1, 1), 1);
	assert_int_equal(sample_in(1, 2), -1);
	assert_int_equal(sample_in(1, 3), 2);
	assert_int_equal(sample_in(1, 5), 3);
	assert_int_equal(f.plan.readout.slot[0].phase, 2 * MS);
	/* What is 3 ms before a tick by the least lateness says that there is none. */
	assert_int_equal(f.plan.readout.slot[1].phase, 0);
}

static void a_timer_is_not_early(void **state)
{
	/* 1 ms after its tick, then half a ms before the second, and a ms before the third. */
	sample(0, 11 * MS);
	sample(0, 19 * MS + MS / 2);
	sample(0, 29 * MS);
	sample(0, 40 * MS);
	/* 9 ms after tick 0 is before all rows, and 3 ms after it before the timer itself; nor is what precedes the epoch
	 * taken for a tick. */
	sample(1, 9 * MS);
	sample(1, 3 * MS);
	f.time[1][2] = S;
	f.time[1][3] = S - 1;
	sample(1, 3 * MS + 20 * MS);
	collect(0);
	for (uint32_t row = 0; row < 4; row++)
		assert_int_equal(sample_in(0, row), row);
	assert_int_equal(f.plan.readout.slot[0].phase, 0);
	assert_int_equal(f.dropped[1], 4);
	/* Not 9 ms after the second tick, which is yet to come, but 13 after the first. */
	assert_int_equal(f.plan.readout.slot[1].phase, 9 * MS);
	assert_int_equal(sample_in(1, 0), 4);
}

static void of_two_in_a_tick_the_first_belongs_to_it(void **state)
{
	sample(0, 11 * MS);
	sample(0, 13 * MS);
	sample(0, 21 * MS);
	/* Of the next chunk, and left there. */
	sample(0, 91 * MS);
	sample(0, 101 * MS);
	collect(0);
	assert_int_equal(f.next[0], 3);
	assert_int_equal(f.dropped[0], 1);
	assert_int_equal(sample_in(0, 0), 0);
	assert_int_equal(sample_in(0, 1), 2);
	assert_int_equal(filled(0, 0), 3);
	collect(1);
	assert_int_equal(filled(1, 0), 3);
	assert_int_equal(cell(1, FIRST, 0), 3100);
	assert_int_equal(cell(1, FIRST, 1), 4100);
	assert_int_equal(f.dropped[0], 1);
}

/* Values that were read late have the time at which they were, in the row of the tick whose sample they are. */
static void late_values_have_their_own_time(void **state)
{
	f.late[1] = TICK;
	samples(0, 1, ROWS, 2 * MS);
	samples(1, 1, ROWS, 2 * MS);
	collect(0);
	assert_int_equal(filled(0, 0), 0xff);
	for (uint32_t row = 0; row < ROWS; row++)
		for (unsigned k = 0; k < UNITS; k++) {
			assert_int_equal(sample_in(k, row), row);
			assert_int_equal(cell(0, BEGIN + k, row), S + (row + 1 + k) * TICK + 2 * MS);
			assert_int_equal(cell(0, END + k, row), S + (row + 1 + k) * TICK + 2 * MS);
		}
}

/* What one has and the other lacks was missed, at its tick, and the times go on from where they were. */
static void a_row_is_missing_where_another_has_it(void **state)
{
	samples(0, 1, ROWS, MS);
	sample(1, 22 * MS); /* row 1 */
	sample(1, 52 * MS); /* row 4 */
	/* Row 7 was read already. */
	f.ring.buf[0]->filled[0].rows[0] = 1u << 7;
	collect(0);
	for (uint32_t row = 0; row < ROWS - 1; row++) {
		static const uint64_t s[] = { 0, 1, 1, 1, 2, 2, 2 };
		bool has = row == 1 || row == 4;

		assert_int_equal(status(0, 1, row), has ? PM_OK : PM_REASON_MISSED);
		assert_int_equal(cell(0, ENABLED + 1, row), 2 * s[row] * 1000 * MS);
		assert_int_equal(cell(0, RUNNING + 1, row), s[row] * 1000 * MS);
		assert_int_equal(cell(0, BEGIN + 1, row), S + (row + 1) * TICK + (has ? 2 * MS : 0));
		assert_int_equal(cell(0, END + 1, row), S + (row + 1) * TICK + (has ? 2 * MS : 0));
		assert_int_equal(status(0, 0, row), PM_OK);
	}
	assert_int_equal(status(0, 1, 7), PM_OK);
	assert_int_equal(cell(0, BEGIN + 1, 7), 0);
	assert_true(f.ring.buf[0]->slot_missing[1]);
	assert_false(f.ring.buf[0]->slot_missing[0]);
	assert_true(f.reader.gaps);
}

static void a_sample_may_lack_a_value(void **state)
{
	const struct pm_chunk_group *g = &f.ring.buf[0]->group[0];

	f.lacks[1] = 3;
	samples(0, 1, ROWS, MS);
	samples(1, 1, ROWS, MS);
	collect(0);
	for (uint32_t row = 0; row < ROWS; row++) {
		assert_int_equal(g->status[(FIRST + 1) * g->stride + row], PM_OK);
		assert_int_equal(g->status[(SECOND + 1) * g->stride + row], row == 2 ? PM_REASON_FORMAT : PM_OK);
	}
	assert_true(f.ring.buf[0]->slot_missing[1]);
	assert_false(f.ring.buf[0]->slot_missing[0]);
}

static void times_are_optional(void **state)
{
	struct slot *s = &f.plan.readout.slot[1];

	/* As in a group without them: nothing is written there. */
	s->enabled = s->running = PM_NONE;
	samples(0, 1, ROWS, MS);
	collect(0);
	assert_int_equal(status(0, 1, 3), PM_REASON_MISSED);
	assert_int_equal(cell(0, ENABLED + 1, 3), 0);
}

/* More than a quarter of 8 rows is 3. */
static void more_than_a_quarter_missing_is_a_gap(void **state)
{
	samples(0, 1, 6, MS);
	samples(1, 1, ROWS, MS);
	collect(0);
	assert_false(f.reader.gaps);
	samples(0, 9, 5, MS);
	samples(1, 9, ROWS, MS);
	collect(1);
	assert_true(f.reader.gaps);
	/* For good. */
	samples(0, 17, ROWS, MS);
	samples(1, 17, ROWS, MS);
	collect(2);
	assert_true(f.reader.gaps);
}

static void few_rows_tell_nothing(void **state)
{
	samples(0, 1, 1, MS);
	collect_samples(&f.reader, &epoch, 0, 1, 7);
	assert_false(f.reader.gaps);
	/* Nor does a CPU that is offline, but its cells say so. */
	f.plan.readout.slot[1].away = true;
	samples(0, 9, ROWS, MS);
	samples(1, 9, ROWS, MS);
	collect(1);
	assert_false(f.reader.gaps);
	assert_int_equal(f.next[1], 0);
	assert_int_equal(status(1, 1, 0), PM_REASON_OFFLINE);
	start_samples(&f.reader);
	assert_int_equal(f.started[0], 2);
	assert_int_equal(f.started[1], 1);
}

static void without_a_buffer_samples_are_dropped_and_counted(void **state)
{
	/* The fifth chunk, while the buffer is still the first one's. */
	samples(0, 33, ROWS + 1, MS);
	samples(1, 33, ROWS, MS);
	collect(4);
	assert_int_equal(f.dropped[0], ROWS);
	assert_int_equal(f.next[0], ROWS);
	assert_int_equal(ring_dropped(&f.ring), ROWS);
	assert_int_equal(filled(0, 0), 0);
	assert_int_equal(f.ring.reader[0].in, 0);
	assert_int_equal(f.clock_reads, 0);
}

static void rows_beyond_the_first_word(void **state)
{
	teardown(state);
	begin_with(MS, 100);
	sample(0, 1 * MS);
	sample(0, 64 * MS);
	sample(0, 65 * MS);
	sample(0, 100 * MS);
	sample(1, 66 * MS);
	collect(0);
	assert_int_equal(filled(0, 0), 1ull | 1ull << 63);
	assert_int_equal(filled(0, 1), 1ull | 1ull << 1 | 1ull << 35);
	assert_int_equal(cell(0, FIRST, 64), 2100);
	assert_int_equal(cell(0, FIRST, 99), 3100);
	assert_int_equal(cell(0, FIRST + 1, 65), 100);
	assert_int_equal(status(0, 0, 65), PM_REASON_MISSED);
	assert_int_equal(cell(0, BEGIN, 65), S + 66 * MS);
	assert_int_equal(status(0, 1, 63), PM_REASON_MISSED);
	/* No row where nobody has a sample. */
	assert_int_equal(status(0, 0, 1), PM_OK);
	/* 100 rows of 128: all of them, less a quarter, are 75. */
	samples(0, 101, 75, 0);
	samples(1, 101, 75, 0);
	f.reader.gaps = false;
	collect(1);
	assert_false(f.reader.gaps);
	samples(0, 201, 74, 0);
	samples(1, 201, 75, 0);
	collect(2);
	assert_true(f.reader.gaps);
}

/* ---- standing in ---- */

static void what_has_no_sample_is_read(void **state)
{
	samples(0, 1, 2, MS);
	sample(1, 11 * MS);
	now = S + 25 * MS;
	read_unsampled(&f.reader, &epoch, 0, 1, 2);
	assert_int_equal(f.reads[0], 0);
	assert_int_equal(f.reads[1], 1);
	assert_int_equal(cell(0, FIRST, 1), 1100);
	assert_int_equal(cell(0, FIRST + 1, 0), 100);
	assert_int_equal(cell(0, FIRST + 1, 1), 70);
	assert_int_equal(cell(0, BEGIN + 1, 1), S + 25 * MS);
	assert_int_equal(cell(0, END + 1, 1), S + 25 * MS + 3000);
	assert_int_equal(f.reader.delay.stood_in, 1);
	assert_int_equal(f.reader.read_ns, S + 25 * MS + 3000);
	assert_int_equal(f.ring.reader[0].in, 0);
	/* Its own sample comes too late. */
	sample(1, 21 * MS);
	read_unsampled(&f.reader, &epoch, 0, 1, 2);
	assert_int_equal(f.reads[1], 1);
	assert_int_equal(f.dropped[1], 1);
	assert_int_equal(cell(0, FIRST + 1, 1), 70);
	collect(0);
	assert_int_equal(filled(0, 0), 3);
	assert_int_equal(status(0, 1, 1), PM_OK);
}

/* Rows that were read are no samples: they do not hide that the kernel takes none. */
static void standing_in_does_not_hide_gaps(void **state)
{
	samples(1, 1, ROWS, MS);
	for (uint64_t tick = 1; tick <= ROWS; tick++) {
		now = S + tick * TICK + 5 * MS;
		read_unsampled(&f.reader, &epoch, 0, 1, tick);
	}
	assert_int_equal(f.reads[0], ROWS);
	collect(0);
	assert_int_equal(filled(0, 0), 0xff);
	assert_true(f.reader.gaps);
	f.reader.gaps = false;
	/* Of another chunk: 2 of 8 were read. */
	samples(0, 9, 6, MS);
	samples(1, 9, ROWS, MS);
	for (uint64_t tick = 15; tick <= 16; tick++)
		read_unsampled(&f.reader, &epoch, 1, 9, tick);
	assert_int_equal(f.reads[0], ROWS + 2);
	collect(1);
	assert_false(f.reader.gaps);
	assert_int_equal(f.reader.delay.stood_in, ROWS + 2);
}

/* A reader that waited for its CPU until the next sample was taken has read what comes after it. */
static void what_is_read_after_the_next_sample_is_missed(void **state)
{
	samples(0, 1, ROWS, MS);
	sample(1, 11 * MS);
	sample(1, 31 * MS);
	now = S + 31 * MS - 1000;
	read_unsampled(&f.reader, &epoch, 0, 1, 2);
	assert_int_equal(f.reads[1], 1);
	assert_int_equal(f.reader.delay.stood_in, 0);
	collect(0);
	assert_int_equal(status(0, 1, 1), PM_REASON_MISSED);
	assert_int_equal(cell(0, BEGIN + 1, 1), S + 2 * TICK);
	assert_int_equal(cell(0, FIRST + 1, 2), 1100);
	assert_int_equal(status(0, 1, 2), PM_OK);
}

static void what_is_dead_or_away_is_not_read(void **state)
{
	f.fails[0] = -ENODEV;
	f.plan.readout.slot[1].away = true;
	read_unsampled(&f.reader, &epoch, 0, 1, 1);
	assert_int_equal(f.reads[0], 1);
	assert_int_equal(f.reads[1], 0);
	assert_int_equal(f.plan.readout.slot[0].dead, -ENODEV);
	assert_int_equal(status(0, 0, 0), PM_REASON_GONE);
	assert_true(f.ring.buf[0]->slot_missing[0] && f.ring.buf[0]->slot_read[0]);
	read_unsampled(&f.reader, &epoch, 0, 1, 2);
	assert_int_equal(f.reads[0], 1);
	/* Nor is what has no samples in the first place, or anything without a buffer. */
	f.plan.readout.slot[1].away = false;
	f.plan.unit[1].sampling = NULL;
	read_unsampled(&f.reader, &epoch, 0, 1, 3);
	f.plan.unit[1].sampling = &sampling;
	read_unsampled(&f.reader, &epoch, 4, 33, 33);
	assert_int_equal(f.reads[1], 0);
	read_unsampled(&f.reader, &epoch, 0, 1, 3);
	assert_int_equal(f.reads[1], 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_goes_to_its_row_with_its_time),
		TEST(late_values_have_their_own_time),
		TEST(lateness_does_not_shift_ticks),
		TEST(a_timer_is_not_early),
		TEST(of_two_in_a_tick_the_first_belongs_to_it),
		TEST(a_row_is_missing_where_another_has_it),
		TEST(a_sample_may_lack_a_value),
		TEST(times_are_optional),
		TEST(more_than_a_quarter_missing_is_a_gap),
		TEST(few_rows_tell_nothing),
		TEST(without_a_buffer_samples_are_dropped_and_counted),
		TEST(rows_beyond_the_first_word),
		TEST(what_has_no_sample_is_read),
		TEST(standing_in_does_not_hide_gaps),
		TEST(what_is_read_after_the_next_sample_is_missed),
		TEST(what_is_dead_or_away_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
