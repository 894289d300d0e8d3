/* Collects all metrics at all levels, as series of a bounded number of bins: a recording with more intervals is read
 * in longer ones. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/incident/incident_private.h"
#include "report/input/input.h"
#include "report/metric/amount.h"

#define MEMORY       (8u << 20) /* bytes of bins, about; four times as many if there are more series than foreseen */
#define BINS_MOST    4096
#define BINS_LEAST   64
#define REQUESTS_FEW 10
#define TIME_LITTLE  0.1 /* of the interval */
#define LOSSES_MOST  1000
#define BINS_EXACT   40   /* bins of a stretch whose times are read again; of a longer one they are exact enough */
#define EXACT_MOST   8192 /* intervals of it, with a bin before and after */

struct drawn {
	const struct sheet_cell *cell;
	const struct sheet_cell *count; /* the number of things that the cell is the mean of; NULL: not counted */
	uint32_t series;
};

struct collect {
	struct sink sink;
	struct incident_store *s;
	const struct incident *only; /* its metrics; NULL: all */
	const struct places *places;
	bool *wanted;        /* owned: by metric */
	uint8_t *fault;      /* owned: by counter, of the metrics that consist of it */
	struct drawn *drawn; /* owned */
	size_t n_drawn;
	uint64_t origin_ns;
	double shift_s, end_s; /* where the current recording begins; the last time that was seen */
	/* Beside another sink intervals are those of the recorder, and join here: */
	uint64_t every_ns; /* so long a bin is; 0: an interval is one */
	uint64_t number;   /* of the bin that is open, of those of the recording */
	double *seconds;   /* owned: by interval */
	struct stretch {
		uint32_t bin;
		size_t from, to; /* intervals */
		double seconds;
	} * stretch; /* owned: the same, by bin */
	uint32_t n_seconds, n_stretch;
	struct joined {
		double mean, weight;  /* of values by their seconds, in `bin` */
		uint32_t bin, layout; /* layout: in which it was laid out last */
	} * joined;                   /* owned: by series */
	uint32_t n_joined, layouts;
	size_t damages;
	int64_t start_wall_ns;
	bool back; /* a recording was made before the one that stands before it: one clock cannot tell both times */
};

/* ---- the store ---- */

void store_release(struct incident_store *s)
{
	for (uint32_t i = 0; i < s->n_metrics; i++)
		free(s->metric[i].name);
	for (uint32_t i = 0; i < s->n_rows; i++) {
		free(s->row[i].label);
		free(s->row[i].series);
	}
	for (uint32_t i = 0; i < s->n_series; i++)
		free(s->series[i].v);
	for (uint32_t i = 0; i < s->n_losses; i++)
		free(s->loss[i].text);
	free(s->metric);
	free(s->row);
	free(s->series);
	free(s->loss);
	free(s->start);
	free(s->from_s);
	free(s->to_s);
	names_release(&s->metrics);
	names_release(&s->rows);
	*s = (struct incident_store){ 0 };
}

static uint32_t bins_for(size_t cells)
{
	size_t fit = MEMORY / sizeof(float) / (cells ? cells : 1);

	return fit > BINS_MOST ? BINS_MOST : fit < BINS_LEAST ? BINS_LEAST : (uint32_t)fit;
}

static void more_bins(float **v, uint32_t old, uint32_t bins)
{
	*v = memory_resize(*v, bins, sizeof(**v));
	for (uint32_t i = old; i < bins; i++)
		(*v)[i] = NAN;
}

void store_bins(struct incident_store *s, uint32_t bins)
{
	s->from_s = memory_resize(s->from_s, bins, sizeof(*s->from_s));
	s->to_s = memory_resize(s->to_s, bins, sizeof(*s->to_s));
	for (uint32_t i = 0; i < s->n_series; i++)
		more_bins(&s->series[i].v, s->bins, bins);
	s->bins = bins;
}

/* The place of a series, from 1 on; 0: there is none. */
static uint32_t place_of(const struct incident_store *s, uint32_t metric, uint32_t row)
{
	return metric < s->row[row].room ? s->row[row].series[metric] : 0;
}

