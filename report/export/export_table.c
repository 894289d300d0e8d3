/* Tables for people, in turbostat's layout: a row for the whole system, then one for each place; numbers of a core or
 * package are in the row of its first CPU. Widths are chosen once, from the heads and the first values. */
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/export/export_table.h"
#include "report/export/spark.h"
#include "report/machine/status.h"

#define CELL_MAX    64
#define SPARK_CELLS 8

static size_t time_of_day(const struct exporter *x, const struct interval *i, char *out)
{
	char full[64];
	bool stamp;
	size_t len = export_time_text(x, i, EXPORT_TIME_RFC3339, full, &stamp);

	if (!stamp) {
		/* Relative: microseconds are enough for the eye. */
		len = x->config.time == EXPORT_TIME_EPOCH_NS ? len : len - 6;
		memcpy(out, full, len);
		return len;
	}
	if (x->config.time) {
		memcpy(out, full, len);
		return len;
	}
	/* "2026-11-21T09:25:07.123456789Z": hours to seconds, and milliseconds if intervals are that short. */
	len = i->duration_ns % 1000000000 && i->duration_ns < 10000000000 ? 12 : 8;
	memcpy(out, full + 11, len);
	return len;
}

/* A partial or doubtful value has a mark before it, which would confuse scripts that read turbostat's text. */
static size_t cell_text(const struct exporter *x, const struct table_data *t, const struct sheet_cell *cell, size_t k,
			unsigned times, char *out)
{
	const struct bound_metric *m;
	const struct value *v;
	bool mark;

	if (!cell)
		return 0;
	v = &cell->value[k];
	if (v->reason) {
		out[0] = '-';
		return 1;
	}
	mark = !table_has_tabs(x) && (sheet_coverage(cell, k) < 1 || sheet_quality(cell, k) == STATUS_DOUBTFUL);
	if (mark)
		*out++ = sheet_coverage(cell, k) < 1 ? '~' : '?';
	m = t->sheet->column[cell->column].metric;
	if (m->digits)
		return mark + (size_t)snprintf(out, CELL_MAX - 1, "0x%0*llx", m->digits,
					       (unsigned long long)((uint64_t)v->v + (uint64_t)(int64_t)v->rest));
	if (table_has_tabs(x) && !strcmp(m->name, "usec"))
		return (size_t)snprintf(out, CELL_MAX - 1, "%5.0f", v->v);
	return mark + number_fixed(out, times > 1 ? v->v * times : v->v, m->precision);
}

static size_t topology_text(const struct table_data *t, uint32_t r, enum topology_column c, char *out)
{
	const struct place *p = &t->sheet->row[t->row[r]].place;
	const uint32_t number[] = {
		p->package, p->die,  p->cache, p->node,
		p->cluster, p->core, p->cpu,   p->kind == PM_CLUSTER ? p->cluster : p->cache,
	};
	bool numbered = c < BY_NAME || p->kind == PM_CLUSTER || p->kind == PM_CACHE;
	size_t len = t->name[r].len;

	if (p->kind == PM_SYSTEM || (numbered && number[c] == PM_NONE)) {
		out[0] = '-';
		return 1;
	}
	if (numbered)
		return number_u64(out, number[c]);
	len = len < CELL_MAX ? len : CELL_MAX;
	if (len)
		memcpy(out, t->text.data + t->name[r].at, len);
	return len;
}

static const char *topology_head(const struct table_data *t, int c)
{
	static const char *const heads[] = { "Package", "Die", "L3", "Node", "Module", "Core", "CPU", "Name" };

	if (c == BY_NAME && (t->sheet->per == PM_CLUSTER || t->sheet->per == PM_CACHE))
		return t->sheet->per == PM_CLUSTER ? "Cluster" : "Cache";
	return heads[c];
}

static void widen(unsigned *width, size_t len)
{
	if (len > *width)
		*width = (unsigned)len;
}

