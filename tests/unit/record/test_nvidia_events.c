/*
 * Uncore PMUs of Tegra410 and Grace in the event language: the example commands of the kernel's document, filters and
 * their defaults, PCI addresses, and what is refused. Words are computed from the bits of the drivers' format files.
 */
#include "common/event/class_pmu.h"
#include "record/perf/perf_pmu.c"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

struct machine {
	char dir[32];
	struct root root;
	struct perf_pmus pmus;
	struct event_set set;
	struct buf notes;
	struct error e;
};

static void look(struct machine *m)
{
	perf_pmus_read(&m->pmus, &m->root);
}

static int begin(void **state)
{
	static struct machine m;

	m = (struct machine){ .notes = BUF_INIT };
	sysroot_make(m.dir, "tegra410");
	root_init(&m.root, m.dir);
	look(&m);
	*state = &m;
	return 0;
}

static int end(void **state)
{
	struct machine *m = *state;

	event_set_release(&m->set);
	perf_pmus_release(&m->pmus);
	root_release(&m->root);
	buf_release(&m->notes);
	sysroot_remove(m->dir);
	return 0;
}

/* Reads the text as -e does, rules of the whole included. */
static int try(struct machine *m, const char *text)
{
	struct event_view view = perf_view(&m->pmus, &m->root);
	struct event_list *list = NULL;
	int err;

	event_set_release(&m->set);
	buf_clear(&m->notes);
	m->e = (struct error){ 0 };
	err = event_parse(&list, text, &m->e);
	if (!err)
		err = event_resolve(list, &view, &m->set, &m->notes, &m->e);
	if (!err)
		err = class_pmu_check(&view, &m->set, &m->e);
	event_list_free(list);
	return err;
}

static void good(struct machine *m, const char *text, size_t n)
{
	if (try(m, text))
		fail_msg("%s: %s", text, m->e.text);
	if (m->set.n != n)
		fail_msg("%s made %zu events, not %zu", text, m->set.n, n);
}

static void bad(struct machine *m, const char *text, const char *rule)
{
	if (!try(m, text))
		fail_msg("%s was not refused", text);
	if (!strstr(m->e.text, rule))
		fail_msg("%s: \"%s\" does not say \"%s\"", text, m->e.text, rule);
}

struct example {
	const char *text, *pmu;
	uint64_t config[3];
};

static void words(struct machine *m, const struct example *x)
{
	good(m, x->text, 1);
	assert_string_equal(m->set.event[0].pmu, x->pmu);
	for (int i = 0; i < 3; i++)
		if (m->set.event[0].config[i] != x->config[i])
			fail_msg("%s: word %d is 0x%llx, not 0x%llx", x->text, i,
				 (unsigned long long)m->set.event[0].config[i], (unsigned long long)x->config[i]);
}

