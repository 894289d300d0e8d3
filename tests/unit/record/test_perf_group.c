/*
 * Groups of events as rows: how members are opened, where their counts go, what replaces counts that are not there, and
 * when a row waits. The kernel is a pipe and functions that the linker puts in the place of syscall(), ioctl() and mmap().
 */
#include "record/perf/perf_group.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"

enum { MEMBERS = 3 };

struct fixture {
	struct event ev[MEMBERS];
	struct perf_event event[MEMBERS];
	struct perf_group *group;
	struct perf_group **all;
	uint32_t n_groups;
	struct perf_row *row;
	struct source source;
	struct reading got;
};

/* A group of three on CPU 5, whose events have the configs 0, 1, 2. */
static void begin_at(struct fixture *f, struct perf_place at)
{
	static const struct perf_group like = { .way = PERF_BY_READ };

	memset(f, 0, sizeof(*f));
	kernel_begin();
	f->group = perf_group_like(&f->all, &f->n_groups, &like);
	assert_non_null(f->group);
	assert_int_equal(f->group->number, 1);
	for (uint32_t k = 0; k < MEMBERS; k++) {
		f->ev[k] = (struct event){ .type = PERF_TYPE_RAW, .config = { k } };
		f->event[k].ev = &f->ev[k];
		perf_attr_fill(&f->event[k].attr, &f->ev[k]);
		f->event[k].attr.a.read_format |= PERF_FORMAT_GROUP;
		perf_group_add(f->group, &f->event[k]);
	}
	f->row = perf_row_new(f->group, at, 0);
	assert_non_null(f->row);
	f->row->unit.source = &f->source;
}

static void begin(struct fixture *f)
{
	begin_at(f, perf_on_cpu(5));
}

static void end(struct fixture *f)
{
	f->row->unit.release(&f->row->unit);
	assert_int_equal(f->group->n_rows, 0);
	perf_group_free(f->group);
	free(f->all);
	kernel_end();
}

static void open_row(struct fixture *f)
{
	assert_int_equal(perf_row_open(f->row, (struct perf_start){ 0 }), 0);
}

/* What the next read() returns. */
static void say(uint64_t enabled, uint64_t running, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t words[] = { MEMBERS, enabled, running, a, b, c };

	assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
}

static int read_row(struct fixture *f)
{
	struct cells c = { .v = f->got.v,
			   .status = f->got.status,
			   .step = 1,
			   .n = MEMBERS,
			   .enabled = &f->got.enabled,
			   .running = &f->got.running,
			   .any_missing = &f->got.missing };

	f->got = (struct reading){ 0 };
	return f->row->unit.read(&f->row->unit, &c);
}

/* A reading in which every value is missing for that reason. */
static void all_missing(struct fixture *f, uint16_t reason)
{
	assert_int_equal(read_row(f), 0);
	for (uint32_t k = 0; k < MEMBERS; k++)
		assert_int_equal(f->got.status[k], reason);
}

