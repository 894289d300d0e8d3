#include "tests/unit/lib/stat_worlds.h"
#include "tests/unit/lib/test.h"

struct row {
	const char *name, *unit, *scale, *pmu;
	uint64_t wildcard;
	const char *bpf, *program, *event;
	bool per_pkg, percore, snapshot, broken;
	uint32_t first, n, step; /* CPUs */
};

static const struct row rows[] = {
	{ "cycles", "1", NULL, "cpu", .n = 8 },
	{ "task-clock", "ms", "1e-6", "software", .n = 8 },
	{ "branch-misses", "1", NULL, "cpu", .n = 8 },
	{ "branches", "1", NULL, "cpu", .n = 8 },
	{ "uncore_imc_0/cas/", "MiBy", "6.103515625e-05", "uncore_imc_0", 1, .n = 2, .step = 4 },
	{ "uncore_imc_1/cas/", "MiBy", "6.103515625e-05", "uncore_imc_1", 1, .n = 2, .step = 4 },
	{ "cpu_core/cycles/", "1", NULL, "cpu_core", 2, .n = 4 },
	{ "cpu_atom/cycles/", "1", NULL, "cpu_atom", 2, .first = 4, .n = 4 },
	{ "pkg/energy/", "1", NULL, "pkg", .per_pkg = true, .n = 8 },
	{ "core/ev,percore/", "1", NULL, "core", .percore = true, .n = 8 },
	{ "msr/level/", "1", NULL, "msr", .snapshot = true, .n = 8 },
	{ "a,\"b\"", "1", NULL, "cpu", .n = 8 },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t a_second(const char *counter, uint64_t n)
{
	if (!strcmp(counter, "cycles"))
		return (n + 1) * 1000;
	if (!strcmp(counter, "task-clock"))
		return 1000000000;
	if (!strcmp(counter, "branch-misses"))
		return 10;
	if (!strcmp(counter, "branches") || counter[0] == 'a')
		return 100;
	if (!strncmp(counter, "uncore_imc_", 11))
		return UINT64_C(1000000) * (counter[11] == '0' ? 1 : 2);
	if (!strcmp(counter, "cpu_core/cycles/"))
		return 100;
	if (!strcmp(counter, "cpu_atom/cycles/"))
		return 200;
	return n + 1;
}

static struct reading all(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool shared = b->filling->counter[0] == 1, never = shared && !i->number;

	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000000000, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ never  ? 0 :
					 shared ? row * 125000000 * (i->number + 1) :
						  row * 1000000000,
					 0 };
	if (!strcmp(counter, "msr/level/"))
		return (struct reading){ 40 + i->number, 0 };
	return (struct reading){ never ? 0 : row * a_second(counter, i->number), 0 };
}

static void add_counter(struct builder *b, const struct row *r, uint32_t *id)
{
	struct pm_counter c = {
		.name = (char *)r->name,
		.display = (char *)r->name,
		.source = (char *)"perf",
		.unit = (char *)r->unit,
		.scale = { .num = 1, .den = 1, .text = (char *)r->scale },
		.type = PM_U64,
		.semantics = r->snapshot ? PM_GAUGE : PM_CUMULATIVE,
		.width = 64,
		.aggregation = PM_AGG_SUM,
	};
	int64_t added;

	pm_map_set(&c.attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	pm_map_set(&c.attrs, PM_COUNTER_PERF_PMU, pm_text(r->pmu));
	if (r->wildcard)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_WILDCARD, pm_u64(r->wildcard));
	if (r->wildcard == 2)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_USER_TEXT, pm_text("cycles"));
	if (r->per_pkg)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_PER_PKG, pm_bool(true));
	if (r->bpf)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_BPF, pm_text(r->bpf));
	if (r->program)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_PROGRAM, pm_text(r->program));
	if (r->event) {
		pm_map_set(&c.attrs, PM_COUNTER_PERF_EVENT, pm_text(r->event));
		c.display = (char *)r->event;
	}
	if (r->percore)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_PERCORE, pm_bool(true));
	if (r->broken)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_INVALID, pm_u64(PM_REASON_NOT_SUPPORTED));
	if (r->snapshot)
		pm_map_set(&c.attrs, PM_COUNTER_PERF_SNAPSHOT, pm_bool(true));
	added = pm_model_add_counter(&b->model, &c);
	pm_map_release(&c.attrs);
	assert_true(added > 0);
	*id = (uint32_t)added;
}

