/* The rule for each field: keep it, replace it by a pseudonym, remove what was found elsewhere from it, or drop it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/parse.h"
#include "report/copy/redact_private.h"

/* ---- texts ---- */

/* Whether a text is plain apart from pseudonyms in it. */
static bool is_plain_now(const struct redact *r, const char *text)
{
	SCOPED(scoped_free) char *copy = memory_text(text);

	for (char *at = copy; (at = strchr(at, '-'));) {
		at++;
		if (strspn(at, "0123456789abcdef") >= 8)
			memset(at, ' ', 8);
	}
	return redact_is_plain(r, copy);
}

static void replace(char **text, const char *by)
{
	char *copy = memory_text(by);

	free(*text);
	*text = copy;
}

/* A technical text does not name a folder of the user's, though its words may all be plain. */
static void scrub(struct redact *r, char **text, size_t *len, bool technical)
{
	bool changed = secrets_scrub(&r->secrets, text, len, !redact_is_plain(r, *text));

	if (technical && redact_names_path(*text)) {
		replace(text, "redacted");
		*len = strlen(*text);
		changed = true;
	}
	r->counts.scrubbed += changed;
}

static void clean(struct redact *r, char **text)
{
	size_t len;

	if (!*text || !**text)
		return;
	len = strlen(*text);
	scrub(r, text, &len, true);
}

/* If a text is not certainly technical once everything known is removed, keep only the fact that there was one. */
static void clean_or_hide(struct redact *r, char **text, const char *instead)
{
	clean(r, text);
	if (!*text || is_plain_now(r, *text))
		return;
	r->counts.scrubbed++;
	replace(text, instead);
}

static int clean_value(struct redact *r, struct pm_value *v, bool technical)
{
	char *copy;
	size_t len;
	int fate = REWRITE_KEEP;

	switch (v->kind) {
	case PM_VALUE_TEXT:
		scrub(r, &v->str.data, &v->str.len, technical);
		return REWRITE_KEEP;
	case PM_VALUE_BYTES:
		/* Bytes that can be searched are not replaced: others would change the structure. */
		len = v->str.len;
		copy = memory_copy(v->str.data, len + 1, 1);
		fate = secrets_scrub(&r->secrets, &copy, &len, true) ? REWRITE_DROP : REWRITE_KEEP;
		free(copy);
		return fate;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n && fate == REWRITE_KEEP; i++)
			fate = clean_value(r, &v->array.item[i], technical);
		return fate;
	case PM_VALUE_MAP:
		return REWRITE_DROP; /* no known field holds one */
	default:
		return REWRITE_KEEP;
	}
}

static bool same_kind(enum pm_value_kind want, enum pm_value_kind have)
{
	bool number = want == PM_VALUE_U64 || want == PM_VALUE_S64;

	return want == have || (number && (have == PM_VALUE_U64 || have == PM_VALUE_S64));
}

static void drop(struct redact *r, struct pm_map *m, uint32_t key)
{
	pm_map_remove(m, key);
	r->counts.dropped++;
}

/* Replaces a text of a map by a pseudonym. */
static void rename_field(struct redact *r, struct pm_map *m, uint32_t key, const char *kind, const char *from)
{
	memory_done(pm_map_set(m, key, pm_text(redact_name(r, kind, from))));
}

/* Applies the rules to a map: known fields that may stay are cleaned, names become pseudonyms, everything else is
 * dropped. */
static void clean_map(struct redact *r, struct pm_map *m, const struct pm_key_row *rows,
		      const char *(*kind_of)(uint32_t key))
{
	for (uint32_t i = m->n; i-- > 0;) {
		struct pm_field *f = &m->field[i];
		const struct pm_key_row *row = pm_key_find(rows, f->key);
		const char *kind = kind_of ? kind_of(f->key) : NULL;

		if (!row || !same_kind(row->kind, f->value.kind)) {
			drop(r, m, f->key);
		} else if (redact_keeps(r, f->key, row->name)) {
			/* Formulas divide. */
			if (clean_value(r, &f->value,
					f->key < 100 && (rows != pm_header_keys || f->key != PM_HEADER_METRICS)))
				drop(r, m, f->key);
		} else if (kind && f->value.kind == PM_VALUE_TEXT && f->value.str.len) {
			rename_field(r, m, f->key, kind, f->value.str.data);
		} else {
			drop(r, m, f->key);
		}
	}
}

/* ---- the header ---- */

