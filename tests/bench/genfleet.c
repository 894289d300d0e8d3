/*
 * Writes recordings of a fleet that does not exist: genfleet COUNT FOLDER. 40 machines of 8 racks, a recording of ten
 * minutes a day each, with labels rack, build and kernel. What samples/fleet asks for is in them:
 *   - the kernel of the machines changes on a Tuesday, and instructions per cycle of rack r3 fall by 8 % with it
 *   - racks move more memory the higher their number
 *   - machines 7 and 23 throttle
 *   - tasks wait three times as long for a CPU with build b2
 *   - rack r5 is virtual and cannot count instructions; rack r2 does not say how often it throttles
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/parse.h"
#include "format/chunk.h"
#include "format/model.h"
#include "format/writer.h"

enum { HOSTS = 40, CPUS = 4, ROWS = 61, INTERVAL_S = 10, TUESDAY = 9 };
#define FIRST_DAY 1783814400 /* 2026-07-12, a Sunday; day 9 is a Tuesday */
#define START     1000000000000u

enum { CYCLES, INSTRUCTIONS, WAIT, SLICES, THROTTLE, READ, COUNTERS };
static const struct {
	const char *name, *source, *unit, *scale;
} counters[COUNTERS] = {
	{ "cycles", "perf", "1", NULL },
	{ "instructions", "perf", "1", NULL },
	{ "schedstat.wait_time", "schedstat", "s", "1e-9" },
	{ "schedstat.timeslices", "schedstat", "1", NULL },
	{ "throttle.core", "throttle", "1", NULL },
	{ "memory.read_bytes", "memory", "By", NULL },
};

struct machine {
	unsigned host, day, rack;
	bool new_kernel, new_build;
	uint64_t random;
};

static double uniform(struct machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (double)(m->random >> 11) / 0x1p53;
}

static uint64_t step(struct machine *m, int counter, double load)
{
	double cycles = load * 3e9 * INTERVAL_S;

	switch (counter) {
	case CYCLES:
		return (uint64_t)cycles;
	case INSTRUCTIONS:
		return (uint64_t)(cycles * (1.4 + 0.05 * uniform(m)) * (m->new_kernel && m->rack == 3 ? 0.92 : 1));
	case WAIT:
		return (uint64_t)(20000 * 200e3 * load * (m->new_build ? 3 : 1) * (0.8 + 0.4 * uniform(m)));
	case SLICES:
		return (uint64_t)(20000 * load) + 1;
	case THROTTLE:
		return (m->host == 7 || m->host == 23) && load > 0.6 ? 1 + m->random % 3 : 0;
	default:
		return (uint64_t)(load * 1e9 * (1 + m->rack) * INTERVAL_S * (0.9 + 0.2 * uniform(m)));
	}
}

static bool lacks(const struct machine *m, int counter)
{
	return (m->rack == 5 && counter == INSTRUCTIONS) || (m->rack == 2 && counter == THROTTLE);
}

static void put_label(struct pm_value *labels, uint32_t i, const char *key, const char *value)
{
	struct pm_value pair = pm_array(2);

	pair.array.item[0] = pm_text(key);
	pair.array.item[1] = pm_text(value);
	labels->array.item[i] = pair;
}

static void build_header(struct pm_model *model, const struct machine *m)
{
	struct pm_value labels = pm_array(3);
	char text[64];

	pm_map_set(&model->header, PM_HEADER_TOOL, pm_text("genfleet"));
	pm_map_set(&model->header, PM_HEADER_INTERVAL, pm_u64(INTERVAL_S * 1000000000u));
	pm_map_set(&model->header, PM_HEADER_TARGET, pm_text("system"));
	snprintf(text, sizeof(text), "node%02u", m->host);
	pm_map_set(&model->header, PM_HEADER_HOST, pm_text(text));
	snprintf(text, sizeof(text), "%032x", 0xf1ee7000 + m->host);
	pm_map_set(&model->header, PM_HEADER_MACHINE_ID, pm_text(text));
	pm_map_set(&model->header, PM_HEADER_KERNEL, pm_text(m->new_kernel ? "6.12.0" : "6.1.0"));
	snprintf(text, sizeof(text), "r%u", m->rack);
	put_label(&labels, 0, "rack", text);
	put_label(&labels, 1, "build", m->new_build ? "b2" : "b1");
	put_label(&labels, 2, "kernel", m->new_kernel ? "6.12" : "6.1");
	pm_map_set(&model->header, PM_HEADER_LABELS, labels);
	memcpy(model->recording_id, "fleet", 5);
	model->recording_id[6] = (uint8_t)m->host;
	model->recording_id[7] = (uint8_t)m->day;
}

