#include "record/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/parse.h"
#include "record/plan/add.h"

/* The definitions of a small machine and a few snapshots. */
#define ROTATE_MIN_BYTES 4096

enum {
	KEY_FIRST = 300,
	KEY_SOURCES,
	KEY_LABEL,
	KEY_PRIVACY,
	KEY_OVERWRITE,
	KEY_REPORT,
	KEY_ROOT,
	KEY_CONTROL,
	KEY_TIMEOUT,
	KEY_FILTER,
	KEY_NO_INHERIT,
	KEY_NULL,
	KEY_ALL_USER,
	KEY_ALL_KERNEL,
	KEY_NO_MSR,
	KEY_NO_SCALE,
	KEY_THREADS,
	KEY_TCC,
	KEY_CODEC,
	KEY_NO_AFFINITY,
	KEY_ADD,
	KEY_EVENTS_FILE,
	KEY_METRICS_FILE,
	KEY_METRIC_NO_GROUP,
	KEY_METRIC_NO_MERGE,
	KEY_METRIC_NO_THRESHOLD,
	KEY_PFM_EVENTS,
	KEY_PER_THREAD,
	KEY_EACH_CGROUP,
	KEY_PRE,
	KEY_POST,
	KEY_TOPDOWN,
	KEY_TD_LEVEL,
	KEY_SMI_COST,
	KEY_CPUTYPE,
	KEY_PMU_FILTER,
	KEY_BPF_COUNTERS,
	KEY_BPF_ATTR_MAP,
	KEY_ROTATE,
	KEY_KEEP,
};

