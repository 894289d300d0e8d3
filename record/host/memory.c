#include "record/host/memory.h"

#include <link.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

void memory_ends(int err)
{
	fprintf(stderr, "pmrec: %s\n", err == ENOMEM ? "out of memory" : strerror(err));
	exit(125);
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

void memory_give_back(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	malloc_trim(0);
	dl_iterate_phdr(drop_pages, &page);
}
