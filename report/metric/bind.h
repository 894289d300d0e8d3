/*
 * What a recording can show: every metric definition whose counters it has, and every counter as a metric of its own
 * name, tied to the counters that feed it. Metric families ("cpuidle.time.*") become one metric a member; literals
 * (#smt_on) and other facts of the machine come from the recording, never from the machine that replays it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/catalog/pmu_class.h"
#include "common/error.h"
#include "common/event/vendor_events.h"
#include "common/metric/expr.h"
#include "common/metric/metric.h"
#include "format/model.h"
#include "report/machine/places.h"
#include "report/metric/vendor_files.h"

/*
 * What is computed from each reading before readings of several places are combined: so a package's energy counts in
 * its own unit even where packages differ. `number` below is a fact of the processor at the place of the reading.
 */
enum input_op {
	INPUT_PLAIN,
	INPUT_BITS,   /* a field of a register */
	INPUT_BELOW,  /* number - field */
	INPUT_TIMES,  /* x number; 0 whatever was read where the number is 0 */
	INPUT_OVER,   /* / number */
	INPUT_RULE,   /* as it is, combined by another rule than the counter's */
	INPUT_NUMBER, /* the number alone */
	INPUT_SPAN,   /* microseconds that the last reading took */
	INPUT_WALL,   /* seconds since 1970 at the end of the interval */
};

/* A PMU of a kind whose event was not recorded. */
struct bound_shut {
	const char *pmu; /* borrowed from the model */
	uint32_t cpu;    /* of its package; PM_NONE: it may be anywhere */
	uint16_t reason;
};

/* What only inputs of formulas have: counters as metrics, of which there may be very many, share an empty one. */
struct input_more {
	char *name;      /* NULL for a counter as a metric */
	uint32_t *clock; /* NULL, or beside each counter the id of one that has to count with it; 0: none */
	double *bytes;   /* NULL, or beside each counter how many bytes one of its numbers stands for */
	union {
		struct value value; /* of a constant */
		struct {
			const char *fact; /* literal whose value at the place is `number`; NULL: none */
			double fixed;     /* the number for all places, if it is not 0 */
		};
	};
	const char *whole;       /* name of a metric: its value for the system is the input; NULL: of none */
	struct bound_shut *shut; /* what makes a sum of all PMUs of the kind missing */
	uint32_t n_shut;
	enum pm_aggregation rule : 8; /* of what is computed from a counter */
	bool own_rule;                /* the counter's instead */
	uint8_t op;                   /* input_op */
	uint8_t hi, lo;               /* the bits of a field */
	enum pm_kind first_of : 8;    /* only what the first CPU of each such place has read; PM_SYSTEM: all */
	uint8_t valid;                /* bit that has to be set for the field to count; 0: none */
};

/* One number that formulas ask for; formulas that ask for the same share it. The binding owns what it points to. */
struct bound_input {
	uint32_t *counter; /* ids; their values are added up */
	struct input_more *more;
	uint32_t n_counters;
	enum expr_aspect aspect : 8;
	enum pm_kind kind : 8; /* the level that its instances are at */
	bool rate;             /* per second, by each instance's own time */
	bool constant;         /* `more->value` is all there is to know */
	bool duration;         /* the length of the interval in seconds */
};

struct bound_threshold {
	struct expr *expr; /* not zero: the value is bad, zero: good, missing: unknown */
	uint32_t *input;   /* places in binding.input */
	uint32_t n_inputs;
};

/* What says what metrics are: counters one after another that say the same have it once. */
struct metric_about {
	const char *unit, *help, *aliases, *categories; /* "" if there are none */
	const char *requests; /* of a mean: the metric that says of how many; NULL: none does */
	const char *pmu;      /* the only kind of CPUs whose events it takes; NULL: of all */
	double margin;        /* smallest relative change that matters; 0: the default */
};

struct bound_metric {
	const char *name, *display;
	const struct metric_about *about; /* owned by the binding */
	struct expr *expr;                /* owned; NULL: input 0 as it is */
	uint32_t *input;                  /* places in binding.input */
	uint32_t n_inputs;
	uint32_t counter;                  /* id, for a counter as a metric; else 0 */
	struct bound_threshold *threshold; /* owned; NULL: its values are not judged */
	enum pm_kind kind : 8;             /* lowest level at which it means something */
	enum metric_better better : 3;
	enum metric_fault fault : 3;
	bool default_on : 1; /* shown without being requested */
	bool estimate : 1;   /* an estimate: its values say so */
	bool share : 1;      /* it says how much of something: not more than 100 */
	bool vendor : 1;     /* of a --metrics-file */
	bool added : 1;      /* by --add: turbostat's text keeps it, whatever other columns are shown or hidden */
	bool foreign : 1;    /* the turbostat whose columns are wanted does not have it */
	bool by_die : 1;     /* of a package, but each of its dies has a value of its own */
	bool unlikely : 1;   /* the model of the processor is known not to have it */
	bool absent : 1;     /* it has no number anywhere; the value of its input says why */
	uint8_t precision;
	uint8_t digits; /* a register as it is, with so many hexadecimal digits; 0: a number */
};

