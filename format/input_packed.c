/* A recording that was compressed as a whole: a stream, whatever the input is. */
#include "format/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/compress.h"

#define STEP 65536

struct unpacking {
	struct pm_input inner;
	struct pm_unpacker how;
	uint8_t *in; /* [STEP]: compressed bytes */
	size_t at, end;
	size_t member;   /* where the current member begins, as far as it is in `in` */
	bool inside;     /* a member */
	bool given;      /* some of its data was delivered ... */
	bool any, whole; /* or of any one; there was a whole one */
	bool raw;        /* what is left is not compressed, or damaged, and handed over for the reader to report */
	bool ended;      /* the input has */
};

static void unpacking_close(void *ctx)
{
	struct unpacking *u = ctx;

	if (u->inner.close)
		u->inner.close(u->inner.ctx);
	if (u->how.stream)
		u->how.free(u->how.stream);
	free(u->in);
	free(u);
}

/* Unpacks a piece: the bytes given, 0 if that needs more input, or -errno. */
static ssize_t unpack(struct unpacking *u, void *data, size_t len)
{
	size_t taken, given;

	do {
		bool ended = false;
		int err;

		/* Zeros after a member fill up a block of a tape or a disk. */
		while (u->whole && !u->inside && u->at < u->end && !u->in[u->at])
			u->at++;
		if (!u->inside)
			u->member = u->at;
		taken = u->end - u->at;
		given = len;
		err = u->how.read(u->how.stream, u->in + u->at, &taken, data, &given, &ended);
		if (err)
			return err;
		u->at += taken;
		u->inside = !ended && (u->inside || taken);
		u->given = !ended && (u->given || given);
		u->whole |= ended && taken;
		u->any |= given > 0;
	} while (!given && u->at < u->end);
	return (ssize_t)given;
}

static ssize_t hand_over(struct unpacking *u, void *data, size_t len)
{
	size_t n = u->end - u->at < len ? u->end - u->at : len;

	memcpy(data, u->in + u->at, n);
	u->at += n;
	return (ssize_t)n;
}

/* A stream that is cut ends like a recording that is cut, and is reported as one. */
static ssize_t unpacking_read(void *ctx, void *data, size_t len)
{
	struct unpacking *u = ctx;

	while (len) {
		ssize_t n = u->raw ? hand_over(u, data, len) : unpack(u, data, len);

		if (n > 0 || (n && n != -EBADMSG))
			return n;
		if (!n && !u->ended) {
			if ((n = u->inner.read(u->inner.ctx, u->in, STEP)) < 0)
				return n;
			u->ended = !n;
			if (n) {
				u->at = u->member = 0;
				u->end = (size_t)n;
				continue;
			}
		}
		if (!u->any && !u->whole)
			return -ENODATA;
		if (u->raw || (!n && (!u->inside || u->given)))
			return 0;
		/* If nothing came of the member, it is handed over from its beginning. */
		u->at = u->given ? u->at : u->member;
		u->raw = true;
	}
	return 0;
}

int pm_input_unpack(struct pm_input *in, struct pm_input *inner, const struct pm_unpacker *how, const void *head,
		    size_t head_len, struct error *e)
{
	struct unpacking *u = calloc(1, sizeof(*u));
	uint8_t *bytes = malloc(head_len > STEP ? head_len : STEP);

	if (!u || !bytes || !how->stream) {
		if (inner->close)
			inner->close(inner->ctx);
		if (how->stream)
			how->free(how->stream);
		free(bytes);
		free(u);
		return error_set(e, ENOMEM, "out of memory");
	}
	*u = (struct unpacking){ .inner = *inner, .how = *how, .in = bytes, .end = head_len };
	if (head_len)
		memcpy(u->in, head, head_len);
	*in = (struct pm_input){ .ctx = u, .read = unpacking_read, .close = unpacking_close, .size = UINT64_MAX };
	return 0;
}

static int zstd_read(void *stream, const void *in, size_t *in_len, void *out, size_t *out_len, bool *ended)
{
	int err = pm_zstd_stream_read(stream, in, in_len, out, out_len);

	*ended = pm_zstd_stream_at_end(stream);
	return err;
}

static void zstd_free(void *stream)
{
	pm_zstd_stream_free(stream);
}

int pm_input_zstd(struct pm_input *in, struct pm_input *inner, const void *head, size_t head_len, struct error *e)
{
	struct pm_unpacker how = { .read = zstd_read, .free = zstd_free };

	if (!pm_zstd_looks_like(head, head_len)) {
		*in = *inner;
		return error_set(e, EINVAL, "not compressed with zstd");
	}
	how.stream = pm_zstd_stream_new();
	return pm_input_unpack(in, inner, &how, head, head_len, e);
}
