/* What a name in a formula can mean in a recording (counters in their many spellings, events by what they count,
 * events of PMU classes, fields of registers, literals); and definitions of metrics, and counters as metrics, tied
 * to what feeds them there. */
#include "report/metric/bind.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/add.h"
#include "common/array.h"
#include "common/buf.h"
#include "common/catalog/msr.h"
#include "common/cpulist.h"
#include "common/event/event.h"
#include "common/event/vendor_events.h"
#include "common/memory.h"
#include "common/parse.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/status.h"
#include "report/replay/replay.h"

/*
 * Formulas over PMU classes (common/catalog/pmu_class.h): "nvidia_ucf/mem_bytes_rd/" is that event on every PMU of
 * the class. What a formula divides was best counted at once: of each PMU, its inputs come from one group, if one has
 * them all. What was counted with a filter is another quantity: there is one metric for each recorded set of filters.
 */

/* A PMU of the recording. */
struct class_pmu {
	const struct pmu_class *class; /* NULL: none */
	uint32_t kin;    /* place of the first PMU with the same CPUs whose name differs in digits at most */
	uint16_t reason; /* why a requested event of it is not in the recording; PM_OK: nobody requested it */
	bool refused;    /* that is the reason of an event, not of the whole PMU */
	bool recorded;   /* some event of it is in the recording */
};

struct class_counter {
	uint32_t counter; /* id */
	uint32_t group;
	const char *pmu; /* borrowed from the model */
	const struct pmu_class *class;
	const struct pmu_class_event *event;
	uint32_t filter;   /* place in filter[] */
	uint32_t first;    /* place of the PMU's first row */
	uint64_t words[3]; /* the PMU's filters: attr words without the event's code */
	bool clock;
};

struct class_index {
	struct class_counter *row; /* owned; PMU by PMU and group by group, as they were recorded */
	size_t n;
	uint32_t *sorted; /* owned: places of rows by PMU, event, filter and group */
	char **filter;    /* owned; distinct texts, the first is "" */
	uint32_t n_filters;
	struct class_pmu *pmu; /* owned; beside pmu[] of the model */
	struct names pmus;     /* their names -> places */
};

/* Which counters one formula takes, under one set of filters. */
struct class_choice {
	const struct pmu_class *class;
	const struct class_index *index;
	uint32_t filter;
	bool *taken; /* owned: of each row of the index */
	size_t n;    /* PMUs that can feed the formula */
};

/* The counters of a model, borrowed, by all names that formulas have for them. */
struct bind_index {
	const struct pm_model *model;
	struct names names;
	struct bind_entry *entry; /* owned */
	uint32_t n;
	struct class_index classes;
	struct event_pmu *pmu; /* owned: the recording's, for bind_meant() */
	size_t n_pmus;
	bool knows_pmus;
};

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
	memory_whole(key);
}

/* Counters are added from the last to the first. */
static void add(struct bind_index *x, struct buf *key, const struct pm_counter *c, enum spelling how,
		const char *name)
{
	uint32_t head = 0;

	put_key(key, how, name);
	if (names_get(&x->names, buf_str(key), &head) && x->entry[head - 1].counter == c->id)
		return;
	memory_room(&x->entry, x->n, sizeof(*x->entry));
	x->entry[x->n++] = (struct bind_entry){ c->id, head };
	memory_done(names_set(&x->names, buf_str(key), x->n));
}

static void add_event(struct bind_index *x, struct buf *key, const struct pm_counter *c)
{
	const char *text[] = {
		pm_map_text(&c->attrs, PM_COUNTER_PERF_METRIC_ID, NULL),
		pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL),
		pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, NULL),
		c->name,
	};
	char a[512];

	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		if (!text[i])
			continue;
		add(x, key, c, EXACT, canonical(text[i]));
		add(x, key, c, PLAIN, plain(text[i], a, sizeof(a)));
	}
}

/* The first counter that the name stands for; 0 after the last. */
static uint32_t first_of(const struct bind_index *x, enum spelling how, const char *name)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;
	uint32_t at = 0;

	put_key(&key, how, how == FAMILY ? name : canonical(name));
	names_get(&x->names, buf_str(&key), &at);
	return at;
}

static const struct pm_counter *counter_at(const struct bind_index *x, uint32_t at)
{
	return pm_model_counter(x->model, x->entry[at - 1].counter);
}

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

/* Whether some event of a PMU was opened more than once, in several groups. */
static bool bind_twice(const struct pm_model *m)
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
		else
			memory_done(names_set(&seen, buf_str(&key), group_of(c)));
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
static void find_presences(const struct bind_index *x, const struct expr_input *in, size_t n, struct buf *out)
{
	struct presence *p;
	size_t all, kept = 0;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t at = first_of(x, EXACT, in[k].name); at; at = x->entry[at - 1].next)
			buf_add(out, &(struct presence){ group_of(counter_at(x, at)), k }, sizeof(*p));
	memory_whole(out);
	p = (void *)out->data;
	all = out->len / sizeof(*p);
	if (all)
		qsort(p, all, sizeof(*p), by_group);
	for (size_t i = 0; i < all; i++)
		if (!i || by_group(&p[i], &p[i - 1]))
			p[kept++] = p[i];
	out->len = kept * sizeof(*p);
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

/* Replaces each event in `found` by the one of the same name and PMU that a formula with these inputs takes: the
 * first one in a group with most of the other inputs. Other inputs stay. */
static void bind_of_groups(const struct bind_index *x, const char *name, const struct expr_input *in, size_t n_in,
			   uint32_t *found, uint32_t n)
{
	SCOPED(buf_release) struct buf presences = BUF_INIT, called = BUF_INIT; /* ids in order */
	SCOPED(names_release) struct names best = { 0 };                        /* counters, by PMU */
	uint32_t id;

	find_presences(x, in, n_in, &presences);
	for (uint32_t at = first_of(x, EXACT, name); at; at = x->entry[at - 1].next) {
		const struct pm_counter *c = counter_at(x, at);
		size_t has = group_of(c) ? events_in(&presences, group_of(c)) : 0;

		if (has && (!names_get(&best, pmu_of(c), &id) ||
			    has > events_in(&presences, group_of(pm_model_counter(x->model, id)))))
			memory_done(names_set(&best, pmu_of(c), c->id));
		buf_add(&called, &c->id, sizeof(c->id));
	}
	memory_whole(&called);
	for (uint32_t i = 0; i < n; i++) {
		const struct pm_counter *own = pm_model_counter(x->model, found[i]);

		if (group_of(own) && names_get(&best, pmu_of(own), &id) && called.len &&
		    bsearch(&found[i], called.data, called.len / sizeof(*found), sizeof(*found), by_id))
			found[i] = id;
	}
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

#define OWN_RULE UINT8_MAX

static const struct {
	const char *name, *counter;
	enum input_op op;
	uint8_t hi, lo, valid, rule;
	const char *fact;
} fields[] = {
	/* Degrees below the maximum: the hottest has the fewest. */
	{ "msr.therm_status.readout", "msr.therm_status", INPUT_BITS, 22, 16, 31, PM_AGG_MIN, NULL },
	{ "msr.package_therm_status.readout", "msr.package_therm_status", INPUT_BITS, 22, 16, 0, PM_AGG_MIN, NULL },
	{ "msr.therm_status.celsius", "msr.therm_status", INPUT_BELOW, 22, 16, 31, PM_AGG_MAX, "tj_max" },
	{ "msr.package_therm_status.celsius", "msr.package_therm_status", INPUT_BELOW, 22, 16, 0, PM_AGG_MAX,
	  "tj_max" },
#define TIMES(counter, what, fact) \
	{ \
		counter "." what, counter, INPUT_TIMES, 0, 0, 0, OWN_RULE, fact \
	}
	TIMES("msr.pkg_energy_status", "joules", "rapl_energy_unit"),
	TIMES("msr.pp0_energy_status", "joules", "rapl_energy_unit"),
	TIMES("msr.pp1_energy_status", "joules", "rapl_energy_unit"),
	TIMES("msr.dram_energy_status", "joules", "rapl_dram_unit"),
	TIMES("msr.platform_energy_status", "joules", "rapl_psys_unit"),
	TIMES("msr.amd_pkg_energy", "joules", "amd_energy_unit"),
	TIMES("msr.amd_core_energy", "joules", "amd_energy_unit"),
	TIMES("msr.pkg_perf_status", "seconds", "rapl_time_unit"),
	TIMES("msr.dram_perf_status", "seconds", "rapl_time_unit"),
	/* Efficiency cores also count time in C7 as time in C6. */
	TIMES("msr.core_c7_res", "in_c6", "c7_in_c6"),
#undef TIMES
	{ "msr.mperf.seconds", "msr.mperf", INPUT_OVER, 0, 0, 0, OWN_RULE, "base_hz" },
	{ "throttle.core.worst", "throttle.core", INPUT_RULE, 0, 0, 0, PM_AGG_MAX, NULL },
	{ "reading.us", "msr.tsc", INPUT_SPAN, 0, 0, 0, PM_AGG_MAX, NULL },
	{ "reading.time", "msr.tsc", INPUT_WALL, 0, 0, 0, PM_AGG_MAX, NULL },
	{ "cpu.apic_id", "msr.tsc", INPUT_NUMBER, 0, 0, 0, PM_AGG_NONE, "apic_id" },
	{ "cpu.x2apic_id", "msr.tsc", INPUT_NUMBER, 0, 0, 0, PM_AGG_NONE, "x2apic_id" },
};

/* A name that stands for something made of a counter ("msr.therm_status.celsius"): that counter's name, and what is
 * made of it in *in. NULL: it is none. What is known of CPUs without any reading hangs at msr.tsc. */
static const char *bind_field(const char *name, struct input_more *in)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, name))
			continue;
		in->op = fields[i].op;
		in->hi = fields[i].hi;
		in->lo = fields[i].lo;
		in->valid = fields[i].valid;
		in->own_rule = fields[i].rule == OWN_RULE;
		in->rule = in->own_rule ? PM_AGG_NONE : (enum pm_aggregation)fields[i].rule;
		in->fact = fields[i].fact;
		return fields[i].counter;
	}
	return NULL;
}

double bind_number(const struct places *p, const struct bound_input *in, const struct pm_instance *i)
{
	struct place at;
	struct value v;

	if (in->more->fixed != 0)
		return in->more->fixed;
	if (!places_find(p, i, PM_PACKAGE, &at))
		at.package = PM_NONE;
	if (!cpu_literal(p->model, in->more->fact, at.package, i->kind == PM_CPU ? i->number : i->cpu, &v) ||
	    v.reason)
		return NAN;
	return v.v;
}

/* The number of distinct places of a kind that contain online CPUs; 0 if unknown. */
static double count(const struct places *p, enum pm_kind kind)
{
	SCOPED(scoped_free) struct place *at = memory_new(p->n, sizeof(*at));
	uint32_t n = 0;
	double distinct = 0;

	for (uint32_t i = 0; i < p->n; i++) {
		struct pm_instance cpu = { .kind = PM_CPU, .number = p->cpu[i].cpu, .cpu = p->cpu[i].cpu };

		n += p->cpu[i].online && places_find(p, &cpu, kind, &at[n]);
	}
	qsort(at, n, sizeof(*at), place_compare);
	for (uint32_t i = 0; i < n; i++)
		distinct += !i || place_compare(&at[i - 1], &at[i]);
	return distinct;
}

static struct value smt(const struct places *p)
{
	if (!p->n)
		return value_missing(VALUE_NO_INPUT);
	for (uint32_t i = 0; i < p->n; i++)
		if (p->cpu[i].online && p->cpu[i].thread != PM_NONE && p->cpu[i].thread)
			return value_of(1);
	return value_of(0);
}

static struct value positive(double d)
{
	return d > 0 ? value_of(d) : value_missing(VALUE_NO_INPUT);
}

