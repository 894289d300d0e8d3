/* pmrec report and --report: finds the pmrep that belongs to this pmrec, and runs it. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "record/commands.h"
#include "record/host/privileges.h"

/* "/usr/libexec/pmrec/pmrep" for "/usr/bin/pmrec", or "build/bin/pmrep": any other might be a different program. */
static bool beside_us(char path[static PATH_MAX], const char *where)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 32);
	char *slash;

	if (n <= 0)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return false;
	strcpy(slash + 1, where);
	return !access(path, X_OK);
}

bool command_find_pmrep(char path[static PATH_MAX])
{
	return beside_us(path, "../libexec/pmrec/pmrep") || beside_us(path, "pmrep");
}

int command_exec_pmrep(const char *found, char *const *args, struct error *e)
{
	char path[PATH_MAX];
	int err = privileges_for_child();

	if (!err && (found || command_find_pmrep(path)))
		execv(found ? found : path, args);
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
	command_exec_pmrep(NULL, argv, &e);
	return command_failed(&e);
}
