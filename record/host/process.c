#include "record/host/process.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int affinity_save(struct affinity *a)
{
	*a = (struct affinity){ 0 };
	if (sched_getaffinity(0, sizeof(a->mask), a->mask))
		return -errno;
	a->saved = true;
	return 0;
}

int affinity_apply(const struct affinity *a, pid_t tid)
{
	return sched_setaffinity(tid, sizeof(a->mask), a->mask) ? -errno : 0;
}

uint32_t affinity_cpus(void)
{
	struct affinity here;

	return affinity_save(&here) ? 1 : (uint32_t)CPU_COUNT_S(sizeof(here.mask), here.mask);
}

void affinity_restore(struct affinity *a)
{
	if (a->saved)
		affinity_apply(a, 0);
}

int affinity_pin(uint32_t cpu)
{
	struct affinity one = { 0 };

	CPU_SET_S(cpu, sizeof(one.mask), one.mask);
	return affinity_apply(&one, 0);
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
