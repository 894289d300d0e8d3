/* Parts of copying: what is found in texts that stay, which parts of what is dropped are looked for, and definitions
 * that several recordings repeat. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/double_bits.h"
#include "report/copy/redact_private.h"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/bytes.h"

static void add(struct secrets *s, const char *text, const char *instead, bool weak)
{
	assert_int_equal(secrets_add(s, text, strlen(text), instead, weak), 0);
}

static void secrets_are_found(void **state)
{
	static const struct {
		const char *text, *strong, *all; /* NULL: as it was */
	} cases[] = {
		{ "", NULL, NULL },
		{ "al", NULL, NULL },
		{ "ALpha", "X", "X" },
		{ "alphabets", "Ys", "Ys" },
		{ "alphabe", "Xbe", "Xbe" },
		{ "alphb", NULL, NULL },
		{ "ab", NULL, NULL },
		{ "abcABCab", "CCab", "CCab" },
		{ "xabcx", "xCx", "xCx" },
		{ "ababc", "abC", "abC" },
		{ "lazy", NULL, "W" },
		{ "a lazy-b", NULL, "a W-b" },
		{ "pglazy", NULL, NULL },
		{ "lazyfree", NULL, NULL },
		{ "lazy9", NULL, NULL },
		{ "0lazy", NULL, NULL },
		{ "lazy\xc3\xa9", NULL, NULL },
		{ "Zlazy", NULL, NULL },
		{ "[lazy`", NULL, "[W`" },
		{ "/lazy:", NULL, "/W:" },
		{ "lazy lazy", NULL, "W W" },
		/* What was added twice is strong if it was once. */
		{ "amixedb", "aMb", "aMb" },
		{ "atwiceb", "aTb", "aTb" },
		/* Of many that begin alike and are as long. */
		{ "row-1 row-3 row-5 row-6", "1 3 5 row-6", "1 3 5 row-6" },
		{ "row-0 row-2 row-4", "row-0 2 4", "row-0 2 4" },
	};
	struct secrets s = { 0 };

	(void)state;
	for (int weak = 0; weak < 2; weak++) {
		char *text = strdup("nothing");
		size_t len = 7;

		assert_int_equal(secrets_scrub(&s, &text, &len, weak), 0);
		free(text);
	}
	add(&s, "alpha", "X", false);
	add(&s, "Alphabet", "Y", false);
	add(&s, "lazy", "W", true);
	add(&s, "ab", "2", false);
	add(&s, "abc", "C", false);
	add(&s, "mixed", "M", true);
	add(&s, "mixed", "other", false);
	add(&s, "twice", "T", false);
	add(&s, "TWICE", "other", true);
	add(&s, "row-5", "5", false);
	add(&s, "row-2", "2", false);
	add(&s, "row-4", "4", false);
	add(&s, "row-1", "1", false);
	add(&s, "row-3", "3", false);
	assert_int_equal(secrets_add(&s, "nul\0l", 5, "N", false), 0);
	assert_int_equal(s.n, 11);
	assert_int_equal(secrets_sort(&s), 0);
	assert_int_equal(secrets_sort(&s), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int weak = 0; weak < 2; weak++) {
			const char *want = weak ? cases[i].all : cases[i].strong;
			char *text = strdup(cases[i].text);
			size_t len = strlen(text);

			assert_int_equal(secrets_scrub(&s, &text, &len, weak), want != NULL);
			assert_string_equal(text, want ? want : cases[i].text);
			assert_int_equal(len, strlen(text));
			free(text);
		}
	secrets_release(&s);
}

/* ---- recordings ---- */

static struct reading level(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ 100 + row, 0 };
}

static void read_all(struct pm_reader *r)
{
	struct pm_item item;

	while (pm_reader_next(r, &item) == 1)
		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
}

static void set(struct pm_map *m, uint32_t key, struct pm_value v)
{
	assert_int_equal(pm_map_set(m, key, v), 0);
}

