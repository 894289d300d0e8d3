/* What identifies a machine, a person or a time. A first pass collects names and texts, so that they are found
 * wherever else they occur; a rule for each field then keeps, cleans or drops it, or puts a pseudonym there. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/catalog/catalog.h"
#include "common/catalog/msr.h"
#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/metric/metric.h"
#include "common/parse.h"
#include "report/copy/redact_private.h"
#include "report/input/input.h"

/* ---- plain words ---- */

#define WORD_MAX 32

/* A letter of a word; every byte of other alphabets counts as one. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Finds the next run of letters and digits that has a letter and is not hexadecimal: in lower case, with '#' for
 * digits. Returns its length, 0: there is none. Runs that do not fit are not words. */
static size_t next_word(const char **at, char word[static WORD_MAX])
{
	const char *p = *at;
	size_t n = 0;

	while (*p && !n) {
		bool letter = false;

		while (*p && !is_letter(*p) && !isdigit((unsigned char)*p))
			p++;
		if (p[0] == '0' && p[1] == 'x' && isxdigit((unsigned char)p[2]))
			p += 2 + strspn(p + 2, "0123456789abcdefABCDEF");
		for (; is_letter(*p) || isdigit((unsigned char)*p); p++) {
			char c = is_letter(*p) ? (char)tolower((unsigned char)*p) : '#';

			letter |= c != '#';
			if (n < WORD_MAX && (c != '#' || !n || word[n - 1] != '#'))
				word[n++] = c;
		}
		if (!letter)
			n = 0;
	}
	*at = p;
	word[n < WORD_MAX ? n : WORD_MAX - 1] = '\0';
	return n;
}

/* Where a word is plain. */
enum { ANYWHERE = 1, IN_METRICS };

/* Whether it is known as a whole, or its words are: "temp1" is a word with a number, "u42x" may be a name. Changes
 * `word`. */
static bool is_known(const struct redact *r, char word[static WORD_MAX], uint32_t most)
{
	char *rest = word, *part;
	uint32_t where;

	if (names_get(&r->plain, word, &where) && where <= most)
		return true;
	while ((part = strsep(&rest, "#")))
		if (*part && (strlen(part) < 3 || !names_get(&r->plain, part, &where) || where > most))
			return false;
	return true;
}

/* Whether it has the path of a file of a user's; those of the kernel and the system exist everywhere. */
static bool names_path(const char *text)
{
	static const char *const everywhere[] = { "/sys", "/proc", "/dev", "/etc", "/usr" };

	for (const char *p = text; (p = strpbrk(p, "/~")); p++) {
		size_t n, i = 0;

		if ((p > text && !strchr(" \t\n\"'`(=:,;<>[{|&@/", p[-1])) || !p[1] || strchr(" \t", p[1]) ||
		    (*p == '/' && p[1] == '/'))
			continue;
		n = 1 + strcspn(p + 1, "/ \t\n\"'`:,;)>]}*");
		while (i < sizeof(everywhere) / sizeof(*everywhere) &&
		       (strlen(everywhere[i]) != n || memcmp(everywhere[i], p, n)))
			i++;
		/* A process is somebody's. */
		if (i == sizeof(everywhere) / sizeof(*everywhere) ||
		    (i == 1 && p[n] && isdigit((unsigned char)p[n + 1])))
			return true;
	}
	return false;
}

static bool all_known(const struct redact *r, const char *text, uint32_t most)
{
	char word[WORD_MAX];
	size_t n;

	if (names_path(text))
		return false;
	while ((n = next_word(&text, word)))
		if (n >= WORD_MAX || !is_known(r, word, most))
			return false;
	return true;
}

bool redact_is_plain(const struct redact *r, const char *text)
{
	return all_known(r, text, ANYWHERE);
}

/* Whether all words are plain or occur in names of vendors' metrics and their groups. */
static bool is_metric(const struct redact *r, const char *name)
{
	return all_known(r, name, IN_METRICS);
}

