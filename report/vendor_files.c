#include "report/vendor_files.h"

#include <sys/stat.h>

int vendor_files_add(struct metric_set **sets, size_t *n, struct vendor_events **events, const char *path,
		     struct error *e)
{
	int err = metric_sets_add(sets, n, path, e);
	struct error ignored = { 0 };
	struct stat st;

	/* A folder without events has metrics of names that everybody knows. */
	if (!err && !stat(path, &st) && S_ISDIR(st.st_mode))
		(void)vendor_events_load(events, path, NULL, &ignored);
	return err;
}
