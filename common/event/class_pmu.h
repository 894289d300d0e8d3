/*
 * What the event language knows about PMUs of a class (common/catalog/pmu_class.h) beyond their format files. For
 * NVIDIA: PCI addresses and address ranges instead of numbers, defaults of filters, and what may not be counted
 * together.
 */
#pragma once

#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/pci_map.h"

/* One PMU: the `unit` of its struct event_pmu. */
struct class_pmu {
	const struct pmu_class *class;
	struct pmu_name name;
	int socket;    /* by pci_map_socket(); until that is known, the number in the name */
	char peer[16]; /* "gpu", "cpu", "cxlmem"; "": no such file */
	unsigned peers;
	const struct pci_map *map; /* borrowed; NULL: not read */
	unsigned counters;         /* events that fit into a group besides the clock; 0: not known */
	uint16_t refused;          /* pm_reason why its default events were not recorded; PM_OK: they were */
};

/* Fills in `to`; `peer` is the text of the file of that name in sysfs, or NULL. `c` and `map` stay borrowed. */
void class_pmu_init(struct class_pmu *to, const struct pmu_class *c, const char *name, const char *peer,
		    const struct pci_map *map);
/* Rules of a PMU that is `ruled`; a group over it and others is refused, not split. Both may append lines to
 * `notes`, and return -EINVAL with the rule in *e for what they refuse. For a term: 1 if it is in the words now, 0 if
 * it is a term like any other. */
int class_pmu_term(const struct event_pmu *pmu, const struct event_term *t, uint64_t config[EVENT_CONFIGS],
		   struct buf *notes, struct error *e);
/* After all terms: adds defaults, refuses terms that are mutually exclusive. 0 or -EINVAL. */
int class_pmu_finish(const struct event_pmu *pmu, uint64_t config[EVENT_CONFIGS], struct buf *notes, struct error *e);
/* Refuses events that a recording must not combine: two functions of one root complex, or a function and unfiltered
 * traffic there. 0, or -EINVAL with the rule. */
int class_pmu_check(const struct event_view *view, const struct event_set *set, struct error *e);
