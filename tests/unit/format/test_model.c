/* The model: ids, what is the same, and limits. */
#include <time.h>

#include "format/limits.h"
#include "format/model.h"
#include "tests/unit/lib/test.h"

static void counters_have_unique_names(void **state)
{
	struct pm_model m;
	char long_name[PM_MAX_NAME + 2];

	pm_model_init(&m);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a.b" }), 1);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a.c", .width = 32 }), 2);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a.b" }), -EEXIST);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"" }), -EINVAL);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"w", .width = 65 }), -EINVAL);
	assert_int_equal(m.counter[1].width, 32);
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = long_name }), -E2BIG);
	assert_int_equal(m.n_counters, 2);
	assert_int_equal(pm_model_counter(&m, 1)->width, 64);
	assert_int_equal(pm_model_counter(&m, 1)->scale.den, 1);
	assert_string_equal(pm_model_counter(&m, 1)->display, "a.b");
	assert_int_equal(pm_model_counter_named(&m, "a.c")->id, 2);
	assert_null(pm_model_counter_named(&m, "a.d"));
	assert_null(pm_model_counter(&m, 0));
	assert_null(pm_model_counter(&m, 3));
	/* The bits of a double do not wrap. */
	assert_int_equal(
		pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"f", .type = PM_F64, .width = 32 }),
		3);
	assert_int_equal(pm_model_counter(&m, 3)->width, 64);
	pm_model_release(&m);
}

static void groups_name_what_is_there(void **state)
{
	uint32_t one = 1, three = 3, many[4] = { 1, 2, 1, 2 };
	struct pm_model m;
	struct pm_group g = {
		.source = (char *)"x", .counter = &one, .n_counters = 1, .instance = &one, .n_instances = 1
	};

	pm_model_init(&m);
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a" }), 1);
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_SYSTEM }), 1);
	assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_CPU }), 2);
	assert_int_equal(pm_model_add_group(&m, &g), 1);
	g.instance = &three;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.instance = many;
	g.n_instances = 4;
	g.flags = PM_GROUP_LIST;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.flags = 1 << 7;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.flags = 0;
	g.n_counters = 0;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	pm_model_release(&m);
}

/* Ids and columns have ends, which are not passed. */
static void limits_are_kept(void **state)
{
	uint32_t counter[] = { 1, 2 }, instance[] = { 2, 1 }, twice[] = { 2, 2 }, *many;
	struct pm_group g = {
		.source = (char *)"x", .counter = counter, .n_counters = 2, .instance = instance, .n_instances = 2
	};
	struct pm_topology t = { .n = PM_MAX_CPUS + 1 };
	struct pm_model m;

	pm_model_init(&m);
	assert_int_equal(pm_model_set_topology(&m, &t), -E2BIG);
	t = (struct pm_topology){ .n_types = PM_MAX_CPUS + 1 };
	assert_int_equal(pm_model_set_topology(&m, &t), -E2BIG);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ 0 }), -EINVAL);
	assert_int_equal(
		pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a", .scale.text = (char *)"-1" }),
		-EINVAL);
	assert_null(pm_model_counter_named(&m, "a"));
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"a" }), 1);
	assert_int_equal(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"b" }), 2);
	for (int i = 1; i <= 2; i++)
		assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_CPU }), i);
	assert_null(pm_model_string(&m, 0));
	assert_null(pm_model_string(&m, 1));
	/* In any order, but once. */
	assert_int_equal(pm_model_add_group(&m, &g), 1);
	g.instance = twice;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.instance = instance;
	many = calloc(PM_MAX_COLUMNS, sizeof(*many));
	assert_non_null(many);
	g.instance = many;
	g.n_instances = PM_MAX_COLUMNS / 4;
	assert_int_equal(pm_model_add_group(&m, &g), -E2BIG);
	free(many);
	/* It continues what has the same counters and flags. */
	g = (struct pm_group){ .source = (char *)"x",
			       .counter = counter,
			       .n_counters = 2,
			       .instance = instance,
			       .n_instances = 1,
			       .continues = 1,
			       .flags = PM_GROUP_SHARED_TIME };
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.flags = 0;
	g.n_counters = 1;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.n_counters = 2;
	g.counter = (uint32_t[]){ 2, 1 };
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.counter = counter;
	g.continues = 7;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.continues = 1;
	assert_int_equal(pm_model_add_group(&m, &g), 2);
	assert_true(pm_model_group(&m, 1)->retired);
	assert_int_equal(pm_model_retire_group(&m, 3), -EINVAL);
	assert_int_equal(pm_model_retire_instance(&m, 1, 0), 0);
	assert_int_equal(pm_model_instance(&m, 1)->retired_ns, 1);
	m.last_group = m.last_instance = UINT32_MAX;
	g.continues = 0;
	assert_int_equal(pm_model_add_group(&m, &g), -E2BIG);
	assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_CPU }), -E2BIG);
	pm_model_release(&m);
}

