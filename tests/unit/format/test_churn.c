/* Tasks that come and go: what is written comes back, costs what lives, and is forgotten when it is told to be. */
#include "format/frame.h"
#include "format/writer.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/test.h"

struct seen {
	uint64_t chunks, keys, copies, values, wrong, absent, gone, damages, groups, unknown;
	uint32_t most_instances, most_groups;
	uint64_t last_gone_ns, gone_late;
};

/* `skip`: chunks of which every so many is not decoded; 0: none. */
static struct seen read_all(const struct buf *file, const struct churn_options *o, bool forget, unsigned skip)
{
	struct seen s = { 0 };
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	int ok;

	assert_int_equal(input_memory(&in, file->data, file->len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_model *m = pm_reader_model(r);
		const struct pm_chunk *c;

		s.damages += item.kind == PM_ITEM_DAMAGE;
		s.copies += item.kind == PM_ITEM_MODEL && item.type == PM_FRAME_HEADER && s.chunks;
		if (item.kind == PM_ITEM_EVENT && item.event->type == PM_EVENT_GONE) {
			uint32_t id = (uint32_t)pm_map_u64(&item.event->attrs, PM_EVENT_KEY_INSTANCE, 0);

			s.gone++;
			assert_true(pm_model_instance(m, id)->retired_ns == item.event->time_ns);
		}
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		s.chunks++;
		s.keys += item.chunk.key;
		if (skip && s.chunks % skip == 0)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		s.groups += c->n_groups;
		for (uint32_t g = 0; g < c->n_groups; g++)
			s.absent += c->group[g].absent;
		s.wrong += churn_compare(m, o, c, &s.values);
		if (forget)
			pm_reader_forget(r, NULL, NULL);
		s.most_instances = m->n_instances > s.most_instances ? m->n_instances : s.most_instances;
		s.most_groups = m->n_groups > s.most_groups ? m->n_groups : s.most_groups;
	}
	assert_int_equal(ok, 0);
	pm_reader_close(r);
	return s;
}

static const struct churn_options shapes[] = {
	{ .live = 50, .counters = 3, .replaced = 10, .chunks = 100, .rows = 1, .seed = 1 },
	{ .live = 50, .counters = 3, .replaced = 50, .chunks = 60, .rows = 3, .perf = true, .seed = 2 },
	{ .live = 20, .counters = 2, .replaced = 1, .chunks = 40, .rows = 20, .perf = true, .seed = 3 },
	{ .live = 9, .counters = 4, .replaced = 3, .chunks = 50, .rows = 2, .shared = true, .seed = 4 },
	{ .live = 1, .counters = 1, .replaced = 1, .chunks = 50, .rows = 1, .seed = 5 },
	{ .live = 30, .counters = 2, .replaced = 5, .chunks = 50, .rows = 16, .slow = true, .seed = 6 },
	{ .live = 30,
	  .counters = 2,
	  .replaced = 5,
	  .chunks = 50,
	  .rows = 1,
	  .restart = true,
	  .slow = true,
	  .seed = 7 },
};

/* A changed membership makes no key chunk. */
static void costs_no_key_chunk(void **state)
{
	struct churn_options o = shapes[0];
	struct buf file = BUF_INIT;
	struct seen s;

	churn_write(&file, &o);
	s = read_all(&file, &o, false, 0);
	assert_true(s.keys <= s.chunks / 16 + 3);
	buf_release(&file);
}

/* At first absolute numbers are as small as differences, and chunks stand alone; an hour later they must not. */
static void depends_as_soon_as_it_pays(void **state)
{
	struct churn_options o = { .live = 1000, .counters = 5, .replaced = 100, .chunks = 200, .rows = 1 };
	struct buf file = BUF_INIT;
	struct seen s;

	churn_write(&file, &o);
	s = read_all(&file, &o, false, 0);
	assert_int_equal(s.wrong, 0);
	assert_true(s.keys <= s.chunks / 3);
	buf_release(&file);
}

/* Who is forgotten is not in the model any more, on either side; all who retired were told to be gone. */
static void is_forgotten(void **state)
{
	struct churn_options o = { .live = 40, .counters = 1, .replaced = 20, .chunks = 400, .rows = 1, .seed = 9 };
	struct buf file = BUF_INIT;
	struct seen kept, forgotten;

	churn_write(&file, &o);
	kept = read_all(&file, &o, false, 0);
	forgotten = read_all(&file, &o, true, 0);
	assert_true(kept.most_instances > 4000);
	assert_true(forgotten.most_instances < 40 + 200 && forgotten.most_groups < 100);
	assert_int_equal(kept.gone, forgotten.gone);
	/* What the dead took in the file does not put off the next copy, which is due after 60 s. */
	assert_true(kept.copies >= 2 + o.chunks / 80);
	/* All but those that were there at the end. */
	assert_int_equal(kept.gone, kept.most_instances - 41);
	buf_release(&file);
}

/* Reads from the chunk that was sought to the end: the last key chunk before it, all values of it and of those behind. */
static struct seen read_on(struct pm_reader *r, const struct churn_options *o, uint64_t want, bool first)
{
	struct seen s = { 0 };
	struct pm_item item;

