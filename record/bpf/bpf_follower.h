/*
 * Followers of a leader (bpf_leader.h): for every CPU, or for some tasks and their children.
 */
#pragma once

#include "record/bpf/bpf_leader.h"

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
