/* Command lines: the options of all programs, the words of one command line tied to them, what is done with each, and
 * the help. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/memory.h"
#include "common/parse.h"

/* The tables of all programs, for their names. */
#define HOW(...) .kind = OPTION_NOTHING
#include "common/options_table.h"

/* A name or letter of an option. */
struct known {
	const struct option_row *row;    /* has the name */
	const struct option_row *option; /* has the rest: the row itself, or the previous one */
	void *into;                      /* what it fills; or, among the options of all programs, ... */
	unsigned program;                /* ... a bit: whose it is */
};

enum match { MATCH_NONE, MATCH_ONE, MATCH_NEGATED, MATCH_MANY };

/* One command line. */
struct read {
	const struct options_spec *spec;
	struct known *known; /* what the command takes */
	struct known *all;   /* what the programs take */
	size_t n_known, n_all;
	char **argv;
	int argc, at; /* the words, and the index after the current one */
	struct said {
		const struct option_row *option; /* NULL: taken back by --no-NAME */
		void *into;
		char *value; /* NULL: none */
	} * said;
	size_t n_said;
	const struct known *many; /* the option that also takes the operands that follow; or NULL */
	char **operand;           /* up to NULL */
	int n_operands;
	struct error *e;
};

static const struct option_row record_rows[] = {
#include "common/options_record.def"
	{ 0 },
}, show_rows[] = {
#include "common/options_show.def"
	{ 0 },
}, stat_rows[] = {
#include "common/options_stat.def"
	{ 0 },
};

static const struct {
	const char *name;
	const struct option_row *rows;
} programs[] = { { "pmrec", record_rows }, { "pmrep show", show_rows }, { "pmrep stat", stat_rows } };
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

#define NO_SAMPLES "retire latencies come from samples, not counts; perf record takes them"
#define ROWS       "choose rows of tasks with --per-task"

/*
 * What the command at hand offers to those who type an option or letter that it lacks. `here` is what it needs for
 * that: a pattern of its name, or an option of its own, maybe with this word among its arguments; NULL: nothing. The
 * text ends the answer, or follows the letter in it. Of two rows, the first counts.
 */
static const struct hint {
	const char *typed, *here, *text;
} hints[] = {
	/* clang-format off */
	{ "a", "pmrep show", "belongs to pmrec (all CPUs); turbostat's -a is --add here" },
	{ "c", "pmrec", "belongs to pmrep: choose rows when reporting; -C or --cpu chooses the CPUs to record" },
	{ "g", "pmrec", "is not an option: braces group events (-e '{a,b}'), and call graphs need perf record" },
	{ "i", "pmrep stat", "is ambiguous: --interval=SEC (or --every) joins intervals, the recording is an operand, and "
			     "--no-inherit belongs to pmrec" },
	{ "j", "pmrep show", "belongs to pmrep stat; use --format=json here" },
	{ "n", "pmrep stat", "is ambiguous: --interval-count=N limits the intervals, and --null belongs to pmrec" },
	{ "p", "pmrep show", "belongs to pmrec and pmrep stat (--pid); use --per-task for rows of tasks here" },
	{ "t", "pmrep show", "belongs to pmrec and pmrep stat (--tid); use --per-task for rows of tasks here" },
	{ "x", "pmrep show", "belongs to pmrep stat; use --format=csv here" },
	{ "A", "pmrep show", "belongs to pmrep stat; here --per-cpu gives one row per CPU" },
	{ "F", "pmrec", "is not an option: counters are read at intervals (-i 10ms); perf record takes samples" },
	{ "I", "pmrep show", "belongs to pmrec and pmrep stat (milliseconds); turbostat's --IPC is --show=IPC" },
	{ "S", "pmrep stat", "is ambiguous: --summary prints totals, --sync belongs to pmrec, --Summary to pmrep show" },
	{ "V", NULL, "is not an option; use --version" },
	{ "cgroup", "per-cgroup", "choose rows of cgroups with --per-cgroup" },
	{ "core", "per-core", "one row per core is --per-core" },
	{ "csv", "format=csv", "use --format=csv" },
	{ "delay", "since", "skip the beginning with --since" },
	{ "field-separator", "format=csv", "use --format=csv here" },
	{ "input", NULL, "name the recording without an option" },
	{ "interval-count", "num_iterations", "use --num_iterations=N for the first N intervals" },
	{ "interval-print", "every", "join intervals with --every" },
	{ "iostat", NULL, "pmrec perfstat --iostat finds the ports, and prints them" },
	{ "json", "format=json", "use --format=json" },
	{ "json-output", "format=json", "use --format=json here" },
	{ "last", "since", "use --since=-SECONDS" },
	{ "last", "ring", "`pmrec dump --last=TIME` copies that out of a recorder with --ring" },
	{ "metrics", "show", "choose columns with --show" },
	{ "no-aggr", "per-cpu", "use --per-cpu here" },
	{ "num_iterations", "interval-count", "use --interval-count=N for the first N intervals" },
	{ "package", "per-package", "one row per package is --per-package" },
	{ "per-thread", "per-task", ROWS },
	{ "pid", "per-task", ROWS },
	{ "record-tpebs", NULL, NO_SAMPLES ", and formulas use the values in the vendor's file" },
	{ "repeat", "pmrep*", "pmrep finds the runs in a recording by itself" },
	{ "report", "pmrep*", "pmrec uses it to print a report after recording" },
	{ "root", "pmrep*", "pmrep never reads the machine it runs on" },
	{ "socket", "per-package", "one row per package is --per-package, or --per-socket" },
	{ "summary", "total", "use --total for totals" },
	{ "tid", "per-task", ROWS },
	{ "tpebs-mode", NULL, NO_SAMPLES },
	/* clang-format on */
};
#define N_HINTS (sizeof(hints) / sizeof(hints[0]))

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

