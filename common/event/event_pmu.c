/* Descriptions of PMUs: the bits of /sys/bus/event_source/devices/PMU/format/NAME, which PMU a name stands for, and
 * the PMU of events that the tool itself counts. */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/event/event.h"
#include "common/memory.h"
#include "common/parse.h"

int event_format_pack(const char *format, uint64_t value, uint64_t config[EVENT_CONFIGS], uint64_t *max)
{
	const char *s = format;
	unsigned word = 0, used = 0;
	uint64_t mask = 0, bits = 0;

	if (strncmp(s, "config", 6))
		return -EINVAL;
	s += 6;
	if (*s >= '1' && *s < '0' + EVENT_CONFIGS)
		word = (unsigned)(*s++ - '0');
	if (*s != ':')
		return -EINVAL;
	do {
		uint64_t first, last;

		s++; /* the colon or the comma */
		if (parse_digits(&s, 10, 63, &first))
			return -EINVAL;
		last = first;
		if (*s == '-' && (s++, parse_digits(&s, 10, 63, &last)))
			return -EINVAL;
		if (first > last)
			return -EINVAL;
		for (uint64_t b = first; b <= last; b++, used++) {
			if (used < 64 && value >> used & 1)
				bits |= 1ull << b;
			mask |= 1ull << b;
		}
	} while (*s == ',');
	while (*s == '\n' || *s == ' ')
		s++;
	if (*s)
		return -EINVAL;
	if (used < 64 && value >> used) {
		*max = (1ull << used) - 1;
		return -ERANGE;
	}
	config[word] = (config[word] & ~mask) | bits;
	return 0;
}

/* Length of `name` without the number at its end. One or two hexadecimal letters are no number, so that
 * cpum_cf is not a cpum; three or more are (an address). */
static size_t without_suffix(const char *name)
{
	size_t len = strlen(name), n = len, hex = len;

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	while (hex && isxdigit((unsigned char)name[hex - 1]))
		hex--;
	if (hex < n && len - hex > 2 && hex && name[hex - 1] == '_')
		n = hex;
	if (n < len && n && name[n - 1] == '_')
		n--;
	return n;
}

/* Matches "hisi_sccl,ddrc" with "hisi_sccl1_ddrc3": the parts in this order, the first at the start, and only a
 * number after the last. */
static bool parts_match(const char *pattern, const char *name)
{
	for (bool first = true;; first = false) {
		size_t len = strcspn(pattern, ",");
		const char *at = first ? name : memmem(name, strlen(name), pattern, len);

		if (!len || !at || strncmp(at, pattern, len))
			return false;
		name = at + len;
		if (!pattern[len])
			return !name[strspn(name, "_0123456789")];
		pattern += len + 1;
	}
}

const char *const event_pmus_of_pointers[] = { "kprobe", "uprobe", NULL };

bool event_pmu_takes_pointer(const char *name)
{
	const char *const *one = event_pmus_of_pointers;

	while (*one && strcmp(*one, name))
		one++;
	return *one;
}

bool event_pmu_matches(const char *pattern, const char *name)
{
	static const char prefix[] = "uncore_";
	size_t len;

	if (!strcmp(pattern, name))
		return true;
	if (strchr(pattern, ','))
		return parts_match(pattern, name);
	if (!strncmp(pattern, prefix, sizeof(prefix) - 1))
		pattern += sizeof(prefix) - 1;
	if (!strncmp(name, prefix, sizeof(prefix) - 1))
		name += sizeof(prefix) - 1;
	if (strpbrk(pattern, "*?["))
		return !fnmatch(pattern, name, 0);
	len = without_suffix(name);
	return !strcmp(pattern, name) || (len && len == strlen(pattern) && !strncmp(pattern, name, len));
}

const struct event_pmu *event_pmu_named(const struct event_pmu *pmu, size_t n, const char *name)
{
	size_t i = 0;

	while (i < n && strcmp(pmu[i].name, name))
		i++;
	return i < n ? &pmu[i] : NULL;
}

const struct event_alias *event_pmu_alias(const struct event_pmu *pmu, const char *name, size_t len)
{
	for (size_t i = 0; pmu && i < pmu->n_aliases; i++)
		if (!strncasecmp(pmu->alias[i].name, name, len) && !pmu->alias[i].name[len])
			return &pmu->alias[i];
	return NULL;
}

const char *event_pmu_format(const struct event_pmu *pmu, const char *name)
{
	for (size_t i = 0; pmu && i < pmu->n_formats; i++)
		if (!strcmp(pmu->format[i].name, name))
			return pmu->format[i].text;
	return NULL;
}

void event_alias_release(struct event_alias *alias)
{
	free(alias->name);
	free(alias->text);
	free(alias->scale);
	free(alias->unit);
	free(alias->help);
}

void event_pmu_release(struct event_pmu *pmu)
{
	for (size_t i = 0; i < pmu->n_formats; i++) {
		free(pmu->format[i].name);
		free(pmu->format[i].text);
	}
	for (size_t i = 0; i < pmu->n_aliases; i++)
		event_alias_release(&pmu->alias[i]);
	free(pmu->format);
	free(pmu->alias);
	free(pmu->cpus);
	free(pmu->identifier);
	free(pmu->name);
	*pmu = (struct event_pmu){ 0 };
}

void event_tool_pmu(struct event_pmu *pmu)
{
	static const char *const events[][3] = {
		{ "duration_time", "config=1", "time that was counted" },
		{ "user_time", "config=2", "CPU time in user mode" },
		{ "system_time", "config=3", "CPU time in the kernel" },
	};
	const size_t n = sizeof(events) / sizeof(events[0]);

	*pmu = (struct event_pmu){ .name = memory_text("tool"),
				   .type = EVENT_TYPE_TOOL,
				   .alias = memory_new(n, sizeof(*pmu->alias)),
				   .n_aliases = n };
	for (size_t i = 0; i < n; i++)
		pmu->alias[i] = (struct event_alias){ .name = memory_text(events[i][0]),
						      .text = memory_text(events[i][1]),
						      .unit = memory_text("ns"),
						      .help = memory_text(events[i][2]) };
}
