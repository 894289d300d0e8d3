/* Replaces vendor.c and vendor_files.c in builds without JSON. */
#include <errno.h>

#include "common/metric/metric.h"

int metric_set_load_for(struct metric_set *set, const char *path, const char *cpuid, struct error *e)
{
	*set = (struct metric_set){ 0 };
	return error_set(e, ENOTSUP, "%s: this is the minimal build, which reads no metric files", path);
}

int metric_set_load_text(struct metric_set *set, const char *text, size_t len, struct error *e)
{
	*set = (struct metric_set){ 0 };
	return error_set(e, ENOTSUP, "this is the minimal build, which reads no metric files");
}

int metric_set_load(struct metric_set *set, const char *path, struct error *e)
{
	return metric_set_load_for(set, path, NULL, e);
}
