/* What counting by BPF needs of its own making: type information read and written, and programs in memory. */
#include <errno.h>
#include <linux/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/bpf/bpf_btf.h"
#include "record/bpf/bpf_call.h"
#include "record/bpf/bpf_cells.h"
#include "record/bpf/bpf_code.h"

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

static void btf_tells_where_members_are(void **state)
{
	struct buf data = BUF_INIT;
	struct btf b;

	put_btf(&data, sizeof(types), sizeof(names));
	assert_int_equal(btf_take(&b, &data), 0);
	assert_int_equal(btf_typedef(&b, "handler_t"), 5);
	assert_int_equal(btf_typedef(&b, "inner"), 0);
	assert_string_equal(btf_name(&b, 10), "outer");
	assert_string_equal(btf_name(&b, 4), "");
	assert_string_equal(btf_name(&b, 12), "");
	assert_string_equal(btf_name(&b, 0), "");
	assert_int_equal(btf_member(&b, "inner", "c"), 0);
	assert_int_equal(btf_member(&b, "inner", "a"), 8);
	assert_int_equal(btf_member(&b, "inner", "b"), 8);
	assert_int_equal(btf_member(&b, "outer", "third"), 4);
	assert_int_equal(btf_member(&b, "outer", "p"), 8);
	assert_int_equal(btf_member(&b, "outer", "fourth"), 16);
	assert_int_equal(btf_member(&b, "outer", "fifth"), -1);
	assert_int_equal(btf_member(&b, "handler_t", "number"), -1);
	btf_release(&b);
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
			btf_typedef(&b, "handler_t");
			btf_member(&b, "outer", "fourth");
			btf_name(&b, 11);
		}
		btf_release(&b);
	}
	buf_release(&whole);
}

/* A structure that is its own member would have no end. */
static void btf_may_go_round(void **state)
{
	static const uint32_t round[] = { INNER, INFO(4, 0, 1), 8, 0, 1, 0 };
	struct btf_header head = { .magic = BTF_MAGIC,
				   .version = 1,
				   .hdr_len = sizeof(head),
				   .type_len = sizeof(round),
				   .str_off = sizeof(round),
				   .str_len = sizeof(names) };
	struct buf data = BUF_INIT;
	struct btf b;

	buf_add(&data, &head, sizeof(head));
	buf_add(&data, round, sizeof(round));
	buf_add(&data, names, sizeof(names));
	assert_int_equal(btf_take(&b, &data), 0);
	assert_int_equal(btf_member(&b, "inner", "a"), -1);
	btf_release(&b);
}

/* ---- programs ---- */

static void need(int fd)
{
	if (fd == -EPERM || fd == -ENOSYS)
		skip();
	assert_true(fd >= 0);
}

static int load(struct bpf_code *c)
{
	struct error e = { 0 };
	int fd = bpf_program_load(&(struct bpf_program){ .name = "test", .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, c,
				  &e);

	if (fd < 0 && fd != -EPERM && fd != -ENOSYS)
		print_message("%s\n", e.text);
	return fd;
}

/* The kernel runs it, and what it leaves is what the same words say in C. */
static void programs_compute(void **state)
{
	struct bpf_code c = { 0 };
	struct bpf_cells cells;
	uint64_t *word;
	uint32_t skip_over, again;
	int fd = bpf_cells_init(&cells, "test", 48, 2);

	need(fd);
	word = bpf_cells_at(&cells, 1);
	word[0] = 1000;
	code_element_at(&c, cells.map, -4, 1);
	code_copy(&c, R6, R0);
	code_load(&c, R1, R6, 0);
	code_add_value(&c, R1, -1);
	code_multiply(&c, R1, 3);
	code_set(&c, R2, 7);
	code_subtract(&c, R1, R2);
	code_store(&c, R6, 8, R1);
	/* Unsigned: -1 is not less than 7. */
	code_set(&c, R3, -1);
	skip_over = code_skip_unless_less(&c, R3, R2);
	code_store_value(&c, R6, 16, 1);
	code_here(&c, skip_over);
	code_set(&c, R4, 0);
	again = c.n;
	code_load(&c, R1, R6, 24);
	code_add(&c, R1, R2);
	code_store(&c, R6, 24, R1);
	code_add_value(&c, R4, 1);
	code_again_if_below(&c, R4, 5, again);
	code_store_value32(&c, R6, 32, -2);
	code_load32(&c, R1, R6, 32);
	code_store(&c, R6, 40, R1);
	code_exit_if_equal(&c, R2, R2);
	code_store_value(&c, R6, 16, 2);
	code_exit(&c);
	fd = load(&c);
	need(fd);
	assert_int_equal(bpf_program_run(fd, 0), 0);
	assert_int_equal(word[1], (1000 - 1) * 3 - 7);
	assert_int_equal(word[2], 0);
	assert_int_equal(word[3], 5 * 7);
	assert_int_equal(word[5], 0xfffffffe);
	close(fd);
	bpf_cells_release(&cells);
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

/* What is written about a function is what is read of it. */
static void functions_have_types(void **state)
{
	int fd = btf_function("some_function");
	struct btf b;

	need(fd);
	assert_int_equal(btf_read(&b, fd), 0);
	assert_string_equal(btf_name(&b, BTF_FUNCTION), "some_function");
	btf_release(&b);
	close(fd);
	assert_int_equal(btf_function("a_name_that_is_longer_than_there_is_room_for_in_what_is_written_of_it"),
			 -ENAMETOOLONG);
}

static void sums_are_taken_over_places(void **state)
{
	struct bpf_cell cell[6] = { { 1, 10, 9 }, { 2, 20, 19 }, { 4, 40, 39 }, { 8, 80, 79 }, { 16, 160, 159 } };
	struct bpf_sum sum = { .first = &cell[1], .step = 2 * sizeof(cell[0]), .n = 2 };
	struct bpf_cell all = bpf_sum_read(&sum);

	assert_int_equal(all.value, 2 + 8);
	assert_int_equal(all.enabled, 20 + 80);
	assert_int_equal(all.running, 19 + 79);
	bpf_sum_clear(&sum);
	assert_int_equal(bpf_sum_read(&sum).enabled, 0);
	assert_int_equal(cell[2].value, 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(btf_tells_where_members_are),
		cmocka_unit_test(btf_may_be_damaged),
		cmocka_unit_test(btf_may_go_round),
		cmocka_unit_test(programs_compute),
		cmocka_unit_test(programs_may_be_refused),
		cmocka_unit_test(functions_have_types),
		cmocka_unit_test(sums_are_taken_over_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
