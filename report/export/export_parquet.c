/* Parquet: the rows of csv as typed columns, with host, machine and labels beside them. Rows are collected until
 * there are about a million, and written ordered by metric, recording, place and time, so that engines skip what a
 * query does not need, and equal values are adjacent. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/names.h"
#include "report/export/exporter.h"
#include "report/export/parquet.h"
#include "report/machine/status.h"

#define WAITING    (12u << 20) /* bytes of what waits */
#define GROUP_ROWS (256u << 10)

/* clang-format off */
static const enum parquet_type types[EXPORT_ALL_COLUMNS] = {
	[EXPORT_RECORDING] = PARQUET_TEXT, [EXPORT_RUN] = PARQUET_INT, [EXPORT_TIME] = PARQUET_TIME, [EXPORT_DURATION] = PARQUET_INT,
	[EXPORT_SCOPE] = PARQUET_TEXT, [EXPORT_PACKAGE ... EXPORT_CPU] = PARQUET_INT, [EXPORT_DEVICE ... EXPORT_METRIC] = PARQUET_TEXT,
	[EXPORT_VALUE] = PARQUET_VALUE, [EXPORT_UNIT ... EXPORT_STATUS] = PARQUET_TEXT, [EXPORT_COVERAGE] = PARQUET_DOUBLE, [EXPORT_ELAPSED] = PARQUET_INT,
	[EXPORT_HOST ... EXPORT_RECORDING_ID] = PARQUET_TEXT,
};
/* clang-format on */

/* Whose recording it is. */
struct origin {
	char *recording, *host, *machine, id[17];
	struct pm_value labels; /* as the header has them */
	struct names keys;      /* of the labels: which of them counts */
};

struct spot {
	const char *scope;
	uint32_t number[7];
	uint64_t name[3]; /* of parquet_text(); 0: none */
};

struct measure {
	uint64_t name, unit;
	uint32_t rank;
};

/* Intervals that arrived together. */
struct block {
	uint32_t origin, n;
	size_t at; /* in words: a row of n numbers each */
};
enum { BLOCK_WALL, BLOCK_DURATION, BLOCK_ELAPSED, BLOCK_RUN, BLOCK_ROWS };

/* The values of one metric at one place in them. */
struct series {
	uint32_t rank, origin, spot, block, metric;
	bool plain; /* all are known and complete */
	size_t at;  /* in words: n values; if it is not plain, also n reasons and n coverages */
};

/* Adjacent rows of one origin. */
struct part {
	int group;
	uint32_t origin, rows;
};

/* Buffers with arrays of what their names say. */
struct waiting {
	struct parquet *file;
	struct buf origins, parts;                        /* to the end */
	struct buf words, blocks, series, spots, metrics; /* until they are written */
	uint32_t origin, block, first_spot, first_metric; /* of the next intervals; origin PM_NONE: a new one */
};

#define COUNT(buf, type) ((buf)->len / sizeof(type))
#define AT(buf, type, i) (&((type *)(void *)(buf)->data)[i])

static struct waiting *waiting(struct exporter *x)
{
	struct waiting *w = x->data;

	if (w)
		return w->file ? w : NULL;
	w = x->data = calloc(1, sizeof(*w));
	if (!w || !(w->file = parquet_new(&x->out)))
		return NULL;
	w->origin = PM_NONE;
	for (int i = 0; i < EXPORT_ALL_COLUMNS; i++)
		if (parquet_add(w->file, export_columns[i], types[i]) < 0)
			return NULL;
	return w;
}

static void forget(struct waiting *w)
{
	buf_clear(&w->words);
	buf_clear(&w->blocks);
	buf_clear(&w->series);
	buf_clear(&w->spots);
	buf_clear(&w->metrics);
	parquet_forget(w->file);
	parquet_text(w->file, "");
}

