/* pmrep plot: metrics over time, drawn with characters. */
#include "report/cmd.h"

#include <errno.h>
#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/input/input.h"
#include "report/pipeline/options_read.h"
#include "report/pipeline/pipeline.h"
#include "report/plot/plot.h"

#define NAME          "pmrep plot"
#define WIDTH_DEFAULT 80
#define WIDTH_MIN     20
#define WIDTH_MAX     1000
#define HEIGHT_LINES  12
#define HEIGHT_HEAT   64

static const char brief[] =
	"Usage: pmrep plot [OPTION...] METRIC... FILE\n"
	"Plot metrics of a recording over time, in the terminal. Metrics with the same unit share a chart.\n\n"
	"      --per-package     one line per package; or --per-die, core, node, cpu, task, cgroup, device, pmu, "
	"...\n"
	"  -c, --cpu=SET         one line for each of these CPUs\n"
	"      --heatmap         one row per CPU, or another level, instead of lines\n"
	"      --since=TIME, --until=TIME, --every=SEC\n"
	"      --width=COLUMNS   of the picture; --height=ROWS  of each chart\n"
	"      --ascii           no Braille or block characters\n\n"
	"Examples:\n"
	"  pmrep plot util host.pmr\n"
	"  pmrep plot pkgwatt pkgtmp --per-package host.pmr\n"
	"  pmrep plot --heatmap util host.pmr\n";

struct plotting {
	struct sink sink; /* first */
	struct bins bins;
	struct pipeline_config pipeline;
	struct plot_style style; /* sizes 0: not given */
	enum pm_kind per;        /* PM_KINDS: not given */
	bool heatmap, ascii;
	char **word; /* metrics, and the recording after them; borrowed */
	int n_words;
};

#define OPTIONS_INTO struct plotting
#define PER(kind)    NUMBER(per, kind)
static const struct option_row rows[] = {
	{ .help = "Lines:" },
	{ "per-system", 0, NULL, "one line for the whole system (the default)", PER(PM_SYSTEM) },
	OPTIONS_PER(PER, "one line per"),
	{ "cpu", 'c', "SET", "one line for each of these CPUs (0,2..5), or for one per core or package",
	  READ(pipeline.sheet, read_rows) },
	{ "heatmap", 0, NULL, "one row per CPU (or another level) by time, instead of lines", FLAG(heatmap) },
	{ .help = "Time:" },
	{ "since", 0, "TIME", "start here: seconds from the start, -SECONDS from the end, or a date",
	  READ(pipeline.since, read_moment) },
	{ "until", 0, "TIME", "end here", READ(pipeline.until, read_moment) },
	{ "every", 0, "SEC", "join intervals into longer ones", READ(pipeline, read_every) },
	{ .help = "Picture:" },
	{ "width", 0, "COLUMNS", "width of the picture (the terminal's, or $COLUMNS, or 80)",
	  AMOUNT(style.width, WIDTH_MIN, WIDTH_MAX) },
	{ "height", 0, "ROWS", "height of a chart (12), or largest height of a heat map (64)",
	  AMOUNT(style.height, 2, WIDTH_MAX) },
	{ "ascii", 0, NULL, "ASCII only (default if the locale is not UTF-8)", FLAG(ascii) },
	{ 0 },
};

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct plotting *o = into;

	o->word = operand;
	o->n_words = n;
	return n ? 0 : error_set(e, EINVAL, "no metric and no recording given; try --help");
}

static const struct options_spec spec = { .name = NAME,
					  .rows = rows,
					  .operands = operands,
					  .operands_doc = "METRIC... FILE",
					  .brief = brief,
					  .paged = options_always_paged };

/* The terminal's width, or what the environment says. */
static unsigned choose_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned width = cmd_width(STDOUT_FILENO);
	uint64_t n;

	if (!width && columns && !parse_u64(columns, &n) && n >= WIDTH_MIN && n <= WIDTH_MAX)
		width = (unsigned)n;
	if (!width)
		width = WIDTH_DEFAULT;
	return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static void settle(struct plotting *o)
{
	struct pipeline_config *p = &o->pipeline;

	if (p->mode == PIPELINE_AUTO)
		p->mode = PIPELINE_EACH;
	p->sheet.per = o->per != PM_KINDS ? o->per : o->heatmap || p->sheet.rows ? PM_CPU : PM_SYSTEM;
	p->sheet.only_per = true;
	p->sheet.summary = p->sheet.per == PM_SYSTEM;
	p->sheet.summary_only = p->sheet.per == PM_SYSTEM;
	if (!o->style.width)
		o->style.width = choose_width();
	if (!o->style.height)
		o->style.height = o->heatmap ? HEIGHT_HEAT : HEIGHT_LINES;
}

