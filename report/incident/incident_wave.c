/* Finds waves in a series. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "report/incident/incident_scan.h"

#define HAMPEL       1.3 /* spreads from which on a value counts less; not at all at twice as many */
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
		double complex turn = cexp(-2 * M_PI * I / width);

		for (uint32_t i = 0; i < n; i += width) {
			double complex w = 1;

			for (uint32_t k = i; k < i + width / 2; k++) {
				double complex a = v[k], b = v[k + width / 2] * w;

				v[k] = a + b;
				v[k + width / 2] = a - b;
				w *= turn;
			}
		}
	}
}

/* The wave of a frequency, in radians a value, that is nearest to work2 by least squares; returns how much of the sum
 * of squares it explains. */
static double fit_wave(const struct scan *x, double turn, double of[3])
{
	double m[3][4] = { { 0 } }, row[4] = { 1, 1, 0, 0 }, c = cos(turn), s = sin(turn);

	for (uint32_t i = 0; i < x->n; i++) {
		double next = c * row[1] - s * row[2];

		row[3] = x->work2[i];
		for (int k = 0; k < 3; k++)
			for (int j = k; j < 4; j++)
				m[k][j] += row[k] * row[j];
		row[2] = s * row[1] + c * row[2];
		row[1] = next;
	}
	m[1][0] = m[0][1];
	m[2][0] = m[0][2];
	m[2][1] = m[1][2];
	for (int k = 0; k < 3; k++)
		of[k] = m[k][3];
	for (int k = 0; k < 3; k++)
		for (int j = 0; j < 3; j++) {
			double times = j == k ? 0 : m[j][k] / m[k][k];

			for (int l = k; l < 4; l++)
				m[j][l] -= times * m[k][l];
		}
	for (int k = 0; k < 3; k++) {
		double right = of[k];

		of[k] = m[k][3] / m[k][k];
		c = k ? c + right * of[k] : right * of[k];
	}
	return c;
}

/* What the series is beside a wave, in work2; returns its spread. */
static double beside(struct scan *x, double turn, const double of[3])
{
	double complex at = 1, step = cexp(I * turn);
	double level;

	for (uint32_t i = 0; i < x->n; i++) {
		x->work2[i] = x->z[i] - of[0] - of[1] * creal(at) - of[2] * cimag(at);
		at *= step;
	}
	return scan_spread(x->work, x->work2, x->n, &level);
}

bool take_wave(struct scan *x)
{
	double best = 0, turn = 0, of[3], before, spread, squares = 0;
	uint32_t n = 1, at = 1;

	while (n < 2 * x->n)
		n *= 2;
	for (uint32_t i = 0; i < x->n; i++) {
		x->work2[i] = clipped(x->z[i], CLIP);
		squares += x->work2[i] * x->work2[i];
	}
	for (uint32_t i = 0; i < n; i++)
		x->spectrum[i] = i < x->n ? x->work2[i] : 0;
	transform(x->spectrum, n);
	for (uint32_t k = 1; k < n / 2; k++)
		if (cabs(x->spectrum[k]) > best) {
			best = cabs(x->spectrum[k]);
			at = k;
		}
	if (2 * best * best < WAVE_SHARE * squares * x->n)
		return false;
	before = scan_spread(x->work, x->z, x->n, &spread);
	best = 0;
	for (double k = -0.75; k <= 0.75; k += 0.25) {
		double explained = fit_wave(x, 2 * M_PI * (at + k) / n, of);

		/* Less than most of a wave may be anything. */
		if (explained > best && (at + k) * x->n >= 0.7 * n) {
			best = explained;
			turn = 2 * M_PI * (at + k) / n;
		}
	}
	/* What stands out shall not bend it: Hampel's estimate, by adjusted values. */
	fit_wave(x, turn, of);
	for (int k = 0; k < HAMPEL_TIMES; k++) {
		spread = HAMPEL * beside(x, turn, of);
		for (uint32_t i = 0; i < x->n; i++) {
			double d = fabs(x->work2[i]) < 2 * spread ? clipped(x->work2[i], spread) : 0;

			x->work2[i] = x->z[i] - x->work2[i] + d;
		}
		fit_wave(x, turn, of);
	}
	if (!(best > 0 && beside(x, turn, of) < WAVE * before))
		return false;
	for (uint32_t i = 0; i < x->n; i++)
		x->y[i] -= x->spread * (x->z[i] - x->work2[i]);
	return true;
}