uint32_t store_series(struct incident_store *s, uint32_t metric, uint32_t row)
{
	struct incident_row *r = &s->row[row];
	uint32_t place = place_of(s, metric, row);

	if (place)
		return place - 1;
	if ((uint64_t)s->n_series * s->bins * sizeof(float) > 4 * (uint64_t)MEMORY)
		return PM_NONE;
	memory_room(&s->series, s->n_series, sizeof(*s->series));
	s->series[s->n_series] = (struct incident_row_series){ .metric = metric, .row = row };
	more_bins(&s->series[s->n_series].v, 0, s->bins);
	memory_hold(&r->series, &r->room, (size_t)metric + 1, sizeof(*r->series));
	r->series[metric] = ++s->n_series;
	return s->n_series - 1;
}

/* ---- laying out ---- */

static uint32_t find_metric(struct collect *c, const struct binding *b, const struct bound_metric *m)
{
	struct incident_store *s = c->s;
	struct incident_metric *x;
	uint32_t place;

	if (names_get(&s->metrics, m->name, &place))
		return place;
	memory_room(&s->metric, s->n_metrics, sizeof(*s->metric));
	x = &s->metric[s->n_metrics];
	*x = (struct incident_metric){
		.name = memory_format("%s%c%s%c%s", m->name, 0, m->display, 0, m->about->unit),
		.amount = metric_is_amount(b, m, c->places->model),
		.fault = m->counter ? c->fault[m->counter] : m->fault,
	};
	x->counts = !strcmp(m->about->unit, "1/s") || (!strcmp(m->about->unit, "1") && x->amount);
	x->display = x->name + strlen(m->name) + 1;
	x->unit = x->display + strlen(m->display) + 1;
	memory_done(names_set(&s->metrics, m->name, s->n_metrics));
	return s->n_metrics++;
}

static uint32_t find_row(struct collect *c, const struct place *p)
{
	struct incident_store *s = c->s;
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t place;
	size_t kind;

	buf_printf(&key, "%d:", (int)p->kind);
	kind = key.len;
	places_put_name(c->places, p, &key);
	memory_whole(&key);
	if (names_get(&s->rows, buf_str(&key), &place))
		return place;
	memory_room(&s->row, s->n_rows, sizeof(*s->row));
	s->row[s->n_rows] = (struct incident_row){
		.label = memory_text(buf_str(&key) + kind),
		.kind = p->kind,
		.package = p->kind == PM_SYSTEM ? PM_NONE : p->package,
		/* A core is named by its first CPU, as in tables. */
		.cpu = p->kind == PM_CPU  ? p->cpu :
		       p->kind == PM_CORE ? p->first_cpu :
					    PM_NONE,
	};
	memory_done(names_set(&s->rows, buf_str(&key), s->n_rows));
	return s->n_rows++;
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

/* Whether others say more than a metric: of CPUs, clocks always run, and util says whether they are busy or idle; how
 * long a task or an idle state lasts at a time is anything on a machine that does little. */
static bool says_less(const struct bound_metric *m)
{
	static const char *const of_cpus[] = { "cpus_utilized", "cpus_utilized_clock", "cpus_busy", "util.idle" };

	for (size_t i = 0; i < sizeof(of_cpus) / sizeof(*of_cpus) && m->kind == PM_CPU; i++)
		if (!strcmp(of_cpus[i], m->name))
			return true;
	return !strcmp(m->name, "sched.slice") || !fnmatch("idle.*.duration", m->name, 0);
}

static bool is_named(const struct incident *i, const char *metric)
{
	for (uint32_t k = 0; k < i->n_series; k++)
		if (!strcmp(i->series[k].metric, metric))
			return true;
	return false;
}

/* Omits counters that a metric shows or that are computed from the same time, and registers whose bits are not an
 * amount. */
static void choose(const struct sink_plan *plan, bool **wanted, uint8_t **fault)
{
	const struct binding *b = plan->binding;
	const struct pm_model *m = plan->places->model;
	SCOPED(scoped_free) bool *known = memory_new((size_t)m->n_counters + 1, sizeof(*known));

	free(*wanted);
	free(*fault);
	*wanted = memory_new(b->n_metrics, sizeof(**wanted));
	*fault = memory_new((size_t)m->n_counters + 1, sizeof(**fault));
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *x = &b->metric[i];
		uint32_t of = x->counter ? 0 : stands_for(b, x);

		if (x->counter || x->absent || x->estimate || x->kind == PM_TASK || (of && known[of]) || says_less(x))
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

		/* What is left of these says how they were read; and most of what the kernel counts of memory is a
		 * part of something else. */
		if (!k || known[k->id] || x->digits || !strcmp(k->source, "tasks") || !strcmp(k->source, "cgroups") ||
		    k->type == PM_TEXT || k->type == PM_BYTES || k->semantics == PM_BITFIELD ||
		    k->semantics == PM_STATE ||
		    ((!strcmp(k->source, "vmstat") || !strcmp(k->source, "meminfo")) && !say_knows(x->name)))
			continue;
		(*wanted)[i] = true;
	}
}

