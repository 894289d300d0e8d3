/* Which reader reads what, where its values go and how long a chunk is: layouts that were worked out by hand. */
#include <errno.h>
#include "record/host/process.h"
#include "record/host/clocks.h"
#include "tests/unit/lib/fake_plan.h"

static const struct unit_sampling sampled;
static const struct slot *slot_of(const struct fake_plan *f, const struct unit *u)
{
	for (uint32_t i = 0; i < f->readout.n_slots; i++)
		if (f->readout.slot[i].unit == u)
			return &f->readout.slot[i];
	fail_msg("a unit has no slot");
	return NULL;
}

static void lay_out(struct fake_plan *f, uint64_t interval_ns, uint64_t chunk_ns, bool per_cpu)
{
	struct error e = { 0 };

	readout_release(&f->readout);
	if (readout_init(&f->readout, &f->plan, interval_ns, chunk_ns, per_cpu, NULL, &e))
		fail_msg("%s", e.text);
}

/* Begins, ends, times enabled, times running, then counter by counter; a list has one begin and one end. */
static void columns_are_where_the_format_has_them(void **state)
{
	struct fake_plan f;
	const struct slot *s;
	const struct unit *perf, *list, *plain;

	fake_begin(&f);
	perf = fake_unit(&f, fake_group(&f, 2, 3, PM_GROUP_PERF_TIMES), 1, 1);
	list = fake_unit(&f, fake_group(&f, 3, 3, PM_GROUP_LIST), 0, PM_NONE);
	plain = fake_unit(&f, fake_group(&f, 2, 3, 0), 2, 2);
	lay_out(&f, 10 * MS, 1000 * MS, false);
	/* Places of CPUs that no unit fills have slots, too: 3 and 1 and 3. */
	assert_int_equal(f.readout.n_slots, 7);
	assert_int_equal(f.readout.n_groups, 3);
	s = slot_of(&f, perf);
	assert_int_equal(s->group, 0);
	assert_int_equal(s->begin, 1);
	assert_int_equal(s->end, 4);
	assert_int_equal(s->enabled, 7);
	assert_int_equal(s->running, 10);
	assert_int_equal(s->value, 13);
	assert_int_equal(s->step, 3);
	assert_int_equal(s->n, 2);
	s = slot_of(&f, list);
	assert_int_equal(s->group, 1);
	assert_int_equal(s->begin, 0);
	assert_int_equal(s->end, 1);
	assert_int_equal(s->value, 2);
	assert_int_equal(s->step, 1);
	assert_int_equal(s->n, 3);
	assert_int_equal(s->enabled, PM_NONE);
	assert_int_equal(s->running, PM_NONE);
	s = slot_of(&f, plain);
	assert_int_equal(s->end, 5);
	assert_int_equal(s->value, 8);
	/* 12 + 6, 2 + 3, 6 + 6 */
	assert_int_equal(f.readout.group[0].columns, 18);
	assert_int_equal(f.readout.group[0].head, 12);
	assert_int_equal(f.readout.group[1].columns, 5);
	assert_int_equal(f.readout.group[1].head, 2);
	assert_int_equal(f.readout.row_bytes, 8 * (18 + 5 + 12));
	for (uint32_t i = 3; i < 7; i++) {
		assert_null(f.readout.slot[i].unit);
		assert_int_equal(f.readout.slot[i].absent, PM_REASON_GONE);
	}
	fake_end(&f);
}

