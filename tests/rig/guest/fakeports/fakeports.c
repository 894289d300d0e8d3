// SPDX-License-Identifier: GPL-2.0
/*
 * fakeports - the PCIe root ports of a two-socket Tegra410, without one.
 *
 * The 21 root ports of the table in the kernel's nvidia-tegra410-pmu.rst, in 12 domains, with the DVSEC (vendor 10de,
 * id 4) that says which root complex and socket each belongs to, behind a foreign one and an AER capability. Below
 * each port is a device with two functions. The files of sysfs, and whom they show what, are the kernel's own.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#define CONFIG_SIZE 4096
#define MAX_PORTS   4

struct port_row {
	u8 bus, port;
};

struct complex_row {
	u16 segment;
	u8 root_complex, socket;
	int ports;
	struct port_row port[MAX_PORTS];
};

static const struct complex_row complexes[] = {
	{ 1, 0, 0, 1, { { 0x00, 0 } } },
	{ 2, 1, 0, 4, { { 0x80, 1 }, { 0xa0, 2 }, { 0xc0, 3 }, { 0xe0, 4 } } },
	{ 3, 2, 0, 1, { { 0x00, 0 } } },
	{ 4, 3, 0, 1, { { 0x00, 0 } } },
	{ 5, 4, 0, 3, { { 0x00, 0 }, { 0x40, 1 }, { 0xc0, 2 } } },
	{ 6, 5, 0, 1, { { 0x00, 0 } } },
	{ 9, 0, 1, 1, { { 0x00, 0 } } },
	{ 10, 1, 1, 3, { { 0x80, 1 }, { 0xa0, 2 }, { 0xe0, 3 } } },
	{ 11, 2, 1, 1, { { 0x00, 0 } } },
	{ 12, 3, 1, 1, { { 0x00, 0 } } },
	{ 13, 4, 1, 3, { { 0x00, 0 }, { 0x40, 1 }, { 0xc0, 2 } } },
	{ 14, 5, 1, 1, { { 0x00, 0 } } },
};

struct config_space {
	u8 bytes[CONFIG_SIZE];
};

struct root_port {
	const struct complex_row *complex;
	const struct port_row *row;
	struct config_space port, function[2];
	struct pci_host_bridge *bridge;
	struct resource buses;
};

static struct root_port *ports[ARRAY_SIZE(complexes) * MAX_PORTS];
static int port_count;

static void put(struct config_space *c, int offset, u32 value, int size)
{
	memcpy(c->bytes + offset, &value, size);
}

static void header(struct config_space *c, u16 device, u32 class, u8 type, int express_type)
{
	put(c, PCI_VENDOR_ID, 0x10de, 2);
	put(c, PCI_DEVICE_ID, device, 2);
	put(c, PCI_STATUS, PCI_STATUS_CAP_LIST, 2);
	put(c, PCI_CLASS_REVISION, class << 8 | 0xa1, 4);
	put(c, PCI_HEADER_TYPE, type, 1);
	put(c, PCI_CAPABILITY_LIST, 0x40, 1);
	put(c, 0x40, PCI_CAP_ID_EXP, 1);
	put(c, 0x40 + PCI_EXP_FLAGS, express_type << 4 | 2, 2);
}

static u32 extended(u16 id, int version, int next)
{
	return id | version << 16 | next << 20;
}

static void config_fill(struct root_port *p)
{
	struct config_space *c = &p->port;
	int last = min(255, p->row->bus + (p->complex->ports > 1 ? 0x1f : 0xff)), i;

	header(c, 0x22b1, PCI_CLASS_BRIDGE_PCI_NORMAL, PCI_HEADER_TYPE_BRIDGE, PCI_EXP_TYPE_ROOT_PORT);
	put(c, 0x40 + PCI_EXP_LNKCAP, 0x5 | 16 << 4 | (u32)p->row->port << 24, 4);
	put(c, PCI_PRIMARY_BUS, p->row->bus, 1);
	put(c, PCI_SECONDARY_BUS, p->row->bus + 1, 1);
	put(c, PCI_SUBORDINATE_BUS, last, 1);
	put(c, 0x100, extended(PCI_EXT_CAP_ID_ERR, 2, 0x160), 4);
	put(c, 0x160, extended(PCI_EXT_CAP_ID_DVSEC, 1, 0x1a0), 4);
	put(c, 0x164, 0x1e98 | 0x28 << 20, 4);
	put(c, 0x168, 4, 2);
	put(c, 0x1a0, extended(PCI_EXT_CAP_ID_DVSEC, 1, 0), 4);
	put(c, 0x1a4, 0x10de | 0x14 << 20, 4);
	put(c, 0x1a8, 4, 2);
	put(c, 0x1ac, p->row->bus, 1);
	put(c, 0x1ad, p->complex->segment, 1);
	put(c, 0x1ae, p->row->port, 1);
	put(c, 0x1af, p->complex->root_complex, 1);
	put(c, 0x1b0, p->complex->socket, 1);
	for (i = 0; i < 2; i++)
		header(&p->function[i], 0x2900 + i, i ? 0x040300 : 0x030200, i ? 0 : 0x80, PCI_EXP_TYPE_ENDPOINT);
}

static struct config_space *config_of(struct pci_bus *bus, unsigned int devfn)
{
	struct root_port *p = *(struct root_port **)pci_host_bridge_priv(pci_find_host_bridge(bus));

	if (bus->number == p->row->bus && !devfn)
		return &p->port;
	if (bus->number == p->port.bytes[PCI_SECONDARY_BUS] && devfn < 2)
		return &p->function[devfn];
	return NULL;
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct config_space *c = config_of(bus, devfn);

	*value = ~0u;
	if (!c)
		return PCIBIOS_DEVICE_NOT_FOUND;
	*value = 0;
	memcpy(value, c->bytes + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct config_space *c = config_of(bus, devfn);

	if (!c)
		return PCIBIOS_DEVICE_NOT_FOUND;
	/* What the kernel writes while it scans: commands and bus numbers. Everything else is read-only. */
	if (where == PCI_COMMAND || where == PCI_INTERRUPT_LINE || where == PCI_BRIDGE_CONTROL ||
	    (c->bytes[PCI_HEADER_TYPE] == PCI_HEADER_TYPE_BRIDGE && where >= PCI_PRIMARY_BUS &&
	     where <= PCI_SUBORDINATE_BUS))
		memcpy(c->bytes + where, &value, size);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops config_ops = { .read = config_read, .write = config_write };

