/* perf events of tasks: the command and its children, from the exec on, run after run. */
#include "tests/unit/lib/perf_world.h"

static void test_task_is_pseudonymous(void **state)
{
	static const char *const levels[] = { "strict", "default", "full" };

	for (int i = 0; i < 3; i++) {
		struct world *w = world_new(TARGET_TASKS, "cs", NULL, NULL);
		const struct pm_instance *task = NULL;
		char tid[16];

		w->options.privacy = (char *)levels[i];
		w->options.perf.tids = tid_text(tid);
		world_begin(w, NULL);
		assert_int_equal(world_plan(w), 0);
		for (uint32_t k = 0; k < w->model.n_instances; k++)
			if (w->model.instance[k].kind == PM_TASK)
				task = &w->model.instance[k];
		assert_non_null(task);
		assert_string_equal(pm_map_text(&task->attrs, PM_INSTANCE_NAME, ""), "task-1");
		assert_int_equal(task->number, PM_NONE);
		assert_int_equal(pm_map_u64(&task->attrs, PM_INSTANCE_TID, 0), i ? (uint64_t)getpid() : 0);
		world_end(w, true);
		free(w);
	}
}

/* A child that waits on a pipe, forks another one, and each of them touches pages. */
static pid_t start_child(int *go)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		char c;

		close(fds[1]);
		if (read(fds[0], &c, 1) == 1) {
			pid_t inner = fork();

			touch(500);
			if (!inner)
				_exit(0);
			waitpid(inner, NULL, 0);
		}
		_exit(0);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static uint64_t faults_of_child(bool no_inherit)
{
	struct world *w = world_new(TARGET_COMMAND, "minor-faults,cs", NULL, NULL);
	uint64_t faults;
	int go;

	w->options.perf.no_inherit = no_inherit;
	w->options.perf.delay_ms = 1; /* there is no exec here */
	world_begin(w, NULL);
	w->plan.child = start_child(&go);
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	assert_int_equal(count_units(w), 1);
	assert_int_equal(sum_of(w, "minor-faults"), 0);
	source_perf.enable(&w->source, true);
	assert_int_equal(write(go, "x", 1), 1);
	waitpid(w->plan.child, NULL, 0);
	close(go);
	/* The count outlives the command. */
	faults = sum_of(w, "minor-faults");
	world_end(w, true);
	free(w);
	return faults;
}

static void test_command_and_its_children(void **state)
{
	NEED_KERNEL();
	uint64_t alone = faults_of_child(true), all = faults_of_child(false);

	assert_in_range(alone, 500, 900);
	assert_in_range(all, 1000, 1800);
}

static void run_true(struct world *w, int go)
{
	assert_int_equal(write(go, "x", 1), 1);
	close(go);
	waitpid(w->plan.child, NULL, 0);
}

static pid_t child_to_exec(int *go)
{
	int fds[2];
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		char c;

		close(fds[1]);
		touch(5000); /* before the exec: must not be counted */
		if (read(fds[0], &c, 1) == 1)
			execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static void test_counts_from_exec_and_restarts(void **state)
{
	NEED_KERNEL();
	struct world *w = world_new(TARGET_COMMAND, "minor-faults", NULL, NULL);
	int go;

	world_begin(w, NULL);
	w->plan.child = child_to_exec(&go);
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	for (int run = 0; run < 2; run++) {
		uint64_t faults;

		assert_int_equal(sum_of(w, "minor-faults"), 0);
		run_true(w, go);
		faults = sum_of(w, "minor-faults");
		assert_in_range(faults, 10, 1000);
		w->plan.child = child_to_exec(&go);
		assert_int_equal(source_perf.restart(&w->source, &w->plan, &w->e), 0);
	}
	close(go);
	waitpid(w->plan.child, NULL, 0);
	world_end(w, true);
	free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_task_is_pseudonymous),
		cmocka_unit_test(test_command_and_its_children),
		cmocka_unit_test(test_counts_from_exec_and_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
