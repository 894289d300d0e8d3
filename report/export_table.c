/*
 * Tables for people, as turbostat lays them out: a row for the whole system, then one for each place; what belongs to
 * a core or a package stands in the row of its first CPU. Widths are chosen once, from the heads and the first
 * values.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "common/table.h"
#include "report/decode.h"
#include "report/exporter.h"
#include "report/plot_data.h"
#include "report/status.h"

#define CELL_MAX 64
#define SPARK_CELLS 8

/* In turbostat's order. */
enum topology_column { BY_PACKAGE, BY_DIE, BY_L3, BY_NODE, BY_MODULE, BY_CORE, BY_CPU, BY_NAME, TOPOLOGY_COLUMNS };

/* A piece of table_data.text. */
struct text {
	size_t at, len;
};

struct table_data {
	const struct sheet *sheet;
	uint32_t *row;                  /* rows of the sheet that are printed */
	uint32_t n_rows;
	uint32_t *column;               /* columns of the sheet that have a cell in some of them */
	uint32_t n_columns;
	const struct sheet_cell **cell; /* row by row; NULL: empty */
	bool topology[TOPOLOGY_COLUMNS];
	struct buf text; /* heads and names, made when the shape is known: the model may go before the rows */
	struct text *head;              /* by place in column[] */
	struct text *name;              /* by place in row[] */
	unsigned *width;                /* time, run, topology columns, then metrics */
	bool sized;
	uint32_t since_heads;           /* intervals */
	bool heads_due;
	const char *decoded;            /* the recording whose registers were printed */
	const char *named;              /* recording whose name was printed last */
};

enum { WIDTH_TIME, WIDTH_RUN, WIDTH_TOPOLOGY, WIDTH_METRICS = WIDTH_TOPOLOGY + TOPOLOGY_COLUMNS };

static void table_forget(struct table_data *t)
{
	free(t->row);
	free(t->column);
	free(t->cell);
	free(t->width);
	free(t->head);
	free(t->name);
	buf_release(&t->text);
	*t = (struct table_data){ .named = t->named, .decoded = t->decoded };
}

static void table_release(struct exporter *x)
{
	if (x->data)
		table_forget(x->data);
	free(x->data);
}

/* ---- shape ---- */

static bool is_tabs(const struct exporter *x)
{
	return x->ops == &export_turbostat;
}

static bool differs(const struct places *p, enum topology_column what)
{
	for (uint32_t i = 1; i < p->n; i++) {
		const struct pm_cpu *a = &p->cpu[0], *b = &p->cpu[i];

		if (what == BY_PACKAGE ? a->package != b->package :
		    what == BY_DIE     ? a->package == b->package && a->die != b->die :
		    what == BY_L3      ? a->cache[PM_CACHE_L3] != b->cache[PM_CACHE_L3] :
		    what == BY_NODE    ? a->node != b->node :
		    what == BY_MODULE  ? a->cluster != b->cluster :
					 a->package != b->package || a->core != b->core)
			return true;
	}
	return false;
}

/* Whether a cache or a module says more than the package or the core that the row names anyway. */
static bool tells_more(const struct places *p, enum topology_column what)
{
	for (uint32_t i = 1; i < p->n; i++) {
		const struct pm_cpu *a = &p->cpu[i - 1], *b = &p->cpu[i];

		if (a->package != b->package)
			continue;
		if (what == BY_L3 ? a->cache[PM_CACHE_L3] != b->cache[PM_CACHE_L3] :
				    a->cluster == b->cluster && a->core != b->core)
			return true;
	}
	return false;
}

