/*
 * The sampler with a source that counts its own reads: ticks, chunks, lost ticks, dropped snapshots, dead units,
 * suspend. Rows are taken from the ring as the writer takes them.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "record/host/process.h"
#include "record/host/privileges.h"
#include "record/sample/cost.h"
#include "record/sample/ring.h"
#include "record/sample/sampler.h"
#include "tests/unit/lib/test.h"

struct fake_unit {
	struct unit unit;
	uint64_t reads;
	uint64_t slow_read; /* this read takes slow_ns, and so do slow_more after it */
	uint64_t slow_more;
	uint64_t slow_ns;
	_Atomic bool stuck;  /* a slow read goes on as long as this is set */
	uint64_t dies_at;    /* this read ends the unit */
	int dies_of;         /* 0: ENODEV */
	uint64_t missing_at; /* this read lacks its second value */
	uint64_t at[64];     /* the clock in the middle of each read */
	/* Sampled: */
	uint64_t started_ns, interval_ns, next; /* the sample that comes next, from 1 */
	uint64_t skips;                         /* that one never comes */
	uint64_t silent_from;                   /* nor does any from that one on; 0: all come */
	uint64_t looks;                         /* that found no more samples */
};

static int fake_read(struct unit *u, struct cells *c)
{
	struct fake_unit *f = (struct fake_unit *)u;

	__atomic_store_n(&f->reads, f->reads + 1, __ATOMIC_RELAXED);
	if (f->dies_at && f->reads >= f->dies_at)
		return f->dies_of ? -f->dies_of : -ENODEV;
	if (f->slow_read && f->reads >= f->slow_read && f->reads <= f->slow_read + f->slow_more) {
		struct timespec t = { .tv_sec = (time_t)(f->slow_ns / 1000000000u),
				      .tv_nsec = (long)(f->slow_ns % 1000000000u) };

		do
			nanosleep(&t, NULL);
		while (f->stuck);
	}
	if (f->reads <= 64)
		f->at[f->reads - 1] = clocks_monotonic();
	for (uint32_t k = 0; k < c->n; k++)
		cells_set(c, k, f->reads * 10 + k);
	if (f->missing_at == f->reads)
		cells_fail(c, 1, PM_REASON_FORMAT);
	return 0;
}

static void fake_start(struct unit *u)
{
	struct fake_unit *f = (struct fake_unit *)u;

	f->started_ns = clocks_monotonic();
	f->next = 1;
}

/* On time, or nearly half an interval late. */
static bool fake_peek(struct unit *u, uint64_t *time_ns)
{
	struct fake_unit *f = (struct fake_unit *)u;

	f->next += f->next == f->skips;
	*time_ns = f->started_ns + f->next * f->interval_ns + (f->next % 3 ? f->interval_ns * 2 / 5 : 0);
	if (*time_ns <= clocks_monotonic() && !(f->silent_from && f->next >= f->silent_from))
		return true;
	f->looks++;
	return false;
}

static uint64_t fake_take(struct unit *u, struct cells *c)
{
	struct fake_unit *f = (struct fake_unit *)u;

	for (uint32_t k = 0; c && k < c->n; k++)
		cells_set(c, k, 1000 + f->next * 10 + k);
	f->next++;
	return 0;
}

static const struct unit_sampling fake_sampling = { .start = fake_start, .peek = fake_peek, .take = fake_take };

static void fake_release(struct unit *u)
{
	(void)u;
}

static const struct source_ops fake_ops = { .name = "fake" };
static struct source fake_source = { .ops = &fake_ops };

/* `cpus` instances with two counters each in one group, and a system-wide unit in another. */
struct fixture {
	struct pm_model model;
	struct plan plan;
	struct fake_unit unit[4];
	struct readout readout;
	struct ring ring;
	struct sampler *sampler;
	_Atomic uint32_t wake;
	int64_t slept;     /* what the pretended clock says */
	uint64_t chunk_ns; /* 0: a second */
};

