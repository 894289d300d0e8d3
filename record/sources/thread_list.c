#include "record/sources/thread_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/array.h"
#include "record/host/clocks.h"
#include "record/host/taskstats.h"
#include "record/sources/textfile.h"

#define SHARE       200 /* the share of time for examining threads: 0.5 % of a CPU */
#define CREDIT_MOST 20000000
#define ENTRIES     32768 /* bytes of a directory that are read at once */
#define FILES       16384 /* descriptors that suffice for processes, threads and others */

struct thread_id {
	pid_t tid, pid;
};

/* Reads a thread's file as text. 0 or -errno. */
static int read_file(const struct thread_list *l, const struct thread *t, const char *file, int *fd, uint32_t *files,
		     uint32_t most, char *text, size_t size)
{
	char path[64];
	int opened = *fd;

	if (opened < 0) {
		snprintf(path, sizeof(path), "%d/task/%d/%s", (int)t->pid, (int)t->tid, file);
		opened = openat(l->tasks->proc, path, O_RDONLY | O_CLOEXEC);
	}
	return task_list_file(opened, fd, files, most, text, size);
}

static int read_use(struct thread_list *l, struct thread *t)
{
	enum { USER = 14, SYSTEM, FIELDS };
	uint64_t field[FIELDS] = { 0 };
	char text[1024];
	int err = read_file(l, t, l->ticks ? "stat" : "schedstat", &t->fd, &l->n_files, l->files_most, text,
			    sizeof(text));

	if (err)
		return err;
	t->use = strtoull(text, NULL, 10) / 1000;
	if (l->ticks)
		t->use =
			taskstats_fields(text, field, FIELDS) ? (field[USER] + field[SYSTEM]) * l->tasks->tick_us : 0;
	return 0;
}

static void close_file(struct thread_list *l, struct thread *t)
{
	if (t->fd < 0)
		return;
	close(t->fd);
	t->fd = -1;
	l->n_files--;
}

static void end_thread(struct thread_list *l, struct thread *t)
{
	close_file(l, t);
	t->ended = true;
	t->before = t->use;
	t->looked = l->tasks->reading;
}

void thread_list_name(const struct thread_list *l, struct thread *t)
{
	uint32_t none = 0;
	int fd = -1;

	if (!t->ended && !read_file(l, t, "comm", &fd, &none, 0, t->name, sizeof(t->name)))
		t->name[strcspn(t->name, "\n")] = '\0';
}

/* ---- opening ---- */

int thread_list_init(struct thread_list *l, struct task_list *tasks)
{
	struct thread self = { .pid = getpid(), .tid = getpid(), .fd = -1 };
	struct rlimit files;

	*l = (struct thread_list){ .tasks = tasks, .now_ns = clocks_monotonic() };
	/* A kernel that does not count it says 0; a copy of /proc has what the files said. */
	l->ticks = tasks->root->emulated || read_use(l, &self) || !self.use;
	l->thread = calloc(THREADS_MOST, sizeof(*l->thread));
	l->other = calloc(THREADS_MOST, sizeof(*l->other));
	l->listed = calloc(THREADS_MOST, sizeof(*l->listed));
	l->entries = malloc(ENTRIES);
	if (!l->thread || !l->other || !l->listed || !l->entries)
		return -ENOMEM;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0;
	if (files.rlim_cur < FILES && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	l->files_most = files.rlim_cur / 4 < THREAD_FILES ? (uint32_t)files.rlim_cur / 4 : THREAD_FILES;
	return 0;
}

void thread_list_release(struct thread_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		close_file(l, &l->thread[i]);
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
		close_file(l, t);
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
			close_file(l, old);
	}
}

static void update(struct thread_list *l)
{
	struct thread *now = l->other;
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < l->n_listed && n < THREADS_MOST; i++) {
		struct thread t = { .pid = l->listed[i].pid, .tid = l->listed[i].tid, .fd = -1 };
		bool known;

		pass_others(l, &k, t.tid, now, &n);
		known = k < l->n && l->thread[k].tid == t.tid;
		if (known && (l->thread[k].pid != t.pid || l->thread[k].ended)) {
			close_file(l, &l->thread[k++]);
			known = false;
		}
		if (known)
			t = l->thread[k++];
		if (n == THREADS_MOST || read_thread(l, &t, known))
			close_file(l, &t);
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
	update(l);
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
