#include "report/metric/bind_class.h"
#include "report/metric/meaning.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/event/event.h"
#include "report/input/memory.h"

/* A hostile file may have more sets of filters than any machine counts with: each costs all metrics of the class. */
#define FILTERS_MAX 256

void class_index_release(struct class_index *x)
{
	for (uint32_t i = 0; i < x->n_filters; i++)
		free(x->filter[i]);
	free(x->filter);
	free(x->sorted);
	free(x->row);
	free(x->pmu);
	names_release(&x->pmus);
	*x = (struct class_index){ 0 };
}

/* ---- what a counter is ---- */

static const struct pmu_class *class_of_pmu(const struct class_index *x, const char *name)
{
	uint32_t at;

	return names_get(&x->pmus, name, &at) ? x->pmu[at].class : pmu_class_of(name, NULL);
}

/* Names and CPUs of the PMUs, and which of them are kin. */
static void add_pmus(struct class_index *x, const struct pm_model *m)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	SCOPED(names_release) struct names kin = { 0 };

	x->pmu = memory_new(m->n_pmus, sizeof(*x->pmu));
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		const struct pm_map *attrs = &m->pmu[i].attrs;
		const char *name = pm_map_text(attrs, PM_PMU_NAME, "");
		uint32_t first;

		x->pmu[i] = (struct class_pmu){
			.class = pmu_class_of(name, pm_map_text(attrs, PM_PMU_IDENTIFIER, NULL)),
			.kin = i,
			.reason = (uint16_t)pm_map_u64(attrs, PM_PMU_REFUSED, 0),
		};
		if (!names_get(&x->pmus, name, &first))
			memory_done(names_set(&x->pmus, name, i));
		buf_clear(&key);
		for (const char *c = name; *c; c++)
			if (c == name || *c < '0' || *c > '9')
				buf_addch(&key, *c);
		buf_printf(&key, " %s", pm_map_text(attrs, PM_PMU_CPUMASK, ""));
		memory_whole(&key);
		if (!names_get(&kin, buf_str(&key), &x->pmu[i].kin))
			memory_done(names_set(&kin, buf_str(&key), i));
	}
}

/* What the recording has of the counter's PMU. */
static void note_pmu(struct class_index *x, const struct pm_counter *c)
{
	const struct pm_value *invalid = pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID);
	struct class_pmu *pmu;
	uint32_t at;

	if (!names_get(&x->pmus, pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, ""), &at))
		return;
	pmu = &x->pmu[at];
	pmu->recorded |= !invalid;
	if (invalid && !pmu->refused) {
		pmu->reason = (uint16_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0);
		pmu->refused = true;
	}
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct event_term *)a)->key, ((const struct event_term *)b)->key);
}

/* A filter that lets everything through says nothing. One-bit filters select; only masks can mean "all". */
static bool is_everything(const struct pmu_class *c, const struct event_term *t)
{
	const struct pmu_class_filter *f = pmu_class_filter(c, t->key);

	return f && f->all > 1 && t->is_number && t->number == f->all;
}

/* The event of a canonical text, and its filters in the order of their names. NULL: it is not the class's. */
static const struct pmu_class_event *read_event(const struct pmu_class *c, const char *text, struct buf *filters)
{
	const struct pmu_class_event *event = NULL;
	struct event_list *list = NULL;
	struct error ignored = { 0 };
	struct event_node *n;
	int err;

	buf_clear(filters);
	err = event_parse(&list, text, &ignored);
	if (err == -ENOMEM)
		memory_ends();
	if (err)
		return NULL;
	n = list->n == 1 && list->node[0].form == EVENT_PMU ? &list->node[0] : NULL;
	if (n && n->n_terms)
		qsort(n->term, n->n_terms, sizeof(*n->term), by_key);
	for (size_t i = 0; n && i < n->n_terms; i++) {
		const struct event_term *t = &n->term[i];
		const struct pmu_class_event *named = t->value ? NULL : pmu_class_event(c, t->key);

		if (!strcmp(t->key, "event") && t->is_number)
			named = pmu_class_event_coded(c, t->number);
		if (named)
			event = named;
		else if (strcmp(t->key, "event") && strcmp(t->key, "src_bdf_en") && !is_everything(c, t) &&
			 t->is_number)
			buf_printf(filters, "%s%s=0x%llx", filters->len ? "," : "", t->key,
				   (unsigned long long)t->number);
		else if (strcmp(t->key, "event") && strcmp(t->key, "src_bdf_en") && !is_everything(c, t))
			buf_printf(filters, "%s%s%s%s", filters->len ? "," : "", t->key, t->value ? "=" : "",
				   t->value ? t->value : "");
	}
	event_list_free(list);
	memory_whole(filters);
	return event;
}

/* PM_NONE: there are too many. */
static uint32_t filter_place(struct class_index *x, const char *text)
{
	for (uint32_t i = 0; i < x->n_filters; i++)
		if (!strcmp(x->filter[i], text))
			return i;
	if (x->n_filters == FILTERS_MAX)
		return PM_NONE;
	memory_room(&x->filter, x->n_filters, sizeof(*x->filter));
	x->filter[x->n_filters] = memory_text(text);
	return x->n_filters++;
}

