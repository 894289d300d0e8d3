#include "format/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define PM_HWCAP_CRC32 (1ul << 7) /* older C libraries lack the name */
#endif

/* For machines without the instruction: CRC-32C of half a byte; polynomial 0x82f63b78 (reflected), no pre- or
 * post-inversion. A test computes it again bit by bit. */
static const uint32_t table[16] = {
	0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
	0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

#if defined(__x86_64__)
static int have_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t wide = crc, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, sizeof(word));
		wide = _mm_crc32_u64(wide, word);
	}
	crc = (uint32_t)wide;
	while (len--)
		crc = _mm_crc32_u8(crc, *p++);
	return crc;
}
#elif defined(__aarch64__) && defined(__linux__)
static int have_instruction(void)
{
	return (getauxval(AT_HWCAP) & PM_HWCAP_CRC32) != 0;
}

#ifdef __clang__
__attribute__((target("crc")))
#else
__attribute__((target("+crc")))
#endif
static uint32_t
by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, sizeof(word));
#ifdef __AARCH64EB__
		word = __builtin_bswap64(word);
#endif
		crc = __crc32cd(crc, word);
	}
	while (len--)
		crc = __crc32cb(crc, *p++);
	return crc;
}
#else
static int have_instruction(void)
{
	return 0;
}

static uint32_t by_instruction(uint32_t crc, const uint8_t *p, size_t len)
{
	return by_table(crc, p, len);
}
#endif

uint32_t crc32c(const void *data, size_t len)
{
	return ~(have_instruction() ? by_instruction(~0u, data, len) : by_table(~0u, data, len));
}

uint32_t crc32c_portable(const void *data, size_t len)
{
	return ~by_table(~0u, data, len);
}
