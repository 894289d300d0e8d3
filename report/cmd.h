/* The commands of pmrep: one cmd_X.c each, one row in commands[]. */
#ifndef REPORT_CMD_H
#define REPORT_CMD_H

#include <stddef.h>

/* Exit codes of pmrep. */
enum {
	EXIT_GOOD = 0,
	EXIT_NEGATIVE = 1, /* the answer is no: check found damage, diff found a regression */
	EXIT_TROUBLE = 2,  /* usage, I/O, unreadable */
	EXIT_DAMAGED = 3,  /* the input is damaged or cut; all that is readable was printed */
};

struct command {
	const char *name;
	const char *help; /* one line */
	/* argv[0] is the command's name; the result is an exit code of the above. */
	int (*run)(int argc, char **argv);
};
extern const struct command commands[]; /* ends with name NULL; the first is the default */

int cmd_show(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_eval(int argc, char **argv);

#endif
