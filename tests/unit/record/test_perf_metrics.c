/* Which events -M opens, and in which groups, on a machine that is a folder. */
#include <sys/syscall.h>

#include "record/perf/perf_source.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

#define PMU "/sys/bus/event_source/devices/"

/* A kernel whose groups have room for so many events of one PMU, and that counts none with the code `never`. 0: that of
 * the machine. What was opened is kept. */
static unsigned room, used, n_opened;
static uint64_t never;
static struct {
	union perf_attr attr;
	int pid, cpu, leader;
} opened[64];

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	const union perf_attr *attr = (const union perf_attr *)a;

	if (number != SYS_perf_event_open || !room)
		return __real_syscall(number, a, b, c, d, e);
	assert_true(n_opened < 64);
	opened[n_opened].attr = *attr;
	opened[n_opened].pid = (int)b;
	opened[n_opened].cpu = (int)c;
	opened[n_opened++].leader = (int)d;
	used = (int)d < 0 ? 0 : used;
	if ((never && attr->a.config == never) || used == room) {
		errno = EINVAL;
		return -1;
	}
	used++;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Whether it has a watchdog. */
static bool watchdog;

bool __real_perf_nmi_watchdog(const struct root *root);
bool __wrap_perf_nmi_watchdog(const struct root *root);

bool __wrap_perf_nmi_watchdog(const struct root *root)
{
	return room ? watchdog : __real_perf_nmi_watchdog(root);
}

struct machine {
	char dir[32], file[64];
	struct root root;
	struct record_options options;
	char *metrics[4], *files[2];
	struct pm_model model;
	uint32_t cpu;
	struct plan plan;
	struct perf_source s;
	struct error e;
};

static const char formulas[] =
	"[ { \"MetricName\": \"ipc\", \"MetricExpr\": \"cpu@inst@ / cpu@cyc@\", \"MetricGroup\": \"Top;Pair\" },"
	"  { \"MetricName\": \"miss\", \"MetricExpr\": \"cpu@miss@ / cpu@inst@\", \"MetricGroup\": \"Top\","
	"    \"MetricThreshold\": \"miss > 0.1 & cpu@branch@ > 1\" },"
	"  { \"MetricName\": \"all\", \"MetricExpr\": \"cpu@inst@ + cpu@miss@ + cpu@cyc@\","
	"    \"MetricGroup\": \"Big\" },"
	"  { \"MetricName\": \"apart\", \"MetricExpr\": \"cpu@inst@ / cpu@branch@\","
	"    \"MetricConstraint\": \"NO_GROUP_EVENTS\" },"
	"  { \"MetricName\": \"dog\", \"MetricExpr\": \"cpu@inst@ / cpu@branch@\","
	"    \"MetricConstraint\": \"NO_GROUP_EVENTS_NMI\" },"
	"  { \"MetricName\": \"twins\", \"MetricExpr\": \"cpu@inst@ / cpu@branch@\","
	"    \"MetricConstraint\": \"NO_GROUP_EVENTS_SMT\" },"
	"  { \"MetricName\": \"edge\", \"MetricExpr\": \"cpu@inst@ / cpu@branch@\","
	"    \"MetricThreshold\": \"edge > 1\", \"MetricConstraint\": \"NO_THRESHOLD_AND_NMI\" },"
	"  { \"MetricName\": \"threads\", \"MetricExpr\": \"cpu@inst@ if #smt_on else cpu@cyc@\" },"
	"  { \"MetricName\": \"unit\", \"MetricExpr\": \"nvidia_ucf@mem_bytes_rd@ / nvidia_ucf@cycles@\" },"
	"  { \"MetricName\": \"writes\", \"MetricExpr\": \"nvidia_ucf@mem_bytes_wr@ / nvidia_ucf@cycles@\" },"
	"  { \"MetricName\": \"crowd\", \"MetricExpr\": \"cpu@inst@ / cpu@miss@\", \"MetricGroup\": \"Wide\","
	"    \"MetricgroupNoGroup\": \"Wide\" },"
	"  { \"MetricName\": \"slotted\", \"MetricExpr\": \"cpu@inst@ / slots\" },"
	"  { \"MetricName\": \"mixed\","
	"    \"MetricExpr\": \"cpu@inst@ / context\\\\-switches * mem@read@ / cpu@cyc@ / mem@write@\" },"
	"  { \"MetricName\": \"maybe\", \"MetricExpr\": \"cpu@nope@ if has_event(cpu@nope@) else cpu@cyc@\" },"
	"  { \"MetricName\": \"never\", \"MetricExpr\": \"cpu@nope@ / cpu@inst@\", \"MetricGroup\": \"Top;None\" },"
	"  { \"MetricName\": \"facts\", \"MetricExpr\": \"#num_cpus * duration_time * stat.user\" } ]";

