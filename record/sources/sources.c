#include "record/sources/sources.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory.h"

/* One row per source: X stands for source_X, of source_X.c or a file of several. They are planned in this order. */
#define EACH_SOURCE(SOURCE) \
	SOURCE(perf) \
	SOURCE(msr) \
	SOURCE(add) \
	SOURCE(cpuidle) \
	SOURCE(cpufreq) \
	SOURCE(interrupts) \
	SOURCE(softirqs) \
	SOURCE(stat) \
	SOURCE(schedstat) \
	SOURCE(vmstat) \
	SOURCE(pressure) \
	SOURCE(thermal) \
	SOURCE(throttle) \
	SOURCE(hwmon) \
	SOURCE(powercap) \
	SOURCE(resctrl) \
	SOURCE(gfx) \
	SOURCE(uncorefreq) \
	SOURCE(lpi) \
	SOURCE(meminfo) \
	SOURCE(diskstats) \
	SOURCE(netdev) \
	SOURCE(tcp) \
	SOURCE(filesystems) \
	SOURCE(tasks) \
	SOURCE(cgroups)

#define DECLARE(name) extern const struct source_ops source_##name;
EACH_SOURCE(DECLARE)

#define ROW(name) &source_##name,
const struct source_ops *const sources[] = { EACH_SOURCE(ROW) NULL };

static struct source *source_named(struct source *s, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(s[i].ops->name) == len && !strncmp(s[i].ops->name, name, len))
			return &s[i];
	return NULL;
}

/* "perf,msr" names what is wanted; a list of only "-msr" and the like is subtracted from the defaults. */
static int select_from(struct source *s, size_t n, const char *list, struct error *e)
{
	bool only_without = true;

	if (!*list)
		return error_set(e, EINVAL, "--sources: the list is empty; `pmrec list sources` shows all");
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		only_without = only_without && *at == '-';
	for (size_t i = 0; i < n && !only_without; i++)
		s[i].wanted = false;
	for (const char *at = list; *at;) {
		bool without = *at == '-';
		const char *name = at + without;
		size_t len = strcspn(name, ",");
		struct source *found = source_named(s, n, name, len);

		if (!found && len == 3 && !strncmp(name, "all", 3)) {
			for (size_t i = 0; i < n; i++)
				s[i].wanted = !without;
		} else if (!found) {
			return error_set(e, EINVAL,
					 "--sources: there is no source '%.*s'; `pmrec list sources` "
					 "shows all",
					 (int)len, name);
		} else {
			found->wanted = found->required = !without;
		}
		at = name + len;
		at += *at == ',';
	}
	return 0;
}

int sources_select(struct source **s, size_t *n, const char *list, struct error *e)
{
	struct source *all;
	size_t count = 0;
	int err;

	while (sources[count])
		count++;
	all = memory_new(count + 1, sizeof(*all));
	for (size_t i = 0; i < count; i++) {
		all[i].ops = sources[i];
		all[i].wanted = true;
	}
	err = list ? select_from(all, count, list, e) : 0;
	if (err) {
		free(all);
		return err;
	}
	*s = all;
	*n = count;
	return 0;
}

void sources_release(struct source *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		source_release(&s[i]);
	free(s);
}
