/*
 * One event on every CPU, shared by all recorders (--bpf-counters). A *leader* reads it whenever a CPU changes from
 * one task to another; *followers* of any number of processes run after it, take the difference from what they last
 * saw, and add it to a CPU or to one of their tasks.
 *
 * Leaders are found through a map with a name in a BPF file system, from the words of struct perf_event_attr to the
 * ids of the leader's link and of its map of differences. That is the convention of perf stat --bpf-counters (Linux
 * 5.12), names and sizes included; perf's followers are attached to the leader's function and add the differences
 * that it leaves. Those of pmrec need no such trampoline, which some kernels and architectures lack. The leader and
 * its events end with the last follower.
 */
#pragma once

#include "common/error.h"
#include "record/bpf/bpf_load.h"
#include "record/host/perf_open.h"
#include "record/host/root.h"

#define BPF_ATTR_MAP "/sys/fs/bpf/perf_attr_map"

/* The map of leaders, locked by flock() so that nobody begins the same one at the same time. */
struct bpf_leaders {
	int map;           /* -1: leaders are not shared */
	uint32_t key_size; /* bytes of struct perf_event_attr that it knows */
};
/* 0, or -errno with the text in *e. `path` has to be in a BPF file system. */
int bpf_leaders_open(struct bpf_leaders *l, const char *path, struct error *e);
void bpf_leaders_close(struct bpf_leaders *l);

struct bpf_leader {
	int link, program; /* owned; -1: none */
	int events;        /* likewise; map: the event on each CPU; -1 also if the leader was found */
	int readings;      /* likewise; map: what it has read last on each CPU */
	int differences;   /* likewise; map: the difference of that to the reading before */
	bool found;        /* it existed already */
	bool shared;       /* others find it */
};
#define BPF_LEADER_NONE \
	((struct bpf_leader){ .link = -1, .program = -1, .events = -1, .readings = -1, .differences = -1 })

/* Finds the leader of the event, or begins one with events on `cpus`; n_cpus: possible CPUs. `filter`: of a
 * tracepoint, or NULL; what is filtered is not shared. 0 or -errno with the text in *e; bpf_leader_release() in any
 * case. */
int bpf_leader_begin(struct bpf_leader *l, const struct bpf_leaders *all, const union perf_attr *attr,
		     const char *filter, const struct cpulist *cpus, uint32_t n_cpus, struct error *e);
void bpf_leader_release(struct bpf_leader *l);
/* A CPU has come online: the event is opened there, too. 0 or -errno. */
int bpf_leader_add_cpu(const struct bpf_leader *l, const union perf_attr *attr, const char *filter, uint32_t cpu);

/*
 * Followers of a leader (bpf_leader.h): for every CPU, or for some tasks and their children.
 */

/* The tasks that are counted, for all followers together: from a thread's id to the place of its counts. */
struct bpf_tasks {
	int map;
	int link[2]; /* beginning and end of tasks */
};
#define BPF_TASKS_NONE ((struct bpf_tasks){ .map = -1, .link = { -1, -1 } })

/* With `inherit`, children count with their task. BPF programs see ids of the whole system: -ENOTSUP in a container
 * with its own. 0 or -errno with the text in *e; call bpf_tasks_release() in any case. */
int bpf_tasks_init(struct bpf_tasks *t, const struct root *root, bool inherit, struct error *e);
void bpf_tasks_release(struct bpf_tasks *t);
int bpf_tasks_put(const struct bpf_tasks *t, uint32_t tid, uint32_t place);
int bpf_tasks_drop(const struct bpf_tasks *t, uint32_t tid);

struct bpf_follower {
	int link, program;
	uint32_t n_places, n_cpus;
	/* The first: whether it counts. Then, of each CPU, what the leader had read when this one ran last. Then the
	 * counts: CPU * n_places + place. */
	struct bpf_cells cells;
};
#define BPF_FOLLOWER_NONE ((struct bpf_follower){ .link = -1, .program = -1, .cells = BPF_CELLS_NONE })

/* Runs after the leader; `tasks`: NULL to count whatever runs, in one place a CPU. It starts disabled. 0 or -errno
 * with the text in *e; bpf_follower_release() in any case. */
int bpf_follower_init(struct bpf_follower *f, const struct bpf_leader *l, const struct bpf_tasks *tasks,
		      uint32_t n_places, uint32_t n_cpus, struct error *e);
