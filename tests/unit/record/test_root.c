/* Files below another root, from which no path leads out. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "record/host/root.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

static char dir[32];
static struct root root;

static int setup(void **state)
{
	sysroot_make(dir, NULL);
	root_init(&root, dir);
	return 0;
}

static int teardown(void **state)
{
	root_release(&root);
	sysroot_remove(dir);
	return 0;
}

static void prefix_loses_its_slashes(void **state)
{
	struct root r;

	root_init(&r, "/somewhere//");
	assert_string_equal(r.prefix, "/somewhere");
	assert_true(r.emulated);
	root_release(&r);
	root_init(&r, NULL);
	assert_string_equal(r.prefix, "");
	assert_false(r.emulated);
	root_release(&r);
	root_init(&r, "/");
	assert_false(r.emulated);
	root_release(&r);
}

static void reads_whole_files_up_to_a_limit(void **state)
{
	struct buf out = BUF_INIT;
	char big[10001];

	memset(big, 'x', 10000);
	big[10000] = '\0';
	sysroot_put(dir, "/proc/big", "%s", big);
	assert_int_equal(root_read(&root, &out, 10000, "/proc/%s", "big"), 10000);
	assert_string_equal(buf_str(&out), big);
	assert_int_equal(root_read(&root, &out, 9999, "/proc/big"), -EFBIG);
	assert_int_equal(root_read(&root, &out, 9999, "/proc/none"), -ENOENT);
	buf_release(&out);
}

static void what_is_no_file_is_refused(void **state)
{
	char path[64], line[8] = "before", longest[PATH_MAX + 1];
	struct buf out = BUF_INIT;
	uint64_t v = 7;

	snprintf(path, sizeof(path), "%s/pipe", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(root_line(&root, line, sizeof(line), "/pipe"), -EINVAL);
	assert_string_equal(line, "");
	assert_true(root_exists(&root, "/pipe"));
	assert_false(root_exists(&root, "/none"));
	/* A folder is one, but has no bytes. */
	sysroot_put(dir, "/d/x", "%s", "");
	strcpy(line, "before");
	assert_int_equal(root_line(&root, line, sizeof(line), "/d"), -EISDIR);
	assert_string_equal(line, "");
	assert_int_equal(root_read(&root, &out, 10, "/d"), -EISDIR);
	assert_int_equal(root_u64(&root, &v, "/none"), -ENOENT);
	assert_int_equal(root_u64(&root, &v, "/d/x"), -EINVAL);
	assert_int_equal(v, 7);
	assert_int_equal(root_read(&root, &out, 0, "/d/x"), 0);
	sysroot_put(dir, "/d/x", " \t\nx");
	assert_int_equal(root_line(&root, line, sizeof(line), "/d/x"), 0);
	assert_string_equal(line, "");
	/* The longest path of the system, and one more. */
	memset(longest, '/', sizeof(longest));
	longest[PATH_MAX] = '\0';
	assert_int_equal(root_read(&root, &out, 10, "%s", longest), -ENAMETOOLONG);
	memcpy(longest + PATH_MAX - 4, "d/x", 4);
	assert_int_equal(root_read(&root, &out, 10, "%s", longest), 4);
	assert_string_equal(buf_str(&out), " \t\nx");
	buf_release(&out);
}

/* Files of the machine itself that its user names: opened with the user's rights, and nothing blocks. */
static void what_users_name_is_opened_for_them(void **state)
{
	struct buf out = BUF_INIT;
	char path[64];
	struct root r;

	root_init(&r, NULL);
	r.named = true;
	sysroot_put(dir, "/mine", "abc");
	assert_int_equal(root_read(&r, &out, 10, "%s/mine", dir), 3);
	assert_string_equal(buf_str(&out), "abc");
	assert_int_equal(root_read(&r, &out, 10, "%s/theirs", dir), -ENOENT);
	snprintf(path, sizeof(path), "%s/named", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(root_open(&r, "%s", path), -EINVAL);
	assert_int_equal(root_open(&r, "/dev/null"), -EINVAL);
	assert_true(root_exists(&r, "%s", path));
	root_release(&r);
	buf_release(&out);
}

/* A setting is written over: nothing is created, and nothing cut. */
static void settings_are_written(void **state)
{
	struct buf out = BUF_INIT;
	int fd;

	sysroot_put(dir, "/setting", "12345");
	fd = root_open_write(&root, "/setting");
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "9", 1), 1);
	assert_int_equal(read(fd, &(char){ 0 }, 1), -1);
	close(fd);
	assert_int_equal(root_read(&root, &out, 10, "/setting"), 5);
	assert_string_equal(buf_str(&out), "92345");
	assert_int_equal(root_open_write(&root, "/none"), -ENOENT);
	buf_release(&out);
}

