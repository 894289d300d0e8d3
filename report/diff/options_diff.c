/* The options of `pmrep diff`. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "common/parse.h"
#include "report/diff/diff.h"
#include "report/input/memory.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/options_read.h"

static const char brief[] =
	"Usage: pmrep diff [OPTION...] BASE NEW\n"
	"       pmrep diff [OPTION...] --base A1 A2 ... --new B1 B2 ...\n"
	"Is NEW slower than BASE, and is that certain? A verdict needs four runs or more on each side.\n\n"
	"  --base, --new FILE...        files or folders\n"
	"  --gate METRIC[:MARGIN],...   test only these; they decide the exit status\n"
	"  --margin=MARGIN              change that matters (2%)\n"
	"  --assume-run-sd=SD           how much runs vary, if there are few\n"
	"  --show, --hide, --enable=LIST  which metrics\n"
	"  --per-LEVEL                  every package, core, cpu ..., not only below what is flagged\n"
	"  --format=FORMAT              table, csv, json or markdown\n"
	"  --force                      compare different machines\n\n"
	"Examples:\n"
	"  pmrec -r 5 -o base.pmr make; pmrec -r 5 -o new.pmr make\n"
	"  pmrep diff --gate elapsed:1% base.pmr new.pmr\n"
	"Exit status: 0 no regression, 1 regressed, 2 error, 3 damaged input, 4 inconclusive.\n";

/* "2%" or "0.02". */
static int parse_share(const char *text, double *share)
{
	size_t len = strlen(text);
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

static int read_share(void *member, const char *arg, struct error *e)
{
	return parse_share(arg, member) ?
		       error_set(e, EINVAL, "'%s' is not a margin below 10, such as 2%% or 0.02", arg) :
		       0;
}

/* The margin follows the last ':' if it is a number: names of events have colons, too. */
static int set_gates(void *into, char *arg, struct error *e)
{
	SCOPED(selection_release) struct selection words = { 0 };
	struct diff_options *o = into;
	int err = selection_add(&words, SELECT_SHOW, arg, e);

	for (size_t i = 0; i < words.n && !err; i++) {
		char *word = words.word[i].word, *colon = strrchr(word, ':');
		struct diff_gate gate = { .margin = NAN };
		double margin;

		if (colon && !parse_share(colon + 1, &margin)) {
			gate.margin = margin;
			*colon = 0;
		}
		err = *word ? 0 : -EINVAL;
		gate.word = memory_text(word);
		memory_room(&o->gate, o->n_gates, sizeof(*o->gate));
		o->gate[o->n_gates++] = gate;
	}
	return err == -EINVAL ? error_set(e, EINVAL, "--gate: an empty name") : err;
}

#define OPTIONS_INTO struct diff_options
#define PER(kind)    BITS(per, 1u << (kind))
static const struct option_row rows[] = {
	{ .help = "Recordings:" },
	{ "base", 0, "FILE...", "the side to compare with: files or folders", LIST(path[DIFF_BASE]), .many = true },
	{ "new", 0, "FILE...", "the side to judge", LIST(path[DIFF_NEW]), .many = true },
	{ "force", 0, NULL, "compare recordings of different machines, too", FLAG(force) },
	{ .help = "Verdicts:" },
	{ "gate", 0, "METRIC[:MARGIN],...", "test only these metrics; they decide the exit status", CALL(gates) },
	{ "margin", 0, "MARGIN", "the relative change that matters, such as 2% or 0.02 (the metric's own, mostly 2%)",
	  READ(margin, read_share) },
	{ "assume-run-sd", 0, "SD",
	  "the relative standard deviation from run to run, for sides with fewer than four runs: 1%",
	  READ(run_sd, read_share) },
	{ "pairs", 0, NULL, "judge pairs: run 1 of one side with run 1 of the other, and so on", FLAG(pairs) },
	{ "alpha", 0, "ALPHA", "how often a verdict may be wrong (5%)", READ(alpha, read_share) },
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
	{ .help = "Output:" },
	{ "format", 0, "table|csv|json|markdown", "table (default), csv, json or markdown", WORD(format) },
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

void diff_options_release(struct diff_options *o)
{
	free(o->path[DIFF_BASE]);
	free(o->path[DIFF_NEW]);
	for (size_t i = 0; i < o->n_gates; i++)
		free(o->gate[i].word);
	free(o->gate);
	selection_release(&o->selection);
	vendor_files_free(o->vendor);
}
