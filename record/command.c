/* What all commands of pmrec do at their edges. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "record/commands.h"

int command_failed(const struct error *e)
{
	fprintf(stderr, "pmrec: %s\n", e->text);
	return EXIT_OWN;
}

unsigned command_width(void)
{
	struct winsize w;

	return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) ? w.ws_col : 0;
}
