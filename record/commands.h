/* The commands of pmrec. Each gets argv with its own name first, and returns the exit code. */
#ifndef RECORD_COMMANDS_H
#define RECORD_COMMANDS_H

#include <stdio.h>

#include "common/error.h"

enum {
	EXIT_OWN = 125, /* any failure of pmrec's own, usage included */
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_COMMAND = 127,
};

int cmd_record(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_mark(int argc, char **argv);
int cmd_report(int argc, char **argv);

/* Columns of the terminal on stdout; 0 if it is none: tables are then as wide as they are. */
unsigned command_width(void);
/* "pmrec: text" on stderr; returns EXIT_OWN. */
int command_failed(const struct error *e);
/* Runs pmrep, next to this program or in PATH: its exit code, or -errno. */
int command_run_pmrep(char *const *args, struct error *e);

#endif