/* "0x00000008": caps/slots of the core PMU; 0 means "not said". */
static bool slots_number(const struct pm_value *text, uint64_t *v)
{
	const char *digits = text->str.data;
	size_t len = text->str.len;

	if (len > 2 && digits[0] == '0' && digits[1] == 'x') {
		digits += 2;
		len -= 2;
	}
	return !parse_u64_span(digits, len, 16, v) && *v;
}

static struct value slots(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		const struct pm_value *caps = pm_map_get(&m->pmu[i].attrs, PM_PMU_CAPS);

		for (uint32_t k = 0; caps && caps->kind == PM_VALUE_ARRAY && k < caps->array.n; k++) {
			const struct pm_value *pair = &caps->array.item[k];
			uint64_t v;

			if (pair->kind == PM_VALUE_ARRAY && pair->array.n == 2 &&
			    pair->array.item[0].kind == PM_VALUE_TEXT && pair->array.item[1].kind == PM_VALUE_TEXT &&
			    !strcmp(pair->array.item[0].str.data, "slots") && slots_number(&pair->array.item[1], &v))
				return value_of((double)v);
		}
	}
	return value_missing(VALUE_NO_INPUT);
}

/* Whether CPUs were counted rather than tasks. */
static bool counts_cpus(const struct pm_map *header)
{
	const char *target = pm_map_text(header, PM_HEADER_TARGET, "system");

	return !strcmp(target, "system") || !strcmp(target, "cpu") || !strcmp(target, "cgroup");
}

/* The recorder looks for the firmware's table of it. */
static struct value has_pmem(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (!strcmp(m->config[i].name, "machine.has_pmem") && m->config[i].value.kind == PM_VALUE_U64)
			return value_of((double)m->config[i].value.u64);
	return value_missing(VALUE_NO_INPUT);
}

bool bind_literal(const struct places *p, const char *name, struct value *v)
{
	static const struct {
		const char *name;
		enum pm_kind kind;
	} counts[] = { { "num_cpus_online", PM_CPU },
		       { "num_cores", PM_CORE },
		       { "num_dies", PM_DIE },
		       { "num_packages", PM_PACKAGE },
		       { "num_nodes", PM_NODE } };
	const struct pm_map *header = &p->model->header;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!strcmp(name, counts[i].name)) {
			*v = positive(count(p, counts[i].kind));
			return true;
		}
	if (!strcmp(name, "smt_on"))
		*v = smt(p);
	else if (!strcmp(name, "num_cpus"))
		*v = positive(p->n);
	else if (!strcmp(name, "system_tsc_freq"))
		*v = positive(cpu_counter_hz(p->model, 0));
	else if (!strcmp(name, "slots"))
		*v = slots(p->model);
	else if (!strcmp(name, "target_cpu"))
		*v = value_of(counts_cpus(header));
	else if (!strcmp(name, "has_pmem"))
		*v = has_pmem(p->model);
	else if (!strcmp(name, "core_wide"))
		*v = smt(p).reason ? smt(p) :
				     value_of(!smt(p).v ||
					      !strcmp(pm_map_text(header, PM_HEADER_TARGET, "system"), "system"));
	else
		return cpu_literal(p->model, name, PM_NONE, PM_NONE, v);
	return true;
}

const struct bound_metric *bind_whole(const struct binding *b, const struct input_more *in)
{
	for (size_t i = 0; in->whole && i < b->n_metrics; i++)
		if (!b->metric[i].counter && !strcmp(b->metric[i].name, in->whole))
			return &b->metric[i];
	return NULL;
}

/* Whether a formula copes without its input `i`: it asks has_event() first. */
static bool bind_is_optional(const struct expr_input *in, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (in[k].aspect == EXPR_HAS_EVENT && !strcmp(in[k].name, in[i].name))
			return true;
	return false;
}

const char *bind_missing(const struct binding *b, const struct places *p, const struct metric *m, struct buf *scratch)
{
	const struct expr_input *in;
	struct expr *x = NULL;
	const char *missing = NULL;
	struct input_more field;
	struct value v;
	uint32_t found;
	size_t n;

	buf_clear(scratch);
	if (m->each) {
		if (!bind_counters(b->index, m->each, &found, 1))
			buf_addstr(scratch, m->each);
		return scratch->len ? buf_str(scratch) : NULL;
	}
	if (expr_parse(&x, m->expr, NULL))
		return NULL;
	in = expr_inputs(x, &n);
	for (size_t i = 0; i < n && !missing; i++) {
		const char *reg;

		if (in[i].aspect == EXPR_HAS_EVENT || in[i].aspect == EXPR_CPUID_MATCH ||
		    bind_is_optional(in, n, i) ||
		    (in[i].aspect == EXPR_SYSTEM && bind_whole(b, &(struct input_more){ .whole = in[i].name })))
			continue;
		field = (struct input_more){ 0 };
		reg = bind_field(in[i].name, &field);
		if (in[i].aspect == EXPR_LITERAL ? bind_literal(p, in[i].name, &v) && !v.reason :
						   bind_counters(b->index, reg ? reg : in[i].name, &found, 1) != 0) {
			if (in[i].aspect == EXPR_LITERAL || !field.fact ||
			    (bind_literal(p, field.fact, &v) && !v.reason))
				continue;
			buf_printf(scratch, "#%s", field.fact);
		} else {
			buf_printf(scratch, "%s%s", in[i].aspect == EXPR_LITERAL ? "#" : "", reg ? reg : in[i].name);
		}
		missing = buf_str(scratch);
	}
	expr_free(x);
	return missing;
}

/* "uncore_imc_3/cas_count_read/" without the number: PMUs of a kind are one. */
static void put_counter(struct buf *out, const char *name)
{
	const char *slash = strchr(name, '/'), *end = slash ? slash : name;

	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	if (end > name && end[-1] == '_')
		buf_printf(out, "%.*s%s", (int)(end - 1 - name), name, slash);
	else
		buf_addstr(out, name);
}

void bound_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out)
{
	struct listed counters = { .most = 3 };

	for (uint32_t i = 0; i < metric->n_inputs; i++) {
		const struct bound_input *in = &b->input[metric->input[i]];

		for (uint32_t k = 0; k < in->n_counters && !in->constant; k++) {
			SCOPED(buf_release) struct buf one = BUF_INIT;

			put_counter(&one, pm_model_counter(b->index->model, in->counter[k])->name);
			memory_whole(&one);
			listed_add(&counters, buf_str(&one));
		}
	}
	listed_put(&counters, out);
}

/* ---- events by what they count ---- */

/* "cpu/event=0xc0/" and "instructions" may be the same to a PMU. Texts are resolved with the PMUs that the recording
 * describes, and compared with the attr words of the recorded events. */

static uint32_t rows_of(const struct pm_value *v)
{
	return v && v->kind == PM_VALUE_ARRAY ? v->array.n : 0;
}

static const char *text_at(const struct pm_value *array, uint32_t i)
{
	return i < rows_of(array) && array->array.item[i].kind == PM_VALUE_TEXT ? array->array.item[i].str.data : "";
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

static int no_tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	(void)data, (void)system, (void)name, (void)found, (void)arg;
	return -ENODEV;
}

uint64_t bind_attr(const struct pm_model *m, const struct pm_counter *c, size_t at, size_t bytes)
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

	if (!attr || attr->kind != PM_VALUE_BYTES || bind_attr(m, c, 0, 4) != ev->type)
		return false;
	for (size_t i = 0; i < EVENT_CONFIGS; i++)
		if (bind_attr(m, c, config_at[i], 8) != ev->config[i])
			return false;
	/* Modifiers that the user gave do not make another event, unless the formula has some. */
	return !ev->name[ev->body] ||
	       !strcmp(letters(ev->name), letters(pm_map_text(&c->attrs, PM_COUNTER_PERF_EVENT, "")));
}

static void read_pmus(struct bind_index *x, struct vendor_events *events)
{
	SCOPED(buf_release) struct buf notes = BUF_INIT;

	x->knows_pmus = true;
	x->pmu = recorded_pmus(x->model);
	x->n_pmus = x->model->n_pmus;
	/* What cannot be parsed in a vendor's file is then not found by name. */
	if (events)
		vendor_events_apply(events, x->pmu, x->n_pmus, &notes);
}

static uint32_t find_meant(const struct bind_index *x, const struct event_set *set, uint32_t *found, uint32_t max)
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

/* Recorded events that the text means, however it is written: ids into `found` (at most `max`); their number, 0 if
 * the text means nothing there. `events` (NULL: none) adds names of a vendor's files. */
static uint32_t bind_meant(struct bind_index *x, struct vendor_events *events, const char *text, uint32_t *found,
			   uint32_t max)
{
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct event_view view;
	uint32_t n = 0;

	if (!x->knows_pmus)
		read_pmus(x, events);
	view = (struct event_view){ .pmu = x->pmu, .n_pmus = x->n_pmus, .tracepoints = no_tracepoints };
	if (x->n_pmus && !event_parse(&list, text, NULL) && list->n == 1 &&
	    !event_resolve(list, &view, &set, &notes, NULL))
		n = find_meant(x, &set, found, max);
	event_list_free(list);
	event_set_release(&set);
	return n;
}

/* ---- events of classes ---- */

/* A hostile file may have more sets of filters than any machine counts with: each costs all metrics of the class. */
#define FILTERS_MAX 256

static void class_index_release(struct class_index *x)
{
	for (uint32_t i = 0; i < x->n_filters; i++)
		free(x->filter[i]);
	free(x->filter);
	free(x->sorted);
	free(x->row);
	free(x->pmu);
	names_release(&x->pmus);
}

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

	if (!names_get(&x->pmus, pmu_of(c), &at))
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
		memory_ends(ENOMEM);
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

	words[0] = bind_attr(m, c, CONFIG, 8) ^ (attr ? event->code : 0);
	words[1] = bind_attr(m, c, CONFIG1, 8);
	words[2] = bind_attr(m, c, CONFIG2, 8);
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

