/* What incidents are read for a second time: whose tasks they were; and the bins that they were found in. */
#include "report/incident/incident.c"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/test.h"

#define ROWS 100
#define MB   1000000.0

/* What somebody does in a second, between `from` and `to` and otherwise. */
struct doer {
	uint64_t pid, parent;
	const char *comm, *parent_comm;
	uint32_t came, gone; /* rows from and behind which it can be read; came > 0: it is added then */
	double cpu[2], bytes[2], ended[2];
	double rss[2];
};

struct world {
	const struct doer *doer;
	uint32_t n, first; /* first: the id of its first instance */
	uint32_t from, to; /* rows */
};

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct world *w = b->data;
	const struct doer *d = &w->doer[i->id - w->first];
	uint64_t begin = w->from > d->came ? w->from : d->came, end = row < w->to ? row : w->to;
	uint64_t inside = end > begin ? end - begin : 0;
	const double *rate = !strcmp(counter, "tasks.read")  ? d->bytes :
			     !strcmp(counter, "tasks.ended") ? d->ended :
							       d->cpu;

	if (row < d->came || (d->gone && row > d->gone))
		return (struct reading){ 0, PM_REASON_GONE };
	if (!strcmp(counter, "tasks.rss"))
		return (struct reading){ (uint64_t)d->rss[row > w->from && row <= w->to], 0 };
	if (!strcmp(counter, "tasks.system") || !strcmp(counter, "tasks.write"))
		return (struct reading){ 0, 0 };
	return (struct reading){
		(uint64_t)llround(rate[0] * (double)(row - d->came - inside) + rate[1] * (double)inside), 0
	};
}

/* CPU times are in hundredths of a second. */
static void record(struct world *w, char path[64])
{
	static const struct {
		const char *name, *unit;
	} counters[] = { { "tasks.user", "s" },   { "tasks.system", "s" }, { "tasks.read", "By" },
			 { "tasks.write", "By" }, { "tasks.ended", "1" },  { "tasks.rss", "By" } };
	enum { COUNTERS = sizeof(counters) / sizeof(*counters) };
	struct builder b;
	uint32_t counter[COUNTERS], who[32];

	builder_init(&b, of_row);
	b.data = w;
	for (int k = 0; k < COUNTERS; k++) {
		counter[k] = builder_counter(&b, counters[k].name, counters[k].unit,
					     k == COUNTERS - 1 ? PM_GAUGE : PM_CUMULATIVE, PM_AGG_SUM);
		if (counters[k].unit[0] == 's')
			builder_counter_at(&b, counter[k])->scale.den = 100;
	}
	for (uint32_t k = 0; k < w->n; k++) {
		const struct doer *d = &w->doer[k];
		struct pm_instance i = { .kind = PM_TASK,
					 .number = 100 + k,
					 .cpu = PM_NONE,
					 .added_ns = d->came ? BUILDER_START_NS + d->came * UINT64_C(1000000000) - 1 :
							       1 };
		const struct {
			uint32_t key;
			uint64_t v;
		} numbers[] = { { PM_INSTANCE_PID, d->pid }, { PM_INSTANCE_PARENT, d->parent } };

		for (int n = 0; n < 2; n++)
			if (numbers[n].v)
				assert_int_equal(pm_map_set(&i.attrs, numbers[n].key, pm_u64(numbers[n].v)), 0);
		assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text(d->comm)), 0);
		if (d->parent_comm)
			assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_PARENT_COMM, pm_text(d->parent_comm)), 0);
		who[k] = (uint32_t)pm_model_add_instance(&b.model, &i);
		pm_map_release(&i.attrs);
	}
	w->first = who[0];
	assert_true(pm_model_add_group(&b.model, &(struct pm_group){ .source = (char *)"tasks",
								     .counter = counter,
								     .n_counters = COUNTERS,
								     .instance = who,
								     .n_instances = w->n }) > 0);
	for (uint64_t row = 0; row < ROWS; row += 10)
		builder_write(&b, row, 10);
	builder_finish(&b);
	captured_file(path, &b.file);
	builder_release(&b);
}

/* The names of who is found for the incidents, a line each. */
static void look(struct incident *i, uint32_t n, const struct doer *doer, uint32_t doers, struct buf *names)
{
	struct world w = { .doer = doer, .n = doers, .from = (uint32_t)i->from_s, .to = (uint32_t)i->to_s };
	struct incident_start start = { 0, BUILDER_START_NS };
	struct incident_store s = { .start = &start, .recordings = 1, .tasks = true };
	struct incidents found = { .incident = i, .n = n, .store = &s, .bin_s = 1, .duration_s = ROWS - 1 };
	struct error e = { 0 };
	char path[64];

	record(&w, path);
	if (find_tasks(&found, path, &e))
		fail_msg("%s", e.text);
	captured_remove(path);
	buf_clear(names);
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t t = 0; t < i[k].n_tasks; t++)
			buf_printf(names, "%s\n", i[k].task[t].name);
}

