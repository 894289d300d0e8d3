/* Rows and lines: which columns of the recording are printed as one number. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/stat/stat_shadow.h"

const enum pm_kind stat_aggr_kinds[STAT_AGGRS] = {
	[STAT_GLOBAL] = PM_SYSTEM, [STAT_NONE] = PM_CPU,        [STAT_THREAD] = PM_TASK, [STAT_SOCKET] = PM_PACKAGE,
	[STAT_DIE] = PM_DIE,       [STAT_CLUSTER] = PM_CLUSTER, [STAT_CACHE] = PM_CACHE, [STAT_CORE] = PM_CORE,
	[STAT_NODE] = PM_NODE,     [STAT_CGROUP] = PM_CGROUP,
};

static const struct pm_cpu *cpu_of(const struct stat_sheet *s, const struct pm_instance *i)
{
	return i->kind == PM_CPU ? places_cpu(s->places, i->number) :
	       i->cpu != PM_NONE ? places_cpu(s->places, i->cpu) :
				   NULL;
}

/* ---- filters ---- */

static bool has_id(const uint64_t *id, size_t n, uint64_t wanted)
{
	for (size_t i = 0; i < n; i++)
		if (id[i] == wanted)
			return true;
	return false;
}

static bool wanted_instance(const struct stat_sheet *s, const struct pm_instance *i)
{
	const struct stat_config *c = s->config;
	uint32_t cpu = i->kind == PM_CPU ? i->number : i->kind == PM_TASK ? PM_NONE : i->cpu;

	if (c->cpus.n && cpu != PM_NONE && !cpulist_has(&c->cpus, cpu))
		return false;
	if (c->aggr == STAT_CGROUP && i->kind == PM_CGROUP && !stat_wants_cgroup(c, stat_cgroup_name(i)))
		return false;
	if (!c->n_pids && !c->n_tids)
		return true;
	/* What counts for the whole system, such as time, counts for a task as well. */
	return i->kind == PM_SYSTEM ||
	       (i->kind == PM_TASK &&
		(has_id(c->id, c->n_pids, pm_map_u64(&i->attrs, PM_INSTANCE_PID, 0)) ||
		 has_id(c->id + c->n_pids, c->n_tids, pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0))));
}

/* ---- rows ---- */

/* The same place may be added many times; tidy_rows() keeps one. */
static int add_row(struct stat_sheet *s, const struct place *place, bool counted)
{
	if (array_room(&s->row, s->n_rows, sizeof(*s->row)))
		return -ENOMEM;
	s->row[s->n_rows++] = (struct stat_row){ .place = *place, .counted = counted };
	return 0;
}

/* Equal places by their CPUs, so that the first one stays. */
static int by_place(const void *a, const void *b)
{
	const struct place *x = &((const struct stat_row *)a)->place, *y = &((const struct stat_row *)b)->place;
	int order = place_compare(x, y);

	return order ? order : (x->first_cpu > y->first_cpu) - (x->first_cpu < y->first_cpu);
}

/* perf lists CPUs by number, and other places by socket, die and core. */
static int by_cpu(const void *a, const void *b)
{
	const struct place *x = &((const struct stat_row *)a)->place, *y = &((const struct stat_row *)b)->place;

	return x->first_cpu != y->first_cpu ? (x->first_cpu > y->first_cpu) - (x->first_cpu < y->first_cpu) :
					      place_compare(x, y);
}

static int by_place_of(const void *a, const void *b, void *rows)
{
	const struct stat_row *row = rows;

	return place_compare(&row[*(const uint32_t *)a].place, &row[*(const uint32_t *)b].place);
}

