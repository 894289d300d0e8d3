/*
 * What perf_event_open refuses, played by a kernel of our own: the linker puts __wrap_syscall in its place
 * (-Wl,--wrap=syscall), so that the program's own path is taken from attr to error. Each errno has to become a reason
 * in the recording, a cure for the user, and nothing else: the events beside it are counted.
 */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/perf_world.h"

#include <sys/syscall.h>

long __real_syscall(long number, long a, long b, long c, long d, long e);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

/* The kernel of the test: software events always work but those with a rule. */
struct rule {
	uint32_t type;
	uint64_t config;
	int error;
	enum { ALWAYS, IN_GROUP, KERNEL, GUEST, PRECISE, ONCE, FROM_SECOND_CPU } when;
};
static struct rule rules[4];
static unsigned n_rules, n_opened, n_failed, n_leaders, most_open;

static bool applies(struct rule *r, const struct perf_event_attr *a, int cpu, int group)
{
	switch (r->when) {
	case ALWAYS:
		return true;
	case IN_GROUP:
		return group >= 0;
	case KERNEL:
		return !a->exclude_kernel;
	case GUEST:
		return a->exclude_guest;
	case PRECISE:
		return a->precise_ip;
	case ONCE:
		return n_failed == 0;
	case FROM_SECOND_CPU:
		return cpu > 0;
	}
	return false;
}

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	const struct perf_event_attr *attr = (const struct perf_event_attr *)a;
	int fd;

	if (number != SYS_perf_event_open)
		return __real_syscall(number, a, b, c, d, e);
	for (unsigned i = 0; i < n_rules; i++)
		if (rules[i].type == attr->type && rules[i].config == (attr->config & 0xffffffff) &&
		    applies(&rules[i], attr, (int)c, (int)d)) {
			n_failed++;
			errno = rules[i].error;
			return -1;
		}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n_opened++;
		n_leaders += (int)d < 0;
		if ((unsigned)fd > most_open)
			most_open = (unsigned)fd;
	}
	return fd;
}

static struct world *begin(const char *events)
{
	struct world *w = world_new(TARGET_SYSTEM, events, NULL, NULL);

	n_opened = n_failed = n_leaders = most_open = 0;
	world_begin(w, NULL);
	return w;
}

static struct world *plan_with(const char *events, struct rule rule)
{
	struct world *w = begin(events);

	rules[0] = rule;
	n_rules = 1;
	if (world_plan(w))
		fail_msg("%s", w->e.text);
	return w;
}

static const struct pm_probe *probe_of(const struct world *w, const char *what)
{
	for (uint32_t i = 0; i < w->model.n_probes; i++)
		if (!strcmp(said(&w->model.probe[i].what), what))
			return &w->model.probe[i];
	fail_msg("nothing was said of %s", what);
	return NULL;
}

static uint64_t invalid(const struct world *w, const char *name)
{
	const struct pm_counter *c = pm_model_counter_named(&w->model, name);

	assert_non_null(c);
	return pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0);
}

static uint64_t group_number(const struct world *w, const char *name)
{
	return pm_map_u64(&pm_model_counter_named(&w->model, name)->attrs, PM_COUNTER_PERF_GROUP, 0);
}

static void done(struct world *w)
{
	n_rules = 0;
	world_end(w, true);
	free(w);
}

/* ---- tests ---- */

static void test_each_error(void **state)
{
	static const struct {
		int error;
		uint16_t reason;
		const char *cure; /* part of it */
	} row[] = {
		{ EACCES, PM_REASON_NO_PERMISSION, "cap" },
		{ EPERM, PM_REASON_NO_PERMISSION, "cap" },
		{ ENOENT, PM_REASON_NOT_SUPPORTED, "pmrec list events" },
		{ ENODEV, PM_REASON_NOT_SUPPORTED, "pmrec list events" },
		{ EOPNOTSUPP, PM_REASON_NOT_SUPPORTED, "modifiers" },
		{ ENXIO, PM_REASON_NOT_SUPPORTED, "online" },
		{ ENOSYS, PM_REASON_NOT_SUPPORTED, "CONFIG_PERF_EVENTS" },
		{ EINVAL, PM_REASON_ERRNO + EINVAL, "terms or modifiers" },
		{ EMFILE, PM_REASON_ERRNO + EMFILE, "ulimit -Hn" },
		{ ENFILE, PM_REASON_ERRNO + ENFILE, "fs.file-max" },
		{ E2BIG, PM_REASON_ERRNO + E2BIG, "newer kernel" },
		{ ENOMEM, PM_REASON_ERRNO + ENOMEM, "fewer events" },
		{ ENOSPC, PM_REASON_ERRNO + ENOSPC, "breakpoints" },
		{ EINTR, PM_REASON_ERRNO + EINTR, "signal" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct rule rule = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, row[i].error, ALWAYS };
		struct world *w = plan_with("context-switches,page-faults,minor-faults", rule);
		const struct pm_probe *p = probe_of(w, "page-faults");

		if (p->reason != row[i].reason || !said(&p->hint) || !strstr(said(&p->hint), row[i].cure))
			fail_msg("errno %d: reason %u, cure '%s'", row[i].error, p->reason, said(&p->hint));
		assert_null(strchr(said(&p->hint), '\n'));
		assert_int_equal(w->model.n_probes, 1);
		assert_int_equal(invalid(w, "page-faults"), row[i].reason);
		assert_int_equal(invalid(w, "context-switches"), 0);
		assert_int_equal(invalid(w, "minor-faults"), 0);
		/* One group of the two that are left, on each CPU. */
		assert_int_equal(count_units(w), w->plan.cpus.n);
		assert_int_equal(group_number(w, "context-switches"), group_number(w, "minor-faults"));
		done(w);
	}
}

