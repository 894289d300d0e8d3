/*
 * Time series of a page: very many, of any length, in bounded memory. Each series has the same number of buckets of
 * equal length, with the smallest, the largest and the mean value in each; when the recording is longer than they
 * reach, pairs of buckets become one and all are twice as long. When there are too many series, they likewise get
 * fewer buckets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/metric/expr.h"
#include "report/export/spark.h"

struct html_series {
	uint32_t metric, row;       /* the owner's */
	struct spark_bin *bucket;   /* once the set is finished: html_set.cap of them, which lie in a block of the
	                               set; NULL for a series of totals only */
	double sum, weight;         /* over all intervals */
	double whole, whole_weight; /* the number of the whole; weight 0: it has none */
	bool totalled;              /* the whole was requested; else its number is the mean of the intervals */
	double low, high;
	uint64_t present, missing, partial,
		doubtful; /* intervals; those in which the thing was not there count in none */
	uint16_t reason;  /* of the first that is missing */
	uint32_t layout;  /* the owner's: in which it was laid out last */
};

struct html_set {
	struct html_series *series; /* owned */
	uint32_t n;
	uint32_t *slot, slots;    /* owned: 1 + places in series[], by metric and row; a power of two, or 0 */
	struct spark_bin *open;   /* owned; by series: the current bucket, so that what is written lies together */
	uint32_t *taken;          /* owned; by series: `steps` when values were taken last */
	struct spark_bin **block; /* owned, as are the blocks; NULL: one of totals only */
	uint32_t n_blocks;
	uint32_t open_at;  /* index of these buckets */
	uint32_t steps;    /* how often html_set_end_steps() was called */
	bool quick;        /* totals of a series come from its buckets, once they are closed */
	uint32_t cap;      /* buckets of a series */
	uint32_t used;     /* that lie within the recording */
	uint32_t filled;   /* buckets from here on are still empty in all series */
	double width_s;    /* of a bucket */
	uint64_t memory;   /* bytes that buckets may take */
	uint32_t left_out; /* series dropped for lack of memory */
};

#define HTML_BUCKETS_LEAST 16

/* Both sizes are limits: `buckets` a series (a power of two), `memory` bytes for all. `width_s`: the shortest bucket
 * that makes sense. `quick`: for very many series, whose totals need seven digits and no counts. */
void html_set_init(struct html_set *s, uint32_t buckets, double width_s, uint64_t memory, bool quick);
void html_set_release(struct html_set *s);

/* The place of a series, added if new. `totals`: without buckets. 0, -ENOMEM, or -ENOSPC: there are too many. */
int html_set_add(struct html_set *s, uint32_t metric, uint32_t row, bool totals, uint32_t *place);
/* Before the first value: makes buckets long enough for `span_s` seconds, as they will be in the end, so that none
 * have to be joined. A span that is too short costs only joining. */
void html_set_expect(struct html_set *s, double span_s);
/* Opens the bucket that values at `at_s` seconds from the origin belong to. */
void html_set_reach(struct html_set *s, double at_s);
/* Closes the last bucket: series and buckets are complete, and nothing may be added. 0 or -ENOMEM. */
int html_set_finish(struct html_set *s);

/* Values of a series that are taken together. */
struct html_value_run {
	const struct value *value; /* one a step */
	const double *coverage;    /* likewise, as in struct sheet_cell */
	bool again;                /* another part of intervals already taken, in another bucket */
};

#define HTML_STEPS 128

/* Intervals in a row, each of which lies in one bucket; the buckets ascend, and all lie within the set. To be filled
 * by html_steps_add() after n = n_runs = 0. */
struct html_steps {
	size_t n, n_runs;
	double weight_s[HTML_STEPS]; /* for how long the values were observed */
	float weight[HTML_STEPS];    /* the same */
	bool partial[HTML_STEPS], some_partial;
	struct html_run {
		uint32_t bucket;
		uint32_t end; /* the first step after those that lie in it */
		float weight; /* of all of them */
	} run[HTML_STEPS];
};
void html_steps_add(struct html_steps *s, uint32_t bucket, double weight_s, bool partial);
/* Whether an interval at that time can be one of such steps; its bucket goes to *bucket. */
bool html_set_has(const struct html_set *s, double at_s, uint32_t *bucket);
void html_set_take(struct html_set *s, uint32_t place, const struct html_steps *steps,
		   const struct html_value_run *run);
/* Call it after all series with values in these steps: the last of their buckets is now open. */
void html_set_end_steps(struct html_set *s, const struct html_steps *steps);

/* How series go into a page. */
struct html_form {
	uint32_t merge; /* so many buckets become one */
	uint32_t bytes; /* of a number: 1 or 2 */
	bool band;      /* smallest and largest beside the mean */
};
/* Numbers of a series in that form: `used` / merge, rounded up. */
uint32_t html_form_buckets(const struct html_set *s, const struct html_form *f);
/* Bytes of all series of the set. */
uint64_t html_form_bytes(const struct html_set *s, const struct html_form *f);
/* Appends the numbers of a series: all means, then all lows, then all highs; 0 is missing, 1 the lowest value of the
 * series and the largest number that fits its highest. Little endian. */
void html_series_pack(const struct html_set *s, const struct html_series *series, const struct html_form *f,
		      struct buf *out);
