/*
 * LD_PRELOAD: the PMUs of a machine that does not exist, for programs that are not changed (pmrec, perf).
 *
 * $FAKE_PMU is a folder that machine.py wrote: sys/ and proc/, which take the place of those of this machine as far as PMUs,
 * CPUs and nodes are concerned, `table` (table.h), and `state`, the events that are open, which processes share: descriptors
 * are passed on.
 *
 * A descriptor is a real one, of a dummy event of the kernel; its id says which event of ours it stands for. Counters advance with
 * CLOCK_MONOTONIC at the rates of the table while their group has room. The kernel's rules: groups are tried in the order in
 * which they were opened, the first that has no room keeps out those behind it, and every 4 ms the first goes to the end;
 * pinned groups come first, and one without room is in error. A clock of a CPU that leads a group and samples it writes into
 * memory, from a thread of ours, while the group has room. What is left out: inheritance, other sampling, and that a task
 * runs on one CPU at a time (its counters advance all the time).
 *
 * With $FAKE_PMU_STEP no time passes, but every reading of an event stands for one more second in which it ran: what was
 * counted in an interval is then its rate, whatever the load of the machine and however many events take turns.
 */
#include "table.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT  __attribute__((visibility("default")))
#define TURN_NS 4000000u
enum { EVENTS = 8192, CONTEXTS = 1024, FDS = 65536, RINGS = 64, NONE = -1 };

struct event {
	uint64_t id; /* of the dummy; 0: free */
	struct table_event what;
	int leader, context, place;
	uint64_t read_format;
	double count;
	uint64_t enabled_ns, running_ns;
	bool on, pinned, failed, software, passed_on, filtered;
	uint64_t filter;
	unsigned readings;
	int owner;
	uint64_t period_ns, sampled_ns; /* of a clock that samples; how long it had run then */
};

struct context {
	unsigned pmu; /* 1 + its number; 0: free */
	int place;    /* CPU, package, or 1000 + task */
	uint64_t last_ns;
	unsigned turn, n;
	uint16_t leader[EVENTS / 8];
};

struct state {
	atomic_flag busy;
	unsigned n_events;
	struct event event[EVENTS];
	struct context context[CONTEXTS];
};

static struct table table;
static struct state *state;
static const char *folder;
static bool steps;
static short known[FDS]; /* 0: not looked at, -1: not ours, else 1 + the event */
static int real_cpus = 1;
static long (*real_syscall)(long, ...);
static int (*real_ioctl)(int, unsigned long, ...);
static ssize_t (*real_read)(int, void *, size_t);
static int (*real_close)(int);
static struct ring {
	struct perf_event_mmap_page *page; /* NULL: free */
	struct event *of;
} ring[RINGS];

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Who had it may have been killed. */
static void lock(void)
{
	const uint64_t begin = now_ns();

	while (atomic_flag_test_and_set(&state->busy) && now_ns() - begin < 1000000000u)
		sched_yield();
}

static void unlock(void)
{
	atomic_flag_clear(&state->busy);
}

/* Constructors of other libraries may come before ours. */
static void find_real(void)
{
	if (real_close)
		return;
	real_syscall = (long (*)(long, ...))next("syscall");
	real_ioctl = (int (*)(int, unsigned long, ...))next("ioctl");
	real_read = (ssize_t(*)(int, void *, size_t))next("read");
	real_close = (int (*)(int))next("close");
}

__attribute__((constructor)) static void start(void)
{
	char path[4096];
	int fd;

	find_real();
	real_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	if (!getenv("FAKE_PMU"))
		return;
	snprintf(path, sizeof(path), "%s/table", getenv("FAKE_PMU"));
	if (!table_load(&table, path))
		_exit(99);
	snprintf(path, sizeof(path), "%s/state", getenv("FAKE_PMU"));
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0 || ftruncate(fd, sizeof(*state)))
		_exit(99);
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	real_close(fd);
	if (state == MAP_FAILED)
		_exit(99);
	folder = getenv("FAKE_PMU");
	steps = getenv("FAKE_PMU_STEP") != NULL;
}

/* ---- Counting ---- */

struct room {
	unsigned general;
	uint32_t fixed;
	bool filtered;
	uint64_t filter; /* what it is set to */
};

static bool counts(const struct event *e)
{
	return e->on && !e->failed && state->event[e->leader].on;
}

