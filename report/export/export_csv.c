/* CSV as in RFC 4180, except that lines end with a newline alone, as current readers expect. One header row, never
 * repeated. Long: one row per value. Wide: one row per interval and place, one column per metric. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

struct csv {
	struct buf head;   /* "recording,run,time,duration_ns," of the current interval */
	struct names wide; /* wide: the header's columns; none may be added later */
	uint32_t n_wide;
	uint32_t *wide_of;              /* wide: by column of the sheet: index in the header, or PM_NONE */
	const struct sheet_cell **cell; /* wide: scratch, by index in the header */
	bool *judged;                   /* wide: by index in the header: a column with the verdict follows */
};

static void csv_release(struct sink *sink)
{
	struct csv *c = exporter_of(sink)->data;

	if (!c)
		return;
	buf_release(&c->head);
	names_release(&c->wide);
	free(c->wide_of);
	free(c->cell);
	free(c->judged);
	free(c);
}

/* "scope,package,...,cgroup," */
static void put_row_text(struct buf *out, const struct sheet *s, const struct place *p)
{
	uint32_t number[7];
	const char *name[3];

	buf_addstr(out, pm_kind_name(p->kind));
	export_place_numbers(p, number);
	export_place_names(s, p, name);
	for (int i = 0; i < 7; i++) {
		buf_addch(out, ',');
		if (number[i] != PM_NONE)
			buf_printf(out, "%u", number[i]);
	}
	for (int i = 0; i < 3; i++) {
		buf_addch(out, ',');
		export_csv_field(out, name[i]);
	}
	buf_addch(out, ',');
}

static void wide_heads(struct exporter *x, struct csv *c, const struct sheet *s)
{
	SCOPED(buf_release) struct buf head = BUF_INIT;

	if (!x->begun) {
		c->cell = memory_new(s->n_columns, sizeof(*c->cell));
		c->judged = memory_new(s->n_columns, sizeof(*c->judged));
		for (uint32_t i = 0; i < s->n_columns; i++) {
			memory_done(names_set(&c->wide, s->column[i].metric->name, i));
			c->judged[i] = x->config.thresholds && s->column[i].metric->threshold;
		}
		c->n_wide = x->out.total.columns = s->n_columns;
		for (int i = 0; i < EXPORT_N_PLACE && !x->config.no_heads; i++)
			buf_printf(&x->out.text, "%s%s", i ? "," : "", export_columns[i]);
		for (uint32_t i = 0; i < s->n_columns && !x->config.no_heads; i++) {
			const struct bound_metric *m = s->column[i].metric;

			buf_clear(&head);
			buf_printf(&head, m->about->unit[0] ? "%s[%s]" : "%s", m->name, m->about->unit);
			buf_addch(&x->out.text, ',');
			export_csv_field(&x->out.text, buf_str(&head));
			buf_carry(&x->out.text, &head);
			if (!c->judged[i])
				continue;
			buf_clear(&head);
			buf_printf(&head, "%s:threshold", m->name);
			buf_addch(&x->out.text, ',');
			export_csv_field(&x->out.text, buf_str(&head));
			buf_carry(&x->out.text, &head);
		}
		if (!x->config.no_heads)
			buf_addch(&x->out.text, '\n');
	}
	for (uint32_t i = 0; i < s->n_columns; i++)
		if (!names_get(&c->wide, s->column[i].metric->name, &c->wide_of[i]))
			c->wide_of[i] = PM_NONE;
}

static int csv_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct csv *c = x->data;
	struct buf *metric = &x->piece[PIECE_METRIC].text, *unit = &x->piece[PIECE_UNIT].text;

	if (x->config.columns)
		return 0;
	if (!c)
		c = x->data = memory_new(1, sizeof(*c));
	export_forget(x);
	free(c->wide_of);
	c->wide_of = memory_new(s->n_columns, sizeof(*c->wide_of));
	export_csv_field(&x->file, x->sink.recording);
	buf_addch(&x->file, ',');
	memory_whole(&x->file);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		put_row_text(&x->piece[PIECE_ROW].text, s, &s->row[r].place);
		piece_end(&x->piece[PIECE_ROW]);
	}
	for (uint32_t i = 0; i < s->n_columns; i++) {
		export_csv_field(metric, s->column[i].metric->name);
		buf_addch(metric, ',');
		piece_end(&x->piece[PIECE_METRIC]);
		buf_addch(unit, ',');
		export_csv_field(unit, s->column[i].metric->about->unit);
		buf_addch(unit, ',');
		piece_end(&x->piece[PIECE_UNIT]);
	}
	if (x->config.layout == EXPORT_WIDE) {
		wide_heads(x, c, s);
	} else if (!x->begun && !x->config.no_heads) {
		for (int i = 0; i < EXPORT_N_COLUMNS; i++)
			buf_printf(&x->out.text, "%s%s", i ? "," : "", export_columns[i]);
		buf_addstr(&x->out.text, x->config.thresholds ? ",threshold\n" : "\n");
	}
	x->begun = true;
	return 0;
}

static char *put(char *to, const void *text, size_t len)
{
	memcpy(to, text, len);
	return to + len;
}

