/*
 * Frames (SPEC.md, "Frames"), which hold every part of a recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "format/cbor.h"

#define PM_MAJOR 1

enum pm_frame_type {
	PM_FRAME_HEADER = 1,
	PM_FRAME_TOPOLOGY = 2,
	PM_FRAME_SCHEMA = 3,
	PM_FRAME_INSTANCES = 4,
	PM_FRAME_PMUS = 5,
	PM_FRAME_PROBES = 6,
	PM_FRAME_CONFIG = 7,
	PM_FRAME_CHUNK = 8,
	PM_FRAME_EVENT = 9,
	PM_FRAME_INDEX = 10,
	PM_FRAME_END = 11,
};
/* "header", "chunk", ...; NULL for an unknown type. */
const char *pm_frame_name(unsigned type);

/* Whether what follows a frame that cannot be read depends on it. */
static inline bool pm_frame_critical(unsigned type)
{
	return type <= PM_FRAME_CHUNK || (type > PM_FRAME_END && type < 64 && !(type & (type < 48 ? 32 : 8)));
}

/* Keys of a frame's meta map. */
enum pm_meta_key {
	PM_META_PAYLOAD = 1,    /* bytes of the payload; absent: 0 */
	PM_META_CODEC = 2,      /* bodies: enum pm_body_codec; chunks: enum pm_codec */
	PM_META_RAW = 3,        /* bytes of the payload before compression */
	PM_META_REPEATED = 4,   /* true: all of it was written before */
	PM_META_RUN = 5,        /* chunk: absent: 1 */
	PM_META_SEGMENT = 6,    /* chunk: absent: 0 */
	PM_META_ROWS = 7,       /* chunk: absent: 1 */
	PM_META_STEP = 8,       /* key chunk: ns between ticks */
	PM_META_TICK = 9,       /* first tick */
	PM_META_TICKS = 10,     /* the other ticks */
	PM_META_NUMBER = 11,    /* first tick number */
	PM_META_NUMBERS = 12,   /* the other tick numbers */
	PM_META_FLAGS = 13,     /* [row, flags ...] */
	PM_META_CLOCKS = 14,    /* [monotonic, monotonic_raw, boottime, counter] */
	PM_META_BASE = 15,      /* dependent chunk: CRC of the head of the chunk before it */
	PM_META_GROUPS = 16,    /* [first id, count ...]; absent: as in the base */
	PM_META_BLOCKS = 17,    /* [stored, raw, crc, groups ...] */
	PM_META_OFFSET = 18,    /* index, end: own offset from the start of the recording */
	PM_META_INDEX = 19,     /* index, end: distance back to the newest index frame */
	PM_META_LOST = 20,      /* chunk: [first id, count ...] */
	PM_META_REALTIME = 300, /* chunk: CLOCK_REALTIME */
};

/* PM_META_CODEC of a body. */
enum pm_body_codec {
	PM_BODY_STORED = 0,
	PM_BODY_ZSTD = 1,
	PM_BODY_ZSTD_KNOWN = 2, /* zstd with the frozen dictionary */
};

#define FRAME_MAGIC_LEN 12 /* tag, array head, bstr head, magic without the major version */
extern const uint8_t frame_magic[FRAME_MAGIC_LEN];
#define FRAME_TRAILER  5 /* the payload's checksum */
#define FRAME_END_SIZE 64
#define FRAME_LEAST    37 /* bytes of a frame without a payload */
/* Bytes that hold any head without its meta. */
#define FRAME_PROBE 64

struct frame_head {
	unsigned type;
	uint64_t sequence;
	uint8_t id[8];
	const uint8_t *meta; /* the CBOR map inside the byte string */
	size_t meta_len;
	uint32_t crc;    /* of the head */
	size_t head_len; /* bytes before the payload's first */
	uint64_t payload_len;
};
static inline uint64_t frame_len(const struct frame_head *h)
{
	return h->head_len + h->payload_len + FRAME_TRAILER;
}

/* What the meta of a frame other than a chunk says. */
struct frame_meta {
	uint64_t codec, raw;    /* enum pm_body_codec; bytes of the body */
	uint64_t offset, index; /* index, end */
	bool repeated;
	enum pm_rule rule; /* what it breaks; PM_RULE_NONE: none */
};
void frame_meta(const struct frame_head *h, struct frame_meta *m);

enum { FRAME_OK = 1, FRAME_SHORT = 0 };
/* FRAME_OK; FRAME_SHORT, with *need as the number of bytes to continue; -EBADMSG: no frame, or damaged; -ENOTSUP: of
 * another major version, *major. Uses nothing of the meta before the head's checksum holds. */
int frame_parse(const uint8_t *data, size_t len, struct frame_head *h, size_t *need, unsigned *major);

/* Appends a frame, and returns the checksum of its head. */
uint32_t frame_add(struct buf *out, unsigned type, uint64_t sequence, const uint8_t id[static 8],
		   const struct buf *meta, const void *payload, size_t payload_len);
/* The checksum in the trailer at `at`. 0, or -EBADMSG without one. */
int frame_trailer(const uint8_t at[static FRAME_TRAILER], uint32_t *crc);
