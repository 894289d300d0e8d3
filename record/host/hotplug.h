/* Finds CPUs that go offline or come online: by polling, and sooner by the kernel's messages, which containers do not
 * receive. */
#pragma once

#include "record/host/root.h"

struct hotplug {
	const struct root *root;
	struct cpulist online; /* as it was last seen */
	int fd;                /* readable when the kernel reports a device; -1: no messages */
	uint64_t quiet_ns;     /* from this time on, messages will tell; UINT64_MAX: they may not come */
};

/* Remembers which CPUs are online; borrows the root. 0 or -errno. */
int hotplug_init(struct hotplug *h, const struct root *root);
void hotplug_release(struct hotplug *h);
/* Reads the messages; whether one is about a CPU. */
bool hotplug_heard(struct hotplug *h);
/* Whether looking more often than every few seconds finds nothing that is not heard of. */
bool hotplug_hears(const struct hotplug *h);
/* Replaces both lists by the CPUs that went offline and came online since the last call. 1 if there are any, 0, or
 * -errno. */
int hotplug_look(struct hotplug *h, struct cpulist *gone, struct cpulist *come);
