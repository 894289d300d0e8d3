/*
 * A series of any length in little memory, for a mean and its error. Neighboring values are joined into blocks, and
 * these into longer ones, at most a few hundred.
 */
#pragma once

#include <stdint.h>

struct diff_stream {
	double *block;    /* owned: sums of value x weight */
	double *weight;   /* owned */
	uint32_t n, cap;  /* blocks; the last may not be full */
	uint32_t per, in; /* values a block, and in the last one */
	uint64_t values;
	double mean, squares, weights; /* of the values themselves */
};

/* `blocks`: even, at least 20; allocated at the first value. */
void diff_stream_init(struct diff_stream *s, uint32_t blocks);
void diff_stream_release(struct diff_stream *s);
/* A value that held for `weight` > 0. 0 or -ENOMEM. */
int diff_stream_add(struct diff_stream *s, double value, double weight);

struct diff_within {
	double mean;    /* weighted */
	double error;   /* its standard error, by batch means; NaN below two values */
	double time;    /* integrated autocorrelation time in values */
	double samples; /* values */
};
/* The results. 0 or -ENOMEM. */
int diff_stream_end(struct diff_stream *s, struct diff_within *out);
/* The means of all full blocks, to be freed by the caller; NULL without memory. */
double *diff_stream_blocks(const struct diff_stream *s, uint32_t *n);
/* Removes all values. */
void diff_stream_clear(struct diff_stream *s);
