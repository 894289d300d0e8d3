/*
 * The numbers of up to 128 snapshots, for the writer and from the reader.
 *
 * Column c (in the order of struct pm_group, model.h) has its value of row r at v[c * stride + r]. A recorder writes
 * samples directly into place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One reading of all clocks. A clock that cannot be read is 0. */
struct pm_clocks {
	uint64_t monotonic;     /* ns; all other times in a recording are of this clock */
	uint64_t monotonic_raw; /* ns */
	uint64_t realtime;      /* ns since 1970 UTC; 0 in a recording without absolute time */
	uint64_t boottime;      /* ns */
	uint64_t counter;       /* TSC or CNTVCT */
};

enum pm_snapshot_flags {
	PM_SNAPSHOT_TICK = 0,         /* at its tick */
	PM_SNAPSHOT_FORCED = 1 << 0,  /* requested by signal, newline or control */
	PM_SNAPSHOT_FIRST = 1 << 1,   /* first of a segment: no difference to the previous one */
	PM_SNAPSHOT_LAST = 1 << 2,    /* last of a segment */
	PM_SNAPSHOT_BETWEEN = 1 << 3, /* taken before counters could wrap: no interval of the user's ends with it */
};

struct pm_chunk_group {
	uint32_t group;   /* id */
	uint64_t *v;      /* columns x stride; times are absolute CLOCK_MONOTONIC ns */
	uint16_t *status; /* same shape: pm_reason of each value, 0 for time columns; NULL: all are valid */
	size_t stride;    /* rows allocated, >= rows */
	bool absent;      /* not in this chunk, or (reader) not selected; v is then NULL */
	bool lost;        /* absent because of damage, here or in what it was copied from */
};

struct pm_chunk {
	uint32_t run;            /* 1, or the number of the run with -r */
	uint32_t segment;        /* rises by one where differences must not cross */
	uint32_t rows;           /* 1 ... PM_CHUNK_ROWS */
	const uint64_t *tick;    /* [rows]: CLOCK_MONOTONIC ns at which each snapshot was due; ascending */
	const uint64_t *number;  /* [rows]: tick numbers since the start, counting lost ticks; ascending */
	const uint8_t *flags;    /* [rows]: pm_snapshot_flags */
	struct pm_clocks clocks; /* read when the chunk was opened */
	struct pm_chunk_group *group;
	uint32_t n_groups;
	bool after_loss; /* reader: snapshots before it may be lost */
	bool partial;    /* reader: groups are lost or unknown; for those it lacks, no difference spans it */
	bool unknown;    /* reader: because definitions are lost */
};

#define PM_CHUNK_ROWS 128
