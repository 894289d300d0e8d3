/* Replaces vendor_events.c and vendor_load.c in builds without JSON. */
#include <errno.h>
#include <stdlib.h>

#include "common/event/vendor_events.h"

int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e)
{
	return error_set(e, ENOTSUP,
			 "%s: this is the minimal pmrec, which reads no event files; "
			 "write the code as cpu/event=...,umask=.../",
			 path);
}

void vendor_events_free(struct vendor_events *v)
{
}

int vendor_events_apply(struct vendor_events *v, struct event_pmu *pmu, size_t n_pmus, struct buf *notes)
{
	return 0;
}

bool vendor_matches(const char *pattern, size_t len, const char *text)
{
	return false;
}

bool vendor_is_cpu(const char *pattern, const char *cpuid)
{
	return false;
}

int vendor_events_unpack(struct vendor_events **v, char *rows, char *help)
{
	free(rows);
	free(help);
	return 0;
}

int vendor_events_words(struct vendor_events *v, const char *text)
{
	return 0;
}
