/* Which PCI device is behind which root complex, port and PMU, from the recording (common/pci_map.h). */
#ifndef REPORT_PCI_H
#define REPORT_PCI_H

#include "common/buf.h"
#include "common/json.h"
#include "common/pci_map.h"
#include "format/model.h"

struct places;

/* 0, -EINVAL if the recording has something there that is no such map, -ENOMEM. */
int pci_map_load(struct pci_map *map, const struct pm_model *m);
/* Whether the PMU is one of the root complex that the port belongs to. */
bool pci_pmu_has(const struct pm_model *m, const struct pci_map *map, const struct pm_pmu *pmu, uint32_t port);
/* Gives PMUs of root complexes the devices below them as their names. 0, or -errno of pci_map_load(). */
int pci_label(struct places *p, const struct pm_model *m);

/* Appends the table of the kernel's document, a line a root port; with `all` PMUs and devices below each. *none: why
 * there is no table, NULL if there is one. 0 or -errno of pci_map_load(). */
int info_pci_text(const struct pm_model *m, bool all, struct buf *out, const char **none);
/* NULL without memory. */
struct json *info_pci_json(const struct pm_model *m);

#endif
