/* Facts for pmrep info: counts of everything, revealing keys, programs that read the recording. */
#include "report/info/info.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/copy/redact.h"
#include "report/input/memory.h"
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

struct topology_counts topology_count(const struct pm_topology *t)
{
	uint32_t(*key)[3] = memory_new(t->n, sizeof(*key));
	struct topology_counts c = { .types = t->n_types };

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
		c.threads = c.threads_least = 0;
		for (uint32_t i = 0, end; i < n; i = end, distinct++) {
			for (end = i + 1; end < n && !compare(key[i], key[end]);)
				end++;
			c.threads = end - i > c.threads ? end - i : c.threads;
			c.threads_least = distinct && c.threads_least < end - i ? c.threads_least : end - i;
		}
		*topology_number(&c, levels[level].count) = n ? distinct : UINT32_MAX;
	}
	for (uint32_t i = 0; i < t->n; i++)
		*(t->cpu[i].online ? &c.cpus : &c.offline) += 1;
	free(key);
	return c;
}

/* ---- privacy ---- */

static void reveal(struct reveals *r, enum pm_privacy privacy, const char *group, const char *what, uint64_t n)
{
	SCOPED(scoped_free) char *name = NULL;
	uint32_t i;

	if (privacy == PM_PRIVACY_TECHNICAL)
		return;
	/* A class of a later version: assume the strictest. */
	if (privacy > PM_PRIVACY_TIME)
		privacy = PM_PRIVACY_PERSON;
	name = memory_format("%d%s%s%s", privacy, group ? group : "", group ? ": " : "", what);
	if (names_get(&r->names, name, &i)) {
		r->row[i].count += n;
		return;
	}
	memory_room(&r->row, r->n, sizeof(*r->row));
	memory_done(names_set(&r->names, name, r->n));
	r->row[r->n++] = (struct reveal){ .privacy = privacy, .what = memory_text(name + 1), .count = n };
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

static void reveal_map(struct reveals *r, const struct pm_model *model, const struct pm_map *m,
		       const struct pm_key_row *rows, const char *group)
{
	char name[16], what[80];

	for (uint32_t i = 0; i < m->n; i++) {
		enum pm_privacy privacy = pm_key_privacy(m->field[i].key);
		const struct pm_value *v = &m->field[i].value;
		const char *class = privacy_name(privacy);
		bool pseudonym = class && v->kind == PM_VALUE_TEXT && redact_is_pseudonym(v->str.data) &&
				 is_redacted(model, class);

		snprintf(what, sizeof(what), "%s%s", key_name(rows, m->field[i].key, name),
			 pseudonym ? " (pseudonym)" : "");
		reveal(r, privacy, group, what, 1);
	}
}

void reveals_take_instances(struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	uint32_t i = m->n_instances;

	while (i && m->instance[i - 1].id > s->last_instance)
		i--;
	for (; i < m->n_instances; i++) {
		reveal_map(&s->instances, m, &m->instance[i].attrs, pm_instance_keys, "instances");
		s->last_instance = m->instance[i].id;
	}
}

struct reveals reveals_find(const struct scan *s)
{
	const struct pm_model *m = pm_reader_model(s->reader);
	bool shifted = is_redacted(m, "time");
	struct reveals r = { 0 };

	reveal_map(&r, m, &m->header, pm_header_keys, NULL);
	for (uint32_t i = 0; i < m->n_counters; i++)
		reveal_map(&r, m, &m->counter[i].attrs, pm_counter_keys, "counters");
	for (uint32_t i = 0; i < s->instances.n; i++)
		reveal(&r, s->instances.row[i].privacy, NULL, s->instances.row[i].what, s->instances.row[i].count);
	for (uint32_t i = 0; i < m->n_pmus; i++)
		reveal_map(&r, m, &m->pmu[i].attrs, pm_pmu_keys, "PMUs");
	for (uint32_t i = 0; i < m->n_probes; i++)
		reveal_map(&r, m, &m->probe[i].attrs, NULL, "probes");
	for (uint32_t i = 0; i < m->n_configs; i++)
		reveal(&r, m->config[i].privacy, "config", m->config[i].name, 1);
	for (uint32_t i = 0; i < s->n_events; i++)
		reveal_map(&r, m, &s->event[i].attrs, pm_event_keys, "events");
	if (s->clocks.realtime)
		reveal(&r, PM_PRIVACY_TIME, NULL, shifted ? "wall clock (shifted)" : "wall clock", 1);
	if (s->clocks.boottime)
		reveal(&r, PM_PRIVACY_TIME, NULL, shifted ? "time since boot (shifted)" : "time since boot", 1);
	return r;
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
