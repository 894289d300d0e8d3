/*
 * What the service manager that started pmrec wants to know (sd_notify(3), Type=notify): that it is recording, alive,
 * or ending. Nothing is sent unless the manager asked for it.
 */
#ifndef RECORD_SERVICE_H
#define RECORD_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

struct service {
	int fd;           /* -1: nobody asks */
	uint64_t wake_ns; /* how often it wants to hear; 0: never */
	uint64_t next_ns; /* when it does, CLOCK_MONOTONIC */
};

#define SERVICE_INIT ((struct service){ .fd = -1 })

/* Connects to $NOTIFY_SOCKET, before the rights to do so are dropped. Not for a program with rights that its caller lacks. */
void service_open(struct service *s);
/* Sends "READY=1", "STATUS=...": lines as sd_notify(3) has them. Never waits. */
void service_tell(const struct service *s, const char *text);
/* Whether it wants to hear now; if so, not again before the next time. */
bool service_due(struct service *s, uint64_t now_ns);
void service_close(struct service *s);

#endif
