/* Collects a recording for the page: its metrics and places, series in time, and events. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "report/machine/status.h"
#include "report/html/html.h"
#include "report/input/input.h"
#include "report/metric/amount.h"

#define NEAR_BUCKETS  2048
#define FAR_BUCKETS   1024
#define BUCKETS_LEAST 16
#define NEAR_MEMORY   (32u << 20) /* bytes of buckets */
#define FAR_MEMORY    (64u << 20)
#define NEARLY        (1 - 1e-9) /* the end of an interval is not in it */

enum { SET_NEAR, SET_FAR, SET_TOTALS, SETS };

/* A cell and the series that its values continue. */
struct drawn {
	const struct sheet_cell *cell;
	uint32_t place; /* of the series */
	uint8_t set;    /* SET_NEAR, ... */
	bool amount;    /* grows with time: its mean is that of an interval */
};

struct layout {
	struct drawn *drawn; /* owned */
	size_t n_drawn;
};

#define STEPS 128

/* Intervals that are taken at once, the same for all series. A long one is several steps, each in another bucket. */
struct steps {
	size_t n;
	bool uneven;                       /* some interval is partial or several steps */
	uint32_t interval[STEPS];          /* of those in the sheets */
	uint32_t bucket[2][STEPS];         /* of SET_NEAR and SET_FAR */
	double weight_s[STEPS];            /* for how long values were observed */
	float weight[STEPS];               /* the same */
	bool partial[STEPS], again[STEPS]; /* again: not the first step of its interval */
};

struct collect {
	struct sink sink;
	struct html_recording *r;
	const struct pipeline_config *config;
	const struct places *places;
	bool along;                 /* it is read while incidents are looked for, */
	bool later;                 /* which has to be done before: they may concern metrics that are not shown */
	bool *charted, *others;     /* owned: metrics that are charted, and those that are not */
	size_t n_sheets, n_charted; /* what is not charted is in the last sheet, if it is one more */
	struct layout layout;
	uint32_t layouts;            /* how many there were */
	struct names metrics, rows;  /* names -> indices in the recording */
	struct steps steps;          /* what is taken next */
	uint64_t run_intervals;      /* of the run at hand */
	uint64_t origin_ns, last_ns; /* CLOCK_MONOTONIC of the current recording */
	size_t damages;              /* that have become events */
	uint32_t placed_events;      /* whose times are seconds from the origin */
	double shift_s;              /* of its origin, after what was read before it */
};

/* ---- series ---- */

static void set_release(struct html_set *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free(s->row[i].series);
	free(s->series);
	free(s->bucket);
	free(s->row);
	*s = (struct html_set){ 0 };
}

/* Joins pairs of buckets in all series: buckets become twice as long. */
static void widen(struct html_set *s)
{
	uint32_t half = s->cap / 2;

	for (uint32_t i = 0; i < s->n && s->filled; i++)
		spark_halve(html_buckets(s, &s->series[i]), half);
	s->width_s *= 2;
	s->used = (s->used + 1) / 2;
	s->filled = (s->filled + 1) / 2;
}

/* Makes buckets so long that they reach this time, in seconds from the origin. */
static void reach(struct html_set *s, double at_s)
{
	while (at_s / s->width_s >= s->cap)
		widen(s);
}

/* Leaves half of the buckets to each series. What lies behind those of all is 0. */
static void halve(struct html_set *s)
{
	uint32_t half = s->cap / 2;

	if (s->used > half)
		widen(s);
	for (uint32_t i = 0; i < s->n && s->filled; i++)
		memmove(s->bucket + (size_t)i * half, html_buckets(s, &s->series[i]), half * sizeof(*s->bucket));
	if (s->filled)
		memset(s->bucket + (size_t)s->n * half, 0, (size_t)s->n * half * sizeof(*s->bucket));
	s->cap = half;
}

const struct html_series *html_find(const struct html_set *s, uint32_t metric, uint32_t row)
{
	uint32_t place = row < s->n_rows && metric < s->row[row].room ? s->row[row].series[metric] : 0;

	return place ? &s->series[place - 1] : NULL;
}

