/*
 * Every prefix and every single-bit flip of small recordings: never a crash, never a hang, and never a number that is
 * not what was written. Every damage must be told.
 */
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/sample.h"
#include "tests/unit/lib/test.h"

static const struct sample_options shapes[] = {
	{ .cpus = 2, .rows = 1, .chunks = 20, .interval_ns = 1000000000, .seed = 1, .plain_model = true },
	{ .cpus = 2, .rows = 20, .chunks = 3, .interval_ns = 10000000, .seed = 2 },
	{ .cpus = 1, .rows = 2, .chunks = 3, .interval_ns = 10000000, .seed = 3, .codec = PM_CODEC_PLAIN },
	{ .cpus = 1, .rows = 1, .chunks = 4, .interval_ns = 1000000000, .seed = 4, .without_index = true },
};

struct outcome {
	uint64_t items, chunks, damages, cuts, wrong;
	uint64_t hash; /* of everything but damage that the reader says */
	bool refused, failed;
};

static void add_hash(uint64_t *h, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len--)
		*h = (*h ^ *p++) * 0x100000001b3ull;
}

/* The parts of the model that are there must be those that were written. */
static uint64_t wrong_model(const struct pm_model *m, const struct pm_model *truth)
{
	uint64_t wrong = 0;

	wrong += m->header.n && !pm_map_equal(&m->header, &truth->header);
	for (uint32_t i = 0; i < m->n_counters; i++)
		wrong += i >= truth->n_counters || strcmp(m->counter[i].name, truth->counter[i].name) != 0 ||
			 m->counter[i].width != truth->counter[i].width ||
			 m->counter[i].type != truth->counter[i].type;
	for (uint32_t i = 0; i < m->n_instances; i++)
		wrong += i >= truth->n_instances || m->instance[i].kind != truth->instance[i].kind ||
			 m->instance[i].number != truth->instance[i].number;
	for (uint32_t i = 0; i < m->n_groups; i++)
		wrong += i >= truth->n_groups || m->group[i].flags != truth->group[i].flags ||
			 m->group[i].n_counters != truth->group[i].n_counters ||
			 m->group[i].n_instances != truth->group[i].n_instances;
	for (uint32_t i = 0; i < m->n_configs; i++)
		wrong += i >= truth->n_configs || !pm_value_equal(&m->config[i].value, &truth->config[i].value);
	wrong += m->topology.n && m->topology.n != truth->topology.n;
	return wrong;
}

static struct outcome read_bytes(const uint8_t *data, size_t len, const struct sample_options *o,
				 const struct pm_model *truth, int64_t seek)
{
	struct outcome x = { .hash = 0xcbf29ce484222325ull };
	uint64_t last = 0, limit = 10 * (len + 100);
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	int ok;

	assert_int_equal(input_memory(&in, data, len), 0);
	if (pm_reader_open(&r, &in, NULL)) {
		x.refused = true;
		return x;
	}
	if (seek >= 0 && pm_reader_seek(r, (uint64_t)seek, false)) {
		x.refused = true;
		pm_reader_close(r);
		return x;
	}
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		if (++x.items > limit)
			fail_msg("the reader does not come to an end");
		x.damages += item.kind == PM_ITEM_DAMAGE;
		x.cuts += item.kind == PM_ITEM_DAMAGE && item.damage->kind == PM_DAMAGE_CUT;
		if (item.kind == PM_ITEM_EVENT) {
			add_hash(&x.hash, &item.event->time_ns, sizeof(item.event->time_ns));
			x.wrong += item.event->type != PM_EVENT_MARKER;
		}
		if (item.kind != PM_ITEM_CHUNK || pm_reader_decode(r, &c))
			continue;
		x.chunks++;
		x.wrong += sample_compare(pm_reader_model(r), o, c);
		x.wrong += c->clocks.monotonic != c->tick[0] + 777;
		x.wrong += c->tick[0] <= last; /* nothing comes twice */
		last = c->tick[c->rows - 1];
		add_hash(&x.hash, c->tick, c->rows * sizeof(*c->tick));
		for (uint32_t g = 0; g < c->n_groups; g++)
			add_hash(&x.hash, &c->group[g].group, sizeof(uint32_t));
	}
	x.failed = ok < 0;
	x.wrong += wrong_model(pm_reader_model(r), truth);
	pm_reader_close(r);
	return x;
}

