/*
 * Counters that a formula takes together. As long as nothing is missing each of them is what its track says. From the
 * first reading that is missing of one, all of them are followed again, by tracks that miss what any of them does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/machine/status.h"
#include "report/replay/replay_private.h"

void joints_release(struct joints *j)
{
	for (uint32_t i = 0; i < j->n_formulas; i++)
		free(j->formula[i].counter);
	free(j->formula);
	free(j->joint);
	free(j->link);
	free(j->taken);
	*j = (struct joints){ 0 };
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static bool is_among(const uint32_t *sorted, size_t n, uint32_t number)
{
	return bsearch(&number, sorted, n, sizeof(*sorted), by_number) != NULL;
}

int64_t replay_join(struct replay *r, uint32_t *counter, uint32_t n)
{
	struct joints *j = &r->joints;
	struct formula *more;
	uint32_t kept = 0;

	qsort(counter, n, sizeof(*counter), by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || counter[i] != counter[kept - 1])
			counter[kept++] = counter[i];
	if (kept < 2)
		return 0;
	for (uint32_t i = 0; i < j->n_formulas; i++)
		if (j->formula[i].n == kept && !memcmp(j->formula[i].counter, counter, kept * sizeof(*counter)))
			return i + 1;
	if (counter[kept - 1] >= j->n_taken) {
		bool *taken = realloc(j->taken, counter[kept - 1] + 1);

		if (!taken)
			return -ENOMEM;
		memset(taken + j->n_taken, 0, counter[kept - 1] + 1 - j->n_taken);
		j->taken = taken;
		j->n_taken = counter[kept - 1] + 1;
	}
	for (uint32_t i = 0; i < kept; i++)
		j->taken[counter[i]] = true;
	more = reallocarray(j->formula, j->n_formulas + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	j->formula = more;
	more += j->n_formulas;
	*more = (struct formula){ malloc(kept * sizeof(*counter)), kept };
	if (!more->counter)
		return -ENOMEM;
	memcpy(more->counter, counter, kept * sizeof(*counter));
	return ++j->n_formulas;
}

bool joints_own(const struct joints *j, size_t track)
{
	return track < j->n_links && j->link[track].joint;
}

uint32_t replay_joined(const struct replay *r, uint32_t track, uint32_t formula)
{
	const struct joints *j = &r->joints;
	uint32_t t = formula && track < j->n_links ? j->link[track].next : 0;

	while (t && j->joint[j->link[t].joint - 1].formula != formula)
		t = j->link[t].next;
	return t ? t : track;
}

/* ---- which are to be followed ---- */

static int reserve_links(struct joints *j, size_t n)
{
	struct joint_link *link;

	if (n <= j->n_links)
		return 0;
	link = reallocarray(j->link, n, sizeof(*link));
	if (!link)
		return -ENOMEM;
	memset(link + j->n_links, 0, (n - j->n_links) * sizeof(*link));
	j->link = link;
	j->n_links = n;
	return 0;
}

/* What is absent takes its neighbours with it, nearly always at once. */
static bool is_missing(const uint16_t *status, uint32_t row, uint32_t end)
{
	while (row < end && (!status[row] || status_absent(status[row])))
		row++;
	return row < end;
}

static const struct group_feeds *feeds_of(const struct replay *r, const struct pm_chunk_group *cg)
{
	return cg->absent ? NULL : replay_feeds(r, cg->group);
}

/* Whether a formula takes it with others, and it is not known yet that something of it is missing. */
static bool is_whole(const struct replay *r, size_t track)
{
	const struct joint_link *l = &r->joints.link[track];
	const struct track *t = &r->track[track];

	return !l->joint && !l->missed && t->semantics == PM_CUMULATIVE && t->counter < r->joints.n_taken &&
	       r->joints.taken[t->counter];
}

static size_t note(struct replay *r, size_t track)
{
	if (!is_whole(r, track))
		return 0;
	r->joints.link[track].missed = r->joints.link[track].fresh = true;
	return 1;
}

/* Whether rows of a column lack something that the track would have. */
static bool lacks(struct replay *r, const struct pm_chunk *c, uint32_t i, const struct feed *x, uint32_t row,
		  uint32_t end, column_of column)
{
	struct column of = column(r, c, i, x);

	return (of.status && is_missing(of.status, row, end)) || track_breaks(&r->track[x->track], &of, row, end);
}

/* Marks tracks of which something is missing for the first time; how many. */
static size_t note_missing(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, column_of column,
			   bool some_unseen)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		const struct group_feeds *f = feeds_of(r, cg);

		for (uint32_t k = 0; f && k < f->n; k++) {
			struct track *t = &r->track[f->feed[k].track];

			r->unseen -= t->seen != r->chunk;
			t->seen = r->chunk;
			if (is_whole(r, f->feed[k].track) && lacks(r, c, i, &f->feed[k], row, end, column))
				n += note(r, f->feed[k].track);
		}
	}
	for (size_t i = 0; some_unseen && i < r->n_live; i++) {
		const struct track *t = &r->track[r->live[i]];
		const struct pm_instance *in = pm_model_instance(r->model, t->instance);

		if (t->seen && t->seen != r->chunk && in && !in->retired_ns)
			n += note(r, r->live[i]);
	}
	return n;
}

