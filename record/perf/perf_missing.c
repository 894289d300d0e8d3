/* Finds uncore PMUs that are missing here, and those that this kernel does not know. */
#include <stdio.h>
#include <string.h>

#include "common/event/class_pmu.h"
#include "common/metric/metric.h"
#include "common/number.h"
#include "record/host/cpuid.h"
#include "record/host/cputype.h"
#include "record/perf/perf_class.h"
#include "record/plan/plan.h"

/* Whether firmware devices whose names begin with a text are on a bus of sysfs. */
static bool has_device(const struct root *root, const char *bus, const char *start)
{
	SCOPED(root_list_free) char **names = NULL;
	int n = root_list(root, &names, "/sys/bus/%s/devices", bus);
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		found = !strncmp(names[i], start, strlen(start));
	return found;
}

/* Whether there is a PMU of the generic Arm kind, whatever its class. */
static bool has_cspmu(const struct perf_pmus *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) ? !perf_class(&p->pmu[i])->hid && !perf_class(&p->pmu[i])->pmu :
					     !strncmp(p->pmu[i].name, "arm_cspmu_", 10))
			return true;
	return false;
}

static int driver_missing(struct plan *plan, const struct pmu_class *c, const char *what)
{
	char hint[160];

	snprintf(hint, sizeof(hint), "modprobe %s (kernel option %s)", c->module, c->config);
	return plan_refused(plan, PM_REASON_NOT_SUPPORTED, hint,
			    "%s: the firmware describes it, but no driver is bound", what);
}

/* The first word in the titles of the classes that a machine with this processor should have; NULL: none. */
static const char *chip_of(const struct root *root)
{
	/* Grace's cores are Arm's own, which others have, too. */
	static const struct {
		uint32_t midr; /* implementer and part */
		const char *soc, *chip;
	} chips[] = {
		{ 0x4e000100, NULL, "Tegra410 " },
		{ 0x4100d4f0, "jep106:036b:0241", "Grace " },
	};
	char soc[32];
	const uint64_t midr = cputype_chip(root, soc);
	const char *found = NULL;

	for (size_t i = 0; i < sizeof(chips) / sizeof(chips[0]); i++)
		if (midr == chips[i].midr &&
		    (!chips[i].soc || !strcmp(soc, chips[i].soc) || has_device(root, "acpi", "NVDA")))
			found = chips[i].chip;
	return found;
}

static bool has_module(const struct perf_pmus *p, const char *module)
{
	for (size_t i = 0; i < p->n; i++)
		if (perf_class(&p->pmu[i]) && !strcmp(perf_class(&p->pmu[i])->module, module))
			return true;
	return false;
}

/* Reports what the processor should have, if the firmware does not say. */
static int chip_missing(const struct perf_pmus *p, struct plan *plan, const char *chip)
{
	int err = 0;

	for (const struct pmu_class *c = pmu_classes; c->name && !err; c++) {
		bool said = has_module(p, c->module);
		char hint[160];

		if (strncmp(c->title, chip, strlen(chip)))
			continue;
		for (const struct pmu_class *d = pmu_classes; d != c && !said; d++)
			said = !strcmp(d->module, c->module) && !strncmp(d->title, chip, strlen(chip));
		for (const struct pmu_class *d = pmu_classes; d->name && !said; d++)
			said = !strcmp(d->module, c->module) &&
			       (d->hid ? has_device(plan->root, "acpi", d->hid) :
					 has_device(plan->root, "platform", "arm-cs-arch-pmu"));
		if (said)
			continue;
		snprintf(hint, sizeof(hint), "modprobe %s (kernel option %s), unless this is a virtual machine",
			 c->module, c->config);
		err = plan_refused(plan, PM_REASON_NOT_SUPPORTED, hint,
				   "%s: the processor should have it, but neither driver nor firmware shows it",
				   c->title);
	}
	return err;
}

int perf_classes_missing(const struct perf_pmus *p, struct plan *plan)
{
	const struct pmu_class *generic = &pmu_classes[0];
	const char *chip = chip_of(plan->root);
	int err = 0;

	for (const struct pmu_class *c = pmu_classes; c->name && !err; c++)
		if (c->hid && !perf_class_first(p, c) && has_device(plan->root, "acpi", c->hid))
			err = driver_missing(plan, c, c->title);
	if (!err && !has_cspmu(p) && has_device(plan->root, "platform", "arm-cs-arch-pmu"))
		err = driver_missing(plan, generic, "Arm CoreSight uncore PMUs");
	if (!err && chip)
		err = chip_missing(p, plan, chip);
	for (size_t i = 0; i < p->n && !err; i++) {
		const struct pmu_class *c = perf_class(&p->pmu[i]);
		struct pmu_name name;

		if (c && pmu_name_parse(p->pmu[i].name, &name) && !strcmp(name.stem, "uncore") && c->stem &&
		    strcmp(c->stem, "uncore"))
			err = plan_refused(plan, PM_REASON_NOT_SUPPORTED,
					   "a newer kernel, which knows its events and filters",
					   "%s is a %s, unknown to this kernel: events by code, no filters",
					   p->pmu[i].name, c->title);
	}
	return err;
}