static bool is_row(const struct option_row *row)
{
	return row->name || row->letter || row->help;
}

/* Adds the rows of a command. */
static void add_known(struct known **list, size_t *n, const struct option_row *row, void *into, unsigned program)
{
	for (const struct option_row *option = row; is_row(row); row++) {
		option = row->help ? row : option;
		memory_room(list, *n, sizeof(**list));
		if (row->name || row->letter)
			(*list)[(*n)++] = (struct known){ row, option, into, program };
	}
}

static const struct known *known_exact(const struct read *r, const char *text, size_t len)
{
	for (const struct known *k = r->known; k < r->known + r->n_known; k++)
		if (k->row->name && option_name_is(k->row->name, text, len))
			return k;
	return NULL;
}

/* `flags`: only options without value. */
static bool abbreviates(const char *text, size_t len, bool flags, const struct known *k)
{
	return k->row->name && !(flags && k->option->argument) && option_name_begins(k->row->name, text, len);
}

/* Finds names that begin with the text; several names of one option count once. */
static enum match known_abbreviated(const struct read *r, const char *text, size_t len, bool flags,
				    const struct known **found, const struct known **second)
{
	const struct known *end = r->known + r->n_known;

	*found = *second = NULL;
	for (const struct known *k = r->known; k < end; k++)
		if (abbreviates(text, len, flags, k) &&
		    (!*found || strlen(k->row->name) < strlen((*found)->row->name)))
			*found = k;
	/* Of --interval and --interval-clear, --int is the former. */
	for (const struct known *k = r->known; k < end && *found && !*second; k++)
		if (abbreviates(text, len, flags, k) && k->option != (*found)->option &&
		    strncmp(k->row->name, (*found)->row->name, strlen((*found)->row->name)))
			*second = k;
	return *second ? MATCH_MANY : *found ? MATCH_ONE : MATCH_NONE;
}

/* Whether a text is a name, or means one: "no-NAME", or NAME for "no-NAME", as perf has it. */
static bool means(const char *name, const char *text, size_t len)
{
	return option_name_is(name, text, len) ||
	       (len > 3 && option_name_begins("no-", text, 3) && option_name_is(name, text + 3, len - 3)) ||
	       (!strncmp(name, "no-", 3) && option_name_is(name + 3, text, len));
}

/* By a long name, its abbreviation, or either with "no-"; *second: another match of MATCH_MANY. */
static enum match known_find(const struct read *r, const char *text, size_t len, const struct known **found,
			     const struct known **second)
{
	bool no = len > 3 && option_name_begins("no-", text, 3);
	enum match m;

	if ((*found = known_exact(r, text, len)))
		return MATCH_ONE;
	for (*found = r->known; *found < r->known + r->n_known; ++*found)
		if ((*found)->row->name && !(*found)->option->argument && means((*found)->row->name, text, len))
			return MATCH_NEGATED;
	m = known_abbreviated(r, text, len, false, found, second);
	if (m == MATCH_NONE && no && (m = known_abbreviated(r, text + 3, len - 3, true, found, second)) == MATCH_ONE)
		return MATCH_NEGATED;
	return m;
}

