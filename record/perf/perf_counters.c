/* What the recording says about each event. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/perf/perf_class.h"
#include "record/perf/perf_source.h"
#include "record/plan/add.h"

struct attr_value {
	uint32_t key;
	struct pm_value v;
	bool wanted;
};

static uint16_t reason_of(const struct perf_event *e)
{
	return e->reason ? e->reason : perf_reason(e->err);
}

static int set_attrs(struct pm_counter *c, const struct perf_event *e, const struct plan *p,
		     const struct perf_group *g, uint32_t position)
{
	const struct event *ev = e->ev;
	const struct bpf_group *bpf = g ? g->bpf : NULL;
	const char *program = bpf ? bpf_group_name(bpf) : NULL;
	struct attr_value all[] = {
		{ PM_COUNTER_REQUESTED, pm_bool(true), e->requested },
		{ PM_COUNTER_PERF_ATTR, pm_bytes(e->attr.bytes, e->attr.a.size), true },
		{ PM_COUNTER_PERF_PMU, pm_text(ev->pmu), true },
		{ PM_COUNTER_PERF_EVENT, pm_text(ev->name), true },
		{ PM_COUNTER_PERF_GROUP, pm_u64(g ? g->number : 0), g != NULL },
		{ PM_COUNTER_PERF_POSITION, pm_u64(position), g != NULL },
		{ PM_COUNTER_PERF_WEAK, pm_bool(true), ev->mods & EVENT_MOD_WEAK },
		{ PM_COUNTER_PERF_PINNED, pm_bool(true), ev->mods & EVENT_MOD_PINNED },
		{ PM_COUNTER_PERF_PER_PKG, pm_bool(true), ev->per_pkg },
		{ PM_COUNTER_PERF_SNAPSHOT, pm_bool(true), ev->snapshot },
		{ PM_COUNTER_PERF_PERCORE, pm_bool(true), ev->percore },
		{ PM_COUNTER_PERF_WILDCARD, pm_u64(ev->wildcard), ev->wildcard },
		{ PM_COUNTER_PERF_METRIC_ID, pm_text(ev->metric_id ? ev->metric_id : ""), ev->metric_id },
		{ PM_COUNTER_PERF_GROUP_NAME, pm_text(ev->group_name ? ev->group_name : ""), ev->group_name },
		{ PM_COUNTER_PERF_USER_TEXT, pm_text(ev->text), true },
		{ PM_COUNTER_PERF_PARSED, pm_u64(ev->parsed), true },
		{ PM_COUNTER_PERF_INVALID, pm_u64(reason_of(e)), e->err && !g },
		{ PM_COUNTER_PERF_BPF, pm_text(bpf ? bpf_group_text(bpf) : ""), bpf != NULL },
		{ PM_COUNTER_PERF_PROGRAM, pm_text(program ? program : ""), program != NULL },
		{ PM_COUNTER_PERF_FILTER, pm_text(e->filter ? e->filter : ""), e->filter },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (all[i].wanted && !err && plan_may_record(p->options, all[i].key))
			err = pm_map_set(&c->attrs, all[i].key, all[i].v);
		else
			pm_value_release(&all[i].v);
	}
	return err;
}

/* Adds it under the canonical text, with a number appended if the same event exists already. */
static int64_t add_named(struct plan *p, struct pm_counter *c)
{
	const char *name = c->name;
	char numbered[512];
	int64_t id = pm_model_add_counter(p->model, c);

	for (unsigned n = 2; id == -EEXIST && n < EVENT_LIST_MAX; n++) {
		snprintf(numbered, sizeof(numbered), "%.480s#%u", name, n);
		c->name = numbered;
		id = pm_model_add_counter(p->model, c);
	}
	c->name = (char *)name;
	return id;
}

