/* Which cgroups used most CPU and memory, read and wrote most, and what they waited for: those of version 2, as their
 * files show them at a reading (Documentation/admin-guide/cgroup-v2.rst). A cgroup enters the table once it matters,
 * and leaves it when it is gone, or when others need the place. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/clocks.h"
#include "record/sources/ranking.h"
#include "record/sources/textfile.h"

/* CGROUP_LEAST: less CPU time than this, in steps of 100 us, does not matter. */
enum { CGROUPS_MOST = 1024, CGROUP_PATH = 256, CGROUP_LEAST = 10 };

/* In the order of the catalog, in its steps. */
enum cgroup_value {
	CGROUP_USER,
	CGROUP_SYSTEM,
	CGROUP_THROTTLED,
	CGROUP_MEMORY,
	CGROUP_ANON,
	CGROUP_FAULTS,
	CGROUP_OOM_KILLS,
	CGROUP_READ,
	CGROUP_WRITTEN,
	CGROUP_CPU_SOME,
	CGROUP_MEMORY_SOME,
	CGROUP_MEMORY_FULL,
	CGROUP_IO_SOME,
	CGROUP_IO_FULL,
	CGROUP_VALUES
};
enum cgroup_file {
	CGROUP_CPU_STAT, /* the first */
	MEMORY_CURRENT,
	MEMORY_STAT,
	MEMORY_EVENTS,
	IO_STAT,
	CPU_PRESSURE,
	MEMORY_PRESSURE,
	IO_PRESSURE,
	CGROUP_FILES
};

struct cgroup_use {
	uint64_t v[CGROUP_VALUES];
	uint16_t status[CGROUP_VALUES]; /* PM_OK, or a pm_reason */
};

struct cgroup {
	char path[CGROUP_PATH];    /* below the hierarchy: "/system.slice"; "": the place is free */
	int dir, fd[CGROUP_FILES]; /* -1: not opened yet; below that: -errno - 1 */
	uint64_t links;            /* of the folder when its children were listed last */
	uint64_t found;            /* reading that met it first */
	uint64_t full;             /* reading in which all files were read last; 0: none */
	struct cgroup_use use, before;
	/* The table's own. */
	struct ranking_stay stay;
	struct cgroup_use base; /* what it had used then */
};

struct cgroup_list {
	struct cgroup *cgroup; /* owned: `n` places, some of them free; the first is the root */
	uint32_t n, most;
	bool keep;        /* files of those in the table stay open */
	bool whole;       /* the root is the machine's, not a container's */
	bool version1;    /* hierarchies of version 1 are there, too */
	uint64_t reading; /* number of the last one, from 1 */
	uint64_t missed;  /* cgroups without a place */
};

/* Descriptors that each takes: its directory and cpu.stat. A quarter of all is for cgroups; if there are few, no
 * other file stays open. */
#define FILES_EACH 2
#define FILES_FEW  4096
/* io.stat has a line of a hundred bytes for each disk. */
#define TEXT_MOST 65536

static const char *const file_name[CGROUP_FILES] = { "cpu.stat", "memory.current", "memory.stat",     "memory.events",
						     "io.stat",  "cpu.pressure",   "memory.pressure", "io.pressure" };

/* Where the values are: in lines that begin with `line`, after `word`; those of several lines are added up. */
static const struct {
	enum cgroup_file file;
	const char *line, *word;
	unsigned step;
} fields[CGROUP_VALUES] = {
	[CGROUP_USER] = { CGROUP_CPU_STAT, "user_usec ", " ", 100 },
	[CGROUP_SYSTEM] = { CGROUP_CPU_STAT, "system_usec ", " ", 100 },
	[CGROUP_THROTTLED] = { CGROUP_CPU_STAT, "throttled_usec ", " ", 100 },
	[CGROUP_MEMORY] = { MEMORY_CURRENT, "", "", 4096 },
	[CGROUP_ANON] = { MEMORY_STAT, "anon ", " ", 4096 },
	[CGROUP_FAULTS] = { MEMORY_STAT, "pgmajfault ", " ", 1 },
	[CGROUP_OOM_KILLS] = { MEMORY_EVENTS, "oom_kill ", " ", 1 },
	[CGROUP_READ] = { IO_STAT, "", " rbytes=", 512 },
	[CGROUP_WRITTEN] = { IO_STAT, "", " wbytes=", 512 },
	[CGROUP_CPU_SOME] = { CPU_PRESSURE, "some ", " total=", 100 },
	[CGROUP_MEMORY_SOME] = { MEMORY_PRESSURE, "some ", " total=", 100 },
	[CGROUP_MEMORY_FULL] = { MEMORY_PRESSURE, "full ", " total=", 100 },
	[CGROUP_IO_SOME] = { IO_PRESSURE, "some ", " total=", 100 },
	[CGROUP_IO_FULL] = { IO_PRESSURE, "full ", " total=", 100 },
};

