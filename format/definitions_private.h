/* Shared by the files that turn bodies back into the model. */
#ifndef FORMAT_DEFINITIONS_PRIVATE_H
#define FORMAT_DEFINITIONS_PRIVATE_H

#include "format/cbor.h"
#include "format/definitions.h"
#include "format/definitions_key.h"
#include "format/limits.h"
#include "format/model_private.h"

#define ATTRS_DEPTH CBOR_ATTRS_DEPTH

struct decoding {
	struct cbor c;
	struct pm_model *m;
	bool news; /* something was not known before */
};

uint32_t take_u32(struct cbor *c, uint32_t max);
/* A C string: a NUL inside would hide what follows it. */
void take_text(struct cbor *c, char **out);
void take_attrs(struct cbor *c, struct pm_map *attrs);

void decode_schema(struct decoding *d);
void decode_instances(struct decoding *d);
void decode_pmus(struct decoding *d, struct definitions_seen *seen);
void decode_probes(struct decoding *d, struct definitions_seen *seen);
void decode_config(struct decoding *d);

#endif
