/* Finds the command. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/cmd.h"
#include "report/input/input.h"

struct command {
	const char *name;
	const char *help;
	/* argv[0] is the command's name; the result is an exit code. stdout is checked afterwards. */
	int (*run)(int argc, char **argv);
};

#define ROW(name, help) { #name, help, cmd_##name },
/* Ends with name NULL. */
static const struct command commands[] = { EACH_COMMAND(ROW){ 0 } };

static int help(void)
{
	printf("Usage: pmrep [COMMAND] [OPTION...] FILE...\n"
	       "Report on recordings made by pmrec. FILE may be - for standard input; .gz files are read "
	       "directly.\n\n"
	       "Commands:\n");
	for (const struct command *c = commands; c->name; c++)
		printf("  %-9s %s\n", c->name, c->help);
	printf("\nExamples:\n"
	       "  pmrep host.pmr                     everything, in a table\n"
	       "  pmrep host.pmr --total --per-cpu   one row per CPU over the whole recording\n"
	       "  pmrep host.pmr --show=Busy%%,power  only these columns; --hide=... leaves some out, --list lists "
	       "all\n"
	       "  pmrep host.pmr --format=csv        for programs; also json, parquet, openmetrics, perfetto\n"
	       "  pmrep host.pmr --format=turbostat  the text of turbostat; pmrep stat prints that of perf stat\n"
	       "  pmrec -o - | pmrep -               live\n\n"
	       "pmrep COMMAND --help explains a command, pmrep COMMAND --help=all lists all of its options.\n"
	       "Exit status: 0 good, 1 damage found (check) or regression (diff), 2 error, 3 damaged input, "
	       "4 inconclusive (diff).\n");
	return EXIT_GOOD;
}

/* If the first word is neither a command nor a file, it is probably a typing error. */
static int unknown_command(const char *word)
{
	const char *names[sizeof(commands) / sizeof(*commands)];
	const char *near;
	size_t n = 0;

	for (const struct command *c = commands; c->name; c++)
		names[n++] = c->name;
	near = options_nearest(word, names, n);
	if (near)
		cmd_complain("pmrep", "'%s' is neither a command nor a file; did you mean '%s'?", word, near);
	else
		cmd_complain("pmrep", "'%s' is neither a command nor a file; pmrep --help lists the commands", word);
	return EXIT_TROUBLE;
}

/* Finds the recording in this directory that was written to last. */
static bool find_newest(char path[sizeof(((struct dirent *)NULL)->d_name)])
{
	struct timespec newest = { 0 };
	const struct dirent *entry;
	DIR *folder = opendir(".");
	bool found = false;
	struct stat st;

	while (folder && (entry = readdir(folder))) {
		const char *end = strrchr(entry->d_name, '.');

		if (!end || end == entry->d_name || strcmp(end, ".pmr") || stat(entry->d_name, &st) ||
		    !S_ISREG(st.st_mode))
			continue;
		if (found && (st.st_mtim.tv_sec < newest.tv_sec ||
			      (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		newest = st.st_mtim;
		strcpy(path, entry->d_name);
		found = true;
	}
	if (folder)
		closedir(folder);
	return found;
}

/* For `pmrep` alone. */
static int show_newest(void)
{
	char path[sizeof(((struct dirent *)NULL)->d_name)], name[] = "pmrep", total[] = "--total", dashes[] = "--";
	char *argv[] = { name, total, dashes, path, NULL };

	if (!find_newest(path)) {
		help();
		cmd_complain("pmrep", "no recording given, and none (*.pmr) in this folder");
		return EXIT_TROUBLE;
	}
	cmd_complain("pmrep", "showing the newest recording here, %s; for more, see pmrep --help", path);
	return commands[0].run(4, argv);
}

int pmrep_run(int argc, char **argv)
{
	if (argc < 2)
		return show_newest();
	for (const struct command *c = commands; c->name; c++) {
		if (!strcmp(argv[1], c->name))
			return c->run(argc - 1, argv + 1);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-help"))
		return help();
	if (argv[1][0] != '-' && !strpbrk(argv[1], "./") && access(argv[1], F_OK) && !input_is_pcp(argv[1]))
		return unknown_command(argv[1]);
	return commands[0].run(argc, argv);
}
