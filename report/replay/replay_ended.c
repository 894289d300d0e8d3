/* Sets the tracks of ended tasks and cgroups aside, and drops those that no interval needs. */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/buf.h"
#include "report/replay/replay_private.h"

void track_release(struct track *t)
{
	free(t->times);
	free(t->more);
	if (t->loss) {
		free(t->loss->joint);
		free(t->loss->sum);
	}
	free(t->loss);
	t->times = NULL;
	t->more = NULL;
	t->loss = NULL;
}

/* Keeps of a track only what it comes to, if nothing else can be wanted of it. */
static int set_aside(struct replay *r, struct track *t)
{
	if (array_room(&r->past, r->n_past, sizeof(*r->past)))
		return -ENOMEM;
	t->folded = track_end(&r->past[r->n_past], t);
	r->n_past += t->folded;
	r->n_folded += t->folded;
	if (t->folded)
		track_release(t);
	return 0;
}

/* Lets one track represent this and all others of the counter that have ended, if only their sum is wanted. */
static int fold(struct replay *r, uint32_t track)
{
	uint32_t counter = r->track[track].counter, *sum = &r->sum_of[counter], number = *sum - 1;
	uint8_t semantics = r->track[track].semantics;
	int err;

	if (r->config.mode != REPLAY_TOTAL || r->config.counts || joints_own(&r->joints, track) ||
	    joints_ask(&r->joints, track))
		return 0;
	if (r->want[counter] & 1u << TRACK_EACH || (semantics != PM_CUMULATIVE && semantics != PM_DELTA) ||
	    pm_counter_joins(pm_model_counter(r->model, counter)) != PM_AGG_SUM)
		return set_aside(r, &r->track[track]);
	if (!*sum) {
		if ((number = replay_add_track(r)) == PM_NONE)
			return -ENOMEM;
		r->n_live--;
		if ((err = track_begin_sum(&r->track[number], &r->track[track], r->rows)))
			return err;
		*sum = number + 1;
	}
	r->track[track].folded = track_fold(&r->track[number], &r->track[track]);
	r->n_folded += r->track[track].folded;
	return 0;
}

int replay_end_retired(struct replay *r)
{
	SCOPED(scoped_free) bool *fed = calloc(r->n_tracks + 1, sizeof(*fed));
	size_t kept = 0;
	int err = 0;

	if (!fed)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_groups; i++)
		for (uint32_t k = 0; k < r->group[i].n; k++)
			fed[r->group[i].feed[k].track] = true;
	for (size_t i = 0; i < r->n_live; i++) {
		struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = NULL;

		if (!fed[r->live[i]])
			in = pm_model_instance(r->model, t->instance);
		if (!in || !in->retired_ns || (in->kind != PM_TASK && in->kind != PM_CGROUP)) {
			r->live[kept++] = r->live[i];
			continue;
		}
		if (!track_loss_of(t, r->rows)) {
			err = -ENOMEM;
			continue;
		}
		r->losses = true;
		if (track_joint_waits(t)) {
			track_joint_restart(t);
			track_joint_resume(t);
		}
		track_missed(t, PM_REASON_OFFLINE, 0);
		t->loss->ended_ns = r->open ? r->now.duration_ns : 0;
		t->ended = true;
		t->over = !t->seen;
		err = err ? err : fold(r, r->live[i]);
	}
	r->n_live = kept;
	return err;
}

/* Whether it ended before the open, or last closed, interval began; or has added its sums to another. */
static bool is_over(const struct replay *r, size_t track)
{
	return r->config.mode == REPLAY_TOTAL ? r->track[track].folded : r->track[track].over;
}

int replay_drop_ended(struct replay *r)
{
	uint32_t *place, n = 0;
	size_t over = 0;

	for (size_t i = 0; i < r->n_tracks && r->n_live < r->n_tracks; i++)
		over += is_over(r, i);
	if (!over)
		return 0;
	if (!(place = malloc(r->n_tracks * sizeof(*place))))
		return -ENOMEM;
	for (size_t i = 0; i < r->n_tracks; i++) {
		place[i] = is_over(r, i) ? PM_NONE : n;
		if (place[i] == PM_NONE)
			track_release(&r->track[i]);
		else
			r->track[n++] = r->track[i];
	}
	joints_renumber(&r->joints, place, r->n_tracks);
	r->n_tracks = n;
	for (size_t i = 0; i < r->n_live; i++)
		r->live[i] = place[r->live[i]];
	for (uint32_t i = 0; i < r->n_groups; i++)
		for (uint32_t k = 0; k < r->group[i].n; k++)
			r->group[i].feed[k].track = place[r->group[i].feed[k].track];
	for (size_t i = 0; i < r->n_want; i++)
		r->sum_of[i] = r->sum_of[i] ? place[r->sum_of[i] - 1] + 1 : 0;
	r->n_folded = 0;
	/* Keys and results have the old numbers. */
	r->placed = false;
	r->used_keys = r->n_keys;
	free(place);
	return 0;
}