static void make_machine(struct builder *b, bool odd)
{
	const struct row broken = { "broken", "1", NULL, "cpu", .broken = true };
	uint32_t id[ROWS], last, cpu[BUILDER_CPUS], saved[BUILDER_CPUS];

	builder_init(b, all);
	for (uint32_t i = 0; i < BUILDER_CPUS && odd; i++)
		b->model.topology.cpu[i].package = b->model.topology.cpu[i].node = i % 2;
	memcpy(saved, b->instance[PM_CPU], sizeof(saved));
	for (size_t k = 0; k < ROWS; k++) {
		const struct row *r = &rows[k];

		add_counter(b, r, &id[k]);
		for (uint32_t n = 0; n < r->n; n++)
			cpu[n] = saved[r->first + n * (r->step ? r->step : 1)];
		memcpy(b->instance[PM_CPU], cpu, r->n * sizeof(*cpu));
		builder_group(b, PM_CPU, r->n, PM_GROUP_PERF_TIMES, &id[k], 1);
		memcpy(b->instance[PM_CPU], saved, sizeof(saved));
	}
	add_counter(b, &broken, &last);
	builder_write(b, 0, 3);
	builder_write(b, 3, 2);
}

static void make_all(struct builder *b)
{
	make_machine(b, false);
}

static void make_odd(struct builder *b)
{
	make_machine(b, true);
}

static struct reading of_scales(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool time = !strcmp(counter, "enabled") || !strcmp(counter, "running");

	return (struct reading){ row * (time ? 1000000000 : a_second(counter, i->number)), 0 };
}

static void make_scales(struct builder *b)
{
	static const struct row list[] = {
		{ "uncore_imc_0/cas/", "MiBy", "6.103515625e-05", "uncore_imc_0", 1 },
		{ "uncore_imc_1/cas/", "MiBy", "6.103515625e-05", "uncore_imc_1", 1 },
		{ "uncore_imc_2/cas/", "MiBy", "0.5", "uncore_imc_2", 1 },
		{ "uncore_imc_3/cas/", "J", "0.5", "uncore_imc_3", 1 },
	};

	builder_init(b, of_scales);
	for (size_t k = 0; k < sizeof(list) / sizeof(*list); k++) {
		uint32_t id;

		add_counter(b, &list[k], &id);
		builder_group(b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &id, 1);
	}
	builder_write(b, 0, 5);
}

/* ---- runs ---- */

static struct reading of_runs(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const uint64_t instructions[] = { 10, 20, 60 };
	bool end = row % 2;

	if (!strcmp(counter, "running") &&
	    (b->filling->counter[0] == 4 || (b->filling->counter[0] == 3 && b->run == 2)))
		return (struct reading){ 0, 0 };
	if (!strcmp(counter, "rare"))
		return (struct reading){ end && b->run != 2 ? b->run * 100 : 0, 0 };
	if (!strcmp(counter, "instructions"))
		return (struct reading){ end ? instructions[b->run - 1] : 0, 0 };
	return (struct reading){ end ? b->run * 1000000 : 0, 0 };
}

static void write_event(struct builder *b, enum pm_event_type type, uint64_t elapsed_ns)
{
	struct pm_event e = { .type = type, .time_ns = BUILDER_START_NS };

	if (elapsed_ns) {
		pm_map_set(&e.attrs, PM_EVENT_KEY_ELAPSED_NS, pm_u64(elapsed_ns));
		pm_map_set(&e.attrs, PM_EVENT_KEY_USER_NS, pm_u64(elapsed_ns / 2));
		pm_map_set(&e.attrs, PM_EVENT_KEY_SYSTEM_NS, pm_u64(elapsed_ns / 4));
	}
	assert_int_equal(pm_writer_event(b->writer, &e), 0);
	pm_event_release(&e);
}

