/* zstd: blocks of a declared size, and streams that are cut or damaged; and what is made of packed inputs. */
#include "format/compress.h"
#include "format/reader.h"
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

/* Reads `in` in pieces of `step` bytes into pieces of `room`; the result of the last call. */
static int stream_all(const struct buf *in, size_t step, size_t room, struct buf *out, bool *at_end)
{
	struct pm_zstd_stream *s = pm_zstd_stream_new();
	size_t pos = 0, idle = 0;
	uint8_t *piece = malloc(room);
	int err = 0;

	assert_non_null(s);
	assert_non_null(piece);
	while (!err && idle < 40) { /* many calls without input must do no harm */
		size_t n = in->len - pos < step ? in->len - pos : step, got = room;

		err = pm_zstd_stream_read(s, in->data + pos, &n, piece, &got);
		pos += n;
		buf_add(out, piece, got);
		idle = n || got ? 0 : idle + 1;
	}
	*at_end = pm_zstd_stream_at_end(s);
	pm_zstd_stream_free(s);
	free(piece);
	return err;
}

static void test_stream(void **state)
{
	struct pm_zstd *z = pm_zstd_new();
	struct buf in = BUF_INIT, out = BUF_INIT;
	bool at_end;

	fill();
	assert_int_equal(pm_zstd_compress(z, text, 60000, 3, &in), 0);
	assert_int_equal(pm_zstd_compress(z, text + 60000, 40000, 1, &in), 0);
	for (size_t step = 1; step < 100000; step = step * 7 + 3) {
		for (size_t room = 1; room < 200000; room = room * 31 + 5) {
			buf_clear(&out);
			assert_int_equal(stream_all(&in, step, room, &out, &at_end), 0);
			assert_true(at_end);
			assert_int_equal(out.len, sizeof(text));
			assert_memory_equal(out.data, text, sizeof(text));
		}
	}
	in.len -= 5;
	buf_clear(&out);
	assert_int_equal(stream_all(&in, 4096, 4096, &out, &at_end), 0);
	assert_false(at_end);
	assert_memory_equal(out.data, text, out.len);
	buf_add(&in, "??????????", 10);
	in.data[0] ^= 1;
	buf_clear(&out);
	assert_int_equal(stream_all(&in, 4096, 4096, &out, &at_end), -EBADMSG);
	assert_int_equal(out.len, 0);
	buf_release(&in);
	buf_release(&out);
	pm_zstd_free(z);
}

static void test_stream_window(void **state)
{
	for (uint8_t log = PM_ZSTD_WINDOW_LOG; log <= 31; log++) {
		/* The head of a frame that asks for a window of 2^log bytes, and a last block with nothing in it. */
		const uint8_t frame[] = {
			0x28, 0xb5, 0x2f, 0xfd, 0x00, (uint8_t)((log - 10) << 3), 0x01, 0x00, 0x00
		};
		int err = log > PM_ZSTD_WINDOW_LOG ? -EOVERFLOW : 0;
		struct pm_zstd_stream *s = pm_zstd_stream_new();
		size_t n = sizeof(frame), got = 16;
		uint8_t piece[16];

		assert_int_equal(pm_zstd_stream_read(s, frame, &n, piece, &got), err);
		/* And so does what follows. */
		n = sizeof(hello);
		got = 16;
		assert_int_equal(pm_zstd_stream_read(s, hello, &n, piece, &got), err);
		assert_int_equal(n, err ? 0 : sizeof(hello));
		assert_int_equal(got, err ? 0 : 6);
		pm_zstd_stream_free(s);
	}
}

/* ---- packed inputs ---- */

/* A packing of one letter for a letter: "<ab>" is a member, '?' gives nothing, '!' is damage, '*' is short of memory. */
struct toy {
	const char *file;
	size_t len, at, step; /* bytes that a read gives at most */
	int fails;            /* -errno at the end */
	bool inside;
	unsigned closed, freed;
};

static ssize_t toy_file(void *ctx, void *data, size_t len)
{
	struct toy *t = ctx;
	size_t n = t->len - t->at;

	n = n < t->step ? n : t->step;
	n = n < len ? n : len;
	memcpy(data, t->file + t->at, n);
	t->at += n;
	return n ? (ssize_t)n : t->fails;
}

static void toy_close(void *ctx)
{
	((struct toy *)ctx)->closed++;
}

static int toy_read(void *stream, const void *in, size_t *in_len, void *out, size_t *out_len, bool *ended)
{
	struct toy *t = stream;
	size_t taken = 0, given = 0;
	int err = 0;

	for (; taken < *in_len && given < *out_len && !*ended && !err; taken++) {
		char c = ((const char *)in)[taken];

		if (c == '*')
			err = -ENOMEM;
		else if (c == '!' || (c == '<') == t->inside)
			err = -EBADMSG;
		else if (c != '<' && c != '>' && c != '?')
			((char *)out)[given++] = c;
		t->inside = err ? t->inside : c != '>';
		*ended = c == '>';
	}
	/* What came before the damage is given, and the damage is met again. */
	taken -= err != 0;
	*in_len = taken;
	*out_len = given;
	return given ? 0 : err;
}

static void toy_free(void *stream)
{
	((struct toy *)stream)->freed++;
}

static void an_input_without_its_unpacker_is_closed(void **state)
{
	struct toy t = { 0 };
	struct pm_input in, inner = { .ctx = &t, .read = toy_file, .close = toy_close };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(pm_input_unpack(&in, &inner, &(struct pm_unpacker){ NULL, toy_read, toy_free }, "", 0, &e),
			 -ENOMEM);
	assert_string_equal(e.text, "out of memory");
	assert_int_equal(t.closed, 1);
	assert_int_equal(t.freed, 0);
	assert_int_equal(pm_input_zstd(&in, &inner, "none", 4, &e), -EINVAL);
	assert_int_equal(t.closed, 1);
	assert_ptr_equal(in.ctx, &t);
}

UNIT_TESTS(cmocka_unit_test(test_round_trip), cmocka_unit_test(test_stream), cmocka_unit_test(test_stream_window),
	   cmocka_unit_test(test_lying_frame), cmocka_unit_test(test_with_dictionary),
	   cmocka_unit_test(an_input_without_its_unpacker_is_closed))
