/*
 * Reading a recording: item by item, in the order of the file.
 *
 *   pm_reader_open_* -> pm_reader_next ... -> pm_reader_close
 *
 * The reader never trusts a byte before verifying its checksum, never allocates beyond format/limits.h, and never
 * takes differences across damage: after damage it continues at the next key chunk and reports what is lost.
 */
#ifndef FORMAT_READER_H
#define FORMAT_READER_H

#include <sys/types.h>

#include "common/error.h"
#include "format/chunk.h"
#include "format/model.h"

struct pm_reader;

/* Where bytes come from. `read` is as read(2): short reads are fine, 0 is the end (at the moment, if `growing`). It
 * returns -errno on failure. `seek` (to an absolute offset) may be NULL: then the input is a stream. */
struct pm_input {
	void *ctx;
	ssize_t (*read)(void *ctx, void *data, size_t len);
	int (*seek)(void *ctx, uint64_t offset);
	void (*close)(void *ctx);
	uint64_t size; /* bytes, UINT64_MAX if unknown */
	bool growing;  /* an end may be temporary: pm_reader_next() then returns -EAGAIN */
};

/* Inputs. Each fills *in; its close frees what belongs to it. A path "-" is standard input. */
int pm_input_path(struct pm_input *in, const char *path, bool growing, struct error *e);
int pm_input_memory(struct pm_input *in, const void *data, size_t len); /* borrows data */
/* Unwraps a zstd stream around a whole recording; takes ownership of *inner. `head`, `head_len`: the bytes of it that
 * were read already. -EINVAL if they do not begin such a stream: *in is then *inner, as it was. A stream that is cut
 * ends like a cut recording, but reading fails with -ENODATA if nothing at all could be unpacked. */
int pm_input_zstd(struct pm_input *in, struct pm_input *inner, const void *head, size_t head_len, struct error *e);

/* Takes ownership of *in in every case. An input that is not a recording is -EINVAL, and the text says what it is
 * (empty, a PCP archive, a perf.data file, a recording of a newer major version ...). A directory is -EISDIR, one
 * that holds recordings of a newer major version or with unknown incompatible features and no others is -ENOTSUP. */
int pm_reader_open(struct pm_reader **r, struct pm_input *in, struct error *e);
void pm_reader_close(struct pm_reader *r);

enum pm_item_kind {
	PM_ITEM_MODEL, /* the model has changed: `parts` says where */
	PM_ITEM_CHUNK, /* snapshots; the values come with pm_reader_decode(). Of a chunk that is not decoded, only the
			  head is verified */
	PM_ITEM_EVENT,
	PM_ITEM_DAMAGE,    /* bytes that could not be used */
	PM_ITEM_INDEX,     /* verified, nothing to do */
	PM_ITEM_END,       /* the recorder closed the recording properly; another recording may follow */
	PM_ITEM_OTHER,     /* a frame type that this version does not know */
	PM_ITEM_RECORDING, /* another recording begins (concatenation). The model is that of the one before until the
			  next call, which empties it */
};

enum pm_model_parts {
	PM_PART_HEADER = 1 << 0,
	PM_PART_TOPOLOGY = 1 << 1,
	PM_PART_SCHEMA = 1 << 2, /* counters, groups, strings */
	PM_PART_INSTANCES = 1 << 3,
	PM_PART_PMUS = 1 << 4,
	PM_PART_PROBES = 1 << 5,
	PM_PART_CONFIG = 1 << 6,
	PM_PART_REPEATED = 1 << 7, /* only things that were known already */
};

enum pm_damage_kind {
	PM_DAMAGE_GARBAGE,   /* bytes between frames, or a frame whose checksum fails */
	PM_DAMAGE_CUT,       /* the file ends inside a frame */
	PM_DAMAGE_NO_END,    /* the file ends between two frames, without an end frame */
	PM_DAMAGE_LOST,      /* whole frames are missing (the sequence jumps) */
	PM_DAMAGE_DEPENDENT, /* an intact chunk that cannot be decoded because the chunk it depends on is lost */
	PM_DAMAGE_CONTENT,   /* a frame with a good checksum whose content breaks the rules */
	PM_DAMAGE_FOREIGN,   /* frames of another recording inside this one */
};

struct pm_damage {
	enum pm_damage_kind kind;
	uint64_t offset, length; /* bytes of the input */
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: last good time before, first good time after; 0: unknown.
				      to_ns is 0 when reported; see pm_reader_damage() for the final list. */
	uint64_t frames;         /* frames lost, as far as the sequence numbers tell; 0: unknown */
	char text[160];
};