/* The history repeats command lines, which name files, times and counters: the command is enough. */
static void shorten_history(const struct redact *r, struct pm_map *header)
{
	static const char *const known[] = { "cut", "merged", "redacted", "bundled" };
	const struct pm_value *old = pm_map_get(header, PM_HEADER_HISTORY);
	uint32_t n = old && old->kind == PM_VALUE_ARRAY ? old->array.n : 0;
	struct pm_value list;

	if (!n)
		return;
	list = pm_array(n);
	memory_checked(list.array.item);
	for (uint32_t i = 0; i < n; i++) {
		const struct pm_value *v = &old->array.item[i];
		const char *word = "changed";

		if (v->kind == PM_VALUE_TEXT && !strncmp(v->str.data, "bundled", 7) &&
		    redact_is_plain(r, v->str.data)) {
			list.array.item[i] = pm_text(v->str.data);
			continue;
		}
		for (size_t k = 0; v->kind == PM_VALUE_TEXT && k < sizeof(known) / sizeof(*known); k++)
			if (!strncmp(v->str.data, known[k], strlen(known[k])))
				word = known[k];
		list.array.item[i] = pm_text(word);
	}
	memory_done(pm_map_set(header, PM_HEADER_HISTORY, list));
}

static void note_classes(const struct redact *r, struct pm_map *header)
{
	struct pm_value list = pm_array(3);
	uint32_t n = 0;

	memory_checked(list.array.item);
	if (!r->keep_class[PM_PRIVACY_MACHINE])
		list.array.item[n++] = pm_text("machine");
	if (!r->keep_class[PM_PRIVACY_PERSON])
		list.array.item[n++] = pm_text("person");
	if (r->options.shift_time)
		list.array.item[n++] = pm_text("time");
	list.array.n = n;
	memory_done(pm_map_set(header, PM_HEADER_REDACTED, list));
}

/* In a formula the dash of a pseudonym would subtract. */
static void escape_formula(const struct redact *r, struct pm_value *v)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	const char *text = v->kind == PM_VALUE_TEXT ? v->str.data : "", *dash;

	for (; (dash = strchr(text, '-')); text = dash + 1) {
		size_t n = 0;
		char word[64];

		while (dash - n > text && dash[-1 - (ptrdiff_t)n] >= 'a' && dash[-1 - (ptrdiff_t)n] <= 'z')
			n++;
		snprintf(word, sizeof(word), "%.*s", (int)n + 9, dash - n);
		buf_add(&out, text, (size_t)(dash - text));
		buf_addstr(&out, redact_map_from(&r->map, word) ? "\\-" : "-");
	}
	if (!out.len)
		return;
	buf_addstr(&out, text);
	memory_whole(&out);
	pm_value_release(v);
	*v = pm_text(buf_str(&out));
	memory_checked(v->str.data);
}

static void escape_formulas(const struct redact *r, const struct pm_map *header)
{
	const struct pm_value *list = pm_map_get(header, PM_HEADER_METRICS);

	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++) {
		const struct pm_value *texts = &list->array.item[i];

		for (uint32_t k = PM_METRIC_FORMULA;
		     texts->kind == PM_VALUE_ARRAY && k <= PM_METRIC_THRESHOLD && k < texts->array.n; k++)
			escape_formula(r, &texts->array.item[k]);
	}
}

static int on_header(void *ctx, struct pm_map *header)
{
	struct redact *r = ctx;

	clean_map(r, header, pm_header_keys, redact_header_kind);
	escape_formulas(r, header);
	shorten_history(r, header);
	note_classes(r, header);
	return 0;
}

/* ---- counters ---- */

/* Whether the name is another counter's. Pseudonyms for the counter's own name need no note: the map has them. */
static bool is_of_another(const struct redact *r, const char *name, const char *old, bool *own)
{
	const char *from = redact_map_from(&r->map, name);
	uint32_t other;

	*own = from && !strcmp(from, old);
	if (from)
		return !*own;
	return names_get(&r->given, name, &other) && other != names_hash(old);
}

/* Keeps different names different, even if everything that distinguished them is gone. */
static void make_unique(struct redact *r, char **name, const char *old)
{
	SCOPED(buf_release) struct buf tried = BUF_INIT;
	bool own = false;

	buf_addstr(&tried, *name);
	for (unsigned k = 2; is_of_another(r, buf_str(&tried), old, &own); k++) {
		buf_clear(&tried);
		buf_printf(&tried, "%s#%u", *name, k);
	}
	memory_whole(&tried);
	if (!own)
		memory_done(names_set(&r->given, buf_str(&tried), names_hash(old)));
	replace(name, buf_str(&tried));
}

static void rename_counter(struct redact *r, struct pm_counter *c, const char *kind)
{
	bool add = !strncmp(c->name, "add.", 4);
	const char *to = redact_name(r, kind, c->name + (add ? 4 : 0));

	free(c->name);
	c->name = memory_format("%s%s", add ? "add." : "", to);
	replace(&c->display, to);
	pm_map_remove(&c->attrs, PM_COUNTER_PERF_USER_TEXT);
	pm_map_remove(&c->attrs, PM_COUNTER_HELP);
	pm_map_remove(&c->attrs, PM_COUNTER_FAMILY);
	pm_map_remove(&c->attrs, PM_COUNTER_MEMBER);
}

