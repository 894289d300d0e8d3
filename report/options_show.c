#include "report/options_show.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/parse.h"
#include "report/machine/options_per.h"
#include "report/metric/vendor_files.h"

enum {
	KEY_SHOW = 's',
	KEY_HIDE = 'H',
	KEY_ENABLE = 'e',
	KEY_LIST = 'l',
	KEY_CPU = 'c',
	KEY_SUMMARY = 'S',
	KEY_DEBUG = 'd',
	KEY_DUMP = 'D',
	KEY_JOULES = 'J',
	KEY_TCC = 'T',
	KEY_NO_MSR = 'M',
	KEY_NO_PERF = 'P',
	KEY_FORCE = 'f',
	KEY_QUIET = 'q',
	KEY_HEADS = 'N',
	KEY_COUNT = 'n',
	KEY_OUT = 'o',
	KEY_LONG = 0x200,
	KEY_IPC,
	KEY_EVERY,
	KEY_TOTAL,
	KEY_ALL,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_FORMAT,
	KEY_LAYOUT,
	KEY_TIME,
	KEY_RATE,
	KEY_PCI,
	KEY_STRICT,
	KEY_FOLLOW,
	KEY_CLEAR,
	KEY_WIDTH,
	KEY_VENDOR,
	KEY_SPARK,
	KEY_THRESHOLDS,
	KEY_OVERWRITE,
	KEY_PER = 0x300, /* + pm_kind */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Columns:", 1 },
	{ "show", KEY_SHOW, "LIST", 0, "Show only these columns: names, globs or categories, comma separated", 1 },
	{ "hide", KEY_HIDE, "LIST", 0, "Leave these columns out", 1 },
	{ "enable", KEY_ENABLE, "LIST", 0, "Show these columns too", 1 },
	{ "list", KEY_LIST, NULL, 0, "List the columns that there are, and end", 1 },
	{ "debug", KEY_DEBUG, NULL, 0, "Show all columns", 1 },
	{ "rate", KEY_RATE, NULL, 0, "Raw counters per second, not per interval", 1 },
	{ "pci", KEY_PCI, NULL, 0, "Call PMUs of PCI by the devices that they count", 1 },
	{ "metrics-file", KEY_VENDOR, "FILE|DIR", 0, "More metrics, from a JSON file of perf's schema", 1 },
	{ "Joules", KEY_JOULES, NULL, 0, "Energy in joules, not power in watts", 1 },
	{ "IPC", KEY_IPC, NULL, 0, "As --enable=IPC", 1 },
	{ "no-msr", KEY_NO_MSR, NULL, 0, "Leave out what comes from machine registers", 1 },
	{ "no-perf", KEY_NO_PERF, NULL, 0, "Leave out what comes from perf events", 1 },
	{ NULL, 0, NULL, 0, "Rows:", 2 },
	{ "cpu", KEY_CPU, "SET", 0,
	  "Rows of these CPUs (0,2..5), or core, or package: one row each; the summary stays over all", 2 },
	{ "Summary", KEY_SUMMARY, NULL, 0, "The whole system only", 2 },
	{ "per-system", KEY_PER + PM_SYSTEM, NULL, 0, "One row for the whole system", 2 },
	OPTIONS_PER(KEY_PER, "One row per", 2),
	{ NULL, 0, NULL, 0, "Time:", 3 },
	{ "every", KEY_EVERY, "SEC", 0, "Join intervals to longer ones", 3 },
	{ "interval", KEY_EVERY, "SEC", OPTION_ALIAS, NULL, 3 },
	{ "total", KEY_TOTAL, NULL, 0, "One interval over all (the default when a command was recorded)", 3 },
	{ "all", KEY_ALL, NULL, 0, "Every recorded interval", 3 },
	{ "spark", KEY_SPARK, NULL, 0, "With --total: beside each value how it went", 3 },
	{ "since", KEY_SINCE, "TIME", 0, "Begin there: seconds from the start, -SECONDS from the end, or a date", 3 },
	{ "until", KEY_UNTIL, "TIME", 0, "End there", 3 },
	{ "num_iterations", KEY_COUNT, "N", 0, "The first N intervals", 3 },
	{ "follow", KEY_FOLLOW, NULL, 0, "Go on while the recording is being written", 3 },
	{ "interval-clear", KEY_CLEAR, NULL, 0, "Clear the screen before each interval", 3 },
	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "table (default), csv, json, or turbostat: its text, TABs between", 4 },
	{ "layout", KEY_LAYOUT, "LAYOUT", 0,
	  "csv and json: long (default, a row a value) or wide (a column a metric)", 4 },
	{ "thresholds", KEY_THRESHOLDS, NULL, 0,
	  "csv, and wide json: what thresholds say of values, in columns of their own", 4 },
	{ "time", KEY_TIME, "KIND", 0, "rfc3339, epoch-ns, relative or local", 4 },
	{ "width", KEY_WIDTH, "COLUMNS", 0,
	  "Put columns that have no room below the others (those of the terminal); 0: never", 4 },
	{ "out", KEY_OUT, "FILE", 0, "Write there", 4 },
	{ "output", KEY_OUT, "FILE", OPTION_ALIAS | OPTION_HIDDEN, NULL, 4 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "Replace FILE of --out, if there is one", 4 },
	{ "quiet", KEY_QUIET, NULL, 0, "Only the table: nothing about the machine before it", 4 },
	{ "header_iterations", KEY_HEADS, "N", 0, "Head lines every N intervals; 0: none", 4 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit with 3 if any value is missing or lacks a part", 4 },
	{ NULL, 0, NULL, 0, "For those who know turbostat:", 5 },
	{ "TCC", KEY_TCC, "CELSIUS", 0, "Temperature that thermal registers count down from", 5 },
	{ "Dump", KEY_DUMP, NULL, 0, "Raw values of the first snapshot, as pmrep dump prints them", 5 },
	{ "force", KEY_FORCE, NULL, 0, "No effect", 5 },
	{ 0 },
};

