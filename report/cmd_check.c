/* pmrep check: verifies every byte, and says which time is lost with those that are damaged. */
#include "report/cmd.h"
#include "report/commands.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/number.h"
#include "common/options_table.h"
#include "common/table.h"
#include "report/info/scan.h"
#include "report/machine/value_out.h"

static const char brief[] =
	"Usage: pmrep check [OPTION...] FILE...\n"
	"Verify every frame and every block of recordings.\n\n"
	"Print which bytes are damaged, and which time is lost as a result. A recording that is still being\n"
	"written is good.\n\n" OPTIONS_LIST "\n"
	"Exit status: 0 good, 1 damaged or cut, 2 not a recording or not readable.\n\n"
	"Examples:\n"
	"  pmrep check *.pmr\n"
	"  pmrep check --format=json host.pmr | jq '.damage'\n";

struct check {
	struct cmd_files files; /* first */
	enum cmd_format format;
	bool quiet;
};

#define OPTIONS_INTO struct check
static const struct option_row rows[] = {
	{ "quiet", 'q', NULL, "print nothing about good recordings", FLAG(quiet) },
	{ "format", 0, "text|json", "text (default) or json: one object per file", WORD(format, cmd_text_formats) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep check",
	.rows = rows,
	.operands = cmd_files,
	.operands_doc = "FILE...",
	.brief = brief,
};

/* Wall time if the recording has it, else seconds since its first snapshot. */
static void add_time(const struct scan *s, uint64_t ns, struct buf *out)
{
	uint64_t wall = pm_reader_realtime(s->reader, ns);
	char text[64];

	if (!ns)
		buf_addstr(out, "an unknown time");
	else if (wall)
		buf_add(out, text, number_time(text, wall, 0));
	else if (ns >= s->first_ns)
		buf_printf(out, "%.3f s", (double)(ns - s->first_ns) / 1e9);
	else
		buf_addstr(out, "before the first snapshot");
}

static void text_damage(const struct scan *s, const struct pm_damage *d, struct buf *out)
{
	if (d->length)
		buf_printf(out, "  bytes %llu to %llu (%llu): %s: ", (unsigned long long)d->offset,
			   (unsigned long long)(d->offset + d->length), (unsigned long long)d->length,
			   damage_name(d->kind));
	else
		buf_printf(out, "  at byte %llu: ", (unsigned long long)d->offset);
	text_escape(out, d->text, strlen(d->text));
	if (d->from_ns && !d->to_ns) {
		buf_addstr(out, "; nothing after ");
		add_time(s, d->from_ns, out);
	} else if (d->from_ns || d->to_ns) {
		buf_addstr(out, "; time from ");
		add_time(s, d->from_ns, out);
		buf_addstr(out, " to ");
		add_time(s, d->to_ns, out);
	}
	if (d->frames)
		buf_printf(out, "; %llu frame%s lost", (unsigned long long)d->frames, plural(d->frames));
	buf_addch(out, '\n');
}

static void text_file(const char *path, const struct scan *s, bool damaged, struct buf *out)
{
	text_escape(out, path, strlen(path));
	buf_printf(out, ": %s",
		   damaged          ? scan_lacks_end(s) ? "cut" : "damaged" :
		   s->being_written ? "good, still being written" :
				      "good");
	buf_printf(out, ": %llu byte%s, %llu frame%s, %llu chunk%s, %llu snapshot%s, %llu value%s",
		   (unsigned long long)s->bytes, plural(s->bytes), (unsigned long long)s->frames, plural(s->frames),
		   (unsigned long long)s->chunks, plural(s->chunks), (unsigned long long)s->snapshots,
		   plural(s->snapshots), (unsigned long long)s->values, plural(s->values));
	if (s->recordings > 1)
		buf_printf(out, ", %llu recordings", (unsigned long long)s->recordings);
	if (s->lost_ticks)
		buf_printf(out, ", %llu tick%s lost while recording", (unsigned long long)s->lost_ticks,
			   plural(s->lost_ticks));
	buf_addch(out, '\n');
	for (const char *line = pm_reader_newer(s->reader); *line; line += strcspn(line, "\n") + 1) {
		buf_addstr(out, "  newer: ");
		text_escape(out, line, strcspn(line, "\n"));
		buf_addch(out, '\n');
	}
	for (size_t i = 0; damaged && i < s->n_damage; i++)
		text_damage(s, &s->damage[i], out);
}

static struct json *json_time(const struct scan *s, uint64_t ns)
{
	return time_json(ns ? pm_reader_realtime(s->reader, ns) : 0);
}

static struct json *json_damage(const struct scan *s, const struct pm_damage *d)
{
	struct json *j = json_new_object();

	json_put(j, "kind", json_new_text(damage_name(d->kind)));
	json_put(j, "offset", json_new_u64(d->offset));
	json_put(j, "length", json_new_u64(d->length));
	json_put(j, "from", json_time(s, d->from_ns));
	json_put(j, "to", json_time(s, d->to_ns));
	json_put(j, "from_ns", d->from_ns ? json_new_u64(d->from_ns) : json_new_null());
	json_put(j, "to_ns", d->to_ns ? json_new_u64(d->to_ns) : json_new_null());
	json_put(j, "frames", d->frames ? json_new_u64(d->frames) : json_new_null());
	json_put(j, "text", json_new_text(d->text));
	return j;
}

static void json_file(const char *path, const struct scan *s, bool damaged, struct buf *out)
{
	struct json *j = json_new_object(), *list = json_new_array();

	for (size_t i = 0; i < s->n_damage; i++)
		json_push(list, json_damage(s, &s->damage[i]));
	json_put(j, "file", json_new_text(path));
	json_put(j, "good", json_new_bool(!damaged));
	json_put(j, "ended", json_new_bool(s->ended));
	json_put(j, "being_written", json_new_bool(s->being_written));
	json_put(j, "bytes", json_new_u64(s->bytes));
	json_put(j, "frames", json_new_u64(s->frames));
	json_put(j, "chunks", json_new_u64(s->chunks));
	json_put(j, "snapshots", json_new_u64(s->snapshots));
	json_put(j, "values", json_new_u64(s->values));
	json_put(j, "recordings", json_new_u64(s->recordings));
	json_put(j, "lost_ticks", json_new_u64(s->lost_ticks));
	json_put(j, "newer", newer_json(s->reader));
	json_put(j, "damage", list);
	json_print(j, 0, out);
	buf_addch(out, '\n');
	json_free(j);
}

static int check_file(const void *input, const char *path, const struct options_common *common)
{
	const struct check *c = input;
	SCOPED(buf_release) struct buf out = BUF_INIT;
	struct error e = { 0 };
	SCOPED(scan_release) struct scan s = { 0 };
	bool damaged;
	int r = EXIT_GOOD;

	if (scan_path(&s, path, SCAN_VALUES, &e))
		return cmd_fail(spec.name, &e);
	damaged = scan_damaged(&s);
	if (c->format == CMD_JSON)
		json_file(path, &s, damaged, &out);
	else if (damaged || !c->quiet)
		text_file(path, &s, damaged, &out);
	r = cmd_write(spec.name, &out);
	if (!r)
		r = damaged ? EXIT_NEGATIVE : EXIT_GOOD;
	return r;
}

int cmd_check(int argc, char **argv)
{
	return cmd_run_each(&spec, argc, argv, &(struct check){ 0 }, check_file);
}
