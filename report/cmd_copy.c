#include "report/cmd_copy.h"

#include <errno.h>

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
