#include "record/output/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/caller.h"
#include "record/host/clocks.h"
#include "record/host/privileges.h"
#include "record/host/process.h"

/* Makes "<host or anon>-<UTC>.pmr", with --rotate "<-o without .pmr>-<UTC>.pmr"; owned. NULL without memory: the
 * writer's thread, which calls it for each new file, must not end the program. */
static char *stamped_name(const struct record_options *o)
{
	bool anon = o->privacy && !strcmp(o->privacy, "strict");
	const char *stem = plan_rotates(o) ? o->output.output : NULL;
	size_t len = stem ? strlen(stem) : 0;
	struct utsname host;
	time_t now = time(NULL);
	char stamp[32], *name;
	struct tm utc;

	if (anon || uname(&host) || !host.nodename[0])
		strcpy(host.nodename, "anon");
	for (char *c = host.nodename; *c; c++)
		if (*c == '/')
			*c = '-';
	gmtime_r(&now, &utc);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc);
	if (len > 4 && !strcmp(stem + len - 4, ".pmr"))
		len -= 4;
	else if (!stem)
		len = strlen(host.nodename);
	return asprintf(&name, "%.*s-%s.pmr", (int)len, stem ? stem : host.nodename, stamp) < 0 ? NULL : name;
}

/* All that --privacy=full adds is about the user. */
static mode_t mode(const struct record_options *o)
{
	return o->privacy && !strcmp(o->privacy, "full") ? 0600 : 0666;
}

/* A generated name may be taken by a recording that began in the same second. */
static int open_default(struct output *out, const struct record_options *o, struct error *e)
{
	for (int i = 2;; i++) {
		SCOPED(scoped_free) char *stem = NULL;

		out->fd = caller_create(out->path, mode(o));
		if (out->fd != -EEXIST || i > 9999)
			break;
		free(out->path);
		stem = stamped_name(o);
		if (!stem || asprintf(&out->path, "%.*s-%d.pmr", (int)strlen(stem) - 4, stem, i) < 0) {
			out->path = NULL;
			return error_sys(e, ENOMEM, "the name of the output");
		}
	}
	out->created = out->fd >= 0;
	return out->fd < 0 ? error_sys(e, -out->fd, "cannot create '%s'", out->path) : 0;
}

