/*
 * Counters that the kernel does not describe: names, units, widths. Data for both programs; sources turn rows into
 * counters of a recording.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Values equal those of format/model.h, which this folder may not include; a test compares them. */
enum catalog_semantics {
	CATALOG_CUMULATIVE = 0,
	CATALOG_DELTA = 1,
	CATALOG_GAUGE = 2,
	CATALOG_PEAK = 3,
	CATALOG_STATE = 4,
	CATALOG_BITFIELD = 5,
};
enum catalog_aggregation {
	CATALOG_SUM = 0,
	CATALOG_MEAN = 1,
	CATALOG_MAX = 2,
	CATALOG_MIN = 3,
	CATALOG_FIRST = 4,
	CATALOG_NONE = 5,
};
enum catalog_type {
	CATALOG_U64 = 0,
	CATALOG_S64 = 1,
	CATALOG_F64 = 2,
	CATALOG_TEXT = 3,
};

/*
 * `name` is the counter's full name ("stat.user"). The source replaces a '*' in it by the member's name
 * ("cpuidle.time.*" -> "cpuidle.time.c1"); the text before ".*" is the family. `key` is the counter's name in the
 * kernel's file ("user" column, "nr_free_pages", "time"), for sources that match by it.
 */
struct catalog_counter {
	const char *source;
	const char *name;
	const char *display; /* may hold '*' */
	const char *key;
	const char *unit; /* UCUM */
	const char *help;
	uint64_t num, den;   /* scale; 0 stands for 1 */
	uint8_t type;        /* catalog_type */
	uint8_t semantics;   /* catalog_semantics */
	uint8_t aggregation; /* catalog_aggregation */
	uint8_t width;       /* bits; 0 stands for 64 */
	/* How far the kernel lets it step back, in its steps; of a counter of the system, for each CPU. */
	uint16_t back;
};

struct catalog_table {
	const char *source;
	const struct catalog_counter *row;
	size_t n;
};
extern const struct catalog_table catalog_tables[]; /* ends with source NULL */

/* The *n rows of a source; NULL if there is none. */
const struct catalog_counter *catalog_source(const char *source, size_t *n);
/* The row with this key; NULL if there is none. */
const struct catalog_counter *catalog_find(const char *source, const char *key);
/* The first row whose name this is, with any member; NULL if there is none. */
const struct catalog_counter *catalog_named(const char *source, const char *name);
