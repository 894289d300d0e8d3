#include "record/bpf/bpf_code.h"

#include <stdlib.h>

#include "common/array.h"

void code_release(struct bpf_code *c)
{
	free(c->insn);
	*c = (struct bpf_code){ 0 };
}

static void append(struct bpf_code *c, uint8_t code, int to, int from, int16_t offset, int32_t value)
{
	if (array_room(&c->insn, c->n, sizeof(*c->insn))) {
		c->failed = true;
		return;
	}
	c->insn[c->n++] = (struct bpf_insn){
		.code = code, .dst_reg = to & 15, .src_reg = from & 15, .off = offset, .imm = value
	};
}

/* ---- single instructions ---- */

void code_set(struct bpf_code *c, int to, int32_t value)
{
	append(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void code_copy(struct bpf_code *c, int to, int from)
{
	append(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void code_add(struct bpf_code *c, int to, int from)
{
	append(c, BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0);
}

void code_add_value(struct bpf_code *c, int to, int32_t value)
{
	append(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value);
}

void code_subtract(struct bpf_code *c, int to, int from)
{
	append(c, BPF_ALU64 | BPF_SUB | BPF_X, to, from, 0, 0);
}

void code_multiply(struct bpf_code *c, int to, int32_t value)
{
	append(c, BPF_ALU64 | BPF_MUL | BPF_K, to, 0, 0, value);
}

void code_load(struct bpf_code *c, int to, int base, int16_t offset)
{
	append(c, BPF_LDX | BPF_MEM | BPF_DW, to, base, offset, 0);
}

void code_load32(struct bpf_code *c, int to, int base, int16_t offset)
{
	append(c, BPF_LDX | BPF_MEM | BPF_W, to, base, offset, 0);
}

void code_store(struct bpf_code *c, int base, int16_t offset, int from)
{
	append(c, BPF_STX | BPF_MEM | BPF_DW, base, from, offset, 0);
}

void code_store32(struct bpf_code *c, int base, int16_t offset, int from)
{
	append(c, BPF_STX | BPF_MEM | BPF_W, base, from, offset, 0);
}

void code_store_value(struct bpf_code *c, int base, int16_t offset, int32_t value)
{
	append(c, BPF_ST | BPF_MEM | BPF_DW, base, 0, offset, value);
}

void code_store_value32(struct bpf_code *c, int base, int16_t offset, int32_t value)
{
	append(c, BPF_ST | BPF_MEM | BPF_W, base, 0, offset, value);
}

void code_map(struct bpf_code *c, int to, int map)
{
	append(c, BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map);
	append(c, 0, 0, 0, 0, 0);
}

void code_call(struct bpf_code *c, enum bpf_func_id function)
{
	append(c, BPF_JMP | BPF_CALL, 0, 0, 0, (int32_t)function);
}

/* ---- the end, and the ways there ---- */

enum { EXIT_LENGTH = 2 };

void code_exit(struct bpf_code *c)
{
	code_set(c, R0, 0);
	append(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void code_exit_if_zero(struct bpf_code *c, int reg)
{
	append(c, BPF_JMP | BPF_JNE | BPF_K, reg, 0, EXIT_LENGTH, 0);
	code_exit(c);
}

void code_exit_unless_zero(struct bpf_code *c, int reg)
{
	append(c, BPF_JMP | BPF_JEQ | BPF_K, reg, 0, EXIT_LENGTH, 0);
	code_exit(c);
}

void code_exit_unless_equal(struct bpf_code *c, int a, int b)
{
	append(c, BPF_JMP | BPF_JEQ | BPF_X, a, b, EXIT_LENGTH, 0);
	code_exit(c);
}

void code_exit_if_equal(struct bpf_code *c, int a, int b)
{
	append(c, BPF_JMP | BPF_JNE | BPF_X, a, b, EXIT_LENGTH, 0);
	code_exit(c);
}

uint32_t code_skip_if_zero(struct bpf_code *c, int reg)
{
	append(c, BPF_JMP | BPF_JEQ | BPF_K, reg, 0, 0, 0);
	return c->n - 1;
}

uint32_t code_skip_unless_less(struct bpf_code *c, int a, int b)
{
	append(c, BPF_JMP | BPF_JGE | BPF_X, a, b, 0, 0);
	return c->n - 1;
}

void code_here(struct bpf_code *c, uint32_t jump)
{
	if (!c->failed)
		c->insn[jump].off = (int16_t)(c->n - jump - 1);
}

void code_again_if_below(struct bpf_code *c, int reg, int32_t value, uint32_t place)
{
	append(c, BPF_JMP | BPF_JLT | BPF_K, reg, 0, (int16_t)((int32_t)place - (int32_t)c->n - 1), value);
}

/* ---- what goes together ---- */

/* R0 = address of the map's element whose key is at FP + key; without one the program ends. */
static void code_element(struct bpf_code *c, int map, int16_t key)
{
	code_copy(c, R2, FP);
	code_add_value(c, R2, key);
	code_map(c, R1, map);
	code_call(c, BPF_FUNC_map_lookup_elem);
	code_exit_if_zero(c, R0);
}

void code_element_of(struct bpf_code *c, int map, int16_t key, int reg)
{
	code_store32(c, FP, key, reg);
	code_element(c, map, key);
}

void code_element_at(struct bpf_code *c, int map, int16_t key, int32_t index)
{
	code_store_value32(c, FP, key, index);
	code_element(c, map, key);
}

void code_read_event(struct bpf_code *c, int events, int index, int base, int16_t offset)
{
	code_copy(c, R2, index);
	code_copy(c, R3, base);
	code_add_value(c, R3, offset);
	code_set(c, R4, (int32_t)sizeof(struct bpf_perf_event_value));
	code_map(c, R1, events);
	code_call(c, BPF_FUNC_perf_event_read_value);
}

void code_peek32(struct bpf_code *c, int from, int32_t offset, int16_t scratch)
{
	code_copy(c, R3, from);
	code_add_value(c, R3, offset);
	code_set(c, R2, 4);
	code_copy(c, R1, FP);
	code_add_value(c, R1, scratch);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_load32(c, R0, FP, scratch);
}

void code_differences(struct bpf_code *c, int now, int16_t at_now, int last, int16_t at_last, int to, int16_t at_to)
{
	int16_t enabled = offsetof(struct bpf_perf_event_value, enabled);
	uint32_t went_on;

	code_load(c, R1, now, (int16_t)(at_now + enabled));
	code_load(c, R2, last, (int16_t)(at_last + enabled));
	went_on = code_skip_unless_less(c, R1, R2);
	for (int16_t word = 0; word < (int16_t)sizeof(struct bpf_perf_event_value); word += 8)
		code_store_value(c, last, (int16_t)(at_last + word), 0);
	code_here(c, went_on);
	for (int16_t word = 0; word < (int16_t)sizeof(struct bpf_perf_event_value); word += 8) {
		code_load(c, R1, now, (int16_t)(at_now + word));
		code_load(c, R2, last, (int16_t)(at_last + word));
		code_store(c, last, (int16_t)(at_last + word), R1);
		code_subtract(c, R1, R2);
		code_store(c, to, (int16_t)(at_to + word), R1);
	}
}
