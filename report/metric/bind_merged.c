/* One column for an event that several PMUs of a kind count. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/metric/bind_private.h"

struct asked {
	uint64_t wildcard;
	const struct pm_counter *counter;
};

static int by_wildcard(const void *left, const void *right)
{
	const struct asked *a = left, *b = right;

	return array_order(a->wildcard, b->wildcard, a->counter->id, b->counter->id);
}

/* Those that the same words of the user stand for: whether they are of several PMUs, and count in one unit, as joules
 * and bytes have no sum. */
static bool are_twins(const struct builder *x, const struct asked *a, size_t n)
{
	const char *first = pm_map_text(&a->counter->attrs, PM_COUNTER_PERF_PMU, ""), *unit = NULL;
	bool several = false;

	for (size_t i = 0; i < n; i++) {
		several |= strcmp(pm_map_text(&a[i].counter->attrs, PM_COUNTER_PERF_PMU, ""), first) != 0;
		if (x->p->kind[a[i].counter->id] != PM_PMU)
			continue;
		if (unit && strcmp(a[i].counter->unit, unit))
			return false;
		unit = a[i].counter->unit;
	}
	return several;
}

int bind_find_twins(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	SCOPED(scoped_free) struct asked *a = malloc((m->n_counters + 1ull) * sizeof(*a));
	size_t n = 0, end;

	x->twin = calloc(m->n_counters + 1ull, sizeof(*x->twin));
	if (!a || !x->twin)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_counters; i++) {
		a[n] = (struct asked){ pm_map_u64(&m->counter[i].attrs, PM_COUNTER_PERF_WILDCARD, 0),
				       &m->counter[i] };
		n += a[n].wildcard != 0;
	}
	qsort(a, n, sizeof(*a), by_wildcard);
	for (size_t i = 0; i < n; i = end) {
		bool twins;

		for (end = i; end < n && a[end].wildcard == a[i].wildcard;)
			end++;
		twins = are_twins(x, a + i, end - i);
		for (size_t k = i; k < end; k++)
			x->twin[a[k].counter->id] = twins && x->p->kind[a[k].counter->id] == PM_PMU;
	}
	return 0;
}

/* An event of several PMUs: their sum per second, under the user's name for it. */
int bind_merged(struct builder *x, const struct pm_counter *c)
{
	const char *user = pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL);
	struct metric row = { .name = user, .categories = c->source, .precision = 1, .default_on = true };
	uint32_t ignored;
	int err;

	if (!user || !x->twin[c->id] || names_get(&x->taken, user, &ignored))
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