static void filter_words(const struct pm_model *m, const struct pm_counter *c, const struct pmu_class_event *event,
			 uint64_t words[3])
{
	enum { CONFIG = 8, CONFIG1 = 56, CONFIG2 = 64 };
	const struct pm_value *attr = pm_map_get(&c->attrs, PM_COUNTER_PERF_ATTR);

	words[0] = meaning_attr(m, c, CONFIG, 8) ^ (attr ? event->code : 0);
	words[1] = meaning_attr(m, c, CONFIG1, 8);
	words[2] = meaning_attr(m, c, CONFIG2, 8);
}

/* A filter can be written in several ways: it is named by the words of the PMU's first event that has it. */
static void join_filters(struct class_index *x)
{
	struct class_counter *last = &x->row[x->n - 1];

	for (size_t i = 0; i + 1 < x->n && !last->clock; i++)
		if (!x->row[i].clock && !strcmp(x->row[i].pmu, last->pmu) &&
		    (last->words[0] || last->words[1] || last->words[2]) &&
		    !memcmp(x->row[i].words, last->words, sizeof(last->words))) {
			last->filter = x->row[i].filter;
			return;
		}
}

/* The filter that find() looks for: clocks are the same under all. */
static uint32_t looked_for(const struct pmu_class_event *event, uint32_t filter)
{
	return strcmp(event->name, PMU_CLASS_CLOCK) ? filter : PM_NONE;
}

static int compare(const struct class_counter *a, uint32_t first, const struct pmu_class_event *event,
		   uint32_t filter, uint32_t group)
{
	int order = array_order(a->first, first, (uintptr_t)a->event, (uintptr_t)event);

	return order ? order : array_order(looked_for(a->event, a->filter), filter, a->group, group);
}

static int in_order(const void *left, const void *right, void *ctx)
{
	const uint32_t *a = left, *b = right;
	const struct class_counter *row = ctx, *x = &row[*b];
	int order = compare(&row[*a], x->first, x->event, looked_for(x->event, x->filter), x->group);

	return order ? order : (*a > *b) - (*a < *b);
}

static void sort_rows(struct class_index *x)
{
	x->sorted = memory_new(x->n, sizeof(*x->sorted));
	for (uint32_t i = 0; i < x->n; i++)
		x->sorted[i] = i;
	qsort_r(x->sorted, x->n, sizeof(*x->sorted), in_order, x->row);
}

void class_index_build(struct class_index *x, const struct pm_model *m)
{
	SCOPED(buf_release) struct buf filters = BUF_INIT;
	SCOPED(names_release) struct names firsts = { 0 };

	*x = (struct class_index){ 0 };
	add_pmus(x, m);
	filter_place(x, "");
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];
		const char *pmu = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, NULL);
		const struct pmu_class *class;
		const struct pmu_class_event *event;
		uint32_t place;

		note_pmu(x, c);
		if (strcmp(c->source, "perf") || !pmu || !pm_map_get(&c->attrs, PM_COUNTER_PERF_GROUP) ||
		    pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID) || !(class = class_of_pmu(x, pmu)))
			continue;
		event = read_event(class, pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, c->name), &filters);
		if (!event || (place = filter_place(x, buf_str(&filters))) == PM_NONE)
			continue;
		memory_room(&x->row, x->n, sizeof(*x->row));
		x->row[x->n] = (struct class_counter){
			.counter = c->id,
			.group = (uint32_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_GROUP, 0),
			.pmu = pmu,
			.class = class,
			.event = event,
			.filter = place,
			.first = (uint32_t)x->n,
			.clock = !strcmp(event->name, PMU_CLASS_CLOCK),
		};
		if (!names_get(&firsts, pmu, &x->row[x->n].first))
			memory_done(names_set(&firsts, pmu, (uint32_t)x->n));
		x->n++;
		filter_words(m, c, event, x->row[x->n - 1].words);
		join_filters(x);
	}
	sort_rows(x);
}

/* ---- formulas ---- */

const struct pmu_class_event *class_event_named(const char *name, const struct pmu_class **class)
{
	const char *slash = strchr(name, '/');
	size_t len = slash ? strlen(slash) : 0;
	char word[64];

	if (len < 3 || slash[len - 1] != '/' || (size_t)(slash - name) >= sizeof(word))
		return NULL;
	memcpy(word, name, (size_t)(slash - name));
	word[slash - name] = '\0';
	*class = pmu_class_named(word);
	if (!*class || len - 2 >= sizeof(word))
		return NULL;
	memcpy(word, slash + 1, len - 2);
	word[len - 2] = '\0';
	return pmu_class_event(*class, word);
}

