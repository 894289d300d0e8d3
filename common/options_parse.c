/* The options that every command has, and the order: words, help, options, operands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options_help.h"
#include "common/options_read.h"
#include "common/options_table.h"
#include "common/parse.h"

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
