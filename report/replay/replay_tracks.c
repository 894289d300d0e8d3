/* The layout of a replay: which columns of which groups feed which track, and room for the results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/array.h"
#include "common/parse.h"
#include "report/replay/replay_private.h"

#define ARENA_VALUES (1u << 18) /* results held at once, over all tracks: bounds memory, 4 MiB */
#define ARENA_ROOMY  (1u << 21) /* 32 MiB */
#define FEW_ROWS     8
#define HUGE_PAGE    (2u << 20) /* the usual size; a different one does no harm */
#define SECONDS_MOST (1u << 17) /* 1 MiB */

int replay_begin_tracks(struct replay *r, const struct pm_model *model)
{
	size_t n = (size_t)model->n_counters + 1;
	uint16_t *want = calloc(n, sizeof(*want));
	uint32_t *sum_of = want ? reallocarray(r->sum_of, n, sizeof(*sum_of)) : NULL;

	free(r->want);
	r->want = want;
	if (!sum_of)
		return -ENOMEM;
	r->sum_of = sum_of;
	for (size_t i = r->n_want; i < n; i++)
		sum_of[i] = 0;
	replay_set_feeds_aside(r);
	r->n_want = n;
	r->model = model;
	r->perf_scale = !r->config.no_scale && pm_map_bool(&model->header, PM_HEADER_SCALED, true);
	return 0;
}

int replay_want(struct replay *r, uint32_t counter, unsigned aspects)
{
	if (!counter || counter >= r->n_want)
		return -EINVAL;
	r->want[counter] |= (uint16_t)aspects;
	return 0;
}

static void track_describe(struct track *t, const struct pm_counter *c)
{
	t->type = (uint8_t)c->type;
	t->semantics = (uint8_t)(pm_map_bool(&c->attrs, PM_COUNTER_PERF_SNAPSHOT, false) ? PM_GAUGE : c->semantics);
	t->width = c->width && c->width < 64 ? c->width : 64;
	t->mul = (double)c->scale.num;
	t->div = (double)(c->scale.den ? c->scale.den : 1);
	if (c->scale.text && parse_double(c->scale.text, &t->mul))
		t->mul = 1;
	/* No double is exactly 1e-6, but 1000000 is one: 1996247569 / 1000000 is 1996.247569, times 1e-6 it is
	 * 1996.2475689999999. */
	if (t->mul > 1e-15 && t->mul < 1 && t->mul == 1 / (double)(uint64_t)(1 / t->mul + 0.5)) {
		t->div = (double)(uint64_t)(1 / t->mul + 0.5);
		t->mul = 1;
	}
	t->scaled = t->mul != 1 || t->div != 1;
}

static uint32_t package_of(const struct pm_model *m, uint32_t instance)
{
	const struct pm_instance *i = pm_model_instance(m, instance);
	const struct pm_cpu *cpu = pm_topology_cpu(&m->topology, i->cpu);

	return cpu ? cpu->package : i->kind == PM_PACKAGE ? i->number : PM_NONE;
}

static bool rule_before(const struct rule_row *row, uint32_t counter, uint32_t package)
{
	return row->counter != counter ? row->counter < counter : row->package < package;
}

/* The rule of a counter at an instance; NULL: none. */
static int rule_for(struct replay *r, const struct pm_counter *c, uint32_t instance, const struct counter_rule **rule)
{
	struct counter_rule found;
	struct rule_row *row;
	uint32_t package;
	size_t at;

	*rule = NULL;
	if (strcmp(c->source, "msr"))
		return 0;
	package = package_of(r->model, instance);
	at = ARRAY_PLACE(r->n_rules, i, rule_before(r->rule[i], c->id, package));
	if (at < r->n_rules && r->rule[at]->counter == c->id && r->rule[at]->package == package) {
		*rule = &r->rule[at]->rule;
		return 0;
	}
	if (!r->has_facts || r->facts_of != package) {
		cpu_facts_find_at(r->model, package, &r->facts);
		r->facts_of = package;
		r->has_facts = true;
	}
	if (!counter_rule(&r->facts, r->model, c, &found))
		return 0;
	/* Tracks point to them, so each stays where it is. */
	row = array_room(&r->rule, r->n_rules, sizeof(*r->rule)) ? NULL : malloc(sizeof(*row));
	if (!row)
		return -ENOMEM;
	*row = (struct rule_row){ c->id, package, found };
	memmove(&r->rule[at + 1], &r->rule[at], (r->n_rules - at) * sizeof(*r->rule));
	r->rule[at] = row;
	r->n_rules++;
	*rule = &row->rule;
	return 0;
}