/* The text for something typed that the command at hand answers; NULL: none. */
static const char *hint_here(const struct read *r, const char *typed)
{
	for (const struct hint *h = hints; h < hints + N_HINTS; h++) {
		const char *word = h->here ? strchr(h->here, '=') : NULL;
		const struct known *k = NULL;

		if (strcmp(h->typed, typed))
			continue;
		if (h->here)
			k = known_exact(r, h->here, word ? (size_t)(word - h->here) : strlen(h->here));
		if (!h->here || !fnmatch(h->here, r->spec->name, 0) ||
		    (k && (!word || (k->option->argument && strstr(k->option->argument, word + 1)))))
			return h->text;
	}
	return NULL;
}

/* The programs, as bits, that have the name, or this name for the letter. */
static unsigned owners(const struct read *r, const char *name, char letter)
{
	unsigned found = 0;

	for (const struct known *k = r->all; k < r->all + r->n_all; k++)
		if (letter ? k->row->letter == letter && !strcmp(k->option->name, name) :
			     k->row->name && !strcmp(k->row->name, name))
			found |= k->program;
	return found;
}

/* "--NAME belongs to pmrec and pmrep stat: HINT", or "-L belongs to pmrec (--NAME): HINT". */
static int refuse_owned(const struct read *r, const char *name, char letter, struct error *e)
{
	bool records = !strncmp(r->spec->name, "pmrec", 5);
	unsigned found = owners(r, name, letter);
	const char *hint = hint_here(r, name);
	char whose[64] = "";
	size_t len = 0;

	if (!found)
		return error_set(e, EINVAL, "--%s is not an option here: %s", name, hint);
	for (unsigned i = 0; i < N_PROGRAMS; i++)
		if (found & 1u << i)
			len += (size_t)snprintf(whose + len, sizeof(whose) - len, "%s%s", len ? " and " : "",
						programs[i].name);
	if (!hint && records && !(found & 1))
		hint = "give it when reporting";
	else if (!hint && !records && found == 1)
		hint = "give it when recording";
	return letter ? error_set(e, EINVAL, "-%c belongs to %s (--%s)%s%s", letter, whose, name, hint ? ": " : "",
				  hint ? hint : "") :
			error_set(e, EINVAL, "--%s belongs to %s%s%s", name, whose, hint ? ": " : "",
				  hint ? hint : "");
}

/* The full name of a text that names an option of a program, or one that none has but for which there is a hint.
 * NULL: there is none. */
static const char *foreign(const struct read *r, const char *text, size_t len)
{
	for (const struct hint *h = hints; h < hints + N_HINTS; h++)
		if (h->typed[1] && !owners(r, h->typed, 0) && means(h->typed, text, len) && hint_here(r, h->typed))
			return h->typed;
	for (const struct known *k = r->all; k < r->all + r->n_all; k++)
		/* Elsewhere, --time abbreviates --timeout. */
		if (k->row->name && strcmp(k->row->name, "time") && means(k->row->name, text, len))
			return k->row->name;
	return NULL;
}

/* Says why the command does not have the letter. */
static void refuse_letter(const struct read *r, char letter, struct error *e)
{
	const char typed[] = { letter, 0 }, *name = NULL, *hint = hint_here(r, typed);

	/* Where the letter means something different to each, the first is named. */
	for (const struct known *k = r->all; k < r->all + r->n_all && !name; k++)
		name = k->row->letter == letter ? k->option->name : NULL;
	if (hint || !name)
		error_set(e, EINVAL, "-%c %s", letter, hint ? hint : "is not an option");
	else
		refuse_owned(r, name, letter, e);
}

