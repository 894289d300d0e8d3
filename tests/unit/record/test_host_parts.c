/* What lies between the recorder and its machine: rights, the processes that keep them, CPUs that
 * come and go. What the kernel says in /proc is the truth. */
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "common/buf.h"
#include "format/model.h"
#include "record/host/process.h"
#include "record/host/caller.h"
#include "record/host/clocks.h"
#include "record/host/hotplug.h"
#include "record/host/root.h"
#include "record/host/opener.h"
#include "record/host/perf_open.h"
#include "record/host/privileges.h"
#include "record/host/taskstats.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static int lost_fd = -1; /* its messages were lost, once */

ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __real_read(int fd, void *to, size_t n);

ssize_t __wrap_read(int fd, void *to, size_t n)
{
	if (fd >= 0 && fd == lost_fd) {
		lost_fd = -1;
		errno = ENOBUFS;
		return -1;
	}
	return __real_read(fd, to, n);
}

static unsigned n_pauses;

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __real_nanosleep(const struct timespec *t, struct timespec *left);

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	n_pauses++;
	return __real_nanosleep(t, left);
}

/* What would be sent to the opener, if not NULL; it is not. */
static struct opener_request *captured;
static struct message_fds captured_fds;

int __wrap_message_ask(struct message_peer *p, void *data, size_t len, const struct message_fds *fds,
		       struct message_fds *got);
int __real_message_ask(struct message_peer *p, void *data, size_t len, const struct message_fds *fds,
		       struct message_fds *got);

int __wrap_message_ask(struct message_peer *p, void *data, size_t len, const struct message_fds *fds,
		       struct message_fds *got)
{
	if (!captured)
		return __real_message_ask(p, data, len, fds, got);
	memcpy(captured, data, len);
	captured_fds = *fds;
	got->n = 0;
	return -EIO;
}

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	return 0;
}

static int teardown(void **state)
{
	sysroot_remove(dir);
	return 0;
}

/* A number of a thread's, hexadecimal or not. */
static uint64_t status_in(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	char line[256];
	uint64_t value = UINT64_MAX;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ':')
			value = strtoull(line + strlen(key) + 1, NULL, 16);
	fclose(f);
	return value;
}

static uint64_t status_of(const char *key)
{
	return status_in("/proc/thread-self/status", key);
}