static void make_some_runs(struct builder *b, bool unrun)
{
	const struct row list[] = { { "task-clock", "ms", "1e-6", "software" },
				    { "instructions", "1", NULL, "cpu" },
				    { "rare", "1", NULL, "cpu" },
				    { "never", "1", NULL, "cpu" } };
	uint32_t id[4];

	builder_init(b, of_runs);
	pm_map_set(&b->model.header, PM_HEADER_TARGET, pm_text("command"));
	pm_map_set(&b->model.header, PM_HEADER_COMMAND, pm_text("true"));
	pm_map_set(&b->model.header, PM_HEADER_RUNS, pm_u64(3));
	for (int k = 0; k < (unrun ? 4 : 2); k++)
		add_counter(b, &list[k], &id[k]);
	builder_group(b, PM_TASK, 1, PM_GROUP_PERF_TIMES, id, 2);
	for (int k = 2; unrun && k < 4; k++)
		builder_group(b, PM_TASK, 1, PM_GROUP_PERF_TIMES, id + k, 1);
	for (b->run = 1; b->run <= 3; b->run++) {
		builder_write(b, 2 * (b->run - 1), 2);
		write_event(b, PM_EVENT_CHILD_EXIT, b->run * UINT64_C(1000000000));
	}
}

static void make_runs(struct builder *b)
{
	make_some_runs(b, false);
}

static void make_unrun(struct builder *b)
{
	make_some_runs(b, true);
}

static void make_cut(struct builder *b)
{
	const struct row list[] = { { "task-clock", "ms", "1e-6", "software" },
				    { "instructions", "1", NULL, "cpu" },
				    { "rare", "1", NULL, "cpu" } };
	uint32_t id[3];

	builder_init(b, of_runs);
	pm_map_set(&b->model.header, PM_HEADER_TARGET, pm_text("command"));
	pm_map_set(&b->model.header, PM_HEADER_COMMAND, pm_text("true"));
	pm_map_set(&b->model.header, PM_HEADER_RUNS, pm_u64(3));
	for (int k = 0; k < 2; k++)
		add_counter(b, &list[k], &id[k]);
	builder_group(b, PM_TASK, 1, PM_GROUP_PERF_TIMES, id, 2);
	builder_write(b, 0, 2);
	write_event(b, PM_EVENT_CHILD_EXIT, UINT64_C(1000000000));
	b->run = 2;
	builder_write(b, 2, 1);
	b->run = 3;
	add_counter(b, &list[2], &id[2]);
	builder_group(b, PM_TASK, 1, PM_GROUP_PERF_TIMES, id + 2, 1);
	builder_write(b, 4, 1);
}

/* ---- tasks ---- */

static struct reading of_tasks(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool second = pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0) == 11;

	if (second && row > 2)
		row = 2;
	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return (struct reading){ row * 1000000000, 0 };
	return (struct reading){ row * (second ? 5 : 3), 0 };
}

static void make_tasks(struct builder *b)
{
	const struct row cs = { "context-switches", "1", NULL, "software" };
	static const char *const comm[] = { "bash", "two words" };
	uint32_t id;

	builder_init(b, of_tasks);
	pm_map_set(&b->model.header, PM_HEADER_TARGET, pm_text("pid"));
	for (uint32_t k = 0; k < 2; k++) {
		struct pm_map *attrs = &b->model.instance[b->instance[PM_TASK][k] - 1].attrs;

		pm_map_set(attrs, PM_INSTANCE_PID, pm_u64(10));
		pm_map_set(attrs, PM_INSTANCE_TID, pm_u64(10 + k));
		pm_map_set(attrs, PM_INSTANCE_COMM, pm_text(comm[k]));
	}
	add_counter(b, &cs, &id);
	builder_group(b, PM_TASK, 2, PM_GROUP_PERF_TIMES, &id, 1);
	builder_write(b, 0, 5);
}

/* ---- cgroups ---- */