static bool has_packages(const struct places *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (p->cpu[i].package != PM_NONE && p->cpu[i].package != p->cpu[0].package)
			return true;
	return false;
}

static void wish(struct sink_plan *plan, const bool *shown)
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

static int plan(struct sink *sink, struct sink_plan *plan)
{
	struct collect *c = (struct collect *)sink;

	c->places = plan->places;
	c->s->tasks |= pm_model_counter_named(plan->places->model, "tasks.user") != NULL;
	choose(plan, &c->wanted, &c->fault);
	for (size_t i = 0; i < plan->binding->n_metrics && c->only; i++)
		c->wanted[i] &= is_named(c->only, plan->binding->metric[i].name);
	wish(plan, c->wanted);
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

	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++)
			cells += sheet[i].row[r].n_cells;
	free(c->drawn);
	c->n_drawn = 0;
	c->layouts++;
	c->drawn = memory_new(cells, sizeof(*c->drawn));
	for (size_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < sheet[i].n_rows; r++) {
			const struct sheet_row *from = &sheet[i].row[r];
			bool only = c->places->n == 1 && from->place.kind == PM_CPU;
			uint32_t row = find_row(c, &from->place);

			for (uint32_t k = 0; k < from->n_cells; k++) {
				const struct bound_metric *m = sheet[i].column[from->cell[k].column].metric;
				uint32_t metric, series;

				if (!c->wanted[m - sheet[i].binding->metric])
					continue;
				metric = find_metric(c, sheet[i].binding, m);
				/* What the only CPU does, the system does, whose row is the first. */
				if (only && c->s->row[0].kind == PM_SYSTEM && place_of(c->s, metric, 0))
					continue;
				series = store_series(c->s, metric, row);
				if (series == PM_NONE)
					continue;
				/* Metrics of packages are in two sheets. */
				memory_hold(&c->joined, &c->n_joined, series + 1, sizeof(*c->joined));
				if (c->joined[series].layout == c->layouts)
					continue;
				c->joined[series].layout = c->layouts;
				c->drawn[c->n_drawn++] =
					(struct drawn){ &from->cell[k], count_of(&sheet[i], from, m), series };
			}
		}
	return 0;
}

/* ---- intervals ---- */

/* Milliseconds per request, where a few requests took next to no time together: their mean says nothing. */
static bool says_nothing(double mean, double rate, double seconds)
{
	return rate * seconds < REQUESTS_FEW && rate * mean < 1000 * TIME_LITTLE;
}

/* Adds the values of some intervals in one bin to what it has so far. */
static void join_values(const struct collect *c, const struct stretch *g, const struct drawn *d, bool amount,
			struct joined *all)
{
	for (size_t k = g->from; k < g->to; k++) {
		const struct value *v = &d->cell->value[k];
		double seconds = c->seconds[k], x = amount ? v->v / seconds : v->v;

		if (v->reason || !isfinite(x) || (d->count && says_nothing(x, d->count->value[k].v, seconds)))
			continue;
		all->mean = all->weight > 0 ? (all->mean * all->weight + x * seconds) / (all->weight + seconds) : x;
		all->weight += seconds;
	}
}

/* The same for many that are all known, as nearly all are; false: some are not, and nothing was done. */
static bool join_known(const struct collect *c, const struct stretch *g, const struct drawn *d, bool amount,
		       struct joined *all)
{
	const struct value *v = d->cell->value;
	double sum = 0, weight = all->weight + g->seconds;
	uint32_t reasons = 0;

	if (g->to - g->from < 2 || d->count)
		return false;
	for (size_t k = g->from; k < g->to; k++) {
		reasons |= v[k].reason;
		sum += amount ? v[k].v : v[k].v * c->seconds[k];
	}
	if (reasons || !isfinite(sum))
		return false;
	all->mean = (all->mean * all->weight + sum) / weight;
	all->weight = weight;
	return true;
}

