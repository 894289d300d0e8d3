/*
 * How often `pmrep diff` is wrong: pairs of sets of simulated runs go through its own statistics. Every run is a
 * series of 600 samples that resembles itself (a first-order autoregression) around a level that varies from run to
 * run.
 *
 *   sim_diff [PAIRS [SEED]]
 *
 * Prints the share of pairs without any change that were called REGRESSED, by lag-1 autocorrelation, deviation from
 * run to run and runs a side; with one run a side, the share whose interval excludes 1 (it is never called
 * REGRESSED or IMPROVED, which is checked); and the power to see more work. Then comparisons of many gates whose runs are
 * of other kinds, and the share of them that call any gate REGRESSED.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/numbers/statistics.h"
#include "report/diff/verdict.h"

#define SAMPLES  600
#define RUNS_MAX 20
#define DRIFT    0.02

struct world {
	double rho;    /* lag-1 autocorrelation */
	double cv;     /* coefficient of variation of the samples of a run */
	double run_sd; /* relative standard deviation of the level of a run */
	double effect; /* relative change of the new side */
	size_t runs;
};

struct outcome {
	unsigned verdict[VERDICT_ABSENT + 1];
	unsigned excluded; /* intervals without 1 */
};

static double uniform(struct statistics_random *r)
{
	return (double)((statistics_random(r) >> 11) + 1) / 0x1p53;
}

static double gauss(struct statistics_random *r)
{
	return sqrt(-2 * log(uniform(r))) * cos(2 * M_PI * uniform(r));
}

static struct statistics_estimate simulate_run(const struct world *w, double factor, struct statistics_random *r)
{
	double level = 1000 * factor * exp(w->run_sd * gauss(r)), x = gauss(r), series[SAMPLES];

	for (size_t i = 0; i < SAMPLES; i++) {
		series[i] = level * (1 + w->cv * x);
		x = w->rho * x + sqrt(1 - w->rho * w->rho) * gauss(r);
	}
	return statistics_batch_means(series, SAMPLES, 10);
}

static struct outcome simulate(const struct world *w, unsigned pairs, struct statistics_random *r)
{
	const struct verdict_rules rules = {
		.margin = 0.02,
		.alpha = 0.05,
		.run_sd = NAN,
		.better = METRIC_LOWER,
	};
	struct outcome out = { 0 };

	for (unsigned k = 0; k < pairs; k++) {
		double value[2][RUNS_MAX], error[2][RUNS_MAX];
		struct verdict_side side[2];
		struct verdict v;

		for (int s = 0; s < 2; s++) {
			for (size_t i = 0; i < w->runs; i++) {
				struct statistics_estimate e = simulate_run(w, s ? 1 + w->effect : 1, r);

				value[s][i] = e.value;
				error[s][i] = e.error;
			}
			side[s] = (struct verdict_side){ value[s], error[s], w->runs };
		}
		v = verdict_measure(&side[0], &side[1], &rules);
		v.q = v.p_tested;
		verdict_decide(&v, &rules);
		out.verdict[v.kind]++;
		out.excluded += v.low > 1 || v.high < 1;
	}
	return out;
}

/* ---- kinds of runs ---- */

/* One side's runs of a gate, around 1. */
typedef void (*draw_fn)(double *v, size_t n, bool fresh, struct statistics_random *r);

static void normal(double *v, size_t n, double sd, struct statistics_random *r)
{
	for (size_t i = 0; i < n; i++)
		v[i] = exp(sd * gauss(r));
}

static void draw_normal(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	normal(v, n, 0.01, r);
}

static void draw_wide(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	normal(v, n, fresh ? 0.1 : 0.01, r);
}

static void draw_lognormal(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	normal(v, n, 0.5, r);
}

/* What lies above the least time, with such a tail. */
static void pareto(double *v, size_t n, double shape, struct statistics_random *r)
{
	for (size_t i = 0; i < n; i++)
		v[i] = 1 + 0.01 * pow(uniform(r), -1 / shape);
}

static void draw_pareto15(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	pareto(v, n, 1.5, r);
}

static void draw_pareto25(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	pareto(v, n, 2.5, r);
}

static void bimodal(double *v, size_t n, double share, double other, struct statistics_random *r)
{
	normal(v, n, 0.01, r);
	for (size_t i = 0; i < n; i++)
		v[i] *= uniform(r) < share ? other : 1;
}

static void draw_bimodal50(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	bimodal(v, n, 0.5, 1.2, r);
}

static void draw_bimodal30(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	bimodal(v, n, 0.3, 1.2, r);
}

static void draw_outliers(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	bimodal(v, n, 0.1, 1.5, r);
}

static void draw_ar(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	double x = gauss(r);

	(void)fresh;
	for (size_t i = 0; i < n; i++) {
		v[i] = exp(0.02 * x);
		x = 0.8 * x + 0.6 * gauss(r);
	}
}

static void draw_ar_wide(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	draw_ar(v, n, fresh, r);
	for (size_t i = 0; i < n; i++)
		v[i] = pow(v[i], 2.5);
}

static void draw_level(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	normal(v, n, 0.005, r);
}