static struct reading of_cgroups(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return (struct reading){ row * 1000000000, 0 };
	return (struct reading){ row * (!strcmp(counter, "cs") ? 10 * i->number + i->cpu : i->number * 1000000), 0 };
}

static void make_cgroups(struct builder *b)
{
	static const struct row list[] = { { "task-clock", "ms", "1e-6", "software" },
					   { "cs", "1", NULL, "software" } };
	uint32_t id[2];

	builder_init(b, of_cgroups);
	for (uint32_t k = 0; k < 4; k++) {
		struct pm_instance i = { .kind = PM_CGROUP, .number = k / 2 + 1, .cpu = k % 2, .added_ns = 1 };
		int64_t added;

		pm_map_set(&i.attrs, PM_INSTANCE_CGROUP, pm_text(k / 2 ? "b,c" : "a"));
		added = pm_model_add_instance(&b->model, &i);
		pm_map_release(&i.attrs);
		assert_true(added > 0);
		b->instance[PM_CGROUP][k] = (uint32_t)added;
	}
	for (int k = 0; k < 2; k++)
		add_counter(b, &list[k], &id[k]);
	builder_group(b, PM_CGROUP, 4, PM_GROUP_PERF_TIMES, id, 2);
	builder_write(b, 0, 5);
}

/* ---- BPF programs ---- */

static struct reading of_programs(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return (struct reading){ row * 1000000000, 0 };
	return (struct reading){ row * (strchr(counter, '#') ? 10 : 1) * (counter[0] == 'c' ? 1 : 2), 0 };
}

static void make_programs(struct builder *b)
{
	static const struct row list[] = {
		{ "cs", "1", NULL, "software", 3, "program 12", "one", "cs" },
		{ "faults", "1", NULL, "software", 4, "program 12", "one", "faults" },
		{ "cs#2", "1", NULL, "software", 3, "program 7", NULL, "cs" },
		{ "faults#2", "1", NULL, "software", 4, "program 7", NULL, "faults" },
	};
	uint32_t id[4];

	builder_init(b, of_programs);
	for (int k = 0; k < 4; k++)
		add_counter(b, &list[k], &id[k]);
	for (int k = 0; k < 4; k += 2)
		builder_group(b, PM_CPU, 8, PM_GROUP_PERF_TIMES, id + k, 2);
	builder_write(b, 0, 5);
}

/* ---- topdown ---- */

static const struct slots {
	struct row row;
	uint64_t value;
} topdown[] = {
	{ { "slots", "1", NULL, "cpu" }, 1000 },
	{ { "topdown-retiring", "1", NULL, "cpu" }, 700 },
	{ { "topdown-bad-spec", "1", NULL, "cpu" }, 100 },
	{ { "topdown-fe-bound", "1", NULL, "cpu" }, 150 },
	{ { "topdown-be-bound", "1", NULL, "cpu" }, 50 },
}, slots[] = {
	{ { "topdown-total-slots", "1", NULL, "cpu" }, 1000 },
	{ { "topdown-slots-issued", "1", NULL, "cpu" }, 300 },
	{ { "topdown-slots-retired", "1", NULL, "cpu" }, 250 },
	{ { "topdown-fetch-bubbles", "1", NULL, "cpu" }, 100 },
	{ { "topdown-recovery-bubbles", "1", NULL, "cpu" }, 50 },
};

static struct reading of_topdown(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct slots *list = b->data;

	for (size_t k = 0; k < 5; k++)
		if (!strcmp(counter, list[k].row.name))
			return (struct reading){ row * list[k].value * (i->number + 1), 0 };
	return (struct reading){ row * 1000000000, 0 };
}

static void make_of(struct builder *b, const struct slots *list)
{
	uint32_t id[5];

	builder_init(b, of_topdown);
	b->data = (void *)list;
	for (int k = 0; k < 5; k++)
		add_counter(b, &list[k].row, &id[k]);
	builder_group(b, PM_CPU, 8, PM_GROUP_PERF_TIMES, id, 5);
	builder_write(b, 0, 5);
}

static void make_topdown(struct builder *b)
{
	make_of(b, topdown);
}

