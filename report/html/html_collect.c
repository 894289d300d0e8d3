/* Collects a recording for the page: its layout, and what the intervals add. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/machine/status.h"
#include "report/html/html.h"
#include "report/input/input.h"
#include "report/metric/amount.h"

#define NEAR_BUCKETS 2048
#define FAR_BUCKETS  1024
#define NEAR_MEMORY  (32u << 20)
#define FAR_MEMORY   (64u << 20)

/* CPUs and the system, packages, the system with everything that is not charted. */
#define SHEETS 3

enum { SET_NEAR, SET_FAR, SET_TOTALS, SETS };

/* A cell and the series that its values continue. */
struct drawn {
	const struct sheet_cell *cell;
	uint32_t place, row; /* series; row of the sheet */
	uint8_t set;         /* SET_NEAR, ... */
	bool amount;         /* grows with time: its mean is that of an interval */
};

struct layout {
	struct drawn *drawn; /* owned */
	size_t n_drawn;
};

struct collect {
	struct sink sink;
	struct html_recording *r;
	const struct pipeline_config *config;
	const struct places *places;
	bool begun;
	bool no_memory;             /* for an event */
	bool along;                 /* it is read while incidents are looked for, */
	bool later;                 /* which has to be done before: they may concern metrics that are not shown */
	bool *charted, *others;     /* owned: metrics that are charted, and those that are not */
	size_t n_sheets, n_charted; /* what is not charted is in the last sheet, if it is one more */
	struct layout layout[SHEETS];
	uint32_t layouts;              /* how many there were */
	struct names metrics, rows;    /* names -> indices in the recording */
	struct html_steps steps[SETS]; /* what is taken at once; the same intervals for all */
	uint64_t run_intervals;        /* of the run at hand */
	uint64_t origin_ns, last_ns;   /* CLOCK_MONOTONIC of the current recording */
	size_t damages;                /* that have become events */
	uint32_t placed_events;        /* whose times are seconds from the origin */
	double shift_s;                /* of its origin, after what was read before it */
};

/* ---- series ---- */

static struct html_set *set_at(struct html_recording *r, int which)
{
	return which == SET_NEAR ? &r->near : which == SET_FAR ? &r->far : &r->totals;
}

static int find_series(struct collect *c, int set, uint32_t metric, uint32_t row, uint32_t *place)
{
	struct html_set *s = set_at(c->r, set);
	int err = html_set_add(s, metric, row, set == SET_TOTALS, place);

	if (err) {
		*place = PM_NONE;
		return err == -ENOSPC ? 0 : err;
	}
	/* Metrics of packages are in two sheets, and count once. */
	if (s->series[*place].layout == c->layouts)
		*place = PM_NONE;
	else
		s->series[*place].layout = c->layouts;
	return 0;
}

/* ---- laying out ---- */

static void forget_layout(struct collect *c)
{
	for (int i = 0; i < SHEETS; i++) {
		struct layout *l = &c->layout[i];

		free(l->drawn);
		*l = (struct layout){ 0 };
	}
	c->n_sheets = 0;
	free(c->charted);
	free(c->others);
	c->charted = c->others = NULL;
}

/* In the order of counters in memory, which is faster if there are many. */
static int compare_drawn(const void *left, const void *right)
{
	const struct drawn *a = left, *b = right;

	return array_order(a->cell->column, b->cell->column, a->row, b->row);
}

static int name_cells(struct collect *c, struct layout *l, const struct sheet *sheet, bool totals)
{
	struct {
		uint32_t metric;
		bool known, amount;
	} *column = calloc((size_t)sheet->n_columns + 1, sizeof(*column));
	uint32_t cells = 0, row, place;
	int err = 0;

	for (uint32_t i = 0; i < sheet->n_rows; i++)
		cells += sheet->row[i].n_cells;
	l->drawn = calloc((size_t)cells + 1, sizeof(*l->drawn));
	if (!l->drawn || !column)
		err = -ENOMEM;
	for (uint32_t i = 0; i < sheet->n_rows && !err; i++) {
		const struct sheet_row *from = &sheet->row[i];
		int set;

		if ((err = html_find_row(c->r, &c->rows, c->places, &from->place, &row)))
			break;
		set = totals ? SET_TOTALS : c->r->row[row].far ? SET_FAR : SET_NEAR;
		for (uint32_t k = 0; k < from->n_cells && !err; k++) {
			const struct sheet_cell *cell = &from->cell[k];
			const struct bound_metric *m = sheet->column[cell->column].metric;

			if (!column[cell->column].known) {
				err = html_find_metric(c->r, &c->metrics, m, !totals, &column[cell->column].metric);
				column[cell->column].amount = metric_is_amount(sheet->binding, m, c->places->model);
				column[cell->column].known = true;
			}
			if (!err)
				err = find_series(c, set, column[cell->column].metric, row, &place);
			if (!err && place != PM_NONE)
				l->drawn[l->n_drawn++] =
					(struct drawn){ cell, place, i, (uint8_t)set, column[cell->column].amount };
		}
	}
	free(column);
	if (l->drawn)
		qsort(l->drawn, l->n_drawn, sizeof(*l->drawn), compare_drawn);
	return err;
}

