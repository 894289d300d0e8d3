/* Tables for people, in turbostat's layout: a row for the whole system, then one for each place; numbers of a core or
 * package are in the row of its first CPU. Widths are chosen once, from the heads and the first values. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/number.h"
#include "common/table.h"
#include "report/export/exporter.h"
#include "report/machine/decode.h"
#include "report/machine/status.h"
#include "report/numbers/statistics.h"

/* In turbostat's order. */
enum topology_column { BY_PACKAGE, BY_DIE, BY_L3, BY_NODE, BY_MODULE, BY_CORE, BY_CPU, BY_NAME, TOPOLOGY_COLUMNS };

struct table_data {
	const struct sheet *sheet;
	uint32_t *row; /* rows of the sheet that are printed */
	uint32_t n_rows;
	uint32_t *column; /* columns of the sheet that have a cell in some of them */
	uint32_t n_columns;
	uint32_t n_first;               /* of them stand before the places */
	bool utc;                       /* times of day are in the first column */
	uint32_t *order;                /* of an interval: the places in row[] to be printed */
	double *rank, *among;           /* to find it: by place in row[]; values of a column */
	const struct sheet_cell **cell; /* row by row; NULL: empty */
	bool topology[TOPOLOGY_COLUMNS];
	/* By place in column[] and in row[], made when the shape is known: the model may go before the rows. */
	struct pieces head, name;
	unsigned *width; /* time, run, topology columns, then metrics */
	bool sized;
	uint32_t since_heads; /* intervals */
	bool heads_due;
	const char *decoded; /* the recording with the registers last printed */
	const char *named;   /* the recording last named */
};

enum { WIDTH_TIME, WIDTH_RUN, WIDTH_TOPOLOGY, WIDTH_METRICS = WIDTH_TOPOLOGY + TOPOLOGY_COLUMNS };

/* turbostat's text, with TABs, and not the table. */
static bool table_has_tabs(const struct exporter *x)
{
	return x->sink.ops->tabs;
}

/* There is one interval only, which needs no time. */
static bool table_is_one(const struct exporter *x)
{
	return x->sink.one && x->config.time == EXPORT_TIME_DEFAULT;
}

/* ---- rows and columns: which cells exist, which columns of places are useful, to what they belong ---- */

static void table_forget(struct table_data *t)
{
	free(t->row);
	free(t->order);
	free(t->rank);
	free(t->among);
	free(t->column);
	free(t->cell);
	free(t->width);
	pieces_release(&t->head);
	pieces_release(&t->name);
	*t = (struct table_data){ .named = t->named, .decoded = t->decoded };
}

static void table_release(struct sink *sink)
{
	struct exporter *x = exporter_of(sink);

	if (x->data)
		table_forget(x->data);
	free(x->data);
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
					 a->package != b->package || a->die != b->die || a->core != b->core)
			return true;
	}
	return false;
}

/* Whether a cache or a module says more than the package or core that the row names anyway. */
static bool tells_more(const struct places *p, enum topology_column what)
{
	for (uint32_t i = 1; i < p->n; i++) {
		const struct pm_cpu *a = &p->cpu[i - 1], *b = &p->cpu[i];

		if (a->package != b->package)
			continue;
		if (what == BY_L3 ? a->cache[PM_CACHE_L3] != b->cache[PM_CACHE_L3] :
				    a->cluster == b->cluster && (a->die != b->die || a->core != b->core))
			return true;
	}
	return false;
}

static void choose_topology(struct exporter *x, struct table_data *t)
{
	const struct sheet *s = t->sheet;
	bool cpus;

	/* An empty set of CPUs leaves turbostat's heads as they are. */
	for (int i = 0; i < TOPOLOGY_COLUMNS; i++)
		t->topology[i] = table_has_tabs(x) && s->per == PM_CPU && s->places->n > 1 && i != BY_NAME;
	cpus = t->topology[BY_CPU];
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
		t->topology[i] = t->topology[i] &&
				 (differs(s->places, (enum topology_column)i) ||
				  (i == BY_PACKAGE && s->per == PM_PACKAGE) || (i == BY_DIE && s->per == PM_DIE) ||
				  (i == BY_CORE && s->per == PM_CORE) || (i == BY_NODE && s->per == PM_NODE)) &&
				 ((i != BY_L3 && i != BY_MODULE) || table_has_tabs(x) || x->config.place >> i & 1 ||
				  tells_more(s->places, (enum topology_column)i));
}

