/*
 * From readers to a file in memory and back: suspend and a set clock (pretended), lost ticks, dropped snapshots, a
 * sink that fails, events in their place. The reader of format/ judges.
 */
#include <poll.h>
#include <time.h>

#include "common/buf.h"
#include "format/reader.h"
#include "record/sample/recording.h"
#include "record/sample/sampler.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/test.h"

#define TICK 5000000u

struct fixture {
	struct pm_model model;
	struct plan plan;
	struct unit unit;
	struct readout readout;
	struct ring ring;
	struct sampler *sampler;
	struct recording *recording;
	struct clock_source clocks;
	struct buf file;
	_Atomic int64_t slept, wall; /* what the pretended clocks are off by */
	_Atomic uint64_t reads;
	_Atomic bool disk_full, stuck;
	uint64_t start_ns;
};

static struct fixture *the; /* units carry no pointer of their own here */

static int fake_read(struct unit *u, struct cells *c)
{
	cells_set(c, 0, 100 + atomic_fetch_add(&the->reads, 1));
	return 0;
}

static void fake_release(struct unit *u)
{
}

static const struct source_ops ops = { .name = "fake" };
static struct source source = { .ops = &ops };

static void clock_read(void *ctx, struct pm_clocks *out)
{
	struct fixture *f = ctx;

	clocks_machine.read(NULL, out);
	out->boottime = out->monotonic + (uint64_t)f->slept;
	out->realtime = out->boottime + 1700000000000000000u + (uint64_t)f->wall;
}

static int64_t clock_slept(void *ctx)
{
	return ((struct fixture *)ctx)->slept;
}

static int sink(void *ctx, const void *data, size_t len)
{
	struct fixture *f = ctx;
	struct timespec t = { .tv_nsec = 1000000 };

	while (f->stuck)
		nanosleep(&t, NULL);
	if (f->disk_full)
		return -ENOSPC;
	buf_add(&f->file, data, len);
	return f->file.err;
}

static void build_with(struct fixture *f, uint64_t tick_ns, size_t buffer)
{
	struct pm_counter c = { .name = (char *)"fake.a",
				.display = (char *)"a",
				.source = (char *)"fake",
				.unit = (char *)"1",
				.scale = { 1, 1, NULL },
				.width = 64 };
	struct pm_instance i = { .kind = PM_SYSTEM, .number = PM_NONE, .cpu = PM_NONE };
	uint32_t counter, instance;
	struct pm_group g = { .source = (char *)"fake",
			      .counter = &counter,
			      .n_counters = 1,
			      .instance = &instance,
			      .n_instances = 1,
			      .flags = PM_GROUP_LIST };
	struct recording_config config = { .writer = { .sink = sink, .sink_ctx = f, .model = &f->model },
					   .buffer = buffer };
	struct sampler_config sampling = { .ring = &f->ring };
	struct error e = { 0 };

	memset(f, 0, sizeof(*f));
	the = f;
	pm_model_init(&f->model);
	memcpy(f->model.recording_id, "12345678", 8);
	counter = (uint32_t)pm_model_add_counter(&f->model, &c);
	instance = (uint32_t)pm_model_add_instance(&f->model, &i);
	f->plan = (struct plan){ .model = &f->model, .units_end = &f->plan.units, .source = &source };
	f->unit = (struct unit){ .group = (uint32_t)pm_model_add_group(&f->model, &g),
				 .cpu = PM_NONE,
				 .read = fake_read,
				 .release = fake_release };
	plan_add_unit(&f->plan, &f->unit);
	f->clocks = (struct clock_source){ .ctx = f, .read = clock_read, .slept = clock_slept };
	config.clocks = sampling.clocks = &f->clocks;
	assert_int_equal(readout_init(&f->readout, &f->plan, tick_ns, 1000000000, false, NULL, &e), 0);
	assert_int_equal(recording_new(&f->recording, &config, &e), 0);
	ring_init(&f->ring, &f->readout, 0, recording_wake(f->recording));
	recording_attach(f->recording, &f->ring);
	assert_int_equal(sampler_new(&f->sampler, &sampling, &e), 0);
	f->start_ns = clocks_monotonic();
}

static void build(struct fixture *f, uint64_t tick_ns)
{
	build_with(f, tick_ns, 0);
}

static void destroy(struct fixture *f)
{
	recording_free(f->recording);
	ring_release(&f->ring);
	readout_release(&f->readout);
	buf_release(&f->file);
	pm_model_release(&f->model);
}

/* However late the reader is, the last tick comes. */
static void wait_end(struct fixture *f)
{
	struct pollfd p = { .fd = sampler_fd(f->sampler), .events = POLLIN };

	assert_int_equal(poll(&p, 1, 20000), 1);
	sampler_park(f->sampler);
}

static void ticks(struct fixture *f, uint64_t first, uint64_t last, uint32_t segment)
{
	struct ring_epoch e = {
		.run = 1, .segment = segment, .first_number = first, .last_number = last, .start_ns = f->start_ns
	};

	sampler_begin(f->sampler, &e);
	wait_end(f);
}

static void single(struct fixture *f, uint64_t number, uint32_t segment, uint8_t flags, bool resumed)
{
	struct ring_epoch e = { .run = 1,
				.segment = segment,
				.first_number = number,
				.last_number = number,
				.start_ns = f->start_ns,
				.tick_ns = clocks_monotonic() + 1,
				.flags = flags,
				.resumed = resumed };

	sampler_begin(f->sampler, &e);
	sampler_park(f->sampler);
}

