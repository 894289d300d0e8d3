/* --iostat: traffic of PCIe ports, as perf stat prints it. Each port is a PMU on a die, as the option says. */
#include <stdio.h>
#include <string.h>

#include "common/number.h"
#include "report/stat/stat.h"

#define HEAD_EVERY 25              /* intervals between two head lines */
#define WIDTH      20              /* of a column */
#define MIB        (1024.0 * 1024) /* of four bytes each */

static const char *const heads[] = { "Inbound Read(MB)", "Inbound Write(MB)", "Outbound Read(MB)",
				     "Outbound Write(MB)" };

static void put_heads(struct stat_sheet *s, const char *sep)
{
	struct buf *out = &s->out->text;

	if (s->time[0])
		buf_addstr(out, sep ? " time," : " #          time ");
	buf_addstr(out, sep ? "port," : "   port         ");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		buf_printf(out, "%*s%s", sep ? 0 : WIDTH, heads[i], sep ? sep : " ");
	buf_addch(out, '\n');
}

/* Events of a PMU are in the order of the heads. */
static void put_port(struct stat_sheet *s, const char *pmu, uint32_t die, const char *sep)
{
	struct buf *out = &s->out->text;
	char text[64];

	for (uint32_t e = 0; e < s->n_events; e++) {
		const struct stat_event *ev = &s->event[e];
		const struct stat_line *l = die < s->n_rows ? stat_line_at(s, die, e) : NULL;
		size_t n = 1;

		if (strcmp(pm_map_text(&ev->first->attrs, PM_COUNTER_PERF_PMU, ""), pmu))
			continue;
		if (l && !l->now.reason && l->now.running)
			n = number_fixed(text, stat_value(ev, &l->now) * 4 / MIB, 0);
		else
			text[0] = '-';
		buf_printf(out, "%*.*s%s", sep ? 0 : WIDTH, (int)n, text, sep ? sep : " ");
	}
	buf_addch(out, '\n');
}

void stat_put_ports(struct stat_sheet *s)
{
	const char *sep = s->config->form == STAT_CSV ? s->config->separator : NULL, *at = s->config->iostat;
	char port[16], pmu[32];
	unsigned number, die;
	int len = 0;

	if (!s->time[0] ? !s->summing : s->intervals == 1 || (!sep && (s->intervals - 1) % HEAD_EVERY == 0))
		put_heads(s, sep);
	for (; sscanf(at, "%15[^=]=%u.%u%n", port, &number, &die, &len) == 3; at += len + (at[len] == ',')) {
		snprintf(pmu, sizeof(pmu), "uncore_iio_%u", number);
		if (s->time[0])
			buf_printf(&s->out->text, "%16s%s", s->time, sep ? sep : " ");
		buf_printf(&s->out->text, "%s%s", port, sep ? sep : " ");
		put_port(s, pmu, die, sep);
	}
}
