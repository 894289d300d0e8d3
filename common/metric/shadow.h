/*
 * What `perf stat` prints after the '#' of an event's line: the metric of each event, its words, and the limits of
 * its colors. The formulas are rows of the metric tables under the names given here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shadow_level { SHADOW_PLAIN, SHADOW_GOOD, SHADOW_LESS_GOOD, SHADOW_NEARLY_BAD, SHADOW_BAD };

struct shadow {
	const char *event;   /* canonical name, without PMU and modifiers: "instructions", "topdown-retiring" */
	const char *metric;  /* name of the row in the metric tables */
	const char *label;   /* after the number */
	unsigned char width; /* of the number, as in "%8.3f", without a '%' */
	unsigned char decimals;
	unsigned char percent; /* 1: a '%' follows the number, 2: a blank and a '%'; the metric's unit is then "%" */
	bool own_line;         /* on a line of its own below the event's */
	bool lower;            /* limits are lower ones: above limit[0] is SHADOW_GOOD */
	/* In the metric's unit: SHADOW_BAD above [0], SHADOW_NEARLY_BAD above [1], SHADOW_LESS_GOOD above [2]. 0: no
	 * such limit; without any, the number is SHADOW_PLAIN. */
	double limit[3];
};

/*
 * The lines of an event: *row is the first of as many adjacent rows as the result says. 0: it has none and shows its
 * count per second of CPU time ("K/sec"). `type` and `config` are those of its attr, without regard to bits above 31,
 * which a hybrid PMU adds. Events that are not hardware, software or cache events are found by `name`, as recorded,
 * with or without PMU ("cpu/topdown-retiring/", "msr/smi/") and modifiers.
 */
size_t shadow_find(uint32_t type, uint64_t config, const char *name, const struct shadow **row);

/* NaN is SHADOW_PLAIN. */
enum shadow_level shadow_judge(const struct shadow *s, double value);

/* The whole table; ends with event NULL. */
extern const struct shadow shadows[];
