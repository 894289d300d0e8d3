/* What perf events follow instead of CPUs: the command, or the processes and threads of -p and -t. */
#include "record/perf/perf_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/clocks.h"
#include "record/host/perf_open.h"
#include "record/host/taskstats.h"
#include "record/perf/perf_tool.h"

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

struct noticed {
	struct perf_source *s;
	struct plan *p;
	bool lost;
};

static struct perf_task *find_task(struct perf_source *s, pid_t tid)
{
	/* The newest with that number. */
	for (uint32_t i = s->n_tasks; i-- > 0;)
		if (s->task[i].tid == tid)
			return &s->task[i];
	return NULL;
}

/* Opens rows in all groups; they get their instance later. -errno if none could be opened. */
static int open_rows(struct perf_source *s, pid_t tid)
{
	struct perf_start start = { .on = s->on || s->from_exec };
	int result = -ENOENT;

	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_row *row;
		int err;

		if (!s->group[i]->tasks)
			continue;
		row = perf_row_new(s->group[i], perf_on_task(tid), 0);
		err = perf_row_open(row, start);
		row->fresh = true;
		if (err)
			row->unit.release(&row->unit);
		if (!err || result)
			result = err;
	}
	return result;
}

static void begin_task(struct noticed *n, pid_t pid, pid_t tid, uint64_t time_ns)
{
	struct perf_source *s = n->s;
	struct perf_task *t = find_task(s, tid);

	if (t && !t->ended_ns)
		return;
	if (open_rows(s, tid)) {
		s->n_missed++;
		return;
	}
	memory_room(&s->task, s->n_tasks, sizeof(*s->task));
	s->task[s->n_tasks++] = (struct perf_task){ .pid = pid, .tid = tid, .began_ns = time_ns, .end = -1 };
}

static void began(void *arg, pid_t pid, pid_t tid, pid_t parent, uint64_t time_ns)
{
	begin_task(arg, pid, tid, time_ns);
}

static void ended(void *arg, pid_t tid, uint64_t time_ns)
{
	struct noticed *n = arg;
	struct perf_task *t = find_task(n->s, tid);

	/* The end of the command is an event of its own, and with -r it begins again. */
	if (t && !t->ended_ns && tid != n->p->child)
		t->ended_ns = time_ns;
}

static void lost(void *arg)
{
	((struct noticed *)arg)->lost = true;
}

static struct perf_follow_ops into(struct noticed *n)
{
	return (struct perf_follow_ops){ .began = began, .ended = ended, .lost = lost, .arg = n };
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

	memory_room(&f->ring, f->n_rings, sizeof(*f->ring));
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

static int follow_cpu(struct perf_follow *f, const pid_t *tid, uint32_t n, uint32_t cpu)
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
		err = follow_cpu(f, tid, n, cpus->cpu[c]);
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
	return follow_cpu(f, tid, n, cpu);
}

/* An instance for a task that has none yet. */
static void perf_task_define(struct perf_source *s, struct plan *p, struct perf_task *t, uint32_t number)
{
	struct pm_instance i = { .kind = PM_TASK, .number = PM_NONE, .cpu = PM_NONE, .added_ns = t->began_ns };
	char name[32], comm[64];
	int64_t id;

	snprintf(name, sizeof(name), "task-%u", number);
	plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	if (plan_may_name(p->options, PM_INSTANCE_PID))
		plan_set(&i.attrs, PM_INSTANCE_PID, pm_u64((uint64_t)t->pid));
	if (plan_may_name(p->options, PM_INSTANCE_TID))
		plan_set(&i.attrs, PM_INSTANCE_TID, pm_u64((uint64_t)t->tid));
	/* The command gets its name only by its exec. */
	if (plan_may_name(p->options, PM_INSTANCE_COMM) && t->tid != p->child &&
	    !root_line(p->root, comm, sizeof(comm), "/proc/%d/comm", (int)t->tid))
		plan_set(&i.attrs, PM_INSTANCE_COMM, pm_text(comm));
	id = plan_instance(p, &i);
	if (id > 0)
		t->instance = (uint32_t)id;
}

static void add_task(struct perf_source *s, struct plan *p, pid_t pid, pid_t tid)
{
	memory_room(&s->task, s->n_tasks, sizeof(*s->task));
	s->task[s->n_tasks] = (struct perf_task){ .pid = pid, .tid = tid, .end = -1 };
	perf_task_define(s, p, &s->task[s->n_tasks], s->n_tasks + 1);
	s->n_tasks++;
}

