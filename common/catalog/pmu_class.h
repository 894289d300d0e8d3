/*
 * Classes of PMUs, with what sysfs does not say: units, defaults of filters, a useful set of events, and what cannot
 * be counted together. A PMU belongs to a class by its identifier, or else by its name, because kernels have called
 * the same hardware by several names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pmu_class_event {
	const char *name;
	uint64_t code;
	const char *unit; /* UCUM; NULL: "1" */
	const char *help;
	/* Terms instead of the code, where the kernel may not name the event: "event=0x0a,rdwrmask=0x1"; or NULL. */
	const char *terms;
	/* Condition for the terms: a format of the PMU, "umask=config:8-15", the processor's family, "family=26", its
	 * MIDR without variant and revision, "midr=0xc000ac30", or its chip, "soc=jep106:0a16:0001". NULL: the PMU
	 * takes the terms. Of several rows of a name the first that holds is meant. */
	const char *where;
	unsigned bytes; /* of one count. Formulas take the event in bytes; 0: in counts */
};

/* A term that restricts what is counted. */
struct pmu_class_filter {
	const char *name;
	uint64_t all; /* the value for "everything"; 0: none */
	uint8_t part; /* filters of one part get their defaults together, and only if none was given; 0: never */
	const char *help;
};

struct pmu_class {
	const char *name; /* stands for all its PMUs in -e and in formulas: "nvidia_ucf" */
	const char *title;
	/* Names of its PMUs, separated by ',', in which '#' is a number and '*' the rest; for PMUs that need no rules
	 * beyond sysfs. NULL: the next members say it. */
	const char *pmu;
	const char *stem;                      /* "pcie" of nvidia_pcie_pmu_0_rc_1 */
	const char *old_stem;                  /* the stem in older kernels, or NULL */
	bool per_rc;                           /* names end with a root complex */
	uint32_t product, product_mask;        /* PMIIDR of an arm_cspmu; mask 0: it has none */
	const char *hid;                       /* identifier of other PMUs: an ACPI id, or NULL */
	const char *module, *config;           /* the kernel's driver and its option */
	const struct pmu_class_event *event;   /* ends with name NULL */
	const struct pmu_class_filter *filter; /* likewise */
	/* Events recorded by default: bundles that must stay together, separated by ';', with events separated by
	 * ','. The clock joins every group. A bundle after '?' is left out if it would need another group. */
	const char *defaults;
	/* Every event has its own counter, so separate groups cover the same time. */
	bool fixed;
	bool apart;        /* a formula may use events of separate groups, because it needs more than fit into one */
	bool unchecked;    /* the driver takes in groups that can never count */
	unsigned counters; /* events that fit into a group besides the clock; 0: opening groups shows it */
	const char *
		instead; /* recorded by default only if no PMU of this class has one of its default events; or NULL */
	const char *sockets; /* bundles recorded if it has one and several sockets; or NULL */
	bool clock_filtered; /* its clock takes the filters' defaults, too */
	const char *note;    /* what the filters mean, for lists; or NULL */
	const char *still;   /* why its clock may stand still, or NULL */
};
extern const struct pmu_class pmu_classes[]; /* ends with name NULL */

#define PMU_CLASS_CLOCK "cycles" /* the event of every class that counts its clock */

/* The parts of nvidia_STEM_pmu_N or nvidia_STEM_pmu_N_rc_M. */
struct pmu_name {
	char stem[32];
	int number; /* a socket, unless the stem is "uncore" */
	int rc;     /* root complex; -1: none */
};
bool pmu_name_parse(const char *name, struct pmu_name *out);

/* The class of a PMU, or NULL; `identifier` may be NULL. */
const struct pmu_class *pmu_class_of(const char *name, const char *identifier);
const struct pmu_class *pmu_class_named(const char *name);
/* NULL if the class has no such event or filter. */
const struct pmu_class_event *pmu_class_event(const struct pmu_class *c, const char *name);
const struct pmu_class_event *pmu_class_event_coded(const struct pmu_class *c, uint64_t code);
const struct pmu_class_filter *pmu_class_filter(const struct pmu_class *c, const char *name);