static void reads_cpu_lists(void **state)
{
	char text[65536], *at = text;
	struct cpulist l = { 0 };

	sysroot_put(dir, "/online", "0-2,5\n");
	assert_int_equal(root_cpulist(&root, &l, "/online"), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.cpu[3], 5);
	sysroot_put(dir, "/online", "0-x\n");
	assert_int_equal(root_cpulist(&root, &l, "/online"), -EINVAL);
	assert_int_equal(root_cpulist(&root, &l, "/none"), -ENOENT);
	assert_int_equal(l.n, 4);
	/* Large machines without their second threads. */
	for (unsigned cpu = 0; cpu < 16384; cpu += 2)
		at += sprintf(at, "%u,", cpu);
	at[-1] = '\0';
	sysroot_put(dir, "/online", "%s\n", text);
	assert_int_equal(root_cpulist(&root, &l, "/online"), 0);
	assert_int_equal(l.n, 8192);
	assert_int_equal(l.cpu[8191], 16382);
	cpulist_release(&l);
}

/* A link to /etc/passwd in a copied tree means the tree's, which is not there. */
static void links_stay_below_the_root(void **state)
{
	char path[64], line[64], name[64];

	sysroot_put(dir, "/inside/file", "mine\n");
	snprintf(path, sizeof(path), "%s/absolute", dir);
	assert_int_equal(symlink("/inside/file", path), 0);
	snprintf(path, sizeof(path), "%s/outside", dir);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/inside/up", dir);
	assert_int_equal(symlink("../../../../../../../../etc/passwd", path), 0);
	assert_int_equal(root_line(&root, line, sizeof(line), "/absolute"), 0);
	assert_string_equal(line, "mine");
	assert_int_equal(root_open(&root, "/outside"), -ENOENT);
	assert_int_equal(root_open(&root, "/inside/up"), -ENOENT);
	assert_false(root_exists(&root, "/outside"));
	assert_true(root_exists(&root, "/absolute"));
	assert_int_equal(root_link_name(&root, name, sizeof(name), "/absolute"), 0);
	assert_string_equal(name, "file");
	assert_int_equal(root_link_name(&root, name, sizeof(name), "/inside/file"), -EINVAL);
	assert_int_equal(root_link_name(&root, name, 4, "/absolute"), -ENAMETOOLONG);
}

/* In a process to which the kernel says that it has no openat2(). */
static int read_with_old_kernel(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };
	char line[16] = "";

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 77;
	if (root_line(&root, line, sizeof(line), "/file") || strcmp(line, "mine"))
		return 1;
	return root_open(&root, "/none") != -ENOENT;
}

static void before_linux_5_6_paths_are_opened_as_they_are(void **state)
{
	pid_t pid;
	int status;

	sysroot_put(dir, "/file", "mine\n");
	pid = fork();
	if (!pid)
		_exit(read_with_old_kernel());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

UNIT_TESTS(cmocka_unit_test(prefix_loses_its_slashes),
	   cmocka_unit_test_setup_teardown(reads_whole_files_up_to_a_limit, setup, teardown),
	   cmocka_unit_test_setup_teardown(what_is_no_file_is_refused, setup, teardown),
	   cmocka_unit_test_setup_teardown(what_users_name_is_opened_for_them, setup, teardown),
	   cmocka_unit_test_setup_teardown(settings_are_written, setup, teardown),
	   cmocka_unit_test_setup_teardown(reads_cpu_lists, setup, teardown),
	   cmocka_unit_test_setup_teardown(links_stay_below_the_root, setup, teardown),
	   cmocka_unit_test_setup_teardown(before_linux_5_6_paths_are_opened_as_they_are, setup, teardown))
