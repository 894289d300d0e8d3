#include "report/input/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "report/input/memory.h"

/* ---- reading ---- */

static int gzip_read(void *stream, const void *in, size_t *in_len, void *out, size_t *out_len, bool *ended)
{
	z_stream *z = stream;
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

static void gzip_free(void *stream)
{
	inflateEnd(stream);
	free(stream);
}

int input_gzip(struct pm_input *in, struct pm_input *inner, struct error *e)
{
	struct pm_unpacker how = { memory_new(1, sizeof(z_stream)), gzip_read, gzip_free };

	if (inflateInit2((z_stream *)how.stream, 15 + 16) != Z_OK)
		memory_ends();
	return pm_input_unpack(in, inner, &how, NULL, 0, e);
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
		memory_ends();
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
