/* pmrep check: verifies every byte, and says which time is lost with damaged ones. */
#include "report/cmd.h"

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
	"Print which bytes are damaged, how many intact chunks cannot be read as a result, and which time is\n"
	"lost. A recording that is still being written is good.\n\n" OPTIONS_LIST "\n"
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
	{ "format", 0, "text|json", "text (default) or json: one object per file", WORD(format) },
	{ 0 },
};

static const struct options_spec spec = {
	.name = "pmrep check",
	.rows = rows,
	.operands = cmd_files,
	.operands_doc = "FILE...",
	.brief = brief,
	.paged = options_always_paged,
};

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
	for (size_t i = 0; damaged && i < s->n_damage; i++) {
		buf_addstr(out, "  ");
		damage_text(&s->damage[i], out);
		buf_addch(out, '\n');
	}
}

static void json_file(const char *path, const struct scan *s, bool damaged, struct buf *out)
{
	struct json *j = json_new_object();

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
	json_put(j, "damage", damage_json(s->damage, s->n_damage));
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

	if (scan_path(&s, path, SCAN_VALUES, &e))
		return cmd_fail(spec.name, &e);
	damaged = scan_damaged(&s);
	if (c->format == CMD_JSON)
		json_file(path, &s, damaged, &out);
	else if (damaged || !c->quiet)
		text_file(path, &s, damaged, &out);
	cmd_write(&out);
	return damaged ? EXIT_NEGATIVE : EXIT_GOOD;
}

int cmd_check(int argc, char **argv)
{
	return cmd_run_each(&spec, argc, argv, &(struct check){ 0 }, check_file);
}
