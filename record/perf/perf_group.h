/*
 * Kernel groups of perf events. A *row* is one such group on one CPU or task: one leader, one read() for all
 * members, one unit of the sampler. Members that could not be opened there have a reason instead of a value.
 */
#pragma once

#include "record/host/perf_open.h"
#include "record/perf/perf_bpf.h"
#include "record/plan/plan.h"

/*
 * Sampling in the kernel: at each tick the timer interrupt of a clock event, the leader, writes time and counts of
 * its group into a ring of memory. No thread is woken, so no tick is late on a busy CPU.
 */

struct perf_ring {
	int leader; /* descriptor; owned by the row, which closes it */
	void *map;  /* NULL: none */
	size_t size;
	uint64_t interval_ns;
	uint64_t *record; /* owned: the sample that was looked at */
	size_t record_size;
	uint64_t last_ns, last_enabled; /* when the counts of the last sample were read; 0: there was none */
};

#define PERF_GROUP_MAX 256 /* members; the kernel wants what it reads at once below 16 KiB */

struct perf_event {
	struct event *ev;
	union perf_attr attr; /* as it can be opened */
	const char *filter;   /* of a tracepoint, or NULL */
	bool requested;
	bool elsewhere;                   /* -C means the same event of other PMUs */
	uint32_t first_cgroup, n_cgroups; /* of the source's; n 0: not in cgroups */
	int err;                          /* 0, or the positive errno that keeps it closed */
	uint16_t reason;                  /* for err, if it is not what perf_reason() says */
	unsigned remedy;                  /* for err, if it is not what perf_remedy() says */
	bool incurable;                   /* nothing helps */
	uint32_t counter;                 /* id; 0: not recorded */
};

/* A task or cgroup that has ended is read again: what it did last belongs to it. */
enum perf_end { PERF_ALIVE, PERF_ENDING, PERF_ENDED };

struct perf_group {
	struct perf_event **member; /* owned array */
	uint32_t n;
	uint32_t number; /* from 1 */
	struct cpulist cpus;
	bool tasks;                       /* its rows are tasks, not CPUs */
	uint32_t first_cgroup, n_cgroups; /* n 0: rows are CPUs, else cgroups times CPUs */
	bool inherit;
	bool braces, weak;     /* made by the user; may be taken apart */
	bool lacking;          /* it was reported to have no counter */
	const char *class;     /* NULL: takes no others in */
	uint64_t sample_ns;    /* its rows are sampled by the kernel, that often; 0: they are read */
	struct perf_row **row; /* the units belong to the plan */
	uint32_t n_rows;
	enum perf_way way;
	struct bpf_group *bpf;   /* owned; NULL: PERF_BY_READ */
	struct perf_event *copy; /* owned; the members, if no other group has them */
};

struct perf_row {
	struct unit unit;
	struct perf_group *group; /* NULL when the source has been released before its units */
	uint32_t n;               /* members */
	struct perf_place at;
	uint32_t cgroup;   /* of the source's, if at.cgroup is one */
	uint32_t instance; /* id */
	_Atomic int end;   /* enum perf_end */
	/* Of a task that began while recording: the first reading is what it was opened with, 0, so that all that it
	 * has done since lies between two readings. */
	bool fresh;
	bool on;           /* told to count */
	bool shut;         /* could not be opened where others could: missing[] says why */
	bool stood;        /* it stopped: its CPU was offline */
	int *fd;           /* of each member; -1: not open */
	uint16_t *missing; /* reason of each that is not open */
	int leader;        /* descriptor; -1: none */
	uint32_t n_open;
	uint32_t *place; /* of the k-th value of a read */
	/* Counts of descriptors that were closed: a CPU that was offline continues where it stopped. */
	uint64_t *base, base_enabled, base_running;
	uint64_t last_enabled; /* of the previous reading, without base */
	/* What the last reading found, for the control thread, and how much of that it has judged. */
	_Atomic uint64_t read_enabled, read_running;
	_Atomic bool gave_up; /* the kernel gave it up: it is pinned and there was no counter */
	uint64_t seen_enabled, seen_running;
	uint64_t *got;         /* nr, enabled, running, values; or value, enabled, running */
	struct bpf_sum *sum;   /* owned; where members are counted by BPF; NULL: nowhere */
	uint32_t first;        /* the first value of got[] */
	struct perf_ring ring; /* map NULL: it is read */
};

/* Words before the values in what a group reads. */
enum { PERF_READ_NR, PERF_READ_ENABLED, PERF_READ_RUNNING, PERF_READ_HEAD };

/* How leaders are opened. */
struct perf_start {
	bool on;      /* counting from the start */
	bool on_exec; /* counting from the exec of the task */
};

/* Appends a group that counts in the same way and places, without members. */
struct perf_group *perf_group_like(struct perf_group ***all, uint32_t *n, const struct perf_group *like);
void perf_group_free(struct perf_group *g);
/* One more member, which stays the caller's. */
void perf_group_add(struct perf_group *g, struct perf_event *e);
/* Drops member k; the later ones move up. */
void perf_group_remove(struct perf_group *g, uint32_t k);

/* A row of the group that is not open; unit.read and unit.release are set. */
struct perf_row *perf_row_new(struct perf_group *g, struct perf_place at, uint32_t instance);
/* The unit's row, or NULL for another kind of unit. */
struct perf_row *perf_row_of(struct unit *u);
/* Returns true if readings of at least `least_ns` since the last call found no counter for 99 % of that time. On the
 * control thread, while readers run. */
bool perf_row_lacks_counter(struct perf_row *row, uint64_t least_ns);
/* Opens what can be opened. 0 if that is anything, or the -errno of the last member. */
int perf_row_open(struct perf_row *row, struct perf_start start);
/* Closes; with `keep`, what was counted is added to the base first. */
void perf_row_close(struct perf_row *row, bool keep);
/* Starts or stops counting. */
int perf_row_enable(struct perf_row *row, bool on);

/* What member k has counted so far, and for how long it was enabled and ran (ns). -ENODATA: it is not open. */
int perf_row_count(const struct perf_row *row, uint32_t k, uint64_t *count, uint64_t *enabled, uint64_t *running);

/* Opens one event on trial, without what the kernel refuses: details of the PMU, and the kernel part unless the user
 * said which parts to count (*excluded is then true, even if that did not help). A descriptor or -errno. */
int perf_event_try(struct perf_event *e, bool inherit, struct perf_place at, int leader, bool *excluded);
