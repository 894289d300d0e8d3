/* OpenMetrics: history with times for `promtool tsdb create-blocks-from openmetrics`; or, for a recording that is
 * being written, a file for node_exporter's textfile collector, replaced at every interval, without times. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/names.h"
#include "common/number.h"
#include "common/table.h"
#include "report/export/exporter.h"
#include "report/input/outfile.h"

struct openmetrics {
	struct buf origin;                 /* labels of all rows */
	struct pieces family, head, label; /* by column: its name, HELP and TYPE, a label */
	struct pieces place;               /* by row: labels */
	struct names told;                 /* families whose head has been written */
	bool made;                         /* the file is there */
};

static void openmetrics_release(struct sink *sink)
{
	struct openmetrics *o = exporter_of(sink)->data;

	if (!o)
		return;
	buf_release(&o->origin);
	pieces_release(&o->family);
	pieces_release(&o->head);
	pieces_release(&o->label);
	pieces_release(&o->place);
	names_release(&o->told);
	free(o);
}

/* ---- words ---- */

/* "mem.read" becomes "mem_read". True if the name changed. */
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
	SCOPED(buf_release) struct buf good = BUF_INIT;

	for (size_t n = strcspn(text, "\n"); text_escape(&good, text, n), text[n]; n = strcspn(text, "\n")) {
		buf_addch(&good, '\n');
		text += n + 1;
	}
	for (const char *c = buf_str(&good); *c; c++) {
		if (*c == '\\' || *c == '\n' || (*c == '"' && quotes))
			buf_addch(out, '\\');
		buf_addch(out, *c == '\n' ? 'n' : *c);
	}
	buf_carry(out, &good);
}

static void put_label(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=\"", name);
	put_escaped(out, value, true);
	buf_addstr(out, "\",");
}

/* Labels of all rows: host and those of the recording. */
static void put_origin(struct buf *out, const char *recording, const struct pm_map *header)
{
	const struct pm_value *labels = pm_map_get(header, PM_HEADER_LABELS);
	const char *host = pm_map_text(header, PM_HEADER_HOST, NULL);
	SCOPED(names_release) struct names used = { 0 };

	put_label(out, host ? "host" : "recording", host ? host : recording);
	for (uint32_t i = 0; labels && labels->kind == PM_VALUE_ARRAY && i < labels->array.n; i++) {
		const struct pm_value *pair = export_label_pair(labels, i);
		SCOPED(buf_release) struct buf name = BUF_INIT;
		uint32_t before;

		if (!pair)
			continue;
		buf_addstr(&name, "label_");
		put_name(&name, pair[0].str.data);
		/* If several keys become one name, their number distinguishes them. */
		while (names_get(&used, buf_str(&name), &before))
			buf_printf(&name, "_%u", i);
		memory_whole(&name);
		memory_done(names_set(&used, buf_str(&name), i));
		put_label(out, buf_str(&name), pair[1].str.data);
	}
}

static void put_place(struct buf *out, const struct sink *sink, const struct sheet *s, const struct place *p)
{
	for (int i = EXPORT_SCOPE; i <= EXPORT_CGROUP; i++) {
		struct export_fact fact;

		export_fact(&fact, sink, s, p, NULL, (enum export_column)i);
		if (fact.is_number)
			buf_printf(out, "%s=\"%llu\",", export_columns[i], (unsigned long long)fact.number);
		else if (*fact.text)
			put_label(out, export_columns[i], fact.text);
	}
}

static void put_metric(struct openmetrics *o, const struct bound_metric *m)
{
	struct buf *head = &o->head.text;
	SCOPED(buf_release) struct buf name = BUF_INIT;
	bool other;

	buf_addstr(&name, "pmrep_");
	other = put_name(&name, m->name);
	buf_add(&o->family.text, name.data, name.len);
	buf_printf(head, "# HELP %s ", buf_str(&name));
	put_escaped(head, m->about->help ? m->about->help : "", true);
	if (*m->about->unit && strcmp(m->about->unit, "1")) {
		buf_addstr(head, " (");
		put_escaped(head, m->about->unit, true);
		buf_addstr(head, ")");
	}
	buf_printf(head, "\n# TYPE %s gauge\n", buf_str(&name));
	if (other)
		put_label(&o->label.text, "metric", m->name);
	buf_carry(head, &name);
	piece_end(&o->family);
	piece_end(&o->head);
	piece_end(&o->label);
}

