#include "report/plot/plot_draw.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

#define LABEL_MAX  40
#define LEGEND_MAX 24 /* lines that are named individually */
#define CELLS_MIN  8

static size_t shown_width(const char *text)
{
	return utf8_count(text, strlen(text));
}

static void blanks(struct buf *out, size_t n)
{
	buf_printf(out, "%*s", (int)n, "");
}

/* The lines of one chart. */
struct group {
	const struct plot_data *data;
	size_t *line; /* owned */
	size_t n;
};

/* Gathers the lines that share a chart with line `first`, if that is the first of them; else n is 0. */
static int gather(const struct plot_data *d, size_t first, bool by_unit, struct group *g)
{
	const struct plot_line *a = &d->line[first];

	*g = (struct group){ .data = d };
	for (size_t i = 0; i < d->n; i++) {
		const struct plot_line *b = &d->line[i];

		if (strcmp(by_unit ? a->unit : a->metric, by_unit ? b->unit : b->metric))
			continue;
		if (i < first)
			return 0;
		if (!g->line && !(g->line = calloc(d->n, sizeof(*g->line))))
			return -ENOMEM;
		g->line[g->n++] = i;
	}
	return 0;
}

/* Smallest and largest value; false: there is none. */
static bool range(const struct group *g, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < g->n; i++) {
		*low = fmin(*low, g->data->line[g->line[i]].low);
		*high = fmax(*high, g->data->line[g->line[i]].high);
	}
	return *low <= *high;
}

/* Four significant digits. */
static void put_number(struct buf *out, double v)
{
	double size = v == 0 ? 1 : pow(10, floor(log10(fabs(v))));
	struct plot_axis own = { .first = 0, .last = v, .step = size / 1000 };
	char text[64];

	buf_add(out, text, plot_number(text, &own, v));
}

static void put_unit(struct buf *out, const char *unit)
{
	if (strcmp(unit, "1"))
		buf_printf(out, " %s", unit);
}

static void put_place(struct buf *out, const struct plot_line *l)
{
	buf_addstr(out, l->metric);
	if (*l->place)
		buf_printf(out, "  %s", l->place);
}

static void put_legend(const struct group *g, struct plot_style style, struct buf *out)
{
	size_t named = g->n > LEGEND_MAX ? LEGEND_MAX : g->n;

	for (size_t i = 0; i < named; i++) {
		const struct plot_line *l = &g->data->line[g->line[i]];

		if (style.color)
			buf_printf(out, "\033[%sm%s\033[0m ", plot_color((unsigned)i), style.utf8 ? "━━" : "--");
		else if (g->n > 1)
			buf_printf(out, "%c ", plot_mark((unsigned)i));
		put_place(out, l);
		if (l->low > l->high) {
			buf_addstr(out, ": no value\n");
			continue;
		}
		buf_addstr(out, ": min ");
		put_number(out, l->low);
		buf_addstr(out, ", mean ");
		if (l->weight > 0)
			put_number(out, l->sum / l->weight);
		else
			buf_addch(out, '-');
		buf_addstr(out, ", max ");
		put_number(out, l->high);
		put_unit(out, l->unit);
		buf_addch(out, '\n');
	}
	if (named < g->n)
		buf_printf(out, "and %zu more; --heatmap shows all\n", g->n - named);
}

/* ---- time ---- */

/* Steps in which people count time. */
static double time_step(double span, unsigned most)
{
	static const double step[] = { 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400 };
	double s = plot_axis(0, span, most).step;

	if (s <= 20)
		return s;
	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++)
		if (span / step[i] < most)
			return step[i];
	return plot_axis(0, span / 86400, most).step * 86400;
}

/* The time axis, and the times below it. */
static void put_time(const struct plot_data *d, size_t margin, unsigned cells, struct plot_style style,
		     struct buf *out)
{
	double span = (double)(d->set.to_ns - d->set.from_ns) / 1e9, step = time_step(span, cells / 10 + 1);
	bool clock = span >= 600 || step >= 60; /* minutes and hours, not seconds: all of them */
	SCOPED(buf_release) struct buf below = BUF_INIT;
	size_t next = 0, tick = 0;