/* If the whole recording is read, its length is known beforehand. */
static void expect_extent(struct collect *c)
{
	bool whole = c->config->since.kind == MOMENT_NONE && c->config->until.kind == MOMENT_NONE;
	struct pm_extent x;

	if (!whole || pm_reader_extent(c->sink.reader, &x) || x.to_ns <= x.from_ns)
		return;
	html_set_expect(&c->r->near, (double)(x.to_ns - x.from_ns) / 1e9);
	html_set_expect(&c->r->far, (double)(x.to_ns - x.from_ns) / 1e9);
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config system_only = { .per = PM_SYSTEM, .summary = true, .summary_only = true };
	struct collect *c = (struct collect *)sink;
	bool any = false;

	forget_layout(c);
	c->layouts++;
	c->places = plan->places;
	c->others = calloc(plan->binding->n_metrics + 1, sizeof(*c->others));
	c->charted = calloc(plan->binding->n_metrics + 1, sizeof(*c->charted));
	if (!c->others || !c->charted)
		return -ENOMEM;
	for (size_t i = 0; i < plan->binding->n_metrics; i++) {
		c->charted[i] = plan->shown[i] || html_incident_metric(c->r, plan->binding->metric[i].name);
		c->others[i] = !c->charted[i];
		any |= c->others[i];
	}
	c->later |= c->along && !incidents_within(plan, c->charted);
	if (c->later)
		return 0;
	incident_wish(plan, c->charted);
	c->n_charted = plan->n_sheets;
	if (any)
		plan->sheet[plan->n_sheets++] = (struct sink_wish){ system_only, c->others };
	c->n_sheets = plan->n_sheets;
	return 0;
}

static int shape(struct sink *sink, const struct sheet *sheet, size_t n)
{
	struct collect *c = (struct collect *)sink;
	double width = (double)pm_map_u64(&c->places->model->header, PM_HEADER_INTERVAL, 0) / 1e9;
	bool first = !c->begun;
	int err = 0;

	if (c->later)
		return 0;
	c->begun = true;
	width = width > 0 ? width : 1e-3;
	if (first) {
		html_set_init(&c->r->near, NEAR_BUCKETS, width, NEAR_MEMORY, false);
		html_set_init(&c->r->far, FAR_BUCKETS, width, FAR_MEMORY, true);
		html_set_init(&c->r->totals, HTML_BUCKETS_LEAST, width, NEAR_MEMORY, false);
	}
	for (size_t i = 0; i < n && !err; i++)
		err = name_cells(c, &c->layout[i], &sheet[i], i >= c->n_charted);
	if (first && !err)
		expect_extent(c);
	return err ? error_sys(&sink->error, -err, "laying out the page") : 0;
}

/* ---- intervals ---- */

/* Takes the intervals in `steps`, the first of which is number `first` of those in the sheets. */
static void take_sheet(struct collect *c, const struct layout *l, size_t first, bool again)
{
	for (size_t i = 0; i < l->n_drawn; i++) {
		const struct drawn *f = &l->drawn[i];
		struct html_value_run run = {
			.value = f->cell->value + first,
			.coverage = f->cell->coverage ? f->cell->coverage + first : NULL,
			.again = again,
		};

		html_set_take(set_at(c->r, f->set), f->place, &c->steps[f->set], &run);
	}
}

static void take_steps(struct collect *c, size_t first, bool again)
{
	for (size_t i = 0; i < c->n_sheets; i++)
		take_sheet(c, &c->layout[i], first, again);
	for (int set = 0; set < SETS; set++)
		html_set_end_steps(set_at(c->r, set), &c->steps[set]);
}

static void begin_steps(struct collect *c)
{
	for (int set = 0; set < SETS; set++)
		c->steps[set].n = c->steps[set].n_runs = 0;
}

static void add_step(struct collect *c, const struct interval *interval, const uint32_t bucket[static SETS],
		     uint32_t parts)
{
	double seconds = interval->duration_ns ? (double)interval->duration_ns / 1e9 : 1e-9;

	for (int set = 0; set < SETS; set++)
		html_steps_add(&c->steps[set], bucket[set], seconds / parts, interval->partial);
}

