/*
 * Formulas over PMU classes (common/catalog/pmu_class.h): "nvidia_ucf/mem_bytes_rd/" is that event on every PMU of
 * the class. What a formula divides was best counted at once: of each PMU, its inputs come from one group, if one has
 * them all. What was counted with a filter is another quantity: there is one metric for each recorded set of filters.
 */
#pragma once

#include "common/catalog/pmu_class.h"
#include "report/metric/bind.h"

/* A PMU of the recording. */
struct class_pmu {
	const struct pmu_class *class; /* NULL: none */
	uint32_t kin;    /* place of the first PMU with the same CPUs whose name differs in digits at most */
	uint16_t reason; /* why a requested event of it is not in the recording; PM_OK: nobody requested it */
	bool refused;    /* that is the reason of an event, not of the whole PMU */
	bool recorded;   /* some event of it is in the recording */
};

struct class_counter {
	uint32_t counter; /* id */
	uint32_t group;
	const char *pmu; /* borrowed from the model */
	const struct pmu_class *class;
	const struct pmu_class_event *event;
	uint32_t filter;   /* place in filter[] */
	uint32_t first;    /* place of the PMU's first row */
	uint64_t words[3]; /* the PMU's filters: attr words without the event's code */
	bool clock;
};

struct class_index {
	struct class_counter *row; /* owned; PMU by PMU and group by group, as they were recorded */
	size_t n;
	uint32_t *sorted; /* owned: places of rows by PMU, event, filter and group */
	char **filter;    /* owned; distinct texts, the first is "" */
	uint32_t n_filters;
	struct class_pmu *pmu; /* owned; beside pmu[] of the model */
	struct names pmus;     /* their names -> places */
};

/* Which counters one formula takes, under one set of filters. */
struct class_choice {
	const struct pmu_class *class;
	const struct class_index *index;
	uint32_t filter;
	bool *taken; /* owned: of each row of the index */
	size_t n;    /* PMUs that can feed the formula */
};

void class_index_build(struct class_index *x, const struct pm_model *m);
void class_index_release(struct class_index *x);

/* The class that the text of a formula names first, or NULL. */
const struct pmu_class *class_of_formula(const char *text);
/* Splits "nvidia_ucf/cycles/"; NULL: not an event of a class. */
const struct pmu_class_event *class_event_named(const char *name, const struct pmu_class **class);
/* What a formula with these inputs takes; choice->n is 0 if nothing can feed it. */
void class_choose(struct class_choice *choice, const struct class_index *index, const struct pmu_class *class,
		  uint32_t filter, const struct expr_input *in, size_t n);
void class_choice_release(struct class_choice *choice);
/* Counters of the event, and the clock beside each (0: none), at most `max`. */
uint32_t class_counters(const struct class_choice *choice, const struct pmu_class_event *event, uint32_t *found,
			uint32_t *clock, uint32_t max);