static void make_slots(struct builder *b)
{
	make_of(b, slots);
}

/* ---- hybrid ---- */

static const struct slots hybrid[] = {
	{ { "cpu_core/slots/", "1", NULL, "cpu_core" }, 1000 },
	{ { "cpu_core/topdown-retiring/", "1", NULL, "cpu_core" }, 700 },
	{ { "cpu_core/topdown-bad-spec/", "1", NULL, "cpu_core" }, 100 },
	{ { "cpu_core/topdown-fe-bound/", "1", NULL, "cpu_core" }, 150 },
	{ { "cpu_core/topdown-be-bound/", "1", NULL, "cpu_core" }, 50 },
	{ { "cpu_atom/topdown-retiring/", "1", NULL, "cpu_atom" }, 400 },
	{ { "cpu_atom/topdown-bad-spec/", "1", NULL, "cpu_atom" }, 200 },
	{ { "cpu_atom/topdown-fe-bound/", "1", NULL, "cpu_atom" }, 300 },
	{ { "cpu_atom/topdown-be-bound/", "1", NULL, "cpu_atom" }, 100 },
	{ { "context-switches", "1", NULL, "software" }, 10 },
	{ { "cpu-clock", "ms", "1e-6", "software" }, 1000000000 },
};

static struct reading of_hybrid(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	bool half = i->number < 4 && b->filling->counter[0] == 1;

	if (!strcmp(counter, "running") && half)
		return (struct reading){ row * 500000000, 0 };
	for (size_t k = 0; k < sizeof(hybrid) / sizeof(*hybrid); k++)
		if (!strcmp(counter, hybrid[k].row.name) && strcmp(counter, "cpu-clock"))
			return (struct reading){ row * hybrid[k].value * (i->number + 1) / (half ? 2 : 1), 0 };
	return (struct reading){ row * 1000000000, 0 };
}

static void add_core_pmu(struct builder *b, const char *name, const char *cpus)
{
	struct pm_pmu pmu = { 0 };

	pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text(name));
	pm_map_set(&pmu.attrs, PM_PMU_CPUS, pm_text(cpus));
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	pm_map_release(&pmu.attrs);
}

static void set_texts(struct pm_map *attrs, uint32_t key, const char *const *text, uint32_t n)
{
	struct pm_value v = pm_array(n);

	for (uint32_t i = 0; i < n; i++)
		v.array.item[i] = pm_text(text[i]);
	assert_int_equal(pm_map_set(attrs, key, v), 0);
}

static void make_hybrid(struct builder *b)
{
	static const char *const words[] = { "Default" }, *const metrics[] = {
		"cs_per_second", "tma_retiring", "tma_bad_speculation", "tma_frontend_bound", "tma_backend_bound"
	};
	uint32_t id[11], cpu[BUILDER_CPUS];

	builder_init(b, of_hybrid);
	pm_map_set(&b->model.header, PM_HEADER_CPU_ID, pm_text("GenuineIntel-6-C6-2"));
	memcpy(cpu, b->instance[PM_CPU], sizeof(cpu));
	add_core_pmu(b, "cpu_core", "0-3");
	add_core_pmu(b, "cpu_atom", "4-7");
	set_texts(&b->model.header, PM_HEADER_METRICS, metrics, 5);
	set_texts(&b->model.header, PM_HEADER_METRIC_WORDS, words, 1);
	for (int k = 0; k < 11; k++)
		add_counter(b, &hybrid[k].row, &id[k]);
	builder_group(b, PM_CPU, 4, PM_GROUP_PERF_TIMES, id, 5);
	memcpy(b->instance[PM_CPU], cpu + 4, 4 * sizeof(*cpu));
	builder_group(b, PM_CPU, 4, PM_GROUP_PERF_TIMES, id + 5, 4);
	memcpy(b->instance[PM_CPU], cpu, sizeof(cpu));
	builder_group(b, PM_CPU, 8, PM_GROUP_PERF_TIMES, id + 9, 2);
	builder_write(b, 0, 5);
}

