/* The result of a comparison as text for people, programs, or code reviews. */
#pragma once

#include "report/diff/diff.h"
#include "report/diff/diff_environment.h"
#include "report/diff/diff_judge.h"

struct diff_report {
	const struct diff_options *o;
	const struct diff_recordings *recordings;
	const struct diff_environment *environment;
	const struct diff_results *results;
	const char *failures; /* lines on runs that failed; NULL: none */
	int status;           /* exit code */
	unsigned width;       /* of the terminal; 0: none */
	bool colors;
	bool utf8; /* of the terminal */
};

/* 0 or -ENOMEM. */
int diff_print_table(const struct diff_report *x, struct buf *out);
int diff_print_csv(const struct diff_report *x, struct buf *out);
int diff_print_json(const struct diff_report *x, struct buf *out);
int diff_print_markdown(const struct diff_report *x, struct buf *out);
int diff_print_junit(const struct diff_report *x, struct buf *out);
