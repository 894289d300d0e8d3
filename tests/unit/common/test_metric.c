/* Walks the tables of metrics, and looks at some of them. */
#include <sys/stat.h>

#include "common/catalog/catalog.h"
#include "common/catalog/msr.h"
#include "common/catalog/pmu_class.h"
#include "common/metric/expr.h"
#include "common/metric/metric.h"
#include "common/names.h"
#include "tests/unit/lib/catalog_msr.h"
#include "tests/unit/lib/metric_row.h"
#include "tests/unit/lib/test.h"

/* Events that `perf stat` counts by default or with -d -d -d; their names are perf's, so no catalog has them. */
/* clang-format off */
static const char *const perf_events[] = {
	"task-clock", "context-switches", "cpu-migrations", "page-faults", "cycles", "instructions", "branches",
	"branch-misses", "stalled-cycles-frontend", "stalled-cycles-backend", "cache-references", "cache-misses",
	"L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses", "L1-icache-loads",
	"L1-icache-load-misses", "dTLB-loads", "dTLB-load-misses", "iTLB-loads", "iTLB-load-misses",
	"L1-dcache-prefetches", "L1-dcache-prefetch-misses",
	/* Of the PMUs of the kernel that count what registers count. */
	"msr/smi/", "cstate_core/c1-residency/", "cstate_core/c3-residency/", "cstate_core/c6-residency/",
	"cstate_core/c7-residency/", "cstate_pkg/c2-residency/", "cstate_pkg/c3-residency/",
	"cstate_pkg/c6-residency/", "cstate_pkg/c7-residency/", "cstate_pkg/c8-residency/",
	"cstate_pkg/c9-residency/", "cstate_pkg/c10-residency/", "power/energy-pkg/", "power/energy-cores/",
	"cpu/event=0x24,umask=0xff/", "cpu/event=0x24,umask=0xdf/", "cpu/event=0x24,umask=0x5f/",
	"power/energy-gpu/", "power/energy-ram/", "power/energy-psys/", "power_core/energy-core/",
	"cpu-clock", "cycles-t", "cycles-ct", "tx-start", "el-start", "msr/aperf/", "slots",
	"topdown-retiring", "topdown-bad-spec", "topdown-fe-bound", "topdown-be-bound", "topdown-heavy-ops",
	"topdown-br-mispredict", "topdown-fetch-lat", "topdown-mem-bound", "topdown-total-slots",
	"topdown-fetch-bubbles", "topdown-slots-issued", "topdown-slots-retired", "topdown-recovery-bubbles",
	"cpu_cycles", "stall_slot", "stall_slot_frontend", "stall_slot_backend", "op_retired", "op_spec",
};
/* clang-format on */

/* Numbers that report/ takes from the registers of a recording; a test there holds the two lists together. */
static const char *const literals[] = {
	"base_hz",          "tsc_tweak",      "perf_factor",    "pc6_in_pc7",     "crystal_hz",
	"rapl_energy_unit", "rapl_dram_unit", "rapl_psys_unit", "rapl_time_unit", "amd_energy_unit",
	"tj_max",           "slots",          "core_zone",      "counts_cc3",     "counts_cc7",
};

/* Families, and the name of a counter of each. */
static const struct {
	const char *family, *counter;
} families[] = {
	{ "cpuidle.usage", "cpuidle.usage.c1e" },
	{ "cpuidle.time", "cpuidle.time.c1e" },
	{ "cpuidle.above", "cpuidle.above.c1e" },
	{ "cpuidle.below", "cpuidle.below.c1e" },
	{ "interrupts.irq", "interrupts.loc" },
	{ "softirqs.vec", "softirqs.net_rx" },
	{ "uncorefreq.cluster", "uncorefreq.cluster.0_1" },
};

/* The catalog's '*' takes one member of a family; the rules of vmstat take names of their own kind. */
static bool pattern_matches(const char *pattern, const char *name)
{
	const char *star = strchr(pattern, '*');
	size_t before = star ? (size_t)(star - pattern) : strlen(pattern);

	if (!star)
		return !strcmp(pattern, name);
	return !strncmp(pattern, name, before) && name[before] && !star[1] && !strchr(name + before, '.');
}