/* A level, which may fall; the others only grow. */
static bool cgroup_is_level(enum cgroup_value k)
{
	return k == CGROUP_MEMORY || k == CGROUP_ANON;
}

/* CPU time since the previous reading, in steps of 100 us. */
static uint64_t cgroup_cpu(const struct cgroup *c)
{
	return c->use.v[CGROUP_USER] - c->before.v[CGROUP_USER] + c->use.v[CGROUP_SYSTEM] -
	       c->before.v[CGROUP_SYSTEM];
}

/* ---- the hierarchy ---- */

static struct cgroup *free_place(struct cgroup_list *l)
{
	for (uint32_t i = 1; i < l->n; i++)
		if (!l->cgroup[i].path[0])
			return &l->cgroup[i];
	return l->n < l->most ? &l->cgroup[l->n++] : NULL;
}

static void add(struct cgroup_list *l, const char *path, int dir)
{
	struct cgroup *c = free_place(l);

	if (!c) {
		close(dir);
		l->missed++;
		return;
	}
	*c = (struct cgroup){ .dir = dir, .found = l->reading ? l->reading : 1 };
	snprintf(c->path, sizeof(c->path), "%s", path);
	for (int i = 0; i < CGROUP_FILES; i++)
		c->fd[i] = -1;
	for (int k = 0; k < CGROUP_VALUES; k++)
		c->use.status[k] = PM_REASON_NOT_READ;
}

static void close_files(struct cgroup *c, int from)
{
	for (int i = from; i < CGROUP_FILES; i++)
		fd_close(&c->fd[i]);
}

static void drop(struct cgroup *c)
{
	close_files(c, 0);
	close(c->dir);
	c->path[0] = '\0';
	c->stay.id = 0;
}

static bool known(const struct cgroup_list *l, const char *path)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->cgroup[i].path, path))
			return true;
	return false;
}

