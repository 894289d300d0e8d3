/* What all commands of pmrep do at their edges: options, files, complaints, exit codes. */
#ifndef REPORT_CMD_H
#define REPORT_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/options.h"
#include "report/exit.h"

/* options_parse(), and prints help or the error. -1: go on, confined to what the words name; otherwise the exit code. */
int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common);
/* For the parser: --format=TEXT or --format=json, where `text` is the name of what is not json. 0, or the
 * complaint. */
error_t cmd_format(struct argp_state *state, const char *arg, const char *text, bool *json);

/* The recordings that a command was given. */
struct cmd_files {
	char **path; /* borrowed of options_common */
	int n;
};
/* The end of a parser whose operands are FILE...: takes them, complains if there is none, and knows no other key. */
error_t cmd_files(int key, struct argp_state *state, struct cmd_files *files);

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
/* Columns of the terminal that the descriptor leads to, through a pager, too; 0 if it is none: no limit. */
unsigned cmd_width(int fd);
/* For options_spec.paged: whatever the options are. */
bool cmd_always_paged(const void *input);

#endif