static void choose_topology(struct exporter *x, struct table_data *t)
{
	const struct sheet *s = t->sheet;
	bool cpus = false;

	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		t->topology[i] = false;
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct place *p = &s->row[t->row[r]].place;

		t->topology[BY_PACKAGE] |= p->package != PM_NONE;
		t->topology[BY_DIE] |= p->die != PM_NONE;
		t->topology[BY_L3] |= p->cache != PM_NONE && p->kind != PM_CACHE && s->places->cache == PM_CACHE_L3;
		t->topology[BY_NODE] |= p->node != PM_NONE;
		t->topology[BY_MODULE] |= p->cluster != PM_NONE && p->kind != PM_CLUSTER;
		t->topology[BY_CORE] |= p->core != PM_NONE;
		cpus |= p->cpu != PM_NONE;
		t->topology[BY_NAME] |= p->kind > PM_CPU || p->kind == PM_CLUSTER || p->kind == PM_CACHE;
	}
	t->topology[BY_CPU] = cpus;
	for (int i = BY_PACKAGE; i <= BY_CORE; i++)
		t->topology[i] =
			t->topology[i] &&
			(differs(s->places, (enum topology_column)i) || (i == BY_PACKAGE && s->per == PM_PACKAGE) ||
			 (i == BY_DIE && s->per == PM_DIE) || (i == BY_CORE && s->per == PM_CORE) ||
			 (i == BY_NODE && s->per == PM_NODE)) &&
			((i != BY_L3 && i != BY_MODULE) || is_tabs(x) || x->config.place >> i & 1 ||
			 tells_more(s->places, (enum topology_column)i));
}

/* Rows of a higher level (packages, for a table of CPUs) stand in the first row that lies in them. */
static int map_higher(struct table_data *t, enum pm_kind level)
{
	const struct sheet *s = t->sheet;
	bool *taken = calloc((size_t)s->n_rows + 1, sizeof(*taken));

	if (!taken)
		return -ENOMEM;
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct place *own = &s->row[t->row[r]].place;
		struct pm_instance cpu = { .kind = PM_CPU, .number = own->first_cpu, .cpu = own->first_cpu };
		struct place at;
		uint32_t low = 0, high = s->n_rows;

		if (own->first_cpu == PM_NONE || !places_find(s->places, &cpu, level, &at))
			continue;
		while (low < high) {
			uint32_t mid = low + (high - low) / 2;

			if (place_compare(&s->row[mid].place, &at) < 0)
				low = mid + 1;
			else
				high = mid;
		}
		if (low == s->n_rows || taken[low] || place_compare(&s->row[low].place, &at))
			continue;
		taken[low] = true;
		for (uint32_t i = 0; i < s->row[low].n_cells; i++)
			t->cell[(size_t)r * s->n_columns + s->row[low].cell[i].column] = &s->row[low].cell[i];
	}
	free(taken);
	return 0;
}

static int map_cells(struct table_data *t, bool places_only)
{
	const struct sheet *s = t->sheet;
	int err = 0;

	t->cell = calloc((size_t)t->n_rows * s->n_columns + 1, sizeof(const struct sheet_cell *));
	if (!t->cell)
		return -ENOMEM;
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct sheet_row *row = &s->row[t->row[r]];

		for (uint32_t i = 0; i < row->n_cells; i++)
			t->cell[(size_t)r * s->n_columns + row->cell[i].column] = &row->cell[i];
	}
	for (enum pm_kind k = PM_PACKAGE; k < PM_CPU && !err; k++)
		if (k != s->per && kind_contains(k, s->per))
			err = map_higher(t, k);
	for (uint32_t c = 0; c < s->n_columns; c++) {
		bool any = false;

		for (uint32_t r = 0; r < t->n_rows && !any; r++)
			any = t->cell[(size_t)r * s->n_columns + c] != NULL;
		if (any && !places_only)
			t->column[t->n_columns++] = c;
	}
	return err;
}

static struct text keep(struct table_data *t, const char *text)
{
	size_t at = t->text.len;

	text_escape(&t->text, text, strlen(text));
	return (struct text){ at, t->text.len - at };
}

/* As turbostat has it: the state's name up to a '-', without '_'. */
static struct text keep_state(struct table_data *t, const char *display)
{
	size_t at = t->text.len, len = strcspn(display, "-"), end = strlen(display);

	for (size_t i = 0; i < len; i++)
		if (display[i] != '_')
			buf_addch(&t->text, display[i]);
	/* "C1-HSW%" and "C1-HSW-" end with what is counted, not with the name. */
	if (len < end && strchr("%+-", display[end - 1]))
		buf_addch(&t->text, display[end - 1]);
	return (struct text){ at, t->text.len - at };
}