/* Every command of the document, `perf stat -a -e ...`. */
static void document(void **state)
{
	static const struct example examples[] = {
		{ "nvidia_ucf_pmu_0/event=0x0/", "nvidia_ucf_pmu_0", { 0, 0x7 | 0xf << 8 } },
		{ "nvidia_ucf_pmu_0/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/",
		  "nvidia_ucf_pmu_0",
		  { 0, 0x2 | 0x1 << 8 } },
		{ "nvidia_ucf_pmu_1/event=0x1,src_loc_noncpu=0x1,dst_rem=0x1/",
		  "nvidia_ucf_pmu_1",
		  { 1, 0x1 | 0x8 << 8 } },
		{ "nvidia_pcie_pmu_0_rc_0/event=0x0,src_rp_mask=0x1/", "nvidia_pcie_pmu_0_rc_0", { 0, 0x1, 0x1f } },
		{ "nvidia_pcie_pmu_0_rc_1/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/",
		  "nvidia_pcie_pmu_0_rc_1",
		  { 1, 0x3, 0x1 } },
		{ "nvidia_pcie_pmu_1_rc_2/event=0x2,src_rp_mask=0x1/", "nvidia_pcie_pmu_1_rc_2", { 2, 0x1, 0x1f } },
		{ "nvidia_pcie_pmu_1_rc_3/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/",
		  "nvidia_pcie_pmu_1_rc_3",
		  { 3, 0x3, 0x1 } },
		{ "nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/",
		  "nvidia_pcie_pmu_0_rc_4",
		  { 4, 0x0180 << 8 | 1 << 24, 0x1f } },
		{ "nvidia_pcie_tgt_pmu_0_rc_0/event=0x0,dst_rp_mask=0x3/",
		  "nvidia_pcie_tgt_pmu_0_rc_0",
		  { 0x3 << 3 } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=0x1/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 0x1 | 1 << 11, 0x10000, 0xfff00 } },
		{ "nvidia_nvlink_c2c_pmu_0/in_rd_req/", "nvidia_nvlink_c2c_pmu_0", { 2, 0x3 } },
		{ "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x1/", "nvidia_nvlink_c2c_pmu_0", { 1, 0x1 } },
		{ "nvidia_nvlink_c2c_pmu_0/in_rd_cum_outs,gpu_mask=0x2/", "nvidia_nvlink_c2c_pmu_0", { 1, 0x2 } },
		{ "nvidia_nvlink_c2c_pmu_0/out_rd_req/", "nvidia_nvlink_c2c_pmu_0", { 6, 0x3 } },
		{ "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x1/", "nvidia_nvlink_c2c_pmu_0", { 5, 0x1 } },
		{ "nvidia_nvlink_c2c_pmu_0/out_rd_cum_outs,gpu_mask=0x2/", "nvidia_nvlink_c2c_pmu_0", { 5, 0x2 } },
		{ "nvidia_nvclink_pmu_0/in_rd_req/", "nvidia_nvclink_pmu_0", { 2 } },
		{ "nvidia_nvclink_pmu_0/out_rd_req/", "nvidia_nvclink_pmu_0", { 6 } },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		words(m, &examples[i]);
	good(m,
	     "{nvidia_cmem_latency_pmu_0/rd_req/,nvidia_cmem_latency_pmu_0/rd_cum_outs/,nvidia_cmem_latency_pmu_0/"
	     "cycles/}",
	     3);
	assert_int_equal(m->set.event[0].group, m->set.event[2].group);
	good(m, "{nvidia_nvdlink_pmu_0/in_rd_req/,nvidia_nvdlink_pmu_0/in_rd_cum_outs/}", 2);
	/* The document's BDF is not what its formula gives, which is said; a raw code has no unit. */
	good(m, "nvidia_pcie_pmu_0_rc_4/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/", 1);
	assert_non_null(strstr(buf_str(&m->notes), "src_bdf=0x0180 is 01:10.0, and there is no such function"));
	assert_null(m->set.event[0].unit);
	good(m, "nvidia_pcie_pmu_0_rc_4/rd_bytes/", 1);
	assert_string_equal(m->set.event[0].unit, "By");
}

