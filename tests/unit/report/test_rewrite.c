/* Carrying recordings over: what stays, what is added up, and where nothing may be subtracted. */
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/redact_bytes.h"
#include "tests/unit/lib/rewrite_bytes.h"
#include "tests/unit/lib/test.h"

#define ROWS_MAX    400
#define COLUMNS_MAX 64

/* What stands in a recording, row by row. */
struct row {
	uint64_t tick, number, v[COLUMNS_MAX];
	uint16_t status[COLUMNS_MAX];
	uint32_t segment;
	uint8_t flags;
	struct pm_clocks clocks; /* of its chunk */
};

struct table {
	struct row row[ROWS_MAX];
	uint32_t n, columns, head, notes, damages, chunks;
	uint64_t event_ns;
	char *text[16]; /* strings of the model, owned */
	uint64_t added_ns, config_ns, topology_ns;
};

static void take_rows(struct table *t, const struct pm_model *m, const struct pm_chunk *c)
{
	const struct pm_group *g;

	assert_int_equal(c->n_groups, 1);
	g = pm_model_group(m, c->group[0].group);
	t->columns = pm_group_columns(g);
	t->head = pm_group_head(g);
	assert_true(t->columns <= COLUMNS_MAX);
	for (uint32_t r = 0; r < c->rows; r++) {
		struct row *row = &t->row[t->n++];

		assert_true(t->n <= ROWS_MAX);
		*row = (struct row){ .tick = c->tick[r],
				     .number = c->number[r],
				     .flags = c->flags[r],
				     .segment = c->segment,
				     .clocks = c->clocks };
		for (uint32_t k = 0; k < t->columns; k++) {
			size_t at = k * c->group[0].stride + r;

			row->status[k] = c->group[0].status ? c->group[0].status[at] : 0;
			row->v[k] = row->status[k] ? 0 : c->group[0].v[at];
			/* Numbers of strings are given anew: their length stands for them. */
			if (k >= t->head &&
			    pm_model_counter(m, pm_group_counter_of(g, k - t->head))->type == PM_TEXT &&
			    !row->status[k])
				row->v[k] = pm_model_string(m, (uint32_t)row->v[k])->str.len;
		}
	}
	t->chunks++;
}

/* Of the one group of the recording. */
static struct table *read_table(const struct buf *file)
{
	struct table *t = calloc(1, sizeof(*t));
	struct pm_reader *r = open_bytes(file);
	const struct pm_model *m;
	const struct pm_chunk *c;
	struct pm_item item;

	assert_non_null(t);
	while (pm_reader_next(r, &item) == 1) {
		t->damages += item.kind == PM_ITEM_DAMAGE;
		if (item.kind == PM_ITEM_EVENT) {
			t->notes += item.event->type == PM_EVENT_NOTE;
			t->event_ns = item.event->time_ns;
		}
		if (item.kind == PM_ITEM_CHUNK && !pm_reader_decode(r, &c))
			take_rows(t, pm_reader_model(r), c);
	}
	m = pm_reader_model(r);
	for (uint32_t i = 0; i < m->n_strings && i < 16; i++)
		t->text[i] = strdup(m->string[i].str.data);
	t->added_ns = m->n_instances ? m->instance[0].added_ns : 0;
	t->config_ns = m->n_configs ? m->config[0].time_ns : 0;
	t->topology_ns = m->topology.time_ns;
	pm_reader_close(r);
	return t;
}

static void table_free(struct table *t)
{
	for (int i = 0; i < 16; i++)
		free(t->text[i]);
	free(t);
}

/* ---- a recording with a counter of each kind ---- */

enum { CUMULATIVE, DELTA, PEAK, GAUGE, TEXT, COUNTERS };
static const char *const names[] = { "t.cumulative", "t.delta", "t.peak", "t.gauge", "t.text" };

static uint64_t noise(uint64_t row, uint64_t cpu)
{
	uint64_t v = (row * 2654435761u + cpu * 40503u + 7) * 0x9e3779b97f4a7c15u;

	return v >> 50;
}

/* A delta is missing in row 13 of CPU 1, a gauge in row 20. */
static struct reading value(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b;
	if (!strcmp(counter, names[CUMULATIVE]))
		return (struct reading){ .v = row * 1000 + i->number + noise(row, i->number) % 900 };
	if (!strcmp(counter, names[DELTA]) && row == 13 && i->number == 1)
		return (struct reading){ .status = PM_REASON_MISSED };
	if (!strcmp(counter, names[GAUGE]) && row == 20)
		return (struct reading){ .status = PM_REASON_ERRNO + EIO };
	if (!strcmp(counter, names[TEXT]))
		return (struct reading){ .v = 1 + row / 7 % 2 };
	return (struct reading){ .v = noise(row, i->number) };
}