static void clock_read(void *ctx, struct pm_clocks *out)
{
	*out = (struct pm_clocks){ .monotonic = clocks_monotonic() };
}

static int64_t clock_slept(void *ctx)
{
	return __atomic_load_n((int64_t *)ctx, __ATOMIC_RELAXED);
}

static void add_unit(struct fixture *f, unsigned i, uint32_t group, uint32_t instance, uint32_t cpu)
{
	f->unit[i].unit = (struct unit){
		.group = group, .instance = instance, .cpu = cpu, .read = fake_read, .release = fake_release
	};
	plan_add_unit(&f->plan, &f->unit[i].unit);
}

static void build(struct fixture *f, uint32_t cpus)
{
	uint32_t counters[2], instances[2], group;
	struct pm_group g = { .source = (char *)"fake", .counter = counters, .n_counters = 2, .instance = instances };

	memset(f, 0, sizeof(*f));
	pm_model_init(&f->model);
	f->plan.model = &f->model;
	f->plan.units_end = &f->plan.units;
	f->plan.source = &fake_source;
	for (uint32_t i = 0; i < 2; i++) {
		struct pm_counter c = { .name = i ? (char *)"fake.b" : (char *)"fake.a",
					.display = (char *)"x",
					.source = (char *)"fake",
					.unit = (char *)"1",
					.scale = { 1, 1, NULL },
					.width = 64 };
		struct pm_instance in = { .kind = PM_CPU, .number = i, .cpu = i };

		counters[i] = (uint32_t)pm_model_add_counter(&f->model, &c);
		instances[i] = (uint32_t)pm_model_add_instance(&f->model, &in);
	}
	g.n_instances = cpus;
	group = (uint32_t)pm_model_add_group(&f->model, &g);
	for (uint32_t i = 0; i < cpus; i++)
		add_unit(f, i, group, i, i);
	g.flags = PM_GROUP_LIST;
	g.n_counters = g.n_instances = 2;
	add_unit(f, 3, (uint32_t)pm_model_add_group(&f->model, &g), 0, PM_NONE);
}

static void start(struct fixture *f, uint64_t interval_ns, bool per_cpu, size_t ring_bytes)
{
	static struct clock_source clocks = { .read = clock_read, .slept = clock_slept };
	struct sampler_config config = { .ring = &f->ring, .clocks = &clocks };
	struct error e = { 0 };

	clocks.ctx = &f->slept;
	assert_int_equal(readout_init(&f->readout, &f->plan, interval_ns, f->chunk_ns ? f->chunk_ns : 1000000000,
				      per_cpu, NULL, &e),
			 0);
	assert_int_equal(ring_init(&f->ring, &f->readout, ring_bytes, &f->wake), 0);
	assert_int_equal(sampler_new(&f->sampler, &config, &e), 0);
}

static void finish(struct fixture *f)
{
	sampler_free(f->sampler);
	ring_release(&f->ring);
	readout_release(&f->readout);
	pm_model_release(&f->model);
}

static void wait_end(struct fixture *f)
{
	fd_set set;
	struct timeval t = { .tv_sec = 20 };

	FD_ZERO(&set);
	FD_SET(sampler_fd(f->sampler), &set);
	assert_int_equal(select(sampler_fd(f->sampler) + 1, &set, NULL, NULL, &t), 1);
	sampler_park(f->sampler);
}

static void begin(struct fixture *f, uint64_t ticks)
{
	struct ring_epoch e = { .run = 1,
				.first_number = 1,
				.last_number = ticks,
				.start_ns = clocks_monotonic(),
				.flags = PM_SNAPSHOT_LAST };

	sampler_begin(f->sampler, &e);
}

/* One chunk, if there is one. */
static struct ring_buf *take(struct fixture *f)
{
	const struct ring_epoch *e;

