/* What all commands of pmrec share. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/table.h"
#include "record/commands.h"

int command_failed(const struct error *e)
{
	fprintf(stderr, "pmrec: %s\n", e->text);
	return EXIT_OWN;
}

int command_options(const struct options_spec *spec, int argc, char **argv, void *input,
		    struct options_common *common)
{
	struct error e = { 0 };
	int err = options_parse(spec, argc, argv, input, common, &e);

	if (err == 1)
		fputs(buf_str(&common->text), stdout);
	return !err ? -1 : err < 0 ? command_failed(&e) : 0;
}

unsigned command_width(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_col : 0;
}

void command_print(struct table *t, const struct options_common *common)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;

	table_print(t, command_width(), true, options_use_color(common, STDOUT_FILENO), &text);
	fputs(buf_str(&text), stdout);
	table_free(t);
}
