#include "record/host/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/event/event.h"
#include "common/sandbox.h"
#include "record/host/privileges.h"
#include "record/host/process.h"
#include "record/host/taskstats.h"

/* The opener's side: what it opens, and nothing else. It trusts no request. */

enum { MSR_MAJOR = 202, CPUID_MAJOR = 203 };

struct server {
	int socket;
	pid_t client;
	bool elevated; /* beyond the rights of the caller */
};

/* What the sources read and ordinary users may not: a '*' stands for one part of a path. */
static const struct {
	const char *pattern;
	unsigned below; /* how many parts more there may be */
	bool write;
} allowed[] = {
	{ "/dev/cpu/*/msr" },
	{ "/dev/cpu/*/cpuid" },
	{ "/dev/cpu_dma_latency" },
	{ "/proc/*/task" },
	{ "/proc/*/stat" },
	{ "/proc/*/comm" },
	{ "/proc/*/cgroup" },
	{ "/proc/*/task/*/stat" },
	{ "/proc/interrupts" },
	{ "/proc/schedstat" },
	{ "/proc/softirqs" },
	{ "/proc/sys/kernel/*" },
	{ "/proc/vmstat" },
	{ "/proc/pressure/*" },
	{ "/sys/bus/event_source/devices/cpu/freeze_on_smi", 0, .write = true },
	{ "/sys/bus/event_source/devices/*/*", 1 },
	{ "/sys/bus/pci/devices/*/config" },
	{ "/sys/class/dmi/id/*" },
	{ "/sys/class/hwmon/*", 1 },
	{ "/sys/class/powercap/*", 1 },
	{ "/sys/class/thermal/*/*" },
	{ "/sys/devices/system/cpu/*", 3 },
	{ "/sys/firmware/acpi/tables" },
	{ "/sys/firmware/acpi/tables/NFIT" },
	{ "/sys/fs/resctrl", 6 },
	{ "/sys/kernel/btf/vmlinux" },
	{ "/sys/kernel/debug/pmc_core/slp_s0_residency_usec" },
	{ "/sys/kernel/debug/tracing/events", 2 },
	{ "/sys/kernel/debug/tracing/events/*/*/format" },
	{ "/sys/kernel/debug/tracing/events/*/*/id" },
	{ "/sys/kernel/tracing/events", 2 },
	{ "/sys/kernel/tracing/events/*/*/format" },
	{ "/sys/kernel/tracing/events/*/*/id" },
	{ "/sys/kernel/security/lockdown" },
};

static unsigned parts_of(const char *path)
{
	unsigned n = 0;

	while ((path = strchr(path, '/')))
		n += *path++ == '/';
	return n;
}

static bool is_allowed(const char *path, int flags)
{
	int access = flags & O_ACCMODE;

	if (flags & ~(O_ACCMODE | O_CLOEXEC | O_DIRECTORY | O_PATH | O_NOFOLLOW) || access == O_RDWR ||
	    strstr(path, "/.") || strstr(path, "//"))
		return false;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		if (!fnmatch(allowed[i].pattern, path, FNM_PATHNAME | FNM_LEADING_DIR) &&
		    parts_of(path) <= parts_of(allowed[i].pattern) + allowed[i].below &&
		    (access == O_RDONLY || allowed[i].write))
			return true;
	return false;
}

/* The name is right; what lies there is, too, if the kernel made it. */
static bool is_of_kernel(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (S_ISCHR(st.st_mode))
		return major(st.st_rdev) == MSR_MAJOR || major(st.st_rdev) == CPUID_MAJOR || major(st.st_rdev) == 10;
	if (fstatfs(fd, &fs))
		return false;
	return fs.f_type == PROC_SUPER_MAGIC || fs.f_type == SYSFS_MAGIC || fs.f_type == TRACEFS_MAGIC ||
	       fs.f_type == DEBUGFS_MAGIC || fs.f_type == SECURITYFS_MAGIC || fs.f_type == RDTGROUP_SUPER_MAGIC;
}

static int serve_open(struct opener_request *r)
{
	int fd;

	r->open.path[sizeof(r->open.path) - 1] = '\0';
	if (!is_allowed(r->open.path, r->open.flags))
		return -EACCES;
	fd = open(r->open.path, r->open.flags | O_CLOEXEC | (r->open.flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY));
	if (fd < 0)
		return -errno;
	if (is_of_kernel(fd))
		return fd;
	close(fd);
	return -EACCES;
}