static void define_with(struct builder *b, const char *unit)
{
	static const enum pm_semantics semantics[] = { PM_CUMULATIVE, PM_DELTA, PM_PEAK, PM_GAUGE, PM_STATE };
	struct pm_config config = { .name = (char *)"msr.0x606", .time_ns = 1234, .kind = PM_SYSTEM };
	uint32_t id[COUNTERS];

	builder_init(b, value);
	for (int i = 0; i < COUNTERS; i++) {
		id[i] = builder_counter(b, names[i], unit, semantics[i], PM_AGG_SUM);
		if (i == TEXT)
			builder_counter_at(b, id[i])->type = PM_TEXT;
	}
	builder_counter_at(b, id[CUMULATIVE])->width = 40;
	assert_int_equal(pm_model_add_string(&b->model, "powersave", 9, false), 1);
	assert_int_equal(pm_model_add_string(&b->model, "performance", 11, false), 2);
	config.value = pm_u64(7);
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	builder_group(b, PM_CPU, 3, 0, id, COUNTERS);
}

static void define(struct builder *b)
{
	define_with(b, "1");
}

/* Rows [from, to) in chunks of `rows`, of 3 CPUs. */
static void record(struct builder *b, uint64_t from, uint64_t to, uint32_t rows)
{
	struct pm_event event = { .type = PM_EVENT_MARKER, .time_ns = BUILDER_START_NS + from * 1000000000 + 5 };

	define(b);
	for (uint64_t row = from; row < to; row += rows) {
		builder_write(b, row, (uint32_t)(to - row < rows ? to - row : rows));
		if (row == from)
			assert_int_equal(pm_writer_event(b->writer, &event), 0);
	}
	builder_finish(b);
}

static uint32_t column(const struct table *t, int counter, int cpu)
{
	return t->head + (uint32_t)counter * 3 + (uint32_t)cpu;
}

static void same_row(const struct row *a, const struct row *b, uint32_t columns)
{
	assert_int_equal(a->tick, b->tick);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->flags, b->flags);
	assert_memory_equal(a->v, b->v, columns * sizeof(*a->v));
	assert_memory_equal(a->status, b->status, columns * sizeof(*a->status));
}

/* ---- tests ---- */

static void windows_cut_through_chunks(void **state)
{
	static const uint64_t bounds[][2] = { { 0, 199 }, { 1, 150 },  { 17, 18 },
					      { 40, 40 }, { 48, 180 }, { 199, 199 } };
	struct builder b;
	struct table *in;
	(void)state;

	record(&b, 0, 200, 3);
	in = read_table(&b.file);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		struct rewrite_rules rules = { .from_ns = BUILDER_START_NS + bounds[i][0] * 1000000000,
					       .to_ns = BUILDER_START_NS + bounds[i][1] * 1000000000 };
		struct buf file = BUF_INIT;
		struct table *out;

		rewrite_bytes(&rules, &b.file, 1, &file);
		out = read_table(&file);
		assert_int_equal(out->n, bounds[i][1] - bounds[i][0] + 1);
		assert_int_equal(out->damages, 0);
		for (uint32_t r = 0; r < out->n; r++)
			same_row(&in->row[bounds[i][0] + r], &out->row[r], in->columns);
		table_free(out);
		buf_release(&file);
	}
	table_free(in);
	builder_release(&b);
}