	return ring_take(&f->ring, &e);
}

static void values_are_in_their_columns(void **state)
{
	struct fixture f;
	struct pm_chunk c;
	struct ring_buf *b;

	build(&f, 2);
	f.unit[1].missing_at = 2;
	start(&f, 50000000, false, 1 << 20);
	assert_int_equal(f.readout.n_readers, 1);
	begin(&f, 3);
	wait_end(&f);
	b = take(&f);
	assert_non_null(b);
	assert_int_equal(f.ring.rows.n, 3);
	rows_chunk(&f.ring.rows, b, 0, f.ring.rows.n, &c);
	assert_int_equal(c.n_groups, 2);
	for (uint32_t row = 0; row < 3; row++) {
		/* begin x 2, end x 2, a of cpu 0 and 1, b of cpu 0 and 1 */
		assert_int_equal(c.group[0].v[4 * c.group[0].stride + row], (row + 1) * 10);
		assert_int_equal(c.group[0].v[7 * c.group[0].stride + row], (row + 1) * 10 + 1);
		/* begin, end, then the list */
		assert_int_equal(c.group[1].v[2 * c.group[1].stride + row], (row + 1) * 10);
		assert_int_equal(c.group[1].v[3 * c.group[1].stride + row], (row + 1) * 10 + 1);
		assert_int_equal(c.group[0].status[7 * c.group[0].stride + row], row == 1 ? PM_REASON_FORMAT : PM_OK);
		assert_int_equal(c.group[0].status[5 * c.group[0].stride + row], PM_OK);
	}
	assert_null(c.group[1].status);
	/* The end of one unit is the beginning of the next: one clock read between them. */
	assert_int_equal(c.group[0].v[2 * c.group[0].stride], c.group[0].v[1 * c.group[0].stride]);
	ring_give_back(&f.ring, b);
	finish(&f);
}

/* One reading took long: the source is slow, or the process was stopped in it. */
static void says_stopped(struct sampler *s)
{
	const struct sampler_delay d = sampler_delay(s);
	struct cost slow = { 0 }, stopped = { 0 };
	sigset_t set;

	cost_add_threads(&slow, s);
	assert_int_equal(slow.delay.late_ns, d.late_ns);
	assert_int_equal(slow.delay.overrun_ns, d.overrun_ns);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	raise(SIGCONT);
	cost_add_threads(&stopped, s);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	assert_true(stopped.delay.late_ns >= d.late_ns + 80000000);
	assert_int_equal(stopped.delay.late_ns + stopped.delay.overrun_ns, d.late_ns + d.overrun_ns);
}

static void a_late_reader_loses_ticks_and_shifts_none(void **state)
{
	struct fixture f;
	uint64_t lost = 0, next = 1;
	struct ring_buf *b;

	build(&f, 1);
	f.unit[0].slow_read = 5;
	f.unit[0].slow_ns = 105000000; /* until the middle of tick 15: 6 to 14 are lost */
	start(&f, 10000000, false, 1 << 20);
	begin(&f, 40);
	wait_end(&f);
	while ((b = take(&f))) {
		for (uint32_t i = 0; i < f.ring.rows.n; i++) {
			lost += f.ring.rows.number[i] - next;
			next = f.ring.rows.number[i] + 1;
			assert_true(b->group[0].v[i] >= f.ring.rows.tick[i]);
			/* Rows that were closed up keep their own values. */
			if (i)
				assert_true(b->group[0].v[2 * b->group[0].stride + i] >
					    b->group[0].v[2 * b->group[0].stride + i - 1]);
		}
		ring_give_back(&f.ring, b);
	}
	assert_int_equal(next, 41);
	assert_true(lost >= 9);
	/* The late one was read twice. */
	assert_int_equal(f.unit[0].reads, 41 - lost);
	/* 9 ticks were due while it read, not while it slept. */
	assert_true(sampler_delay(f.sampler).overrun_ns >= 80000000);
	says_stopped(f.sampler);
	finish(&f);
}

