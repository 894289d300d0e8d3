#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* Newlines would let one message look like two. */
static void flatten(char *text)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\r')
			*text = ' ';
}

int error_set(struct error *e, int number, const char *format, ...)
{
	va_list ap;

	if (!e)
		return -number;
	e->number = number;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	flatten(e->text);
	return -number;
}

int error_sys(struct error *e, int number, const char *format, ...)
{
	char reason[80];
	va_list ap;
	size_t len;

	if (!e)
		return -number;
	e->number = number;
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", strerror_r(number, reason, sizeof(reason)));
	flatten(e->text);
	return -number;
}

int error_prefix(struct error *e, const char *format, ...)
{
	char old[sizeof(e->text)];
	va_list ap;
	size_t len;

	if (!e)
		return 0;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, format);
	vsnprintf(e->text, sizeof(e->text), format, ap);
	va_end(ap);
	len = strlen(e->text);
	snprintf(e->text + len, sizeof(e->text) - len, ": %s", old);
	flatten(e->text);
	return -e->number;
}
