#include "report/machine/pci.h"

#include <errno.h>
#include <string.h>

#include "common/catalog/pmu_class.h"
#include "common/cpulist.h"
#include "report/machine/places.h"

#define SHOWN_DEVICES 2 /* of a label */

/* ---- the map ---- */

static bool row_numbers(const struct pm_value *row, int64_t *v, uint32_t n)
{
	if (row->kind != PM_VALUE_ARRAY || row->array.n < n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct pm_value *item = &row->array.item[i];

		if (item->kind == PM_VALUE_U64 && item->u64 <= INT64_MAX)
			v[i] = (int64_t)item->u64;
		else if (item->kind == PM_VALUE_S64)
			v[i] = item->s64;
		else
			return false;
	}
	return true;
}

static int load_ports(struct pci_map *map, const struct pm_value *rows)
{
	int64_t v[8];
	int err = 0;

	for (uint32_t i = 0; i < rows->array.n && !err; i++) {
		if (!row_numbers(&rows->array.item[i], v, 8))
			return -EINVAL;
		err = pci_map_add_port(map, &(struct pci_port){
						    .at = { (uint32_t)v[0], (uint16_t)v[1] },
						    .bus = (uint8_t)v[2],
						    .segment = (uint8_t)v[3],
						    .rp = (uint8_t)v[4],
						    .rc = (uint8_t)v[5],
						    .socket = (uint8_t)v[6],
						    .node = v[7] > INT16_MAX ? -1 : (int)v[7],
					    });
	}
	return err;
}

static int load_functions(struct pci_map *map, const struct pm_value *rows)
{
	int64_t v[6];
	int err = 0;

	for (uint32_t i = 0; i < rows->array.n && !err; i++) {
		if (!row_numbers(&rows->array.item[i], v, 6) || v[2] < 0 || (uint64_t)v[2] >= map->n_ports)
			return -EINVAL;
		err = pci_map_add_function(map, &(struct pci_function){
							.at = { (uint32_t)v[0], (uint16_t)v[1] },
							.port = (uint32_t)v[2],
							.class = (uint32_t)v[3],
							.vendor = (uint16_t)v[4],
							.device = (uint16_t)v[5],
						});
	}
	return err;
}

/* 0, -EINVAL if the recording has something there that is not such a map, -ENOMEM. */
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
	err = ports->value.kind == PM_VALUE_ARRAY ? load_ports(map, &ports->value) : -EINVAL;
	if (!err && functions && !functions->reason)
		err = functions->value.kind == PM_VALUE_ARRAY ? load_functions(map, &functions->value) : -EINVAL;
	if (err)
		pci_map_release(map);
	return err;
}

#define PMUS_MAX 1024 /* root complexes that are examined at most */

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

/* The socket of a PMU, as root ports number them. */
static int socket_of(const struct pm_model *m, const struct pci_map *map, const struct pm_pmu *pmu)
{
	const char *cpus[PMUS_MAX];
	size_t n = 0, which = 0;
	struct pmu_name name;
	int socket;

	for (uint32_t i = 0; i < m->n_pmus && n < PMUS_MAX; i++) {
		if (!has_complex(&m->pmu[i], &name))
			continue;
		if (&m->pmu[i] == pmu)
			which = n;
		cpus[n++] = pm_map_text(&m->pmu[i].attrs, PM_PMU_ASSOCIATED_CPUS, "");
	}
	if (!n || !has_complex(pmu, &name))
		return -1;
	socket = pci_map_socket(map, cpus, n, which, node_of(m, cpus[which]));
	return socket >= 0 ? socket : name.number;
}

/* Whether the port belongs to the PMU's root complex. */
static bool pmu_has(const struct pm_model *m, const struct pci_map *map, const struct pm_pmu *pmu, uint32_t port)
{
	struct pmu_name name;

	return has_complex(pmu, &name) && name.rc == map->port[port].rc &&
	       socket_of(m, map, pmu) == map->port[port].socket;
}

/* ---- labels ---- */

