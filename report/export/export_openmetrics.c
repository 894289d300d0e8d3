/*
 * OpenMetrics: history with times for `promtool tsdb create-blocks-from openmetrics`; or, of a recording that is being
 * written, a file for node_exporter's textfile collector, replaced at every interval, without times.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/names.h"
#include "common/number.h"
#include "common/utf8.h"
#include "report/export/exporter.h"
#include "report/input/outfile.h"
#include "report/machine/status.h"

/* Pieces of text, one behind the other: piece i ends at end[i]. */
struct pieces {
	struct buf text;
	struct buf end; /* size_t */
};

struct openmetrics {
	struct pieces family, head, more, place; /* by column: name, HELP and TYPE, label; by row: labels */
	struct names told;                       /* families that had their head */
	struct buf origin;                       /* labels of all rows: host and those of the recording */
	bool made;                               /* the file is there */
};

static void forget(struct pieces *p)
{
	buf_clear(&p->text);
	buf_clear(&p->end);
}

static void end_piece(struct pieces *p)
{
	buf_add(&p->end, &p->text.len, sizeof(p->text.len));
}

static void put_piece(struct buf *out, const struct pieces *p, size_t i)
{
	const size_t *end = (const size_t *)(const void *)p->end.data;
	size_t from = i ? end[i - 1] : 0;

	buf_add(out, p->text.data + from, end[i] - from);
}

static void release_pieces(struct pieces *p)
{
	buf_release(&p->text);
	buf_release(&p->end);
}

static void openmetrics_release(struct sink *sink)
{
	struct openmetrics *o = exporter_of(sink)->data;

	if (!o)
		return;
	release_pieces(&o->family);
	release_pieces(&o->head);
	release_pieces(&o->more);
	release_pieces(&o->place);
	names_release(&o->told);
	buf_release(&o->origin);
	free(o);
}

/* ---- words ---- */

/* "mem.read" becomes "mem_read". True if that is another name. */
static bool put_name(struct buf *out, const char *name)
{
	bool other = false;

	for (; *name; name++) {
		bool fits = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
			    (*name >= '0' && *name <= '9') || *name == '_';

		buf_addch(out, fits ? *name : '_');
		other |= !fits;
	}
	return other;
}

static void put_escaped(struct buf *out, const char *text, bool quotes)
{
	struct buf good = BUF_INIT;

	utf8_repair(&good, text, strlen(text));
	for (const char *c = buf_str(&good); *c; c++) {
		if (*c == '\\' || *c == '\n' || (*c == '"' && quotes))
			buf_addch(out, '\\');
		buf_addch(out, *c == '\n' ? 'n' : *c);
	}
	buf_carry(out, &good);
	buf_release(&good);
}

static void put_label(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=\"", name);
	put_escaped(out, value, true);
	buf_addstr(out, "\",");
}

static void put_origin(struct openmetrics *o, const char *recording, const struct pm_map *header)
{
	const struct pm_value *labels = pm_map_get(header, PM_HEADER_LABELS);
	const char *host = pm_map_text(header, PM_HEADER_HOST, NULL);
	struct names used = { 0 };

	buf_clear(&o->origin);
	put_label(&o->origin, host ? "host" : "recording", host ? host : recording);
	for (uint32_t i = 0; labels && labels->kind == PM_VALUE_ARRAY && i < labels->array.n; i++) {
		const struct pm_value *pair = export_label_pair(labels, i);
		struct buf name = BUF_INIT;
		uint32_t before;

		if (!pair)
			continue;
		buf_addstr(&name, "label_");
		put_name(&name, pair[0].str.data);
		/* Keys that become one name are told apart by their number. */
		if (names_get(&used, buf_str(&name), &before))
			buf_printf(&name, "_%u", i);
		if (names_set(&used, buf_str(&name), i))
			o->origin.err = -ENOMEM;
		put_label(&o->origin, buf_str(&name), pair[1].str.data);
		buf_release(&name);
	}
	names_release(&used);
}

static void put_place(struct buf *out, const struct sheet *s, const struct place *p)
{
	uint32_t number[7];
	const char *name[3];

	put_label(out, "scope", pm_kind_name(p->kind));
	export_place_numbers(p, number);
	export_place_names(s, p, name);
	for (int i = 0; i < 7; i++)
		if (number[i] != PM_NONE)
			buf_printf(out, "%s=\"%u\",", export_columns[EXPORT_PACKAGE + i], number[i]);
	for (int i = 0; i < 3; i++)
		if (*name[i])
			put_label(out, export_columns[EXPORT_DEVICE + i], name[i]);
}

static void put_metric(struct openmetrics *o, const struct bound_metric *m)
{
	struct buf name = BUF_INIT;
	bool other;

	buf_addstr(&name, "pmrep_");
	other = put_name(&name, m->name);
	buf_add(&o->family.text, name.data, name.len);
	buf_printf(&o->head.text, "# HELP %s ", buf_str(&name));
	put_escaped(&o->head.text, m->help ? m->help : "", true);
	if (*m->unit && strcmp(m->unit, "1")) {
		buf_addstr(&o->head.text, " (");
		put_escaped(&o->head.text, m->unit, true);
		buf_addstr(&o->head.text, ")");
	}
	buf_printf(&o->head.text, "\n# TYPE %s gauge\n", buf_str(&name));
	if (other)
		put_label(&o->more.text, "metric", m->name);
	end_piece(&o->family);
	end_piece(&o->head);
	end_piece(&o->more);
	buf_release(&name);
}