/* Keeps each place once, in order, with its label. */
static int tidy_rows(struct stat_sheet *s)
{
	uint32_t n = 0;

	qsort(s->row, s->n_rows, sizeof(*s->row), by_place);
	for (uint32_t i = 0; i < s->n_rows; i++)
		if (!n || place_compare(&s->row[n - 1].place, &s->row[i].place))
			s->row[n++] = s->row[i];
	s->n_rows = n;
	if (s->config->aggr == STAT_NONE)
		qsort(s->row, n, sizeof(*s->row), by_cpu);
	s->row_at = calloc(n, sizeof(*s->row_at));
	if (!s->row_at)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct buf label = BUF_INIT;

		stat_label_place(s, &s->row[i].place, &label);
		s->row[i].label = label.len ? buf_detach(&label) : strdup("");
		if (label.err || !s->row[i].label)
			return -ENOMEM;
		s->row_at[i] = i;
	}
	qsort_r(s->row_at, n, sizeof(*s->row_at), by_place_of, s->row);
	return 0;
}

/* ---- which track is in which line ---- */

/* The kind of place for which the event has lines. */
static enum pm_kind kind_for(const struct stat_sheet *s, const struct stat_event *ev)
{
	if (s->config->aggr == STAT_NONE && ev->percore && !s->config->show_thread)
		return PM_CORE;
	return stat_aggr_kinds[s->config->aggr];
}

static int find_row(const struct stat_sheet *s, const struct place *place)
{
	size_t at = ARRAY_PLACE(s->n_rows, i, place_compare(&s->row[s->row_at[i]].place, place) < 0);

	return at < s->n_rows && !place_compare(&s->row[s->row_at[at]].place, place) ? (int)s->row_at[at] : -1;
}

/* A cgroup has an instance for each CPU; its place is that of the first one. */
static bool place_of_cgroup(const struct stat_sheet *s, const struct pm_instance *i, struct place *place)
{
	const struct pm_model *m = s->places->model;

	for (uint32_t k = 0; k < m->n_instances; k++)
		if (m->instance[k].kind == PM_CGROUP && m->instance[k].number == i->number)
			return places_find(s->places, &m->instance[k], PM_CGROUP, place);
	return false;
}

/* The first place from k on whose CPU was counted, or the number of places. */
static uint32_t next_counted(const struct stat_sheet *s, uint32_t k)
{
	SCOPED(cpulist_release) struct cpulist asked = { 0 };
	const char *text = pm_map_text(&s->places->model->header, PM_HEADER_CPUS, NULL);

	if (text && cpulist_parse(&asked, text, false, NULL))
		cpulist_release(&asked);
	for (; k < s->places->n; k++) {
		uint32_t cpu = s->places->cpu[k].cpu;

		if ((!s->config->cpus.n || cpulist_has(&s->config->cpus, cpu)) &&
		    (!asked.n || cpulist_has(&asked, cpu)))
			break;
	}
	return k;
}

static struct pm_instance instance_of_cpu(const struct stat_sheet *s, uint32_t k)
{
	uint32_t cpu = k < s->places->n ? s->places->cpu[k].cpu : PM_NONE;

	return (struct pm_instance){ .kind = PM_CPU, .number = cpu, .cpu = cpu };
}

/* An event of a package is placed at the first CPU that has it. */
static bool place_of(const struct stat_sheet *s, const struct stat_event *ev, const struct pm_instance *i,
		     struct place *place)
{
	enum pm_kind kind = kind_for(s, ev);
	const struct pm_cpu *c = cpu_of(s, i);

	if (kind == PM_CPU && ev->per_pkg && c) {
		for (uint32_t k = 0; k < s->places->n; k++) {
			const struct pm_cpu *other = &s->places->cpu[k];
			struct pm_instance first = instance_of_cpu(s, k);

			if (other->package == c->package && other->die == c->die &&
			    (!s->config->cpus.n || cpulist_has(&s->config->cpus, other->cpu)))
				return places_find(s->places, &first, kind, place);
		}
	}
	if (kind == PM_TASK && i->kind != PM_TASK)
		return false;
	/* What the machine has once, such as time, is placed at the first CPU that is counted. */
	if (i->kind == PM_SYSTEM && kind != PM_SYSTEM && !(kind == PM_CPU && c)) {
		struct pm_instance first = instance_of_cpu(s, next_counted(s, 0));

		return places_find(s->places, &first, kind, place);
	}
	if (kind == PM_CGROUP)
		return i->kind == PM_CGROUP && place_of_cgroup(s, i, place);
	/* Events of a package are placed at the CPU that reads them; a cgroup's counts are taken CPU by CPU. */
	if (c && (kind == PM_CPU ? i->kind != PM_CPU : i->kind == PM_CGROUP && kind != PM_SYSTEM)) {
		struct pm_instance on = { .kind = PM_CPU, .number = c->cpu, .cpu = c->cpu };

		return places_find(s->places, &on, kind, place);
	}
	return places_find(s->places, i, kind, place);
}