static void each_cpu_has_its_reader_or_all_have_one(void **state)
{
	const uint32_t cpus[] = { 9, 0, 4, PM_NONE, 4 };
	struct unit *u[5];
	struct fake_plan f;
	uint32_t g;

	fake_begin(&f);
	g = fake_group(&f, 1, 5, 0);
	for (uint32_t i = 0; i < 5; i++)
		u[i] = fake_unit(&f, g, i, cpus[i]);
	lay_out(&f, 10 * MS, 1000 * MS, true);
	assert_int_equal(f.readout.n_readers, 3);
	assert_int_equal(f.readout.reader[0].cpu, 0);
	assert_int_equal(f.readout.reader[1].cpu, 4);
	assert_int_equal(f.readout.reader[2].cpu, 9);
	assert_int_equal(slot_of(&f, u[0])->reader, 2);
	assert_int_equal(slot_of(&f, u[1])->reader, 0);
	assert_int_equal(slot_of(&f, u[2])->reader, 1);
	assert_int_equal(slot_of(&f, u[3])->reader, 0);
	assert_int_equal(slot_of(&f, u[4])->reader, 1);
	/* Slots lie reader by reader; what belongs to a CPU precedes what belongs to none. */
	assert_ptr_equal(f.readout.slot[0].unit, u[1]);
	assert_ptr_equal(f.readout.slot[1].unit, u[3]);
	assert_ptr_equal(f.readout.slot[2].unit, u[2]);
	assert_ptr_equal(f.readout.slot[3].unit, u[4]);
	assert_ptr_equal(f.readout.slot[4].unit, u[0]);
	assert_int_equal(f.readout.reader[1].first, 2);
	assert_int_equal(f.readout.reader[1].n, 2);
	lay_out(&f, 10 * MS, 1000 * MS, false);
	assert_int_equal(f.readout.n_readers, 1);
	assert_int_equal(f.readout.reader[0].n, 5);
	assert_ptr_equal(f.readout.slot[0].unit, u[0]);
	assert_ptr_equal(f.readout.slot[4].unit, u[3]);
	fake_end(&f);
}

/* One thread empties the rings of up to 64 CPUs; beyond, each CPU has its own. */
static void rings_have_readers_of_their_own(void **state)
{
	struct fake_plan f;
	struct unit *tick;
	uint32_t g, per;

	for (uint32_t n = 64; n <= 65; n++) {
		fake_begin(&f);
		g = fake_group(&f, 1, n, 0);
		for (uint32_t i = 0; i < n; i++)
			fake_unit(&f, g, i, i)->sampling = &sampled;
		lay_out(&f, 10 * MS, 1000 * MS, true);
		per = n > 64 ? n : 1;
		/* Nothing is read at the ticks: nobody waits for them. */
		assert_int_equal(f.readout.n_own, 0);
		assert_int_equal(f.readout.n_readers, per);
		tick = fake_unit(&f, fake_group(&f, 1, 1, 0), 0, PM_NONE);
		lay_out(&f, 10 * MS, 1000 * MS, true);
		assert_int_equal(f.readout.n_own, 1);
		assert_int_equal(f.readout.n_readers, 1 + per);
		assert_false(f.readout.reader[0].sampled);
		assert_int_equal(f.readout.reader[0].cpu, PM_NONE);
		assert_true(f.readout.reader[1].sampled);
		assert_int_equal(f.readout.reader[per].cpu, per > 1 ? 64 : PM_NONE);
		assert_int_equal(slot_of(&f, tick)->reader, 0);
		assert_int_equal(slot_of(&f, &f.unit[63])->reader, per > 1 ? 64 : 1);
		fake_end(&f);
	}
	/* A plan without units is read by somebody who reads nothing. */
	fake_begin(&f);
	lay_out(&f, 10 * MS, 1000 * MS, true);
	assert_int_equal(f.readout.n_readers, 1);
	fake_end(&f);
}

/* 64 a reader, if there are more and if there are CPUs for them. */
static void what_is_spread_is_shared_evenly(void **state)
{
	uint32_t counts[2] = { 0 };
	struct fake_plan f;
	uint32_t g;

	if (affinity_cpus() < 2)
		skip();
	fake_begin(&f);
	g = fake_group(&f, 1, 66, 0);
	for (uint32_t i = 0; i < 64; i++)
		fake_unit(&f, g, i, PM_NONE)->spread = true;
	lay_out(&f, 10 * MS, 1000 * MS, true);
	assert_int_equal(f.readout.n_readers, 1);
	fake_unit(&f, g, 64, PM_NONE)->spread = true;
	lay_out(&f, 10 * MS, 1000 * MS, true);
	assert_int_equal(f.readout.n_own, 0);
	assert_int_equal(f.readout.n_reading, 2);
	assert_int_equal(f.readout.n_readers, 2);
	for (uint32_t i = 0; i < 65; i++)
		counts[slot_of(&f, &f.unit[i])->reader]++;
	assert_int_equal(counts[0], 33);
	assert_int_equal(counts[1], 32);
	/* Others have a reader of their own. */
	fake_unit(&f, g, 65, PM_NONE);
	lay_out(&f, 10 * MS, 1000 * MS, true);
	assert_int_equal(f.readout.n_own, 1);
	assert_int_equal(f.readout.n_reading, 3);
	assert_int_equal(slot_of(&f, &f.unit[65])->reader, 0);
	assert_int_equal(slot_of(&f, &f.unit[0])->reader, 1);
	assert_int_equal(slot_of(&f, &f.unit[64])->reader, 2);
	f.options.sample.threads = THREADS_ONE;
	lay_out(&f, 10 * MS, 1000 * MS, false);
	assert_int_equal(f.readout.n_readers, 1);
	fake_end(&f);
}

