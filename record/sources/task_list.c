#include "record/sources/task_list.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/array.h"
#include "common/memory.h"
#include "format/model.h"
#include "record/host/clocks.h"
#include "record/host/opener.h"
#include "record/host/taskstats.h"

/* What may change while a process is stopped (memory is taken from it, its parent ends) is read this rarely. */
#define STILL_MOST 8
/* Descriptors that are left to others. */
#define FILES_SPARED 512

#define SHARE       200 /* the share of time for examining threads: 0.5 % of a CPU */
#define CREDIT_MOST 20000000
#define ENTRIES     32768 /* bytes of a directory that are read at once */
#define FILES       16384 /* descriptors that suffice for processes, threads and others */

struct thread_id {
	pid_t tid, pid;
};

static void *end_at_once(void *unused)
{
	return unused;
}

/* The kernel tells of the end of a thread before it can be joined. Whoever is in another network namespace than the
 * first may listen, and hears nothing. */
static bool hears_ends(int exits)
{
	struct task_exit x;
	pthread_t thread;

	return pthread_create(&thread, NULL, end_at_once, NULL) || pthread_join(thread, NULL) ||
	       taskstats_next(exits, &x);
}

int task_list_init(struct task_list *l, const struct root *root)
{
	int fd = root_open(root, "/proc");
	struct rlimit files;

	*l = (struct task_list){ .root = root, .exits = -EPERM, .most = TASKS_MOST };
	if (fd < 0)
		return fd;
	l->dir = fdopendir(fd);
	if (!l->dir) {
		close(fd);
		return -ENOMEM;
	}
	l->proc = fd;
	l->page = (uint64_t)sysconf(_SC_PAGESIZE);
	l->tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	l->task = memory_new(TASKS_MOST, sizeof(*l->task));
	l->other = memory_new(TASKS_MOST, sizeof(*l->other));
	l->pid = memory_new(TASKS_MOST, sizeof(*l->pid));
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur > 2 * FILES_SPARED)
		l->files_most = files.rlim_cur / 2 < TASK_FILES ? (uint32_t)files.rlim_cur / 2 : TASK_FILES;
	if (!root->emulated)
		l->exits = opener_exits();
	if (l->exits >= 0 && !hears_ends(l->exits)) {
		fd_close(&l->exits);
		l->exits = -EINVAL;
	}
	return 0;
}

static void close_file(struct task_list *l, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	l->n_files--;
}

static void close_files(struct task_list *l, struct task *t)
{
	close_file(l, &t->fd);
	close_file(l, &t->run_fd);
}

void task_list_release(struct task_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		close_files(l, &l->task[i]);
	if (l->dir)
		closedir(l->dir);
	fd_close(&l->exits);
	free(l->task);
	free(l->other);
	free(l->pid);
}

struct task *task_list_find(const struct task_list *l, pid_t pid)
{
	size_t at = ARRAY_PLACE(l->n, i, l->task[i].pid < pid);

	return at < l->n && l->task[at].pid == pid ? &l->task[at] : NULL;
}

/* ---- a process ---- */

/* The line of its stat. */
static int parse(struct task_list *l, struct task *t, char *text)
{
	enum {
		PARENT = 4,
		FAULTS = 12,
		USER = 14,
		SYSTEM,
		CHILDREN_USER,
		CHILDREN_SYSTEM,
		THREADS = 20,
		BEGAN = 22,
		RSS = 24,
		FIELDS
	};
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t field[FIELDS] = { 0 };
	size_t n;

	if (!name || !taskstats_fields(text, field, FIELDS) || end < name)
		return -EPROTO;
	n = (size_t)(end - ++name);
	n = n < TASK_NAME ? n : TASK_NAME - 1;
	if (t->began && t->began != field[BEGAN])
		return -ESRCH;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, n);
	t->state = end[2];
	t->parent = (pid_t)field[PARENT];
	t->began = field[BEGAN];
	t->use.faults = field[FAULTS];
	t->use.user = field[USER] * l->tick_us;
	t->use.system = field[SYSTEM] * l->tick_us;
	t->children = (field[CHILDREN_USER] + field[CHILDREN_SYSTEM]) * l->tick_us;
	t->threads = (uint32_t)field[THREADS];
	t->rss = field[RSS] * l->page;
	return 0;
}

