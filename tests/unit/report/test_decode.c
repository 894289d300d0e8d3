/* Registers to facts. The Haswell values and what they mean are those that turbostat's manual page prints. */
#include "common/catalog/msr.h"
#include "report/machine/decode.c"
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/catalog_msr.h"
#include "tests/unit/lib/test.h"

static void config(struct pm_model *m, const char *name, struct pm_value v)
{
	struct pm_config c = { .name = (char *)name, .kind = PM_SYSTEM, .value = v, .time_ns = 1 };

	assert_int_equal(pm_model_add_config(m, &c), 0);
	pm_value_release(&v);
}

static void at(struct pm_model *m, const char *name, enum pm_kind kind, const char *where, uint64_t v)
{
	struct pm_config c = { .name = (char *)name, .kind = kind, .value = pm_u64(v), .time_ns = 1 };

	assert_int_equal(cpulist_parse(&c.instances, where, false, NULL), 0);
	assert_int_equal(pm_model_add_config(m, &c), 0);
	cpulist_release(&c.instances);
}

static void leaf(struct pm_model *m, const char *name, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t reg[4] = { a, b, c, d };
	uint8_t raw[16];

	for (int i = 0; i < 16; i++)
		raw[i] = (uint8_t)(reg[i / 4] >> (8 * (i % 4)));
	config(m, name, pm_bytes(raw, sizeof(raw)));
}

static void intel(struct pm_model *m, uint32_t model)
{
	pm_model_init(m);
	leaf(m, "cpuid.00000000.0", 13, 0x756e6547, 0x6c65746e, 0x49656e69);
	leaf(m, "cpuid.00000001.0", (model >> 4) << 16 | 6 << 8 | (model & 15) << 4 | 3, 0, 0, 0);
}

/* What the page says a register has: "name=number unit", "name=yes", "name=word". */
struct fact {
	const char *reg;
	uint64_t value;
	const char *field;
	double number;
	const char *unit; /* NULL: a word or a flag */
	const char *word;
};

/* The next of the fields; a comma in parentheses is part of one. */
static bool next_field(const char **rest, char field[128])
{
	size_t len = strcspn(*rest, ",("), end = strcspn(*rest, ")");

	if ((*rest)[len] == '(')
		len = end + strcspn(*rest + end, ",");
	snprintf(field, 128, "%.*s", (int)len, *rest);
	*rest += len + strspn(*rest + len, ", ");
	return *field;
}

static bool is_field(const struct fact *x, const char *field, const char *list)
{
	const char *unit = x->unit && *x->unit ? x->unit : NULL;
	size_t len = strlen(x->field);
	char whole[128], *end;

	if (!x->unit && !strcmp(x->word, "yes"))
		return !strcmp(field, x->field);
	if (!x->unit && !strcmp(x->word, "no"))
		return (!strncmp(field, "no ", 3) && !strcmp(field + 3, x->field)) ||
		       (!strncmp(field, "not ", 4) && !strcmp(field + 4, x->field));
	snprintf(whole, sizeof(whole), "%s %s", x->field, x->unit ? "" : x->word);
	if (!x->unit)
		return !strcmp(field, whole) || (!strcmp(list, x->field) && !strcmp(field, x->word));
	if (strncmp(field, whole, len + 1))
		return false;
	return fabs(strtod(field + len + 1, &end) - x->number) <= 5e-7 * fmax(1, x->number) &&
	       (unit ? *end == ' ' && !strcmp(end + 1, unit) : !*end);
}

static void check(const struct cpu_facts *f, const struct fact *x)
{
	char field[128], list[128] = "";
	const char *rest;
	struct decoded d;
	bool found = false;

	if (!decode_register(f, x->reg, x->value, &d))
		fail_msg("%s is not decoded", x->reg);
	for (rest = buf_str(&d.text); !found && next_field(&rest, field);) {
		found = is_field(x, field, list);
		/* "logged Amps, PkgPwrL1": a list. */
		if (!strncmp(field, "active ", 7) || !strncmp(field, "logged ", 7))
			snprintf(list, sizeof(list), "%.6s", field);
	}
	if (!found)
		fail_msg("%s: '%s' has no %s %s of %g %s", x->reg, buf_str(&d.text), x->field, x->word ? x->word : "",
			 x->number, x->unit ? x->unit : "");
	buf_release(&d.text);
}