static void rare_units_are_read_every_so_many_ticks(void **state)
{
	static const struct {
		uint64_t interval_ns, least_ns;
		uint32_t every;
	} cases[] = {
		{ 10 * MS, 0, 1 },
		{ 10 * MS, 10 * MS, 1 },
		{ 10 * MS, 10 * MS + 1, 2 },
		{ 10 * MS, 30 * MS, 3 },
		{ 10 * MS, 1, 1 },
		{ 0, 1000 * MS, 1 },
		{ 1, UINT32_MAX, UINT32_MAX },
		{ 1, 1ull << 40, UINT32_MAX },
	};
	struct fake_plan f;
	struct unit *u;

	fake_begin(&f);
	u = fake_unit(&f, fake_group(&f, 1, 1, 0), 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		u->min_period_ns = cases[i].least_ns;
		lay_out(&f, cases[i].interval_ns, 1000 * MS, false);
		assert_int_equal(f.readout.slot[0].every, cases[i].every);
	}
	fake_end(&f);
}

/* The ticks of its time, as many as the format takes, and no more than 4 MiB. */
static void a_chunk_is_as_long_as_it_may_be(void **state)
{
	static const struct {
		uint64_t interval_ns, chunk_ns;
		uint32_t rows;
	} cases[] = {
		{ 10 * MS, 1000 * MS, 100 },           { 30 * MS, 1000 * MS, 33 },
		{ 1000 * MS, 1000 * MS, 1 },           { 2000 * MS, 1000 * MS, 1 },
		{ 1 * MS, 60000 * MS, PM_CHUNK_ROWS }, { 0, 1000 * MS, 1 },
	};
	struct fake_plan f;

	fake_begin(&f);
	fake_unit(&f, fake_group(&f, 1, 1, 0), 0, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lay_out(&f, cases[i].interval_ns, cases[i].chunk_ns, false);
		assert_int_equal(f.readout.rows, cases[i].rows);
	}
	/* 3 * 1 columns of those, and 3 * 4096 of these: 98,328 bytes, of which 4 MiB hold 42. */
	fake_unit(&f, fake_group(&f, 1, 4096, 0), 0, 0);
	lay_out(&f, 10 * MS, 1000 * MS, false);
	assert_int_equal(f.readout.rows, 42);
	/* 129 * 4096 columns more are more than 4 MiB. */
	fake_unit(&f, fake_group(&f, 127, 4096, 0), 0, 0);
	lay_out(&f, 10 * MS, 1000 * MS, false);
	assert_int_equal(f.readout.rows, 1);
	fake_end(&f);
}

static void a_unit_without_a_place_is_refused(void **state)
{
	struct error e = { 0 };
	struct fake_plan f;
	uint32_t g;

	for (int list = 0; list < 2; list++) {
		fake_begin(&f);
		g = fake_group(&f, 2, 2, list ? PM_GROUP_LIST : 0);
		fake_unit(&f, g, list ? 0 : 1, 0);
		lay_out(&f, 10 * MS, 1000 * MS, false);
		readout_release(&f.readout);
		fake_unit(&f, g, list ? 1 : 2, 0);
		assert_int_equal(readout_init(&f.readout, &f.plan, 10 * MS, 1000 * MS, false, NULL, &e), -EINVAL);
		assert_string_equal(e.text, "a unit of fake has no place in group 1");
		fake_end(&f);
	}
}

