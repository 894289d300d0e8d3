/* Command lines: the options of all programs, the words of one command line tied to them, what is done with each, and
 * the help. */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/array.h"
#include "common/buf.h"
#include "common/error.h"
#include "common/options_table.h"
#include "common/parse.h"

struct option_row;

/* A name or letter of an option. */
struct known {
	const struct option_row *row;    /* has the name */
	const struct option_row *option; /* has the rest: the row itself, or the previous one */
	void *into;
};

struct known_options {
	struct known *known; /* to be freed */
	size_t n;
};

enum match { MATCH_NONE, MATCH_ONE, MATCH_NEGATED, MATCH_MANY };

struct option_word {
	const struct option_row *option; /* NULL: taken back by --no-NAME */
	void *into;
	char *value; /* NULL: none */
};

struct option_words {
	struct option_word *word;
	size_t n;
	char **operand; /* up to NULL; the array is the caller's to free, the texts are argv's */
	int n_operands;
};

#define COLUMN "choose columns when reporting"
#define ROWS   "choose grouping when reporting"
#define LAYOUT "choose the format when reporting"
#define RECORD "choose events when recording"

static const char *const program[OPTIONS_COLUMNS] = { NULL, "pmrec", "pmrep show", "pmrep stat" };

struct row {
	const char *name; /* NULL: another letter of the row before it */
	const char *hint;
	char letter; /* 0: none */
	bool other;  /* another name of the row before it */
};

#define HEADING(text)
#define OPTION(letter, name, argument, how, hint, help)   { name, hint, letter, false },
#define OPTIONAL(letter, name, argument, how, hint, help) { name, hint, letter, false },
#define ALIAS(name, hint)                                 { name, hint, 0, true },
#define HIDDEN(name, hint)                                { name, hint, 0, true },
#define LETTER(letter)                                    { NULL, NULL, letter, true },

static const struct row record_rows[] = {
#include "common/options_record.def"
	{ 0 },
};

static const struct row show_rows[] = {
#include "common/options_show.def"
	{ 0 },
};

static const struct row stat_rows[] = {
#include "common/options_stat.def"
	{ 0 },
};

/* What no program has, and why. */
static const struct row nowhere[] = {
	{ "input", "name the recording without an option" },
	{ "record-tpebs", "retire latencies come from samples, not counts; perf record takes them, and formulas use "
			  "the values in the vendor's file" },
	{ "tpebs-mode", "retire latencies come from samples, not counts; perf record takes them" },
	{ 0 },
};

static const struct row *const rows[OPTIONS_COLUMNS] = { nowhere, record_rows, show_rows, stat_rows };

/* Letters that need more words than "-D belongs to pmrec (--delay): HINT". */
static const struct {
	char letter;
	enum options_column column;
	const char *text;
} letter_hints[] = {
	{ 'a', OPTIONS_SHOW, "belongs to pmrec: CPUs (-a) and added counters (--add) are chosen when recording" },
	{ 'c', OPTIONS_PMREC,
	  "belongs to pmrep: choose rows when reporting; -C or --cpu chooses the CPUs to record" },
	{ 'i', OPTIONS_STAT,
	  "is ambiguous: --interval=SEC (or --every) joins intervals, the recording is an operand, and "
	  "--no-inherit belongs to pmrec" },
	{ 'j', OPTIONS_SHOW, "belongs to pmrep stat; use --format=json here" },
	{ 'n', OPTIONS_STAT, "is ambiguous: --interval-count=N limits the intervals, and --null belongs to pmrec" },
	{ 'p', OPTIONS_SHOW, "belongs to pmrec and pmrep stat (--pid); use --per-task for rows of tasks here" },
	{ 't', OPTIONS_SHOW, "belongs to pmrec and pmrep stat (--tid); use --per-task for rows of tasks here" },
	{ 'x', OPTIONS_SHOW, "belongs to pmrep stat; use --format=csv here" },
	{ 'A', OPTIONS_SHOW, "belongs to pmrep stat; here --per-cpu gives one row per CPU" },
	{ 'I', OPTIONS_SHOW, "belongs to pmrec and pmrep stat (milliseconds); turbostat's --IPC is --show=IPC" },
	{ 'S', OPTIONS_STAT,
	  "is ambiguous: --summary prints totals, --sync belongs to pmrec, --Summary to pmrep show" },
	{ 'V', OPTIONS_PMREC, "is not an option; use --version" },
	{ 'V', OPTIONS_SHOW, "is not an option; use -v or --version" },
	{ 'V', OPTIONS_STAT, "is not an option; use --version" },
};