/* "recording,run,time,duration_ns," */
static char *put_interval(char *to, const struct exporter *x, const struct interval *i)
{
	bool quoted;

	to = put(to, x->file.data, x->file.len);
	to += number_u64(to, i->run);
	*to++ = ',';
	to += export_time_text(x, i, EXPORT_TIME_RFC3339, to, &quoted);
	*to++ = ',';
	to += number_u64(to, i->duration_ns);
	*to++ = ',';
	return to;
}

static char *put_verdict(char *to, const struct sheet *s, const struct sheet_cell *cell, size_t k)
{
	const char *word = export_verdicts[sheet_verdict(s, cell, k)];

	return put(to, word, strlen(word));
}

/* The end of a row, except for the verdict. */
static char *put_status(char *to, struct exporter *x, const struct sheet_cell *cell, size_t k)
{
	uint16_t reason = cell->value[k].reason;
	enum status_quality quality = sheet_quality(cell, k);
	const char *why;
	char word[16];

	if (__builtin_expect(!reason && quality == STATUS_WHOLE, 1))
		return put(to, "ok,1\n", 5);
	why = status_word(reason, quality, word);
	to = put(to, why, strlen(why));
	*to++ = ',';
	if (!reason)
		to += export_number(to, sheet_coverage(cell, k));
	*to++ = '\n';
	x->partial |= reason ? !status_absent(reason) : sheet_coverage(cell, k) < 1;
	return to;
}

static int long_interval(struct exporter *x, struct csv *c, const struct sheet *s, const struct interval *i, size_t k)
{
	char *start, *to;
	int err;

	/* All rows of an interval begin alike. */
	buf_clear(&c->head);
	to = output_room(&c->head, x->file.len + 128);
	c->head.len = (size_t)(put_interval(to, x, &i[k]) - to);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct sheet_row *row = &s->row[r];
		size_t place_len, metric_len, unit_len;
		const uint8_t *place = piece_at(&x->piece[PIECE_ROW], r, &place_len);

		for (uint32_t n = 0; n < row->n_cells; n++) {
			const struct sheet_cell *cell = &row->cell[n];
			const struct value *v = &cell->value[k];
			const uint8_t *metric = piece_at(&x->piece[PIECE_METRIC], cell->column, &metric_len);
			const uint8_t *unit = piece_at(&x->piece[PIECE_UNIT], cell->column, &unit_len);

			start = to = output_room(&x->out.text, c->head.len + place_len + metric_len + unit_len + 128);
			to = put(to, c->head.data, c->head.len);
			to = put(put(to, place, place_len), metric, metric_len);
			if (!v->reason)
				to += export_number(to, v->v);
			to = put_status(put(to, unit, unit_len), x, cell, k);
			if (x->config.thresholds) {
				to[-1] = ',';
				to = put_verdict(to, s, cell, k);
				*to++ = '\n';
			}
			x->out.text.len += (size_t)(to - start);
			if (__builtin_expect(output_is_full(&x->out), 0) && (err = exporter_flush(x)))
				return err;
		}
	}
	return 0;
}

static void wide_interval(struct exporter *x, struct csv *c, const struct sheet *s, const struct interval *i,
			  size_t k)
{
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct sheet_row *row = &s->row[r];
		size_t place_len;
		const uint8_t *place = piece_at(&x->piece[PIECE_ROW], r, &place_len);
		char *start, *to;

		if (!row->n_cells)
			continue;
		memset(c->cell, 0, c->n_wide * sizeof(*c->cell));
		for (uint32_t n = 0; n < row->n_cells; n++) {
			const struct sheet_cell *cell = &row->cell[n];

			if (c->wide_of[cell->column] == PM_NONE)
				continue;
			c->cell[c->wide_of[cell->column]] = cell;
			x->partial |= export_lacks(cell, k);
		}
		start = to = output_room(&x->out.text,
					 x->file.len + place_len + 128 + (size_t)c->n_wide * (NUMBER_MAX + 10));
		to = put(put_interval(to, x, &i[k]), place, place_len);
		for (uint32_t n = 0; n < c->n_wide; n++) {
			const struct sheet_cell *cell = c->cell[n];

			if (cell && !cell->value[k].reason)
				to += export_number(to, cell->value[k].v);
			*to++ = ',';
			if (!c->judged[n])
				continue;
			to = cell ? put_verdict(to, s, cell, k) : to;
			*to++ = ',';
		}
		/* The row's text ends with a comma, and so does the last value. */
		to[-1] = '\n';
		x->out.text.len += (size_t)(to - start);
	}
}

static int csv_intervals(struct sink *sink, const struct sheet *s, const struct interval *i, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct csv *c = x->data;
	int err = 0;

	if (x->config.columns)
		return export_columns_put(x, false, s, i, n);
	for (size_t k = 0; k < n && !err; k++) {
		if (x->config.layout == EXPORT_WIDE)
			wide_interval(x, c, s, i, k);
		else
			err = long_interval(x, c, s, i, k);
		err = err ? err : exporter_pace(x);
	}
	return err;
}

const struct sink_ops export_csv = {
	.name = "csv",
	.help = "comma-separated values, one row per value (--layout=wide: one column per metric)",
	.thresholds = true,
	.columns = true,
	.shape = csv_shape,
	.intervals = csv_intervals,
	.release = csv_release,
};