	if (margin)
		blanks(out, margin - 1);
	buf_addstr(out, style.utf8 ? "└" : "+");
	for (unsigned i = 0; i < cells; i++) {
		size_t at = span > 0 ? (size_t)(step * (double)tick / span * cells) : 0;
		bool is_tick =
			span > 0 && step * (double)tick <= span * 1.000001 && i == (at < cells ? at : cells - 1);
		char text[64];
		size_t len;

		buf_addstr(out, style.utf8 ? (is_tick ? "┬" : "─") : is_tick ? "+" : "-");
		if (!is_tick)
			continue;
		len = plot_seconds(text, step * (double)tick, clock ? fmax(step, 60) : step);
		/* The last one, with its unit, ends where the chart does. */
		at = i + len + 2 <= cells ? i : cells > len + 2 ? cells - len - 2 : 0;
		if (at >= next) {
			blanks(&below, at - (next ? next - 1 : 0));
			buf_add(&below, text, len);
			next = at + len + 1;
		}
		tick++;
	}
	buf_addch(out, '\n');
	blanks(out, margin);
	buf_add(out, below.data, below.len);
	buf_carry(out, &below);
	buf_addstr(out, clock ? "\n" : " s\n");
}

/* ---- lines ---- */

static void draw(struct plot *p, const struct group *g, size_t i, const struct plot_axis *a)
{
	double dots = (double)p->height * PLOT_DOTS_Y - 1;
	uint32_t columns = p->width * PLOT_DOTS_X;
	int64_t low = 0, high = 0;
	bool before = false;

	for (uint32_t x = 0; x < columns; x++) {
		struct spark_bin b;
		int64_t from, to;

		if (!spark_column(&g->data->set, g->line[i], x, columns, &b)) {
			before = false;
			continue;
		}
		from = llround(((double)b.low - a->first) / (a->last - a->first) * dots);
		to = llround(((double)b.high - a->first) / (a->last - a->first) * dots);
		/* Connects it with the previous column, up or down. */
		plot_bar(p, x, before && high < from ? high + 1 : from, before && low > to ? low - 1 : to);
		low = from;
		high = to;
		before = true;
	}
	plot_end_line(p, (unsigned)i);
}

/* Starts at zero, unless that would squeeze the data into the last third. */
static double base(double low, double high)
{
	return low > 0 && (low < high * 2 / 3 || high - low < high / 1000) ? 0 : low;
}

static size_t widest(const struct plot_axis *a)
{
	size_t width = 0;

	for (unsigned i = 0; i <= plot_ticks(a); i++) {
		char text[64];
		size_t len = plot_number(text, a, a->first + i * a->step);

		width = len > width ? len : width;
	}
	return width;
}

/* The tick whose height is in that row, the higher one of two; false: there is none. */
static bool tick_in(const struct plot_axis *a, unsigned row, unsigned height, double *v)
{
	double dots = (double)height * PLOT_DOTS_Y - 1;

	for (unsigned i = plot_ticks(a) + 1; i--;) {
		double t = a->first + i * a->step;
		uint64_t y = (uint64_t)llround((t - a->first) / (a->last - a->first) * dots);

		if (height - 1 - y / PLOT_DOTS_Y == row) {
			*v = t;
			return true;
		}
	}
	return false;
}

static int draw_group(const struct group *g, struct plot_size size, struct plot_style style, struct buf *out)
{
	struct plot_axis a;
	struct plot p;
	double low, high, v;
	size_t label;
	unsigned cells;
	int err;

	if (!range(g, &low, &high)) {
		put_legend(g, style, out);
		return 0;
	}
	low = base(low, high);
	a = plot_axis(low, high, size.height / 3 + 1);
	label = widest(&a);
	cells = size.width > label + 2 + CELLS_MIN ? size.width - (unsigned)label - 2 : CELLS_MIN;
	put_legend(g, style, out);
	err = plot_init(&p, cells, size.height, (uint32_t)g->n);
	for (size_t i = 0; i < g->n && !err; i++)
		draw(&p, g, i, &a);
	for (unsigned row = 0; row < size.height && !err; row++) {
		char text[64];
		bool tick = tick_in(&a, row, size.height, &v);
		size_t len = tick ? plot_number(text, &a, v) : 0;

		blanks(out, label - len);
		buf_add(out, text, len);
		buf_addstr(out, tick ? (style.utf8 ? " ┤" : " +") : style.utf8 ? " │" : " |");
		plot_row(&p, row, style, out);
		buf_addch(out, '\n');
	}
	if (!err)
		put_time(g->data, label + 2, cells, style, out);
	plot_release(&p);
	return err;
}

/* ---- heat map ---- */

/* From dark blue over green to yellow: in order also for the color-blind, and when printed in grey. */
static const unsigned char heat_color[SPARK_LEVELS] = { 53, 60, 66, 72, 78, 114, 149, 226 };

static void put_heat(struct buf *out, unsigned level, struct plot_style style)
{
	if (style.color)
		buf_printf(out, "\033[48;5;%um ", heat_color[level]);
	else
		buf_addstr(out, spark_mark(level, style.utf8));
}

