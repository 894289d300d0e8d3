/* What is taken away is gone, and what is named stays. Each case in a child, which keeps nothing. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/sandbox.h"
#include "tests/unit/lib/test.h"

static char folder[] = "/tmp/test_sandbox_XXXXXX";

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder) || chdir(folder) || mkdir("in", 0700) || mkdir("out", 0700))
		return -1;
	return close(open("in/file", O_WRONLY | O_CREAT, 0600)) || close(open("other", O_WRONLY | O_CREAT, 0600));
}

static int drop_folder(void **state)
{
	(void)state;
	unlink("in/file");
	unlink("other");
	unlink("out/new");
	rmdir("in");
	rmdir("out");
	return rmdir(folder);
}

/* The exit status of what `body` returns in a child. */
static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags, 0600);

	return fd >= 0 && !close(fd);
}

enum { LACKS = 77 };

static int files(void)
{
	struct sandbox s;

	sandbox_init(&s);
	sandbox_read(&s, "in");
	sandbox_read(&s, "is_not_there");
	sandbox_make(&s, "out", false);
	if (sandbox_enter(&s))
		return LACKS;
	return !opens("in/file", O_RDONLY)                 ? 1 :
	       opens("in/file", O_WRONLY)                  ? 2 :
	       opens("other", O_RDONLY)                    ? 3 :
	       opens("/etc/passwd", O_RDONLY)              ? 4 :
	       !opens("out/new", O_WRONLY | O_CREAT)       ? 5 :
	       opens("out/new", O_RDONLY)                  ? 6 :
	       opens("in/new", O_WRONLY | O_CREAT)         ? 7 :
	       !rename("out/new", "in/new")                ? 8 :
	       prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ? 9 :
							     0;
}

static const struct sandbox_call few[] = {
	{ SYS_exit_group },
	{ SYS_getpid },
	{ SYS_dup3, 2, O_CLOEXEC, O_CLOEXEC },
	{ SYS_write },
};

static int calls(void)
{
	/* Sanitizers call what is not among these few. */
	if (SANDBOX_SANITIZED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    sandbox_calls(few, sizeof(few) / sizeof(*few), false))
		return LACKS;
	return syscall(SYS_getpid) <= 0                                      ? 1 :
	       socket(AF_UNIX, SOCK_STREAM, 0) >= 0 || errno != EPERM        ? 2 :
	       execl("/bin/true", "true", NULL) != -1 || errno != EPERM      ? 3 :
	       ptrace(PTRACE_TRACEME, 0, NULL, NULL) != -1 || errno != EPERM ? 4 :
	       dup3(1, 20, O_CLOEXEC) != 20                                  ? 5 :
	       dup3(1, 21, 0) != -1 || errno != EPERM                        ? 6 :
	       syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS         ? 7 :
									       0;
}

static int killed(void)
{
	if (SANDBOX_SANITIZED || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    sandbox_calls(few, sizeof(few) / sizeof(*few), true))
		return LACKS;
	socket(AF_UNIX, SOCK_STREAM, 0);
	return 0;
}

static void expect(int (*body)(void), int status)
{
	int got = in_child(body);

	if (got == LACKS)
		skip();
	assert_int_equal(got, status);
}

static void test_files(void **state)
{
	(void)state;
	expect(files, 0);
}

static void test_calls(void **state)
{
	(void)state;
	expect(calls, 0);
}

static void test_killed(void **state)
{
	(void)state;
	expect(killed, 128 + SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_killed),
	};

	return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