static void add_words_of(struct redact *r, const char *text, uint32_t where)
{
	char word[WORD_MAX], *rest, *part;
	size_t n;

	while (text && (n = next_word(&text, word))) {
		if (n >= WORD_MAX)
			continue;
		memory_done(names_set(&r->plain, word, where));
		for (rest = word; (part = strsep(&rest, "#"));)
			if (strlen(part) >= 3)
				memory_done(names_set(&r->plain, part, where));
	}
}

static void add_words(struct redact *r, const char *text)
{
	add_words_of(r, text, ANYWHERE);
}

static void add_all_words(struct redact *r)
{
	for (size_t i = 0; redact_metric_words[i]; i++)
		add_words_of(r, redact_metric_words[i], IN_METRICS);
	for (size_t i = 0; redact_plain_words[i]; i++)
		add_words(r, redact_plain_words[i]);
	for (const struct catalog_table *t = catalog_tables; t->source; t++) {
		add_words(r, t->source);
		for (size_t i = 0; i < t->n; i++) {
			add_words(r, t->row[i].name);
			add_words(r, t->row[i].display);
			add_words(r, t->row[i].key);
			add_words(r, t->row[i].unit);
		}
	}
	for (const struct catalog_msr *m = catalog_msrs; m->address; m++)
		add_words(r, m->counter.name);
	for (const struct metric_table *t = metric_tables; t->row; t++)
		for (size_t i = 0; i < t->n; i++)
			add_words(r, t->row[i].name);
	for (const struct event_symbol *s = event_symbols; s->name; s++) {
		add_words(r, s->name);
		add_words(r, s->alias);
	}
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		add_words(r, c->name);
}

/* ---- made and freed ---- */

bool redact_is_pseudonym(const char *text)
{
	const char *dash = strrchr(text, '-');

	if (!dash || dash == text || strlen(dash) != 9 || strspn(dash + 1, "0123456789abcdef") != 8)
		return false;
	for (; text < dash; text++)
		if (*text < 'a' || *text > 'z')
			return false;
	return true;
}

static bool names_field(const char *word)
{
	const struct pm_key_row *const tables[] = { pm_header_keys, pm_counter_keys, pm_instance_keys,
						    pm_event_keys };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct pm_key_row *row = tables[i]; row->key; row++)
			if (row->key >= 100 && !strcmp(row->name, word))
				return true;
	return false;
}

static int take_keep(struct redact *r, const char *list, struct error *e)
{
	static const char *const classes[] = { "", "machine", "person", "time" };
	size_t n = 0, cap = 2;
	char *rest;
	SCOPED(scoped_free) char *copy = NULL;

	for (const char *p = list ? list : ""; *p; p++)
		cap += *p == ',';
	r->keep = memory_new(cap, sizeof(*r->keep));
	copy = memory_text(list ? list : "");
	rest = copy;
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		int class = 3;

		while (class && strcmp(classes[class], word))
			class --;
		if (class)
			r->keep_class[class] = true;
		else if (!names_field(word))
			error_set(e, EINVAL,
				  "--keep: '%.40s' is neither machine, person or time, nor a field of these classes",
				  word);
		else
			r->keep[n++] = memory_text(word);
	}
	return e->text[0] ? -EINVAL : 0;
}

int redact_new(struct redact **out, const struct redact_options *o, struct error *e)
{
	struct redact *r = memory_new(1, sizeof(*r));
	int err;

	r->options = *o;
	err = take_keep(r, o->keep, e);
	if (!err && r->keep_class[PM_PRIVACY_TIME] && o->shift_time)
		err = error_set(e, EINVAL, "--keep=time and --shift-time contradict each other");
	add_all_words(r);
	if (!err && o->map)
		err = redact_map_load(&r->map, o->map, e);
	if (err)
		redact_free(r);
	else
		*out = r;
	return err;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	for (size_t i = 0; r->keep[i]; i++)
		free(r->keep[i]);
	free(r->keep);
	free(r->shift);
	secrets_release(&r->secrets);
	names_release(&r->plain);
	names_release(&r->events);
	names_release(&r->given);
	redact_map_release(&r->map);
	free(r);
}

