/* Keys inside the bodies of definition frames, in the order of SPEC.md. */
#pragma once

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
