/*
 * Writing a recording. The writer only appends, and passes each frame to the sink in one call, so that a killed
 * recorder leaves whole frames.
 *
 *   pm_writer_new -> (fill the model) -> pm_writer_define -> chunks, events, more definitions -> pm_writer_finish
 *
 * All functions return 0 or -errno. The writer keeps the first failure of the sink; pm_writer_error() has its text.
 * Only one thread may use a writer.
 */
#pragma once

#include "common/error.h"
#include "format/chunk.h"
#include "format/model.h"

struct pm_writer;

/* Takes all `len` bytes, or returns -errno. */
typedef int (*pm_sink_fn)(void *ctx, const void *data, size_t len);

enum pm_codec {
	PM_CODEC_PACKED = 0, /* predicted, bit-packed columns, then zstd */
	PM_CODEC_PLAIN = 1,  /* RFC 8746 typed arrays, for any CBOR reader */
};

struct pm_writer_config {
	pm_sink_fn sink;
	void *sink_ctx;
	struct pm_model *model; /* borrowed; only the writer's thread may use it */
	enum pm_codec codec;
	int zstd_level;     /* 0: the default, 1 */
	bool without_index; /* no index and end frames, for tests of recovery */
	bool loose;         /* definitions stay uncompressed, for a reader on the same machine */
};

/* Writes nothing yet. 0, or -errno with the text in *e. */
int pm_writer_new(struct pm_writer **w, const struct pm_writer_config *config, struct error *e);
/* Writes nothing; an unfinished recording stays cut. */
void pm_writer_free(struct pm_writer *w);

/* Writes the header (once) and what the model has gained since the last call: topology, counters, groups, instances
 * added and retired, strings, PMUs, probes, config. The model may then forget what has retired. pm_writer_chunk() and
 * pm_writer_finish() call it, too. */
int pm_writer_define(struct pm_writer *w);
/* Copies the event. The next pm_writer_flush() or chunk writes it, after new definitions of the model. */
int pm_writer_event(struct pm_writer *w, const struct pm_event *event);
int pm_writer_flush(struct pm_writer *w);
/* Writes a chunk, after a repetition of the definitions if that is due (SPEC.md, "Repetition"). Groups may come in
 * any order and differ from chunk to chunk, but must not have retired. The writer chooses key chunks. */
int pm_writer_chunk(struct pm_writer *w, const struct pm_chunk *chunk);
/* Makes the next chunk a key chunk, after a gap. */
void pm_writer_break(struct pm_writer *w);
/* Writes the index and the end frame. */
int pm_writer_finish(struct pm_writer *w);

struct pm_writer_stats {
	uint64_t bytes, frames, chunks, snapshots, values;
	uint64_t copy_bytes; /* the approximate size of another copy of the definitions; each file ends with one */
};
/* What the sink has received so far. */
struct pm_writer_stats pm_writer_stats(const struct pm_writer *w);
/* The text of the first failure, or ""; owned by the writer. */
const char *pm_writer_error(const struct pm_writer *w);
