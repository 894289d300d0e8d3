/* What the files of the perf source share; private to them. */
#pragma once

#include <sys/types.h>

#include "common/cpulist.h"
#include "record/perf/perf_group.h"
#include "record/perf/perf_pmu.h"

/*
 * --per-thread: tasks that start and end while recording. The kernel writes a record of each into buffers that this
 * reads. A new task gets its events at once, and a place in the recording a little later, together with others. What
 * a task did before its events were open, some microseconds, is not counted; `missed` counts tasks that had ended by
 * then.
 */

struct perf_follow_ring {
	int fd;
	uint32_t cpu;
	void *base; /* NULL: it writes into the buffer of another */
};

struct perf_follow {
	int epoll;                     /* readable when there is something; -1: nobody is followed */
	struct perf_follow_ring *ring; /* owned */
	uint32_t n_rings;
};

struct perf_follow_ops {
	void (*began)(void *arg, pid_t pid, pid_t tid, pid_t parent, uint64_t time_ns);
	void (*ended)(void *arg, pid_t tid, uint64_t time_ns);
	/* Records were lost: look for tasks in /proc. */
	void (*lost)(void *arg);
	void *arg;
};

/* Watches the tasks that these and their descendants start, or all (n 0), on these CPUs. They are also watched on
 * offline CPUs, for when these come online. 0 or -errno. */
int perf_follow_begin(struct perf_follow *f, const pid_t *tid, uint32_t n, const struct cpulist *cpus);
/* A CPU has come online: the kernel has dropped a watch of all tasks there, or never had one. Watches of single tasks
 * stay. Reads pending records first. 0 or -errno. */
int perf_follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu,
		    const struct perf_follow_ops *ops);
/* Reads all records, in order of time for each CPU. */
void perf_follow_read(struct perf_follow *f, const struct perf_follow_ops *ops);
void perf_follow_end(struct perf_follow *f);

struct perf_task {
	pid_t pid, tid;
	uint32_t instance;           /* id; 0: began while recording, and is in no definition yet */
	uint64_t began_ns, ended_ns; /* 0: before the recording; not yet */
	bool told;                   /* its end was reported */
	bool timed;                  /* has a place among those of tool events */
	int end;                     /* descriptor that is readable once it has ended; -1: none */
};

struct perf_cgroup {
	char *name;         /* owned; below the hierarchy, without the first slash */
	int fd;             /* its directory */
	uint32_t *instance; /* owned; id on each CPU, by CPU number; 0: none yet */
	uint32_t n_instance;
	bool gone;
};

struct perf_tool;

struct perf_source {
	struct vendor_texts vendor; /* of the pack, while events are read */
	bool packed;                /* there is one */
	struct buf no_event;        /* names of metrics that need none */
	struct perf_pmus pmus;
	struct event_set set;
	struct perf_event *event;  /* owned; of each of set.event */
	struct perf_group **group; /* owned */
	uint32_t n_groups;
	struct perf_task *task; /* owned; what is followed instead of CPUs */
	uint32_t n_tasks;
	struct perf_cgroup *cgroup; /* owned */
	uint32_t n_cgroups;
	char *hierarchy;        /* owned; where cgroups are, or NULL */
	struct perf_tool *tool; /* owned, or NULL */
	struct perf_bpf *bpf;   /* owned, or NULL */
	struct perf_follow follow;
	int ends;             /* epoll of the tasks' `end`; -1: nobody is watched by it */
	uint64_t since_ticks; /* since boot, in ticks of the clock: when following began */
	int *held;            /* owned; descriptors that are closed when the rows are open */
	uint32_t n_held;
	uint32_t n_missed; /* tasks that had ended before they could be followed */
	uint32_t n_lost;   /* times that records of tasks were lost */
	bool on;           /* counting, by the last enable() */
	bool chosen;       /* --control has named events while all were stopped: the next enable() is for them */
	bool from_exec;    /* counting since the exec of the command, without enable() */
	bool to_exec;      /* and the exec is still to come */
};

/* Reads options->perf.events and `sets` (see perf_sets_text()), or the default list, into set and event[]. -errno
 * for a text that is wrong. */
