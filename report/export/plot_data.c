#include "report/export/plot_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/table.h"
#include "report/export/exporter.h"
#include "report/metric/amount.h"

void plot_data_release(struct plot_data *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->line[i].metric);
		free(d->line[i].unit);
		free(d->line[i].place);
	}
	free(d->line);
	free(d->map);
	names_release(&d->lines);
	spark_release(&d->set);
	*d = (struct plot_data){ 0 };
}

void plot_place_name(const struct places *p, const struct place *place, struct buf *out)
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

/* No name contains a zero byte. */
static void put_key(struct buf *out, const char *metric, const char *place)
{
	buf_clear(out);
	buf_printf(out, "%s\n%s", metric, place);
}

const struct plot_line *plot_data_find(const struct plot_data *d, const char *metric, const char *place)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t line;
	bool found;

	put_key(&key, metric, place);
	found = !key.err && names_get(&d->lines, buf_str(&key), &line);
	return found ? &d->line[line] : NULL;
}

static char *escaped(const char *text)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;

	text_escape(&out, text, strlen(text));
	return out.err ? NULL : strdup(buf_str(&out));
}

static int new_line(struct plot_data *d, const struct sheet *s, const struct bound_metric *m, const struct place *at,
		    const char *place, const char *key)
{
	struct plot_line *line;
	int64_t series;

	if (array_room(&d->line, d->n, sizeof(*d->line)))
		return -ENOMEM;
	series = spark_add(&d->set);
	if (series < 0)
		return -ENOMEM;
	line = &d->line[d->n];
	*line = (struct plot_line){ .metric = escaped(m->display),
				    .unit = escaped(m->about->unit),
				    .place = strdup(place),
				    .at = *at,
				    .amount = metric_is_amount(s->binding, m, s->places->model),
				    .low = INFINITY,
				    .high = -INFINITY };
	d->n++;
	return line->metric && line->unit && line->place ? names_set(&d->lines, key, (uint32_t)d->n - 1) : -ENOMEM;
}

/* Assigns each cell to the line that it feeds; new lines are added. */
static int map_cells(struct plot_data *d, const struct sheet *s)
{
	SCOPED(buf_release) struct buf key = BUF_INIT, place = BUF_INIT;
	size_t cells = 0, at = 0;
	int err = 0;

	for (uint32_t r = 0; r < s->n_rows; r++)
		cells += s->row[r].n_cells;
	free(d->map);
	d->map = calloc(cells + 1, sizeof(*d->map));
	if (!d->map)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->n_rows && !err; r++) {
		buf_clear(&place);
		plot_place_name(s->places, &s->row[r].place, &place);
		for (uint32_t i = 0; i < s->row[r].n_cells && !err; i++, at++) {
			const struct bound_metric *m = s->column[s->row[r].cell[i].column].metric;

			d->map[at] = PM_NONE;
			put_key(&key, m->display, buf_str(&place));
			err = place.err || key.err ? -ENOMEM : 0;
			if (!err && !names_get(&d->lines, buf_str(&key), &d->map[at])) {
				if (d->n == PLOT_LINES_MAX) {
					d->left_out = true;
					continue;
				}
				err = new_line(d, s, m, &s->row[r].place, buf_str(&place), buf_str(&key));
				d->map[at] = (uint32_t)d->n - 1;
			}
		}
	}
	return err;
}

static int plot_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	return map_cells((struct plot_data *)sink, s);
}

static void take(struct plot_data *d, uint32_t line, uint64_t from_ns, uint64_t to_ns, double v)
{
	struct plot_line *l = &d->line[line];

	if (!isfinite(v))
		return;
	spark_take(&d->set, line, from_ns, to_ns, v);
	l->low = fmin(l->low, v);
	l->high = fmax(l->high, v);
	l->sum += l->amount ? v : 0;
	l->weight += l->amount;
}

static int plot_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct plot_data *d = (struct plot_data *)sink;

	for (size_t k = 0; k < n; k++) {
		uint64_t from_ns, to_ns;
		bool partial = false;
		size_t at = 0;

		/* Recordings may be of several boots. */
		if (!d->begun && interval[k].wall_ns)
			d->wall = (uint64_t)interval[k].wall_ns - interval[k].to_ns;
		d->begun = true;
		from_ns = interval[k].from_ns + d->wall;
		to_ns = interval[k].to_ns + d->wall;
		spark_reach(&d->set, from_ns, to_ns);
		for (uint32_t r = 0; r < s->n_rows; r++)
			for (uint32_t c = 0; c < s->row[r].n_cells; c++, at++) {
				const struct sheet_cell *cell = &s->row[r].cell[c];

				partial |= sheet_coverage(cell, k) < 1;
				if (d->map[at] != PM_NONE && !cell->value[k].reason)
					take(d, d->map[at], from_ns, to_ns, cell->value[k].v);
			}
		d->partial += partial;
	}
	return 0;
}

/* Means are those of the total: means of the lines' points would give every time the same weight. */
static int plot_totals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct plot_data *d = (struct plot_data *)sink;
	int err = map_cells(d, s);

	for (size_t k = 0; k < n && !err; k++) {
		double seconds = (double)interval[k].duration_ns / 1e9;
		size_t at = 0;

		for (uint32_t r = 0; r < s->n_rows; r++)
			for (uint32_t c = 0; c < s->row[r].n_cells; c++, at++) {
				const struct value *v = &s->row[r].cell[c].value[k];
				struct plot_line *l = d->map[at] == PM_NONE ? NULL : &d->line[d->map[at]];

				if (!l || l->amount || v->reason || !isfinite(v->v))
					continue;
				l->sum += v->v * seconds;
				l->weight += seconds;
			}
	}
	return err;
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
	*d = (struct plot_data){ .sink.ops = &plot_ops };
	spark_init(&d->set, bins);
}
