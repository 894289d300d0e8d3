/* Sentences about incidents, their times and numbers: one of each form. */
#include "report/incident/incident_private.h"
#include "tests/unit/lib/test.h"

static void test_numbers(void **state)
{
	static const struct {
		double v;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1e-10, "0" },
		{ 0.0311, "0.031" },
		{ 0.999, "1" },
		{ 1.234, "1.23" },
		{ 68.2, "68.2" },
		{ -2.5, "-2.5" },
		{ 999.4, "999" },
		{ 999.5, "1,000" },
		{ 999.6, "1,000" },
		{ 1835, "1,835" },
		{ -1835, "-1,835" },
		{ 123456, "123,456" },
		{ 9999999, "9,999,999" },
		{ 1e7, "10 M" },
		{ -2.5e7, "-25 M" },
		{ 9.994e8, "999 M" },
		{ 9.996e8, "1 G" },
		{ 1e9, "1 G" },
		{ 9.996e11, "1 T" },
		{ 1.5e12, "1.5 T" },
		{ 9.996e14, "1 P" },
		{ 1e15, "1 P" },
		{ 9.996e17, "1000 P" },
		{ 1.2e19, "12000 P" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct buf b = BUF_INIT;

		incident_put_number(&b, cases[i].v);
		assert_string_equal(buf_str(&b), cases[i].text);
		buf_release(&b);
	}
}

