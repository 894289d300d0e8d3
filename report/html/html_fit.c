/* Makes a page small enough, and writes it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/html/html.h"
#include "report/html/html_text.h"
#include "report/input/input.h"

#define METRICS_LEAST 10 /* metrics that are drawn, and rows of the table, if no more fit */
#define ROWS_LEAST    20

uint64_t html_page_bytes(const struct html_page *p, const struct html_set *s, const struct html_form *f)
{
	uint64_t left_out = 0;

	for (uint32_t i = 0; i < s->n && p->metrics != UINT32_MAX; i++)
		left_out += s->series[i].metric >= p->metrics;
	return f->bytes ? html_form_bytes(s, f) / (s->n ? s->n : 1) * (s->n - left_out) : 0;
}

static uint64_t numbers_bytes(const struct html_page *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->n; i++) {
		bytes += html_page_bytes(p, &p->recording[i].near, &p->near);
		bytes += html_page_bytes(p, &p->recording[i].far, &p->far);
	}
	return html_base64_length(bytes);
}

/* The maximum of each thing per recording; for distant series, over all recordings. */
struct sizes {
	uint32_t near_buckets, far_buckets, far_series, metrics, rows;
};

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static struct sizes sizes_of(const struct html_page *p)
{
	struct sizes s = { 0 };

	for (size_t i = 0; i < p->n; i++) {
		const struct html_recording *r = &p->recording[i];

		s.near_buckets = larger(s.near_buckets, html_form_buckets(&r->near, &p->near));
		s.far_buckets = larger(s.far_buckets, html_form_buckets(&r->far, &p->far));
		s.far_series += r->far.n;
		s.metrics = larger(s.metrics, r->n_metrics);
		s.rows = larger(s.rows, r->near.n + r->totals.n);
	}
	return s;
}

/* Removes what is missed least; false: nothing is left to remove. */
static bool reduce(struct html_page *p)
{
	struct sizes most = sizes_of(p);
	bool far = p->far.bytes && most.far_series;

	if (far && p->far.bytes > 1)
		p->far.bytes = 1;
	else if (far && most.far_buckets > 128)
		p->far.merge *= 2;
	else if (most.near_buckets > 512)
		p->near.merge *= 2;
	else if (far && p->far.band)
		p->far.band = false;
	else if (far && most.far_buckets > 32)
		p->far.merge *= 2;
	else if (most.near_buckets > 64)
		p->near.merge *= 2;
	else if (far)
		p->far.bytes = 0;
	else if (most.near_buckets > 16)
		p->near.merge *= 2;
	else
		return false;
	return true;
}

/* Reduces metrics, and rows in the table of all, to `part` of them; false: there are no more than that. */
static bool reduce_text(struct html_page *p, double part, uint32_t metrics_least, uint32_t rows_least)
{
	struct sizes most = sizes_of(p);
	uint32_t metrics, rows, before = p->metrics, before_rows = p->rows;

	part = part > .9 ? .9 : part;
	metrics = (uint32_t)((p->metrics < most.metrics ? p->metrics : most.metrics) * part);
	rows = (uint32_t)((p->rows < most.rows ? p->rows : most.rows) * part);
	if (metrics >= metrics_least)
		p->metrics = metrics;
	if (rows >= rows_least)
		p->rows = rows;
	return p->metrics != before || p->rows != before_rows;
}

static void put_width(struct buf *out, double width_s)
{
	char text[NUMBER_MAX];

	buf_add(out, text, number_double(text, width_s));
	buf_addstr(out, " s");
}

static void say_reduced(struct html_page *p)
{
	const struct html_recording *r = p->recording;
	struct sizes most = sizes_of(p);

	buf_clear(&p->reduced);
	if (p->metrics < most.metrics)
		buf_printf(&p->reduced, "%u of %u metrics are drawn; --show=METRIC,... draws others\n", p->metrics,
			   most.metrics);
	if (p->rows < most.rows)
		buf_printf(&p->reduced, "the table of every metric has %u of %u rows\n", p->rows, most.rows);
	if (p->near.merge > 1) {
		buf_addstr(&p->reduced, "the system, packages and devices: ");
		put_width(&p->reduced, r->near.width_s * p->near.merge);
		buf_addstr(&p->reduced, " in a point, with the lowest and highest value in it\n");
	}
	if (!p->far.bytes && most.far_series)
		buf_addstr(&p->reduced, "single CPUs, cores and tasks: left out of charts and heat map\n");
	else if (most.far_series && p->far.bytes == 1) {
		buf_addstr(&p->reduced, "single CPUs, cores and tasks: ");
		put_width(&p->reduced, r->far.width_s * p->far.merge);
		buf_printf(&p->reduced,
			   " in a point, %s, each in 254 steps from the lowest to the highest value of its "
			   "series\n",
			   p->far.band ? "with the lowest and highest value in it" : "means only");
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->recording[i].near.left_out + p->recording[i].far.left_out)
			buf_printf(&p->reduced, "%s: %u series are not drawn\n", input_name(p->recording[i].path),
				   p->recording[i].near.left_out + p->recording[i].far.left_out);
}

