/* From the bytes of a recording to csv: whole, cut, damaged, joined, growing, and through a window of time. */
#include <sys/mman.h>

#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/formats.h"
#include "report/pipeline/pipeline.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/test.h"

#define ROWS 400 /* in chunks of 10: a key chunk every 160 */

/* Every CPU counts 7 a second. */
static struct reading seven(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ 1000 + 7 * row, 0 };
}

static void record_rows(struct builder *b, const char *target, bool finish)
{
	uint32_t c;

	builder_init(b, seven);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_TARGET, pm_text(target)), 0);
	c = builder_counter(b, "test.x", "1", PM_CUMULATIVE, PM_AGG_SUM);
	assert_int_equal(pm_map_set(&builder_counter_at(b, c)->attrs, PM_COUNTER_REQUESTED, pm_bool(true)), 0);
	builder_group(b, PM_CPU, 8, 0, &c, 1);
	for (uint64_t row = 0; row < ROWS; row += 10)
		builder_write(b, row, 10);
	if (finish)
		builder_finish(b);
}

struct outcome {
	struct pipeline_result result;
	struct error error;
	int err;
	size_t lines;
	double sum, least, most; /* of values */
	char *text;
};

static void read_values(struct outcome *o)
{
	o->least = 1e300;
	for (char *line = o->text; *line; line = strchr(line, '\n') + 1) {
		const char *value = strstr(line, ",test.x,");
		double v;

		if (!value || value > strchr(line, '\n'))
			continue;
		assert_true(sscanf(value, ",test.x,%lf,", &v) == 1);
		o->lines++;
		o->sum += v;
		o->least = v < o->least ? v : o->least;
		o->most = v > o->most ? v : o->most;
	}
}

static struct outcome run_input(struct pm_input *in, const struct pipeline_config *config, const struct sink_ops *ops)
{
	struct export_config export = { .fd = memfd_create("pipeline", 0) };
	struct outcome o = { 0 };
	struct pm_reader *reader;
	struct exporter x;
	off_t size;

	assert_true(export.fd >= 0);
	if (ops == exporter_find("csv"))
		export.time = EXPORT_TIME_RELATIVE;
	exporter_init(&x, ops, &export);
	x.sink.recording = "test";
	o.err = pm_reader_open(&reader, in, &o.error);
	if (!o.err) {
		o.err = pipeline_run(config, reader, &x.sink, &o.result, &o.error);
		if (!o.err)
			o.err = exporter_flush(&x);
		pm_reader_close(reader);
	}
	exporter_release(&x);
	size = lseek(export.fd, 0, SEEK_END);
	o.text = calloc(1, (size_t)size + 1);
	assert_non_null(o.text);
	assert_int_equal(pread(export.fd, o.text, (size_t)size, 0), size);
	close(export.fd);
	read_values(&o);
	return o;
}

static struct outcome run_format(const void *data, size_t len, const struct pipeline_config *config,
				 const struct sink_ops *ops)
{
	struct pm_input in;

	assert_int_equal(input_memory(&in, data, len), 0);
	return run_input(&in, config, ops);
}

static struct outcome run(const void *data, size_t len, const struct pipeline_config *config)
{
	return run_format(data, len, config, exporter_find("csv"));
}

static void done(struct outcome *o)
{
	buf_release(&o->result.notes);
	buf_release(&o->result.remarks);
	free(o->text);
}

static struct pipeline_config system_only(void)
{
	return (struct pipeline_config){ .sheet = { .per = PM_SYSTEM, .summary_only = true } };
}

static void window_of_time(void **state)
{
	static const struct {
		const char *since, *until;
		size_t lines;
		const char *first, *last; /* ends of the first and the last interval, s from the start */
	} c[] = {
		{ "100", "110", 10, "101", "110" },
		{ "-5", NULL, 5, "395", "399" },
		{ NULL, "2.5", 2, "1", "2" },
		{ "2026-09-21T14:16:40Z", "2026-09-21T14:16:43Z", 3, "201", "203" },
		{ "2026-09-21T16:16:40+02:00", "203", 3, "201", "203" },
		{ "@1790000200", "203", 3, "201", "203" },
		{ "14:16:40", "14:16:43.0", 3, "201", "203" },
		{ "14:16", "+203", 43, "161", "203" },
		{ "14:13:00", "2", 2, "1", "2" },
		{ "2h", NULL, 0, NULL, NULL },
	};
	struct builder b;

	record_rows(&b, "system", true);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct pipeline_config config = system_only();
		struct outcome o;
		char stamp[64];

		if (c[i].since)
			assert_int_equal(moment_parse(&config.since, c[i].since, NULL), 0);
		if (c[i].until)
			assert_int_equal(moment_parse(&config.until, c[i].until, NULL), 0);
		o = run(b.file.data, b.file.len, &config);
		assert_int_equal(o.err, 0);
		if (o.lines != c[i].lines)
			fail_msg("%s to %s: %zu lines", c[i].since, c[i].until, o.lines);
		if (o.lines) {
			snprintf(stamp, sizeof(stamp), "\ntest,1,%s.000000000,", c[i].first);
			assert_true(strstr(o.text, stamp) == strchr(o.text, '\n'));
			snprintf(stamp, sizeof(stamp), "\ntest,1,%s.000000000,", c[i].last);
			assert_non_null(strstr(o.text, stamp));
		}
		done(&o);
	}
	builder_release(&b);
}