int redact_save(struct redact *r, struct error *e)
{
	return r->options.map ? redact_map_save(&r->map, r->options.map, e) : 0;
}

struct redact_counts redact_counts(const struct redact *r)
{
	return r->counts;
}

bool redact_keeps(const struct redact *r, uint32_t key, const char *name)
{
	enum pm_privacy class = pm_key_privacy(key);

	if (class == PM_PRIVACY_TECHNICAL || r->keep_class[class])
		return true;
	if (class == PM_PRIVACY_TIME)
		return !r->options.shift_time;
	for (size_t i = 0; name && r->keep[i]; i++)
		if (!strcmp(r->keep[i], name))
			return true;
	return false;
}

const char *redact_name(struct redact *r, const char *kind, const char *from)
{
	bool made;
	const char *to;

	/* Redacting again changes nothing. */
	if (redact_is_pseudonym(from) && !strncmp(from, kind, strlen(kind)))
		return from;
	to = redact_map_name(&r->map, kind, from, &made);
	r->counts.pseudonyms += made;
	return to;
}

/* The kind of name in a text of class machine or person; NULL: the text is dropped. */
static const char *header_kind(uint32_t key)
{
	switch (key) {
	case PM_HEADER_HOST:
		return "host";
	case PM_HEADER_BOOT_ID:
		return "boot";
	case PM_HEADER_MACHINE_ID:
		return "machine";
	default:
		return NULL;
	}
}

static const char *counter_attr_kind(uint32_t key)
{
	return key == PM_COUNTER_PERF_CGROUP ? "cgroup" : NULL;
}

static const char *attr_kind(uint32_t key)
{
	switch (key) {
	case PM_INSTANCE_DEVICE_PATH:
		return "device";
	case PM_INSTANCE_COMM:
	case PM_INSTANCE_PARENT_COMM:
		return "task";
	case PM_INSTANCE_CGROUP:
		return "cgroup";
	default:
		return NULL;
	}
}

static const char *event_kind(uint32_t key)
{
	return key == PM_EVENT_KEY_TEXT ? "marker" : NULL;
}

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

/* Whether a device's name is one that the kernel gives. */
static bool is_plain_device(const struct redact *r, const char *name)
{
	return redact_keeps(r, PM_COUNTER_DEVICES, "devices") ||
	       (redact_is_plain(r, name) && !redact_has_address(name));
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
		return is_plain_device(r, name) ? NULL : "device";
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
			letters += is_letter(text[at + n]);
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

	if (!is_metric(r, name))
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
	    !is_metric(r, name))
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

	look_at_map(r, &c->attrs, pm_counter_keys, counter_attr_kind);
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

	look_at_map(r, &i->attrs, pm_instance_keys, attr_kind);
	if (kind)
		add_secret(r, name, strlen(name), kind, false);
}

