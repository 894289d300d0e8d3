/*
 * Counting cgroups (--bpf-counters --for-each-cgroup): whenever a CPU changes to a task of another cgroup, all events
 * are read once, and the differences are added to each requested cgroup that contains the old task. So a hundred
 * cgroups need no more events than one. Version 2 hierarchy only.
 */
#pragma once

#include "record/bpf/bpf_cells.h"
#include "record/host/root.h"

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