static void forget(struct incident *i)
{
	while (i->n_tasks)
		free(i->task[--i->n_tasks].name);
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-6)

/* Processes of one name, those that ended; and who comes in the middle, which begins at 0. */
static void test_kinds(void **state)
{
	static const struct doer doer[] = {
		{ .pid = 1, .comm = "twin", .cpu = { 0, 40 } },
		{ .pid = 2, .comm = "twin", .cpu = { 0, 40 } },
		{ .pid = 0, .comm = "cc1", .parent = 99, .parent_comm = "make", .ended = { 0, 3 }, .cpu = { 0, 70 } },
		/* One that ended, of a name that lives: naming it once is enough. */
		{ .pid = 0, .comm = "twin", .parent = 1, .cpu = { 0, 30 } },
		{ .pid = 3, .comm = "server", .cpu = { 0, 60 } },
		{ .pid = 4, .comm = "shared", .cpu = { 0, 50 } },
		{ .pid = 6, .comm = "comes", .came = 32, .cpu = { 0, 45 } },
	};
	struct incident i = { .kind = INCIDENT_STRETCH, .from_s = 30, .to_s = 34 };
	struct buf names = BUF_INIT;

	(void)state;
	look(&i, 1, doer, sizeof(doer) / sizeof(*doer), &names);
	assert_string_equal(buf_str(&names), "twin (several)\n12 short-lived cc1 of make (pid 99)\n"
					     "server (pid 3)\nshared (pid 4)\ncomes (pid 6)\n");
	NEAR(i.task[0].cpu, 3.2);
	assert_int_equal(i.task[0].pid, 0);
	NEAR(i.task[2].cpu, 2.4);
	NEAR(i.task[4].cpu, 0.9);
	forget(&i);
	buf_release(&names);
}

static const struct incident_series memory = {
	.metric = "memory.available", .unit = "MB", .usual = 1000, .value = 400
};

/* Who took a tenth of 600 MB, in a stretch and throughout; and nobody, where the incident is of another metric. */
static void test_memory(void **state)
{
	static const struct doer doer[] = {
		{ .pid = 1, .comm = "big", .rss = { 500 * MB, 500 * MB } },
		{ .pid = 2, .comm = "little", .rss = { 10 * MB, 69 * MB } },
		{ .pid = 3, .comm = "enough", .rss = { 10 * MB, 70 * MB } },
		{ .pid = 4, .comm = "two", .rss = { 10 * MB, 110 * MB } },
		{ .pid = 5, .comm = "two", .rss = { 10 * MB, 210 * MB } },
		{ .pid = 6, .comm = "comes", .came = 32, .rss = { 90 * MB, 90 * MB } },
		{ .pid = 7, .comm = "busy", .cpu = { 0, 90 }, .rss = { MB, MB } },
		/* That ended, one of them or several, of which nobody knows the parent. */
		{ .comm = "lonely", .parent = 77, .parent_comm = "init", .cpu = { 0, 30 } },
		{ .comm = "ends", .ended = { 0, 3 } },
	};
	struct incident_series series = memory;
	struct incident i = { .kind = INCIDENT_STRETCH, .from_s = 30, .to_s = 34, .series = &series, .n_series = 1 };
	struct buf names = BUF_INIT;

	(void)state;
	look(&i, 1, doer, sizeof(doer) / sizeof(*doer), &names);
	/* More than a half of what both of that name took is one's. */
	assert_string_equal(buf_str(&names), "two (pid 5)\ncomes (pid 6)\nenough (pid 3)\nbusy (pid 7)\n"
					     "lonely of init (pid 77)\n");
	NEAR(i.task[0].rss, 200 * MB);
	assert_int_equal(i.task[0].pid, 5);
	NEAR(i.task[2].rss, 60 * MB);
	NEAR(i.task[3].rss, 0);
	forget(&i);
	series.metric = "ctxsw";
	look(&i, 1, doer, sizeof(doer) / sizeof(*doer), &names);
	assert_string_equal(buf_str(&names), "busy (pid 7)\nlonely of init (pid 77)\n12 short-lived ends\n");
	forget(&i);
	buf_release(&names);
}

/* ---- bins ---- */