#define NUMBER(reg, value, field, number, unit) \
	{ \
		reg, value, field, number, unit, NULL \
	}
#define WORD(reg, value, field, word) \
	{ \
		reg, value, field, 0, NULL, word \
	}

static const struct fact haswell[] = {
	NUMBER("platform_info", 0x80838f3012300, "max efficiency", 800, "MHz"),
	NUMBER("platform_info", 0x80838f3012300, "base", 3500, "MHz"),
	WORD("misc_pwr_mgmt", 0x00400000, "EIST coordination", "yes"),
	WORD("misc_pwr_mgmt", 0x00400000, "EPB", "no"),
	WORD("misc_pwr_mgmt", 0x00400000, "out-of-band control", "no"),
	WORD("power_ctl", 0x0004005d, "C1E promotion", "no"),
	NUMBER("turbo_ratio_limit", 0x25262727, "4 cores", 3700, "MHz"),
	NUMBER("turbo_ratio_limit", 0x25262727, "3 cores", 3800, "MHz"),
	NUMBER("turbo_ratio_limit", 0x25262727, "2 cores", 3900, "MHz"),
	NUMBER("turbo_ratio_limit", 0x25262727, "1 core", 3900, "MHz"),
	NUMBER("config_tdp_nominal", 0x23, "base ratio", 35, ""),
	NUMBER("config_tdp_level_1", 0, "ratio", 0, ""),
	NUMBER("config_tdp_level_1", 0, "TDP", 0, "W"),
	NUMBER("config_tdp_level_2", 0, "ratio", 0, ""),
	NUMBER("config_tdp_control", 0x80000000, "level", 0, ""),
	WORD("config_tdp_control", 0x80000000, "locked", "yes"),
	NUMBER("turbo_activation_ratio", 0, "highest ratio without turbo", 0, ""),
	WORD("turbo_activation_ratio", 0, "locked", "no"),
	WORD("pkg_cst_config_control", 0x1e000400, "limit", "0 (pc0)"),
	WORD("pkg_cst_config_control", 0x1e000400, "locked", "no"),
	WORD("pkg_cst_config_control", 0x1e000400, "demote C3", "yes"),
	WORD("pkg_cst_config_control", 0x1e000400, "demote C1", "yes"),
	WORD("pkg_cst_config_control", 0x1e000400, "undemote C3", "yes"),
	WORD("pkg_cst_config_control", 0x1e000400, "undemote C1", "yes"),
	WORD("misc_feature_control", 0, "L2 prefetch", "yes"),
	WORD("misc_feature_control", 0, "L2 pair prefetch", "yes"),
	WORD("misc_feature_control", 0, "L1 prefetch", "yes"),
	WORD("misc_feature_control", 0, "L1 IP prefetch", "yes"),
	/* Where turbostat's masks are wrong: 3 switches off the L2 prefetchers, not those of L1. */
	WORD("misc_feature_control", 3, "L2 prefetch", "no"),
	WORD("misc_feature_control", 3, "L2 pair prefetch", "no"),
	WORD("misc_feature_control", 3, "L1 prefetch", "yes"),
	WORD("misc_feature_control", 3, "L1 IP prefetch", "yes"),
	WORD("energy_perf_bias", 6, "bias", "6 (balanced)"),
	WORD("hsw_core_perf_limit_reasons", 0x31200000, "logged", "Transitions"),
	WORD("hsw_core_perf_limit_reasons", 0x31200000, "logged", "MultiCoreTurbo"),
	WORD("hsw_core_perf_limit_reasons", 0x31200000, "logged", "Amps"),
	WORD("hsw_core_perf_limit_reasons", 0x31200000, "logged", "Auto-HWP"),
	WORD("gfx_perf_limit_reasons", 0, "active", "nothing"),
	WORD("ring_perf_limit_reasons", 0x0d000000, "logged", "Amps"),
	WORD("ring_perf_limit_reasons", 0x0d000000, "logged", "PkgPwrL1"),
	WORD("ring_perf_limit_reasons", 0x0d000000, "logged", "PkgPwrL2"),
	NUMBER("rapl_power_unit", 0xa0e03, "power", 0.125, "W"),
	NUMBER("rapl_power_unit", 0xa0e03, "energy", 0.000061, "J"),
	NUMBER("rapl_power_unit", 0xa0e03, "time", 0.000977, "s"),
	NUMBER("pkg_power_info", 0x2a0, "TDP", 84, "W"),
	NUMBER("pkg_power_info", 0x2a0, "lowest limit", 0, "W"),
	NUMBER("pkg_power_info", 0x2a0, "highest limit", 0, "W"),
	NUMBER("pkg_power_info", 0x2a0, "longest window", 0, "s"),
	WORD("pkg_power_limit", 0x428348001a82a0, "locked", "no"),
	WORD("pkg_power_limit", 0x428348001a82a0, "enabled 1", "yes"),
	NUMBER("pkg_power_limit", 0x428348001a82a0, "limit 1", 84, "W"),
	NUMBER("pkg_power_limit", 0x428348001a82a0, "window 1", 8, "s"),
	WORD("pkg_power_limit", 0x428348001a82a0, "clamp 1", "no"),
	WORD("pkg_power_limit", 0x428348001a82a0, "enabled 2", "yes"),
	NUMBER("pkg_power_limit", 0x428348001a82a0, "limit 2", 105, "W"),
	NUMBER("pkg_power_limit", 0x428348001a82a0, "window 2", 0.002441, "s"),
	WORD("pkg_power_limit", 0x428348001a82a0, "clamp 2", "no"),
	NUMBER("pp0_policy", 0, "priority", 0, ""),
	WORD("pp0_power_limit", 0, "enabled", "no"),
	NUMBER("pp0_power_limit", 0, "limit", 0, "W"),
	NUMBER("pp0_power_limit", 0, "window", 0.000977, "s"),
	WORD("pp0_power_limit", 0, "clamp", "no"),
	WORD("pp0_power_limit", 0, "locked", "no"),
	NUMBER("pp1_policy", 0, "priority", 0, ""),
	WORD("pp1_power_limit", 0, "locked", "no"),
	WORD("pp1_power_limit", 0, "enabled", "no"),
	NUMBER("pp1_power_limit", 0, "limit", 0, "W"),
	NUMBER("pp1_power_limit", 0, "window", 0.000977, "s"),
	WORD("pp1_power_limit", 0, "clamp", "no"),
	NUMBER("temperature_target", 0x00641400, "maximum", 100, "C"),
	NUMBER("package_therm_status", 0x884c0800, "temperature", 24, "C"),
	NUMBER("therm_status", 0x884c0000, "temperature", 24, "C"),
	NUMBER("therm_status", 0x884c0000, "resolution", 1, "C"),
	NUMBER("therm_status", 0x88510000, "temperature", 19, "C"),
	NUMBER("therm_status", 0x884e0000, "temperature", 22, "C"),
	WORD("pkgc3_irtl", 0x8842, "valid", "yes"),
	WORD("pkgc6_irtl", 0x8873, "valid", "yes"),
	WORD("pkgc7_irtl", 0x8891, "valid", "yes"),
	NUMBER("pkgc3_irtl", 0x8842, "latency", 67584, "ns"),
	NUMBER("pkgc6_irtl", 0x8873, "latency", 117760, "ns"),
	NUMBER("pkgc7_irtl", 0x8891, "latency", 148480, "ns"),
};