static int set_up(void **state)
{
	static const char *const event[] = { "cyc", "inst", "miss", "branch", "slots" };
	struct machine *m = calloc(1, sizeof(*m));
	char name[80];

	assert_non_null(m);
	sysroot_make(m->dir, NULL);
	sysroot_put(m->dir, PMU "cpu/type", "4\n");
	sysroot_put(m->dir, PMU "cpu/format/event", "config:0-7\n");
	for (size_t i = 0; i < sizeof(event) / sizeof(event[0]); i++) {
		snprintf(name, sizeof(name), PMU "cpu/events/%s", event[i]);
		sysroot_put(m->dir, name, "event=%zu\n", i + 1);
	}
	sysroot_put(m->dir, PMU "mem_0/type", "20\n");
	sysroot_put(m->dir, PMU "mem_0/cpumask", "0\n");
	sysroot_put(m->dir, PMU "mem_0/format/event", "config:0-7\n");
	sysroot_put(m->dir, PMU "mem_1/type", "21\n");
	sysroot_put(m->dir, PMU "mem_1/cpumask", "0\n");
	sysroot_put(m->dir, PMU "mem_1/format/event", "config:0-7\n");
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), PMU "mem_%d/events/read", i);
		sysroot_put(m->dir, name, "event=1\n");
		snprintf(name, sizeof(name), PMU "mem_%d/events/write", i);
		sysroot_put(m->dir, name, "event=2\n");
	}
	sysroot_put(m->dir, PMU "software/type", "1\n");
	sysroot_put(m->dir, "/metrics.json", "%s", formulas);
	snprintf(m->file, sizeof(m->file), "%s/metrics.json", m->dir);
	m->files[0] = m->file;
	root_init(&m->root, m->dir);
	*state = m;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *m = *state;

	root_release(&m->root);
	sysroot_remove(m->dir);
	free(m);
	return 0;
}

static int ask(struct machine *m, const char *metrics)
{
	/* Whose counters are no events. */
	static const struct source_ops stat = { .name = "stat" };
	static const struct source others[] = { { .ops = &stat } };
	int err;

	m->metrics[0] = (char *)(uintptr_t)metrics;
	m->options.perf.metrics = m->metrics;
	m->options.perf.metric_files = m->files;
	m->options.target = TARGET_SYSTEM;
	m->options.privacy = (char *)(uintptr_t) "default";
	m->e = (struct error){ 0 };
	pm_model_init(&m->model);
	m->plan = (struct plan){ .options = &m->options,
				 .root = &m->root,
				 .model = &m->model,
				 .cpus = { .cpu = &m->cpu, .n = 1 },
				 .sources = others,
				 .n_sources = 1 };
	perf_pmus_read(&m->s.pmus, &m->root);
	/* On a folder nothing is opened, unless it passes for the machine. */
	m->root.emulated = !room;
	err = perf_events_read(&m->s, &m->plan, "", &m->e);
	m->root.emulated = true;
	return err;
}