/* ---- kinds of CPUs that the recording has to tell: one, and two ---- */

static struct reading of_seconds(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)counter, (void)i;
	return (struct reading){ row * 1000000000, 0 };
}

static void make_alike(struct builder *b)
{
	static const struct row list[] = { { "task-clock", "ms", "1e-6", "software" },
					   { "cycles", "1", NULL, "armv8_pmuv3" } };
	uint32_t id[2];

	builder_init(b, of_seconds);
	add_core_pmu(b, "armv8_pmuv3", "0-7");
	for (int k = 0; k < 2; k++)
		add_counter(b, &list[k], &id[k]);
	builder_group(b, PM_CPU, 8, PM_GROUP_PERF_TIMES, id, 2);
	builder_write(b, 0, 5);
}

static void make_kinds(struct builder *b)
{
	static const struct row list[] = { { "armv8_cortex_a53/cycles/", "1", NULL, "armv8_cortex_a53", 2 },
					   { "armv8_cortex_a53/branches/", "1", NULL, "armv8_cortex_a53", 3 },
					   { "armv8_cortex_a53/branch-misses/", "1", NULL, "armv8_cortex_a53", 4 },
					   { "armv8_cortex_a72/cycles/", "1", NULL, "armv8_cortex_a72", 2 },
					   { "armv8_cortex_a72/branches/", "1", NULL, "armv8_cortex_a72", 3 },
					   { "armv8_cortex_a72/branch-misses/", "1", NULL, "armv8_cortex_a72", 4 } };
	uint32_t id[6], cpu[BUILDER_CPUS];

	builder_init(b, of_seconds);
	memcpy(cpu, b->instance[PM_CPU], sizeof(cpu));
	add_core_pmu(b, "armv8_cortex_a53", "0-3");
	add_core_pmu(b, "armv8_cortex_a72", "4-7");
	for (int k = 0; k < 6; k++)
		add_counter(b, &list[k], &id[k]);
	builder_group(b, PM_CPU, 4, PM_GROUP_PERF_TIMES, id, 3);
	memcpy(b->instance[PM_CPU], cpu + 4, 4 * sizeof(*cpu));
	builder_group(b, PM_CPU, 4, PM_GROUP_PERF_TIMES, id + 3, 3);
	memcpy(b->instance[PM_CPU], cpu, sizeof(cpu));
	builder_write(b, 0, 5);
}

/* ---- shares ---- */

static struct reading of_shares(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const uint64_t ran[] = { 0, 500000000, 750000000 };
	const char *name = pm_model_counter(&b->model, b->filling->counter[0])->name;
	bool cycles = !strcmp(name, "cycles"), late = !strcmp(name, "pkg/late/");

	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000000000, 0 };
	if (!strcmp(counter, "running"))
		return (struct reading){ i->number || !(cycles || late) ? row * 1000000000 :
					 cycles                         ? ran[row] :
									  0,
					 0 };
	if (cycles)
		return (struct reading){ row * (i->number ? 100 : 1000), 0 };
	if (late)
		return (struct reading){ i->number ? row * 5 : 0, i->number ? 0 : PM_REASON_NOT_COUNTED };
	return (struct reading){ i->number ? 0 : row * 7, i->number ? pm_reason_errno(2) : 0 };
}

static void make_shares(struct builder *b)
{
	static const struct row list[] = { { "cycles", "1", NULL, "cpu" },
					   { "part", "1", NULL, "cpu" },
					   { "pkg/late/", "1", NULL, "pkg", .per_pkg = true } };
	uint32_t id;

	builder_init(b, of_shares);
	for (int k = 0; k < 3; k++) {
		add_counter(b, &list[k], &id);
		builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, &id, 1);
	}
	builder_write(b, 0, 3);
}

/* Two CPUs that count 100 a second; CPU 1 was not read at 3, 4 and 8 s. */
static struct reading of_missed(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	if (i->number && (row == 3 || row == 4 || row == 8))
		return (struct reading){ 0, PM_REASON_MISSED };
	return (struct reading){ row * (strcmp(counter, "cycles") ? 1000000000 : 100), 0 };
}