	while (pm_reader_next(r, &item) == 1) {
		const struct pm_model *m = pm_reader_model(r);
		uint32_t living = 0;
		const struct pm_chunk *c;

		s.damages += item.kind == PM_ITEM_DAMAGE;
		s.gone += item.kind == PM_ITEM_EVENT && item.event->type == PM_EVENT_GONE;
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		if (!s.chunks++) {
			assert_true(item.chunk.key && item.chunk.from_ns <= want);
			assert_true(item.chunk.from_ns + 16 * CHURN_STEP * o->rows > want);
			s.last_gone_ns = s.gone;
		}
		for (uint32_t i = 0; i < m->n_instances; i++)
			living += !m->instance[i].retired_ns;
		/* Going back leaves the model as it was, and behind damage a later copy has been read. */
		if (first)
			assert_int_equal(living, o->live + 1);
		assert_int_equal(pm_reader_decode(r, &c), 0);
		assert_int_equal(c->n_groups, 1);
		s.absent += c->group[0].absent;
		s.wrong += churn_compare(m, o, c, &s.values);
		s.most_instances = m->n_instances > s.most_instances ? m->n_instances : s.most_instances;
	}
	return s;
}

/* Going to a time costs what lives there, and who has gone on the way is known to have gone. */
static void seeking_passes_over_the_dead(void **state)
{
	struct churn_options o = { .live = 40, .counters = 2, .replaced = 20, .chunks = 900, .rows = 1, .seed = 3 };
	uint64_t places[] = { 850, 700, 100, 5, 899 };
	struct buf file = BUF_INIT;

	churn_write(&file, &o);
	for (int way = 0; way < 3; way++) {
		bool all = way == 1;
		struct pm_reader *r;
		struct pm_input in;
		struct pm_item item;

		/* A byte of the last copy before the place that is sought is damaged. */
		if (way == 2) {
			uint64_t at = 0;

			assert_int_equal(input_memory(&in, file.data, file.len), 0);
			assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
			for (uint64_t ns = 0, copy = 0; pm_reader_next(r, &item) == 1;) {
				ns = item.kind == PM_ITEM_CHUNK ? item.chunk.to_ns : ns;
				if (item.kind != PM_ITEM_MODEL || item.type == PM_FRAME_HEADER)
					copy = item.kind == PM_ITEM_MODEL;
				if (copy && item.type == PM_FRAME_INSTANCES && item.parts & PM_PART_REPEATED &&
				    ns < CHURN_START + 690 * CHURN_STEP)
					at = item.offset + item.length - 10;
			}
			pm_reader_close(r);
			assert_true(at > 0);
			file.data[at] ^= 1;
		}
		assert_int_equal(input_memory(&in, file.data, file.len), 0);
		assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
		while (pm_reader_next(r, &item) == 1 && item.kind != PM_ITEM_CHUNK)
			;
		for (size_t i = way == 2; i < (way == 2 ? 2 : sizeof(places) / sizeof(places[0])); i++) {
			uint64_t want = CHURN_START + places[i] * CHURN_STEP;
			struct seen s;

			assert_int_equal(pm_reader_seek(r, want, all), 0);
			s = read_on(r, &o, want, !i && way < 2);
			assert_int_equal(s.wrong, 0);
			assert_int_equal(s.absent, 0);
			assert_int_equal(s.damages, way == 2);
			assert_true(s.chunks >= o.chunks - places[i]);
			/* Those of the beginning, and those of the way that a reader has to see. */
			if (!i || way == 2)
				assert_true(way ? s.last_gone_ns > 10000 : s.last_gone_ns < 8000);
		}
		pm_reader_close(r);
	}
	buf_release(&file);
}

static void groups_continue_only_what_is_like_them(void **state)
{
	struct pm_model m;
	uint32_t one = 1, two = 2;
	struct pm_group g = {
		.source = (char *)"x", .counter = &one, .n_counters = 1, .instance = &one, .n_instances = 1
	};

	pm_model_init(&m);
	for (int i = 0; i < 2; i++)
		assert_true(pm_model_add_instance(&m, &(struct pm_instance){ .number = PM_NONE, .cpu = PM_NONE }) >
			    0);
	for (int i = 0; i < 2; i++)
		assert_true(pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)(i ? "b" : "a"),
									   .source = (char *)"x",
									   .unit = (char *)"1" }) > 0);
	assert_int_equal(pm_model_add_group(&m, &g), 1);
	g.continues = 7;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.continues = 1;
	assert_int_equal(pm_model_add_group(&m, &g), 2);
	g.counter = &two;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	g.counter = &one;
	g.flags = PM_GROUP_SHARED_TIME;
	assert_int_equal(pm_model_add_group(&m, &g), -EINVAL);
	pm_model_release(&m);
}

UNIT_TESTS(cmocka_unit_test(seeking_passes_over_the_dead), cmocka_unit_test(costs_no_key_chunk),
	   cmocka_unit_test(depends_as_soon_as_it_pays), cmocka_unit_test(is_forgotten),
	   cmocka_unit_test(groups_continue_only_what_is_like_them))