/* A reading that does not end: chunks go on without it, also when the buffers have come round to the one that it is
 * in, and what it leaves there at last is in nobody's row. */
static void a_stuck_reader_holds_nobody_back(void **state)
{
	const uint64_t limit_ns = 20000000000;
	uint64_t chunks_meanwhile = 0, last = 0, last_value = 0, missed = 0, began;
	struct timespec t = { .tv_nsec = 5000000 };
	struct fixture f;
	struct ring_buf *b;

	build(&f, 2);
	f.chunk_ns = 100000000;
	/* The fifteenth of its readings begins in the second chunk. */
	f.unit[1].slow_read = 15;
	f.unit[1].slow_ns = 5000000;
	f.unit[1].stuck = true;
	start(&f, 10000000, true, 0);
	assert_int_equal(f.ring.n_bufs, 4);
	began = clocks_monotonic();
	begin(&f, 150);
	while (last < 150 && clocks_monotonic() < began + limit_ns) {
		bool is_stuck = f.unit[1].stuck && __atomic_load_n(&f.unit[1].reads, __ATOMIC_RELAXED) == 15,
		     own = false;

		b = take(&f);
		if (!b && !f.unit[1].stuck && sampler_running(f.sampler) &&
		    clocks_monotonic() > began + 160 * f.readout.interval_ns)
			wait_end(&f);
		if (!b) {
			nanosleep(&t, NULL);
			continue;
		}
		for (uint32_t i = 0; i < f.ring.rows.n; i++) {
			const struct pm_chunk_group *g = &b->group[0];
			uint64_t value = g->v[5 * g->stride + i], begin = g->v[1 * g->stride + i];

			assert_true(f.ring.rows.number[i] > last);
			last = f.ring.rows.number[i];
			if (g->status[5 * g->stride + i] == PM_REASON_MISSED) {
				missed++;
				assert_int_equal(g->status[4 * g->stride + i], PM_OK);
				continue;
			}
			/* Its own, with the time of its own. */
			assert_int_equal(g->status[5 * g->stride + i], PM_OK);
			assert_true(value > last_value);
			last_value = value;
			assert_true(begin >= f.ring.rows.tick[i]);
			own = true;
		}
		chunks_meanwhile += is_stuck && !own;
		/* They have come round. */
		if (chunks_meanwhile == 6)
			f.unit[1].stuck = false;
		ring_give_back(&f.ring, b);
	}
	f.unit[1].stuck = false;
	assert_true(chunks_meanwhile >= 6);
	assert_int_equal(last, 150);
	/* A busy machine takes ticks from both: at least a row in each of these chunks is left. */
	assert_true(missed >= chunks_meanwhile);
	/* And its own readings after that are there. */
	assert_true(last_value > 16 * 10);
	finish(&f);
}

/* A reading that does not end, at the end: its reader is left behind, the other one takes the last snapshot. */
static void who_reads_what_does_not_answer_is_left_behind(void **state)
{
	static struct fixture f; /* the reader is in it until the reading ends */
	const uint64_t stuck_ns = 20000000000;
	struct ring_epoch last = { .run = 1, .flags = PM_SNAPSHOT_FORCED | PM_SNAPSHOT_LAST };
	struct timespec t = { .tv_nsec = 5000000 };
	uint64_t began = clocks_monotonic(), alone = 0;
	struct ring_buf *b;

	build(&f, 2);
	f.unit[1].slow_read = 3;
	f.unit[1].slow_ns = stuck_ns;
	start(&f, 10000000, true, 0);
	begin(&f, UINT64_MAX);
	while (__atomic_load_n(&f.unit[1].reads, __ATOMIC_RELAXED) < 3 && clocks_monotonic() < began + stuck_ns / 4)
		nanosleep(&t, NULL);
	sampler_hurry(f.sampler);
	sampler_park(f.sampler);
	last.first_number = last.last_number = 100000;
	last.tick_ns = clocks_monotonic();
	assert_true(sampler_begin(f.sampler, &last));
	sampler_park(f.sampler);
	assert_false(sampler_free(f.sampler));
	assert_true(clocks_monotonic() < began + stuck_ns / 2);
	for (uint32_t i = 0; i < f.readout.n_slots; i++)
		assert_int_equal(f.readout.slot[i].dead, f.readout.slot[i].unit == &f.unit[1].unit ? -ETIMEDOUT : 0);
	while ((b = take(&f))) {
		const struct pm_chunk_group *g = &b->group[0];
		uint32_t i = f.ring.rows.n - 1;

		alone = g->status[4 * g->stride + i] == PM_OK && g->status[5 * g->stride + i] == PM_REASON_MISSED ?
				f.ring.rows.number[i] :
				0;
		ring_give_back(&f.ring, b);
	}
	assert_int_equal(alone, 100000);
}

