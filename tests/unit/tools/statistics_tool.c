/*
 * For tests/unit/tools/statistics_diff.py: reads a line "WORD NUMBER...", answers with a line of numbers.
 *
 *   quantile P DF | welch N A... B... | ranks N A... B... | discovery P... | batches K X...
 *   time X... | verdict MARGIN RUN_SD N A... B...       B is what is left
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/numbers/statistics.h"
#include "report/diff/verdict.h"

#define LINE_MAX_BYTES (1 << 20)

static void answer(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%s%.17g", i ? " " : "", x[i]);
	putchar('\n');
}

static void welch(const double *x, size_t n)
{
	size_t a = (size_t)x[0];
	struct statistics_estimate e =
		statistics_difference(statistics_of(x + 1, a), statistics_of(x + 1 + a, n - 1 - a));

	answer((double[]){ e.value, e.error, e.df, statistics_p(e, 0), statistics_half_width(e, 0.95) }, 5);
}

static void discovery(const double *p, size_t n)
{
	double *q = calloc(n, sizeof(*q));

	if (q)
		statistics_false_discovery(p, q, n);
	if (q)
		answer(q, n);
	free(q);
}

static void verdict(const double *x, size_t n)
{
	struct verdict_rules rules = {
		.margin = x[0],
		.alpha = 0.05,
		.run_sd = x[1],
		.better = METRIC_LOWER,
	};
	struct verdict_side base = { .value = x + 3, .n = (size_t)x[2] };
	struct verdict_side fresh = { .value = x + 3 + base.n, .n = n - 3 - base.n };
	struct verdict v = verdict_measure(&base, &fresh, &rules);

	v.q = v.p;
	verdict_decide(&v, &rules);
	answer((double[]){ v.ratio, v.low, v.high, v.p, v.ranks, v.kind, (double)v.needed }, 7);
}

int main(void)
{
	char *line = malloc(LINE_MAX_BYTES);
	double *x = malloc(LINE_MAX_BYTES / 2 * sizeof(*x));

	while (line && x && fgets(line, LINE_MAX_BYTES, stdin)) {
		char *word = strtok(line, " \n"), *number;
		struct statistics_estimate e;
		size_t n = 0;

		while ((number = strtok(NULL, " \n")))
			x[n++] = strtod(number, NULL);
		if (!word)
			continue;
		if (!strcmp(word, "quantile"))
			answer((double[]){ statistics_t_quantile(x[0], x[1]) }, 1);
		else if (!strcmp(word, "welch"))
			welch(x, n);
		else if (!strcmp(word, "ranks"))
			answer((double[]){ statistics_rank_sum(x + 1, (size_t)x[0], x + 1 + (size_t)x[0],
							       n - 1 - (size_t)x[0]) },
			       1);
		else if (!strcmp(word, "discovery"))
			discovery(x, n);
		else if (!strcmp(word, "batches")) {
			e = statistics_batch_means(x + 1, n - 1, (size_t)x[0]);
			answer((double[]){ e.value, e.error, e.df }, 3);
		} else if (!strcmp(word, "verdict"))
			verdict(x, n);
		else
			return 1;
	}
	free(line);
	free(x);
	return 0;
}
