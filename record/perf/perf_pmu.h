/* The PMUs of /sys/bus/event_source/devices and the tracepoints of tracefs, as the event language asks for
 * them. */
#ifndef RECORD_PERF_PMU_H
#define RECORD_PERF_PMU_H

#include "common/event/event.h"
#include "format/model.h"
#include "format/vendor_pack.h"
#include "record/host/root.h"

struct perf_classes;

struct perf_pmus {
	struct event_pmu *pmu; /* owned, and all that is in it */
	size_t n;
	struct perf_classes *classes; /* of record/perf/perf_class.c; NULL: no PMU has one */
};

/* A machine without perf has none, which is no error. 0 or -ENOMEM. */
int perf_pmus_read(struct perf_pmus *p, const struct root *root);
void perf_pmus_release(struct perf_pmus *p);
/* Adds the events of vendor event files (NULL-terminated; common/event/vendor_events.h), and those of the folders
 * among `metrics` (likewise). The files are opened with the caller's rights. Remarks go to `notes`, one line each. 0
 * or -errno with the text in *e. */
int perf_pmus_add_files(struct perf_pmus *p, char *const *path, char *const *metrics, const char *cpuid,
			struct buf *notes, struct error *e);
/* The same of the pack of vendors' events: those whose names stand in `words` (NULL-terminated; NULL: all, with what they
 * are about). What was read comes out for who wants the metrics. A pack that cannot be read costs
 * a remark. The number of sets, or -ENOMEM; -ENOENT: there is no pack. */
int perf_pmus_add_pack(struct perf_pmus *p, const char *cpuid, char *const *words, bool metrics,
		       struct vendor_texts *texts, struct buf *notes);
/* Puts a description of each into the recording, with the files that are read for nothing else. Of the events of
 * vendors those alone that are in `set` (NULL: none). 0 or -errno. */
int perf_pmus_record(const struct perf_pmus *p, const struct event_set *set, const struct root *root,
		     struct pm_model *model);
/* The view of this machine; both must outlive it. */
struct event_view perf_view(const struct perf_pmus *p, const struct root *root);

#endif
