/*
 * Writes recordings of a size that no test machine has, through format/.
 *
 *   genrec perf VALUES FILE    2 CPUs x 8 perf events at 1 ms, until VALUES values are in the file
 *   genrec groups VALUES FILE  the same, and the events share their counters: each runs half of the time
 *   genrec hour FILE           1,024 CPUs x 40 counters at 1 s for an hour
 *   genrec large FILE          1,024 CPUs x 80 counters at 1 s for an hour
 *   genrec day FILE            256 CPUs x 40 counters at 1 s for a day: 900 MB
 *   genrec page FILE           256 CPUs x 40 counters at 1 s for an hour
 *   genrec longwide FILE       1,024 CPUs x 40 counters at 10 s for a day
 *   genrec diff SNAPSHOTS SEED FILE  256 CPUs x 40 counters at 100 ms
 *   genrec wide COLUMNS FILE   COLUMNS counters of one machine at 1 s for two minutes
 *   genrec named COUNTERS FILE COUNTERS counters with names of a user's, read three times
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "format/chunk.h"
#include "format/limits.h"
#include "format/model.h"
#include "format/writer.h"

struct shape {
	uint32_t cpus, counters;
	uint64_t interval_ns, snapshots, seed;
	const char *const *names; /* NULL: "bench.cN" */
	bool perf, shared, user_named;
};