static bool is_literal(const char *name)
{
	for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++)
		if (!strcmp(literals[i], name))
			return true;
	return false;
}

/* "nvidia_ucf/mem_bytes_rd/" */
static bool is_class_event(const char *name)
{
	const char *slash = strchr(name, '/');
	const struct pmu_class *c;
	char class[64], event[64];

	if (!slash || sscanf(name, "%63[^/]/%63[^/]/", class, event) != 2 || name[strlen(name) - 1] != '/')
		return false;
	c = pmu_class_named(class);
	return c && pmu_class_event(c, event);
}

static bool is_known(const char *name)
{
	/* What report/metric/bind.c makes of a counter is known with it. */
	static const char *const made[] = { ".readout", ".celsius", ".joules", ".seconds", ".in_c6", ".worst" };
	static const char *const alone[] = { "reading.time", "reading.us", "cpu.apic_id", "cpu.x2apic_id" };
	size_t len = strlen(name);
	char counter[64];

	for (size_t i = 0; i < sizeof(alone) / sizeof(alone[0]); i++)
		if (!strcmp(name, alone[i]))
			return true;
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		size_t end = strlen(made[i]);

		if (len <= end || len >= sizeof(counter) || strcmp(name + len - end, made[i]))
			continue;
		memcpy(counter, name, len - end);
		counter[len - end] = 0;
		name = counter;
		break;
	}
	if (is_class_event(name) || (!strncmp(name, "msr.", 4) && catalog_msr_find(name)))
		return true;
	for (size_t i = 0; i < sizeof(perf_events) / sizeof(perf_events[0]); i++)
		if (!strcmp(perf_events[i], name))
			return true;
	for (const struct catalog_table *t = catalog_tables; t->source; t++)
		for (size_t i = 0; i < t->n; i++)
			if (pattern_matches(t->row[i].name, name))
				return true;
	return false;
}

/* Behind a blank, '*' multiplies. */
static void replace(struct buf *out, const char *text, const char *with)
{
	for (const char *c = text; *c; c++)
		if (*c == '*' && (c == text || c[-1] != ' '))
			buf_addstr(out, with);
		else
			buf_addch(out, *c);
}

/* `text` for one member of the row's family, as report/ makes it. */
static void instantiate(struct buf *out, const struct metric *m, const char *text)
{
	size_t i = 0;

	if (!m->each) {
		buf_addstr(out, text);
		return;
	}
	while (i < sizeof(families) / sizeof(families[0]) && strcmp(families[i].family, m->each))
		i++;
	if (i == sizeof(families) / sizeof(families[0]))
		fail_msg("%s: no source has the family %s", m->name, m->each);
	replace(out, text, strrchr(families[i].counter, '.') + 1);
}

/* system(x) wants a metric of a row before it: so none asks for itself. */
static bool is_before(const char *name, const struct metric *m)
{
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (&t->row[i] == m || !strcmp(t->row[i].name, name))
				return &t->row[i] != m;
	return false;
}

static void check_formula(const struct metric *m, const char *text)
{
	const struct expr_input *in;
	struct buf formula = BUF_INIT;
	struct error e = { 0 };
	struct expr *x;
	size_t n;

	instantiate(&formula, m, text);
	if (expr_parse(&x, buf_str(&formula), &e))
		fail_msg("%s: %s: %s", m->name, buf_str(&formula), e.text);
	in = expr_inputs(x, &n);
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++)
		if (in[i].aspect == EXPR_SYSTEM  ? !is_before(in[i].name, m) :
		    in[i].aspect == EXPR_LITERAL ? !is_literal(in[i].name) :
						   !is_known(in[i].name))
			fail_msg("%s: there is no counter %s", m->name, in[i].name);
		else if (in[i].by && !is_known(in[i].by))
			fail_msg("%s: there is no counter %s", m->name, in[i].by);
	expr_free(x);
	buf_release(&formula);
}

