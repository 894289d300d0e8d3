/* Pictures of lines: dots, axes and numbers by hand. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/commands.h"
#include "report/plot/plot.h"
#include "tests/unit/lib/captured.h"

static void assert_row(const struct plot *p, uint32_t row, struct plot_style style, const char *expected)
{
	struct buf out = BUF_INIT;

	plot_row(p, row, style, &out);
	assert_string_equal(buf_str(&out), expected);
	buf_release(&out);
}

static void sizes(void **state)
{
	static const uint32_t bad[][2] = { { 0, 1 }, { 1, 0 }, { 65537, 1 }, { 1, 65537 } };
	struct plot p;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(plot_init(&p, bad[i][0], bad[i][1], 1), -EINVAL);
	assert_int_equal(plot_init(&p, 65536, 1, 1), 0);
	plot_release(&p);
	assert_int_equal(plot_init(&p, 1, 65536, 1), 0);
	plot_release(&p);
	assert_null(p.dots);
}

/* Seven cells of one row: bars from y to y in the left dots; the last has the whole right column. */
static void cells_of_one_line(void **state)
{
	static const int bar[][2] = { { 0, 3 }, { 3, 3 }, { 3, 2 }, { 0, 0 }, { 0, 1 }, { 1, 2 } };
	struct plot p;

	(void)state;
	assert_int_equal(plot_init(&p, 9, 1, 1), 0);
	for (uint32_t i = 0; i < 6; i++)
		plot_bar(&p, 2 * i, bar[i][0], bar[i][1]);
	plot_bar(&p, 15, -5, 7);
	/* Outside the picture. */
	plot_bar(&p, 18, 0, 3);
	plot_bar(&p, 16, 4, 5);
	plot_bar(&p, 16, -2, -1);
	plot_end_line(&p, 0);
	assert_row(&p, 0, (struct plot_style){ 0 }, "|'\".:- |");
	/* Left: 1, 2, 4 and 40 from the top; right: 8, 10, 20 and 80. */
	assert_row(&p, 0, (struct plot_style){ .utf8 = true }, "\u2847\u2801\u2803\u2840\u2844\u2806 \u28b8");
	plot_release(&p);
	/* Two rows: y counts from the bottom, rows from the top. */
	assert_int_equal(plot_init(&p, 2, 2, 1), 0);
	plot_bar(&p, 1, 4, 4);
	plot_bar(&p, 2, 3, 3);
	plot_end_line(&p, 0);
	assert_row(&p, 0, (struct plot_style){ .utf8 = true }, "\u2880");
	assert_row(&p, 1, (struct plot_style){ .utf8 = true }, " \u2801");
	plot_release(&p);
}

/* A cell is of the line with the most dots in it, of the first of equal ones. */
static void cells_of_two_lines(void **state)
{
	struct plot_style color = { .color = true, .utf8 = true };
	struct plot p;

	(void)state;
	assert_int_equal(plot_init(&p, 4, 1, 2), 0);
	plot_bar(&p, 0, 0, 1);
	plot_bar(&p, 2, 0, 1);
	plot_bar(&p, 4, 0, 0);
	plot_end_line(&p, 0);
	plot_bar(&p, 0, 0, 2);
	plot_bar(&p, 2, 2, 3);
	plot_bar(&p, 6, 0, 0);
	plot_end_line(&p, 1);
	assert_row(&p, 0, (struct plot_style){ .utf8 = true }, "o**o");
	assert_row(&p, 0, color, "\033[33m\u2846\033[36m\u2847\u2840\033[33m\u2840\033[0m");
	plot_release(&p);
	assert_int_equal(plot_init(&p, 1, 1, 2), 0);
	plot_end_line(&p, 0);
	assert_row(&p, 0, color, "");
	plot_bar(&p, 0, 0, 0);
	plot_end_line(&p, 1000);
	assert_int_equal(p.owner[0], PLOT_LINES - 1);
	plot_release(&p);
	assert_string_equal(plot_color(12), "36");
	assert_int_equal(plot_mark(34), '*');
}

