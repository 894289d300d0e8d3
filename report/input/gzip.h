/* gzip around a recording, as for bundles. Only gzip.c includes <zlib.h>. */
#pragma once

#include "format/reader.h"
#include "format/writer.h"

/* Unpacks a stream around a whole recording; takes ownership of *inner. What is cut ends like a cut recording; what
 * is damaged, or follows and is neither a member nor zeros, comes as it is, so that the reader reports it. Reading
 * fails with -ENODATA if nothing could be unpacked. */
void input_gzip(struct pm_input *in, struct pm_input *inner);

struct gzip_writer;
/* Wraps what is written with gzip_write(), a pm_sink_fn, and hands it to `sink`. */
struct gzip_writer *gzip_writer_new(pm_sink_fn sink, void *sink_ctx);
int gzip_write(void *g, const void *data, size_t len);
/* Writes the rest; nothing may follow. 0 or what the sink returned. */
int gzip_finish(struct gzip_writer *g);
void gzip_writer_free(struct gzip_writer *g);