/* Formulas with ';' between them. */
static size_t count_of(const char *formulas)
{
	size_t n = 1;

	for (; *formulas; formulas++)
		n += *formulas == ';';
	return n;
}

static void check_formulas(const struct metric *m, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ";");
		char *one = strndup(list, len);

		assert_non_null(one);
		check_formula(m, one);
		free(one);
		list += len + (list[len] == ';');
	}
}

static void check_words(const struct metric *m, const char *list)
{
	size_t len = list ? strlen(list) : 0;

	if (!list)
		return;
	assert_true(len > 0);
	if (list[0] == ',' || list[len - 1] == ',' || strstr(list, ",,") || strchr(list, ' '))
		fail_msg("%s: '%s' is no comma separated list", m->name, list);
}

static void test_tables(void **state)
{
	struct names names = { 0 }, displays = { 0 };
	size_t defaults = 0, common = 0, tables = 0, uncore[2] = { 0 };

	for (const struct metric_table *t = metric_tables; t->row; t++, tables++) {
		assert_non_null(t->name);
		assert_true(t->n > 0);
		for (size_t i = 0; i < t->n; i++) {
			const struct metric *m = &t->row[i];
			uint32_t seen;

			if (!m->name)
				fail_msg("table %s is longer than its rows", t->name);
			if (m->name[strspn(m->name, m->each ? "abcdefghijklmnopqrstuvwxyz0123456789_.*" :
							      "abcdefghijklmnopqrstuvwxyz0123456789_.")])
				fail_msg("'%s' is no name", m->name);
			if (names_get(&names, m->name, &seen))
				fail_msg("%s is there twice", m->name);
			if (names_get(&displays, m->display, &seen))
				fail_msg("%s: another metric is shown as %s", m->name, m->display);
			assert_int_equal(names_set(&names, m->name, 0), 0);
			assert_int_equal(names_set(&displays, m->display, 0), 0);
			/* Counters are metrics of their own name. */
			if (!m->each && strchr(m->name, '.') && is_known(m->name))
				fail_msg("%s is the name of a counter", m->name);
			if (m->each && (!strchr(m->name, '*') || !strchr(m->display, '*') || !strchr(m->expr, '*')))
				fail_msg("%s: the members of %s would have one name", m->name, m->each);
			if (!m->unit || !*m->unit || !m->help || strlen(m->help) < 10 || strchr(m->help, '\n'))
				fail_msg("%s: unit or help is missing", m->name);
			if (m->help[strlen(m->help) - 1] == '.' || m->precision > 9 || m->scope > METRIC_SYSTEM)
				fail_msg("%s: bad row", m->name);
			check_words(m, m->categories);
			check_words(m, m->aliases);
			check_formula(m, m->expr);
			check_formulas(m, m->otherwise);
			if (m->threshold)
				check_formula(m, m->threshold);
			check_formulas(m, m->threshold_otherwise);
			/* What is judged is judged whatever it was made of. */
			if (m->threshold && m->otherwise &&
			    (!m->threshold_otherwise || count_of(m->threshold_otherwise) != count_of(m->otherwise)))
				fail_msg("%s: not all of its formulas have a threshold", m->name);
			if (!strcmp(t->name, "uncore"))
				common += m->default_on;
			/* No machine has both of these. */
			else if (!strcmp(t->name, "nvidia") || !strcmp(t->name, "grace"))
				uncore[t->name[0] == 'g'] += m->default_on;
			else
				defaults += m->default_on;
		}
	}
	assert_true(tables >= 10);
	/* A table that nobody asked for must fit on a screen: these and the ones for hardware that a machine
	 * may lack. */
	assert_in_range(defaults, 12, 32);
	assert_in_range(common, 3, 10);
	assert_in_range(uncore[0], 12, 24);
	assert_in_range(uncore[1], 12, 24);
	names_release(&names);
	names_release(&displays);
}