/* Whether it is the type of one of event_pmus_of_pointers, or, where their files cannot be read, might be. */
static bool takes_pointer(uint32_t type)
{
	const char *const *name = event_pmus_of_pointers;
	bool found = false;

	for (; *name && type >= PERF_TYPE_MAX && !found; name++) {
		char path[64], text[16] = "";
		SCOPED(fd_close) int fd = -1;

		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", *name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		found = fd < 0 ? errno != ENOENT :
				 read(fd, text, sizeof(text) - 1) <= 0 || strtoul(text, NULL, 10) == type;
	}
	return found;
}

static int serve_perf(struct opener_request *r, const struct message_fds *fds)
{
	unsigned long flags = r->perf.flags & (PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
	const struct perf_event_attr *a = &r->perf.attr.a;
	int group = -1, pid = r->perf.pid;
	long fd;

	if (fds->n != (unsigned)r->perf.group + r->perf.cgroup || !pid)
		return -EINVAL;
	/* It counts; what others have in memory, and where, is not for the caller. */
	if (a->sample_type & ~(uint64_t)(PERF_SAMPLE_TIME | PERF_SAMPLE_READ) || a->mmap || a->mmap_data ||
	    a->mmap2 || a->comm || a->ksymbol || a->bpf_event || a->text_poke || a->sigtrap || takes_pointer(a->type))
		return -EPERM;
	if (r->perf.group)
		group = fds->fd[0];
	if (r->perf.cgroup)
		pid = fds->fd[fds->n - 1];
	else
		flags &= ~(unsigned long)PERF_FLAG_PID_CGROUP;
	do
		fd = syscall(SYS_perf_event_open, &r->perf.attr, pid, r->perf.cpu, group,
			     flags | PERF_FLAG_FD_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* What may be requested of bpf(2), and whether its result is a descriptor. Pinning goes by path, which is the
 * caller's. */
static const struct {
	enum bpf_cmd command;
	bool opens, by_path;
} bpf_commands[] = {
	{ BPF_MAP_CREATE, true },
	{ BPF_MAP_LOOKUP_ELEM },
	{ BPF_MAP_UPDATE_ELEM },
	{ BPF_MAP_DELETE_ELEM },
	{ BPF_MAP_GET_NEXT_KEY },
	{ BPF_PROG_LOAD, true },
	{ BPF_RAW_TRACEPOINT_OPEN, true },
	{ BPF_BTF_LOAD, true },
	{ BPF_PROG_GET_FD_BY_ID, true },
	{ BPF_MAP_GET_FD_BY_ID, true },
	{ BPF_LINK_GET_FD_BY_ID, true },
	{ BPF_BTF_GET_FD_BY_ID, true },
	{ BPF_OBJ_GET_INFO_BY_FD },
	{ BPF_OBJ_PIN, false, .by_path = true },
	{ BPF_OBJ_GET, true, .by_path = true },
};

static int put_fd(void *at, const struct message_fds *fds, unsigned *next)
{
	if (*next == fds->n)
		return -EINVAL;
	memcpy(at, &fds->fd[(*next)++], sizeof(int));
	return 0;
}

/* Puts this process's pointers and descriptors instead of the other's. */
static int put_words(struct opener_request *r, size_t len, const struct message_fds *fds)
{
	const struct opener_baggage *b = &r->bpf.baggage;
	char *at = (char *)(r + 1), *attr = (char *)&r->bpf.attr, *start[OPENER_BLOBS];
	size_t left = len - sizeof(*r);
	unsigned next = 0;
	int err = 0;

	if (b->n_blobs > OPENER_BLOBS || b->n_fds > sizeof(b->fd_at) / sizeof(b->fd_at[0]) ||
	    r->bpf.attr_size > sizeof(r->bpf.attr) || (b->code && !b->n_blobs))
		return -EINVAL;
	for (unsigned i = 0; i < b->n_blobs; i++) {
		unsigned in = b->blob[i].in;
		char *holder = in ? in <= i ? start[in - 1] : NULL : attr;
		size_t size = in ? in <= i ? b->blob[in - 1].size : 0 : r->bpf.attr_size;
		uint64_t address = (uint64_t)(uintptr_t)at;

		if (b->blob[i].size > left || !holder || b->blob[i].at + sizeof(address) > size)
			return -EINVAL;
		memcpy(holder + b->blob[i].at, &address, sizeof(address));
		start[i] = at;
		at += b->blob[i].size;
		left -= b->blob[i].size;
	}
	for (unsigned i = 0; i < b->n_fds && !err; i++)
		err = b->fd_at[i] + sizeof(int) > r->bpf.attr_size ? -EINVAL : put_fd(attr + b->fd_at[i], fds, &next);
	for (unsigned i = 0; i < b->n_blobs && !err; i++)
		if (b->blob[i].fd)
			err = b->blob[i].size != sizeof(int) ? -EINVAL : put_fd(start[i], fds, &next);
	for (size_t i = 0; b->code && i < b->blob[0].size / sizeof(struct bpf_insn) && !err; i++) {
		struct bpf_insn *insn = (struct bpf_insn *)start[0] + i;

		if (!opener_names_map(insn))
			continue;
		if (insn->imm < 0 || (unsigned)insn->imm >= fds->n - next)
			err = -EINVAL;
		else
			insn->imm = fds->fd[next + (unsigned)insn->imm];
	}
	return err;
}

static int serve_bpf(const struct server *s, struct opener_request *r, size_t len, const struct message_fds *fds,
		     bool *opens)
{
	const size_t n = sizeof(bpf_commands) / sizeof(bpf_commands[0]);
	size_t i = 0;
	long result;
	int err;

	while (i < n && (int)bpf_commands[i].command != r->bpf.command)
		i++;
	if (i == n || (bpf_commands[i].by_path && s->elevated))
		return -EPERM;
	*opens = bpf_commands[i].opens;
	err = put_words(r, len, fds);
	if (err)
		return err;
	result = syscall(SYS_bpf, r->bpf.command, &r->bpf.attr, r->bpf.attr_size);
	return result < 0 ? -errno : (int)result;
}

/* Threads of the recorder, and of nobody else. */
static int serve_hurry(const struct server *s, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)s->client, (int)tid);
	if (tid <= 0 || access(path, F_OK))
		return -ESRCH;
	return setpriority(PRIO_PROCESS, (id_t)tid, -20) ? -errno : 0;
}

static int serve_io(struct opener_request *r)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/io", (int)r->io.pid);
	return taskstats_io(AT_FDCWD, path, r->io.bytes);
}

