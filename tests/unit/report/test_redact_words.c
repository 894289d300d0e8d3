/* The recorder's own sentences about what it could not record are plain words: pmrep redact hides others. */
#include <ctype.h>
#include <dirent.h>

#include "common/buf.h"
#include "report/copy/redact_private.h"
#include "tests/unit/lib/test.h"

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

/* ---- names ---- */

static struct redact *new_redact(const char *keep)
{
	struct redact_options options = { .keep = keep };
	struct error e = { 0 };
	struct redact *r;

	assert_int_equal(redact_new(&r, &options, &e), 0);
	return r;
}

/* Events that the kernel, a PMU of the recording or a register has, with modifiers and terms, and not those of a user. */
static void events_are_told_from_names(void **state)
{
	static const char *const known[] = {
		"cycles",
		"cpu-clock",
		"zqunit_read",
		"cycles:u",
		"zqunit_read:uk",
		"cycles#2",
		"zqunit_read#13",
		"L1-dcache-load-misses",
		"L1-dcache-load-misses:ppp",
		"r1a2B",
		"r0",
		"zqpmu",
		"zqpmu/event=0x3c,umask=7/",
		"zqpmu/event=60,name=cycles/",
		"zqpmu/x,cpu='zqpmu'/",
		"",
	};
	static const char *const named[] = {
		"zqother",
		"zqother:u",
		"zqunit_read:z",
		"zqunit_read:zu",
		"cycles#zq",
		"cycles#2z",
		"rg1",
		"r1g",
		"zqother/event=1/",
		"zqpmu/name=zqmine/",
		"zqpmu/event=1,metric-id=zqmine/",
		"zqpmu/a='zq mine'/",
		"zqpmu/a=1,b=\"zq/mine\"/",
		"zqunit_reads",
		"zqunit_rea",
	};
	struct redact *r = new_redact(NULL);
	char large[260];

	(void)state;
	assert_int_equal(names_set(&r->events, "zqunit_read", 1) | names_set(&r->events, "zqpmu", 1), 0);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!redact_is_event(r, known[i]))
			fail_msg("\"%s\" is no event", known[i]);
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++)
		if (redact_is_event(r, named[i]))
			fail_msg("\"%s\" is an event", named[i]);
	/* 199 characters fit. */
	memset(large, '1', sizeof(large));
	large[0] = 'r';
	large[199] = '\0';
	assert_true(redact_is_event(r, large));
	large[199] = '1';
	large[200] = '\0';
	assert_false(redact_is_event(r, large));
	redact_free(r);
}

/* What --keep names; the rest of the classes 100 to 399 goes, and times stay unless they are shifted. */
static void what_is_kept(void **state)
{
	static const struct {
		const char *list;
		bool shift;
		const char *refused; /* a part of the error */
		bool host, bios, comm, wall, unknown;
	} cases[] = {
		{ NULL, false, NULL, false, false, false, true, false },
		{ "", true, NULL, false, false, false, false, false },
		{ "machine", true, NULL, true, true, false, false, false },
		{ "bios,comm", false, NULL, false, true, true, true, false },
		{ "person", false, NULL, false, false, true, true, true },
		{ "time", false, NULL, false, false, false, true, false },
		{ "person,machine,time", false, NULL, true, true, true, true, true },
		{ "time", true, "contradict each other", false, false, false, false, false },
		{ "zqfield", false, "'zqfield' is neither machine", false, false, false, false, false },
		{ "bios,machin", false, "'machin' is neither", false, false, false, false, false },
		{ "kernel", false, "'kernel' is neither", false, false, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct redact_options options = { .keep = cases[i].list, .shift_time = cases[i].shift };
		struct error e = { 0 };
		struct redact *r;
		int err = redact_new(&r, &options, &e);

		if (cases[i].refused) {
			assert_int_equal(err, -EINVAL);
			assert_non_null(strstr(e.text, cases[i].refused));
			continue;
		}
		assert_int_equal(err, 0);
		assert_int_equal(redact_keeps(r, PM_HEADER_HOST, "host"), cases[i].host);
		assert_int_equal(redact_keeps(r, PM_HEADER_BIOS, "bios"), cases[i].bios);
		assert_int_equal(redact_keeps(r, PM_INSTANCE_COMM, "comm"), cases[i].comm);
		assert_int_equal(redact_keeps(r, 350, NULL), cases[i].wall);
		assert_int_equal(redact_keeps(r, 450, NULL), cases[i].unknown);
		assert_true(redact_keeps(r, PM_HEADER_KERNEL, "kernel"));
		redact_free(r);
	}
}

static void pseudonyms_are_told(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "host-0123abcd", true },     { "a-00000000", true },
		{ "z-ffffffff", true },        { "-0123abcd", false },
		{ "host-0123abc", false },     { "host-0123abcde", false },
		{ "host-0123abcg", false },    { "Host-0123abcd", false },
		{ "ho1st-0123abcd", false },   { "h{st-0123abcd", false },
		{ "h`st-0123abcd", false },    { "host0123abcd", false },
		{ "my-host-0123abcd", false }, { "", false },
	};
	struct redact *r = new_redact(NULL);
	const char *name;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (redact_is_pseudonym(cases[i].text) != cases[i].is)
			fail_msg("%s: %d", cases[i].text, !cases[i].is);
	/* One of the same kind stays; each name is counted once. */
	assert_string_equal(redact_name(r, "host", "host-0123abcd"), "host-0123abcd");
	assert_int_equal(redact_counts(r).pseudonyms, 0);
	name = redact_name(r, "task", "host-0123abcd");
	assert_true(redact_is_pseudonym(name) && !strncmp(name, "task-", 5));
	assert_string_equal(redact_name(r, "task", "host-0123abcd"), name);
	assert_string_not_equal(redact_name(r, "host", "zqsh"), redact_name(r, "task", "zqsh"));
	assert_int_equal(redact_counts(r).pseudonyms, 3);
	redact_free(r);
}

UNIT_TESTS(cmocka_unit_test(what_the_recorder_says_is_plain), cmocka_unit_test(events_are_told_from_names),
	   cmocka_unit_test(what_is_kept), cmocka_unit_test(pseudonyms_are_told))