/* Its lines that are of no register. */
static void manual_page_text(struct pm_model *m)
{
	static const char *const lines[] = {
		"vendor GenuineIntel, family 0x6, model 0x3c, stepping 3, cpuid levels 0xd",
		("cpuid.00000006: DTS, turbo, PTM, no HWP, no HWP notify, no HWP window, no HWP EPP, no HWP package, "
		 "APERF/MPERF, EPB\n"),
		"cpuid.00000007: no SGX, no hybrid\n",
		"cpuidle.state1.desc: MWAIT 0x00\n",
		"cpuidle.state5.desc: MWAIT 0x32\n",
	};
	struct buf text = BUF_INIT;

	leaf(m, "cpuid.00000006.0", 0x77, 2, 9, 0);
	leaf(m, "cpuid.00000007.0", 0, 0, 0, 0);
	config(m, "cpuidle.state1.desc", pm_text("MWAIT 0x00"));
	config(m, "cpuidle.state5.desc", pm_text("MWAIT 0x32"));
	decode_text(m, &text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(buf_str(&text), lines[i]))
			fail_msg("'%s' is not in\n%s", lines[i], buf_str(&text));
	buf_release(&text);
}

static void manual_page(void **state)
{
	struct cpu_facts f;
	struct pm_model m;
	struct value v;

	intel(&m, 0x3c);
	config(&m, "msr.rapl_power_unit", pm_u64(0xa0e03));
	config(&m, "msr.temperature_target", pm_u64(0x00641400));
	config(&m, "msr.platform_info", pm_u64(0x80838f3012300));
	config(&m, "msr.pkg_power_info", pm_u64(0x2a0));
	cpu_facts_find(&m, PM_NONE, &f);
	assert_string_equal(f.id.known->name, "Haswell");
	assert_int_equal(f.id.family, 6);
	assert_int_equal(f.id.model, 60);
	assert_int_equal(f.id.stepping, 3);
	assert_int_equal(f.id.levels, 13);
	for (size_t i = 0; i < sizeof(haswell) / sizeof(haswell[0]); i++)
		check(&f, &haswell[i]);
	/* "RAPL: 3121 sec. Joule Counter Range, at 84 Watts" */
	assert_int_equal(lround(f.range_s), 3121);
	assert_true(f.tdp_watts == 84 && f.tdp_recorded);
	assert_true(cpu_literal(&m, "base_hz", PM_NONE, PM_NONE, &v) && v.v == 3.5e9);
	manual_page_text(&m);
	pm_model_release(&m);
}

