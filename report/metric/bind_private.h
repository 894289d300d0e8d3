/* What the files of the binding share; private to them. */
#pragma once

#include "report/metric/bind.h"
#include "report/metric/bind_class.h"
#include "report/metric/meaning.h"

#define BIND_MAX_COUNTERS 4096 /* counters that one name of a formula may mean */

struct builder {
	struct binding *b;
	const struct places *p;
	const struct bind_options *options;
	struct error *error;
	uint32_t *found;           /* scratch, BIND_MAX_COUNTERS */
	uint32_t *clock, n_clocks; /* likewise, beside found[] */
	struct buf text;           /* scratch */
	struct names taken;        /* names of the metrics so far */
	struct meaning meaning;
	const char *pmu; /* of the kind of CPUs for the current formula; NULL: of all */
	bool raw;        /* the current formula wants counts before a PMU's scale */
	bool twice;      /* some event was counted in several groups */
	bool *twin;      /* by counter id: the user's words for it stand for other PMUs, too */
	struct class_index classes;
	const struct class_choice *choice; /* of the current formula, if it is about a class of PMUs */
	const struct expr_input *formula;  /* inputs of the current formula, if events were opened twice */
	size_t n_formula;
	unsigned formulas; /* so far */
};

/* Takes ownership of an allocation, or of NULL; returns it, or NULL without memory. */
void *bind_own(struct binding *b, void *data);
/* A text that the binding owns, or NULL without memory. */
char *bind_text(struct binding *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether the user excluded the counter's source. */
bool bind_left_out(const struct builder *x, const struct pm_counter *c);
/* A metric of which nothing is known but that; NULL without memory. */
struct bound_metric *bind_new_metric(struct binding *b, const struct metric_about *about);
/* Whether the metric has events of that kind of CPUs and of no other. */
bool bind_is_of_kind(const struct builder *x, const struct bound_metric *m, const char *pmu);
/* Whether the literal is known to be 0. */
bool bind_is_zero(const struct places *p, const char *literal);
/* Adds the metrics that lack registers for all of their formulas. 0 or -errno. */
int bind_absent(struct builder *x);
/* Binds one row; of a family, the member that the formula calls `part`; `vendor` is a metric of a file. 0, also if
 * the recording cannot feed it, or -errno. */
int bind_row(struct builder *x, const struct metric *row, const char *member, const char *part, bool vendor);
/* `text` with every '*' replaced. `escape`: as an id of a formula, where a '*' that stands alone multiplies. */
char *bind_with_member(const char *text, const char *member, bool lower, bool escape);
/* Fills twin[]. 0 or -ENOMEM. */
int bind_find_twins(struct builder *x);
/* Adds the sum over all these PMUs, under the user's name. 0 or -errno. */
int bind_merged(struct builder *x, const struct pm_counter *c);
/* The perf event that counts what a register does, or NULL. */
const char *bind_stand_in(const char *counter);
/* Notes which PMUs of a kind are missing from an input that adds up all of them. 0 or -ENOMEM. */
int bind_shut(struct builder *x, struct bound_input *in);
/* The last metric's, if it is equal, else a copy; NULL without memory. */
const struct metric_about *bind_keep_about(struct binding *b, const struct metric_about *about);
/* What a row says, with what a formula takes now. */
struct metric_about bind_about(const struct builder *x, const struct metric *row);
/* An empty input; `more`: NULL, or it has that of another. NULL without memory. */
struct bound_input *bind_new_input(struct binding *b, struct input_more *more);
/* As bind_input(), for an input whose time is another counter's; the clocks go to `clock`, their number to *n. */
int64_t bind_clocked(struct builder *x, const struct expr_input *in, uint32_t *clock, uint32_t *n);
/* Starts binding the inputs of that formula. */
void bind_begin_formula(struct builder *x, const struct expr_input *in, size_t n);
/* Adds the clocks to the metric's inputs. 0 or -errno. */
int bind_add_clocks(struct builder *x, struct bound_metric *m, const uint32_t *clock, uint32_t n);
/* The place of the input in the binding, or -errno; inputs that are requested twice are kept once. */
int64_t bind_input(struct builder *x, const char *name, enum expr_aspect aspect);
/* Whether the input is known to have no value. */
bool bind_lacks(const struct bound_input *in);

/* Binds the row's threshold, if its inputs exist. 0 or -errno. */
int bind_threshold(struct builder *x, struct bound_metric *m, const struct metric *row);
