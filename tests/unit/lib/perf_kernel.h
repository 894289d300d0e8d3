/* A kernel that opens events as pipes, for what a test cannot have of a real one. Link with
 * -Wl,--wrap=syscall -Wl,--wrap=ioctl -Wl,--wrap=mmap. */
#pragma once

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "record/host/perf_open.h"
#include "tests/unit/lib/test.h"

#define MS 1000000ull

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);
int __real_ioctl(int fd, unsigned long request, unsigned long arg);
int __wrap_ioctl(int fd, unsigned long request, unsigned long arg);

/* What was opened, in that order, and what was told to which descriptor. */
static struct opening {
	union perf_attr attr;
	int pid, cpu, leader, fd;
} opened[16];
static struct telling {
	int fd;
	unsigned long request;
} told[24];
static unsigned n_opened, n_told;
static int ends[2];       /* what is written to the second one is what read() returns */
static int refuse[16];    /* errno for the event with this config */
static int refuse_kernel; /* errno for every event that counts the kernel */
static int refuse_filter;
static int away;          /* the CPU that is offline; -1: none */
static unsigned room_for; /* how many can be opened; 0: all */
/* bpf(2): its result or -errno. NULL: the machine's. */
static long (*kernel_bpf)(int command, void *attr);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	const union perf_attr *attr = (const union perf_attr *)a;
	struct opening *o = &opened[n_opened];
	char path[32];
	int err;

	if (number == SYS_bpf && kernel_bpf) {
		long result = kernel_bpf((int)a, (void *)b);

		errno = result < 0 ? (int)-result : 0;
		return result < 0 ? -1 : result;
	}
	if (number != SYS_perf_event_open)
		return __real_syscall(number, a, b, c, d, e);
	assert_true(n_opened < 16);
	err = refuse_kernel && !attr->a.exclude_kernel ? refuse_kernel : refuse[attr->a.config];
	if (!err && (int)c >= 0 && (int)c == away)
		err = ENODEV;
	if (!err && room_for && n_opened >= room_for)
		err = ENOSPC;
	*o = (struct opening){ *attr, (int)b, (int)c, (int)d, -1 };
	/* A file of its own, as a duplicate would not be. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	if (!err)
		o->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	n_opened++;
	errno = err;
	return o->fd;
}

int __wrap_ioctl(int fd, unsigned long request, unsigned long arg)
{
	(void)arg;
	if (request == PERF_EVENT_IOC_ID)
		return 0;
	assert_true(n_told < 24);
	told[n_told++] = (struct telling){ fd, request };
	errno = refuse_filter;
	return request == PERF_EVENT_IOC_SET_FILTER && refuse_filter ? -1 : 0;
}

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);

/* The ring that was mapped last, as the kernel fills it: a page that describes it, then the records. */
static struct perf_event_mmap_page *ring;

void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	unsigned k = 0;

	while (k < n_opened && (fd < 0 || fd != opened[k].fd))
		k++;
	if (k == n_opened)
		return __real_mmap(at, size, prot, flags, fd, offset);
	ring = __real_mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ring->data_offset = page;
	ring->data_size = size - page;
	return ring;
}

static inline void kernel_begin(void)
{
	n_opened = n_told = 0;
	memset(refuse, 0, sizeof(refuse));
	refuse_kernel = refuse_filter = 0;
	room_for = 0;
	away = -1;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
}

static inline void kernel_end(void)
{
	close(ends[0]);
	if (ends[1] >= 0)
		close(ends[1]);
}

/* Appends a record of that many bytes to the ring. */
static inline void put_bytes(const void *record, size_t size)
{
	for (size_t i = 0; i < size; i++, ring->data_head++)
		((uint8_t *)ring)[ring->data_offset + ring->data_head % ring->data_size] =
			((const uint8_t *)record)[i];
}