/* Series by series, because the values of each are adjacent, here and there. */
static void put_values(struct collect *c, size_t n)
{
	for (const struct drawn *d = c->drawn; d < c->drawn + c->n_drawn; d++) {
		const struct incident_row_series *x = &c->s->series[d->series];
		struct joined *all = &c->joined[d->series];
		bool amount = c->s->metric[x->metric].amount;

		for (const struct stretch *g = c->stretch; g < c->stretch + n; g++) {
			/* It may have been away, so that this is not the bin that was open before. */
			if (all->bin != g->bin)
				all->mean = all->weight = 0;
			all->bin = g->bin;
			if (!join_known(c, g, d, amount, all))
				join_values(c, g, d, amount, all);
			if (all->weight > 0)
				x->v[g->bin] = (float)all->mean;
		}
	}
}

/* The beginning of a recording; what lies between two of them counts as time. */
static void find_origin(struct collect *c, const struct interval *interval)
{
	int64_t wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);
	double at_s;

	c->number = UINT64_MAX;
	c->origin_ns = interval->from_ns;
	if (!interval->wall_ns)
		return;
	c->start_wall_ns = c->start_wall_ns ? c->start_wall_ns : wall_ns;
	at_s = (double)(wall_ns - c->start_wall_ns) / 1e9;
	c->back |= at_s < c->shift_s - 1;
	c->shift_s = fmax(c->shift_s, at_s);
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;
	struct incident_store *s = c->s;
	size_t stretches = 0;

	if (n && !c->origin_ns)
		find_origin(c, interval);
	memory_hold(&c->seconds, &c->n_seconds, n, sizeof(*c->seconds));
	memory_hold(&c->stretch, &c->n_stretch, n, sizeof(*c->stretch));
	for (size_t k = 0; k < n; k++) {
		uint64_t middle = (interval[k].from_ns + interval[k].to_ns) / 2 - c->origin_ns;
		uint64_t number = c->every_ns ? middle / c->every_ns : 0;
		bool next = !c->every_ns || number != c->number;

		c->seconds[k] = (double)interval[k].duration_ns / 1e9;
		if (!interval[k].duration_ns)
			continue;
		if (next) {
			if (s->used == s->bins)
				store_bins(s, 2 * s->bins);
			s->from_s[s->used++] =
				c->shift_s + (double)(int64_t)(interval[k].from_ns - c->origin_ns) / 1e9;
		}
		if (next || !stretches || c->stretch[stretches - 1].to != k)
			c->stretch[stretches++] = (struct stretch){ .bin = s->used - 1, .from = k };
		c->stretch[stretches - 1].to = k + 1;
		c->stretch[stretches - 1].seconds += c->seconds[k];
		c->number = number;
		c->end_s = c->shift_s + (double)(int64_t)(interval[k].to_ns - c->origin_ns) / 1e9;
		s->to_s[s->used - 1] = c->end_s;
	}
	put_values(c, stretches);
	return 0;
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

	if (s->n_losses == LOSSES_MOST)
		return;
	loss.text = memory_text(text);
	memory_room(&s->loss, s->n_losses, sizeof(*s->loss));
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
	memory_room(&c->s->start, c->s->recordings, sizeof(*c->s->start));
	c->s->start[c->s->recordings++] = (struct incident_start){ c->shift_s, c->origin_ns };
	c->shift_s = c->end_s;
	c->origin_ns = 0;
	return 0;
}

static const struct sink_ops ops = {
	.plan = plan, .shape = shape, .intervals = intervals, .event = event, .end = end
};