static void test_times(void **state)
{
	static const struct {
		enum incident_kind kind;
		double from_s, to_s, bin_s;
		const char *text;
	} cases[] = {
		{ INCIDENT_STRETCH, 23, 28, 1, "+23 s for 5 s" },
		{ INCIDENT_STRETCH, 23, 23, 1, "+23 s" },
		{ INCIDENT_STRETCH, 23, 59.4, 1, "+23 s for 36 s" },
		{ INCIDENT_STRETCH, 23, 59.6, 1, "+23 s to the end" },
		{ INCIDENT_STRETCH, 0, 60, 1, "+0 s for 60 s" },
		{ INCIDENT_LOSS, 1, 1.05, 1, "+1.00 s for 0.05 s" },
		{ INCIDENT_STRETCH, 1, 1.5, 0.1, "+1.0 s for 0.5 s" },
		{ INCIDENT_STRETCH, 1, 1.5, 0.005, "+1.000 s for 0.500 s" },
		{ INCIDENT_DRIFT, 0, 60, 1, "throughout" },
		{ INCIDENT_PEER, 0, 60, 1, "throughout" },
		{ INCIDENT_RHYTHM, 3, 60, 1, "every 5 s" },
		{ INCIDENT_RHYTHM, 3, 60, 0.1, "every 5.0 s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct incidents all = { .bin_s = cases[i].bin_s, .duration_s = 60 };
		struct incident one = {
			.kind = cases[i].kind, .from_s = cases[i].from_s, .to_s = cases[i].to_s, .every_s = 5
		};
		struct buf b = BUF_INIT;

		incident_put_time(&all, &one, &b);
		assert_string_equal(buf_str(&b), cases[i].text);
		buf_release(&b);
	}
}

#define S(name, of, at, what, was, is) \
	{ \
		.metric = name, .display = name, .unit = of, .label = at, .device = "", .kind = what, \
		.package = PM_NONE, .cpu = PM_NONE, .usual = was, .value = is, .score = 1 \
	}

/* A sentence for each form. */
static void test_sentences(void **state)
{
	static const struct {
		enum incident_kind kind;
		struct incident_series series[8];
		uint32_t more; /* series that are not in it */
		const char *text;
	} cases[] = {
		/* clang-format off */
		{ 0, { S("util.user", "%", "", PM_SYSTEM, 10, 55) }, 0, "CPUs in user mode 55 % (usually 10 %)" },
		{ 0, { S("util.steal", "%", "", PM_SYSTEM, 0.2, 20) }, 0, "CPUs taken by the hypervisor 20 %" },
		{ 0, { S("util.user", "%", "", PM_SYSTEM, 0.9, 0.5) }, 0, "CPUs in user mode 0.5 % (usually 0.9 %)" },
		{ 0, { S("disk.busy", "%", "", PM_SYSTEM, 10, 55) }, 0, "disk busy 55 % (usually 10 %)" },
		{ 0, { S("ctxsw", "1/s", "", PM_SYSTEM, 1000, 2000) }, 0, "context switches x2 (2,000/s)" },
		{ 0, { S("ctxsw", "1/s", "", PM_SYSTEM, 1000, 1999) }, 0, "context switches 1,999/s (usually 1,000/s)" },
		{ 0, { S("ctxsw", "1/s", "", PM_SYSTEM, 100, 1040) }, 0, "context switches x10 (1,040/s)" },
		{ 0, { S("ctxsw", "1/s", "", PM_SYSTEM, 100, 354) }, 0, "context switches x3.5 (354/s)" },
		{ 0, { S("faults", "1/s", "", PM_SYSTEM, 1, 10000) }, 0, "page faults 10,000/s (usually 1/s)" },
		{ 0, { S("faults", "1/s", "", PM_SYSTEM, 0, 10000) }, 0, "page faults 10,000/s (usually 0)" },
		{ 0, { S("disk.out", "MB/s", "", PM_SYSTEM, 1, 346) }, 0, "written to disks x346 (346 MB/s)" },
		{ 0, { S("runq", "1", "", PM_SYSTEM, 1, 1.5) }, 0, "runnable tasks 1.5 (usually 1)" },
		{ 0, { S("zone.temp", "Cel", "", PM_SYSTEM, 50, 60) }, 0, "zone.temp 60 Cel (usually 50 Cel)" },
		{ 0, { S("x/s", "1/s", "", PM_SYSTEM, 10, 30) }, 0, "x x3 (30/s)" },
		{ 0, { S("x%", "%", "", PM_SYSTEM, 10, 30) }, 0, "x 30 % (usually 10 %)" },
		{ 0, { S("%", "%", "", PM_SYSTEM, 10, 30) }, 0, "% 30 % (usually 10 %)" },
		{ 0, { S("softirq.timer", "1/s", "", PM_SYSTEM, 10, 30) }, 0, "soft interrupts for timer x3 (30/s)" },
		{ 0, { S("idle.c6.requests", "1/s", "", PM_SYSTEM, 10, 30) }, 0, "entries into c6 x3 (30/s)" },
		{ 0, { S("idle.duration", "us", "", PM_SYSTEM, 10, 30) }, 0, "idle.duration x3 (30 us)" },
		{ INCIDENT_DRIFT, { S("memory.available", "MB", "", PM_SYSTEM, 1000, 500) }, 0,
		  "available memory from 1.0 GB to 500 MB" },
		{ INCIDENT_PEER, { S("util", "%", "CPU 3", PM_CPU, 10, 90) }, 0, "CPU 3 busy 90 %, its peers 10 %" },
		/* What reads the same by its digits is told by the difference. */
		{ INCIDENT_DRIFT, { S("memory.available", "MB", "", PM_SYSTEM, 1260, 1310) }, 0,
		  "available memory rose by 50.0 MB to 1.3 GB" },
		{ INCIDENT_DRIFT, { S("memory.available", "MB", "", PM_SYSTEM, 1310, 1260) }, 0,
		  "available memory fell by 50.0 MB to 1.3 GB" },
		{ 0, { S("memory.available", "MB", "", PM_SYSTEM, 1260, 1310) }, 0,
		  "available memory +50.0 MB (usually 1.3 GB)" },
		{ 0, { S("faults", "1/s", "", PM_SYSTEM, 12340000, 12310000) }, 0,
		  "page faults -30,000/s (usually 12.3 M/s)" },
		{ 0, { S("runq", "1", "", PM_SYSTEM, 2, 2) }, 0, "runnable tasks 2 (usually 2)" },
		{ 0, { S("disk.busy", "%", "sda", PM_DEVICE, 5, 99) }, 0, "sda disk busy 99 % (usually 5 %)" },
		{ 0, { S("disk.busy", "%", "sda", PM_DEVICE, 5, 99), S("disk.reads", "1/s", "sda", PM_DEVICE, 5, 20) }, 0,
		  "sda disk busy 99 % (usually 5 %), reads x4 (20/s)" },
		{ 0, { S("disk.busy", "%", "sda", PM_DEVICE, 5, 99), S("disk.reads", "1/s", "sdb", PM_DEVICE, 5, 20) }, 0,
		  "sda disk busy 99 % (usually 5 %), sdb reads x4 (20/s)" },
		{ 0, { S("runq", "1", "", PM_SYSTEM, 1, 3), S("disk.reads", "1/s", "sdb", PM_DEVICE, 5, 20) }, 0,
		  "runnable tasks x3 (3), sdb reads x4 (20/s)" },
		/* Places of one metric. */
		{ 0, { S("util.user", "%", "CPU 1", PM_CPU, 10, 55), S("util.user", "%", "CPU 2", PM_CPU, 9, 54) }, 0,
		  "2 CPUs in user mode 55 % (usually 10 %)" },
		{ 0, { S("util.user", "%", "CPU 1", PM_CPU, 10, 55), S("util.user", "%", "CPU 2", PM_CPU, 9, 54) }, 1,
		  "2 CPUs at least in user mode 55 % (usually 10 %)" },
		{ 0, { S("util.user", "%", "CPU 1", PM_CPU, 10, 55), S("util.user", "%", "CPU 2", PM_CPU, 9, 54),
		       S("util.user", "%", "core 0", PM_CORE, 9, 53), S("util.user", "%", "core 1", PM_CORE, 9, 52) }, 0,
		  "4 places in user mode 55 % (usually 10 %)" },
		{ 0, { S("util.user", "%", "CPU 1", PM_CPU, 10, 55), S("util.user", "%", "CPU 2", PM_CPU, 9, 54),
		       S("util.user", "%", "", PM_SYSTEM, 9, 53) }, 0, "CPUs in user mode 53 % (usually 9 %)" },
		{ 0, { S("util.user", "%", "", PM_SYSTEM, 9, 53), S("util.user", "%", "CPU 1", PM_CPU, 10, 55) }, 0,
		  "CPU 1 in user mode 55 % (usually 10 %)" },
		{ 0, { S("util.user", "%", "CPU 1", PM_CPU, 10, 55), S("util.user", "%", "CPU 2", PM_CPU, 9, 54),
		       S("util.user", "%", "package 1", PM_PACKAGE, 8, 53) }, 0,
		  "package 1 in user mode 53 % (usually 8 %)" },
		/* Of what says the same only one, and names of the kernel only among the first. */
		{ 0, { S("memory.available", "MB", "", PM_SYSTEM, 1000, 500), S("memory.used", "MB", "", PM_SYSTEM, 1000, 1500) },
		  0, "available memory 500 MB (usually 1.0 GB)" },
		{ 0, { S("netdev.rx_dropped", "1/s", "eth0", PM_DEVICE, 0, 392), S("net.bad", "1/s", "eth0", PM_DEVICE, 0, 392) },
		  0, "eth0 received packets dropped 392/s (usually 0)" },
		{ 0, { S("throttled.core", "1/s", "", PM_SYSTEM, 0, 19), S("throttle.core", "1/s", "", PM_SYSTEM, 0, 201) },
		  0, "core throttling events 19/s (usually 0)" },
		{ 0, { S("a", "1", "", PM_SYSTEM, 1, 2), S("b", "1", "", PM_SYSTEM, 1, 2), S("softirq.c", "1", "", PM_SYSTEM, 1, 2),
		       S("softirq.d", "1", "", PM_SYSTEM, 1, 2) }, 0, "a x2 (2), b x2 (2), soft interrupts for c x2 (2), and 1 more metric" },
		{ 0, { S("a", "1", "", PM_SYSTEM, 1, 2), S("b", "1", "", PM_SYSTEM, 1, 2), S("c", "1", "", PM_SYSTEM, 1, 2),
		       S("d", "1", "", PM_SYSTEM, 1, 2), S("e", "1", "", PM_SYSTEM, 1, 2), S("f", "1", "", PM_SYSTEM, 1, 2),
		       S("g", "1", "", PM_SYSTEM, 1, 2) }, 0,
		  "a x2 (2), b x2 (2), c x2 (2), d x2 (2), e x2 (2), and 2 more metrics" },
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct incident_series series[8];
		struct incidents all = { 0 };
		struct incident one = { .kind = cases[i].kind, .series = series };

		memcpy(series, cases[i].series, sizeof(series));
		while (one.n_series < 8 && series[one.n_series].metric)
			one.n_series++;
		one.n_all = one.n_series + cases[i].more;
		say(&all, &one);
		assert_string_equal(one.text, cases[i].text);
		free(one.text);
	}
}

/* What somebody did comes before what comes of it; what is weak, or moved few bytes, is not taken for a cause. */
static void test_order(void **state)
{
	struct incident_series series[] = {
		S("softirq.rcu", "1/s", "", PM_SYSTEM, 1, 2),    S("pgfoo", "1/s", "", PM_SYSTEM, 1, 2),
		S("ctxsw", "1/s", "", PM_SYSTEM, 1, 2),          S("faults.major", "1/s", "", PM_SYSTEM, 1, 2),
		S("swap.out", "1/s", "", PM_SYSTEM, 1, 2),       S("disk.in", "MB/s", "", PM_SYSTEM, 0, 4),
		S("disk.out", "MB/s", "", PM_SYSTEM, 100, 0),    S("forks", "1/s", "", PM_SYSTEM, 1, 2),
		S("memory.used", "MB", "", PM_SYSTEM, 100, 200), S("net.rx", "MB/s", "", PM_SYSTEM, 0, 0.05),
		S("net.tx", "MB/s", "", PM_SYSTEM, 0, 80),
	};
	static const char *const order[] = { "disk.out", "net.tx",   "forks", "faults.major", "ctxsw",      "disk.in",
					     "net.rx",   "swap.out", "pgfoo", "softirq.rcu",  "memory.used" };
	struct incident one = { .series = series, .n_series = 11 };

	(void)state;
	/* Twice as sure, and less than a quarter as sure, as the best of causes. */
	series[6].score = 2;
	series[2].score = 1.5;
	series[4].score = 0.4;
	series[9].score = 0.9;
	series[10].score = 1.5;
	say_order(&one);
	for (size_t i = 0; i < 11; i++)
		assert_string_equal(one.series[i].metric, order[i]);
}

static void test_who(void **state)
{
	struct incident_series series = S("runq", "1", "", PM_SYSTEM, 1, 3);
	struct incidents all = { 0 };
	static const char *const text[] = { "", "; a\\x0a", "; a\\x0a and b", "; a\\x0a, b and c +2.0 MB",
					    "; a\\x0a, b and c +2.0 MB" };

	(void)state;
	for (uint32_t n = 0; n < 5; n++) {
		struct incident one = { .series = &series,
					.n_series = 1,
					.n_all = 1,
					.n_tasks = n,
					.task = { { .name = (char *)"a\n" },
						  { .name = (char *)"b" },
						  { .name = (char *)"c", .rss = 2e6 },
						  { .name = (char *)"d" } } };

		say(&all, &one);
		assert_memory_equal(one.text, "runnable tasks x3 (3)", 21);
		assert_string_equal(one.text + 21, text[n]);
		free(one.text);
	}
}

/* All series and tasks of an incident, and what there is not as null. */
static void test_json(void **state)
{
	struct incident_series series[] = { S("runq", "1", "", PM_SYSTEM, 1, 3),
					    S("disk.busy", "%", "sda", PM_DEVICE, 5, 99) };
	struct incident one = { .kind = INCIDENT_STRETCH,
				.from_s = 1,
				.to_s = 2.5,
				.score = 1.234,
				.text = (char *)"who",
				.series = series,
				.n_series = 2,
				.n_all = 2,
				.n_tasks = 2,
				.task = { { .name = (char *)"a", .pid = 7, .tid = 8, .cpu = 0.5 },
					  { .name = (char *)"b", .ended = 3, .bytes = 9, .rss = 11 } } };
	struct incidents all = { .incident = &one, .n = 1, .bin_s = 1, .duration_s = 60 };
	struct buf text = BUF_INIT;

	(void)state;
	series[1].device = "sda";
	series[1].package = 1;
	for (int64_t wall = 0; wall <= 1790000000000000000; wall += 1790000000000000000) {
		struct json *j;

		all.start_wall_ns = wall;
		j = incident_json(&all, 0);
		assert_non_null(j);
		buf_clear(&text);
		json_print(j, 0, &text);
		json_free(j);
		assert_int_equal(strstr(buf_str(&text), "\"from\":null,\"to\":null") != NULL, !wall);
		assert_int_equal(strstr(buf_str(&text), "2026-09-21T14:13:21") != NULL, wall != 0);
		assert_int_equal(strstr(buf_str(&text), "2026-09-21T14:13:22.5") != NULL, wall != 0);
		assert_non_null(
			strstr(buf_str(&text),
			       "\"from_s\":1,\"to_s\":2.5,\"score\":1.23,\"text\":\"+1 s for 2 s: who\",\"series\":["
			       "{\"metric\":\"runq\",\"scope\":\"system\",\"package\":null,\"cpu\":null,"
			       "\"device\":null,\"usual\":1,\"value\":3},"
			       "{\"metric\":\"disk.busy\",\"scope\":\"device\",\"package\":1,\"cpu\":null,"
			       "\"device\":\"sda\",\"usual\":5,\"value\":99}],\"tasks\":["
			       "{\"name\":\"a\",\"pid\":7,\"tid\":8,\"ended\":0,\"cpu_s\":0.5,\"bytes\":0,\"rss\":0},"
			       "{\"name\":\"b\",\"pid\":null,\"tid\":null,\"ended\":3,\"cpu_s\":0,\"bytes\":9,"
			       "\"rss\":11}]}"));
	}
	buf_release(&text);
}

UNIT_TESTS(cmocka_unit_test(test_numbers), cmocka_unit_test(test_times), cmocka_unit_test(test_sentences),
	   cmocka_unit_test(test_order), cmocka_unit_test(test_who), cmocka_unit_test(test_json))
