/* Columns whose registers could not be read anywhere: they stay, and say why they are empty. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/metric/bind_private.h"

/* On other architectures nobody misses them. */
static bool is_x86(const struct pm_model *m)
{
	const char *arch = pm_map_text(&m->header, PM_HEADER_ARCH, "");

	return !strcmp(arch, "x86_64") || (arch[0] == 'i' && !strcmp(arch + 2, "86"));
}

static bool has_source(const struct pm_model *m, const char *source)
{
	for (uint32_t i = 0; i < m->n_counters; i++)
		if (!strcmp(m->counter[i].source, source))
			return true;
	return false;
}

/* Whether some register was requested in vain: most recordings are bound without checking each formula. */
static bool lacks_registers(const struct builder *x)
{
	const struct pm_model *m = x->p->model;

	if (x->options->no_msr || !is_x86(m))
		return false;
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (m->config[i].reason && !strncmp(m->config[i].name, "msr.", 4))
			return true;
	for (uint32_t i = 0; i < m->n_probes; i++)
		if (!strcmp(m->probe[i].source, "msr"))
			return true;
	return false;
}

/* Why the register was not recorded; PM_OK: nobody tried, or it was recorded. */
static uint16_t why_absent(const struct builder *x, const char *name)
{
	const struct pm_model *m = x->p->model;
	const struct pm_counter *c = pm_model_counter_named(m, name);

	if ((c && x->p->kind[c->id] != PM_KINDS) || strncmp(name, "msr.", 4))
		return PM_OK;
	for (uint32_t i = 0; i < m->n_configs; i++)
		if (m->config[i].reason && !strcmp(m->config[i].name, name))
			return m->config[i].reason;
	for (uint32_t i = 0; i < m->n_probes && !has_source(m, "msr"); i++)
		if (!strcmp(m->probe[i].source, "msr"))
			return m->probe[i].reason;
	return PM_OK;
}

static bool has_event(const struct pm_pmu *pmu, const char *event)
{
	const char *name = pm_map_text(&pmu->attrs, PM_PMU_NAME, ""), *slash = strchr(event, '/');
	const struct pm_value *events = pm_map_get(&pmu->attrs, PM_PMU_EVENTS), *own;
	size_t len = strlen(name);

	if (!slash || (size_t)(slash - event) != len || strncmp(name, event, len))
		return false;
	for (uint32_t i = 0; events && events->kind == PM_VALUE_ARRAY && i < events->array.n; i++) {
		own = events->array.item[i].kind == PM_VALUE_ARRAY ? events->array.item[i].array.item : NULL;
		len = own && own->kind == PM_VALUE_TEXT ? strlen(own->str.data) : 0;
		if (len && !strncmp(slash + 1, own->str.data, len) && !strcmp(slash + 1 + len, "/"))
			return true;
	}
	return false;
}

/* Whether a PMU of the machine counts the event, and only the right to count it was missing. */
static bool was_forbidden(const struct pm_model *m, const char *event)
{
	bool has = false, forbidden = false;

	for (uint32_t i = 0; event && i < m->n_pmus && !has; i++)
		has = has_event(&m->pmu[i], event);
	for (uint32_t i = 0; has && i < m->n_probes && !forbidden; i++)
		forbidden = !strcmp(m->probe[i].source, "perf") && m->probe[i].reason == PM_REASON_NO_PERMISSION;
	return forbidden;
}

/* Why the formula cannot be fed: what a right would cure comes before what the machine lacks. PM_OK, also if it can
 * be, or lacks something else. -errno. */
static int why_unfed(struct builder *x, const char *text, size_t len)
{
	char *formula = strndup(text, len);
	const struct expr_input *in;
	struct expr *expr = NULL;
	int err = formula ? expr_parse(&expr, formula, x->error) : -ENOMEM, why = PM_OK;
	size_t n = 0;

	in = err ? NULL : expr_inputs(expr, &n);
	for (size_t i = 0; i < n && why != PM_REASON_NO_PERMISSION; i++) {
		struct input_more made = { 0 };
		const char *field = bind_field(in[i].name, &made), *name = field ? field : in[i].name;
		int one;

		if (bind_is_optional(in, n, i))
			continue;
		one = why_absent(x, name);
		if ((one || !field) && was_forbidden(x->p->model, strchr(name, '/') ? name : bind_stand_in(name)))
			one = PM_REASON_NO_PERMISSION;
		why = !why || one == PM_REASON_NO_PERMISSION ? one : why;
	}
	expr_free(expr);
	free(formula);
	return err ? err : why;
}

static int add_absent(struct builder *x, const struct metric *row, bool added, uint16_t why)
{
	const struct metric_about about = bind_about(x, row);
	struct bound_input *in = bind_new_input(x->b, NULL);
	struct bound_metric *m = in ? bind_new_metric(x->b, &about) : NULL;

	if (!m || !(m->input = bind_own(x->b, malloc(sizeof(*m->input)))))
		return -ENOMEM;
	in->constant = true;
	in->kind = PM_KINDS;
	in->more->value = value_missing(why);
	m->name = row->name;
	m->display = row->display ? row->display : row->name;
	m->precision = row->precision;
	m->better = row->better;
	m->added = m->default_on = added;
	m->unlikely = row->when && bind_is_zero(x->p, row->when);
	m->absent = true;
	m->kind = PM_SYSTEM;
	m->input[0] = (uint32_t)x->b->n_inputs - 1;
	m->n_inputs = 1;
	return 0;
}

static int bind_absent_row(struct builder *x, const struct metric *row)
{
	int why = why_unfed(x, row->expr, strlen(row->expr));

	for (const char *from = row->otherwise; from && *from && why >= 0 && why != PM_REASON_NO_PERMISSION;) {
		size_t len = strcspn(from, ";");
		int other = why_unfed(x, from, len);

		why = !why || other < 0 || other == PM_REASON_NO_PERMISSION ? other : why;
		from += len + (from[len] == ';');
	}
	return why <= 0 ? why : add_absent(x, row, false, (uint16_t)why);
}

int bind_absent(struct builder *x)
{
	const struct pm_model *m = x->p->model;
	bool lacks = lacks_registers(x);
	uint32_t ignored;
	int err = 0;

	for (const struct metric_table *t = metric_tables; lacks && t->row && !err; t++)
		for (size_t i = 0; i < t->n && !err; i++)
			if (!t->row[i].each && !names_get(&x->taken, t->row[i].name, &ignored))
				err = bind_absent_row(x, &t->row[i]);
	/* What the user added is shown whether or not it could be read. */
	for (uint32_t i = 0; i < m->n_counters && !err; i++) {
		const struct pm_counter *c = &m->counter[i];
		uint16_t why = (uint16_t)pm_map_u64(&c->attrs, PM_COUNTER_PERF_INVALID, 0);
		struct metric one = { .name = c->name, .display = c->display, .categories = c->source };

		if (why && x->p->kind[c->id] == PM_KINDS && pm_map_get(&c->attrs, PM_COUNTER_ADDED) &&
		    !bind_left_out(x, c) && !names_get(&x->taken, c->name, &ignored))
			err = add_absent(x, &one, true, why);
	}
	return err;
}
