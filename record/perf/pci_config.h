/* NVIDIA's root ports and the devices below them, from PCI configuration space (common/pci_map.h). */
#pragma once

#include "common/pci_map.h"
#include "record/host/root.h"

struct plan;

/* Reads them; a machine may have none. 0 or -ENOMEM. */
int pci_map_read(struct pci_map *m, const struct root *root);
/* Records the map, or why there is none: one-time values "pci.root_ports", an array of [domain, id,
 * bus, segment, port, root complex, socket, node (-1: unknown)], and "pci.functions", an array of [domain, id, place
 * of its root port, class, vendor, device]. 0 or -errno. */
int pci_map_record(const struct pci_map *m, struct plan *p);
