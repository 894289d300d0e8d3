/* What pipeline.c runs and sheets.c lays out. */
#pragma once

#include "report/pipeline/pipeline.h"

/* A way through the intervals. */
struct lane {
	struct replay *replay;
	struct sheet sheet[PM_KINDS]; /* those that the sink wants */
	size_t n_sheets;
	bool stale; /* they are not those of the plan */
};

/* Interval by interval, or however the user joins them; and the whole, where the sink wants that, too. */
enum { LANE_INTERVALS, LANE_TOTALS, LANES };

struct run {
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
	struct sink_plan plan;         /* of the layout at hand */
	unsigned parts;                /* of the model, that have changed since the counters were bound */
	uint32_t bound[4];             /* counters, strings, instances, groups then */
	bool laid_out;                 /* and they were, for this recording */
	uint32_t n_counters, n_groups; /* that of the model were looked at */
	bool noted;                    /* what the selection lacks was said */
	bool child;                    /* a command was started */
	bool in_window;                /* --since and --until are resolved */
	bool full;                     /* enough intervals were printed */
};

/* All return 0 or -errno, with the text in *run.error. */

/* Ties metrics to the counters of the model at hand, and chooses what is shown. */
int sheets_bind(struct run *r);
/* The model has changed: what is tracked, and, unless that can wait until all is there, the sheets. */
int sheets_lay_out(struct run *r);
/* The sheets of a lane, as the plan has them. */
int sheets_build(struct run *r, struct lane *l);
void sheets_release(struct lane *l);
/* The sink learns what the sheets of the intervals look like. */
int sheets_shape(struct run *r);
/* Whether definitions change what is laid out. Groups that nobody requested come and go with every snapshot. */
bool sheets_concerned(struct run *r, unsigned parts);
/* An error of the sink, or of what is done for it. */
int sheets_fail(struct run *r, int err, const char *what);
