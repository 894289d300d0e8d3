/* Series in a bounded number of bins: how they are stored, and how bins are joined when intervals do not fit. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/incident/incident_private.h"

#define MEMORY     (8u << 20) /* bytes of bins */
#define BINS_MOST  4096
#define BINS_LEAST 64

static void forget_losses(struct incident_store *s)
{
	while (s->n_losses)
		free(s->loss[--s->n_losses].text);
}

void store_release(struct incident_store *s)
{
	for (uint32_t i = 0; i < s->n_metrics; i++)
		free(s->metric[i].name);
	for (uint32_t i = 0; i < s->n_rows; i++)
		free(s->row[i].label);
	forget_losses(s);
	for (uint32_t i = 0; i < s->n_blocks; i++)
		free(s->block[i]);
	free(s->block);
	free(s->metric);
	free(s->row);
	free(s->series);
	free(s->loss);
	free(s->start);
	free(s->from_s);
	free(s->to_s);
	names_release(&s->metrics);
	names_release(&s->rows);
	free(s->key);
	*s = (struct incident_store){ 0 };
}

/* Series are stored in blocks of about a megabyte. */
static uint32_t per_block(const struct incident_store *s)
{
	return (1u << 18) / s->bins;
}

static float *room(struct incident_store *s, uint32_t series)
{
	uint32_t per = per_block(s), at = series % per;

	if (!at) {
		if (array_room(&s->block, s->n_blocks, sizeof(*s->block)))
			return NULL;
		s->block[s->n_blocks] = malloc((size_t)per * s->bins * sizeof(float));
		if (!s->block[s->n_blocks])
			return NULL;
		s->n_blocks++;
	}
	return s->block[s->n_blocks - 1] + (size_t)at * s->bins;
}

/* Where the number of a series is, + 1, or comes. */
static uint32_t *key_of(const struct incident_store *s, uint32_t metric, uint32_t row)
{
	uint32_t hash = metric * 2654435761u ^ row * 2246822519u;

	for (hash ^= hash >> 15;; hash++) {
		uint32_t *key = &s->key[hash & (s->n_keys - 1)];

		if (!*key || (s->series[*key - 1].metric == metric && s->series[*key - 1].row == row))
			return key;
	}
}

static int make_keys(struct incident_store *s, uint32_t n)
{
	uint32_t *key = calloc(n, sizeof(*key));

	if (!key)
		return -ENOMEM;
	free(s->key);
	s->key = key;
	s->n_keys = n;
	for (uint32_t i = 0; i < s->n_series; i++)
		*key_of(s, s->series[i].metric, s->series[i].row) = i + 1;
	return 0;
}

bool store_has(const struct incident_store *s, uint32_t metric, uint32_t row)
{
	return s->n_keys && *key_of(s, metric, row);
}

int store_series(struct incident_store *s, uint32_t metric, uint32_t row, uint32_t *place)
{
	uint32_t *key;
	float *v;

	if (2 * s->n_series >= s->n_keys && make_keys(s, s->n_keys ? 2 * s->n_keys : 1024))
		return -ENOMEM;
	key = key_of(s, metric, row);
	*place = *key - 1;
	if (*key)
		return 0;
	if ((uint64_t)s->n_series * s->bins * sizeof(float) > 4 * (uint64_t)MEMORY) {
		*place = PM_NONE;
		return 0;
	}
	v = room(s, s->n_series);
	if (!v || array_room(&s->series, s->n_series, sizeof(*s->series)))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->bins; i++)
		v[i] = NAN;
	s->series[s->n_series] = (struct incident_row_series){ .metric = metric, .row = row, .v = v };
	*place = s->n_series++;
	*key = s->n_series;
	return 0;
}

/* The number of bins for which all series fit in memory. */
uint32_t store_bins_for(size_t cells)
{
	size_t fit = MEMORY / sizeof(float) / (cells ? cells : 1);

	return fit > BINS_MOST ? BINS_MOST : fit < BINS_LEAST ? BINS_LEAST : (uint32_t)fit & ~1u;
}

int store_choose_bins(struct incident_store *s, size_t cells, uint64_t expected)
{
	s->bins_most = store_bins_for(cells);
	for (s->bins = BINS_LEAST; s->bins < s->bins_most && s->bins < expected;)
		s->bins *= 2;
	s->per_bin = 1;
	s->from_s = calloc(s->bins, sizeof(*s->from_s));
	s->to_s = calloc(s->bins, sizeof(*s->to_s));
	return s->from_s && s->to_s ? 0 : -ENOMEM;
}