static int keep_texts(struct table_data *t, bool tabs)
{
	const struct sheet *s = t->sheet;

	t->head = calloc((size_t)t->n_columns + 1, sizeof(*t->head));
	t->name = calloc((size_t)t->n_rows + 1, sizeof(*t->name));
	if (!t->head || !t->name)
		return -ENOMEM;
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct bound_metric *m = s->column[t->column[c]].metric;

		t->head[c] = tabs && !strncmp(m->name, "idle.", 5) ? keep_state(t, m->display) : keep(t, m->display);
	}
	for (uint32_t r = 0; r < t->n_rows; r++)
		t->name[r] = keep(t, places_name(s->places, &s->row[t->row[r]].place));
	return t->text.err;
}

/* turbostat's system configuration header, for recordings that have registers of a processor. */
static int put_registers(struct exporter *x, const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (!strncmp(m->config[i].name, "msr.", 4) && !m->config[i].reason)
			return decode_text(m, &x->out);
	return 0;
}

static bool has_nodes_within(const struct places *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (p->cpu[i].package == p->cpu[i - 1].package && p->cpu[i].node != p->cpu[i - 1].node)
			return true;
	return false;
}

static int table_shape(struct exporter *x, const struct sheet *s)
{
	struct table_data *t = x->data;
	uint32_t below = 0;
	int err;

	if (!t && !(t = x->data = calloc(1, sizeof(*t))))
		return -ENOMEM;
	table_forget(t);
	t->sheet = s;
	t->row = malloc(((size_t)s->n_rows + 1) * sizeof(*t->row));
	t->column = malloc(((size_t)s->n_columns + 1) * sizeof(*t->column));
	t->width = calloc((size_t)s->n_columns + WIDTH_METRICS, sizeof(*t->width));
	if (!t->row || !t->column || !t->width)
		return -ENOMEM;
	for (uint32_t r = 0; r < s->n_rows; r++) {
		if (s->row[r].place.kind != PM_SYSTEM && s->row[r].place.kind != s->per)
			continue;
		below += s->row[r].place.kind != PM_SYSTEM;
		t->row[t->n_rows++] = r;
	}
	/* The only CPU of a machine says the same as the machine. */
	if (below == 1 && s->per == PM_CPU && s->places->n == 1 && t->n_rows == 2)
		t->n_rows = 1;
	err = map_cells(t, x->places_only);
	if (!err)
		err = keep_texts(t, is_tabs(x));
	choose_topology(x, t);
	/* turbostat names nodes only where packages have several. */
	if (is_tabs(x))
		t->topology[BY_NODE] &= has_nodes_within(s->places);
	for (int i = BY_PACKAGE; i <= BY_CPU; i++)
		t->topology[i] &= !(x->config.no_place >> i & 1);
	if (x->config.name_files && t->named != x->recording) {
		buf_addstr(&x->out, t->named ? "\n==> " : "==> ");
		text_escape(&x->out, x->recording, strlen(x->recording));
		buf_addstr(&x->out, " <==\n");
		t->named = x->recording;
	}
	if (!err && x->config.registers && t->decoded != x->recording) {
		t->decoded = x->recording;
		err = put_registers(x, s->places->model);
	}
	t->heads_due = true;
	return err;
}

/* ---- text ---- */

