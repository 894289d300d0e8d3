/* Buffers between readers and the writer, step by step in one thread: who is inside what, and whose rows are seen. */
#include "tests/unit/lib/fake_plan.h"

#include <sys/mman.h>
#include <unistd.h>

#include "record/host/clocks.h"
#include "record/sample/ring.h"

#define ROWS 4

struct fixture {
	struct fake_plan plan;
	struct ring ring;
	_Atomic uint32_t wake;
};

/* Two readers of one place each, with one counter, in a group with places for more; four rows of 10 ms a chunk; four
 * buffers. */
static void begin_with(struct fixture *f, uint32_t places)
{
	struct error e = { 0 };
	uint32_t g;

	memset(f, 0, sizeof(*f));
	fake_begin(&f->plan);
	g = fake_group(&f->plan, 1, places, PM_GROUP_PERF_TIMES);
	fake_unit(&f->plan, g, 0, 0);
	fake_unit(&f->plan, g, 1, 1);
	assert_int_equal(readout_init(&f->plan.readout, &f->plan.plan, 10 * MS, ROWS * 10 * MS, true, NULL, &e), 0);
	assert_int_equal(f->plan.readout.rows, ROWS);
	assert_int_equal(f->plan.readout.n_readers, 2);
	ring_init(&f->ring, &f->plan.readout, 0, &f->wake);
}

static void begin(struct fixture *f)
{
	begin_with(f, 2);
}

static void end(struct fixture *f)
{
	ring_release(&f->ring);
	fake_end(&f->plan);
}

/* Columns of the group: begin, end, enabled, running of both readers in turn, then their values. */
static uint64_t *cell(struct ring_buf *b, uint32_t column, uint32_t row)
{
	return &b->group[0].v[column * b->group[0].stride + row];
}

/* Reader `i` fills a row: its columns have the row in the last digit. */
static void fill(struct ring_buf *b, uint32_t i, uint32_t row)
{
	for (uint32_t column = i; column < 10; column += 2)
		*cell(b, column, row) = 100 * column + row;
	b->slot_read[i] = true;
	ring_fill(b, i, 0, 1u << row);
}

/* All of a chunk, and on to the next one. */
static void pass(struct fixture *f, uint32_t i, uint64_t chunk)
{
	struct ring_buf *b = ring_enter(&f->ring, i, chunk);

	assert_non_null(b);
	for (uint32_t row = 0; row < ROWS; row++)
		fill(b, i, row);
	ring_exit(&f->ring, i);
	ring_leave(&f->ring, i, chunk + 1);
}

static struct ring_buf *take(struct fixture *f, uint64_t expected, const struct ring_epoch **e)
{
	struct ring_buf *b = ring_take(&f->ring, e);

	if (b)
		assert_int_equal(f->ring.next, expected);
	return b;
}

/* So long ago that every chunk is late. */
static const struct ring_epoch long_ago = { .run = 1, .first_number = 1, .last_number = 1000, .start_ns = 1 };

static void memory_decides_how_many_there_are(void **state)
{
	static const struct {
		size_t bytes;
		uint32_t n;
	} cases[] = {
		/* 10 columns of 8 bytes in 4 rows, and 4096: 4416 */
		{ 0, 4 }, { 5 * 4416 - 1, 4 }, { 5 * 4416, 5 }, { 63 * 4416, 63 }, { 1 << 20, 64 },
	};
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ring_release(&f.ring);
		ring_init(&f.ring, &f.plan.readout, cases[i].bytes, &f.wake);
		assert_int_equal(f.ring.n_bufs, cases[i].n);
	}
	end(&f);
}

/* Pages of a buffer that have no memory yet. */
static size_t cold_pages(const struct ring_buf *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), cold = 0;
	unsigned char there;

	for (size_t at = 0; at < b->size; at += page) {
		assert_int_equal(mincore((char *)b->cells + at, page, &there), 0);
		cold += !(there & 1);
	}
	return cold;
}

static void buffers_have_their_memory_before_their_turn(void **state)
{
	struct ring_epoch first = long_ago;
	const struct ring_epoch *e;
	struct fixture f;

	begin_with(&f, 400);
	ring_release(&f.ring);
	ring_init(&f.ring, &f.plan.readout, 1 << 24, &f.wake);
	assert_int_equal(f.ring.n_bufs, 64);
	assert_true(ring_begin(&f.ring, &first));
	for (uint32_t chunk = 0; chunk < 64; chunk++) {
		for (uint32_t i = chunk; i < 64 && i < chunk + 4; i++)
			assert_int_equal(cold_pages(f.ring.buf[i]), 0);
		ring_leave(&f.ring, 0, chunk + 1);
		ring_leave(&f.ring, 1, chunk + 1);
		ring_give_back(&f.ring, take(&f, chunk, &e));
	}
	end(&f);
}

