/* The current series, for the files that scan it. */
#pragma once

#include <complex.h>

#include "report/incident/incident_private.h"

#define VALUES_LEAST 8
#define LENGTHS      16
#define ORDER_MOST   16
#define CLIP         4.0
#define OUTLIERS     3     /* at most, of one length; more are usual */
#define TAIL         20    /* peaks that describe the tail */
#define PRIOR        20    /* weight of the normal distribution beside them */
#define WRONG        0.002 /* incidents that chance may produce in a recording */
#define MEMBER       3.5   /* standard errors from which on a series joins what its family does */
#define STRETCHES    12    /* of a family */
#define PEAKS        48    /* most peaks of scan_apart() */
#define WAVE         0.9 /* of the spread that may be left for a wave to be one, or for what all do to be taken off */

/*
 * A series as it is judged: standard errors by value, and by the length of a stretch what its sum scatters by. PLAIN
 * is the series itself; WHITE has taken from each value what those around it foretell (C^-1 x, with C the covariance
 * of an autoregression that is fitted to the series), so that sums over a stretch are its best test before any
 * background that resembles itself: waves, slow changes, correlated noise.
 */
enum view { PLAIN, WHITE, VIEWS };
struct viewed {
	double *sum;           /* of values up to there; n + 1 */
	double error[LENGTHS]; /* by length; 0: not looked at */
	/* Likewise, of a value: of what is skewed, such as bursts, the usual sum is not that of the usual values. */
	double mean[LENGTHS];
};

struct scan {
	struct incident_store *s;
	struct findings *out;
	double *y, *z, *work, *work2; /* by value */
	double *with_waves;           /* y before waves were taken off; only if `waves` were */
	complex double *spectrum;
	double *common;  /* by bin: what all of its family do at the same time, in spreads of that */
	bool has_common; /* another row shows that: it says nothing about any of them */
	uint32_t *bin;   /* of value */
	struct viewed view[VIEWS];
	uint32_t views, waves;
	double level, spread;
	double limit_least; /* what no family has a lower limit than, whatever it does */
	double least;       /* the least spread that chance gives it */
	uint32_t n;
	uint32_t equals; /* series of its family */
	uint32_t at;     /* the series that all this is of; PM_NONE: none, or its values have changed */
	bool good;       /* what scan_series() said of it */
	bool near;       /* values resemble the ones beside them, perhaps by chance */
	int err;
};
extern const uint32_t scan_length[LENGTHS];

enum side { UP, DOWN, SIDES };

struct peak {
	float size;    /* standard errors; 0: none */
	uint32_t from; /* bin */
	uint32_t series;
};
struct stretch {
	enum view view;
	enum side side;
	uint32_t from, to; /* bins */
	uint32_t series;   /* that shows it best */
	double size, limit;
	double recurs; /* as of a finding */
};
struct family {
	const uint32_t *series;
	uint32_t n;
	struct peak *peak[VIEWS][SIDES][LENGTHS]; /* owned: one for each scan_length[] of bins */
	struct stretch stretch[STRETCHES];
	uint32_t n_stretches;
	uint32_t n_alike; /* of them that resemble themselves */
	bool in_sum;      /* rows for many of them have the metric, too */
};

static inline uint32_t blocks_of(const struct scan *x, uint32_t l)
{
	return x->s->used / scan_length[l] + 1;
}

static inline double energy(const struct peak *p)
{
	return (double)p->size * (double)p->size / 2;
}

/* The largest of the peaks of blocks of scan_length[l] that lie apart by `reach` more than twice that; largest first.
 */
uint32_t scan_apart(struct scan *x, const struct peak *block, uint32_t l, uint32_t reach, struct peak *out,
		    uint32_t most);
/* Finds what repeats at a fixed distance, reports it, and leaves the rest. False: nothing repeats. */
bool take_rhythm(struct scan *x, struct family *f, enum side side, double tests);

/* Of n values around their median, in *level; `work` has room for as many, or is the values. */
double scan_spread(double *work, const double *v, uint32_t n, double *level);
/* The same; 0 if it is at most `least`. */
double scan_spread_above(double *work, const double *v, uint32_t n, double least, double *level);
/* The values of a series, its level, and how it is judged; a drift is taken off, and reported if `report`. False:
 * nothing can be said of it. */
bool scan_series(struct scan *x, uint32_t series, bool report);
void scan_report(struct scan *x, struct finding f);

static inline double clipped(double z, double at)
{
	return z > at ? at : z < -at ? -at : z;
}

/* Compares the series of one metric at `many` places of one kind: finds what all of them do (has_common), and reports
 * one that differs throughout. */
void find_common(struct scan *x, const uint32_t *series, uint32_t many);
void compare_peers(struct scan *x, const uint32_t *series, uint32_t many);
/* Removes the strongest wave. False: that hardly changes the series. */
bool take_wave(struct scan *x);