/* The tracks of the replay by counter, and what was found of instances: with a thousand of each, searches matter. */
struct stat_finder {
	uint32_t *start; /* by counter id: first in track[]; one more at the end */
	uint32_t *track;
	/* By the slot of an instance, and one for those that came later. */
	struct found {
		uint32_t id, row; /* 1 + row; 0: not searched for yet */
		bool seen;        /* its row exists */
	} * found;
	uint32_t n_found;
};

static struct found *found_of(const struct stat_finder *f, const struct pm_instance *i)
{
	struct found *x = &f->found[i->slot < f->n_found ? i->slot : f->n_found];

	if (x->id != i->id)
		*x = (struct found){ .id = i->id };
	return x;
}

static void finder_free(struct stat_finder *f)
{
	if (!f)
		return;
	free(f->start);
	free(f->track);
	free(f->found);
	free(f);
}

static int finder_init(struct stat_finder *f, const struct stat_sheet *s)
{
	const struct pm_model *m = s->places->model;
	size_t n = replay_tracks(s->replay);

	f->start = calloc((size_t)m->n_counters + 3, sizeof(*f->start));
	f->track = calloc(n + 1, sizeof(*f->track));
	for (uint32_t i = 0; i < m->n_instances; i++)
		f->n_found = m->instance[i].slot < f->n_found ? f->n_found : m->instance[i].slot + 1;
	f->found = calloc((size_t)f->n_found + 1, sizeof(*f->found));
	if (!f->start || !f->track || !f->found)
		return -ENOMEM;
	/* start[c + 2] counts those of c; start[c + 1] is then where the next of c goes; at last start[c] holds. */
	for (size_t t = 0; t < n; t++)
		f->start[replay_track(s->replay, t).counter + 2]++;
	for (uint32_t c = 1; c < m->n_counters + 3; c++)
		f->start[c] += f->start[c - 1];
	for (size_t t = 0; t < n; t++)
		f->track[f->start[replay_track(s->replay, t).counter + 1]++] = (uint32_t)t;
	return 0;
}

static bool feeds(const struct stat_sheet *s, const struct stat_event *ev, size_t track, const struct pm_instance **i)
{
	*i = pm_model_instance(s->places->model, replay_track(s->replay, track).instance);
	return *i && (ev->in_cgroup == PM_NONE || ev->in_cgroup == stat_cgroup_of(*i)) && wanted_instance(s, *i);
}

/* Whether its instances are placed like those of other events. */
static bool is_plain(const struct stat_sheet *s, const struct stat_event *ev)
{
	return !ev->per_pkg && kind_for(s, ev) == stat_aggr_kinds[s->config->aggr];
}

