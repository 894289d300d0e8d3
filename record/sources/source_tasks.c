/* Who used most CPU, memory and storage since the last reading: processes, and those too short-lived to be seen, by
 * name and parent. They change with every reading: their group is made when the chunk is written. */
#include <dirent.h>
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
#include "record/host/clocks.h"
#include "record/host/opener.h"
#include "record/host/taskstats.h"
#include "record/sources/ranking.h"

/* ---- the processes of the machine, as /proc shows them at a reading, and those that have ended since ---- */

/* Reading them again costs one small file per process, and allocates nothing. */

enum { TASKS_MOST = 32768, BRIEF_MOST = 128, TASK_FILES = 4096 };
/* What may change while a process is stopped (memory is taken from it, its parent ends) is read this rarely. */
#define STILL_MOST 8
/* Descriptors that are left to others. */
#define FILES_SPARED 512

/* What a process has used since it began. */
struct task_use {
	uint64_t user, system; /* us */
	uint64_t faults;       /* that took a reading from storage */
	uint64_t bytes[2];     /* read from and written to storage */
};

struct task {
	pid_t pid, parent;
	uint64_t began;              /* ticks after boot */
	struct task_use use, before; /* now, and at the previous reading; 0: it has begun since */
	uint64_t rss;                /* bytes */
	uint32_t threads;
	/* The table's own. */
	struct ranking_stay stay;
	struct task_use base;  /* what it had used when it came there */
	char shown[TASK_NAME]; /* its name there; "": it has just come */
	int fd;                /* of its stat; -1: opened for each reading */
	int run_fd;            /* of its schedstat; -1: not looked at */
	uint64_t ran;          /* ns that its one thread had run by then; 0: not known */
	uint16_t no_io;        /* pm_reason why `bytes` are not known */
	bool ended;            /* since the previous reading; `use` is what is known of its end */

	uint64_t exits; /* us used by its threads that have ended since */
	char state;
	char name[TASK_NAME];
};

/* Processes that began and ended between two readings: those with one name and parent. */
struct task_brief {
	pid_t parent; /* 0: no reading saw it */
	char name[TASK_NAME], parent_name[TASK_NAME];
	struct task_use use, before;  /* of all so far, and of those up to the previous reading */
	uint64_t ended, ended_before; /* how many */
	uint64_t since;               /* reading in which one ended last; 0: the place is free */
	struct ranking_stay stay;     /* the table's own, and what had been used when it came there */
	struct task_use base;
	uint64_t base_ended;
};

struct task_list {
	const struct root *root;
	DIR *dir;           /* /proc */
	int proc;           /* its descriptor */
	int exits;          /* of taskstats; -errno: not available */
	uint64_t reading;   /* number of the last one, from 1 */
	struct task *task;  /* ascending by pid; n of them, those that have ended among them */
	struct task *other; /* the previous array, and the next */
	pid_t *pid;
	uint32_t n, most, n_files, files_most;
	struct task_brief brief[BRIEF_MOST];
	uint64_t ended;  /* processes reported by taskstats */
	uint64_t missed; /* processes too many, and messages that were lost */
	uint64_t page, tick_us;
};

static inline uint64_t task_cpu(const struct task_use *u)
{
	return u->user + u->system;
}

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

/* Opens what is needed; nothing is read yet. 0 or -errno. */
static int task_list_init(struct task_list *l, const struct root *root)
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

static void close_files(struct task_list *l, struct task *t)
{
	l->n_files -= (t->fd >= 0) + (t->run_fd >= 0);
	fd_close(&t->fd);
	fd_close(&t->run_fd);
}

static void task_list_release(struct task_list *l)
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

/* NULL: not in the list. */
static struct task *task_list_find(const struct task_list *l, pid_t pid)
{
	size_t at = ARRAY_PLACE(l->n, i, l->task[i].pid < pid);

	return at < l->n && l->task[at].pid == pid ? &l->task[at] : NULL;
}

/* ---- a process ---- */

/* The line of its stat. */
static int parse(struct task_list *l, struct task *t, char *text)
{
	enum { PARENT = 4, FAULTS = 12, USER = 14, SYSTEM, THREADS = 20, BEGAN = 22, RSS = 24, FIELDS };
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
	t->threads = (uint32_t)field[THREADS];
	t->rss = field[RSS] * l->page;
	return 0;
}

/* Reads a file of a process, which is open as *kept; -1: it has to be opened. It stays open while there is room.
 * `text` ends with a NUL. 0, -ESRCH or -errno. */
