/*
 * Loaded before the C library: the allocation with the number FAIL_AT (from 1) and, with FAIL_ON=1, all behind it fail.
 * FAIL_COUNT=FD: writes there how many there were when the program ends.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);

static atomic_ulong asked;
static unsigned long fail_at;
static int fail_on;
static int count_fd = -1;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT"), *on = getenv("FAIL_ON");

	count_fd = getenv("FAIL_COUNT") ? atoi(getenv("FAIL_COUNT")) : -1;
	asked = 0;
	fail_on = on && *on == '1';
	fail_at = at ? strtoul(at, NULL, 10) : 0;
}

__attribute__((destructor)) static void end(void)
{
	fail_at = 0;
	if (count_fd >= 0)
		dprintf(count_fd, "%lu\n", asked);
}

/* Where a debugger may wait. */
__attribute__((noinline)) int failed_here(void)
{
	errno = ENOMEM;
	return 1;
}

static int refused(void)
{
	unsigned long n = atomic_fetch_add(&asked, 1) + 1;

	if (!fail_at || n < fail_at || (n > fail_at && !fail_on))
		return 0;
	return failed_here();
}

void *malloc(size_t size)
{
	return refused() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return refused() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
	return refused() ? NULL : __libc_realloc(at, size);
}