/* Rows of a higher level (packages, for a table of CPUs) are shown in the first row inside them. */
static void map_higher(struct table_data *t, enum pm_kind level)
{
	const struct sheet *s = t->sheet;
	SCOPED(scoped_free) bool *taken = memory_new(s->n_rows, sizeof(*taken));

	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct place *own = &s->row[t->row[r]].place;
		struct pm_instance cpu = { .kind = PM_CPU, .number = own->first_cpu, .cpu = own->first_cpu };
		struct place at;
		size_t found;

		if (own->first_cpu == PM_NONE || !places_find(s->places, &cpu, level, &at))
			continue;
		found = ARRAY_PLACE(s->n_rows, i, place_compare(&s->row[i].place, &at) < 0);
		if (found == s->n_rows || taken[found] || place_compare(&s->row[found].place, &at))
			continue;
		taken[found] = true;
		for (uint32_t i = 0; i < s->row[found].n_cells; i++)
			t->cell[(size_t)r * s->n_columns + s->row[found].cell[i].column] = &s->row[found].cell[i];
	}
}

static void map_cells(struct table_data *t, const struct exporter *x)
{
	const struct sheet *s = t->sheet;

	t->cell = memory_new((size_t)t->n_rows * s->n_columns, sizeof(const struct sheet_cell *));
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct sheet_row *row = &s->row[t->row[r]];

		for (uint32_t i = 0; i < row->n_cells; i++)
			t->cell[(size_t)r * s->n_columns + row->cell[i].column] = &row->cell[i];
	}
	for (enum pm_kind k = PM_PACKAGE; k < PM_CPU; k++)
		if (k != s->per && kind_contains(k, s->per))
			map_higher(t, k);
	for (uint32_t c = 0; c < s->n_columns; c++) {
		/* turbostat prints its head over a summary without a value, too. */
		bool any = table_has_tabs(x) && s->column[c].metric->digits;

		for (uint32_t r = 0; r < t->n_rows && !any; r++)
			any = t->cell[(size_t)r * s->n_columns + c] != NULL;
		if (any)
			t->column[t->n_columns++] = c;
	}
}

/* Whether the row is the first of its package or core: rows of one are adjacent. */
static bool is_first(const struct table_data *t, uint32_t r, enum pm_kind level)
{
	const struct place *p = &t->sheet->row[t->row[r]].place,
			   *above = r ? &t->sheet->row[t->row[r - 1]].place : NULL;

	if (p->kind == PM_SYSTEM)
		return false;
	return !above || above->kind == PM_SYSTEM || above->package != p->package ||
	       (level == PM_CORE && (above->die != p->die || above->core != p->core));
}

/* turbostat's rows have no holes: a module's value is with each of its cores, the machine's own with each package. */
static void fill_column(struct table_data *t, uint32_t i, enum pm_kind level)
{
	const struct sheet *s = t->sheet;
	const struct sheet_cell *above = NULL, **cell;
	bool module = s->column[t->column[i]].metric->kind == PM_CLUSTER;
	const struct place *of = NULL;

	for (uint32_t r = 0; r < t->n_rows; r++) {
		const struct place *p = &s->row[t->row[r]].place;

		cell = &t->cell[(size_t)r * s->n_columns + t->column[i]];
		if (*cell) {
			if (p->kind != PM_SYSTEM && !module)
				return;
			above = *cell;
			of = p;
		} else if (above && is_first(t, r, level) &&
			   (!module || (of->package == p->package && of->cluster == p->cluster))) {
			*cell = above;
		}
	}
}

static void fill_tabs(struct table_data *t)
{
	const struct sheet *s = t->sheet;

	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct bound_metric *m = s->column[t->column[i]].metric;
		const struct turbostat_column *c = turbostat_column(m);

		if (!c)
			continue;
		t->n_first += !strcmp(m->name, "usec") || !strcmp(m->name, "time_of_day");
		if (c->level == PM_CORE || c->level == PM_PACKAGE)
			fill_column(t, i, c->level);
	}
}

static int by_display(const void *a, const void *b)
{
	const struct bound_metric *x = *(const struct bound_metric *const *)a;
	const struct bound_metric *y = *(const struct bound_metric *const *)b;

	return strcmp(x->display, y->display);
}

