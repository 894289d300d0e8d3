/* pmrep html: one page that needs nothing else, of a recording or of two. */
#include "report/cmd.h"
#include "report/commands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "report/html/html.h"
#include "report/input/input.h"
#include "report/input/spool.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep html [OPTION...] -o PAGE.html FILE [FILE]\n"
	"Make one page of a recording, or of two beside each other, that any browser opens from disk: charts, CPUs\n"
	"over time, outliers, every metric, events, and the machine. The page loads nothing.\n\n"
	"  -o, --output=FILE      output file; - is stdout\n"
	"      --max-size=SIZE    at most this size (default 10M); the page says what was reduced\n"
	"      --since=TIME       only from TIME on: seconds from the start, -SECONDS before the end,\n"
	"      --until=TIME       2026-01-31T12:00:00Z, @SECONDS; and up to TIME\n"
	"  -s, --show=LIST        draw these metrics; as for pmrep show\n"
	"  -H, --hide=LIST        and not these\n"
	"      --overwrite        replace PAGE.html\n\n"
	"Examples:\n"
	"  pmrep html -o report.html host.pmr\n"
	"  pmrep html --max-size=2M --show=util,freq -o small.html host.pmr\n"
	"  pmrep html -o compared.html before.pmr after.pmr\n";

#define MAX_SIZE_DEFAULT 10000000
/* Strings of browsers end at 512 MiB, and a page is a string more than once. */
#define MAX_SIZE_MOST 256000000

enum { KEY_MAX_SIZE = 1000, KEY_SINCE, KEY_UNTIL, KEY_OVERWRITE };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "output file; - is stdout", 0 },
	{ "max-size", KEY_MAX_SIZE, "SIZE", 0, "at most this size", 0 },
	{ "since", KEY_SINCE, "TIME", 0, "only from TIME on", 0 },
	{ "until", KEY_UNTIL, "TIME", 0, "only up to TIME", 0 },
	{ "show", 's', "LIST", 0, "draw these metrics", 0 },
	{ "hide", 'H', "LIST", 0, "do not draw these metrics", 0 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "replace the output", 0 },
	{ 0 },
};

struct html {
	const char *output;
	uint64_t max_bytes;
	unsigned overwrite; /* OUTFILE_OVERWRITE or 0 */
	struct pipeline_config config;
	char **file;
	size_t n_files;
};

static error_t set_moment(struct argp_state *state, struct moment *m, const char *arg)
{
	struct error e = { 0 };

	return moment_parse(m, arg, &e) ? options_bad(state, "%s", e.text) : 0;
}

static error_t set_size(struct argp_state *state, struct html *h, const char *arg)
{
	if (parse_size(arg, &h->max_bytes) || !h->max_bytes)
		return options_bad(state, "--max-size: '%s' is not a size such as 10M or 500k", arg);
	if (h->max_bytes > MAX_SIZE_MOST)
		return options_bad(state, "--max-size: browsers bear no page above 256 MB");
	return 0;
}

