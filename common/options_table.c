/* The option tables of all programs, so that an option given to the wrong program gets an answer that names the right
 * one. */
#include "common/options_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/options_known.h"

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
