/* What a name in a formula can mean in a recording: counters in their many spellings, events by what they count,
 * events of PMU classes, fields of registers, literals. */
#include "report/metric/bind.h"

#include <ctype.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/event/event.h"
#include "common/parse.h"
#include "common/memory.h"
#include "report/machine/cpu_facts.h"
#include "report/machine/telemetry.h"

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

void bind_of_groups(const struct bind_index *x, const char *name, const struct expr_input *in, size_t n_in,
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

/* Events whose codes depend on the model. */
#define L2_EVENTS "l2/"

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
	{ "pmt.die_c6", TELEMETRY_DIES, INPUT_RULE, 0, 0, 0, PM_AGG_MEAN, NULL },
	{ "pmt.module_c1e", TELEMETRY_MODULES, INPUT_RULE, 0, 0, 0, PM_AGG_MEAN, NULL },
	{ "l2.refs", L2_EVENTS "refs", INPUT_RULE, 0, 0, 0, OWN_RULE, NULL },
	{ "l2.hits", L2_EVENTS "hits", INPUT_RULE, 0, 0, 0, OWN_RULE, NULL },
	{ "reading.us", "msr.tsc", INPUT_SPAN, 0, 0, 0, PM_AGG_MAX, NULL },
	{ "reading.time", "msr.tsc", INPUT_WALL, 0, 0, 0, PM_AGG_MAX, NULL },
	{ "cpu.apic_id", "msr.tsc", INPUT_NUMBER, 0, 0, 0, PM_AGG_NONE, "apic_id" },
	{ "cpu.x2apic_id", "msr.tsc", INPUT_NUMBER, 0, 0, 0, PM_AGG_NONE, "x2apic_id" },
};

const char *bind_field(const char *name, struct input_more *in)
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
		in->telemetry = telemetry_of(fields[i].counter);
		return fields[i].counter;
	}
	return NULL;
}

/* One for each PMU; they count on different CPUs. */
static uint32_t l2_counters(const struct pm_model *m, enum cpu_l2 what, uint32_t *found, uint32_t max)
{
	struct cpu_identity id;
	uint32_t n = 0;

	if (!cpu_identify(m, &id))
		return 0;
	for (uint32_t i = 0; i < m->n_counters && n < max; i++) {
		const struct pm_counter *c = &m->counter[i];
		const char *pmu = pm_map_text(&c->attrs, PM_COUNTER_PERF_PMU, "");
		bool twice = false;

		if (strcmp(c->source, "perf") || cpu_l2_event(&id, pmu, bind_attr(m, c, 8, 8)) != what)
			continue;
		for (uint32_t k = 0; k < n && !twice; k++) {
			const struct pm_map *attrs = &pm_model_counter(m, found[k])->attrs;

			twice = !strcmp(pm_map_text(attrs, PM_COUNTER_PERF_PMU, ""), pmu);
		}
		if (!twice)
			found[n++] = c->id;
	}
	return n;
}

uint32_t bind_made_of(const struct bind_index *x, const char *counter, uint32_t *found, uint32_t max)
{
	const struct pm_model *m = x->model;
	uint32_t n = 0;

	if (!strncmp(counter, L2_EVENTS, strlen(L2_EVENTS)))
		return l2_counters(m, strstr(counter, "hits") ? CPU_L2_HITS : CPU_L2_REFS, found, max);
	if (strcmp(counter, TELEMETRY_MODULES))
		return bind_counters(x, counter, found, max);
	for (unsigned i = 0; i < TELEMETRY_MODULES_N && n < max; i++) {
		const struct pm_counter *c;
		char name[64];

		snprintf(name, sizeof(name), TELEMETRY_MODULES "_%u",
			 TELEMETRY_MODULES_FIRST + i * TELEMETRY_MODULES_STEP);
		c = pm_model_counter_named(m, name);
		if (c)
			found[n++] = c->id;
	}
	return n;
}

double bind_number(const struct places *p, const struct bound_input *in, const struct pm_instance *i)
{
	struct place at;
	struct value v;

	if (in->more->fixed != 0)
		return in->more->fixed;
	if (!places_find(p, i, PM_PACKAGE, &at))
		at.package = PM_NONE;
	if (!cpu_literal_at(p->model, in->more->fact, at.package, i->kind == PM_CPU ? i->number : i->cpu, &v) ||
	    v.reason)
		return NAN;
	return v.v;
}

enum distinct { CORES, DIES, PACKAGES, NODES };