static void the_last_one_to_leave_wakes_the_writer(void **state)
{
	const struct ring_epoch *e;
	struct ring_epoch first = long_ago;
	struct fixture f;
	struct ring_buf *b;

	begin(&f);
	first.start_ns = clocks_monotonic();
	assert_null(take(&f, 0, &e));
	assert_int_equal(ring_due(&f.ring), 0);
	assert_true(ring_begin(&f.ring, &first));
	assert_int_equal(f.wake, 1);
	pass(&f, 0, 0);
	assert_int_equal(f.wake, 1);
	assert_null(take(&f, 0, &e));
	pass(&f, 1, 0);
	assert_int_equal(f.wake, 2);
	b = take(&f, 0, &e);
	assert_non_null(b);
	assert_int_equal(e->last_number, 1000);
	ring_give_back(&f.ring, b);
	assert_null(take(&f, 1, &e));
	/* It is free for the chunk that comes round to it, not before. */
	assert_int_equal(b->chunk, 4);
	assert_int_equal(b->filled[0].rows[0], 0);
	assert_false(b->slot_read[0]);
	assert_ptr_equal(ring_enter(&f.ring, 0, 4), b);
	assert_null(ring_enter(&f.ring, 0, 5));
	assert_null(ring_enter(&f.ring, 0, 0));
	/* A reader for which there was none counts what it dropped; the reader that lost most is what was lost. */
	ring_drop(&f.ring, 0, 5, 3);
	ring_drop(&f.ring, 0, 6, 4);
	ring_drop(&f.ring, 1, 5, 3);
	assert_int_equal(ring_dropped(&f.ring), 7);
	end(&f);
}

/* A tick can be taken until the next one is due, and 200 ms more. */
static void a_chunk_is_due_after_its_last_tick(void **state)
{
	const uint64_t start = 1000000 * MS;
	struct ring_epoch e = { .first_number = 1, .last_number = 6, .start_ns = start };
	const struct ring_epoch *of;
	struct fixture f;

	begin(&f);
	assert_true(ring_begin(&f.ring, &e));
	assert_int_equal(ring_due(&f.ring), start + 50 * MS + 200 * MS);
	for (uint64_t chunk = 0; chunk < 2; chunk++) {
		pass(&f, 0, chunk);
		pass(&f, 1, chunk);
		ring_give_back(&f.ring, take(&f, chunk, &of));
		/* Rows 5 and 6 are the last ones; then there is nothing to wait for. */
		assert_int_equal(ring_due(&f.ring), chunk ? 0 : start + 70 * MS + 200 * MS);
	}
	/* A single snapshot has no time; it is taken when all have left. */
	assert_int_equal(ring_leave_all(&f.ring, 2), 2);
	e = (struct ring_epoch){ .first_chunk = 2, .first_number = 7, .last_number = 7, .tick_ns = 5 };
	assert_true(ring_begin(&f.ring, &e));
	assert_int_equal(ring_due(&f.ring), 0);
	/* A new epoch ends the one before, however far that went. */
	assert_int_equal(ring_leave_all(&f.ring, 3), 3);
	e = (struct ring_epoch){ .first_chunk = 3, .first_number = 8, .last_number = 90, .start_ns = start };
	assert_true(ring_begin(&f.ring, &e));
	ring_give_back(&f.ring, take(&f, 2, &of));
	assert_int_equal(of->first_number, 7);
	assert_int_equal(of->serial, 1);
	assert_int_equal(ring_due(&f.ring), start + 120 * MS + 200 * MS);
	/* Rings are emptied a chunk later. */
	f.plan.readout.n_reading = 1;
	assert_int_equal(ring_due(&f.ring), start + 160 * MS + 200 * MS);
	f.plan.readout.n_reading = 2;
	/* Stopped: nobody fills it. */
	assert_int_equal(ring_leave_all(&f.ring, 3), 3);
	assert_int_equal(ring_due(&f.ring), 0);
	end(&f);
}

