/* Between main() and argp: help, version, color and memory, which all commands share, and errors as text that the caller
 * prints. */
#include "common/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options_internal.h"
#include "common/options_known.h"
#include "common/options_table.h"
#include "common/parse.h"

/* The argp that argp_parse() sees: options_bad() finds the error through state->root_argp, which points here. */
struct root_argp {
	struct argp argp; /* first */
	const struct options_spec *spec;
	struct error *error;
	void *input;
	struct options_common *common;
};

enum { KEY_HELP = 0x10000, KEY_VERSION, KEY_COLOR, KEY_NO_PAGER, KEY_MAX_MEMORY };

/* What has a pager begins with the row that others leave out. */
static const struct argp_option common_options[] = {
	{ "no-pager", KEY_NO_PAGER, NULL, 0, "do not use a pager", 0 },
	{ "help", KEY_HELP, "all", OPTION_ARG_OPTIONAL,
	  "print the most important options, or with =all every one, and exit", 0 },
	{ "version", KEY_VERSION, NULL, 0, "print the version and exit", 0 },
	{ "color", KEY_COLOR, "auto|always|never", OPTION_ARG_OPTIONAL,
	  "use colors (auto: on a terminal, unless NO_COLOR is set)", 0 },
	{ 0 },
};

/* Of what reads recordings, which may be anybody's. */
static const struct argp_option reader_options[] = {
	{ "max-memory", KEY_MAX_MEMORY, "SIZE", 0,
	  "use at most this much memory (256Mi and 64 times the size of the files, 2Gi at most); 0: no limit", 0 },
	{ 0 },
};

