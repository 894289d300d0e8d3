#include "record/plan/member.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "record/plan/plan.h"

/* Also cuts what would not fit: names of this kind have no business being that long. */
static void replace_star(char *out, size_t size, const char *pattern, const char *with)
{
	const char *star = strchr(pattern, '*');

	if (star)
		snprintf(out, size, "%.*s%s%s", (int)(star - pattern), pattern, with, star + 1);
	else
		snprintf(out, size, "%s", pattern);
}

static int set_text(struct pm_map *m, uint32_t key, const char *text)
{
	return text ? pm_map_set(m, key, pm_text(text)) : 0;
}

int64_t member_counter(struct plan *p, const struct catalog_counter *row, const struct member *m)
{
	const char *shown = m->shown ? m->shown : m->part;
	char name[200], display[200];
	const struct pm_counter *known;
	struct pm_counter c = plan_row(row);
	int64_t id;

	replace_star(name, sizeof(name), row->name, m->part);
	c.name = name;
	known = pm_model_counter_named(p->model, name);
	if (known)
		return known->id;
	replace_star(display, sizeof(display), c.display, shown);
	c.display = display;
	id = set_text(&c.attrs, PM_COUNTER_HELP, m->help ? m->help : row->help);
	if (!id && m->family)
		id = set_text(&c.attrs, PM_COUNTER_FAMILY, m->family);
	if (!id && m->family)
		id = set_text(&c.attrs, PM_COUNTER_MEMBER, shown);
	if (!id && plan_may_record(p->options, PM_COUNTER_DEVICES))
		id = set_text(&c.attrs, PM_COUNTER_DEVICES, m->devices);
	if (!id)
		id = pm_model_add_counter(p->model, &c);
	pm_map_release(&c.attrs);
	return id;
}

void member_part(char *part, size_t size, const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n + 1 < size; i++)
		part[n++] = isalnum((unsigned char)text[i]) ? (char)tolower((unsigned char)text[i]) : '_';
	part[n] = '\0';
}