/* Adds all threads of a process. */
static int add_process(struct perf_source *s, struct plan *p, uint32_t pid, struct error *e)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc/%u/task", pid);

	if (n < 0)
		return error_set(e, ESRCH, "-p: there is no process %u", pid);
	for (int i = 0; i < n; i++)
		add_task(s, p, (pid_t)pid, (pid_t)strtol(names[i], NULL, 10));
	return 0;
}

/* Which process a thread is of. */
static pid_t process_of(const struct root *root, pid_t tid)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	ssize_t size = root_read(root, &text, 1 << 16, "/proc/%d/status", (int)tid);
	const char *line = size > 0 ? strstr(buf_str(&text), "\nTgid:\t") : NULL;

	return line ? (pid_t)strtol(line + strlen("\nTgid:\t"), NULL, 10) : tid;
}

static int add_ids(struct perf_source *s, struct plan *p, const char *text, bool threads, struct error *e)
{
	const char *at = text;
	int err = 0;

	while (at && !err) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || !id || id > INT32_MAX || (*end && *end != ','))
			return error_set(e, EINVAL, "%s: \"%.60s\" is not a list of ids", threads ? "-t" : "-p",
					 text);
		if (!threads)
			err = add_process(s, p, (uint32_t)id, e);
		else if (!root_exists(p->root, "/proc/%lu", id))
			err = error_set(e, ESRCH, "-t: there is no thread %lu", id);
		else
			add_task(s, p, process_of(p->root, (pid_t)id), (pid_t)id);
		at = *end ? end + 1 : NULL;
	}
	return err;
}

/* Adds every thread of the system, except those that end meanwhile. */
static int add_all(struct perf_source *s, struct plan *p)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(p->root, &names, "/proc");

	for (int i = 0; i < n; i++)
		if (names[i][0] >= '0' && names[i][0] <= '9')
			(void)add_process(s, p, (uint32_t)strtoul(names[i], NULL, 10), NULL);
	return n < 0 ? n : 0;
}

int perf_tasks_add(struct perf_source *s, struct plan *p, struct error *e)
{
	int err;

	if (p->options->target == TARGET_COMMAND && p->child)
		add_task(s, p, p->child, p->child);
	if (p->options->target != TARGET_TASKS)
		return 0;
	if (!p->options->perf.pids && !p->options->perf.tids)
		return add_all(s, p);
	err = add_ids(s, p, p->options->perf.pids, false, e);
	return err ? err : add_ids(s, p, p->options->perf.tids, true, e);
}

/* Descendants' counts continue to be added to their ancestor, so a task with heirs is not over. */
static void end_rows(struct perf_source *s, uint32_t instance)
{
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (uint32_t k = 0; k < s->group[i]->n_rows && s->group[i]->tasks && !s->group[i]->inherit; k++)
			if (s->group[i]->row[k]->instance == instance && s->group[i]->row[k]->end == PERF_ALIVE)
				s->group[i]->row[k]->end = PERF_ENDING;
}

/* Works for processes since Linux 5.3, for threads since 6.9 (PIDFD_THREAD). */
static int open_end(pid_t tid)
{
	long fd = syscall(SYS_pidfd_open, tid, 0);

	if (fd < 0)
		fd = syscall(SYS_pidfd_open, tid, O_EXCL);
	return (int)fd;
}

void perf_tasks_watch(struct perf_source *s, const struct plan *p)
{
	const struct record_options *o = p->options;

	if (o->target != TARGET_TASKS || o->perf.per_thread)
		return;
	s->ends = epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; i < s->n_tasks && s->ends >= 0; i++) {
		struct epoll_event watch = { .events = EPOLLIN, .data.u32 = i };

		/* A process that was named is represented by its first thread. */
		if (o->perf.pids && s->task[i].tid != s->task[i].pid)
			continue;
		s->task[i].end = open_end(s->task[i].tid);
		/* If the kernel does not report its end, check once a second. */
		if (s->task[i].end >= 0)
			epoll_ctl(s->ends, EPOLL_CTL_ADD, s->task[i].end, &watch);
	}
}

bool perf_tasks_notice(struct perf_source *s)
{
	uint64_t now = clocks_monotonic();
	struct epoll_event ended[16];
	int n = s->ends < 0 ? 0 : epoll_wait(s->ends, ended, 16, 0);

	for (int i = 0; i < n; i++) {
		struct perf_task *t = &s->task[ended[i].data.u32];

		close(t->end);
		t->end = -1;
		/* Its parent may be slow to reap it, and its name stays in /proc until then. */
		for (struct perf_task *k = s->task; k < s->task + s->n_tasks; k++)
			if (!k->ended_ns && (k == t || (t->tid == t->pid && k->pid == t->pid)))
				k->ended_ns = now;
	}
	return n > 0;
}