static void serve(const struct server *s, struct opener_request *r, size_t len, const struct message_fds *fds)
{
	struct message_fds answer = { .n = 0 };
	bool opens = true;

	switch (r->what) {
	case OPENER_OPEN:
		r->result = serve_open(r);
		break;
	case OPENER_PERF:
		r->result = serve_perf(r, fds);
		break;
	case OPENER_BPF:
		r->result = serve_bpf(s, r, len, fds, &opens);
		break;
	case OPENER_HURRY:
		r->result = serve_hurry(s, r->tid);
		opens = false;
		break;
	case OPENER_EXITS:
		r->result = taskstats_listen();
		break;
	case OPENER_IO:
		r->result = serve_io(r);
		opens = false;
		break;
	default:
		r->result = -EINVAL;
	}
	if (opens && r->result >= 0)
		answer.fd[answer.n++] = r->result;
	if (message_send(s->socket, r, len, &answer))
		_exit(1);
	message_close_fds(&answer);
}

/* What opening takes: a request that found its way around the checks above would find nothing else to call. */
static const struct sandbox_call calls[] = {
	/* clang-format off */
	{ SYS_recvmsg }, { SYS_sendmsg }, { SYS_openat }, { SYS_close }, { SYS_read }, { SYS_fstat }, { SYS_newfstatat },
	{ SYS_statx }, { SYS_fstatfs }, { SYS_faccessat }, { SYS_faccessat2 }, { SYS_perf_event_open }, { SYS_bpf },
	{ SYS_setpriority },
	/* taskstats */
	{ SYS_socket, 0, ~0u, AF_NETLINK }, { SYS_setsockopt }, { SYS_bind }, { SYS_connect }, { SYS_sendto }, { SYS_recvfrom },
	{ SYS_fcntl, 1, ~0u, F_SETFL },
	/* memory, the end */
	{ SYS_madvise }, { SYS_brk }, { SYS_mmap, 2, PROT_EXEC, 0 }, { SYS_munmap }, { SYS_mremap }, { SYS_futex }, { SYS_exit }, { SYS_exit_group },
	{ SYS_rt_sigreturn }, { SYS_restart_syscall },
#ifdef SYS_open
	{ SYS_open }, { SYS_access }, { SYS_stat },
#endif
	/* clang-format on */
};

/* Whoever waits for the end of a pipe shall not wait for this process. */
static int keep_only(int socket)
{
	enum { AT = 0 };

	if (dup2(socket, AT) < 0)
		_exit(1);
	if (syscall(SYS_close_range, AT + 1u, ~0u, 0u))
		for (int fd = AT + 1; fd < 4096; fd++)
			close(fd);
	return AT;
}

