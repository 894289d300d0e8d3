/* The opener's side, asked by somebody who has got hold of its socket: it opens what sampling needs, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/host/opener_private.h"

static struct message_peer peer = MESSAGE_PEER_NONE;
static struct opener_request r;

static int start(void **state)
{
	int end[2];

	assert_int_equal(message_pair(end), 0);
	peer.pid = fork();
	if (!peer.pid)
		opener_serve(end[1], getppid(), true);
	close(end[1]);
	peer.socket = end[0];
	return peer.pid < 0;
}

static int stop(void **state)
{
	message_end(&peer);
	return 0;
}

static int ask(const struct message_fds *fds)
{
	struct message_fds got = { .n = 0 };
	int err = message_ask(&peer, &r, sizeof(r), fds, &got);

	assert_int_equal(got.n, !err && r.result >= 0 && r.what != OPENER_HURRY && r.what != OPENER_IO);
	message_close_fds(&got);
	return err ? err : r.result;
}

static int open_it(const char *path, int flags)
{
	r = (struct opener_request){ .what = OPENER_OPEN, .open.flags = flags };
	snprintf(r.open.path, sizeof(r.open.path), "%s", path);
	return ask(NULL);
}

static void paths(void **state)
{
	static const char *const refused[] = {
		"/etc/passwd",
		"/proc/self/environ",
		"/proc/self/mem",
		"/proc/self/../../etc/passwd",
		"/proc/self/cwd/stat",
		"/proc/self/fd/0",
		"/proc/self/task/../environ",
		"/proc//vmstat",
		"/proc/./vmstat",
		"proc/vmstat",
		"/proc/vmstat/",
		"/proc/sys/kernel/random/uuid",
		"/sys/kernel/debug/tracing/trace_pipe",
		"/sys/class/thermal/x/../../../../etc/passwd",
		"/dev/cpu/../sda",
		"/dev/mem",
		"",
	};
	static const int flags[] = { O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC, O_RDONLY | O_TMPFILE };

	assert_true(open_it("/proc/vmstat", O_RDONLY) >= 0);
	assert_true(open_it("/proc/self/stat", O_RDONLY | O_NOFOLLOW) >= 0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (open_it(refused[i], O_RDONLY) != -EACCES)
			fail_msg("%s: %d", refused[i], r.result);
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		assert_int_equal(open_it("/proc/vmstat", flags[i]), -EACCES);
	/* No end of the text. */
	r = (struct opener_request){ .what = OPENER_OPEN };
	memset(r.open.path, 'a', sizeof(r.open.path));
	assert_int_equal(ask(NULL), -EACCES);
}

static int perf(uint64_t sample_type, bool mmap, pid_t pid)
{
	r = (struct opener_request){ .what = OPENER_PERF, .perf = { .pid = pid, .cpu = -1 } };
	r.perf.attr.a = (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
						  .config = PERF_COUNT_SW_DUMMY,
						  .size = PERF_ATTR_SIZE_VER5,
						  .sample_period = 1000,
						  .sample_type = sample_type,
						  .exclude_kernel = 1,
						  .mmap = mmap };
	return ask(NULL);
}

/* Counts and their times, never what a process has in its registers, its stack or its memory. */
static void events(void **state)
{
	static const uint64_t refused[] = { PERF_SAMPLE_IP,        PERF_SAMPLE_ADDR,
					    PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_RAW,
					    PERF_SAMPLE_REGS_USER, PERF_SAMPLE_STACK_USER,
					    PERF_SAMPLE_PHYS_ADDR, ~0ull };
	int ok = perf(PERF_SAMPLE_TIME | PERF_SAMPLE_READ, false, getpid());

	if (ok < 0)
		skip();
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		assert_int_equal(perf(refused[i] | PERF_SAMPLE_TIME, false, getpid()), -EPERM);
	assert_int_equal(perf(PERF_SAMPLE_TIME, true, getpid()), -EPERM);
	assert_int_equal(perf(PERF_SAMPLE_TIME, false, 0), -EINVAL); /* would be the opener itself */
	r.perf.pid = getpid();
	r.perf.attr.a.ksymbol = 1;
	assert_int_equal(ask(NULL), -EPERM);
}

/* A probe is in the file whose name lies at an address of the opener: it has the memory that this process had. */
static void probes(void **state)
{
	static const char path[] = "/proc/self/exe";
	const char *const file[] = { "/sys/bus/event_source/devices/kprobe/type",
				     "/sys/bus/event_source/devices/uprobe/type" };
	bool any = false;

	for (size_t i = 0; i < 2; i++) {
		FILE *f = fopen(file[i], "r");
		uint32_t type = 0;

		if (!f)
			continue;
		any = true;
		assert_int_equal(fscanf(f, "%" SCNu32, &type), 1);
		fclose(f);
		r = (struct opener_request){ .what = OPENER_PERF, .perf = { .pid = getpid(), .cpu = -1 } };
		r.perf.attr.a = (struct perf_event_attr){
			.type = type, .size = PERF_ATTR_SIZE_VER5, .config1 = (uintptr_t)path, .config2 = 0x1000
		};
		assert_int_equal(ask(NULL), -EPERM);
	}
	if (!any)
		skip();
}

static void others(void **state)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct message_fds fds = { .fd = { null, null }, .n = 2 };

	assert_true(null >= 0);
	/* More descriptors than were said to come. */
	r = (struct opener_request){ .what = OPENER_PERF, .perf = { .pid = getpid(), .cpu = -1, .group = true } };
	assert_int_equal(ask(&fds), -EINVAL);
	/* Not a thread of the recorder. */
	r = (struct opener_request){ .what = OPENER_HURRY, .tid = 1, .realtime = 1 };
	assert_int_equal(ask(NULL), -ESRCH);
	/* A name for it in the file system would be the opener's, not the caller's. */
	r = (struct opener_request){ .what = OPENER_BPF, .bpf = { .command = BPF_OBJ_PIN, .attr_size = 16 } };
	assert_int_equal(ask(NULL), -EPERM);
	r.bpf.command = BPF_PROG_ATTACH;
	assert_int_equal(ask(NULL), -EPERM);
	r = (struct opener_request){ .what = OPENER_BPF, .bpf = { .command = BPF_MAP_CREATE, .attr_size = ~0u } };
	assert_int_equal(ask(NULL), -EINVAL);
	r = (struct opener_request){ .what = OPENER_BPF, .bpf = { .command = BPF_PROG_LOAD, .attr_size = 8 } };
	r.bpf.baggage.n_blobs = 1;
	r.bpf.baggage.blob[0].size = 1u << 30;
	assert_int_equal(ask(NULL), -EINVAL);
	r = (struct opener_request){ .what = 99 };
	assert_int_equal(ask(NULL), -EINVAL);
	close(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(events),
		cmocka_unit_test(probes),
		cmocka_unit_test(others),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
