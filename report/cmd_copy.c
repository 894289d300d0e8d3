#include "report/cmd_copy.h"

error_t cmd_copy_files(int key, char *arg, struct argp_state *state)
{
	const struct cmd_copy *c = state->input;

	if (key != ARGP_KEY_END)
		return cmd_files(key, arg, state);
	if (c->one && c->files.n > 1)
		return options_bad(state, "takes one recording; pmrep merge joins several");
	return c->output || c->names_itself ? 0 :
					      options_bad(state, "no output given; -o FILE names it, -o - is stdout");
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
