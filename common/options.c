#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/options_internal.h"
#include "common/options_known.h"
#include "common/options_table.h"
#include "common/parse.h"

/* A word of the result: option `same` with its value, or a removed one (text NULL). */
struct word {
	char *text;
	char *value; /* second word, for a letter without long name */
	size_t same;
};

struct rewrite {
	const struct options_spec *spec;
	struct known_options known;
	struct word *word;
	size_t n_words;
	char **argv;
	int argc, at; /* input and the word after the one in hand */
	struct error *e;
};

static int rewrite_bad(struct rewrite *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int rewrite_bad(struct rewrite *w, const char *format, ...)
{
	va_list ap;
	struct error text = { 0 };

	va_start(ap, format);
	vsnprintf(text.text, sizeof(text.text), format, ap);
	va_end(ap);
	return error_set(w->e, EINVAL, "%s", text.text);
}

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
		/* A word of which nothing is left is another word. */
		if (d >= strlen(word))
			continue;
		/* The first of equals stays: tables begin with what is meant most often. */
		if (d < best_distance || (d == best_distance && !best)) {
			best = names[i];
			best_distance = d;
		}
	}
	return best;
}

static int unknown_refuse(struct rewrite *w, const char *dashes, const char *text, size_t len)
{
	const char **names = calloc(w->known.n + 1, sizeof(*names));
	char *word = strndup(text, len);
	const char *near = NULL;
	size_t n = 0;
	int r;

	if (names && word) {
		for (size_t i = 0; i < w->known.n; i++) {
			if (w->known.option[i].name)
				names[n++] = w->known.option[i].name;
		}
		near = options_nearest(word, names, n);
	}
	if (near)
		r = rewrite_bad(w, "unknown option %s%.*s; did you mean --%s?", dashes, (int)(len > 80 ? 80 : len),
				text, near);
	else
		r = rewrite_bad(w, "unknown option %s%.*s; --help=all lists all options", dashes,
				(int)(len > 80 ? 80 : len), text);
	free(names);
	free(word);
	return r;
}

/* ---- the result ---- */

static int emit(struct rewrite *w, const struct known *k, const char *value)
{
	const struct known *real = &w->known.option[k->same];
	struct word *word = &w->word[w->n_words];
	struct buf b = BUF_INIT;

	if (real->name) {
		buf_printf(&b, "--%s", real->name);
		if (value)
			buf_printf(&b, "=%s", value);
	} else {
		buf_printf(&b, "-%c", real->key);
		if (value && real->arg == ARG_OPTIONAL)
			buf_addstr(&b, value);
	}
	word->same = k->same;
	word->text = buf_detach(&b);
	word->value = !real->name && value && real->arg == ARG_NEEDED ? strdup(value) : NULL;
	if (!word->text || (!real->name && value && real->arg == ARG_NEEDED && !word->value)) {
		free(word->text);
		return error_set(w->e, ENOMEM, "out of memory");
	}
	w->n_words++;
	return 0;
}

static void take_back(struct rewrite *w, const struct known *k)
{
	for (size_t i = 0; i < w->n_words; i++) {
		if (w->word[i].same == k->same) {
			free(w->word[i].text);
			free(w->word[i].value);
			w->word[i].text = w->word[i].value = NULL;
		}
	}
}

/* Emits an option whose value, if it needs one and `value` is NULL, is the next word. */
static int take(struct rewrite *w, const struct known *k, const char *value, const char *dashes, const char *text,
		size_t len)
{
	if (k->arg == ARG_NONE && value)
		return rewrite_bad(w, "%s%.*s takes no value", dashes, (int)len, text);
	if (k->arg == ARG_NEEDED && !value) {
		if (w->at >= w->argc)
			return rewrite_bad(w, "%s%.*s needs a value: %s", dashes, (int)len, text, k->arg_name);
		value = w->argv[w->at++];
	}
	return emit(w, k, value);
}

static int take_match(struct rewrite *w, enum match m, struct known *found, struct known *second, const char *value,
		      const char *dashes, const char *text, size_t len)
{
	if (m == MATCH_MANY)
		return rewrite_bad(w, "%s%.*s can mean --%s or --%s", dashes, (int)len, text, found->name,
				   second->name);
	if (m == MATCH_NEGATED) {
		if (value)
			return rewrite_bad(w, "%s%.*s takes no value", dashes, (int)len, text);
		take_back(w, found);
		return 0;
	}
	return take(w, found, value, dashes, text, len);
}

static int rewrite_long(struct rewrite *w, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	const char *value = equals ? equals + 1 : NULL;
	const char *foreign;
	struct known *found, *second;
	enum match m;

	if (!len)
		return unknown_refuse(w, "--", text, strlen(text));
	/* "--interval" of the other half must not be taken for an abbreviation of "--interval-clear" here. */
	foreign = options_foreign(text, len, SIZE_MAX);
	m = known_find(&w->known, text, len, &found, &second);
	if (foreign && m != MATCH_NEGATED && !(m == MATCH_ONE && option_name_is(found->name, text, len)))
		return options_foreign_refuse(foreign, w->spec->column, w->e);
	if (m != MATCH_NONE)
		return take_match(w, m, found, second, value, "--", text, len);
	foreign = options_foreign(text, len, 3);
	if (foreign)
		return options_foreign_refuse(foreign, w->spec->column, w->e);
	return unknown_refuse(w, "--", text, len);
}

static bool is_cluster(struct rewrite *w, const char *text)
{
	for (; *text; text++) {
		struct known *k = known_letter(&w->known, w->spec->column, *text, NULL);

		if (!k || (k->arg != ARG_NONE && text[1]))
			return false;
	}
	return true;
}

