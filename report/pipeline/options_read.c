#include "report/pipeline/options_read.h"

#include <errno.h>
#include <string.h>

#include "common/cpulist.h"
#include "common/parse.h"
#include "report/metric/select.h"
#include "report/metric/vendor_files.h"
#include "report/pipeline/moment.h"
#include "report/pipeline/pipeline.h"

int read_moment(void *member, const char *arg, struct error *e)
{
	return moment_parse(member, arg, e);
}

int read_every(void *member, const char *arg, struct error *e)
{
	struct pipeline_config *p = member;

	if (parse_duration(arg, &p->every_ns) || !p->every_ns)
		return error_set(e, EINVAL, "'%s' is not a time: use seconds, or add ms, m or h", arg);
	p->mode = PIPELINE_EVERY;
	return 0;
}

int read_cpus(void *member, const char *arg, struct error *e)
{
	return cpulist_parse(member, arg, true, e);
}

int read_show(void *member, const char *arg, struct error *e)
{
	return selection_add(member, SELECT_SHOW, arg, e);
}

int read_hide(void *member, const char *arg, struct error *e)
{
	return selection_add(member, SELECT_HIDE, arg, e);
}

int read_enable(void *member, const char *arg, struct error *e)
{
	return selection_add(member, SELECT_ENABLE, arg, e);
}

int read_vendor_file(void *member, const char *arg, struct error *e)
{
	return vendor_files_add(member, arg, e);
}

int read_no_vendor(void *member, const char *arg, struct error *e)
{
	return vendor_files_add_pack(member, true, e);
}

int read_rows(void *member, const char *arg, struct error *e)
{
	struct sheet_config *sheet = member;
	bool core = !strcmp(arg, "core"), package = !strcmp(arg, "package");

	sheet->rows = core ? SHEET_FIRST_OF_CORE : package ? SHEET_FIRST_OF_PACKAGE : SHEET_CPU_SET;
	return core || package ? 0 : cpulist_parse(&sheet->cpus, arg, true, e);
}
