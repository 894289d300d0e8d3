/* Terms to attr words: fixed keys, aliases of sysfs, format fields. */
#include "common/event/resolve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/cpulist.h"
#include "common/parse.h"

/* ---- near misses ---- */

void nearest_offer(struct nearest *near, const char *name)
{
	size_t len = strlen(near->word);
	unsigned limit = len < 4 ? 1 : len < 10 ? 2 : 3;
	bool begins = len >= 4 && !strncasecmp(near->word, name, len);
	unsigned distance;

	if (strlen(name) >= sizeof(near->names[0]) || (strlen(name) > len + limit && !begins) ||
	    strlen(name) + limit < len)
		return;
	/* An unfinished word is less likely meant than a mistyped one. */
	distance = strlen(name) > len + limit ? limit : parse_distance(near->word, name);
	if (!strncasecmp(near->word, name, strlen(name)) && strlen(name) == len)
		distance = 0; /* differs in case alone */
	if (distance > limit || (near->n && distance > near->distance))
		return;
	if (!near->n || distance < near->distance) {
		near->n = 0;
		near->distance = distance;
	}
	for (unsigned i = 0; i < near->n; i++)
		if (!strcmp(near->names[i], name))
			return;
	if (near->n < sizeof(near->names) / sizeof(near->names[0]))
		strcpy(near->names[near->n++], name);
}

const char *nearest_text(const struct nearest *near, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < near->n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s\"%s\"%s", i ? ", " : "; did you mean ",
					near->names[i], i + 1 == near->n ? "?" : "");
	return text;
}

void listing_add(struct listing *l, const char *name)
{
	size_t len = strlen(name);

	/* Leave room for the text before the names. */
	if (l->len + len + 32 > sizeof(l->text))
		l->too_many = true;
	else
		l->len += (size_t)snprintf(l->text + l->len, sizeof(l->text) - l->len, "%s%s", l->len ? ", " : "",
					   name);
}

const char *listing_text(struct listing *l, const char *what)
{
	char names[sizeof(l->text)];

	if (!l->len || l->too_many)
		return "";
	memcpy(names, l->text, sizeof(names));
	snprintf(l->text, sizeof(l->text), "; %.20s %.*s", what, (int)(sizeof(names) - 32), names);
	return l->text;
}

/* ---- fixed keys ---- */

enum fixed_effect {
	FIXED_CONFIG, /* config word `n` */
	FIXED_NAME,
	FIXED_METRIC_ID,
	FIXED_PERCORE,
	FIXED_INHERIT, /* `n` */
	FIXED_CPU,
	FIXED_LEGACY,   /* an event of the general type `n`, asked of this PMU */
	FIXED_SAMPLING, /* affects sampling, not counting */
};

static const struct {
	const char *key;
	enum fixed_effect effect;
	int n;
} fixed_keys[] = {
	{ "config", FIXED_CONFIG, 0 },
	{ "config1", FIXED_CONFIG, 1 },
	{ "config2", FIXED_CONFIG, 2 },
	{ "config3", FIXED_CONFIG, 3 },
	{ "config4", FIXED_CONFIG, 4 },
	{ "name", FIXED_NAME },
	{ "metric-id", FIXED_METRIC_ID },
	{ "percore", FIXED_PERCORE },
	{ "inherit", FIXED_INHERIT, 1 },
	{ "no-inherit", FIXED_INHERIT, 0 },
	{ "cpu", FIXED_CPU },
	{ "legacy-hardware-config", FIXED_LEGACY, 0 },
	{ "legacy-cache-config", FIXED_LEGACY, 3 },
	{ "ratio-to-prev", FIXED_SAMPLING },
	{ "period", FIXED_SAMPLING },
	{ "freq", FIXED_SAMPLING },
	{ "branch_type", FIXED_SAMPLING },
	{ "time", FIXED_SAMPLING },
	{ "call-graph", FIXED_SAMPLING },
	{ "stack-size", FIXED_SAMPLING },
	{ "max-stack", FIXED_SAMPLING },
	{ "nr", FIXED_SAMPLING },
	{ "overwrite", FIXED_SAMPLING },
	{ "no-overwrite", FIXED_SAMPLING },
	{ "aux-output", FIXED_SAMPLING },
	{ "aux-action", FIXED_SAMPLING },
	{ "aux-sample-size", FIXED_SAMPLING },
};
#define N_FIXED (sizeof(fixed_keys) / sizeof(fixed_keys[0]))