static error_t select_metrics(struct argp_state *state, struct html *h, enum selection_verb verb, const char *arg)
{
	struct error e = { 0 };

	return selection_add(&h->config.selection, verb, arg, &e) ? options_bad(state, "%s", e.text) : 0;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct html *h = state->input;

	switch (key) {
	case 'o':
		h->output = arg;
		return 0;
	case KEY_MAX_SIZE:
		return set_size(state, h, arg);
	case KEY_SINCE:
		return set_moment(state, &h->config.since, arg);
	case KEY_UNTIL:
		return set_moment(state, &h->config.until, arg);
	case 's':
		return select_metrics(state, h, SELECT_SHOW, arg);
	case 'H':
		return select_metrics(state, h, SELECT_HIDE, arg);
	case KEY_OVERWRITE:
		h->overwrite = OUTFILE_OVERWRITE;
		return 0;
	case ARGP_KEY_ARGS:
		h->file = state->argv + state->next;
		h->n_files = (size_t)(state->argc - state->next);
		return h->n_files > HTML_RECORDINGS ?
			       options_bad(state, "a page shows one recording or two; pmrep merge joins several") :
			       0;
	case ARGP_KEY_NO_ARGS:
		return options_bad(state, "no recording given; try --help");
	case ARGP_KEY_END:
		return h->output ? 0 : options_bad(state, "no output given; -o FILE names it, -o - is stdout");
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "FILE [FILE]" };
static const struct options_spec spec = {
	.name = "pmrep html",
	.column = OPTIONS_OTHER,
	.argp = &argp,
	.brief = brief,
};

/* Errors name what people know. */
static void call_by_name(struct error *e, const struct spool *s)
{
	size_t len = strlen(s->path);
	struct error as_told = *e;

	if (s->fd >= 0 && !strncmp(e->text, s->path, len))
		snprintf(e->text, sizeof(e->text), "%s%s", s->name, as_told.text + len);
}

static int collect(struct html_recording *r, const struct html *h, const struct spool *s, struct error *e)
{
	int err = html_collect(r, s->path, &h->config, e);

	if (!err && s->fd >= 0) {
		free(r->path);
		r->path = strdup(s->name);
		err = r->path ? 0 : error_sys(e, ENOMEM, "%s", s->name);
	}
	if (!err)
		err = html_facts(r, s->path, e);
	if (!err && html_index(r))
		err = error_sys(e, ENOMEM, "%s", s->name);
	if (!err && !r->intervals)
		err = error_set(e, ENODATA, "%s: nothing to show: %s", s->name,
				r->snapshots ? "an interval needs two snapshots" : "no snapshot");
	if (err)
		call_by_name(e, s);
	return err;
}

static int judge(struct html_recording *r, const char *path)
{
	bool open = r->result.cut_only && !r->result.damaged && input_being_written(path);

	if (!open)
		cmd_complain_lines(spec.name, path, &r->result.notes);
	return !open && (r->result.damaged || r->result.cut_only) ? EXIT_DAMAGED : EXIT_GOOD;
}

static void tell(const struct html *h, uint64_t bytes)
{
	struct buf line = BUF_INIT;

	html_put_size(&line, bytes);
	cmd_complain(spec.name, "%s: %s, %zu recording%s", strcmp(h->output, "-") ? h->output : "stdout",
		     buf_str(&line), h->n_files, plural(h->n_files));
	buf_release(&line);
}

static int run(struct html *h)
{
	struct html_recording recording[HTML_RECORDINGS] = { 0 };
	struct spool source[HTML_RECORDINGS] = { { .fd = -1 }, { .fd = -1 } };
	struct html_page page = { .recording = recording, .n = h->n_files, .max_bytes = h->max_bytes };
	struct outfile out = { .fd = -1 };
	struct buf verdicts = BUF_INIT, counts = BUF_INIT;
	struct error e = { 0 };
	uint64_t bytes = 0;
	int err, status = EXIT_GOOD;

	/* First, because reading takes long and a refusal does not. */
	err = outfile_open(&out, h->output, h->overwrite, h->file, h->n_files, &e);
	for (size_t i = 0; i < h->n_files && !err; i++) {
		/* It is read several times over. */
		err = spool_open(&source[i], h->file[i], SPOOL_TWICE, &e);
		if (!err)
			err = collect(&recording[i], h, &source[i], &e);
		if (!err && judge(&recording[i], source[i].name) != EXIT_GOOD)
			status = EXIT_DAMAGED;
	}
	if (!err && h->n_files == 2) {
		html_verdicts(source[0].path, source[1].path, &h->config.selection, &verdicts, &counts);
		page.verdicts = &verdicts;
		page.verdict_counts = buf_str(&counts);
	}
	if (!err)
		err = html_page_write(&page, &out, &e);
	bytes = out.bytes;
	err = outfile_end(&out, err, &e);
	if (err)
		status = cmd_fail(spec.name, &e);
	else
		tell(h, bytes);
	if (!err && page.reduced.len)
		cmd_complain_lines(spec.name, "reduced", &page.reduced);
	buf_release(&page.reduced);
	buf_release(&verdicts);
	buf_release(&counts);
	for (size_t i = 0; i < HTML_RECORDINGS; i++) {
		html_recording_release(&recording[i]);
		spool_close(&source[i]);
	}
	return status;
}

int cmd_html(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct html h = { .max_bytes = MAX_SIZE_DEFAULT, .config = { .bind = { .rate = true } } };
	int r = cmd_options(&spec, argc, argv, &h, &common);

	if (r < 0)
		r = run(&h);
	selection_release(&h.config.selection);
	options_common_release(&common);
	return r;
}