/* Makes room for the buckets of `n` series, which are empty. */
static void make_room(struct html_set *s, size_t n)
{
	size_t room = n * s->cap;

	if (room <= s->room)
		return;
	room += s->room / 2;
	if (s->room) {
		s->bucket = memory_resize(s->bucket, room, sizeof(*s->bucket));
		memset(s->bucket + s->room, 0, (room - s->room) * sizeof(*s->bucket));
	} else {
		s->bucket = memory_new(room, sizeof(*s->bucket));
	}
	s->room = room;
}

/* Finds or adds a series; PM_NONE: there are too many, or this layout has it already: metrics of packages are in two
 * sheets, and count once. */
static uint32_t find_series(struct html_set *s, uint32_t metric, uint32_t row, uint32_t layout)
{
	const struct html_series *x = html_find(s, metric, row);
	uint32_t place = x ? (uint32_t)(x - s->series) : s->n;

	while (!x && (uint64_t)(s->n + 1) * s->cap * sizeof(struct spark_bin) > s->memory) {
		if (s->cap / 2 < BUCKETS_LEAST) {
			s->left_out++;
			return PM_NONE;
		}
		halve(s);
	}
	if (!x) {
		memory_hold(&s->row, &s->n_rows, row + 1, sizeof(*s->row));
		memory_hold(&s->row[row].series, &s->row[row].room, metric + 1, sizeof(uint32_t));
		memory_room(&s->series, s->n, sizeof(*s->series));
		make_room(s, s->n + 1);
		s->series[s->n++] = (struct html_series){ .metric = metric, .row = row };
		s->row[row].series[metric] = s->n;
		s->used = s->used ? s->used : 1;
	}
	if (s->series[place].layout == layout)
		return PM_NONE;
	s->series[place].layout = layout;
	return place;
}

/* ---- metrics and places ---- */

void html_recording_release(struct html_recording *r)
{
	incidents_release(&r->incidents);
	for (uint32_t i = 0; i < r->n_metrics; i++) {
		free(r->metric[i].name);
		free(r->metric[i].display);
		free(r->metric[i].unit);
		free(r->metric[i].help);
	}
	for (uint32_t i = 0; i < r->n_rows; i++) {
		free(r->row[i].label);
		free(r->row[i].place);
	}
	for (uint32_t i = 0; i < r->n_events; i++)
		free(r->event[i].text);
	for (uint32_t i = 0; i < r->n_facts; i++)
		free(r->fact[i].value);
	free(r->metric);
	free(r->row);
	free(r->event);
	free(r->fact);
	free(r->path);
	free(r->host);
	set_release(&r->near);
	set_release(&r->far);
	set_release(&r->totals);
	buf_release(&r->facts);
	pipeline_result_release(&r->result);
	*r = (struct html_recording){ 0 };
}

static uint32_t find_metric(struct html_recording *r, struct names *names, const struct bound_metric *m, bool charted)
{
	uint32_t place;

	if (names_get(names, m->name, &place)) {
		r->metric[place].charted |= charted;
		return place;
	}
	memory_room(&r->metric, r->n_metrics, sizeof(*r->metric));
	r->metric[r->n_metrics] = (struct html_metric){
		.name = memory_text(m->name),
		.display = memory_text(m->display),
		.unit = memory_text(m->about->unit),
		.help = memory_text(m->about->help ? m->about->help : ""),
		.precision = m->precision,
		.charted = charted,
	};
	memory_done(names_set(names, m->name, r->n_metrics));
	return r->n_metrics++;
}

static bool is_far(enum pm_kind kind)
{
	return kind == PM_CPU || kind == PM_CORE || kind == PM_CLUSTER || kind == PM_TASK || kind == PM_CGROUP;
}

static void put_label(const struct places *places, const struct place *p, struct buf *out)
{
	size_t before = out->len;

	places_put_name(places, p, out);
	if (p->kind == PM_SYSTEM)
		buf_addstr(out, "system");
	else if (out->len == before)
		buf_printf(out, "%s #%u", pm_kind_name(p->kind), p->instance);
}

