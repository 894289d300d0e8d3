/* What the fields of definitions consist of. A malformed field sets the error of the decoder. */
#pragma once

#include "format/cbor.h"
#include "format/model.h"

#define ATTRS_DEPTH CBOR_ATTRS_DEPTH

/* A number up to max; 0 after an error. */
uint32_t take_u32(struct cbor *c, uint32_t max);
/* An instance's kind. One of a newer version stands beside what is known, as devices do; *said is its number. */
enum pm_kind take_kind(struct cbor *c, uint32_t *said);
/* Nanoseconds less base_ns, below 2^63 in all. */
uint64_t take_time(struct cbor *c, uint64_t base_ns);
/* A C string: a NUL inside would hide what follows it. Frees what *out held; the caller owns what it holds now. */
void take_text(struct cbor *c, char **out);
/* Releases what *attrs held; the caller owns what it holds now. */
void take_attrs(struct cbor *c, struct pm_map *attrs);