void opener_serve(int socket, pid_t client, bool elevated)
{
	/* Who has asked for nothing for so long has started. */
	const struct timeval starting = { .tv_usec = 500000 }, forever = { 0 };
	struct server s = { .socket = keep_only(socket), .client = client, .elevated = elevated };
	struct opener_request *r = calloc(1, OPENER_BYTES);
	struct message_fds fds;
	ssize_t n;

	prctl(PR_SET_NAME, "pmrec/open");
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (!r || privileges_effective(true))
		_exit(1);
	/* Before Linux 5.11, the maps of BPF that it makes count as locked memory. */
	(void)setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY });
	/* Where the kernel has no filter, the checks above are what there is. */
	if (!SANDBOX_SANITIZED)
		(void)sandbox_calls(calls, sizeof(calls) / sizeof(*calls), false);
	setsockopt(s.socket, SOL_SOCKET, SO_RCVTIMEO, &starting, sizeof(starting));
	while ((n = message_take(s.socket, r, OPENER_BYTES, &fds)) != 0) {
		if (n == -EAGAIN) {
			process_shrink();
			setsockopt(s.socket, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
			continue;
		}
		if (n < (ssize_t)sizeof(*r)) {
			message_close_fds(&fds);
			_exit(1);
		}
		serve(&s, r, (size_t)n, &fds);
		message_close_fds(&fds);
	}
	_exit(0);
}

static struct message_peer opener = MESSAGE_PEER_NONE;
static uint64_t capabilities; /* of this process at its start */

int opener_start(bool wanted)
{
	bool elevated = privileges_elevated();
	pid_t client = getpid(), pid;
	int end;

	capabilities = privileges_permitted();
	/* Whoever could attach to this process would have its opener. */
	if (elevated)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (wanted && capabilities) {
		pid = message_fork(&opener, &end);
		if (!pid)
			opener_serve(end, client, elevated);
		if (pid < 0)
			return pid;
	}
	return elevated ? privileges_for_child() : privileges_effective(false);
}

void opener_forget(void)
{
	fd_close(&opener.socket);
	opener.pid = 0;
}

void opener_end(void)
{
	message_end(&opener);
}

bool opener_runs(void)
{
	return opener.socket >= 0;
}

int opener_fd(void)
{
	return opener.socket;
}

