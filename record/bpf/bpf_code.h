/*
 * Assembles BPF programs in memory. Each function appends one instruction, or a few that belong together. R0 has the
 * result of a call, R1 to R5 its arguments, which it destroys; R6 to R9 survive; FP is the end of 512 bytes of stack.
 * A program that finds nothing to do ends at once, so there are few jumps.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct bpf_code {
	struct bpf_insn *insn; /* owned */
	uint32_t n;
	bool failed; /* out of memory: the code is incomplete */
};

void code_release(struct bpf_code *c);

/* to = value; to = from; to += ...; to -= from; to *= value */
void code_set(struct bpf_code *c, int to, int32_t value);
void code_copy(struct bpf_code *c, int to, int from);
void code_add(struct bpf_code *c, int to, int from);
void code_add_value(struct bpf_code *c, int to, int32_t value);
void code_subtract(struct bpf_code *c, int to, int from);
void code_multiply(struct bpf_code *c, int to, int32_t value);

/* Loads and stores of 8 or 4 bytes at base + offset. */
void code_load(struct bpf_code *c, int to, int base, int16_t offset);
void code_load32(struct bpf_code *c, int to, int base, int16_t offset);
void code_store(struct bpf_code *c, int base, int16_t offset, int from);
void code_store32(struct bpf_code *c, int base, int16_t offset, int from);
void code_store_value(struct bpf_code *c, int base, int16_t offset, int32_t value);
void code_store_value32(struct bpf_code *c, int base, int16_t offset, int32_t value);

/* to = the map of this descriptor. */
void code_map(struct bpf_code *c, int to, int map);
void code_call(struct bpf_code *c, enum bpf_func_id function);

/* Ends the program. */
void code_exit(struct bpf_code *c);
void code_exit_if_zero(struct bpf_code *c, int reg);
void code_exit_unless_zero(struct bpf_code *c, int reg);
void code_exit_unless_equal(struct bpf_code *c, int a, int b);
void code_exit_if_equal(struct bpf_code *c, int a, int b);

/* Forward jumps; code_here() sets their target. */
uint32_t code_skip_if_zero(struct bpf_code *c, int reg);
uint32_t code_skip_unless_less(struct bpf_code *c, int a, int b); /* unsigned */
void code_here(struct bpf_code *c, uint32_t jump);
/* Back to `place`, a former c->n, if reg < value. */
void code_again_if_below(struct bpf_code *c, int reg, int32_t value, uint32_t place);

/* ---- what goes together ---- */

/* R0 = address of the map's element for a 32-bit key in a register, stored at FP + key; without an element the
 * program ends. */
void code_element_of(struct bpf_code *c, int map, int16_t key, int reg);
/* The same for a constant. */
void code_element_at(struct bpf_code *c, int map, int16_t key, int32_t index);
/* Reads the event at `index` (a register) of a map to base + offset: count, enabled, running. R0: 0, or the error
 * with zeros. */
void code_read_event(struct bpf_code *c, int events, int index, int base, int16_t offset);
/* The difference of the reading at now + at_now to the last one, which it replaces. If it was enabled for less time
 * than before, it is another event, because its CPU was offline, and the last one counts as 0. */
void code_differences(struct bpf_code *c, int now, int16_t at_now, int last, int16_t at_last, int to, int16_t at_to);
/* R0 = the kernel's memory at the address in `from` plus `offset`, by way of FP + scratch. */
void code_peek32(struct bpf_code *c, int from, int32_t offset, int16_t scratch);