/* The value of a formula for given counters; `member` replaces '*'. */
static struct value eval(const char *text, const char *member, const struct expr_input *known, const double *v,
			 size_t n_known)
{
	struct buf formula = BUF_INIT;
	const struct expr_input *in;
	struct value input[32], result;
	struct error e = { 0 };
	struct expr *x;
	size_t n;

	if (member)
		replace(&formula, text, member);
	else
		buf_addstr(&formula, text);
	if (expr_parse(&x, buf_str(&formula), &e))
		fail_msg("%s: %s", text, e.text);
	in = expr_inputs(x, &n);
	assert_true(n <= 32);
	for (size_t i = 0; i < n; i++) {
		input[i] = value_missing(VALUE_NO_INPUT);
		for (size_t k = 0; k < n_known; k++)
			if (in[i].aspect == known[k].aspect && !strcmp(in[i].name, known[k].name))
				input[i] = value_of(v[k]);
	}
	result = expr_eval(x, input);
	expr_free(x);
	buf_release(&formula);
	return result;
}

#define IN(name_, aspect_) \
	{ \
		.name = (char *)name_, .aspect = aspect_ \
	}
#define EVAL(text, member, known, v) eval(text, member, known, v, sizeof(known) / sizeof(known[0]))

/* Numbers that can be worked out by hand. */
static void test_formulas(void **state)
{
	static const struct expr_input stat[] = {
		IN("stat.user", EXPR_VALUE),  IN("stat.nice", EXPR_VALUE),    IN("stat.system", EXPR_VALUE),
		IN("stat.idle", EXPR_VALUE),  IN("stat.iowait", EXPR_VALUE),  IN("stat.irq", EXPR_VALUE),
		IN("stat.steal", EXPR_VALUE), IN("stat.softirq", EXPR_VALUE), IN("stat.idle", EXPR_AGGR_NR),
	};
	static const double seconds[] = { 2, 0.5, 1, 5, 0.5, 0.25, 0.5, 0.25, 2 }; /* of 10 */
	static const struct expr_input idle[] = { IN("cpuidle.time.c1", EXPR_VALUE),
						  IN("cpuidle.time.c1", EXPR_ELAPSED),
						  IN("cpuidle.usage.c1", EXPR_VALUE) };
	static const double c1[] = { 3, 4, 6000 };
	static const struct expr_input perf[] = {
		IN("task-clock", EXPR_VALUE),
		IN("task-clock", EXPR_RATE),
		IN("cycles", EXPR_VALUE),
		IN("context-switches", EXPR_VALUE),
	};
	static const double counts[] = { 500, 250, 1.5e9, 1000 }; /* 500 ms in 2 s */

	assert_true(EVAL(metric_row("util")->expr, NULL, stat, seconds).v == 45);
	assert_true(EVAL(metric_row("util.user")->expr, NULL, stat, seconds).v == 25);
	assert_true(EVAL(metric_row("util.system")->expr, NULL, stat, seconds).v == 15);
	assert_true(EVAL(metric_row("util.iowait")->expr, NULL, stat, seconds).v == 5);
	assert_true(EVAL(metric_row("util.steal")->expr, NULL, stat, seconds).v == 5);
	assert_true(EVAL(metric_row("cpus_busy")->expr, NULL, stat, seconds).v == 0.9);
	assert_true(EVAL(metric_row("idle.*.residency")->expr, "c1", idle, c1).v == 75);
	assert_true(EVAL(metric_row("idle.*.duration")->expr, "c1", idle, c1).v == 500);
	assert_true(EVAL(metric_row("cpus_utilized")->expr, NULL, perf, counts).v == 0.25);
	assert_true(EVAL(metric_row("cycles_frequency")->expr, NULL, perf, counts).v == 3);
	assert_true(EVAL(metric_row("cs_per_second")->expr, NULL, perf, counts).v == 2000);
	assert_int_equal(EVAL(metric_row("insn_per_cycle")->expr, NULL, perf, counts).reason, VALUE_NO_INPUT);
}

