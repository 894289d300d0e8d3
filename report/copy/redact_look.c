/* The first pass: collects identifying names and texts, so that they are found wherever else they occur. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/event/event.h"
#include "common/parse.h"
#include "report/copy/redact_private.h"
#include "report/input/input.h"

/* ---- names that users give ---- */

static bool is_numbered(const char *text, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(text, word, n) && text[n] && !text[n + strspn(text + n, "0123456789")];
}

/* Length of the value after the next `key` of an event's terms, without quotes. *value: NULL if none is left. */
static size_t next_value(const char *text, const char *key, const char **value)
{
	const char *at = strstr(text, key);
	char quote[2] = "";

	*value = at ? at + strlen(key) : NULL;
	if (!at)
		return 0;
	if (**value == '\'' || **value == '"')
		*quote = *(*value)++;
	return strcspn(*value, *quote ? quote : ",/@ )}'\"");
}

/* Whether a term has a value that is no number: a name, which may be anything. */
static bool has_word_value(const struct redact *r, const char *text)
{
	char value[200];
	uint32_t any;
	bool found = false;
	size_t n;

	for (n = next_value(text, "=", &text); text && !found; n = next_value(text + n, "=", &text)) {
		snprintf(value, sizeof(value), "%.*s", (int)n, text);
		found = !redact_is_plain(r, value) && !names_get(&r->events, value, &any);
	}
	return found;
}

bool redact_is_event(const struct redact *r, const char *text)
{
	char base[200];
	size_t n = strcspn(text, "#");
	uint64_t config;
	uint32_t any;
	char *end;

	if (n >= sizeof(base) || text[n + strspn(text + n, "#0123456789")])
		return false;
	memcpy(base, text, n);
	base[n] = '\0';
	if (redact_is_plain(r, base) || names_get(&r->events, base, &any))
		return true;
	/* Modifiers after the last colon: at most "ukhGHpppPSDeWb". */
	end = strrchr(base, ':');
	if (end && !end[1 + strspn(end + 1, "ukhGHIpPSDeWbR")])
		*end = '\0';
	if (!event_cache_parse(base, &config) || event_symbol_find(base) || names_get(&r->events, base, &any))
		return true;
	if (*base == 'r' && base[1] && !base[1 + strspn(base + 1, "0123456789abcdefABCDEF")])
		return true;
	end = strchr(base, '/');
	if (!end || has_word_value(r, base))
		return false;
	*end = '\0';
	return names_get(&r->events, base, &any);
}

static bool is_register(const char *name)
{
	return (name[0] == 'm' || name[0] == 'M') && name[1] == '0' && (name[2] == 'x' || name[2] == 'X') &&
	       name[3] && !name[3 + strspn(name + 3, "0123456789abcdefABCDEF")];
}

const char *redact_counter_kind(const struct redact *r, const struct pm_counter *c)
{
	const char *part = strncmp(c->name, "add.", 4) ? c->name : c->name + 4;

	if (!strcmp(c->source, "perf"))
		return redact_is_event(r, c->name) ? NULL : "event";
	if (!strcmp(c->source, "add") || pm_map_get(&c->attrs, PM_COUNTER_ADDED))
		return is_register(part) || redact_is_plain(r, part) ? NULL : "counter";
	/* Drivers name sensors, and those of network interfaces use the interface's name. */
	return catalog_named(c->source, c->name) || parse_is_among("msr pmt", c->source, strlen(c->source)) ||
			       redact_is_plain(r, c->name) ?
		       NULL :
		       "counter";
}

bool redact_has_address(const char *name)
{
	unsigned digits = 0, run = 0, in_run = 0;
	bool found = false;

	for (; *name && !found; name++) {
		bool digit = *name >= '0' && *name <= '9';

		digits += digit;
		in_run += digit;
		run++;
		if (!strchr("0123456789abcdefABCDEF:", *name))
			run = in_run = 0;
		found = digits >= 8 || (run >= 6 && in_run >= 3);
	}
	return found;
}

