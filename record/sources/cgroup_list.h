/*
 * The cgroups of version 2, as their files show them at a reading (Documentation/admin-guide/cgroup-v2.rst). The CPU
 * time of each is read every time, the rest for those that used much since and those in the table. Reading again
 * allocates nothing.
 */
#pragma once

#include "record/host/root.h"

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
/* cpu.stat is the first. */
enum cgroup_file { CGROUP_CPU_STAT, CGROUP_FILES = 8 };

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
	uint32_t member;        /* id of its stay; 0: it is not there */
	uint32_t number;        /* of its instances; 0: none yet */
	uint64_t wanted;        /* last reading in which it was among the first */
	uint64_t since_ns;      /* when it came into the table */
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

/* Finds the hierarchy and opens its root; nothing is read yet. 0; -ENOENT: none is mounted; or -errno. */
int cgroup_list_init(struct cgroup_list *l, const struct root *root);
void cgroup_list_release(struct cgroup_list *l);
/* Reads. A cgroup that has gone leaves its place free. 0 or -errno. */
int cgroup_list_read(struct cgroup_list *l);
/* Reads the other files of a cgroup that has used no CPU time since the previous reading. */
void cgroup_list_rest(struct cgroup_list *l, struct cgroup *c);

/* A level, which may fall; the others only grow. */
static inline bool cgroup_is_level(enum cgroup_value k)
{
	return k == CGROUP_MEMORY || k == CGROUP_ANON;
}

/* What the table shows. What falls below its base is beyond 2^63: no report takes that for a count. */
static inline uint64_t cgroup_since(const struct cgroup *c, enum cgroup_value k)
{
	uint64_t base = cgroup_is_level(k) ? 0 : c->base.v[k];

	return c->use.v[k] - base;
}

/* CPU time since the previous reading, in steps of 100 us. */
static inline uint64_t cgroup_cpu(const struct cgroup *c)
{
	return c->use.v[CGROUP_USER] - c->before.v[CGROUP_USER] + c->use.v[CGROUP_SYSTEM] -
	       c->before.v[CGROUP_SYSTEM];
}
