#include "report/pipeline/bins.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"
#include "common/memory.h"
#include "report/machine/status.h"
#include "report/metric/bind.h"

#define NEAR_BINS   2048
#define FAR_BINS    1024
#define BINS_LEAST  16
#define NEAR_MEMORY (32u << 20) /* bytes of bins */
#define FAR_MEMORY  (64u << 20)
#define NEARLY      (1 - 1e-9) /* the end of an interval is not in it */

/* A cell and the series that its values continue. */
struct drawn {
	const struct sheet_cell *cell;
	struct bins_set *set;
	uint32_t place; /* of the series */
	bool amount;    /* grows with time: its mean is that of an interval */
};

struct layout {
	struct drawn *drawn; /* owned */
	size_t n;
};

#define STEPS 128

/* Intervals that are taken at once, the same for all series. A long one is several steps, each in another bin. */
struct steps {
	size_t n;
	bool uneven;                       /* some interval is partial or several steps */
	uint32_t interval[STEPS];          /* of those in the sheets */
	uint32_t near[STEPS], far[STEPS];  /* bins */
	double weight_s[STEPS];            /* for how long values were observed */
	float weight[STEPS];               /* the same */
	bool partial[STEPS], again[STEPS]; /* again: not the first step of its interval */
};

struct bins_feed {
	struct bins_view view;
	struct layout layout;
	uint32_t layouts;       /* how many there were */
	struct steps steps;     /* what is taken next */
	uint64_t run_intervals; /* of the run at hand */
	uint64_t origin_ns;     /* CLOCK_MONOTONIC of the start of the recording at hand; 0: no interval yet */
	double shift_s;         /* of its start, after what was read before it */
};

/* ---- sets ---- */

static void release_set(struct bins_set *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free(s->row[i].series);
	free(s->series);
	free(s->bin);
	free(s->row);
	*s = (struct bins_set){ 0 };
}

/* Joins pairs of bins in all series: bins become twice as long. */
static void double_width(struct bins_set *s)
{
	uint32_t half = s->cap / 2;

	for (uint32_t i = 0; i < s->n && s->filled; i++) {
		struct bin *bin = bins_of(s, &s->series[i]);

		for (uint32_t k = 0; k < half; k++) {
			struct bin both = bin[2 * k];

			bin_join(&both, &bin[2 * k + 1]);
			bin[k] = both;
		}
		memset(bin + half, 0, half * sizeof(*bin));
	}
	s->width_s *= 2;
	s->used = (s->used + 1) / 2;
	s->filled = (s->filled + 1) / 2;
}

/* Makes bins so long that they reach this time, in seconds from the start. */
static void reach(struct bins_set *s, double at_s)
{
	while (at_s / s->width_s >= s->cap)
		double_width(s);
}

/* Leaves half of the bins to each series. What lies behind those of all is 0. */
static void halve_bins(struct bins_set *s)
{
	uint32_t half = s->cap / 2;

	if (s->used > half)
		double_width(s);
	for (uint32_t i = 0; i < s->n && s->filled; i++)
		memmove(s->bin + (size_t)i * half, bins_of(s, &s->series[i]), half * sizeof(*s->bin));
	if (s->filled)
		memset(s->bin + (size_t)s->n * half, 0, (size_t)s->n * half * sizeof(*s->bin));
	s->cap = half;
}

const struct bins_series *bins_find(const struct bins_set *s, uint32_t metric, uint32_t row)
{
	uint32_t place = row < s->n_rows && metric < s->row[row].room ? s->row[row].series[metric] : 0;

	return place ? &s->series[place - 1] : NULL;
}

/* Makes room for the bins of `n` series, which are empty. */
static void make_room(struct bins_set *s, size_t n)
{
	size_t room = n * s->cap;

	if (room <= s->room)
		return;
	room += s->room / 2;
	if (s->room) {
		s->bin = memory_resize(s->bin, room, sizeof(*s->bin));
		memset(s->bin + s->room, 0, (room - s->room) * sizeof(*s->bin));
	} else {
		s->bin = memory_new(room, sizeof(*s->bin));
	}
	s->room = room;
}

/* Finds or adds a series; PM_NONE: there are too many, or this layout has it already: metrics of packages are in two
 * sheets, and count once. */
