/*
 * Recordings that no recorder would make: any mixture of counters, instances, groups, failures and topologies,
 * through every level and format. What is looked at: nothing breaks, and what comes out has the right form.
 */
#include <sys/mman.h>

#include "tests/unit/lib/builder.h"
#include "common/json.h"
#include "report/export/exporter.h"
#include "report/pipeline/pipeline.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/test.h"

static uint64_t seed;

static uint32_t dice(uint32_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % n;
}

static struct reading anything(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const uint16_t reason[] = { PM_REASON_NOT_COUNTED,
					   PM_REASON_OFFLINE,
					   PM_REASON_MISSED,
					   PM_REASON_GONE,
					   PM_REASON_NOT_READ,
					   PM_REASON_ERRNO + 5,
					   65535 };
	struct reading r = { .v = row * 1000 + dice(1000) };

	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return r;
	if (!dice(10))
		r.v = dice(2) ? (uint64_t)dice(UINT32_MAX) << 32 | dice(UINT32_MAX) : dice(3);
	if (!dice(8))
		r.status = reason[dice(sizeof(reason) / sizeof(reason[0]))];
	return r;
}

static void any_topology(struct builder *b)
{
	for (uint32_t i = 0; i < BUILDER_CPUS; i++) {
		struct pm_cpu *c = &b->model.topology.cpu[i];
		uint32_t *number[] = {
			&c->package, &c->die, &c->cluster, &c->core, &c->node, &c->thread, &c->cache[3]
		};

		for (size_t k = 0; k < sizeof(number) / sizeof(number[0]); k++)
			if (!dice(4))
				*number[k] = dice(3) ? dice(4) : PM_NONE;
		c->online = dice(5) != 0;
	}
	if (!dice(10))
		b->model.topology.n = dice(BUILDER_CPUS);
}

static void any_counters(struct builder *b)
{
	static const char *const names[] = {
		"cycles",       "instructions",     "cpuidle.time.c1", "cpuidle.usage.c1",
		"stat.idle",    "interrupts.total", "x\"y,z\n\033",    "powercap.energy.package",
		"thermal.temp", "migrations",       "a.b.c*d",         "branches:u",
	};
	uint32_t n = 1 + dice(12);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t id = builder_counter(b, names[i], dice(2) ? "1" : "J", (enum pm_semantics)dice(6),
					      (enum pm_aggregation)dice(6));
		struct pm_counter *c = builder_counter_at(b, id);

		c->type = (enum pm_type)dice(3);
		c->width = (uint8_t)(dice(3) ? 64 : 1 + dice(64));
		c->scale.den = dice(3) ? 1 : 1000;
		if (!dice(3))
			pm_map_set(&c->attrs, PM_COUNTER_REQUESTED, pm_bool(true));
		if (!dice(3))
			pm_map_set(&c->attrs, PM_COUNTER_FAMILY,
				   pm_text(dice(2) ? "cpuidle.time" : "interrupts.irq"));
		if (!dice(3))
			pm_map_set(&c->attrs, PM_COUNTER_MEMBER, pm_text(dice(2) ? "C*1 \\ )" : ""));
		if (!dice(4))
			pm_map_set(&c->attrs, PM_COUNTER_PERF_PER_PKG, pm_bool(true));
	}
}

static void any_groups(struct builder *b)
{
	static const uint32_t most[PM_KINDS] = {
		[PM_SYSTEM] = 1, [PM_PACKAGE] = 2, [PM_CORE] = 4,   [PM_CPU] = 8,
		[PM_PMU] = 2,    [PM_TASK] = 2,    [PM_DEVICE] = 2,
	};
	uint32_t n = 1 + dice(5);

	while (n--) {
		enum pm_kind kind = (enum pm_kind)dice(PM_KINDS);
		uint32_t counter[4], counters = 1 + dice(4);
		uint32_t flags = (dice(2) ? PM_GROUP_SHARED_TIME : 0) | (dice(2) ? PM_GROUP_PERF_TIMES : 0);

		if (!most[kind])
			kind = PM_CPU;
		if (!dice(4)) {
			flags |= PM_GROUP_LIST;
			counters = 1 + dice(most[kind] < 4 ? most[kind] : 4);
		}
		/* No column twice: those of a list differ by their instances, others have to by their counters. */
		if (!(flags & PM_GROUP_LIST) && counters > b->model.n_counters)
			counters = b->model.n_counters;
		for (uint32_t i = 0, first = dice(b->model.n_counters); i < counters; i++)
			counter[i] = 1 + (first + i) % b->model.n_counters;
		builder_group(b, kind, flags & PM_GROUP_LIST ? counters : 1 + dice(most[kind]), flags, counter,
			      counters);
	}
}