static void epochs_that_nobody_writes_are_refused(void **state)
{
	struct fixture f;

	begin(&f);
	for (uint32_t i = 0; i < RING_EPOCHS; i++)
		assert_true(ring_begin(&f.ring, &long_ago));
	assert_false(ring_begin(&f.ring, &long_ago));
	end(&f);
}

static void check_row(struct ring_buf *b, uint32_t i, uint32_t row)
{
	for (uint32_t column = i; column < 10; column += 2)
		assert_int_equal(*cell(b, column, row), 100 * column + row);
	for (uint32_t column = 8 + i; column < 10; column += 2)
		assert_int_equal(b->group[0].status[column * ROWS + row], PM_OK);
}

/* A late reader loses the rows that it has not finished, and no other; what it does in its buffer is in no row. */
static void a_late_reader_is_left_inside(void **state)
{
	const struct ring_epoch *e;
	struct ring_buf *late, *b, *left = NULL;
	struct fixture f;
	struct rows *rows = &f.ring.rows;
	struct pm_chunk c;

	begin(&f);
	assert_true(ring_begin(&f.ring, &long_ago));
	late = ring_enter(&f.ring, 1, 0);
	fill(late, 1, 0);
	fill(late, 1, 2);
	*cell(late, 9, 3) = 5555; /* of a row that is not finished */
	late->group[0].status[9 * ROWS + 3] = PM_REASON_FORMAT;
	late->clocks.monotonic = 77;
	late->slept_row = 2;
	late->slept_ns = 6;
	pass(&f, 0, 0);
	b = take(&f, 0, &e);
	assert_non_null(b);
	assert_ptr_not_equal(b, late);
	assert_null(ring_enter(&f.ring, 1, 0)); /* closed */
	f.ring.reader[1].in = 1;                /* still inside the old one */
	assert_int_equal(b->clocks.monotonic, 77);
	assert_int_equal(b->slept_row, 2);
	assert_int_equal(b->slept_ns, 6);
	assert_int_equal(late->slept_ns, 0);
	assert_int_equal(rows->n, ROWS);
	for (uint32_t row = 0; row < ROWS; row++) {
		assert_int_equal(rows->number[row], 1 + row);
		assert_int_equal(rows->tick[row], 1 + (1 + row) * 10 * MS);
		check_row(b, 0, row);
	}
	check_row(b, 1, 0);
	check_row(b, 1, 2);
	for (uint32_t row = 1; row < ROWS; row += 2) {
		/* The value and the times counted stay as they were, begin and end are the tick. */
		assert_int_equal(b->group[0].status[9 * ROWS + row], PM_REASON_MISSED);
		assert_int_equal(*cell(b, 9, row), 900 + row - 1);
		assert_int_equal(*cell(b, 5, row), 500 + row - 1);
		assert_int_equal(*cell(b, 7, row), 700 + row - 1);
		assert_int_equal(*cell(b, 1, row), rows->tick[row]);
		assert_int_equal(*cell(b, 3, row), rows->tick[row]);
	}
	rows_chunk(rows, b, 1, 2, &c);
	assert_int_equal(c.n_groups, 1);
	assert_int_equal(c.number[0], 2);
	assert_int_equal(c.group[0].status[9 * ROWS], PM_REASON_MISSED);
	ring_give_back(&f.ring, b);

	/* The next chunk goes without it, in its own buffer. */
	late->slept_ns = 9;
	pass(&f, 0, 1);
	b = take(&f, 1, &e);
	assert_int_equal(b->slept_ns, 0);
	assert_int_equal(rows->n, ROWS);
	assert_int_equal(rows->number[0], 5);
	assert_int_equal(*cell(b, 9, 0), 0);
	assert_int_equal(b->group[0].status[9 * ROWS], PM_REASON_MISSED);
	ring_give_back(&f.ring, b);

	/* When it has left, what it found of a suspend is told, once; then its buffer is used again, clean. */
	ring_exit(&f.ring, 1);
	for (uint64_t chunk = 2; chunk < 4; chunk++) {
		late = ring_enter(&f.ring, 1, chunk);
		*cell(late, 9, 1) = 4444;
		late->group[0].status[9 * ROWS + 1] = PM_REASON_FORMAT;
		pass(&f, 0, chunk);
		b = take(&f, chunk, &e);
		assert_ptr_not_equal(b, late);
		assert_int_equal(b == left, chunk == 3);
		assert_int_equal(b->slept_row, chunk == 2 ? 0 : PM_NONE);
		assert_int_equal(b->slept_ns, chunk == 2 ? 9 : 0);
		assert_int_equal(b->clocks.monotonic, 0);
		for (uint32_t row = 0; row < ROWS; row++) {
			assert_int_equal(b->group[0].status[9 * ROWS + row], PM_REASON_MISSED);
			assert_int_equal(*cell(b, 9, row), 0);
			check_row(b, 0, row);
		}
		ring_give_back(&f.ring, b);
		ring_exit(&f.ring, 1);
		left = late;
	}
	for (uint64_t chunk = 4; chunk < 8; chunk++) {
		pass(&f, 0, chunk);
		pass(&f, 1, chunk);
		b = take(&f, chunk, &e);
		assert_int_equal(b->slept_ns, 0);
		assert_int_equal(b->slept_row, PM_NONE);
		for (uint32_t row = 0; row < ROWS; row++) {
			assert_int_equal(rows->flags[row], PM_SNAPSHOT_TICK);
			check_row(b, 0, row);
			check_row(b, 1, row);
		}
		rows_chunk(rows, b, 0, ROWS, &c);
		assert_null(c.group[0].status);
		ring_give_back(&f.ring, b);
	}
	/* The first one may be it, too. */
	late = ring_enter(&f.ring, 0, 8);
	pass(&f, 1, 8);
	b = take(&f, 8, &e);
	assert_ptr_not_equal(b, late);
	check_row(b, 1, 0);
	ring_give_back(&f.ring, b);
	ring_exit(&f.ring, 0);
	end(&f);
}

