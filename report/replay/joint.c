/* Counters that a formula uses together. While nothing is missing, the value of each is that of its track. From the
 * first missing reading on, joint tracks follow all of them, and use only what all have. */
#include "report/input/memory.h"
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

uint32_t replay_join(struct replay *r, uint32_t *counter, uint32_t n, enum pm_kind area, const struct places *places)
{
	struct joints *j = &r->joints;
	uint32_t kept = 0;
	bool mixed = false;

	qsort(counter, n, sizeof(*counter), by_number);
	for (uint32_t i = 0; i < n; i++)
		if (!kept || counter[i] != counter[kept - 1])
			counter[kept++] = counter[i];
	if (kept < 2)
		return 0;
	for (uint32_t i = 0; i < j->n_formulas; i++)
		if (j->formula[i].n == kept && j->formula[i].area == area &&
		    !memcmp(j->formula[i].counter, counter, kept * sizeof(*counter)))
			return i + 1;
	if (counter[kept - 1] >= j->n_taken) {
		j->taken = memory_resize(j->taken, counter[kept - 1] + 1, 1);
		memset(j->taken + j->n_taken, 0, counter[kept - 1] + 1 - j->n_taken);
		j->n_taken = counter[kept - 1] + 1;
	}
	for (uint32_t i = 0; i < kept; i++)
		mixed |= pm_model_counter(r->model, counter[i])->semantics != PM_CUMULATIVE;
	for (uint32_t i = 0; i < kept; i++)
		j->taken[counter[i]] |= mixed ? JOINT_MIXED : JOINT_TAKEN;
	memory_room(&j->formula, j->n_formulas, sizeof(*j->formula));
	j->formula[j->n_formulas++] =
		(struct formula){ memory_copy(counter, kept, sizeof(*counter)), kept, area, places };
	return j->n_formulas;
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

static void reserve_links(struct joints *j, size_t n)
{
	if (n <= j->n_links)
		return;
	j->link = memory_resize(j->link, n, sizeof(*j->link));
	memset(j->link + j->n_links, 0, (n - j->n_links) * sizeof(*j->link));
	j->n_links = n;
}

/* If one is absent, the others nearly always follow at once; but a level is known as soon as it is back. */
static bool is_missing(const struct replay *r, const struct track *t, const uint16_t *status, uint32_t row,
		       uint32_t end)
{
	bool mixed = r->joints.taken[t->counter] & JOINT_MIXED;

	while (row < end && (!status[row] || (status_absent(status[row]) && !t->counts_on && !mixed)))
		row++;
	return row < end;
}

/* Whether a formula uses it with others, and nothing of it is known to be missing yet. */
static bool is_whole(const struct replay *r, size_t track)
{
	const struct joint_link *l = &r->joints.link[track];
	const struct track *t = &r->track[track];

	return !l->joint && !l->missed && t->counter < r->joints.n_taken && r->joints.taken[t->counter];
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
	struct track *t = &r->track[x->track];

	t->perf = r->perf_scale && of.enabled;
	return (of.status && is_missing(r, t, of.status, row, end)) || track_breaks(t, &of, row, end);
}

/* Marks tracks of which something is missing for the first time; returns how many. */
static size_t note_missing(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, column_of column)
{
	size_t n = 0;

	for (uint32_t i = 0; i < c->n_groups; i++) {
		const struct pm_chunk_group *cg = &c->group[i];
		struct group_feeds *f = replay_read(r, cg);

		for (uint32_t k = 0; f && k < f->n; k++) {
			struct track *t = &r->track[f->feed[k].track];

			if (!replay_takes(r, f, t))
				continue;
			r->unseen -= t->seen != r->chunk;
			t->seen = r->chunk;
			if (is_whole(r, f->feed[k].track) && lacks(r, c, i, &f->feed[k], row, end, column))
				n += note(r, f->feed[k].track);
		}
	}
	for (size_t i = 0; i < r->n_live && r->unseen; i++) {
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
	return from ? memory_copy(from, 1, size) : NULL;
}

/* From here on it differs from its track. */
static void follow(struct replay *r, uint32_t track, uint32_t joint)
{
	struct joints *j = &r->joints;
	struct track *t, *own;
	uint32_t number = replay_add_track(r);

	reserve_links(j, r->cap_tracks);
	t = &r->track[track];
	own = &r->track[number];
	*own = *t;
	own->times = copy_of(t->times, sizeof(*t->times));
	own->more = copy_of(t->more, sizeof(*t->more));
	own->loss = NULL;
	own->average = NULL;
	r->unseen += t->seen != r->chunk;
	j->link[number] = (struct joint_link){ .joint = joint, .next = j->link[track].next };
	j->link[track].next = number;
	track_loss_of(own, r->rows);
	if (t->loss) {
		struct support *at = own->loss->at;

		*own->loss = *t->loss;
		own->loss->at = at;
		own->loss->some = false;
	}
	r->losses = true;
	track_join(own);
}

struct member {
	struct place at; /* those at one place are used together */
	uint32_t track;
};

static int by_place(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = place_compare(&x->at, &y->at);

	return order ? order : (x->track > y->track) - (x->track < y->track);
}

/* Joins those of a place that are not joined yet, if one of them has just begun to miss something. */
static void join(struct replay *r, uint32_t formula, const struct member *m, size_t n)
{
	struct joints *j = &r->joints;
	uint32_t joint = 0, own;
	bool fresh = false;

	for (size_t i = 0; i < n; i++) {
		own = replay_joined(r, m[i].track, formula);
		joint = own != m[i].track ? j->link[own].joint : joint;
		fresh |= j->link[m[i].track].fresh;
	}
	if (n < 2 || !fresh)
		return;
	if (!joint) {
		j->joint = memory_resize(j->joint, j->n + 1, sizeof(*j->joint));
		j->joint[j->n++] =
			(struct joint){ .formula = formula, .of_area = j->formula[formula - 1].area != PM_KINDS };
		joint = j->n;
	}
	for (size_t i = 0; i < n; i++)
		if (replay_joined(r, m[i].track, formula) == m[i].track)
			follow(r, m[i].track, joint);
}

/* Where the track meets others; false: unknown. */
static bool find_place(const struct replay *r, const struct formula *f, const struct track *t, struct place *at)
{
	*at = (struct place){ .kind = f->area, .instance = t->instance };
	return f->area == PM_KINDS || places_find(f->places, pm_model_instance(r->model, t->instance), f->area, at);
}

/* All that the formula may use together with what has just begun to miss something. */
static size_t members_of(const struct replay *r, const struct formula *f, const uint32_t *instance, size_t fresh,
			 struct member *m)
{
	bool somewhere = true;
	size_t n = 0;

	for (size_t i = 0; i < r->n_live; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (joints_own(&r->joints, r->live[i]) || !is_among(f->counter, f->n, t->counter) ||
		    (f->area == PM_KINDS && !is_among(instance, fresh, t->instance)))
			continue;
		somewhere &= find_place(r, f, t, &m[n].at);
		m[n++].track = r->live[i];
	}
	/* What has no place meets the others in the system. */
	for (size_t i = 0; i < n && !somewhere; i++)
		m[i].at = PLACE_NOWHERE(PM_SYSTEM);
	qsort(m, n, sizeof(*m), by_place);
	return n;
}

static void join_formula(struct replay *r, uint32_t formula, const uint32_t *instance, size_t fresh, struct member *m)
{
	size_t n = members_of(r, &r->joints.formula[formula - 1], instance, fresh, m), end;

	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && !place_compare(&m[end].at, &m[i].at);)
			end++;
		join(r, formula, m + i, end - i);
	}
}