static void make_missed(struct builder *b)
{
	static const struct row cycles = { "cycles", "1", NULL, "cpu" };
	uint32_t id;

	builder_init(b, of_missed);
	add_counter(b, &cycles, &id);
	builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, &id, 1);
	builder_write(b, 0, 9);
}

/* The same of a1, with cycles of 2 GHz, and a2 that comes at 5 s and counts 7 a second on CPU 0. */
static struct reading of_grown(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	struct reading r = of_missed(b, !strcmp(counter, "a1") ? "cycles" : counter, i, row);

	if (!strcmp(counter, "cycles"))
		r.v = row * 2000000000;
	if (!strcmp(counter, "a2"))
		r.v = row * 7;
	return r;
}

static void make_grown(struct builder *b)
{
	static const struct row list[] = { { "a1", "1", NULL, "cpu" },
					   { "cycles", "1", NULL, "cpu" },
					   { "task-clock", "ms", "1e-6", "software" },
					   { "a2", "1", NULL, "cpu" } };
	uint32_t id[4];

	builder_init(b, of_grown);
	for (int k = 0; k < 3; k++)
		add_counter(b, &list[k], &id[k]);
	for (int k = 0; k < 3; k++)
		builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, &id[k], 1);
	builder_write(b, 0, 5);
	add_counter(b, &list[3], &id[3]);
	builder_group(b, PM_CPU, 1, PM_GROUP_PERF_TIMES, &id[3], 1);
	builder_write(b, 5, 4);
}

/* ---- nvidia ---- */

/* What there is of each PMU a second, and in how much of the time its groups run. */
static const struct {
	const char *pmu;
	uint32_t cpu;
	uint64_t requests, outstanding, bytes, cycles, share;
} pcie[] = {
	{ "nvidia_pcie_pmu_0_rc_0", 0, 1000000, 200000000, 1000000000, 1000000000, 2 },
	{ "nvidia_pcie_pmu_0_rc_1", 0, 2000000, 1000000000, 2000000000, 1250000000, 4 },
	{ "nvidia_pcie_pmu_0_rc_2", 0, 0, 0, 0, 2000000000, 2 },
	{ "nvidia_pcie_pmu_1_rc_0", 4, 4000000, 600000000, 4000000000, 1500000000, 2 },
	{ "nvidia_pcie_pmu_1_rc_1", 4, 8000000, 800000000, 8000000000, 500000000, 1 },
	{ "nvidia_nvdlink_pmu_0", 0, 0, 0, 0, 0, 1 },
};
#define PCIE (sizeof(pcie) / sizeof(pcie[0]))

static struct reading of_nvidia(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const char *name = pm_model_counter(&b->model, b->filling->counter[0])->name;
	size_t k = 0;
	uint64_t v;

	while (strncmp(name, pcie[k].pmu, strlen(pcie[k].pmu)))
		k++;
	if (!strcmp(counter, "enabled"))
		return (struct reading){ row * 1000000000 };
	v = !strcmp(counter, "running")  ? 1000000000 :
	    strstr(counter, "cum_outs/") ? pcie[k].outstanding :
	    strstr(counter, "req/")      ? pcie[k].requests :
	    strstr(counter, "bytes/")    ? pcie[k].bytes :
	    strstr(name, "bytes/")       ? pcie[k].cycles / 2 :
					   pcie[k].cycles;
	return (struct reading){ row * v / pcie[k].share };
}

