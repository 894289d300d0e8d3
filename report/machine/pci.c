#include "report/machine/pci.h"

#include <errno.h>
#include <stdlib.h>

#include "common/catalog/pmu_class.h"
#include "common/cpulist.h"
#include "common/memory.h"
#include "common/names.h"
#include "report/machine/places.h"

#define SHOWN_DEVICES 2 /* of a label */
/* No machine has more; every PMU is compared with every port and function. */
#define PMUS_MAX      1024
#define PORTS_MAX     4096
#define FUNCTIONS_MAX 65536

/* The map, and where each PMU of the recording belongs. */
struct complexes {
	struct pci_map map;
	struct {
		int rc, socket; /* rc -1: it is none of a root complex */
	} * pmu;                /* owned, [n_pmus] */
};

/* ---- the map ---- */

static void add_port(struct pci_map *map, const int64_t *v)
{
	pci_map_add_port(map, &(struct pci_port){
				      .at = { (uint32_t)v[0], (uint16_t)v[1] },
				      .bus = (uint8_t)v[2],
				      .segment = (uint8_t)v[3],
				      .rp = (uint8_t)v[4],
				      .rc = (uint8_t)v[5],
				      .socket = (uint8_t)v[6],
				      .node = v[7] > INT16_MAX ? -1 : (int)v[7],
			      });
}

static void add_function(struct pci_map *map, const int64_t *v)
{
	pci_map_add_function(map, &(struct pci_function){
					  .at = { (uint32_t)v[0], (uint16_t)v[1] },
					  .port = (uint32_t)v[2],
					  .class = (uint32_t)v[3],
					  .vendor = (uint16_t)v[4],
					  .device = (uint16_t)v[5],
				  });
}

/* At most so many rows of n numbers. */
static int load_rows(struct pci_map *map, const struct pm_value *rows, uint32_t most, uint32_t n,
		     void (*add)(struct pci_map *map, const int64_t *v))
{
	if (rows->kind != PM_VALUE_ARRAY || rows->array.n > most)
		return -EINVAL;
	for (uint32_t i = 0; i < rows->array.n; i++) {
		const struct pm_value *row = &rows->array.item[i];
		int64_t v[8];

		if (row->kind != PM_VALUE_ARRAY || row->array.n < n)
			return -EINVAL;
		for (uint32_t k = 0; k < n; k++) {
			const struct pm_value *item = &row->array.item[k];

			if (item->kind != PM_VALUE_S64 && (item->kind != PM_VALUE_U64 || item->u64 > INT64_MAX))
				return -EINVAL;
			v[k] = item->kind == PM_VALUE_U64 ? (int64_t)item->u64 : item->s64;
		}
		if (add == add_function && (v[2] < 0 || (uint64_t)v[2] >= map->n_ports))
			return -EINVAL;
		add(map, v);
	}
	return 0;
}

/* 0, or -EINVAL if the recording has something there that is not such a map. */
static int pci_map_load(struct pci_map *map, const struct pm_model *m)
{
	const struct pm_config *ports = pm_model_config(m, "pci.root_ports", PM_NONE);
	const struct pm_config *functions = pm_model_config(m, "pci.functions", PM_NONE);
	int err;

	*map = (struct pci_map){ .state = PCI_ABSENT };
	if (!ports)
		return 0;
	if (ports->reason) {
		map->state = ports->reason == PM_REASON_NO_PERMISSION ? PCI_NEEDS_ROOT : PCI_NO_SUCH;
		return 0;
	}
	map->state = PCI_KNOWN;
	err = load_rows(map, &ports->value, PORTS_MAX, 8, add_port);
	if (!err && functions && !functions->reason)
		err = load_rows(map, &functions->value, FUNCTIONS_MAX, 6, add_function);
	if (err)
		pci_map_release(map);
	return err;
}

static bool has_complex(const struct pm_pmu *pmu, struct pmu_name *name)
{
	const char *text = pm_map_text(&pmu->attrs, PM_PMU_NAME, "");
	const struct pmu_class *c = pmu_class_of(text, pm_map_text(&pmu->attrs, PM_PMU_IDENTIFIER, NULL));

	return c && c->per_rc && pmu_name_parse(text, name);
}