/* Units of a latency have three bits; turbostat looks at two. */
static void other_facts(void **state)
{
	static const struct fact facts[] = {
		NUMBER("pkgc6_irtl", 0x8000 | 5 << 10 | 2, "latency", 67108864, "ns"),
		NUMBER("pkgc6_irtl", 0x8000 | 4 << 10 | 1, "latency", 1048576, "ns"),
		NUMBER("hwp_request", UINT64_C(0x3ff) << 32 | 0x80001e08, "min", 8, ""),
		NUMBER("hwp_request", UINT64_C(0x3ff) << 32 | 0x80001e08, "max", 30, ""),
		NUMBER("hwp_request", UINT64_C(0x3ff) << 32 | 0x80001e08, "EPP", 128, ""),
		WORD("hwp_request", UINT64_C(0x3ff) << 32 | 0x80001e08, "window", "0x3ff"),
		WORD("hwp_status", 4, "excursion below minimum", "yes"),
		WORD("misc_enable", 0x850089, "MWAIT", "yes"),
		WORD("misc_enable", UINT64_C(1) << 38, "turbo", "no"),
		/* Skylake servers: ratios of groups, and how many cores are in each. */
		NUMBER("turbo_ratio_limit", 0x2022, "group 1", 3400, "MHz"),
		NUMBER("turbo_ratio_limit1", 0x1c04, "group 2", 28, "cores at most"),
		WORD("pkg_cst_config_control", 0x10003, "limit", "3 (pc6r)"),
		WORD("pkg_cst_config_control", 0x10003, "auto conversion", "yes"),
		WORD("ucode_rev", UINT64_C(0x2006e05) << 32, "microcode", "0x2006e05"),
	};
	struct cpu_facts f;
	struct decoded d;
	struct pm_model m;

	intel(&m, 0x55);
	cpu_facts_find(&m, PM_NONE, &f);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		check(&f, &facts[i]);
	/* The registers of Haswell's limits are something else here, if they are anything. */
	assert_false(decode_register(&f, "hsw_core_perf_limit_reasons", 1, &d));
	assert_false(decode_register(&f, "no_such_register", 1, &d));
	pm_model_release(&m);
}

