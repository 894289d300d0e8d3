#include "report/cmd_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/memory.h"

int cmd_copy_files(void *into, int n, char **operand, struct error *e)
{
	const struct cmd_copy *c = into;
	int err = cmd_files(into, n, operand, e);

	if (err)
		return err;
	if (c->one && n > 1)
		return error_set(e, EINVAL, "takes one recording; pmrep merge joins several");
	return c->output || c->names_itself ?
		       0 :
		       error_set(e, EINVAL, "no output given; -o FILE names it, -o - is stdout");
}

bool cmd_copy_is_directory(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Whoever gets the output must not get the map with it. */
int cmd_copy_map(const struct cmd_copy *c, const char *map, struct error *e)
{
	const char *slash = map ? strrchr(map, '/') : NULL;
	SCOPED(scoped_free) char *folder = NULL;

	if (!map || !c->output)
		return 0;
	if (!strcmp(map, c->output) || outfile_is_among(map, (char *const *)&c->output, 1))
		return error_set(e, EINVAL, "the map cannot be the output: it undoes the redaction");
	folder = slash ? memory_format("%.*s", (int)(slash - map) + 1, map) : memory_text(".");
	return cmd_copy_is_directory(c->output) && outfile_is_among(folder, (char *const *)&c->output, 1) ?
		       error_set(e, EINVAL, "the map is among the outputs, and would be shared with them") :
		       0;
}

int cmd_copy_open(const struct cmd_copy *c, unsigned flags, struct outfile *out, struct error *e)
{
	return outfile_open(out, c->output, c->overwrite | OUTFILE_BINARY | flags, c->files.path, (size_t)c->files.n,
			    e);
}

int cmd_copied(const char *command, const char *what, const struct rewrite_result *result)
{
	if (result->newer)
		cmd_complain(command, "%s: parts newer than this program were not copied; pmrep check lists them",
			     what);
	if (result->damages)
		cmd_complain(command, "%s: damaged or cut; what is readable was copied, and gaps are marked", what);
	return result->damages ? EXIT_DAMAGED : EXIT_GOOD;
}