/* ---- tracks of their own ---- */

static void *copy_of(const void *from, size_t size)
{
	void *copy = from ? malloc(size) : NULL;

	return copy ? memcpy(copy, from, size) : NULL;
}

/* From here on it is no longer what its track is. */
static int follow(struct replay *r, uint32_t track)
{
	struct joints *j = &r->joints;
	struct track *t, *own;
	uint32_t number;

	if ((number = replay_add_track(r)) == PM_NONE || reserve_links(j, r->cap_tracks))
		return -ENOMEM;
	t = &r->track[track];
	own = &r->track[number];
	*own = *t;
	own->times = copy_of(t->times, sizeof(*t->times));
	own->more = copy_of(t->more, sizeof(*t->more));
	own->loss = NULL;
	r->unseen += t->seen != r->chunk;
	j->link[number] = (struct joint_link){ .joint = j->n, .next = j->link[track].next };
	j->link[track].next = number;
	if (!own->times != !t->times || !own->more != !t->more || !track_loss_of(own, r->rows))
		return -ENOMEM;
	if (t->loss) {
		struct support *at = own->loss->at;

		*own->loss = *t->loss;
		own->loss->at = at;
		own->loss->some = false;
	}
	r->some_loss = true;
	return 0;
}

struct member {
	uint32_t instance, track;
};

static int by_instance(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->instance != y->instance)
		return x->instance > y->instance ? 1 : -1;
	return (x->track > y->track) - (x->track < y->track);
}

/* Joins those of an instance that the formula takes, if one of them has just begun to miss something. */
static int join(struct replay *r, uint32_t formula, const struct member *m, size_t n)
{
	const struct formula *f = &r->joints.formula[formula - 1];
	struct joints *j = &r->joints;
	struct joint *more;
	uint32_t parts = 0;
	bool fresh = false;
	int err = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_among(f->counter, f->n, r->track[m[i].track].counter))
			continue;
		if (replay_joined(r, m[i].track, formula) != m[i].track)
			return 0;
		fresh |= j->link[m[i].track].fresh;
		parts++;
	}
	if (parts < 2 || !fresh)
		return 0;
	if (!(more = reallocarray(j->joint, j->n + 1, sizeof(*more))))
		return -ENOMEM;
	j->joint = more;
	j->joint[j->n++] = (struct joint){ .formula = formula, .n = parts };
	for (size_t i = 0; i < n && !err; i++)
		if (is_among(f->counter, f->n, r->track[m[i].track].counter))
			err = follow(r, m[i].track);
	return err;
}

/* All plain counts of the instances of which one has just begun to miss something. */
static size_t members_of(const struct replay *r, uint32_t *instance, struct member *m)
{
	size_t fresh = 0, n = 0;

	for (size_t i = 0; i < r->n_live; i++)
		if (r->joints.link[r->live[i]].fresh)
			instance[fresh++] = r->track[r->live[i]].instance;
	qsort(instance, fresh, sizeof(*instance), by_number);
	for (size_t i = 0; i < r->n_live; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (!joints_own(&r->joints, r->live[i]) && t->semantics == PM_CUMULATIVE &&
		    is_among(instance, fresh, t->instance))
			m[n++] = (struct member){ t->instance, r->live[i] };
	}
	qsort(m, n, sizeof(*m), by_instance);
	return n;
}

static int join_all(struct replay *r)
{
	size_t before = r->n_live, n, end;
	uint32_t *instance = malloc((before + 1) * sizeof(*instance));
	struct member *m = malloc((before + 1) * sizeof(*m));
	int err = instance && m ? 0 : -ENOMEM;

	n = err ? 0 : members_of(r, instance, m);
	for (size_t i = 0; i < n && !err; i = end) {
		for (end = i; end < n && m[end].instance == m[i].instance;)
			end++;
		for (uint32_t f = 1; f <= r->joints.n_formulas && !err; f++)
			err = join(r, f, m + i, end - i);
	}
	for (size_t i = 0; i < before; i++)
		r->joints.link[r->live[i]].fresh = false;
	free(instance);
	free(m);
	return err ? err : r->n_live > before;
}

int joints_split(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, column_of column)
{
	size_t fed = 0;

	for (uint32_t i = 0; r->joints.n_formulas && i < c->n_groups; i++) {
		const struct group_feeds *f = feeds_of(r, &c->group[i]);

		fed += f ? f->n : 0;
	}
	if (!r->joints.n_formulas)
		return 0;
	if (reserve_links(&r->joints, r->n_tracks))
		return -ENOMEM;
	return note_missing(r, c, row, end, column, fed != r->n_live) ? join_all(r) : 0;
}