static int read_file(struct task_list *l, const struct task *t, const char *name, int *kept, char *text, size_t size)
{
	char path[32];
	int fd = *kept, err;
	ssize_t n;

	if (fd < 0) {
		snprintf(path, sizeof(path), "%d/%s", (int)t->pid, name);
		fd = openat(l->proc, path, O_RDONLY | O_CLOEXEC);
	}
	n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);
	err = n < 0 ? -errno : n ? 0 : -ESRCH;
	text[n > 0 ? n : 0] = '\0';
	if (*kept < 0 && !err && l->n_files < l->files_most) {
		*kept = fd;
		l->n_files++;
	} else if (*kept < 0 && fd >= 0) {
		close(fd);
	}
	return err;
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
	return t->ran && t->ran == before && !t->stay.id && ((uint64_t)t->pid + l->reading) % STILL_MOST;
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

/* Reads how much it has read and written, if permitted. */
static void task_list_io(struct task_list *l, struct task *t)
{
	bool known = !t->no_io;
	char path[32];
	int err;

	snprintf(path, sizeof(path), "%d/io", (int)t->pid);
	err = taskstats_io(l->proc, path, t->use.bytes);
	if ((err == -EACCES || err == -EPERM) && !l->root->emulated)
		err = opener_io(t->pid, t->use.bytes);
	t->no_io = err ? pm_reason_errno(err) : PM_OK;
	/* What it did before it was first examined does not belong to this interval. */
	if (!err && !known && (t->before.user || t->before.system))
		memcpy(t->before.bytes, t->use.bytes, sizeof(t->use.bytes));
	/* It may be in the table already, and was refused until now. */
	if (!known)
		memcpy(t->base.bytes, t->before.bytes, sizeof(t->before.bytes));
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
	if (oldest->stay.id || oldest->since == l->reading)
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
		if (got == 1)
			take_exit(l, &x);
		else if (got == -ENOBUFS)
			l->missed++;
		else if (got)
			break;
	}
}

/* ---- all ---- */

/* Of numbers, or of what begins with one. */
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

/* Reads. 0 or -errno. */
static int task_list_read(struct task_list *l)
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

/* ---- who is in the table ---- */

#define TOP         12 /* of each kind enter the table */
#define IO_MOST     64 /* processes whose I/O is examined */
#define IDLE_MOST   10 /* readings for which a name stays while none of its tasks ends */
#define SMALL_BYTES (16u << 20)
/* Steps of the catalog. */
#define STEP_US     100
#define STEP_BYTES  512
#define STEP_MEMORY 4096

enum { USER, SYSTEM, READ, WRITTEN, FAULTS, ENDED, RSS, THREADS, STATE, VALUES };
enum { ROWS = 48 }; /* of processes, of names */
_Static_assert(2 * (int)ROWS <= RANKING_ROWS && (int)VALUES <= RANKING_VALUES, "all fit in");

static const char *const key[VALUES] = { "user",  "system", "read",    "write", "faults",
					 "ended", "rss",    "threads", "state" };

struct row {
	struct ranking_row row; /* first */
	pid_t pid, parent;      /* pid 0: all of that name and parent that ended unseen */
	char name[TASK_NAME], parent_name[TASK_NAME];
};

struct tasks {
	struct ranking ranking; /* first */
	struct task_list list;
};

static uint64_t by_cpu(const struct task *t)
{
	return task_cpu(&t->use) - task_cpu(&t->before);
}

static uint64_t by_memory(const struct task *t)
{
	return t->ended || t->rss < SMALL_BYTES ? 0 : t->rss;
}

static uint64_t by_io(const struct task *t)
{
	return t->use.bytes[0] - t->before.bytes[0] + t->use.bytes[1] - t->before.bytes[1];
}

static void want_task(struct tasks *d, struct task *t)
{
	const struct ranking_stays all = { &d->list.task[0].stay, sizeof(*t), d->list.n, ROWS, 1 };

	if (ranking_want(&d->ranking, &t->stay, &all)) {
		t->base = t->before;
		t->shown[0] = '\0';
	}
}

/* Marks those with the largest values as wanted. */
static void want_most(struct tasks *d, uint64_t (*of)(const struct task *t))
{
	struct ranking_top top = { .most = TOP };

	for (uint32_t i = 0; i < d->list.n; i++)
		ranking_offer(&top, of(&d->list.task[i]), &d->list.task[i]);
	for (uint32_t i = 0; i < top.n; i++)
		want_task(d, top.who[i]);
}

static void want_brief(struct tasks *d)
{
	const struct ranking_stays all = { &d->list.brief[0].stay, sizeof(d->list.brief[0]), BRIEF_MOST, ROWS, 1 };

	for (int i = 0; i < BRIEF_MOST; i++) {
		struct task_brief *b = &d->list.brief[i];

		if (b->since + IDLE_MOST < d->list.reading)
			b->stay.id = 0;
		if (b->since != d->list.reading)
			continue;
		if (ranking_want(&d->ranking, &b->stay, &all)) {
			b->base = b->before;
			b->base_ended = b->ended_before;
		}
	}
}

