/* Jumps to a chunk: reads definitions and events on the way, but no chunks. If the definitions are repeated on the
 * way, it skips what came and went before that copy; what the copy lacks has retired. */
#include <errno.h>
#include <stdlib.h>

#include "format/model_private.h"
#include "format/reader_private.h"

static void leave_names(struct leap *l)
{
	if (l->named)
		pm_model_release(l->named);
	free(l->named);
	l->named = NULL;
	definitions_seen_release(&l->seen);
	l->seen = (struct definitions_seen){ 0 };
}

static void leave_copy(struct leap *l)
{
	leave_names(l);
	l->copy_end = 0;
}

static int enter_copy(struct leap *l)
{
	leave_names(l);
	l->named = malloc(sizeof(*l->named));
	if (!l->named)
		return -ENOMEM;
	pm_model_init(l->named);
	return 0;
}

void reader_leap_end(struct pm_reader *r)
{
	bool gaps = r->leap.gaps;

	leave_copy(&r->leap);
	r->leap = (struct leap){ .gaps = gaps };
}

/* Whether an entry adds nothing new, is repeated by the copy, or no longer matters. */
static bool is_passed_over(struct pm_reader *r, size_t i)
{
	const struct index_entry *e = index_list_at(&r->catalog.entries, i);
	const struct leap *l = &r->leap;

	if (e->type == PM_FRAME_CHUNK)
		return true;
	if (l->copy_end && i >= l->copy)
		return false;
	/* Copies lack probe results, and contain only those one-time values that scale others. */
	return (l->copy_end && e->type <= PM_FRAME_PMUS) || (e->repeated && l->damages == r->n_damage);
}

int reader_leap(struct pm_reader *r)
{
	struct index_list *b = &r->catalog.entries;
	struct leap *l = &r->leap;
	const struct index_entry *e;
	int err;

	if (!l->on)
		return 0;
	/* Whether something that the copy lost has gone is unknown. */
	if (l->named && l->damages != r->n_damage) {
		leave_copy(l);
		l->next = 0;
		l->damages = r->n_damage;
		r->sequence_known = false;
		err = window_seek(&r->window, r->start);
		if (err)
			return err;
	}
	while (l->next < l->to &&
	       (index_list_at(b, l->next)->offset < r->window.offset || is_passed_over(r, l->next))) {
		l->gaps |= l->copy_end != 0;
		if (index_list_at(b, l->next++)->type == PM_FRAME_CHUNK && r->forgets)
			pm_model_forget(&r->model, NULL, NULL, false);
	}
	if (l->next == l->copy && l->copy_end && !l->named && enter_copy(l))
		return -ENOMEM;
	e = index_list_at(b, l->next);
	if (e->offset != r->window.offset)
		r->sequence_known = false;
	/* The numbers that follow are read sequentially. */
	if (l->next == l->to) {
		window_pace(&r->window, LEAP_STEP, READ_STEP);
		reader_leap_end(r);
	} else {
		/* Between small frames that are wanted, read nothing. */
		window_pace(&r->window, e->length < HOP_STEP ? (size_t)e->length : HOP_STEP, HOP_STEP);
	}
	return window_seek(&r->window, e->offset);
}

static int retire_unnamed(struct pm_reader *r, uint64_t time_ns)
{
	struct pm_model *m = &r->model;
	int err = 0;

	for (uint32_t i = 0; i < m->n_groups && !err; i++)
		if (!m->group[i].retired && !pm_model_group(r->leap.named, m->group[i].id))
			err = pm_model_retire_group(m, m->group[i].id);
	for (uint32_t i = 0; i < m->n_instances && !err; i++)
		if (!m->instance[i].retired_ns && !pm_model_instance(r->leap.named, m->instance[i].id))
			err = pm_model_retire_instance(m, m->instance[i].id, time_ns);
	return err;
}

int reader_leap_over(struct pm_reader *r, const struct frame_head *h, const void *body, size_t len, unsigned *parts)
{
	struct leap *l = &r->leap;
	unsigned touched;
	int err = 0;

	/* Off the way, too: retirements may be lost. */
	if (!l->on && h->type == PM_FRAME_HEADER && h->sequence && r->n_damage) {
		err = enter_copy(l);
		l->damages = r->n_damage;
	}
	if (err || !l->named)
		return err;
	l->seen.stored = r->seen.stored;
	err = decode_definitions(l->named, h->type, body, len, &l->seen, &touched);
	if (err || !l->on || r->frame_end != index_list_at(&r->catalog.entries, l->copy_end)->offset)
		return err;
	*parts = (*parts | PM_PART_SCHEMA | PM_PART_INSTANCES) & ~(unsigned)PM_PART_REPEATED;
	err = retire_unnamed(r, index_list_at(&r->catalog.entries, l->copy_end)->from_ns);
	leave_copy(l);
	return err;
}

int reader_copy_over(struct pm_reader *r, const struct frame_head *h)
{
	bool whole = r->leap.damages == r->n_damage && r->sequence == h->sequence;
	int err = whole ? retire_unnamed(r, r->last_ns) : 0;

	leave_copy(&r->leap);
	return err;
}