/* The kernel samples two CPUs: each sample is in the row of its tick, with its time; one that does not come is read in
 * the first chunk, which shows whether they do, and is missing later. */
static void samples_are_in_the_rows_of_their_ticks(void **state)
{
	const uint64_t interval_ns = 20000000;
	uint64_t rows = 0, missing[2] = { 0 };
	struct fixture f;
	struct ring_buf *b;

	build(&f, 2);
	for (unsigned i = 0; i < 2; i++) {
		f.unit[i].unit.sampling = &fake_sampling;
		f.unit[i].interval_ns = interval_ns;
	}
	f.unit[0].skips = 1;
	f.unit[1].skips = 65;
	start(&f, interval_ns, true, 1 << 20);
	/* One reads what is read, one empties the rings of both. */
	assert_int_equal(f.readout.n_readers, 2);
	begin(&f, 80);
	wait_end(&f);
	/* Once a tick at most, and by who empties rings only at the beginning and for what does not come. */
	assert_int_equal(f.unit[0].reads, 2);
	assert_int_equal(f.unit[1].reads, 1);
	assert_int_equal(sampler_delay(f.sampler).stood_in, 1);
	while ((b = take(&f))) {
		for (uint32_t i = 0; i < f.ring.rows.n; i++, rows++) {
			const struct pm_chunk_group *g = &b->group[0];

			for (uint32_t k = 0; k < 2; k++) {
				uint64_t value = g->v[(4 + k) * g->stride + i], time = g->v[k * g->stride + i];
				uint64_t n = (value - 1000) / 10;

				if (g->status[(4 + k) * g->stride + i]) {
					missing[k]++;
					continue;
				}
				assert_true(time >= f.ring.rows.tick[i]);
				if (value < 1000)
					continue; /* one that was read */
				assert_int_equal(time, f.unit[k].started_ns + n * interval_ns +
							       (n % 3 ? interval_ns * 2 / 5 : 0));
				assert_true(time < f.ring.rows.tick[i] + 2 * interval_ns);
			}
		}
		ring_give_back(&f.ring, b);
	}
	assert_true(rows > 0);
	assert_true(missing[1] > 0);
	finish(&f);
}

/* A CPU that the kernel stops sampling, or never samples, is read: at once or soon in the first chunk, and from the
 * chunk after that in which samples failed to come. */
