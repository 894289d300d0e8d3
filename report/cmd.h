/* What all commands of pmrep do at their edges: options, files, complaints, exit codes. */
#ifndef REPORT_CMD_H
#define REPORT_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/options.h"
#include "report/exit.h"

struct pipeline_result;
struct vendor_files;

/* options_parse(), and prints help or the error. -1: go on, confined to what the words name; otherwise the exit code. */
int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common);
/* Words of --format where there is text for people or json. */
enum cmd_format { CMD_TEXT, CMD_JSON };
extern const char *const cmd_text_formats[], *const cmd_table_formats[];

/* The recordings that a command was given. */
struct cmd_files {
	char **path; /* borrowed of options_common */
	int n;
};
/* For options_spec.operands where these are FILE..., and the parser's input begins with a struct cmd_files: takes them,
 * and complains if there is none. */
error_t cmd_files(int key, char *arg, struct argp_state *state);
/* The same where there is one file at a time. */
error_t cmd_file(int key, char *arg, struct argp_state *state);

/* A line "COMMAND: text" on stderr, escaped. */
void cmd_complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Each line of `lines` so, behind "WHAT: ": what it is about, such as a file. */
void cmd_complain_lines(const char *command, const char *what, struct buf *lines);
/* A line for an error, with the cure where memory was short; returns EXIT_TROUBLE. */
int cmd_fail(const char *command, const struct error *e);
int cmd_no_memory(const char *command);
/* Writes the buffer to stdout and empties it. 0, or EXIT_TROUBLE for a buffer that ran out of memory; what the file
 * system says is found at the end. */
int cmd_write(const char *command, struct buf *b);
/* Metrics of --metrics-file that could not be understood, a line each. True if there are any. */
bool cmd_complain_skipped(const char *command, struct vendor_files *files);
/* EXIT_GOOD or EXIT_DAMAGED, by what came of reading the file, which has no end because it is `followed`, or because it
 * goes on: that is as it should be. */
int cmd_judge(const struct pipeline_result *r, const char *path, bool followed);
/* Columns of the terminal that the descriptor leads to, through a pager, too; 0 if it is none: no limit. */
unsigned cmd_width(int fd);
/* For options_spec.paged: whatever the options are. */
bool cmd_always_paged(const void *input);

#endif
