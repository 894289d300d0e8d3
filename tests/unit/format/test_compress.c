/* zstd: blocks of a declared size. */
#include "format/compress.h"
#include "tests/unit/lib/test.h"

static uint8_t text[100000];

static void fill(void)
{
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)((i * i >> 7) ^ (i % 13));
}

/* "A frame of hello\n" as the zstd program writes it (zstd --no-check of a file), so that the expectation is
 * not our own. */
static const uint8_t hello[] = {
	0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x06, 0x31, 0x00, 0x00, 'h', 'e', 'l', 'l', 'o', '\n'
};

/* A head that says less or more than the block holds. */
static void test_lying_frame(void **state)
{
	struct pm_zstd *z = pm_zstd_new();

	for (uint8_t len = 5; len < 8; len++) {
		uint8_t frame[sizeof(hello)];
		struct buf out = BUF_INIT;

		memcpy(frame, hello, sizeof(frame));
		frame[5] = len;
		assert_int_equal(pm_zstd_decompress(z, frame, sizeof(frame), len, &out), len == 6 ? 0 : -EBADMSG);
		assert_int_equal(out.len, len == 6 ? 6 : 0);
		buf_release(&out);
	}
	pm_zstd_free(z);
}

/* Of any length, below and above what the window holds beside the dictionary. */
static void test_with_dictionary(void **state)
{
	static const size_t sizes[] = { 1, 100, 65536, 65537, sizeof(text) };
	struct pm_zstd *z = pm_zstd_new();

	fill();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct buf packed = BUF_INIT, out = BUF_INIT;

		assert_int_equal(pm_zstd_compress_known(z, text, sizes[i], &packed), 0);
		assert_int_equal(pm_zstd_decompress_known(z, packed.data, packed.len, sizes[i], &out), 0);
		assert_int_equal(out.len, sizes[i]);
		assert_memory_equal(out.data, text, sizes[i]);
		buf_release(&packed);
		buf_release(&out);
	}
	pm_zstd_free(z);
}

static void test_round_trip(void **state)
{
	static const size_t sizes[] = { 0, 1, 9, 1000, sizeof(text) };
	struct pm_zstd *z = pm_zstd_new();
	struct buf packed = BUF_INIT, out = BUF_INIT;

	fill();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		buf_clear(&packed);
		buf_clear(&out);
		buf_addch(&packed, '!');
		buf_addch(&out, '!');
		assert_int_equal(pm_zstd_compress(z, text, sizes[i], 1, &packed), 0);
		assert_int_equal(pm_zstd_decompress(z, packed.data + 1, packed.len - 1, sizes[i], &out), 0);
		assert_int_equal(out.len, sizes[i] + 1);
		assert_memory_equal(out.data + 1, text, sizes[i]);
		/* Every cut, and bytes behind the frame. */
		for (size_t cut = 0; cut < packed.len - 1; cut += 1 + cut / 8)
			assert_int_equal(pm_zstd_decompress(z, packed.data + 1, cut, sizes[i], &out), -EBADMSG);
		buf_addch(&packed, '!');
		assert_int_equal(pm_zstd_decompress(z, packed.data + 1, packed.len - 1, sizes[i], &out), -EBADMSG);
	}
	buf_release(&packed);
	buf_release(&out);
	pm_zstd_free(z);
}

UNIT_TESTS(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_lying_frame),
	   cmocka_unit_test(test_with_dictionary))
