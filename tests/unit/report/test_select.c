/* --show, --hide, --enable. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/report_harness.h"

#include <errno.h>
#include <stdio.h>

static struct reading zero(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ 0, 0 };
}

struct case_state {
	struct builder b;
	struct places places;
	struct binding binding;
	struct buf notes;
	struct error error;
	bool *shown;
};

static int setup(void **state)
{
	static struct case_state s;
	static const char *const names[] = { "cpuidle.time.c1", "cpuidle.time.c6", "instructions", "cycles",
					     "test.x" };
	struct bind_options options = { 0 };
	uint32_t id[5];

	s = (struct case_state){ 0 };
	builder_init(&s.b, zero);
	for (int i = 0; i < 5; i++) {
		id[i] = builder_counter(&s.b, names[i], "1", PM_CUMULATIVE, PM_AGG_SUM);
		if (i >= 2)
			continue;
		pm_map_set(&builder_counter_at(&s.b, id[i])->attrs, PM_COUNTER_FAMILY, pm_text("cpuidle.time"));
		pm_map_set(&builder_counter_at(&s.b, id[i])->attrs, PM_COUNTER_MEMBER, pm_text(i ? "C6" : "C1"));
	}
	pm_map_set(&builder_counter_at(&s.b, id[3])->attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	builder_group(&s.b, PM_CPU, 8, 0, id, 5);
	places_update(&s.places, &s.b.model);
	assert_int_equal(binding_build(&s.binding, &s.places, &options, NULL), 0);
	s.shown = calloc(s.binding.n_metrics, sizeof(*s.shown));
	assert_non_null(s.shown);
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct case_state *s = *state;

	free(s->shown);
	buf_release(&s->notes);
	binding_release(&s->binding);
	places_release(&s->places);
	builder_release(&s->b);
	return 0;
}

/* The names that are shown, comma separated, in their order. */
static const char *choose(struct case_state *s, const char *show, const char *hide, const char *enable)
{
	static char text[1024];
	struct selection sel = { 0 };
	int err;

	text[0] = 0;
	s->error = (struct error){ 0 };
	buf_clear(&s->notes);
	if (show)
		assert_int_equal(selection_add(&sel, SELECT_SHOW, show, NULL), 0);
	if (hide)
		assert_int_equal(selection_add(&sel, SELECT_HIDE, hide, NULL), 0);
	if (enable)
		assert_int_equal(selection_add(&sel, SELECT_ENABLE, enable, NULL), 0);
	err = selection_apply(&sel, &s->binding, &s->places, s->shown, &s->notes, &s->error);
	selection_release(&sel);
	if (err)
		return NULL;
	for (size_t i = 0; i < s->binding.n_metrics; i++) {
		if (!s->shown[i])
			continue;
		strcat(text, *text ? "," : "");
		strcat(text, s->binding.metric[i].name);
	}
	return text;
}

static void defaults(void **state)
{
	struct case_state *s = *state;

	/* What is on by default and can be fed, and what the user recorded on purpose. */
	assert_string_equal(choose(s, NULL, NULL, NULL), "idle.c1.residency,idle.c6.residency,insn_per_cycle,cycles");
	assert_string_equal(choose(s, NULL, NULL, "test.x"),
			    "idle.c1.residency,idle.c6.residency,insn_per_cycle,cycles,test.x");
	assert_string_equal(choose(s, NULL, "pct_idle", NULL), "insn_per_cycle,cycles");
}

static void names_heads_globs_categories(void **state)
{
	struct case_state *s = *state;

	assert_string_equal(choose(s, "cycles", NULL, NULL), "cycles");
	assert_string_equal(choose(s, "C1%", NULL, NULL), "idle.c1.residency");
	assert_string_equal(choose(s, "c1%", NULL, NULL), "idle.c1.residency");
	assert_string_equal(choose(s, "ipc", NULL, NULL), "insn_per_cycle");
	assert_string_equal(choose(s, "IPC,cycles", NULL, NULL), "insn_per_cycle,cycles");
	assert_string_equal(choose(s, "idle.*", NULL, NULL), "idle.c1.residency,idle.c6.residency");
	assert_string_equal(choose(s, "swidle", NULL, NULL), "idle.c1.residency,idle.c6.residency");
	assert_string_equal(choose(s, "all", "cpuidle.*,perf,test.?", NULL), "idle.c1.residency,idle.c6.residency");
	assert_string_equal(choose(s, "cpuidle.time.c1", NULL, NULL), "cpuidle.time.c1");
}

static void errors_name_the_nearest(void **state)
{
	struct case_state *s = *state;

	assert_null(choose(s, "cylces", NULL, NULL));
	assert_int_equal(s->error.number, ENOENT);
	assert_non_null(strstr(s->error.text, "'cycles'"));
	/* To hide what is not there is no error: turbostat's users have long lists of what machines may have. */
	assert_non_null(choose(s, NULL, "cylces", NULL));
	assert_non_null(strstr(buf_str(&s->notes), "'cycles'"));
	assert_null(choose(s, "zzzzzzzzzzzz", NULL, NULL));
	assert_non_null(strstr(s->error.text, "pmrep list metrics"));
	/* Known, but nothing here to make it of: not an error, and not silent. */
	assert_string_equal(choose(s, "PkgWatt,cycles", NULL, NULL), "cycles");
	assert_non_null(strstr(buf_str(&s->notes), "PkgWatt"));
	assert_string_equal(choose(s, "cycles", "PkgWatt", NULL), "cycles");
	assert_int_equal(s->notes.len, 0);
	/* Names of all tables are offered. */
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i<t->n; i += t->n> 1 ? t->n - 1 : 1) {
			char word[64], near[64];

			if (strchr(t->row[i].name, '*'))
				continue;
			snprintf(word, sizeof(word), "%sq", t->row[i].name);
			snprintf(near, sizeof(near), "'%s'", t->row[i].name);
			assert_null(choose(s, word, NULL, NULL));
			if (!strstr(s->error.text, near))
				fail_msg("%s", s->error.text);
		}
	/* turbostat's users name its topology columns. */
	assert_string_equal(choose(s, "Core,CPU,cycles", NULL, NULL), "cycles");
}

