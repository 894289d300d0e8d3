/* A trace for ui.perfetto.dev: a counter track for each metric and place, and slices for what happened. Times are of
 * CLOCK_BOOTTIME, as in kernel traces, so that both can be combined. The facts are from Perfetto's trace_packet.proto
 * and what it includes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/names.h"
#include "common/utf8.h"
#include "report/export/bytes.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_FLAGS = 13,
	PACKET_TIME_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60
};
enum { CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIME = 2, CLOCK_INCREMENTAL = 3 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PARENT = 5, TRACK_COUNTER = 8, COUNTER_UNIT = 6 };
enum { EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_TEXT = 23, EVENT_COUNT = 30, EVENT_DOUBLE = 44 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { BOOTTIME = 6, STEPS = 64, STATE_CLEARED = 1 };
enum { VARINT = 0, FIXED64 = 1, BYTES = 2 };

/* One metric at one place. */
struct counter_track {
	uint64_t uuid,
		missing; /* 0: not described yet; `missing`: the track that says when and why there is no value */
	uint16_t reason; /* of the slice that is open there */
	double value;    /* of the last packet */
};

enum { ON_EVENTS, ON_LOST, ON_RUNS, STANDING };
static const char *const standing[STANDING] = { "Events", "No data", "Runs" };

/* Something that happened, waiting for the intervals before it and for the clocks. */
struct happening {
	uint64_t from, to; /* CLOCK_MONOTONIC; equal: at once */
	uint64_t offset;   /* CLOCK_BOOTTIME - CLOCK_MONOTONIC, if known */
	bool known;
	int track;
	char *name; /* owned */
};

struct trace {
	uint64_t uuids, sequence;
	uint64_t machine, track[STANDING]; /* tracks of the current recording; machine 0: none */
	uint64_t at;                       /* CLOCK_BOOTTIME of the last value; 0: no clock was written */
	uint64_t end;                      /* of the last interval, CLOCK_MONOTONIC */
	uint32_t run;                      /* 0: none is open */
	struct names number;               /* of a place, and of a metric at a place */
	struct buf places;                 /* uint64_t: tracks by number */
	struct buf counters;               /* struct counter_track by number */
	struct buf cells;                  /* uint32_t: numbers, in the order of the sheet's cells */
	struct buf happened;               /* struct happening */
	struct buf packet, inner, key;
};

/* ---- protobuf ---- */

static void put_number(struct buf *out, int field, uint64_t v)
{
	put_varint(out, (uint64_t)field << 3 | VARINT);
	put_varint(out, v);
}

static void put_bytes(struct buf *out, int field, const void *data, size_t len)
{
	put_varint(out, (uint64_t)field << 3 | BYTES);
	put_varint(out, len);
	buf_add(out, data, len);
}

static void put_part(struct buf *out, int field, const struct buf *part)
{
	put_bytes(out, field, part->data, part->len);
	buf_carry(out, part);
}

static void put_text(struct buf *out, int field, const char *text)
{
	SCOPED(buf_release) struct buf good = BUF_INIT;

	utf8_repair(&good, text, strlen(text));
	put_part(out, field, &good);
}

static void put_double(struct buf *out, int field, double v)
{
	uint64_t bits = double_to_bits(v);

	put_varint(out, (uint64_t)field << 3 | FIXED64);
	put_little(out, bits, 8);
}

/* ---- packets ---- */

/* Writes t->packet, in the counters' sequence or the other one. */
static void end_packet(struct exporter *x, struct trace *t, bool counters)
{
	put_number(&t->packet, PACKET_SEQUENCE, t->sequence + !counters);
	put_part(&x->out.text, TRACE_PACKET, &t->packet);
	buf_clear(&t->packet);
}

static uint64_t describe(struct exporter *x, struct trace *t, const char *name, uint64_t parent, const char *unit)
{
	uint64_t uuid = ++t->uuids;

	buf_clear(&t->inner);
	put_number(&t->inner, TRACK_UUID, uuid);
	put_text(&t->inner, TRACK_NAME, name);
	if (parent)
		put_number(&t->inner, TRACK_PARENT, parent);
	if (unit) {
		SCOPED(buf_release) struct buf counter = BUF_INIT;

		if (*unit)
			put_text(&counter, COUNTER_UNIT, unit);
		put_part(&t->inner, TRACK_COUNTER, &counter);
	}
	put_part(&t->packet, PACKET_TRACK, &t->inner);
	end_packet(x, t, false);
	return uuid;
}

