/* Incidents of series that are made here: what is found in them, and what of it is worth a line. */
#include "report/incident/incident.c"
#include "report/incident/incident_scan.c"
#include "tests/unit/lib/test.h"

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
	store_bins(s, bins);
	s->used = bins;
	for (uint32_t i = 0; i < bins; i++) {
		s->from_s[i] = i;
		s->to_s[i] = i + 1;
	}
	s->bin_s = 1;
}

/* A metric of a unit; `cpus` 0: of the system. Returns the number of its first series. */
static uint32_t add(struct incident_store *s, const char *name, const char *unit, bool amount, uint32_t cpus)
{
	uint32_t first = s->n_series, n = cpus ? cpus : 1;

	s->metric = reallocarray(s->metric, s->n_metrics + 1, sizeof(*s->metric));
	s->row = reallocarray(s->row, s->n_rows + n, sizeof(*s->row));
	s->about.row = reallocarray(s->about.row, s->n_rows + n, sizeof(*s->about.row));
	assert_true(s->metric && s->row && s->about.row);
	s->metric[s->n_metrics] = (struct incident_metric){
		.name = name, .display = name, .unit = unit, .amount = amount, .counts = !strcmp(unit, "1") && amount
	};
	for (uint32_t i = 0; i < n; i++) {
		s->row[s->n_rows] = (struct incident_row){ 0 };
		s->about.row[s->about.n_rows++] = (struct bins_row){ .label = strdup(cpus ? "CPU" : ""),
								     .kind = cpus ? PM_CPU : PM_SYSTEM,
								     .package = PM_NONE,
								     .number = cpus ? i : PM_NONE };
		store_series(s, s->n_metrics, s->n_rows++);
	}
	s->n_metrics++;
	return first;
}

static void find(struct incident_store *s, struct incidents *out)
{
	struct findings f = { 0 };

	*out = (struct incidents){ 0 };
	scan_families(s, &f);
	merge_all(s, &f, out);
	free(f.f);
	while (out->n && out->incident[out->n - 1].score < SCORE_LEAST)
		free(out->incident[--out->n].series);
}

static void done(struct incident_store *s, struct incidents *out)
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
	done(&s, &out);
}

/* What rises once and stays, or all the time, in noise that remembers `memory` of itself; or in noise alone. */
static void test_steps_and_drifts(void **state)
{
	static const double memory[] = { 0, 0.5, 0.8 };
	enum { A_STEP, DRIFT, NOISE, WAYS };
	uint32_t alarms = 0;

	(void)state;
	for (uint32_t c = 0; c < 3 * WAYS * 4; c++) {
		uint32_t way = c % WAYS, at;
		uint64_t seed = c + 1;
		double noise = 0, keep = memory[c / WAYS % 3];
		struct incident_store s;
		struct incidents out;

		begin(&s, 240);
		at = add(&s, "memory.used", "MB", false, 0);
		for (uint32_t i = 0; i < 240; i++) {
			noise = keep * noise + normal(&seed) * sqrt(1 - keep * keep) * 10;
			s.series[at].v[i] = (float)(1000 + noise +
						    (way == A_STEP ? i >= 150 ? 500 : 0 :
						     way == DRIFT  ? 3.0 * i :
								     0));
		}
		find(&s, &out);
		if (way == NOISE) {
			alarms += out.n;
		} else {
			const struct incident *one = out.incident;

			assert_int_equal(out.n, 1);
			assert_int_equal(one->kind, way == A_STEP ? INCIDENT_STRETCH : INCIDENT_DRIFT);
			assert_true(fabs(one->from_s - (way == A_STEP ? 150 : 0)) <= 1 && one->to_s == 240);
			assert_true(fabs(one->series[0].usual - 1000) < 40);
			assert_true(fabs(one->series[0].value - (way == A_STEP ? 1500 : 1717)) < 40);
		}
		done(&s, &out);
	}
	assert_int_equal(alarms, 0);
}

static uint32_t found_in(struct incident_store *s, struct finding *f, uint32_t n)
{
	struct findings all = { .f = f, .n = n };
	struct incidents out = { 0 };
	uint32_t found;

	merge_all(s, &all, &out);
	found = out.n;
	incidents_release(&out);
	return found;
}

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
		{ "%", false, 0, INCIDENT_STRETCH, 10, 1, 1.9F, 0 },
		{ "%", false, 0, INCIDENT_STRETCH, 10, 1, 2.1F, 1 },
		{ "MB", false, 0, INCIDENT_STRETCH, 10, 1000, 1090, 0 },
		{ "MB", false, 0, INCIDENT_STRETCH, 10, 1000, 890, 1 },
		{ "MB", false, 0, INCIDENT_STRETCH, 0, 1000, 1490, 0 },
		{ "MB", false, 0, INCIDENT_STRETCH, 0, 1000, 1510, 1 },
		{ "MB", true, 0, INCIDENT_STRETCH, 0, 1000, 1110, 1 },
		{ "MB", false, 0, INCIDENT_DRIFT, 0, 1000, 1033, 0 },
		{ "MB", false, 0, INCIDENT_DRIFT, 0, 1000, 1034, 1 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 2000, 2250, 0 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 2000, 2260, 1 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 100, 109, 0 },
		{ "1", false, 0, INCIDENT_STRETCH, 10, 100, 111, 1 },
		{ "By", false, 0, INCIDENT_STRETCH, 10, 1000000, 2000000, 0 },
		{ "By", false, 0, INCIDENT_STRETCH, 10, 1000000, 2060000, 1 },
		{ "Cel", false, 0, INCIDENT_STRETCH, 10, 50, 51.6F, 0 },
		{ "Cel", false, 0, INCIDENT_STRETCH, 10, 50, 51.7F, 1 },
		{ "Cel", false, 0, INCIDENT_DRIFT, 0, 50, 51.7F, 1 },
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
		if (found_in(&s, &f, 1) != cases[i].n)
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
	merge_all(&s, &none, &out);
	for (uint32_t i = 0; i < out.n; i++) {
		assert_int_equal(out.incident[i].kind, INCIDENT_LOSS);
		say(&out.incident[i]);
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
	done(&s, &out);
}

