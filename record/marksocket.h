/* Requests to a recorder: one socket "@pmrec/UID/PID.N" per recorder, in the abstract namespace. Anybody can take a
 * name there, so both sides check the credentials of the other: a recorder listens to its user, to root, and, if root
 * runs it with a group other than root's, to the members of that group; a client talks only to recorders of the same
 * user and of root. A line has the words of --control. */
#pragma once

#include "common/error.h"
#include "record/host/message.h"

#define MARKSOCKET_LINE 4096 /* what a line with its final zero byte has room in */

int marksocket_listen(void); /* descriptor, or -1 */
/* The line of a waiting client, and a descriptor for the answer; -1: none waits. */
int marksocket_take(int fd, char *line, size_t size);
/* "ack" or what was wrong, with descriptors if there are any; closes `peer`. */
void marksocket_answer(int peer, const char *wrong, const struct message_fds *fds);
/* Sends a line to the recorder `pid`, or to all with 0. The number of those that obeyed, or -errno. `refusal` and
 * `fds`, which may be NULL, get the last answer. */
int marksocket_say(pid_t pid, const char *line, struct message_fds *fds, char *refusal, size_t size, struct error *e);