static void find_origin(struct collect *c, const struct interval *interval)
{
	if (c->origin_ns)
		return;
	c->origin_ns = interval->from_ns;
	if (!c->r->start_wall_ns && interval->wall_ns)
		c->r->start_wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);
}

/* The number of buckets in the interval: more than one if ticks were lost, or there was no interval. It then applies
 * to all of them. */
static uint32_t parts_of(struct collect *c, double from, double length)
{
	if (length <= c->r->near.width_s * 1.5)
		return 1;
	html_set_reach(&c->r->near, from + length * (1 - 1e-9));
	return length <= c->r->near.width_s * 1.5 ? 1 : (uint32_t)lround(length / c->r->near.width_s);
}

/* Where the interval begins, and how long it is, in seconds. */
static double begin_of(const struct collect *c, const struct interval *interval, double *length)
{
	*length = (double)(interval->to_ns - interval->from_ns) / 1e9;
	return c->shift_s + (double)(int64_t)(interval->from_ns - c->origin_ns) / 1e9;
}

static void take_interval(struct collect *c, const struct interval *interval, size_t k)
{
	double length, from = begin_of(c, interval, &length);
	uint32_t parts = parts_of(c, from, length);

	for (uint32_t i = 0; i < parts; i++) {
		double at = from + length * (i + 0.5) / parts;
		uint32_t bucket[SETS];

		html_set_reach(&c->r->near, at);
		html_set_reach(&c->r->far, at);
		for (int set = 0; set < SETS; set++)
			bucket[set] = set_at(c->r, set)->open_at;
		begin_steps(c);
		add_step(c, interval, bucket, parts);
		take_steps(c, k, i > 0);
	}
}

/* Adds the interval if it lies in one bucket of each set, not before that of the previous step. */
static bool add_simple_step(struct collect *c, const struct interval *interval)
{
	double length, from = begin_of(c, interval, &length);
	uint32_t bucket[SETS];

	if (c->steps[0].n == HTML_STEPS || length > c->r->near.width_s * 1.5)
		return false;
	for (int set = 0; set < SET_TOTALS; set++) {
		const struct html_steps *s = &c->steps[set];

		if (!html_set_has(set_at(c->r, set), from + length * 0.5, &bucket[set]) ||
		    (s->n && bucket[set] < s->run[s->n_runs - 1].bucket))
			return false;
	}
	bucket[SET_TOTALS] = c->r->totals.open_at;
	add_step(c, interval, bucket, 1);
	return true;
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	if (c->later)
		return 0;
	c->run_intervals += n;
	if (n)
		find_origin(c, interval);
	for (size_t k = 0, taken; k < n; k += taken) {
		begin_steps(c);
		for (taken = 0; k + taken < n && add_simple_step(c, &interval[k + taken]);)
			taken++;
		if (taken) {
			take_steps(c, k, false);
		} else {
			take_interval(c, &interval[k], k);
			taken = 1;
		}
		c->last_ns = interval[k + taken - 1].to_ns;
	}
	c->r->duration_s = c->shift_s + (double)(c->last_ns - c->origin_ns) / 1e9;
	return 0;
}

/* The mean in tables is the number of the total. Several runs are weighted by their time. */
static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	struct layout l = { 0 };
	int err = 0;

	c->layouts++;
	for (size_t s = 0; s < c->n_sheets && !err; s++) {
		err = name_cells(c, &l, &sheet[s], s >= c->n_charted);
		for (size_t i = 0; i < l.n_drawn && !err; i++) {
			const struct drawn *f = &l.drawn[i];
			struct html_series *x = &set_at(c->r, f->set)->series[f->place];

			for (size_t k = 0; k < n; k++) {
				double seconds = (double)interval[k].duration_ns / 1e9;

				x->totalled = true;
				if (f->cell->value[k].reason || !isfinite(f->cell->value[k].v))
					continue;
				x->whole += f->cell->value[k].v * (f->amount ? 1 : seconds);
				x->whole_weight += f->amount ? (double)c->run_intervals : seconds;
			}
		}
		free(l.drawn);
		l = (struct layout){ 0 };
	}
	c->run_intervals = 0;
	return err;
}

/* ---- events ---- */

/* Times are CLOCK_MONOTONIC until the end, when the origin is known. */
static void add_event(struct collect *c, enum pm_event_type type, uint64_t since_ns, uint64_t time_ns, uint32_t cpu,
		      char *text)
{
	struct html_recording *r = c->r;
	struct html_event *h;

	if (r->n_events == HTML_EVENTS) {
		r->more_events++;
		free(text);
		return;
	}
	if (!text || array_room(&r->event, r->n_events, sizeof(*h))) {
		c->no_memory = true;
		free(text);
		return;
	}
	h = r->event;
	r->event[r->n_events++] = (struct html_event){
		.type = type,
		.at_s = (double)since_ns,
		.until_s = (double)time_ns,
		.cpu = cpu,
		.text = text,
	};
}

