/* The list of damage: adjacent damage is one entry, and the end of lost time is set once good numbers follow. */
#include "common/array.h"
#include "format/reader_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DAMAGE_MAX 65536 /* entries; further damage is added to the last one */

/* The last damage has not ended yet. */
static struct pm_damage *go_on(struct pm_reader *r, struct pm_damage *d)
{
	if (r->damage_timed == r->n_damage)
		r->damage_timed--;
	d->to_ns = d->to_wall = 0;
	d->harmless = false;
	return d;
}

struct pm_damage *reader_damage_add(struct pm_reader *r, enum pm_damage_kind kind, uint64_t offset, uint64_t length,
				    const char *format, ...)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;
	/* A frame with a good head; other lost bytes show as a gap in the sequence numbers after them. */
	bool whole_frame =
		length && offset + length == r->frame_end && kind != PM_DAMAGE_CUT && kind != PM_DAMAGE_PARTIAL;
	char text[sizeof(d->text)];
	va_list ap;

	/* As where a file is left, nobody looks at it. */
	if (r->leaving)
		return NULL;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	r->torn = r->chain;
	r->hole |= kind != PM_DAMAGE_NO_END;
	if (d && d->kind == kind && kind == PM_DAMAGE_PARTIAL && !strcmp(d->text, text))
		return go_on(r, d);
	if (d && ((d->kind == kind && d->offset + d->length == offset && length) || r->n_damage == DAMAGE_MAX)) {
		d->length = offset + length - d->offset;
		d->frames += whole_frame;
		return go_on(r, d);
	}
	if (array_room(&r->damage, r->n_damage, sizeof(*r->damage))) {
		r->err = -ENOMEM;
		return NULL;
	}
	d = &r->damage[r->n_damage++];
	*d = (struct pm_damage){
		.kind = kind,
		.offset = offset,
		.length = length,
		.from_ns = r->last_ns,
		.from_wall = r->last_ns ? pm_reader_realtime(r, r->last_ns) : 0,
		.frames = whole_frame,
	};
	strcpy(d->text, text);
	return d;
}

void reader_damage_goes_on(struct pm_reader *r, bool partial, const char *sources)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	if (d && (d->kind == PM_DAMAGE_PARTIAL || !partial))
		go_on(r, d);
	else
		reader_damage_add(r, PM_DAMAGE_PARTIAL, r->window.offset, r->frame_end - r->window.offset,
				  "chunk: depends on a block that is lost (%s)", sources);
}

void reader_damage_chunk(struct pm_reader *r, uint64_t end, uint32_t snapshots)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	if (r->damage_timed == r->n_damage)
		d = reader_damage_add(r, PM_DAMAGE_DEPENDENT, r->window.offset, end - r->window.offset,
				      "intact, but the chunk before it is missing");
	if (!d)
		return;
	d->chunks++;
	d->chunks_end = end;
	d->snapshots += snapshots;
}

void reader_damage_until(struct pm_reader *r, uint64_t time_ns)
{
	for (; r->damage_timed < r->n_damage; r->damage_timed++) {
		r->damage[r->damage_timed].to_ns = time_ns;
		r->damage[r->damage_timed].to_wall = pm_reader_realtime(r, time_ns);
	}
}

void reader_damage_frames(struct pm_reader *r, uint64_t frames, uint64_t offset)
{
	struct pm_damage *d = r->n_damage ? &r->damage[r->n_damage - 1] : NULL;

	/* Unreadable bytes explain frames that are missing right after them. */
	if (d && d->kind == PM_DAMAGE_GARBAGE && d->offset + d->length == offset) {
		d->frames += frames;
		return;
	}
	d = reader_damage_add(r, PM_DAMAGE_LOST, offset, 0, "%llu frame%s missing here", (unsigned long long)frames,
			      frames == 1 ? " is" : "s are");
	if (d)
		d->frames = frames;
}

const struct pm_damage *pm_reader_damage(const struct pm_reader *r, size_t *n)
{
	*n = r->n_damage;
	return r->damage;
}
