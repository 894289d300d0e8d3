/* What a page takes from a recording: its facts, series in time, events and what is in which table. */
#include "report/cmd_html.c"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/diff_world.h"
#include "tests/unit/lib/test.h"

/* test.x of CPU n grows by n + 1 a second; test.level of the system is 7. */
static struct reading grows(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	return (struct reading){ strcmp(counter, "test.x") ? 7 : row * (i->number + 1), 0 };
}

static void begin(struct builder *b)
{
	uint32_t id[2];

	builder_init(b, grows);
	id[0] = builder_counter(b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 8, 0, &id[0], 1);
	id[1] = builder_counter(b, "test.level", "W", PM_GAUGE, PM_AGG_SUM);
	builder_group(b, PM_SYSTEM, 1, 0, &id[1], 1);
}

/* Up to two attributes; key 0: none. */
static void happen(struct builder *b, enum pm_event_type type, double row, uint32_t key, uint64_t v, uint32_t key2,
		   uint64_t v2)
{
	struct pm_event e = { .type = type, .time_ns = BUILDER_START_NS + (uint64_t)(row * (double)b->period_ns) };

	if (key)
		assert_int_equal(pm_map_set(&e.attrs, key, pm_u64(v)), 0);
	if (key2)
		assert_int_equal(pm_map_set(&e.attrs, key2, pm_u64(v2)), 0);
	assert_int_equal(pm_writer_event(b->writer, &e), 0);
	pm_event_release(&e);
}

static void read_back(struct html_recording *r, struct builder *b, const struct pipeline_config *config)
{
	struct error e = { 0 };
	char path[64];

	builder_finish(b);
	captured_file(path, &b->file);
	if (html_collect(r, path, path, config, &e) || html_facts(r, path, &e))
		fail_msg("%s", e.text);
	captured_remove(path);
	builder_release(b);
}

/* Shows test.x and nothing else. */
static struct pipeline_config shown(void)
{
	struct pipeline_config config = { .bind.rate = true };
	struct error e;

	assert_int_equal(selection_add(&config.selection, SELECT_SHOW, "test.x", &e), 0);
	return config;
}

static const struct pipeline_config plain = { .bind.rate = true };

/* ---- facts ---- */

static void put_header(struct builder *b, const char *text)
{
	const struct pm_key_row *row = pm_header_keys;
	const char *value = strchr(text, '=') + 1;
	struct pm_value list;

	while (strncmp(row->name, text, (size_t)(value - text - 1)) != 0 || row->name[value - text - 1])
		row++;
	if (row->kind == PM_VALUE_ARRAY) {
		/* Two words, or two pairs. */
		list = pm_array(2);
		for (uint32_t i = 0; i < 2; i++) {
			const char *word = i ? strchr(value, ' ') + 1 : value;

			if (word[1] == '=') {
				list.array.item[i] = pm_array(2);
				list.array.item[i].array.item[0] = pm_text_n(word, 1);
				list.array.item[i].array.item[1] = pm_text_n(word + 2, 1);
				continue;
			}
			list.array.item[i] = pm_text_n(word, strcspn(word, " "));
		}
		assert_int_equal(pm_map_set(&b->model.header, row->key, list), 0);
		return;
	}
	assert_int_equal(pm_map_set(&b->model.header, row->key,
				    row->kind == PM_VALUE_TEXT ? pm_text(value) : pm_u64(strtoull(value, NULL, 10))),
			 0);
}

#define SIZE_FACT     "Size=8 CPUs, 4 cores, 2 packages, 2 nodes"
#define RECORDED_FACT "Recorded=2026-09-21 14:13:20 UTC, 2.000 s in 2 intervals"
#define FIRST_FACT    "Processor=x86_64\n" SIZE_FACT "\n"
#define SYSTEM        "\nCounted=the whole system\n"

/* ---- series ---- */

static const struct bins_series *series(const struct html_recording *r, const struct bins_set *s, const char *metric,
					const char *label)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!strcmp(r->bins.metric[s->series[i].metric].name, metric) &&
		    !strcmp(r->bins.row[s->series[i].row].label, label))
			return &s->series[i];
	return NULL;
}

