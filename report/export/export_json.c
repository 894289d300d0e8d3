/* JSON, one object per line: the columns of csv as members, numbers as numbers, null for missing ones. */
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

static void put_name(struct buf *b, const char *key, const char *text)
{
	buf_printf(b, "\"%s\":", key);
	if (text[0])
		json_quote(b, text, strlen(text));
	else
		buf_addstr(b, "null");
	buf_addch(b, ',');
}

static void put_place(struct buf *b, const struct sheet *s, const struct place *p)
{
	uint32_t number[7];
	const char *name[3];

	buf_printf(b, "\"scope\":\"%s\",", pm_kind_name(p->kind));
	export_place_numbers(p, number);
	export_place_names(s, p, name);
	for (int i = 0; i < 7; i++) {
		if (number[i] == PM_NONE)
			buf_printf(b, "\"%s\":null,", export_columns[EXPORT_PACKAGE + i]);
		else
			buf_printf(b, "\"%s\":%u,", export_columns[EXPORT_PACKAGE + i], number[i]);
	}
	for (int i = 0; i < 3; i++)
		put_name(b, export_columns[EXPORT_DEVICE + i], name[i]);
}

static int json_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct buf *metric = &x->piece[PIECE_METRIC].text, *unit = &x->piece[PIECE_UNIT].text;

	export_forget(x);
	buf_addstr(&x->file, "{");
	put_name(&x->file, "recording", x->sink.recording);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		put_place(&x->piece[PIECE_ROW].text, s, &s->row[r].place);
		piece_end(&x->piece[PIECE_ROW]);
	}
	for (uint32_t c = 0; c < s->n_columns; c++) {
		const struct bound_metric *m = s->column[c].metric;

		if (x->config.layout == EXPORT_WIDE) {
			json_quote(metric, m->name, strlen(m->name));
			buf_addch(metric, ':');
		} else {
			put_name(metric, "metric", m->name);
			buf_addstr(metric, "\"value\":");
		}
		buf_addch(unit, ',');
		put_name(unit, "unit", m->about->unit);
		buf_addstr(unit, "\"status\":\"");
		piece_end(&x->piece[PIECE_METRIC]);
		piece_end(&x->piece[PIECE_UNIT]);
	}
	x->begun = true;
	memory_whole(&x->file);
	return 0;
}

static void put_value(struct buf *out, const struct value *v)
{
	char number[NUMBER_MAX];

	if (v->reason || v->v - v->v != 0)
		buf_addstr(out, "null");
	else
		buf_add(out, number, export_number(number, v->v));
}

static void put_coverage(struct buf *out, const struct value *v, double coverage)
{
	struct value c = v->reason ? *v : value_of(coverage);

	buf_addstr(out, "\",\"coverage\":");
	put_value(out, &c);
}

static void put_head(struct exporter *x, const struct interval *i)
{
	char text[64];
	bool quoted;
	size_t len;

	buf_add(&x->out.text, x->file.data, x->file.len);
	buf_addstr(&x->out.text, "\"run\":");
	buf_add(&x->out.text, text, number_u64(text, i->run));
	buf_addstr(&x->out.text, ",\"time\":");
	len = export_time_text(x, i, EXPORT_TIME_RFC3339, text, &quoted);
	if (quoted)
		buf_addch(&x->out.text, '"');
	buf_add(&x->out.text, text, len);
	buf_addstr(&x->out.text, quoted ? "\",\"duration_ns\":" : ",\"duration_ns\":");
	buf_add(&x->out.text, text, number_u64(text, i->duration_ns));
	buf_addch(&x->out.text, ',');
}

/* A member of its own in wide rows. */
static void put_verdict(struct exporter *x, const struct sheet *s, const struct sheet_cell *cell, size_t k)
{
	const struct bound_metric *m = s->column[cell->column].metric;
	SCOPED(buf_release) struct buf name = BUF_INIT;

	if (!x->config.thresholds || !m->threshold)
		return;
	buf_printf(&name, "%s:threshold", m->name);
	buf_addch(&x->out.text, ',');
	json_quote(&x->out.text, buf_str(&name), name.len);
	buf_printf(&x->out.text, ":\"%s\"", export_verdicts[sheet_verdict(s, cell, k)]);
}

/* Ends a value: with a verdict if there is a threshold. */
static const char *const threshold_end[] = {
	[SHEET_UNJUDGED] = "}",
	[SHEET_UNKNOWN] = ",\"threshold\":\"unknown\"}",
	[SHEET_GOOD] = ",\"threshold\":\"good\"}",
	[SHEET_BAD] = ",\"threshold\":\"bad\"}",
};

static int put_interval(struct exporter *x, const struct sheet *s, const struct interval *i, size_t k)
{
	bool wide = x->config.layout == EXPORT_WIDE;
	SCOPED(buf_release) struct buf head = BUF_INIT;
	size_t from = x->out.text.len;
	int err = 0;

	put_head(x, &i[k]);
	buf_add(&head, x->out.text.data + from, x->out.text.len - from);
	memory_whole(&head);
	x->out.text.len = from;
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct sheet_row *row = &s->row[r];

		for (uint32_t n = 0; n < row->n_cells; n++) {
			const struct sheet_cell *cell = &row->cell[n];
			const struct value *v = &cell->value[k];
			char word[16];

			if (!wide || !n) {
				buf_add(&x->out.text, head.data, head.len);
				piece_put(&x->out.text, &x->piece[PIECE_ROW], r);
			}
			x->partial |= export_lacks(cell, k);
			piece_put(&x->out.text, &x->piece[PIECE_METRIC], cell->column);
			put_value(&x->out.text, v);
			if (wide) {
				put_verdict(x, s, cell, k);
				buf_addch(&x->out.text, n + 1 < row->n_cells ? ',' : '}');
			} else {
				piece_put(&x->out.text, &x->piece[PIECE_UNIT], cell->column);
				buf_addstr(&x->out.text, status_word(v->reason, sheet_quality(cell, k), word));
				put_coverage(&x->out.text, v, sheet_coverage(cell, k));
				buf_addstr(&x->out.text, threshold_end[sheet_verdict(s, cell, k)]);
			}
			if (!wide || n + 1 == row->n_cells)
				buf_addch(&x->out.text, '\n');
			if (output_is_full(&x->out) && (err = exporter_flush(x)))
				return err;
		}
	}
	return 0;
}

static int json_intervals(struct sink *sink, const struct sheet *s, const struct interval *i, size_t n)
{
	struct exporter *x = exporter_of(sink);
	int err = 0;

	if (x->config.columns)
		return export_columns_put(x, true, s, i, n);
	for (size_t k = 0; k < n && !err; k++) {
		err = put_interval(x, s, i, k);
		if (!err)
			err = exporter_pace(x);
	}
	return err;
}

const struct sink_ops export_json = {
	.name = "json",
	.help = "one JSON object per line, with the names of csv",
	.thresholds = true,
	.columns = true,
	.shape = json_shape,
	.intervals = json_intervals,
};
