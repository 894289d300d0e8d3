#include "record/host/message.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "record/host/clocks.h"

/* A process that has not ended by then was stopped. */
#define END_NS 500000000

union control {
	char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	struct cmsghdr align;
};

pid_t message_fork(struct message_peer *p, int *end)
{
	sigset_t all, before;
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid < 0)
		pid = -errno;
	*end = ends[1];
	if (pid)
		close(ends[1]);
	if (pid <= 0)
		close(ends[0]);
	if (!pid)
		return 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid > 0) {
		p->pid = pid;
		p->socket = ends[0];
	}
	return pid;
}

int message_send(int socket, const void *data, size_t len, const struct message_fds *fds)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	ssize_t n;

	if (fds && fds->n) {
		struct cmsghdr *c;

		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(fds->n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds->n * sizeof(int));
		memcpy(CMSG_DATA(c), fds->fd, fds->n * sizeof(int));
	}
	do {
		n = sendmsg(socket, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static void take_fds(struct msghdr *m, struct message_fds *fds)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (fds && fds->n < MESSAGE_FDS)
				fds->fd[fds->n++] = fd;
			else
				close(fd);
		}
	}
}

ssize_t message_take(int socket, void *data, size_t size, struct message_fds *fds)
{
	struct iovec iov = { .iov_base = data, .iov_len = size };
	union control control = { 0 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n;

	if (fds)
		fds->n = 0;
	do {
		n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	take_fds(&m, fds);
	if (!(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	if (fds)
		message_close_fds(fds);
	/* No room for the descriptors: this process has too many. */
	return m.msg_flags & MSG_CTRUNC ? -EMFILE : -EMSGSIZE;
}

void message_close_fds(struct message_fds *fds)
{
	while (fds->n)
		close(fds->fd[--fds->n]);
}

int message_ask(struct message_peer *p, void *data, size_t len, const struct message_fds *fds,
		struct message_fds *got)
{
	ssize_t n;

	got->n = 0;
	pthread_mutex_lock(&p->lock);
	n = p->socket < 0 ? -EPERM : message_send(p->socket, data, len, fds);
	if (!n)
		n = message_take(p->socket, data, len, got);
	pthread_mutex_unlock(&p->lock);
	if (n == (ssize_t)len)
		return 0;
	message_close_fds(got);
	return n < 0 && n != -EPIPE && n != -ECONNRESET ? (int)n : -EPERM;
}

void message_end(struct message_peer *p)
{
	const uint64_t until = clocks_monotonic() + END_NS;
	const struct timespec pause = { .tv_nsec = 500000 };
	bool killed = false;
	pid_t pid;

	pthread_mutex_lock(&p->lock);
	pid = p->pid;
	fd_close(&p->socket);
	p->pid = 0;
	pthread_mutex_unlock(&p->lock);
	while (pid > 0) {
		pid_t ended = waitpid(pid, NULL, killed ? 0 : WNOHANG);

		if (ended == pid || (ended < 0 && errno != EINTR))
			return;
		if (!killed && clocks_monotonic() < until)
			nanosleep(&pause, NULL);
		else if (!killed && kill(pid, SIGKILL))
			return;
		else
			killed = true;
	}
}
