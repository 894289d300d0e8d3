/*
 * The metric language: perf's MetricExpr grammar (tools/perf/util/expr.y describes the same language) with additions.
 * An expression is parsed once, bound to its inputs once, and evaluated many times; evaluation allocates nothing.
 *
 * From lowest to highest: A if C else B; |; ^; &; < >; + -; * / %; unary minus. The operators | ^ & are logical and
 * bind looser than comparisons: `a > 1 & b < 2` is (a > 1) & (b < 2). Functions are min max d_ratio source_count
 * aggr_nr has_event strcmp_cpuid_str. An id holds letters, digits and _ . : ? and, after a backslash, anything else;
 * '@' stands for '/', and between two '@' every character is literal: msr@tsc@, cpu@event=0x3c,cmask=1@. A word that
 * begins with a digit is a number unless it continues as an id. Literals (#smt_on) ignore case.
 *
 * Additions:
 *   bits(x,hi,lo)  the field hi..lo of a register, exact for all 64 bits (see struct value)
 *   pow2(x)        two to the power of x
 *   percent(a,b)   100 * a / b, missing (VALUE_UNSTABLE) below 0 or above 110, where a and b cannot be of the same
 *                  time; values from 100 to 110 stay
 *   first(x) last(x) mean(x) max_of(x)   other views of a counter in the interval (enum expr_aspect)
 *   elapsed(x)     seconds over which x was observed, aggregated over its instances as x is: so
 *                  100 * cpuidle.time.c1 / elapsed(cpuidle.time.c1) is right for one CPU, a package or the machine,
 *                  even if some CPUs were online for a part of the interval only
 *   rate(x)        per second: each instance's x divided by the time over which it was observed or could not count,
 *                  then aggregated over the instances as x is
 *   seconds(x,y)   x cycles of the clock y in seconds: each instance's x divided by the rate of its own y, then
 *                  summed over the instances, whose clocks may differ; x and y are counters of one instance
 *   system(m)      the metric m as the row of the whole system has it, in every row
 * They are functions only before a '(', so events may have these names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/error.h"

/* A number that remembers why it is missing. */
struct value {
	double v;        /* meaningful if reason is 0; NaN otherwise */
	uint16_t reason; /* 0, or a number of the caller's (pm_reason), or one of enum value_reason */
	int16_t rest;    /* exact integer minus v, for bits(): a double holds 53 bits, a register 64 */
};

/* Reasons that arise in evaluation, with numbers above those of pm_reason. */
enum value_reason {
	VALUE_DIVISION_BY_ZERO = 3000, /* the divisor is 0 */
	VALUE_UNDEFINED = 3001,        /* NaN from known numbers */
	VALUE_NO_INPUT = 3002,         /* the recording has no such counter */
	VALUE_GAP = 3003,              /* the interval is broken by a gap, reset or run boundary */
	VALUE_NO_INTERVAL = 3004,      /* a difference needs two snapshots */
	VALUE_UNSTABLE = 3005,         /* the inputs contradict each other */
};
const char *value_reason_name(uint16_t reason); /* "division-by-zero", ...; NULL for other numbers */

/* What the formula takes of an input. */
enum expr_aspect {
	EXPR_VALUE,        /* difference of a cumulative counter, last value of a gauge, aggregated */
	EXPR_FIRST,        /* first(x): the value at the start of the interval, not a difference */
	EXPR_LAST,         /* last(x) */
	EXPR_MEAN,         /* mean(x): time-weighted over the interval */
	EXPR_MAX,          /* max_of(x): the largest in the interval */
	EXPR_ELAPSED,      /* elapsed(x): seconds over which x was observed, aggregated as x is */
	EXPR_SOURCE_COUNT, /* source_count(x): PMU instances merged in it */
	EXPR_AGGR_NR,      /* aggr_nr(x): instances merged in it */
	EXPR_HAS_EVENT,    /* has_event(x): 1 if the recording has it */
	EXPR_LITERAL,      /* #x */
	EXPR_CPUID_MATCH,  /* strcmp_cpuid_str(x) */
	EXPR_SECONDS,      /* seconds(x,y); the input's `by` is y */
	EXPR_RATE,         /* rate(x): per second */
	EXPR_SYSTEM,       /* system(m): a metric of the whole system */
};

/* An input by its name in the text, with escapes resolved and '/' for '@'. */
struct expr_input {
	char *name; /* owned by the expression; literals without '#', in lower case */
	char *by;   /* likewise: the clock of seconds(); NULL for all others */
	enum expr_aspect aspect;
	uint32_t column; /* in the text, from 0 */
};

struct expr;

/* Parses all of `text`. 0, -EINVAL with a message that names the column, or -E2BIG beyond 1,000,000 characters or 200
 * levels. */
int expr_parse(struct expr **x, const char *text, struct error *e);
void expr_free(struct expr *x);
/* The distinct inputs (name and aspect), in order of first appearance. */
const struct expr_input *expr_inputs(const struct expr *x, size_t *n);
/* Drops what literals decide: the branch of an `if` that is never taken, the other side of 0 & or 1 |, and inputs
 * that occur nowhere else. literal() looks one up by its name in lower case without '#'; false: not known. */
void expr_fold(struct expr *x, bool (*literal)(void *ctx, const char *name, double *v), void *ctx);
/*
 * The value with input[i] for expr_inputs()[i]. A missing value follows perf's rules for NaN, and keeps the reason of
 * the first missing input that decided the result:
 *   arithmetic and comparison with a missing operand are missing; x/0 and x%0 are VALUE_DIVISION_BY_ZERO
 *   d_ratio(x,0) is 0 for any x; % drops the fractions of both operands
 *   0 & missing is 0, 1 | missing is 1, in either order; otherwise missing
 *   min and max compare and take the second operand if that fails: min(missing,b) is b, min(a,missing) is missing
 *   A if missing else B is A
 */
struct value expr_eval(const struct expr *x, const struct value *input);
/* The same over n rows: input i of row r is input[i][r]; out[r] is the result. `scratch` holds at least
 * expr_depth(x) * n values. */
void expr_eval_rows(const struct expr *x, const struct value *const *input, size_t n, struct value *out,
		    struct value *scratch);
/* The largest number of values that evaluation holds at a time. */
size_t expr_depth(const struct expr *x);

/* A known number. */
static inline struct value value_of(double v)
{
	return (struct value){ .v = v };
}
/* An integer, such as a register, for bits(). */
static inline struct value value_of_u64(uint64_t n)
{
	double v = (double)n;

	/* 2^64 cannot be converted back; it only arises by rounding up. */
	return (struct value){ .v = v, .rest = (int16_t)(v < 0x1p64 ? n - (uint64_t)v : n) };
}
static inline struct value value_missing(uint16_t reason)
{
	return (struct value){ .v = __builtin_nan(""), .reason = reason };
}

#define EXPR_MAX_TEXT 1000000
/* Appends the text of the expression, with input[i] replaced by replacement[i] in parentheses unless that is NULL.
 * Only inputs of aspect EXPR_VALUE may be replaced, and nothing of a folded expression. 0, or -E2BIG beyond
 * EXPR_MAX_TEXT. */
int expr_replace(const struct expr *x, const char *text, const char *const *replacement, struct buf *out);
