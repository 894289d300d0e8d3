/* Makes a recording that has something of everything. */
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/sample.h"

#include <stdlib.h>
#include <string.h>

#define START_NS 1000000000000ull

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint64_t noise(const struct sample_options *o, uint64_t a, uint64_t b, uint64_t c)
{
	return mix(mix(mix(o->seed + 1) + a) * 31 + b) + mix(c);
}

int sample_sink(void *buf, const void *data, size_t len)
{
	struct buf *b = buf;

	buf_add(b, data, len);
	return b->err;
}

static void must(int64_t ok)
{
	if (ok < 0)
		abort();
}

void sample_model(struct pm_model *m, const struct sample_options *o)
{
	static const struct pm_counter counters[] = {
		{ .name = "cycles", .source = "perf", .unit = "1", .width = 48 },
		{ .name = "instructions", .source = "perf", .unit = "1" },
		{ .name = "cpuidle.time.c1",
		  .display = "C1 time",
		  .source = "cpuidle",
		  .unit = "s",
		  .scale = { .num = 1, .den = 1000000 } },
		{ .name = "rapl.package",
		  .source = "msr",
		  .unit = "J",
		  .width = 32,
		  .scale = { .text = (char *)"6.103515625e-5" } },
		{ .name = "temp",
		  .source = "thermal",
		  .unit = "Cel",
		  .type = PM_S64,
		  .semantics = PM_GAUGE,
		  .aggregation = PM_AGG_MAX },
		{ .name = "load", .source = "proc", .unit = "1", .type = PM_F64, .semantics = PM_GAUGE },
		{ .name = "governor", .source = "cpufreq", .unit = "", .type = PM_TEXT, .semantics = PM_STATE },
	};
	uint32_t ids[] = { 1, 2, 3, 4, 5, 6, 7 }, *cpu = calloc(o->cpus + 1, sizeof(*cpu));
	struct pm_topology t = { .time_ns = START_NS, .n = o->cpus };
	struct pm_instance all = { .kind = PM_SYSTEM, .number = PM_NONE, .cpu = PM_NONE };
	uint32_t four[] = { 1, 1, 1, 1 };

	memcpy(m->recording_id, "\1\2\3\4\5\6\7", 8);
	must(pm_map_set(&m->header, PM_HEADER_TOOL, pm_text("sample 1")));
	must(pm_map_set(&m->header, PM_HEADER_INTERVAL, pm_u64(o->interval_ns)));
	must(pm_map_set(&m->header, PM_HEADER_LITTLE_ENDIAN, pm_bool(true)));
	must(pm_model_add_instance(m, &all));
	t.cpu = calloc(o->cpus, sizeof(*t.cpu));
	for (uint32_t c = 0; c < o->cpus; c++) {
		struct pm_instance i = { .kind = PM_CPU, .number = c, .cpu = c, .added_ns = c % 2 ? START_NS : 0 };

		memset(&t.cpu[c], 0xff, sizeof(t.cpu[c]));
		t.cpu[c].cpu = c;
		t.cpu[c].package = t.cpu[c].core = c / 2;
		t.cpu[c].thread = c % 2;
		t.cpu[c].online = true;
		must(pm_model_add_instance(m, &i));
		cpu[c] = c + 2;
	}
	must(pm_model_set_topology(m, &t));
	pm_topology_release(&t);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		must(pm_model_add_counter(m, &counters[i]));
	must(pm_model_add_string(m, "performance", 11, false));
	must(pm_model_add_string(m, "powersave", 9, false));
	must(pm_model_add_group(m, &(struct pm_group){ .source = (char *)"perf",
						       .flags = PM_GROUP_PERF_TIMES,
						       .counter = ids,
						       .n_counters = 2,
						       .instance = cpu,
						       .n_instances = o->cpus }));
	must(pm_model_add_group(m, &(struct pm_group){ .source = (char *)"cpuidle",
						       .flags = PM_GROUP_SHARED_TIME,
						       .counter = ids + 2,
						       .n_counters = 1,
						       .instance = cpu,
						       .n_instances = o->cpus }));
	must(pm_model_add_group(m, &(struct pm_group){ .source = (char *)"msr",
						       .flags = PM_GROUP_LIST,
						       .counter = ids + 3,
						       .n_counters = 4,
						       .instance = four,
						       .n_instances = 4 }));
	free(cpu);
	if (o->plain_model)
		return;
	for (uint32_t i = 0; i < 3; i++) {
		struct pm_pmu p = { 0 };
		struct pm_config c = {
			.name = (char *)"msr.0x606", .kind = PM_CPU, .time_ns = 5, .value = pm_u64(0xa0e03)
		};
		struct pm_probe r = { .source = (char *)"perf",
				      .what = pm_remark(PM_REMARK_EVENTS, "cycles"),
				      .reason = 1013,
				      .hint = remark_of(i ? "sysctl kernel.perf_event_paranoid=-1" : NULL) };

		must(pm_map_set(&p.attrs, PM_PMU_NAME, pm_text("cpu")));
		must(pm_map_set(&p.attrs, PM_PMU_TYPE, pm_u64(4 + i)));
		must(pm_model_add_pmu(m, &p));
		pm_map_release(&p.attrs);
		must(cpulist_add(&c.instances, i));
		must(pm_model_add_config(m, &c));
		c.name = (char *)"dmi.serial";
		c.privacy = PM_PRIVACY_MACHINE;
		c.value = pm_text("none of your business");
		must(pm_model_add_config(m, &c));
		pm_value_release(&c.value);
		cpulist_release(&c.instances);
		must(pm_model_add_probe(m, &r));
		pm_value_release(&r.what);
		pm_value_release(&r.hint);
	}
}

