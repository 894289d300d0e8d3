#include "tests/unit/lib/churn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/lib/sample.h"

struct churn {
	const struct churn_options *o;
	struct pm_model model;
	struct pm_writer *writer;
	uint32_t *task; /* instances that live, in the order of the group */
	uint32_t group, slow, random;
	uint64_t *cell;
};

static void must(int64_t err)
{
	if (err < 0)
		abort();
}

static uint32_t next_random(struct churn *c)
{
	c->random = c->random * 1664525u + 1013904223u;
	return c->random >> 8;
}

uint64_t churn_value(const struct churn_options *o, uint64_t pid, uint32_t counter, uint64_t n)
{
	uint64_t rate = 1 + (pid * 2654435761u + counter * 40503u + o->seed) % 5000;

	return rate * (n + 7) + (pid * n % 13);
}

static uint64_t begin_of(uint64_t pid, uint64_t n)
{
	return CHURN_START + n * CHURN_STEP + 1000 + pid % 97 + n % 5;
}

static uint32_t add_task(struct churn *c, uint64_t time_ns)
{
	uint32_t pid = c->model.last_instance + 100;
	struct pm_instance i = { .kind = PM_TASK, .number = PM_NONE, .cpu = PM_NONE, .added_ns = time_ns };
	char path[40];
	int64_t id;

	must(pm_map_set(&i.attrs, PM_INSTANCE_PID, pm_u64(pid)));
	must(pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text(pid % 3 ? "worker" : "make")));
	if (c->o->cgroups) {
		i.kind = PM_CGROUP;
		i.number = pid;
		snprintf(path, sizeof(path), "job-%u.scope", pid);
		must(pm_map_set(&i.attrs, PM_INSTANCE_CGROUP, pm_text(path)));
	}
	id = pm_model_add_instance(&c->model, &i);
	must(id);
	pm_map_release(&i.attrs);
	return (uint32_t)id;
}

static void add_counters(struct churn *c)
{
	char name[40];

	for (uint32_t i = 0; i < c->o->counters + c->o->slow; i++) {
		struct pm_counter x = { .name = name,
					.source = (char *)(c->o->perf ? "perf" : "churn"),
					.unit = (char *)"1" };

		snprintf(name, sizeof(name), "churn.c%u", i);
		must(pm_map_set(&x.attrs, PM_COUNTER_REQUESTED, pm_bool(true)));
		must(pm_model_add_counter(&c->model, &x));
		pm_map_release(&x.attrs);
	}
}

static uint32_t add_group(struct churn *c, uint32_t continues)
{
	const struct churn_options *o = c->o;
	uint32_t *counter = calloc(o->counters, sizeof(*counter));
	struct pm_group g = {
		.source = (char *)"churn",
		.flags = (o->perf ? PM_GROUP_PERF_TIMES : 0) | (o->shared ? PM_GROUP_SHARED_TIME : 0),
		.counter = counter,
		.n_counters = o->counters,
		.instance = c->task,
		.n_instances = o->live,
		.continues = o->restart ? 0 : continues,
	};
	int64_t id;

	for (uint32_t i = 0; i < o->counters; i++)
		counter[i] = i + 1;
	id = pm_model_add_group(&c->model, &g);
	must(id);
	free(counter);
	return (uint32_t)id;
}

static uint64_t pid_of(const struct pm_model *m, uint32_t instance)
{
	return pm_map_u64(&pm_model_instance(m, instance)->attrs, PM_INSTANCE_PID, 0);
}

/* What stands in column `col` of the group in snapshot n. */
static uint64_t cell_of(const struct pm_model *m, const struct churn_options *o, const struct pm_group *g,
			uint32_t col, uint64_t n)
{
	uint32_t times = pm_group_times(g), head = pm_group_head(g);
	uint64_t pid;

	if (col < head) {
		pid = times == 1 ? 5 : pid_of(m, g->instance[col % times]);
		return col / times < 2 ? begin_of(pid, n) + col / times * 250 : (n + 1) * 1000000 + pid + col / times;
	}
	pid = pid_of(m, pm_group_instance_of(g, col - head));
	return churn_value(o, pid, pm_group_counter_of(g, col - head) - 1, n);
}

static void replace(struct churn *c, uint64_t time_ns)
{
	const struct churn_options *o = c->o;
	uint32_t old = c->group, kept = 0;

	if (!o->replaced)
		return;
	for (uint32_t i = 0; i < o->replaced; i++) {
		uint32_t k = next_random(c) % o->live;

		if (!c->task[k])
			continue;
		must(pm_model_retire_instance(&c->model, c->task[k], time_ns - 5 - i));
		c->task[k] = 0;
	}
	for (uint32_t i = 0; i < o->live; i++)
		if (c->task[i])
			c->task[kept++] = c->task[i];
	for (; kept < o->live; kept++)
		c->task[kept] = add_task(c, time_ns - kept);
	c->group = add_group(c, old);
	must(pm_model_retire_group(&c->model, old));
}