static void parquet_release(struct sink *sink)
{
	struct waiting *w = exporter_of(sink)->data;

	if (!w)
		return;
	for (size_t i = 0; i < COUNT(&w->origins, struct origin); i++) {
		struct origin *o = AT(&w->origins, struct origin, i);

		free(o->recording);
		free(o->host);
		free(o->machine);
		pm_value_release(&o->labels);
		names_release(&o->keys);
	}
	buf_release(&w->origins);
	buf_release(&w->parts);
	buf_release(&w->words);
	buf_release(&w->blocks);
	buf_release(&w->series);
	buf_release(&w->spots);
	buf_release(&w->metrics);
	parquet_free(w->file);
	free(w);
}

/* ---- what comes ---- */

/* The last label with a key counts, as in csv. */
static int note_labels(struct origin *o, const struct pm_value *labels)
{
	int err = pm_value_copy(&o->labels, labels);

	for (uint32_t i = 0; o->labels.kind == PM_VALUE_ARRAY && i < o->labels.array.n && !err; i++) {
		const struct pm_value *pair = export_label_pair(&o->labels, i);

		if (pair)
			err = names_set(&o->keys, pair[0].str.data, i);
	}
	return err;
}

static int note_origin(struct waiting *w, const char *recording, const struct pm_model *m)
{
	const struct pm_map *header = &m->header;
	const struct pm_value *labels = pm_map_get(header, PM_HEADER_LABELS);
	const char *host = pm_map_text(header, PM_HEADER_HOST, NULL);
	const char *machine = pm_map_text(header, PM_HEADER_MACHINE_ID, NULL);
	struct origin o = { .recording = strdup(recording), .host = host ? strdup(host) : NULL };
	int err = labels ? note_labels(&o, labels) : 0;

	export_recording_id(m, o.id);
	o.machine = machine ? strdup(machine) : NULL;
	if (!o.recording || (host && !o.host) || (machine && !o.machine))
		err = -ENOMEM;
	w->origin = (uint32_t)COUNT(&w->origins, struct origin);
	buf_add(&w->origins, &o, sizeof(o));
	return err ? err : w->origins.err;
}

static int note_shape(struct waiting *w, const struct sheet *s)
{
	w->first_spot = (uint32_t)COUNT(&w->spots, struct spot);
	w->first_metric = (uint32_t)COUNT(&w->metrics, struct measure);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct place *p = &s->row[r].place;
		struct spot spot = { .scope = pm_kind_name(p->kind) };
		const char *name[3];

		export_place_numbers(p, spot.number);
		export_place_names(s, p, name);
		for (int i = 0; i < 3; i++)
			spot.name[i] = parquet_text(w->file, name[i]);
		buf_add(&w->spots, &spot, sizeof(spot));
	}
	for (uint32_t c = 0; c < s->n_columns; c++) {
		const struct bound_metric *b = s->column[c].metric;
		struct measure m = { parquet_text(w->file, b->name), parquet_text(w->file, b->about->unit), 0 };

		buf_add(&w->metrics, &m, sizeof(m));
	}
	return w->spots.err ? w->spots.err : w->metrics.err;
}

static int parquet_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct waiting *w = waiting(exporter_of(sink));
	int err = w ? 0 : -ENOMEM;

	if (!err && w->origin == PM_NONE) {
		if (!w->words.len)
			forget(w);
		err = note_origin(w, sink->recording, s->places->model);
	}
	return err ? err : note_shape(w, s);
}

static int note_block(struct waiting *w, const struct sink *sink, const struct interval *i, size_t n)
{
	struct block b = { w->origin, (uint32_t)n, COUNT(&w->words, int64_t) };
	int64_t *to;

	if (buf_reserve(&w->words, BLOCK_ROWS * n * sizeof(*to)))
		return -ENOMEM;
	to = AT(&w->words, int64_t, b.at);
	for (size_t k = 0; k < n; k++) {
		to[BLOCK_WALL * n + k] = i[k].wall_ns / 1000;
		to[BLOCK_DURATION * n + k] = (int64_t)i[k].duration_ns;
		to[BLOCK_ELAPSED * n + k] = (int64_t)(i[k].to_ns - sink->origin_ns);
		to[BLOCK_RUN * n + k] = i[k].run;
	}
	w->words.len += BLOCK_ROWS * n * sizeof(*to);
	w->block = (uint32_t)COUNT(&w->blocks, struct block);
	buf_add(&w->blocks, &b, sizeof(b));
	return w->blocks.err;
}

