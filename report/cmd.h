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

/* A line "COMMAND: text" on stderr, escaped. */
void cmd_complain(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for each of `lines`, with "WHAT: " before it, such as a file. */
void cmd_complain_lines(const char *command, const char *what, struct buf *lines);
/* What follows "out of memory" where a limit is the cause; "" without one. */
const char *cmd_memory_hint(char hint[80]);
/* cmd_complain() for an error, with the cure if memory was short; returns EXIT_TROUBLE. */
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
/* The same of a file that was read as a whole; says so if it is damaged. */
int cmd_judge_file(const char *command, const char *path, bool damaged);
/* Waits until the pager of what goes to a terminal ends, if there is one; close standard output first. Nothing can be
 * said after it. */
void cmd_pager_wait(void);
/* Columns of the descriptor's terminal, also behind the pager; 0 without a terminal: no limit. */
unsigned cmd_width(int fd);

/* The commands of pmrep: a row here and one cmd_NAME.c each. The first is the default. */
/* clang-format off */
/* COMMAND(name, one line of help), in the order of `pmrep --help`. */
#define EACH_COMMAND(COMMAND) \
	COMMAND(show, "metrics, interval by interval or in total (the default command)") \
	COMMAND(incidents, "what happened, and when") \
	COMMAND(stat, "counts as perf stat prints them") \
	COMMAND(info, "what was recorded, on which machine, and what is missing and why") \
	COMMAND(list, "counters, metrics, events or instances of a recording") \
	COMMAND(dump, "every frame and every raw value") \
	COMMAND(check, "verify every byte; list damage") \
	COMMAND(diff, "compare two sets of recordings: is the new one slower?") \
	COMMAND(cut, "copy part of a recording") \
	COMMAND(merge, "join consecutive recordings into one") \
	COMMAND(repair, "copy the readable part of a damaged recording") \
	COMMAND(redact, "copy a recording without the names of host, people and programs") \
	COMMAND(bundle, "redact a recording and shrink it for an attachment") \
	COMMAND(plot, "metrics over time, drawn in the terminal") \
	COMMAND(html, "one page of charts and tables that any browser opens") \
	COMMAND(eval, "the value of a metric expression")
/* clang-format on */

#define DECLARE_COMMAND(name, help) int cmd_##name(int argc, char **argv);
EACH_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* pmrep without main(). */
int pmrep_run(int argc, char **argv);
