#include "record/sources/cgroup_list.h"

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
#include "format/model.h"
#include "record/host/root.h"
#include "record/sources/textfile.h"

/* Descriptors that each takes: its directory and cpu.stat. A quarter of all is for cgroups; if there are few, no
 * other file stays open. */
#define FILES_EACH 2
#define FILES_FEW  4096
/* io.stat has a line of a hundred bytes for each disk. */
#define TEXT_MOST 65536

static const char *const file_name[CGROUP_FILES] = { "cpu.stat", "memory.current", "memory.stat",     "memory.events",
						     "io.stat",  "cpu.pressure",   "memory.pressure", "io.pressure" };
enum { MEMORY_CURRENT = 1, MEMORY_STAT, MEMORY_EVENTS, IO_STAT, CPU_PRESSURE, MEMORY_PRESSURE, IO_PRESSURE };

/* Where the values are: in lines that begin with `line`, after `word`; those of several lines are added up. */
static const struct {
	enum cgroup_value value;
	int file;
	const char *line, *word;
	unsigned step;
} fields[] = {
	{ CGROUP_USER, CGROUP_CPU_STAT, "user_usec ", " ", 100 },
	{ CGROUP_SYSTEM, CGROUP_CPU_STAT, "system_usec ", " ", 100 },
	{ CGROUP_THROTTLED, CGROUP_CPU_STAT, "throttled_usec ", " ", 100 },
	{ CGROUP_MEMORY, MEMORY_CURRENT, "", "", 4096 },
	{ CGROUP_ANON, MEMORY_STAT, "anon ", " ", 4096 },
	{ CGROUP_FAULTS, MEMORY_STAT, "pgmajfault ", " ", 1 },
	{ CGROUP_OOM_KILLS, MEMORY_EVENTS, "oom_kill ", " ", 1 },
	{ CGROUP_READ, IO_STAT, "", " rbytes=", 512 },
	{ CGROUP_WRITTEN, IO_STAT, "", " wbytes=", 512 },
	{ CGROUP_CPU_SOME, CPU_PRESSURE, "some ", " total=", 100 },
	{ CGROUP_MEMORY_SOME, MEMORY_PRESSURE, "some ", " total=", 100 },
	{ CGROUP_MEMORY_FULL, MEMORY_PRESSURE, "full ", " total=", 100 },
	{ CGROUP_IO_SOME, IO_PRESSURE, "some ", " total=", 100 },
	{ CGROUP_IO_FULL, IO_PRESSURE, "full ", " total=", 100 },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

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

/* Adds up the field over the lines that have it. False: none has. */
static bool take_field(const char *text, const char *line, const char *word, uint64_t *sum)
{
	size_t begin = strlen(line), len = strlen(word);
	bool any = false;

	*sum = 0;
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *end = at + strcspn(at, "\n"), *found = strncmp(at, line, begin) ? NULL : strstr(at, word);
		uint64_t v;

		if (!found || found >= end || !text_digits(found + len, &v))
			continue;
		*sum += v;
		any = true;
	}
	return any;
}

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
	for (size_t i = 0; i < FIELDS; i++) {
		uint64_t v;

		if (fields[i].file != file)
			continue;
		/* Without I/O io.stat is empty; what no controller counts has no line. */
		if (n >= 0 && (take_field(text, fields[i].line, fields[i].word, &v) || file == IO_STAT)) {
			take_value(c, fields[i].value, v / fields[i].step);
		} else {
			c->use.status[fields[i].value] =
				n < 0 && n != -ENOENT ? pm_reason_errno((int)n) : PM_REASON_NOT_SUPPORTED;
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

void cgroup_list_rest(struct cgroup_list *l, struct cgroup *c)
{
	/* What was not examined lately counts from now on; what has just begun, from its beginning. */
	bool fresh = c->full + 1 != l->reading && c->found != l->reading;

	for (int file = CGROUP_CPU_STAT + 1; file < CGROUP_FILES; file++)
		read_file(c, file);
	for (int k = CGROUP_MEMORY; k < CGROUP_VALUES && fresh; k++)
		c->before.v[k] = c->use.v[k];
	c->full = l->reading;
	if (!l->keep || !c->member)
		close_files(c, CGROUP_CPU_STAT + 1);
}

int cgroup_list_read(struct cgroup_list *l)
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
		else if (c->member || cgroup_cpu(c) >= CGROUP_LEAST)
			cgroup_list_rest(l, c);
	}
	return l->cgroup[0].path[0] ? 0 : -ENODEV;
}

/* ---- all ---- */

int cgroup_list_init(struct cgroup_list *l, const struct root *root)
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

void cgroup_list_release(struct cgroup_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->cgroup[i].path[0])
			drop(&l->cgroup[i]);
	free(l->cgroup);
}
