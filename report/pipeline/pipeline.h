/*
 * The way of the numbers: reader -> replay -> sheet -> exporter. One pipeline reads one recording after the other
 * into one exporter; `show`, `stat` and whatever else prints intervals are options on top of it.
 */
#ifndef REPORT_PIPELINE_H
#define REPORT_PIPELINE_H

#include "format/reader.h"
#include "report/export/exporter.h"
#include "report/metric/select.h"

/* A point in time as --since and --until have it. */
struct moment {
	enum { MOMENT_NONE, MOMENT_FROM_START, MOMENT_FROM_END, MOMENT_WALL } kind;
	uint64_t ns;
};
/* "10", "1.5m" after the start; "-1m" before the end; RFC 3339 or "@SECONDS" of wall time. */
int moment_parse(struct moment *m, const char *text, struct error *e);
/* CLOCK_MONOTONIC of it in the recording whose first chunk is given; NONE leaves *ns alone. -ESPIPE: the end of a
 * stream is not known beforehand; -EINVAL: the recording has no wall time. */
int moment_resolve(const struct moment *m, struct pm_reader *reader, const struct pm_chunk_head *first, uint64_t *ns,
		   struct error *e);

/* What takes the intervals in place of a sheet and the exporter's table of them, for reports of another shape. The
 * context is pipeline_config.view_ctx; results are 0 or -errno with the text in *e. */
struct pipeline_view {
	bool no_counts; /* replay_counts() is not wanted, which costs time */
	/* The model has changed, or a recording begins: declares tracks with replay_want(), between
	 * replay_begin_tracks() and replay_end_tracks(), which it calls itself. Lines for the user go to `notes`,
	 * which is NULL if they were taken before. */
	int (*lay_out)(void *ctx, const struct places *places, struct replay *replay, struct buf *notes,
		       struct error *e);
	int (*intervals)(void *ctx, const struct interval *interval, size_t n, struct error *e);
	void (*event)(void *ctx, const struct pm_event *event);
	/* After the last interval of a recording, while its model is still there. */
	int (*end)(void *ctx, struct error *e);
};

struct pipeline_config {
	enum {
		PIPELINE_AUTO,
		PIPELINE_EACH,
		PIPELINE_EVERY,
		PIPELINE_TOTAL
	} mode; /* AUTO: total if a command was recorded */
	uint64_t every_ns;
	struct moment since, until;
	uint64_t max_intervals; /* 0: all */
	struct selection selection;
	struct sheet_config sheet;
	struct bind_options bind;
	bool places_only;                 /* no metric is to be shown: the rows alone */
	bool note_absent;                 /* a remark on columns whose registers could not be read */
	bool pci;                         /* PMUs of PCI are called by the devices that they count */
	const struct pipeline_view *view; /* NULL: a sheet */
	void *view_ctx;
	/* Called when a growing input has no more yet: 0 to try again, 1 to end. */
	int (*wait)(void *ctx);
	void *wait_ctx;
};

struct pipeline_result {
	uint64_t intervals;
	uint64_t snapshots;
	bool ended;    /* the end frame was there */
	bool cut_only; /* the end is missing, and nothing else is wrong */
	bool damaged;
	struct buf notes;   /* lines for stderr */
	struct buf remarks; /* more of them, on what is not wrong */
};

/* Reads all of the recording into the exporter, and does not close either. 0 or -errno with the text in *e; the
 * result is valid in both cases and to be released by the caller (notes). */
int pipeline_run(const struct pipeline_config *config, struct pm_reader *reader, struct exporter *x,
		 struct pipeline_result *result, struct error *e);

/* Why there was no interval; static text. */
const char *pipeline_why_empty(const struct pipeline_config *config, const struct pipeline_result *result);

/* What binding and selection give, without reading on: for --list. Reads up to the first chunk. */
struct offer {
	struct places places;
	struct binding binding;
	bool *shown; /* by metric */
};
int pipeline_offer(const struct pipeline_config *config, struct pm_reader *reader, struct offer *o, struct buf *notes,
		   struct error *e);
void offer_release(struct offer *o);

#endif
