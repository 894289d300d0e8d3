/* What others say to a recorder at work: control words, markers, signals, keys. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/recorder.h"

bool recorder_mark(struct recorder *r, const char *text)
{
	struct pm_event event = { .type = PM_EVENT_MARKER };

	/* Under strict privacy the marker is there, its text is not. */
	if (text && strcmp(r->options->privacy, "strict"))
		(void)pm_map_set(&event.attrs, PM_EVENT_KEY_TEXT, pm_text(text));
	return !session_event(&r->session, &event);
}

void recorder_enable(struct recorder *r)
{
	struct pm_event event = { .type = PM_EVENT_ENABLE };

	r->enable_ns = 0;
	if (r->session.counting)
		return;
	if (session_enable(&r->session, true, &r->error)) {
		recorder_fail(r);
		return;
	}
	if (r->joined && r->joined->says)
		fprintf(stderr, "Events enabled\n");
	session_event(&r->session, &event);
	session_begin(&r->session);
}

static void disable(struct recorder *r)
{
	struct pm_event event = { .type = PM_EVENT_DISABLE };

	r->enable_ns = 0;
	if (!r->session.counting)
		return;
	session_end(&r->session);
	if (session_enable(&r->session, false, &r->error))
		recorder_fail(r);
	session_event(&r->session, &event);
}

/* One event alone. The reason why not, or NULL. */
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
		if (!recorder_mark(r, c->text))
			wrong = "the output takes nothing";
		break;
	case CONTROL_STOP:
		r->quit = r->run_over = true;
		break;
	case CONTROL_PING:
		break;
	case CONTROL_UNKNOWN:
		wrong = "unknown command";
		break;
	}
	control_answer(&r->control, wrong);
}

void recorder_signal(struct recorder *r, const struct signals_event *s)
{
	bool running = r->child.started && !r->child.ended;

	if (r->joined && s->signo != SIGCHLD && s->signo != SIGUSR1)
		r->joined->signal = s->signo;
	switch (s->signo) {
	case SIGCHLD:
		if (r->child.started && child_ended(&r->child, false))
			r->run_over = true;
		break;
	case SIGUSR1:
		session_snapshot(&r->session);
		recorder_mark(r, NULL);
		break;
	case SIGINT:
	case SIGQUIT:
		r->quit = true;
		/* A second Ctrl-C is for a command that does not heed the first. */
		r->run_over = r->run_over || !running || r->interrupted;
		r->interrupted = true;
		if (!s->terminal)
			child_signal(&r->child, s->signo);
		break;
	default:
		r->quit = true;
		r->run_over = r->run_over || !running;
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
		session_snapshot(&r->session);
}
