#include "record/host/hotplug.h"

#include <errno.h>

#define ONLINE "/sys/devices/system/cpu/online"

int hotplug_init(struct hotplug *h, const struct root *root)
{
	*h = (struct hotplug){ .root = root };
	return root_cpulist(root, &h->online, ONLINE);
}

void hotplug_release(struct hotplug *h)
{
	cpulist_release(&h->online);
}

/* What is in `a` and not in `b`. */
static int difference(struct cpulist *out, const struct cpulist *a, const struct cpulist *b)
{
	cpulist_release(out);
	for (size_t i = 0; i < a->n; i++)
		if (!cpulist_has(b, a->cpu[i]) && cpulist_add(out, a->cpu[i]))
			return -ENOMEM;
	return 0;
}

int hotplug_look(struct hotplug *h, struct cpulist *gone, struct cpulist *come)
{
	struct cpulist now = { 0 };
	int err = root_cpulist(h->root, &now, ONLINE);

	if (!err)
		err = difference(gone, &h->online, &now);
	if (!err)
		err = difference(come, &now, &h->online);
	if (err) {
		cpulist_release(&now);
		return err;
	}
	cpulist_release(&h->online);
	h->online = now;
	return gone->n || come->n;
}
