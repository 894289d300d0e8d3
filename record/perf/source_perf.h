/* What the source of perf events can do beyond struct source_ops. On the control thread; each takes perf_among(). */
#pragma once

#include "record/plan/plan.h"

extern const struct source_ops source_perf;

/* The source among these, if it has planned; else NULL. */
struct source *perf_among(struct source *s, size_t n);
/* Starts and stops counting, between snapshots: before the first one, after the wait of -D, and by --control; not at
 * the start of a command that is followed from its exec on (TARGET_COMMAND with delay_ms 0): those counters start
 * themselves (enable_on_exec). 0 or -errno. */
int perf_enable(struct source *s, bool on);
/* -r: p->child is a new process, which waits for its exec. Reopens what follows it, with the same units, from 0; a
 * new segment begins. 0, or -errno with the text in *e. */
int perf_restart(struct source *s, struct plan *p, struct error *e);
/* Once a second if `restless`, else less often, and at the end: notices what has ended since (plan_gone()). */
void perf_look(struct source *s, struct plan *p);
/* A descriptor that is readable when there is something to notice; -1: none now. */
int perf_watch(const struct source *s);
/* Handles it, while readers run; true: update() with cpu PM_NONE must follow soon. */
bool perf_notice(struct source *s, struct plan *p);
/* Appends lines for `pmrec doctor` (state, need, cure); works without a plan, too. */
void perf_doctor(struct source *s, struct plan *p, struct buf *out);
/* Names of the metrics of -M that need no event; NULL: all need some. */
const char *perf_no_event(const struct source *s);