static void class_index_build(struct class_index *x, const struct pm_model *m)
{
	SCOPED(buf_release) struct buf filters = BUF_INIT;
	SCOPED(names_release) struct names firsts = { 0 };

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

/* The class that the text of a formula names first, or NULL. */
static const struct pmu_class *class_of_formula(const char *text)
{
	for (const struct pmu_class *c = pmu_classes; c->name && strchr(text, '@'); c++) {
		size_t len = strlen(c->name);

		for (const char *at = text; (at = strstr(at, c->name)); at += len)
			if (at[len] == '@' && (at == text || !strchr("_abcdefghijklmnopqrstuvwxyz", at[-1])))
				return c;
	}
	return NULL;
}

static void class_choice_release(struct class_choice *choice)
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

/* What a formula with these inputs takes; choice->n is 0 if nothing can feed it. */
static void class_choose(struct class_choice *choice, const struct class_index *index, const struct pmu_class *class,
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

/* Counters of the event, and the clock beside each (0: none), at most `max`. */
static uint32_t class_counters(const struct class_choice *choice, const struct pmu_class_event *event,
			       uint32_t *found, uint32_t *clock, uint32_t max)
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

static struct bind_index *bind_index_new(const struct pm_model *m)
{
	struct bind_index *x = memory_new(1, sizeof(*x));
	SCOPED(buf_release) struct buf key = BUF_INIT;

	x->model = m;
	class_index_build(&x->classes, m);
	for (uint32_t i = m->n_counters; i-- > 0;) {
		const struct pm_counter *c = &m->counter[i];
		const char *family = pm_map_text(&c->attrs, PM_COUNTER_FAMILY, NULL);

		if (!is_number(c))
			continue;
		if (family)
			add(x, &key, c, FAMILY, family);
		if (!strcmp(c->source, "perf"))
			add_event(x, &key, c);
	}
	return x;
}

static void bind_index_free(struct bind_index *x)
{
	if (!x)
		return;
	names_release(&x->names);
	free(x->entry);
	class_index_release(&x->classes);
	for (size_t i = 0; i < x->n_pmus; i++)
		event_pmu_release(&x->pmu[i]);
	free(x->pmu);
	free(x);
}

/* ---- the metrics of pmrec's -M ---- */

static const struct pm_value *entries(const struct pm_model *m)
{
	return pm_map_get(&m->header, PM_HEADER_METRICS);
}

static char *copy_of(const struct pm_value *v, uint32_t i)
{
	return memory_text(text_at(v, i));
}

static void add_recorded(struct metric_set *set, const struct pm_value *v)
{
	struct metric *row = &set->row[set->n];
	struct error e = { 0 };
	struct expr *x;

	if (!text_at(v, PM_METRIC_NAME)[0])
		return;
	if (expr_parse(&x, text_at(v, PM_METRIC_FORMULA), &e)) {
		buf_printf(&set->skipped, "metric %s left out: %s\n", text_at(v, PM_METRIC_NAME), e.text);
		memory_whole(&set->skipped);
		return;
	}
	expr_free(x);
	*row = (struct metric){
		.name = metric_id(text_at(v, PM_METRIC_NAME)),
		.display = copy_of(v, PM_METRIC_NAME),
		.aliases = copy_of(v, PM_METRIC_NAME),
		.unit = copy_of(v, PM_METRIC_UNIT),
		.expr = copy_of(v, PM_METRIC_FORMULA),
		.threshold = text_at(v, PM_METRIC_THRESHOLD)[0] ? copy_of(v, PM_METRIC_THRESHOLD) : NULL,
		.categories = text_at(v, PM_METRIC_GROUPS)[0] ? copy_of(v, PM_METRIC_GROUPS) : NULL,
		.help = copy_of(v, PM_METRIC_HELP),
		.precision = 2,
		.default_on = true,
	};
	set->n++;
}

/* The definitions of those from a vendor's file, without invalid ones. */
static void recorded_metrics(struct metric_set *set, const struct pm_model *m)
{
	const struct pm_value *v = entries(m);

	*set = (struct metric_set){ .row = memory_new(rows_of(v), sizeof(*set->row)) };
	for (uint32_t i = 0; i < rows_of(v); i++)
		add_recorded(set, &v->array.item[i]);
}

const char *recorded_name(const struct pm_model *m, uint32_t i)
{
	const struct pm_value *v = entries(m), *one;

	if (i >= rows_of(v))
		return NULL;
	one = &v->array.item[i];
	return one->kind == PM_VALUE_TEXT ? one->str.data : text_at(one, PM_METRIC_NAME);
}

/* Whether -M requested the metric of this name or display. */
static bool recorded_asks(const struct pm_model *m, const char *name)
{
	const char *asked;

	for (uint32_t i = 0; (asked = recorded_name(m, i)); i++)
		if (!strcasecmp(asked, name))
			return true;
	return false;
}

/* ---- metrics and what feeds them ---- */

#define BIND_MAX_COUNTERS 4096 /* counters that one name of a formula may mean */

struct builder {
	struct binding *b;
	const struct places *p;
	const struct bind_options *options;
	struct error *error;
	uint32_t *found;           /* scratch, BIND_MAX_COUNTERS */
	uint32_t *clock, n_clocks; /* likewise, beside found[] */
	struct buf text;           /* scratch */
	struct names taken;        /* names of the metrics so far */
	const char *pmu;           /* of the kind of CPUs for the current formula; NULL: of all */
	const struct add *added;   /* the current formula is that of a column added to the recording */
	enum pm_kind first_of;     /* its inputs: only what each such place's first CPU read; PM_SYSTEM: all */
	bool raw;                  /* the current formula wants counts before a PMU's scale */
	bool twice;                /* some event was counted in several groups */
	bool *twin;                /* by counter id: the user's words for it stand for other PMUs, too */
	const struct class_choice *choice; /* of the current formula, if it is about a class of PMUs */
	const struct expr_input *formula;  /* inputs of the current formula, if events were opened twice */
	size_t n_formula;
	unsigned formulas; /* so far */
};

static void release_metric(struct bound_metric *m)
{
	expr_free(m->expr);
	if (m->threshold) {
		expr_free(m->threshold->expr);
		free(m->threshold->input);
		free(m->threshold);
	}
}

/* Takes ownership of an allocation, and returns it; NULL: there was no memory. */
static void *bind_own(struct binding *b, void *data)
{
	memory_room(&b->owned, b->n_owned, sizeof(*b->owned));
	return b->owned[b->n_owned++] = memory_checked(data);
}

/* The last metric's, if it is equal, else a copy. */
static const struct metric_about *keep_about(struct binding *b, const struct metric_about *about)
{
	const struct metric_about *last = b->n_metrics ? b->metric[b->n_metrics - 1].about : NULL;

	if (last && !memcmp(last, about, sizeof(*about)))
		return last;
	return bind_own(b, memory_copy(about, 1, sizeof(*about)));
}

/* A metric of which nothing is known but that. */
static struct bound_metric *bind_new_metric(struct binding *b, const struct metric_about *about)
{
	about = keep_about(b, about);
	memory_room(&b->metric, b->n_metrics, sizeof(*b->metric));
	b->metric[b->n_metrics] = (struct bound_metric){ .about = about };
	return &b->metric[b->n_metrics++];
}

static enum pm_kind scope_kind(enum metric_scope scope)
{
	static const unsigned char kind[] = {
		[METRIC_CPU] = PM_CPU,       [METRIC_CORE] = PM_CORE,       [METRIC_CLUSTER] = PM_CLUSTER,
		[METRIC_DIE] = PM_DIE,       [METRIC_PACKAGE] = PM_PACKAGE, [METRIC_NODE] = PM_NODE,
		[METRIC_DEVICE] = PM_DEVICE, [METRIC_SYSTEM] = PM_SYSTEM,
	};

	return (enum pm_kind)kind[scope];
}

/* What pmrec went by when it chose events: all of literal() in record/perf/perf_events.c. */
static bool lasting_literal(void *ctx, const char *name, double *v)
{
	const char *const lasting = "has_pmem num_packages num_dies smt_on core_wide";
	struct builder *x = ctx;
	struct value value;

	if (!parse_is_among(lasting, name, strlen(name)) || !bind_literal(x->p, name, &value) || value.reason)
		return false;
	*v = value.v;
	return value.v || strcmp(name, "core_wide");
}

static bool group_has(const struct pm_group *g, const struct bound_input *in)
{
	for (uint32_t k = 0; k < g->n_counters; k++)
		for (uint32_t i = 0; i < in->n_counters; i++)
			if (g->counter[k] == in->counter[i])
				return true;
	return false;
}

/* Whether a group that feeds the input has instances in two dies of a package. */
static bool is_of_dies(const struct builder *x, const struct bound_input *in)
{
	const struct pm_model *m = x->b->index->model;

	for (uint32_t i = 0; i < m->n_groups; i++) {
		const struct pm_group *g = &m->group[i];
		const struct pm_cpu *before = NULL;

		for (uint32_t k = 0; k < g->n_instances && (k || group_has(g, in)); k++) {
			const struct pm_cpu *at =
				pm_topology_cpu(&m->topology, pm_model_instance(m, g->instance[k])->cpu);

			if (at && before && at->package == before->package && at->die != before->die)
				return true;
			before = at;
		}
	}
	return false;
}

/* Starts binding the inputs of that formula. */
static void bind_begin_formula(struct builder *x, const struct expr_input *in, size_t n)
{
	x->formula = in;
	x->n_formula = n;
	x->formulas++;
}

/* An empty input; `more`: NULL, or it has that of another. */
static struct bound_input *bind_new_input(struct binding *b, struct input_more *more)
{
	if (!more)
		more = bind_own(b, memory_new(1, sizeof(*more)));
	memory_room(&b->input, b->n_inputs, sizeof(*b->input));
	b->input[b->n_inputs] = (struct bound_input){ .more = more };
	return &b->input[b->n_inputs++];
}

/* In fed_by(). */
enum { FED_ITSELF = 1, FED_KIN = 2 };

/* Which PMUs feed the input, and, at the place of the first of some kin, whether any of them does. */
static unsigned char *fed_by(const struct class_index *x, const struct pm_model *m, const struct bound_input *in)
{
	unsigned char *fed = memory_new(m->n_pmus, 1);
	uint32_t at;

	for (uint32_t k = 0; k < in->n_counters; k++) {
		const struct pm_map *attrs = &pm_model_counter(m, in->counter[k])->attrs;

		if (pm_map_get(attrs, PM_COUNTER_PERF_INVALID) ||
		    !names_get(&x->pmus, pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), &at))
			continue;
		fed[at] |= FED_ITSELF;
		fed[x->pmu[at].kin] |= FED_KIN;
	}
	return fed;
}

/* A CPU of the PMU's package; PM_NONE: it counts in several, or that is unknown. */
static uint32_t cpu_of(const struct pm_pmu *pmu)
{
	const char *mask = pm_map_text(&pmu->attrs, PM_PMU_CPUMASK, NULL);
	SCOPED(cpulist_release) struct cpulist cpus = { 0 };
	uint32_t cpu = PM_NONE;

	if (mask && !cpulist_parse(&cpus, mask, false, NULL) && cpus.n == 1)
		cpu = cpus.cpu[0];
	return cpu;
}

/* Why an event of the PMU is not in the recording, of a request of which others feed the input. PM_OK: it was not
 * part of any. */
static uint16_t why_alone(const struct pm_model *m, const struct bound_input *in, const char *pmu)
{
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_map *attrs = &m->counter[i].attrs;
		uint64_t wildcard = pm_map_u64(attrs, PM_COUNTER_PERF_WILDCARD, 0);

		if (!wildcard || !pm_map_get(attrs, PM_COUNTER_PERF_INVALID) ||
		    strcmp(pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), pmu) != 0)
			continue;
		for (uint32_t k = 0; k < in->n_counters; k++)
			if (pm_map_u64(&pm_model_counter(m, in->counter[k])->attrs, PM_COUNTER_PERF_WILDCARD, 0) ==
			    wildcard)
				return (uint16_t)pm_map_u64(attrs, PM_COUNTER_PERF_INVALID, 0);
	}
	return PM_OK;
}

/* Notes which PMUs of a kind are missing from an input that adds up all of them. */
static void bind_shut(struct builder *x, struct bound_input *in)
{
	const struct pm_model *m = x->p->model;
	const char *slash = in->more->name ? strchr(in->more->name, '/') : NULL, *first = "";
	SCOPED(buf_release) struct buf pattern = { 0 };
	SCOPED(scoped_free) unsigned char *fed = NULL;
	const struct pmu_class *class;
	uint32_t at;
	bool named;

	if (in->more->name && in->n_counters && !in->constant)
		first = pmu_of(pm_model_counter(m, in->counter[0]));
	/* What cores count has a PMU a kind, and not all kinds have it. */
	if (!names_get(&x->b->index->classes.pmus, first, &at) ||
	    (!x->b->index->classes.pmu[at].class && !pm_map_get(&m->pmu[at].attrs, PM_PMU_CPUMASK)))
		return;
	class = x->b->index->classes.pmu[at].class;
	buf_add(&pattern, in->more->name, slash ? (size_t)(slash - in->more->name) : 0);
	memory_whole(&pattern);
	fed = fed_by(&x->b->index->classes, m, in);
	/* Whoever names one PMU does not want the others; the name of a class names all of its PMUs, and so does an
	 * event alone. */
	named = slash && event_pmu_matches(buf_str(&pattern), first);
	for (uint32_t i = 0; i < m->n_pmus; i++) {
		const char *name = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
		const struct class_pmu *pmu = &x->b->index->classes.pmu[i];
		bool same = class && pmu->class == class;
		uint16_t reason = same && (slash || !pmu->refused) ? pmu->reason : PM_OK;

		if ((fed[i] & FED_ITSELF) ||
		    (!same && ((slash && !named) || !pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUMASK))) ||
		    (named && !event_pmu_matches(buf_str(&pattern), name)))
			continue;
		if (!reason && pmu->refused)
			reason = why_alone(m, in, name);
		/* Other events of the PMU were recorded, but not this one, which another of the kin has. */
		if (!reason && pmu->recorded && (fed[pmu->kin] & FED_KIN))
			reason = PM_REASON_NOT_READ;
		if (!reason)
			continue;
		if (!in->more->shut)
			in->more->shut = bind_own(x->b, memory_new(m->n_pmus, sizeof(*in->more->shut)));
		in->more->shut[in->more->n_shut++] = (struct bound_shut){ name, cpu_of(&m->pmu[i]), reason };
	}
}

