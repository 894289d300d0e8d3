/* The recorder's own sentences about what it could not record are plain words: pmrep redact hides others. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
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

static void addresses_have_many_digits(void **state)
{
	static const struct {
		const char *name;
		bool address;
	} cases[] = {
		{ "", false },
		{ "eth0", false },
		{ "nvme0n1p3", false },
		{ "12345", false },
		{ "123456", true },
		{ "12345678", true },
		{ "a123bc", true },
		{ "a1b2cd", false },
		{ "a12bc", false },
		{ "abcdef", false },
		{ "1a2b3c", true },
		{ "1a2bgc3", false },
		{ "1-2-3-4-5-6-7", false },
		{ "1-2-3-4-5-6-7-8", true },
		{ "z00:1f.2", false },
		{ "0000:00", true },
		{ "A1:2F:3", true },
		{ "g123abg", false },
		{ "x12-34-56y7z", false },
		{ "F00D12", true },
		{ "00:1a:2b", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (redact_has_address(cases[i].name) != cases[i].address)
			fail_msg("%s: %d", cases[i].name, !cases[i].address);
}

/* Tasks and cgroups are named by users, devices by hardware or by people; what has numbers only keeps them. */
static void instances_are_named_by_kind(void **state)
{
	static const struct {
		const char *keep;
		enum pm_kind kind;
		const char *name, *as;
	} cases[] = {
		{ NULL, PM_TASK, "zqsh", "task" },
		{ NULL, PM_TASK, "task-17", NULL },
		{ NULL, PM_TASK, "task-", "task" },
		{ NULL, PM_TASK, "task-1x", "task" },
		{ NULL, PM_TASK, "task", "task" },
		{ NULL, PM_TASK, "", NULL },
		{ "comm", PM_TASK, "zqsh", NULL },
		{ "person", PM_TASK, "zqsh", NULL },
		{ "cgroup", PM_TASK, "zqsh", "task" },
		{ NULL, PM_CGROUP, "/zq.slice", "cgroup" },
		{ NULL, PM_CGROUP, "cgroup-9", NULL },
		{ NULL, PM_CGROUP, "task-9", "cgroup" },
		{ "cgroup", PM_CGROUP, "/zq.slice", NULL },
		{ "comm", PM_CGROUP, "/zq.slice", "cgroup" },
		{ NULL, PM_DEVICE, "nvme0n1", NULL },
		{ NULL, PM_DEVICE, "zqdisk", "device" },
		{ NULL, PM_DEVICE, "dm-12345678", "device" },
		{ "devices", PM_DEVICE, "zqdisk", NULL },
		{ "machine", PM_DEVICE, "zqdisk", NULL },
		{ "comm", PM_DEVICE, "zqdisk", "device" },
		{ NULL, PM_PACKAGE, "zqpackage", NULL },
		{ NULL, PM_PMU, "zqpmu", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pm_instance one = { .kind = cases[i].kind };
		struct redact *r = new_redact(cases[i].keep);
		const char *kind;

		assert_int_equal(pm_map_set(&one.attrs, PM_INSTANCE_NAME, pm_text(cases[i].name)), 0);
		kind = redact_instance_kind(r, &one);
		if ((kind != NULL) != (cases[i].as != NULL) || (kind && strcmp(kind, cases[i].as) != 0))
			fail_msg("%zu, %s: %s", i, cases[i].name, kind ? kind : "-");
		pm_map_release(&one.attrs);
		redact_free(r);
	}
}

static void counters_are_named_by_source(void **state)
{
	static const struct {
		const char *source, *name, *as;
		bool added;
	} cases[] = {
		{ "perf", "cycles", NULL, false },
		{ "perf", "zqevent", "event", false },
		{ "perf", "M0x1a", "event", false },
		{ "add", "add.M0x1a0", NULL, false },
		{ "add", "add.m0XaF", NULL, false },
		{ "add", "add.M0x", "counter", false },
		{ "add", "add.M0x1g", "counter", false },
		{ "add", "add.M1x1", "counter", false },
		{ "add", "add.M0y1", "counter", false },
		{ "add", "add.zqmine", "counter", false },
		{ "add", "add.temp1", NULL, false },
		{ "add", "M0x1a0", NULL, false },
		{ "pmt", "zqmine", "counter", true },
		{ "pmt", "zqmine", NULL, false },
		{ "msr", "msr.zq", NULL, false },
		{ "msr", "msr.zq", "counter", true },
		{ "stat", "stat.user", NULL, false },
		{ "stat", "stat.zquser", "counter", false },
		{ "cpuidle", "cpuidle.time.zq", NULL, false },
		{ "interrupts", "interrupts.24", NULL, false },
		{ "zqsource", "zqsource.x", "counter", false },
		{ "zqsource", "temp1", NULL, false },
	};
	struct redact *r = new_redact(NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pm_counter c = { .name = (char *)cases[i].name, .source = (char *)cases[i].source };
		const char *kind;

		if (cases[i].added)
			assert_int_equal(pm_map_set(&c.attrs, PM_COUNTER_ADDED, pm_text("cpu")), 0);
		kind = redact_counter_kind(r, &c);
		if ((kind != NULL) != (cases[i].as != NULL) || (kind && strcmp(kind, cases[i].as) != 0))
			fail_msg("%s %s: %s", cases[i].source, cases[i].name, kind ? kind : "-");
		pm_map_release(&c.attrs);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_recorder_says_is_plain),
		cmocka_unit_test(names_in_sentences_are_not_plain),
		cmocka_unit_test(parts_are_found_as_words),
		cmocka_unit_test(a_name_stays_a_name),
		cmocka_unit_test(events_are_told_from_names),
		cmocka_unit_test(addresses_have_many_digits),
		cmocka_unit_test(instances_are_named_by_kind),
		cmocka_unit_test(counters_are_named_by_source),
		cmocka_unit_test(what_is_kept),
		cmocka_unit_test(pseudonyms_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
