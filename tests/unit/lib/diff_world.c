#include "tests/unit/lib/diff_world.h"
#include "tests/unit/lib/test.h"

struct world {
	uint64_t seed, rows, step_row, runs, late;
	double rate, ipc, sd, noise, rho, step, package_factor, level, command_s;
	unsigned package;
	const char *name, *unit;
	uint64_t *sum; /* by row: interrupts of CPU 0 so far */
};

static double uniform(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (double)((*state >> 11) + 1) / 0x1p53;
}

static double gauss(uint64_t *state)
{
	double r = sqrt(-2 * log(uniform(state)));

	return r * cos(2 * M_PI * uniform(state));
}

static struct reading truth(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct world *w = b->data;
	double factor = i->kind == PM_CPU && i->number / 4 == w->package ? w->package_factor : 1;

	if (!strcmp(counter, w->name))
		return (struct reading){ (uint64_t)((double)w->sum[row] * factor), 0 };
	if (!strcmp(counter, "cycles"))
		return (struct reading){ row * 1000000, 0 };
	if (!strcmp(counter, "instructions"))
		return (struct reading){ (uint64_t)((double)row * 1000000 * w->ipc), 0 };
	return (struct reading){ (uint64_t)(1000 * w->level) * (row + 1 == w->rows ? 2 : 1), 0 };
}

static int count(struct world *w)
{
	uint64_t state = w->seed * 2654435761u + 88172645463325252u;
	double level, x, sum = 0;

	for (int i = 0; i < 20; i++)
		uniform(&state);
	level = w->rate * exp(w->sd * gauss(&state));
	x = gauss(&state);
	w->sum = calloc(w->rows * w->runs + 1, sizeof(*w->sum));
	for (uint64_t row = 0; w->sum && row < w->rows * w->runs; row++) {
		/* A run of its own, with a level of its own. */
		if (row && row % w->rows == 0)
			level = w->rate * exp(w->sd * gauss(&state));
		w->sum[row] = (uint64_t)sum;
		sum += 1000 * level * fmax(0, 1 + w->noise * x) * (row >= w->step_row ? w->step : 1);
		x = w->rho * x + sqrt(1 - w->rho * w->rho) * gauss(&state);
	}
	return w->sum ? 0 : -1;
}

static void set_label(struct builder *b, const char *text)
{
	struct pm_value all = pm_array(1), pair = pm_array(2);
	const char *equal = strchr(text, '=');

	assert_non_null(equal);
	pair.array.item[0] = pm_text_n(text, (size_t)(equal - text));
	pair.array.item[1] = pm_text(equal + 1);
	all.array.item[0] = pair;
	assert_int_equal(pm_map_set(&b->model.header, PM_HEADER_LABELS, all), 0);
}

/* Whatever the header has under that name. False: nothing. */
static bool set_header(struct builder *b, const char *key, size_t len, const char *text)
{
	const struct pm_key_row *row = pm_header_keys;

	while (row->name && (strlen(row->name) != len || strncmp(row->name, key, len) != 0))
		row++;
	if (row->name)
		assert_int_equal(pm_map_set(&b->model.header, row->key,
					    row->kind == PM_VALUE_TEXT ? pm_text(text) :
					    row->kind == PM_VALUE_BOOL ? pm_bool(atoi(text)) :
									 pm_u64(strtoull(text, NULL, 10))),
				 0);
	return row->name;
}

/* NAME:CPU:TEXT, or NAME:CPU for one that could not be read. */
static void set_config(struct builder *b, const char *text)
{
	size_t len = strcspn(text, ":");
	char *value = strchr(text + len + 1, ':');
	struct pm_config c = { .kind = PM_CPU };

	c.name = strndup(text, len);
	assert_non_null(c.name);
	assert_int_equal(cpulist_add(&c.instances, (uint32_t)atoi(text + len + 1)), 0);
	c.reason = value ? PM_OK : PM_REASON_NO_PERMISSION;
	if (value)
		c.value = pm_text(value + 1);
	assert_int_equal(pm_model_add_config(&b->model, &c), 0);
	cpulist_release(&c.instances);
	pm_value_release(&c.value);
	free(c.name);
}

static void write_event(struct builder *b, enum pm_event_type type, uint64_t row, const char *text, double seconds)
{
	struct pm_event e = { .type = type, .time_ns = BUILDER_START_NS + row * b->period_ns };

	if (text)
		assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_TEXT, pm_text(text)), 0);
	assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_RUN, pm_u64(b->run)), 0);
	if (type == PM_EVENT_CHILD_EXIT) {
		uint64_t ns = (uint64_t)(seconds * 1e9);

		assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_ELAPSED_NS, pm_u64(ns)), 0);
		assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_USER_NS, pm_u64(ns / 2)), 0);
		assert_int_equal(pm_map_set(&e.attrs, PM_EVENT_KEY_EXIT, pm_u64(0)), 0);
	}
	assert_int_equal(pm_writer_event(b->writer, &e), 0);
	pm_event_release(&e);
}