static int describe_new(struct replay *r, struct track *t)
{
	const struct pm_counter *c = pm_model_counter(r->model, t->counter);
	const struct pm_instance *i = pm_model_instance(r->model, t->instance);
	const struct counter_rule *rule;
	int err;

	track_describe(t, c);
	t->counts_on = !(i->kind == PM_CPU || i->kind == PM_CORE || i->kind == PM_CLUSTER || i->kind == PM_TASK ||
			 i->kind == PM_CGROUP);
	t->uncore = i->kind == PM_PMU;
	if ((err = rule_for(r, c, t->instance, &rule)))
		return err;
	if (rule && !(t->more = calloc(1, sizeof(*t->more))))
		return -ENOMEM;
	if (rule)
		t->more->rule = rule;
	/* What appears in the middle was not there before: it has no part in the interval that its first reading
	 * begins in, unless it is known to have been 0. */
	if (r->begun && !r->fresh && t->semantics == PM_CUMULATIVE &&
	    pm_map_bool(&c->attrs, PM_COUNTER_FROM_ZERO, false)) {
		t->prev_time = i->added_ns;
		t->started = true;
	} else {
		t->before = r->begun ? PM_REASON_OFFLINE : 0;
	}
	if (!r->begun || !r->open || !r->now.duration_ns)
		return 0;
	if (!track_loss_of(t, r->rows))
		return -ENOMEM;
	t->loss->absent = r->now.duration_ns;
	r->losses = true;
	return 0;
}

static int64_t track_for(struct replay *r, uint32_t counter, uint32_t instance)
{
	uint32_t *key, track;
	int err;

	if (!(key = replay_find_key(r, counter, instance)))
		return -ENOMEM;
	if (*key && !r->track[*key - 1].ended)
		return (int64_t)*key - 1;
	if ((track = replay_add_track(r)) == PM_NONE)
		return -ENOMEM;
	r->track[track].counter = counter;
	r->track[track].instance = instance;
	*key = track + 1;
	r->used_keys++;
	err = describe_new(r, &r->track[track]);
	return err ? err : (int64_t)track;
}

bool replay_wants_group(const struct replay *r, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_counters; i++)
		if (g->counter[i] < r->n_want && r->want[g->counter[i]])
			return true;
	return false;
}

static int want_of(const struct replay *r, struct track *t)
{
	const unsigned rare =
		1u << TRACK_FIRST | 1u << TRACK_LAST | 1u << TRACK_MEAN | 1u << TRACK_MAX | 1u << TRACK_SPAN;

	t->aspects = (uint8_t)r->want[t->counter];
	if (t->aspects & rare && !t->more && !(t->more = calloc(1, sizeof(*t->more))))
		return -ENOMEM;
	return 0;
}

/* The feeds of the group that this one continues: those of remaining instances come first, in its order. NULL: there
 * is none, or they are not one per column. */
static const struct group_feeds *feeds_before(const struct replay *r, const struct pm_group *g, uint32_t counters)
{
	const struct pm_group *from = g->flags & PM_GROUP_LIST ? NULL : pm_model_group(r->model, g->continues);
	const struct group_feeds *f = from ? replay_feeds(r, from->id) : NULL;

	return f && f->n == counters * from->n_instances ? f : NULL;
}

/* The index that each instance has there; returns how many have one. */
static uint32_t places_before(const struct pm_group *g, const struct pm_group *from, uint32_t *place)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < from->n_instances && kept < g->n_instances; i++)
		if (from->instance[i] == g->instance[kept])
			place[kept++] = i;
	return kept;
}

static int feed_column(struct replay *r, const struct pm_group *g, uint32_t v, uint32_t *track)
{
	int64_t found = track_for(r, pm_group_counter_of(g, v), pm_group_instance_of(g, v));
	struct track *t = found < 0 ? NULL : &r->track[found];

	if (!t)
		return (int)found;
	if (want_of(r, t))
		return -ENOMEM;
	if (g->flags & PM_GROUP_PERF_TIMES && !t->times && !(t->times = calloc(1, sizeof(*t->times))))
		return -ENOMEM;
	t->group = t->group ? t->group : g->id;
	*track = (uint32_t)found;
	return 0;
}

