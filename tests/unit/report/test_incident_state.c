/* What a scan finds does not depend on what it looked at before. */
#include "report/incident/incident.c"
#include "report/incident/incident_scan.c"
#include "tests/unit/lib/test.h"

#define BINS 240

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

static void begin(struct incident_store *s)
{
	*s = (struct incident_store){ 0 };
	store_bins(s, BINS);
	s->used = BINS;
	for (uint32_t i = 0; i < BINS; i++) {
		s->from_s[i] = i;
		s->to_s[i] = i + 1;
	}
	s->bin_s = 1;
}

/* A metric of so many CPUs. Returns the number of its first series. */
static uint32_t add(struct incident_store *s, const char *name, uint32_t cpus)
{
	uint32_t first = s->n_series;

	s->metric = reallocarray(s->metric, s->n_metrics + 1, sizeof(*s->metric));
	s->row = reallocarray(s->row, s->n_rows + cpus, sizeof(*s->row));
	s->about.row = reallocarray(s->about.row, s->n_rows + cpus, sizeof(*s->about.row));
	assert_true(s->metric && s->row && s->about.row);
	s->metric[s->n_metrics] = (struct incident_metric){ .name = name, .display = name, .unit = "Cel" };
	for (uint32_t i = 0; i < cpus; i++) {
		s->row[s->n_rows] = (struct incident_row){ 0 };
		s->about.row[s->about.n_rows++] =
			(struct bins_row){ .label = strdup("CPU"), .kind = PM_CPU, .package = PM_NONE, .number = i };
		store_series(s, s->n_metrics, s->n_rows++);
	}
	s->n_metrics++;
	return first;
}

enum { STRETCH, A_STEP, DRIFT, A_WAVE, RHYTHM, ECHO, SHAPES };

/* A series with something in it, which is not there at first and in the end. */
static void fill(float *v, int shape, uint64_t seed)
{
	double noise = 0;

	for (uint32_t i = 0; i < BINS; i++) {
		noise = (shape == ECHO ? 0.8 : 0) * noise + normal(&seed);
		v[i] = (float)(500 + noise +
			       (shape == STRETCH ? i >= 100 && i < 110 ? 20 : 0 :
				shape == A_STEP  ? i >= 150 ? 40 : 0 :
				shape == DRIFT   ? 0.5 * i :
				shape == A_WAVE  ? 30 * sin(i / 7.0) + (i >= 100 && i < 106 ? 25 : 0) :
				shape == RHYTHM  ? i % 24 == 9       ? 30 :
						   i >= 88 && i < 94 ? 15 :
								       0 :
						   (i >= 60 && i < 75 ? 25 : 0)));
		if (i < 3 || i >= BINS - 7)
			v[i] = NAN;
	}
}

/* `before`: what stands before the series of all shapes, in a metric of its own; 0: nothing has a value there. */
static void scan(struct incident_store *s, struct findings *f, double before)
{
	uint64_t seed = 3;
	uint32_t at;

	begin(s);
	at = add(s, "before", 1);
	for (uint32_t i = 0; i < BINS; i++)
		s->series[at].v[i] = before > 0 ? (float)(before * normal(&seed)) : NAN;
	for (int shape = 0; shape < SHAPES; shape++) {
		at = add(s, "shape", shape == ECHO ? 8 : 1);
		for (; at < s->n_series; at++)
			fill(s->series[at].v, shape, at + 1);
	}
	*f = (struct findings){ 0 };
	scan_families(s, f);
}

/* Those of a series other than the first, from *at on. */
static const struct finding *next(const struct findings *f, uint32_t *at)
{
	while (*at < f->n && !f->f[*at].series)
		++*at;
	return *at < f->n ? &f->f[(*at)++] : NULL;
}

static void what_was_before_is_forgotten(void **state)
{
	struct incident_store s[2];
	struct findings f[2];
	const struct finding *x, *y;
	uint32_t at[2] = { 0 }, found[SHAPES + 8] = { 0 };

	(void)state;
	scan(&s[0], &f[0], 0);
	scan(&s[1], &f[1], 1e7);
	while ((x = next(&f[0], &at[0]))) {
		y = next(&f[1], &at[1]);
		assert_non_null(y);
		assert_int_equal(x->series, y->series);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->from, y->from);
		assert_int_equal(x->to, y->to);
		assert_true(x->score == y->score && x->usual == y->usual && x->value == y->value &&
			    x->recurs == y->recurs);
		found[x->series]++;
	}
	assert_null(next(&f[1], &at[1]));
	for (uint32_t k = 1; k < s[0].n_series; k++) {
		assert_true(s[0].series[k].usual == s[1].series[k].usual);
		assert_true(k > SHAPES || found[k] > 0);
	}
	for (int k = 0; k < 2; k++) {
		free(f[k].f);
		store_release(&s[k]);
	}
}

UNIT_TESTS(cmocka_unit_test(what_was_before_is_forgotten))