int store_grow(struct incident_store *s)
{
	double *from = reallocarray(s->from_s, s->bins, 2 * sizeof(*from));
	double *to = from ? reallocarray(s->to_s, s->bins, 2 * sizeof(*to)) : NULL;
	uint32_t old = s->bins, blocks = s->n_blocks;
	float **block = s->block;
	int err = 0;

	s->from_s = from ? from : s->from_s;
	s->to_s = to ? to : s->to_s;
	if (!to)
		return -ENOMEM;
	s->block = NULL;
	s->n_blocks = 0;
	s->bins = 2 * old;
	for (uint32_t i = 0; i < s->n_series && !err; i++) {
		float *v = room(s, i);

		err = v ? 0 : -ENOMEM;
		for (uint32_t k = 0; k < s->bins && v; k++)
			v[k] = k < old ? s->series[i].v[k] : NAN;
		s->series[i].v = v;
	}
	for (uint32_t i = 0; i < blocks; i++)
		free(block[i]);
	free(block);
	return err;
}

void store_halve(struct incident_store *s)
{
	for (uint32_t i = 0; i < s->n_series; i++) {
		float *v = s->series[i].v;

		for (uint32_t k = 0; k < s->used; k += 2) {
			float a = v[k], b = k + 1 < s->used ? v[k + 1] : NAN;

			v[k / 2] = isnan(a) ? b : isnan(b) ? a : (a + b) / 2;
		}
		for (uint32_t k = (s->used + 1) / 2; k < s->used; k++)
			v[k] = NAN;
	}
	for (uint32_t k = 0; k < s->used; k += 2) {
		s->from_s[k / 2] = s->from_s[k];
		s->to_s[k / 2] = s->to_s[k + 1 < s->used ? k + 1 : k];
	}
	s->used = (s->used + 1) / 2;
	s->per_bin *= 2;
	s->in_bin = s->per_bin;
}

/* Moves the series with findings to the front, and names their new places in `to`. */
static void keep_series(struct incident_store *s, const struct findings *f, uint32_t *to)
{
	for (uint32_t i = 0; i < f->n; i++)
		to[f->f[i].series] = 1;
	s->kept = 0;
	for (uint32_t i = 0; i < s->n_series; i++) {
		float *v = s->series[s->kept].v;

		if (!to[i])
			continue;
		memmove(v, s->series[i].v, s->bins * sizeof(*v));
		s->series[s->kept] = s->series[i];
		s->series[s->kept].v = v;
		to[i] = s->kept++;
	}
	for (uint32_t i = 0; i < f->n; i++)
		f->f[i].series = to[f->f[i].series];
	s->n_series = s->kept;
	while (s->n_blocks && s->n_blocks > (s->kept + per_block(s) - 1) / per_block(s))
		free(s->block[--s->n_blocks]);
}

static int keep_metrics(struct incident_store *s, uint32_t *to)
{
	uint32_t n = 0;
	int err = 0;

	for (uint32_t i = 0; i < s->n_series; i++)
		to[s->series[i].metric] = 1;
	names_release(&s->metrics);
	for (uint32_t i = 0; i < s->n_metrics; i++) {
		if (!to[i]) {
			free(s->metric[i].name);
			continue;
		}
		s->metric[n] = s->metric[i];
		to[i] = n;
		err = err ? err : names_set(&s->metrics, s->metric[i].name, n);
		n++;
	}
	s->n_metrics = n;
	for (uint32_t i = 0; i < s->n_series; i++)
		s->series[i].metric = to[s->series[i].metric];
	return err;
}

int store_keep(struct incident_store *s, struct findings *f)
{
	SCOPED(scoped_free) uint32_t *series = calloc((size_t)s->n_series + 1, sizeof(*series));
	SCOPED(scoped_free) uint32_t *metric = calloc((size_t)s->n_metrics + 1, sizeof(*metric));
	int err = series && metric ? 0 : -ENOMEM;

	if (err)
		return err;
	keep_series(s, f, series);
	err = keep_metrics(s, metric);
	return err ? err : make_keys(s, s->n_keys ? s->n_keys : 1024);
}

void store_restart(struct incident_store *s)
{
	forget_losses(s);
	s->recordings = s->used = s->in_bin = 0;
}