static int openmetrics_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct openmetrics *o = x->data ? x->data : (x->data = memory_new(1, sizeof(*o)));

	buf_clear(&o->origin);
	pieces_clear(&o->family);
	pieces_clear(&o->head);
	pieces_clear(&o->label);
	pieces_clear(&o->place);
	put_origin(&o->origin, sink->recording, &s->places->model->header);
	memory_whole(&o->origin);
	for (uint32_t c = 0; c < s->n_columns; c++)
		put_metric(o, s->column[c].metric);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		put_place(&o->place.text, sink, s, &s->row[r].place);
		piece_end(&o->place);
	}
	return 0;
}

/* ---- samples ---- */

static void tell(struct exporter *x, struct openmetrics *o, size_t column)
{
	SCOPED(buf_release) struct buf name = BUF_INIT;
	uint32_t before;

	piece_put(&name, &o->family, column);
	memory_whole(&name);
	if (names_get(&o->told, buf_str(&name), &before))
		return;
	piece_put(&x->out.text, &o->head, column);
	memory_done(names_set(&o->told, buf_str(&name), 1));
}

static void put_sample(struct exporter *x, const struct openmetrics *o, size_t row, size_t column, double v,
		       int64_t wall_ns)
{
	struct buf *out = &x->out.text;
	char text[NUMBER_MAX];

	piece_put(out, &o->family, column);
	buf_addch(out, '{');
	buf_add(out, o->origin.data, o->origin.len);
	piece_put(out, &o->place, row);
	piece_put(out, &o->label, column);
	out->len -= !out->err && out->data[out->len - 1] == ',';
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

/* Writes one interval, family by family. */
static void put_interval(struct exporter *x, struct openmetrics *o, const struct sheet *s, size_t k, int64_t wall_ns)
{
	SCOPED(scoped_free) uint32_t *next = memory_new(s->n_rows, sizeof(*next));

	for (uint32_t c = 0; c < s->n_columns; c++) {
		bool told = false;

		for (uint32_t r = 0; r < s->n_rows; r++) {
			const struct sheet_row *row = &s->row[r];
			const struct sheet_cell *cell = &row->cell[next[r]];

			if (next[r] >= row->n_cells || cell->column != c)
				continue;
			next[r]++;
			x->partial |= export_lacks(cell, k);
			if (cell->value[k].reason)
				continue;
			if (!told)
				tell(x, o, c);
			told = true;
			put_sample(x, o, r, c, cell->value[k].v, wall_ns);
		}
	}
}

/* Readers see the file of the previous interval or this one, never a part. */
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
		put_interval(x, o, s, n - 1, 0);
		memory_whole(&x->out.text);
		return replace(x, o);
	}
	for (size_t k = 0; k < n && !err; k++) {
		if (i[k].wall_ns <= 0)
			return error_set(&sink->error, ENODATA,
					 "the recording has no wall clock time, which Prometheus needs");
		put_interval(x, o, s, k, i[k].wall_ns);
		err = exporter_pace(x);
	}
	return err;
}

static int openmetrics_close(struct sink *sink)
{
	struct exporter *x = exporter_of(sink);
	struct openmetrics *o = x->data;

	/* What is no longer measured must not be collected. */
	if (o && o->made && x->config.replace)
		return unlink(x->config.replace) ? error_sys(&sink->error, errno, "%s", x->config.replace) : 0;
	if (!x->config.replace)
		buf_addstr(&x->out.text, "# EOF\n");
	return 0;
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
