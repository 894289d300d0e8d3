#include "record/plan/device.h"

#include <stdio.h>
#include <string.h>

#include "record/plan/plan.h"

#define SAME_NAME_MAX 100000

static bool is_taken(const struct pm_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_instances; i++)
		if (m->instance[i].kind == PM_DEVICE &&
		    !strcmp(pm_map_text(&m->instance[i].attrs, PM_INSTANCE_NAME, ""), name))
			return true;
	return false;
}

int64_t device_instance(struct plan *p, const char *name, const char *path)
{
	return device_instance_at(p, name, path, PM_NONE);
}

int64_t device_named(struct plan *p, const char *name, uint32_t number)
{
	char other[48];

	snprintf(other, sizeof(other), "%s-%u", p->source->ops->name, number + 1);
	return device_instance(p, plan_may_record(p->options, PM_INSTANCE_DEVICE_PATH) ? name : other, NULL);
}

int64_t device_instance_at(struct plan *p, const char *name, const char *path, uint32_t cpu)
{
	struct pm_instance add = { .kind = PM_DEVICE, .number = PM_NONE, .cpu = cpu };
	char unique[200];
	int err;

	snprintf(unique, sizeof(unique), "%s", name);
	for (unsigned k = 2; is_taken(p->model, unique) && k < SAME_NAME_MAX; k++)
		snprintf(unique, sizeof(unique), "%.180s.%u", name, k);
	err = pm_map_set(&add.attrs, PM_INSTANCE_NAME, pm_text(unique));
	if (!err && path && plan_may_record(p->options, PM_INSTANCE_DEVICE_PATH))
		err = pm_map_set(&add.attrs, PM_INSTANCE_DEVICE_PATH, pm_text(path));
	return plan_instance(p, &add, err);
}
