#include "record/record_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"
#include "common/options_table.h"
#include "common/parse.h"
#include "record/commands.h"
#include "record/plan/add.h"

/* The definitions of a small machine and a few snapshots. */
#define BUFFER_MIN_BYTES 1000000
#define ROTATE_MIN_BYTES 4096
/* On any machine a snapshot takes longer than that. */
#define INTERVAL_MIN_NS 10000

#define HELP(name, opens, pad, help) "  " #name pad help "\n"
#define COMMANDS                     EACH_COMMAND(HELP)
static const char brief[] =
	"Usage: pmrec [OPTION...] [--] [COMMAND [ARG...]]\n"
	"Record raw counters of this machine into a file. pmrep reads it, here or elsewhere.\n"
	"\n"
	"  pmrec                        the default counters, once a second, until Ctrl-C\n"
	"  pmrec -o x.pmr -- make -j8   while a command runs\n"
	"  pmrec -i 10ms -e cycles,instructions -n 500\n"
	"  pmrec -o - | pmrep -         watch live\n"
	"\n"
	"Commands:\n" COMMANDS "\n"
	"  -i SEC, -I MSEC    interval (1 s)           -e LIST          perf events\n"
	"  -n NUM             end after NUM intervals  -a, -C LIST      all CPUs, these CPUs\n"
	"  -o FILE            output                   -p, -t LIST      processes, threads\n"
	"  --report           print a report too       --sources=LIST   perf,cpuidle,... or -NAME\n"
	"  --label KEY=VALUE  store in the file        --privacy=LEVEL  strict, default, full\n"
	"\n"
	"pmrec --help=all lists every option, pmrec COMMAND --help those of a command.\n";

/* ---- what takes more than a member ---- */

static size_t count_events(const struct record_options *o)
{
	size_t n = 0;

	while (o->perf.events && o->perf.events[n])
		n++;
	return n;
}

static int set_event(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	size_t n = count_events(o);

	o->perf.filters = memory_resize(o->perf.filters, n + 2, sizeof(*o->perf.filters));
	o->perf.filters[n] = o->perf.filters[n + 1] = NULL;
	options_append(&o->perf.events, text);
	return 0;
}

static int set_filter(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	size_t n = count_events(o);

	if (!n)
		return error_set(e, EINVAL, "--filter must follow the -e that it filters");
	o->perf.filters[n - 1] = text;
	return 0;
}

static int set_added(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	struct add *new;

	memory_room(&o->added, o->n_added, sizeof(*o->added));
	new = &o->added[o->n_added];
	if (add_parse(new, text, e))
		return -EINVAL;
	for (size_t i = 0; i < o->n_added; i++) {
		if (strcmp(o->added[i].name, new->name))
			continue;
		error_set(e, EINVAL, "--add %.80s: there already is a counter %s; give this one another NAME", text,
			  new->name);
		add_release(new);
		return -EINVAL;
	}
	o->n_added++;
	return 0;
}

static int set_cgroups(void *into, char *text, struct error *e)
{
	struct record_options *o = into;

	if (!count_events(o))
		return error_set(e, EINVAL, "-G: '%s' has no event before it; put -G after the -e that it applies to",
				 text);
	memory_room(&o->perf.cgroups, o->perf.n_cgroups, sizeof(*o->perf.cgroups));
	o->perf.cgroups[o->perf.n_cgroups++] = (struct cgroup_option){ .names = text, .n_events = count_events(o) };
	return 0;
}

/* "1h" or "100M"; a plain number could mean either. */
static int set_rotate(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	size_t len = strlen(text);
	bool bare = len && text[len - 1] >= '0' && text[len - 1] <= '9';

	o->output.rotate_ns = o->output.rotate_bytes = 0;
	if (bare || (parse_duration(text, &o->output.rotate_ns) && parse_size(text, &o->output.rotate_bytes)))
		return error_set(e, EINVAL,
				 "--rotate: '%s' is neither a size such as 100M nor a time such as 1h; both "
				 "need their unit",
				 text);
	if (o->output.rotate_ns > INT64_MAX / 4)
		return error_set(e, EINVAL, "--rotate: '%s' is too long", text);
	if (!o->output.rotate_ns && o->output.rotate_bytes < ROTATE_MIN_BYTES)
		return error_set(e, EINVAL, "--rotate: '%s' is too small to hold a snapshot", text);
	return 0;
}

