/* Pictures of series in a terminal, as text. */
#pragma once

#include "report/pipeline/bins.h"

struct plot_style {
	bool utf8, color;
	unsigned width;  /* columns of the terminal */
	unsigned height; /* rows of cells of a chart; of a heat map at most */
};

/* Charts of lines, one below the other: metrics of one unit share one. */
void plot_lines(const struct bins *b, const struct plot_style *style, struct buf *out);
/* For each metric a map of places by time: each cell is the largest value of an interval in it. */
void plot_heat(const struct bins *b, const struct plot_style *style, struct buf *out);