static int note_series(struct exporter *x, struct waiting *w, const struct sheet_cell *c, uint32_t row, size_t n)
{
	struct series s = { .origin = w->origin,
			    .spot = w->first_spot + row,
			    .block = w->block,
			    .metric = w->first_metric + c->column,
			    .plain = true,
			    .at = COUNT(&w->words, double) };
	double *to;

	if (buf_reserve(&w->words, 3 * n * sizeof(double)))
		return -ENOMEM;
	to = AT(&w->words, double, s.at);
	for (size_t k = 0; k < n; k++) {
		to[k] = c->value[k].v;
		s.plain &= !c->value[k].reason && sheet_quality(c, k) == STATUS_WHOLE;
	}
	for (size_t k = 0; k < n && !s.plain; k++) {
		uint16_t reason = c->value[k].reason;

		/* Reasons are above 0. */
		to[n + k] = reason ? reason : -(double)sheet_quality(c, k);
		to[2 * n + k] = sheet_coverage(c, k);
		x->partial |= (reason || to[2 * n + k] < 1) && !status_absent(reason);
	}
	w->words.len += (s.plain ? 1 : 3) * n * sizeof(double);
	buf_add(&w->series, &s, sizeof(s));
	return w->series.err;
}

/* ---- what leaves ---- */

static void put_text(struct parquet *p, const char *text, size_t n)
{
	if (text)
		parquet_put(p, parquet_text(p, text), n);
	else
		parquet_null(p, n);
}

static void put_name(struct parquet *p, uint64_t name, size_t n)
{
	if (name)
		parquet_put(p, name, n);
	else
		parquet_null(p, n);
}

static void put_times(struct waiting *w, const struct block *b, int row, bool zero_is_none)
{
	const int64_t *v = AT(&w->words, int64_t, b->at + (size_t)row * b->n);

	for (uint32_t k = 0; k < b->n; k++)
		if (zero_is_none && v[k] <= 0)
			parquet_null(w->file, 1);
		else
			parquet_put(w->file, (uint64_t)v[k], 1);
}

/* Value, status or coverage. */
static void put_values(struct waiting *w, const struct series *s, uint32_t n, enum export_column c)
{
	const double *v = AT(&w->words, double, s->at), *reason = v + n, *coverage = reason + n;
	char word[16];

	if (s->plain && c == EXPORT_VALUE)
		parquet_values(w->file, v, n);
	else if (s->plain && c == EXPORT_STATUS)
		put_text(w->file, "ok", n);
	else if (s->plain)
		parquet_put(w->file, double_to_bits(1), n);
	for (uint32_t k = 0; k < n && !s->plain; k++)
		if (c == EXPORT_STATUS && reason[k] > 0)
			put_text(w->file, status_word((uint16_t)reason[k], STATUS_WHOLE, word), 1);
		else if (c == EXPORT_STATUS)
			put_text(w->file, status_word(0, (enum status_quality)(int)-reason[k], word), 1);
		else if (reason[k] > 0)
			parquet_null(w->file, 1);
		else if (c == EXPORT_VALUE)
			parquet_values(w->file, &v[k], 1);
		else
			parquet_put(w->file, double_to_bits(coverage[k]), 1);
}

