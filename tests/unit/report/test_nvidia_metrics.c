/*
 * Metrics of NVIDIA's uncore PMUs on recordings whose rates are programmed: each PMU, each socket, the system, with
 * filters, with groups that take turns, with clocks that differ and clocks that stand still.
 */
#include <math.h>
#include <stdio.h>

#include "tests/unit/lib/report_harness.h"

#define SECONDS 4

/* What an event counts a second on a PMU. */
struct programmed {
	const char *pmu, *event;
	double rate;
	unsigned group;
	const char *terms;      /* behind the event, or NULL */
	uint64_t code, config1; /* of the attr, if config1 is not 0 */
};

struct world {
	const struct programmed *row;
	size_t n;
	double share; /* of the time that groups ran, where `turns` */
	bool turns;
	char name[64][128];
};

static struct reading value(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	const struct world *w = b->data;

	if (!strcmp(counter, "enabled"))
		return (struct reading){ .v = row * 1000000000 };
	if (!strcmp(counter, "running"))
		return (struct reading){ .v = (uint64_t)((double)row * 1e9 * (w->turns ? w->share : 1)) };
	for (size_t k = 0; k < w->n; k++)
		if (!strcmp(w->name[k], counter))
			return (struct reading){ .v = (uint64_t)((double)row * w->row[k].rate *
								 (w->turns ? w->share : 1)) };
	fail_msg("nobody programmed %s", counter);
	return (struct reading){ 0 };
}

static uint32_t pmu_instance(struct builder *b, const char *name, uint32_t cpu)
{
	struct pm_instance i = { .kind = PM_PMU, .number = PM_NONE, .cpu = cpu, .added_ns = 1 };
	int64_t id;

	for (uint32_t k = 0; k < b->model.n_instances; k++)
		if (!strcmp(pm_map_text(&b->model.instance[k].attrs, PM_INSTANCE_NAME, ""), name))
			return b->model.instance[k].id;
	assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name)), 0);
	id = pm_model_add_instance(&b->model, &i);
	assert_true(id > 0);
	pm_map_release(&i.attrs);
	return (uint32_t)id;
}

/* The socket in the names of the tests; the CPUs 4 to 7 of the builder are package 1. */
static uint32_t cpu_of(const char *pmu)
{
	return strstr(pmu, "pmu_1") ? 4 : 0;
}

static void machine(struct builder *b, struct world *w, const struct programmed *row, size_t n)
{
	builder_init(b, value);
	b->data = w;
	w->row = row;
	w->n = n;
	assert_true(n <= sizeof(w->name) / sizeof(w->name[0]));
	for (size_t k = 0; k < n; k++) {
		struct pm_counter *c;
		int64_t id;

		snprintf(w->name[k], sizeof(w->name[k]), "%s/%s%s/", row[k].pmu, row[k].event,
			 row[k].terms ? row[k].terms : "");
		for (size_t i = 0; i < k; i++)
			if (!strcmp(w->name[i], w->name[k]))
				strcat(w->name[k], "#2");
		/* The builder takes what is before a dot for the source, and addresses have dots. */
		id = pm_model_add_counter(&b->model, &(struct pm_counter){ .name = w->name[k],
									   .display = w->name[k],
									   .source = (char *)"perf",
									   .unit = (char *)"1",
									   .scale = { .num = 1, .den = 1 },
									   .type = PM_U64,
									   .semantics = PM_CUMULATIVE,
									   .width = 64,
									   .aggregation = PM_AGG_SUM });
		assert_true(id > 0);
		c = builder_counter_at(b, (uint32_t)id);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_PMU, pm_text(row[k].pmu)), 0);
		assert_int_equal(
			pm_map_set(&c->attrs, PM_COUNTER_PERF_EVENT, pm_text_n(w->name[k], strcspn(w->name[k], "#"))),
			0);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_GROUP, pm_u64(row[k].group)), 0);
		if (row[k].config1) {
			unsigned char attr[112] = { 0 };

			for (int i = 0; i < 8; i++) {
				attr[8 + i] = (unsigned char)(row[k].code >> 8 * i);
				attr[56 + i] = (unsigned char)(row[k].config1 >> 8 * i);
			}
			assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_ATTR, pm_bytes(attr, sizeof(attr))),
					 0);
		}
	}
	/* One column group for each kernel group. */
	for (size_t k = 0; k < n;) {
		uint32_t counter[16], count = 0, instance = pmu_instance(b, row[k].pmu, cpu_of(row[k].pmu));
		struct pm_group g = { .source = "perf",
				      .flags = PM_GROUP_PERF_TIMES,
				      .counter = counter,
				      .instance = &instance,
				      .n_instances = 1 };
		unsigned group = row[k].group;

		for (; k < n && row[k].group == group; k++)
			counter[count++] = pm_model_counter_named(&b->model, w->name[k])->id;
		g.n_counters = count;
		assert_true(pm_model_add_group(&b->model, &g) > 0);
	}
}