static int openmetrics_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct openmetrics *o = x->data;

	if (!o && !(o = x->data = calloc(1, sizeof(*o))))
		return -ENOMEM;
	forget(&o->family);
	forget(&o->head);
	forget(&o->more);
	forget(&o->place);
	put_origin(o, sink->recording, &s->places->model->header);
	for (uint32_t c = 0; c < s->n_columns; c++)
		put_metric(o, s->column[c].metric);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		put_place(&o->place.text, s, &s->row[r].place);
		end_piece(&o->place);
	}
	return o->place.end.err ? o->place.end.err : o->head.text.err;
}

/* ---- samples ---- */

static int tell(struct openmetrics *o, struct buf *out, size_t column)
{
	struct buf name = BUF_INIT;
	uint32_t before;
	int err = 0;

	put_piece(&name, &o->family, column);
	if (!names_get(&o->told, buf_str(&name), &before)) {
		put_piece(out, &o->head, column);
		err = names_set(&o->told, buf_str(&name), 1);
	}
	buf_release(&name);
	return err;
}

static void put_sample(struct buf *out, const struct openmetrics *o, size_t row, size_t column, double v,
		       int64_t wall_ns)
{
	char text[NUMBER_MAX];

	put_piece(out, &o->family, column);
	buf_addch(out, '{');
	buf_add(out, o->origin.data, o->origin.len);
	put_piece(out, &o->place, row);
	put_piece(out, &o->more, column);
	out->len -= out->data[out->len - 1] == ',';
	buf_addstr(out, "} ");
	if (isfinite(v))
		buf_add(out, text, export_number(text, v));
	else
		buf_addstr(out, isnan(v) ? "NaN" : v < 0 ? "-Inf" : "+Inf");
	if (wall_ns) {
		buf_addch(out, ' ');
		buf_add(out, text, number_fixed(text, (double)(wall_ns / 1000000) / 1000, 3));
	}
	buf_addch(out, '\n');
}

/* One interval, family by family. */
static int put_interval(struct exporter *x, struct openmetrics *o, const struct sheet *s, size_t k, int64_t wall_ns)
{
	uint32_t *next = calloc((size_t)s->n_rows + 1, sizeof(*next));
	int err = next ? 0 : -ENOMEM;

	for (uint32_t c = 0; c < s->n_columns && !err; c++) {
		bool told = false;

		for (uint32_t r = 0; r < s->n_rows && !err; r++) {
			const struct sheet_row *row = &s->row[r];
			const struct sheet_cell *cell = &row->cell[next[r]];

			if (next[r] >= row->n_cells || cell->column != c)
				continue;
			next[r]++;
			x->partial |= export_lacks(cell, k);
			if (cell->value[k].reason)
				continue;
			if (!told)
				err = tell(o, &x->out.text, c);
			told = true;
			put_sample(&x->out.text, o, r, c, cell->value[k].v, wall_ns);
		}
	}
	free(next);
	return err ? err : x->out.text.err;
}

/* Readers see the file of the interval before, or this one, and never a part. */
static int replace(struct exporter *x, struct openmetrics *o)
{
	unsigned flags = o->made ? OUTFILE_OVERWRITE : x->config.overwrite;
	struct outfile out;
	int err = outfile_open(&out, x->config.replace, flags, NULL, 0, &x->sink.error);

	if (!err)
		err = outfile_write(&out, x->out.text.data, x->out.text.len);
	err = outfile_end(&out, err, &x->sink.error);
	o->made |= !err;
	buf_clear(&x->out.text);
	return err;
}

static int openmetrics_intervals(struct sink *sink, const struct sheet *s, const struct interval *i, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct openmetrics *o = x->data;
	int err = 0;

	if (x->config.replace && n) {
		names_release(&o->told);
		buf_clear(&x->out.text);
		err = put_interval(x, o, s, n - 1, 0);
		return err ? err : replace(x, o);
	}
	for (size_t k = 0; k < n && !err; k++) {
		if (i[k].wall_ns <= 0)
			return error_set(&sink->error, ENODATA,
					 "the recording has no wall clock time, which Prometheus needs");
		err = put_interval(x, o, s, k, i[k].wall_ns);
		if (!err)
			err = exporter_pace(x);
	}
	return err;
}

static int openmetrics_close(struct sink *sink)
{
	struct exporter *x = exporter_of(sink);
	struct openmetrics *o = x->data;

	/* What is not measured any longer must not be collected. */
	if (o && o->made && x->config.replace)
		return unlink(x->config.replace) ? error_sys(&sink->error, errno, "%s", x->config.replace) : 0;
	if (!x->config.replace)
		buf_addstr(&x->out.text, "# EOF\n");
	return x->out.text.err;
}

const struct sink_ops export_openmetrics = {
	.name = "openmetrics",
	.help = "text for Prometheus: with --follow for node_exporter, else history for promtool",
	.coarse = true,
	.replaces = true,
	.shape = openmetrics_shape,
	.intervals = openmetrics_intervals,
	.close = openmetrics_close,
	.release = openmetrics_release,
};
