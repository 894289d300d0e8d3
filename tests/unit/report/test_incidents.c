/* Incidents of series that are made here: what is found in them, and what of it is worth a line. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/incident/incident_private.h"

#define SECONDS 60

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
	double r = sqrt(-2 * log(uniform(state)));

	return r * cos(2 * M_PI * uniform(state));
}

static void begin(struct incident_store *s, uint32_t bins)
{
	*s = (struct incident_store){ 0 };
	assert_int_equal(store_choose_bins(s, 1, bins), 0);
	s->used = bins;
	for (uint32_t i = 0; i < bins; i++) {
		s->from_s[i] = i;
		s->to_s[i] = i + 1;
	}
	s->interval_s = 1;
}

/* A metric of a unit; `cpus` 0: of the system. Returns the number of its first series. */
static uint32_t add(struct incident_store *s, const char *name, const char *unit, bool amount, uint32_t cpus)
{
	uint32_t first = s->n_series, place, n = cpus ? cpus : 1;

	s->metric = reallocarray(s->metric, s->n_metrics + 1, sizeof(*s->metric));
	s->row = reallocarray(s->row, s->n_rows + n, sizeof(*s->row));
	assert_true(s->metric && s->row);
	s->metric[s->n_metrics] = (struct incident_metric){
		.name = strdup(name), .unit = unit, .amount = amount, .counts = !strcmp(unit, "1") && amount
	};
	s->metric[s->n_metrics].display = s->metric[s->n_metrics].name;
	for (uint32_t i = 0; i < n; i++) {
		s->row[s->n_rows] = (struct incident_row){ .label = strdup(cpus ? "CPU" : ""),
							   .kind = cpus ? PM_CPU : PM_SYSTEM,
							   .package = PM_NONE,
							   .cpu = cpus ? i : PM_NONE };
		assert_int_equal(store_series(s, s->n_metrics, s->n_rows++, &place), 0);
	}
	s->n_metrics++;
	return first;
}

static void find(struct incident_store *s, struct incidents *out)
{
	struct findings f = { 0 };

	*out = (struct incidents){ 0 };
	assert_int_equal(scan_all(s, &f), 0);
	assert_int_equal(merge_all(s, &f, out), 0);
	free(f.f);
	while (out->n && out->incident[out->n - 1].score < SCORE_LEAST)
		free(out->incident[--out->n].series);
}

static void end(struct incident_store *s, struct incidents *out)
{
	store_release(s);
	incidents_release(out);
}

/* Times of a CPU are whole ticks: most of the values are the same, and yet what differs is not rare. */
static void test_whole_ticks(void **state)
{
	struct incident_store s;
	struct incidents out;
	uint64_t seed = 1;
	uint32_t at;

	(void)state;
	begin(&s, SECONDS);
	at = add(&s, "steal", "s", true, 0);
	for (uint32_t i = 0; i < SECONDS; i++)
		s.series[at].v[i] = (float)round(2 + 0.5 * normal(&seed) + (i >= 30 && i < 33 ? 3 : 0)) / 100;
	find(&s, &out);
	assert_int_equal(out.n, 1);
	assert_true(fabs(out.incident[0].from_s - 30) <= 1 && fabs(out.incident[0].to_s - 33) <= 1);
	end(&s, &out);
}

/* Some of many CPUs resemble themselves by chance: that says nothing about the others, of which one is busy. */
static void test_one_of_many(void **state)
{
	uint32_t found = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct incident_store s;
		struct incidents out;
		uint64_t random = seed;
		uint32_t at;

		begin(&s, SECONDS);
		at = add(&s, "busy", "s", true, 128);
		for (uint32_t c = 0; c < 128; c++)
			for (uint32_t i = 0; i < SECONDS; i++)
				s.series[at + c].v[i] = (float)(0.2 + 0.02 * normal(&random) +
								(c == 77 && i >= 20 && i < 23 ? 0.1 : 0));
		find(&s, &out);
		found += out.n == 1 && out.incident[0].series[0].cpu == 77 && fabs(out.incident[0].from_s - 20) <= 1;
		end(&s, &out);
	}
	assert_in_range(found, 9, 10);
}

