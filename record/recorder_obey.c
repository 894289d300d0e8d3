/* What others request of a running recorder: control words, markers, signals, keys, and dumps. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/marksocket.h"
#include "record/recorder.h"

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

void recorder_switched(struct recorder *r, enum pm_event_type how)
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

void recorder_enable(struct recorder *r)
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

/* Starts a dump, in a process that asks as `pmrec dump` does. Returns why not, or NULL. */
static const char *dump(struct recorder *r, const char *cause)
{
	const struct record_options *o = r->options;
	struct child_setup setup = { .files = r->setup.files };
	uint64_t now = clocks_monotonic();
	struct dumper *d = &r->dumper;
	char text[80], *path;

	if (!o->output.ring_ns)
		return "only a recorder with --ring writes dumps by itself; pmrec dump -o FILE works with any "
		       "recorder";
	if (now < d->next_ns)
		return "the last dump was less than --dump-every ago";
	if (!child_ended(&d->child, false))
		return "a dump is already in progress";
	d->next_ns = now + o->output.dump_ns;
	snprintf(text, sizeof(text), "dump: %s", cause);
	mark(r, text);
	path = output_dump_name(o);
	if (!path)
		return "no memory";
	progress_clear(&r->progress);
	if (!o->run.quiet)
		fprintf(stderr, "pmrec: %s: dump to %s\n", cause, path);
	setup.text = path;
	child_release(&d->child);
	if (child_fork(&d->child, RUN_DUMP, NULL, &setup, &r->error) || child_start(&d->child, &r->error))
		command_failed(&r->error);
	free(path);
	return NULL;
}

void recorder_pressed(struct recorder *r, const struct pollfd *p)
{
	for (unsigned i = 0; i < r->dumper.n; i++) {
		if (p[i].revents & POLLPRI)
			(void)dump(r, r->options->output.dump_on[i]);
		else if (p[i].revents)
			r->dumper.trigger[i] = -1; /* the kernel gave it up */
	}
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

void recorder_hear(struct recorder *r)
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

/* Switches one event alone. Returns why not, or NULL. */
static const char *switch_event(struct recorder *r, const char *name, bool on)
{
	int n = session_enable_one(&r->session, name, on, &r->error);

	if (n < 0)
		recorder_fail(r);
	else if (!n)
		return "unknown event";
	else if (on && !r->session.counting)
		recorder_enable(r);
	return NULL;
}

static void list_events(const struct pm_model *m)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, "perf"))
			fprintf(stderr, "%s\n", m->counter[i].display);
}

void recorder_obey(struct recorder *r, const struct control_command *c)
{
	const char *wrong = NULL;

	switch (c->verb) {
	case CONTROL_ENABLE:
		if (*c->text)
			wrong = switch_event(r, c->text, true);
		else
			recorder_enable(r);
		break;
	case CONTROL_DISABLE:
		if (*c->text)
			wrong = switch_event(r, c->text, false);
		else
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
		wrong = dump(r, "--control");
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

void recorder_signal(struct recorder *r, const struct signals_event *s)
{
	bool running = r->child.started && !r->child.ended;
	const char *wrong;

	if (r->joined && signals_end(s))
		r->joined->signal = s->signo;
	switch (s->signo) {
	case SIGCHLD:
		if (r->child.started && child_ended(&r->child, false))
			r->run_over = true;
		child_ended(&r->dumper.child, false);
		break;
	case SIGUSR2:
		wrong = dump(r, "SIGUSR2");
		if (wrong && !r->options->run.quiet)
			fprintf(stderr, "pmrec: SIGUSR2: no dump: %s\n", wrong);
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

void recorder_input(struct recorder *r)
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
