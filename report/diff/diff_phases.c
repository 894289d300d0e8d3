#include "report/diff/diff_phases.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/changepoint.h"
#include "common/json.h"
#include "common/number.h"
#include "common/statistics.h"
#include "common/table.h"
#include "report/export/exporter.h"

#define PIECES   8   /* stretches of a series that its resemblance to itself is estimated in */
#define SHORTEST 5   /* values of a phase */
#define BLOCKS   256 /* values of a series: permutations take the square of that */
#define P_LIMIT  0.001

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Autocorrelation time within phases. Over all of the series a change of level looks like a long memory, so it is the
 * median over pieces, most of which hold no change.
 */
static double local_time(const double *x, size_t n)
{
	double time[PIECES];
	size_t len = n / PIECES;

	if (len < 16)
		return n < 16 ? 1 : fmin(statistics_autocorrelation_time(x, n), 4);
	for (size_t i = 0; i < PIECES; i++)
		time[i] = statistics_autocorrelation_time(x + i * len, len);
	qsort(time, PIECES, sizeof(*time), compare_numbers);
	return (time[PIECES / 2 - 1] + time[PIECES / 2]) / 2;
}

/* Joins `per` neighbours; the number of what comes of it. */
static size_t average(double *to, const double *x, size_t n, size_t per)
{
	size_t m = n / per;

	for (size_t i = 0; i < m; i++) {
		to[i] = 0;
		for (size_t k = 0; k < per; k++)
			to[i] += x[i * per + k] / (double)per;
	}
	return m;
}

static double mean_of(const double *x, size_t from, size_t to)
{
	return statistics_of(x + from, to - from).mean;
}