/* Reads the file behind `fd`, which is *kept, or was opened (-1: could not be, errno says why): it stays open as
 * *kept while fewer than `most` files do, else it is closed. `text` ends with a NUL. 0, -ESRCH or -errno. */
static int read_kept(int fd, int *kept, uint32_t *files, uint32_t most, char *text, size_t size)
{
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
	int err = n < 0 ? -errno : n ? 0 : -ESRCH;

	text[n > 0 ? n : 0] = '\0';
	if (*kept < 0 && !err && *files < most) {
		*kept = fd;
		++*files;
	} else if (*kept < 0 && fd >= 0) {
		close(fd);
	}
	return err;
}

static int read_file(struct task_list *l, const struct task *t, const char *name, int *kept, char *text, size_t size)
{
	char path[32];
	int fd = *kept;

	if (fd < 0) {
		snprintf(path, sizeof(path), "%d/%s", (int)t->pid, name);
		fd = openat(l->proc, path, O_RDONLY | O_CLOEXEC);
	}
	return read_kept(fd, kept, &l->n_files, l->files_most, text, size);
}

/* Whether its only thread has not run since the previous reading, so that its stat is unchanged: this check costs a
 * fifth of reading it. Kernels that do not count it say 0. */
static bool stood_still(struct task_list *l, struct task *t)
{
	uint64_t before = t->ran;
	char text[64];

	/* Opening the file each time would cost more than it saves. */
	if (t->threads != 1 || l->root->emulated || (t->run_fd < 0 && l->n_files >= l->files_most))
		return false;
	t->ran = read_file(l, t, "schedstat", &t->run_fd, text, sizeof(text)) ? 0 : strtoull(text, NULL, 10);
	return t->ran && t->ran == before && !t->member && ((uint64_t)t->pid + l->reading) % STILL_MOST;
}

static int read_task(struct task_list *l, struct task *t)
{
	char text[1024];
	int err;

	if (stood_still(l, t))
		return 0;
	err = read_file(l, t, "stat", &t->fd, text, sizeof(text));
	return err ? err : parse(l, t, text);
}

void task_list_io(struct task_list *l, struct task *t)
{
	bool known = !t->no_io;
	char path[32];
	int err;

	if (t->ended)
		return;
	snprintf(path, sizeof(path), "%d/io", (int)t->pid);
	err = taskstats_io(l->proc, path, t->use.bytes);
	if ((err == -EACCES || err == -EPERM) && !l->root->emulated)
		err = opener_io(t->pid, t->use.bytes);
	t->no_io = err ? pm_reason_errno(err) : PM_OK;
	/* What it did before it was first examined does not belong to this interval. */
	if (!err && !known && (t->before.user || t->before.system))
		memcpy(t->before.bytes, t->use.bytes, sizeof(t->use.bytes));
}

/* ---- those that have ended ---- */

static struct task_brief *brief_for(struct task_list *l, const struct task_exit *x)
{
	const struct task *parent = task_list_find(l, x->parent);
	/* The number of a parent that nobody saw, and that may be gone, says nothing: the name alone counts then. */
	pid_t number = parent ? x->parent : 0;
	struct task_brief *oldest = &l->brief[0];

	for (uint32_t i = 0; i < BRIEF_MOST; i++) {
		struct task_brief *b = &l->brief[i];

		if (b->since && b->parent == number && !strcmp(b->name, x->name)) {
			if (b->since != l->reading) {
				b->before = b->use;
				b->ended_before = b->ended;
			}
			return b;
		}
		if (b->since < oldest->since)
			oldest = b;
	}
	/* One that is in the table must be released there first. */
	if (oldest->member || oldest->since == l->reading)
		return NULL;
	*oldest = (struct task_brief){ .parent = number };
	memcpy(oldest->name, x->name, sizeof(oldest->name));
	if (parent)
		memcpy(oldest->parent_name, parent->name, sizeof(oldest->parent_name));
	return oldest;
}

