/* Intel's platform monitoring: regions of raw numbers whose meaning depends on their GUID. All words are recorded as
 * they are; a report that knows the GUID extracts what it needs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/plan/plan.h"
#include "record/sources/filegrid.h"

#define REGIONS   "/sys/class/intel_pmt"
#define WORDS_MAX 16384
/* The hardware refreshes them every few milliseconds at best, and there are many. */
#define MIN_PERIOD_NS 1000000000ull

struct region {
	struct unit unit;
	int fd;
	uint32_t n;
	uint64_t word[];
};

/* sysfs returns one page at a time. */
static int read_all(int fd, void *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int region_read(struct unit *u, struct cells *c)
{
	struct region *r = (struct region *)u;
	int err = read_all(r->fd, r->word, r->n * sizeof(r->word[0]));

	if (err) {
		cells_fail_all(c, pm_reason_errno(err));
		return 0;
	}
	for (uint32_t k = 0; k < r->n; k++)
		cells_set(c, k, r->word[k]);
	return 0;
}

static void region_release(struct unit *u)
{
	struct region *r = (struct region *)u;

	fd_close(&r->fd);
	free(r);
}

static uint32_t add_group(struct plan *p, const char *name, uint64_t guid, uint32_t n)
{
	const struct catalog_counter *row = catalog_find("pmt", "*");
	SCOPED(scoped_free) uint32_t *counter = memory_new(n, sizeof(*counter));
	uint32_t instance = (uint32_t)device_instance(p, name, NULL, PM_NONE);
	struct pm_group g = {
		.source = "pmt", .counter = counter, .n_counters = n, .instance = &instance, .n_instances = 1
	};

	for (uint32_t k = 0; k < n; k++) {
		char part[48];

		snprintf(part, sizeof(part), "%08llx_%u", (unsigned long long)guid, 8 * k);
		counter[k] = (uint32_t)member_counter(p, row, &(struct member){ .part = part });
	}
	return (uint32_t)plan_group(p, &g);
}

static void add_region(struct plan *p, const char *name)
{
	uint64_t guid, size;
	struct region *r;
	int err;

	if (root_u64(p->root, &guid, REGIONS "/%s/guid", name) || root_u64(p->root, &size, REGIONS "/%s/size", name))
		return;
	size /= sizeof(r->word[0]);
	if (!size || size > WORDS_MAX) {
		plan_refused(p, PM_REASON_FORMAT, pm_remark(0), pm_remark(PM_REMARK_FILE_IN, REGIONS, name, "size"));
		return;
	}
	r = memory_new(1, sizeof(*r) + size * sizeof(r->word[0]));
	*r = (struct region){ .unit = { .cpu = PM_NONE,
					.min_period_ns = MIN_PERIOD_NS,
					.read = region_read,
					.release = region_release },
			      .n = (uint32_t)size };
	r->fd = root_open(p->root, REGIONS "/%s/telem", name);
	err = r->fd < 0 ? r->fd : read_all(r->fd, r->word, size * sizeof(r->word[0]));
	if (err) {
		region_release(&r->unit);
		plan_refused(p, err == -EACCES ? PM_REASON_NO_PERMISSION : pm_reason_errno(err), pm_remark(0),
			     pm_remark(PM_REMARK_FILE_IN, REGIONS, name, "telem"));
		return;
	}
	r->unit.group = add_group(p, name, guid, r->n);
	plan_add_unit(p, &r->unit);
	plan_fact(p, pm_u64(guid), "pmt.%s.guid", name);
}

static int pmt_plan(struct source *s, struct plan *p, struct error *e)
{
	SCOPED(root_list_free) char **name = NULL;
	int n = root_list(p->root, &name, REGIONS);
	bool found = false;

	for (int i = 0; i < n; i++)
		if (!strncmp(name[i], "telem", 5)) {
			found = true;
			add_region(p, name[i]);
		}
	if (found)
		return 0;
	return filegrid_refused(p, n < 0 ? n : -ENOENT, PM_REMEDY_PMT, REGIONS "/telem*");
}

const struct source_ops source_pmt = {
	.name = "pmt",
	.help = "raw regions of Intel's platform monitoring telemetry (sysfs)",
	.plan = pmt_plan,
};
