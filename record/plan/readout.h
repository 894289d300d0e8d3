/*
 * Which reader reads which unit, and where its values go: computed from the plan while nothing is being sampled,
 * read-only while readers run. A change of the plan (hotplug) makes a new readout.
 */
#pragma once

#include "record/plan/plan.h"

/* One instance of a group, or a whole group that is read at once. Columns count from the start of the group. */
struct slot {
	struct unit *unit;         /* for its reader: others may find it freed. NULL: nothing reads these columns,
				    * `absent` says why */
	const char *source;        /* static: name of the unit's source */
	uint32_t group;            /* index into readout.group */
	uint32_t cpu;              /* of the unit, when it was placed */
	uint32_t reader;           /* who reads it */
	uint32_t n;                /* values */
	uint32_t value, step;      /* column of the first value, columns from value to value */
	uint32_t begin, end;       /* time columns */
	uint32_t enabled, running; /* PM_NONE without PM_GROUP_PERF_TIMES */
	uint32_t every;            /* ticks from reading to reading */
	uint16_t absent;
	_Atomic int dead;  /* errno of the read that ended the unit; set by its reader */
	_Atomic bool told; /* the writer has reported it */
	bool away;         /* its CPU is offline; set while readers are parked */
	/* Delay of samples after their ticks (ns); set by its reader; PM_NONE: not yet known. */
	uint32_t phase;
	uint64_t sampled[PM_CHUNK_ROWS / 64]; /* rows of this chunk that samples were for; by its reader */
	uint32_t stood_in;                    /* of those, rows that were read; by its reader */
	uint64_t shortest_ns;                 /* reading that there was; by its reader */
	/* unit->even; by its reader: */
	uint64_t usual_at, usual_ns; /* begin after that of the group's first place, length */
	bool seen, off;              /* there is a usual time; the last one was not usual */
};

struct readout_group {
	uint32_t id;
	uint32_t columns, head;
};

struct readout_reader {
	uint32_t cpu;      /* where it is pinned; PM_NONE: nowhere */
	uint32_t first, n; /* its slots */
	bool sampled;      /* the kernel samples them: it wakes up once a chunk */
};

struct readout {
	struct readout_group *group;
	uint32_t n_groups;
	struct slot *slot; /* by reader; those without a unit come last */
	uint32_t n_slots;
	uint32_t unit_changes;         /* of the plan, when the slots were laid out */
	struct readout_reader *reader; /* in the order of their CPUs; those of samples follow */
	/* The first n_own readers are for units of a CPU or the system, the others for units that are spread. */
	uint32_t n_readers, n_reading, n_own;
	uint64_t interval_ns; /* 0: no ticks */
	size_t row_bytes;
	uint32_t rows; /* of a chunk */
};

/*
 * `per_cpu`: one reader a CPU, each pinned to it, or one reader for all; what is spread has readers of its own if
 * there is much of it, unless --threads=one. Units of CPUs in `offline` (or NULL) are
 * left out and their columns are PM_REASON_OFFLINE. A chunk holds one tick, or those of `chunk_ns`. 0, or
 * -EINVAL for a unit that fits no group.
 */
int readout_init(struct readout *l, const struct plan *p, uint64_t interval_ns, uint64_t chunk_ns, bool per_cpu,
		 const struct cpulist *offline, struct error *e);
void readout_release(struct readout *l);
/* CPUs went offline or came online, and nothing else has changed in the plan: switches their slots off and on,
 * without touching others. Readers must be parked. False: more has changed; make a new readout. */
bool readout_switch(struct readout *l, const struct plan *p, const struct cpulist *offline);

/*
 * Whether one reader a CPU is the better choice, found by measuring both: a wake-up and one pass over all units
 * from one thread (one interrupt a remote CPU) against a wake-up and the own part of the pass on every CPU. One a
 * CPU wins up to one and a half times the cost, and whenever the pass takes more than 1 ms or a tenth of the
 * interval.
 */
bool readout_measure_per_cpu(const struct plan *p, uint64_t interval_ns);