static void done(struct machine *m)
{
	free(m->s.event);
	event_set_release(&m->s.set);
	buf_release(&m->s.no_event);
	perf_pmus_release(&m->s.pmus);
	pm_model_release(&m->model);
	m->s = (struct perf_source){ 0 };
}

/* The events in order, as formulas call them; "@n" behind those of the n-th group. */
static void expect(struct machine *m, const char *metrics, const char *events)
{
	struct buf out = BUF_INIT;
	uint32_t group[16] = { 0 }, n_groups = 0;
	int err = ask(m, metrics);

	if (err)
		fail_msg("%s: %s", metrics, m->e.text);
	for (size_t i = 0; i < m->s.set.n; i++) {
		const struct event *ev = &m->s.set.event[i];
		uint32_t k = 0;

		assert_non_null(ev->metric_id);
		assert_true(m->s.event[i].requested);
		/* What does not fit is taken apart. */
		assert_true(!ev->group == !(ev->mods & EVENT_MOD_WEAK));
		buf_printf(&out, "%s%s", i ? " " : "", ev->metric_id);
		if (!ev->group)
			continue;
		while (k < n_groups && group[k] != ev->group)
			k++;
		assert_in_range(k, 0, 15);
		if (k == n_groups)
			group[n_groups++] = ev->group;
		buf_printf(&out, "@%u", k + 1);
	}
	if (strcmp(buf_str(&out), events))
		fail_msg("%s:\n%s, but must be\n%s", metrics, buf_str(&out), events);
	buf_release(&out);
}

static void a_group_for_each_metric(void **state)
{
	struct machine *m = *state;

	expect(m, "ipc", "cpu/inst/@1 cpu/cyc/@1");
	done(m);
	/* The threshold's events, too. */
	expect(m, "miss", "cpu/miss/@1 cpu/inst/@1 cpu/branch/@1");
	done(m);
	m->options.perf.metric_no_threshold = true;
	expect(m, "MISS", "cpu/miss/@1 cpu/inst/@1");
	done(m);
	/* Slots lead, whatever the formula names first. */
	expect(m, "slotted", "cpu/inst/@1 slots@1");
	done(m);
	/* What other sources read is there anyway; alone it has intervals of its own. */
	expect(m, "facts", "duration_time");
	done(m);
	expect(m, "maybe", "cpu/cyc/");
	done(m);
}

static void metrics_share_a_group_that_has_all(void **state)
{
	struct machine *m = *state;

	m->options.perf.metric_no_threshold = true;
	expect(m, "ipc,miss,Big", "cpu/inst/@1 cpu/miss/@1 cpu/cyc/@1");
	done(m);
	expect(m, "ipc,miss", "cpu/inst/@1 cpu/cyc/@1 cpu/miss/@2 cpu/inst/@2");
	done(m);
	expect(m, "ipc,ipc,Pair", "cpu/inst/@1 cpu/cyc/@1");
	done(m);
	m->options.perf.metric_no_merge = true;
	expect(m, "ipc,Big", "cpu/inst/@1 cpu/miss/@1 cpu/cyc/@1 cpu/inst/@2 cpu/cyc/@2");
	done(m);
	m->options.perf.metric_no_merge = false;
	m->options.perf.metric_no_group = true;
	expect(m, "ipc,Big", "cpu/inst/ cpu/cyc/ cpu/miss/");
	done(m);
	m->options.perf.metric_no_merge = true;
	expect(m, "ipc,miss", "cpu/inst/ cpu/cyc/ cpu/miss/ cpu/inst/");
	done(m);
}

static void constraints_keep_events_apart(void **state)
{
	struct machine *m = *state;

	expect(m, "apart", "cpu/inst/ cpu/branch/");
	done(m);
	expect(m, "dog", "cpu/inst/@1 cpu/branch/@1");
	done(m);
	sysroot_put(m->dir, "/proc/sys/kernel/nmi_watchdog", "1\n");
	expect(m, "dog", "cpu/inst/ cpu/branch/");
	done(m);
	/* As one of its group, not for itself. */
	expect(m, "Wide", "cpu/inst/ cpu/miss/");
	done(m);
	expect(m, "crowd", "cpu/inst/@1 cpu/miss/@1");
	done(m);
}

