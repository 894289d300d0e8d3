/*
 * --per-thread: tasks that start and end while they are counted. The kernel writes a record of each into buffers that
 * this reads; a new task gets its events at once, and a place in the recording a little later, together with others
 * that began meanwhile. What a task did in the microseconds before its events were open is not counted, and one that
 * was gone by then is counted in `missed`.
 */
#ifndef RECORD_PERF_FOLLOW_H
#define RECORD_PERF_FOLLOW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cpulist.h"

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
	/* Records were lost: look for yourself. */
	void (*lost)(void *arg);
	void *arg;
};

/* Watches what these tasks and their descendants begin, or everything (n 0), on these CPUs. Tasks are watched on CPUs
 * that are offline, too, so that what they begin there once they are online is seen. 0 or -errno. */
int perf_follow_begin(struct perf_follow *f, const pid_t *tid, uint32_t n, const struct cpulist *cpus);
/* A CPU has come online: the kernel has forgotten who watched everything there, and may never have been told of it.
 * Tasks that are watched there already are left alone. Records of the past are read first. 0 or -errno. */
int perf_follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu,
		    const struct perf_follow_ops *ops);
/* All that has happened, in the order of time on each CPU. */
void perf_follow_read(struct perf_follow *f, const struct perf_follow_ops *ops);
void perf_follow_end(struct perf_follow *f);

#endif
