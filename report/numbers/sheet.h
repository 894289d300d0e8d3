/*
 * The shape of a report and its numbers: rows (places), columns (metrics), and for every row the cells that mean
 * something there. A metric is shown at the wanted level, or at its own where that is higher: package energy has no
 * value for a CPU.
 *
 * How values of several instances become one: offline instances are left out; if nothing is known of another one, a
 * sum is missing too, with its reason, because a sum that silently lacks a part is a wrong number. Means, maxima and
 * minima use the known values; their coverage says that some are missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cpulist.h"
#include "report/metric/bind.h"
#include "report/machine/places.h"
#include "report/machine/status.h"
#include "report/replay/replay.h"

enum sheet_rows { SHEET_ALL_CPUS, SHEET_CPU_SET, SHEET_FIRST_OF_CORE, SHEET_FIRST_OF_PACKAGE };

/* A sink's rows instead of places: the sink says what counts in each. */
struct sheet_custom {
	void *ctx;
	uint32_t scopes; /* each row is there once for every scope: row + scope * rows */
	/* The tracks are known: how many rows there are. 0 or -errno. */
	int (*lay_out)(void *ctx, uint32_t *rows);
	/* The row in which a counter of an instance counts; PM_NONE: none. */
	uint32_t (*row)(void *ctx, uint32_t scope, uint32_t counter, const struct pm_instance *i);
};

/* Which places of the wanted level have rows. */
enum sheet_places {
	SHEET_RECORDED, /* those where something that is shown was recorded */
	SHEET_BELOW,    /* if anything shown is finer than the system, each that has a CPU online */
	SHEET_TOPOLOGY, /* each that has a CPU online */
};

struct sheet_config {
	const struct sheet_custom *custom; /* NULL: places */
	const char *owner;                 /* of what the replay keeps for the sheet; NULL: the sheet itself */
	enum pm_kind per;                  /* the wanted level */
	bool fold_pmus;                    /* PMUs of a package are shown with it, not as rows of their own */
	bool fold_tasks;                   /* tasks and cgroups count for the system alone, unless they are wanted */
	bool sum_tasks;                    /* tasks, but not cgroups, count for the system alone */
	bool only_per;                     /* requested: omits what has no place there or above */
	enum sheet_places places;
	bool summary; /* a row for the whole system */
	bool summary_only;
	enum sheet_rows rows;
	struct cpulist cpus; /* SHEET_CPU_SET; owned by the config's owner */
};

struct sheet_cell {
	uint32_t column;
	bool estimate;
	bool lasts; /* for sheet_fill(): it is what a track says, which needs no filling while nothing is missing */
	const struct value *value; /* one an interval; valid while the sheet is in a sink */
	/* Likewise: known time in known and lost time; more than 1: all, but it is doubtful; NULL: 1. */
	const double *coverage;
};

/* A metric's threshold applied to a value, in perf's words. */
enum sheet_verdict { SHEET_UNJUDGED, SHEET_UNKNOWN, SHEET_GOOD, SHEET_BAD };
#define SHEET_VERDICTS 4

struct sheet_row {
	struct place place;
	struct sheet_cell *cell; /* ascending by column */
	uint32_t n_cells;
};

struct sheet_column {
	const struct bound_metric *metric;
	enum pm_kind level; /* where its values are, besides the summary; PM_KINDS: nowhere */
};

struct sheet {
	const struct places *places;
	const struct binding *binding;
	enum pm_kind per;
	struct sheet_row *row; /* the system first, then by place_compare() */
	uint32_t n_rows;
	struct sheet_column *column;
	uint32_t n_columns;
	struct sheet_private *p;
};

/* Lays out the shown metrics of a binding over the tracks of a replay. 0, or -errno of custom rows. */
int sheet_build(struct sheet *s, const struct sheet_config *config, const struct places *places,
		const struct binding *binding, const bool *shown, struct replay *replay);
void sheet_release(struct sheet *s);
/* Fills the cells for n intervals; in a sink of the replay. */
void sheet_fill(struct sheet *s, const struct interval *interval, size_t n);
/* 0 to 1 where there is a value; in a sink. */
static inline double sheet_coverage(const struct sheet_cell *c, size_t k)
{
	return c->coverage && c->coverage[k] < 1 ? c->coverage[k] : 1;
}
static inline enum status_quality sheet_quality(const struct sheet_cell *c, size_t k)
{
	return c->value[k].v - c->value[k].v != 0 ? STATUS_NOT_FINITE :
	       c->estimate                        ? STATUS_ESTIMATE :
	       sheet_coverage(c, k) < 1           ? STATUS_PARTIAL :
	       c->coverage && c->coverage[k] > 1  ? STATUS_DOUBTFUL :
						    STATUS_WHOLE;
}
/* Of interval k of a cell; likewise in a sink. */
enum sheet_verdict sheet_verdict(const struct sheet *s, const struct sheet_cell *cell, size_t k);
