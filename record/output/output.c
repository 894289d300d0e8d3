#include "record/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "record/host/caller.h"
#include "record/host/interruptible.h"
#include "record/host/privileges.h"

/* Makes "<host or anon><what>-<UTC>.pmr", with --rotate "<-o without .pmr><what>-<UTC>.pmr"; owned, NULL without
 * memory. */
static char *stamped_name(const struct record_options *o, const char *what)
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
	return asprintf(&name, "%.*s%s-%s.pmr", (int)len, stem ? stem : host.nodename, what, stamp) < 0 ? NULL : name;
}

char *output_dump_name(const struct record_options *o)
{
	char *name = stamped_name(o, "-dump"), *slash = name ? strrchr(name, '/') : NULL, *there = NULL;

	if (!name || !o->output.dump_to)
		return name;
	if (asprintf(&there, "%s/%s", o->output.dump_to, slash ? slash + 1 : name) < 0)
		there = NULL;
	free(name);
	return there;
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
		char *name, *stem = out->path;

		out->fd = caller_create(out->path, mode(o));
		if (out->fd != -EEXIST || i > 9999)
			break;
		free(stem);
		stem = stamped_name(o, "");
		if (!stem || asprintf(&name, "%.*s-%d.pmr", (int)strlen(stem) - 4, stem, i) < 0) {
			free(stem);
			out->path = NULL;
			return error_sys(e, ENOMEM, "output");
		}
		free(stem);
		out->path = name;
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
static int take(struct output *out, const struct record_options *o, const struct stat *st, struct error *e)
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
		out->fd = fcntl(o->output.fd ? o->output.fd : STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		if (out->fd < 0)
			err = error_sys(e, errno, "stdout");
	} else {
		err = open_named(out, o, e);
	}
	if (err)
		return err;
	if (isatty(out->fd))
		return error_set(e, ENOTTY,
				 "a recording is binary and is not written to a terminal; use -o FILE, or pipe it: "
				 "pmrec -o - | pmrep -");
	if (fstat(out->fd, &st))
		return error_sys(e, errno, "'%s'", out->path);
	out->regular = S_ISREG(st.st_mode);
	out->live = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
	return out->regular ? take(out, o, &st, e) : 0;
}

int output_open_as_self(struct output *out, const struct record_options *o, struct error *e)
{
	bool named = o->output.output && !plan_rotates(o);
	int err;

	*out = (struct output){ .fd = -1,
				.sync_ns = o->output.sync_ns,
				.path = named ? strdup(o->output.output) : stamped_name(o, "") };
	if (!out->path)
		return error_sys(e, ENOMEM, "output");
	err = open_any(out, o, e);
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
	free(out->path);
	*out = (struct output){ .fd = -1 };
	return err;
}

int output_blame(const struct output *out, struct error *e)
{
	return strcmp(out->path, "-") ? error_prefix(e, "'%s'", out->path) : error_prefix(e, "standard output");
}