/* Begins a recording with one counter. */
static struct pm_counter *begin(struct builder *b)
{
	struct pm_counter *c;

	builder_init(b, level);
	c = builder_counter_at(b, builder_counter(b, "stat.ctxt", "1", PM_CUMULATIVE, PM_AGG_SUM));
	builder_group(b, PM_SYSTEM, 1, 0, &c->id, 1);
	return c;
}

static void rewritten(const struct buf *in, const struct rewrite_rules *rules, struct buf *out)
{
	struct pm_reader *r = open_bytes(in);
	struct error e = { 0 };
	struct rewrite *w;

	assert_int_equal(rewrite_new(&w, rules, take, out, &e), 0);
	assert_int_equal(rewrite_recording(w, r, &e), 0);
	pm_reader_close(r);
	assert_int_equal(rewrite_finish(w, &e), 0);
	rewrite_free(w);
}

static void redact_bytes(const struct buf *in, struct buf *out)
{
	struct rewrite_rules rules = { 0 };
	struct pm_reader *reader = open_bytes(in);
	struct error e = { 0 };
	struct redact *r;

	assert_int_equal(redact_new(&r, &(struct redact_options){ 0 }, &e), 0);
	assert_int_equal(redact_look(r, reader, &e), 0);
	pm_reader_close(reader);
	redact_rules(r, &rules);
	rewritten(in, &rules, out);
	redact_free(r);
}

/* Parts of a command's arguments and of labels: words of four letters, or with digits, or long; no shorter ones. They
 * are looked for in a text of a counter, which stays. */
static void parts_are_looked_for(void **state)
{
	static const struct {
		const char *word; /* in the text */
		bool gone;
	} cases[] = {
		{ "zqwx", true },  { "zqw", false },    { "zx7", true },     { "1234", false },
		{ "z-1-", true },  { "zqpa", true },    { "q-z-", false },   { "-q-z--", true },
		{ "zqkey", true }, { "zqvalue", true }, { "zqlater", true }, { "zqother", false },
	};
	struct pm_value list = pm_array(2), labels = pm_array(2);
	struct buf out = BUF_INIT, help = BUF_INIT;
	struct pm_counter *c;
	struct pm_reader *r;
	struct builder b;

	(void)state;
	c = begin(&b);
	list.array.item[0] = pm_text("/srv/zqwx/zqw/zx7=1234:z-1-,");
	list.array.item[1] = pm_text("q-z-/-q-z--/(zqpa)");
	set(&b.model.header, PM_HEADER_ARGUMENTS, list);
	for (int i = 0; i < 2; i++) {
		labels.array.item[i] = pm_array(2);
		labels.array.item[i].array.item[0] = pm_text(i ? "rack" : "zqkey");
		labels.array.item[i].array.item[1] = pm_text(i ? "zqlater" : "zqvalue");
	}
	set(&b.model.header, PM_HEADER_LABELS, labels);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		buf_printf(&help, "%s ", cases[i].word);
	set(&c->attrs, PM_COUNTER_HELP, pm_text(buf_str(&help)));
	builder_write(&b, 0, 3);
	builder_finish(&b);
	redact_bytes(&b.file, &out);
	r = open_bytes(&out);
	read_all(r);
	buf_clear(&help);
	buf_printf(&help, " %s ", pm_map_text(&pm_reader_model(r)->counter[0].attrs, PM_COUNTER_HELP, ""));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char word[16];

		snprintf(word, sizeof(word), " %s ", cases[i].word);
		if ((strstr(buf_str(&help), word) == NULL) != cases[i].gone)
			fail_msg("%s: %s", cases[i].word, buf_str(&help));
	}
	pm_reader_close(r);
	buf_release(&help);
	buf_release(&out);
	builder_release(&b);
}