static const char *const perf_events[] = { "task-clock",  "cpu-clock",    "context-switches", "cpu-migrations",
					   "page-faults", "minor-faults", "major-faults",     "msr/tsc/" };

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int sink(void *ctx, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(*(int *)ctx, p, len);

		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

/* The machine: one package for every 64 CPUs. Returns the id of the group of all columns. */
static int64_t build_model(struct pm_model *m, const struct shape *s)
{
	struct pm_group group = { .source = "perf", .n_counters = s->counters, .n_instances = s->cpus };
	struct pm_topology topology = { .time_ns = 1, .n = s->cpus };
	int64_t id = -ENOMEM;

	group.flags = s->perf ? PM_GROUP_PERF_TIMES : 0;
	group.counter = calloc(s->counters, sizeof(*group.counter));
	group.instance = calloc(s->cpus, sizeof(*group.instance));
	topology.cpu = calloc(s->cpus, sizeof(*topology.cpu));
	if (!group.counter || !group.instance || !topology.cpu)
		goto out;
	pm_map_set(&m->header, PM_HEADER_TOOL, pm_text("genrec"));
	pm_map_set(&m->header, PM_HEADER_INTERVAL, pm_u64(s->interval_ns));
	pm_map_set(&m->header, PM_HEADER_TARGET, pm_text("system"));
	for (uint32_t i = 0; i < s->cpus; i++) {
		struct pm_instance cpu = { .kind = PM_CPU, .number = i, .cpu = i, .added_ns = 1 };

		topology.cpu[i] = (struct pm_cpu){
			.cpu = i,
			.package = i / 64,
			.die = 0,
			.cluster = PM_NONE,
			.core = i,
			.node = i / 64,
			.thread = 0,
			.cache = { i, i, i, i / 64 },
			.type = PM_NONE,
			.capacity = PM_NONE,
			.online = true,
		};
		id = pm_model_add_instance(m, &cpu);
		if (id < 0)
			goto out;
		group.instance[i] = (uint32_t)id;
	}
	if (pm_model_set_topology(m, &topology))
		goto out;
	for (uint32_t i = 0; i < s->counters; i++) {
		char name[32];
		char *source = s->perf ? "perf" : s->user_named ? "zqnamed" : "bench";
		struct pm_counter c = { .name = name,
					.display = name,
					.source = source,
					.unit = "1",
					.scale = { 1, 1, NULL },
					.width = 64 };

		snprintf(name, sizeof(name), s->user_named ? "zqnamed.counter%u" : "bench.c%u", i);
		if (s->names)
			snprintf(name, sizeof(name), "%s", s->names[i]);
		if (s->perf && (!strcmp(name, "task-clock") || !strcmp(name, "cpu-clock"))) {
			c.unit = "ms";
			c.scale.text = "1e-6";
		}
		pm_map_set(&c.attrs, PM_COUNTER_REQUESTED, pm_bool(true));
		id = pm_model_add_counter(m, &c);
		pm_map_release(&c.attrs);
		if (id < 0)
			goto out;
		group.counter[i] = (uint32_t)id;
	}
	id = pm_model_add_group(m, &group);
out:
	free(group.counter);
	free(group.instance);
	free(topology.cpu);
	return id;
}

/* One row: every column moves on from `last`. */
static void fill_row(const struct shape *s, const struct pm_group *g, uint64_t tick, uint64_t *last, uint64_t *random,
		     struct pm_chunk_group *out, uint32_t row)
{
	uint32_t times = pm_group_times(g), head = pm_group_head(g), columns = pm_group_columns(g);

	for (uint32_t i = 0; i < times; i++) {
		uint64_t begin = tick + random_next(random) % 50000;
		uint64_t end = begin + 300 + random_next(random) % 200;

		out->v[(size_t)i * out->stride + row] = begin;
		out->v[(size_t)(times + i) * out->stride + row] = end;
		for (uint32_t k = 2; k < head / times; k++)
			out->v[(size_t)(k * times + i) * out->stride + row] = k == 3 && s->shared ? begin / 2 : begin;
	}
	for (uint32_t c = head; c < columns; c++) {
		uint32_t counter = (c - head) / s->cpus;
		uint64_t r = random_next(random), step;

		switch (counter % 8) {
		case 0:
		case 1:
			step = s->interval_ns + r % 60000;
			break;
		case 7:
			step = s->interval_ns * 2 + s->interval_ns / 2 + r % 150000;
			break;
		default:
			step = r % 16 ? 0 : r % 64;
		}
		last[c] += step;
		out->v[(size_t)c * out->stride + row] = last[c];
	}
}

static int generate(const struct shape *s, int fd)
{
	struct pm_model model;
	struct pm_writer *writer = NULL;
	struct error error = { 0 };
	struct pm_writer_config config = { .sink = sink, .sink_ctx = &fd, .model = &model };
	uint64_t tick[PM_CHUNK_ROWS], number[PM_CHUNK_ROWS], random = 88172645463325252u + s->seed * 2654435761u,
							     *last = NULL;
	uint8_t flags[PM_CHUNK_ROWS] = { PM_SNAPSHOT_FIRST };
	struct pm_chunk_group values = { .stride = PM_CHUNK_ROWS };
	uint32_t rows_max = 1000000000 / s->interval_ns;
	int64_t id;
	int r = -ENOMEM;

	pm_model_init(&model);
	memcpy(model.recording_id, "benchrec", 8);
	model.recording_id[7] = (uint8_t)('c' + s->seed);
	id = build_model(&model, s);
	if (id < 0) {
		r = (int)id;
		goto out;
	}
	const struct pm_group *group = pm_model_group(&model, (uint32_t)id);
	uint32_t columns = pm_group_columns(group);

	if (rows_max > PM_CHUNK_ROWS)
		rows_max = PM_CHUNK_ROWS;
	if (rows_max > (4u << 20) / 8 / columns)
		rows_max = (4u << 20) / 8 / columns;
	if (!rows_max)
		rows_max = 1;
	values.group = (uint32_t)id;
	values.v = calloc((size_t)columns * values.stride, sizeof(*values.v));
	last = calloc(columns, sizeof(*last));
	if (!values.v || !last)
		goto out;
	r = pm_writer_new(&writer, &config, &error);
	for (uint64_t n = 0; !r && n < s->snapshots;) {
		struct pm_chunk chunk = { .run = 1,
					  .segment = 1,
					  .tick = tick,
					  .number = number,
					  .flags = flags,
					  .group = &values,
					  .n_groups = 1 };

		for (; chunk.rows < rows_max && n < s->snapshots; chunk.rows++, n++) {
			tick[chunk.rows] = 1000000000000u + n * s->interval_ns;
			number[chunk.rows] = n;
			fill_row(s, group, tick[chunk.rows], last, &random, &values, chunk.rows);
		}
		chunk.clocks = (struct pm_clocks){ tick[0], tick[0], 1790000000000000000u + tick[0], tick[0],
						   tick[0] * 5 / 2 };
		r = pm_writer_chunk(writer, &chunk);
		flags[0] = 0;
	}
	if (!r)
		r = pm_writer_finish(writer);
	if (!r)
		printf("%llu values, %llu bytes\n", (unsigned long long)pm_writer_stats(writer).values,
		       (unsigned long long)pm_writer_stats(writer).bytes);
out:
	if (r)
		fprintf(stderr, "genrec: %s %s\n", strerror(-r), writer ? pm_writer_error(writer) : error.text);
	pm_writer_free(writer);
	pm_model_release(&model);
	free(values.v);
	free(last);
	return r;
}

static const struct sized {
	const char *name;
	struct shape shape;
} sized[] = {
	{ "hour", { .cpus = 1024, .counters = 40, .interval_ns = 1000000000, .snapshots = 3601 } },
	{ "large", { .cpus = 1024, .counters = 80, .interval_ns = 1000000000, .snapshots = 3601 } },
	{ "day", { .cpus = 256, .counters = 40, .interval_ns = 1000000000, .snapshots = 86401 } },
	{ "page", { .cpus = 256, .counters = 40, .interval_ns = 1000000000, .snapshots = 3601 } },
	{ "longwide", { .cpus = 1024, .counters = 40, .interval_ns = 10000000000, .snapshots = 8641 } },
};

static const struct sized *sized_find(const char *name)
{
	for (size_t i = 0; i < sizeof(sized) / sizeof(*sized); i++)
		if (!strcmp(sized[i].name, name))
			return &sized[i];
	return NULL;
}

int main(int argc, char **argv)
{
	struct shape shape = { 0 };
	uint64_t n = 0;

	if (argc == 4 && (!strcmp(argv[1], "perf") || !strcmp(argv[1], "groups")) && !parse_u64(argv[2], &n))
		shape = (struct shape){ .cpus = 2,
					.counters = 8,
					.interval_ns = 1000000,
					.snapshots = n / 16,
					.names = perf_events,
					.perf = true,
					.shared = argv[1][0] == 'g' };
	else if (argc == 3 && sized_find(argv[1]))
		shape = sized_find(argv[1])->shape;
	else if (argc == 5 && !strcmp(argv[1], "diff") && !parse_u64(argv[2], &n) && !parse_u64(argv[3], &shape.seed))
		shape = (struct shape){
			.cpus = 256, .counters = 40, .interval_ns = 100000000, .snapshots = n, .seed = shape.seed
		};
	else if (argc == 4 && !strcmp(argv[1], "wide") && !parse_u64(argv[2], &n))
		shape = (struct shape){
			.cpus = 1, .counters = (uint32_t)n, .interval_ns = 1000000000, .snapshots = 120
		};
	else if (argc == 4 && !strcmp(argv[1], "named") && !parse_u64(argv[2], &n))
		shape = (struct shape){ .cpus = 1,
					.counters = (uint32_t)n,
					.interval_ns = 1000000000,
					.snapshots = 3,
					.user_named = true };
	else {
		fprintf(stderr, "usage: genrec perf|groups VALUES FILE | genrec hour|large|day|page|longwide FILE | "
				"genrec wide COLUMNS FILE | genrec named COUNTERS FILE\n");
		return 2;
	}
	int fd = open(argv[argc - 1], O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0) {
		perror(argv[argc - 1]);
		return 2;
	}
	return generate(&shape, fd) || close(fd) ? 1 : 0;
}