static void put_where(const struct place *p, struct buf *out)
{
	if (p->kind != PM_CPU)
		return;
	if (p->package != PM_NONE)
		buf_printf(out, "package %u", p->package);
	if (p->node != PM_NONE)
		buf_printf(out, "%snode %u", out->len ? ", " : "", p->node);
	if (p->core != PM_NONE)
		buf_printf(out, "%score %u", out->len ? ", " : "", p->core);
}

static uint32_t find_row(struct html_recording *r, struct names *names, const struct places *places,
			 const struct place *p)
{
	SCOPED(buf_release) struct buf label = BUF_INIT, where = BUF_INIT, key = BUF_INIT;
	uint32_t place;

	put_label(places, p, &label);
	buf_printf(&key, "%d:%s", (int)p->kind, buf_str(&label));
	memory_whole(&label);
	memory_whole(&key);
	if (names_get(names, buf_str(&key), &place))
		return place;
	memory_room(&r->row, r->n_rows, sizeof(*r->row));
	put_where(p, &where);
	memory_whole(&where);
	r->row[r->n_rows] = (struct html_row){
		.label = memory_text(buf_str(&label)),
		.place = memory_text(buf_str(&where)),
		.kind = p->kind,
		.package = p->kind == PM_SYSTEM ? PM_NONE : p->package,
		.number = p->cpu,
		.far = is_far(p->kind),
	};
	memory_done(names_set(names, buf_str(&key), r->n_rows));
	return r->n_rows++;
}

/* ---- laying out ---- */

static struct html_set *set_at(struct html_recording *r, int which)
{
	return which == SET_NEAR ? &r->near : which == SET_FAR ? &r->far : &r->totals;
}

static void forget_layout(struct collect *c)
{
	free(c->layout.drawn);
	c->layout = (struct layout){ 0 };
	c->n_sheets = 0;
	free(c->charted);
	free(c->others);
	c->charted = c->others = NULL;
}

static void name_cells(struct collect *c, struct layout *l, const struct sheet *sheet, bool totals)
{
	struct {
		uint32_t metric;
		bool known, amount;
	} *column = memory_new(sheet->n_columns, sizeof(*column));

	for (uint32_t i = 0; i < sheet->n_rows; i++) {
		const struct sheet_row *from = &sheet->row[i];
		uint32_t place, row = find_row(c->r, &c->rows, c->places, &from->place);
		int set = totals ? SET_TOTALS : c->r->row[row].far ? SET_FAR : SET_NEAR;

		for (uint32_t k = 0; k < from->n_cells; k++) {
			const struct sheet_cell *cell = &from->cell[k];
			const struct bound_metric *m = sheet->column[cell->column].metric;

			if (!column[cell->column].known) {
				column[cell->column].metric = find_metric(c->r, &c->metrics, m, !totals);
				column[cell->column].amount = metric_is_amount(sheet->binding, m, c->places->model);
				column[cell->column].known = true;
			}
			memory_room(&l->drawn, l->n_drawn, sizeof(*l->drawn));
			place = find_series(set_at(c->r, set), column[cell->column].metric, row, c->layouts);
			if (place != PM_NONE)
				l->drawn[l->n_drawn++] =
					(struct drawn){ cell, place, (uint8_t)set, column[cell->column].amount };
		}
	}
	free(column);
}

/* Of what is far it is known how many series come. */
static void begin_sets(struct collect *c, const struct sheet *sheet, size_t n)
{
	double width = (double)pm_map_u64(&c->places->model->header, PM_HEADER_INTERVAL, 0) / 1e9;
	struct html_set *far = &c->r->far;
	size_t series = 0;

	width = width > 0 ? width : 1e-3;
	c->r->near = (struct html_set){ .cap = NEAR_BUCKETS, .width_s = width, .memory = NEAR_MEMORY };
	*far = (struct html_set){ .cap = FAR_BUCKETS, .width_s = width, .memory = FAR_MEMORY };
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < sheet[i].n_rows; k++)
			series += is_far(sheet[i].row[k].place.kind) ? sheet[i].row[k].n_cells : 0;
	while (series * far->cap * sizeof(struct spark_bin) > far->memory && far->cap > BUCKETS_LEAST)
		far->cap /= 2;
	if (series * far->cap * sizeof(struct spark_bin) <= far->memory)
		make_room(far, series);
}