/* Threads of a core, and what depends on them. */
static void threads_of_a_core_matter(void **state)
{
	struct machine *m = *state;

	for (int smt = 0; smt < 2; smt++) {
		sysroot_put(m->dir, "/sys/devices/system/cpu/smt/active", "%d\n", smt);
		expect(m, "twins", smt ? "cpu/inst/ cpu/branch/" : "cpu/inst/@1 cpu/branch/@1");
		done(m);
		expect(m, "threads", smt ? "cpu/inst/" : "cpu/cyc/");
		done(m);
	}
	for (int dog = 0; dog < 2; dog++)
		for (int without = 0; without < 2; without++) {
			sysroot_put(m->dir, "/proc/sys/kernel/nmi_watchdog", "%d\n", dog);
			m->options.perf.metric_no_threshold = without;
			expect(m, "edge", dog && !without ? "cpu/inst/ cpu/branch/" : "cpu/inst/@1 cpu/branch/@1");
			done(m);
		}
}

/* A group holds events of one PMU; of an uncore PMU with two instances one group on each. */
static void pmus_have_groups_of_their_own(void **state)
{
	struct machine *m = *state;

	expect(m, "mixed",
	       "cpu/inst/@1 cpu/cyc/@1 mem/read/@2 mem/read/@3 mem/write/@2 mem/write/@3 context-switches");
	assert_int_equal(m->s.set.event[2].type, m->s.set.event[4].type);
	assert_int_not_equal(m->s.set.event[2].type, m->s.set.event[3].type);
	done(m);
}

/* What the kernel takes together is one group; what it refuses takes turns, but for a part that still fits. */
static void the_kernel_says_what_fits(void **state)
{
	static const struct {
		unsigned room;
		bool watchdog;
		uint64_t never;
		const char *metrics, *events;
	} cases[] = {
		{ 3, false, 0, "all", "cpu/inst/@1 cpu/miss/@1 cpu/cyc/@1" },
		{ 2, false, 0, "all", "cpu/inst/ cpu/miss/ cpu/cyc/" },
		/* Its event needs a counter, too, where the core has it. */
		{ 3, true, 0, "all", "cpu/inst/ cpu/miss/ cpu/cyc/" },
		{ 4, true, 0, "all", "cpu/inst/@1 cpu/miss/@1 cpu/cyc/@1" },
		{ 2, true, 0, "mixed",
		  "mem/read/@1 mem/read/@2 mem/write/@1 mem/write/@2 cpu/inst/ context-switches cpu/cyc/" },
		/* What cannot be counted at all takes no room. */
		{ 2, false, 3, "all", "cpu/inst/@1 cpu/miss/@1 cpu/cyc/@1" },
		/* Metrics share a group while there is room. */
		{ 3, false, 0, "ipc,crowd", "cpu/inst/@1 cpu/cyc/@1 cpu/miss/@1" },
		{ 2, false, 0, "ipc,crowd", "cpu/inst/@1 cpu/cyc/@1 cpu/inst/@2 cpu/miss/@2" },
		{ 4, false, 0, "ipc,miss", "cpu/miss/@1 cpu/inst/@1 cpu/branch/@1 cpu/cyc/@1" },
		/* A threshold's event does not split a formula. */
		{ 2, false, 0, "miss", "cpu/miss/@1 cpu/inst/@1 cpu/branch/" },
		/* Parts of one without room are not opened twice. */
		{ 2, false, 0, "all,ipc", "cpu/inst/@1 cpu/cyc/@1 cpu/miss/" },
		{ 2, false, 0, "all,ipc,crowd", "cpu/inst/@1 cpu/cyc/@1 cpu/miss/" },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		watchdog = cases[i].watchdog;
		room = cases[i].room;
		never = cases[i].never;
		n_opened = 0;
		expect(m, cases[i].metrics, cases[i].events);
		done(m);
		/* For tasks, as these need no rights, and without the kernel; a unit on its CPU. */
		for (unsigned k = 0; k < n_opened; k++) {
			bool core = opened[k].attr.a.type < 20;

			assert_int_equal(opened[k].pid, core ? 0 : -1);
			assert_int_equal(opened[k].cpu, core ? -1 : 0);
			assert_int_equal(opened[k].attr.a.exclude_kernel, core);
			assert_int_equal(opened[k].attr.a.exclude_hv, core);
			assert_int_equal(opened[k].attr.a.exclude_user, 0);
			assert_int_equal(opened[k].attr.a.disabled, 0);
		}
		room = 0;
	}
}

