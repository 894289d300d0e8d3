/* csv (RFC 4180, except that lines end with a newline alone, as current readers expect) and json, one object per
 * line, with the same columns, which --columns chooses. Long: one row per value. Wide: one row per interval and
 * place, with one column or member per metric. What rows have in common is made once, with the shape or the
 * interval. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "report/export/exporter.h"

/* Beside the columns of all formats: label_KEY; threshold, in json; status and, behind it, coverage. */
enum { LABEL = EXPORT_ALL_COLUMNS, VERDICT, STATUS_COVERAGE };
#define LABEL_PREFIX "label_"
#define AHEAD        4  /* cells whose values are fetched while others are printed */
#define WIDE_ENOUGH  64 /* bytes that a value takes in a row, at most */

/* clang-format off */
static const char *const verdicts[SHEET_VERDICTS] = {
	[SHEET_UNJUDGED] = "", [SHEET_UNKNOWN] = "unknown", [SHEET_GOOD] = "good", [SHEET_BAD] = "bad",
};
/* clang-format on */

enum scope { OF_ALL, OF_INTERVAL, OF_PLACE, OF_METRIC, OF_VALUE };

struct column {
	char *name;   /* owned */
	char *before; /* owned: what stands before the value: ',', and in json the name */
	size_t len;   /* of that */
	int which;
	enum scope scope;
};

/* Adjacent columns that change together, and one that changes with every value. */
struct part {
	enum scope scope;
	uint32_t from, to;
	int value;          /* the last of them, if it is of a value; else -1 */
	struct pieces text; /* by row or column of the sheet: all before the value */
};

struct rows {
	bool json;
	struct column *column; /* owned */
	uint32_t n_columns;
	struct part *part; /* owned */
	uint32_t n_parts;
	uint32_t n_head; /* of them are the same in all of a row of the sheet, */
	struct buf head; /* and this is what they are there */

	/* Wide: columns of metrics, after the others. */
	struct names wide; /* csv: names in the header; none may be added later */
	uint32_t n_wide;
	uint32_t *wide_of;              /* owned: csv: by column of the sheet: place in the header, or PM_NONE */
	const struct sheet_cell **cell; /* owned: csv: by place in the header, of the row at hand */
	struct pieces member;           /* json: names, by column of the sheet */
};

/* ---- columns ---- */

static int column_of(const char *name)
{
	for (int i = 0; i < EXPORT_ALL_COLUMNS; i++)
		if (!strcmp(name, export_columns[i]))
			return i;
	return !strncmp(name, LABEL_PREFIX, strlen(LABEL_PREFIX)) ? LABEL : -1;
}

int export_columns_check(const char *list, struct error *e)
{
	char *copy = memory_text(list), *rest = copy, *name;
	int err = 0;

	while (!err && (name = strsep(&rest, ",")))
		if (column_of(name) < 0)
			err = error_set(e, EINVAL,
					"there is no column '%s'; use those of csv, elapsed_ns, host, machine_id, "
					"recording_id or label_KEY",
					name);
	free(copy);
	return err;
}

static enum scope scope_of(int which)
{
	if (which >= EXPORT_SCOPE && which <= EXPORT_CGROUP)
		return OF_PLACE;
	if (which == EXPORT_METRIC || which == EXPORT_UNIT)
		return OF_METRIC;
	if (which == EXPORT_RUN || which == EXPORT_TIME || which == EXPORT_DURATION || which == EXPORT_ELAPSED)
		return OF_INTERVAL;
	return which == EXPORT_VALUE || which == EXPORT_STATUS || which == EXPORT_COVERAGE || which == VERDICT ?
		       OF_VALUE :
		       OF_ALL;
}