static void put_series(struct waiting *w, const struct series *s, enum export_column c)
{
	const struct block *b = AT(&w->blocks, struct block, s->block);
	const struct spot *spot = AT(&w->spots, struct spot, s->spot);
	const struct measure *m = AT(&w->metrics, struct measure, s->metric);
	const struct origin *o = AT(&w->origins, struct origin, s->origin);
	struct parquet *p = w->file;

	switch (c) {
	case EXPORT_RECORDING:
		return put_text(p, o->recording, b->n);
	case EXPORT_RUN:
		return put_times(w, b, BLOCK_RUN, false);
	case EXPORT_TIME:
		return put_times(w, b, BLOCK_WALL, true);
	case EXPORT_DURATION:
		return put_times(w, b, BLOCK_DURATION, false);
	case EXPORT_ELAPSED:
		return put_times(w, b, BLOCK_ELAPSED, false);
	case EXPORT_SCOPE:
		return put_text(p, spot->scope, b->n);
	case EXPORT_DEVICE:
	case EXPORT_TASK:
	case EXPORT_CGROUP:
		return put_name(p, spot->name[c - EXPORT_DEVICE], b->n);
	case EXPORT_METRIC:
		return put_name(p, m->name, b->n);
	case EXPORT_UNIT:
		return put_name(p, m->unit, b->n);
	case EXPORT_VALUE:
	case EXPORT_STATUS:
	case EXPORT_COVERAGE:
		return put_values(w, s, b->n, c);
	case EXPORT_HOST:
		return put_text(p, o->host, b->n);
	case EXPORT_MACHINE:
		return put_text(p, o->machine, b->n);
	case EXPORT_RECORDING_ID:
		return put_text(p, o->id, b->n);
	default:
		if (spot->number[c - EXPORT_PACKAGE] == PM_NONE)
			parquet_null(p, b->n);
		else
			parquet_put(p, spot->number[c - EXPORT_PACKAGE], b->n);
	}
}

static void note_part(struct waiting *w, int group, uint32_t origin, uint32_t rows)
{
	size_t n = COUNT(&w->parts, struct part);
	struct part next = { group, origin, rows }, *last = n ? AT(&w->parts, struct part, n - 1) : NULL;

	if (last && last->group == group && last->origin == origin)
		last->rows += rows;
	else
		buf_add(&w->parts, &next, sizeof(next));
}

static uint32_t rows_of(const struct waiting *w, const struct series *s)
{
	return AT(&w->blocks, struct block, s->block)->n;
}

static int put_group(struct waiting *w, const struct series *s, size_t n, uint64_t rows)
{
	int group = parquet_group(w->file, rows), err = group < 0 ? group : 0;

	for (size_t i = 0; i < n && !err; i++)
		note_part(w, group, s[i].origin, rows_of(w, &s[i]));
	for (int c = 0; c < EXPORT_ALL_COLUMNS && !err; c++) {
		for (size_t i = 0; i < n; i++)
			put_series(w, &s[i], (enum export_column)c);
		err = parquet_column(w->file, group, c);
	}
	return err ? err : w->parts.err;
}

struct named {
	const char *name;
	uint32_t metric;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

static int by_rank(const void *first, const void *second)
{
	const struct series *a = first, *b = second;
	uint64_t x = (uint64_t)a->rank << 32 | a->origin, y = (uint64_t)b->rank << 32 | b->origin;

	if (x == y) {
		x = (uint64_t)a->spot << 32 | a->block;
		y = (uint64_t)b->spot << 32 | b->block;
	}
	return x < y ? -1 : x > y;
}

static int put_in_order(struct waiting *w)
{
	size_t n = COUNT(&w->series, struct series), n_metrics = COUNT(&w->metrics, struct measure);
	struct series *s = AT(&w->series, struct series, 0);
	SCOPED(scoped_free) struct named *order = calloc(n_metrics + 1, sizeof(*order));
	uint32_t rank = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_metrics; i++)
		order[i] = (struct named){ parquet_text_of(w->file, AT(&w->metrics, struct measure, i)->name), i };
	qsort(order, n_metrics, sizeof(*order), by_name);
	for (size_t i = 0; i < n_metrics; i++) {
		rank += i && strcmp(order[i].name, order[i - 1].name) != 0;
		AT(&w->metrics, struct measure, order[i].metric)->rank = rank;
	}
	for (size_t i = 0; i < n; i++)
		s[i].rank = AT(&w->metrics, struct measure, s[i].metric)->rank;
	qsort(s, n, sizeof(*s), by_rank);
	return 0;
}

