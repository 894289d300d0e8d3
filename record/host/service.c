#include "record/host/service.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* systemd's patience is WATCHDOG_USEC: notify it twice in that time. */
static uint64_t patience(void)
{
	const char *pid = secure_getenv("WATCHDOG_PID"), *usec = secure_getenv("WATCHDOG_USEC");

	if (!usec || (pid && strtoull(pid, NULL, 10) != (unsigned long long)getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * 1000 / 2;
}

void service_open(struct service *s)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;

	*s = SERVICE_INIT;
	if (len < 2 || len >= sizeof(to.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, len);
	if (*path == '@')
		to.sun_path[0] = '\0';
	s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s->fd >= 0 &&
	    connect(s->fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		service_close(s);
	if (s->fd >= 0)
		s->wake_ns = patience();
}

void service_tell(const struct service *s, const char *text)
{
	if (s->fd >= 0)
		(void)!send(s->fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool service_due(struct service *s, uint64_t now_ns)
{
	if (!s->wake_ns || now_ns < s->next_ns)
		return false;
	s->next_ns = now_ns + s->wake_ns;
	return true;
}

void service_close(struct service *s)
{
	if (s->fd >= 0)
		close(s->fd);
	*s = SERVICE_INIT;
}
