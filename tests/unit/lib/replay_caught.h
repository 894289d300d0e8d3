/* What a replay says of few counters, kept for tests to look at. */
#pragma once

#include "tests/unit/lib/builder.h"
#include "report/replay/replay.h"
#include "report/machine/status.h"
#include "tests/unit/lib/test.h"

#define CAUGHT_MAX 4096 /* intervals */

/* What came out: values of track 0, or of any other by number. */
struct caught {
	struct replay *replay;
	struct interval interval[CAUGHT_MAX];
	struct value value[4][TRACK_ASPECTS][CAUGHT_MAX];
	struct support support[4][CAUGHT_MAX]; /* zero where the replay has nothing to say */
	bool doubt[CAUGHT_MAX];                /* of track 0 */
	size_t n;
};

static inline int catch (void *ctx, const struct interval *interval, size_t n)
{
	struct caught *c = ctx;

	assert_true(n > 0 && n <= replay_block(c->replay) && c->n + n <= CAUGHT_MAX);
	memcpy(&c->interval[c->n], interval, n * sizeof(*interval));
	for (size_t t = 0; t < replay_tracks(c->replay) && t < 4; t++)
		if (replay_support(c->replay, t))
			memcpy(&c->support[t][c->n], replay_support(c->replay, t), n * sizeof(struct support));
	for (size_t k = 0; k < n && replay_tracks(c->replay); k++)
		c->doubt[c->n + k] = replay_doubt(c->replay, 0) && replay_doubt(c->replay, 0)[k];
	for (size_t t = 0; t < replay_tracks(c->replay) && t < 4; t++)
		for (int a = 0; a < TRACK_ASPECTS; a++)
			if (replay_values(c->replay, t, (enum track_aspect)a))
				memcpy(&c->value[t][a][c->n], replay_values(c->replay, t, (enum track_aspect)a),
				       n * sizeof(struct value));
	c->n += n;
	return 0;
}

static inline void want(struct caught *c, struct builder *b, unsigned aspects)
{
	replay_begin_tracks(c->replay, &b->model);
	for (uint32_t i = 1; i <= b->model.n_counters; i++)
		replay_want(c->replay, i, aspects);
	replay_end_tracks(c->replay);
}

static inline struct caught *start_as(struct builder *b, const struct replay_config *config, unsigned aspects)
{
	struct caught *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->replay = replay_new(config, catch, c);
	want(c, b, aspects);
	return c;
}

static inline struct caught *start(struct builder *b, enum replay_mode mode, uint64_t every_ns, unsigned aspects)
{
	return start_as(b, &(struct replay_config){ .mode = mode, .every_ns = every_ns }, aspects);
}

static inline void feed(struct caught *c, struct builder *b, uint64_t row, uint32_t n)
{
	assert_int_equal(replay_chunk(c->replay, builder_chunk(b, row, n, 1)), 0);
}

static inline void stop(struct caught *c)
{
	replay_free(c->replay);
	free(c);
}

#define VALUE (1u << TRACK_VALUE)

static inline void assert_value(struct value v, double expected)
{
	assert_int_equal(v.reason, 0);
	assert_true(v.v == expected);
}

static inline void assert_missing(struct value v, unsigned reason)
{
	assert_int_equal(v.reason, reason);
}
