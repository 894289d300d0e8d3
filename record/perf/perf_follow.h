/*
 * --per-thread: tasks that start and end while recording. The kernel writes a record of each into buffers that this
 * reads. A new task gets its events at once, and a place in the recording a little later, together with others. What
 * a task did before its events were open, some microseconds, is not counted; `missed` counts tasks that had ended by
 * then.
 */
#pragma once

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
	/* Records were lost: look for tasks in /proc. */
	void (*lost)(void *arg);
	void *arg;
};

/* Watches the tasks that these and their descendants start, or all (n 0), on these CPUs. They are also watched on
 * offline CPUs, for when these come online. 0 or -errno. */
int perf_follow_begin(struct perf_follow *f, const pid_t *tid, uint32_t n, const struct cpulist *cpus);
/* A CPU has come online: the kernel has dropped a watch of all tasks there, or never had one. Watches of single tasks
 * stay. Reads pending records first. 0 or -errno. */
int perf_follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu,
		    const struct perf_follow_ops *ops);
/* Reads all records, in order of time for each CPU. */
void perf_follow_read(struct perf_follow *f, const struct perf_follow_ops *ops);
void perf_follow_end(struct perf_follow *f);