static void every_adds_up_what_it_skips(void **state)
{
	static const uint32_t steps[] = { 2, 3, 7, 10, 64, 1000 };
	struct builder b;
	struct table *in;
	(void)state;

	record(&b, 0, 100, 5);
	in = read_table(&b.file);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct rewrite_rules rules = { .every = steps[i] };
		struct buf file = BUF_INIT;
		struct table *out;
		uint32_t at = 0;

		rewrite_bytes(&rules, &b.file, 1, &file);
		out = read_table(&file);
		/* The marker is written between rows 4 and 5, and what happened stays where it was. */
		assert_true(out->n <= 100 / steps[i] + 4);
		assert_int_equal(out->row[0].tick, in->row[0].tick);
		assert_int_equal(out->row[out->n - 1].tick, in->row[99].tick);
		for (uint32_t r = 0; r < out->n; r++) {
			uint64_t sum[3] = { 0 }, peak[3] = { 0 };
			bool missing = false;

			for (; at < in->n && in->row[at].tick <= out->row[r].tick; at++)
				for (int cpu = 0; cpu < 3; cpu++) {
					uint64_t p = in->row[at].v[column(in, PEAK, cpu)];

					sum[cpu] += in->row[at].v[column(in, DELTA, cpu)];
					peak[cpu] = p > peak[cpu] ? p : peak[cpu];
					missing |= in->row[at].status[column(in, DELTA, cpu)] != 0;
				}
			for (int cpu = 0; cpu < 3; cpu++) {
				uint32_t delta = column(out, DELTA, cpu);

				assert_int_equal(out->row[r].status[delta],
						 missing && cpu == 1 ? PM_REASON_MISSED : 0);
				if (!out->row[r].status[delta])
					assert_int_equal(out->row[r].v[delta], sum[cpu]);
				assert_int_equal(out->row[r].v[column(out, PEAK, cpu)], peak[cpu]);
				assert_int_equal(out->row[r].v[column(out, CUMULATIVE, cpu)],
						 in->row[at - 1].v[column(in, CUMULATIVE, cpu)]);
				assert_int_equal(out->row[r].status[column(out, GAUGE, cpu)],
						 in->row[at - 1].status[column(in, GAUGE, cpu)]);
			}
		}
		assert_int_equal(at, in->n);
		table_free(out);
		buf_release(&file);
	}
	table_free(in);
	builder_release(&b);
}

/* Tasks come and go: what is read together may be what it was before, in a group of a new id. */
static void a_group_that_ended_takes_no_equal_one_along(void **state)
{
	static const uint32_t counters[] = { 1, 2, 3, 4, 5 };
	struct rewrite_rules rules = { 0 };
	struct buf file = BUF_INIT, both[2];
	struct builder a, b;
	struct table *out;
	(void)state;

	record(&a, 0, 50, 4);
	define(&b);
	assert_int_equal(builder_group(&b, PM_CPU, 3, 0, counters, COUNTERS), 2);
	assert_int_equal(pm_model_retire_group(&b.model, 1), 0);
	builder_write(&b, 50, 30);
	builder_finish(&b);
	both[0] = a.file;
	both[1] = b.file;
	rewrite_bytes(&rules, both, 2, &file);
	out = read_table(&file);
	assert_int_equal(out->n, 80);
	for (uint32_t r = 0; r < out->n; r++)
		assert_int_equal(out->row[r].v[column(out, PEAK, 2)], noise(r, 2));
	table_free(out);
	buf_release(&file);
	builder_release(&a);
	builder_release(&b);
}

/* A text gets a pseudonym; bytes could hold anything. */
static void texts_are_redacted(void **state)
{
	struct buf file = BUF_INIT;
	struct redact *redact;
	struct builder b;
	struct table *out;
	(void)state;

	define(&b);
	b.model.string[1].kind = PM_VALUE_BYTES;
	for (uint64_t row = 0; row < 60; row += 9)
		builder_write(&b, row, 60 - row < 9 ? (uint32_t)(60 - row) : 9);
	builder_finish(&b);
	assert_int_equal(redact_new(&redact, &(struct redact_options){ 0 }, &(struct error){ 0 }), 0);
	redact_bytes(redact, &b.file, &file);
	redact_free(redact);
	out = read_table(&file);
	assert_int_equal(strncmp(out->text[0], "text-", 5), 0);
	assert_null(out->text[1]);
	for (uint32_t r = 0; r < out->n; r++) {
		bool dropped = r / 7 % 2;

		assert_int_equal(out->row[r].status[column(out, TEXT, 0)], dropped ? PM_REASON_FORMAT : 0);
		assert_int_equal(out->row[r].v[column(out, TEXT, 0)], dropped ? 0 : strlen("text-01234567"));
	}
	/* Nothing of it is in the bytes: neither the old text, nor that of frames that are not packed. */
	assert_null(memmem(file.data, file.len, "powersave", 9));
	assert_null(memmem(file.data, file.len, "performance", 11));
	table_free(out);
	buf_release(&file);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(windows_cut_through_chunks), cmocka_unit_test(every_adds_up_what_it_skips),
	   cmocka_unit_test(a_group_that_ended_takes_no_equal_one_along), cmocka_unit_test(texts_are_redacted))
