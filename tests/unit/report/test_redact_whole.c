/* A redacted recording is whole, and has none of the names of any kind that were to be dropped. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/redact_bytes.h"
#include "tests/unit/lib/test.h"

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)i;
	return (struct reading){ strcmp(counter, "state.of") ? 1000 + row : row % 2 + 1, 0 };
}

static void set(struct pm_map *m, uint32_t key, const char *text)
{
	assert_int_equal(pm_map_set(m, key, pm_text(text)), 0);
}

static struct pm_value pair(const char *a, const char *b)
{
	struct pm_value v = pm_array(2);

	v.array.item[0] = pm_text(a);
	v.array.item[1] = pm_text(b);
	return v;
}

/* Something of each kind, named by words that begin with zq. */
static void world_of_names(struct builder *b)
{
	static const char *const names[] = { "stat.user",        "zqevent",          "add.zqmine",
					     "interrupts.zqone", "interrupts.zqtwo", "hwmon.zqchip.temp1" };
	struct pm_event event = { .type = PM_EVENT_NOTE, .time_ns = BUILDER_START_NS + 1500000000 };
	struct pm_probe probe = { .source = (char *)"zqsource",
				  .what = pm_remark(PM_REMARK_EVENTS, "cycles, zqevent"),
				  .hint = remark_of("see zqhost"),
				  .reason = 7 };
	struct pm_config config = { .name = (char *)"cpufreq.driver", .value = pm_text("of zqhost") };
	struct pm_value metrics = pm_array(1), one = pm_array(6), list;
	struct pm_pmu pmu = { 0 };
	struct pm_map *h = &b->model.header;
	uint32_t id[7];

	builder_init(b, of_row);
	set(h, PM_HEADER_HOST, "zqhost.zqdomain.org");
	set(h, PM_HEADER_OS, "OS of zqhost");
	assert_int_equal(pm_map_set(h, PM_HEADER_ARGUMENTS, pair("zqone", "/srv/zqtwo")), 0);
	assert_int_equal(pm_map_set(h, PM_HEADER_HISTORY, pair("cut zq", "zq")), 0);
	for (int k = 0; k < 6; k++)
		one.array.item[k] = pm_text(
			(const char *[]){ "zqmetric", "zqunit", "zqmetric + 1", "", "zqgroup,core", "zqhelp" }[k]);
	metrics.array.item[0] = one;
	assert_int_equal(pm_map_set(h, PM_HEADER_METRICS, metrics), 0);
	assert_int_equal(pm_map_set(h, PM_HEADER_METRIC_WORDS, pair("zqmetric", "zqgroup")), 0);
	assert_int_equal(pm_model_add_string(&b->model, "zqtext", 6, false), 1);
	assert_int_equal(pm_model_add_string(&b->model, "core", 4, false), 2);
	for (int k = 0; k < 6; k++)
		id[k] = builder_counter(b, names[k], "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[6] = builder_counter(b, "state.of", "zqunit", PM_STATE, PM_AGG_NONE);
	builder_counter_at(b, id[6])->type = PM_TEXT;
	set(&builder_counter_at(b, id[0])->attrs, PM_COUNTER_PERF_GROUP_NAME, "zqgroup");
	set(&builder_counter_at(b, id[0])->attrs, PM_COUNTER_PERF_USER_TEXT, "cpu/x,name='zqname'/");
	set(&builder_counter_at(b, id[0])->attrs, PM_COUNTER_PERF_CGROUP, "/zq.slice");
	builder_group(b, PM_SYSTEM, 1, 0, id, 7);
	set(&b->model.instance[0].attrs, PM_INSTANCE_COMM, "zqsh");
	set(&b->model.instance[15].attrs, PM_INSTANCE_NAME, "zqdevice");
	set(&pmu.attrs, PM_PMU_NAME, "cpu");
	list = pm_array(2);
	list.array.item[0] = pair("zqfile", "x");
	list.array.item[1] = pair("peer", "0");
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_FILES, list), 0);
	list = pm_array(1);
	list.array.item[0] = pair("cycles", "event=60");
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_EVENTS, list), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	pm_value_release(&probe.what);
	pm_value_release(&probe.hint);
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	pm_value_release(&config.value);
	builder_write(b, 0, 3);
	assert_int_equal(pm_map_set(&event.attrs, PM_EVENT_KEY_NOTE, remark_of("zqhost, again")), 0);
	assert_int_equal(pm_writer_event(b->writer, &event), 0);
	pm_event_release(&event);
	builder_finish(b);
}

static void redacted(struct buf *out, const struct buf *file)
{
	struct redact *redact;

	assert_int_equal(redact_new(&redact, &(struct redact_options){ .shift_time = true }, &(struct error){ 0 }),
			 0);
	redact_bytes(redact, file, out);
	redact_free(redact);
}

static void has_none(const struct pm_value *v)
{
	if (v->kind == PM_VALUE_TEXT && strstr(v->str.data, "zq"))
		fail_msg("%s", v->str.data);
	for (uint32_t i = 0; v->kind == PM_VALUE_ARRAY && i < v->array.n; i++)
		has_none(&v->array.item[i]);
}

static void map_has_none(const struct pm_map *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		has_none(&m->field[i].value);
}

/* All of it is there, and no name. */
static void is_whole(const struct buf *out)
{
	const struct pm_chunk *c;
	const struct pm_model *m;
	struct pm_reader *r;
	struct pm_item item;
	uint32_t rows = 0, events = 0;

	r = open_bytes(out);
	m = pm_reader_model(r);
	while (pm_reader_next(r, &item) == 1) {
		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind == PM_ITEM_EVENT && ++events)
			map_has_none(&item.event->attrs);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		rows += c->rows;
		assert_int_equal(c->n_groups, 1);
	}
	assert_int_equal(rows, 3);
	assert_int_equal(events, 1);
	map_has_none(&m->header);
	assert_int_equal(pm_map_get(&m->header, PM_HEADER_HISTORY)->array.n, 3);
	assert_int_equal(pm_map_get(&m->header, PM_HEADER_METRICS)->array.item[0].array.n, 6);
	assert_int_equal(m->n_counters, 7);
	for (uint32_t i = 0; i < m->n_counters; i++) {
		assert_null(strstr(m->counter[i].name, "zq"));
		assert_null(strstr(m->counter[i].display, "zq"));
		assert_null(strstr(m->counter[i].unit, "zq"));
		map_has_none(&m->counter[i].attrs);
	}
	for (uint32_t i = 0; i < m->n_instances; i++)
		map_has_none(&m->instance[i].attrs);
	assert_int_equal(m->n_pmus, 1);
	map_has_none(&m->pmu[0].attrs);
	assert_int_equal(pm_map_get(&m->pmu[0].attrs, PM_PMU_FILES)->array.n, 1);
	assert_int_equal(m->n_probes, 1);
	assert_string_equal(m->probe[0].source, "redacted");
	assert_null(strstr(said(&m->probe[0].what), "zq"));
	assert_null(strstr(said(&m->probe[0].hint), "zq"));
	assert_int_equal(m->n_configs, 1);
	has_none(&m->config[0].value);
	assert_int_equal(m->n_strings, 2);
	for (uint32_t i = 0; i < m->n_strings; i++)
		has_none(&m->string[i]);
	pm_reader_close(r);
}

static void no_name_is_left(void **state)
{
	struct buf out = BUF_INIT;
	struct builder b;

	(void)state;
	world_of_names(&b);
	redacted(&out, &b.file);
	is_whole(&out);
	buf_release(&out);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(no_name_is_left))
