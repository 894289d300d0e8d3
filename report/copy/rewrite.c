#include "report/copy/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/memory.h"
#include "common/random.h"
#include "report/copy/redact.h"
#include "report/input/input.h"

#define GATHER_BYTES (8u << 20) /* of values that wait for their chunk */

/* A column of the output. */
struct rewrite_column {
	uint32_t from;    /* column of the input */
	uint32_t counter; /* id in the input, if values take more than a copy; else 0 */
	uint64_t rebase;  /* what to add to them, modulo the counter's width */
	uint64_t carried; /* the sum of skipped deltas, or the largest of skipped peaks, for the next one ... */
	uint16_t reason;  /* ... and why one of them is missing; 0: none is */
	bool adds_up, carries;
};

/* A group of the input in the output: which of its columns go where. */
struct rewrite_group {
	uint32_t from;                 /* in the input */
	uint32_t id;                   /* in the output; 0: nothing of it is copied */
	uint32_t n_columns;            /* in the output */
	uint32_t n_head;               /* columns of times among them */
	uint32_t n_clocks;             /* columns of times of CLOCK_MONOTONIC, which are the first */
	uint64_t chunk;                /* the last partial one, by number, in which it is, or is known to be lost */
	struct rewrite_column *column; /* owned: in the order of the output */
};

struct rewrite_instance {
	uint32_t from, to; /* ids of the input and the output; to 0: dropped */
};

/* From ids of the current input to ids of the output. Counters and strings have the index id - 1, and 0 means
 * dropped; instances and groups, which come and go, that of their slot. */
struct rewrite_maps {
	const struct pm_model *in;
	uint32_t *counter;
	struct rewrite_instance *instance;
	uint32_t *string; /* + 1; 0: not seen yet; 1: dropped */
	struct rewrite_group *group;
	uint32_t n_counters, n_groups, n_pmus, n_probes, n_configs; /* up to this id or slot */
	uint32_t seen_instances, seen_groups;                       /* of the input's, mapped so far */
	uint32_t cap_counters, cap_instances, cap_strings, cap_groups;
	uint64_t topology_ns;
};

/* One group of the snapshots that wait to be a chunk. */
struct rewrite_slot {
	struct pm_chunk_group g; /* owned, with v and status, room for `room` rows */
	size_t size;             /* allocated values */
	bool missing;            /* a status is not 0 */
};

/* Snapshots waiting to be a chunk. */
struct rewrite_rows {
	struct pm_chunk chunk;     /* common to all groups; its rows are those gathered */
	struct rewrite_slot *slot; /* owned */
	uint32_t n_slots, cap_slots;
	uint64_t tick[PM_CHUNK_ROWS], number[PM_CHUNK_ROWS];
	uint8_t flags[PM_CHUNK_ROWS];
	uint32_t room;
	bool spare;     /* after the last row there is a skipped one, which is copied if nothing follows */
	uint32_t *lost; /* owned: ids of the output of groups that damage took */
	uint32_t n_lost, cap_lost;
};

struct rewrite {
	const struct rewrite_rules *rules;
	pm_sink_fn sink;
	void *sink_ctx;
	struct pm_model model;
	struct pm_writer *writer;
	struct rewrite_maps maps;
	struct rewrite_rows rows;
	struct rewrite_result result;
	uint64_t shift_ns;     /* added to all times, modulo 2^64 */
	size_t outputs;        /* recordings begun */
	uint32_t segment_base; /* added to the segments of the input */
	uint32_t segment_last; /* the last one written */
	uint32_t recordings;
	uint64_t partial;       /* chunks that lack groups, so far */
	bool opened;            /* the current input has had a chunk: from_ns and to_ns are known */
	bool begun;             /* and a snapshot */
	uint32_t segment_in;    /* of its last snapshot */
	uint64_t in_segment;    /* snapshots of that segment so far */
	uint64_t last_tick;     /* that went over */
	struct pm_damage early; /* found before a tick was copied; length 0: none */
};

/* Rows of a chunk that are looked at. */
struct pick {
	uint32_t row, n;
	const bool *skip; /* [n]; NULL: none is skipped */
	uint32_t kept;    /* number that are not */
};

/* A time of the input on the output's clock; what lies before that began is at its beginning. */
static uint64_t time_of(const struct rewrite *w, uint64_t ns)
{
	uint64_t to = ns + w->shift_ns;

	return to > INT64_MAX ? 1 : to;
}

/* 0: unknown or dropped. */
static uint32_t instance_of(const struct rewrite_maps *m, uint32_t id)
{
	const struct pm_instance *i = m->in ? pm_model_instance(m->in, id) : NULL;

	return i && i->slot < m->cap_instances && m->instance[i->slot].from == id ? m->instance[i->slot].to : 0;
}

/* NULL: not seen yet. */
static struct rewrite_group *group_of(const struct rewrite *w, uint32_t id)
{
	const struct pm_group *g = w->maps.in ? pm_model_group(w->maps.in, id) : NULL;

	return g && g->slot < w->maps.n_groups && w->maps.group[g->slot].from == id ? &w->maps.group[g->slot] : NULL;
}

static bool goes_over(const struct rewrite *w, const struct pm_chunk_group *g)
{
	const struct rewrite_group *to = group_of(w, g->group);

	return !g->absent && to && to->id;
}

/* ---- values that take more than a copy ---- */

/* The string of the output for one of the input, or -errno; 0: the rules drop it, or there is none. */
static int64_t text_of(struct rewrite *w, const struct pm_model *in, uint64_t id)
{
	const struct pm_value *old = id <= UINT32_MAX ? pm_model_string(in, (uint32_t)id) : NULL;
	struct rewrite_maps *m = &w->maps;
	struct pm_value copy;
	int64_t r;

	if (!old)
		return 0;
	memory_hold(&m->string, &m->cap_strings, in->n_strings, sizeof(*m->string));
	if (m->string[id - 1])
		return m->string[id - 1] - 1;
	memory_done(pm_value_copy(&copy, old));
	r = !w->rules->redact || redact_text(w->rules->redact, &copy) == REWRITE_KEEP ?
		    pm_model_add_string(&w->model, copy.str.data, copy.str.len, copy.kind == PM_VALUE_BYTES) :
		    0;
	pm_value_release(&copy);
	if (r >= 0)
		m->string[id - 1] = (uint32_t)r + 1;
	return r;
}