static int feed_group(struct replay *r, const struct pm_group *g, struct group_feeds *f)
{
	uint32_t n = pm_group_values(g), per = g->flags & PM_GROUP_LIST ? 1 : g->n_instances;
	uint32_t counters = 0, kept = 0, *place = NULL, members = 0;
	const struct group_feeds *before;
	int err = 0;

	for (uint32_t k = 0; k < g->n_counters; k++) {
		unsigned want = r->want[g->counter[k]];

		counters += want != 0;
		f->timed |= (want & (1u << TRACK_RATE | 1u << TRACK_ELAPSED)) != 0;
	}
	if (!counters || !per)
		return 0;
	f->feed = malloc((size_t)counters * per * sizeof(*f->feed));
	if (!f->feed)
		return -ENOMEM;
	if ((before = feeds_before(r, g, counters))) {
		if (!(place = malloc(per * sizeof(*place))))
			return -ENOMEM;
		members = pm_model_group(r->model, g->continues)->n_instances;
		kept = places_before(g, pm_model_group(r->model, g->continues), place);
		err = doubt_continue(f, before, place, kept, pm_group_times(g));
	}
	for (uint32_t v = 0; v < n && !err; v++) {
		struct feed *x = &f->feed[f->n];

		if (!r->want[pm_group_counter_of(g, v)])
			continue;
		*x = (struct feed){ pm_group_head(g) + v, pm_group_time_of(g, v), 0 };
		if (v % per < kept) {
			x->track = before->feed[f->n / per * members + place[v % per]].track;
			if (r->track[x->track].group == before->group)
				r->track[x->track].group = g->id;
		} else {
			err = feed_column(r, g, v, &x->track);
		}
		f->n += !err;
	}
	free(place);
	return err;
}

/* Wanted columns of a group. */
static size_t wanted_of(const struct replay *r, const struct pm_group *g)
{
	size_t n = 0;

	for (uint32_t k = 0; k < g->n_counters; k++)
		n += r->want[g->counter[k]] ? (g->flags & PM_GROUP_LIST ? 1 : g->n_instances) : 0;
	return n;
}

/* Adds groups that are new in the model: after the others, unless it has forgotten some. */
static int add_groups(struct replay *r)
{
	const struct pm_model *m = r->model;
	uint32_t first = r->groups_seen;
	struct group_feeds *f;
	int err = 0;

	if (first > m->n_groups || (first && m->group[first - 1].id != r->last_seen))
		first = 0;
	/* Room for the columns of the largest group, which are often all there are; growing step by step would leave
	 * holes. */
	for (uint32_t i = first; i < m->n_groups && !r->n_tracks && !err; i++)
		err = replay_reserve_tracks(r, wanted_of(r, &m->group[i]));
	for (uint32_t i = first; i < m->n_groups && !err; i++)
		if (!m->group[i].retired && !replay_feeds(r, m->group[i].id)) {
			f = replay_add_group(r, &m->group[i]);
			err = f ? feed_group(r, &m->group[i], f) : -ENOMEM;
		}
	r->groups_seen = m->n_groups;
	r->last_seen = m->n_groups ? m->group[m->n_groups - 1].id : 0;
	return err;
}

static int reserve_counts(struct replay *r)
{
	if (!r->config.counts)
		return 0;
	free(r->counts);
	r->counts = malloc((r->n_tracks * r->rows + 1) * sizeof(*r->counts));
	return r->counts ? 0 : -ENOMEM;
}

/* Room for the times of the largest group, unless they are so many that computing them again costs less. */
static int reserve_seconds(struct replay *r)
{
	size_t most = 0;

	for (uint32_t i = 0; i < r->n_groups; i++) {
		const struct pm_group *g = pm_model_group(r->model, r->group[i].group);
		size_t n = r->group[i].timed ? (size_t)pm_group_times(g) * PM_CHUNK_ROWS : 0;

		if (n > most && n <= SECONDS_MOST)
			most = n;
	}
	if (r->seconds && most <= r->max_seconds)
		return 0;
	free(r->seconds);
	r->seconds = malloc((most + 1) * sizeof(*r->seconds));
	r->max_seconds = r->seconds ? most : 0;
	return r->seconds ? 0 : -ENOMEM;
}

/* Everything passes through all of it repeatedly: use large pages if it fills some and the system has them. */
static struct value *new_arena(size_t size)
{
	struct value *arena;

	if (size < HUGE_PAGE)
		return malloc(size);
	size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
	arena = aligned_alloc(HUGE_PAGE, size);
	if (arena)
		madvise(arena, size, MADV_HUGEPAGE);
	return arena;
}

/* From here on blocks have so many rows. */
static int change_rows(struct replay *r, size_t rows)
{
	if (rows == r->rows)
		return 0;
	r->rows = rows;
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track_loss *l = r->track[i].loss;

		if (!l)
			continue;
		r->track[i].loss = NULL;
		if (!track_loss_of(&r->track[i], rows)) {
			r->track[i].loss = l;
			return -ENOMEM;
		}
		l->at = r->track[i].loss->at;
		l->some = false;
		*r->track[i].loss = *l;
		free(l);
	}
	for (uint32_t i = 0; i < r->n_groups; i++) {
		free(r->group[i].doubt);
		r->group[i].doubt = NULL;
	}
	return 0;
}