static void maps_have_fallbacks(void **state)
{
	struct pm_map m = { 0 };

	assert_int_equal(pm_map_set(&m, 3, pm_bool(true)), 0);
	assert_int_equal(pm_map_set(&m, 2, pm_u64(7)), 0);
	assert_int_equal(pm_map_set(&m, 1, pm_text("t")), 0);
	assert_true(pm_map_bool(&m, 3, false));
	assert_true(pm_map_bool(&m, 2, true));
	assert_false(pm_map_bool(&m, 4, false));
	assert_int_equal(pm_map_u64(&m, 2, 5), 7);
	assert_int_equal(pm_map_u64(&m, 3, 5), 5);
	assert_int_equal(pm_map_u64(&m, 4, 5), 5);
	assert_string_equal(pm_map_text(&m, 1, "f"), "t");
	assert_string_equal(pm_map_text(&m, 2, "f"), "f");
	pm_map_remove(&m, 4);
	pm_map_remove(&m, 0);
	assert_int_equal(m.n, 3);
	pm_map_remove(&m, 2);
	assert_int_equal(m.n, 2);
	assert_null(pm_map_get(&m, 2));
	for (uint32_t key = 10; key < 30; key++)
		assert_int_equal(pm_map_set(&m, key, pm_u64(key)), 0);
	assert_int_equal(pm_map_u64(&m, 29, 0), 29);
	pm_map_release(&m);
}

/* The places of columns, as model.h promises them. */
static void columns_of_groups(void **state)
{
	uint32_t counter[] = { 7, 8, 9 }, instance[] = { 4, 5 };
	struct pm_group matrix = { .flags = PM_GROUP_PERF_TIMES,
				   .counter = counter,
				   .n_counters = 3,
				   .instance = instance,
				   .n_instances = 2 };
	struct pm_group list = {
		.flags = PM_GROUP_LIST, .counter = counter, .n_counters = 2, .instance = instance, .n_instances = 2
	};

	assert_int_equal(pm_group_times(&matrix), 2);
	assert_int_equal(pm_group_head(&matrix), 8);
	assert_int_equal(pm_group_columns(&matrix), 14);
	assert_int_equal(pm_group_counter_of(&matrix, 3), 8);
	assert_int_equal(pm_group_instance_of(&matrix, 3), 5);
	assert_int_equal(pm_group_time_of(&matrix, 3), 1);
	matrix.flags = PM_GROUP_SHARED_TIME;
	assert_int_equal(pm_group_head(&matrix), 2);
	assert_int_equal(pm_group_time_of(&matrix, 3), 0);
	assert_int_equal(pm_group_columns(&list), 4);
	assert_int_equal(pm_group_counter_of(&list, 1), 8);
	assert_int_equal(pm_group_instance_of(&list, 1), 5);
}

static void strings_are_kept_once(void **state)
{
	struct pm_model m;

	pm_model_init(&m);
	assert_int_equal(pm_model_add_string(&m, "one", 3, false), 1);
	assert_int_equal(pm_model_add_string(&m, "two", 3, false), 2);
	assert_int_equal(pm_model_add_string(&m, "one", 3, false), 1);
	assert_int_equal(pm_model_add_string(&m, "one", 3, true), 3);
	assert_int_equal(pm_model_add_string(&m, "a\0b", 3, false), 4);
	assert_int_equal(pm_model_string(&m, 4)->str.len, 3);
	assert_int_equal(pm_model_add_string(&m, "", PM_MAX_STRING + 1, true), -E2BIG);
	pm_model_release(&m);
}