static bool larger(enum pm_type type, uint64_t a, uint64_t b)
{
	if (type == PM_F64)
		return double_from_bits(a) > double_from_bits(b);
	return type == PM_S64 ? (int64_t)a > (int64_t)b : a > b;
}

/* Adds what skipped snapshots left; one that is skipped leaves the result. */
static void carry(struct rewrite_column *to, const struct pm_counter *c, bool skipped, uint64_t *v, uint16_t *status)
{
	if (to->carries && (*status || to->reason))
		*status = *status ? *status : to->reason;
	else if (to->carries && c->semantics == PM_PEAK)
		*v = larger(c->type, to->carried, *v) ? to->carried : *v;
	else if (to->carries && c->type == PM_F64)
		*v = double_to_bits(double_from_bits(*v) + double_from_bits(to->carried));
	else if (to->carries)
		*v += to->carried;
	to->carries = skipped;
	to->carried = *v;
	to->reason = *status;
}

/* Changes one value of a column with a counter. 0 or -errno. */
static int convert(struct rewrite *w, const struct pm_model *in, struct rewrite_column *to, bool skipped, uint64_t *v,
		   uint16_t *status)
{
	const struct pm_counter *c = pm_model_counter(in, to->counter);
	int64_t id;

	if (to->rebase) {
		*v += *status ? 0 : to->rebase;
		if (c->width < 64)
			*v &= (1ull << c->width) - 1;
	} else if (pm_counter_texts(c)) {
		id = *status ? 0 : text_of(w, in, *v);
		if (id < 0)
			return (int)id;
		if (!id && !*status)
			*status = PM_REASON_FORMAT;
		*v = (uint64_t)id;
	} else {
		carry(to, c, skipped, v, status);
	}
	return 0;
}

/* ---- rows ---- */

static void slot_begin(struct rewrite_rows *r, const struct rewrite_group *to)
{
	size_t need = (size_t)to->n_columns * r->room;
	struct rewrite_slot *s;

	memory_hold(&r->slot, &r->cap_slots, r->n_slots + 1, sizeof(*r->slot));
	s = &r->slot[r->n_slots];
	if (s->size < need) {
		free(s->g.v);
		free(s->g.status);
		s->g.v = memory_new(need, sizeof(*s->g.v));
		s->g.status = memory_new(need, sizeof(*s->g.status));
		s->size = need;
	}
	s->g.group = to->id;
	s->g.stride = r->room;
	s->missing = false;
	r->n_slots++;
}

/* Begins a chunk of this one's shape, with room for `n` rows, or more if others may follow. */
static void begin_rows(struct rewrite *w, const struct pm_chunk *chunk, uint32_t n, bool more)
{
	struct rewrite_rows *r = &w->rows;
	uint64_t columns = 1, room;

	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (goes_over(w, &chunk->group[i]))
			columns += group_of(w, chunk->group[i].group)->n_columns;
	room = more ? GATHER_BYTES / 10 / columns : 0;
	r->room = room < n ? n : room > PM_CHUNK_ROWS ? PM_CHUNK_ROWS : (uint32_t)room;
	r->n_slots = 0;
	for (uint32_t i = 0; i < chunk->n_groups; i++)
		if (goes_over(w, &chunk->group[i]))
			slot_begin(r, group_of(w, chunk->group[i].group));
	r->chunk.run = chunk->run;
	r->chunk.segment = w->segment_base + chunk->segment;
	r->chunk.rows = 0;
	r->chunk.clocks = chunk->clocks;
}

/* Whether its rows may follow those that wait. */
static bool fits_waiting(const struct rewrite *w, const struct pm_chunk *chunk)
{
	const struct rewrite_rows *r = &w->rows;
	uint32_t n = 0;

	if (r->chunk.run != chunk->run || r->chunk.segment != w->segment_base + chunk->segment)
		return false;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		if (!goes_over(w, &chunk->group[i]))
			continue;
		if (n == r->n_slots || r->slot[n].g.group != group_of(w, chunk->group[i].group)->id)
			return false;
		n++;
	}
	return n == r->n_slots;
}

/* A skipped row is put after the kept ones, where the next one replaces it. */
static struct pick pick_rows(const struct rewrite_rows *r, uint32_t row, uint32_t n, const bool *skip)
{
	struct pick p = { .row = row, .skip = skip };

	for (; p.n < n && r->chunk.rows + p.kept < r->room; p.n++)
		p.kept += !skip || !skip[p.n];
	return p;
}

static bool is_skipped(const struct pick *p, uint32_t i)
{
	return p->skip && p->skip[i];
}

/* Notes why values are missing; `why` NULL: none is. */
static void put_status(struct rewrite_slot *s, uint32_t column, uint32_t at, uint32_t n, const uint16_t *why)
{
	uint16_t *status = s->g.status + column * s->g.stride + at;

	memset(status, 0, n * sizeof(*status));
	for (uint32_t i = 0; why && i < n; i++) {
		status[i] = why[i];
		s->missing |= why[i] != 0;
	}
}

