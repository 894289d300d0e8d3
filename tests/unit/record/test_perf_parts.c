/* Parts of the perf source that need no counters: attributes of events, the order of a group, what is said of a filter,
 * and the records of tasks that begin and end. */
#include "tests/unit/lib/perf_kernel.h"

#include "record/perf/perf_events.c"
#include "record/perf/source_perf.c"
#include "tests/unit/lib/sysroot.h"

/* ---- attributes ---- */

/* Words that kernels did not always have make it longer only where they are used. */
static void attributes_are_as_long_as_they_need_be(void **state)
{
	struct event ev = { .type = 4 };
	union perf_attr attr;
	uint64_t word;
	uint32_t before;

	perf_attr_fill(&attr, &ev);
	before = attr.a.size;
	assert_in_range(before, 112, 128);
	ev.config[3] = 0x44;
	perf_attr_fill(&attr, &ev);
	assert_int_equal(attr.a.size, 136);
	memcpy(&word, attr.bytes + 128, sizeof(word));
	assert_int_equal(word, 0x44);
	ev.config[4] = 0x55;
	perf_attr_fill(&attr, &ev);
	assert_int_equal(attr.a.size, 144);
	memcpy(&word, attr.bytes + 136, sizeof(word));
	assert_int_equal(word, 0x55);
}

/* The errno of each kind of opening: as asked, without precision, without leaving guests out. */
static void what_a_pmu_does_not_know_is_left_out(void **state)
{
	static const struct {
		bool precise, guest, host; /* asked: precise_ip, exclude_guest, exclude_host */
		int error;
		unsigned tries;
	} cases[] = {
		{ false, false, false, EINVAL, 1 },    { true, false, false, EINVAL, 2 },
		{ false, true, false, EOPNOTSUPP, 2 }, { true, true, false, EINVAL, 3 },
		{ false, true, true, EINVAL, 1 },      { true, true, false, EACCES, 1 },
		{ true, true, false, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		union perf_attr attr = { .a = { .type = 4,
						.precise_ip = cases[i].precise ? 2 : 0,
						.exclude_guest = cases[i].guest,
						.exclude_host = cases[i].host } };
		int fd;

		kernel_begin();
		refuse[0] = cases[i].error;
		fd = perf_open_relaxed(&attr, perf_on_cpu(0), -1);
		assert_int_equal(n_opened, cases[i].tries);
		if (cases[i].error)
			assert_int_equal(fd, -cases[i].error);
		/* What could not be opened in any way stays as it was asked for. */
		assert_int_equal(attr.a.precise_ip, cases[i].precise ? 2 : 0);
		assert_int_equal(attr.a.exclude_guest, cases[i].guest);
		if (cases[i].tries == 3) {
			assert_int_equal(opened[1].attr.a.precise_ip, 0);
			assert_int_equal(opened[1].attr.a.exclude_guest, 1);
			assert_int_equal(opened[2].attr.a.exclude_guest, 0);
		}
		if (fd >= 0)
			close(fd);
		kernel_end();
	}
}

/* ---- order ---- */

static void shares_follow_their_slots(void **state)
{
	/* Configs: slots 0x400, shares 0x8000 to 0x8700 in steps of 0x100; 0x3c and 0xc0 are ordinary. */
	static const struct {
		uint64_t before[5], after[5];
		bool has_slots; /* the PMU has the event */
		uint32_t front;
	} cases[] = {
		{ { 0x3c, 0x8000, 0x400, 0xc0, 0x8700 }, { 0x400, 0x8000, 0x8700, 0x3c, 0xc0 }, true, 3 },
		{ { 0x400, 0x8100, 0x8200, 0x3c, 0xc0 }, { 0x400, 0x8100, 0x8200, 0x3c, 0xc0 }, true, 3 },
		{ { 0x8000, 0x8100, 0x8200, 0x8300, 0x400 }, { 0x400, 0x8000, 0x8100, 0x8200, 0x8300 }, true, 5 },
		/* Slots alone are an event like others, and so are shares without them, or of a PMU that has none. */
		{ { 0x3c, 0x400, 0xc0, 1, 2 }, { 0x3c, 0x400, 0xc0, 1, 2 }, true, 1 },
		{ { 0x3c, 0x8000, 0xc0, 1, 2 }, { 0x3c, 0x8000, 0xc0, 1, 2 }, true, 1 },
		{ { 0x3c, 0x8000, 0x400, 1, 2 }, { 0x3c, 0x8000, 0x400, 1, 2 }, false, 1 },
		{ { 0x3c, 0x8800, 0x400, 0x8001, 2 }, { 0x3c, 0x8800, 0x400, 0x8001, 2 }, true, 1 },
	};
	struct event_alias alias = { .name = (char *)"slots", .text = (char *)"event=0x00,umask=0x4" };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct event_pmu pmu = { .name = (char *)"cpu", .alias = &alias, .n_aliases = cases[i].has_slots };
		struct perf_source s = { .pmus = { .pmu = &pmu, .n = 1 } };
		struct event ev[5];
		struct perf_event event[5] = { 0 }, *member[5];
		struct perf_group g = { .member = member, .n = 5 };

		for (unsigned k = 0; k < 5; k++) {
			ev[k] = (struct event){ .config = { cases[i].before[k] }, .core = true };
			event[k].ev = &ev[k];
			member[k] = &event[k];
		}
		assert_int_equal(perf_topdown_order(&s, &g), cases[i].front);
		for (unsigned k = 0; k < 5; k++)
			assert_int_equal(member[k]->ev->config[0], cases[i].after[k]);
		/* Of another PMU, or of none. */
		ev[0] = (struct event){ .config = { 0x400 } };
		assert_false(perf_is_slots(&s, &ev[0]));
		ev[0] = (struct event){ .config = { 0x400 }, .core = true, .pmu_index = EVENT_NONE };
		assert_false(perf_is_slots(&s, &ev[0]));
	}
}

