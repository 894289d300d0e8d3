#include "report/diff/diff_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void diff_data_release(struct diff_data *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->series[i].metric);
		free(d->series[i].display);
		free(d->series[i].unit);
		free(d->series[i].where);
		free(d->series[i].value);
	}
	free(d->series);
	names_release(&d->names);
	*d = (struct diff_data){ 0 };
}

int64_t diff_series_find(struct diff_data *d, const struct diff_series *as)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	struct diff_series *more;
	uint32_t found;

	buf_printf(&key, "%s\n%s\n%d %s", as->metric, as->unit, as->place.kind, as->where);
	if (key.err)
		return -ENOMEM;
	if (names_get(&d->names, buf_str(&key), &found)) {
		/* Whichever recording comes first. */
		if (as->order < d->series[found].order)
			d->series[found].order = as->order;
		return found;
	}
	if (array_room(&d->series, d->n, sizeof(*d->series)) || names_set(&d->names, buf_str(&key), (uint32_t)d->n))
		return -ENOMEM;
	more = &d->series[d->n];
	*more = *as;
	more->value = NULL;
	more->n = 0;
	more->metric = strdup(as->metric);
	more->display = strdup(as->display);
	more->unit = strdup(as->unit);
	more->where = strdup(as->where);
	d->n++;
	return more->metric && more->display && more->unit && more->where ? (int64_t)d->n - 1 : -ENOMEM;
}

struct diff_value *diff_series_value(struct diff_series *s, uint32_t recording, uint32_t run)
{
	struct diff_value *more;

	/* Other threads insert values of other recordings in between. */
	for (uint32_t i = s->n; i; i--)
		if (s->value[i - 1].recording == recording && s->value[i - 1].run == run)
			return &s->value[i - 1];
	if (array_room(&s->value, s->n, sizeof(*s->value)))
		return NULL;
	more = &s->value[s->n++];
	*more = (struct diff_value){
		.recording = recording,
		.run = run,
		.v = NAN,
		.error = NAN,
		.time = NAN,
	};
	return more;
}

static int compare_values(const void *a, const void *b)
{
	const struct diff_value *x = a, *y = b;

	return array_order(x->recording, y->recording, x->run, y->run);
}

static int compare_series(const void *a, const void *b)
{
	const struct diff_series *x = a, *y = b;
	int c = (int)x->place.kind - (int)y->place.kind;

	c = c ? c : strcmp(x->metric, y->metric);
	c = c ? c : strcmp(x->unit, y->unit);
	return c ? c : strcmp(x->where, y->where);
}

void diff_data_sort(struct diff_data *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->series[i].n)
			qsort(d->series[i].value, d->series[i].n, sizeof(*d->series[i].value), compare_values);
	names_release(&d->names);
	if (d->n)
		qsort(d->series, d->n, sizeof(*d->series), compare_series);
}
