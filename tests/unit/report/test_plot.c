/* Pictures of lines, against those made by hand. */
#include "report/cmd_plot.c"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/test.h"

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
	  "10 +        |'''''''\n 5 +        |\n   |        |\n 0 +--------'\n"
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
};
/* What is not in seconds does not say so. */
static const struct {
	uint32_t seconds;
	const char *words, *end;
} slow[] = {
	{ 60, "-c 0 --height=4 --width=20", "\n    ++--------+-----\n     0:00     5:00\n" },
	{ 20, "-c 0 --height=4 --width=40", "\n     0:00         1:00         2:00\n" },
	{ 5, "-c 0 --height=4 --width=20", "\n  ++-------+-------+\n   0       20   40 s\n" },
	{ 80, "-c 0 --height=4 --width=500", " 9:40            10:00          10:20    10:40\n" },
};
/* clang-format on */

static void world(struct builder *b, char path[64], uint32_t seconds)
{
	uint32_t id;

	builder_init(b, steps);
	b->period_ns = UINT64_C(1000000000) * seconds;
	id = builder_counter(b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
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
		world(&b, path, slow[i].seconds);
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
	world(&b, path, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(line, sizeof(line), "--ascii --width=20 test.x %s %s", cases[i].words, path);
		captured_run(&c, cmd_plot, line);
		if (strcmp(c.out, cases[i].picture) || c.status)
			fail_msg("%s: %d\n%s%s, not\n%s", cases[i].words, c.status, c.out, c.err, cases[i].picture);
	}
	captured_remove(path);
	builder_release(&b);
}

/* ---- charts of lines made by hand ---- */

struct made {
	const char *metric, *unit, *place;
	double v[4]; /* of equal parts of the time; NAN: none */
	bool no_mean;
};

/* A quarter of the time is a bin. */
static void make(struct bins *b, const struct made *line, size_t n, double seconds)
{
	struct bins_set *set = &b->near;

	*b = (struct bins){ .duration_s = seconds };
	*set = (struct bins_set){ .cap = 4, .used = 4, .width_s = seconds / 4, .n = (uint32_t)n };
	set->series = calloc(n, sizeof(*set->series));
	set->bin = calloc(4 * n, sizeof(*set->bin));
	b->metric = calloc(n, sizeof(*b->metric));
	b->row = calloc(n, sizeof(*b->row));
	assert_true(set->series && set->bin && b->metric && b->row);
	for (size_t i = 0; i < n; i++) {
		struct bins_series *x = &set->series[i];
		uint32_t metric = 0;

		while (metric < b->n_metrics && strcmp(b->metric[metric].name, line[i].metric))
			metric++;
		if (metric == b->n_metrics)
			b->metric[b->n_metrics++] = (struct bins_metric){ .name = strdup(line[i].metric),
									  .display = strdup(line[i].metric),
									  .unit = strdup(line[i].unit) };
		b->row[b->n_rows++] = (struct bins_row){ .label = strdup(*line[i].place ? line[i].place : "system"),
							 .kind = *line[i].place ? PM_DEVICE : PM_SYSTEM };
		*x = (struct bins_series){ .metric = metric, .row = (uint32_t)i, .low = INFINITY, .high = -INFINITY };
		x->totalled = line[i].no_mean;
		for (uint32_t k = 0; k < 4; k++) {
			double v = line[i].v[k];

			if (isnan(v))
				continue;
			set->bin[4 * i + k] = (struct bin){ (float)v, (float)v, (float)v, 1 };
			x->low = fmin(x->low, v);
			x->high = fmax(x->high, v);
			x->sum += v;
			x->weight++;
			x->present++;
		}
	}
}

#define PARTS 8

static void check(struct buf *out, const char *const *part, size_t i)
{
	const char *at = buf_str(out);

	for (size_t k = 0; k < PARTS && part[k]; k++) {
		const char *found = strstr(at, part[k]);

		if (!found)
			fail_msg("%zu: %s is not in\n%s", i, part[k], at);
		at = found + strlen(part[k]);
	}
}

/* clang-format off */
static const struct {
	struct plot_style style;
	unsigned size[2]; /* width and height */
	double seconds;
	struct made line[3];
	const char *part[PARTS]; /* in this order */
} charts[] = {
	/* Names, means and units, and what has none of them; charts by unit. */
	{ { 0 }, { 40, 4 }, 4,
	  { { "a", "1", "", { 1, 2, 3, 4 }, false }, { "b", "1", "CPU 1", { 1, 1, 1, 1 }, true }, { "c", "W", "", { 5, 5,
	  5, 5 }, false } },
	  { "* a: min 1.000, mean 2.500, max 4.000\no b  CPU 1: min 1.000, mean -, max 1.000\n",
	  "s\n\nc: min 5.000, mean 5.000, max 5.000 W\n" } },
	{ { 0 }, { 40, 4 }, 4,
	  { { "a", "1", "", { NAN, NAN, NAN, NAN }, false }, { "b", "W", "", { 2, NAN, NAN, 2 }, false }, { "c", "W", "",
	  { NAN, NAN, NAN, NAN }, false } },
	  { "a: no value\n\n* b: min 2.000, mean 2.000, max 2.000 W\no c: no value\n" } },
	/* In colors; a picture of one line is of dots, of several too, as their colors tell them apart. */
	{ { .color = true }, { 30, 2 }, 4, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { "b", "1", "", { 3, 3, 3,
	  3 }, false }, { 0 } },
	  { "\033[36m--\033[0m a: min", "\n\033[33m--\033[0m b: min", " +\033[33m", "\033[0m\n" } },
	{ { .color = true, .utf8 = true }, { 30, 2 }, 4, { { "a", "1", "", { 1, 1, 1, 3 }, false }, { 0 }, { 0 } },
	  { "\033[36m\u2501\u2501\033[0m a: min", " \u2524", "\n  \u2514\u252c\u2500\u2500", "\u252c\n   0" } },
	{ { .utf8 = true }, { 30, 5 }, 4, { { "a", "1", "", { 1, 1, 1, 3 }, false }, { 0 }, { 0 } },
	  { "a: min", "\n4 \u2524", "\u2502", "\n0 \u2524\n", "\u2514" } },
	/* From zero, but where that would be most of the picture; what hardly differs from its own size does start there. */
	{ { 0 }, { 30, 6 }, 4, { { "a", "1", "", { 65, 65, 65, 99 }, false }, { 0 }, { 0 } }, { "100 +", "\n  0 +" } },
	{ { 0 }, { 30, 6 }, 4, { { "a", "1", "", { 67, 67, 67, 99 }, false }, { 0 }, { 0 } }, { "100 +", "\n 60 +" } },
	{ { 0 }, { 30, 6 }, 4, { { "a", "1", "", { 1000, 1000, 1000, 1000.9 }, false }, { 0 }, { 0 } }, { "1000 +",
	  "\n   0 +" } },
	{ { 0 }, { 30, 6 }, 4, { { "a", "1", "", { -4, -4, -4, 3 }, false }, { 0 }, { 0 } }, { " 5 +", "\n-5 +" } },
	/* What rises is connected, what comes after a gap is not. */
	{ { 0 }, { 20, 4 }, 4, { { "a", "1", "", { 1, 9, NAN, 1 }, false }, { 0 }, { 0 } },
	  { "\n10 +    ", "\n 5 +    |\n   |    |\n 0 +----'      " } },
	/* Times of less than a second, and in steps of minutes, hours and days. */
	{ { 0 }, { 40, 2 }, 0.4, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { 0 }, { 0 } },
	  { "+-----", "+-----", "\n     0.0 ", " 0.2 ", " 0.4 s\n" } },
	{ { 0 }, { 60, 2 }, 1800, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { 0 }, { 0 } },
	  { " 0:00              10:00    ", " 20:00   ", " 30:00\n" } },
	{ { 0 }, { 60, 2 }, 36000, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { 0 }, { 0 } }, { " 0:00      ",
	  " 2:00:00   ", " 4:00:00  " } },
	{ { 0 }, { 60, 2 }, 360000, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { 0 }, { 0 } }, { " 0:00        ",
	  " 24:00:00", " 48:00:00", " 72:00:00\n" } },
	{ { 0 }, { 60, 2 }, 8640000, { { "a", "1", "", { 1, 1, 1, 1 }, false }, { 0 }, { 0 } }, { "\n1.0 +''''",
	  "\n0.0 +\n", "     0:00       480:00:00  960:00:00  " } },
};
/* clang-format on */

