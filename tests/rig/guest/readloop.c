/*
 * The least that sampling groups of counters can cost: opens them, reads each with one read() every period, does
 * nothing else.
 *
 * usage: readloop PERIOD_NS PASSES TYPE:CPU:CONFIG,CONFIG,... ...
 *
 * Groups are read on their own CPU, as pmrec does, by one process a CPU. Prints a line a CPU: its number, how many
 * groups, the nanoseconds that a tenth of the passes over them stayed below, and the CPU time of all passes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_GROUPS = 256, MAX_MEMBERS = 16, MAX_CPUS = 1024 };

struct group {
	int fd, cpu;
	size_t bytes;
};

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* 0 or -errno. */
static int group_open(struct group *group, const char *text)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
						       PERF_FORMAT_TOTAL_TIME_RUNNING };
	char *end;
	int members = 0;

	attr.type = strtoul(text, &end, 10);
	group->cpu = strtol(end + 1, &end, 10);
	group->fd = -1;
	while (*end == ':' || *end == ',') {
		int fd;

		attr.config = strtoull(end + 1, &end, 0);
		fd = syscall(SYS_perf_event_open, &attr, -1, group->cpu, group->fd, 0);
		if (fd < 0)
			return -errno;
		if (group->fd < 0)
			group->fd = fd;
		members++;
	}
	group->bytes = (3 + members) * sizeof(uint64_t);
	return members ? 0 : -EINVAL;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int cpu_read(const struct group *groups, int count, int cpu, int64_t period_ns, int passes)
{
	uint64_t values[3 + MAX_MEMBERS];
	int64_t *cost_ns = calloc(passes, sizeof(*cost_ns)), due, cpu_ns;
	cpu_set_t mask;
	int own = 0;

	if (!cost_ns)
		return 1;
	CPU_ZERO(&mask);
	CPU_SET(cpu, &mask);
	if (sched_setaffinity(0, sizeof(mask), &mask))
		return 1;
	due = now_ns(CLOCK_MONOTONIC);
	cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int pass = 0; pass < passes; pass++) {
		struct timespec until;
		int64_t begin;

		due += period_ns;
		until = (struct timespec){ due / 1000000000, due % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		begin = now_ns(CLOCK_MONOTONIC);
		own = 0;
		for (int i = 0; i < count; i++) {
			if (groups[i].cpu != cpu)
				continue;
			if (read(groups[i].fd, values, sizeof(values)) != (ssize_t)groups[i].bytes)
				return 1;
			own++;
		}
		cost_ns[pass] = now_ns(CLOCK_MONOTONIC) - begin;
	}
	cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	qsort(cost_ns, passes, sizeof(*cost_ns), compare);
	printf("cpu %d groups %d pass_ns %lld cpu_ns %lld\n", cpu, own, (long long)cost_ns[passes / 10],
	       (long long)cpu_ns);
	free(cost_ns);
	return 0;
}

int main(int argc, char **argv)
{
	struct group groups[MAX_GROUPS];
	char seen[MAX_CPUS] = { 0 };
	int count = argc - 3, failed = 0, status;

	if (count < 1 || count > MAX_GROUPS) {
		fprintf(stderr, "usage: readloop PERIOD_NS PASSES TYPE:CPU:CONFIG,... ...\n");
		return 2;
	}
	for (int i = 0; i < count; i++) {
		int err = group_open(&groups[i], argv[3 + i]);

		if (err) {
			fprintf(stderr, "%s: %s\n", argv[3 + i], strerror(-err));
			return 1;
		}
	}
	for (int i = 0; i < count; i++) {
		int cpu = groups[i].cpu;

		if (cpu < 0 || cpu >= MAX_CPUS || seen[cpu]++)
			continue;
		if (!fork())
			exit(cpu_read(groups, count, cpu, strtoll(argv[1], NULL, 10), atoi(argv[2])));
	}
	while (wait(&status) > 0)
		failed |= status;
	return failed ? 1 : 0;
}
