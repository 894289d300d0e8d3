/* A counter that a formula uses together with others: a reading counts only where the others are known, too, so it
 * waits until all of them have one. */
#include <errno.h>
#include <stdlib.h>

#include "report/replay/track_private.h"

struct tally tally_take(struct track *t)
{
	struct tally y = {
		.sum = t->sum, .elapsed = t->elapsed, .absent = t->absent, .any = t->any, .several = t->several
	};

	if (is_level(t)) {
		y.level = t->prev;
		t->prev = 0;
	}
	if (t->times)
		y.times = *t->times;
	if (t->more)
		y.more = *t->more;
	track_begin_interval(t);
	return y;
}

static void put_more(struct track *t, const struct track_more *before)
{
	struct track_more *m = t->more;

	if (!before->some)
		return;
	m->first = before->first;
	m->max = m->some && m->max > before->max ? m->max : before->max;
	m->last = m->some ? m->last : before->last;
	m->span = m->some ? m->span : before->span;
	m->weighted += before->weighted;
	m->weight += before->weight;
	m->begun = before->begun;
	m->some = true;
}

void tally_put(struct track *t, const struct tally *before)
{
	double level = (t->any ? double_from_bits(t->prev) : 0) + double_from_bits(before->level);

	if (is_level(t)) {
		t->sum = t->any ? t->sum : before->sum;
		t->several |= before->several || (t->any && before->any);
		t->prev = before->any ? double_to_bits(level) : t->prev;
	} else if (before->any && t->semantics == PM_PEAK) {
		t->sum = t->any && number(t, t->sum) > number(t, before->sum) ? t->sum : before->sum;
	} else if (before->any) {
		add(t, before->sum);
	}
	t->any |= before->any;
	t->elapsed += before->elapsed;
	t->absent = t->absent ? t->absent : before->absent;
	if (t->times) {
		t->times->enabled += before->times.enabled;
		t->times->running += before->times.running;
		t->times->lost += before->times.lost;
		t->times->made += before->times.made;
		t->times->shared |= before->times.shared;
	}
	if (t->more)
		put_more(t, &before->more);
}

int track_join(struct track *t)
{
	t->loss->joint = calloc(1, sizeof(*t->loss->joint));
	if (!t->loss->joint)
		return -ENOMEM;
	t->loss->joint->own = *t->loss;
	t->loss->joint->own.joint = NULL;
	return 0;
}

/* All have it now. */
static void take(struct track *t)
{
	struct track_loss *l = t->loss;

	track_carry(l);
	tally_put(t, &l->joint->taken);
	l->joint->taken = tally_take(t);
}

static void lose(struct track *t, uint16_t why)
{
	track_lose(t, why, t->loss->pending);
	t->loss->pending = t->loss->earlier = 0;
	tally_take(t);
}

/* Steps with its own reading; returns whether that is, or was, absent. */
static bool step_alone(struct track *t, const struct column *c, uint32_t row, uint64_t ns)
{
	struct track_loss *of_all = t->loss, *own = &of_all->joint->own;

	own->absent = 0;
	t->loss = own;
	if (c)
		track_step(t, c, row);
	else
		track_missed(t, t->unseen, ns);
	t->loss = of_all;
	return own->absent != 0;
}

void track_joint_step(struct track *t, const struct column *c, uint32_t row, const struct joint_row *j, uint64_t ns)
{
	struct track_loss *l = t->loss;
	uint64_t hidden = l->hidden;
	uint16_t away;
	bool absent;

	if (!l->joint->slow)
		l->joint->taken = tally_take(t);
	l->joint->slow = true;
	if (j->gone)
		lose(t, j->gone);
	absent = step_alone(t, c, row, ns);
	away = j->what == JOINT_ABSENT ? j->why : t->absent;
	t->away |= j->what == JOINT_ABSENT;
	l->hidden = 0;
	if (t->away)
		l->absent += hidden;
	else
		track_lose(t, VALUE_GAP, hidden);
	if (absent || j->what == JOINT_ABSENT)
		l->absent += ns;
	else if (j->what == JOINT_LOSE)
		track_lose(t, j->why, ns);
	switch (j->what) {
	case JOINT_TAKE:
		take(t);
		break;
	case JOINT_WAIT:
		l->owed = l->pending ? l->owed : j->why;
		l->pending += absent ? 0 : ns;
		break;
	case JOINT_LOSE:
		lose(t, j->why);
		break;
	case JOINT_ABSENT:
		tally_take(t);
		break;
	}
	if (absent || j->what == JOINT_ABSENT)
		l->joint->taken.absent = away;
}

bool track_joint_waits(const struct track *t)
{
	return t->loss && t->loss->joint && t->loss->joint->slow;
}

void track_joint_resume(struct track *t)
{
	struct track_joint *j = t->loss->joint;

	tally_put(t, &j->taken);
	j->taken = (struct tally){ 0 };
	j->slow = false;
}

void track_joint_restart(struct track *t)
{
	if (!track_joint_waits(t))
		return;
	t->loss->joint->own.pending = t->loss->joint->own.undue = 0;
	tally_take(t);
}
