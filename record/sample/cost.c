#include "record/sample/cost.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/process.h"
#include "record/sources/textfile.h"

/* The time that the host has taken from a CPU so far, in the kernel's clock ticks. False: the line is not about a
 * CPU. */
static bool stolen_of(struct textcursor at, uint32_t *cpu, uint64_t *stolen)
{
	if (!textcursor_cpu(&at, cpu))
		return false;
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	for (int k = 0; k < 8; k++)
		if (!textcursor_u64(&at, stolen))
			return false;
	return true;
}

/* The longest time, summed over CPUs, for which a quota has held back the cgroup of that path or one above. */
static uint64_t throttled_at(const struct root *r, const char *mount, char *path)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	uint64_t most = 0;
	char *slash;

	for (;;) {
		const char *ns = NULL, *us = NULL;
		uint64_t time = 0;

		if (root_read(r, &text, 4096, "/sys/fs/cgroup%s%s/cpu.stat", mount, path) > 0) {
			us = strstr(buf_str(&text), "throttled_usec ");
			ns = strstr(buf_str(&text), "throttled_time ");
		}
		if (us || ns)
			time = strtoull((us ? us : ns) + strlen("throttled_usec "), NULL, 10) * (us ? 1000 : 1);
		most = time > most ? time : most;
		slash = strrchr(path, '/');
		if (!slash)
			return most;
		*slash = '\0';
	}
}

