/* The PMUs of /sys/bus/event_source/devices and the tracepoints of tracefs, as the event language asks for
 * them. */
#ifndef RECORD_PERF_PMU_H
#define RECORD_PERF_PMU_H

#include "common/event/event.h"
#include "format/model.h"
#include "record/root.h"

struct perf_pmus {
	struct event_pmu *pmu; /* owned, and all that is in it */
	size_t n;
};

/* A machine without perf has none, which is no error. 0 or -ENOMEM. */
int perf_pmus_read(struct perf_pmus *p, const struct root *root);
void perf_pmus_release(struct perf_pmus *p);
/* Puts a description of each into the recording, with the files that are read for nothing else. 0 or -errno.
 */
int perf_pmus_record(const struct perf_pmus *p, const struct root *root, struct pm_model *model);
/* The view of this machine; both must outlive it. */
struct event_view perf_view(const struct perf_pmus *p, const struct root *root);

#endif
