/* The rule for each field: keep it, replace it by a pseudonym, remove what was found elsewhere from it, or drop it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/parse.h"
#include "report/copy/redact_private.h"

/* ---- texts ---- */

/* Whether a text is plain apart from pseudonyms in it. */
static int is_plain_now(const struct redact *r, const char *text)
{
	char *copy = strdup(text), *at = copy;
	bool plain;

	if (!copy)
		return -ENOMEM;
	while ((at = strchr(at, '-'))) {
		at++;
		if (strspn(at, "0123456789abcdef") >= 8)
			memset(at, ' ', 8);
	}
	plain = redact_is_plain(r, copy);
	free(copy);
	return plain;
}

static int replace(char **text, const char *by)
{
	char *copy = by ? strdup(by) : NULL;

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

/* A technical text does not name a folder of the user's, though its words may all be plain. */
static int scrub(struct redact *r, char **text, size_t *len, bool technical)
{
	int n = secrets_scrub(&r->secrets, text, len, !redact_is_plain(r, *text));

	if (n >= 0 && technical && redact_names_path(*text)) {
		n = replace(text, "redacted") ? -ENOMEM : 1;
		*len = strlen(n < 0 ? "" : *text);
	}
	r->counts.scrubbed += n > 0;
	return n < 0 ? n : 0;
}

static int clean(struct redact *r, char **text)
{
	size_t len;

	if (!*text || !**text)
		return 0;
	len = strlen(*text);
	return scrub(r, text, &len, true);
}

/* If a text is not certainly technical once everything known is removed, keep only the fact that there was one. */
static int clean_or_hide(struct redact *r, char **text, const char *instead)
{
	int plain, err = clean(r, text);

	if (err || !*text)
		return err;
	plain = is_plain_now(r, *text);
	if (plain)
		return plain < 0 ? plain : 0;
	r->counts.scrubbed++;
	return replace(text, instead);
}

static int clean_value(struct redact *r, struct pm_value *v, bool technical)
{
	char *copy;
	size_t len;
	int n, err = 0;

	switch (v->kind) {
	case PM_VALUE_TEXT:
		return scrub(r, &v->str.data, &v->str.len, technical);
	case PM_VALUE_BYTES:
		/* Bytes that can be searched are not replaced: others would change the structure. */
		len = v->str.len;
		copy = malloc(len + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, v->str.data, len + 1);
		n = secrets_scrub(&r->secrets, &copy, &len, true);
		free(copy);
		return n > 0 ? REWRITE_DROP : n;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n && !err; i++)
			err = clean_value(r, &v->array.item[i], technical);
		return err;
	case PM_VALUE_MAP:
		return REWRITE_DROP; /* no known field holds one */
	default:
		return 0;
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
static int rename_field(struct redact *r, struct pm_map *m, uint32_t key, const char *kind, const char *from)
{
	const char *to = redact_name(r, kind, from);

	return to ? pm_map_set(m, key, pm_text(to)) : -ENOMEM;
}

/* Applies the rules to a map: known fields that may stay are cleaned, names become pseudonyms, everything else is
 * dropped. */
static int clean_map(struct redact *r, struct pm_map *m, const struct pm_key_row *rows,
		     const char *(*kind_of)(uint32_t key))
{
	for (uint32_t i = m->n; i-- > 0;) {
		struct pm_field *f = &m->field[i];
		const struct pm_key_row *row = pm_key_find(rows, f->key);
		const char *kind = kind_of ? kind_of(f->key) : NULL;
		int err;

		if (!row || !same_kind(row->kind, f->value.kind)) {
			drop(r, m, f->key);
		} else if (redact_keeps(r, f->key, row->name)) {
			/* Formulas divide. */
			err = clean_value(r, &f->value,
					  f->key < 100 && (rows != pm_header_keys || f->key != PM_HEADER_METRICS));
			if (err < 0)
				return err;
			if (err)
				drop(r, m, f->key);
		} else if (kind && f->value.kind == PM_VALUE_TEXT && f->value.str.len) {
			err = rename_field(r, m, f->key, kind, f->value.str.data);
			if (err)
				return err;
		} else {
			drop(r, m, f->key);
		}
	}
	return 0;
}

/* ---- the header ---- */

/* The history repeats command lines, which name files, times and counters: the command is enough. */
static int shorten_history(const struct redact *r, struct pm_map *header)
{
	static const char *const known[] = { "cut", "merged", "redacted", "bundled" };
	const struct pm_value *old = pm_map_get(header, PM_HEADER_HISTORY);
	uint32_t n = old && old->kind == PM_VALUE_ARRAY ? old->array.n : 0;
	struct pm_value list = pm_array(n);

	if (!n || !list.array.item) {
		pm_value_release(&list);
		return n ? -ENOMEM : 0;
	}
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
	return pm_map_set(header, PM_HEADER_HISTORY, list);
}

static int note_classes(const struct redact *r, struct pm_map *header)
{
	struct pm_value list = pm_array(3);
	uint32_t n = 0;

	if (!list.array.item)
		return -ENOMEM;
	if (!r->keep_class[PM_PRIVACY_MACHINE])
		list.array.item[n++] = pm_text("machine");
	if (!r->keep_class[PM_PRIVACY_PERSON])
		list.array.item[n++] = pm_text("person");
	if (r->options.shift_time)
		list.array.item[n++] = pm_text("time");
	list.array.n = n;
	return pm_map_set(header, PM_HEADER_REDACTED, list);
}

/* In a formula the dash of a pseudonym would subtract. */
static int escape_formula(const struct redact *r, struct pm_value *v)
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
		return out.err;
	buf_addstr(&out, text);
	pm_value_release(v);
	*v = pm_text(buf_str(&out));
	return out.err || !v->str.data ? -ENOMEM : 0;
}

static int escape_formulas(const struct redact *r, const struct pm_map *header)
{
	const struct pm_value *list = pm_map_get(header, PM_HEADER_METRICS);
	int err = 0;

	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++) {
		const struct pm_value *texts = &list->array.item[i];

		for (uint32_t k = PM_METRIC_FORMULA;
		     texts->kind == PM_VALUE_ARRAY && k <= PM_METRIC_THRESHOLD && k < texts->array.n && !err; k++)
			err = escape_formula(r, &texts->array.item[k]);
	}
	return err;
}