static int on_source(void *ctx, char **source)
{
	if (!catalog_source(*source, &(size_t){ 0 }))
		clean_or_hide(ctx, source, "redacted");
	return 0;
}

static int on_counter(void *ctx, struct pm_counter *c)
{
	struct redact *r = ctx;
	const char *kind = redact_counter_kind(r, c);
	const char *group = pm_map_text(&c->attrs, PM_COUNTER_PERF_GROUP_NAME, "");
	const char *help = pm_map_text(&c->attrs, PM_COUNTER_HELP, "");
	SCOPED(scoped_free) char *old = memory_text(c->name);

	if (*group && !redact_is_plain(r, group))
		rename_field(r, &c->attrs, PM_COUNTER_PERF_GROUP_NAME, "group", group);
	/* The kernel's file of a column that was asked for: it may be that of a device or a cgroup. */
	if (*help == '/' && (!redact_is_plain(r, help) || redact_has_address(help)))
		drop(r, &c->attrs, PM_COUNTER_HELP);
	clean_map(r, &c->attrs, pm_counter_keys, redact_counter_attr_kind);
	if (kind) {
		rename_counter(r, c, kind);
	} else {
		clean(r, &c->name);
		clean(r, &c->display);
	}
	make_unique(r, &c->name, old);
	on_source(r, &c->source);
	clean_or_hide(r, &c->unit, "1");
	/* Only a decimal number is a scale. */
	if (c->scale.text && c->scale.text[strspn(c->scale.text, "0123456789.eE+-")])
		replace(&c->scale.text, "1");
	return 0;
}

/* ---- instances, topology, PMUs, probes ---- */

static int on_instance(void *ctx, struct pm_instance *i)
{
	struct redact *r = ctx;
	const char *kind = redact_instance_kind(r, i);
	const char *cpus = pm_map_text(&i->attrs, PM_INSTANCE_CPUS, "");

	if (kind)
		rename_field(r, &i->attrs, PM_INSTANCE_NAME, kind, pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""));
	if (cpus[strspn(cpus, "0123456789,-")])
		drop(r, &i->attrs, PM_INSTANCE_CPUS);
	clean_map(r, &i->attrs, pm_instance_keys, redact_attr_kind);
	return 0;
}

static int on_topology(void *ctx, struct pm_topology *t)
{
	for (uint32_t i = 0; i < t->n_types; i++)
		clean(ctx, &t->type[i]);
	return 0;
}

static bool is_technical_file(const struct pm_value *pair)
{
	const char *name =
		pair->kind == PM_VALUE_ARRAY && pair->array.n == 2 && pair->array.item[0].kind == PM_VALUE_TEXT ?
			pair->array.item[0].str.data :
			"";

	return parse_is_among("perf_event_mux_interval_ms peer rdpmc freeze_on_smi alias allow_tsx_force_abort "
			      "nr_addr_filters partid numa_node slots",
			      name, strlen(name));
}

static int on_pmu(void *ctx, struct pm_pmu *p)
{
	struct redact *r = ctx;
	const struct pm_value *files = pm_map_get(&p->attrs, PM_PMU_FILES);

	if (files && files->kind == PM_VALUE_ARRAY) {
		struct pm_value kept = pm_array(files->array.n);
		uint32_t n = 0;

		memory_done(files->array.n && !kept.array.item);
		for (uint32_t i = 0; i < files->array.n; i++)
			if (is_technical_file(&files->array.item[i]))
				memory_done(pm_value_copy(&kept.array.item[n++], &files->array.item[i]));
			else
				r->counts.dropped++;
		kept.array.n = n;
		memory_done(pm_map_set(&p->attrs, PM_PMU_FILES, kept));
	}
	clean_map(r, &p->attrs, pm_pmu_keys, NULL);
	return 0;
}

/* "cycles, cpu/event=1/": whether all are events that no user invented. */
static bool are_events(const struct redact *r, const char *text)
{
	SCOPED(scoped_free) char *copy = memory_text(text);
	char *rest = copy, *word;
	bool all = true;

	while (all && (word = strsep(&rest, " ")))
		if (*word) {
			size_t n = strlen(word);

			if (word[n - 1] == ',')
				word[n - 1] = '\0';
			all = redact_is_event(r, word) || redact_is_pseudonym(word);
		}
	return all;
}

