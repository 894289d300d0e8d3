/*
 * One reader, one engine, one sink: a pipeline reads one recording after the other into its sink. Every command that
 * needs numbers configures one.
 */
#pragma once

#include "common/names.h"
#include "format/reader.h"
#include "report/metric/select.h"
#include "report/pipeline/moment.h"
#include "report/pipeline/sink.h"

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
	int cache_level;  /* of rows of caches: 2, 3; 0: the last that the machine has */
	bool places_only; /* no metric is to be shown: the rows alone */
	bool note_absent; /* a remark on columns whose registers could not be read */
	bool no_scale;    /* do not scale for multiplexing */
	bool pci;         /* PMUs of PCI are named after the devices that they count */
	/* Called when a growing input has no more yet: returns 0 to retry, 1 to end. */
	int (*wait)(void *ctx);
	void *wait_ctx;
};

struct pipeline_result {
	uint64_t intervals;
	uint64_t snapshots;
	bool ended;    /* the end frame was there */
	bool cut_only; /* only the end is missing */
	bool damaged;
	struct buf notes;   /* lines for stderr */
	struct buf remarks; /* more of them, on what is not a fault */
};
void pipeline_result_release(struct pipeline_result *r);

/* Reads the whole recording into the sink, and closes neither. 0 or -errno with the text in *e; the result is valid
 * in both cases, and the caller releases it. */
int pipeline_run(const struct pipeline_config *config, struct pm_reader *reader, struct sink *sink,
		 struct pipeline_result *result, struct error *e);

/* Why there was no interval; static text. */
const char *pipeline_why_empty(const struct pipeline_config *config, const struct pipeline_result *result);

/* The result of binding and selection, for --list. Reads up to the first chunk. */
struct offer {
	struct places places;
	struct binding binding;
	bool *shown; /* by metric */
};
int pipeline_offer(const struct pipeline_config *config, struct pm_reader *reader, struct offer *o, struct buf *notes,
		   struct error *e);
void offer_release(struct offer *o);