static void what_cannot_be_opened_is_missing_alone(void **state)
{
	struct fixture f;

	/* One in the middle, then the leader. */
	for (unsigned bad = 0; bad < 2; bad++) {
		begin(&f);
		refuse[!bad] = ENOENT;
		open_row(&f);
		assert_int_equal(f.row->n_open, 2);
		assert_int_equal(f.row->fd[!bad], -1);
		assert_int_equal(f.row->leader, opened[bad].fd);
		assert_int_equal(n_told, 0);
		{
			uint64_t words[] = { 2, 100, 90, 7, 8 };

			assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
		}
		assert_int_equal(read_row(&f), 0);
		assert_int_equal(f.got.v[bad], 7);
		assert_int_equal(f.got.v[2], 8);
		assert_int_equal(f.got.status[bad], PM_OK);
		assert_int_equal(f.got.status[!bad], PM_REASON_NOT_SUPPORTED);
		assert_int_equal(f.got.status[2], PM_OK);
		assert_true(f.got.missing);
		assert_int_equal(f.got.enabled, 100);
		assert_int_equal(f.got.running, 90);
		end(&f);
	}
	begin(&f);
	refuse[0] = ENOENT;
	refuse[1] = EACCES;
	refuse[2] = EMFILE;
	assert_int_equal(perf_row_open(f.row, (struct perf_start){ .on = true }), -EMFILE);
	assert_int_equal(f.row->missing[1], PM_REASON_NO_PERMISSION);
	assert_int_equal(n_told, 0);
	assert_int_equal(perf_row_enable(f.row, true), 0);
	assert_int_equal(n_told, 0);
	/* There is nothing on this CPU; or others could be opened there, and the reasons are told. */
	all_missing(&f, PM_REASON_OFFLINE);
	f.row->shut = true;
	assert_int_equal(read_row(&f), 0);
	assert_int_equal(f.got.status[0], PM_REASON_NOT_SUPPORTED);
	assert_int_equal(f.got.status[1], PM_REASON_NO_PERMISSION);
	assert_int_equal(f.got.status[2], PM_REASON_ERRNO + EMFILE);
	end(&f);
	/* Without its filter a tracepoint would count too much. */
	begin(&f);
	f.event[1].filter = "x == 1";
	refuse_filter = EINVAL;
	open_row(&f);
	assert_int_equal(told[0].fd, opened[1].fd);
	assert_int_equal(told[0].request, PERF_EVENT_IOC_SET_FILTER);
	assert_int_equal(f.row->n_open, 2);
	assert_int_equal(f.row->missing[1], PM_REASON_ERRNO + EINVAL);
	assert_int_equal(opened[2].fd, opened[1].fd); /* closed */
	end(&f);
}

/* Counts, and the times that go with them, continue where they were when descriptors were closed. */
static void what_was_counted_is_kept(void **state)
{
	uint64_t count, enabled, running;
	struct fixture f;

	begin(&f);
	assert_int_equal(perf_row_count(f.row, 0, &count, &enabled, &running), -ENODATA);
	open_row(&f);
	say(100, 60, 1, 2, 3);
	perf_row_close(f.row, true);
	assert_int_equal(f.row->leader, -1);
	assert_int_equal(fcntl(opened[2].fd, F_GETFD), -1);
	assert_int_equal(perf_row_count(f.row, 0, &count, &enabled, &running), -ENODATA);
	refuse[0] = EBUSY;
	open_row(&f);
	{
		uint64_t words[] = { 2, 1000, 600, 20, 30 };

		assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
		assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
		assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
	}
	assert_int_equal(read_row(&f), 0);
	assert_int_equal(f.got.enabled, 1100);
	assert_int_equal(f.got.running, 660);
	assert_int_equal(f.got.v[1], 22);
	assert_int_equal(f.got.v[2], 33);
	assert_int_equal(f.got.status[0], PM_REASON_ERRNO + EBUSY);
	assert_int_equal(f.row->read_enabled, 1100);
	assert_int_equal(f.row->read_running, 660);
	assert_int_equal(perf_row_count(f.row, 2, &count, &enabled, &running), 0);
	assert_int_equal(count, 33);
	assert_int_equal(enabled, 1100);
	assert_int_equal(running, 660);
	assert_int_equal(perf_row_count(f.row, 0, &count, &enabled, &running), -ENODATA);
	/* Another run begins at 0. */
	perf_row_close(f.row, false);
	assert_int_equal(f.row->read_enabled, 0);
	assert_int_equal(f.row->read_running, 0);
	refuse[0] = 0;
	open_row(&f);
	say(10, 6, 4, 5, 6);
	assert_int_equal(read_row(&f), 0);
	assert_int_equal(f.got.enabled, 10);
	assert_int_equal(f.got.running, 6);
	assert_int_equal(f.got.v[0], 4);
	assert_int_equal(f.got.v[2], 6);
	assert_false(f.got.missing);
	end(&f);
}

