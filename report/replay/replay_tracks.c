/* What is wanted of a recording: which columns of which groups feed which track, and room for the results. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/parse.h"
#include "report/replay/replay_private.h"

#define ARENA_VALUES (1u << 18) /* results held at once, over all tracks: bounds memory, 4 MiB */
#define FEW_ROWS     8
#define HUGE_PAGE    (2u << 20) /* of most machines; elsewhere it does no harm */
#define SECONDS_MOST (1u << 17) /* 1 MiB */

void replay_forget_feeds(struct replay *r)
{
	for (uint32_t i = 0; i < r->n_groups; i++)
		free(r->group[i].feed), free(r->group[i].spans), free(r->group[i].doubt);
	free(r->group);
	r->group = NULL;
	r->n_groups = 0;
}

int replay_begin_tracks(struct replay *r, const struct pm_model *model)
{
	unsigned char *want = calloc((size_t)model->n_counters + 1, 1);

	if (!want)
		return -ENOMEM;
	free(r->want);
	r->want = want;
	r->n_want = (size_t)model->n_counters + 1;
	r->model = model;
	r->perf_scale = !r->config.no_scale && pm_map_bool(&model->header, PM_HEADER_SCALED, true);
	return 0;
}

int replay_want(struct replay *r, uint32_t counter, unsigned aspects)
{
	if (!counter || counter >= r->n_want)
		return -EINVAL;
	r->want[counter] |= (unsigned char)aspects;
	return 0;
}

/* The place of a column's track, or the free one where it would go. */
static size_t key_place(const struct replay *r, uint32_t counter, uint32_t instance)
{
	uint64_t key = (uint64_t)counter << 32 | instance;
	size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 20) & (r->n_keys - 1);

	for (; r->key[i]; i = (i + 1) & (r->n_keys - 1)) {
		const struct track *t = &r->track[r->key[i] - 1];

		if (t->counter == counter && t->instance == instance)
			break;
	}
	return i;
}

