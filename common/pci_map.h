/*
 * Which root complex, root port and socket a PCI function belongs to, on machines whose root ports have the
 * vendor-specific capability for it (NVIDIA's DVSEC 4; see Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst of
 * the kernel). pmrec fills the map from configuration space and records it; pmrep reads it from the recording.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_TEXT 20 /* room for "ffffffff:ff:1f.7" */

/* A function's address. `id` is the id of its requests: bus << 8 | device << 3 | function. */
struct pci_address {
	uint32_t domain;
	uint16_t id;
};

/* Bytes 0xc to 0x10 of the capability, and the port's place for the kernel. */
struct pci_port {
	struct pci_address at;
	uint8_t bus, segment, rp, rc, socket;
	uint8_t secondary, subordinate; /* buses below it */
	int node;                       /* -1: the kernel does not say */
};

struct pci_function {
	struct pci_address at;
	uint32_t port;  /* index into port[] */
	uint32_t class; /* 24 bits */
	uint16_t vendor, device;
};

enum pci_state {
	PCI_ABSENT,     /* no root port of this vendor */
	PCI_NO_SUCH,    /* such ports exist, but none has the capability */
	PCI_NEEDS_ROOT, /* such ports exist, but only the head of configuration space may be read */
	PCI_KNOWN,
};

struct pci_map {
	enum pci_state state;
	struct pci_port *port; /* owned, ascending by address */
	size_t n_ports;
	struct pci_function *function; /* owned, likewise */
	size_t n_functions;
};

void pci_map_release(struct pci_map *m);
void pci_map_add_port(struct pci_map *m, const struct pci_port *port);
void pci_map_add_function(struct pci_map *m, const struct pci_function *f);
/* Sorts both arrays once they are complete. `function->port` must be set after this. */
void pci_map_sort(struct pci_map *m);
/* Sets the function's port: the one that has its bus. False if there is none. */
bool pci_map_place(const struct pci_map *m, struct pci_function *f);
/* NULL if there is none. */
const struct pci_port *pci_map_port(const struct pci_map *m, struct pci_address at);
const struct pci_function *pci_map_function(const struct pci_map *m, struct pci_address at);
/*
 * The socket, as ports number them, of the PMU cpus[which]; cpus[] are the associated_cpus of all PMUs of root
 * complexes. `node` is the lowest NUMA node of its CPUs, or -1. If ports of different sockets are on different nodes,
 * the ports of that node decide. Much firmware puts all ports on one node; sockets are then taken in the order of
 * their CPUs, if there are as many of them. -1: neither helps. The number in a PMU's name is not a socket: some
 * drivers put a node there, others a number of the firmware.
 */
int pci_map_socket(const struct pci_map *m, const char *const *cpus, size_t n, size_t which, int node);

/* "[DDDD:]BB:DD.F" in hexadecimal; *domain: whether it has one. False for any other form. */
bool pci_parse(const char *text, struct pci_address *at, bool *domain);
/* "0002:81:00.0" and "81:00.0". */
const char *pci_text(struct pci_address at, char text[static PCI_TEXT]);
const char *pci_id_text(uint16_t id, char text[static PCI_TEXT]);