static void take_exit(struct task_list *l, const struct task_exit *x)
{
	struct task *t = task_list_find(l, x->pid);
	struct task_brief *b;

	l->ended += x->last;
	if (t) {
		uint64_t used = t->use.user + t->use.system, exits;

		/* The times of its threads that have ended are included in the process's, as long as that exists. */
		t->exits += x->user + x->system;
		exits = t->exits;
		if (x->last && t->ended && exits > used) {
			t->use.user += (exits - used) * x->user / (x->user + x->system + 1);
			t->use.system += (exits - used) - (exits - used) * x->user / (x->user + x->system + 1);
		}
		if (x->last && t->threads <= 1 && (!t->no_io || !(t->before.user + t->before.system))) {
			/* For the last thread only: /proc/PID/io also includes those that ended before. */
			for (int i = 0; i < 2; i++)
				t->use.bytes[i] = x->bytes[i] > t->use.bytes[i] ? x->bytes[i] : t->use.bytes[i];
			t->no_io = PM_OK;
		}
		return;
	}
	b = brief_for(l, x);
	if (!b) {
		l->missed++;
		return;
	}
	b->since = l->reading;
	b->use.user += x->user;
	b->use.system += x->system;
	b->use.faults += x->faults;
	b->use.bytes[0] += x->bytes[0];
	b->use.bytes[1] += x->bytes[1];
	b->ended += x->last;
}

static void take_exits(struct task_list *l)
{
	struct task_exit x;
	int got = l->exits < 0 ? 0 : 1;

	while (got) {
		got = taskstats_next(l->exits, &x);
		if (got == 1 && l->threads)
			thread_list_exit(l->threads, &x);
		if (got == 1)
			take_exit(l, &x);
		else if (got == -ENOBUFS)
			l->missed++;
		else if (got)
			break;
	}
}

/* ---- all ---- */

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The pids of the directory, in order. */
static uint32_t list_pids(struct task_list *l)
{
	const struct dirent *d;
	bool sorted = true;
	uint32_t n = 0;

	rewinddir(l->dir);
	while (n < l->most && (d = readdir(l->dir))) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		l->pid[n] = (pid_t)strtol(d->d_name, NULL, 10);
		sorted = sorted && (!n || l->pid[n - 1] < l->pid[n]);
		n++;
	}
	l->missed += n == l->most;
	/* A copy of such a directory may have them in any order. */
	if (!sorted)
		qsort(l->pid, n, sizeof(*l->pid), by_number);
	return n;
}

/* It existed at the previous reading: keep its file and what it had used. */
static struct task again(const struct task *old)
{
	struct task t = *old;

	t.before = old->use;
	t.exits = 0;
	return t;
}

/* Those of the previous reading up to that pid that no longer exist stay for this one reading. */
static void end_tasks(struct task_list *l, uint32_t *k, pid_t before, struct task *now, uint32_t *n)
{
	for (; *k < l->n && l->task[*k].pid < before; (*k)++) {
		struct task *old = &l->task[*k];

		if (old->ended)
			continue;
		close_files(l, old);
		if (*n == l->most)
			continue;
		now[*n] = again(old);
		now[(*n)++].ended = true;
	}
}

int task_list_read(struct task_list *l)
{
	struct task *now = l->other;
	uint32_t pids = list_pids(l), n = 0, k = 0;

	l->reading++;
	for (uint32_t i = 0; i < pids && n < l->most; i++) {
		struct task t = { .pid = l->pid[i], .fd = -1, .run_fd = -1, .no_io = PM_REASON_NOT_READ };
		bool known;

		end_tasks(l, &k, t.pid, now, &n);
		known = k < l->n && l->task[k].pid == t.pid && !l->task[k].ended;
		if (known)
			t = again(&l->task[k]);
		if (n < l->most && !read_task(l, &t)) {
			now[n++] = t;
			k += known;
		} else if (known) {
			l->task[k].fd = t.fd;
			l->task[k].run_fd = t.run_fd;
		} else {
			close_files(l, &t);
		}
	}
	end_tasks(l, &k, INT32_MAX, now, &n);
	l->other = l->task;
	l->task = now;
	l->n = n;
	take_exits(l);
	return n ? 0 : -ENODATA;
}

/* ---- threads ---- */

/* Reads a thread's file as text. 0 or -errno. */
static int read_thread_file(const struct thread_list *l, const struct thread *t, const char *file, int *fd,
			    uint32_t *files, uint32_t most, char *text, size_t size)
{
	char path[64];
	int opened = *fd;

	if (opened < 0) {
		snprintf(path, sizeof(path), "%d/task/%d/%s", (int)t->pid, (int)t->tid, file);
		opened = openat(l->tasks->proc, path, O_RDONLY | O_CLOEXEC);
	}
	return read_kept(opened, fd, files, most, text, size);
}