static int node_of(const struct pm_model *m, const char *cpus)
{
	SCOPED(cpulist_release) struct cpulist wanted = { 0 };
	int node = -1;

	if (!cpulist_parse(&wanted, cpus, false, NULL))
		for (uint32_t i = 0; i < m->topology.n; i++) {
			const struct pm_cpu *c = &m->topology.cpu[i];

			if (cpulist_has(&wanted, c->cpu) && c->node <= INT16_MAX && (node < 0 || (int)c->node < node))
				node = (int)c->node;
		}
	return node;
}

/* Sockets as root ports number them. */
static void find_complexes(struct complexes *c, const struct pm_model *m)
{
	const char *cpus[PMUS_MAX];
	uint32_t at[PMUS_MAX];
	struct pmu_name name;
	size_t n = 0;

	c->pmu = memory_new(m->n_pmus, sizeof(*c->pmu));
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		c->pmu[i].rc = -1;
		if (n == PMUS_MAX || !has_complex(&m->pmu[i], &name))
			continue;
		c->pmu[i].rc = name.rc;
		c->pmu[i].socket = name.number;
		at[n] = i;
		cpus[n++] = pm_map_text(&m->pmu[i].attrs, PM_PMU_ASSOCIATED_CPUS, "");
	}
	for (size_t i = 0; i < n; i++) {
		int socket = pci_map_socket(&c->map, cpus, n, i, node_of(m, cpus[i]));

		if (socket >= 0)
			c->pmu[at[i]].socket = socket;
	}
}

static void complexes_release(struct complexes *c)
{
	pci_map_release(&c->map);
	free(c->pmu);
}

/* As pci_map_load(). */
static int complexes_load(struct complexes *c, const struct pm_model *m)
{
	int err = pci_map_load(&c->map, m);

	c->pmu = NULL;
	if (!err && c->map.n_ports)
		find_complexes(c, m);
	return err;
}

/* Whether the port belongs to the PMU's root complex. */
static bool pmu_has(const struct complexes *c, uint32_t pmu, uint32_t port)
{
	return c->pmu[pmu].rc == c->map.port[port].rc && c->pmu[pmu].socket == c->map.port[port].socket;
}

/* ---- labels ---- */

/* "nvidia_pcie_pmu_0_rc_1: 0002:81:00.0 0002:a1:00.0"; nothing if nothing is below it. */
static void label_of(const struct complexes *c, const struct pm_model *m, uint32_t pmu, struct buf *out)
{
	char text[PCI_TEXT];
	unsigned n = 0;

	for (size_t i = 0; i < c->map.n_functions; i++) {
		if (!pmu_has(c, pmu, c->map.function[i].port) || n++ >= SHOWN_DEVICES)
			continue;
		if (n == 1)
			buf_printf(out, "%s:", pm_map_text(&m->pmu[pmu].attrs, PM_PMU_NAME, ""));
		buf_printf(out, " %s", pci_text(c->map.function[i].at, text));
	}
	if (n > SHOWN_DEVICES)
		buf_printf(out, " +%u", n - SHOWN_DEVICES);
}

int pci_label(struct places *p, const struct pm_model *m)
{
	SCOPED(complexes_release) struct complexes c;
	/* By the names of PMUs, so that each instance is looked up once. */
	SCOPED(names_release) struct names of = { 0 };
	int err = complexes_load(&c, m);
	struct buf *label;
	uint32_t k;

	if (err || !c.map.n_functions)
		return err;
	label = memory_new(m->n_pmus, sizeof(*label));
	for (k = 0; k < m->n_pmus; k++) {
		const char *name = pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, "");

		label_of(&c, m, k, &label[k]);
		memory_whole(&label[k]);
		if (label[k].len && !names_get(&of, name, NULL))
			memory_done(names_set(&of, name, k));
	}
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (m->instance[i].kind == PM_PMU &&
		    names_get(&of, pm_map_text(&m->instance[i].attrs, PM_INSTANCE_NAME, ""), &k))
			places_label(p, &m->instance[i], buf_str(&label[k]));
	for (k = 0; k < m->n_pmus; k++)
		buf_release(&label[k]);
	free(label);
	return 0;
}

/* ---- pmrep info ---- */

