/*
 * An empty sampling loop: N threads, one a CPU, that wake at absolute deadlines and do nothing. What this costs is
 * the floor of any recorder with that many threads and wake-ups; the benchmarks subtract it from both sides.
 *
 *   wakeups THREADS PERIOD_NS COUNT
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

struct loop {
	pthread_t thread;
	int cpu;
	uint64_t period_ns, count;
	struct timespec start;
};

static void *run(void *arg)
{
	struct loop *l = arg;
	struct timespec next = l->start;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(l->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	prctl(PR_SET_TIMERSLACK, 1UL);
	for (uint64_t i = 0; i < l->count; i++) {
		uint64_t ns = (uint64_t)next.tv_nsec + l->period_ns;

		next.tv_sec += (time_t)(ns / 1000000000);
		next.tv_nsec = (long)(ns % 1000000000);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: wakeups THREADS PERIOD_NS COUNT\n");
		return 2;
	}
	int n = atoi(argv[1]);
	struct loop *loops = n > 0 ? calloc((size_t)n, sizeof(*loops)) : NULL;
	struct timespec now;

	if (!loops)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &now);
	for (int i = 0; i < n; i++) {
		loops[i] = (struct loop){ .cpu = i,
					  .period_ns = strtoull(argv[2], NULL, 10),
					  .count = strtoull(argv[3], NULL, 10),
					  .start = now };
		if (pthread_create(&loops[i].thread, NULL, run, &loops[i]))
			return 2;
	}
	for (int i = 0; i < n; i++)
		pthread_join(loops[i].thread, NULL);
	free(loops);
	return 0;
}
