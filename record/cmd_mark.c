/* pmrec mark: puts a marker into running recordings. */
#include <errno.h>

#include "common/options_table.h"
#include "record/commands.h"
#include "record/marksocket.h"

static const struct option_row rows[] = { { 0 } };

static int take_text(void *into, int n, char **operand, struct error *e)
{
	char **text = into;

	*text = operand[0];
	return n == 1 ? 0 : error_set(e, EINVAL, "mark takes one TEXT, in quotes: pmrec mark 'TEXT'");
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
	SCOPED(options_common_release) struct options_common common = { 0 };
	struct error e = { 0 };
	SCOPED(buf_release) struct buf line = BUF_INIT;
	char *text = NULL;
	int code = command_options(&spec, argc, argv, &text, &common), n;

	if (code < 0) {
		buf_printf(&line, "mark %s", text);
		n = marksocket_say(0, buf_str(&line), NULL, NULL, 0, &e);
		if (n == 0)
			error_set(&e, ESRCH, "you are not making a recording now");
		code = n > 0 ? 0 : command_failed(&e);
	}
	return code;
}