/* Snapshots 9 to 13 are lost, and the interval is of all of its seconds. */
static void in_time(void **state)
{
	struct pipeline_config config = shown();
	struct html_recording r;
	struct builder b;
	const struct bins_series *x, *far, *level;

	(void)state;
	begin(&b);
	put_header(&b, "interval=1000000000");
	builder_write(&b, 0, 9);
	builder_write(&b, 14, 7);
	happen(&b, PM_EVENT_MARKER, 3, PM_EVENT_KEY_CPU, 2, 0, 0);
	happen(&b, PM_EVENT_LOST, 14, PM_EVENT_KEY_COUNT, 5, PM_EVENT_KEY_SINCE,
	       BUILDER_START_NS + UINT64_C(8000000000));
	happen(&b, PM_EVENT_NOTE, 15, PM_EVENT_KEY_SINCE, BUILDER_START_NS + UINT64_C(16000000000), 0, 0);
	happen(&b, PM_EVENT_GONE, 15, PM_EVENT_KEY_INSTANCE, b.instance[PM_TASK][0], 0, 0);
	happen(&b, PM_EVENT_GONE, 16, PM_EVENT_KEY_INSTANCE, b.instance[PM_DEVICE][0], 0, 0);
	read_back(&r, &b, &config);
	assert_true(r.bins.duration_s == 20 && r.result.snapshots == 16 && r.result.intervals == 15);
	assert_true(r.bins.start_wall_ns == BUILDER_WALL_NS && r.lost_ticks == 5);
	assert_true(r.bins.near.width_s == 1 && r.bins.far.width_s == 1 && r.bins.near.used == 20 &&
		    r.bins.far.used == 20);
	x = series(&r, &r.bins.near, "test.x", "system");
	far = series(&r, &r.bins.far, "test.x", "CPU 2");
	assert_true(x && far && series(&r, &r.bins.near, "test.x", "package 1"));
	for (uint32_t k = 0; k < 20; k++) {
		assert_true(bins_of(&r.bins.near, x)[k].weight == 1 && bins_of(&r.bins.near, x)[k].low == 36 &&
			    bins_of(&r.bins.near, x)[k].high == 36);
		assert_true(bins_of(&r.bins.far, far)[k].weight == 1 && bins_of(&r.bins.far, far)[k].low == 3 &&
			    bins_of(&r.bins.far, far)[k].high == 3);
	}
	assert_true(x->present == 15 && !x->missing && !x->partial && x->weight == 20 && bins_mean(x) == 36);
	/* Each metric of packages once, though two sheets have it. */
	assert_int_equal(r.bins.near.n + r.bins.totals.n, r.bins.n_metrics + 2);
	/* What nobody asked for stands in the table of all only. */
	level = series(&r, &r.bins.totals, "test.level", "system");
	assert_true(level && !r.bins.totals.bin && level->present == 15 && bins_mean(level) == 7);
	assert_int_equal(r.n_events, 4);
	assert_true(r.event[0].at_s == 3 && r.event[0].until_s == 3 && r.event[0].cpu == 2);
	assert_true(r.event[1].at_s == 8 && r.event[1].until_s == 14 && r.event[1].cpu == PM_NONE);
	assert_true(r.event[2].at_s == 15 && r.event[2].until_s == 15);
	assert_true(r.event[3].type == PM_EVENT_GONE && r.event[3].at_s == 16);
	html_recording_release(&r);
	selection_release(&config.selection);
}

