/* Heads of chunks: whatever the ticks, numbers and clocks, they come back; and regular ones are short. */
#include "format/cbor.h"
#include "format/chunk_head.h"
#include "format/frame.h"
#include "tests/unit/lib/notation.h"
#include "tests/unit/lib/test.h"

static uint64_t seed = 7;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* Numbers of all sizes, the extremes too. */
static uint64_t wild(void)
{
	uint64_t r = next_random();

	return r % 9 == 0 ? UINT64_MAX : r % 9 == 1 ? 1ull << 63 : next_random() >> r % 64;
}

static uint64_t nonzero(uint64_t v)
{
	return v ? v : 1;
}

static void fill(struct chunk_head *h, uint32_t groups, bool regular)
{
	assert_int_equal(chunk_head_room(h, groups + 1, 3, groups + 1), 0);
	h->codec = h->key && next_random() % 2 ? PM_CODEC_PLAIN : PM_CODEC_PACKED;
	h->rows = 1 + (uint32_t)(next_random() % PM_CHUNK_ROWS);
	for (uint32_t r = 0; r < h->rows; r++) {
		h->tick[r] = regular && r ? h->tick[r - 1] + h->step : wild();
		h->number[r] = regular && r ? h->number[r - 1] + 1 : wild();
		h->flags[r] = next_random() % 20 ? 0 : (uint8_t)next_random();
	}
	h->clocks = (struct pm_clocks){ wild(), nonzero(wild()), nonzero(wild()), nonzero(wild()), wild() };
	h->n_groups = groups;
	for (uint32_t i = 0; i < groups; i++)
		h->group[i] = i && next_random() % 3 ? h->group[i - 1] + 1 : 1 + (uint32_t)(next_random() % 1000);
	h->n_lost = (uint32_t)(next_random() % 4);
	for (uint32_t i = 0; i < h->n_lost; i++)
		h->lost[i] = 2000 + 2 * i;
	h->n_blocks = 0;
	for (uint32_t left = groups; left;) {
		uint32_t n = 1 + (uint32_t)(next_random() % left);

		h->block[h->n_blocks++] = (struct chunk_block){ .stored = (uint32_t)(next_random() % 1000),
								.raw = (uint32_t)(next_random() % 5000),
								.crc = (uint32_t)next_random(),
								.n_groups = n };
		h->block[h->n_blocks - 1].bits = (uint32_t)(next_random() % (h->block[h->n_blocks - 1].stored + 1));
		left -= n;
	}
}

static uint64_t payload_of(const struct chunk_head *h)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < h->n_blocks; i++)
		bytes += h->block[i].stored;
	return bytes;
}

static void assert_same(const struct chunk_head *a, const struct chunk_head *b)
{
	assert_int_equal(a->key, b->key);
	assert_int_equal(a->codec, b->codec);
	assert_int_equal(a->run, b->run);
	assert_int_equal(a->segment, b->segment);
	assert_int_equal(a->rows, b->rows);
	assert_memory_equal(a->tick, b->tick, a->rows * sizeof(*a->tick));
	assert_memory_equal(a->number, b->number, a->rows * sizeof(*a->number));
	assert_memory_equal(a->flags, b->flags, a->rows);
	assert_memory_equal(&a->clocks, &b->clocks, sizeof(a->clocks));
	assert_int_equal(a->n_groups, b->n_groups);
	assert_int_equal(a->n_lost, b->n_lost);
	assert_int_equal(a->n_blocks, b->n_blocks);
	if (a->n_groups)
		assert_memory_equal(a->group, b->group, a->n_groups * sizeof(*a->group));
	if (a->n_lost)
		assert_memory_equal(a->lost, b->lost, a->n_lost * sizeof(*a->lost));
	if (a->n_blocks)
		assert_memory_equal(a->block, b->block, a->n_blocks * sizeof(*a->block));
}

static void heads_come_back(void **state)
{
	struct chunk_base base = { 0 };
	struct chunk_head h = { 0 }, back = { 0 };
	struct buf meta = BUF_INIT;

	for (int i = 0; i < 3000; i++) {
		h.key = !base.valid || next_random() % 4 == 0;
		h.run = h.key ? 1 + (uint32_t)(next_random() % 3) : base.run;
		h.segment = h.key ? (uint32_t)(next_random() % 3) : base.segment;
		h.step = h.key ? wild() : base.step;
		fill(&h, (uint32_t)(next_random() % 40), next_random() % 2);
		buf_clear(&meta);
		chunk_head_encode(&h, &base, payload_of(&h), &meta);
		assert_int_equal(meta.err, 0);
		assert_int_equal(chunk_head_decode(&back, &base, meta.data, meta.len, payload_of(&h)), 0);
		assert_same(&h, &back);
		/* Another payload, a cut map, another chunk before: refused. */
		assert_int_equal(chunk_head_decode(&back, &base, meta.data, meta.len, payload_of(&h) + 1), -EBADMSG);
		assert_int_equal(chunk_head_decode(&back, &base, meta.data, next_random() % meta.len, payload_of(&h)),
				 -EBADMSG);
		if (!h.key) {
			base.crc++;
			assert_int_equal(chunk_head_decode(&back, &base, meta.data, meta.len, payload_of(&h)),
					 -ENOLINK);
			base.crc--;
		}
		assert_int_equal(chunk_base_set(&base, &h, (uint32_t)next_random()), 0);
	}
	chunk_head_release(&h);
	chunk_head_release(&back);
	chunk_base_release(&base);
	buf_release(&meta);
}