static int on_header(void *ctx, struct pm_map *header)
{
	struct redact *r = ctx;
	int err = clean_map(r, header, pm_header_keys, redact_header_kind);

	if (!err)
		err = escape_formulas(r, header);
	if (!err)
		err = shorten_history(r, header);
	if (!err)
		err = note_classes(r, header);
	return err;
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
static int make_unique(struct redact *r, char **name, const char *old)
{
	SCOPED(buf_release) struct buf tried = BUF_INIT;
	bool own = false;
	int err;

	buf_addstr(&tried, *name);
	for (unsigned k = 2; !tried.err && is_of_another(r, buf_str(&tried), old, &own); k++) {
		buf_clear(&tried);
		buf_printf(&tried, "%s#%u", *name, k);
	}
	err = tried.err;
	if (!err && !own)
		err = names_set(&r->given, buf_str(&tried), names_hash(old));
	if (!err)
		err = replace(name, buf_str(&tried));
	return err;
}

static int rename_counter(struct redact *r, struct pm_counter *c, const char *kind)
{
	bool add = !strncmp(c->name, "add.", 4);
	const char *to = redact_name(r, kind, c->name + (add ? 4 : 0));
	SCOPED(buf_release) struct buf name = BUF_INIT;
	int err;

	if (!to)
		return -ENOMEM;
	buf_printf(&name, "%s%s", add ? "add." : "", to);
	err = name.err ? name.err : replace(&c->name, buf_str(&name));
	if (!err)
		err = replace(&c->display, to);
	pm_map_remove(&c->attrs, PM_COUNTER_PERF_USER_TEXT);
	pm_map_remove(&c->attrs, PM_COUNTER_HELP);
	pm_map_remove(&c->attrs, PM_COUNTER_FAMILY);
	pm_map_remove(&c->attrs, PM_COUNTER_MEMBER);
	return err;
}

static int on_source(void *ctx, char **source)
{
	return catalog_source(*source, &(size_t){ 0 }) ? 0 : clean_or_hide(ctx, source, "redacted");
}

static int on_counter(void *ctx, struct pm_counter *c)
{
	struct redact *r = ctx;
	const char *kind = redact_counter_kind(r, c);
	const char *group = pm_map_text(&c->attrs, PM_COUNTER_PERF_GROUP_NAME, "");
	const char *help = pm_map_text(&c->attrs, PM_COUNTER_HELP, "");
	SCOPED(scoped_free) char *old = strdup(c->name);
	int err = old ? 0 : -ENOMEM;

	if (!err && *group && !redact_is_plain(r, group))
		err = rename_field(r, &c->attrs, PM_COUNTER_PERF_GROUP_NAME, "group", group);
	/* The kernel's file of a column that was asked for: it may be that of a device or a cgroup. */
	if (*help == '/' && (!redact_is_plain(r, help) || redact_has_address(help)))
		drop(r, &c->attrs, PM_COUNTER_HELP);
	if (!err)
		err = clean_map(r, &c->attrs, pm_counter_keys, redact_counter_attr_kind);
	if (!err)
		err = kind ? rename_counter(r, c, kind) : clean(r, &c->name);
	if (!err && !kind)
		err = clean(r, &c->display);
	if (!err)
		err = make_unique(r, &c->name, old);
	if (!err)
		err = on_source(r, &c->source);
	if (!err)
		err = clean_or_hide(r, &c->unit, "1");
	/* Only a decimal number is a scale. */
	if (!err && c->scale.text && c->scale.text[strspn(c->scale.text, "0123456789.eE+-")])
		err = replace(&c->scale.text, "1");
	return err;
}

/* ---- instances, topology, PMUs, probes ---- */

static int on_instance(void *ctx, struct pm_instance *i)
{
	struct redact *r = ctx;
	const char *kind = redact_instance_kind(r, i);
	const char *cpus = pm_map_text(&i->attrs, PM_INSTANCE_CPUS, "");
	int err = 0;

	if (kind)
		err = rename_field(r, &i->attrs, PM_INSTANCE_NAME, kind,
				   pm_map_text(&i->attrs, PM_INSTANCE_NAME, ""));
	if (cpus[strspn(cpus, "0123456789,-")])
		drop(r, &i->attrs, PM_INSTANCE_CPUS);
	return err ? err : clean_map(r, &i->attrs, pm_instance_keys, redact_attr_kind);
}

static int on_topology(void *ctx, struct pm_topology *t)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n_types && !err; i++)
		err = clean(ctx, &t->type[i]);
	return err;
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
	struct pm_value kept;
	int err = 0;

	if (files && files->kind == PM_VALUE_ARRAY) {
		uint32_t n = 0;

		kept = pm_array(files->array.n);
		if (!kept.array.item && files->array.n)
			return -ENOMEM;
		for (uint32_t i = 0; i < files->array.n && !err; i++)
			if (is_technical_file(&files->array.item[i]))
				err = pm_value_copy(&kept.array.item[n++], &files->array.item[i]);
			else
				r->counts.dropped++;
		kept.array.n = n;
		if (err) {
			pm_value_release(&kept);
			return err;
		}
		err = pm_map_set(&p->attrs, PM_PMU_FILES, kept);
	}
	return err ? err : clean_map(r, &p->attrs, pm_pmu_keys, NULL);
}

