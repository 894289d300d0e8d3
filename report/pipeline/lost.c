#include "report/pipeline/lost.h"

#include "common/names.h"
#include "format/model.h"
#include "report/machine/status.h"

#define NAMED 4 /* counters, and places, in a line */
#define LINES 16

static const struct {
	uint16_t reason;
	const char *cure;
} cures[] = {
	{ PM_REASON_NOT_COUNTED, "its counters were never free: record fewer events, or stop what else counts" },
	{ PM_REASON_NO_PERMISSION, "pmrec doctor says which rights are needed" },
	{ PM_REASON_DROPPED, "record with a larger --buffer" },
	{ PM_REASON_MISSED, "record with --realtime" },
	{ PM_REASON_ERRNO + 1, "pmrec doctor says which rights are needed" },
	{ PM_REASON_ERRNO + 13, "pmrec doctor says which rights are needed" },
	{ PM_REASON_ERRNO + 24, "raise ulimit -n before recording" },
};

static const char *cure_of(uint16_t reason)
{
	for (size_t i = 0; i < sizeof(cures) / sizeof(cures[0]); i++)
		if (cures[i].reason == reason)
			return cures[i].cure;
	return "pmrec doctor says what this machine has";
}

/* Adds a name to a list of them, once. */
static void list(struct buf *text, struct names *have, const char *name)
{
	uint32_t ignored;

	if (names_get(have, name, &ignored) || names_set(have, name, 0))
		return;
	if (have->n <= NAMED)
		buf_printf(text, "%s%s", have->n > 1 ? ", " : "", name);
}

static void put_list(struct buf *out, struct buf *text, struct names *have)
{
	buf_addstr(out, buf_str(text));
	if (have->n > NAMED)
		buf_printf(out, " and %u more", (unsigned)(have->n - NAMED));
	buf_release(text);
	names_release(have);
}

static void name_instance(const struct pm_instance *i, struct buf *out)
{
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, NULL);

	if (name && i->kind != PM_CPU)
		buf_addstr(out, name);
	else if (i->number == PM_NONE)
		buf_printf(out, "the %s", pm_kind_name(i->kind));
	else
		buf_printf(out, "%s %u", i->kind == PM_CPU ? "CPU" : pm_kind_name(i->kind), i->number);
}

static bool is_lost(const struct replay *r, const struct pm_model *m, size_t track, uint16_t reason)
{
	const struct pm_instance *i = pm_model_instance(m, replay_track(r, track).instance);

	/* A task may never have run. */
	return i && i->kind != PM_TASK && i->kind != PM_CGROUP && replay_never_known(r, track) == reason;
}

static void note_reason(const struct replay *r, const struct pm_model *m, size_t first, uint16_t reason,
			struct buf *out)
{
	struct names counters = { 0 }, places = { 0 };
	struct buf what = BUF_INIT, where = BUF_INIT;
	SCOPED(buf_release) struct buf one = BUF_INIT;
	char word[16];

	for (size_t t = first; t < replay_tracks(r); t++) {
		struct track_info info = replay_track(r, t);

		if (!is_lost(r, m, t, reason))
			continue;
		list(&what, &counters, pm_model_counter(m, info.counter)->name);
		buf_clear(&one);
		name_instance(pm_model_instance(m, info.instance), &one);
		list(&where, &places, buf_str(&one));
	}
	put_list(out, &what, &counters);
	buf_addstr(out, " of ");
	put_list(out, &where, &places);
	buf_printf(out, ": never read (%s), so sums with it are missing; %s\n",
		   status_word(reason, STATUS_WHOLE, word), cure_of(reason));
}

/* Notes PMUs that are missing from the sum over their kind. */
static void note_shut(const struct binding *b, struct buf *out)
{
	struct names pmus = { 0 };
	struct buf which = BUF_INIT;
	uint16_t reason = 0;
	char word[16];

	for (size_t i = 0; i < b->n_inputs; i++)
		for (uint32_t k = 0; k < b->input[i].more->n_shut; k++) {
			reason = reason ? reason : b->input[i].more->shut[k].reason;
			list(&which, &pmus, b->input[i].more->shut[k].pmu);
		}
	put_list(out, &which, &pmus);
	if (reason == PM_REASON_NOT_READ)
		buf_addstr(
			out,
			": not all events of their kind were recorded, so some sums are missing; name the kind after "
			"-e, not one of them\n");
	else if (reason)
		buf_printf(out, ": not recorded (%s), so sums with it are missing; %s\n",
			   status_word(reason, STATUS_WHOLE, word), cure_of(reason));
}

void lost_note(const struct replay *r, const struct pm_model *m, const struct binding *b, struct buf *out)
{
	uint16_t said[LINES];
	size_t n = 0;

	note_shut(b, out);

	for (size_t t = 0; t < replay_tracks(r) && n < LINES; t++) {
		uint16_t reason = replay_never_known(r, t);
		bool again = !reason || !is_lost(r, m, t, reason);

		for (size_t i = 0; i < n && !again; i++)
			again = said[i] == reason;
		if (again)
			continue;
		said[n++] = reason;
		note_reason(r, m, t, reason, out);
	}
}
