/* The report of `pmrep info`: as text, as JSON, and in parts for other layouts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/json.h"
#include "report/info/scan.h"

/* Parts of the topology with online CPUs. UINT32_MAX: the kernel does not say. */
struct topology_counts {
	uint32_t cpus, offline, cores, clusters, dies, packages, nodes;
	uint32_t threads, threads_least; /* of the fullest and of the emptiest core; 0: no core is known */
	uint32_t cache[PM_CACHES];
};
struct topology_counts topology_count(const struct pm_topology *t);
/* Appends "8 CPUs, 4 cores, 1 package, 1 node", as far as they are known. */
void topology_put(struct topology_counts c, struct buf *out);

/* A part of the report. */
#define INFO_CELLS 5
struct info_column {
	const char *name; /* "" in all columns: the table has no head */
	bool right, wraps;
};
struct info_row {
	char *cell[INFO_CELLS];  /* owned */
	enum pm_privacy privacy; /* what the last one reveals */
};
struct info_part {
	const char *title; /* static, as is `column` */
	const struct info_column *column;
	size_t n;
	struct info_row *row; /* owned */
	size_t n_rows;
	struct buf remarks; /* lines after the rows */
};
/* Calls `take` for each part. `all` as below. */
void info_say(const char *path, struct scan *s, bool all, void (*take)(void *ctx, struct info_part *part), void *ctx);

/* Appends the report. `all`: one-time values and all events too. */
void info_text(const char *path, struct scan *s, bool all, unsigned width, bool color, struct buf *out);
struct json *info_json(const char *path, struct scan *s);
