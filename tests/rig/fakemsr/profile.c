/* Reads what an emulated machine consists of: a line a register, a file or a refusal. */
#include "profile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

uint64_t profile_tsc(const struct profile *p)
{
	return (uint64_t)(now() * p->tsc_hz);
}

static uint64_t rate_now(const struct profile *p, const struct rate *r)
{
	/* The clock counts from boot: the machine is as old as this one and `epoch` more. */
	long double x = r->of_tsc ? (long double)profile_tsc(p) : (long double)(now() + p->epoch);
	uint64_t v = r->base + (uint64_t)(int64_t)floorl(x * (long double)r->per);

	return r->width < 64 ? v & ((1ull << r->width) - 1) : v;
}

static bool rate_parse(struct rate *r, const char *text)
{
	char *end;

	r->per = strtod(text, &end);
	r->of_tsc = *end == 't';
	end += r->of_tsc;
	return end != text && !*end;
}

static bool cpus_parse(struct cpus *c, const char *text)
{
	char *end;

	*c = (struct cpus){ 0, UINT32_MAX };
	if (!strcmp(text, "*"))
		return true;
	c->first = c->last = (unsigned)strtoul(text, &end, 10);
	if (*end == '-')
		c->last = (unsigned)strtoul(end + 1, &end, 10);
	return end != text && !*end;
}

static bool has(struct cpus c, unsigned cpu)
{
	return cpu >= c.first && cpu <= c.last;
}

/* Room for one more; a rig without memory has nothing to offer. */
static void *grow(void *array, size_t n, size_t size)
{
	if (n & (n - 1) || !(array = realloc(array, (n ? 2 * n : 1) * size)))
		return array ? array : (abort(), NULL);
	return array;
}

#define ADD(array, n, ...) ((array) = grow(array, n, sizeof(*(array))), (array)[(n)++] = (__VA_ARGS__))

static char *unescape(const char *s)
{
	char *text = malloc(strlen(s) + 1), *d = text;

	if (!text)
		abort();
	for (; *s; s++) {
		if (*s == '\\' && (s[1] == 'n' || s[1] == 't'))
			*d++ = *++s == 'n' ? '\n' : '\t';
		else
			*d++ = *s;
	}
	*d = '\0';
	return text;
}

static void set_file(struct profile *p, const char *path, const char *text)
{
	for (size_t i = 0; i < p->n_files; i++) {
		if (strcmp(p->file[i].path, path))
			continue;
		free(p->file[i].text);
		p->file[i].text = unescape(text);
		return;
	}
	ADD(p->file, p->n_files, (struct file){ .path = strdup(path), .text = unescape(text) });
}

static bool take_msr(struct profile *p, char w[8][64], int n)
{
	struct msr m = { .address = (uint32_t)strtoul(w[1], NULL, 0), .rate.width = 64 };

	if (n < 5 || !cpus_parse(&m.cpus, w[2]) || !rate_parse(&m.rate, w[4]))
		return false;
	m.rate.base = strtoull(w[3], NULL, 0);
	if (n > 5)
		m.rate.width = (unsigned)strtoul(w[5], NULL, 10);
	ADD(p->msr, p->n_msrs, m);
	return true;
}

static bool take_hold(struct profile *p, char w[8][64], int n)
{
	uint32_t address = (uint32_t)strtoul(w[1], NULL, 0);
	struct cpus cpus;

	if (n < 3 || !cpus_parse(&cpus, w[2]))
		return false;
	for (unsigned c = cpus.first; c <= cpus.last && c < p->cpus; c++) {
		struct msr m = { .address = address, .cpus = { c, c }, .rate.width = 64 };

		if (!profile_msr(p, c, address, &m.rate.base))
			ADD(p->msr, p->n_msrs, m);
	}
	return true;
}

static bool take_failure(struct profile *p, char w[8][64], int n)
{
	struct failure f = { .address = (uint32_t)strtoul(w[1], NULL, 0), .any = !strcmp(w[1], "*") };

	if (n < 4 || !cpus_parse(&f.cpus, w[2]))
		return false;
	f.error = atoi(w[3]);
	ADD(p->failure, p->n_failures, f);
	return true;
}