/* clang-format off */
static const struct argp_option options[] = {
	{ .doc = "When:", .group = 1 },
	{ "interval", 'i', "SEC", 0, "seconds between snapshots (1); with a unit: 10ms, 500us; 0: start and end only",
	  1 },
	{ "interval-print", 'I', "MSEC", 0, "the same in milliseconds", 1 },
	{ "num_iterations", 'n', "NUM", 0, "end after NUM intervals", 1 },
	{ "interval-count", 0, NULL, OPTION_ALIAS, NULL, 1 },
	{ "timeout", KEY_TIMEOUT, "MSEC", 0, "end after that time", 1 },
	{ "delay", 'D', "MSEC", 0, "start counting that long after the start; -1: only when --control says so", 1 },
	{ "repeat", 'r', "NUM", 0, "run COMMAND that many times, each a run of its own in the recording; 0: until "
	  "interrupted", 1 },
	{ "sync", 'S', NULL, 0, "sync() before each run", 1 },
	{ "pre", KEY_PRE, "SHELL-COMMAND", 0, "run that before each run; its failure ends all", 1 },
	{ "post", KEY_POST, "SHELL-COMMAND", 0, "run that after each run", 1 },
	{ .doc = "What:", .group = 2 },
	{ "event", 'e', "LIST", 0, "perf events, in perf's own language; may be repeated", 2 },
	{ "events-file", KEY_EVENTS_FILE, "FILE|DIR", 0,
	  "names of the CPU's vendor for -e, in perf's JSON schema; may be "
	  "repeated",
	  2 },
	{ "pfm-events", KEY_PFM_EVENTS, "LIST", 0, "events by the names of libpfm4; may be repeated", 2 },
	{ "add", KEY_ADD, "LOCATION,...", 0, "add a counter: msr0x10, /sys/..., perf/DEVICE/EVENT or pmt, then "
	  "cpu|core|package, u32|u64, raw|delta|percent|average, cycles|seconds|usec, NAME; may be repeated", 2 },
	{ "metrics", 'M', "LIST", 0,
	  "count what these metrics or groups of metrics need (pmrec list metrics); may be repeated", 2 },
	{ "metrics-file", KEY_METRICS_FILE, "FILE|DIR", 0,
	  "more metrics for -M, in perf's JSON schema; may be repeated", 2 },
	{ "metric-no-group", KEY_METRIC_NO_GROUP, NULL, 0, "count the events of a metric one by one", 2 },
	{ "metric-no-merge", KEY_METRIC_NO_MERGE, NULL, 0, "count an event again for each metric", 2 },
	{ "metric-no-threshold", KEY_METRIC_NO_THRESHOLD, NULL, 0, "do not count what only thresholds need", 2 },
	{ "filter", KEY_FILTER, "FILTER", 0, "filter of the tracepoint before it", 2 },
	{ "detailed", 'd', NULL, 0, "more default events; up to three times", 2 },
	{ "all-cpus", 'a', NULL, 0, "count on all CPUs also while COMMAND runs", 2 },
	{ "cpu", 'C', "LIST", 0, "record these CPUs only: 0-3,8", 2 },
	{ "pid", 'p', "LIST", 0, "count these processes and their threads", 2 },
	{ "tid", 't', "LIST", 0, "count these threads", 2 },
	{ "per-thread", KEY_PER_THREAD, NULL, 0, "each thread for itself, also those that start later", 2 },
	{ "cgroup", 'G', "NAME,...", 0, "the events before it count these cgroups only: one name for all of them, or "
	  "one each, an empty one meaning no cgroup", 2 },
	{ "for-each-cgroup", KEY_EACH_CGROUP, "NAME,...", 0, "each event counts each of these cgroups; a name may be "
	  "a regular expression", 2 },
	{ "no-inherit", KEY_NO_INHERIT, NULL, 0, "children of what is counted are not", 2 },
	{ "all-user", KEY_ALL_USER, NULL, 0, "count in user mode only", 2 },
	{ "all-kernel", KEY_ALL_KERNEL, NULL, 0, "count in kernel mode only", 2 },
	{ "cputype", KEY_CPUTYPE, "core|atom", 0, "on hybrids: events without a PMU count on this type only", 2 },
	{ "pmu-filter", KEY_PMU_FILTER, "PMU", 0, "of events that are there on several PMUs, only those of this one",
	  2 },
	{ "transaction", 'T', NULL, 0, "the events of transactional memory, too", 2 },
	{ "topdown", KEY_TOPDOWN, NULL, 0, "the events of the top-down method, too", 2 },
	{ "td-level", KEY_TD_LEVEL, "N", 0, "top-down levels that are needed; an error if there are fewer", 2 },
	{ "smi-cost", KEY_SMI_COST, NULL, 0, "what system management interrupts cost: freezes core counters in them, "
	  "and puts that back", 2 },
	{ "bpf-prog", 'b', "ID,...", 0, "count while these BPF programs run (bpftool prog)", 2 },
	{ "bpf-counters", KEY_BPF_COUNTERS, NULL, 0,
	  "count by BPF programs: recorders share events, and many cgroups need no more events than one", 2 },
	{ "bpf-attr-map", KEY_BPF_ATTR_MAP, "PATH", 0, "where recorders find the events that they share "
	  "(/sys/fs/bpf/perf_attr_map)", 2 },
	{ "null", KEY_NULL, NULL, 0, "no perf events", 2 },
	{ "no-perf", 'P', NULL, 0, "do not use perf events", 2 },
	{ "no-msr", KEY_NO_MSR, NULL, 0, "do not read model-specific registers", 2 },
	{ "no-scale", KEY_NO_SCALE, NULL, 0, "counts of events that shared a counter are not to be scaled", 2 },
	{ "sources", KEY_SOURCES, "LIST", 0, "record these sources only, or all usual ones but -NAME", 2 },
	{ "list", 'l', NULL, 0, "list what can be recorded (as pmrec list)", 2 },
	{ .doc = "Where to, and what it says:", .group = 3 },
	{ "output", 'o', "FILE", 0, "the recording; - is stdout (HOST-TIME.pmr)", 3 },
	{ "out", 0, NULL, OPTION_ALIAS, NULL, 3 },
	{ "overwrite", KEY_OVERWRITE, NULL, 0, "replace FILE", 3 },
	{ "rotate", KEY_ROTATE, "SIZE|TIME", 0, "write one file after the other, each so large (100M) or of so much "
	  "time (1h); pmrep merge joins them", 3 },
	{ "keep", KEY_KEEP, "NUM", 0, "with --rotate: keep the newest NUM files only", 3 },
	{ "label", KEY_LABEL, "KEY=VALUE", 0, "note in the recording; may be repeated", 3 },
	{ "privacy", KEY_PRIVACY, "LEVEL", 0, "strict: no names at all; default: host and command name; full: "
	  "arguments, users, processes too", 3 },
	{ "report", KEY_REPORT, "show|stat", OPTION_ARG_OPTIONAL, "print the result at the end (pmrep)", 3 },
	{ "quiet", 'q', NULL, 0, "say nothing but errors", 3 },
	{ "verbose", 'v', NULL, 0, "say more", 3 },
	{ .doc = "How:", .group = 4 },
	{ "control", KEY_CONTROL, "fd:CTL[,ACK] or fifo:CTL[,ACK]", 0,
	  "obey enable, disable, both also with an EVENT, evlist, snapshot, mark TEXT, ping and stop", 4 },
	{ "TCC", KEY_TCC, "CELSIUS", 0, "note the temperature that thermal registers count down from", 4 },
	{ "threads", KEY_THREADS, "auto|one|cpu", 0, "one reader for all CPUs or one on each (measured)", 4 },
	{ "codec", KEY_CODEC, "packed|plain", 0, "plain: typed arrays that any CBOR reader understands", 4 },
	{ "root", KEY_ROOT, "DIR", 0, "look at /sys, /proc and /dev under DIR", 4 },
	{ "force", 'f', NULL, 0, "no effect, taken for turbostat's sake", 4 },
	{ "no-affinity", KEY_NO_AFFINITY, NULL, 0, "no effect: readers never move from CPU to CPU", 4 },
	{ 0 },
};
/* clang-format on */