static void defaults(void **state)
{
	static const struct example examples[] = {
		/* Each half on its own. */
		{ "nvidia_ucf_pmu_0/mem_bytes_rd,src_rem=1/", "nvidia_ucf_pmu_0", { 0x123, 0x4 | 0xf << 8 } },
		{ "nvidia_ucf_pmu_0/mem_bytes_rd,dst_loc_gmem/", "nvidia_ucf_pmu_0", { 0x123, 0x7 | 0x2 << 8 } },
		{ "nvidia_pcie_pmu_0_rc_0/rd_bytes/", "nvidia_pcie_pmu_0_rc_0", { 0, 0xff, 0x1f } },
		{ "nvidia_pcie_tgt_pmu_0_rc_0/wr_req/", "nvidia_pcie_tgt_pmu_0_rc_0", { 3 | 0xff << 3 } },
		/* The clock is not filtered. */
		{ "nvidia_pcie_pmu_0_rc_0/cycles/", "nvidia_pcie_pmu_0_rc_0", { 0x100000000 } },
		{ "nvidia_pcie_tgt_pmu_0_rc_0/cycles/", "nvidia_pcie_tgt_pmu_0_rc_0", { 4 } },
		/* Grace: old kernels take 0 for "nothing". */
		{ "nvidia_pcie_pmu_0/rd_bytes_loc/", "nvidia_pcie_pmu_0", { 0, 0x3ff } },
		{ "nvidia_cnvlink_pmu_1/rd_bytes_rem/", "nvidia_cnvlink_pmu_1", { 1, 0xf } },
		{ "nvidia_nvlink_c2c0_pmu_0/cycles/", "nvidia_nvlink_c2c0_pmu_0", { 0x100000000, 0x3 } },
		{ "nvidia_nvlink_c2c1_pmu_0/rd_req_loc,port=1/", "nvidia_nvlink_c2c1_pmu_0", { 6, 0x1 } },
		{ "nvidia_scf_pmu_0/cmem_rd_data/", "nvidia_scf_pmu_0", { 0x1a5 } },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		words(m, &examples[i]);
}

static void addresses(void **state)
{
	static const struct example examples[] = {
		/* (0x81 << 8 | 0 << 3 | 0) */
		{ "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0002:81:00.0/",
		  "nvidia_pcie_pmu_0_rc_1",
		  { 0, 0x8100 << 8 | 1 << 24, 0x1f } },
		{ "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:00.0/",
		  "nvidia_pcie_pmu_0_rc_1",
		  { 0, 0x8100 << 8 | 1 << 24, 0x1f } },
		/* A class is asked for, and the root complex is found. */
		{ "nvidia_pcie/rd_bytes,src_bdf=000d:41:00.0/",
		  "nvidia_pcie_pmu_1_rc_4",
		  { 0, 0x4100 << 8 | 1 << 24, 0x1f } },
		{ "nvidia_pcie_pmu_0_rc_1/wr_bytes,src_rp_mask=0002:80:00.0/",
		  "nvidia_pcie_pmu_0_rc_1",
		  { 1, 1 << 1, 0x1f } },
		{ "nvidia_pcie_pmu_0_rc_1/wr_bytes,src_rp_mask=0002:a0:00.0+0002:e0:00.0/",
		  "nvidia_pcie_pmu_0_rc_1",
		  { 1, 1 << 2 | 1 << 4, 0x1f } },
		{ "nvidia_pcie_tgt/rd_bytes,dst_rp_mask=000a:e0:00.0/", "nvidia_pcie_tgt_pmu_1_rc_1", { 0x8 << 3 } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x10000-0x100ff/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 1 << 11, 0x10000, ~0xffull } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0X10000-0X100FF/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 1 << 11, 0x10000, ~0xffull } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=5-5/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 1 << 11, 5, UINT64_MAX } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr_base=4096-8191/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 1 << 11, 0x1000, ~0xfffull } },
		{ "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0-0xffffffffffffffff/",
		  "nvidia_pcie_tgt_pmu_0_rc_1",
		  { 1 << 11, 0, 0 } },
	};
	struct machine *m = *state;
	char *name;

	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		words(m, &examples[i]);
	good(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0x8100/", 1);
	assert_string_equal(buf_str(&m->notes), "nvidia_pcie_pmu_0_rc_1: src_bdf=0x8100 is 81:00.0\n");
	/* Read again, the canonical text means the same. */
	good(m, "nvidia_pcie/rd_bytes,src_bdf=000d:41:00.0/", 1);
	name = strdup(m->set.event[0].name);
	words(m, &(struct example){ name, "nvidia_pcie_pmu_1_rc_4", { 0, 0x4100 << 8 | 1 << 24, 0x1f } });
	free(name);
}