static uint32_t find_series(struct bins_set *s, uint32_t metric, uint32_t row, uint32_t layout)
{
	const struct bins_series *x = bins_find(s, metric, row);
	uint32_t place = x ? (uint32_t)(x - s->series) : s->n;

	while (!x && (uint64_t)(s->n + 1) * s->cap * sizeof(struct bin) > s->memory) {
		if (s->cap / 2 < BINS_LEAST) {
			s->left_out++;
			return PM_NONE;
		}
		halve_bins(s);
	}
	if (!x) {
		memory_hold(&s->row, &s->n_rows, row + 1, sizeof(*s->row));
		memory_hold(&s->row[row].series, &s->row[row].room, metric + 1, sizeof(uint32_t));
		memory_room(&s->series, s->n, sizeof(*s->series));
		make_room(s, s->n + 1);
		s->series[s->n++] = (struct bins_series){ .metric = metric, .row = row };
		s->row[row].series[metric] = s->n;
		s->used = s->used ? s->used : 1;
	}
	if (s->series[place].layout == layout)
		return PM_NONE;
	s->series[place].layout = layout;
	return place;
}

/* ---- metrics and places ---- */

uint32_t bins_metric(struct bins *b, const struct bound_metric *m)
{
	uint32_t place;

	if (names_get(&b->metrics, m->name, &place))
		return place;
	memory_room(&b->metric, b->n_metrics, sizeof(*b->metric));
	b->metric[b->n_metrics] = (struct bins_metric){
		.name = memory_text(m->name),
		.display = memory_text(m->display),
		.unit = memory_text(m->about->unit),
		.help = memory_text(m->about->help ? m->about->help : ""),
		.precision = m->precision,
	};
	memory_done(names_set(&b->metrics, m->name, b->n_metrics));
	return b->n_metrics++;
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

uint32_t bins_row(struct bins *b, const struct places *places, const struct place *p)
{
	SCOPED(buf_release) struct buf label = BUF_INIT, where = BUF_INIT, key = BUF_INIT;
	uint32_t place;

	put_label(places, p, &label);
	buf_printf(&key, "%d:%s", (int)p->kind, buf_str(&label));
	memory_whole(&label);
	memory_whole(&key);
	if (names_get(&b->rows, buf_str(&key), &place))
		return place;
	memory_room(&b->row, b->n_rows, sizeof(*b->row));
	put_where(p, &where);
	memory_whole(&where);
	b->row[b->n_rows] = (struct bins_row){
		.label = memory_text(buf_str(&label)),
		.place = memory_text(buf_str(&where)),
		.kind = p->kind,
		.package = p->kind == PM_SYSTEM ? PM_NONE : p->package,
		.number = p->cpu,
		.first_cpu = p->first_cpu,
		.far = is_far(p->kind),
	};
	memory_done(names_set(&b->rows, buf_str(&key), b->n_rows));
	return b->n_rows++;
}

/* ---- laying out ---- */

static void name_cells(struct bins *b, struct layout *l, const struct sheet *sheet, bool charted)
{
	struct {
		uint32_t metric;
		bool known, amount;
	} *column = memory_new(sheet->n_columns, sizeof(*column));

	for (uint32_t i = 0; i < sheet->n_rows; i++) {
		const struct sheet_row *from = &sheet->row[i];
		uint32_t place, row = bins_row(b, sheet->places, &from->place);
		struct bins_set *set = !charted ? &b->totals : b->row[row].far ? &b->far : &b->near;
		const bool *few = b->feed->view.few;

		for (uint32_t k = 0; k < from->n_cells; k++) {
			const struct sheet_cell *cell = &from->cell[k];
			const struct bound_metric *m = sheet->column[cell->column].metric;
			bool is_few = charted && few && few[m - sheet->binding->metric];

			if (is_few && b->row[row].far)
				continue;
			if (!column[cell->column].known) {
				column[cell->column].metric = bins_metric(b, m);
				b->metric[column[cell->column].metric].charted |= charted && !is_few;
				column[cell->column].amount =
					metric_is_amount(sheet->binding, m, sheet->places->model);
				column[cell->column].known = true;
			}
			memory_room(&l->drawn, l->n, sizeof(*l->drawn));
			place = find_series(set, column[cell->column].metric, row, b->feed->layouts);
			if (place != PM_NONE)
				l->drawn[l->n++] = (struct drawn){ cell, set, place, column[cell->column].amount };
		}
	}
	free(column);
}

static void forget_layout(struct layout *l)
{
	free(l->drawn);
	*l = (struct layout){ 0 };
}

/* Of what is far it is known how many series come. */
static void begin_sets(struct bins *b, const struct sheet *sheet, size_t n)
{
	double width = (double)pm_map_u64(&sheet->places->model->header, PM_HEADER_INTERVAL, 0) / 1e9;
	struct bins_set *far = &b->far;
	size_t series = 0;

	width = width > 0 ? width : 1e-3;
	b->near = (struct bins_set){ .cap = NEAR_BINS, .width_s = width, .memory = NEAR_MEMORY };
	*far = (struct bins_set){ .cap = FAR_BINS, .width_s = width, .memory = FAR_MEMORY };
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < sheet[i].n_rows; k++)
			series += is_far(sheet[i].row[k].place.kind) ? sheet[i].row[k].n_cells : 0;
	while (series * far->cap * sizeof(struct bin) > far->memory && far->cap > BINS_LEAST)
		far->cap /= 2;
	if (series * far->cap * sizeof(struct bin) <= far->memory)
		make_room(far, series);
}

