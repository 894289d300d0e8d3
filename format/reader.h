/*
 * Reading a recording: item by item, in the order of the file.
 *
 *   pm_reader_open -> pm_reader_next ... -> pm_reader_close
 *
 * The reader never trusts a byte before verifying its checksum, never allocates beyond format/limits.h (without
 * memory the program ends, see common/memory.h), and never takes differences across damage: after damage it
 * continues at the next key chunk and reports what is lost.
 */
#pragma once

#include <sys/types.h>

#include "common/error.h"
#include "format/chunk.h"
#include "format/model.h"

struct pm_reader;

/* Where bytes come from. `read` works like read(2): it may return fewer bytes; 0 is the end, or the end so far if
 * `growing`; -errno is a failure. `seek` goes to an absolute offset; NULL: the input is a stream. */
struct pm_input {
	void *ctx;
	ssize_t (*read)(void *ctx, void *data, size_t len);
	int (*seek)(void *ctx, uint64_t offset);
	void (*close)(void *ctx);
	uint64_t size; /* bytes, UINT64_MAX if unknown */
	bool growing;  /* an end may be temporary: pm_reader_next() then returns -EAGAIN */
};

/* Fills *in, whose close() frees it. The path "-" is standard input. */
int pm_input_path(struct pm_input *in, const char *path, bool growing, struct error *e);

/* Takes ownership of *in in every case. -EINVAL for an input that is not a recording, with a text that says what it
 * is (empty, a PCP archive, a perf.data file ...); -EISDIR for a directory; -ENOTSUP if all recordings in it are of a
 * newer major version or have unknown incompatible features. */
int pm_reader_open(struct pm_reader **r, struct pm_input *in, struct error *e);
void pm_reader_close(struct pm_reader *r);
/* For SCOPED. */
static inline void pm_reader_scoped(struct pm_reader **r)
{
	pm_reader_close(*r);
}

enum pm_item_kind {
	PM_ITEM_MODEL, /* the model has changed in `parts` */
	PM_ITEM_CHUNK, /* snapshots, with values by pm_reader_decode(); without that call only the head is verified */
	PM_ITEM_EVENT,
	PM_ITEM_DAMAGE,    /* bytes that could not be used */
	PM_ITEM_INDEX,     /* verified; needs no action */
	PM_ITEM_END,       /* the recorder closed the recording properly; another recording may follow */
	PM_ITEM_OTHER,     /* a frame type that this version does not know */
	PM_ITEM_RECORDING, /* another recording follows; the next call empties the model of this one */
};

enum pm_model_parts {
	PM_PART_HEADER = 1 << 0,
	PM_PART_TOPOLOGY = 1 << 1,
	PM_PART_SCHEMA = 1 << 2, /* counters, groups, strings */
	PM_PART_INSTANCES = 1 << 3,
	PM_PART_PMUS = 1 << 4,
	PM_PART_PROBES = 1 << 5,
	PM_PART_CONFIG = 1 << 6,
	PM_PART_REPEATED = 1 << 7, /* nothing new */
};

enum pm_damage_kind {
	PM_DAMAGE_GARBAGE,   /* bytes between frames, or a frame whose checksum fails */
	PM_DAMAGE_CUT,       /* the file ends inside a frame */
	PM_DAMAGE_NO_END,    /* the file ends between two frames, without an end frame */
	PM_DAMAGE_LOST,      /* whole frames are missing (the sequence jumps) */
	PM_DAMAGE_DEPENDENT, /* intact chunks that depend on one that is not in the input */
	PM_DAMAGE_PARTIAL,   /* frames of which a part is damaged, or means nothing without what is lost */
	PM_DAMAGE_CONTENT,   /* a frame with a good checksum whose content breaks the rules */
	PM_DAMAGE_FOREIGN,   /* frames of another recording inside this one */
};

struct pm_damage {
	enum pm_damage_kind kind;
	uint64_t offset, length; /* bytes of the input */
	uint64_t from_ns,
		to_ns; /* CLOCK_MONOTONIC: last good time before, first good time after; 0: unknown, as to_ns
				    always is in an item; pm_reader_damage() has the final list */
	uint64_t from_wall, to_wall; /* likewise, ns since 1970 */
	uint64_t frames;             /* frames lost, by their sequence numbers; 0: unknown */
	/* Intact chunks that cannot be read because of it (PARTIAL: parts of them); where they end; and snapshots
	 * lost, as far as known. */
	uint64_t chunks, chunks_end, snapshots;
	bool harmless; /* the chunk after it shows that no value is missing */
	char text[240];
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
		length; /* of the frame, in the input; of an event after the first of its frame, or that follows
				  * from a retirement, the length is 0 */
	uint64_t sequence;
	unsigned type;  /* frame type number */
	unsigned parts; /* MODEL */
	bool newer;     /* OTHER: the rest of this recording cannot be read without it */
	struct pm_chunk_head chunk;
	const struct pm_event *event;   /* valid until the next call */
	const struct pm_damage *damage; /* likewise */
};

