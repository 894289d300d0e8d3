/* pmrep incidents: what happened, and when. */
#include "report/cmd.h"

#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "common/number.h"
#include "common/table.h"
#include "report/incident/incident.h"
#include "report/input/input.h"
#include "report/input/spool.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep incidents [OPTION...] FILE...\n"
	"Say what happened in recordings, and when, most striking first.\n\n"
	"Search every metric at every level, shown by default or not, for periods that differ from the rest,\n"
	"slow drifts, CPUs that differ from their peers, lost ticks and damage.\n\n" OPTIONS_LIST "\n"
	"Examples:\n"
	"  pmrep incidents host.pmr\n"
	"  pmrep incidents --format=json host.pmr | jq -r .text\n";

#define TOP        10
#define TOP_UNSAID UINT32_MAX

struct asked {
	struct cmd_files files; /* first */
	enum { FORMAT_TABLE, FORMAT_JSON, FORMAT_MARKDOWN } format;
	struct pipeline_config config;
	uint32_t top;
};

#define OPTIONS_INTO struct asked
static const struct option_row rows[] = {
	{ "top", 0, "N", "at most N incidents per recording (10, for json all; 0: all)",
	  AMOUNT(top, 0, TOP_UNSAID - 1) },
	{ "format", 0, "table|json|markdown", "table (default), json: one object per line, or markdown",
	  WORD(format) },
	{ "since", 0, "TIME", "only from TIME on, as for pmrep show", READ(config.since, read_moment) },
	{ "until", 0, "TIME", "only up to TIME", READ(config.until, read_moment) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep incidents",
	.rows = rows,
	.operands = cmd_files,
	.operands_doc = "FILE...",
	.brief = brief,
	.paged = options_always_paged,
};

static void put_json(const struct incidents *found, uint32_t n, struct buf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		SCOPED(json_scoped) struct json *j = incident_json(found, i);

		json_print(j, 0, out);
		buf_addch(out, '\n');
	}
}

static void put_table(const struct incidents *found, uint32_t n, bool markdown, bool color, struct buf *out)
{
	struct table *t = table_new();
	SCOPED(buf_release) struct buf text = BUF_INIT;

	table_column(t, "WHEN", TABLE_LEFT, false);
	table_column(t, "TIME (UTC)", TABLE_LEFT, false);
	table_column(t, "WHAT", TABLE_LEFT, true);
	for (uint32_t i = 0; i < n; i++) {
		const struct incident *x = &found->incident[i];
		char when[64] = "";

		buf_clear(&text);
		incident_put_time(found, x, &text);
		if (found->start_wall_ns) {
			number_time(when, (uint64_t)(found->start_wall_ns + (int64_t)(x->from_s * 1e9)), 0);
			when[10] = ' ';
			when[19] = '\0';
		}
		memory_whole(&text);
		table_texts(t, (const char *const[]){ buf_str(&text), when, x->text }, 3);
	}
	if (markdown)
		table_markdown(t, out);
	else
		table_print(t, cmd_width(STDOUT_FILENO), true, color, out);
	table_free(t);
}

static int one_file(const void *input, const char *path, const struct options_common *common)
{
	const struct asked *a = input;
	SCOPED(buf_release) struct buf out = BUF_INIT;
	SCOPED(incidents_release) struct incidents found = { 0 };
	SCOPED(spool_close) struct spool source = { .fd = -1 };
	struct error e = { 0 };
	uint32_t n;

	/* It is read more than once. */
	if (spool_open(&source, path, SPOOL_TWICE, &e))
		return cmd_fail(spec.name, &e);
	if (incidents_find(&found, source.path, source.name, &a->config, &e))
		return cmd_fail(spec.name, &e);
	n = a->top == TOP_UNSAID ? a->format == FORMAT_JSON ? found.n : TOP : a->top ? a->top : found.n;
	n = n < found.n ? n : found.n;
	cmd_complain_lines(spec.name, path, &found.result.notes);
	if (a->files.n > 1 && a->format != FORMAT_JSON) {
		text_escape(&out, input_name(path), strlen(input_name(path)));
		buf_addstr(&out, ":\n");
	}
	if (a->format == FORMAT_JSON)
		put_json(&found, n, &out);
	else if (!n)
		buf_printf(&out, "Nothing stands out among %u series over %.*f s.\n", found.n_scanned,
			   found.duration_s < 10 ? 2 : 0, found.duration_s);
	else
		put_table(&found, n, a->format == FORMAT_MARKDOWN, options_use_color(common, STDOUT_FILENO), &out);
	if (n < found.n && a->format == FORMAT_TABLE)
		buf_printf(&out, "%u more; --top=0 lists all\n", found.n - n);
	cmd_write(&out);
	return cmd_judge(&found.result, path, false);
}

int cmd_incidents(int argc, char **argv)
{
	return cmd_run_each(&spec, argc, argv, &(struct asked){ .top = TOP_UNSAID }, one_file);
}