static int find_rows(struct stat_sheet *s, struct stat_finder *f, uint32_t *nowhere)
{
	struct place system = PLACE_NOWHERE(PM_SYSTEM);
	bool counted =
		s->config->aggr != STAT_NONE && s->config->aggr != STAT_THREAD && s->config->aggr != STAT_CGROUP;
	const char *target = pm_map_text(&s->places->model->header, PM_HEADER_TARGET, "");
	uint32_t n = 0;
	int err = 0;

	if (s->config->aggr == STAT_GLOBAL)
		err = add_row(s, &system, false);
	for (uint32_t e = 0; e < s->n_events && s->config->aggr != STAT_GLOBAL; e++) {
		const struct stat_event *ev = &s->event[e];
		bool plain = is_plain(s, ev);

		for (uint32_t k = 0; k < ev->n_counters; k++) {
			for (uint32_t t = f->start[ev->counter[k]]; t < f->start[ev->counter[k] + 1] && !err; t++) {
				const struct pm_instance *i;
				struct place place;

				if (!feeds(s, ev, f->track[t], &i) || (plain && found_of(f, i)->seen))
					continue;
				if (place_of(s, ev, i, &place)) {
					err = add_row(s, &place,
						      counted && place.kind == stat_aggr_kinds[s->config->aggr]);
					found_of(f, i)->seen |= plain;
				} else {
					(*nowhere)++;
				}
			}
		}
	}
	/* There are lines even if no event is supported. */
	if (!s->n_rows && !*nowhere && s->config->aggr != STAT_THREAD && s->config->aggr != STAT_CGROUP &&
	    (!strcmp(target, "system") || !strcmp(target, "cpu")))
		n = s->places->n;
	for (uint32_t k = next_counted(s, 0); k < n && !err; k = next_counted(s, k + 1)) {
		struct pm_instance i = instance_of_cpu(s, k);
		struct place place;

		if (places_find(s->places, &i, stat_aggr_kinds[s->config->aggr], &place))
			err = add_row(s, &place, counted);
	}
	return err || !s->n_rows ? err : tidy_rows(s);
}

static int add_column(struct stat_sheet *s, struct stat_line *l, uint32_t track)
{
	struct track_info t = replay_track(s->replay, track);
	const struct pm_instance *i = pm_model_instance(s->places->model, t.instance);
	const struct pm_cpu *c = cpu_of(s, i);

	if (array_room(&s->column, s->n_columns, sizeof(*s->column)))
		return -ENOMEM;
	s->column[s->n_columns++] = (struct stat_column){
		.track = track,
		.counter = t.counter,
		.instance = t.instance,
		.package = c ? c->package : PM_NONE,
		.die = c ? c->die : PM_NONE,
		.cpu = i->kind == PM_CPU    ? i->number :
		       i->kind == PM_CGROUP ? i->cpu :
					      PM_NONE,
	};
	l->n++;
	return 0;
}

/* The tracks of an event, by row, so that lines of many CPUs do not search all of them. */
struct feed {
	uint32_t row;
	uint32_t track;
};

static int by_row(const void *a, const void *b)
{
	const struct feed *x = a, *y = b;

	return array_order(x->row, y->row, x->track, y->track);
}

/* 1 + the row of an instance; 0: it has none. */
static uint32_t row_of(const struct stat_sheet *s, const struct stat_event *ev, const struct pm_instance *i,
		       struct stat_finder *f)
{
	struct found *found = is_plain(s, ev) ? found_of(f, i) : NULL;
	struct place place;
	uint32_t row;

	if (found && found->row)
		return found->row;
	row = place_of(s, ev, i, &place) ? (uint32_t)(find_row(s, &place) + 1) : 0;
	if (found)
		found->row = row;
	return row;
}

uint32_t stat_row_of(const struct stat_sheet *s, const struct pm_counter *c, uint32_t cgroup,
		     const struct pm_instance *i)
{
	const struct stat_event like = { .per_pkg = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PER_PKG, false),
					 .percore = pm_map_bool(&c->attrs, PM_COUNTER_PERF_PERCORE, false) };

	if ((cgroup != PM_NONE && cgroup != stat_cgroup_of(i)) || !wanted_instance(s, i))
		return PM_NONE;
	return row_of(s, &like, i, s->finder) - 1;
}

static int add_lines(struct stat_sheet *s, uint32_t event, struct stat_line **at, struct feed *feed,
		     struct stat_finder *f)
{
	const struct stat_event *ev = &s->event[event];
	size_t n = 0;
	bool everywhere = s->config->aggr == STAT_NONE && ev->percore && s->config->show_thread, any = false;
	bool alone = false;
	int err = 0;

	for (uint32_t k = 0; k < ev->n_counters; k++) {
		for (uint32_t t = f->start[ev->counter[k]]; t < f->start[ev->counter[k] + 1]; t++) {
			const struct pm_instance *i;
			uint32_t row;

			any = true;
			if (!feeds(s, ev, f->track[t], &i) || !(row = row_of(s, ev, i, f)))
				continue;
			feed[n++] = (struct feed){ row - 1, f->track[t] };
			alone |= i->kind == PM_SYSTEM && s->row[row - 1].counted;
		}
	}
	qsort(feed, n, sizeof(*feed), by_row);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		struct stat_line *l = *at;
		size_t own_feed = ARRAY_PLACE(n, i, feed[i].row < r);