/* A counter with the head of another column (a count beside its rate) is headed by its name, which is unique. */
static bool is_named(const struct bound_metric *m, const struct bound_metric *const *sorted, uint32_t n)
{
	const struct bound_metric *const *at = bsearch(&m, sorted, n, sizeof(*sorted), by_display);

	return m->counter && !m->added &&
	       ((at > sorted && !by_display(at, at - 1)) || (at + 1 < sorted + n && !by_display(at, at + 1)));
}

static void put_head_text(struct buf *out, const struct bound_metric *m, const char *display, bool tabs)
{
	SCOPED(buf_release) struct buf name = BUF_INIT;
	/* Heads of raw registers are as wide as these. */
	size_t width = tabs && m->digits ? m->digits + 2u : 0, pad;

	buf_add(&name, display, width ? strnlen(display, width) : strlen(display));
	pad = name.len < width ? width - name.len : 0;
	buf_printf(out, "%*s", (int)pad, "");
	text_escape(out, buf_str(&name), name.len);
	buf_carry(out, &name);
}

static void keep_texts(struct table_data *t, bool tabs)
{
	const struct sheet *s = t->sheet;
	SCOPED(scoped_free) const struct bound_metric **sorted = memory_new(t->n_columns, sizeof(*sorted));

	for (uint32_t c = 0; c < t->n_columns; c++)
		sorted[c] = s->column[t->column[c]].metric;
	qsort(sorted, t->n_columns, sizeof(*sorted), by_display);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct bound_metric *m = s->column[t->column[c]].metric;

		put_head_text(&t->head.text, m, !tabs && is_named(m, sorted, t->n_columns) ? m->name : m->display,
			      tabs);
		piece_end(&t->head);
	}
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const char *name = places_name(s->places, &s->row[t->row[r]].place);

		text_escape(&t->name.text, name, strlen(name));
		piece_end(&t->name);
	}
}

/* turbostat's system configuration header, for recordings with processor registers. */
static void put_registers(const struct pm_model *m, struct buf *out)
{
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (!strncmp(m->config[i].name, "msr.", 4) && !m->config[i].reason) {
			decode_text(m, out);
			return;
		}
}

static bool has_nodes_within(const struct places *p)
{
	for (uint32_t i = 1; i < p->n; i++)
		if (p->cpu[i].package == p->cpu[i - 1].package && p->cpu[i].node != p->cpu[i - 1].node)
			return true;
	return false;
}

static int table_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct table_data *t = x->data;
	SCOPED(buf_release) struct buf about = BUF_INIT;
	uint32_t below = 0;
	int err = 0;

	if (!t)
		t = x->data = memory_new(1, sizeof(*t));
	table_forget(t);
	t->sheet = s;
	x->out.total.columns = s->n_columns;
	t->row = memory_new(s->n_rows, sizeof(*t->row));
	t->order = memory_new(s->n_rows, sizeof(*t->order));
	t->rank = memory_new(s->n_rows, sizeof(*t->rank));
	t->among = memory_new(s->n_rows, sizeof(*t->among));
	t->column = memory_new(s->n_columns, sizeof(*t->column));
	t->width = memory_new((size_t)s->n_columns + WIDTH_METRICS, sizeof(*t->width));
	for (uint32_t r = 0; r < s->n_rows; r++) {
		if (s->row[r].place.kind != PM_SYSTEM && s->row[r].place.kind != s->per)
			continue;
		below += s->row[r].place.kind != PM_SYSTEM;
		t->row[t->n_rows++] = r;
	}
	/* A machine's only CPU has the same values as the machine. */
	if (below == 1 && s->per == PM_CPU && s->places->n == 1 && t->n_rows == 2)
		t->n_rows = 1;
	map_cells(t, x);
	keep_texts(t, table_has_tabs(x));
	choose_topology(x, t);
	if (table_has_tabs(x)) {
		/* Nodes are named only if packages contain several. */
		t->topology[BY_NODE] &= has_nodes_within(s->places);
		t->topology[BY_L3] = t->topology[BY_MODULE] = false;
		fill_tabs(t);
	}
	for (int i = BY_PACKAGE; i <= BY_CPU; i++)
		t->topology[i] &= !(x->config.no_place >> i & 1);
	if (x->config.name_files && t->named != x->sink.recording) {
		buf_addstr(&x->out.text, t->named ? "\n==> " : "==> ");
		text_escape(&x->out.text, x->sink.recording, strlen(x->sink.recording));
		buf_addstr(&x->out.text, " <==\n");
		t->named = x->sink.recording;
	}
	if ((x->config.registers || x->config.debug) && t->decoded != x->sink.recording) {
		/* Readers of turbostat's text read columns; a file gets everything. */
		bool apart = table_has_tabs(x) && x->config.fd == STDOUT_FILENO;
		struct buf *to = apart ? &about : &x->out.text;

		t->decoded = x->sink.recording;
		if (table_has_tabs(x) && !x->config.full_header)
			decode_turbostat(s->places, !x->config.registers, x->config.debug, to);
		else
			put_registers(s->places->model, to);
		fputs(buf_str(&about), stderr);
	}
	t->heads_due = true;
	return err;
}

