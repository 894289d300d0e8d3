/* Parts of copying: events of what stays, and sums of what is skipped. */
#include "common/double_bits.h"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/rewrite_bytes.h"
#include "tests/unit/lib/test.h"

static struct reading level(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ 100 + row, 0 };
}

static void set(struct pm_map *m, uint32_t key, struct pm_value v)
{
	assert_int_equal(pm_map_set(m, key, v), 0);
}

/* ---- definitions ---- */

static enum rewrite_fate drop_cpus(void *ctx, struct pm_instance *i)
{
	(void)ctx;
	return i->kind == PM_CPU ? REWRITE_DROP : REWRITE_KEEP;
}

static enum rewrite_fate drop_first(void *ctx, struct pm_counter *c)
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
	for (uint32_t k = 0; k < 2; k++) {
		struct pm_event event = { .type = PM_EVENT_FAILED, .time_ns = BUILDER_START_NS + 2000000000 };

		set(&event.attrs, PM_EVENT_KEY_INSTANCE, pm_u64(b.instance[k ? PM_SYSTEM : PM_CPU][0]));
		assert_int_equal(pm_writer_event(b.writer, &event), 0);
		pm_event_release(&event);
	}
	builder_finish(&b);
	rewrite_bytes(&rules, &b.file, 1, &out);
	r = open_bytes(&out);
	while (pm_reader_next(r, &item) == 1) {
		const struct pm_model *m = pm_reader_model(r);

		if (item.kind != PM_ITEM_EVENT)
			continue;
		seen++;
		assert_int_equal(
			pm_model_instance(m, (uint32_t)pm_map_u64(&item.event->attrs, PM_EVENT_KEY_INSTANCE, 0))
				->kind,
			PM_SYSTEM);
	}
	assert_int_equal(seen, 1);
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
	rewrite_bytes(&rules, &b.file, 1, &out);
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

UNIT_TESTS(cmocka_unit_test(types_add_up), cmocka_unit_test(events_follow))
