/* The bodies of definition, event and index frames: the model to CBOR and back. */
#pragma once

#include "common/buf.h"
#include "format/cbor.h"
#include "format/model.h"

/* Items [from, to) of one list of the model. */
struct span {
	uint32_t from, to;
};

/* Ids that were written as live, and have retired. */
struct retired {
	const uint32_t *id;
	uint32_t n;
};

/* A slice of definitions stops growing here, so that a frame stays far below PM_MAX_BODY. */
#define DEFINITIONS_SLICE (1u << 20)

/* Each appends one body. Those that take spans move `from` after what they took; call until all are empty. */
void encode_header(struct buf *out, const struct pm_model *m);
void encode_topology(struct buf *out, const struct pm_topology *t);
/* Spans of groups and instances are places in the model. `live`: without those that have retired, and every group in
 * full, as a repetition has them. Retired groups go out with the last of the schema, which empties *retired. */
void encode_schema(struct buf *out, const struct pm_model *m, struct span *counters, struct span *groups,
		   struct span *strings, struct retired *retired, bool live);
void encode_instances(struct buf *out, const struct pm_model *m, struct span *instances,
		      const struct retired *retired, bool live);
void encode_pmus(struct buf *out, const struct pm_model *m, struct span *pmus);
void encode_probes(struct buf *out, const struct pm_model *m, struct span *probes);
/* `chosen` may be NULL: all of the span. */
void encode_config(struct buf *out, const struct pm_model *m, struct span *configs,
		   bool (*chosen)(const void *ctx, uint32_t index), const void *ctx);
/* One item of the list, whose times count from `base_ns`; and the body around `n` of them. */
void encode_event(struct buf *items, const struct pm_event *e, uint64_t base_ns);
void encode_events(struct buf *out, uint64_t base_ns, uint32_t n, const struct buf *items);

/* Adds the body to the model; known definitions must be the same. `seen` counts the PMUs and probes, which have no
 * ids. Sets pm_model_parts that were touched, PM_PART_REPEATED if nothing was new. 0; -EBADMSG: breaks the rules;
 * -ENOLINK: builds on definitions that are not there; -E2BIG: beyond the limits. */