static void refused(void **state)
{
	static const char one[] = "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0002:81:00.0/";
	struct machine *m = *state;
	char text[300];

	bad(m, "nvidia_pcie_pmu_0_rc_0/rd_bytes,src_bdf=0002:81:00.0/", "below root complex 1 of socket 0");
	bad(m, "nvidia_pcie_pmu_1_rc_1/rd_bytes,src_bdf=0002:81:00.0/", "below root complex 1 of socket 0");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:00.1/", "no function 81:00.1");
	bad(m, "nvidia_pcie/rd_bytes,src_bdf=0002:82:00.0/", "no function 0002:82:00.0");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0002:80:00.0/", "is a root port");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:00/", "not a PCI function");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:20.0/", "not a PCI function");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=81:00.8/", "not a PCI function");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0x10000/", "16 bits");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=0001:00:00.0/", "port of root complex 0");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=0002:90:00.0/", "no root port 0002:90:00.0");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=80:00.0/", "DDDD:BB:DD.F");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=0x1,src_bdf=0x8100/", "not both");
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0x8100,src_bdf_en=0/", "would never count");
	snprintf(text, sizeof(text), "%s,nvidia_pcie_pmu_0_rc_1/wr_bytes/", one);
	bad(m, text, "one function or all, not both");
	snprintf(text, sizeof(text), "%s,nvidia_pcie_pmu_0_rc_1/wr_bytes,src_bdf=0002:a1:00.0/", one);
	bad(m, text, "one function filter");
	/* The clock is exempt, another root complex has a filter of its own, and one function may have many events.
	 */
	snprintf(text, sizeof(text),
		 "{%s,nvidia_pcie_pmu_0_rc_1/cycles/},nvidia_pcie_pmu_0_rc_0/wr_bytes/,"
		 "nvidia_pcie_pmu_0_rc_1/wr_bytes,src_bdf=0002:81:00.0/",
		 one);
	good(m, text, 4);
	bad(m, "{nvidia_ucf_pmu_0/cycles/,nvidia_ucf_pmu_1/cycles/}", "must be of one PMU");
	bad(m, "{nvidia_ucf_pmu_0/cycles/,cycles}", "must be of one PMU");
	good(m, "{nvidia_ucf_pmu_0/cycles/,cpu-clock}", 2);
	/* Whether there is such an event, the kernel knows. */
	good(m, "nvidia_cmem_latency_pmu_0/event=0x3/", 1);
	bad(m, "nvidia_nvlink_c2c_pmu_0/in_rd_req,gpu_mask=0x4/", "connected to 2");
	bad(m, "nvidia_nvclink_pmu_0/in_rd_req,gpu_mask=0x1/", "its peer is cpu");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x10000-0x100fe/", "power of two");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x10080-0x1017f/", "multiple of its size");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x100-0xff/", "below its start");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x100/", "START-END");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=5-/", "START-END");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=-5/", "START-END");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x-5/", "START-END");
	bad(m, "nvidia_pcie_tgt_pmu_0_rc_1/rd_bytes,dst_addr=0x100-0xzz/", "START-END");
}

/* What a general name stands for is the CPUs', whatever uncore PMUs call theirs. */
static void general_names(void **state)
{
	struct machine *m = *state;

	good(m, "cycles", 1);
	assert_true(m->set.event[0].core);
	good(m, "cpu-cycles", 1);
	assert_true(m->set.event[0].core);
	good(m, "nvidia_ucf/cycles/", 2);
	assert_string_equal(m->set.event[1].pmu, "nvidia_ucf_pmu_1");
	good(m, "{nvidia_pcie/rd_req/,nvidia_pcie/rd_cum_outs/,nvidia_pcie/cycles/}", 36);
	assert_int_equal(m->set.groups, 12);
}

static void count_groups(const struct machine *m, const char *pmu, unsigned counters, const char *expected)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < m->pmus.n; i++) {
		if (strcmp(m->pmus.pmu[i].name, pmu))
			continue;
		m->pmus.pmu[i].unit->counters = counters;

		perf_class_groups(&m->pmus.pmu[i], perf_class(&m->pmus.pmu[i])->defaults, "P", &text);
	}
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
}

/* What is recorded without being asked for: the inputs of a latency stay together, however few counters there are. */
static void default_groups(void **state)
{
	struct machine *m = *state;

	count_groups(m, "nvidia_pcie_pmu_0_rc_0", 8,
		     "{P/rd_req/,P/rd_cum_outs/,P/rd_bytes/,P/wr_bytes/,P/wr_req/,P/cycles/}:W");
	count_groups(m, "nvidia_pcie_pmu_0_rc_0", 2,
		     "{P/rd_req/,P/rd_cum_outs/,P/cycles/}:W,{P/rd_bytes/,P/wr_bytes/,P/cycles/}:W,{P/wr_req/,P/"
		     "cycles/}:W");
	count_groups(
		m, "nvidia_ucf_pmu_0", 8,
		"{P/slc_bytes_rd/,P/slc_access_rd/,P/slc_bytes_wr/,P/slc_access_wr/,P/mem_bytes_rd/,P/mem_access_rd/,"
		"P/mem_bytes_wr/,P/mem_access_wr/,P/cycles/}:W");
	count_groups(
		m, "nvidia_ucf_pmu_0", 9,
		"{P/slc_bytes_rd/,P/slc_access_rd/,P/slc_bytes_wr/,P/slc_access_wr/,P/mem_bytes_rd/,P/mem_access_rd/,"
		"P/mem_bytes_wr/,P/mem_access_wr/,P/slc_hit_rd/,P/cycles/}:W");
	/* Only events that its peer has. */
	count_groups(m, "nvidia_nvclink_pmu_0", 0,
		     "{P/in_rd_req/,P/in_rd_cum_outs/,P/out_rd_req/,P/out_rd_cum_outs/,P/cycles/}:W");
	count_groups(m, "nvidia_nvdlink_pmu_0", 0, "{P/in_rd_req/,P/in_rd_cum_outs/,P/cycles/}:W");
}