/* The option of a letter; NULL with a message in *why (which may be NULL) if there is none. */
static const struct known *known_letter(const struct read *r, char letter, struct error *why)
{
	for (const struct known *k = r->known; k < r->known + r->n_known; k++)
		if (k->row->letter == letter)
			return k;
	if (letter == 'h' || letter == 'v')
		return known_exact(r, letter == 'h' ? "help" : "version", letter == 'h' ? 4 : 7);
	refuse_letter(r, letter, why);
	return NULL;
}

const char *options_nearest(const char *word, const char *const *names, size_t n)
{
	struct nearest near = { .word = word };
	const char *best = NULL;

	for (size_t i = 0; i < n && names[i]; i++) {
		unsigned before = near.n ? near.distance : UINT_MAX;

		nearest_offer(&near, names[i]);
		/* Of equally close names the first wins: tables begin with the most common. */
		if (near.n && near.distance < before)
			best = names[i];
	}
	return best;
}

static int refuse_unknown(struct read *r, const char *dashes, const char *text, size_t len)
{
	SCOPED(scoped_free) const char **names = memory_new(r->n_known, sizeof(*names));
	const char *near;
	char word[81];
	size_t n = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(len > 80 ? 80 : len), text);
	for (size_t i = 0; i < r->n_known; i++)
		if (r->known[i].row->name)
			names[n++] = r->known[i].row->name;
	near = options_nearest(word, names, n);
	return error_set(r->e, EINVAL, "unknown option %s%s; %s%s%s", dashes, word,
			 near ? "did you mean --" : "--help=all lists all options", near ? near : "",
			 near ? "?" : "");
}

static void put(struct read *r, const struct known *k, char *value)
{
	memory_room(&r->said, r->n_said, sizeof(*r->said));
	r->said[r->n_said++] = (struct said){ k->option, k->into, value };
	r->many = k->option->many ? k : NULL;
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
	put(r, k, value);
	return 0;
}

/* A long name, after one or two dashes. -ENOENT: not a name. */
static int take_name(struct read *r, const char *dashes, char *text, size_t len, char *value)
{
	const struct known *found, *second;
	enum match m = known_find(r, text, len, &found, &second);
	/* "--interval" of the other program must not pass as an abbreviation of "--interval-clear". */
	const char *other = foreign(r, text, len);

	if (other && m != MATCH_NEGATED && !(m == MATCH_ONE && option_name_is(found->row->name, text, len)))
		return refuse_owned(r, other, 0, r->e);
	switch (m) {
	case MATCH_ONE:
		return take(r, found, value, dashes, text, len);
	case MATCH_NEGATED:
		if (value)
			return error_set(r->e, EINVAL, "%s%.*s takes no value", dashes, (int)len, text);
		for (size_t i = 0; i < r->n_said; i++)
			if (r->said[i].option == found->option)
				r->said[i].option = NULL;
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
	return -ENOENT;
}

static bool is_cluster(struct read *r, const char *text)
{
	for (; *text; text++) {
		const struct known *k = known_letter(r, *text, NULL);

		if (!k || (k->option->argument && text[1]))
			return false;
	}
	return true;
}

/* A cluster of letters; the last may have its value attached. -ENOENT: one is not an option, for the reason in *why.
 */
static int take_letters(struct read *r, char *text, struct error *why)
{
	size_t n_before = r->n_said;

	for (; *text; text++) {
		const struct known *k = known_letter(r, *text, why);

		if (!k) {
			r->n_said = n_before;
			return -ENOENT;
		}
		/* getopt would not take "-x=,", but its meaning is clear. */
		if (k->option->argument)
			return take(r, k, text[1] == '=' ? text + 2 : text[1] ? text + 1 : NULL, "-", text, 1);
		put(r, k, NULL);
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
		return refuse_unknown(r, dashes, text, strlen(text));
	if (!one_dash || (len > 1 && !is_cluster(r, text)))
		err = take_name(r, dashes, text, len, value);
	if (err == -ENOENT && !one_dash)
		return refuse_unknown(r, dashes, text, len);
	if (err == -ENOENT)
		err = take_letters(r, text, &why);
	if (err != -ENOENT)
		return err;
	if (len > 2 && !isalpha((unsigned char)text[0]))
		return refuse_unknown(r, dashes, text, len);
	/* "-x," needs no hint about where -x is. */
	if (len == 1 || (why.text[0] == '-' && why.text[1] == text[0]))
		return error_set(r->e, EINVAL, "%s", why.text);
	return error_set(r->e, EINVAL, "%s (in -%s)", why.text, text);
}

static bool said_last(const struct read *r, const char *name)
{
	const struct option_row *option = r->n_said ? r->said[r->n_said - 1].option : NULL;

	return option && option->name && !strcmp(option->name, name);
}

/* Reads argv[1..] by the rules of options_parse(). 0 or -errno with the text in *r->e. */
static int read_words(struct read *r)
{
	bool options = true;
	double number;
	int err = 0;

	while (r->at < r->argc && !err) {
		char *word = r->argv[r->at++];

		if (options && !strcmp(word, "--")) {
			options = false;
		} else if (options && word[0] == '-' && word[1]) {
			r->many = NULL;
			err = word[1] == '-' ? take_option(r, "--", word + 2) : take_option(r, "-", word + 1);
		} else if (r->many) {
			put(r, r->many, word);
		} else if (options && r->spec->command && !parse_double(word, &number)) {
			err = error_set(r->e, EINVAL,
					"the command '%s' is a number; for the interval use -i %s, for the number of "
					"intervals -n %s%s",
					word, word, word,
					said_last(r, "transaction") ? "; turbostat's -T is --TCC here" : "");
		} else {
			options &= !r->spec->command;
			r->operand[r->n_operands++] = word;
		}
	}
	return err;
}

void options_append(char ***list, char *text)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = memory_resize(*list, n + 2, sizeof(**list));
	(*list)[n] = text;
	(*list)[n + 1] = NULL;
}

int options_word(const char *option, const char *arg, const char *const *words, unsigned *place, struct error *e)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;
	const char *near;

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
	return error_set(e, EINVAL, "--%s does not take '%s'; use %s", option, arg, buf_str(&all));
}

