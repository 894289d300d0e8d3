#include "common/file.h"
#include "report/export/output.h"

#include <errno.h>
#include <unistd.h>

int output_flush(struct output *out)
{
	int err;

	if (out->text.err)
		return error_sys(&out->error, ENOMEM, "output");
	err = file_write(out->fd, out->text.data, out->text.len);
	if (err)
		return error_sys(&out->error, -err, out->fd == STDOUT_FILENO ? "standard output" : "output");
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
