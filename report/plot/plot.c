#include "report/plot/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/number.h"

#define CELLS_MAX 65536
#define FARTHEST  4e307 /* of an axis */

int plot_init(struct plot *p, uint32_t width, uint32_t height, uint32_t lines)
{
	size_t cells = (size_t)width * height;

	*p = (struct plot){ .width = width, .height = height, .lines = lines };
	if (!width || !height || width > CELLS_MAX || height > CELLS_MAX)
		return -EINVAL;
	p->dots = calloc(cells, 1);
	p->owner = calloc(cells, 1);
	p->most = calloc(cells, 1);
	p->own = calloc(cells, 1);
	if (p->dots && p->owner && p->most && p->own)
		return 0;
	plot_release(p);
	return -ENOMEM;
}

void plot_release(struct plot *p)
{
	free(p->dots);
	free(p->owner);
	free(p->most);
	free(p->own);
	*p = (struct plot){ 0 };
}

/* The bit of a dot, x from the left and y from the top: 1 to 3 and 7 are the left column, the others the right. */
static uint8_t dot_bit(uint32_t x, uint32_t y)
{
	static const uint8_t bit[PLOT_DOTS_Y][PLOT_DOTS_X] = {
		{ 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 }
	};

	return bit[y][x];
}

void plot_bar(struct plot *p, uint32_t x, int64_t from, int64_t to)
{
	int64_t low = from < to ? from : to, high = from < to ? to : from, top = (int64_t)p->height * PLOT_DOTS_Y - 1;

	if (x >= p->width * PLOT_DOTS_X || high < 0 || low > top)
		return;
	low = low < 0 ? 0 : low;
	high = high > top ? top : high;
	for (int64_t y = low; y <= high; y++) {
		uint64_t down = (uint64_t)(top - y);

		p->own[down / PLOT_DOTS_Y * p->width + x / PLOT_DOTS_X] |=
			dot_bit(x % PLOT_DOTS_X, (uint32_t)(down % PLOT_DOTS_Y));
	}
}

void plot_end_line(struct plot *p, unsigned line)
{
	size_t cells = (size_t)p->width * p->height;

	for (size_t i = 0; i < cells; i++) {
		uint8_t count = (uint8_t)__builtin_popcount(p->own[i]);

		if (count > p->most[i]) {
			p->most[i] = count;
			p->owner[i] = (uint8_t)(line < PLOT_LINES ? line : PLOT_LINES - 1);
		}
		p->dots[i] |= p->own[i];
		p->own[i] = 0;
	}
}

const char *plot_color(unsigned line)
{
	static const char *const color[] = { "36", "33", "35", "32", "34", "31", "96", "93", "95", "92", "94", "91" };

	return color[line % (sizeof(color) / sizeof(color[0]))];
}

char plot_mark(unsigned line)
{
	static const char mark[] = "*o+x#@%&=~abcdefghijklmnpqrstuvwyz";

	return mark[line % (sizeof(mark) - 1)];
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

void plot_row(const struct plot *p, uint32_t row, struct plot_style style, struct buf *out)
{
	const uint8_t *dots = p->dots + (size_t)row * p->width, *owner = p->owner + (size_t)row * p->width;
	uint32_t end = p->width;
	int color = -1;

	while (end && !dots[end - 1])
		end--;
	for (uint32_t i = 0; i < end; i++) {
		if (style.color && dots[i] && color != owner[i]) {
			color = owner[i];
			buf_printf(out, "\033[%sm", plot_color(owner[i]));
		}
		if (!dots[i]) {
			buf_addch(out, ' ');
		} else if (p->lines > 1 && !style.color) {
			buf_addch(out, plot_mark(owner[i]));
		} else if (style.utf8) {
			/* U+2800 to U+28FF: E2 A0 80 to E2 A3 BF. */
			buf_addch(out, (char)0xe2);
			buf_addch(out, (char)(0xa0 | dots[i] >> 6));
			buf_addch(out, (char)(0x80 | (dots[i] & 0x3f)));
		} else {
			buf_addch(out, ascii_of(dots[i]));
		}
	}
	if (color >= 0)
		buf_addstr(out, "\033[0m");
}

/* ---- axes ---- */

struct plot_axis plot_axis(double low, double high, unsigned most)
{
	static const double mantissa[] = { 1, 2, 5 };
	struct plot_axis a = { 0 };
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
	for (unsigned i = 0;; i++) {
		if (i == sizeof(mantissa) / sizeof(mantissa[0])) {
			ten *= 10;
			i = 0;
		}
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

size_t plot_number(char *out, const struct plot_axis *a, double v)
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
	len += (size_t)snprintf(out + len, 2, "%s", v == 0 ? "" : scale[i].sign);
	return len;
}

size_t plot_seconds(char *out, double seconds, double step)
{
	uint64_t whole = (uint64_t)(seconds + 0.5);

	if (step < 60 && seconds < 600) {
		struct plot_axis a = { .first = 0, .last = 1, .step = step };

		return plot_number(out, &a, seconds);
	}
	if (whole < 3600)
		return (size_t)snprintf(out, 32, "%u:%02u", (unsigned)(whole / 60), (unsigned)(whole % 60));
	return (size_t)snprintf(out, 32, "%llu:%02u:%02u", (unsigned long long)(whole / 3600),
				(unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
}