static void equal_config_values_are_joined(void **state)
{
	struct pm_model m;

	pm_model_init(&m);
	for (uint32_t cpu = 0; cpu < 1000; cpu++) {
		struct pm_config c = {
			.name = (char *)"cpuid.1", .kind = PM_CPU, .time_ns = 9, .value = pm_array(2)
		};

		/* Four values, each on a quarter of the CPUs. */
		c.value.array.item[0] = pm_u64(cpu % 4);
		c.value.array.item[1] = pm_u64(7);
		assert_int_equal(cpulist_add(&c.instances, cpu), 0);
		assert_int_equal(pm_model_add_config(&m, &c), 0);
		assert_int_equal(pm_model_add_config(&m, &c), 0);
		pm_value_release(&c.value);
		cpulist_release(&c.instances);
	}
	assert_int_equal(m.n_configs, 4);
	for (uint32_t cpu = 0; cpu < 1000; cpu++) {
		const struct pm_config *c = pm_model_config(&m, "cpuid.1", cpu);

		assert_non_null(c);
		assert_int_equal(c->instances.n, 250);
		assert_int_equal(c->value.array.item[0].u64, cpu % 4);
	}
	assert_null(pm_model_config(&m, "cpuid.1", 1000));
	assert_null(pm_model_config(&m, "cpuid.2", 0));
	/* Read again later: the newest answers. */
	{
		struct pm_config c = { .name = (char *)"cpuid.1", .kind = PM_CPU, .time_ns = 10, .value = pm_u64(5) };

		assert_int_equal(cpulist_add(&c.instances, 3), 0);
		assert_int_equal(pm_model_add_config(&m, &c), 0);
		cpulist_release(&c.instances);
	}
	assert_int_equal(m.n_configs, 5);
	assert_int_equal(pm_model_config(&m, "cpuid.1", 3)->value.u64, 5);
	assert_int_equal(pm_model_config(&m, "cpuid.1", 7)->value.array.item[0].u64, 3);
	assert_int_equal(pm_model_config(&m, "cpuid.1", PM_NONE)->value.u64, 5);
	pm_model_release(&m);
}

/* Without a hash of all of a value this takes minutes, with one a fraction of a second. */
static void many_config_values_differ(void **state)
{
	enum { N = 100000 };
	clock_t begin = clock();
	struct pm_model m;

	(void)state;
	pm_model_init(&m);
	for (uint32_t i = 0; i < N; i++) {
		struct pm_config c = { .name = (char *)"a", .kind = PM_SYSTEM, .time_ns = 9, .value = pm_array(2) };

		c.value.array.item[i % 2] = pm_s64(-1 - (int64_t)i);
		assert_int_equal(pm_model_add_config(&m, &c), 0);
		pm_value_release(&c.value);
	}
	assert_int_equal(m.n_configs, N);
	assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
	pm_model_release(&m);
}

static void instances_are_retired_once(void **state)
{
	struct pm_model m;

	pm_model_init(&m);
	assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_TASK, .number = 5 }), 1);
	assert_int_equal(pm_model_retire_instance(&m, 1, 100), 0);
	assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_TASK, .number = 5 }), 2);
	assert_int_equal(pm_model_retire_instance(&m, 1, 200), 0);
	assert_int_equal(pm_model_instance(&m, 1)->retired_ns, 100);
	assert_int_equal(pm_model_retire_instance(&m, 3, 1), -EINVAL);
	pm_model_release(&m);
}

static void topology_is_sorted(void **state)
{
	struct pm_cpu cpu[] = { { .cpu = 9, .package = 1 }, { .cpu = 2, .package = 0 }, { .cpu = 4, .package = 2 } };
	struct pm_topology t = { .cpu = cpu, .n = 3 };
	struct pm_model m;

	pm_model_init(&m);
	assert_int_equal(pm_model_set_topology(&m, &t), 0);
	assert_int_equal(pm_topology_cpu(&m.topology, 4)->package, 2);
	assert_int_equal(pm_topology_cpu(&m.topology, 9)->package, 1);
	assert_null(pm_topology_cpu(&m.topology, 3));
	pm_model_release(&m);
}

/* A file cannot ask for more memory than the limit by defining and defining. */
static void the_model_is_bounded(void **state)
{
	struct pm_model m;
	char name[PM_MAX_NAME];
	int64_t id;
	uint32_t n = 0;

	pm_model_init(&m);
	memset(name, 'n', sizeof(name));
	do {
		struct pm_config c = { .name = name, .value = pm_bytes(name, sizeof(name)) };

		snprintf(name, sizeof(name), "%0500u", n);
		c.time_ns = n++;
		id = pm_model_add_config(&m, &c);
		pm_value_release(&c.value);
	} while (!id && n < 2000000);
	assert_int_equal(id, -E2BIG);
	assert_true(n < PM_MAX_MODEL / sizeof(name));
	pm_model_release(&m);
}

