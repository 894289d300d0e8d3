#include "report/input/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/memory.h"

/* ---- reading ---- */

#define STEP 65536

struct unpacking {
	struct pm_input inner;
	z_stream z;
	uint8_t in[STEP]; /* compressed bytes */
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
	inflateEnd(&u->z);
	free(u);
}

/* Reads in[0..*in_len), at most to the end of a member (*ended), and writes out[0..*out_len); both lengths return
 * what was used. 0 or -errno. */
static int inflate_some(z_stream *z, const void *in, size_t *in_len, void *out, size_t *out_len, bool *ended)
{
	uInt room = *out_len > (64u << 20) ? 64u << 20 : (uInt)*out_len;
	int r;

	z->next_in = (uint8_t *)(uintptr_t)in;
	z->avail_in = (uInt)*in_len;
	z->next_out = out;
	z->avail_out = room;
	r = inflate(z, Z_NO_FLUSH);
	*in_len -= z->avail_in;
	*out_len = room - z->avail_out;
	*ended = r == Z_STREAM_END;
	if (*ended)
		r = inflateReset(z);
	return r == Z_MEM_ERROR ? -ENOMEM : r == Z_OK || r == Z_BUF_ERROR || *out_len ? 0 : -EBADMSG;
}

/* Unpacks a piece: the bytes given, 0 if that needs more input, or -errno. */
static ssize_t unpack_members(struct unpacking *u, void *data, size_t len)
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
		err = inflate_some(&u->z, u->in + u->at, &taken, data, &given, &ended);
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
		ssize_t n = u->raw ? hand_over(u, data, len) : unpack_members(u, data, len);

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

void input_gzip(struct pm_input *in, struct pm_input *inner)
{
	struct unpacking *u = memory_new(1, sizeof(*u));

	if (inflateInit2(&u->z, 15 + 16) != Z_OK)
		memory_ends(ENOMEM);
	u->inner = *inner;
	*in = (struct pm_input){ .ctx = u, .read = unpacking_read, .close = unpacking_close, .size = UINT64_MAX };
}

/* ---- writing ---- */

struct gzip_writer {
	pm_sink_fn sink;
	void *sink_ctx;
	z_stream z;
	uint64_t taken; /* what went in */
	uint8_t out[64 << 10];
};

/* Definitions are small, come first, and still shrink a little. Blocks of numbers are compressed already: trying
 * again takes longer than reading them, and gains nothing. */
#define DEFLATED_FIRST (1u << 20)

struct gzip_writer *gzip_writer_new(pm_sink_fn sink, void *sink_ctx)
{
	struct gzip_writer *g = memory_new(1, sizeof(*g));

	if (deflateInit2(&g->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		memory_ends(ENOMEM);
	g->sink = sink;
	g->sink_ctx = sink_ctx;
	return g;
}

static int hand_out(struct gzip_writer *g)
{
	size_t n = sizeof(g->out) - g->z.avail_out;

	return n ? g->sink(g->sink_ctx, g->out, n) : 0;
}

static int deflate_all(struct gzip_writer *g, int flush)
{
	int err = 0;

	do {
		g->z.next_out = g->out;
		g->z.avail_out = sizeof(g->out);
		(void)deflate(&g->z, flush);
		err = hand_out(g);
	} while (!err && !g->z.avail_out);
	return err;
}

/* Stops deflating. zlib first writes out what it holds. */
static int only_wrap(struct gzip_writer *g)
{
	int r, err;

	do {
		g->z.next_out = g->out;
		g->z.avail_out = sizeof(g->out);
		r = deflateParams(&g->z, 0, Z_DEFAULT_STRATEGY);
		err = hand_out(g);
	} while (!err && r == Z_BUF_ERROR && !g->z.avail_out);
	return err;
}

int gzip_write(void *ctx, const void *data, size_t len)
{
	struct gzip_writer *g = ctx;
	const uint8_t *at = data;
	int err = 0;

	while (len && !err) {
		size_t n = len < 1u << 30 ? len : 1u << 30;

		g->z.next_in = (uint8_t *)(uintptr_t)at;
		g->z.avail_in = (uInt)n;
		err = deflate_all(g, Z_NO_FLUSH);
		at += n;
		len -= n;
		if (!err && g->taken < DEFLATED_FIRST && g->taken + n >= DEFLATED_FIRST)
			err = only_wrap(g);
		g->taken += n;
	}
	return err;
}

int gzip_finish(struct gzip_writer *g)
{
	g->z.next_in = NULL;
	g->z.avail_in = 0;
	return deflate_all(g, Z_FINISH);
}

void gzip_writer_free(struct gzip_writer *g)
{
	if (!g)
		return;
	deflateEnd(&g->z);
	free(g);
}
