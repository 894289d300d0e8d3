#include "report/machine/status.h"

#include "common/memory.h"

void event_text(const struct pm_event *e, struct buf *out)
{
	const char *name = pm_event_name(e->type);
	char word[16];

	if (name)
		buf_addstr(out, name);
	else
		buf_printf(out, "event %u", (unsigned)e->type);
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_TEXT))
		buf_printf(out, ": %s", pm_map_text(&e->attrs, PM_EVENT_KEY_TEXT, ""));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_SOURCE))
		buf_printf(out, " %s", pm_map_text(&e->attrs, PM_EVENT_KEY_SOURCE, ""));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_CPU))
		buf_printf(out, " CPU %llu", (unsigned long long)pm_map_u64(&e->attrs, PM_EVENT_KEY_CPU, 0));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_COUNT))
		buf_printf(out, " %llu ticks", (unsigned long long)pm_map_u64(&e->attrs, PM_EVENT_KEY_COUNT, 0));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_EXIT))
		buf_printf(out, " status %llu", (unsigned long long)pm_map_u64(&e->attrs, PM_EVENT_KEY_EXIT, 0));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_SIGNAL))
		buf_printf(out, " signal %llu", (unsigned long long)pm_map_u64(&e->attrs, PM_EVENT_KEY_SIGNAL, 0));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_REASON))
		buf_printf(out, " (%s)",
			   pm_reason_name((uint16_t)pm_map_u64(&e->attrs, PM_EVENT_KEY_REASON, 0), word));
	if (pm_map_get(&e->attrs, PM_EVENT_KEY_NOTE)) {
		buf_addstr(out, ": ");
		pm_remark_text(out, pm_map_get(&e->attrs, PM_EVENT_KEY_NOTE));
	}
}

#define NAMED 4 /* in a list, unless it says how many */

void listed_add(struct listed *l, const char *name)
{
	if (names_get(&l->have, name, NULL))
		return;
	memory_done(names_set(&l->have, name, 0));
	if (l->have.n <= (l->most ? l->most : NAMED))
		buf_printf(&l->text, "%s%s", l->have.n > 1 ? ", " : "", name);
}

void listed_add_instance(struct listed *l, const struct pm_instance *i)
{
	SCOPED(buf_release) struct buf out = BUF_INIT;
	const char *name = pm_map_text(&i->attrs, PM_INSTANCE_NAME, NULL);

	if (name && i->kind != PM_CPU)
		buf_addstr(&out, name);
	else if (i->number == PM_NONE)
		buf_printf(&out, "the %s", pm_kind_name(i->kind));
	else
		buf_printf(&out, "%s %u", i->kind == PM_CPU ? "CPU" : pm_kind_name(i->kind), i->number);
	memory_whole(&out);
	listed_add(l, buf_str(&out));
}

void listed_release(struct listed *l)
{
	buf_release(&l->text);
	names_release(&l->have);
}

void listed_put(struct listed *l, struct buf *out)
{
	size_t most = l->most ? l->most : NAMED;

	memory_whole(&l->text);
	buf_addstr(out, buf_str(&l->text));
	if (l->have.n > most)
		buf_printf(out, " and %zu more", l->have.n - most);
	listed_release(l);
}
