#include "record/perf/perf_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/perf/perf_pmu.h"
#include "record/perf/perf_source.h"

/* A ring holds at least the samples of this time; it is emptied once a second. */
#define RING_NS 2000000000u
/* Header, time, then what read() returns: number, enabled, running, the leader's count, those of the members. */
#define HEAD_WORDS   2
#define RECORD_WORDS (HEAD_WORDS + 4)
/* Counts are late if they are by more than this part of an interval, and of the time since the last sample. */
#define LATE_SHARE  100
#define SLOPE_SHARE 1000

static void ring_attr(union perf_attr *attr, uint64_t interval_ns)
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

/* Unmaps it; the caller closes the descriptor. */
static void perf_ring_close(struct perf_ring *r)
{
	if (r->map)
		munmap(r->map, r->size);
	free(r->record);
	*r = (struct perf_ring){ .leader = -1 };
}

/* Opens the leader of a group of `members` on a CPU, disabled, and its ring. A descriptor or -errno. */
static int perf_ring_open(struct perf_ring *r, struct perf_place at, uint64_t interval_ns, uint32_t members)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), data = page;
	uint64_t need = (RING_NS / interval_ns + 1) * (RECORD_WORDS + members) * sizeof(uint64_t);
	union perf_attr attr;
	int fd;

	*r = (struct perf_ring){ .leader = -1, .interval_ns = interval_ns };
	ring_attr(&attr, interval_ns);
	fd = perf_open(&attr, at, -1);
	if (fd < 0)
		return fd;
	while (data < need)
		data *= 2;
	r->size = page + data;
	r->map = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	r->record_size = (RECORD_WORDS + members) * sizeof(uint64_t);
	if (r->map == MAP_FAILED) {
		int err = -errno;

		r->map = NULL;
		close(fd);
		return err;
	}
	r->record = memory_new(r->record_size, 1);
	r->leader = fd;
	return fd;
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

static void ring_copy(const struct perf_ring *r, uint64_t at, void *out, size_t len)
{
	const struct perf_event_mmap_page *page = r->map;
	const uint8_t *data = (const uint8_t *)r->map + page->data_offset;
	size_t size = page->data_size, from = at % size, first = size - from < len ? size - from : len;

	memcpy(out, data + from, first);
	memcpy((uint8_t *)out + first, data, len - first);
}