/* By what it is, then by what it is called. */
static void classes(void **state)
{
	static const struct {
		const char *name, *identifier, *class;
	} row[] = {
		{ "nvidia_ucf_pmu_0", "2cf2036b", "nvidia_ucf" },
		{ "nvidia_uncore_pmu_3", "2cf2036b", "nvidia_ucf" },
		{ "nvidia_scf_pmu_0", "2cf2036b", "nvidia_ucf" },
		{ "nvidia_scf_pmu_0", "2cf0036b", "nvidia_scf" },
		{ "nvidia_pcie_pmu_0_chiplet_2", NULL, "nvidia_pcie" },
		{ "nvidia_pcie_tgt_pmu_1_chiplet_0", "0", "nvidia_pcie_tgt" },
		{ "nvidia_t410_cpu_mem_pmu_1", NULL, "nvidia_cmem_latency" },
		{ "nvidia_pcie_pmu_0", "1030036b", "nvidia_grace_pcie" },
		{ "nvidia_pcie_pmu_0", NULL, "nvidia_grace_pcie" },
		{ "nvidia_uncore_pmu_7", "1030136b", "nvidia_pcie" },
		{ "nvidia_uncore_pmu_7", "7770036b", "nvidia_uncore" },
		{ "nvidia_nvlink_c2c_pmu_0", "NVDA2023", "nvidia_nvlink_c2c" },
		{ "nvidia_nvlink_c2c0_pmu_0", NULL, "nvidia_nvlink_c2c0" },
		{ "arm_cspmu_0", "1070036b", "nvidia_pcie_tgt" },
		{ "nvidia_ucf_pmu_0_rc_1", NULL, NULL },
		{ "nvidia_ucf_pmu_", NULL, NULL },
		{ "uncore_imc_0", NULL, "intel_imc" },
		{ "uncore_imc", "2cf", "intel_imc" },
		{ "uncore_imc_free_running_11", NULL, "intel_imc_free" },
		{ "uncore_imc_", NULL, NULL },
		{ "uncore_imc_0_1", NULL, NULL },
		{ "uncore_imcs", NULL, NULL },
		{ "hisi_sccl11_ddrc3", NULL, "hisi_ddrc" },
		{ "hisi_sccl1_ddrc0_1", NULL, "hisi_ddrc" },
		{ "hisi_sccl_ddrc0", NULL, NULL },
		{ "dwc_rootport_3018", NULL, "dwc_pcie" },
		{ "dwc_rootport_", NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct pmu_class *c = pmu_class_of(row[i].name, row[i].identifier);

		if (strcmp(c ? c->name : "", row[i].class ? row[i].class : ""))
			fail_msg("%s, %s is %s", row[i].name, row[i].identifier ? row[i].identifier : "-",
				 c ? c->name : "none");
	}
}

/* A name that does not say where it is: nowhere, not on socket 0. */
static void places_are_those_of_the_name(void **state)
{
	static const struct {
		const char *name;
		int number, rc;
	} row[] = { { "nvidia_pcie_pmu_1_rc_2", 1, 2 }, { "nvidia_ucf_pmu_0", 0, -1 }, { "pcie", -1, -1 } };

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct class_pmu pmu;

		class_pmu_init(&pmu, pmu_class_of("nvidia_ucf_pmu_0", NULL), row[i].name, NULL, NULL);
		assert_int_equal(pmu.name.number, row[i].number);
		assert_int_equal(pmu.name.rc, row[i].rc);
		assert_int_equal(pmu.socket, row[i].number);
	}
}

/* A kernel that is older than the hardware names the clock alone; codes are known all the same. */
static void unnamed(void **state)
{
	struct machine *m = *state;

	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/type", "99\n");
	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/identifier", "2cf2036b\n");
	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/cpumask", "0\n");
	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/events/cycles", "event=0x100000000\n");
	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/format/event", "config:0-32\n");
	sysroot_put(m->dir, "/sys/bus/event_source/devices/nvidia_uncore_pmu_9/format/filter", "config1:0-31\n");
	perf_pmus_release(&m->pmus);
	look(m);
	good(m, "nvidia_uncore_pmu_9/mem_bytes_rd/", 1);
	assert_int_equal(m->set.event[0].config[0], 0x123);
	assert_int_equal(m->set.event[0].config[1], 0xffffffff);
	good(m, "nvidia_ucf/mem_bytes_rd/", 3);
}

