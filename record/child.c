#include "record/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/caller.h"
#include "record/host/clocks.h"
#include "record/host/privileges.h"

enum { OWN = 1, PERF = 2, TURBOSTAT = 4, USR1 = 8, ALL = 15 };

/* Signals that pmrec, and the programs that it stands for, do not leave to the kernel, which would end the process
 * silently. */
static const struct {
	int signo;
	unsigned by;
} handled[] = {
	{ SIGINT, ALL },
	{ SIGTERM, ALL },
	{ SIGHUP, ALL },
	{ SIGQUIT, ALL },
	{ SIGCHLD, ALL },
	{ SIGUSR1, USR1 },
	{ SIGALRM, PERF },
	{ SIGABRT, PERF },
	/* Only if sent by kill(1); that of a closed pipe is pending on the thread that wrote. */
	{ SIGPIPE, PERF | TURBOSTAT },
};

int signals_init(struct signals *s, const struct joined *j, bool command)
{
	unsigned by = !j ? OWN : j->says ? PERF : TURBOSTAT;
	struct sigaction old;
	sigset_t set;

	/* It ends turbostat if there is a command, and perf if there is none. */
	if (!j || j->says == command)
		by |= USR1;
	sigemptyset(&set);
	/* A shell without job control starts background jobs with SIGINT ignored. That is about the terminal's
	 * Ctrl-C, not meant to make a recorder that only SIGKILL and SIGTERM can end. */
	signal(SIGINT, SIG_DFL);
	for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		int signo = handled[i].signo;

		/* What the caller ignored (nohup) stays ignored. */
		if (handled[i].by & by &&
		    (signo == SIGCHLD || sigaction(signo, NULL, &old) || old.sa_handler != SIG_IGN))
			sigaddset(&set, signo);
	}
	signal(SIGCHLD, SIG_DFL);
	if (!j)
		signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() says it */
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return -errno;
	sigaddset(&set, SIGCONT); /* stays pending: see continued() */
	return sigprocmask(SIG_BLOCK, &set, NULL) ? -errno : 0;
}

void signals_release(struct signals *s)
{
	fd_close(&s->fd);
}

bool signals_next(struct signals *s, struct signals_event *e)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return false;
	e->signo = (int)info.ssi_signo;
	e->terminal = info.ssi_code == SI_KERNEL;
	return true;
}

bool signals_end(const struct signals_event *e)
{
	return e->signo != SIGCHLD && e->signo != SIGUSR1;
}

