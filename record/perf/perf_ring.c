#include "record/perf/perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A ring holds at least the samples of this time; it is emptied once a second. */
#define RING_NS 2000000000u
/* Header, time, then what read() returns: number, enabled, running, the leader's count, those of the members. */
#define HEAD_WORDS   2
#define RECORD_WORDS (HEAD_WORDS + 4)
/* Counts are late if they are by more than this part of an interval, and of the time since the last sample. */
#define LATE_SHARE  100
#define SLOPE_SHARE 1000

static void fill(union perf_attr *attr, uint64_t interval_ns)
{
	struct perf_event_attr *a = &attr->a;

	memset(attr, 0, sizeof(*attr));
	a->size = PERF_ATTR_SIZE_VER5;
	a->type = PERF_TYPE_SOFTWARE;
	a->config = PERF_COUNT_SW_CPU_CLOCK;
	a->sample_period = interval_ns;
	a->sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
	a->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a->disabled = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	/* Nobody sleeps on it. */
	a->watermark = 1;
	a->wakeup_watermark = UINT32_MAX;
}

int perf_ring_open(struct perf_ring *r, struct perf_place at, uint64_t interval_ns, uint32_t members)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), data = page;
	uint64_t need = (RING_NS / interval_ns + 1) * (RECORD_WORDS + members) * sizeof(uint64_t);
	union perf_attr attr;
	int fd;

	*r = (struct perf_ring){ .leader = -1, .interval_ns = interval_ns };
	fill(&attr, interval_ns);
	fd = perf_open(&attr, at, -1);
	if (fd < 0)
		return fd;
	while (data < need)
		data *= 2;
	r->size = page + data;
	r->map = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	r->record_size = (RECORD_WORDS + members) * sizeof(uint64_t);
	r->record = malloc(r->record_size);
	if (r->map == MAP_FAILED || !r->record) {
		int err = r->record ? -errno : -ENOMEM;

		r->map = r->map == MAP_FAILED ? NULL : r->map;
		perf_ring_close(r);
		close(fd);
		return err;
	}
	r->leader = fd;
	return fd;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->map)
		munmap(r->map, r->size);
	free(r->record);
	*r = (struct perf_ring){ .leader = -1 };
}

static uint64_t head(const struct perf_ring *r)
{
	const struct perf_event_mmap_page *page = r->map;

	return __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
}

static void set_tail(struct perf_ring *r, uint64_t tail)
{
	struct perf_event_mmap_page *page = r->map;

	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

static void copy(const struct perf_ring *r, uint64_t at, void *out, size_t len)
{
	const struct perf_event_mmap_page *page = r->map;
	const uint8_t *data = (const uint8_t *)r->map + page->data_offset;
	size_t size = page->data_size, from = at % size, first = size - from < len ? size - from : len;

	memcpy(out, data + from, first);
	memcpy((uint8_t *)out + first, data, len - first);
}

int perf_ring_start(struct perf_ring *r)
{
	uint64_t period = r->interval_ns;

	set_tail(r, head(r));
	r->last_ns = 0;
	/* A new period starts from its full length. */
	return ioctl(r->leader, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

bool perf_ring_peek(struct perf_ring *r, uint64_t *time_ns, const uint64_t **values, size_t *n)
{
	const struct perf_event_mmap_page *page = r->map;
	uint64_t end = head(r), at = page->data_tail;
	struct perf_event_header h;

	for (; at < end; at += h.size) {
		copy(r, at, &h, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE && h.size <= r->record_size) {
			copy(r, at, r->record, h.size);
			set_tail(r, at);
			*time_ns = r->record[1];
			*values = r->record + HEAD_WORDS;
			*n = h.size / sizeof(uint64_t) - HEAD_WORDS;
			return true;
		}
		if (h.size < sizeof(h))
			break;
	}
	set_tail(r, end);
	return false;
}

uint64_t perf_ring_drop(struct perf_ring *r)
{
	const struct perf_event_mmap_page *page = r->map;
	uint64_t time = r->record[1], enabled = r->record[HEAD_WORDS + 1], passed = time - r->last_ns;
	uint64_t was_on = enabled - r->last_enabled, late = 0;
	struct perf_event_header h;

	/* While it was disabled, it was enabled for less time than passed. The two clocks may differ in rate. */
	if (r->last_ns && enabled > r->last_enabled && was_on > passed)
		late = was_on - passed;
	if (late < r->interval_ns / LATE_SHARE || late < passed / SLOPE_SHARE)
		late = 0;
	r->last_ns = time + late;
	r->last_enabled = enabled;
	memcpy(&h, r->record, sizeof(h));
	set_tail(r, page->data_tail + h.size);
	return late;
}