/* The programs that have the name, as bits, and the first hint. */
static unsigned owners(const char *name, const char **hint)
{
	unsigned found = 0;

	*hint = NULL;
	for (unsigned c = 1; c < OPTIONS_COLUMNS; c++)
		for (const struct row *r = rows[c]; r->name || r->letter; r++)
			if (r->name && !strcmp(r->name, name)) {
				found |= 1u << c;
				*hint = *hint ? *hint : r->hint;
			}
	return found;
}

/* "pmrec and pmrep stat" */
static void put_owners(char *out, size_t size, unsigned found)
{
	size_t len = 0;

	for (unsigned c = 1; c < OPTIONS_COLUMNS; c++)
		if (found & 1u << c && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s", len ? " and " : "", program[c]);
}

static bool is_claimed(const struct row *r)
{
	return r->name && !(r->hint && !*r->hint);
}

/* '_' and '-' are the same, because turbostat writes num_iterations and perf interval-count. */
static bool option_name_begins(const char *name, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char a = name[i] == '_' ? '-' : name[i];
		char b = text[i] == '_' ? '-' : text[i];

		if (!a || a != b)
			return false;
	}
	return true;
}

static bool option_name_is(const char *name, const char *text, size_t len)
{
	return option_name_begins(name, text, len) && !name[len];
}

const char *options_foreign(const char *text, size_t len, size_t min_abbreviation)
{
	bool no = len > 3 && option_name_begins("no-", text, 3);
	const char *found = NULL;

	for (unsigned i = 0; i < OPTIONS_COLUMNS; i++)
		for (const struct row *r = rows[i]; r->name || r->letter; r++)
			if (is_claimed(r) &&
			    (option_name_is(r->name, text, len) ||
			     (no && option_name_is(r->name, text + 3, len - 3)) ||
			     (!strncmp(r->name, "no-", 3) && option_name_is(r->name + 3, text, len))))
				return r->name;
	if (len < min_abbreviation)
		return NULL;
	for (unsigned i = 0; i < OPTIONS_COLUMNS; i++)
		for (const struct row *r = rows[i]; r->name || r->letter; r++) {
			if (!is_claimed(r) || !option_name_begins(r->name, text, len))
				continue;
			if (found && strcmp(found, r->name))
				return NULL;
			found = r->name;
		}
	return found;
}

int options_foreign_refuse(const char *name, enum options_column column, struct error *e)
{
	char whose[64] = "";
	const char *hint;
	unsigned found = owners(name, &hint);

	for (const struct row *r = nowhere; !found && r->name; r++)
		if (!strcmp(r->name, name))
			return error_set(e, EINVAL, "--%s is not an option here: %s", name, r->hint);
	if (found & 1u << column)
		return error_set(e, EINVAL, "this version has no --%s", name);
	put_owners(whose, sizeof(whose), found);
	return error_set(e, EINVAL, "--%s belongs to %s%s%s", name, whose, hint ? ": " : "", hint ? hint : "");
}

const char *options_letter(char letter, enum options_column column)
{
	const char *name = NULL;

	if (letter == 'h')
		return "help";
	if (letter == 'v' && column == OPTIONS_SHOW)
		return "version";
	if (column == OPTIONS_OTHER || !letter)
		return NULL;
	for (const struct row *r = rows[column]; r->name || r->letter; r++) {
		name = r->other ? name : r->name;
		if (r->letter == letter)
			return name;
	}
	return NULL;
}

int options_letter_refuse(char letter, enum options_column column, struct error *e)
{
	const char *name = NULL, *hint = NULL;
	unsigned found = 0;
	char whose[64] = "";

	for (size_t i = 0; i < sizeof(letter_hints) / sizeof(letter_hints[0]); i++)
		if (letter_hints[i].letter == letter && letter_hints[i].column == column)
			return error_set(e, EINVAL, "-%c %s", letter, letter_hints[i].text);
	for (unsigned c = 1; c < OPTIONS_COLUMNS && column != OPTIONS_OTHER; c++) {
		const char *there = options_letter(letter, (enum options_column)c);

		/* Where the letter means something different to each, the first is named. */
		if (there && (!name || !strcmp(there, name))) {
			name = there;
			found |= 1u << c;
		}
	}
	if (!found)
		return error_set(e, EINVAL, "-%c is not an option", letter);
	owners(name, &hint);
	put_owners(whose, sizeof(whose), found);
	return error_set(e, EINVAL, "-%c belongs to %s (--%s)%s%s", letter, whose, name, hint ? ": " : "",
			 hint ? hint : "");
}