/* Of this process; 0 also where no file says. */
static uint64_t throttled(const struct root *r)
{
	SCOPED(buf_release) struct buf text = BUF_INIT;
	uint64_t most = 0, ns;
	char *rest = NULL, *line;

	if (root_read(r, &text, 65536, "/proc/self/cgroup") <= 0)
		return 0;
	line = (char *)(uintptr_t)buf_str(&text);
	/* "0::/of/version/2", "4:cpu,cpuacct:/of/version/1" */
	for (line = strtok_r(line, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *kind = strchr(line, ':'), *path = kind ? strchr(kind + 1, ':') : NULL;

		if (!path || (kind[1] != ':' && strncmp(kind + 1, "cpu", 3)))
			continue;
		*path++ = '\0';
		*kind = kind[1] ? '/' : '\0';
		ns = throttled_at(r, kind, path);
		most = ns > most ? ns : most;
	}
	return most;
}

void cost_begin(struct cost *c, const struct root *r)
{
	struct textcursor at;
	uint64_t stolen;
	uint32_t cpu;

	c->stat = TEXTFILE_INIT;
	c->throttled_ns = throttled(r);
	if (textfile_open(&c->stat, r, "/proc/stat"))
		return;
	for (at = textfile_begin(&c->stat); textcursor_line(&at);)
		if (stolen_of(at, &cpu, &stolen) && cpu >= c->n_stolen)
			c->n_stolen = cpu + 1;
	c->stolen = memory_new(c->n_stolen, sizeof(*c->stolen));
	for (at = textfile_begin(&c->stat); textcursor_line(&at);)
		if (stolen_of(at, &cpu, &stolen) && cpu < c->n_stolen) {
			c->stolen[cpu] = stolen;
			c->may_steal = c->may_steal || stolen;
		}
	c->look_ns = clocks_monotonic();
}

void cost_release(struct cost *c)
{
	if (c->stat.data)
		textfile_release(&c->stat);
	free(c->stolen);
	c->stolen = NULL;
}

/* The largest growth of any CPU since the last call (ns). */
static uint64_t stolen_since(struct cost *c)
{
	uint64_t most = 0, stolen;
	struct textcursor at;
	uint32_t cpu;

	if (!c->stat.data || (textfile_read(&c->stat) && textfile_grow(&c->stat)))
		return 0;
	for (at = textfile_begin(&c->stat); textcursor_line(&at);) {
		if (!stolen_of(at, &cpu, &stolen) || cpu >= c->n_stolen)
			continue;
		if (stolen > c->stolen[cpu] && stolen - c->stolen[cpu] > most)
			most = stolen - c->stolen[cpu];
		c->stolen[cpu] = stolen;
	}
	return most * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

void cost_look(struct cost *c, uint64_t lost, uint64_t interval_ns)
{
	uint64_t now = clocks_monotonic(), stolen, ticks;

	/* A machine without a host is not asked. */
	if (!interval_ns || (!c->may_steal && lost == c->lost))
		return;
	stolen = stolen_since(c);
	if (stolen > now - c->look_ns)
		stolen = now - c->look_ns;
	ticks = (stolen + c->spare_ns) / interval_ns;
	if (ticks > lost - c->lost)
		ticks = lost - c->lost;
	c->may_steal = c->may_steal || stolen;
	c->stolen_ns += stolen;
	c->stolen_ticks += ticks;
	c->spare_ns += stolen - ticks * interval_ns;
	if (c->spare_ns > stolen)
		c->spare_ns = stolen;
	c->lost = lost;
	c->look_ns = now;
}

/* A line about one of our threads; "" if there is none. */
static const char *line_of(const char *tid, const char *file, char line[static 80])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/%s", tid, file);
	f = fopen(path, "re");
	if (!f || !fgets(line, 80, f))
		line[0] = '\0';
	if (f)
		fclose(f);
	return line;
}

/* "CPU-ns WAITED-ns SLICES"; kernels without schedstats have no such file, or zeros. */
static uint64_t waited(const char *tid)
{
	unsigned long long wait;
	char line[80];

	return sscanf(line_of(tid, "schedstat", line), "%*u %llu", &wait) == 1 ? wait : 0;
}

/* Readers have names that end in a number: pmrec/0. */
static bool is_reader(const char *tid)
{
	char line[80];
	const char *name = line_of(tid, "comm", line);

	return !strncmp(name, "pmrec/", 6) && name[6] >= '0' && name[6] <= '9';
}

void cost_add_threads(struct cost *c, const struct sampler *s)
{
	struct sampler_delay delay = sampler_delay(s);
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
	/* Stopped while it read: that reading is not to blame. */
	if (continued()) {
		delay.late_ns += delay.longest_ns;
		delay.overrun_ns -= delay.longest_ns;
	}
	c->delay.late_ns += delay.late_ns;
	c->delay.overrun_ns += delay.overrun_ns;
	c->delay.missed += delay.missed;
	c->delay.stood_in += delay.stood_in;
}

void cost_record(const struct cost *c, struct plan *p, struct recording *r, uint64_t dropped)
{
	struct recording_stats stats = recording_stats(r);
	struct outlet_state out = recording_outlet(r);
	uint64_t now_ns = throttled(p->root);
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	const struct {
		const char *name;
		uint64_t value;
	} row[] = {
		{ "elapsed_ns", clocks_monotonic() - c->begin_ns },
		{ "cpu_ns", clocks_timeval_ns(&usage.ru_utime) + clocks_timeval_ns(&usage.ru_stime) },
		{ "wakeups", (uint64_t)usage.ru_nvcsw },
		{ "waited_ns", c->waited_ns },
		{ "reader_waited_ns", c->reader_ns },
		{ "throttled_ns", now_ns > c->throttled_ns ? now_ns - c->throttled_ns : 0 },
		{ "late_ns", c->delay.late_ns },
		{ "overrun_ns", c->delay.overrun_ns },
		{ "missed", c->delay.missed },
		{ "stood_in", c->delay.stood_in },
		{ "memory_kib", (uint64_t)usage.ru_maxrss },
		{ "stalls", out.stalls },
		{ "stalled_ns", out.stalled_ns },
		{ "dropped", dropped },
		{ "stolen_ns", c->stolen_ns },
		{ "stolen_ticks", c->stolen_ticks },
		{ "bytes", stats.bytes },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		plan_fact(p, pm_u64(row[i].value), "pmrec.cost.%s", row[i].name);
}
