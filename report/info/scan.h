/*
 * One pass over a recording, for info, list and check: counts, times, skew, damage.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/names.h"
#include "format/reader.h"

/* Numbers for a median and a maximum. Keeps at most SAMPLES_MAX of them, evenly spread. */
#define SAMPLES_MAX 65536
struct samples {
	uint64_t *v; /* owned */
	size_t n;
	uint64_t seen, every; /* one of `every` is kept */
	uint64_t max;
};
uint64_t samples_median(struct samples *s); /* sorts them; 0 if there is none */

/* What belongs to one source. */
struct scan_source {
	char *name;                         /* owned */
	uint32_t groups, counters, columns; /* groups and their columns that lived at the last chunk */
	struct samples skew; /* ns from the first to the last begin in a snapshot, over the instances of a group */
};

/* A field that identifies the machine, a person or the time of the recording. */
struct reveal {
	enum pm_privacy privacy;
	char *what;     /* owned: "host", "config msr.0x17", "events: text" */
	uint64_t count; /* how often it occurs */
};
struct reveals {
	struct reveal *row; /* owned */
	uint32_t n;
	struct names names; /* "privacy what" -> place */
};

struct scan {
	struct pm_reader *reader; /* owned; stays open for its model and damage */
	uint64_t bytes, frames, chunks, snapshots, values, recordings, segments;
	uint64_t decoded;           /* snapshots with decoded values: those behind `values` and the samples */
	uint64_t earlier_ns;        /* duration of all recordings but the last, of which are ... */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC ticks of the first and the last snapshot */
	struct pm_clocks clocks;    /* of the first chunk */
	struct pm_clocks last_clocks;
	bool begun; /* the last recording has a chunk */
	uint64_t lost_ticks;
	uint32_t runs;
	struct samples interval; /* ns from the first reading of a snapshot to that of the next, within segments */
	struct samples late;     /* ns from the tick to the first reading */
	uint64_t last_begin;     /* first reading of the last snapshot; 0: none to compare with */
	struct pm_event *event;  /* owned: of the last recording, in order, at most SCAN_EVENTS of them */
	uint32_t n_events;
	uint64_t more_events;       /* that were not kept */
	uint64_t n_gone;            /* tasks, cgroups and devices that went, kept or not */
	struct scan_source *source; /* owned */
	uint32_t n_sources;
	struct names source_names;
	struct reveals instances; /* those of the model so far, with SCAN_TIMES */
	uint32_t last_instance;   /* id of the last of them */
	const struct pm_damage *damage;
	size_t n_damage;
	bool ended;         /* the recorder closed it */
	bool being_written; /* a recorder has it open; a missing end is not damage */
};

#define SCAN_EVENTS 100000

enum scan_flags {
	SCAN_VALUES = 1 << 0, /* decode everything: verifies every block */
	SCAN_TIMES = 1 << 1,  /* decode too, and fill the skews */
	/* Of a long recording whose index is whole, and without SCAN_VALUES of a large one, too, read only some. */
	SCAN_INDEX = 1 << 2,
};

/* Counts what new instances of the model reveal. */
void reveals_take_instances(struct scan *s);
void reveals_release(struct reveals *r);

/* 0 or -errno with a text that names the path. Damage is not an error. */
int scan_path(struct scan *s, const char *path, unsigned flags, struct error *e);
/* The same for an open reader, which it takes; `name` is that of the errors. */
int scan_reader(struct scan *s, struct pm_reader *reader, const char *name, unsigned flags, struct error *e);
void scan_release(struct scan *s);

/* Whether anything is missing from the recording, except the end of one that is still written. */
bool scan_damaged(const struct scan *s);
/* The same of a reader that has read all. */
bool reader_damaged(const struct pm_reader *reader, bool being_written);
/* Whether the only damage is that the recorder was killed, or the file was cut. */
bool scan_lacks_end(const struct scan *s);
/* The lines of pm_reader_newer(). */
struct json *newer_json(const struct pm_reader *reader);
/* Wall time of the first snapshot of the last recording, ns since 1970; 0: not recorded. */
uint64_t scan_start(const struct scan *s);
