/*
 * What `perf stat` prints behind the '#' of an event's line: which metric belongs to which event, with what words and
 * from where on it is coloured. The formulas are rows of the metric tables under the names given here.
 */
#ifndef COMMON_METRIC_SHADOW_H
#define COMMON_METRIC_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum shadow_level { SHADOW_PLAIN, SHADOW_GOOD, SHADOW_LESS_GOOD, SHADOW_NEARLY_BAD, SHADOW_BAD };

struct shadow {
	const char *event;   /* canonical name, without PMU and modifiers: "instructions", "topdown-retiring" */
	const char *metric;  /* name of the row in the metric tables */
	const char *label;   /* behind the number */
	unsigned char width; /* of the number, as in "%8.3f"; a '%' comes on top of it */
	unsigned char decimals;
	bool percent;  /* a '%' directly behind the number; the metric's unit is "%" then */
	bool own_line; /* below the line of its event, on one of its own */
	bool lower;    /* the limits are lower ones: what lies above limit[0] is SHADOW_GOOD */
	/* In the metric's unit. Above [0] it is SHADOW_BAD, above [1] SHADOW_NEARLY_BAD, above [2]
	 * SHADOW_LESS_GOOD. 0: no such limit; without any the number is SHADOW_PLAIN. */
	double limit[3];
};

/*
 * The lines of an event, adjacent in memory: *row is the first of those returned; 0 if it has none of its own and
 * shows its count a second of CPU time ("K/sec"). `type` and `config` are those of its attr (what a hybrid PMU adds
 * above bit 31 of the latter is ignored); events of other types than hardware, software and cache are told by `name`,
 * as it stands in the recording, with or without PMU ("cpu/topdown-retiring/", "msr/smi/") and modifiers.
 */
size_t shadow_find(uint32_t type, uint64_t config, const char *name, const struct shadow **row);

/* How the value is to be judged. NaN is SHADOW_PLAIN. */
enum shadow_level shadow_judge(const struct shadow *s, double value);

/* The whole table, for walking; ends with event NULL. */
extern const struct shadow shadows[];

#endif
