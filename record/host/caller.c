#include "record/host/caller.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/host/message.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"

enum what { LAUNCH, CREATE, REMOVE };

struct request {
	enum what what;
	unsigned number;
	mode_t mode;
	dev_t device;
	ino_t inode;
	int result;
	bool has_text;
	char text[PATH_MAX];
};

static struct message_peer caller = MESSAGE_PEER_NONE;

static int create_here(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode);

	return fd < 0 ? -errno : fd;
}

static int remove_here(const char *path, dev_t device, ino_t inode)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_dev != device || st.st_ino != inode)
		return -ESTALE;
	return unlink(path) ? -errno : 0;
}

/* ---- its side ---- */

struct launch {
	const struct caller_rules *rules;
	const struct request *request;
	int go, failure;
};

void caller_leave(int status)
{
	syscall(SYS_exit_group, status);
}

static int launched(void *arg)
{
	struct launch *l = arg;

	l->rules->run(l->rules->ctx, l->request->number, l->request->has_text ? l->request->text : NULL, l->go,
		      l->failure);
	caller_leave(126);
	return 0;
}

static size_t folder_length(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool lies_there(const struct caller_rules *rules, const char *path)
{
	size_t folder = folder_length(rules->output), len = strlen(path);

	return folder_length(path) == folder && !strncmp(path, rules->output ? rules->output : "", folder) && len > 4;
}

static int launch(const struct caller_rules *rules, const struct request *r, const struct message_fds *fds)
{
	struct launch l = { .rules = rules, .request = r, .go = fds->fd[0], .failure = fds->fd[1] };
	size_t size = 256 << 10;
	char *stack;
	int pid;

	if (fds->n != 2)
		return -EINVAL;
	stack = malloc(size);
	if (!stack)
		return -ENOMEM;
	/* Its parent is the recorder, which waits for it; the stack is a copy. */
	pid = clone(launched, stack + (size & ~(size_t)15), CLONE_PARENT | SIGCHLD, &l);
	pid = pid < 0 ? -errno : pid;
	free(stack);
	return pid;
}

static void serve(int socket, const struct caller_rules *rules)
{
	struct message_fds fds, answer;
	struct request r;

	prctl(PR_SET_NAME, "pmrec/caller");
	if (privileges_for_child())
		_exit(1);
	while (message_take(socket, &r, sizeof(r), &fds) == sizeof(r)) {
		answer.n = 0;
		r.text[sizeof(r.text) - 1] = '\0';
		r.result = -EACCES;
		if (r.what == LAUNCH)
			r.result = launch(rules, &r, &fds);
		else if (r.what == CREATE && lies_there(rules, r.text))
			r.result = create_here(r.text, r.mode);
		else if (r.what == REMOVE && lies_there(rules, r.text))
			r.result = remove_here(r.text, r.device, r.inode);
		if (r.what == CREATE && r.result >= 0)
			answer.fd[answer.n++] = r.result;
		message_close_fds(&fds);
		if (message_send(socket, &r, sizeof(r), &answer))
			_exit(1);
		message_close_fds(&answer);
	}
	_exit(0);
}

int caller_start(const struct caller_rules *rules)
{
	int end;
	pid_t pid = message_fork(&caller, &end);

	if (!pid) {
		opener_forget();
		serve(end, rules);
	}
	return pid < 0 ? pid : 0;
}

/* ---- the recorder's ---- */

void caller_end(void)
{
	message_end(&caller);
}

bool caller_runs(void)
{
	return caller.socket >= 0;
}

static int ask_caller(struct request *r, const char *text, const struct message_fds *fds, struct message_fds *got)
{
	int err;

	if (text && strlen(text) >= sizeof(r->text))
		return -ENAMETOOLONG;
	r->has_text = text != NULL;
	strcpy(r->text, text ? text : "");
	err = message_ask(&caller, r, sizeof(*r), fds, got);
	return err ? err : r->result;
}

pid_t caller_launch(unsigned what, const char *text, int go, int failure)
{
	struct message_fds fds = { .fd = { go, failure }, .n = 2 }, got;
	struct request r = { .what = LAUNCH, .number = what };

	return ask_caller(&r, text, &fds, &got);
}

static bool denied(int err)
{
	return err == -EACCES || err == -EPERM;
}

int caller_create(const char *path, mode_t mode)
{
	struct request r = { .what = CREATE, .mode = mode };
	int fd = create_here(path, mode);
	struct message_fds got;

	if (!denied(fd) || !caller_runs())
		return fd;
	fd = ask_caller(&r, path, NULL, &got);
	return fd < 0 ? fd : got.n == 1 ? got.fd[0] : -EPERM;
}

int caller_remove(const char *path, dev_t device, ino_t inode)
{
	struct request r = { .what = REMOVE, .device = device, .inode = inode };
	int err = remove_here(path, device, inode);
	struct message_fds got;

	return denied(err) && caller_runs() ? ask_caller(&r, path, NULL, &got) : err;
}
