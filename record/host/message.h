/* Messages between the processes of one pmrec: bytes and descriptors, in one piece. */
#ifndef RECORD_MESSAGE_H
#define RECORD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

enum { MESSAGE_FDS = 16 };

struct message_fds {
	int fd[MESSAGE_FDS];
	unsigned n;
};

/* Two ends of a socket on which messages keep their borders; closed by exec. 0 or -errno. */
int message_pair(int end[static 2]);
/* 0 or -errno. The descriptors stay the sender's. */
int message_send(int socket, const void *data, size_t len, const struct message_fds *fds);
/* Length, 0 when the other side is gone, or -errno. The descriptors are the receiver's; fds may be NULL. */
ssize_t message_take(int socket, void *data, size_t size, struct message_fds *fds);
void message_close_fds(struct message_fds *fds);

#endif
