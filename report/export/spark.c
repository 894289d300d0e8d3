#include "report/export/spark.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/table.h"
#include "report/metric/amount.h"

#define WIDTH_FIRST_NS 1000
#define SPAN_LEAST     0.1 /* of the size of values, from bottom to top */

/* ---- bins ---- */

static void fold(struct plot_data *d)
{
	uint32_t half = d->bins / 2;

	for (size_t i = 0; i < d->n; i++)
		spark_halve(d->line[i].bin, half);
	d->width_ns *= 2;
}

static uint64_t bins_for(const struct plot_data *d, uint64_t ns)
{
	return ns / d->width_ns + (ns % d->width_ns != 0);
}

void plot_data_reach(struct plot_data *d, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t earlier, shift;

	if (!d->to_ns)
		d->from_ns = d->to_ns = from_ns;
	if (to_ns > d->to_ns)
		d->to_ns = to_ns;
	earlier = from_ns < d->from_ns ? d->from_ns - from_ns : 0;
	while (bins_for(d, earlier) + bins_for(d, d->to_ns - d->from_ns) > d->bins)
		fold(d);
	shift = bins_for(d, earlier);
	if (!shift || shift * d->width_ns > d->from_ns)
		return;
	d->from_ns -= shift * d->width_ns;
	for (size_t i = 0; i < d->n; i++) {
		struct spark_bin *b = d->line[i].bin;

		memmove(b + shift, b, (d->bins - shift) * sizeof(*b));
		memset(b, 0, shift * sizeof(*b));
	}
}

void plot_data_take(struct plot_data *d, struct plot_line *l, uint64_t from_ns, uint64_t to_ns, double v)
{
	uint64_t first, last;

	if (!isfinite(v) || from_ns < d->from_ns || to_ns > d->to_ns)
		return;
	l->low = fmin(l->low, v);
	l->high = fmax(l->high, v);
	first = (from_ns - d->from_ns) / d->width_ns;
	last = bins_for(d, to_ns - d->from_ns);
	if (first >= d->bins)
		first = d->bins - 1;
	if (last <= first)
		last = first + 1;
	for (uint64_t i = first; i < last; i++) {
		uint64_t begin = d->from_ns + i * d->width_ns, end = begin + d->width_ns;
		float seconds;

		begin = begin > from_ns ? begin : from_ns;
		end = end < to_ns ? end : to_ns;
		/* An instant without duration counts, too. */
		seconds = end > begin ? (float)(end - begin) / 1e9f : 1e-9f;
		spark_join(&l->bin[i], &(struct spark_bin){ (float)v, (float)v, (float)v * seconds, seconds });
	}
}

bool plot_data_column(const struct plot_data *d, const struct plot_line *l, uint32_t at, uint32_t columns,
		      struct spark_bin *out)
{
	double span = (double)(d->to_ns - d->from_ns) / (double)d->width_ns;
	double first = span * at / columns, end = span * (at + 1) / columns;
	uint32_t from = (uint32_t)first, to = (uint32_t)ceil(end - 1e-9);

	*out = (struct spark_bin){ 0 };
	if (to > d->bins)
		to = d->bins;
	if (to <= from)
		to = from + 1;
	/* A bin across two columns belongs to the one with its middle, unless columns are shorter than bins. */
	if (span > columns) {
		from = (uint32_t)(first + 0.5);
		to = (uint32_t)(end + 0.5);
	}
	for (uint32_t i = from; i < to && i < d->bins; i++)
		spark_join(out, &l->bin[i]);
	return out->weight > 0;
}

/* ---- the sink ---- */

/* What a place is called: "CPU 3", "package 0 core 1", a device's name; nothing for the system. */
static void put_place(struct buf *out, const struct places *p, const struct place *place)
{
	bool within = place->kind == PM_DIE || place->kind == PM_CORE; /* numbered in a package */
	uint32_t number = place_number(place);
	SCOPED(buf_release) struct buf name = BUF_INIT;

	if (number == PM_NONE) {
		places_put_name(p, place, &name);
		text_escape(out, buf_str(&name), name.len);
		return;
	}
	if (within && place->package != PM_NONE)
		buf_printf(out, "package %u ", place->package);
	buf_printf(out, "%s %u", place->kind == PM_CPU ? "CPU" : pm_kind_name(place->kind), number);
}

static char *escaped(const char *text)
{
	struct buf out = BUF_INIT;

	text_escape(&out, text, strlen(text));
	return memory_checked(buf_detach(&out));
}

uint32_t plot_data_line(struct plot_data *d, const char *metric, const char *unit, const char *place)
{
	SCOPED(scoped_free) char *key = memory_format("%s\n%s", metric, place);
	uint32_t at = PM_NONE;

	if (names_get(&d->lines, key, &at))
		return at;
	d->left_out |= d->n == PLOT_LINES_MAX;
	if (d->n == PLOT_LINES_MAX)
		return PM_NONE;
	memory_room(&d->line, d->n, sizeof(*d->line));
	at = (uint32_t)d->n++;
	d->line[at] = (struct plot_line){ .metric = escaped(metric),
					  .unit = escaped(unit),
					  .place = memory_text(place),
					  .bin = memory_new(d->bins, sizeof(struct spark_bin)),
					  .low = INFINITY,
					  .high = -INFINITY };
	memory_done(names_set(&d->lines, key, at));
	return at;
}

