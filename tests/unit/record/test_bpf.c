/* What counting by BPF needs of its own making: type information read and written, and programs in memory. */
/* The module itself: these are its insides. */
#include "record/perf/perf_bpf.c"
#include "tests/unit/lib/test.h"

/* ---- BTF ---- */

#define INFO(kind, flag, n) ((uint32_t)(kind) << 24 | (uint32_t)(flag) << 31 | (n))

/*
 * As a compiler would write it for
 *	typedef void *(*handler_t)(int number);
 *	struct inner { char c[3]; union { int a; long b; }; };
 *	struct outer { int first : 3, second : 5; int third; struct { struct inner *p; int fourth; }; };
 */
static const char names[] = "\0int\0long\0handler_t\0number\0inner\0c\0a\0b\0outer\0first\0second\0third\0p\0fourth";
enum {
	INT = 1,
	LONG = 5,
	HANDLER = 10,
	NUMBER = 20,
	INNER = 27,
	C = 33,
	A = 35,
	B = 37,
	OUTER = 39,
	FIRST = 45,
	SECOND = 51,
	THIRD = 58,
	P = 64,
	FOURTH = 66
};

/* clang-format off */
static const uint32_t types[] = {
	/* 1 */ INT, INFO(1, 0, 0), 4, 32,
	/* 2 */ LONG, INFO(1, 0, 0), 8, 64,
	/* 3 */ 0, INFO(2, 0, 0), 0,
	/* 4 */ 0, INFO(13, 0, 1), 3, NUMBER, 1,
	/* 5 */ HANDLER, INFO(8, 0, 0), 4,
	/* 6 */ 0, INFO(3, 0, 0), 0, 1, 1, 3,
	/* 7 */ 0, INFO(5, 0, 2), 8, A, 1, 0, B, 2, 0,
	/* 8 */ INNER, INFO(4, 0, 2), 16, C, 6, 0, 0, 7, 64,
	/* 9 */ 0, INFO(4, 0, 2), 16, P, 3, 0, FOURTH, 1, 64,
	/* 10 */ OUTER, INFO(4, 1, 4), 24, FIRST, 1, 3u << 24 | 0, SECOND, 1, 5u << 24 | 3, THIRD, 1, 32, 0, 9, 64,
	/* 11: of a kind with a fixed part, and the last */ NUMBER, INFO(14, 0, 0), 1, 0,
};
/* clang-format on */

static void put_btf(struct buf *out, size_t n_types, size_t n_names)
{
	struct btf_header head = { .magic = BTF_MAGIC,
				   .version = 1,
				   .hdr_len = sizeof(head),
				   .type_len = (uint32_t)n_types,
				   .str_off = (uint32_t)n_types,
				   .str_len = (uint32_t)n_names };

	buf_add(out, &head, sizeof(head));
	buf_add(out, types, n_types);
	buf_add(out, names, n_names);
}

/* Cut anywhere, and with every byte turned round: an answer or a refusal, and no step beyond the data. */
static void btf_may_be_damaged(void **state)
{
	struct buf whole = BUF_INIT;

	put_btf(&whole, sizeof(types), sizeof(names));
	for (size_t i = 0; i < 2 * whole.len; i++) {
		struct buf data = BUF_INIT;
		struct btf b;
		int err;

		buf_add(&data, whole.data, i < whole.len ? i : whole.len);
		if (i >= whole.len)
			((uint8_t *)data.data)[i - whole.len] ^= 0xff;
		err = btf_take(&b, &data);
		if (i < whole.len)
			assert_int_equal(err, -EINVAL);
		if (!err) {
			btf_member(&b, "outer", "fourth");
			type_of(&b, 11);
		}
		btf_release(&b);
	}
	buf_release(&whole);
}

/* ---- programs ---- */

static void need(int fd)
{
	if (fd == -EPERM || fd == -ENOSYS)
		skip();
	assert_true(fd >= 0);
}

static void programs_may_be_refused(void **state)
{
	struct bpf_code c = { 0 };
	struct error e = { 0 };
	int fd;

	/* R1 is where its arguments are, and 4096 is beyond them. */
	code_load(&c, R0, R1, 4096);
	code_exit(&c);
	fd = bpf_program_load(&(struct bpf_program){ .name = "test", .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, &c, &e);
	if (fd == -EPERM || fd == -ENOSYS)
		skip();
	assert_true(fd < 0);
	assert_non_null(strstr(e.text, "the kernel says: "));
}

/* The kernel takes what is written about a function. */
static void functions_have_types(void **state)
{
	int fd = btf_function("some_function");

	need(fd);
	close(fd);
	assert_int_equal(btf_function("a_name_that_is_longer_than_there_is_room_for_in_what_is_written_of_it"),
			 -ENAMETOOLONG);
}

UNIT_TESTS(cmocka_unit_test(btf_may_be_damaged), cmocka_unit_test(programs_may_be_refused),
	   cmocka_unit_test(functions_have_types))
