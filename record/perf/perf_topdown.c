/* Shares of the slots of Intel's cores (topdown-retiring and the like) are read from one register, which the slots
 * event switches on: the kernel accepts them only after that event, in its group. Their names vary; their codes do
 * not (arch/x86/events/intel/core.c: slots 0x400, shares 0x8000 to 0x8700). */
#include <string.h>

#include "record/perf/perf_source.h"

#define FIRST_SHARE 0x8000u
#define SHARES      0x700u /* bits that distinguish them */

static bool has_shares(const struct perf_source *s, const struct event *ev)
{
	const struct event_pmu *pmu = ev->core && ev->pmu_index != EVENT_NONE ? &s->pmus.pmu[ev->pmu_index] : NULL;

	return pmu && event_pmu_alias(pmu, "slots", 5);
}

bool perf_is_slots(const struct perf_source *s, const struct event *ev)
{
	return ev->config[0] == PERF_SLOTS && has_shares(s, ev);
}

bool perf_is_share(const struct perf_source *s, const struct event *ev)
{
	return (ev->config[0] & ~(uint64_t)SHARES) == FIRST_SHARE && has_shares(s, ev);
}

uint32_t perf_topdown_order(const struct perf_source *s, struct perf_group *g)
{
	uint32_t front = 0, slots = 0;
	bool any = false;

	while (slots < g->n && !perf_is_slots(s, g->member[slots]->ev))
		slots++;
	for (uint32_t k = 0; k < g->n; k++)
		any |= perf_is_share(s, g->member[k]->ev);
	if (!any || slots == g->n)
		return 1;
	for (uint32_t k = 0; k < g->n; k++) {
		uint32_t from = k ? k : slots;
		struct perf_event *e;

		/* The leader first; then the shares, in order. */
		while (k && from < g->n && !perf_is_share(s, g->member[from]->ev))
			from++;
		if (from == g->n)
			break;
		e = g->member[from];
		memmove(&g->member[k + 1], &g->member[k], (from - k) * sizeof(*g->member));
		g->member[k] = e;
		front++;
	}
	return front;
}
