#include "report/diff/options_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/input/outfile.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep diff [OPTION...] BASE NEW\n"
	"       pmrep diff [OPTION...] --base A1 A2 ... --new B1 B2 ...\n"
	"Is NEW slower than BASE, and is that certain? A verdict needs four runs or more on each side.\n\n"
	"  --base, --new FILE...        files, folders, or labels: --base label=main --new label=mine DIR\n"
	"  --gate METRIC[:MARGIN],...   test only these; they decide the exit status\n"
	"  --margin=MARGIN              change that matters (2%)\n"
	"  --assume-run-sd=SD           how much runs vary, if there are few; --noise=FILE from --save-noise\n"
	"  --show, --hide, --enable=LIST  which metrics;  --lower, --higher=LIST  which way is better\n"
	"  --per-LEVEL                  every package, core, cpu ..., not only below what is flagged\n"
	"  --skip-start=SEC, --from-marker=TEXT, --to-marker=TEXT, --align=command   which part of each run\n"
	"  --format=FORMAT              table, csv, json, markdown or junit\n"
	"  --force                      compare different machines\n\n"
	"Examples:\n"
	"  pmrec -r 5 -o base.pmr make; pmrec -r 5 -o new.pmr make\n"
	"  pmrep diff --gate elapsed:1% base.pmr new.pmr\n"
	"Exit status: 0 no regression, 1 regressed, 2 error, 3 damaged input, 4 inconclusive.\n";