/* In the trough of a wave, what is usual is the trough. */
static void test_usual_in_a_wave(void **state)
{
	struct incident_store s;
	struct incidents out;
	uint64_t seed = 1;
	uint32_t at;

	(void)state;
	begin(&s, 256);
	at = add(&s, "packets", "1", true, 0);
	for (uint32_t i = 0; i < 256; i++)
		s.series[at].v[i] = (float)(1000 + 200 * sin(2 * M_PI * i / 64) + 30 * normal(&seed) +
					    (i >= 174 && i < 179 ? 200 : 0));
	find(&s, &out);
	assert_int_equal(out.n, 1);
	assert_true(fabs(out.incident[0].series[0].usual - 800) < 60);
	assert_true(fabs(out.incident[0].series[0].value - 1000) < 60);
	end(&s, &out);
}

static uint32_t count_of(struct incident_store *s, struct finding *f, uint32_t n)
{
	struct findings all = { .f = f, .n = n };
	struct incidents out = { 0 };
	uint32_t found;

	assert_int_equal(merge_all(s, &all, &out), 0);
	found = out.n;
	incidents_release(&out);
	return found;
}

/* A rate that moved by less than a fifth has to be clear, and by less than an eighth is none. */
static void test_little_of_a_rate(void **state)
{
	static const struct {
		float value, score;
		uint32_t n;
	} cases[] = { { 1210, 1.05F, 1 }, { 1160, 1.05F, 0 }, { 1160, 1.3F, 1 }, { 1110, 9, 0 } };
	struct incident_store s;

	(void)state;
	begin(&s, SECONDS);
	add(&s, "switches", "1", true, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct finding f = {
			.from = 10, .to = 13, .score = cases[i].score, .usual = 1000, .value = cases[i].value
		};

		assert_int_equal(count_of(&s, &f, 1), cases[i].n);
	}
	store_release(&s);
}

/* Memory and heat that rise all the time have nothing to do with each other, unless their noise is the same, too. */
static void test_drifts(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int together = 0; together < 2; together++) {
		struct incident_store s;
		struct finding f[3] = { { 0 } };

		begin(&s, SECONDS);
		add(&s, "memory.used", "MB", false, 0);
		add(&s, "vmstat.nr_anon_pages", "1", false, 0);
		add(&s, "zone.temp", "Cel", false, 0);
		for (uint32_t k = 0; k < 3; k++)
			f[k] = (struct finding){ .series = k,
						 .kind = INCIDENT_DRIFT,
						 .to = SECONDS,
						 .score = 2,
						 .usual = 1000,
						 .value = 5000 };
		for (uint32_t i = 0; i < SECONDS; i++) {
			double noise = normal(&seed);

			s.series[0].v[i] = (float)(1000 + 70 * i + 20 * noise);
			s.series[1].v[i] = (float)(1000 + 70 * i + 20 * normal(&seed));
			s.series[2].v[i] = (float)(40 + 0.5 * i + (together ? noise : normal(&seed)));
		}
		assert_int_equal(count_of(&s, f, 3), together ? 1 : 2);
		store_release(&s);
	}
}

