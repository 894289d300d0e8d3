#include "report/info/dump.h"

#include <inttypes.h>
#include <string.h>

#include "common/double_bits.h"
#include "common/memory.h"

static void put_value(const struct pm_counter *c, const struct pm_instance *i, uint64_t value, struct buf *out)
{
	if (i->kind == PM_SYSTEM || i->number == PM_NONE)
		buf_printf(out, "%s: ", c->name);
	else
		buf_printf(out, "%s (%s %" PRIu32 "): ", c->name, pm_kind_name(i->kind), i->number);
	if (c->type == PM_S64)
		buf_printf(out, "%" PRId64 "\n", (int64_t)value);
	else if (c->type == PM_F64)
		buf_printf(out, "%.10g\n", double_from_bits(value));
	else /* registers read as their documents have them */
		buf_printf(out, !strncmp(c->name, "msr.", 4) ? "0x%016" PRIx64 "\n" : "%" PRIu64 "\n", value);
}

/* Marks the counters that feed shown columns. */
static void mark_counters(const struct offer *offer, bool *feeds)
{
	const struct binding *b = &offer->binding;

	for (size_t i = 0; i < b->n_metrics; i++)
		for (uint32_t k = 0; offer->shown[i] && k < b->metric[i].n_inputs; k++) {
			const struct bound_input *in = &b->input[b->metric[i].input[k]];

			for (uint32_t n = 0; !in->constant && n < in->n_counters; n++)
				feeds[in->counter[n]] = true;
		}
}

void dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, struct buf *out)
{
	const struct pm_model *m = offer->places.model;
	SCOPED(scoped_free) bool *feeds = memory_new((size_t)m->n_counters + 1, sizeof(*feeds));

	mark_counters(offer, feeds);
	for (uint32_t k = 0; k < chunk->n_groups; k++) {
		const struct pm_chunk_group *cg = &chunk->group[k];
		const struct pm_group *g = pm_model_group(m, cg->group);

		for (uint32_t v = 0; g && !cg->absent && v < pm_group_values(g); v++) {
			size_t cell = (size_t)(pm_group_head(g) + v) * cg->stride;
			const struct pm_counter *c = pm_model_counter(m, pm_group_counter_of(g, v));
			const struct pm_instance *i = pm_model_instance(m, pm_group_instance_of(g, v));

			if (c && i && feeds[c->id] && !pm_counter_texts(c) && !(cg->status && cg->status[cell]))
				put_value(c, i, cg->v[cell], out);
		}
	}
}
