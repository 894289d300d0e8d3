/* Finds what is missing from the sum over all PMUs of a kind, because some could not be recorded. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cpulist.h"
#include "common/event/event.h"
#include "report/metric/bind_private.h"

/* In fed_by(). */
enum { FED_ITSELF = 1, FED_KIN = 2 };

/* Which PMUs feed the input, and, at the place of the first of some kin, whether any of them does; NULL without
 * memory. */
static unsigned char *fed_by(const struct class_index *x, const struct pm_model *m, const struct bound_input *in)
{
	unsigned char *fed = calloc((size_t)m->n_pmus + 1, 1);
	uint32_t at;

	for (uint32_t k = 0; fed && k < in->n_counters; k++) {
		const struct pm_map *attrs = &pm_model_counter(m, in->counter[k])->attrs;

		if (pm_map_get(attrs, PM_COUNTER_PERF_INVALID) ||
		    !names_get(&x->pmus, pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), &at))
			continue;
		fed[at] |= FED_ITSELF;
		fed[x->pmu[at].kin] |= FED_KIN;
	}
	return fed;
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

/* Why an event of the PMU is not in the recording, of a request of which others feed the input. PM_OK: it was not
 * part of any. */
static uint16_t why_alone(const struct pm_model *m, const struct bound_input *in, const char *pmu)
{
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_map *attrs = &m->counter[i].attrs;
		uint64_t wildcard = pm_map_u64(attrs, PM_COUNTER_PERF_WILDCARD, 0);

		if (!wildcard || !pm_map_get(attrs, PM_COUNTER_PERF_INVALID) ||
		    strcmp(pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), pmu) != 0)
			continue;
		for (uint32_t k = 0; k < in->n_counters; k++)
			if (pm_map_u64(&pm_model_counter(m, in->counter[k])->attrs, PM_COUNTER_PERF_WILDCARD, 0) ==
			    wildcard)
				return (uint16_t)pm_map_u64(attrs, PM_COUNTER_PERF_INVALID, 0);
	}
	return PM_OK;
}

int bind_shut(struct builder *x, struct bound_input *in)
{
	const struct pm_model *m = x->p->model;
	const char *slash = in->more->name ? strchr(in->more->name, '/') : NULL, *first = "";
	SCOPED(buf_release) struct buf pattern = { 0 };
	SCOPED(scoped_free) unsigned char *fed = NULL;
	const struct pmu_class *class;
	uint32_t at;
	bool named;

	if (in->more->name && in->n_counters && !in->constant)
		first = pm_map_text(&pm_model_counter(m, in->counter[0])->attrs, PM_COUNTER_PERF_PMU, "");
	/* What cores count has a PMU a kind, and not all kinds have it. */
	if (!names_get(&x->classes.pmus, first, &at) ||
	    (!x->classes.pmu[at].class && !pm_map_get(&m->pmu[at].attrs, PM_PMU_CPUMASK)))
		return 0;
	class = x->classes.pmu[at].class;
	buf_add(&pattern, in->more->name, slash ? (size_t)(slash - in->more->name) : 0);
	if (pattern.err || !(fed = fed_by(&x->classes, m, in)))
		return -ENOMEM;
	/* Whoever names one PMU does not want the others; the name of a class names all of its PMUs, and so does an
	 * event alone. */
	named = slash && event_pmu_matches(buf_str(&pattern), first);
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		const char *name = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
		const struct class_pmu *pmu = &x->classes.pmu[i];
		bool same = class && pmu->class == class;
		uint16_t reason = same && (slash || !pmu->refused) ? pmu->reason : PM_OK;

		if ((fed[i] & FED_ITSELF) ||
		    (!same && ((slash && !named) || !pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUMASK))) ||
		    (named && !event_pmu_matches(buf_str(&pattern), name)))
			continue;
		if (!reason && pmu->refused)
			reason = why_alone(m, in, name);
		/* Other events of the PMU were recorded, but not this one, which another of the kin has. */
		if (!reason && pmu->recorded && (fed[pmu->kin] & FED_KIN))
			reason = PM_REASON_NOT_READ;
		if (!reason)
			continue;
		if (!in->more->shut && !(in->more->shut = bind_own(x->b, calloc(m->n_pmus, sizeof(*in->more->shut)))))
			return -ENOMEM;
		in->more->shut[in->more->n_shut++] = (struct bound_shut){ name, cpu_of(&m->pmu[i]), reason };
	}
	return 0;
}