static int read_use(struct thread_list *l, struct thread *t)
{
	enum { USER = 14, SYSTEM, FIELDS };
	uint64_t field[FIELDS] = { 0 };
	char text[1024];
	int err = read_thread_file(l, t, l->ticks ? "stat" : "schedstat", &t->fd, &l->n_files, l->files_most, text,
				   sizeof(text));

	if (err)
		return err;
	t->use = strtoull(text, NULL, 10) / 1000;
	if (l->ticks)
		t->use =
			taskstats_fields(text, field, FIELDS) ? (field[USER] + field[SYSTEM]) * l->tasks->tick_us : 0;
	return 0;
}

static void close_thread(struct thread_list *l, struct thread *t)
{
	if (t->fd < 0)
		return;
	close(t->fd);
	t->fd = -1;
	l->n_files--;
}

static void end_thread(struct thread_list *l, struct thread *t)
{
	close_thread(l, t);
	t->ended = true;
	t->before = t->use;
	t->looked = l->tasks->reading;
}

void thread_list_name(const struct thread_list *l, struct thread *t)
{
	uint32_t none = 0;
	int fd = -1;

	if (!t->ended && !read_thread_file(l, t, "comm", &fd, &none, 0, t->name, sizeof(t->name)))
		t->name[strcspn(t->name, "\n")] = '\0';
}

/* ---- opening ---- */

