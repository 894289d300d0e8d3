/* Collects all metrics at all levels, as series of a bounded number of bins. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/incident/incident_private.h"
#include "report/input/input.h"
#include "report/metric/amount.h"

#define CHUNKS_FEW   64    /* a recording of so few is read as it is */
#define CELLS_MOST   96000 /* approximate number of series, and of counters, that are read at once */
#define BATCH        128   /* intervals */
#define REQUESTS_FEW 10
#define TIME_LITTLE  0.1 /* of the interval */

struct drawn {
	const struct sheet_cell *cell;
	const struct sheet_cell *count; /* the number of things that the cell is the mean of; NULL: not counted */
	uint32_t series;
};

struct collect {
	struct sink sink;
	struct incident_store *s;
	const struct places *places;
	bool *wanted;        /* owned: by metric */
	uint8_t *fault;      /* owned: by counter, of the metrics that consist of it */
	struct drawn *drawn; /* owned */
	size_t n_drawn;
	uint64_t origin_ns;
	double shift_s, end_s; /* where the current recording begins; the last time that was seen */
	size_t damages;
	bool no_memory;    /* for a loss, which was an event */
	uint64_t expected; /* approximate number of intervals; 0: unknown */
	int64_t start_wall_ns;
	bool back; /* a recording was made before the one that stands before it: one clock cannot tell both times */
};

/* ---- laying out ---- */

static int find_metric(struct collect *c, const struct binding *b, const struct bound_metric *m, uint32_t *place)
{
	struct incident_store *s = c->s;
	struct incident_metric *x;

	if (names_get(&s->metrics, m->name, place))
		return 0;
	if (array_room(&s->metric, s->n_metrics, sizeof(*s->metric)))
		return -ENOMEM;
	x = &s->metric[s->n_metrics];
	*x = (struct incident_metric){
		.amount = metric_is_amount(b, m, c->places->model),
		.fault = m->counter ? c->fault[m->counter] : m->fault,
	};
	x->counts = !strcmp(m->about->unit, "1/s") || (!strcmp(m->about->unit, "1") && x->amount);
	*place = s->n_metrics++;
	if (asprintf(&x->name, "%s%c%s%c%s", m->name, 0, m->display, 0, m->about->unit) < 0) {
		x->name = NULL;
		return -ENOMEM;
	}
	x->display = x->name + strlen(m->name) + 1;
	x->unit = x->display + strlen(m->display) + 1;
	return names_set(&s->metrics, m->name, *place);
}

static int find_row(struct collect *c, const struct place *p, uint32_t *place)
{
	struct incident_store *s = c->s;
	SCOPED(buf_release) struct buf key = BUF_INIT;
	struct incident_row *x;
	size_t kind;

	buf_printf(&key, "%d:", (int)p->kind);
	kind = key.len;
	places_put_name(c->places, p, &key);
	if (key.err || names_get(&s->rows, buf_str(&key), place))
		return key.err;
	if (array_room(&s->row, s->n_rows, sizeof(*s->row)))
		return -ENOMEM;
	x = &s->row[s->n_rows];
	*x = (struct incident_row){
		.label = strdup(buf_str(&key) + kind),
		.kind = p->kind,
		.package = p->kind == PM_SYSTEM ? PM_NONE : p->package,
		/* A core is named by its first CPU, as in tables. */
		.cpu = p->kind == PM_CPU  ? p->cpu :
		       p->kind == PM_CORE ? p->first_cpu :
					    PM_NONE,
	};
	*place = s->n_rows++;
	return x->label ? names_set(&s->rows, buf_str(&key), *place) : -ENOMEM;
}

/* Whether the metric shows exactly what one counter says. */
static uint32_t stands_for(const struct binding *b, const struct bound_metric *m)
{
	uint32_t counter = 0;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &b->input[m->input[i]];

		if (in->constant || in->duration)
			continue;
		if (in->more->op || in->n_counters != 1 || (counter && in->counter[0] != counter))
			return 0;
		counter = in->counter[0];
	}
	return counter;
}

