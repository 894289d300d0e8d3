#include "report/stat/options_stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/parse.h"
#include "report/metric/vendor_files.h"

enum {
	KEY_EVENT = 'e',
	KEY_METRICS = 'M',
	KEY_DETAILED = 'd',
	KEY_TRANSACTION = 'T',
	KEY_NO_AGGR = 'A',
	KEY_CPU = 'C',
	KEY_PID = 'p',
	KEY_TID = 't',
	KEY_CGROUP = 'G',
	KEY_BPF = 'b',
	KEY_PRINT = 'I',
	KEY_SEPARATOR = 'x',
	KEY_JSON = 'j',
	KEY_BIG = 'B',
	KEY_OUT = 'o',
	KEY_VERBOSE = 'v',
	KEY_QUIET = 'q',
	KEY_LONG = 0x200,
	KEY_ALL_EVENTS,
	KEY_VENDOR,
	KEY_TOPDOWN,
	KEY_LEVEL,
	KEY_SMI,
	KEY_STYLE,
	KEY_NO_MERGE,
	KEY_HYBRID,
	KEY_SHOW_THREAD,
	KEY_EVERY,
	KEY_TOTAL,
	KEY_ALL,
	KEY_SINCE,
	KEY_UNTIL,
	KEY_COUNT,
	KEY_SUMMARY,
	KEY_FOLLOW,
	KEY_CLEAR,
	KEY_STATS,
	KEY_SORT,
	KEY_TOP,
	KEY_FORMAT,
	KEY_APPEND,
	KEY_OVERWRITE,
	KEY_LOG_FD,
	KEY_ONLY,
	KEY_NO_ONLY,
	KEY_NO_THRESHOLD,
	KEY_NO_BIG,
	KEY_NO_CSV_SUMMARY,
	KEY_TABLE,
	KEY_NO_SCALE,
	KEY_STRICT,
	KEY_PER = 0x300, /* + stat_aggr */
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "What:", 1 },
	{ "event", KEY_EVENT, "LIST", 0, "Only these events: as they were recorded, or globs; other counters, too",
	  1 },
	{ "all-events", KEY_ALL_EVENTS, NULL, 0, "All perf events, asked for or not", 1 },
	{ "detailed", KEY_DETAILED, NULL, 0, "perf's choice with -d, -dd or -ddd, of what was recorded", 1 },
	{ "metrics", KEY_METRICS, "LIST", 0, "These metrics or groups of them", 1 },
	{ "metrics-file", KEY_VENDOR, "FILE|DIR", 0, "More metrics, from a JSON file of perf's schema", 1 },
	{ "topdown", KEY_TOPDOWN, NULL, 0, "Metrics of the topdown method", 1 },
	{ "td-level", KEY_LEVEL, "N", 0, "Down to which level: 1 (default) to 6", 1 },
	{ "transaction", KEY_TRANSACTION, NULL, 0, "Metrics of transactional memory", 1 },
	{ "smi-cost", KEY_SMI, NULL, 0, "Metrics of system management interrupts", 1 },
	{ "cpu", KEY_CPU, "LIST", 0, "Sum up these CPUs only", 1 },
	{ "pid", KEY_PID, "LIST", 0, "Threads of these processes only", 1 },
	{ "tid", KEY_TID, "LIST", 0, "These threads only", 1 },
	{ "cgroup", KEY_CGROUP, "LIST", 0, "Events of these cgroups only", 1 },
	{ "bpf-prog", KEY_BPF, "LIST", 0, "Events of these BPF programs only, by their ids", 1 },
	{ NULL, 0, NULL, 0, "Lines:", 2 },
	{ "no-aggr", KEY_NO_AGGR, NULL, 0, "One line a CPU, or a PMU", 2 },
	{ "per-cpu", KEY_NO_AGGR, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 2 },
	{ "per-system", KEY_PER + STAT_GLOBAL, NULL, 0, "One line an event (the default)", 2 },
	{ "per-socket", KEY_PER + STAT_SOCKET, NULL, 0, "One line a socket", 2 },
	{ "per-package", KEY_PER + STAT_SOCKET, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 2 },
	{ "per-die", KEY_PER + STAT_DIE, NULL, 0, "One line a die", 2 },
	{ "per-cluster", KEY_PER + STAT_CLUSTER, NULL, 0, "One line a cluster", 2 },
	{ "per-cache", KEY_PER + STAT_CACHE, "LEVEL", OPTION_ARG_OPTIONAL,
	  "One line a cache: L2, L3; else the last level", 2 },
	{ "per-core", KEY_PER + STAT_CORE, NULL, 0, "One line a core", 2 },
	{ "per-node", KEY_PER + STAT_NODE, NULL, 0, "One line a NUMA node", 2 },
	{ "per-thread", KEY_PER + STAT_THREAD, NULL, 0, "One line a thread", 2 },
	{ "per-task", KEY_PER + STAT_THREAD, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 2 },
	{ "per-cgroup", KEY_PER + STAT_CGROUP, NULL, 0, "One line a cgroup", 2 },
	{ "percore-show-thread", KEY_SHOW_THREAD, NULL, 0, "With -A, events of a core on each of its CPUs", 2 },
	{ "no-merge", KEY_NO_MERGE, NULL, 0, "One line a PMU where several have the event", 2 },
	{ "hybrid-merge", KEY_HYBRID, NULL, 0, "One line for all kinds of CPUs", 2 },
	{ "sort", KEY_SORT, "KEY", 0, "Within a place or event: by value, running or name; none (default)", 2 },
	{ "top", KEY_TOP, "N", 0, "The first N of these", 2 },
	{ NULL, 0, NULL, 0, "Time:", 3 },
	{ "interval-print", KEY_PRINT, "MS", 0, "Counts of every so many milliseconds", 3 },
	{ "every", KEY_EVERY, "SEC", 0, "The same, in seconds", 3 },
	{ "interval", KEY_EVERY, "SEC", OPTION_ALIAS, NULL, 3 },
	{ "all", KEY_ALL, NULL, 0, "Counts of every recorded interval", 3 },
	{ "total", KEY_TOTAL, NULL, 0, "Counts of all of it (the default)", 3 },
	{ "summary", KEY_SUMMARY, NULL, 0, "Totals behind the intervals", 3 },
	{ "interval-count", KEY_COUNT, "N", 0, "The first N intervals", 3 },
	{ "stats", KEY_STATS, NULL, 0, "Least, largest, mean, percentiles over the intervals", 3 },
	{ "since", KEY_SINCE, "TIME", 0, "Begin there: seconds from the start, -SECONDS from the end, or a date", 3 },
	{ "until", KEY_UNTIL, "TIME", 0, "End there", 3 },
	{ "follow", KEY_FOLLOW, NULL, 0, "Go on while the recording is being written", 3 },
	{ "interval-clear", KEY_CLEAR, NULL, 0, "Clear the screen before each interval", 3 },
	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "field-separator", KEY_SEPARATOR, "SEP", 0, "perf's CSV, with that between the fields", 4 },
	{ "json-output", KEY_JSON, NULL, 0, "perf's JSON, one object a line", 4 },
	{ "format", KEY_FORMAT, "FORMAT", 0, "perf (default); table, csv or json: rows as pmrep show has them", 4 },
	{ "output", KEY_OUT, "FILE", 0, "Write there", 4 },
	{ "out", KEY_OUT, "FILE", OPTION_ALIAS | OPTION_HIDDEN, NULL, 4 },
	{ "append", KEY_APPEND, NULL, 0, "Behind what the file holds", 4 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "Replace FILE of --output, if there is one", 4 },
	{ "log-fd", KEY_LOG_FD, "FD", 0, "Write to that descriptor", 4 },
	{ "metric-only", KEY_ONLY, NULL, 0, "Only metrics, one line a place", 4 },
	{ "no-metric-only", KEY_NO_ONLY, NULL, 0, "Counts, too (the default)", 4 },
	{ "metric-no-threshold", KEY_NO_THRESHOLD, NULL, 0, "Do not judge metrics", 4 },
	{ "metric-style", KEY_STYLE, "STYLE", 0, "Words of metrics: classic (perf to 6), named (perf 7), none", 4 },
	{ "big-num", KEY_BIG, NULL, 0, "Commas between thousands (the default)", 4 },
	{ "no-big-num", KEY_NO_BIG, NULL, 0, "None", 4 },
	{ "no-csv-summary", KEY_NO_CSV_SUMMARY, NULL, 0, "No word \"summary\" before the totals of -x", 4 },
	{ "table", KEY_TABLE, NULL, 0, "The time of each run of -r", 4 },
	{ "no-scale", KEY_NO_SCALE, NULL, 0, "Counts as they are where counters were shared", 4 },
	{ "verbose", KEY_VERBOSE, NULL, 0, "Counts, enabled and running time below each line", 4 },
	{ "quiet", KEY_QUIET, NULL, 0, "No remarks", 4 },
	{ "strict", KEY_STRICT, NULL, 0, "Exit with 3 if any sum lacks a part", 4 },
	{ 0 },
};

