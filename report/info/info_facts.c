/* Facts for pmrep info: counts of everything, revealing keys, programs that read the recording. */
#include "common/array.h"
#include "report/info/info.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/copy/redact.h"
#include "report/machine/value_out.h"

#define CPU(member)   offsetof(struct pm_cpu, member)
#define COUNT(member) offsetof(struct topology_counts, member)

const struct topology_part topology_parts[] = {
	{ "cpus", "CPUs", COUNT(cpus) },
	{ "cores", "cores", COUNT(cores) },
	{ "clusters", "clusters", COUNT(clusters) },
	{ "dies", "dies", COUNT(dies) },
	{ "packages", "packages", COUNT(packages) },
	{ "nodes", "nodes", COUNT(nodes) },
	{ "threads_per_core", "threads per core", COUNT(threads) },
	{ "l1d_caches", NULL, COUNT(cache[0]) },
	{ "l1i_caches", NULL, COUNT(cache[1]) },
	{ "l2_caches", NULL, COUNT(cache[2]) },
	{ "l3_caches", NULL, COUNT(cache[3]) },
	{ "offline_cpus", "offline CPUs", COUNT(offline) },
	{ NULL, NULL, 0 },
};

/* What tells things of a level apart: most are numbered within what they are part of. */
static const struct {
	size_t count, key[3]; /* key 0: none */
} levels[] = {
	{ COUNT(packages), { CPU(package) } },
	{ COUNT(dies), { CPU(package), CPU(die) } },
	{ COUNT(clusters), { CPU(package), CPU(die), CPU(cluster) } },
	{ COUNT(nodes), { CPU(node) } },
	{ COUNT(cache[0]), { CPU(cache[0]) } },
	{ COUNT(cache[1]), { CPU(cache[1]) } },
	{ COUNT(cache[2]), { CPU(cache[2]) } },
	{ COUNT(cache[3]), { CPU(cache[3]) } },
	{ COUNT(cores), { CPU(package), CPU(die), CPU(core) } }, /* last: how many share one, too */
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(uint32_t) * 3);
}

int topology_count(const struct pm_topology *t, struct topology_counts *c)
{
	uint32_t(*key)[3] = calloc((size_t)t->n + 1, sizeof(*key));

	if (!key)
		return -ENOMEM;
	*c = (struct topology_counts){ .types = t->n_types };
	for (size_t level = 0; level < sizeof(levels) / sizeof(*levels); level++) {
		uint32_t n = 0, distinct = 0, last = PM_NONE;

		for (uint32_t i = 0; i < t->n; i++) {
			memset(key[n], 0, sizeof(*key));
			for (int k = 0; k < 3 && levels[level].key[k]; k++) {
				memcpy(&last, (const char *)&t->cpu[i] + levels[level].key[k], sizeof(last));
				key[n][k] = last;
			}
			n += t->cpu[i].online && last != PM_NONE;
		}
		qsort(key, n, sizeof(*key), compare);
		c->threads = c->threads_least = 0;
		for (uint32_t i = 0, end; i < n; i = end, distinct++) {
			for (end = i + 1; end < n && !compare(key[i], key[end]);)
				end++;
			c->threads = end - i > c->threads ? end - i : c->threads;
			c->threads_least = distinct && c->threads_least < end - i ? c->threads_least : end - i;
		}
		*topology_number(c, levels[level].count) = n ? distinct : UINT32_MAX;
	}
	for (uint32_t i = 0; i < t->n; i++)
		*(t->cpu[i].online ? &c->cpus : &c->offline) += 1;
	free(key);
	return 0;
}

/* ---- privacy ---- */

static int reveal(struct reveals *r, enum pm_privacy privacy, const char *group, const char *what, uint64_t n)
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
		err = reveal(r, privacy, group, what, 1);
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
		err = reveal(r, s->instances.row[i].privacy, NULL, s->instances.row[i].what,
			     s->instances.row[i].count);
	for (uint32_t i = 0; i < m->n_pmus && !err; i++)
		err = reveal_map(r, m, &m->pmu[i].attrs, pm_pmu_keys, "PMUs");
	for (uint32_t i = 0; i < m->n_probes && !err; i++)
		err = reveal_map(r, m, &m->probe[i].attrs, NULL, "probes");
	for (uint32_t i = 0; i < m->n_configs && !err; i++)
		err = reveal(r, m->config[i].privacy, "config", m->config[i].name, 1);
	for (uint32_t i = 0; i < s->n_events && !err; i++)
		err = reveal_map(r, m, &s->event[i].attrs, pm_event_keys, "events");
	if (!err && s->clocks.realtime)
		err = reveal(r, PM_PRIVACY_TIME, NULL, shifted ? "wall clock (shifted)" : "wall clock", 1);
	if (!err && s->clocks.boottime)
		err = reveal(r, PM_PRIVACY_TIME, NULL, shifted ? "time since boot (shifted)" : "time since boot", 1);
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
