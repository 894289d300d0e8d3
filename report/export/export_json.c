/* JSON, one object a line: the columns of csv as members, numbers as numbers, null where there is none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

struct span {
	uint32_t at, len;
};

struct json_text {
	struct buf text;
	struct span file, *row, *metric, *unit;
};

static void text_forget(struct json_text *t)
{
	buf_clear(&t->text);
	free(t->row);
	free(t->metric);
	free(t->unit);
	t->row = t->metric = t->unit = NULL;
}

static void json_release(struct sink *sink)
{
	struct json_text *t = exporter_of(sink)->data;

	if (!t)
		return;
	text_forget(t);
	buf_release(&t->text);
	free(t);
}

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
	struct json_text *t = x->data;
	bool wide = x->config.layout == EXPORT_WIDE;
	size_t at;

	if (!t && !(t = x->data = calloc(1, sizeof(*t))))
		return -ENOMEM;
	text_forget(t);
	t->row = calloc((size_t)s->n_rows + 1, sizeof(*t->row));
	t->metric = calloc((size_t)s->n_columns + 1, sizeof(*t->metric));
	t->unit = calloc((size_t)s->n_columns + 1, sizeof(*t->unit));
	if (!t->row || !t->metric || !t->unit)
		return -ENOMEM;
	buf_addstr(&t->text, "{");
	put_name(&t->text, "recording", x->sink.recording);
	t->file = (struct span){ 0, (uint32_t)t->text.len };
	for (uint32_t r = 0; r < s->n_rows; r++) {
		at = t->text.len;
		put_place(&t->text, s, &s->row[r].place);
		t->row[r] = (struct span){ (uint32_t)at, (uint32_t)(t->text.len - at) };
	}
	for (uint32_t c = 0; c < s->n_columns; c++) {
		const struct bound_metric *m = s->column[c].metric;

		at = t->text.len;
		if (wide) {
			json_quote(&t->text, m->name, strlen(m->name));
			buf_addch(&t->text, ':');
		} else {
			put_name(&t->text, "metric", m->name);
			buf_addstr(&t->text, "\"value\":");
		}
		t->metric[c] = (struct span){ (uint32_t)at, (uint32_t)(t->text.len - at) };
		at = t->text.len;
		buf_addch(&t->text, ',');
		put_name(&t->text, "unit", m->unit);
		buf_addstr(&t->text, "\"status\":\"");
		t->unit[c] = (struct span){ (uint32_t)at, (uint32_t)(t->text.len - at) };
	}
	x->begun = true;
	return t->text.err;
}

static void put_span(struct buf *out, const struct json_text *t, struct span s)
{
	buf_add(out, t->text.data + s.at, s.len);
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

static void put_head(struct exporter *x, const struct json_text *t, const struct interval *i)
{
	char text[64];
	bool quoted;
	size_t len;

	put_span(&x->out.text, t, t->file);
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
	struct buf name = BUF_INIT;

	if (!x->config.thresholds || !m->threshold)
		return;
	buf_printf(&name, "%s:threshold", m->name);
	buf_addch(&x->out.text, ',');
	json_quote(&x->out.text, buf_str(&name), name.len);
	buf_printf(&x->out.text, ":\"%s\"", export_verdicts[sheet_verdict(s, cell, k)]);
	buf_release(&name);
}

/* What ends a value: the judgement is there where a threshold is. */
static const char *const threshold_end[] = {
	[SHEET_UNJUDGED] = "}",
	[SHEET_UNKNOWN] = ",\"threshold\":\"unknown\"}",
	[SHEET_GOOD] = ",\"threshold\":\"good\"}",
	[SHEET_BAD] = ",\"threshold\":\"bad\"}",
};

static int put_interval(struct exporter *x, const struct json_text *t, const struct sheet *s,
			const struct interval *i, size_t k)
{
	bool wide = x->config.layout == EXPORT_WIDE;
	struct buf head = BUF_INIT;
	size_t from = x->out.text.len;
	int err = 0;

	put_head(x, t, &i[k]);
	buf_add(&head, x->out.text.data + from, x->out.text.len - from);
	x->out.text.len = from;
	for (uint32_t r = 0; r < s->n_rows; r++) {
		const struct sheet_row *row = &s->row[r];

		for (uint32_t n = 0; n < row->n_cells; n++) {
			const struct sheet_cell *cell = &row->cell[n];
			const struct value *v = &cell->value[k];
			char word[16];

			if (!wide || !n) {
				buf_add(&x->out.text, head.data, head.len);
				put_span(&x->out.text, t, t->row[r]);
			}
			x->partial |= export_lacks(cell, k);
			put_span(&x->out.text, t, t->metric[cell->column]);
			put_value(&x->out.text, v);
			if (wide) {
				put_verdict(x, s, cell, k);
				buf_addch(&x->out.text, n + 1 < row->n_cells ? ',' : '}');
			} else {
				put_span(&x->out.text, t, t->unit[cell->column]);
				buf_addstr(&x->out.text, status_word(v->reason, sheet_quality(cell, k), word));
				put_coverage(&x->out.text, v, sheet_coverage(cell, k));
				buf_addstr(&x->out.text, threshold_end[sheet_verdict(s, cell, k)]);
			}
			if (!wide || n + 1 == row->n_cells)
				buf_addch(&x->out.text, '\n');
			if (output_is_full(&x->out) && (err = exporter_flush(x)))
				goto out;
		}
	}
out:
	if (head.err)
		x->out.text.err = head.err;
	buf_release(&head);
	return err;
}

static int json_intervals(struct sink *sink, const struct sheet *s, const struct interval *i, size_t n)
{
	struct exporter *x = exporter_of(sink);
	int err = 0;

	if (x->config.columns)
		return export_columns_put(x, true, s, i, n);
	for (size_t k = 0; k < n && !err; k++) {
		err = put_interval(x, x->data, s, i, k);
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
	.release = json_release,
};