static void event(struct sink *sink, const struct pm_event *e)
{
	struct collect *c = (struct collect *)sink;
	const struct pm_instance *instance = pm_model_instance(
		pm_reader_model(sink->reader), (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_INSTANCE, PM_NONE));
	uint64_t since = pm_map_u64(&e->attrs, PM_EVENT_KEY_SINCE, e->time_ns);
	struct buf text = BUF_INIT;

	/* Tasks end by the hundred. */
	if (e->type == PM_EVENT_GONE && instance && instance->kind == PM_TASK)
		return;
	event_text(e, &text);
	add_event(c, e->type, since < e->time_ns ? since : e->time_ns, e->time_ns,
		  (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, PM_NONE), buf_detach(&text));
}

/* ---- the end ---- */

/* Damage is a stretch without values, as lost ticks are. */
static void add_damage(struct collect *c)
{
	size_t n;
	const struct pm_damage *d = pm_reader_damage(c->sink.reader, &n);

	for (; c->damages < n; c->damages++) {
		struct buf text = BUF_INIT;

		if (!d[c->damages].from_ns || d[c->damages].harmless)
			continue;
		buf_printf(&text, "damaged: %s", d[c->damages].text);
		add_event(c, PM_EVENT_LOST, d[c->damages].from_ns,
			  d[c->damages].to_ns ? d[c->damages].to_ns : d[c->damages].from_ns, PM_NONE,
			  buf_detach(&text));
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	struct html_recording *r = c->r;
	int err;

	add_damage(c);
	err = c->no_memory ? -ENOMEM : 0;
	/* Of several recordings in one file, the first defines the series. */
	if (!r->host) {
		r->host = strdup(pm_map_text(&c->places->model->header, PM_HEADER_HOST, ""));
		err = r->host ? err : -ENOMEM;
	}
	for (; c->placed_events < r->n_events; c->placed_events++) {
		struct html_event *h = &r->event[c->placed_events];

		/* A recording of one snapshot has no interval, and so no origin. */
		h->at_s = c->shift_s + (c->origin_ns ? (h->at_s - (double)c->origin_ns) / 1e9 : 0);
		h->until_s = c->shift_s + (c->origin_ns ? (h->until_s - (double)c->origin_ns) / 1e9 : 0);
	}
	c->shift_s = r->duration_s + r->near.width_s;
	c->origin_ns = 0;
	forget_layout(c);
	return err ? error_sys(&sink->error, -err, "identity of the machine") : 0;
}

static const struct sink_ops ops = {
	.roomy = true,
	.plan = plan,
	.shape = shape,
	.intervals = intervals,
	.totals = totals,
	.forgets = true,
	.event = event,
	.end = end,
};

/* Everything that was collected, except for the incidents. */
static void forget_collected(struct collect *c)
{
	forget_layout(c);
	names_release(&c->metrics);
	names_release(&c->rows);
}

/* Reads again, now that the incidents are known. */
static int read_again(struct html_recording *r, const struct pipeline_part *part, const char *path, struct error *e)
{
	struct incidents found = r->incidents;
	struct pm_reader *reader;
	char *named = r->path;
	int err;

	r->incidents = (struct incidents){ 0 };
	r->path = NULL;
	html_recording_release(r);
	r->incidents = found;
	r->path = named;
	if ((err = input_open(&reader, path, false, e)))
		return err;
	err = pipeline_run_all(part, 1, reader, e);
	pm_reader_close(reader);
	return err;
}

int html_collect(struct html_recording *r, const char *path, const struct pipeline_config *config, struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .r = r, .config = config, .along = true };
	struct pipeline_part part = { &own, &c.sink, &r->result };
	int err;

	*r = (struct html_recording){ .path = strdup(path) };
	if (!r->path)
		return error_sys(e, ENOMEM, "%s", path);
	own.mode = PIPELINE_EACH;
	err = incidents_find(&r->incidents, path, path, config, &part, e);
	if (!err && c.later) {
		forget_collected(&c);
		c = (struct collect){ .sink.ops = &ops, .r = r, .config = config };
		err = read_again(r, &part, path, e);
	}
	if (err && !strstr(e->text, path))
		error_prefix(e, "%s", path);
	for (int i = 0; i < SET_TOTALS && !err; i++)
		if ((err = html_set_finish(set_at(r, i))))
			err = error_sys(e, -err, "%s", path);
	r->snapshots = r->result.snapshots;
	r->intervals = r->result.intervals;
	forget_collected(&c);
	return err;
}
