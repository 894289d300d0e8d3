#include "common/memory.h"

#include <stdbool.h>
#include <stdio.h>

static int end_status = EXIT_FAILURE;
static const char *(*end_hint)(char hint[80]);

void memory_ends_with(int status, const char *(*hint)(char hint[80]))
{
	end_status = status;
	end_hint = hint;
}

void memory_ends(int err)
{
	char hint[80];
	bool memory = err == ENOMEM;

	fprintf(stderr, "%s: %s%s\n", program_invocation_short_name, memory ? "out of memory" : strerror(err),
		memory && end_hint ? end_hint(hint) : "");
	exit(end_status);
}

char *memory_vformat(const char *format, va_list ap)
{
	char *text;

	if (vasprintf(&text, format, ap) < 0)
		memory_ends(ENOMEM);
	return text;
}

char *memory_format(const char *format, ...)
{
	va_list ap;
	char *text;

	va_start(ap, format);
	text = memory_vformat(format, ap);
	va_end(ap);
	return text;
}