/* Letters of which the last may have its value attached. */
static int rewrite_letters(struct rewrite *w, const char *text, struct error *why)
{
	size_t n_before = w->n_words;

	for (; *text; text++) {
		struct known *k = known_letter(&w->known, w->spec->column, *text, why);
		int r;

		if (!k) {
			while (w->n_words > n_before) {
				free(w->word[--w->n_words].text);
				free(w->word[w->n_words].value);
			}
			return -ENOENT;
		}
		if (k->arg == ARG_NONE) {
			r = emit(w, k, NULL);
		} else {
			/* "-x=," is not what getopt takes, but what people mean. */
			const char *value = text[1] == '=' ? text + 2 : text[1] ? text + 1 : NULL;

			r = take(w, k, value, "-", text, 1);
			return r;
		}
		if (r)
			return r;
	}
	return 0;
}

static int rewrite_short(struct rewrite *w, const char *text)
{
	const char *equals = strchr(text, '=');
	size_t len = equals ? (size_t)(equals - text) : strlen(text);
	const char *value = equals ? equals + 1 : NULL;
	const char *foreign;
	struct known *found, *second;
	struct error why = { 0 };
	enum match m;
	int r;

	if (!len)
		return unknown_refuse(w, "-", text, strlen(text));
	if (len > 1 && !is_cluster(w, text)) {
		foreign = options_foreign(text, len, SIZE_MAX);
		m = known_find(&w->known, text, len, &found, &second);
		if (foreign && m != MATCH_NEGATED && !(m == MATCH_ONE && option_name_is(found->name, text, len)))
			return options_foreign_refuse(foreign, w->spec->column, w->e);
		/* An ambiguous word may still be a letter with its value. */
		if (m == MATCH_ONE || m == MATCH_NEGATED || (m == MATCH_MANY && len > 2))
			return take_match(w, m, found, second, value, "-", text, len);
		foreign = options_foreign(text, len, 4);
		if (foreign)
			return options_foreign_refuse(foreign, w->spec->column, w->e);
	}
	r = rewrite_letters(w, text, &why);
	if (r != -ENOENT)
		return r;
	if (len > 2 && !isalpha((unsigned char)text[0]))
		return unknown_refuse(w, "-", text, len);
	/* "-x," needs no hint at where the -x is. */
	if (len == 1 || (why.text[0] == '-' && why.text[1] == text[0]))
		return rewrite_bad(w, "%s", why.text);
	return rewrite_bad(w, "%s (in -%s)", why.text, text);
}

static int refuse_number(struct rewrite *w, const char *word)
{
	double number;

	if (parse_double(word, &number))
		return 0;
	return rewrite_bad(
		w, "the command '%s' is a number; for the interval use -i %s, for the number of intervals -n %s",
		word, word, word);
}

static int rewrite_options(struct rewrite *w, char **operand, int *n_operands)
{
	while (w->at < w->argc) {
		char *word = w->argv[w->at++];
		int r;

		if (!strcmp(word, "--")) {
			while (w->at < w->argc)
				operand[(*n_operands)++] = w->argv[w->at++];
		} else if (word[0] != '-' || !word[1]) {
			operand[(*n_operands)++] = word;
			if (!w->spec->command)
				continue;
			r = refuse_number(w, word);
			if (r)
				return r;
			while (w->at < w->argc)
				operand[(*n_operands)++] = w->argv[w->at++];
		} else {
			r = word[1] == '-' ? rewrite_long(w, word + 2) : rewrite_short(w, word + 1);
			if (r)
				return r;
		}
	}
	return 0;
}

void options_argv_free(char **argv)
{
	for (char **p = argv; p && *p; p++)
		free(*p);
	free(argv);
}

int options_rewrite(const struct options_spec *spec, int argc, char **argv, int *new_argc, char ***new_argv,
		    struct error *e)
{
	struct rewrite w = { .spec = spec, .argv = argv, .argc = argc, .at = argc ? 1 : 0, .e = e };
	char **operand = calloc((size_t)argc + 1, sizeof(*operand)), **out = NULL;
	size_t letters = 0, n = 0;
	int n_operands = 0, r;

	/* A cluster gives a word a letter. */
	for (int i = 0; i < argc; i++)
		letters += argv[i][0] == '-' ? strlen(argv[i]) : 1;
	w.word = calloc(letters + 1, sizeof(*w.word));
	out = calloc(2 * letters + (size_t)argc + 3, sizeof(*out));
	r = operand && w.word && out ? 0 : -ENOMEM;
	if (!r)
		r = known_collect(&w.known, spec->argp);
	if (!r)
		r = known_collect(&w.known, options_common_of(spec));
	if (r)
		error_set(e, ENOMEM, "out of memory");
	if (!r)
		r = rewrite_options(&w, operand, &n_operands);
	for (size_t i = 0; out && i < w.n_words; i++) {
		if (n == 0)
			n = 1;
		if (w.word[i].text)
			out[n++] = w.word[i].text;
		if (w.word[i].value)
			out[n++] = w.word[i].value;
	}
	if (out) {
		n = n ? n : 1;
		out[0] = strdup(argc ? argv[0] : spec->name);
		out[n] = strdup("--");
		if (!out[0] || !out[n++])
			r = error_set(e, ENOMEM, "out of memory");
		for (int i = 0; !r && i < n_operands; i++) {
			out[n] = strdup(operand[i]);
			if (!out[n++])
				r = error_set(e, ENOMEM, "out of memory");
		}
	}
	free(operand);
	free(w.known.option);
	free(w.word);
	if (r) {
		/* The first may be missing while others are there. */
		for (size_t i = 0; out && i < 2 * letters + (size_t)argc + 3; i++)
			free(out[i]);
		free(out);
		return r;
	}
	*new_argv = out;
	*new_argc = (int)n;
	return 0;
}
