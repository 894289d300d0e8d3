#include "report/export/output.h"

#include <errno.h>
#include <unistd.h>

int output_flush(struct output *out)
{
	size_t at = 0;

	if (out->text.err)
		return error_sys(&out->error, ENOMEM, "output");
	while (at < out->text.len) {
		ssize_t n = write(out->fd, out->text.data + at, out->text.len - at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_sys(&out->error, errno, out->fd == STDOUT_FILENO ? "standard output" : "output");
		at += (size_t)n;
	}
	out->written += out->text.len;
	buf_clear(&out->text);
	return 0;
}

int output_pace(struct output *out)
{
	return out->live || output_is_full(out) ? output_flush(out) : 0;
}

void output_release(struct output *out)
{
	buf_release(&out->text);
}
