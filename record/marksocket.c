#include "record/marksocket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define NAMES 64

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59 /* older headers lack it */
#endif

static socklen_t address(struct sockaddr_un *a, const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* A leading zero byte makes the name abstract. */
	snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "%s", name);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a->sun_path + 1));
}

static void set_timeout(int fd)
{
	struct timeval t = { .tv_sec = 2 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

int marksocket_listen(void)
{
	struct sockaddr_un a;
	char name[64];
	int fd, err;

	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	/* Anyone may take an abstract name, and so block it: try others. */
	for (int i = 0; i < NAMES; i++) {
		snprintf(name, sizeof(name), "pmrec/%u/%d.%d", (unsigned)getuid(), (int)getpid(), i);
		err = bind(fd, (struct sockaddr *)&a, address(&a, name)) ? errno : 0;
		if (err != EADDRINUSE)
			break;
	}
	if (err || listen(fd, 16)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool peer_is(int fd, uid_t uid)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && who.uid == uid;
}

static bool peer_in(int fd, gid_t gid)
{
	gid_t group[1024];
	struct ucred who;
	socklen_t len = sizeof(who), size = sizeof(group);

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && who.gid == gid)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, group, &size))
		return false;
	for (size_t i = 0; i < size / sizeof(*group); i++)
		if (group[i] == gid)
			return true;
	return false;
}

/* If a service of root was given a group of its own, its members may ask. */
static bool may_ask(int peer)
{
	return peer_is(peer, getuid()) || peer_is(peer, 0) || (!getuid() && getgid() && peer_in(peer, getgid()));
}

int marksocket_take(int fd, char *line, size_t size)
{
	const struct timeval t = { .tv_usec = 100000 };
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	ssize_t n = -1;

	if (peer < 0)
		return -1;
	/* A sender has its line ready; one that has not must not delay the recorder. */
	setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	if (may_ask(peer))
		n = recv(peer, line, size - 1, 0);
	line[n < 0 ? 0 : n] = '\0';
	if (n >= 0)
		return peer;
	close(peer);
	return -1;
}

void marksocket_answer(int peer, const char *wrong, const struct message_fds *fds)
{
	const char *text = wrong ? wrong : "ack";

	(void)message_send(peer, text, strlen(text), fds);
	close(peer);
}

/* Whether it was done; otherwise the answer, if there was one, is the reason. */
static bool say(uid_t uid, const char *name, const char *line, struct message_fds *fds, char *refusal, size_t size)
{
	struct sockaddr_un a;
	size_t len = strlen(line);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char answer[256];
	ssize_t n = -1;

	if (fd < 0)
		return false;
	set_timeout(fd);
	/* The name does not say who listens; the kernel does. */
	if (!connect(fd, (struct sockaddr *)&a, address(&a, name)) && peer_is(fd, uid) &&
	    send(fd, line, len, MSG_NOSIGNAL) == (ssize_t)len)
		n = message_take(fd, answer, sizeof(answer) - 1, fds);
	close(fd);
	answer[n < 0 ? 0 : n] = '\0';
	if (!strcmp(answer, "ack"))
		return true;
	if (*answer && refusal)
		snprintf(refusal, size, "%s", answer);
	return false;
}

int marksocket_say(pid_t pid, const char *text, struct message_fds *fds, char *refusal, size_t size, struct error *e)
{
	FILE *f = strlen(text) < MARKSOCKET_LINE ? fopen("/proc/net/unix", "re") : NULL;
	char *line = NULL;
	size_t cap = 0;
	int n = 0;

	if (strlen(text) >= MARKSOCKET_LINE)
		return error_set(e, E2BIG, "a request of %zu bytes is too long; at most %d are taken", strlen(text),
				 MARKSOCKET_LINE - 1);
	if (!f)
		return error_sys(e, errno, "/proc/net/unix");
	while (getline(&line, &cap, f) >= 0) {
		char *name = strstr(line, " @pmrec/");
		unsigned uid;
		int whose;

		if (!name || sscanf(name, " @pmrec/%u/%d.", &uid, &whose) != 2 || (uid && uid != getuid()) ||
		    (pid && pid != whose))
			continue;
		name[strcspn(name, "\n")] = '\0';
		n += say(uid, name + 2, text, fds, refusal, size);
	}
	free(line);
	fclose(f);
	return n;
}
