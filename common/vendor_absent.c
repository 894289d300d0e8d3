/* Replaces what reads vendors' files in builds without JSON. */
#include <errno.h>

#include "common/event/vendor_events.h"
#include "common/metric/metric.h"

int vendor_events_load(struct vendor_events **v, const char *path, const char *pmu, const char *cpuid,
		       struct error *e)
{
	return error_set(e, ENOTSUP,
			 "%s: this is the minimal pmrec, which reads no event files; "
			 "write the code as cpu/event=...,umask=.../",
			 path);
}

int metric_set_load(struct metric_set *set, const char *path, const char *cpuid, struct error *e)
{
	*set = (struct metric_set){ 0 };
	return error_set(e, ENOTSUP, "%s: this is the minimal build, which reads no metric files", path);
}

int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e)
{
	*set = (struct metric_set){ 0 };
	return error_set(e, ENOTSUP, "this is the minimal build, which reads no metric files");
}