/* A pseudonym in a formula is no subtraction; one of the formula's own stays. */
static void formulas_stay_formulas(void **state)
{
	struct pm_value list = pm_array(1), one = pm_array(PM_METRIC_HELP + 1);
	struct buf out = BUF_INIT;
	const struct pm_value *got;
	struct pm_reader *r;
	struct builder b;

	(void)state;
	begin(&b);
	for (uint32_t k = 0; k <= PM_METRIC_HELP; k++)
		one.array.item[k] =
			pm_text(k == PM_METRIC_NAME      ? "zqmetric" :
				k == PM_METRIC_FORMULA   ? "zqmetric-1 + cpu/event=1,name=zqevent/ + zqtask-3-z" :
				k == PM_METRIC_THRESHOLD ? "zqmetric - 2" :
				k == PM_METRIC_GROUPS    ? "zqgroup,TopdownL1;zqold" :
							   "");
	list.array.item[0] = one;
	set(&b.model.header, PM_HEADER_METRICS, list);
	set(&b.model.instance[0].attrs, PM_INSTANCE_COMM, pm_text("zqtask"));
	builder_write(&b, 0, 3);
	builder_finish(&b);
	redact_bytes(&b.file, &out);
	r = open_bytes(&out);
	read_all(r);
	got = pm_map_get(&pm_reader_model(r)->header, PM_HEADER_METRICS)->array.item[0].array.item;
	assert_int_equal(strncmp(got[PM_METRIC_NAME].str.data, "metric-", 7), 0);
	for (uint32_t k = PM_METRIC_FORMULA; k <= PM_METRIC_THRESHOLD; k++) {
		const char *text = got[k].str.data, *name = got[PM_METRIC_NAME].str.data;

		assert_null(strstr(text, "zq"));
		assert_int_equal(strncmp(text, "metric\\-", 8), 0);
		assert_int_equal(strncmp(text + 8, name + 7, strlen(name) - 7), 0);
		text += strlen(name) + 1;
		if (k == PM_METRIC_THRESHOLD)
			assert_string_equal(text, " - 2");
		else
			assert_true(!strncmp(text, "-1 + cpu/event=1,name=event\\-", 28) &&
				    strstr(text, "/ + task\\-") && !strcmp(text + strlen(text) - 4, "-3-z"));
	}
	assert_null(strstr(got[PM_METRIC_GROUPS].str.data, "zq"));
	assert_non_null(strstr(got[PM_METRIC_GROUPS].str.data, ",TopdownL1;metric-"));
	pm_reader_close(r);
	buf_release(&out);
	builder_release(&b);
}

/* ---- definitions ---- */

static void define(struct builder *b, const char *what, uint64_t row, bool end)
{
	struct pm_probe probe = { .source = (char *)"msr", .what = (char *)"0x606", .reason = 7 };
	struct pm_config config = { .name = (char *)"cpufreq.driver", .time_ns = 99, .kind = PM_SYSTEM };
	struct pm_pmu pmu = { 0 };

	begin(b);
	set(&b->model.header, PM_HEADER_INTERVAL, pm_u64(1000000000));
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	probe.what = (char *)what;
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	probe.reason = 8;
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	config.value = pm_text("intel_pstate");
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	config.name = (char *)what;
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	pm_value_release(&config.value);
	set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu"));
	assert_true(pm_model_add_pmu(&b->model, &pmu) >= 0);
	set(&pmu.attrs, PM_PMU_NAME, pm_text(what));
	assert_true(pm_model_add_pmu(&b->model, &pmu) >= 0);
	pm_map_release(&pmu.attrs);
	builder_write(b, row, 10);
	if (end)
		builder_finish(b);
	else
		assert_int_equal(pm_writer_flush(b->writer), 0);
}

