/* turbostat's --Dump: raw counts of the first snapshot, CPU by CPU, in its lines. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/table.h"
#include "report/info/dump.h"
#include "report/machine/cpu_facts.h"

enum form { HEX16, HEX, DECIMAL, BELOW_MAXIMUM };
/* OPTIONAL: no line if the machine has no such counter, or its column is hidden; OPTIONAL_2026: in 2026 only.
 * ALWAYS_2022: 2022 reads it without a column. */
enum { ONLY_2022 = 1, ONLY_2026 = 2, OPTIONAL = 4, OPTIONAL_2026 = 8, ALWAYS_2022 = 16 };

/* A counter reads 0 if the model has no register for it, if its register stops in that model, or if no shown column
 * uses it. */
static const struct line {
	enum pm_kind kind;
	const char *label, *counter, *or_counter;
	enum form form;
	unsigned when;
	uint32_t cstate, flag, without; /* cpu_cstate and cpu_flag that the model must have, or not have; 0: any */
} lines[] = {
	{ PM_CPU, "TSC", "msr.tsc", NULL, HEX16 },
	{ PM_CPU, "aperf", "msr.aperf", NULL, HEX16 },
	{ PM_CPU, "mperf", "msr.mperf", NULL, HEX16 },
	{ PM_CPU, "c1", NULL, NULL, HEX16, ONLY_2022 },
	{ PM_CPU, "c1", "msr.core_c1_res", NULL, HEX16, ONLY_2026, CPU_CC1 },
	{ PM_CPU, "IPC", "perf.instructions", NULL, DECIMAL, OPTIONAL },
	{ PM_CPU, "IRQ", "interrupts.total", NULL, DECIMAL, OPTIONAL },
	{ PM_CPU, "IRQ", "interrupts.nmi", NULL, DECIMAL, OPTIONAL | ONLY_2026 },
	{ PM_CPU, "SMI", "msr.smi_count", NULL, DECIMAL, OPTIONAL },
	{ PM_CORE, "c3", "msr.core_c3_res", NULL, HEX16, 0, CPU_CC3 },
	{ PM_CORE, "c6", "msr.core_c6_res", "msr.knl_core_c6_res", HEX16, 0, CPU_CC6 },
	{ PM_CORE, "c7", "msr.core_c7_res", NULL, HEX16, 0, CPU_CC7 },
	{ PM_CORE, "DTS", "msr.therm_status", NULL, BELOW_MAXIMUM },
	{ PM_CORE, "cpu_throt_count", "throttle.core", NULL, HEX16 },
	{ PM_CORE, "Joules", "msr.amd_core_energy", NULL, HEX, OPTIONAL_2026 | ALWAYS_2022 },
	{ PM_CORE, "mc6_us", "msr.module_c6_res", NULL, HEX16, 0, CPU_MC6 },
	{ PM_PACKAGE, "Weighted cores", "msr.weighted_core_c0", NULL, HEX16, 0, 0, CPU_EXTENDED_C0 },
	{ PM_PACKAGE, "Any cores", "msr.any_core_c0", NULL, HEX16, 0, 0, CPU_EXTENDED_C0 },
	{ PM_PACKAGE, "Any GFX", "msr.any_gfxe_c0", NULL, HEX16, 0, 0, CPU_EXTENDED_C0 },
	{ PM_PACKAGE, "CPU + GFX", "msr.core_gfxe_overlap_c0", NULL, HEX16, 0, 0, CPU_EXTENDED_C0 },
	{ PM_PACKAGE, "pc2", "msr.pkg_c2_res", NULL, HEX16, 0, CPU_PC2 },
	{ PM_PACKAGE, "pc3", "msr.pkg_c3_res", NULL, HEX16, OPTIONAL, CPU_PC3 },
	{ PM_PACKAGE, "pc6", "msr.pkg_c6_res", NULL, HEX16, OPTIONAL, CPU_PC6 },
	{ PM_PACKAGE, "pc7", "msr.pkg_c7_res", NULL, HEX16, OPTIONAL, CPU_PC7 },
	{ PM_PACKAGE, "pc8", "msr.pkg_c8_res", NULL, HEX16, 0, CPU_PC8 },
	{ PM_PACKAGE, "pc9", "msr.pkg_c9_res", NULL, HEX16, 0, CPU_PC9 },
	{ PM_PACKAGE, "pc10", "msr.pkg_c10_res", NULL, HEX16, 0, CPU_PC10 },
	{ PM_PACKAGE, "cpu_lpi", "lpi.cpu", NULL, HEX16 },
	{ PM_PACKAGE, "sys_lpi", "lpi.system", NULL, HEX16 },
	{ PM_PACKAGE, "Joules PKG", "msr.pkg_energy_status", "msr.amd_pkg_energy", HEX, ALWAYS_2022 },
	{ PM_PACKAGE, "Joules COR", "msr.pp0_energy_status", NULL, HEX, ALWAYS_2022, 0, 0, CPU_NO_CORE_ENERGY },
	{ PM_PACKAGE, "Joules GFX", "msr.pp1_energy_status", NULL, HEX, ALWAYS_2022, 0, 0, CPU_NO_GFX_ENERGY },
	{ PM_PACKAGE, "Joules RAM", "msr.dram_energy_status", NULL, HEX, ALWAYS_2022 },
	{ PM_PACKAGE, "Joules PSYS", "msr.platform_energy_status", NULL, HEX, ONLY_2026 },
	{ PM_PACKAGE, "Throttle PKG", "msr.pkg_perf_status", NULL, HEX, ALWAYS_2022 },
	{ PM_PACKAGE, "Throttle RAM", "msr.dram_perf_status", NULL, HEX, ALWAYS_2022 },
	{ PM_PACKAGE, "PTM", "msr.package_therm_status", NULL, BELOW_MAXIMUM },
};

