/* Several instances' values to one, by the rule of their counter. report/numbers/sheet.h says what a missing value does. */
#ifndef REPORT_AGGREGATE_H
#define REPORT_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/metric/expr.h"
#include "format/model.h"

struct aggregate {
	size_t n;        /* intervals */
	double *sum;     /* [n], as are all */
	uint32_t *count; /* values that are there, besides those of `whole` instances that had all of them */
	uint32_t whole;
	uint16_t *lost; /* reason of one that should be there; 0: none */
	uint16_t *away; /* reason of one that takes no part */
};

enum aggregate_as {
	AGGREGATE_BY_RULE,
	AGGREGATE_SUM,   /* whatever the rule says: observed time */
	AGGREGATE_COUNT, /* how many took part */
};

/* Room for n intervals. 0 or -ENOMEM. */
int aggregate_init(struct aggregate *a, size_t n);
void aggregate_release(struct aggregate *a);

/* Starts anew, for the first n intervals. */
void aggregate_begin(struct aggregate *a, size_t n);
/* `may_go`: an instance that is gone takes no part, as if offline (a task that ended). */
void aggregate_add(struct aggregate *a, const struct value *v, enum pm_aggregation rule, bool may_go);
/* The instances that count once together (a package's CPUs for an event of the package): the first that is there. */
void aggregate_add_one_of(struct aggregate *a, const struct value *const *v, size_t n, enum pm_aggregation rule,
			  bool may_go);
/* out += result if `more`, else out = result. partial[k] is set where the result lacks a part; returns whether any
 * is. */
bool aggregate_end(struct aggregate *a, enum pm_aggregation rule, enum aggregate_as as, bool more, struct value *out,
		   uint8_t *partial);

#endif
