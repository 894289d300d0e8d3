/* Makes models and chunks by hand. */
#include "tests/unit/lib/builder.h"

#include "tests/unit/lib/test.h"

static char *copy(const char *text)
{
	char *c = strdup(text);

	assert_non_null(c);
	return c;
}

static void add_topology(struct builder *b)
{
	struct pm_cpu cpu[BUILDER_CPUS];
	struct pm_topology t = { .time_ns = BUILDER_START_NS, .cpu = cpu, .n = BUILDER_CPUS };

	for (uint32_t i = 0; i < BUILDER_CPUS; i++)
		cpu[i] = (struct pm_cpu){
			.cpu = i,
			.package = i / 4,
			.die = 0,
			.cluster = PM_NONE,
			.core = i / 2 % 2,
			.node = i / 4,
			.thread = i % 2,
			.cache = { i / 2, i / 2, i / 2, i / 4 },
			.type = PM_NONE,
			.capacity = PM_NONE,
			.online = true,
		};
	assert_int_equal(pm_model_set_topology(&b->model, &t), 0);
}

static void add_instances(struct builder *b, enum pm_kind kind, uint32_t n, uint32_t cpus)
{
	for (uint32_t k = 0; k < n; k++) {
		struct pm_instance i = { .kind = kind,
					 .number = kind == PM_SYSTEM ? PM_NONE : k,
					 .cpu = cpus ? k * cpus : PM_NONE,
					 .added_ns = 1 };
		char name[32];
		int64_t id;

		if (kind == PM_CORE)
			i.number = k % 2;
		if (kind == PM_DEVICE || kind == PM_PMU || kind == PM_TASK) {
			snprintf(name, sizeof(name), "%s%u",
				 kind == PM_DEVICE ? "zone" :
				 kind == PM_PMU    ? "uncore_" :
						     "task-",
				 k);
			assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name)), 0);
		}
		id = pm_model_add_instance(&b->model, &i);
		assert_true(id > 0);
		b->instance[kind][k] = (uint32_t)id;
		pm_map_release(&i.attrs);
	}
}

void builder_init(struct builder *b, builder_value value)
{
	*b = (struct builder){ .value = value, .period_ns = 1000000000, .run = 1, .segment = 1 };
	pm_model_init(&b->model);
	memcpy(b->model.recording_id, "builder!", 8);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_TOOL, pm_text("builder 1")), 0);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_ARCH, pm_text("x86_64")), 0);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_CPU_ID, pm_text("GenuineIntel-6-55-7")), 0);
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_TARGET, pm_text("system")), 0);
	add_topology(b);
	add_instances(b, PM_CPU, BUILDER_CPUS, 1);
	add_instances(b, PM_CORE, 4, 2);
	add_instances(b, PM_PACKAGE, 2, 4);
	add_instances(b, PM_SYSTEM, 1, 0);
	add_instances(b, PM_DEVICE, 2, 0);
	add_instances(b, PM_PMU, 2, 4);
	add_instances(b, PM_TASK, 2, 0);
}

static void free_chunk(struct builder *b)
{
	for (uint32_t i = 0; i < b->chunk.n_groups; i++) {
		free(b->chunk.group[i].v);
		free(b->chunk.group[i].status);
	}
	free(b->chunk.group);
	free(b->tick);
	free(b->number);
	free(b->flags);
	b->chunk = (struct pm_chunk){ 0 };
	b->tick = b->number = NULL;
	b->flags = NULL;
}

void builder_release(struct builder *b)
{
	free_chunk(b);
	if (b->close)
		b->close(b);
	buf_release(&b->file);
	pm_model_release(&b->model);
}

uint32_t builder_counter(struct builder *b, const char *name, const char *unit, enum pm_semantics semantics,
			 enum pm_aggregation aggregation)
{
	char source[64];
	struct pm_counter c = {
		.name = (char *)name,
		.display = (char *)name,
		.source = source,
		.unit = (char *)unit,
		.scale = { .num = 1, .den = 1 },
		.type = PM_U64,
		.semantics = semantics,
		.width = 64,
		.aggregation = aggregation,
	};
	int64_t id;

	/* "cpuidle.time.c1" is of cpuidle; a name without a dot is an event of perf. */
	snprintf(source, sizeof(source), "%.*s", (int)strcspn(name, "."), strchr(name, '.') ? name : "perf");
	id = pm_model_add_counter(&b->model, &c);
	assert_true(id > 0);
	return (uint32_t)id;
}

