#include "report/pipeline/moment.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/parse.h"

/* "[+-]HH:MM" or "Z" */
static bool parse_zone(const char *c, long *east)
{
	unsigned hours, minutes;
	int used = 0;

	if ((*c == 'Z' || *c == 'z') && !c[1]) {
		*east = 0;
		return true;
	}
	if ((*c != '+' && *c != '-') || sscanf(c + 1, "%2u:%2u%n", &hours, &minutes, &used) != 2 || c[1 + used])
		return false;
	*east = (long)(hours * 60 + minutes) * 60 * (*c == '-' ? -1 : 1);
	return hours < 24 && minutes < 60;
}

/* Parses ".5" as ns, and moves past it. */
static uint64_t take_fraction(const char **c)
{
	uint64_t fraction = 0, unit = 100000000;

	if (**c == '.')
		for (++*c; **c >= '0' && **c <= '9'; ++*c, unit /= 10)
			fraction += (uint64_t)(**c - '0') * unit;
	return fraction;
}

/* Beyond all times: "9999-12-31" means no end. */
#define FAR UINT64_MAX

static bool parse_rfc3339(const char *text, uint64_t *ns)
{
	/* Without a zone, summer time is what it is there on that day. */
	struct tm tm = { .tm_isdst = -1 };
	const char *c = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	uint64_t fraction;
	long east;
	time_t t;

	if (!c)
		c = strptime(text, "%Y-%m-%d %H:%M:%S", &tm);
	if (!c)
		return false;
	fraction = take_fraction(&c);
	if (!*c)
		t = mktime(&tm); /* no zone: that of whoever reads the report */
	else if (parse_zone(c, &east))
		t = timegm(&tm) - east;
	else
		return false;
	*ns = (uint64_t)t >= FAR / 1000000000 ? FAR : (uint64_t)t * 1000000000 + fraction;
	return t > 0;
}

/* "03:10", "03:10:02.5": ns within a day. */
static bool parse_clock(const char *text, uint64_t *ns)
{
	unsigned hours, minutes, seconds = 0;
	int used = 0;
	const char *c;

	if (sscanf(text, "%2u:%2u%n", &hours, &minutes, &used) != 2 || !used || text[0] == '+')
		return false;
	c = text + used;
	used = 0;
	if (*c == ':') {
		if (sscanf(c, ":%2u%n", &seconds, &used) != 1 || !used || c[1] < '0' || c[1] > '9')
			return false;
		c += used;
	}
	*ns = (uint64_t)((hours * 60 + minutes) * 60 + seconds) * 1000000000 + take_fraction(&c);
	return !*c && hours < 24 && minutes < 60 && seconds < 60;
}

int moment_parse(struct moment *m, const char *text, struct error *e)
{
	bool ok = true;

	if (*text == '-' || *text == '@') {
		m->kind = *text == '-' ? MOMENT_FROM_END : MOMENT_WALL;
		ok = !parse_duration(text + 1, &m->ns);
	} else if (parse_clock(text, &m->ns)) {
		m->kind = MOMENT_CLOCK;
	} else if (parse_rfc3339(text, &m->ns)) {
		m->kind = MOMENT_WALL;
	} else {
		m->kind = MOMENT_FROM_START;
		ok = !parse_duration(*text == '+' ? text + 1 : text, &m->ns);
	}
	if (ok)
		return 0;
	return error_set(e, EINVAL,
			 "'%s' is not a time: seconds from the start (10, 1.5m), before the end (-60), "
			 "03:10:02 (UTC), 2026-01-31 12:00:00 (here), 2026-01-31T12:00:00Z, or @SECONDS since 1970",
			 text);
}

#define DAY UINT64_C(86400000000000)

/* The next time when the clock shows this, or that on the first day if the recording ends before it. */
static uint64_t next_clock(uint64_t clock, struct pm_reader *reader, const struct pm_chunk_head *first)
{
	uint64_t start = first->clocks.realtime, at = start - start % DAY + clock;
	struct pm_extent x;

	if (at < start && !pm_reader_extent(reader, &x) && start + (x.to_ns - first->from_ns) >= at + DAY)
		at += DAY;
	return at;
}

static uint64_t later(uint64_t at, uint64_t ns)
{
	return ns < FAR - at ? at + ns : FAR;
}

/* What is before the boot is before the recording, too. */
static uint64_t earlier(uint64_t at, uint64_t ns)
{
	return at > ns ? at - ns : 1;
}

int moment_resolve(const struct moment *m, struct pm_reader *reader, const struct pm_chunk_head *first, uint64_t *ns,
		   struct error *e)
{
	uint64_t wall = first->clocks.realtime, at;
	struct pm_extent x;

	switch (m->kind) {
	case MOMENT_NONE:
		return 0;
	case MOMENT_MONOTONIC:
		*ns = m->ns;
		return 0;
	case MOMENT_FROM_START:
		*ns = later(first->from_ns, m->ns);
		return 0;
	case MOMENT_FROM_END:
		if (pm_reader_extent(reader, &x))
			return error_set(e, ESPIPE, "a time before the end needs an uncompressed file, not a stream");
		*ns = earlier(x.to_ns, m->ns);
		return 0;
	case MOMENT_WALL:
	case MOMENT_CLOCK:
		if (!wall)
			return error_set(e, EINVAL, "the recording has no wall time; give seconds from its start");
		at = m->kind == MOMENT_CLOCK ? next_clock(m->ns, reader, first) : m->ns;
		*ns = at > wall ? later(first->clocks.monotonic, at - wall) :
				  earlier(first->clocks.monotonic, wall - at);
		return 0;
	}
	return 0;
}