static uint32_t add_counter(struct builder *b, const char *name, const char *unit, uint64_t den)
{
	uint32_t id = builder_counter(b, name, unit, PM_CUMULATIVE, PM_AGG_SUM);

	builder_counter_at(b, id)->scale.den = den;
	return id;
}

bool diff_world(struct builder *out, size_t n, char *const *key)
{
	struct world w = { .seed = 1,
			   .rows = 21,
			   .runs = 1,
			   .rate = 1000,
			   .ipc = 0.5,
			   .step = 1,
			   .step_row = UINT64_MAX,
			   .package = 99,
			   .package_factor = 1,
			   .level = 10,
			   .name = "interrupts.total",
			   .unit = "1" };
	struct builder b;
	uint32_t id[3], level, late;
	bool open = false;

	builder_init(&b, truth);
	b.data = &w;
	for (size_t i = 0; i < n; i++) {
		const char *value = strchr(key[i], '=');
		size_t len = value ? (size_t)(value++ - key[i]) : 0;
#define IS(word) (len == strlen(word) && !strncmp(key[i], word, len))

		if (IS("seed"))
			w.seed = strtoull(value, NULL, 10);
		else if (IS("rows"))
			w.rows = strtoull(value, NULL, 10);
		else if (IS("late"))
			w.late = strtoull(value, NULL, 10);
		else if (IS("runs"))
			w.runs = strtoull(value, NULL, 10);
		else if (IS("rate"))
			w.rate = strtod(value, NULL);
		else if (IS("ipc"))
			w.ipc = strtod(value, NULL);
		else if (IS("sd"))
			w.sd = strtod(value, NULL);
		else if (IS("noise"))
			w.noise = strtod(value, NULL);
		else if (IS("rho"))
			w.rho = strtod(value, NULL);
		else if (IS("level"))
			w.level = strtod(value, NULL);
		else if (IS("command"))
			w.command_s = strtod(value, NULL);
		else if (IS("step"))
			w.step_row = strtoull(value, NULL, 10), w.step = strtod(strchr(value, ':') + 1, NULL);
		else if (IS("package"))
			w.package = (unsigned)atoi(value), w.package_factor = strtod(strchr(value, ':') + 1, NULL);
		else if (IS("name"))
			w.name = value;
		else if (IS("unit"))
			w.unit = value;
		else if (IS("open"))
			open = true;
		else if (IS("config"))
			set_config(&b, value);
		else if (IS("wall"))
			b.wall_shift_ns = strtoull(value, NULL, 10) * 1000000000;
		else if (IS("label"))
			set_label(&b, value);
		else if (!IS("marker") && !set_header(&b, key[i], len, value))
			return false;
	}
	memcpy(b.model.recording_id, &w.seed, sizeof(w.seed));
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_RUNS, pm_u64(w.runs)), 0);
	if (w.command_s > 0)
		assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_COMMAND, pm_text("work")), 0);
	assert_int_equal(count(&w), 0);
	/* Thousandths, so that rounding is none of the truth. */
	id[0] = add_counter(&b, w.name, w.unit, 1000);
	pm_map_set(&builder_counter_at(&b, id[0])->attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	id[1] = add_counter(&b, "cycles", "1", 1);
	id[2] = add_counter(&b, "instructions", "1", 1);
	builder_group(&b, PM_CPU, BUILDER_CPUS, 0, id, 3);
	level = builder_counter(&b, "bench.level", "Cel", PM_GAUGE, PM_AGG_MAX);
	builder_counter_at(&b, level)->scale.den = 1000;
	pm_map_set(&builder_counter_at(&b, level)->attrs, PM_COUNTER_REQUESTED, pm_bool(true));
	builder_group(&b, PM_SYSTEM, 1, 0, &level, 1);
	for (uint64_t run = 0; run < w.runs; run++) {
		b.run = (uint32_t)run + 1;
		b.segment = b.run;
		for (uint64_t row = 0; row < w.rows; row += 10) {
			if (w.late && row == w.late) {
				late = builder_counter(&b, "bench.late", "1", PM_GAUGE, PM_AGG_MAX);
				builder_group(&b, PM_SYSTEM, 1, 0, &late, 1);
			}
			builder_write(&b, run * w.rows + row, w.rows - row < 10 ? (uint32_t)(w.rows - row) : 10);
			for (size_t i = 0; i < n; i++)
				if (!strncmp(key[i], "marker=", 7) && strtoull(key[i] + 7, NULL, 10) / 10 == row / 10)
					write_event(&b, PM_EVENT_MARKER,
						    run * w.rows + strtoull(key[i] + 7, NULL, 10),
						    strchr(key[i], ':') + 1, 0);
		}
		if (w.command_s > 0)
			write_event(&b, PM_EVENT_CHILD_START, run * w.rows + 5, NULL, 0);
		if (w.command_s > 0)
			write_event(&b, PM_EVENT_CHILD_EXIT, run * w.rows + w.rows - 1, NULL, w.command_s);
	}
	if (!open)
		builder_finish(&b);
	b.data = NULL;
	free(w.sum);
	*out = b;
	return true;
}