void perf_tasks_release(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_tasks; i++)
		fd_close(&s->task[i].end);
	fd_close(&s->ends);
	free(s->task);
}

void perf_tasks_look(struct perf_source *s, struct plan *p)
{
	const struct record_options *o = p->options;
	bool any = o->target != TARGET_TASKS || (!o->perf.pids && !o->perf.tids) || !s->n_tasks;

	for (uint32_t i = 0; i < s->n_tasks && o->target == TARGET_TASKS; i++) {
		struct perf_task *t = &s->task[i];

		if (!t->ended_ns && root_exists(p->root, "/proc/%d", (int)t->tid)) {
			any = true;
			continue;
		}
		if (!t->ended_ns)
			t->ended_ns = clocks_monotonic();
		if (t->told || !t->instance)
			continue;
		t->told = true;
		end_rows(s, t->instance);
		plan_gone(p, t->instance, t->ended_ns);
	}
	p->targets_gone = !any;
}

/* --per-thread: a row per task, including those that begin while recording. */

/* Adds every thread of a process that is not known yet. */
static void begin_process(struct noticed *n, pid_t pid)
{
	SCOPED(root_list_free) char **names = NULL;
	int count = root_list(n->p->root, &names, "/proc/%d/task", (int)pid);

	for (int k = 0; k < count; k++)
		begin_task(n, pid, (pid_t)strtol(names[k], NULL, 10), clocks_monotonic());
}

static bool follows_all(const struct plan *p)
{
	return p->options->target == TARGET_TASKS && !p->options->perf.pids && !p->options->perf.tids;
}

/* Whether it is a child of a followed task and began later. Tasks that existed before were not requested. */
static bool is_descendant(struct noticed *n, pid_t pid)
{
	enum { PARENT = 4, BEGAN = 22, FIELDS };
	uint64_t field[FIELDS];
	char text[2048];

	return !root_line(n->p->root, text, sizeof(text), "/proc/%d/stat", (int)pid) &&
	       taskstats_fields(text, field, FIELDS) == FIELDS && field[BEGAN] >= n->s->since_ticks &&
	       find_task(n->s, (pid_t)field[PARENT]);
}

/* Searches /proc if records were lost or could not be written, as on a CPU that has just come online. */
static void look_again(struct noticed *n)
{
	uint32_t known;

	for (uint32_t i = 0; i < n->s->n_tasks; i++) {
		const struct perf_task *t = &n->s->task[i];

		if (!t->ended_ns && !root_exists(n->p->root, "/proc/%d", (int)t->tid))
			ended(n, t->tid, clocks_monotonic());
	}
	/* Children of what is found are searched for in the next round. */
	do {
		SCOPED(root_list_free) char **names = NULL;
		int count = root_list(n->p->root, &names, "/proc");

		known = n->s->n_tasks;
		for (int i = 0; i < count; i++) {
			pid_t pid = names[i][0] < '0' || names[i][0] > '9' ? 0 : (pid_t)strtol(names[i], NULL, 10);
			const struct perf_task *t = pid ? find_task(n->s, pid) : NULL;

			if (pid &&
			    (follows_all(n->p) || (t && t->pid == t->tid && !t->ended_ns) || is_descendant(n, pid)))
				begin_process(n, pid);
		}
	} while (n->s->n_tasks > known);
}

/* Tasks that can start others. */
static pid_t *live_tasks(const struct perf_source *s, const struct plan *p, uint32_t *n)
{
	pid_t *tid = memory_new(s->n_tasks, sizeof(*tid));

	*n = 0;
	for (uint32_t i = 0; i < s->n_tasks && !follows_all(p); i++)
		if (!s->task[i].ended_ns)
			tid[(*n)++] = s->task[i].tid;
	return tid;
}

static int watch_threads(struct perf_source *s, struct plan *p)
{
	SCOPED(cpulist_release) struct cpulist present = { 0 };
	uint32_t n;
	SCOPED(scoped_free) pid_t *tid = live_tasks(s, p, &n);
	int err = root_cpulist(p->root, &present, "/sys/devices/system/cpu/present");

	s->since_ticks = clocks_ns(CLOCK_BOOTTIME) / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	if (!err && (n || follows_all(p)))
		err = perf_follow_begin(&s->follow, tid, n, &present);
	return err;
}