static const char brief[] =
	"Usage: pmrep stat [OPTION...] FILE...\n"
	"Counts as perf stat prints them: one total, or with -I MS those of each interval.\n\n"
	"  -e, --event=LIST     only these events;  -M, --metrics=LIST  metrics\n"
	"  -A                   a line a CPU; --per-socket, -die, -cluster, -cache, -core, -node, -thread, "
	"-cgroup\n"
	"  -I MS                intervals; --summary totals behind them, --stats percentiles over them\n"
	"  -x SEP, -j           perf's CSV and JSON;  --format=csv|json  ours\n"
	"  -C LIST, -p PID, -t TID, -G CGROUP, --since=TIME, --until=TIME   a part\n"
	"  -o FILE, --append    to a file\n\n"
	"Examples:\n"
	"  pmrep stat host.pmr\n"
	"  pmrep stat -I 1000 --per-socket -x, host.pmr\n"
	"  pmrep stat -A -e cycles --sort=value host.pmr\n"
	"--help=all lists every option.\n";

static error_t bad(struct argp_state *state, const struct error *e)
{
	return options_bad(state, "%s", e->text);
}

static error_t parse_word(const char *option, const char *arg, const char *const *words, unsigned *value,
			  struct argp_state *state)
{
	struct buf all = BUF_INIT;
	error_t err;