static int open_named(struct output *out, const struct record_options *o, struct error *e)
{
	struct stat st;

	out->fd = open(out->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, mode(o));
	out->created = out->fd >= 0;
	if (out->fd < 0 && errno == EEXIST) {
		if (stat(out->path, &st))
			return errno == ENOENT ?
				       error_set(e, ENOENT,
						 "'%s' is a link to a file that is not there; name that file",
						 out->path) :
				       error_sys(e, errno, "cannot write '%s'", out->path);
		out->fd = open(out->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		/* mktemp makes empty files; pipes and devices are meant to be written to. The name may lead elsewhere
		 * by now, so the descriptor is asked. */
		if (out->fd >= 0 && !fstat(out->fd, &st) && S_ISREG(st.st_mode) && st.st_size && !o->output.overwrite)
			return error_set(e, EEXIST, "'%s' exists; --overwrite replaces it", out->path);
	}
	return out->fd < 0 ? error_sys(e, errno, "cannot write '%s'", out->path) : 0;
}

/* By the lock readers distinguish a file that still grows from one whose recorder died. */
static int take_file(struct output *out, const struct record_options *o, const struct stat *st, struct error *e)
{
	const struct timespec moment = { .tv_nsec = 20000000 };
	int err = flock(out->fd, LOCK_EX | LOCK_NB) ? errno : 0;

	/* A reader that checks holds the lock for a moment. Where there are no locks, continue without. */
	for (int i = 0; i < 5 && err == EWOULDBLOCK; i++) {
		nanosleep(&moment, NULL);
		err = flock(out->fd, LOCK_EX | LOCK_NB) ? errno : 0;
	}
	if (err == EWOULDBLOCK && strcmp(out->path, "-"))
		return error_set(e, EBUSY, "'%s' is in use: another pmrec is writing to it", out->path);
	/* Only now: nothing that another recorder records is lost. */
	if (o->output.overwrite && st->st_size && strcmp(out->path, "-") && ftruncate(out->fd, 0))
		return error_sys(e, errno, "cannot replace '%s'", out->path);
	/* An existing file gets the permissions of a new one. */
	if (mode(o) == 0600 && strcmp(out->path, "-") && st->st_mode & 077 && fchmod(out->fd, 0600))
		return error_sys(e, errno, "cannot make '%s' unreadable to others", out->path);
	return 0;
}

static int open_any(struct output *out, const struct record_options *o, struct error *e)
{
	struct stat st;
	int err = 0;

	if (plan_rotates(o) && o->output.output && !stat(o->output.output, &st) && !S_ISREG(st.st_mode))
		return error_set(e, EINVAL, "--rotate writes one file after another, but '%s' is not a file",
				 o->output.output);
	if (!o->output.output || plan_rotates(o)) {
		err = open_default(out, o, e);
	} else if (!strcmp(out->path, "-")) {
		/* A descriptor of its own: number 1 may be handed to others. */
		out->fd = fcntl(o->output.fd && !o->output.keeps ? o->output.fd : STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (out->fd < 0)
			err = error_sys(e, errno, "stdout");
	} else {
		err = open_named(out, o, e);
	}
	if (err)
		return err;
	if (o->output.keeps && (out->copy = fcntl(o->output.fd, F_DUPFD_CLOEXEC, 3)) < 0)
		return error_sys(e, errno, "the reader's pipe");
	if (isatty(out->fd))
		return error_set(e, ENOTTY,
				 "a recording is binary and is not written to a terminal; use -o FILE, or pipe it: "
				 "pmrec -o - | pmrep -");
	if (fstat(out->fd, &st))
		return error_sys(e, errno, "'%s'", out->path);
	out->regular = S_ISREG(st.st_mode);
	out->live = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || o->output.keeps;
	return out->regular ? take_file(out, o, &st, e) : 0;
}

int output_open_as_self(struct output *out, const struct record_options *o, struct error *e)
{
	bool named = o->output.output && !plan_rotates(o);
	int err;

	*out = (struct output){ .fd = -1,
				.sync_ns = o->output.sync_ns,
				.path = named ? strdup(o->output.output) : stamped_name(o) };
	err = out->path ? open_any(out, o, e) : error_sys(e, ENOMEM, "the name of the output");
	if (err)
		output_close(out, NULL);
	return err;
}

int output_open(struct output *out, const struct record_options *o, struct error *e)
{
	bool changed = privileges_become_caller(), waits = o->output.output && strcmp(o->output.output, "-");
	sigset_t before;
	int err;

	/* A pipe must wait for its reader. What is open already is written to, whatever signals have come by now. */
	if (waits)
		interruptible_begin(&before);
	err = output_open_as_self(out, o, e);
	if (waits)
		interruptible_end(&before);
	privileges_become_self(changed);
	return err;
}

int output_close(struct output *out, struct error *e)
{
	int err = 0;

	if (out->fd >= 0) {
		struct stat st;
		bool ours = out->created && !fstat(out->fd, &st);

		if (ours && !out->bytes)
			caller_remove(out->path, st.st_dev, st.st_ino);
		else if (ours && !st.st_nlink)
			err = error_set(e, ENOENT, "'%s' was removed while it was recorded", out->path);
		if (close(out->fd))
			err = error_sys(e, errno, "'%s'", out->path);
	}
	if (out->copy > 0)
		close(out->copy);
	free(out->path);
	*out = (struct output){ .fd = -1 };
	return err;
}

int output_blame(const struct output *out, struct error *e)
{
	return strcmp(out->path, "-") ? error_prefix(e, "'%s'", out->path) : error_prefix(e, "standard output");
}

#define STACK_BYTES (256u << 10)
/* How often a waiting thread checks whether to go on waiting. */
#define LOOK_NS 50000000
/* How often writing to a disk that was full is tried again. */
#define AGAIN_NS 200000000
/* Some senders send each signal twice. */
#define TWICE_NS 300000000u
#define CHUNK_NS 1000000000u /* approximate time between two writes to a file */

struct entry {
	struct entry *next;
	void *sink_ctx;
	uint64_t snapshots;
	size_t len;
	uint8_t data[];
};

/* The condition for those who wait until nothing is left. */
static size_t cost(const struct entry *e)
{
	return e->len ? e->len : 1;
}

struct outlet {
	struct outlet_config config;
	pthread_t thread;
	void *stack;
	pid_t client;         /* the program for which a process writes */
	pthread_mutex_t lock; /* all below */
	pthread_cond_t put, taken;
	struct entry *first, **last; /* the one that is being written stays first */
	struct entry *done;          /* freed by the thread that added them */
	size_t bytes;
	uint64_t snapshots, progress_ns, hurry_ns, stalls, stalled_ns;
	_Atomic pid_t pid; /* of the process; 0: a thread writes */
	int err;
	bool quit, given_up;
};

/* Called with the lock; a requested end comes at once. */
static void await_again(struct outlet *o)
{
	uint64_t now = clocks_monotonic(), then = now + AGAIN_NS;
	struct timespec t = clocks_timespec(then);

	while (now < then && !o->quit && !o->hurry_ns) {
		pthread_cond_timedwait(&o->put, &o->lock, &t);
		now = clocks_monotonic();
	}
}

static void write_frames(struct outlet *o)
{
	prctl(PR_SET_NAME, "pmrec/out");
	pthread_mutex_lock(&o->lock);
	while (!o->quit) {
		struct entry *e = o->first;
		bool hurries = o->hurry_ns != 0;
		int err = o->err;

		if (!e) {
			pthread_cond_wait(&o->put, &o->lock);
			continue;
		}
		pthread_mutex_unlock(&o->lock);
		if (!err) {
			err = o->config.sink(e->sink_ctx, e->data, e->len);
			if (err && !hurries && o->config.stalled && o->config.stalled(o->config.ctx, err)) {
				pthread_mutex_lock(&o->lock);
				await_again(o);
				continue;
			}
			if (err && o->config.failed)
				o->config.failed(o->config.ctx, err);
		}
		pthread_mutex_lock(&o->lock);
		o->err = err;
		o->first = e->next;
		if (!o->first)
			o->last = &o->first;
		o->bytes -= cost(e);
		o->progress_ns = clocks_monotonic();
		if (!err && e->snapshots > o->snapshots)
			o->snapshots = e->snapshots;
		e->next = o->done;
		o->done = e;
		pthread_cond_broadcast(&o->taken);
	}
	pthread_mutex_unlock(&o->lock);
}

#ifdef __SANITIZE_THREAD__
/* ThreadSanitizer knows threads only. */
static pid_t start_process(struct outlet *o)
{
	return -1;
}
#else
/* Shares the calling thread's errno and other thread-local memory, which that thread leaves alone meanwhile. */
static int process_main(void *arg)
{
	const struct outlet *o = arg;

	/* It ends with the program, which may have ended before the kernel was told so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == o->client)
		write_frames(arg);
	syscall(SYS_exit, 0);
	return 0;
}

static pid_t start_process(struct outlet *o)
{
	o->client = getpid();
	o->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (o->stack == MAP_FAILED) {
		o->stack = NULL;
		return -1;
	}
	return clone(process_main, (char *)o->stack + STACK_BYTES, CLONE_VM | CLONE_FILES | CLONE_FS, o);
}
#endif

static void *thread_main(void *arg)
{
	struct outlet *o = arg;
	pid_t pid;

	pid = start_process(o);
	if (pid < 0)
		write_frames(o);
	else
		o->pid = pid;
	while (pid > 0 && syscall(SYS_wait4, pid, NULL, __WALL, NULL) < 0 && errno == EINTR)
		;
	return NULL;
}

int outlet_new(struct outlet **out, const struct outlet_config *config, struct error *e)
{
	struct outlet *o = memory_new(1, sizeof(*o));
	pthread_condattr_t attr;
	int err;

	*out = NULL;
	o->config = *config;
	if (!o->config.bytes)
		o->config.bytes = OUTLET_BYTES;
	o->last = &o->first;
	o->progress_ns = clocks_monotonic();
	pthread_mutex_init(&o->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&o->put, &attr);
	pthread_cond_init(&o->taken, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&o->thread, NULL, thread_main, o);
	if (err) {
		free(o);
		return error_sys(e, err, "the thread that writes");
	}
	*out = o;
	return 0;
}

static void free_entries(struct entry *e)
{
	while (e) {
		struct entry *next = e->next;

		free(e);
		e = next;
	}
}

void outlet_free(struct outlet *o)
{
	bool stuck;

	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->quit = true;
	stuck = o->given_up;
	pthread_cond_signal(&o->put);
	pthread_mutex_unlock(&o->lock);
	if (stuck) {
		/* It may be beyond the reach of signals, with its memory; the program is about to end. */
		if (o->pid)
			kill(o->pid, SIGKILL);
		pthread_detach(o->thread);
		return;
	}
	pthread_join(o->thread, NULL);
	free_entries(o->first);
	free_entries(o->done);
	if (o->stack)
		munmap(o->stack, STACK_BYTES);
	pthread_cond_destroy(&o->put);
	pthread_cond_destroy(&o->taken);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

int outlet_put(void *target, const void *frame, size_t len)
{
	const struct outlet_target *t = target;
	struct outlet *o = t->outlet;
	struct entry *e = malloc(sizeof(*e) + len), *done;

	if (!e)
		return -ENOMEM;
	*e = (struct entry){ .sink_ctx = t->sink_ctx, .len = len };
	if (t->writer)
		e->snapshots = t->before + pm_writer_stats(t->writer).snapshots;
	if (len)
		memcpy(e->data, frame, len);
	pthread_mutex_lock(&o->lock);
	if (!o->first)
		o->progress_ns = clocks_monotonic();
	*o->last = e;
	o->last = &e->next;
	o->bytes += cost(e);
	done = o->done;
	o->done = NULL;
	pthread_mutex_unlock(&o->lock);
	/* Only now: whoever wakes up finds the lock free. */
	pthread_cond_signal(&o->put);
	free_entries(done);
	return 0;
}

static bool gives_up(const struct outlet *o, uint64_t now)
{
	uint64_t since = o->progress_ns > o->hurry_ns ? o->progress_ns : o->hurry_ns;

	if (!o->hurry_ns)
		return false;
	return now - since > OUTLET_PATIENCE_NS || (now - o->hurry_ns > TWICE_NS && interrupted());
}

/* Waits until at most `most` bytes are queued. With the lock. */
static bool await(struct outlet *o, size_t most)
{
	while (o->bytes > most && !o->given_up) {
		uint64_t now = clocks_monotonic();
		struct timespec t = clocks_timespec(now + LOOK_NS);

		o->given_up = gives_up(o, now);
		if (!o->given_up)
			pthread_cond_timedwait(&o->taken, &o->lock, &t);
	}
	return !o->given_up;
}

bool outlet_await_room(struct outlet *o, size_t bytes)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&o->lock);
	uint64_t before = 0;
	bool stalled, ok;

	stalled = o->bytes && o->bytes + bytes > o->config.bytes;
	if (stalled) {
		o->stalls++;
		before = clocks_monotonic();
	}
	ok = await(o, o->config.bytes > bytes ? o->config.bytes - bytes : 0);
	if (stalled)
		o->stalled_ns += clocks_monotonic() - before;
	return ok;
}