static int on_probe(void *ctx, struct pm_probe *p)
{
	struct redact *r = ctx;

	pm_map_release(&p->attrs);
	on_source(r, &p->source);
	if (are_events(r, p->what))
		clean(r, &p->what);
	else
		clean_or_hide(r, &p->what, "redacted");
	if (!p->hint)
		return 0;
	clean_or_hide(r, &p->hint, "");
	if (!*p->hint) {
		free(p->hint);
		p->hint = NULL;
	}
	return 0;
}

/* ---- values that are read once ---- */

static bool is_known_config(const char *name)
{
	/* Leaf 3 is the serial number, on processors that have one. */
	return strncmp(name, "cpuid.00000003.", 15) &&
	       parse_is_among(
		       "cpu_dma_latency_us cpuid cpufreq cpuidle msr pci pmrec pmt powercap tcc_celsius throttle "
		       "uncorefreq intel_pstate machine arm64 nvidia perf gfx lpi",
		       name, strcspn(name, "."));
}

static bool is_clock_config(const char *name)
{
	return parse_is_among("msr.0x10 msr.0xe7 msr.0xe8 msr.tsc msr.aperf msr.mperf", name, strlen(name));
}

static int on_config(void *ctx, struct pm_config *c)
{
	struct redact *r = ctx;

	if (!is_known_config(c->name) || !redact_keeps(r, (uint32_t)c->privacy * 100 + 50, NULL) ||
	    (r->options.shift_time && is_clock_config(c->name))) {
		r->counts.dropped++;
		return REWRITE_DROP;
	}
	clean(r, &c->name);
	return clean_value(r, &c->value, c->privacy == PM_PRIVACY_TECHNICAL);
}

/* ---- events ---- */

static int on_event(void *ctx, struct pm_event *e)
{
	struct redact *r = ctx;

	if (!pm_event_name(e->type)) {
		r->counts.dropped++;
		return REWRITE_DROP;
	}
	clean_map(r, &e->attrs, pm_event_keys, redact_event_kind);
	if (!is_plain_now(r, pm_map_text(&e->attrs, PM_EVENT_KEY_NOTE, "")))
		memory_done(pm_map_set(&e->attrs, PM_EVENT_KEY_NOTE, pm_text("redacted")));
	return 0;
}

/* ---- numbers ---- */

static int on_text(void *ctx, const struct pm_counter *c, struct pm_value *v)
{
	struct redact *r = ctx;
	struct pm_value name;

	/* Nobody knows what bytes reveal. */
	if (v->kind != PM_VALUE_TEXT)
		return REWRITE_DROP;
	if (redact_is_plain(r, v->str.data))
		return clean_value(r, v, true);
	/* A change of name, and back, remains visible. */
	name = pm_text(redact_name(r, "text", v->str.data));
	memory_checked(name.str.data);
	pm_value_release(v);
	*v = name;
	return REWRITE_KEEP;
}

static void shift(uint64_t *clock, uint64_t by)
{
	if (*clock)
		*clock += by;
}

static int on_clocks(void *ctx, struct pm_clocks *c)
{
	struct redact *r = ctx;

	shift(&c->realtime, r->map.wall);
	shift(&c->monotonic_raw, r->now->raw);
	shift(&c->boottime, r->now->boottime);
	shift(&c->counter, r->now->counter);
	return 0;
}

/* What the kernel, a driver or a register has counted since the boot reveals its time. Perf counts from where it was
 * asked to. */
static uint64_t on_rebase(void *ctx, const struct pm_counter *c)
{
	struct redact *r = ctx;

	if (c->semantics != PM_CUMULATIVE || !strcmp(c->source, "perf") ||
	    pm_map_bool(&c->attrs, PM_COUNTER_FROM_ZERO, false) || pm_map_get(&c->attrs, PM_COUNTER_SHIFT))
		return 0;
	return !strcmp(c->name, "msr.tsc") ? r->now->counter :
					     redact_map_base(&r->map, r->now->boot, c->name, c->width);
}

/* Each recording of a file has a boot of its own. */
static void on_begin(void *ctx)
{
	struct redact *r = ctx;

	r->now = &r->shift[r->next];
	r->next += r->next + 1 < r->n_shifts;
	r->rules->shift_ns = r->now->monotonic;
}

void redact_rules(struct redact *r, struct rewrite_rules *rules)
{
	r->next = 0;
	r->rules = rules;
	rules->ctx = r;
	rules->begin = r->options.shift_time ? on_begin : NULL;
	rules->header = on_header;
	rules->counter = on_counter;
	rules->instance = on_instance;
	rules->source = on_source;
	rules->topology = on_topology;
	rules->pmu = on_pmu;
	rules->probe = on_probe;
	rules->config = on_config;
	rules->event = on_event;
	rules->text = on_text;
	rules->clocks = r->options.shift_time ? on_clocks : NULL;
	rules->rebase = r->options.shift_time ? on_rebase : NULL;
}