static int take_word(const struct option_row *row, const char *arg, unsigned *place, struct error *e)
{
	SCOPED(scoped_free) char *names = memory_text(row->argument);
	const char *words[16] = { NULL };
	char *rest = names;
	int err;

	for (size_t n = 0; n < 15 && rest; n++)
		words[n] = strsep(&rest, "|");
	err = options_word(row->name, arg, words, place, e);
	*place += (unsigned)row->least;
	return err;
}

/* Numbers, durations and sizes. */
static int take_number(const struct option_row *row, void *member, const char *arg, struct error *e)
{
	static const char time[] = "--%s: '%s' is not a time: use seconds, or add ms, m or h";
	static const struct {
		int (*parse)(const char *, uint64_t *);
		uint64_t most; /* 0: the row's */
		const char *refusal;
	} kinds[] = {
		[OPTION_AMOUNT] = { parse_u64, 0, NULL },
		[OPTION_TIME] = { parse_duration, INT64_MAX / 4, time },
		[OPTION_MS] = { parse_duration_ms, INT64_MAX / 4, time },
		[OPTION_SIZE] = { parse_size, UINT64_MAX, "--%s: '%s' is not a size such as 10M or 512Ki" },
	};
	uint64_t n = row->number, most = kinds[row->kind].most ? kinds[row->kind].most : row->most;

	if (arg && (kinds[row->kind].parse(arg, &n) || n < row->least || n > most)) {
		if (row->refusal)
			return error_set(e, EINVAL, row->refusal, arg);
		if (row->kind != OPTION_AMOUNT)
			return error_set(e, EINVAL, kinds[row->kind].refusal, row->name, arg);
		return most < UINT32_MAX ?
			       error_set(e, EINVAL, "--%s: '%s' is not a number from %llu to %llu", row->name, arg,
					 (unsigned long long)row->least, (unsigned long long)most) :
			       error_set(e, EINVAL, "--%s: '%s' is not a number%s", row->name, arg,
					 row->least ? " above 0" : "");
	}
	if (row->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)n;
	else
		*(uint64_t *)member = n;
	return 0;
}