uint64_t sample_tick(const struct sample_options *o, uint64_t n)
{
	return START_NS + n * o->interval_ns;
}

uint64_t sample_of_tick(const struct sample_options *o, uint64_t tick)
{
	return tick < START_NS || (tick - START_NS) % o->interval_ns ? UINT64_MAX :
								       (tick - START_NS) / o->interval_ns;
}

/* A step function that grows: the sum of n noisy steps, without summing. */
static uint64_t grown(const struct sample_options *o, uint64_t what, uint64_t n, uint64_t per_step)
{
	return what * 123456789 + n * per_step + noise(o, what, n, 1) % (per_step / 2 + 1);
}

uint16_t sample_status(const struct pm_model *m, const struct sample_options *o, uint32_t group, uint32_t column,
		       uint64_t n)
{
	const struct pm_group *g = pm_model_group(m, group);
	uint32_t head = pm_group_head(g);

	if (column < head)
		return PM_OK;
	column -= head;
	if (group == SAMPLE_PERF && column == 1 && n % 7 >= 5)
		return PM_REASON_NOT_COUNTED;
	if (group == SAMPLE_LIST && column == 1)
		return pm_reason_errno(5);
	if (group == SAMPLE_IDLE && n % 50 == 3)
		return PM_REASON_OFFLINE;
	return PM_OK;
}

uint64_t sample_cell(const struct pm_model *m, const struct sample_options *o, uint32_t group, uint32_t column,
		     uint64_t n)
{
	const struct pm_group *g = pm_model_group(m, group);
	uint32_t times = pm_group_times(g), head = pm_group_head(g), i = column % times;
	uint64_t begin = sample_tick(o, n) + 1000 * i + noise(o, group, i, n) % 50000, v;
	double f;

	if (column < times)
		return begin;
	if (column < 2 * times)
		return begin + 2000 + noise(o, group, i, n + 1) % 100;
	if (column < 3 * times && column < head)
		return begin - START_NS;
	if (column < 4 * times && column < head)
		return begin - START_NS - (n > 20 ? 5000 * n : 0);
	column -= head;
	switch (pm_group_counter_of(g, column)) {
	case 1: /* 48 bits, wraps early on */
		return (grown(o, column, n, 2500000) + 0xffffff000000ull) & 0xffffffffffffull;
	case 4:
		return (grown(o, column, n, 40000) + 0xfffff000ull) & 0xffffffff;
	case 5:
		return (uint64_t)(int64_t)((int)(noise(o, 1, 2, n) % 41) - 20);
	case 6:
		f = (double)(noise(o, 4, 4, n) % 1000) / 7;
		memcpy(&v, &f, sizeof(v));
		return v;
	case 7:
		return 1 + (n / 40) % 2;
	default:
		return grown(o, column, n, 3000);
	}
}