static void list_children(struct cgroup_list *l, const struct cgroup *parent)
{
	_Alignas(struct dirent64) char text[16384];
	const char *above = strcmp(parent->path, "/") ? parent->path : "";
	ssize_t n;

	lseek(parent->dir, 0, SEEK_SET);
	while ((n = getdents64(parent->dir, text, sizeof(text))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *d = (const struct dirent64 *)&text[at];
			char path[CGROUP_PATH];
			int dir;

			at += d->d_reclen;
			if (d->d_type != DT_DIR || d->d_name[0] == '.')
				continue;
			if (snprintf(path, sizeof(path), "%s/%s", above, d->d_name) >= (int)sizeof(path)) {
				l->missed++;
				continue;
			}
			if (known(l, path))
				continue;
			dir = openat(parent->dir, d->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
			if (dir >= 0)
				add(l, path, dir);
		}
}

/* Looks for new ones below it. Where links are counted, a directory has two, and one for each subdirectory. False: it
 * has gone. */
static bool look_below(struct cgroup_list *l, struct cgroup *c)
{
	struct stat st;

	if (fstat(c->dir, &st) || !st.st_nlink)
		return false;
	if (st.st_nlink != c->links || st.st_nlink == 1)
		list_children(l, c);
	c->links = st.st_nlink;
	return true;
}

/* ---- a cgroup ---- */

/* A device takes what it has done with it, so that a sum may fall. For the choice of cgroups it then counts anew; the
 * recording has the fall, which the report judges. */
static void take_value(struct cgroup *c, enum cgroup_value k, uint64_t v)
{
	if (v < c->use.v[k] && !cgroup_is_level(k))
		c->before.v[k] = v;
	c->use.v[k] = v;
	c->use.status[k] = PM_OK;
}

/* 0 or -errno: -ENODEV if the cgroup has gone. */
static int read_file(struct cgroup *c, int file)
{
	char text[TEXT_MOST];
	ssize_t n;

	if (c->fd[file] == -1) {
		c->fd[file] = openat(c->dir, file_name[file], O_RDONLY | O_CLOEXEC);
		if (c->fd[file] < 0)
			c->fd[file] = -errno - 1;
	}
	n = c->fd[file] < 0 ? c->fd[file] + 1 : pread(c->fd[file], text, sizeof(text) - 1, 0);
	if (n < 0 && c->fd[file] >= 0)
		n = -errno;
	if (n == sizeof(text) - 1)
		n = -EFBIG;
	text[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < CGROUP_VALUES; i++) {
		uint64_t v;

		if ((int)fields[i].file != file)
			continue;
		/* Without I/O io.stat is empty; what no controller counts has no line. */
		if (n >= 0 && (text_sum(text, fields[i].line, fields[i].word, &v) || file == IO_STAT)) {
			take_value(c, (enum cgroup_value)i, v / fields[i].step);
		} else {
			c->use.status[i] = n < 0 && n != -ENOENT ? pm_reason_errno((int)n) : PM_REASON_NOT_SUPPORTED;
		}
	}
	return n < 0 ? (int)n : 0;
}

/* One with large numbers may be idle from now on. */
static void read_memory(struct cgroup *c)
{
	read_file(c, MEMORY_CURRENT);
	close_files(c, MEMORY_CURRENT);
}

/* Reads the other files of a cgroup that has used no CPU time since the previous reading. */
static void cgroup_list_rest(struct cgroup_list *l, struct cgroup *c)
{
	/* What was not examined lately counts from now on; what has just begun, from its beginning. */
	bool fresh = c->full + 1 != l->reading && c->found != l->reading;

	for (int file = CGROUP_CPU_STAT + 1; file < CGROUP_FILES; file++)
		read_file(c, file);
	for (int k = CGROUP_MEMORY; k < CGROUP_VALUES && fresh; k++)
		c->before.v[k] = c->use.v[k];
	c->full = l->reading;
	if (!l->keep || !c->stay.id)
		close_files(c, CGROUP_CPU_STAT + 1);
}

/* Reads the CPU time of each, and the rest for those that used much since and those in the table. Allocates nothing.
 * A cgroup that has gone leaves its place free. 0 or -errno. */
static int cgroup_list_read(struct cgroup_list *l)
{
	l->reading++;
	for (uint32_t i = 0; i < l->n; i++) {
		struct cgroup *c = &l->cgroup[i];

		if (!c->path[0])
			continue;
		c->before = c->use;
		if (!look_below(l, c) || (read_file(c, CGROUP_CPU_STAT) == -ENODEV && i))
			drop(c);
		else if (l->reading == 1)
			read_memory(c);
		else if (c->stay.id || cgroup_cpu(c) >= CGROUP_LEAST)
			cgroup_list_rest(l, c);
	}
	return l->cgroup[0].path[0] ? 0 : -ENODEV;
}

/* ---- all ---- */

/* Finds the hierarchy and opens its root; nothing is read yet. 0; -ENOENT: none is mounted; or -errno. */
static int cgroup_list_init(struct cgroup_list *l, const struct root *root)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	char *at = NULL;
	struct rlimit files;
	struct mount m = { 0 };
	int dir = -ENOENT;

	*l = (struct cgroup_list){ .most = CGROUPS_MOST };
	if (mounts_read(root, &text) > 0)
		while (mounts_next(&text, &at, &m)) {
			if (dir == -ENOENT && !strcmp(m.type, "cgroup2"))
				dir = root_open(root, "%s", m.where);
			l->version1 |= !strcmp(m.type, "cgroup");
		}
	if (dir < 0)
		return dir;
	if (getrlimit(RLIMIT_NOFILE, &files))
		files.rlim_cur = FILES_FEW;
	l->keep = files.rlim_cur > FILES_FEW;
	if (files.rlim_cur / (4 * FILES_EACH) < l->most)
		l->most = (uint32_t)(files.rlim_cur / (4 * FILES_EACH)) + 1;
	l->cgroup = memory_new(l->most, sizeof(*l->cgroup));
	add(l, "/", dir);
	/* Only a cgroup with a parent has this file. */
	l->whole = faccessat(dir, "cgroup.events", F_OK, 0) != 0;
	return 0;
}

static void cgroup_list_release(struct cgroup_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->cgroup[i].path[0])
			drop(&l->cgroup[i]);
	free(l->cgroup);
}