int options_take(const struct option_row *row, void *into, char *arg, struct error *e)
{
	void *member = (char *)into + row->at;
	unsigned place = row->number;
	int err = 0;

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
		*(char **)member = arg;
		return 0;
	case OPTION_ONE_OF:
	case OPTION_WORD:
		err = arg ? take_word(row, arg, &place, e) : 0;
		if (!err && row->kind == OPTION_WORD)
			*(unsigned *)member = place;
		else if (!err)
			*(const char **)member = arg ? arg : "";
		return err;
	case OPTION_LIST:
		options_append((char ***)member, arg);
		return 0;
	case OPTION_NUMBER:
		*(unsigned *)member = row->number;
		return 0;
	case OPTION_BITS:
		*(unsigned *)member |= row->number;
		return 0;
	case OPTION_AMOUNT:
	case OPTION_TIME:
	case OPTION_MS:
	case OPTION_SIZE:
		return take_number(row, member, arg, e);
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
	for (; is_row(row); row++) {
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

	for (; is_row(row); row++) {
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

#define OPTIONS_INTO struct options_common

/* Commands without a pager skip the first row. */
static const struct option_row common_rows[] = {
	{ "no-pager", 0, NULL, "do not use a pager", FLAG(no_pager) },
	{ "help", 0, "all", "print the most important options, or with =all every one, and exit", CALL(help),
	  .optional = true },
	{ "version", 0, NULL, "print the version and exit", FLAG(version) },
	{ "color", 0, "auto|always|never", "use colors (auto: on a terminal, unless NO_COLOR is set)",
	  WORD(color) DEFAULT(OPTIONS_COLOR_ALWAYS), .optional = true },
	{ 0 },
};

/* For commands that read recordings, which may come from anyone. */
static const struct option_row reader_rows[] = {
	{ "max-memory", 0, "SIZE",
	  "use at most this much memory (256Mi and 64 times the size of the files, 2Gi at most); 0: no limit",
	  SIZE(max_memory, 0) REFUSAL("--max-memory: '%s' is not a size such as 512Mi") },
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

/* Help or version. */
static void put_text(const struct options_spec *spec, struct options_common *c)
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
	memory_whole(out);
}

static void note_said(const struct read *r, struct options_common *common)
{
	size_t n = 0;

	common->said = memory_new(r->n_said + 1, sizeof(*common->said));
	for (size_t i = 0; i < r->n_said; i++) {
		const struct said *w = &r->said[i];

		if (w->option)
			common->said[n++] = memory_format("--%s%s%s", w->option->name, w->value ? "=" : "",
							  w->value ? w->value : "");
	}
}

/* Applies the options that fill `into`, or with `others` all that do not. */
static int take_said(const struct read *r, const void *into, bool others)
{
	int err = 0;

	for (size_t i = 0; i < r->n_said && !err; i++) {
		const struct said *w = &r->said[i];

		if (w->option && (w->into == into) != others)
			err = options_take(w->option, w->into, w->value, r->e);
	}
	return err;
}

static int parse(struct read *r, void *into, struct options_common *common)
{
	const struct options_spec *spec = r->spec;
	int err;

	add_known(&r->known, &r->n_known, spec->rows, into, 0);
	add_known(&r->known, &r->n_known, common_rows_of(spec), common, 0);
	if (spec->reads)
		add_known(&r->known, &r->n_known, reader_rows, common, 0);
	for (unsigned i = 0; i < N_PROGRAMS; i++)
		add_known(&r->all, &r->n_all, programs[i].rows, NULL, 1u << i);
	if ((err = read_words(r)))
		return err;
	note_said(r, common);
	/* Help is printed even if operands are missing or values are wrong. */
	if ((err = take_said(r, common, false)))
		return err;
	if (common->help || common->version) {
		put_text(spec, common);
		return 1;
	}
	err = take_said(r, common, true);
	if (!err && spec->operands)
		err = spec->operands(into, r->n_operands, r->operand, r->e);
	else if (!err && r->n_operands)
		err = error_set(r->e, EINVAL, "'%s': %s takes no operands", r->operand[0], spec->name);
	return err;
}

int options_parse(const struct options_spec *spec, int argc, char **argv, void *into, struct options_common *common,
		  struct error *e)
{
	struct read r = { .spec = spec, .argc = argc, .at = 1, .e = e };
	int err;

	r.argv = common->argv = memory_new((size_t)argc + 1, sizeof(*common->argv));
	r.operand = common->operand = memory_new((size_t)argc + 1, sizeof(*common->operand));
	for (; common->argc < argc; common->argc++)
		r.argv[common->argc] = memory_text(argv[common->argc]);
	err = parse(&r, into, common);
	free(r.known);
	free(r.all);
	free(r.said);
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