static void put_clock(struct buf *out, int id, uint64_t time)
{
	SCOPED(buf_release) struct buf clock = BUF_INIT;

	put_number(&clock, CLOCK_ID, (uint64_t)id);
	put_number(&clock, CLOCK_TIME, time);
	if (id == STEPS)
		put_number(&clock, CLOCK_INCREMENTAL, 1);
	put_part(out, CLOCKS_CLOCK, &clock);
}

/* Values have times of a clock of their own, as differences of a byte or two. */
static void begin_counters(struct exporter *x, struct trace *t, uint64_t at)
{
	buf_clear(&t->inner);
	put_clock(&t->inner, BOOTTIME, at);
	put_clock(&t->inner, STEPS, at);
	put_part(&t->packet, PACKET_CLOCKS, &t->inner);
	put_number(&t->packet, PACKET_FLAGS, STATE_CLEARED);
	buf_clear(&t->inner);
	put_number(&t->inner, PACKET_TIME_CLOCK, STEPS);
	put_part(&t->packet, PACKET_DEFAULTS, &t->inner);
	end_packet(x, t, true);
	t->at = at;
}

static void put_slice(struct exporter *x, struct trace *t, uint64_t at, int type, uint64_t track, const char *name)
{
	buf_clear(&t->inner);
	put_number(&t->inner, EVENT_TYPE, (uint64_t)type);
	put_number(&t->inner, EVENT_TRACK, track);
	if (name)
		put_text(&t->inner, EVENT_TEXT, name);
	put_number(&t->packet, PACKET_TIME, at);
	put_part(&t->packet, PACKET_EVENT, &t->inner);
	end_packet(x, t, false);
}

static void put_value(struct exporter *x, struct trace *t, uint64_t at, uint64_t track, double v)
{
	buf_clear(&t->inner);
	put_number(&t->inner, EVENT_TYPE, COUNTER);
	put_number(&t->inner, EVENT_TRACK, track);
	if (v >= 0 && v < 0x1p49 && (double)(uint64_t)v == v)
		put_number(&t->inner, EVENT_COUNT, (uint64_t)v);
	else
		put_double(&t->inner, EVENT_DOUBLE, v);
	put_number(&t->packet, PACKET_TIME, at - t->at);
	put_part(&t->packet, PACKET_EVENT, &t->inner);
	end_packet(x, t, true);
	t->at = at;
}

/* ---- tracks ---- */

static void put_place_key(struct buf *key, const struct place *p)
{
	buf_printf(key, "%d/%u/%u/%u/%u/%u/%u/%u/%u", p->kind, p->package, p->die, p->cluster, p->cache, p->node,
		   p->core, p->cpu, p->kind < PM_PMU ? 0 : p->instance);
}

static uint64_t describe_place(struct exporter *x, struct trace *t, const struct places *places, struct place p)
{
	static const char *const word[PM_KINDS] = {
		[PM_PACKAGE] = "Package", [PM_DIE] = "Die",   [PM_CLUSTER] = "Cluster", [PM_CACHE] = "Cache",
		[PM_NODE] = "Node",       [PM_CORE] = "Core", [PM_CPU] = "CPU"
	};
	struct place package = PLACE_NOWHERE(PM_PACKAGE);
	uint64_t uuid, parent = t->machine;
	SCOPED(buf_release) struct buf name = BUF_INIT, key = BUF_INIT;
	uint32_t id;

	if (p.kind == PM_SYSTEM)
		return t->machine;
	package.package = p.package;
	put_place_key(&key, &p);
	memory_whole(&key);
	if (names_get(&t->number, buf_str(&key), &id))
		return ((uint64_t *)(void *)t->places.data)[id];
	if (p.kind != PM_PACKAGE && p.package != PM_NONE)
		parent = describe_place(x, t, places, package);
	if (word[p.kind])
		buf_printf(&name, "%s %u", word[p.kind], place_number(&p));
	else
		buf_addstr(&name, places_name(places, &p));
	memory_whole(&name);
	uuid = describe(x, t, buf_str(&name), parent, NULL);
	id = (uint32_t)(t->places.len / sizeof(uuid));
	buf_add(&t->places, &uuid, sizeof(uuid));
	memory_whole(&t->places);
	memory_done(names_set(&t->number, buf_str(&key), id));
	return uuid;
}

