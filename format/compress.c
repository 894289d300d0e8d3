#include "format/compress.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "common/memory.h"

/* dictionary.bin is part of the format: it never changes, and another dictionary would get another codec number. */
/* clang-format off */
__asm__(".section .rodata\n"
	".global pm_dictionary\n"
	".global pm_dictionary_end\n"
	".balign 16\n"
	"pm_dictionary:\n"
	".incbin \"" PM_DICTIONARY "\"\n"
	"pm_dictionary_end:\n"
	".previous\n");
/* clang-format on */

#define KNOWN_LEVEL 3 /* of repetitions; above it, what SIMD finds is not what other machines find */

struct pm_zstd {
	ZSTD_CCtx *c;
	ZSTD_DCtx *d;
};

struct pm_zstd *pm_zstd_new(void)
{
	return calloc(1, sizeof(struct pm_zstd));
}

void pm_zstd_free(struct pm_zstd *z)
{
	if (z) {
		ZSTD_freeCCtx(z->c);
		ZSTD_freeDCtx(z->d);
	}
	free(z);
}

/* With a prefix that both sides know; NULL and 0: none. */
static int compress_with(struct pm_zstd *z, const void *known, size_t known_len, const void *in, size_t len,
			 int level, struct buf *out)
{
	size_t bound = ZSTD_compressBound(len), n;

	if (!z->c)
		z->c = ZSTD_createCCtx();
	if (!z->c || ZSTD_isError(bound) || buf_reserve(out, bound))
		return -ENOMEM;
	n = ZSTD_compress_usingDict(z->c, out->data + out->len, bound, len ? in : "", len, known, known_len, level);
	if (ZSTD_isError(n))
		return -ENOMEM; /* the output has room for the worst case, so nothing else can fail */
	out->len += n;
	return 0;
}

int pm_zstd_compress(struct pm_zstd *z, const void *in, size_t len, int level, struct buf *out)
{
	return compress_with(z, NULL, 0, in, len, level, out);
}

int pm_zstd_compress_known(struct pm_zstd *z, const void *in, size_t len, struct buf *out)
{
	return compress_with(z, pm_dictionary, (size_t)(pm_dictionary_end - pm_dictionary), in, len, KNOWN_LEVEL,
			     out);
}

static int decompress_with(struct pm_zstd *z, const void *known, size_t known_len, const void *in, size_t len,
			   size_t raw_len, struct buf *out)
{
	uint8_t nothing;
	size_t n;

	if (!z->d)
		z->d = memory_checked(ZSTD_createDCtx());
	/* zstd would also accept skippable frames and several frames in a row; neither is ever written. */
	if (len < 4 || memcmp(in, "\x28\xb5\x2f\xfd", 4))
		return -EBADMSG;
	if (ZSTD_getFrameContentSize(in, len) != raw_len)
		return -EBADMSG;
	if (ZSTD_findFrameCompressedSize(in, len) != len)
		return -EBADMSG;
	if (raw_len)
		memory_done(buf_reserve(out, raw_len));
	n = ZSTD_decompress_usingDict(z->d, raw_len ? out->data + out->len : &nothing, raw_len, in, len, known,
				      known_len);
	memory_done(ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation ? -ENOMEM : 0);
	if (n != raw_len)
		return -EBADMSG;
	out->len += raw_len;
	return 0;
}

int pm_zstd_decompress(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out)
{
	return decompress_with(z, NULL, 0, in, len, raw_len, out);
}

int pm_zstd_decompress_known(struct pm_zstd *z, const void *in, size_t len, size_t raw_len, struct buf *out)
{
	return decompress_with(z, pm_dictionary, (size_t)(pm_dictionary_end - pm_dictionary), in, len, raw_len, out);
}
