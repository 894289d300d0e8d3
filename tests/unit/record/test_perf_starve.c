/* Groups whose counters others hold: what is said of them, what is tried again, and what they keep when they are taken
 * apart. The kernel is that of perf_kernel.h. */
#include "record/perf/perf_source.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"

#define SECOND (1000 * MS)

enum { GROUPS = 2, ROWS = 3, MEMBERS = 2 };

struct fixture {
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
	f->w = world_new(TARGET_SYSTEM, NULL, NULL, NULL);
	world_begin(f->w, NULL);
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
			assert_int_equal(perf_group_add(g, &f->event[i][k]), 0);
		}
		for (uint32_t c = 0; c < ROWS; c++)
			assert_int_equal(cpulist_add(&g->cpus, c), 0);
	}
}

static void open_group(struct fixture *f, uint32_t i)
{
	n_opened = n_told = 0;
	assert_int_equal(perf_rows_open(&f->s, &f->w->plan, f->s.group[i]), 0);
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

static void look(struct fixture *f, const char *told, bool stale)
{
	f->w->plan.told[0] = '\0';
	atomic_store(&f->w->source.stale, false);
	assert_int_equal(perf_starving_look(&f->s, &f->w->source, &f->w->plan), 0);
	assert_string_equal(f->w->plan.told, told);
	assert_int_equal(atomic_load(&f->w->source.stale), stale);
}

/* The next note, about that many events. */
static void note(struct fixture *f, const char *text, uint64_t count)
{
	const struct pm_event *e = &f->w->plan.event[f->said++];

	assert_true(f->said <= f->w->plan.n_events);
	assert_string_equal(pm_map_text(&e->attrs, PM_EVENT_KEY_NOTE, ""), text);
	assert_int_equal(pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 0), count);
}

#define GROUP_ONE "one and the others of its group"
#define HELD      ", because others hold the counters"
#define ALONE     "; from now on its events are counted one by one"
#define FREED     ": counted from now on, because others have released the counters"

static void a_group_that_waits_is_told_once(void **state)
{
	struct fixture f;

	begin(&f);
	open_group(&f, 0);
	look(&f, "", false);
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND, SECOND);
	look(&f, "", false);
	/* Not yet for long: 0.8 s, and a turn of 8 ms of each group. */
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND + 815 * MS, SECOND);
	look(&f, "", false);
	assert_false(f.s.group[0]->waits);
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND + 816 * MS, SECOND);
	look(&f, GROUP_ONE ": no longer counted" HELD ALONE, true);
	note(&f, GROUP_ONE ": no longer counted" HELD ALONE, 2);
	assert_true(f.s.group[0]->starved && f.s.group[0]->waits);
	look(&f, "", false);
	/* One of them counts: not yet all. */
	reads(row_of(&f, 0, 1), 4 * SECOND, 2 * SECOND);
	reads(row_of(&f, 0, 0), 4 * SECOND, SECOND);
	look(&f, "", false);
	f.s.group[0]->starved = false;
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), 8 * SECOND, 4 * SECOND);
	look(&f, GROUP_ONE FREED, true);
	note(&f, GROUP_ONE FREED, 2);
	assert_false(f.s.group[0]->waits);
	assert_int_equal(f.said, f.w->plan.n_events);
	end(&f);
}

static void it_says_where(void **state)
{
	static const struct {
		bool waits[ROWS];
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
			reads(row_of(&f, 0, i), SECOND, cases[c].waits[i] ? 0 : SECOND);
		snprintf(text, sizeof(text), GROUP_ONE ": not counted so far%s" HELD ALONE, cases[c].where);
		look(&f, text, true);
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
	look(&f, GROUP_ONE ": not counted so far" HELD ALONE "; and 1 more groups (pmrep info lists them)", true);
	note(&f, GROUP_ONE ": not counted so far" HELD ALONE, 2);
	note(&f, "three and the others of its group: not counted so far" HELD ALONE, 2);
	end(&f);
}

/* What the user wants exactly so stays together; what the kernel gave up is enabled again. */
static void pinned_groups_are_tried_again(void **state)
{
	static const uint32_t mods[] = { EVENT_MOD_PINNED, EVENT_MOD_EXCLUSIVE };

	for (int c = 0; c < 2; c++) {
		struct fixture f;

		begin(&f);
		f.ev[0][1].mods = mods[c];
		open_group(&f, 0);
		for (uint32_t i = 0; i < ROWS; i++)
			reads(row_of(&f, 0, i), SECOND, 0);
		look(&f, GROUP_ONE ": not counted so far" HELD, false);
		assert_false(f.s.group[0]->starved);
		assert_true(f.s.group[0]->waits);
		end(&f);
	}
	/* Stopped; counting; counting since its exec; with members that are off. */
	for (int c = 0; c < 4; c++) {
		struct fixture f;

		begin(&f);
		f.ev[0][0].mods = EVENT_MOD_PINNED;
		f.s.on = c == 1 || c == 3;
		f.s.from_exec = c == 2;
		open_group(&f, 0);
		row_of(&f, 0, 1)->gave_up = true;
		row_of(&f, 0, 1)->any_off = c == 3;
		look(&f, GROUP_ONE ": not counted so far on CPU 1" HELD "; retried each second", false);
		assert_false(row_of(&f, 0, 1)->gave_up);
		assert_int_equal(n_told, c == 1 || c == 2);
		if (n_told) {
			assert_int_equal(told[0].request, PERF_EVENT_IOC_ENABLE);
			assert_int_equal(told[0].fd, row_of(&f, 0, 1)->leader);
		}
		end(&f);
	}
	/* One event that the kernel samples is read from then on. */
	struct fixture f;

	begin(&f);
	perf_group_remove(f.s.group[0], 1);
	open_group(&f, 0);
	f.s.group[0]->sample_ns = MS;
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND, 0);
	look(&f, "one: not counted so far" HELD "; from now on it is read", true);
	end(&f);
	/* One that is read waits for its turn. */
	begin(&f);
	perf_group_remove(f.s.group[0], 1);
	open_group(&f, 0);
	for (uint32_t i = 0; i < ROWS; i++)
		reads(row_of(&f, 0, i), SECOND, 0);
	look(&f, "one: not counted so far" HELD, false);
	end(&f);
}

