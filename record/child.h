/*
 * The command: forked early, so that its pid is known to events that follow it; started when everything is ready.
 */
#ifndef RECORD_CHILD_H
#define RECORD_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/error.h"
#include "format/model.h"

struct child_setup {
	bool stdout_to_stderr; /* because the recording goes to stdout */
	struct rlimit files;   /* as the caller had it: sources may raise it for their descriptors */
	const char *text;      /* what the number of a program leaves open; NULL: nothing */
};

struct child {
	pid_t pid;
	int go;      /* a byte here lets it exec; closing it lets it end */
	int failure; /* read end: the errno of a failed exec; end of file: it has started */
	uint64_t started_ns, ended_ns;
	int status; /* as of wait(2) */
	struct rusage usage;
	bool started, ended;
};

/* In the forked process: waits until it may go, and becomes what the caller would have started. 0 or
 * -errno. */
int child_prepare(int go, const struct child_setup *setup);
/* The same, and runs the program; does not return. */
void child_run(char **argv, int go, int failure, const struct child_setup *setup);

/* Forks, or lets record/host/caller.h do so if that runs: `what` is the number of the program there. 0 or -errno. */
int child_fork(struct child *c, unsigned what, char **argv, const struct child_setup *setup, struct error *e);
/* Lets it go. 0, or -errno if it could not be run: text in *e, and it has ended. */
int child_start(struct child *c, struct error *e);
/* Looks whether it has ended, or waits for it. True if it has. */
bool child_ended(struct child *c, bool wait);
void child_signal(const struct child *c, int signo);
/* Ends one that never started; closes what is open. */
void child_release(struct child *c);

/* What came of it, as the recording has it; without memory it says less. `name`: its pid, too. */
void child_exit_event(const struct child *c, struct pm_event *e, bool name);

/* As the shell says it: exit status, or 128 + signal. */
int child_exit_code(const struct child *c);

#endif