/* The words before the recording are metrics. */
static int choose_metrics(struct plotting *o, struct error *e)
{
	int err = 0;

	if (o->n_words < 2 && access(o->word[0], F_OK))
		return error_set(e, EINVAL, "no recording given: pmrep plot %s FILE", o->word[0]);
	if (o->n_words < 2)
		return error_set(e, EINVAL,
				 "no metric given; pmrep list metrics %s lists them; try pmrep plot util %s",
				 o->word[0], o->word[0]);
	for (int i = 0; i + 1 < o->n_words && !err; i++) {
		if (strstr(o->word[i], ".pmr") && !access(o->word[i], F_OK))
			return error_set(e, EINVAL, "%s is a recording; metrics come first, then one recording",
					 o->word[i]);
		err = selection_add(&o->pipeline.selection, SELECT_SHOW, o->word[i], e);
	}
	return err;
}

static int plot_shape(struct sink *sink, const struct sheet *s, size_t n)
{
	const struct plotting *o = (const struct plotting *)sink;
	bool whole = o->pipeline.since.kind == MOMENT_NONE && o->pipeline.until.kind == MOMENT_NONE;

	bins_shape(&((struct plotting *)sink)->bins, sink, s, n,
		   &(struct bins_view){ .n_charted = n, .whole = whole });
	return 0;
}

static int plot_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	bins_intervals(&((struct plotting *)sink)->bins, interval, n);
	return 0;
}

static int plot_totals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	bins_totals(&((struct plotting *)sink)->bins, s, 1, interval, n);
	return 0;
}

static int plot_end(struct sink *sink)
{
	bins_end(&((struct plotting *)sink)->bins);
	return 0;
}

static const struct sink_ops ops = {
	.shape = plot_shape,
	.intervals = plot_intervals,
	.totals = plot_totals,
	.end = plot_end,
	.forgets = true,
};

static void draw(struct plotting *o, const struct options_common *common, const char *path)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;

	o->style.utf8 = !o->ascii && !strcmp(nl_langinfo(CODESET), "UTF-8");
	o->style.color = options_use_color(common, STDOUT_FILENO);
	(o->heatmap ? plot_heat : plot_lines)(&o->bins, &o->style, &out);
	if (o->bins.near.left_out + o->bins.far.left_out)
		cmd_complain(NAME, "%s: not all lines are drawn, because there are too many", path);
	cmd_write(&out);
}

static int run(void *input, const struct options_common *common)
{
	struct plotting *o = input;
	const char *path = o->word[o->n_words - 1];
	SCOPED(pipeline_result_release) struct pipeline_result result = { 0 };
	SCOPED(pm_reader_scoped) struct pm_reader *reader = NULL;
	struct error e = { 0 };
	int err;

	if (choose_metrics(o, &e) || input_open(&reader, path, false, &e))
		return cmd_fail(NAME, &e);
	settle(o);
	err = pipeline_run(&o->pipeline, reader, &o->sink, &result, &e);
	bins_close(&o->bins);
	cmd_complain_lines(NAME, path, &result.notes);
	cmd_complain_lines(NAME, path, &result.remarks);
	if (err) {
		error_prefix(&e, "%s", path);
		return cmd_fail(NAME, &e);
	}
	if (result.intervals && o->bins.near.n + o->bins.far.n)
		draw(o, common, path);
	else
		cmd_complain(NAME, "%s: nothing to draw: %s", path,
			     result.intervals ? "none of these metrics has a value at that level" :
						pipeline_why_empty(&o->pipeline, &result));
	return cmd_judge(&result, path, false);
}

int cmd_plot(int argc, char **argv)
{
	struct plotting o = { .sink.ops = &ops, .bins.apart = true, .pipeline.bind.rate = true, .per = PM_KINDS };
	int status = cmd_run(&spec, argc, argv, &o, run);

	bins_release(&o.bins);
	selection_release(&o.pipeline.selection);
	cpulist_release(&o.pipeline.sheet.cpus);
	return status;
}
