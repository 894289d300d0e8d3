#include "common/options_read.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/array.h"
#include "common/parse.h"

struct read {
	const struct options_spec *spec;
	const struct known_options *known;
	char **argv;
	int argc, at; /* the words, and the index after the current one */
	struct option_words *out;
	const struct known *many; /* the option that also takes the operands that follow; or NULL */
	struct error *e;
};

const char *options_nearest(const char *word, const char *const *names, size_t n)
{
	const char *best = NULL;
	unsigned best_distance = (unsigned)strlen(word) / 3;

	if (best_distance < 1)
		best_distance = 1;
	for (size_t i = 0; i < n && names[i]; i++) {
		unsigned d;

		if (!strcasecmp(word, names[i]))
			return names[i];
		d = parse_distance(word, names[i]);
		/* A suggestion that shares no letter is not one. */
		if (d >= strlen(word))
			continue;
		/* Of equally close names the first wins: tables begin with the most common. */
		if (d < best_distance || (d == best_distance && !best)) {
			best = names[i];
			best_distance = d;
		}
	}
	return best;
}

static int unknown_refuse(struct read *r, const char *dashes, const char *text, size_t len)
{
	const char **names = calloc(r->known->n + 1, sizeof(*names)), *near;
	char word[81];
	size_t n = 0;

	if (!names)
		return -ENOMEM;
	snprintf(word, sizeof(word), "%.*s", (int)(len > 80 ? 80 : len), text);
	for (size_t i = 0; i < r->known->n; i++)
		if (r->known->known[i].row->name)
			names[n++] = r->known->known[i].row->name;
	near = options_nearest(word, names, n);
	if (near)
		error_set(r->e, EINVAL, "unknown option %s%s; did you mean --%s?", dashes, word, near);
	else
		error_set(r->e, EINVAL, "unknown option %s%s; --help=all lists all options", dashes, word);
	free(names);
	return -EINVAL;
}

static int put(struct read *r, const struct known *k, char *value)
{
	struct option_words *out = r->out;

	if (array_room(&out->word, out->n, sizeof(*out->word)))
		return -ENOMEM;
	out->word[out->n++] = (struct option_word){ k->option, k->into, value };
	r->many = k->option->many ? k : NULL;
	return 0;
}

/* Records an option; if it needs a value and `value` is NULL, that is the next word. */
static int take(struct read *r, const struct known *k, char *value, const char *dashes, const char *text, size_t len)
{
	const char *argument = k->option->argument;

	if (!argument && value)
		return error_set(r->e, EINVAL, "%s%.*s takes no value", dashes, (int)len, text);
	if (argument && !k->option->optional && !value) {
		const char *next = r->at < r->argc ? r->argv[r->at] : NULL;

		if (!next || (k->option->many && next[0] == '-' && next[1]))
			return error_set(r->e, EINVAL, "%s%.*s needs a value: %s", dashes, (int)len, text, argument);
		value = r->argv[r->at++];
	}
	return put(r, k, value);
}

/* A long name, after one or two dashes; an abbreviation of another program's name needs at least `least` letters.
 * -ENOENT: not a name. */
static int take_name(struct read *r, const char *dashes, char *text, size_t len, char *value, size_t least)
{
	const struct known *found, *second;
	enum match m = known_find(r->known, text, len, &found, &second);
	/* "--interval" of the other program must not pass as an abbreviation of "--interval-clear". */
	const char *foreign = options_foreign(text, len, SIZE_MAX);

	if (foreign && m != MATCH_NEGATED && !(m == MATCH_ONE && option_name_is(found->row->name, text, len)))
		return options_foreign_refuse(foreign, r->spec->column, r->e);
	switch (m) {
	case MATCH_ONE:
		return take(r, found, value, dashes, text, len);
	case MATCH_NEGATED:
		if (value)
			return error_set(r->e, EINVAL, "%s%.*s takes no value", dashes, (int)len, text);
		for (size_t i = 0; i < r->out->n; i++)
			if (r->out->word[i].option == found->option)
				r->out->word[i].option = NULL;
		return 0;
	case MATCH_MANY:
		/* An ambiguous word may still be a letter with its value. */
		if (!dashes[1] && len <= 2)
			break;
		return error_set(r->e, EINVAL, "%s%.*s can mean --%s or --%s", dashes, (int)len, text,
				 found->row->name, second->row->name);
	case MATCH_NONE:
		break;
	}
	foreign = options_foreign(text, len, least);
	return foreign ? options_foreign_refuse(foreign, r->spec->column, r->e) : -ENOENT;
}

