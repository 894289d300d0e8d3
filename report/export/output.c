#include "common/file.h"
#include "report/export/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define COUNT_FROM  (64u << 20) /* shorter output may be anything */
#define LINE_MOST   1024        /* bytes; names of pods' cgroups make it 400 */
#define COLUMN_MOST 64

int output_count(struct output_total *t, const void *data, size_t len, struct error *e)
{
	const char *c = data;
	uint64_t lines = 0;

	t->bytes += len;
	if (t->bytes <= COUNT_FROM)
		return 0;
	for (const char *end = c + len; (c = memchr(c, '\n', (size_t)(end - c))); c++)
		lines++;
	t->lines += lines;
	if (t->bytes - COUNT_FROM <= t->lines * (LINE_MOST + (uint64_t)t->columns * COLUMN_MOST))
		return 0;
	return error_set(e, E2BIG,
			 "stopped after %llu MiB: this recording has texts so long that its output would hardly end; "
			 "choose what to print",
			 (unsigned long long)(t->bytes >> 20));
}

int output_flush(struct output *out)
{
	int err;

	memory_whole(&out->text);
	err = out->binary ? 0 : output_count(&out->total, out->text.data, out->text.len, &out->error);
	if (err)
		return err;
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
