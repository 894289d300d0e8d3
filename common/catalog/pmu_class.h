/*
 * Classes of PMUs for which sysfs says less than a tool needs: units, defaults of filters, which events make a useful
 * set, what cannot be counted together. A PMU belongs to a class by its identifier, or else by its name, because
 * kernels have called the same hardware by several names.
 */
#ifndef COMMON_CATALOG_PMU_CLASS_H
#define COMMON_CATALOG_PMU_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmu_class_event {
	const char *name;
	uint64_t code;
	const char *unit; /* UCUM; NULL: "1" */
	const char *help;
	/* In place of the code, where the kernel may not name it: "event=0x0a,rdwrmask=0x1", or NULL. */
	const char *terms;
	/* Where these mean that: a format that its PMU must have, "umask=config:8-15", or the processor's family,
	 * "family=26"; NULL: wherever the PMU takes the terms. */
	const char *where;
};

/* A term that selects a part of what is counted. */
struct pmu_class_filter {
	const char *name;
	uint64_t all; /* its value for "everything"; 0: it has none */
	uint8_t part; /* filters of one part are filled in together, and only if none of them was given; 0: never */
	const char *help;
};

struct pmu_class {
	const char *name; /* stands for all its PMUs in -e and in formulas: "nvidia_ucf" */
	const char *title;
	/* What its PMUs are called, of vendors whose PMUs need no rules beyond sysfs: names separated by ',' in which
	 * '#' is a number and '*' the rest. Or NULL; then the next members say it. */
	const char *pmu;
	const char *stem;                      /* "pcie" of nvidia_pcie_pmu_0_rc_1 */
	const char *old_stem;                  /* what kernels before called it, or NULL */
	bool per_rc;                           /* its names end with a root complex */
	uint32_t product, product_mask;        /* PMIIDR of an arm_cspmu; mask 0: it has none */
	const char *hid;                       /* identifier of the others: an ACPI id, or NULL */
	const char *module, *config;           /* what drives it */
	const struct pmu_class_event *event;   /* ends with name NULL */
	const struct pmu_class_filter *filter; /* likewise */
	/* Recorded by default: bundles that must stay together, separated by ';', events within one by ','. The clock
	 * joins every group. A bundle behind '?' is left out where it would need one group more. */
	const char *defaults;
	/* Every event has its own counter and all count at once: separate groups cover the same time. */
	bool fixed;
	bool apart;          /* events of separate groups may be put together: more than fit into one make a number */
	unsigned counters;   /* events that fit into a group besides the clock; 0: found out by opening groups */
	const char *instead; /* recorded by default only where the machine has no PMU of that class; or NULL */
	const char *sockets; /* bundles that are recorded where it has one, if there are several sockets; or NULL */
	bool clock_filtered; /* the filters' defaults are written out for its clock, too */
	const char *note;    /* for lists: what the filters mean, or NULL */
	const char *still;   /* why its clock may stand still, or NULL */
};
extern const struct pmu_class pmu_classes[]; /* ends with name NULL */

#define PMU_CLASS_CLOCK "cycles" /* the event of every class that counts its clock */

/* What a name of the form nvidia_STEM_pmu_N or nvidia_STEM_pmu_N_rc_M says. */
struct pmu_name {
	char stem[32];
	int number; /* a socket, unless the stem is "uncore" */
	int rc;     /* root complex; -1: none */
};
bool pmu_name_parse(const char *name, struct pmu_name *out);

/* The class of a PMU; `identifier` may be NULL. NULL: it has none. */
const struct pmu_class *pmu_class_of(const char *name, const char *identifier);
const struct pmu_class *pmu_class_named(const char *name);
/* NULL if the class has none of that name. */
const struct pmu_class_event *pmu_class_event(const struct pmu_class *c, const char *name);
const struct pmu_class_event *pmu_class_event_coded(const struct pmu_class *c, uint64_t code);
const struct pmu_class_filter *pmu_class_filter(const struct pmu_class *c, const char *name);

#endif
