/* Replaces cmd_vendor.c in builds without JSON. */
#include <errno.h>

#include "record/commands.h"

int cmd_vendor(int argc, char **argv)
{
	struct error e = { 0 };

	(void)argc, (void)argv;
	error_set(&e, ENOTSUP, "this is the minimal pmrec, which cannot import vendor events");
	return command_failed(&e);
}
