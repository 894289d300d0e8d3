/* Messages of bytes and descriptors between the processes of one pmrec. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

enum { MESSAGE_FDS = 16 };

struct message_fds {
	int fd[MESSAGE_FDS];
	unsigned n;
};

/* 0 or -errno. The sender keeps its descriptors. */
int message_send(int socket, const void *data, size_t len, const struct message_fds *fds);
/* The length, 0 if the other side has closed, or -errno. The receiver owns the descriptors; fds may be NULL. */
ssize_t message_take(int socket, void *data, size_t size, struct message_fds *fds);
void message_close_fds(struct message_fds *fds);

/* A forked process that answers questions. */
struct message_peer {
	pthread_mutex_t lock; /* one question at a time */
	int socket;           /* -1: there is none */
	pid_t pid;
};
#define MESSAGE_PEER_NONE \
	{ \
		.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1 \
	}

/* Forks it. In the new process 0, and its end of a socket that keeps message boundaries; all signals are blocked
 * there, because who asks decides about those from the terminal. Else its number, or -errno. */
pid_t message_fork(struct message_peer *p, int *end);
/* Sends a question, and puts the answer, which is as long, in its place. From any thread. 0 or -errno; -EPERM without
 * a process, or if it has ended. */
int message_ask(struct message_peer *p, void *data, size_t len, const struct message_fds *fds,
		struct message_fds *got);
/* Lets it end, and waits for that; ends it after half a second. */
void message_end(struct message_peer *p);
