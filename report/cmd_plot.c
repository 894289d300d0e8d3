/* pmrep plot: metrics over time, drawn with characters. */
#include "report/cmd.h"

#include <errno.h>
#include <langinfo.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/parse.h"
#include "common/table.h"
#include "report/input/input.h"
#include "report/pipeline/bins.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"

#define DOTS_X     2 /* of a cell: Braille patterns, U+2800 and on */
#define DOTS_Y     4
#define LINES      64 /* that one cell can distinguish; more count as the last one */
#define LEGEND_MAX 24 /* lines that are named individually */
#define CELLS_MIN  8
#define FARTHEST   4e307 /* of an axis */

struct plot_style {
	bool utf8, color;
	unsigned width;  /* columns of the terminal */
	unsigned height; /* rows of cells of a chart */
};

struct line {
	const struct bins_set *set;
	const struct bins_series *series;
	const struct bins_metric *metric;
	const struct bins_row *row;
};

/* The lines of one picture. */
struct group {
	const struct bins *bins;
	const struct plot_style *style;
	struct line *line; /* owned */
	size_t n;
	double low, high; /* of all values; low > high: there is none. Charts begin at low. */
};

/* Steps of an axis: ticks at first, first + step, ... up to last; step is 1, 2 or 5 times a power of ten. */
struct axis {
	double first, last, step;
};

/* ---- axes ---- */

static unsigned ticks(const struct axis *a)
{
	return (unsigned)((a->last - a->first) / a->step + 0.5);
}

/* An axis that encloses low and high, with room around equal ones, of at most `most` ticks, or three. */
static struct axis axis_for(double low, double high, unsigned most)
{
	static const double mantissa[] = { 1, 2, 5, 10, 20, 50 };
	struct axis a = { 0 };
	double ten;

	if (most < 3)
		most = 3;
	/* Neither their difference nor a step more than it is to be infinite. */
	low = fmin(fmax(low, -FARTHEST), FARTHEST);
	high = fmin(fmax(high, -FARTHEST), FARTHEST);
	/* A difference by rounding alone does not count. */
	if (!(high - low > 1e-9 * fmax(fabs(low), fabs(high)))) {
		double room = low == 0 ? 1 : fabs(low) / 2;

		high = low + room;
		low = low == 0 ? 0 : low - room;
	}
	ten = pow(10, floor(log10((high - low) / most)));
	for (unsigned i = 0; i < sizeof(mantissa) / sizeof(mantissa[0]); i++) {
		a.step = mantissa[i] * ten;
		a.first = floor(low / a.step + 1e-9) * a.step;
		a.last = ceil(high / a.step - 1e-9) * a.step;
		if ((a.last - a.first) / a.step < most - 0.5)
			break;
	}
	if (!(a.last > a.first))
		a.last = a.first + a.step;
	return a;
}

/* A number of that axis: as many decimals as its steps need; with k, M, G, T from 10,000 on, m, u, n below 0.001. */
static size_t axis_number(char out[static 64], const struct axis *a, double v)
{
	static const struct {
		double unit;
		const char *sign;
	} scale[] = { { 1e12, "T" }, { 1e9, "G" },  { 1e6, "M" },  { 1e3, "k" },
		      { 1, "" },     { 1e-3, "m" }, { 1e-6, "u" }, { 1e-9, "n" } };
	double largest = fmax(fabs(a->first), fabs(a->last)), rest;
	size_t i = 4, len;
	unsigned decimals = 0;

	if (largest >= 10000)
		for (i = 0; i < 3 && largest < scale[i].unit; i++)
			;
	else if (largest < 1e-3)
		for (i = 5; i < 7 && largest < scale[i].unit; i++)
			;
	rest = a->step / scale[i].unit;
	while (decimals < 6 && fabs(rest - round(rest)) > 1e-6 * rest) {
		rest *= 10;
		decimals++;
	}
	v = fabs(v) < a->step / 1e6 ? 0 : v / scale[i].unit;
	len = fabs(v) < 1e9 ? number_fixed(out, v, decimals) : (size_t)snprintf(out, 24, "%.3g", v);
	return len + (size_t)snprintf(out + len, 2, "%s", v == 0 ? "" : scale[i].sign);
}

