/* Shared by the commands that copy recordings: cut, merge, repair, redact and bundle. */
#pragma once

#include "common/options_table.h"
#include "report/cmd.h"
#include "report/copy/redact.h"
#include "report/copy/rewrite.h"
#include "report/input/outfile.h"

/* Rows of options, for a struct whose first member is `copy`, with `options` for redaction. */
/* clang-format off */
#define CMD_COPY_OPTIONS \
	{ "output", 'o', "FILE", "output file; - is stdout", TEXT(copy.output) }, \
	{ "overwrite", 0, NULL, "replace the output file", BITS(copy.overwrite, OUTFILE_OVERWRITE) }
#define CMD_REDACT_OPTIONS \
	{ "map", 0, "FILE", "take pseudonyms from FILE, and add new ones to it; keep it private, because it undoes redaction", TEXT(options.map) }, \
	{ "shift-time", 0, NULL, "shift all clocks by random amounts, time since boot included", FLAG(options.shift_time) }, \
	{ "keep", 0, "LIST", "keep these: machine, person, time, or fields such as bios, labels, devices", TEXT(options.keep) }
/* clang-format on */

struct cmd_copy {
	struct cmd_files files; /* first */
	const char *output;     /* borrowed of options_common, as are the files */
	unsigned overwrite;     /* OUTFILE_OVERWRITE or 0 */
	bool one;               /* takes a single recording */
	bool names_itself;      /* names its output if -o is missing */
};

/* For options_spec.operands, if the parser's input begins with a struct cmd_copy: takes FILE..., and fails if they or
 * the output are missing. */
int cmd_copy_files(void *into, int n, char **operand, struct error *e);

bool cmd_copy_is_directory(const char *path);
/* Refuses a map of a redaction (NULL: none) that is the output, or among the outputs in a directory. */
int cmd_copy_map(const struct cmd_copy *c, const char *map, struct error *e);
/* Opens the output, which must not be an input. `flags`: OUTFILE_PRIVATE or 0. 0 or -errno with the text in *e. */
int cmd_copy_open(const struct cmd_copy *c, unsigned flags, struct outfile *out, struct error *e);
/* Prints damage of the inputs, and what this version cannot read. The exit status. */
int cmd_copied(const char *command, const char *what, const struct rewrite_result *result);
