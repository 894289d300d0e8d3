/* Where a recording changes within itself: change points of each metric of the system. A diagnostic, no verdict. */
#ifndef REPORT_DIFF_PHASES_H
#define REPORT_DIFF_PHASES_H

#include "common/error.h"
#include "report/diff/diff.h"
#include "report/diff/diff_output.h"

struct diff_phase {
	const struct diff_series *series;
	uint32_t recording, run;
	double at_s;          /* after the start of the run, gaps left out */
	double before, after; /* means of the phases on both sides */
	double p;
};

struct diff_phases {
	struct diff_phase *phase; /* owned; by recording, run and time */
	size_t n, cap;
	size_t tested, skipped; /* series, and those too short */
};

/* Of data that were collected with --phases. 0 or -errno. */
int diff_phases_find(struct diff_phases *out, const struct diff_data *d, struct error *e);
void diff_phases_release(struct diff_phases *x);
/* In the wanted format; the report needs no results. 0 or -ENOMEM. */
int diff_phases_print(const struct diff_phases *x, const struct diff_report *report, struct buf *out);

#endif
