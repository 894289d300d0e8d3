/*
 * What the event language knows of NVIDIA's uncore PMUs beyond their format files: PCI addresses and address ranges
 * in place of numbers, the defaults of filters, and what may not be counted together. common/catalog/pmu_class.h has
 * the classes.
 */
#ifndef COMMON_EVENT_NVIDIA_H
#define COMMON_EVENT_NVIDIA_H

#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/pci_map.h"

/* One PMU; hook_data of its struct event_pmu. */
struct nvidia_pmu {
	const struct pmu_class *class;
	struct pmu_name name;
	int socket;    /* as root ports number them (pci_map_socket()); until that is known, the number in the name */
	char peer[16]; /* "gpu", "cpu", "cxlmem"; "": it has no such file */
	unsigned peers;
	const struct pci_map *map; /* borrowed; NULL: never looked at */
	unsigned counters;         /* events that a group of it takes beside the clock; 0: not known */
};

extern const struct event_pmu_hooks nvidia_hooks;

/* Fills in `to` from what sysfs says; `peer` is the text of that file, or NULL. */
void nvidia_pmu_init(struct nvidia_pmu *to, const struct pmu_class *c, const char *name, const char *peer,
		     const struct pci_map *map);
/* What may not be counted beside each other, of everything that one recording opens: two functions of one root
 * complex, or a function beside unfiltered traffic there. -EINVAL with the rule. */
int nvidia_check(const struct event_view *view, const struct event_set *set, struct error *e);

#endif
