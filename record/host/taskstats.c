#include "record/host/taskstats.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/taskstats.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/netlink.h>

#include "common/buf.h"

/* What the tasks of a fork storm send in a second. */
#define ROOM (16 << 20)

/* From this version on it says which process a thread belonged to, and whether that ended with it. */
#define GROUP_VERSION 12

struct request {
	struct nlmsghdr head;
	struct genlmsghdr genl;
	char attributes[4096];
};

/* Its only one. The caller's text fits. */
static void put_attribute(struct request *r, uint16_t type, const char *text)
{
	struct nlattr a = { .nla_len = (uint16_t)(sizeof(a) + strlen(text) + 1), .nla_type = type };

	memcpy(r->attributes, &a, sizeof(a));
	strcpy(r->attributes + sizeof(a), text);
	r->head.nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLMSG_ALIGN(a.nla_len));
}

/* The attribute of this type in [at, end); NULL: none. */
static const struct nlattr *attribute(const char *at, const char *end, uint16_t type)
{
	while (end - at >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)at;

		if (a->nla_len < NLA_HDRLEN || a->nla_len > end - at)
			return NULL;
		if ((a->nla_type & NLA_TYPE_MASK) == type)
			return a;
		at += NLA_ALIGN(a->nla_len);
	}
	return NULL;
}

/* Sends the request and receives the answer. Its size, or -errno. */
static ssize_t ask_kernel(int fd, struct request *r, char *answer, size_t size)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)answer;
	const struct nlmsgerr *e = NLMSG_DATA(h);
	ssize_t n;

	if (send(fd, r, r->head.nlmsg_len, 0) < 0)
		return -errno;
	n = recv(fd, answer, size, 0);
	if (n < 0)
		return -errno;
	if (!NLMSG_OK(h, (size_t)n))
		return -EPROTO;
	return h->nlmsg_type == NLMSG_ERROR && e->error ? e->error : n;
}

/* The id of the netlink family. */
static int family(int fd)
{
	struct request r = { .head = { .nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST },
			     .genl = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 } };
	_Alignas(8) char answer[4096];
	const struct nlattr *a;
	uint16_t id;
	ssize_t n;

	put_attribute(&r, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME);
	n = ask_kernel(fd, &r, answer, sizeof(answer));
	if (n < 0)
		return (int)n;
	a = attribute(answer + NLMSG_LENGTH(GENL_HDRLEN), answer + n, CTRL_ATTR_FAMILY_ID);
	if (!a)
		return -ENOENT;
	memcpy(&id, a + 1, sizeof(id));
	return id;
}

static int register_cpus(int fd)
{
	struct request r = { .head = { .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
			     .genl = { .cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION } };
	_Alignas(8) char answer[4096];
	SCOPED(fd_close) int possible = -1;
	int id = family(fd);
	char cpus[4000];
	ssize_t n;

	if (id < 0)
		return id;
	possible = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
	if (possible < 0)
		return -errno;
	n = read(possible, cpus, sizeof(cpus) - 1);
	if (n <= 0)
		return -EIO;
	cpus[n] = '\0';
	/* Half a list would be another one. */
	if (!strchr(cpus, '\n'))
		return -E2BIG;
	cpus[strcspn(cpus, "\n")] = '\0';
	r.head.nlmsg_type = (uint16_t)id;
	put_attribute(&r, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus);
	n = ask_kernel(fd, &r, answer, sizeof(answer));
	return n < 0 ? (int)n : 0;
}

int taskstats_listen(void)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), room = ROOM, err;

	if (fd < 0)
		return -errno;
	/* Exceeding the limit needs CAP_NET_ADMIN, as listening does. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	err = bind(fd, (struct sockaddr *)&to, sizeof(to)) || connect(fd, (struct sockaddr *)&to, sizeof(to)) ?
		      -errno :
		      register_cpus(fd);
	if (!err && fcntl(fd, F_SETFL, O_NONBLOCK))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* False: the message is not about a thread. */
static bool take_exit(const char *at, const char *end, struct task_exit *x)
{
	const struct nlattr *a = attribute(at, end, TASKSTATS_TYPE_AGGR_PID), *stats;
	struct taskstats t = { 0 };
	size_t n;

	stats = a ? attribute((const char *)(a + 1), (const char *)a + a->nla_len, TASKSTATS_TYPE_STATS) : NULL;
	if (!stats)
		return false;
	n = stats->nla_len - sizeof(*stats);
	memcpy(&t, stats + 1, n < sizeof(t) ? n : sizeof(t));
	*x = (struct task_exit){ .pid = (pid_t)t.ac_pid,
				 .tid = (pid_t)t.ac_pid,
				 .parent = (pid_t)t.ac_ppid,
				 .last = true,
				 .user = t.ac_utime,
				 .system = t.ac_stime,
				 .faults = t.ac_majflt,
				 .bytes = { t.read_bytes, t.write_bytes } };
#if TASKSTATS_VERSION >= GROUP_VERSION
	if (t.version >= GROUP_VERSION) {
		x->pid = (pid_t)t.ac_tgid;
		x->last = t.ac_flag & AGROUP;
	}
#endif
	/* Its times are counted in ticks; the run time is exact, as in its stat file. */
	if (t.cpu_run_virtual_total && t.ac_utime + t.ac_stime) {
		uint64_t us = t.cpu_run_virtual_total / 1000;

		x->user = (uint64_t)((double)us * (double)t.ac_utime / (double)(t.ac_utime + t.ac_stime));
		x->system = us - x->user;
	} else if (t.cpu_run_virtual_total) {
		x->user = 0;
		x->system = t.cpu_run_virtual_total / 1000;
	}
	memcpy(x->name, t.ac_comm, sizeof(x->name) - 1);
	return true;
}

int taskstats_next(int fd, struct task_exit *exit)
{
	_Alignas(8) char message[4096];
	const struct nlmsghdr *h = (const struct nlmsghdr *)message;

	for (;;) {
		ssize_t n = recv(fd, message, sizeof(message), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
		if (NLMSG_OK(h, (size_t)n) && h->nlmsg_type >= NLMSG_MIN_TYPE &&
		    take_exit(message + NLMSG_LENGTH(GENL_HDRLEN), message + h->nlmsg_len, exit))
			return 1;
	}
}

int taskstats_io(int dir, const char *path, uint64_t bytes[static 2])
{
	static const char *const name[] = { "\nread_bytes: ", "\nwrite_bytes: " };
	SCOPED(fd_close) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	for (int i = 0; i < 2; i++) {
		const char *at = strstr(text, name[i]);

		if (!at)
			return -EPROTO;
		bytes[i] = strtoull(at + strlen(name[i]), NULL, 10);
	}
	return 0;
}

int taskstats_fields(const char *text, uint64_t *field, int n)
{
	/* The name is in parentheses and may itself contain some. */
	const char *at = strrchr(text, ')');
	int i = 4;

	if (!at || at[1] != ' ' || !at[2])
		return 0;
	for (at += 3; i < n; i++) {
		while (*at == ' ' || *at == '-')
			at++;
		if (*at < '0' || *at > '9')
			break;
		for (field[i] = 0; *at >= '0' && *at <= '9'; at++)
			field[i] = field[i] * 10 + (uint64_t)(*at - '0');
	}
	return i;
}