int child_prepare(int go, const struct child_setup *setup)
{
	sigset_t none;
	char byte;
	int err;

	while (read(go, &byte, 1) != 1)
		if (errno != EINTR)
			caller_leave(0); /* the recorder has ended, or no longer wants it */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	err = privileges_for_child();
	/* A higher limit than before does no harm, but could surprise. */
	if (setup->files.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &setup->files);
	if (!err && setup->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		err = -errno;
	return err;
}

void child_run(char **argv, int go, int failure, const struct child_setup *setup)
{
	int err = child_prepare(go, setup);

	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	if (write(failure, &err, sizeof(err)) < 0)
		caller_leave(126);
	caller_leave(err == -ENOENT ? 127 : 126);
}

static pid_t start(unsigned what, char **argv, const struct child_setup *setup, const int go[2], const int failure[2])
{
	pid_t pid;

	if (caller_runs())
		return caller_launch(what, setup->text, go[0], failure[1]);
	pid = fork();
	if (pid)
		return pid < 0 ? -errno : pid;
	close(go[1]);
	close(failure[0]);
	child_run(argv, go[0], failure[1], setup);
	return 0;
}

int child_fork(struct child *c, unsigned what, char **argv, const struct child_setup *setup, struct error *e)
{
	int go[2] = { -1, -1 }, failure[2] = { -1, -1 };

	*c = (struct child){ .go = -1, .failure = -1 };
	if (pipe2(go, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		goto fail;
	c->pid = start(what, argv, setup, go, failure);
	if (c->pid < 0) {
		errno = -c->pid;
		goto fail;
	}
	close(go[0]);
	close(failure[1]);
	c->go = go[1];
	c->failure = failure[0];
	return 0;
fail:
	error_sys(e, errno, "cannot start a process");
	c->pid = 0;
	for (int i = 0; i < 2; i++) {
		fd_close(&go[i]);
		fd_close(&failure[i]);
	}
	return -e->number;
}

static void close_pipes(struct child *c)
{
	fd_close(&c->go);
	fd_close(&c->failure);
}

int child_start(struct child *c, struct error *e)
{
	int err = 0;
	ssize_t n;

	c->started_ns = clocks_monotonic();
	c->started = true;
	if (write(c->go, "g", 1) != 1)
		err = -errno;
	do {
		n = err ? 0 : read(c->failure, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close_pipes(c);
	if (!err)
		return 0;
	child_ended(c, true);
	return error_sys(e, -err, "cannot run the command");
}

bool child_ended(struct child *c, bool wait)
{
	pid_t pid;

	if (c->ended || !c->pid)
		return true;
	do {
		pid = wait4(c->pid, &c->status, wait ? 0 : WNOHANG, &c->usage);
	} while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	c->ended_ns = clocks_monotonic();
	c->ended = true;
	return true;
}

void child_signal(const struct child *c, int signo)
{
	if (c->pid <= 0 || !c->started || c->ended)
		return;
	kill(c->pid, signo);
	/* A stopped child receives the signal only when it continues. */
	if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP)
		kill(c->pid, SIGCONT);
}

void child_release(struct child *c)
{
	close_pipes(c);
	if (c->pid > 0 && !c->ended)
		child_ended(c, true);
	c->pid = 0;
}

static void set_u64(struct pm_event *e, uint32_t key, uint64_t v)
{
	(void)pm_map_set(&e->attrs, key, pm_u64(v));
}

void child_exit_event(const struct child *c, struct pm_event *e, bool name)
{
	const struct rusage *u = &c->usage;
	const uint64_t list[] = { (uint64_t)u->ru_minflt,  (uint64_t)u->ru_majflt, (uint64_t)u->ru_inblock,
				  (uint64_t)u->ru_oublock, (uint64_t)u->ru_nvcsw,  (uint64_t)u->ru_nivcsw };
	struct pm_value rusage = pm_array(sizeof(list) / sizeof(list[0]));

	*e = (struct pm_event){ .type = PM_EVENT_CHILD_EXIT, .time_ns = c->ended_ns };
	for (uint32_t i = 0; i < sizeof(list) / sizeof(list[0]) && rusage.array.item; i++)
		rusage.array.item[i] = pm_u64(list[i]);
	if (WIFSIGNALED(c->status))
		set_u64(e, PM_EVENT_KEY_SIGNAL, (uint64_t)WTERMSIG(c->status));
	else
		set_u64(e, PM_EVENT_KEY_EXIT, (uint64_t)WEXITSTATUS(c->status));
	set_u64(e, PM_EVENT_KEY_USER_NS, clocks_timeval_ns(&u->ru_utime));
	set_u64(e, PM_EVENT_KEY_SYSTEM_NS, clocks_timeval_ns(&u->ru_stime));
	set_u64(e, PM_EVENT_KEY_MAXRSS, (uint64_t)u->ru_maxrss * 1024);
	set_u64(e, PM_EVENT_KEY_ELAPSED_NS, c->ended_ns - c->started_ns);
	(void)pm_map_set(&e->attrs, PM_EVENT_KEY_RUSAGE, rusage);
	if (name)
		set_u64(e, PM_EVENT_KEY_PID, (uint64_t)c->pid);
}

int child_exit_code(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

bool child_await(struct child *c, struct signals *signals)
{
	struct pollfd p = { .fd = signals->fd, .events = POLLIN };
	struct signals_event event;
	bool told = false;

	while (!child_ended(c, false)) {
		poll(&p, 1, -1);
		while (signals_next(signals, &event)) {
			if (!signals_end(&event))
				continue;
			told = true;
			/* The child has already received what the terminal sends. */
			if (!event.terminal)
				child_signal(c, event.signo);
		}
	}
	return told;
}

int child_hook(unsigned what, const char *option, const char *command, const struct child_setup *setup,
	       struct signals *signals, struct error *e)
{
	char *argv[] = { (char *)"/bin/sh", (char *)"-c", (char *)command, NULL };
	struct child c;
	int err = child_fork(&c, what, argv, setup, e);
	bool told;

	if (!err)
		err = child_start(&c, e);
	if (err) {
		child_release(&c);
		return error_prefix(e, "%s", option);
	}
	told = child_await(&c, signals);
	child_release(&c);
	if (told)
		return error_set(e, EINTR, "%s: interrupted", option);
	if (child_exit_code(&c))
		return error_set(e, ECANCELED, "%s: '%.200s' ended with %d", option, command, child_exit_code(&c));
	return 0;
}
