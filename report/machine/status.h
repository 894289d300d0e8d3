/* Words for the status column: why a value is what it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/metric/expr.h"
#include "common/names.h"
#include "format/model.h"

/* Reasons of the report itself, beside those of pm_reason and value_reason. */
enum report_reason {
	REPORT_RESET = 3100,       /* a 64-bit counter went back: it was reset, so there is no difference */
	REPORT_LEVEL = 3101,       /* the counter's values cannot be combined at this level */
	REPORT_WRAP = 3102,        /* readings so far apart that a narrow counter may have wrapped more than once */
	REPORT_TSC = 3103,         /* the time stamp counter stopped */
	REPORT_STILL = 3104,       /* a counter that always runs did not move */
	REPORT_UNREACHABLE = 3105, /* it continues to count, but no online CPU can read it */
};

/* How good a known value is. */
enum status_quality {
	STATUS_WHOLE,
	STATUS_PARTIAL,  /* a part of it is lost */
	STATUS_DOUBTFUL, /* its numbers may not belong to its time: a reading took long, or a share is above 101 % */
	STATUS_ESTIMATE, /* no measurement, whatever else applies */
	STATUS_NOT_FINITE, /* infinite, or not a number */
};

/* "ok", "partial", "doubtful", or a reason; `buf` may hold the result. */
static inline const char *status_word(uint16_t reason, enum status_quality quality, char buf[static 16])
{
	static const char *const there[] = { "ok", "partial", "doubtful", "estimate", "not-finite" };
	static const char *const ours[] = { "reset", "not-aggregated", "wrap-ambiguous", "tsc-unstable",
					    "standing-still" };
	const char *word;

	if (!reason)
		return there[quality];
	if (reason >= REPORT_RESET && reason <= REPORT_STILL)
		return ours[reason - REPORT_RESET];
	if (reason == REPORT_UNREACHABLE)
		return pm_reason_name(PM_REASON_OFFLINE, buf);
	word = value_reason_name(reason);
	return word ? word : pm_reason_name(reason, buf);
}

/* Appends what an event says: "marker: warm", "cpu-offline CPU 3". Texts are those of the recording. */
void event_text(const struct pm_event *e, struct buf *out);

/* Whether the instance does not count in a sum while absent, in contrast to one whose value is lost. */
static inline bool status_absent(uint16_t reason)
{
	return reason == PM_REASON_OFFLINE;
}

/* Names in a remark: each once, and of many only the first. */
struct listed {
	struct buf text;
	struct names have;
	uint32_t most; /* to be named; 0: the usual number */
};
void listed_add(struct listed *l, const char *name);
void listed_add_instance(struct listed *l, const struct pm_instance *i);
/* Writes and frees them. */
void listed_put(struct listed *l, struct buf *out);
void listed_release(struct listed *l);
