/* Definitions of all kinds, written and read while the n-th allocation or write fails, for every n: an error, or all of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "format/reader.h"
#include "format/writer.h"
#include "tests/unit/lib/refused.h"

static int list_of(struct pm_value *v)
{
	*v = pm_array(3);
	if (!v->array.item)
		return -ENOMEM;
	v->array.item[0] = pm_text("in a list");
	v->array.item[1] = pm_u64(7);
	v->array.item[2] = pm_f64(1.5);
	return v->array.item[0].str.data ? 0 : -ENOMEM;
}

/* Types of CPUs, values of all kinds, numbers that are unknown, texts that counters share. */
static int fill_model(struct pm_model *m, struct pm_map *attrs, struct pm_value *list)
{
	char *types[] = { (char *)"big", (char *)"small" }, name[8];
	struct pm_cpu cpu[] = { { .cpu = 0, .online = true }, { .cpu = 1, .package = PM_NONE, .type = 1 } };
	const struct pm_topology t = { .time_ns = 5, .cpu = cpu, .n = 2, .type = types, .n_types = 2 };
	struct pm_counter c = {
		.name = name, .source = (char *)"s", .unit = (char *)"1", .scale.text = (char *)"0.5"
	};
	uint32_t ids[] = { 1, 2, 3, 70 };
	const struct pm_group g = {
		.source = (char *)"s", .counter = ids, .n_counters = 4, .instance = ids, .n_instances = 3
	};
	const struct pm_probe p = { (char *)"s", (char *)"w", (char *)"h", 5, *attrs };
	int64_t err = pm_model_set_topology(m, &t);

	err = err ? err : list_of(list);
	err = err ? err : pm_map_set(attrs, 1, pm_text("a text"));
	err = err ? err : pm_map_set(attrs, 2, pm_bool(true));
	err = err ? err : pm_value_copy(&attrs->field[1].value, list);
	err = err ? err : pm_map_copy(&m->header, attrs);
	for (int i = 0; i < 70 && err >= 0; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		c.display = i % 5 ? NULL : types[i % 2];
		c.attrs = i % 3 ? *attrs : (struct pm_map){ 0 };
		err = pm_model_add_counter(m, &c);
	}
	for (uint32_t i = 0; i < 4 && err >= 0; i++)
		err = pm_model_add_instance(m, &(struct pm_instance){ .kind = PM_CPU, .number = i, .attrs = *attrs });
	err = err < 0 ? err : pm_model_add_group(m, &g);
	err = err < 0 ? err : pm_model_add_string(m, "a string", 8, false);
	err = err < 0 ? err : pm_model_add_pmu(m, &(struct pm_pmu){ .attrs = *attrs });
	err = err < 0 ? err : pm_model_add_probe(m, &p);
	for (uint32_t i = 0; i < 50 && err >= 0; i++)
		err = pm_model_add_config(m, &(struct pm_config){ .name = name,
								  .value = *list,
								  .time_ns = i,
								  .instances = { .cpu = ids, .n = i % 4 } });
	return err < 0 ? (int)err : 0;
}

/* Of one of each. */
static int copy_some(const struct pm_model *m)
{
	struct pm_counter c = { 0 };
	struct pm_config one = { 0 };
	struct pm_probe p = { 0 };
	int err = pm_counter_copy(&c, &m->counter[5]);

	if (!err)
		err = pm_config_copy(&one, &m->config[3]);
	if (!err)
		err = pm_probe_copy(&p, &m->probe[0]);
	if (!err) {
		assert_string_equal(c.scale.text, "0.5");
		assert_true(pm_value_equal(&one.value, &m->config[3].value));
		assert_string_equal(p.hint, "h");
	}
	pm_counter_release(&c);
	pm_config_release(&one);
	pm_probe_release(&p);
	return err;
}

/* A model that is made and written. */
static int define(struct buf *file)
{
	struct pm_map attrs = { 0 };
	struct pm_value list = pm_u64(0);
	struct pm_writer *w = NULL;
	struct pm_model m;
	struct pm_writer_config config = { .sink = write_bytes, .sink_ctx = file, .model = &m };
	int err;

	pm_model_init(&m);
	err = fill_model(&m, &attrs, &list);
	if (!err)
		err = copy_some(&m);
	if (!err)
		err = pm_writer_new(&w, &config, NULL);
	if (!err)
		err = pm_writer_finish(w);
	pm_writer_free(w);
	pm_model_release(&m);
	pm_map_release(&attrs);
	pm_value_release(&list);
	return err;
}

/* What is read of it. */
static int reread(const struct buf *file, char said[static 80])
{
	struct error e = { 0 };
	struct pm_input in;
	struct pm_item item;
	struct pm_reader *r = NULL;
	int err = pm_input_memory(&in, file->data, file->len), more = 1;

	if (!err)
		err = pm_reader_open(&r, &in, &e);
	assert_true(!err || err == -ENOMEM);
	while (!err && more == 1) {
		more = pm_reader_next(r, &item);
		err = more < 0 ? more : 0;
	}
	if (!err) {
		const struct pm_model *m = pm_reader_model(r);

		snprintf(said, 80, "%u %s %u %u %u %u %u %u %s %u", m->topology.n, m->topology.type[1], m->n_counters,
			 m->n_instances, m->n_groups, m->n_pmus, m->n_probes, m->n_configs,
			 pm_map_text(&m->header, 1, ""), pm_map_get(&m->header, 2)->array.n);
	}
	pm_reader_close(r);
	return err;
}

static void each_is_refused(void **state)
{
	static const char all[] = "2 small 70 4 1 1 1 50 a text 3";
	struct buf good = BUF_INIT;
	char said[80] = "";

	(void)state;
	assert_int_equal(define(&good), 0);
	assert_int_equal(reread(&good, said), 0);
	assert_string_equal(said, all);
	for (enum what w = ALLOCATION; w < WHATS; w++) {
		bool more = true;

		for (long n = 1; more; n++) {
			struct buf file = BUF_INIT;
			int err;

			memset(&world, 0, sizeof(world));
			world.left[w] = n;
			err = define(&file);
			world.left[w] = 0;
			more = world.failed;
			/* What could not be packed is written as it is. */
			if (err)
				assert_int_equal(-err, error_of[w]);
			else
				assert_int_equal(reread(&file, said), 0);
			assert_string_equal(said, all);
			buf_release(&file);
		}
	}
	world.failed = true;
	for (long n = 1; world.failed; n++) {
		int err;

		memset(&world, 0, sizeof(world));
		*said = '\0';
		world.left[ALLOCATION] = n;
		err = reread(&good, said);
		world.left[ALLOCATION] = 0;
		assert_true(!err || err == -ENOMEM);
		assert_string_equal(said, err ? "" : all);
	}
	buf_release(&good);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_is_refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
