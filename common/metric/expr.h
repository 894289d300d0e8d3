/*
 * The metric language: perf's MetricExpr grammar (tools/perf/util/expr.y describes the same language), and ours on
 * top. An expression is parsed once, bound once to the places where its inputs will be found, and evaluated many
 * times; evaluation allocates nothing.
 *
 * Ours, not perf's: bits(x,hi,lo) pow2(x) first(x) last(x) mean(x) max_of(x) elapsed(x).
 */
#ifndef COMMON_METRIC_EXPR_H
#define COMMON_METRIC_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

/* A number that remembers why it is missing. */
struct value {
	double v;       /* meaningful if reason is 0; NaN otherwise */
	uint16_t reason;/* 0, or a number of the caller's (pm_reason), or one of enum value_reason */
};

/* Reasons that arise in evaluation; above all numbers of pm_reason. */
enum value_reason {
	VALUE_DIVISION_BY_ZERO = 3000, /* the formula divides by something that is 0 here */
	VALUE_UNDEFINED = 3001,        /* NaN from an operation on numbers that are there */
	VALUE_NO_INPUT = 3002,         /* the recording has no such counter */
	VALUE_GAP = 3003,              /* the interval is broken by a gap, reset or run boundary */
	VALUE_NO_INTERVAL = 3004,      /* a difference needs two snapshots */
	VALUE_UNSTABLE = 3005,         /* the inputs contradict each other */
};
const char *value_reason_name(uint16_t reason); /* "division-by-zero", ...; NULL if it is not one of these */

/* What of an input the formula wants. */
enum expr_aspect {
	EXPR_VALUE,        /* difference of a cumulative counter, last value of a gauge, aggregated */
	EXPR_FIRST,        /* first(x): the value at the start of the interval, not a difference */
	EXPR_LAST,         /* last(x) */
	EXPR_MEAN,         /* mean(x): time-weighted over the interval */
	EXPR_MAX,          /* max_of(x): the largest in the interval */
	EXPR_ELAPSED,      /* elapsed(x): seconds over which x was observed, summed over its instances */
	EXPR_SOURCE_COUNT, /* source_count(x): PMU instances merged in it */
	EXPR_AGGR_NR,      /* aggr_nr(x): instances merged in it */
	EXPR_HAS_EVENT,    /* has_event(x): 1 if the recording has it */
	EXPR_LITERAL,      /* #x */
	EXPR_CPUID_MATCH,  /* strcmp_cpuid_str(x) */
};

/* An input as the text names it; escapes are resolved and '@' has become '/'. */
struct expr_input {
	char *name; /* owned by the expression; literals without '#', in lower case */
	enum expr_aspect aspect;
	uint32_t column; /* where it stands in the text, from 0 */
};

struct expr;

/* Parses all of `text`. -EINVAL with a message that names the column, -E2BIG beyond 100,000 characters or 200 levels. */
int expr_parse(struct expr **x, const char *text, struct error *e);
void expr_free(struct expr *x);
/* The distinct inputs (name and aspect), in order of first appearance. */
const struct expr_input *expr_inputs(const struct expr *x, size_t *n);
/* Value with input[i] for expr_inputs()[i]. A missing value follows perf's NaN rules, and the reason is that of the first
 * missing input that decided the result. */
struct value expr_eval(const struct expr *x, const struct value *input);
/* The same over n rows: input i of row r is input[i][r]; out[r] is the result. `scratch` holds at least
 * expr_depth(x) * n values. */
void expr_eval_rows(const struct expr *x, const struct value *const *input, size_t n, struct value *out,
		    struct value *scratch);
size_t expr_depth(const struct expr *x);
/* Appends the expression in canonical form, which parses to the same thing. */
void expr_print(const struct expr *x, struct buf *out);

/* The value as the shell-side evaluator and the tests see it. */
static inline struct value value_of(double v)
{
	return (struct value){ .v = v };
}
static inline struct value value_missing(uint16_t reason)
{
	return (struct value){ .v = __builtin_nan(""), .reason = reason };
}

#endif