/* What is forgotten no longer counts: things may come and go for ever. */
static void what_is_forgotten_is_given_back(void **state)
{
	const struct pm_counter c = { .name = (char *)"c", .source = (char *)"s", .unit = (char *)"1", .width = 64 };
	uint32_t counter = 1, id = 1;
	struct pm_group g = {
		.source = (char *)"s", .counter = &counter, .n_counters = 1, .instance = &id, .n_instances = 1
	};
	uint64_t bytes = 0;
	struct pm_model m;

	pm_model_init(&m);
	assert_int_equal(pm_model_add_counter(&m, &c), 1);
	for (; id < 4; id++) {
		assert_int_equal(pm_model_add_instance(&m, &(struct pm_instance){ .kind = PM_TASK, .number = id }),
				 id);
		if (id == 1)
			bytes = m.index.bytes;
		assert_int_equal(m.index.bytes, bytes);
		assert_int_equal(pm_model_add_group(&m, &g), id);
		assert_true(m.index.bytes > bytes);
		assert_int_equal(pm_model_retire_group(&m, id), 0);
		assert_int_equal(pm_model_retire_instance(&m, id, 5), 0);
		pm_model_forget(&m, NULL, NULL, true);
		assert_true(m.index.bytes < bytes);
	}
	pm_model_release(&m);
}

/* Definitions are the same only if each part is, so that a repetition never hides a change. */
static void any_difference_counts(void **state)
{
	const struct pm_counter counter = { .name = (char *)"n",
					    .display = (char *)"d",
					    .source = (char *)"s",
					    .unit = (char *)"1",
					    .scale = { .num = 1, .den = 2 },
					    .width = 48 };
	struct pm_counter other[13];
	uint32_t ids[] = { 1, 2 }, others[] = { 1, 3 };
	const struct pm_group group = {
		.source = (char *)"s", .counter = ids, .n_counters = 2, .instance = ids, .n_instances = 2
	};
	struct pm_group changed[6];
	struct pm_map attrs = { 0 };

	(void)state;
	assert_int_equal(pm_map_set(&attrs, 1, pm_u64(1)), 0);
	for (size_t i = 0; i < 13; i++)
		other[i] = counter;
	other[0].name = other[1].display = other[2].source = other[3].unit = (char *)"x";
	other[4].scale.num = other[5].scale.den = 3;
	other[6].scale.text = (char *)"1.5";
	other[7].type = PM_F64;
	other[8].semantics = PM_GAUGE;
	other[9].width = 32;
	other[10].aggregation = PM_AGG_MAX;
	other[11].attrs = attrs;
	assert_true(model_counter_equal(&counter, &other[12]));
	for (size_t i = 0; i < 12; i++) {
		assert_false(model_counter_equal(&counter, &other[i]));
		assert_false(model_counter_equal(&other[i], &counter));
	}
	other[12].scale.text = (char *)"1.25";
	assert_false(model_counter_equal(&other[6], &other[12]));
	for (size_t i = 0; i < 6; i++)
		changed[i] = group;
	changed[0].source = (char *)"x";
	changed[1].flags = PM_GROUP_PERF_TIMES;
	changed[2].n_counters = changed[3].n_instances = 1;
	changed[4].counter = changed[5].instance = others;
	for (size_t i = 0; i < 6; i++)
		assert_false(model_group_equal(&group, &changed[i]));
	changed[4].counter = (uint32_t[]){ 1, 2 };
	assert_true(model_group_equal(&group, &changed[4]));
	pm_map_release(&attrs);
}

/* Only integers can wrap below 64 bits. */
static void widths_are_of_integers(void **state)
{
	static const struct {
		enum pm_type type;
		uint8_t given, width;
	} rows[] = {
		{ PM_U64, 0, 64 }, { PM_U64, 32, 32 }, { PM_S64, 48, 48 }, { PM_F64, 32, 64 }, { PM_TEXT, 8, 64 }
	};
	struct pm_model m;

	(void)state;
	pm_model_init(&m);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char name[] = { (char)('a' + i), '\0' };
		const struct pm_counter c = { .name = name, .type = rows[i].type, .width = rows[i].given };

		assert_int_equal(pm_model_add_counter(&m, &c), i + 1);
		assert_int_equal(m.counter[i].width, rows[i].width);
	}
	pm_model_release(&m);
}

static void failed_texts_are_not_set(void **state)
{
	struct pm_value *item = calloc(2, sizeof(*item));
	struct pm_map m = { 0 };

	(void)state;
	item[0] = pm_text("a");
	item[1].kind = PM_VALUE_TEXT;
	assert_int_equal(pm_map_set(&m, 1, (struct pm_value){ .kind = PM_VALUE_TEXT }), -ENOMEM);
	assert_int_equal(
		pm_map_set(&m, 1, (struct pm_value){ .kind = PM_VALUE_ARRAY, .array = { .item = item, .n = 2 } }),
		-ENOMEM);
	assert_int_equal(m.n, 0);
	pm_map_release(&m);
}

