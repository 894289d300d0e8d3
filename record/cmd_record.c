/* Recording: runs the command, waits for ticks, signals, keys and control words, and ends with the right status. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/caller.h"
#include "record/host/memory.h"
#include "record/host/process.h"
#include "record/host/opener.h"
#include "record/recorder.h"

#define SECOND 1000000000u
/* Between two looks if nobody watches and nothing has to be looked for. */
#define CALM (10ull * SECOND)

int recorder_fail(struct recorder *r)
{
	progress_clear(&r->progress);
	r->code = command_failed(&r->error);
	r->quit = r->run_over = true;
	return r->code;
}

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
	if (r->joined && r->error.number == EPIPE)
		r->joined->unwanted = true;
	else
		code = command_failed(&r->error);
	return r->options->run.command ? 0 : code;
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

static void tell_service(struct recorder *r, const struct recording_stats *stats)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	buf_printf(&text, "WATCHDOG=1\nSTATUS=%s  ", session_output(&r->session)->path);
	progress_put(&r->progress, stats, &text);
	service_tell(&r->service, buf_str(&text));
}

static bool is_calm(const struct recorder *r)
{
	return !r->progress.on && !r->service.wake_ns && !r->input && session_is_calm(&r->session);
}

/* Once the recording goes its way: ends and gives back what only starting needed. */
static void grow_small(struct recorder *r)
{
	if (!plan_starts_more(r->options))
		caller_end();
	memory_give_back();
	r->small = true;
}

static void each_second(struct recorder *r, uint64_t now)
{
	struct recording_stats stats = recording_stats(r->session.recording);

	if (!r->small && recording_outlet(r->session.recording).snapshots)
		grow_small(r);
	session_retry(&r->session);
	progress_show(&r->progress, &stats);
	if (service_due(&r->service, now))
		tell_service(r, &stats);
	if (!r->failed && (session_look(&r->session, &r->error) || session_look_for_cpus(&r->session, &r->error)))
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
		recorder_enable(r);
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

	while (signals_next(&r->signals, &event))
		recorder_signal(r, &event);
}

/* Until the run is over. */
static void watch(struct recorder *r)
{
	enum { SIGNALS, WRITING, TICKS, CONTROL, MARKS, INPUT, TASKS, CPUS, OPENER, FDS };

	while (!r->run_over) {
		struct pollfd p[FDS + DUMP_TRIGGERS] = {
			[SIGNALS] = { .fd = r->signals.fd, .events = POLLIN },
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
		unsigned triggers = dumper_watch(&r->dumper, p + FDS);

		if (poll(p, FDS + triggers, wait_ms(r, clocks_monotonic())) < 0 && errno != EINTR) {
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
		recorder_pressed(r, p + FDS);
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
		recorder_enable(r);
	/* What began last has been read once or not at all; two readings are needed to tell what it did. */
	if (o->perf.per_thread && !r->failed && r->session.counting && !r->session.reached_last) {
		session_notice(&r->session);
		settle(r);
		session_snapshot(&r->session);
	}
	if (!r->failed)
		session_end(&r->session);
	if (r->child.started) {
		/* The recording ended first (-n, --timeout, stop), so end the command, too. */
		if (!r->child.ended) {
			child_signal(&r->child, SIGTERM);
			child_await(&r->child, &r->signals);
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
	if (!command || !child_hook(what, option, command, &r->setup, &r->signals, &r->error))
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
		recorder_switched(r, PM_EVENT_DISABLE);
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
	if (child_fork(&r->child, RUN_COMMAND, o->run.command, &r->setup, &r->error) ||
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
	char since[32];

	if (what < RUN_REPORT)
		child_run(what == RUN_COMMAND ? o->run.command : shell, go, failure, &setup);
	setup.stdout_to_stderr = false;
	if (!child_prepare(go, &setup) && what == RUN_DUMP) {
		/* The recorder does not wait for more: it is asked. */
		close(failure);
		snprintf(since, sizeof(since), "-%lluns", (unsigned long long)o->output.ring_ns);
		caller_leave(dump_exec(getppid(), since, text, false));
	} else if (what == RUN_REPORT)
		command_exec_pmrep(NULL, report, &r->error);
	caller_leave(command_failed(&r->error));
}

/* The exit code: pmrep's answer is for the reader of the report, the status is that of the recording. */
static int print_report(struct recorder *r, const char *path)
{
	struct child_setup setup = { .text = path };
	struct child c;
	int code = EXIT_OWN;

	fflush(stdout);
	if (child_fork(&c, RUN_REPORT, NULL, &setup, &r->error) || child_start(&c, &r->error))
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
	service_open(&r->service);
	if (r->joined)
		sigprocmask(SIG_BLOCK, NULL, &before);
	else
		interruptible_begin(&before);
	err = start_caller(r) ||
	      (o->run.command && child_fork(&r->child, RUN_COMMAND, o->run.command, &r->setup, &r->error)) ||
	      session_plan(&r->session, o, r->child.pid, argv, &r->error);
	interruptible_end(&before);
	if (r->joined)
		r->joined->usage = err != 0;
	if (err || control_open(&r->control, o->run.control, &r->error) || dumper_open(&r->dumper, o, &r->error)) {
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
	service_tell(&r->service, "READY=1");
	do {
		one_run(r);
	} while (next_run(r));
	service_tell(&r->service, "STOPPING=1");
	if (!r->failed && session_close(&r->session, &r->error) && !r->code) {
		output_blame(session_output(&r->session), &r->error);
		r->failed = true;
		r->code = failed_to_write(r);
	}
	stats = recording_stats(r->session.recording);
	if (!r->code && !r->failed)
		recorder_tell_end(r, &stats);
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
	service_close(&r->service);
	freeze_smi_end(&r->freeze);
	control_close(&r->control);
	dumper_close(&r->dumper);
	child_release(&r->child);
	session_release(&r->session);
	if (code == EXIT_NO_COMMAND || code == EXIT_CANNOT_RUN)
		output->bytes = 0; /* a recording of nothing */
	if (rotation_end(&r->session.rotation, &close_error) && !code)
		code = command_failed(&close_error);
	signals_release(&r->signals);
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

	r = (struct recorder){ .signals.fd = -1,
			       .control = { .ctl = -1, .ack = -1, .mark = -1 },
			       .child = { .go = -1, .failure = -1 },
			       .dumper = DUMPER_INIT,
			       .service = SERVICE_INIT,
			       .freeze.alive = -1,
			       .session.rotation = ROTATION_INIT };
	code = record_cmdline_parse(&r.cmdline, argc, argv, &r.error);
	r.options = &r.cmdline.options;
	r.joined = j;
	if (j) {
		r.cmdline.options.output.fd = j->fd;
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
	} else if ((code = signals_init(&r.signals, j, r.options->run.command))) {
		error_sys(&r.error, -code, "signals");
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
