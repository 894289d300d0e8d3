/* pmrep plot: metrics over time, drawn with characters. */
#include "report/cmd.h"
#include "report/commands.h"

#include <errno.h>
#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/input/input.h"
#include "report/machine/options_per.h"
#include "report/pipeline/pipeline.h"
#include "report/plot/plot_draw.h"

#define NAME          "pmrep plot"
#define BINS          4096
#define BINS_OF_MANY  1024 /* where lines are many: each takes memory */
#define WIDTH_DEFAULT 80
#define WIDTH_MAX     1000
#define HEIGHT_LINES  12
#define HEIGHT_HEAT   64

static const char brief[] =
	"Usage: pmrep plot [OPTION...] METRIC... FILE\n"
	"Draw metrics of a recording over time, in the terminal. Metrics of one unit share a chart.\n\n"
	"      --per-package     a line for each; or --per-die, core, node, cpu, task, cgroup, device, pmu, ...\n"
	"  -c, --cpu=SET         a line for each of these CPUs\n"
	"      --heatmap         a row for each CPU, or each of another level, in place of lines\n"
	"      --since=TIME, --until=TIME, --every=SEC\n"
	"      --width=COLUMNS   of the picture; --height=ROWS  of each chart\n"
	"      --ascii           no Braille and no blocks\n\n"
	"Examples:\n"
	"  pmrep plot util host.pmr\n"
	"  pmrep plot pkgwatt pkgtmp --per-package host.pmr\n"
	"  pmrep plot --heatmap util host.pmr\n";

enum {
	KEY_CPU = 'c',
	KEY_HEATMAP = 0x200,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_EVERY,
	KEY_WIDTH,
	KEY_HEIGHT,
	KEY_ASCII,
	KEY_RATE,
	KEY_NO_RATE,
	KEY_PER = 0x300, /* + pm_kind */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Lines:", 1 },
	{ "per-system", KEY_PER + PM_SYSTEM, NULL, 0, "one line for the whole system (the default)", 1 },
	OPTIONS_PER(KEY_PER, "one line per", 1),
	{ "cpu", KEY_CPU, "SET", 0, "one line for each of these CPUs: 0,2..5", 1 },
	{ "heatmap", KEY_HEATMAP, NULL, 0, "A map of CPUs (or of another level) by time, in place of lines", 1 },
	{ "rate", KEY_RATE, NULL, 0, "raw counters per second (the default)", 1 },
	{ "no-rate", KEY_NO_RATE, NULL, 0, "raw counters per interval", 1 },
	{ NULL, 0, NULL, 0, "Time:", 2 },
	{ "since", KEY_SINCE, "TIME", 0, "begin there: seconds from the start, -SECONDS from the end, or a date", 2 },
	{ "until", KEY_UNTIL, "TIME", 0, "end there", 2 },
	{ "every", KEY_EVERY, "SEC", 0, "join intervals to longer ones", 2 },
	{ NULL, 0, NULL, 0, "Picture:", 3 },
	{ "width", KEY_WIDTH, "COLUMNS", 0, "columns (those of the terminal, or $COLUMNS, or 80)", 3 },
	{ "height", KEY_HEIGHT, "ROWS", 0, "rows of a chart (12); of a heat map at most (64)", 3 },
	{ "ascii", KEY_ASCII, NULL, 0, "ASCII only, as where the locale is not UTF-8", 3 },
	{ 0 },
};

struct plotting {
	struct pipeline_config pipeline;
	struct plot_size size; /* 0: not given */
	bool heatmap, ascii, per_given;
	char **word; /* metrics, and the recording behind them; borrowed */
	int n_words;
};

static error_t parse_side(struct argp_state *state, const char *option, const char *arg, unsigned least, unsigned *n)
{
	uint64_t v;

	if (parse_u64(arg, &v) || v < least || v > WIDTH_MAX)
		return options_bad(state, "--%s: '%s' is not a number from %u to %u", option, arg, least, WIDTH_MAX);
	*n = (unsigned)v;
	return 0;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct plotting *o = state->input;
	struct pipeline_config *p = &o->pipeline;
	struct error e = { 0 };

	if (key >= KEY_PER && key < KEY_PER + PM_KINDS) {
		p->sheet.per = (enum pm_kind)(key - KEY_PER);
		o->per_given = true;
		return 0;
	}
	switch (key) {
	case KEY_CPU:
		p->sheet.rows = SHEET_CPU_SET;
		return cpulist_parse(&p->sheet.cpus, arg, true, &e) ? options_bad(state, "--cpu: %s", e.text) : 0;
	case KEY_HEATMAP:
		o->heatmap = true;
		return 0;
	case KEY_RATE:
	case KEY_NO_RATE:
		p->bind.rate = key == KEY_RATE;
		return 0;
	case KEY_SINCE:
		return moment_parse(&p->since, arg, &e) ? options_bad(state, "--since: %s", e.text) : 0;
	case KEY_UNTIL:
		return moment_parse(&p->until, arg, &e) ? options_bad(state, "--until: %s", e.text) : 0;
	case KEY_EVERY:
		p->mode = PIPELINE_EVERY;
		return parse_duration(arg, &p->every_ns) || !p->every_ns ?
			       options_bad(state, "--every: '%s' is not a time: use seconds, or add ms, m or h",
					   arg) :
			       0;
	case KEY_WIDTH:
		return parse_side(state, "width", arg, 20, &o->size.width);
	case KEY_HEIGHT:
		return parse_side(state, "height", arg, 2, &o->size.height);
	case KEY_ASCII:
		o->ascii = true;
		return 0;
	case ARGP_KEY_ARGS:
		o->word = state->argv + state->next;
		o->n_words = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		return options_bad(state, "no metric and no recording given; try --help");
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "METRIC... FILE" };
static const struct options_spec spec = { .name = NAME, .column = OPTIONS_OTHER, .argp = &argp, .brief = brief };

/* The terminal's, or what the environment says of it. */
static unsigned choose_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned width = cmd_width(STDOUT_FILENO);
	uint64_t n;

	if (!width && columns && !parse_u64(columns, &n) && n >= 20 && n <= WIDTH_MAX)
		width = (unsigned)n;
	if (!width)
		width = WIDTH_DEFAULT;
	return width < 20 ? 20 : width > WIDTH_MAX ? WIDTH_MAX : width;
}