static const char brief[] =
	"Usage: pmrec [OPTION...] [--] [COMMAND [ARG...]]\n"
	"       pmrec list [events|sources|metrics|metricgroups] [GLOB]\n"
	"       pmrec doctor | pmrec mark TEXT | pmrec report ...\n"
	"\n"
	"Records raw counters of this machine into a file. pmrep reads it, here or elsewhere.\n"
	"\n"
	"  pmrec                        record everything usual, once a second, until Ctrl-C\n"
	"  pmrec -o x.pmr -- make -j8   record while a command runs\n"
	"  pmrec -i 10ms -e cycles,instructions -n 500\n"
	"  pmrec -o - | pmrep -         watch\n"
	"\n"
	"  -i SEC, -I MSEC    interval (1 s)           -e LIST          perf events\n"
	"  -n NUM             end after NUM intervals  -a, -C LIST      all CPUs, these CPUs\n"
	"  -o FILE            output                   -p, -t LIST      processes, threads\n"
	"  --report           print the result too     --sources=LIST   perf,cpuidle,... or -NAME\n"
	"  --label KEY=VALUE  note in the file         --privacy=LEVEL  strict, default, full\n"
	"\n"
	"pmrec doctor says what this machine offers and what is in the way. --help=all lists every option.\n";

/* Appends to a NULL-terminated array. */
static int append(char ***list, size_t *n, char *text)
{
	char **grown = realloc(*list, (*n + 2) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	grown[(*n)++] = text;
	grown[*n] = NULL;
	*list = grown;
	return 0;
}

static error_t add_event(struct record_cmdline *c, char *text)
{
	size_t n = c->n_events;

	if (append(&c->options.filters, &n, NULL) || append(&c->options.events, &c->n_events, text))
		return ENOMEM;
	return 0;
}

static error_t add_added(struct record_cmdline *c, const char *text, struct argp_state *state)
{
	struct record_options *o = &c->options;
	struct add *grown = realloc(o->added, (o->n_added + 1) * sizeof(*grown));
	struct error e = { 0 };

	if (!grown)
		return ENOMEM;
	o->added = grown;
	if (add_parse(&grown[o->n_added], text, &e))
		return options_bad(state, "%s", e.text);
	for (size_t i = 0; i < o->n_added; i++) {
		if (strcmp(grown[i].name, grown[o->n_added].name))
			continue;
		options_bad(state, "--add %.80s: there is a counter %s already; give it another NAME", text,
			    grown[i].name);
		add_release(&grown[o->n_added]);
		return EINVAL;
	}
	o->n_added++;
	return 0;
}

static error_t set_tcc(struct record_options *o, const char *text, struct argp_state *state)
{
	uint64_t celsius;

	if (parse_u64(text, &celsius) || !celsius || celsius > 255)
		return options_bad(state, "--TCC: '%s' is no temperature in degrees Celsius", text);
	o->tcc_celsius = (unsigned)celsius;
	return 0;
}

static error_t add_cgroups(struct record_cmdline *c, char *names, struct argp_state *state)
{
	struct record_options *o = &c->options;
	struct cgroup_option *grown;

	if (!c->n_events)
		return options_bad(state,
				   "-G: '%s' has no event before it; cgroups stand behind the -e that they are "
				   "for",
				   names);
	grown = realloc(o->cgroups, (o->n_cgroups + 1) * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	o->cgroups = grown;
	grown[o->n_cgroups++] = (struct cgroup_option){ .names = names, .n_events = c->n_events };
	return 0;
}

static bool adds(const struct record_options *o, enum add_location location)
{
	for (size_t i = 0; i < o->n_added; i++)
		if (o->added[i].location == location)
			return true;
	return false;
}

/* "1h" or "100M"; a bare number could be either. */
static error_t set_rotate(struct record_options *o, const char *text, struct argp_state *state)
{
	size_t len = strlen(text);
	bool bare = len && text[len - 1] >= '0' && text[len - 1] <= '9';

	o->rotate_ns = o->rotate_bytes = 0;
	if (bare || (parse_duration(text, &o->rotate_ns) && parse_size(text, &o->rotate_bytes)))
		return options_bad(state,
				   "--rotate: '%s' is neither a size with its unit, as 100M, nor a time with "
				   "its unit, as 1h",
				   text);
	if (o->rotate_ns > INT64_MAX / 4)
		return options_bad(state, "--rotate: '%s' is longer than anything is recorded", text);
	if (!o->rotate_ns && o->rotate_bytes < ROTATE_MIN_BYTES)
		return options_bad(state, "--rotate: '%s' is too little for a recording to have anything in it",
				   text);
	return 0;
}

static error_t parse_when(int key, char *arg, struct argp_state *state, struct record_options *o)
{
	int64_t n;
	uint64_t u;

	switch (key) {
	case 'i':
		if (parse_duration(arg, &o->interval_ns) || o->interval_ns > INT64_MAX / 4)
			return options_bad(state, "-i: '%s' is no interval in seconds", arg);
		break;
	case 'I':
		if (parse_duration_ms(arg, &o->interval_ns) || o->interval_ns > INT64_MAX / 4)
			return options_bad(state, "-I: '%s' is no interval in milliseconds", arg);
		break;
	case 'n':
		if (parse_u64(arg, &o->iterations) || !o->iterations)
			return options_bad(state, "-n: '%s' is no number of intervals (perf's -n is --null here)",
					   arg);
		break;
	case KEY_TIMEOUT:
		if (parse_duration_ms(arg, &o->timeout_ns) || !o->timeout_ns || o->timeout_ns > INT64_MAX / 4)
			return options_bad(state, "--timeout: '%s' is no time in milliseconds", arg);
		break;
	case 'D':
		if (!parse_s64(arg, &n) && n >= -1 && n < INT32_MAX)
			o->delay_ms = n;
		else if (!parse_duration_ms(arg, &u) && u / 1000000 < INT32_MAX)
			o->delay_ms = (int64_t)(u / 1000000);
		else
			return options_bad(state, "-D: '%s' is no delay in milliseconds", arg);
		break;
	case 'r':
		if (parse_u64(arg, &u) || u > UINT32_MAX - 1)
			return options_bad(state, "-r: '%s' is no number of runs", arg);
		o->runs = u ? (unsigned)u : UINT32_MAX;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (key == 'i' || key == 'I') {
		/* Below that a snapshot takes longer than the interval on any machine. */
		if (o->interval_ns && o->interval_ns < 10000)
			return options_bad(state, "-%c: an interval below 10 us cannot be kept", key);
	}
	return 0;
}

static bool one_of(const char *word, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(word, *words))
			return true;
	return false;
}

/* Ids of BPF programs are positive numbers. */
static error_t set_programs(struct record_options *o, char *list, struct argp_state *state)
{
	for (const char *at = list;; at++) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || !id || id >= UINT32_MAX || (*end && *end != ','))
			return options_bad(state,
					   "-b: '%s' is no list of ids of BPF programs; `bpftool prog` shows "
					   "them",
					   list);
		at = end;
		if (!*at)
			break;
	}
	o->bpf_programs = list;
	return 0;
}