static const char brief[] =
	"Usage: pmrep [show] [OPTION...] FILE...\n"
	"Show the metrics of recordings: a row for the system, then one a CPU, for every interval.\n\n"
	"  -s, --show=LIST      only these columns (names, globs, categories); --hide, --enable\n"
	"  -l, --list           which columns there are\n"
	"  -S, --Summary        the system only;  -c, --cpu=SET  these CPUs\n"
	"      --per-LEVEL      rows by system, package, die, cluster, cache, core, node, cpu, task, cgroup, device\n"
	"      --every=SEC      longer intervals;  --total  one;  --since=TIME, --until=TIME  a part\n"
	"      --format=FORMAT  table, csv or json;  --layout=wide  a column a metric;  -o FILE\n"
	"      --follow         go on while the recording grows\n"
	"      --rate           raw counters per second\n\n"
	"Examples:\n"
	"  pmrep host.pmr                            everything, in a table\n"
	"  pmrep host.pmr --since=-60 -S             the last minute, the whole system\n"
	"  pmrep host.pmr --per-package --format=csv for programs\n"
	"  pmrec -o - | pmrep -                      live\n"
	"--help=all lists every option.\n";

static error_t bad(struct argp_state *state, const struct error *e)
{
	return options_bad(state, "%s", e->text);
}

static error_t parse_cpus(struct show_options *o, char *arg, struct argp_state *state)
{
	struct sheet_config *sheet = &o->pipeline.sheet;
	struct error e = { 0 };

	if (!strcmp(arg, "core")) {
		sheet->rows = SHEET_FIRST_OF_CORE;
	} else if (!strcmp(arg, "package")) {
		sheet->rows = SHEET_FIRST_OF_PACKAGE;
	} else {
		sheet->rows = SHEET_CPU_SET;
		if (cpulist_parse(&sheet->cpus, arg, true, &e))
			return options_bad(state, "--cpu: %s", e.text);
	}
	return 0;
}

