/*
 * What the event language knows of a PMU that has a class (common/catalog/pmu_class.h) beyond its format files. For
 * NVIDIA's: PCI addresses and address ranges in place of numbers, the defaults of filters, and what may not be counted
 * together.
 */
#ifndef COMMON_EVENT_CLASS_PMU_H
#define COMMON_EVENT_CLASS_PMU_H

#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/pci_map.h"

/* One PMU; hook_data of its struct event_pmu. */
struct class_pmu {
	const struct pmu_class *class;
	struct pmu_name name;
	int socket;    /* as root ports number them (pci_map_socket()); until that is known, the number in the name */
	char peer[16]; /* "gpu", "cpu", "cxlmem"; "": it has no such file */
	unsigned peers;
	const struct pci_map *map; /* borrowed; NULL: never looked at */
	unsigned counters;         /* events that a group of it takes beside the clock; 0: not known */
	uint16_t refused;          /* pm_reason: default events were not recorded of it; PM_OK: they were */
};

/* Of the classes that have filters. */
extern const struct event_pmu_hooks nvidia_hooks;

/* Fills in `to` from what sysfs says; `peer` is the text of that file, or NULL. */
void class_pmu_init(struct class_pmu *to, const struct pmu_class *c, const char *name, const char *peer,
		    const struct pci_map *map);
/* What may not be counted beside each other, of everything that one recording opens: two functions of one root
 * complex, or a function beside unfiltered traffic there. -EINVAL with the rule. */
int class_pmu_check(const struct event_view *view, const struct event_set *set, struct error *e);

#endif
