/*
 * Limits of a recording (SPEC.md, "Limits"). Readers enforce them before they allocate; writers do not exceed them.
 */
#pragma once

#define PM_MAX_META      (4u << 20)   /* bytes of a frame's meta */
#define PM_MAX_PAYLOAD   (256u << 20) /* bytes of a frame's payload, as stored */
#define PM_MAX_BODY      (64u << 20)  /* bytes of a definition after decompression */
#define PM_MAX_CHUNK_RAW (256u << 20) /* rows x columns x 8 of one chunk */
#define PM_MAX_BLOCK_RAW (64u << 20)  /* bytes of a block after decompression */
#define PM_MAX_DEPTH     12           /* nesting of CBOR items */
#define PM_MAX_STRING    (1u << 20)   /* bytes of one text or byte string in a definition */
#define PM_MAX_NAME      512          /* bytes of a counter name */
#define PM_MAX_COUNTERS  (1u << 20)
#define PM_MAX_INSTANCES (1u << 20)
#define PM_MAX_GROUPS    (1u << 20)
#define PM_MAX_COLUMNS   (1u << 22) /* columns of one group */
#define PM_MAX_STRINGS   (1u << 20)
#define PM_MAX_CPUS      65536
#define PM_MAX_CONFIGS   (1u << 20)
#define PM_MAX_PMUS      (1u << 14)
#define PM_MAX_PROBES    (1u << 16)
#define PM_MAX_INDEX     (1u << 20)   /* frames that one index frame may name */
#define PM_MAX_CATALOG   (1u << 22)   /* key chunks and definitions that a reader remembers for seeking */
#define PM_FREE_COLUMNS  (256u << 10) /* columns of all groups that any recording may have, ... */
#define PM_BYTE_COLUMNS  64           /* ... and more for each byte of definitions */
#define PM_FREE_IDS      (4u << 20)   /* the same for ids that lists name in short form */
#define PM_BYTE_IDS      1024
#define PM_FREE_GROUPS   (4u << 20) /* the same for groups that chunks name, by their bytes */
#define PM_BYTE_GROUPS   16
#define PM_FREE_VALUES   (8u << 20) /* the same for values of chunks, by bytes read */
#define PM_BYTE_VALUES   1024
#define PM_FREE_BODY     (1u << 20)   /* bytes that any compressed body may expand to, ... */
#define PM_BYTE_BODY     1000         /* ... and more for each stored byte */
#define PM_MAX_MODEL     (512u << 20) /* bytes of memory for all definitions */
