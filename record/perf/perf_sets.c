/* Sets of events that an option stands for: --transaction, --topdown, --smi-cost. Each needs events that few machines
 * have; without them it is refused as a whole, because a part would mean nothing. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/number.h"

#include "record/perf/perf_source.h"

static const struct event_pmu *pmu_named(const struct perf_pmus *pmus, const char *name)
{
	for (size_t i = 0; i < pmus->n; i++)
		if (!strcmp(pmus->pmu[i].name, name))
			return &pmus->pmu[i];
	return NULL;
}

static bool has_alias(const struct event_pmu *pmu, const char *name)
{
	return pmu && event_pmu_alias(pmu, name, strlen(name));
}

static void add_event(struct buf *out, const struct event_pmu *pmu, const char *name, bool first)
{
	buf_printf(out, "%s%s/%s/", first ? "" : ",", pmu->name, name);
}

/* Cycles in transactions, their starts and, where the CPU has them, elided locks and committed cycles. */
static int add_transaction(const struct perf_pmus *pmus, struct buf *out, struct error *e)
{
	static const char *const more[] = { "el-start", "cycles-ct" };

	for (size_t i = 0; i < pmus->n; i++) {
		const struct event_pmu *pmu = &pmus->pmu[i];

		if (!pmu->core || !has_alias(pmu, "cycles-t") || !has_alias(pmu, "tx-start"))
			continue;
		buf_printf(out, "task-clock,{%s/instructions/,%s/cycles/", pmu->name, pmu->name);
		add_event(out, pmu, "cycles-t", false);
		add_event(out, pmu, "tx-start", false);
		for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
			if (has_alias(pmu, more[k]))
				add_event(out, pmu, more[k], false);
		buf_addstr(out, "}:W");
		return 0;
	}
	return error_set(e, ENODEV,
			 "--transaction: no core PMU has the events cycles-t and tx-start; this processor, or its "
			 "hypervisor, offers no transactional memory");
}

static bool old_topdown(const struct event_pmu *pmu)
{
	return has_alias(pmu, "topdown-total-slots");
}

static unsigned levels(const struct event_pmu *pmu)
{
	return has_alias(pmu, "topdown-heavy-ops") ? 2 : 1;
}

/* Adds all topdown events of a core PMU; "slots" leads those of a metrics register. */
static int add_topdown_of(const struct event_pmu *pmu, struct buf *out)
{
	bool slots = has_alias(pmu, "slots"), first = !slots;

	buf_printf(out, "%s{", out->len ? "," : "");
	if (slots)
		add_event(out, pmu, "slots", true);
	for (size_t k = 0; k < pmu->n_aliases; k++) {
		const char *name = pmu->alias[k].name;

		if (strncmp(name, "topdown-", 8) || strchr(name, '.'))
			continue;
		add_event(out, pmu, name, first);
		first = false;
	}
	buf_addstr(out, "}:W");
	return out->err;
}

static int add_topdown(const struct perf_pmus *pmus, const struct plan *p, struct buf *out, struct error *e)
{
	const struct record_options *o = p->options;
	unsigned found = 0, deepest = 0;
	char smt[8] = "0";
	int err = 0;

	root_line(p->root, smt, sizeof(smt), "/sys/devices/system/cpu/smt/active");
	for (size_t i = 0; i < pmus->n && !err; i++) {
		const struct event_pmu *pmu = &pmus->pmu[i];

		if (!pmu->core || (!has_alias(pmu, "topdown-retiring") && !old_topdown(pmu)))
			continue;
		if (!has_alias(pmu, "slots") && old_topdown(pmu) && !strcmp(smt, "1") && o->target != TARGET_SYSTEM)
			return error_set(e, EINVAL,
					 "--topdown: the events of this processor count whole cores, not threads, so "
					 "they cannot be attributed to tasks; add -a");
		found++;
		if (levels(pmu) > deepest)
			deepest = levels(pmu);
		err = add_topdown_of(pmu, out);
	}
	if (!found)
		return error_set(e, ENODEV,
				 "--topdown: no core PMU has topdown-* events here; with the vendor's metrics, -M "
				 "TopdownL1 counts what other processors offer instead");
	if (o->perf.td_level > deepest)
		return error_set(e, EINVAL, "--td-level: this processor has %u level%s", deepest, plural(deepest));
	return err;
}

static int add_smi(const struct perf_pmus *pmus, struct buf *out, struct error *e)
{
	const struct event_pmu *msr = pmu_named(pmus, "msr");

	if (!has_alias(msr, "aperf") || !has_alias(msr, "smi"))
		return error_set(e, ENODEV,
				 "--smi-cost: the msr PMU has no events aperf and smi here; only Intel processors "
				 "count SMIs, and hypervisors hide that");
	buf_printf(out, "%s{msr/aperf/,msr/smi/,cycles}:W", out->len ? "," : "");
	return 0;
}

int perf_sets_text(const struct perf_source *s, const struct plan *p, struct buf *out, struct error *e)
{
	const struct record_options *o = p->options;
	char name[16];
	int err = 0;

	if (o->perf.cputype) {
		snprintf(name, sizeof(name), "cpu_%s", o->perf.cputype);
		if (!pmu_named(&s->pmus, name))
			return error_set(e, ENODEV, "--cputype: this machine has no PMU %s; it is not hybrid", name);
	}
	if (o->perf.pmu_filter && !pmu_named(&s->pmus, o->perf.pmu_filter))
		return error_set(e, ENODEV,
				 "--pmu-filter: this machine has no PMU %s; `pmrec list events` lists them",
				 o->perf.pmu_filter);
	if (o->perf.topdown)
		err = add_topdown(&s->pmus, p, out, e);
	if (!err && o->perf.smi_cost)
		err = add_smi(&s->pmus, out, e);
	if (!err && o->perf.transaction) {
		if (out->len)
			buf_addstr(out, ",");
		err = add_transaction(&s->pmus, out, e);
	}
	return err ? err : out->err;
}