/* What died of going away lives again; what was there all the time stays as it is. */
static void cpus_go_and_come_without_a_new_layout(void **state)
{
	struct cpulist gone = { 0 };
	struct unit *u[3];
	struct slot *s[3];
	struct fake_plan f;
	uint32_t g;

	fake_begin(&f);
	g = fake_group(&f, 1, 3, 0);
	for (uint32_t i = 0; i < 3; i++)
		u[i] = fake_unit(&f, g, i, i < 2 ? i : PM_NONE);
	lay_out(&f, 10 * MS, 1000 * MS, true);
	for (uint32_t i = 0; i < 3; i++) {
		s[i] = (struct slot *)(uintptr_t)slot_of(&f, u[i]);
		s[i]->dead = -ENODEV;
		s[i]->told = true;
	}
	assert_int_equal(cpulist_add(&gone, 1), 0);
	assert_true(readout_switch(&f.readout, &f.plan, &gone));
	assert_false(s[0]->away);
	assert_true(s[1]->away);
	assert_false(s[2]->away);
	assert_int_equal(s[1]->dead, -ENODEV);
	assert_true(readout_switch(&f.readout, &f.plan, NULL));
	assert_false(s[1]->away);
	assert_int_equal(s[1]->dead, 0);
	assert_false(s[1]->told);
	assert_int_equal(s[0]->dead, -ENODEV);
	assert_true(s[0]->told);
	assert_int_equal(s[2]->dead, -ENODEV);
	/* Read where it was sampled, or on another CPU: another layout. */
	u[0]->sampling = &sampled;
	assert_false(readout_switch(&f.readout, &f.plan, NULL));
	u[0]->sampling = NULL;
	assert_true(readout_switch(&f.readout, &f.plan, NULL));
	u[1]->cpu = 5;
	assert_false(readout_switch(&f.readout, &f.plan, NULL));
	/* But not while its CPU is away. */
	gone.n = 0;
	assert_int_equal(cpulist_add(&gone, 5), 0);
	assert_true(readout_switch(&f.readout, &f.plan, &gone));
	f.plan.unit_changes++;
	assert_false(readout_switch(&f.readout, &f.plan, &gone));
	cpulist_release(&gone);
	fake_end(&f);
}

static uint64_t read_ns; /* what each reading of a trial takes */
static unsigned perf_reads;

static int slow_read(struct unit *u, struct cells *c)
{
	uint64_t until = clocks_monotonic() + read_ns;

	while (clocks_monotonic() < until)
		;
	for (uint32_t k = 0; k < c->n; k++)
		cells_set(c, k, k);
	if (c->enabled) {
		*c->enabled = *c->running = 1;
		perf_reads++;
	}
	return 0;
}

/* Readings that together take longer than the CPUs' times may differ are made side by side. */
static void long_passes_are_shared(void **state)
{
	struct fake_plan f;
	uint32_t g;

	if (affinity_cpus() < 2)
		skip();
	fake_begin(&f);
	g = fake_group(&f, 3, 2, PM_GROUP_PERF_TIMES);
	fake_unit(&f, g, 0, 0)->read = slow_read;
	assert_false(readout_measure_per_cpu(&f.plan, 1000 * MS)); /* there is one CPU */
	fake_unit(&f, g, 1, 1)->read = slow_read;
	read_ns = 1 * MS;
	perf_reads = 0;
	assert_true(readout_measure_per_cpu(&f.plan, 1000 * MS));
	/* Twice each: once to warm up. */
	assert_int_equal(perf_reads, 4);
	fake_end(&f);
}

UNIT_TESTS(cmocka_unit_test(columns_are_where_the_format_has_them),
	   cmocka_unit_test(each_cpu_has_its_reader_or_all_have_one),
	   cmocka_unit_test(rings_have_readers_of_their_own), cmocka_unit_test(what_is_spread_is_shared_evenly),
	   cmocka_unit_test(rare_units_are_read_every_so_many_ticks),
	   cmocka_unit_test(a_chunk_is_as_long_as_it_may_be), cmocka_unit_test(a_unit_without_a_place_is_refused),
	   cmocka_unit_test(cpus_go_and_come_without_a_new_layout), cmocka_unit_test(long_passes_are_shared))
