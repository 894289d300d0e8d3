/* PMUs that belong to a class (common/catalog/pmu_class.h): what the catalog and the event language add to sysfs. */
#pragma once

#include "common/catalog/pmu_class.h"
#include "common/pci_map.h"
#include "record/perf/perf_pmu.h"

#define PERF_CLASS_COUNTERS 33 /* more than any PMU has */

struct plan;

/* Finds the classes of all PMUs and adds what sysfs lacks: hooks, units, names of events. Call it once their
 * addresses are final. 0 or -ENOMEM. */
int perf_classes_find(struct perf_pmus *p, const struct root *root);
void perf_classes_release(struct perf_pmus *p);
/* NULL: none. */
const struct pmu_class *perf_class(const struct event_pmu *pmu);
/* The first PMU of the class; NULL: the machine has none. */
const struct event_pmu *perf_class_first(const struct perf_pmus *p, const struct pmu_class *c);
/* The map of PCI functions, read once; NULL: no PMU needs it. */
const struct pci_map *perf_classes_pci(const struct perf_pmus *p);

/* Notes hardware without a driver, and PMUs that this kernel does not name. 0 or -errno. */
int perf_classes_missing(const struct perf_pmus *p, struct plan *plan);
/* Says what measures memory bandwidth here, or what prevents it. */
void perf_classes_tell(const struct perf_pmus *p, const struct plan *plan, struct buf *out);
/* Finds the number of events that fit into a group of the PMU, by opening groups on the CPU. 0 or -ENOMEM. */
int perf_class_probe(struct perf_pmus *p, const struct event_pmu *pmu, const struct root *root);
/* The number of events that fit into a group besides the clock; 0: not known. */
unsigned perf_class_counters(const struct event_pmu *pmu);
/* Notes that a default event of the PMU cannot be opened, so that sums over its kind lack it. */
void perf_class_refuse(const struct event_pmu *pmu, uint16_t reason);
/* Records with the PMUs what was refused. 0 or -ENOMEM. */
int perf_classes_record(const struct perf_pmus *p, struct pm_model *m);
/* Adds the default events of all PMUs with a class; `add` takes a text. 0 or -errno. */
int perf_classes_defaults(struct perf_pmus *p, const struct root *root,
			  int (*add)(void *arg, const struct event_pmu *pmu, const char *text, struct error *e),
			  void *arg, struct error *e);
/* Refuses requested events that are mutually exclusive, and probes the PMUs in use. 0, -EINVAL with the rule, or
 * -ENOMEM. */
int perf_classes_check(struct perf_pmus *p, const struct event_set *set, const struct plan *plan, struct error *e);
/* The instance of the PMU, which counts on this CPU; added if new. Id > 0 or -errno. */
int64_t perf_class_instance(struct perf_pmus *p, struct plan *plan, const struct event_pmu *pmu, uint32_t cpu);
struct perf_group;
/* The PMU of all members, if it has a class or a number; reports then show the PMU, not the CPU that reads it. */
const struct event_pmu *perf_class_of_group(const struct perf_pmus *p, const struct perf_group *g);
/* Notes that the group of this PMU has never counted, or that its clock did not move. 0 or -errno. */
int perf_class_stands(const struct event_pmu *pmu, const struct perf_group *g, struct plan *plan);
/* Appends the text of as few groups as its counters allow, with all events of the bundles that the PMU has, and the
 * clock in each. Bundles are as in pmu_class.defaults; NULL: only the clock. `called` is the PMU's name in the text.
 * 0 or -errno. */
int perf_class_groups(const struct event_pmu *pmu, const char *bundles, const char *called, struct buf *out);
