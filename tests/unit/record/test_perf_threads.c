/* --per-thread: tasks that begin and end while recording get rows of their own, from the kernel's records or, where
 * these were lost, from /proc. The machine is a folder, and its kernel that of perf_kernel.h. */
#include "record/host/clocks.h"
#include "record/perf/source_perf.c"
#include "record/perf/perf_tool.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"
#include "tests/unit/lib/sysroot.h"

enum { CHILD = 70 };

struct fixture {
	char dir[32];
	struct world *w;
	struct perf_source *s;
};

static void put_proc(struct fixture *f, int pid, int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/x", pid, tid);
	sysroot_put(f->dir, path, "\n");
}

/* Its parent, and when it began. */
static void put_stat(struct fixture *f, int pid, int parent, uint64_t ticks)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	sysroot_put(f->dir, path, "%d (a b) S %d 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 0\n", pid, parent,
		    (unsigned long long)ticks);
}

static void begin(struct fixture *f, enum target_kind target)
{
	kernel_begin();
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(f->dir, "/sys/devices/system/cpu/present", "0\n");
	sysroot_put(f->dir, "/sys/bus/event_source/devices/software/type", "1\n");
	put_proc(f, CHILD, CHILD);
	f->w = world_new(target, "cs,faults", NULL, NULL);
	f->w->options.perf.per_thread = true;
	world_begin(f->w, f->dir);
	f->w->plan.child = target == TARGET_COMMAND ? CHILD : 0;
	f->s = calloc(1, sizeof(*f->s));
	assert_non_null(f->s);
	f->w->source.data = f->s;
	f->s->ends = f->s->follow.epoll = -1;
	perf_pmus_read(&f->s->pmus, &f->w->root);
	assert_int_equal(perf_events_read(f->s, &f->w->plan, "", &f->w->e), 0);
	assert_int_equal(perf_tasks_add(f->s, &f->w->plan, &f->w->e), 0);
	assert_int_equal(perf_groups_settle(f->s, &f->w->plan, &f->w->e), 0);
	perf_counters_add(f->s, &f->w->plan);
	assert_int_equal(f->s->n_groups, 1);
	perf_rows_open(f->s, &f->w->plan, f->s->group[0]);
	perf_held_close(f->s);
	n_opened = n_told = 0;
}

static void follow(struct fixture *f)
{
	perf_threads_begin(f->s, &f->w->plan);
	assert_true(f->s->follow.epoll >= 0);
}

static void end(struct fixture *f)
{
	/* Rows belong to the plan only then. */
	perf_threads_update(f->s, &f->w->plan);
	world_end(f->w, false);
	free(f->w);
	sysroot_remove(f->dir);
	kernel_end();
}

static void put_task(uint32_t type, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} r = { { .type = type, .size = sizeof(r) }, pid, CHILD, tid, CHILD, time_ns };

	put_bytes(&r, sizeof(r));
}

static bool notice(struct fixture *f)
{
	return perf_threads_notice(f->s, &f->w->plan);
}

static void update(struct fixture *f)
{
	perf_threads_update(f->s, &f->w->plan);
}

static const struct pm_instance *instance_of(const struct fixture *f, uint32_t task)
{
	return pm_model_instance(&f->w->model, f->s->task[task].instance);
}

