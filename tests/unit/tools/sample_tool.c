/*
 * sample_tool SHAPE FILE: writes a sample recording, for tests that look at it from outside. churnN and
 * live=LIVE,COUNTERS,REPLACED,SECONDS,CGROUPS are of tasks that come and go; the latter prints what it takes (churn.h).
 * sample_tool dump FILE: everything that the reader says, as text, the same on every machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/frame.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/churn.h"
#include "tests/unit/lib/sample.h"

static const struct {
	const char *name;
	struct sample_options o;
} shapes[] = {
	{ "rows1", { .cpus = 2, .rows = 1, .chunks = 20, .interval_ns = 1000000000, .seed = 1 } },
	{ "rows20", { .cpus = 3, .rows = 20, .chunks = 20, .interval_ns = 10000000, .seed = 2 } },
	{ "rows128", { .cpus = 40, .rows = 128, .chunks = 4, .interval_ns = 1000000, .seed = 3 } },
	{ "plain",
	  { .cpus = 2, .rows = 17, .chunks = 5, .interval_ns = 10000000, .seed = 4, .codec = PM_CODEC_PLAIN } },
	{ "long", { .cpus = 1, .rows = 1, .chunks = 2200, .interval_ns = 1000000000, .seed = 5 } },
	{ "noindex",
	  { .cpus = 1,
	    .rows = 1,
	    .chunks = 3,
	    .interval_ns = 1000000000,
	    .seed = 6,
	    .without_index = true,
	    .plain_model = true } },
};

/* The example of SPEC.md: one counter, read once. */
static void write_smallest(struct buf *file)
{
	uint64_t v[] = { 5000000100, 5000000300, 42 }, tick = 5000000000, number = 0;
	struct pm_chunk_group group = { .group = 1, .v = v, .stride = 1 };
	uint32_t one = 1;
	struct pm_chunk c = {
		.run = 1,
		.rows = 1,
		.tick = &tick,
		.number = &number,
		.group = &group,
		.n_groups = 1,
		.clocks = { 5000000050, 5000000060, 1700000000000000000, 5000000050, 12500000000 },
	};
	struct pm_writer_config config = { .sink = sample_sink, .sink_ctx = file };
	struct pm_writer *w;
	struct pm_model m;
	int err;

	pm_model_init(&m);
	memcpy(m.recording_id, "\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8", 8);
	config.model = &m;
	err = pm_map_set(&m.header, PM_HEADER_TOOL, pm_text("pmrec 0.1.0")) ||
	      pm_map_set(&m.header, PM_HEADER_INTERVAL, pm_u64(1000000000)) ||
	      pm_model_add_instance(&m, &(struct pm_instance){ .number = PM_NONE, .cpu = PM_NONE }) < 0 ||
	      pm_model_add_counter(&m, &(struct pm_counter){ .name = (char *)"stat.ctxt",
							     .source = (char *)"stat",
							     .unit = (char *)"1" }) < 0 ||
	      pm_model_add_group(&m, &(struct pm_group){ .source = (char *)"stat",
							 .counter = &one,
							 .n_counters = 1,
							 .instance = &one,
							 .n_instances = 1 }) < 0 ||
	      pm_writer_new(&w, &config, NULL) || pm_writer_chunk(w, &c) || pm_writer_finish(w);
	if (err)
		abort();
	pm_writer_free(w);
	pm_model_release(&m);
}

static int write_sample(const char *name, const char *path)
{
	struct buf file = BUF_INIT;
	FILE *f;
	unsigned seed = !strncmp(name, "churn", 5) ? (unsigned)atoi(name + 5) : 0;
	unsigned live, counters, replaced, seconds, cgroups;
	int ok;

	if (sscanf(name, "live=%u,%u,%u,%u,%u", &live, &counters, &replaced, &seconds, &cgroups) == 5) {
		f = fopen(path, "wb");
		if (f)
			churn_write(NULL, &(struct churn_options){ .live = live,
								   .counters = counters,
								   .replaced = replaced,
								   .chunks = seconds,
								   .rows = 1,
								   .perf = cgroups == 2,
								   .cgroups = cgroups == 1,
								   .to = f });
		return f && !fclose(f) ? 0 : 1;
	}
	if (!strcmp(name, "smallest"))
		write_smallest(&file);
	if (!strncmp(name, "churn", 5))
		churn_write(&file, &(struct churn_options){ .live = 5 + seed % 40,
							    .counters = 1 + seed % 4,
							    .replaced = 1 + seed % 17,
							    .chunks = 60,
							    .rows = seed % 5 == 4 ? 17 : 1 + seed % 3,
							    .perf = seed % 2,
							    .shared = seed % 3 == 1,
							    .restart = seed % 7 == 3,
							    .slow = seed % 4 == 2,
							    .seed = seed });
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		if (!strcmp(shapes[i].name, name))
			sample_write(&file, &shapes[i].o);
	if (!file.len) {
		fprintf(stderr, "no shape %s\n", name);
		return 2;
	}
	f = fopen(path, "wb");
	ok = f && fwrite(file.data, 1, file.len, f) == file.len;
	if (f && fclose(f))
		ok = 0;
	buf_release(&file);
	return ok ? 0 : 1;
}

static void print_map(const struct pm_map *m);

