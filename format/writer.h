/*
 * Writing a recording. The writer only appends, and passes each frame to the sink in one call, so a recorder that
 * dies leaves whole frames behind.
 *
 *   pm_writer_new -> (fill the model) -> pm_writer_define -> chunks, events, more definitions -> pm_writer_finish
 *
 * All functions return 0 or -errno; the first failure of the sink is kept, and pm_writer_error() has its text. Not
 * thread-safe: one thread writes.
 */
#ifndef FORMAT_WRITER_H
#define FORMAT_WRITER_H

#include "common/error.h"
#include "format/chunk.h"
#include "format/model.h"

struct pm_writer;

/* Takes all of `len` bytes or returns -errno. */
typedef int (*pm_sink_fn)(void *ctx, const void *data, size_t len);

enum pm_codec {
	PM_CODEC_PACKED = 0, /* predicted, bit-packed columns, then zstd */
	PM_CODEC_PLAIN = 1,  /* RFC 8746 typed arrays: for interchange with any CBOR reader */
};

struct pm_writer_config {
	pm_sink_fn sink;
	void *sink_ctx;
	struct pm_model *model; /* borrowed; the writer's thread alone uses it between calls */
	enum pm_codec codec;
	int zstd_level;     /* 0: the default, 1 */
	bool without_index; /* leave index and end frames out (tests of recovery) */
	bool loose;         /* definitions are not compressed: who reads them stands beside */
};

/* Writes nothing yet. 0, or -errno with the text in *e. */
int pm_writer_new(struct pm_writer **w, const struct pm_writer_config *config, struct error *e);
/* Writes nothing: a recording that was not finished stays cut. */
void pm_writer_free(struct pm_writer *w);

/* Writes the header (once) and all that the model has gained since the last call: topology, counters, groups,
 * instances added and retired, strings, PMUs, probes, config. The model may then forget what has retired. Called by
 * pm_writer_chunk() and _finish() too. */
int pm_writer_define(struct pm_writer *w);
/* Copies the event. It is written, with others and after new definitions of the model, by
 * pm_writer_flush() or with the next chunk, whichever comes first. */
int pm_writer_event(struct pm_writer *w, const struct pm_event *event);
int pm_writer_flush(struct pm_writer *w);
/* Repeats the definitions first, when they are due (SPEC.md, "Repetition"). Groups may come in any order and may
 * differ from chunk to chunk; key chunks are chosen by the writer. Those that retired cannot be in it. */
int pm_writer_chunk(struct pm_writer *w, const struct pm_chunk *chunk);
/* Writes the chunk that the reader decoded last as it is, without packing it again. `chunk` says run, segment, flags,
 * numbers and clocks in the output; its ticks and values are those of the input. `group`: the id in the writer's
 * model for each of the reader's `n` groups, by id - 1. -EAGAIN: nothing was written, pm_writer_chunk() has to do it,
 * because it depends on a chunk that was not written in this way right before, or its columns mean something else. */
struct pm_reader;
struct pm_repack {
	const uint32_t *group;
	uint32_t n;
	/* Of each group, by id - 1: what is added to each of its columns, modulo the width of their counters; NULL,
	 * or one of them: nothing. Then differences alone can stay: a key chunk is -EAGAIN, and any chunk behind one
	 * that was written by pm_writer_chunk(), unless pm_repack_follows() says that they belong together. */
	const uint64_t *const *add;
	uint64_t add_ns; /* to ticks */
};
int pm_repack(struct pm_writer *w, struct pm_reader *r, const struct pm_chunk *chunk, const struct pm_repack *how);
/* The chunk that was written last holds the rows of the one that was decoded last, moved in this way. False: it does
 * not, in a place that matters to the next. */
bool pm_repack_follows(struct pm_writer *w, struct pm_reader *r, const struct pm_repack *how);
/* Makes the next chunk a key chunk (after a gap). */
void pm_writer_break(struct pm_writer *w);
/* Index and end frame. */
int pm_writer_finish(struct pm_writer *w);

struct pm_writer_stats {
	uint64_t bytes, frames, chunks, snapshots, values;
	uint64_t copy_bytes; /* about what one more copy of the definitions takes; each file ends with one */
};
/* What was handed to the sink so far. */
struct pm_writer_stats pm_writer_stats(const struct pm_writer *w);
/* The text of the first failure, "" before it; owned by the writer. */
const char *pm_writer_error(const struct pm_writer *w);

#endif
