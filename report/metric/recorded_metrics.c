#include "report/metric/recorded_metrics.h"

#include <string.h>

#include "common/memory.h"
#include "common/metric/expr.h"

static const struct pm_value *entries(const struct pm_model *m)
{
	const struct pm_value *v = pm_map_get(&m->header, PM_HEADER_METRICS);

	return v && v->kind == PM_VALUE_ARRAY ? v : NULL;
}

static const char *text_of(const struct pm_value *v, uint32_t i)
{
	return v->kind == PM_VALUE_ARRAY && i < v->array.n && v->array.item[i].kind == PM_VALUE_TEXT ?
		       v->array.item[i].str.data :
		       "";
}

/* The same id as when the vendor's file is loaded. */
static char *id_of(const char *name)
{
	char *id = memory_text(name);

	for (char *c = id; *c; c++) {
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
		else if (!((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '.'))
			*c = '_';
	}
	return id;
}

static char *copy_of(const struct pm_value *v, uint32_t i)
{
	return memory_text(text_of(v, i));
}

static void add(struct metric_set *set, const struct pm_value *v)
{
	struct metric *row = &set->row[set->n];
	struct error e = { 0 };
	struct expr *x;

	if (v->kind != PM_VALUE_ARRAY || !text_of(v, PM_METRIC_NAME)[0])
		return;
	if (expr_parse(&x, text_of(v, PM_METRIC_FORMULA), &e)) {
		buf_printf(&set->skipped, "metric %s left out: %s\n", text_of(v, PM_METRIC_NAME), e.text);
		memory_whole(&set->skipped);
		return;
	}
	expr_free(x);
	*row = (struct metric){
		.name = id_of(text_of(v, PM_METRIC_NAME)),
		.display = copy_of(v, PM_METRIC_NAME),
		.aliases = copy_of(v, PM_METRIC_NAME),
		.unit = copy_of(v, PM_METRIC_UNIT),
		.expr = copy_of(v, PM_METRIC_FORMULA),
		.threshold = text_of(v, PM_METRIC_THRESHOLD)[0] ? copy_of(v, PM_METRIC_THRESHOLD) : NULL,
		.categories = text_of(v, PM_METRIC_GROUPS)[0] ? copy_of(v, PM_METRIC_GROUPS) : NULL,
		.help = copy_of(v, PM_METRIC_HELP),
		.precision = 2,
		.default_on = true,
	};
	set->n++;
}

void recorded_metrics(struct metric_set *set, const struct pm_model *m)
{
	const struct pm_value *v = entries(m);

	*set = (struct metric_set){ .row = memory_new(v ? v->array.n : 0, sizeof(*set->row)) };
	for (uint32_t i = 0; v && i < v->array.n; i++)
		add(set, &v->array.item[i]);
}

const char *recorded_name(const struct pm_model *m, uint32_t i)
{
	const struct pm_value *v = entries(m), *one;

	if (!v || i >= v->array.n)
		return NULL;
	one = &v->array.item[i];
	return one->kind == PM_VALUE_TEXT ? one->str.data : text_of(one, PM_METRIC_NAME);
}

bool recorded_asks(const struct pm_model *m, const char *name)
{
	const char *asked;

	for (uint32_t i = 0; (asked = recorded_name(m, i)); i++)
		if (!strcasecmp(asked, name))
			return true;
	return false;
}
