/*
 * zstd, for blocks inside a recording. Only compress.c includes <zstd.h>.
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
int pm_zstd_decompress_known(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);
extern const unsigned char pm_dictionary[], pm_dictionary_end[];
/* Appends the `raw_len` bytes of the frame. The input must be one frame that declares this size; callers first
 * compare raw_len with format/limits.h, which bounds the memory. 0, or -EBADMSG with `out` unchanged; without
 * memory the program ends. */
int pm_zstd_decompress(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out);