void perf_threads_begin(struct perf_source *s, struct plan *p)
{
	int err;

	s->follow.epoll = -1;
	if (!p->options->perf.per_thread || p->options->perf.no_inherit || !s->n_groups)
		return;
	err = watch_threads(s, p);
	/* Existing tasks can be counted even so. */
	if (err)
		plan_refused(p, perf_reason(err), perf_remedy(err, NULL, p), pm_remark(PM_REMARK_NEW_TASKS));
}

void perf_threads_cpu(struct perf_source *s, struct plan *p, uint32_t cpu)
{
	struct noticed n = { .s = s, .p = p };
	struct perf_follow_ops ops = into(&n);
	uint32_t n_tids;
	SCOPED(scoped_free) pid_t *tid = NULL;
	int err = 0;

	if (s->follow.epoll < 0)
		return;
	tid = live_tasks(s, p, &n_tids);
	if (n_tids || follows_all(p))
		err = perf_follow_cpu(&s->follow, tid, n_tids, cpu, &ops);
	if (err)
		plan_refused(p, perf_reason(err), pm_remark(0), pm_remark(PM_REMARK_NEW_TASKS_ON_CPU, cpu));
	look_again(&n);
}

bool perf_threads_notice(struct perf_source *s, struct plan *p)
{
	struct noticed n = { .s = s, .p = p };
	struct perf_follow_ops ops = into(&n);
	bool work = false;

	if (s->follow.epoll < 0)
		return false;
	perf_follow_read(&s->follow, &ops);
	if (n.lost) {
		s->n_lost++;
		look_again(&n);
	}
	for (uint32_t i = 0; i < s->n_tasks && !work; i++)
		work = !s->task[i].instance || (s->task[i].ended_ns && !s->task[i].told);
	return work;
}

static void define_new(struct perf_source *s, struct plan *p)
{
	for (uint32_t i = 0; i < s->n_tasks; i++) {
		if (s->task[i].instance)
			continue;
		perf_task_define(s, p, &s->task[i], i + 1);
		for (uint32_t g = 0; g < s->n_groups && s->task[i].instance; g++) {
			struct perf_row **row = s->group[g]->row, **end = row + s->group[g]->n_rows;

			/* Two tasks may have had one number, in the order of their rows. */
			while (row < end && ((*row)->instance || (*row)->at.pid != s->task[i].tid))
				row++;
			if (row < end)
				(*row)->instance = s->task[i].instance;
		}
	}
}

static void place_rows(struct plan *p, struct perf_group *g)
{
	SCOPED(scoped_free) struct perf_row **rows = memory_new(g->n_rows, sizeof(*rows));
	uint32_t n = 0;

	for (uint32_t k = 0; k < g->n_rows; k++)
		if (!g->row[k]->unit.group && g->row[k]->instance)
			rows[n++] = g->row[k];
	perf_rows_add(p, g, rows, n);
}

/* Whether its tasks have been read after their end. */
static bool has_ended(struct unit *u)
{
	const struct perf_row *row = perf_row_of(u);

	return row && row->at.cpu < 0 && row->end == PERF_ENDED;
}

void perf_threads_update(struct perf_source *s, struct plan *p)
{
	if (!p->options->perf.per_thread)
		return;
	plan_drop_units(p, has_ended);
	define_new(s, p);
	for (uint32_t i = 0; i < s->n_groups; i++)
		if (s->group[i]->tasks)
			place_rows(p, s->group[i]);
	for (uint32_t i = 0; i < s->n_tasks; i++) {
		struct perf_task *t = &s->task[i];

		if (!t->ended_ns || t->told || !t->instance)
			continue;
		t->told = true;
		for (uint32_t g = 0; g < s->n_groups; g++)
			for (uint32_t k = 0; k < s->group[g]->n_rows && s->group[g]->tasks; k++)
				if (s->group[g]->row[k]->instance == t->instance)
					s->group[g]->row[k]->end = PERF_ENDING;
		plan_gone(p, t->instance, t->ended_ns);
	}
	perf_tool_threads(s, p);
}

void perf_threads_restart(struct perf_source *s, struct plan *p)
{
	uint64_t now = clocks_monotonic();

	if (!p->options->perf.per_thread)
		return;
	for (uint32_t i = 1; i < s->n_tasks; i++)
		if (!s->task[i].ended_ns)
			s->task[i].ended_ns = now;
	perf_follow_end(&s->follow);
	perf_threads_begin(s, p);
}
