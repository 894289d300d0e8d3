/*
 * The part of CBOR (RFC 8949) that recordings use. The encoder writes core deterministic encoding. The pull decoder
 * accepts any well-formed item of definite length, stays within its bounds, and does not allocate.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "format/value.h"

/* The rules of SPEC.md that a frame with good checksums may break, so that the writer of one learns which. */
/* clang-format off */
#define PM_RULES(X) \
	X(KIND, "Conventions", "each item is well-formed, of a definite length, of the kind that its table says, and nothing follows") \
	X(KEYS, "Conventions", "keys of maps are unsigned integers up to 511, each there once") \
	X(ORDER, "Conventions", "the keys of a body ascend") \
	X(PAIRS, "Conventions", "a list of pairs or triples does not end inside one") \
	X(REQUIRED, "Conventions", "no key is missing that its table calls required") \
	X(VALUES, "Conventions", "values of attributes are numbers, booleans, strings, and arrays and maps of these") \
	X(TEXT, "Conventions", "texts are UTF-8 without NUL") \
	X(RANGE, "Conventions", "a number is in the range that its table says") \
	X(LIMIT, "Limits", "sizes, counts and depth stay within the table") \
	X(TIME, "Limits", "times are below 2^63 ns") \
	X(BODY, "Frames", "a compressed body is one zstd frame, with the content size that key 3 of meta says") \
	X(FIRST, "Definitions", "a list of definitions has a `first` of 1 or more") \
	X(LISTED, "Definitions", "runs of ids ascend, have a count, and give each item of the list one id") \
	X(SAME, "Definitions", "a definition is the same as the known one of its id") \
	X(CPUS, "Topology (type 2)", "arrays have one number a CPU; those of array 2 are known and ascend") \
	X(SCALE, "Schema (type 3)", "a scale is two numbers above 0, or a decimal text") \
	X(WIDTH, "Schema (type 3)", "the width is 1 to 64 bits") \
	X(STRING, "Schema (type 3)", "strings are texts or bytes") \
	X(RUNS, "Schema (type 3)", "counters and instances of groups are runs [first, count, step], with a count that is not 0") \
	X(GROUP, "Schema (type 3)", "a group has a source, and counters and instances that are defined, no column twice; a counter has a name of its own, of 1 to 512 bytes") \
	X(CONTINUE, "Schema (type 3)", "a group that continues one of a smaller id has no counters or flags, and instances of it stay or leave") \
	X(RETIRED, "Instances (type 4)", "retired ids are from 1 to 2^32 - 1, each less the one before") \
	X(CONFIG, "Config (type 7)", "an entry has one value, or else a reason that is not 0") \
	X(NUMBERS, "Config (type 7)", "numbers of instances are runs that ascend") \
	X(EVENT, "Events (type 9)", "types of events are from 1 to 2^31 - 1") \
	X(ROWS, "Chunks", "a chunk has 1 to 128 rows, and arrays 10 and 12 one number fewer") \
	X(FLAGS, "Chunks", "rows with flags ascend") \
	X(NAMED, "Chunks", "groups are runs [first, count], each named once") \
	X(CLOCKS, "Chunks", "there are four clocks or more") \
	X(CHUNK, "Chunks", "a key chunk has keys 8 and 16, each chunk keys 14 and 17") \
	X(DEPENDENT, "Chunks", "a dependent chunk has the run, segment and clocks of the previous one, and not codec 1") \
	X(ASCEND, "Limits", "ticks do not decrease") \
	X(BLOCKS, "Blocks", "the blocks have all bytes of the payload and all groups") \
	X(BLOCK, "Blocks", "a block is stored, or one zstd frame of `raw` bytes, at most 40,000 times its stored bytes") \
	X(STATUS, "Blocks", "counts and reasons of missing values are not 0, and within the values of the group") \
	X(PLAIN, "Blocks", "a plain matrix has a typed array of the right tag and length for each band") \
	X(PACKED, "Packed columns", "the forms of a packed matrix use its bytes exactly")
/* clang-format on */

enum pm_rule {
	PM_RULE_NONE,
#define X(name, section, text) PM_RULE_##name,
	PM_RULES(X)
#undef X
		PM_RULE_COUNT
};

/* "Conventions: the keys of a body ascend". */
const char *pm_rule_text(enum pm_rule rule);

enum cbor_major {
	CBOR_UINT = 0,
	CBOR_NINT = 1,
	CBOR_BYTES = 2,
	CBOR_TEXT = 3,
	CBOR_ARRAY = 4,
	CBOR_MAP = 5,
	CBOR_TAG = 6,
	CBOR_SIMPLE = 7,
	CBOR_END = 8, /* the end, or the decoder has failed */
};

/* ---- encoding; the buffer keeps the error ---- */

