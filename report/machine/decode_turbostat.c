/* The description of the machine that turbostat prints before its table. */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/table.h"
#include "report/machine/decode.h"

/* In a line, {NAME} is the number of a decoded field, {NAME=2} with two decimals, {NAME^} a million times it,
 * {NAME?YES|NO} a word for a flag, {NAME!} its text, {HI:LO} bits of the register, {#} the register, {@} its CPU, {+}
 * the microcode, {~} microseconds and whose choice they are. */
enum each { ONCE, PACKAGES, CORES }; /* of cores only with -d */
struct line {
	const char *name;
	enum each each;
	const char *text;
};

#include "report/machine/turbostat_lines.inc"

struct writer {
	const struct places *places;
	const struct turbostat_head *head;
	struct buf *out;
	uint64_t told[2]; /* bits of the lines that were written */
	uint64_t counts;  /* cores of each group of turbo ratios, a byte each; 0: single cores */
	double bclk_mhz;
};

static const struct decoded_field *find(const struct decoded *d, const char *name, size_t len)
{
	for (uint32_t i = 0; i < d->n; i++)
		if (!len || (strlen(d->field[i].name) == len && !strncmp(d->field[i].name, name, len)))
			return &d->field[i];
	return NULL;
}

/* Intel has its revision in the upper half. */
static void put_microcode(struct writer *w, const struct decoded *processor)
{
	const struct decoded_field *vendor = find(processor, "vendor", 6);
	bool intel = vendor && !strcmp(vendor->text, "GenuineIntel");
	uint64_t value;

	if (cpu_register_at(w->places->model, PM_NONE, "ucode_rev", &value))
		buf_printf(w->out, " microcode 0x%x", (uint32_t)(value >> (intel ? 32 : 0)));
}

/* Writes what stands between braces. */
static void put_part(struct writer *w, const struct decoded *d, uint32_t cpu, const char *part, size_t len)
{
	size_t name = strcspn(part, "=?!:%^}");
	const struct decoded_field *f = find(d, part, name);
	const char *bar;
	unsigned hi, lo;
	char x;

	if (part[0] == '#')
		buf_printf(w->out, "0x%08" PRIx64, d->value);
	else if (part[0] == '@')
		buf_printf(w->out, "cpu%u", cpu);
	else if (part[0] == '~')
		buf_printf(w->out, "%ld usec (%s)", atol(d->field[0].text),
			   strstr(d->field[0].text, "default") ? "default" : "constrained");
	else if (part[0] == '+')
		put_microcode(w, d);
	else if (part[name] == ':' && sscanf(part, "%u:%u%c", &hi, &lo, &x) == 3)
		buf_printf(w->out, x == 'x' ? "%llx" : "%llu",
			   (unsigned long long)d->value >> lo & ((2ull << (hi - lo)) - 1));
	else if (!f)
		return;
	else if (part[name] == '=')
		buf_printf(w->out, "%.*f", atoi(part + name + 1), f->number);
	else if (part[name] == '^')
		buf_printf(w->out, "%.0f", f->number * 1e6);
	else if (part[name] == '%') /* 0xa7 */
		buf_printf(w->out, "%lx", strtoul(f->text, NULL, 0));
	else if (part[name] == '!')
		text_escape(w->out, f->text, strlen(f->text));
	else if (part[name] == '?' && (bar = memchr(part, '|', len)))
		buf_add(w->out, f->number ? part + name + 1 : bar + 1,
			(size_t)(f->number ? bar - part - (ptrdiff_t)name - 1 : part + len - bar - 1));
	else /* turbostat prints 0 for what was not reported */
		buf_printf(w->out, "%.10g", isnan(f->number) ? 0 : f->number);
}

static void put_line(struct writer *w, const struct line *line, const struct decoded *d, uint32_t cpu)
{
	for (const char *at = line->text; *at;) {
		size_t len = strcspn(at, "{");

		buf_add(w->out, at, len);
		at += len;
		if (!*at)
			break;
		len = strcspn(++at, "}");
		put_part(w, d, cpu, at, len);
		at += len + 1;
	}
}