static error_t parse_word(const char *option, const char *arg, const char *const *words, unsigned *value,
			  struct argp_state *state)
{
	struct buf all = BUF_INIT;
	const char *near;
	error_t err;

	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], arg)) {
			*value = i;
			return 0;
		}
	}
	near = options_nearest(arg, words, SIZE_MAX);
	if (near)
		return options_bad(state, "--%s: there is no '%s'; did you mean '%s'?", option, arg, near);
	for (unsigned i = 0; words[i]; i++)
		buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	err = options_bad(state, "--%s: there is no '%s'; there are %s", option, arg, buf_str(&all));
	buf_release(&all);
	return err;
}

static error_t parse_format(struct show_options *o, const char *arg, struct argp_state *state)
{
	const char *names[8] = { NULL };
	unsigned i;

	for (i = 0; exporters[i]; i++)
		names[i] = exporters[i]->name;
	if (parse_word("format", arg, names, &i, state))
		return EINVAL;
	o->format = exporters[i];
	return 0;
}

static error_t parse_count(const char *option, const char *arg, uint64_t max, uint64_t *value,
			   struct argp_state *state)
{
	if (!parse_u64(arg, value) && *value <= max)
		return 0;
	return options_bad(state, "--%s: '%s' is no number of intervals", option, arg);
}

static error_t load_vendor(struct show_options *o, const char *path, struct argp_state *state)
{
	struct error e = { 0 };

	if (vendor_files_add(&o->vendor, path, &e))
		return options_bad(state, "--metrics-file: %s", e.text);
	o->pipeline.bind.files = o->vendor;
	return 0;
}

static error_t parse_columns(struct show_options *o, int key, char *arg, struct argp_state *state)
{
	enum selection_verb verb = key == KEY_SHOW ? SELECT_SHOW : key == KEY_HIDE ? SELECT_HIDE : SELECT_ENABLE;
	struct error e = { 0 };

	return selection_add(&o->pipeline.selection, verb, arg, &e) ? bad(state, &e) : 0;
}