/* The number of the track, which is described with its first value. */
static uint32_t cell_of(struct trace *t, const struct sheet *s, const struct sheet_row *row, uint32_t column)
{
	struct counter_track fresh = { 0 };
	uint32_t id;

	buf_clear(&t->key);
	put_place_key(&t->key, &row->place);
	buf_printf(&t->key, "|%s", s->column[column].metric->name);
	memory_whole(&t->key);
	if (names_get(&t->number, buf_str(&t->key), &id))
		return id;
	id = (uint32_t)(t->counters.len / sizeof(fresh));
	buf_add(&t->counters, &fresh, sizeof(fresh));
	memory_whole(&t->counters);
	memory_done(names_set(&t->number, buf_str(&t->key), id));
	return id;
}

/* ---- a recording ---- */

static void begin_recording(struct exporter *x, struct trace *t, const struct pm_model *m)
{
	const char *host = pm_map_text(&m->header, PM_HEADER_HOST, NULL);
	SCOPED(scoped_free)
	char *name = memory_format("%s%s%s", host ? host : "", host ? " " : "", x->sink.recording);

	t->sequence += 2;
	t->machine = describe(x, t, name, 0, NULL);
	for (int i = 0; i < STANDING; i++)
		t->track[i] = describe(x, t, standing[i], t->machine, NULL);
}

static int perfetto_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct exporter *x = exporter_of(sink);
	struct trace *t = x->data;

	if (!t)
		t = x->data = memory_new(1, sizeof(*t));
	if (!t->machine)
		begin_recording(x, t, s->places->model);
	buf_clear(&t->cells);
	for (uint32_t r = 0; r < s->n_rows; r++)
		for (uint32_t c = 0; c < s->row[r].n_cells; c++) {
			uint32_t id = cell_of(t, s, &s->row[r], s->row[r].cell[c].column);

			buf_add(&t->cells, &id, sizeof(id));
		}
	memory_whole(&t->cells);
	return 0;
}

/* Slices say when there is no value: a counter's line continues. */
static void note_missing(struct exporter *x, struct trace *t, const struct sheet *s, const struct sheet_row *row,
			 const struct bound_metric *m, struct counter_track *c, uint64_t at, uint16_t reason)
{
	char word[16];

	if (c->reason)
		put_slice(x, t, at, SLICE_END, c->missing, NULL);
	if (reason && !c->missing) {
		SCOPED(scoped_free) char *name = memory_format("%s: no value", m->display);

		c->missing = describe(x, t, name, describe_place(x, t, s->places, row->place), NULL);
	}
	if (reason)
		put_slice(x, t, at, SLICE_BEGIN, c->missing, status_word(reason, STATUS_WHOLE, word));
	c->reason = reason;
}

/* A value holds from the beginning of its interval until the next one. */
static void put_cell(struct exporter *x, struct trace *t, const struct sheet *s, const struct sheet_row *row,
		     const struct sheet_cell *cell, struct counter_track *c, uint64_t at, size_t k)
{
	const struct bound_metric *m = s->column[cell->column].metric;
	const struct value *v = &cell->value[k];

	x->partial |= export_lacks(cell, k);
	if (c->reason != v->reason)
		note_missing(x, t, s, row, m, c, at, v->reason);
	if (v->reason || (c->uuid && c->value == v->v))
		return;
	if (!c->uuid) {
		uint64_t parent = describe_place(x, t, s->places, row->place);

		c->uuid = describe(x, t, m->display, parent, m->about->unit);
	}
	put_value(x, t, at, c->uuid, v->v);
	c->value = v->v;
}

static void put_lost(struct exporter *x, struct trace *t, uint64_t from, uint64_t to, const char *name)
{
	put_slice(x, t, from + x->sink.boot_offset_ns, SLICE_BEGIN, t->track[ON_LOST], name);
	put_slice(x, t, to + x->sink.boot_offset_ns, SLICE_END, t->track[ON_LOST], NULL);
}

static void end_run(struct exporter *x, struct trace *t)
{
	if (t->run)
		put_slice(x, t, t->end + x->sink.boot_offset_ns, SLICE_END, t->track[ON_RUNS], NULL);
}

/* Notes what was not measured between two intervals, what is lost of one, and where a run begins. */
static void note_interval(struct exporter *x, struct trace *t, const struct interval *i)
{
	char name[32];

	if (i->partial)
		put_lost(x, t, i->from_ns, i->to_ns, "damaged");
	else if (t->end && t->run == i->run && i->from_ns > t->end)
		put_lost(x, t, t->end, i->from_ns, "gap");
	if (t->run != i->run) {
		end_run(x, t);
		snprintf(name, sizeof(name), "run %u", i->run);
		put_slice(x, t, i->from_ns + x->sink.boot_offset_ns, SLICE_BEGIN, t->track[ON_RUNS], name);
	}
	t->run = i->run;
	t->end = i->to_ns;
}