/* Runs it in a process that it may spoil. */
static void apart(bool (*test)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(test() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* ---- rights ---- */

static void permitted_is_what_the_kernel_says(void **state)
{
	uint64_t all = status_of("CapPrm");

	assert_int_equal(privileges_permitted(), all);
	assert_int_equal(privileges_has("cap_sys_nice"), all >> 23 & 1);
	assert_int_equal(privileges_has("cap_sys_admin"), all >> 21 & 1);
	assert_false(privileges_has("cap_of_nothing"));
	assert_false(privileges_elevated());
}

static void rights_are_in_effect_while_wanted(void **state)
{
	uint64_t all = status_of("CapPrm");
	bool changed;

	assert_int_equal(privileges_effective(false), 0);
	assert_int_equal(status_of("CapEff"), 0);
	assert_int_equal(status_of("CapPrm"), all);
	changed = privileges_become_caller();
	assert_int_equal(changed, all != 0);
	assert_int_equal(status_of("CapEff"), all);
	/* Who had them before keeps them. */
	assert_false(privileges_become_caller());
	privileges_become_self(false);
	assert_int_equal(status_of("CapEff"), all);
	privileges_become_self(changed);
	assert_int_equal(status_of("CapEff"), 0);
	assert_int_equal(privileges_effective(true), 0);
	assert_int_equal(status_of("CapEff"), all);
	privileges_effective(false);
	assert_int_equal(privileges_for_child(), 0);
	assert_int_equal(status_of("CapEff"), all);
}

static bool tells(void)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	bool bare = !status_of("CapPrm") && !status_of("CapEff") && !status_of("CapInh");
	bool final = status_of("NoNewPrivs") == 1, filtered = status_of("Seccomp") == 2;
	char want[128];

	snprintf(want, sizeof(want), "%s, %s, %s", bare ? "no capabilities" : "capabilities are kept",
		 final ? "no new privileges" : "new privileges are possible",
		 filtered ? "system calls filtered" : "system calls are not filtered");
	return privileges_tell(&text) == (bare && final && filtered) && !strcmp(buf_str(&text), want);
}

static bool gives_up(void)
{
	bool before = tells();

	privileges_confine();
	return before && tells() && !status_of("CapPrm") && !status_of("CapEff") && status_of("NoNewPrivs") == 1 &&
	       !privileges_permitted();
}

static bool gains_none(void)
{
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && tells();
}

static void what_is_in_force_is_told(void **state)
{
	apart(gives_up);
	apart(gains_none);
}

/* ---- the opener ---- */

static bool refuses_all(void)
{
	uint64_t bytes[2];

	return !opener_runs() && !opener_lost() && opener_open("/proc/vmstat", O_RDONLY) == -EPERM &&
	       opener_perf("", 0, 0, 0, -1, -1, 0) == -EPERM && opener_exits() == -EPERM &&
	       opener_io(getpid(), bytes) == -EPERM && opener_hurry(gettid()) == -EPERM;
}

static bool not_wanted(void)
{
	uint64_t all = status_of("CapPrm");
	bool ok = !opener_start(false) && refuses_all() && !status_of("CapEff");

	for (int c = 0; c < 64; c++)
		ok = ok && opener_has(c) == (all >> c & 1);
	return ok && !opener_has(64);
}

static bool without_rights(void)
{
	privileges_confine();
	return !opener_start(true) && refuses_all() && !opener_has(21);
}

static bool opens(void)
{
	char path[PATH_MAX + 8];
	uint64_t bytes[2];
	int fd;

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	if (opener_start(true) || !opener_runs() || opener_lost() || status_of("CapEff"))
		return false;
	fd = opener_open("/proc/vmstat", O_RDONLY);
	if (fd < 0 || read(fd, path + 1, 3) != 3 || memcmp(path + 1, "nr_", 3))
		return false;
	close(fd);
	if (opener_open("/etc/passwd", O_RDONLY) != -EACCES || opener_open(path, O_RDONLY) != -ENAMETOOLONG ||
	    opener_io(getpid(), bytes) || opener_io(INT_MAX, bytes) >= 0)
		return false;
	opener_end();
	return refuses_all();
}

/* It has been killed: that is said once. */
static bool is_lost(void)
{
	struct pollfd hangs_up = { .fd = opener_fd() };
	char path[64];
	int pid = 0;
	FILE *f;

	if (hangs_up.fd >= 0 || opener_start(true))
		return false;
	hangs_up.fd = opener_fd();
	if (poll(&hangs_up, 1, 0))
		return false;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &pid) != 1 || pid <= 0)
		return true; /* this kernel does not say who it is */
	fclose(f);
	/* Once it has answered, it can gain no more rights than it keeps. */
	close(opener_open("/proc/vmstat", O_RDONLY));
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (status_in(path, "NoNewPrivs") != 1)
		return false;
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	return poll(&hangs_up, 1, -1) == 1 && opener_open("/proc/vmstat", O_RDONLY) == -EPERM && opener_lost() &&
	       opener_fd() < 0 && refuses_all();
}

/* Instructions name maps by descriptor; the request has each descriptor once, and its place in the list instead. */
static bool names_maps_once(void)
{
	static const int32_t of[] = { 30, 31, 30, 32, 31 }, place[] = { 0, 1, 0, 2, 1 };
	struct bpf_insn code[6] = { { 0 } };
	union bpf_attr attr = { .insn_cnt = 6 };
	struct opener_baggage b = { .blob = { { .data = code, .size = sizeof(code), .at = 8 } },
				    .n_blobs = 1,
				    .fd_at = { 40 },
				    .n_fds = 1,
				    .code = true };
	bool ok = !opener_start(true);
	int fd = 29;

	for (unsigned i = 0; i < 5; i++)
		code[i] = (struct bpf_insn){ .code = BPF_LD | BPF_IMM | BPF_DW,
					     .src_reg = BPF_PSEUDO_MAP_FD,
					     .imm = of[i] };
	code[5].imm = 77;
	memcpy((char *)&attr + 40, &fd, sizeof(fd));
	captured = malloc(OPENER_BYTES);
	ok = ok && opener_bpf(BPF_PROG_LOAD, &attr, sizeof(attr), &b) == -EIO;
	ok = ok && captured_fds.n == 4;
	for (int i = 0; ok && i < 4; i++)
		ok = captured_fds.fd[i] == 29 + i;
	for (unsigned i = 0; ok && i < 5; i++)
		ok = ((const struct bpf_insn *)(captured + 1))[i].imm == place[i];
	ok = ok && ((const struct bpf_insn *)(captured + 1))[5].imm == 77;
	free(captured);
	captured = NULL;
	opener_end();
	return ok;
}

