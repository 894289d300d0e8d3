#include "table.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

static const struct table_pmu *by_name(const struct table *t, const char *name)
{
	for (unsigned i = 0; i < t->n_pmus; i++)
		if (!strcmp(t->pmu[i].name, name))
			return &t->pmu[i];
	return NULL;
}

static bool read_line(struct table *t, const char *line)
{
	struct table_pmu *p = &t->pmu[t->n_pmus];
	struct table_event *e = &t->event[t->n_events];
	char word[16], name[48], kind[16];
	unsigned a, b, only, metric;
	unsigned long long config, cpus, filter;

	if (sscanf(line, "%15s", word) != 1)
		return true;
	if (!strcmp(word, "cpu") && sscanf(line, "cpu %u %u", &a, &b) == 2 && a < TABLE_CPUS) {
		t->package[a] = b;
		t->n_cpus = a >= t->n_cpus ? a + 1 : t->n_cpus;
		return true;
	}
	if (!strcmp(word, "offline") && sscanf(line, "offline %u", &a) == 1 && a < TABLE_CPUS) {
		t->offline |= 1ull << a;
		return true;
	}
	if (!strcmp(word, "hardware") && sscanf(line, "hardware %u %llx", &a, &config) == 2 && a < 16) {
		t->hardware[a] = config;
		return true;
	}
	if (!strcmp(word, "paranoid") && sscanf(line, "paranoid %d %u", &t->paranoid, &a) == 2) {
		t->privileged = a;
		return true;
	}
	if (!strcmp(word, "pmu") && t->n_pmus < TABLE_PMUS &&
	    sscanf(line, "pmu %47s %u %15s %u %u %u %d %llx %llx %llx %u", p->name, &p->type, kind, &p->general,
		   &p->held, &a, &p->package, &cpus, &config, &filter, &b) == 11) {
		p->core = !strcmp(kind, "core");
		p->checks = a;
		p->cpus = cpus;
		p->mask = config;
		p->filter = filter;
		p->alone = b;
		t->n_pmus++;
		return true;
	}
	if (!strcmp(word, "event") && t->n_events < TABLE_RATES &&
	    sscanf(line, "event %47s %llx %lf %d %u %u", name, &config, &e->rate, &e->fixed, &only, &metric) == 6) {
		e->pmu = by_name(t, name);
		e->config = config;
		e->only_fixed = only;
		e->metric = metric;
		t->n_events += e->pmu ? 1 : 0;
		return e->pmu;
	}
	return false;
}

bool table_load(struct table *t, const char *path)
{
	FILE *f = fopen(path, "re");
	char line[512];
	bool good = f;

	memset(t->hardware, 0xff, sizeof(t->hardware));
	while (good && fgets(line, sizeof(line), f))
		if (!read_line(t, line)) {
			fprintf(stderr, "fakepmu: %s: not a line of a table: %s", path, line);
			good = false;
		}
	if (!f)
		perror(path);
	else
		fclose(f);
	return good;
}

const struct table_pmu *table_pmu(const struct table *t, uint32_t type, uint64_t config)
{
	bool core = type == PERF_TYPE_RAW || type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE;

	if (core && type != PERF_TYPE_RAW && config >> 32) {
		core = false;
		type = (uint32_t)(config >> 32);
	}
	for (unsigned i = 0; i < t->n_pmus; i++)
		if (core ? t->pmu[i].core : t->pmu[i].type == type)
			return &t->pmu[i];
	return NULL;
}

struct table_event table_event(const struct table *t, const struct table_pmu *pmu, uint64_t config)
{
	struct table_event other = { .pmu = pmu, .config = config & pmu->mask, .fixed = -1 };

	for (unsigned i = 0; i < t->n_events; i++)
		if (t->event[i].pmu == pmu && t->event[i].config == other.config)
			return t->event[i];
	/* The same in machine.py. */
	other.rate = 1e6 + 1e3 * (double)(other.config * 2654435761u % 9973);
	return other;
}
