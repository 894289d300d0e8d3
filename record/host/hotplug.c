#include "record/host/hotplug.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/clocks.h"

#define AFTERMATH_NS 10000000000u

/* A socket for the kernel's device messages (uevents), or -1. */
static int listen_to_kernel(void)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&kernel, sizeof(kernel))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* The kernel speaks to networks of its first user namespace only. */
static bool is_first_namespace(void)
{
	char name[32] = "";

	return readlink("/proc/self/ns/user", name, sizeof(name) - 1) > 0 && !strcmp(name, "user:[4026531837]");
}

int hotplug_init(struct hotplug *h, const struct root *root)
{
	*h = (struct hotplug){ .root = root, .fd = listen_to_kernel() };
	h->quiet_ns = h->fd >= 0 && !root->emulated && is_first_namespace() ? 0 : UINT64_MAX;
	return root_online(root, &h->online);
}

void hotplug_release(struct hotplug *h)
{
	cpulist_release(&h->online);
	fd_close(&h->fd);
}

bool hotplug_heard(struct hotplug *h)
{
	char message[2048];
	bool heard = false;
	ssize_t n;

	/* "online@/devices/system/cpu/cpu3", then what does not matter here. If messages were lost, one may have been
	 * about a CPU. */
	while ((n = read(h->fd, message, sizeof(message) - 1)) >= 0 || errno == ENOBUFS) {
		message[n > 0 ? n : 0] = '\0';
		heard = heard || n < 0 || strstr(message, "@/devices/system/cpu/cpu");
	}
	/* What a CPU's events did meanwhile shows later. */
	if (heard && h->quiet_ns != UINT64_MAX)
		h->quiet_ns = clocks_monotonic() + AFTERMATH_NS;
	return heard;
}

bool hotplug_hears(const struct hotplug *h)
{
	return h->quiet_ns != UINT64_MAX && clocks_monotonic() >= h->quiet_ns;
}

/* What is in `a` but not in `b`. */
static void difference(struct cpulist *out, const struct cpulist *a, const struct cpulist *b)
{
	cpulist_release(out);
	for (size_t i = 0; i < a->n; i++)
		if (!cpulist_has(b, a->cpu[i]))
			memory_must(cpulist_add(out, a->cpu[i]));
}

int hotplug_look(struct hotplug *h, struct cpulist *gone, struct cpulist *come)
{
	struct cpulist now = { 0 };
	int err = root_online(h->root, &now);

	if (err) {
		cpulist_release(&now);
		return err;
	}
	difference(gone, &h->online, &now);
	difference(come, &now, &h->online);
	cpulist_release(&h->online);
	h->online = now;
	return gone->n || come->n;
}
