/*
 * BPF programs, written down in memory. Each function appends one instruction, or the few that always go together.
 * Registers as the kernel has them: R0 is what a call returns, R1 to R5 are what it is given and do not survive it,
 * R6 to R9 do, FP is the end of 512 bytes of stack. A program that finds nothing to do ends where it finds that
 * out, so there are few jumps.
 */
#ifndef RECORD_BPF_CODE_H
#define RECORD_BPF_CODE_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct bpf_code {
	struct bpf_insn *insn; /* owned */
	uint32_t n;
	bool failed; /* without memory: what was appended is not whole */
};

void code_release(struct bpf_code *c);

/* to = value; to = from; to += ...; to -= from; to *= value */
void code_set(struct bpf_code *c, int to, int32_t value);
void code_copy(struct bpf_code *c, int to, int from);
void code_add(struct bpf_code *c, int to, int from);
void code_add_value(struct bpf_code *c, int to, int32_t value);
void code_subtract(struct bpf_code *c, int to, int from);
void code_multiply(struct bpf_code *c, int to, int32_t value);

/* to = the 8 or 4 bytes at base + offset, and the way back. */
void code_load(struct bpf_code *c, int to, int base, int16_t offset);
void code_load32(struct bpf_code *c, int to, int base, int16_t offset);
void code_store(struct bpf_code *c, int base, int16_t offset, int from);
void code_store32(struct bpf_code *c, int base, int16_t offset, int from);
void code_store_value(struct bpf_code *c, int base, int16_t offset, int32_t value);
void code_store_value32(struct bpf_code *c, int base, int16_t offset, int32_t value);

/* to = the map of that descriptor. */
void code_map(struct bpf_code *c, int to, int map);
void code_call(struct bpf_code *c, enum bpf_func_id function);

/* Ends the program. */
void code_exit(struct bpf_code *c);
void code_exit_if_zero(struct bpf_code *c, int reg);
void code_exit_unless_zero(struct bpf_code *c, int reg);
void code_exit_unless_equal(struct bpf_code *c, int a, int b);
void code_exit_if_equal(struct bpf_code *c, int a, int b);

/* Forward jumps: where they lead to is said by code_here(). */
uint32_t code_skip_if_zero(struct bpf_code *c, int reg);
uint32_t code_skip_unless_less(struct bpf_code *c, int a, int b); /* unsigned */
void code_here(struct bpf_code *c, uint32_t jump);
/* Back to `place`, a former c->n, if reg < value. */
void code_again_if_below(struct bpf_code *c, int reg, int32_t value, uint32_t place);

/* ---- what goes together ---- */

/* R0 = address of the map's element of a key of 32 bits in a register, which is put at FP + key, or the program ends. */
void code_element_of(struct bpf_code *c, int map, int16_t key, int reg);
/* The same for a constant. */
void code_element_at(struct bpf_code *c, int map, int16_t key, int32_t index);
/* Reads the event at `index` (a register) of a map of events to base + offset: count, enabled, running. R0: 0, or the
 * error, and the three are 0. */
void code_read_event(struct bpf_code *c, int events, int index, int base, int16_t offset);
/* Of the reading of an event at now + at_now, the difference to the last one, which it replaces. One that was enabled for
 * less time than before is another event (its CPU has been away): then the last one is taken for 0. */
void code_differences(struct bpf_code *c, int now, int16_t at_now, int last, int16_t at_last, int to, int16_t at_to);
/* R0 = what is `offset` bytes behind the address in `from`, of the kernel's memory; by way of FP + scratch. */
void code_peek32(struct bpf_code *c, int from, int32_t offset, int16_t scratch);

#endif