bool outlet_await_empty(struct outlet *o)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&o->lock);

	return await(o, 0);
}

int outlet_forgive(struct outlet *o)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&o->lock);
	int err = o->err;

	o->err = 0;
	return err;
}

void outlet_hurry(struct outlet *o)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&o->lock);

	if (!o->hurry_ns)
		o->hurry_ns = clocks_monotonic();
	pthread_cond_signal(&o->put);
}

struct outlet_state outlet_state(struct outlet *o)
{
	SCOPED(unlock) pthread_mutex_t *held = lock(&o->lock);

	return (struct outlet_state){ .bytes = o->bytes,
				      .snapshots = o->snapshots,
				      .stalls = o->stalls,
				      .stalled_ns = o->stalled_ns,
				      .given_up = o->given_up };
}

/* ---- the file ---- */

/* A file system that cannot is not asked again. */
static int make_last(struct output *out)
{
	int err = fdatasync(out->fd) ? -errno : 0;

	out->synced_ns = clocks_monotonic();
	return err == -EINVAL || err == -ENOSYS || err == -EINTR ? 0 : err;
}

/* If a chunk comes a little early, waiting for the next one would put twice the time at risk. */
static bool sync_is_due(const struct output *out)
{
	uint64_t early = (out->sync_ns < CHUNK_NS ? out->sync_ns : CHUNK_NS) / 2;

	return out->sync_ns && out->regular && clocks_monotonic() - out->synced_ns + early >= out->sync_ns;
}

