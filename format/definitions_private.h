/* Shared by the files that turn bodies back into the model. */
#ifndef FORMAT_DEFINITIONS_PRIVATE_H
#define FORMAT_DEFINITIONS_PRIVATE_H

#include "format/definitions.h"
#include "format/definitions_key.h"
#include "format/definitions_take.h"
#include "format/limits.h"
#include "format/model_private.h"

struct decoding {
	struct cbor c;
	struct pm_model *m;
	struct definitions_seen *seen;
	uint64_t base_ns; /* from which times count */
	bool news;        /* something was not known before */
};

/* A few bytes can name many things. Takes `n` from the room for `*used`, of which the bytes of the definitions make more;
 * -E2BIG in d->c if there is none. */
void take_room(struct decoding *d, uint64_t *used, uint64_t n, uint64_t free, uint64_t by_byte);
/* The bodies of one kind of frame each. Errors are left in d->c. */
void decode_schema(struct decoding *d);
void decode_instances(struct decoding *d);
void decode_pmus(struct decoding *d);
void decode_probes(struct decoding *d);
void decode_config(struct decoding *d);

#endif
