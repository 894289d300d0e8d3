/*
 * Typed values and maps with integer keys, in which a recording stores everything but counter values. A key's number
 * is its privacy class (SPEC.md, "Privacy"): 1-99 technical, 100-199 identity of the machine, 200-299 person or
 * workload, 300-399 absolute time. Redaction needs nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pm_value_kind {
	PM_VALUE_U64,
	PM_VALUE_S64, /* only negative numbers; others are PM_VALUE_U64 */
	PM_VALUE_F64,
	PM_VALUE_BOOL,
	PM_VALUE_TEXT, /* UTF-8 with any characters; escape it for terminals */
	PM_VALUE_BYTES,
	PM_VALUE_ARRAY,
	PM_VALUE_MAP,
};

struct pm_value;

/* Sorted by key, keys unique. */
struct pm_map {
	struct pm_field *field; /* owned */
	uint32_t n, cap;
};

struct pm_value {
	enum pm_value_kind kind;
	union {
		uint64_t u64;
		int64_t s64;
		double f64;
		bool boolean;
		struct {
			char *data; /* owned; for TEXT and BYTES a NUL follows the last byte */
			size_t len;
		} str;
		struct {
			struct pm_value *item; /* owned */
			uint32_t n;
		} array;
		struct pm_map map; /* owned */
	};
};

struct pm_field {
	uint32_t key;
	struct pm_value value;
};

enum pm_privacy {
	PM_PRIVACY_TECHNICAL = 0, /* keys 1-99 */
	PM_PRIVACY_MACHINE = 1,   /* keys 100-199 */
	PM_PRIVACY_PERSON = 2,    /* keys 200-299 */
	PM_PRIVACY_TIME = 3,      /* keys 300-399 */
};

/* What a key reveals; keys from 400 on count as personal. */
static inline enum pm_privacy pm_key_privacy(uint32_t key)
{
	return (enum pm_privacy)(key / 100 > 3 ? PM_PRIVACY_PERSON : key / 100);
}

/* Frees what the value owns, and sets it to U64 0. */
void pm_value_release(struct pm_value *v);
/* A deep copy. Does not free what *to held. 0 or -ENOMEM. */
int pm_value_copy(struct pm_value *to, const struct pm_value *from);
/* Same kind and contents; doubles are equal if their bits are, so that a NaN equals itself. */
bool pm_value_equal(const struct pm_value *a, const struct pm_value *b);

/* Constructors; the caller owns the result. Without memory str.data or array.item is NULL. */
struct pm_value pm_u64(uint64_t v);
struct pm_value pm_s64(int64_t v);
struct pm_value pm_f64(double v);
struct pm_value pm_bool(bool v);
struct pm_value pm_text(const char *text);
struct pm_value pm_text_n(const char *text, size_t len);
struct pm_value pm_bytes(const void *data, size_t len);
struct pm_value pm_array(uint32_t n); /* n items of U64 0 */

/* Frees all fields and empties the map. */
void pm_map_release(struct pm_map *m);
/* A deep copy. Does not free what *to held. 0 or -ENOMEM. */
int pm_map_copy(struct pm_map *to, const struct pm_map *from);
/* Same keys with equal values. */
bool pm_map_equal(const struct pm_map *a, const struct pm_map *b);
/* Adds or replaces; takes ownership of `v` in every case. 0, or -ENOMEM, also for a failed constructor. */
int pm_map_set(struct pm_map *m, uint32_t key, struct pm_value v);
/* Ignores a missing key. */
void pm_map_remove(struct pm_map *m, uint32_t key);
/* NULL if the key is missing. Valid until the map changes. */
const struct pm_value *pm_map_get(const struct pm_map *m, uint32_t key);
/* The fallback if the key is missing or has another kind. The map owns the text. */
const char *pm_map_text(const struct pm_map *m, uint32_t key, const char *fallback);
uint64_t pm_map_u64(const struct pm_map *m, uint32_t key, uint64_t fallback);
bool pm_map_bool(const struct pm_map *m, uint32_t key, bool fallback);
