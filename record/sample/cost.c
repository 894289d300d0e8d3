#include "record/sample/cost.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

/* "CPU-ns WAITED-ns SLICES"; kernels without schedstats have no such file, or zeros. */
static uint64_t waited(const char *tid)
{
	unsigned long long ran, wait = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%llu %llu", &ran, &wait) != 2)
		wait = 0;
	if (f)
		fclose(f);
	return wait;
}

/* Readers are those whose names end in a number: pmrec/0. */
static bool is_reader(const char *tid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return !strncmp(name, "pmrec/", 6) && name[6] >= '0' && name[6] <= '9';
}

void cost_add_threads(struct cost *c)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		uint64_t ns = d->d_name[0] == '.' ? 0 : waited(d->d_name);

		c->waited_ns += ns;
		if (ns && is_reader(d->d_name))
			c->reader_ns += ns;
	}
	if (dir)
		closedir(dir);
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

int cost_record(const struct cost *c, struct plan *p, struct recording *r, uint64_t dropped)
{
	struct recording_stats stats = recording_stats(r);
	struct outlet_state out = recording_outlet(r);
	struct rusage usage = { 0 };
	int err = 0;

	getrusage(RUSAGE_SELF, &usage);
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{ "cpu_ns", ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime) },
		{ "wakeups", (uint64_t)usage.ru_nvcsw },
		{ "waited_ns", c->waited_ns },
		{ "reader_waited_ns", c->reader_ns },
		{ "memory_kib", (uint64_t)usage.ru_maxrss },
		{ "stalls", out.stalls },
		{ "stalled_ns", out.stalled_ns },
		{ "dropped", dropped },
		{ "bytes", stats.bytes },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]) && !err; i++)
		err = plan_config(p, PM_SYSTEM, PM_NONE, PM_PRIVACY_TECHNICAL, pm_u64(row[i].value), "pmrec.cost.%s",
				  row[i].name);
	return err;
}
