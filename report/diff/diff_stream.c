#include "report/diff/diff_stream.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/statistics.h"

#define BATCHES 10

void diff_stream_init(struct diff_stream *s, uint32_t blocks)
{
	*s = (struct diff_stream){ .cap = blocks, .per = 1 };
}

void diff_stream_release(struct diff_stream *s)
{
	free(s->block);
	free(s->weight);
	*s = (struct diff_stream){ 0 };
}

void diff_stream_clear(struct diff_stream *s)
{
	double *block = s->block, *weight = s->weight;

	*s = (struct diff_stream){ .block = block, .weight = weight, .cap = s->cap, .per = 1 };
}

static void join(struct diff_stream *s)
{
	for (uint32_t i = 0; i < s->cap / 2; i++) {
		s->block[i] = s->block[2 * i] + s->block[2 * i + 1];
		s->weight[i] = s->weight[2 * i] + s->weight[2 * i + 1];
	}
	s->n = s->cap / 2;
	s->per *= 2;
}

int diff_stream_add(struct diff_stream *s, double value, double weight)
{
	double step = value - s->mean;

	if (!s->block) {
		s->block = malloc(s->cap * sizeof(*s->block));
		s->weight = malloc(s->cap * sizeof(*s->weight));
		if (!s->block || !s->weight)
			return -ENOMEM;
	}
	if (!s->n || s->in == s->per) {
		if (s->n == s->cap)
			join(s);
		s->block[s->n] = s->weight[s->n] = 0;
		s->n++;
		s->in = 0;
	}
	s->block[s->n - 1] += value * weight;
	s->weight[s->n - 1] += weight;
	s->in++;
	s->values++;
	s->weights += weight;
	s->mean += step * weight / s->weights;
	s->squares += weight * step * (value - s->mean);
	return 0;
}

double *diff_stream_blocks(const struct diff_stream *s, uint32_t *n)
{
	double *mean;

	/* An incomplete block varies more than the others. */
	*n = s->n && s->in < s->per ? s->n - 1 : s->n;
	mean = malloc(((size_t)*n + 1) * sizeof(*mean));
	for (uint32_t i = 0; mean && i < *n; i++)
		mean[i] = s->block[i] / s->weight[i];
	return mean;
}

int diff_stream_end(struct diff_stream *s, struct diff_within *out)
{
	double variance = s->squares / s->weights, of_blocks;
	struct statistics_estimate e;
	uint32_t n;
	double *mean = diff_stream_blocks(s, &n);

	*out = (struct diff_within){ .mean = NAN, .error = NAN, .time = NAN, .samples = (double)s->values };
	if (!mean)
		return -ENOMEM;
	if (n) {
		out->mean = s->mean;
		e = statistics_batch_means(mean, n, BATCHES);
		out->error = e.error;
		of_blocks = statistics_of(mean, n).variance;
		out->time = statistics_autocorrelation_time(mean, n);
		/* Blocks count for as many values as their variance falls short of that of independent ones. */
		if (s->per > 1 && variance > 0)
			out->time *= s->per * of_blocks / variance;
		if (!(out->time >= 1))
			out->time = 1;
	}
	free(mean);
	return 0;
}
