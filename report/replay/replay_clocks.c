/* How fast CLOCK_MONOTONIC_RAW runs beside CLOCK_MONOTONIC, the clock of ticks, by the heads of chunks. */
#include "report/replay/replay_private.h"

static bool slope_between(struct replay *r, const struct clock_pair *then, const struct pm_clocks *now,
			  uint64_t least_ns)
{
	double slope;

	if (now->monotonic < then->monotonic + least_ns || now->monotonic_raw <= then->raw)
		return false;
	slope = (double)(now->monotonic_raw - then->raw) / (double)(now->monotonic - then->monotonic);
	r->slope = slope > 1.001 || slope < 0.999 ? slope : 1;
	return true;
}

bool replay_find_slope(struct replay *r, const struct pm_clocks *now)
{
	uint64_t n = r->n_heads, least = n > CLOCK_PAIRS ? n - CLOCK_PAIRS : 0;
	bool found = false;

	if (!now->monotonic || !now->monotonic_raw)
		return false;
	for (uint64_t i = n; i-- > least && !found;)
		found = slope_between(r, &r->head[i % CLOCK_PAIRS], now, 1000000000);
	/* Many within a second would displace older ones. */
	if (!n || now->monotonic >= r->head[(n - 1) % CLOCK_PAIRS].monotonic + 50000000)
		r->head[r->n_heads++ % CLOCK_PAIRS] = (struct clock_pair){ now->monotonic, now->monotonic_raw };
	return found;
}

void replay_until(struct replay *r, uint64_t ns)
{
	r->config.until_ns = ns;
}

void replay_foresee(struct replay *r, const struct pm_clocks *clocks, size_t n)
{
	bool found = false;

	for (size_t i = 0; i < n && !found; i++)
		found = replay_find_slope(r, &clocks[i]);
	if (!found && r->n_heads && n)
		slope_between(r, &r->head[0], &clocks[n - 1], 1);
	r->n_heads = 0;
}