static void axes(void **state)
{
	static const struct {
		double low, high;
		unsigned most;
		double first, last, step;
	} c[] = {
		{ 0, 10, 6, 0, 10, 2 },   { 0, 10, 3, 0, 10, 5 },         { 0, 10, 0, 0, 10, 5 },
		{ 0, 10, 11, 0, 10, 1 },  { 5, 5, 5, 2, 8, 2 },           { -5, -5, 5, -8, -2, 2 },
		{ 0, 0, 3, 0, 1, .5 },    { -7, 13, 5, -10, 20, 10 },     { 0, 9.5, 3, 0, 10, 5 },
		{ 0, 99, 3, 0, 100, 50 }, { 1.5, 1.7, 5, 1.5, 1.7, .05 }, { 0, 1e-3, 3, 0, 1e-3, 5e-4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct plot_axis a = plot_axis(c[i].low, c[i].high, c[i].most);

		assert_true(fabs(a.first - c[i].first) < 1e-9 && fabs(a.last - c[i].last) < 1e-9);
		assert_true(fabs(a.step / c[i].step - 1) < 1e-9);
		assert_int_equal(plot_ticks(&a), lround((c[i].last - c[i].first) / c[i].step));
	}
}

static void numbers(void **state)
{
	static const struct {
		double first, last, step, v;
		const char *text;
	} c[] = {
		{ 0, 10, 2, 4, "4" },
		{ 0, 1, .5, .5, "0.5" },
		{ 0, 1, .5, 0, "0.0" },
		{ 0, 1, .25, .75, "0.75" },
		{ 0, 9999, 1, 9999, "9999" },
		{ 0, 10000, 5000, 5000, "5k" },
		{ 0, 2e6, 5e5, 1.5e6, "1.5M" },
		{ 0, 5e9, 1e9, 2e9, "2G" },
		{ 0, 3e12, 1e12, 2e12, "2T" },
		{ 0, 5e-4, 1e-4, 2e-4, "200u" },
		{ 0, 1e-3, 5e-4, 5e-4, "0.0005" },
		{ 0, 5e-9, 1e-9, 2e-9, "2n" },
		{ -20000, 0, 5000, -15000, "-15k" },
		{ 0, 10, 2, 1e-9, "0" },
		{ 0, 5e21, 1e21, 2e21, "2e+09T" },
		{ 0, 50000, 10000, 0, "0" },
	};
	static const struct {
		double s, step;
		const char *text;
	} t[] = {
		{ 30, 10, "30" },        { 2.5, .5, "2.5" },
		{ 599, 10, "599" },      { 600, 10, "10:00" },
		{ 90, 60, "1:30" },      { 0, 60, "0:00" },
		{ 3599, 60, "59:59" },   { 3599.6, 60, "1:00:00" },
		{ 3661, 60, "1:01:01" }, { 90000, 3600, "25:00:00" },
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct plot_axis a = { .first = c[i].first, .last = c[i].last, .step = c[i].step };

		text[plot_number(text, &a, c[i].v)] = '\0';
		assert_string_equal(text, c[i].text);
	}
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++) {
		text[plot_seconds(text, t[i].s, t[i].step)] = '\0';
		assert_string_equal(text, t[i].text);
	}
}

/* CPU n counts n + 1 a second, ten times as much after half of the 8 s; of CPU 3 nothing is known in between. */
static struct reading steps(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t sum = row < 4 ? row : 4 + 10 * (row - 4);

	(void)b, (void)counter;
	return (struct reading){ sum * (i->number + 1), i->number == 3 && row == 4 ? PM_REASON_MISSED : 0 };
}

