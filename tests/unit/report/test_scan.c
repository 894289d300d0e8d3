/* What one pass over a recording counts: snapshots, values, times, spreads, events and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/commands.h"
#include "report/info/scan.h"
#include "tests/unit/lib/captured.h"

#define SECOND UINT64_C(1000000000)

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ row, 0 };
}

static void event(struct builder *b, enum pm_event_type type, uint64_t count)
{
	struct pm_event e = { .type = type, .time_ns = BUILDER_START_NS + SECOND };

	if (count)
		assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_COUNT, pm_u64(count)), 0);
	assert_int_equal(pm_writer_event(b->writer, &e), 0);
	pm_event_release(&e);
}

/* "wakeups=80 .readers=3": one-time values of the recorder, behind "pmrec.cost" unless they begin with a dot. */
static void add_numbers(struct builder *b, const char *numbers)
{
	while (*numbers) {
		size_t n = strcspn(numbers, "=");
		char name[80], *end;
		struct pm_config config = { .name = name, .kind = PM_SYSTEM };

		snprintf(name, sizeof(name), "pmrec%s%.*s", *numbers == '.' ? "" : ".cost.", (int)n, numbers);
		config.value = pm_u64(strtoull(numbers + n + 1, &end, 10));
		assert_int_equal(pm_model_add_config(&b->model, &config), 0);
		numbers = *end ? end + 1 : end;
	}
}

/* Two counters of 8 CPUs, read 1 us apart, and one of 2 packages; 6 snapshots in three chunks and two segments. The last
 * begins 3 s after the one before, the second run at row 5. */
static void world_with(struct builder *b, const char *numbers)
{
	struct pm_event exit = { .type = PM_EVENT_CHILD_EXIT, .time_ns = BUILDER_START_NS + 8 * SECOND };
	uint32_t id[3];

	builder_init(b, of_row);
	assert_int_equal(pm_map_set(&b->model.instance[0].attrs, PM_INSTANCE_COMM, pm_text("sh")), 0);
	if (*numbers) {
		add_numbers(b, numbers);
		assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_INTERVAL, pm_u64(SECOND)), 0);
	}
	b->model.topology.cpu[7].online = false;
	b->read_ns = 1000;
	id[0] = builder_counter(b, "stat.user", "ns", PM_CUMULATIVE, PM_AGG_SUM);
	id[1] = builder_counter(b, "stat.system", "ns", PM_CUMULATIVE, PM_AGG_SUM);
	id[2] = builder_counter(b, "rapl.energy", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 8, 0, id, 2);
	builder_group(b, PM_PACKAGE, 2, 0, id + 2, 1);
	builder_write(b, 0, 3);
	event(b, PM_EVENT_LOST, 3);
	event(b, PM_EVENT_LOST, 4);
	event(b, PM_EVENT_GONE, 0);
	b->segment = 2;
	builder_write(b, 4, 1);
	b->run = 2;
	builder_write(b, 7, 2);
	assert_int_equal(pm_map_set(&exit.attrs, PM_EVENT_KEY_EXIT, pm_u64(2)), 0);
	assert_int_equal(pm_map_set(&exit.attrs, PM_EVENT_KEY_USER_NS, pm_u64(3 * SECOND / 2)), 0);
	assert_int_equal(pm_map_set(&exit.attrs, PM_EVENT_KEY_MAXRSS, pm_u64(3 << 20)), 0);
	assert_int_equal(pm_map_set(&exit.attrs, PM_EVENT_KEY_ELAPSED_NS, pm_u64(2 * SECOND)), 0);
	assert_int_equal(pm_writer_event(b->writer, &exit), 0);
	pm_event_release(&exit);
	builder_finish(b);
}

static void world(struct builder *b)
{
	world_with(b, "");
}

static void pass(struct scan *s, const struct buf *bytes, unsigned flags)
{
	struct error e = { 0 };
	char path[64];

	captured_file(path, bytes);
	if (scan_path(s, path, flags, &e))
		fail_msg("%s", e.text);
	captured_remove(path);
}

/* A file of two recordings: what is counted adds up, and no interval lies between them. */
/* How often instances say something of machine or people. */
static uint64_t revealed(const struct scan *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->instances.n; i++)
		n += s->instances.row[i].count;
	return n;
}

static void two(void **state)
{
	struct builder b;
	struct buf both = BUF_INIT;
	uint64_t once;
	struct scan s;

	(void)state;
	world(&b);
	pass(&s, &b.file, SCAN_TIMES);
	once = revealed(&s);
	assert_true(once > 0);
	scan_release(&s);
	buf_add(&both, b.file.data, b.file.len);
	buf_add(&both, b.file.data, b.file.len);
	pass(&s, &both, SCAN_TIMES);
	assert_int_equal(s.recordings, 2);
	assert_int_equal(s.snapshots, 12);
	assert_int_equal(s.values, 2 * 6 * 18);
	assert_int_equal(s.earlier_ns, 8 * SECOND);
	assert_int_equal(s.first_ns, BUILDER_START_NS);
	assert_int_equal(s.last_ns, BUILDER_START_NS + 8 * SECOND);
	assert_int_equal(s.interval.seen, 8);
	assert_int_equal(s.interval.max, 3 * SECOND);
	assert_int_equal(s.late.max, 0);
	assert_int_equal(s.n_events, 4);
	assert_int_equal(s.n_gone, 1);
	/* Ids begin anew in each. */
	assert_int_equal(revealed(&s), 2 * once);
	scan_release(&s);
	buf_release(&both);
	builder_release(&b);
}

/* Without its end, and with a chunk that is none: of three chunks two are left. */
static void damaged(void **state)
{
	struct builder b;
	struct buf cut = BUF_INIT;
	struct scan s;

	(void)state;
	world(&b);
	buf_add(&cut, b.file.data, b.file.len - 8);
	pass(&s, &cut, SCAN_VALUES);
	assert_false(s.ended);
	assert_true(scan_damaged(&s));
	assert_true(scan_lacks_end(&s));
	assert_int_equal(s.snapshots, 6);
	s.being_written = true;
	assert_false(scan_damaged(&s));
	scan_release(&s);
	buf_release(&cut);
	b.file.data[b.file.len / 2] ^= 0x55;
	pass(&s, &b.file, SCAN_VALUES);
	assert_true(s.n_damage > 0);
	assert_true(s.ended);
	assert_true(scan_damaged(&s));
	assert_false(scan_lacks_end(&s));
	s.being_written = true;
	assert_true(scan_damaged(&s));
	scan_release(&s);
	builder_release(&b);
}

/* Wherever the damage is, snapshots are those that can be read: all others after it, too. */
static void readable(void **state)
{
	uint32_t some = 0;
	struct builder b;
	struct scan s;

	(void)state;
	world(&b);
	for (size_t at = b.file.len / 20; at < b.file.len - 64; at += b.file.len / 20) {
		b.file.data[at] ^= 0x55;
		pass(&s, &b.file, SCAN_VALUES);
		assert_true(s.n_damage > 0);
		assert_int_equal(s.snapshots, s.decoded);
		assert_int_equal(s.values, 18 * s.snapshots);
		some += s.snapshots > 0 && s.snapshots < 6;
		scan_release(&s);
		b.file.data[at] ^= 0x55;
	}
	assert_true(some > 1);
	builder_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two),
		cmocka_unit_test(damaged),
		cmocka_unit_test(readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