	for (unsigned i = 0; words[i]; i++) {
		if (!strcmp(words[i], arg)) {
			*value = i;
			return 0;
		}
	}
	for (unsigned i = 0; words[i]; i++)
		buf_printf(&all, "%s%s", i ? ", " : "", words[i]);
	err = options_bad(state, "--%s: there is no '%s'; there are %s", option, arg, buf_str(&all));
	buf_release(&all);
	return err;
}

static error_t parse_number(const char *option, const char *arg, uint64_t low, uint64_t high, uint64_t *value,
			    struct argp_state *state)
{
	if (!parse_u64(arg, value) && *value >= low && *value <= high)
		return 0;
	return options_bad(state, "--%s: '%s' is no number from %llu to %llu", option, arg, (unsigned long long)low,
			   (unsigned long long)high);
}

static error_t add_words(struct stat_words *w, int key, const char *arg, struct argp_state *state)
{
	size_t before = w->n;

	if (stat_words_add(w, arg))
		return ENOMEM;
	return w->n > before ? 0 : options_bad(state, "-%c: an empty list", key);
}

static error_t add_programs(struct stat_config *c, const char *arg, struct argp_state *state)
{
	error_t err = add_words(&c->programs, 'b', arg, state);
	uint64_t id;

	for (size_t i = 0; i < c->programs.n && !err; i++)
		if (parse_u64(c->programs.word[i], &id) || !id)
			err = options_bad(state, "--bpf-prog: '%s' is no list of ids of BPF programs", arg);
	return err;
}

/* Process ids come before thread ids. */
static error_t add_ids(struct stat_config *c, const char *arg, bool threads, struct argp_state *state)
{
	while (*arg) {
		size_t len = strcspn(arg, ","), n = c->n_pids + c->n_tids;
		uint64_t id, *more;

		if (parse_u64_span(arg, len, 10, &id))
			return options_bad(state, "--%s: '%s' is no list of ids", threads ? "tid" : "pid", arg);
		more = realloc(c->id, (n + 1) * sizeof(*more));
		if (!more)
			return ENOMEM;
		c->id = more;
		more[n] = id;
		if (threads) {
			c->n_tids++;
		} else {
			memmove(more + c->n_pids + 1, more + c->n_pids, c->n_tids * sizeof(*more));
			more[c->n_pids++] = id;
		}
		arg += len + (arg[len] == ',');
	}
	return 0;
}

static error_t load_vendor(struct stat_options *o, const char *path, struct argp_state *state)
{
	struct error e = { 0 };

	if (vendor_files_add(&o->vendor, path, &e))
		return options_bad(state, "--metrics-file: %s", e.text);
	o->stat.vendor = o->vendor;
	o->pipeline.bind.files = o->vendor;
	return 0;
}