static void fill(struct pm_chunk_group *g, const struct pm_model *m, const struct sample_options *o, uint64_t first,
		 uint32_t rows)
{
	uint32_t columns = pm_group_columns(pm_model_group(m, g->group));
	bool missing = false;

	for (uint32_t c = 0; c < columns; c++) {
		for (uint32_t r = 0; r < rows; r++) {
			uint16_t s = sample_status(m, o, g->group, c, first + r);

			/* What lies in memory under a missing value must not matter. */
			g->v[c * g->stride + r] = s ? 0xdeadbeefdeadbeef : sample_cell(m, o, g->group, c, first + r);
			g->status[c * g->stride + r] = s;
			missing |= s;
		}
	}
	(void)missing;
}

void sample_write(struct buf *out, const struct sample_options *o)
{
	struct pm_writer_config config = {
		.sink = sample_sink, .sink_ctx = out, .codec = o->codec, .without_index = o->without_index
	};
	struct pm_chunk_group group[SAMPLE_GROUPS];
	uint64_t tick[PM_CHUNK_ROWS], number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	struct pm_writer *w;
	struct pm_model m;
	uint64_t n = 0;

	pm_model_init(&m);
	sample_model(&m, o);
	config.model = &m;
	must(pm_writer_new(&w, &config, NULL));
	for (uint32_t g = 0; g < SAMPLE_GROUPS; g++) {
		size_t cells = (size_t)pm_group_columns(pm_model_group(&m, g + 1)) * (o->rows + g);

		group[g] = (struct pm_chunk_group){ .group = g + 1, .stride = o->rows + g };
		group[g].v = calloc(cells, sizeof(uint64_t));
		group[g].status = calloc(cells, sizeof(uint16_t));
	}
	for (uint32_t k = 0; k < o->chunks; k++) {
		struct pm_chunk c = { .run = 1,
				      .segment = 1 + k / 40,
				      .rows = o->rows,
				      .tick = tick,
				      .number = number,
				      .flags = flags,
				      .group = group,
				      .n_groups = SAMPLE_GROUPS };

		for (uint32_t r = 0; r < o->rows; r++) {
			tick[r] = sample_tick(o, n + r);
			number[r] = n + r + (n + r > 30 ? 2 : 0); /* two ticks were lost */
			flags[r] = n + r == 0 ? PM_SNAPSHOT_FIRST : 0;
		}
		for (uint32_t g = 0; g < SAMPLE_GROUPS; g++)
			fill(&group[g], &m, o, n, o->rows);
		c.clocks = (struct pm_clocks){ tick[0] + 777, tick[0] + 778 + k,
					       tick[0] + 1700000000000000000ull + 11 * k, tick[0] + 5000000,
					       (tick[0] * 5) / 2 };
		must(pm_writer_chunk(w, &c));
		if (k % 10 == 9) {
			struct pm_event e = { .type = PM_EVENT_MARKER, .time_ns = tick[0] };

			must(pm_map_set(&e.attrs, PM_EVENT_KEY_TEXT, pm_text("a marker")));
			must(pm_writer_event(w, &e));
			pm_event_release(&e);
		}
		n += o->rows;
	}
	must(pm_writer_finish(w));
	pm_writer_free(w);
	for (uint32_t g = 0; g < SAMPLE_GROUPS; g++) {
		free(group[g].v);
		free(group[g].status);
	}
	pm_model_release(&m);
}

uint64_t sample_compare(const struct pm_model *m, const struct sample_options *o, const struct pm_chunk *c)
{
	uint64_t wrong = 0;

	for (uint32_t r = 0; r < c->rows; r++) {
		uint64_t n = sample_of_tick(o, c->tick[r]);

		wrong += n == UINT64_MAX || n >= (uint64_t)o->rows * o->chunks;
		wrong += c->number[r] != n + (n > 30 ? 2 : 0);
		wrong += c->flags[r] != (n == 0 ? PM_SNAPSHOT_FIRST : 0);
	}
	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *g = &c->group[i];
		uint32_t columns;

		if (g->absent)
			continue;
		columns = pm_group_columns(pm_model_group(m, g->group));
		for (uint32_t k = 0; k < columns; k++) {
			for (uint32_t r = 0; r < c->rows; r++) {
				uint64_t n = sample_of_tick(o, c->tick[r]);
				uint16_t status = g->status ? g->status[k * g->stride + r] : PM_OK;

				wrong += status != sample_status(m, o, g->group, k, n);
				wrong += !status && g->v[k * g->stride + r] != sample_cell(m, o, g->group, k, n);
			}
		}
	}
	return wrong;
}