/* Adds the rows of a command. 0 or -ENOMEM. */
static int known_add(struct known_options *all, const struct option_row *row, void *into)
{
	const struct option_row *option = row;

	for (; row->name || row->letter || row->help; row++) {
		if (!row->name && !row->letter)
			continue;
		if (row->help)
			option = row;
		if (array_room(&all->known, all->n, sizeof(*all->known)))
			return -ENOMEM;
		all->known[all->n++] = (struct known){ row, option, into };
	}
	return 0;
}

static const struct known *known_exact(const struct known_options *all, const char *text, size_t len)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->known[i].row->name && option_name_is(all->known[i].row->name, text, len))
			return &all->known[i];
	return NULL;
}

/* Finds names that begin with the text; several names of one option count once. `flags`: only options without value.
 */
static enum match known_abbreviated(const struct known_options *all, const char *text, size_t len, bool flags,
				    const struct known **found, const struct known **second)
{
	*found = NULL;
	for (size_t i = 0; i < all->n; i++) {
		const struct known *k = &all->known[i];

		if (!k->row->name || (flags && k->option->argument) || !option_name_begins(k->row->name, text, len))
			continue;
		if (*found && (*found)->option != k->option) {
			*second = k;
			return MATCH_MANY;
		}
		if (!*found)
			*found = k;
	}
	return *found ? MATCH_ONE : MATCH_NONE;
}

/* By a long name, its abbreviation, or either with "no-"; *second: another match of MATCH_MANY. */
static enum match known_find(const struct known_options *all, const char *text, size_t len,
			     const struct known **found, const struct known **second)
{
	bool no = len > 3 && option_name_begins("no-", text, 3);
	enum match m;

	*found = known_exact(all, text, len);
	if (*found)
		return MATCH_ONE;
	if (no) {
		*found = known_exact(all, text + 3, len - 3);
		if (*found && !(*found)->option->argument)
			return MATCH_NEGATED;
	}
	/* perf's options that begin with "no-" can be negated by dropping it. */
	for (size_t i = 0; i < all->n; i++) {
		const char *name = all->known[i].row->name;

		if (name && !all->known[i].option->argument && !strncmp(name, "no-", 3) &&
		    option_name_is(name + 3, text, len)) {
			*found = &all->known[i];
			return MATCH_NEGATED;
		}
	}
	m = known_abbreviated(all, text, len, false, found, second);
	if (m == MATCH_NONE && no) {
		m = known_abbreviated(all, text + 3, len - 3, true, found, second);
		if (m == MATCH_ONE)
			m = MATCH_NEGATED;
	}
	return m;
}

/* The option of a letter; NULL with a message in *why (which may be NULL) if there is none. */
static const struct known *known_letter(const struct known_options *all, enum options_column column, char letter,
					struct error *why)
{
	const char *name = options_letter(letter, column);
	const struct known *k = name ? known_exact(all, name, strlen(name)) : NULL;

	for (size_t i = 0; i < all->n && !k && isalpha((unsigned char)letter); i++)
		if (all->known[i].row->letter == letter)
			k = &all->known[i];
	if (k)
		return k;
	if (name)
		error_set(why, EINVAL, "this version has no -%c (--%s)", letter, name);
	else
		options_letter_refuse(letter, column, why);
	return NULL;
}

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