/* What moved less than this is no incident: 0; in the order of the rules of is_trifle(). */
static void test_trifles(void **state)
{
	static const struct {
		const char *unit;
		bool amount;
		enum metric_fault fault;
		enum incident_kind kind;
		uint32_t from;
		float usual, value;
		uint32_t n;
	} cases[] = {
		{ "%", false, 0, INCIDENT_STRETCH, 10, 10, 11.4F, 0 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 10, 11.6F, 1 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 40, 42.9F, 0 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 40, 43.1F, 1 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 1, 1.4F, 0 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 1, 1.6F, 1 },
		{ "MB", false, 0, INCIDENT_STRETCH, 10, 1000, 1090, 0 },
		{ "MB", false, 0, INCIDENT_STRETCH, 10, 1000, 890, 1 },
		{ "MB", false, 0, INCIDENT_STRETCH, 0, 1000, 1490, 0 },
		{ "MB", false, 0, INCIDENT_STRETCH, 0, 1000, 1510, 1 },
		{ "MB", true, 0, INCIDENT_STRETCH, 0, 1000, 1110, 1 },
		{ "MB", false, 0, INCIDENT_DRIFT, 0, 1000, 1014, 0 },
		{ "MB", false, 0, INCIDENT_DRIFT, 0, 1000, 1016, 1 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 2000, 2250, 0 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 2000, 2260, 1 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 100, 109, 0 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 100, 111, 1 },
		{ "By", false, 0, INCIDENT_STRETCH, 10, 1000000, 2000000, 0 },
		{ "By", false, 0, INCIDENT_STRETCH, 10, 1000000, 2060000, 1 },
		{ "Cel", false, 0, INCIDENT_STRETCH, 10, 50, 50.9F, 0 },
		{ "Cel", false, 0, INCIDENT_STRETCH, 10, 50, 51.1F, 1 },
		{ "Cel", false, 0, INCIDENT_DRIFT, 0, 50, 50.1F, 1 },
		{ "Cel", false, 0, INCIDENT_STRETCH, 10, 50, 50, 0 },
		{ "Cel", false, METRIC_GRAVE, INCIDENT_STRETCH, 10, 50, 50.1F, 1 },
		{ "Cel", false, METRIC_GRAVE, INCIDENT_STRETCH, 10, 50, 40, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct finding f = { .kind = cases[i].kind,
				     .from = cases[i].from,
				     .to = cases[i].kind == INCIDENT_DRIFT ? SECONDS : cases[i].from + 3,
				     .score = 2,
				     .usual = cases[i].usual,
				     .value = cases[i].value };
		struct incident_store s;

		begin(&s, SECONDS);
		add(&s, "x", cases[i].unit, cases[i].amount, 0);
		s.metric[0].counts = false;
		s.metric[0].fault = cases[i].fault;
		if (count_of(&s, &f, 1) != cases[i].n)
			fail_msg("case %zu", i);
		store_release(&s);
	}
}

static void test_losses(void **state)
{
	struct incident_loss loss[] = {
		{ 0, 1, 2, (char *)"" },  { 5, 6, 3, (char *)"" },    { 17, 18, 1, (char *)"" },
		{ 2, 3, 9, (char *)"a" }, { 60, 61, 9, (char *)"a" }, { 62, 63, 9, (char *)"b" },
	};
	struct incident_store s;
	struct findings none = { 0 };
	struct incidents out = { .bin_s = 1, .duration_s = 100 };
	struct buf said = BUF_INIT;

	(void)state;
	begin(&s, SECONDS);
	s.loss = loss;
	s.n_losses = sizeof(loss) / sizeof(*loss);
	assert_int_equal(merge_all(&s, &none, &out), 0);
	for (uint32_t i = 0; i < out.n; i++) {
		assert_int_equal(out.incident[i].kind, INCIDENT_LOSS);
		assert_int_equal(say(&out, &out.incident[i]), 0);
		incident_put_time(&out, &out.incident[i], &said);
		buf_printf(&said, ": %s\n", out.incident[i].text);
	}
	/* Texts are worth 1.5, of ticks 5 more than 1. */
	assert_string_equal(buf_str(&said), "+2 s for 59 s: a, 2 times\n+62 s for 1 s: b\n"
					    "+0 s for 6 s: 5 ticks lost while recording\n"
					    "+17 s for 1 s: 1 tick lost while recording\n");
	buf_release(&said);
	s.loss = NULL;
	s.n_losses = 0;
	end(&s, &out);
}

static void test_rhythms(void **state)
{
	(void)state;
	for (uint32_t period = 10; period <= 40; period += 15) {
		struct incident_store s;
		struct incidents out;
		uint64_t seed = period;
		uint32_t at;

		begin(&s, 400);
		at = add(&s, "busy", "s", true, 0);
		for (uint32_t i = 0; i < 400; i++)
			s.series[at].v[i] = (float)(0.2 + 0.01 * normal(&seed) + (i % period == 3 ? 0.3 : 0));
		find(&s, &out);
		assert_int_equal(out.n, 1);
		assert_int_equal(out.incident[0].kind, INCIDENT_RHYTHM);
		assert_true(fabs(out.incident[0].every_s - period) < 0.2);
		assert_true(fabs(out.incident[0].times - 400.0 / period) <= 1.5);
		assert_true(out.incident[0].from_s == 3);
		assert_true(fabs(out.incident[0].series[0].usual - 0.2) < 0.02);
		assert_true(fabs(out.incident[0].series[0].value - 0.5) < 0.02);
		end(&s, &out);
	}
}

/* One among its peers is an exception, several are none. */
static void test_peers(void **state)
{
	(void)state;
	for (uint32_t others = 1; others <= 5; others += 2) {
		struct incident_store s;
		struct incidents out;
		uint64_t seed = others;
		uint32_t at;

		begin(&s, SECONDS);
		at = add(&s, "busy", "s", true, 16);
		for (uint32_t c = 0; c < 16; c++)
			for (uint32_t i = 0; i < SECONDS; i++)
				s.series[at + c].v[i] =
					(float)((c % 3 == 2 && c < 3 * others ? 0.5 : 0.2) + 0.02 * normal(&seed));
		find(&s, &out);
		assert_int_equal(out.n, others == 1);
		if (out.n) {
			const struct incident_series *one = out.incident[0].series;

			assert_int_equal(out.incident[0].kind, INCIDENT_PEER);
			assert_int_equal(out.incident[0].n_series, 1);
			assert_int_equal(one->cpu, 2);
			assert_true(fabs(one->value - 0.5) < 0.02 && fabs(one->usual - 0.2) < 0.02);
		}
		end(&s, &out);
	}
}

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
		{ 0, { S("idle.c6.duration", "us", "", PM_SYSTEM, 10, 30) }, 0, "length of stays in c6 x3 (30 us)" },
		{ 0, { S("idle.duration", "us", "", PM_SYSTEM, 10, 30) }, 0, "idle.duration x3 (30 us)" },
		{ INCIDENT_DRIFT, { S("memory.available", "MB", "", PM_SYSTEM, 1000, 500) }, 0,
		  "available memory from 1.0 GB to 500 MB" },
		{ INCIDENT_PEER, { S("util", "%", "CPU 3", PM_CPU, 10, 90) }, 0, "CPU 3 busy 90 %, its peers 10 %" },
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
		{ 0, { S("a", "1", "", PM_SYSTEM, 1, 2), S("b", "1", "", PM_SYSTEM, 1, 2), S("vmstat.c", "1", "", PM_SYSTEM, 1, 2),
		       S("vmstat.d", "1", "", PM_SYSTEM, 1, 2) }, 0, "a x2 (2), b x2 (2), c x2 (2), and 1 more metric" },
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
		assert_int_equal(say(&all, &one), 0);
		assert_string_equal(one.text, cases[i].text);
		free(one.text);
	}
}