static int add_counter(struct plan *p, struct perf_event *e, const struct perf_group *g, uint32_t position)
{
	const struct event *ev = e->ev;
	struct pm_counter c = {
		.name = ev->name,
		.display = ev->display,
		.source = "perf",
		.unit = (char *)event_unit_ucum(ev->unit ? ev->unit : "1"),
		.scale = { .num = 1, .den = 1, .text = ev->scale },
		.type = PM_U64,
		.semantics = ev->snapshot ? PM_GAUGE : PM_CUMULATIVE,
		.width = 64,
		.aggregation = PM_AGG_SUM,
	};
	int err = e->add ? add_set_attrs(e->add, &c.attrs) : 0;
	int64_t id;

	if (!err)
		err = set_attrs(&c, e, p, g, position);
	id = err ? err : add_named(p, &c);

	pm_map_release(&c.attrs);
	if (id < 0)
		return (int)id;
	/* The kernel's timer looks at the registers twice in the time that they take for a turn at 200 W. */
	if (!strcmp(ev->pmu, "power") || !strcmp(ev->pmu, "power_core"))
		plan_read_within(p, ENERGY_WITHIN_NS);
	e->counter = (uint32_t)id;
	return 0;
}

static const struct perf_group *group_of(const struct perf_source *s, const struct perf_event *e, uint32_t *position)
{
	for (uint32_t i = 0; i < s->n_groups; i++)
		for (*position = 0; *position < s->group[i]->n; ++*position)
			if (s->group[i]->member[*position] == e)
				return s->group[i];
	return NULL;
}

static int refuse(struct plan *p, const struct perf_event *e, const char *what)
{
	char text[300];
	const char *hint = e->hint ? (*e->hint ? e->hint : NULL) : perf_hint(e->err, e->ev, p, text, sizeof(text));

	return plan_refused(p, reason_of(e), hint, "%s", what);
}

#define NAMED_MAX 16

/* The name of a default event in a note: many PMUs of a kind share that of their class. */
static const char *called(const struct perf_source *s, size_t k)
{
	const struct event *ev = &s->set.event[k];
	const struct event_pmu *pmu = ev->pmu_index == EVENT_NONE ? NULL : &s->pmus.pmu[ev->pmu_index];

	return pmu && pmu->class && !pmu->hooks ? pmu->class : ev->display;
}

/* Whether no earlier event fails in the same way under the same name. */
static bool is_first(const struct perf_source *s, size_t k)
{
	bool first = true;

	for (size_t i = 0; i < k && first; i++)
		first = reason_of(&s->event[i]) != reason_of(&s->event[k]) || strcmp(called(s, i), called(s, k));
	return first;
}

/* Events that the user named are counters even if they cannot be opened; of the defaults only a note remains, one for
 * all that fail in the same way. */
int perf_counters_add(struct perf_source *s, struct plan *p)
{
	/* perf prints lines of its default events even if the machine lacks them. */
	bool all = p->options->output.fd > 0;
	int err = 0;

	for (size_t i = 0; i < s->set.n && !err; i++) {
		struct perf_event *e = &s->event[i];
		uint32_t position = 0;
		const struct perf_group *g = group_of(s, e, &position);

		if (e->elsewhere)
			continue;
		if (!e->err || g || e->requested || all)
			err = add_counter(p, e, g, position);
		else if (e->ev->pmu_index != EVENT_NONE)
			perf_class_refuse(&s->pmus.pmu[e->ev->pmu_index], reason_of(e));
		/* Look it up by its counter's name: the same event may exist twice, once with success. */
		if (!err && e->err && e->requested)
			err = refuse(p, e, pm_model_counter(p->model, e->counter)->name);
	}
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		for (uint32_t k = 0; s->group[i]->copy && k < s->group[i]->n && !err; k++)
			err = add_counter(p, &s->group[i]->copy[k], s->group[i], k);
	for (size_t i = 0; i < s->set.n && !err; i++) {
		SCOPED(buf_release) struct buf names = BUF_INIT;
		unsigned n = 0;
		bool first = !s->event[i].requested && s->event[i].err;

		for (size_t k = 0; k < i && first; k++)
			first = s->event[k].err != s->event[i].err;
		for (size_t k = i; k < s->set.n && first; k++)
			if (s->event[k].err == s->event[i].err && is_first(s, k) && n++ < NAMED_MAX)
				buf_printf(&names, "%s%s", names.len ? ", " : "", called(s, k));
		if (n > NAMED_MAX)
			buf_printf(&names, " and %u more", n - NAMED_MAX);
		if (first)
			err = refuse(p, &s->event[i], buf_str(&names));
	}
	return err ? err : perf_classes_record(&s->pmus, p->model);
}
