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

static uint64_t said(const struct pm_event *e, uint32_t key)
{
	return pm_map_u64(&e->attrs, key, UINT64_MAX);
}

static void its_end_is_an_event(void **state)
{
	static const uint64_t used[] = { 3, 4, 5, 6, 7, 8 };
	struct child c = { .pid = 77,
			   .status = 3 << 8,
			   .started_ns = 100,
			   .ended_ns = 350,
			   .usage = { .ru_minflt = 3,
				      .ru_majflt = 4,
				      .ru_inblock = 5,
				      .ru_oublock = 6,
				      .ru_nvcsw = 7,
				      .ru_nivcsw = 8,
				      .ru_maxrss = 9,
				      .ru_utime = { 1, 2 },
				      .ru_stime = { 0, 3 } } };
	const struct pm_value *list;
	struct pm_event e;

	child_exit_event(&c, &e, true);
	assert_int_equal(e.type, PM_EVENT_CHILD_EXIT);
	assert_int_equal(e.time_ns, 350);
	assert_int_equal(said(&e, PM_EVENT_KEY_EXIT), 3);
	assert_int_equal(said(&e, PM_EVENT_KEY_SIGNAL), UINT64_MAX);
	assert_int_equal(said(&e, PM_EVENT_KEY_PID), 77);
	assert_int_equal(said(&e, PM_EVENT_KEY_ELAPSED_NS), 250);
	assert_int_equal(said(&e, PM_EVENT_KEY_USER_NS), 1000002000);
	assert_int_equal(said(&e, PM_EVENT_KEY_SYSTEM_NS), 3000);
	assert_int_equal(said(&e, PM_EVENT_KEY_MAXRSS), 9 * 1024);
	list = pm_map_get(&e.attrs, PM_EVENT_KEY_RUSAGE);
	assert_non_null(list);
	assert_int_equal(list->array.n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(list->array.item[i].u64, used[i]);
	pm_event_release(&e);
	c.status = SIGTERM;
	child_exit_event(&c, &e, false);
	assert_int_equal(said(&e, PM_EVENT_KEY_EXIT), UINT64_MAX);
	assert_int_equal(said(&e, PM_EVENT_KEY_SIGNAL), SIGTERM);
	assert_int_equal(said(&e, PM_EVENT_KEY_PID), UINT64_MAX);
	pm_event_release(&e);
}

/* A recorder that waits for its command, or for those before and after it, in a process of its own. 0, or the number
 * of what went wrong. */
static int waits(void)
{
	struct signals s = { .fd = -1 };
	struct error e = { 0 };
	struct child c;

	if (signals_init(&s, NULL, true))
		return 1;
	fork_shell(&c, "exec sleep 100");
	/* What asks for nothing does not end it. */
	if (child_start(&c, &e) || kill(getpid(), SIGUSR1) || kill(getpid(), SIGTERM))
		return 2;
	if (!child_await(&c, &s) || child_exit_code(&c) != 128 + SIGTERM)
		return 3;
	child_release(&c);
	fork_shell(&c, "exit 5");
	if (child_start(&c, &e) || child_await(&c, &s) || child_exit_code(&c) != 5)
		return 4;
	child_release(&c);
	if (child_hook(0, "--pre", "exit 0", &setup, &s, &e))
		return 5;
	if (child_hook(0, "--pre", "exit 3", &setup, &s, &e) != -ECANCELED ||
	    strcmp(e.text, "--pre: 'exit 3' ended with 3"))
		return 6;
	e = (struct error){ 0 };
	if (child_hook(0, "--post", "kill -INT $PPID; exec sleep 100", &setup, &s, &e) != -EINTR ||
	    strcmp(e.text, "--post: interrupted"))
		return 7;
	signals_release(&s);
	return s.fd == -1 ? 0 : 8;
}

static void it_is_awaited_with_signals_passed_on(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(waits());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
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
		cmocka_unit_test(its_end_is_an_event),
		cmocka_unit_test(it_is_awaited_with_signals_passed_on),
	};

	/* A job in the background, or under nohup, ignores them. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