static void joined_recordings(void **state)
{
	struct pipeline_config config = system_only();
	struct builder b;
	struct outcome o;
	uint8_t *two;

	record_rows(&b, "system", true);
	two = malloc(2 * b.file.len);
	assert_non_null(two);
	memcpy(two, b.file.data, b.file.len);
	memcpy(two + b.file.len, b.file.data, b.file.len);
	/* The same recording twice is one after the other, too: another id makes no difference to us. */
	o = run(two, 2 * b.file.len, &config);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.lines, 2 * (ROWS - 1));
	assert_true(o.least == 56 && o.most == 56);
	done(&o);
	config.mode = PIPELINE_TOTAL;
	o = run_format(two, 2 * b.file.len, &config, exporter_find("table"));
	assert_int_equal(o.err, 0);
	assert_string_equal(o.text, "test.x\n 22344\ntest.x\n 22344\n");
	done(&o);
	free(two);
	builder_release(&b);
}

/* ---- a file that grows ---- */

struct growing {
	const struct buf *file;
	size_t at, visible;
};

static ssize_t growing_read(void *ctx, void *data, size_t len)
{
	struct growing *g = ctx;
	size_t n = g->visible - g->at;

	if (n > len)
		n = len;
	memcpy(data, g->file->data + g->at, n);
	g->at += n;
	return (ssize_t)n;
}

static int grow(void *ctx)
{
	struct growing *g = ctx;

	if (g->visible == g->file->len)
		return 1;
	g->visible = g->visible + 97 < g->file->len ? g->visible + 97 : g->file->len;
	return 0;
}

static void growing_file(void **state)
{
	for (int finish = 0; finish < 2; finish++) {
		struct pipeline_config config = system_only();
		struct builder b;
		struct growing g;
		struct outcome o;
		struct pm_input in = { .ctx = &g, .read = growing_read, .size = UINT64_MAX, .growing = true };

		record_rows(&b, "system", finish);
		g = (struct growing){ .file = &b.file, .visible = 2000 };
		config.wait = grow;
		config.wait_ctx = &g;
		o = run_input(&in, &config, exporter_find("csv"));
		assert_int_equal(o.err, 0);
		assert_int_equal(o.lines, ROWS - 1);
		assert_int_equal(o.result.ended, finish);
		assert_int_equal(o.result.cut_only, !finish);
		done(&o);
		builder_release(&b);
	}
}

static void first_intervals(void **state)
{
	struct pipeline_config config = system_only();
	struct builder b;
	struct outcome o;

	record_rows(&b, "system", true);
	config.max_intervals = 13;
	o = run(b.file.data, b.file.len, &config);
	assert_int_equal(o.err, 0);
	assert_int_equal(o.lines, 13);
	done(&o);
	builder_release(&b);
}

static struct reading text_one(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ .v = 1 };
}

static void texts_have_no_columns(void **state)
{
	struct pipeline_config config = system_only();
	struct builder b;
	struct outcome o;
	uint32_t id;
	(void)state;

	builder_init(&b, text_one);
	id = builder_counter(&b, "test.governor", "", PM_STATE, PM_AGG_NONE);
	builder_counter_at(&b, id)->type = PM_TEXT;
	assert_int_equal(pm_model_add_string(&b.model, "powersave", 9, false), 1);
	builder_group(&b, PM_CPU, 2, 0, &id, 1);
	builder_write(&b, 0, 5);
	builder_finish(&b);
	o = run(b.file.data, b.file.len, &config);
	assert_true(o.err < 0);
	assert_string_equal(o.error.text, "the recording has texts only, no numbers to show; pmrep dump prints them");
	done(&o);
	assert_int_equal(selection_add(&config.selection, SELECT_SHOW, "test.governor", NULL), 0);
	o = run(b.file.data, b.file.len, &config);
	assert_string_equal(o.error.text, "'test.governor' has texts, no numbers; pmrep dump --counter prints them");
	done(&o);
	selection_release(&config.selection);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(window_of_time), cmocka_unit_test(joined_recordings), cmocka_unit_test(growing_file),
	   cmocka_unit_test(first_intervals), cmocka_unit_test(texts_have_no_columns))