/* clang-format off */
static const struct {
	const char *words, *picture;
} cases[] = {
	/* 16 dots from 0 to 10: 1 is the third of them, 10 the highest. Cell 8 of 16 begins at 4 s. */
	{ "-c 0 --height=4",
	  "test.x  CPU 0: min 1.000, mean 5.500, max 10.00 1/s\n"
	  "10 +        |'''''''\n 5 +        |\n   |        |\n 0 +--------\"\n"
	  "   ++---------+-----\n    0         5 s\n" },
	/* To 20: 1 and 10 are the second and ninth dot, 2 and 20 the third and last. The first of equal ones is seen. */
	{ "-c 0,1 --height=4",
	  "* test.x  CPU 0: min 1.000, mean 5.500, max 10.00 1/s\no test.x  CPU 1: min 2.000, mean 11.00, max 20.00 1/s\n"
	  "20 +        oooooooo\n10 +        o*******\n   |        *\n 0 +*********\n"
	  "   ++---------+-----\n    0         5 s\n" },
	/* What lies in the last third of 80 does not begin at 0. */
	{ "-c 6,7 --since=5 --height=4",
	  "* test.x  CPU 6: min 70.00, mean 70.00, max 70.00 1/s\no test.x  CPU 7: min 80.00, mean 80.00, max 80.00 1/s\n"
	  "80 +oooooooooooooooo\n75 +\n   |\n70 +****************\n   ++---------+-----\n    0         2 s\n" },
	/* Eighths of 80 in cells of 8 / 11 s. Of CPU 3 nothing is known
	 * from 3 to 4 s; then it is 44 in 2 s. */
	{ "--heatmap --height=2",
	  "test.x: 0 _.-:=+*# 80.00 1/s, the largest value in each cell, of several rows each\n"
	  "CPU 0-3 |_____:=====\nCPU 4-7 |_____######\n        ++-----+----\n         0     5 s\n" },
	{ "-c 3 --heatmap",
	  "test.x: 0 _.-:=+*# 40.00 1/s, the largest value in each cell\n"
	  "CPU 3 |_____ ==#####\n      ++-------+----\n       0       5 s\n" },
};
/* What is not in seconds does not say so. Cores are 0 and 1 in each package. */
static const struct {
	uint32_t seconds, cores;
	const char *words, *end;
} slow[] = {
	{ 60, 0, "-c 0 --height=4 --width=20", "\n    ++--------+-----\n     0:00     5:00\n" },
	{ 20, 0, "-c 0 --height=4 --width=40", "\n     0:00         1:00         2:00\n" },
	{ 5, 0, "-c 0 --height=4 --width=20", "\n  ++-------+-------+\n   0       20   40 s\n" },
	{ 80, 0, "-c 0 --height=4 --width=500", " 9:40            10:00          10:20    10:40\n" },
	{ 1, 4, "--heatmap --per-core --height=2", "package 0 core 0-1 |" },
	{ 1, 3, "--heatmap --per-core --height=2", "\npackage 0 core 1-package 1 core 0 |" },
};
/* clang-format on */

static void world(struct builder *b, char path[64], uint32_t seconds, uint32_t cores)
{
	uint32_t id;

	builder_init(b, steps);
	b->period_ns = UINT64_C(1000000000) * seconds;
	id = builder_counter(b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	/* The last of four. */
	for (uint32_t i = 0; i < cores; i++)
		b->instance[PM_CORE][i] = b->instance[PM_CORE][i + 4 - cores];
	if (cores)
		builder_group(b, PM_CORE, cores, 0, &id, 1);
	else
		builder_group(b, PM_CPU, 8, 0, &id, 1);
	builder_write(b, 0, 9);
	builder_finish(b);
	captured_file(path, &b->file);
}

static void words(void **state)
{
	static struct captured c;
	struct builder b;
	char path[64], line[256];

	(void)state;
	for (size_t i = 0; i < sizeof(slow) / sizeof(*slow); i++) {
		world(&b, path, slow[i].seconds, slow[i].cores);
		snprintf(line, sizeof(line), "--ascii %s test.x %s", slow[i].words, path);
		captured_run(&c, cmd_plot, line);
		if (!strstr(c.out, slow[i].end) || c.status)
			fail_msg("%s: %d\n%s%s, not\n%s", slow[i].words, c.status, c.out, c.err, slow[i].end);
		captured_remove(path);
		builder_release(&b);
	}
}

static void pictures(void **state)
{
	static struct captured c;
	struct builder b;
	char path[64], line[256];

	(void)state;
	world(&b, path, 1, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(line, sizeof(line), "--ascii --width=20 test.x %s %s", cases[i].words, path);
		captured_run(&c, cmd_plot, line);
		if (strcmp(c.out, cases[i].picture) || c.status)
			fail_msg("%s: %d\n%s%s, not\n%s", cases[i].words, c.status, c.out, c.err, cases[i].picture);
	}
	captured_remove(path);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes), cmocka_unit_test(cells_of_one_line), cmocka_unit_test(cells_of_two_lines),
		cmocka_unit_test(axes),  cmocka_unit_test(numbers),           cmocka_unit_test(pictures),
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