static int put_group(struct rewrite *w, const struct pm_model *in, const struct pm_chunk_group *from,
		     const struct pick *p, struct rewrite_slot *slot)
{
	struct rewrite_group *to = group_of(w, from->group);
	uint32_t rows = w->rows.chunk.rows;
	uint16_t why[PM_CHUNK_ROWS];
	int err = 0;

	for (uint32_t k = 0; k < to->n_columns && !err; k++) {
		struct rewrite_column *column = &to->column[k];
		size_t first = column->from * from->stride + p->row;
		uint64_t add = k < to->n_clocks ? w->shift_ns : 0, *v = slot->g.v + k * slot->g.stride + rows;
		const uint16_t *status = from->status && k >= to->n_head ? from->status + first : NULL;
		uint32_t at = 0;

		if (!column->counter && !p->skip) {
			for (uint32_t i = 0; i < p->n; i++)
				v[i] = from->v[first + i] + add;
			put_status(slot, k, rows, p->n, status);
			continue;
		}
		for (uint32_t i = 0; i < p->n && !err; at += !is_skipped(p, i), i++) {
			v[at] = from->v[first + i] + add;
			why[at] = status ? status[i] : 0;
			/* Of skipped values only the last one may be needed, besides what is added up. */
			if (column->counter && (column->adds_up || !is_skipped(p, i) || i == p->n - 1))
				err = convert(w, in, column, is_skipped(p, i), &v[at], &why[at]);
		}
		put_status(slot, k, rows, at + is_skipped(p, p->n - 1), why);
	}
	return err;
}

static int put_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, const struct pick *p)
{
	struct rewrite_rows *r = &w->rows;
	uint32_t slot = 0, at = r->chunk.rows;
	int err = 0;

	for (uint32_t i = 0; i < chunk->n_groups && !err; i++) {
		if (goes_over(w, &chunk->group[i]))
			err = put_group(w, in, &chunk->group[i], p, &r->slot[slot++]);
	}
	for (uint32_t i = 0; i < p->n; at += !is_skipped(p, i), i++) {
		r->tick[at] = chunk->tick[p->row + i] + w->shift_ns;
		/* Numbered by what is left: if one snapshot in ten stays, numbers cost as little. */
		r->number[at] = chunk->number[p->row + i] / (w->rules->every > 1 ? w->rules->every : 1);
		r->flags[at] = chunk->flags[p->row + i];
	}
	r->chunk.rows = at;
	r->spare = is_skipped(p, p->n - 1);
	return err;
}

/* What was skipped is in the row that was written, and passes nothing on to another chunk. */
static void end_carries(struct rewrite *w)
{
	for (uint32_t i = 0; i < w->maps.n_groups && w->rules->every > 1; i++)
		for (uint32_t k = 0; k < w->maps.group[i].n_columns; k++)
			w->maps.group[i].column[k].carries = false;
}

/* Writes what has been gathered. */
static int flush_rows(struct rewrite *w)
{
	struct rewrite_rows *r = &w->rows;
	SCOPED(scoped_free) struct pm_chunk_group *group = NULL;
	struct pm_chunk out = r->chunk;
	int err;

	out.rows += r->spare;
	if (!out.rows)
		return 0;
	end_carries(w);
	group = memory_new(r->n_slots + r->n_lost, sizeof(*group));
	for (uint32_t i = 0; i < r->n_slots; i++) {
		group[i] = r->slot[i].g;
		if (!r->slot[i].missing)
			group[i].status = NULL;
	}
	for (uint32_t i = 0; i < r->n_lost; i++)
		group[r->n_slots + i] = (struct pm_chunk_group){ .group = r->lost[i], .absent = true, .lost = true };
	out.tick = r->tick;
	out.number = r->number;
	out.flags = r->flags;
	out.group = group;
	out.n_groups = r->n_slots + r->n_lost;
	out.clocks.monotonic += w->shift_ns;
	if (w->rules->redact)
		redact_clocks(w->rules->redact, &out.clocks);
	err = pm_writer_chunk(w->writer, &out);
	r->chunk.rows = r->n_lost = 0;
	r->spare = false;
	if (err)
		return err;
	w->result.snapshots_out += out.rows;
	if (!w->result.from_ns)
		w->result.from_ns = out.tick[0];
	w->result.to_ns = w->last_tick = out.tick[out.rows - 1];
	w->segment_last = out.segment;
	return 0;
}

/* Takes `n` rows of a chunk, without those to skip (NULL: none); the last of these waits until another row follows.
 * `more`: rows of further chunks may follow. 0 or -errno. */
static int add_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t row,
		    uint32_t n, const bool *skip, bool more)
{
	struct rewrite_rows *r = &w->rows;
	int err = 0;

	if ((r->chunk.rows || r->spare) && !fits_waiting(w, chunk))
		err = flush_rows(w);
	while (n && !err) {
		struct pick p;

		if (r->chunk.rows == r->room)
			err = flush_rows(w);
		if (err)
			break;
		if (!r->chunk.rows && !r->spare)
			begin_rows(w, chunk, n, more);
		p = pick_rows(r, row, n, skip);
		err = put_rows(w, in, chunk, &p);
		row += p.n;
		n -= p.n;
		skip = skip ? skip + p.n : NULL;
	}
	return err;
}

static void lose_group(struct rewrite *w, struct rewrite_group *to)
{
	struct rewrite_rows *r = &w->rows;
	const struct pm_group *g = pm_model_group(&w->model, to->id);

	if (!g || g->retired || to->chunk == w->partial)
		return;
	to->chunk = w->partial;
	memory_hold(&r->lost, &r->cap_lost, r->n_lost + 1, sizeof(*r->lost));
	r->lost[r->n_lost++] = to->id;
}

/* What was gathered since the last chunk lacks the groups that damage took from `chunk`. */
static void lose_groups(struct rewrite *w, const struct pm_chunk *chunk)
{
	if (!w->rows.chunk.rows && !w->rows.spare)
		return;
	w->rows.n_lost = 0;
	w->partial++;
	for (uint32_t i = 0; i < chunk->n_groups; i++) {
		struct rewrite_group *to = group_of(w, chunk->group[i].group);

		if (to && !chunk->group[i].absent)
			to->chunk = w->partial;
		else if (to && chunk->group[i].lost)
			lose_group(w, to);
	}
	/* What has no definition may be any of them. */
	for (uint32_t i = 0; i < w->maps.n_groups && chunk->unknown; i++)
		lose_group(w, &w->maps.group[i]);
}

static void rows_release(struct rewrite_rows *r)
{
	for (uint32_t i = 0; i < r->cap_slots; i++) {
		free(r->slot[i].g.v);
		free(r->slot[i].g.status);
	}
	free(r->slot);
	free(r->lost);
	*r = (struct rewrite_rows){ 0 };
}

/* ---- counters ---- */

