/* What the writer thread notices: missing ticks, dead units, a clock that was set. */
#include "record/sample/recording_private.h"

#include <string.h>

#include "record/host/lock.h"

/* REALTIME against BOOTTIME: readings are a few us apart; a step is someone's doing. */
#define STEP_MIN_NS 2000000

static void set(struct pm_event *e, uint32_t key, struct pm_value v)
{
	/* Without memory an event says less; recording continues. */
	(void)pm_map_set(&e->attrs, key, v);
}

static void tell_lost(struct recording *r, uint64_t count, uint64_t since_ns, uint16_t reason)
{
	struct pm_event e = { .type = PM_EVENT_LOST, .time_ns = since_ns };

	set(&e, PM_EVENT_KEY_COUNT, pm_u64(count));
	set(&e, PM_EVENT_KEY_SINCE, pm_u64(since_ns));
	set(&e, PM_EVENT_KEY_REASON, pm_u64(reason));
	recording_write_event(r, &e);
	atomic_fetch_add(&r->lost, count);
}

void recording_find_lost(struct recording *r, const struct ring *ring, const struct ring_epoch *e)
{
	uint64_t interval = ring->readout->interval_ns;

	if (e->resumed && e->serial != r->serial)
		r->next_number = e->first_number;
	r->serial = e->serial;
	for (uint32_t i = 0; i < r->rows->n; i++) {
		uint64_t number = r->rows->number[i];

		if (number > r->next_number) {
			uint64_t lost = number - r->next_number, dropped = ring_dropped(ring) - r->dropped;

			tell_lost(r, lost, e->start_ns + r->next_number * interval,
				  dropped ? PM_REASON_DROPPED : PM_REASON_MISSED);
			/* What has been dropped by now may include rows of chunks that are still to come. */
			r->dropped += dropped < lost ? dropped : lost;
			if (i == 0)
				pm_writer_break(r->writer);
		}
		if (number >= r->next_number)
			r->next_number = number + 1;
	}
}

bool recording_note(struct recording *r, struct buf *line)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&r->model_lock);
	bool is_new = !line->err && !strstr(buf_str(&r->dead), buf_str(line));

	if (is_new)
		buf_addstr(&r->dead, buf_str(line));
	return is_new;
}

/* Once per source and reason, however many units it had. */
static void note_dead(struct recording *r, const char *source, uint16_t reason)
{
	SCOPED(buf_release) struct buf line = BUF_INIT;

	buf_printf(&line, "%s stopped delivering: %s\n", source, pm_reason_text(reason));
	recording_note(r, &line);
}

void recording_find_dead(struct recording *r, const struct readout *l)
{
	for (uint32_t i = 0; i < l->n_slots; i++) {
		struct slot *s = &l->slot[i];
		int err = s->told ? 0 : atomic_load_explicit(&s->dead, memory_order_relaxed);
		struct pm_event e = { .type = PM_EVENT_FAILED, .time_ns = clocks_monotonic() };

		if (!err)
			continue;
		s->told = true;
		note_dead(r, s->source, pm_reason_errno(err));
		set(&e, PM_EVENT_KEY_SOURCE, pm_text(s->source));
		set(&e, PM_EVENT_KEY_REASON, pm_u64(pm_reason_errno(err)));
		if (s->cpu != PM_NONE)
			set(&e, PM_EVENT_KEY_CPU, pm_u64(s->cpu));
		recording_write_event(r, &e);
	}
}

void recording_find_step(struct recording *r, const struct pm_clocks *c)
{
	int64_t offset = (int64_t)(c->realtime - c->boottime), step = offset - r->wall_offset;
	struct pm_event e = { .type = PM_EVENT_CLOCK_STEP, .time_ns = c->monotonic };

	if (r->wall_known && (step > STEP_MIN_NS || step < -STEP_MIN_NS)) {
		set(&e, PM_EVENT_KEY_STEP, step < 0 ? pm_s64(step) : pm_u64((uint64_t)step));
		recording_write_event(r, &e);
	}
	if (!r->wall_known || step > STEP_MIN_NS || step < -STEP_MIN_NS)
		r->wall_offset = offset;
	r->wall_known = true;
}
