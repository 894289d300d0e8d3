#include "report/diff/options_diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/input/outfile.h"
#include "report/machine/options_per.h"
#include "report/metric/vendor_files.h"

enum {
	KEY_SHOW = 's',
	KEY_HIDE = 'H',
	KEY_ENABLE = 'e',
	KEY_BASE = 0x200,
	KEY_NEW,
	KEY_GATE,
	KEY_MARGIN,
	KEY_RUN_SD,
	KEY_NOISE,
	KEY_SAVE_NOISE,
	KEY_OVERWRITE,
	KEY_FORCE,
	KEY_STRICT,
	KEY_SKIP,
	KEY_FROM_MARKER,
	KEY_TO_MARKER,
	KEY_ALIGN,
	KEY_FAILURES,
	KEY_PAIRS,
	KEY_ALPHA,
	KEY_VENDOR,
	KEY_FORMAT,
	KEY_RATE,
	KEY_LOWER,
	KEY_HIGHER,
	KEY_ALL,
	KEY_JOBS,
	KEY_PER = 0x300, /* + pm_kind */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Recordings:", 1 },
	{ "base", KEY_BASE, "FILE...", 0, "the side to compare with: files, folders, or labels as key=value", 1 },
	{ "new", KEY_NEW, "FILE...", 0, "the side to judge", 1 },
	{ "force", KEY_FORCE, NULL, 0, "compare different processors and topologies, too", 1 },
	{ "strict", KEY_STRICT, NULL, 0, "refuse recordings that are damaged, cut, or empty", 1 },
	{ "jobs", KEY_JOBS, "N", 0, "read so many recordings at a time; one a CPU by default", 1 },
	{ NULL, 0, NULL, 0, "Verdicts:", 2 },
	{ "gate", KEY_GATE, "METRIC[:MARGIN],...", 0, "test these metrics alone; they decide the exit code", 2 },
	{ "margin", KEY_MARGIN, "MARGIN", 0, "change that matters: 2% or 0.02, the default of most metrics", 2 },
	{ "assume-run-sd", KEY_RUN_SD, "SD", 0, "how much runs vary, for sides with fewer than four: 1%", 2 },
	{ "noise", KEY_NOISE, "FILE", 0, "the same for each metric, from --save-noise", 2 },
	{ "save-noise", KEY_SAVE_NOISE, "FILE", 0, "write how much each metric varied from run to run", 2 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "replace FILE of --save-noise, if there is one", 2 },
	{ "allow-failures", KEY_FAILURES, NULL, 0, "use runs whose command failed like all others", 2 },
	{ "pairs", KEY_PAIRS, NULL, 0, "judge pairs: run 1 of one side with run 1 of the other, and so on", 2 },
	{ "alpha", KEY_ALPHA, "ALPHA", 0, "how often a verdict may be wrong: 5%, the default", 2 },
	{ "lower", KEY_LOWER, "LIST", 0, "of these metrics less is better", 2 },
	{ "higher", KEY_HIGHER, "LIST", 0, "of these metrics more is better", 2 },
	{ NULL, 0, NULL, 0, "Metrics:", 3 },
	{ "show", KEY_SHOW, "LIST", 0, "compare only these: names, globs or categories, comma separated", 3 },
	{ "hide", KEY_HIDE, "LIST", 0, "leave these out", 3 },
	{ "enable", KEY_ENABLE, "LIST", 0, "compare these too", 3 },
	{ "all", KEY_ALL, NULL, 0, "compare all metrics and counters", 3 },
	{ "metrics-file", KEY_VENDOR, "FILE|DIR", 0, "more metrics, from a JSON file of perf's schema", 3 },
	{ "rate", KEY_RATE, NULL, 0, "raw counters per second, also where a command was recorded", 3 },
	{ NULL, 0, NULL, 0, "Places, not only those below a flagged metric:", 4 },
	OPTIONS_PER(KEY_PER, "every", 4),
	{ NULL, 0, NULL, 0, "Time:", 5 },
	{ "skip-start", KEY_SKIP, "SEC", 0, "leave out the first seconds of each run", 5 },
	{ "from-marker", KEY_FROM_MARKER, "TEXT", 0, "begin at the marker with that text", 5 },
	{ "to-marker", KEY_TO_MARKER, "TEXT", 0, "end at the marker with that text", 5 },
	{ "align", KEY_ALIGN, "WHAT", 0, "command: only what lies between its start and its exit", 5 },
	{ NULL, 0, NULL, 0, "Output:", 6 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "table (default), csv, json, markdown, junit", 6 },
	{ 0 },
};