static void print_below(const struct complexes *c, const struct pm_model *m, uint32_t port, struct buf *out)
{
	char text[PCI_TEXT];

	for (uint32_t k = 0; k < m->n_pmus; k++)
		if (pmu_has(c, k, port))
			buf_printf(out, "  %s\n", pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, ""));
	for (size_t i = 0; i < c->map.n_functions; i++) {
		const struct pci_function *f = &c->map.function[i];

		if (f->port == port)
			buf_printf(out, "  %s [%04x]: %04x:%04x, src_bdf=0x%04x\n", pci_text(f->at, text),
				   f->class >> 8, f->vendor, f->device, f->at.id);
	}
}

/* What the firmware says about a port should agree with the kernel's name. */
static bool contradicts(const struct pci_port *p)
{
	return p->bus != p->at.id >> 8 || p->segment != (p->at.domain & 0xff);
}

int info_pci_text(const struct pm_model *m, bool all, struct buf *out, const char **none)
{
	static const char *const why[] = {
		[PCI_ABSENT] = "no root ports were recorded: the machine has no NVIDIA root port with a PMU",
		[PCI_NO_SUCH] = "the NVIDIA root ports have no DVSEC 4, which says where they belong",
		[PCI_NEEDS_ROOT] = "only the first 64 bytes of configuration space were recorded: run pmrec as root",
	};
	char text[PCI_TEXT];
	SCOPED(complexes_release) struct complexes c;
	int err = complexes_load(&c, m);

	*none = err || c.map.state == PCI_KNOWN ? NULL : why[c.map.state];
	for (uint32_t i = 0; i < c.map.n_ports && !err; i++) {
		const struct pci_port *p = &c.map.port[i];

		buf_printf(out, "%s: Bus=%02x, Segment=%02x, RP=%02x, RC=%02x, Socket=%02x\n", pci_text(p->at, text),
			   p->bus, p->segment, p->rp, p->rc, p->socket);
		if (all && contradicts(p))
			buf_addstr(out, "  the firmware's bus or segment is not the kernel's\n");
		if (all)
			print_below(&c, m, i, out);
	}
	return err;
}

static struct json *address_json(struct pci_address at)
{
	char text[PCI_TEXT];

	return json_new_text(pci_text(at, text));
}

static struct json *port_json(const struct complexes *c, const struct pm_model *m, uint32_t port)
{
	const struct pci_port *p = &c->map.port[port];
	struct json *j = json_new_object(), *pmus = json_new_array(), *functions = json_new_array();

	json_put(j, "address", address_json(p->at));
	json_put(j, "bus", json_new_u64(p->bus));
	json_put(j, "segment", json_new_u64(p->segment));
	json_put(j, "port", json_new_u64(p->rp));
	json_put(j, "root_complex", json_new_u64(p->rc));
	json_put(j, "socket", json_new_u64(p->socket));
	json_put(j, "node", p->node < 0 ? json_new_null() : json_new_u64((uint64_t)p->node));
	for (uint32_t k = 0; k < m->n_pmus; k++)
		if (pmu_has(c, k, port))
			json_push(pmus, json_new_text(pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, "")));
	for (size_t i = 0; i < c->map.n_functions; i++) {
		const struct pci_function *f = &c->map.function[i];
		struct json *one;

		if (f->port != port)
			continue;
		one = json_new_object();
		json_put(one, "address", address_json(f->at));
		json_put(one, "src_bdf", json_new_u64(f->at.id));
		json_put(one, "class", json_new_u64(f->class));
		json_put(one, "vendor", json_new_u64(f->vendor));
		json_put(one, "device", json_new_u64(f->device));
		json_push(functions, one);
	}
	json_put(j, "pmus", pmus);
	json_put(j, "functions", functions);
	return j;
}

struct json *info_pci_json(const struct pm_model *m)
{
	static const char *const states[] = {
		[PCI_ABSENT] = "absent",
		[PCI_NO_SUCH] = "no-dvsec",
		[PCI_NEEDS_ROOT] = "needs-root",
		[PCI_KNOWN] = "known",
	};
	SCOPED(complexes_release) struct complexes c;
	struct json *j, *ports;

	if (complexes_load(&c, m))
		return json_new_null();
	j = json_new_object();
	ports = json_new_array();
	json_put(j, "state", json_new_text(states[c.map.state]));
	for (uint32_t i = 0; i < c.map.n_ports; i++)
		json_push(ports, port_json(&c, m, i));
	json_put(j, "root_ports", ports);
	return j;
}
