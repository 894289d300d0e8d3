/*
 * Pressure stall information: the kernel monitors tasks that wait for a resource, and wakes pollers of a file in
 * /proc/pressure (Documentation/accounting/psi.rst).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

struct pressure {
	char resource[8];             /* "memory", "io", "cpu", "irq": a file of /proc/pressure */
	bool full;                    /* all tasks wait, not some */
	uint64_t stall_us, window_us; /* this much waiting within this time */
};

/* "psi:RESOURCE:some|full:STALL/WINDOW". 0 or -EINVAL. */
int pressure_parse(struct pressure *p, const char *text, struct error *e);
/* A descriptor that has POLLPRI at most once per window, or -errno. */
int pressure_open(const struct pressure *p, struct error *e);
