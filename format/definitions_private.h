/* Shared by the files that turn bodies back into the model. */
#pragma once

#include "format/definitions.h"
#include "format/definitions_key.h"
#include "format/definitions_take.h"
#include "format/limits.h"
#include "format/model_private.h"

struct decoding {
	struct cbor c;
	struct pm_model *m;
	struct definitions_seen *seen;
	uint64_t base_ns;      /* from which times count */
	bool news;             /* something was not known before */
	const char *newer;     /* what this version cannot read in the current definition; NULL: nothing, ... */
	uint32_t newer_number; /* ... and its number */
};

/* Adds `n` to `*used`. Its limit grows with the bytes of the definitions, because a few bytes can name many things;
 * -E2BIG in d->c beyond it. */
void take_room(struct decoding *d, uint64_t *used, uint64_t n, uint64_t free, uint64_t by_byte);
/* A number that may be unknown (all up to `last` are known) and then critical; a key that is unknown. */
void look_at_number(struct decoding *d, const char *what, uint32_t number, uint32_t last);
void look_at_key(struct decoding *d, uint32_t key);
void look_at_attrs(struct decoding *d, const struct pm_map *attrs);
/* Notes that of a new definition; whether there was something. */
bool is_newer(struct decoding *d, bool known, const char *what, const char *name, uint32_t id);
/* The bodies of one kind of frame each. Errors are left in d->c. */
void decode_schema(struct decoding *d);
void decode_instances(struct decoding *d);
void decode_pmus(struct decoding *d);
void decode_probes(struct decoding *d);
void decode_config(struct decoding *d);
