/* Files of several recordings: each has a boot, a clock and names of its own, and what one of them drops is found in all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/copy/redact.h"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/bytes.h"

#define FAR 40000000 /* seconds: more than the longest shift */

static struct reading level(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	(void)counter;
	(void)i;
	return (struct reading){ 100 + row, 0 };
}

/* Begins a recording whose first snapshot is `row` seconds after the others'. */
static void begin(struct builder *b, const char *boot, uint64_t row)
{
	uint32_t id;

	builder_init(b, level);
	id = builder_counter(b, "stat.ctxt", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_SYSTEM, 1, 0, &id, 1);
	if (boot)
		assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_BOOT_ID, pm_text(boot)), 0);
	builder_write(b, row, 3);
}

static void redact_bytes(const struct buf *in, struct buf *out)
{
	struct rewrite_rules rules = { .history = "redacted" };
	struct pm_reader *reader = open_bytes(in);
	struct error e = { 0 };
	struct redact *r;
	struct rewrite *w;

	assert_int_equal(redact_new(&r, &(struct redact_options){ .shift_time = true }, &e), 0);
	assert_int_equal(redact_look(r, reader, &e), 0);
	pm_reader_close(reader);
	reader = open_bytes(in);
	redact_rules(r, &rules);
	assert_int_equal(rewrite_new(&w, &rules, take, out, &e), 0);
	assert_int_equal(rewrite_recording(w, reader, &e), 0);
	assert_int_equal(rewrite_finish(w, &e), 0);
	rewrite_free(w);
	pm_reader_close(reader);
	redact_free(r);
}

/* First ticks and values of both recordings, of which nothing is damaged. */
static void look(const struct buf *file, uint64_t tick[2], uint64_t value[2])
{
	struct pm_reader *r = open_bytes(file);
	const struct pm_chunk *c;
	struct pm_item item;
	size_t n = 0;

	while (pm_reader_next(r, &item) == 1) {
		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
		if (item.kind != PM_ITEM_CHUNK)
			continue;
		assert_true(n < 2);
		assert_int_equal(pm_reader_decode(r, &c), 0);
		assert_int_equal(c->rows, 3);
		tick[n] = c->tick[0];
		value[n++] = c->group[0].v[(pm_group_columns(pm_reader_model(r)->group) - 1) * c->group[0].stride];
	}
	assert_int_equal(n, 2);
	pm_reader_close(r);
}

/* What lies between two recordings of a file afterwards, in ns, and what their counter is ahead. */
static void pair(const char *boot_a, uint64_t row_a, const char *boot_b, uint64_t row_b, int64_t *apart,
		 int64_t *ahead)
{
	struct buf both = BUF_INIT, out = BUF_INIT;
	uint64_t tick[2], value[2];
	struct builder a, b;

	begin(&a, boot_a, row_a);
	begin(&b, boot_b, row_b);
	builder_finish(&a);
	builder_finish(&b);
	buf_add(&both, a.file.data, a.file.len);
	buf_add(&both, b.file.data, b.file.len);
	redact_bytes(&both, &out);
	look(&out, tick, value);
	*apart = (int64_t)(tick[1] - tick[0]);
	*ahead = (int64_t)(value[1] - value[0]);
	buf_release(&both);
	buf_release(&out);
	builder_release(&a);
	builder_release(&b);
}

static void each_boot_has_a_shift(void **state)
{
	const int64_t second = 1000000000;
	int64_t apart, ahead;

	(void)state;
	pair("boot-a", 0, "boot-a", 1000, &apart, &ahead);
	assert_int_equal(apart, 1000 * second);
	assert_int_equal(ahead, 1000);
	pair("boot-a", 0, "boot-b", 1000, &apart, &ahead);
	assert_int_not_equal(apart, 1000 * second);
	assert_int_not_equal(ahead, 1000);
	pair("boot-a", FAR, "boot-b", 0, &apart, &ahead);
	assert_true(apart > -FAR * second && apart < FAR * second);
	/* Whether these are one boot is not recorded: the second cannot be. */
	pair(NULL, 0, NULL, 1000, &apart, &ahead);
	assert_int_equal(apart, 1000 * second);
	pair(NULL, FAR, NULL, 0, &apart, &ahead);
	assert_true(apart > -FAR * second && apart < FAR * second);
	assert_int_not_equal(ahead, -FAR);
}

/* The first recording was killed after it defined a task, before that was read. */
static void names_without_values_are_found(void **state)
{
	struct pm_instance task = { .kind = PM_TASK, .number = 77, .cpu = PM_NONE };
	struct buf both = BUF_INIT, out = BUF_INIT;
	struct pm_counter *c;
	struct builder a, b;

	(void)state;
	begin(&a, NULL, 0);
	assert_int_equal(pm_map_set(&task.attrs, PM_INSTANCE_COMM, pm_text("zqlate")), 0);
	assert_true(pm_model_add_instance(&a.model, &task) > 0);
	pm_map_release(&task.attrs);
	assert_int_equal(pm_writer_define(a.writer), 0);
	builder_init(&b, level);
	c = builder_counter_at(&b, builder_counter(&b, "stat.ctxt", "1", PM_CUMULATIVE, PM_AGG_SUM));
	assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_HELP, pm_text("switches of zqlate")), 0);
	builder_group(&b, PM_SYSTEM, 1, 0, &c->id, 1);
	builder_write(&b, 0, 3);
	builder_finish(&b);
	buf_add(&both, a.file.data, a.file.len);
	buf_add(&both, b.file.data, b.file.len);
	redact_bytes(&both, &out);
	{
		struct pm_reader *r = open_bytes(&out);
		struct pm_item item;

		while (pm_reader_next(r, &item) == 1)
			;
		assert_non_null(strstr(pm_map_text(&pm_reader_model(r)->counter[0].attrs, PM_COUNTER_HELP, ""),
				       "switches of "));
		assert_null(
			strstr(pm_map_text(&pm_reader_model(r)->counter[0].attrs, PM_COUNTER_HELP, ""), "zqlate"));
		pm_reader_close(r);
	}
	buf_release(&both);
	buf_release(&out);
	builder_release(&a);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_boot_has_a_shift),
		cmocka_unit_test(names_without_values_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