/* From the most cores to the fewest. */
static void put_turbo(struct writer *w, const struct decoded *d)
{
	if (w->counts)
		buf_printf(w->out, "cpu%u: MSR_TURBO_RATIO_LIMIT1: 0x%08" PRIx64 "\n", w->places->cpu[0].cpu,
			   w->counts);
	for (uint32_t i = d->n; i-- > 0 && w->bclk_mhz > 0;)
		if (d->field[i].number > 0)
			buf_printf(w->out, "%.0f * %.1f = %.1f MHz max turbo %u active cores\n",
				   d->field[i].number / w->bclk_mhz, w->bclk_mhz, d->field[i].number,
				   w->counts ? (unsigned)(w->counts >> 8 * i & 0xFF) : i + 1);
}

static uint64_t khz(const struct pm_model *m, unsigned package, unsigned die, const char *what)
{
	const struct pm_config *c;
	char name[80];

	snprintf(name, sizeof(name), "uncorefreq.package_%02u_die_%02u.%s_freq_khz", package, die, what);
	c = pm_model_config(m, name, PM_NONE);
	return c && c->value.kind == PM_VALUE_U64 && !c->reason ? c->value.u64 : 0;
}

static void put_uncore(struct writer *w)
{
	const struct pm_model *m = w->places->model;
	unsigned package, die;

	for (uint32_t i = 0; i < m->n_configs; i++)
		if (sscanf(m->config[i].name, "uncorefreq.package_%u_die_%u.min_freq", &package, &die) == 2 &&
		    strstr(m->config[i].name, ".min_freq_khz"))
			buf_printf(w->out,
				   "Uncore Frequency pkg%u die%u: %" PRIu64 " - %" PRIu64 " MHz (%" PRIu64
				   " - %" PRIu64 " MHz)\n",
				   package, die, khz(m, package, die, "min") / 1000,
				   khz(m, package, die, "max") / 1000, khz(m, package, die, "initial_min") / 1000,
				   khz(m, package, die, "initial_max") / 1000);
}

/* Whether the reading belongs to the package, or core, with that first CPU. */
static bool is_of(const struct pm_config *c, const struct places *p, enum each each, const struct pm_cpu *first)
{
	if (each == CORES)
		return !first->thread && c && c->kind == PM_CPU && cpulist_has(&c->instances, first->cpu);
	if (!c || c->kind == PM_SYSTEM)
		return true;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->cpu[i].package == first->package && c->kind == PM_CPU &&
		    cpulist_has(&c->instances, p->cpu[i].cpu))
			return p->cpu[i].cpu == first->cpu;
	return c->kind == PM_PACKAGE && cpulist_has(&c->instances, first->package);
}

static int take(void *ctx, const struct decoded *d)
{
	struct writer *w = ctx;
	const struct places *p = w->places;

	if (!strcmp(d->name, "msr.turbo_ratio_limit1") && d->n && !strncmp(d->field[0].name, "group", 5))
		w->counts = d->value;
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		bool tcc = w->head->tcc && !strcmp(lines[k].name, "msr.temperature_target");
		uint64_t bit = 1ull << k % 64;
		uint32_t last = PM_NONE;

		if (fnmatch(lines[k].name, d->name, 0) || (w->head->quiet && !tcc) ||
		    (lines[k].each == CORES && !w->head->debug))
			continue;
		for (uint32_t i = 0; i < p->n; i++) {
			const struct pm_cpu *cpu = &p->cpu[p->by_package[i]];

			if ((cpu->package == last && lines[k].each != CORES) ||
			    (lines[k].each == ONCE && w->told[k / 64] & bit))
				continue;
			last = cpu->package;
			if (!is_of(d->config, p, lines[k].each, cpu))
				continue;
			if (tcc)
				buf_printf(w->out, "cpu%u: Using cmdline TCC Target (%u C)\n", cpu->cpu,
					   w->head->tcc);
			else
				put_line(w, &lines[k], d, cpu->cpu);
			if (!strcmp(d->name, "msr.turbo_ratio_limit"))
				put_turbo(w, d);
			if (strchr(lines[k].name, '*'))
				break;
			w->told[k / 64] |= bit;
		}
	}
	return 0;
}

