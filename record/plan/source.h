/*
 * A source of counters: one file source_X.c, one struct source_ops, one row in sources.c.
 *
 * Before sampling, plan() looks at the machine, adds what it finds to the model (counters, instances, PMUs, one-time
 * values, probe results for what is missing) and adds *units*: a unit is one read call that fills the columns of one
 * instance of a group, or of a whole group. While sampling, unit->read() is called from the thread that owns the
 * unit; it allocates nothing, formats nothing, and touches nothing but its own unit and the cells it is given.
 */
#pragma once

#include <stdatomic.h>

#include "format/chunk.h"
#include "format/model.h"
#include "record/host/root.h"

#define SOURCE_TABLES 3 /* over all sources */

struct plan;
struct unit;
struct source;

/* Where a unit puts its values in one snapshot. */
struct cells {
	uint64_t *v;      /* value k goes to v[k * step] */
	uint16_t *status; /* same shape; set to PM_OK before the call */
	size_t step;
	uint32_t n;                  /* number of values */
	uint64_t *enabled, *running; /* PM_GROUP_PERF_TIMES: one each; else NULL */
	bool *any_missing;           /* set by cells_fail() */
};

/* Value k of this snapshot. */
static inline void cells_set(struct cells *c, uint32_t k, uint64_t value)
{
	c->v[k * c->step] = value;
}
/* Marks the value as missing in this snapshot. */
static inline void cells_fail(struct cells *c, uint32_t k, uint16_t reason)
{
	c->status[k * c->step] = reason;
	*c->any_missing = true;
}
static inline void cells_fail_all(struct cells *c, uint16_t reason)
{
	for (uint32_t k = 0; k < c->n; k++)
		cells_fail(c, k, reason);
}

#define EVEN_SHARE 16384
/* For plan_read_within(): half the time in which 65 kJ, the least range of real energy counters, pass at 1,600 W. */
#define ENERGY_WITHIN_NS 20000000000u

/* A unit that the kernel samples: times and values wait for the reader, which takes them once per chunk. */
struct unit_sampling {
	/* Drops waiting samples; the next one comes one interval from now. */
	void (*start)(struct unit *u);
	/* The time (CLOCK_MONOTONIC) of the oldest waiting sample. False: none waits. */
	bool (*peek)(struct unit *u, uint64_t *time_ns);
	/* Takes that sample; c NULL: drops it. Returns how long after its time (ns) the values were read. */
	uint64_t (*take)(struct unit *u, struct cells *c);
};

struct unit {
	struct unit *next; /* list of the plan */
	uint32_t group;    /* group id */
	uint32_t instance; /* place in group->instance[] that it fills; 0 for LIST and SHARED_TIME groups */
	/* The CPU on which to read it; PM_NONE: any. One thread reads all such units of a source, in the order of
	 * adding, so that the first may read a file from which the others take their part. */
	uint32_t cpu;
	/* Shares nothing with other units and may be read anywhere; several readers share many of these, so that the
	 * first and the last are close in time. */
	bool spread;
	uint64_t min_period_ns; /* not read more often than this; 0: every snapshot */
	/* Reading takes about the same time each time. Times within interval / EVEN_SHARE of the usual ones are
	 * recorded as the usual ones, which cost nothing. */
	bool even;
	/* Fills all cells, or calls cells_fail() for them. Returns 0, or -errno if the unit has failed for good: it
	 * is then not called again, an event says so, and its cells are PM_REASON_GONE if it is not there (ENODEV,
	 * ENXIO, ENOENT, ESRCH), else have that errno. */
	int (*read)(struct unit *u, struct cells *c);
	const struct unit_sampling *sampling; /* beside read(); NULL: it is read each tick */
	void (*release)(struct unit *u);      /* frees the unit too; NULL: the source owns it */
	struct source *source;
};

struct source_ops {
	const char *name; /* "cpuidle": its name in --sources, and the begin of its counters' names */
	const char *help; /* one line for `pmrec list sources` */
	/* Returns 0, also with nothing to record, for which a probe result says why; or -errno for a failure that
	 * ends the recording, such as a wrong event on the command line, with any text in *e. */
	int (*plan)(struct source *s, struct plan *p, struct error *e);
	const struct filegrid_folder *folder; /* for filegrid_plan() */
	/* Called between snapshots on the control thread when a CPU has gone offline or come online; may add units,
	 * groups and instances through the plan. While its CPU is offline a unit is not read. When the CPU is back,
	 * its old units are read again (so reopen what they hold here), unless a unit for the same place of the same
	 * group was added. NULL: nothing to do. */
	void (*update)(struct source *s, struct plan *p, uint32_t cpu, bool online);
	/* On the writer's thread, with the model borrowed: tables whose members may change in each snapshot, for a
	 * chunk that has all other groups; may be called again for the same chunk. The source owns the groups' memory
	 * until the next call. Their number or -errno. NULL: none. */
	int (*tables)(struct source *s, struct plan *p, const struct pm_chunk *c, struct pm_chunk_group *out);
	/* After the last snapshot, on the control thread: may read one-time values again. NULL: nothing. */
	void (*finish)(struct source *s, struct plan *p);
	/* Frees what is in `data`, which is there, and is freed itself then. NULL: `data` is not the source's own. */
	void (*release)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	void *data;    /* the source's own */
	bool wanted;   /* by --sources or by default */
	bool required; /* named by the user: an absence is an error, not a note */
	/* Set by read() for something that the plan lacks, such as an interrupt that had never fired: the control
	 * thread clears it between snapshots and calls update() with cpu PM_NONE. */
	atomic_bool stale;
	bool restless; /* set by plan(): read() may do that, or there is something to look at each second */
};

/* Its data are gone then. */
void source_release(struct source *s);
