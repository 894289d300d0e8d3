/* The order of both sides' runs, and their boots: what else may differ between the sides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/diff/diff_input.h"
#include "report/diff/diff_judge.h"

struct dated {
	uint64_t wall_ns;
	enum diff_side side;
};

static int by_time(const void *a, const void *b)
{
	const struct dated *x = a, *y = b;

	return (x->wall_ns > y->wall_ns) - (x->wall_ns < y->wall_ns);
}

/* The sides took turns if they changed at least as often as the smaller one has runs. */
static enum diff_order order_of(struct dated *run, size_t n)
{
	size_t runs[DIFF_SIDES] = { 0 }, changes = 0;

	qsort(run, n, sizeof(*run), by_time);
	for (size_t i = 0; i < n; i++) {
		runs[run[i].side]++;
		if (!run[i].wall_ns || (i && run[i].wall_ns == run[i - 1].wall_ns))
			return DIFF_ORDER_UNKNOWN;
		changes += i && run[i].side != run[i - 1].side;
	}
	if (runs[DIFF_BASE] < 2 || runs[DIFF_NEW] < 2)
		return DIFF_ORDER_UNKNOWN;
	if (changes == 1)
		return run[0].side == DIFF_BASE ? DIFF_BASE_FIRST : DIFF_NEW_FIRST;
	return changes >= (runs[DIFF_BASE] < runs[DIFF_NEW] ? runs[DIFF_BASE] : runs[DIFF_NEW]) ? DIFF_TURNS :
												  DIFF_MIXED;
}

/* If one does not name its boot, all are taken to be of one. */
static void number_boots(struct diff_recordings *r)
{
	uint32_t next = 1;

	for (size_t i = 0; i < r->n; i++)
		if (!r->recording[i].boot)
			return;
	for (size_t i = 0; i < r->n; i++) {
		struct diff_recording *one = &r->recording[i];
		bool seen[DIFF_SIDES] = { false };

		for (size_t k = 0; k < i; k++)
			if (!strcmp(r->recording[k].boot, one->boot)) {
				one->session = r->recording[k].session;
				seen[r->recording[k].side] = true;
			}
		if (seen[one->side])
			continue;
		if (!one->session)
			one->session = next++;
		r->boots[one->side]++;
		r->boots_shared += seen[!one->side];
	}
}

int diff_find_order(struct diff_recordings *r, const struct diff_options *o)
{
	SCOPED(scoped_free) struct dated *run = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->recording[i].n_runs;
	run = calloc(n + 1, sizeof(*run));
	if (!run)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < r->n; i++)
		for (uint32_t k = 0; k < r->recording[i].n_runs; k++)
			if (diff_counts(&r->recording[i].run[k], o))
				run[n++] = (struct dated){ r->recording[i].run[k].wall_ns, r->recording[i].side };
	r->order = order_of(run, n);
	number_boots(r);
	return 0;
}
