/* What describes the machine, in the lines that turbostat prints before its table. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "report/machine/decode.h"

/*
 * In a line {NAME} is the number of a decoded field, {NAME=2} with two decimals, {NAME?YES|NO} a word for a flag, {NAME!}
 * its text, {HI:LO} bits of the register, {#} the register, {@} its CPU.
 */
struct line {
	const char *name;
	bool each; /* of each package, not only of the first */
	const char *text;
};

#define LIMIT(n, what) \
	"{@}: " what ": {enabled" n "?ENabled|DISabled} ({limit" n "=3} Watts, {window" n "=6} sec, clamp {clamp" n \
	"?ENabled|DISabled})\n"
#define IRTL(n) \
	{ \
		"msr.pkgc" n "_irtl", false, "{@}: MSR_PKGC" n "_IRTL: {#} ({valid?|NOT}valid, {latency} ns)\n" \
	}
#define INFO(what) "{#} ({TDP} W TDP, RAPL {lowest limit} - {highest limit} W, {longest window=6} sec.)\n"
#define LOCKED     "({locked?|UN}locked)\n"

/* clang-format off */
static const struct line lines[] = {
	{ "processor", false, "CPUID(0): {vendor!} {cpuid levels!} CPUID levels\n"
	  "CPUID(1): family:model:stepping {family!}:{model%}:{stepping%}\n"
	  "CPUID(0x80000000): max_extended_levels: {extended levels!}\n" },
	{ "cpuid.00000006", false, "CPUID(6): {APERF/MPERF?|No-}APERF, {turbo?|No-}TURBO, {DTS?|No-}DTS, {PTM?|No-}PTM, "
	  "{HWP?|No-}HWP, {HWP notify?|No-}HWPnotify, {HWP window?|No-}HWPwindow, {HWP EPP?|No-}HWPepp, "
	  "{HWP package?|No-}HWPpkg, {EPB?|No-}EPB\n" },
	{ "cpuid.00000007", false, "CPUID(7): {SGX?|No-}SGX {hybrid?|No-}Hybrid\n" },
	{ "cpuid.00000015", false, "TSC: {TSC=0} MHz ({crystal} MHz * {numerator} / {denominator})\n" },
	{ "cpuid.00000016", false, "CPUID(0x16): base_mhz: {base} max_mhz: {highest} bus_mhz: {bus}\n" },
	{ "msr.misc_enable", false, "{@}: MSR_IA32_MISC_ENABLE: {#} ({thermal control (TCC)?|No-}TCC {EIST?|No-}EIST "
	  "{MWAIT?|No-}MWAIT {prefetch?|No-}PREFETCH {turbo?|No-}TURBO)\n" },
	{ "msr.platform_info", false, "{@}: MSR_PLATFORM_INFO: {#}\n"
	  "{47:40} * 100.0 = {max efficiency=1} MHz max efficiency frequency\n{15:8} * 100.0 = {base=1} MHz base frequency\n" },
	{ "msr.turbo_ratio_limit", false, "{@}: MSR_TURBO_RATIO_LIMIT: {#}\n" },
	{ "msr.config_tdp_nominal", false, "{@}: MSR_CONFIG_TDP_NOMINAL: {#} (base_ratio={base ratio})\n" },
	{ "msr.config_tdp_level_1", false, "{@}: MSR_CONFIG_TDP_LEVEL_1: {#} ()\n" },
	{ "msr.config_tdp_level_2", false, "{@}: MSR_CONFIG_TDP_LEVEL_2: {#} ()\n" },
	{ "msr.config_tdp_control", false, "{@}: MSR_CONFIG_TDP_CONTROL: {#} ( lock={locked?1|0})\n" },
	{ "msr.turbo_activation_ratio", false, "{@}: MSR_TURBO_ACTIVATION_RATIO: {#} "
	  "(MAX_NON_TURBO_RATIO={highest ratio without turbo} lock={locked?1|0})\n" },
	{ "msr.misc_pwr_mgmt", false, "{@}: MSR_MISC_PWR_MGMT: {#} ({EIST coordination?EN|DIS}able-EIST_Coordination "
	  "{EPB?EN|DIS}able-EPB {out-of-band control?EN|DIS}able-OOB)\n" },
	{ "msr.pm_enable", true, "{@}: MSR_PM_ENABLE: {#} ({HWP?|No-}HWP)\n" },
	{ "msr.hwp_capabilities", true, "{@}: MSR_HWP_CAPABILITIES: {#} (high {highest} guar {guaranteed} "
	  "eff {most efficient} low {lowest})\n" },
	{ "msr.hwp_request", true, "{@}: MSR_HWP_REQUEST: {#} (min {min} max {max} des {desired} epp 0x{31:24x} window {window!} "
	  "pkg {package?0x1|0x0})\n" },
	{ "msr.hwp_request_pkg", true, "{@}: MSR_HWP_REQUEST_PKG: {#} (min {min} max {max} des {desired} epp 0x{31:24x} "
	  "window {window!})\n" },
	{ "msr.hwp_interrupt", true, "{@}: MSR_HWP_INTERRUPT: {#} ({on change of guaranteed?EN|Dis}_Guaranteed_Perf_Change, "
	  "{on excursion below minimum?EN|Dis}_Excursion_Min)\n" },
	{ "msr.hwp_status", true, "{@}: MSR_HWP_STATUS: {#} ({guaranteed changed?|No-}Guaranteed_Perf_Change, "
	  "{excursion below minimum?|No-}Excursion_Min)\n" },
	{ "msr.energy_perf_bias", true, "{@}: EPB: {bias!}\n" },
	{ "msr.power_ctl", false, "{@}: MSR_IA32_POWER_CTL: {#} (C1E auto-promotion: {C1E promotion?EN|DIS}abled)\n" },
	{ "msr.pkg_cst_config_control", false, "{@}: MSR_PKG_CST_CONFIG_CONTROL: {#} ({undemote C3?UNdemote-C3, |}"
	  "{undemote C1?UNdemote-C1, |}{demote C3?demote-C3, |}{demote C1?demote-C1, |}{locked?|UN}locked, "
	  "pkg-cstate-limit={limit!})\n" },
	IRTL("3"), IRTL("6"), IRTL("7"), IRTL("8"), IRTL("9"), IRTL("10"),
	{ "msr.rapl_power_unit", true, "{@}: MSR_RAPL_POWER_UNIT: {#} ({power=6} Watts, {energy=6} Joules, {time=6} sec.)\n"
	  "RAPL: {counter range=0} sec. Joule Counter Range, at {at=0} Watts\n" },
	{ "msr.amd_power_unit", true, "{@}: MSR_RAPL_PWR_UNIT: {#} ({power=6} Watts, {energy=6} Joules, {time=6} sec.)\n"
	  "RAPL: {counter range=0} sec. Joule Counter Range, at {at a guessed=0} Watts\n" },
	{ "msr.pkg_power_info", true, "{@}: MSR_PKG_POWER_INFO: " INFO() },
	{ "msr.pkg_power_limit", true, "{@}: MSR_PKG_POWER_LIMIT: {#} " LOCKED LIMIT(" 1", "PKG Limit #1")
	  LIMIT(" 2", "PKG Limit #2") },
	{ "msr.vr_current_config", true, "{@}: MSR_VR_CURRENT_CONFIG: {#}\n{@}: PKG Limit #4: {limit 4=6} Watts " LOCKED },
	{ "msr.dram_power_info", true, "{@}: MSR_DRAM_POWER_INFO,: " INFO() },
	{ "msr.dram_power_limit", true, "{@}: MSR_DRAM_POWER_LIMIT: {#} " LOCKED LIMIT("", "DRAM Limit") },
	{ "msr.pp0_policy", true, "{@}: MSR_PP0_POLICY: {priority}\n" },
	{ "msr.pp0_power_limit", true, "{@}: MSR_PP0_POWER_LIMIT: {#} " LOCKED LIMIT("", "Cores Limit") },
	{ "msr.pp1_policy", true, "{@}: MSR_PP1_POLICY: {priority}\n" },
	{ "msr.pp1_power_limit", true, "{@}: MSR_PP1_POWER_LIMIT: {#} " LOCKED LIMIT("", "GFX Limit") },
	{ "msr.temperature_target", true, "{@}: MSR_IA32_TEMPERATURE_TARGET: {#} ({maximum} C)\n" },
	{ "msr.package_therm_status", true, "{@}: MSR_IA32_PACKAGE_THERM_STATUS: {#} ({temperature} C)\n" },
	{ "msr.package_therm_interrupt", true, "{@}: MSR_IA32_PACKAGE_THERM_INTERRUPT: {#} ({threshold 1} C, {threshold 2} C)\n" },
	{ "msr.misc_feature_control", false, "{@}: MSR_MISC_FEATURE_CONTROL: {#} ({L2 prefetch?|No-}L2-Prefetch "
	  "{L2 pair prefetch?|No-}L2-Prefetch-pair {L1 prefetch?|No-}L1-Prefetch {L1 IP prefetch?|No-}L1-IP-Prefetch)\n" },
	{ "cpu_dma_latency_us", false, "/dev/cpu_dma_latency: {!} usec\n" },
	{ "cpuidle.current_driver", false, "current_driver: {!}\n" },
	{ "cpuidle.current_governor", false, "current_governor: {!}\n" },
	{ "cpuidle.current_governor_ro", false, "current_governor_ro: {!}\n" },
	{ "cpuidle.state*.name", false, "{@}: {!}: " },
	{ "cpuidle.state*.desc", false, "{!}\n" },
	{ "cpufreq.scaling_driver", false, "{@}: cpufreq driver: {!}\n" },
	{ "cpufreq.scaling_governor", false, "{@}: cpufreq governor: {!}\n" },
	{ "intel_pstate.no_turbo", false, "cpufreq intel_pstate no_turbo: {!}\n" },
};
/* clang-format on */