void bins_shape(struct bins *b, struct sink *sink, const struct sheet *sheet, size_t n, const struct bins_view *view)
{
	bool first = !b->near.cap;
	struct pm_extent x;

	b->feed = b->feed ? b->feed : memory_new(1, sizeof(*b->feed));
	b->feed->view = *view;
	b->feed->layouts++;
	forget_layout(&b->feed->layout);
	if (first)
		begin_sets(b, sheet, n);
	for (size_t i = 0; i < n; i++)
		name_cells(b, &b->feed->layout, &sheet[i], i < view->n_charted);
	/* If the length is known beforehand, bins are long enough from the start. */
	if (!first || !view->whole || pm_reader_extent(sink->reader, &x) || x.to_ns <= x.from_ns)
		return;
	reach(&b->near, (double)(x.to_ns - x.from_ns) / 1e9 * NEARLY);
	reach(&b->far, (double)(x.to_ns - x.from_ns) / 1e9 * NEARLY);
}

/* ---- intervals ---- */

/* Adds a value to what all intervals come to. */
static void take_total(struct bins_series *x, double weight_s, double v, bool again)
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
static void take_gap(struct bins_series *x, const struct value *v, bool is_number, bool partial, double coverage)
{
	if (is_number && (partial || coverage < 1))
		x->partial++;
	else if (is_number)
		x->doubtful += coverage > 1;
	else if (!status_absent(v->reason) && !x->missing++)
		x->reason = v->reason;
}

/* Takes steps [k, end), which are in one bin. Totals of what is far come from its bins in the end: with very many
 * series they would take longest. */
static void take_careful(struct bins_series *x, struct bin *b, const struct steps *s, size_t k, size_t end,
			 const struct sheet_cell *cell, bool far)
{
	for (; k < end; k++) {
		uint32_t i = s->interval[k];
		const struct value *v = &cell->value[i];
		bool is_number = !v->reason && v->v - v->v == 0;
		struct bin one;

		if (!s->again[k])
			take_gap(x, v, is_number, s->partial[k], cell->coverage ? cell->coverage[i] : 1);
		if (!is_number)
			continue;
		if (!far)
			take_total(x, s->weight_s[k], v->v, s->again[k]);
		one = (struct bin){ (float)v->v, (float)v->v, (float)v->v * s->weight[k], s->weight[k] };
		bin_join(b, &one);
	}
}

/* The same for numbers that are all known, as nearly all are; false: some are not, and nothing was done. A missing
 * value makes the sum not a number. */