/* ---- who is in the table ---- */

#define ROWS       64
#define TOP        16 /* of each kind enter the table */
#define IDLE_LEAST 10 /* readings for which a cgroup stays after it was among these */
/* Less than this per reading does not matter: 16 MiB, 64 KiB; in the catalog's units. */
#define LEAST_MEMORY 4096
#define LEAST_IO     128

static const char *const key[CGROUP_VALUES] = { "user",        "system",      "throttled", "memory", "anon",
						"faults",      "oom_kills",   "read",      "write",  "cpu_some",
						"memory_some", "memory_full", "io_some",   "io_full" };
_Static_assert(ROWS <= (int)RANKING_ROWS && (int)CGROUP_VALUES <= (int)RANKING_VALUES, "all fit in");

enum { CELL_READING, CELL_MISSED, CELLS };
static const char *const cell_key[CELLS] = { "reading", "missed" };

struct row {
	struct ranking_row row; /* first */
	char path[CGROUP_PATH];
};

struct cgroups {
	struct ranking ranking; /* first */
	struct cgroup_list list;
};

static uint64_t by_cpu(const struct cgroup *c)
{
	return cgroup_cpu(c) < CGROUP_LEAST ? 0 : cgroup_cpu(c);
}

/* Since the machine was started. */
static uint64_t by_all(const struct cgroup *c)
{
	return c->use.v[CGROUP_USER] + c->use.v[CGROUP_SYSTEM];
}

static uint64_t by_memory(const struct cgroup *c)
{
	uint64_t v = c->use.status[CGROUP_MEMORY] ? 0 : c->use.v[CGROUP_MEMORY];

	return v < LEAST_MEMORY ? 0 : v;
}

static uint64_t by_io(const struct cgroup *c)
{
	uint64_t v = c->use.v[CGROUP_READ] - c->before.v[CGROUP_READ] + c->use.v[CGROUP_WRITTEN] -
		     c->before.v[CGROUP_WRITTEN];

	return v < LEAST_IO ? 0 : v;
}

static void want(struct cgroups *d, struct cgroup *c)
{
	const struct ranking_stays all = { &d->list.cgroup[0].stay, sizeof(*c), d->list.n, ROWS, IDLE_LEAST };

	if (!ranking_want(&d->ranking, &c->stay, &all))
		return;
	if (c->full != d->list.reading)
		cgroup_list_rest(&d->list, c);
	c->base = c->before;
}

/* Of those that are not wanted for another reason. */
static void want_most(struct cgroups *d, uint64_t (*of)(const struct cgroup *c))
{
	struct ranking_top top = { .most = TOP };

	for (uint32_t i = d->list.whole; i < d->list.n; i++) {
		struct cgroup *c = &d->list.cgroup[i];

		if (c->path[0] && !(c->stay.id && c->stay.wanted == d->list.reading))
			ranking_offer(&top, of(c), c);
	}
	for (uint32_t i = 0; i < top.n; i++)
		want(d, top.who[i]);
}

/* ---- a reading ---- */