/* A leaf without data, as hypervisors have it: missing, in text and JSON. */
static void empty_frequencies(void **state)
{
	struct buf text = BUF_INIT, printed = BUF_INIT;
	struct json *list;
	struct value v;
	struct pm_model m;
	(void)state;

	intel(&m, 0x55);
	leaf(&m, "cpuid.00000016.0", 2600, 0, 0, 0);
	decode_text(&m, &text);
	assert_non_null(strstr(buf_str(&text), "base 2600 MHz, highest not reported, bus not reported"));
	list = decode_json(&m);
	json_print(list, 0, &printed);
	json_free(list);
	assert_non_null(strstr(buf_str(&printed), "\"base 2600 MHz, highest not reported, bus not reported\""));
	pm_model_release(&m);
	intel(&m, 0x55);
	leaf(&m, "cpuid.00000016.0", 0, 0, 0, 0);
	assert_true(cpu_literal(&m, "base_hz", PM_NONE, PM_NONE, &v) && v.reason != 0);
	pm_model_release(&m);
	buf_release(&text);
	buf_release(&printed);
}

static void amd(void **state)
{
	static const struct fact facts[] = {
		NUMBER("amd_power_unit", 0xa1003, "energy", 0.0000152587890625, "J"),
		NUMBER("amd_pstate_def0", UINT64_C(1) << 63 | 8 << 8 | 136, "frequency", 3400, "MHz"),
		WORD("amd_pstate_def0", UINT64_C(1) << 63 | 8 << 8 | 136, "enabled", "yes"),
		WORD("amd_hwcr", 1 << 25, "boost", "no"),
		NUMBER("amd_cppc_cap1", 0xa6591f0e, "highest", 166, ""),
		WORD("ucode_rev", 0xa20102b, "microcode", "0xa20102b"),
	};
	struct cpu_facts f;
	struct pm_model m;

	pm_model_init(&m);
	leaf(&m, "cpuid.00000000.0", 0x10, 0x68747541, 0x444d4163, 0x69746e65);
	leaf(&m, "cpuid.00000001.0", 0xa << 20 | 2 << 16 | 0xf << 8 | 1 << 4, 0, 0, 0);
	cpu_facts_find(&m, PM_NONE, &f);
	assert_string_equal(f.id.vendor_name, "AuthenticAMD");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		check(&f, &facts[i]);
	pm_model_release(&m);
}

/* What is architectural is decoded, and what is not is said to be so. */
static void unknown_model(void **state)
{
	static const struct fact facts[] = {
		NUMBER("platform_info", 0x80838f3012300, "base", 3500, "MHz"),
		WORD("pkg_cst_config_control", 2, "limit", "2 (depends on the model, which is not known)"),
		NUMBER("rapl_power_unit", 0xa0e03, "power", 0.125, "W"),
		NUMBER("therm_status", 0x884c0000, "temperature", 24, "C"),
		WORD("hwp_status", 4, "excursion below minimum", "yes"),
	};
	struct buf text = BUF_INIT;
	struct cpu_facts f;
	struct pm_model m;
	struct json *j;
	struct value v;

	intel(&m, 0xff);
	config(&m, "msr.rapl_power_unit", pm_u64(0xa0e03));
	config(&m, "msr.temperature_target", pm_u64(0x00641400));
	config(&m, "msr.hwp_status", pm_u64(4));
	cpu_facts_find(&m, PM_NONE, &f);
	assert_null(f.id.known);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		check(&f, &facts[i]);
	decode_text(&m, &text);
	assert_non_null(strstr(buf_str(&text), "not in the model table"));
	assert_non_null(strstr(buf_str(&text), "msr.rapl_power_unit: 0x000a0e03 power 0.125 W"));
	buf_clear(&text);
	j = decode_json(&m);
	assert_non_null(j);
	json_print(j, 0, &text);
	json_free(j);
	assert_non_null(strstr(buf_str(&text), "\"msr.rapl_power_unit\""));
	assert_non_null(strstr(buf_str(&text), "\"0xa0e03\""));
	assert_non_null(strstr(buf_str(&text), "excursion below minimum"));
	/* Nothing is known of its C-states: their columns are neither promised nor hidden. */
	assert_true(cpu_literal(&m, "has_pc6", PM_NONE, PM_NONE, &v));
	assert_int_equal(v.reason, VALUE_NO_INPUT);
	buf_release(&text);
	pm_model_release(&m);
}