static void add_column(struct rows *r, const char *name, int which)
{
	enum scope scope = scope_of(which);
	struct part *last = r->n_parts ? &r->part[r->n_parts - 1] : NULL;
	struct buf before = BUF_INIT;
	size_t len;

	if (r->n_columns || r->json)
		buf_addch(&before, r->n_columns ? ',' : '{');
	if (r->json) {
		json_quote(&before, name, strlen(name));
		buf_addch(&before, ':');
	}
	len = before.len;
	memory_room(&r->column, r->n_columns, sizeof(*r->column));
	r->column[r->n_columns] =
		(struct column){ memory_text(name), memory_checked(buf_detach(&before)), len, which, scope };
	/* Nearly all values are whole, and that is said at once. */
	if (last && last->value == EXPORT_STATUS && which == EXPORT_COVERAGE) {
		last->value = STATUS_COVERAGE;
		r->n_columns++;
		return;
	}
	if (!last || last->value >= 0 || (scope != OF_VALUE && scope != last->scope)) {
		memory_room(&r->part, r->n_parts, sizeof(*r->part));
		r->part[r->n_parts++] = (struct part){ .scope = scope == OF_VALUE ? OF_ALL : scope,
						       .from = r->n_columns,
						       .value = -1 };
	}
	r->part[r->n_parts - 1].to = ++r->n_columns;
	if (scope == OF_VALUE)
		r->part[r->n_parts - 1].value = which;
}

static struct rows *begin_rows(struct exporter *x, bool json)
{
	struct rows *r = memory_new(1, sizeof(*r));
	bool wide = x->config.layout == EXPORT_WIDE;

	r->json = json;
	if (x->config.columns) {
		SCOPED(scoped_free) char *copy = memory_text(x->config.columns);
		char *rest = copy, *name;

		while ((name = strsep(&rest, ",")))
			add_column(r, name, column_of(name));
		return r;
	}
	for (int i = 0; i < (wide ? EXPORT_N_PLACE : EXPORT_N_COLUMNS); i++)
		add_column(r, export_columns[i], i);
	if (!wide && json)
		add_column(r, "threshold", VERDICT);
	return r;
}

static void rows_release(struct sink *sink)
{
	struct rows *r = exporter_of(sink)->data;

	if (!r)
		return;
	for (uint32_t i = 0; i < r->n_columns; i++) {
		free(r->column[i].name);
		free(r->column[i].before);
	}
	for (uint32_t i = 0; i < r->n_parts; i++)
		pieces_release(&r->part[i].text);
	free(r->column);
	free(r->part);
	buf_release(&r->head);
	names_release(&r->wide);
	free(r->wide_of);
	free(r->cell);
	pieces_release(&r->member);
	free(r);
}

/* ---- what rows have in common ---- */

/* The last label with that key, or NULL. */
static const char *label_named(const struct pm_model *m, const char *key)
{
	const struct pm_value *labels = pm_map_get(&m->header, PM_HEADER_LABELS);
	const char *found = NULL;

	for (uint32_t i = 0; labels && labels->kind == PM_VALUE_ARRAY && i < labels->array.n; i++) {
		const struct pm_value *pair = export_label_pair(labels, i);

		if (pair && !strcmp(pair[0].str.data, key))
			found = pair[1].str.data;
	}
	return found;
}

static void put_text(struct buf *out, bool json, const char *text)
{
	if (!json)
		export_csv_field(out, text ? text : "");
	else if (text && *text)
		json_quote(out, text, strlen(text));
	else
		buf_addstr(out, "null");
}

