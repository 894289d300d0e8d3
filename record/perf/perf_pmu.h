/* The PMUs of /sys/bus/event_source/devices and the tracepoints of tracefs, for the event language. */
#pragma once

#include "common/event/event.h"
#include "format/model.h"
#include "format/vendor_pack.h"
#include "record/host/root.h"

struct perf_classes;
struct plan;

struct perf_pmus {
	struct event_pmu *pmu; /* owned, and all that is in it */
	size_t n;
	bool cores_first;             /* as in the view */
	struct perf_classes *classes; /* of record/perf/perf_class.c; NULL: no PMU has one */
};

/* Reads them; a machine without perf has none. 0 or -ENOMEM. */
int perf_pmus_read(struct perf_pmus *p, const struct root *root);
void perf_pmus_release(struct perf_pmus *p);
/* Adds the events of vendor event files (NULL-terminated; common/event/vendor_events.h), and those of the folders
 * among `metrics` (likewise). The files are opened with the caller's rights. Remarks go to `notes`, one line each. 0
 * or -errno with the text in *e. */
int perf_pmus_add_files(struct perf_pmus *p, char *const *path, char *const *metrics, const char *cpuid,
			struct buf *notes, struct error *e);
/* The same for the pack of vendors' events: those named in `words` (NULL-terminated; NULL: all, with descriptions).
 * Also returns what was read, for its metrics. A pack that cannot be read is a remark. The number of sets; -ENOMEM;
 * -ENOENT without a pack. */
int perf_pmus_add_pack(struct perf_pmus *p, const char *cpuid, char *const *words, bool metrics,
		       struct vendor_texts *texts, struct buf *notes);
/* Records a description of each PMU. Of vendors' events it has those in `set` (NULL: none). 0 or -errno. */
int perf_pmus_record(const struct perf_pmus *p, const struct event_set *set, struct plan *plan);
/* Appends what a text stands for here. 0, or -errno with the text in *e. */
int perf_events_of(const struct perf_pmus *p, const struct root *root, const char *text, struct event_set *set,
		   struct buf *notes, struct error *e);
/* The view of this machine; its arguments must outlive it. */
struct event_view perf_view(const struct perf_pmus *p, const struct root *root);