bool opener_lost(void)
{
	pid_t pid = 0;
	char byte;

	pthread_mutex_lock(&opener.lock);
	if (opener.socket >= 0 && recv(opener.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
		pid = opener.pid;
		opener_forget();
	}
	pthread_mutex_unlock(&opener.lock);
	if (pid > 0)
		waitpid(pid, NULL, WNOHANG);
	return pid > 0;
}

bool opener_has(int capability)
{
	return capability < 64 && capabilities >> capability & 1;
}

static int ask_fd(struct opener_request *r, const struct message_fds *fds)
{
	struct message_fds got;
	int err = message_ask(&opener, r, sizeof(*r), fds, &got);

	if (!err && r->result >= 0)
		return got.n == 1 ? got.fd[0] : -EPERM;
	message_close_fds(&got);
	return err ? err : r->result;
}

/* What is answered with a number alone. */
static int ask(struct opener_request *r)
{
	struct message_fds got;
	int err = message_ask(&opener, r, sizeof(*r), NULL, &got);

	return err ? err : r->result;
}

int opener_open(const char *path, int flags)
{
	struct opener_request r = { .what = OPENER_OPEN, .open.flags = flags };

	if (opener.socket < 0)
		return -EPERM;
	if (strlen(path) >= sizeof(r.open.path))
		return -ENAMETOOLONG;
	strcpy(r.open.path, path);
	return ask_fd(&r, NULL);
}

int opener_perf(const void *attr, size_t attr_size, pid_t pid, int cpu, int group_fd, int cgroup_fd,
		unsigned long flags)
{
	struct opener_request r = { .what = OPENER_PERF,
				    .perf = { .pid = pid ? pid : gettid(),
					      .cpu = cpu,
					      .flags = flags,
					      .group = group_fd >= 0,
					      .cgroup = cgroup_fd >= 0 } };
	struct message_fds fds = { .n = 0 };

	if (opener.socket < 0)
		return -EPERM;
	memcpy(&r.perf.attr, attr, attr_size < sizeof(r.perf.attr) ? attr_size : sizeof(r.perf.attr));
	if (group_fd >= 0)
		fds.fd[fds.n++] = group_fd;
	if (cgroup_fd >= 0)
		fds.fd[fds.n++] = cgroup_fd;
	return ask_fd(&r, &fds);
}

int opener_exits(void)
{
	struct opener_request r = { .what = OPENER_EXITS };

	return opener.socket < 0 ? -EPERM : ask_fd(&r, NULL);
}

int opener_io(pid_t pid, uint64_t bytes[static 2])
{
	struct opener_request r = { .what = OPENER_IO, .io.pid = pid };
	int err = ask(&r);

	memcpy(bytes, r.io.bytes, sizeof(r.io.bytes));
	return err;
}

int opener_hurry(pid_t tid)
{
	struct opener_request r = { .what = OPENER_HURRY, .tid = tid };

	return ask(&r);
}

static int add_fd(struct message_fds *fds, int fd)
{
	if (fds->n == MESSAGE_FDS)
		return -E2BIG;
	fds->fd[fds->n++] = fd;
	return 0;
}

/* Replaces the descriptors in instructions by indices of a list. */
static int take_maps(struct bpf_insn *code, size_t n, struct message_fds *fds)
{
	unsigned first = fds->n;

	for (size_t i = 0; i < n; i++) {
		unsigned k = first;

		if (!opener_names_map(&code[i]))
			continue;
		while (k < fds->n && fds->fd[k] != code[i].imm)
			k++;
		if (k == fds->n && add_fd(fds, code[i].imm))
			return -E2BIG;
		code[i].imm = (int32_t)(k - first);
	}
	return 0;
}

/* Packs the message of a call with everything that belongs to it. Its size, or -errno. */
static ssize_t pack(struct opener_request *r, const void *attr, struct message_fds *fds)
{
	struct opener_baggage *b = &r->bpf.baggage;
	char *at = (char *)(r + 1);
	unsigned n = 0;
	int err = 0;

	for (unsigned i = 0; i < b->n_fds; i++) {
		int fd;

		memcpy(&fd, (const char *)attr + b->fd_at[i], sizeof(fd));
		if (fd > 0 && !(err = add_fd(fds, fd)))
			b->fd_at[n++] = b->fd_at[i];
	}
	b->n_fds = n;
	for (unsigned i = 0; i < b->n_blobs && !err; i++) {
		if (b->blob[i].size > (size_t)((char *)r + OPENER_BYTES - at))
			return -E2BIG;
		memcpy(at, b->blob[i].data, b->blob[i].size);
		at += b->blob[i].size;
		if (b->blob[i].fd)
			err = add_fd(fds, *(const int *)b->blob[i].data);
	}
	if (!err && b->code)
		err = take_maps((struct bpf_insn *)(r + 1), b->blob[0].size / sizeof(struct bpf_insn), fds);
	return err ? err : at - (char *)r;
}

static int unpack(const struct opener_request *r, size_t n, const struct opener_baggage *b,
		  const struct message_fds *got)
{
	const char *at = (const char *)(r + 1), *end = (const char *)r + n;

	for (unsigned i = 0; i < b->n_blobs; i++) {
		if (b->blob[i].size > (size_t)(end - at))
			return -EPROTO;
		if (b->blob[i].out)
			memcpy(b->blob[i].data, at, b->blob[i].size);
		at += b->blob[i].size;
	}
	return r->result >= 0 && got->n ? got->fd[0] : r->result;
}

int opener_bpf(int command, const void *attr, size_t attr_size, const struct opener_baggage *b)
{
	static const struct opener_baggage none;
	struct message_fds fds = { .n = 0 }, got;
	SCOPED(scoped_free) struct opener_request *r = NULL;
	ssize_t size;
	int err;

	if (opener.socket < 0)
		return -EPERM;
	r = calloc(1, OPENER_BYTES);
	if (!r)
		return -ENOMEM;
	b = b ? b : &none;
	r->what = OPENER_BPF;
	r->bpf.command = command;
	r->bpf.attr_size = (uint32_t)(attr_size < sizeof(r->bpf.attr) ? attr_size : sizeof(r->bpf.attr));
	memcpy(&r->bpf.attr, attr, r->bpf.attr_size);
	r->bpf.baggage = *b;
	size = pack(r, attr, &fds);
	err = size < 0 ? (int)size : message_ask(&opener, r, (size_t)size, &fds, &got);
	if (!err) {
		err = unpack(r, (size_t)size, b, &got);
		if (err < 0)
			message_close_fds(&got);
	}
	return err;
}