const char *redact_instance_kind(const struct redact *r, const struct pm_instance *i)
{
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "");

	if (!*name)
		return NULL;
	switch (i->kind) {
	case PM_TASK:
		return is_numbered(name, "task-") || redact_keeps(r, PM_INSTANCE_COMM, "comm") ? NULL : "task";
	case PM_CGROUP:
		return is_numbered(name, "cgroup-") || redact_keeps(r, PM_INSTANCE_CGROUP, "cgroup") ? NULL :
												       "cgroup";
	case PM_DEVICE:
		if (redact_keeps(r, PM_COUNTER_DEVICES, "devices"))
			return NULL;
		return redact_is_plain(r, name) && !redact_has_address(name) ? NULL : "device";
	default:
		return NULL;
	}
}

/* ---- looking ---- */

static void add_secret(struct redact *r, const char *text, size_t len, const char *kind, bool weak)
{
	const char *instead = "redacted";
	SCOPED(scoped_free) char *copy = NULL;

	if (len < 3)
		return;
	copy = memory_checked(strndup(text, len));
	if (kind && !weak)
		instead = redact_name(r, kind, copy);
	/* A word that every machine has reveals nothing, and without it the rest would lose its meaning. Several in a
	 * row may be someone's sentence. */
	if ((kind && !strcmp(kind, "host")) || strchr(copy, ' ') || !redact_is_plain(r, copy))
		secrets_add(&r->secrets, text, len, instead, weak);
}

/* Parts of a path, a command line or a list: each could occur alone. */
static void add_parts(struct redact *r, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = 0, letters = 0, digits = 0;

		for (; at + n < len && !strchr(" \t\n/=,:;\"'()[]{}|&<>@", text[at + n]); n++) {
			letters += redact_is_letter(text[at + n]);
			digits += text[at + n] >= '0' && text[at + n] <= '9';
		}
		if (n < len && ((n >= 4 && letters >= 3) || n >= 6 || (letters && digits)))
			add_secret(r, text + at, n, NULL, true);
		at += n + 1;
	}
}

static void add_value(struct redact *r, const struct pm_value *v, const char *kind)
{
	switch (v->kind) {
	case PM_VALUE_TEXT:
		add_secret(r, v->str.data, v->str.len, kind, false);
		add_parts(r, v->str.data, v->str.len);
		break;
	case PM_VALUE_BYTES:
		add_secret(r, v->str.data, v->str.len, NULL, false);
		break;
	case PM_VALUE_ARRAY:
		for (uint32_t i = 0; i < v->array.n; i++)
			add_value(r, &v->array.item[i], kind);
		break;
	case PM_VALUE_MAP:
		for (uint32_t i = 0; i < v->map.n; i++)
			add_value(r, &v->map.field[i].value, kind);
		break;
	default:
		break;
	}
}

static void look_at_map(struct redact *r, const struct pm_map *m, const struct pm_key_row *rows,
			const char *(*kind_of)(uint32_t key))
{
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t key = m->field[i].key;
		const struct pm_key_row *row = rows ? pm_key_find(rows, key) : NULL;

		if (row && row->kind == m->field[i].value.kind && redact_keeps(r, key, row->name))
			continue;
		/* Numbers of the recorder may be negative. */
		if (row && key < 100 && m->field[i].value.kind <= PM_VALUE_BOOL)
			continue;
		add_value(r, &m->field[i].value, kind_of ? kind_of(key) : NULL);
	}
}

static void look_at_host(struct redact *r, const struct pm_model *m)
{
	const char *host = pm_map_text(&m->header, PM_HEADER_HOST, "");
	size_t n = strcspn(host, ".");
	const char *to;

	if (redact_keeps(r, PM_HEADER_HOST, "host") || !*host)
		return;
	to = redact_name(r, "host", host);
	if (!*r->host)
		snprintf(r->host, sizeof(r->host), "%s", to);
	if (!host[n])
		return;
	/* The name without its domain, and the domain: neither is plain, whatever its words. */
	secrets_add(&r->secrets, host, n, to, false);
	secrets_add(&r->secrets, host + n + 1, strlen(host + n + 1), "redacted", false);
}

/* Adds the name of a metric, or of a group of metrics, unless a vendor could have made it. */
static void add_metric(struct redact *r, const char *text, size_t len)
{
	SCOPED(scoped_free) char *name = memory_checked(strndup(text, len));

	if (!redact_is_metric(r, name))
		add_secret(r, text, len, "metric", false);
}

