#include "report/input/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

#include "report/exit.h"

const char *memory_hint(char hint[80])
{
	struct rlimit limit;
	bool small;

	if (getrlimit(RLIMIT_DATA, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return "";
	small = limit.rlim_cur < 1 << 20;
	snprintf(hint, 80, "; the limit is %" PRIu64 " %s, --max-memory=SIZE raises it",
		 (uint64_t)limit.rlim_cur >> (small ? 10 : 20), small ? "KiB" : "MiB");
	return hint;
}

void memory_ends(void)
{
	char hint[80];

	fprintf(stderr, "%s: out of memory%s\n", program_invocation_short_name, memory_hint(hint));
	exit(EXIT_TROUBLE);
}

char *memory_vformat(const char *format, va_list ap)
{
	char *text;

	if (vasprintf(&text, format, ap) < 0)
		memory_ends();
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
