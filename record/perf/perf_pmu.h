/* The PMUs of /sys/bus/event_source/devices and the tracepoints of tracefs, for the event language. */
#pragma once

#include "common/catalog/pmu_class.h"
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
	struct perf_classes *classes; /* opaque; NULL: no PMU has one */
};

/* Reads them; a machine without perf has none. */
void perf_pmus_read(struct perf_pmus *p, const struct root *root);
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
/* Records a description of each PMU. Of vendors' events it has those in `set` (NULL: none). */
void perf_pmus_record(const struct perf_pmus *p, const struct event_set *set, struct plan *plan);
/* Appends what a text stands for here. 0, or -errno with the text in *e. */
int perf_events_of(const struct perf_pmus *p, const struct root *root, const char *text, struct event_set *set,
		   struct buf *notes, struct error *e);
/* The view of this machine; its arguments must outlive it. */
struct event_view perf_view(const struct perf_pmus *p, const struct root *root);

/* PMUs that belong to a class (common/catalog/pmu_class.h): what the catalog and the event language add to sysfs. */

/* NULL: none. */
const struct pmu_class *perf_class(const struct event_pmu *pmu);
/* The first PMU of the class; NULL: the machine has none. */
const struct event_pmu *perf_class_first(const struct perf_pmus *p, const struct pmu_class *c);
/* Records where NVIDIA's PCI ports are, and notes hardware without a driver, and PMUs that this kernel does not
 * name. */
void perf_classes_note(const struct perf_pmus *p, struct plan *plan);
/* Says what measures memory bandwidth here, or what prevents it. */
void perf_classes_tell(const struct perf_pmus *p, const struct plan *plan, struct buf *out);
/* Finds the number of events that fit into a group of the PMU, by opening groups on the CPU. */
void perf_class_probe(struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root);
/* Notes that a default event of the PMU cannot be opened, so that sums over its kind lack it. */
void perf_class_refuse(const struct event_pmu *pmu, uint16_t reason);
/* Records with the PMUs what was refused. */
void perf_classes_record(const struct perf_pmus *p, struct pm_model *m);
/* Appends the text of the default events of the PMU, if it has a class, in as few groups as its counters allow. */
void perf_class_defaults(struct perf_pmus *p, const struct root *root, const struct event_pmu *pmu, struct buf *out);
/* Refuses requested events that are mutually exclusive, and probes the PMUs in use. 0, or -EINVAL with the
 * rule. */
int perf_classes_check(struct perf_pmus *p, const struct event_set *set, const struct plan *plan, struct error *e);
/* The instance of the PMU, which counts on this CPU; added if new. */
int64_t perf_class_instance(struct perf_pmus *p, struct plan *plan, const struct event_pmu *pmu, uint32_t cpu);
struct perf_group;
/* The PMU of all members, if it has a class or a number; reports then show the PMU, not the CPU that reads it. */
const struct event_pmu *perf_class_of_group(const struct perf_pmus *p, const struct perf_group *g);
/* Notes that the group of this PMU has never counted, or that its clock did not move. */
void perf_class_stands(const struct event_pmu *pmu, const struct perf_group *g, struct plan *plan);
/* Appends the text of as few groups as its counters allow, with all events of the bundles that the PMU has, and the
 * clock in each. Bundles are as in pmu_class.defaults; NULL: only the clock. `called` is the PMU's name there. */
void perf_class_groups(const struct event_pmu *pmu, const char *bundles, const char *called, struct buf *out);