/* Whether any track is new. */
static bool join_all(struct replay *r)
{
	size_t before = r->n_live, fresh = 0;
	SCOPED(scoped_free) uint32_t *instance = memory_new(before, sizeof(*instance));
	SCOPED(scoped_free) struct member *m = memory_new(before, sizeof(*m));
	SCOPED(scoped_free) bool *of_fresh = memory_new(r->joints.n_taken, sizeof(*of_fresh));

	for (size_t i = 0; i < before; i++) {
		const struct track *t = &r->track[r->live[i]];

		if (!r->joints.link[r->live[i]].fresh || t->counter >= r->joints.n_taken)
			continue;
		instance[fresh++] = t->instance;
		of_fresh[t->counter] = true;
	}
	qsort(instance, fresh, sizeof(*instance), by_number);
	for (uint32_t f = 1; f <= r->joints.n_formulas; f++) {
		const struct formula *of = &r->joints.formula[f - 1];
		bool any = false;

		for (uint32_t k = 0; k < of->n; k++)
			any |= of_fresh[of->counter[k]];
		if (any)
			join_formula(r, f, instance, fresh, m);
	}
	for (size_t i = 0; i < before; i++)
		r->joints.link[r->live[i]].fresh = false;
	return r->n_live > before;
}

bool joints_split(struct replay *r, const struct pm_chunk *c, uint32_t row, uint32_t end, column_of column)
{
	bool some = false;

	if (!r->joints.n_formulas)
		return false;
	reserve_links(&r->joints, r->n_tracks);
	/* New tracks join those that are joined already. */
	for (size_t i = r->joints.n_seen; i < r->n_tracks && r->joints.n; i++) {
		r->joints.link[i].fresh = !r->joints.link[i].joint;
		some = true;
	}
	r->joints.n_seen = r->n_tracks;
	some |= note_missing(r, c, row, end, column) > 0;
	return some && join_all(r);
}