static bool is_forgotten(void)
{
	bool ok = !opener_start(true) && opener_runs();

	opener_forget();
	return ok && refuses_all();
}

static void an_opener_runs_where_there_is_something_to_keep(void **state)
{
	apart(not_wanted);
	apart(without_rights);
	if (!status_of("CapPrm"))
		skip();
	apart(opens);
	apart(is_lost);
	apart(is_forgotten);
	apart(names_maps_once);
}

/* Whoever has waited for it already, its end is not waited for. */
static void a_peer_that_is_gone_is_not_waited_for(void **state)
{
	struct message_peer p = { .socket = -1, .lock = PTHREAD_MUTEX_INITIALIZER };
	struct message_fds got = { .n = 1 };
	char byte = 0;

	p.pid = fork();
	if (!p.pid)
		_exit(0);
	assert_int_equal(waitpid(p.pid, NULL, 0), p.pid);
	assert_int_equal(message_ask(&p, &byte, 1, NULL, &got), -EPERM);
	assert_int_equal(got.n, 0);
	n_pauses = 0;
	message_end(&p);
	assert_int_equal(n_pauses, 0);
	assert_int_equal(p.pid, 0);
	message_end(&p);
}

/* ---- the caller's process ---- */

static void run(void *ctx, unsigned what, const char *text, int go, int failure)
{
	char byte;

	if (read(go, &byte, 1) != 1)
		caller_leave(1);
	dprintf(failure, "%s %u %s %c", (const char *)ctx, what, text ? text : "nothing", byte);
	caller_leave(7);
}