/* Snapshots that nobody took are not there, and what comes after them moves up. */
static void gaps_are_closed(void **state)
{
	struct ring_epoch last = { .first_number = 1, .last_number = 4, .start_ns = 1, .flags = PM_SNAPSHOT_LAST };
	const struct ring_epoch *e;
	struct fixture f;
	struct rows *rows = &f.ring.rows;
	struct pm_chunk c;
	struct ring_buf *b;

	begin(&f);
	assert_true(ring_begin(&f.ring, &last));
	for (uint32_t i = 0; i < 2; i++) {
		b = ring_enter(&f.ring, i, 0);
		fill(b, i, 1);
		fill(b, i, 3);
		b->slot_read[i] = false;
		ring_exit(&f.ring, i);
		ring_leave(&f.ring, i, 1);
	}
	b = take(&f, 0, &e);
	assert_int_equal(rows->n, 2);
	assert_int_equal(rows->number[0], 2);
	assert_int_equal(rows->number[1], 4);
	assert_int_equal(rows->place[1], 3);
	assert_int_equal(rows->flags[0], PM_SNAPSHOT_TICK);
	assert_int_equal(rows->flags[1], PM_SNAPSHOT_LAST);
	for (uint32_t column = 0; column < 10; column++) {
		assert_int_equal(*cell(b, column, 0), 100 * column + 1);
		assert_int_equal(*cell(b, column, 1), 100 * column + 3);
	}
	/* Where a row of the buffer went: a missing one to the next that is there. */
	assert_int_equal(rows_split(rows, 1), 0);
	assert_int_equal(rows_split(rows, 2), 1);
	assert_int_equal(rows_split(rows, 3), 1);
	assert_int_equal(rows_split(rows, PM_NONE), 0);
	/* A group of which nothing was due is not in the chunk. */
	rows_chunk(rows, b, 0, 2, &c);
	assert_int_equal(c.rows, 2);
	assert_int_equal(c.n_groups, 0);
	ring_give_back(&f.ring, b);
	/* Nothing at all. */
	assert_int_equal(ring_leave_all(&f.ring, 2), 2);
	b = take(&f, 1, &e);
	assert_int_equal(rows->n, 0);
	end(&f);
}

UNIT_TESTS(cmocka_unit_test(memory_decides_how_many_there_are),
	   cmocka_unit_test(buffers_have_their_memory_before_their_turn),
	   cmocka_unit_test(the_last_one_to_leave_wakes_the_writer),
	   cmocka_unit_test(a_chunk_is_due_after_its_last_tick),
	   cmocka_unit_test(epochs_that_nobody_writes_are_refused), cmocka_unit_test(a_late_reader_is_left_inside),
	   cmocka_unit_test(gaps_are_closed))
