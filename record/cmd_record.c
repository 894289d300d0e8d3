/* Recording: runs the command, waits for ticks, signals, keys and control words, and ends with the right status. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/number.h"
#include "record/child.h"
#include "record/commands.h"
#include "record/control.h"
#include "record/host/caller.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"
#include "record/host/process.h"
#include "record/host/service.h"
#include "record/marksocket.h"
#include "record/record_options.h"
#include "record/perf/freeze_smi.h"
#include "record/perf/perf_group.h"
#include "record/perf/source_perf.h"
#include "record/plan/plan.h"
#include "record/sample/session.h"

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
	struct signals signals;
	struct control control;
	struct progress progress;
	struct service service;
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

static void recorder_tell_end(struct recorder *r, const struct recording_stats *stats)
{
	tell_result(r, stats);
	tell_dead(r);
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

/* As perf says it, whatever the state before. */
static void tell_switched(const struct recorder *r, const char *how)
{
	if (r->joined && r->joined->says)
		fprintf(stderr, "Events %s\n", how);
}

static void recorder_switched(struct recorder *r, enum pm_event_type how)
{
	struct pm_event event = { .type = how };

	r->disabled = how == PM_EVENT_DISABLE;
	session_event(&r->session, &event);
}

/* Switches without a new segment, because intervals continue. Returns whether that was possible. */
static bool switch_here(struct recorder *r, bool on)
{
	if (!r->joined || !r->joined->says || !r->session.counting)
		return false;
	if (r->disabled != on)
		return true;
	if (session_enable(&r->session, on, &r->error))
		recorder_fail(r);
	recorder_switched(r, on ? PM_EVENT_ENABLE : PM_EVENT_DISABLE);
	return true;
}

static void recorder_enable(struct recorder *r)
{
	struct pm_event event = { .type = PM_EVENT_ENABLE };

	r->enable_ns = 0;
	tell_switched(r, "enabled");
	if (switch_here(r, true) || r->session.counting)
		return;
	/* Read while they stand still, they lose none of the time in which they count. */
	session_begin(&r->session);
	if (session_enable(&r->session, true, &r->error))
		recorder_fail(r);
	else
		session_event(&r->session, &event);
}

/* Writes all that was sampled, as far as the disk takes it, and hands out the files. Returns why not, or NULL. */
static const char *hand_out(struct recorder *r, struct message_fds *fds)
{
	if (!session_output(&r->session)->regular)
		return "its recording goes to a pipe or device, so nothing is kept";
	session_snapshot(&r->session);
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

	while ((peer = control_next_peer(&r->control, line, sizeof(line), &command)) >= 0) {
		const char *wrong = "unknown command";

		if (command.verb == CONTROL_MARK)
			wrong = mark(r, command.text) ? NULL : "the output cannot take a marker now";
		else if (command.verb == CONTROL_DUMP)
			wrong = hand_out(r, &fds);
		marksocket_answer(peer, wrong, &fds);
		message_close_fds(&fds);
	}
}

static void disable(struct recorder *r)
{
	struct pm_event event = { .type = PM_EVENT_DISABLE };

	r->enable_ns = 0;
	tell_switched(r, "disabled");
	if (switch_here(r, false) || !r->session.counting)
		return;
	if (session_enable(&r->session, false, &r->error))
		recorder_fail(r);
	session_event(&r->session, &event);
	session_end(&r->session);
}

static void list_events(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, "perf"))
			fprintf(stderr, "%s\n", m->counter[i].display);
}

static void recorder_obey(struct recorder *r, const struct control_command *c)
{
	const char *wrong = NULL;

	switch (c->verb) {
	case CONTROL_ENABLE:
		recorder_enable(r);
		break;
	case CONTROL_DISABLE:
		disable(r);
		break;
	case CONTROL_EVLIST:
		list_events(&r->session.model);
		break;
	case CONTROL_SNAPSHOT:
		session_snapshot(&r->session);
		break;
	case CONTROL_MARK:
		if (!mark(r, c->text))
			wrong = "the output cannot take a marker now";
		break;
	case CONTROL_DUMP:
		wrong = "pmrec dump -o FILE makes a dump";
		break;
	case CONTROL_STOP:
		r->quit = r->run_over = true;
		break;
	case CONTROL_PING:
		break;
	case CONTROL_UNKNOWN:
		/* perf does not answer it. */
		if (r->joined && r->joined->says)
			return;
		wrong = "unknown command";
		break;
	}
	control_answer(&r->control, wrong);
}

