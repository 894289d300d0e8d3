/* What the files of the perf source share; nobody else includes this. */
#ifndef RECORD_PERF_SOURCE_H
#define RECORD_PERF_SOURCE_H

#include "record/perf_group.h"
#include "record/perf_pmu.h"

struct perf_task {
	pid_t tid;
	uint32_t instance; /* id */
};

struct perf_cgroup {
	char *name;         /* owned; as the hierarchy has it, without the slash before it */
	int fd;             /* its directory */
	uint32_t *instance; /* owned; id on each CPU, by CPU number; 0: none yet */
	uint32_t n_instance;
	bool gone;
};

struct perf_tool;

struct perf_source {
	struct perf_pmus pmus;
	struct event_set set;
	struct perf_event *event;  /* owned; of each of set.event */
	struct perf_group **group; /* owned */
	uint32_t n_groups;
	struct perf_task *task; /* owned; what is followed in place of CPUs */
	uint32_t n_tasks;
	struct perf_cgroup *cgroup; /* owned */
	uint32_t n_cgroups;
	char *hierarchy; /* owned; where cgroups are, or NULL */
	struct perf_tool *tool; /* owned, or NULL */
	bool on; /* counting, as far as enable() was told */
	bool from_exec; /* counting since the exec of the command: nobody told */
};

/* Reads options->events and `sets` (see perf_sets_text()), or the default list, into set and event[]. -errno for a text that is wrong. */
int perf_events_read(struct perf_source *s, struct plan *p, const char *sets, struct error *e);
/* The events that --transaction, --topdown and --smi-cost stand for, as text. -ENODEV and -EINVAL say what this machine
 * lacks, for --cputype too. */
int perf_sets_text(const struct perf_source *s, const struct plan *p, struct buf *out, struct error *e);
/* Puts the events into groups, and tries each on its first CPU or task: what cannot be opened gets an error,
 * what cannot be opened together is taken apart. */
int perf_groups_settle(struct perf_source *s, struct plan *p, struct error *e);
/* Adds the instances of what is followed, if that is not CPUs. */
int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e);
/* Opens the cgroups of -G and --for-each-cgroup, and gives them to the events; end[i]: how many events the texts of
 * -e up to the i-th have brought. */
int perf_cgroups_read(struct perf_source *s, struct plan *p, const size_t *end, struct error *e);
/* Instance of a cgroup on a CPU, added if it is new. Id > 0 or -errno. */
int64_t perf_cgroup_instance(struct perf_source *s, struct plan *p, uint32_t cgroup, uint32_t cpu);
/* Looks which cgroups have been removed since, and says so. 0 or -errno. */
int perf_cgroups_look(struct perf_source *s, struct plan *p);
void perf_cgroups_release(struct perf_source *s);
/* Adds a counter for every event that was opened or asked for, and a note for what was refused. */
int perf_counters_add(struct perf_source *s, struct plan *p);
/* CPUs that the event is to be opened on, of those that are recorded. */
int perf_event_cpus(const struct perf_source *s, const struct plan *p, const struct event *ev,
                    struct cpulist *cpus);

#endif
