/* Which PCI device is behind which root complex, port and PMU, from the recording (common/pci_map.h). */
#pragma once

#include "common/buf.h"
#include "common/json.h"
#include "common/pci_map.h"
#include "format/model.h"

struct places;

/* Gives PMUs of root complexes the devices below them as their names. 0, or -errno of pci_map_load(). */
int pci_label(struct places *p, const struct pm_model *m);

/* Appends the table of the kernel's document, a line a root port; with `all` PMUs and devices below each. *none: why
 * there is no table, NULL if there is one. 0 or -errno of pci_map_load(). */
int info_pci_text(const struct pm_model *m, bool all, struct buf *out, const char **none);
struct json *info_pci_json(const struct pm_model *m);