static inline char *put(char *to, const void *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

/* A column of an interval, in at most WIDE_ENOUGH bytes. */
static char *put_when(char *to, const struct exporter *x, bool json, int which, const struct interval *i)
{
	char text[64];
	bool quoted;
	size_t len;

	if (which != EXPORT_TIME)
		return to + number_u64(to, which == EXPORT_RUN      ? i->run :
					   which == EXPORT_DURATION ? i->duration_ns :
								      i->to_ns - x->sink.origin_ns);
	len = export_time_text(x, i, EXPORT_TIME_RFC3339, text, &quoted);
	return json && quoted ? put(put(put(to, "\"", 1), text, len), "\"", 1) : put(to, text, len);
}

/* Where the values of a part belong; what its columns do not need may be NULL. */
struct at {
	const struct sheet *sheet;
	const struct place *place;
	const struct bound_metric *metric;
	const struct interval *interval;
};

/* One that does not change with the interval or the value. */
static void put_column(const struct exporter *x, bool json, const struct column *c, const struct at *at,
		       struct buf *out)
{
	struct export_fact fact;
	char number[NUMBER_MAX];

	if (c->which == LABEL) {
		put_text(out, json, label_named(at->sheet->places->model, c->name + strlen(LABEL_PREFIX)));
		return;
	}
	export_fact(&fact, &x->sink, at->sheet, at->place, at->metric, (enum export_column)c->which);
	if (fact.is_number)
		buf_add(out, number, number_u64(number, fact.number));
	else
		put_text(out, json, fact.text);
}

/* Makes the next piece. */
static void put_part(const struct exporter *x, const struct rows *r, struct part *p, const struct at *at)
{
	struct buf *out = &p->text.text;
	char *to;

	for (uint32_t i = p->from; i < p->to; i++) {
		const struct column *c = &r->column[i];

		/* It is there only with a verdict. */
		if (r->json && c->which == VERDICT)
			break;
		to = put(output_room(out, c->len + WIDE_ENOUGH), c->before, c->len);
		out->len += c->len;
		if (c->scope == OF_INTERVAL)
			out->len += (size_t)(put_when(to, x, r->json, c->which, at->interval) - to);
		else if (c->scope != OF_VALUE)
			put_column(x, r->json, c, at, out);
	}
	piece_end(&p->text);
}

static void put_head(struct exporter *x, const struct rows *r, const struct sheet *s, bool wide)
{
	struct buf *out = &x->out.text;

	for (uint32_t i = 0; i < r->n_columns; i++) {
		buf_addstr(out, i ? "," : "");
		export_csv_field(out, r->column[i].name);
	}
	for (uint32_t i = 0; wide && i < s->n_columns; i++) {
		const struct bound_metric *m = s->column[i].metric;
		SCOPED(scoped_free)
		char *head = memory_format(*m->about->unit ? "%s[%s]" : "%s", m->name, m->about->unit);

		buf_addch(out, ',');
		export_csv_field(out, head);
	}
	buf_addch(out, '\n');
}

/* The columns of metrics. */
static void shape_wide(struct exporter *x, struct rows *r, const struct sheet *s)
{
	pieces_clear(&r->member);
	for (uint32_t i = 0; i < s->n_columns && r->json; i++) {
		buf_addch(&r->member.text, ',');
		json_quote(&r->member.text, s->column[i].metric->name, strlen(s->column[i].metric->name));
		buf_addch(&r->member.text, ':');
		piece_end(&r->member);
	}
	if (!x->begun && !r->json) {
		r->cell = memory_new(s->n_columns, sizeof(*r->cell));
		r->n_wide = x->out.total.columns = s->n_columns;
		for (uint32_t i = 0; i < s->n_columns; i++)
			memory_done(names_set(&r->wide, s->column[i].metric->name, i));
	}
	free(r->wide_of);
	r->wide_of = memory_new(s->n_columns, sizeof(*r->wide_of));
	for (uint32_t i = 0; i < s->n_columns; i++)
		if (!names_get(&r->wide, s->column[i].metric->name, &r->wide_of[i]))
			r->wide_of[i] = PM_NONE;
}

static int shape_rows(struct exporter *x, const struct sheet *s, bool json)
{
	struct rows *r = x->data ? x->data : (x->data = begin_rows(x, json));
	bool wide = x->config.layout == EXPORT_WIDE;

	if (wide)
		shape_wide(x, r, s);
	if (!json && !x->begun && !x->config.no_heads)
		put_head(x, r, s, wide);
	for (struct part *p = r->part; p < r->part + r->n_parts; p++) {
		struct at at = { .sheet = s };

		pieces_clear(&p->text);
		for (uint32_t i = 0; p->scope == OF_PLACE && i < s->n_rows; i++) {
			at.place = &s->row[i].place;
			put_part(x, r, p, &at);
		}
		for (uint32_t i = 0; p->scope == OF_METRIC && i < s->n_columns; i++) {
			at.metric = s->column[i].metric;
			put_part(x, r, p, &at);
		}
		if (p->scope == OF_ALL)
			put_part(x, r, p, &at);
	}
	x->begun = true;
	return 0;
}

static int csv_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	return shape_rows(exporter_of(sink), s, false);
}

