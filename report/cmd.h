/* What all commands of pmrep share: options, files, errors, exit codes. */
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/error.h"
#include "common/options.h"
#include "report/exit.h"

struct follow;
struct pipeline_config;
struct pipeline_result;
struct vendor_files;

/* options_parse(), and prints help or the error. -1: continue, confined to the files that were named; else the exit
 * code. */
int cmd_options(const struct options_spec *spec, int argc, char **argv, void *input, struct options_common *common);
/* A whole command: cmd_options(), then `run` with what they filled. The exit code. */
int cmd_run(const struct options_spec *spec, int argc, char **argv, void *input,
	    int (*run)(void *input, const struct options_common *common));
/* --format=text|json and table|json */
enum cmd_format { CMD_TEXT, CMD_JSON };

/* The recordings of a command. */
struct cmd_files {
	char **path; /* borrowed of options_common */
	int n;
};
/* As cmd_run(), where the input begins with a struct cmd_files: `one` for each of them. EXIT_TROUBLE of one outweighs
 * EXIT_DAMAGED of another. */
int cmd_run_each(const struct options_spec *spec, int argc, char **argv, void *input,
		 int (*one)(const void *input, const char *path, const struct options_common *common));
/* For options_spec.operands that are FILE..., if the parser's input begins with a struct cmd_files. Fails without a
 * file. */
int cmd_files(void *into, int n, char **operand, struct error *e);
/* The same for a single FILE. */
int cmd_file(void *into, int n, char **operand, struct error *e);

/* A line "COMMAND: text" on stderr, escaped. */
void cmd_complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for each of `lines`, with "WHAT: " before it, such as a file. */
void cmd_complain_lines(const char *command, const char *what, struct buf *lines);
/* The same for an error, with the cure if memory was short; returns EXIT_TROUBLE. */
int cmd_fail(const char *command, const struct error *e);
/* Writes the buffer to stdout and empties it. Write errors show at exit. */
void cmd_write(struct buf *b);
/* Prints metrics of --metrics-file with an invalid formula. True if there are any. */
bool cmd_complain_skipped(const char *command, struct vendor_files *files);
/* Watches the file, and with `on` waits for more at its end, unless it is "-". */
void cmd_follow(struct pipeline_config *config, struct follow *f, const char *path, bool on);
/* EXIT_GOOD or EXIT_DAMAGED, by the result of reading. A missing end is good if the file is `followed` or still
 * written. */
int cmd_judge(const struct pipeline_result *r, const char *path, bool followed);
/* Columns of the descriptor's terminal, also behind a pager; 0 without a terminal: no limit. */
unsigned cmd_width(int fd);
