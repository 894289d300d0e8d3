/* CRC-32C: published values, and instruction and tables agree. */
#include "format/crc32c.h"
#include "tests/unit/lib/test.h"

/* Straight from the definition of the polynomial. */
static uint32_t bit_by_bit(const uint8_t *p, size_t len)
{
	uint32_t crc = ~0u;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

/* Check values of RFC 3720, B.4, and the usual "123456789". */
static void published_values(void **state)
{
	uint8_t block[32];

	assert_int_equal(crc32c("123456789", 9), 0xe3069283);
	assert_int_equal(crc32c("", 0), 0);
	memset(block, 0, sizeof(block));
	assert_int_equal(crc32c(block, 32), 0x8a9136aa);
	memset(block, 0xff, sizeof(block));
	assert_int_equal(crc32c(block, 32), 0x62a8ab43);
	for (int i = 0; i < 32; i++)
		block[i] = (uint8_t)i;
	assert_int_equal(crc32c(block, 32), 0x46dd794e);
}

static void all_ways_agree(void **state)
{
	uint8_t data[300];
	uint32_t seed = 1;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
	for (size_t from = 0; from < 9; from++) {
		for (size_t len = 0; len + from <= sizeof(data); len++) {
			uint32_t want = bit_by_bit(data + from, len);

			assert_int_equal(crc32c(data + from, len), want);
			assert_int_equal(crc32c_portable(data + from, len), want);
		}
	}
}

UNIT_TESTS(cmocka_unit_test(published_values), cmocka_unit_test(all_ways_agree))
