/* Levels of several members, combined row by row: over a longer interval their mean, greatest or least is the mean
 * by time of what each row has. Those of members that are away for a while could not be combined afterwards. */
#include <math.h>
#include <string.h>

#include "report/input/memory.h"
#include "report/replay/replay_private.h"
#include "report/replay/track_private.h"

struct average {
	const void *owner;
	uint32_t part;
	enum pm_aggregation rule;
	bool used;                                        /* by the current rows */
	double sum[PM_CHUNK_ROWS], weight[PM_CHUNK_ROWS]; /* by row */
	double so_far, ns;                                /* of the open interval: row * ns */
	double value[ARENA_ROWS];
};

/* Where a track counts. */
struct track_average {
	struct average *in;
	struct track_average *next;
};

void average_leave(struct track *t)
{
	while (t->average) {
		struct track_average *next = t->average->next;

		free(t->average);
		t->average = next;
	}
}

static struct average *average_of(const struct track *t, const void *owner, uint32_t part)
{
	const struct track_average *a = t->average;

	while (a && (a->in->owner != owner || a->in->part != part))
		a = a->next;
	return a ? a->in : NULL;
}

static void enter(struct track *t, struct average *a, bool fresh)
{
	struct track_average *more = memory_new(1, sizeof(*more));

	*more = (struct track_average){ a, t->average };
	t->average = more;
	/* It was the only one so far. */
	if (fresh && t->any) {
		a->so_far += double_from_bits(t->prev);
		a->ns += (double)t->elapsed;
	}
}

const struct average *replay_average(struct replay *r, const void *owner, uint32_t part, enum pm_aggregation rule,
				     const uint32_t *track, uint32_t n)
{
	struct average *a = NULL;
	bool fresh;

	for (uint32_t i = 0; i < n; i++)
		if (replay_past(r, track[i]) || r->track[track[i]].semantics != PM_GAUGE)
			return NULL;
	for (uint32_t i = 0; i < n && !a; i++)
		a = average_of(&r->track[track[i]], owner, part);
	fresh = !a;
	if (fresh) {
		memory_room(&r->average, r->n_averages, sizeof(*r->average));
		r->average[r->n_averages++] = a = memory_new(1, sizeof(*a));
		a->owner = owner;
		a->part = part;
		a->rule = rule;
	}
	for (uint32_t i = 0; i < n; i++)
		if (!average_of(&r->track[track[i]], owner, part))
			enter(&r->track[track[i]], a, fresh);
	return a;
}

const double *replay_averaged(const struct replay *r, const struct average *a)
{
	return a && r->averages ? a->value : NULL;
}

void average_take(struct track *t, uint32_t row, double level, uint64_t ns)
{
	for (struct track_average *in = t->average; in; in = in->next) {
		struct average *a = in->in;
		bool first = a->weight[row] == 0;

		a->used = true;
		if (a->rule == PM_AGG_MEAN) {
			a->sum[row] += level * (double)ns;
			a->weight[row] += (double)ns;
		} else {
			a->sum[row] = first                 ? level :
				      a->rule == PM_AGG_MAX ? fmax(a->sum[row], level) :
							      fmin(a->sum[row], level);
			a->weight[row] = 1;
		}
	}
}

static void close_average(struct average *a, size_t k)
{
	a->value[k] = a->ns > 0 ? a->so_far / a->ns : NAN;
	a->so_far = a->ns = 0;
}

void averages_close(struct replay *r, size_t k)
{
	for (size_t i = 0; i < r->n_averages; i++)
		close_average(r->average[i], k);
}

void averages_settle(struct replay *r, uint32_t row, uint32_t end, const bool *closes)
{
	const struct column c = { .tick = r->slice.tick, .first = row, .before = r->slice.before, .slope = r->slope };

	for (size_t i = 0; i < r->n_averages && r->averages; i++) {
		struct average *a = r->average[i];
		size_t n = 0;

		for (uint32_t k = row; k < end; k++) {
			if (a->used && a->weight[k] > 0) {
				double ns = (double)column_ns(&c, k);

				a->so_far += a->sum[k] / a->weight[k] * ns;
				a->ns += ns;
			}
			if (closes[k])
				close_average(a, n++);
		}
		if (a->used) {
			memset(a->sum + row, 0, (end - row) * sizeof(*a->sum));
			memset(a->weight + row, 0, (end - row) * sizeof(*a->weight));
		}
		a->used = false;
	}
}

void averages_release(struct replay *r)
{
	for (size_t i = 0; i < r->n_averages; i++)
		free(r->average[i]);
	free(r->average);
}