static void nothing(struct harness *h, const struct interval *i, size_t n)
{
}

static void start(struct harness *h, struct builder *b, enum pm_kind per)
{
	h->config.per = per;
	h->config.summary = true;
	h->look = nothing;
	harness_start(h, b, "all", REPLAY_TOTAL);
	harness_feed(h, 0, SECONDS + 1);
	assert_int_equal(replay_finish(h->replay), 0);
}

static void near(const struct harness *h, const char *metric, enum pm_kind kind, uint32_t nth, double expected)
{
	double v = harness_value(h, metric, kind, nth);

	if (fabs(v - expected) > 0.0001 * fabs(expected))
		fail_msg("%s of %s %u is %g, not %g", metric, pm_kind_name(kind), nth, v, expected);
}

#define N(table) (sizeof(table) / sizeof((table)[0]))

/* Two sockets whose clocks differ, in one group each. */
static const struct programmed memory[] = {
	{ "nvidia_cmem_latency_pmu_0", "cycles", 1e9, 1, NULL },
	{ "nvidia_cmem_latency_pmu_0", "rd_req", 2e6, 1, NULL },
	{ "nvidia_cmem_latency_pmu_0", "rd_cum_outs", 400e6, 1, NULL },
	{ "nvidia_cmem_latency_pmu_1", "cycles", 2e9, 2, NULL },
	{ "nvidia_cmem_latency_pmu_1", "rd_req", 6e6, 2, NULL },
	{ "nvidia_cmem_latency_pmu_1", "rd_cum_outs", 600e6, 2, NULL },
};

static void latencies(void **state)
{
	static const enum pm_kind kinds[] = { PM_PMU, PM_PACKAGE };

	for (size_t i = 0; i < N(kinds); i++) {
		struct harness h = { 0 };
		struct world w = { 0 };
		struct builder b;

		machine(&b, &w, memory, N(memory));
		start(&h, &b, kinds[i]);
		near(&h, "nvidia_cmem_latency.frequency", kinds[i], 0, 1);
		near(&h, "nvidia_cmem_latency.frequency", kinds[i], 1, 2);
		near(&h, "nvidia_cmem_latency.rd_latency_cycles", kinds[i], 0, 200);
		near(&h, "nvidia_cmem_latency.rd_latency_cycles", kinds[i], 1, 100);
		/* 200 cycles of 1 ns; 100 cycles of half a ns. */
		near(&h, "nvidia_cmem_latency.rd_latency", kinds[i], 0, 200);
		near(&h, "nvidia_cmem_latency.rd_latency", kinds[i], 1, 50);
		near(&h, "nvidia_cmem_latency.rd_outstanding", kinds[i], 0, 0.4);
		near(&h, "nvidia_cmem_latency.rd_outstanding", kinds[i], 1, 0.3);
		near(&h, "nvidia_cmem_latency.rd_bw_estimate", kinds[i], 0, 2e6 * 32 / 1e9);
		/* All: requests weigh, and each socket's cycles have their own length: (2e6 * 200 + 6e6 * 50) / 8e6.
		 */
		near(&h, "nvidia_cmem_latency.rd_latency", PM_SYSTEM, 0, 87.5);
		near(&h, "nvidia_cmem_latency.rd_latency_cycles", PM_SYSTEM, 0, 1000e6 / 8e6);
		near(&h, "nvidia_cmem_latency.frequency", PM_SYSTEM, 0, 1.5);
		near(&h, "nvidia_cmem_latency.rd_outstanding", PM_SYSTEM, 0, 0.7);
		near(&h, "nvidia_cmem_latency.rd_bw_estimate", PM_SYSTEM, 0, 8e6 * 32 / 1e9);
		harness_stop(&h);
		builder_release(&b);
	}
}