static void config_is_joined_only_if_equal(void **state)
{
	const struct pm_config first = { .name = (char *)"c", .kind = PM_CPU, .time_ns = 5, .value = pm_u64(7) };
	struct pm_config other[6];
	struct pm_model m;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		other[i] = first;
	other[0].name = (char *)"d";
	other[1].kind = PM_CORE;
	other[2].time_ns = 6;
	other[3].value = pm_u64(8);
	other[4].reason = 5;
	other[5].privacy = PM_PRIVACY_MACHINE;
	pm_model_init(&m);
	assert_int_equal(pm_model_add_config(&m, &(struct pm_config){ .name = (char *)"" }), -EINVAL);
	assert_int_equal(pm_model_add_config(&m, &(struct pm_config){ 0 }), -EINVAL);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(pm_model_add_config(&m, &first), 0);
		for (size_t i = 0; i < 6; i++)
			assert_int_equal(pm_model_add_config(&m, &other[i]), 0);
		assert_int_equal(m.n_configs, 7);
	}
	pm_model_release(&m);
}

static void values_are_compared_whole(void **state)
{
	struct pm_value item[] = { pm_u64(1), pm_u64(2) }, others[] = { pm_u64(1), pm_u64(3) };
	const struct pm_value array[] = { { .kind = PM_VALUE_ARRAY, .array = { .item = item, .n = 2 } },
					  { .kind = PM_VALUE_ARRAY, .array = { .item = others, .n = 2 } },
					  { .kind = PM_VALUE_ARRAY, .array = { .item = item, .n = 1 } },
					  { .kind = PM_VALUE_ARRAY } };
	struct pm_value all[] = { pm_u64(1),    pm_u64(2),    pm_s64(-1),    pm_s64(-2),
				  pm_f64(1),    pm_f64(2),    pm_bool(true), pm_bool(false),
				  pm_text("a"), pm_text("b"), pm_text("ab"), pm_text(""),
				  array[0],     array[1],     array[2],      array[3] };

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++)
			assert_int_equal(pm_value_equal(&all[i], &all[k]), i == k);
	for (size_t i = 8; i < 12; i++)
		pm_value_release(&all[i]);
}

/* Whether numbers of two counters may be added. */
static void measured_alike(void **state)
{
	static const struct {
		struct pm_counter a, b;
		bool alike;
	} rows[] = {
		{ { .unit = (char *)"B" }, { .unit = (char *)"B" }, true },
		{ { .unit = (char *)"B" }, { .unit = (char *)"J" }, false },
		{ { .unit = (char *)"B", .scale = { .num = 1 } }, { .unit = (char *)"B" }, false },
		{ { .unit = (char *)"B", .scale = { .den = 1 } }, { .unit = (char *)"B" }, false },
		{ { .unit = (char *)"B", .scale = { .text = (char *)"0.5" } }, { .unit = (char *)"B" }, false },
		{ { .unit = (char *)"B", .scale = { .text = (char *)"" } }, { .unit = (char *)"B" }, true },
		{ { .unit = (char *)"B", .scale = { .text = (char *)"0.5" } },
		  { .unit = (char *)"B", .scale = { .text = (char *)"0.5" } },
		  true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(pm_counters_measure_alike(&rows[i].a, &rows[i].b), rows[i].alike);
		assert_int_equal(pm_counters_measure_alike(&rows[i].b, &rows[i].a), rows[i].alike);
	}
}

UNIT_TESTS(cmocka_unit_test(measured_alike), cmocka_unit_test(counters_have_unique_names),
	   cmocka_unit_test(groups_name_what_is_there), cmocka_unit_test(columns_of_groups),
	   cmocka_unit_test(strings_are_kept_once), cmocka_unit_test(equal_config_values_are_joined),
	   cmocka_unit_test(many_config_values_differ), cmocka_unit_test(instances_are_retired_once),
	   cmocka_unit_test(topology_is_sorted), cmocka_unit_test(the_model_is_bounded),
	   cmocka_unit_test(what_is_forgotten_is_given_back), cmocka_unit_test(any_difference_counts),
	   cmocka_unit_test(widths_are_of_integers), cmocka_unit_test(failed_texts_are_not_set),
	   cmocka_unit_test(config_is_joined_only_if_equal), cmocka_unit_test(values_are_compared_whole),
	   cmocka_unit_test(limits_are_kept), cmocka_unit_test(maps_have_fallbacks))