static void put_happening(struct exporter *x, struct trace *t, const struct happening *h)
{
	uint64_t offset = h->known ? h->offset : x->sink.boot_offset_ns, track = t->track[h->track];
	bool lasts = h->to > h->from;

	put_slice(x, t, h->from + offset, lasts ? SLICE_BEGIN : INSTANT, track, h->name);
	if (lasts)
		put_slice(x, t, h->to + offset, SLICE_END, track, NULL);
}

static void put_happenings(struct exporter *x, struct trace *t)
{
	struct happening *h = (struct happening *)(void *)t->happened.data;

	for (size_t i = 0; i < t->happened.len / sizeof(*h); i++) {
		if (t->machine)
			put_happening(x, t, &h[i]);
		free(h[i].name);
	}
	buf_clear(&t->happened);
}

static int perfetto_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct trace *t = x->data;
	int err = 0;

	if (n && !t->at)
		begin_counters(x, t, interval[0].from_ns + sink->boot_offset_ns);
	put_happenings(x, t);
	for (size_t k = 0; k < n && !err; k++) {
		const uint32_t *id = (const uint32_t *)(const void *)t->cells.data;
		uint64_t at = interval[k].from_ns + sink->boot_offset_ns;

		note_interval(x, t, &interval[k]);
		for (uint32_t r = 0; r < s->n_rows; r++)
			for (uint32_t c = 0; c < s->row[r].n_cells; c++)
				put_cell(x, t, s, &s->row[r], &s->row[r].cell[c],
					 &((struct counter_track *)(void *)t->counters.data)[*id++],
					 at < t->at ? t->at : at, k);
		err = exporter_pace(x);
	}
	return err;
}

static void perfetto_event(struct sink *sink, const struct pm_event *event)
{
	struct exporter *x = exporter_of(sink);
	struct trace *t = x->data ? x->data : (x->data = memory_new(1, sizeof(*t)));
	uint64_t since = pm_map_u64(&event->attrs, PM_EVENT_KEY_SINCE, event->time_ns);
	struct happening h = { .from = since, .to = event->time_ns };
	struct buf text = BUF_INIT;

	h.known = t->at != 0;
	h.offset = sink->boot_offset_ns;
	h.track = event->type == PM_EVENT_LOST ? ON_LOST : ON_EVENTS;
	/* It takes time on this clock only. */
	if (event->type == PM_EVENT_SUSPEND)
		h.to += pm_map_u64(&event->attrs, PM_EVENT_KEY_STEP, 0);
	event_text(event, &text);
	h.name = memory_checked(buf_detach(&text));
	buf_add(&t->happened, &h, sizeof(h));
	memory_whole(&t->happened);
}

static void forget(struct trace *t)
{
	names_release(&t->number);
	buf_clear(&t->places);
	buf_clear(&t->counters);
	t->machine = t->at = t->end = t->run = 0;
}

static int perfetto_end(struct sink *sink)
{
	struct exporter *x = exporter_of(sink);
	struct trace *t = x->data;

	if (!t)
		return 0;
	put_happenings(x, t);
	for (size_t i = 0; i < t->counters.len / sizeof(struct counter_track); i++) {
		const struct counter_track *c = &((struct counter_track *)(void *)t->counters.data)[i];

		if (c->reason)
			put_slice(x, t, t->end + sink->boot_offset_ns, SLICE_END, c->missing, NULL);
	}
	end_run(x, t);
	forget(t);
	return 0;
}

static void perfetto_release(struct sink *sink)
{
	struct trace *t = exporter_of(sink)->data;

	if (!t)
		return;
	for (size_t i = 0; i < t->happened.len / sizeof(struct happening); i++)
		free(((struct happening *)(void *)t->happened.data)[i].name);
	forget(t);
	buf_release(&t->places);
	buf_release(&t->counters);
	buf_release(&t->cells);
	buf_release(&t->happened);
	buf_release(&t->packet);
	buf_release(&t->inner);
	buf_release(&t->key);
	free(t);
}

const struct sink_ops export_perfetto = {
	.name = "perfetto",
	.help = "a trace for ui.perfetto.dev, by the boot clock",
	.binary = true,
	.shape = perfetto_shape,
	.intervals = perfetto_intervals,
	.event = perfetto_event,
	.end = perfetto_end,
	.release = perfetto_release,
};