static void launch(unsigned what, const char *text, const char *want)
{
	char said[64] = "";
	int go[2], failure[2], status;
	pid_t pid;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(failure, O_CLOEXEC), 0);
	pid = caller_launch(what, text, go[0], failure[1]);
	assert_true(pid > 0);
	close(go[0]);
	close(failure[1]);
	assert_int_equal(write(go[1], "!", 1), 1);
	assert_int_equal(read(failure[0], said, sizeof(said) - 1), strlen(want));
	assert_string_equal(said, want);
	/* It is a child of this process. */
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	/* Nobody else has kept the other end. */
	assert_int_equal(fcntl(failure[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(read(failure[0], said, 1), 0);
	close(go[1]);
	close(failure[0]);
}

static void commands_are_the_callers(void **state)
{
	const struct caller_rules rules = { .run = run, .ctx = (void *)(uintptr_t) "ctx" };
	char text[PATH_MAX + 1];

	assert_false(caller_runs());
	assert_int_equal(caller_launch(1, NULL, 0, 1), -EPERM);
	assert_int_equal(caller_start(&rules), 0);
	assert_true(caller_runs());
	launch(3, "some text", "ctx 3 some text !");
	launch(4, NULL, "ctx 4 nothing !");
	memset(text, 'x', PATH_MAX);
	text[PATH_MAX] = '\0';
	assert_int_equal(caller_launch(1, text, 0, 1), -ENAMETOOLONG);
	caller_end();
	assert_false(caller_runs());
}

static struct stat of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st;
}

/* What the thread may do itself is done without anybody. */
static void files_are_created_and_removed(void **state)
{
	char path[64], link[64];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s/x.pmr", dir);
	snprintf(link, sizeof(link), "%s/y.pmr", dir);
	fd = caller_create(path, 0600);
	assert_true(fd > 2);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	st = of(path);
	assert_int_equal(st.st_size, 3);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(caller_create(path, 0600), -EEXIST);
	assert_int_equal(caller_remove(path, st.st_dev, st.st_ino + 1), -ESTALE);
	assert_int_equal(caller_remove(path, st.st_dev + 1, st.st_ino), -ESTALE);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(caller_remove(link, of(link).st_dev, of(link).st_ino), -ESTALE);
	assert_int_equal(caller_remove(path, st.st_dev, st.st_ino), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(caller_remove(path, st.st_dev, st.st_ino), -ENOENT);
}

static bool asks_the_caller(void)
{
	char output[64], path[64], other[64], foreign[64];
	const struct caller_rules rules = { .run = run, .output = output };
	struct stat st;
	bool ok;
	int fd;

	snprintf(output, sizeof(output), "%s/closed/x.pmr", dir);
	snprintf(path, sizeof(path), "%s/closed/y.pmr", dir);
	snprintf(other, sizeof(other), "%s/other/y.pmr", dir);
	snprintf(foreign, sizeof(foreign), "%s/other/z.pmr", dir);
	close(caller_create(foreign, 0600));
	/* This thread may no longer write there; who has kept the rights may, but only in the folder of the output. */
	if (stat(foreign, &st) || caller_start(&rules) || privileges_effective(false) ||
	    caller_create(other, 0600) != -EACCES || caller_remove(foreign, st.st_dev, st.st_ino) != -EACCES ||
	    access(foreign, F_OK))
		return false;
	fd = caller_create(path, 0640);
	if (fd < 0 || write(fd, "abcd", 4) != 4 || stat(path, &st) || st.st_size != 4 || (st.st_mode & 0777) != 0640)
		return false;
	close(fd);
	ok = caller_remove(path, st.st_dev, st.st_ino + 1) == -ESTALE && !access(path, F_OK);
	ok = ok && !caller_remove(path, st.st_dev, st.st_ino) && access(path, F_OK);
	caller_end();
	return ok && caller_create(path, 0600) == -EACCES;
}

static void recordings_are_created_with_the_callers_rights(void **state)
{
	char path[64];

	/* CAP_DAC_OVERRIDE. */
	if (!(status_of("CapPrm") >> 1 & 1))
		skip();
	snprintf(path, sizeof(path), "%s/closed", dir);
	assert_int_equal(mkdir(path, 0500), 0);
	snprintf(path, sizeof(path), "%s/other", dir);
	assert_int_equal(mkdir(path, 0500), 0);
	apart(asks_the_caller);
}

/* ---- CPUs ---- */

static void expect_cpus(const struct cpulist *list, const char *want)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	cpulist_print(list, &text);
	assert_string_equal(buf_str(&text), want);
}

static void cpus_that_went_and_came_are_found(void **state)
{
	struct cpulist gone = { 0 }, come = { 0 };
	struct hotplug h;
	struct root root;
	char path[80];

	root_init(&root, dir);
	assert_int_equal(hotplug_init(&h, &root), -ENOENT);
	hotplug_release(&h);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-3,8\n");
	assert_int_equal(hotplug_init(&h, &root), 0);
	expect_cpus(&h.online, "0-3,8");
	/* The kernel does not speak of a machine that is a copy. */
	assert_int_equal(h.quiet_ns, UINT64_MAX);
	assert_false(hotplug_hears(&h));
	assert_int_equal(hotplug_look(&h, &gone, &come), 0);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0,2-4,9\n");
	assert_int_equal(hotplug_look(&h, &gone, &come), 1);
	expect_cpus(&gone, "1,8");
	expect_cpus(&come, "4,9");
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0,2-4\n");
	assert_int_equal(hotplug_look(&h, &gone, &come), 1);
	expect_cpus(&gone, "9");
	assert_int_equal(come.n, 0);
	sysroot_put(dir, "/sys/devices/system/cpu/online", "0-4\n");
	assert_int_equal(hotplug_look(&h, &gone, &come), 1);
	assert_int_equal(gone.n, 0);
	expect_cpus(&come, "1");
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/online", dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(hotplug_look(&h, &gone, &come), -ENOENT);
	expect_cpus(&h.online, "0-4");
	hotplug_release(&h);
	assert_int_equal(h.fd, -1);
	cpulist_release(&gone);
	cpulist_release(&come);
	root_release(&root);
}

static void say(int kernel, const char *message)
{
	assert_int_equal(send(kernel, message, strlen(message), 0), (ssize_t)strlen(message));
}

/* Ten seconds after the last one, what a CPU's events did shows no more. */
static void the_kernel_is_heard(void **state)
{
	const uint64_t after_ns = 10000000000;
	struct hotplug h = { .quiet_ns = 0 };
	uint64_t before;
	int end[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, end), 0);
	h.fd = end[0];
	assert_true(hotplug_hears(&h));
	assert_false(hotplug_heard(&h));
	say(end[1], "add@/devices/pci0000:00/0000:00:1f.2");
	say(end[1], "change@/devices/system/node/node0");
	assert_false(hotplug_heard(&h));
	assert_true(hotplug_hears(&h));
	say(end[1], "online@/devices/system/cpu/cpu3");
	say(end[1], "add@/devices/virtual/bdi/0:40");
	before = clocks_monotonic();
	assert_true(hotplug_heard(&h));
	assert_true(h.quiet_ns >= before + after_ns && h.quiet_ns <= clocks_monotonic() + after_ns);
	assert_false(hotplug_hears(&h));
	assert_false(hotplug_heard(&h));
	/* Messages were lost: one may have been about a CPU. */
	h.quiet_ns = 0;
	lost_fd = h.fd;
	assert_true(hotplug_heard(&h));
	assert_true(h.quiet_ns > 0);
	/* Where it does not speak to everybody, a message does not change that. */
	h.quiet_ns = UINT64_MAX;
	say(end[1], "offline@/devices/system/cpu/cpu3");
	assert_true(hotplug_heard(&h));
	assert_int_equal(h.quiet_ns, UINT64_MAX);
	assert_false(hotplug_hears(&h));
	close(end[1]);
	hotplug_release(&h);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* KiB of a library's code that this process has in memory. */
static int code_in_memory(const char *library)
{
	char line[512];
	int kib, sum = 0;
	bool its = false;
	FILE *f = fopen("/proc/self/smaps", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "-xp "))
			its = strstr(line, library);
		else if (strchr("0123456789abcdef", *line))
			its = false;
		else if (its && sscanf(line, "Rss: %d", &kib) == 1)
			sum += kib;
	}
	if (f)
		fclose(f);
	return sum;
}

