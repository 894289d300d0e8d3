/* The second pass: writes the recording by the rules of the first one. */
#include <time.h>

#include "report/copy/redact_private.h"

int redact_look_spool(struct redact *r, const struct spool *in, struct error *e)
{
	struct pm_reader *reader;
	int err = spool_reader(&reader, in, e);

	if (err)
		return err;
	err = redact_look(r, reader, e);
	if (err)
		error_prefix(e, "%s", in->name);
	pm_reader_close(reader);
	return err;
}

static int open_looked_at(void *ctx, size_t i, struct pm_reader **reader, const char **name, struct error *e)
{
	const struct spool *in = ctx;

	*name = in->name;
	return spool_reader(reader, in, e);
}

int redact_copy(struct redact *r, struct spool *in, struct rewrite_rules *rules, pm_sink_fn sink, void *sink_ctx,
		struct rewrite_result *result, struct error *e)
{
	redact_rules(r, rules);
	return rewrite_all(rules, 1, open_looked_at, in, sink, sink_ctx, result, e);
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
