/*
 * perf events that BPF programs count (-b, --bpf-counters, the modifier b). Three ways, one row each in a table:
 * around the runs of other BPF programs, through leaders that many share, and for cgroups. Rows differ in what they
 * hold and how they are read; the result is counts with enabled and running times, as for other events.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "common/error.h"
#include "record/bpf/bpf_load.h"
#include "record/bpf/bpf_programs.h"

struct buf;
struct event;
struct perf_group;
struct perf_row;
struct perf_source;
struct plan;
struct record_options;

enum perf_way { PERF_BY_READ, PERF_BY_PROGRAM, PERF_BY_LEADER, PERF_BY_CGROUP };

/* How the event is to be counted. */
enum perf_way perf_way_of(const struct record_options *o, const struct event *ev);
/* What helps if it cannot be counted this way, with the errno in *err; 0: it can. */
unsigned perf_way_refuses(const struct record_options *o, const struct event *ev, int *err);

/* What all groups that BPF counts share; opaque. */
struct perf_bpf;
/* What one of these groups has; opaque. */
struct bpf_group;

/* Before anything is opened: checks that BPF can count, if it is wanted, and notes what will differ from the request.
 * 0, or -errno with cause and cure in *e. */
int perf_bpf_check(const struct perf_source *s, struct plan *p, struct error *e);
/* Once groups are settled: finds the programs of -b and loads those that count. 0, or -errno with the text in *e. */
int perf_bpf_begin(struct perf_source *s, struct plan *p, struct error *e);
void perf_bpf_release(struct perf_bpf *b);
void bpf_group_free(struct bpf_group *b);
/* For the recording: "program 12", "shared", "alone" or "cgroups", and the name of the program, or NULL. */
const char *bpf_group_text(const struct bpf_group *b);
const char *bpf_group_name(const struct bpf_group *b);

/* Whether rows counted this way have open events of their own. */
bool bpf_group_opens(const struct bpf_group *b);
/* Like perf_row_open() and so on, for rows of such groups; called after or before those. */
int bpf_row_open(struct perf_row *row);
void bpf_row_close(struct perf_row *row);
int bpf_row_enable(struct perf_row *row, bool on);
/* Fills row->got as read(2) would. */
ssize_t bpf_row_read(const struct perf_row *row);
/* Brings up to date what later rows of the same snapshot read; a part of bpf_row_read(). */
void bpf_row_refresh(const struct perf_row *row);
/* A CPU has come online: the events of the group are opened there, too. */
void bpf_group_online(struct perf_group *g, uint32_t cpu);

/* For `pmrec doctor`: a line that says whether this works here, and if not, what helps. */
void perf_bpf_doctor(const struct plan *p, struct buf *out);

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