/* Takes what the group needs of the room, or nothing. As for a group that is opened: all members, or those that are on. */
static bool take(struct room *room, int leader, bool all)
{
	struct room left = *room;

	for (unsigned i = 0; i < state->n_events; i++) {
		const struct event *e = &state->event[i];

		if (!e->id || e->leader != leader || e->software || e->what.metric || !(all || counts(e)))
			continue;
		if (e->filtered && left.filtered && left.filter != e->filter)
			return false;
		left.filtered = e->filtered;
		left.filter = e->filter;
		if (e->what.fixed >= 0 && !(left.fixed & 1u << e->what.fixed))
			left.fixed |= 1u << e->what.fixed;
		else if (e->what.only_fixed || !left.general)
			return false;
		else
			left.general--;
	}
	*room = left;
	return true;
}

static void add(int leader, uint64_t ns, bool runs)
{
	for (unsigned i = 0; i < state->n_events; i++) {
		struct event *e = &state->event[i];

		if (!e->id || e->leader != leader || !counts(e))
			continue;
		e->enabled_ns += ns;
		if (runs) {
			e->running_ns += ns;
			e->count += e->what.rate * (double)ns / 1e9;
		}
	}
}

/* Which groups run now. Returns whether one was left out. */
static bool schedule(struct context *c, bool *runs)
{
	const struct table_pmu *pmu = &table.pmu[c->pmu - 1];
	struct room room = { .general = pmu->general - pmu->held };
	bool left_out = false;

	for (unsigned i = 0; i < c->n; i++) {
		struct event *e = &state->event[c->leader[i]];

		runs[i] = e->pinned && counts(e) && take(&room, c->leader[i], false);
		e->failed = e->failed || (e->pinned && counts(e) && !runs[i]);
	}
	for (unsigned k = 0; k < c->n; k++) {
		unsigned i = (k + c->turn) % c->n;
		const struct event *e = &state->event[c->leader[i]];

		if (e->pinned || !counts(e))
			continue;
		runs[i] = !left_out && take(&room, c->leader[i], false);
		left_out = left_out || !runs[i];
	}
	return left_out;
}

static void advance(struct context *c)
{
	uint64_t now = now_ns();
	bool runs[EVENTS / 8], left_out;

	while (c->last_ns < now && c->n && !steps) {
		uint64_t end = now;

		left_out = schedule(c, runs);
		if (left_out && end > (c->last_ns / TURN_NS + 1) * TURN_NS)
			end = (c->last_ns / TURN_NS + 1) * TURN_NS;
		for (unsigned i = 0; i < c->n; i++)
			add(c->leader[i], end - c->last_ns, runs[i]);
		if (left_out && end % TURN_NS == 0)
			c->turn = (c->turn + 1) % c->n;
		c->last_ns = end;
	}
	c->last_ns = now;
}

static struct context *context_of(unsigned pmu, int place)
{
	struct context *free = NULL;

	for (unsigned i = 0; i < CONTEXTS; i++) {
		struct context *c = &state->context[i];

		if (c->pmu == pmu + 1 && c->place == place)
			return c;
		if (!c->pmu && !free)
			free = c;
	}
	if (free)
		*free = (struct context){ .pmu = pmu + 1, .place = place, .last_ns = now_ns() };
	return free;
}

/* Whether somebody has pinned an event there. */
static bool is_held(const struct context *c)
{
	for (unsigned i = 0; i < c->n; i++)
		if (state->event[c->leader[i]].pinned)
			return true;
	return false;
}

/* ---- Descriptors ---- */

static struct event *event_of(int fd)
{
	uint64_t id = 0;

	if (!state || fd < 0 || fd >= FDS || known[fd] < 0)
		return NULL;
	if (known[fd])
		return &state->event[known[fd] - 1];
	known[fd] = NONE;
	if (real_ioctl(fd, PERF_EVENT_IOC_ID, &id) || !id)
		return NULL;
	for (unsigned i = 0; i < state->n_events; i++)
		if (state->event[i].id == id) {
			known[fd] = (short)(i + 1);
			state->event[i].owner = getpid();
			return &state->event[i];
		}
	return NULL;
}

static long refuse(int error)
{
	errno = error;
	return -1;
}