/* The counter of the output with the same name, if its numbers mean the same; else a new one. Id, or -errno. */
static int64_t counter_place(struct rewrite *w, const struct pm_counter *c, struct error *e)
{
	const struct pm_counter *old = pm_model_counter_named(&w->model, c->name);

	if (!old)
		return pm_model_add_counter(&w->model, c);
	if (old->type != c->type || old->semantics != c->semantics || old->width != c->width ||
	    !pm_counters_measure_alike(old, c))
		return error_set(e, EINVAL, "%s has different definitions in these recordings", c->name);
	return old->id;
}

static int map_counters(struct rewrite *w, const struct pm_model *in, struct error *e)
{
	struct rewrite_maps *m = &w->maps;

	while (m->n_counters < in->n_counters) {
		struct pm_counter copy;
		int64_t id = 0;

		memory_hold(&m->counter, &m->cap_counters, m->n_counters + 1, sizeof(*m->counter));
		memory_done(pm_counter_copy(&copy, &in->counter[m->n_counters]));
		if (w->rules->redact)
			redact_counter(w->rules->redact, &copy);
		if (!w->rules->counter || w->rules->counter(w->rules->ctx, &copy) == REWRITE_KEEP)
			id = counter_place(w, &copy, e);
		pm_counter_release(&copy);
		if (id < 0)
			return (int)id;
		m->counter[m->n_counters++] = (uint32_t)id;
	}
	return 0;
}

/* ---- instances ---- */

/* The same thing in an earlier recording, if it still lives. */
static uint32_t instance_again(const struct rewrite *w, const struct pm_instance *i)
{
	for (uint32_t k = 0; w->recordings && k < w->model.n_instances; k++) {
		const struct pm_instance *old = &w->model.instance[k];

		if (old->kind == i->kind && old->number == i->number && old->cpu == i->cpu && !old->retired_ns &&
		    pm_map_equal(&old->attrs, &i->attrs))
			return old->id;
	}
	return 0;
}

static int map_instances(struct rewrite *w, const struct pm_model *in)
{
	struct rewrite_maps *m = &w->maps;

	for (; m->seen_instances < in->n_instances; m->seen_instances++) {
		const struct pm_instance *from = &in->instance[m->seen_instances];
		struct pm_instance copy = *from;
		int64_t id = 0;

		memory_hold(&m->instance, &m->cap_instances, from->slot + 1ull, sizeof(*m->instance));
		memory_done(pm_map_copy(&copy.attrs, &from->attrs));
		if (copy.added_ns)
			copy.added_ns = time_of(w, copy.added_ns);
		if (copy.retired_ns)
			copy.retired_ns = time_of(w, copy.retired_ns);
		if (w->rules->redact)
			redact_instance(w->rules->redact, &copy);
		if (!w->rules->instance || w->rules->instance(w->rules->ctx, &copy) == REWRITE_KEEP) {
			id = instance_again(w, &copy);
			if (!id)
				id = pm_model_add_instance(&w->model, &copy);
		}
		pm_map_release(&copy.attrs);
		if (id < 0)
			return (int)id;
		m->instance[from->slot] = (struct rewrite_instance){ from->id, (uint32_t)id };
	}
	return 0;
}

/* ---- groups ---- */

/* Whether value column `v` of the input is copied. */
static bool wanted(const struct rewrite_maps *m, const struct pm_group *g, uint32_t v)
{
	return m->counter[pm_group_counter_of(g, v) - 1] && instance_of(m, pm_group_instance_of(g, v));
}

/* An equal group that exists already: a second recording continues in it. */
static int64_t group_place(struct rewrite *w, const struct pm_group *g)
{
	for (uint32_t i = 0; w->recordings && i < w->model.n_groups; i++) {
		const struct pm_group *old = &w->model.group[i];

		if (!old->retired && old->flags == g->flags && old->n_counters == g->n_counters &&
		    old->n_instances == g->n_instances && !strcmp(old->source, g->source) &&
		    !memcmp(old->counter, g->counter, g->n_counters * sizeof(*g->counter)) &&
		    !memcmp(old->instance, g->instance, g->n_instances * sizeof(*g->instance)))
			return old->id;
	}
	return pm_model_add_group(&w->model, g);
}

/* Whether skipped values of a counter belong to the next one that is copied. */
static bool adds_up(const struct rewrite *w, const struct pm_counter *c)
{
	return w->rules->every > 1 && (c->semantics == PM_DELTA || c->semantics == PM_PEAK);
}

static struct rewrite_column value_column(const struct rewrite *w, const struct pm_model *in,
					  const struct pm_group *g, uint32_t v)
{
	const struct pm_counter *c = pm_model_counter(in, pm_group_counter_of(g, v));
	struct rewrite_column column = { .from = pm_group_head(g) + v };

	if (w->rules->redact && (c->type == PM_U64 || c->type == PM_S64))
		column.rebase = redact_rebase(w->rules->redact, c);
	column.adds_up = !column.rebase && adds_up(w, c);
	if (column.rebase || column.adds_up || pm_counter_texts(c))
		column.counter = c->id;
	return column;
}

/* Columns in the order of the output: each kind of time for the instances that stay, then the values. */
static void list_columns(const struct rewrite *w, const struct pm_model *in, const struct pm_group *g,
			 struct rewrite_group *out)
{
	uint32_t times = pm_group_times(g), head = pm_group_head(g), values = pm_group_values(g);
	bool shared = g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME);

	for (uint32_t c = 0; c < head; c++)
		if (shared || instance_of(&w->maps, g->instance[c % times]))
			out->column[out->n_columns++] = (struct rewrite_column){ .from = c };
	out->n_head = out->n_columns;
	out->n_clocks = g->flags & PM_GROUP_PERF_TIMES ? out->n_head / 2 : out->n_head;
	for (uint32_t v = 0; v < values; v++)
		if (wanted(&w->maps, g, v))
			out->column[out->n_columns++] = value_column(w, in, g, v);
}

