/* From series to verdicts: rules of each metric, levels below flagged parents, the false discovery rate. */
#pragma once

#include "common/error.h"
#include "report/diff/diff.h"
#include "report/diff/diff_noise.h"

struct diff_result {
	const struct diff_series *series;
	struct verdict v;
	struct verdict_rules rules;
	bool gated;                 /* named by --gate */
	bool fails;                 /* decides the exit code */
	bool decides;               /* without --gate: has to be decided for success */
	double *value;              /* owned: the base's runs, then the new ones */
	size_t n[DIFF_SIDES];       /* their number; the verdict may count sessions instead */
	double samples[DIFF_SIDES]; /* effective, of all runs of a side; NaN: not estimated */
	double time[DIFF_SIDES];    /* mean autocorrelation time in intervals */
	char why[120];              /* a remark on the verdict, or "" */
};

struct diff_results {
	struct diff_result *result; /* owned; by level, then by size of the effect */
	size_t n;
	size_t count[VERDICT_ABSENT + 1]; /* of the metrics with a direction; with gates, of all that are gated */
	size_t decided;                   /* of those */
	size_t neutral;                   /* without gates: metrics of the system without a direction */
	bool failed, inconclusive;        /* for the exit code */
	bool by_default;                  /* the gates are a command's defaults */
};

/* 0 or -errno. */
int diff_judge(struct diff_results *out, const struct diff_data *d, const struct diff_recordings *r,
	       const struct diff_options *o, const struct diff_noise *noise, struct error *e);
/* Whether nothing was decided. */
static inline bool diff_open(const struct diff_result *x)
{
	return x->v.kind == VERDICT_INCONCLUSIVE || x->v.kind == VERDICT_ABSENT || x->v.capped;
}
/* What its verdict counts: runs or boots. */
static inline const char *diff_unit(const struct diff_result *x)
{
	return x->rules.by_session ? "boots" : "runs";
}
/* Whether it counts for verdicts: its command did not fail. */
static inline bool diff_counts(const struct diff_run *run, const struct diff_options *o)
{
	return !run->failed || o->allow_failures;
}
void diff_results_release(struct diff_results *r);
