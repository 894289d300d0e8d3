/* The definitions of a copy: what the rules permit, with new ids, each once however many recordings repeat it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "report/copy/rewrite_private.h"

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
		const struct pm_counter *c = &in->counter[m->n_counters];
		int fate = REWRITE_KEEP;
		struct pm_counter copy;
		int64_t id = 0;

		if (array_hold(&m->counter, &m->cap_counters, m->n_counters + 1, sizeof(*m->counter)))
			return -ENOMEM;
		if (w->rules->counter) {
			if (pm_counter_copy(&copy, c))
				return -ENOMEM;
			fate = w->rules->counter(w->rules->ctx, &copy);
			if (fate == REWRITE_KEEP)
				id = counter_place(w, &copy, e);
			pm_counter_release(&copy);
		} else {
			id = counter_place(w, c, e);
		}
		if (fate < 0 || id < 0)
			return fate < 0 ? fate : (int)id;
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
		int fate = REWRITE_KEEP;
		int64_t id = 0;

		if (array_hold(&m->instance, &m->cap_instances, from->slot + 1ull, sizeof(*m->instance)))
			return -ENOMEM;
		if (pm_map_copy(&copy.attrs, &from->attrs))
			return -ENOMEM;
		if (w->rules->instance)
			fate = w->rules->instance(w->rules->ctx, &copy);
		if (copy.added_ns)
			copy.added_ns = rewrite_time(w, copy.added_ns);
		if (copy.retired_ns)
			copy.retired_ns = rewrite_time(w, copy.retired_ns);
		if (fate == REWRITE_KEEP) {
			id = instance_again(w, &copy);
			if (!id)
				id = pm_model_add_instance(&w->model, &copy);
		}
		pm_map_release(&copy.attrs);
		if (fate < 0 || id < 0)
			return fate < 0 ? fate : (int)id;
		m->instance[from->slot] = (struct rewrite_instance){ from->id, (uint32_t)id };
	}
	return 0;
}

/* ---- groups ---- */

