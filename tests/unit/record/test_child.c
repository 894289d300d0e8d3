/* The command: it waits until it may go, its end and its failure to start are told apart. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/child.h"

static const struct child_setup setup;

static void fork_shell(struct child *c, const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	struct error e = { 0 };

	assert_int_equal(child_fork(c, 0, argv, &setup, &e), 0);
	assert_true(c->pid > 0);
}

static void it_waits_for_go(void **state)
{
	struct timespec t = { .tv_nsec = 50000000 };
	char path[] = "/tmp/test_child_XXXXXX", script[64];
	struct error e = { 0 };
	struct child c;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	snprintf(script, sizeof(script), "touch %s", path);
	fork_shell(&c, script);
	nanosleep(&t, NULL);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(child_start(&c, &e), 0);
	assert_true(child_ended(&c, true));
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
	child_release(&c);
}

static void it_ends_unstarted_when_nobody_wants_it(void **state)
{
	struct child c;
	pid_t pid;

	fork_shell(&c, "exit 3");
	pid = c.pid;
	child_release(&c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void its_status_is_the_shells(void **state)
{
	static const struct {
		const char *script;
		int code;
	} cases[] = { { "exit 0", 0 }, { "exit 42", 42 }, { "kill -TERM $$", 143 }, { "kill -KILL $$", 137 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = { 0 };
		struct child c;

		fork_shell(&c, cases[i].script);
		assert_int_equal(child_start(&c, &e), 0);
		assert_true(child_ended(&c, true));
		assert_int_equal(child_exit_code(&c), cases[i].code);
		assert_true(c.ended_ns > c.started_ns);
		assert_true(c.usage.ru_maxrss > 0);
		child_release(&c);
	}
}

static void it_gets_signals(void **state)
{
	struct error e = { 0 };
	struct child c;

	/* Were it a child of the shell, it would outlive it. */
	fork_shell(&c, "exec sleep 100");
	assert_int_equal(child_start(&c, &e), 0);
	assert_false(child_ended(&c, false));
	child_signal(&c, SIGTERM);
	assert_true(child_ended(&c, true));
	assert_int_equal(child_exit_code(&c), 143);
	child_release(&c);
}

/* What ends a command ends one that is stopped, too; other signals leave it stopped. */
static void it_gets_signals_though_stopped(void **state)
{
	static const struct {
		int signo;
		bool ends;
	} cases[] = { { SIGTERM, true }, { SIGINT, true }, { SIGHUP, true }, { SIGUSR1, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error e = { 0 };
		struct child c;
		int status;

		fork_shell(&c, "exec sleep 100");
		assert_int_equal(child_start(&c, &e), 0);
		assert_int_equal(kill(c.pid, SIGSTOP), 0);
		assert_int_equal(waitpid(c.pid, &status, WUNTRACED), c.pid);
		assert_true(WIFSTOPPED(status));
		child_signal(&c, cases[i].signo);
		if (!cases[i].ends) {
			assert_int_equal(waitpid(c.pid, &status, WCONTINUED | WNOHANG), 0);
			assert_int_equal(kill(c.pid, SIGCONT), 0);
		}
		assert_true(child_ended(&c, true));
		assert_int_equal(child_exit_code(&c), 128 + cases[i].signo);
		child_release(&c);
	}
}

/* A mask or a disposition of the recorder is not the command's. */
static void it_has_no_blocked_signals(void **state)
{
	struct error e = { 0 };
	struct child c;
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	fork_shell(&c, "grep -q '^SigBlk:[[:space:]]*0*$' /proc/self/status");
	assert_int_equal(child_start(&c, &e), 0);
	assert_true(child_ended(&c, true));
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_int_equal(child_exit_code(&c), 0);
	child_release(&c);
}

static void its_limit_of_files_is_the_callers(void **state)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit $(ulimit -n)", NULL };
	const struct child_setup low = { .files = { .rlim_cur = 77, .rlim_max = 200 } };
	struct error e = { 0 };
	struct child c;

	assert_int_equal(child_fork(&c, 0, argv, &low, &e), 0);
	assert_int_equal(child_start(&c, &e), 0);
	assert_true(child_ended(&c, true));
	assert_int_equal(child_exit_code(&c), 77);
	child_release(&c);
}

static void what_cannot_be_run(void **state)
{
	char *missing[] = { (char *)"/nowhere/at/all", NULL }, *denied[] = { (char *)"/etc/passwd", NULL };
	struct error e = { 0 };
	struct child c;

	assert_int_equal(child_fork(&c, 0, missing, &setup, &e), 0);
	assert_int_equal(child_start(&c, &e), -ENOENT);
	assert_int_equal(child_exit_code(&c), 127);
	child_release(&c);
	assert_int_equal(child_fork(&c, 0, denied, &setup, &e), 0);
	assert_int_equal(child_start(&c, &e), -EACCES);
	assert_int_equal(child_exit_code(&c), 126);
	child_release(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_go),
		cmocka_unit_test(it_ends_unstarted_when_nobody_wants_it),
		cmocka_unit_test(its_status_is_the_shells),
		cmocka_unit_test(it_gets_signals),
		cmocka_unit_test(it_gets_signals_though_stopped),
		cmocka_unit_test(it_has_no_blocked_signals),
		cmocka_unit_test(its_limit_of_files_is_the_callers),
		cmocka_unit_test(what_cannot_be_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