/* Seconds on an axis of such steps: "12.5", "3:20", "1:02:03". */
static size_t axis_seconds(char out[static 64], double seconds, double step)
{
	unsigned whole = (unsigned)(seconds + 0.5);

	if (step < 60 && seconds < 600)
		return axis_number(out, &(struct axis){ .first = 0, .last = 1, .step = step }, seconds);
	if (whole < 3600)
		return (size_t)snprintf(out, 64, "%u:%02u", whole / 60, whole % 60);
	return (size_t)snprintf(out, 64, "%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
}

/* Steps in which people count time. */
static double time_step(double span, unsigned most)
{
	static const double step[] = { 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400 };
	double s = axis_for(0, span, most).step;

	if (s <= 20)
		return s;
	for (size_t i = 0; i < sizeof(step) / sizeof(step[0]); i++)
		if (span / step[i] < most)
			return step[i];
	return axis_for(0, span / 86400, most).step * 86400;
}

static void blanks(struct buf *out, size_t n)
{
	buf_printf(out, "%*s", (int)n, "");
}

/* The time axis, and the times below it. */
static void put_time(const struct group *g, size_t margin, unsigned cells, struct buf *out)
{
	double span = g->bins->duration_s, step = time_step(span, cells / 10 + 1);
	bool clock = span >= 600 || step >= 60; /* minutes and hours instead of seconds, in all of them */
	bool utf8 = g->style->utf8;
	SCOPED(buf_release) struct buf below = BUF_INIT;
	size_t next = 0, tick = 0;

	blanks(out, margin - 1);
	buf_addstr(out, utf8 ? "└" : "+");
	for (unsigned i = 0; i < cells; i++) {
		size_t at = span > 0 ? (size_t)(step * (double)tick / span * cells) : 0, len;
		bool is_tick =
			span > 0 && step * (double)tick <= span * 1.000001 && i == (at < cells ? at : cells - 1);
		char text[64];

		buf_addstr(out, utf8 ? (is_tick ? "┬" : "─") : is_tick ? "+" : "-");
		if (!is_tick)
			continue;
		len = axis_seconds(text, step * (double)tick++, clock ? fmax(step, 60) : step);
		/* The last one, with its unit, ends where the chart does. */
		at = i + len + 2 <= cells ? i : cells > len + 2 ? cells - len - 2 : 0;
		if (at < next)
			continue;
		blanks(&below, at - (next ? next - 1 : 0));
		buf_add(&below, text, len);
		next = at + len + 1;
	}
	buf_addch(out, '\n');
	blanks(out, margin);
	buf_add(out, below.data, below.len);
	buf_carry(out, &below);
	buf_addstr(out, clock ? "\n" : " s\n");
}

/* ---- numbers ---- */

/* Four significant digits. */
static void put_number(struct buf *out, double v)
{
	double size = v == 0 ? 1 : pow(10, floor(log10(fabs(v))));
	char text[64];

	buf_add(out, text, axis_number(text, &(struct axis){ .first = 0, .last = v, .step = size / 1000 }, v));
}

static void put_text(struct buf *out, const char *text)
{
	text_escape(out, text, strlen(text));
}

static void put_unit(struct buf *out, const char *unit)
{
	if (!strcmp(unit, "1"))
		return;
	buf_addch(out, ' ');
	put_text(out, unit);
}

/* SGR parameters of the color of a line. */
static const char *color_of(size_t line)
{
	static const char *const color[] = { "36", "33", "35", "32", "34", "31", "96", "93", "95", "92", "94", "91" };

	return color[line % (sizeof(color) / sizeof(color[0]))];
}

static char mark_of(size_t line)
{
	static const char mark[] = "*o+x#@%&=~abcdefghijklmnpqrstuvwyz";

	return mark[line % (sizeof(mark) - 1)];
}

static void put_legend(const struct group *g, struct buf *out)
{
	size_t named = g->n > LEGEND_MAX ? LEGEND_MAX : g->n;

	for (size_t i = 0; i < named; i++) {
		const struct line *l = &g->line[i];
		double mean = bins_mean(l->series);

		if (g->style->color)
			buf_printf(out, "\033[%sm%s\033[0m ", color_of(i), g->style->utf8 ? "━━" : "--");
		else if (g->n > 1)
			buf_printf(out, "%c ", mark_of(i));
		put_text(out, l->metric->display);
		buf_addstr(out, l->row->kind == PM_SYSTEM ? "" : "  ");
		put_text(out, l->row->kind == PM_SYSTEM ? "" : l->row->label);
		if (!l->series->present) {
			buf_addstr(out, ": no value\n");
			continue;
		}
		buf_addstr(out, ": min ");
		put_number(out, l->series->low);
		buf_addstr(out, ", mean ");
		if (isnan(mean))
			buf_addch(out, '-');
		else
			put_number(out, mean);
		buf_addstr(out, ", max ");
		put_number(out, l->series->high);
		put_unit(out, l->metric->unit);
		buf_addch(out, '\n');
	}
	if (named < g->n)
		buf_printf(out, "and %zu more\n", g->n - named);
}

/* What is in column `at` of `columns`, which divide the time evenly. False: no value. */
static bool column_of(const struct group *g, const struct line *l, uint32_t at, uint32_t columns, struct bin *out)
{
	double span = g->bins->duration_s / l->set->width_s;
	double first = span * at / columns, end = span * (at + 1) / columns;
	uint32_t from = (uint32_t)first, to = (uint32_t)ceil(end - 1e-9);

	*out = (struct bin){ 0 };
	/* A bin across two columns belongs to the one with its middle, unless columns are shorter than bins. */
	if (span > columns) {
		from = (uint32_t)(first + 0.5);
		to = (uint32_t)(end + 0.5);
	} else if (to <= from) {
		to = from + 1;
	}
	for (uint32_t i = from; i < to && i < l->set->used; i++)
		bin_join(out, &bins_of(l->set, l->series)[i]);
	return out->weight > 0;
}

/* ---- lines ---- */

/* Has the color or mark of the line with the most dots. */
struct cell {
	uint8_t dots, own; /* of all lines, and of the current one; bits as in U+2800 */
	uint8_t most, owner;
};

/* Sets dots from y `from` to y `to`, in any order, in dot column x; y counts from the bottom. */
static void put_bar(struct cell *cell, unsigned cells, unsigned height, uint32_t x, int64_t from, int64_t to)
{
	static const uint8_t bit[DOTS_Y][DOTS_X] = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } };
	int64_t low = from < to ? from : to, high = from < to ? to : from, top = (int64_t)height * DOTS_Y - 1;

	for (int64_t y = low < 0 ? 0 : low; y <= high && y <= top; y++)
		cell[(top - y) / DOTS_Y * cells + x / DOTS_X].own |= bit[(top - y) % DOTS_Y][x % DOTS_X];
}