/* Chooses the bins: a recording that has more intervals is read in longer ones. */
static int choose_bins(struct incident_store *s, struct pipeline_config *config, struct pm_reader *whole,
		       const char *path, struct error *e)
{
	struct pm_reader *reader;
	struct pm_item item = { 0 };
	struct pm_extent x;
	uint64_t interval;
	uint32_t most;
	int r = pm_reader_extent(whole, &x);

	/* A stream has no extent, nor have some damaged files. */
	if (r == -EIO || r == -ENOMEM)
		return input_failed(e, r, &item, "reading");
	store_bins(s, BINS_LEAST);
	if (r)
		return 0;
	if ((r = input_open(&reader, path, false, e)))
		return r;
	do
		r = pm_reader_next(reader, &item);
	while (r == 1 && item.kind != PM_ITEM_CHUNK);
	interval = pm_map_u64(&pm_reader_model(reader)->header, PM_HEADER_INTERVAL, 0);
	most = bins_for(cells_of(pm_reader_model(reader)));
	if (x.snapshots > most && x.to_ns > x.from_ns) {
		s->per_bin = (uint32_t)((x.snapshots + most - 1) / most);
		config->mode = PIPELINE_EVERY;
		config->every_ns = s->per_bin * (interval ? interval : (x.to_ns - x.from_ns) / (x.snapshots - 1));
	}
	pm_reader_close(reader);
	if (r < 0)
		return input_failed(e, r, &item, "reading");
	if (x.snapshots > BINS_LEAST)
		store_bins(s, x.snapshots < most ? (uint32_t)x.snapshots : most);
	return 0;
}

static void finish(struct collect *c, struct incidents *found)
{
	found->start_wall_ns = c->back ? 0 : c->start_wall_ns;
	found->duration_s = c->end_s;
	free(c->wanted);
	free(c->fault);
	free(c->drawn);
	free(c->seconds);
	free(c->stretch);
	free(c->joined);
}

int store_collect(struct incident_store *s, struct incidents *found, const char *path, const char *name,
		  const struct pipeline_config *config, const struct incident *only, struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .s = s, .only = only };
	struct pm_reader *reader;
	int err;

	own.mode = PIPELINE_EACH;
	own.bind.rate = true;
	own.selection = (struct selection){ 0 };
	if ((err = input_open_as(&reader, path, name, e)))
		return err;
	s->per_bin = 1;
	if (only)
		store_bins(s, EXACT_MOST);
	else
		err = choose_bins(s, &own, reader, path, e);
	err = err ? err : pipeline_run(&own, reader, &c.sink, &found->result, e);
	if (err)
		error_prefix(e, "%s", name);
	s->joined = own.mode == PIPELINE_EVERY;
	finish(&c, found);
	pm_reader_close(reader);
	return err;
}

int store_begin(struct incident_store *s, struct sink **sink, struct pm_reader *reader, const char *path,
		struct error *e)
{
	struct collect *c = memory_new(1, sizeof(*c));
	struct pipeline_config own = { 0 };
	int err;

	*sink = &c->sink;
	*c = (struct collect){ .sink = { .ops = &ops, .reader = reader }, .s = s };
	s->per_bin = 1;
	err = choose_bins(s, &own, reader, path, e);
	c->every_ns = own.every_ns;
	s->joined = own.every_ns != 0;
	return err;
}

void store_end(struct sink *sink, struct incidents *found)
{
	finish((struct collect *)sink, found);
	free(sink);
}

/* ---- exact times ---- */

/* The stretch in which the values, of the series of the store in `of`, are nearer to the extreme one than to what is
 * usual. */
static void find_times(const struct incident_store *s, const float *const *of, double shift_s, struct incident *i)
{
	double sign = i->series->value < i->series->usual ? -1 : 1, top[3] = { 0 }, half;
	struct best_run run = { 0 };

	for (uint32_t k = 0; k < s->used && of[0]; k++) {
		double d = sign * ((double)of[0][k] - i->series->usual);

		for (int t = 0; t < 3; t++)
			if (d > top[t]) {
				memmove(&top[t + 1], &top[t], (size_t)(2 - t) * sizeof(*top));
				top[t] = d;
				break;
			}
	}
	half = fmax(top[2] > 0 ? (top[0] + top[1] + top[2]) / 6 : top[0] / 2, top[0] / 4);
	for (uint32_t k = 0; k < s->used && of[0]; k++)
		best_run_add(&run, k, isnan(of[0][k]) ? 0 : sign * ((double)of[0][k] - i->series->usual) - half);
	if (!run.to)
		return;
	i->from_s = fmax(shift_s + s->from_s[run.from], 0);
	i->to_s = shift_s + s->to_s[run.to - 1];
	for (uint32_t k = 0; k < i->n_series; k++) {
		double sum = 0;
		uint32_t n = 0;

		for (uint32_t b = run.from; b < run.to && of[k]; b++)
			if (!isnan(of[k][b])) {
				sum += (double)of[k][b];
				n++;
			}
		if (n)
			i->series[k].value = sum / n;
	}
}

