/* Finds waves in a series. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "report/incident/incident_scan.h"

#define HAMPEL       1.3 /* spreads from which on a value counts less; from twice as many on, not at all */
#define HAMPEL_TIMES 5
#define WAVE_SHARE   0.1 /* of the squares that its frequency has at least; less cannot leave so little */

/* In place; n is a power of two (Cooley and Tukey 1965). */
static void transform(double complex *v, uint32_t n)
{
	for (uint32_t i = 1, k = 0; i < n; i++) {
		uint32_t bit = n / 2;

		for (; k & bit; bit /= 2)
			k ^= bit;
		k ^= bit;
		if (i < k) {
			double complex swap = v[i];

			v[i] = v[k];
			v[k] = swap;
		}
	}
	for (uint32_t width = 2; width <= n; width *= 2) {
		double turn_c = cos(2 * M_PI / width), turn_s = -sin(2 * M_PI / width), c = 1, s = 0;

		for (uint32_t k = 0; k < width / 2; k++) {
			double next = c * turn_c - s * turn_s;

			for (uint32_t i = k; i < n; i += width) {
				double re = creal(v[i + width / 2]), im = cimag(v[i + width / 2]);
				double complex turned = c * re - s * im + (c * im + s * re) * I;

				v[i + width / 2] = v[i] - turned;
				v[i] += turned;
			}
			s = c * turn_s + s * turn_c;
			c = next;
		}
	}
}

/* What a wave of a frequency, in radians a value, is fitted by: a level, cosine, sine. */
struct wave {
	double turn, of[3];
};

/* The one that is nearest to work2 by least squares; returns how much of the sum of squares it explains. */
static double fit_wave(const struct scan *x, struct wave *w)
{
	double c = cos(w->turn), s = sin(w->turn), at = 1, across = 0, right[3] = { 0 }, explained = 0;
	/* Sums of cosine and sine over all values, and of those of twice the angle, which the squares come to. */
	double complex once = (1 - cexp(I * w->turn * x->n)) / (1 - cexp(I * w->turn));
	double complex twice = (1 - cexp(2 * I * w->turn * x->n)) / (1 - cexp(2 * I * w->turn));
	double m[3][4] = { { x->n, creal(once), cimag(once) },
			   { creal(once), (x->n + creal(twice)) / 2, cimag(twice) / 2 },
			   { cimag(once), cimag(twice) / 2, (x->n - creal(twice)) / 2 } };

	for (uint32_t i = 0; i < x->n; i++) {
		double next = c * at - s * across;

		right[0] += x->work2[i];
		right[1] += x->work2[i] * at;
		right[2] += x->work2[i] * across;
		across = s * at + c * across;
		at = next;
	}
	for (int k = 0; k < 3; k++)
		m[k][3] = right[k];
	for (int k = 0; k < 3; k++)
		for (int j = 0; j < 3; j++) {
			double times = j == k ? 0 : m[j][k] / m[k][k];

			for (int l = k; l < 4; l++)
				m[j][l] -= times * m[k][l];
		}
	for (int k = 0; k < 3; k++) {
		w->of[k] = m[k][3] / m[k][k];
		explained += right[k] * w->of[k];
	}
	return explained;
}

/* Subtracts a wave from the series, into work2; returns the spread of the rest. */
static double beside(struct scan *x, const struct wave *w)
{
	double c = cos(w->turn), s = sin(w->turn), at = w->of[1], across = w->of[2], level;

	for (uint32_t i = 0; i < x->n; i++) {
		double next = c * at + s * across;

		x->work2[i] = x->z[i] - w->of[0] - at;
		across = c * across - s * at;
		at = next;
	}
	return scan_spread(x->work, x->work2, x->n, &level);
}

bool take_wave(struct scan *x)
{
	double best = 0, before, spread, squares = 0, turn_c, turn_s, c, s;
	struct wave w = { 0 };
	uint32_t n = 1, at = 1;

	while (n < 2 * x->n)
		n *= 2;
	c = turn_c = cos(2 * M_PI / n);
	s = turn_s = -sin(2 * M_PI / n);
	for (uint32_t i = 0; i < x->n; i++) {
		x->work2[i] = clipped(x->z[i], CLIP);
		squares += x->work2[i] * x->work2[i];
	}
	/* Real values, two as one complex number, and their transforms apart again. */
	memcpy(x->spectrum, x->work2, x->n * sizeof(double));
	memset((double *)x->spectrum + x->n, 0, (n - x->n) * sizeof(double));
	transform(x->spectrum, n / 2);
	for (uint32_t k = 1; k < n / 2; k++) {
		double complex a = x->spectrum[k], b = conj(x->spectrum[n / 2 - k]), sum = a + b, rest = a - b;
		double re = creal(sum) + s * creal(rest) + c * cimag(rest);
		double im = cimag(sum) + s * cimag(rest) - c * creal(rest);
		double power = (re * re + im * im) / 4, next = c * turn_c - s * turn_s;

		at = power > best ? k : at;
		best = power > best ? power : best;
		s = c * turn_s + s * turn_c;
		c = next;
	}
	if (2 * best < WAVE_SHARE * squares * x->n)
		return false;
	before = scan_spread(x->work, x->z, x->n, &spread);
	best = 0;
	for (double k = -0.75; k <= 0.75; k += 0.25) {
		struct wave near = { .turn = 2 * M_PI * (at + k) / n };
		double explained = fit_wave(x, &near);

		/* Less than most of one period may be anything. */
		if (explained > best && (at + k) * x->n >= 0.7 * n) {
			best = explained;
			w = near;
		}
	}
	/* Outliers must not bend it: Hampel's estimate, by adjusted values. */
	for (int k = 0; k < HAMPEL_TIMES && best > 0; k++) {
		spread = HAMPEL * beside(x, &w);
		for (uint32_t i = 0; i < x->n; i++) {
			double d = fabs(x->work2[i]) < 2 * spread ? clipped(x->work2[i], spread) : 0;

			x->work2[i] = x->z[i] - x->work2[i] + d;
		}
		fit_wave(x, &w);
	}
	if (!(best > 0 && beside(x, &w) < WAVE * before))
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		x->y[i] -= x->spread * (x->z[i] - x->work2[i]);
	return true;
}
