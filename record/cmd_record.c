/* Recording: reads the command line, runs the command, waits for ticks, signals, keys and control words, and ends
 * with the right status. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/add.h"
#include "common/memory.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/parse.h"
#include "record/commands.h"
#include "record/host/caller.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"
#include "record/host/process.h"
#include "record/marksocket.h"
#include "record/perf/freeze_smi.h"
#include "record/perf/perf_group.h"
#include "record/perf/source_perf.h"
#include "record/plan/plan.h"
#include "record/sample/session.h"

/* ---- the command line ---- */

struct record_cmdline {
	struct record_options options;
	struct options_common common;
};

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

static bool adds_register(const struct record_options *o)
{
	for (size_t i = 0; i < o->n_added; i++)
		if (o->added[i].location == ADD_MSR)
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
		{ o->no_msr && adds_register(o), "--add names a register, but --no-msr excludes them" },
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

/* As options_parse(): 0, 1 (common.text is to be printed) or -errno. The strings live until the release. */
static int record_cmdline_parse(struct record_cmdline *c, int argc, char **argv, struct error *e)
{
	*c = (struct record_cmdline){
		.options = { .sample.interval_ns = 1000000000, .run.runs = 1, .privacy = (char *)"default" },
	};
	return options_parse(&record_options_spec, argc, argv, &c->options, &c->common, e);
}

static void record_cmdline_release(struct record_cmdline *c)
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

/* ---- the command: forked early, so that its pid is known to events that follow it; started when everything is
 * ready. And the signals that are passed on to it ---- */

struct signals_event {
	int signo;
	bool terminal; /* typed at the terminal: its whole foreground group has received it */
};

struct child_setup {
	bool stdout_to_stderr; /* because the recording goes to stdout */
	struct rlimit files;   /* as the caller had it: sources may raise it for their descriptors */
};

struct child {
	pid_t pid;
	int go;      /* a byte here lets it exec; closing it lets it end */
	int failure; /* read end: the errno of a failed exec; end of file: it has started */
	uint64_t started_ns, ended_ns;
	int status; /* as of wait(2) */
	struct rusage usage;
	bool started, ended;
};

/* Before any thread is started: signals that pmrec does not leave to the kernel, which would end the process without
 * a word. They are blocked in every thread; the control thread reads them. A descriptor or -errno. */
static int signals_open(const struct joined *j)
{
	static const int handled[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2 };
	struct sigaction old;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	/* A shell without job control starts background jobs with SIGINT ignored. That is about the terminal's
	 * Ctrl-C, not meant to make a recorder that only SIGKILL and SIGTERM can end. */
	signal(SIGINT, SIG_DFL);
	for (unsigned i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
		bool ignored = !sigaction(handled[i], NULL, &old) && old.sa_handler == SIG_IGN;

		/* What the caller ignored (nohup) stays ignored. The last ends perf and turbostat at once. */
		if ((handled[i] == SIGCHLD || !ignored) && (handled[i] != SIGUSR2 || !j))
			sigaddset(&set, handled[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write() says it */
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return fd < 0 ? -errno : fd;
}

/* False: nothing more. */
static bool signals_next(int signals, struct signals_event *e)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return false;
	e->signo = (int)info.ssi_signo;
	e->terminal = info.ssi_code == SI_KERNEL;
	return true;
}

/* Whether it requests the end. */
static bool signals_end(const struct signals_event *e)
{
	return e->signo != SIGCHLD && e->signo != SIGUSR1;
}

/* In the forked process: waits until it may continue, then takes the caller's credentials and settings. 0 or
 * -errno. */
static int child_prepare(int go, const struct child_setup *setup)
{
	sigset_t none;
	ssize_t n;
	char byte;
	int err;

	do {
		n = read(go, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		caller_leave(0); /* the recorder has ended, or no longer wants it */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	err = privileges_for_child();
	/* A higher limit than before does no harm, but could surprise. */
	if (setup->files.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &setup->files);
	if (!err && setup->stdout_to_stderr && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		err = -errno;
	return err;
}

/* The same, and runs the program; does not return. */
static void child_run(char **argv, int go, int failure, const struct child_setup *setup)
{
	int err = child_prepare(go, setup);

	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	if (write(failure, &err, sizeof(err)) < 0)
		caller_leave(126);
	caller_leave(err == -ENOENT ? 127 : 126);
}

/* Lets record/host/caller.h fork: `what` is the number of the program there, `text` what that does not tell, or NULL.
 * 0 or -errno. */
static int child_fork(struct child *c, unsigned what, const char *text, struct error *e)
{
	int go[2] = { -1, -1 }, failure[2] = { -1, -1 };

	*c = (struct child){ .go = -1, .failure = -1 };
	if (pipe2(go, O_CLOEXEC) || pipe2(failure, O_CLOEXEC))
		goto fail;
	c->pid = caller_launch(what, text, go[0], failure[1]);
	if (c->pid < 0) {
		errno = -c->pid;
		goto fail;
	}
	close(go[0]);
	close(failure[1]);
	c->go = go[1];
	c->failure = failure[0];
	return 0;
fail:
	error_sys(e, errno, "cannot start a process");
	c->pid = 0;
	for (int i = 0; i < 2; i++) {
		fd_close(&go[i]);
		fd_close(&failure[i]);
	}
	return -e->number;
}

static void close_pipes(struct child *c)
{
	fd_close(&c->go);
	fd_close(&c->failure);
}

/* Whether it has ended, or waits until it has. */
static bool child_ended(struct child *c, bool wait)
{
	pid_t pid;

	if (c->ended || !c->pid)
		return true;
	do {
		pid = wait4(c->pid, &c->status, wait ? 0 : WNOHANG, &c->usage);
	} while (pid < 0 && errno == EINTR);
	if (pid == 0)
		return false;
	c->ended_ns = clocks_monotonic();
	c->ended = true;
	return true;
}

/* Lets it run. 0, or -errno if it could not be run; the text is in *e, and the process has ended. */
static int child_start(struct child *c, struct error *e)
{
	int err = 0;
	ssize_t n;

	c->started_ns = clocks_monotonic();
	c->started = true;
	if (write(c->go, "g", 1) != 1)
		err = -errno;
	do {
		n = err ? 0 : read(c->failure, &err, sizeof(err));
	} while (n < 0 && errno == EINTR);
	close_pipes(c);
	if (!err)
		return 0;
	child_ended(c, true);
	return error_sys(e, -err, "cannot run the command");
}

static void child_signal(const struct child *c, int signo)
{
	if (c->pid <= 0 || !c->started || c->ended)
		return;
	kill(c->pid, signo);
	/* A stopped child receives the signal only when it continues. */
	if (signo == SIGTERM || signo == SIGINT || signo == SIGHUP)
		kill(c->pid, SIGCONT);
}

/* Ends a child that never started; closes its descriptors. */
static void child_release(struct child *c)
{
	close_pipes(c);
	if (c->pid > 0 && !c->ended)
		child_ended(c, true);
	c->pid = 0;
}

static void set_u64(struct pm_event *e, uint32_t key, uint64_t v)
{
	(void)pm_map_set(&e->attrs, key, pm_u64(v));
}

/* The event for its end; incomplete if memory is short. `name`: with its pid. */
static void child_exit_event(const struct child *c, struct pm_event *e, bool name)
{
	const struct rusage *u = &c->usage;
	const uint64_t list[] = { (uint64_t)u->ru_minflt,  (uint64_t)u->ru_majflt, (uint64_t)u->ru_inblock,
				  (uint64_t)u->ru_oublock, (uint64_t)u->ru_nvcsw,  (uint64_t)u->ru_nivcsw };
	struct pm_value rusage = pm_array(sizeof(list) / sizeof(list[0]));

	*e = (struct pm_event){ .type = PM_EVENT_CHILD_EXIT, .time_ns = c->ended_ns };
	for (uint32_t i = 0; i < sizeof(list) / sizeof(list[0]) && rusage.array.item; i++)
		rusage.array.item[i] = pm_u64(list[i]);
	if (WIFSIGNALED(c->status))
		set_u64(e, PM_EVENT_KEY_SIGNAL, (uint64_t)WTERMSIG(c->status));
	else
		set_u64(e, PM_EVENT_KEY_EXIT, (uint64_t)WEXITSTATUS(c->status));
	set_u64(e, PM_EVENT_KEY_USER_NS, clocks_timeval_ns(&u->ru_utime));
	set_u64(e, PM_EVENT_KEY_SYSTEM_NS, clocks_timeval_ns(&u->ru_stime));
	set_u64(e, PM_EVENT_KEY_MAXRSS, (uint64_t)u->ru_maxrss * 1024);
	set_u64(e, PM_EVENT_KEY_ELAPSED_NS, c->ended_ns - c->started_ns);
	(void)pm_map_set(&e->attrs, PM_EVENT_KEY_RUSAGE, rusage);
	if (name)
		set_u64(e, PM_EVENT_KEY_PID, (uint64_t)c->pid);
}

/* As in a shell: the exit status, or 128 + signal. */
static int child_exit_code(const struct child *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

/* Waits for the end of a child, and passes signals on that end the recorder. Whether one came. */
static bool child_await(struct child *c, int signals)
{
	struct pollfd p = { .fd = signals, .events = POLLIN };
	struct signals_event event;
	bool told = false;

	while (!child_ended(c, false)) {
		poll(&p, 1, -1);
		while (signals_next(signals, &event)) {
			if (!signals_end(&event))
				continue;
			told = true;
			/* The child has already received what the terminal sends. */
			if (!event.terminal)
				child_signal(c, event.signo);
		}
	}
	return told;
}

/* --pre and --post: runs a command of the shell to its end, under this number (child_fork()), with signals passed on.
 * 0, or -errno with the text in *e: -EINTR after such a signal, -ECANCELED for a status other than 0. */
static int child_hook(unsigned what, const char *option, const char *command, int signals, struct error *e)
{
	struct child c;
	int err = child_fork(&c, what, NULL, e);
	bool told;

	if (!err)
		err = child_start(&c, e);
	if (err) {
		child_release(&c);
		return error_prefix(e, "%s", option);
	}
	told = child_await(&c, signals);
	child_release(&c);
	if (told)
		return error_set(e, EINTR, "%s: interrupted", option);
	if (child_exit_code(&c))
		return error_set(e, ECANCELED, "%s: '%.200s' ended with %d", option, command, child_exit_code(&c));
	return 0;
}

/* ---- requests: commands through --control (perf's protocol: one per line, each answered with "ack"), and those of
 * `pmrec mark` and `pmrec dump` through an abstract socket (marksocket.h) ---- */

enum control_verb {
	CONTROL_UNKNOWN,
	CONTROL_PING,
	CONTROL_ENABLE,
	CONTROL_DISABLE,
	CONTROL_SNAPSHOT,
	CONTROL_MARK,
	CONTROL_DUMP,
	CONTROL_STOP,
	CONTROL_EVLIST,
};

struct control {
	int ctl, ack; /* -1: none */
	int mark;     /* listening socket (marksocket.h); -1: none */
	char line[4096];
	size_t len;
};

struct control_command {
	enum control_verb verb;
	const char *text; /* after the word; valid until the next call */
};

static int open_fds(struct control *c, const char *text, struct error *e)
{
	const char *comma = strchr(text, ',');
	uint64_t ctl, ack = 0;

	if (parse_u64_span(text, comma ? (size_t)(comma - text) : strlen(text), 10, &ctl) || ctl > 1 << 20 ||
	    (comma && (parse_u64(comma + 1, &ack) || ack > 1 << 20)))
		return error_set(e, EINVAL, "--control: 'fd:%s' names no file descriptors", text);
	/* Duplicates, so that the command does not inherit them and the caller's flags stay. */
	c->ctl = fcntl((int)ctl, F_DUPFD_CLOEXEC, 3);
	c->ack = comma ? fcntl((int)ack, F_DUPFD_CLOEXEC, 3) : -1;
	if (c->ctl < 0 || (comma && c->ack < 0))
		return error_sys(e, errno, "--control: fd:%s", text);
	return 0;
}

/* Open for reading and writing: a FIFO then neither waits for the other side nor ends when a writer leaves. */
static int open_fifo(int *fd, const char *path, struct error *e)
{
	bool changed = privileges_become_caller();
	struct stat st;

	*fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	privileges_become_self(changed);
	if (*fd < 0)
		return errno == ENOENT ?
			       error_set(e, ENOENT, "--control: '%s' does not exist; create it with mkfifo", path) :
			       error_sys(e, errno, "--control: '%s'", path);
	/* Answers would overwrite a file. */
	if (fstat(*fd, &st) || !S_ISFIFO(st.st_mode))
		return error_set(e, EINVAL, "--control: '%s' is not a fifo", path);
	return 0;
}

static int open_fifos(struct control *c, const char *text, struct error *e)
{
	const char *comma = strchr(text, ',');
	SCOPED(scoped_free) char *path = strndup(text, comma ? (size_t)(comma - text) : strlen(text));
	int err = path ? open_fifo(&c->ctl, path, e) : error_sys(e, ENOMEM, "--control");

	return err || !comma ? err : open_fifo(&c->ack, comma + 1, e);
}

static void control_close(struct control *c)
{
	fd_close(&c->ctl);
	fd_close(&c->ack);
	fd_close(&c->mark);
}

/* `where`: "fd:CTL[,ACK]" or "fifo:CTL[,ACK]", or NULL. 0 or -errno. Without the socket for markers it continues. */
static int control_open(struct control *c, const char *where, struct error *e)
{
	int err = 0;

	*c = (struct control){ .ctl = -1, .ack = -1 };
	c->mark = marksocket_listen();
	if (!where)
		return 0;
	if (!strncmp(where, "fd:", 3))
		err = open_fds(c, where + 3, e);
	else if (!strncmp(where, "fifo:", 5))
		err = open_fifos(c, where + 5, e);
	else
		err = error_set(e, EINVAL, "--control: '%s' starts with neither fd: nor fifo:", where);
	if (err)
		control_close(c);
	return err;
}

static void understand(char *line, struct control_command *command)
{
	static const struct {
		const char *word;
		enum control_verb verb;
	} verbs[] = {
		{ "ping", CONTROL_PING },         { "enable", CONTROL_ENABLE }, { "disable", CONTROL_DISABLE },
		{ "snapshot", CONTROL_SNAPSHOT }, { "mark", CONTROL_MARK },     { "dump", CONTROL_DUMP },
		{ "stop", CONTROL_STOP },         { "evlist", CONTROL_EVLIST },
	};
	size_t word = strcspn(line, " \t");

	*command = (struct control_command){ .text = line + word + strspn(line + word, " \t") };
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strlen(verbs[i].word) == word && !strncmp(line, verbs[i].word, word))
			command->verb = verbs[i].verb;
}

/* The next whole line of ctl, if there is one now. At the end of the input ctl is closed. */
static bool control_next(struct control *c, struct control_command *command)
{
	for (;;) {
		/* One byte at a time: whoever shares the descriptor finds the rest, and commands are rare. */
		struct pollfd p = { .fd = c->ctl, .events = POLLIN };
		char byte;
		ssize_t n;

		/* Poll first: the descriptor may be blocking, and its flags belong to the caller. */
		if (c->ctl < 0 || poll(&p, 1, 0) <= 0)
			return false;
		n = read(c->ctl, &byte, 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n <= 0)
			fd_close(&c->ctl);
		if (n == 1 && byte != '\n' && byte != '\0') {
			if (c->len < sizeof(c->line) - 1)
				c->line[c->len++] = byte;
		} else if (c->len) {
			c->line[c->len] = '\0';
			c->len = 0;
			understand(c->line, command);
			return true;
		}
		if (n != 1)
			return false;
	}
}

/* "ack", or what was wrong. */
static void control_answer(struct control *c, const char *wrong)
{
	char text[300];
	int len = snprintf(text, sizeof(text), "%.250s\n", wrong ? wrong : "ack");

	/* Do not wait if nobody can read the answer. */
	if (c->ack >= 0 && write(c->ack, text, (size_t)len) < 0 && errno != EAGAIN)
		fd_close(&c->ack);
}

/* ---- the recorder ---- */

#define SECOND 1000000000u
/* Between two looks if nobody watches and nothing has to be looked for. */
#define CALM (10ull * SECOND)

/* The progress line on standard error, if that is a terminal. */
struct progress {
	bool on;
	bool shown;
	uint64_t start_ns;
};

/* What is run for the caller, by record/host/caller.h. */
enum { RUN_COMMAND, RUN_PRE, RUN_POST, RUN_REPORT };

/* Times are CLOCK_MONOTONIC. */
struct recorder {
	struct record_cmdline cmdline;
	const struct record_options *options;
	struct session session;
	struct child_setup setup;
	struct child child;
	int signals; /* descriptor */
	struct control control;
	struct progress progress;
	struct freeze_smi freeze;
	struct error error;
	struct joined *joined; /* NULL: a recording for later */
	bool input;            /* newline and q are read from stdin */
	bool interrupted;      /* Ctrl-C came once; the command received it */
	bool quit;             /* no further runs either */
	bool failed;           /* writing: the recording is over, the command continues */
	bool no_room;          /* a full disk was reported */
	bool small;            /* what only starting needed is given back */
	bool run_over;
	bool disabled;      /* instead of perf: snapshots are taken, but events are disabled */
	uint64_t end_ns;    /* of this run, by --timeout from when it counts; 0: none */
	uint64_t enable_ns; /* -D: when; 0: not waiting */
	uint64_t second_ns; /* of the next look at CPUs and progress */
	uint64_t settle_ns; /* when new tasks get their place; 0: there are none */
	uint64_t made_up;   /* lost ticks of -n that were added at its end */
	int code;           /* 0, or the reason for an error of pmrec itself */
};

static void progress_init(struct progress *p, bool quiet)
{
	*p = (struct progress){ .on = !quiet && isatty(STDERR_FILENO), .start_ns = clocks_monotonic() };
}

static void progress_put(const struct progress *p, const struct recording_stats *stats, struct buf *out)
{
	uint64_t seconds = (clocks_monotonic() - p->start_ns) / 1000000000u;

	buf_printf(out, "%u:%02u:%02u  %llu snapshot%s  ", (unsigned)(seconds / 3600), (unsigned)(seconds / 60 % 60),
		   (unsigned)(seconds % 60), (unsigned long long)stats->snapshots, plural(stats->snapshots));
	buf_bytes(out, stats->bytes);
	if (stats->lost)
		buf_printf(out, "  %llu lost tick%s", (unsigned long long)stats->lost, plural(stats->lost));
}

static void progress_show(struct progress *p, const struct recording_stats *stats)
{
	SCOPED(buf_release) struct buf line = BUF_INIT;
	struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* Who waits for a terminal that takes nothing, as after Ctrl-S, obeys no signal. */
	if (!p->on || poll(&terminal, 1, 0) != 1 || !(terminal.revents & POLLOUT))
		return;
	buf_addstr(&line, "\r\033[Kpmrec: ");
	progress_put(p, stats, &line);
	fputs(buf_str(&line), stderr);
	fflush(stderr);
	p->shown = true;
}

static void progress_clear(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

/* Prints r->error and ends everything; the exit code. */
static int recorder_fail(struct recorder *r)
{
	progress_clear(&r->progress);
	r->code = command_failed(&r->error);
	r->quit = r->run_over = true;
	return r->code;
}

/* ---- what it tells its user on standard error ---- */

static void recorder_tell_refused(struct recorder *r)
{
	const struct pm_model *m = &r->session.model;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	/* A name on the command line that has no rows would not be missed. */
	for (uint32_t i = 0; r->joined && r->joined->says && i < m->n_probes; i++)
		if (pm_remark_code(&m->probe[i].what) == PM_REMARK_CGROUP_GONE) {
			buf_clear(&text);
			pm_remark_text(&text, &m->probe[i].what);
			fprintf(stderr, "perf stat: there is no %s\n", buf_str(&text));
		}
	buf_clear(&text);
	if (r->options->run.quiet)
		return;
	refused_print(&r->session.model, r->options->run.verbose, &text);
	fputs(buf_str(&text), stderr);
}

/* If the kernel withholds something. */
static void recorder_tell_rights(const struct recorder *r)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (!privileges_tell(&text) && !r->options->run.quiet)
		fprintf(stderr, "pmrec: sampling with %s\n", buf_str(&text));
}

/* For those who typed only pmrec. */
static void recorder_tell_start(struct recorder *r)
{
	const struct record_options *o = r->options;

	if (!r->progress.on || o->run.command)
		return;
	fprintf(stderr, "pmrec: recording %u counters", (unsigned)r->session.model.n_counters);
	if (o->sample.interval_ns)
		fprintf(stderr, " every %g s", (double)o->sample.interval_ns / 1e9);
	fprintf(stderr, " to %s; Ctrl-C ends it\n", session_output(&r->session)->path);
}

static void tell_result(struct recorder *r, const struct recording_stats *stats)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	progress_clear(&r->progress);
	if (r->options->run.quiet || (r->options->output.output && !strcmp(r->options->output.output, "-")))
		return;
	buf_printf(&text, "pmrec: %s: ", session_output(&r->session)->path);
	if (r->session.rotation.files > 1)
		buf_printf(&text, "the last of %llu files, ", (unsigned long long)r->session.rotation.files);
	buf_printf(&text, "%llu snapshot%s, ", (unsigned long long)stats->snapshots, plural(stats->snapshots));
	buf_bytes(&text, stats->bytes);
	if (stats->lost)
		buf_printf(&text, ", %llu tick%s lost", (unsigned long long)stats->lost, plural(stats->lost));
	if (r->progress.on && !r->options->run.report)
		buf_printf(&text, "; to see it: pmrep %s", session_output(&r->session)->path);
	fprintf(stderr, "%s\n", buf_str(&text));
}

/* Losses continue until the end, so they are reported there: in the middle the line would be overlooked. */
static void tell_dead(struct recorder *r)
{
	const char *line = recording_dead(r->session.recording);

	while (!r->options->run.quiet && *line) {
		size_t len = strcspn(line, "\n");

		fprintf(stderr, "pmrec: %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

static void recorder_tell_killed(const struct recorder *r)
{
	const struct record_options *o = r->options;

	if (r->joined->says && r->joined->ran && WIFSIGNALED(r->child.status) &&
	    !((r->joined->cut || r->joined->signal) && o->sample.interval_ns) && (!r->quit || r->joined->signal))
		fprintf(stderr, "%s: %s\n", o->run.command[0], strsignal(WTERMSIG(r->child.status)));
}

/* Why no event could be opened, preferring a reason that privileges would cure; 0: some could, or none was wanted. */
static uint64_t why_none(const struct pm_model *m)
{
	uint64_t why = 0;

	for (uint32_t i = 0; i < m->n_counters; i++) {
		uint64_t its = pm_map_u64(&m->counter[i].attrs, PM_COUNTER_PERF_INVALID, 0);

		if (!its)
			return 0;
		why = why == PM_REASON_NO_PERMISSION ? why : its;
	}
	return why;
}

static bool recorder_may_not(const struct recorder *r)
{
	const struct pm_model *m = &r->session.model;
	bool refused = why_none(m) == PM_REASON_NO_PERMISSION;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (refused)
		refused_print(m, false, &text);
	fputs(buf_str(&text), stderr);
	return refused;
}

/* ---- what others request: control words, markers, signals, keys ---- */

/* Adds a marker, without text if it is NULL. False: there was no room. */
static bool mark(struct recorder *r, const char *text)
{
	struct pm_event event = { .type = PM_EVENT_MARKER };

	/* Under strict privacy the marker is recorded, its text is not. */
	if (text && strcmp(r->options->privacy, "strict"))
		(void)pm_map_set(&event.attrs, PM_EVENT_KEY_TEXT, pm_text(text));
	return !session_event(&r->session, &event);
}

static void recorder_switched(struct recorder *r, bool on)
{
	struct pm_event event = { .type = on ? PM_EVENT_ENABLE : PM_EVENT_DISABLE };

	r->disabled = !on;
	session_event(&r->session, &event);
}

static void switch_events(struct recorder *r, bool on)
{
	bool perf = r->joined && r->joined->says;
	/* Without a new segment, because perf's intervals continue. */
	bool here = perf && r->session.counting;

	r->enable_ns = 0;
	/* As perf says it, whatever the state before. */
	if (perf)
		fprintf(stderr, "Events %s\n", on ? "enabled" : "disabled");
	if (here ? r->disabled != on : r->session.counting == on)
		return;
	/* Read while they stand still, they lose none of the time in which they count. */
	if (on && !here)
		session_begin(&r->session);
	if (session_enable(&r->session, on, &r->error))
		recorder_fail(r);
	else
		recorder_switched(r, on);
	if (!on && !here)
		session_end(&r->session);
}

/* Writes all that was sampled, as far as the disk takes it, and hands out the files. Returns why not, or NULL. */
static const char *hand_out(struct recorder *r, struct message_fds *fds)
{
	if (!session_output(&r->session)->regular)
		return "its recording goes to a pipe or device, so nothing is kept";
	session_snapshot(&r->session, false);
	recording_flush(r->session.recording);
	rotation_files(&r->session.rotation, fds);
	return fds->n ? NULL : "the files of its recording are gone, or cannot be read";
}

static void recorder_hear(struct recorder *r)
{
	struct message_fds fds = { .n = 0 };
	struct control_command command;
	char line[MARKSOCKET_LINE];
	int peer;

	while ((peer = marksocket_take(r->control.mark, line, sizeof(line))) >= 0) {
		const char *wrong = "unknown command";

		understand(line, &command);
		if (command.verb == CONTROL_MARK)
			wrong = mark(r, command.text) ? NULL : "the output cannot take a marker now";
		else if (command.verb == CONTROL_DUMP)
			wrong = hand_out(r, &fds);
		marksocket_answer(peer, wrong, &fds);
		message_close_fds(&fds);
	}
}

static void list_events(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, "perf"))
			fprintf(stderr, "%s\n", m->counter[i].display);
}

static void recorder_obey(struct recorder *r, const struct control_command *c)
{
	bool perf = r->joined && r->joined->says;
	const char *wrong = NULL;

	switch (c->verb) {
	case CONTROL_ENABLE:
	case CONTROL_DISABLE:
		if (!*c->text)
			switch_events(r, c->verb == CONTROL_ENABLE);
		else
			wrong = "enable and disable switch all events, and none alone";
		/* Scripts made for perf wait for an answer and do not look at it. */
		if (wrong && perf)
			fprintf(stderr, "failed: '%s': %s\n", c->text, wrong);
		break;
	case CONTROL_EVLIST:
		list_events(&r->session.model);
		break;
	case CONTROL_SNAPSHOT:
		/* perf stat neither heeds nor answers it; `stop` it answers, and goes on. */
		if (perf)
			return;
		session_snapshot(&r->session, false);
		break;
	case CONTROL_MARK:
		if (!mark(r, c->text))
			wrong = "the output cannot take a marker now";
		break;
	case CONTROL_DUMP:
		wrong = "pmrec dump -o FILE makes a dump";
		break;
	case CONTROL_STOP:
		if (!perf)
			r->quit = r->run_over = true;
		break;
	case CONTROL_PING:
		break;
	case CONTROL_UNKNOWN:
		/* perf does not answer it. */
		if (perf)
			return;
		wrong = "unknown command";
		break;
	}
	control_answer(&r->control, wrong);
}

/* Ends an interval early and begins a whole one. turbostat counts it towards -n. */
static void end_interval(struct recorder *r)
{
	if (r->joined && !r->joined->says && r->session.last_number != UINT64_MAX)
		r->session.last_number--;
	session_snapshot(&r->session, true);
}

static void recorder_signal(struct recorder *r, const struct signals_event *s)
{
	bool running = r->child.started && !r->child.ended;

	if (r->joined && signals_end(s))
		r->joined->signal = s->signo;
	switch (s->signo) {
	case SIGCHLD:
		if (r->child.started && child_ended(&r->child, false))
			r->run_over = true;
		break;
	case SIGUSR1:
		if (r->joined && r->joined->says)
			break;
		end_interval(r);
		mark(r, NULL);
		break;
	case SIGINT:
	case SIGQUIT:
		r->quit = true;
		/* perf and turbostat wait for a command that did not receive the signal; perf's intervals end with
		 * it. */
		if (r->joined && running && !s->terminal && s->signo == SIGINT &&
		    !(r->joined->says && r->options->sample.interval_ns))
			break;
		/* A second Ctrl-C is for a command that ignores the first. */
		r->run_over = r->run_over || !running || r->interrupted;
		r->interrupted = true;
		if (!s->terminal)
			child_signal(&r->child, s->signo);
		break;
	default:
		r->quit = true;
		r->run_over = r->run_over || !running;
		/* turbostat dies of it, and prints no incomplete interval. */
		if (r->joined && !r->joined->says && !running)
			session_ticks_ended(&r->session);
		child_signal(&r->child, s->signo);
	}
}

static void recorder_input(struct recorder *r)
{
	char text[256];
	ssize_t n = read(STDIN_FILENO, text, sizeof(text));

	if (n <= 0) {
		r->input = false;
		return;
	}
	if (memchr(text, 'q', (size_t)n))
		r->quit = r->run_over = true;
	else
		end_interval(r);
}

/* ---- --dry-run: which groups would be counted, and what share of the time each has its counters ---- */

#define TRIAL_MS 200

static void measure(const struct perf_group *g, char *share, size_t size)
{
	uint64_t enabled = 0, running = 0;

	for (uint32_t i = 0; i < g->n_rows; i++) {
		uint64_t count, on, ran;

		if (perf_row_count(g->row[i], 0, &count, &on, &ran))
			continue;
		enabled += on;
		running += ran;
	}
	snprintf(share, size, enabled ? "%5.1f %%" : "      -",
		 enabled ? 100. * (double)running / (double)enabled : 0);
}

/* Whether some of them were without a counter all the time. */
static bool print_group(const struct perf_group *g)
{
	char share[16];

	measure(g, share, sizeof(share));
	printf("%5u  %s  %s%s", g->number, share, g->member[0]->ev->pmu, g->n > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n; k++)
		printf("%s%s", k ? ", " : "", g->member[k]->ev->display);
	printf("%s\n", g->n > 1 ? "}" : "");
	return !strcmp(share, "  0.0 %");
}

/* What pmrec counts itself takes no turns. */
static void print_tools(const struct pm_model *m, const struct pm_group *g)
{
	printf("    -  100.0 %%  tool%s", g->n_counters > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n_counters; k++)
		printf("%s%s", k ? ", " : "", pm_model_counter(m, g->counter[k])->display);
	printf("%s\n", g->n_counters > 1 ? "}" : "");
}

static void dry_run(struct session *s)
{
	const struct timespec trial = { .tv_nsec = TRIAL_MS * 1000000L };
	const struct perf_group *last = NULL;
	const struct source *perf = perf_among(s->source, s->n_sources);
	const char *metrics;
	bool starved = false;
	struct error e = { 0 }; /* a group that cannot count has counted 0 */

	(void)session_enable(s, true, &e);
	nanosleep(&trial, NULL);
	(void)session_enable(s, false, &e);
	printf("GROUP   COUNTS  EVENTS\n");
	for (struct unit *u = s->plan.units; u; u = u->next) {
		const struct perf_row *row = perf_row_of(u);

		/* The rows of a group are adjacent. */
		if (row && row->group != last)
			starved |= print_group(row->group);
		last = row ? row->group : last;
		if (row || strcmp(u->source->ops->name, "perf") != 0)
			continue;
		print_tools(&s->model, pm_model_group(&s->model, u->group));
	}
	if (starved)
		printf("0.0 %%: there was no counter for the group in %u ms: others hold them, or groups take turns "
		       "(pmrec doctor "
		       "says who may)\n",
		       TRIAL_MS);
	metrics = perf ? perf_no_event(perf) : NULL;
	if (metrics)
		printf("no event: %s\n", metrics);
}

/* ---- from start to end ---- */

/* Says it once, and gives up the oldest file if that is permitted. */
static void no_room(struct recorder *r)
{
	int err = recording_no_room(r->session.recording);
	bool known = r->no_room;
	struct error e = { 0 };

	if (!err)
		return;
	r->no_room = true;
	if (rotation_make_room(&r->session.rotation) || known)
		return;
	progress_clear(&r->progress);
	error_sys(&e, -err, "write");
	output_blame(session_output(&r->session), &e);
	fprintf(stderr, "pmrec: %s; sampling continues; data in memory is written when there is room\n", e.text);
}

/* The status of a command stays its own: report what could not be written, but do not change the status. */
static int failed_to_write(struct recorder *r)
{
	int code = EXIT_OWN;

	progress_clear(&r->progress);
	/* Whoever was to get what --keep names has left early: the report, which has read a copy, lacks the rest. */
	if (r->joined && !r->joined->keeps && r->error.number == EPIPE)
		r->joined->unwanted = true;
	else
		code = command_failed(&r->error);
	return r->options->run.command && !r->joined ? 0 : code;
}

static void writing_failed(struct recorder *r)
{
	if (!recording_error(r->session.recording, &r->error) || r->failed)
		return;
	r->failed = true;
	output_blame(session_output(&r->session), &r->error);
	r->code = failed_to_write(r);
	r->quit = true;
	if (r->child.started && !r->child.ended) {
		if (!r->options->run.quiet && !r->joined)
			fprintf(stderr, "pmrec: the recording ends here; the command continues\n");
		if (sampler_running(r->session.sampler))
			sampler_park(r->session.sampler);
		r->session.counting = false;
	} else {
		r->run_over = true;
	}
}

static bool is_calm(const struct recorder *r)
{
	return !r->progress.on && !r->input && session_is_calm(&r->session);
}

/* Once the recording goes its way: ends and gives back what only starting needed. */
static void grow_small(struct recorder *r)
{
	if (!plan_starts_more(r->options))
		caller_end();
	process_shrink();
	r->small = true;
}

static void each_second(struct recorder *r, uint64_t now)
{
	struct recording_stats stats = recording_stats(r->session.recording);

	if (!r->small && recording_outlet(r->session.recording).snapshots)
		grow_small(r);
	session_retry(&r->session);
	progress_show(&r->progress, &stats);
	session_look(&r->session);
	if (!r->failed && session_look_for_cpus(&r->session, &r->error))
		recorder_fail(r);
	if (r->session.plan.told[0]) {
		progress_clear(&r->progress);
		fprintf(stderr, "pmrec: %s\n", r->session.plan.told);
		r->session.plan.told[0] = '\0';
	}
	if (r->session.plan.targets_gone && !r->options->run.command)
		r->quit = r->run_over = true;
	r->second_ns = now + (!r->second_ns ? SECOND / 4 : is_calm(r) ? CALM : SECOND); /* soon, to grow small */
}

/* Handles new tasks and CPUs together, because that makes the readers pause. */
static void notice(struct recorder *r, bool some)
{
	uint64_t wait = r->options->perf.per_thread ? r->options->sample.interval_ns / 4 : 1;

	if (!some || r->settle_ns)
		return;
	wait = wait > 250000000 || !wait ? 250000000 : wait < 5000000 ? 5000000 : wait;
	r->settle_ns = clocks_monotonic() + wait;
}

static void settle(struct recorder *r)
{
	r->settle_ns = 0;
	each_second(r, clocks_monotonic());
}

static int wait_ms(const struct recorder *r, uint64_t now)
{
	uint64_t next = r->second_ns, due = session_due(&r->session);

	if (due < next)
		next = due;
	if (r->enable_ns && r->enable_ns < next)
		next = r->enable_ns;
	if (r->end_ns && r->end_ns < next)
		next = r->end_ns;
	if (r->settle_ns && r->settle_ns < next)
		next = r->settle_ns;
	if (session_between_due(&r->session, now) < next)
		next = session_between_due(&r->session, now);
	/* Round up: a poll that ends too early would only be repeated. */
	return next > now ? (int)((next - now + 999999) / 1000000) : 0;
}

static void handle_times(struct recorder *r)
{
	uint64_t now = clocks_monotonic();

	if (r->enable_ns && now >= r->enable_ns)
		switch_events(r, true);
	if (r->end_ns && now >= r->end_ns)
		r->run_over = true;
	if (r->settle_ns && now >= r->settle_ns)
		settle(r);
	if (now >= r->second_ns)
		each_second(r, now);
	if (!r->failed && now >= session_between_due(&r->session, now))
		session_between(&r->session);
	if (now >= session_due(&r->session)) {
		session_hurry(&r->session);
		session_ticks_ended(&r->session);
	}
}

/* Scripts count the lines of -n: make up for lost ticks at the end. */
static bool make_up(struct recorder *r)
{
	uint64_t lost;

	if (!r->joined || r->failed || !r->options->sample.interval_ns)
		return false;
	recording_flush(r->session.recording);
	lost = recording_stats(r->session.recording).lost;
	if (lost == r->made_up)
		return false;
	session_prolong(&r->session, lost - r->made_up);
	r->made_up = lost;
	return true;
}

static bool foreground(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	return group == getpgrp() || (group < 0 && errno == ENOTTY);
}

/* A file's contents belong to whoever reads it in a loop around this program; turbostat would consume them. */
static bool listens(const struct recorder *r)
{
	struct stat st;

	return !r->options->run.command &&
	       (isatty(STDIN_FILENO) || (r->joined && !r->joined->says && !fstat(STDIN_FILENO, &st) &&
					 (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))));
}

static void obey_signals(struct recorder *r)
{
	struct signals_event event;

	while (signals_next(r->signals, &event))
		recorder_signal(r, &event);
}

/* Until the run is over. */
static void watch(struct recorder *r)
{
	enum { SIGNALS, WRITING, TICKS, CONTROL, MARKS, INPUT, TASKS, CPUS, OPENER, FDS };

	while (!r->run_over) {
		struct pollfd p[FDS] = {
			[SIGNALS] = { .fd = r->signals, .events = POLLIN },
			[WRITING] = { .fd = r->failed ? -1 : recording_fd(r->session.recording), .events = POLLIN },
			[TICKS] = { .fd = sampler_running(r->session.sampler) ? sampler_fd(r->session.sampler) : -1,
				    .events = POLLIN },
			[CONTROL] = { .fd = r->control.ctl, .events = POLLIN },
			[MARKS] = { .fd = r->control.mark, .events = POLLIN },
			[INPUT] = { .fd = r->input && foreground() ? STDIN_FILENO : -1, .events = POLLIN },
			[TASKS] = { .fd = session_watch_fd(&r->session), .events = POLLIN },
			[CPUS] = { .fd = r->session.hotplug.fd, .events = POLLIN },
			[OPENER] = { .fd = r->failed ? -1 : opener_fd() },
		};
		struct control_command command;

		if (poll(p, FDS, wait_ms(r, clocks_monotonic())) < 0 && errno != EINTR) {
			error_sys(&r->error, errno, "poll");
			recorder_fail(r);
			return;
		}
		if (p[WRITING].revents) {
			no_room(r);
			writing_failed(r);
		}
		if (p[TICKS].revents)
			session_ticks_ended(&r->session);
		if (p[SIGNALS].revents)
			obey_signals(r);
		while (p[CONTROL].revents && !r->run_over && control_next(&r->control, &command))
			recorder_obey(r, &command);
		if (p[MARKS].revents)
			recorder_hear(r);
		if (p[INPUT].revents)
			recorder_input(r);
		if (p[TASKS].revents)
			notice(r, session_notice(&r->session));
		if (p[CPUS].revents)
			notice(r, hotplug_heard(&r->session.hotplug));
		if (p[OPENER].revents)
			r->second_ns = 0; /* looking finds that it has ended */
		handle_times(r);
		if (r->session.reached_last && !make_up(r))
			r->run_over = true;
	}
}

static void tell_exit(struct recorder *r)
{
	struct pm_event e;

	child_exit_event(&r->child, &e, plan_may_record(r->options, PM_EVENT_KEY_PID));
	(void)pm_map_set(&e.attrs, PM_EVENT_KEY_RUN, pm_u64(r->session.run));
	session_event(&r->session, &e);
}

static int start_child(struct recorder *r)
{
	struct pm_event event = { .type = PM_EVENT_CHILD_START };

	if (!r->child.pid)
		return 0;
	(void)pm_map_set(&event.attrs, PM_EVENT_KEY_RUN, pm_u64(r->session.run));
	session_event(&r->session, &event);
	if (!child_start(&r->child, &r->error))
		return 0;
	error_prefix(&r->error, "'%s'", r->options->run.command[0]);
	if (r->error.number == ENOENT)
		command_suggest(r->options->run.command, &r->error);
	if (r->joined) {
		r->joined->failure = r->error.number;
		r->quit = r->run_over = true;
	} else {
		recorder_fail(r);
	}
	r->code = child_exit_code(&r->child);
	return -1;
}

static void end_run(struct recorder *r)
{
	const struct record_options *o = r->options;

	/* It was over before -D was: enable the counters for the little that is left. */
	if (r->enable_ns && !r->failed)
		switch_events(r, true);
	/* What began last has been read once or not at all; two readings are needed to tell what it did. */
	if (o->perf.per_thread && !r->failed && r->session.counting && !r->session.reached_last) {
		session_notice(&r->session);
		settle(r);
		session_snapshot(&r->session, false);
	}
	if (!r->failed)
		session_end(&r->session);
	if (r->child.started) {
		/* The recording ended first (-n, --timeout, stop), so end the command, too. */
		if (!r->child.ended) {
			child_signal(&r->child, SIGTERM);
			child_await(&r->child, r->signals);
			if (r->joined)
				r->joined->cut = true;
		}
		tell_exit(r);
		if (r->joined) {
			r->joined->ran = r->child.ended;
			recorder_tell_killed(r);
		}
	}
	if (o->run.runs != 1)
		session_event_number(&r->session, PM_EVENT_RUN_END, PM_EVENT_KEY_RUN, r->session.run);
}

static int run_hook(struct recorder *r, unsigned what, const char *option, const char *command)
{
	if (!command || !child_hook(what, option, command, r->signals, &r->error))
		return 0;
	return recorder_fail(r);
}

static void one_run(struct recorder *r)
{
	const struct record_options *o = r->options;
	bool first = r->session.run == 1, follows = o->target == TARGET_COMMAND;

	r->run_over = false;
	if (run_hook(r, RUN_PRE, "--pre", o->run.pre))
		return;
	if (o->run.sync_first)
		sync();
	if (o->run.runs != 1)
		session_event_number(&r->session, PM_EVENT_RUN_START, PM_EVENT_KEY_RUN, r->session.run);
	if (o->perf.delay_ms && r->joined && r->joined->says)
		fprintf(stderr, "Events disabled\n");
	if (o->perf.delay_ms == 0) {
		/* Counters that follow the command begin with its exec. */
		if (first && !follows && session_enable(&r->session, true, &r->error))
			recorder_fail(r);
		else
			session_begin(&r->session);
	} else if (r->joined && r->joined->says && o->perf.delay_ms < 0) {
		session_begin(&r->session);
		recorder_switched(r, false);
	} else if (o->perf.delay_ms > 0) {
		r->enable_ns = clocks_monotonic() + (uint64_t)o->perf.delay_ms * 1000000;
	}
	if (o->run.timeout_ns)
		r->end_ns = (r->enable_ns ? r->enable_ns : clocks_monotonic()) + o->run.timeout_ns;
	/* If the user has interrupted by now, the command must not start. */
	obey_signals(r);
	if (!r->run_over && !start_child(r))
		watch(r);
	if (r->quit || r->session.run >= o->run.runs)
		session_hurry(&r->session);
	if (r->session.recording)
		end_run(r);
	run_hook(r, RUN_POST, "--post", o->run.post);
}

static bool next_run(struct recorder *r)
{
	const struct record_options *o = r->options;

	if (r->quit || r->session.run >= o->run.runs)
		return false;
	child_release(&r->child);
	if (child_fork(&r->child, RUN_COMMAND, NULL, &r->error) ||
	    session_next_run(&r->session, r->child.pid, &r->error)) {
		recorder_fail(r);
		return false;
	}
	return true;
}

static bool writes_pipe(const struct record_options *o)
{
	struct stat st;

	return o->output.output && !strcmp(o->output.output, "-") && !fstat(STDOUT_FILENO, &st) &&
	       !S_ISREG(st.st_mode);
}

/* Runs in a process with the caller's rights. */
static void run_for_caller(void *ctx, unsigned what, const char *text, int go, int failure)
{
	struct recorder *r = ctx;
	const struct record_options *o = r->options;
	char *shell[] = { (char *)"/bin/sh", (char *)"-c", what == RUN_PRE ? o->run.pre : o->run.post, NULL };
	char *report[] = { (char *)"pmrep", o->run.report && *o->run.report ? o->run.report : (char *)"show",
			   (char *)(uintptr_t)text, NULL };
	struct child_setup setup = r->setup;

	if (what < RUN_REPORT)
		child_run(what == RUN_COMMAND ? o->run.command : shell, go, failure, &setup);
	setup.stdout_to_stderr = false;
	if (!child_prepare(go, &setup))
		command_exec_pmrep(NULL, report, &r->error);
	caller_leave(command_failed(&r->error));
}

/* The exit code: pmrep's answer is for the reader of the report, the status is that of the recording. */
static int print_report(struct recorder *r, const char *path)
{
	struct child c;
	int code = EXIT_OWN;

	fflush(stdout);
	if (child_fork(&c, RUN_REPORT, path, &r->error) || child_start(&c, &r->error))
		command_failed(&r->error);
	else if (child_ended(&c, true) && child_exit_code(&c) != EXIT_OWN)
		code = 0;
	child_release(&c);
	return code;
}

static int start_caller(struct recorder *r)
{
	struct caller_rules rules = { .run = run_for_caller, .ctx = r, .output = r->options->output.output };
	int err = caller_start(&rules);

	return err ? error_sys(&r->error, -err, "cannot fork") : 0;
}

/* Makes the recording; r->code says how it went. */
static void record(struct recorder *r, char **argv)
{
	const struct record_options *o = r->options;
	struct recording_stats stats;
	sigset_t before;
	int err;

	r->setup.stdout_to_stderr = o->output.output && !strcmp(o->output.output, "-") && !r->joined;
	if (getrlimit(RLIMIT_NOFILE, &r->setup.files))
		r->setup.files.rlim_cur = 0;
	if (r->joined)
		sigprocmask(SIG_BLOCK, NULL, &before);
	else
		interruptible_begin(&before);
	err = start_caller(r) || (o->run.command && child_fork(&r->child, RUN_COMMAND, NULL, &r->error)) ||
	      session_plan(&r->session, o, r->child.pid, argv, &r->error);
	interruptible_end(&before);
	if (r->joined)
		r->joined->usage = err != 0;
	if (err || control_open(&r->control, o->run.control, &r->error)) {
		recorder_fail(r);
		return;
	}
	recorder_tell_refused(r);
	if (o->run.dry) {
		dry_run(&r->session);
		return;
	}
	if (o->perf.smi_cost) {
		err = freeze_smi_begin(&r->freeze, &r->session.root, &r->error);
		if (err) {
			recorder_fail(r);
			return;
		}
	}
	if (session_open(&r->session, &r->error)) {
		recorder_fail(r);
		return;
	}
	recorder_tell_rights(r);
	/* The reader of the pipe prints on the same terminal. */
	progress_init(&r->progress, o->run.quiet || r->joined || writes_pipe(o));
	recorder_tell_start(r);
	r->input = listens(r);
	do {
		one_run(r);
	} while (next_run(r));
	if (!r->failed && session_close(&r->session, &r->error) && !r->code) {
		output_blame(session_output(&r->session), &r->error);
		r->failed = true;
		r->code = failed_to_write(r);
	}
	stats = recording_stats(r->session.recording);
	if (!r->code && !r->failed) {
		tell_result(r, &stats);
		tell_dead(r);
	}
}

/* The exit code: the command's own, unless pmrec itself failed. */
static int finish(struct recorder *r)
{
	const struct record_options *o = r->options;
	int code = r->code, child = r->child.ended && r->child.started ? child_exit_code(&r->child) : 0;
	struct output *output = session_output(&r->session);
	SCOPED(scoped_free) char *path = output->path ? strdup(output->path) : NULL;
	bool report = o->run.report && !code && !r->failed;
	struct error close_error = { 0 };

	if (r->joined) {
		r->joined->ran = r->child.started && r->child.ended;
		r->joined->status = r->child.status;
		r->joined->none = !output->bytes || r->joined->failure;
		r->joined->refused = recorder_may_not(r);
	}
	freeze_smi_end(&r->freeze);
	control_close(&r->control);
	child_release(&r->child);
	session_release(&r->session);
	if (code == EXIT_NO_COMMAND || code == EXIT_CANNOT_RUN)
		output->bytes = 0; /* a recording of nothing */
	if (rotation_end(&r->session.rotation, &close_error) && !code)
		code = command_failed(&close_error);
	fd_close(&r->signals);
	if (report && !code && path)
		code = print_report(r, path);
	caller_end();
	opener_end();
	return code ? code : child;
}

int record_joined(int argc, char **argv, struct joined *j)
{
	/* Not on the stack: readers that were left behind may still use it. */
	static struct recorder r;
	int code;

	r = (struct recorder){ .signals = -1,
			       .control = { .ctl = -1, .ack = -1, .mark = -1 },
			       .child = { .go = -1, .failure = -1 },
			       .freeze.alive = -1,
			       .session.rotation = ROTATION_INIT };
	code = record_cmdline_parse(&r.cmdline, argc, argv, &r.error);
	r.options = &r.cmdline.options;
	r.joined = j;
	if (j) {
		r.cmdline.options.output.fd = j->fd;
		r.cmdline.options.output.keeps = j->keeps;
		r.cmdline.options.perf.as_perf = j->says;
		r.cmdline.options.perf.turbostat = j->turbostat;
		r.cmdline.options.perf.brief = j->brief;
		j->usage = code < 0;
	}
	if (code == 1) {
		fputs(buf_str(&r.cmdline.common.text), stdout);
		code = 0;
	} else if (code < 0) {
		code = command_failed(&r.error);
	} else if (r.options->run.list) {
		char *root = r.options->root,
		     *args[] = { (char *)"list", root ? (char *)"--root" : NULL, root, NULL };

		code = cmd_list(root ? 3 : 1, args);
	} else if ((r.signals = signals_open(j)) < 0) {
		error_sys(&r.error, -r.signals, "signals");
		code = command_failed(&r.error);
	} else {
		record(&r, argv);
		code = finish(&r);
	}
	record_cmdline_release(&r.cmdline);
	return code;
}

int cmd_record(int argc, char **argv)
{
	return record_joined(argc, argv, NULL);
}
