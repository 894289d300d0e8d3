/* What comes out: csv, json and tables, the same numbers in all. */
#include "tests/unit/lib/report_harness.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/json.h"
#include "tests/unit/lib/formats.h"

static uint64_t power(uint32_t n)
{
	uint64_t v = 1;

	while (n--)
		v *= 10;
	return v;
}

/* CPU n counts 10^n a second; CPU 3 fails in snapshot 2; packages use 10 J and 11 J a second in units of 0.1 mJ. */
static struct reading truth(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	if (i->kind == PM_PACKAGE)
		return (struct reading){ row * (100001 + i->number * 10000), 0 };
	if (i->kind == PM_DEVICE)
		return (struct reading){ 40500 + i->number * 1000, 0 };
	if (i->number == 3 && row == 2)
		return (struct reading){ 0, PM_REASON_ERRNO + 5 };
	return (struct reading){ row * power(i->number), 0 };
}

static void machine(struct builder *b)
{
	uint32_t count, energy, zone;

	builder_init(b, truth);
	count = builder_counter(b, "test.count", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(b, PM_CPU, 8, 0, &count, 1);
	energy = builder_counter(b, "test.energy", "J", PM_CUMULATIVE, PM_AGG_SUM);
	builder_counter_at(b, energy)->scale.den = 10000;
	builder_group(b, PM_PACKAGE, 2, 0, &energy, 1);
	zone = builder_counter(b, "test.temp", "Cel", PM_GAUGE, PM_AGG_MAX);
	builder_counter_at(b, zone)->scale.den = 1000;
	builder_group(b, PM_DEVICE, 2, 0, &zone, 1);
}

struct print {
	struct harness h;
	struct exporter x;
	bool one;
	uint64_t elapsed_ns; /* of a command that ended; 0: none did */
	char *text;          /* owned */
};

static void pass_on(struct harness *h, const struct interval *i, size_t n)
{
	struct print *p = (struct print *)h;

	assert_int_equal(p->x.sink.ops->intervals(&p->x.sink, &h->sheet, i, n), 0);
}

static char *slurp(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *text = calloc(1, (size_t)size + 1);

	assert_non_null(text);
	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

/* The text of `rows` snapshots; valid until print_end(). */
static const char *print(struct print *p, struct builder *b, const struct sink_ops *ops, struct export_config config,
			 const char *show, uint32_t rows)
{
	config.fd = memfd_create("export", 0);
	assert_true(config.fd >= 0);
	exporter_init(&p->x, ops, &config);
	p->x.sink.one = p->one;
	p->x.sink.recording = "a \"quoted\", name.pmr";
	p->x.sink.origin_ns = BUILDER_START_NS;
	p->h.look = pass_on;
	harness_start(&p->h, b, show, REPLAY_EACH);
	assert_int_equal(ops->shape(&p->x.sink, &p->h.sheet, 1), 0);
	if (p->elapsed_ns) {
		struct pm_event exit = { .type = PM_EVENT_CHILD_EXIT };

		assert_int_equal(pm_map_set(&exit.attrs, PM_EVENT_KEY_ELAPSED_NS, pm_u64(p->elapsed_ns)), 0);
		ops->event(&p->x.sink, &exit);
		exit.type = PM_EVENT_MARKER;
		ops->event(&p->x.sink, &exit);
		pm_event_release(&exit);
	}
	harness_feed(&p->h, 0, rows);
	assert_int_equal(exporter_flush(&p->x), 0);
	p->text = slurp(config.fd);
	return p->text;
}

static void print_end(struct print *p)
{
	exporter_release(&p->x);
	harness_stop(&p->h);
	free(p->text);
}

#define HEADS \
	"recording,run,time,duration_ns,scope,package,die,cluster,cache,node,core,cpu,device,task,cgroup,metric," \
	"value,unit,status,coverage\n"
#define FILE_NAME "\"a \"\"quoted\"\", name.pmr\""
#define AT_1_S    FILE_NAME ",1,2026-09-21T14:13:21.000000000Z,1000000000,"
#define AT_2_S    FILE_NAME ",1,2026-09-21T14:13:22.000000000Z,1000000000,"

static void times(void **state)
{
	static const struct {
		enum export_time time;
		const char *text;
	} c[] = {
		{ EXPORT_TIME_EPOCH_NS, ",1790000001000000000," },
		{ EXPORT_TIME_RELATIVE, ",1.000000000," },
		{ EXPORT_TIME_RFC3339, ",2026-09-21T14:13:21.000000000Z," },
		{ EXPORT_TIME_LOCAL, ",2026-09-21T19:43:21.000000000+05:30," },
	};

	setenv("TZ", "XST-5:30", 1);
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		struct print p = { .h.config = { .per = PM_SYSTEM, .summary_only = true } };
		struct builder b;

		machine(&b);
		assert_non_null(strstr(print(&p, &b, exporter_find("csv"),
					     (struct export_config){ .time = c[i].time }, "test.count", 2),
				       c[i].text));
		print_end(&p);
		builder_release(&b);
	}
}

static void tables(void **state)
{
	struct print p = { .h.config = { .per = PM_CPU, .summary = true }, .one = true };
	struct builder b;

	machine(&b);
	/* As turbostat has it: the system, then CPUs; a package's value stands in the row of its first CPU. */
	assert_string_equal(print(&p, &b, exporter_find("table"), (struct export_config){ 0 }, "test.*", 2),
			    "Package  Node  Core  CPU  test.count  test.energy  test.temp\n"
			    "      -     -     -    -    11111111        21.00      41.50\n"
			    "      0     0     0    0           1        10.00\n"
			    "      0     0     0    1          10\n"
			    "      0     0     1    2         100\n"
			    "      0     0     1    3        1000\n"
			    "      1     1     0    4       10000        11.00\n"
			    "      1     1     0    5      100000\n"
			    "      1     1     1    6     1000000\n"
			    "      1     1     1    7    10000000\n");
	print_end(&p);
	p = (struct print){ .h.config = { .per = PM_SYSTEM, .summary_only = true } };
	assert_string_equal(print(&p, &b, exporter_find("table"), (struct export_config){ 0 }, "test.count", 4),
			    "     UTC  test.count\n"
			    "14:13:21    11111111\n"
			    "14:13:22           -\n"
			    "14:13:23    11112111\n");
	print_end(&p);
	p = (struct print){ .h.config = { .per = PM_DEVICE, .only_per = true }, .one = true };
	assert_string_equal(
		print(&p, &b, exporter_find("table"), (struct export_config){ .no_heads = true }, "test.temp", 2),
		"zone0      40.50\n"
		"zone1      41.50\n");
	print_end(&p);
	/* How long a command took stands above its only row. */
	p = (struct print){ .h.config = { .per = PM_SYSTEM, .summary_only = true },
			    .one = true,
			    .elapsed_ns = 12045678999 };
	assert_string_equal(print(&p, &b, exporter_find("table"), (struct export_config){ 0 }, "test.count", 2),
			    "12.045678 sec\n"
			    "test.count\n"
			    "  11111111\n");
	assert_int_equal(exporter_find("table")->end(&p.x.sink), 0);
	assert_int_equal(p.x.elapsed_ns, 0);
	print_end(&p);
	builder_release(&b);
}

/* Families, each with its head once; labels whose names become one; a value that is missing is no sample. */
static void openmetrics(void **state)
{
	static const char *const pair[][2] = { { "a_b_2", "x\"y" }, { "a.b", "2\n" }, { "a_b", "\\7" } };
#define ORIGIN "{host=\"alpha\",label_a_b_2=\"x\\\"y\",label_a_b=\"2\\n\",label_a_b_2_2=\"\\\\7\","
	static const char expected[] =
		"# HELP pmrep_test_count Things that count\n# TYPE pmrep_test_count gauge\n"
		"pmrep_test_count" ORIGIN
		"scope=\"package\",package=\"0\",metric=\"test.count\"} 1111 1790000001.000\n"
		"pmrep_test_count" ORIGIN
		"scope=\"package\",package=\"1\",metric=\"test.count\"} 11110000 1790000001.000\n"
		"# HELP pmrep_test_energy  (J)\n# TYPE pmrep_test_energy gauge\n"
		"pmrep_test_energy" ORIGIN
		"scope=\"package\",package=\"0\",metric=\"test.energy\"} 10.0001 1790000001.000\n"
		"pmrep_test_energy" ORIGIN
		"scope=\"package\",package=\"1\",metric=\"test.energy\"} 11.0001 1790000001.000\n"
		"# HELP pmrep_test_temp  (Cel)\n# TYPE pmrep_test_temp gauge\n"
		"pmrep_test_temp" ORIGIN
		"scope=\"device\",device=\"zone0\",metric=\"test.temp\"} 40.5 1790000001.000\n"
		"pmrep_test_temp" ORIGIN
		"scope=\"device\",device=\"zone1\",metric=\"test.temp\"} 41.5 1790000001.000\n"
		"pmrep_test_count" ORIGIN
		"scope=\"package\",package=\"1\",metric=\"test.count\"} 11110000 1790000002.000\n"
		"pmrep_test_energy" ORIGIN
		"scope=\"package\",package=\"0\",metric=\"test.energy\"} 10.0001 1790000002.000\n"
		"pmrep_test_energy" ORIGIN
		"scope=\"package\",package=\"1\",metric=\"test.energy\"} 11.0001 1790000002.000\n"
		"pmrep_test_temp" ORIGIN
		"scope=\"device\",device=\"zone0\",metric=\"test.temp\"} 40.5 1790000002.000\n"
		"pmrep_test_temp" ORIGIN
		"scope=\"device\",device=\"zone1\",metric=\"test.temp\"} 41.5 1790000002.000\n";
	struct print p = { .h.config = { .per = PM_PACKAGE } };
	struct pm_value labels = pm_array(4);
	struct builder b;

	machine(&b);
	for (uint32_t i = 0; i < 3; i++) {
		labels.array.item[i] = pm_array(2);
		labels.array.item[i].array.item[0] = pm_text(pair[i][0]);
		labels.array.item[i].array.item[1] = pm_text(pair[i][1]);
	}
	labels.array.item[3] = pm_text("no pair");
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_LABELS, labels), 0);
	assert_int_equal(pm_map_set(&b.model.header, PM_HEADER_HOST, pm_text("alpha")), 0);
	text_attr(&b, 1, PM_COUNTER_HELP, "Things that count");
	assert_string_equal(print(&p, &b, exporter_find("openmetrics"), (struct export_config){ 0 }, "test.*", 3),
			    expected);
	assert_true(p.x.partial);
	print_end(&p);
	builder_release(&b);
}