static void draw_line(const struct group *g, size_t line, const struct axis *a, struct cell *cell, unsigned cells)
{
	unsigned height = g->style->height;
	double dots = (double)height * DOTS_Y - 1;
	int64_t low = 0, high = 0;
	bool before = false;

	for (uint32_t x = 0; x < cells * DOTS_X; x++) {
		struct bin b;
		int64_t from, to;

		if (!column_of(g, &g->line[line], x, cells * DOTS_X, &b)) {
			before = false;
			continue;
		}
		from = llround(((double)b.low - a->first) / (a->last - a->first) * dots);
		to = llround(((double)b.high - a->first) / (a->last - a->first) * dots);
		/* Connects it with the previous column, up or down. */
		put_bar(cell, cells, height, x, before && high < from ? high + 1 : from,
			before && low > to ? low - 1 : to);
		low = from;
		high = to;
		before = true;
	}
	for (size_t i = 0; i < (size_t)cells * height; i++) {
		uint8_t count = (uint8_t)__builtin_popcount(cell[i].own);

		if (count > cell[i].most) {
			cell[i].most = count;
			cell[i].owner = (uint8_t)(line < LINES ? line : LINES - 1);
		}
		cell[i].dots |= cell[i].own;
		cell[i].own = 0;
	}
}

/* For one line in ASCII: its position in the cell. */
static char ascii_of(uint8_t dots)
{
	bool top = dots & 0x09, middle = dots & 0x36, bottom = dots & 0xc0;

	if (top && bottom)
		return '|';
	if (top)
		return middle ? '"' : '\'';
	if (bottom)
		return middle ? ':' : '.';
	return '-';
}

