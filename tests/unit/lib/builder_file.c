/* The part of the builder that needs a writer. */
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/test.h"

static int sink(void *ctx, const void *data, size_t len)
{
	struct builder *b = ctx;

	buf_add(&b->file, data, len);
	return b->file.err;
}

static void close_writer(struct builder *b)
{
	pm_writer_free(b->writer);
}

void builder_write(struct builder *b, uint64_t row, uint32_t n)
{
	struct pm_writer_config config = { .sink = sink, .sink_ctx = b, .model = &b->model };

	if (!b->writer) {
		assert_int_equal(pm_writer_new(&b->writer, &config, NULL), 0);
		b->close = close_writer;
	}
	assert_int_equal(pm_writer_chunk(b->writer, builder_chunk(b, row, n, 1)), 0);
}

void builder_finish(struct builder *b)
{
	assert_int_equal(pm_writer_finish(b->writer), 0);
}

int builder_save(struct builder *b, const char *path)
{
	FILE *f = path[0] == '-' ? NULL : fopen(path, "wb");
	bool good = f && fwrite(b->file.data, 1, b->file.len, f) == b->file.len;

	if (f && fclose(f))
		good = false;
	builder_release(b);
	return good ? 0 : 2;
}