/* ---- writing ---- */

struct pouring {
	struct outfile *out;
	struct buf raw, text;
	int err;
};

/* Base64 is written in groups of three bytes; the rest waits for the next call. */
static void pour(struct pouring *w, bool last)
{
	size_t n = last ? w->raw.len : w->raw.len / 3 * 3;

	if (w->err || (!last && w->raw.len < 49152))
		return;
	buf_clear(&w->text);
	html_base64(&w->text, w->raw.data, n);
	w->err = w->raw.err  ? w->raw.err :
		 w->text.err ? w->text.err :
			       outfile_write(w->out, w->text.data, w->text.len);
	if (!n)
		return;
	memmove(w->raw.data, w->raw.data + n, w->raw.len - n);
	w->raw.len -= n;
}

static void pour_set(struct pouring *w, const struct html_page *p, const struct html_set *s,
		     const struct html_form *f)
{
	for (uint32_t i = 0; i < s->n && f->bytes && !w->err; i++) {
		if (s->series[i].metric >= p->metrics)
			continue;
		html_series_pack(s, &s->series[i], f, &w->raw);
		pour(w, false);
	}
}

static int write_all(const struct html_page *p, const struct buf *before, const struct buf *after,
		     struct outfile *out, struct error *e)
{
	struct pouring w = { .out = out };

	w.err = outfile_write(out, before->data, before->len);
	for (size_t i = 0; i < p->n && !w.err; i++) {
		pour_set(&w, p, &p->recording[i].near, &p->near);
		pour_set(&w, p, &p->recording[i].far, &p->far);
	}
	/* Without a byte to write, too: memory may have been refused for the first. */
	if (!w.err)
		pour(&w, true);
	if (!w.err)
		w.err = outfile_write(out, after->data, after->len);
	buf_release(&w.raw);
	buf_release(&w.text);
	return w.err ? error_sys(e, -w.err, "%s", out->path) : 0;
}

void html_put_size(struct buf *out, uint64_t bytes)
{
	buf_printf(out, bytes < 1000000 ? "%.0f kB" : "%.1f MB",
		   bytes < 1000000 ? (double)((bytes + 999) / 1000) : (double)((bytes + 99999) / 100000) / 10);
}

#define NOTES_ROOM 1024 /* for the lines that say what was reduced */

int html_page_write(struct html_page *p, struct outfile *out, struct error *e)
{
	SCOPED(buf_release) struct buf least = BUF_INIT, after = BUF_INIT, before = BUF_INIT;
	uint64_t words = p->max_bytes / 10 * 6;
	bool fits = false, more = true, had_far = true, again;
	int err;

	p->near = (struct html_form){ .merge = 1, .bytes = 2, .band = true };
	p->far = p->near;
	p->metrics = p->rows = UINT32_MAX;
	err = html_page_text(p, &before, &after, e);
	/* If text alone fills the page, less of it leaves room for numbers. */
	while (!err && before.len + after.len > words &&
	       reduce_text(p, (double)words / (double)(before.len + after.len), 100, 500))
		err = html_page_text(p, &before, &after, e);
	while (!err && more && !fits) {
		fits = before.len + after.len + NOTES_ROOM + numbers_bytes(p) <= p->max_bytes;
		again = false;
		more = fits || reduce(p) || (again = reduce_text(p, .5, METRICS_LEAST, ROWS_LEAST));
		/* What is left out needs no names either. */
		if (again || (had_far && !p->far.bytes))
			err = html_page_text(p, &before, &after, e);
		had_far = p->far.bytes;
	}
	if (!err && !fits) {
		html_put_size(&least, before.len + after.len + NOTES_ROOM + numbers_bytes(p));
		err = error_set(e, EFBIG,
				"the page needs at least %s; allow that with --max-size, or choose metrics with "
				"--show=METRIC,...",
				buf_str(&least));
	}
	if (!err) {
		say_reduced(p);
		err = html_page_text(p, &before, &after, e);
	}
	if (!err)
		err = write_all(p, &before, &after, out, e);
	p->bytes = out->bytes;
	return err;
}
