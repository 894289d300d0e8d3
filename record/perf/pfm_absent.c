/* Replaces pfm.c in builds without libpfm4. */
#include <errno.h>

#include "record/perf/pfm.h"

int pfm_events_text(const char *list, struct buf *out, struct error *e)
{
	return error_set(e, ENOTSUP,
			 "--pfm-events: this pmrec was built without libpfm4; install libpfm4-dev and rebuild, or "
			 "give codes with -e cpu/event=...,umask=.../");
}
