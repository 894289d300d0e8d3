#include "record/host/opener.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/host/opener_private.h"
#include "record/host/privileges.h"

static struct message_peer opener = MESSAGE_PEER_NONE;
static uint64_t capabilities; /* of this process at its start */

int opener_start(bool wanted)
{
	bool elevated = privileges_elevated();
	pid_t client = getpid();
	int end[2], err = 0;
	sigset_t all, before;

	capabilities = privileges_permitted();
	/* Whoever could attach to this process would have its opener. */
	if (elevated)
		prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (wanted && capabilities) {
		err = message_pair(end);
		if (err)
			return err;
		/* The recorder decides about signals from the terminal. */
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, &before);
		opener.pid = fork();
		if (!opener.pid)
			opener_serve(end[1], client, elevated);
		sigprocmask(SIG_SETMASK, &before, NULL);
		err = opener.pid < 0 ? -errno : 0;
		close(end[1]);
		if (err)
			close(end[0]);
		else
			opener.socket = end[0];
	}
	if (!err)
		err = elevated ? privileges_for_child() : privileges_lower();
	return err;
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
	struct message_fds got;
	int err = message_ask(&opener, &r, sizeof(r), NULL, &got);

	memcpy(bytes, r.io.bytes, sizeof(r.io.bytes));
	return err ? err : r.result;
}

int opener_hurry(pid_t tid, unsigned realtime)
{
	struct opener_request r = { .what = OPENER_HURRY, .tid = tid, .realtime = (int32_t)realtime };
	struct message_fds got;
	int err = message_ask(&opener, &r, sizeof(r), NULL, &got);

	return err ? err : r.result;
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