/* Shares of slots need no counter, but their slots, first. */
static void slots_lead_their_shares(void **state)
{
	struct machine *m = *state;

	sysroot_put(m->dir, PMU "cpu/format/event", "config:0-15\n");
	sysroot_put(m->dir, PMU "cpu/events/slots", "event=0x400\n");
	sysroot_put(m->dir, PMU "cpu/events/share", "event=0x8100\n");
	sysroot_put(m->dir, "/metrics.json",
		    "[ { \"MetricName\": \"part\", \"MetricExpr\": \"cpu@inst@ / cpu@share@\" } ]");
	room = 3;
	n_opened = 0;
	assert_int_equal(ask(m, "part"), 0);
	room = 0;
	assert_int_equal(m->s.set.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(m->s.set.event[i].group, m->s.set.event[0].group);
	assert_int_equal(m->s.set.event[2].config[0], 0x400);
	assert_int_equal(opened[0].attr.a.config, 0x400);
	assert_int_equal(opened[0].leader, -1);
	done(m);
}

/* Units of a class: what a formula needs of each at once. */
static void classes_have_groups_of_their_own(void **state)
{
	static const char *const event[] = { "cycles", "mem_bytes_rd", "mem_bytes_wr" };
	struct machine *m = *state;
	char name[80];

	for (int unit = 0; unit < 2; unit++) {
		snprintf(name, sizeof(name), PMU "nvidia_ucf_pmu_%d/type", unit);
		sysroot_put(m->dir, name, "%d\n", 40 + unit);
		snprintf(name, sizeof(name), PMU "nvidia_ucf_pmu_%d/cpumask", unit);
		sysroot_put(m->dir, name, "0\n");
		snprintf(name, sizeof(name), PMU "nvidia_ucf_pmu_%d/format/event", unit);
		sysroot_put(m->dir, name, "config:0-7\n");
		for (size_t i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), PMU "nvidia_ucf_pmu_%d/events/%s", unit, event[i]);
			sysroot_put(m->dir, name, "event=%zu\n", i + 1);
		}
	}
	expect(m, "unit",
	       "nvidia_ucf/mem_bytes_rd/@1 nvidia_ucf/mem_bytes_rd/@2 nvidia_ucf/cycles/@1 nvidia_ucf/cycles/@2");
	done(m);
	/* One clock for all, which comes last. */
	expect(m, "unit,writes",
	       "nvidia_ucf/mem_bytes_rd/@1 nvidia_ucf/mem_bytes_rd/@2 nvidia_ucf/mem_bytes_wr/@1 "
	       "nvidia_ucf/mem_bytes_wr/@2 nvidia_ucf/cycles/@1 nvidia_ucf/cycles/@2");
	done(m);
}

