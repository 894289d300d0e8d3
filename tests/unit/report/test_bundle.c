/* Bundles of recordings with known truth: what fits is whole, what does not loses snapshots and then single CPUs, and it
 * says so in words and in its history. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/frame.h"
#include "format/model.h"
#include "report/copy/bundle.h"
#include "report/input/input.h"
#include "tests/unit/lib/captured.h"

#define ROWS UINT64_C(1000)

static const char *const source[] = { "wide", "thin", "rapl" };

/* Counts that no compressor can guess: each row adds some bits of a hash. */
static struct reading noise(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	uint64_t x = (row + 1) * UINT64_C(0x9e3779b97f4a7c15) + i->id * 977 + (uint64_t)counter[0];

	(void)b;
	x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (struct reading){ (row << 24) + (x >> 41), 0 };
}

/* 8 CPUs have two counters of "wide" and one of "thin", packages one of "rapl". */
static void world(struct builder *b, char path[64])
{
	uint32_t id[4];

	builder_init(b, noise);
	id[0] = builder_counter(b, "wide.a", "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[1] = builder_counter(b, "wide.b", "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[2] = builder_counter(b, "thin.c", "1", PM_CUMULATIVE, PM_AGG_SUM);
	id[3] = builder_counter(b, "rapl.d", "J", PM_CUMULATIVE, PM_AGG_SUM);
	/* The one with most columns is not the first. */
	for (int n = 0; n < 3; n++) {
		int k = n < 2 ? 1 - n : n;
		struct pm_group g = { .source = (char *)source[k],
				      .counter = id + (k ? k + 1 : 0),
				      .n_counters = k ? 1 : 2,
				      .instance = b->instance[k < 2 ? PM_CPU : PM_PACKAGE],
				      .n_instances = k < 2 ? 8 : 2 };

		assert_true(pm_model_add_group(&b->model, &g) > 0);
	}
	for (uint64_t row = 0; row < ROWS; row += 125)
		builder_write(b, row, 125);
	builder_finish(b);
	captured_file(path, &b->file);
}

/* What a bundle has. */
struct got {
	uint64_t snapshots, first, last; /* the latter two: of rapl.d of package 0 */
	uint64_t missing[3];             /* values by source */
	char history[256];
};

static void look(struct got *g, const struct bundle *b)
{
	struct pm_reader *r;
	struct pm_item item;
	struct error e = { 0 };
	const struct pm_value *history;
	char path[32];

	*g = (struct got){ 0 };
	assert_int_equal(lseek(b->fd, 0, SEEK_END), b->bytes);
	assert_int_equal(spool_temporary_path(b->fd, path), 0);
	if (input_open_as(&r, path, "bundle", &e))
		fail_msg("%s", e.text);
	while (pm_reader_next(r, &item) > 0) {
		const struct pm_chunk *c;

		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		for (uint32_t i = 0; i < c->n_groups; i++) {
			const struct pm_group *group = pm_model_group(pm_reader_model(r), c->group[i].group);
			uint32_t head = pm_group_head(group), values = pm_group_values(group), which = 0;

			while (which < 2 && strcmp(group->source, source[which]))
				which++;
			for (uint32_t v = 0; c->group[i].status && v < values * c->rows; v++)
				g->missing[which] +=
					c->group[i].status[(head + v / c->rows) * c->group[i].stride + v % c->rows] !=
					0;
			if (which < 2)
				continue;
			if (!g->snapshots)
				g->first = c->group[i].v[head * c->group[i].stride];
			g->last = c->group[i].v[head * c->group[i].stride + c->rows - 1];
		}
		g->snapshots += c->rows;
	}
	history = pm_map_get(&pm_reader_model(r)->header, PM_HEADER_HISTORY);
	assert_non_null(history);
	assert_true(history->array.n > 0);
	snprintf(g->history, sizeof(g->history), "%s", history->array.item[0].str.data);
	pm_reader_close(r);
}

static int make(struct bundle *b, const char *path, uint64_t max_size, struct error *e)
{
	struct spool in;
	int err;

	*e = (struct error){ 0 };
	*b = (struct bundle){ .max_size = max_size };
	assert_int_equal(spool_open(&in, path, SPOOL_TWICE, e), 0);
	err = bundle_make(b, &in, e);
	spool_close(&in);
	return err;
}

static void sizes(void **state)
{
	struct builder b;
	struct bundle bundle;
	struct error e;
	struct got g;
	uint64_t whole, in = 0;
	unsigned long long smallest;
	char path[64], words[256];
	struct buf told = BUF_INIT;

	(void)state;
	world(&b, path);
	assert_int_equal(make(&bundle, path, 1 << 30, &e), 0);
	look(&g, &bundle);
	whole = bundle.bytes;
	assert_int_equal(bundle.way.every, 1);
	assert_int_equal(bundle.way.sources, 0);
	assert_int_equal(g.snapshots, ROWS);
	assert_string_equal(g.history, "bundled");
	bundle_tell(&bundle, &bundle.way, &told);
	assert_string_equal(buf_str(&told), "");
	bundle_release(&bundle);

	/* Smaller and smaller: each fits, has both ends, and no more than a half of the room is wasted. */
	for (int k = 2; k <= 32; k *= 2) {
		assert_int_equal(make(&bundle, path, whole / (uint64_t)k, &e), 0);
		look(&g, &bundle);
		assert_true(bundle.bytes <= whole / (uint64_t)k && bundle.bytes > whole / (uint64_t)k / 2);
		assert_int_equal(bundle.result.snapshots_in, ROWS);
		assert_int_equal(bundle.result.snapshots_out, g.snapshots);
		assert_int_equal(bundle.way.sources, 0);
		assert_true(bundle.way.every > in);
		in = bundle.way.every;
		/* Every n-th from the first on, and the last. */
		assert_int_equal(g.snapshots, (ROWS - 1 + in - 1) / in + 1);
		assert_int_equal(g.first,
				 noise(NULL, "rapl.d", &b.model.instance[b.instance[PM_PACKAGE][0] - 1], 0).v);
		assert_int_equal(g.last,
				 noise(NULL, "rapl.d", &b.model.instance[b.instance[PM_PACKAGE][0] - 1], ROWS - 1).v);
		assert_int_equal(g.missing[0] + g.missing[1] + g.missing[2], 0);
		snprintf(words, sizeof(words), "bundled: one snapshot in %llu is kept", (unsigned long long)in);
		assert_string_equal(g.history, words);
		bundle_release(&bundle);
	}

	assert_int_equal(make(&bundle, path, 10, &e), -EFBIG);
	assert_int_equal(bundle.fd, -1);
	assert_int_equal(sscanf(strstr(e.text, " has "), " has %llu", &smallest), 1);
	bundle_release(&bundle);
	/* The ends alone, without single CPUs; names of temporary files and identifiers vary by a few bytes. */
	assert_int_equal(make(&bundle, path, smallest + 16, &e), 0);
	look(&g, &bundle);
	assert_int_equal(bundle.way.every, UINT32_MAX);
	assert_int_equal(g.snapshots, 2);
	assert_int_equal(bundle.n_shares, 2);
	assert_string_equal(bundle.share[0].source, "wide");
	assert_string_equal(bundle.share[1].source, "thin");
	assert_true(bundle.share[0].columns > bundle.share[1].columns);
	assert_int_equal(g.missing[0], 2 * 16);
	assert_int_equal(g.missing[1], 2 * 8);
	assert_int_equal(g.missing[2], 0);
	assert_string_equal(g.history,
			    "bundled: only the first and last snapshot of each segment are kept; the values of "
			    "single CPUs are left out of: wide, thin");
	bundle_release(&bundle);
	/* With more room the values of these CPUs stay, first of the source that has fewer. */
	for (unsigned left_out = 2, k = 2; left_out; k++) {
		static const char *const words[] = { "", "; the values of single CPUs are left out of: wide",
						     "; the values of single CPUs are left out of: wide, thin" };

		assert_int_equal(make(&bundle, path, smallest + 16 * k, &e), 0);
		look(&g, &bundle);
		assert_in_range(bundle.way.sources, left_out - 1, left_out);
		left_out = bundle.way.sources;
		assert_true(!left_out || bundle.way.every == UINT32_MAX);
		assert_int_equal(g.snapshots, 2);
		assert_int_equal(g.missing[0], left_out ? 2 * 16 : 0);
		assert_int_equal(g.missing[1], left_out > 1 ? 2 * 8 : 0);
		assert_string_equal(g.history + strcspn(g.history, ";"), words[left_out]);
		bundle_release(&bundle);
	}
	buf_release(&told);
	captured_remove(path);
	builder_release(&b);
}

/* Damage of the input is told whatever is left of it: one part of a chunk, in which snapshots lack some values. */
static void damaged(void **state)
{
	struct builder b;
	struct bundle bundle;
	struct error e;
	unsigned long long smallest;
	char path[64];

	(void)state;
	world(&b, path);
	captured_remove(path);
	b.file.data[b.file.len / 2] ^= 0x10;
	captured_file(path, &b.file);
	assert_int_equal(make(&bundle, path, 1 << 30, &e), 0);
	assert_int_equal(bundle.result.snapshots_in, ROWS);
	assert_int_equal(bundle.result.snapshots_out, ROWS);
	assert_int_equal(bundle.result.damages, 1);
	bundle_release(&bundle);
	assert_int_equal(make(&bundle, path, 10, &e), -EFBIG);
	assert_int_equal(sscanf(strstr(e.text, " has "), " has %llu", &smallest), 1);
	bundle_release(&bundle);
	assert_int_equal(make(&bundle, path, smallest + 16, &e), 0);
	assert_true(bundle.result.snapshots_out < 8);
	assert_int_equal(bundle.result.snapshots_in, ROWS);
	assert_int_equal(bundle.result.damages, 1);
	bundle_release(&bundle);
	captured_remove(path);
	builder_release(&b);
}

/* Makes of the index a frame of a type that is not known and need not be. */
static void make_newer(struct buf *file)
{
	struct buf out = BUF_INIT, meta = BUF_INIT;
	struct frame_head h;

	for (size_t at = 0; at < file->len; at += frame_len(&h)) {
		const uint8_t *frame = (const uint8_t *)file->data + at;

		assert_int_equal(frame_parse(frame, file->len - at, &h, &(size_t){ 0 }, &(unsigned){ 0 }), FRAME_OK);
		buf_clear(&meta);
		buf_add(&meta, (const char *)h.meta, h.meta_len);
		if (h.type == PM_FRAME_INDEX)
			frame_add(&out, 40, h.sequence, h.id, &meta, frame + h.head_len, h.payload_len);
		else
			buf_add(&out, (const char *)frame, frame_len(&h));
	}
	assert_false(out.err || meta.err || pm_frame_critical(40));
	buf_release(&meta);
	buf_release(file);
	*file = out;
}

/* That the input has parts which are too new is told of what is made of an attempt, too. */
static void newer(void **state)
{
	struct builder b;
	struct bundle bundle;
	struct error e;
	unsigned long long smallest;
	char path[64];

	(void)state;
	world(&b, path);
	for (int k = 0; k < 2; k++) {
		assert_int_equal(make(&bundle, path, 10, &e), -EFBIG);
		assert_int_equal(sscanf(strstr(e.text, " has "), " has %llu", &smallest), 1);
		bundle_release(&bundle);
		for (int whole = 0; whole < 2; whole++) {
			assert_int_equal(make(&bundle, path, whole ? 1 << 30 : smallest + 16, &e), 0);
			assert_int_equal(bundle.result.newer, k);
			assert_int_equal(bundle.result.damages, 0);
			bundle_release(&bundle);
		}
		captured_remove(path);
		if (!k)
			make_newer(&b.file);
		captured_file(path, &b.file);
	}
	captured_remove(path);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(sizes), cmocka_unit_test(damaged),
					    cmocka_unit_test(newer) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
