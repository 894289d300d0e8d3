/* pmrec report and --report: finds the pmrep that belongs to this pmrec, and runs it. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/privileges.h"

/* "/usr/bin/pmrep" for "/usr/bin/pmrec"; the one in PATH may be another program of that name. */
static bool beside_us(char path[static PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, "pmrep");
	return !access(path, X_OK);
}

int command_exec_pmrep(char *const *args, struct error *e)
{
	char path[PATH_MAX];
	int err = privileges_for_child();

	if (!err && beside_us(path))
		execv(path, args);
	if (!err) {
		execvp("pmrep", args);
		err = -errno;
	}
	return error_sys(e, -err, "cannot run pmrep");
}

int cmd_report(int argc, char **argv)
{
	struct error e = { 0 };

	argv[0] = (char *)"pmrep";
	command_exec_pmrep(argv, &e);
	return command_failed(&e);
}
