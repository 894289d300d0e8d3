/* Finds CPUs that go offline or come online: by looking, and sooner where the kernel's messages can be heard, which
 * containers do not let through. */
#pragma once

#include "record/host/root.h"

struct hotplug {
	const struct root *root;
	struct cpulist online; /* as it was last seen */
	int fd;                /* readable when the kernel says something of a device; -1: it is not heard */
};

/* Remembers which CPUs are online; borrows the root. 0 or -errno. */
int hotplug_init(struct hotplug *h, const struct root *root);
void hotplug_release(struct hotplug *h);
/* Takes what is readable; whether some of it is about a CPU. */
bool hotplug_heard(struct hotplug *h);
/* Replaces both lists by the CPUs that went offline and came online since the last call. 1 if there are any, 0, or
 * -errno. */
int hotplug_look(struct hotplug *h, struct cpulist *gone, struct cpulist *come);
