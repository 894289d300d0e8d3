/*
 * The event language: no input may crash it, and what it accepts prints to a text that parses to the same
 * print. The first byte chooses how well the machine is known.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/event/event.h"
#include "tests/unit/lib/event_print.h"

static struct event_format formats[] = {
	{ "event", "config:0-7,32-35" },
	{ "umask", "config:8-15" },
	{ "far", "config4:63" },
	{ "bad", "config9:1-" },
};
static struct event_alias aliases[] = {
	{ .name = "alias", .text = "event=0x3c,umask=?", .scale = "1e-6", .unit = "x" },
	{ .name = "cycles", .text = "event=1" },
	{ .name = "bad", .text = "event=1,,=2" },
};
static struct event_pmu pmus[] = {
	{ .name = "cpu",
	  .type = 4,
	  .core = true,
	  .format = formats,
	  .n_formats = 4,
	  .alias = aliases,
	  .n_aliases = 3 },
	{ .name = "cpu_b", .type = 10, .core = true, .cpus = "1" },
	{ .name = "u_0",
	  .type = 11,
	  .uncore = true,
	  .format = formats,
	  .n_formats = 4,
	  .alias = aliases,
	  .n_aliases = 3 },
	{ .name = "u_1",
	  .type = 12,
	  .uncore = true,
	  .format = formats,
	  .n_formats = 4,
	  .alias = aliases,
	  .n_aliases = 3 },
};

static int tracepoints(void *data, const char *system, const char *name, event_tracepoint_fn found, void *arg)
{
	int r;

	if (system[0] != 's')
		return 0;
	r = found(arg, "sched", "sched_switch", 1);
	if (!r)
		r = found(arg, "sched", "sched_wakeup", 2);
	return r ? r : 2;
}

static char *print(const struct event_list *list)
{
	struct buf b = BUF_INIT;

	event_list_print(list, &b);
	return buf_detach(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct event_view view = { .pmu = pmus, .tracepoints = tracepoints };
	struct event_list *list, *again;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	struct error e = { 0 };
	char *text, *one, *two;

	if (!size)
		return 0;
	view.n_pmus = data[0] % 5;
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		return 0;
	if (event_parse(&list, text, &e)) {
		if (!e.text[0])
			abort();
		free(text);
		return 0;
	}
	one = print(list);
	if (event_parse(&again, one, &e))
		abort();
	two = print(again);
	if (strcmp(one, two))
		abort();
	e.text[0] = '\0';
	if (event_resolve(list, &view, &set, &notes, &e) && (!e.text[0] || set.n))
		abort();
	for (size_t i = 0; i < set.n; i++)
		event_set_mods(&set.event[i], EVENT_MOD_USER);
	event_set_release(&set);
	event_list_free(list);
	event_list_free(again);
	buf_release(&notes);
	free(one);
	free(two);
	free(text);
	return 0;
}
