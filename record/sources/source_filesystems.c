/* How full file systems are (statfs): those that are mounted when recording begins, from devices of this machine.
 * What is on another machine, or in a program, may never answer: it is left out, and so are mounts below it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>

#include "common/array.h"
#include "common/memory.h"
#include "common/parse.h"
#include "record/host/root.h"
#include "record/plan/plan.h"

#define PERIOD_NS 10000000000u

enum { SIZE, FREE, AVAILABLE, INODES, FREE_INODES, VALUES };
static const char *const key[VALUES] = { "size", "free", "available", "inodes", "free_inodes" };

/* On devices of this machine, and answered by the kernel alone. */
static const char local[] = "ext2 ext3 ext4 xfs btrfs f2fs zfs vfat exfat ntfs3 jfs bcachefs nilfs2";
/* Those that may wait for others: how their types begin. */
static const char *const remote[] = { "fuse",   "nfs",     "cifs",     "smb",      "ceph",   "9p",
				      "afs",    "autofs",  "ocfs2",    "gfs2",     "lustre", "coda",
				      "beegfs", "gluster", "orangefs", "virtiofs", NULL };

struct filesystem {
	char *what, *where; /* owned; where: including the root */
	struct statfs first;
};

struct filesystems {
	struct unit unit;
	struct filesystem *fs; /* owned */
	uint32_t n;
	char **far; /* owned: mount points of those that may wait */
	uint32_t n_far;
};

/* ---- a reading ---- */

static int filesystems_read(struct unit *u, struct cells *c)
{
	const struct filesystems *d = (const struct filesystems *)u;

	for (uint32_t i = 0; i < d->n; i++) {
		struct statfs s;
		int err = statfs(d->fs[i].where, &s) ? errno : 0;
		/* Its place is now a directory of another one. */
		bool gone = !err && memcmp(&s.f_fsid, &d->fs[i].first.f_fsid, sizeof(s.f_fsid));
		uint64_t block = s.f_frsize ? (uint64_t)s.f_frsize : (uint64_t)s.f_bsize;
		const uint64_t v[VALUES] = { s.f_blocks * block, s.f_bfree * block, s.f_bavail * block, s.f_files,
					     s.f_ffree };

		for (uint32_t k = 0; k < VALUES; k++) {
			if (err || gone)
				cells_fail(c, k * d->n + i, err ? pm_reason_errno(err) : PM_REASON_GONE);
			else if (k >= INODES && !s.f_files)
				cells_fail(c, k * d->n + i, PM_REASON_NOT_SUPPORTED);
			else
				cells_set(c, k * d->n + i, v[k]);
		}
	}
	return 0;
}

/* ---- planning ---- */

static bool is_remote(const char *type)
{
	const char *const *begin = remote;

	while (*begin && strncmp(type, *begin, strlen(*begin)))
		begin++;
	return *begin != NULL;
}

static bool is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strncmp(path, top, n) && (path[n] == '/' || !path[n]);
}

/* Of a file system that is mounted in several places, the first counts. */
static bool is_wanted(const struct filesystems *d, const struct mount *m)
{
	bool wanted = parse_is_among(local, m->type, strlen(m->type));

	for (uint32_t i = 0; i < d->n_far && wanted; i++)
		wanted = !is_below(m->where, d->far[i]);
	for (uint32_t i = 0; i < d->n && wanted; i++)
		wanted = strcmp(m->what, d->fs[i].what) != 0;
	return wanted;
}

static void add_mount(struct filesystems *d, const struct plan *p, const struct mount *m)
{
	struct filesystem *fs;

	memory_room(&d->fs, d->n, sizeof(*d->fs));
	fs = &d->fs[d->n];
	*fs = (struct filesystem){ .what = memory_text(m->what),
				   .where = memory_format("%s%s", p->root->prefix, m->where) };
	if (!statfs(fs->where, &fs->first) && fs->first.f_blocks) {
		d->n++;
		return;
	}
	free(fs->what);
	free(fs->where);
}

static void read_mounts(struct filesystems *d, const struct plan *p)
{
	for (int pass = 0; pass < 2; pass++) {
		SCOPED(buf_release) struct buf text = BUF_INIT;
		char *at = NULL;
		struct mount m;

		if (mounts_read(p->root, &text) <= 0)
			return;
		while (mounts_next(&text, &at, &m)) {
			if (pass && is_wanted(d, &m)) {
				add_mount(d, p, &m);
			} else if (!pass && is_remote(m.type)) {
				memory_room(&d->far, d->n_far, sizeof(*d->far));
				d->far[d->n_far++] = memory_text(m.where);
			}
		}
	}
}

static int filesystems_plan(struct source *s, struct plan *p, struct error *e)
{
	struct filesystems *d = s->data = memory_new(1, sizeof(*d));
	SCOPED(scoped_free) uint32_t *instance = NULL;
	uint32_t counter[VALUES];
	struct pm_group g = { .source = (char *)"filesystems",
			      .flags = PM_GROUP_SHARED_TIME,
			      .counter = counter,
			      .n_counters = VALUES };

	read_mounts(d, p);
	if (!d->n)
		return plan_refused(p, PM_REASON_NOT_SUPPORTED, pm_remark(0), pm_remark(PM_REMARK_NO_FILE_SYSTEM));
	g.instance = instance = memory_new(d->n, sizeof(*instance));
	g.n_instances = d->n;
	for (uint32_t k = 0; k < VALUES; k++)
		counter[k] = (uint32_t)plan_counter(p, catalog_find("filesystems", key[k]));
	for (uint32_t i = 0; i < d->n; i++)
		instance[i] = (uint32_t)device_named(p, d->fs[i].where + strlen(p->root->prefix), i, false);
	d->unit = (struct unit){ .group = (uint32_t)plan_group(p, &g),
				 .cpu = PM_NONE,
				 .min_period_ns = PERIOD_NS,
				 .read = filesystems_read };
	plan_add_unit(p, &d->unit);
	return 0;
}

static void filesystems_release(struct source *s)
{
	struct filesystems *d = s->data;

	for (uint32_t i = 0; i < d->n; i++) {
		free(d->fs[i].what);
		free(d->fs[i].where);
	}
	for (uint32_t i = 0; i < d->n_far; i++)
		free(d->far[i]);
	free(d->fs);
	free(d->far);
}

const struct source_ops source_filesystems = {
	.name = "filesystems",
	.help = "how full local file systems are, every ten seconds (statfs)",
	.plan = filesystems_plan,
	.release = filesystems_release,
};
