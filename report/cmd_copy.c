#include "report/cmd_copy.h"

error_t cmd_copy_option(int key, char *arg, struct argp_state *state, struct cmd_copy *c)
{
	switch (key) {
	case 'o':
		c->output = arg;
		return 0;
	case CMD_KEY_OVERWRITE:
		c->overwrite = OUTFILE_OVERWRITE;
		return 0;
	case ARGP_KEY_END:
		if (c->one && c->files.n > 1)
			return options_bad(state, "one recording at a time; pmrep merge joins several");
		return c->output || c->names_itself ?
			       0 :
			       options_bad(state, "no output given; -o FILE names it, -o - is stdout");
	}
	return cmd_files(key, state, &c->files);
}

error_t cmd_redact_option(int key, char *arg, struct redact_options *o)
{
	switch (key) {
	case CMD_KEY_MAP:
		o->map = arg;
		return 0;
	case CMD_KEY_SHIFT:
		o->shift_time = true;
		return 0;
	case CMD_KEY_KEEP:
		o->keep = arg;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int cmd_copy_open(const struct cmd_copy *c, struct outfile *out, struct error *e)
{
	return outfile_open(out, c->output, c->overwrite | OUTFILE_BINARY, c->files.path, (size_t)c->files.n, e);
}

int cmd_copied(const char *command, const char *what, const struct rewrite_result *result)
{
	if (result->newer)
		cmd_complain(command, "%s: what is newer than this program was not copied; pmrep check lists it",
			     what);
	if (result->damages)
		cmd_complain(command, "%s: damaged or cut; what is readable was copied, the gaps are marked", what);
	return result->damages ? EXIT_DAMAGED : EXIT_GOOD;
}
