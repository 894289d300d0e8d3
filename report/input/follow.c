#include "report/input/follow.h"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "report/input/input.h"

#define LOOK_MS 200 /* not every file system reports changes (NFS, FUSE) */

void follow_init(struct follow *f, const char *path)
{
	*f = (struct follow){ .path = path, .watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
	if (f->watch >= 0)
		inotify_add_watch(f->watch, path, IN_MODIFY | IN_CLOSE_WRITE);
}

void follow_release(struct follow *f)
{
	if (f->watch >= 0)
		close(f->watch);
	f->watch = -1;
}

int follow_wait(void *follow)
{
	struct follow *f = follow;
	struct pollfd p = { .fd = f->watch, .events = POLLIN };
	char events[4096];

	if (f->last_look)
		return 1;
	if (!input_being_written(f->path)) {
		f->last_look = true;
		return 0;
	}
	if (poll(&p, f->watch >= 0, LOOK_MS) > 0)
		while (read(f->watch, events, sizeof(events)) > 0)
			;
	return 0;
}