static const char vendor[] =
	"[ { \"EventName\": \"INST\", \"EventCode\": \"0xC0\" },\n"
	"  { \"MetricName\": \"arch_only\", \"ArchStdEvent\": \"x\" },\n"
	"  { \"MetricName\": \"IPC\", \"MetricExpr\": \"INST / CYC\", \"MetricGroup\": \"Summary;;TmaL1;\",\n"
	"    \"BriefDescription\": \"Instructions a cycle\", \"MetricThreshold\": \"IPC < 1 & stall > 0.5\" },\n"
	"  { \"MetricName\": \"stall\", \"MetricExpr\": \"1 - busy\", \"ScaleUnit\": \"100%\" },\n"
	"  { \"MetricName\": \"busy\", \"MetricExpr\": \"cpu@INST\\\\,cmask\\\\=1@ / (CYC if #SMT_on else 2)\",\n"
	"    \"AggregationMode\": \"PerCore\" },\n"
	"  { \"MetricName\": \"lat ency\", \"MetricExpr\": \"2 * stall / busy\", \"ScaleUnit\": \"1e9ns\" },\n"
	"  { \"MetricName\": \"ipc\", \"MetricExpr\": \"has_event(busy)\", \"ScaleUnit\": \"1GHz\" } ]";

static void test_vendor(void **state)
{
	struct metric_set set;
	struct error e = { 0 };

	if (metric_set_load_text(&set, vendor, strlen(vendor), &e))
		fail_msg("%s", e.text);
	assert_int_equal(set.n, 5);
	assert_string_equal(set.row[0].name, "ipc");
	assert_string_equal(set.row[0].display, "IPC");
	assert_string_equal(set.row[0].aliases, "IPC");
	assert_string_equal(set.row[0].categories, "Summary,TmaL1");
	assert_string_equal(set.row[0].expr, "INST / CYC");
	assert_string_equal(set.row[0].unit, "");
	assert_string_equal(set.row[0].help, "Instructions a cycle");
	/* The threshold speaks of values before ScaleUnit. */
	assert_string_equal(set.row[0].threshold,
			    "(INST / CYC) < 1 & (1 - (cpu@INST\\,cmask\\=1@ / (CYC if #SMT_on else 2))) > 0.5");
	assert_string_equal(set.row[1].expr, "(1 - (cpu@INST\\,cmask\\=1@ / (CYC if #SMT_on else 2))) * 100");
	assert_string_equal(set.row[1].unit, "%");
	assert_null(set.row[1].threshold);
	assert_null(set.row[1].categories);
	assert_int_equal(set.row[2].scope, METRIC_CORE);
	assert_string_equal(set.row[3].name, "lat_ency");
	assert_string_equal(set.row[3].unit, "ns");
	assert_non_null(strstr(set.row[3].expr, ") * 1000000000"));
	assert_string_equal(set.row[4].name, "ipc_2");
	assert_string_equal(set.row[4].unit, "GHz");
	assert_string_equal(set.row[4].expr, "has_event(busy)"); /* asks for an event, not for the metric */
	assert_false(set.row[0].default_on);
	metric_set_release(&set);
	assert_int_equal(set.n, 0);
}

/* The expanded formulas have the values that their parts have by hand. */
static void test_vendor_values(void **state)
{
	static const struct expr_input in[] = { IN("cpu/INST,cmask=1/", EXPR_VALUE), IN("smt_on", EXPR_LITERAL),
						IN("CYC", EXPR_VALUE) };
	static const double v[] = { 1, 0, 8 };
	struct metric_set set;

	assert_int_equal(metric_set_load_text(&set, vendor, strlen(vendor), NULL), 0);
	assert_true(EVAL(set.row[2].expr, NULL, in, v).v == 0.5);
	assert_true(EVAL(set.row[1].expr, NULL, in, v).v == 50);
	assert_true(EVAL(set.row[3].expr, NULL, in, v).v == 2e9);
	metric_set_release(&set);
}

UNIT_TESTS(cmocka_unit_test(test_tables), cmocka_unit_test(test_formulas), cmocka_unit_test(test_vendor),
	   cmocka_unit_test(test_vendor_values))