void bpf_follower_release(struct bpf_follower *f);
/* Starts or stops counting. Bring it up to date first. */
void bpf_follower_enable(const struct bpf_follower *f, bool on);
/* Reads the event on the CPU now, and counts the difference. Task switches meanwhile count as usual. */
void bpf_follower_read(const struct bpf_follower *f, const struct bpf_leader *l, uint32_t cpu);
/* The count of a place, on a CPU or (PM_NONE) on all. */
struct bpf_sum bpf_follower_sum(const struct bpf_follower *f, uint32_t place, uint32_t cpu);

/*
 * Counting while a BPF program runs (-b): a program before it reads the events of the CPU, and one after it adds the
 * difference. The kernel's own entry and exit lie between the two: tens of nanoseconds per run.
 */

/* A program that is loaded in the kernel. */
struct bpf_target {
	uint32_t id;
	uint32_t function; /* in its BTF */
	int fd;            /* owned; -1: none */
	char name[64];     /* of its function, or as much as the kernel shows */
};
/* 0; -ENOENT: no such program; -EPERM; -EINVAL: it has no BTF, so nothing can attach; -EPROTO: it is not compiled. *e
 * has cause and cure. */
int bpf_target_find(struct bpf_target *t, uint32_t id, struct error *e);
void bpf_target_release(struct bpf_target *t);

struct bpf_profile {
	const struct bpf_target *target; /* borrowed, n_targets of them */
	uint32_t n_targets, n_events, n_cpus;
	int events;             /* map: event * n_cpus + CPU */
	struct bpf_cells cells; /* target * n_cpus + CPU */
	int *link;              /* owned; two of each target */
};
enum { BPF_PROFILE_EVENTS_MAX = 400 }; /* what lies after one address of a program */

/* Attaches to all of them. 0 or -errno with the text in *e; bpf_profile_release() in any case. */
int bpf_profile_init(struct bpf_profile *p, const struct bpf_target *target, uint32_t n_targets, uint32_t n_events,
		     uint32_t n_cpus, struct error *e);
void bpf_profile_release(struct bpf_profile *p);
/* The event is read from this descriptor on the CPU from now on, or no more (-1). 0 or -errno. */
int bpf_profile_put(const struct bpf_profile *p, uint32_t event, uint32_t cpu, int fd);
/* What one event counted in one program on one CPU. */
struct bpf_sum bpf_profile_sum(const struct bpf_profile *p, uint32_t target, uint32_t event, uint32_t cpu);

/*
 * Counting cgroups (--bpf-counters --for-each-cgroup): whenever a CPU changes to a task of another cgroup, all events
 * are read once, and the differences are added to each requested cgroup that contains the old task. So a hundred
 * cgroups need no more events than one. Version 2 hierarchy only.
 */
struct bpf_cgroups {
	uint32_t n_events, n_cgroups, n_cpus;
	int events; /* map: event * n_cpus + CPU */
	int places; /* map: id of a cgroup to its number here */
	/* The first: whether it counts. Then, of each CPU, what was read last, and the difference to it. */
	struct bpf_cells state;
	struct bpf_cells cells; /* CPU * n_cgroups + cgroup: a cell of each event */
	int reader, link;
};
#define BPF_CGROUPS_NONE \
	((struct bpf_cgroups){ .events = -1, \
			       .places = -1, \
			       .state = BPF_CELLS_NONE, \
			       .cells = BPF_CELLS_NONE, \
			       .reader = -1, \
			       .link = -1 })
enum { BPF_CGROUPS_EVENTS_MAX = 400 };

/* Starts disabled. `directory`: descriptors of the cgroups. 0 or -errno with the text in *e; bpf_cgroups_release() in
 * any case. */
int bpf_cgroups_init(struct bpf_cgroups *g, const struct root *root, const int *directory, uint32_t n_cgroups,
		     uint32_t n_events, uint32_t n_cpus, struct error *e);
void bpf_cgroups_release(struct bpf_cgroups *g);
/* The event is read from this descriptor on the CPU from now on. 0 or -errno. */
int bpf_cgroups_put(const struct bpf_cgroups *g, uint32_t event, uint32_t cpu, int fd);
void bpf_cgroups_enable(const struct bpf_cgroups *g, bool on);
/* Reads all events on the CPU now. */
void bpf_cgroups_read(const struct bpf_cgroups *g, uint32_t cpu);
struct bpf_sum bpf_cgroups_sum(const struct bpf_cgroups *g, uint32_t event, uint32_t cgroup, uint32_t cpu);