static void fill(struct churn *c, struct pm_chunk_group *to, uint32_t group, uint64_t *cell, uint64_t first)
{
	const struct pm_group *g = pm_model_group(&c->model, group);
	uint32_t rows = c->o->rows;

	*to = (struct pm_chunk_group){ .group = group, .v = cell, .stride = rows };
	for (uint32_t col = 0; col < pm_group_columns(g); col++)
		for (uint32_t r = 0; r < rows; r++)
			cell[col * rows + r] = cell_of(&c->model, c->o, g, col, first + r);
}

static void write_chunk(struct churn *c, uint32_t number)
{
	const struct churn_options *o = c->o;
	uint64_t tick[PM_CHUNK_ROWS], n[PM_CHUNK_ROWS], first = (uint64_t)number * o->rows;
	size_t columns = (size_t)o->live * (o->counters + 4);
	struct pm_chunk_group group[2];
	struct pm_chunk chunk = { .run = 1, .rows = o->rows, .tick = tick, .number = n, .group = group };

	for (uint32_t r = 0; r < o->rows; r++) {
		n[r] = first + r;
		tick[r] = CHURN_START + n[r] * CHURN_STEP;
	}
	chunk.clocks = (struct pm_clocks){ tick[0] + 9, tick[0] + 19, 1700000000000000000ull + tick[0], tick[0] + 9,
					   tick[0] * 3 };
	fill(c, &group[chunk.n_groups++], c->group, c->cell, first);
	if (c->slow && number % 3 == 0)
		fill(c, &group[chunk.n_groups++], c->slow, c->cell + columns * o->rows, first);
	must(pm_writer_chunk(c->writer, &chunk));
}

static int file_sink(void *file, const void *data, size_t len)
{
	return fwrite(data, 1, len, file) == len ? 0 : -EIO;
}

static void tell(const struct churn *c, uint32_t chunks)
{
	struct pm_writer_stats s = pm_writer_stats(c->writer);
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (!f || fscanf(f, "%*u %lu", &pages) != 1)
		pages = 0;
	if (f)
		fclose(f);
	printf("%u %llu %llu %u %u %lu\n", chunks, (unsigned long long)s.bytes, (unsigned long long)s.copy_bytes,
	       c->model.n_instances, c->model.n_groups, pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
}

void churn_write(struct buf *out, const struct churn_options *o)
{
	struct churn c = { .o = o, .random = o->seed };
	struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = out, .model = &c.model };
	uint32_t slow_counter = o->counters + 1, system = 1;
	int64_t id;

	if (o->to) {
		config.sink = file_sink;
		config.sink_ctx = o->to;
	}
	pm_model_init(&c.model);
	memcpy(c.model.recording_id, "churning", 8);
	must(pm_map_set(&c.model.header, PM_HEADER_TOOL, pm_text("churn")));
	must(pm_map_set(&c.model.header, PM_HEADER_INTERVAL, pm_u64(CHURN_STEP)));
	must(pm_model_add_instance(&c.model, &(struct pm_instance){ .number = PM_NONE, .cpu = PM_NONE }));
	must(pm_map_set(&c.model.instance[0].attrs, PM_INSTANCE_PID, pm_u64(1)));
	add_counters(&c);
	c.task = calloc(o->live, sizeof(*c.task));
	c.cell = calloc(((size_t)o->live * (o->counters + 4) + 8) * o->rows, sizeof(*c.cell));
	for (uint32_t i = 0; i < o->live; i++)
		c.task[i] = add_task(&c, 0);
	c.group = add_group(&c, 0);
	if (o->slow) {
		id = pm_model_add_group(&c.model, &(struct pm_group){ .source = (char *)"slow",
								      .counter = &slow_counter,
								      .n_counters = 1,
								      .instance = &system,
								      .n_instances = 1 });
		must(id);
		c.slow = (uint32_t)id;
	}
	must(pm_writer_new(&c.writer, &config, NULL));
	for (uint32_t i = 0; i < o->chunks; i++) {
		if (i)
			replace(&c, CHURN_START + i * o->rows * CHURN_STEP);
		write_chunk(&c, i);
		if (o->to && (i + 1) % (o->chunks / 4 + 1) == 0)
			tell(&c, i + 1);
	}
	if (o->to)
		tell(&c, o->chunks);
	must(pm_writer_finish(c.writer));
	pm_writer_free(c.writer);
	pm_model_release(&c.model);
	free(c.task);
	free(c.cell);
}

uint64_t churn_compare(const struct pm_model *m, const struct churn_options *o, const struct pm_chunk *c,
		       uint64_t *values)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *g = &c->group[i];
		const struct pm_group *def = pm_model_group(m, g->group);

		for (uint32_t col = 0; !g->absent && col < pm_group_columns(def); col++)
			for (uint32_t r = 0; r < c->rows; r++, ++*values)
				wrong += g->v[col * g->stride + r] != cell_of(m, o, def, col, c->number[r]);
	}
	return wrong;
}
