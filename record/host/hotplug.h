/* Which CPUs are online, checked from time to time; works where no kernel messages can be received. */
#ifndef RECORD_HOTPLUG_H
#define RECORD_HOTPLUG_H

#include "common/cpulist.h"
#include "record/host/root.h"

struct hotplug {
	const struct root *root;
	struct cpulist online; /* as it was last seen */
};

/* Notes which CPUs are online now; the root is borrowed. 0 or -errno. */
int hotplug_init(struct hotplug *h, const struct root *root);
void hotplug_release(struct hotplug *h);
/* CPUs that have gone and come since the last call; both lists are replaced. 1 if there are any, 0, or -errno. */
int hotplug_look(struct hotplug *h, struct cpulist *gone, struct cpulist *come);

#endif
