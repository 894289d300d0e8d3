#include "common/metric/shadow.h"

#include <linux/perf_event.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"

/* Whether the row is about an event with these attr words. */
static bool has_config(const struct shadow *s, uint32_t type, uint64_t config)
{
	const struct event_symbol *symbol;
	uint64_t cache;

	if (type == PERF_TYPE_HW_CACHE)
		return !event_cache_parse(s->event, &cache) && cache == (uint32_t)config;
	symbol = event_symbol_find(s->event);
	return symbol && symbol->type == type &&
	       symbol->config == (type == PERF_TYPE_HARDWARE ? (uint32_t)config : config);
}

/* "cpu/topdown-retiring/u" and "topdown-retiring:u" are topdown-retiring; "msr/smi/" is smi. */
static bool has_name(const struct shadow *s, const char *name)
{
	const char *slash = strchr(name, '/'), *from = slash ? slash + 1 : name;
	size_t len = strcspn(from, slash ? "/" : ":");

	return strlen(s->event) == len && !strncasecmp(s->event, from, len);
}

size_t shadow_find(uint32_t type, uint64_t config, const char *name, const struct shadow **row)
{
	bool known = type == PERF_TYPE_HARDWARE || type == PERF_TYPE_SOFTWARE || type == PERF_TYPE_HW_CACHE;
	size_t n = 0;

	for (const struct shadow *s = shadows; s->event; s++) {
		if (known ? !has_config(s, type, config) : !has_name(s, name)) {
			if (n)
				break;
			continue;
		}
		if (!n)
			*row = s;
		n++;
	}
	return n;
}

enum shadow_level shadow_judge(const struct shadow *s, double value)
{
	static const enum shadow_level level[] = { SHADOW_BAD, SHADOW_NEARLY_BAD, SHADOW_LESS_GOOD };

	if (isnan(value) || s->limit[0] == 0)
		return SHADOW_PLAIN;
	if (s->lower)
		return value > s->limit[0] ? SHADOW_GOOD : SHADOW_PLAIN;
	for (size_t i = 0; i < sizeof(level) / sizeof(level[0]); i++)
		if (s->limit[i] > 0 && value > s->limit[i])
			return level[i];
	return SHADOW_GOOD;
}