/* Another group may have changed what its track keeps. */
static void keep_up(struct track *own, const struct track *t)
{
	own->aspects = t->aspects;
	own->times = own->times ? own->times : copy_of(t->times, sizeof(*t->times));
	own->more = own->more ? own->more : copy_of(t->more, sizeof(*t->more));
}

void joints_attach(struct replay *r)
{
	struct joints *j = &r->joints;

	if (j->n)
		reserve_links(j, r->n_tracks);
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
		all = memory_new(n, sizeof(*all));
		n = 0;
		/* After its own, so that columns ascend. */
		for (uint32_t k = 0; k < kept; k++) {
			all[n++] = f->feed[k];
			for (uint32_t t = j->link[f->feed[k].track].next; t; t = j->link[t].next) {
				keep_up(&r->track[t], &r->track[f->feed[k].track]);
				all[n++] = (struct feed){ f->feed[k].column, f->feed[k].time, t };
			}
		}
		free(f->feed);
		f->feed = all;
		f->n = n;
	}
}

void joints_renumber(struct joints *j, const uint32_t *place, size_t n)
{
	SCOPED(scoped_free) uint32_t *joint = memory_new(j->n, sizeof(*joint));
	size_t kept = 0;
	uint32_t n_joints = 0;

	n = n < j->n_links ? n : j->n_links;
	for (size_t i = 0; i < n; i++) {
		struct joint_link *l = &j->link[i];

		if (place[i] == PM_NONE)
			continue;
		l->next = l->next ? place[l->next] : 0;
		if (l->joint)
			joint[l->joint - 1] = 1;
		j->link[kept++] = *l;
	}
	j->n_links = j->n_seen = kept;
	for (uint32_t i = 0; i < j->n; i++) {
		if (!joint[i])
			continue;
		j->joint[n_joints] = j->joint[i];
		joint[i] = ++n_joints;
	}
	for (size_t i = 0; i < kept; i++)
		if (j->link[i].joint)
			j->link[i].joint = joint[j->link[i].joint - 1];
	j->n = n_joints;
}

/* ---- what they miss ---- */

void joints_restart(struct joints *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		j->joint[i].waits = false;
		j->joint[i].lost = 0;
	}
}

void joints_begin(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++) {
		memset(j->joint[i].note + row, 0, (end - row) * sizeof(*j->joint[i].note));
		j->joint[i].stepped = j->joint[i].waits;
	}
}

bool joints_ask(const struct joints *j, size_t track)
{
	return track < j->n_links && j->link[track].next && !j->link[track].joint;
}

static uint16_t either(uint16_t a, uint16_t b)
{
	return a ? a : b;
}

void joints_note(struct joints *j, size_t track, const struct row_note *found, uint32_t row, uint32_t end)
{
	for (uint32_t t = j->link[track].next; t; t = j->link[t].next) {
		struct joint *x = &j->joint[j->link[t].joint - 1];

		x->stepped = true;
		for (uint32_t k = row; k < end; k++) {
			struct row_note *n = &x->note[k];

			/* Of several instances at a place, absent ones are left out. */
			n->absent = either(n->absent, x->of_area ? 0 : found[k].absent);
			n->lost = either(n->lost, found[k].lost);
			n->gone = either(n->gone, found[k].gone);
			n->waits = either(n->waits, found[k].waits);
			n->goes_on |= found[k].goes_on;
		}
	}
}

static struct joint_row decide(struct joint *x, const struct row_note *n)
{
	struct joint_row r = { .what = JOINT_TAKE };

	if (n->absent) {
		r = (struct joint_row){ JOINT_ABSENT, n->absent, x->waits ? x->owed : 0 };
		/* What reaches into it is lost with its end. */
		x->lost = n->waits;
		x->waits = false;
		return r;
	}
	if (n->gone && n->goes_on) {
		x->lost = either(x->lost, n->gone);
	} else if (n->gone) {
		r.gone = n->gone;
		x->lost = 0;
	}
	x->lost = either(x->lost, n->lost);
	if (n->waits) {
		r.what = JOINT_WAIT;
		r.why = n->waits;
		x->owed = n->waits;
	} else if (x->lost) {
		r.what = JOINT_LOSE;
		r.why = either(n->lost, x->lost);
		x->lost = 0;
	}
	x->waits = n->waits != 0;
	return r;
}

void joints_end(struct joints *j, uint32_t row, uint32_t end)
{
	for (uint32_t i = 0; i < j->n; i++)
		for (uint32_t k = row; k < end; k++)
			j->joint[i].row[k] = decide(&j->joint[i], &j->joint[i].note[k]);
}

const struct joint_row *joint_rows(const struct replay *r, uint32_t track)
{
	const struct joint *x = &r->joints.joint[r->joints.link[track].joint - 1];

	return x->stepped || track_joint_waits(&r->track[track]) ? x->row : NULL;
}
