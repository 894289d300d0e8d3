/*
 * Formulas of pmrep stat whose inputs belong together PMU by PMU: those over a class of PMUs, which take all they
 * need of a PMU from one of its groups (bind_class.h), and seconds(x,y), where each PMU has a clock of its own. The
 * lines that are printed may be sums over PMUs; what these formulas compute with are events of one PMU each, which
 * nobody sees.
 */
#ifndef REPORT_STAT_CLASS_H
#define REPORT_STAT_CLASS_H

#include "report/stat/stat_formula.h"

/* An event, and the clock that counted beside it. */
struct stat_pair {
	uint32_t event, clock; /* places in stat.event; clock PM_NONE: there is none */
};

/* Whether the input is one of these, in a formula of that scope. */
bool stat_class_takes(const struct stat_scope *at, const struct expr_input *x);
/* Fills the input. 0, -ENOENT if the recording lacks it, -ENOMEM. */
int stat_class_bind(struct stat_sheet *s, const struct stat_scope *at, struct stat_input *in,
		    const struct expr_input *x);
/* Sums over the PMUs of a row whose clock ran; missing, with the reason, if none did. */
struct value stat_class_value(const struct stat_sheet *s, const struct stat_input *in, uint32_t row);

#endif