static void look_at_model(struct redact *r, const struct pm_model *m)
{
	struct redact_seen *seen = &r->seen;

	look_at_map(r, &m->header, pm_header_keys, header_kind);
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
			look_at_map(r, &item.event->attrs, pm_event_keys, event_kind);
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

	if (technical && names_path(*text)) {
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

	clean_map(r, header, pm_header_keys, header_kind);
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
	clean_map(r, &c->attrs, pm_counter_keys, counter_attr_kind);
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
	clean_map(r, &i->attrs, pm_instance_keys, attr_kind);
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

/* ---- remarks ---- */

/* Of "cycles, cpu/event=1/" the names that a user invented become pseudonyms. */
static char *clean_events(struct redact *r, char *text)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;

	for (char *name = text, *next; name; name = next) {
		next = strstr(name, ", ");
		if (next) {
			*next = '\0';
			next += 2;
		}
		buf_printf(&out, "%s%s", name > text ? ", " : "",
			   redact_is_event(r, name) ? name : redact_name(r, "event", name));
	}
	memory_whole(&out);
	return memory_text(buf_str(&out));
}

/* The text that stands for an argument; owned by the caller. */
static char *clean_argument(struct redact *r, char class, const struct pm_value *v)
{
	SCOPED(scoped_free) char *text = v->kind == PM_VALUE_TEXT ? memory_text(v->str.data) : NULL;

	if (text && !*text)
		return memory_text("");
	switch (text ? class : '\0') {
	case 'c':
		clean(r, &text);
		return memory_text(text);
	case 'e':
		return clean_events(r, text);
	case 'a':
		return memory_text(redact_name(r, "counter", text));
	case 'm':
		return memory_text(redact_name(r, "metric", text));
	case 'g':
		return memory_text(redact_keeps(r, PM_INSTANCE_CGROUP, "cgroup") ? text :
										   redact_name(r, "cgroup", text));
	case 'd':
		return memory_text(is_plain_device(r, text) ? text : redact_name(r, "device", text));
	default:
		return memory_text("redacted");
	}
}

/* Replaces the arguments of a remark by their classes. */
static void clean_remark(struct redact *r, struct pm_value *v)
{
	for (uint32_t i = 1; pm_remark_code(v) && i < v->array.n; i++) {
		struct pm_value *argument = &v->array.item[i];
		char class = pm_remark_class(v, i - 1);
		SCOPED(scoped_free) char *text = NULL;

		if (argument->kind == PM_VALUE_U64 && (class == 'n' || class == 'r'))
			continue;
		text = clean_argument(r, class, argument);
		r->counts.scrubbed += argument->kind != PM_VALUE_TEXT || strcmp(text, argument->str.data) != 0;
		pm_value_release(argument);
		*argument = pm_text(text);
		memory_checked(argument->str.data);
	}
}

static int on_probe(void *ctx, struct pm_probe *p)
{
	struct redact *r = ctx;

	pm_map_release(&p->attrs);
	on_source(r, &p->source);
	clean_remark(r, &p->what);
	clean_remark(r, &p->hint);
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
	struct pm_value note = pm_u64(0);

	/* The arguments of a remark have classes of their own. */
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_NOTE))
		memory_done(pm_value_copy(&note, pm_map_get(&e->attrs, PM_EVENT_KEY_NOTE)));
	pm_map_remove(&e->attrs, PM_EVENT_KEY_NOTE);
	clean_map(r, &e->attrs, pm_event_keys, event_kind);
	clean_remark(r, &note);
	if (pm_remark_code(&note))
		memory_done(pm_map_set(&e->attrs, PM_EVENT_KEY_NOTE, note));
	else
		pm_value_release(&note);
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

/* ---- files ---- */

int redact_look_spool(struct redact *r, const struct spool *in, struct error *e)
{
	struct pm_reader *reader;
	int err = spool_reader(&reader, in, e);

	if (err)
		return err;
	err = redact_look(r, reader, e);
	if (err)
		error_prefix(e, "%s", in->name);
	pm_reader_close(reader);
	return err;
}

static int open_looked_at(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	const struct spool *in = ctx;

	*name = in->name;
	return spool_reader(reader, in, e);
}

int redact_copy(struct redact *r, struct spool *in, struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct rewrite_result *result, struct error *e)
{
	redact_rules(r, rules);
	return rewrite_all(rules, 1, open_looked_at, in, sink, sink_ctx, result, e);
}

void redact_file_name(const struct redact *r, struct buf *name)
{
	time_t seconds = (time_t)(r->wall_ns / 1000000000);
	struct tm tm;
	char text[32];

	buf_addstr(name, *r->host ? r->host : "anon");
	if (r->wall_ns && gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "-%Y%m%dT%H%M%SZ", &tm))
		buf_addstr(name, text);
}