static void draw_warm(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	normal(v, n, 0.01, r);
	for (size_t i = 0; i < n; i++)
		v[i] *= 1 + 0.2 * exp(-(double)i);
}

static void draw_zeros(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	for (size_t i = 0; i < n; i++)
		v[i] = uniform(r) < 0.6 ? 0 : exp(gauss(r));
}

static void draw_rare(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	for (size_t i = 0; i < n; i++)
		v[i] = uniform(r) < 0.9 ? 0 : 1000 * exp(gauss(r));
}

/* Run after run slower, one side after the other, and now and then in another mode. */
static void draw_drift(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	bimodal(v, n, 0.5, 1.2, r);
	for (size_t i = 0; i < n; i++)
		v[i] *= 1 + DRIFT * (double)(i + (fresh ? n : 0)) / (2 * (double)n);
}

static void draw_poisson(double *v, size_t n, bool fresh, struct statistics_random *r)
{
	(void)fresh;
	for (size_t i = 0; i < n; i++) {
		double p = 1;

		for (v[i] = -1; p > exp(-3); v[i]++)
			p *= uniform(r);
	}
}

/* Boots of which each shifts its runs by 2 %: one a side, one for two runs of a side, one for two runs of both. */
enum boots { ONE, EACH, NESTED, CROSSED };

static const struct kind {
	const char *name;
	draw_fn draw;
	double power; /* wanted at 5 % more, ten against ten; 0: none */
	enum boots boots;
} kinds[] = {
	{ "normal, SD 1 %", draw_normal, 0.8 },
	{ "SD 1 % against 10 %", draw_wide, 0 },
	{ "lognormal, SD 0.5", draw_lognormal, 0 },
	{ "Pareto 1.5 over 1", draw_pareto15, 0.5 },
	{ "Pareto 2.5 over 1", draw_pareto25, 0.5 },
	{ "bimodal 50/50, 20 %", draw_bimodal50, 0 },
	{ "bimodal 70/30, 20 %", draw_bimodal30, 0 },
	{ "10 % outliers, 50 %", draw_outliers, 0.5 },
	{ "AR(0.8), SD 2 %", draw_ar, 0 },
	{ "AR(0.8), SD 5 %", draw_ar_wide, 0 },
	{ "warm-up, 20 %", draw_warm, 0 },
	{ "60 % zeros", draw_zeros, 0 },
	{ "90 % zeros", draw_rare, 0 },
	{ "bimodal, drift 2 %", draw_drift, 0 },
	{ "Poisson, mean 3", draw_poisson, 0 },
	{ "a boot a side", draw_level, 0, EACH },
	{ "boots of two runs", draw_level, 0, NESTED },
	{ "boots of both sides", draw_level, 0.8, CROSSED },
};

#define GATES_MOST 200

static uint32_t boot_of(enum boots boots, int side, size_t run)
{
	return boots == ONE  ? 0 :
	       boots == EACH ? (uint32_t)side :
			       (uint32_t)(run / 2 * 2) + (boots == NESTED && side);
}

/* Draws both sides of a gate, and leaves what is tested of them; the number of boots that were taken out. */
static size_t draw(const struct kind *kind, double effect, double value[2 * RUNS_MAX], size_t n[2],
		   struct statistics_random *r)
{
	double shift[RUNS_MAX + 2];
	uint32_t boot[2 * RUNS_MAX];
	size_t before = n[0];

	for (size_t i = 0; i < RUNS_MAX + 2; i++)
		shift[i] = kind->boots ? exp(0.02 * gauss(r)) : 1;
	for (int s = 0; s < 2; s++) {
		kind->draw(value + (s ? before : 0), n[s], s, r);
		for (size_t i = 0; i < n[s]; i++) {
			size_t at = (s ? before : 0) + i;

			boot[at] = boot_of(kind->boots, s, i);
			value[at] *= shift[boot[at]] * (s ? 1 + effect : 1);
		}
	}
	return verdict_sessions(value, boot, n);
}

/* Whether a comparison of so many gates calls any of them REGRESSED; one of them has more work by `effect`. */
static bool pipeline(const struct kind *kind, const size_t runs[2], size_t gates, double effect,
		     struct statistics_random *r)
{
	struct verdict_rules rules = { .margin = 0.02, .alpha = 0.05, .run_sd = NAN, .better = METRIC_LOWER };
	static struct verdict v[GATES_MOST];
	static double p[GATES_MOST], q[GATES_MOST], value[GATES_MOST][2 * RUNS_MAX];
	struct verdict_side side[GATES_MOST][2];
	bool found = false;

	for (size_t g = 0; g < gates; g++) {
		size_t n[2] = { runs[0], runs[1] };

		rules.sessions = draw(kind, g ? 0 : effect, value[g], n, r);
		rules.by_session = n[0] < runs[0];
		for (int s = 0; s < 2; s++)
			side[g][s] = (struct verdict_side){ value[g] + (s ? runs[0] : 0), NULL, n[s] };
	}
	if (!kind->boots)
		rules.order = verdict_order(side, gates);
	for (size_t g = 0; g < gates; g++) {
		v[g] = verdict_measure(&side[g][0], &side[g][1], &rules);
		p[g] = v[g].p_tested;
	}
	statistics_false_discovery(p, q, gates);
	for (size_t g = 0; g < gates; g++) {
		v[g].q = q[g];
		verdict_decide(&v[g], &rules);
		found |= v[g].kind == VERDICT_REGRESSED;
	}
	return found;
}