/* What turbostat's text has before its table: the main facts, and places if asked for. */
static void main_facts(void **state)
{
	struct places p = { 0 };
	struct buf text = BUF_INIT;
	struct builder b;

	builder_init(&b, NULL);
	at(&b.model, "msr.rapl_power_unit", PM_PACKAGE, "0", 0xa0e03);
	at(&b.model, "msr.misc_pwr_mgmt", PM_PACKAGE, "0", 1);
	places_update(&p, &b.model);
	decode_turbostat(&p, false, false, &text);
	assert_non_null(strstr(buf_str(&text), "msr.rapl_power_unit (package 0): 0x000a0e03 power 0.125 W"));
	assert_null(strstr(buf_str(&text), "misc_pwr_mgmt"));
	assert_null(strstr(buf_str(&text), "cpu 1 pkg"));
	buf_clear(&text);
	decode_turbostat(&p, true, true, &text);
	assert_non_null(strstr(buf_str(&text), "cpu 1 pkg 0 die 0 node 0 lnode 0 core 0 thread 1\n"));
	assert_null(strstr(buf_str(&text), "msr."));
	buf_release(&text);
	places_release(&p);
	builder_release(&b);
}

/* Every row has a register in the catalog, and its fields are bits. */
static void tables(void **state)
{
	struct cpu_facts f = { .tsc_tweak = 1 };
	struct decoded d;

	for (const struct reg_row *r = decode_registers; r->name; r++) {
		char name[64] = "msr.";

		assert_true(r->field || r->more || r->reasons);
		assert_non_null(catalog_msr_find(strncat(name, r->name, 50)));
		for (const struct reg_field *x = r->field; x && x->name; x++)
			assert_true(x->hi >= x->lo && x->hi < 64);
		for (int k = 0; k < 2; k++) {
			assert_true(decode_register(&f, r->name, k ? 0 : UINT64_MAX, &d));
			buf_release(&d.text);
		}
	}
}

static void count_reading(void *ctx, struct decoded *d)
{
	*(uint64_t *)ctx = *(uint64_t *)ctx * 10 + d->value % 10;
}

/* A register is decoded once for each value and place, in the order in which they were read. */
static void readings_that_say_the_same(void **state)
{
	static const struct {
		enum pm_kind kind;
		const char *where;
		uint64_t v;
	} c[] = {
		{ PM_CPU, "0-3", 7 }, { PM_CPU, "0-3", 2 },     { PM_PACKAGE, "0-3", 7 }, { PM_CPU, "0-3", 7 },
		{ PM_CPU, "0-2", 7 }, { PM_PACKAGE, "0-3", 7 }, { PM_CPU, "0-3", 1 },     { PM_CPU, "0-2", 7 },
	};
	struct pm_model m;
	uint64_t values = 0;

	(void)state;
	pm_model_init(&m);
	for (uint32_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct pm_config one = { .name = (char *)"msr.misc_enable",
					 .kind = c[i].kind,
					 .value = pm_u64(c[i].v),
					 .time_ns = i + 1 };

		assert_int_equal(cpulist_parse(&one.instances, c[i].where, false, NULL), 0);
		assert_int_equal(pm_model_add_config(&m, &one), 0);
		cpulist_release(&one.instances);
	}
	config(&m, "msr.misc_enable", pm_text("5"));
	assert_int_equal(m.n_configs, sizeof(c) / sizeof(*c) + 1);
	decode_all(&m, count_reading, &values);
	assert_int_equal(values, 72771);
	pm_model_release(&m);
}

UNIT_TESTS(cmocka_unit_test(manual_page), cmocka_unit_test(other_facts), cmocka_unit_test(empty_frequencies),
	   cmocka_unit_test(amd), cmocka_unit_test(unknown_model), cmocka_unit_test(tables),
	   cmocka_unit_test(main_facts), cmocka_unit_test(readings_that_say_the_same))