/* Cannot stand with the others: a weak group is opened without grouping, another keeps those that can. */
static void test_groups(void **state)
{
	struct rule rule = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, EINVAL, IN_GROUP };
	struct world *w = plan_with("{context-switches,page-faults,minor-faults}:W", rule);

	assert_int_equal(w->model.n_probes, 0);
	assert_int_equal(w->model.n_groups, 3);
	assert_int_not_equal(group_number(w, "context-switches"), group_number(w, "page-faults"));
	assert_int_not_equal(group_number(w, "page-faults"), group_number(w, "minor-faults"));
	assert_int_equal(count_units(w), 3 * w->plan.cpus.n);
	assert_non_null(pm_map_get(&pm_model_counter_named(&w->model, "minor-faults")->attrs, PM_COUNTER_PERF_WEAK));
	done(w);

	w = plan_with("{context-switches,page-faults,minor-faults}", rule);
	assert_int_equal(w->model.n_groups, 1);
	assert_int_equal(invalid(w, "minor-faults"), PM_REASON_ERRNO + EINVAL);
	assert_non_null(strstr(said(&probe_of(w, "minor-faults")->hint), ":W"));
	assert_int_equal(group_number(w, "context-switches"), group_number(w, "page-faults"));
	done(w);

	/* What is refused is told by its own name, where the same event is counted elsewhere. */
	w = plan_with("minor-faults,{context-switches,minor-faults}", rule);
	assert_int_equal(invalid(w, "minor-faults"), 0);
	assert_int_equal(invalid(w, "minor-faults#2"), PM_REASON_ERRNO + EINVAL);
	assert_non_null(strstr(said(&probe_of(w, "minor-faults#2")->hint), ":W"));
	done(w);

	/* The leader of a weak group is refused for itself: it is missing, the others stay together. */
	rule = (struct rule){ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, ENOENT, ALWAYS };
	w = plan_with("{context-switches,page-faults,minor-faults}:W", rule);
	assert_int_equal(invalid(w, "context-switches"), PM_REASON_NOT_SUPPORTED);
	assert_int_equal(w->model.n_groups, 1);
	done(w);
}

static void test_user_only(void **state)
{
	struct rule rule = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, EACCES, KERNEL };
	struct world *w = plan_with("cycles,cycles:k", rule);

	assert_int_equal(invalid(w, "cycles:u"), 0);
	assert_string_equal(pm_model_counter_named(&w->model, "cycles:u")->display, "cycles:u");
	assert_int_equal(invalid(w, "cycles:k"), PM_REASON_NO_PERMISSION);
	done(w);
	/* What happens in the kernel alone is not counted without it. */
	rule = (struct rule){ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, EACCES, KERNEL };
	w = plan_with("context-switches", rule);
	assert_int_equal(invalid(w, "context-switches"), PM_REASON_NO_PERMISSION);
	done(w);
	/* A PMU that cannot leave the kernel out refuses the second try for a reason that does not matter. */
	w = begin("77:5,page-faults");
	rules[0] = (struct rule){ 77, 5, EACCES, KERNEL };
	rules[1] = (struct rule){ 77, 5, EINVAL, ALWAYS };
	n_rules = 2;
	assert_int_equal(world_plan(w), 0);
	assert_int_equal(invalid(w, "77:0x5"), PM_REASON_NO_PERMISSION);
	done(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_error),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_user_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