/* If the whole recording is read, its length is known beforehand: buckets are long enough from the start. */
static void expect_extent(struct collect *c)
{
	bool whole = c->config->since.kind == MOMENT_NONE && c->config->until.kind == MOMENT_NONE;
	struct pm_extent x;

	if (!whole || pm_reader_extent(c->sink.reader, &x) || x.to_ns <= x.from_ns)
		return;
	reach(&c->r->near, (double)(x.to_ns - x.from_ns) / 1e9 * NEARLY);
	reach(&c->r->far, (double)(x.to_ns - x.from_ns) / 1e9 * NEARLY);
}

static int plan(struct sink *sink, struct sink_plan *plan)
{
	static const struct sheet_config system_only = { .per = PM_SYSTEM, .summary = true, .summary_only = true };
	struct collect *c = (struct collect *)sink;
	bool any = false;

	forget_layout(c);
	c->layouts++;
	c->places = plan->places;
	c->others = memory_new(plan->binding->n_metrics, sizeof(*c->others));
	c->charted = memory_new(plan->binding->n_metrics, sizeof(*c->charted));
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
	bool first = !c->r->near.cap;

	if (c->later)
		return 0;
	if (first)
		begin_sets(c, sheet, n);
	for (size_t i = 0; i < n; i++)
		name_cells(c, &c->layout, &sheet[i], i >= c->n_charted);
	if (first)
		expect_extent(c);
	return 0;
}

/* ---- intervals ---- */

/* Adds a value to what all intervals come to. */
static void take_total(struct html_series *x, double weight_s, double v, bool again)
{
	x->sum += v * weight_s;
	x->weight += weight_s;
	if (again)
		return;
	x->low = !x->present || v < x->low ? v : x->low;
	x->high = !x->present || v > x->high ? v : x->high;
	x->present++;
}

/* Counts an interval without a number, or with one of a part. */
static void take_gap(struct html_series *x, const struct value *v, bool is_number, bool partial, double coverage)
{
	if (is_number && (partial || coverage < 1))
		x->partial++;
	else if (is_number)
		x->doubtful += coverage > 1;
	else if (!status_absent(v->reason) && !x->missing++)
		x->reason = v->reason;
}

/* Takes steps [k, end), which are in one bucket. Totals of what is far come from its buckets in the end: with very
 * many series they would take longest. */
static void take_careful(struct html_series *x, struct spark_bin *b, const struct steps *s, size_t k, size_t end,
			 const struct sheet_cell *cell, bool far)
{
	for (; k < end; k++) {
		uint32_t i = s->interval[k];
		const struct value *v = &cell->value[i];
		bool is_number = !v->reason && v->v - v->v == 0;
		struct spark_bin one;

		if (!s->again[k])
			take_gap(x, v, is_number, s->partial[k], cell->coverage ? cell->coverage[i] : 1);
		if (!is_number)
			continue;
		if (!far)
			take_total(x, s->weight_s[k], v->v, s->again[k]);
		one = (struct spark_bin){ (float)v->v, (float)v->v, (float)v->v * s->weight[k], s->weight[k] };
		spark_join(b, &one);
	}
}

/* The same for numbers that are all known, as nearly all are; false: some are not, and nothing was done. A missing
 * value makes the sum not a number. */
static bool take_plain(struct spark_bin *bin, const struct steps *s, size_t k, size_t end, const struct value *value)
{
	struct spark_bin b = *bin;
	uint32_t reasons = 0;

	if (b.weight == 0)
		b.low = b.high = (float)value[k].v;
	for (; k < end; k++) {
		float v = (float)value[k].v;

		reasons |= value[k].reason;
		b.low = v < b.low ? v : b.low;
		b.high = v > b.high ? v : b.high;
		b.sum += v * s->weight[k];
		b.weight += s->weight[k];
	}
	if (reasons || b.sum - b.sum != 0)
		return false;
	*bin = b;
	return true;
}