void thread_list_init(struct thread_list *l, struct task_list *tasks)
{
	struct thread self = { .pid = getpid(), .tid = getpid(), .fd = -1 };
	struct rlimit files;

	*l = (struct thread_list){ .tasks = tasks, .now_ns = clocks_monotonic() };
	/* A kernel that does not count it says 0; a copy of /proc has what the files said. */
	l->ticks = tasks->root->emulated || read_use(l, &self) || !self.use;
	l->thread = memory_new(THREADS_MOST, sizeof(*l->thread));
	l->other = memory_new(THREADS_MOST, sizeof(*l->other));
	l->listed = memory_new(THREADS_MOST, sizeof(*l->listed));
	l->entries = memory_new(ENTRIES, 1);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (files.rlim_cur < FILES && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	l->files_most = files.rlim_cur / 4 < THREAD_FILES ? (uint32_t)files.rlim_cur / 4 : THREAD_FILES;
}

void thread_list_release(struct thread_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		close_thread(l, &l->thread[i]);
	free(l->thread);
	free(l->other);
	free(l->listed);
	free(l->entries);
}

struct thread *thread_list_find(const struct thread_list *l, pid_t tid)
{
	size_t at = ARRAY_PLACE(l->n, i, l->thread[i].tid < tid);

	return at < l->n && l->thread[at].tid == tid ? &l->thread[at] : NULL;
}

void thread_list_exit(struct thread_list *l, const struct task_exit *x)
{
	struct thread *t = thread_list_find(l, x->tid);
	const struct task *task = task_list_find(l->tasks, x->pid);

	if (!t || !task || t->ended || x->user + x->system < t->use)
		return;
	end_thread(l, t);
	t->since_ns = task->looked_ns;
	t->use = x->user + x->system;
	memcpy(t->name, x->name, sizeof(t->name));
}

/* ---- a reading ---- */

/* Appends a process's threads to the list. */
static int list_process(struct thread_list *l, pid_t pid)
{
	uint32_t n = l->n_listed;
	char path[32];
	SCOPED(fd_close) int fd = -1;
	ssize_t bytes;

	snprintf(path, sizeof(path), "%d/task", (int)pid);
	fd = openat(l->tasks->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((bytes = getdents64(fd, l->entries, ENTRIES)) > 0)
		for (ssize_t at = 0; at < bytes;) {
			const struct dirent64 *d = (const struct dirent64 *)(l->entries + at);

			at += d->d_reclen;
			if (d->d_name[0] < '1' || d->d_name[0] > '9')
				continue;
			if (n < THREADS_MOST)
				l->listed[n] = (struct thread_id){ (pid_t)strtol(d->d_name, NULL, 10), pid };
			n++;
		}
	if (n > THREADS_MOST)
		return -ENOSPC;
	l->n_listed = n;
	return 0;
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_id *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* Lists the threads of processes that have used CPU time since. */
static void list_threads(struct thread_list *l, uint64_t before_ns)
{
	bool first = l->tasks->reading == 1;

	l->n_listed = 0;
	for (uint32_t i = 0; i < l->tasks->n; i++) {
		struct task *t = &l->tasks->task[i];
		int err;

		if (!t->looked_ns)
			t->looked_ns = before_ns;
		if (t->ended || (t->threads <= 1 && !t->several) || (!first && t->looked_cpu == task_cpu(&t->use)))
			continue;
		err = list_process(l, t->pid);
		if (!err)
			t->looked = l->tasks->reading;
		if (err != -ENOSPC)
			continue;
		t->crowded = true;
		l->tasks->missed++;
	}
	qsort(l->listed, l->n_listed, sizeof(*l->listed), by_tid);
}

/* What a thread that is seen for the first time had run before. */
static uint64_t base_of(const struct thread_list *l, const struct task *task, const struct thread *t)
{
	if (l->tasks->reading == 1 || task->crowded)
		return t->use;
	if (t->tid != t->pid || task->several)
		return 0;
	/* Until now the process was this thread. */
	return task->looked_cpu < t->use ? task->looked_cpu : t->use;
}

static int read_thread(struct thread_list *l, struct thread *t, bool known)
{
	const struct task *task = task_list_find(l->tasks, t->pid);
	uint64_t before = t->use;
	int err = read_use(l, t);

	/* Another one has its number now. */
	if (known && (err || t->use < before)) {
		close_thread(l, t);
		*t = (struct thread){ .pid = t->pid, .tid = t->tid, .fd = -1 };
		known = false;
		err = read_use(l, t);
	}
	if (err || !task)
		return err ? err : -ESRCH;
	t->before = known ? before : base_of(l, task, t);
	t->since_ns = task->looked_ns;
	t->looked = l->tasks->reading;
	return 0;
}

/* Skips earlier ones up to that number that are not listed: they were not examined, or have ended. */
static void pass_others(struct thread_list *l, uint32_t *k, pid_t before, struct thread *now, uint32_t *n)
{
	for (; *k < l->n && l->thread[*k].tid < before; (*k)++) {
		struct thread *old = &l->thread[*k];
		const struct task *task = task_list_find(l->tasks, old->pid);

		if (old->ended && old->looked < l->tasks->reading)
			continue;
		if (!old->ended && (!task || task->ended || task->looked == l->tasks->reading))
			end_thread(l, old);
		if (*n < THREADS_MOST)
			now[(*n)++] = *old;
		else
			close_thread(l, old);
	}
}

static void update_threads(struct thread_list *l)
{
	struct thread *now = l->other;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < l->n_listed && n < THREADS_MOST; i++) {
		struct thread t = { .pid = l->listed[i].pid, .tid = l->listed[i].tid, .fd = -1 };
		bool known;

		pass_others(l, &k, t.tid, now, &n);
		known = k < l->n && l->thread[k].tid == t.tid;
		if (known && (l->thread[k].pid != t.pid || l->thread[k].ended)) {
			close_thread(l, &l->thread[k++]);
			known = false;
		}
		if (known)
			t = l->thread[k++];
		if (n == THREADS_MOST || read_thread(l, &t, known))
			close_thread(l, &t);
		else
			now[n++] = t;
	}
	pass_others(l, &k, INT32_MAX, now, &n);
	l->other = l->thread;
	l->thread = now;
	l->n = n;
}

void thread_list_read(struct thread_list *l)
{
	uint64_t began = clocks_ns(CLOCK_THREAD_CPUTIME_ID), now = clocks_monotonic(), before = l->now_ns;

	l->now_ns = now;
	l->credit_ns += (int64_t)((now - before) / SHARE);
	/* A copy of another machine changes by hand, and every change counts. */
	if (l->credit_ns < 0 && !l->tasks->root->emulated)
		return;
	list_threads(l, before);
	update_threads(l);
	for (uint32_t i = 0; i < l->tasks->n; i++) {
		struct task *t = &l->tasks->task[i];
		bool looked = t->looked == l->tasks->reading;

		if (!looked && t->looked_cpu != task_cpu(&t->use) && (t->threads > 1 || t->several))
			continue;
		t->looked_cpu = task_cpu(&t->use);
		t->looked_ns = now;
		t->several |= looked;
		t->crowded &= !looked;
	}
	/* The cost of opening all files at the start is not charged. */
	l->credit_ns -= l->tasks->reading == 1 ? l->credit_ns : (int64_t)(clocks_ns(CLOCK_THREAD_CPUTIME_ID) - began);
	if (l->credit_ns > CREDIT_MOST)
		l->credit_ns = CREDIT_MOST;
}