static void choose_widths(struct exporter *x, struct table_data *t, const struct interval *interval, size_t n)
{
	const struct sheet *s = t->sheet;
	char text[CELL_MAX];

	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		t->width[WIDTH_TOPOLOGY + i] = (unsigned)strlen(topology_head(t, i));
	t->utc = !x->config.time && n && interval->wall_ns > 0;
	t->width[WIDTH_TIME] = 4;
	t->width[WIDTH_RUN] = 3;
	for (uint32_t c = 0; c < t->n_columns; c++)
		widen(&t->width[WIDTH_METRICS + c], t->head[c].len);
	for (size_t k = 0; k < n; k++) {
		widen(&t->width[WIDTH_TIME], time_of_day(x, &interval[k], text));
		for (uint32_t r = 0; r < t->n_rows; r++)
			for (uint32_t c = 0; c < t->n_columns; c++)
				widen(&t->width[WIDTH_METRICS + c],
				      cell_text(x, t, t->cell[(size_t)r * s->n_columns + t->column[c]], k, 1, text));
	}
	for (uint32_t r = 0; r < t->n_rows; r++)
		for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
			widen(&t->width[WIDTH_TOPOLOGY + i], topology_text(t, r, (enum topology_column)i, text));
	t->sized = true;
}

/* Right-aligned, two blanks before all but the first; or with a TAB in between. */
static void put(struct exporter *x, bool *first, const char *text, size_t len, unsigned width)
{
	bool tabs = table_has_tabs(x);
	size_t blanks = tabs ? !*first : (*first ? 0u : 2u) + (width > len ? width - len : 0);
	char *to = output_room(&x->out.text, blanks + len);

	if (!to)
		return;
	memset(to, x->config.list ? ',' : tabs ? '\t' : ' ', blanks);
	memcpy(to + blanks, text, len);
	x->out.text.len += blanks + len;
	*first = false;
}

static void put_judged(struct exporter *x, bool *first, const char *text, size_t len, unsigned width,
		       enum sheet_verdict verdict)
{
	if (verdict != SHEET_GOOD && verdict != SHEET_BAD) {
		put(x, first, text, len, width);
		return;
	}
	put(x, first, "", 0, width > len ? width - (unsigned)len : 0);
	buf_addstr(&x->out.text, verdict == SHEET_BAD ? "\033[31m" : "\033[32m");
	buf_add(&x->out.text, text, len);
	buf_addstr(&x->out.text, "\033[m");
}

/* The row of the sheet that contains the cell: usually the table's, but not for values that are shown in the row of a
 * first CPU. */
static const struct sheet_row *row_of(const struct sheet *s, const struct sheet_row *likely,
				      const struct sheet_cell *cell)
{
	const struct sheet_row *row = likely;

	for (uint32_t r = 0; row; row = r < s->n_rows ? &s->row[r++] : NULL)
		if (cell >= row->cell && cell < row->cell + row->n_cells)
			return row;
	return NULL;
}

/* The course of the value, in steps from the lowest mark to the highest. */
static void put_spark(struct exporter *x, const struct sheet *s, const struct sheet_row *likely,
		      const struct sheet_cell *cell)
{
	const struct sheet_row *row = cell ? row_of(s, likely, cell) : NULL;

	buf_addch(&x->out.text, ' ');
	if (row)
		spark_put(&x->out.text, x->spark, s->column[cell->column].metric->display, s->places, &row->place,
			  SPARK_CELLS, x->utf8);
	else
		buf_printf(&x->out.text, "%*s", SPARK_CELLS, "");
}

/* If a table is wider than the terminal, columns are continued below; returns where the part that begins with `from`
 * ends. */
static uint32_t part_end(const struct exporter *x, const struct table_data *t, uint32_t from)
{
	unsigned used = table_is_one(x) ? 0 : t->width[WIDTH_TIME] + 2;
	uint32_t to = from;

	if (!x->config.width || x->config.no_heads || table_has_tabs(x))
		return t->n_columns;
	used += x->sink.runs ? t->width[WIDTH_RUN] + 2 : 0;
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		used += t->topology[i] ? t->width[WIDTH_TOPOLOGY + i] + 2 : 0;
	for (; to < t->n_columns; to++) {
		used += t->width[WIDTH_METRICS + to] + (x->spark ? 1 + SPARK_CELLS : 0);
		if (used > x->config.width && to > from)
			break;
		used += 2;
	}
	return to;
}