static int add(struct diff_phases *out, const struct diff_phase *phase)
{
	if (out->n == out->cap) {
		size_t cap = out->cap ? 2 * out->cap : 32;
		struct diff_phase *more = reallocarray(out->phase, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		out->phase = more;
		out->cap = cap;
	}
	out->phase[out->n++] = *phase;
	return 0;
}

static int find_in(struct diff_phases *out, const struct diff_series *s, const struct diff_value *v)
{
	double time = local_time(v->block, v->n_blocks);
	/* Longer than what resembles itself: twice over. */
	size_t per = time > 1.5 ? (size_t)ceil(2 * time) : 1, n;
	struct changepoint found[BLOCKS / SHORTEST + 1];
	double *x = malloc(((size_t)v->n_blocks + 1) * sizeof(*x));
	int got = 0;

	if (!x)
		return -ENOMEM;
	if (v->n_blocks / per > BLOCKS)
		per = (v->n_blocks + BLOCKS - 1) / BLOCKS;
	n = average(x, v->block, v->n_blocks, per);
	out->tested++;
	if (n < 2 * SHORTEST) {
		out->skipped++;
	} else {
		got = changepoints_find(x, n, SHORTEST, P_LIMIT, found);
		for (int i = 0, err = 0; i < got && !err; i++) {
			size_t from = i ? found[i - 1].place : 0, to = i + 1 < got ? found[i + 1].place : n;
			struct diff_phase phase = {
				.series = s,
				.recording = v->recording,
				.run = v->run,
				.at_s = v->covered_s * (double)(found[i].place * per) / (double)v->n_blocks,
				.before = mean_of(x, from, found[i].place),
				.after = mean_of(x, found[i].place, to),
				.p = found[i].p,
			};

			if ((err = add(out, &phase)))
				got = err;
		}
	}
	free(x);
	return got < 0 ? got : 0;
}

static int compare_phases(const void *a, const void *b)
{
	const struct diff_phase *x = a, *y = b;

	if (x->recording != y->recording)
		return x->recording < y->recording ? -1 : 1;
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	if (x->at_s < y->at_s || x->at_s > y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return strcmp(x->series->metric, y->series->metric);
}

int diff_phases_find(struct diff_phases *out, const struct diff_data *d, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < d->n && !err; i++)
		for (uint32_t k = 0; k < d->series[i].n && !err; k++)
			if (d->series[i].value[k].block)
				err = find_in(out, &d->series[i], &d->series[i].value[k]);
	if (err)
		return error_sys(e, -err, "phases");
	if (out->n)
		qsort(out->phase, out->n, sizeof(*out->phase), compare_phases);
	return 0;
}

void diff_phases_release(struct diff_phases *x)
{
	free(x->phase);
	*x = (struct diff_phases){ 0 };
}

/* ---- printing ---- */

static const char *const heads[] = { "recording", "run", "at", "metric", "unit", "before", "after", "ratio", "p" };
#define N_HEADS (sizeof(heads) / sizeof(heads[0]))

/* The cells of a row as text; numbers short for people, exact for programs. */
static void put_phase(const struct diff_phase *p, const struct diff_report *r, bool exact,
		      struct buf cell[static N_HEADS])
{
	const double number[] = { p->at_s, p->before, p->after, p->before > 0 ? p->after / p->before : NAN, p->p };
	static const int column[] = { 2, 5, 6, 7, 8 };
	static const char *const format[] = { "%.1f", "%.5g", "%.5g", "%.4f", "%.2g" };
	char text[NUMBER_MAX];

	for (size_t i = 0; i < N_HEADS; i++)
		buf_clear(&cell[i]);
	buf_addstr(&cell[0], r->recordings->recording[p->recording].path);
	buf_printf(&cell[1], "%u", p->run & 0xffff);
	buf_addstr(&cell[3], p->series->metric);
	buf_addstr(&cell[4], p->series->unit);
	for (size_t i = 0; i < sizeof(number) / sizeof(*number); i++) {
		if (!exact)
			diff_put_number(&cell[column[i]], number[i], format[i]);
		else if (!isnan(number[i]))
			buf_add(&cell[column[i]], text, export_number(text, number[i]));
	}
}

static int print_table(const struct diff_phases *x, const struct diff_report *r, struct buf *cell, struct buf *out)
{
	static const char *const head[] = { "RECORDING", "RUN",   "AT[s]", "METRIC", "UNIT",
					    "BEFORE",    "AFTER", "RATIO", "P" };
	struct table *t = table_new();
	int err = t ? 0 : -ENOMEM;

	for (size_t i = 0; i < N_HEADS && !err; i++)
		err = table_column(t, head[i], i == 0 || i == 3 || i == 4 ? TABLE_LEFT : TABLE_RIGHT, false);
	for (size_t k = 0; k < x->n && !err; k++) {
		put_phase(&x->phase[k], r, false, cell);
		err = table_row(t);
		for (size_t i = 0; i < N_HEADS && !err; i++)
			err = table_cell(t, i, buf_str(&cell[i]), NULL);
	}
	if (!err)
		err = table_print(t, r->width, true, r->colors, out);
	table_free(t);
	buf_printf(out, "%s%zu change%s in %zu series", x->n ? "\n" : "", x->n, x->n == 1 ? "" : "s", x->tested);
	if (x->skipped)
		buf_printf(out, "; %zu are too short", x->skipped);
	buf_addch(out, '\n');
	return err;
}

static void print_lines(const struct diff_phases *x, const struct diff_report *r, struct buf *cell, struct buf *out)
{
	bool csv = r->o->format == DIFF_CSV;

	for (size_t i = 0; i < N_HEADS; i++)
		buf_printf(out, "%s%s", csv ? i ? "," : "" : "| ", heads[i]);
	buf_addstr(out, csv ? "\n" : " |\n|---|--:|--:|---|---|--:|--:|--:|--:|\n");
	for (size_t k = 0; k < x->n; k++) {
		put_phase(&x->phase[k], r, csv, cell);
		for (size_t i = 0; i < N_HEADS; i++) {
			if (csv) {
				buf_addstr(out, i ? "," : "");
				export_csv_field(out, buf_str(&cell[i]));
			} else {
				diff_put_markdown(out, buf_str(&cell[i]), !i);
			}
		}
		buf_addch(out, '\n');
	}
}

static int print_json(const struct diff_phases *x, const struct diff_report *r, struct buf *out)
{
	struct json *whole = json_new_object(), *all = json_new_array();

	for (size_t k = 0; k < x->n; k++) {
		const struct diff_phase *p = &x->phase[k];
		struct json *one = json_new_object();

		json_put(one, "recording", json_new_text(r->recordings->recording[p->recording].path));
		json_put(one, "run", json_new_u64(p->run & 0xffff));
		json_put(one, "at", json_new_f64(p->at_s));
		json_put(one, "metric", json_new_text(p->series->metric));
		json_put(one, "unit", json_new_text(p->series->unit));
		json_put(one, "before", json_new_f64(p->before));
		json_put(one, "after", json_new_f64(p->after));
		json_put(one, "ratio", json_new_f64(p->before > 0 ? p->after / p->before : NAN));
		json_put(one, "p", json_new_f64(p->p));
		json_push(all, one);
	}
	json_put(whole, "phases", all);
	json_put(whole, "tested", json_new_u64(x->tested));
	json_put(whole, "too_short", json_new_u64(x->skipped));
	json_print(whole, 2, out);
	buf_addch(out, '\n');
	json_free(whole);
	return out->err;
}

int diff_phases_print(const struct diff_phases *x, const struct diff_report *report, struct buf *out)
{
	struct buf cell[N_HEADS] = { 0 };
	int err = 0;

	if (report->o->format == DIFF_JSON)
		err = print_json(x, report, out);
	else if (report->o->format == DIFF_TABLE)
		err = print_table(x, report, cell, out);
	else
		print_lines(x, report, cell, out);
	for (size_t i = 0; i < N_HEADS; i++) {
		if (cell[i].err && !out->err)
			out->err = cell[i].err;
		buf_release(&cell[i]);
	}
	return err ? err : out->err;
}
