#include "record/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/buf.h"

enum { OWN = 1, PERF = 2, TURBOSTAT = 4, USR1 = 8, ALL = 15 };

/* What pmrec and those that it stands for do not leave to the kernel, which ends a process without a word. */
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
	/* Of kill(1); that of a closed pipe waits at the thread that wrote. */
	{ SIGPIPE, PERF | TURBOSTAT },
};

int signals_init(struct signals *s, const struct joined *j, bool command)
{
	unsigned by = !j ? OWN : j->says ? PERF : TURBOSTAT;
	struct sigaction old;
	sigset_t set;

	/* It ends turbostat beside a command, and perf without one. */
	if (!j || j->says == command)
		by |= USR1;
	sigemptyset(&set);
	/* A shell without job control starts what is to run in the background with SIGINT ignored. That is about the
	 * terminal's Ctrl-C; a recorder that nothing but SIGKILL and SIGTERM ends is not what is meant. */
	signal(SIGINT, SIG_DFL);
	for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		int signo = handled[i].signo;

		/* What the caller had ignored (nohup) stays ignored. */
		if (handled[i].by & by &&
		    (signo == SIGCHLD || sigaction(signo, NULL, &old) || old.sa_handler != SIG_IGN))
			sigaddset(&set, signo);
	}
	signal(SIGCHLD, SIG_DFL);
	if (!j)
		signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() says it */
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
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
