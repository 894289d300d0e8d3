/* Explains what is wrong with a tracepoint filter; the kernel only returns a number. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "record/perf/perf_source.h"

#define FIELDS_MAX 64

struct fields {
	struct buf text;
	const char *name[FIELDS_MAX];
	size_t n, own; /* the first `own` belong to this tracepoint; all have the others */
};

/* "\tfield:pid_t prev_pid;\toffset:24;...": the last word before the semicolon, without an array's length. */
static void take_fields(struct fields *f, bool common)
{
	for (char *at = (char *)buf_str(&f->text); (at = strstr(at, "field:"));) {
		char *end = strchr(at, ';'), *bracket = end, *name;
		size_t len;

		if (!end || f->n == FIELDS_MAX)
			break;
		for (char *c = at; c < end && bracket == end; c++)
			if (*c == '[' && c[-1] != ' ')
				bracket = c;
		name = bracket;
		while (name > at && (isalnum((unsigned char)name[-1]) || name[-1] == '_'))
			name--;
		len = (size_t)(bracket - name);
		at = end;
		if (len && !strncmp(name, "common_", 7) == common && (f->name[f->n] = strndup(name, len)))
			f->n++;
	}
	if (!common)
		f->own = f->n;
}

static int read_fields(struct fields *f, const struct root *root, const char *event)
{
	static const char *const places[] = { "/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events" };
	const char *colon = strchr(event, ':');
	ssize_t size = -ENOENT;

	for (size_t i = 0; colon && i < sizeof(places) / sizeof(places[0]) && size < 0; i++)
		size = root_read(root, &f->text, 1 << 16, "%s/%.*s/%.*s/format", places[i], (int)(colon - event),
				 event, (int)strcspn(colon + 1, "/:"), colon + 1);
	if (size < 0)
		return (int)size;
	take_fields(f, false);
	take_fields(f, true);
	return 0;
}

/* Finds the first word in a field's place that is not a field; false: there is none. */
static bool unknown_field(const struct fields *f, const char *filter, char *word, size_t size)
{
	const char *at = filter;

	while (*at) {
		size_t len = 0, known = 0;

		if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);

			at = end ? end + 1 : at + strlen(at);
			continue;
		}
		while (isalnum((unsigned char)at[len]) || at[len] == '_')
			len++;
		if (!len) {
			/* The value compared with may be any word. */
			if (strchr("=<>!~&", *at) && strncmp(at, "&&", 2)) {
				at += strspn(at, "=<>!~& \t");
				if (*at != '"' && *at != '\'')
					at += strcspn(at, " \t)&|");
			} else {
				at += strncmp(at, "&&", 2) ? 1 : 2;
			}
			continue;
		}
		while (known < f->n && (strncmp(f->name[known], at, len) || f->name[known][len]))
			known++;
		if (known == f->n) {
			snprintf(word, size, "%.*s", (int)len, at);
			return true;
		}
		at += len;
	}
	return false;
}

int perf_filter_failed(const struct root *root, const char *event, const char *filter, int number, struct error *e)
{
	struct fields f = { .text = BUF_INIT };
	SCOPED(buf_release) struct buf names = BUF_INIT;
	const char *near = NULL;
	char word[64];

	if (number == EPERM || number == EACCES || read_fields(&f, root, event)) {
		error_sys(e, number, "--filter '%.100s' of %.100s", filter, event);
	} else {
		for (size_t i = 0; i < f.own; i++)
			buf_printf(&names, "%s%s", i ? ", " : "", f.name[i]);
		if (!unknown_field(&f, filter, word, sizeof(word)))
			error_set(e, number,
				  "--filter '%.60s' of %.60s: the kernel does not understand it; write FIELD "
				  "OPERATOR VALUE, joined by && and ||, with the fields %.180s",
				  filter, event, buf_str(&names));
		else if ((near = options_nearest(word, f.name, f.n)))
			error_set(e, number, "--filter '%.60s' of %.60s: there is no field '%s'; did you mean '%s'?",
				  filter, event, word, near);
		else
			error_set(e, number,
				  "--filter '%.60s' of %.60s: there is no field '%s'; the fields are "
				  "%.180s",
				  filter, event, word, buf_str(&names));
	}
	for (size_t i = 0; i < f.n; i++)
		free((char *)(uintptr_t)f.name[i]);
	buf_release(&f.text);
	return -number;
}
