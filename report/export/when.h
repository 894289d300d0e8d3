/*
 * Waiting for something to happen: a sink that prints nothing, and stops the pipeline at the end of the first
 * interval for which an expression over metrics of the whole system is true.
 */
#pragma once

#include "common/metric/expr.h"
#include "report/metric/select.h"
#include "report/pipeline/sink.h"

struct when {
	struct sink sink;
	struct expr *x;
	struct value *value;            /* owned; by input */
	const struct sheet_cell **cell; /* likewise; NULL: the recording has no such metric */
	bool met;
	struct interval at; /* the interval of which it was true */
};

/* Parses the expression and selects its metrics. 0 or -errno with the text in *e. */
int when_init(struct when *w, const char *expression, struct selection *s, struct error *e);
void when_release(struct when *w);
