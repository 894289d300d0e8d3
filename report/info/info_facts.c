/* Facts for pmrep info: counts of everything, revealing keys, programs that read the recording. */
#include "common/array.h"
#include "report/info/info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/copy/redact.h"
#include "report/machine/value_out.h"

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t) * 4);
}

/* The number of distinct things among the online CPUs; they are numbered within each package. */
static uint32_t count_distinct(const struct pm_topology *t, uint32_t (*key)[4], uint32_t *largest,
			       bool (*take)(const struct pm_cpu *c, int which, uint32_t key[4]), int which)
{
	uint32_t n = 0, distinct = 0, same = 0;

	*largest = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		if (t->cpu[i].online && take(&t->cpu[i], which, key[n]))
			n++;
	}
	if (!n)
		return UINT32_MAX;
	qsort(key, n, sizeof(*key), compare);
	for (uint32_t i = 0; i < n; i++) {
		if (!i || compare(key[i], key[i - 1])) {
			distinct++;
			same = 0;
		}
		if (++same > *largest)
			*largest = same;
	}
	return distinct;
}

enum { LEVEL_PACKAGE, LEVEL_DIE, LEVEL_CLUSTER, LEVEL_CORE, LEVEL_NODE, LEVEL_CACHE };

static bool take_level(const struct pm_cpu *c, int which, uint32_t key[4])
{
	memset(key, 0, sizeof(uint32_t) * 4);
	if (which >= LEVEL_CACHE) {
		key[0] = c->cache[which - LEVEL_CACHE];
		return key[0] != PM_NONE;
	}
	if (which == LEVEL_NODE) {
		key[0] = c->node;
		return key[0] != PM_NONE;
	}
	key[0] = c->package;
	if (which == LEVEL_PACKAGE)
		return key[0] != PM_NONE;
	key[1] = c->die;
	if (which == LEVEL_DIE)
		return key[1] != PM_NONE;
	key[2] = which == LEVEL_CLUSTER ? c->cluster : c->core;
	return key[2] != PM_NONE;
}

int topology_count(const struct pm_topology *t, struct topology_counts *c)
{
	uint32_t(*key)[4] = calloc((size_t)t->n + 1, sizeof(*key));
	uint32_t largest;

	if (!key)
		return -ENOMEM;
	*c = (struct topology_counts){ .types = t->n_types };
	for (uint32_t i = 0; i < t->n; i++) {
		c->cpus += t->cpu[i].online;
		c->offline += !t->cpu[i].online;
	}
	c->packages = count_distinct(t, key, &largest, take_level, LEVEL_PACKAGE);
	c->dies = count_distinct(t, key, &largest, take_level, LEVEL_DIE);
	c->clusters = count_distinct(t, key, &largest, take_level, LEVEL_CLUSTER);
	c->nodes = count_distinct(t, key, &largest, take_level, LEVEL_NODE);
	for (int i = 0; i < PM_CACHES; i++)
		c->cache[i] = count_distinct(t, key, &largest, take_level, LEVEL_CACHE + i);
	c->cores = count_distinct(t, key, &c->threads, take_level, LEVEL_CORE);
	free(key);
	return 0;
}

/* ---- privacy ---- */

static int reveal_times(struct reveals *r, enum pm_privacy privacy, const char *group, const char *what, uint64_t n)
{
	SCOPED(buf_release) struct buf name = BUF_INIT;
	struct reveal *p;
	uint32_t i;

	if (privacy == PM_PRIVACY_TECHNICAL)
		return 0;
	/* A class of a later version: assume the strictest. */
	if (privacy > PM_PRIVACY_TIME)
		privacy = PM_PRIVACY_PERSON;
	buf_printf(&name, "%d%s%s%s", privacy, group ? group : "", group ? ": " : "", what);
	if (!name.err && names_get(&r->names, buf_str(&name), &i)) {
		r->row[i].count += n;
		return 0;
	}
	if (name.err || array_room(&r->row, r->n, sizeof(*r->row)))
		return -ENOMEM;
	p = &r->row[r->n];
	*p = (struct reveal){ .privacy = privacy, .what = strdup(buf_str(&name) + 1), .count = n };
	return p->what ? names_set(&r->names, buf_str(&name), r->n++) : -ENOMEM;
}