struct reading {
	uint32_t counter;
	struct place place;
	uint64_t value;
};

struct snapshot {
	const struct offer *offer;
	const struct pm_model *m;
	const struct places *places;
	const struct cpu_facts *facts;
	bool newer;
	bool *taken; /* owned: by counter: a shown column uses it */
	double tj_max;
	struct buf *out;
	struct reading *reading; /* owned: sorted, so that a CPU finds its own without a search through all */
	size_t n;
};

static int compare_readings(const void *left, const void *right)
{
	const struct reading *a = left, *b = right;

	if (a->counter != b->counter)
		return a->counter < b->counter ? -1 : 1;
	return place_compare(&a->place, &b->place);
}

static int take_readings(struct snapshot *s, const struct pm_chunk *chunk)
{
	for (uint32_t k = 0; k < chunk->n_groups; k++) {
		const struct pm_chunk_group *cg = &chunk->group[k];
		const struct pm_group *g = pm_model_group(s->m, cg->group);

		for (uint32_t v = 0; g && !cg->absent && v < pm_group_values(g); v++) {
			size_t cell = (size_t)(pm_group_head(g) + v) * cg->stride;
			const struct pm_instance *i = pm_model_instance(s->m, pm_group_instance_of(g, v));
			struct reading r = { .counter = pm_group_counter_of(g, v), .value = cg->v[cell] };

			if ((cg->status && cg->status[cell]) || !i || !places_find(s->places, i, i->kind, &r.place))
				continue;
			if (array_room(&s->reading, s->n, sizeof(*s->reading)))
				return -ENOMEM;
			s->reading[s->n++] = r;
		}
	}
	if (s->n)
		qsort(s->reading, s->n, sizeof(*s->reading), compare_readings);
	return 0;
}