int perf_events_read(struct perf_source *s, struct plan *p, const char *sets, struct error *e);
/* The events that --transaction, --topdown and --smi-cost stand for, as text. -ENODEV and -EINVAL say what this
 * machine lacks, for --cputype and --pmu-filter too. */
int perf_sets_text(const struct perf_source *s, const struct plan *p, struct buf *out, struct error *e);
/* Puts the slots first, if they have shares, and these after them. How many stay together when the group is taken
 * apart. */
uint32_t perf_topdown_order(const struct perf_source *s, struct perf_group *g);
/* Puts the events into groups, and tries each on its first CPU or task: what cannot be opened gets an error,
 * what cannot be opened together is taken apart. */
int perf_groups_settle(struct perf_source *s, struct plan *p, struct error *e);
/* Ends what perf_groups_settle() has kept open. */
void perf_held_close(struct perf_source *s);
/* Adds the instances of what is followed, if that is not CPUs. */
int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e);
/* -p and -t, unless new tasks are followed: watches for the end of each, where the kernel lets it. */
void perf_tasks_watch(struct perf_source *s, const struct plan *p);
/* True if any has ended, for perf_tasks_look() to report. */
bool perf_tasks_notice(struct perf_source *s);
void perf_tasks_release(struct perf_source *s);
/* Finds tasks of -p and -t that have ended. */
void perf_tasks_look(struct perf_source *s, struct plan *p);

/* --per-thread: watches for new tasks; does nothing otherwise. */
void perf_threads_begin(struct perf_source *s, struct plan *p);
/* Reads what has happened: opens events for new tasks. True if perf_threads_update() has something to do. */
bool perf_threads_notice(struct perf_source *s, struct plan *p);
/* While nothing is read: gives new tasks their place in the recording, and takes it from those that have ended. */
void perf_threads_update(struct perf_source *s, struct plan *p);
/* A CPU has come online: tasks that begin there are followed, too. Call perf_threads_update() afterwards. */
void perf_threads_cpu(struct perf_source *s, struct plan *p, uint32_t cpu);
/* -r: drops the tasks of the previous run but the first, which is now the next command. */
void perf_threads_restart(struct perf_source *s, struct plan *p);

/* Explains what is wrong with the filter of the tracepoint SYSTEM:NAME; `number` is the kernel's positive errno.
 * Returns -number. */
int perf_filter_failed(const struct root *root, const char *event, const char *filter, int number, struct error *e);

struct perf_start perf_start_of(const struct perf_source *s, const struct perf_group *g);
/* Rows of a group: tasks, CPUs, or every CPU of one cgroup after the other. */
uint32_t perf_rows_places(const struct perf_source *s, const struct perf_group *g);
/* Opens all of them. */
void perf_rows_open(struct perf_source *s, struct plan *p, struct perf_group *g);
/* One column group for rows that are not in one yet. */
void perf_rows_add(struct plan *p, struct perf_group *g, struct perf_row **rows, uint32_t n);
/* After a CPU went offline or came online: for one group, and one of its cgroups, if any. */
void perf_rows_update(struct perf_source *s, struct plan *p, struct perf_group *g, uint32_t cgroup, uint32_t cpu,
		      bool online);
/* Reopens what stopped because its CPU was offline too briefly to be noticed. */
void perf_rows_revive(struct perf_source *s, struct plan *p);

/* Opens the cgroups of -G and --for-each-cgroup, and gives them to the events; end[i]: how many events the texts of
 * -e up to the i-th have brought. */
int perf_cgroups_read(struct perf_source *s, struct plan *p, const size_t *end, struct error *e);
/* Instance of a cgroup on a CPU, added if it is new. */
int64_t perf_cgroup_instance(struct perf_source *s, struct plan *p, uint32_t cgroup, uint32_t cpu);
/* Finds cgroups that have been removed, and reports them. */
void perf_cgroups_look(struct perf_source *s, struct plan *p);
void perf_cgroups_release(struct perf_source *s);
/* Which groups the kernel samples (sample_ns): those that it can, if that was requested or the interval is short. */
void perf_choose_sampling(struct perf_source *s, const struct sample_options *o);
/* Adds a counter for every event that was opened or requested, and a note for what was refused. */
void perf_counters_add(struct perf_source *s, struct plan *p);