struct pm_counter *builder_counter_at(struct builder *b, uint32_t id)
{
	return &b->model.counter[id - 1];
}

uint32_t builder_group(struct builder *b, enum pm_kind kind, uint32_t n, uint32_t flags, const uint32_t *counter,
		       uint32_t n_counters)
{
	struct pm_group g = { .source = copy("test"),
			      .flags = flags,
			      .counter = (uint32_t *)counter,
			      .n_counters = n_counters,
			      .instance = b->instance[kind],
			      .n_instances = n };
	int64_t id = pm_model_add_group(&b->model, &g);

	free(g.source);
	assert_true(id > 0);
	return (uint32_t)id;
}

static void fill_group(struct builder *b, struct pm_chunk_group *cg, const struct pm_group *g, uint64_t row,
		       uint32_t n)
{
	uint32_t columns = pm_group_columns(g), times = pm_group_times(g), head = pm_group_head(g);
	bool some_missing = false;

	b->filling = g;
	*cg = (struct pm_chunk_group){ .group = g->id, .stride = n };
	cg->v = calloc((size_t)columns * n, sizeof(*cg->v));
	cg->status = calloc((size_t)columns * n, sizeof(*cg->status));
	assert_non_null(cg->v);
	assert_non_null(cg->status);
	for (uint32_t r = 0; r < n; r++) {
		uint64_t tick = BUILDER_START_NS + (row + r) * b->period_ns;

		for (uint32_t t = 0; t < times; t++) {
			const struct pm_instance *i = pm_model_instance(&b->model, g->instance[t]);

			cg->v[t * n + r] = tick + t * b->read_ns;
			cg->v[(times + t) * n + r] = tick + t * b->read_ns + b->read_ns / 2;
			if (!(g->flags & PM_GROUP_PERF_TIMES))
				continue;
			cg->v[(2 * times + t) * n + r] = b->value(b, "enabled", i, row + r).v;
			cg->v[(3 * times + t) * n + r] = b->value(b, "running", i, row + r).v;
		}
		for (uint32_t v = 0; v < pm_group_values(g); v++) {
			const struct pm_counter *c = pm_model_counter(&b->model, pm_group_counter_of(g, v));
			const struct pm_instance *i = pm_model_instance(&b->model, pm_group_instance_of(g, v));
			struct reading reading = b->value(b, c->name, i, row + r);

			cg->v[(head + v) * n + r] = reading.v;
			cg->status[(head + v) * n + r] = reading.status;
			some_missing |= reading.status != 0;
		}
	}
	/* As the reader has it. */
	if (!some_missing) {
		free(cg->status);
		cg->status = NULL;
	}
}

const struct pm_chunk *builder_chunk(struct builder *b, uint64_t row, uint32_t n, uint32_t first_group)
{
	struct pm_chunk *c = &b->chunk;

	free_chunk(b);
	b->tick = calloc(n, sizeof(*b->tick));
	b->number = calloc(n, sizeof(*b->number));
	b->flags = calloc(n, sizeof(*b->flags));
	c->group = calloc(b->model.n_groups, sizeof(*c->group));
	assert_true(b->tick && b->number && b->flags && c->group);
	for (uint32_t r = 0; r < n; r++) {
		b->tick[r] = BUILDER_START_NS + (row + r) * b->period_ns;
		b->number[r] = row + r;
	}
	c->run = b->run;
	c->segment = b->segment;
	c->after_loss = b->after_loss;
	c->partial = b->partial;
	b->after_loss = b->partial = false;
	c->rows = n;
	c->tick = b->tick;
	c->number = b->number;
	c->flags = b->flags;
	c->clocks = (struct pm_clocks){
		.monotonic = b->tick[0],
		.monotonic_raw = b->tick[0],
		.boottime = b->tick[0],
		.realtime = b->no_wall ? 0 : BUILDER_WALL_NS + b->wall_shift_ns + (b->tick[0] - BUILDER_START_NS),
	};
	for (uint32_t g = first_group; g <= b->model.n_groups; g++)
		if (!b->model.group[g - 1].retired)
			fill_group(b, &c->group[c->n_groups++], &b->model.group[g - 1], row, n);
	return c;
}
