/* Finds what is missing from the sum over all PMUs of a kind, because some could not be recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/event/event.h"
#include "report/metric/bind_private.h"

/* Why a requested event of a PMU is not in the recording; PM_OK: nobody requested it. */
static uint16_t why_shut(const struct pm_model *m, const struct pm_pmu *pmu, const char *name)
{
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_map *attrs = &m->counter[i].attrs;

		if (pm_map_get(attrs, PM_COUNTER_PERF_INVALID) &&
		    !strcmp(pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), name))
			return (uint16_t)pm_map_u64(attrs, PM_COUNTER_PERF_INVALID, 0);
	}
	return (uint16_t)pm_map_u64(&pmu->attrs, PM_PMU_REFUSED, 0);
}

static bool feeds(const struct pm_model *m, const struct bound_input *in, const char *pmu)
{
	for (uint32_t k = 0; k < in->n_counters; k++) {
		const struct pm_map *attrs = &pm_model_counter(m, in->counter[k])->attrs;

		if (!pm_map_get(attrs, PM_COUNTER_PERF_INVALID) &&
		    !strcmp(pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), pmu))
			return true;
	}
	return false;
}

/* Names that differ in digits alone: uncore_imc_0, uncore_imc_10. */
static bool is_sibling(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *a == *b) {
		a += strspn(a + 1, digits) + 1;
		b += strspn(b + 1, digits) + 1;
	}
	return !*a && !*b;
}

/* Whether other events of the PMU were recorded, but not this one, which a sibling in the same place has. */
static bool was_left_out(const struct pm_model *m, const struct bound_input *in, const struct pm_pmu *pmu,
			 const char *name)
{
	const char *mask = pm_map_text(&pmu->attrs, PM_PMU_CPUMASK, "");
	bool recorded = false;

	for (uint32_t i = 0; i < m->n_counters && !recorded; i++)
		recorded = !pm_map_get(&m->counter[i].attrs, PM_COUNTER_PERF_INVALID) &&
			   !strcmp(pm_map_text(&m->counter[i].attrs, PM_COUNTER_PERF_PMU, ""), name);
	for (uint32_t i = 0; i < m->n_pmus && recorded; i++) {
		const char *other = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");

		if (is_sibling(name, other) && !strcmp(pm_map_text(&m->pmu[i].attrs, PM_PMU_CPUMASK, ""), mask) &&
		    feeds(m, in, other))
			return true;
	}
	return false;
}

/* A CPU of the PMU's package; PM_NONE: it counts in several, or that is unknown. */
static uint32_t cpu_of(const struct pm_pmu *pmu)
{
	const char *mask = pm_map_text(&pmu->attrs, PM_PMU_CPUMASK, NULL);
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	uint32_t cpu = PM_NONE;

	if (mask && !cpulist_parse(&cpus, mask, false, NULL) && cpus.n == 1)
		cpu = cpus.cpu[0];
	return cpu;
}

int bind_shut(struct builder *x, struct bound_input *in)
{
	const struct pm_model *m = x->p->model;
	const char *slash = in->more->name && in->n_counters && !in->constant ? strchr(in->more->name, '/') : NULL,
		   *first = "";
	SCOPED(buf_release) struct buf pattern = { 0 };
	const struct pmu_class *class = NULL;
	bool named;

	if (slash) {
		first = pm_map_text(&pm_model_counter(m, in->counter[0])->attrs, PM_COUNTER_PERF_PMU, "");
		class = class_of_pmu(m, first);
		buf_add(&pattern, in->more->name, (size_t)(slash - in->more->name));
	}
	if (pattern.err)
		return pattern.err;
	/* Whoever names one PMU does not want the others; the name of a class names all of its PMUs. */
	named = class && event_pmu_matches(buf_str(&pattern), first);
	for (uint32_t i = 0; class && i < m->n_pmus; i++) {
		const char *name = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
		uint16_t reason = why_shut(m, &m->pmu[i], name);

		if (class_of_pmu(m, name) != class || feeds(m, in, name) ||
		    (named && !event_pmu_matches(buf_str(&pattern), name)))
			continue;
		if (!reason && was_left_out(m, in, &m->pmu[i], name))
			reason = PM_REASON_NOT_READ;
		if (!reason)
			continue;
		if (!in->more->shut && !(in->more->shut = bind_own(x->b, calloc(m->n_pmus, sizeof(*in->more->shut)))))
			return -ENOMEM;
		in->more->shut[in->more->n_shut++] = (struct bound_shut){ name, cpu_of(&m->pmu[i]), reason };
	}
	return 0;
}