static int port_new(const struct complex_row *complex, const struct port_row *row)
{
	struct root_port *p = kzalloc(sizeof(*p), GFP_KERNEL);
	struct pci_host_bridge *bridge = pci_alloc_host_bridge(sizeof(p));
	int err;

	if (!p || !bridge) {
		kfree(p);
		return -ENOMEM;
	}
	p->complex = complex;
	p->row = row;
	p->bridge = bridge;
	config_fill(p);
	*(struct root_port **)pci_host_bridge_priv(bridge) = p;
	bridge->ops = &config_ops;
	bridge->busnr = row->bus;
	bridge->domain_nr = complex->segment;
	p->buses = (struct resource){
		.name = "buses", .start = row->bus, .end = p->port.bytes[PCI_SUBORDINATE_BUS], .flags = IORESOURCE_BUS
	};
	pci_add_resource(&bridge->windows, &p->buses);
	err = pci_scan_root_bus_bridge(bridge);
	if (err) {
		pci_free_host_bridge(bridge);
		kfree(p);
		return err;
	}
	pci_bus_add_devices(bridge->bus);
	ports[port_count++] = p;
	return 0;
}

static void ports_free(void)
{
	pci_lock_rescan_remove();
	while (port_count--) {
		pci_stop_root_bus(ports[port_count]->bridge->bus);
		pci_remove_root_bus(ports[port_count]->bridge->bus);
		kfree(ports[port_count]);
	}
	pci_unlock_rescan_remove();
}

static int __init fakeports_init(void)
{
	int i, k, err = 0;

	for (i = 0; i < ARRAY_SIZE(complexes) && !err; i++)
		for (k = 0; k < complexes[i].ports && !err; k++)
			err = port_new(&complexes[i], &complexes[i].port[k]);
	if (err)
		ports_free();
	return err;
}

static void __exit fakeports_exit(void)
{
	ports_free();
}

module_init(fakeports_init);
module_exit(fakeports_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("PCIe root ports with DVSECs, for tests");
