/*
 * Which package, core or node each instance of a recording belongs to, for the rows of reports. It remembers the
 * topology of a CPU that went offline, because the kernel forgets it.
 */
#pragma once

#include <stdbool.h>

#include "common/buf.h"
#include "common/names.h"
#include "format/model.h"

struct places {
	const struct pm_model *model; /* borrowed */
	struct pm_cpu *cpu;           /* owned, ascending by number: the topology with old knowledge merged in */
	uint32_t n;
	struct place_label {
		uint32_t instance;
		char *text;  /* owned; shown instead of its name, or NULL */
	} * label;           /* owned; by the instance's slot, which others may have had before */
	uint32_t *of_number; /* owned; by the number of a task: its first instance; 0: none */
	struct names firsts; /* of a cgroup "c7" the first instance; of "p1", "n0" the place of the first CPU, + 1 */
	unsigned char *kind; /* owned; by counter id: pm_kind of all instances that it ever had; PM_KINDS: none */
	uint32_t n_labels, n_numbers, n_kinds;
	/* How many of the model's first instances and groups were seen, and the id of the last. */
	uint32_t n_seen, last_seen, groups_seen, last_group;
	int cache; /* PM_CACHE_*: the last level that the machine has; what --per-cache means */
};

/* One row of a report: numbers that do not apply are PM_NONE. */
struct place {
	enum pm_kind kind;
	uint32_t package, die, cluster, cache, node, core, cpu;
	uint32_t instance; /* device, PMU, task, cgroup: id of the instance */
	uint32_t thread;
	uint32_t first_cpu; /* a CPU that the place contains, by which it is ordered */
};
/* A place of that kind, not yet located. */
/* clang-format off */
#define PLACE_NOWHERE(what) \
	((struct place){ (what), PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE, PM_NONE })
/* clang-format on */

void places_release(struct places *p);
/* Reads the model's topology; call it whenever that may have changed. */
void places_update(struct places *p, const struct pm_model *m);
const struct pm_cpu *places_cpu(const struct places *p, uint32_t cpu);

/* Whether every place of kind `inner` lies in one of kind `outer` (or is the same). */
bool kind_contains(enum pm_kind outer, enum pm_kind inner);
/* The lowest kind that contains both. */
enum pm_kind kind_join(enum pm_kind a, enum pm_kind b);

/* The place of this kind that contains the instance. False if there is none. */
bool places_find(const struct places *p, const struct pm_instance *i, enum pm_kind kind, struct place *place);
/* Whether the CPU row of a table lies in the place. */
bool place_has(const struct places *p, const struct place *place, const struct place *cpu);
/* The number of a place of the topology by its kind; PM_NONE: it has none. */
uint32_t place_number(const struct place *p);

/* Order of rows, also for qsort(): kind, then package, die, core, thread. 0: the same place. */
int place_compare(const void *a, const void *b);
/* Replaces the shown name of an instance. */
void places_label(struct places *p, const struct pm_instance *i, const char *text);
/* "thermal_zone0", "task-3"; "" for places with a number. Valid as long as the model. */
const char *places_name(const struct places *p, const struct place *place);
/* What it is called in a text: "CPU 3", "core 2 of package 1", "thermal_zone0", and of PMUs that have one name
 * "uncore_imc_0 of package 1 (CPU 28)"; nothing for the system. */
void places_put_name(const struct places *p, const struct place *place, struct buf *out);