/* ---- memory bandwidth ---- */

/* By vendor, what a machine lacks whose memory traffic no PMU counts. */
static const struct {
	const char *maker, *cure; /* as the CPU is identified */
} lacking[] = {
	{ "GenuineIntel", "modprobe intel_uncore (kernel option CONFIG_PERF_EVENTS_INTEL_UNCORE)" },
	{ "AuthenticAMD", "modprobe amd_uncore (CONFIG_PERF_EVENTS_AMD_UNCORE); Zen 4 and later need Linux 6.8" },
	{ "0x00000000c0", "modprobe ampere_cspmu (CONFIG_AMPERE_CORESIGHT_PMU_ARCH_SYSTEM_PMU), Linux 6.7" },
	{ "0x0000000048", "modprobe hisi_uncore_ddrc_pmu (CONFIG_HISI_PMU)" },
	{ "0x000000004e", "modprobe nvidia_cspmu (CONFIG_NVIDIA_CORESIGHT_PMU_ARCH_SYSTEM_PMU)" },
	{ "0x0000000041", "modprobe arm-cmn arm_dmc620_pmu nvidia_cspmu, by what the processor has" },
};

/* Whether a metric of memory traffic has a formula over its events. */
static bool counts_memory(const struct pmu_class *c)
{
	char named[64];
	bool found = false;

	snprintf(named, sizeof(named), "%s@", c->name);
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n && !found; i++)
			found = !strncmp(t->row[i].name, "mem.", 4) &&
				(strstr(t->row[i].expr, named) ||
				 (t->row[i].otherwise && strstr(t->row[i].otherwise, named)));
	return found;
}

static bool counts(const struct plan *plan, const struct event_pmu *pmu)
{
	const struct pm_model *m = plan->model;

	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(pm_map_text(&m->counter[i].attrs, PM_COUNTER_PERF_PMU, ""), pmu->name))
			return true;
	return false;
}

/* Why no event of the PMU is counted. */
static const char *why_not(const struct plan *plan, const struct event_pmu *pmu)
{
	const struct pm_model *m = plan->model;

	if (!((const struct class_pmu *)pmu->hook_data)->refused)
		return "this kernel names none of its events that measure traffic";
	for (uint32_t i = 0; i < m->n_probes; i++)
		if (!strcmp(m->probe[i].source, "perf") && m->probe[i].hint &&
		    (strstr(m->probe[i].what, pmu->class) || strstr(m->probe[i].what, pmu->name)))
			return m->probe[i].hint;
	return "its events were refused";
}

void perf_classes_tell(const struct perf_pmus *p, const struct plan *plan, struct buf *out)
{
	const char *id = cpuid_for_vendor(pm_map_text(&plan->model->header, PM_HEADER_CPU_ID, NULL)), *why = NULL;

	/* First what is counted, then what could be; of several classes the table has the better one first. */
	for (int pass = 0; pass < 2; pass++)
		for (const struct pmu_class *c = pmu_classes; c->name; c++) {
			const struct event_pmu *first = NULL, *other = NULL;
			const bool memory = counts_memory(c);
			unsigned n = 0, counted = 0;

			for (size_t i = 0; i < p->n && memory; i++)
				if (perf_class(&p->pmu[i]) == c) {
					bool here = counts(plan, &p->pmu[i]);

					first = first ? first : &p->pmu[i];
					other = other || here ? other : &p->pmu[i];
					counted += here;
					n++;
				}
			if (!first || (!counted && !pass))
				continue;
			buf_printf(out, "memory bandwidth: %u PMU%s such as %s", n, plural(n), first->name);
			if (!counted)
				buf_printf(out, ", which cannot be counted: %s", why_not(plan, first));
			else if (other)
				buf_printf(out, "; %s cannot be counted, so sums are missing: %s", other->name,
					   why_not(plan, other));
			buf_addstr(out, "\n");
			return;
		}
	for (size_t i = 0; id && i < sizeof(lacking) / sizeof(lacking[0]) && !why; i++)
		if (!strncmp(id, lacking[i].maker, strlen(lacking[i].maker)))
			why = lacking[i].cure;
	if (pm_map_get(&plan->model->header, PM_HEADER_HYPERVISOR))
		why = "this virtual machine has none; record on its host";
	buf_printf(out, "memory bandwidth: no PMU counts it: %s", why ? why : "no event is known for this processor");
	buf_addstr(out, root_exists(plan->root, "/sys/fs/resctrl/mon_data") ? "; resctrl groups do\n" : "\n");
}