/* A refused event is tried once a look, and all its rows are opened when that succeeds. */
static void what_was_refused_is_tried(void **state)
{
	struct fixture f;
	unsigned before;

	begin(&f);
	open_group(&f, 0);
	for (uint32_t i = 0; i < ROWS; i += 2) {
		row_of(&f, 0, i)->shut = true;
		row_of(&f, 0, i)->missing[0] = perf_reason(-EBUSY);
	}
	refuse[0] = EBUSY;
	before = n_opened;
	look(&f, "", false);
	assert_int_equal(n_opened, before + 1);
	assert_int_equal(opened[before].cpu, 0);
	assert_int_equal(opened[before].leader, -1);
	assert_int_equal(opened[before].attr.a.disabled, 1);
	assert_false(row_of(&f, 0, 0)->again);
	refuse[0] = 0;
	look(&f, GROUP_ONE FREED, true);
	assert_int_equal(n_opened, before + 2);
	assert_int_equal(fcntl(opened[before + 1].fd, F_GETFD), -1); /* closed */
	assert_true(row_of(&f, 0, 0)->again && row_of(&f, 0, 2)->again);
	assert_false(row_of(&f, 0, 1)->again);
	end(&f);
}

static void say(uint64_t enabled, uint64_t running, uint64_t a, uint64_t b)
{
	uint64_t words[] = { MEMBERS, enabled, running, a, b };

	assert_int_equal(write(ends[1], words, sizeof(words)), sizeof(words));
}

/* Each event becomes a group, whose rows go on from the counts and times of the one that they were in. */
static void what_is_taken_apart_goes_on(void **state)
{
	struct fixture f;

	begin(&f);
	open_group(&f, 0);
	open_group(&f, 1);
	f.s.group[0]->starved = true;
	f.s.group[0]->sample_ns = MS;
	for (uint64_t i = 0; i < ROWS; i++)
		say(100 + i, 50 + i, 10 * i + 1, 10 * i + 2);
	n_opened = 0;
	assert_int_equal(perf_starving_split(&f.s, &f.w->plan), 0);
	assert_int_equal(f.s.n_groups, 3);
	assert_int_equal(n_opened, 2 * ROWS);
	for (uint32_t k = 0; k < MEMBERS; k++) {
		struct perf_group *g = f.s.group[k ? 2 : 0];

		assert_false(g->starved);
		assert_int_equal(g->sample_ns, 0);
		assert_int_equal(g->n, 1);
		assert_ptr_equal(g->member[0], &f.event[0][k]);
		assert_int_equal(g->n_rows, ROWS);
		for (uint32_t i = 0; i < ROWS; i++) {
			assert_int_equal(g->row[i]->at.cpu, i);
			assert_int_equal(g->row[i]->base[0], 10 * i + 1 + k);
			assert_int_equal(g->row[i]->base_running, 50 + i);
			/* While they were closed, too. */
			assert_in_range(g->row[i]->base_enabled, 101 + i, 60 * SECOND);
			assert_int_equal(opened[k * ROWS + i].attr.a.config, k);
		}
	}
	/* The other one stays. */
	assert_int_equal(f.s.group[1]->n, MEMBERS);
	assert_int_equal(f.s.group[1]->n_rows, ROWS);
	assert_int_equal(count_units(f.w), 3 * ROWS);
	end(&f);
}

/* A CPU that is away meanwhile goes on when it is back. */
static void a_cpu_that_is_away_goes_on_later(void **state)
{
	struct fixture f;
	struct reading r;

	begin(&f);
	open_group(&f, 0);
	f.s.group[0]->starved = true;
	for (uint64_t i = 0; i < ROWS; i++)
		say(100 + i, 50 + i, 10 * i + 1, 10 * i + 2);
	away = 1;
	assert_int_equal(perf_starving_split(&f.s, &f.w->plan), 0);
	assert_int_equal(count_units(f.w), 2 * ROWS);
	for (uint32_t k = 0; k < MEMBERS; k++) {
		struct perf_group *g = f.s.group[k ? 2 : 0];
		struct perf_row *row = g->row[ROWS - 1];

		assert_int_equal(g->n_rows, ROWS);
		assert_int_equal(row->at.cpu, 1);
		assert_int_equal(row->n_open, 0);
		assert_int_equal(row->base[0], 11 + k);
		assert_int_equal(row->base_enabled, 101);
		assert_int_equal(row->base_running, 51);
		read_unit(&row->unit, &f.w->model, &r);
		assert_int_equal(r.status[0], PM_REASON_OFFLINE);
		away = -1;
		assert_int_equal(perf_rows_update(&f.s, &f.w->plan, g, 0, 1, true), 0);
		assert_int_equal(g->n_rows, ROWS);
		assert_int_equal(row->n_open, 1);
		assert_int_equal(row->base[0], 11 + k);
	}
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_group_that_waits_is_told_once),  cmocka_unit_test(it_says_where),
		cmocka_unit_test(several_groups_are_one_line),      cmocka_unit_test(pinned_groups_are_tried_again),
		cmocka_unit_test(what_was_refused_is_tried),        cmocka_unit_test(what_is_taken_apart_goes_on),
		cmocka_unit_test(a_cpu_that_is_away_goes_on_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
