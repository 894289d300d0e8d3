/* The bodies of definition, event and index frames: the model to CBOR and back. */
#ifndef FORMAT_DEFINITIONS_H
#define FORMAT_DEFINITIONS_H

#include "common/buf.h"
#include "format/model.h"

/* Items [from, to) of one list of the model. */
struct span {
	uint32_t from, to;
};

/* A slice of definitions stops growing here, so that a frame stays far below PM_MAX_BODY. */
#define DEFINITIONS_SLICE (1u << 20)

/* Each appends one body. Those that take spans move `from` behind what they took; call until all are empty. */
void encode_header(struct buf *out, const struct pm_model *m);
void encode_topology(struct buf *out, const struct pm_topology *t);
void encode_schema(struct buf *out, const struct pm_model *m, struct span *counters, struct span *groups,
		   struct span *strings);
void encode_instances(struct buf *out, const struct pm_model *m, struct span *instances);
/* Retirements of instances that were written before: [id, time ...]. */
void encode_retired(struct buf *out, const uint64_t *pairs, size_t n);
void encode_pmus(struct buf *out, const struct pm_model *m, struct span *pmus);
void encode_probes(struct buf *out, const struct pm_model *m, struct span *probes);
/* `chosen` may be NULL: all of the span. */
void encode_config(struct buf *out, const struct pm_model *m, struct span *configs,
		   bool (*chosen)(const void *ctx, uint32_t index), const void *ctx);
void encode_event(struct buf *out, const struct pm_event *e);

/* Adds what the body says to the model; what is there already must be the same. `seen` counts the PMUs and probes,
 * which have no ids. Sets pm_model_parts that were touched, PM_PART_REPEATED if nothing was new. 0; -EBADMSG: breaks
 * the rules; -ENOLINK: builds on definitions that are not there; -E2BIG: beyond the limits; -ENOMEM. */
struct definitions_seen {
	uint32_t pmus, probes;
	uint64_t stored;       /* bytes of definitions so far, as stored; the caller counts them */
	uint64_t columns, ids; /* what they asked for, which is bounded by that */
};
int decode_definitions(struct pm_model *m, unsigned type, const void *body, size_t len, struct definitions_seen *seen,
		       unsigned *parts);
/* Fills *e, which the caller releases after a 0. 0, -EBADMSG, -ENOMEM. */
int decode_event(struct pm_event *e, const void *body, size_t len);

#endif