static void what_finds_no_buffer_is_dropped_and_counted(void **state)
{
	struct fixture f;
	uint64_t rows = 0;
	struct ring_buf *b;

	build(&f, 1);
	start(&f, 100000, false, 0);
	assert_int_equal(f.ring.n_bufs, 4);
	/* Nobody takes anything: four chunks are filled, the rest of 1000 ticks has no place. */
	begin(&f, 1000);
	wait_end(&f);
	assert_true(ring_dropped(&f.ring) > 0);
	assert_true(ring_dropped(&f.ring) <= 1000 - 4 * 128);
	while ((b = take(&f))) {
		rows += f.ring.rows.n;
		ring_give_back(&f.ring, b);
	}
	assert_true(rows <= 4 * 128);
	assert_true(rows > 0);
	/* Afterwards there is room again. */
	{
		struct ring_epoch e = { .run = 1, .tick_ns = clocks_monotonic(), .first_number = 2000 };

		sampler_begin(f.sampler, &e);
		sampler_park(f.sampler);
		b = take(&f);
		assert_non_null(b);
		assert_int_equal(f.ring.rows.n, 1);
		assert_int_equal(f.ring.rows.number[0], 2000);
		ring_give_back(&f.ring, b);
	}
	finish(&f);
}

/* Not there any more, it counts nothing; what cannot be read may count on, and a sum lacks it. */
static void a_dead_unit_says_why(void **state)
{
	static const struct {
		int err;
		uint16_t reason;
	} row[] = { { ENXIO, PM_REASON_GONE },
		    { ENOENT, PM_REASON_GONE },
		    { ESRCH, PM_REASON_GONE },
		    { EIO, PM_REASON_ERRNO + EIO },
		    { ETIMEDOUT, PM_REASON_ERRNO + ETIMEDOUT } };

	(void)state;
	for (size_t k = 0; k < sizeof(row) / sizeof(*row); k++) {
		struct fixture f;
		struct ring_buf *b;

		build(&f, 1);
		f.unit[0].dies_at = 1;
		f.unit[0].dies_of = row[k].err;
		start(&f, 1000000, false, 1 << 20);
		begin(&f, 3);
		wait_end(&f);
		b = take(&f);
		assert_non_null(b);
		for (uint32_t i = 0; i < f.ring.rows.n; i++)
			assert_int_equal(b->group[0].status[2 * b->group[0].stride + i], row[k].reason);
		ring_give_back(&f.ring, b);
		finish(&f);
	}
}

/* As many readers as there are CPUs, for 64 units each, take neighbours together; one takes all if it is told to. */
static void what_is_spread_is_read_side_by_side(void **state)
{
	enum { N = 130 };
	struct record_options options = { .sample.threads = THREADS_AUTO };
	uint32_t counter, instance[N], cpus = affinity_cpus(), want = cpus < 3 ? cpus : 3, n = 0;
	struct pm_group g = { .source = (char *)"fake", .counter = &counter, .n_counters = 1, .instance = instance };
	static struct unit unit[N];
	struct error e = { 0 };
	struct fixture f;

	build(&f, 2);
	f.plan.options = &options;
	counter = f.model.counter[0].id;
	for (uint32_t i = 0; i < N; i++) {
		struct pm_instance in = { .kind = PM_CORE, .number = i, .cpu = i };

		instance[i] = (uint32_t)pm_model_add_instance(&f.model, &in);
	}
	g.n_instances = N;
	g.id = (uint32_t)pm_model_add_group(&f.model, &g);
	for (uint32_t i = 0; i < N; i++) {
		unit[i] = (struct unit){ .group = g.id,
					 .instance = i,
					 .cpu = PM_NONE,
					 .spread = true,
					 .read = fake_read,
					 .release = fake_release };
		plan_add_unit(&f.plan, &unit[i]);
	}
	assert_int_equal(readout_init(&f.readout, &f.plan, 1000000, 1000000000, true, NULL, &e), 0);
	assert_int_equal(f.readout.n_own, 2);
	assert_int_equal(f.readout.n_reading, want > 1 ? 2 + want : 2);
	for (uint32_t r = 2; r < f.readout.n_readers; r++) {
		const struct readout_reader *reader = &f.readout.reader[r];

		assert_int_equal(reader->cpu, PM_NONE);
		assert_in_range(reader->n, N / want, N / want + 1);
		for (uint32_t i = 0; i < reader->n; i++)
			assert_ptr_equal(f.readout.slot[reader->first + i].unit, &unit[n++]);
	}
	readout_release(&f.readout);
	options.sample.threads = THREADS_ONE;
	assert_int_equal(readout_init(&f.readout, &f.plan, 1000000, 1000000000, false, NULL, &e), 0);
	assert_int_equal(f.readout.n_readers, 1);
	assert_int_equal(f.readout.reader[0].n, N + 3);
	readout_release(&f.readout);
	pm_model_release(&f.model);
}

