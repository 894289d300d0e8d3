/*
 * A BPF program to be counted, by system calls of its own: it fires the tracepoint bpf_trace:bpf_trace_printk once,
 * computes for a while, and adds up how long that took and how often it was done.
 *
 *     bpfwork load [plain]   loads it and prints its id; "plain": without BTF. Ends at the end of its input.
 *     bpfwork run ID TIMES   runs it that often on one CPU, and prints how often and how long it ran, in ns: what
 *                            happened between two looks at the clock within the program.
 *     bpfwork refuse ERRNO COMMAND...   runs a command for which bpf(2) fails with this error: without BPF in the kernel it
 *                            does with ENOSYS, under the filter of a container with EPERM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int call(int command, union bpf_attr *a)
{
	long result = syscall(SYS_bpf, command, a, sizeof(*a));

	if (result < 0) {
		fprintf(stderr, "bpfwork: bpf(%d): %s\n", command, strerror(errno));
		exit(errno == EPERM || errno == ENOSYS ? 77 : 1);
	}
	return (int)result;
}

static int load_btf(void)
{
	static const struct {
		struct btf_header head;
		struct btf_type integer;
		uint32_t bits;
		struct btf_type pointer, prototype;
		struct btf_param context;
		struct btf_type function;
		char names[20];
	} b = {
		.head = { .magic = BTF_MAGIC,
			  .version = 1,
			  .hdr_len = sizeof(b.head),
			  .type_len = 60,
			  .str_off = 60,
			  .str_len = sizeof(b.names) },
		.integer = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.bits = 32,
		.pointer = { .info = BTF_KIND_PTR << 24 },
		.prototype = { .info = BTF_KIND_FUNC_PROTO << 24 | 1, .type = 1 },
		.context = { .name_off = 5, .type = 2 },
		.function = { .name_off = 9, .info = BTF_KIND_FUNC << 24, .type = 3 },
		.names = "\0int\0ctx\0busy_work",
	};
	union bpf_attr a = { 0 };

	a.btf = (uintptr_t)&b;
	a.btf_size = sizeof(b);
	return call(BPF_BTF_LOAD, &a);
}

static int load(int times, int with_btf)
{
	/* "x\0" as a format, at the end of the stack. */
	struct bpf_insn code[] = {
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 0 },
		{ .code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = 10, .off = -8, .imm = 'x' },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -8 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 2 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_trace_printk },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 7, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 7, .imm = 1 },
		{ .code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = 7, .off = -2, .imm = 2000 },
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4, .imm = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -4 },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = times },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_map_lookup_elem },
		{ .code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 9 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 8, .src_reg = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_ktime_get_ns },
		{ .code = BPF_ALU64 | BPF_SUB | BPF_X, .dst_reg = 0, .src_reg = 6 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 8, .off = 8 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_X, .dst_reg = 1, .src_reg = 0 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 8, .src_reg = 1, .off = 8 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 1, .src_reg = 8, .off = 0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = 8, .src_reg = 1, .off = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct bpf_func_info function = { .type_id = 4 };
	union bpf_attr a = { 0 };

	a.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	a.insns = (uintptr_t)code;
	a.insn_cnt = sizeof(code) / sizeof(code[0]);
	a.license = (uintptr_t) "Dual MIT/GPL";
	strcpy(a.prog_name, "busy_work");
	if (with_btf) {
		a.prog_btf_fd = (uint32_t)load_btf();
		a.func_info = (uintptr_t)&function;
		a.func_info_rec_size = sizeof(function);
		a.func_info_cnt = 1;
	}
	return call(BPF_PROG_LOAD, &a);
}

static int make_times(void)
{
	union bpf_attr a = { 0 };

	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = 4;
	a.value_size = 16;
	a.max_entries = 1;
	return call(BPF_MAP_CREATE, &a);
}

static struct bpf_prog_info info_of(int program, uint32_t *map_id)
{
	struct bpf_prog_info info = { .map_ids = (uintptr_t)map_id, .nr_map_ids = 1 };
	union bpf_attr a = { 0 };

	a.info.bpf_fd = (uint32_t)program;
	a.info.info = (uintptr_t)&info;
	a.info.info_len = sizeof(info);
	call(BPF_OBJ_GET_INFO_BY_FD, &a);
	return info;
}

static int by_id(int command, uint32_t id)
{
	union bpf_attr a = { 0 };

	a.prog_id = id;
	return call(command, &a);
}

static void look(int map, uint64_t times[2])
{
	union bpf_attr a = { 0 };
	uint32_t key = 0;

	a.map_fd = (uint32_t)map;
	a.key = (uintptr_t)&key;
	a.value = (uintptr_t)times;
	call(BPF_MAP_LOOKUP_ELEM, &a);
}

static int refuse(unsigned err, char **command)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		execvp(command[0], command);
	perror("bpfwork");
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t before[2], after[2];
	uint32_t map_id;
	cpu_set_t one;
	int program, map;

	if (argc >= 2 && !strcmp(argv[1], "load")) {
		program = load(make_times(), argc == 2);
		printf("%u\n", info_of(program, &map_id).id);
		fflush(stdout);
		while (getchar() != EOF)
			;
		return 0;
	}
	if (argc >= 4 && !strcmp(argv[1], "refuse"))
		return refuse((unsigned)atoi(argv[2]), &argv[3]);
	if (argc != 4 || strcmp(argv[1], "run"))
		return 2;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	program = by_id(BPF_PROG_GET_FD_BY_ID, (uint32_t)atoi(argv[2]));
	info_of(program, &map_id);
	map = by_id(BPF_MAP_GET_FD_BY_ID, map_id);
	look(map, before);
	for (long n = atol(argv[3]); n > 0; n--) {
		union bpf_attr a = { 0 };

		a.test.prog_fd = (uint32_t)program;
		call(BPF_PROG_TEST_RUN, &a);
	}
	look(map, after);
	printf("%llu %llu\n", (unsigned long long)(after[0] - before[0]), (unsigned long long)(after[1] - before[1]));
	return 0;
}