static void make_nvidia(struct builder *b)
{
	static const char *const events[2][3] = { { "rd_req", "rd_cum_outs", "cycles" }, { "rd_bytes", "cycles" } };
	static const char *const link[] = { "in_rd_req", "in_rd_cum_outs", "cycles" };
	unsigned group = 0;

	builder_init(b, of_nvidia);
	for (size_t k = 0; k < PCIE; k++) {
		struct pm_instance i = { .kind = PM_PMU, .number = PM_NONE, .cpu = pcie[k].cpu, .added_ns = 1 };
		bool is_link = strstr(pcie[k].pmu, "nvdlink");
		struct pm_pmu pmu = { 0 };
		int64_t added;
		uint32_t on;

		pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text(pcie[k].pmu));
		pm_map_set(&pmu.attrs, PM_PMU_CPUMASK, pm_text(pcie[k].cpu ? "4" : "0"));
		assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
		pm_map_release(&pmu.attrs);
		pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(pcie[k].pmu));
		added = pm_model_add_instance(&b->model, &i);
		pm_map_release(&i.attrs);
		assert_true(added > 0);
		on = (uint32_t)added;
		for (int g = 0; g < (is_link ? 1 : 2); g++) {
			uint32_t id[3], n = 0;
			struct pm_group columns = { .source = (char *)"perf",
						    .flags = PM_GROUP_PERF_TIMES,
						    .counter = id,
						    .instance = &on,
						    .n_instances = 1 };

			group++;
			for (; n < 3 && events[g][n]; n++) {
				char name[80];
				struct row r = {
					.name = name, .unit = "1", .pmu = pcie[k].pmu, .wildcard = g ? 0 : 1 + n
				};
				struct pm_map *attrs;

				snprintf(name, sizeof(name), "%s/%s/", pcie[k].pmu, is_link ? link[n] : events[g][n]);
				/* Names are unique; what is printed is not. */
				if (g && n)
					snprintf(name, sizeof(name), "%s/cycles,group=2/", pcie[k].pmu);
				add_counter(b, &r, &id[n]);
				attrs = &b->model.counter[id[n] - 1].attrs;
				pm_map_set(attrs, PM_COUNTER_PERF_EVENT, pm_text_n(name, strcspn(name, ",")));
				pm_map_set(attrs, PM_COUNTER_PERF_GROUP, pm_u64(group));
			}
			columns.n_counters = n;
			assert_true(pm_model_add_group(&b->model, &columns) > 0);
		}
	}
	builder_write(b, 0, 5);
}

/* ---- names ---- */

static struct reading of_names(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const char *const name[] = { "cpu_core/branches/u", "cycles:k", "sched:sched_switch", "cpu/loads/" };
	uint64_t k = 0;

	(void)i;
	if (!strcmp(counter, "enabled") || !strcmp(counter, "running"))
		return (struct reading){ row * 1000000000, 0 };
	while (k < 4 && strcmp(counter, name[k]))
		k++;
	return (struct reading){ row * (k + 1), 0 };
}

static void make_names(struct builder *b)
{
	static const struct row list[] = { { "cpu_core/branches/u", "1", NULL, "cpu_core" },
					   { "cycles:k", "1", NULL, "cpu" },
					   { "sched:sched_switch", "1", NULL, "tracepoint" },
					   { "cpu/loads/", "1", NULL, "cpu" } };
	uint32_t id[4], other;

	builder_init(b, of_names);
	for (int k = 0; k < 4; k++)
		add_counter(b, &list[k], &id[k]);
	other = builder_counter(b, "interrupts.total", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, id, 4);
	builder_group(b, PM_CPU, 2, 0, &other, 1);
	builder_write(b, 0, 5);
}

bool stat_world(struct builder *b, const char *kind)
{
	static const struct {
		const char *kind;
		void (*make)(struct builder *b);
	} world[] = {
		{ "all", make_all },           { "odd", make_odd },       { "runs", make_runs },
		{ "unrun", make_unrun },       { "tasks", make_tasks },   { "topdown", make_topdown },
		{ "slots", make_slots },       { "hybrid", make_hybrid }, { "cgroups", make_cgroups },
		{ "programs", make_programs }, { "missed", make_missed }, { "shares", make_shares },
		{ "cut", make_cut },           { "grown", make_grown },   { "nvidia", make_nvidia },
		{ "names", make_names },       { "scales", make_scales }, { "alike", make_alike },
		{ "kinds", make_kinds },
	};

	for (size_t i = 0; i < sizeof(world) / sizeof(*world); i++)
		if (!strcmp(kind, world[i].kind)) {
			world[i].make(b);
			builder_finish(b);
			return true;
		}
	return false;
}
