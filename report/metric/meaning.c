#include "report/metric/meaning.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/pmu_class.h"
#include "report/input/memory.h"

/* ---- the recording's PMUs ---- */

static const char *text_at(const struct pm_value *array, uint32_t i)
{
	return array->array.n > i && array->array.item[i].kind == PM_VALUE_TEXT ? array->array.item[i].str.data : "";
}

static uint32_t rows_of(const struct pm_value *v)
{
	return v && v->kind == PM_VALUE_ARRAY ? v->array.n : 0;
}

/* Rows [name, text] as structs of that size, which begin with these two. */
static void *copy_rows(const struct pm_value *v, size_t size, size_t *n)
{
	char *list = memory_new(rows_of(v), size);

	for (uint32_t i = 0; i < rows_of(v); i++) {
		const struct pm_value *row = &v->array.item[i];
		char **text = (char **)(void *)(list + *n * size);

		if (row->kind != PM_VALUE_ARRAY)
			continue;
		++*n;
		text[0] = memory_text(text_at(row, 0));
		text[1] = memory_text(text_at(row, 1));
	}
	return list;
}

/* The kernel's names on machines with one kind of cores, which have no list of CPUs. */
static bool is_core(const char *name)
{
	return !strcmp(name, "cpu") || !strcmp(name, "cpum_cf");
}

/* The PMUs of a recording as the event language needs them; free them with event_pmu_release() and free(). */
static struct event_pmu *recorded_pmus(const struct pm_model *m)
{
	struct event_pmu *pmu = memory_new(m->n_pmus, sizeof(*pmu));

	for (uint32_t n = 0; n < m->n_pmus; n++) {
		const struct pm_map *attrs = &m->pmu[n].attrs;
		const char *mask = pm_map_text(attrs, PM_PMU_CPUMASK, NULL);
		const char *cpus = pm_map_text(attrs, PM_PMU_CPUS, NULL);
		const struct pmu_class *class = pmu_class_of(pm_map_text(attrs, PM_PMU_NAME, ""),
							     pm_map_text(attrs, PM_PMU_IDENTIFIER, NULL));

		pmu[n].name = memory_text(pm_map_text(attrs, PM_PMU_NAME, ""));
		pmu[n].type = (uint32_t)pm_map_u64(attrs, PM_PMU_TYPE, 0);
		pmu[n].class = class ? class->name : NULL;
		pmu[n].uncore = mask != NULL;
		pmu[n].core = !mask && (cpus || is_core(pmu[n].name));
		if (mask || cpus)
			pmu[n].cpus = memory_text(mask ? mask : cpus);
		pmu[n].format = copy_rows(pm_map_get(attrs, PM_PMU_FORMATS), sizeof(*pmu->format), &pmu[n].n_formats);
		pmu[n].alias = copy_rows(pm_map_get(attrs, PM_PMU_EVENTS), sizeof(*pmu->alias), &pmu[n].n_aliases);
	}
	return pmu;
}

/* ---- what events mean ---- */

void meaning_init(struct meaning *x, const struct pm_model *m)
{
	*x = (struct meaning){ .model = m };
}

void meaning_release(struct meaning *x)
{
	for (size_t i = 0; i < x->n_pmus; i++)
		event_pmu_release(&x->pmu[i]);
	free(x->pmu);
	*x = (struct meaning){ 0 };
}

static int no_tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	(void)data, (void)system, (void)name, (void)found, (void)arg;
	return -ENODEV;
}

uint64_t meaning_attr(const struct pm_model *m, const struct pm_counter *c, size_t at, size_t bytes)
{
	const struct pm_value *attr = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);
	bool little = pm_map_bool(&m->header, PM_HEADER_LITTLE_ENDIAN, true);
	uint64_t v = 0;

	for (size_t i = 0; attr && attr->kind == PM_VALUE_BYTES && i < bytes; i++) {
		size_t k = at + (little ? bytes - 1 - i : i);

		v = v << 8 | (k < attr->str.len ? (uint8_t)attr->str.data[k] : 0);
	}
	return v;
}

/* The letters after an event's text: "u" of "cpu/event=0xc0/u" and of "cycles:u". */
static const char *letters(const char *text)
{
	const char *slash = strrchr(text, '/'), *colon = strrchr(slash ? slash : text, ':');
	uint32_t ignored;

	if (slash && slash[1] && slash[1] != ':')
		return slash + 1;
	if (colon && !event_mods_parse(colon + 1, strlen(colon + 1), &ignored))
		return colon + 1;
	return "";
}

/* The offsets of the attr's words: type, then config, config1 ... config4. */
static const uint8_t config_at[EVENT_CONFIGS] = { 8, 56, 64, 128, 136 };

static bool means(const struct pm_model *m, const struct pm_counter *c, const struct event *ev)
{
	const struct pm_value *attr = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);

	if (!attr || attr->kind != PM_VALUE_BYTES || meaning_attr(m, c, 0, 4) != ev->type)
		return false;
	for (size_t i = 0; i < EVENT_CONFIGS; i++)
		if (meaning_attr(m, c, config_at[i], 8) != ev->config[i])
			return false;
	/* Modifiers that the user gave do not make another event, unless the formula has some. */
	return !ev->name[ev->body] ||
	       !strcmp(letters(ev->name), letters(pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, "")));
}

static void read_pmus(struct meaning *x, struct vendor_events *events)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;

	x->tried = true;
	x->pmu = recorded_pmus(x->model);
	x->n_pmus = x->model->n_pmus;
	/* What cannot be parsed in a vendor's file is then not found by name. */
	if (events)
		vendor_events_apply(events, x->pmu, x->n_pmus, &notes);
}

static uint32_t find(const struct meaning *x, const struct event_set *set, uint32_t *found, uint32_t max)
{
	uint32_t n = 0;

	for (size_t k = 0; k < set->n; k++)
		for (uint32_t i = 0; i < x->model->n_counters; i++) {
			const struct pm_counter *c = &x->model->counter[i];

			if (strcmp(c->source, "perf") || !means(x->model, c, &set->event[k]))
				continue;
			if (n < max)
				found[n] = c->id;
			n++;
			break;
		}
	return n;
}

uint32_t meaning_find(struct meaning *x, struct vendor_events *events, const char *text, uint32_t *found,
		      uint32_t max)
{
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct event_view view;
	uint32_t n = 0;

	if (!x->tried)
		read_pmus(x, events);
	view = (struct event_view){ .pmu = x->pmu, .n_pmus = x->n_pmus, .tracepoints = no_tracepoints };
	if (x->n_pmus && !event_parse(&list, text, NULL) && list->n == 1 &&
	    !event_resolve(list, &view, &set, &notes, NULL))
		n = find(x, &set, found, max);
	event_list_free(list);
	event_set_release(&set);
	return n;
}