/* Reads argv[1..] by the rules of options_parse(). 0 or -errno with the text in *e; release `words` in any case. */
static int options_read(const struct options_spec *spec, const struct known_options *known, int argc, char **argv,
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

static void option_words_release(struct option_words *words)
{
	free(words->word);
	*words = (struct option_words){ 0 };
}

int options_append(char ***list, char *text)
{
	char **grown;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	grown = realloc(*list, (n + 2) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[n] = text;
	grown[n + 1] = NULL;
	*list = grown;
	return 0;
}

int options_word(const char *option, const char *arg, const char *const *words, unsigned *place, struct error *e)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	const char *near;
	int err;

	for (unsigned i = 0; words[i]; i++)
		if (!strcmp(words[i], arg)) {
			*place = i;
			return 0;
		}
	near = options_nearest(arg, words, SIZE_MAX);
	if (near && *near)
		return error_set(e, EINVAL, "--%s does not take '%s'; did you mean '%s'?", option, arg, near);
	for (unsigned i = 0; words[i]; i++)
		if (*words[i])
			buf_printf(&all, "%s%s", !all.len ? "" : words[i + 1] ? ", " : " or ", words[i]);
	err = error_set(e, EINVAL, "--%s does not take '%s'; use %s", option, arg, buf_str(&all));
	return err;
}

static int take_amount(const struct option_row *row, void *member, const char *arg, struct error *e)
{
	uint64_t n;

	if (parse_u64(arg, &n) || n < row->least || n > row->most)
		return row->most < UINT32_MAX ?
			       error_set(e, EINVAL, "--%s: '%s' is not a number from %llu to %llu", row->name, arg,
					 (unsigned long long)row->least, (unsigned long long)row->most) :
			       error_set(e, EINVAL, "--%s: '%s' is not a number%s", row->name, arg,
					 row->least ? " above 0" : "");
	if (row->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

int options_take(const struct option_row *row, void *into, char *arg, struct error *e)
{
	void *member = (char *)into + row->at;
	uint64_t *number = member;
	unsigned place = 0;
	int err;

	switch (row->kind) {
	case OPTION_NOTHING:
		return 0;
	case OPTION_FLAG:
	case OPTION_CLEAR:
		*(bool *)member = row->kind == OPTION_FLAG;
		return 0;
	case OPTION_COUNT:
		++*(unsigned *)member;
		return 0;
	case OPTION_TEXT:
		err = row->words ? options_word(row->name, arg, row->words, &place, e) : 0;
		if (!err)
			*(char **)member = arg;
		return err;
	case OPTION_LIST:
		return options_append((char ***)member, arg);
	case OPTION_WORD:
		return options_word(row->name, arg, row->words, (unsigned *)member, e);
	case OPTION_NUMBER:
		*(unsigned *)member = row->number;
		return 0;
	case OPTION_BITS:
		*(unsigned *)member |= row->number;
		return 0;
	case OPTION_AMOUNT:
		return take_amount(row, member, arg, e);
	case OPTION_TIME:
		if (parse_duration(arg, number) || *number < row->least || *number > INT64_MAX / 4)
			return error_set(e, EINVAL, "--%s: '%s' is not a time: use seconds, or add ms, m or h",
					 row->name, arg);
		return 0;
	case OPTION_SIZE:
		if (parse_size(arg, number) || !*number)
			return error_set(e, EINVAL, "--%s: '%s' is not a size such as 10M or 512Ki", row->name, arg);
		return 0;
	case OPTION_READ:
		err = row->read(member, arg, e);
		return err ? error_prefix(e, "--%s", row->name) : 0;
	case OPTION_CALL:
		return row->set(into, arg, e);
	}
	return -EINVAL;
}

#define HELP_COLUMN 29
#define HELP_WIDTH  79

static void put_words(struct buf *out, size_t column, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column + 1 + len > HELP_WIDTH) {
			buf_printf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (column > HELP_COLUMN) {
			buf_addch(out, ' ');
			column++;
		}
		buf_add(out, text, len);
		column += len;
		text += len + (text[len] == ' ');
	}
	buf_addch(out, '\n');
}

/* Whether it is the row itself or another name or letter of the same option. */
static bool belongs(const struct option_row *r, const struct option_row *row)
{
	return r == row || (!r->help && (r->name || r->letter));
}

/* Whether there are any. */
static bool put_letters(struct buf *out, const struct option_row *row, const char *between)
{
	bool any = false;

	for (const struct option_row *r = row; belongs(r, row); r++)
		if (r->letter) {
			buf_printf(out, "%s-%c", any ? between : "", r->letter);
			any = true;
		}
	return any;
}

/* "  -c, -C, --cpu=SET   help" */
static void put_option(struct buf *out, const struct option_row *row)
{
	size_t start = out->len;
	bool letters;

	buf_addstr(out, "  ");
	letters = put_letters(out, row, ", ");
	buf_addstr(out, letters ? "" : "  ");
	for (const struct option_row *r = row; belongs(r, row); r++)
		if (r->name && (r == row || r->shown))
			buf_printf(out, "%s--%s", r > row || letters ? ", " : "  ", r->name);
	if (row->argument)
		buf_printf(out, row->optional ? "[=%s]" : "=%s", row->argument);
	if (out->len - start + 2 > HELP_COLUMN)
		buf_addch(out, '\n');
	else
		start += HELP_COLUMN; /* the column at which the help begins */
	buf_printf(out, "%*s", out->len < start ? (int)(start - out->len) : HELP_COLUMN, "");
	put_words(out, HELP_COLUMN, row->help);
}

/* For people: an entry for each option, under the headings of the rows. */
static void options_put_help(struct buf *out, const struct option_row *row)
{
	for (; row->name || row->letter || row->help; row++) {
		if (row->help && !row->name && !row->letter)
			buf_printf(out, "\n%s\n", row->help);
		else if (row->help)
			put_option(out, row);
	}
}

/* For completion and manual pages, a line for each long name that help lists: "--name", or "--name=" if it needs an
 * argument; that argument; the letters, such as "-c -C"; the help, empty for another name of the option before it.
 * TABs separate them. */
static void options_put_list(struct buf *out, const struct option_row *row)
{
	const struct option_row *option = row;

	for (; row->name || row->letter || row->help; row++) {
		if (row->help)
			option = row;
		if (!row->name || (row != option && !row->shown))
			continue;
		buf_printf(out, "--%s%s\t%s\t", row->name, option->argument && !option->optional ? "=" : "",
			   option->argument ? option->argument : "");
		if (row == option)
			put_letters(out, row, " ");
		buf_printf(out, "\t%s\n", row == option ? row->help : "");
	}
}

static int set_help(void *into, char *arg, struct error *e)
{
	if (arg && strcmp(arg, "all") && strcmp(arg, "options"))
		return error_set(e, EINVAL, "--help=%s: use --help, --help=all or --help=options", arg);
	((struct options_common *)into)->help = arg ? *arg : 'h';
	return 0;
}

static int set_color(void *into, char *arg, struct error *e)
{
	static const char *const words[] = { "auto", "always", "never", NULL }; /* enum options_color */
	unsigned place = OPTIONS_COLOR_ALWAYS;
	int err = arg ? options_word("color", arg, words, &place, e) : 0;

	((struct options_common *)into)->color = (enum options_color)place;
	return err;
}

static int set_max_memory(void *into, char *arg, struct error *e)
{
	return parse_size(arg, &((struct options_common *)into)->max_memory) ?
		       error_set(e, EINVAL, "--max-memory: '%s' is not a size such as 512Mi", arg) :
		       0;
}

#define OPTIONS_INTO struct options_common

/* Commands without a pager skip the first row. */
static const struct option_row common_rows[] = {
	{ "no-pager", 0, NULL, "do not use a pager", FLAG(no_pager) },
	{ "help", 0, "all", "print the most important options, or with =all every one, and exit", CALL(help),
	  .optional = true },
	{ "version", 0, NULL, "print the version and exit", FLAG(version) },
	{ "color", 0, "auto|always|never", "use colors (auto: on a terminal, unless NO_COLOR is set)", CALL(color),
	  .optional = true },
	{ 0 },
};

/* For commands that read recordings, which may come from anyone. */
static const struct option_row reader_rows[] = {
	{ "max-memory", 0, "SIZE",
	  "use at most this much memory (256Mi and 64 times the size of the files, 2Gi at most); 0: no limit",
	  CALL(max_memory) },
	{ 0 },
};

static const struct option_row *common_rows_of(const struct options_spec *spec)
{
	return spec->paged ? common_rows : common_rows + 1;
}

/* The brief help before the options: usage, what the command does, its operands. */
static void put_purpose(struct buf *out, const struct options_spec *spec)
{
	for (const char *line = spec->brief, *end; line && *line; line = end) {
		size_t indent = strspn(line, " ");

		if (indent && line[indent] == '-')
			break;
		end = line + strcspn(line, "\n");
		end += *end == '\n';
		/* A blank line precedes the options anyway. */
		if (*line != '\n' || (end[strspn(end, " ")] != '-' && *end))
			buf_add(out, line, (size_t)(end - line));
	}
	if (!spec->brief)
		buf_printf(out, "Usage: %s [OPTION...]%s%s\n", spec->name, spec->operands_doc ? " " : "",
			   spec->operands_doc ? spec->operands_doc : "");
	if (spec->rows->name || spec->rows->letter)
		buf_addstr(out, "\n");
}

/* The brief help with the options of the command and, with `all`, those that every command has. */
static void put_help(const struct options_spec *spec, bool all, struct buf *out)
{
	const char *brief = spec->brief ? spec->brief : "", *list = strstr(brief, OPTIONS_LIST);

	if (!all && spec->brief && !list) {
		buf_addstr(out, brief);
		return;
	}
	if (list)
		buf_add(out, brief, (size_t)(list - brief));
	else
		put_purpose(out, spec);
	options_put_help(out, spec->rows);
	if (all) {
		buf_addstr(out, "\nCommon options:\n");
		options_put_help(out, common_rows_of(spec));
		if (spec->reads)
			options_put_help(out, reader_rows);
	}
	if (list)
		buf_addstr(out, list + strlen(OPTIONS_LIST));
}

/* Help or version. Returns 1 or -ENOMEM. */
static int put_text(const struct options_spec *spec, struct options_common *c)
{
	const struct option_row *tables[] = { spec->rows, common_rows_of(spec), spec->reads ? reader_rows : NULL };
	struct buf *out = &c->text;

	if (c->help == 'o') {
		for (size_t i = 0; i < 3 && tables[i]; i++)
			options_put_list(out, tables[i]);
	} else if (c->help) {
		put_help(spec, c->help == 'a', out);
	} else {
		/* The program, not the command: "pmrep 0.1.0". */
		buf_printf(out, "%.*s %s\n", (int)strcspn(spec->name, " "), spec->name, PM_VERSION);
	}
	return out->err ? -ENOMEM : 1;
}

static int note_words(const struct option_words *words, struct options_common *common)
{
	size_t n = 0;

	common->said = calloc(words->n + 1, sizeof(*common->said));
	for (size_t i = 0; i < words->n && common->said; i++) {
		const struct option_word *w = &words->word[i];

		if (w->option && asprintf(&common->said[n++], "--%s%s%s", w->option->name, w->value ? "=" : "",
					  w->value ? w->value : "") < 0) {
			common->said[n - 1] = NULL;
			return -ENOMEM;
		}
	}
	return common->said ? 0 : -ENOMEM;
}

/* Applies the options that fill `into`, or with `others` all that do not. */
static int take_words(const struct option_words *words, const void *into, bool others, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < words->n && !err; i++) {
		const struct option_word *w = &words->word[i];

		if (w->option && (w->into == into) != others)
			err = options_take(w->option, w->into, w->value, e);
	}
	return err;
}

static int parse(const struct options_spec *spec, void *into, struct options_common *common, struct error *e)
{
	struct known_options known = { 0 };
	struct option_words words = { 0 };
	int err = known_add(&known, spec->rows, into);

	err = err ? err : known_add(&known, common_rows_of(spec), common);
	err = err || !spec->reads ? err : known_add(&known, reader_rows, common);
	err = err ? err : options_read(spec, &known, common->argc, common->argv, &words, e);
	common->operand = words.operand;
	err = err ? err : note_words(&words, common);
	/* Help is printed even if operands are missing or values are wrong. */
	err = err ? err : take_words(&words, common, false, e);
	if (!err && (common->help || common->version))
		err = put_text(spec, common);
	if (!err)
		err = take_words(&words, common, true, e);
	if (!err && spec->operands)
		err = spec->operands(into, words.n_operands, words.operand, e);
	else if (!err && words.n_operands)
		err = error_set(e, EINVAL, "'%s': %s takes no operands", words.operand[0], spec->name);
	option_words_release(&words);
	free(known.known);
	return err;
}

int options_parse(const struct options_spec *spec, int argc, char **argv, void *into, struct options_common *common,
		  struct error *e)
{
	struct error own = { 0 };
	int err = 0;

	common->argv = calloc((size_t)argc + 1, sizeof(*common->argv));
	for (; common->argv && common->argc < argc && !err; common->argc++) {
		common->argv[common->argc] = strdup(argv[common->argc]);
		err = common->argv[common->argc] ? 0 : -ENOMEM;
	}
	if (!common->argv)
		err = -ENOMEM;
	if (!err)
		err = parse(spec, into, common, &own);
	if (err < 0)
		return error_set(e, own.text[0] ? own.number : ENOMEM, "%s",
				 own.text[0] ? own.text : "out of memory");
	return err;
}

void options_common_release(struct options_common *common)
{
	for (int i = 0; i < common->argc; i++)
		free(common->argv[i]);
	for (char **word = common->said; word && *word; word++)
		free(*word);
	free(common->argv);
	free(common->operand);
	free(common->said);
	buf_release(&common->text);
	*common = (struct options_common){ 0 };
}

bool options_always_paged(const void *into)
{
	return true;
}

bool options_use_color(const struct options_common *common, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (common->color != OPTIONS_COLOR_AUTO)
		return common->color == OPTIONS_COLOR_ALWAYS;
	if ((no_color && *no_color) || !term || !strcmp(term, "dumb"))
		return false;
	return isatty(fd) || (common->paged && fd == STDOUT_FILENO);
}