/* A row of cells, without blanks at its end. */
static void put_row(const struct group *g, const struct cell *cell, unsigned cells, struct buf *out)
{
	int color = -1;

	while (cells && !cell[cells - 1].dots)
		cells--;
	for (const struct cell *end = cell + cells; cell < end; cell++) {
		if (g->style->color && cell->dots && color != cell->owner) {
			color = cell->owner;
			buf_printf(out, "\033[%sm", color_of(cell->owner));
		}
		if (!cell->dots)
			buf_addch(out, ' ');
		else if (g->n > 1 && !g->style->color)
			buf_addch(out, mark_of(cell->owner));
		else if (g->style->utf8)
			/* U+2800 to U+28FF: E2 A0 80 to E2 A3 BF. */
			buf_printf(out, "\xe2%c%c", 0xa0 | cell->dots >> 6, 0x80 | (cell->dots & 0x3f));
		else
			buf_addch(out, ascii_of(cell->dots));
	}
	buf_addstr(out, color >= 0 ? "\033[0m\n" : "\n");
}

/* The tick whose height is in that row, the higher one of two, as a text; its length, 0: there is none. */
static size_t tick_in(const struct axis *a, unsigned row, unsigned height, char text[static 64])
{
	for (unsigned i = ticks(a) + 1; i--;) {
		double up = i * a->step / (a->last - a->first) * ((double)height * DOTS_Y - 1);

		if (height - 1 - (uint64_t)llround(up) / DOTS_Y == row)
			return axis_number(text, a, a->first + i * a->step);
	}
	return 0;
}

static void draw_lines(const struct group *g, struct buf *out)
{
	struct axis a = axis_for(g->low, g->high, g->style->height / 3 + 1);
	SCOPED(scoped_free) struct cell *cell = NULL;
	unsigned cells, height = g->style->height;
	size_t label = 0, len;
	char text[64];

	put_legend(g, out);
	if (g->low > g->high)
		return;
	for (unsigned i = 0; i <= ticks(&a); i++) {
		len = axis_number(text, &a, a.first + i * a.step);
		label = len > label ? len : label;
	}
	cells = g->style->width > label + 2 + CELLS_MIN ? g->style->width - (unsigned)label - 2 : CELLS_MIN;
	cell = memory_new((size_t)cells * height, sizeof(*cell));
	for (size_t i = 0; i < g->n; i++)
		draw_line(g, i, &a, cell, cells);
	for (unsigned row = 0; row < height; row++) {
		len = tick_in(&a, row, height, text);
		blanks(out, label - len);
		buf_add(out, text, len);
		buf_addstr(out, len ? (g->style->utf8 ? " ┤" : " +") : g->style->utf8 ? " │" : " |");
		put_row(g, cell + (size_t)row * cells, cells, out);
	}
	put_time(g, label + 2, cells, out);
}

/* ---- pictures ---- */

static struct line line_at(const struct bins *b, size_t i)
{
	const struct bins_set *set = i < b->near.n ? &b->near : &b->far;
	const struct bins_series *x = &set->series[i < b->near.n ? i : i - b->near.n];

	return (struct line){ set, x, &b->metric[x->metric], &b->row[x->row] };
}

/* Gathers the lines that share a picture with line `first`, if that is the first of them; else n is 0. */
static void gather(const struct bins *b, size_t first, size_t n, struct group *g)
{
	struct line a = line_at(b, first);

	for (size_t i = 0; i < n; i++) {
		struct line l = line_at(b, i);

		if (strcmp(a.metric->unit, l.metric->unit))
			continue;
		if (i < first)
			return;
		if (!g->line)
			g->line = memory_new(n, sizeof(*g->line));
		g->line[g->n++] = l;
		if (!l.series->present)
			continue;
		g->low = fmin(g->low, l.series->low);
		g->high = fmax(g->high, l.series->high);
	}
	/* Begins at zero, unless that would squeeze the data into the last third. */
	if (g->low > 0 && (g->low < g->high * 2 / 3 || g->high - g->low < g->high / 1000))
		g->low = 0;
}