/* Reads the counter at the place that the CPU belongs to. False: there is none. */
static bool read_at(const struct snapshot *s, uint32_t counter, const struct pm_cpu *cpu, uint64_t *value)
{
	struct pm_instance self = { .kind = PM_CPU, .number = cpu->cpu, .cpu = cpu->cpu };
	const struct reading *found = NULL;

	for (unsigned kind = 0; kind < PM_KINDS && s->n && !found; kind++) {
		struct reading key = { .counter = counter };

		if ((kind == PM_CPU || kind_contains((enum pm_kind)kind, PM_CPU)) &&
		    places_find(s->places, &self, (enum pm_kind)kind, &key.place))
			found = bsearch(&key, s->reading, s->n, sizeof(key), compare_readings);
	}
	if (found)
		*value = found->value;
	return found;
}

static bool has(const struct snapshot *s, const struct line *l)
{
	const struct cpu_features *f = s->facts->id.known ? s->facts->id.known->features : NULL;

	return !f || ((!l->cstate || f->cstates & l->cstate) && (!l->flag || f->flags & l->flag) &&
		      !(f->flags & l->without));
}

static const struct pm_counter *counter_of(const struct snapshot *s, const struct line *l)
{
	const struct pm_counter *c = l->counter ? pm_model_counter_named(s->m, l->counter) : NULL;

	return c || !l->or_counter ? c : pm_model_counter_named(s->m, l->or_counter);
}

static void put_line(const struct snapshot *s, const struct line *l, const struct pm_cpu *cpu)
{
	const struct pm_counter *c = has(s, l) ? counter_of(s, l) : NULL;
	struct value in_c6 = { 0 };
	uint64_t value = 0, c7 = 0;
	bool taken = c && (s->taken[c->id] || !strcmp(c->name, "msr.tsc") || (l->when & ALWAYS_2022 && !s->newer));
	bool there = taken && read_at(s, c->id, cpu, &value);

	if (there && !strcmp(l->label, "c6") && cpu_literal_at(s->m, "c7_in_c6", cpu->package, cpu->cpu, &in_c6) &&
	    in_c6.v != 0 && (c = pm_model_counter_named(s->m, "msr.core_c7_res")) && read_at(s, c->id, cpu, &c7))
		value -= c7;
	if (l->when & (s->newer ? ONLY_2022 : ONLY_2026) ||
	    (l->when & (s->newer ? OPTIONAL | OPTIONAL_2026 : OPTIONAL) && (!c || (l->when & OPTIONAL && !taken))))
		return;
	buf_printf(s->out, "%s: ", l->label);
	if (l->form == BELOW_MAXIMUM)
		buf_printf(s->out, "%.0fC\n", there ? s->tj_max - (double)(value >> 16 & 0x7F) : 0);
	else
		buf_printf(s->out,
			   l->form == HEX16 ? "%016" PRIX64 "\n" :
			   l->form == HEX   ? "%" PRIX64 "\n" :
					      "%" PRIu64 "\n",
			   value);
}

/* The number of a counter within its family: that of its idle state. */
static unsigned state_of(const struct snapshot *s, const struct pm_counter *c)
{
	size_t family = (size_t)(strrchr(c->name, '.') - c->name) + 1;
	unsigned n = 0;

	for (uint32_t i = 0; &s->m->counter[i] < c; i++)
		n += !strncmp(s->m->counter[i].name, c->name, family);
	return n;
}

/* What feeds the metric's input; 0: nothing that is recorded, or that this model counts there. */
static uint32_t feeds(const struct snapshot *s, const struct bound_metric *m, uint32_t input)
{
	const struct bound_input *in = input < m->n_inputs ? &s->offer->binding.input[m->input[input]] : NULL;
	struct value factor = { .v = 1 };

	if (!in || in->constant || !in->n_counters)
		return 0;
	if (in->more->op == INPUT_TIMES && in->more->fact)
		bind_literal(s->places, in->more->fact, &factor);
	return factor.reason || factor.v != 0 ? in->counter[0] : 0;
}

