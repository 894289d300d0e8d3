/* The recorder's own sentences about what it could not record are plain words: pmrep redact hides others. */
#include <ctype.h>
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/buf.h"
#include "report/copy/redact_private.h"

static void read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "r");
	char block[4096];
	size_t n;

	assert_non_null(f);
	while ((n = fread(block, 1, sizeof(block), f)) > 0)
		buf_add(out, block, n);
	fclose(f);
}

/* Without "%s" and "%llu", whose letters are no words. */
static void strip_formats(char *text)
{
	for (char *p = text; (p = strchr(p, '%'));) {
		*p++ = ' ';
		while (*p && strchr("-+ #.*0123456789lhzj", *p))
			*p++ = ' ';
		if (*p)
			*p++ = ' ';
	}
}

/* The literals of a statement; returns how many of them are not plain. */
static unsigned check_statement(const struct redact *r, const char *file, const char *p)
{
	unsigned bad = 0;

	for (; *p && *p != ';'; p++) {
		char text[512];
		size_t n = 0;

		if (*p != '"')
			continue;
		for (p++; *p && *p != '"' && n + 1 < sizeof(text); p++)
			if (*p == '\\' && p[1])
				p++;
			else
				text[n++] = *p;
		text[n] = '\0';
		strip_formats(text);
		if (!redact_is_plain(r, text)) {
			print_error("%s: \"%s\" has words that redact_words.c lacks\n", file, text);
			bad++;
		}
	}
	return bad;
}

struct reading {
	const struct redact *r;
	unsigned bad, seen;
};

static void check_file(struct reading *reading, const char *path)
{
	static const char *const calls[] = { "plan_refused(", "snprintf(hint, " };
	struct buf text = BUF_INIT;

	read_file(path, &text);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (const char *p = buf_str(&text); (p = strstr(p, calls[i]));
		     p += strlen(calls[i]), reading->seen++)
			reading->bad += check_statement(reading->r, path, p);
	buf_release(&text);
}

static void check_folder(struct reading *reading, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		size_t n = strlen(entry->d_name);
		char below[1024];

		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			check_folder(reading, below);
		else if (n > 2 && !strcmp(entry->d_name + n - 2, ".c"))
			check_file(reading, below);
	}
	closedir(dir);
}

static void what_the_recorder_says_is_plain(void **state)
{
	const char *source = getenv("PM_SOURCE");
	struct redact_options options = { 0 };
	struct reading reading = { 0 };
	struct error e = { 0 };
	struct redact *r;
	char path[600];
	(void)state;

	assert_int_equal(redact_new(&r, &options, &e), 0);
	/* It can tell. */
	assert_false(redact_is_plain(r, "the marmalade of the kernel"));
	reading.r = r;
	snprintf(path, sizeof(path), "%s/record", source ? source : PM_SOURCE_DIR);
	check_folder(&reading, path);
	redact_free(r);
	assert_true(reading.seen > 30);
	assert_int_equal(reading.bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_recorder_says_is_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