/* A table of CPUs shows what the PMUs of a package come to. */
static void folded(void **state)
{
	struct harness h = { .config.fold_pmus = true };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, memory, N(memory));
	start(&h, &b, PM_CPU);
	assert_int_equal(harness_rows(&h, PM_PMU), 0);
	near(&h, "nvidia_cmem_latency.rd_latency", PM_PACKAGE, 0, 200);
	near(&h, "nvidia_cmem_latency.rd_latency", PM_PACKAGE, 1, 50);
	near(&h, "nvidia_cmem_latency.rd_latency", PM_SYSTEM, 0, 87.5);
	harness_stop(&h);
	builder_release(&b);
}

/* Groups that take turns are made up for, and ratios do not notice. */
static void multiplexed(void **state)
{
	struct harness h = { 0 };
	struct world w = { .turns = true, .share = 0.25 };
	struct builder b;

	machine(&b, &w, memory, N(memory));
	start(&h, &b, PM_PMU);
	near(&h, "nvidia_cmem_latency.rd_latency", PM_PMU, 1, 50);
	near(&h, "nvidia_cmem_latency.frequency", PM_PMU, 0, 1);
	near(&h, "nvidia_cmem_latency.rd_bw_estimate", PM_SYSTEM, 0, 8e6 * 32 / 1e9);
	harness_stop(&h);
	builder_release(&b);
}

static const struct programmed fabric[] = {
	{ "nvidia_ucf_pmu_0", "slc_bytes_rd", 8e9, 1, NULL },
	{ "nvidia_ucf_pmu_0", "slc_access_rd", 250e6, 1, NULL },
	{ "nvidia_ucf_pmu_0", "slc_hit_rd", 200e6, 1, NULL },
	{ "nvidia_ucf_pmu_0", "cycles", 2.5e9, 1, NULL },
	{ "nvidia_ucf_pmu_0", "mem_bytes_wr", 3e9, 2, NULL },
	{ "nvidia_ucf_pmu_0", "mem_access_wr", 50e6, 2, NULL },
	{ "nvidia_ucf_pmu_0", "cycles", 2.5e9, 2, NULL },
	{ "nvidia_ucf_pmu_1", "slc_bytes_rd", 2e9, 3, NULL },
	{ "nvidia_ucf_pmu_1", "slc_access_rd", 50e6, 3, NULL },
	{ "nvidia_ucf_pmu_1", "slc_hit_rd", 10e6, 3, NULL },
	{ "nvidia_ucf_pmu_1", "cycles", 2e9, 3, NULL },
	{ "nvidia_ucf_pmu_1", "mem_bytes_rd", 1e9, 4, NULL },
	{ "nvidia_ucf_pmu_1", "mem_access_rd", 1e7, 5, NULL },
};

static void bandwidths(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, fabric, N(fabric));
	start(&h, &b, PM_PMU);
	near(&h, "nvidia_ucf.slc_rd_bw", PM_PMU, 0, 8);
	near(&h, "nvidia_ucf.slc_rd_bw", PM_PMU, 1, 2);
	near(&h, "nvidia_ucf.slc_rd_bw", PM_SYSTEM, 0, 10);
	near(&h, "nvidia_ucf.slc_rd_rate", PM_PMU, 0, 0.1);
	near(&h, "nvidia_ucf.slc_rd_rate", PM_PMU, 1, 0.025);
	/* Added up before the division. */
	near(&h, "nvidia_ucf.slc_rd_rate", PM_SYSTEM, 0, 300e6 / 4.5e9);
	near(&h, "nvidia_ucf.slc_rd_hit_ratio", PM_PMU, 0, 80);
	near(&h, "nvidia_ucf.slc_rd_hit_ratio", PM_SYSTEM, 0, 70);
	near(&h, "nvidia_ucf.slc_rd_bytes_per_request", PM_PMU, 1, 40);
	near(&h, "nvidia_ucf.mem_wr_bw", PM_SYSTEM, 0, 3);
	near(&h, "nvidia_ucf.mem_wr_rate", PM_PMU, 0, 0.02);
	/* The clock was counted twice on one PMU, and is counted once. */
	near(&h, "nvidia_ucf.frequency", PM_PMU, 0, 2.5);
	near(&h, "nvidia_ucf.frequency", PM_SYSTEM, 0, 2.25);
	near(&h, "nvidia_ucf.mem_rd_bw", PM_PMU, 1, 1);
	/* Its clock is in another group, and so are its requests. */
	near(&h, "nvidia_ucf.mem_rd_rate", PM_PMU, 1, 0.005);
	near(&h, "nvidia_ucf.mem_rd_bytes_per_request", PM_PMU, 1, 100);
	harness_stop(&h);
	builder_release(&b);
}