/* "cycles, cpu/event=1/": whether all are events that no user invented. */
static int are_events(const struct redact *r, const char *text)
{
	char *rest, *word;
	SCOPED(scoped_free) char *copy = strdup(text);
	bool all = true;

	if (!copy)
		return -ENOMEM;
	rest = copy;
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
	int known, err;

	pm_map_release(&p->attrs);
	err = on_source(r, &p->source);
	if (err)
		return err;
	known = are_events(r, p->what);
	if (known < 0)
		return known;
	err = known ? clean(r, &p->what) : clean_or_hide(r, &p->what, "redacted");
	if (!err && p->hint) {
		err = clean_or_hide(r, &p->hint, "");
		if (!err && !*p->hint) {
			free(p->hint);
			p->hint = NULL;
		}
	}
	return err;
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
	int err;

	if (!is_known_config(c->name) || !redact_keeps(r, (uint32_t)c->privacy * 100 + 50, NULL) ||
	    (r->options.shift_time && is_clock_config(c->name))) {
		r->counts.dropped++;
		return REWRITE_DROP;
	}
	err = clean(r, &c->name);
	return err ? err : clean_value(r, &c->value, c->privacy == PM_PRIVACY_TECHNICAL);
}

/* ---- events ---- */

static int on_event(void *ctx, struct pm_event *e)
{
	struct redact *r = ctx;
	const char *note;
	int plain, err;

	if (!pm_event_name(e->type)) {
		r->counts.dropped++;
		return REWRITE_DROP;
	}
	err = clean_map(r, &e->attrs, pm_event_keys, redact_event_kind);
	note = pm_map_text(&e->attrs, PM_EVENT_KEY_NOTE, "");
	plain = is_plain_now(r, note);
	if (!err && plain < 0)
		err = plain;
	if (!err && !plain)
		err = pm_map_set(&e->attrs, PM_EVENT_KEY_NOTE, pm_text("redacted"));
	return err;
}

/* ---- numbers ---- */

static int on_text(void *ctx, const struct pm_counter *c, struct pm_value *v)
{
	struct redact *r = ctx;
	const char *to;
	struct pm_value name;

	/* Nobody knows what bytes reveal. */
	if (v->kind != PM_VALUE_TEXT)
		return REWRITE_DROP;
	if (redact_is_plain(r, v->str.data))
		return clean_value(r, v, true);
	/* A change of name, and back, remains visible. */
	to = redact_name(r, "text", v->str.data);
	name = to ? pm_text(to) : (struct pm_value){ 0 };
	if (!name.str.data)
		return -ENOMEM;
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