static long open_event(struct perf_event_attr *a, int pid, int cpu, int group, unsigned long flags)
{
	struct perf_event_attr dummy = { .size = sizeof(dummy),
					 .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_DUMMY,
					 .disabled = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
	struct event *leader = event_of(group), *e = NULL;
	bool samples = a->type == PERF_TYPE_SOFTWARE && !a->config && a->sample_period && pid < 0;
	/* What such a clock leads counts where its members do. */
	const struct table_pmu *pmu = table_pmu(&table, samples ? PERF_TYPE_RAW : a->type, a->config);
	uint64_t config = a->config;
	struct context *c;
	struct room room;
	int fd, index;

	if (!pmu && !leader)
		return real_syscall(SYS_perf_event_open, a, pid, cpu > 0 ? cpu % real_cpus : cpu, group, flags);
	if (group >= 0 && !leader)
		return refuse(EINVAL);
	if (cpu >= (int)table.n_cpus || (cpu < 0 && pid < 0) || (cpu >= 0 && table.offline >> cpu & 1))
		return refuse(cpu < 0 ? EINVAL : ENODEV);
	if (!table.privileged && ((table.paranoid > 0 && pid < 0) || (table.paranoid > 1 && !a->exclude_kernel)))
		return refuse(EACCES);
	if (pmu && !pmu->core &&
	    (cpu < 0 || (pmu->package >= 0 && (int)table.package[cpu] != pmu->package) || pid >= 0 ||
	     a->sample_period || a->exclude_user || a->exclude_kernel || a->exclude_hv || a->exclude_idle ||
	     a->exclude_host || a->exclude_guest))
		return refuse(EINVAL);
	if (a->type == PERF_TYPE_HW_CACHE || (pmu && pmu->core && cpu >= 0 && !(pmu->cpus >> cpu & 1)))
		return refuse(ENOENT);
	if (a->type == PERF_TYPE_HARDWARE) {
		config = (uint32_t)config < 16 ? table.hardware[(uint32_t)config] : UINT64_MAX;
		if (config == UINT64_MAX)
			return refuse(ENOENT);
	}
	fd = (int)real_syscall(SYS_perf_event_open, &dummy, pid < 0 || flags & PERF_FLAG_PID_CGROUP ? 0 : pid, -1, -1,
			       flags & PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == ENOSYS) /* QEMU's user mode has none: any file will do */
		fd = eventfd(0, flags & PERF_FLAG_FD_CLOEXEC ? EFD_CLOEXEC : 0);
	if (fd < 0)
		return -1;
	lock();
	for (index = 0; index < EVENTS && state->event[index].id; index++)
		;
	if (index == EVENTS || fd >= FDS) {
		unlock();
		real_close(fd);
		return refuse(EMFILE);
	}
	e = &state->event[index];
	*e = (struct event){ .leader = leader ? (int)(leader - state->event) : index,
			     .read_format = a->read_format,
			     .on = !a->disabled || a->enable_on_exec,
			     .pinned = a->pinned,
			     .owner = getpid(),
			     .place = samples ? cpu : 0,
			     .period_ns = samples ? a->sample_period : 0 };
	if (pmu && !(a->type == PERF_TYPE_SOFTWARE)) {
		/* The words in one, as machine.py does it. */
		if (!pmu->core)
			config ^= a->config1 << 20 ^ a->config2 << 40;
		e->what = table_event(&table, pmu, config);
		e->filtered = pmu->filter;
		e->filter = config & pmu->filter;
		e->place = cpu < 0 ? 0 : pmu->core ? cpu : (int)table.package[cpu];
		e->what.rate *= pmu->core ? 1 + e->place / 100. : 1 + e->place / 10.;
	} else {
		e->software = true;
		e->what = (struct table_event){ .rate = a->config < 2 ? 1e9 : 100, .fixed = -1 };
	}
	c = leader ? &state->context[leader->context] :
		     context_of((unsigned)(pmu - table.pmu), pid < 0 ? e->place : 1000 + pid);
	if (real_ioctl(fd, PERF_EVENT_IOC_ID, &e->id))
		e->id = (uint64_t)index + 1;
	if (index >= (int)state->n_events)
		state->n_events = (unsigned)index + 1;
	room = (struct room){ .general = pmu ? pmu->general : 0 };
	/* Another PMU's event in a group, a share without its whole, or more than there will ever be room for. */
	if (!c || (leader && pmu && c->pmu != (unsigned)(pmu - table.pmu) + 1) ||
	    (e->what.metric && (!leader || !leader->what.only_fixed)) || (c->n == EVENTS / 8 && !leader) ||
	    (pmu && pmu->checks && !take(&room, e->leader, true)) || (pmu && pmu->alone && is_held(c))) {
		e->id = 0;
		unlock();
		real_close(fd);
		return refuse(c && pmu && pmu->alone && is_held(c) ? EBUSY : EINVAL);
	}
	e->context = (int)(c - state->context);
	advance(c);
	if (!leader)
		c->leader[c->n++] = (uint16_t)index;
	known[fd] = (short)(index + 1);
	unlock();
	return fd;
}

static void drop(struct event *e)
{
	struct context *c = &state->context[e->context];
	int index = (int)(e - state->event);
	unsigned kept = 0;

	advance(c);
	/* Members outlive their leader one by one. */
	for (unsigned i = 0; i < state->n_events; i++)
		if ((int)i != index && state->event[i].id && state->event[i].leader == index) {
			state->event[i].leader = (int)i;
			c->leader[c->n++] = (uint16_t)i;
		}
	for (unsigned i = 0; i < c->n; i++)
		if (c->leader[i] != index)
			c->leader[kept++] = c->leader[i];
	c->n = kept;
	c->turn = 0;
	e->id = 0;
}

static void step(struct event *e)
{
	e->readings++;
	e->count = e->readings * e->what.rate;
	e->enabled_ns = e->running_ns = e->readings * 1000000000ull;
}

enum { WORDS = 3 + 3 * 256 };

/* What reading it gives; the number of words. */
static size_t words_of(const struct event *e, uint64_t out[WORDS])
{
	size_t n = 0, members = 0;
	uint64_t f = e->read_format;
	int index = (int)(e - state->event);

	if (f & PERF_FORMAT_GROUP)
		out[n++] = 0;
	else
		out[n++] = (uint64_t)e->count;
	if (f & PERF_FORMAT_TOTAL_TIME_ENABLED)
		out[n++] = e->enabled_ns;
	if (f & PERF_FORMAT_TOTAL_TIME_RUNNING)
		out[n++] = e->running_ns;
	for (unsigned i = 0; i < state->n_events && members < 256; i++) {
		const struct event *m = &state->event[i];
		bool in = f & PERF_FORMAT_GROUP ? m->id && m->leader == index : m == e;

		if (!in)
			continue;
		members++;
		if (f & PERF_FORMAT_GROUP)
			out[n++] = (uint64_t)m->count;
		if (f & PERF_FORMAT_ID)
			out[n++] = m->id;
		if (f & PERF_FORMAT_LOST)
			out[n++] = 0;
	}
	if (f & PERF_FORMAT_GROUP)
		out[0] = members;
	return n;
}

static ssize_t read_event(struct event *e, void *to, size_t size)
{
	uint64_t out[WORDS];
	size_t n;
	int index = (int)(e - state->event);

	lock();
	advance(&state->context[e->context]);
	if (e->failed) {
		unlock();
		return 0;
	}
	for (unsigned i = 0; steps && i < state->n_events; i++) {
		struct event *m = &state->event[i];

		if (e->read_format & PERF_FORMAT_GROUP ? m->id && m->leader == index : m == e)
			step(m);
	}
	n = words_of(e, out);
	unlock();
	if (size < n * 8)
		return refuse(ENOSPC);
	memcpy(to, out, n * 8);
	return (ssize_t)(n * 8);
}

/* ---- Sampling ---- */

static void put_sample(struct perf_event_mmap_page *page, uint64_t time_ns, const uint64_t *words, size_t n)
{
	uint64_t head = page->data_head, record[2 + WORDS];
	struct perf_event_header h = { PERF_RECORD_SAMPLE, 0, (uint16_t)((2 + n) * 8) };

	if (head + h.size - page->data_tail > page->data_size)
		return;
	memcpy(record, &h, 8);
	record[1] = time_ns;
	memcpy(&record[2], words, n * 8);
	for (size_t i = 0; i < n + 2; i++)
		*(uint64_t *)(void *)((char *)page + page->data_offset + (head + i * 8) % page->data_size) =
			record[i];
	__atomic_store_n(&page->data_head, head + h.size, __ATOMIC_RELEASE);
}

static void *take_samples(void *arg)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	uint64_t words[WORDS];

	for (;;) {
		nanosleep(&ms, NULL);
		lock();
		for (struct ring *r = ring; r < ring + RINGS; r++) {
			struct event *e = r->of;

			if (!r->page || !e->id)
				continue;
			advance(&state->context[e->context]);
			for (; e->running_ns - e->sampled_ns >= e->period_ns; e->sampled_ns += e->period_ns)
				put_sample(r->page, now_ns(), words, words_of(e, words));
		}
		unlock();
	}
	return arg;
}