static bool take_cpuid(struct profile *p, char w[8][64], int n)
{
	struct cpuid c = { .leaf = (uint32_t)strtoul(w[1], NULL, 0),
			   .subleaf = (uint32_t)strtoul(w[2], NULL, 0),
			   .any = !strcmp(w[2], "*") };

	if (n < 8 || !cpus_parse(&c.cpus, w[3]))
		return false;
	for (int i = 0; i < 4; i++)
		c.reg[i] = (uint32_t)strtoul(w[4 + i], NULL, 0);
	ADD(p->cpuid, p->n_cpuids, c);
	return true;
}

bool profile_line(struct profile *p, const char *line)
{
	char w[8][64] = { 0 }, path[256];
	int n = sscanf(line, "%63s %63s %63s %63s %63s %63s %63s %63s", w[0], w[1], w[2], w[3], w[4], w[5], w[6],
		       w[7]);
	int text = 0;

	if (n < 1 || w[0][0] == '#')
		return true;
	if (!strcmp(w[0], "msr"))
		return take_msr(p, w, n);
	if (!strcmp(w[0], "hold"))
		return take_hold(p, w, n);
	if (!strcmp(w[0], "fail"))
		return take_failure(p, w, n);
	if (!strcmp(w[0], "cpuid"))
		return take_cpuid(p, w, n);
	if (!strcmp(w[0], "file") && sscanf(line, " file %255s%n", path, &text) == 1) {
		set_file(p, path, line[text] ? line + text + 1 : "");
		return true;
	}
	if (!strcmp(w[0], "cpus"))
		p->cpus = (unsigned)strtoul(w[1], NULL, 10);
	else if (!strcmp(w[0], "tsc"))
		p->tsc_hz = strtod(w[1], NULL);
	else if (!strcmp(w[0], "epoch"))
		p->epoch = strtod(w[1], NULL);
	else if (!strcmp(w[0], "unknown"))
		p->unknown_zero = !strcmp(w[1], "zero");
	else if (!strcmp(w[0], "devices"))
		p->device_error = atoi(w[1]);
	else
		return false;
	return n == 2;
}

int profile_msr(const struct profile *p, unsigned cpu, uint32_t address, uint64_t *value)
{
	for (size_t i = p->n_failures; i-- > 0;)
		if ((p->failure[i].any || p->failure[i].address == address) && has(p->failure[i].cpus, cpu)) {
			if (p->failure[i].error)
				return p->failure[i].error;
			break;
		}
	for (size_t i = p->n_msrs; i-- > 0;)
		if (p->msr[i].address == address && has(p->msr[i].cpus, cpu)) {
			*value = rate_now(p, &p->msr[i].rate);
			return 0;
		}
	*value = 0;
	return p->unknown_zero ? 0 : EIO;
}

void profile_cpuid(const struct profile *p, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t reg[4])
{
	memset(reg, 0, 4 * sizeof(*reg));
	for (size_t i = p->n_cpuids; i-- > 0;) {
		const struct cpuid *c = &p->cpuid[i];

		if (c->leaf == leaf && (c->any || c->subleaf == subleaf) && has(c->cpus, cpu)) {
			memcpy(reg, c->reg, sizeof(c->reg));
			return;
		}
	}
}

struct file *profile_file(struct profile *p, const char *path)
{
	for (size_t i = 0; i < p->n_files; i++)
		if (!strcmp(p->file[i].path, path))
			return &p->file[i];
	return NULL;
}

char *profile_render(const struct profile *p, const struct file *f)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (const char *s = f->text; *s; s++) {
		struct rate r = { .width = 64 };
		unsigned long long base;
		char per[64];
		int len = 0;

		if (*s == '{' && sscanf(s, "{%llu,%63[^}]}%n", &base, per, &len) == 2 && len && rate_parse(&r, per)) {
			r.base = base;
			fprintf(out, "%llu", (unsigned long long)rate_now(p, &r));
			s += len - 1;
		} else {
			fputc(*s, out);
		}
	}
	fclose(out);
	return text;
}