static int grow_keys(struct replay *r)
{
	size_t n = 1024;
	uint32_t *key;

	while (n <= r->n_tracks * 2)
		n *= 2;
	key = calloc(n, sizeof(*key));
	if (!key)
		return -ENOMEM;
	free(r->key);
	r->key = key;
	r->n_keys = n;
	for (size_t i = 0; i < r->n_tracks; i++)
		if (!joints_own(&r->joints, i))
			key[key_place(r, r->track[i].counter, r->track[i].instance)] = (uint32_t)i + 1;
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
	/* No double is 1e-6, but one is 1000000: 1996247569 / 1000000 is 1996.247569, times 1e-6 it is
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

/* The rule of a counter at an instance; NULL: none. */
static int rule_for(struct replay *r, const struct pm_counter *c, uint32_t instance, const struct counter_rule **rule)
{
	struct counter_rule found;
	struct rule_row **rows;
	uint32_t package;

	*rule = NULL;
	if (strcmp(c->source, "msr"))
		return 0;
	package = package_of(r->model, instance);
	for (size_t i = 0; i < r->n_rules; i++) {
		if (r->rule[i]->counter == c->id && r->rule[i]->package == package) {
			*rule = &r->rule[i]->rule;
			return 0;
		}
	}
	if (!r->has_facts || r->facts_of != package) {
		cpu_facts_find_at(r->model, package, &r->facts);
		r->facts_of = package;
		r->has_facts = true;
	}
	if (!counter_rule(&r->facts, r->model, c, &found))
		return 0;
	rows = realloc(r->rule, (r->n_rules + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	r->rule = rows;
	rows[r->n_rules] = malloc(sizeof(**rows));
	if (!rows[r->n_rules])
		return -ENOMEM;
	*rows[r->n_rules] = (struct rule_row){ c->id, package, found };
	*rule = &rows[r->n_rules++]->rule;
	return 0;
}

static int64_t track_for(struct replay *r, uint32_t counter, uint32_t instance)
{
	const struct counter_rule *rule;
	enum pm_kind kind;
	struct track *t;
	size_t i;
	int err;

	if (r->n_tracks * 2 >= r->n_keys && (err = grow_keys(r)))
		return err;
	i = key_place(r, counter, instance);
	if (r->key[i])
		return r->key[i] - 1;
	if (r->n_tracks == r->cap_tracks) {
		size_t cap = r->cap_tracks + r->cap_tracks / 2 + 64;

		t = realloc(r->track, cap * sizeof(*t));
		if (!t)
			return -ENOMEM;
		r->track = t;
		r->cap_tracks = cap;
	}
	t = &r->track[r->n_tracks];
	*t = (struct track){ .counter = counter, .instance = instance };
	track_describe(t, pm_model_counter(r->model, counter));
	kind = pm_model_instance(r->model, instance)->kind;
	t->counts_on =
		!(kind == PM_CPU || kind == PM_CORE || kind == PM_CLUSTER || kind == PM_TASK || kind == PM_CGROUP);
	t->uncore = kind == PM_PMU;
	if ((err = rule_for(r, pm_model_counter(r->model, counter), instance, &rule)))
		return err;
	if (rule && !(t->more = calloc(1, sizeof(*t->more))))
		return -ENOMEM;
	if (rule)
		t->more->rule = rule;
	/* What appears in the middle was not there before: it has no part in what its first reading begins, unless
	 * it is known to have stood at 0. */
	if (r->begun && !r->fresh && t->semantics == PM_CUMULATIVE &&
	    pm_map_bool(&pm_model_counter(r->model, counter)->attrs, PM_COUNTER_FROM_ZERO, false)) {
		t->prev_time = pm_model_instance(r->model, instance)->added_ns;
		t->started = true;
	} else {
		t->before = r->begun ? PM_REASON_OFFLINE : 0;
	}
	if (r->begun && r->open && r->now.duration_ns) {
		t->loss = calloc(1, sizeof(*t->loss));
		if (!t->loss)
			return -ENOMEM;
		t->loss->absent = r->now.duration_ns;
		r->some_loss = true;
	}
	r->key[i] = (uint32_t)++r->n_tracks;
	return (int64_t)r->n_tracks - 1;
}

bool replay_wants_group(const struct replay *r, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_counters; i++)
		if (g->counter[i] < r->n_want && r->want[g->counter[i]])
			return true;
	return false;
}

static int feed_group(struct replay *r, const struct pm_group *g, struct group_feeds *f)
{
	uint32_t n = pm_group_values(g), wanted = 0;

	f->known = true;
	for (uint32_t v = 0; v < n; v++)
		wanted += r->want[pm_group_counter_of(g, v)] != 0;
	if (!wanted)
		return 0;
	f->feed = malloc(wanted * sizeof(*f->feed));
	if (!f->feed)
		return -ENOMEM;
	for (uint32_t v = 0; v < n; v++) {
		uint32_t counter = pm_group_counter_of(g, v);
		int64_t track;

		if (!r->want[counter])
			continue;
		f->timed |= (r->want[counter] & (1u << TRACK_RATE | 1u << TRACK_ELAPSED)) != 0;
		track = track_for(r, counter, pm_group_instance_of(g, v));
		if (track < 0)
			return (int)track;
		f->feed[f->n++] = (struct feed){ pm_group_head(g) + v, pm_group_time_of(g, v), (uint32_t)track };
		if (g->flags & PM_GROUP_PERF_TIMES && !r->track[track].times &&
		    !(r->track[track].times = calloc(1, sizeof(*r->track[track].times))))
			return -ENOMEM;
		r->track[track].perf = r->perf_scale && (g->flags & PM_GROUP_PERF_TIMES);
	}
	return 0;
}

/* Room for the columns of the largest group, which are often all there are; growing step by step would leave holes.
 */
static int reserve_tracks(struct replay *r)
{
	struct track *t;
	size_t most = 0;

	for (uint32_t i = 0; i < r->model->n_groups; i++) {
		const struct pm_group *g = &r->model->group[i];
		size_t n = 0;

		for (uint32_t k = 0; k < g->n_counters; k++)
			n += r->want[g->counter[k]] ? (g->flags & PM_GROUP_LIST ? 1 : g->n_instances) : 0;
		most = n > most ? n : most;
	}
	if (most <= r->cap_tracks)
		return 0;
	t = realloc(r->track, most * sizeof(*t));
	if (!t)
		return -ENOMEM;
	r->track = t;
	r->cap_tracks = most;
	return 0;
}

static int reserve_counts(struct replay *r)
{
	if (!r->config.counts)
		return 0;
	free(r->counts);
	r->counts = malloc((r->n_tracks * r->rows + 1) * sizeof(*r->counts));
	return r->counts ? 0 : -ENOMEM;
}

/* Room for the times of the largest group, unless they are so many that working them out again costs less. */
static int reserve_seconds(struct replay *r)
{
	size_t most = 0;

	for (uint32_t i = 0; i < r->model->n_groups; i++) {
		const struct pm_group *g = &r->model->group[i];
		size_t n = (size_t)pm_group_times(g) * PM_CHUNK_ROWS;

		if (g->id <= r->n_groups && r->group[g->id - 1].timed && n > most && n <= SECONDS_MOST)
			most = n;
	}
	free(r->seconds);
	r->seconds = malloc((most + 1) * sizeof(*r->seconds));
	r->max_seconds = r->seconds ? most : 0;
	return r->seconds ? 0 : -ENOMEM;
}

/* Everybody goes through all of it again and again: in large pages if it fills some and the system has them. */
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

/* Blocks have become longer or shorter. */
static int reserve_losses(struct replay *r)
{
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track_loss *l = r->track[i].loss;
		struct support *at = l ? calloc(r->rows, sizeof(*at)) : NULL;

		if (!l)
			continue;
		if (!at)
			return -ENOMEM;
		free(l->at);
		l->at = at;
		l->some = false;
	}
	return 0;
}

static size_t rows_for(const struct replay *r, size_t values)
{
	return r->arrays ? values / (r->arrays + (r->config.counts ? 2 * r->n_tracks : 0)) : ARENA_ROWS;
}

static int place_results(struct replay *r)
{
	free(r->brief);
	free(r->doubt);
	r->doubt = NULL;
	r->some_doubt = false;
	r->brief = calloc(r->n_tracks + 1, sizeof(*r->brief));
	if (!r->brief)
		return -ENOMEM;
	r->arrays = 0;
	for (size_t i = 0; i < r->n_tracks; i++) {
		struct track *t = &r->track[i];
		unsigned rare =
			1u << TRACK_FIRST | 1u << TRACK_LAST | 1u << TRACK_MEAN | 1u << TRACK_MAX | 1u << TRACK_SPAN;

		t->aspects = r->want[t->counter];
		t->slot = (uint32_t)r->arrays;
		r->brief[i] = (struct brief){ t->slot, t->aspects };
		r->arrays += (size_t)__builtin_popcount(t->aspects);
		if (t->aspects & rare && !t->more && !(t->more = calloc(1, sizeof(*t->more))))
			return -ENOMEM;
	}
	return 0;
}

static int reserve_results(struct replay *r)
{
	free(r->arena);
	r->arena = new_arena((r->arrays * r->rows + 1) * sizeof(*r->arena));
	return r->arena ? reserve_counts(r) : -ENOMEM;
}

int replay_lay_results(struct replay *r)
{
	int err = joints_attach(r);

	if (!err)
		err = place_results(r);
	return err ? err : reserve_results(r);
}

void track_release(struct track *t)
{
	free(t->times);
	free(t->more);
	if (t->loss)
		free(t->loss->at);
	free(t->loss);
}

/* Who has gone was missing in the interval before already. */
static void drop_gone(struct replay *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_tracks; i++) {
		const struct pm_instance *in = pm_model_instance(r->model, r->track[i].instance);

		if (in && in->retired_ns && (in->kind == PM_TASK || in->kind == PM_CGROUP) &&
		    r->track[i].seen != r->chunk)
			track_release(&r->track[i]);
		else
			r->track[n++] = r->track[i];
	}
	r->n_tracks = n;
	r->joints.n_links = 0;
}

