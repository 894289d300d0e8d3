/*
 * Copies recordings into one, for cut, merge, redact and bundle. Raw numbers are copied, never computed; rules select
 * counters, instances, snapshots and definitions, and change their texts.
 *
 *   rewrite_new -> rewrite_recording (once a recording, in order) -> rewrite_finish -> rewrite_free
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
enum rewrite_fate { REWRITE_KEEP, REWRITE_DROP, REWRITE_BLANK };

/*
 * All functions may be NULL: everything is copied unchanged. They get copies, may change all but ids and references,
 * and return enum rewrite_fate or -errno. They are called once: for counters and instances when these become known,
 * for others when they are written.
 */
struct rewrite_rules {
	void *ctx;
	int (*header)(void *ctx, struct pm_map *header); /* REWRITE_DROP is -EINVAL */
	int (*counter)(void *ctx, struct pm_counter *c);
	int (*instance)(void *ctx, struct pm_instance *i); /* dropping it drops its columns */
	int (*topology)(void *ctx, struct pm_topology *t);
	int (*pmu)(void *ctx, struct pm_pmu *p);
	int (*probe)(void *ctx, struct pm_probe *p);
	int (*config)(void *ctx, struct pm_config *c);
	int (*event)(void *ctx, struct pm_event *e); /* times of the input, on the shifted clock if shifted */
	/* A value of TEXT or BYTES columns, once for each in a recording; `c` is the first counter that has it. */
	int (*text)(void *ctx, const struct pm_counter *c, struct pm_value *v);
	int (*clocks)(void *ctx, struct pm_clocks *c); /* REWRITE_DROP: -EINVAL; monotonic is shifted */
	int (*source)(void *ctx, char **source);       /* that of a group; owned, by malloc */
	/* Whether a group is copied; called when it becomes known, with ids of `in`. REWRITE_BLANK: all its values
	 * are missing, because they were left out. */
	int (*group)(void *ctx, const struct pm_model *in, const struct pm_group *g);
	void *group_ctx; /* for this function; redaction has another */
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

struct rewrite;

/* `rules` is borrowed and may be changed between recordings. 0 or -errno with the text in *e. */
int rewrite_new(struct rewrite **w, const struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct error *e);
void rewrite_free(struct rewrite *w);
/*
 * Reads one input to its end, or to the first snapshot after to_ns. A second one is appended: counters of the
 * same name and instances of the same kind, number and attributes continue. Its first snapshot begins a new segment,
 * unless it repeats the last one of the previous recording (same tick), and is then omitted. -EINVAL if a
 * definition contradicts an earlier one of its name.
 */
int rewrite_recording(struct rewrite *w, struct pm_reader *reader, struct error *e);
/* Writes the rest, and the end. An output without a snapshot is a valid recording. */
int rewrite_finish(struct rewrite *w, struct error *e);
struct rewrite_result rewrite_result(const struct rewrite *w);

/* Opens a reader of input `i`; errors begin with `name` (borrowed). 0 or -errno with the text in *e. */
typedef int (*rewrite_input_fn)(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e);
/* One that a struct spool is: `ctx`. */
int rewrite_spool(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e);

/* Copies `n` inputs, which it closes, and ends the output. 0 with *result, or -errno with the text in *e. */
int rewrite_all(const struct rewrite_rules *rules, size_t n, rewrite_input_fn input, void *ctx, pm_sink_fn sink,
		void *sink_ctx, struct rewrite_result *result, struct error *e);
