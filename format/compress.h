/*
 * zstd, for blocks inside a recording and for a .zst around one. The only file that knows the library is
 * compress.c.
 */
#ifndef FORMAT_COMPRESS_H
#define FORMAT_COMPRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/* One-shot contexts, made on first use and reused; one a thread. */
struct pm_zstd;
struct pm_zstd *pm_zstd_new(void); /* NULL: no memory */
void pm_zstd_free(struct pm_zstd *z);

/* Appends one zstd frame that declares its content size. `level`: zstd's own, 1 to 19. 0, -ENOMEM. An empty input is
 * allowed. */
int pm_zstd_compress(struct pm_zstd *z, const void *in, size_t len, int level, struct buf *out);
/* Likewise, both with the frozen dictionary (SPEC.md, "Repetition"). */
int pm_zstd_compress_known(struct pm_zstd *z, const void *in, size_t len, struct buf *out);
int pm_zstd_decompress_known(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);
/* With bytes that both sides know; NULL and 0: none. */
int pm_zstd_compress_with(struct pm_zstd *z, const void *known, size_t known_len, const void *in, size_t len,
			  int level, struct buf *out);
int pm_zstd_decompress_with(struct pm_zstd *z, const void *known, size_t known_len, const void *in, size_t len,
			    size_t raw_len, struct buf *out);
extern const unsigned char pm_dictionary[], pm_dictionary_end[];
/* Appends the `raw_len` bytes that the frame holds. The input must be exactly one frame that declares exactly
 * this size, which is what bounds the memory: the caller compares raw_len with format/limits.h. 0, -EBADMSG,
 * -ENOMEM. On failure `out` keeps its length. */
int pm_zstd_decompress(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);

/* A stream of any length, of one or more frames. */
#define PM_ZSTD_WINDOW_LOG 25 /* 32 MiB: all that zstd writes without --ultra and --long */
struct pm_zstd_stream;
struct pm_zstd_stream *pm_zstd_stream_new(void); /* NULL: no memory */
void pm_zstd_stream_free(struct pm_zstd_stream *s);
/* Takes from in[0..*in_len) and fills out[0..*out_len); on return both say how much was used. Both 0: give
 * more input. 0, -EBADMSG (not zstd, or damaged), -EFBIG (needs a window above PM_ZSTD_WINDOW_LOG), -ENOMEM.
 */
int pm_zstd_stream_read(struct pm_zstd_stream *s, const void *in, size_t *in_len, void *out, size_t *out_len);
/* The input so far ends where a frame ends: an end of file here is no cut. */
bool pm_zstd_stream_at_end(const struct pm_zstd_stream *s);
/* The bytes are the start of a zstd frame (skippable ones included). */
bool pm_zstd_looks_like(const void *head, size_t len);

#endif