static void edges_of_heads(void **state)
{
	/* "+": after a chunk of group 1 whose clocks were all read but the wall clock. */
	static const struct {
		const char *meta;
		int err;
	} rows[] = {
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "[8]", EBADMSG },
		/* what a key chunk says itself */
		{ "{14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1]}", EBADMSG },
		{ "{2:1,8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "{2:2147483648,8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		/* rows */
		{ "{7:0,8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:128,8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "{7:129,8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,10:[-1],12:[1],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "{7:2,8:10,10:[],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,10:[1,2],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,12:[1,2],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,12:1,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		/* flags of rows, ascending */
		{ "{7:2,8:10,13:[0,1,1,255],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "{7:2,8:10,13:[0],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,13:[0,256],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,13:[2,1],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,13:[1,1,0,1],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,13:[1,1,1,1],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{7:2,8:10,13:[99999,1],14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		/* clocks */
		{ "{8:10,14:[1,2,3],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4,5],16:[1,1],17:[5,0,0,0,1]}", 0 },
		{ "{8:10,14:[1,2,3,'4'],16:[1,1],17:[5,0,0,0,1]}", EBADMSG },
		/* groups */
		{ "{8:10,14:[1,2,3,4],16:[],17:[5,0,0,0,0]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[0,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,0],17:[5,0,0,0,0]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[4294967295,1],17:[5,0,0,0,1]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[4294967295,2],17:[5,0,0,0,2]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[4294967296,1],17:[5,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1048576],17:[5,0,0,0,1048576]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1048577],17:[5,0,0,0,1048577]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1048576,2000000,1],17:[5,0,0,0,1048576]}", EBADMSG },
		/* lost groups */
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1],20:[]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1],20:[2,3,4294967295,1]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1],20:[2]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1],20:[0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,1],20:[1,1048577]}", EBADMSG },
		/* blocks, which hold all groups and fill the payload */
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[4,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[6,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0,2]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,2],17:[2,0,9,1,1,3,0,0,0,1]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,0,0]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,5,0,0,1]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,6,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[268435457,0,0,0,1]}", EBADMSG },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,67108864,0,1]}", 0 },
		{ "{8:10,14:[1,2,3,4],16:[1,1],17:[5,0,67108865,0,1]}", EBADMSG },
		/* chunks that depend on the one before */
		{ "+{14:[0,0,0,0],15:7,17:[5,0,0,0,1]}", 0 },
		{ "+{8:9,14:[0,0,0,0],15:7,16:[1,2],17:[5,0,0,0,2]}", 0 },
		{ "{14:[0,0,0,0],15:7,17:[5,0,0,0,1]}", ENOLINK },
		{ "+{14:[0,0,0,0],15:8,17:[5,0,0,0,1]}", ENOLINK },
		{ "+{6:1,14:[0,0,0,0],15:7,17:[5,0,0,0,1]}", EBADMSG },
		{ "+{5:2,14:[0,0,0,0],15:7,17:[5,0,0,0,1]}", EBADMSG },
		{ "+{2:1,14:[0,0,0,0],15:7,17:[5,0,0,0,1]}", EBADMSG },
		{ "+{15:7,17:[5,0,0,0,1]}", EBADMSG },
		{ "+{14:[0,0,0,0],15:7}", EBADMSG },
		{ "+{14:[-1,-1,-1,-1],15:7,17:[5,0,0,0,1]}", 0 },
		{ "+{14:[0,0,0,0],15:7,17:[5,0,0,0,1],300:1}", EBADMSG },
	};
	struct chunk_head h = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *text = rows[i].meta + (*rows[i].meta == '+');
		uint32_t group = 1;
		const struct chunk_base base = { .valid = text > rows[i].meta,
						 .crc = 7,
						 .run = 1,
						 .step = 10,
						 .clocks = { .monotonic = 5, .monotonic_raw = 6, .boottime = 7 },
						 .group = &group,
						 .n_groups = 1 };
		struct buf meta = BUF_INIT;
		int err;

		put_item(&meta, &text);
		err = chunk_head_decode(&h, &base, meta.data, meta.len, 5);
		if (err != -rows[i].err)
			fail_msg("%s: %d", rows[i].meta, err);
		buf_release(&meta);
	}
	chunk_head_release(&h);
}

/* With lost ones, and those of the chunk before it. */
static void not_more_groups_than_asked(void **state)
{
	static const struct {
		const char *meta;
		uint32_t groups;
	} rows[] = {
		{ "{8:10,14:[1,2,3,4],16:[1,3],17:[5,0,0,0,3]}", 3 },
		{ "{8:10,14:[1,2,3,4],16:[1,3,9,2],17:[5,0,0,0,5]}", 5 },
		{ "{8:10,14:[1,2,3,4],16:[1,3],17:[5,0,0,0,3],20:[9,2]}", 5 },
		{ "{14:[0,0,0,0],15:7,17:[5,0,0,0,2]}", 2 },
		{ "{14:[0,0,0,0],15:7,17:[5,0,0,0,2],20:[9,4]}", 6 },
	};
	const struct chunk_base base = { .valid = true,
					 .crc = 7,
					 .run = 1,
					 .clocks = { .monotonic = 5, .monotonic_raw = 6, .boottime = 7 },
					 .group = (uint32_t[]){ 1, 2 },
					 .n_groups = 2 };
	struct chunk_head h = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *text = rows[i].meta;
		struct buf meta = BUF_INIT;

		put_item(&meta, &text);
		for (int less = 0; less < 2; less++) {
			h.groups_most = rows[i].groups - less;
			assert_int_equal(chunk_head_decode(&h, &base, meta.data, meta.len, 5), less ? -E2BIG : 0);
			assert_true(h.n_groups + h.n_lost <= h.groups_most);
		}
		buf_release(&meta);
	}
	chunk_head_release(&h);
}

UNIT_TESTS(cmocka_unit_test(heads_come_back), cmocka_unit_test(edges_of_heads),
	   cmocka_unit_test(not_more_groups_than_asked))
