#include "report/input/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

/* ---- reading ---- */

struct gzip {
	struct pm_input inner;
	z_stream z;
	bool ended; /* the input, or its believable part, has ended */
	bool given; /* some data of the recording was delivered */
	bool whole; /* there was a complete member */
	uint8_t in[64 << 10];
};

static ssize_t gzip_fill(struct gzip *g)
{
	ssize_t n;

	do {
		n = g->inner.read(g->inner.ctx, g->in, sizeof(g->in));
	} while (n == -EINTR);
	if (n > 0) {
		g->z.next_in = g->in;
		g->z.avail_in = (uInt)n;
	}
	return n;
}

static ssize_t gzip_read(void *ctx, void *data, size_t len)
{
	struct gzip *g = ctx;

	g->z.next_out = data;
	g->z.avail_out = len > (64u << 20) ? 64u << 20 : (uInt)len;
	len = g->z.avail_out;
	while (!g->ended && g->z.avail_out == len) {
		int r;

		if (!g->z.avail_in) {
			ssize_t n = gzip_fill(g);

			if (n < 0)
				return n;
			if (!n) {
				g->ended = true;
				break;
			}
		}
		r = inflate(&g->z, Z_NO_FLUSH);
		/* gzip files may be concatenated; anything else that follows is padding. */
		if (r == Z_STREAM_END) {
			g->whole = true;
			r = inflateReset(&g->z);
		}
		if (r == Z_MEM_ERROR)
			return -ENOMEM;
		/* The recording has its own checksums, and reports what the damage cost. */
		if (r != Z_OK && r != Z_BUF_ERROR)
			g->ended = true;
	}
	len -= g->z.avail_out;
	g->given |= len > 0;
	return len || g->given || g->whole ? (ssize_t)len : -ENODATA;
}

static void gzip_close(void *ctx)
{
	struct gzip *g = ctx;

	inflateEnd(&g->z);
	if (g->inner.close)
		g->inner.close(g->inner.ctx);
	free(g);
}

int input_gzip(struct pm_input *in, struct pm_input *inner, struct error *e)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g || inflateInit2(&g->z, 15 + 16) != Z_OK) {
		free(g);
		if (inner->close)
			inner->close(inner->ctx);
		return error_set(e, ENOMEM, "out of memory");
	}
	g->inner = *inner;
	*in = (struct pm_input){ .ctx = g, .read = gzip_read, .close = gzip_close, .size = UINT64_MAX };
	return 0;
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

int gzip_writer_new(struct gzip_writer **out, pm_sink_fn sink, void *sink_ctx, struct error *e)
{
	struct gzip_writer *g = calloc(1, sizeof(*g));

	if (!g || deflateInit2(&g->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return error_sys(e, ENOMEM, "gzip");
	}
	g->sink = sink;
	g->sink_ctx = sink_ctx;
	*out = g;
	return 0;
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
