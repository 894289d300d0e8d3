/*
 * A source of counters: one file source_X.c, one struct source_ops, one row in sources.c.
 *
 * Before sampling, plan() looks at the machine, adds what it finds to the model (counters, instances, PMUs, one-time
 * values, probe results for what is missing) and adds *units*: a unit is one read call that fills the columns of one
 * instance of a group, or of a whole group. While sampling, unit->read() is called from the thread that owns the
 * unit; it allocates nothing, formats nothing, and touches nothing but its own unit and the cells it is given.
 */
#ifndef RECORD_SOURCE_H
#define RECORD_SOURCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/error.h"
#include "format/chunk.h"
#include "format/model.h"
#include "record/host/root.h"

#define SOURCE_TABLES 3 /* of all sources together */

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
/* The value is missing in this snapshot, for this reason. */
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

/* A unit that the kernel samples: time and values of each tick wait for the reader, which comes once a chunk. */
struct unit_sampling {
	/* Forgets what waits; the next sample comes one interval from now, and so on. */
	void (*start)(struct unit *u);
	/* Looks at the oldest sample that waits, time as CLOCK_MONOTONIC; *lost grows by those for which there was no
	 * room. False: none waits. */
	bool (*peek)(struct unit *u, uint64_t *time_ns, uint64_t *lost);
	/* Takes the one that was looked at; c NULL: for nothing. */
	void (*take)(struct unit *u, struct cells *c);
};

struct unit {
	struct unit *next; /* list of the plan */
	uint32_t group;    /* group id */
	uint32_t instance; /* place in group->instance[] that it fills; 0 for LIST and SHARED_TIME groups */
	/* CPU that it should be read on; PM_NONE: anywhere. Units of one source that may be read anywhere are read by
	 * one thread, in the order of adding: the first may read a file from which the others take their part. */
	uint32_t cpu;
	/* Shares nothing with other units and may be read anywhere: where there are many, several readers take them side
	 * by side, so that the first and the last are not far apart. */
	bool spread;
	uint64_t min_period_ns; /* not read more often than this; 0: every snapshot */
	/* Reading takes about as long each time: times that are as usual, within the interval / EVEN_SHARE, are
	 * recorded as the usual ones, which cost nothing. */
	bool even;
	/* Fills all cells, or cells_fail()s those it cannot. Returns 0, or -errno if the whole unit is dead for good:
	 * it is then not called again, an event says so, and its cells are PM_REASON_GONE. */
	int (*read)(struct unit *u, struct cells *c);
	const struct unit_sampling *sampling; /* beside read(); NULL: it is read each tick */
	void (*release)(struct unit *u);      /* frees the unit too */
	struct source *source;
};

struct source_ops {
	const char *name; /* "cpuidle": as --sources has it, as counter names begin */
	const char *help; /* one line for `pmrec list sources` */
	/* Returns 0, also if there is nothing to record (then a probe result says why), or -errno for a failure that
	 * should end the recording (a wrong event on the command line): the text is in *e, if there is more to say. */
	int (*plan)(struct source *s, struct plan *p, struct error *e);
	/* Called between snapshots on the control thread when a CPU has gone offline or come online; may add units,
	 * groups and instances through the plan. While its CPU is offline a unit is not read. When the CPU is back,
	 * its old units are read again (so reopen what they hold here), unless a unit for the same place of the same
	 * group was added. NULL: nothing to do. */
	int (*update)(struct source *s, struct plan *p, uint32_t cpu, bool online);
	/* Start and stop counting; between snapshots, on the control thread. NULL: it always counts. Called with true
	 * before the first snapshot, after the wait of -D, and by --control; not called at the start of a command
	 * that is followed from its exec on (TARGET_COMMAND with delay_ms 0): those counters start themselves
	 * (enable_on_exec). 0 or -errno. */
	int (*enable)(struct source *s, bool on);
	/* -r: p->child is another process than before, waiting for its exec. Reopen what follows it, keeping the
	 * units (their read() then reads the new descriptors) and starting from 0; deltas do not cross, a segment
	 * begins. NULL: nothing follows the command. 0, or -errno with the text in *e. */
	int (*restart)(struct source *s, struct plan *p, struct error *e);
	/* Once a second and at the end, on the control thread: notices what has ended since (plan_gone()). 0 or
	 * -errno. NULL: nothing can end. */
	int (*look)(struct source *s, struct plan *p);
	/* A descriptor that is readable when there is something to notice; -1: none now. NULL: never. */
	int (*watch)(const struct source *s);
	/* Notices it, on the control thread while readers run; true: update() with cpu PM_NONE is to follow soon. */
	bool (*notice)(struct source *s, struct plan *p);
	/* --control: starts or stops the counters that answer to `name` alone, between two segments; calls found()
	 * with the id of each. Their number or -errno. NULL: has none that could. */
	int (*enable_one)(struct source *s, const char *name, bool on, void (*found)(void *arg, uint32_t counter),
			  void *arg);
	/* On the writer's thread, with the model borrowed: tables whose members may be others in each snapshot, for a
	 * chunk that has all other groups of it, also the same one again. Fills groups whose
	 * memory is the source's until the next call. Their number or -errno. NULL: none. */
	int (*tables)(struct source *s, struct plan *p, const struct pm_chunk *c, struct pm_chunk_group *out);
	/* After the last snapshot, on the control thread: one-time values may be read once more. 0 or -errno. NULL:
	 * nothing. */
	int (*finish)(struct source *s, struct plan *p);
	void (*release)(struct source *s); /* NULL: nothing is its own */
	/* For `pmrec doctor`: appends lines (state, need, cure). NULL: plan() tells enough through probes. */
	void (*doctor)(struct source *s, struct plan *p, struct buf *out);
};

struct source {
	const struct source_ops *ops;
	void *data;    /* the source's own */
	bool wanted;   /* by --sources or by default */
	bool required; /* named by the user: an absence is an error, not a note */
	/* Set by a read() that met something that the plan does not cover (an interrupt that had never fired): the
	 * control thread clears it between snapshots and calls update() with cpu PM_NONE. */
	atomic_bool stale;
};

#endif