/* ---- rows of an interval: all, or the first few by size or by what stands out ---- */

/* On a terminal, an interval with more rows than that is folded to so many. */
#define FOLD_ABOVE 64
#define FOLD_TO    16
/* Rows whose median says what is usual. */
#define PEERS_MIN 4

static const struct sheet_cell *cell_at(const struct table_data *t, uint32_t row, uint32_t c)
{
	return t->cell[(size_t)row * t->sheet->n_columns + t->column[c]];
}

/* A CPU that is offline has no row. The machine always has one. */
static bool is_away(const struct table_data *t, uint32_t row, size_t k)
{
	bool any = false;

	if (t->sheet->row[t->row[row]].place.kind == PM_SYSTEM)
		return false;
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = cell_at(t, row, c);

		if (cell && !status_absent(cell->value[k].reason))
			return false;
		any |= cell != NULL;
	}
	return any;
}

/* Tasks and what else comes and goes is ranked by size: the first value that has the unit of the first column, since
 * threads have a column of their own beside processes. */
static double size_of(const struct table_data *t, uint32_t row, size_t k)
{
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct sheet_cell *cell = cell_at(t, row, c);

		if (cell && !cell->value[k].reason)
			return strcmp(t->sheet->column[t->column[c]].metric->about->unit,
				      t->sheet->column[t->column[0]].metric->about->unit) ?
				       0 :
				       cell->value[k].v;
	}
	return -1;
}

/* Raises rank[] of each of order[0..n) by how far its value of column `c` is from the others', in their usual
 * distances; what is within a twentieth of the largest is alike. */
static void rank_by(struct table_data *t, uint32_t c, const uint32_t *order, uint32_t n, size_t k)
{
	double usual, spread, largest = 0, sum = 0;
	uint32_t m = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct sheet_cell *cell = cell_at(t, order[i], c);

		if (!cell || cell->value[k].reason || !isfinite(cell->value[k].v))
			continue;
		t->among[m++] = cell->value[k].v;
		largest = fmax(largest, fabs(cell->value[k].v));
	}
	if (m < PEERS_MIN || largest == 0)
		return;
	usual = statistics_median(t->among, m);
	for (uint32_t i = 0; i < m; i++) {
		t->among[i] = fabs(t->among[i] - usual);
		sum += t->among[i];
	}
	/* Where most are equal to the last digit, the median of distances is 0: their mean is not. */
	spread = fmax(fmax(1.4826 * statistics_median(t->among, m), 1.2533 * sum / m), largest / 20);
	for (uint32_t i = 0; i < n; i++) {
		const struct sheet_cell *cell = cell_at(t, order[i], c);

		if (cell && !cell->value[k].reason && isfinite(cell->value[k].v))
			t->rank[order[i]] = fmax(t->rank[order[i]], fabs(cell->value[k].v - usual) / spread);
	}
}

static bool is_of_machine(enum pm_kind kind)
{
	return kind <= PM_CPU;
}

