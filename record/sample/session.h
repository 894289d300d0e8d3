/* A recording in progress: the plan, the threads that sample and write, and what may be done to it. The control
 * thread owns it. */
#pragma once

#include "record/host/hotplug.h"
#include "record/sample/recording.h"
#include "record/sample/sampler.h"

struct session {
	const struct record_options *options;
	struct root root;
	struct pm_model model;
	struct plan plan;
	struct source *source;
	size_t n_sources;
	struct hotplug hotplug;
	struct cpulist offline;   /* offline CPUs that have units */
	struct rotation rotation; /* holds the output, also when there is one file only */
	struct recording *recording;
	struct readout readout;
	struct ring ring;
	struct sampler *sampler;
	uint64_t cost_ns;           /* since when the cost of recording is counted, CLOCK_MONOTONIC */
	struct sampler_delay delay; /* of earlier samplers */
	uint64_t dropped;           /* snapshots without a buffer, of earlier rings */
	const struct clock_source *clocks;
	uint64_t chunk_ns; /* chunks end after that time */
	bool per_cpu;
	struct sampler *left; /* has abandoned readers, so what they may touch stays; NULL: none */
	bool counting;        /* between the first and the last snapshot of a segment */
	bool reached_last;    /* -n: its last tick has come */
	bool wants_ticks;     /* for which there was no room */
	bool limit_told;      /* reached a limit of the format, so that some are not recorded */
	uint32_t run, segment;
	uint64_t start_ns;    /* of tick 0; 0: nothing was sampled yet */
	uint64_t number;      /* of the last snapshot that was requested */
	uint64_t single_ns;   /* its time, if it was not a tick's */
	uint64_t last_number; /* -n, of each run; UINT64_MAX: no end */
	uint32_t limited_run; /* the run that last_number is of */
};

/* The file that is being written. Steady unless the writer rotates files. */
static inline struct output *session_output(struct session *s)
{
	return rotation_output(&s->rotation);
}

/* Looks at the machine and lets the sources plan; `child`: the command, forked and waiting, or 0. This and the next
 * two return 0 or -errno. */
int session_plan(struct session *s, const struct record_options *o, pid_t child, char *const *argv, struct error *e);
/* Opens the output, writes the definitions, starts the threads. */
int session_open(struct session *s, struct error *e);
/* Writes the rest and closes the recording. */
int session_close(struct session *s, struct error *e);
/* Also after a failure of the above. */
void session_release(struct session *s);

/* Starts or stops counting in all sources. 0 or -errno. */
int session_enable(struct session *s, bool on, struct error *e);
/* A new segment: takes its first snapshot, and then ticks. */
void session_begin(struct session *s);
/* The last snapshot of the segment; nothing ticks afterwards. */
void session_end(struct session *s);
/* A snapshot between the ticks. `restart`: the next tick comes a whole interval later, not when it was due. */
void session_snapshot(struct session *s, bool restart);
/* When one is due only because counters wrap, CLOCK_MONOTONIC; UINT64_MAX: none is. And that snapshot. */
uint64_t session_between_due(const struct session *s, uint64_t now);
void session_between(struct session *s);
/* Adds ticks to those of -n. */
void session_prolong(struct session *s, uint64_t ticks);
/* Ticks again, if the writer was too far behind for that before. */
void session_retry(struct session *s);
/* From now on nobody waits long: not for the output, not for a file that does not answer. */
void session_hurry(struct session *s);
/* When the last tick of -n should have been taken by all, CLOCK_MONOTONIC; UINT64_MAX: there is none. */
uint64_t session_due(const struct session *s);
/* Ticks have stopped by themselves (sampler_fd is readable): the last one of -n has come. */
void session_ticks_ended(struct session *s);
/* The next run of -r: sources follow another process. 0 or -errno. */
int session_next_run(struct session *s, pid_t child, struct error *e);
/* Lets the sources find which tasks and cgroups have ended, and records that. */
void session_look(struct session *s);
/* Whether session_look() and session_look_for_cpus() can wait for some seconds: what they find is rare or is heard
 * of. */
bool session_is_calm(const struct session *s);
/* A descriptor that is readable when sources have something to notice; -1: none has. */
int session_watch_fd(const struct session *s);
/* Lets them notice it; true: session_look_for_cpus() has something to do soon. */
bool session_notice(struct session *s);
/* Finds CPUs that went offline or came online, and rebuilds what samples them. 0 or -errno. */
int session_look_for_cpus(struct session *s, struct error *e);

/* Adds an event to the recording, in its place among the snapshots. Takes the attributes. As recording_event(). */
int session_event(struct session *s, struct pm_event *event);
void session_event_number(struct session *s, enum pm_event_type type, uint32_t key, uint64_t value);