static void a_task_has_rows_from_its_begin_to_its_end(void **state)
{
	struct perf_group *g;
	struct fixture f;

	begin(&f, TARGET_COMMAND);
	f.s->from_exec = true;
	follow(&f);
	assert_int_equal(n_opened, 1);
	assert_int_equal(opened[0].pid, CHILD);
	g = f.s->group[0];
	assert_int_equal(g->n_rows, 1);
	assert_false(notice(&f));
	put_task(PERF_RECORD_FORK, CHILD, 71, 1000);
	assert_true(notice(&f));
	assert_int_equal(f.s->n_tasks, 2);
	assert_int_equal(n_opened, 3);
	assert_int_equal(opened[1].pid, 71);
	assert_int_equal(opened[1].attr.a.disabled, 1);
	assert_int_equal(n_told, 1);
	assert_int_equal(told[0].request, PERF_EVENT_IOC_ENABLE);
	assert_int_equal(g->n_rows, 2);
	assert_true(g->row[1]->fresh);
	assert_int_equal(g->row[1]->instance, 0);
	assert_true(notice(&f)); /* nobody has done it yet */
	update(&f);
	assert_false(notice(&f));
	assert_int_equal(g->row[1]->instance, f.s->task[1].instance);
	assert_true(g->row[1]->unit.group > g->row[0]->unit.group);
	assert_int_equal(count_units(f.w), 2);
	assert_string_equal(pm_map_text(&instance_of(&f, 1)->attrs, PM_INSTANCE_NAME, ""), "task-2");
	assert_int_equal(pm_map_u64(&instance_of(&f, 1)->attrs, PM_INSTANCE_PID, 0), CHILD);
	assert_int_equal(pm_map_u64(&instance_of(&f, 1)->attrs, PM_INSTANCE_TID, 0), 71);
	assert_int_equal(instance_of(&f, 1)->added_ns, 1000);
	/* It is there. */
	put_task(PERF_RECORD_FORK, CHILD, 71, 1500);
	/* The command may begin again. */
	put_task(PERF_RECORD_EXIT, CHILD, CHILD, 1600);
	assert_false(notice(&f));
	assert_int_equal(f.s->n_tasks, 2);
	assert_int_equal(f.s->task[0].ended_ns, 0);
	put_task(PERF_RECORD_EXIT, CHILD, 71, 2000);
	put_task(PERF_RECORD_EXIT, CHILD, 71, 2500);
	assert_true(notice(&f));
	update(&f);
	assert_false(notice(&f));
	assert_int_equal(instance_of(&f, 1)->retired_ns, 2000);
	assert_int_equal(instance_of(&f, 0)->retired_ns, 0);
	assert_int_equal(g->row[1]->end, PERF_ENDING);
	assert_int_equal(g->row[0]->end, PERF_ALIVE);
	/* Dropped once it was read; its number may be another's then. */
	g->row[1]->end = PERF_ENDED;
	put_task(PERF_RECORD_FORK, 71, 71, 3000);
	assert_true(notice(&f));
	assert_int_equal(f.s->n_tasks, 3);
	update(&f);
	assert_int_equal(g->n_rows, 2);
	assert_int_equal(g->row[1]->instance, f.s->task[2].instance);
	assert_int_equal(count_units(f.w), 2);
	assert_int_equal(f.s->n_missed, 0);
	end(&f);
}

static void what_could_not_be_followed_is_counted(void **state)
{
	static const char *const notes[] = {
		"tasks that ended before they could be followed",
		"times that tasks started and ended too fast to notice: only those still "
		"running are followed"
	};
	struct fixture f;

	begin(&f, TARGET_COMMAND);
	follow(&f);
	refuse[PERF_COUNT_SW_CONTEXT_SWITCHES] = refuse[PERF_COUNT_SW_PAGE_FAULTS] = ESRCH;
	put_task(PERF_RECORD_FORK, CHILD, 71, 1000);
	put_task(PERF_RECORD_FORK, CHILD, 72, 1000);
	assert_false(notice(&f));
	assert_int_equal(f.s->n_missed, 2);
	assert_int_equal(f.s->n_tasks, 1);
	assert_int_equal(f.s->group[0]->n_rows, 1);
	/* One event is enough. */
	refuse[PERF_COUNT_SW_PAGE_FAULTS] = 0;
	put_task(PERF_RECORD_FORK, CHILD, 73, 1000);
	assert_true(notice(&f));
	assert_int_equal(f.s->n_tasks, 2);
	put_task(PERF_RECORD_LOST, 0, 0, 0);
	assert_true(notice(&f));
	assert_int_equal(f.s->n_lost, 1);
	source_perf.finish(&f.w->source, &f.w->plan);
	assert_int_equal(f.w->plan.n_events, 2);
	for (int i = 0; i < 2; i++) {
		const struct pm_map *a = &f.w->plan.event[i].attrs;

		assert_string_equal(said(pm_map_get(a, PM_EVENT_KEY_NOTE)), notes[i]);
		assert_int_equal(pm_map_u64(a, PM_EVENT_KEY_COUNT, 0), i ? 1 : 2);
	}
	end(&f);
}

static void another_cpu_is_watched(void **state)
{
	struct fixture f;

	begin(&f, TARGET_COMMAND);
	perf_threads_cpu(f.s, &f.w->plan);
	assert_int_equal(n_opened, 0);
	follow(&f);
	put_task(PERF_RECORD_FORK, CHILD, 71, 1000);
	put_task(PERF_RECORD_FORK, CHILD, 72, 1000);
	put_task(PERF_RECORD_EXIT, CHILD, 72, 1000);
	n_opened = 0;
	put_proc(&f, 71, 71);
	/* What began there unseen is in /proc. */
	put_proc(&f, 80, 80);
	put_stat(&f, 80, CHILD, f.s->since_ticks);
	sysroot_put(f.dir, "/sys/devices/system/cpu/present", "5\n");
	perf_threads_cpu(f.s, &f.w->plan);
	assert_int_equal(f.w->model.n_probes, 0);
	assert_int_equal(f.s->n_tasks, 4);
	assert_int_equal(f.s->task[3].tid, 80);
	assert_true(f.s->follow.n_rings > 0);
	/* It has only that way if there is no watch. */
	refuse[PERF_COUNT_SW_DUMMY] = EACCES;
	put_proc(&f, 81, 81);
	put_stat(&f, 81, CHILD, f.s->since_ticks);
	perf_threads_cpu(f.s, &f.w->plan);
	assert_int_equal(f.w->model.n_probes, 1);
	assert_string_equal(said(&f.w->model.probe[0].what), "--per-thread: new tasks cannot be followed");
	assert_int_equal(f.w->model.probe[0].reason, PM_REASON_NO_PERMISSION);
	assert_int_equal(f.s->n_tasks, 5);
	assert_int_equal(f.s->follow.epoll, -1);
	end(&f);
}

