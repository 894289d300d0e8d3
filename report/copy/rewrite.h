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

/*
 * All functions may be NULL: everything is copied unchanged. They get copies, and may change all but ids and
 * references. They are called once: for counters and instances when these become known, for others when they are
 * written.
 */
struct rewrite_rules {
	void *ctx;
	void (*header)(void *ctx, struct pm_map *header);
	enum rewrite_fate (*counter)(void *ctx, struct pm_counter *c);
	enum rewrite_fate (*instance)(void *ctx, struct pm_instance *i); /* dropping it drops its columns */
	void (*topology)(void *ctx, struct pm_topology *t);
	void (*pmu)(void *ctx, struct pm_pmu *p);
	void (*probe)(void *ctx, struct pm_probe *p);
	enum rewrite_fate (*config)(void *ctx, struct pm_config *c);
	/* Times of the input, on the shifted clock if shifted. */
	enum rewrite_fate (*event)(void *ctx, struct pm_event *e);
	/* A value of TEXT or BYTES columns, once for each in a recording; `c` is the first counter that has it. */
	enum rewrite_fate (*text)(void *ctx, const struct pm_counter *c, struct pm_value *v);
	void (*clocks)(void *ctx, struct pm_clocks *c); /* monotonic is shifted */
	void (*source)(void *ctx, char **source);       /* that of a group; owned, by malloc */
	/* What to add to each value of a counter of integers, modulo 2^width; differences do not change. Called once
	 * for each group with the counter. */
	uint64_t (*rebase)(void *ctx, const struct pm_counter *c);

	/* Before anything of a recording of the output: may set shift_ns. */
	void (*begin)(void *ctx);
	/* Before the first snapshot of a recording, when model and clocks are known: may set from_ns and to_ns. */
	int (*start)(void *ctx, struct pm_reader *reader, const struct pm_chunk_head *first, struct error *e);

	uint64_t from_ns, to_ns; /* only snapshots with ticks in here, CLOCK_MONOTONIC, both included; to 0: no end */
	/* One snapshot in so many; 0 and 1: all. The first and last of each segment stay, so that sums and means over
	 * the whole do not change. Deltas of skipped snapshots are added up, peaks are kept. */
	uint32_t every;
	uint64_t shift_ns; /* added, modulo 2^64, to all times of CLOCK_MONOTONIC */
	int zstd_level;    /* 0: the default of the writer */
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