/* Of CPUs: their clocks always run, and util says whether they are busy or idle. */
static bool says_less(const char *metric)
{
	static const char *const names[] = { "cpus_utilized", "cpus_utilized_clock", "cpus_busy", "util.idle" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], metric))
			return true;
	return false;
}

/* Omits counters that a metric shows or that are computed from the same time, and registers whose bits are not an
 * amount. */
static int choose(const struct sink_plan *plan, bool **wanted, uint8_t **fault)
{
	const struct binding *b = plan->binding;
	const struct pm_model *m = plan->places->model;
	SCOPED(scoped_free) bool *known = calloc((size_t)m->n_counters + 1, sizeof(*known));

	free(*wanted);
	free(*fault);
	*wanted = calloc(b->n_metrics + 1, sizeof(**wanted));
	*fault = calloc((size_t)m->n_counters + 1, sizeof(**fault));
	if (!known || !*wanted || !*fault)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *x = &b->metric[i];
		uint32_t of = x->counter ? 0 : stands_for(b, x);

		if (x->counter || x->absent || x->estimate || x->kind == PM_TASK || (of && known[of]))
			continue;
		if (x->kind == PM_CPU && says_less(x->name))
			continue;
		(*wanted)[i] = true;
		if (of)
			known[of] = true;
		for (uint32_t k = 0; k < x->n_inputs; k++) {
			const struct bound_input *in = &b->input[x->input[k]];

			for (uint32_t n = 0; !in->constant && n < in->n_counters; n++) {
				if (strchr("sm", pm_model_counter(m, in->counter[n])->unit[0]))
					known[in->counter[n]] = true;
				if (x->fault && !in->duration)
					(*fault)[in->counter[n]] = x->fault;
			}
		}
	}
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *x = &b->metric[i];
		const struct pm_counter *k = x->counter ? pm_model_counter(m, x->counter) : NULL;

		/* What is left of these says how they were read. */
		if (!k || known[k->id] || x->digits || !strcmp(k->source, "tasks") || !strcmp(k->source, "cgroups") ||
		    k->type == PM_TEXT || k->type == PM_BYTES || k->semantics == PM_BITFIELD ||
		    k->semantics == PM_STATE)
			continue;
		(*wanted)[i] = true;
	}
	return 0;
}

bool incidents_within(const struct sink_plan *plan, const bool *shown)
{
	SCOPED(scoped_free) bool *wanted = NULL;
	SCOPED(scoped_free) uint8_t *fault = NULL;
	bool within = !choose(plan, &wanted, &fault);

	for (size_t i = 0; i < plan->binding->n_metrics && within; i++)
		within = !wanted[i] || shown[i];
	return within;
}

static bool has_packages(const struct places *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (p->cpu[i].package != PM_NONE && p->cpu[i].package != p->cpu[0].package)
			return true;
	return false;
}

void incident_wish(struct sink_plan *plan, const bool *shown)
{
	static const struct sheet_config by_cpu = { .per = PM_CPU, .summary = true, .sum_tasks = true };
	static const struct sheet_config by_package = { .per = PM_PACKAGE, .sum_tasks = true };

	plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_cpu, shown };
	if (has_packages(plan->places))
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ by_package, shown };
}

/* The approximate number of series: there are about as many metrics as counters. */
static size_t cells_of(const struct pm_model *m)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_groups; i++)
		n += m->group[i].flags & PM_GROUP_LIST ?
			     m->group[i].n_counters :
			     (size_t)m->group[i].n_counters * (m->group[i].n_instances + 1);
	return n;
}

/* A counter with its metric needs about as much memory as a series. */
static uint32_t parts_of(const struct pm_model *m)
{
	return (uint32_t)((cells_of(m) + m->n_counters) / CELLS_MOST) + 1;
}