/* Without rights the kernel cuts configuration space, which is not the same as a port that says nothing. */
static void rights(void **state)
{
	static const char port[] = "/sys/bus/pci/devices/0002:80:00.0/config";
	struct machine *m = *state;
	struct pci_map map;
	char path[100], command[300];

	pci_map_read(&map, &m->root);
	assert_int_equal(map.state, PCI_KNOWN);
	assert_int_equal(map.n_ports, 21);
	assert_int_equal(map.n_functions, 21);
	pci_map_release(&map);
	snprintf(command, sizeof(command), "truncate -s 64 %s/sys/bus/pci/devices/*/config", m->dir);
	assert_int_equal(system(command), 0);
	pci_map_read(&map, &m->root);
	assert_int_equal(map.state, PCI_NEEDS_ROOT);
	pci_map_release(&map);
	perf_pmus_release(&m->pmus);
	look(m);
	good(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0002:81:00.0/", 1);
	assert_non_null(strstr(buf_str(&m->notes), "only root can"));
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_rp_mask=0002:80:00.0/", "only root can");
	/* Zeroes where capabilities would be. */
	snprintf(command, sizeof(command), "truncate -s 4096 %s/sys/bus/pci/devices/*/config", m->dir);
	assert_int_equal(system(command), 0);
	pci_map_read(&map, &m->root);
	assert_int_equal(map.state, PCI_NO_SUCH);
	pci_map_release(&map);
	/* A capability list that leads to itself ends. */
	snprintf(path, sizeof(path), "%s%s", m->dir, port);
	snprintf(command, sizeof(command),
		 "printf '\\043\\000\\001\\020' | dd of=%s bs=1 seek=256 conv=notrunc 2>/dev/null", path);
	assert_int_equal(system(command), 0);
	pci_map_read(&map, &m->root);
	assert_int_equal(map.state, PCI_NO_SUCH);
	pci_map_release(&map);
}

/* Nodes tell the sockets apart, whatever the order of their CPUs: here the second has the CPUs that come first. */
static void nodes_tell_sockets(void **state)
{
	static const char *const second[] = { "0009:00:00.0", "000a:80:00.0", "000a:a0:00.0", "000a:e0:00.0",
					      "000b:00:00.0", "000c:00:00.0", "000d:00:00.0", "000d:40:00.0",
					      "000d:c0:00.0", "000e:00:00.0" };
	struct machine *m = *state;
	char path[100];

	for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/numa_node", second[i]);
		sysroot_put(m->dir, path, "2\n");
	}
	sysroot_put(m->dir, "/sys/devices/system/node/node0/cpulist", "4-7\n");
	sysroot_put(m->dir, "/sys/devices/system/node/node2/cpulist", "0-3\n");
	perf_pmus_release(&m->pmus);
	look(m);
	good(m, "nvidia_pcie_pmu_1_rc_1/rd_bytes,src_bdf=0002:81:00.0/", 1);
	bad(m, "nvidia_pcie_pmu_0_rc_1/rd_bytes,src_bdf=0002:81:00.0/", "below root complex 1 of socket 0");
	good(m, "nvidia_pcie_pmu_0_rc_4/rd_bytes,src_bdf=000d:41:00.0/", 1);
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(document, begin, end),
	   cmocka_unit_test_setup_teardown(defaults, begin, end),
	   cmocka_unit_test_setup_teardown(addresses, begin, end),
	   cmocka_unit_test_setup_teardown(nodes_tell_sockets, begin, end),
	   cmocka_unit_test_setup_teardown(refused, begin, end),
	   cmocka_unit_test_setup_teardown(general_names, begin, end),
	   cmocka_unit_test_setup_teardown(default_groups, begin, end), cmocka_unit_test(classes),
	   cmocka_unit_test(places_are_those_of_the_name), cmocka_unit_test_setup_teardown(unnamed, begin, end),
	   cmocka_unit_test_setup_teardown(rights, begin, end))