/* Charts, one below the other, of which metrics of one unit share one. */
static void draw_groups(const struct bins *b, const struct plot_style *style, struct buf *out)
{
	size_t n = (size_t)b->near.n + b->far.n;

	for (size_t i = 0; i < n; i++) {
		struct group g = { .bins = b, .style = style, .low = INFINITY, .high = -INFINITY };

		gather(b, i, n, &g);
		if (g.n) {
			buf_addstr(out, i ? "\n" : "");
			draw_lines(&g, out);
		}
		free(g.line);
	}
}

/* ---- the command ---- */

#define NAME          "pmrep plot"
#define WIDTH_DEFAULT 80
#define WIDTH_MIN     20
#define WIDTH_MAX     1000
#define HEIGHT_LINES  12

static const char brief[] =
	"Usage: pmrep plot [OPTION...] METRIC... FILE\n"
	"Plot metrics of a recording over time, in the terminal. Metrics with the same unit share a chart.\n\n"
	"      --per-package     one line per package; or --per-die, core, node, cpu, task, cgroup, device, pmu, "
	"...\n"
	"  -c, --cpu=SET         one line for each of these CPUs\n"
	"      --since=TIME, --until=TIME, --every=SEC\n"
	"      --width=COLUMNS   of the picture; --height=ROWS  of each chart\n"
	"      --ascii           no Braille or block characters\n\n"
	"Examples:\n"
	"  pmrep plot util host.pmr\n"
	"  pmrep plot pkgwatt pkgtmp --per-package host.pmr\n";

struct plotting {
	struct sink sink; /* first */
	struct bins bins;
	struct pipeline_config pipeline;
	struct plot_style style; /* sizes 0: not given */
	enum pm_kind per;        /* PM_KINDS: not given */
	bool ascii;
	char **word; /* metrics, and the recording after them; borrowed */
	int n_words;
};

#define OPTIONS_INTO struct plotting
#define PER(kind)    NUMBER(per, kind)
static const struct option_row rows[] = {
	{ .help = "Lines:" },
	{ "per-system", 0, NULL, "one line for the whole system (the default)", PER(PM_SYSTEM) },
	OPTIONS_PER(PER, "one line per"),
	{ "cpu", 'c', "SET", "one line for each of these CPUs (0,2..5), or for one per core or package",
	  READ(pipeline.sheet, read_rows) },
	{ .help = "Time:" },
	{ "since", 0, "TIME", "start here: seconds from the start, -SECONDS from the end, or a date",
	  READ(pipeline.since, read_moment) },
	{ "until", 0, "TIME", "end here", READ(pipeline.until, read_moment) },
	{ "every", 0, "SEC", "join intervals into longer ones", READ(pipeline, read_every) },
	{ .help = "Picture:" },
	{ "width", 0, "COLUMNS", "width of the picture (the terminal's, or $COLUMNS, or 80)",
	  AMOUNT(style.width, WIDTH_MIN, WIDTH_MAX) },
	{ "height", 0, "ROWS", "height of a chart (12)", AMOUNT(style.height, 2, WIDTH_MAX) },
	{ "ascii", 0, NULL, "ASCII only (default if the locale is not UTF-8)", FLAG(ascii) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct plotting *o = into;

	o->word = operand;
	o->n_words = n;
	return n ? 0 : error_set(e, EINVAL, "no metric and no recording given; try --help");
}

static const struct options_spec spec = { .name = NAME,
					  .rows = rows,
					  .operands = operands,
					  .operands_doc = "METRIC... FILE",
					  .brief = brief,
					  .paged = options_always_paged };

/* The terminal's width, or what the environment says. */
static unsigned choose_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned width = cmd_width(STDOUT_FILENO);
	uint64_t n;

	if (!width && columns && !parse_u64(columns, &n) && n >= WIDTH_MIN && n <= WIDTH_MAX)
		width = (unsigned)n;
	if (!width)
		width = WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static void settle(struct plotting *o)
{
	struct pipeline_config *p = &o->pipeline;

	if (p->mode == PIPELINE_AUTO)
		p->mode = PIPELINE_EACH;
	p->sheet.per = o->per != PM_KINDS ? o->per : p->sheet.rows ? PM_CPU : PM_SYSTEM;
	p->sheet.only_per = true;
	p->sheet.summary = p->sheet.per == PM_SYSTEM;
	p->sheet.summary_only = p->sheet.per == PM_SYSTEM;
	if (!o->style.width)
		o->style.width = choose_width();
	if (!o->style.height)
		o->style.height = HEIGHT_LINES;
}

/* The words before the recording are metrics. */
static int choose_metrics(struct plotting *o, struct error *e)
{
	int err = 0;

	if (o->n_words < 2 && access(o->word[0], F_OK))
		return error_set(e, EINVAL, "no recording given: pmrep plot %s FILE", o->word[0]);
	if (o->n_words < 2)
		return error_set(e, EINVAL,
				 "no metric given; pmrep list metrics %s lists them; try pmrep plot util %s",
				 o->word[0], o->word[0]);
	for (int i = 0; i + 1 < o->n_words && !err; i++) {
		if (strstr(o->word[i], ".pmr") && !access(o->word[i], F_OK))
			return error_set(e, EINVAL, "%s is a recording; metrics come first, then one recording",
					 o->word[i]);
		err = selection_add(&o->pipeline.selection, SELECT_SHOW, o->word[i], e);
	}
	return err;
}

static int plot_shape(struct sink *sink, const struct sheet *s, size_t n)
{
	const struct plotting *o = (const struct plotting *)sink;
	bool whole = o->pipeline.since.kind == MOMENT_NONE && o->pipeline.until.kind == MOMENT_NONE;

	bins_shape(&((struct plotting *)sink)->bins, sink, s, n,
		   &(struct bins_view){ .n_charted = n, .whole = whole });
	return 0;
}

static int plot_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	bins_intervals(&((struct plotting *)sink)->bins, interval, n);
	return 0;
}