static error_t common_parse(int key, char *arg, struct argp_state *state)
{
	struct options_common *c = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		/* Of those of what reads recordings, if there are any. */
		if (state->child_inputs)
			state->child_inputs[0] = c;
		return 0;
	case KEY_MAX_MEMORY:
		return parse_size(arg, &c->max_memory) ?
			       options_bad(state, "--max-memory: '%s' is not a size such as 512Mi", arg) :
			       0;
	case KEY_HELP:
		if (arg && strcmp(arg, "all") && strcmp(arg, "options"))
			return options_bad(state, "--help=%s: use --help, --help=all or --help=options", arg);
		c->help = arg ? *arg : 'h';
		return 0;
	case KEY_VERSION:
		c->version = true;
		return 0;
	case KEY_NO_PAGER:
		c->no_pager = true;
		return 0;
	case KEY_COLOR:
		if (!arg || !strcmp(arg, "always"))
			c->color = OPTIONS_COLOR_ALWAYS;
		else if (!strcmp(arg, "never"))
			c->color = OPTIONS_COLOR_NEVER;
		else if (!strcmp(arg, "auto"))
			c->color = OPTIONS_COLOR_AUTO;
		else
			return options_bad(state, "--color=%s: use auto, always or never", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp *options_common_of(const struct options_spec *spec)
{
	static const struct argp reader = { .options = reader_options, .parser = common_parse };
	static const struct argp_child of_reader[] = { { &reader, 0, NULL, 0 }, { 0 } };
	static const struct argp argp[2][2] = {
		{ { .options = common_options + 1, .parser = common_parse },
		  { .options = common_options, .parser = common_parse } },
		{ { .options = common_options + 1, .parser = common_parse, .children = of_reader },
		  { .options = common_options, .parser = common_parse, .children = of_reader } },
	};

	return &argp[spec->reads][spec->paged != NULL];
}

static error_t root_parse(int key, char *arg, struct argp_state *state)
{
	const struct root_argp *root = (const struct root_argp *)state->root_argp;

	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = root->input;
	state->child_inputs[1] = root->common;
	return 0;
}

static error_t parse_rows(int key, char *arg, struct argp_state *state)
{
	const struct options_spec *spec = ((const struct root_argp *)state->root_argp)->spec;
	error_t r = options_take_row(spec->rows, state->input, key, arg, state);

	return r == ARGP_ERR_UNKNOWN && spec->operands ? spec->operands(key, arg, state) : r;
}

error_t options_bad(struct argp_state *state, const char *format, ...)
{
	const struct root_argp *root = (const struct root_argp *)state->root_argp;
	struct error text;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text.text, sizeof(text.text), format, ap);
	va_end(ap);
	error_set(root->error, EINVAL, "%s", text.text);
	return EINVAL;
}

static int help_all(const struct options_spec *spec, const struct argp *argp, struct buf *out)
{
	char *text = NULL, *name = strdup(spec->name);
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	if (!f || !name) {
		if (f)
			fclose(f);
		free(text);
		free(name);
		return -ENOMEM;
	}
	argp_help(argp, f, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
	fclose(f);
	buf_add(out, text, len);
	free(text);
	free(name);
	return out->err;
}

/* For completion and manual pages, a line for each long name: "--name", or "--name=" if it needs an argument; that
 * argument; the letters, such as "-c -C"; the help, empty for another name of the option before it. TABs separate them. */
static int list_options(const struct options_spec *spec, struct buf *out)
{
	struct known_options known = { 0 };
	int err = known_collect(&known, spec->argp);

	err = err ? err : known_collect(&known, options_common_of(spec));
	for (size_t i = 0; i < known.n && !err; i++) {
		const struct known *k = &known.option[i];

		if (!k->name || k->hidden)
			continue;
		buf_printf(out, "--%s%s\t%s\t", k->name, k->arg == ARG_NEEDED ? "=" : "",
			   k->arg_name ? k->arg_name : "");
		for (size_t j = i; j < known.n && known.option[j].same == i; j++)
			if (known.option[j].key < 128 && isalpha(known.option[j].key))
				buf_printf(out, "%s-%c", j > i ? " " : "", known.option[j].key);
		buf_printf(out, "\t%s\n", k->doc ? k->doc : "");
	}
	free(known.option);
	return err ? err : out->err;
}

static int common_text(const struct options_spec *spec, const struct argp *argp, struct options_common *c)
{
	if (c->help == 'o')
		return list_options(spec, &c->text);
	if (c->help == 'h' && spec->brief) {
		buf_addstr(&c->text, spec->brief);
		return c->text.err;
	}
	if (c->help)
		return help_all(spec, argp, &c->text);
	/* The program, not the command: "pmrep 0.1.0". */
	buf_printf(&c->text, "%.*s %s\n", (int)strcspn(spec->name, " "), spec->name, PM_VERSION);
	return c->text.err;
}

static int parse(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common,
		 struct error *e)
{
	const struct argp_child children[] = {
		{ spec->argp, 0, NULL, 0 },
		{ options_common_of(spec), 0, "Common options:", 90 },
		{ 0 },
	};
	struct error own = { 0 };
	struct root_argp root = {
		.argp = { .parser = root_parse, .children = children },
		.spec = spec,
		.error = &own,
		.input = input,
		.common = common,
	};
	int r = options_rewrite(spec, argc, argv, &common->argc, &common->argv, e);

	if (r)
		return r;
	/* A request for help is answered also where operands are missing or values are wrong. */
	r = argp_parse(&root.argp, common->argc, common->argv, ARGP_NO_ERRS | ARGP_NO_EXIT | ARGP_NO_HELP, NULL,
		       NULL);
	if (common->help || common->version) {
		r = common_text(spec, &root.argp, common);
		return r ? error_set(e, -r, "out of memory") : 1;
	}
	if (!r)
		return 0;
	if (own.number)
		return error_set(e, own.number, "%s", own.text);
	if (r == ENOMEM)
		return error_set(e, ENOMEM, "out of memory");
	return error_set(e, EINVAL, "wrong usage; try --help");
}

int options_parse(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common,
		  struct error *e)
{
	struct argp_option *options = spec->rows ? options_of_rows(spec->rows) : NULL;
	const struct argp argp = { .options = options, .parser = parse_rows, .args_doc = spec->operands_doc };
	struct options_spec of_rows = *spec;
	int r;

	if (spec->rows && !options)
		return error_set(e, ENOMEM, "out of memory");
	of_rows.argp = spec->rows ? &argp : spec->argp;
	r = parse(&of_rows, argc, argv, input, common, e);
	free(options);
	return r;
}

void options_common_release(struct options_common *common)
{
	options_argv_free(common->argv);
	buf_release(&common->text);
	*common = (struct options_common){ 0 };
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
