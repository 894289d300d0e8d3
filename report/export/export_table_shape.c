/* Rows and columns of the table for people: which cells exist, which columns of places are useful, and to what they
 * belong. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/table.h"
#include "report/machine/decode.h"
#include "report/export/export_table.h"

static void table_forget(struct table_data *t)
{
	free(t->row);
	free(t->order);
	free(t->rank);
	free(t->among);
	free(t->column);
	free(t->times);
	free(t->cell);
	free(t->width);
	free(t->head);
	free(t->name);
	buf_release(&t->text);
	*t = (struct table_data){ .named = t->named, .decoded = t->decoded };
}

void table_release(struct sink *sink)
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
		if (any && !x->sink.places_only && !s->column[c].metric->for_rows)
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

/* The number of packages in the row of the machine. */
static uint8_t packages(const struct places *p)
{
	uint32_t last = PM_NONE;
	uint8_t n = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		const struct pm_cpu *cpu = &p->cpu[p->by_package[i]];

		if (!cpu->online || (n && cpu->package == last))
			continue;
		last = cpu->package;
		n++;
	}
	return n;
}

static void fill_tabs(struct table_data *t)
{
	const struct sheet *s = t->sheet;

	t->times = memory_new(t->n_columns, sizeof(*t->times));
	for (uint32_t i = 0; i < t->n_columns; i++) {
		const struct bound_metric *m = s->column[t->column[i]].metric;
		const struct turbostat_column *c = turbostat_column(m);

		if (!c)
			continue;
		t->n_first += !strcmp(m->name, "usec") || !strcmp(m->name, "time_of_day");
		if (c->level == PM_CORE || c->level == PM_PACKAGE)
			fill_column(t, i, c->level);
		if (c->sum)
			t->times[i] = packages(s->places);
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

static void put_head(struct buf *out, const struct bound_metric *m, const char *display, bool tabs)
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

	t->head = memory_new(t->n_columns, sizeof(*t->head));
	t->name = memory_new(t->n_rows, sizeof(*t->name));
	for (uint32_t c = 0; c < t->n_columns; c++)
		sorted[c] = s->column[t->column[c]].metric;
	qsort(sorted, t->n_columns, sizeof(*sorted), by_display);
	for (uint32_t c = 0; c < t->n_columns; c++) {
		const struct bound_metric *m = s->column[t->column[c]].metric;

		t->head[c].at = t->text.len;
		put_head(&t->text, m, !tabs && is_named(m, sorted, t->n_columns) ? m->name : m->display, tabs);
		t->head[c].len = t->text.len - t->head[c].at;
	}
	for (uint32_t r = 0; r < t->n_rows; r++) {
		const char *name = places_name(s->places, &s->row[t->row[r]].place);

		t->name[r].at = t->text.len;
		text_escape(&t->text, name, strlen(name));
		t->name[r].len = t->text.len - t->name[r].at;
	}
	memory_whole(&t->text);
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

int table_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
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