int replay_end_tracks(struct replay *r)
{
	int err;

	replay_forget_feeds(r);
	if (r->config.forget && r->config.mode != REPLAY_TOTAL && !r->open && !r->joints.n)
		drop_gone(r);
	r->group = calloc((size_t)r->model->last_group + 1, sizeof(*r->group));
	if (!r->group || (err = reserve_tracks(r)))
		return -ENOMEM;
	r->n_groups = r->model->last_group;
	for (uint32_t i = 0; i < r->model->n_groups; i++)
		if (!r->model->group[i].retired &&
		    (err = feed_group(r, &r->model->group[i], &r->group[r->model->group[i].id - 1])))
			return err;
	if ((err = joints_attach(r)))
		return err;
	free(r->key);
	r->key = NULL;
	r->n_keys = 0;
	if ((err = place_results(r)))
		return err;
	r->rows = rows_for(r, ARENA_VALUES);
	/* So many columns take memory elsewhere, and a few rows more or less make no difference. */
	if (r->rows < FEW_ROWS)
		r->rows = rows_for(r, ARENA_VALUES / 2);
	r->rows = r->rows < 1 ? 1 : r->rows > ARENA_ROWS ? ARENA_ROWS : r->rows;
	if ((err = reserve_seconds(r)) || (err = reserve_losses(r)))
		return err;
	gather_release(&r->gather);
	return reserve_results(r);
}

size_t replay_tracks(const struct replay *r)
{
	return r->n_tracks;
}

struct track_info replay_track(const struct replay *r, size_t track)
{
	const struct track *t = &r->track[track];

	return (struct track_info){ joints_own(&r->joints, track) ? 0 : t->counter, t->instance, t->aspects };
}

size_t replay_block(const struct replay *r)
{
	return r->rows;
}

const struct value *replay_values(const struct replay *r, size_t track, enum track_aspect aspect)
{
	const struct brief *t = &r->brief[track];
	uint32_t below = t->aspects & ((1u << aspect) - 1);

	if (!(t->aspects & 1u << aspect))
		return NULL;
	/* Counting bits is a call on many processors, and mostly there is one aspect. */
	return r->arena + (t->slot + (below ? (size_t)__builtin_popcount(below) : 0)) * r->rows;
}

const struct support *replay_support(const struct replay *r, size_t track)
{
	const struct track_loss *l = r->some_loss ? r->track[track].loss : NULL;

	return l && l->some ? l->at : NULL;
}

uint16_t replay_never_known(const struct replay *r, size_t track)
{
	const struct track_loss *l = r->track[track].loss;

	return l && !l->ever && !joints_own(&r->joints, track) ? l->last : 0;
}

const struct count *replay_counts(const struct replay *r, size_t track)
{
	return r->counts ? r->counts + track * r->rows : NULL;
}