/* A mean is read with what it is the mean of. The same in each run. */
static bool is_of_part(const struct incident_store *s, const struct bound_metric *m)
{
	const char *name = m->about->requests ? m->about->requests : m->name;

	return names_mix(0, name, strlen(name)) % s->parts == s->part;
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct collect *c = (struct collect *)sink;
	int err;

	c->places = plan->places;
	c->s->tasks |= pm_model_counter_named(plan->places->model, "tasks.user") != NULL;
	if ((err = choose(plan, &c->wanted, &c->fault)))
		return err;
	c->s->parts = c->s->parts ? c->s->parts : parts_of(plan->places->model);
	for (size_t i = 0; i < plan->binding->n_metrics; i++)
		c->wanted[i] &= is_of_part(c->s, &plan->binding->metric[i]);
	incident_wish(plan, c->wanted);
	return 0;
}

static const struct sheet_cell *count_of(const struct sheet *sheet, const struct sheet_row *row,
					 const struct bound_metric *mean)
{
	for (uint32_t k = 0; k < row->n_cells && mean->about->requests; k++)
		if (!strcmp(sheet->column[row->cell[k].column].metric->name, mean->about->requests))
			return &row->cell[k];
	return NULL;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	size_t cells = 0;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++)
			cells += sheet[i].row[r].n_cells;
	if (!c->s->bins && (err = store_choose_bins(c->s, cells, c->expected)))
		return err;
	free(c->drawn);
	c->n_drawn = 0;
	c->drawn = calloc(cells + 1, sizeof(*c->drawn));
	if (!c->drawn)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows && !err; r++) {
			const struct sheet_row *from = &sheet[i].row[r];
			bool only = c->places->n == 1 && from->place.kind == PM_CPU;
			uint32_t row, metric, series;

			err = find_row(c, &from->place, &row);
			for (uint32_t k = 0; k < from->n_cells && !err; k++) {
				const struct bound_metric *m = sheet[i].column[from->cell[k].column].metric;

				err = find_metric(c, sheet[i].binding, m, &metric);
				/* What the only CPU does, the system does, whose row is the first. */
				if (only && !err && c->s->row[0].kind == PM_SYSTEM && store_has(c->s, metric, 0))
					continue;
				if (!err)
					err = store_series(c->s, metric, row, &series);
				if (!err && series != PM_NONE)
					c->drawn[c->n_drawn++] =
						(struct drawn){ &from->cell[k], count_of(&sheet[i], from, m),
								series };
			}
		}
	return err;
}

/* ---- intervals ---- */

/* Intervals of a block that go into existing bins. */
struct batch {
	uint32_t bin[BATCH];
	float before[BATCH]; /* intervals that are in the bin already */
	double seconds[BATCH];
	size_t first, n; /* intervals [first, first + n) of the block */
};

/* Milliseconds per request, where a few requests took next to no time together: their mean says nothing. */
static bool says_nothing(double mean, double rate, double seconds)
{
	return rate * seconds < REQUESTS_FEW && rate * mean < 1000 * TIME_LITTLE;
}

/* Series by series, because the values of each are adjacent, here and there. */
static void put_batch(struct collect *c, struct batch *b)
{
	struct incident_store *s = c->s;

	for (size_t i = 0; i < c->n_drawn && b->n; i++) {
		const struct value *v = &c->drawn[i].cell->value[b->first];
		const struct value *of = c->drawn[i].count ? &c->drawn[i].count->value[b->first] : NULL;
		const struct incident_row_series *x = &s->series[c->drawn[i].series];
		bool amount = s->metric[x->metric].amount;

		for (size_t k = 0; k < b->n; k++) {
			float *to = &x->v[b->bin[k]];
			double d = amount && b->seconds[k] > 0 ? v[k].v / b->seconds[k] : v[k].v;

			if (!v[k].reason && isfinite(d) && !(of && says_nothing(d, of[k].v, b->seconds[k])))
				*to = isnan(*to) ? (float)d : (*to * b->before[k] + (float)d) / (b->before[k] + 1);
		}
	}
	b->first += b->n;
	b->n = 0;
}