/* The level that the instances of all these counters are at; PM_KINDS: they never had any. */
static enum pm_kind kind_of_all(const struct builder *x, const uint32_t *counter, uint32_t n)
{
	enum pm_kind all = PM_KINDS;

	for (uint32_t i = 0; i < n; i++) {
		enum pm_kind k = (enum pm_kind)x->p->kind[counter[i]];

		if (k != PM_KINDS)
			all = all == PM_KINDS ? k : kind_join(all, k);
	}
	return all;
}

/* Inputs of added columns are apart from those of others: they may be of fewer CPUs, and are averaged. */
static void put_added(struct builder *x)
{
	if (x->added)
		buf_printf(&x->text, " added %u %d", (unsigned)x->first_of, x->added->format);
}

static void mark_added(const struct builder *x, struct bound_input *in)
{
	if (!x->added)
		return;
	in->more->first_of = x->first_of;
	if (!in->constant && !in->more->op && (x->added->format == ADD_DELTA || x->added->format == ADD_AVERAGE)) {
		in->more->op = INPUT_RULE;
		in->more->rule = PM_AGG_MEAN;
	}
}

/* An input that has a clock beside each counter. */
static uint32_t add_clocked(struct builder *x, const char *name, enum expr_aspect aspect, const uint32_t *counter,
			    const uint32_t *clock, uint32_t n)
{
	struct binding *b = x->b;
	struct bound_input *in;
	uint32_t at;

	buf_clear(&x->text);
	buf_printf(&x->text, "clocked %u %d %s", (unsigned)aspect, x->raw, name);
	put_added(x);
	for (uint32_t i = 0; i < n; i++)
		buf_printf(&x->text, " %u:%u", counter[i], clock ? clock[i] : 0);
	memory_whole(&x->text);
	if (names_get(&b->input_names, buf_str(&x->text), &at))
		return at;
	in = bind_new_input(b, NULL);
	in->more->name = bind_own(b, memory_text(name));
	in->counter = bind_own(b, memory_copy(counter, n, sizeof(*counter)));
	in->more->clock = clock ? bind_own(b, memory_copy(clock, n, sizeof(*clock))) : NULL;
	in->aspect = aspect;
	mark_added(x, in);
	in->n_counters = n;
	in->kind = kind_of_all(x, counter, n);
	if (aspect == EXPR_HAS_EVENT || aspect == EXPR_SOURCE_COUNT || in->kind == PM_KINDS) {
		in->constant = true;
		in->more->value = aspect == EXPR_HAS_EVENT         ? value_of(in->kind != PM_KINDS) :
				  aspect == EXPR_SOURCE_COUNT && n ? value_of(n) :
								     value_missing(VALUE_NO_INPUT);
		in->kind = PM_KINDS;
		in->more->clock = NULL;
	}
	at = (uint32_t)(in - b->input);
	bind_shut(x, in);
	memory_done(names_set(&b->input_names, buf_str(&x->text), at));
	return at;
}

/* Adds the readings of the clocks themselves, by which their companions are divided or judged. */
static void bind_add_clocks(struct builder *x, struct bound_metric *m, const uint32_t *clock, uint32_t n)
{
	SCOPED(scoped_free) uint32_t *distinct = memory_new(n, sizeof(*distinct));
	uint32_t k = 0;

	for (uint32_t i = 0; i < n; i++)
		if (clock[i])
			distinct[k++] = clock[i];
	for (int elapsed = 0; elapsed < 2 && k; elapsed++) {
		uint32_t at = add_clocked(x, "", elapsed ? EXPR_ELAPSED : EXPR_VALUE, distinct, NULL, k), i = 0;

		while (i < m->n_inputs && m->input[i] != at)
			i++;
		if (i == m->n_inputs)
			m->input[m->n_inputs++] = at;
	}
}

/* seconds(x,y) of any two counters: each x is paired with the y at its place in the list, or with the only one. */
static uint32_t pair_clocks(struct builder *x, const struct expr_input *in, uint32_t *clock)
{
	uint32_t n = bind_counters(x->b->index, in->by, clock, BIND_MAX_COUNTERS), k;

	k = bind_counters(x->b->index, in->name, x->found, BIND_MAX_COUNTERS);
	if (!n || n > BIND_MAX_COUNTERS || k > BIND_MAX_COUNTERS || (n > 1 && n != k))
		return 0;
	for (uint32_t i = 1; n == 1 && i < k; i++)
		clock[i] = clock[0];
	return k;
}

/* The factor that removes the scale from an event's value, for vendors' formulas; 1: no scale. */
static double bind_unscale(const struct pm_counter *c)
{
	double scale;

	if (strcmp(c->source, "perf") || !c->scale.text || parse_double(c->scale.text, &scale) || !(scale > 0))
		return 1;
	return 1 / scale;
}

/* Our formulas expect traffic in bytes. The kernel may give counts a scale and a unit of its own, or neither. */
static void set_bytes(struct builder *x, struct bound_input *in, unsigned bytes)
{
	in->more->bytes = bind_own(x->b, memory_new(in->n_counters, sizeof(*in->more->bytes)));
	for (uint32_t i = 0; i < in->n_counters; i++) {
		const struct pm_counter *c = pm_model_counter(x->p->model, in->counter[i]);

		in->more->bytes[i] = c->scale.text || !strcmp(c->unit, "By") ? event_unit_bytes(c->unit) : 0;
		if (!(in->more->bytes[i] > 0))
			in->more->bytes[i] = bytes * bind_unscale(c);
	}
}

/* Whether the user excluded the counter's source. */
static bool bind_left_out(const struct builder *x, const struct pm_counter *c)
{
	return (x->options->no_msr && !strcmp(c->source, "msr")) ||
	       (x->options->no_perf && !strcmp(c->source, "perf"));
}

/* Removes counters of sources that the user does not want. */
static void leave_out(struct builder *x, struct bound_input *in)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->n_counters; i++)
		if (!bind_left_out(x, pm_model_counter(x->p->model, x->found[i])))
			x->found[n++] = x->found[i];
	in->n_counters = n;
}

/* Whether the number that an input needs is known anywhere. */
static bool knows_number(const struct builder *x, const struct bound_input *in)
{
	struct value v;

	return !in->more->fact || in->more->fixed != 0 || (bind_literal(x->p, in->more->fact, &v) && !v.reason);
}

static bool is_time(const char *name)
{
	return parse_is_among("user_time system_time tool/user_time/ tool/system_time/", name, strlen(name));
}

/* If the kernel has its own name for "instructions" on a kind of CPUs, its counter has that name. */
static uint32_t counters_of_kind(struct builder *x, const char *name)
{
	const struct pm_model *m = x->p->model;
	SCOPED(buf_release) struct buf full = BUF_INIT;
	uint32_t n, kept = 0;

	buf_printf(&full, "%s/%s/", x->pmu, name);
	n = bind_counters(x->b->index, buf_str(&full), x->found, BIND_MAX_COUNTERS);
	if (n)
		return n;
	n = bind_counters(x->b->index, name, x->found, BIND_MAX_COUNTERS);
	for (uint32_t i = 0; i < n && i < BIND_MAX_COUNTERS; i++)
		if (!strcmp(pmu_of(pm_model_counter(m, x->found[i])), x->pmu))
			x->found[kept++] = x->found[i];
	return kept;
}

/* What perf counts of registers. Energy is added up and in another unit, so it has formulas of its own. */
/* clang-format off */
static const struct {
	const char *counter, *event;
} stand_ins[] = {
	{ "msr.tsc", "msr/tsc/" },
	{ "msr.mperf", "msr/mperf/" },
	{ "msr.aperf", "msr/aperf/" },
	{ "msr.core_c1_res", "cstate_core/c1-residency/" },
	{ "msr.core_c3_res", "cstate_core/c3-residency/" },
	{ "msr.core_c6_res", "cstate_core/c6-residency/" },
	{ "msr.core_c7_res", "cstate_core/c7-residency/" },
	{ "msr.module_c6_res", "cstate_module/c6-residency/" },
	{ "msr.pkg_c2_res", "cstate_pkg/c2-residency/" },
	{ "msr.pkg_c3_res", "cstate_pkg/c3-residency/" },
	{ "msr.pkg_c6_res", "cstate_pkg/c6-residency/" },
	{ "msr.pkg_c7_res", "cstate_pkg/c7-residency/" },
	{ "msr.pkg_c8_res", "cstate_pkg/c8-residency/" },
	{ "msr.pkg_c9_res", "cstate_pkg/c9-residency/" },
	{ "msr.pkg_c10_res", "cstate_pkg/c10-residency/" },
};
/* clang-format on */

/* The perf event that counts what a register does, or NULL. */
static const char *bind_stand_in(const char *counter)
{
	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(stand_ins[0]); i++)
		if (!strcmp(stand_ins[i].counter, counter))
			return stand_ins[i].event;
	return NULL;
}

/* If a register could not be read, uses the perf event that counts the same. */
static void stand_in(struct builder *x, struct bound_input *in, const char *counter)
{
	bool plain = !in->more->op || in->more->op == INPUT_OVER || in->more->op == INPUT_TIMES;
	const char *event = in->n_counters || !plain ? NULL : bind_stand_in(counter);

	if (event)
		in->n_counters = bind_counters(x->b->index, event, x->found, BIND_MAX_COUNTERS);
	if (!event || !in->n_counters)
		return;
	in->more->op = in->more->op ? in->more->op : INPUT_RULE;
	in->more->own_rule = false;
	in->more->rule = PM_AGG_MEAN;
}