/* Writes shown counts of idle states, and of --add. */
static void put_added(const struct snapshot *s, enum pm_kind kind, const struct pm_cpu *cpu)
{
	const struct binding *b = &s->offer->binding;
	uint64_t value;
	unsigned n = 0;

	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];
		uint32_t id = feeds(s, m, 0);
		const struct pm_counter *c = pm_model_counter(s->m, id);
		bool state = c && !m->counter && !strncmp(m->name, "idle.", 5) && !strcmp(c->source, "cpuidle");
		const char *scope = c ? pm_map_text(&c->attrs, PM_COUNTER_ADDED, "cpu") : "";
		const char *where = c ? pm_map_text(&c->attrs, PM_COUNTER_HELP, "") : "";
		unsigned msr = 0;

		if (!s->offer->shown[i] || (!state && !m->added) || strcmp(scope, pm_kind_name(kind)) ||
		    !read_at(s, id, cpu, &value))
			continue;
		sscanf(where, "msr0x%x", &msr);
		buf_printf(s->out, "%cADDED [%u] ", kind == PM_CPU ? 't' : scope[0], n++);
		if (s->newer) {
			buf_printf(s->out, "%*s", (int)(8 - strnlen(m->display, 8)), "");
			text_escape(s->out, m->display, strlen(m->display));
			buf_addch(s->out, ' ');
		}
		buf_printf(s->out, "msr0x%x: %08" PRIX64 "%s", msr, value, s->newer ? " " : "");
		if (s->newer && state)
			buf_printf(s->out, "cpuidle/state%u/%.*s", state_of(s, c),
				   (int)strcspn(c->name + strlen("cpuidle."), "."), c->name + strlen("cpuidle."));
		else if (s->newer)
			text_escape(s->out, where[0] == '/' ? where : "(null)", where[0] == '/' ? strlen(where) : 6);
		buf_addch(s->out, '\n');
	}
}

/* A count of the column, of its first or second input; 0: it is not shown, or there is none. */
static uint64_t count_of(const struct snapshot *s, const char *column, uint32_t input, const struct pm_cpu *cpu)
{
	const struct binding *b = &s->offer->binding;
	uint64_t value = 0;

	for (size_t i = 0; i < b->n_metrics; i++)
		if (s->offer->shown[i] && !strcmp(b->metric[i].name, column))
			read_at(s, feeds(s, &b->metric[i], input), cpu, &value);
	return value;
}

static void put_cache(const struct snapshot *s, const struct pm_cpu *cpu)
{
	uint64_t refs = count_of(s, "llc.hit", 0, cpu), miss = count_of(s, "llc.hit", 1, cpu),
		 l2 = count_of(s, "l2.hit", 1, cpu), hits = count_of(s, "l2.hit", 0, cpu);

	if (!refs)
		refs = count_of(s, "llc.references", 0, cpu);
	buf_printf(s->out, "LLC refs: %" PRIu64 "LLC miss: %" PRIu64 "LLC Hit%%: ", refs, miss);
	buf_printf(s->out, refs >= miss && refs ? "%.2f" : "nan", 100 * (double)(refs - miss) / (double)refs);
	buf_printf(s->out, "L2 refs: %" PRIu64 "L2 hits: %" PRIu64 "L2 Hit%%: ", l2, hits);
	buf_printf(s->out, l2 && hits <= 1.1 * (double)l2 ? "%.2f" : "nan", 100 * (double)hits / (double)l2);
}

static void put_cpu(const struct snapshot *s, const struct pm_cpu *cpu, const struct pm_cpu *before)
{
	bool package = !before || before->package != cpu->package, core = package || before->core != cpu->core;
	static const enum pm_kind kinds[] = { PM_CPU, PM_CORE, PM_PACKAGE };

	/* turbostat prints addresses; here equal numbers show what belongs together. */
	buf_printf(s->out, "t 0x%x, c 0x%x, p 0x%x\nCPU: %u flags 0x%x\n", cpu->cpu + 1, cpu->core + 1,
		   cpu->package + 1, cpu->cpu, (core ? 2u : 0) | (package ? 4u : 0));
	for (unsigned k = 0; k < 3; k++) {
		if (s->newer && (kinds[k] == PM_CORE ? !core : kinds[k] == PM_PACKAGE && !package))
			continue;
		if (kinds[k] == PM_CORE)
			buf_printf(s->out, s->newer ? "core: 0x%x\n" : "core: %u\n", cpu->core);
		else if (kinds[k] == PM_PACKAGE && !s->newer)
			buf_printf(s->out, "package: %u\n", cpu->package);
		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			if (lines[i].kind != kinds[k])
				continue;
			if (!strcmp(lines[i].label, "mc6_us"))
				put_added(s, PM_CORE, cpu);
			put_line(s, &lines[i], cpu);
		}
		if (kinds[k] == PM_CPU && s->newer)
			put_cache(s, cpu);
		if (kinds[k] != PM_CORE)
			put_added(s, kinds[k], cpu);
	}
	buf_addch(s->out, '\n');
}