static void print_value(const struct pm_value *v)
{
	switch (v->kind) {
	case PM_VALUE_U64:
		printf("%" PRIu64, v->u64);
		break;
	case PM_VALUE_S64:
		printf("%" PRId64, v->s64);
		break;
	case PM_VALUE_F64:
		printf("%.17g", v->f64);
		break;
	case PM_VALUE_BOOL:
		printf("%s", v->boolean ? "true" : "false");
		break;
	case PM_VALUE_TEXT:
	case PM_VALUE_BYTES:
		putchar('"');
		for (size_t i = 0; i < v->str.len; i++)
			printf(v->str.data[i] >= 32 && v->str.data[i] < 127 ? "%c" : "\\x%02x",
			       (unsigned char)v->str.data[i]);
		putchar('"');
		break;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++) {
			printf(i ? " " : "[");
			print_value(&v->array.item[i]);
		}
		putchar(']');
		break;
	case PM_VALUE_MAP:
		print_map(&v->map);
		break;
	}
}

static void print_map(const struct pm_map *m)
{
	putchar('{');
	for (uint32_t i = 0; i < m->n; i++) {
		printf(" %u:", m->field[i].key);
		print_value(&m->field[i].value);
	}
	printf(" }");
}

static void print_model(const struct pm_model *m)
{
	printf("header");
	print_map(&m->header);
	for (uint32_t i = 0; i < m->topology.n; i++)
		printf("\ncpu %u package %u core %u thread %u", m->topology.cpu[i].cpu, m->topology.cpu[i].package,
		       m->topology.cpu[i].core, m->topology.cpu[i].thread);
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];

		printf("\ncounter %u %s/%s %s %s %" PRIu64 "/%" PRIu64 " %s %d %d %u %d", c->id, c->name, c->display,
		       c->source, c->unit, c->scale.num, c->scale.den, c->scale.text ? c->scale.text : "-", c->type,
		       c->semantics, c->width, c->aggregation);
		print_map(&c->attrs);
	}
	for (uint32_t i = 0; i < m->n_instances; i++) {
		printf("\ninstance %u kind %d number %u cpu %u %" PRIu64 "-%" PRIu64, i + 1, m->instance[i].kind,
		       m->instance[i].number, m->instance[i].cpu, m->instance[i].added_ns, m->instance[i].retired_ns);
		print_map(&m->instance[i].attrs);
	}
	for (uint32_t i = 0; i < m->n_groups; i++)
		printf("\ngroup %u %s flags %u %u x %u", i + 1, m->group[i].source, m->group[i].flags,
		       m->group[i].n_counters, m->group[i].n_instances);
	for (uint32_t i = 0; i < m->n_configs; i++) {
		printf("\nconfig %s %d %d %zu ", m->config[i].name, m->config[i].privacy, m->config[i].reason,
		       m->config[i].instances.n);
		print_value(&m->config[i].value);
	}
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		printf("\npmu");
		print_map(&m->pmu[i].attrs);
	}
	for (uint32_t i = 0; i < m->n_probes; i++)
		printf("\nprobe %s %s %u", m->probe[i].source, said(&m->probe[i].what), m->probe[i].reason);
	putchar('\n');
}

static void print_chunk(const struct pm_model *m, const struct pm_chunk *c)
{
	for (uint32_t r = 0; r < c->rows; r++)
		printf("row %" PRIu64 " %" PRIu64 " %u\n", c->tick[r], c->number[r], c->flags[r]);
	printf("clocks %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->clocks.monotonic,
	       c->clocks.monotonic_raw, c->clocks.realtime, c->clocks.boottime, c->clocks.counter);
	for (uint32_t g = 0; g < c->n_groups; g++) {
		const struct pm_chunk_group *cg = &c->group[g];
		uint32_t columns = pm_group_columns(pm_model_group(m, cg->group));

		printf("group %u\n", cg->group);
		for (uint32_t k = 0; k < columns; k++) {
			for (uint32_t r = 0; r < c->rows; r++) {
				uint16_t s = cg->status ? cg->status[k * cg->stride + r] : 0;

				if (s)
					printf(" !%u", s);
				else
					printf(" %" PRIu64, cg->v[k * cg->stride + r]);
			}
			putchar('\n');
		}
	}
}

static int dump(const char *path)
{
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	struct error e;
	int ok;

	if (pm_input_path(&in, path, false, &e) || pm_reader_open(&r, &in, &e)) {
		fprintf(stderr, "%s: %s\n", path, e.text);
		return 2;
	}
	while ((ok = pm_reader_next(r, &item)) == 1) {
		const struct pm_chunk *c;

		printf("%s %" PRIu64 " + %" PRIu64 " sequence %" PRIu64 " kind %d parts %u\n",
		       pm_frame_name(item.type) ? pm_frame_name(item.type) : "-", item.offset, item.length,
		       item.sequence, item.kind, item.parts);
		if (item.kind == PM_ITEM_DAMAGE)
			printf("damage %d: %s\n", item.damage->kind, item.damage->text);
		if (item.kind == PM_ITEM_EVENT) {
			printf("event %d %" PRIu64, item.event->type, item.event->time_ns);
			print_map(&item.event->attrs);
			putchar('\n');
		}
		if (item.kind == PM_ITEM_CHUNK && !pm_reader_decode(r, &c))
			print_chunk(pm_reader_model(r), c);
	}
	print_model(pm_reader_model(r));
	pm_reader_close(r);
	return ok ? 2 : 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: sample_tool SHAPE|dump FILE\n");
		return 2;
	}
	return strcmp(argv[1], "dump") ? write_sample(argv[1], argv[2]) : dump(argv[2]);
}
