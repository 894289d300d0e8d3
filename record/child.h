/*
 * The command: forked early, so that its pid is known to events that follow it; started when everything is ready. And
 * the signals that are passed on to it.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "format/model.h"
struct joined;

/* Signals as a file descriptor: blocked in every thread, read by the control thread. */
struct signals {
	int fd;
};

struct signals_event {
	int signo;
	bool terminal; /* typed at the terminal: its whole foreground group has received it */
};

/* Before any thread is started: those that pmrec receives, or the program that it stands for, with a command or not.
 * 0 or -errno. */
int signals_init(struct signals *s, const struct joined *j, bool command);
void signals_release(struct signals *s);
/* False: nothing more. */
bool signals_next(struct signals *s, struct signals_event *e);
/* Whether it requests the end. */
bool signals_end(const struct signals_event *e);

struct child_setup {
	bool stdout_to_stderr; /* because the recording goes to stdout */
	struct rlimit files;   /* as the caller had it: sources may raise it for their descriptors */
	const char *text;      /* what the number of a program does not tell; NULL: nothing */
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

/* In the forked process: waits until it may continue, then takes the caller's credentials and settings. 0 or
 * -errno. */
int child_prepare(int go, const struct child_setup *setup);
/* The same, and runs the program; does not return. */
void child_run(char **argv, int go, int failure, const struct child_setup *setup);

/* Forks, or lets record/host/caller.h do so if that runs: `what` is the number of the program there. 0 or -errno. */
int child_fork(struct child *c, unsigned what, char **argv, const struct child_setup *setup, struct error *e);
/* Lets it run. 0, or -errno if it could not be run; the text is in *e, and the process has ended. */
int child_start(struct child *c, struct error *e);
/* Whether it has ended, or waits until it has. */
bool child_ended(struct child *c, bool wait);
void child_signal(const struct child *c, int signo);
/* Ends a child that never started; closes its descriptors. */
void child_release(struct child *c);

/* The event for its end; incomplete if memory is short. `name`: with its pid. */
void child_exit_event(const struct child *c, struct pm_event *e, bool name);

/* As in a shell: the exit status, or 128 + signal. */
int child_exit_code(const struct child *c);

/* Waits for the end of a child, and passes signals on that end the recorder. Whether one came. */
bool child_await(struct child *c, struct signals *signals);
/* --pre and --post: runs a command of the shell to its end, under this number (child_fork()), with signals passed on.
 * 0, or -errno with the text in *e: -EINTR after such a signal, -ECANCELED for a status other than 0. */
int child_hook(unsigned what, const char *option, const char *command, const struct child_setup *setup,
	       struct signals *signals, struct error *e);
