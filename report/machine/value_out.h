/* Values of a recording's maps, as text for people and as JSON. */
#pragma once

#include "common/buf.h"
#include "common/json.h"
#include "common/number.h"
#include "format/reader.h"

/* Appends the value; not escaped, because tables do that. Arrays: "a, b", pairs: "a=b". Bytes: hexadecimal. */
void value_text(const struct pm_value *v, struct buf *out);
/* NULL only without memory. Bytes become hexadecimal text. */
struct json *value_json(const struct pm_value *v);
/* The value as it is shown: of a remark its text, which *made owns. */
const struct pm_value *value_shown(const struct pm_key_row *rows, const struct pm_field *f, struct pm_value *made);
/* An object with the names of the rows; a key without row is "key-N". */
struct json *map_json(const struct pm_map *m, const struct pm_key_row *rows);
/* Ns since 1970 as RFC 3339; null for 0. */
struct json *time_json(uint64_t wall_ns);
/* "name=value name=value", in the order of keys. */
void map_text(const struct pm_map *m, const struct pm_key_row *rows, struct buf *out);
/* Name of a key; buf for one that has none. */
const char *key_name(const struct pm_key_row *rows, uint32_t key, char buf[static 16]);
/* "machine", "person", "time"; NULL for technical keys. */
const char *privacy_name(enum pm_privacy privacy);
/* Stable id of a kind of damage: "garbage", "cut", "no-end" ... */
const char *damage_name(enum pm_damage_kind kind);
/* Appends one sentence: which bytes, what is lost with them, and when. Nothing in it is of the recording. */
void damage_text(const struct pm_damage *d, struct buf *out);
/* A list of them, likewise. NULL only without memory. */
struct json *damage_json(const struct pm_damage *d, size_t n);
