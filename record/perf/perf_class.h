/* PMUs that belong to a class (common/catalog/pmu_class.h): what the catalog and the event language add to sysfs. */
#ifndef RECORD_PERF_CLASS_H
#define RECORD_PERF_CLASS_H

#include "common/catalog/pmu_class.h"
#include "common/pci_map.h"
#include "record/perf/perf_pmu.h"

#define PERF_CLASS_COUNTERS 33 /* more than any PMU has that is looked at */

struct plan;

/* Finds the classes of all PMUs and completes them: hooks, units, names of events that the kernel does not give. Call
 * once they do not move any more. 0 or -ENOMEM. */
int perf_classes_find(struct perf_pmus *p, const struct root *root);
void perf_classes_release(struct perf_pmus *p);
/* NULL: it has none. */
const struct pmu_class *perf_class(const struct event_pmu *pmu);
/* Whether the PMU has a format file of that name. */
bool perf_class_format(const struct event_pmu *pmu, const char *name);
/* Where the functions of PCI are, read once; NULL: no PMU asks for it. */
const struct pci_map *perf_classes_pci(const struct perf_pmus *p);

/* Notes hardware whose driver is not there, and PMUs that this kernel does not know by name. 0 or -errno. */
int perf_classes_missing(const struct perf_pmus *p, struct plan *plan);
/* Says what gives memory bandwidth here, or would and what is in the way. */
void perf_classes_tell(const struct perf_pmus *p, const struct plan *plan, struct buf *out);
/* Finds out how many events a group of the PMU takes, by opening such groups on the CPU. 0 or -ENOMEM. */
int perf_class_probe(struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root);
/* Events beside the clock that a group of the PMU takes; 0: not known. */
unsigned perf_class_counters(const struct event_pmu *pmu);
/* A default event of the PMU cannot be had: sums over its kind lack it. */
void perf_class_refuse(const struct event_pmu *pmu, uint16_t reason);
/* Puts what was refused beside the PMUs of the recording. 0 or -ENOMEM. */
int perf_classes_record(const struct perf_pmus *p, struct pm_model *m);
/* Reads the default events of all PMUs that have a class; `add` reads a text. 0 or -errno. */
int perf_classes_defaults(struct perf_pmus *p, const struct root *root,
			  int (*add)(void *arg, const struct event_pmu *pmu, const char *text, struct error *e),
			  void *arg, struct error *e);
/* What may not be opened, of everything that was asked for; probes the PMUs that are used. 0, -EINVAL with the rule,
 * or -ENOMEM. */
int perf_classes_check(struct perf_pmus *p, const struct event_set *set, const struct plan *plan, struct error *e);
/* Instance of the PMU, which counts on that CPU; added if it is new. Id > 0 or -errno. */
int64_t perf_class_instance(struct perf_pmus *p, struct plan *plan, const struct event_pmu *pmu, uint32_t cpu);
struct perf_group;
/* The PMU that all members are of, if it has a class or a number: one that a report shows as what it is, not as the
 * CPU that reads it. */
const struct event_pmu *perf_class_of_group(const struct perf_pmus *p, const struct perf_group *g);
/* Notes that the group, which is of that PMU, has never counted, or that its clock stood still. 0 or -errno. */
int perf_class_stands(const struct event_pmu *pmu, const struct perf_group *g, struct plan *plan);
/* Appends the text of groups with all events of the bundles that the PMU has, the clock in each, and as few of them
 * as its counters allow. Bundles are as in pmu_class.defaults, and NULL is the clock alone; `called` is what the PMU
 * is named in the text. 0 or -errno. */
int perf_class_groups(const struct event_pmu *pmu, const char *bundles, const char *called, struct buf *out);

#endif