static size_t time_of_day(const struct exporter *x, const struct interval *i, char *out)
{
	char full[64];
	bool stamp;
	size_t len = export_time_text(x, i, EXPORT_TIME_RFC3339, full, &stamp);

	if (!stamp) {
		/* Relative: to the microsecond is enough for the eye. */
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

static size_t cell_text(const struct table_data *t, const struct sheet_cell *cell, size_t k, char *out)
{
	const struct value *v;

	if (!cell)
		return 0;
	v = &cell->value[k];
	if (v->reason) {
		out[0] = '-';
		return 1;
	}
	if (t->sheet->column[cell->column].metric->digits)
		return (size_t)snprintf(out, CELL_MAX, "0x%0*llx", t->sheet->column[cell->column].metric->digits,
					(unsigned long long)((uint64_t)v->v + (uint64_t)(int64_t)v->rest));
	return number_fixed(out, v->v, t->sheet->column[cell->column].metric->precision);
}

static size_t topology_text(const struct table_data *t, uint32_t r, enum topology_column c, char *out)
{
	const struct place *p = &t->sheet->row[t->row[r]].place;
	const uint32_t number[] = {
		p->package, p->die, p->cache, p->node, p->cluster, p->core, p->cpu,
		p->kind == PM_CLUSTER ? p->cluster : p->cache,
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
	t->width[WIDTH_TIME] = 4;
	t->width[WIDTH_RUN] = 3;
	for (uint32_t c = 0; c < t->n_columns; c++)
		widen(&t->width[WIDTH_METRICS + c], t->head[c].len);
	for (size_t k = 0; k < n; k++) {
		widen(&t->width[WIDTH_TIME], time_of_day(x, &interval[k], text));
		for (uint32_t r = 0; r < t->n_rows; r++)
			for (uint32_t c = 0; c < t->n_columns; c++)
				widen(&t->width[WIDTH_METRICS + c],
				      cell_text(t, t->cell[(size_t)r * s->n_columns + t->column[c]], k, text));
	}
	for (uint32_t r = 0; r < t->n_rows; r++)
		for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
			widen(&t->width[WIDTH_TOPOLOGY + i],
			      topology_text(t, r, (enum topology_column)i, text));
	t->sized = true;
}

/* Right-aligned, two blanks before all but the first; or with a TAB between. */
static void put(struct exporter *x, bool *first, const char *text, size_t len, unsigned width)
{
	bool tabs = is_tabs(x);
	size_t blanks = tabs ? !*first : (*first ? 0u : 2u) + (width > len ? width - len : 0);
	char *to = export_room(&x->out, blanks + len);

	if (!to)
		return;
	memset(to, tabs ? '\t' : ' ', blanks);
	memcpy(to + blanks, text, len);
	x->out.len += blanks + len;
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
	buf_addstr(&x->out, verdict == SHEET_BAD ? "\033[31m" : "\033[32m");
	buf_add(&x->out, text, len);
	buf_addstr(&x->out, "\033[m");
}

/* The row of the sheet that a cell is in: not that of the table, for what stands in the row of a first CPU. */
static const struct sheet_row *row_of(const struct sheet *s, const struct sheet_cell *cell)
{
	for (uint32_t r = 0; r < s->n_rows; r++)
		if (cell >= s->row[r].cell && cell < s->row[r].cell + s->row[r].n_cells)
			return &s->row[r];
	return NULL;
}

/* How the value went, in steps from the lowest mark to the highest. */
static void put_spark(struct exporter *x, const struct sheet *s, const struct sheet_cell *cell)
{
	const struct sheet_row *row = cell ? row_of(s, cell) : NULL;
	const struct plot_line *line = NULL;
	double low = INFINITY, high = -INFINITY;
	struct buf place = BUF_INIT;
	size_t series;

	if (row) {
		plot_place_name(s->places, &row->place, &place);
		line = plot_data_find(x->spark, s->column[cell->column].metric->display, buf_str(&place));
		buf_release(&place);
	}
	buf_addch(&x->out, ' ');
	series = line ? (size_t)(line - x->spark->line) : 0;
	if (line && spark_mean_range(&x->spark->set, series, SPARK_CELLS, &low, &high))
		spark_line(&x->out, &x->spark->set, series, SPARK_CELLS, low, high, x->utf8);
	else
		buf_printf(&x->out, "%*s", SPARK_CELLS, "");
}

static void put_heads(struct exporter *x, struct table_data *t)
{
	bool first = true;

	if (!x->one && !is_tabs(x))
		put(x, &first, "Time", 4, t->width[WIDTH_TIME]);
	if (x->runs)
		put(x, &first, "Run", 3, t->width[WIDTH_RUN]);
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		if (t->topology[i])
			put(x, &first, topology_head(t, i), strlen(topology_head(t, i)),
			    t->width[WIDTH_TOPOLOGY + i]);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		put(x, &first, (const char *)t->text.data + t->head[c].at, t->head[c].len,
		    t->width[WIDTH_METRICS + c]);
		if (x->spark && c + 1 < t->n_columns)
			buf_printf(&x->out, "%*s", 1 + SPARK_CELLS, "");
	}
	buf_addch(&x->out, '\n');
	t->since_heads = 0;
	t->heads_due = false;
}

/* A CPU that is offline has no row. The machine always has one. */
static bool is_away(const struct table_data *t, uint32_t row, size_t k)
{
	bool any = false;

	if (t->sheet->row[t->row[row]].place.kind == PM_SYSTEM)
		return false;
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = t->cell[(size_t)row * t->sheet->n_columns + t->column[c]];

		if (!cell)
			continue;
		if (!status_absent(cell->value[k].reason))
			return false;
		any = true;
	}
	return any;
}

static void put_row(struct exporter *x, struct table_data *t, uint32_t r, const struct interval *interval, size_t k)
{
	const struct sheet *s = t->sheet;
	char text[CELL_MAX];
	bool first = true;

	if (!x->one && !is_tabs(x))
		put(x, &first, text, time_of_day(x, &interval[k], text), t->width[WIDTH_TIME]);
	if (x->runs)
		put(x, &first, text, number_u64(text, interval[k].run), t->width[WIDTH_RUN]);
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		if (t->topology[i])
			put(x, &first, text, topology_text(t, r, (enum topology_column)i, text),
			    t->width[WIDTH_TOPOLOGY + i]);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = t->cell[(size_t)r * s->n_columns + t->column[c]];

		if (cell)
			x->partial |= export_partial(cell, interval, k) ||
				      (cell->value[k].reason && !status_absent(cell->value[k].reason));
		put_judged(x, &first, text, cell_text(t, cell, k, text), t->width[WIDTH_METRICS + c],
			   x->config.color && cell ? sheet_verdict(s, cell, k) : SHEET_UNJUDGED);
		if (x->spark)
			put_spark(x, s, cell);
	}
	/* Empty cells at the end are no text. */
	while (x->out.len && (x->out.data[x->out.len - 1] == ' ' || x->out.data[x->out.len - 1] == '\t'))
		x->out.len--;
	buf_addch(&x->out, '\n');
}

