/*
 * make_page FILE [SECONDS [TEXT]]: a recording for tests of pages, with known truth. 16 CPUs in two packages, one
 * snapshot a second (600 unless said otherwise):
 *   bench.even   every CPU counts 1000 a second, CPU 11 counts 5000
 *   bench.wave   CPU n counts 100 * (n + 1) a second, and ten times that in every other minute
 *   bench.level  a gauge: 40 + n
 *   bench.spike  a gauge that wavers between 50 and 54, and that is 500 on CPU 9 at 400 s
 * A marker at 60 s, CPU 5 offline from 120 s to 240 s, ticks lost from 300 s to 330 s. TEXT goes into every text that
 * a recording may hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "format/writer.h"
#include "tests/unit/lib/remark.h"

#define CPUS     16
#define COUNTERS 4
#define START    1000000000000u
#define SECOND   1000000000u

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

static void set_text(struct pm_map *m, uint32_t key, const char *prefix, const char *text)
{
	char both[512];

	snprintf(both, sizeof(both), "%s%s", prefix, text);
	pm_map_set(m, key, pm_text(both));
}

static int build(struct pm_model *m, const char *text, uint32_t *id)
{
	static const char *const name[COUNTERS] = { "bench.even", "bench.wave", "bench.level", "bench.spike" };
	struct pm_topology topology = { .time_ns = 1, .n = CPUS };
	struct pm_cpu cpu[CPUS];
	uint32_t counter[COUNTERS], instance[CPUS];
	struct pm_group group = { .source = (char *)(uintptr_t) "bench",
				  .n_counters = COUNTERS,
				  .n_instances = CPUS,
				  .counter = counter,
				  .instance = instance };
	struct pm_probe probe = { .source = (char *)(uintptr_t) "bench", .reason = PM_REASON_NOT_SUPPORTED };
	char display[512], help[512];
	int64_t n;

	set_text(&m->header, PM_HEADER_TOOL, "make_page", text);
	pm_map_set(&m->header, PM_HEADER_INTERVAL, pm_u64(SECOND));
	pm_map_set(&m->header, PM_HEADER_TARGET, pm_text("system"));
	set_text(&m->header, PM_HEADER_CPU_MODEL, "model", text);
	set_text(&m->header, PM_HEADER_KERNEL, "kernel", text);
	set_text(&m->header, PM_HEADER_HOST, "host", text);
	set_text(&m->header, PM_HEADER_COMMAND, "command", text);
	for (uint32_t i = 0; i < CPUS; i++) {
		struct pm_instance one = { .kind = PM_CPU, .number = i, .cpu = i, .added_ns = 1 };

		cpu[i] = (struct pm_cpu){ .cpu = i,
					  .package = i / 8,
					  .cluster = PM_NONE,
					  .core = i % 8,
					  .node = i / 8,
					  .cache = { i, i, i, i / 8 },
					  .type = PM_NONE,
					  .capacity = PM_NONE,
					  .online = true };
		if ((n = pm_model_add_instance(m, &one)) < 0)
			return (int)n;
		instance[i] = (uint32_t)n;
	}
	topology.cpu = cpu;
	if ((n = pm_model_set_topology(m, &topology)))
		return (int)n;
	for (uint32_t i = 0; i < COUNTERS; i++) {
		struct pm_counter c = { .name = (char *)(uintptr_t)name[i],
					.display = display,
					.width = 64,
					.source = (char *)(uintptr_t) "bench",
					.unit = (char *)(uintptr_t) "1",
					.scale = { 1, 1, NULL } };

		snprintf(display, sizeof(display), "%s%s", name[i], text);
		snprintf(help, sizeof(help), "Help of %s%s", name[i], text);
		c.semantics = i >= 2 ? PM_GAUGE : PM_CUMULATIVE;
		c.aggregation = i >= 2 ? PM_AGG_MEAN : PM_AGG_SUM;
		pm_map_set(&c.attrs, PM_COUNTER_REQUESTED, pm_bool(true));
		pm_map_set(&c.attrs, PM_COUNTER_HELP, pm_text(help));
		n = pm_model_add_counter(m, &c);
		pm_map_release(&c.attrs);
		if (n < 0)
			return (int)n;
		counter[i] = (uint32_t)n;
	}
	probe.what = pm_remark(PM_REMARK_TEXT, display);
	probe.hint = pm_remark(PM_REMARK_TEXT, help);
	n = pm_model_add_probe(m, &probe);
	pm_value_release(&probe.what);
	pm_value_release(&probe.hint);
	if (n)
		return (int)n;
	n = pm_model_add_group(m, &group);
	*id = (uint32_t)n;
	return n < 0 ? (int)n : 0;
}

static bool is_lost(uint64_t s)
{
	return s > 300 && s < 330;
}

static bool is_offline(uint32_t cpu, uint64_t s)
{
	return cpu == 5 && s >= 120 && s < 240;
}

static uint64_t truth(uint32_t counter, uint32_t cpu, uint64_t s)
{
	uint64_t slow = 100 * (cpu + 1);

	if (counter == 0)
		return s * (cpu == 11 ? 5000 : 1000);
	if (counter == 2)
		return 40 + cpu;
	if (counter == 3)
		return s == 400 && cpu == 9 ? 500 : 50 + s * 7 % 5;
	return slow * (s / 120 * 60 * 11) + slow * (s % 120 <= 60 ? s % 120 : 60 + (s % 120 - 60) * 10);
}

static int event(struct pm_writer *w, enum pm_event_type type, uint64_t s, uint64_t since, int cpu, const char *text)
{
	struct pm_event e = { .type = type, .time_ns = START + s * SECOND };
	int err;

	if (cpu >= 0)
		pm_map_set(&e.attrs, PM_EVENT_KEY_CPU, pm_u64((uint64_t)cpu));
	if (since) {
		pm_map_set(&e.attrs, PM_EVENT_KEY_SINCE, pm_u64(START + since * SECOND));
		pm_map_set(&e.attrs, PM_EVENT_KEY_COUNT, pm_u64(s - since - 1));
	}
	if (text)
		set_text(&e.attrs, PM_EVENT_KEY_TEXT, "phase two", text);
	err = pm_writer_event(w, &e);
	pm_event_release(&e);
	return err;
}

static int events_at(struct pm_writer *w, uint64_t s, const char *text)
{
	switch (s) {
	case 60:
		return event(w, PM_EVENT_MARKER, s, 0, -1, text);
	case 120:
		return event(w, PM_EVENT_CPU_OFFLINE, s, 0, 5, NULL);
	case 240:
		return event(w, PM_EVENT_CPU_ONLINE, s, 0, 5, NULL);
	case 330:
		return event(w, PM_EVENT_LOST, s, 300, -1, NULL);
	default:
		return 0;
	}
}

static int fill(struct pm_writer *w, const struct pm_model *m, uint32_t id, uint64_t seconds, const char *text)
{
	const struct pm_group *g = pm_model_group(m, id);
	uint32_t columns = pm_group_columns(g), head = pm_group_head(g), times = pm_group_times(g);
	uint64_t *v = calloc(columns, sizeof(*v));
	uint16_t *reason = calloc(columns, sizeof(*reason));
	struct pm_chunk_group values = { .group = id, .stride = 1, .v = v, .status = reason };
	int err = v && reason ? 0 : -ENOMEM;

	for (uint64_t s = 0; s <= seconds && !err; s++) {
		uint64_t tick = START + s * SECOND;
		uint8_t flags = s ? 0 : PM_SNAPSHOT_FIRST;
		struct pm_chunk chunk = { .run = 1,
					  .segment = 1,
					  .rows = 1,
					  .tick = &tick,
					  .number = &s,
					  .flags = &flags,
					  .group = &values,
					  .n_groups = 1,
					  .clocks = { tick, tick, 1790000000000000000u + tick, tick, tick } };

		if ((err = events_at(w, s, text)) || is_lost(s))
			continue;
		for (uint32_t i = 0; i < 2 * times; i++)
			v[i] = tick + 1000 * (i + 1);
		for (uint32_t i = 0; i < COUNTERS * CPUS; i++) {
			bool away = is_offline(i % CPUS, s);

			v[head + i] = away ? 0 : truth(i / CPUS, i % CPUS, s);
			reason[head + i] = away ? PM_REASON_OFFLINE : 0;
		}
		err = pm_writer_chunk(w, &chunk);
	}
	free(v);
	free(reason);
	return err;
}

int main(int argc, char **argv)
{
	struct pm_writer_config config = { .sink = sink };
	const char *text = argc > 3 ? argv[3] : "";
	struct pm_writer *w = NULL;
	struct error e = { 0 };
	struct pm_model m;
	uint64_t seconds = 600;
	uint32_t id = 0;
	int fd, err;

	if (argc < 2 || argv[1][0] == '-' || (argc > 2 && parse_u64(argv[2], &seconds))) {
		fprintf(stderr, "usage: make_page FILE [SECONDS [TEXT]]\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0) {
		perror(argv[1]);
		return 2;
	}
	pm_model_init(&m);
	memcpy(m.recording_id, "makepage", 8);
	config.sink_ctx = &fd;
	config.model = &m;
	err = build(&m, text, &id);
	if (!err)
		err = pm_writer_new(&w, &config, &e);
	if (!err)
		err = fill(w, &m, id, seconds, text);
	if (!err)
		err = pm_writer_finish(w);
	if (err)
		fprintf(stderr, "make_page: %s %s\n", strerror(-err), e.text);
	pm_writer_free(w);
	pm_model_release(&m);
	close(fd);
	return err ? 1 : 0;
}
