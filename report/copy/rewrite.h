/*
 * From recordings to a recording: what cut, merge, redact and bundle have in common. Raw numbers are carried over as
 * they are, never computed; the rules say which counters, instances, snapshots and definitions go over, and what
 * becomes of their texts.
 *
 *   rewrite_new -> rewrite_recording (once a recording, in order) -> rewrite_finish -> rewrite_free
 *
 * It streams: memory is that of the definitions and of one chunk. What is missing stays missing for the reason it
 * had; damage of the input becomes a remark in the output and the end of a segment, so that no difference crosses it.
 */
#ifndef REPORT_REWRITE_H
#define REPORT_REWRITE_H

#include "common/error.h"
#include "format/reader.h"
#include "format/writer.h"

/* What is to become of something. */
enum rewrite_fate { REWRITE_KEEP, REWRITE_DROP, REWRITE_BLANK };

/*
 * All functions may be NULL: everything goes over unchanged. They get copies, which they may change, but for ids, and
 * what refers to others; they return enum rewrite_fate or -errno. What is asked for is asked once: of counters and
 * instances when they become known, of others when they are written.
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
	/* A value of TEXT or BYTES columns, `c` being the first that has it; asked once for each of a recording. */
	int (*text)(void *ctx, const struct pm_counter *c, struct pm_value *v);
	int (*clocks)(void *ctx, struct pm_clocks *c); /* REWRITE_DROP: -EINVAL; monotonic is shifted */
	int (*source)(void *ctx, char **source);       /* that of a group; owned, by malloc */
	/* Whether a group goes over; asked when it becomes known. Its ids are those of `in`. REWRITE_BLANK: all its
	 * values are missing, and say that they were left out. */
	int (*group)(void *ctx, const struct pm_model *in, const struct pm_group *g);
	void *group_ctx; /* its own: who reduces is not who redacts */
	/* What is added to each value of a counter of integers, modulo 2^width; differences stay what they are.
	 * Asked once for each group that the counter is in. */
	uint64_t (*rebase)(void *ctx, const struct pm_counter *c);

	/* Before the first snapshot of a recording, when model and clocks are known: may set from_ns and to_ns. */
	int (*start)(void *ctx, struct pm_reader *reader, const struct pm_chunk_head *first, struct error *e);

	uint64_t from_ns, to_ns; /* only snapshots with ticks in here, CLOCK_MONOTONIC, both included; to 0: no end */
	/* One snapshot in so many; 0 and 1: all. The first and the last of each segment stay, so that sums and means
	 * over the whole are the same. Deltas of skipped snapshots are added up, peaks are kept. */
	uint32_t every;
	uint64_t shift_ns; /* added, modulo 2^64, to all times of CLOCK_MONOTONIC */
	int zstd_level;    /* 0: the default of the writer */
	/* Gathers snapshots into chunks as large as they may be: the smallest file. Otherwise chunks end where they
	 * did, and each keeps its clocks. `every` gathers in any case. */
	bool gather;
	/* Gathers chunks of fewer than 16 snapshots that have to be packed anew: several times faster, and smaller.
	 * The clocks of the first one hold for all, as long as they agree within 1 us about how wall time and boot
	 * time lie to the ticks: so far wall times may move. */
	bool gather_small;
	bool growing;        /* the input may end anywhere: somebody writes it */
	const char *history; /* appended to the header's history; NULL: nothing */
};

struct rewrite_result {
	uint64_t snapshots_in, snapshots_out;
	uint64_t from_ns, to_ns; /* first and last tick that went over; 0: none */
	uint64_t bytes;          /* handed to the sink */
	uint64_t damages;        /* stretches of the inputs that could not be read */
	uint64_t gaps;           /* merge: recordings that did not begin where the one before ended */
	bool ended;              /* every input had its end frame */
	bool newer;              /* there was what this version cannot read; it is not in the output */
};

struct rewrite;

/* `rules` is borrowed and may be changed between recordings. 0 or -errno with the text in *e. */
int rewrite_new(struct rewrite **w, const struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct error *e);
void rewrite_free(struct rewrite *w);
/*
 * Reads one recording to its end, or to the first snapshot behind to_ns. A second one is appended: counters of the
 * same name and instances of the same kind, number and attributes go on as they are; its first snapshot begins a new
 * segment, unless it is the last one of the recording before once more (same tick): then that is where it goes on,
 * and the repetition is left out. -EINVAL where a definition contradicts an earlier one of that name.
 */
int rewrite_recording(struct rewrite *w, struct pm_reader *reader, struct error *e);
/* Writes what is left, and the end. An output without a snapshot is a valid recording. */
int rewrite_finish(struct rewrite *w, struct error *e);
struct rewrite_result rewrite_result(const struct rewrite *w);

/* Opens a reader of input `i`; `name` (borrowed) stands before what is said against it. 0 or -errno with the text in *e. */
typedef int (*rewrite_input_fn)(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e);

/* All of it, from `n` inputs, which it closes, to the end. 0 with *result, or -errno with the text in *e. */
int rewrite_all(const struct rewrite_rules *rules, size_t n, rewrite_input_fn input, void *ctx, pm_sink_fn sink,
		void *sink_ctx, struct rewrite_result *result, struct error *e);

#endif
