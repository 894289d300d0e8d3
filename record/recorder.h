/* A running recorder: cmd_record.c runs it from start to end, recorder_obey.c executes requests meanwhile, and
 * recorder_tell.c prints what it does. */
#pragma once

#include "record/control.h"
#include "record/dump.h"
#include "record/host/service.h"
#include "record/options.h"
#include "record/perf/freeze_smi.h"
#include "record/progress.h"
#include "record/sample/session.h"
#include "record/signals.h"

/* What is run for the caller, by record/host/caller.h. */
enum { RUN_COMMAND, RUN_PRE, RUN_POST, RUN_REPORT, RUN_DUMP };

/* Times are CLOCK_MONOTONIC. */
struct recorder {
	struct record_cmdline cmdline;
	const struct record_options *options;
	struct session session;
	struct child_setup setup;
	struct child child;
	struct signals signals;
	struct control control;
	struct dumper dumper;
	struct progress progress;
	struct service service;
	struct freeze_smi freeze;
	struct error error;
	struct joined *joined; /* NULL: a recording for later */
	bool input;            /* newline and q are read from stdin */
	bool interrupted;      /* Ctrl-C came once; the command received it */
	bool quit;             /* no further runs either */
	bool failed;           /* writing: the recording is over, the command continues */
	bool no_room;          /* a full disk was reported */
	bool small;            /* what only starting needed is given back */
	bool run_over;
	bool disabled;      /* instead of perf: snapshots are taken, but events are disabled */
	uint64_t end_ns;    /* of this run, by --timeout from when it counts; 0: none */
	uint64_t enable_ns; /* -D: when; 0: not waiting */
	uint64_t second_ns; /* of the next look at CPUs and progress */
	uint64_t settle_ns; /* when new tasks get their place; 0: there are none */
	uint64_t made_up;   /* lost ticks of -n that were added at its end */
	int code;           /* 0, or the reason for an error of pmrec itself */
};

/* Prints r->error and ends everything; the exit code. */
int recorder_fail(struct recorder *r);
/* Starts counting if it has not. */
void recorder_enable(struct recorder *r);
/* Instead of perf, which continues its intervals: prints that events were enabled or disabled. */
void recorder_switched(struct recorder *r, enum pm_event_type how);
/* A line of --control; answers it. */
void recorder_obey(struct recorder *r, const struct control_command *c);
/* Obeys what waits at the socket (marksocket.h), and answers. */
void recorder_hear(struct recorder *r);
/* --dump-on: handles what poll() found on the triggers. */
void recorder_pressed(struct recorder *r, const struct pollfd *p);
/* A command ends the recording by ending; without one the signal does. */
void recorder_signal(struct recorder *r, const struct signals_event *s);
/* Input from the terminal: a newline ends an interval, q the recording. */
void recorder_input(struct recorder *r);

/* Prints what could not be recorded, restrictions of the sampling threads that are not in force, and, for `pmrec`
 * without arguments, what is being recorded. */
void recorder_tell_refused(struct recorder *r);
void recorder_tell_rights(const struct recorder *r);
void recorder_tell_start(struct recorder *r);
/* Prints what was recorded, and what is missing. */
void recorder_tell_end(struct recorder *r, const struct recording_stats *stats);
/* Prints which signal ended the command, as perf does; not with intervals. */
void recorder_tell_killed(const struct recorder *r);

/* Whether no event could be opened because rights are missing, which is printed. */
bool recorder_may_not(const struct recorder *r);

/* --dry-run: counts for a moment what was planned, and prints its groups (dry_run.c). */
void dry_run(struct session *s);