struct tally {
	uint64_t same, partial, refused, silent, wrong;
};

/* `told`: damage that would be reported anyway. */
static void judge(struct tally *t, const struct outcome *x, const struct outcome *whole, uint64_t told)
{
	bool complete = x->chunks == whole->chunks && x->hash == whole->hash;

	t->wrong += x->wrong != 0;
	if (x->refused || x->failed)
		t->refused++;
	else if (x->damages > told || x->cuts)
		t->partial++;
	else if (complete)
		t->same++;
	else
		t->silent++;
}

static void print_tally(const char *what, size_t shape, size_t len, const struct tally *t)
{
	print_message("sample %zu (%zu bytes), %s: %llu same, %llu partial and told, %llu refused, %llu silent, %llu "
		      "wrong\n",
		      shape, len, what, (unsigned long long)t->same, (unsigned long long)t->partial,
		      (unsigned long long)t->refused, (unsigned long long)t->silent, (unsigned long long)t->wrong);
}

static void every_prefix(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct tally t = { 0 };
		struct buf file = BUF_INIT;
		struct outcome whole;
		struct pm_model truth;

		pm_model_init(&truth);
		sample_model(&truth, &shapes[i]);
		sample_write(&file, &shapes[i]);
		assert_true(file.len <= 16384);
		whole = read_bytes(file.data, file.len, &shapes[i], &truth, -1);
		assert_int_equal(whole.wrong, 0);
		assert_int_equal(whole.chunks, shapes[i].chunks);
		for (size_t len = 0; len < file.len; len++) {
			uint8_t *part = malloc(len + 1); /* its own memory, so that a read beyond the end is seen */
			struct outcome x;

			memcpy(part, file.data, len);
			x = read_bytes(part, len, &shapes[i], &truth, -1);
			free(part);
			judge(&t, &x, &whole, 0);
		}
		print_tally("prefixes", i, file.len, &t);
		assert_int_equal(t.wrong, 0);
		assert_int_equal(t.silent, 0);
		assert_int_equal(t.same, 0);
		assert_true(t.partial > t.refused);
		pm_model_release(&truth);
		buf_release(&file);
	}
}

static void every_bit(void **state)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct tally t = { 0 }, seeks = { 0 };
		struct buf file = BUF_INIT;
		struct outcome whole, sought;
		struct pm_model truth;
		int64_t middle =
			(int64_t)sample_tick(&shapes[i], (uint64_t)shapes[i].rows * shapes[i].chunks * 9 / 10);

		pm_model_init(&truth);
		sample_model(&truth, &shapes[i]);
		sample_write(&file, &shapes[i]);
		whole = read_bytes(file.data, file.len, &shapes[i], &truth, -1);
		sought = read_bytes(file.data, file.len, &shapes[i], &truth, middle);
		assert_true(sought.chunks > 0);
		assert_int_equal(sought.damages, shapes[i].without_index);
		for (size_t bit = 0; bit < 8 * file.len; bit++) {
			struct outcome x;

			/* All bits of the ends, and one of each byte between them, which a checksum covers whole. */
			if (bit % 8 != bit / 8 % 8 && bit / 8 >= 256 && bit / 8 + 256 < file.len)
				continue;
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			x = read_bytes(file.data, file.len, &shapes[i], &truth, -1);
			judge(&t, &x, &whole, whole.damages);
			if (bit / 8 % 5 == 0) {
				x = read_bytes(file.data, file.len, &shapes[i], &truth, middle);
				judge(&seeks, &x, &sought, sought.damages);
			}
			file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		print_tally("flips", i, file.len, &t);
		print_tally("flips, then a seek", i, file.len, &seeks);
		assert_int_equal(t.wrong, 0);
		assert_int_equal(t.silent, 0);
		/* Every byte stands under a checksum or a rule. */
		assert_int_equal(t.same, 0);
		assert_int_equal(seeks.wrong, 0);
		pm_model_release(&truth);
		buf_release(&file);
	}
}

UNIT_TESTS(cmocka_unit_test(every_prefix), cmocka_unit_test(every_bit))