static int set_text(char **to, const char *from)
{
	char *copy = strdup(from);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int need_value(struct resolver *r, const struct event_term *t, bool number)
{
	if (number ? t->is_number : t->value != NULL)
		return 0;
	return resolve_fail(r, EINVAL, t->column, "the term \"%s\" needs a %s", t->key, number ? "number" : "value");
}

/* A second cpu= adds to the first. */
static int add_cpus(struct event *ev, const char *list)
{
	SCOPED(buf_release) struct buf both = BUF_INIT;

	if (!ev->cpus)
		return set_text(&ev->cpus, list);
	buf_printf(&both, "%s,%s", ev->cpus, list);
	return both.err ? both.err : set_text(&ev->cpus, buf_str(&both));
}

/* If there are several kinds of cores, a general event has its PMU's type in the upper half of its config. */
static uint64_t general_pmu(const struct resolver *r, const struct event_pmu *pmu)
{
	unsigned cores = 0;

	for (size_t i = 0; i < r->view->n_pmus; i++)
		cores += r->view->pmu[i].core;
	return pmu && pmu->core && cores > 1 ? (uint64_t)pmu->type << 32 : 0;
}

static int apply_fixed(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_term *t,
		       size_t which)
{
	struct cpulist cpus = { 0 };
	struct error ignored;
	int err = 0;

	switch (fixed_keys[which].effect) {
	case FIXED_CONFIG:
		err = need_value(r, t, true);
		if (!err)
			ev->config[fixed_keys[which].n] = t->number;
		return err;
	case FIXED_NAME:
		err = need_value(r, t, false);
		ev->named = true;
		return err ? err : set_text(&ev->display, t->value);
	case FIXED_METRIC_ID:
		err = need_value(r, t, false);
		return err ? err : set_text(&ev->metric_id, t->value);
	case FIXED_PERCORE:
		ev->percore = !t->value || (t->is_number && t->number);
		return 0;
	case FIXED_INHERIT:
		ev->inherit = (int8_t)(t->is_number && !t->number ? !fixed_keys[which].n : fixed_keys[which].n);
		return 0;
	case FIXED_CPU:
		err = need_value(r, t, false);
		if (err)
			return err;
		/* The comma separates terms here, so this is a number, a range, or the PMU whose CPUs are meant. */
		for (size_t i = 0; i < r->view->n_pmus; i++)
			if (!strcmp(r->view->pmu[i].name, t->value))
				return add_cpus(ev, r->view->pmu[i].cpus ? r->view->pmu[i].cpus : "0-65535");
		err = cpulist_parse(&cpus, t->value, false, &ignored);
		cpulist_release(&cpus);
		if (err)
			return resolve_fail(r, EINVAL, t->column,
					    "\"%s\" is neither a CPU nor a range of CPUs nor a PMU", t->value);
		return add_cpus(ev, t->value);
	case FIXED_LEGACY:
		err = need_value(r, t, true);
		if (!err) {
			ev->type = (uint32_t)fixed_keys[which].n;
			ev->config[0] = t->number | general_pmu(r, pmu);
		}
		return err;
	case FIXED_SAMPLING:
		return 0;
	}
	return 0;
}

/* ---- aliases and format fields ---- */

static const struct event_alias *find_alias(const struct event_pmu *pmu, const char *name)
{
	for (size_t i = 0; pmu && i < pmu->n_aliases; i++)
		if (!strcasecmp(pmu->alias[i].name, name))
			return &pmu->alias[i];
	return NULL;
}

static const struct event_format *find_format(const struct event_pmu *pmu, const char *name)
{
	for (size_t i = 0; pmu && i < pmu->n_formats; i++)
		if (!strcmp(pmu->format[i].name, name))
			return &pmu->format[i];
	return NULL;
}

static int apply_format(struct resolver *r, struct event *ev, const struct event_pmu *pmu,
			const struct event_format *f, const struct event_term *t)
{
	uint64_t max = 0;
	int err;

	if (t->value && !t->is_number)
		return resolve_fail(r, EINVAL, t->column, "the term \"%s\" of %s needs a number, not \"%.40s\"",
				    t->key, pmu->name, t->value);
	err = event_format_pack(f->text, t->value ? t->number : 1, ev->config, &max);
	if (err == -ERANGE)
		return resolve_fail(r, EINVAL, t->column,
				    "%s=0x%llx is too big for %s (%.60s), the maximum is 0x%llx", t->key,
				    (unsigned long long)t->number, pmu->name, f->text, (unsigned long long)max);
	if (err)
		return resolve_fail(r, EINVAL, t->column,
				    "the kernel describes \"%s\" of %s as \"%.60s\", which is not known", t->key,
				    pmu->name, f->text);
	return 0;
}

static int unknown_term(struct resolver *r, const struct event_pmu *pmu, const struct event_term *t)
{
	struct nearest near = { .word = t->key };
	struct listing all = { 0 };
	char hint[256];

	for (size_t i = 0; pmu && i < pmu->n_formats; i++) {
		nearest_offer(&near, pmu->format[i].name);
		listing_add(&all, pmu->format[i].name);
	}
	for (size_t i = 0; pmu && i < pmu->n_aliases; i++) {
		nearest_offer(&near, pmu->alias[i].name);
		listing_add(&all, pmu->alias[i].name);
	}
	for (size_t i = 0; i < N_FIXED; i++)
		nearest_offer(&near, fixed_keys[i].key);
	return resolve_fail(r, EINVAL, t->column, "%s%s has no term or event \"%.60s\"%s", pmu ? "" : "the event ",
			    pmu ? pmu->name : r->node->name, t->key,
			    near.n ? nearest_text(&near, hint, sizeof(hint)) : listing_text(&all, "it has"));
}

/* Applies one term that is not an alias. */
static int apply(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_term *t)
{
	const struct event_format *f;
	uint64_t raw;

	if (t->driver)
		return resolve_fail(r, EINVAL, t->column, "@%s configures a driver for tracing, not for counting",
				    t->key);
	for (size_t i = 0; i < N_FIXED; i++)
		if (!strcmp(fixed_keys[i].key, t->key))
			return apply_fixed(r, ev, pmu, t, i);
	if (pmu && pmu->hooks) {
		struct error rule = { 0 };
		int taken = pmu->hooks->term(pmu, t, ev->config, r->notes, &rule);

		if (taken)
			return taken > 0 ? 0 : resolve_fail(r, -taken, t->column, "%s", rule.text);
	}
	f = find_format(pmu, t->key);
	if (f)
		return apply_format(r, ev, pmu, f, t);
	if (pmu && !t->value && t->key[0] == 'r' &&
	    !parse_u64_span(t->key + (t->key[1] == '0' && t->key[2] == 'x' ? 3 : 1),
			    strlen(t->key + (t->key[1] == '0' && t->key[2] == 'x' ? 3 : 1)), 16, &raw)) {
		ev->config[0] = raw;
		return 0;
	}
	return unknown_term(r, pmu, t);
}

static bool has_key(const struct event_node *n, const char *key)
{
	for (size_t i = 0; i < n->n_terms; i++)
		if (!strcmp(n->term[i].key, key) && n->term[i].value)
			return true;
	return false;
}

static int apply_alias(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const struct event_alias *a,
		       const struct event_term *t)
{
	struct event_term *terms = NULL;
	struct error inner = { 0 };
	int n = event_terms_parse(&terms, a->text, &inner), err = n < 0 ? n : 0;

	if (n < 0)
		return resolve_fail(r, EINVAL, t->column, "cannot parse the kernel's text for %s/%s/: %.100s",
				    pmu->name, a->name, inner.text);
	for (int i = 0; i < n && !err; i++) {
		struct event_term inherited = terms[i];

		/* "core=?" must be given by the user; older kernels write "$core". */
		if (terms[i].value && (terms[i].value[0] == '?' || terms[i].value[0] == '$')) {
			if (!has_key(r->node, terms[i].key))
				err = resolve_fail(r, EINVAL, t->column, "%s/%s/ needs the term \"%s=...\"",
						   pmu->name, a->name, terms[i].key);
			continue;
		}
		inherited.column = t->column;
		err = apply(r, ev, pmu, &inherited);
	}
	event_terms_free(terms, (size_t)n);
	if (!err && a->scale)
		err = set_text(&ev->scale, a->scale);
	if (!err && a->unit)
		err = set_text(&ev->unit, a->unit);
	ev->per_pkg |= a->per_pkg;
	ev->snapshot |= a->snapshot;
	return err;
}

/* Whether it is a general event requested from one PMU: "cpu_core/cycles/", "software/cs/". */
static bool is_legacy(const struct event_pmu *pmu, const char *name, const struct event_symbol **s, uint64_t *config)
{
	*s = pmu ? event_symbol_find(name) : NULL;
	if (*s)
		return (*s)->type == 0 ? pmu->core : pmu->type == 1;
	return pmu && pmu->core && !event_cache_parse(name, config);
}

static int apply_legacy(struct resolver *r, struct event *ev, const struct event_pmu *pmu, const char *name)
{
	const struct event_symbol *s;
	uint64_t config = 0;
	int err = 0;

	is_legacy(pmu, name, &s, &config);
	ev->type = s ? s->type : 3;
	ev->config[0] = (s ? s->config : config) | general_pmu(r, pmu);
	if (s && s->scale)
		err = set_text(&ev->scale, s->scale);
	if (s && s->unit && !err)
		err = set_text(&ev->unit, s->unit);
	ev->kernel_only = s && s->kernel_only;
	return err;
}

bool resolve_term_counts(const struct event_term *t)
{
	for (size_t i = 0; i < N_FIXED; i++)
		if (!strcmp(fixed_keys[i].key, t->key))
			return fixed_keys[i].effect != FIXED_NAME && fixed_keys[i].effect != FIXED_METRIC_ID &&
			       fixed_keys[i].effect != FIXED_SAMPLING;
	return true;
}

static bool is_sampling(const struct event_term *t)
{
	for (size_t i = 0; i < N_FIXED; i++)
		if (!strcmp(fixed_keys[i].key, t->key))
			return fixed_keys[i].effect == FIXED_SAMPLING;
	return false;
}

int resolve_terms(struct resolver *r, struct event *ev, const struct event_pmu *pmu)
{
	const struct event_node *n = r->node;
	int err = 0;

	/* Event names come first, so that the user's terms override theirs wherever they stand. */
	for (int names = 1; names >= 0 && !err; names--)
		for (size_t i = 0; i < n->n_terms && !err; i++) {
			const struct event_term *t = &n->term[i];
			bool plain = !t->value && !t->driver;
			const struct event_alias *a = plain ? find_alias(pmu, t->key) : NULL;
			const struct event_symbol *s;
			uint64_t config;
			bool legacy = plain && !a && !find_format(pmu, t->key) && is_legacy(pmu, t->key, &s, &config);

			if (a && names)
				err = apply_alias(r, ev, pmu, a, t);
			else if (legacy && names)
				err = apply_legacy(r, ev, pmu, t->key);
			else if (!a && !legacy && !names)
				err = apply(r, ev, pmu, t);
			if (!names && is_sampling(t))
				buf_printf(r->notes, "%.60s in \"%.*s\" applies to sampling only, and is ignored\n",
					   t->key, (int)(n->end - n->column), r->list->text + n->column);
		}
	if (!err && pmu && pmu->hooks) {
		struct error rule = { 0 };

		err = pmu->hooks->finish(pmu, ev->config, r->notes, &rule);
		if (err)
			err = resolve_fail(r, -err, n->column, "%s", rule.text);
	}
	return err;
}