/* Another process holds the filter of the second root complex: its default group could only be opened in parts. */
static const struct programmed parts[] = {
	{ "nvidia_pcie_pmu_0_rc_0", "cycles", 1e9, 1, NULL },
	{ "nvidia_pcie_pmu_0_rc_0", "rd_req", 1e6, 1, NULL },
	{ "nvidia_pcie_pmu_0_rc_0", "rd_cum_outs", 400e6, 1, NULL },
	{ "nvidia_pcie_pmu_0_rc_1", "cycles", 2e9, 2, NULL },
	{ "nvidia_pcie_pmu_0_rc_1", "rd_req", 3e6, 3, NULL },
	{ "nvidia_pcie_pmu_0_rc_1", "rd_cum_outs", 200e6, 4, NULL },
};

static void split(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, parts, N(parts));
	start(&h, &b, PM_PMU);
	near(&h, "nvidia_pcie.rd_outstanding", PM_PMU, 1, 0.1);
	near(&h, "nvidia_pcie.rd_outstanding", PM_SYSTEM, 0, 0.5);
	near(&h, "nvidia_pcie.rd_rate", PM_SYSTEM, 0, 4e6 / 3e9);
	near(&h, "nvidia_pcie.rd_latency", PM_SYSTEM, 0, 0.5 / 4e6 * 1e9);
	harness_stop(&h);
	builder_release(&b);
}

static const struct programmed filtered[] = {
	{ "nvidia_pcie_pmu_0_rc_0", "rd_bytes", 6e9, 1, NULL },
	{ "nvidia_pcie_pmu_0_rc_0", "cycles", 1e9, 1, NULL },
	{ "nvidia_pcie_pmu_0_rc_0", "rd_bytes", 2e9, 2, ",src_rp_mask=0x1" },
	{ "nvidia_pcie_pmu_0_rc_0", "cycles", 1e9, 2, NULL },
	{ "nvidia_pcie_pmu_1_rc_0", "rd_bytes", 1e9, 3, ",src_rp_mask=0x1" },
	{ "nvidia_pcie_pmu_1_rc_0", "rd_bytes", 4e9, 4, ",src_rp_mask=0xff" },
	/* A raw code is the event that it is the code of. */
	{ "nvidia_pcie_pmu_1_rc_0", "event=0x1", 5e9, 5, NULL },
};

static void filters(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, filtered, N(filtered));
	start(&h, &b, PM_PACKAGE);
	near(&h, "nvidia_pcie.rd_bw", PM_PACKAGE, 0, 6);
	near(&h, "nvidia_pcie.rd_bw", PM_PACKAGE, 1, 4);
	near(&h, "nvidia_pcie.rd_bw", PM_SYSTEM, 0, 10);
	near(&h, "nvidia_pcie.rd_bw/src_rp_mask=0x1/", PM_PACKAGE, 0, 2);
	near(&h, "nvidia_pcie.rd_bw/src_rp_mask=0x1/", PM_SYSTEM, 0, 3);
	near(&h, "nvidia_pcie.wr_bw", PM_PACKAGE, 1, 5);
	harness_stop(&h);
	builder_release(&b);
}