/* ---- tasks that begin and end ---- */

static struct perf_source watching;
static struct plan nothing;
static struct noticed heard = { .s = &watching, .p = &nothing };

/* 100 tasks that are followed, with these numbers. */
static void follow(struct perf_task *task, pid_t first)
{
	for (int i = 0; i < 100; i++)
		task[i] = (struct perf_task){ .pid = 1, .tid = first + i };
	watching.task = task;
	watching.n_tasks = 100;
	watching.n_missed = 0;
	heard.lost = false;
}

static void put_task(uint32_t type, uint32_t pid, uint32_t tid, uint32_t ptid, uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, ppid, tid, ptid;
		uint64_t time;
	} r = { { .type = type, .size = sizeof(r) }, pid, 1, tid, ptid, time_ns };

	put_bytes(&r, sizeof(r));
}

static void begins_and_ends_are_heard(void **state)
{
	struct perf_event_header other = { .type = PERF_RECORD_COMM, .size = 8 };
	struct cpulist cpus = { 0 };
	struct perf_follow *f = &watching.follow;
	struct perf_task task[100];
	uint64_t n = 0;

	kernel_begin();
	assert_int_equal(cpulist_add(&cpus, 4), 0);
	assert_int_equal(perf_follow_begin(f, NULL, 0, &cpus), 0);
	assert_int_equal(n_opened, 1);
	assert_int_equal(opened[0].pid, -1);
	assert_int_equal(opened[0].cpu, 4);
	assert_int_equal(opened[0].attr.a.task, 1);
	assert_int_equal(opened[0].attr.a.inherit, 0);
	assert_int_equal(opened[0].attr.a.clockid, CLOCK_MONOTONIC);
	follow(task, 71);
	perf_follow_read(&heard);
	assert_false(task[0].ended_ns || heard.lost);
	/* One whose events cannot be opened any more was missed. */
	put_task(PERF_RECORD_FORK, 70, 700, 72, 1000);
	put_bytes(&other, sizeof(other));
	put_task(PERF_RECORD_EXIT, 70, 71, 0, 2000);
	put_task(PERF_RECORD_LOST, 0, 0, 0, 0);
	perf_follow_read(&heard);
	assert_int_equal(watching.n_missed, 1);
	assert_int_equal(task[0].ended_ns, 2000);
	assert_true(heard.lost);
	assert_int_equal(ring->data_tail, ring->data_head);
	/* Round the ring: 8 pages, which records of 32 bytes after one of 8 do not divide. */
	while (n < 4 * ring->data_size / 32) {
		follow(task, (pid_t)n + 1);
		for (unsigned i = 0; i < 100; i++)
			put_task(PERF_RECORD_EXIT, 1, (uint32_t)n + i + 1, 0, n + i + 1);
		perf_follow_read(&heard);
		for (unsigned i = 0; i < 100; i++)
			assert_int_equal(task[i].ended_ns, n + i + 1);
		assert_false(heard.lost);
		n += 100;
	}
	/* Nearly full: the kernel may have dropped some. Four records are what it could not have told. */
	for (uint64_t room = 3; room <= 4; room++) {
		uint64_t fits = ring->data_size / 32 - room;

		follow(task, 1);
		for (uint64_t i = 0; i < fits; i++)
			put_task(PERF_RECORD_EXIT, 1, 1, 0, 1);
		perf_follow_read(&heard);
		assert_int_equal(task[0].ended_ns, 1);
		assert_int_equal(heard.lost, room < 4);
	}
	/* A record without a length would be read for ever. */
	other.size = 0;
	put_bytes(&other, sizeof(other));
	perf_follow_read(&heard);
	assert_int_equal(ring->data_tail, ring->data_head);
	perf_follow_end(f);
	assert_int_equal(f->epoll, -1);
	watching = (struct perf_source){ 0 };
	cpulist_release(&cpus);
	kernel_end();
}

