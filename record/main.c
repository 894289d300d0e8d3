/* main() of pmrec: finds the command, and looks at stdout in the end. */
#include <errno.h>
#include <string.h>

#include "record/commands.h"
#include "record/host/privileges.h"

/* perf's users type `perf stat -e LIST COMMAND`, and there is a stat(1) that would be run with that. */
static int cmd_of_perf(int argc, char **argv)
{
	struct error e = { 0 };

	(void)argc;
	error_set(&e, EINVAL,
		  "'%s' is no command of pmrec, which records without such a word (pmrec -e LIST COMMAND); "
		  "pmrep stat prints the counts. The program '%s' is run with: pmrec -- %s",
		  argv[0], argv[0], argv[0]);
	return command_failed(&e);
}

#define ROW(name) { #name, cmd_##name },
static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = { EACH_COMMAND(ROW){ "stat", cmd_of_perf }, { "record", cmd_of_perf } };

/* What was printed has arrived, or that is an error: a full disk must not look like success. */
static int close_stdout(int code)
{
	struct error e = { 0 };

	if ((ferror(stdout) || fflush(stdout)) && errno != EPIPE) {
		error_sys(&e, errno, "standard output");
		return command_failed(&e);
	}
	return code;
}

int main(int argc, char **argv)
{
	/* Rights that the program has are used where something is opened with them, and nowhere else. */
	privileges_lower();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]) && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			return close_stdout(commands[i].run(argc - 1, argv + 1));
	return close_stdout(cmd_record(argc, argv));
}