/* Reads the additional file for tasks that have probably read or written something. */
static void look_at_io(struct tasks *d)
{
	unsigned left = IO_MOST;

	for (uint32_t i = 0; i < d->list.n && left; i++) {
		struct task *t = &d->list.task[i];

		if (t->ended || !(t->stay.id || t->state == 'D' || by_cpu(t)))
			continue;
		task_list_io(&d->list, t);
		left--;
	}
}

/* Reads it for those that entered the table for another reason. */
static void look_at_rest(struct tasks *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		struct task *t = &d->list.task[i];

		if (t->stay.id && !t->ended && t->no_io == PM_REASON_NOT_READ)
			task_list_io(&d->list, t);
	}
}

/* ---- a reading ---- */

/* The kernel may divide time anew between user and system, and take some back. */
static uint64_t steps_since(uint64_t base, uint64_t now)
{
	return now > base ? (now - base) / STEP_US : 0;
}

static void put_use(struct row *row, const struct task_use *base, const struct task_use *use, uint16_t no_io)
{
	uint64_t *v = row->row.v;

	v[USER] = steps_since(base->user, use->user);
	v[SYSTEM] = steps_since(base->system, use->system);
	v[READ] = (use->bytes[0] - base->bytes[0]) / STEP_BYTES;
	v[WRITTEN] = (use->bytes[1] - base->bytes[1]) / STEP_BYTES;
	v[FAULTS] = use->faults - base->faults;
	row->row.status[READ] = row->row.status[WRITTEN] = no_io;
}

static void put_process(struct tasks *d, struct task *t)
{
	const struct task *parent = task_list_find(&d->list, t->parent);
	struct row *row;

	if (t->shown[0] && strcmp(t->shown, t->name)) {
		/* It has become another program. */
		t->stay.id = ++d->ranking.last_id;
		t->stay.number = ++d->ranking.last_number;
		t->stay.since_ns = d->ranking.before_ns;
		t->base = t->before;
	}
	memcpy(t->shown, t->name, sizeof(t->shown));
	row = ranking_add(&d->ranking, &t->stay);
	row->pid = t->pid;
	row->parent = t->parent;
	memcpy(row->name, t->name, sizeof(row->name));
	if (parent)
		memcpy(row->parent_name, parent->name, sizeof(row->parent_name));
	put_use(row, &t->base, &t->use, t->no_io);
	row->row.v[ENDED] = t->ended;
	row->row.v[RSS] = t->ended ? 0 : t->rss / STEP_MEMORY;
	row->row.v[THREADS] = t->ended ? 0 : t->threads;
	row->row.v[STATE] = t->ended ? 'X' : (unsigned char)t->state;
	if (t->ended)
		t->stay.id = 0;
}

static void put_brief(struct tasks *d, const struct task_brief *b)
{
	struct row *row = ranking_add(&d->ranking, &b->stay);

	row->parent = b->parent;
	memcpy(row->name, b->name, sizeof(row->name));
	memcpy(row->parent_name, b->parent_name, sizeof(row->parent_name));
	put_use(row, &b->base, &b->use, PM_OK);
	/* None of them exists now. */
	row->row.v[ENDED] = b->ended - b->base_ended;
	row->row.v[STATE] = 'X';
}

enum { CELL_READING, CELL_PROCESSES, CELL_EXITS, CELL_MISSED, CELLS };
static const char *const cell_key[CELLS] = { "reading", "processes", "exits", "missed" };

static int tasks_read(struct unit *u, struct cells *c)
{
	struct tasks *d = (struct tasks *)u;
	uint64_t now = clocks_monotonic(), alive = 0;
	int err = task_list_read(&d->list);

	if (err)
		return err;
	d->ranking.reading = d->list.reading;
	look_at_io(d);
	want_most(d, by_cpu);
	want_most(d, by_memory);
	want_most(d, by_io);
	look_at_rest(d);
	want_brief(d);
	ranking_begin(&d->ranking, d->list.reading);
	for (uint32_t i = 0; i < d->list.n; i++)
		if (d->list.task[i].stay.id)
			put_process(d, &d->list.task[i]);
	for (uint32_t i = 0; i < BRIEF_MOST; i++)
		if (d->list.brief[i].stay.id)
			put_brief(d, &d->list.brief[i]);
	ranking_end(&d->ranking);
	d->ranking.before_ns = now;
	for (uint32_t i = 0; i < d->list.n; i++)
		alive += !d->list.task[i].ended;
	if (!c)
		return 0;
	cells_set(c, CELL_READING, d->list.reading);
	cells_set(c, CELL_PROCESSES, alive);
	cells_set(c, CELL_EXITS, d->list.ended);
	cells_set(c, CELL_MISSED, d->list.missed);
	if (d->list.exits < 0)
		cells_fail(c, CELL_EXITS, pm_reason_errno(d->list.exits));
	return 0;
}

