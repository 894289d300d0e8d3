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
		cmocka_unit_test(test_whole_ticks),     cmocka_unit_test(test_one_of_many),
		cmocka_unit_test(test_usual_in_a_wave), cmocka_unit_test(test_little_of_a_rate),
		cmocka_unit_test(test_drifts),          cmocka_unit_test(test_kernel_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