static int json_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	return shape_rows(exporter_of(sink), s, true);
}

/* ---- rows ---- */

/* A piece of text; a short one is copied at once, with what is behind it, which is overwritten. */
static inline char *put_piece(char *to, const uint8_t *text, size_t len)
{
	if (__builtin_expect(len <= PIECE_BEHIND, 1) && text)
		memcpy(to, text, PIECE_BEHIND);
	else if (text)
		memcpy(to, text, len);
	return to + len;
}

static inline char *put_number(char *to, bool json, bool there, double v)
{
	if (there && (!json || v - v == 0))
		return to + export_number(to, v);
	return json ? put(to, "null", 4) : to;
}

static char *put_verdict(char *to, const struct sheet *s, const struct sheet_cell *cell, size_t k)
{
	enum sheet_verdict verdict = sheet_verdict(s, cell, k);
	const char *word = verdicts[verdict];

	if (verdict == SHEET_UNJUDGED)
		return to;
	to = put(put(to, ",\"threshold\":\"", 14), word, strlen(word));
	*to++ = '"';
	return to;
}

static char *put_status(char *to, bool json, uint16_t reason, const struct sheet_cell *cell, size_t k)
{
	char word[16];
	const char *status = status_word(reason, sheet_quality(cell, k), word);

	if (json)
		*to++ = '"';
	to = put(to, status, strlen(status));
	if (json)
		*to++ = '"';
	return to;
}

static char *put_value(char *to, bool json, int which, const struct sheet *s, const struct sheet_cell *cell, size_t k)
{
	uint16_t reason = cell->value[k].reason;

	if (which == EXPORT_VALUE)
		return put_number(to, json, !reason, cell->value[k].v);
	if (which == VERDICT)
		return put_verdict(to, s, cell, k);
	if (which != EXPORT_COVERAGE)
		to = put_status(to, json, reason, cell, k);
	if (which == STATUS_COVERAGE)
		to = json ? put(to, ",\"coverage\":", 12) : put(to, ",", 1);
	return which == EXPORT_STATUS ? to : put_number(to, json, !reason, sheet_coverage(cell, k));
}

static inline bool is_whole(const struct sheet_cell *cell, size_t k)
{
	return !cell->value[k].reason && sheet_quality(cell, k) == STATUS_WHOLE;
}

/* What all of a row of the sheet begins with. */
static void begin_row(struct rows *r, uint32_t row)
{
	r->head.len = 0;
	for (r->n_head = 0; r->n_head < r->n_parts; r->n_head++) {
		const struct part *p = &r->part[r->n_head];
		const uint8_t *text;
		size_t len;

		if (p->scope == OF_METRIC || p->value >= 0)
			break;
		text = piece_at(&p->text, p->scope == OF_PLACE ? row : 0, &len);
		if (len)
			memcpy(output_room(&r->head, len), text, len);
		r->head.len += len;
	}
}

/* `whole`: the value is good, and nothing lacks. */
static inline __attribute__((always_inline)) char *put_parts(char *to, const struct rows *r, bool json, bool whole,
							     const struct sheet *s, uint32_t row,
							     const struct sheet_cell *cell, size_t k)
{
	if (r->head.len)
		to = put(to, r->head.data, r->head.len);
	for (const struct part *p = r->part + r->n_head, *end = r->part + r->n_parts; p < end; p++) {
		size_t len;
		const uint8_t *text = piece_at(&p->text,
					       p->scope == OF_METRIC ? cell->column :
					       p->scope == OF_PLACE  ? row :
								       0,
					       &len);

		to = put_piece(to, text, len);
		if (whole && p->value == EXPORT_VALUE)
			to = put_number(to, json, true, cell->value[k].v);
		else if (whole && p->value == STATUS_COVERAGE)
			to = json ? put(to, "\"ok\",\"coverage\":1", 17) : put(to, "ok,1", 4);
		else if (p->value >= 0)
			to = put_value(to, json, p->value, s, cell, k);
	}
	return to;
}