/* ---- on the writer's thread ---- */

static void describe(struct plan *p, const struct row *who, struct pm_map *attrs)
{
	char text[512];
	const char *at;

	/* Its own name is enough: thousands of them may come and go. */
	if (!plan_may_name(p->options, PM_INSTANCE_COMM)) {
		snprintf(text, sizeof(text), "task-%u", who->row.stay.number);
		plan_set(attrs, PM_INSTANCE_NAME, pm_text(text));
		return;
	}
	plan_set(attrs, PM_INSTANCE_COMM, pm_text(who->name));
	if (who->parent)
		plan_set(attrs, PM_INSTANCE_PARENT, pm_u64((uint64_t)who->parent));
	if (who->parent_name[0])
		plan_set(attrs, PM_INSTANCE_PARENT_COMM, pm_text(who->parent_name));
	if (!who->pid)
		return;
	plan_set(attrs, PM_INSTANCE_PID, pm_u64((uint64_t)who->pid));
	/* It may have ended by now. The path follows the second colon, and may have more. */
	if (!root_line(p->root, text, sizeof(text), "/proc/%d/cgroup", (int)who->pid) && (at = strchr(text, ':')) &&
	    (at = strchr(at + 1, ':')))
		plan_set(attrs, PM_INSTANCE_CGROUP, pm_text(at + 1));
	if (plan_may_name(p->options, PM_INSTANCE_ARGUMENTS)) {
		SCOPED(buf_release) struct buf b = BUF_INIT;
		ssize_t n = root_read(p->root, &b, 4096, "/proc/%d/cmdline", (int)who->pid);

		for (ssize_t i = 0; i + 1 < n; i++)
			b.data[i] = b.data[i] ? b.data[i] : ' ';
		if (n > 0)
			plan_set(attrs, PM_INSTANCE_ARGUMENTS, pm_text(buf_str(&b)));
	}
}

static int64_t new_instance(struct plan *p, const struct ranking_row *row)
{
	struct pm_instance i = {
		.kind = PM_TASK, .number = row->stay.number, .cpu = PM_NONE, .added_ns = row->stay.since_ns
	};

	describe(p, (const struct row *)row, &i.attrs);
	return plan_instance(p, &i);
}

/* ---- planning ---- */

/* What would let the kernel tell of tasks that end. */
static unsigned exits_remedy(int err)
{
	switch (-err) {
	case EPERM:
		return PM_REMEDY_NET_ADMIN;
	case EINVAL:
		return PM_REMEDY_FIRST_NAMESPACES;
	case ENOENT:
	case EPROTONOSUPPORT:
		return PM_REMEDY_TASKSTATS;
	default:
		return 0;
	}
}

static int tasks_plan(struct source *s, struct plan *p, struct error *e)
{
	struct tasks *d = ranking_new(s, p, sizeof(*d));
	int err;

	if (!d)
		return 0;
	d->ranking = (struct ranking){ .source = "tasks",
				       .key = key,
				       .n_values = VALUES,
				       .row_size = sizeof(struct row),
				       .instance = new_instance,
				       .unit.read = tasks_read };
	err = task_list_init(&d->list, p->root);
	ranking_init(&d->ranking);
	if (err)
		return plan_refused(p, pm_reason_errno(err), pm_remark(0), pm_remark(PM_REMARK_FILE, "/proc"));
	if (d->list.exits < 0 && !p->root->emulated)
		plan_refused(p, pm_reason_errno(d->list.exits), pm_remark(exits_remedy(d->list.exits)),
			     pm_remark(PM_REMARK_TASKS_ENDED));
	/* Everyone may see the first process, unless /proc hides other users' processes. */
	if (!p->root->emulated && faccessat(d->list.proc, "1/stat", R_OK, 0))
		plan_refused(p, pm_reason_errno(-EPERM), pm_remark(PM_REMEDY_HIDEPID),
			     pm_remark(PM_REMARK_TASKS_HIDDEN));
	/* What is used from now on counts. */
	err = tasks_read(&d->ranking.unit, NULL);
	if (err)
		return err == -ENODATA ? plan_refused(p, pm_reason_errno(err), pm_remark(0),
						      pm_remark(PM_REMARK_FILE, "/proc")) :
					 err;
	ranking_plan(&d->ranking, p, cell_key, CELLS, false);
	return 0;
}

static void tasks_release(struct source *s)
{
	struct tasks *d = s->data;

	task_list_release(&d->list);
	ranking_release(&d->ranking);
}

const struct source_ops source_tasks = {
	.name = "tasks",
	.help = "the processes that use the most CPU, memory and storage (/proc/PID, taskstats)",
	.plan = tasks_plan,
	.tables = ranking_tables,
	.release = tasks_release,
};
