/* Readings that took long: a number may be from before an interruption and its time from after it. Hardly any
 * recording has one, so this only costs a check of the times of each group. */
#include <errno.h>
#include <stdlib.h>

#include "report/replay/replay_private.h"

#define SHARE      100       /* of an interval, that a reading may take without doubt */
#define UNKNOWN_NS 10000000u /* intervals are rarely shorter */

static bool is_long(uint64_t span_ns, uint64_t of_ns)
{
	return span_ns > of_ns / SHARE;
}

/* Whether any reading took long for the shortest of the intervals. The first one of a stretch bounds one that is
 * unknown yet. */
static bool some_long(const struct replay *r, const struct pm_chunk_group *cg, uint32_t times, uint32_t row,
		      uint32_t end)
{
	uint64_t least = UNKNOWN_NS, before = r->slice.before;

	for (uint32_t k = row; k < end; before = r->slice.tick[k++])
		if (before && r->slice.tick[k] - before < least)
			least = r->slice.tick[k] - before;
	for (uint32_t t = 0; t < times; t++) {
		const uint64_t *begin = cg->v + t * cg->stride, *done = begin + times * cg->stride;
		uint64_t any = 0;

		for (uint32_t k = row; k < end; k++)
			any |= done[k] - begin[k];
		/* At least the longest. */
		if (is_long(any, least))
			return true;
	}
	return false;
}

int doubt_continue(struct group_feeds *f, const struct group_feeds *before, const uint32_t *place, uint32_t kept,
		   uint32_t times)
{
	if (!before->spans || f->spans)
		return 0;
	if (!(f->spans = calloc(times, sizeof(*f->spans))))
		return -ENOMEM;
	f->n_spans = times;
	for (uint32_t t = 0; t < times && (t < kept || times == 1); t++)
		f->spans[t] = before->spans[times == 1 ? 0 : place[t]];
	return 0;
}

static int make_room(struct replay *r, struct group_feeds *f, uint32_t times)
{
	if (!r->doubt && !(r->doubt = calloc(r->cap_tracks, sizeof(*r->doubt))))
		return -ENOMEM;
	if (!f->spans && (f->spans = calloc(times, sizeof(*f->spans))))
		f->n_spans = times;
	if (!f->doubt)
		f->doubt = calloc(times * r->rows, 1);
	return f->spans && f->doubt ? 0 : -ENOMEM;
}

/* Lets tracks find what is known of their readings. */
static void point_tracks(struct replay *r, const struct group_feeds *f)
{
	for (uint32_t i = 0; i < f->n; i++)
		r->doubt[f->feed[i].track] = f->doubt + f->feed[i].time * r->rows;
	r->some_doubt = true;
}

int doubt_read(struct replay *r, struct group_feeds *f, const struct pm_chunk_group *cg, uint32_t row, uint32_t end,
	       const bool *closes)
{
	uint32_t times = pm_group_times(pm_model_group(r->model, cg->group));
	bool some = false;

	if (!f->n || (!f->spans && !some_long(r, cg, times, row, end)))
		return 0;
	if (make_room(r, f, times))
		return -ENOMEM;
	for (uint32_t t = 0; t < times; t++) {
		const uint64_t *begin = cg->v + t * cg->stride, *done = begin + times * cg->stride;
		struct spans *s = &f->spans[t];
		size_t n = 0;

		for (uint32_t k = row; k < end; k++) {
			s->last = done[k] - begin[k];
			if (r->slice.begins && k == r->slice.row)
				s->first = s->last;
			if (!closes[k])
				continue;
			f->doubt[t * r->rows + n] =
				is_long(s->first > s->last ? s->first : s->last, r->done[n].duration_ns);
			some |= f->doubt[t * r->rows + n++];
			s->first = s->last;
		}
	}
	if (some)
		point_tracks(r, f);
	return 0;
}

void doubt_close(struct replay *r)
{
	for (uint32_t i = 0; r->doubt && i < r->n_groups; i++) {
		struct group_feeds *f = &r->group[i];
		const struct pm_group *g = f->doubt ? pm_model_group(r->model, f->group) : NULL;
		bool some = false;

		for (uint32_t t = 0; g && t < pm_group_times(g); t++) {
			struct spans *s = &f->spans[t];

			f->doubt[t * r->rows] = is_long(s->first > s->last ? s->first : s->last, r->now.duration_ns);
			some |= f->doubt[t * r->rows];
			s->first = s->last;
		}
		if (some)
			point_tracks(r, f);
	}
}

void doubt_forget(struct replay *r)
{
	for (size_t i = 0; r->some_doubt && i < r->n_tracks; i++)
		r->doubt[i] = NULL;
	r->some_doubt = false;
}

bool replay_doubts(const struct replay *r)
{
	return r->some_doubt;
}

const uint8_t *replay_doubt(const struct replay *r, size_t track)
{
	return r->some_doubt && !replay_past(r, track) ? r->doubt[track] : NULL;
}
