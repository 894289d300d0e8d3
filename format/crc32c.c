#include "format/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define PM_HWCAP_CRC32 (1ul << 7) /* older C libraries lack the name */
#endif

#include "format/crc32c_table.h"

static uint32_t by_table(uint32_t crc, const uint8_t *p, size_t len)
{
	for (; len >= 8; p += 8, len -= 8)
		crc = table[7][(crc ^ p[0]) & 255] ^ table[6][(crc >> 8 ^ p[1]) & 255] ^
		      table[5][(crc >> 16 ^ p[2]) & 255] ^ table[4][(crc >> 24 ^ p[3]) & 255] ^ table[3][p[4]] ^
		      table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
	while (len--)
		crc = crc >> 8 ^ table[0][(crc ^ *p++) & 255];
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
