/*
 * From two sets of runs of one metric to a verdict: is it slower, and is that certain? A run is one number. If there
 * are too few runs to estimate how runs vary, the caller has to supply that.
 *
 * Two steps, because a verdict depends on its neighbors: verdict_measure() for every metric of a level, then
 * statistics_false_discovery() over their p_tested, then verdict_decide().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric/metric.h"

#define VERDICT_SPREAD 0.10
#define VERDICT_RUNS   4 /* runs per side from which on their own spread decides */

enum verdict_kind {
	VERDICT_INCONCLUSIVE,
	VERDICT_SAME, /* any difference is shown to be within the margin */
	VERDICT_IMPROVED,
	VERDICT_REGRESSED,
	VERDICT_CHANGED, /* differs by more than the margin, and neither way is better */
	VERDICT_ABSENT,  /* one of the sides has no value at all */
};
const char *verdict_name(enum verdict_kind kind); /* "REGRESSED" */

/* One side of a comparison. */
struct verdict_side {
	const double *value; /* a run each; borrowed; all finite */
	const double *error; /* standard error of each within its run, in the same unit; NULL or NaN: unknown */
	size_t n;
};

/* The correlation of successive runs, if the sides did not alternate. */
struct verdict_order {
	double found; /* beyond chance; 0: none */
	double most;  /* what the runs leave possible, up to 0.8; few leave all that */
};

struct verdict_rules {
	double margin; /* relative change that matters: 0.02 */
	double alpha;  /* 0.05: of the test, and 1 - alpha is the level of the interval */
	double run_sd; /* relative standard deviation from run to run, taken as known; NaN: unknown */
	struct verdict_order order;
	enum metric_better better;
	bool pairs;      /* value i of a side belongs to value i of the other */
	size_t sessions; /* sessions removed from the values; see verdict_sessions() */
	bool by_session; /* a value is a session, not a run */
};

struct verdict {
	enum verdict_kind kind;
	const char *why;         /* why it is not more definite, or what is special; NULL: nothing. Static */
	double base, fresh;      /* mean of each side: geometric if `logarithmic` */
	double ratio, low, high; /* fresh / base and its interval; NaN: undefined */
	double p, q;             /* of "no difference"; q is the caller's to set from p_tested, NaN where p is */
	double p_tested;         /* p, or p if successive runs are correlated by order.most */
	double ranks; /* exact two-sided p of the order alone; NaN where p was not below alpha without it */
	size_t n_base, n_fresh;
	size_t needed;    /* runs per side that would decide, for INCONCLUSIVE; 0: unknown or over 10,000 */
	bool logarithmic; /* all values are above 0 */
	bool within;      /* the interval covers variation within runs only, not between runs */
	bool capped;      /* too few runs for a verdict that says which side is worse */
	double spread; /* relative deviation from run to run with which chance would explain the ratio; NaN: none */
};

/* Over the `n` metrics of a family, with each side in the order of its runs. It is 0 for fewer than three metrics,
 * and unless it exceeds what random orders of the same runs give. */
struct verdict_order verdict_order(const struct verdict_side (*metric)[2], size_t n);
/*
 * Runs of a session (a boot) share its effects. `value` and `session` hold n[0] runs of the base, then n[1] of the
 * new side. If every session has runs of both sides, removes the effects, and returns the number of sessions.
 * Otherwise each session becomes one value, the mean of its runs, at the front of its side; `n` counts these, and the
 * result is 0. With one session, or as many as runs, nothing changes, and the result is 0.
 */
size_t verdict_sessions(double *value, const uint32_t *session, size_t n[2]);
/*
 * Sets everything but kind, q and needed. If a value of either side is 0 or below, means and errors are not
 * logarithmic, and the ratio is that of the means; its interval is that of the difference divided by the mean of the
 * base. If the base is 0 in all runs, there is a p but no ratio.
 */
struct verdict verdict_measure(const struct verdict_side *base, const struct verdict_side *fresh,
			       const struct verdict_rules *rules);
/*
 * Sets kind, why and needed. REGRESSED, IMPROVED and CHANGED need q below alpha and an interval beyond the margin;
 * SAME needs an interval within it, which is a test of equivalence at alpha / 2. A margin m reaches from 1 / (1 + m)
 * to 1 + m. Too few runs give at most CHANGED: if the interval within them is beyond the margin, and chance would
 * explain it only if runs varied by more than VERDICT_SPREAD.
 */
void verdict_decide(struct verdict *v, const struct verdict_rules *rules);
