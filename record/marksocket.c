#include "record/marksocket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define TEXT_MAX 4096
#define NAMES    64

static socklen_t address(struct sockaddr_un *a, const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	/* The first byte 0 is what makes it abstract. */
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
	/* Anybody may take an abstract name, and so keep it from us: there are others. */
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

bool marksocket_take(int fd, char *text, size_t size)
{
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	bool taken = false;
	ssize_t n;

	if (peer < 0)
		return false;
	if (peer_is(peer, getuid()) || peer_is(peer, 0)) {
		struct timeval t = { .tv_usec = 100000 };

		/* The sender has its text ready; one that has not shall not hold up the recorder. */
		setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
		n = recv(peer, text, size - 1, 0);
		taken = n >= 0;
		text[taken ? n : 0] = '\0';
		if (taken)
			send(peer, "ack", 3, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	close(peer);
	return taken;
}

static int send_to(const char *name, const char *text)
{
	struct sockaddr_un a;
	size_t len = strnlen(text, TEXT_MAX - 1);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	char ack[8];
	int ok;

	if (fd < 0)
		return -errno;
	set_timeout(fd);
	/* The name says nothing about who listens; the kernel does. */
	ok = !connect(fd, (struct sockaddr *)&a, address(&a, name)) && peer_is(fd, getuid()) &&
	     send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len && recv(fd, ack, sizeof(ack), 0) == 3 &&
	     !memcmp(ack, "ack", 3);
	close(fd);
	return ok;
}

int marksocket_send(const char *text, struct error *e)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char *line = NULL, prefix[32];
	size_t cap = 0;
	int n = 0;

	if (!f)
		return error_sys(e, errno, "/proc/net/unix");
	snprintf(prefix, sizeof(prefix), " @pmrec/%u/", (unsigned)getuid());
	while (getline(&line, &cap, f) >= 0) {
		char *name = strstr(line, prefix);

		if (!name)
			continue;
		name[strcspn(name, "\n")] = '\0';
		n += send_to(name + 2, text) > 0;
	}
	free(line);
	fclose(f);
	return n;
}