static int take(struct collect *c, struct batch *b, const struct interval *interval)
{
	struct incident_store *s = c->s;
	double from = c->shift_s + (double)(int64_t)(interval->from_ns - c->origin_ns) / 1e9;

	if (b->n == BATCH)
		put_batch(c, b);
	if (s->in_bin == s->per_bin || !s->used) {
		if (s->used == s->bins) {
			put_batch(c, b);
			if (s->bins >= s->bins_most)
				store_halve(s);
			else if (store_grow(s))
				return -ENOMEM;
		}
		s->from_s[s->used++] = from;
		s->in_bin = 0;
	}
	b->bin[b->n] = s->used - 1;
	b->before[b->n] = (float)s->in_bin++;
	b->seconds[b->n++] = (double)interval->duration_ns / 1e9;
	c->end_s = s->to_s[s->used - 1] = c->shift_s + (double)(int64_t)(interval->to_ns - c->origin_ns) / 1e9;
	return 0;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;
	struct batch batch = { 0 };
	int err = 0;

	if (n && !c->origin_ns) {
		c->origin_ns = interval->from_ns;
		c->s->origin_s = (double)(int64_t)(interval->from_ns - sink->origin_ns) / 1e9;
		if (interval->wall_ns) {
			int64_t wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);
			double at_s;

			c->start_wall_ns = c->start_wall_ns ? c->start_wall_ns : wall_ns;
			at_s = (double)(wall_ns - c->start_wall_ns) / 1e9;
			c->back |= at_s < c->shift_s - 1;
			/* What lies between two recordings counts as time. */
			c->shift_s = fmax(c->shift_s, at_s);
		}
	}
	for (size_t k = 0; k < n && !err; k++) {
		if (interval[k].duration_ns) {
			err = take(c, &batch, &interval[k]);
		} else {
			put_batch(c, &batch);
			batch.first++;
		}
	}
	if (!err)
		put_batch(c, &batch);
	return err;
}

/* ---- what is lost ---- */

/* What precedes the first interval counts as its beginning. */
static double seconds_at(const struct collect *c, uint64_t ns)
{
	return c->shift_s + (c->origin_ns && ns > c->origin_ns ? (double)(ns - c->origin_ns) / 1e9 : 0);
}

static void lose(struct collect *c, uint64_t from_ns, uint64_t to_ns, uint64_t ticks, const char *text)
{
	struct incident_store *s = c->s;
	struct incident_loss loss = { .from_s = seconds_at(c, from_ns),
				      .to_s = seconds_at(c, to_ns),
				      .ticks = ticks };

	if (s->n_losses == INCIDENT_SERIES * 10)
		return;
	loss.text = strdup(text);
	if (!loss.text || array_room(&s->loss, s->n_losses, sizeof(*s->loss))) {
		free(loss.text);
		c->no_memory = true;
		return;
	}
	s->loss[s->n_losses++] = loss;
}