static struct reading of_line(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	return (struct reading){ 7 * row, 0 };
}

/* A recording that has more intervals than there are bins is read in intervals of several; one that says no interval, as
 * well. */
static void test_steps(void **state)
{
	static const struct {
		uint32_t rows, chunks;
		uint64_t interval_ns;
		uint32_t used, per_bin;
		double bin_s; /* of the first */
	} cases[] = {
		{ 128, 256, 1000000000, 16384, 2, 2 }, { 128, 257, 1000000000, 10965, 3, 3 },
		{ 127, 260, 0, 11007, 3, 3 },          { 63, 260, 1000000000, 16379, 1, 1 },
		{ 128, 128, 1000000000, 16383, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct incident_store *s;
		struct incidents found = { 0 };
		struct pipeline_config config = { 0 };
		struct error e = { 0 };
		struct builder b;
		uint32_t counter;
		char path[64];

		builder_init(&b, of_line);
		if (cases[i].interval_ns)
			assert_int_equal(
				pm_map_set(&b.model.header, PM_HEADER_INTERVAL, pm_u64(cases[i].interval_ns)), 0);
		counter = builder_counter(&b, "demo.a", "1", PM_CUMULATIVE, PM_AGG_SUM);
		builder_group(&b, PM_SYSTEM, 1, 0, &counter, 1);
		for (uint32_t k = 0; k < cases[i].chunks; k++)
			builder_write(&b, (uint64_t)k * cases[i].rows, cases[i].rows);
		builder_finish(&b);
		captured_file(path, &b.file);
		if (incidents_find(&found, path, "name", &config, &e))
			fail_msg("%s", e.text);
		s = found.store;
		if (s->used != cases[i].used || s->per_bin != cases[i].per_bin ||
		    s->to_s[0] - s->from_s[0] != cases[i].bin_s)
			fail_msg("case %zu: %u of %u, %g", i, s->used, s->per_bin, s->to_s[0] - s->from_s[0]);
		NEAR((double)s->series[0].v[1], 7);
		NEAR(found.duration_s, cases[i].rows * cases[i].chunks - 1.0);
		captured_remove(path);
		builder_release(&b);
		incidents_release(&found);
	}
}

/* Seconds [from, to) of a series that is always there, and of one that need not be, read beside another sink. */
static void pass(struct collect *c, bool both, uint64_t from, uint64_t to)
{
	struct value value[2][16];
	const struct sheet_cell cell[] = { { .value = value[0] }, { .value = value[1] } };
	struct drawn drawn[] = { { .cell = &cell[0], .series = 0 }, { .cell = &cell[1], .series = 1 } };
	struct interval interval[16] = { 0 };

	for (uint64_t k = from; k < to; k++) {
		value[0][k - from] = value_of((double)k);
		value[1][k - from] = value_of(1000.0 * (double)k);
		interval[k - from] = (struct interval){ .from_ns = BUILDER_START_NS + k * 1000000000,
							.to_ns = BUILDER_START_NS + (k + 1) * 1000000000,
							.duration_ns = 1000000000 };
	}
	c->drawn = drawn;
	c->n_drawn = both ? 2 : 1;
	assert_int_equal(intervals(&c->sink, NULL, interval, to - from), 0);
	c->drawn = NULL;
}

/* A series that goes away and comes back, in the middle of a bin, brings nothing of the bin in which it went. */
static void test_comes_back(void **state)
{
	struct incident_store s = { 0 };
	struct collect c = { .s = &s, .every_ns = UINT64_C(4000000000) };
	struct incidents found;

	(void)state;
	store_bins(&s, 8);
	s.metric = memory_new(1, sizeof(*s.metric));
	s.row = memory_new(2, sizeof(*s.row));
	s.n_metrics = 1;
	s.n_rows = 2;
	for (uint32_t row = 0; row < 2; row++)
		assert_int_equal(store_series(&s, 0, row), row);
	pass(&c, true, 0, 3);
	pass(&c, false, 3, 9);
	pass(&c, true, 9, 12);
	assert_int_equal(s.used, 3);
	NEAR((double)s.series[0].v[0], 1.5);
	NEAR((double)s.series[1].v[0], 1000);
	assert_true(isnan(s.series[1].v[1]));
	NEAR((double)s.series[0].v[2], 9.5);
	NEAR((double)s.series[1].v[2], 10000);
	finish(&c, &found);
	store_release(&s);
}

UNIT_TESTS(cmocka_unit_test(test_kinds), cmocka_unit_test(test_memory), cmocka_unit_test(test_steps),
	   cmocka_unit_test(test_comes_back))
