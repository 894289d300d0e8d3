/* pmrep html: a self-contained page about one recording or two. */
#include "report/cmd_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "report/input/input.h"
#include "report/input/spool.h"
#include "report/machine/value_out.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep html [OPTION...] -o PAGE.html FILE [FILE]\n"
	"Make one page of a recording, or of two side by side, that any browser opens from disk: charts, CPUs\n"
	"over time, outliers, every metric, events, and the machine. The page loads nothing.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep html -o report.html host.pmr\n"
	"  pmrep html --max-size=2M --show=util,freq -o small.html host.pmr\n"
	"  pmrep html -o compared.html before.pmr after.pmr\n";

#define MAX_SIZE_DEFAULT 10000000
/* Browsers limit strings to 512 MiB, and a page becomes more than one string. */
#define MAX_SIZE_MOST 256000000

struct html {
	struct cmd_copy copy; /* first */
	uint64_t max_bytes;
	struct pipeline_config config;
};

#define OPTIONS_INTO struct html
static const struct option_row rows[] = {
	CMD_COPY_OPTIONS,
	{ "max-size", 0, "SIZE", "size limit of the page (10M); the page says what was reduced", SIZE(max_bytes, 1) },
	{ "since", 0, "TIME",
	  "only from TIME on: seconds from the start, -SECONDS before the end, 2026-01-31T12:00:00Z or @SECONDS",
	  READ(config.since, read_moment) },
	{ "until", 0, "TIME", "only up to TIME", READ(config.until, read_moment) },
	{ "show", 's', "LIST", "chart these metrics, as for pmrep show", READ(config.selection, read_show) },
	{ "hide", 'H', "LIST", "do not chart these metrics", READ(config.selection, read_hide) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	const struct html *h = into;

	if (n > HTML_RECORDINGS)
		return error_set(e, EINVAL, "html takes one recording, or two to compare; pmrep merge joins several");
	if (h->max_bytes > MAX_SIZE_MOST)
		return error_set(e, EINVAL, "--max-size: at most 256M; browsers cannot handle larger pages");
	return cmd_copy_files(into, n, operand, e);
}

static const struct options_spec spec = {
	.name = "pmrep html",
	.rows = rows,
	.operands = operands,
	.operands_doc = "FILE [FILE]",
	.brief = brief,
};

/* Errors name the file that the user knows. */
static void call_by_name(struct error *e, const struct spool *s)
{
	size_t len = strlen(s->path);
	struct error as_told = *e;

	if (s->fd >= 0 && !strncmp(e->text, s->path, len))
		snprintf(e->text, sizeof(e->text), "%s%s", s->name, as_told.text + len);
}

static int collect(struct html_recording *r, const struct html *h, const struct spool *s, struct error *e)
{
	int err = html_collect(r, s->path, s->name, &h->config, e);

	if (!err)
		err = html_facts(r, s->path, e);
	if (!err && !r->intervals)
		err = error_set(e, ENODATA, "%s: nothing to show: %s", s->name,
				r->snapshots ? "an interval needs two snapshots" : "no snapshot");
	if (err)
		call_by_name(e, s);
	return err;
}

/* What is missing, unless it is still being written. */
static int judge(struct html_recording *r, const char *path)
{
	bool open = r->result.cut_only && !r->result.damaged && input_being_written(path);

	if (!open)
		cmd_complain_lines(spec.name, path, &r->result.notes);
	return !open && (r->result.damaged || r->result.cut_only) ? EXIT_DAMAGED : EXIT_GOOD;
}

static int run(void *input, const struct options_common *common)
{
	struct html *h = input;
	size_t n = (size_t)h->copy.files.n;
	struct html_recording recording[HTML_RECORDINGS] = { 0 };
	struct spool source[HTML_RECORDINGS] = { { .fd = -1 }, { .fd = -1 } };
	struct html_page page = { .recording = recording, .n = n, .max_bytes = h->max_bytes };
	struct outfile out = { .fd = -1 };
	SCOPED(buf_release) struct buf counts = BUF_INIT, verdicts = BUF_INIT, size = BUF_INIT;
	struct error e = { 0 };
	int err, status = EXIT_GOOD;

	/* Open the output first: reading takes long, and a refusal should not. */
	err = outfile_open(&out, h->copy.output, h->copy.overwrite | OUTFILE_PRIVATE, h->copy.files.path, n, &e);
	for (size_t i = 0; i < n && !err; i++) {
		/* The input is read several times. */
		err = spool_open(&source[i], h->copy.files.path[i], SPOOL_TWICE, &e);
		if (!err)
			err = collect(&recording[i], h, &source[i], &e);
		if (!err && judge(&recording[i], source[i].name) != EXIT_GOOD)
			status = EXIT_DAMAGED;
	}
	if (!err && n == 2) {
		html_verdicts(source[0].path, source[1].path, &h->config.selection, &verdicts, &counts);
		page.verdicts = &verdicts;
		page.verdict_counts = buf_str(&counts);
	}
	if (!err)
		err = html_page_write(&page, &out, &e);
	html_put_size(&size, out.bytes);
	err = outfile_end(&out, err, &e);
	if (err)
		status = cmd_fail(spec.name, &e);
	else
		cmd_complain(spec.name, "%s: %s, %zu recording%s",
			     strcmp(h->copy.output, "-") ? h->copy.output : "stdout", buf_str(&size), n, plural(n));
	if (!err && page.reduced.len)
		cmd_complain_lines(spec.name, "reduced", &page.reduced);
	buf_release(&page.reduced);
	for (size_t i = 0; i < HTML_RECORDINGS; i++) {
		html_recording_release(&recording[i]);
		spool_close(&source[i]);
	}
	return status;
}

int cmd_html(int argc, char **argv)
{
	struct html h = { .max_bytes = MAX_SIZE_DEFAULT, .config = { .bind = { .rate = true } } };
	int r = cmd_run(&spec, argc, argv, &h, run);

	selection_release(&h.config.selection);
	return r;
}