static void take_steps(struct html_set *h, const struct steps *s, const struct drawn *d)
{
	struct html_series *x = &h->series[d->place];
	struct spark_bin *bucket = html_buckets(h, x);
	const uint32_t *at = s->bucket[d->set == SET_FAR];
	const struct value *value = d->cell->value + s->interval[0];
	bool plain = d->set == SET_FAR && !d->cell->coverage && !s->uneven;

	for (size_t k = 0, end; k < s->n; k = end) {
		struct spark_bin b = { 0 };

		for (end = k + 1; end < s->n && at[end] == at[k];)
			end++;
		if (at[k] < h->filled)
			b = bucket[at[k]];
		if (!plain || !take_plain(&b, s, k, end, value))
			take_careful(x, &b, s, k, end, d->cell, d->set == SET_FAR);
		if (d->set != SET_TOTALS)
			bucket[at[k]] = b;
	}
}

static void take_all(struct collect *c)
{
	for (size_t i = 0; i < c->layout.n_drawn; i++)
		take_steps(set_at(c->r, c->layout.drawn[i].set), &c->steps, &c->layout.drawn[i]);
	c->steps.n = 0;
	c->steps.uneven = false;
	c->r->near.filled = c->r->near.used;
	c->r->far.filled = c->r->far.used;
}

/* Totals of a series come from its buckets. */
static void total(const struct html_set *s, struct html_series *x)
{
	struct spark_bin all = { 0 }, *bucket = html_buckets(s, x);

	for (uint32_t k = 0; k < s->used; k++) {
		spark_join(&all, &bucket[k]);
		x->sum += (double)bucket[k].sum;
		x->weight += (double)bucket[k].weight;
	}
	x->low = (double)all.low;
	x->high = (double)all.high;
	x->present = all.weight > 0;
}

static void find_origin(struct collect *c, const struct interval *interval)
{
	if (c->origin_ns)
		return;
	c->origin_ns = interval->from_ns;
	if (!c->r->start_wall_ns && interval->wall_ns)
		c->r->start_wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);
}

/* Where a time lies, in seconds from the origin. */
static double place_of(const struct collect *c, uint64_t time_ns)
{
	return c->shift_s + (double)(int64_t)(time_ns - c->origin_ns) / 1e9;
}

static uint32_t bucket_of(struct html_set *s, double at_s)
{
	double at = at_s > 0 ? at_s / s->width_s : 0;
	uint32_t bucket = at < s->cap ? (uint32_t)at : s->cap - 1;

	s->used = bucket < s->used ? s->used : bucket + 1;
	return bucket;
}

/* An interval is in more than one bucket if ticks were lost, or there was no interval. It then applies to all. */
static void add_steps(struct collect *c, const struct interval *interval, uint32_t k)
{
	double from = place_of(c, interval->from_ns), length = place_of(c, interval->to_ns) - from;
	double seconds = interval->duration_ns ? (double)interval->duration_ns / 1e9 : 1e-9;
	struct html_set *near = &c->r->near, *far = &c->r->far;
	struct steps *s = &c->steps;
	uint32_t parts = length > near->width_s * 1.5 ? (uint32_t)lround(length / near->width_s) : 1;

	for (uint32_t i = 0; i < parts; i++) {
		double at = from + length * (i + 0.5) / parts;

		if (s->n == STEPS)
			take_all(c);
		s->interval[s->n] = k;
		s->bucket[SET_NEAR][s->n] = bucket_of(near, at);
		s->bucket[SET_FAR][s->n] = bucket_of(far, at);
		s->weight_s[s->n] = seconds / parts;
		s->weight[s->n] = (float)s->weight_s[s->n];
		s->partial[s->n] = interval->partial;
		s->again[s->n] = i > 0;
		s->uneven |= interval->partial || i > 0;
		s->n++;
	}
}

