#include "report/input/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/memory.h"
#include "report/input/input.h"

#define COPY_STEP (256u << 10)

/* ---- files without a name ---- */

static const char *folder(void)
{
	const char *path = getenv("TMPDIR");

	return path && *path ? path : "/tmp";
}

int spool_temporary(struct error *e)
{
	int fd = open(folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *path = NULL;

	/* Not all file systems support that. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		path = memory_format("%s/pmrep.XXXXXX", folder());
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd < 0)
		error_sys(e, errno, "%s: cannot create a temporary file; TMPDIR may name another directory",
			  folder());
	free(path);
	return fd < 0 ? -e->number : fd;
}

/* ---- copies ---- */

static int copy(struct spool *s, struct pm_input *in, struct error *e)
{
	SCOPED(scoped_free) char *block = memory_new(1, COPY_STEP);
	ssize_t n = 0;
	int err = 0;

	while (!err && (n = in->read(in->ctx, block, COPY_STEP)) != 0) {
		if (n == -EINTR)
			continue;
		if (n < 0)
			break;
		err = file_write(s->fd, block, (size_t)n);
		s->bytes += (uint64_t)n;
	}
	if (n == -EFBIG)
		return input_failed(e, -EFBIG, s->name);
	if (err == -ENOSPC || err == -EDQUOT || err == -EFBIG)
		return error_set(e, -err,
				 "%s: no space in %s for a copy, which is needed to read it more than once; TMPDIR "
				 "may name another directory",
				 s->name, folder());
	if (err)
		return error_sys(e, -err, "%s: cannot copy to %s", s->name, folder());
	return n < 0 ? error_sys(e, (int)-n, "%s: cannot continue reading", s->name) : 0;
}

/* Whether the file can be read repeatedly, and does not change. */
static bool is_steady(struct spool *s, const char *path, enum spool_need need)
{
	unsigned char head[4] = { 0 };
	struct stat st;
	bool packed;
	FILE *f;

	s->growing = input_being_written(path);
	if (s->growing || stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	f = need == SPOOL_PLAIN ? fopen(path, "rbe") : NULL; /* opening it will say why it failed */
	packed = f && input_is_packed(head, fread(head, 1, sizeof(head), f));
	if (f)
		fclose(f);
	s->bytes = packed ? 0 : (uint64_t)st.st_size;
	return !packed;
}

int spool_open(struct spool *s, const char *path, enum spool_need need, struct error *e)
{
	struct pm_input in;
	int err;

	*s = (struct spool){ .fd = -1, .name = memory_text(strcmp(path, "-") ? path : "standard input") };
	/* If it does not exist, whoever opens it reports that. */
	if (strcmp(path, "-") && (access(path, R_OK) || is_steady(s, path, need))) {
		s->path = memory_text(path);
		return 0;
	}
	err = input_bytes(&in, path, e);
	if (err)
		return err;
	s->fd = spool_temporary(e);
	err = s->fd < 0 ? s->fd : copy(s, &in, e);
	if (in.close)
		in.close(in.ctx);
	if (!err)
		s->path = memory_format("/proc/self/fd/%d", s->fd);
	return err;
}

int spool_reader(struct pm_reader **r, const struct spool *s, struct error *e)
{
	return s->fd < 0 ? input_open(r, s->path, false, e) : input_open_as(r, s->path, s->name, e);
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->name);
	free(s->path);
	*s = (struct spool){ .fd = -1 };
}
