/* What the texts of -e become beyond themselves: slots for their shares, rings, filters, events of --add; and which groups
 * the kernel may sample. The machine is a folder. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_kernel.h"
#include "tests/unit/lib/perf_world.h"

#include "common/add.h"
#include "record/perf/perf_pmu.c"
#include "record/perf/source_perf.c"
#include "tests/unit/lib/sysroot.h"

#define PMU "/sys/bus/event_source/devices/"

struct fixture {
	char dir[32];
	struct world *w;
	struct perf_source *s;
};

static void begin(struct fixture *f, const char *events)
{
	static const char *const event[][2] = {
		{ "slots", "event=0x400" },
		{ "cycles", "event=0x3c" },
		{ "topdown-retiring", "event=0x8000" },
		{ "topdown-bad-spec", "event=0x8700" },
		{ "other", "event=0x8800" },
	};
	char path[80];

	kernel_begin();
	sysroot_make(f->dir, NULL);
	sysroot_put(f->dir, "/sys/devices/system/cpu/online", "0\n");
	sysroot_put(f->dir, PMU "cpu/type", "4\n");
	sysroot_put(f->dir, PMU "cpu/format/event", "config:0-15\n");
	sysroot_put(f->dir, PMU "unit/type", "9\n");
	sysroot_put(f->dir, PMU "unit/cpumask", "0\n");
	sysroot_put(f->dir, PMU "unit/format/event", "config:0-15\n");
	sysroot_put(f->dir, PMU "software/type", "1\n");
	sysroot_put(f->dir, PMU "msr/type", "10\n");
	sysroot_put(f->dir, PMU "msr/events/tsc", "event=0\n");
	sysroot_put(f->dir, PMU "msr/format/event", "config:0-63\n");
	sysroot_put(f->dir, "/sys/kernel/tracing/events/sched/tick/id", "7\n");
	for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); i++) {
		snprintf(path, sizeof(path), PMU "cpu/events/%s", event[i][0]);
		sysroot_put(f->dir, path, "%s\n", event[i][1]);
	}
	f->w = world_new(TARGET_SYSTEM, events, NULL, NULL);
	world_begin(f->w, f->dir);
	f->s = calloc(1, sizeof(*f->s));
	assert_non_null(f->s);
	f->w->source.data = f->s;
	f->s->ends = f->s->follow.epoll = -1;
	perf_pmus_read(&f->s->pmus, &f->w->root);
}

static int read_events(struct fixture *f, const char *sets)
{
	return perf_events_read(f->s, &f->w->plan, sets, &f->w->e);
}

static void end(struct fixture *f)
{
	world_end(f->w, false);
	free(f->w);
	sysroot_remove(f->dir);
	kernel_end();
}

#define RETIRING "cpu/topdown-retiring/"
#define BAD      "cpu/topdown-bad-spec/"
#define SLOTS    "cpu/slots/"

/* --all-user and --all-kernel, where the event does not say it itself. */
static void rings_are_those_of_the_options(void **state)
{
	static const struct {
		const char *event;
		bool user, kernel;
		uint32_t mods;
	} cases[] = {
		{ "cpu/cycles/", false, false, 0 },
		{ "cpu/cycles/", true, false, EVENT_MOD_USER },
		{ "cpu/cycles/", false, true, EVENT_MOD_KERNEL },
		{ "cpu/cycles/", true, true, EVENT_MOD_USER | EVENT_MOD_KERNEL },
		{ "cpu/cycles/k", true, false, EVENT_MOD_KERNEL },
		{ "cpu/cycles/H", true, false, EVENT_MOD_HOST | EVENT_MOD_USER },
		{ "unit/event=1/", true, false, 0 },
		{ "duration_time", true, true, 0 },
		/* It happens in the kernel alone. */
		{ "context-switches", true, false, 0 },
		{ "context-switches", false, true, EVENT_MOD_KERNEL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;

		begin(&f, cases[i].event);
		f.w->options.perf.all_user = cases[i].user;
		f.w->options.perf.all_kernel = cases[i].kernel;
		assert_int_equal(read_events(&f, ""), 0);
		if (f.s->set.event[0].mods != cases[i].mods)
			fail_msg("%zu: %#x", i, f.s->set.event[0].mods);
		end(&f);
	}
}

/* Sets, and the texts of a personality that shows none of them. */
static void texts_come_from_several_options(void **state)
{
	struct fixture f;

	begin(&f, "cs");
	assert_int_equal(read_events(&f, "cpu/other/"), 0);
	assert_int_equal(f.s->set.n, 2);
	assert_string_equal(f.s->set.event[1].name, "cpu/other/");
	for (int i = 0; i < 2; i++)
		assert_true(f.s->event[i].requested);
	end(&f);
	/* Where registers are shut, their PMU stands in for them. */
	begin(&f, "cs");
	f.w->options.perf.turbostat = true;
	assert_int_equal(read_events(&f, ""), 0);
	assert_int_equal(f.s->set.n, 2);
	assert_string_equal(f.s->set.event[1].name, "msr/tsc/");
	assert_false(f.s->event[0].requested || f.s->event[1].requested);
	end(&f);
	begin(&f, "cs");
	sysroot_put(f.dir, "/dev/cpu/0/msr", "x");
	f.w->options.perf.turbostat = true;
	assert_int_equal(read_events(&f, ""), 0);
	assert_int_equal(f.s->set.n, 1);
	end(&f);
	/* A mistake says in which text. */
	begin(&f, "cs,,");
	assert_int_equal(read_events(&f, ""), -EINVAL);
	assert_non_null(strstr(f.w->e.text, "-e 'cs,,': column 4"));
	end(&f);
	begin(&f, "UOPS_ISSUED.ANY_OF_A_NAME_THAT_IS_LONGER_THAN_THE_SIXTY_LETTERS_OF_IT");
	assert_int_equal(read_events(&f, ""), -ENOENT);
	assert_non_null(strstr(f.w->e.text, "-e 'UOPS_ISSUED.ANY_OF_A_NAME_THAT_IS_LONGER_THAN_THE_SIXTY_LETT...'"));
	assert_non_null(strstr(f.w->e.text, "pmrec vendor import"));
	end(&f);
}

/* An unusual PMU must not keep anything else from being recorded. */
static void defaults_leave_out_what_they_cannot_read(void **state)
{
	bool others = false;
	struct fixture f;

	begin(&f, NULL);
	sysroot_put(f.dir, PMU "uncore_imc_0/type", "30\n");
	sysroot_put(f.dir, PMU "uncore_imc_0/cpumask", "0\n");
	sysroot_put(f.dir, PMU "uncore_imc_0/events/cas_count_read", "bogus=1\n");
	perf_pmus_release(&f.s->pmus);
	perf_pmus_read(&f.s->pmus, &f.w->root);
	if (read_events(&f, ""))
		fail_msg("%s", f.w->e.text);
	assert_int_equal(f.w->model.n_probes, 1);
	assert_int_equal(f.w->model.probe[0].reason, PM_REASON_NOT_SUPPORTED);
	assert_non_null(strstr(said(&f.w->model.probe[0].what), "bogus"));
	/* Of a text that nobody typed no column is told. */
	assert_null(strstr(said(&f.w->model.probe[0].what), "column"));
	assert_string_equal(f.w->e.text, "");
	for (size_t i = 0; i < f.s->set.n; i++) {
		assert_string_not_equal(f.s->set.event[i].pmu, "uncore_imc_0");
		assert_false(f.s->event[i].requested);
		others = true;
	}
	assert_true(others);
	end(&f);
}

/* ---- where units are ---- */

static void expect_row(const struct pm_value *row, const int64_t *want, uint32_t n)
{
	assert_int_equal(row->array.n, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(want[i] < 0 ? row->array.item[i].s64 : (int64_t)row->array.item[i].u64, want[i]);
}

/* Root ports and the functions below them, or why these are not known. */
static void root_complexes_are_recorded(void **state)
{
	struct pci_port port[2] = { { .at = { 2, 0x8000 },
				      .bus = 1,
				      .segment = 2,
				      .rp = 3,
				      .rc = 4,
				      .socket = 5,
				      .secondary = 90,
				      .subordinate = 91,
				      .node = -1 },
				    { .at = { 6, 7 }, .node = 8 } };
	struct pci_function function = {
		.at = { 2, 0x8100 }, .port = 1, .class = 0x20000, .vendor = 0x10de, .device = 9
	};
	struct pci_map map = { .state = PCI_KNOWN, .port = port, .n_ports = 2, .function = &function };
	static const struct {
		enum pci_state state;
		uint32_t configs, probes;
		uint16_t reason;
	} unknown[] = {
		{ PCI_ABSENT, 0, 0, PM_OK },
		{ PCI_NO_SUCH, 1, 0, PM_REASON_NOT_SUPPORTED },
		{ PCI_NEEDS_ROOT, 1, 1, PM_REASON_NO_PERMISSION },
	};
	const struct pm_config *c;
	struct fixture f;

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		begin(&f, "cs");
		map.state = unknown[i].state;
		pci_map_record(&map, &f.w->plan);
		assert_int_equal(f.w->model.n_configs, unknown[i].configs);
		assert_int_equal(f.w->model.n_probes, unknown[i].probes);
		if (unknown[i].configs) {
			assert_string_equal(f.w->model.config[0].name, "pci.root_ports");
			assert_int_equal(f.w->model.config[0].reason, unknown[i].reason);
		}
		if (unknown[i].probes)
			assert_int_equal(f.w->model.probe[0].reason, unknown[i].reason);
		end(&f);
	}
	map.state = PCI_KNOWN;
	for (map.n_functions = 0; map.n_functions < 2; map.n_functions++) {
		begin(&f, "cs");
		pci_map_record(&map, &f.w->plan);
		assert_int_equal(f.w->model.n_configs, 1 + map.n_functions);
		c = &f.w->model.config[0];
		assert_string_equal(c->name, "pci.root_ports");
		assert_int_equal(c->value.array.n, 2);
		expect_row(&c->value.array.item[0], (int64_t[]){ 2, 0x8000, 1, 2, 3, 4, 5, -1 }, 8);
		expect_row(&c->value.array.item[1], (int64_t[]){ 6, 7, 0, 0, 0, 0, 0, 8 }, 8);
		if (map.n_functions) {
			assert_string_equal(c[1].name, "pci.functions");
			assert_int_equal(c[1].value.array.n, 1);
			expect_row(&c[1].value.array.item[0], (int64_t[]){ 2, 0x8100, 1, 0x20000, 0x10de, 9 }, 6);
		}
		end(&f);
	}
}

/* ---- who reads them ---- */

static uint64_t sampled(struct fixture *f, struct perf_group *g, enum sampling how, uint64_t interval_ns)
{
	f->w->options.sample.sampling = how;
	f->w->options.sample.interval_ns = interval_ns;
	g->sample_ns = 0;
	f->s->group = &g;
	f->s->n_groups = 1;
	perf_choose_sampling(f->s, &f->w->options.sample);
	f->s->group = NULL;
	f->s->n_groups = 0;
	return g->sample_ns;
}

static void sampling_has_limits(void **state)
{
	static const struct {
		enum sampling how;
		uint64_t interval_ns;
		bool sampled;
	} cases[] = {
		{ SAMPLING_READER, 10 * MS, false },      { SAMPLING_KERNEL, 9999, false },
		{ SAMPLING_KERNEL, 10000, true },         { SAMPLING_KERNEL, 500 * MS, true },
		{ SAMPLING_KERNEL, 500 * MS + 1, false }, { SAMPLING_AUTO, 50 * MS + 1, false },
		{ SAMPLING_AUTO, 50 * MS, true },
	};
	struct event ev = { .type = PERF_TYPE_SOFTWARE, .pmu = (char *)"software" };
	struct perf_event event = { .ev = &ev }, *member[] = { &event };
	uint32_t cpu = 0;
	struct perf_group g = { .member = member, .n = 1, .way = PERF_BY_READ, .cpus = { .cpu = &cpu, .n = 1 } };
	struct fixture f;

	begin(&f, "cs");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		n_opened = n_told = 0;
		assert_int_equal(sampled(&f, &g, cases[i].how, cases[i].interval_ns),
				 cases[i].sampled ? cases[i].interval_ns : 0);
		assert_int_equal(g.n_rows, 0);
	}
	assert_int_equal(f.w->model.n_configs, 0);
	free(g.row);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_are_those_of_the_options),
		cmocka_unit_test(texts_come_from_several_options),
		cmocka_unit_test(defaults_leave_out_what_they_cannot_read),
		cmocka_unit_test(root_complexes_are_recorded),
		cmocka_unit_test(sampling_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