static int by(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

static int compare_cpus(const void *left, const void *right, void *ctx)
{
	const struct pm_cpu *a = *(const struct pm_cpu *const *)left, *b = *(const struct pm_cpu *const *)right;
	enum distinct what = *(enum distinct *)ctx;
	int d;

	if (what == NODES)
		return by(a->node, b->node);
	if ((d = by(a->package, b->package)) || what == PACKAGES)
		return d;
	if ((d = by(a->die, b->die)) || what == DIES)
		return d;
	return by(a->core, b->core);
}

/* The number of distinct things of a kind that contain online CPUs; 0 if unknown. */
static double count(const struct places *p, enum distinct what)
{
	SCOPED(scoped_free) const struct pm_cpu **cpu = memory_new(p->n, sizeof(*cpu));
	uint32_t n = 0;
	double distinct = 0;

	for (uint32_t i = 0; i < p->n; i++)
		if (p->cpu[i].online)
			cpu[n++] = &p->cpu[i];
	qsort_r(cpu, n, sizeof(*cpu), compare_cpus, &what);
	for (uint32_t i = 0; i < n; i++)
		distinct += !i || compare_cpus(&cpu[i - 1], &cpu[i], &what);
	return distinct;
}

static double online(const struct places *p)
{
	double n = 0;

	for (uint32_t i = 0; i < p->n; i++)
		n += p->cpu[i].online;
	return n;
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
	const struct pm_map *header = &p->model->header;

	if (!strcmp(name, "smt_on"))
		*v = smt(p);
	else if (!strcmp(name, "num_cpus"))
		*v = positive(p->n);
	else if (!strcmp(name, "num_cpus_online"))
		*v = positive(online(p));
	else if (!strcmp(name, "num_cores"))
		*v = positive(count(p, CORES));
	else if (!strcmp(name, "num_dies"))
		*v = positive(count(p, DIES));
	else if (!strcmp(name, "num_packages"))
		*v = positive(count(p, PACKAGES));
	else if (!strcmp(name, "num_nodes"))
		*v = positive(count(p, NODES));
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
		return cpu_literal(p->model, name, v);
	return true;
}

const struct bound_metric *bind_whole(const struct binding *b, const struct input_more *in)
{
	for (size_t i = 0; in->whole && i < b->n_metrics; i++)
		if (!b->metric[i].counter && !strcmp(b->metric[i].name, in->whole))
			return &b->metric[i];
	return NULL;
}

bool bind_is_optional(const struct expr_input *in, size_t n, size_t i)
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
		if (!bind_counters(&b->index, m->each, &found, 1))
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
						   bind_made_of(&b->index, reg ? reg : in[i].name, &found, 1) != 0) {
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

#define NAMED_MAX 3 /* counters of a metric; of more, only the number is given */

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

/* The text has it between its commas. */
static bool list_has(const char *list, const char *one)
{
	size_t len = strlen(one);

	for (const char *at = list; (at = strstr(at, one)); at += len)
		if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ','))
			return true;
	return false;
}

void bound_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out)
{
	SCOPED(buf_release) struct buf one = BUF_INIT;
	size_t begin = out->len;
	unsigned n = 0, more = 0;

	for (uint32_t i = 0; i < metric->n_inputs; i++) {
		const struct bound_input *in = &b->input[metric->input[i]];

		for (uint32_t k = 0; k < in->n_counters && !in->constant; k++) {
			buf_clear(&one);
			put_counter(&one, pm_model_counter(b->index.model, in->counter[k])->name);
			memory_whole(&one);
			if (n && list_has(buf_str(out) + begin, buf_str(&one)))
				continue;
			if (n++ < NAMED_MAX)
				buf_printf(out, "%s%s", n > 1 ? ", " : "", buf_str(&one));
			else
				more++;
		}
	}
	if (more)
		buf_printf(out, " and %u more", more);
}

/* ---- events by what they count ---- */

/* "cpu/event=0xc0/" and "instructions" may be the same to a PMU. Texts are resolved with the PMUs that the recording
 * describes, and compared with the attr words of the recorded events. */

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

uint32_t bind_meant(struct bind_index *x, struct vendor_events *events, const char *text, uint32_t *found,
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
	*x = (struct class_index){ 0 };
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

void bind_index_build(struct bind_index *x, const struct pm_model *m)
{
	SCOPED(buf_release) struct buf key = BUF_INIT;

	*x = (struct bind_index){ .model = m };
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
}

void bind_index_release(struct bind_index *x)
{
	names_release(&x->names);
	free(x->entry);
	class_index_release(&x->classes);
	for (size_t i = 0; i < x->n_pmus; i++)
		event_pmu_release(&x->pmu[i]);
	free(x->pmu);
	*x = (struct bind_index){ 0 };
}