static void offline_cpus_are_not_read(void **state)
{
	struct cpulist offline = { 0 };
	struct error e = { 0 };
	struct fixture f;

	build(&f, 2);
	assert_int_equal(cpulist_add(&offline, 1), 0);
	assert_int_equal(readout_init(&f.readout, &f.plan, 1000000, 1000000000, true, &offline, &e), 0);
	assert_int_equal(f.readout.n_readers, 1);
	assert_int_equal(f.readout.n_slots, 3);
	assert_null(f.readout.slot[2].unit);
	assert_int_equal(f.readout.slot[2].absent, PM_REASON_OFFLINE);
	readout_release(&f.readout);
	cpulist_release(&offline);
	pm_model_release(&f.model);
}

/* A CPU goes and comes back: its cells say so meanwhile, the others are read on by the threads that there were. */
static void a_cpu_goes_and_comes_alone(void **state)
{
	struct cpulist gone = { 0 }, none = { 0 };
	struct fixture f;
	struct ring_buf *b;
	uint64_t before;

	build(&f, 2);
	start(&f, 10000000, true, 1 << 20);
	begin(&f, 3);
	wait_end(&f);
	before = f.unit[1].reads;
	assert_int_equal(cpulist_add(&gone, 1), 0);
	assert_true(readout_switch(&f.readout, &f.plan, &gone));
	begin(&f, 3);
	wait_end(&f);
	assert_int_equal(f.unit[1].reads, before);
	assert_true(f.unit[0].reads > before);
	assert_true(readout_switch(&f.readout, &f.plan, &none));
	sampler_pin_again(f.sampler, 1);
	begin(&f, 3);
	wait_end(&f);
	assert_true(f.unit[1].reads > before);
	for (unsigned chunk = 0; (b = take(&f)); chunk++) {
		const struct pm_chunk_group *g = &b->group[0];

		for (uint32_t i = 0; i < f.ring.rows.n; i++) {
			assert_int_equal(g->status[4 * g->stride + i] == PM_REASON_OFFLINE, 0);
			if (g->status[5 * g->stride + i] != PM_REASON_MISSED)
				assert_int_equal(g->status[5 * g->stride + i],
						 chunk == 1 ? PM_REASON_OFFLINE : PM_OK);
		}
		ring_give_back(&f.ring, b);
	}
	/* One more unit is another readout. */
	add_unit(&f, 2, 1, 0, 0);
	assert_false(readout_switch(&f.readout, &f.plan, &none));
	cpulist_release(&gone);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_in_their_columns),
		cmocka_unit_test(a_late_reader_loses_ticks_and_shifts_none),
		cmocka_unit_test(a_stuck_reader_holds_nobody_back),
		cmocka_unit_test(who_reads_what_does_not_answer_is_left_behind),
		cmocka_unit_test(samples_are_in_the_rows_of_their_ticks),
		cmocka_unit_test(what_finds_no_buffer_is_dropped_and_counted),
		cmocka_unit_test(a_dead_unit_says_why),
		cmocka_unit_test(offline_cpus_are_not_read),
		cmocka_unit_test(what_is_spread_is_read_side_by_side),
		cmocka_unit_test(a_cpu_goes_and_comes_alone),
	};

	/* With all threads that it begins, if it may: how busy the machine is, is not what is measured here. */
	sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
	return cmocka_run_group_tests(tests, NULL, NULL);
}