const struct pmu_class *class_of_formula(const char *text)
{
	for (const struct pmu_class *c = pmu_classes; c->name && strchr(text, '@'); c++) {
		size_t len = strlen(c->name);

		for (const char *at = text; (at = strstr(at, c->name)); at += len)
			if (at[len] == '@' && (at == text || !strchr("_abcdefghijklmnopqrstuvwxyz", at[-1])))
				return c;
	}
	return NULL;
}

void class_choice_release(struct class_choice *choice)
{
	free(choice->taken);
	*choice = (struct class_choice){ 0 };
}

/* The first in order that is not before these; the row is that of a PMU if its event is. SIZE_MAX: there is none. */
static size_t first_from(const struct class_choice *k, uint32_t pmu, const struct pmu_class_event *event,
			 uint32_t group)
{
	const struct class_index *x = k->index;
	uint32_t filter = looked_for(event, k->filter);
	size_t at = ARRAY_PLACE(x->n, i, compare(&x->row[x->sorted[i]], pmu, event, filter, group) < 0);
	const struct class_counter *c = at < x->n ? &x->row[x->sorted[at]] : NULL;

	return c && c->first == pmu && c->event == event && looked_for(event, c->filter) == filter ? x->sorted[at] :
												     SIZE_MAX;
}

/* The counter of the event in the group of a PMU, or in another one if that is permitted. SIZE_MAX: there is none. */
static size_t find(const struct class_choice *k, const struct class_counter *c, const struct pmu_class_event *event,
		   bool apart)
{
	size_t at = event ? first_from(k, c->first, event, c->group) : SIZE_MAX;

	if (at != SIZE_MAX && k->index->row[at].group == c->group)
		return at;
	return apart && event ? first_from(k, c->first, event, 0) : SIZE_MAX;
}

/* An event of a formula. */
struct wanted {
	const struct pmu_class_event *event; /* NULL: it is of another class */
	bool optional;
};

/* Takes the counters of one PMU from one group, if that has them all; `apart`: the missing ones from others. */
static bool take(struct class_choice *k, const struct class_counter *c, const struct wanted *w, size_t n, bool apart)
{
	for (int put = 0; put < 2; put++)
		for (size_t i = 0; i < n; i++) {
			size_t at = find(k, c, w[i].event, apart);

			if (w[i].event && at == SIZE_MAX && !w[i].optional)
				return false;
			if (put && at != SIZE_MAX)
				k->taken[at] = true;
		}
	return true;
}

/* Whether it is about anything but the clock, to which filters do not apply. */
static bool is_filtered(const struct expr_input *in, size_t n)
{
	const struct pmu_class *class;

	for (size_t i = 0; i < n; i++) {
		const struct pmu_class_event *event = class_event_named(in[i].name, &class);

		if (event && strcmp(event->name, PMU_CLASS_CLOCK))
			return true;
	}
	return false;
}

void class_choose(struct class_choice *choice, const struct class_index *index, const struct pmu_class *class,
		  uint32_t filter, const struct expr_input *in, size_t n)
{
	SCOPED(scoped_free) struct wanted *w = memory_new(2 * n, sizeof(*w));
	SCOPED(scoped_free) bool *done = memory_new(index->n, sizeof(*done));
	const struct pmu_class *of;

	*choice = (struct class_choice){ .class = class, .index = index, .filter = filter };
	choice->taken = memory_new(index->n, sizeof(*choice->taken));
	if (filter && !is_filtered(in, n))
		return;
	for (size_t i = 0; i < 2 * n; i++) {
		const char *name = i % 2 ? in[i / 2].by : in[i / 2].name;

		w[i] = (struct wanted){ name ? class_event_named(name, &of) : NULL,
					in[i / 2].aspect == EXPR_HAS_EVENT };
		w[i].event = w[i].event && of == class ? w[i].event : NULL;
	}
	/* Each PMU once: by the first of its groups that has everything, or else by several. A PMU whose group could
	 * not be opened as a whole, because someone else held its filter, would otherwise silently be missing from
	 * the sum. */
	for (int apart = 0; apart < 2; apart++)
		for (size_t i = 0; i < index->n; i++) {
			const struct class_counter *c = &index->row[i];

			/* Under a filter, the groups that have something with it. */
			if (c->class != class || done[c->first] || (filter && (c->filter != filter || c->clock)) ||
			    !take(choice, c, w, 2 * n, apart))
				continue;
			done[c->first] = true;
			choice->n++;
		}
}

uint32_t class_counters(const struct class_choice *choice, const struct pmu_class_event *event, uint32_t *found,
			uint32_t *clock, uint32_t max)
{
	const struct pmu_class_event *ticks = pmu_class_event(choice->class, PMU_CLASS_CLOCK);
	const struct class_index *x = choice->index;
	uint32_t n = 0;

	for (size_t i = 0; i < x->n && n < max; i++) {
		size_t at;

		if (!choice->taken[i] || x->row[i].event != event)
			continue;
		at = find(choice, &x->row[i], ticks, true);
		found[n] = x->row[i].counter;
		clock[n++] = at == SIZE_MAX ? 0 : x->row[at].counter;
	}
	return n;
}