		*l = (struct stat_line){ .row = r,
					 .event = event,
					 .counter = ev->counter[0],
					 .cgroup = ev->in_cgroup,
					 .rank = stat_rank(ev),
					 .first = s->n_columns,
					 .total.reason = ev->invalid ? ev->invalid : PM_REASON_NOT_COUNTED };
		for (size_t k = everywhere ? 0 : own_feed; k < n && !err && (everywhere || feed[k].row == r); k++) {
			const struct place *p = &s->row[feed[k].row].place, *own = &s->row[r].place;

			/* The siblings of a core, each with the counts of all of them. */
			if (everywhere && (p->package != own->package || p->die != own->die || p->core != own->core))
				continue;
			err = add_column(s, l, feed[k].track);
		}
		/* An event that could not be opened anywhere has a line everywhere, a percore one only where CPUs
		 * have one; also one that counts at a single place. */
		if (l->n || ((!any || alone) && s->row[r].place.kind == kind_for(s, ev)))
			++*at;
	}
	return err;
}

/* perf goes event by event if it distinguishes CPUs or threads, and place by place if it sums. */
static int by_event(const void *a, const void *b)
{
	const struct stat_line *x = a, *y = b;

	return array_order(x->rank, y->rank, x->row, y->row);
}

static int by_row_then_event(const void *a, const void *b)
{
	const struct stat_line *x = a, *y = b;

	return array_order(x->row, y->row, x->rank, y->rank);
}

static int index_lines(struct stat_sheet *s)
{
	bool by_place_first = s->config->aggr != STAT_NONE && s->config->aggr != STAT_THREAD;

	if (s->n_lines)
		qsort(s->line, s->n_lines, sizeof(*s->line), by_place_first ? by_row_then_event : by_event);
	s->line_of = calloc((size_t)s->n_rows * s->n_events + 1, sizeof(*s->line_of));
	s->order = calloc((size_t)s->n_lines + 1, sizeof(*s->order));
	if (!s->line_of || !s->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_lines; i++) {
		s->line_of[(size_t)s->line[i].row * s->n_events + s->line[i].event] = i + 1;
		s->order[i] = i;
	}
	return 0;
}

/* ---- the whole ---- */

static void forget_pointers(struct stat_sheet *s)
{
	s->finder = NULL;
	s->row = NULL;
	s->row_at = NULL;
	s->line = NULL;
	s->line_of = s->order = NULL;
	s->column = NULL;
	s->n_rows = s->n_lines = s->n_columns = 0;
}

void stat_forget_layout(struct stat_sheet *s)
{
	for (uint32_t i = 0; i < s->n_rows; i++)
		free(s->row[i].label);
	for (uint32_t i = 0; i < s->n_lines; i++)
		buf_release(&s->line[i].history);
	free(s->row);
	free(s->row_at);
	free(s->line);
	free(s->line_of);
	free(s->order);
	free(s->column);
	finder_free(s->finder);
	forget_pointers(s);
}

int stat_declare(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	int err = 0;

	if ((err = stat_events_find(s, notes, e)) || (err = stat_shadow_bind(s, notes, e)))
		return err;
	if (!s->n_events && !s->shadow->n && s->places->model->n_counters)
		return error_set(e, ENOENT, "the recording has none of the events that these metrics need");
	for (uint32_t i = 0; i < s->n_events && !err; i++)
		for (uint32_t k = 0; k < s->event[i].n_counters && !err; k++)
			err = replay_want(s->replay, s->event[i].counter[k], 1u << TRACK_VALUE);
	return err ? error_sys(e, -err, "events") : 0;
}

