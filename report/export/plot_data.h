/* What a picture shows: a sink that keeps the metrics of a sheet as series. */
#pragma once

#include "common/names.h"
#include "report/export/spark.h"
#include "report/pipeline/sink.h"

/* One metric of one place. */
struct plot_line {
	char *metric, *unit; /* owned: column head and unit */
	char *place;         /* owned: "CPU 3"; "" for the system */
	struct place at;     /* lines are ordered by it */
	double low, high;    /* of all intervals; low > high: there is none */
	bool amount;         /* grows with time: its mean is that of the intervals */
	double sum, weight;  /* of the mean; weight 0: there is none */
};

struct plot_data {
	struct sink sink;
	struct spark_set set;   /* series[i] is line[i]'s */
	struct plot_line *line; /* owned */
	size_t n;
	struct names lines; /* "metric, place" -> line */
	uint32_t *map;      /* owned: line by cell of the sheet, row by row; PM_NONE: none */
	bool left_out;      /* there were more than PLOT_LINES_MAX */
	uint64_t wall;      /* makes of ticks of this recording those of a clock that all share */
	bool begun;         /* it is that of this recording */
	uint64_t partial;   /* intervals with a value that lacks a part */
};

#define PLOT_LINES_MAX 4096

/* `bins` as spark_init() has it. */
void plot_data_init(struct plot_data *d, uint32_t bins);
void plot_data_release(struct plot_data *d);
/* The line of a metric, by its head, and place; or NULL. */
const struct plot_line *plot_data_find(const struct plot_data *d, const char *metric, const char *place);
/* Appends what a place is called: "CPU 3", "package 0 core 1", a device's name; nothing for the system. */
void plot_place_name(const struct places *p, const struct place *place, struct buf *out);