static uint32_t or_0(uint32_t number)
{
	return number == PM_NONE ? 0 : number;
}

/* The first four threads of the CPU's core. */
static void put_siblings(const struct places *p, const struct pm_cpu *of, struct buf *out)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < p->n && n < 4; i++)
		if (p->cpu[i].package == of->package && p->cpu[i].die == of->die && p->cpu[i].core == of->core)
			buf_printf(out, " %u", (n++, p->cpu[i].cpu));
	while (n++ < 4)
		buf_addstr(out, " -1");
}

/* The number of CPUs, cores and packages that take part. */
static void put_allowed(const struct places *p, const struct cpulist *only, struct buf *out)
{
	unsigned n[3] = { 0 };

	for (uint32_t i = 0; i < p->n; i++) {
		bool first[3] = { true, true, true };

		if (only && !cpulist_has(only, p->cpu[i].cpu))
			continue;
		for (uint32_t k = 0; k < i; k++) {
			bool package =
				p->cpu[k].package == p->cpu[i].package && (!only || cpulist_has(only, p->cpu[k].cpu));

			first[2] &= !package;
			first[1] &= !package || p->cpu[k].die != p->cpu[i].die || p->cpu[k].core != p->cpu[i].core;
		}
		for (unsigned k = 0; k < 3; k++)
			n[k] += first[k];
	}
	buf_printf(out, "allowed_cpus %u allowed_cores %u allowed_packages %u\n", n[0], n[1], n[2]);
}

/* Nodes are numbered in each package, and threads in each core. */
static void put_topology(const struct places *p, const struct turbostat_head *head, struct buf *out)
{
	for (uint32_t i = 0; i < p->n; i++) {
		const struct pm_cpu *c = &p->cpu[i];
		uint32_t node = c->node;

		for (uint32_t k = 0; k < p->n; k++)
			if (p->cpu[k].package == c->package && p->cpu[k].node < node)
				node = p->cpu[k].node;
		buf_printf(out, "cpu %u pkg %u die %u ", c->cpu, c->package, or_0(c->die));
		if (head->newer)
			buf_printf(out, "l3 %u ", or_0(c->cache[3]));
		buf_printf(out, "node %u lnode %u ", or_0(c->node), c->node - node);
		if (head->newer)
			buf_printf(out, "module 0x%x ", or_0(c->cluster));
		buf_printf(out, head->newer ? "core %u ht_id %u" : "core %u thread %u", c->core, c->thread);
		if (head->newer) {
			buf_addstr(out, " siblings");
			put_siblings(p, c, out);
		}
		buf_addch(out, '\n');
	}
	if (head->newer)
		put_allowed(p, head->only, out);
}

int decode_turbostat(const struct places *places, const struct turbostat_head *head, struct buf *out)
{
	const char *cmdline = pm_map_text(&places->model->header, PM_HEADER_CMDLINE, NULL);
	struct writer w = { .places = places, .head = head, .out = out };
	struct cpu_facts f;
	int err;

	cpu_facts_find(places->model, &f);
	w.bclk_mhz = f.bclk_mhz;
	if (!head->quiet)
		buf_printf(out, "turbostat version %s - pmrep\n", head->newer ? "2026.04.21" : "2022.10.04");
	if (!head->quiet && cmdline) {
		buf_addstr(out, "Kernel command line: ");
		text_escape(out, cmdline, strlen(cmdline));
		buf_addch(out, '\n');
	}
	if (head->debug)
		put_topology(places, head, out);
	if (!(err = decode_all(places->model, take, &w)) && !head->quiet) {
		put_uncore(&w);
		err = decode_settings(places->model, take, &w);
	}
	return err ? err : out->err;
}