static int put_waiting(struct waiting *w)
{
	size_t n = COUNT(&w->series, struct series), from = 0;
	const struct series *s = AT(&w->series, struct series, 0);
	uint64_t rows = 0;
	int err = n ? put_in_order(w) : 0;

	for (size_t i = 0; i < n && !err; i++) {
		rows += rows_of(w, &s[i]);
		/* A metric begins a new row group if that does not make small ones. */
		if (i + 1 == n || rows >= GROUP_ROWS || (rows >= GROUP_ROWS / 2 && s[i + 1].rank != s[i].rank)) {
			err = put_group(w, &s[from], i + 1 - from, rows);
			from = i + 1;
			rows = 0;
		}
	}
	forget(w);
	return err;
}

static int parquet_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct waiting *w = x->data;
	int err = note_block(w, sink, interval, n);

	for (uint32_t r = 0; r < s->n_rows && !err; r++) {
		for (uint32_t c = 0; c < s->row[r].n_cells && !err; c++)
			err = note_series(x, w, &s->row[r].cell[c], r, n);
		if (err || w->words.len + w->series.len + w->spots.len < WAITING)
			continue;
		err = put_waiting(w);
		err = err ? err : note_shape(w, s);
		err = err ? err : note_block(w, sink, interval, n);
	}
	return err;
}

static int parquet_recording_end(struct sink *sink)
{
	((struct waiting *)exporter_of(sink)->data)->origin = PM_NONE;
	return 0;
}

/* ---- labels, which are known when everything was read ---- */

static int put_label(struct waiting *w, const char *key)
{
	struct buf name = BUF_INIT;
	size_t n = COUNT(&w->parts, struct part);
	int column;

	buf_printf(&name, "label_%s", key);
	column = parquet_add(w->file, buf_str(&name), PARQUET_TEXT);
	buf_release(&name);
	for (size_t i = 0; i < n && column >= 0; i++) {
		const struct part *p = AT(&w->parts, struct part, i);
		const struct origin *o = AT(&w->origins, struct origin, p->origin);
		uint32_t at;
		int err;

		put_text(w->file,
			 names_get(&o->keys, key, &at) ? o->labels.array.item[at].array.item[1].str.data : NULL,
			 p->rows);
		if ((i + 1 == n || p[1].group != p->group) && (err = parquet_column(w->file, p->group, column)))
			return err;
	}
	return column < 0 ? column : 0;
}

static int put_labels(struct waiting *w)
{
	SCOPED(names_release) struct names known = { 0 };
	const char *key;
	int err = 0;

	for (size_t i = 0; i < COUNT(&w->origins, struct origin); i++) {
		const struct origin *o = AT(&w->origins, struct origin, i);

		for (uint32_t k = 0; k < o->labels.array.n && o->keys.n && !err; k++) {
			const struct pm_value *pair = export_label_pair(&o->labels, k);

			if (!pair)
				continue;
			key = pair[0].str.data;
			if (names_get(&o->keys, key, NULL) && !names_get(&known, key, NULL) &&
			    !(err = names_set(&known, key, 1)))
				err = put_label(w, key);
		}
	}
	return err;
}

static int parquet_close(struct sink *sink)
{
	struct waiting *w = waiting(exporter_of(sink));
	int err = w ? put_waiting(w) : -ENOMEM;

	err = err ? err : put_labels(w);
	return err ? err : parquet_end(w->file);
}

const struct sink_ops export_parquet = {
	.name = "parquet",
	.help = "columns for DuckDB, ClickHouse, Spark and the like, with host and labels",
	.binary = true,
	.shape = parquet_shape,
	.intervals = parquet_intervals,
	.end = parquet_recording_end,
	.close = parquet_close,
	.release = parquet_release,
};