static void what_never_ran_was_not_counted(void **state)
{
	struct fixture f;

	begin(&f);
	open_row(&f);
	say(50, 0, 0, 0, 0);
	all_missing(&f, PM_REASON_NOT_COUNTED);
	assert_int_equal(f.got.enabled, 50);
	/* Not yet enabled, and 0 is true. */
	end(&f);
	begin(&f);
	open_row(&f);
	say(0, 0, 0, 0, 0);
	all_missing(&f, PM_OK);
	end(&f);
}

static void the_end_of_a_row(void **state)
{
	struct fixture f;

	/* A task that ended is read once more. */
	begin_at(&f, perf_on_task(7));
	open_row(&f);
	assert_int_equal(opened[0].pid, 7);
	assert_int_equal(opened[0].cpu, -1);
	f.row->end = PERF_ENDING;
	say(50, 50, 1, 2, 3);
	all_missing(&f, PM_OK);
	assert_int_equal(f.got.v[2], 3);
	assert_int_equal(f.row->end, PERF_ENDED);
	all_missing(&f, PM_REASON_GONE);
	f.row->end = PERF_ALIVE;
	/* The time of a task may stand still. */
	say(50, 50, 1, 2, 3);
	all_missing(&f, PM_OK);
	say(50, 50, 1, 2, 3);
	all_missing(&f, PM_OK);
	perf_row_close(f.row, true);
	all_missing(&f, PM_REASON_GONE);
	end(&f);
	/* A pipe that is empty is a failed reading, one without a writer is the end of the file. */
	for (int pinned = 0; pinned < 2; pinned++) {
		begin(&f);
		f.event[0].attr.a.pinned = (unsigned)pinned;
		open_row(&f);
		all_missing(&f, PM_REASON_ERRNO + EAGAIN);
		assert_false(f.row->gave_up);
		close(ends[1]);
		ends[1] = -1;
		all_missing(&f, PM_REASON_NOT_COUNTED);
		assert_int_equal(f.row->gave_up, pinned);
		end(&f);
	}
	/* One that began while recording starts from nothing, without a system call. */
	begin_at(&f, perf_on_task(7));
	open_row(&f);
	f.row->fresh = true;
	memset(f.row->got, 0xee, 6 * sizeof(uint64_t));
	all_missing(&f, PM_OK);
	for (uint32_t k = 0; k < MEMBERS; k++)
		assert_int_equal(f.got.v[k], 0);
	assert_int_equal(f.got.enabled, 0);
	say(50, 50, 1, 2, 3);
	all_missing(&f, PM_OK);
	assert_int_equal(f.got.v[0], 1);
	end(&f);
}

/* By what was read since the last call, once that is long enough. */
static void a_row_lacks_a_counter(void **state)
{
	struct fixture f;

	begin(&f);
	open_row(&f);
	f.row->read_enabled = 499;
	assert_false(perf_row_lacks_counter(f.row, 500));
	f.row->read_enabled = 500;
	assert_true(perf_row_lacks_counter(f.row, 500));
	assert_false(perf_row_lacks_counter(f.row, 500));
	f.row->read_enabled = 1000;
	f.row->read_running = 4;
	assert_true(perf_row_lacks_counter(f.row, 500));
	f.row->read_enabled = 1500;
	f.row->read_running = 9;
	assert_false(perf_row_lacks_counter(f.row, 500));
	/* What the kernel gave up lacks it at once. */
	f.row->gave_up = true;
	assert_true(perf_row_lacks_counter(f.row, 500));
	f.row->end = PERF_ENDED;
	assert_false(perf_row_lacks_counter(f.row, 500));
	f.row->end = PERF_ALIVE;
	perf_row_close(f.row, true);
	assert_false(perf_row_lacks_counter(f.row, 500));
	end(&f);
}