static error_t parse_words(int key, char *arg, struct argp_state *state, struct record_cmdline *c)
{
	static const char *const levels[] = { "strict", "default", "full", NULL };
	static const char *const reports[] = { "show", "stat", NULL };
	static const char *const types[] = { "core", "atom", NULL };
	static const char *const threads[] = { "one", "auto", "cpu", NULL };
	struct record_options *o = &c->options;

	switch (key) {
	case 'e':
		return add_event(c, arg);
	case KEY_ADD:
		return add_added(c, arg, state);
	case KEY_FILTER:
		if (!c->n_events)
			return options_bad(state, "--filter belongs behind the -e that it filters");
		o->filters[c->n_events - 1] = arg;
		return 0;
	case 'G':
		return add_cgroups(c, arg, state);
	case KEY_CPUTYPE:
		o->cputype = arg;
		return one_of(arg, types) ? 0 : options_bad(state, "--cputype: '%s' is neither core nor atom", arg);
	case KEY_PMU_FILTER:
		o->pmu_filter = arg;
		return 0;
	case KEY_TD_LEVEL:
		return !parse_u64(arg, &o->td_level) && o->td_level <= 9 ?
			       0 :
			       options_bad(state, "--td-level: '%s' is no level", arg);
	case 'b':
		return set_programs(o, arg, state);
	case 'M':
		return append(&o->metrics, &c->n_metrics, arg) ? ENOMEM : 0;
	case KEY_METRICS_FILE:
		return append(&o->metric_files, &c->n_metric_files, arg) ? ENOMEM : 0;
	case KEY_EVENTS_FILE:
		return append(&o->event_files, &c->n_event_files, arg) ? ENOMEM : 0;
	case KEY_PFM_EVENTS:
		return append(&o->pfm_events, &c->n_pfm_events, arg) ? ENOMEM : 0;
	case KEY_LABEL:
		if (!strchr(arg, '=') || arg[0] == '=')
			return options_bad(state, "--label: '%s' is not KEY=VALUE", arg);
		return append(&o->labels, &c->n_labels, arg) ? ENOMEM : 0;
	case KEY_PRIVACY:
		if (!one_of(arg, levels))
			return options_bad(state, "--privacy: '%s' is none of strict, default, full", arg);
		o->privacy = arg;
		return 0;
	case KEY_REPORT:
		o->report = arg ? arg : (char *)"show";
		if (!one_of(o->report, reports))
			return options_bad(state, "--report: '%s' is neither show nor stat", arg);
		return 0;
	case KEY_THREADS:
		if (!one_of(arg, threads))
			return options_bad(state, "--threads: '%s' is none of auto, one, cpu", arg);
		o->threads = !strcmp(arg, "one") ? 1 : !strcmp(arg, "cpu") ? -1 : 0;
		return 0;
	case KEY_ROTATE:
		return set_rotate(o, arg, state);
	case KEY_KEEP:
		return !parse_u64(arg, &o->keep) && o->keep && o->keep <= 1000000 ?
			       0 :
			       options_bad(state, "--keep: '%s' is no number of files", arg);
	case KEY_TCC:
		return set_tcc(&c->options, arg, state);
	case KEY_CODEC:
		o->plain_codec = !strcmp(arg, "plain");
		return o->plain_codec || !strcmp(arg, "packed") ?
			       0 :
			       options_bad(state, "--codec: '%s' is neither packed nor plain", arg);
	default:
		return parse_when(key, arg, state, o);
	}
}

