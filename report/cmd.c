#include "report/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/table.h"
#include "report/input/input.h"

const struct command commands[] = {
	{ "show", "metrics, interval by interval or in total (the default command)", cmd_show },
	{ "stat", "counts as perf stat prints them", cmd_stat },
	{ "info", "what was recorded, on which machine, how well, and what it reveals", cmd_info },
	{ "list", "counters, metrics, events, instances or groups of a recording", cmd_list },
	{ "dump", "raw values and every frame", cmd_dump },
	{ "check", "verify every byte; say what is damaged", cmd_check },
	{ "diff", "is it slower, and can it be believed: two sets of recordings", cmd_diff },
	{ "cut", "copy a part of a recording into a recording", cmd_cut },
	{ "merge", "join consecutive recordings into one", cmd_merge },
	{ "redact", "copy a recording without what tells whose it is", cmd_redact },
	{ "bundle", "redact a recording and make it small enough for an attachment", cmd_bundle },
	{ "plot", "metrics over time, drawn in the terminal", cmd_plot },
	{ "html", "one page of charts and tables that any browser opens", cmd_html },
	{ "eval", "the value of a metric expression", cmd_eval },
	{ 0 },
};

void cmd_complain(const char *command, const char *format, ...)
{
	struct buf line = BUF_INIT, shown = BUF_INIT;
	va_list ap;

	va_start(ap, format);
	buf_vprintf(&line, format, ap);
	va_end(ap);
	text_escape(&shown, buf_str(&line), strlen(buf_str(&line)));
	fprintf(stderr, "%s: %s\n", command, buf_str(&shown));
	buf_release(&line);
	buf_release(&shown);
}

void cmd_complain_lines(const char *command, const char *what, struct buf *lines)
{
	for (const char *line = buf_str(lines); *line;) {
		size_t len = strcspn(line, "\n");

		cmd_complain(command, "%s: %.*s", what, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

int cmd_fail(const char *command, const struct error *e)
{
	cmd_complain(command, "%s", e->text[0] ? e->text : strerror(e->number));
	return EXIT_TROUBLE;
}

int cmd_write(const char *command, struct buf *b)
{
	if (b->err) {
		cmd_complain(command, "out of memory");
		return EXIT_TROUBLE;
	}
	if (b->len)
		fwrite(b->data, 1, b->len, stdout);
	buf_clear(b);
	return 0;
}

unsigned cmd_width(int fd)
{
	struct winsize size;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common)
{
	struct error e = { 0 };
	int r = options_parse(spec, argc, argv, input, common, &e);

	if (!r)
		return -1;
	if (r < 0)
		return cmd_fail(spec->name, &e);
	return cmd_write(spec->name, &common->text);
}

error_t cmd_format(struct argp_state *state, const char *arg, const char *text, bool *json)
{
	*json = !strcmp(arg, "json");
	if (*json || !strcmp(arg, text))
		return 0;
	return options_bad(state, "--format=%s: %s or json", arg, text);
}

error_t cmd_files(int key, struct argp_state *state, struct cmd_files *files)
{
	switch (key) {
	case ARGP_KEY_ARGS:
		*files = (struct cmd_files){ state->argv + state->next, state->argc - state->next };
		return 0;
	case ARGP_KEY_NO_ARGS:
		return options_bad(state, "no recording given; --help shows how it goes");
	}
	return ARGP_ERR_UNKNOWN;
}

static int help(void)
{
	printf("Usage: pmrep [COMMAND] [OPTION...] FILE...\n"
	       "Report on recordings of pmrec. FILE may be - for standard input, and .gz or .zst.\n\n"
	       "Commands:\n");
	for (const struct command *c = commands; c->name; c++)
		printf("  %-7s %s\n", c->name, c->help);
	printf("\nExamples:\n"
	       "  pmrep host.pmr                     all there is, in a table\n"
	       "  pmrep host.pmr --total --per-cpu   one row a CPU over the whole recording\n"
	       "  pmrep host.pmr --format=csv        for programs\n"
	       "  pmrec -o - | pmrep -               live\n\n"
	       "pmrep COMMAND --help says more, pmrep COMMAND --help=all everything.\n"
	       "Exit status: 0 good, 1 damage found (check) or regressed (diff), 2 trouble, 3 damaged input, "
	       "4 inconclusive.\n");
	return EXIT_GOOD;
}

/* A first word that is neither a command nor anything in the file system is rather a typing error than a file. */
static int unknown_command(const char *word)
{
	const char *names[sizeof(commands) / sizeof(*commands)];
	const char *near;
	size_t n = 0;

	for (const struct command *c = commands; c->name; c++)
		names[n++] = c->name;
	near = options_nearest(word, names, n);
	if (near)
		cmd_complain("pmrep", "'%s' is neither a command nor a file; did you mean '%s'?", word, near);
	else
		cmd_complain("pmrep", "'%s' is neither a command nor a file; pmrep --help lists the commands", word);
	return EXIT_TROUBLE;
}

int pmrep_run(int argc, char **argv)
{
	if (argc < 2) {
		cmd_complain("pmrep", "no recording given; pmrep --help shows how it goes");
		return EXIT_TROUBLE;
	}
	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(argv[1], c->name))
			return c->run(argc - 1, argv + 1);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-help"))
		return help();
	if (argv[1][0] != '-' && !strpbrk(argv[1], "./") && access(argv[1], F_OK) && !input_is_pcp(argv[1]))
		return unknown_command(argv[1]);
	return commands[0].run(argc, argv);
}