static int plot_totals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	bins_totals(&((struct plotting *)sink)->bins, s, 1, interval, n);
	return 0;
}

static int plot_end(struct sink *sink)
{
	bins_end(&((struct plotting *)sink)->bins);
	return 0;
}

static const struct sink_ops ops = {
	.shape = plot_shape,
	.intervals = plot_intervals,
	.totals = plot_totals,
	.end = plot_end,
	.forgets = true,
};

static void draw(struct plotting *o, const struct options_common *common, const char *path)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;

	o->style.utf8 = !o->ascii && !strcmp(nl_langinfo(CODESET), "UTF-8");
	o->style.color = options_use_color(common, STDOUT_FILENO);
	draw_groups(&o->bins, &o->style, &out);
	if (o->bins.near.left_out + o->bins.far.left_out)
		cmd_complain(NAME, "%s: not all lines are drawn, because there are too many", path);
	cmd_write(&out);
}

static int run(void *input, const struct options_common *common)
{
	struct plotting *o = input;
	const char *path = o->word[o->n_words - 1];
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct error e = { 0 };
	int err;

	if (choose_metrics(o, &e) || input_open(&reader, path, false, &e))
		return cmd_fail(NAME, &e);
	settle(o);
	err = pipeline_run(&o->pipeline, reader, &o->sink, &result, &e);
	bins_close(&o->bins);
	cmd_complain_lines(NAME, path, &result.notes);
	cmd_complain_lines(NAME, path, &result.remarks);
	if (err) {
		error_prefix(&e, "%s", path);
		return cmd_fail(NAME, &e);
	}
	if (result.intervals && o->bins.near.n + o->bins.far.n)
		draw(o, common, path);
	else
		cmd_complain(NAME, "%s: nothing to draw: %s", path,
			     result.intervals ? "none of these metrics has a value at that level" :
						pipeline_why_empty(&o->pipeline, &result));
	return cmd_judge(&result, path, false);
}

int cmd_plot(int argc, char **argv)
{
	struct plotting o = { .sink.ops = &ops, .bins.apart = true, .pipeline.bind.rate = true, .per = PM_KINDS };
	int status = cmd_run(&spec, argc, argv, &o, run);

	bins_release(&o.bins);
	selection_release(&o.pipeline.selection);
	cpulist_release(&o.pipeline.sheet.cpus);
	return status;
}
