#include "report/metric/ways.h"

#include <string.h>

#include "format/model.h"

const char *const ways_name[WAYS] = { "registers", "kernel", "perf" };

/* The first that a recording has is what the column is made of. */
/* clang-format off */
static const struct {
	const char *columns, *counter, *kernel, *event;
	bool apart; /* the column has a formula for the event: it is added up, or in another unit */
} rows[] = {
	{ "TSC_MHz", "msr.tsc", NULL, "msr/tsc/" },
	{ "Busy%", "msr.mperf", NULL, "msr/mperf/" },
	{ "Avg_MHz Bzy_MHz", "msr.aperf", NULL, "msr/aperf/" },
	{ "SMI", "msr.smi_count", NULL, "msr/smi/", true },
	{ "CPU%c1", "msr.core_c1_res", NULL, "cstate_core/c1-residency/" },
	{ "CPU%c3", "msr.core_c3_res", NULL, "cstate_core/c3-residency/" },
	{ "CPU%c6", "msr.core_c6_res", NULL, "cstate_core/c6-residency/" },
	{ "CPU%c7", "msr.core_c7_res", NULL, "cstate_core/c7-residency/" },
	{ "Pkg%pc2", "msr.pkg_c2_res", NULL, "cstate_pkg/c2-residency/" },
	{ "Pkg%pc3", "msr.pkg_c3_res", NULL, "cstate_pkg/c3-residency/" },
	{ "Pkg%pc6", "msr.pkg_c6_res", NULL, "cstate_pkg/c6-residency/" },
	{ "Pkg%pc7", "msr.pkg_c7_res", NULL, "cstate_pkg/c7-residency/" },
	{ "Pkg%pc8", "msr.pkg_c8_res", NULL, "cstate_pkg/c8-residency/" },
	{ "Pkg%pc9", "msr.pkg_c9_res", NULL, "cstate_pkg/c9-residency/" },
	{ "Pk%pc10", "msr.pkg_c10_res", NULL, "cstate_pkg/c10-residency/" },
	{ "PkgWatt", "msr.pkg_energy_status", "powercap.energy.package", "power/energy-pkg/", true },
	{ "PkgWatt", "msr.amd_pkg_energy", NULL, NULL },
	{ "CorWatt", "msr.pp0_energy_status", "powercap.energy.core", "power/energy-cores/", true },
	{ "CorWatt", "msr.amd_core_energy", NULL, NULL },
	{ "GFXWatt", "msr.pp1_energy_status", "powercap.energy.uncore", "power/energy-gpu/", true },
	{ "RAMWatt", "msr.dram_energy_status", "powercap.energy.dram", "power/energy-ram/", true },
};
/* clang-format on */

const char *ways_event(const char *counter)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!rows[i].apart && !strcmp(rows[i].counter, counter))
			return rows[i].event;
	return NULL;
}

/* Counters of perf may have modifiers, and those that could not be opened are no way. */
static bool has(const struct pm_model *m, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	for (uint32_t i = 0; name && i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];

		if (!strncmp(c->name, name, len) && (!c->name[len] || name[len - 1] == '/') &&
		    !pm_map_get(&c->attrs, PM_COUNTER_PERF_INVALID))
			return true;
	}
	return false;
}

void ways_columns(const struct pm_model *m, enum way way, struct buf *out)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const name[WAYS] = { rows[i].counter, rows[i].kernel, rows[i].event };
		int first = 0;

		while (first < WAYS && !has(m, name[first]))
			first++;
		if (first == (int)way)
			buf_printf(out, "%s%s (%s)", out->len ? ", " : "", rows[i].columns, name[first]);
	}
}
