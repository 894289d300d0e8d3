/* The commands of pmrec: a row here and one cmd_NAME.c each; without the name of a command, pmrec records. */
#pragma once

#include <limits.h>
#include <stdio.h>

#include "common/options.h"

enum {
	EXIT_OWN = 125, /* any failure of pmrec's own, usage included */
	EXIT_CANNOT_RUN = 126,
	EXIT_NO_COMMAND = 127,
};

/* Each gets argv with its own name first, and returns the exit code. The second word: whether it opens what its
 * caller may not. */
#define EACH_COMMAND(COMMAND) \
	COMMAND(compare, false) \
	COMMAND(doctor, true) \
	COMMAND(dump, false) \
	COMMAND(list, true) \
	COMMAND(mark, false) \
	COMMAND(perfstat, true) \
	COMMAND(record, true) \
	COMMAND(report, false) \
	COMMAND(turbostat, true) \
	COMMAND(vendor, false)

#define DECLARE_COMMAND(name, opens) int cmd_##name(int argc, char **argv);
EACH_COMMAND(DECLARE_COMMAND)
#undef DECLARE_COMMAND

/* Columns of the terminal on stdout; 0 without a terminal, for tables of any width. */
unsigned command_width(void);
struct table;
/* Prints a table to stdout, and frees it. 0 or -errno. */
int command_print(struct table *t, const struct options_common *common);
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
