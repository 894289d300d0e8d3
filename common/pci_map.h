/*
 * Which root complex, root port and socket a PCI function belongs to on machines that say so in a vendor-specific
 * capability of their root ports (NVIDIA's DVSEC 4, as the kernel's Documentation/admin-guide/perf/
 * nvidia-tegra410-pmu.rst has it). pmrec fills the map from configuration space and puts it into the recording; pmrep
 * reads it from there.
 */
#ifndef COMMON_PCI_MAP_H
#define COMMON_PCI_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_TEXT 20 /* room for "ffffffff:ff:1f.7" */

/* A function's address. `id` is what is in its requests: bus << 8 | device << 3 | function. */
struct pci_address {
	uint32_t domain;
	uint16_t id;
};

/* Bytes 0xc to 0x10 of the capability, and where the port is for the kernel. */
struct pci_port {
	struct pci_address at;
	uint8_t bus, segment, rp, rc, socket;
	uint8_t secondary, subordinate; /* buses below it */
	int node;                       /* -1: the kernel does not say */
};

struct pci_function {
	struct pci_address at;
	uint32_t port;  /* place in port[] */
	uint32_t class; /* 24 bits */
	uint16_t vendor, device;
};

enum pci_state {
	PCI_ABSENT,     /* no root port of this vendor */
	PCI_NO_SUCH,    /* there are such ports, and none has the capability */
	PCI_NEEDS_ROOT, /* there are such ports; their configuration space may not be read beyond its head */
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
/* 0 or -ENOMEM. */
int pci_map_add_port(struct pci_map *m, const struct pci_port *port);
int pci_map_add_function(struct pci_map *m, const struct pci_function *f);
/* Puts both arrays in order, when all ports and functions are in; `function->port` must not have been set before. */
void pci_map_sort(struct pci_map *m);
/* Sets port of the function: the one whose buses it is on. False if it is below none. */
bool pci_map_place(const struct pci_map *m, struct pci_function *f);
/* NULL if there is none. */
const struct pci_port *pci_map_port(const struct pci_map *m, struct pci_address at);
const struct pci_function *pci_map_function(const struct pci_map *m, struct pci_address at);
/*
 * The socket, as ports number them, of the PMU cpus[which]: cpus[] are the associated_cpus of all PMUs of root
 * complexes. `node` is the lowest NUMA node of its CPUs, or -1: where ports of different sockets are on different
 * nodes, the ports of that node tell. Much firmware puts all ports on one node; then sockets are in the order of
 * their CPUs, if there are as many of them. -1: neither helps. The number in a PMU's name is a node with some drivers
 * and a number of the firmware's with others, and no socket.
 */
int pci_map_socket(const struct pci_map *m, const char *const *cpus, size_t n, size_t which, int node);

/* "[DDDD:]BB:DD.F", hexadecimal; *domain tells whether there was one. False if it is not of that form. */
bool pci_parse(const char *text, struct pci_address *at, bool *domain);
/* "0002:81:00.0" and "81:00.0". */
const char *pci_text(struct pci_address at, char text[static PCI_TEXT]);
const char *pci_id_text(uint16_t id, char text[static PCI_TEXT]);

#endif