struct writer {
	const struct places *places;
	struct buf *out;
	uint64_t told[2]; /* bits of lines that were written */
	uint64_t counts;  /* cores of each group of turbo ratios, a byte each; 0: single cores */
	double bclk_mhz;
};

static const struct decoded_field *find(const struct decoded *d, const char *name, size_t len)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (!len || (strlen(d->field[i].name) == len && !strncmp(d->field[i].name, name, len)))
			return &d->field[i];
	return NULL;
}

/* What stands between braces. */
static void put_part(struct writer *w, const struct decoded *d, uint32_t cpu, const char *part, size_t len)
{
	size_t name = strcspn(part, "=?!:%}");
	const struct decoded_field *f = find(d, part, name);
	const char *bar;
	unsigned hi, lo;
	char x;

	if (part[0] == '#')
		buf_printf(w->out, "0x%08" PRIx64, d->value);
	else if (part[0] == '@')
		buf_printf(w->out, "cpu%u", cpu);
	else if (part[name] == ':' && sscanf(part, "%u:%u%c", &hi, &lo, &x) == 3)
		buf_printf(w->out, x == 'x' ? "%llx" : "%llu",
			   (unsigned long long)d->value >> lo & ((2ull << (hi - lo)) - 1));
	else if (!f)
		return;
	else if (part[name] == '=')
		buf_printf(w->out, "%.*f", atoi(part + name + 1), f->number);
	else if (part[name] == '%') /* 0xa7 */
		buf_printf(w->out, "%lx", strtoul(f->text, NULL, 0));
	else if (part[name] == '!')
		text_escape(w->out, f->text, strlen(f->text));
	else if (part[name] == '?' && (bar = memchr(part, '|', len)))
		buf_add(w->out, f->number ? part + name + 1 : bar + 1,
			(size_t)(f->number ? bar - part - (ptrdiff_t)name - 1 : part + len - bar - 1));
	else
		buf_printf(w->out, "%.10g", f->number);
}

