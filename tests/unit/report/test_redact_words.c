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

/* With a number for each "%s" and "%llu", whose letters are no words. */
static void strip_formats(char *text)
{
	for (char *p = text; (p = strchr(p, '%'));) {
		*p++ = '0';
		while (*p && strchr("-+ #.*0123456789lhzj", *p))
			*p++ = '0';
		if (*p)
			*p++ = '0';
	}
}

/* The literals of a statement; returns how many of them are not plain. */
static unsigned check_statement(const struct redact *r, const char *file, const char *p)
{
	unsigned bad = 0;

	for (; *p && *p != ';'; p++) {
		char text[512] = "0";
		size_t n;

		if (*p != '"')
			continue;
		/* Something stands before "/info". */
		for (n = *++p == '/'; *p && *p != '"' && n + 1 < sizeof(text); p++)
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
	static const char *const calls[] = { "plan_refused(", "snprintf(hint, ", "plan_note(" };
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

/* A text stays if each of its words is one of those that everybody has: whose machine or file it is about is not. */
static void names_in_sentences_are_not_plain(void **state)
{
	static const char *const plain[] = { "cannot open /proc/stat",
					     "/sys/devices/system/cpu/cpu17/cpufreq",
					     "at 10ms, 0x1a2f of 64 counters",
					     "cpu0: 3 of 8 are in use",
					     "CPU17",
					     "/dev/cpu/0/msr",
					     "temp1 of hwmon3",
					     "/proc: processes of other users",
					     "nvme0n1p3",
					     "dm-0",
					     "lo",
					     "x86_64",
					     "L1-dcache-load-misses",
					     "the limit is 1,024 (ulimit -Hn 4096)",
					     "",
					     "-",
					     "10 / 20",
					     "/",
					     "see /etc/os-release",
					     "msr.0x1b1",
					     "power/energy-pkg/",
					     "2.5 s" };
	static const char *const named[] = {
		"cannot open /home/u42x",
		"cannot open /home/u4",
		"cannot open /home/intel",
		"cannot open /srv/data/1",
		"cannot open '/root/core'",
		"file=/tmp/load",
		"--output=~/load",
		"~root/load",
		"a //srv/data",
		"/sys/class/net/u42x/speed",
		"/sys/class/net/jd/speed",
		"/proc/4711/stat",
		"the job of u42x",
		"u42x",
		"jd",
		"j4d",
		"cpu0 of x1y2z3",
		"asked by J. D.",
		"a1b2c3d4e5f6",
		"host\xc3\xa9",
		"\xc3\xa9",
		"cpu0 and q7",
		"temp1b2",
		"0xzz",
		"u0x1f",
		"0x1fu42",
		"1e9q",
		"(/opt/load)",
		"cpu,/home/cpu",
		"the marmalade",
		"the_marmalade_of_cpu",
		"cpu_u42x",
		"u42x.cpu",
		"user@cpu.jd",
		"cpucpucpucpucpucpucpucpucpucpucpucpu",
	};
	struct redact_options options = { 0 };
	struct error e = { 0 };
	struct redact *r;
	(void)state;

	assert_int_equal(redact_new(&r, &options, &e), 0);
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		if (!redact_is_plain(r, plain[i]))
			fail_msg("\"%s\" is not plain", plain[i]);
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (redact_is_plain(r, named[i]))
			fail_msg("\"%s\" is plain", named[i]);
	redact_free(r);
}

/* What becomes of `text`; NULL: nothing. */
static char *scrubbed(const struct secrets *s, const char *text, bool weak_too)
{
	char *copy = strdup(text);
	size_t len = strlen(text);
	int n = secrets_scrub(s, &copy, &len, weak_too);

	assert_in_range(n, 0, 1);
	assert_int_equal(len, strlen(copy));
	if (n)
		return copy;
	assert_string_equal(copy, text);
	free(copy);
	return NULL;
}

/* A part of a command line is found as a word, and a name anywhere. */
static void parts_are_found_as_words(void **state)
{
	static const char *const inside[] = { "xlazy", "lazyz", "alazy",        "zlazy",      "lazya", "lazy9",
					      "0lazy", "Zlazy", "lazy\xc3\xa9", "pglazyfree", "laz",   "" };
	static const char *const word[][2] = {
		{ "lazy", "gone" },     { "LAZY", "gone" },     { "-lazy-", "-gone-" },
		{ "a lazy", "a gone" }, { "lazy z", "gone z" }, { "lazy,lazy", "gone,gone" },
		{ "{lazy@", "{gone@" }, { "`lazy[", "`gone[" }, { "lazyx lazy", "lazyx gone" }
	};
	struct secrets s = { 0 };

	assert_int_equal(secrets_add(&s, "lazy", 4, "gone", true), 0);
	assert_int_equal(secrets_add(&s, "alpha", 5, "host-1", false), 0);
	assert_int_equal(secrets_add(&s, "alphabet", 8, "host-2", false), 0);
	assert_int_equal(secrets_add(&s, "ab", 2, "short", false), 0);
	assert_int_equal(secrets_sort(&s), 0);
	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		assert_null(scrubbed(&s, inside[i], true));
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); i++) {
		char *text = scrubbed(&s, word[i][0], true);

		assert_string_equal(text, word[i][1]);
		free(text);
		assert_null(scrubbed(&s, word[i][0], false));
	}
	/* The longest of those that begin there, whatever stands around it. */
	char *text = scrubbed(&s, "xALPHAbetALPHAb lazy ab", false);

	assert_string_equal(text, "xhost-2host-1b lazy ab");
	free(text);
	secrets_release(&s);
}

/* A name that is also a part of something is a name. */
static void a_name_stays_a_name(void **state)
{
	struct secrets s = { 0 };
	char *text;

	assert_int_equal(secrets_add(&s, "node", 4, "redacted", true), 0);
	assert_int_equal(secrets_add(&s, "Node", 4, "host-1", false), 0);
	assert_int_equal(secrets_add(&s, "node", 4, "redacted", true), 0);
	assert_int_equal(secrets_sort(&s), 0);
	text = scrubbed(&s, "xnodex", false);
	assert_string_equal(text, "xredactedx");
	free(text);
	secrets_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_recorder_says_is_plain),
		cmocka_unit_test(names_in_sentences_are_not_plain),
		cmocka_unit_test(parts_are_found_as_words),
		cmocka_unit_test(a_name_stays_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