/* A major type and its argument, in the fewest bytes. */
void cbor_add_head(struct buf *b, enum cbor_major major, uint64_t argument);
void cbor_add_uint(struct buf *b, uint64_t v);
void cbor_add_int(struct buf *b, int64_t v);
void cbor_add_bytes(struct buf *b, const void *data, size_t len);
/* U+FFFD replaces what is not UTF-8: kernel files may hold it, CBOR text may not. */
void cbor_add_text(struct buf *b, const char *text, size_t len);
void cbor_add_bool(struct buf *b, bool v);
/* The shortest of half, single and double that equals the number. */
void cbor_add_double(struct buf *b, double v);
/* Nesting levels of values inside a body; the whole then stays within PM_MAX_DEPTH. */
#define CBOR_ATTRS_DEPTH 9
/* Fails with -E2BIG or -EINVAL for strings, nesting and keys that readers refuse. */
void cbor_add_value(struct buf *b, const struct pm_value *v);
void cbor_add_map(struct buf *b, const struct pm_map *m);

/* A map of up to CBOR_FIELDS_MAX fields whose number is not known in advance: each call adds a key; its value must
 * follow. Keys must ascend. */
#define CBOR_FIELDS_MAX 23
struct cbor_fields {
	struct buf *out;
	size_t head;
};
struct cbor_fields cbor_fields(struct buf *b);
void cbor_field(struct cbor_fields *f, uint32_t key);
void cbor_field_uint(struct cbor_fields *f, uint32_t key, uint64_t v);
void cbor_field_int(struct cbor_fields *f, uint32_t key, int64_t v);
/* Omits the field if its value is `unless`, which readers assume for a missing key. */
void cbor_field_unless(struct cbor_fields *f, uint32_t key, uint64_t v, uint64_t unless);
/* An array of n items, which were gathered before, because its head has their count. */
void cbor_field_items(struct cbor_fields *f, uint32_t key, uint64_t n, const struct buf *items);
/* An array [first, count ...] of ids. */
void cbor_field_ranges(struct cbor_fields *f, uint32_t key, const uint32_t *id, size_t n);

/* ---- decoding ---- */

/* A cursor. After the first failure, which `err` keeps, every call returns 0 and cbor_peek() CBOR_END. */
struct cbor {
	const uint8_t *at, *end;
	int err;            /* 0 or -EBADMSG; what uses it may set others */
	unsigned char rule; /* enum pm_rule: what the first failure broke */
};

static inline struct cbor cbor_over(const void *data, size_t len)
{
	return (struct cbor){ .at = data, .end = (const uint8_t *)data + len };
}

/* The type of the next item, which stays. */
enum cbor_major cbor_peek(const struct cbor *c);
/* Each takes one item of its type; any other type fails. Texts and bytes point into the input. */
uint64_t cbor_uint(struct cbor *c);
int64_t cbor_int(struct cbor *c); /* unsigned or negative, within 64 bits */
bool cbor_bool(struct cbor *c);
double cbor_double(struct cbor *c); /* any float width, or an integer */
const uint8_t *cbor_bytes(struct cbor *c, size_t *len);
const char *cbor_text(struct cbor *c, size_t *len); /* valid UTF-8; not terminated */
/* The number of items that follow, at most that of the bytes left. */
size_t cbor_array(struct cbor *c);
/* The same; fails if the array ends inside a tuple of `size` items. */
size_t cbor_tuples(struct cbor *c, size_t size);
uint64_t cbor_tag(struct cbor *c);
/* Skips one item with everything in it. */
void cbor_skip(struct cbor *c);
/* Fails if bytes are left. Returns err. */
int cbor_finish(struct cbor *c);
/* Marks the input as malformed: it breaks this rule. */
void cbor_fail(struct cbor *c, enum pm_rule rule);

/* Walks a map with unsigned keys up to CBOR_KEY_MAX in any order; duplicate keys fail.
 *   cbor_map(c, &m); while (cbor_next(c, &m)) switch (m.key) { ... default: cbor_skip(c); }
 * The body must take exactly one item. */
#define CBOR_KEY_MAX 511
struct cbor_map {
	size_t left;
	uint32_t key;
	bool ascending;
	uint64_t seen[(CBOR_KEY_MAX + 1) / 64];
};
void cbor_map(struct cbor *c, struct cbor_map *m);
/* The same for the map that a body is: keys that do not ascend fail, since some say how to read what follows. */
void cbor_body(struct cbor *c, struct cbor_map *m);
bool cbor_next(struct cbor *c, struct cbor_map *m);

/* These allocate, as common/memory.h does; the caller releases the result, also after a failure. `depth`: nesting
 * levels that are still allowed. What struct pm_value cannot hold (tags, null, undefined, maps with other keys, and
 * what has these inside) fails, but is dropped from maps. */
void cbor_value(struct cbor *c, struct pm_value *v, unsigned depth);
void cbor_value_map(struct cbor *c, struct pm_map *m, unsigned depth);
