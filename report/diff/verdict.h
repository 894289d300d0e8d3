/*
 * Is it slower, and is that certain: from two sets of runs of one metric to a verdict. A run is one number; what it
 * is made of does not matter here, except that runs too few to tell how runs vary among themselves need to be told.
 *
 * Two steps, because a verdict looks at its neighbours: verdict_measure() for every metric of a level, then
 * statistics_false_discovery() over their p_tested, then verdict_decide().
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric/metric.h"

#define VERDICT_SPREAD 0.10
#define VERDICT_RUNS   4 /* runs a side from which on their own spread decides */

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

/* The correlation of runs with the one before them, of a side that did not take turns with the other. */
struct verdict_order {
	double found; /* beyond chance; 0: none */
	double most;  /* what the runs leave possible, up to 0.8; few leave all that */
};

struct verdict_rules {
	double margin; /* relative change that matters: 0.02 */
	double alpha;  /* 0.05: of the test, and 1 - alpha is the level of the interval */
	double run_sd; /* relative standard deviation from run to run that is taken for known; NaN: unknown */
	struct verdict_order order;
	enum metric_better better;
	bool pairs;      /* value i of a side belongs to value i of the other */
	size_t sessions; /* that many were taken out of the values; see verdict_sessions() */
	bool by_session; /* a value is a session, not a run */
};

struct verdict {
	enum verdict_kind kind;
	const char *why;         /* why it is not more definite, or what is special; NULL: nothing. Static */
	double base, fresh;      /* mean of each side: geometric if `logarithmic` */
	double ratio, low, high; /* fresh / base and its interval; NaN: undefined */
	double p, q;             /* of "no difference"; q is the caller's to set from p_tested, NaN where p is */
	double p_tested;         /* p, or what it is if runs resemble the one before by order.most */
	double ranks; /* exact two-sided p of the order alone; NaN where p was not below alpha without it */
	size_t n_base, n_fresh;
	size_t needed;    /* runs a side that would settle it, for INCONCLUSIVE; 0: unknown or over 10,000 */
	bool logarithmic; /* all values are above 0 */
	bool within;      /* the interval is made of what happens within runs: it knows nothing of other runs */
	bool capped;      /* too few runs for a verdict that says which side is worse */
	double spread; /* relative deviation from run to run with which chance would explain the ratio; NaN: none */
};

/* Over the `n` metrics of a family, each side in the order in which it ran. Nothing is found in fewer than three metrics,
 * nor unless it is more than chance makes of the same runs in random order. */
struct verdict_order verdict_order(const struct verdict_side (*metric)[2], size_t n);
/*
 * Runs of one session (a boot) have in common what the next session has not. `value` and `session` hold n[0] runs of the
 * base, then n[1] of the new side. Where every session has runs of both sides, what it has in common is taken out of
 * them, and their number returned. Else each becomes one value, the mean of its runs, at the front of its side, and `n`
 * counts these; 0. With one session, or as many as runs, nothing is changed, and 0 returned.
 */
size_t verdict_sessions(double *value, const uint32_t *session, size_t n[2]);
/*
 * Everything but kind, q and needed. Rules for what has no logarithm: if a value of either side is 0 or below, means
 * and errors are plain, and the ratio is that of the means; its interval is that of the difference over the mean of
 * the base. Where the base is 0 in all runs there is no ratio; the p is still there.
 */
struct verdict verdict_measure(const struct verdict_side *base, const struct verdict_side *fresh,
			       const struct verdict_rules *rules);
/*
 * Sets kind, why and needed. Statistics and size: REGRESSED, IMPROVED and CHANGED need q below alpha and an interval
 * that lies beyond the margin; SAME needs an interval that lies inside it (which is a test of equivalence at
 * alpha / 2). A margin m reaches from 1 / (1 + m) to 1 + m. Of too few runs nothing is said but CHANGED: where what
 * happens within them lies beyond the margin, and chance would need runs that vary by more than VERDICT_SPREAD.
 */
void verdict_decide(struct verdict *v, const struct verdict_rules *rules);

#endif