static error_t parse_time_option(struct show_options *o, int key, char *arg, struct argp_state *state)
{
	static const char *const kinds[] = { "", "rfc3339", "epoch-ns", "relative", "local", NULL };
	struct pipeline_config *p = &o->pipeline;
	struct error e = { 0 };
	unsigned kind = 0;

	switch (key) {
	case KEY_EVERY:
		if (parse_duration(arg, &p->every_ns) || !p->every_ns)
			return options_bad(state, "--every: '%s' is no time; seconds, or with ms, m or h", arg);
		p->mode = PIPELINE_EVERY;
		return 0;
	case KEY_TOTAL:
		p->mode = PIPELINE_TOTAL;
		return 0;
	case KEY_ALL:
		p->mode = PIPELINE_EACH;
		return 0;
	case KEY_SINCE:
		return moment_parse(&p->since, arg, &e) ? options_bad(state, "--since: %s", e.text) : 0;
	case KEY_UNTIL:
		return moment_parse(&p->until, arg, &e) ? options_bad(state, "--until: %s", e.text) : 0;
	case KEY_COUNT:
		if (!strcmp(arg, "0"))
			return options_bad(state, "--num_iterations: 0 intervals are none");
		return parse_count("num_iterations", arg, UINT64_MAX, &p->max_intervals, state);
	case KEY_TIME:
		if (parse_word("time", arg, kinds, &kind, state))
			return EINVAL;
		o->export.time = (enum export_time)kind;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_output(struct show_options *o, int key, char *arg, struct argp_state *state)
{
	static const char *const layouts[] = { "long", "wide", NULL };
	unsigned layout = 0;
	uint64_t n;

	switch (key) {
	case KEY_FORMAT:
		return parse_format(o, arg, state);
	case KEY_LAYOUT:
		if (parse_word("layout", arg, layouts, &layout, state))
			return EINVAL;
		o->export.layout = (enum export_layout)layout;
		return 0;
	case KEY_THRESHOLDS:
		o->export.thresholds = true;
		return 0;
	case KEY_OUT:
		o->out = arg;
		return 0;
	case KEY_OVERWRITE:
		o->overwrite = OUTFILE_OVERWRITE;
		return 0;
	case KEY_QUIET:
		/* turbostat's: about the machine, not about the columns. */
		o->quiet = true;
		return 0;
	case KEY_HEADS:
		if (parse_count("header_iterations", arg, UINT32_MAX, &n, state))
			return EINVAL;
		o->export.heads_every = (uint32_t)n;
		o->export.no_heads = !n;
		return 0;
	case KEY_WIDTH:
		if (parse_u64(arg, &n) || n > UINT16_MAX)
			return options_bad(state, "--width: '%s' is no number of columns", arg);
		o->export.width = (unsigned)n;
		o->width_given = true;
		return 0;
	case KEY_STRICT:
		o->strict = true;
		return 0;
	case KEY_FOLLOW:
		o->follow = true;
		return 0;
	case KEY_SPARK:
		o->spark = true;
		return 0;
	case KEY_CLEAR:
		o->export.clear = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct show_options *o = state->input;
	error_t known;
	uint64_t tcc;

	if (key >= KEY_PER && key < KEY_PER + PM_KINDS) {
		o->pipeline.sheet.per = (enum pm_kind)(key - KEY_PER);
		o->per_given = true;
		return 0;
	}
	switch (key) {
	case KEY_SHOW:
	case KEY_HIDE:
	case KEY_ENABLE:
		return parse_columns(o, key, arg, state);
	case KEY_IPC:
		return parse_columns(o, KEY_ENABLE, (char *)"insn_per_cycle", state);
	case KEY_NO_MSR:
		o->pipeline.bind.no_msr = true;
		return 0;
	case KEY_NO_PERF:
		o->pipeline.bind.no_perf = true;
		return 0;
	case KEY_LIST:
		o->list = true;
		return 0;
	case KEY_DEBUG:
		o->pipeline.selection.all = true;
		return 0;
	case KEY_PCI:
		o->pipeline.pci = true;
		return 0;
	case KEY_RATE:
		o->pipeline.bind.rate = true;
		return 0;
	case KEY_VENDOR:
		return load_vendor(o, arg, state);
	case KEY_JOULES:
		o->pipeline.selection.joules = true;
		return 0;
	case KEY_CPU:
		return parse_cpus(o, arg, state);
	case KEY_SUMMARY:
		o->pipeline.sheet.summary_only = true;
		return 0;
	case KEY_TCC:
		if (parse_u64(arg, &tcc) || !tcc || tcc > 255)
			return options_bad(state, "--TCC: '%s' is no temperature in degrees Celsius", arg);
		o->pipeline.bind.tj_max = (double)tcc;
		return 0;
	case KEY_DUMP:
		o->dump = true;
		return 0;
	case KEY_FORCE:
		return 0;
	case ARGP_KEY_ARGS:
		o->file = state->argv + state->next;
		o->n_files = state->argc - state->next;
		return 0;
	}
	known = parse_time_option(o, key, arg, state);
	return known == ARGP_ERR_UNKNOWN ? parse_output(o, key, arg, state) : known;
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "FILE..." };

const struct options_spec show_spec = {
	.name = "pmrep show",
	.column = OPTIONS_SHOW,
	.argp = &argp,
	.brief = brief,
};

void show_options_init(struct show_options *o)
{
	*o = (struct show_options){
		.format = exporters[0],
		.export.fd = STDOUT_FILENO,
		.pipeline.sheet = { .per = PM_CPU },
	};
}

void show_options_release(struct show_options *o)
{
	selection_release(&o->pipeline.selection);
	cpulist_release(&o->pipeline.sheet.cpus);
	vendor_files_free(o->vendor);
}
