/* Which counters a name in a formula means: counters, families, perf events in their many spellings. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/buf.h"
#include "report/metric/bind.h"

/* Pairs of names that perf has for one event. */
static const char *const synonyms[][2] = {
	{ "cycles", "cpu-cycles" },
	{ "branches", "branch-instructions" },
	{ "cs", "context-switches" },
	{ "faults", "page-faults" },
	{ "migrations", "cpu-migrations" },
	{ "idle-cycles-frontend", "stalled-cycles-frontend" },
	{ "idle-cycles-backend", "stalled-cycles-backend" },
};

static const char *canonical(const char *name)
{
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if ((name[0] | 32) == synonyms[i][0][0] && !strcasecmp(name, synonyms[i][0]))
			return synonyms[i][1];
	return name;
}

/* The event without ":modifiers"; `out` has room for PM_MAX_NAME. A tracepoint's colon does not begin modifiers. */
static const char *plain(const char *event, char *out, size_t size)
{
	const char *colon = strrchr(event, ':');
	size_t len = strlen(event);

	if (colon && colon[1] && strspn(colon + 1, "ukhGHIpPSDWeb") == strlen(colon + 1))
		len = (size_t)(colon - event);
	else if (colon && !colon[1])
		len--;
	else if (len > 1 && strrchr(event, '/') && strrchr(event, '/') != strchr(event, '/')) {
		/* "cpu/event/u" */
		const char *slash = strrchr(event, '/');

		if (strspn(slash + 1, "ukhGHIpPSDWeb") == strlen(slash + 1))
			len = (size_t)(slash + 1 - event);
	}
	if (len >= size)
		len = size - 1;
	memcpy(out, event, len);
	out[len] = 0;
	return canonical(out);
}

static bool is_number(const struct pm_counter *c)
{
	return !pm_counter_texts(c);
}

/* ---- by name ---- */

/* The spellings by which a counter is found, by the first letter of their keys. */
enum spelling { FAMILY = 'f', EXACT = 'e', PLAIN = 'p' };

struct bind_entry {
	uint32_t counter, next; /* index of the next one with the same key, + 1; 0: none */
};

static void put_key(struct buf *key, enum spelling how, const char *name)
{
	buf_clear(key);
	buf_addch(key, (char)how);
	for (; *name; name++)
		buf_addch(key, how == FAMILY ? *name : (char)tolower((unsigned char)*name));
}

/* Counters are added from the last to the first. */
static int add(struct bind_index *x, struct buf *key, const struct pm_counter *c, enum spelling how, const char *name)
{
	uint32_t head = 0;
	int err;

	put_key(key, how, name);
	if (key->err)
		return -ENOMEM;
	if (names_get(&x->names, buf_str(key), &head) && x->entry[head - 1].counter == c->id)
		return 0;
	if ((err = array_room(&x->entry, x->n, sizeof(*x->entry))))
		return err;
	x->entry[x->n++] = (struct bind_entry){ c->id, head };
	return names_set(&x->names, buf_str(key), x->n);
}

static int add_event(struct bind_index *x, struct buf *key, const struct pm_counter *c)
{
	const char *text[] = {
		pm_map_text(&c->attrs, PM_COUNTER_PERF_METRIC_ID, NULL),
		pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL),
		pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, NULL),
		c->name,
	};
	char a[512];
	int err = 0;

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]) && !err; i++) {
		if (text[i])
			err = add(x, key, c, EXACT, canonical(text[i]));
		if (text[i] && !err)
			err = add(x, key, c, PLAIN, plain(text[i], a, sizeof(a)));
	}
	return err;
}

int bind_index_build(struct bind_index *x, const struct pm_model *m)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	int err = 0;

	*x = (struct bind_index){ .model = m };
	for (uint32_t i = m->n_counters; i-- > 0 && !err;) {
		const struct pm_counter *c = &m->counter[i];
		const char *family = pm_map_text(&c->attrs, PM_COUNTER_FAMILY, NULL);

		if (!is_number(c))
			continue;
		if (family)
			err = add(x, &key, c, FAMILY, family);
		if (!err && !strcmp(c->source, "perf"))
			err = add_event(x, &key, c);
	}
	return err;
}

void bind_index_release(struct bind_index *x)
{
	names_release(&x->names);
	free(x->entry);
	*x = (struct bind_index){ 0 };
}

/* The first counter that the name stands for; 0 after the last. */
static uint32_t first_of(const struct bind_index *x, enum spelling how, const char *name)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t at = 0;

	put_key(&key, how, how == FAMILY ? name : canonical(name));
	if (!key.err)
		names_get(&x->names, buf_str(&key), &at);
	return at;
}

static const struct pm_counter *counter_at(const struct bind_index *x, uint32_t at)
{
	return pm_model_counter(x->model, x->entry[at - 1].counter);
}

/* ---- groups ---- */

static const char *pmu_of(const struct pm_counter *c)
{
	return pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, "");
}

/* The name without the PMU's number among those of its kind: "uncore_imc_" of "uncore_imc_11". */
static size_t kind_len(const char *pmu)
{
	size_t len = strlen(pmu);

	while (len && pmu[len - 1] >= '0' && pmu[len - 1] <= '9')
		len--;
	return len;
}

/* Whether it is of a different PMU of the same kind than those found. */
static bool is_beside(const struct pm_model *m, const struct pm_counter *c, const uint32_t *found, uint32_t n)
{
	const char *pmu = pmu_of(c);
	size_t len = kind_len(pmu);

	for (uint32_t i = 0; i < n; i++) {
		const char *other = pmu_of(pm_model_counter(m, found[i]));

		if (!strcmp(other, pmu) || kind_len(other) != len || strncmp(other, pmu, len))
			return false;
	}
	return len && pmu[len];
}

