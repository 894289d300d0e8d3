/*
 * The flight recorder's other half: copying the last minutes out of a running recorder. `pmrec dump` asks the
 * recorder by its socket (marksocket.h) for its files, and lets `pmrep merge` make one recording of them; a recorder
 * that dumps by itself starts a process that does the same.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/child.h"
#include "record/plan/plan.h"

/* Pressure stall information: the kernel monitors tasks that wait for a resource, and wakes pollers of a file in
 * /proc/pressure (Documentation/accounting/psi.rst). */
struct pressure {
	char resource[8];             /* "memory", "io", "cpu", "irq": a file of /proc/pressure */
	bool full;                    /* all tasks wait, not some */
	uint64_t stall_us, window_us; /* this much waiting within this time */
};

/* "psi:RESOURCE:some|full:STALL/WINDOW". 0 or -EINVAL. */
int pressure_parse(struct pressure *p, const char *text, struct error *e);

enum { DUMP_TRIGGERS = 8 };

/* What makes a recorder write a dump by itself. */
struct dumper {
	int trigger[DUMP_TRIGGERS]; /* of pressure, as --dump-on has them */
	unsigned n;
	struct child child; /* the process that dumps now, or did last */
	uint64_t next_ns;   /* CLOCK_MONOTONIC: no dump before this time */
};

#define DUMPER_INIT \
	{ \
		.child = {.go = -1, .failure = -1, .ended = true } \
	}

/* Opens what --dump-on names. 0 or -errno. */
int dumper_open(struct dumper *d, const struct record_options *o, struct error *e);
/* What to poll, at most DUMP_TRIGGERS; their number. */
unsigned dumper_watch(const struct dumper *d, struct pollfd *p);
/* Ends an unfinished dump. */
void dumper_close(struct dumper *d);

/* Replaces this process by one that dumps from the recorder `pid` (0: the only one), from `since` on (as for pmrep),
 * to `path`. Returns the exit code, only on failure. */
int dump_exec(pid_t pid, const char *since, const char *path, bool overwrite);