/* What recurs at a fixed distance is usual, and hides nothing that is less. */
static void test_rhythms(void **state)
{
	(void)state;
	for (uint32_t period = 10; period <= 40; period += 15) {
		struct incident_store s;
		struct incidents out;
		uint64_t seed = period;
		uint32_t at, bins = period == 10 ? 3000 : 400;

		begin(&s, bins);
		at = add(&s, "busy", "s", true, 0);
		for (uint32_t i = 0; i < bins; i++)
			s.series[at].v[i] = (float)(0.2 + 0.01 * normal(&seed) +
						    (i % period == 3 ? 0.3 :
						     i / 3 == 69     ? 0.2 :
								       0));
		find(&s, &out);
		assert_int_equal(out.n, 1);
		assert_int_equal(out.incident[0].kind, INCIDENT_STRETCH);
		assert_true(out.incident[0].from_s == 207 && out.incident[0].to_s == 210);
		assert_true(fabs(out.incident[0].series[0].usual - 0.2) < 0.02);
		assert_true(fabs(out.incident[0].series[0].value - 0.4) < 0.02);
		done(&s, &out);
	}
}

/* One among its peers is an exception, several are none; with noise and with none at all. */
static void test_peers(void **state)
{
	(void)state;
	for (uint32_t way = 0; way < 6; way++) {
		struct incident_store s;
		struct incidents out;
		uint32_t others = 1 + way / 2 * 2;
		double noise = way % 2 ? 0 : 0.02;
		uint64_t seed = others;
		uint32_t at;

		begin(&s, SECONDS);
		at = add(&s, "busy", "s", true, 16);
		for (uint32_t c = 0; c < 16; c++)
			for (uint32_t i = 0; i < SECONDS; i++)
				s.series[at + c].v[i] =
					(float)((c % 3 == 2 && c < 3 * others ? 0.5 : 0.2) + noise * normal(&seed));
		find(&s, &out);
		assert_int_equal(out.n, others == 1);
		if (out.n) {
			const struct incident_series *one = out.incident[0].series;

			assert_int_equal(out.incident[0].kind, INCIDENT_PEER);
			assert_int_equal(out.incident[0].n_series, 1);
			assert_int_equal(one->cpu, 2);
			assert_true(fabs(one->value - 0.5) < 0.02 && fabs(one->usual - 0.2) < 0.02);
		}
		done(&s, &out);
	}
}

/* Among a dozen bursts of 40 to 60 spreads one of 90 is usual, and one of 900 is news. */
static void test_larger_than_bursts(void **state)
{
	(void)state;
	for (int news = 0; news < 2; news++) {
		struct incident_store s;
		struct incidents out;
		uint64_t seed = 3;
		uint32_t at;

		begin(&s, 400);
		at = add(&s, "writes", "1/s", false, 0);
		for (uint32_t i = 0; i < 400; i++)
			s.series[at].v[i] = (float)(100 + normal(&seed));
		for (uint32_t k = 0, i = 7; k < 12; k++, i += 20 + (uint32_t)(20 * uniform(&seed)))
			for (uint32_t j = 0; j < 2; j++)
				s.series[at].v[i + j] += (float)(k == 6 ? news ? 900 : 90 : 40 + 20 * uniform(&seed));
		find(&s, &out);
		assert_int_equal(out.n, news);
		done(&s, &out);
	}
}

/* Of four that are equal by chance three are often close to each other: only what is far from them stands out. */
static void test_few_peers(void **state)
{
	static const double level[][4] = { { 2900, 2901, 1450, 2902 },
					   { 300, 301, 340, 302 },
					   { 300, 310, 380, 305 } };

	(void)state;
	for (uint32_t k = 0; k < sizeof(level) / sizeof(*level); k++) {
		struct incident_store s;
		struct incidents out;
		uint64_t seed = k;
		uint32_t at[2];

		begin(&s, SECONDS);
		at[0] = add(&s, "frequency", "MHz", false, 4);
		at[1] = add(&s, "busy frequency", "MHz", false, 4);
		for (uint32_t i = 0; i < 8 * SECONDS; i++)
			s.series[at[i % 2] + i / 2 % 4].v[i / 8] = (float)(level[k][i / 2 % 4] + normal(&seed));
		/* Of the same CPUs. */
		for (uint32_t c = 0; c < 4; c++)
			s.series[at[1] + c].row = s.series[at[0] + c].row;
		find(&s, &out);
		assert_int_equal(out.n, !k);
		if (out.n)
			assert_int_equal(out.incident[0].n_series, 2);
		done(&s, &out);
	}
}

UNIT_TESTS(cmocka_unit_test(test_whole_ticks), cmocka_unit_test(test_steps_and_drifts),
	   cmocka_unit_test(test_trifles), cmocka_unit_test(test_losses), cmocka_unit_test(test_rhythms),
	   cmocka_unit_test(test_peers), cmocka_unit_test(test_few_peers), cmocka_unit_test(test_larger_than_bursts))