static void fill_input(struct builder *x, struct bound_input *in, const char *name)
{
	const struct pm_model *m = x->p->model;
	const char *reg;

	in->kind = PM_KINDS;
	if (in->aspect == EXPR_LITERAL && !strcmp(name, "tj_max") && x->options->tj_max > 0) {
		in->constant = true;
		in->more->value = value_of((double)x->options->tj_max);
		return;
	}
	if (in->aspect == EXPR_LITERAL) {
		in->constant = true;
		if (!bind_literal(x->p, name, &in->more->value))
			in->more->value = value_missing(VALUE_NO_INPUT);
		return;
	}
	if (in->aspect == EXPR_CPUID_MATCH) {
		in->constant = true;
		in->more->value = value_of(vendor_is_cpu(name, pm_map_text(&m->header, PM_HEADER_CPU_ID, "")));
		return;
	}
	if (in->aspect == EXPR_SYSTEM) {
		in->more->whole = in->more->name;
		in->constant = !names_get(&x->taken, name, NULL);
		if (in->constant)
			in->more->value = value_missing(VALUE_NO_INPUT);
		return;
	}
	/* perf's formulas expect times in seconds, whatever unit they were counted in. */
	if (in->aspect == EXPR_VALUE && (!strcmp(name, "duration_time") || !strcmp(name, "tool/duration_time/"))) {
		in->duration = true;
		return;
	}
	reg = bind_field(name, in->more);
	if (in->more->fact && !strcmp(in->more->fact, "tj_max"))
		in->more->fixed = x->options->tj_max;
	in->n_counters = x->pmu && !reg && !strchr(name, '/') ? counters_of_kind(x, name) : 0;
	if (!in->n_counters)
		in->n_counters = bind_counters(x->b->index, reg ? reg : name, x->found, BIND_MAX_COUNTERS);
	stand_in(x, in, reg ? reg : name);
	if (!in->n_counters && !reg)
		in->n_counters = bind_meant(x->b->index, x->options->events, name, x->found, BIND_MAX_COUNTERS);
	if (in->n_counters > BIND_MAX_COUNTERS)
		in->n_counters = BIND_MAX_COUNTERS;
	if (x->twice && !reg)
		bind_of_groups(x->b->index, name, x->formula, x->n_formula, x->found, in->n_counters);
	leave_out(x, in);
	if (!knows_number(x, in))
		in->n_counters = 0;
	in->kind = kind_of_all(x, x->found, in->n_counters);
	if (in->aspect == EXPR_HAS_EVENT) {
		in->constant = true;
		in->more->value = value_of(in->kind != PM_KINDS);
		in->kind = PM_KINDS;
	} else if (in->kind != PM_KINDS && in->aspect == EXPR_SOURCE_COUNT) {
		in->constant = true;
		in->more->value = value_of(in->n_counters);
	} else if (in->kind == PM_KINDS) {
		in->constant = true;
		in->more->value = value_missing(VALUE_NO_INPUT);
	} else if (is_time(name) && !strcmp(pm_model_counter(m, x->found[0])->unit, "ns")) {
		in->more->op = INPUT_TIMES;
		in->more->own_rule = true;
		in->more->fixed = 1e-9;
	} else if (x->raw && !in->more->op && bind_unscale(pm_model_counter(m, x->found[0])) != 1) {
		in->more->op = INPUT_TIMES;
		in->more->own_rule = true;
		in->more->fixed = bind_unscale(pm_model_counter(m, x->found[0]));
	}
}

/* The place of the input in the binding; inputs that are requested twice are kept once. */
static uint32_t bind_input(struct builder *x, const char *name, enum expr_aspect aspect)
{
	struct binding *b = x->b;
	struct bound_input *in;
	uint32_t at;

	buf_clear(&x->text);
	buf_printf(&x->text, "%u %s", (unsigned)aspect, name);
	if (x->twice || x->raw)
		buf_printf(&x->text, " %u %d", x->twice ? x->formulas : 0, x->raw);
	if (x->pmu)
		buf_printf(&x->text, " of %s", x->pmu);
	put_added(x);
	memory_whole(&x->text);
	if (names_get(&b->input_names, buf_str(&x->text), &at))
		return at;
	in = bind_new_input(b, NULL);
	in->more->name = bind_own(b, memory_text(name));
	in->aspect = aspect;
	fill_input(x, in, name);
	mark_added(x, in);
	if (!in->constant && !in->duration)
		in->counter = bind_own(b, memory_copy(x->found, in->n_counters, sizeof(*in->counter)));
	at = (uint32_t)(in - b->input);
	bind_shut(x, in);
	memory_done(names_set(&b->input_names, buf_str(&x->text), at));
	return at;
}

/* As bind_input(), for an input whose time is another counter's; the clocks go to `clock`, their number to *n. */
static uint32_t bind_clocked(struct builder *x, const struct expr_input *in, uint32_t *clock, uint32_t *n)
{
	const struct pmu_class *class;
	const struct pmu_class_event *event = x->choice ? class_event_named(in->name, &class) : NULL;
	bool counts = in->aspect == EXPR_VALUE || in->aspect == EXPR_RATE;
	uint32_t at;

	if (event && class == x->choice->class)
		*n = class_counters(x->choice, event, x->found, clock, BIND_MAX_COUNTERS);
	else if (in->aspect == EXPR_SECONDS)
		*n = pair_clocks(x, in, clock);
	else
		return bind_input(x, in->name, in->aspect);
	at = add_clocked(x, in->name, in->aspect, x->found, clock, *n);
	if (event && event->bytes && counts && !x->raw && !x->b->input[at].more->bytes)
		set_bytes(x, &x->b->input[at], event->bytes);
	return at;
}

/* Whether the input is known to have no value. */
static bool bind_lacks(const struct bound_input *in)
{
	return in->constant && in->more->value.reason;
}

/* 1: kept, 0: the recording cannot feed it, or -errno. */
static int bind_formula(struct builder *x, struct bound_metric *m, const char *text, const struct metric *row)
{
	const struct expr_input *in;
	enum pm_kind kind = PM_KINDS;
	size_t n;

	if (expr_parse(&m->expr, text, x->error))
		return error_prefix(x->error, "metric %s", m->name);
	expr_fold(m->expr, lasting_literal, x);
	in = expr_inputs(m->expr, &n);
	/* Each may get two clocks. */
	m->input = bind_own(x->b, memory_new(3 * n, sizeof(*m->input)));
	bind_begin_formula(x, in, n);
	for (size_t i = 0; i < n; i++) {
		bool clocked = x->choice || in[i].aspect == EXPR_SECONDS;
		uint32_t at = clocked ? bind_clocked(x, &in[i], x->clock, &x->n_clocks) :
					bind_input(x, in[i].name, in[i].aspect);
		const struct bound_input *bound = &x->b->input[at];

		m->input[m->n_inputs++] = at;
		if (bind_lacks(bound) && !bind_is_optional(in, n, i))
			return 0;
		if (bound->kind != PM_KINDS)
			kind = kind == PM_KINDS ? bound->kind : kind_join(kind, bound->kind);
	}
	for (size_t i = 0; i < n; i++) {
		const struct bound_input *bound = &x->b->input[m->input[i]];

		if (bound->more->clock)
			bind_add_clocks(x, m, bound->more->clock, bound->n_counters);
	}
	if (kind == PM_KINDS)
		kind = PM_SYSTEM;
	if (row->scope == METRIC_ANY)
		m->kind = kind;
	else
		m->kind = row->inherits ? scope_kind(row->scope) : kind_join(kind, scope_kind(row->scope));
	/* The kernel shows energy by die where dies have their own. */
	m->by_die = m->kind == PM_PACKAGE && (kind == PM_DIE || kind == PM_PMU);
	for (size_t i = 0; i < n && m->by_die && kind == PM_PMU; i++)
		m->by_die = x->b->input[m->input[i]].kind == PM_KINDS || is_of_dies(x, &x->b->input[m->input[i]]);
	return 1;
}

/* The next of several formulas, which *list is moved behind; NULL: there is none, or no list. */
static const char *bind_next_of(struct builder *x, const char **list)
{
	size_t len = *list ? strcspn(*list, ";") : 0;
	const char *text = len ? bind_own(x->b, strndup(*list, len)) : NULL;

	if (text)
		*list += len + ((*list)[len] == ';');
	return text;
}

/* The other formulas of a row, one after the other. */
static int bind_otherwise(struct builder *x, struct bound_metric *m, const struct metric *row)
{
	const char *from = row->otherwise, *text;
	int kept = 0;

	while (!kept && (text = bind_next_of(x, &from))) {
		expr_free(m->expr);
		m->expr = NULL;
		m->n_inputs = 0;
		kept = bind_formula(x, m, text, row);
	}
	return kept;
}

/* Whether the literal is known to be 0. */
static bool bind_is_zero(const struct places *p, const char *lasting_literal)
{
	struct value v;

	return bind_literal(p, lasting_literal, &v) && !v.reason && v.v == 0;
}

/* `text` with every '*' replaced. `escape`: as an id of a formula, where a '*' that stands alone multiplies. */
static char *bind_replaced(const char *text, const char *member, bool escape)
{
	struct buf out = BUF_INIT;

	for (const char *c = text ? text : ""; *c; c++) {
		if (*c != '*' || (escape && (c == text || c[-1] == ' '))) {
			buf_addch(&out, *c);
			continue;
		}
		for (const char *k = member; *k; k++) {
			unsigned char ch = (unsigned char)*k;

			if (escape && !isalnum(ch) && ch != '_' && ch != '.' && ch != ':')
				buf_addch(&out, '\\');
			buf_addch(&out, (char)ch);
		}
	}
	buf_addch(&out, 0);
	return buf_detach(&out);
}

/* The name of a metric among those taken: each kind of CPUs has its own. */
static const char *name_of_kind(struct builder *x, const char *name)
{
	if (!x->pmu)
		return name;
	buf_clear(&x->text);
	buf_printf(&x->text, "%s\n%s", name, x->pmu);
	memory_whole(&x->text);
	return buf_str(&x->text);
}

static bool is_taken(struct builder *x, const char *name)
{
	return names_get(&x->taken, name, NULL) || names_get(&x->taken, name_of_kind(x, name), NULL);
}

/* What a row says, with what a formula takes now. */
static struct metric_about bind_about(const struct builder *x, const struct metric *row)
{
	return (struct metric_about){ .unit = row->unit ? row->unit : "",
				      .help = row->help ? row->help : "",
				      .aliases = row->aliases ? row->aliases : "",
				      .categories = row->categories ? row->categories : "",
				      .requests = row->requests,
				      .pmu = x->pmu,
				      .margin = row->margin };
}

/* Whether it judges; else the recording lacks what it needs, or it cannot be parsed, so its metric has no verdict. */
static bool bind_one_threshold(struct builder *x, struct bound_metric *m, const char *text)
{
	const struct expr_input *in;
	struct bound_threshold *t;
	struct expr *expr;
	size_t n;

	if (expr_parse(&expr, text, NULL))
		return false;
	in = expr_inputs(expr, &n);
	t = m->threshold = memory_new(1, sizeof(*t));
	t->expr = expr;
	t->input = memory_new(n, sizeof(*t->input));
	bind_begin_formula(x, in, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t at = bind_input(x, in[i].name, in[i].aspect);

		if (bind_lacks(&x->b->input[at]) && !bind_is_optional(in, n, i)) {
			expr_free(expr);
			free(t->input);
			free(t);
			m->threshold = NULL;
			return false;
		}
		t->input[t->n_inputs++] = at;
	}
	return true;
}

/* Binds the row's threshold, if its inputs exist. */
static void bind_threshold(struct builder *x, struct bound_metric *m, const struct metric *row)
{
	const char *from = row->threshold_otherwise, *text = row->threshold;
	bool kept = text && text[0] && bind_one_threshold(x, m, text);

	while (!kept && (text = bind_next_of(x, &from)))
		kept = bind_one_threshold(x, m, text);
}

#define CORE_KINDS_MAX 16 /* hybrids have two or three kinds of cores */

/* The PMUs of the kinds of CPUs, where there are several; NULL after the last. */
static const char *bind_core_pmu(const struct pm_model *m, uint32_t want)
{
	const char *found = NULL;
	uint32_t n = 0;

	/* A hostile file may list more kinds than any machine has: each costs all metrics again. */
	for (uint32_t i = 0; i < m->n_pmus && n <= CORE_KINDS_MAX; i++) {
		if (!pm_map_get(&m->pmu[i].attrs, PM_PMU_CPUS))
			continue;
		if (n++ == want)
			found = pm_map_text(&m->pmu[i].attrs, PM_PMU_NAME, "");
	}
	return n > 1 && n <= CORE_KINDS_MAX ? found : NULL;
}

/* Whether the metric has events of that kind of CPUs and of no other. */
static bool bind_is_of_kind(const struct builder *x, const struct bound_metric *m, const char *pmu)
{
	bool own = false, other = false;

	for (uint32_t i = 0; i < m->n_inputs; i++) {
		const struct bound_input *in = &x->b->input[m->input[i]];

		for (uint32_t k = 0; !in->constant && k < in->n_counters; k++) {
			const struct pm_counter *c = pm_model_counter(x->p->model, in->counter[k]);
			const char *of = pmu_of(c), *core;

			for (uint32_t n = 0; (core = bind_core_pmu(x->p->model, n)); n++) {
				own |= !strcmp(core, of) && !strcmp(core, pmu);
				other |= !strcmp(core, of) && strcmp(core, pmu) != 0;
			}
		}
	}
	return own && !other;
}