/* Whether value column `v` of the input is copied. */
static bool wanted(const struct rewrite_maps *m, const struct pm_group *g, uint32_t v)
{
	return m->counter[pm_group_counter_of(g, v) - 1] && rewrite_instance_of(m, pm_group_instance_of(g, v));
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

/* Columns of the input in the order of the output: each kind of time for the instances that stay, then the values. */
static void list_columns(const struct rewrite_maps *m, const struct pm_group *g, struct rewrite_group *out)
{
	uint32_t times = pm_group_times(g), head = pm_group_head(g), values = pm_group_values(g);
	bool shared = g->flags & (PM_GROUP_LIST | PM_GROUP_SHARED_TIME);

	for (uint32_t c = 0; c < head; c++)
		if (shared || rewrite_instance_of(m, g->instance[c % times]))
			out->column[out->n_columns++] = c;
	out->n_head = out->n_columns;
	out->n_clocks = g->flags & PM_GROUP_PERF_TIMES ? out->n_head / 2 : out->n_head;
	for (uint32_t v = 0; v < values; v++)
		if (wanted(m, g, v))
			out->column[out->n_columns++] = head + v;
}

static bool is_special(const struct pm_counter *c)
{
	return pm_counter_texts(c) || c->semantics == PM_DELTA || c->semantics == PM_PEAK;
}

/* Columns for which copying is not enough: what they count, and what is added to them. */
static int note_special(const struct rewrite *w, const struct pm_model *in, const struct pm_group *g,
			struct rewrite_group *out)
{
	uint32_t head = pm_group_head(g);

	for (uint32_t i = out->n_head; i < out->n_columns; i++) {
		const struct pm_counter *c = pm_model_counter(in, pm_group_counter_of(g, out->column[i] - head));
		bool whole = w->rules->rebase && (c->type == PM_U64 || c->type == PM_S64);
		uint64_t offset = whole ? w->rules->rebase(w->rules->ctx, c) : 0;

		if (!offset && !is_special(c))
			continue;
		if (!out->special)
			out->special = calloc(out->n_columns, sizeof(*out->special));
		if (!out->carry)
			out->carry = calloc(out->n_columns, sizeof(*out->carry));
		if (offset && !out->rebase)
			out->rebase = calloc(out->n_columns, sizeof(*out->rebase));
		if (!out->special || !out->carry || (offset && !out->rebase))
			return -ENOMEM;
		out->special[i] = c->id;
		if (offset)
			out->rebase[i] = offset;
	}
	return 0;
}

static bool has_texts(const struct pm_model *in, const struct pm_group *g)
{
	for (uint32_t i = 0; i < g->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(in, g->counter[i]);

		if (pm_counter_texts(c))
			return true;
	}
	return false;
}

/* Whether all values of the group stay as they are, or have something added. */
static int note_moves(const struct rewrite *w, struct rewrite_group *out)
{
	out->whole = !w->rules->shift_ns && !out->rebase;
	if (out->whole)
		return 0;
	out->add = calloc(out->n_columns, sizeof(*out->add));
	for (uint32_t k = 0; out->add && k < out->n_columns; k++)
		out->add[k] = k < out->n_clocks ? w->rules->shift_ns : out->rebase ? out->rebase[k] : 0;
	return out->add ? 0 : -ENOMEM;
}

/* The group of the output that this one continues there, too; 0: none. */
static uint32_t continued(const struct rewrite *w, const struct pm_group *g, const struct pm_group *copy)
{
	const struct rewrite_group *from = g->continues ? rewrite_group_of(w, g->continues) : NULL;
	const struct pm_group *old = from ? pm_model_group(&w->model, from->id) : NULL;

	return old && old->flags == copy->flags && old->n_counters == copy->n_counters &&
			       !memcmp(old->counter, copy->counter, copy->n_counters * sizeof(*copy->counter)) ?
		       old->id :
		       0;
}

static void group_release(struct rewrite_group *g)
{
	free(g->column);
	free(g->special);
	free(g->carry);
	free(g->rebase);
	free(g->add);
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
	if (w->rules->group) {
		err = w->rules->group(w->rules->group_ctx, in, g);
		if (err < 0 || err == REWRITE_DROP)
			return err < 0 ? err : 0;
		out->blank = err == REWRITE_BLANK;
		err = 0;
	}
	copy.source = strdup(g->source);
	if (copy.source && w->rules->source)
		err = w->rules->source(w->rules->ctx, &copy.source);
	copy.counter = calloc(g->n_counters + 1, sizeof(*copy.counter));
	copy.instance = calloc(g->n_instances + 1, sizeof(*copy.instance));
	out->column = calloc(pm_group_columns(g) + 1, sizeof(*out->column));
	if (err || !copy.source || !copy.counter || !copy.instance || !out->column) {
		err = err ? err : -ENOMEM;
	} else if (g->flags & PM_GROUP_LIST) {
		copy.n_counters = copy.n_instances = 0;
		for (uint32_t v = 0; v < g->n_counters; v++) {
			if (!wanted(m, g, v))
				continue;
			copy.counter[copy.n_counters++] = m->counter[g->counter[v] - 1];
			copy.instance[copy.n_instances++] = rewrite_instance_of(m, g->instance[v]);
		}
	} else {
		copy.n_counters = copy.n_instances = 0;
		for (uint32_t i = 0; i < g->n_counters; i++)
			if (m->counter[g->counter[i] - 1])
				copy.counter[copy.n_counters++] = m->counter[g->counter[i] - 1];
		for (uint32_t i = 0; i < g->n_instances; i++) {
			copy.instance[copy.n_instances] = rewrite_instance_of(m, g->instance[i]);
			copy.n_instances += copy.instance[copy.n_instances] != 0;
		}
	}
	if (!err && copy.n_counters && copy.n_instances) {
		list_columns(m, g, out);
		err = note_special(w, in, g, out);
		copy.continues = continued(w, g, &copy);
		/* That one retires, and may be among the rows that wait. */
		if (!err && copy.continues)
			err = rewrite_rows_flush(w);
		if (copy.continues) {
			out->stretch = rewrite_group_of(w, g->continues)->stretch;
			rewrite_group_of(w, g->continues)->stretch = 0;
		}
		id = err ? err : group_place(w, &copy);
		if (!err && !out->blank && out->n_columns == pm_group_columns(g) && !has_texts(in, g))
			err = note_moves(w, out);
		if (id < 0)
			err = (int)id;
		else
			out->id = (uint32_t)id;
	}
	pm_group_release(&copy);
	return err;
}

static void end_stretch(struct rewrite *w, struct rewrite_group *g)
{
	w->n_stretch -= g->stretch == w->stretch;
	g->stretch = 0;
}

static int map_groups(struct rewrite *w, const struct pm_model *in)
{
	struct rewrite_maps *m = &w->maps;

	for (; m->seen_groups < in->n_groups; m->seen_groups++) {
		const struct pm_group *from = &in->group[m->seen_groups];
		int err;

		if (array_hold(&m->group, &m->cap_groups, from->slot + 1ull, sizeof(*m->group)))
			return -ENOMEM;
		/* Counted in any case, so that its arrays are freed. */
		m->n_groups = m->n_groups > from->slot + 1 ? m->n_groups : from->slot + 1;
		end_stretch(w, &m->group[from->slot]);
		group_release(&m->group[from->slot]);
		m->group[from->slot].from = from->id;
		err = map_group(w, in, from, &m->group[from->slot]);
		if (err)
			return err;
	}
	return 0;
}

int rewrite_retire_groups(struct rewrite *w, const struct pm_model *in)
{
	int err = 0;

	for (uint32_t i = 0; i < in->n_groups && !err; i++) {
		struct rewrite_group *to = in->group[i].retired ? rewrite_group_of(w, in->group[i].id) : NULL;

		if (to)
			end_stretch(w, to);
		if (!to || !to->id || !pm_model_group(&w->model, to->id) ||
		    pm_model_group(&w->model, to->id)->retired)
			continue;
		/* They may be among the rows that wait. */
		err = rewrite_rows_flush(w);
		if (!err)
			err = pm_model_retire_group(&w->model, to->id);
	}
	return err;
}

/* ---- what has no ids ---- */

static int copy_topology(struct rewrite *w, const struct pm_model *in)
{
	struct pm_model scratch;
	int r;

	if (!in->topology.time_ns || in->topology.time_ns == w->maps.topology_ns)
		return 0;
	w->maps.topology_ns = in->topology.time_ns;
	pm_model_init(&scratch);
	r = pm_model_set_topology(&scratch, &in->topology);
	scratch.topology.time_ns = rewrite_time(w, scratch.topology.time_ns);
	if (!r && w->rules->topology)
		r = w->rules->topology(w->rules->ctx, &scratch.topology);
	if (r == REWRITE_KEEP)
		r = pm_model_set_topology(&w->model, &scratch.topology);
	pm_model_release(&scratch);
	return r < 0 ? r : 0;
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

	for (; w->maps.n_pmus < in->n_pmus && r >= 0; w->maps.n_pmus++) {
		struct pm_pmu copy = { 0 };

		r = pm_map_copy(&copy.attrs, &in->pmu[w->maps.n_pmus].attrs);
		if (!r && w->rules->pmu)
			r = w->rules->pmu(w->rules->ctx, &copy);
		if (r == REWRITE_KEEP && !pmu_again(w, &copy))
			r = pm_model_add_pmu(&w->model, &copy);
		pm_map_release(&copy.attrs);
	}
	return r < 0 ? r : 0;
}

static bool probe_again(const struct rewrite *w, const struct pm_probe *p)
{
	for (uint32_t i = 0; w->recordings && i < w->model.n_probes; i++) {
		const struct pm_probe *old = &w->model.probe[i];

		if (old->reason == p->reason && !strcmp(old->source, p->source) && !strcmp(old->what, p->what))
			return true;
	}
	return false;
}

static int copy_probes(struct rewrite *w, const struct pm_model *in)
{
	int r = 0;

	for (; w->maps.n_probes < in->n_probes && r >= 0; w->maps.n_probes++) {
		struct pm_probe copy;

		r = pm_probe_copy(&copy, &in->probe[w->maps.n_probes]);
		if (r)
			return r;
		if (w->rules->probe)
			r = w->rules->probe(w->rules->ctx, &copy);
		if (r == REWRITE_KEEP && !probe_again(w, &copy))
			r = pm_model_add_probe(&w->model, &copy);
		pm_probe_release(&copy);
	}
	return r < 0 ? r : 0;
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

static int copy_config(struct rewrite *w, const struct pm_config *from)
{
	struct pm_config copy;
	int r = pm_config_copy(&copy, from);

	if (r)
		return r;
	copy.time_ns = rewrite_time(w, copy.time_ns);
	if (w->rules->config)
		r = w->rules->config(w->rules->ctx, &copy);
	if (r == REWRITE_KEEP && !config_again(w, &copy))
		r = pm_model_add_config(&w->model, &copy);
	pm_config_release(&copy);
	return r < 0 ? r : 0;
}

static int copy_configs(struct rewrite *w, const struct pm_model *in)
{
	int r = 0;

	for (; w->maps.n_configs < in->n_configs && !r; w->maps.n_configs++)
		r = copy_config(w, &in->config[w->maps.n_configs]);
	return r;
}

static int add_history(struct pm_map *header, const char *text)
{
	const struct pm_value *old = pm_map_get(header, PM_HEADER_HISTORY);
	uint32_t n = old && old->kind == PM_VALUE_ARRAY ? old->array.n : 0;
	struct pm_value list = pm_array(n + 1);
	int err = list.array.item ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !err; i++)
		err = pm_value_copy(&list.array.item[i], &old->array.item[i]);
	if (!err) {
		list.array.item[n] = pm_text(text);
		return pm_map_set(header, PM_HEADER_HISTORY, list);
	}
	pm_value_release(&list);
	return err;
}

/* That of the first recording: it is written once, and first. */
static int copy_header(struct rewrite *w, const struct pm_model *in)
{
	uint64_t interval = pm_map_u64(&in->header, PM_HEADER_INTERVAL, 0);
	int r;

	if (w->recordings || w->model.header.n || !in->header.n)
		return 0;
	r = pm_map_copy(&w->model.header, &in->header);
	if (!r && w->rules->every > 1 && interval)
		r = pm_map_set(&w->model.header, PM_HEADER_INTERVAL,
			       pm_u64(interval > UINT64_MAX / w->rules->every || w->rules->every == UINT32_MAX ?
					      0 /* start and end only */
					      :
					      interval * w->rules->every));
	if (!r && w->rules->history)
		r = add_history(&w->model.header, w->rules->history);
	if (!r && w->rules->header)
		r = w->rules->header(w->rules->ctx, &w->model.header);
	return r > 0 ? -EINVAL : r;
}

int rewrite_model(struct rewrite *w, const struct pm_model *in, struct error *e)
{
	int err = copy_header(w, in);

	w->maps.in = in;
	if (!err)
		err = copy_topology(w, in);
	if (!err)
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

void rewrite_maps_release(struct rewrite_maps *m)
{
	for (uint32_t i = 0; i < m->n_groups; i++)
		group_release(&m->group[i]);
	free(m->counter);
	free(m->instance);
	free(m->string);
	free(m->group);
	*m = (struct rewrite_maps){ 0 };
}
