/* Names of places: of tasks and cgroups while a model forgets those that have gone, and of PMUs by what is behind them. */
#include "report/machine/pci.h"
#include "report/machine/places.h"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/test.h"

#define LIVE  10
#define TIMES 40

static uint32_t add(struct pm_model *m, enum pm_kind kind, uint32_t number, uint64_t pid)
{
	struct pm_instance i = { .kind = kind, .number = number };
	int64_t id;

	if (pid) {
		assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_COMM, pm_text("sh")), 0);
		assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_PID, pm_u64(pid)), 0);
	}
	id = pm_model_add_instance(m, &i);
	assert_true(id > 0);
	pm_map_release(&i.attrs);
	return (uint32_t)id;
}

static void assert_name(const struct places *p, uint32_t id, enum pm_kind kind, const char *name)
{
	const struct pm_instance *i = pm_model_instance(p->model, id);
	struct place place;

	assert_non_null(i);
	assert_true(places_find(p, i, kind, &place));
	assert_string_equal(places_name(p, &place), name);
}

/* Each time all tasks but a nameless one are replaced, and one of them comes back under its old number. */
static void forgotten(void **state)
{
	uint32_t live[LIVE] = { 0 };
	struct places p = { 0 };
	uint32_t most = 0;
	struct pm_model m;

	(void)state;
	pm_model_init(&m);
	for (uint32_t t = 0; t < TIMES; t++) {
		for (uint32_t i = 0; i < LIVE; i++) {
			uint32_t number = i ? t * LIVE + i : 0;

			if (live[i])
				assert_int_equal(pm_model_retire_instance(&m, live[i], t), 0);
			live[i] = i == 1 ? add(&m, PM_DEVICE, i, 0) : add(&m, PM_TASK, number, 1000 + number);
		}
		places_update(&p, &m);
		for (uint32_t i = 0; i < LIVE; i++) {
			char name[32];

			snprintf(name, sizeof(name), "sh (%u)", i ? 1000 + t * LIVE + i : 1000);
			assert_name(&p, live[i], i == 1 ? PM_DEVICE : PM_TASK, i == 1 ? "" : name);
		}
		pm_model_forget(&m, NULL, NULL, false);
		most = m.n_instances > most ? m.n_instances : most;
	}
	/* Names of the dead cost nothing. */
	assert_true(p.n_labels <= 2 * most);
	assert_true(most < TIMES * LIVE / 2);
	places_release(&p);
	pm_model_release(&m);
}

/* Rows of numbers, as in a recording. */
static void numbers(struct builder *b, const char *name, const int64_t *v, uint32_t rows, uint32_t n)
{
	struct pm_config c = { .name = (char *)name, .kind = PM_SYSTEM, .value = pm_array(rows), .time_ns = 1 };

	for (uint32_t r = 0; r < rows; r++) {
		c.value.array.item[r] = pm_array(n);
		for (uint32_t i = 0; i < n; i++, v++)
			c.value.array.item[r].array.item[i] = *v < 0 ? pm_s64(*v) : pm_u64((uint64_t)*v);
	}
	assert_int_equal(pm_model_add_config(&b->model, &c), 0);
	pm_value_release(&c.value);
}

static void pmu(struct builder *b, const char *name, const char *cpus)
{
	struct pm_instance i = { .kind = PM_PMU, .number = PM_NONE, .cpu = PM_NONE };
	struct pm_pmu p = { 0 };

	assert_int_equal(pm_map_set(&p.attrs, PM_PMU_NAME, pm_text(name)), 0);
	assert_int_equal(pm_map_set(&p.attrs, PM_PMU_ASSOCIATED_CPUS, pm_text(cpus)), 0);
	assert_int_equal(pm_model_add_pmu(&b->model, &p), 0);
	assert_int_equal(pm_map_set(&i.attrs, PM_INSTANCE_NAME, pm_text(name)), 0);
	assert_true(pm_model_add_instance(&b->model, &i) > 0);
	pm_map_release(&p.attrs);
	pm_map_release(&i.attrs);
}

/* The bus of the second port is not the kernel's 0x90; of the third no node is known. */
static const int64_t ports[][8] = {
	{ 2, 0x8000, 0x80, 2, 1, 3, 0, 0 },
	{ 2, 0x9000, 0x91, 2, 4, 3, 1, 1 },
	{ 1, 0x0008, 0x00, 1, 2, 5, 0, -1 },
};
static const int64_t functions[][6] = {
	{ 2, 0x8100, 0, 0x020000, 0x15b3, 0x1021 },
	{ 2, 0x8201, 0, 0x010802, 0x144d, 0xa80a },
	{ 2, 0x8302, 0, 0x010802, 0x144d, 0xa80b },
	{ 2, 0x9100, 1, 0x030200, 0x10de, 0x2330 },
};

static void machine(struct builder *b)
{
	builder_init(b, NULL);
	numbers(b, "pci.root_ports", ports[0], 3, 8);
	numbers(b, "pci.functions", functions[0], 4, 6);
	pmu(b, "nvidia_pcie_pmu_0_rc_3", "0-3");
	pmu(b, "nvidia_pcie_pmu_1_rc_3", "4-7");
	pmu(b, "nvidia_pcie_pmu_0_rc_4", "0-3");
}