static void put_rows(struct cgroups *d)
{
	for (uint32_t i = 0; i < d->list.n; i++) {
		const struct cgroup *c = &d->list.cgroup[i];
		struct row *row;

		if (!c->stay.id)
			continue;
		row = ranking_add(&d->ranking, &c->stay);
		memcpy(row->path, c->path, sizeof(row->path));
		/* What falls below its base is beyond 2^63: no report takes that for a count. */
		for (int k = 0; k < CGROUP_VALUES; k++) {
			row->row.v[k] = c->use.v[k] - (cgroup_is_level((enum cgroup_value)k) ? 0 : c->base.v[k]);
			row->row.status[k] = c->use.status[k];
		}
	}
}

static int cgroups_read(struct unit *u, struct cells *c)
{
	struct cgroups *d = (struct cgroups *)u;
	uint64_t now = clocks_monotonic();
	int err = cgroup_list_read(&d->list);

	if (err || !c) {
		d->ranking.before_ns = now;
		return err;
	}
	d->ranking.reading = d->list.reading;
	/* From its first snapshot on, a recording says which it examines. */
	if (d->list.reading == 2)
		want_most(d, by_all);
	want_most(d, by_cpu);
	want_most(d, by_memory);
	want_most(d, by_io);
	ranking_begin(&d->ranking, d->list.reading);
	put_rows(d);
	ranking_end(&d->ranking);
	d->ranking.before_ns = now;
	cells_set(c, CELL_READING, d->list.reading);
	cells_set(c, CELL_MISSED, d->list.missed);
	return 0;
}

/* ---- on the writer's thread ---- */

static int64_t new_instance(struct plan *p, const struct ranking_row *ranked)
{
	const struct row *row = (const struct row *)ranked;
	struct pm_instance i = {
		.kind = PM_CGROUP, .number = ranked->stay.number, .cpu = PM_NONE, .added_ns = ranked->stay.since_ns
	};
	char name[32];

	snprintf(name, sizeof(name), "cgroup-%u", ranked->stay.number);
	if (plan_may_name(p->options, PM_INSTANCE_CGROUP))
		plan_set(&i.attrs, PM_INSTANCE_CGROUP, pm_text(row->path));
	else
		plan_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name));
	return plan_instance(p, &i);
}

/* ---- planning ---- */

static int cgroups_plan(struct source *s, struct plan *p, struct error *e)
{
	struct cgroups *d = ranking_new(s, p, sizeof(*d));
	int err;

	if (!d)
		return 0;
	d->ranking = (struct ranking){ .source = "cgroups",
				       .key = key,
				       .n_values = CGROUP_VALUES,
				       .row_size = sizeof(struct row),
				       .instance = new_instance,
				       .unit.read = cgroups_read };
	ranking_init(&d->ranking);
	err = cgroup_list_init(&d->list, p->root);
	/* What is used from now on counts. */
	if (!err)
		err = cgroups_read(&d->ranking.unit, NULL);
	/* Beside those of version 1 an empty hierarchy of version 2 stays empty. */
	if (d->list.version1 && (err == -ENOENT || (!err && d->list.n == d->list.whole)))
		return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(PM_REMEDY_CGROUPS_UNIFIED),
				    pm_remark(PM_REMARK_CGROUPS_OLD));
	if (err)
		return plan_refused(p, pm_reason_errno(err), pm_remark(err == -ENOENT ? PM_REMEDY_CGROUPS_MOUNT : 0),
				    pm_remark(PM_REMARK_CGROUPS));
	/* Those of -G have the first numbers. */
	for (uint32_t i = 0; i < p->model->n_instances; i++)
		if (p->model->instance[i].kind == PM_CGROUP && p->model->instance[i].number > d->ranking.last_number)
			d->ranking.last_number = p->model->instance[i].number;
	/* Most machines that have none now will have none later. */
	ranking_plan(&d->ranking, p, cell_key, CELLS, d->list.n == d->list.whole);
	return 0;
}

static void cgroups_release(struct source *s)
{
	struct cgroups *d = s->data;

	cgroup_list_release(&d->list);
	ranking_release(&d->ranking);
}

const struct source_ops source_cgroups = {
	.name = "cgroups",
	.help = "cgroups that use the most CPU, memory and storage (version 2: cpu.stat, io.stat ...)",
	.plan = cgroups_plan,
	.tables = ranking_tables,
	.release = cgroups_release,
};
