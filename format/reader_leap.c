/* Jumps to a chunk: reads definitions and events on the way, but no chunks. If the definitions are repeated on the
 * way, it skips what came and went before that copy; what the copy lacks has retired. */
#include <errno.h>
#include <stdlib.h>

#include "format/model_private.h"
#include "format/reader_private.h"

static void leave_copy(struct leap *l)
{
	if (l->named)
		pm_model_release(l->named);
	free(l->named);
	l->named = NULL;
	l->copy_end = 0;
}

void reader_leap_end(struct pm_reader *r)
{
	bool gaps = r->leap.gaps;

	leave_copy(&r->leap);
	definitions_seen_release(&r->leap.seen);
	r->leap = (struct leap){ .gaps = gaps };
}

/* Whether an entry adds nothing new, is repeated by the copy, or no longer matters. */
static bool is_passed_over(const struct pm_reader *r, size_t i)
{
	const struct index_entry *e = &r->catalog.entries.entry[i];
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
	const struct index_builder *b = &r->catalog.entries;
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
	while (l->next < l->to && (b->entry[l->next].offset < r->window.offset || is_passed_over(r, l->next))) {
		l->gaps |= l->copy_end != 0;
		l->next++;
	}
	if (l->next == l->copy && l->copy_end && !l->named) {
		l->named = malloc(sizeof(*l->named));
		if (!l->named)
			return -ENOMEM;
		pm_model_init(l->named);
	}
	e = &b->entry[l->next];
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

int reader_leap_over(struct pm_reader *r, unsigned type, const void *body, size_t len, unsigned *parts)
{
	const struct index_entry *end;
	unsigned touched;
	int err;

	if (!r->leap.named)
		return 0;
	end = &r->catalog.entries.entry[r->leap.copy_end];
	r->leap.seen.stored = r->seen.stored;
	err = decode_definitions(r->leap.named, type, body, len, &r->leap.seen, &touched);
	if (err || r->frame_end != end->offset)
		return err;
	*parts = (*parts | PM_PART_SCHEMA | PM_PART_INSTANCES) & ~(unsigned)PM_PART_REPEATED;
	err = retire_unnamed(r, end->from_ns);
	leave_copy(&r->leap);
	return err;
}