/* Two recordings, the second of which repeats what the first has, and has something of its own. */
static void definitions_are_there_once(void **state)
{
	static const struct {
		uint32_t every;
		uint64_t interval;
		bool end[2];
	} cases[] = { { 0, 1000000000, { true, true } },
		      { 1, 1000000000, { false, true } },
		      { 2, 2000000000, { true, false } },
		      { 3, 3000000000, { true, true } },
		      { UINT32_MAX, 0, { true, true } } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct rewrite_rules rules = { .every = cases[i].every, .history = "tested" };
		struct buf out = BUF_INIT;
		struct builder b[2];
		struct error e = { 0 };
		const struct pm_model *m;
		struct pm_reader *r;
		struct rewrite *w;

		assert_int_equal(rewrite_new(&w, &rules, take, &out, &e), 0);
		for (int k = 0; k < 2; k++) {
			define(&b[k], k ? "second" : "first", (uint64_t)k * 10, cases[i].end[k]);
			r = open_bytes(&b[k].file);
			assert_int_equal(rewrite_recording(w, r, &e), 0);
			pm_reader_close(r);
		}
		assert_int_equal(rewrite_finish(w, &e), 0);
		assert_int_equal(rewrite_result(w).ended, cases[i].end[0] && cases[i].end[1]);
		assert_int_equal(rewrite_result(w).snapshots_in, 20);
		rewrite_free(w);
		r = open_bytes(&out);
		read_all(r);
		m = pm_reader_model(r);
		assert_int_equal(pm_map_u64(&m->header, PM_HEADER_INTERVAL, 77), cases[i].interval);
		assert_int_equal(m->n_probes, 5);
		assert_string_equal(m->probe[0].what, "0x606");
		assert_string_equal(m->probe[2].what, "first");
		assert_int_equal(m->probe[2].reason, 8);
		assert_string_equal(m->probe[4].what, "second");
		assert_int_equal(m->n_configs, 3);
		assert_string_equal(m->config[2].name, "second");
		assert_int_equal(m->n_pmus, 3);
		assert_string_equal(pm_map_text(&m->pmu[2].attrs, PM_PMU_NAME, ""), "second");
		assert_int_equal(m->n_counters, 1);
		assert_int_equal(m->n_groups, 1);
		pm_reader_close(r);
		buf_release(&out);
		builder_release(&b[0]);
		builder_release(&b[1]);
	}
}

static int drop_cpus(void *ctx, struct pm_instance *i)
{
	(void)ctx;
	return i->kind == PM_CPU ? REWRITE_DROP : REWRITE_KEEP;
}

static int drop_first(void *ctx, struct pm_counter *c)
{
	(void)ctx;
	return strcmp(c->name, "t.drop") ? REWRITE_KEEP : REWRITE_DROP;
}