/* A row of the sheet; it has a cell. */
static void put_wide(struct exporter *x, struct rows *r, const struct sheet *s, uint32_t i, size_t room, size_t k)
{
	const struct sheet_row *row = &s->row[i];
	struct buf *out = &x->out.text;
	char text[WIDE_ENOUGH], *start = output_room(out, room);

	out->len += (size_t)(put_parts(start, r, r->json, false, s, i, row->cell, k) - start);
	for (uint32_t n = 0; n < row->n_cells && r->json; n++) {
		const struct sheet_cell *cell = &row->cell[n];

		piece_put(out, &r->member, cell->column);
		buf_add(out, text, (size_t)(put_value(text, true, EXPORT_VALUE, s, cell, k) - text));
	}
	if (r->n_wide)
		memset(r->cell, 0, r->n_wide * sizeof(*r->cell));
	for (uint32_t n = 0; n < row->n_cells; n++) {
		x->partial |= export_lacks(&row->cell[n], k);
		if (r->wide_of[row->cell[n].column] != PM_NONE)
			r->cell[r->wide_of[row->cell[n].column]] = &row->cell[n];
	}
	for (uint32_t n = 0; n < r->n_wide; n++) {
		const struct sheet_cell *cell = r->cell[n];

		buf_addch(out, ',');
		if (cell)
			buf_add(out, text, (size_t)(put_value(text, false, EXPORT_VALUE, s, cell, k) - text));
	}
	buf_addstr(out, r->json ? "}\n" : "\n");
}

static void put_long(struct exporter *x, const struct rows *r, const struct sheet *s, uint32_t i, uint32_t n,
		     size_t room, size_t k)
{
	const struct sheet_row *row = &s->row[i];
	const struct sheet_cell *cell = &row->cell[n];
	char *start = output_room(&x->out.text, room), *to;
	bool whole = is_whole(cell, k);

	/* The next interval of a cell is beside it, but not the next cell. */
	if (n + AHEAD < row->n_cells)
		__builtin_prefetch(&cell[AHEAD].value[k]);
	if (!whole)
		x->partial |= export_lacks(cell, k);
	if (r->json) {
		to = put_parts(start, r, true, whole, s, i, cell, k);
		*to++ = '}';
	} else {
		to = put_parts(start, r, false, whole, s, i, cell, k);
	}
	*to++ = '\n';
	x->out.text.len += (size_t)(to - start);
}

static int put_interval(struct exporter *x, struct rows *r, const struct sheet *s, const struct interval *interval,
			size_t k)
{
	struct at at = { .sheet = s, .interval = &interval[k] };
	bool wide = x->config.layout == EXPORT_WIDE;
	size_t room = WIDE_ENOUGH;

	for (struct part *p = r->part; p < r->part + r->n_parts; p++) {
		if (p->scope == OF_INTERVAL) {
			pieces_clear(&p->text);
			put_part(x, r, p, &at);
		}
		room += p->text.longest + WIDE_ENOUGH;
	}
	for (uint32_t i = 0; i < s->n_rows; i++) {
		uint32_t cells = s->row[i].n_cells;

		begin_row(r, i);
		for (uint32_t n = 0; n < (wide ? cells != 0 : cells); n++) {
			if (wide)
				put_wide(x, r, s, i, room, k);
			else
				put_long(x, r, s, i, n, room, k);
			if (__builtin_expect(output_is_full(&x->out), 0) && exporter_flush(x))
				return -x->out.error.number;
		}
	}
	return 0;
}

static int rows_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct exporter *x = exporter_of(sink);
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		err = put_interval(x, x->data, s, interval, k);
		err = err ? err : exporter_pace(x);
	}
	return err;
}

const struct sink_ops export_csv = {
	.name = "csv",
	.help = "comma-separated values, one row per value (--layout=wide: one column per metric)",
	.columns = true,
	.shape = csv_shape,
	.intervals = rows_intervals,
	.release = rows_release,
};

const struct sink_ops export_json = {
	.name = "json",
	.help = "one JSON object per line, with the names of csv",
	.columns = true,
	.shape = json_shape,
	.intervals = rows_intervals,
	.release = rows_release,
};
