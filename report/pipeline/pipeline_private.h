/* What pipeline.c runs and sheets.c lays out. */
#pragma once

#include "report/pipeline/pipeline.h"

/* One sequence of intervals. */
struct lane {
	struct replay *replay;
	struct sheet sheet[PM_KINDS]; /* those that the sink wants */
	size_t n_sheets;
	bool stale; /* they are not those of the plan */
};

/* Interval by interval, or as the user joins them; and the whole, if the sink wants that, too. */
enum { LANE_INTERVALS, LANE_TOTALS, LANES };

struct run {
	struct run *all; /* those that read together, this one among them: */
	size_t n_all;
	const struct pipeline_config *config;
	struct pm_reader *reader;
	struct sink *sink;
	struct pipeline_result *result;
	struct error *error;
	struct places places;
	struct binding binding;
	bool *shown;
	struct lane lane[LANES];
	size_t n_lanes; /* 0: nothing was read yet */
	struct replay_config window;
	bool stale;                    /* the model has changed since the sheets were laid out */
	struct sink_plan plan;         /* of the current layout */
	unsigned parts;                /* of the model, that have changed since the counters were bound */
	uint32_t bound[4];             /* counters, strings, instances, groups at that time */
	bool laid_out;                 /* the sheets were laid out for this recording */
	uint32_t n_counters, n_groups; /* of the model, seen so far */
	bool noted;                    /* what the selection lacks was reported */
	bool child;                    /* a command was started */
	bool in_window;                /* --since and --until are resolved */
	bool full;                     /* enough intervals were printed */
};

/* All return 0 or -errno, with the text in *run.error. */

/* Binds metrics to the counters of the current model, and chooses what is shown. */
int sheets_bind(struct run *r);
/* After the model has changed: lays out the tracks, and the sheets unless they can wait. */
int sheets_lay_out(struct run *r);
/* Builds the sheets of a lane by the plan. */
int sheets_build(struct run *r, struct lane *l);
void sheets_release(struct lane *l);
/* Right after a layout and a chunk: drops from the model what has gone and no interval of any run needs. */
int sheets_forget(struct run *all);
/* Passes the shape of the intervals' sheets to the sink. */
int sheets_shape(struct run *r);
/* Whether definitions change what is laid out. Groups that nobody requested come and go with every snapshot. */
bool sheets_concerned(struct run *r, unsigned parts);
/* Reports an error of the sink, or of work for it. */
int sheets_fail(struct run *r, int err, const char *what);