static void root_complexes(void **state)
{
	struct places p = { 0 };
	struct buf out = BUF_INIT;
	const char *none;
	struct builder b;
	uint32_t last;

	machine(&b);
	last = b.model.n_instances;
	places_update(&p, &b.model);
	assert_int_equal(pci_label(&p, &b.model), 0);
	assert_name(&p, last - 2, PM_PMU, "nvidia_pcie_pmu_0_rc_3: 0002:81:00.0 0002:82:00.1 +1");
	assert_name(&p, last - 1, PM_PMU, "nvidia_pcie_pmu_1_rc_3: 0002:91:00.0");
	assert_name(&p, last, PM_PMU, "nvidia_pcie_pmu_0_rc_4");
	places_release(&p);
	assert_int_equal(info_pci_text(&b.model, false, &out, &none), 0);
	assert_null(none);
	assert_string_equal(buf_str(&out), "0002:80:00.0: Bus=80, Segment=02, RP=01, RC=03, Socket=00\n"
					   "0002:90:00.0: Bus=91, Segment=02, RP=04, RC=03, Socket=01\n"
					   "0001:00:01.0: Bus=00, Segment=01, RP=02, RC=05, Socket=00\n");
	buf_release(&out);
	assert_int_equal(info_pci_text(&b.model, true, &out, &none), 0);
	assert_string_equal(buf_str(&out), "0002:80:00.0: Bus=80, Segment=02, RP=01, RC=03, Socket=00\n"
					   "  nvidia_pcie_pmu_0_rc_3\n"
					   "  0002:81:00.0 [0200]: 15b3:1021, src_bdf=0x8100\n"
					   "  0002:82:00.1 [0108]: 144d:a80a, src_bdf=0x8201\n"
					   "  0002:83:00.2 [0108]: 144d:a80b, src_bdf=0x8302\n"
					   "0002:90:00.0: Bus=91, Segment=02, RP=04, RC=03, Socket=01\n"
					   "  the firmware's bus or segment is not the kernel's\n"
					   "  nvidia_pcie_pmu_1_rc_3\n"
					   "  0002:91:00.0 [0302]: 10de:2330, src_bdf=0x9100\n"
					   "0001:00:01.0: Bus=00, Segment=01, RP=02, RC=05, Socket=00\n");
	buf_release(&out);
	builder_release(&b);
}

static void root_complexes_in_json(void **state)
{
	struct buf out = BUF_INIT;
	struct builder b;
	struct json *j;

	machine(&b);
	j = info_pci_json(&b.model);
	json_print(j, 0, &out);
	assert_non_null(strstr(buf_str(&out), "{\"state\":\"known\",\"root_ports\":[{\"address\":\"0002:80:00.0\","
					      "\"bus\":128,\"segment\":2,\"port\":1,\"root_complex\":3,\"socket\":0,"
					      "\"node\":0,\"pmus\":[\"nvidia_pcie_pmu_0_rc_3\"],\"functions\":[{"
					      "\"address\":\"0002:81:00.0\",\"src_bdf\":33024,\"class\":131072,"
					      "\"vendor\":5555,\"device\":4129},{"));
	assert_non_null(strstr(buf_str(&out), "\"node\":1,\"pmus\":[\"nvidia_pcie_pmu_1_rc_3\"],\"functions\":[{"
					      "\"address\":\"0002:91:00.0\""));
	assert_non_null(strstr(buf_str(&out), "\"node\":null,\"pmus\":[],\"functions\":[]}]}"));
	json_free(j);
	buf_release(&out);
	builder_release(&b);
}

/* Why there is no table; and what is no such map. */
static void no_root_complexes(void **state)
{
	static const struct {
		uint16_t reason;
		uint32_t rows, n, functions;
		int64_t port;
		const char *why, *state;
	} c[] = {
		{ .why = "no root ports were recorded", .state = "absent" },
		{ .reason = PM_REASON_NO_PERMISSION, .why = "run pmrec as root", .state = "needs-root" },
		{ .reason = PM_REASON_NOT_SUPPORTED, .why = "no DVSEC 4", .state = "no-dvsec" },
		{ .rows = 1, .n = 8, .state = "known" },
		{ .rows = 1, .n = 7 },
		{ .rows = 1, .n = 8, .functions = 6, .port = 0, .state = "known" },
		{ .rows = 1, .n = 8, .functions = 6, .port = 1 },
		{ .rows = 1, .n = 8, .functions = 6, .port = -1 },
		{ .rows = 1, .n = 8, .functions = 5 },
	};

	for (size_t k = 0; k < sizeof(c) / sizeof(*c); k++) {
		int64_t function[6] = { 2, 0x8100, c[k].port, 0, 0, 0 };
		struct pm_config refused = {
			.name = (char *)"pci.root_ports", .kind = PM_SYSTEM, .reason = c[k].reason, .time_ns = 1
		};
		struct buf out = BUF_INIT;
		const char *none;
		struct builder b;
		struct json *j;
		int err;

		builder_init(&b, NULL);
		if (c[k].reason)
			assert_int_equal(pm_model_add_config(&b.model, &refused), 0);
		if (c[k].rows)
			numbers(&b, "pci.root_ports", ports[0], c[k].rows, c[k].n);
		if (c[k].functions)
			numbers(&b, "pci.functions", function, 1, c[k].functions);
		err = info_pci_text(&b.model, false, &out, &none);
		assert_int_equal(err, c[k].state ? 0 : -EINVAL);
		assert_int_equal(!none, !c[k].why);
		assert_true(!none || strstr(none, c[k].why));
		buf_release(&out);
		j = info_pci_json(&b.model);
		json_print(j, 0, &out);
		assert_int_equal(!c[k].state, !strcmp(buf_str(&out), "null"));
		assert_true(!c[k].state || strstr(buf_str(&out), c[k].state));
		json_free(j);
		buf_release(&out);
		builder_release(&b);
	}
}

UNIT_TESTS(cmocka_unit_test(root_complexes), cmocka_unit_test(root_complexes_in_json),
	   cmocka_unit_test(no_root_complexes), cmocka_unit_test(forgotten))
