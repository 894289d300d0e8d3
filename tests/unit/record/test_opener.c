/* The opener's side, asked by somebody who has got hold of its socket: it opens what sampling needs, and nothing else. */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "record/host/opener.h"
#include "tests/unit/lib/test.h"

static struct message_peer peer = MESSAGE_PEER_NONE;
static struct opener_request r;

static int start(void **state)
{
	int end;
	pid_t pid = message_fork(&peer, &end);

	/* So few that none may be left open. */
	if (!pid && setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 16, 16 }))
		_exit(1);
	if (!pid)
		opener_serve(end, getppid(), true);
	return pid < 0;
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
	/* Without a descriptor of a cgroup that came along, a number is a process, not what the opener has open. */
	r.perf.pid = getpid();
	r.perf.flags = PERF_FLAG_PID_CGROUP;
	assert_true(ask(NULL) >= 0);
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
	for (unsigned i = 0; i < 20; i++) {
		r.what = OPENER_PERF;
		assert_int_equal(ask(&fds), -EINVAL);
	}
	/* Not a thread of the recorder. */
	r = (struct opener_request){ .what = OPENER_HURRY, .tid = 1 };
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

/* What a request says of its bytes is not believed: the opener refuses, and goes on. */
static void baggage(void **state)
{
	const uint16_t key = offsetof(union bpf_attr, key), size = sizeof(union bpf_attr);
	struct {
		struct opener_baggage b;
		uint32_t attr_size;
	} cases[] = {
		{ { .n_blobs = OPENER_BLOBS + 1 }, size },
		{ { .n_blobs = 1u << 31 }, size },
		{ { .n_fds = 3 }, size },
		{ { .n_fds = 1u << 31 }, size },
		{ .attr_size = size + 1u },
		{ { .code = true }, size },
		/* Beyond the attribute, or the blob that has it; in one that comes later, or in itself. */
		{ { .n_blobs = 1, .blob = { { .at = size - 7 } } }, size },
		{ { .n_blobs = 1, .blob = { { .at = key } } }, key + 7u },
		{ { .n_blobs = 1, .blob = { { .in = 1 } } }, size },
		{ { .n_blobs = 2, .blob = { { .at = key }, { .in = 2 } } }, size },
		{ { .n_blobs = 2, .blob = { { .at = key }, { .in = 1 } } }, size },
		{ { .n_blobs = 1, .blob = { { .size = 8, .in = 1 } } }, size },
		/* More bytes than came. */
		{ { .n_blobs = 1, .blob = { { .size = 1, .at = key } } }, size },
		/* No descriptor came. */
		{ { .n_fds = 1, .fd_at = { 0 } }, size },
		{ { .n_fds = 1, .fd_at = { size - 3 } }, size },
		{ { .n_blobs = 1, .blob = { { .at = key, .fd = true } } }, size },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		r = (struct opener_request){ .what = OPENER_BPF, .bpf = { .command = BPF_MAP_LOOKUP_ELEM } };
		r.bpf.attr_size = cases[i].attr_size;
		r.bpf.baggage = cases[i].b;
		if (ask(NULL) != -EINVAL)
			fail_msg("case %zu: %d", i, r.result);
	}
	/* It still opens. */
	assert_true(open_it("/proc/vmstat", O_RDONLY) >= 0);
}

/* A map, its elements and a program that names it, by way of the opener, from a process that has given its rights
 * away. Its exit status: 0, 77 without rights to give, or the number of what went wrong. */
static int use_bpf(void)
{
	union bpf_attr a = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 3 };
	struct opener_baggage element = { .fd_at = { offsetof(union bpf_attr, map_fd) }, .n_fds = 1, .n_blobs = 2 };
	struct opener_baggage program = {
		.fd_at = { offsetof(union bpf_attr, attach_prog_fd) }, .n_fds = 1, .n_blobs = 2, .code = true
	};
	static const char license[] = "GPL";
	uint32_t key = 1;
	uint64_t value = 0x1122334455667788;
	int map, fd;

	if (opener_start(true) || !opener_runs())
		return 77;
	map = opener_bpf(BPF_MAP_CREATE, &a, sizeof(a), NULL);
	if (map == -EPERM)
		return 77;
	if (map < 0)
		return 1;
	struct bpf_insn code[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 2, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	a = (union bpf_attr){ .map_fd = (uint32_t)map };
	element.blob[0] = (struct opener_blob){ .data = &key, .size = 4, .at = offsetof(union bpf_attr, key) };
	element.blob[1] = (struct opener_blob){ .data = &value, .size = 8, .at = offsetof(union bpf_attr, value) };
	if (opener_bpf(BPF_MAP_UPDATE_ELEM, &a, sizeof(a), &element))
		return 2;
	value = 0;
	element.blob[1].out = true;
	if (opener_bpf(BPF_MAP_LOOKUP_ELEM, &a, sizeof(a), &element) || value != 0x1122334455667788)
		return 3;
	key = 2;
	if (opener_bpf(BPF_MAP_LOOKUP_ELEM, &a, sizeof(a), &element) || value)
		return 4;
	key = 3;
	if (opener_bpf(BPF_MAP_LOOKUP_ELEM, &a, sizeof(a), &element) != -ENOENT)
		return 5;
	a = (union bpf_attr){ .prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT, .insn_cnt = 6 };
	program.blob[0] =
		(struct opener_blob){ .data = code, .size = sizeof(code), .at = offsetof(union bpf_attr, insns) };
	program.blob[1] = (struct opener_blob){ .data = (char *)(uintptr_t)license,
						.size = sizeof(license),
						.at = offsetof(union bpf_attr, license) };
	fd = opener_bpf(BPF_PROG_LOAD, &a, sizeof(a), &program);
	return fd >= 0 ? 0 : 6;
}