/* The group of the output that this one continues there, too; 0: none. */
static uint32_t continued(const struct rewrite *w, const struct pm_group *g, const struct pm_group *copy)
{
	const struct rewrite_group *from = g->continues ? group_of(w, g->continues) : NULL;
	const struct pm_group *old = from ? pm_model_group(&w->model, from->id) : NULL;

	return old && old->flags == copy->flags && old->n_counters == copy->n_counters &&
			       !memcmp(old->counter, copy->counter, copy->n_counters * sizeof(*copy->counter)) ?
		       old->id :
		       0;
}

static void group_release(struct rewrite_group *g)
{
	free(g->column);
	*g = (struct rewrite_group){ 0 };
}

static int map_group(struct rewrite *w, const struct pm_model *in, const struct pm_group *g,
		     struct rewrite_group *out)
{
	const struct rewrite_maps *m = &w->maps;
	struct pm_group copy = *g;
	int64_t id;
	int err = 0;

	/* Nothing was read of it: an equal one of the output lives on. */
	if (g->retired)
		return 0;
	copy.source = memory_text(g->source);
	if (w->rules->redact)
		redact_source(w->rules->redact, &copy.source);
	copy.counter = memory_new(g->n_counters, sizeof(*copy.counter));
	copy.instance = memory_new(g->n_instances + 1, sizeof(*copy.instance));
	out->column = memory_new(pm_group_columns(g), sizeof(*out->column));
	copy.n_counters = copy.n_instances = 0;
	if (g->flags & PM_GROUP_LIST) {
		for (uint32_t v = 0; v < g->n_counters; v++) {
			if (!wanted(m, g, v))
				continue;
			copy.counter[copy.n_counters++] = m->counter[g->counter[v] - 1];
			copy.instance[copy.n_instances++] = instance_of(m, g->instance[v]);
		}
	} else {
		for (uint32_t i = 0; i < g->n_counters; i++)
			if (m->counter[g->counter[i] - 1])
				copy.counter[copy.n_counters++] = m->counter[g->counter[i] - 1];
		for (uint32_t i = 0; i < g->n_instances; i++) {
			copy.instance[copy.n_instances] = instance_of(m, g->instance[i]);
			copy.n_instances += copy.instance[copy.n_instances] != 0;
		}
	}
	if (copy.n_counters && copy.n_instances) {
		list_columns(w, in, g, out);
		copy.continues = continued(w, g, &copy);
		/* That one retires, and may be among the rows that wait. */
		if (copy.continues)
			err = flush_rows(w);
		id = err ? err : group_place(w, &copy);
		if (id < 0)
			err = (int)id;
		else
			out->id = (uint32_t)id;
	}
	pm_group_release(&copy);
	return err;
}

static int map_groups(struct rewrite *w, const struct pm_model *in)
{
	struct rewrite_maps *m = &w->maps;

	for (; m->seen_groups < in->n_groups; m->seen_groups++) {
		const struct pm_group *from = &in->group[m->seen_groups];
		int err;

		memory_hold(&m->group, &m->cap_groups, from->slot + 1ull, sizeof(*m->group));
		/* Counted in any case, so that its arrays are freed. */
		m->n_groups = m->n_groups > from->slot + 1 ? m->n_groups : from->slot + 1;
		group_release(&m->group[from->slot]);
		m->group[from->slot].from = from->id;
		err = map_group(w, in, from, &m->group[from->slot]);
		if (err)
			return err;
	}
	return 0;
}

/* Groups that have retired in the input do so in the output. 0 or -errno. */
static int retire_groups(struct rewrite *w, const struct pm_model *in)
{
	int err = 0;

	for (uint32_t i = 0; i < in->n_groups && !err; i++) {
		struct rewrite_group *to = in->group[i].retired ? group_of(w, in->group[i].id) : NULL;

		if (!to || !to->id || !pm_model_group(&w->model, to->id) ||
		    pm_model_group(&w->model, to->id)->retired)
			continue;
		/* They may be among the rows that wait. */
		err = flush_rows(w);
		if (!err)
			err = pm_model_retire_group(&w->model, to->id);
	}
	return err;
}

/* ---- what has no ids ---- */

static void copy_topology(struct rewrite *w, const struct pm_model *in)
{
	struct pm_topology *t = &w->model.topology;

	if (!in->topology.time_ns || in->topology.time_ns == w->maps.topology_ns)
		return;
	w->maps.topology_ns = in->topology.time_ns;
	memory_done(pm_model_set_topology(&w->model, &in->topology));
	t->time_ns = time_of(w, t->time_ns);
	if (w->rules->redact)
		redact_topology(w->rules->redact, t);
}

static bool pmu_again(const struct rewrite *w, const struct pm_pmu *p)
{
	for (uint32_t i = 0; w->recordings && i < w->model.n_pmus; i++)
		if (pm_map_equal(&w->model.pmu[i].attrs, &p->attrs))
			return true;
	return false;
}

static int copy_pmus(struct rewrite *w, const struct pm_model *in)
{
	int r = 0;

	for (; w->maps.n_pmus < in->n_pmus && !r; w->maps.n_pmus++) {
		struct pm_pmu copy = { 0 };

		memory_done(pm_map_copy(&copy.attrs, &in->pmu[w->maps.n_pmus].attrs));
		if (w->rules->redact)
			redact_pmu(w->rules->redact, &copy);
		if (!pmu_again(w, &copy))
			r = pm_model_add_pmu(&w->model, &copy);
		pm_map_release(&copy.attrs);
	}
	return r;
}

static bool probe_again(const struct rewrite *w, const struct pm_probe *p)
{
	for (uint32_t i = 0; w->recordings && i < w->model.n_probes; i++) {
		const struct pm_probe *old = &w->model.probe[i];

		if (old->reason == p->reason && !strcmp(old->source, p->source) &&
		    pm_value_equal(&old->what, &p->what))
			return true;
	}
	return false;
}

