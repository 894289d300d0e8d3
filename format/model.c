#include "format/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "format/limits.h"
#include "format/model_private.h"

static char *copy_text(const char *text)
{
	return strdup(text ? text : "");
}

void pm_model_init(struct pm_model *m)
{
	*m = (struct pm_model){ 0 };
}

void pm_probe_release(struct pm_probe *p)
{
	free(p->source);
	free(p->what);
	free(p->hint);
	pm_map_release(&p->attrs);
	*p = (struct pm_probe){ 0 };
}

int pm_probe_copy(struct pm_probe *to, const struct pm_probe *from)
{
	*to = (struct pm_probe){ .source = copy_text(from->source),
				 .what = copy_text(from->what),
				 .hint = from->hint ? copy_text(from->hint) : NULL,
				 .reason = from->reason };
	if (to->source && to->what && (!from->hint || to->hint) && !pm_map_copy(&to->attrs, &from->attrs))
		return 0;
	pm_probe_release(to);
	return -ENOMEM;
}

void pm_topology_release(struct pm_topology *t)
{
	free(t->cpu);
	for (uint32_t i = 0; i < t->n_types; i++)
		free(t->type[i]);
	free(t->type);
	*t = (struct pm_topology){ 0 };
}

void pm_model_release(struct pm_model *m)
{
	pm_map_release(&m->header);
	pm_topology_release(&m->topology);
	model_counters_release(m);
	for (uint32_t i = 0; i < m->n_instances; i++)
		model_instance_release(&m->instance[i]);
	for (uint32_t i = 0; i < m->n_groups; i++)
		pm_group_release(&m->group[i]);
	for (uint32_t i = 0; i < m->n_strings; i++)
		pm_value_release(&m->string[i]);
	for (uint32_t i = 0; i < m->n_pmus; i++)
		pm_map_release(&m->pmu[i].attrs);
	for (uint32_t i = 0; i < m->n_probes; i++)
		pm_probe_release(&m->probe[i]);
	for (uint32_t i = 0; i < m->n_configs; i++)
		pm_config_release(&m->config[i]);
	free(m->instance);
	free(m->group);
	free(m->string);
	free(m->pmu);
	free(m->probe);
	free(m->config);
	names_release(&m->strings);
	if (m->caps) {
		model_ids_release(&m->caps->instance_ids);
		model_ids_release(&m->caps->group_ids);
		names_release(&m->caps->config_names);
		free(m->caps->config_older);
		free(m->caps->config_slot);
		free(m->caps);
	}
	*m = (struct pm_model){ 0 };
}

int64_t model_append_string(struct pm_model *m, const void *data, size_t len, bool bytes)
{
	struct pm_value v;
	int err;

	if (len > PM_MAX_STRING)
		return -E2BIG;
	err = model_grow(m, &m->string, m->n_strings, PM_MAX_STRINGS, sizeof(v), sizeof(v) + 2 * len + 64);
	if (err)
		return err;
	v = bytes ? pm_bytes(data, len) : pm_text_n(data, len);
	if (!v.str.data)
		return -ENOMEM;
	m->string[m->n_strings++] = v;
	return m->n_strings;
}

int64_t pm_model_add_string(struct pm_model *m, const void *data, size_t len, bool bytes)
{
	/* Only texts without NUL can be keys of the map; others are rare and are added without a lookup. */
	bool key = !bytes && !memchr(data, '\0', len);
	const char *text;
	int64_t id;
	uint32_t known;
	int err;

	id = model_append_string(m, data, len, bytes);
	if (id < 0 || !key)
		return id;
	text = m->string[id - 1].str.data;
	if (names_get(&m->strings, text, &known)) {
		pm_value_release(&m->string[--m->n_strings]);
		return known;
	}
	err = names_set(&m->strings, text, (uint32_t)id);
	if (err)
		pm_value_release(&m->string[--m->n_strings]);
	return err ? err : id;
}

int pm_model_add_pmu(struct pm_model *m, const struct pm_pmu *p)
{
	int err = model_grow(m, &m->pmu, m->n_pmus, PM_MAX_PMUS, sizeof(*p), sizeof(*p) + model_map_size(&p->attrs));

	if (!err)
		err = pm_map_copy(&m->pmu[m->n_pmus].attrs, &p->attrs);
	m->n_pmus += !err;
	return err;
}

int pm_model_add_probe(struct pm_model *m, const struct pm_probe *p)
{
	uint64_t size = sizeof(*p) + (p->what ? strlen(p->what) : 0) + model_map_size(&p->attrs) + 64;
	int err = model_grow(m, &m->probe, m->n_probes, PM_MAX_PROBES, sizeof(*p), size);

	if (!err)
		err = pm_probe_copy(&m->probe[m->n_probes], p);
	m->n_probes += !err;
	return err;
}

static int compare_cpus(const void *a, const void *b)
{
	uint32_t x = ((const struct pm_cpu *)a)->cpu, y = ((const struct pm_cpu *)b)->cpu;

	return x < y ? -1 : x > y;
}

int pm_model_set_topology(struct pm_model *m, const struct pm_topology *t)
{
	struct pm_model_caps *caps = model_caps(m);
	struct pm_topology copy = { .time_ns = t->time_ns };

	if (!caps)
		return -ENOMEM;
	if (t->n > PM_MAX_CPUS || t->n_types > PM_MAX_CPUS)
		return -E2BIG;
	copy.cpu = calloc(t->n ? t->n : 1, sizeof(*copy.cpu));
	copy.type = calloc(t->n_types ? t->n_types : 1, sizeof(*copy.type));
	if (!copy.cpu || !copy.type)
		goto no_memory;
	if (t->n)
		memcpy(copy.cpu, t->cpu, t->n * sizeof(*copy.cpu));
	copy.n = t->n;
	qsort(copy.cpu, copy.n, sizeof(*copy.cpu), compare_cpus);
	for (; copy.n_types < t->n_types; copy.n_types++) {
		copy.type[copy.n_types] = copy_text(t->type[copy.n_types]);
		if (!copy.type[copy.n_types])
			goto no_memory;
	}
	pm_topology_release(&m->topology);
	m->topology = copy;
	caps->topology_version++;
	return 0;

no_memory:
	pm_topology_release(&copy);
	return -ENOMEM;
}

const struct pm_value *pm_model_string(const struct pm_model *m, uint32_t id)
{
	return id && id <= m->n_strings ? &m->string[id - 1] : NULL;
}

const struct pm_cpu *pm_topology_cpu(const struct pm_topology *t, uint32_t cpu)
{
	size_t at = ARRAY_PLACE(t->n, i, t->cpu[i].cpu < cpu);

	return at < t->n && t->cpu[at].cpu == cpu ? &t->cpu[at] : NULL;
}