static void heat_cell(const struct group *g, size_t from, size_t to, unsigned x, unsigned cells, double low,
		      double high, struct plot_style style, struct buf *out)
{
	double top = -INFINITY;

	for (size_t i = from; i < to; i++) {
		struct spark_bin b;

		if (spark_column(&g->data->set, g->line[i], x, cells, &b))
			top = fmax(top, (double)b.high);
	}
	if (!(top > -INFINITY)) {
		buf_addstr(out, style.color ? "\033[0m " : " ");
		return;
	}
	put_heat(out, spark_level(top, low, high), style);
}

/* "CPU 0" and "CPU 3" become "CPU 0-3"; of others both names are whole: cores count anew in each package. */
static void put_rows_name(const struct group *g, size_t from, size_t to, struct buf *out)
{
	const char *first = g->data->line[g->line[from]].place, *last = g->data->line[g->line[to - 1]].place;
	const char *number = strrchr(last, ' ');
	size_t same = number ? (size_t)(number - last) + 1 : 0;

	buf_addstr(out, *first ? first : "system");
	if (to > from + 1)
		buf_printf(out, "-%s", strncmp(first, last, same) ? last : last + same);
}

static void put_scale(const struct group *g, double low, double high, size_t step, struct plot_style style,
		      struct buf *out)
{
	buf_printf(out, "%s: ", g->data->line[g->line[0]].metric);
	put_number(out, low);
	buf_addch(out, ' ');
	for (unsigned i = 0; i < SPARK_LEVELS; i++)
		put_heat(out, i, style);
	buf_addstr(out, style.color ? "\033[0m " : " ");
	put_number(out, high);
	put_unit(out, g->data->line[g->line[0]].unit);
	buf_addstr(out, step > 1 ? ", the largest value in each cell, of several rows each\n" :
				   ", the largest value in each cell\n");
}

static int heat_group(const struct group *g, struct plot_size size, struct plot_style style, struct buf *out)
{
	size_t step = (g->n + size.height - 1) / size.height, label = 0;
	SCOPED(buf_release) struct buf name = BUF_INIT;
	double low, high;
	unsigned cells;

	if (!range(g, &low, &high)) {
		buf_printf(out, "%s: no value\n", g->data->line[g->line[0]].metric);
		return 0;
	}
	low = base(low, high);
	for (size_t i = 0; i < g->n; i += step) {
		buf_clear(&name);
		put_rows_name(g, i, i + step < g->n ? i + step : g->n, &name);
		label = shown_width(buf_str(&name)) > label ? shown_width(buf_str(&name)) : label;
	}
	label = label > LABEL_MAX ? LABEL_MAX : label;
	cells = size.width > label + 2 + CELLS_MIN ? size.width - (unsigned)label - 2 : CELLS_MIN;
	put_scale(g, low, high, step, style, out);
	for (size_t i = 0; i < g->n; i += step) {
		size_t to = i + step < g->n ? i + step : g->n, width;

		buf_clear(&name);
		put_rows_name(g, i, to, &name);
		width = shown_width(buf_str(&name));
		blanks(out, width < label ? label - width : 0);
		buf_add(out, name.data, name.len);
		buf_addstr(out, style.utf8 ? " │" : " |");
		for (unsigned x = 0; x < cells; x++)
			heat_cell(g, i, to, x, cells, low, high, style, out);
		if (style.color)
			buf_addstr(out, "\033[0m");
		while (!style.color && out->len && out->data[out->len - 1] == ' ')
			out->len--;
		buf_addch(out, '\n');
	}
	put_time(g->data, label + 2, cells, style, out);
	return 0;
}

/* ---- pictures ---- */

typedef int (*draw_fn)(const struct group *g, struct plot_size size, struct plot_style style, struct buf *out);

static int plot_groups(const struct plot_data *d, bool by_unit, draw_fn draw_one, struct plot_size size,
		       struct plot_style style, struct buf *out)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < d->n && !err; i++) {
		struct group g;

		err = gather(d, i, by_unit, &g);
		if (!err && g.n) {
			if (any)
				buf_addch(out, '\n');
			err = draw_one(&g, size, style, out);
			any = true;
		}
		free(g.line);
	}
	return err ? err : out->err;
}

int plot_lines(const struct plot_data *d, struct plot_size size, struct plot_style style, struct buf *out)
{
	return plot_groups(d, true, draw_group, size, style, out);
}

int plot_heat(const struct plot_data *d, struct plot_size size, struct plot_style style, struct buf *out)
{
	return plot_groups(d, false, heat_group, size, style, out);
}
