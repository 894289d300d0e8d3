/* What the files of the perf source share; private to them. */
#pragma once

#include <sys/types.h>

#include "common/cpulist.h"
#include "record/perf/perf_group.h"
#include "record/perf/perf_pmu.h"

struct perf_follow_ring {
	int fd;
	void *base; /* NULL: it writes into the buffer of another */
};

struct perf_follow {
	int epoll;                     /* readable when there is something; -1: nobody is followed */
	struct perf_follow_ring *ring; /* owned */
	uint32_t n_rings;
};

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
/* Opens the cgroups of -G and --for-each-cgroup, and gives them to the events; end[i]: how many events the texts of
 * -e up to the i-th have brought. */
int perf_cgroups_read(struct perf_source *s, struct plan *p, const size_t *end, struct error *e);
/* Instance of a cgroup on a CPU, added if it is new. */
int64_t perf_cgroup_instance(struct perf_source *s, struct plan *p, uint32_t cgroup, uint32_t cpu);
/* Finds cgroups that have been removed, and reports them. */
void perf_cgroups_look(struct perf_source *s, struct plan *p);
void perf_cgroups_release(struct perf_source *s);
