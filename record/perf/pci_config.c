#include "record/perf/pci_config.h"

#include <errno.h>
#include <stdlib.h>

#include "record/plan/plan.h"

#define DEVICES          "/sys/bus/pci/devices"
#define CONFIG_BYTES     4096
#define CONFIG_HEAD      64    /* what the kernel shows without CAP_SYS_ADMIN */
#define EXTENDED         0x100 /* extended capabilities begin here */
#define CAP_DVSEC        0x23
#define VENDOR_NVIDIA    0x10de
#define CLASS_PCI_BRIDGE 0x0604
#define FUNCTIONS_MAX    65536 /* at most these many are recorded */

static uint32_t le32(const char *config, size_t at)
{
	const unsigned char *c = (const unsigned char *)config + at;

	return c[0] | (uint32_t)c[1] << 8 | (uint32_t)c[2] << 16 | (uint32_t)c[3] << 24;
}

/* Offset of NVIDIA's DVSEC 4, which has 17 bytes; 0: there is none. There may be others, such as CXL's. */
static size_t find_dvsec(const char *config, size_t len)
{
	size_t at = EXTENDED;

	for (unsigned turns = 0; at >= EXTENDED && at + 4 <= len && turns < (CONFIG_BYTES - EXTENDED) / 8; turns++) {
		uint32_t head = le32(config, at);

		if (!head || head == UINT32_MAX)
			return 0;
		if ((head & 0xffff) == CAP_DVSEC && at + 0x11 <= len) {
			uint32_t vendor = le32(config, at + 4);

			if ((vendor & 0xffff) == VENDOR_NVIDIA && vendor >> 20 >= 0x11 &&
			    (le32(config, at + 8) & 0xffff) == 4)
				return at;
		}
		at = head >> 20 & 0xffc;
	}
	return 0;
}

/* "0x060400" */
static bool read_hex(const struct root *root, const char *device, const char *file, uint32_t *value)
{
	uint64_t v;

	if (root_u64(root, &v, DEVICES "/%s/%s", device, file))
		return false;
	*value = (uint32_t)v;
	return true;
}

static int read_node(const struct root *root, const char *device)
{
	char line[16];

	if (root_line(root, line, sizeof(line), DEVICES "/%s/numa_node", device))
		return -1;
	return atoi(line);
}

/* If the port's registers do not say where it is, records their state in *state. */
static int add_port(struct pci_map *m, const struct root *root, const char *device, struct pci_address at)
{
	struct root whole = *root;
	SCOPED(buf_release) struct buf config = BUF_INIT;
	const char *c;
	size_t dvsec;
	ssize_t len;
	int err = 0;

	whole.whole = true;
	len = root_read(&whole, &config, CONFIG_BYTES, DEVICES "/%s/config", device);
	c = buf_str(&config);
	dvsec = len > EXTENDED ? find_dvsec(c, (size_t)len) : 0;

	if (len == -ENOMEM) {
		err = -ENOMEM;
	} else if (dvsec) {
		struct pci_port port = {
			.at = at,
			.bus = (uint8_t)c[dvsec + 0xc],
			.segment = (uint8_t)c[dvsec + 0xd],
			.rp = (uint8_t)c[dvsec + 0xe],
			.rc = (uint8_t)c[dvsec + 0xf],
			.socket = (uint8_t)c[dvsec + 0x10],
			.secondary = (uint8_t)c[0x19],
			.subordinate = (uint8_t)c[0x1a],
			.node = read_node(root, device),
		};

		m->state = PCI_KNOWN;
		err = pci_map_add_port(m, &port);
	} else if (m->state != PCI_KNOWN) {
		bool cut = len <= CONFIG_HEAD && len != -ENOENT;

		m->state = cut || m->state == PCI_NEEDS_ROOT ? PCI_NEEDS_ROOT : PCI_NO_SUCH;
	}
	return err;
}