/* What the reader finds. */
struct found {
	unsigned snapshots, suspends, steps, lost_events, markers, damages;
	uint64_t lost, step, slept, reason;
	uint32_t last_segment;
	uint64_t marker_after; /* snapshots before the marker */
	bool ended;
};

static void read_back(struct fixture *f, struct found *r)
{
	struct pm_reader *reader;
	struct pm_input in;
	struct pm_item item;
	struct error e = { 0 };

	memset(r, 0, sizeof(*r));
	assert_int_equal(input_memory(&in, f->file.data, f->file.len), 0);
	assert_int_equal(pm_reader_open(&reader, &in, &e), 0);
	while (pm_reader_next(reader, &item) > 0) {
		const struct pm_map *attrs = item.kind == PM_ITEM_EVENT ? &item.event->attrs : NULL;

		if (item.kind == PM_ITEM_CHUNK) {
			r->snapshots += item.chunk.rows;
			r->last_segment = item.chunk.segment;
		}
		r->damages += item.kind == PM_ITEM_DAMAGE;
		r->ended = r->ended || item.kind == PM_ITEM_END;
		if (!attrs)
			continue;
		switch (item.event->type) {
		case PM_EVENT_SUSPEND:
			r->suspends++;
			r->slept = pm_map_u64(attrs, PM_EVENT_KEY_STEP, 0);
			break;
		case PM_EVENT_CLOCK_STEP:
			r->steps++;
			r->step = pm_map_u64(attrs, PM_EVENT_KEY_STEP, 0);
			break;
		case PM_EVENT_LOST:
			r->lost_events++;
			r->lost += pm_map_u64(attrs, PM_EVENT_KEY_COUNT, 0);
			r->reason = pm_map_u64(attrs, PM_EVENT_KEY_REASON, 0);
			break;
		case PM_EVENT_MARKER:
			r->markers++;
			r->marker_after = r->snapshots;
			break;
		default:
			break;
		}
	}
	pm_reader_close(reader);
}

static void finish(struct fixture *f)
{
	struct error e = { 0 };

	sampler_free(f->sampler);
	recording_attach(f->recording, NULL);
	assert_int_equal(recording_finish(f->recording, &e), 0);
}

static void every_tick_is_there_or_counted(void **state)
{
	struct fixture f;
	struct found r;

	build(&f, TICK);
	single(&f, 0, 0, PM_SNAPSHOT_FIRST, true);
	ticks(&f, 1, 40, 0);
	finish(&f);
	read_back(&f, &r);
	assert_int_equal(r.snapshots + r.lost, 41);
	/* What was interrupted is read again. */
	assert_in_range(f.reads, r.snapshots, 2 * r.snapshots);
	assert_int_equal(recording_stats(f.recording).lost, r.lost);
	assert_true(r.ended);
	assert_int_equal(r.damages, 0);
	assert_int_equal(r.suspends + r.steps, 0);
	destroy(&f);
}

static void a_suspend_within_a_chunk_splits_it(void **state)
{
	struct timespec t = { .tv_nsec = 10 * TICK + TICK / 2 };
	struct ring_epoch e = { .run = 1, .first_number = 1, .last_number = 20 };
	struct fixture f;
	struct found r;

	build(&f, TICK);
	single(&f, 0, 0, PM_SNAPSHOT_FIRST, true);
	e.start_ns = f.start_ns;
	sampler_begin(f.sampler, &e);
	nanosleep(&t, NULL);
	atomic_store(&f.slept, 60000000000);
	wait_end(&f);
	finish(&f);
	read_back(&f, &r);
	assert_int_equal(r.suspends, 1);
	assert_int_equal(r.last_segment, 1);
	assert_int_equal(r.snapshots + r.lost, 21);
	destroy(&f);
}

/* Whoever ends a recording waits for no sink that takes nothing, and says what is missing. */
static void a_stuck_disk_does_not_hold_the_end_back(void **state)
{
	struct error e = { 0 };
	static struct fixture f; /* the sink may come back to it */

	build_with(&f, 200000, 1);
	atomic_store(&f.stuck, true);
	single(&f, 0, 0, PM_SNAPSHOT_FIRST, true);
	ticks(&f, 1, 2000, 0);
	recording_hurry(f.recording);
	sampler_free(f.sampler);
	recording_attach(f.recording, NULL);
	assert_int_equal(recording_finish(f.recording, &e), -ETIMEDOUT);
	assert_non_null(strstr(e.text, "snapshots are missing"));
	recording_free(f.recording);
}

/* A hundred epochs after another behind a sink that takes nothing: refused, and nobody waits. */
static void epochs_without_room_are_refused(void **state)
{
	unsigned refused = 0;
	struct fixture f;

	build_with(&f, TICK, 1);
	atomic_store(&f.stuck, true);
	for (unsigned i = 0; i < 4 * RING_EPOCHS; i++) {
		struct ring_epoch e = {
			.run = 1, .first_number = i, .last_number = i, .start_ns = f.start_ns, .tick_ns = 1
		};

		if (sampler_begin(f.sampler, &e))
			sampler_park(f.sampler);
		else
			refused++;
	}
	assert_true(refused > 0);
	atomic_store(&f.stuck, false);
	finish(&f);
	destroy(&f);
}

UNIT_TESTS(cmocka_unit_test(every_tick_is_there_or_counted), cmocka_unit_test(a_suspend_within_a_chunk_splits_it),
	   cmocka_unit_test(a_stuck_disk_does_not_hold_the_end_back),
	   cmocka_unit_test(epochs_without_room_are_refused))