/* Binds one row; of a family, the member that the formula calls `part`; `vendor` is a metric of a file. 0, also if
 * the recording cannot feed it, or -errno. */
static int bind_row(struct builder *x, const struct metric *row, const char *member, const char *part, bool vendor)
{
	struct metric_about about = bind_about(x, row);
	struct bound_metric *m;
	const char *text;
	int kept;

	if (member)
		about.help = bind_own(x->b, bind_replaced(row->help, member, false));
	m = bind_new_metric(x->b, &about);
	if (member) {
		SCOPED(scoped_free) char *id = metric_id(member);

		m->name = bind_own(x->b, bind_replaced(row->name, id, false));
		m->display = bind_own(x->b, bind_replaced(row->display, member, false));
		text = bind_own(x->b, bind_replaced(row->expr, part, true));
	} else {
		m->name = row->name;
		m->display = row->display ? row->display : row->name;
		text = row->expr;
		/* turbostat computes it from the other states, even if a register counts C1. */
		if (x->options->columns == COLUMNS_TURBOSTAT && !strcmp(row->name, "cpu.c1"))
			text = row->otherwise;
	}
	m->precision = row->precision;
	m->better = row->better;
	m->fault = row->fault;
	m->default_on =
		row->default_on || recorded_asks(x->p->model, m->name) || recorded_asks(x->p->model, m->display);
	m->vendor = vendor;
	m->estimate = row->estimate;
	m->share = row->share || strstr(row->expr, "percent(");
	kept = is_taken(x, m->name) ? 0 : bind_formula(x, m, text, row);
	if (!kept && row->otherwise && !is_taken(x, m->name))
		kept = bind_otherwise(x, m, row);
	if (kept == 1 && x->pmu && !bind_is_of_kind(x, m, x->pmu))
		kept = 0;
	m->unlikely = kept == 1 && row->when && bind_is_zero(x->p, row->when);
	m->default_on &= !m->unlikely;
	if (kept == 1) {
		bind_threshold(x, m, row);
		memory_done(names_set(&x->taken, name_of_kind(x, m->name), 0));
		return 0;
	}
	release_metric(&x->b->metric[--x->b->n_metrics]);
	return kept;
}

/* A text that the binding owns. */
#define bind_text(b, ...) ((char *)bind_own(b, memory_format(__VA_ARGS__)))

/* Binds a metric over a class of PMUs, once for each set of filters that was recorded. */
static int bind_class_row(struct builder *x, const struct metric *row, const struct pmu_class *class, bool vendor)
{
	const struct expr_input *in;
	struct expr *parsed;
	size_t n;
	int err = expr_parse(&parsed, row->expr, x->error);

	if (err)
		return error_prefix(x->error, "metric %s", row->name);
	in = expr_inputs(parsed, &n);
	for (uint32_t f = 0; f < x->b->index->classes.n_filters && !err; f++) {
		SCOPED(class_choice_release) struct class_choice choice = { 0 };
		struct metric one = *row;

		class_choose(&choice, &x->b->index->classes, class, f, in, n);
		if (choice.n && f) {
			one.name = bind_text(x->b, "%s/%s/", row->name, x->b->index->classes.filter[f]);
			one.display = bind_text(x->b, "%s %s", row->display, x->b->index->classes.filter[f]);
			one.aliases = bind_text(x->b, "%s%s%s", row->name, row->aliases ? "," : "",
						row->aliases ? row->aliases : "");
		}
		x->choice = &choice;
		if (choice.n)
			err = bind_row(x, &one, NULL, NULL, vendor);
		x->choice = NULL;
	}
	expr_free(parsed);
	return err;
}

/* The member in a counter's name: what follows the family, or its first part ("softirqs.vec" has members such as
 * "softirqs.timer"). */
static const char *own_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static int bind_family(struct builder *x, const struct metric *row)
{
	const struct pm_model *m = x->p->model;
	int err;

	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];
		const char *member, *part;

		if (strcmp(pm_map_text(&c->attrs, PM_COUNTER_FAMILY, ""), row->each))
			continue;
		part = own_part(c->name);
		member = pm_map_text(&c->attrs, PM_COUNTER_MEMBER, part);
		/* If no formula can contain the member's name, it is still available as a counter. */
		err = bind_row(x, row, member, part, false);
		if (err && err != -EINVAL)
			return err;
	}
	return 0;
}

static unsigned char precision_of(const struct pm_counter *c, bool rate)
{
	bool whole = !strcmp(c->unit, "1") || !strcmp(c->unit, "By") || !strcmp(c->unit, "Hz") || !c->unit[0];

	if (whole && c->type != PM_F64)
		return rate ? 1 : 0;
	return !strcmp(c->unit, "s") ? 3 : 2;
}

/* Whether an added counter is shown as a share of time, by a formula. */
static bool is_share(const struct pm_counter *c)
{
	return !strcmp(pm_map_text(&c->attrs, PM_COUNTER_ADD_FORMAT, ""), "percent");
}

/* The formula of a share of time: microseconds, or cycles of the TSC. */
static const char *share_of(const char *type)
{
	return !strcmp(type, "usec") ? "percent(rate(*), 1e6)" : "percent(rate(*), rate(msr.tsc))";
}

static int bind_share(struct builder *x, const struct pm_counter *c)
{
	const char *formula = share_of(pm_map_text(&c->attrs, PM_COUNTER_ADD_TYPE, ""));
	struct metric row = { .name = c->name,
			      .display = c->display,
			      .categories = c->source,
			      .unit = "%",
			      .precision = 2,
			      .default_on = true };
	int err;

	row.expr = bind_own(x->b, bind_replaced(formula, c->name, true));
	err = bind_row(x, &row, NULL, NULL, false);
	if (!err && x->b->n_metrics && x->b->metric[x->b->n_metrics - 1].name == row.name)
		x->b->metric[x->b->n_metrics - 1].added = true;
	return err == -EINVAL ? 0 : err;
}

/* What counters as metrics have in common. */
struct alike {
	uint32_t *number; /* number[i] is i: what points to an id or a place needs no memory of its own */
	struct input_more *more;
	const char *unit, *rate; /* of the last one: its counter's, and that per second */
};

static void bind_counter(struct builder *x, const struct pm_counter *c, struct alike *alike)
{
	bool rate = x->options->rate && (c->semantics == PM_CUMULATIVE || c->semantics == PM_DELTA);
	struct metric_about about = { .unit = c->unit, .aliases = "", .categories = c->source };
	struct bound_metric *m;
	struct bound_input *in;

	if (pm_counter_texts(c) || x->p->kind[c->id] == PM_KINDS || bind_left_out(x, c) ||
	    (is_share(c) && names_get(&x->taken, c->name, NULL)))
		return;
	about.help = pm_map_text(&c->attrs, PM_COUNTER_HELP, "");
	if (rate && c->unit != alike->unit)
		alike->rate = bind_text(x->b, "%s/s", c->unit[0] ? c->unit : "1");
	if (rate) {
		alike->unit = c->unit;
		about.unit = alike->rate;
	}
	in = bind_new_input(x->b, alike->more);
	m = bind_new_metric(x->b, &about);
	in->aspect = EXPR_VALUE;
	in->rate = rate;
	in->counter = &alike->number[c->id];
	in->n_counters = 1;
	in->kind = m->kind = (enum pm_kind)x->p->kind[c->id];
	m->name = c->name;
	/* An event may be called like a metric ("migrations"); every other raw counter has its source in its name. */
	if (names_get(&x->taken, c->name, NULL))
		m->name = bind_text(x->b, "%s.%s", c->source, c->name);
	m->display = c->display && c->display[0] ? c->display : c->name;
	m->input = &alike->number[x->b->n_inputs - 1];
	m->n_inputs = 1;
	m->counter = c->id;
	m->precision = precision_of(c, rate);
	m->default_on = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false) && !is_share(c) && !x->twin[c->id];
	m->added = pm_map_get(&c->attrs, PM_COUNTER_ADDED) && !is_share(c);
	if (!strcmp(pm_map_text(&c->attrs, PM_COUNTER_ADD_FORMAT, ""), "raw"))
		m->digits = c->width <= 32 ? 8 : 16;
}

static void bind_all_counters(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	struct binding *b = x->b;
	size_t inputs = b->n_inputs + m->n_counters;
	struct alike alike = { .number = bind_own(b, memory_new(inputs + 1, sizeof(*alike.number))),
			       .more = bind_own(b, memory_new(1, sizeof(*alike.more))) };

	for (size_t i = 0; i <= inputs; i++)
		alike.number[i] = (uint32_t)i;
	for (uint32_t i = 0; i < m->n_counters; i++)
		bind_counter(x, &m->counter[i], &alike);
}

/* Binds a metric over classes of PMUs: the first of its formulas that the recording can feed. */
static int bind_classes(struct builder *x, const struct metric *row)
{
	struct metric one = *row;
	size_t before = x->b->n_metrics;
	const char *next = row->otherwise;
	int err = 0;

	one.otherwise = NULL;
	while (x->b->index->classes.n && one.expr && !err && x->b->n_metrics == before) {
		const struct pmu_class *class = class_of_formula(one.expr);

		err = class ? bind_class_row(x, &one, class, false) : bind_row(x, &one, NULL, NULL, false);
		one.expr = bind_next_of(x, &next);
	}
	return err;
}

static int bind_built_in(struct builder *x, const struct metric *row)
{
	if (row->of && !names_get(&x->taken, row->of, NULL))
		return 0;
	if (class_of_formula(row->expr))
		return bind_classes(x, row);
	return row->each ? bind_family(x, row) : bind_row(x, row, NULL, NULL, false);
}

/* perf's formulas use counts in the hardware's units. */
static int bind_vendor(struct builder *x, const struct metric *row)
{
	const struct pmu_class *class = class_of_formula(row->expr);
	size_t before = x->b->n_metrics;
	int err;

	x->raw = true;
	err = class ? bind_class_row(x, row, class, true) : 0;
	/* Events that are not in the class's table are found by what the user or the kernel calls them. */
	if (!err && x->b->n_metrics == before)
		err = bind_row(x, row, NULL, NULL, true);
	x->raw = false;
	return err;
}

/* What concerns CPUs becomes one metric for each kind of them, if requested. */
static int bind_kinds(struct builder *x, const struct metric *row,
		      int (*bind)(struct builder *x, const struct metric *row))
{
	size_t before = x->b->n_metrics;
	int err = 0;

	for (uint32_t i = 0; x->options->per_kind && !err && (x->pmu = bind_core_pmu(x->p->model, i)); i++)
		err = bind(x, row);
	x->pmu = NULL;
	return err || x->b->n_metrics > before ? err : bind(x, row);
}

static int bind_sets(struct builder *x, size_t from, size_t to)
{
	int err = 0;

	for (size_t k = from; k < to && !err; k++)
		for (size_t i = 0; i < x->options->vendor[k].n && !err; i++)
			err = bind_kinds(x, &x->options->vendor[k].row[i], bind_vendor);
	return err;
}

/* Adds the sum over all these PMUs, under the user's name. 0 or -errno. */
static int bind_merged(struct builder *x, const struct pm_counter *c)
{
	const char *user = pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, NULL);
	struct metric row = { .name = user, .categories = c->source, .precision = 1, .default_on = true };
	int err;

	if (!user || !x->twin[c->id] || names_get(&x->taken, user, NULL))
		return 0;
	row.expr = bind_own(x->b, bind_replaced("rate(*)", user, true));
	row.unit = bind_text(x->b, "%s/s", c->unit[0] ? c->unit : "1");
	row.display = bind_text(x->b, "%s %s", user, strcmp(c->unit, "1") ? row.unit : "/s");
	row.help = "What all PMUs of the kind counted, a second";
	row.default_on = pm_map_bool(&c->attrs, PM_COUNTER_REQUESTED, false);
	err = bind_row(x, &row, NULL, NULL, false);
	return err == -EINVAL ? 0 : err;
}