static int by_place(const void *a, const void *b)
{
	const struct pm_cpu *x = a, *y = b;
	uint32_t left[] = { x->package, x->node, x->core, x->thread },
		 right[] = { y->package, y->node, y->core, y->thread };

	for (size_t i = 0; i < 4; i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static void take_all(const struct snapshot *s, const char *const *name)
{
	for (; *name; name++) {
		const struct pm_counter *c = pm_model_counter_named(s->m, *name);

		s->taken[c ? c->id : 0] = true;
	}
}

/* Marks the counters of shown columns, and those that turbostat reads with them. */
static int take_columns(struct snapshot *s)
{
	/* Without a register, C1 is what the other states leave; 2022 does not have that, and 2026 always reads the
	 * others. */
	static const char *const soft[] = { "msr.mperf", "msr.core_c3_res", "msr.core_c6_res", "msr.core_c7_res",
					    NULL };
	static const char *const clocks[] = { "msr.aperf", "msr.mperf", NULL };
	const struct binding *b = &s->offer->binding;
	bool soft_always = s->newer && !pm_model_counter_named(s->m, "msr.core_c1_res");

	s->taken = calloc((size_t)s->m->n_counters + 1, sizeof(*s->taken));
	if (!s->taken)
		return -ENOMEM;
	for (size_t i = 0; i < b->n_metrics; i++) {
		const struct bound_metric *m = &b->metric[i];

		if (!s->offer->shown[i])
			continue;
		for (uint32_t k = 0; k < m->n_inputs; k++)
			s->taken[feeds(s, m, k)] = true;
		if (!s->newer && !strcmp(m->name, "cpu.c1"))
			take_all(s, soft);
	}
	if (soft_always)
		take_all(s, soft);
	for (size_t i = 0; clocks[i]; i++) {
		const struct pm_counter *c = pm_model_counter_named(s->m, clocks[i]);

		if (c && s->taken[c->id])
			take_all(s, clocks);
	}
	return 0;
}

int dump_turbostat(const struct offer *offer, const struct pm_chunk *chunk, const struct cpulist *only, bool newer,
		   uint32_t tcc, struct buf *out)
{
	const struct places *places = &offer->places;
	SCOPED(scoped_free) struct pm_cpu *cpu = malloc((places->n + 1) * sizeof(*cpu));
	struct cpu_facts f;
	struct snapshot s = { offer, places->model, places, &f, newer, .tj_max = tcc, .out = out };
	int err = cpu ? take_readings(&s, chunk) : -ENOMEM;
	const struct pm_cpu *before = NULL;

	cpu_facts_find(places->model, &f);
	if (!tcc)
		s.tj_max = f.tj_max;
	if (!err && !(err = take_columns(&s)) && places->n) {
		memcpy(cpu, places->cpu, places->n * sizeof(*cpu));
		qsort(cpu, places->n, sizeof(*cpu), by_place);
	}
	for (uint32_t i = 0; i < places->n && !err; i++) {
		if (only && !cpulist_has(only, cpu[i].cpu))
			continue;
		put_cpu(&s, &cpu[i], before);
		before = &cpu[i];
	}
	free(s.taken);
	free(s.reading);
	return err ? err : out->err;
}