/* Names that terms give to events. */
static void look_at_terms(struct redact *r, const char *text, const char *key)
{
	uint32_t any;
	size_t n;

	for (n = next_value(text, key, &text); text; n = next_value(text + n, key, &text)) {
		SCOPED(scoped_free) char *copy = memory_checked(strndup(text, n));

		if (!names_get(&r->events, copy, &any))
			add_secret(r, text, n, "event", false);
	}
}

/* Metrics of the user's own, and what -M was given: one of their names or groups, as the user wrote it. */
static void look_at_metrics(struct redact *r, const struct pm_map *header)
{
	const struct pm_value *list = pm_map_get(header, PM_HEADER_METRICS);
	const struct pm_value *words = pm_map_get(header, PM_HEADER_METRIC_WORDS);

	for (uint32_t i = 0; words && words->kind == PM_VALUE_ARRAY && i < words->array.n; i++)
		if (words->array.item[i].kind == PM_VALUE_TEXT)
			add_metric(r, words->array.item[i].str.data, words->array.item[i].str.len);
	for (uint32_t i = 0; list && list->kind == PM_VALUE_ARRAY && i < list->array.n; i++) {
		const struct pm_value *texts = &list->array.item[i];

		for (uint32_t k = 0; texts->kind == PM_VALUE_ARRAY && k < texts->array.n; k++) {
			const char *text =
				texts->array.item[k].kind == PM_VALUE_TEXT ? texts->array.item[k].str.data : "";
			size_t n = strlen(text);

			switch (k) {
			case PM_METRIC_FORMULA:
			case PM_METRIC_THRESHOLD:
				look_at_terms(r, text, "name=");
				break;
			case PM_METRIC_NAME:
				add_metric(r, text, n);
				break;
			case PM_METRIC_GROUPS:
				for (; *text; text += n + (text[n] != '\0')) {
					n = strcspn(text, ",;");
					add_metric(r, text, n);
				}
				break;
			default:
				add_secret(r, text, n, NULL, false);
			}
		}
	}
}

static void look_at_pmu_event(struct redact *r, const struct pm_value *row)
{
	const struct pm_value *item = row->array.item;
	const char *name;

	if (row->kind != PM_VALUE_ARRAY || !row->array.n || item->kind != PM_VALUE_TEXT)
		return;
	name = item->str.data;
	if (row->array.n > 4 && item[4].kind == PM_VALUE_U64 && item[4].u64 & PM_PMU_EVENT_GIVEN &&
	    !redact_is_metric(r, name))
		add_secret(r, name, strlen(name), "event", false);
	else
		memory_done(names_set(&r->events, name, 1));
}

static void look_at_pmu(struct redact *r, const struct pm_pmu *p)
{
	const struct pm_value *list = pm_map_get(&p->attrs, PM_PMU_EVENTS);
	const char *name = pm_map_text(&p->attrs, PM_PMU_NAME, "");

	if (*name)
		memory_done(names_set(&r->events, name, 1));
	for (uint32_t k = 0; list && list->kind == PM_VALUE_ARRAY && k < list->array.n; k++)
		look_at_pmu_event(r, &list->array.item[k]);
	look_at_map(r, &p->attrs, pm_pmu_keys, NULL);
}

static void look_at_counter(struct redact *r, const struct pm_counter *c)
{
	const char *kind = redact_counter_kind(r, c), *name = c->name + (strncmp(c->name, "add.", 4) ? 0 : 4);

	look_at_map(r, &c->attrs, pm_counter_keys, redact_counter_attr_kind);
	if (kind) {
		add_secret(r, name, strlen(name), kind, false);
		add_parts(r, c->name, strlen(c->name));
	}
	/* It means the same, so it gets the same pseudonym. */
	if (kind && c->display && strcmp(c->display, c->name))
		secrets_add(&r->secrets, c->display, strlen(c->display), redact_name(r, kind, name), false);
	/* Of an event that keeps its own name the user may have chosen the one that is shown. */
	look_at_terms(r, pm_map_text(&c->attrs, PM_COUNTER_PERF_USER_TEXT, ""), "=");
}