static bool pipelines(unsigned pairs, const char *only, struct statistics_random *r)
{
	static const size_t runs[][2] = { { 3, 3 },  { 4, 4 },  { 5, 5 },  { 10, 10 },
					  { 2, 20 }, { 20, 2 }, { 4, 10 }, { 20, 5 } };
	static const size_t gates[] = { 1, 20, 200 };
	bool good = true;

	printf("any of 1, 20, 200 gates REGRESSED without any change, %u pipelines a cell; and 5 %% more, 5 and "
	       "10 a side\n",
	       pairs);
	printf("%-20s", "runs");
	for (size_t n = 0; n < sizeof(runs) / sizeof(*runs); n++)
		printf("  %2zu against %-6zu", runs[n][0], runs[n][1]);
	printf("  power\n");
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		double power[2] = { 0 };

		if (!strstr(kinds[k].name, only))
			continue;
		printf("%-20s", kinds[k].name);
		for (size_t n = 0; n < sizeof(runs) / sizeof(*runs); n++) {
			printf(" ");
			for (size_t g = 0; g < 3; g++) {
				double share = 0;

				for (unsigned i = 0; i < pairs; i++)
					share += pipeline(&kinds[k], runs[n], gates[g], 0, r);
				share /= pairs;
				printf(" %.3f", share);
				/* Two standard errors of the share are allowed for. */
				good = good && share <= 0.05 + 2 * sqrt(0.05 * 0.95 / pairs);
			}
		}
		for (int n = 0; n < 2; n++)
			for (unsigned i = 0; i < pairs; i++)
				power[n] += (double)pipeline(&kinds[k], runs[n ? 3 : 2], 1, 0.05, r) / pairs;
		good = good && power[1] >= kinds[k].power;
		printf("  %.3f %.3f (wanted %.1f)\n", power[0], power[1], kinds[k].power);
	}
	return good;
}

int main(int argc, char **argv)
{
	static const double rho[] = { 0, 0.5, 0.9, 0.98 }, sd[] = { 0, 0.01, 0.02, 0.05 };
	static const size_t runs[] = { 1, 4, 5, 10 };
	unsigned pairs = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	struct statistics_random r = { argc > 2 ? strtoull(argv[2], NULL, 0) : 20260131 };
	bool good = true;
	double worst = 0;

	printf("no change, samples vary by 20 %%, %u pairs a cell:\n", pairs);
	printf("lag-1  run SD  1 a side: interval excludes 1  called REGRESSED at 4, 5, 10 a side  SAME at 10\n");
	for (size_t i = 0; i < sizeof(rho) / sizeof(*rho); i++) {
		for (size_t k = 0; k < sizeof(sd) / sizeof(*sd); k++) {
			struct outcome o[4];

			for (size_t n = 0; n < 4; n++) {
				struct world w = { rho[i], 0.2, sd[k], 0, runs[n] };
				double share;

				o[n] = simulate(&w, pairs, &r);
				share = (double)o[n].verdict[VERDICT_REGRESSED] / pairs;
				if (runs[n] == 1)
					good = good && !o[n].verdict[VERDICT_REGRESSED] &&
					       !o[n].verdict[VERDICT_IMPROVED];
				else
					worst = share > worst ? share : worst;
			}
			printf("%5.2f  %4.0f %%  %29.3f  %24.3f %.3f %.3f  %10.3f\n", rho[i], 100 * sd[k],
			       (double)o[0].excluded / pairs, (double)o[1].verdict[VERDICT_REGRESSED] / pairs,
			       (double)o[2].verdict[VERDICT_REGRESSED] / pairs,
			       (double)o[3].verdict[VERDICT_REGRESSED] / pairs,
			       (double)o[3].verdict[VERDICT_SAME] / pairs);
		}
	}
	printf("worst share of false REGRESSED with four or more a side: %.3f (limit 0.05)\n\n", worst);

	printf("5 %% more, samples vary by 5 %%, lag-1 0.5, %u pairs: called REGRESSED\n", pairs);
	printf("run SD  4 a side  5 a side  10 a side\n");
	for (size_t k = 0; k < 3; k++) {
		printf("%4.0f %%", 100 * sd[k]);
		for (size_t n = 1; n < 4; n++) {
			struct world w = { 0.5, 0.05, sd[k], 0.05, runs[n] };
			double share = (double)simulate(&w, pairs, &r).verdict[VERDICT_REGRESSED] / pairs;

			printf("  %8.3f", share);
			if (k == 1 && runs[n] == 5)
				good = good && share >= 0.9;
		}
		printf("\n");
	}
	printf("wanted at 1 %% and five a side: 0.9\n\n");
	good &= pipelines(pairs < 200 ? pairs : 200, argc > 3 ? argv[3] : "", &r);
	return !(good && worst <= 0.05);
}
