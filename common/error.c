#include "common/error.h"

#include <stdio.h>
#include <string.h>

/* With newlines, one message would look like two. */
static void flatten(char *text)
{
	for (; *text; text++)
		if (*text == '\n' || *text == '\r')
			*text = ' ';
}

static void print(struct error *e, int number, const char *format, va_list ap)
{
	e->number = number;
	vsnprintf(e->text, sizeof(e->text), format, ap);
	flatten(e->text);
}

/* Appends ": " and the text. */
static void append(struct error *e, const char *text)
{
	size_t len = strlen(e->text);

	snprintf(e->text + len, sizeof(e->text) - len, ": %s", text);
	flatten(e->text + len);
}

int error_set(struct error *e, int number, const char *format, ...)
{
	va_list ap;

	if (!e)
		return -number;
	va_start(ap, format);
	print(e, number, format, ap);
	va_end(ap);
	return -number;
}

int error_sys(struct error *e, int number, const char *format, ...)
{
	char reason[80];
	va_list ap;

	if (!e)
		return -number;
	va_start(ap, format);
	print(e, number, format, ap);
	va_end(ap);
	append(e, strerror_r(number, reason, sizeof(reason)));
	return -number;
}

int error_prefix(struct error *e, const char *format, ...)
{
	char old[sizeof(e->text)];
	va_list ap;

	if (!e)
		return 0;
	memcpy(old, e->text, sizeof(old));
	va_start(ap, format);
	print(e, e->number, format, ap);
	va_end(ap);
	append(e, old);
	return -e->number;
}