static void what_cannot_be_had_is_named(void **state)
{
	struct machine *m = *state;

	assert_int_equal(ask(m, "never"), -EINVAL);
	assert_non_null(strstr(m->e.text, "metric never"));
	assert_non_null(strstr(m->e.text, "nope"));
	done(m);
	assert_int_equal(ask(m, "ipx"), -ENOENT);
	assert_non_null(strstr(m->e.text, "did you mean ipc?"));
	done(m);
	assert_int_equal(ask(m, "Tpo"), -ENOENT);
	done(m);
	/* Of a group what is there. */
	m->options.perf.metric_no_threshold = true;
	expect(m, "Top", "cpu/inst/@1 cpu/cyc/@1 cpu/miss/@2 cpu/inst/@2");
	assert_int_equal(m->model.n_probes, 1);
	assert_non_null(strstr(said(&m->model.probe[0].what), "never"));
	done(m);
	assert_int_equal(ask(m, "None"), -EINVAL);
	assert_non_null(strstr(m->e.text, "none of the metrics of None can be computed here, such as never: cpu has "
					  "no term"));
	done(m);
	assert_int_equal(ask(m, ","), -EINVAL);
	assert_non_null(strstr(m->e.text, "names no metric"));
	done(m);
	sysroot_put(m->dir, "/metrics.json", "[ {");
	assert_int_equal(ask(m, "ipc"), -EINVAL);
	assert_non_null(strstr(m->e.text, "--metrics-file"));
	done(m);
}

static void the_header_says_what_was_asked(void **state)
{
	struct machine *m = *state;
	const struct pm_value *v;

	expect(m, "miss,cs_per_second", "cpu/miss/@1 cpu/inst/@1 cpu/branch/@1 context-switches cpu-clock");
	v = pm_map_get(&m->model.header, PM_HEADER_METRICS);
	assert_non_null(v);
	assert_int_equal(v->array.n, 2);
	assert_int_equal(v->array.item[0].array.n, 6);
	assert_string_equal(v->array.item[0].array.item[0].str.data, "miss");
	assert_string_equal(v->array.item[0].array.item[2].str.data, "cpu@miss@ / cpu@inst@");
	assert_string_equal(v->array.item[1].str.data, "cs_per_second");
	done(m);
}

/* --pmu-filter is about what one text was expanded to; who names a PMU means it. */
static void a_filter_of_pmus(void **state)
{
	static char *texts[] = { (char *)"mem/read/", (char *)"mem_0/write/,context-switches,cpu/inst/", NULL };
	static const char *const want[] = { "mem_1", "mem_0", "software", "cpu" };
	struct machine *m = *state;
	struct buf out = BUF_INIT;

	m->options.perf.events = texts;
	m->options.perf.pmu_filter = (char *)"mem_1";
	assert_int_equal(ask(m, NULL), 0);
	assert_int_equal(perf_sets_text(&m->s, &m->plan, &out, &m->e), 0);
	assert_int_equal(m->s.set.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(m->s.set.event[i].pmu, want[i]);
	m->options.perf.pmu_filter = (char *)"mem_2";
	assert_int_equal(perf_sets_text(&m->s, &m->plan, &out, &m->e), -ENODEV);
	assert_non_null(strstr(m->e.text, "mem_2"));
	buf_release(&out);
	done(m);
}

/* Codes of another processor may count something else here. */
static void whose_codes_they_are_is_told(void **state)
{
	struct machine *m = *state;

	for (int other = 0; other < 2; other++) {
		if (other)
			setenv("PERF_CPUID", "other-7", 1);
		assert_int_equal(ask(m, "ipc"), 0);
		assert_int_equal(m->model.n_probes, other);
		if (other)
			assert_string_equal(said(&m->model.probe[0].what),
					    "PERF_CPUID: the vendor's events and metrics are those of other-7, and "
					    "this is an unknown CPU");
		done(m);
	}
	unsetenv("PERF_CPUID");
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(a_group_for_each_metric, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(metrics_share_a_group_that_has_all, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(constraints_keep_events_apart, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(threads_of_a_core_matter, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(pmus_have_groups_of_their_own, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(classes_have_groups_of_their_own, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(the_kernel_says_what_fits, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(slots_lead_their_shares, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(what_cannot_be_had_is_named, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(the_header_says_what_was_asked, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(a_filter_of_pmus, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(whose_codes_they_are_is_told, set_up, tear_down))