/* Empties the ring; the next sample comes one interval from now. 0 or -errno. */
static int perf_ring_start(struct perf_ring *r)
{
	uint64_t period = r->interval_ns;

	set_tail(r, head(r));
	r->last_ns = 0;
	/* A new period starts from its full length. */
	return ioctl(r->leader, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

/* The oldest sample: its time (CLOCK_MONOTONIC), and what read() would have returned, valid until the next call.
 * False if there is none. */
static bool perf_ring_peek(struct perf_ring *r, uint64_t *time_ns, const uint64_t **values, size_t *n)
{
	const struct perf_event_mmap_page *page = r->map;
	uint64_t end = head(r), at = page->data_tail;
	struct perf_event_header h;

	for (; at < end; at += h.size) {
		ring_copy(r, at, &h, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE && h.size <= r->record_size) {
			ring_copy(r, at, r->record, h.size);
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

/* Removes that sample. Returns how long after its time its counts were read, ns: a host may take the CPU away in
 * between, which shows in the time enabled, as it is read with the counts. */
static uint64_t perf_ring_drop(struct perf_ring *r)
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

/* ---- groups ---- */

struct perf_group *perf_group_like(struct perf_group ***all, uint32_t *n, const struct perf_group *like)
{
	struct perf_group *g;

	memory_room(all, *n, sizeof(**all));
	g = (*all)[*n] = memory_new(1, sizeof(*g));
	g->number = ++*n;
	g->way = like->way;
	g->tasks = like->tasks;
	g->inherit = like->inherit;
	g->first_cgroup = like->first_cgroup;
	g->n_cgroups = like->n_cgroups;
	memory_must(cpulist_copy(&g->cpus, &like->cpus));
	return g;
}

void perf_group_free(struct perf_group *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->n_rows; i++)
		g->row[i]->group = NULL;
	free(g->member);
	free(g->copy);
	free(g->row);
	bpf_group_free(g->bpf);
	cpulist_release(&g->cpus);
	free(g);
}

void perf_group_add(struct perf_group *g, struct perf_event *e)
{
	memory_room(&g->member, g->n, sizeof(*g->member));
	g->member[g->n++] = e;
}

void perf_group_remove(struct perf_group *g, uint32_t k)
{
	memmove(&g->member[k], &g->member[k + 1], (g->n - k - 1) * sizeof(*g->member));
	g->n--;
}

/* ---- opening ---- */

static const struct unit_sampling sampling;

int perf_event_try(struct perf_event *e, bool inherit, struct perf_place at, int leader, bool *excluded)
{
	const struct event *ev = e->ev;
	union perf_attr asked;
	int fd, user;

	e->attr.a.inherit = inherit;
	e->attr.a.disabled = leader < 0;
	asked = e->attr;
	fd = perf_open_relaxed(&e->attr, at, leader);
	if (fd != -EACCES && fd != -EPERM)
		return fd;
	/* Without the kernel part these would always read 0, and look like counts. */
	if (ev->mods & EVENT_MOD_RING || ev->kernel_only || ev->type == PERF_TYPE_TRACEPOINT)
		return fd;
	e->attr.a.exclude_kernel = 1;
	e->attr.a.exclude_hv = 1;
	user = perf_open_relaxed(&e->attr, at, leader);
	*excluded = true;
	/* A PMU that cannot exclude the kernel fails like this, but what was refused is the kernel. */
	if (user < 0) {
		e->attr = asked;
		return user == -EINVAL || user == -EOPNOTSUPP ? fd : user;
	}
	return user;
}

static int open_member(struct perf_row *row, struct perf_event *e, struct perf_start start)
{
	union perf_attr attr = e->attr;
	int fd;

	attr.a.inherit = row->group->inherit;
	attr.a.disabled = row->leader < 0;
	attr.a.enable_on_exec = row->leader < 0 && start.on_exec;
	/* All events of a group use the clock of their leader. */
	attr.a.use_clockid = row->ring.map != NULL;
	attr.a.clockid = row->ring.map ? CLOCK_MONOTONIC : 0;
	fd = perf_open(&attr, row->at, row->leader);
	if (fd >= 0 && e->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter)) {
		int err = errno;

		close(fd);
		return -err;
	}
	return fd;
}

/* Nothing is counted: it is as if no member could be opened. */
static int refused(struct perf_row *row, int err)
{
	perf_row_close(row, true);
	for (uint32_t k = 0; k < row->n; k++)
		row->missing[k] = perf_reason(err);
	return err;
}

/* Its members are counted by events that belong to no row. */
static int open_counted(struct perf_row *row, struct perf_start start)
{
	int err;

	for (uint32_t k = 0; k < row->n; k++) {
		row->missing[k] = PM_OK;
		row->place[row->n_open++] = k;
	}
	row->first = row->group->member[0]->attr.a.read_format & PERF_FORMAT_GROUP ? PERF_READ_HEAD : 0;
	err = bpf_row_open(row);
	if (err)
		return refused(row, err);
	/* Counting starts a little before the exec, for which the command is waiting. */
	return start.on || start.on_exec ? perf_row_enable(row, true) : 0;
}

static void sampling_start(struct unit *u)
{
	perf_ring_start(&((struct perf_row *)u)->ring);
}

/* The number of words that a read returns; a leader that is a clock precedes the members. */
static size_t words(const struct perf_row *row)
{
	return PERF_READ_HEAD + (row->ring.map != NULL) + row->n_open;
}

static bool sampling_peek(struct unit *u, uint64_t *time_ns)
{
	struct perf_row *row = (struct perf_row *)u;
	const uint64_t *values;
	bool any = false;
	size_t n;

	/* Skip counts of another set of members. */
	while (row->ring.map && (any = perf_ring_peek(&row->ring, time_ns, &values, &n)) && n != words(row))
		perf_ring_drop(&row->ring);
	if (any)
		memcpy(row->got, values, n * sizeof(*values));
	return any;
}

/* Stores what was read in the row's cells. */
static void got_cells(struct perf_row *row, struct cells *c)
{
	uint64_t enabled, running;

	enabled = row->got[PERF_READ_ENABLED] + row->base_enabled;
	running = row->got[PERF_READ_RUNNING] + row->base_running;
	if (c->enabled)
		*c->enabled = enabled;
	if (c->running)
		*c->running = running;
	/* In this order, so that whoever sees the one does not miss the other. */
	atomic_store_explicit(&row->read_running, running, memory_order_relaxed);
	atomic_store_explicit(&row->read_enabled, enabled, memory_order_release);
	if (enabled && !running) {
		cells_fail_all(c, PM_REASON_NOT_COUNTED);
		return;
	}
	for (uint32_t k = 0; k < row->n_open; k++)
		cells_set(c, row->place[k], row->got[row->first + k] + row->base[row->place[k]]);
	if (row->n_open == c->n)
		return;
	for (uint32_t k = 0; k < c->n; k++)
		if (row->missing[k])
			cells_fail(c, k, row->missing[k]);
}

static uint64_t sampling_take(struct unit *u, struct cells *c)
{
	struct perf_row *row = (struct perf_row *)u;
	uint64_t late = perf_ring_drop(&row->ring);

	if (c) {
		row->last_enabled = row->got[PERF_READ_ENABLED];
		got_cells(row, c);
	}
	return late;
}

static const struct unit_sampling sampling = {
	.start = sampling_start,
	.peek = sampling_peek,
	.take = sampling_take,
};

static void open_sampled(struct perf_row *row)
{
	row->leader = perf_ring_open(&row->ring, row->at, row->group->sample_ns, row->n);
	if (row->leader < 0)
		row->leader = -1;
	row->unit.sampling = row->ring.map ? &sampling : NULL;
}

/* If members do not follow the clock, they are read like others. */
static int reopen_read(struct perf_row *row, struct perf_start start)
{
	uint64_t sample_ns = row->group->sample_ns;
	int err;

	perf_row_close(row, true);
	row->group->sample_ns = 0;
	err = perf_row_open(row, start);
	row->group->sample_ns = sample_ns;
	return err;
}

int perf_row_open(struct perf_row *row, struct perf_start start)
{
	const struct perf_group *g = row->group;
	int err = -ENOENT;

	if (g->bpf && !g->bpf->opens)
		return open_counted(row, start);

	if (g->sample_ns)
		open_sampled(row);
	for (uint32_t k = 0; k < g->n; k++) {
		int fd = open_member(row, g->member[k], start);

		row->fd[k] = fd < 0 ? -1 : fd;
		if (fd < 0) {
			err = fd;
			row->missing[k] = perf_reason(fd);
			continue;
		}
		row->missing[k] = PM_OK;
		row->place[row->n_open++] = k;
		if (row->leader < 0)
			row->leader = fd;
	}
	row->first = row->ring.map                                        ? PERF_READ_HEAD + 1 :
		     g->member[0]->attr.a.read_format & PERF_FORMAT_GROUP ? PERF_READ_HEAD :
									    0;
	if (row->ring.map && row->n_open < g->n)
		return reopen_read(row, start);
	if (!row->n_open)
		return err;
	err = g->bpf ? bpf_row_open(row) : 0;
	if (err)
		return refused(row, err);
	/* Only now: on Linux 6.18 a member that joins a running leader of another PMU does not count. */
	return start.on ? perf_row_enable(row, true) : 0;
}

static ssize_t row_read(const struct perf_row *row)
{
	return row->group->bpf ? bpf_row_read(row) : read(row->leader, row->got, words(row) * sizeof(*row->got));
}

/* What has been counted becomes the base. Of what the kernel gave up that is what was read last. */
static void keep_counts(struct perf_row *row)
{
	ssize_t size = row_read(row);

	if (size < 0)
		return;
	row->base_enabled += row->got[PERF_READ_ENABLED];
	row->base_running += row->got[PERF_READ_RUNNING];
	for (uint32_t k = 0; k < row->n_open; k++)
		row->base[row->place[k]] += row->got[row->first + k];
}

void perf_row_close(struct perf_row *row, bool keep)
{
	/* What BPF counts stays where it is. */
	if (row->group->bpf)
		bpf_row_close(row);
	else if (keep && row->leader >= 0)
		keep_counts(row);
	for (uint32_t k = 0; k < row->n; k++)
		fd_close(&row->fd[k]);
	if (row->ring.map)
		close(row->leader);
	perf_ring_close(&row->ring);
	row->unit.sampling = NULL;
	row->leader = -1;
	row->n_open = 0;
	row->last_enabled = 0;
	row->on = row->stood = false;
	memset(row->got, 0, (row->n + PERF_READ_HEAD + 1) * sizeof(*row->got));
	if (!keep) {
		memset(row->base, 0, row->n * sizeof(*row->base));
		row->base_enabled = row->base_running = 0;
		row->read_enabled = 0;
		row->read_running = 0;
		row->seen_enabled = row->seen_running = 0;
	}
}

int perf_row_enable(struct perf_row *row, bool on)
{
	if (!row->n_open)
		return 0;
	if (row->leader < 0)
		return bpf_row_enable(row, on);
	row->on = on;
	/* The members follow their leader. Switching them as well (PERF_IOC_FLAG_GROUP) is needless, and Linux 6.18
	 * then does not restart those of another PMU (cpu-clock, msr/tsc/). */
	return ioctl(row->leader, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) ? -errno : 0;
}

/* ---- reading ---- */

/* The time of an enabled event always advances, unless its CPU is offline or the PMU is gone. */
static bool stands_still(struct perf_row *row, ssize_t size)
{
	bool still =
		size > 0 && row->at.pid < 0 && row->at.cgroup < 0 && row->got[PERF_READ_ENABLED] == row->last_enabled;

	if (size > 0)
		row->last_enabled = row->got[PERF_READ_ENABLED];
	return still;
}

/* Since Linux 6.15 a PMU may disappear while its events are open. Their leader then reads as it last stood, without
 * the rest of its group, and only ioctl() reports that it is gone. */
static bool is_revoked(struct perf_row *row, ssize_t size, bool still)
{
	size_t whole = (row->first ? words(row) : PERF_READ_HEAD) * sizeof(*row->got);
	uint64_t id;

	if ((size_t)size == whole && !still)
		return false;
	return ioctl(row->leader, PERF_EVENT_IOC_ID, &id) && errno == ENODEV;
}

/* What it was opened with, whatever has been counted since. */
static void first_cells(struct perf_row *row, struct cells *c)
{
	if (c->enabled)
		*c->enabled = 0;
	if (c->running)
		*c->running = 0;
	for (uint32_t k = 0; k < c->n; k++) {
		cells_set(c, k, 0);
		if (row->missing[k])
			cells_fail(c, k, row->missing[k]);
	}
	row->fresh = false;
}

static int unit_read(struct unit *u, struct cells *c)
{
	struct perf_row *row = (struct perf_row *)u;
	bool still;
	ssize_t size;

	if (row->group->bpf && (!row->n_open || row->end == PERF_ENDED))
		bpf_row_refresh(row);
	if (row->shut && !row->n_open) {
		for (uint32_t k = 0; k < c->n; k++)
			cells_fail(c, k, row->missing[k]);
		return 0;
	}
	if (!row->n_open || row->end == PERF_ENDED) {
		cells_fail_all(c, row->end || row->at.cpu < 0 ? PM_REASON_GONE : PM_REASON_OFFLINE);
		return 0;
	}
	if (row->fresh) {
		first_cells(row, c);
		return 0;
	}
	if (row->end == PERF_ENDING)
		row->end = PERF_ENDED;
	size = row_read(row);
	still = !row->group->bpf && stands_still(row, size);
	if (size < 0 ? errno == ENODEV : !row->group->bpf && is_revoked(row, size, still))
		return -ENODEV;
	/* The kernel does not restart events of a CPU that went offline, and it may be online again before anyone
	 * notices. */
	if (still && row->on) {
		row->stood = true;
		atomic_store(&u->source->stale, true);
		cells_fail_all(c, PM_REASON_OFFLINE);
		return 0;
	}
	/* End of file: the kernel gave up the group, as it does with a pinned one that does not fit. Others end with
	 * their PMU, where the kernel does not report that (before 6.15). */
	if (size <= 0) {
		row->gave_up = !size && row->group->member[0]->attr.a.pinned;
		cells_fail_all(c, size ? pm_reason_errno(errno) : PM_REASON_NOT_COUNTED);
		return 0;
	}
	got_cells(row, c);
	return 0;
}

int perf_row_count(const struct perf_row *row, uint32_t k, uint64_t *count, uint64_t *enabled, uint64_t *running)
{
	if (!row->n_open || row_read(row) <= 0)
		return -ENODATA;
	for (uint32_t i = 0; i < row->n_open; i++) {
		if (row->place[i] != k)
			continue;
		*count = row->got[row->first + i] + row->base[k];
		*enabled = row->got[PERF_READ_ENABLED] + row->base_enabled;
		*running = row->got[PERF_READ_RUNNING] + row->base_running;
		return 0;
	}
	return -ENODATA;
}

bool perf_row_lacks_counter(struct perf_row *row, uint64_t least_ns)
{
	uint64_t enabled = atomic_load_explicit(&row->read_enabled, memory_order_acquire) - row->seen_enabled;
	uint64_t running = atomic_load_explicit(&row->read_running, memory_order_relaxed) - row->seen_running;

	if (row->leader < 0 || row->end || row->group->bpf)
		return false;
	if (row->gave_up)
		return true;
	if (enabled < least_ns)
		return false;
	row->seen_enabled += enabled;
	row->seen_running += running;
	return running < enabled / 100;
}

struct perf_row *perf_row_of(struct unit *u)
{
	return u->read == unit_read ? (struct perf_row *)u : NULL;
}

static void row_release(struct unit *u)
{
	struct perf_row *row = (struct perf_row *)u;

	for (uint32_t k = 0; k < row->n; k++)
		fd_close(&row->fd[k]);
	if (row->ring.map)
		close(row->leader);
	perf_ring_close(&row->ring);
	for (uint32_t i = 0; row->group && i < row->group->n_rows; i++)
		if (row->group->row[i] == row)
			row->group->row[i] = row->group->row[--row->group->n_rows];
	free(row->fd);
	free(row->missing);
	free(row->place);
	free(row->base);
	free(row->got);
	free(row->sum);
	free(row);
}

struct perf_row *perf_row_new(struct perf_group *g, struct perf_place at, uint32_t instance)
{
	struct perf_row *row = memory_new(1, sizeof(*row));

	*row = (struct perf_row){
		.unit = { .read = unit_read, .release = row_release, .cpu = at.cpu < 0 ? PM_NONE : (uint32_t)at.cpu },
		.group = g,
		.n = g->n,
		.at = at,
		.instance = instance,
		.leader = -1,
		.fd = memory_new(g->n, sizeof(*row->fd)),
		.missing = memory_new(g->n, sizeof(*row->missing)),
		.place = memory_new(g->n, sizeof(*row->place)),
		.base = memory_new(g->n, sizeof(*row->base)),
		.got = memory_new(g->n + PERF_READ_HEAD + 1, sizeof(*row->got)),
	};
	for (uint32_t k = 0; k < g->n; k++)
		row->fd[k] = -1;
	memory_room(&g->row, g->n_rows, sizeof(*g->row));
	g->row[g->n_rows++] = row;
	return row;
}