/* The only child of this process; 0: unknown. */
static pid_t child_of_us(void)
{
	char path[64];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static bool refuses_all(void)
{
	const struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = PERF_ATTR_SIZE_VER5 };
	uint64_t bytes[2];

	return !opener_runs() && opener_fd() == -1 && opener_open("/proc/vmstat", O_RDONLY) == -EPERM &&
	       opener_perf(&a, sizeof(a), 0, -1, -1, -1, 0) == -EPERM && opener_exits() == -EPERM &&
	       opener_io(getpid(), bytes) == -EPERM && opener_hurry(gettid()) == -EPERM &&
	       opener_bpf(BPF_MAP_CREATE, &a, 8, NULL) == -EPERM && !opener_lost();
}

/* What a recorder asks its opener for. As use_bpf(). */
static int use_opener(void)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE,
				     .config = PERF_COUNT_SW_PAGE_FAULTS,
				     .size = PERF_ATTR_SIZE_VER5,
				     .read_format = PERF_FORMAT_GROUP };
	char path[PATH_MAX + 1], byte;
	uint64_t values[3] = { 0 }, bytes[2] = { 77, 77 };
	int fd, leader;
	pid_t pid;

	if (!refuses_all())
		return 1;
	if (opener_start(true) || !opener_runs())
		return 77;
	/* CAP_CHOWN; numbers that no capability has. */
	if (geteuid() == 0 && (!opener_has(0) || opener_has(63) || opener_has(64) || opener_has(1000)))
		return 2;
	fd = opener_open("/proc/vmstat", O_RDONLY);
	if (fd < 3 || read(fd, &byte, 1) != 1 || fcntl(fd, F_GETFD) != FD_CLOEXEC)
		return 3;
	memset(path, 'x', PATH_MAX);
	path[PATH_MAX] = '\0';
	if (opener_open("/etc/passwd", O_RDONLY) != -EACCES || opener_open(path, O_RDONLY) != -ENAMETOOLONG)
		return 4;
	path[PATH_MAX - 1] = '\0';
	if (opener_open(path, O_RDONLY) != -EACCES || opener_open("/proc/sys/kernel/none", O_RDONLY) != -ENOENT)
		return 5;
	/* 0 is who asks, not the opener. */
	leader = opener_perf(&a, sizeof(a), 0, -1, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (leader >= 0) {
		a.config = PERF_COUNT_SW_TASK_CLOCK;
		fd = opener_perf(&a, sizeof(a), 0, -1, leader, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 || fd == leader || read(leader, values, sizeof(values)) != sizeof(values) ||
		    values[0] != 2 || !values[2])
			return 6;
		if (opener_perf(&a, sizeof(a), 0, -1, -1, fd, PERF_FLAG_PID_CGROUP) >= 0)
			return 7;
	}
	if (opener_io(1 << 30, bytes) != -ENOENT)
		return 8;
	if (!access("/proc/self/io", R_OK) && (opener_io(getpid(), bytes) || bytes[0] == 77 || bytes[1] == 77))
		return 9;
	if (opener_hurry(1) != -ESRCH)
		return 10;
	if (!opener_hurry(gettid()) && getpriority(PRIO_PROCESS, 0) != -20)
		return 11;
	pid = child_of_us();
	if (opener_lost() || !pid)
		return pid ? 13 : 0;
	kill(pid, SIGKILL);
	poll(&(struct pollfd){ .fd = opener_fd() }, 1, -1);
	if (!opener_lost() || !refuses_all())
		return 14;
	/* One that is wanted by nobody does not run. */
	return opener_start(false) || !refuses_all() ? 15 : 0;
}

/* A process that inherits one forgets it; the other's goes on, until it is ended. */
static int inherit_opener(void)
{
	pid_t pid;
	int status;

	if (opener_start(true) || !opener_runs())
		return 77;
	pid = fork();
	if (!pid) {
		opener_forget();
		_exit(refuses_all() ? 0 : 1);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		return 1;
	if (opener_open("/proc/vmstat", O_RDONLY) < 0 || opener_lost())
		return 2;
	opener_end();
	return refuses_all() && waitpid(-1, NULL, WNOHANG) == -1 ? 0 : 3;
}

static void in_a_process(int (*test)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(test());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void bpf_goes_by_way_of_it(void **state)
{
	in_a_process(use_bpf);
}

static void a_recorder_asks_it(void **state)
{
	in_a_process(use_opener);
	in_a_process(inherit_opener);
}

/* Its end is waited for, but not for ever. */
static void one_that_was_stopped(void **state)
{
	pid_t pid = peer.pid;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	message_end(&peer);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths),
		cmocka_unit_test(events),
		cmocka_unit_test(probes),
		cmocka_unit_test(others),
		cmocka_unit_test(baggage),
		cmocka_unit_test(bpf_goes_by_way_of_it),
		cmocka_unit_test(a_recorder_asks_it),
		cmocka_unit_test(one_that_was_stopped),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