static int add_function(struct pci_map *m, const struct root *root, const char *device, struct pci_address at)
{
	struct pci_function f = { .at = at };
	uint32_t vendor = 0, id = 0;

	if (m->n_functions >= FUNCTIONS_MAX || !pci_map_place(m, &f))
		return 0;
	read_hex(root, device, "class", &f.class);
	if (read_hex(root, device, "vendor", &vendor) && read_hex(root, device, "device", &id)) {
		f.vendor = (uint16_t)vendor;
		f.device = (uint16_t)id;
	}
	return pci_map_add_function(m, &f);
}

int pci_map_read(struct pci_map *m, const struct root *root)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, DEVICES), err = 0;

	*m = (struct pci_map){ 0 };
	if (n < 0)
		return n == -ENOMEM ? n : 0;
	/* Ports first: the buses below them place the functions. */
	for (int pass = 0; pass < 2 && !err; pass++) {
		for (int i = 0; i < n && !err; i++) {
			struct pci_address at;
			uint32_t vendor, class;
			bool domain;

			if (!pci_parse(names[i], &at, &domain) || !domain)
				continue;
			if (pass)
				err = add_function(m, root, names[i], at);
			else if (read_hex(root, names[i], "vendor", &vendor) && vendor == VENDOR_NVIDIA &&
				 read_hex(root, names[i], "class", &class) && class >> 8 == CLASS_PCI_BRIDGE)
				err = add_port(m, root, names[i], at);
		}
		pci_map_sort(m);
		if (!m->n_ports)
			break;
	}
	if (err)
		pci_map_release(m);
	return err;
}

/* ---- into the recording ---- */

static struct pm_value row_of(const int64_t *v, uint32_t n)
{
	struct pm_value row = pm_array(n);

	for (uint32_t i = 0; row.array.item && i < n; i++)
		row.array.item[i] = v[i] < 0 ? pm_s64(v[i]) : pm_u64((uint64_t)v[i]);
	return row;
}

static int record_ports(const struct pci_map *m, struct plan *p)
{
	struct pm_value all = pm_array((uint32_t)m->n_ports);

	for (size_t i = 0; all.array.item && i < m->n_ports; i++) {
		const struct pci_port *t = &m->port[i];

		all.array.item[i] = row_of((const int64_t[]){ t->at.domain, t->at.id, t->bus, t->segment, t->rp,
							      t->rc, t->socket, t->node },
					   8);
	}
	return plan_fact(p, all, "pci.root_ports");
}

static int record_functions(const struct pci_map *m, struct plan *p)
{
	struct pm_value all;

	if (!m->n_functions)
		return 0;
	all = pm_array((uint32_t)m->n_functions);
	for (size_t i = 0; all.array.item && i < m->n_functions; i++) {
		const struct pci_function *f = &m->function[i];

		all.array.item[i] = row_of(
			(const int64_t[]){ f->at.domain, f->at.id, f->port, f->class, f->vendor, f->device }, 6);
	}
	return plan_fact(p, all, "pci.functions");
}

int pci_map_record(const struct pci_map *m, struct plan *p)
{
	int err;

	switch (m->state) {
	case PCI_ABSENT:
		return 0;
	case PCI_NO_SUCH:
		return plan_config_missing(p, PM_SYSTEM, PM_NONE, PM_REASON_NOT_SUPPORTED, "pci.root_ports");
	case PCI_NEEDS_ROOT:
		err = plan_refused(p, PM_REASON_NO_PERMISSION, "run pmrec as root (CAP_SYS_ADMIN)",
				   "which PCI device belongs to which root complex: only the first 64 bytes of "
				   "configuration space can be read");
		return err ? err :
			     plan_config_missing(p, PM_SYSTEM, PM_NONE, PM_REASON_NO_PERMISSION, "pci.root_ports");
	case PCI_KNOWN:
		err = record_ports(m, p);
		return err ? err : record_functions(m, p);
	}
	return 0;
}