struct definitions_seen {
	uint32_t pmus, probes;
	uint32_t copy;         /* of all definitions, by the caller's count: goes to instances and groups */
	uint64_t stored;       /* bytes of definitions so far, as stored; the caller counts them */
	uint64_t columns, ids; /* what they requested, which is bounded by that */
	uint32_t *group;       /* owned: ids of the groups of the last body that continue others, in its order */
	uint32_t n_groups;
	struct buf *newer; /* borrowed, may be NULL: see newer_note() */
	enum pm_rule rule; /* what the last body broke, if it was -EBADMSG */
};
/* Adds a line about what this version cannot read, unless it is there or there are many. */
void newer_note(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void definitions_seen_release(struct definitions_seen *s);
int decode_definitions(struct pm_model *m, unsigned type, const void *body, size_t len, struct definitions_seen *seen,
		       unsigned *parts);
/* The events of a body, one after the other: each is the caller's to release. 0, or -EBADMSG with *rule. */
int decode_events(const void *body, size_t len, void (*take)(void *ctx, struct pm_event *e), void *ctx,
		  enum pm_rule *rule);

#define ATTRS_DEPTH CBOR_ATTRS_DEPTH

/* What the fields of definitions and heads of chunks consist of; a malformed field sets the error of the decoder. A
 * number up to max; 0 after an error. */
uint32_t take_u32(struct cbor *c, uint32_t max);
/* A C string: a NUL inside would hide what follows it. Frees what *out held; the caller owns what it holds now. */
void take_text(struct cbor *c, char **out);

/* Keys inside the bodies of definition frames, in the order of SPEC.md. */
enum topology_key {
	TOPOLOGY_TIME = 1,
	TOPOLOGY_CPU = 2, /* this and the next up to ONLINE: one number a CPU, -1 = unknown */
	TOPOLOGY_PACKAGE = 3,
	TOPOLOGY_DIE = 4,
	TOPOLOGY_CLUSTER = 5,
	TOPOLOGY_CORE = 6,
	TOPOLOGY_NODE = 7,
	TOPOLOGY_THREAD = 8,
	TOPOLOGY_L1D = 9,
	TOPOLOGY_L1I = 10,
	TOPOLOGY_L2 = 11,
	TOPOLOGY_L3 = 12,
	TOPOLOGY_TYPE = 13,
	TOPOLOGY_CAPACITY = 14,
	TOPOLOGY_ONLINE = 15, /* 1 or 0 */
	TOPOLOGY_TYPE_NAMES = 16,
};

enum schema_key {
	SCHEMA_FIRST_COUNTER = 1,
	SCHEMA_COUNTERS = 2,
	SCHEMA_FIRST_GROUP = 3, /* or [first, count ...] */
	SCHEMA_GROUPS = 4,
	SCHEMA_FIRST_STRING = 5,
	SCHEMA_STRINGS = 6,
	SCHEMA_RETIRED = 7, /* groups: [first, count ...] */
};

enum counter_key {
	COUNTER_NAME = 1,
	COUNTER_DISPLAY = 2, /* absent: the name */
	COUNTER_SOURCE = 3,
	COUNTER_UNIT = 4,
	COUNTER_SCALE = 5,       /* text, or [num, den]; absent: 1/1 */
	COUNTER_TYPE = 6,        /* absent: u64 */
	COUNTER_SEMANTICS = 7,   /* absent: cumulative */
	COUNTER_WIDTH = 8,       /* absent: 64 */
	COUNTER_AGGREGATION = 9, /* absent: sum */
	COUNTER_ATTRS = 10,
	COUNTER_COLUMNS = 11, /* absent: 1 */
};

enum group_key {
	GROUP_SOURCE = 1,
	GROUP_FLAGS = 2,     /* absent: 0 */
	GROUP_COUNTERS = 3,  /* [first, count, step ...] */
	GROUP_INSTANCES = 4, /* likewise; with GROUP_CONTINUES: the new ones */
	GROUP_CONTINUES = 5, /* id; keys 1 to 3 are that group's where absent */
	GROUP_LEFT = 6,      /* of that group's instances: [stay, leave ...]; after the last all stay */
};

enum instances_key {
	INSTANCES_BASE = 1,  /* absent: 0; all times count from it */
	INSTANCES_FIRST = 2, /* or [first, count ...] */
	INSTANCES_LIST = 3,
	INSTANCES_RETIRED = 4, /* [id less the previous one, time less the previous one ...] */
};

enum instance_key {
	INSTANCE_KIND = 1,
	INSTANCE_NUMBER = 2, /* absent: none; so the next */
	INSTANCE_CPU = 3,
	INSTANCE_ADDED = 4, /* absent: 0 */
	INSTANCE_RETIRED = 5,
	INSTANCE_ATTRS = 6,
};

enum list_key { /* PMUs, probes */
		LIST_FIRST = 1,
		LIST_ITEMS = 2,
};

enum probe_key {
	PROBE_SOURCE = 1,
	PROBE_WHAT = 2,
	PROBE_HINT = 3,
	PROBE_REASON = 4,
	PROBE_ATTRS = 5,
};

enum config_key {
	CONFIG_ITEMS = 1, /* of the body */
	CONFIG_NAME = 1,
	CONFIG_TIME = 2,
	CONFIG_KIND = 3,
	CONFIG_INSTANCES = 4, /* [first, count ...] */
	CONFIG_REASON = 5,    /* absent: there is a value */
	CONFIG_VALUE = 50,    /* + 100 x privacy class */
};

enum events_key {
	EVENTS_BASE = 1, /* absent: 0; times count from it */
	EVENTS_LIST = 2,
};

enum event_body_key {
	EVENT_TYPE = 1,
	EVENT_TIME = 2,
	EVENT_ATTRS = 3,
};