/* What a recording holds never reaches a terminal as it is. */
static void hostile_names(void **state)
{
	struct print p = { .h.config = { .per = PM_SYSTEM, .summary_only = true } };
	struct builder b;
	const char *text;
	uint32_t id;

	builder_init(&b, truth);
	id = builder_counter(&b, "x\033]0;pwned\007,\"y\n", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_CPU, 2, 0, &id, 1);
	text = print(&p, &b, exporter_find("table"), (struct export_config){ 0 }, "all", 2);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
	print_end(&p);
	/* In csv it is a quoted field with its control characters spelled out; in json a string. */
	p = (struct print){ .h.config = { .per = PM_SYSTEM, .summary_only = true } };
	text = print(&p, &b, exporter_find("csv"), (struct export_config){ 0 }, "all", 2);
	assert_null(strchr(text, '\033'));
	assert_null(strchr(text, '\007'));
	assert_non_null(strstr(text, ",\"x\\x1b]0;pwned\\x07,\"\"y\\x0a\",11,1,ok,1\n"));
	print_end(&p);
	p = (struct print){ .h.config = { .per = PM_SYSTEM, .summary_only = true } };
	text = print(&p, &b, exporter_find("json"), (struct export_config){ 0 }, "all", 2);
	assert_null(strchr(text, '\033'));
	assert_int_equal(strcspn(text, "\n"), strlen(text) - 1);
	print_end(&p);
	builder_release(&b);
}

/* Long output has lines that a person could read; short output may be anything. */
static void lines_too_long(void **state)
{
	static char piece[1u << 20];
	static const struct {
		size_t line;
		uint32_t columns;
		bool ends;
	} row[] = {
		{ 100, 0, false }, { 1000, 0, false }, { 1400, 0, true }, { 1400, 10, false }, { 1u << 20, 0, true }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct output_total t = { .columns = row[i].columns };
		struct error e = { 0 };
		unsigned n = 0;
		int err = 0;

		memset(piece, ',', sizeof(piece));
		for (size_t k = row[i].line; k <= sizeof(piece); k += row[i].line)
			piece[k - 1] = '\n';
		while (n < 400 && !(err = output_count(&t, piece, sizeof(piece), &e)))
			n++;
		assert_int_equal(err, row[i].ends ? -E2BIG : 0);
		assert_true(n >= 64);
		assert_int_equal(row[i].ends, strstr(e.text, "choose what to print") != NULL);
	}
}

UNIT_TESTS(cmocka_unit_test(times), cmocka_unit_test(tables), cmocka_unit_test(hostile_names),
	   cmocka_unit_test(openmetrics), cmocka_unit_test(lines_too_long))
