#include "record/perf/perf_follow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "record/host/perf_open.h"

#define DATA_PAGES 8 /* a power of two; 32 bytes per record */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void close_ring(const struct perf_follow_ring *ring)
{
	if (ring->base)
		munmap(ring->base, (DATA_PAGES + 1) * page_bytes());
	close(ring->fd);
}

void perf_follow_end(struct perf_follow *f)
{
	for (uint32_t i = 0; i < f->n_rings; i++)
		close_ring(&f->ring[i]);
	free(f->ring);
	fd_close(&f->epoll);
	*f = (struct perf_follow){ .epoll = -1 };
}

/* `into`: the ring of its CPU that has a buffer, or -1 for the first one there, which gets it. */
static int add_ring(struct perf_follow *f, pid_t tid, uint32_t cpu, int into)
{
	union perf_attr attr = {
		.a = { .size = sizeof(attr.a),
		       .type = PERF_TYPE_SOFTWARE,
		       .config = PERF_COUNT_SW_DUMMY,
		       .task = 1,
		       .inherit = tid >= 0,
		       .exclude_kernel = 1,
		       .watermark = 1, /* events would be samples */
		       .wakeup_watermark = 1,
		       .use_clockid = 1,
		       .clockid = CLOCK_MONOTONIC },
	};
	struct perf_place at = { .pid = tid, .cpu = (int)cpu, .cgroup = -1 };
	struct epoll_event watch = { .events = EPOLLIN };
	void *base = NULL;
	int fd, err = 0;

	if (array_room(&f->ring, f->n_rings, sizeof(*f->ring)))
		return -ENOMEM;
	fd = perf_open(&attr, at, -1);
	if (fd < 0)
		return fd;
	if (into >= 0) {
		err = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, into) ? -errno : 0;
	} else {
		base = mmap(NULL, (DATA_PAGES + 1) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base == MAP_FAILED || epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &watch))
			err = -errno;
	}
	if (err) {
		if (base && base != MAP_FAILED)
			munmap(base, (DATA_PAGES + 1) * page_bytes());
		close(fd);
		return err;
	}
	f->ring[f->n_rings++] = (struct perf_follow_ring){ .fd = fd, .cpu = cpu, .base = base };
	return fd;
}

static int add_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu)
{
	int into = -1;

	for (uint32_t i = 0; i < (n ? n : 1); i++) {
		int fd = add_ring(f, n ? tid[i] : -1, cpu, into);

		/* A task that has just ended starts no others. */
		if (fd < 0 && fd != -ESRCH)
			return fd;
		if (into < 0)
			into = fd;
	}
	return 0;
}

int perf_follow_begin(struct perf_follow *f, const pid_t *tid, uint32_t n, const struct cpulist *cpus)
{
	int err = 0, refused = 0;

	*f = (struct perf_follow){ .epoll = epoll_create1(EPOLL_CLOEXEC) };
	if (f->epoll < 0)
		return -errno;
	for (size_t c = 0; c < cpus->n && !err; c++) {
		err = add_cpu(f, tid, n, cpus->cpu[c]);
		/* A CPU that is offline is left to perf_follow_cpu(), unless all are. */
		if (err == -ENODEV || err == -EINVAL || err == -ENXIO) {
			refused = err;
			err = 0;
		}
	}
	if (!err && !f->n_rings)
		err = refused;
	if (err)
		perf_follow_end(f);
	return err;
}

/* PERF_RECORD_FORK and _EXIT. */
struct task_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

static void take_record(const struct task_record *r, const struct perf_follow_ops *ops)
{
	if (r->header.type == PERF_RECORD_LOST)
		ops->lost(ops->arg);
	else if (r->header.size < sizeof(*r))
		return;
	else if (r->header.type == PERF_RECORD_FORK)
		ops->began(ops->arg, (pid_t)r->pid, (pid_t)r->tid, (pid_t)r->ptid, r->time);
	else if (r->header.type == PERF_RECORD_EXIT)
		ops->ended(ops->arg, (pid_t)r->tid, r->time);
}

static void read_ring(struct perf_follow_ring *ring, const struct perf_follow_ops *ops)
{
	struct perf_event_mmap_page *page = ring->base;
	const char *data = (const char *)ring->base + page_bytes();
	uint64_t size = DATA_PAGES * page_bytes(), tail = page->data_tail;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	/* The kernel reports lost records only with the next one that fits, which may come too late. */
	bool full = head - tail + 4 * sizeof(struct task_record) > size;

	while (tail < head) {
		struct task_record r = { 0 };
		uint64_t at = tail % size, bytes = sizeof(r);

		/* It may wrap around in the buffer; records longer than ours do not matter. */
		if (bytes > size - at)
			bytes = size - at;
		memcpy(&r, data + at, bytes);
		memcpy((char *)&r + bytes, data, sizeof(r) - bytes);
		if (!r.header.size || r.header.size > head - tail)
			break;
		tail += r.header.size;
		take_record(&r, ops);
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	if (full)
		ops->lost(ops->arg);
}

void perf_follow_read(struct perf_follow *f, const struct perf_follow_ops *ops)
{
	for (uint32_t i = 0; i < f->n_rings; i++)
		if (f->ring[i].base)
			read_ring(&f->ring[i], ops);
}

int perf_follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu,
		    const struct perf_follow_ops *ops)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->n_rings; i++) {
		if (f->ring[i].cpu != cpu) {
			f->ring[kept++] = f->ring[i];
			continue;
		}
		if (n)
			return 0;
		read_ring(&f->ring[i], ops);
		close_ring(&f->ring[i]);
	}
	f->n_rings = kept;
	return add_cpu(f, tid, n, cpu);
}