static bool has_cell(const struct table_data *t, uint32_t row, uint32_t from, uint32_t to)
{
	for (uint32_t c = from; c < to; c++)
		if (t->cell[(size_t)row * t->sheet->n_columns + t->column[c]])
			return true;
	return false;
}

enum { LACKS = 1, SLOW = 2, ESTIMATED = 4 };

static void put_legend(struct exporter *x)
{
	static const char *const meaning[] = {
		"~ lacks a part", "? was read slowly or counted late, and may be off by a percent or more",
		"~ in a head: estimated"
	};
	const char *between = "";

	for (unsigned i = 0; i < sizeof(meaning) / sizeof(meaning[0]); i++)
		if (x->marks & 1u << i) {
			buf_printf(&x->out.text, "%s%s", between, meaning[i]);
			between = "; ";
		}
	if (x->marks)
		buf_addch(&x->out.text, '\n');
	x->marks = 0;
}

static void put_head(struct exporter *x, struct table_data *t, bool *first, uint32_t c)
{
	if (t->text.data[t->head[c].at] == '~' && !table_has_tabs(x) && !x->config.list)
		x->marks |= ESTIMATED;
	put(x, first, (const char *)t->text.data + t->head[c].at, t->head[c].len, t->width[WIDTH_METRICS + c]);
}

static void put_heads(struct exporter *x, struct table_data *t, uint32_t from, uint32_t to)
{
	bool first = true;

	if (!table_is_one(x) && !table_has_tabs(x))
		put(x, &first, t->utc ? "UTC" : "Time", t->utc ? 3 : 4, t->width[WIDTH_TIME]);
	if (x->sink.runs)
		put(x, &first, "Run", 3, t->width[WIDTH_RUN]);
	for (uint32_t c = 0; c < t->n_first; c++)
		put_head(x, t, &first, c);
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		if (t->topology[i])
			put(x, &first, topology_head(t, i), strlen(topology_head(t, i)),
			    t->width[WIDTH_TOPOLOGY + i]);
	for (uint32_t c = from > t->n_first ? from : t->n_first; c < to; c++) {
		put_head(x, t, &first, c);
		if (x->spark && c + 1 < to)
			buf_printf(&x->out.text, "%*s", 1 + SPARK_CELLS, "");
	}
	buf_addch(&x->out.text, '\n');
	t->since_heads = 0;
	t->heads_due = false;
}

static void put_cell(struct exporter *x, struct table_data *t, bool *first, uint32_t r, uint32_t c, size_t k)
{
	const struct sheet *s = t->sheet;
	const struct sheet_cell *cell = t->cell[(size_t)r * s->n_columns + t->column[c]];
	unsigned times = t->times && s->row[t->row[r]].place.kind == PM_SYSTEM ? t->times[c] : 1;
	char text[CELL_MAX];
	size_t len;

	/* A register has no value for the whole machine. */
	if (!cell && t->times && s->row[t->row[r]].place.kind == PM_SYSTEM &&
	    s->column[t->column[c]].metric->digits) {
		put(x, first, text,
		    (size_t)snprintf(text, CELL_MAX, "0x%0*x", s->column[t->column[c]].metric->digits, 0), 0);
		return;
	}
	x->partial |= cell && export_lacks(cell, k);
	text[0] = '\0';
	len = cell_text(x, t, cell, k, times, text);
	x->marks |= text[0] == '~' ? LACKS : text[0] == '?' ? SLOW : 0;
	put_judged(x, first, text, len, t->width[WIDTH_METRICS + c],
		   x->config.color && cell ? sheet_verdict(s, cell, k) : SHEET_UNJUDGED);
	if (x->spark)
		put_spark(x, s, &s->row[t->row[r]], cell);
}