/* Writes them all, or says how many are left. 0 or -errno. */
static int put(int fd, const uint8_t *at, size_t *left)
{
	while (*left) {
		ssize_t n = write(fd, at, *left);
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		int err = errno;

		if (n >= 0) {
			at += n;
			*left -= (size_t)n;
		} else if (err == EAGAIN) {
			poll(&p, 1, -1); /* someone made the pipe non-blocking */
		} else if (err != EINTR) {
			return -err;
		}
	}
	return 0;
}

int outlet_write(void *ctx, const void *data, size_t len)
{
	struct output *out = ctx;
	size_t left = len;
	int err;

	if (!len)
		return out->regular ? make_last(out) : 0;
	err = put(out->fd, data, &left);
	if (err) {
		off_t begin = lseek(out->fd, 0, SEEK_CUR) - (off_t)(len - left);

		/* Half a frame is useless; without it the file ends between two frames. */
		if (out->regular && left < len && begin >= 0 && !ftruncate(out->fd, begin))
			lseek(out->fd, begin, SEEK_SET);
		return err;
	}
	out->bytes += len;
	left = len;
	/* Whoever reads it may leave. */
	if (out->copy > 0 && put(out->copy, data, &left)) {
		close(out->copy);
		out->copy = 0;
	}
	return sync_is_due(out) ? make_last(out) : 0;
}