static void words_of_a_list(void **state)
{
	struct selection s = { 0 };
	struct error e = { 0 };

	assert_int_equal(selection_add(&s, SELECT_SHOW, "cpu/event=1,umask=2/,b", &e), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.word[0].word, "cpu/event=1,umask=2/");
	assert_string_equal(s.word[1].word, "b");
	assert_int_equal(selection_add(&s, SELECT_HIDE, "a,,b", &e), -EINVAL);
	assert_non_null(strstr(e.text, "--hide"));
	selection_release(&s);
}

static void joules(void **state)
{
	struct selection sel = { .joules = true };
	struct bind_options options = { 0 };
	struct places p = { 0 };
	struct binding binding = { 0 };
	struct builder b;
	bool *shown;
	uint32_t id;

	builder_init(&b, zero);
	id = builder_counter(&b, "powercap.energy.package", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_PACKAGE, 2, 0, &id, 1);
	places_update(&p, &b.model);
	assert_int_equal(binding_build(&binding, &p, &options, NULL), 0);
	shown = calloc(binding.n_metrics, sizeof(*shown));
	assert_non_null(shown);
	for (int with = 0; with < 2; with++) {
		sel.joules = with;
		assert_int_equal(selection_apply(&sel, &binding, &p, shown, NULL, NULL), 0);
		for (size_t i = 0; i < binding.n_metrics; i++) {
			if (!strcmp(binding.metric[i].name, "pkgwatt"))
				assert_int_equal(shown[i], !with);
			if (!strcmp(binding.metric[i].name, "pkg_j"))
				assert_int_equal(shown[i], with);
		}
	}
	free(shown);
	binding_release(&binding);
	places_release(&p);
	builder_release(&b);
}

/* What registers would have fed is named by reason; four of each, in the order of the columns. */
static void columns_without_registers(void **state)
{
	struct pm_probe probe = { .source = (char *)"msr",
				  .what = pm_remark(PM_REMARK_FILE, "/dev/cpu"),
				  .reason = PM_REASON_NO_PERMISSION };
	struct pm_config smi = { .name = (char *)"msr.smi_count", .kind = PM_CPU, .reason = PM_REASON_NOT_SUPPORTED };
	struct bind_options options = { .absent = true };
	struct selection all = { 0 }, sel = { .has_show = true }, every = { 0 };
	uint32_t absent = 0, left_out = 0;
	struct error e = { 0 };
	struct places p = { 0 };
	struct binding binding = { 0 };
	struct buf notes = BUF_INIT;
	struct builder b;
	bool *shown;

	builder_init(&b, zero);
	assert_int_equal(pm_model_add_probe(&b.model, &probe), 0);
	pm_value_release(&probe.what);
	assert_int_equal(pm_model_add_config(&b.model, &smi), 0);
	places_update(&p, &b.model);
	assert_int_equal(binding_build(&binding, &p, &options, NULL), 0);
	shown = calloc(binding.n_metrics + 1, sizeof(*shown));
	assert_non_null(shown);
	/* All are shown that there could be a number of on another day. */
	assert_int_equal(selection_add(&every, SELECT_SHOW, "all", NULL), 0);
	assert_int_equal(selection_apply(&every, &binding, &p, shown, NULL, &e), 0);
	for (size_t i = 0; i < binding.n_metrics; i++) {
		const struct bound_metric *m = &binding.metric[i];

		assert_int_equal(shown[i], !m->foreign && !(m->absent && m->unlikely));
		absent += m->absent && shown[i];
		left_out += !shown[i];
	}
	assert_true(absent > 10 && left_out > 0);
	selection_release(&every);
	memset(shown, 0, binding.n_metrics);
	selection_note_absent(&all, &binding, shown, &notes);
	assert_string_equal(buf_str(&notes),
			    "not shown: PkgWatt, RAMWatt, SysWatt, Avg_MHz and 12 more (permission was "
			    "refused); SMI (not supported by the kernel or the hardware); pmrep info "
			    "says more\n");
	buf_clear(&notes);
	selection_note_absent(&sel, &binding, shown, &notes);
	assert_string_equal(buf_str(&notes), "");
	for (size_t i = 0; i < binding.n_metrics; i++)
		shown[i] = !strcmp(binding.metric[i].name, "busy") || !strcmp(binding.metric[i].name, "smi");
	selection_note_absent(&sel, &binding, shown, &notes);
	assert_string_equal(buf_str(&notes),
			    "no numbers: Busy% (permission was refused); SMI (not supported by the kernel "
			    "or the hardware); pmrep info says more\n");
	buf_release(&notes);
	free(shown);
	binding_release(&binding);
	places_release(&p);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(names_heads_globs_categories, setup, teardown),
		cmocka_unit_test_setup_teardown(errors_name_the_nearest, setup, teardown),
		cmocka_unit_test(words_of_a_list),
		cmocka_unit_test(joules),
		cmocka_unit_test(columns_without_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
