/*
 * A PMU that goes while its events are open, as Linux 6.15 and later have it: reads go on with what stood there last,
 * and ioctl() says ENODEV. The kernel is played by a pipe and by functions that the linker puts in the place of
 * syscall() and ioctl().
 */
#include "record/perf/perf_group.h"
#include "tests/unit/lib/perf_world.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
int __real_ioctl(int fd, unsigned long request, unsigned long arg);
int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);

static int ends[2];
static bool revoked;
static unsigned asked;

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	return number == SYS_perf_event_open ? dup(ends[0]) : __real_syscall(number, a, b, c, d, e);
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg)
{
	if (request != PERF_EVENT_IOC_ID)
		return 0;
	asked++;
	errno = ENODEV;
	return revoked ? -1 : 0;
}

/* What the next read() of the group gets: `n` values after the three words of the head. */
static void say_shared(uint64_t enabled, uint64_t running, uint64_t value, uint64_t n)
{
	uint64_t words[5] = { n, enabled, running, value, value };
	size_t len = (3 + n) * sizeof(*words);

	assert_int_equal(write(ends[1], words, len), (ssize_t)len);
}

static void say(uint64_t enabled, uint64_t value, uint64_t n)
{
	say_shared(enabled, enabled, value, n);
}

static int read_once(struct unit *u, struct reading *r)
{
	struct cells c = { .v = r->v,
			   .status = r->status,
			   .step = 1,
			   .n = 2,
			   .enabled = &r->enabled,
			   .running = &r->running,
			   .any_missing = &r->missing };

	*r = (struct reading){ 0 };
	return u->read(u, &c);
}

static void group_of_a_cpu(void **state)
{
	struct world *w;
	struct reading r;
	struct unit *u;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	revoked = false;
	w = world_new(TARGET_SYSTEM, "{page-faults,context-switches}", NULL, NULL);
	world_begin(w, NULL);
	assert_int_equal(world_plan(w), 0);
	u = w->plan.units;
	assert_non_null(u);
	asked = 0;
	say(1000, 5, 2);
	assert_int_equal(read_once(u, &r), 0);
	say(2000, 5, 2);
	assert_int_equal(read_once(u, &r), 0);
	assert_int_equal(r.v[1], 5);
	/* Time that goes on costs no question. */
	assert_int_equal(asked, 0);
	/* Disabled events stand still, too, and stay. */
	say(2000, 5, 2);
	assert_int_equal(read_once(u, &r), 0);
	assert_int_equal(asked, 1);
	assert_int_equal(r.status[1], PM_OK);
	/* Those that are enabled do so where their CPU is offline: what stands there is not what they counted. */
	source_perf.enable(&w->source, true);
	assert_false(atomic_load(&w->source.stale));
	say(2000, 5, 2);
	assert_int_equal(read_once(u, &r), 0);
	assert_int_equal(r.status[0], PM_REASON_OFFLINE);
	assert_int_equal(r.status[1], PM_REASON_OFFLINE);
	/* Somebody has to open them anew. */
	assert_true(atomic_load(&w->source.stale));
	say(3000, 6, 2);
	assert_int_equal(read_once(u, &r), 0);
	assert_int_equal(r.status[1], PM_OK);
	say(3000, 6, 2);
	assert_int_equal(read_once(u, &r), 0);
	/* Gone: the leader alone, as it stood. */
	revoked = true;
	say(3000, 6, 1);
	assert_int_equal(read_once(u, &r), -ENODEV);
	say(3000, 6, 2);
	assert_int_equal(read_once(u, &r), -ENODEV);
	world_end(w, true);
	free(w);
	close(ends[0]);
	close(ends[1]);
}

/* The CPU was away: what was counted before stays in all three numbers. */
static void opened_anew(void **state)
{
	struct perf_row *row;
	struct reading r;
	struct world *w;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	revoked = false;
	w = world_new(TARGET_SYSTEM, "{page-faults,context-switches}", NULL, NULL);
	world_begin(w, NULL);
	assert_int_equal(world_plan(w), 0);
	assert_non_null(w->plan.units);
	row = (struct perf_row *)w->plan.units;
	for (unsigned times = 1; times <= 2; times++) {
		say_shared(1000, 600, 5, 2);
		perf_row_close(row, true);
		assert_int_equal(perf_row_open(row, (struct perf_start){ 0 }), 0);
		say_shared(200, 100, 1, 2);
		assert_int_equal(read_once(&row->unit, &r), 0);
		assert_int_equal(r.enabled, 1000 * times + 200);
		assert_int_equal(r.running, 600 * times + 100);
		assert_int_equal(r.v[0], 5 * times + 1);
		assert_int_equal(r.v[1], 5 * times + 1);
	}
	world_end(w, true);
	free(w);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group_of_a_cpu),
		cmocka_unit_test(opened_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