static void put_line(struct writer *w, const struct line *line, const struct decoded *d, uint32_t cpu)
{
	for (const char *at = line->text; *at;) {
		size_t len = strcspn(at, "{");

		buf_add(w->out, at, len);
		at += len;
		if (!*at)
			break;
		len = strcspn(++at, "}");
		put_part(w, d, cpu, at, len);
		at += len + 1;
	}
}

/* From the most cores to the fewest. */
static void put_turbo(struct writer *w, const struct decoded *d)
{
	if (w->counts)
		buf_printf(w->out, "cpu%u: MSR_TURBO_RATIO_LIMIT1: 0x%08" PRIx64 "\n", w->places->cpu[0].cpu,
			   w->counts);
	for (uint32_t i = d->n; i-- > 0 && w->bclk_mhz > 0;)
		if (d->field[i].number > 0)
			buf_printf(w->out, "%.0f * %.1f = %.1f MHz max turbo %u active cores\n",
				   d->field[i].number / w->bclk_mhz, w->bclk_mhz, d->field[i].number,
				   w->counts ? (unsigned)(w->counts >> 8 * i & 0xFF) : i + 1);
}

/* Whether the reading is of the package. */
static bool is_of(const struct pm_config *c, const struct places *p, uint32_t package, uint32_t first)
{
	if (!c || c->kind == PM_SYSTEM)
		return true;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->cpu[i].package == package && c->kind == PM_CPU && cpulist_has(&c->instances, p->cpu[i].cpu))
			return p->cpu[i].cpu == first;
	return c->kind == PM_PACKAGE && cpulist_has(&c->instances, package);
}

static int take(void *ctx, const struct decoded *d)
{
	struct writer *w = ctx;
	const struct places *p = w->places;

	if (!strcmp(d->name, "msr.turbo_ratio_limit1") && d->n && !strncmp(d->field[0].name, "group", 5))
		w->counts = d->value;
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		uint64_t bit = 1ull << k % 64;
		uint32_t last = PM_NONE;

		if (fnmatch(lines[k].name, d->name, 0))
			continue;
		for (uint32_t i = 0; i < p->n; i++) {
			if (p->cpu[i].package == last || (!lines[k].each && w->told[k / 64] & bit))
				continue;
			last = p->cpu[i].package;
			if (!is_of(d->config, p, last, p->cpu[i].cpu))
				continue;
			put_line(w, &lines[k], d, p->cpu[i].cpu);
			if (!strcmp(d->name, "msr.turbo_ratio_limit"))
				put_turbo(w, d);
			if (strchr(lines[k].name, '*'))
				break;
			w->told[k / 64] |= bit;
		}
	}
	return 0;
}

int decode_turbostat(const struct places *places, bool newer, struct buf *out)
{
	struct writer w = { .places = places, .out = out };
	struct cpu_facts f;
	int err;

	cpu_facts_find(places->model, &f);
	w.bclk_mhz = f.bclk_mhz;
	buf_printf(out, "turbostat version %s - pmrep\n", newer ? "2026.04.21" : "2022.10.04");
	if (!(err = decode_all(places->model, take, &w)))
		err = decode_settings(places->model, take, &w);
	return err ? err : out->err;
}
