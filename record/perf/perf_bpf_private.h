/* What perf_bpf.c and perf_bpf_ways.c share; private to them. */
#pragma once

#include "record/bpf/bpf_cgroups.h"
#include "record/bpf/bpf_follower.h"
#include "record/bpf/bpf_profile.h"
#include "record/perf/perf_source.h"

struct perf_bpf {
	uint32_t n_cpus;       /* possible CPUs */
	struct cpulist online; /* when it began */
	struct bpf_target *target;
	uint32_t n_targets;
	struct bpf_profile profile;
	bool tasks_begun;
	struct bpf_tasks tasks;
	uint32_t *place; /* instance of each place of counts of tasks */
	uint32_t n_places;
	struct bpf_cgroups cgroups;
	uint32_t on; /* events of the cgroups that are to be counted */
};

/* A member of a group. */
struct bpf_member {
	uint32_t index; /* among the events of the profile or of the cgroups */
	bool on;
	struct bpf_leader leader;
	struct bpf_follower follower;
};

struct bpf_way;

struct bpf_group {
	const struct bpf_way *way;
	struct perf_bpf *all;
	struct bpf_member *member; /* owned; of each of the perf group */
	uint32_t n;
	uint32_t target;  /* PERF_BY_PROGRAM */
	bool first;       /* its rows also update what others of the same snapshot read */
	char text[24];    /* its text in the recording */
	const char *name; /* of the program, or NULL; the target's */
};

/* How one way differs from the others. NULL: nothing to do there. */
struct bpf_way {
	bool opens;
	int (*begin)(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e);
	int (*open)(struct perf_row *row);
	void (*close)(struct perf_row *row);
	struct bpf_sum (*sum)(const struct perf_row *row, uint32_t k);
	void (*enable)(struct perf_row *row, uint32_t k, bool on);
	void (*refresh)(const struct perf_row *row);
	void (*online)(struct perf_group *g, uint32_t cpu);
};
/* By enum perf_way. */
extern const struct bpf_way bpf_ways[];
