/* The second reading: writes the recording anew by the rules that the first one led to. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "report/input.h"
#include "report/redact_private.h"

int redact_look_file(struct redact *r, const char *path, struct error *e)
{
	struct pm_reader *reader;
	int err;

	if (!strcmp(path, "-"))
		return error_set(e, EINVAL,
				 "a recording is redacted in two readings, which standard input does not allow; "
				 "save it to a file first");
	err = input_open(&reader, path, false, e);
	if (err)
		return err;
	err = redact_look(r, reader, e);
	if (err)
		error_prefix(e, "%s", path);
	pm_reader_close(reader);
	return err;
}

int redact_copy(struct redact *r, const char *path, struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct rewrite_result *result, struct error *e)
{
	struct pm_reader *reader = NULL;
	struct rewrite *w = NULL;
	int err = input_open(&reader, path, false, e);

	if (err)
		return err;
	if (r)
		redact_rules(r, rules);
	err = rewrite_new(&w, rules, sink, sink_ctx, e);
	if (!err) {
		err = rewrite_recording(w, reader, e);
		if (!err)
			err = rewrite_finish(w, e);
		if (err)
			error_prefix(e, "%s", path);
		else
			*result = rewrite_result(w);
	}
	rewrite_free(w);
	pm_reader_close(reader);
	return err;
}

void redact_file_name(const struct redact *r, struct buf *name)
{
	time_t seconds = (time_t)(r->wall_ns / 1000000000);
	struct tm tm;
	char text[32];

	buf_addstr(name, *r->host ? r->host : "anon");
	if (r->wall_ns && gmtime_r(&seconds, &tm) && strftime(text, sizeof(text), "-%Y%m%dT%H%M%SZ", &tm))
		buf_addstr(name, text);
}
