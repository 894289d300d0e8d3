/* Groups without a counter: when that is said, and of whom. The kernel is that of perf_kernel.h. */
#include "record/perf/source_perf.c"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

#define SECOND (1000 * MS)

enum { GROUPS = 2, ROWS = 3, MEMBERS = 2 };

struct fixture {
	char dir[32];
	struct world *w;
	struct perf_source s;
	struct event ev[GROUPS][MEMBERS];
	struct perf_event event[GROUPS][MEMBERS];
	uint32_t said; /* notes of the plan that were looked at */
};

/* Two groups of two events on CPUs 0 to 2, open and counting. */
static void begin(struct fixture *f)
{
	static const struct perf_group like = { .way = PERF_BY_READ };
	static const char *const names[GROUPS][MEMBERS] = { { "one", "two" }, { "three", "four" } };

	memset(f, 0, sizeof(*f));
	kernel_begin();
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "0-2\n");
	f->w = world_new(TARGET_SYSTEM, NULL, NULL, NULL);
	world_begin(f->w, f->dir);
	f->w->source.data = &f->s;
	f->s.on = true;
	for (uint32_t i = 0; i < GROUPS; i++) {
		struct perf_group *g = perf_group_like(&f->s.group, &f->s.n_groups, &like);

		assert_non_null(g);
		for (uint32_t k = 0; k < MEMBERS; k++) {
			f->ev[i][k] = (struct event){ .type = PERF_TYPE_RAW,
						      .config = { i * MEMBERS + k },
						      .name = (char *)(uintptr_t)names[i][k],
						      .pmu_index = EVENT_NONE };
			struct pm_counter c = { .name = f->ev[i][k].name, .source = (char *)(uintptr_t) "perf" };

			f->event[i][k] =
				(struct perf_event){ .ev = &f->ev[i][k],
						     .counter = (uint32_t)pm_model_add_counter(&f->w->model, &c) };
			perf_attr_fill(&f->event[i][k].attr, &f->ev[i][k]);
			f->event[i][k].attr.a.read_format |= PERF_FORMAT_GROUP;
			perf_group_add(g, &f->event[i][k]);
		}
		for (uint32_t c = 0; c < ROWS; c++)
			assert_int_equal(cpulist_add(&g->cpus, c), 0);
	}
}

static void open_group(struct fixture *f, uint32_t i)
{
	n_opened = n_told = 0;
	perf_rows_open(&f->s, &f->w->plan, f->s.group[i]);
	assert_int_equal(f->s.group[i]->n_rows, ROWS);
	n_told = 0;
}

static void end(struct fixture *f)
{
	plan_release(&f->w->plan);
	for (uint32_t i = 0; i < f->s.n_groups; i++) {
		assert_int_equal(f->s.group[i]->n_rows, 0);
		perf_group_free(f->s.group[i]);
	}
	free(f->s.group);
	pm_model_release(&f->w->model);
	root_release(&f->w->root);
	free(f->w);
	sysroot_remove(f->dir);
	kernel_end();
}

static struct perf_row *row_of(struct fixture *f, uint32_t group, uint32_t row)
{
	return f->s.group[group]->row[row];
}

/* What the readings of a row say. */
static void reads(struct perf_row *row, uint64_t enabled, uint64_t running)
{
	row->read_enabled = enabled;
	row->read_running = running;
}

static void look(struct fixture *f, const char *told)
{
	f->w->plan.told[0] = '\0';
	perf_look(&f->w->source, &f->w->plan);
	assert_string_equal(f->w->plan.told, told);
}

/* The next note, about that many events. */
static void note(struct fixture *f, const char *text, uint64_t count)
{
	const struct pm_event *e = &f->w->plan.event[f->said++];

	assert_true(f->said <= f->w->plan.n_events);
	assert_string_equal(said(pm_map_get(&e->attrs, PM_EVENT_KEY_NOTE)), text);
	assert_int_equal(pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 0), count);
}

#define GROUP_ONE "one and the others of its group"
#define WHY       ", because others hold counters or the PMU has too few"

static void a_group_without_a_counter_is_told_once(void **state)
{
	struct fixture f;

	begin(&f);
	open_group(&f, 0);
	look(&f, "");
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND, SECOND);
	look(&f, "");
	/* Not yet for long: 0.8 s, and a turn of 8 ms of each group. */
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND + 815 * MS, SECOND);
	look(&f, "");
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND + 816 * MS, SECOND + MS);
	look(&f, GROUP_ONE ": hardly counted" WHY);
	note(&f, GROUP_ONE ": hardly counted" WHY, 2);
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), 4 * SECOND, SECOND);
	look(&f, "");
	assert_int_equal(f.said, f.w->plan.n_events);
	end(&f);
}

static void it_says_where(void **state)
{
	static const struct {
		bool lacks[ROWS];
		const char *where;
	} cases[] = {
		{ { false, true, false }, " on CPU 1" },
		{ { true, false, true }, " in 2 of 3 places" },
		{ { true, true, true }, "" },
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		char text[200];
		struct fixture f;

		begin(&f);
		open_group(&f, 0);
		for (uint32_t i = 0; i < ROWS; i++)
			reads(row_of(&f, 0, i), SECOND, cases[c].lacks[i] ? 0 : SECOND);
		snprintf(text, sizeof(text), GROUP_ONE ": not counted%s" WHY, cases[c].where);
		look(&f, text);
		end(&f);
	}
}

/* The watchdog holds counters of the cores alone. */
static void it_names_the_watchdog(void **state)
{
	for (int core = 0; core < 2; core++) {
		struct fixture f;

		begin(&f);
		sysroot_put(f.dir, "/proc/sys/kernel/nmi_watchdog", "1\n");
		perf_group_remove(f.s.group[0], 1);
		f.ev[0][0].core = core;
		open_group(&f, 0);
		for (uint32_t i = 0; i < ROWS; i++)
			reads(row_of(&f, 0, i), SECOND, 0);
		look(&f, core ? "one: not counted" WHY "; sysctl kernel.nmi_watchdog=0 frees one on each CPU" :
				"one: not counted" WHY);
		end(&f);
	}
}

/* One line for the user, a note for each. */
static void several_groups_are_one_line(void **state)
{
	struct fixture f;

	begin(&f);
	open_group(&f, 0);
	open_group(&f, 1);
	for (uint32_t i = 0; i < ROWS; i++) {
		reads(row_of(&f, 0, i), SECOND, 0);
		reads(row_of(&f, 1, i), SECOND, 0);
	}
	look(&f, GROUP_ONE ": not counted" WHY "; and 1 more groups (pmrep info lists them)");
	note(&f, GROUP_ONE ": not counted" WHY, 2);
	note(&f, "three and the others of its group: not counted" WHY, 2);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_without_a_counter_is_told_once),
		cmocka_unit_test(it_says_where),
		cmocka_unit_test(it_names_the_watchdog),
		cmocka_unit_test(several_groups_are_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
