/*
 * The queue before the file, with a sink that takes, refuses or holds what it is given. Time is the test's: each look
 * at the clock is a millisecond later than the one before, and waits for a time that is long past are over at once.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/host/clocks.h"
#include "record/output/outlet.h"
#include "tests/unit/lib/test.h"

#define MS 1000000ull

static _Atomic uint64_t now;

uint64_t __wrap_clocks_monotonic(void);

uint64_t __wrap_clocks_monotonic(void)
{
	return atomic_fetch_add(&now, MS) + MS;
}

static bool starts_slowly;

int __real_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);

int __wrap_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
	if (option == PR_SET_PDEATHSIG && starts_slowly)
		nanosleep(&(struct timespec){ .tv_nsec = 400000000 }, NULL);
	return __real_prctl(option, a, b, c, d);
}

static struct {
	_Atomic unsigned calls, failures, stalls;
	_Atomic int refusals, error; /* so often, with this error */
	_Atomic unsigned holds_ms;   /* of the machine's time, at most */
	_Atomic bool released, is_held, resumes;
	_Atomic int failed_with, stalled_with;
	uint64_t at[16];
	int ctx[16];
	size_t len[16];
	char first[16];
} seen;
static int target_ctx[2] = { 1, 2 };
static struct outlet *o, *given_up[2]; /* whose memory stays, since the sink may be in it */
static struct error e;

