#include "record/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/buf.h"

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
	{ SIGUSR2, OWN },
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
	return e->signo != SIGCHLD && e->signo != SIGUSR1 && e->signo != SIGUSR2;
}
