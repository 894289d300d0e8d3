/* The result of a comparison as text: for people, for programs, for a comment in a code review. */
#ifndef REPORT_DIFF_OUTPUT_H
#define REPORT_DIFF_OUTPUT_H

#include "report/diff/diff.h"
#include "report/diff/diff_environment.h"
#include "report/diff/diff_judge.h"

struct diff_report {
	const struct diff_options *o;
	const struct diff_recordings *recordings;
	const struct diff_environment *environment;
	const struct diff_results *results;
	int status;     /* exit code */
	unsigned width; /* of the terminal; 0: none */
	bool colors;
	bool utf8; /* what the terminal understands */
};

/* 0 or -ENOMEM. */
int diff_print_table(const struct diff_report *x, struct buf *out);
int diff_print_csv(const struct diff_report *x, struct buf *out);
int diff_print_json(const struct diff_report *x, struct buf *out);
int diff_print_markdown(const struct diff_report *x, struct buf *out);

/* ---- for the formats ---- */

/* "1.0532", or "-" for NaN. */
void diff_put_number(struct buf *out, double v, const char *format);
/* A cell of a markdown table, " text |", with "|" before it if it is the first. */
void diff_put_markdown(struct buf *out, const char *text, bool first);
/* A character a run, the higher the larger, the sides apart. */
void diff_put_runs(struct buf *out, const struct diff_result *x, bool utf8);
/* "2 REGRESSED, 30 SAME, 4 INCONCLUSIVE of 36 metrics", and what that means for the exit code. */
void diff_put_summary(struct buf *out, const struct diff_report *x);
/* Numbers of both sides: "5 and 5 runs of 10 recordings". */
void diff_put_sides(struct buf *out, const struct diff_report *x);

#endif
