/* What pmrec tells its user on standard error, from before sampling to the end. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/number.h"

#include "record/host/privileges.h"
#include "record/plan/plan.h"
#include "record/recorder.h"

void recorder_tell_refused(struct recorder *r)
{
	const struct pm_model *m = &r->session.model;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	/* A name on the command line that has no rows would not be missed. */
	for (uint32_t i = 0; r->joined && r->joined->says && i < m->n_probes; i++)
		if (m->probe[i].reason == PM_REASON_GONE && !strncmp(m->probe[i].what, "cgroup ", 7))
			fprintf(stderr, "perf stat: there is no %s\n", m->probe[i].what);
	if (r->options->run.quiet)
		return;
	refused_print(&r->session.model, r->options->run.verbose, &text);
	fputs(buf_str(&text), stderr);
}

/* If the kernel withholds something. */
void recorder_tell_rights(const struct recorder *r)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (!privileges_tell(&text) && !r->options->run.quiet)
		fprintf(stderr, "pmrec: sampling with %s\n", buf_str(&text));
}

/* For those who typed only pmrec. */
void recorder_tell_start(struct recorder *r)
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

void recorder_tell_end(struct recorder *r, const struct recording_stats *stats)
{
	tell_result(r, stats);
	tell_dead(r);
}

void recorder_tell_killed(const struct recorder *r)
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

bool recorder_may_not(const struct recorder *r)
{
	const struct pm_model *m = &r->session.model;
	bool refused = why_none(m) == PM_REASON_NO_PERMISSION;
	SCOPED(buf_release) struct buf text = BUF_INIT;

	if (refused)
		refused_print(m, false, &text);
	fputs(buf_str(&text), stderr);
	return refused;
}