static const char brief[] =
	"Usage: pmrep diff [OPTION...] BASE NEW\n"
	"       pmrep diff [OPTION...] --base A1 A2 ... --new B1 B2 ...\n"
	"Is NEW slower than BASE, and is that certain? A verdict needs four runs or more on each side.\n\n"
	"  --base, --new FILE...        files, folders, or labels: --base label=main --new label=mine DIR\n"
	"  --gate METRIC[:MARGIN],...   test these alone; the exit code is theirs\n"
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
	"Exit status: 0 no regression, 1 regressed, 2 trouble, 3 damaged input, 4 inconclusive.\n";

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

static error_t add_word(char ***list, size_t *n, char *word)
{
	char **more = reallocarray(*list, *n + 1, sizeof(*more));

	if (!more)
		return ENOMEM;
	*list = more;
	more[(*n)++] = word;
	return 0;
}

/* A label is what has a '=' and is no file. */
static error_t add_side(struct diff_options *o, enum diff_side side, char *arg)
{
	if (strchr(arg, '=') && access(arg, F_OK))
		return add_word(&o->label[side], &o->n_labels[side], arg);
	return add_word(&o->path[side], &o->n_paths[side], arg);
}

/* The margin is what follows the last ':' if that is a number: names of events have colons, too. */
static error_t add_gates(struct diff_options *o, const char *list, struct argp_state *state)
{
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
			return ENOMEM;
		}
		o->gate = more;
		more[o->n_gates++] = gate;
		if (!gate.word[0])
			return options_bad(state, "--gate: an empty name");
		list += len + (list[len] == ',');
	}
	return 0;
}

static error_t load_vendor(struct diff_options *o, const char *path, struct argp_state *state)
{
	struct error e = { 0 };

	if (vendor_files_add(&o->vendor, path, &e))
		return options_bad(state, "--metrics-file: %s", e.text);
	return 0;
}

static error_t select_words(struct selection *s, enum selection_verb verb, const char *list, struct argp_state *state)
{
	struct error e = { 0 };

	return selection_add(s, verb, list, &e) ? options_bad(state, "%s", e.text) : 0;
}

static error_t parse_metrics(struct diff_options *o, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_SHOW:
		return select_words(&o->selection, SELECT_SHOW, arg, state);
	case KEY_HIDE:
		return select_words(&o->selection, SELECT_HIDE, arg, state);
	case KEY_ENABLE:
		return select_words(&o->selection, SELECT_ENABLE, arg, state);
	case KEY_LOWER:
		return select_words(&o->lower, SELECT_SHOW, arg, state);
	case KEY_HIGHER:
		return select_words(&o->higher, SELECT_SHOW, arg, state);
	case KEY_ALL:
		o->all = true;
		return 0;
	case KEY_RATE:
		o->rate = true;
		return 0;
	case KEY_VENDOR:
		return load_vendor(o, arg, state);
	case KEY_GATE:
		return add_gates(o, arg, state);
	case KEY_MARGIN:
		return parse_share(arg, strlen(arg), &o->margin) ?
			       options_bad(state, "--margin: '%s' is not a margin, such as 2%% or 0.02", arg) :
			       0;
	case KEY_RUN_SD:
		return parse_share(arg, strlen(arg), &o->run_sd) || !(o->run_sd > 0) ?
			       options_bad(state, "--assume-run-sd: '%s' is not a deviation above 0, such as 1%%",
					   arg) :
			       0;
	case KEY_ALPHA:
		return parse_share(arg, strlen(arg), &o->alpha) || !(o->alpha > 0) || !(o->alpha < 1) ?
			       options_bad(state, "--alpha: '%s' is not a share between 0 and 1, such as 5%%", arg) :
			       0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_format(struct diff_options *o, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[DIFF_TABLE] = "table",       [DIFF_CSV] = "csv",     [DIFF_JSON] = "json",
		[DIFF_MARKDOWN] = "markdown", [DIFF_JUNIT] = "junit",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(arg, names[i])) {
			o->format = (enum diff_format)i;
			return 0;
		}
	return options_bad(state, "--format=%s: table, csv, json, markdown or junit", arg);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct diff_options *o = state->input;
	uint64_t n;

	if (key >= KEY_PER && key < KEY_PER + PM_KINDS) {
		o->per |= 1u << (key - KEY_PER);
		return 0;
	}
	switch (key) {
	case KEY_BASE:
		return add_side(o, DIFF_BASE, arg);
	case KEY_NEW:
		return add_side(o, DIFF_NEW, arg);
	case KEY_NOISE:
		o->noise = arg;
		return 0;
	case KEY_SAVE_NOISE:
		o->save_noise = arg;
		return 0;
	case KEY_OVERWRITE:
		o->overwrite = OUTFILE_OVERWRITE;
		return 0;
	case KEY_FORCE:
		o->force = true;
		return 0;
	case KEY_STRICT:
		o->strict = true;
		return 0;
	case KEY_JOBS:
		if (parse_u64(arg, &n) || !n || n > 16)
			return options_bad(state, "--jobs: 1 to 16");
		o->jobs = (unsigned)n;
		return 0;
	case KEY_SKIP:
		return parse_duration(arg, &o->skip_ns) ?
			       options_bad(state, "--skip-start: '%s' is not a time: use seconds, or add ms, m or h",
					   arg) :
			       0;
	case KEY_FROM_MARKER:
		o->from_marker = arg;
		return 0;
	case KEY_TO_MARKER:
		o->to_marker = arg;
		return 0;
	case KEY_ALIGN:
		if (strcmp(arg, "command"))
			return options_bad(state, "--align: there is 'command', between its start and its exit");
		o->align_command = true;
		return 0;
	case KEY_FAILURES:
		o->allow_failures = true;
		return 0;
	case KEY_PAIRS:
		o->pairs = true;
		return 0;
	case KEY_FORMAT:
		return parse_format(o, arg, state);
	case ARGP_KEY_ARG:
		return add_word(&o->place, &o->n_places, arg);
	default:
		return parse_metrics(o, key, arg, state);
	}
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "BASE NEW" };