static int table_intervals(struct exporter *x, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct table_data *t = x->data;
	int err = 0;

	if (!t->n_rows || (!t->n_columns && !x->places_only))
		return 0;
	if (!t->sized)
		choose_widths(x, t, interval, n);
	for (size_t k = 0; k < n && !err; k++) {
		uint32_t every = x->config.heads_every;

		if (x->config.clear)
			buf_addstr(&x->out, "\033[H\033[2J");
		if (x->elapsed_ns && x->one)
			buf_printf(&x->out, "%llu.%06llu sec\n", (unsigned long long)x->elapsed_ns / 1000000000,
				   (unsigned long long)x->elapsed_ns / 1000 % 1000000);
		if (!x->config.no_heads &&
		    (t->heads_due || x->config.clear || (every ? t->since_heads >= every : t->n_rows > 1)))
			put_heads(x, t);
		for (uint32_t r = 0; r < t->n_rows && !err; r++) {
			if (!is_away(t, r, k))
				put_row(x, t, r, interval, k);
			err = exporter_is_full(x) ? exporter_flush(x) : 0;
		}
		t->since_heads++;
		x->begun = true;
		if (!err)
			err = exporter_pace(x);
	}
	return err;
}

const struct exporter_ops export_table = {
	.name = "table",
	.help = "a table for people",
	.shape = table_shape,
	.intervals = table_intervals,
	.release = table_release,
};

const struct exporter_ops export_turbostat = {
	.name = "turbostat",
	.help = "turbostat's columns with TABs between, for scripts that read its text",
	.shape = table_shape,
	.intervals = table_intervals,
	.release = table_release,
};