/* 1: *item is set. 0: the end. -EAGAIN: a growing input has no more yet. Another -errno: the input failed. */
int pm_reader_next(struct pm_reader *r, struct pm_item *item);

/* Selects the groups that pm_reader_decode() decodes; it verifies and decompresses only their blocks. `wanted` is
 * called once for every group that becomes known, and again after another call of this function. NULL: all groups. A
 * group that is selected late, or depends on a chunk that was not decoded, is absent until it starts from absolute
 * values again, in the next key chunk at the latest. */
void pm_reader_select(struct pm_reader *r, bool (*wanted)(void *ctx, const struct pm_group *g), void *ctx);

/* Drops retired instances and groups from the model, as pm_model_forget() does. Call it only when the last item was a
 * chunk: before that, groups that name what has retired may still follow. If nobody needs any, chunks that are passed
 * over on the way to one that was sought do so, too. */
void pm_reader_forget(struct pm_reader *r, pm_model_needs *needs, void *ctx);

/* The values of the chunk that pm_reader_next() returned last; valid until the next call of either function. Groups
 * with lost definitions are not in it, those in a block whose checksum fails are absent; both count as damage. 0;
 * -EBADMSG: damage, and nothing is left; -EINVAL: the last item was not a chunk. Damage is also listed, and returned
 * as the next item unless it continues the last one. */
int pm_reader_decode(struct pm_reader *r, const struct pm_chunk **chunk);

/* What this version could not read so far, in lines; "" if nothing. This is not damage. Such values are missing with
 * PM_REASON_NEWER; a recording with unknown incompatible features has no items. */
const char *pm_reader_newer(const struct pm_reader *r);

/* Whether the input can seek, that is, is not a stream. */
bool pm_reader_seekable(const struct pm_reader *r);

/* Goes to the last key chunk of this recording that starts at or before `monotonic_ns`, or to the first. Definitions
 * and events on the way come as items before it, chunks do not. Without `all`, instances that came and went on the
 * way are skipped, too, if the index names a copy of the definitions; instances that are gone are then reported
 * before that copy. 0 or -errno; -ESPIPE on a stream. */
int pm_reader_seek(struct pm_reader *r, uint64_t monotonic_ns, bool all);

/* Leaves out the rest of this recording: the next item says that another one follows. 1; 0 if none does, or on what
 * grows; -errno. On a stream, whether one does is known only at its end. */
int pm_reader_leave(struct pm_reader *r);

/* The extent of the current recording. */
struct pm_extent {
	uint64_t from_ns, to_ns; /* first and last tick, CLOCK_MONOTONIC */
	uint64_t chunks, snapshots;
	bool indexed; /* it has its end frame, and its index is complete */
};
/* From the index, or from the frames' heads; does not read chunks. 0 or -errno; -ESPIPE on a stream. */
int pm_reader_extent(struct pm_reader *r, struct pm_extent *x);

/* The clocks in the heads of the first chunks of this recording: at most `max`, up to the first that is `enough_ns`
 * of CLOCK_MONOTONIC after the first one. Sets the model's counter_hz from them. Their number; 0 on a stream;
 * -errno. */
int pm_reader_clocks(struct pm_reader *r, struct pm_clocks *clocks, size_t max, uint64_t enough_ns);

/* Valid until the reader is closed; pm_reader_next() changes it. */
const struct pm_model *pm_reader_model(const struct pm_reader *r);
/* All damage so far, with both ends of the time range if known. The entry of an item grows if the damage continues
 * directly after it. */
const struct pm_damage *pm_reader_damage(const struct pm_reader *r, size_t *n);
/* Wall time (ns since 1970) of a CLOCK_MONOTONIC time, from the nearest chunk's clocks; 0 if not recorded. */
uint64_t pm_reader_realtime(const struct pm_reader *r, uint64_t monotonic_ns);

/* Bytes from the input so far, without skipped ones. */
uint64_t pm_reader_bytes(const struct pm_reader *r);