static int build_model(struct pm_model *model, const struct machine *m)
{
	struct pm_cpu cpu[CPUS];
	struct pm_topology topology = { .time_ns = 1, .cpu = cpu, .n = CPUS };
	uint32_t instance[CPUS], counter[COUNTERS];
	int64_t id = 0;

	build_header(model, m);
	for (uint32_t i = 0; i < CPUS; i++) {
		struct pm_instance it = { .kind = PM_CPU, .number = i, .cpu = i, .added_ns = 1 };

		cpu[i] = (struct pm_cpu){ .cpu = i,
					  .package = i / 2,
					  .cluster = PM_NONE,
					  .core = i,
					  .node = i / 2,
					  .cache = { i, i, i, i / 2 },
					  .type = PM_NONE,
					  .capacity = PM_NONE,
					  .online = true };
		if ((id = pm_model_add_instance(model, &it)) < 0)
			return (int)id;
		instance[i] = (uint32_t)id;
	}
	if (pm_model_set_topology(model, &topology))
		return -ENOMEM;
	for (int i = 0; i < COUNTERS; i++) {
		struct pm_counter c = { .name = (char *)counters[i].name,
					.display = (char *)counters[i].name,
					.source = (char *)counters[i].source,
					.unit = (char *)counters[i].unit,
					.scale = { 1, 1, (char *)counters[i].scale },
					.width = 64 };

		pm_map_set(&c.attrs, PM_COUNTER_REQUESTED, pm_bool(true));
		id = pm_model_add_counter(model, &c);
		pm_map_release(&c.attrs);
		if (id < 0)
			return (int)id;
		counter[i] = (uint32_t)id;
	}
	for (int from = 0, to; from < COUNTERS; from = to) {
		struct pm_group g = { .source = (char *)counters[from].source,
				      .counter = &counter[from],
				      .instance = instance,
				      .n_instances = CPUS };

		for (to = from; to < COUNTERS && !strcmp(counters[to].source, counters[from].source); to++)
			g.n_counters++;
		if ((id = pm_model_add_group(model, &g)) < 0)
			return (int)id;
	}
	return 0;
}

static void fill(struct machine *m, const struct pm_model *model, struct pm_chunk *chunk, uint64_t *tick,
		 uint64_t *number)
{
	uint64_t sum[COUNTERS][CPUS] = { { 0 } };

	for (uint32_t row = 0; row < ROWS; row++) {
		int first = 0;

		tick[row] = START + row * (INTERVAL_S * 1000000000ull);
		number[row] = row;
		for (uint32_t g = 0; g < chunk->n_groups; g++) {
			const struct pm_group *group = pm_model_group(model, g + 1);
			struct pm_chunk_group *out = &chunk->group[g];

			for (uint32_t i = 0; i < CPUS; i++) {
				out->v[i * out->stride + row] = tick[row] + 1000 * i;
				out->v[(CPUS + i) * out->stride + row] = tick[row] + 1000 * i + 400;
			}
			for (uint32_t v = 0; v < pm_group_values(group); v++) {
				size_t at = (pm_group_head(group) + v) * out->stride + row;
				int c = first + (int)(v / CPUS);

				if (row)
					sum[c][v % CPUS] += step(m, c, 0.2 + 0.6 * uniform(m));
				out->v[at] = sum[c][v % CPUS];
				out->status[at] = lacks(m, c) ? PM_REASON_NOT_SUPPORTED : 0;
			}
			first += (int)group->n_counters;
		}
	}
}

static int sink(void *fd, const void *data, size_t len)
{
	return write(*(int *)fd, data, len) == (ssize_t)len ? 0 : -EIO;
}

static int generate(struct machine *m, int fd)
{
	uint64_t tick[ROWS], number[ROWS], real = (FIRST_DAY + m->day * 86400ull + 9 * 3600) * 1000000000u;
	uint8_t flags[ROWS] = { PM_SNAPSHOT_FIRST };
	struct pm_chunk_group group[4] = { { 0 } };
	struct pm_chunk chunk = { .run = 1,
				  .segment = 1,
				  .rows = ROWS,
				  .tick = tick,
				  .number = number,
				  .flags = flags,
				  .clocks = { START, START, real, START, START * 3 },
				  .group = group,
				  .n_groups = 4 };
	struct pm_model model;
	struct pm_writer_config config = { .sink = sink, .sink_ctx = &fd, .model = &model };
	struct pm_writer *writer = NULL;
	struct error e = { 0 };
	int err;

	pm_model_init(&model);
	err = build_model(&model, m);
	for (uint32_t g = 0; g < 4 && !err; g++) {
		size_t columns = pm_group_columns(pm_model_group(&model, g + 1));

		group[g] = (struct pm_chunk_group){ .group = g + 1, .stride = ROWS };
		group[g].v = calloc(columns * ROWS, sizeof(*group[g].v));
		group[g].status = calloc(columns * ROWS, sizeof(*group[g].status));
		err = group[g].v && group[g].status ? 0 : -ENOMEM;
	}
	if (!err) {
		fill(m, &model, &chunk, tick, number);
		err = pm_writer_new(&writer, &config, &e);
	}
	if (!err && !(err = pm_writer_chunk(writer, &chunk)))
		err = pm_writer_finish(writer);
	pm_writer_free(writer);
	pm_model_release(&model);
	for (uint32_t g = 0; g < 4; g++) {
		free(group[g].v);
		free(group[g].status);
	}
	return err;
}

int main(int argc, char **argv)
{
	uint64_t count = 0;

	if (argc != 3 || parse_u64(argv[1], &count)) {
		fputs("usage: genfleet COUNT FOLDER\n", stderr);
		return 2;
	}
	for (unsigned i = 0; i < count; i++) {
		struct machine m = {
			.host = i % HOSTS, .day = i / HOSTS, .rack = i % 8, .random = 88172645463325252u + i
		};
		time_t day = FIRST_DAY + m.day * 86400;
		char path[4096], date[16];
		int fd, err;

		m.new_kernel = m.day >= TUESDAY;
		m.new_build = m.day >= 18;
		strftime(date, sizeof(date), "%Y%m%d", gmtime(&day));
		snprintf(path, sizeof(path), "%s/node%02u-%s.pmr", argv[2], m.host, date);
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		err = fd < 0 ? -errno : generate(&m, fd);
		if (err || close(fd)) {
			fprintf(stderr, "genfleet: %s: %s\n", path, strerror(-err));
			return 1;
		}
	}
	return 0;
}