/* One function, called three ways; another one on another root complex. */
static const struct programmed functions[] = {
	{ "nvidia_pcie_pmu_0_rc_0", "rd_req", 1e6, 1, ",src_bdf=0001:01:00.0", 2, 0x100 << 8 | 1 << 24 },
	{ "nvidia_pcie_pmu_0_rc_0", "rd_cum_outs", 5e8, 1, ",src_bdf=01:00.0", 4, 0x100 << 8 | 1 << 24 },
	{ "nvidia_pcie_pmu_0_rc_0", "rd_bytes", 64e6, 1, ",src_bdf=0x100,src_bdf_en=0x1", 0, 0x100 << 8 | 1 << 24 },
	{ "nvidia_pcie_pmu_0_rc_0", "cycles", 1e9, 1, NULL },
	{ "nvidia_pcie_pmu_1_rc_0", "rd_req", 1e6, 2, ",src_bdf=0009:02:00.0", 2, 0x200 << 8 | 1 << 24 },
	{ "nvidia_pcie_pmu_1_rc_0", "rd_cum_outs", 7e8, 2, ",src_bdf=0009:02:00.0", 4, 0x200 << 8 | 1 << 24 },
	{ "nvidia_pcie_pmu_1_rc_0", "cycles", 1e9, 2, NULL },
};

static void one_filter_many_names(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, functions, N(functions));
	start(&h, &b, PM_PACKAGE);
	near(&h, "nvidia_pcie.rd_latency/src_bdf=0001:01:00.0/", PM_PACKAGE, 0, 500);
	near(&h, "nvidia_pcie.rd_bytes_per_request/src_bdf=0001:01:00.0/", PM_PACKAGE, 0, 64);
	near(&h, "nvidia_pcie.rd_latency/src_bdf=0009:02:00.0/", PM_SYSTEM, 0, 700);
	assert_null(harness_metric(&h, "nvidia_pcie.rd_latency"));
	harness_stop(&h);
	builder_release(&b);
}

static const struct programmed links[] = {
	{ "nvidia_nvlink_c2c_pmu_0", "cycles", 1e9, 1, NULL },
	{ "nvidia_nvlink_c2c_pmu_0", "in_rd_req", 1e6, 1, NULL },
	{ "nvidia_nvlink_c2c_pmu_0", "in_rd_cum_outs", 300e6, 1, NULL },
	{ "nvidia_nvlink_c2c_pmu_0", "out_wr_req", 0, 1, NULL },
	{ "nvidia_nvlink_c2c_pmu_0", "out_wr_cum_outs", 0, 1, NULL },
	/* The link of the other socket is down. */
	{ "nvidia_nvlink_c2c_pmu_1", "cycles", 0, 2, NULL },
	{ "nvidia_nvlink_c2c_pmu_1", "in_rd_req", 0, 2, NULL },
	{ "nvidia_nvlink_c2c_pmu_1", "in_rd_cum_outs", 0, 2, NULL },
	{ "nvidia_nvlink_c2c_pmu_1", "out_wr_req", 0, 2, NULL },
	{ "nvidia_nvlink_c2c_pmu_1", "out_wr_cum_outs", 0, 2, NULL },
	/* Events of separate groups: this hardware counts all at once. */
	{ "nvidia_nvclink_pmu_0", "in_rd_req", 1e6, 3, NULL },
	{ "nvidia_nvclink_pmu_0", "in_rd_cum_outs", 100e6, 4, NULL },
	{ "nvidia_nvclink_pmu_0", "cycles", 2e9, 5, NULL },
	{ "nvidia_pcie_pmu_0_rc_3", "rd_bytes", 0, 6, NULL },
	{ "nvidia_pcie_pmu_0_rc_3", "cycles", 0, 6, NULL },
};

static void undefined(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, links, N(links));
	start(&h, &b, PM_PACKAGE);
	near(&h, "nvidia_nvlink_c2c.in_rd_latency", PM_PACKAGE, 0, 300);
	assert_int_equal(harness_reason(&h, "nvidia_nvlink_c2c.in_rd_latency", PM_PACKAGE, 1), PM_REASON_NOT_COUNTED);
	assert_int_equal(harness_reason(&h, "nvidia_nvlink_c2c.frequency", PM_PACKAGE, 1), PM_REASON_NOT_COUNTED);
	/* What stands still is not a part that the system lacks. */
	near(&h, "nvidia_nvlink_c2c.in_rd_latency", PM_SYSTEM, 0, 300);
	near(&h, "nvidia_nvlink_c2c.frequency", PM_SYSTEM, 0, 1);
	/* Nobody wrote: there is no latency, which is not 0. */
	assert_int_equal(harness_reason(&h, "nvidia_nvlink_c2c.out_wr_latency", PM_PACKAGE, 0),
			 VALUE_DIVISION_BY_ZERO);
	near(&h, "nvidia_nvlink_c2c.out_wr_outstanding", PM_PACKAGE, 0, 0);
	near(&h, "nvidia_nvclink.in_rd_latency", PM_PACKAGE, 0, 50);
	assert_int_equal(harness_reason(&h, "nvidia_pcie.rd_bw", PM_SYSTEM, 0), PM_REASON_NOT_COUNTED);
	harness_stop(&h);
	builder_release(&b);
}