static bool take_plain(struct bin *bin, const struct steps *s, size_t k, size_t end, const struct value *value)
{
	struct bin b = *bin;
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

static void take_steps(const struct bins *b, const struct drawn *d)
{
	const struct steps *s = &b->feed->steps;
	struct bins_series *x = &d->set->series[d->place];
	bool far = d->set == &b->far, plain = far && !d->cell->coverage && !s->uneven;
	const uint32_t *at = far ? s->far : s->near;
	const struct value *value = d->cell->value + s->interval[0];
	struct bin *bin = d->set->bin ? bins_of(d->set, x) : NULL;

	for (size_t k = 0, end; k < s->n; k = end) {
		struct bin one = { 0 };

		for (end = k + 1; end < s->n && at[end] == at[k];)
			end++;
		if (at[k] < d->set->filled)
			one = bin[at[k]];
		if (!plain || !take_plain(&one, s, k, end, value))
			take_careful(x, &one, s, k, end, d->cell, far);
		if (bin)
			bin[at[k]] = one;
	}
}

static void take_all(struct bins *b)
{
	for (size_t i = 0; i < b->feed->layout.n; i++)
		take_steps(b, &b->feed->layout.drawn[i]);
	b->feed->steps.n = 0;
	b->feed->steps.uneven = false;
	b->near.filled = b->near.used;
	b->far.filled = b->far.used;
}

double bins_at(const struct bins *b, uint64_t time_ns)
{
	const struct bins_feed *f = b->feed;

	return f ? f->shift_s + (f->origin_ns ? (double)(int64_t)(time_ns - f->origin_ns) / 1e9 : 0) : 0;
}

static void find_origin(struct bins *b, const struct interval *interval)
{
	struct bins_feed *f = b->feed;
	int64_t wall_ns = interval->wall_ns - (int64_t)(interval->to_ns - interval->from_ns);

	if (f->origin_ns)
		return;
	f->origin_ns = interval->from_ns;
	if (!interval->wall_ns)
		return;
	b->start_wall_ns = b->start_wall_ns ? b->start_wall_ns : wall_ns;
	if (b->apart)
		f->shift_s = fmax(f->shift_s, (double)(wall_ns - b->start_wall_ns) / 1e9);
}

static uint32_t bin_at(struct bins_set *s, double at_s)
{
	double at = at_s > 0 ? at_s / s->width_s : 0;
	uint32_t bin = at < s->cap ? (uint32_t)at : s->cap - 1;

	s->used = bin < s->used ? s->used : bin + 1;
	return bin;
}

/* An interval is in more than one bin if ticks were lost, or there was no interval. It then applies to all. */
static void add_steps(struct bins *b, const struct interval *interval, uint32_t k)
{
	double from = bins_at(b, interval->from_ns), length = bins_at(b, interval->to_ns) - from;
	double seconds = interval->duration_ns ? (double)interval->duration_ns / 1e9 : 1e-9, width = b->near.width_s;
	struct steps *s = &b->feed->steps;
	uint32_t parts = length > width * 1.5 ? (uint32_t)lround(length / width) : 1;

	for (uint32_t i = 0; i < parts; i++) {
		double at = from + length * (i + 0.5) / parts;

		if (s->n == STEPS)
			take_all(b);
		s->interval[s->n] = k;
		s->near[s->n] = bin_at(&b->near, at);
		s->far[s->n] = bin_at(&b->far, at);
		s->weight_s[s->n] = seconds / parts;
		s->weight[s->n] = (float)s->weight_s[s->n];
		s->partial[s->n] = interval->partial;
		s->again[s->n] = i > 0;
		s->uneven |= interval->partial || i > 0;
		s->n++;
	}
}

void bins_intervals(struct bins *b, const struct interval *interval, size_t n)
{
	if (!n)
		return;
	b->feed->run_intervals += n;
	find_origin(b, interval);
	b->duration_s = bins_at(b, interval[n - 1].to_ns);
	reach(&b->near, b->duration_s * NEARLY);
	reach(&b->far, b->duration_s * NEARLY);
	for (size_t k = 0; k < n; k++)
		add_steps(b, &interval[k], (uint32_t)k);
	take_all(b);
}

/* The mean in tables is the number of the total. Several runs are weighted by their time. */
void bins_totals(struct bins *b, const struct sheet *sheet, size_t n_sheets, const struct interval *interval,
		 size_t n)
{
	struct layout l = { 0 };

	b->feed->layouts++;
	for (size_t s = 0; s < n_sheets; s++)
		name_cells(b, &l, &sheet[s], s < b->feed->view.n_charted);
	for (size_t i = 0; i < l.n; i++) {
		struct bins_series *x = &l.drawn[i].set->series[l.drawn[i].place];

		for (size_t k = 0; k < n; k++) {
			const struct value *v = &l.drawn[i].cell->value[k];
			double seconds = (double)interval[k].duration_ns / 1e9;

			x->totalled = true;
			if (v->reason || !isfinite(v->v))
				continue;
			x->whole += v->v * (l.drawn[i].amount ? 1 : seconds);
			x->whole_weight += l.drawn[i].amount ? (double)b->feed->run_intervals : seconds;
		}
	}
	forget_layout(&l);
	b->feed->run_intervals = 0;
}

/* ---- the end ---- */

void bins_end(struct bins *b)
{
	if (!b->feed)
		return;
	b->feed->shift_s = b->duration_s + b->near.width_s;
	b->feed->origin_ns = 0;
	forget_layout(&b->feed->layout);
}

void bins_close(struct bins *b)
{
	if (!b->feed)
		return;
	/* Totals of what is far come from its bins. */
	for (struct bins_series *x = b->far.series; x && x < b->far.series + b->far.n; x++) {
		struct bin all = { 0 }, *bin = bins_of(&b->far, x);

		for (uint32_t k = 0; k < b->far.used; k++) {
			bin_join(&all, &bin[k]);
			x->sum += (double)bin[k].sum;
			x->weight += (double)bin[k].weight;
		}
		x->low = (double)all.low;
		x->high = (double)all.high;
		x->present = all.weight > 0;
	}
	forget_layout(&b->feed->layout);
	free(b->feed);
	b->feed = NULL;
}

/* Makes the metrics that are charted the first ones. */
static void sort_metrics(struct bins *b)
{
	struct bins_metric *metric = memory_new(b->n_metrics, sizeof(*metric));
	uint32_t *place = memory_new(b->n_metrics, sizeof(*place)), n = 0;
	struct bins_set *const sets[] = { &b->near, &b->far, &b->totals };

	for (int charted = 1; charted >= 0; charted--)
		for (uint32_t i = 0; i < b->n_metrics; i++)
			if (b->metric[i].charted == charted) {
				metric[n] = b->metric[i];
				place[i] = n++;
			}
	free(b->metric);
	b->metric = metric;
	for (size_t k = 0; k < 3; k++)
		for (uint32_t i = 0; i < sets[k]->n; i++)
			sets[k]->series[i].metric = place[sets[k]->series[i].metric];
	free(place);
}

void bins_sort(struct bins *b)
{
	struct bins_set *s = &b->near;
	uint32_t n = 0;

	sort_metrics(b);
	for (uint32_t i = 0; i < s->n_rows; i++)
		if (s->row[i].series)
			memset(s->row[i].series, 0, s->row[i].room * sizeof(uint32_t));
	for (uint32_t i = 0; i < s->n; i++) {
		struct bins_series x = s->series[i];

		if (!b->metric[x.metric].charted) {
			if (b->row[x.row].kind != PM_SYSTEM)
				continue;
			memory_room(&b->totals.series, b->totals.n, sizeof(x));
			b->totals.series[b->totals.n++] = x;
			continue;
		}
		memmove(s->bin + (size_t)n * s->cap, s->bin + (size_t)i * s->cap, s->cap * sizeof(*s->bin));
		memory_hold(&s->row[x.row].series, &s->row[x.row].room, x.metric + 1, sizeof(uint32_t));
		s->series[n++] = x;
		s->row[x.row].series[x.metric] = n;
	}
	s->n = n;
}

void bins_release(struct bins *b)
{
	bins_close(b);
	for (uint32_t i = 0; i < b->n_metrics; i++) {
		free(b->metric[i].name);
		free(b->metric[i].display);
		free(b->metric[i].unit);
		free(b->metric[i].help);
	}
	for (uint32_t i = 0; i < b->n_rows; i++) {
		free(b->row[i].label);
		free(b->row[i].place);
	}
	free(b->metric);
	free(b->row);
	names_release(&b->metrics);
	names_release(&b->rows);
	release_set(&b->near);
	release_set(&b->far);
	release_set(&b->totals);
	*b = (struct bins){ 0 };
}