static void look_at_instance(struct redact *r, const struct pm_instance *i)
{
	const char *kind = redact_instance_kind(r, i);
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, "");

	look_at_map(r, &i->attrs, pm_instance_keys, redact_attr_kind);
	if (kind)
		add_secret(r, name, strlen(name), kind, false);
}

static void look_at_model(struct redact *r, const struct pm_model *m)
{
	struct redact_seen *seen = &r->seen;

	look_at_map(r, &m->header, pm_header_keys, redact_header_kind);
	look_at_metrics(r, &m->header);
	look_at_host(r, m);
	/* Before the counters: these say which events no user has invented. */
	for (; seen->pmus < m->n_pmus; seen->pmus++)
		look_at_pmu(r, &m->pmu[seen->pmus]);
	for (; seen->counters < m->n_counters; seen->counters++)
		look_at_counter(r, &m->counter[seen->counters]);
	for (; seen->instances < m->n_instances; seen->instances++)
		look_at_instance(r, &m->instance[seen->instances]);
	for (; seen->probes < m->n_probes; seen->probes++)
		look_at_map(r, &m->probe[seen->probes].attrs, NULL, NULL);
	for (; seen->configs < m->n_configs; seen->configs++) {
		const struct pm_config *c = &m->config[seen->configs];

		if (c->privacy != PM_PRIVACY_TECHNICAL && !redact_keeps(r, (uint32_t)c->privacy * 100 + 50, NULL))
			add_value(r, &c->value, NULL);
	}
}

/* Boots that the recordings do not name may differ: the clock of one is then too far back for another's shift. */
static void take_shift(struct redact *r, const struct pm_model *m, const struct pm_clocks *clocks)
{
	SCOPED(buf_release) struct buf boot = BUF_INIT;
	const struct redact_shift *s;

	buf_addstr(&boot, pm_map_text(&m->header, PM_HEADER_BOOT_ID, ""));
	do {
		memory_whole(&boot);
		s = redact_map_shift(&r->map, buf_str(&boot), clocks);
		buf_addch(&boot, '+');
	} while (clocks->monotonic + s->monotonic > UINT64_MAX / 4);
	memory_room(&r->shift, r->n_shifts, sizeof(*r->shift));
	r->shift[r->n_shifts++] = *s;
}

/* At the end of a recording, before another one of the file. */
static void end_recording(struct redact *r, const struct pm_model *m, struct pm_clocks *first)
{
	look_at_model(r, m);
	if (r->options.shift_time)
		take_shift(r, m, first);
	if (first->realtime && !r->wall_ns)
		r->wall_ns = first->realtime + (r->options.shift_time ? r->map.wall : 0);
	r->seen = (struct redact_seen){ 0 };
	*first = (struct pm_clocks){ 0 };
}

int redact_look(struct redact *r, struct pm_reader *reader, struct error *e)
{
	struct pm_clocks first = { 0 };
	struct pm_item item = { 0 };
	bool grown = false;
	int n;

	r->seen = (struct redact_seen){ 0 };
	secrets_release(&r->secrets);
	names_release(&r->events);
	r->n_shifts = 0;
	r->host[0] = '\0';
	r->wall_ns = 0;
	while ((n = pm_reader_next(reader, &item)) != 0) {
		if (n < 0)
			return input_failed(e, n, &item, "cannot continue reading");
		if (item.kind == PM_ITEM_MODEL)
			grown |= !(item.parts & PM_PART_REPEATED);
		else if (item.kind == PM_ITEM_RECORDING)
			end_recording(r, pm_reader_model(reader), &first);
		else if (item.kind == PM_ITEM_EVENT)
			look_at_map(r, &item.event->attrs, pm_event_keys, redact_event_kind);
		/* Frames of definitions may refer to later ones, but chunks do not. */
		if (grown && (item.kind == PM_ITEM_CHUNK || item.kind == PM_ITEM_END)) {
			look_at_model(r, pm_reader_model(reader));
			grown = false;
		}
		if (item.kind == PM_ITEM_CHUNK && !first.monotonic)
			first = item.chunk.clocks;
	}
	end_recording(r, pm_reader_model(reader), &first);
	secrets_sort(&r->secrets);
	return 0;
}