static void the_next_run_has_tasks_of_its_own(void **state)
{
	struct fixture f;

	begin(&f, TARGET_COMMAND);
	follow(&f);
	put_task(PERF_RECORD_FORK, CHILD, 71, 1000);
	put_task(PERF_RECORD_FORK, CHILD, 72, 1000);
	put_task(PERF_RECORD_EXIT, CHILD, 72, 2000);
	assert_true(notice(&f));
	update(&f);
	n_opened = n_told = 0;
	f.w->plan.child = 90;
	assert_int_equal(perf_restart(&f.w->source, &f.w->plan, &f.w->e), 0);
	assert_int_equal(f.s->task[0].tid, 90);
	assert_int_equal(f.s->task[0].ended_ns, 0);
	assert_true(f.s->task[1].ended_ns > 2000);
	assert_int_equal(f.s->task[2].ended_ns, 2000);
	/* Its two events and its watch. */
	assert_int_equal(n_opened, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(opened[i].pid, 90);
	assert_int_equal(opened[0].attr.a.enable_on_exec, 1);
	assert_int_equal(f.s->group[0]->row[0]->end, PERF_ALIVE);
	for (uint32_t k = 1; k < f.s->group[0]->n_rows; k++)
		assert_int_equal(f.s->group[0]->row[k]->end, PERF_ENDED);
	assert_true(atomic_load(&f.w->source.stale));
	update(&f);
	assert_int_equal(f.s->group[0]->n_rows, 1);
	end(&f);
}

/* A counter that others hold is missing in the next run, too; what is refused otherwise ends that run. */
static void the_next_run_may_lack_a_counter(void **state)
{
	static const struct {
		int first, number, result;
	} cases[] = { { EBUSY, EBUSY, 0 }, { 0, EBUSY, 0 }, { EBUSY, 0, 0 }, { 0, ENOENT, -ENOENT } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_row *row;
		struct reading r;
		struct fixture f;

		begin(&f, TARGET_COMMAND);
		f.w->options.perf.per_thread = false;
		row = f.s->group[0]->row[0];
		row->shut = cases[i].first;
		for (int k = 0; k < 16; k++)
			refuse[k] = cases[i].number;
		f.w->plan.child = 90;
		assert_int_equal(perf_restart(&f.w->source, &f.w->plan, &f.w->e), cases[i].result);
		assert_int_equal(row->shut, cases[i].number == EBUSY);
		if (row->shut) {
			read_unit(&row->unit, &f.w->model, &r);
			assert_int_equal(r.status[0], PM_REASON_ERRNO + EBUSY);
		}
		end(&f);
	}
}

static void not_everybody_wants_that(void **state)
{
	for (int c = 0; c < 4; c++) {
		struct fixture f;

		begin(&f, TARGET_COMMAND);
		f.w->options.perf.per_thread = c != 0;
		f.w->options.perf.no_inherit = c == 1;
		if (c == 2)
			f.s->n_groups = 0;
		if (c == 3)
			refuse[PERF_COUNT_SW_DUMMY] = EACCES;
		perf_threads_begin(f.s, &f.w->plan);
		assert_int_equal(f.s->follow.epoll, -1);
		assert_false(notice(&f));
		assert_int_equal(n_opened, c == 3);
		assert_int_equal(f.w->model.n_probes, c == 3);
		if (c == 3)
			assert_string_equal(said(&f.w->model.probe[0].what),
					    "--per-thread: new tasks cannot be followed");
		f.s->n_groups = 1;
		end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_has_rows_from_its_begin_to_its_end),
		cmocka_unit_test(what_could_not_be_followed_is_counted),
		cmocka_unit_test(another_cpu_is_watched),
		cmocka_unit_test(the_next_run_has_tasks_of_its_own),
		cmocka_unit_test(the_next_run_may_lack_a_counter),
		cmocka_unit_test(not_everybody_wants_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