/* "2%" or "0.02". */
static int parse_share(const char *text, size_t len, double *share)
{
	char copy[32];
	bool percent = len && text[len - 1] == '%';

	len -= percent;
	if (!len || len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = 0;
	if (parse_double(copy, share))
		return -EINVAL;
	*share /= percent ? 100 : 1;
	return *share >= 0 && *share < 10 ? 0 : -ERANGE;
}

/* A label has a '=' and is not a file. */
static int add_side(struct diff_options *o, enum diff_side side, char *arg)
{
	bool label = strchr(arg, '=') && access(arg, F_OK);
	int err = options_append(label ? &o->label[side] : &o->path[side], arg);

	o->n_labels[side] += label && !err;
	o->n_paths[side] += !label && !err;
	return err;
}

static int set_base(void *into, char *arg, struct error *e)
{
	return add_side(into, DIFF_BASE, arg);
}

static int set_new(void *into, char *arg, struct error *e)
{
	return add_side(into, DIFF_NEW, arg);
}

/* The margin follows the last ':' if it is a number: names of events have colons, too. */
static int set_gates(void *into, char *arg, struct error *e)
{
	struct diff_options *o = into;
	const char *list = arg;

	while (*list) {
		size_t len = strcspn(list, ",");
		const char *colon = memrchr(list, ':', len);
		struct diff_gate *more, gate = { .margin = NAN };
		double margin;

		/* "cpu/event=1,umask=2/" is one event. */
		for (const char *slash = memchr(list, '/', len); slash && list[len] == ',';) {
			const char *other = strchr(slash + 1, '/');

			if (!other || (size_t)(other - list) < len)
				break;
			len = (size_t)(other - list) + 1 + strcspn(other + 1, ",");
			colon = memrchr(list, ':', len);
			break;
		}
		gate.word = NULL;
		if (colon && !parse_share(colon + 1, len - (size_t)(colon + 1 - list), &margin)) {
			gate.margin = margin;
			gate.word = strndup(list, (size_t)(colon - list));
		} else {
			gate.word = strndup(list, len);
		}
		more = gate.word ? reallocarray(o->gate, o->n_gates + 1, sizeof(*more)) : NULL;
		if (!more) {
			free(gate.word);
			return -ENOMEM;
		}
		o->gate = more;
		more[o->n_gates++] = gate;
		if (!gate.word[0])
			return error_set(e, EINVAL, "--gate: an empty name");
		list += len + (list[len] == ',');
	}
	return 0;
}

static int read_share(void *member, const char *arg, struct error *e)
{
	return parse_share(arg, strlen(arg), member) ?
		       error_set(e, EINVAL, "'%s' is not a margin below 10, such as 2%% or 0.02", arg) :
		       0;
}

static const char *const formats[] = {
	[DIFF_TABLE] = "table",       [DIFF_CSV] = "csv",     [DIFF_JSON] = "json",
	[DIFF_MARKDOWN] = "markdown", [DIFF_JUNIT] = "junit", NULL,
};
static const char *const alignments[] = { "", "command", NULL };

#define OPTIONS_INTO struct diff_options
#define PER(kind)    BITS(per, 1u << (kind))
static const struct option_row rows[] = {
	{ .help = "Recordings:" },
	{ "base", 0, "FILE...", "the side to compare with: files, folders, or labels as key=value", CALL(base),
	  .many = true },
	{ "new", 0, "FILE...", "the side to judge", CALL(new), .many = true },
	{ "force", 0, NULL, "compare recordings of different machines, too", FLAG(force) },
	{ "strict", 0, NULL, "refuse recordings that are damaged, cut, or empty", FLAG(strict) },
	{ "jobs", 0, "N", "read this many recordings at a time (one per CPU)", AMOUNT(jobs, 1, 16) },
	{ .help = "Verdicts:" },
	{ "gate", 0, "METRIC[:MARGIN],...", "test only these metrics; they decide the exit status", CALL(gates) },
	{ "margin", 0, "MARGIN", "the relative change that matters, such as 2% or 0.02 (the metric's own, mostly 2%)",
	  READ(margin, read_share) },
	{ "assume-run-sd", 0, "SD",
	  "the relative standard deviation from run to run, for sides with fewer than four runs: 1%",
	  READ(run_sd, read_share) },
	{ "noise", 0, "FILE", "take that deviation, for each metric, from a file of --save-noise", TEXT(noise) },
	{ "save-noise", 0, "FILE", "write that deviation for each metric, pooled over the sides, as JSON",
	  TEXT(save_noise) },
	{ "overwrite", 0, NULL, "replace FILE of --save-noise", BITS(overwrite, OUTFILE_OVERWRITE) },
	{ "allow-failures", 0, NULL, "use failed runs, too", FLAG(allow_failures) },
	{ "pairs", 0, NULL, "judge pairs: run 1 of one side with run 1 of the other, and so on", FLAG(pairs) },
	{ "alpha", 0, "ALPHA", "how often a verdict may be wrong (5%)", READ(alpha, read_share) },
	{ "lower", 0, "LIST", "less is better for these metrics", READ(lower, read_show) },
	{ "higher", 0, "LIST", "more is better for these metrics", READ(higher, read_show) },
	{ .help = "Metrics:" },
	{ "show", 's', "LIST", "compare only these: comma-separated names, globs or categories",
	  READ(selection, read_show) },
	{ "hide", 'H', "LIST", "leave these out", READ(selection, read_hide) },
	{ "enable", 'e', "LIST", "compare these too", READ(selection, read_enable) },
	{ "all", 0, NULL, "compare all metrics and counters", FLAG(all) },
	{ "metrics-file", 0, "FILE|DIR", "more metrics, in perf's JSON schema", READ(vendor, read_vendor_file) },
	{ "rate", 0, NULL, "raw counters per second, even if a command was recorded", FLAG(rate) },
	{ .help = "Places (by default only below a flagged metric):" },
	OPTIONS_PER(PER, "every"),
	{ .help = "Time:" },
	{ "skip-start", 0, "SEC", "skip the first seconds of each run", TIME(skip_ns, 0) },
	{ "from-marker", 0, "TEXT", "start at the marker with this text", TEXT(from_marker) },
	{ "to-marker", 0, "TEXT", "end at the marker with this text", TEXT(to_marker) },
	{ "align", 0, "command", "compare only what lies between start and exit of the command",
	  WORD(align_command, alignments) },
	{ .help = "Output:" },
	{ "format", 0, "table|csv|json|markdown|junit", "table (default), csv, json, markdown or junit",
	  WORD(format, formats) },
	{ 0 },
};

/* Recordings without a side, and shares without a meaning. */
static int operands(void *into, int n, char **operand, struct error *e)
{
	struct diff_options *o = into;

	o->place = operand;
	o->n_places = (size_t)n;
	if (o->run_sd <= 0)
		return error_set(e, EINVAL, "--assume-run-sd: give a deviation above 0, such as 1%%");
	if (!(o->alpha > 0) || !(o->alpha < 1))
		return error_set(e, EINVAL, "--alpha: give a probability between 0 and 1, such as 5%%");
	return 0;
}

const struct options_spec diff_spec = {
	.name = "pmrep diff",
	.rows = rows,
	.operands = operands,
	.operands_doc = "BASE NEW",
	.brief = brief,
	.paged = options_always_paged,
};

void diff_options_init(struct diff_options *o)
{
	*o = (struct diff_options){ .margin = NAN, .run_sd = NAN, .alpha = 0.05 };
}

void diff_options_release(struct diff_options *o)
{
	for (int s = 0; s < DIFF_SIDES; s++) {
		free(o->path[s]);
		free(o->label[s]);
	}
	for (size_t i = 0; i < o->n_gates; i++)
		free(o->gate[i].word);
	free(o->gate);
	selection_release(&o->selection);
	selection_release(&o->lower);
	selection_release(&o->higher);
	vendor_files_free(o->vendor);
}