/* ---- rings ---- */

enum { WORDS = 3 + 3 + MEMBERS }; /* head, time, number, times, clock, members */

/* A sample of `words` words with its time and counts that begin with `value`; other records are as long. */
static void put_sample(uint32_t type, unsigned words, uint64_t time_ns, uint64_t enabled, uint64_t value)
{
	struct perf_event_header h = { .type = type, .size = (uint16_t)(words * sizeof(uint64_t)) };
	uint64_t word[WORDS] = { 0, time_ns, words - 5, enabled, 400, time_ns, value, value + 1, value + 2 };

	memcpy(word, &h, sizeof(h));
	put_bytes(word, words * sizeof(*word));
}

static void put_record(uint32_t type, unsigned words, uint64_t time_ns, uint64_t value)
{
	put_sample(type, words, time_ns, 500, value);
}

static void samples_are_values_with_their_times(void **state)
{
	struct cells c = { .step = 1, .n = MEMBERS };
	const struct unit_sampling *s;
	uint64_t time_ns = 0;
	struct fixture f;

	begin(&f);
	c.v = f.got.v;
	c.status = f.got.status;
	c.enabled = &f.got.enabled;
	c.running = &f.got.running;
	c.any_missing = &f.got.missing;
	f.group->sample_ns = 10 * MS;
	open_row(&f);
	s = f.row->unit.sampling;
	assert_non_null(s);
	/* A clock leads, once in 10 ms; the members follow it and have its time. */
	assert_int_equal(n_opened, 1 + MEMBERS);
	assert_int_equal(opened[0].attr.a.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(opened[0].attr.a.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(opened[0].attr.a.sample_period, 10 * MS);
	assert_int_equal(opened[0].attr.a.sample_type, PERF_SAMPLE_TIME | PERF_SAMPLE_READ);
	/* Nothing that nobody asked for. */
	assert_int_equal(opened[0].attr.a.mmap, 0);
	assert_int_equal(opened[0].attr.a.config1, 0);
	assert_int_equal(opened[0].attr.a.branch_sample_type, 0);
	assert_int_equal(opened[0].attr.a.disabled, 1);
	for (unsigned k = 1; k <= MEMBERS; k++) {
		assert_int_equal(opened[k].leader, opened[0].fd);
		assert_int_equal(opened[k].attr.a.disabled, 0);
		assert_int_equal(opened[k].attr.a.use_clockid, 1);
		assert_int_equal(opened[k].attr.a.clockid, CLOCK_MONOTONIC);
	}
	/* 201 samples of 9 words for two seconds: 14,472 bytes, and a page. */
	assert_int_equal(ring->data_size, 16384);
	assert_false(s->peek(&f.row->unit, &time_ns));
	/* Round the ring, with other records between them. */
	for (uint64_t i = 1; i < 400; i++) {
		put_record(PERF_RECORD_LOST, 3, 0, 0);
		put_record(PERF_RECORD_SAMPLE, WORDS, i, 10 * i);
		for (unsigned twice = 0; twice < 2; twice++) {
			assert_true(s->peek(&f.row->unit, &time_ns));
			assert_int_equal(time_ns, i);
		}
		s->take(&f.row->unit, &c);
		for (unsigned k = 0; k < MEMBERS; k++) {
			assert_int_equal(f.got.v[k], 10 * i + k);
			assert_int_equal(f.got.status[k], PM_OK);
		}
		assert_int_equal(f.got.enabled, 500);
		assert_int_equal(f.got.running, 400);
		assert_int_equal(f.row->last_enabled, 500);
		assert_int_equal(ring->data_tail, ring->data_head);
	}
	/* One may be dropped, and those of other members are. */
	put_record(PERF_RECORD_SAMPLE, WORDS - 1, 1000, 1);
	put_record(PERF_RECORD_SAMPLE, WORDS, 1001, 1);
	put_record(PERF_RECORD_SAMPLE, WORDS, 1002, 5);
	assert_true(s->peek(&f.row->unit, &time_ns));
	assert_int_equal(time_ns, 1001);
	s->take(&f.row->unit, NULL);
	assert_true(s->peek(&f.row->unit, &time_ns));
	s->take(&f.row->unit, &c);
	assert_int_equal(f.got.v[0], 5);
	/* A start forgets what waits, and begins an interval. */
	put_record(PERF_RECORD_SAMPLE, WORDS, 1003, 6);
	n_told = 0;
	s->start(&f.row->unit);
	assert_int_equal(told[0].request, PERF_EVENT_IOC_PERIOD);
	assert_int_equal(told[0].fd, opened[0].fd);
	assert_false(s->peek(&f.row->unit, &time_ns));
	/* What is closed has no ring, and its clock is closed, too. */
	perf_row_close(f.row, false);
	assert_null(f.row->unit.sampling);
	assert_int_equal(fcntl(opened[0].fd, F_GETFD), -1);
	assert_false(s->peek(&f.row->unit, &time_ns));
	end(&f);
}

/* The kernel takes the time of a sample first. If the host then takes the CPU away, counts belong to a later time. */
static void counts_may_be_later_than_their_time(void **state)
{
	static const struct {
		uint64_t time_us, enabled_us, late_us;
	} t[] = {
		{ 10000, 7235, 0 }, /* nothing to compare with */
		{ 20000, 17235, 0 },      { 30000, 27470, 235 },
		{ 40000, 37235, 0 },      { 50000, 47330, 0 },
		{ 60000, 57330, 0 },      { 90000, 58000, 0 }, /* it was disabled */
		{ 100000, 80000, 12000 }, { 112001, 80001, 0 },
		{ 122000, 90000, 0 },     { 1000122000, 1000590000, 0 }, /* a clock that is 0.05 % fast */
	};
	const struct unit_sampling *s;
	uint64_t time_ns = 0;
	struct fixture f;

	begin(&f);
	f.group->sample_ns = 10 * MS;
	open_row(&f);
	s = f.row->unit.sampling;
	for (unsigned twice = 0; twice < 2; twice++) {
		s->start(&f.row->unit);
		for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
			put_sample(PERF_RECORD_SAMPLE, WORDS, t[i].time_us * 1000, t[i].enabled_us * 1000, 1);
			assert_true(s->peek(&f.row->unit, &time_ns));
			assert_int_equal(time_ns, t[i].time_us * 1000);
			assert_int_equal(s->take(&f.row->unit, NULL), t[i].late_us * 1000);
		}
	}
	end(&f);
}

/* A member that does not follow the clock takes all of them along: they are read. */
static void what_does_not_follow_the_clock_is_read(void **state)
{
	struct fixture f;

	begin(&f);
	f.group->sample_ns = 10 * MS;
	refuse[1] = EINVAL;
	open_row(&f);
	assert_null(f.row->unit.sampling);
	assert_null(f.row->ring.map);
	assert_int_equal(f.group->sample_ns, 10 * MS);
	assert_int_equal(n_opened, 1 + 2 * MEMBERS);
	assert_int_equal(f.row->n_open, 2);
	assert_int_equal(opened[4].leader, -1);
	assert_int_equal(opened[4].attr.a.use_clockid, 0);
	assert_int_equal(opened[6].leader, opened[4].fd);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_opened_is_missing_alone),
		cmocka_unit_test(what_was_counted_is_kept),
		cmocka_unit_test(what_never_ran_was_not_counted),
		cmocka_unit_test(the_end_of_a_row),
		cmocka_unit_test(a_row_lacks_a_counter),
		cmocka_unit_test(samples_are_values_with_their_times),
		cmocka_unit_test(counts_may_be_later_than_their_time),
		cmocka_unit_test(what_does_not_follow_the_clock_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
