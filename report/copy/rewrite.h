/*
 * Copies recordings into one, for cut, merge, repair, redact and bundle. Raw numbers are copied, never computed;
 * rules select counters, instances, snapshots and definitions, and change their texts.
 *
 * It streams: memory is that of the definitions and of one chunk. What is missing stays missing for the reason it
 * had; damage of the input becomes a remark in the output and ends a segment, so that no difference crosses it.
 */
#pragma once

#include "common/error.h"
#include "format/reader.h"
#include "format/writer.h"
#include "report/input/spool.h"

/* What happens to something. */
enum rewrite_fate { REWRITE_KEEP, REWRITE_DROP };

struct redact;

/* All may be NULL or 0: everything is copied unchanged. Functions get copies, and may change all but ids and
 * references; they are called once, when a counter or an instance becomes known. */
struct rewrite_rules {
	void *ctx;
	struct redact *redact; /* what takes names and times from all that is copied */
	enum rewrite_fate (*counter)(void *ctx, struct pm_counter *c);
	enum rewrite_fate (*instance)(void *ctx, struct pm_instance *i); /* dropping it drops its columns */
	/* Before the first snapshot of a recording, when model and clocks are known: may set from_ns and to_ns. */
	int (*start)(void *ctx, struct pm_reader *reader, const struct pm_chunk_head *first, struct error *e);

	uint64_t from_ns, to_ns; /* only snapshots with ticks in here, CLOCK_MONOTONIC, both included; to 0: no end */
	/* One snapshot in so many; 0 and 1: all. The first and last of each segment stay, so that sums and means over
	 * the whole do not change. Deltas of skipped snapshots are added up, peaks are kept. */
	uint32_t every;
	int zstd_level; /* 0: the default of the writer */
	/* Fills chunks as far as possible, for the smallest file; `every` does so in any case. Otherwise chunks keep
	 * their ends and clocks. */
	bool gather;
	/* Appends further recordings of an input to the first, as those of further inputs; else each stays one. */
	bool join;
	bool growing;        /* the input may end anywhere, because it is still written */
	const char *history; /* appended to the header's history; NULL: nothing */
};

struct rewrite_result {
	uint64_t snapshots_in, snapshots_out;
	uint64_t from_ns, to_ns; /* first and last tick that was copied; 0: none */
	uint64_t bytes;          /* handed to the sink */
	uint64_t damages;        /* stretches of the inputs that could not be read */
	uint64_t gaps;           /* merge: recordings that did not begin where the previous one ended */
	bool ended;              /* every input had its end frame */
	bool newer;              /* the input has what this version cannot read, so the output lacks it */
};

/* Opens a reader of input `i`; errors begin with `name` (borrowed). 0 or -errno with the text in *e. */
typedef int (*rewrite_input_fn)(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e);
/* The same for the only input, a struct spool. */
int rewrite_spool(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e);

/*
 * Copies `n` inputs, one after the other, each to its end or to the first snapshot after to_ns, and ends the output.
 * Counters of the same name and instances of the same kind, number and attributes continue in the next one. Its first
 * snapshot begins a new segment, unless it repeats the last one of the previous recording (same tick), and is then
 * omitted. 0 with *result, or -errno with the text in *e; -EINVAL if a definition contradicts an earlier one of its
 * name.
 */
int rewrite_all(const struct rewrite_rules *rules, size_t n, rewrite_input_fn input, void *ctx, pm_sink_fn sink,
		void *sink_ctx, struct rewrite_result *result, struct error *e);
