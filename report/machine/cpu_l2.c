/* Which raw events count references to the second-level cache and hits in it, by model: L2_REQUEST.ALL and .HIT of
 * Intel's event lists. */
#include <string.h>

#include "report/machine/cpu_model.h"

#define EVENT 0x24
/* Bits 8 to 15 of the umask are elsewhere in the config. */
#define L2(more, umask) ((uint64_t)(more) << 40 | (umask) << 8 | EVENT)

struct l2_events {
	uint64_t refs, hits;
};

static const struct l2_events golden_cove = { L2(0, 0xff), L2(0, 0xdf) }, lion_cove = { L2(0, 0xff), L2(0, 0x5f) },
			      gracemont = { L2(0, 0x00), L2(0, 0x02) }, skymont = { L2(0, 0x07), L2(0, 0x02) },
			      darkmont = { L2(1, 0xff), L2(1, 0xbf) };

/* `core` is also used if there is only one kind. */
static const struct l2_row {
	uint16_t family, model;
	const struct l2_events *core, *atom, *low_power;
} rows[] = {
	{ 6, 0x8f, &golden_cove, NULL, NULL },
	{ 6, 0xcf, &golden_cove, NULL, NULL },
	{ 6, 0xad, &golden_cove, NULL, NULL },
	{ 6, 0xae, &golden_cove, NULL, NULL },
	{ 19, 0x01, &lion_cove, NULL, NULL },
	{ 6, 0xbe, &gracemont, NULL, NULL },
	{ 6, 0xaf, &gracemont, NULL, NULL },
	{ 6, 0xb6, &gracemont, NULL, NULL },
	{ 6, 0xdd, &darkmont, NULL, NULL },
	{ 6, 0x97, &golden_cove, &gracemont, NULL },
	{ 6, 0x9a, &golden_cove, &gracemont, NULL },
	{ 6, 0xb7, &golden_cove, &gracemont, NULL },
	{ 6, 0xba, &golden_cove, &gracemont, NULL },
	{ 6, 0xbf, &golden_cove, &gracemont, NULL },
	{ 6, 0xaa, &golden_cove, &gracemont, NULL },
	{ 6, 0xac, &golden_cove, &gracemont, NULL },
	{ 6, 0xb5, &golden_cove, &gracemont, NULL },
	{ 6, 0xbd, &lion_cove, &skymont, NULL },
	{ 6, 0xc5, &lion_cove, &skymont, &gracemont },
	{ 6, 0xc6, &lion_cove, &skymont, NULL },
	{ 6, 0xcc, &lion_cove, &darkmont, NULL },
	{ 6, 0xd5, &lion_cove, &darkmont, NULL },
	{ 18, 0x01, &lion_cove, &darkmont, NULL },
	{ 18, 0x03, &lion_cove, &darkmont, NULL },
};

static const struct l2_row *row_of(const struct cpu_identity *id)
{
	for (size_t i = 0; id->vendor == CPU_INTEL && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].family == id->family && rows[i].model == id->model)
			return &rows[i];
	return NULL;
}

/* As for -e: the bits of a umask beyond eight follow the first eight. */
static void put_events(struct buf *out, const char *pmu, const struct l2_events *e)
{
	const uint64_t config[] = { e->refs, e->hits };

	for (int i = 0; i < 2; i++)
		buf_printf(out, "%s%s/event=0x%x,umask=0x%x/", out->len ? "," : "", pmu, EVENT,
			   (unsigned)(config[i] >> 8 & 0xff) | (unsigned)(config[i] >> 40 & 0xff) << 8);
}

void cpu_l2_option(const struct cpu_identity *id, struct buf *out)
{
	const struct l2_row *row = row_of(id);

	if (row)
		put_events(out, row->atom ? "cpu_core" : "cpu", row->core);
	if (row && row->atom)
		put_events(out, "cpu_atom", row->atom);
	if (row && row->low_power)
		put_events(out, "cpu_lowpower", row->low_power);
}

enum cpu_l2 cpu_l2_event(const struct cpu_identity *id, const char *pmu, uint64_t config)
{
	const struct l2_row *row = row_of(id);
	const struct l2_events *e = !row                                            ? NULL :
				    !strcmp(pmu, "cpu") || !strcmp(pmu, "cpu_core") ? row->core :
				    !strcmp(pmu, "cpu_atom")                        ? row->atom :
				    !strcmp(pmu, "cpu_lowpower")                    ? row->low_power :
										      NULL;

	if (!e)
		return CPU_L2_NONE;
	return config == e->refs ? CPU_L2_REFS : config == e->hits ? CPU_L2_HITS : CPU_L2_NONE;
}