/* "nvidia_pcie_pmu_0_rc_1: 0002:81:00.0 0002:a1:00.0"; unchanged if nothing is below it. */
static void label_of(const struct pm_model *m, const struct pci_map *map, const struct pm_pmu *pmu, struct buf *out)
{
	unsigned n = 0;

	buf_addstr(out, pm_map_text(&pmu->attrs, PM_PMU_NAME, ""));
	for (size_t i = 0; i < map->n_functions; i++) {
		char text[PCI_TEXT];

		if (!pmu_has(m, map, pmu, map->function[i].port))
			continue;
		if (n++ < SHOWN_DEVICES)
			buf_printf(out, "%s%s", n == 1 ? ": " : " ", pci_text(map->function[i].at, text));
	}
	if (n > SHOWN_DEVICES)
		buf_printf(out, " +%u", n - SHOWN_DEVICES);
}

int pci_label(struct places *p, const struct pm_model *m)
{
	SCOPED(pci_map_release) struct pci_map map = { 0 };
	int err = pci_map_load(&map, m);

	for (uint32_t i = 0; i < m->n_instances && !err && map.n_functions; i++) {
		const char *name = pm_map_text(&m->instance[i].attrs, PM_INSTANCE_NAME, "");

		for (uint32_t k = 0; k < m->n_pmus && m->instance[i].kind == PM_PMU && !err; k++) {
			SCOPED(buf_release) struct buf label = BUF_INIT;

			if (strcmp(pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, ""), name))
				continue;
			label_of(m, &map, &m->pmu[k], &label);
			err = label.err ? label.err : places_label(p, &m->instance[i], buf_str(&label));
			break;
		}
	}
	return err;
}

/* ---- pmrep info ---- */

static void print_below(const struct pm_model *m, const struct pci_map *map, uint32_t port, struct buf *out)
{
	char text[PCI_TEXT];

	for (uint32_t k = 0; k < m->n_pmus; k++)
		if (pmu_has(m, map, &m->pmu[k], port))
			buf_printf(out, "  %s\n", pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, ""));
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct pci_function *f = &map->function[i];

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
	SCOPED(pci_map_release) struct pci_map map = { 0 };
	int err = pci_map_load(&map, m);

	*none = err || map.state == PCI_KNOWN ? NULL : why[map.state];
	for (uint32_t i = 0; i < map.n_ports && !err; i++) {
		const struct pci_port *p = &map.port[i];

		buf_printf(out, "%s: Bus=%02x, Segment=%02x, RP=%02x, RC=%02x, Socket=%02x\n", pci_text(p->at, text),
			   p->bus, p->segment, p->rp, p->rc, p->socket);
		if (all && contradicts(p))
			buf_addstr(out, "  the firmware's bus or segment is not the kernel's\n");
		if (all)
			print_below(m, &map, i, out);
	}
	return err;
}

static struct json *address_json(struct pci_address at)
{
	char text[PCI_TEXT];

	return json_new_text(pci_text(at, text));
}

static struct json *port_json(const struct pm_model *m, const struct pci_map *map, uint32_t port)
{
	const struct pci_port *p = &map->port[port];
	struct json *j = json_new_object(), *pmus = json_new_array(), *functions = json_new_array();

	json_put(j, "address", address_json(p->at));
	json_put(j, "bus", json_new_u64(p->bus));
	json_put(j, "segment", json_new_u64(p->segment));
	json_put(j, "port", json_new_u64(p->rp));
	json_put(j, "root_complex", json_new_u64(p->rc));
	json_put(j, "socket", json_new_u64(p->socket));
	json_put(j, "node", p->node < 0 ? json_new_null() : json_new_u64((uint64_t)p->node));
	for (uint32_t k = 0; k < m->n_pmus; k++)
		if (pmu_has(m, map, &m->pmu[k], port))
			json_push(pmus, json_new_text(pm_map_text(&m->pmu[k].attrs, PM_PMU_NAME, "")));
	for (size_t i = 0; i < map->n_functions; i++) {
		const struct pci_function *f = &map->function[i];
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
	SCOPED(pci_map_release) struct pci_map map = { 0 };
	struct json *j, *ports;

	if (pci_map_load(&map, m))
		return json_new_null();
	j = json_new_object();
	ports = json_new_array();
	json_put(j, "state", json_new_text(states[map.state]));
	for (uint32_t i = 0; i < map.n_ports; i++)
		json_push(ports, port_json(m, &map, i));
	json_put(j, "root_ports", ports);
	return j;
}