static int reveal(struct reveals *r, enum pm_privacy privacy, const char *group, const char *what)
{
	return reveal_times(r, privacy, group, what, 1);
}

/* Whether redaction has treated this class of fields. */
static bool is_redacted(const struct pm_model *m, const char *class)
{
	const struct pm_value *list = pm_map_get(&m->header, PM_HEADER_REDACTED);

	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++)
		if (list->array.item[i].kind == PM_VALUE_TEXT && !strcmp(list->array.item[i].str.data, class))
			return true;
	return false;
}

static int reveal_map(struct reveals *r, const struct pm_model *model, const struct pm_map *m,
		      const struct pm_key_row *rows, const char *group)
{
	int err = 0;
	char name[16], what[80];

	for (uint32_t i = 0; i < m->n && !err; i++) {
		enum pm_privacy privacy = pm_key_privacy(m->field[i].key);
		const struct pm_value *v = &m->field[i].value;
		const char *class = privacy_name(privacy);
		bool pseudonym = class && v->kind == PM_VALUE_TEXT && redact_is_pseudonym(v->str.data) &&
				 is_redacted(model, class);

		snprintf(what, sizeof(what), "%s%s", key_name(rows, m->field[i].key, name),
			 pseudonym ? " (pseudonym)" : "");
		err = reveal(r, privacy, group, what);
	}
	return err;
}

int reveals_take_instances(struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	uint32_t i = m->n_instances;
	int err = 0;

	while (i && m->instance[i - 1].id > s->last_instance)
		i--;
	for (; i < m->n_instances && !err; i++) {
		err = reveal_map(&s->instances, m, &m->instance[i].attrs, pm_instance_keys, "instances");
		s->last_instance = m->instance[i].id;
	}
	return err;
}

int reveals_find(const struct scan *s, struct reveals *r)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	bool shifted = is_redacted(m, "time");
	int err;

	*r = (struct reveals){ 0 };
	err = reveal_map(r, m, &m->header, pm_header_keys, NULL);
	for (uint32_t i = 0; i < m->n_counters && !err; i++)
		err = reveal_map(r, m, &m->counter[i].attrs, pm_counter_keys, "counters");
	for (uint32_t i = 0; i < s->instances.n && !err; i++)
		err = reveal_times(r, s->instances.row[i].privacy, NULL, s->instances.row[i].what,
				   s->instances.row[i].count);
	for (uint32_t i = 0; i < m->n_pmus && !err; i++)
		err = reveal_map(r, m, &m->pmu[i].attrs, pm_pmu_keys, "PMUs");
	for (uint32_t i = 0; i < m->n_probes && !err; i++)
		err = reveal_map(r, m, &m->probe[i].attrs, NULL, "probes");
	for (uint32_t i = 0; i < m->n_configs && !err; i++)
		err = reveal(r, m->config[i].privacy, "config", m->config[i].name);
	for (uint32_t i = 0; i < s->n_events && !err; i++)
		err = reveal_map(r, m, &s->event[i].attrs, pm_event_keys, "events");
	if (!err && s->clocks.realtime)
		err = reveal(r, PM_PRIVACY_TIME, NULL, shifted ? "wall clock (shifted)" : "wall clock");
	if (!err && s->clocks.boottime)
		err = reveal(r, PM_PRIVACY_TIME, NULL, shifted ? "time since boot (shifted)" : "time since boot");
	return err;
}

void reveals_release(struct reveals *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->row[i].what);
	free(r->row);
	names_release(&r->names);
	*r = (struct reveals){ 0 };
}

struct info_version info_version(const struct pm_model *m)
{
	struct info_version v;

	/* Frames of another major version are not read. */
	snprintf(v.text, sizeof(v.text), "1.%llu",
		 (unsigned long long)pm_map_u64(&m->header, PM_HEADER_FORMAT_MINOR, 0));
	return v;
}

uint64_t info_number(const struct pm_model *m, const char *name)
{
	const struct pm_config *c = pm_model_config(m, name, PM_NONE);

	return c && !c->reason && c->value.kind == PM_VALUE_U64 ? c->value.u64 : 0;
}
