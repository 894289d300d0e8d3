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

#include "record/bpf/bpf_cells.h"
#include "record/host/perf_open.h"

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
/* Reads the event on the CPU now, so that followers know all that has been counted so far. */
void bpf_leader_read(const struct bpf_leader *l, uint32_t cpu);