/* On other architectures nobody misses them. */
static bool is_x86(const struct pm_model *m)
{
	const char *arch = pm_map_text(&m->header, PM_HEADER_ARCH, "");

	return !strcmp(arch, "x86_64") || (arch[0] == 'i' && !strcmp(arch + 2, "86"));
}

/* Whether some register was requested in vain: most recordings are bound without checking each formula. */
static bool lacks_registers(const struct builder *x)
{
	const struct pm_model *m = x->p->model;

	if (x->options->no_msr || !is_x86(m))
		return false;
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (m->config[i].reason && !strncmp(m->config[i].name, "msr.", 4))
			return true;
	for (uint32_t i = 0; i < m->n_probes; i++)
		if (!strcmp(m->probe[i].source, "msr"))
			return true;
	return false;
}

static void add_absent(struct builder *x, const struct metric *row, bool added, uint16_t why)
{
	const struct metric_about about = bind_about(x, row);
	struct bound_input *in = bind_new_input(x->b, NULL);
	struct bound_metric *m = bind_new_metric(x->b, &about);

	m->input = bind_own(x->b, memory_new(1, sizeof(*m->input)));
	in->constant = true;
	in->kind = PM_KINDS;
	in->more->value = value_missing(why);
	m->name = row->name;
	m->display = row->display ? row->display : row->name;
	m->precision = row->precision;
	m->better = row->better;
	m->added = m->default_on = added;
	m->unlikely = row->when && bind_is_zero(x->p, row->when);
	m->absent = true;
	m->kind = PM_SYSTEM;
	m->input[0] = (uint32_t)x->b->n_inputs - 1;
	m->n_inputs = 1;
}

static bool has_source(const struct pm_model *m, const char *source)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, source))
			return true;
	return false;
}

/* Why the register was not recorded; PM_OK: nobody tried, or it was recorded. */
static uint16_t why_absent(const struct builder *x, const char *name)
{
	const struct pm_model *m = x->p->model;
	const struct pm_counter *c = pm_model_counter_named(m, name);

	if ((c && x->p->kind[c->id] != PM_KINDS) || strncmp(name, "msr.", 4))
		return PM_OK;
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (m->config[i].reason && !strcmp(m->config[i].name, name))
			return m->config[i].reason;
	for (uint32_t i = 0; i < m->n_probes && !has_source(m, "msr"); i++)
		if (!strcmp(m->probe[i].source, "msr"))
			return m->probe[i].reason;
	return PM_OK;
}

static bool has_event(const struct pm_pmu *pmu, const char *event)
{
	const char *name = pm_map_text(&pmu->attrs, PM_PMU_NAME, ""), *slash = strchr(event, '/');
	const struct pm_value *events = pm_map_get(&pmu->attrs, PM_PMU_EVENTS), *own;
	size_t len = strlen(name);

	if (!slash || (size_t)(slash - event) != len || strncmp(name, event, len))
		return false;
	for (uint32_t i = 0; events && events->kind == PM_VALUE_ARRAY && i < events->array.n; i++) {
		own = events->array.item[i].kind == PM_VALUE_ARRAY ? events->array.item[i].array.item : NULL;
		len = own && own->kind == PM_VALUE_TEXT ? strlen(own->str.data) : 0;
		if (len && !strncmp(slash + 1, own->str.data, len) && !strcmp(slash + 1 + len, "/"))
			return true;
	}
	return false;
}

/* Whether a PMU of the machine counts the event, and only the right to count it was missing. */
static bool was_forbidden(const struct pm_model *m, const char *event)
{
	bool has = false, forbidden = false;

	for (uint32_t i = 0; event && i < m->n_pmus && !has; i++)
		has = has_event(&m->pmu[i], event);
	for (uint32_t i = 0; has && i < m->n_probes && !forbidden; i++)
		forbidden = !strcmp(m->probe[i].source, "perf") && m->probe[i].reason == PM_REASON_NO_PERMISSION;
	return forbidden;
}

/* Why the formula cannot be fed: what a right would cure comes before what the machine lacks. PM_OK, also if it can
 * be, or lacks something else. */
static uint16_t why_unfed(const struct builder *x, const char *formula)
{
	const struct expr_input *in;
	struct expr *expr;
	uint16_t why = PM_OK;
	size_t n;

	if (expr_parse(&expr, formula, NULL))
		return PM_OK;
	in = expr_inputs(expr, &n);
	for (size_t i = 0; i < n && why != PM_REASON_NO_PERMISSION; i++) {
		struct input_more made = { 0 };
		const char *field = bind_field(in[i].name, &made), *name = field ? field : in[i].name;
		uint16_t one;

		if (bind_is_optional(in, n, i))
			continue;
		one = why_absent(x, name);
		if ((one || !field) && was_forbidden(x->p->model, strchr(name, '/') ? name : bind_stand_in(name)))
			one = PM_REASON_NO_PERMISSION;
		why = !why || one == PM_REASON_NO_PERMISSION ? one : why;
	}
	expr_free(expr);
	return why;
}

static void bind_absent_row(struct builder *x, const struct metric *row)
{
	const char *from = row->otherwise, *text;
	uint16_t why = why_unfed(x, row->expr), other;

	while (why != PM_REASON_NO_PERMISSION && (text = bind_next_of(x, &from))) {
		other = why_unfed(x, text);
		why = !why || other == PM_REASON_NO_PERMISSION ? other : why;
	}
	if (why)
		add_absent(x, row, false, why);
}

/* Adds the metrics that lack registers for all of their formulas. */
static void bind_absent(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	bool lacks = lacks_registers(x);

	for (const struct metric_table *t = metric_tables; lacks && t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if (!t->row[i].each && !names_get(&x->taken, t->row[i].name, NULL))
				bind_absent_row(x, &t->row[i]);
	/* What the user added is shown whether or not it could be read. */
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];
		uint16_t why = (uint16_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0);
		struct metric one = { .name = c->name, .display = c->display, .categories = c->source };

		if (why && x->p->kind[c->id] == PM_KINDS && pm_map_get(&c->attrs, PM_COUNTER_ADDED) &&
		    !bind_left_out(x, c) && !names_get(&x->taken, c->name, NULL))
			add_absent(x, &one, true, why);
	}
}

/* ---- columns that are added to a recording ---- */

/* The name under which pmrec records the register; NULL: it does not, by itself. */
static const char *register_name(const struct add *a)
{
	const struct catalog_msr *r = catalog_msrs;

	while (r->address && r->address != a->address)
		r++;
	return a->location == ADD_MSR && r->address ? r->counter.name : NULL;
}

/* Whether the counter is of the register or file; `name`: register_name(). */
static bool is_at(const struct pm_counter *c, const struct add *a, const char *name)
{
	const char *where = pm_map_text(&c->attrs, PM_COUNTER_HELP, ""),
		   *part = a->text ? add_per_cpu(a->text) : NULL;
	char text[24];

	if (a->location == ADD_PATH)
		return !strcmp(c->source, "add") &&
		       (!strcmp(where, a->text) || (part && add_per_cpu(where) && !strcmp(part, add_per_cpu(where))));
	snprintf(text, sizeof(text), "msr0x%x", a->address);
	if (!strcmp(c->source, "add"))
		return !strcmp(where, text);
	return name && !strcmp(c->name, name);
}

/* What it shows, as a formula about the counter '*'. */
static const char *formula_of(const struct add *a, const struct pm_counter *c)
{
	bool counts = c->semantics == PM_CUMULATIVE;

	switch (a->format) {
	case ADD_RAW:
		return counts ? "last(*)" : "(*)";
	case ADD_PERCENT:
		return share_of(a->type ? a->type : "");
	case ADD_AVERAGE:
		return "mean(*)";
	default:
		return counts ? "(*)" : "last(*) - first(*)";
	}
}

static int refuse_added(const struct builder *x, const struct add *a, const char *name)
{
	const struct pm_model *m = x->p->model;

	for (uint32_t i = 0; name && i < m->n_configs; i++)
		if (!strcmp(m->config[i].name, name))
			return error_set(
				x->error, ENOENT,
				"--add %.80s: the register was read only when the recording began; "
				"pmrep info --all shows it, and `pmrec --add=%.80s` reads it at each interval",
				a->asked, a->asked);
	return error_set(x->error, ENOENT, "--add %.80s: not in the recording; `pmrec --add=%.80s` records it",
			 a->asked, a->asked);
}

static int bind_added(struct builder *x, const struct add *a)
{
	static const enum metric_scope scopes[] = { METRIC_CPU, METRIC_CORE, METRIC_PACKAGE };
	static const enum pm_kind kinds[] = { PM_CPU, PM_CORE, PM_PACKAGE };
	struct metric row = { .display = a->name,
			      .categories = "add",
			      .unit = a->format == ADD_PERCENT ? "%" : "1",
			      .precision = a->format == ADD_PERCENT ? 2 : 0,
			      .scope = scopes[a->scope],
			      .inherits = true,
			      .default_on = true };
	const struct pm_counter *c = NULL;
	const char *name = register_name(a);
	SCOPED(scoped_free) char *id = metric_id(a->name);
	size_t before = x->b->n_metrics;
	int err;

	for (uint32_t i = 0; i < x->p->model->n_counters && !c; i++)
		if (is_at(&x->p->model->counter[i], a, name) && x->p->kind[x->p->model->counter[i].id] != PM_KINDS)
			c = &x->p->model->counter[i];
	if (!c)
		return refuse_added(x, a, name);
	row.name = bind_text(x->b, "add.%s", id);
	for (unsigned n = 2; names_get(&x->taken, row.name, NULL); n++)
		row.name = bind_text(x->b, "add.%s_%u", id, n);
	row.help = c->name;
	row.expr = bind_own(x->b, bind_replaced(formula_of(a, c), c->name, true));
	/* turbostat reads what is of more than one CPU on the first. */
	x->added = a;
	x->first_of = kind_contains(kinds[a->scope], (enum pm_kind)x->p->kind[c->id]) ? kinds[a->scope] : PM_SYSTEM;
	err = bind_row(x, &row, NULL, NULL, false);
	x->added = NULL;
	if (err || x->b->n_metrics == before)
		return err ? err : refuse_added(x, a, name);
	x->b->metric[before].added = true;
	if (a->format == ADD_RAW)
		x->b->metric[before].digits = a->width <= 32 ? 8 : 16;
	return 0;
}

static int bind_all(struct builder *x)
{
	bool (*wanted)(const struct metric *row) = recorded_name(x->p->model, 0) ? NULL : x->options->wanted;
	size_t own = x->options->n_vendor - x->options->n_packed;
	int err = 0;

	/* The user's own come first: if a name is taken, theirs is meant. A pack's come after what was meant when the
	 * recording was made. */
	if ((err = bind_sets(x, 0, own)))
		return err;
	for (size_t i = 0; i < x->b->recorded.n; i++)
		if ((err = bind_kinds(x, &x->b->recorded.row[i], bind_vendor)))
			return err;
	if ((err = bind_sets(x, own, x->options->n_vendor)))
		return err;
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			if ((!wanted || wanted(&t->row[i])) && (err = bind_kinds(x, &t->row[i], bind_built_in)))
				return err;
	for (uint32_t i = 0; i < x->p->model->n_counters; i++)
		if (is_share(&x->p->model->counter[i]) && (err = bind_share(x, &x->p->model->counter[i])))
			return err;
	for (uint32_t i = 0; i < x->p->model->n_counters; i++)
		if ((err = bind_merged(x, &x->p->model->counter[i])))
			return err;
	for (size_t i = 0; i < x->options->n_added; i++)
		if ((err = bind_added(x, &x->options->added[i])))
			return err;
	if (x->options->absent)
		bind_absent(x);
	return 0;
}

