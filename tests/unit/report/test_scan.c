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

static const struct scan_source *source(const struct scan *s, const char *name)
{
	for (uint32_t i = 0; i < s->n_sources; i++)
		if (!strcmp(s->source[i].name, name))
			return &s->source[i];
	fail_msg("no source %s", name);
	return NULL;
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

static void counts(void **state)
{
	struct builder b;
	struct scan s;

	(void)state;
	world(&b);
	pass(&s, &b.file, 0);
	assert_int_equal(s.bytes, b.file.len);
	assert_int_equal(s.recordings, 1);
	assert_int_equal(s.chunks, 3);
	assert_int_equal(s.snapshots, 6);
	assert_int_equal(s.segments, 2);
	assert_int_equal(s.runs, 2);
	assert_int_equal(s.values, 0);
	assert_int_equal(s.decoded, 0);
	assert_int_equal(s.first_ns, BUILDER_START_NS);
	assert_int_equal(s.last_ns, BUILDER_START_NS + 8 * SECOND);
	assert_int_equal(s.clocks.realtime, BUILDER_WALL_NS);
	assert_int_equal(s.last_clocks.realtime, BUILDER_WALL_NS + 7 * SECOND);
	assert_int_equal(scan_start(&s), BUILDER_WALL_NS);
	assert_int_equal(s.lost_ticks, 7);
	assert_int_equal(s.n_events, 4);
	assert_int_equal(s.event[1].type, PM_EVENT_LOST);
	assert_int_equal(s.event[2].type, PM_EVENT_GONE);
	assert_int_equal(s.event[2].time_ns, BUILDER_START_NS + SECOND);
	assert_int_equal(s.n_gone, 1);
	assert_int_equal(s.more_events, 0);
	/* Groups are of the builder's source, counters of their own. */
	assert_int_equal(s.n_sources, 3);
	assert_int_equal(source(&s, "test")->groups, 2);
	assert_int_equal(source(&s, "test")->columns, 18);
	assert_int_equal(source(&s, "test")->counters, 0);
	assert_int_equal(source(&s, "stat")->counters, 2);
	assert_int_equal(source(&s, "rapl")->counters, 1);
	assert_int_equal(source(&s, "rapl")->groups, 0);
	assert_true(s.ended);
	assert_false(scan_damaged(&s));
	assert_false(scan_lacks_end(&s));
	scan_release(&s);
	builder_release(&b);
}

/* 8 CPUs are read over 7 us and packages over 1; intervals of 1, 1, 3 and 1 s, without the one to the second segment. */
static void times(void **state)
{
	struct builder b;
	struct scan s;

	(void)state;
	world(&b);
	pass(&s, &b.file, SCAN_TIMES);
	assert_int_equal(s.values, 6 * 18);
	assert_int_equal(s.decoded, 6);
	assert_int_equal(s.interval.seen, 4);
	assert_int_equal(s.interval.n, 4);
	assert_int_equal(s.interval.max, 3 * SECOND);
	assert_int_equal(samples_median(&s.interval), SECOND);
	assert_int_equal(s.late.seen, 6);
	assert_int_equal(s.late.max, 0);
	assert_int_equal(source(&s, "test")->skew.seen, 12);
	assert_int_equal(source(&s, "test")->skew.max, 7000);
	assert_int_equal(source(&s, "test")->skew.v[0], 7000);
	assert_int_equal(source(&s, "test")->skew.v[3], 1000);
	assert_int_equal(samples_median(&(struct samples){ 0 }), 0);
	scan_release(&s);
	pass(&s, &b.file, SCAN_VALUES);
	assert_int_equal(s.values, 6 * 18);
	assert_int_equal(s.interval.seen, 0);
	assert_int_equal(s.n_events, 4);
	scan_release(&s);
	builder_release(&b);
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

/* What was read twice as often as there is room for is kept one in four: 140000 - 1 intervals, the 4n-th of them. */
static void many(void **state)
{
	struct builder b;
	struct scan s;
	uint32_t id;

	(void)state;
	builder_init(&b, of_row);
	b.period_ns = 1000;
	id = builder_counter(&b, "stat.user", "ns", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 1, 0, &id, 1);
	for (uint64_t row = 0; row < 140000; row += 125)
		builder_write(&b, row + (row == 139875), 125);
	builder_finish(&b);
	pass(&s, &b.file, SCAN_TIMES);
	assert_int_equal(s.snapshots, 140000);
	assert_int_equal(s.interval.seen, 139999);
	assert_int_equal(s.interval.every, 4);
	assert_int_equal(s.interval.n, 35000);
	assert_int_equal(s.interval.max, 2000);
	assert_int_equal(samples_median(&s.interval), 1000);
	/* One instance has no spread. */
	assert_int_equal(source(&s, "test")->skew.seen, 0);
	scan_release(&s);
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

/* The same in words: what the builder made, and nothing that packing decides. */
static void words(void **state)
{
	static const char *const parts[] = {
		"state              complete\nformat             1.0\nstart              "
		"2026-09-21T14:13:20.000000000Z  [time]\n"
		"duration           8.000 s\nsnapshots          6\nlost ticks         7\n",
		"interval           -; achieved: median 1.000 s, at most 3.000 s\nbehind the tick    median 0 ns, at "
		"most 0 ns\n",
		" frames, 3 chunks\n",
		" for 18 values\nruns, segments     2, 2\n",
		"tool   builder 1\narch   x86_64\ncpu_id GenuineIntel-6-55-7\ntarget system\n",
		"packages         2\ndies             2\nnodes            2\nclusters         -\ncores            4\n"
		"CPUs             7\nthreads per core 1 to 2\noffline CPUs     1\n",
		"monotonic at start 5000000000 ns\nwall clock         recorded  [time]\nwall clock moved   +0 ns "
		"against monotonic\n",
		"source counters columns groups skew within a snapshot\n"
		"test          0      18      2 median 7.000 us, at most 7.000 us\n"
		"stat          2       0      0 -\nrapl          1       0      0 -\n",
		"+1.000 s lost count=3\n",
		"+8.000 s child-exit exit=2 user=1.500 s maxrss=3.1 MB elapsed=2.000 s\n",
	};
	static struct captured c;
	struct builder b;
	char path[64], line[80];
	size_t missing = 0;

	(void)state;
	world(&b);
	captured_file(path, &b.file);
	snprintf(line, sizeof(line), "--all %s", path);
	captured_run(&c, cmd_info, line);
	assert_int_equal(c.status, 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strstr(c.out, parts[i]) && ++missing)
			print_error("missing:\n%s\n", parts[i]);
	if (missing)
		fail_msg("of:\n%s%s", c.out, c.err);
	captured_remove(path);
	builder_release(&b);
}

/* What recording cost and why ticks were lost, in 8 s with 7 lost ticks of a second: a cause takes at least a half of
 * them. */
static void costs(void **state)
{
	static const struct {
		const char *numbers, *has, *lacks;
	} cases[] = {
		{ "cpu_ns=80000000 wakeups=80 waited_ns=16000000 memory_kib=3072",
		  " 1.00 % of a CPU, 10 wake-ups per second, waited 2.0 ms per second for a CPU (all threads "
		  "together), "
		  "3.0 MB\n",
		  "ticks were lost" },
		{ "cpu_ns=80000000 wakeups=80 waited_ns=16000000 memory_kib=3072 elapsed_ns=16000000000",
		  " 0.50 % of a CPU, 5 wake-ups per second, waited 1.0 ms per second ", "reader threads" },
		{ "wakeups=80", "lost ticks", "wake-ups" },
		{ "cpu_ns=1 stalls=1 stalled_ns=1500000000 dropped=2",
		  " 0.0 MB; the output stalled 1 time, 1.5 s; 2 dropped\n", "missed" },
		{ "cpu_ns=1 dropped=7", " the output was too slow; try --buffer, or a longer interval\n", "stalled" },
		{ "cpu_ns=1 stalls=2", "; the output stalled 2 times, 0.0 s\n", "dropped" },
		{ "cpu_ns=1 .readers=3 reader_waited_ns=8000000000",
		  " readers waited 1000 ms per second for a CPU, all 3 together; try --realtime, or fewer events\n",
		  "quota" },
		{ "cpu_ns=1 .readers=2 reader_waited_ns=3500000000 throttled_ns=3500000000",
		  " readers waited 438 ms per second for a CPU, all 2 together (a quota held back their cgroup); "
		  "try ",
		  "too slow" },
		{ "cpu_ns=1 .readers=1 reader_waited_ns=4000000000 throttled_ns=3000000000",
		  " readers waited 500 ms per second for a CPU; try --realtime, or fewer events\n", "quota" },
		{ "cpu_ns=1 reader_waited_ns=3400000000", "lost ticks", "ticks were lost" },
		{ "cpu_ns=1 reader_waited_ns=3000000000 dropped=2",
		  " readers waited 375 ms per second for a CPU; try --realtime, or fewer events; 2: the output was "
		  "too slow; "
		  "try --buffer, or a longer interval\n",
		  "quota" },
		{ "cpu_ns=1 waited_ns=1 late_ns=8000000000",
		  " the recorder did not run for 8.000 s: it was stopped, or its cgroup was frozen\n", "stolen" },
		{ "cpu_ns=1 late_ns=8000000000", "lost ticks", "ticks were lost" },
		{ "cpu_ns=1 waited_ns=1 reader_waited_ns=4000000000 late_ns=8000000000",
		  " readers waited 500 ms per second ", "did not run" },
		{ "cpu_ns=1 waited_ns=1 late_ns=3400000000", "lost ticks", "ticks were lost" },
		{ "cpu_ns=1 waited_ns=1 late_ns=8000000000 stolen_ns=5000000000 stolen_ticks=2",
		  " 5.000 s, 2 of the lost ticks\n", "ticks were lost" },
		{ "cpu_ns=1 overrun_ns=3500000000",
		  " reading took longer than an interval; try a longer one, or fewer sources\n", "too slow" },
		{ "cpu_ns=1 overrun_ns=3400000000", "lost ticks", "ticks were lost" },
		{ "cpu_ns=1 missed=9", " 9 by one reader; its groups lack those ticks\n", "ticks were lost" },
		{ "cpu_ns=1 missed=7", "lost ticks", "missed readings" },
		{ ".readers=3", "reader threads     3\n", "ticks were lost" },
		{ ".sampled=4 .sampling.kernel_ns=2000 .sampling.reader_ns=5000 stood_in=1",
		  " 4 groups of perf events, each on a CPU; a tick costs 2.000 us in the kernel, 5.000 us in a "
		  "reader; 1 "
		  "sample did not come and were read\n",
		  "no perf events" },
		{ ".sampling.kernel_ns=2000 .sampling.reader_ns=50 stood_in=1",
		  " no perf events: a tick costs 2.000 us in the kernel, 50 ns in a reader\n", "did not come" },
		{ ".sampled=4 stood_in=2", " each on a CPU; 2 samples did not come and were read\n", "a tick costs" },
		{ ".sampling.reader_ns=50", "lost ticks", "sampled by the kernel" },
	};
	static struct captured c;
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct builder b;
		char path[64];

		world_with(&b, cases[i].numbers);
		captured_file(path, &b.file);
		captured_run(&c, cmd_info, path);
		captured_remove(path);
		builder_release(&b);
		if (!strstr(c.out, cases[i].has) || strstr(c.out, cases[i].lacks)) {
			print_error("%s: not \"%s\", or \"%s\" in\n%s", cases[i].numbers, cases[i].has,
				    cases[i].lacks, c.out);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts), cmocka_unit_test(times),    cmocka_unit_test(many),
		cmocka_unit_test(two),    cmocka_unit_test(costs),    cmocka_unit_test(damaged),
		cmocka_unit_test(words),  cmocka_unit_test(readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