/* One buffer a CPU, into which the watches of all tasks write. */
static void tasks_share_the_buffer_of_a_cpu(void **state)
{
	const pid_t tid[] = { 70, 71, 72 };
	struct cpulist cpus = { 0 };
	struct perf_follow *f = &watching.follow;

	kernel_begin();
	assert_int_equal(cpulist_add(&cpus, 0), 0);
	assert_int_equal(cpulist_add(&cpus, 1), 0);
	assert_int_equal(perf_follow_begin(f, tid, 3, &cpus), 0);
	assert_int_equal(n_opened, 6);
	assert_int_equal(f->n_rings, 6);
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(opened[i].pid, 70 + i % 3);
		assert_int_equal(opened[i].cpu, i / 3);
		assert_int_equal(opened[i].attr.a.inherit, 1);
		assert_int_equal(f->ring[i].base != NULL, i % 3 == 0);
	}
	assert_int_equal(n_told, 4);
	assert_int_equal(told[0].request, PERF_EVENT_IOC_SET_OUTPUT);
	assert_int_equal(told[0].fd, opened[1].fd);
	assert_int_equal(told[2].fd, opened[4].fd);
	perf_follow_end(f);
	kernel_end();
	/* Tasks that have ended start no others; offline CPUs are left out, unless all are; a refusal is one. */
	kernel_begin();
	refuse[PERF_COUNT_SW_DUMMY] = ESRCH;
	assert_int_equal(perf_follow_begin(f, tid, 3, &cpus), 0);
	perf_follow_end(f);
	refuse[PERF_COUNT_SW_DUMMY] = ENODEV;
	assert_int_equal(perf_follow_begin(f, tid, 3, &cpus), -ENODEV);
	assert_int_equal(f->epoll, -1);
	refuse[PERF_COUNT_SW_DUMMY] = EACCES;
	n_opened = 0;
	assert_int_equal(perf_follow_begin(f, tid, 3, &cpus), -EACCES);
	assert_int_equal(n_opened, 1);
	cpulist_release(&cpus);
	kernel_end();
}

/* ---- BPF ---- */

static void who_counts_follows_from_options(void **state)
{
	static const struct {
		bool programs, counters;
		uint32_t mods;
		bool uncore, tool;
		enum perf_way way;
	} cases[] = {
		{ .way = PERF_BY_READ },
		{ .programs = true, .way = PERF_BY_PROGRAM },
		{ .programs = true, .tool = true, .way = PERF_BY_READ },
		{ .programs = true, .uncore = true, .way = PERF_BY_PROGRAM },
		{ .counters = true, .way = PERF_BY_LEADER },
		{ .counters = true, .uncore = true, .way = PERF_BY_READ },
		{ .counters = true, .tool = true, .way = PERF_BY_READ },
		{ .mods = EVENT_MOD_BPF, .way = PERF_BY_LEADER },
		{ .mods = EVENT_MOD_BPF, .uncore = true, .way = PERF_BY_READ },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[] = "1";
		const struct record_options o = { .perf = { .bpf_programs = cases[i].programs ? text : NULL,
							    .bpf_counters = cases[i].counters } };
		const struct event ev = { .type = cases[i].tool ? EVENT_TYPE_TOOL : PERF_TYPE_RAW,
					  .uncore = cases[i].uncore,
					  .mods = cases[i].mods };

		assert_int_equal(perf_way_of(&o, &ev), cases[i].way);
	}
}

static void new_threads_are_not_for_bpf(void **state)
{
	struct event ev = { .name = (char *)(uintptr_t) "cycles:b" };
	struct perf_event event = { .ev = &ev }, *member[] = { &event };
	struct perf_group g = { .member = member, .n = 1, .way = PERF_BY_READ }, *group[] = { &g };
	struct perf_source s = { .group = group, .n_groups = 1 };
	struct record_options o = { .perf = { .per_thread = true } };
	struct plan p = { .options = &o };
	struct error e = { 0 };

	assert_int_equal(perf_bpf_begin(&s, &p, &e), 0);
	assert_null(s.bpf);
	g.way = PERF_BY_LEADER;
	assert_int_equal(perf_bpf_begin(&s, &p, &e), -EINVAL);
	assert_non_null(strstr(e.text, "BPF cannot follow new threads"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes_are_as_long_as_they_need_be),
		cmocka_unit_test(what_a_pmu_does_not_know_is_left_out),
		cmocka_unit_test(shares_follow_their_slots),
		cmocka_unit_test(begins_and_ends_are_heard),
		cmocka_unit_test(tasks_share_the_buffer_of_a_cpu),
		cmocka_unit_test(who_counts_follows_from_options),
		cmocka_unit_test(new_threads_are_not_for_bpf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