/* Options that only set a word or a flag, by their place in the struct. */
static error_t parse_plain(int key, char *arg, struct argp_state *state, struct record_cmdline *c)
{
	struct record_options *o = &c->options;

	switch (key) {
	case 'C':
		o->cpus = arg;
		break;
	case 'p':
		o->pids = arg;
		break;
	case 't':
		o->tids = arg;
		break;
	case 'o':
		o->output = arg;
		break;
	case KEY_SOURCES:
		o->sources = arg;
		break;
	case KEY_ROOT:
		o->root = arg;
		break;
	case KEY_CONTROL:
		o->control = arg;
		break;
	case 'a':
		o->system_wide = true;
		break;
	case KEY_BPF_COUNTERS:
		o->bpf_counters = true;
		break;
	case KEY_BPF_ATTR_MAP:
		o->bpf_attr_map = arg;
		break;
	case KEY_METRIC_NO_GROUP:
		o->metric_no_group = true;
		break;
	case KEY_METRIC_NO_MERGE:
		o->metric_no_merge = true;
		break;
	case KEY_METRIC_NO_THRESHOLD:
		o->metric_no_threshold = true;
		break;
	case 'd':
		o->detailed++;
		break;
	case 'S':
		o->sync_first = true;
		break;
	case 'T':
		o->transaction = true;
		break;
	case KEY_EACH_CGROUP:
		o->each_cgroup = arg;
		break;
	case KEY_PRE:
		o->pre = arg;
		break;
	case KEY_POST:
		o->post = arg;
		break;
	case KEY_PER_THREAD:
		o->per_thread = true;
		break;
	case KEY_TOPDOWN:
		o->topdown = true;
		break;
	case KEY_SMI_COST:
		o->smi_cost = true;
		break;
	case 'P':
		o->no_perf = true;
		break;
	case 'l':
		o->list = true;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'v':
		o->verbose = true;
		break;
	case 'f':
		break;
	case KEY_NO_AFFINITY:
		break;
	case KEY_NO_MSR:
		o->no_msr = true;
		break;
	case KEY_NO_SCALE:
		o->no_scale = true;
		break;
	case KEY_NO_INHERIT:
		o->no_inherit = true;
		break;
	case KEY_NULL:
		o->null = true;
		break;
	case KEY_ALL_USER:
		o->all_user = true;
		break;
	case KEY_ALL_KERNEL:
		o->all_kernel = true;
		break;
	case KEY_OVERWRITE:
		o->overwrite = true;
		break;
	default:
		return parse_words(key, arg, state, c);
	}
	return 0;
}