/* ---- turbostat's columns in its order ---- */

/* Where a column is shown without being asked for: in turbostat's text, in our table. */
enum { TEXT = 1, TABLE = 2, BOTH = TEXT | TABLE };

#define TURBOSTAT_ADDED "+" /* as a name: counters that the user added at that level */

#include "report/metric/turbostat_columns.inc"

/* Whether `name` is the column's; '*' is a member. */
static bool is_column(const char *column, const char *name)
{
	const char *star = strchr(column, '*');
	size_t before = star ? (size_t)(star - column) : 0, len = strlen(name), after;

	if (!star)
		return !strcmp(column, name);
	after = strlen(star + 1);
	return len > before + after && !strncmp(column, name, before) && !strcmp(star + 1, name + len - after);
}

/* The row of a metric, or the table's last one. */
static const struct turbostat_column *row_of(const struct bound_metric *m)
{
	const struct turbostat_column *c = columns;

	for (; c->name; c++)
		if (!strcmp(c->name, TURBOSTAT_ADDED) ?
			    m->added && m->kind == c->level :
			    !m->counter && is_column(c->name, m->name) && (!c->own || m->kind == PM_CORE))
			break;
	return c;
}

const struct turbostat_column *turbostat_column(const struct bound_metric *m)
{
	const struct turbostat_column *c = row_of(m);

	return c->name ? c : NULL;
}

bool turbostat_shows(const struct bound_metric *m)
{
	return row_of(m)->on;
}

struct ranked {
	uint32_t rank, place, within;
};

/* The counter that the user added; the last added comes first. */
static uint32_t added_id(const struct binding *b, const struct pm_model *m, const struct bound_metric *x)
{
	for (uint32_t i = 0; i < x->n_inputs; i++) {
		const struct bound_input *in = &b->input[x->input[i]];

		if (in->n_counters && !strcmp(pm_model_counter(m, in->counter[0])->source, "add"))
			return in->counter[0];
	}
	/* Added to the recording, after all that were recorded so. */
	return m->n_counters + 1 + (uint32_t)(x - b->metric);
}

static int compare_ranks(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	return a->rank != b->rank ? (a->rank > b->rank ? 1 : -1) : (a->within > b->within) - (a->within < b->within);
}

static bool has_registers(const struct binding *b, const struct pm_model *m)
{
	for (size_t i = 0; i < b->n_inputs; i++) {
		const struct bound_input *in = &b->input[i];
		const struct pm_counter *c =
			in->n_counters && !in->constant ? pm_model_counter(m, in->counter[0]) : NULL;

		/* Or perf shows those of the clocks. */
		if (c && (!strcmp(c->source, "msr") || !strcmp(c->name, "msr/aperf/")))
			return true;
	}
	return false;
}

/* Puts metric[order[i].place] at i, along each cycle of the permutation: there may be very many. */
static void reorder(struct bound_metric *metric, struct ranked *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct bound_metric first = metric[i];
		size_t to = i;

		if (order[i].place == i)
			continue;
		while (order[to].place != i) {
			size_t from = order[to].place;

			metric[to] = metric[from];
			order[to].place = (uint32_t)to;
			to = from;
		}
		metric[to] = first;
		order[to].place = (uint32_t)to;
	}
}

/* Puts the metrics in turbostat's order, with its defaults, if options or registers of the recording say so. */
static void order_metrics(struct binding *b, const struct pm_model *m, const struct bind_options *options)
{
	bool text = options->columns == COLUMNS_TURBOSTAT;
	SCOPED(scoped_free) struct ranked *order = NULL;

	if (options->columns == COLUMNS_OWN || (options->columns == COLUMNS_AUTO && !has_registers(b, m)))
		return;
	order = memory_new(b->n_metrics, sizeof(*order));
	for (size_t i = 0; i < b->n_metrics; i++) {
		struct bound_metric *x = &b->metric[i];
		const struct turbostat_column *c = row_of(x);
		const char *groups = !c->groups && strstr(x->about->categories, "hwidle") ? "idle" : c->groups;

		order[i] = (struct ranked){ (uint32_t)(c - columns), (uint32_t)i,
					    text && x->added ? UINT32_MAX - added_id(b, m, x) : (uint32_t)i };
		if (text && groups) {
			struct metric_about about = *x->about;

			about.categories = groups;
			x->about = keep_about(b, &about);
		}
		/* turbostat does not show what the model lacks, even if named; columns of ours have to be named. */
		x->absent |= text && x->unlikely;
		x->foreign = text && (!c->in || x->absent) && !x->added;
		if (!x->vendor && !x->counter && !x->added)
			x->default_on = c->on & (text ? TEXT : TABLE) && !x->unlikely && !x->absent;
	}
	qsort(order, b->n_metrics, sizeof(*order), compare_ranks);
	reorder(b->metric, order, b->n_metrics);
}

/* ---- all of it ---- */

/* Chooses what applies to the recording's CPU from files for many. */
static int choose_vendor(struct bind_options *options, const struct pm_model *m, struct error *e)
{
	struct vendor_choice choice;
	int err;

	if (!options->files)
		return 0;
	err = vendor_files_choose(options->files, m, &choice, e);
	options->vendor = choice.set;
	options->n_vendor = choice.n;
	options->n_packed = choice.n_packed;
	options->events = choice.events;
	return err;
}

struct asked {
	uint64_t wildcard;
	const struct pm_counter *counter;
};

static int by_wildcard(const void *left, const void *right)
{
	const struct asked *a = left, *b = right;

	return array_order(a->wildcard, b->wildcard, a->counter->id, b->counter->id);
}

/* Those that the same words of the user stand for: whether they are of several PMUs, and count in one unit, as joules
 * and bytes have no sum. */
static bool are_twins(const struct builder *x, const struct asked *a, size_t n)
{
	const char *first = pmu_of(a->counter), *unit = NULL;
	bool several = false;

	for (size_t i = 0; i < n; i++) {
		several |= strcmp(pmu_of(a[i].counter), first) != 0;
		if (x->p->kind[a[i].counter->id] != PM_PMU)
			continue;
		if (unit && strcmp(a[i].counter->unit, unit))
			return false;
		unit = a[i].counter->unit;
	}
	return several;
}

/* Fills twin[]. */
static void bind_find_twins(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	SCOPED(scoped_free) struct asked *a = memory_new(m->n_counters + 1ull, sizeof(*a));
	size_t n = 0, end;

	x->twin = memory_new(m->n_counters + 1ull, sizeof(*x->twin));
	for (uint32_t i = 0; i < m->n_counters; i++) {
		a[n] = (struct asked){ pm_map_u64(&m->counter[i].attrs, PM_COUNTER_PERF_WILDCARD, 0),
				       &m->counter[i] };
		n += a[n].wildcard != 0;
	}
	qsort(a, n, sizeof(*a), by_wildcard);
	for (size_t i = 0; i < n; i = end) {
		bool twins;

		for (end = i; end < n && a[end].wildcard == a[i].wildcard;)
			end++;
		twins = are_twins(x, a + i, end - i);
		for (size_t k = i; k < end; k++)
			x->twin[a[k].counter->id] = twins && x->p->kind[a[k].counter->id] == PM_PMU;
	}
}

int binding_build(struct binding *b, const struct places *p, const struct bind_options *wanted, struct error *e)
{
	struct bind_options options = *wanted;
	struct builder x = { .b = b, .p = p, .options = &options, .error = e };
	int err;

	binding_release(b);
	err = choose_vendor(&options, p->model, e);
	if (err)
		return err;
	b->vendor = options.vendor;
	b->n_vendor = options.n_vendor;
	x.twice = bind_twice(p->model);
	x.found = memory_new(BIND_MAX_COUNTERS, sizeof(*x.found));
	x.clock = memory_new(BIND_MAX_COUNTERS, sizeof(*x.clock));
	b->index = bind_index_new(p->model);
	recorded_metrics(&b->recorded, p->model);
	bind_find_twins(&x);
	err = options.counters_only ? 0 : bind_all(&x);
	if (!err) {
		bind_all_counters(&x);
		order_metrics(b, p->model, &options);
	}
	free(x.found);
	free(x.clock);
	free(x.twin);
	buf_release(&x.text);
	names_release(&x.taken);
	return err;
}

void binding_release(struct binding *b)
{
	for (size_t i = 0; i < b->n_metrics; i++)
		release_metric(&b->metric[i]);
	for (size_t i = 0; i < b->n_owned; i++)
		free(b->owned[i]);
	free(b->owned);
	free(b->metric);
	free(b->input);
	names_release(&b->input_names);
	bind_index_free(b->index);
	metric_set_release(&b->recorded);
	*b = (struct binding){ 0 };
}

unsigned bound_input_aspects(const struct bound_input *i)
{
	if (i->constant || i->duration)
		return 0;
	if (i->rate || i->aspect == EXPR_RATE)
		return 1u << TRACK_RATE;
	if (i->more->op == INPUT_SPAN)
		return 1u << TRACK_SPAN;
	switch (i->aspect) {
	case EXPR_FIRST:
	case EXPR_LAST:
	case EXPR_MEAN:
	case EXPR_MAX:
	case EXPR_ELAPSED:
		return 1u << i->aspect;
	case EXPR_AGGR_NR:
		/* Those that were observed, whether or not their value can be trusted. */
		return 1u << TRACK_ELAPSED;
	default:
		return 1u << TRACK_VALUE;
	}
}

/* ---- amounts and rates ---- */

#define TRIES 16 /* a formula may need numbers in some order */

/* Whether an input grows with the length of the interval. */
static bool grows(const struct binding *b, const struct bound_input *in, const struct pm_model *model)
{
	if (in->duration)
		return true;
	if (in->more->whole && !in->constant)
		return metric_is_amount(b, bind_whole(b, in->more), model);
	if (in->constant || in->rate || in->aspect == EXPR_RATE || in->more->op == INPUT_NUMBER ||
	    in->more->op == INPUT_SPAN || in->more->op == INPUT_WALL || !in->n_counters)
		return false;
	switch (in->aspect) {
	case EXPR_VALUE:
	case EXPR_SECONDS:
		break;
	case EXPR_ELAPSED:
		return true;
	default:
		return false;
	}
	for (uint32_t i = 0; i < in->n_counters; i++) {
		enum pm_semantics s = pm_model_counter(model, in->counter[i])->semantics;

		if (s != PM_CUMULATIVE && s != PM_DELTA)
			return false;
	}
	return true;
}

bool metric_is_amount(const struct binding *b, const struct bound_metric *m, const struct pm_model *model)
{
	SCOPED(scoped_free) struct value *once = memory_new(m->n_inputs, sizeof(*once));
	SCOPED(scoped_free) struct value *twice = memory_new(m->n_inputs, sizeof(*twice));
	unsigned seed = 12345;
	bool amount = false, known = !m->expr;

	if (!m->expr)
		amount = m->n_inputs && grows(b, &b->input[m->input[0]], model);
	for (int try = 0; try < TRIES && !known; try++) {
		struct value v, w;

		for (uint32_t i = 0; i < m->n_inputs; i++) {
			const struct bound_input *in = &b->input[m->input[i]];

			seed = seed * 1103515245u + 12345u;
			once[i] = in->constant ? in->more->value :
						 (struct value){ .v = 1 + (double)(seed >> 8 & 0xffff) / 7e3 };
			twice[i] = once[i];
			if (grows(b, in, model))
				twice[i].v *= 2;
		}
		v = expr_eval(m->expr, once);
		w = expr_eval(m->expr, twice);
		known = !v.reason && !w.reason && isfinite(v.v) && isfinite(w.v) && (v.v > 0 || v.v < 0);
		amount = known && fabs(w.v / v.v - 2) < 1e-6;
	}
	return amount;
}