/* One thread a process writes them all. */
static void *map_ring(struct event *e, size_t size)
{
	static pthread_t thread;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *map = (struct perf_event_mmap_page *)real_syscall(
		SYS_mmap, NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ring *r = ring;

	map->data_offset = page;
	map->data_size = size - page;
	lock();
	while (r < ring + RINGS && r->page)
		r++;
	if (r < ring + RINGS)
		*r = (struct ring){ map, e };
	unlock();
	if (!thread)
		pthread_create(&thread, NULL, take_samples, NULL);
	return map;
}

/* ---- In place of the C library's ---- */

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	struct event *e = fd >= 0 && state ? event_of(fd) : NULL;

	find_real();
	return e && e->period_ns ? map_ring(e, size) :
				   (void *)real_syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

EXPORT int munmap(void *at, size_t size)
{
	find_real();
	if (state)
		lock();
	for (struct ring *r = ring; r < ring + RINGS; r++)
		if (r->page == at)
			r->page = NULL;
	if (state)
		unlock();
	return (int)real_syscall(SYS_munmap, at, size);
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (state && number == SYS_perf_event_open)
		return open_event((struct perf_event_attr *)a[0], (int)a[1], (int)a[2], (int)a[3],
				  (unsigned long)a[4]);
	find_real();
	return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct event *e = event_of(fd);
	unsigned long argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, unsigned long);
	va_end(ap);
	find_real();
	if (e && request == PERF_EVENT_IOC_ID) {
		*(uint64_t *)argument = e->id;
		return 0;
	}
	if (!e || (request != PERF_EVENT_IOC_ENABLE && request != PERF_EVENT_IOC_DISABLE &&
		   request != PERF_EVENT_IOC_RESET && request != PERF_EVENT_IOC_PERIOD))
		return real_ioctl(fd, request, argument);
	lock();
	advance(&state->context[e->context]);
	if (request == PERF_EVENT_IOC_PERIOD) {
		e->period_ns = *(const uint64_t *)argument;
		e->sampled_ns = e->running_ns;
		unlock();
		return 0;
	}
	for (unsigned i = 0; i < state->n_events; i++) {
		struct event *m = &state->event[i];

		if (!m->id || (argument & PERF_IOC_FLAG_GROUP ? m->leader != e->leader : m != e))
			continue;
		if (request == PERF_EVENT_IOC_RESET)
			m->count = 0;
		else
			m->on = request == PERF_EVENT_IOC_ENABLE;
		m->failed = m->failed && request != PERF_EVENT_IOC_ENABLE;
	}
	unlock();
	return 0;
}