static size_t rows_for(const struct replay *r, size_t values)
{
	return r->arrays ? values / (r->arrays + (r->config.counts ? 2 * r->n_tracks : 0)) : ARENA_ROWS;
}

static size_t choose_rows(const struct replay *r)
{
	size_t rows = rows_for(r, r->config.roomy ? ARENA_ROOMY : ARENA_VALUES);

	if (r->config.mode == REPLAY_TOTAL)
		return 1;
	/* With so many columns, memory goes elsewhere, and a few rows do not matter. */
	if (rows < FEW_ROWS)
		rows = rows_for(r, ARENA_VALUES / 2);
	rows = rows < 1 ? 1 : rows > ARENA_ROWS ? ARENA_ROWS : rows;
	return r->rows <= rows && rows < 2 * r->rows ? r->rows : rows;
}

static int place_results(struct replay *r)
{
	free(r->brief);
	r->brief = calloc(r->n_tracks + 1, sizeof(*r->brief));
	if (!r->brief)
		return -ENOMEM;
	r->arrays = 0;
	r->places++;
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track *t = &r->track[i];

		if (want_of(r, t))
			return -ENOMEM;
		r->brief[i] = (struct brief){ (uint32_t)r->arrays, t->aspects };
		r->arrays += (size_t)__builtin_popcount(t->aspects);
	}
	return 0;
}

static int reserve_results(struct replay *r)
{
	size_t n = r->arrays * r->rows + 1;

	if (n > r->cap_arena || n < r->cap_arena / 4) {
		free(r->arena);
		r->arena = new_arena(n * sizeof(*r->arena));
		r->cap_arena = r->arena ? n : 0;
	}
	return r->arena ? reserve_counts(r) : -ENOMEM;
}

int replay_lay_results(struct replay *r)
{
	int err = place_results(r);

	if (!err)
		err = reserve_results(r);
	r->placed = !err;
	return err;
}

int replay_end_tracks(struct replay *r)
{
	int err;

	if ((r->config.mode == REPLAY_TOTAL ? r->n_folded > r->n_tracks / 2 : r->config.forget) &&
	    (err = replay_drop_ended(r)))
		return err;
	if ((err = add_groups(r)))
		return err;
	replay_drop_retired(r);
	if ((err = joints_attach(r)) || (err = replay_end_retired(r)))
		return err;
	r->placed = false;
	if ((err = reserve_seconds(r)))
		return err;
	/* What comes and goes within an interval is not requested before its end. */
	if (r->config.mode == REPLAY_TOTAL && r->open)
		return 0;
	if ((err = place_results(r)) || (err = change_rows(r, choose_rows(r))) || (err = reserve_results(r)))
		return err;
	r->placed = true;
	return 0;
}

size_t replay_tracks(const struct replay *r)
{
	return r->n_tracks + r->n_past;
}

struct track_info replay_track(const struct replay *r, size_t track)
{
	const struct track_end *e = replay_past(r, track);
	const struct track *t = e ? NULL : &r->track[track];

	if (e)
		return (struct track_info){ e->counter, e->instance, e->aspects };
	return (struct track_info){ joints_own(&r->joints, track) ? 0 : t->counter, t->instance, t->aspects };
}

size_t replay_block(const struct replay *r)
{
	return r->rows;
}

const struct value *replay_values(const struct replay *r, size_t track, enum track_aspect aspect)
{
	const struct track_end *e = replay_past(r, track);
	const struct brief *t;
	uint32_t below;

	if (e)
		return e->aspects & 1u << aspect ? &e->v : NULL;
	t = &r->brief[track];
	below = t->aspects & ((1u << aspect) - 1);
	if (!(t->aspects & 1u << aspect))
		return NULL;
	/* Counting bits is a call on many processors, and mostly there is one aspect. */
	return r->arena + (t->slot + (below ? (size_t)__builtin_popcount(below) : 0)) * r->rows;
}

uint32_t replay_settled(const struct replay *r)
{
	return r->some_loss || r->some_doubt || r->n_past ? 0 : r->places;
}

const struct support *replay_support(const struct replay *r, size_t track)
{
	const struct track_end *e = replay_past(r, track);
	const struct track_loss *l = r->some_loss && !e ? r->track[track].loss : NULL;

	return e && e->some ? &e->at : l && l->some ? l->at : NULL;
}

uint16_t replay_never_known(const struct replay *r, size_t track)
{
	const struct track_loss *l = replay_past(r, track) ? NULL : r->track[track].loss;

	return l && !l->ever && !joints_own(&r->joints, track) ? l->last : 0;
}

const struct count *replay_counts(const struct replay *r, size_t track)
{
	return r->counts ? r->counts + track * r->rows : NULL;
}