/* What somebody did comes before what comes of it; what is weak, or moved few bytes, is not taken for a cause. */
static void test_order(void **state)
{
	struct incident_series series[] = {
		S("vmstat.pgfree", "1/s", "", PM_SYSTEM, 1, 2),  S("pgfoo", "1/s", "", PM_SYSTEM, 1, 2),
		S("ctxsw", "1/s", "", PM_SYSTEM, 1, 2),          S("faults.major", "1/s", "", PM_SYSTEM, 1, 2),
		S("swap.out", "1/s", "", PM_SYSTEM, 1, 2),       S("disk.in", "MB/s", "", PM_SYSTEM, 0, 4),
		S("disk.out", "MB/s", "", PM_SYSTEM, 100, 0),    S("forks", "1/s", "", PM_SYSTEM, 1, 2),
		S("memory.used", "MB", "", PM_SYSTEM, 100, 200),
	};
	static const char *const order[] = { "disk.out", "forks", "faults.major",  "ctxsw",      "disk.in",
					     "swap.out", "pgfoo", "vmstat.pgfree", "memory.used" };
	struct incident one = { .series = series, .n_series = 9 };

	(void)state;
	/* Twice as sure, and less than a quarter as sure, as the best of causes. */
	series[6].score = 2;
	series[2].score = 1.5;
	series[4].score = 0.4;
	say_order(&one);
	for (size_t i = 0; i < 9; i++)
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

		assert_int_equal(say(&all, &one), 0);
		assert_memory_equal(one.text, "runnable tasks x3 (3)", 21);
		assert_string_equal(one.text + 21, text[n]);
		free(one.text);
	}
}

static void test_kernel_stacks(void **state)
{
	struct incident_series series = { .metric = "vmstat.nr_kernel_stack",
					  .display = "vmstat.nr_kernel_stack",
					  .unit = "1",
					  .label = "",
					  .usual = 2000,
					  .value = 2640 };
	struct incident i = { .series = &series, .n_series = 1, .n_all = 1 };
	struct incidents all = { 0 };

	(void)state;
	assert_int_equal(say(&all, &i), 0);
	assert_string_equal(i.text, "kernel stacks 2.7 MB (usually 2.0 MB)");
	free(i.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_ticks),
		cmocka_unit_test(test_one_of_many),
		cmocka_unit_test(test_usual_in_a_wave),
		cmocka_unit_test(test_little_of_a_rate),
		cmocka_unit_test(test_drifts),
		cmocka_unit_test(test_kernel_stacks),
		cmocka_unit_test(test_trifles),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_rhythms),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_who),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
