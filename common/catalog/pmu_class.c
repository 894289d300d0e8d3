#include "common/catalog/pmu_class.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/parse.h"

#include "common/catalog/pmu_classes.inc"

bool pmu_name_parse(const char *name, struct pmu_name *out)
{
	const char *at, *end = NULL;
	uint64_t number;
	size_t len;

	*out = (struct pmu_name){ .rc = -1 };
	if (strncmp(name, "nvidia_", 7))
		return false;
	name += 7;
	for (const char *next = name; (next = strstr(next, "_pmu_")); next++)
		end = next;
	if (!end || end == name)
		return false;
	len = (size_t)(end - name);
	if (len >= sizeof(out->stem))
		return false;
	memcpy(out->stem, name, len);
	at = end + 5;
	if (parse_digits(&at, 10, 1000000, &number))
		return false;
	out->number = (int)number;
	if (!*at)
		return true;
	if (!strncmp(at, "_rc_", 4))
		at += 4;
	else if (!strncmp(at, "_chiplet_", 9))
		at += 9;
	else
		return false;
	if (parse_digits(&at, 10, 1000000, &number) || *at)
		return false;
	out->rc = (int)number;
	return true;
}

static bool identified(const struct pmu_class *c, const char *identifier)
{
	uint64_t id;

	if (c->hid && !strcmp(identifier, c->hid))
		return true;
	return c->product_mask && !parse_u64_span(identifier, strlen(identifier), 16, &id) && id <= UINT32_MAX &&
	       (id & c->product_mask) == c->product;
}

/* Whether the name is one of the list; '#' stands for digits, and '*' for the rest. */
static bool is_called(const char *list, const char *name)
{
	const char *at = name;

	for (; list; list++) {
		if (*list == '*' && *at)
			return true;
		if ((!*list || *list == ',') && !*at)
			return true;
		if (*list == '#' && isdigit((unsigned char)*at)) {
			at += strspn(at, "0123456789");
		} else if (*list && *list != ',' && *list == *at) {
			at++;
		} else {
			list = strchr(list, ',');
			at = name;
			if (!list)
				break;
		}
	}
	return false;
}

const struct pmu_class *pmu_class_of(const char *name, const char *identifier)
{
	struct pmu_name n;

	for (const struct pmu_class *c = pmu_classes; identifier && c->name; c++)
		if (identified(c, identifier))
			return c;
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		if (c->pmu && is_called(c->pmu, name))
			return c;
	if (!pmu_name_parse(name, &n))
		return NULL;
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		if (c->stem && (!strcmp(n.stem, c->stem) || (c->old_stem && !strcmp(n.stem, c->old_stem))) &&
		    c->per_rc == (n.rc >= 0))
			return c;
	return NULL;
}

const struct pmu_class *pmu_class_named(const char *name)
{
	for (const struct pmu_class *c = pmu_classes; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

const struct pmu_class_event *pmu_class_event(const struct pmu_class *c, const char *name)
{
	for (const struct pmu_class_event *e = c->event; e->name; e++)
		if (!strcasecmp(e->name, name))
			return e;
	return NULL;
}

const struct pmu_class_event *pmu_class_event_coded(const struct pmu_class *c, uint64_t code)
{
	for (const struct pmu_class_event *e = c->event; e->name && !c->pmu; e++)
		if (e->code == code)
			return e;
	return NULL;
}

const struct pmu_class_filter *pmu_class_filter(const struct pmu_class *c, const char *name)
{
	for (const struct pmu_class_filter *f = c->filter; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