static void any_recording(struct builder *b)
{
	uint64_t row = 0;

	builder_init(b, anything);
	b->period_ns = dice(4) ? 1000000000 : 1 + dice(1000);
	b->read_ns = dice(100000);
	b->no_wall = !dice(4);
	any_topology(b);
	any_counters(b);
	any_groups(b);
	for (uint32_t chunks = 1 + dice(6); chunks; chunks--) {
		uint32_t n = 1 + dice(128);

		/* Groups, runs and segments that come in between. */
		if (!dice(3))
			any_groups(b);
		b->segment += !dice(4);
		b->run += !dice(5);
		builder_write(b, row, n);
		row += n;
	}
	builder_finish(b);
}

static struct pipeline_config any_config(void)
{
	struct pipeline_config c = { 0 };

	c.mode = dice(4);
	c.every_ns = 1 + dice(2000000000);
	c.max_intervals = dice(4) ? 0 : 1 + dice(50);
	c.bind.rate = dice(2);
	c.selection.all = dice(2);
	c.selection.joules = !dice(4);
	c.sheet.per = (enum pm_kind)dice(PM_KINDS);
	c.sheet.only_per = dice(2);
	c.sheet.summary = dice(2);
	c.sheet.summary_only = !dice(4);
	c.sheet.rows = (enum sheet_rows)dice(4);
	if (c.sheet.rows == SHEET_CPU_SET)
		cpulist_add(&c.sheet.cpus, dice(10));
	if (!dice(3))
		c.since = (struct moment){ dice(3), dice(2000000000) };
	if (!dice(3))
		c.until = (struct moment){ dice(3), dice(2000000000) };
	return c;
}

/* Fields of a line after RFC 4180, as far as the quotes are balanced. */
static unsigned check_csv(const char *text)
{
	unsigned rows = 0, fields = 1;
	bool quoted = false;

	for (; *text; text++) {
		if (*text == '"') {
			quoted = !quoted;
		} else if (*text == ',' && !quoted) {
			fields++;
		} else if (*text == '\n' && !quoted) {
			assert_int_equal(fields, EXPORT_N_COLUMNS);
			fields = 1;
			rows++;
		}
	}
	assert_false(quoted);
	assert_int_equal(fields, 1);
	return rows;
}

static unsigned check_json(const char *text)
{
	unsigned rows = 0;

	for (; *text; text = strchr(text, '\n') + 1, rows++) {
		struct json *j = json_parse(text, strcspn(text, "\n"), NULL);

		if (!j)
			fail_msg("%.*s", (int)strcspn(text, "\n"), text);
		json_free(j);
	}
	return rows;
}

static unsigned check_table(const char *text)
{
	unsigned rows = 0;

	for (; *text; text++) {
		assert_true(*text == '\n' || (unsigned char)*text >= ' ');
		rows += *text == '\n';
	}
	return rows;
}

static unsigned run(struct builder *b, const struct sink_ops *ops, enum export_layout layout)
{
	struct export_config export = { .fd = memfd_create("stress", 0), .layout = layout, .time = dice(5) };
	struct pipeline_config config = any_config();
	struct pipeline_result result = { 0 };
	struct error e = { 0 };
	struct pm_reader *reader;
	struct pm_input in;
	struct exporter x;
	unsigned rows = 0;
	off_t size;
	char *text;
	int err;

	assert_true(export.fd >= 0);
	exporter_init(&x, ops, &export);
	x.sink.recording = "stress";
	assert_int_equal(input_memory(&in, b->file.data, b->file.len), 0);
	assert_int_equal(pm_reader_open(&reader, &in, &e), 0);
	err = pipeline_run(&config, reader, &x.sink, &result, &e);
	assert_true(!err || e.text[0]);
	if (!err)
		assert_int_equal(exporter_flush(&x), 0);
	size = lseek(export.fd, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(pread(export.fd, text, (size_t)size, 0), size);
	if (!err && ops == exporter_find("csv") && layout == EXPORT_LONG)
		rows = check_csv(text);
	else if (!err && ops == exporter_find("json"))
		rows = check_json(text);
	else if (!err && ops == exporter_find("table"))
		rows = check_table(text);
	free(text);
	close(export.fd);
	pm_reader_close(reader);
	exporter_release(&x);
	buf_release(&result.notes);
	buf_release(&result.remarks);
	cpulist_release(&config.sheet.cpus);
	return rows;
}

static void anything_goes(void **state)
{
	unsigned rows[8] = { 0 };

	for (unsigned round = 0; round < 80; round++) {
		struct builder b;

		seed = round;
		any_recording(&b);
		for (size_t i = 0; exporters[i]; i++) {
			assert_true(i < sizeof(rows) / sizeof(rows[0]));
			rows[i] += run(&b, exporters[i], EXPORT_LONG);
			run(&b, exporters[i], EXPORT_WIDE);
		}
		builder_release(&b);
	}
	/* Otherwise nothing was looked at. */
	for (int i = 0; i < 3; i++)
		assert_true(rows[i] > 5000);
}

UNIT_TESTS(cmocka_unit_test(anything_goes))
