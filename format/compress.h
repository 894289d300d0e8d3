/*
 * zstd, for blocks inside a recording and for a .zst around one. Only compress.c includes <zstd.h>.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/* Reused contexts, created on first use. Each thread needs its own. */
struct pm_zstd;
struct pm_zstd *pm_zstd_new(void); /* NULL: no memory */
void pm_zstd_free(struct pm_zstd *z);

/* Appends one zstd frame that declares its content size. `level`: 1 to 19. The input may be empty. 0 or -ENOMEM. */
int pm_zstd_compress(struct pm_zstd *z, const void *in, size_t len, int level, struct buf *out);
/* The same with the frozen dictionary (SPEC.md, "Repetition"). */
int pm_zstd_compress_known(struct pm_zstd *z, const void *in, size_t len, struct buf *out);
/* Takes now the memory that repetitions need, and gives back what other uses took. 0 or -ENOMEM. */
int pm_zstd_warm(struct pm_zstd *z);
int pm_zstd_decompress_known(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);
extern const unsigned char pm_dictionary[], pm_dictionary_end[];
/* Appends the `raw_len` bytes of the frame. The input must be one frame that declares this size; callers first
 * compare raw_len with format/limits.h, which bounds the memory. 0, or -EBADMSG or -ENOMEM with `out` unchanged. */
int pm_zstd_decompress(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);

/* A stream of one or more frames. */
#define PM_ZSTD_WINDOW_LOG 25 /* 32 MiB, the largest that zstd writes without --ultra and --long */
struct pm_zstd_stream;
struct pm_zstd_stream *pm_zstd_stream_new(void); /* NULL: no memory */
void pm_zstd_stream_free(struct pm_zstd_stream *s);
/* Reads in[0..*in_len), at most to the end of a frame, and writes out[0..*out_len); both lengths return what was
 * used. Both 0: more input is needed.
 * 0, -EBADMSG for other or damaged data, -EOVERFLOW for a window above PM_ZSTD_WINDOW_LOG, or -ENOMEM. */
int pm_zstd_stream_read(struct pm_zstd_stream *s, const void *in, size_t *in_len, void *out, size_t *out_len);
/* Whether the input so far ends with a whole frame, so that the file may end here. */
bool pm_zstd_stream_at_end(const struct pm_zstd_stream *s);
/* Whether the bytes begin a zstd frame, or a skippable one. */
bool pm_zstd_looks_like(const void *head, size_t len);
