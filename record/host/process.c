#include "record/host/process.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#define CPUS_MAX 65536

int affinity_save(struct affinity *a)
{
	a->size = CPU_ALLOC_SIZE(CPUS_MAX);
	a->mask = CPU_ALLOC(CPUS_MAX);
	if (!a->mask)
		return -ENOMEM;
	CPU_ZERO_S(a->size, (cpu_set_t *)a->mask);
	if (!sched_getaffinity(0, a->size, a->mask))
		return 0;
	affinity_release(a);
	return -errno;
}

int affinity_apply(const struct affinity *a, pid_t tid)
{
	return sched_setaffinity(tid, a->size, a->mask) ? -errno : 0;
}

void affinity_release(struct affinity *a)
{
	CPU_FREE(a->mask);
	a->mask = NULL;
}

uint32_t affinity_cpus(void)
{
	struct affinity here;
	int n = affinity_save(&here) ? 0 : CPU_COUNT_S(here.size, (cpu_set_t *)here.mask);

	if (n)
		affinity_release(&here);
	return n ? (uint32_t)n : 1;
}

void affinity_restore(struct affinity *a)
{
	if (a->mask)
		affinity_apply(a, 0);
	affinity_release(a);
}

int affinity_pin(uint32_t cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set = CPU_ALLOC(cpu + 1);
	int err;

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	err = sched_setaffinity(0, size, set) ? -errno : 0;
	CPU_FREE(set);
	return err;
}

void interruptible_begin(sigset_t *before)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(SIG_UNBLOCK, &set, before);
}

void interruptible_end(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
