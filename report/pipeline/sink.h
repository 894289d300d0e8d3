/*
 * One struct for everything that takes numbers: a format, lines of perf stat, a page, a picture, a comparison. The
 * pipeline binds the metrics of a recording, asks the sink for the metrics and places it needs, and hands over the
 * numbers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"
#include "format/model.h"
#include "report/metric/bind.h"
#include "report/numbers/sheet.h"
#include "report/replay/replay.h"

/* What is laid out, while sink_ops.plan() chooses. */
struct sink_plan {
	const struct places *places;
	const struct binding *binding;
	const bool *shown;     /* by metric: the user's selection */
	struct replay *replay; /* for replay_want() of what is in no sheet */
	struct sink_wish {
		struct sheet_config config;
		const bool *shown; /* by metric; borrowed until the next plan() or end() */
	} sheet[PM_KINDS];
	size_t n_sheets;
};

struct sink;

/* Results are 0 or -errno, with the text in sink.error or none. */
struct sink_ops {
	const char *name, *help; /* of a format */

	/* What it can do and wants. */
	bool table;    /* for people: places are columns, and the processor's registers come first */
	bool tabs;     /* its columns are turbostat's and nothing else */
	bool counts;   /* replay_counts(), which costs time */
	bool coarse;   /* by default rows of the system, packages and devices */
	bool replaces; /* of a growing input it makes one file after another */
	bool columns;  /* columns can be chosen */
	bool forgets;  /* rows of totals() need not be those of intervals(), which then lose what has gone */
	bool roomy;    /* keeps much in memory anyway, so the engine may, too, and is faster */
	bool binary;   /* nothing for a terminal */

	/* The model has changed, or a recording begins: which sheets are wanted. NULL: one, of the pipeline's
	 * configuration, which has to have a column. */
	int (*plan)(struct sink *s, struct sink_plan *plan);
	/* Rows and columns are new. What is borrowed of model, places, binding and replay is good until the next
	 * shape() or end(); texts of the model until the next call. */
	int (*shape)(struct sink *s, const struct sheet *sheet, size_t n_sheets);
	/* The sheets are filled; values are good during the call. */
	int (*intervals)(struct sink *s, const struct sheet *sheet, const struct interval *interval, size_t n);
	/* If it is there: what all intervals of a run, or of all, come to, in sheets of the same rows and cells,
	 * unless it forgets. */
	int (*totals)(struct sink *s, const struct sheet *sheet, const struct interval *interval, size_t n);
	/* NULL: ignored. */
	void (*event)(struct sink *s, const struct pm_event *event);
	/* After the last interval of a recording, while its model is still there. May be NULL. */
	int (*end)(struct sink *s);
	/* After the last recording; by whoever made it. May be NULL. */
	int (*close)(struct sink *s);
	/* Frees what the sink owns; by whoever made it, not by the pipeline. May be NULL. */
	void (*release)(struct sink *s);
};

/* A sink's own struct begins with one. */
struct sink {
	const struct sink_ops *ops;
	const char *recording;    /* basename of the current file, set by the caller; the pipeline sets all below */
	struct pm_reader *reader; /* of the recording */
	bool runs;                /* the recording has several runs */
	bool one;                 /* the mode gives one interval a run */
	/* What totals() gets; of all runs only what intervals() does not get anyway. */
	enum { SINK_EACH_RUN, SINK_ALL_RUNS, SINK_NO_TOTALS } whole;
	bool places_only;        /* the columns of metrics are not wanted */
	uint64_t boot_offset_ns; /* CLOCK_BOOTTIME less CLOCK_MONOTONIC, of what was read last; 0: not known */
	uint64_t origin_ns;      /* CLOCK_MONOTONIC of its first snapshot, for relative times */
	struct buf *notes;       /* during layout: lines for the user; NULL: they were printed before */
	struct error error;
};