static int plot_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct plot_data *d = (struct plot_data *)sink;
	size_t cells = 0;
	uint32_t *at;

	for (uint32_t r = 0; r < s->n_rows; r++)
		cells += s->row[r].n_cells;
	free(d->map);
	at = d->map = memory_new(cells, sizeof(*d->map));
	for (uint32_t r = 0; r < s->n_rows; r++) {
		SCOPED(buf_release) struct buf place = BUF_INIT;

		put_place(&place, s->places, &s->row[r].place);
		memory_whole(&place);
		for (uint32_t c = 0; c < s->row[r].n_cells; c++, at++) {
			const struct bound_metric *m = s->column[s->row[r].cell[c].column].metric;

			*at = plot_data_line(d, m->display, m->about->unit, buf_str(&place));
			if (*at != PM_NONE)
				d->line[*at].amount = metric_is_amount(s->binding, m, s->places->model);
		}
	}
	return 0;
}

/* Takes the values of an interval, or of a total. Means are those of the total, except for amounts: means of the
 * lines' points would give every time the same weight. */
static void take(struct plot_data *d, const struct sheet *s, const struct interval *i, size_t k, bool total)
{
	double weight = total ? (double)i->duration_ns / 1e9 : 1;
	size_t at = 0;

	for (uint32_t r = 0; r < s->n_rows; r++)
		for (uint32_t c = 0; c < s->row[r].n_cells; c++, at++) {
			const struct value *v = &s->row[r].cell[c].value[k];
			struct plot_line *l = d->map[at] == PM_NONE ? NULL : &d->line[d->map[at]];

			if (!l || v->reason || !isfinite(v->v))
				continue;
			if (!total)
				plot_data_take(d, l, i->from_ns + d->wall, i->to_ns + d->wall, v->v);
			l->sum += l->amount != total ? v->v * weight : 0;
			l->weight += l->amount != total ? weight : 0;
		}
}

static int plot_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct plot_data *d = (struct plot_data *)sink;

	for (size_t k = 0; k < n; k++) {
		/* Recordings may be of several boots. */
		if (!d->begun && interval[k].wall_ns)
			d->wall = (uint64_t)interval[k].wall_ns - interval[k].to_ns;
		d->begun = true;
		plot_data_reach(d, interval[k].from_ns + d->wall, interval[k].to_ns + d->wall);
		take(d, s, &interval[k], k, false);
	}
	return 0;
}

static int plot_totals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	plot_shape(sink, s, 1);
	for (size_t k = 0; k < n; k++)
		take((struct plot_data *)sink, s, &interval[k], k, true);
	return 0;
}

static int plot_end(struct sink *sink)
{
	((struct plot_data *)sink)->begun = false;
	return 0;
}

static const struct sink_ops plot_ops = {
	.shape = plot_shape,
	.intervals = plot_intervals,
	.totals = plot_totals,
	.end = plot_end,
	.forgets = true,
};

void plot_data_init(struct plot_data *d, uint32_t bins)
{
	*d = (struct plot_data){ .sink.ops = &plot_ops, .bins = bins, .width_ns = WIDTH_FIRST_NS };
}

void plot_data_release(struct plot_data *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->line[i].metric);
		free(d->line[i].unit);
		free(d->line[i].place);
		free(d->line[i].bin);
	}
	free(d->line);
	free(d->map);
	names_release(&d->lines);
	*d = (struct plot_data){ 0 };
}

/* ---- a line of marks ---- */

const char *spark_mark(unsigned level, bool utf8)
{
	static const char *const block[SPARK_LEVELS] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[SPARK_LEVELS] = { "_", ".", "-", ":", "=", "+", "*", "#" };

	return (utf8 ? block : ascii)[level];
}

double spark_share(double v, double low, double high)
{
	double span = fmax(high - low, SPAN_LEAST * fmax(fabs(low), fabs(high)));
	double share = span > 0 ? 0.5 + (v - (low + high) / 2) / span : 0;

	/* Infinite numbers have no share. */
	return share > 0 ? fmin(share, 1) : 0;
}

unsigned spark_level(double v, double low, double high)
{
	double share = spark_share(v, low, high);

	return share >= 1 ? SPARK_LEVELS - 1 : (unsigned)(share * SPARK_LEVELS);
}

void spark_put(struct buf *out, const struct plot_data *d, const char *metric, const struct places *places,
	       const struct place *place, uint32_t cells, bool utf8)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	double low = INFINITY, high = -INFINITY;
	struct spark_bin b;
	uint32_t line = PM_NONE;

	buf_printf(&key, "%s\n", metric);
	put_place(&key, places, place);
	names_get(&d->lines, buf_str(&key), &line);
	for (uint32_t i = 0; line != PM_NONE && i < cells; i++)
		if (plot_data_column(d, &d->line[line], i, cells, &b)) {
			low = fmin(low, (double)b.sum / (double)b.weight);
			high = fmax(high, (double)b.sum / (double)b.weight);
		}
	for (uint32_t i = 0; i < cells; i++)
		if (line != PM_NONE && plot_data_column(d, &d->line[line], i, cells, &b))
			buf_addstr(out, spark_mark(spark_level((double)b.sum / (double)b.weight, low, high), utf8));
		else
			buf_addch(out, ' ');
}
