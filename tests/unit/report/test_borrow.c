/* A recording that lost definitions reads with those of another one, if they have a place in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/frame.h"
#include "report/copy/borrow.h"
#include "tests/unit/lib/captured.h"

#define ROWS   3
#define CHUNKS 2
#define LARGE  3 /* MiB: more than is looked through at first */

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter;
	return (struct reading){ 100 * row + i->number, 0 };
}

/* All kinds of definitions, PMUs, probes and values read once among them; `large`: so many
 * MiB of the last. */
static void world(struct builder *b, uint32_t large)
{
	struct pm_config config = { .name = (char *)"cpufreq.driver", .kind = PM_SYSTEM, .time_ns = 9 };
	struct pm_probe probe = { .source = (char *)"msr", .what = (char *)"0x606", .reason = 7 };
	struct pm_pmu pmu = { 0 };
	uint32_t id;

	builder_init(b, of_row);
	id = builder_counter(b, "stat.user", "ns", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 8, 0, &id, 1);
	assert_int_equal(pm_model_add_probe(&b->model, &probe), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu")), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	config.value = pm_text("intel_pstate");
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	pm_value_release(&config.value);
	for (uint32_t k = 0; k < large; k++) {
		static uint8_t noise[1 << 20];
		uint64_t state = k;

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
		config.name = (char *)((const char *[]){ "large.0", "large.1", "large.2" })[k];
		config.value = pm_bytes(noise, sizeof(noise));
		assert_int_equal(pm_model_add_config(&b->model, &config), 0);
		pm_value_release(&config.value);
	}
	for (uint64_t k = 0; k < CHUNKS; k++)
		builder_write(b, k * ROWS, ROWS);
	builder_finish(b);
}

/* The frames of it other than those whose types are digits of `lost`; something that is no frame in their place. */
static void without(const struct buf *file, const char *lost, struct buf *out)
{
	for (size_t at = 0; at < file->len;) {
		struct frame_head h;
		unsigned major;
		size_t need;

		assert_int_equal(frame_parse(file->data + at, file->len - at, &h, &need, &major), FRAME_OK);
		if (h.type < 10 && strchr(lost, '0' + (char)h.type))
			buf_addstr(out, "lost");
		else
			buf_add(out, file->data + at, frame_len(&h));
		at += frame_len(&h);
	}
}

static void spool(struct spool *s, char path[64], const struct buf *bytes)
{
	struct error e = { 0 };

	captured_file(path, bytes);
	assert_int_equal(spool_open(s, path, SPOOL_TWICE, &e), 0);
}

/* What is read: the rows of all chunks, and that their values are true. */
static uint64_t rows_of(struct pm_reader *r)
{
	struct pm_item item;
	uint64_t rows = 0;

	while (pm_reader_next(r, &item) > 0) {
		const struct pm_chunk *c;
		const struct pm_group *g;

		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_int_equal(pm_reader_decode(r, &c), 0);
		for (uint32_t k = 0; k < c->n_groups; k++) {
			g = pm_model_group(pm_reader_model(r), c->group[k].group);
			for (uint32_t row = 0; row < c->rows && !c->group[k].absent; row++, rows++)
				assert_int_equal(c->group[k].v[(pm_group_head(g) + 5) * c->group[k].stride + row],
						 100 * ((c->tick[row] - BUILDER_START_NS) / 1000000000) + 5);
		}
	}
	return rows;
}

/* Types: 1 header, 2 topology, 3 schema, 4 instances, 5 PMUs, 6 probes, 7 config, 8 chunk. */
static void definitions_come_from_another(void **state)
{
	static const struct {
		const char *lost, *like_lost;
		const char *refused; /* NULL: it reads */
		int err;
		uint32_t header, cpus, pmus, probes, configs; /* that it has then */
	} cases[] = {
		{ "234", "", NULL, 0, 1, 8, 1, 1, 1 },
		{ "1234567", "", NULL, 0, 1, 8, 1, 1, 1 },
		{ "234567", "", NULL, 0, 1, 8, 1, 1, 1 },
		/* Where there is little room the least needed stay behind: config first, then probes, then PMUs. */
		{ "23467", "", NULL, 0, 1, 8, 1, 0, 0 },
		{ "23456", "", NULL, 0, 1, 8, 1, 1, 1 },
		{ "2347", "", NULL, 0, 1, 8, 1, 1, 0 },
		{ "12345", "", NULL, 0, 1, 8, 1, 1, 1 },
		/* What the other one lacks needs no room. */
		{ "34", "2", NULL, 0, 1, 8, 1, 1, 1 },
		{ "3", "24", NULL, 0, 1, 8, 1, 1, 1 },
		{ "34", "", ": has more definitions than ", -ENODATA, 0, 0, 0, 0, 0 },
		{ "3", "", ": has more definitions than ", -ENODATA, 0, 0, 0, 0, 0 },
		{ "", "", ": lost no definition before its first snapshot; --like=", -ENODATA, 0, 0, 0, 0, 0 },
		{ "8", "", ": has no snapshot", -EINVAL, 0, 0, 0, 0, 0 },
		{ "234", "234567", ": has no definitions to borrow", -EINVAL, 0, 0, 0, 0, 0 },
		{ "234", "1234567", ": has no definitions to borrow", -EINVAL, 0, 0, 0, 0, 0 },
	};
	struct builder b;

	(void)state;
	world(&b, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf file = BUF_INIT, like = BUF_INIT;
		struct spool spools[2];
		char path[2][64];
		struct borrow *borrow = NULL;
		struct error e = { 0 };
		struct pm_reader *r;
		int err;

		without(&b.file, cases[i].lost, &file);
		without(&b.file, cases[i].like_lost, &like);
		spool(&spools[0], path[0], &file);
		spool(&spools[1], path[1], &like);
		err = borrow_new(&borrow, &spools[0], &spools[1], &e);
		if (err != cases[i].err || (err && !strstr(e.text, cases[i].refused)))
			fail_msg("%zu: %d, %s", i, err, e.text);
		for (int again = 0; again < 2 && !err; again++) {
			const struct pm_model *m;

			assert_int_equal(borrow_reader(&r, borrow, &e), 0);
			assert_int_equal(rows_of(r), CHUNKS * ROWS);
			m = pm_reader_model(r);
			assert_int_equal(m->header.n > 0, cases[i].header);
			assert_int_equal(m->topology.n, cases[i].cpus);
			assert_int_equal(m->n_counters, 1);
			assert_int_equal(m->n_groups, 1);
			assert_int_equal(m->n_pmus, cases[i].pmus);
			assert_int_equal(m->n_probes, cases[i].probes);
			assert_int_equal(m->n_configs, cases[i].configs);
			pm_reader_close(r);
		}
		borrow_free(borrow);
		for (int k = 0; k < 2; k++) {
			spool_close(&spools[k]);
			captured_remove(path[k]);
		}
		buf_release(&file);
		buf_release(&like);
	}
	borrow_free(NULL);
	builder_release(&b);
}

/* The first chunk may lie far behind the start of either; what follows it is read from the file. */
static void far_chunks_are_found(void **state)
{
	(void)state;
	for (int which = 0; which < 3; which++) {
		struct buf file = BUF_INIT;
		struct spool spools[2];
		char path[2][64];
		struct borrow *borrow;
		struct error e = { 0 };
		struct pm_reader *r;
		struct builder b[2];

		world(&b[0], which != 1 ? LARGE : 0);
		world(&b[1], which != 0 ? LARGE : 0);
		without(&b[0].file, "234", &file);
		spool(&spools[0], path[0], &file);
		spool(&spools[1], path[1], &b[1].file);
		assert_int_equal(borrow_new(&borrow, &spools[0], &spools[1], &e), 0);
		assert_int_equal(borrow_reader(&r, borrow, &e), 0);
		assert_int_equal(rows_of(r), CHUNKS * ROWS);
		assert_int_equal(pm_reader_model(r)->n_configs, which != 1 ? 1 + LARGE : 1);
		pm_reader_close(r);
		borrow_free(borrow);
		for (int k = 0; k < 2; k++) {
			spool_close(&spools[k]);
			captured_remove(path[k]);
			builder_release(&b[k]);
		}
		buf_release(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(definitions_come_from_another),
		cmocka_unit_test(far_chunks_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
