/* Pinning the calling thread to a CPU, on machines of any size. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct affinity {
	void *mask; /* owned */
	size_t size;
};

/* Remembers where the calling thread may run. 0 or -errno; released by affinity_restore() or affinity_release(). */
int affinity_save(struct affinity *a);
void affinity_restore(struct affinity *a);
void affinity_release(struct affinity *a);
/* Lets a thread of this process run there again. 0 or -errno. */
int affinity_apply(const struct affinity *a, pid_t tid);
/* How many CPUs the calling thread may run on, at least 1. */
uint32_t affinity_cpus(void);
/* 0, or -errno if the machine lacks the CPU or a cpuset excludes it. */
int affinity_pin(uint32_t cpu);
