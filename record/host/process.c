#include "record/host/process.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memory.h"

#define CPUS_MAX 65536

int affinity_save(struct affinity *a)
{
	a->size = CPU_ALLOC_SIZE(CPUS_MAX);
	a->mask = memory_checked(CPU_ALLOC(CPUS_MAX));
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

/* What may not be written is as in the file. */
static int drop_pages(struct dl_phdr_info *object, size_t size, void *page)
{
	/* The first segment holds the list of them, which reading would bring back. */
	for (unsigned i = object->dlpi_phnum; i-- > 0;) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t at = (uintptr_t)(object->dlpi_addr + p->p_vaddr), off = at % *(const size_t *)page;

		/* The C library is used all the time, and by all. */
		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W) && !strstr(object->dlpi_name, "/libc.so"))
			madvise((void *)(at - off), p->p_memsz + off, MADV_DONTNEED);
	}
	return 0;
}

void process_shrink(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	malloc_trim(0);
	dl_iterate_phdr(drop_pages, &page);
}