static bool is_cluster(struct read *r, const char *text)
{
	for (; *text; text++) {
		const struct known *k = known_letter(r->known, r->spec->column, *text, NULL);

		if (!k || (k->option->argument && text[1]))
			return false;
	}
	return true;
}

/* A cluster of letters; the last may have its value attached. -ENOENT: one is not an option, for the reason in *why.
 */
static int take_letters(struct read *r, char *text, struct error *why)
{
	size_t n_before = r->out->n;

	for (; *text; text++) {
		const struct known *k = known_letter(r->known, r->spec->column, *text, why);
		int err;

		if (!k) {
			r->out->n = n_before;
			return -ENOENT;
		}
		/* getopt would not take "-x=,", but its meaning is clear. */
		if (k->option->argument)
			return take(r, k, text[1] == '=' ? text + 2 : text[1] ? text + 1 : NULL, "-", text, 1);
		err = put(r, k, NULL);
		if (err)
			return err;
	}
	return 0;
}

/* A word without its leading dash or dashes. */
static int take_option(struct read *r, const char *dashes, char *text)
{
	char *equals = strchr(text, '='), *value = equals ? equals + 1 : NULL;
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	bool one_dash = !dashes[1];
	struct error why = { 0 };
	int err = -ENOENT;

	if (!len)
		return unknown_refuse(r, dashes, text, strlen(text));
	if (!one_dash || (len > 1 && !is_cluster(r, text)))
		err = take_name(r, dashes, text, len, value, one_dash ? 4 : 3);
	if (err == -ENOENT && !one_dash)
		return unknown_refuse(r, dashes, text, len);
	if (err == -ENOENT)
		err = take_letters(r, text, &why);
	if (err != -ENOENT)
		return err;
	if (len > 2 && !isalpha((unsigned char)text[0]))
		return unknown_refuse(r, dashes, text, len);
	/* "-x," needs no hint about where -x is. */
	if (len == 1 || (why.text[0] == '-' && why.text[1] == text[0]))
		return error_set(r->e, EINVAL, "%s", why.text);
	return error_set(r->e, EINVAL, "%s (in -%s)", why.text, text);
}

static int refuse_number(struct read *r, const char *word)
{
	double number;

	if (parse_double(word, &number))
		return 0;
	return error_set(
		r->e, EINVAL,
		"the command '%s' is a number; for the interval use -i %s, for the number of intervals -n %s", word,
		word, word);
}

int options_read(const struct options_spec *spec, const struct known_options *known, int argc, char **argv,
		 struct option_words *words, struct error *e)
{
	struct read r = { .spec = spec, .known = known, .argv = argv, .argc = argc, .at = 1, .out = words, .e = e };
	bool options = true;
	int err = 0;

	words->operand = calloc((size_t)argc + 1, sizeof(*words->operand));
	if (!words->operand)
		return error_set(e, ENOMEM, "out of memory");
	while (r.at < argc && !err) {
		char *word = argv[r.at++];

		if (options && !strcmp(word, "--")) {
			options = false;
		} else if (options && word[0] == '-' && word[1]) {
			r.many = NULL;
			err = word[1] == '-' ? take_option(&r, "--", word + 2) : take_option(&r, "-", word + 1);
		} else if (r.many) {
			err = put(&r, r.many, word);
		} else {
			err = options && spec->command ? refuse_number(&r, word) : 0;
			options &= !spec->command;
			words->operand[words->n_operands++] = word;
		}
	}
	return err == -ENOMEM ? error_set(e, ENOMEM, "out of memory") : err;
}

void option_words_release(struct option_words *words)
{
	free(words->word);
	*words = (struct option_words){ 0 };
}