static int copy_probes(struct rewrite *w, const struct pm_model *in)
{
	int r = 0;

	for (; w->maps.n_probes < in->n_probes && !r; w->maps.n_probes++) {
		struct pm_probe copy;

		memory_done(pm_probe_copy(&copy, &in->probe[w->maps.n_probes]));
		if (w->rules->redact)
			redact_probe(w->rules->redact, &copy);
		if (!probe_again(w, &copy))
			r = pm_model_add_probe(&w->model, &copy);
		pm_probe_release(&copy);
	}
	return r;
}

/* A later recording repeats most things. */
static bool config_again(const struct rewrite *w, const struct pm_config *c)
{
	const struct pm_config *old;

	if (!w->recordings)
		return false;
	old = pm_model_config(&w->model, c->name, c->instances.n ? c->instances.cpu[0] : PM_NONE);
	return old && old->reason == c->reason && old->kind == c->kind && pm_value_equal(&old->value, &c->value) &&
	       old->instances.n >= c->instances.n;
}

static int copy_configs(struct rewrite *w, const struct pm_model *in)
{
	int r = 0;

	for (; w->maps.n_configs < in->n_configs && !r; w->maps.n_configs++) {
		struct pm_config copy;

		memory_done(pm_config_copy(&copy, &in->config[w->maps.n_configs]));
		copy.time_ns = time_of(w, copy.time_ns);
		if ((!w->rules->redact || redact_config(w->rules->redact, &copy) == REWRITE_KEEP) &&
		    !config_again(w, &copy))
			r = pm_model_add_config(&w->model, &copy);
		pm_config_release(&copy);
	}
	return r;
}

static void add_history(struct pm_map *header, const char *text)
{
	const struct pm_value *old = pm_map_get(header, PM_HEADER_HISTORY);
	uint32_t n = old && old->kind == PM_VALUE_ARRAY ? old->array.n : 0;
	struct pm_value list = pm_array(n + 1);

	memory_checked(list.array.item);
	for (uint32_t i = 0; i < n; i++)
		memory_done(pm_value_copy(&list.array.item[i], &old->array.item[i]));
	list.array.item[n] = pm_text(text);
	memory_done(pm_map_set(header, PM_HEADER_HISTORY, list));
}

/* That of the first recording: it is written once, and first. */
static void copy_header(struct rewrite *w, const struct pm_model *in)
{
	uint64_t interval = pm_map_u64(&in->header, PM_HEADER_INTERVAL, 0);

	if (w->recordings || w->model.header.n || !in->header.n)
		return;
	memory_done(pm_map_copy(&w->model.header, &in->header));
	if (w->rules->every > 1 && interval)
		memory_done(
			pm_map_set(&w->model.header, PM_HEADER_INTERVAL,
				   pm_u64(interval > UINT64_MAX / w->rules->every || w->rules->every == UINT32_MAX ?
						  0 /* start and end only */
						  :
						  interval * w->rules->every)));
	if (w->rules->redact)
		redact_header(w->rules->redact, &w->model.header);
	if (w->rules->history)
		add_history(&w->model.header, w->rules->history);
}

/* Brings the output's model up to date with the input's; 0 or -errno with the text in *e. */
static int map_model(struct rewrite *w, const struct pm_model *in, struct error *e)
{
	int err;

	copy_header(w, in);
	w->maps.in = in;
	copy_topology(w, in);
	err = map_counters(w, in, e);
	if (!err)
		err = map_instances(w, in);
	if (!err)
		err = map_groups(w, in);
	if (!err)
		err = copy_pmus(w, in);
	if (!err)
		err = copy_probes(w, in);
	if (!err)
		err = copy_configs(w, in);
	if (err && !e->text[0])
		error_sys(e, -err, "definitions");
	return err;
}

static void maps_release(struct rewrite_maps *m)
{
	for (uint32_t i = 0; i < m->n_groups; i++)
		group_release(&m->group[i]);
	free(m->counter);
	free(m->instance);
	free(m->string);
	free(m->group);
	*m = (struct rewrite_maps){ 0 };
}

/* ---- the output ---- */

/* Begins a recording of the output. */
static int open_output(struct rewrite *w, struct error *e)
{
	struct pm_writer_config config = { .sink = w->sink, .sink_ctx = w->sink_ctx, .model = &w->model };
	int err;

	w->shift_ns = w->rules->redact ? redact_begin(w->rules->redact, w->outputs) : 0;
	w->outputs++;
	config.zstd_level = w->rules->zstd_level;
	pm_model_init(&w->model);
	err = random_bytes(w->model.recording_id, sizeof(w->model.recording_id));
	return err ? error_sys(e, -err, "random number") : pm_writer_new(&w->writer, &config, e);
}

static void close_output(struct rewrite *w)
{
	w->result.bytes += w->writer ? pm_writer_stats(w->writer).bytes : 0;
	pm_writer_free(w->writer);
	w->writer = NULL;
	rows_release(&w->rows);
	maps_release(&w->maps);
	pm_model_release(&w->model);
}

/* ---- snapshots ---- */

static bool in_window(const struct rewrite *w, uint64_t ns)
{
	return ns >= w->rules->from_ns && (!w->rules->to_ns || ns <= w->rules->to_ns);
}

/* Chooses where the segments of this recording go, once its first snapshot is known; returns whether that repeats the
 * last one of the previous recording. */
static bool join(struct rewrite *w, const struct pm_chunk *chunk)
{
	bool again = w->last_tick && chunk->tick[0] + w->shift_ns == w->last_tick;

	if (w->begun)
		return false;
	w->begun = true;
	w->segment_in = chunk->segment;
	w->in_segment = 0;
	if (!w->recordings)
		return false;
	w->segment_base = w->segment_last - chunk->segment + (again ? 0 : 1);
	w->result.gaps += !again;
	return again;
}

static bool skips(const struct rewrite *w, uint8_t flags)
{
	return w->rules->every > 1 && w->in_segment % w->rules->every &&
	       !(flags & (PM_SNAPSHOT_FIRST | PM_SNAPSHOT_LAST));
}

/* Whether snapshots of several chunks may share one of the output, with the clocks of the first. */
static bool gathers(const struct rewrite *w)
{
	return w->rules->gather || w->rules->every > 1;
}