struct pm_chunk_head {
	uint32_t run, segment, rows;
	bool key;
	uint64_t from_ns, to_ns; /* first and last tick, CLOCK_MONOTONIC */
	struct pm_clocks clocks;
};

struct pm_item {
	enum pm_item_kind kind;
	uint64_t offset,
		length; /* of the frame, in the input; of an event behind the first of its frame, or that follows
				  * from a retirement, the length is 0 */
	uint64_t sequence;
	unsigned type;  /* frame type number */
	unsigned parts; /* MODEL */
	bool newer;     /* OTHER: and without it what follows in this recording cannot be read */
	struct pm_chunk_head chunk;
	const struct pm_event *event;   /* valid until the next call */
	const struct pm_damage *damage; /* likewise */
};

/* 1: *item is set. 0: the end. -EAGAIN: a growing input has no more yet. Other -errno: input failure. */
int pm_reader_next(struct pm_reader *r, struct pm_item *item);

/* Which groups pm_reader_decode() shall decode; only their blocks are verified and decompressed. `wanted` is
 * asked once for every group as it becomes known, and again after another call of this function. NULL: all.
 * A group that is selected late, or one whose values build on a chunk that was not decoded, is absent until it starts
 * from absolute values again, at the latest in the next key chunk. */
void pm_reader_select(struct pm_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx);

/* Drops retired instances and groups from the model, from time to time; for callers that need nothing of the past.
 * See pm_model_forget(). Do not call it between a chunk and its pm_reader_decode(). */
void pm_reader_forget(struct pm_reader *r);

/* The values of the chunk that pm_reader_next() returned last. *chunk stays valid until the next call of either
 * function. Groups whose definitions are lost are not among its groups, which is listed as damage. 0; -EBADMSG:
 * damage, which is also listed and returned as the next item; -EINVAL: the last item was no chunk. */
int pm_reader_decode(struct pm_reader *r, const struct pm_chunk **chunk);

/* What this version could not read so far: one line each, "" if nothing. It is not damage. Values that it concerns
 * are missing with PM_REASON_NEWER; of a recording with unknown features there are no items. */
const char *pm_reader_newer(const struct pm_reader *r);

/* Whether the input is no stream: everything that it has is there at once. */
bool pm_reader_seekable(const struct pm_reader *r);

/* Goes to the last key chunk that starts at or before `monotonic_ns` (or to the first), within the recording at hand.
 * Definitions and events that lie between come as items before it, chunks do not. Unless `all`, instances that came
 * and went in between are left out, too, if the index has the place of a copy of the definitions; instances that are
 * gone are then reported as gone before that copy. -ESPIPE on a stream. */
int pm_reader_seek(struct pm_reader *r, uint64_t monotonic_ns, bool all);

/* How far the recording at hand reaches. */
struct pm_extent {
	uint64_t from_ns, to_ns; /* first and last tick, CLOCK_MONOTONIC */
	uint64_t chunks, snapshots;
	bool indexed; /* it has its end, and its index covers all of it */
};
/* From the index, or by hopping over frame heads, without reading the chunks. -ESPIPE on a stream. */
int pm_reader_extent(struct pm_reader *r, struct pm_extent *x);

/* The clocks in the heads of the first chunks of the recording at hand, at most `max`, up to the first that is
 * `enough_ns` of CLOCK_MONOTONIC younger than the first one. Sets the model's counter_hz by them. How many; 0 on a
 * stream; -errno. */
int pm_reader_clocks(struct pm_reader *r, struct pm_clocks *clocks, size_t max, uint64_t enough_ns);

/* Valid until the reader is closed, changed by pm_reader_next(). */
const struct pm_model *pm_reader_model(const struct pm_reader *r);
/* All damage so far, with both ends of the time range filled in where known. If damage turns out to continue right
 * after what was already returned as an item, that entry grows. */
const struct pm_damage *pm_reader_damage(const struct pm_reader *r, size_t *n);
/* Wall time (ns since 1970) of a CLOCK_MONOTONIC time, from the nearest chunk's clocks; 0 if not recorded. */
uint64_t pm_reader_realtime(const struct pm_reader *r, uint64_t monotonic_ns);

struct pm_reader_stats {
	uint64_t bytes_read; /* from the input, hopped-over bytes not counted */
	uint64_t frames, chunks, snapshots;
};
struct pm_reader_stats pm_reader_stats(const struct pm_reader *r);

#endif