static int sink(void *ctx, const void *data, size_t len)
{
	unsigned n = seen.calls++;

	if (n < 16) {
		seen.at[n] = now;
		seen.ctx[n] = *(int *)ctx;
		seen.len[n] = len;
		seen.first[n] = len ? *(const char *)data : 0;
	}
	for (unsigned i = 0; i < seen.holds_ms && !seen.released; i++) {
		seen.is_held = true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	seen.is_held = false;
	if (seen.refusals <= 0)
		return 0;
	seen.refusals--;
	return seen.error;
}

static bool stalled(void *ctx, int err)
{
	seen.stalls++;
	seen.stalled_with = err;
	return seen.resumes;
}

static void failed(void *ctx, int err)
{
	seen.failures++;
	seen.failed_with = err;
}

static void begin(size_t bytes)
{
	struct outlet_config config = { .bytes = bytes, .sink = sink, .stalled = stalled, .failed = failed };

	memset(&seen, 0, sizeof(seen));
	now = 0;
	assert_int_equal(outlet_new(&o, &config, &e), 0);
	/* What never ends is a failure. */
	alarm(30);
}

static int put(unsigned target, const char *text, size_t len)
{
	struct outlet_target t = { .outlet = o, .sink_ctx = &target_ctx[target] };
	char data[2000];

	memset(data, text[0], sizeof(data));
	return outlet_put(&t, data, len);
}

static void until_held(void)
{
	while (!seen.is_held)
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
}

static void frames_come_in_order_to_their_files(void **state)
{
	begin(0);
	assert_int_equal(put(0, "a", 3), 0);
	assert_int_equal(put(1, "b", 1), 0);
	assert_int_equal(put(0, "-", 0), 0);
	assert_true(outlet_await_empty(o));
	assert_int_equal(seen.calls, 3);
	assert_int_equal(seen.ctx[0], 1);
	assert_int_equal(seen.len[0], 3);
	assert_int_equal(seen.first[0], 'a');
	assert_int_equal(seen.ctx[1], 2);
	assert_int_equal(seen.len[1], 1);
	assert_int_equal(seen.first[1], 'b');
	assert_int_equal(seen.ctx[2], 1);
	assert_int_equal(seen.len[2], 0);
	assert_int_equal(outlet_state(o).bytes, 0);
	assert_int_equal(outlet_state(o).stalls, 0);
	assert_int_equal(outlet_forgive(o), 0);
	outlet_free(o);
	outlet_free(NULL);
}

static void who_finds_no_room_waits(void **state)
{
	struct outlet_state s;

	begin(1000);
	seen.holds_ms = 20000;
	/* Alone it fits whatever its size. */
	assert_true(outlet_await_room(o, 5000));
	put(0, "a", 600);
	until_held();
	assert_int_equal(outlet_state(o).bytes, 600);
	assert_true(outlet_await_room(o, 400));
	assert_int_equal(outlet_state(o).stalls, 0);
	put(0, "b", 400);
	put(0, "-", 0);
	assert_int_equal(outlet_state(o).bytes, 1001);
	seen.holds_ms = 10;
	assert_true(outlet_await_room(o, 401));
	s = outlet_state(o);
	assert_int_equal(s.stalls, 1);
	assert_true(s.stalled_ns >= MS);
	assert_true(s.bytes <= 599);
	assert_true(outlet_await_empty(o));
	/* Waits for room only, not for all: 600 of 1000 are enough for the next. */
	seen.holds_ms = 10;
	put(0, "c", 500);
	assert_true(outlet_await_room(o, 5000));
	assert_int_equal(outlet_state(o).bytes, 0);
	assert_int_equal(outlet_state(o).stalls, 2);
	outlet_free(o);
}

/* A disk that was full is tried again, each fifth of a second. */
static void a_stalled_sink_is_tried_again(void **state)
{
	begin(0);
	seen.refusals = 2;
	seen.error = -ENOSPC;
	seen.resumes = true;
	put(0, "a", 10);
	put(0, "b", 20);
	assert_true(outlet_await_empty(o));
	assert_int_equal(seen.calls, 4);
	assert_int_equal(seen.stalls, 2);
	assert_int_equal(seen.stalled_with, -ENOSPC);
	assert_int_equal(seen.failures, 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(seen.first[i], 'a');
	assert_int_equal(seen.len[2], 10);
	assert_int_equal(seen.first[3], 'b');
	assert_true(seen.at[1] - seen.at[0] >= 200 * MS);
	assert_true(seen.at[2] - seen.at[1] >= 200 * MS);
	assert_int_equal(outlet_forgive(o), 0);
	/* Near the end it is not. */
	seen.refusals = 1000000;
	outlet_hurry(o);
	put(0, "c", 10);
	assert_true(outlet_await_empty(o));
	assert_int_equal(seen.calls, 5);
	assert_int_equal(seen.stalls, 2);
	assert_int_equal(seen.failures, 1);
	outlet_free(o);
}

static void after_a_failure_nothing_is_written(void **state)
{
	begin(0);
	seen.refusals = 1;
	seen.error = -EIO;
	put(0, "a", 10);
	put(0, "b", 10);
	put(0, "c", 10);
	assert_true(outlet_await_empty(o));
	assert_int_equal(seen.calls, 1);
	assert_int_equal(seen.stalls, 1);
	assert_int_equal(seen.failures, 1);
	assert_int_equal(seen.failed_with, -EIO);
	assert_int_equal(outlet_forgive(o), -EIO);
	assert_int_equal(outlet_forgive(o), 0);
	put(1, "d", 10);
	assert_true(outlet_await_empty(o));
	assert_int_equal(seen.calls, 2);
	assert_int_equal(seen.first[1], 'd');
	outlet_free(o);
}

/* Since the last frame that was taken, or since the end came near, whichever is later; sooner after another signal. */
static void nobody_waits_for_ever_at_the_end(void **state)
{
	sigset_t interrupt;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, NULL);
	for (unsigned again = 0; again < 2; again++) {
		const uint64_t patience = again ? 300 * MS : 1500 * MS;
		uint64_t before;

		begin(0);
		seen.holds_ms = 20000;
		put(0, "a", 10);
		until_held();
		if (again)
			raise(SIGINT);
		now += 5000 * MS;
		outlet_hurry(o);
		before = now;
		now += 10 * MS;
		outlet_hurry(o);
		assert_false(outlet_await_empty(o));
		assert_true(now - before > patience && now - before < patience + 100 * MS);
		assert_true(outlet_state(o).given_up);
		assert_false(outlet_await_room(o, 5000));
		assert_int_equal(outlet_state(o).bytes, 10);
		/* Nor does the end of the program. */
		given_up[again] = o;
		outlet_free(o);
		seen.released = true;
		if (again)
			sigtimedwait(&interrupt, NULL, &(struct timespec){ 0 });
	}
	sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}

static void what_waits_is_not_written_after_the_end(void **state)
{
	begin(0);
	seen.holds_ms = 10;
	put(0, "a", 10);
	put(0, "b", 10);
	until_held();
	outlet_free(o);
	assert_int_equal(seen.calls, 1);
}

/* The end of the pipe that the writing process holds closes when that process ends. */
static void a_program_that_ends_at_once_leaves_no_process(void **state)
{
	const struct outlet_config config = { .sink = sink };
	struct pollfd p = { .events = POLLIN };
	int end[2];
	pid_t pid;

	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (!pid) {
		starts_slowly = true;
		if (outlet_new(&o, &config, &e))
			_exit(1);
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		_exit(0);
	}
	close(end[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	p.fd = end[0];
	assert_int_equal(poll(&p, 1, 20000), 1);
	close(end[0]);
}

/* --keep of perfstat and turbostat: the file goes on when nobody reads the copy. */
static void a_copy_ends_nothing(void **state)
{
	int to[2], copy[2];
	struct output out = { 0 };
	char got[8];

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(copy), 0);
	out.fd = to[1];
	out.copy = copy[1];
	assert_int_equal(outlet_write(&out, "one", 3), 0);
	assert_int_equal(read(copy[0], got, sizeof(got)), 3);
	assert_memory_equal(got, "one", 3);
	close(copy[0]);
	assert_int_equal(outlet_write(&out, "two", 3), 0);
	assert_int_equal(out.copy, 0);
	assert_int_equal(read(to[0], got, sizeof(got)), 6);
	assert_memory_equal(got, "onetwo", 6);
	assert_int_equal(out.bytes, 6);
	close(to[0]);
	close(to[1]);
}

UNIT_TESTS(cmocka_unit_test(a_copy_ends_nothing), cmocka_unit_test(frames_come_in_order_to_their_files),
	   cmocka_unit_test(who_finds_no_room_waits), cmocka_unit_test(a_stalled_sink_is_tried_again),
	   cmocka_unit_test(after_a_failure_nothing_is_written),
	   cmocka_unit_test(what_waits_is_not_written_after_the_end),
	   cmocka_unit_test(nobody_waits_for_ever_at_the_end),
	   cmocka_unit_test(a_program_that_ends_at_once_leaves_no_process))
