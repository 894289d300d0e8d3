/* One column for an event that several PMUs of a kind count. */
#include <errno.h>
#include <string.h>

#include "report/metric/bind_private.h"

/* Whether the counter is on one of several PMUs that the same words of the user stand for, and all count in one unit:
 * joules and bytes have no sum. */
bool bind_has_twins(const struct builder *x, const struct pm_counter *c)
{
	uint64_t wildcard = x->p->kind[c->id] == PM_PMU ? pm_map_u64(&c->attrs, PM_COUNTER_PERF_WILDCARD, 0) : 0;
	const struct pm_model *m = x->p->model;
	bool twins = false;

	for (uint32_t i = 0; wildcard && i < m->n_counters && !twins; i++)
		twins = pm_map_u64(&m->counter[i].attrs, PM_COUNTER_PERF_WILDCARD, 0) == wildcard &&
			strcmp(pm_map_text(&m->counter[i].attrs, PM_COUNTER_PERF_PMU, ""),
			       pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""));
	for (uint32_t i = 0; i < m->n_counters && twins; i++)
		twins = x->p->kind[m->counter[i].id] != PM_PMU || !strcmp(m->counter[i].unit, c->unit) ||
			pm_map_u64(&m->counter[i].attrs, PM_COUNTER_PERF_WILDCARD, 0) != wildcard;
	return twins;
}

/* An event of several PMUs: their sum per second, under the user's name for it. */
int bind_merged(struct builder *x, const struct pm_counter *c)
{
	const char *user = pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL);
	struct metric row = { .name = user, .categories = c->source, .precision = 1, .default_on = true };
	uint32_t ignored;
	int err;

	if (!user || !bind_has_twins(x, c) || names_get(&x->taken, user, &ignored))
		return 0;
	row.expr = bind_own(x->b, bind_with_member("rate(*)", user, false, true));
	row.unit = bind_text(x->b, "%s/s", c->unit[0] ? c->unit : "1");
	row.display = bind_text(x->b, "%s %s", user, strcmp(c->unit, "1") ? row.unit : "/s");
	row.help = "What all PMUs of the kind counted, a second";
	if (!row.expr || !row.unit || !row.display)
		return -ENOMEM;
	row.default_on = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false);
	err = bind_row(x, &row, NULL, NULL, false);
	return err == -EINVAL ? 0 : err;
}