/* Without --rotate a ring has this many files, by time and by size: the oldest is removed once the others hold
 * enough. */
#define RING_FILES_TIME 5
#define RING_FILES_SIZE 8

static int set_ring(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	const char *comma = strchr(text, ',');
	SCOPED(scoped_free) char *time = memory_format("%.*s", (int)strcspn(text, ","), text);
	bool bad = parse_duration(time, &o->output.ring_ns) || !o->output.ring_ns ||
		   o->output.ring_ns > INT64_MAX / 4 || (comma && parse_size(comma + 1, &o->output.ring_bytes));

	if (bad || (comma && o->output.ring_bytes < RING_FILES_SIZE * ROTATE_MIN_BYTES))
		return error_set(e, EINVAL,
				 "--ring: '%s' is neither a time such as 10m nor a time and a size such as 10m,100M",
				 text);
	return 0;
}

/* Ids of BPF programs are positive numbers. */
static int set_bpf_programs(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	for (const char *at = text;; at++) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);

		if (*at < '0' || *at > '9' || !id || id >= UINT32_MAX || (*end && *end != ','))
			return error_set(e, EINVAL,
					 "-b: '%s' is not a list of ids of BPF programs; `bpftool prog` shows "
					 "them",
					 text);
		at = end;
		if (!*at)
			break;
	}
	o->perf.bpf_programs = text;
	return 0;
}

static int set_delay(void *into, char *text, struct error *e)
{
	struct record_options *o = into;
	uint64_t ns;
	int64_t ms;

	if (!parse_s64(text, &ms) && ms >= -1 && ms < INT32_MAX)
		o->perf.delay_ms = ms;
	else if (!parse_duration_ms(text, &ns) && ns / 1000000 < INT32_MAX)
		o->perf.delay_ms = (int64_t)(ns / 1000000);
	else
		return error_set(e, EINVAL, "-D: '%s' is not a delay in milliseconds", text);
	return 0;
}

/* perf's option takes no value and ours needs one. */
static int set_sync(void *into, char *text, struct error *e)
{
	struct record_options *o = into;

	if (!text)
		o->run.sync_first = true;
	else if (parse_duration(text, &o->output.sync_ns) || !o->output.sync_ns)
		return error_set(e, EINVAL, "--sync: '%s' is not a time; --sync=1 is every second", text);
	return 0;
}

static int set_label(void *into, char *text, struct error *e)
{
	struct record_options *o = into;

	if (!strchr(text, '=') || text[0] == '=')
		return error_set(e, EINVAL, "--label: '%s' is not KEY=VALUE", text);
	options_append(&o->output.labels, text);
	return 0;
}

#define OPTIONS_INTO struct record_options
static const struct option_row rows[] = {
#include "common/options_record.def"
	{ 0 },
};

/* ---- what cannot stand together ---- */

static bool adds(const struct record_options *o, enum add_location location)
{
	for (size_t i = 0; i < o->n_added; i++)
		if (o->added[i].location == location)
			return true;
	return false;
}

static int check_ring(struct record_options *o, struct error *e)
{
	struct output_options *out = &o->output;
	uint64_t part = out->ring_ns / RING_FILES_TIME;

	if (!out->ring_ns)
		return 0;
	if (out->keep)
		return error_set(e, EINVAL, "--ring says how long files are kept, --keep how many: give only one");
	if (out->ring_ns < o->sample.interval_ns)
		return error_set(e, EINVAL, "--ring must hold at least one interval");
	if (!out->rotate_ns)
		out->rotate_ns = part > o->sample.interval_ns ? part : o->sample.interval_ns;
	if (!out->rotate_bytes)
		out->rotate_bytes = out->ring_bytes / RING_FILES_SIZE;
	return 0;
}