static int take_rows(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk, uint32_t from)
{
	uint32_t to = chunk->rows;
	bool skip[PM_CHUNK_ROWS], more = gathers(w) && !chunk->partial;

	while (from < to && !in_window(w, chunk->tick[from]))
		from++;
	while (from < to && !in_window(w, chunk->tick[to - 1]))
		to--;
	if (w->rules->every <= 1)
		return from < to ? add_rows(w, in, chunk, from, to - from, NULL, more) : 0;
	for (uint32_t row = from; row < to; row++, w->in_segment++)
		skip[row - from] = skips(w, chunk->flags[row]);
	return add_rows(w, in, chunk, from, to - from, skip, more);
}

static int take_chunk(struct rewrite *w, const struct pm_model *in, const struct pm_chunk *chunk)
{
	/* Its chunk of the output names the groups that damage took. */
	bool apart = !gathers(w) || chunk->partial;
	uint32_t from;
	int err = 0;

	/* What retired before the output begins does not belong in it. */
	if (!pm_writer_stats(w->writer).frames)
		pm_model_forget(&w->model, NULL, NULL, chunk->tick[chunk->rows - 1] >= w->rules->from_ns);
	/* No difference may span what could not be read. */
	w->segment_base += chunk->after_loss && w->begun;
	from = join(w, chunk) ? 1 : 0;
	if (chunk->segment != w->segment_in) {
		err = flush_rows(w);
		w->segment_in = chunk->segment;
		w->in_segment = 0;
	}
	w->result.snapshots_in += chunk->rows;
	if (err || from == chunk->rows)
		return err;
	if (apart)
		err = flush_rows(w);
	if (!err)
		err = take_rows(w, in, chunk, from);
	if (!err && chunk->partial)
		lose_groups(w, chunk);
	if (!err && apart)
		err = flush_rows(w);
	return err;
}

/* ---- events ---- */

/* A bit for each type of event that begins or ends a state. */
#define LASTING \
	(1u << PM_EVENT_CPU_ONLINE | 1u << PM_EVENT_CPU_OFFLINE | 1u << PM_EVENT_ENABLE | 1u << PM_EVENT_DISABLE | \
	 1u << PM_EVENT_CHILD_START | 1u << PM_EVENT_CHILD_EXIT | 1u << PM_EVENT_FAILED | 1u << PM_EVENT_RUN_START | \
	 1u << PM_EVENT_RUN_END)

static bool event_lasts(enum pm_event_type type)
{
	return type < 32 && LASTING >> type & 1;
}

/* Replaces the input's ids by the output's. False: the event is about something that is not copied. */
static bool map_event(const struct rewrite *w, struct pm_event *e)
{
	uint64_t id = pm_map_u64(&e->attrs, PM_EVENT_KEY_INSTANCE, 0);
	uint32_t to = id <= UINT32_MAX ? instance_of(&w->maps, (uint32_t)id) : 0;

	if (!pm_map_get(&e->attrs, PM_EVENT_KEY_INSTANCE))
		return true;
	if (to)
		memory_done(pm_map_set(&e->attrs, PM_EVENT_KEY_INSTANCE, pm_u64(to)));
	return to != 0;
}

static void shift_event(const struct rewrite *w, struct pm_event *e)
{
	const struct pm_value *since = pm_map_get(&e->attrs, PM_EVENT_KEY_SINCE);

	e->time_ns = time_of(w, e->time_ns);
	if (since && since->kind == PM_VALUE_U64)
		memory_done(pm_map_set(&e->attrs, PM_EVENT_KEY_SINCE, pm_u64(time_of(w, since->u64))));
}

/* What is gone retires in the output, and that is the event there. */
static int retire(struct rewrite *w, const struct pm_event *event)
{
	uint64_t id = pm_map_u64(&event->attrs, PM_EVENT_KEY_INSTANCE, 0);
	uint32_t to = id <= UINT32_MAX ? instance_of(&w->maps, (uint32_t)id) : 0;

	if (!to || !pm_model_instance(&w->model, to))
		return 0;
	return pm_model_retire_instance(&w->model, to, time_of(w, event->time_ns));
}

static int take_event(struct rewrite *w, const struct pm_event *event)
{
	struct pm_event copy = *event;
	int r = 0;

	if (event->type == PM_EVENT_GONE)
		return retire(w, event);
	if (!event_lasts(event->type) && !in_window(w, event->time_ns))
		return 0;
	memory_done(pm_map_copy(&copy.attrs, &event->attrs));
	shift_event(w, &copy);
	if (map_event(w, &copy) && (!w->rules->redact || redact_event(w->rules->redact, &copy) == REWRITE_KEEP)) {
		/* Events stay between the snapshots where they were. */
		r = flush_rows(w);
		if (!r)
			r = pm_writer_event(w->writer, &copy);
	}
	pm_event_release(&copy);
	return r;
}

static int write_note(struct rewrite *w, const struct pm_damage *d)
{
	struct pm_event e = { .type = PM_EVENT_NOTE, .time_ns = w->last_tick };
	struct pm_value remark = pm_remark(PM_REMARK_DAMAGE, 0, d->text);
	int r = 0;

	memory_done(pm_remark_code(&remark) ? 0 : -ENOMEM);
	remark.array.item[1] = pm_u64(d->length);
	memory_done(pm_map_set(&e.attrs, PM_EVENT_KEY_NOTE, remark));
	if (!w->rules->redact || redact_event(w->rules->redact, &e) == REWRITE_KEEP)
		r = pm_writer_event(w->writer, &e);
	pm_event_release(&e);
	return r;
}

static int note_damage(struct rewrite *w, const struct pm_damage *d)
{
	int r = flush_rows(w);

	if (w->rules->growing && (d->kind == PM_DAMAGE_NO_END || d->kind == PM_DAMAGE_CUT))
		return r;
	w->result.damages++;
	if (r || w->last_tick)
		return r ? r : write_note(w, d);
	/* There is no time yet at which to note it. */
	if (!w->early.length)
		w->early = *d;
	return 0;
}

static int note_early(struct rewrite *w)
{
	struct pm_damage d = w->early;

	if (!d.length || !w->last_tick)
		return 0;
	w->early.length = 0;
	return write_note(w, &d);
}