/* turbostat counts it towards -n. */
static void end_interval(struct recorder *r)
{
	if (r->joined && !r->joined->says && r->session.last_number != UINT64_MAX)
		r->session.last_number--;
	session_snapshot(&r->session);
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
	case SIGALRM:
	case SIGABRT:
	case SIGQUIT:
		r->quit = true;
		/* perf and turbostat wait for a command that did not receive the signal; perf's intervals end with
		 * it, and perf dies of SIGQUIT. */
		if (r->joined && running && !s->terminal && (s->signo != SIGQUIT || !r->joined->says) &&
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

/* Groups of equal PMUs that follow one another have one line. */
struct fold {
	const struct perf_group *first, *last;
	char share[16];
	bool starved; /* some group had no counter all the time */
};

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

/* Its words behind the PMU's name. */
static const char *own_words(const struct event *ev)
{
	size_t len = strlen(ev->pmu);

	return !strncmp(ev->display, ev->pmu, len) && ev->display[len] == '/' ? ev->display + len + 1 : ev->display;
}

/* Names that differ in digits alone: uncore_imc_0, uncore_imc_10. */
static bool are_kin(const char *a, const char *b)
{
	static const char digits[] = "0123456789";

	while (*a && *a == *b) {
		a += strspn(a + 1, digits) + 1;
		b += strspn(b + 1, digits) + 1;
	}
	return !*a && !*b;
}

static bool are_equal(const struct perf_group *a, const struct perf_group *b)
{
	bool equal = a->n == b->n && are_kin(a->member[0]->ev->pmu, b->member[0]->ev->pmu);

	for (uint32_t k = 0; equal && k < a->n; k++)
		equal = !strcmp(own_words(a->member[k]->ev), own_words(b->member[k]->ev));
	return equal;
}

static void print_fold(struct fold *f)
{
	const struct perf_group *g = f->first;
	bool many = f->last != g;
	char number[32];

	if (!g)
		return;
	f->starved |= !strcmp(f->share, "  0.0 %");
	snprintf(number, sizeof(number), many ? "%u-%u" : "%u", g->number, f->last->number);
	printf("%5s  %s  %s%s%s%s", number, f->share, g->member[0]->ev->pmu, many ? " to " : "",
	       many ? f->last->member[0]->ev->pmu : "", g->n > 1 ? " {" : " ");
	for (uint32_t k = 0; k < g->n; k++) {
		const char *words = many ? own_words(g->member[k]->ev) : g->member[k]->ev->display;
		size_t len = strlen(words);

		printf("%s%.*s", k ? ", " : "", (int)(many && len && words[len - 1] == '/' ? len - 1 : len), words);
	}
	printf("%s\n", g->n > 1 ? "}" : "");
	f->first = NULL;
}

static void print_group(struct fold *f, const struct perf_group *g)
{
	char share[sizeof(f->share)];

	measure(g, share, sizeof(share));
	if (!f->first || strcmp(share, f->share) != 0 || !are_equal(f->first, g)) {
		print_fold(f);
		f->first = g;
		memcpy(f->share, share, sizeof(share));
	}
	f->last = g;
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
	struct fold fold = { 0 };
	const struct source *perf = perf_among(s->source, s->n_sources);
	const char *metrics;
	struct error e = { 0 }; /* a group that cannot count has counted 0 */

	(void)session_enable(s, true, &e);
	nanosleep(&trial, NULL);
	(void)session_enable(s, false, &e);
	printf("GROUP   COUNTS  EVENTS\n");
	for (struct unit *u = s->plan.units; u; u = u->next) {
		const struct perf_row *row = perf_row_of(u);

		/* The rows of a group are adjacent. */
		if (row && row->group != last)
			print_group(&fold, row->group);
		last = row ? row->group : last;
		if (row || strcmp(u->source->ops->name, "perf") != 0)
			continue;
		print_fold(&fold);
		print_tools(&s->model, pm_model_group(&s->model, u->group));
	}
	print_fold(&fold);
	if (fold.starved)
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
	if (service_due(&r->service, now))
		tell_service(r, &stats);
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
		struct pollfd p[FDS] = {
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