int joints_attach(struct replay *r)
{
	struct joints *j = &r->joints;

	if (j->n && reserve_links(j, r->n_tracks))
		return -ENOMEM;
	for (uint32_t i = 0; j->n && i < r->n_groups; i++) {
		struct group_feeds *f = &r->group[i];
		struct feed *all;
		uint32_t n = 0, kept = 0;

		for (uint32_t k = 0; k < f->n; k++) {
			if (joints_own(j, f->feed[k].track))
				continue;
			f->feed[kept++] = f->feed[k];
			n++;
			for (uint32_t t = j->link[f->feed[k].track].next; t; t = j->link[t].next)
				n++;
		}
		if (n == kept)
			continue;
		if (!(all = malloc(n * sizeof(*all))))
			return -ENOMEM;
		n = 0;
		/* Behind its own, so that columns ascend. */
		for (uint32_t k = 0; k < kept; k++) {
			all[n++] = f->feed[k];
			for (uint32_t t = j->link[f->feed[k].track].next; t; t = j->link[t].next)
				all[n++] = (struct feed){ f->feed[k].column, f->feed[k].time, t };
		}
		free(f->feed);
		f->feed = all;
		f->n = n;
	}
	return 0;
}

void joints_renumber(struct joints *j, const uint32_t *place, size_t n)
{
	uint32_t *joint = calloc((size_t)j->n + 1, sizeof(*joint));
	size_t kept = 0;
	uint32_t n_joints = 0;

	n = n < j->n_links ? n : j->n_links;
	for (size_t i = 0; i < n; i++) {
		struct joint_link *l = &j->link[i];

		if (place[i] == PM_NONE)
			continue;
		l->next = l->next ? place[l->next] : 0;
		if (l->joint && joint)
			joint[l->joint - 1] = 1;
		j->link[kept++] = *l;
	}
	j->n_links = kept;
	/* Without memory those of nobody stay. */
	for (uint32_t i = 0; joint && i < j->n; i++) {
		if (!joint[i])
			continue;
		j->joint[n_joints] = j->joint[i];
		joint[i] = ++n_joints;
	}
	for (size_t i = 0; joint && i < kept; i++)
		if (j->link[i].joint)
			j->link[i].joint = joint[j->link[i].joint - 1];
	j->n = joint ? n_joints : j->n;
	free(joint);
}

/* ---- what they miss ---- */

void joints_restart(struct joints *j)
{
	for (uint32_t i = 0; i < j->n; i++)
		j->joint[i].owed = 0;
}

void joints_begin(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++) {
		memset(j->joint[i].status + row, 0, (end - row) * sizeof(uint16_t));
		memset(j->joint[i].lost + row, 0, (end - row) * sizeof(uint16_t));
		j->joint[i].there = 0;
	}
}

bool joints_ask(const struct joints *j, size_t track)
{
	return track < j->n_links && j->link[track].next && !j->link[track].joint;
}

/* An event that waits for a counter was read all the same, but what lies before is lost. */
static uint16_t status_of(const struct column *c, uint32_t row)
{
	uint16_t own = c->status ? c->status[row] : 0;

	return own == PM_REASON_NOT_COUNTED && c->found[row] ? 0 : own;
}

void joints_note(struct joints *j, size_t track, const struct column *c, uint32_t row, uint32_t end)
{
	for (uint32_t t = j->link[track].next; t; t = j->link[t].next) {
		struct joint *x = &j->joint[j->link[t].joint - 1];

		x->there++;
		for (uint32_t k = row; k < end; k++) {
			uint16_t own = status_of(c, k);

			if (own && (!x->status[k] || (status_absent(own) && !status_absent(x->status[k]))))
				x->status[k] = own;
			if (c->found[k])
				x->lost[k] = c->found[k];
		}
	}
}

void joints_end(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++) {
		struct joint *x = &j->joint[i];

		for (uint32_t k = row; k < end; k++) {
			if (x->there < x->n && !x->status[k])
				x->status[k] = PM_REASON_DROPPED;
			/* What one lost while a reading of another was missing is lost up to the next that all have. */
			x->owed = status_absent(x->status[k]) ? 0 : x->owed ? x->owed : x->lost[k];
			x->lost[k] = x->status[k] ? 0 : x->owed;
			x->owed = x->status[k] ? x->owed : 0;
		}
	}
}

void joint_column(const struct replay *r, uint32_t track, struct column *c, uint32_t row, uint32_t end,
		  uint16_t *status)
{
	const struct joint *x = &r->joints.joint[r->joints.link[track].joint - 1];
	uint16_t lost = 0;

	for (; row < end; row++) {
		status[row] = x->status[row] ? x->status[row] : c->status ? c->status[row] : 0;
		lost |= x->lost[row];
	}
	c->status = status;
	c->lost = lost ? x->lost : NULL;
}
