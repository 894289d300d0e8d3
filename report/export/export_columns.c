/* csv and json with the requested columns, in that order: --columns. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/memory.h"
#include "common/number.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

#define LABEL     EXPORT_ALL_COLUMNS /* label_KEY */
#define NAME_MOST 256

static int column_of(const char *name)
{
	for (int i = 0; i < EXPORT_ALL_COLUMNS; i++)
		if (!strcmp(name, export_columns[i]))
			return i;
	return !strncmp(name, "label_", 6) && strlen(name) < NAME_MOST ? LABEL : -1;
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

/* The last label with that key, or NULL. */
static const char *export_label(const struct pm_value *labels, const char *key)
{
	const char *found = NULL;

	for (uint32_t i = 0; labels && labels->kind == PM_VALUE_ARRAY && i < labels->array.n; i++) {
		const struct pm_value *pair = export_label_pair(labels, i);

		if (pair && !strcmp(pair[0].str.data, key))
			found = pair[1].str.data;
	}
	return found;
}

void export_recording_id(const struct pm_model *m, char text[static 17])
{
	for (int i = 0; i < 8; i++)
		for (int half = 0; half < 2; half++)
			text[2 * i + half] = "0123456789abcdef"[m->recording_id[i] >> (half ? 0 : 4) & 15];
	text[16] = '\0';
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

static void put_number(struct buf *out, bool json, bool there, double v)
{
	char text[NUMBER_MAX];

	if (there && (!json || v - v == 0))
		buf_add(out, text, export_number(text, v));
	else
		buf_addstr(out, json ? "null" : "");
}

/* What all rows of a place, or of an interval, have in common. */
static void put_time(struct exporter *x, bool json, const struct interval *i)
{
	char text[64];
	bool quoted;
	size_t len = export_time_text(x, i, EXPORT_TIME_RFC3339, text, &quoted);

	buf_addstr(&x->out.text, json && quoted ? "\"" : "");
	buf_add(&x->out.text, text, len);
	buf_addstr(&x->out.text, json && quoted ? "\"" : "");
}

static void put_fact(struct exporter *x, bool json, const struct pm_model *m, int column, const char *name)
{
	char id[17];

	export_recording_id(m, id);
	put_text(&x->out.text, json,
		 column == EXPORT_HOST         ? pm_map_text(&m->header, PM_HEADER_HOST, NULL) :
		 column == EXPORT_MACHINE      ? pm_map_text(&m->header, PM_HEADER_MACHINE_ID, NULL) :
		 column == EXPORT_RECORDING_ID ? id :
						 export_label(pm_map_get(&m->header, PM_HEADER_LABELS), name + 6));
}

struct at {
	const struct sheet *sheet;
	const struct sheet_row *row;
	const struct sheet_cell *cell;
	const struct interval *interval;
	size_t k;
};

static void put_column(struct exporter *x, bool json, const struct at *at, int column, const char *name)
{
	const struct value *v = &at->cell->value[at->k];
	const struct bound_metric *m = at->sheet->column[at->cell->column].metric;
	struct buf *out = &x->out.text;
	uint32_t number[7];
	const char *names[3];
	char word[16];

	switch (column) {
	case EXPORT_RECORDING:
		return put_text(out, json, x->sink.recording);
	case EXPORT_RUN:
		return put_number(out, json, true, at->interval->run);
	case EXPORT_TIME:
		return put_time(x, json, at->interval);
	case EXPORT_DURATION:
		return put_number(out, json, true, (double)at->interval->duration_ns);
	case EXPORT_ELAPSED:
		return put_number(out, json, true, (double)(at->interval->to_ns - x->sink.origin_ns));
	case EXPORT_SCOPE:
		return put_text(out, json, pm_kind_name(at->row->place.kind));
	case EXPORT_METRIC:
		return put_text(out, json, m->name);
	case EXPORT_UNIT:
		return put_text(out, json, m->about->unit);
	case EXPORT_VALUE:
		return put_number(out, json, !v->reason, v->v);
	case EXPORT_COVERAGE:
		return put_number(out, json, !v->reason, sheet_coverage(at->cell, at->k));
	case EXPORT_STATUS:
		return put_text(out, json, status_word(v->reason, sheet_quality(at->cell, at->k), word));
	case EXPORT_HOST:
	case EXPORT_MACHINE:
	case EXPORT_RECORDING_ID:
	case LABEL:
		return put_fact(x, json, at->sheet->places->model, column, name);
	default:
		break;
	}
	if (column < EXPORT_DEVICE) {
		export_place_numbers(&at->row->place, number);
		return put_number(out, json, number[column - EXPORT_PACKAGE] != PM_NONE,
				  number[column - EXPORT_PACKAGE]);
	}
	export_place_names(at->sheet, &at->row->place, names);
	put_text(out, json, names[column - EXPORT_DEVICE]);
}

static void put_row(struct exporter *x, bool json, const struct at *at)
{
	const char *name = x->config.columns;

	for (int i = 0; *name; i++) {
		size_t len = strcspn(name, ",");
		char one[NAME_MOST];

		if (i || json)
			buf_addch(&x->out.text, json && !i ? '{' : ',');
		snprintf(one, sizeof(one), "%.*s", (int)len, name);
		if (json) {
			json_quote(&x->out.text, one, strlen(one));
			buf_addch(&x->out.text, ':');
		}
		if (at)
			put_column(x, json, at, column_of(one), one);
		else
			export_csv_field(&x->out.text, one);
		name += len + (name[len] == ',');
	}
	buf_addstr(&x->out.text, json ? "}\n" : "\n");
}

int export_columns_put(struct exporter *x, bool json, const struct sheet *s, const struct interval *interval,
		       size_t n)
{
	int err = 0;

	if (!x->begun && !json && !x->config.no_heads)
		put_row(x, json, NULL);
	x->begun = true;
	for (size_t k = 0; k < n; k++)
		for (uint32_t r = 0; r < s->n_rows; r++)
			for (uint32_t c = 0; c < s->row[r].n_cells && !err; c++) {
				struct at at = { s, &s->row[r], &s->row[r].cell[c], &interval[k], k };

				x->partial |= export_lacks(at.cell, k);
				put_row(x, json, &at);
				err = output_is_full(&x->out) ? exporter_flush(x) : 0;
			}
	return err ? err : exporter_pace(x);
}