static void put_row(struct exporter *x, struct table_data *t, uint32_t r, uint32_t from, uint32_t to,
		    const struct interval *interval, size_t k)
{
	size_t begin = x->out.text.len;
	char text[CELL_MAX];
	bool first = true;

	if (!table_is_one(x) && !table_has_tabs(x))
		put(x, &first, text, time_of_day(x, &interval[k], text), t->width[WIDTH_TIME]);
	if (x->sink.runs)
		put(x, &first, text, number_u64(text, interval[k].run), t->width[WIDTH_RUN]);
	for (uint32_t c = 0; c < t->n_first; c++)
		put_cell(x, t, &first, r, c, k);
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		if (t->topology[i])
			put(x, &first, text, topology_text(t, r, (enum topology_column)i, text),
			    t->width[WIDTH_TOPOLOGY + i]);
	for (uint32_t c = from > t->n_first ? from : t->n_first; c < to; c++)
		put_cell(x, t, &first, r, c, k);
	/* Empty cells at the end are not text. */
	while (x->out.text.len > begin &&
	       (x->out.text.data[x->out.text.len - 1] == ' ' || x->out.text.data[x->out.text.len - 1] == '\t'))
		x->out.text.len--;
	/* Nor is a row of them a line of turbostat's. */
	if (x->out.text.len > begin || !table_has_tabs(x))
		buf_addch(&x->out.text, '\n');
}

/* Prints the rows of an interval, with the columns that fit beside each other. */
static int put_part(struct exporter *x, struct table_data *t, uint32_t from, uint32_t to,
		    const struct interval *interval, size_t k)
{
	uint32_t every = x->config.heads_every;
	bool folded = from || to < t->n_columns;
	int err = 0;

	if (!x->config.no_heads &&
	    (t->heads_due || folded || x->config.clear || (every ? t->since_heads >= every : t->n_rows > 1)))
		put_heads(x, t, from, to);
	for (uint32_t i = 0, n = table_order(x, t, k); i < n && !err; i++) {
		if (!from || has_cell(t, t->order[i], from, to))
			put_row(x, t, t->order[i], from, to, interval, k);
		err = output_is_full(&x->out) ? exporter_flush(x) : 0;
	}
	return err;
}

static int table_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct table_data *t = x->data;
	int err = 0;

	if (!t->n_rows || (!t->n_columns && !x->sink.places_only))
		return 0;
	if (x->config.list) {
		if (!x->begun)
			put_heads(x, t, 0, t->n_columns);
		x->begun = true;
		return 0;
	}
	if (!t->sized)
		choose_widths(x, t, interval, n);
	for (size_t k = 0; k < n && !err; k++) {
		uint32_t from = 0, to = 0;

		if (x->config.clear)
			buf_addstr(&x->out.text, "\033[H\033[2J");
		if (x->elapsed_ns && table_is_one(x))
			buf_printf(&x->out.text, "%llu.%06llu sec\n", (unsigned long long)x->elapsed_ns / 1000000000,
				   (unsigned long long)x->elapsed_ns / 1000 % 1000000);
		do {
			from = to;
			to = part_end(x, t, from);
			err = put_part(x, t, from, to, interval, k);
		} while (to < t->n_columns && !err);
		if (x->config.clear)
			put_legend(x);
		t->since_heads++;
		x->begun = true;
		if (!err)
			err = exporter_pace(x);
	}
	return err;
}

static void table_event(struct sink *sink, const struct pm_event *event)
{
	if (event->type == PM_EVENT_CHILD_EXIT)
		exporter_of(sink)->elapsed_ns = pm_map_u64(&event->attrs, PM_EVENT_KEY_ELAPSED_NS, 0);
}

/* The elapsed time of a command applies to its own recording only. */
static int table_end(struct sink *sink)
{
	exporter_of(sink)->elapsed_ns = 0;
	put_legend(exporter_of(sink));
	return 0;
}

const struct sink_ops export_table = {
	.name = "table",
	.help = "a table for people",
	.table = true,
	.color = true,
	.spark = true,
	.shape = table_shape,
	.intervals = table_intervals,
	.event = table_event,
	.end = table_end,
	.release = table_release,
};

const struct sink_ops export_turbostat = {
	.name = "turbostat",
	.help = "turbostat's columns, separated by tabs, for scripts that read its text",
	.table = true,
	.tabs = true,
	.shape = table_shape,
	.intervals = table_intervals,
	.event = table_event,
	.end = table_end,
	.release = table_release,
};