static void by_hand(void **state)
{
	static const char *const place[26] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m",
					       "n", "o", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z" };
	struct made many[26];

	(void)state;
	for (size_t i = 0; i < sizeof(charts) / sizeof(*charts); i++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;
		struct plot_style style = charts[i].style;
		struct bins d;
		size_t n = 0;

		style.width = charts[i].size[0];
		style.height = charts[i].size[1];

		while (n < 3 && charts[i].line[n].metric)
			n++;
		make(&d, charts[i].line, n, charts[i].seconds);
		draw_groups(&d, &style, &out);
		check(&out, charts[i].part, i);
		bins_release(&d);
	}
	/* A legend names so many lines and no more. */
	for (size_t n = 24; n <= 26; n++) {
		SCOPED(buf_release) struct buf out = BUF_INIT;
		struct bins d;
		const char *more = n == 25 ? "\nand 1 more\n" : "\nand 2 more\n";

		for (size_t i = 0; i < n; i++)
			many[i] = (struct made){ "a", "1", place[i], { 1, 1, 1, 1 }, false };
		make(&d, many, n, 4);
		draw_groups(&d, &(struct plot_style){ .width = 40, .height = 4 }, &out);
		check(&out, (const char *const[PARTS]){ "* a  a: min", "\nn a  x: min", n == 24 ? NULL : more }, n);
		assert_int_equal(strstr(buf_str(&out), " more") != NULL, n > 24);
		assert_null(strstr(buf_str(&out), "\np a"));
		bins_release(&d);
	}
}

UNIT_TESTS(cmocka_unit_test(pictures), cmocka_unit_test(words), cmocka_unit_test(by_hand))
