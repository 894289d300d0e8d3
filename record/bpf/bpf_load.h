/*
 * Assembles BPF programs in memory. Each function appends one instruction, or a few that belong together. R0 has the
 * result of a call, R1 to R5 its arguments, which it destroys; R6 to R9 survive; FP is the end of 512 bytes of stack.
 * A program that finds nothing to do ends at once, so there are few jumps.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "record/host/root.h"

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct bpf_code {
	struct bpf_insn *insn; /* owned */
	uint32_t n;
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

/*
 * bpf(2), and nothing else: maps, programs, links, each a file descriptor that its caller closes. Objects end with
 * their last descriptor (so with pmrec, however it ends), except those that bpf_pin() gave a name.
 */

/* Flags of maps, and the error for what an architecture cannot do, that older headers lack. */
enum { BPF_MMAPABLE = 1 << 10, BPF_KEEP_EVENTS = 1 << 11, BPF_NOT_SUPPORTED = 524 };

struct bpf_map_shape {
	const char *name; /* up to 15 characters of [A-Za-z0-9_.] */
	enum bpf_map_type type;
	uint32_t key_size, value_size, entries;
	uint32_t flags;
};

/* A descriptor or -errno. */
int bpf_map_new(const struct bpf_map_shape *shape);
/* One element, by address. 0 or -errno. */
int bpf_map_get(int map, const void *key, void *value);
int bpf_map_put(int map, const void *key, const void *value);
int bpf_map_drop(int map, const void *key);
/* The same for maps of descriptors. */
int bpf_map_put_fd(int map, const void *key, int fd);
/* The key after `key` (NULL: the first). 0, -ENOENT at the end, or another -errno. */
int bpf_map_next(int map, const void *key, void *next);

struct bpf_program {
	const char *name; /* likewise */
	enum bpf_prog_type type;
	enum bpf_attach_type attach; /* of BPF_PROG_TYPE_TRACING */
	int target;                  /* descriptor of the program to attach to, with its `target_type`; 0: none */
	uint32_t target_type;        /* id in the BTF of the target, or in that of the kernel */
	int btf;                     /* descriptor of its own BTF, which has `function`; 0: none */
	uint32_t function;
};

/* A descriptor, or -errno with the verifier's message at the end of *e. Releases the code in any case. */
int bpf_program_load(const struct bpf_program *p, struct bpf_code *code, struct error *e);
/* Attaches it to the raw tracepoint of this name, or with NULL to what it was loaded for. A descriptor or -errno. */
int bpf_program_attach(int program, const char *tracepoint);
/* Runs a program for raw tracepoints on the CPU, now. 0 or -errno. */
int bpf_program_run(int program, uint32_t cpu);

/* The object of this id, by BPF_PROG_GET_FD_BY_ID and the like, which need CAP_SYS_ADMIN. A descriptor or -errno. */
int bpf_by_id(enum bpf_cmd command, uint32_t id);

/* Fills `info`, the struct bpf_*_info of the object. 0 or -errno. */
int bpf_info(int fd, void *info, size_t size);
/* The same, with a list to which the member at `at` points; other members have its length. */
int bpf_info_list(int fd, void *info, size_t size, size_t at, void *list, size_t list_size);

/* Gives an object a name in a BPF file system, and finds it by name. 0 or a descriptor, or -errno. */
int bpf_pin(int fd, const char *path);
int bpf_pinned(const char *path);

/*
 * Type information (BTF) of the kernel and of BPF programs: offsets of structure members, names of functions, and the
 * minimum that a program needs so that others can attach to it.
 */
struct btf {
	struct buf data; /* as the kernel has it */
	const uint8_t *types, *types_end;
	const char *names;
	size_t n_names;
};

/* Reads the kernel's BTF, or the BTF object `fd`. 0 or -errno: -ENOENT, there is none; -EINVAL, it is incomplete. */
int btf_read_kernel(struct btf *b, const struct root *root);
int btf_read(struct btf *b, int fd);
/* Takes ownership of the bytes, also on failure. */
int btf_take(struct btf *b, struct buf *data);
void btf_release(struct btf *b);

/* Id of the typedef of this name; 0: none. */
uint32_t btf_typedef(const struct btf *b, const char *name);
/* Name of a type; "" if it has none. */
const char *btf_name(const struct btf *b, uint32_t id);
/* Byte offset of a member, also of one in an unnamed structure inside; -1: none. */
int32_t btf_member(const struct btf *b, const char *structure, const char *member);

/* Loads the description of a function of that name, which takes a pointer and returns an integer; its type is number
 * BTF_FUNCTION. A descriptor or -errno. */
enum { BTF_FUNCTION = 4 };
int btf_function(const char *name);

/*
 * Counts of BPF programs: a kernel array mapped into pmrec's memory, so reading it needs neither a system call nor a
 * capability. Elements are written on one CPU each, as three plain words. A reader on that CPU sees them
 * consistently; a reader on another CPU may see one word that is a task switch newer than the others.
 */

/* As struct bpf_perf_event_value has them; times in ns. */
struct bpf_cell {
	uint64_t value, enabled, running;
};
enum { CELL_WORDS = 3 };

struct bpf_cells {
	int map; /* -1: none */
	void *memory;
	size_t size;    /* of memory */
	size_t element; /* bytes from one element to the next */
};
#define BPF_CELLS_NONE ((struct bpf_cells){ .map = -1 })

/* `n` elements of `size` bytes, a multiple of 8, all zero. 0 or -errno; nothing is to be released then. */
int bpf_cells_init(struct bpf_cells *c, const char *name, uint32_t size, uint32_t n);
void bpf_cells_release(struct bpf_cells *c);

static inline void *bpf_cells_at(const struct bpf_cells *c, size_t index)
{
	return (char *)c->memory + index * c->element;
}

/* What has been counted in cells that lie `step` bytes apart. */
struct bpf_sum {
	const struct bpf_cell *first;
	size_t step;
	uint32_t n;
};
struct bpf_cell bpf_sum_read(const struct bpf_sum *s);
/* Starts again from 0; nobody may be counting there. */
void bpf_sum_clear(const struct bpf_sum *s);

/* Whether BPF programs can count on this machine, and why not. */

/* Loads a program that does nothing, and makes a map. 0, or -errno with cause and cure in *e. */
int bpf_check(struct error *e);
/* Attaches to a program of its own that never runs, as -b does to others. 0, or -errno with cause and cure in *e. */
int bpf_check_attach(struct error *e);
/* Puts the sentence for a failure to attach to a program into *e; returns the -errno. */
int bpf_attach_refused(int err, struct error *e);