static int intervals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;

	if (c->later || !n)
		return 0;
	c->run_intervals += n;
	find_origin(c, interval);
	c->last_ns = interval[n - 1].to_ns;
	c->r->duration_s = place_of(c, c->last_ns);
	reach(&c->r->near, c->r->duration_s * NEARLY);
	reach(&c->r->far, c->r->duration_s * NEARLY);
	for (size_t k = 0; k < n; k++)
		add_steps(c, &interval[k], (uint32_t)k);
	take_all(c);
	return 0;
}

/* The mean in tables is the number of the total. Several runs are weighted by their time. */
static int totals(struct sink *sink, const struct sheet *sheet, const struct interval *interval, size_t n)
{
	struct collect *c = (struct collect *)sink;
	struct layout l = { 0 };

	c->layouts++;
	for (size_t s = 0; s < c->n_sheets; s++)
		name_cells(c, &l, &sheet[s], s >= c->n_charted);
	for (size_t i = 0; i < l.n_drawn; i++) {
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
	c->run_intervals = 0;
	return 0;
}

/* ---- events ---- */

/* Times are CLOCK_MONOTONIC until the end, when the origin is known. */
static void add_event(struct collect *c, enum pm_event_type type, uint64_t since_ns, uint64_t time_ns, uint32_t cpu,
		      char *text)
{
	struct html_recording *r = c->r;

	if (r->n_events == HTML_EVENTS) {
		r->more_events++;
		free(text);
		return;
	}
	memory_room(&r->event, r->n_events, sizeof(*r->event));
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
		  (uint32_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, PM_NONE), memory_checked(buf_detach(&text)));
}

/* ---- the end ---- */

/* Damage is a stretch without values, as lost ticks are. */
static void add_damage(struct collect *c)
{
	size_t n;
	const struct pm_damage *d = pm_reader_damage(c->sink.reader, &n);

	for (d += c->damages; c->damages < n; c->damages++, d++) {
		if (!d->from_ns || d->harmless)
			continue;
		add_event(c, PM_EVENT_LOST, d->from_ns, d->to_ns ? d->to_ns : d->from_ns, PM_NONE,
			  memory_format("damaged: %s", d->text));
	}
}

static int end(struct sink *sink)
{
	struct collect *c = (struct collect *)sink;
	struct html_recording *r = c->r;

	add_damage(c);
	/* Of several recordings in one file, the first defines the series. */
	if (!r->host)
		r->host = memory_text(pm_map_text(&c->places->model->header, PM_HEADER_HOST, ""));
	for (; c->placed_events < r->n_events; c->placed_events++) {
		struct html_event *h = &r->event[c->placed_events];

		/* A recording of one snapshot has no interval, and so no origin. */
		h->at_s = c->shift_s + (c->origin_ns ? (h->at_s - (double)c->origin_ns) / 1e9 : 0);
		h->until_s = c->shift_s + (c->origin_ns ? (h->until_s - (double)c->origin_ns) / 1e9 : 0);
	}
	c->shift_s = r->duration_s + r->near.width_s;
	c->origin_ns = 0;
	forget_layout(c);
	return 0;
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

int html_collect(struct html_recording *r, const char *path, const char *name, const struct pipeline_config *config,
		 struct error *e)
{
	struct pipeline_config own = *config;
	struct collect c = { .sink.ops = &ops, .r = r, .config = config, .along = true };
	struct pipeline_part part = { &own, &c.sink, &r->result };
	int err;

	*r = (struct html_recording){ .path = memory_text(name) };
	own.mode = PIPELINE_EACH;
	err = incidents_find(&r->incidents, path, path, config, &part, e);
	if (!err && c.later) {
		forget_collected(&c);
		c = (struct collect){ .sink.ops = &ops, .r = r, .config = config };
		err = read_again(r, &part, path, e);
	}
	if (err && !strstr(e->text, path))
		error_prefix(e, "%s", path);
	for (uint32_t i = 0; i < r->far.n; i++)
		total(&r->far, &r->far.series[i]);
	r->snapshots = r->result.snapshots;
	r->intervals = r->result.intervals;
	forget_collected(&c);
	return err;
}