const struct options_spec diff_spec = {
	.name = "pmrep diff",
	.column = OPTIONS_OTHER,
	.argp = &argp,
	.brief = brief,
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
	free(o->place);
	for (size_t i = 0; i < o->n_gates; i++)
		free(o->gate[i].word);
	free(o->gate);
	selection_release(&o->selection);
	selection_release(&o->lower);
	selection_release(&o->higher);
	vendor_files_free(o->vendor);
}

/* "--base", "-base", "--base=X": the option's name, and what follows it. */
static const char *side_of(const char *word, const char **value)
{
	static const char *const name[] = { "base", "new" };
	const char *at = word + (*word == '-') + (word[0] == '-' && word[1] == '-');

	*value = NULL;
	for (size_t i = 0; at > word && i < sizeof(name) / sizeof(*name); i++) {
		size_t len = strlen(name[i]);

		if (strncmp(at, name[i], len) || (at[len] && at[len] != '='))
			continue;
		*value = at[len] ? at + len + 1 : NULL;
		return name[i];
	}
	return NULL;
}

static bool put(char **list, int *n, const char *side, const char *word)
{
	struct buf text = BUF_INIT;

	if (side)
		buf_printf(&text, "--%s=", side);
	buf_addstr(&text, word);
	list[*n] = buf_detach(&text);
	buf_release(&text);
	return list[(*n)++];
}

int diff_words(int argc, char **argv, int *new_argc, char ***new_argv)
{
	char **list = calloc((size_t)argc + 2, sizeof(*list));
	const char *side = NULL, *value;
	bool ok = list, operands = false, bare = false;
	int n = 0;

	for (int i = 0; i < argc && ok; i++) {
		const char *named = i && !operands ? side_of(argv[i], &value) : NULL;

		if (named) {
			/* "--base" with nothing behind it is told of by the parser. */
			bare = !value && (i + 1 == argc || argv[i + 1][0] == '-');
			side = named;
			if (bare || value)
				ok = value ? put(list, &n, named, value) : put(list, &n, NULL, argv[i]);
			continue;
		}
		if (!operands && argv[i][0] == '-' && argv[i][1]) {
			operands = !strcmp(argv[i], "--");
			if (!operands)
				side = NULL;
		} else if (side) {
			ok = put(list, &n, side, argv[i]);
			continue;
		}
		ok = put(list, &n, NULL, argv[i]);
	}
	if (!ok) {
		if (list)
			diff_words_free(list);
		return -ENOMEM;
	}
	*new_argc = n;
	*new_argv = list;
	return 0;
}

void diff_words_free(char **argv)
{
	for (char **word = argv; *word; word++)
		free(*word);
	free(argv);
}
