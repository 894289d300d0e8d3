#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/catalog/catalog.h"
#include "common/catalog/msr.h"
#include "common/catalog/pmu_class.h"
#include "common/event/event.h"
#include "common/metric/metric.h"
#include "report/copy/redact_private.h"

/* ---- plain words ---- */

#define WORD_MAX 32

/* Finds the next run of letters and digits that has a letter and is not hexadecimal: in lower case, with '#' for
 * digits. Returns its length, 0: there is none. Runs that do not fit are not words. */
static size_t next_word(const char **at, char word[static WORD_MAX])
{
	const char *p = *at;
	size_t n = 0;

	while (*p && !n) {
		bool letter = false;

		while (*p && !redact_is_letter(*p) && !isdigit((unsigned char)*p))
			p++;
		if (p[0] == '0' && p[1] == 'x' && isxdigit((unsigned char)p[2]))
			p += 2 + strspn(p + 2, "0123456789abcdefABCDEF");
		for (; redact_is_letter(*p) || isdigit((unsigned char)*p); p++) {
			char c = redact_is_letter(*p) ? (char)tolower((unsigned char)*p) : '#';

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

bool redact_names_path(const char *text)
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

	if (redact_names_path(text))
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

bool redact_is_metric(const struct redact *r, const char *name)
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

const char *redact_header_kind(uint32_t key)
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

const char *redact_counter_attr_kind(uint32_t key)
{
	return key == PM_COUNTER_PERF_CGROUP ? "cgroup" : NULL;
}

const char *redact_attr_kind(uint32_t key)
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

const char *redact_event_kind(uint32_t key)
{
	return key == PM_EVENT_KEY_TEXT ? "marker" : NULL;
}