static void event(struct sink *sink, const struct pm_event *e)
{
	static const char *const what[] = { [PM_EVENT_SUSPEND] = "the machine slept",
					    [PM_EVENT_CLOCK_STEP] = "the clock was set",
					    [PM_EVENT_CPU_OFFLINE] = "a CPU went offline",
					    [PM_EVENT_FAILED] = "a source stopped delivering" };
	struct collect *c = (struct collect *)sink;
	uint64_t since = pm_map_u64(&e->attrs, PM_EVENT_KEY_SINCE, e->time_ns);
	uint64_t cpu = pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, UINT64_MAX);
	uint64_t ticks = pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 0), to_ns = e->time_ns;
	uint64_t interval = pm_map_u64(&pm_reader_model(sink->reader)->header, PM_HEADER_INTERVAL, 0);
	char text[48];

	if (e->type == PM_EVENT_LOST) {
		/* A recorder may tell only when it began, and how many. */
		if (to_ns <= since)
			to_ns = since + (uint64_t)fmin((double)ticks * (double)interval, 1e18);
		lose(c, since < e->time_ns ? since : e->time_ns, to_ns, ticks, "");
	} else if (e->type == PM_EVENT_CPU_OFFLINE && cpu != UINT64_MAX) {
		snprintf(text, sizeof(text), "CPU %llu went offline", (unsigned long long)cpu);
		lose(c, e->time_ns, e->time_ns, 0, text);
	} else if (e->type < sizeof(what) / sizeof(*what) && what[e->type]) {
		lose(c, e->time_ns, e->time_ns, 0, what[e->type]);
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	size_t n;
	const struct pm_damage *d = pm_reader_damage(sink->reader, &n);

	for (; c->damages < n; c->damages++)
		if (d[c->damages].from_ns && !d[c->damages].harmless && d[c->damages].kind != PM_DAMAGE_NO_END &&
		    d[c->damages].kind != PM_DAMAGE_CUT)
			lose(c, d[c->damages].from_ns,
			     d[c->damages].to_ns ? d[c->damages].to_ns : d[c->damages].from_ns, 0,
			     "the recording is damaged");
	if (c->no_memory || array_room(&c->s->start, c->s->recordings, sizeof(*c->s->start)))
		return -ENOMEM;
	c->s->start[c->s->recordings++] = (struct incident_start){ c->shift_s, c->origin_ns };
	c->shift_s = c->end_s;
	c->origin_ns = 0;
	return 0;
}

static const struct sink_ops ops = {
	.plan = plan, .shape = shape, .intervals = intervals, .event = event, .end = end
};

/* A long recording is read in longer intervals from the start, which costs less than joining them here. */
static int choose_step(struct collect *c, struct pipeline_config *config, struct pm_reader *whole, const char *path,
		       struct error *e)
{
	struct pm_reader *reader;
	struct pm_item item = { 0 };
	struct pm_extent x;
	uint64_t interval, bins;
	int r = pm_reader_extent(whole, &x);

	/* A stream has no extent, nor have some damaged files. */
	if (r)
		return r == -EIO || r == -ENOMEM ? input_failed(e, r, &item, "reading") : 0;
	c->expected = x.snapshots;
	if (x.chunks <= CHUNKS_FEW || x.to_ns <= x.from_ns)
		return 0;
	if ((r = input_open(&reader, path, false, e)))
		return r;
	do
		r = pm_reader_next(reader, &item);
	while (r == 1 && item.kind != PM_ITEM_CHUNK);
	interval = pm_map_u64(&pm_reader_model(reader)->header, PM_HEADER_INTERVAL, 0);
	bins = store_bins_for(cells_of(pm_reader_model(reader)) / parts_of(pm_reader_model(reader)));
	if (interval && (x.to_ns - x.from_ns) / interval + 2 > bins) {
		config->mode = PIPELINE_EVERY;
		config->every_ns = ((x.to_ns - x.from_ns) / bins / interval + 1) * interval;
	}
	pm_reader_close(reader);
	return r < 0 ? input_failed(e, r, &item, "reading") : 0;
}

int store_collect(struct incident_store *s, struct incidents *found, const char *path, const char *name,
		  const struct pipeline_config *config, const struct pipeline_part *along, struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .s = s };
	struct pipeline_part part[2] = { { &own, &c.sink, &found->result } };
	struct pm_reader *reader;
	int err;

	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	if (along)
		part[1] = *along;
	if ((err = input_open_as(&reader, path, name, e)))
		return err;
	err = choose_step(&c, &own, reader, path, e);
	err = err ? err : pipeline_run_all(part, along ? 2 : 1, reader, e);
	if (err)
		error_prefix(e, "%s", name);
	s->joined = own.mode == PIPELINE_EVERY || s->per_bin > 1;
	found->start_wall_ns = c.back ? 0 : c.start_wall_ns;
	found->duration_s = c.end_s;
	free(c.wanted);
	free(c.fault);
	free(c.drawn);
	pm_reader_close(reader);
	return err;
}
