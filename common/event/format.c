/* The bits of /sys/bus/event_source/devices/PMU/format/NAME, and which PMU a name stands for. */
#include "common/event/event.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* Reads decimal digits at *text and moves past them. */
static int digits(const char **text, unsigned *value)
{
	const char *s = *text;

	*value = 0;
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	for (; isdigit((unsigned char)*s); s++) {
		*value = *value * 10 + (unsigned)(*s - '0');
		if (*value > 1000)
			return -EINVAL;
	}
	*text = s;
	return 0;
}

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
		unsigned first, last;

		s++; /* the colon or the comma */
		if (digits(&s, &first))
			return -EINVAL;
		last = first;
		if (*s == '-' && (s++, digits(&s, &last)))
			return -EINVAL;
		if (last > 63 || first > last)
			return -EINVAL;
		for (unsigned b = first; b <= last; b++, used++) {
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