static const struct programmed grace[] = {
	{ "nvidia_scf_pmu_0", "cmem_rd_data", 1e9, 1, NULL },
	{ "nvidia_scf_pmu_0", "cmem_wr_total_bytes", 4e9, 1, NULL },
	{ "nvidia_scf_pmu_0", "cmem_rd_access", 10e6, 1, NULL },
	{ "nvidia_scf_pmu_0", "cmem_rd_outstanding", 3e9, 1, NULL },
	{ "nvidia_scf_pmu_0", "cycles", 3e9, 1, NULL },
	{ "nvidia_pcie_pmu_0", "rd_bytes_loc", 7e9, 2, NULL },
	{ "nvidia_pcie_pmu_0", "cycles", 1e9, 2, NULL },
	{ "nvidia_nvlink_c2c0_pmu_0", "rd_req_loc", 5e6, 3, NULL },
	{ "nvidia_nvlink_c2c0_pmu_0", "rd_cum_outs_loc", 2e9, 3, NULL },
	{ "nvidia_nvlink_c2c0_pmu_0", "cycles", 2e9, 3, NULL },
};

static void grace_metrics(void **state)
{
	struct harness h = { 0 };
	struct world w = { 0 };
	struct builder b;

	machine(&b, &w, grace, N(grace));
	start(&h, &b, PM_PACKAGE);
	near(&h, "nvidia_scf.cmem_rd_bw", PM_PACKAGE, 0, 32);
	near(&h, "nvidia_scf.cmem_wr_bw", PM_PACKAGE, 0, 4);
	near(&h, "nvidia_scf.cmem_rd_latency", PM_PACKAGE, 0, 100);
	near(&h, "nvidia_scf.cmem_rd_latency_cycles", PM_PACKAGE, 0, 300);
	near(&h, "nvidia_grace_pcie.rd_loc_bw", PM_PACKAGE, 0, 7);
	near(&h, "nvidia_nvlink_c2c0.rd_loc_latency", PM_PACKAGE, 0, 200);
	assert_null(harness_metric(&h, "nvidia_pcie.rd_bw"));
	harness_stop(&h);
	builder_release(&b);
}

/* ---- cores: the vendor's file ---- */

/* Of the schema of tools/perf/pmu-events/arch/arm64/{nvidia/t410,arm/neoverse-n2-v2}/metrics.json. */
static const char vendor_text[] =
	"[{\"MetricName\": \"backend_bound\", \"MetricExpr\": \"100 * (STALL_SLOT_BACKEND / CPU_SLOT)\","
	"  \"ScaleUnit\": \"1percent of slots\", \"MetricGroup\": \"TopdownL1\"},"
	" {\"MetricName\": \"retiring\", \"ScaleUnit\": \"1percent of slots\", \"MetricGroup\": \"TopdownL1\","
	"  \"MetricExpr\": \"100 * ((OP_RETIRED / OP_SPEC) * (1 - (STALL_SLOT / CPU_SLOT)))\"},"
	" {\"MetricName\": \"rest\", \"MetricExpr\": \"100 - backend_bound - retiring\", \"ScaleUnit\": \"1percent "
	"of "
	"slots\"},"
	" {\"MetricName\": \"st_mode\", \"MetricExpr\": \"((CPU_SLOT / CPU_CYCLES) - 5) / 5\", \"ScaleUnit\": \"1\"},"
	" {\"MetricName\": \"frontend_bound\", \"ScaleUnit\": \"100%\","
	"  \"MetricExpr\": \"stall_slot_frontend / (#slots * cpu_cycles)\"},"
	" {\"MetricName\": \"mem_per_cycle\", \"MetricExpr\": \"nvidia_ucf@mem_bytes_rd@ / nvidia_ucf@cycles@\"}]";