int store_refine(const struct incident_store *whole, struct incident *i, const char *path,
		 const struct pipeline_config *config, struct error *e)
{
	struct incident_store s = { 0 };
	struct incidents found = { 0 };
	struct pipeline_config own = *config;
	const float *of[INCIDENT_SERIES] = { 0 };
	double from = (double)whole->start->origin_ns + (i->from_s - whole->bin_s) * 1e9;
	uint32_t metric, row;
	int err;

	if (i->to_s - i->from_s > BINS_EXACT * whole->bin_s ||
	    (i->to_s - i->from_s + 2 * whole->bin_s) / whole->bin_s * whole->per_bin > EXACT_MOST)
		return 0;
	own.since = (struct moment){ MOMENT_MONOTONIC, from > 1 ? (uint64_t)from : 1 };
	own.until = (struct moment){ MOMENT_MONOTONIC,
				     whole->start->origin_ns + (uint64_t)((i->to_s + whole->bin_s) * 1e9) + 1 };
	err = store_collect(&s, &found, path, path, &own, i, e);
	for (uint32_t k = 0; k < i->n_series && !err; k++) {
		SCOPED(buf_release) struct buf key = BUF_INIT;

		buf_printf(&key, "%d:%s", (int)i->series[k].kind, i->series[k].label);
		if (names_get(&s.metrics, i->series[k].metric, &metric) && names_get(&s.rows, buf_str(&key), &row) &&
		    place_of(&s, metric, row))
			of[k] = s.series[place_of(&s, metric, row) - 1].v;
	}
	if (!err && s.recordings)
		find_times(&s, of, (double)(int64_t)(s.start->origin_ns - whole->start->origin_ns) / 1e9, i);
	pipeline_result_release(&found.result);
	store_release(&s);
	return err;
}

/* ---- all of it ---- */

static void forget_from(struct incidents *found, uint32_t n)
{
	while (found->n > n) {
		struct incident *i = &found->incident[--found->n];

		free(i->text);
		free(i->series);
		while (i->n_tasks)
			free(i->task[--i->n_tasks].name);
	}
}

void incidents_release(struct incidents *found)
{
	forget_from(found, 0);
	free(found->incident);
	if (found->store)
		store_release(found->store);
	free(found->store);
	buf_release(&found->result.notes);
	buf_release(&found->result.remarks);
	*found = (struct incidents){ 0 };
}

/* What was collected becomes sentences. */
static int conclude(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		    struct error *e)
{
	struct incident_store *s = found->store;
	struct findings f = { 0 };
	uint32_t n = 0;
	int err = 0;

	scan_all(s, &f);
	merge_all(s, &f, found);
	free(f.f);
	found->n_scanned = s->n_series;
	found->bin_s = s->bin_s / s->per_bin;
	while (n < found->n && n < INCIDENTS_MOST && found->incident[n].score >= SCORE_LEAST)
		n++;
	forget_from(found, n);
	/* Times in a file with several recordings do not identify a place in it. */
	for (uint32_t i = 0; i < found->n && i < INCIDENTS_REFINED && !err; i++)
		if (found->incident[i].kind == INCIDENT_STRETCH && s->joined && s->recordings == 1)
			err = store_refine(s, &found->incident[i], path, config, e);
	if (!err && s->tasks)
		err = find_tasks(found, path, e);
	for (uint32_t i = 0; i < found->n && !err; i++)
		say(found, &found->incident[i]);
	return err && !e->text[0] ? error_sys(e, -err, "%s", name) : err;
}

int incidents_find(struct incidents *found, const char *path, const char *name, const struct pipeline_config *config,
		   struct error *e)
{
	int err;

	*found = (struct incidents){ .store = memory_new(1, sizeof(*found->store)) };
	err = store_collect(found->store, found, path, name, config, NULL, e);
	return err ? err : conclude(found, path, name, config, e);
}

int incidents_begin(struct incidents *found, struct sink **sink, struct pm_reader *reader, const char *path,
		    struct error *e)
{
	*found = (struct incidents){ .store = memory_new(1, sizeof(*found->store)) };
	return store_begin(found->store, sink, reader, path, e);
}

int incidents_finish(struct incidents *found, struct sink *sink, const char *path,
		     const struct pipeline_config *config, int err, struct error *e)
{
	store_end(sink, found);
	return err ? err : conclude(found, path, path, config, e);
}