/* Buckets are as long as it takes, whether the length is known beforehand or not. */
static void lengths(void **state)
{
	static const struct {
		const char *interval;
		uint32_t rows;
		bool part;
		double near, far, seconds;
	} c[] = {
		{ "interval=1000000000", 2049, false, 1, 2, 2048 },
		{ "interval=1000000000", 2050, false, 2, 4, 2049 },
		{ "interval=1000000000", 2050, true, 1, 2, 2048 },
		{ "interval=0", 17, false, 0.008, 0.016, 16 },
		{ "interval=2000000000", 4, false, 2, 2, 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct pipeline_config config = shown();
		struct html_recording r;
		struct builder b;

		begin(&b);
		put_header(&b, c[i].interval);
		for (uint32_t row = 0; row < c[i].rows; row += 128)
			builder_write(&b, row, row + 128 < c[i].rows ? 128 : c[i].rows - row);
		if (c[i].part)
			config.since = (struct moment){ .kind = MOMENT_FROM_START, .ns = 1000000000 };
		read_back(&r, &b, &config);
		if (r.bins.near.width_s != c[i].near || r.bins.far.width_s != c[i].far ||
		    r.bins.duration_s != c[i].seconds)
			fail_msg("%zu: %g %g %g", i, r.bins.near.width_s, r.bins.far.width_s, r.bins.duration_s);
		html_recording_release(&r);
		selection_release(&config.selection);
	}
}

/* In second k the counter of CPU n grows by k * (n + 1); from 300 to 399 it cannot be read. */
static struct reading ramp(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	if (strcmp(counter, "test.x") != 0)
		return (struct reading){ 7, 0 };
	if (row >= 300 && row < 400)
		return (struct reading){ 0, PM_REASON_ERRNO + 5 };
	return (struct reading){ row * (row + 1) / 2 * (i->number + 1), 0 };
}

static void check_ramp(const struct bins_set *s, const struct bins_series *x, double factor)
{
	uint32_t width = (uint32_t)s->width_s;

	for (uint32_t k = 0; k < s->used; k++) {
		const struct bin *b = &bins_of(s, x)[k];
		double first = k * width + 1, last = (k + 1) * width;

		if (first > 300 && last < 400)
			assert_true(b->weight == 0);
		if (last < 3000 && (last < 300 || first > 401))
			assert_true(b->weight == (float)width && b->low == (float)(first * factor) &&
				    b->high == (float)(last * factor) &&
				    fabs((double)(b->sum / b->weight) - (first + last) / 2 * factor) < 0.01 * factor);
	}
	/* The first reading after the gap has the mean of it. */
	assert_true(fabs(x->sum / x->weight - (44850 + 350 + 4418300) / 2899.0 * factor) < 0.01 * factor);
	assert_true(x->low == factor && x->high == 2999 * factor && x->present);
}

/* What is put in comes out, whether buckets are made long enough at once or grow. */
static void ramps(void **state)
{
	(void)state;
	for (int grown = 0; grown < 2; grown++) {
		struct pipeline_config config = shown();
		const struct bins_series *x;
		struct html_recording r;
		struct builder b;

		begin(&b);
		b.value = ramp;
		put_header(&b, "interval=1000000000");
		for (uint32_t row = 0; row < 3000; row += 100)
			builder_write(&b, row, 100);
		if (grown)
			config.until = (struct moment){ .kind = MOMENT_FROM_START, .ns = UINT64_C(10000000000000) };
		read_back(&r, &b, &config);
		assert_true(r.bins.near.width_s == 2 && r.bins.far.width_s == 4 && r.bins.near.used == 1500 &&
			    r.bins.far.used == 750);
		x = series(&r, &r.bins.near, "test.x", "system");
		check_ramp(&r.bins.near, x, 36);
		assert_true(x->present == 2899 && x->missing == 100 && x->reason == PM_REASON_ERRNO + 5);
		check_ramp(&r.bins.far, series(&r, &r.bins.far, "test.x", "CPU 2"), 3);
		html_recording_release(&r);
		selection_release(&config.selection);
	}
}

/* More events than a page has are counted; a recording without a wall clock has none. */
static void many_events(void **state)
{
	struct html_recording r;
	struct builder b;

	(void)state;
	begin(&b);
	b.no_wall = true;
	builder_write(&b, 0, 3);
	for (int i = 0; i < HTML_EVENTS + 2; i++)
		happen(&b, PM_EVENT_MARKER, 1, 0, 0, 0, 0);
	read_back(&r, &b, &plain);
	assert_true(r.n_events == HTML_EVENTS && r.more_events == 2 && r.bins.start_wall_ns == 0);
	assert_string_equal(r.fact[RECORDED], "2.000 s in 2 intervals");
	html_recording_release(&r);
	/* One snapshot has no interval, and its events have no time of their own. */
	begin(&b);
	put_header(&b, "interval=1000000000");
	builder_write(&b, 0, 1);
	happen(&b, PM_EVENT_MARKER, 5, 0, 0, 0, 0);
	read_back(&r, &b, &plain);
	assert_true(r.result.intervals == 0 && r.result.snapshots == 1 && r.n_events == 1 && r.event[0].at_s == 0);
	html_recording_release(&r);
}

/* ---- two recordings in one page ---- */

#define CELL(v) "<td class=n>" v "</td>"
#define ROW(name, base, fresh, change) \
	"<tr><th scope=row>" name "</th><td>system</td><td>CHANGED</td>" CELL(base) \
		CELL(fresh) "<td class=unit>1/s</td>" CELL(change) CELL(change " to " change)

/* clang-format off */
static const struct {
	const char *keys[2][4]; /* of lib/diff_world.h: 8000 interrupts a second unless said otherwise */
	const char *words, *counts;  /* NULL: none */
	const char *parts[4], *lacks[3];
} pairs[] = {
	{ { { "os=A" }, { "rate=1100", "os=B" } }, "", "2 inconclusive",
	  { "<strong>The recordings differ in more than their numbers</strong><ul><li>operating system: A and B</li></ul>",
	    "<p>Of all of them: how much runs vary is unknown: record four or more per side, or give --assume-run-sd.</p>",
	    "95 % interval</th></tr></thead>", "<td class=unit>1/s</td>" CELL("+10.00 %") CELL("+10.00 % to +10.00 %") "</tr>" },
	  { "Why</th>", "class=why", "class=verdict-" } },
	{ { { NULL }, { "rate=20000" } }, "", "1 changed, 1 inconclusive",
	  { ROW("IRQ/s", "8000", "160000", "&times;20.0") "<td class=why>chance only if runs vary by more than ", "Why</th></tr>",
	    "<td class=why>how much runs vary is unknown", "<th scope=row>IPC</th>" },
	  { "Of all of them", "differ in more", "too different" } },
	{ { { NULL }, { "rate=99960" } }, "--show=irq", "1 changed", { ROW("IRQ/s", "8000", "799680", "&times;100.0") },
	  { "<th scope=row>IPC</th>" } },
	{ { { NULL }, { "rate=100000" } }, "--show=irq", "1 changed", { ROW("IRQ/s", "8000", "800000", "&times;100") }, { NULL } },
	{ { { NULL }, { "rate=10000" } }, "--show=irq", "1 changed", { ROW("IRQ/s", "8000", "80000", "&times;10.0") }, { NULL } },
	{ { { NULL }, { "rate=9900" } }, "--show=irq", "1 changed", { ROW("IRQ/s", "8000", "79200", "+890.00 %") }, { NULL } },
	{ { { "rate=12.51" }, { "rate=124.9" } }, "--show=irq", "1 changed", { CELL("100.1") CELL("999.2") }, { NULL } },
	{ { { "rate=12.49" }, { "rate=125.1" } }, "--show=irq", "1 changed", { CELL("99.920") CELL("1001") }, { NULL } },
	{ { { NULL }, { "name=bench.x" } }, "", "1 inconclusive, 1 on one side only",
	  { "<td>ABSENT</td>" CELL("8000") CELL("-") "<td class=unit>1/s</td>" CELL("-") CELL("-") "<td class=why>only the base has it" },
	  { NULL } },
	{ { { NULL }, { "arch=arm64" } }, "", NULL,
	  { "<strong>The machines are too different to compare: there are no verdicts</strong><ul><li>architecture: x86_64 and arm64<" },
	  { "class=\"numbers verdicts\"", "better direction", "The first recording is the base" } },
	{ { { "rows=11", "runs=4" }, { "rows=11", "runs=4", "rate=1100" } }, "", "1 regressed, 1 the same",
	  { "<td>system</td><td class=verdict-regressed>REGRESSED</td>", "<td>package 1</td><td class=verdict-regressed>", "<td>SAME</td>" },
	  { "class=verdict-improved" } },
	{ { { "rows=11", "runs=4", "rate=1100" }, { "rows=11", "runs=4" } }, "", "1 improved, 1 the same",
	  { "<td class=verdict-improved>IMPROVED</td>", CELL("-9.09 %") }, { "class=verdict-regressed" } },
	{ { { NULL }, { "same" } }, "", NULL, { "<p>No verdicts: ", " is given on both sides.</p>" }, { "better direction" } },
};
/* clang-format on */

static void verdicts(void **state)
{
	static struct captured c;
	int wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		char path[2][64], line[256], said[128];
		const char *counts = pairs[i].counts;
		bool good;

		for (int side = 0; side < 2; side++) {
			char *keys[5], seed[16];
			struct builder b;
			size_t n = 0;

			snprintf(seed, sizeof(seed), "seed=%d", side + 1);
			for (; n < 4 && pairs[i].keys[side][n]; n++)
				keys[n] = (char *)pairs[i].keys[side][n];
			if (n && !strcmp(keys[0], "same")) {
				strcpy(path[side], path[0]);
				continue;
			}
			keys[n++] = seed;
			assert_true(diff_world(&b, n, keys));
			captured_file(path[side], &b.file);
			builder_release(&b);
		}
		snprintf(line, sizeof(line), "-o -%s%s %s %s", *pairs[i].words ? " " : "", pairs[i].words, path[0],
			 path[1]);
		captured_run(&c, cmd_html, line);
		snprintf(said, sizeof(said), "better direction: %s.</strong></p>\n", counts ? counts : "");
		good = !c.status && strstr(c.out, "<li><a href=\"#verdicts\">Verdicts</a></li>") &&
		       !strstr(c.out, said) == !counts;
		snprintf(said, sizeof(said), "</a> on the metrics that have a better direction: %s.</p>",
			 counts ? counts : "");
		good &= !strstr(c.out, said) == !counts;
		for (size_t k = 0; k < 4 && pairs[i].parts[k]; k++)
			if (!strstr(c.out, pairs[i].parts[k])) {
				print_error("missing: %s\n", pairs[i].parts[k]);
				good = false;
			}
		for (size_t k = 0; k < 3; k++)
			good &= !pairs[i].lacks[k] || !strstr(c.out, pairs[i].lacks[k]);
		if (!good) {
			const char *at = strstr(c.out, "id=verdicts aria");

			print_error("%zu: %d\n%s%.3000s\n", i, c.status, c.err, at ? at : "");
			wrong++;
		}
		captured_remove(path[0]);
		if (strcmp(path[0], path[1]))
			captured_remove(path[1]);
	}
	assert_int_equal(wrong, 0);
}

UNIT_TESTS(cmocka_unit_test(in_time), cmocka_unit_test(lengths), cmocka_unit_test(ramps),
	   cmocka_unit_test(many_events), cmocka_unit_test(verdicts))