static void settle(struct plotting *o)
{
	struct pipeline_config *p = &o->pipeline;

	if (p->mode == PIPELINE_AUTO)
		p->mode = PIPELINE_EACH;
	if (!o->per_given)
		p->sheet.per = o->heatmap || p->sheet.rows == SHEET_CPU_SET ? PM_CPU : PM_SYSTEM;
	p->sheet.only_per = true;
	p->sheet.summary = p->sheet.per == PM_SYSTEM;
	p->sheet.summary_only = p->sheet.per == PM_SYSTEM;
	if (!o->size.width)
		o->size.width = choose_width();
	if (!o->size.height)
		o->size.height = o->heatmap ? HEIGHT_HEAT : HEIGHT_LINES;
}

/* What came before the recording are metrics. */
static int choose_metrics(struct plotting *o, struct error *e)
{
	int err = 0;

	if (o->n_words < 2 && access(o->word[0], F_OK))
		return error_set(e, EINVAL, "no recording given: pmrep plot %s FILE", o->word[0]);
	if (o->n_words < 2)
		return error_set(e, EINVAL, "no metric given; pmrep list metrics %s names them: pmrep plot util %s",
				 o->word[0], o->word[0]);
	for (int i = 0; i + 1 < o->n_words && !err; i++) {
		if (strstr(o->word[i], ".pmr") && !access(o->word[i], F_OK))
			return error_set(e, EINVAL, "%s is a recording: metrics come first, then one recording",
					 o->word[i]);
		err = selection_add(&o->pipeline.selection, SELECT_SHOW, o->word[i], e);
	}
	return err;
}

static int draw(const struct plotting *o, const struct plot_data *d, const struct options_common *common,
		const char *path)
{
	struct plot_style style = { .utf8 = !o->ascii && !strcmp(nl_langinfo(CODESET), "UTF-8"),
				    .color = options_use_color(common, STDOUT_FILENO) };
	struct buf out = BUF_INIT;
	struct error e = { 0 };
	int err = (o->heatmap ? plot_heat : plot_lines)(d, o->size, style, &out);

	if (d->left_out)
		cmd_complain(NAME, "%s: %zu lines more than can be drawn were left out", path, d->left_out);
	if (err) {
		buf_release(&out);
		error_sys(&e, -err, "picture");
		return cmd_fail(NAME, &e);
	}
	err = cmd_write(NAME, &out);
	buf_release(&out);
	return err;
}

static int run(struct plotting *o, const struct options_common *common)
{
	const char *path = o->word[o->n_words - 1];
	struct pipeline_result result = { 0 };
	struct pm_reader *reader = NULL;
	struct plot_data data;
	struct error e = { 0 };
	int status = EXIT_GOOD, err;

	if (choose_metrics(o, &e) || input_open(&reader, path, false, &e))
		return cmd_fail(NAME, &e);
	settle(o);
	plot_data_init(&data, o->pipeline.sheet.per == PM_SYSTEM ? BINS : BINS_OF_MANY);
	err = pipeline_run(&o->pipeline, reader, &data.sink, &result, &e);
	cmd_complain_lines(NAME, path, &result.notes);
	cmd_complain_lines(NAME, path, &result.remarks);
	if (err) {
		error_prefix(&e, "%s", path);
		status = cmd_fail(NAME, &e);
	} else if (!data.set.to_ns || !data.n) {
		cmd_complain(NAME, "%s: nothing to draw: %s", path,
			     result.intervals ? "none of these metrics has a value at that level" :
						pipeline_why_empty(&o->pipeline, &result));
	} else {
		status = draw(o, &data, common, path);
	}
	if (!status && (result.damaged || (result.cut_only && !input_being_written(path))))
		status = EXIT_DAMAGED;
	plot_data_release(&data);
	buf_release(&result.notes);
	buf_release(&result.remarks);
	pm_reader_close(reader);
	return status;
}

int cmd_plot(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct plotting o = { .pipeline.bind.rate = true };
	int status = cmd_options(&spec, argc, argv, &o, &common);

	if (status < 0)
		status = run(&o, &common);
	selection_release(&o.pipeline.selection);
	cpulist_release(&o.pipeline.sheet.cpus);
	options_common_release(&common);
	return status;
}
