/*
 * Requests to a running recorder: commands through --control (perf's protocol: one per line, each answered with
 * "ack"), and those of `pmrec mark` and `pmrec dump` through an abstract socket.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"

enum control_verb {
	CONTROL_UNKNOWN,
	CONTROL_PING,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_SNAPSHOT,
	CONTROL_MARK,
	CONTROL_DUMP,
	CONTROL_STOP,
	CONTROL_EVLIST,
};

struct control {
	int ctl, ack; /* -1: none */
	int mark;     /* listening socket (marksocket.h); -1: none */
	char line[4096];
	size_t len;
};

struct control_command {
	enum control_verb verb;
	const char *text; /* of MARK, or the event of ENABLE and DISABLE, "" for all; valid until the next call */
};

/* `where`: "fd:CTL[,ACK]" or "fifo:CTL[,ACK]", or NULL. 0 or -errno. Without the socket for markers it continues. */
int control_open(struct control *c, const char *where, struct error *e);
void control_close(struct control *c);
/* The next whole line of ctl, if there is one now. At the end of the input ctl is closed. */
bool control_next(struct control *c, struct control_command *command);
/* "ack", or what was wrong. */
void control_answer(struct control *c, const char *wrong);

/* The next line of the socket, of at most `size` bytes, and whom to answer (marksocket.h); -1: there is none. */
int control_next_peer(struct control *c, char *line, size_t size, struct control_command *command);
