/*
 * Loaded before the C library: the allocation with the number FAIL_AT (from 1) and, with FAIL_ON=1, all behind it fail.
 * FAIL_COUNT=FD: writes there the number of each that is the first of its place, and the place: a hash of the calls that
 * led to it, the same in each run.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLERS 3 /* of a place: a wrapper of malloc(), who calls it, and for whom */
#define PLACES  65536

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *at, size_t size);

static atomic_ulong asked;
static unsigned long fail_at;
static int fail_on;
static int count_fd = -1;
static _Atomic uint64_t place[PLACES];
static _Thread_local bool looking;

__attribute__((constructor)) static void begin(void)
{
	const char *at = getenv("FAIL_AT"), *on = getenv("FAIL_ON");
	void *caller[1];

	/* The first time it allocates. */
	looking = true;
	backtrace(caller, 1);
	looking = false;
	count_fd = getenv("FAIL_COUNT") ? atoi(getenv("FAIL_COUNT")) : -1;
	asked = 0;
	fail_on = on && *on == '1';
	fail_at = at ? strtoul(at, NULL, 10) : 0;
}

/* Where a debugger may wait. */
__attribute__((noinline)) int failed_here(void)
{
	errno = ENOMEM;
	return 1;
}

static uint64_t mix(uint64_t hash, uint64_t n)
{
	return (hash ^ n) * 1099511628211u;
}

/* Programs and libraries lie elsewhere in each run. */
static uint64_t name_of(void *const caller[CALLERS])
{
	uint64_t hash = 14695981039346656037u;
	Dl_info in;

	for (int i = 0; i < CALLERS; i++)
		hash = mix(hash, (uintptr_t)caller[i] - (dladdr(caller[i], &in) ? (uintptr_t)in.dli_fbase : 0));
	return hash;
}

static void count(unsigned long n)
{
	void *caller[CALLERS + 3] = { 0 };
	uint64_t hash = 14695981039346656037u;

	looking = true;
	backtrace(caller, CALLERS + 3);
	for (int i = 3; i < CALLERS + 3; i++)
		hash = mix(hash, (uintptr_t)caller[i]);
	for (uint64_t tries = 0, at = hash >> 32; tries < PLACES; tries++, at++) {
		uint64_t none = 0;

		if (atomic_compare_exchange_strong(&place[at % PLACES], &none, hash)) {
			dprintf(count_fd, "%lu %" PRIu64 "\n", n, name_of(caller + 3));
			break;
		}
		if (none == hash)
			break;
	}
	looking = false;
}

static int refused(void)
{
	unsigned long n;

	if (looking)
		return 0;
	n = atomic_fetch_add(&asked, 1) + 1;
	if (count_fd >= 0)
		count(n);
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