static uint32_t group_of(const struct pm_counter *c)
{
	return (uint32_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_GROUP, 0);
}

bool bind_twice(const struct pm_model *m)
{
	SCOPED(names_release) struct names seen = { 0 };
	SCOPED(buf_release) struct buf key = BUF_INIT;
	bool twice = false;

	for (uint32_t i = 0; i < m->n_counters && !twice; i++) {
		const struct pm_counter *c = &m->counter[i];
		uint32_t group;

		if (strcmp(c->source, "perf") || !group_of(c))
			continue;
		buf_clear(&key);
		buf_printf(&key, "%s %s", pmu_of(c),
			   pm_map_text(&c->attrs, PM_COUNTER_PERF_METRIC_ID,
				       pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, c->name)));
		if (names_get(&seen, buf_str(&key), &group))
			twice = group != group_of(c);
		else if (names_set(&seen, buf_str(&key), group_of(c)))
			break; /* then the first event of a name is used, as if it were the only one */
	}
	return twice;
}

/* A group that has some event of the formula. */
struct presence {
	uint32_t group, input;
};

static int by_group(const void *x, const void *y)
{
	const struct presence *a = x, *b = y;

	return a->group != b->group ? (a->group < b->group ? -1 : 1) : (a->input > b->input) - (a->input < b->input);
}

/* Which groups have which of the formula's events: sorted, each once. */
static int find_presences(const struct bind_index *x, const struct expr_input *in, size_t n, struct buf *out)
{
	struct presence *p;
	size_t all, kept = 0;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t at = first_of(x, EXACT, in[k].name); at; at = x->entry[at - 1].next)
			buf_add(out, &(struct presence){ group_of(counter_at(x, at)), k }, sizeof(*p));
	p = (void *)out->data;
	all = out->len / sizeof(*p);
	if (all)
		qsort(p, all, sizeof(*p), by_group);
	for (size_t i = 0; i < all; i++)
		if (!i || by_group(&p[i], &p[i - 1]))
			p[kept++] = p[i];
	out->len = kept * sizeof(*p);
	return out->err;
}

/* The number of the formula's events in the group. */
static size_t events_in(const struct buf *presences, uint32_t group)
{
	const struct presence *p = (const void *)presences->data;
	size_t n = presences->len / sizeof(*p);

	return ARRAY_PLACE(n, at, p[at].group <= group) - ARRAY_PLACE(n, at, p[at].group < group);
}

static int by_id(const void *x, const void *y)
{
	const uint32_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

int bind_of_groups(const struct bind_index *x, const char *name, const struct expr_input *in, size_t n_in,
		   uint32_t *found, uint32_t n)
{
	SCOPED(buf_release) struct buf presences = BUF_INIT, called = BUF_INIT; /* ids in order */
	SCOPED(names_release) struct names best = { 0 };                        /* counters, by PMU */
	uint32_t id;
	int err = find_presences(x, in, n_in, &presences);

	for (uint32_t at = first_of(x, EXACT, name); at && !err; at = x->entry[at - 1].next) {
		const struct pm_counter *c = counter_at(x, at);
		size_t has = group_of(c) ? events_in(&presences, group_of(c)) : 0;

		if (has && (!names_get(&best, pmu_of(c), &id) ||
			    has > events_in(&presences, group_of(pm_model_counter(x->model, id)))))
			err = names_set(&best, pmu_of(c), c->id);
		buf_add(&called, &c->id, sizeof(c->id));
	}
	err = err ? err : called.err;
	for (uint32_t i = 0; i < n && !err; i++) {
		const struct pm_counter *own = pm_model_counter(x->model, found[i]);

		if (group_of(own) && names_get(&best, pmu_of(own), &id) && called.len &&
		    bsearch(&found[i], called.data, called.len / sizeof(*found), sizeof(*found), by_id))
			found[i] = id;
	}
	return err;
}

uint32_t bind_counters(const struct bind_index *x, const char *name, uint32_t *found, uint32_t max)
{
	const struct pm_model *m = x->model;
	const struct pm_counter *c = pm_model_counter_named(m, name);
	uint32_t n = 0;

	if (c && is_number(c) && strcmp(c->source, "perf")) {
		if (max)
			found[0] = c->id;
		return 1;
	}
	for (uint32_t at = first_of(x, FAMILY, name); at; at = x->entry[at - 1].next) {
		if (n < max)
			found[n] = x->entry[at - 1].counter;
		n++;
	}
	/* Modifiers that the user gave (or that a lack of rights added) do not make another event, unless the name
	 * has some. */
	for (int exact = 1; exact >= 0 && !n; exact--) {
		uint64_t wildcard = 0;

		for (uint32_t at = first_of(x, exact ? EXACT : PLAIN, name); at; at = x->entry[at - 1].next) {
			uint64_t w;

			c = counter_at(x, at);
			/* An event that is counted twice is one event; on several PMUs of a kind it is a sum. */
			w = pm_map_u64(&c->attrs, PM_COUNTER_PERF_WILDCARD, 0);
			if (n && (!w || w != wildcard) && !is_beside(m, c, found, n < max ? n : max))
				continue;
			wildcard = w;
			if (n < max)
				found[n] = c->id;
			n++;
		}
	}
	return n;
}
