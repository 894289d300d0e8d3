/* Names of tasks and cgroups while a model forgets those that have gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "report/machine/places.h"

#define LIVE  10
#define TIMES 40

static uint32_t add(struct pm_model *m, enum pm_kind kind, uint32_t number, uint64_t pid)
{
	struct pm_instance i = { .kind = kind, .number = number };
	int64_t id;

	if (pid) {
		assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text("sh")), 0);
		assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_PID, pm_u64(pid)), 0);
	}
	id = pm_model_add_instance(m, &i);
	assert_true(id > 0);
	pm_map_release(&i.attrs);
	return (uint32_t)id;
}

static void assert_name(const struct places *p, uint32_t id, enum pm_kind kind, const char *name)
{
	const struct pm_instance *i = pm_model_instance(p->model, id);
	struct place place;

	assert_non_null(i);
	assert_true(places_find(p, i, kind, &place));
	assert_string_equal(places_name(p, &place), name);
}

/* Each time all tasks but a nameless one are replaced, and one of them comes back under its old number. */
static void forgotten(void **state)
{
	uint32_t live[LIVE] = { 0 };
	struct places p = { 0 };
	uint32_t most = 0;
	struct pm_model m;

	(void)state;
	pm_model_init(&m);
	for (uint32_t t = 0; t < TIMES; t++) {
		for (uint32_t i = 0; i < LIVE; i++) {
			uint32_t number = i ? t * LIVE + i : 0;

			if (live[i])
				assert_int_equal(pm_model_retire_instance(&m, live[i], t), 0);
			live[i] = i == 1 ? add(&m, PM_DEVICE, i, 0) : add(&m, PM_TASK, number, 1000 + number);
		}
		assert_int_equal(places_update(&p, &m), 0);
		for (uint32_t i = 0; i < LIVE; i++) {
			char name[32];

			snprintf(name, sizeof(name), "sh (%u)", i ? 1000 + t * LIVE + i : 1000);
			assert_name(&p, live[i], i == 1 ? PM_DEVICE : PM_TASK, i == 1 ? "" : name);
		}
		pm_model_forget(&m, NULL, NULL, false);
		most = m.n_instances > most ? m.n_instances : most;
	}
	/* Names of the dead cost nothing. */
	assert_true(p.n_labels <= 2 * most);
	assert_true(most < TIMES * LIVE / 2);
	places_release(&p);
	pm_model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