EXPORT ssize_t read(int fd, void *to, size_t size)
{
	struct event *e = event_of(fd);

	find_real();
	return e ? read_event(e, to, size) : real_read(fd, to, size);
}

EXPORT ssize_t __read_chk(int fd, void *to, size_t size, size_t room)
{
	return size > room ? refuse(EINVAL) : read(fd, to, size);
}

EXPORT int close(int fd)
{
	struct event *e = state && fd >= 0 && fd < FDS && known[fd] > 0 ? event_of(fd) : NULL;

	if (fd >= 0 && fd < FDS)
		known[fd] = 0;
	if (e && e->owner == getpid()) {
		lock();
		/* Whoever got a copy has it now. */
		if (e->passed_on)
			e->passed_on = false;
		else
			drop(e);
		unlock();
	}
	find_real();
	return real_close(fd);
}

static void each_passed(const struct msghdr *m, void (*visit)(int))
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR((struct msghdr *)m, c))
		for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
				   i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		     i++)
			visit(((const int *)(const void *)CMSG_DATA(c))[i]);
}

static void passed_on(int fd)
{
	struct event *e = event_of(fd);

	if (e)
		e->passed_on = true;
}

static void arrived(int fd)
{
	if (fd >= 0 && fd < FDS)
		known[fd] = 0;
	(void)event_of(fd);
}

EXPORT ssize_t sendmsg(int socket, const struct msghdr *m, int flags)
{
	each_passed(m, passed_on);
	return ((ssize_t(*)(int, const struct msghdr *, int))next("sendmsg"))(socket, m, flags);
}

EXPORT ssize_t recvmsg(int socket, struct msghdr *m, int flags)
{
	ssize_t n = ((ssize_t(*)(int, struct msghdr *, int))next("recvmsg"))(socket, m, flags);

	if (n >= 0)
		each_passed(m, arrived);
	return n;
}