/* Puts the rows of interval k that are printed into t->order. Returns their number. */
static uint32_t table_order(struct exporter *x, struct table_data *t, size_t k)
{
	uint32_t n = 0, fixed = 0, top = x->config.top;

	for (uint32_t r = 0; r < t->n_rows; r++)
		if (!is_away(t, r, k))
			t->order[n++] = r;
	if (top == EXPORT_TOP_FOLDED) {
		top = n > FOLD_ABOVE ? FOLD_TO : 0;
		x->folded |= top != 0;
	}
	if (!top)
		return n;
	/* The machine's rows come first. */
	for (uint32_t i = 0; i < n; i++)
		if (t->sheet->row[t->row[t->order[i]]].place.kind == PM_SYSTEM) {
			uint32_t r = t->order[i];

			memmove(t->order + fixed + 1, t->order + fixed, (i - fixed) * sizeof(*t->order));
			t->order[fixed++] = r;
		}
	for (uint32_t i = fixed; i < n; i++)
		t->rank[t->order[i]] =
			is_of_machine(t->sheet->row[t->row[t->order[i]]].place.kind) ? 0 : size_of(t, t->order[i], k);
	if (fixed < n && is_of_machine(t->sheet->row[t->row[t->order[fixed]]].place.kind))
		for (uint32_t c = 0; c < t->n_columns; c++)
			rank_by(t, c, t->order + fixed, n - fixed, k);
	for (uint32_t i = fixed; i < n; i++) {
		uint32_t r = t->order[i], at = i < fixed + top ? i : fixed + top;

		for (; at > fixed && t->rank[t->order[at - 1]] < t->rank[r]; at--)
			if (at < fixed + top)
				t->order[at] = t->order[at - 1];
		if (at < fixed + top)
			t->order[at] = r;
	}
	return n - fixed > top ? fixed + top : n;
}

/* ---- writing ---- */

#define CELL_MAX 64

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
			char *out)
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
	return mark + number_fixed(out, v->v, m->precision);
}

static size_t topology_text(const struct table_data *t, uint32_t r, enum topology_column c, char *out)
{
	const struct place *p = &t->sheet->row[t->row[r]].place;
	const uint32_t number[] = {
		p->package, p->die,  p->cache, p->node,
		p->cluster, p->core, p->cpu,   p->kind == PM_CLUSTER ? p->cluster : p->cache,
	};
	bool numbered = c < BY_NAME || p->kind == PM_CLUSTER || p->kind == PM_CACHE;
	const uint8_t *name;
	size_t len;

	if (p->kind == PM_SYSTEM || (numbered && number[c] == PM_NONE)) {
		out[0] = '-';
		return 1;
	}
	if (numbered)
		return number_u64(out, number[c]);
	name = piece_at(&t->name, r, &len);
	len = len < CELL_MAX ? len : CELL_MAX;
	if (len)
		memcpy(out, name, len);
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
	for (uint32_t c = 0; c < t->n_columns; c++) {
		size_t len;

		piece_at(&t->head, c, &len);
		widen(&t->width[WIDTH_METRICS + c], len);
	}
	for (size_t k = 0; k < n; k++) {
		widen(&t->width[WIDTH_TIME], time_of_day(x, &interval[k], text));
		for (uint32_t r = 0; r < t->n_rows; r++)
			for (uint32_t c = 0; c < t->n_columns; c++)
				widen(&t->width[WIDTH_METRICS + c],
				      cell_text(x, t, t->cell[(size_t)r * s->n_columns + t->column[c]], k, text));
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
		used += t->width[WIDTH_METRICS + to];
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
	size_t len;
	const char *text = (const char *)piece_at(&t->head, c, &len);

	if (len && text[0] == '~' && !table_has_tabs(x) && !x->config.list)
		x->marks |= ESTIMATED;
	put(x, first, text, len, t->width[WIDTH_METRICS + c]);
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
	for (uint32_t c = from > t->n_first ? from : t->n_first; c < to; c++)
		put_head(x, t, &first, c);
	buf_addch(&x->out.text, '\n');
	t->since_heads = 0;
	t->heads_due = false;
}

static void put_cell(struct exporter *x, struct table_data *t, bool *first, uint32_t r, uint32_t c, size_t k)
{
	const struct sheet *s = t->sheet;
	const struct sheet_cell *cell = t->cell[(size_t)r * s->n_columns + t->column[c]];
	char text[CELL_MAX];
	size_t len;

	/* A register has no value for the whole machine. */
	if (!cell && table_has_tabs(x) && s->row[t->row[r]].place.kind == PM_SYSTEM &&
	    s->column[t->column[c]].metric->digits) {
		put(x, first, text,
		    (size_t)snprintf(text, CELL_MAX, "0x%0*x", s->column[t->column[c]].metric->digits, 0), 0);
		return;
	}
	x->partial |= cell && export_lacks(cell, k);
	text[0] = '\0';
	len = cell_text(x, t, cell, k, text);
	x->marks |= text[0] == '~' ? LACKS : text[0] == '?' ? SLOW : 0;
	put_judged(x, first, text, len, t->width[WIDTH_METRICS + c],
		   x->config.color && cell ? sheet_verdict(s, cell, k) : SHEET_UNJUDGED);
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
