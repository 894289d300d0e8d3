/* Which names are a user's, which fields stay, and what is a pseudonym. */
#include "report/copy/redact_private.h"
#include "tests/unit/lib/test.h"

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

UNIT_TESTS(cmocka_unit_test(events_are_told_from_names), cmocka_unit_test(what_is_kept),
	   cmocka_unit_test(pseudonyms_are_told))
