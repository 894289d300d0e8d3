/* A recording that was compressed as a whole: a stream, whatever the input is. */
#include "format/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/compress.h"

#define STEP 65536

struct unwrapping {
	struct pm_input inner;
	struct pm_zstd_stream *stream;
	uint8_t *in; /* [STEP]: compressed bytes */
	size_t at, end;
	bool ended;
	bool given; /* some data of the recording was delivered */
};

static void unwrapping_close(void *ctx)
{
	struct unwrapping *u = ctx;

	if (u->inner.close)
		u->inner.close(u->inner.ctx);
	pm_zstd_stream_free(u->stream);
	free(u->in);
	free(u);
}

/* A truncated stream ends like a truncated recording, and is reported as one; if it delivered nothing, it is not an
 * empty file. */
static ssize_t unwrapping_end(const struct unwrapping *u)
{
	return u->given || pm_zstd_stream_at_end(u->stream) ? 0 : -ENODATA;
}

static ssize_t unwrapping_read(void *ctx, void *data, size_t len)
{
	struct unwrapping *u = ctx;

	while (len) {
		size_t taken = u->end - u->at, given = len;
		int err = pm_zstd_stream_read(u->stream, u->in + u->at, &taken, data, &given);

		/* Nothing can be read behind damage: the recording ends there, and is reported as cut. */
		if (err)
			return err == -EBADMSG ? unwrapping_end(u) : err;
		u->at += taken;
		if (given) {
			u->given = true;
			return (ssize_t)given;
		}
		if (u->at < u->end && taken)
			continue;
		if (u->ended)
			return unwrapping_end(u);
		ssize_t n = u->inner.read(u->inner.ctx, u->in, STEP);

		if (n < 0)
			return n;
		u->at = 0;
		u->end = (size_t)n;
		u->ended = n == 0;
		if (!n)
			return unwrapping_end(u);
	}
	return 0;
}

int pm_input_zstd(struct pm_input *in, struct pm_input *inner, const void *head, size_t head_len, struct error *e)
{
	struct unwrapping *u;

	if (!pm_zstd_looks_like(head, head_len)) {
		*in = *inner;
		return error_set(e, EINVAL, "not compressed with zstd");
	}
	u = calloc(1, sizeof(*u));
	if (u) {
		u->inner = *inner;
		u->stream = pm_zstd_stream_new();
		u->in = malloc(head_len > STEP ? head_len : STEP);
	}
	if (!u || !u->stream || !u->in) {
		if (u) {
			unwrapping_close(u);
		} else if (inner->close) {
			inner->close(inner->ctx);
		}
		return error_sys(e, ENOMEM, "zstd");
	}
	memcpy(u->in, head, head_len);
	u->end = head_len;
	*in = (struct pm_input){
		.ctx = u,
		.read = unwrapping_read,
		.close = unwrapping_close,
		.size = UINT64_MAX,
	};
	return 0;
}
