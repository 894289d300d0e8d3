/* pmrec mark: puts a marker into the recording that runs here. */
#include <errno.h>

#include "common/options_table.h"
#include "record/commands.h"
#include "record/marksocket.h"

static const struct option_action rows[] = { { 0 } };

static error_t take_text(int key, char *arg, struct argp_state *state)
{
	char **text = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num > 0)
			return options_bad(state, "mark takes one TEXT; put quotes around it");
		*text = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		return options_bad(state, "no text given; usage: pmrec mark TEXT");
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct options_spec spec = {
	.name = "pmrec mark",
	.rows = rows,
	.operands = take_text,
	.operands_doc = "TEXT",
	.brief = "Usage: pmrec mark TEXT\n\nPut a marker into every recording that you are making now.\n",
};

int cmd_mark(int argc, char **argv)
{
	struct options_common common = { 0 };
	struct error e = { 0 };
	struct buf line = BUF_INIT;
	char *text = NULL;
	int code = command_options(&spec, argc, argv, &text, &common), n;

	if (code < 0) {
		buf_printf(&line, "mark %s", text);
		n = marksocket_say(0, buf_str(&line), NULL, NULL, 0, &e);
		if (n == 0)
			error_set(&e, ESRCH, "you are not making a recording now");
		code = n > 0 ? 0 : command_failed(&e);
	}
	buf_release(&line);
	options_common_release(&common);
	return code;
}