/* The counters of a model by all names that formulas have for them. */
struct bind_index;

/* Counters as metrics borrow their texts from the model, so that a recording of very many costs little: a binding
 * must be released before its model goes. */
struct binding {
	struct bound_metric *metric;
	size_t n_metrics;
	struct bound_input *input;
	size_t n_inputs;
	struct names input_names;        /* "aspect name" -> place */
	struct bind_index *index;        /* owned */
	struct metric_set recorded;      /* owned: vendor's metrics requested from pmrec */
	const struct metric_set *vendor; /* borrowed: all that --metrics-file offered, fed or not */
	size_t n_vendor;
	void **owned; /* texts and arrays that belong to the binding */
	size_t n_owned;
};

struct bind_options {
	bool rate;            /* counters as metrics: per second */
	bool counters_only;   /* no metric of a definition */
	bool no_msr, no_perf; /* as if these sources had not been recorded */
	bool per_kind;        /* where there are several kinds of CPUs: metrics of their events once for each */
	bool absent;          /* metrics, too, whose registers were tried and could not be read: `absent` */
	/* Which definitions of our tables, because others cannot be shown; NULL, or where -M requested metrics when
	 * recording: all. */
	bool (*wanted)(const struct metric *row);
	unsigned tj_max; /* Celsius, instead of what was recorded; 0: none */
	/* Columns of registers and files that were recorded at each interval; borrowed. */
	const struct add *added;
	size_t n_added;
	/* Order and defaults; AUTO: turbostat's if there are registers of the processor. */
	enum { COLUMNS_AUTO, COLUMNS_OWN, COLUMNS_TURBOSTAT } columns;
	struct vendor_files *files; /* of --metrics-file; borrowed; or NULL, and then these: */
	const struct metric_set *vendor;
	size_t n_vendor, n_packed;    /* the last n_packed count for less than recorded definitions */
	struct vendor_events *events; /* names of a vendor's events that formulas may use, or NULL; borrowed */
};

/* Binds all that the recording can feed. Metrics without their counters are left out; bind_missing() names what they
 * lack. 0 or -errno. */
int binding_build(struct binding *b, const struct places *p, const struct bind_options *options, struct error *e);
void binding_release(struct binding *b);
/* The metric whose value for the system is the input, bound before those that use it; NULL: none. */
const struct bound_metric *bind_whole(const struct binding *b, const struct input_more *i);
/* The input as a set of TRACK_ bits that the replay has to deliver for its counters. */
unsigned bound_input_aspects(const struct bound_input *i);
/* The first counter or literal that a definition asks for and the recording lacks; NULL if it can be fed. Valid until
 * the next call with the same buffer. */
const char *bind_missing(const struct binding *b, const struct places *p, const struct metric *m,
			 struct buf *scratch);

/*
 * turbostat's columns in its order: `name` is a metric, '*' in it stands for the members of a family. A metric that
 * is not among them comes after them.
 */
struct turbostat_column {
	const char *name;
	uint8_t on;         /* turbostat's text, our table: which show it without being asked to */
	bool in;            /* the imitated turbostat (2022) has it */
	uint8_t level;      /* whose first CPU has it in its row */
	bool own;           /* only where each core has one of its own */
	const char *groups; /* words that stand for it in turbostat's text; NULL: the metric's categories */
};

/* The metric's column, or NULL. */
const struct turbostat_column *turbostat_column(const struct bound_metric *m);
/* Whether turbostat shows the metric's column without being asked to. */
bool turbostat_shows(const struct bound_metric *m);
/* The input's number at the place of an instance; NaN: not known. */
double bind_number(const struct places *p, const struct bound_input *in, const struct pm_instance *i);
/* The number of machine facts (#name without '#'); false: unknown name. Missing facts are a missing value. */
bool bind_literal(const struct places *p, const char *name, struct value *v);
/* Counters that a name of a formula stands for: ids into `found` (at most `max`), the number of all. */
uint32_t bind_counters(const struct bind_index *x, const char *name, uint32_t *found, uint32_t max);
/* Appends the counters of the metric, once for all PMUs of a kind. */
void bound_counters(const struct binding *b, const struct bound_metric *metric, struct buf *out);
/* `bytes` of the recorded perf_event_attr from `at` on as a number; it has the byte order of its machine, and 0 after
 * its end. */
uint64_t bind_attr(const struct pm_model *m, const struct pm_counter *c, size_t at, size_t bytes);

/* Splits "nvidia_ucf/cycles/"; NULL: not an event of a class. */
const struct pmu_class_event *class_event_named(const char *name, const struct pmu_class **class);
/* The names that pmrec's -M requested, from 0 on; NULL after the last. */
const char *recorded_name(const struct pm_model *m, uint32_t i);
/*
 * Whether the metric is an amount, which doubles in twice the time, as counts do and rates and shares do not. It
 * evaluates the formula with made-up numbers, because formulas do not say.
 */
bool metric_is_amount(const struct binding *b, const struct bound_metric *m, const struct pm_model *model);
