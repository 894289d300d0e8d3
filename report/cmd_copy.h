/* What the commands that make recordings of recordings share: cut, merge, repair, redact and bundle. */
#ifndef REPORT_CMD_COPY_H
#define REPORT_CMD_COPY_H

#include "report/cmd.h"
#include "report/copy/redact.h"
#include "report/copy/rewrite.h"
#include "report/input/outfile.h"

enum { CMD_KEY_OVERWRITE = 900, CMD_KEY_MAP, CMD_KEY_SHIFT, CMD_KEY_KEEP };

/* Rows of the option arrays. */
/* clang-format off */
#define CMD_COPY_OPTIONS \
	{ "output", 'o', "FILE", 0, "output file; - is stdout", 0 }, \
	{ "overwrite", CMD_KEY_OVERWRITE, NULL, 0, "replace the output", 0 }
#define CMD_REDACT_OPTIONS \
	{ "map", CMD_KEY_MAP, "FILE", 0, "pseudonyms are those in FILE; new ones are added to it", 0 }, \
	{ "shift-time", CMD_KEY_SHIFT, NULL, 0, "move all clocks by random amounts", 0 }, \
	{ "keep", CMD_KEY_KEEP, "LIST", 0, "what may stay: machine, person, time, or names of fields", 0 }
/* clang-format on */

struct cmd_copy {
	const char *output; /* borrowed of options_common, as are the files */
	struct cmd_files files;
	unsigned overwrite; /* OUTFILE_OVERWRITE or 0 */
	bool one;           /* takes one recording at a time */
	bool names_itself;  /* finds a name for its output if none is given */
};

/* For the end of a parser: takes the output and FILE..., and complains where one of them is missing. */
error_t cmd_copy_option(int key, char *arg, struct argp_state *state, struct cmd_copy *c);
/* Takes the options that say how to redact. */
error_t cmd_redact_option(int key, char *arg, struct redact_options *o);

/* Opens the output; the recordings are its inputs. 0 or -errno with the text in *e. */
int cmd_copy_open(const struct cmd_copy *c, struct outfile *out, struct error *e);
/* What is to be said of recordings that were copied: damage, and what this program cannot read. The exit status. */
int cmd_copied(const char *command, const char *what, const struct rewrite_result *result);

#endif
