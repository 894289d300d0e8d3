/*
 * A picture of lines in a terminal. A cell has 2 x 4 dots (Braille patterns, U+2800 and on); where several lines go
 * through one cell, it has the color of the one with the most dots. Without colors, several lines are distinguished
 * by marks, one per line and cell; without UTF-8, a single line is drawn in ASCII.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

#define PLOT_DOTS_X 2
#define PLOT_DOTS_Y 4
#define PLOT_LINES  64 /* lines that one cell can distinguish; more count as the last one */

struct plot_style {
	bool utf8, color;
};

struct plot {
	uint32_t width, height; /* in cells */
	uint32_t lines;         /* how many will be drawn: one needs no marks */
	uint8_t *dots;          /* owned: by cell, rows from the top; bits as in U+2800 */
	uint8_t *owner;         /* owned: by cell, the line with the most dots */
	uint8_t *most;          /* owned: by cell, how many those are */
	uint8_t *own;           /* owned: by cell, dots of the line that is being drawn */
};

/* 0 or -ENOMEM; -EINVAL for no cells or more than 65,536 a side. */
int plot_init(struct plot *p, uint32_t width, uint32_t height, uint32_t lines);
void plot_release(struct plot *p);
/* Sets dots from y `from` to y `to`, in any order, in dot column x; y counts from the bottom. Clips them. */
void plot_bar(struct plot *p, uint32_t x, int64_t from, int64_t to);
/* Assigns the dots since the last call to the line. */
void plot_end_line(struct plot *p, unsigned line);
/* Appends one row of cells, the topmost being 0, without a new line and without blanks at its end. */
void plot_row(const struct plot *p, uint32_t row, struct plot_style style, struct buf *out);
/* SGR parameters of the color of a line; and its mark. Both repeat. */
const char *plot_color(unsigned line);
char plot_mark(unsigned line);

/* Steps of an axis: ticks at first, first + step, ... up to last, which enclose low and high; at most `most` of
 * them, or three; step is 1, 2 or 5 times a power of ten. low == high gets room around it. */
struct plot_axis {
	double first, last, step;
};
/* Steps from the first tick to the last. */
static inline unsigned plot_ticks(const struct plot_axis *a)
{
	return (unsigned)((a->last - a->first) / a->step + 0.5);
}
struct plot_axis plot_axis(double low, double high, unsigned most);
/* A number of that axis: as many decimals as its steps need; with k, M, G, T from 10,000 on, m, u, n below 0.001. At
 * least 32 bytes; returns the length. */
size_t plot_number(char *out, const struct plot_axis *a, double v);
/* Seconds on an axis of that many: "12.5", "3:20", "1:02:03". At least 32 bytes; returns the length. */
size_t plot_seconds(char *out, double seconds, double step);
