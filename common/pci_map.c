#include "common/pci_map.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cpulist.h"
#include "common/memory.h"
#include "common/parse.h"

void pci_map_release(struct pci_map *m)
{
	free(m->port);
	free(m->function);
	*m = (struct pci_map){ 0 };
}

void pci_map_add_port(struct pci_map *m, const struct pci_port *port)
{
	memory_room(&m->port, m->n_ports, sizeof(*m->port));
	m->port[m->n_ports++] = *port;
}

void pci_map_add_function(struct pci_map *m, const struct pci_function *f)
{
	memory_room(&m->function, m->n_functions, sizeof(*m->function));
	m->function[m->n_functions++] = *f;
}

static int by_address(struct pci_address a, struct pci_address b)
{
	return array_order(a.domain, b.domain, a.id, b.id);
}

static int by_port(const void *a, const void *b)
{
	return by_address(((const struct pci_port *)a)->at, ((const struct pci_port *)b)->at);
}

static int by_function(const void *a, const void *b)
{
	return by_address(((const struct pci_function *)a)->at, ((const struct pci_function *)b)->at);
}

void pci_map_sort(struct pci_map *m)
{
	if (m->n_ports)
		qsort(m->port, m->n_ports, sizeof(*m->port), by_port);
	if (m->n_functions)
		qsort(m->function, m->n_functions, sizeof(*m->function), by_function);
}

bool pci_map_place(const struct pci_map *m, struct pci_function *f)
{
	unsigned bus = f->at.id >> 8;

	for (size_t i = 0; i < m->n_ports; i++) {
		const struct pci_port *p = &m->port[i];

		if (p->at.domain != f->at.domain || !p->secondary || bus < p->secondary || bus > p->subordinate)
			continue;
		f->port = (uint32_t)i;
		return true;
	}
	return false;
}

const struct pci_port *pci_map_port(const struct pci_map *m, struct pci_address at)
{
	struct pci_port key = { .at = at };

	return m->n_ports ? bsearch(&key, m->port, m->n_ports, sizeof(key), by_port) : NULL;
}

const struct pci_function *pci_map_function(const struct pci_map *m, struct pci_address at)
{
	struct pci_function key = { .at = at };

	return m->n_functions ? bsearch(&key, m->function, m->n_functions, sizeof(key), by_function) : NULL;
}

/* The socket of all ports on a node; -1: the node has none, or ports of several sockets. */
static int socket_on_node(const struct pci_map *m, int node)
{
	int socket = -1;

	for (size_t i = 0; i < m->n_ports && node >= 0; i++) {
		if (m->port[i].node != node)
			continue;
		if (socket >= 0 && socket != m->port[i].socket)
			return -1;
		socket = m->port[i].socket;
	}
	return socket;
}

static bool first_cpu(const char *cpus, uint64_t *cpu)
{
	return !parse_digits(&cpus, 10, CPULIST_MAX, cpu);
}

/* Linear: a recording may have thousands of PMUs and ports. */
int pci_map_socket(const struct pci_map *m, const char *const *cpus, size_t n, size_t which, int node)
{
	bool begins[CPULIST_MAX + 1] = { 0 }, there[UINT8_MAX + 1] = { 0 };
	size_t before = 0, all = 0, sockets = 0;
	int socket = socket_on_node(m, node);
	uint64_t own, cpu;

	if (socket >= 0 || !first_cpu(cpus[which], &own))
		return socket;
	for (size_t i = 0; i < n; i++) {
		if (!first_cpu(cpus[i], &cpu) || begins[cpu])
			continue;
		begins[cpu] = true;
		all++;
		before += cpu < own;
	}
	for (size_t i = 0; i < m->n_ports; i++) {
		sockets += !there[m->port[i].socket];
		there[m->port[i].socket] = true;
	}
	for (int k = 0; k <= UINT8_MAX && sockets == all; k++)
		if (there[k] && !before--)
			return k;
	return -1;
}

bool pci_parse(const char *text, struct pci_address *at, bool *domain)
{
	uint64_t first, bus, device, function;

	*domain = false;
	if (parse_digits(&text, 16, UINT32_MAX, &first) || *text++ != ':' || parse_digits(&text, 16, 0xff, &bus))
		return false;
	if (*text == ':') {
		*domain = true;
		text++;
		if (parse_digits(&text, 16, 0x1f, &device))
			return false;
	} else {
		device = bus;
		bus = first;
		first = 0;
	}
	if (*text++ != '.' || parse_digits(&text, 16, 7, &function) || *text || bus > 0xff || device > 0x1f)
		return false;
	*at = (struct pci_address){ (uint32_t)first, (uint16_t)(bus << 8 | device << 3 | function) };
	return true;
}

const char *pci_id_text(uint16_t id, char text[static PCI_TEXT])
{
	snprintf(text, PCI_TEXT, "%02x:%02x.%x", id >> 8, id >> 3 & 0x1f, id & 7);
	return text;
}

const char *pci_text(struct pci_address at, char text[static PCI_TEXT])
{
	snprintf(text, PCI_TEXT, "%04x:%02x:%02x.%x", at.domain, at.id >> 8, at.id >> 3 & 0x1f, at.id & 7);
	return text;
}