static struct reading core_value(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	static const struct {
		const char *name;
		uint64_t rate;
	} rate[] = {
		{ "cpu_slot", 8000 },
		{ "stall_slot_backend", 2000 },
		{ "stall_slot", 3000 },
		{ "op_retired", 4000 },
		{ "op_spec", 5000 },
		{ "cpu_cycles", 1000 },
		{ "stall_slot_frontend", 800 },
		{ "mem_bytes_rd", 64 },
		{ "cycles", 4 },
	};

	for (size_t k = 0; k < N(rate); k++)
		if (strstr(counter, rate[k].name) && strchr("/", strstr(counter, rate[k].name)[strlen(rate[k].name)]))
			return (struct reading){ .v = rate[k].rate * row * (i->kind == PM_CPU ? i->number + 1 : 1) };
	return (struct reading){ .v = row * 1000 };
}

static void core_metrics(void **state)
{
	static const char *const names[] = { "cpu_slot", "stall_slot_backend", "stall_slot",         "op_retired",
					     "op_spec",  "cpu_cycles",         "stall_slot_frontend" };
	static const struct programmed fabric_row[] = {
		{ "nvidia_ucf_pmu_0", "mem_bytes_rd", 0, 1, NULL },
		{ "nvidia_ucf_pmu_0", "cycles", 0, 1, NULL },
	};
	struct pm_pmu pmu = { 0 };
	struct metric_set set;
	struct harness h = { .bind.vendor = &set, .bind.n_vendor = 1 };
	struct pm_value caps = pm_array(1);
	struct world w = { 0 };
	struct builder b;
	struct error e;
	uint32_t counter[N(names)];

	if (metric_set_load_text(&set, vendor_text, strlen(vendor_text), &e))
		fail_msg("%s", e.text);
	assert_int_equal(set.n, 6);
	machine(&b, &w, fabric_row, N(fabric_row));
	b.value = core_value;
	caps.array.item[0] = pm_array(2);
	caps.array.item[0].array.item[0] = pm_text("slots");
	caps.array.item[0].array.item[1] = pm_text("0x00000008");
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_NAME, pm_text("armv8_pmuv3_0")), 0);
	assert_int_equal(pm_map_set(&pmu.attrs, PM_PMU_CAPS, caps), 0);
	assert_int_equal(pm_model_add_pmu(&b.model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	for (size_t i = 0; i < N(names); i++) {
		struct pm_counter *c;
		char text[64];

		snprintf(text, sizeof(text), "armv8_pmuv3_0/%s/", names[i]);
		counter[i] = builder_counter(&b, text, "1", PM_CUMULATIVE, PM_AGG_SUM);
		c = builder_counter_at(&b, counter[i]);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_PMU, pm_text("armv8_pmuv3_0")), 0);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_EVENT, pm_text(text)), 0);
		assert_int_equal(pm_map_set(&c->attrs, PM_COUNTER_PERF_USER_TEXT, pm_text(names[i])), 0);
	}
	builder_group(&b, PM_CPU, 2, 0, counter, N(names));
	start(&h, &b, PM_CPU);
	for (uint32_t cpu = 0; cpu < 2; cpu++) {
		near(&h, "backend_bound", PM_CPU, cpu, 25);
		near(&h, "retiring", PM_CPU, cpu, 50);
		near(&h, "rest", PM_CPU, cpu, 25);
		near(&h, "st_mode", PM_CPU, cpu, 0.6);
		/* A share that is shown as percent. */
		near(&h, "frontend_bound", PM_CPU, cpu, 10);
	}
	/* A file may speak of classes, too. */
	near(&h, "mem_per_cycle", PM_SYSTEM, 0, 16);
	harness_stop(&h);
	metric_set_release(&set);
	builder_release(&b);
}

UNIT_TESTS(cmocka_unit_test(latencies), cmocka_unit_test(multiplexed), cmocka_unit_test(bandwidths),
	   cmocka_unit_test(split), cmocka_unit_test(filters), cmocka_unit_test(undefined),
	   cmocka_unit_test(grace_metrics), cmocka_unit_test(core_metrics), cmocka_unit_test(folded),
	   cmocka_unit_test(one_filter_many_names))
