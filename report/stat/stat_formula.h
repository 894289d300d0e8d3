/* Formulas over the lines of a row: the same grammar and metrics as everywhere, fed with the sums that are
 * printed, so that filters, runs and totals are those of the lines. */
#ifndef REPORT_STAT_FORMULA_H
#define REPORT_STAT_FORMULA_H

#include "common/metric/expr.h"
#include "report/stat/stat.h"

struct stat_input {
	struct value value; /* of a constant */
	uint32_t *event;    /* owned: places in stat.event; their lines are summed */
	uint32_t n;
	struct stat_pair *pair; /* owned; of STAT_IN_PAIRS: what is summed in place of the lines (stat_class.h) */
	uint32_t n_pairs;
	enum expr_aspect aspect; /* of STAT_IN_PAIRS; RATE: the sum per second */
	double factor;           /* of the sum */
	enum {
		STAT_IN_CONSTANT,
		STAT_IN_SUM,
		STAT_IN_ELAPSED,
		STAT_IN_NR,
		STAT_IN_PAIRS,
		STAT_IN_SECONDS,
		STAT_IN_USER,
		STAT_IN_SYSTEM
	} kind;
};

struct stat_formula {
	struct expr *expr;     /* owned; NULL: there is none */
	struct stat_input *in; /* owned */
	struct value *arg;     /* owned: room for the arguments */
	size_t n;
};

/*
 * Ties the text to the recording's counters; events that it wants are added to the stat, hidden. 0; -ENOENT if the recording lacks something,
 * which *lacks (if not NULL) says; -EINVAL, -ENOMEM.
 */
int stat_formula_bind(struct stat_sheet *s, const struct stat_scope *at, struct stat_formula *f, const char *text,
		      struct buf *lacks);
void stat_formula_release(struct stat_formula *f);
struct value stat_formula_value(const struct stat_sheet *s, const struct stat_formula *f, uint32_t row);
/* Of the inputs that are printed the one with the fewest `uses` (by event), or the first of these; UINT32_MAX:
 * none. */
uint32_t stat_formula_event(const struct stat_sheet *s, const struct stat_formula *f, const uint32_t *uses);

#endif