static error_t parse_what(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	static const char *const styles[] = { "auto", "classic", "named", "none", NULL };
	struct stat_config *c = &o->stat;
	struct error e = { 0 };
	unsigned word = 0;
	uint64_t n;

	switch (key) {
	case KEY_EVENT:
		return add_words(&c->events, key, arg, state);
	case KEY_METRICS:
		return add_words(&c->metrics, key, arg, state);
	case KEY_ALL_EVENTS:
		c->all_events = true;
		return 0;
	case KEY_DETAILED:
		c->detailed++;
		return 0;
	case KEY_VENDOR:
		return load_vendor(o, arg, state);
	case KEY_TOPDOWN:
		o->topdown = true;
		return 0;
	case KEY_LEVEL:
		if (parse_number("td-level", arg, 1, 6, &n, state))
			return EINVAL;
		o->td_level = (unsigned)n;
		return 0;
	case KEY_TRANSACTION:
		return add_words(&c->metrics, key, "transaction", state);
	case KEY_SMI:
		return add_words(&c->metrics, key, "smi", state);
	case KEY_STYLE:
		if (parse_word("metric-style", arg, styles, &word, state))
			return EINVAL;
		c->style = (enum stat_style)word;
		return 0;
	case KEY_CPU:
		return cpulist_parse(&c->cpus, arg, true, &e) ? options_bad(state, "--cpu: %s", e.text) : 0;
	case KEY_PID:
	case KEY_TID:
		return add_ids(c, arg, key == KEY_TID, state);
	case KEY_CGROUP:
		return add_words(&c->cgroups, key, arg, state);
	case KEY_BPF:
		return add_programs(c, arg, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_cache(struct stat_options *o, const char *arg, struct argp_state *state)
{
	if (!arg)
		return 0;
	if ((arg[0] == 'L' || arg[0] == 'l') && (arg[1] == '2' || arg[1] == '3') && !arg[2]) {
		o->cache_level = arg[1] - '0';
		return 0;
	}
	return options_bad(state, "--per-cache: '%s' is no level that is shared: L2 or L3", arg);
}

static error_t parse_lines(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	static const char *const sorts[] = { "none", "value", "name", "running", NULL };
	struct stat_config *c = &o->stat;
	unsigned word = 0;
	uint64_t n;

	if (key >= KEY_PER && key < KEY_PER + STAT_AGGRS) {
		c->aggr = (enum stat_aggr)(key - KEY_PER);
		return c->aggr == STAT_CACHE ? parse_cache(o, arg, state) : 0;
	}
	switch (key) {
	case KEY_NO_AGGR:
		c->aggr = STAT_NONE;
		return 0;
	case KEY_NO_MERGE:
		c->no_merge = true;
		return 0;
	case KEY_HYBRID:
		c->hybrid_merge = true;
		return 0;
	case KEY_SHOW_THREAD:
		c->show_thread = true;
		return 0;
	case KEY_SORT:
		if (parse_word("sort", arg, sorts, &word, state))
			return EINVAL;
		c->sort = (enum stat_sort)word;
		return 0;
	case KEY_TOP:
		if (parse_number("top", arg, 1, UINT32_MAX, &n, state))
			return EINVAL;
		c->top = (uint32_t)n;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_time_option(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	struct pipeline_config *p = &o->pipeline;
	struct error e = { 0 };

	switch (key) {
	case KEY_PRINT:
		if (parse_duration_ms(arg, &p->every_ns) || !p->every_ns)
			return options_bad(state, "-I: '%s' is no time; milliseconds, or with a unit", arg);
		p->mode = PIPELINE_EVERY;
		return 0;
	case KEY_EVERY:
		if (parse_duration(arg, &p->every_ns) || !p->every_ns)
			return options_bad(state, "--every: '%s' is no time; seconds, or with ms, m or h", arg);
		p->mode = PIPELINE_EVERY;
		return 0;
	case KEY_ALL:
		p->mode = PIPELINE_EACH;
		return 0;
	case KEY_TOTAL:
		p->mode = PIPELINE_TOTAL;
		return 0;
	case KEY_SINCE:
		return moment_parse(&p->since, arg, &e) ? options_bad(state, "--since: %s", e.text) : 0;
	case KEY_UNTIL:
		return moment_parse(&p->until, arg, &e) ? options_bad(state, "--until: %s", e.text) : 0;
	case KEY_COUNT:
		return parse_number("interval-count", arg, 1, UINT64_MAX, &p->max_intervals, state);
	case KEY_SUMMARY:
		o->stat.summary = true;
		return 0;
	case KEY_STATS:
		o->stat.stats = true;
		return 0;
	case KEY_FOLLOW:
		o->follow = true;
		return 0;
	case KEY_CLEAR:
		o->export.clear = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_format(struct stat_options *o, const char *arg, struct argp_state *state)
{
	static const char *const words[] = { "perf", "table", "csv", "json", NULL };
	unsigned word = 0;

	if (parse_word("format", arg, words, &word, state))
		return EINVAL;
	o->tidy = word ? exporter_find(arg) : NULL;
	return 0;
}

static error_t parse_output(struct stat_options *o, int key, char *arg, struct argp_state *state)
{
	struct stat_config *c = &o->stat;
	uint64_t n;

	switch (key) {
	case KEY_SEPARATOR:
		if (!*arg || strpbrk(arg, "\"\r\n"))
			return options_bad(state, "-x: the separator is a character or word without quotes");
		if (strpbrk(arg, "0123456789.%"))
			return options_bad(state, "-x: '%s' stands in numbers: they could not be told apart", arg);
		/* perf takes the two characters for a TAB, because shells make it hard to type one. */
		c->separator = strcmp(arg, "\\t") ? arg : "\t";
		c->form = STAT_CSV;
		o->csv = true;
		return 0;
	case KEY_JSON:
		c->form = STAT_JSON;
		o->json = true;
		return 0;
	case KEY_FORMAT:
		return parse_format(o, arg, state);
	case KEY_OUT:
		o->out = arg;
		return 0;
	case KEY_APPEND:
		o->out_flags |= OUTFILE_APPEND;
		return 0;
	case KEY_OVERWRITE:
		o->out_flags |= OUTFILE_OVERWRITE;
		return 0;
	case KEY_LOG_FD:
		if (parse_number("log-fd", arg, 0, 1 << 20, &n, state))
			return EINVAL;
		o->log_fd = (int)n;
		return 0;
	case KEY_ONLY:
	case KEY_NO_ONLY:
		c->metric_only = key == KEY_ONLY;
		return 0;
	case KEY_NO_THRESHOLD:
		c->no_threshold = true;
		return 0;
	case KEY_BIG:
	case KEY_NO_BIG:
		c->big_num = key == KEY_BIG;
		return 0;
	case KEY_NO_CSV_SUMMARY:
		c->no_csv_summary = true;
		return 0;
	case KEY_TABLE:
		c->table = true;
		return 0;
	case KEY_NO_SCALE:
		c->no_scale = true;
		return 0;
	case KEY_VERBOSE:
		c->verbose = true;
		return 0;
	case KEY_QUIET:
		o->quiet = true;
		return 0;
	case KEY_STRICT:
		o->strict = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* What cannot stand together. */
static error_t judge(struct stat_options *o, struct argp_state *state)
{
	struct stat_config *c = &o->stat;
	struct error e = { 0 };
	static const char *const level[] = { "TopdownL1", "TopdownL2", "TopdownL3",
					     "TopdownL4", "TopdownL5", "TopdownL6" };

	if (o->out && o->log_fd >= 0)
		return options_bad(state, "--output and --log-fd: only one place to write to");
	if (o->out_flags & OUTFILE_APPEND && !o->out)
		return options_bad(state, "--append needs --output");
	if (o->csv && o->json)
		return options_bad(state, "-x and -j: only one of them");
	if (c->stats && c->metric_only)
		return options_bad(state, "--stats is of counts, and --metric-only leaves these out");
	if (o->tidy && c->form != STAT_TEXT)
		return options_bad(state, "--format is ours, and -x and -j are perf's: only one of them");
	if (o->tidy && (c->stats || c->metric_only))
		return options_bad(state,
				   "--stats and --metric-only have perf's formats: -x or -j in place of --format");
	for (unsigned i = 0; o->topdown && i < (o->td_level ? o->td_level : 1); i++)
		if (stat_words_add(&c->metrics, level[i]))
			return bad(state, &e);
	return 0;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct stat_options *o = state->input;
	error_t known;

	if (key == ARGP_KEY_ARGS) {
		o->file = state->argv + state->next;
		o->n_files = state->argc - state->next;
		return 0;
	}
	if (key == ARGP_KEY_END)
		return judge(o, state);
	known = parse_what(o, key, arg, state);
	known = known == ARGP_ERR_UNKNOWN ? parse_lines(o, key, arg, state) : known;
	known = known == ARGP_ERR_UNKNOWN ? parse_time_option(o, key, arg, state) : known;
	return known == ARGP_ERR_UNKNOWN ? parse_output(o, key, arg, state) : known;
}

static const struct argp argp = { .options = options, .parser = parse_opt, .args_doc = "FILE..." };

const struct options_spec stat_spec = {
	.name = "pmrep stat",
	.column = OPTIONS_STAT,
	.argp = &argp,
	.brief = brief,
};

void stat_options_release(struct stat_options *o)
{
	stat_words_release(&o->stat.events);
	stat_words_release(&o->stat.metrics);
	stat_words_release(&o->stat.cgroups);
	stat_words_release(&o->stat.programs);
	cpulist_release(&o->stat.cpus);
	free(o->stat.id);
	vendor_files_free(o->vendor);
}
