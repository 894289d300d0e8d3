/*
 * What the service manager that started pmrec wants to know (sd_notify(3), Type=notify): that it is recording, alive,
 * or ending. Nothing is sent unless the manager requested it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct service {
	int fd;           /* -1: no manager */
	uint64_t wake_ns; /* its interval; 0: none */
	uint64_t next_ns; /* the next time, CLOCK_MONOTONIC */
};

#define SERVICE_INIT ((struct service){ .fd = -1 })

/* Connects to $NOTIFY_SOCKET, before the rights to do so are dropped. Not for a program with rights that its caller
 * lacks. */
void service_open(struct service *s);
/* Sends lines of sd_notify(3), such as "READY=1", without blocking. */
void service_tell(const struct service *s, const char *text);
/* Whether it is time to notify the manager; true once per interval. */
bool service_due(struct service *s, uint64_t now_ns);
void service_close(struct service *s);
