/*
 * Terms of NVIDIA's uncore PMUs: addresses of PCI functions, ranges, masks, and what may not be counted at once. No
 * input may crash them, and what they accept has to count: some root port or one function, never both, and never a
 * filter that lets nothing through. The first byte says what is known of PCI.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/class_pmu.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))

static struct event_format ucf[] = {
	{ "event", "config:0-32" },        { "src_loc_noncpu", "config1:0" }, { "src_loc_cpu", "config1:1" },
	{ "src_rem", "config1:2" },        { "dst_loc_cmem", "config1:8" },   { "dst_loc_gmem", "config1:9" },
	{ "dst_loc_other", "config1:10" }, { "dst_rem", "config1:11" },
};
static struct event_format pcie[] = {
	{ "event", "config:0-32" },          { "src_rp_mask", "config1:0-7" },    { "src_bdf", "config1:8-23" },
	{ "src_bdf_en", "config1:24" },      { "dst_loc_cmem", "config2:0" },     { "dst_loc_gmem", "config2:1" },
	{ "dst_loc_pcie_p2p", "config2:2" }, { "dst_loc_pcie_cxl", "config2:3" }, { "dst_rem", "config2:4" },
};
static struct event_format target[] = {
	{ "event", "config:0-2" },           { "dst_rp_mask", "config:3-10" },    { "dst_addr_en", "config:11" },
	{ "dst_addr_base", "config1:0-63" }, { "dst_addr_mask", "config2:0-63" },
};
static struct event_format c2c_format[] = { { "event", "config:0-3" }, { "gpu_mask", "config1:0-1" } };
static struct event_format plain[] = { { "event", "config:0-32" },
				       { "filter", "config1:0-31" },
				       { "filter2", "config2:0-31" } };
static struct event_alias aliases[] = {
	{ .name = "cycles", .text = "event=0x100000000" },
	{ .name = "rd_bytes", .text = "event=0x0" },
	{ .name = "in_rd_req", .text = "event=0x2" },
};

#define PMU(called, formats) \
	{ \
		.name = (char *)(called), .uncore = true, .cpus = (char *)"0", .ruled = true, .format = formats, \
		.n_formats = N(formats), .alias = aliases, .n_aliases = N(aliases) \
	}
static struct event_pmu pmus[] = {
	PMU("nvidia_ucf_pmu_0", ucf),
	PMU("nvidia_pcie_pmu_0_rc_1", pcie),
	PMU("nvidia_pcie_pmu_1_rc_1", pcie),
	PMU("nvidia_pcie_tgt_pmu_0_rc_1", target),
	PMU("nvidia_nvlink_c2c_pmu_0", c2c_format),
	PMU("nvidia_uncore_pmu_3", plain),
};
static struct class_pmu known[N(pmus)];
static struct pci_map map;

static int nothing(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct pci_port port = { .at = { 2, 0x8000 },
				 .bus = 0x80,
				 .segment = 2,
				 .rp = 1,
				 .rc = 1,
				 .secondary = 0x81,
				 .subordinate = 0x8f,
				 .node = -1 };
	struct pci_function f = { .at = { 2, 0x8100 } };

	pci_map_add_port(&map, &port);
	port.at = (struct pci_address){ 10, 0x8000 };
	port.segment = 10;
	port.socket = 1;
	pci_map_add_port(&map, &port);
	pci_map_add_function(&map, &f);
	pci_map_sort(&map);
	pci_map_place(&map, &map.function[0]);
	for (size_t i = 0; i < N(pmus); i++) {
		class_pmu_init(&known[i], pmu_class_of(pmus[i].name, NULL), pmus[i].name, "nr_gpu=2", &map);
		pmus[i].type = (uint32_t)(20 + i);
		pmus[i].class = known[i].class->name;
		pmus[i].unit = &known[i];
	}
	return 0;
}

static void look_at(const struct event *ev)
{
	const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &pmus[ev->pmu_index];

	if (!pmu || pmu->format != pcie || (ev->config[0] & 0x1ffffffff) == 0x100000000)
		return;
	if (ev->config[1] & 1 << 24 && ev->config[1] & 0xff)
		abort();
	if (!(ev->config[1] & (1 << 24 | 0xff)) || !(ev->config[2] & 0x1f))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum pci_state states[] = { PCI_KNOWN, PCI_NEEDS_ROOT, PCI_NO_SUCH, PCI_ABSENT };
	struct event_view view = { .pmu = pmus, .n_pmus = N(pmus), .tracepoints = nothing };
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	struct error e = { 0 };
	char *text;

	if (!size)
		return 0;
	map.state = states[data[0] % N(states)];
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	if (!event_parse(&list, text, &e)) {
		e.text[0] = '\0';
		if (event_resolve(list, &view, &set, &notes, &e)) {
			if (!e.text[0] || set.n)
				abort();
		} else if (class_pmu_check(&view, &set, &e)) {
			if (!e.text[0])
				abort();
		}
		for (size_t i = 0; i < set.n; i++)
			look_at(&set.event[i]);
	}
	event_set_release(&set);
	event_list_free(list);
	buf_release(&notes);
	free(text);
	return 0;
}
