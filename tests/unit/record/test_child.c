/* The command: it waits until it may go, its end and its failure to start are told apart. */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "record/cmd_record.c"
#include "tests/unit/lib/test.h"

/* It is that of the program. */
void command_suggest(char *const *argv, struct error *e)
{
}

static struct child_setup setup;

/* The text of --pre and --post is known by their number. */
static void run(void *ctx, unsigned what, const char *text, int go, int failure)
{
	static const char *const hook[] = { "exit 0", "exit 3", "kill -INT $PPID; exec sleep 100" };
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)(text ? text : hook[what]), NULL };

	child_run(argv, go, failure, &setup);
}

/* The test ends it. */
static void begin_caller(void)
{
	const struct caller_rules rules = { .run = run };

	assert_int_equal(caller_start(&rules), 0);
}

static void fork_shell(struct child *c, const char *script)
{
	struct error e = { 0 };

	if (!caller_runs())
		begin_caller();
	assert_int_equal(child_fork(c, 0, script, &e), 0);
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
	caller_end();
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
	caller_end();
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
	caller_end();
}

static void its_limit_of_files_is_the_callers(void **state)
{
	struct error e = { 0 };
	struct child c;

	setup.files = (struct rlimit){ .rlim_cur = 77, .rlim_max = 200 };
	fork_shell(&c, "exit $(ulimit -n)");
	setup.files.rlim_cur = 0;
	assert_int_equal(child_start(&c, &e), 0);
	assert_true(child_ended(&c, true));
	assert_int_equal(child_exit_code(&c), 77);
	child_release(&c);
	caller_end();
}

/* A recorder that waits for its command, or for those before and after it, in a process of its own. 0, or the number
 * of what went wrong. */
static int waits(void)
{
	struct error e = { 0 };
	struct child c;
	int s = signals_open(NULL);

	if (s < 0)
		return 1;
	fork_shell(&c, "exec sleep 100");
	/* What asks for nothing does not end it. */
	if (child_start(&c, &e) || kill(getpid(), SIGUSR1) || kill(getpid(), SIGTERM))
		return 2;
	if (!child_await(&c, s) || child_exit_code(&c) != 128 + SIGTERM)
		return 3;
	child_release(&c);
	fork_shell(&c, "exit 5");
	if (child_start(&c, &e) || child_await(&c, s) || child_exit_code(&c) != 5)
		return 4;
	child_release(&c);
	if (child_hook(0, "--pre", "exit 0", s, &e))
		return 5;
	if (child_hook(1, "--pre", "exit 3", s, &e) != -ECANCELED || strcmp(e.text, "--pre: 'exit 3' ended with 3"))
		return 6;
	e = (struct error){ 0 };
	if (child_hook(2, "--post", "", s, &e) != -EINTR || strcmp(e.text, "--post: interrupted"))
		return 7;
	caller_end();
	return 0;
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
		cmocka_unit_test(it_gets_signals_though_stopped),
		cmocka_unit_test(its_limit_of_files_is_the_callers),
		cmocka_unit_test(it_is_awaited_with_signals_passed_on),
	};

	/* A job in the background, or under nohup, ignores them. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
