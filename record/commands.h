/* The commands of pmrec: a row here and one cmd_NAME.c each; without the name of a command, pmrec records. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/options.h"

enum {
	EXIT_OWN = 125, /* any failure of pmrec's own, usage included */
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_COMMAND = 127,
};

/* clang-format off */
/* COMMAND(name, opens, pad, help), in the order of `pmrec --help`. `opens`: it opens what its caller may not. `pad` stands
 * between name and help. Each gets argv with its own name first, and returns the exit code. */
#define EACH_COMMAND(COMMAND) \
	COMMAND(record,    true,  "     ",   "record into a file (the default command)") \
	COMMAND(doctor,    true,  "     ",   "what this machine offers, what is missing, and how to get it") \
	COMMAND(list,      true,  "       ", "events, sources, metrics and metric groups that can be recorded") \
	COMMAND(mark,      false, "       ", "put a marker into your running recordings") \
	COMMAND(dump,      false, "       ", "copy the last minutes out of a running recorder") \
	COMMAND(compare,   false, "    ",    "run two commands alternately: is the second slower?") \
	COMMAND(vendor,    false, "     ",   "import the events and metrics that CPU vendors publish") \
	COMMAND(report,    false, "     ",   "run pmrep, where another program has that name") \
	COMMAND(turbostat, true,  "  ",      "accept turbostat's command line, and print what it would") \
	COMMAND(perfstat,  true,  "   ",     "the same for perf stat")
/* clang-format on */

#define DECLARE_COMMAND(name, opens, pad, help) int cmd_##name(int argc, char **argv);
EACH_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* Columns of the terminal on stdout; 0 without a terminal, for tables of any width. */
unsigned command_width(void);
struct table;
/* Prints a table to stdout, and frees it. */
void command_print(struct table *t, const struct options_common *common);
/* "pmrec: text" on stderr; returns EXIT_OWN. */
int command_failed(const struct error *e);
/* options_parse(), and prints help or the error. -1: continue; otherwise the exit code. */
int command_options(const struct options_spec *spec, int argc, char **argv, void *input,
		    struct options_common *common);
/* Adds to "no such command" what its user may have meant. `argv` ends with NULL. */
void command_suggest(char *const *argv, struct error *e);
/* The pmrep of this program's directory; false: there is none. */
bool command_find_pmrep(char path[static PATH_MAX]);
/* Replaces this process by pmrep, `found` or from this program's directory or PATH. Returns only on failure. */
int command_exec_pmrep(const char *found, char *const *args, struct error *e);

/* Arguments and results of a recording that pmrep reads while pmrec writes it. */
struct joined {
	int fd;         /* of the reader: where the recording goes, instead of -o */
	bool keeps;     /* or beside -o */
	bool says;      /* prints when events are disabled and enabled, and how a command ended, as perf does */
	bool brief;     /* nobody keeps the recording: of the machine it has what pmrep stat prints */
	bool turbostat; /* its events are not shown as counters, and perf stands in for registers that are shut */
	bool usage;     /* out: the request is invalid */
	bool none;      /* out: nothing was recorded */
	bool refused;   /* out: the caller may count none of the requested events */
	bool ran;       /* out: there was a command, and it ended */
	bool cut;       /* out: pmrec ended it, because time was up */
	int status;     /* out: then as wait() has it */
	int failure;    /* out: errno of a command that could not be run */
	int signal;     /* out: the signal that ended the recording; 0: none */
	bool unwanted;  /* out: the reader has closed its end */
};

/* As cmd_record(). `j` may be NULL. */
int record_joined(int argc, char **argv, struct joined *j);

/* For those: pmrep, which reads from that descriptor. As fork(). */
pid_t command_start_reader(char *const *argv, int from, bool to_stderr);