/* ---- recordings ---- */

static bool group_wanted(void *ctx, const struct pm_group *g)
{
	const struct rewrite *w = ctx;

	const struct rewrite_group *to = group_of(w, g->id);

	return to && to->id;
}

static int end_recording(struct rewrite *w)
{
	int err = flush_rows(w);

	maps_release(&w->maps);
	w->recordings += w->begun;
	w->opened = w->begun = false;
	return err;
}

/* Writes the rest, and the end. An output without a snapshot is a valid recording. */
static int finish(struct rewrite *w, struct error *e)
{
	int err = pm_writer_define(w->writer);

	if (!err)
		err = pm_writer_finish(w->writer);
	return err ? error_sys(e, -err, "cannot write the end") : 0;
}

/* Another recording of the input: of another machine, boot or time, with definitions of its own. */
static int next_output(struct rewrite *w, struct error *e)
{
	int err = end_recording(w);

	if (err || w->rules->join)
		return err;
	if (pm_writer_stats(w->writer).frames)
		err = finish(w, e);
	close_output(w);
	w->segment_base = w->segment_last = w->recordings = 0;
	w->last_tick = 0;
	return err ? err : open_output(w, e);
}

/* Called at the first chunk. 1: the reader has moved to the start of the window, and the chunk is not wanted. */
static int open_window(struct rewrite *w, struct pm_reader *reader, const struct pm_chunk_head *first,
		       struct error *e)
{
	int err = w->rules->start ? w->rules->start(w->rules->ctx, reader, first, e) : 0;

	w->opened = true;
	return err ? err : w->rules->from_ns > first->to_ns && !pm_reader_seek(reader, w->rules->from_ns, false);
}

/* Forgets what has gone, once everything about it is copied. */
static void forget(struct rewrite *w, struct pm_reader *reader)
{
	const struct pm_model *in = pm_reader_model(reader);

	if (w->maps.seen_instances != in->n_instances || w->maps.seen_groups != in->n_groups)
		return;
	pm_reader_forget(reader, NULL, NULL);
	w->maps.seen_instances = in->n_instances;
	w->maps.seen_groups = in->n_groups;
}

static int take_item(struct rewrite *w, struct pm_reader *reader, const struct pm_item *item, bool *end,
		     struct error *e)
{
	const struct pm_model *in = pm_reader_model(reader);
	const struct pm_chunk *chunk;
	int err = 0;

	switch (item->kind) {
	case PM_ITEM_MODEL:
		if (item->parts & PM_PART_REPEATED)
			break;
		err = map_model(w, in, e);
		if (!err && item->parts & PM_PART_SCHEMA)
			err = retire_groups(w, in);
		if (!err && item->parts & (PM_PART_SCHEMA | PM_PART_INSTANCES))
			pm_reader_select(reader, group_wanted, w);
		break;
	case PM_ITEM_CHUNK:
		if (!w->opened && (err = open_window(w, reader, &item->chunk, e)))
			return err < 0 ? err : 0;
		if (w->recordings && !w->begun && item->chunk.from_ns + w->shift_ns < w->last_tick)
			return error_set(e, EINVAL, "its recordings overlap in time: they are not consecutive");
		forget(w, reader);
		err = pm_reader_decode(reader, &chunk);
		if (err == -EBADMSG)
			err = 0; /* listed as damage, which is the next item */
		else if (!err)
			err = take_chunk(w, in, chunk);
		if (!err)
			err = note_early(w);
		break;
	case PM_ITEM_EVENT:
		err = take_event(w, item->event);
		break;
	case PM_ITEM_DAMAGE:
		err = note_damage(w, item->damage);
		break;
	case PM_ITEM_RECORDING:
		err = next_output(w, e);
		*end = false;
		break;
	case PM_ITEM_END:
		*end = true;
		break;
	case PM_ITEM_INDEX:
	case PM_ITEM_OTHER:
		break;
	}
	return err;
}

/* Reads one input to its end, or to the first snapshot after to_ns. */
static int take_input(struct rewrite *w, struct pm_reader *reader, struct error *e)
{
	struct pm_item item;
	bool end = false;
	int r, err = 0;

	pm_reader_select(reader, group_wanted, w);
	while (!err && (r = pm_reader_next(reader, &item)) != 0) {
		if (r < 0)
			return input_failed(e, r, "cannot continue reading");
		err = take_item(w, reader, &item, &end, e);
		if (err || item.kind != PM_ITEM_CHUNK || !w->rules->to_ns || item.chunk.from_ns <= w->rules->to_ns)
			continue;
		end = true;
		if (w->rules->join || (r = pm_reader_leave(reader)) == 0)
			break;
		err = r < 0 ? r : 0;
	}
	w->result.ended = w->result.ended && end;
	w->result.newer |= *pm_reader_newer(reader) != '\0';
	if (!err)
		err = end_recording(w);
	if (err && e && !e->text[0]) {
		const char *text = pm_writer_error(w->writer);

		return text[0] ? error_set(e, -err, "%s", text) : error_sys(e, -err, "cannot continue writing");
	}
	return err;
}

int rewrite_spool(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	const struct spool *in = ctx;

	*name = in->name;
	return spool_reader(reader, in, e);
}

int rewrite_all(const struct rewrite_rules *rules, size_t n, rewrite_input_fn input, void *ctx, pm_sink_fn sink,
		void *sink_ctx, struct rewrite_result *result, struct error *e)
{
	struct rewrite w = { .rules = rules, .sink = sink, .sink_ctx = sink_ctx, .result.ended = true };
	int err = open_output(&w, e);

	for (size_t i = 0; i < n && !err; i++) {
		struct pm_reader *reader;
		const char *name;

		err = input(ctx, i, &reader, &name, e);
		if (err)
			break;
		err = take_input(&w, reader, e);
		if (err)
			error_prefix(e, "%s", name);
		pm_reader_close(reader);
	}
	if (!err)
		err = finish(&w, e);
	close_output(&w);
	*result = w.result;
	return err;
}
