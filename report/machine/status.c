#include "report/machine/status.h"

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