static int check(struct record_options *o, struct error *e)
{
	const struct perf_options *p = &o->perf;
	uint64_t number, interval = o->sample.interval_ns;
	bool tasks = p->pids || p->tids, cgroups = p->n_cgroups || p->each_cgroup, rotates;
	bool to_stdout = o->output.output && !strcmp(o->output.output, "-");
	int err = check_ring(o, e);

	if (err)
		return err;
	o->run.runs = o->run.runs ? o->run.runs : UINT32_MAX;
	if (o->run.command && (!parse_u64(o->run.command[0], &number)))
		return error_set(e, EINVAL,
				 "a command named '%s'? To set the interval use -i %s, the number of intervals -n %s",
				 o->run.command[0], o->run.command[0], o->run.command[0]);
	rotates = plan_rotates(o);
	const struct {
		bool broken;
		const char *text;
	} rules[] = {
		{ interval && interval < INTERVAL_MIN_NS, "-i: the shortest interval is 10 us" },
		{ p->pids && p->tids, "-p and -t are mutually exclusive" },
		{ tasks && p->system_wide, "-a counts everything, so it excludes -p and -t" },
		{ p->n_cgroups && p->each_cgroup, "-G and --for-each-cgroup are mutually exclusive" },
		{ cgroups && (tasks || p->per_thread),
		  "cgroups are counted on CPUs, so they exclude -p, -t and --per-thread" },
		{ p->bpf_programs && (tasks || p->per_thread || cgroups),
		  "-b counts BPF programs for all tasks, so it excludes -p, -t, --per-thread, -G and "
		  "--for-each-cgroup" },
		{ p->bpf_programs && p->bpf_counters, "-b and --bpf-counters are mutually exclusive" },
		{ p->bpf_counters && p->n_cgroups,
		  "--bpf-counters counts cgroups with --for-each-cgroup, not with -G" },
		{ p->bpf_counters && p->per_thread,
		  "--bpf-counters counts the tasks of -p, -t and COMMAND, and cannot follow new threads one by "
		  "one, as --per-thread does" },
		{ o->run.runs != 1 && !o->run.command, "-r repeats a COMMAND; none is given" },
		{ o->sample.iterations && !interval, "-n counts intervals, but -i 0 makes none" },
		{ p->delay_ms < 0 && !o->run.control, "-D -1 waits for an 'enable', which needs --control" },
		{ o->run.report && to_stdout,
		  "--report cannot read a recording that goes to stdout; use pmrec -o - | pmrep -" },
		{ rotates && to_stdout, "--rotate and --ring write several files; name them with -o FILE, not -o -" },
		{ rotates && o->run.report,
		  "--report reads one recording, and --rotate and --ring write several; pmrep merge joins them" },
		{ o->output.rotate_ns && o->output.rotate_ns < interval,
		  "--rotate: a file must hold at least one interval" },
		{ o->output.keep && !rotates, "--keep needs --rotate" },
		{ o->no_msr && adds(o, ADD_MSR), "--add names a register, but --no-msr excludes them" },
		{ p->null && adds(o, ADD_PERF), "--add names an event, but --null excludes them" },
		{ o->no_perf && adds(o, ADD_PERF), "--add names an event, but -P excludes them" },
		{ p->td_level && !p->topdown, "--td-level needs --topdown" },
		{ p->all_user && p->all_kernel, "--all-user and --all-kernel are mutually exclusive" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].broken)
			return error_set(e, EINVAL, "%s", rules[i].text);
	if (tasks)
		o->target = TARGET_TASKS;
	else if (cgroups || p->bpf_programs)
		o->target = TARGET_SYSTEM;
	else if (o->run.command && !o->perf.system_wide && !(o->cpus && !o->perf.per_thread))
		o->target = TARGET_COMMAND;
	else if (o->perf.per_thread)
		o->target = TARGET_TASKS;
	return 0;
}

static int operands(void *into, int n, char **operand, struct error *e)
{
	struct record_options *o = into;

	o->run.command = n ? operand : NULL;
	return check(o, e);
}

static const struct options_spec record_options_spec = {
	.name = "pmrec",
	.rows = rows,
	.operands = operands,
	.operands_doc = "[--] [COMMAND [ARG...]]",
	.brief = brief,
	.command = true,
};

int record_cmdline_parse(struct record_cmdline *c, int argc, char **argv, struct error *e)
{
	*c = (struct record_cmdline){
		.options = { .sample.interval_ns = 1000000000, .run.runs = 1, .privacy = (char *)"default" },
	};
	return options_parse(&record_options_spec, argc, argv, &c->options, &c->common, e);
}

void record_cmdline_release(struct record_cmdline *c)
{
	free(c->options.perf.events);
	free(c->options.perf.event_files);
	free(c->options.perf.metrics);
	free(c->options.perf.metric_files);
	free(c->options.perf.pfm_events);
	free(c->options.perf.filters);
	free(c->options.output.labels);
	free(c->options.perf.cgroups);
	for (size_t i = 0; i < c->options.n_added; i++)
		add_release(&c->options.added[i]);
	free(c->options.added);
	options_common_release(&c->common);
}