static void code_that_is_not_called_again_is_given_back(void **state)
{
	const int before = code_in_memory("libcmocka");
	int after;

	if (!before)
		skip();
	process_shrink();
	after = code_in_memory("libcmocka");
	assert_int_equal(after, 0);
	assert_int_not_equal(code_in_memory("libcmocka"), 0);
}

/* As proc_pid_mounts(5) writes them: what separates words is octal. */
static void mounts_are_lines_of_four_words(void **state)
{
	static const char *const want[][4] = {
		{ "a\tb\\", "/mnt/one two", "ext4", "rw,name=x\ny" },
		{ "none", "/c\\9", "tmpfs", "ro" },
	};
	SCOPED(buf_release) struct buf text = BUF_INIT;
	char *at = NULL;
	struct mount m;
	struct root root;

	sysroot_put(dir, "/proc/mounts", "%s",
		    "a\\011b\\134 /mnt/one\\040two ext4 rw,name=x\\012y 0 0\n"
		    "three words only\n"
		    "none /c\\9 tmpfs ro 0 0\n");
	root_init(&root, dir);
	assert_true(mounts_read(&root, &text) > 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(mounts_next(&text, &at, &m));
		assert_string_equal(m.what, want[i][0]);
		assert_string_equal(m.where, want[i][1]);
		assert_string_equal(m.type, want[i][2]);
		assert_string_equal(m.options, want[i][3]);
	}
	assert_false(mounts_next(&text, &at, &m));
	root_release(&root);
}

/* ---- what the kernel is asked to count ---- */

static void refusals_of_the_kernel_have_reasons(void **state)
{
	static const struct {
		int err;
		uint16_t reason;
	} row[] = {
		{ EACCES, PM_REASON_NO_PERMISSION },     { EPERM, PM_REASON_NO_PERMISSION },
		{ ENOENT, PM_REASON_NOT_SUPPORTED },     { ENODEV, PM_REASON_NOT_SUPPORTED },
		{ ENXIO, PM_REASON_NOT_SUPPORTED },      { ENOSYS, PM_REASON_NOT_SUPPORTED },
		{ EOPNOTSUPP, PM_REASON_NOT_SUPPORTED },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		assert_int_equal(perf_reason(row[i].err), row[i].reason);
		assert_int_equal(perf_reason(-row[i].err), row[i].reason);
	}
	assert_int_equal(perf_reason(-EBUSY), pm_reason_errno(EBUSY));
	assert_int_not_equal(perf_reason(-EBUSY), PM_REASON_NOT_SUPPORTED);
}