/* The place of the event of a line as it was; s->n_events: there is none. */
static uint32_t same_event(const struct stat_sheet *s, const struct stat_line *was)
{
	for (uint32_t i = 0, at = was->event; i < s->n_events; i++, at++) {
		const struct stat_event *ev = &s->event[at %= s->n_events];

		if (ev->counter[0] == was->counter && ev->in_cgroup == was->cgroup)
			return at;
	}
	return s->n_events;
}

/* Columns are mostly in the same order as before. */
static void keep_losses(struct stat_sheet *s, const struct stat_line *l, const struct stat_column *was, uint32_t n)
{
	for (uint32_t i = 0, at = 0; i < n; i++)
		for (uint32_t k = 0; k < l->n && (was[i].lost || was[i].unseen_ns); k++, at++) {
			struct stat_column *c = &s->column[l->first + (at %= l->n)];

			if (c->counter != was[i].counter || c->instance != was[i].instance)
				continue;
			c->lost = was[i].lost;
			c->why = was[i].why;
			c->unseen_ns = was[i].unseen_ns;
			break;
		}
}

/* What was added up before the model grew continues. */
static void keep_sums(struct stat_sheet *s, struct stat_sheet *old)
{
	for (uint32_t k = 0; k < old->n_lines; k++) {
		struct stat_line *was = &old->line[k], *l;
		int row = find_row(s, &old->row[was->row].place);
		uint32_t event = row < 0 ? s->n_events : same_event(s, was);
		uint32_t at = event == s->n_events ? 0 : s->line_of[(size_t)row * s->n_events + event];

		if (!at)
			continue;
		l = &s->line[at - 1];
		l->total = was->total;
		l->value = was->value;
		l->enabled = was->enabled;
		l->running = was->running;
		l->history = was->history;
		was->history = (struct buf)BUF_INIT;
		keep_losses(s, l, old->column + was->first, was->n);
	}
}

static int no_rows(const struct stat_sheet *s, struct error *e)
{
	if (s->config->cpus.n || s->config->n_pids || s->config->n_tids)
		return error_set(
			e, ENOENT, "nothing was recorded for those CPUs or tasks%s",
			s->config->n_pids || s->config->n_tids ? " (ids are recorded with --privacy=full only)" : "");
	return error_set(e, ENOENT, "the events were not counted %s",
			 s->config->aggr == STAT_THREAD ? "by thread: -A or --per-core shows each CPU" :
			 s->config->aggr == STAT_CGROUP ? "by cgroup" :
							  "by CPU, but for tasks: --per-thread shows each");
}

int stat_lay_out(struct stat_sheet *s, struct buf *notes, struct error *e)
{
	struct feed *feed = calloc(replay_tracks(s->replay) + 1, sizeof(*feed));
	struct stat_sheet old = *s;
	struct stat_line *at;
	uint32_t nowhere = 0;
	struct stat_finder *f = calloc(1, sizeof(*f));
	int err;

	if (s->places == &s->own_places) {
		s->own_places = *s->shared;
		s->own_places.cache = s->cache_level == 2 ? PM_CACHE_L2 : PM_CACHE_L3;
	}
	forget_pointers(s);
	s->finder = f;
	err = feed && f ? finder_init(f, s) : -ENOMEM;
	err = err ? err : find_rows(s, f, &nowhere);
	at = s->line = calloc((size_t)s->n_rows * s->n_events + 1, sizeof(*s->line));
	err = err || s->line ? err : -ENOMEM;
	for (uint32_t i = 0; i < s->n_events && !err; i++)
		err = add_lines(s, i, &at, feed, f);
	if (!err) {
		s->n_lines = (uint32_t)(at - s->line);
		err = index_lines(s);
	}
	free(feed);
	if (err)
		return error_sys(e, -err, "laying out the report");
	keep_sums(s, &old);
	stat_forget_layout(&old);
	if ((!s->n_lines || (!s->n_columns && (s->config->cpus.n || s->config->n_pids || s->config->n_tids))) &&
	    !s->config->metrics.n && s->places->model->n_counters)
		return no_rows(s, e);
	s->laid_out = true;
	if (nowhere && s->n_rows && notes)
		buf_printf(notes, "%u columns do not fit this report and are left out\n", nowhere);
	return 0;
}