/* Events name what they are about by its new id, and those about what is dropped are dropped. */
static void events_follow(void **state)
{
	struct rewrite_rules rules = { .instance = drop_cpus, .counter = drop_first };
	struct buf out = BUF_INIT;
	struct pm_reader *r;
	struct pm_item item;
	struct builder b;
	uint32_t id[2], seen = 0;

	(void)state;
	builder_init(&b, level);
	id[0] = builder_counter(&b, "t.drop", "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[1] = builder_counter(&b, "t.keep", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_SYSTEM, 1, 0, id, 2);
	builder_write(&b, 0, 3);
	for (uint32_t k = 0; k < 4; k++) {
		struct pm_event event = { .type = PM_EVENT_FAILED, .time_ns = BUILDER_START_NS + 2000000000 };

		set(&event.attrs, k < 2 ? PM_EVENT_KEY_COUNTER : PM_EVENT_KEY_INSTANCE,
		    pm_u64(k < 2 ? id[k] : b.instance[k == 2 ? PM_CPU : PM_SYSTEM][0]));
		assert_int_equal(pm_writer_event(b.writer, &event), 0);
		pm_event_release(&event);
	}
	builder_finish(&b);
	rewritten(&b.file, &rules, &out);
	r = open_bytes(&out);
	while (pm_reader_next(r, &item) == 1) {
		const struct pm_model *m = pm_reader_model(r);

		if (item.kind != PM_ITEM_EVENT)
			continue;
		if (!seen++)
			assert_string_equal(
				pm_model_counter(m, (uint32_t)pm_map_u64(&item.event->attrs, PM_EVENT_KEY_COUNTER, 0))
					->name,
				"t.keep");
		else
			assert_int_equal(pm_model_instance(m, (uint32_t)pm_map_u64(&item.event->attrs,
										   PM_EVENT_KEY_INSTANCE, 0))
						 ->kind,
					 PM_SYSTEM);
	}
	assert_int_equal(seen, 2);
	pm_reader_close(r);
	buf_release(&out);
	builder_release(&b);
}

/* ---- what skipped snapshots leave ---- */

static struct reading of_type(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const double peak[] = { 0, -1, -3, -2, -4, 7.5, -2, 8.25, 8 };
	static const int64_t whole[] = { 0, 5, -1, -2, -3, -9, -8, -10, -11 };

	(void)b, (void)i;
	if (!strcmp(counter, "t.peak"))
		return (struct reading){ double_to_bits(peak[row]), 0 };
	if (!strcmp(counter, "t.whole"))
		return (struct reading){ (uint64_t)whole[row], 0 };
	return (struct reading){ double_to_bits(0.25 * (double)row), 0 };
}

/* Of rows 0 to 8 each fourth is kept: with the peaks and sums of those between, by the type of the counter. */
static void types_add_up(void **state)
{
	static const double peak[] = { 0, -1, 8.25 }, sum[] = { 0, .25 * (1 + 2 + 3 + 4), .25 * (5 + 6 + 7 + 8) };
	static const int64_t whole[] = { 0, 5, -8 };
	struct rewrite_rules rules = { .every = 4 };
	struct buf out = BUF_INIT;
	const struct pm_chunk *c = NULL;
	struct pm_reader *r;
	struct pm_item item;
	struct builder b;
	uint32_t id[3];

	(void)state;
	builder_init(&b, of_type);
	id[0] = builder_counter(&b, "t.peak", "1", PM_PEAK, PM_AGG_MAX);
	id[1] = builder_counter(&b, "t.whole", "1", PM_PEAK, PM_AGG_MAX);
	id[2] = builder_counter(&b, "t.delta", "1", PM_DELTA, PM_AGG_SUM);
	for (int i = 0; i < 3; i++)
		builder_counter_at(&b, id[i])->type = i == 1 ? PM_S64 : PM_F64;
	builder_group(&b, PM_SYSTEM, 1, 0, id, 3);
	builder_write(&b, 0, 9);
	builder_finish(&b);
	rewritten(&b.file, &rules, &out);
	r = open_bytes(&out);
	while (pm_reader_next(r, &item) == 1 && item.kind != PM_ITEM_CHUNK)
		;
	assert_int_equal(item.kind, PM_ITEM_CHUNK);
	/* No interval was recorded, and there is none of four. */
	assert_null(pm_map_get(&pm_reader_model(r)->header, PM_HEADER_INTERVAL));
	assert_int_equal(pm_reader_decode(r, &c), 0);
	assert_int_equal(c->rows, 3);
	for (uint32_t row = 0; row < 3; row++) {
		const uint64_t *v =
			c->group[0].v + (size_t)pm_group_head(pm_reader_model(r)->group) * c->group[0].stride;

		assert_true(double_from_bits(v[row]) == peak[row]);
		assert_int_equal((int64_t)v[c->group[0].stride + row], whole[row]);
		assert_true(double_from_bits(v[2 * c->group[0].stride + row]) == sum[row]);
	}
	pm_reader_close(r);
	buf_release(&out);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_found),      cmocka_unit_test(parts_are_looked_for),
		cmocka_unit_test(formulas_stay_formulas), cmocka_unit_test(definitions_are_there_once),
		cmocka_unit_test(types_add_up),           cmocka_unit_test(events_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