static void the_watchdog_is_on_or_not(void **state)
{
	static const char *const said[] = { "0\n", "1\n", "2\n", "11\n", "" };
	struct root root;

	root_init(&root, dir);
	assert_false(perf_nmi_watchdog(&root));
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		sysroot_put(dir, "/proc/sys/kernel/nmi_watchdog", "%s", said[i]);
		assert_int_equal(perf_nmi_watchdog(&root), i == 1);
	}
	root_release(&root);
}

static bool raises_limit(void)
{
	struct rlimit limit;
	uint64_t used = perf_used_nofile();
	int fd = dup(0);
	bool ok;

	if (getrlimit(RLIMIT_NOFILE, &limit) || fd < 0)
		return false;
	limit.rlim_cur = limit.rlim_max - 7;
	ok = perf_used_nofile() == used + 1 && !setrlimit(RLIMIT_NOFILE, &limit) &&
	     perf_raise_nofile() == limit.rlim_max && perf_raise_nofile() == limit.rlim_max;
	return !getrlimit(RLIMIT_NOFILE, &limit) && ok && limit.rlim_cur == limit.rlim_max;
}

static void as_many_files_as_may_be_are_opened(void **state)
{
	apart(raises_limit);
}

static void a_thread_goes_back_to_its_cpus(void **state)
{
	uint32_t before = affinity_cpus();
	struct affinity all = { 0 };

	affinity_restore(&all);
	assert_int_equal(affinity_cpus(), before);
	assert_int_equal(affinity_save(&all), 0);
	assert_int_equal(affinity_pin(UINT16_MAX), -EINVAL);
	assert_int_equal(affinity_pin((uint32_t)sched_getcpu()), 0);
	assert_int_equal(affinity_cpus(), 1);
	assert_int_equal(affinity_apply(&all, 0), 0);
	assert_int_equal(affinity_cpus(), before);
	assert_int_equal(affinity_pin((uint32_t)sched_getcpu()), 0);
	affinity_restore(&all);
	assert_int_equal(affinity_cpus(), before);
}

/* While files are opened that may block, what ends a process ends this one at once; nothing else changes. */
static bool is_interruptible(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t all, before, now;
	bool ok = true;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	interruptible_begin(&before);
	sigprocmask(SIG_BLOCK, NULL, &now);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		ok = ok && sigismember(&before, ends[i]) && !sigismember(&now, ends[i]);
	ok = ok && sigismember(&now, SIGUSR1) && sigismember(&now, SIGCHLD) && sigismember(&now, SIGALRM);
	interruptible_end(&before);
	sigprocmask(SIG_BLOCK, NULL, &now);
	return ok && sigismember(&now, SIGINT) && sigismember(&now, SIGQUIT);
}

/* Whom the kernel tells nothing of tasks that end has nothing open for it. */
static bool leaves_nothing_open(void)
{
	uint64_t used;
	int err;

	if (!geteuid() && setresuid(65534, 65534, 65534))
		return false;
	used = perf_used_nofile();
	err = taskstats_listen();
	return err < 0 && perf_used_nofile() == used;
}

static void who_may_not_hear_of_ends_has_nothing_open(void **state)
{
	apart(leaves_nothing_open);
}

static void readers_may_be_interrupted(void **state)
{
	apart(is_interruptible);
}

UNIT_TESTS(TEST(permitted_is_what_the_kernel_says), TEST(rights_are_in_effect_while_wanted),
	   TEST(what_is_in_force_is_told), TEST(an_opener_runs_where_there_is_something_to_keep),
	   TEST(a_peer_that_is_gone_is_not_waited_for), TEST(commands_are_the_callers),
	   TEST(files_are_created_and_removed), TEST(recordings_are_created_with_the_callers_rights),
	   TEST(cpus_that_went_and_came_are_found), TEST(the_kernel_is_heard),
	   TEST(refusals_of_the_kernel_have_reasons), TEST(the_watchdog_is_on_or_not),
	   TEST(as_many_files_as_may_be_are_opened), TEST(a_thread_goes_back_to_its_cpus),
	   TEST(mounts_are_lines_of_four_words), TEST(code_that_is_not_called_again_is_given_back),
	   TEST(readers_may_be_interrupted), TEST(who_may_not_hear_of_ends_has_nothing_open))