static error_t check(struct argp_state *state, struct record_options *o)
{
	uint64_t number;

	if (o->command && (!parse_u64(o->command[0], &number)))
		return options_bad(state,
				   "a command named '%s'? An interval is given with -i %s, a number of "
				   "intervals with -n %s",
				   o->command[0], o->command[0], o->command[0]);
	if (o->pids && o->tids)
		return options_bad(state, "-p and -t exclude each other");
	if ((o->pids || o->tids) && o->system_wide)
		return options_bad(state, "-a counts everything, so it excludes -p and -t");
	if (o->n_cgroups && o->each_cgroup)
		return options_bad(state, "-G and --for-each-cgroup exclude each other");
	if ((o->n_cgroups || o->each_cgroup) && (o->pids || o->tids || o->per_thread))
		return options_bad(state, "cgroups are counted on CPUs, so they exclude -p, -t and --per-thread");
	if (o->bpf_programs && (o->pids || o->tids || o->per_thread || o->n_cgroups || o->each_cgroup))
		return options_bad(state, "-b counts BPF programs, whoever they run for, so it excludes -p, -t, "
					  "--per-thread, -G and --for-each-cgroup");
	if (o->bpf_programs && o->bpf_counters)
		return options_bad(state, "-b and --bpf-counters exclude each other");
	if (o->bpf_counters && o->n_cgroups)
		return options_bad(state, "--bpf-counters counts cgroups with --for-each-cgroup, not with -G");
	if (o->bpf_counters && o->per_thread)
		return options_bad(state, "--bpf-counters counts the tasks of -p, -t and COMMAND, and does not "
					  "follow new threads one by one as --per-thread does");
	if (o->runs != 1 && !o->command)
		return options_bad(state, "-r repeats a COMMAND, and there is none");
	if (o->iterations && !o->interval_ns)
		return options_bad(state, "-n counts intervals, and -i 0 has none");
	if (o->delay_ms < 0 && !o->control)
		return options_bad(state, "-D -1 waits for an 'enable' that can only come through --control");
	if (o->report && o->output && !strcmp(o->output, "-"))
		return options_bad(state, "--report reads the recording, which goes to stdout; use pmrec -o - | "
					  "pmrep -");
	if (plan_rotates(o) && o->output && !strcmp(o->output, "-"))
		return options_bad(state, "--rotate writes one file after the other, and -o - is a stream");
	if (plan_rotates(o) && o->report)
		return options_bad(state, "--report reads one recording, and --rotate writes several; pmrep merge "
					  "joins them");
	if (o->rotate_ns && o->rotate_ns < o->interval_ns)
		return options_bad(state, "--rotate: a file has to hold one interval at least");
	if (o->keep && !plan_rotates(o))
		return options_bad(state, "--keep is about the files of --rotate");
	if (o->no_msr && adds(o, ADD_MSR))
		return options_bad(state, "--add names a register, and --no-msr says to read none");
	if ((o->no_perf || o->null) && adds(o, ADD_PERF))
		return options_bad(state, "--add names an event, and %s says to count none",
				   o->null ? "--null" : "-P");
	if (o->td_level && !o->topdown)
		return options_bad(state, "--td-level says how deep --topdown goes, which is not there");
	if (o->all_user && o->all_kernel)
		return options_bad(state, "--all-user and --all-kernel exclude each other");
	if (o->pids || o->tids)
		o->target = TARGET_TASKS;
	else if (o->n_cgroups || o->each_cgroup || o->bpf_programs)
		o->target = TARGET_SYSTEM;
	else if (o->command && !o->system_wide && !(o->cpus && !o->per_thread))
		o->target = TARGET_COMMAND;
	else if (o->per_thread)
		o->target = TARGET_TASKS;
	return 0;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct record_cmdline *c = state->input;

	switch (key) {
	case ARGP_KEY_ARGS:
		c->options.command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		return check(state, &c->options);
	case ARGP_KEY_ARG:
		return ARGP_ERR_UNKNOWN; /* all of them at once, please */
	case ARGP_KEY_INIT:
	case ARGP_KEY_FINI:
	case ARGP_KEY_SUCCESS:
	case ARGP_KEY_ERROR:
	case ARGP_KEY_NO_ARGS:
		return 0;
	default:
		return parse_plain(key, arg, state, c);
	}
}

static const struct argp argp = { options, parse_opt, "[--] [COMMAND [ARG...]]",
				  "Records raw counters of this machine into a file for pmrep." };

const struct options_spec record_options_spec = {
	.name = "pmrec",
	.column = OPTIONS_PMREC,
	.argp = &argp,
	.brief = brief,
	.command = true,
};

int record_cmdline_parse(struct record_cmdline *c, int argc, char **argv, struct error *e)
{
	*c = (struct record_cmdline){
		.options = { .interval_ns = 1000000000, .runs = 1, .privacy = (char *)"default" },
	};
	return options_parse(&record_options_spec, argc, argv, c, &c->common, e);
}

void record_cmdline_release(struct record_cmdline *c)
{
	free(c->options.events);
	free(c->options.event_files);
	free(c->options.metrics);
	free(c->options.metric_files);
	free(c->options.pfm_events);
	free(c->options.filters);
	free(c->options.labels);
	free(c->options.cgroups);
	for (size_t i = 0; i < c->options.n_added; i++)
		add_release(&c->options.added[i]);
	free(c->options.added);
	options_common_release(&c->common);
}
