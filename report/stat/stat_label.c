/* What the rows of perf stat's output are called. */
#include <string.h>

#include "report/stat/stat_shadow.h"

static uint32_t known(uint32_t n)
{
	return n == PM_NONE ? 0 : n;
}

static void label_task(const struct stat_sheet *s, const struct pm_instance *i, struct buf *out)
{
	const char *comm = pm_map_text(&i->attrs, PM_INSTANCE_COMM, NULL);
	uint64_t tid = pm_map_u64(&i->attrs, PM_INSTANCE_TID, 0);
	const char *command = pm_map_text(&s->places->model->header, PM_HEADER_COMMAND, NULL);
	const char *slash = command ? strrchr(command, '/') : NULL;

	if (!comm && command && s->child)
		comm = slash ? slash + 1 : command;
	if (comm && tid)
		buf_printf(out, "%s-%llu", comm, (unsigned long long)tid);
	else
		buf_addstr(out, pm_map_text(&i->attrs, PM_INSTANCE_NAME, "task"));
}

void stat_label_place(const struct stat_sheet *s, const struct place *p, struct buf *out)
{
	uint32_t package = known(p->package), die = known(p->die);
	int level = s->places->cache == PM_CACHE_L2 ? 2 : 3;
	const struct pm_instance *i = pm_model_instance(s->places->model, p->instance);

	switch (p->kind) {
	case PM_CPU:
		buf_printf(out, "CPU%u", p->cpu);
		break;
	case PM_PACKAGE:
		buf_printf(out, "S%u", package);
		break;
	case PM_DIE:
		buf_printf(out, "S%u-D%u", package, die);
		break;
	case PM_CLUSTER:
		buf_printf(out, "S%u-D%u-CLS%u", package, die, known(p->cluster));
		break;
	case PM_CACHE:
		buf_printf(out, "S%u-D%u-L%d-ID%u", package, die, level, known(p->cache));
		break;
	case PM_CORE:
		buf_printf(out, "S%u-D%u-C%u", package, die, known(p->core));
		break;
	case PM_NODE:
		buf_printf(out, "N%u", known(p->node));
		break;
	case PM_TASK:
		if (i)
			label_task(s, i, out);
		break;
	case PM_CGROUP:
		if (i)
			buf_addstr(out, stat_cgroup_name(i));
		break;
	default:
		break;
	}
}
