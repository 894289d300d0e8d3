/* Boots and other sessions as a random effect: memory layout and the order of services differ, and all runs until the
 * next boot share that. Runs of one boot against those of another are two values, however many runs there are. */
#include <math.h>
#include <stdbool.h>

#include "report/diff/verdict.h"

struct pool {
	double *value; /* or their logarithms, while session effects are removed */
	const uint32_t *session;
	size_t n_base, n;
};

struct part {
	double sum[2];
	size_t n[2];
};

static struct part part_of(const struct pool *p, uint32_t session)
{
	struct part out = { 0 };

	for (size_t i = 0; i < p->n; i++)
		if (p->session[i] == session) {
			out.sum[i >= p->n_base] += p->value[i];
			out.n[i >= p->n_base]++;
		}
	return out;
}

static bool is_first(const struct pool *p, size_t from, size_t at)
{
	for (size_t i = from; i < at; i++)
		if (p->session[i] == p->session[at])
			return false;
	return true;
}

/* The mean of a session is that of its sides' means, whatever their numbers. */
static void take_out(struct pool *p, size_t sessions)
{
	double whole = 0;

	for (int subtract = 0; subtract < 2; subtract++)
		for (size_t i = 0; i < p->n; i++) {
			struct part k;
			double mean;

			if (!is_first(p, 0, i))
				continue;
			k = part_of(p, p->session[i]);
			mean = (k.sum[0] / (double)k.n[0] + k.sum[1] / (double)k.n[1]) / 2;
			whole += subtract ? 0 : mean / (double)sessions;
			for (size_t j = i; j < p->n && subtract; j++)
				p->value[j] += p->session[j] == p->session[i] ? whole - mean : 0;
		}
}

/* Moves the means of a side's sessions to its front. */
static size_t join(struct pool *p, int side)
{
	size_t from = side ? p->n_base : 0, to = side ? p->n : p->n_base, n = 0;

	for (size_t i = from; i < to; i++)
		if (is_first(p, from, i)) {
			double sum = 0, runs = 0;

			for (size_t j = i; j < to; j++)
				if (p->session[j] == p->session[i]) {
					sum += p->value[j];
					runs++;
				}
			p->value[from + n++] = sum / runs;
		}
	return n;
}

size_t verdict_sessions(double *value, const uint32_t *session, size_t n[2])
{
	struct pool p = { value, session, n[0], n[0] + n[1] };
	bool logs = true, crossed = true;
	size_t sessions = 0;

	for (size_t i = 0; i < p.n; i++) {
		logs &= value[i] > 0;
		sessions += is_first(&p, 0, i);
	}
	if (sessions < 2 || sessions == p.n)
		return 0;
	for (size_t i = 0; i < p.n; i++) {
		struct part k = part_of(&p, session[i]);

		crossed &= k.n[0] && k.n[1];
	}
	for (size_t i = 0; i < p.n && logs; i++)
		value[i] = log(value[i]);
	if (crossed) {
		take_out(&p, sessions);
	} else {
		n[0] = join(&p, 0);
		n[1] = join(&p, 1);
	}
	for (size_t i = 0; i < p.n && logs; i++)
		value[i] = exp(value[i]);
	return crossed ? sessions : 0;
}
