/*
 * How BPF programs count perf events: first what their programs are made of (an assembler, bpf(2), types of the
 * kernel, cells of counts), then the two kinds of counting (through leaders, in programs), and at the end how groups
 * and rows use them.
 */
#include "record/perf/perf_bpf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"
#include "record/perf/perf_source.h"

/* ---- assembling programs ---- */

/* Each code_...() appends one instruction, or a few that belong together. R0 has the result of a call, R1 to R5 its
 * arguments, which it destroys; R6 to R9 survive; FP is the end of 512 bytes of stack. A program that finds nothing
 * to do ends at once, so there are few jumps. */

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct bpf_code {
	struct bpf_insn *insn; /* owned */
	uint32_t n;
};

static void append(struct bpf_code *c, uint8_t code, int to, int from, int16_t offset, int32_t value)
{
	memory_room(&c->insn, c->n, sizeof(*c->insn));
	c->insn[c->n++] = (struct bpf_insn){
		.code = code, .dst_reg = to & 15, .src_reg = from & 15, .off = offset, .imm = value
	};
}

/* clang-format off */
/* to = value; to = from; to += ...; to -= from; to *= value */
#define code_set(c, to, value)                 append(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value)
#define code_copy(c, to, from)                 append(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define code_add(c, to, from)                  append(c, BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0)
#define code_add_value(c, to, value)           append(c, BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value)
#define code_subtract(c, to, from)             append(c, BPF_ALU64 | BPF_SUB | BPF_X, to, from, 0, 0)
#define code_multiply(c, to, value)            append(c, BPF_ALU64 | BPF_MUL | BPF_K, to, 0, 0, value)
/* Loads and stores of 8 or 4 bytes at base + offset. */
#define code_load(c, to, base, offset)         append(c, BPF_LDX | BPF_MEM | BPF_DW, to, base, offset, 0)
#define code_load32(c, to, base, offset)       append(c, BPF_LDX | BPF_MEM | BPF_W, to, base, offset, 0)
#define code_store(c, base, offset, from)      append(c, BPF_STX | BPF_MEM | BPF_DW, base, from, offset, 0)
#define code_store32(c, base, offset, from)    append(c, BPF_STX | BPF_MEM | BPF_W, base, from, offset, 0)
#define code_store_value(c, base, at, value)   append(c, BPF_ST | BPF_MEM | BPF_DW, base, 0, at, value)
#define code_store_value32(c, base, at, value) append(c, BPF_ST | BPF_MEM | BPF_W, base, 0, at, value)
#define code_call(c, function)                 append(c, BPF_JMP | BPF_CALL, 0, 0, 0, (int32_t)(function))
/* Ends of the program on a condition. */
#define code_exit_if_zero(c, reg)              code_exit_unless(c, BPF_JNE | BPF_K, reg, 0)
#define code_exit_unless_zero(c, reg)          code_exit_unless(c, BPF_JEQ | BPF_K, reg, 0)
#define code_exit_unless_equal(c, a, b)        code_exit_unless(c, BPF_JEQ | BPF_X, a, b)
#define code_skip_if_zero(c, reg)              code_skip_if(c, BPF_JEQ | BPF_K, reg, 0)
/* clang-format on */

enum { EXIT_LENGTH = 2 };

static void code_exit(struct bpf_code *c)
{
	code_set(c, R0, 0);
	append(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void code_exit_unless(struct bpf_code *c, uint8_t test, int a, int b)
{
	append(c, BPF_JMP | test, a, b, EXIT_LENGTH, 0);
	code_exit(c);
}

/* A forward jump; code_here() sets its target. */
static uint32_t code_skip_if(struct bpf_code *c, uint8_t test, int a, int b)
{
	append(c, BPF_JMP | test, a, b, 0, 0);
	return c->n - 1;
}

static void code_here(struct bpf_code *c, uint32_t jump)
{
	c->insn[jump].off = (int16_t)(c->n - jump - 1);
}

/* Back to `place`, a former c->n, if reg < value. */
static void code_again_if_below(struct bpf_code *c, int reg, int32_t value, uint32_t place)
{
	append(c, BPF_JMP | BPF_JLT | BPF_K, reg, 0, (int16_t)((int32_t)place - (int32_t)c->n - 1), value);
}

/* ---- instructions that go together ---- */

static void code_address(struct bpf_code *c, int to, int base, int32_t offset)
{
	code_copy(c, to, base);
	code_add_value(c, to, offset);
}

static void code_map(struct bpf_code *c, int to, int map)
{
	append(c, BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map);
	append(c, 0, 0, 0, 0, 0);
}

/* R0 = what the function for elements of maps returns for the key at FP + key. */
static void code_on_map(struct bpf_code *c, enum bpf_func_id function, int map, int16_t key)
{
	code_address(c, R2, FP, key);
	code_map(c, R1, map);
	code_call(c, function);
}

/* R0 = address of the map's element for a 32-bit key in a register, stored at FP + key; without an element the
 * program ends. */
static void code_element_of(struct bpf_code *c, int map, int16_t key, int reg)
{
	code_store32(c, FP, key, reg);
	code_on_map(c, BPF_FUNC_map_lookup_elem, map, key);
	code_exit_if_zero(c, R0);
}

/* The same for a constant. */
static void code_element_at(struct bpf_code *c, int map, int16_t key, int32_t index)
{
	code_store_value32(c, FP, key, index);
	code_on_map(c, BPF_FUNC_map_lookup_elem, map, key);
	code_exit_if_zero(c, R0);
}

/* Reads the event at `index` (a register) of a map to base + offset: count, enabled, running. R0: 0, or the error
 * with zeros. */
static void code_read_event(struct bpf_code *c, int events, int index, int base, int16_t offset)
{
	code_copy(c, R2, index);
	code_address(c, R3, base, offset);
	code_set(c, R4, (int32_t)sizeof(struct bpf_perf_event_value));
	code_map(c, R1, events);
	code_call(c, BPF_FUNC_perf_event_read_value);
}

/* R0 = the kernel's memory at the address in `from` plus `offset`, by way of FP + scratch. */
static void code_peek32(struct bpf_code *c, int from, int32_t offset, int16_t scratch)
{
	code_address(c, R3, from, offset);
	code_set(c, R2, 4);
	code_address(c, R1, FP, scratch);
	code_call(c, BPF_FUNC_probe_read_kernel);
	code_load32(c, R0, FP, scratch);
}

/* As struct bpf_perf_event_value has them; times in ns. */
struct bpf_cell {
	uint64_t value, enabled, running;
};
enum { CELL = sizeof(struct bpf_cell), ENABLED = offsetof(struct bpf_cell, enabled) };

static void code_clear_cell(struct bpf_code *c, int base)
{
	for (int16_t word = 0; word < CELL; word += 8)
		code_store_value(c, base, word, 0);
}

/* Adds the cell at from + at_from to that at `to`. */
static void code_add_cell(struct bpf_code *c, int to, int from, int16_t at_from)
{
	for (int16_t word = 0; word < CELL; word += 8) {
		code_load(c, R1, to, word);
		code_load(c, R2, from, (int16_t)(at_from + word));
		code_add(c, R1, R2);
		code_store(c, to, word, R1);
	}
}

/* The difference of the reading at now + at_now to the one at `last`, which it replaces. If it was enabled for less
 * time than before, it is another event, because its CPU was offline, and the last one counts as 0. */
static void code_differences(struct bpf_code *c, int now, int16_t at_now, int last, int to, int16_t at_to)
{
	uint32_t went_on;

	code_load(c, R1, now, (int16_t)(at_now + ENABLED));
	code_load(c, R2, last, ENABLED);
	went_on = code_skip_if(c, BPF_JGE | BPF_X, R1, R2);
	code_clear_cell(c, last);
	code_here(c, went_on);
	for (int16_t word = 0; word < CELL; word += 8) {
		code_load(c, R1, now, (int16_t)(at_now + word));
		code_load(c, R2, last, word);
		code_store(c, last, word, R1);
		code_subtract(c, R1, R2);
		code_store(c, to, (int16_t)(at_to + word), R1);
	}
}

/* ---- bpf(2) ---- */

/* Maps, programs, links: each is a file descriptor that its owner closes. Objects end with their last descriptor (so
 * with pmrec, however it ends), except those that have a name in a BPF file system. */

/* Flags of maps, and the error for what an architecture cannot do, that older headers lack. */
enum { BPF_MMAPABLE = 1 << 10, BPF_KEEP_EVENTS = 1 << 11, BPF_NOT_SUPPORTED = 524 };

/* Programs that read events and kernel memory need a GPL-compatible licence: these programs are under both. */
static const char license[] = "Dual MIT/GPL";

#define LOG_SIZE (64 << 10)

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

#define AT(member) (uint16_t) offsetof(union bpf_attr, member)

static void add_blob(struct opener_baggage *b, uint16_t at, const void *data, size_t size, bool out)
{
	if (data && size)
		b->blob[b->n_blobs++] = (struct opener_blob){ .data = (void *)(uintptr_t)data,
							      .size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX,
							      .at = at,
							      .out = out };
}

static void add_text(struct opener_baggage *b, uint16_t at, const char *text)
{
	add_blob(b, at, text, text ? strlen(text) + 1 : 0, false);
}

static int call(enum bpf_cmd command, union bpf_attr *attr, const struct opener_baggage *b)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	if (result >= 0)
		return (int)result;
	if (errno != EPERM && errno != EACCES)
		return -errno;
	return opener_bpf((int)command, attr, sizeof(*attr), b);
}

/* The object of this id, by BPF_PROG_GET_FD_BY_ID and the like, which need CAP_SYS_ADMIN. A descriptor or -errno. */
static int bpf_by_id(enum bpf_cmd command, uint32_t id)
{
	union bpf_attr a = { 0 };

	a.prog_id = id; /* the first of a union of ids */
	return call(command, &a, NULL);
}

/* Fills `info`, the struct bpf_*_info of the object, with a list to which the member at `at` points; other members
 * have its length. 0 or -errno. */
static int bpf_info_list(int fd, void *info, size_t size, size_t at, void *list, size_t list_size)
{
	struct opener_baggage b = { .fd_at = { AT(info.bpf_fd) }, .n_fds = 1 };
	uint64_t there = address(list);
	union bpf_attr a = { 0 };
	int err;

	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = (uint32_t)size;
	a.info.info = address(info);
	add_blob(&b, AT(info.info), info, size, true);
	if (list_size) {
		memcpy((char *)info + at, &there, sizeof(there));
		add_blob(&b, (uint16_t)at, list, list_size, true);
		b.blob[1].in = 1;
	}
	/* Without privileges the kernel reports less about a program, but no error. */
	err = opener_bpf(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a), &b);
	if (list_size)
		memcpy((char *)info + at, &there, sizeof(there));
	if (err)
		err = syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) ? -errno : 0;
	return err;
}

static int bpf_info(int fd, void *info, size_t size)
{
	return bpf_info_list(fd, info, size, 0, NULL, 0);
}

/* Gives an object a name in a BPF file system (BPF_OBJ_PIN), or finds it by name (BPF_OBJ_GET). 0 or a descriptor, or
 * -errno. */
static int bpf_on_name(enum bpf_cmd command, int fd, const char *path)
{
	struct opener_baggage b = { .fd_at = { AT(bpf_fd) }, .n_fds = 1 };
	union bpf_attr a = { 0 };

	a.pathname = address(path);
	a.bpf_fd = (uint32_t)fd;
	add_text(&b, AT(pathname), path);
	return call(command, &a, &b);
}

/* `name`: up to 15 characters of [A-Za-z0-9_.]. A descriptor or -errno. */
static int bpf_map_new(const char *name, enum bpf_map_type type, size_t key_size, size_t value_size, uint32_t entries,
		       uint32_t flags)
{
	union bpf_attr a = { 0 };

	a.map_type = type;
	a.key_size = (uint32_t)key_size;
	a.value_size = (uint32_t)value_size;
	a.max_entries = entries;
	a.map_flags = flags;
	snprintf(a.map_name, sizeof(a.map_name), "%s", name);
	return call(BPF_MAP_CREATE, &a, NULL);
}

/* One element, by address. 0 or -errno. */
static int on_element(enum bpf_cmd command, int map, const void *key, const void *value, bool is_fd)
{
	struct opener_baggage b = { .fd_at = { AT(map_fd) }, .n_fds = 1 };
	bool next = command == BPF_MAP_GET_NEXT_KEY;
	struct bpf_map_info info = { 0 };
	union bpf_attr a = { 0 };
	int err;

	a.map_fd = (uint32_t)map;
	a.key = address(key);
	a.value = address(value);
	if (!syscall(SYS_bpf, command, &a, sizeof(a)))
		return 0;
	if (errno != EPERM)
		return -errno;
	/* Before 5.19 the kernel gives unprivileged processes no access to the elements of an open map. The other
	 * process cannot see the sizes of keys and values. */
	err = bpf_info(map, &info, sizeof(info));
	if (err)
		return err;
	add_blob(&b, AT(key), key, info.key_size, false);
	add_blob(&b, AT(value), value, next ? info.key_size : info.value_size,
		 next || command == BPF_MAP_LOOKUP_ELEM);
	if (value)
		b.blob[b.n_blobs - 1].fd = is_fd;
	return opener_bpf((int)command, &a, sizeof(a), &b);
}

/* clang-format off */
#define bpf_map_get(map, key, value)  on_element(BPF_MAP_LOOKUP_ELEM, map, key, value, false)
#define bpf_map_put(map, key, value)  on_element(BPF_MAP_UPDATE_ELEM, map, key, value, false)
#define bpf_map_put_fd(map, key, fd)  on_element(BPF_MAP_UPDATE_ELEM, map, key, &(int){ fd }, true)
#define bpf_map_drop(map, key)        on_element(BPF_MAP_DELETE_ELEM, map, key, NULL, false)
/* The key after `key` (NULL: the first); -ENOENT at the end. */
#define bpf_map_next(map, key, next)  on_element(BPF_MAP_GET_NEXT_KEY, map, key, next, false)
/* clang-format on */

struct bpf_program {
	const char *name; /* as of maps */
	enum bpf_prog_type type;
	enum bpf_attach_type attach; /* of BPF_PROG_TYPE_TRACING */
	int target;                  /* descriptor of the program to attach to, with its `target_type`; 0: none */
	uint32_t target_type;        /* id in the BTF of the target, or in that of the kernel */
	int btf;                     /* descriptor of its own BTF, of btf_function(); 0: none */
};

/* The number of the function's type in its BTF (btf_function()). */
enum { BTF_FUNCTION = 4 };

/* The last line but one: the last line says how much the verifier examined. */
static void add_log(struct error *e, char *log)
{
	char *line = NULL, *save = NULL;

	for (char *at = strtok_r(log, "\n", &save); at; at = strtok_r(NULL, "\n", &save))
		if (strncmp(at, "processed ", 10))
			line = at;
	if (line) {
		size_t len = strlen(e->text);

		snprintf(e->text + len, sizeof(e->text) - len, "; the kernel says: %.120s", line);
	}
}

/* A descriptor, or -errno with the verifier's message at the end of *e. Releases the code in any case. */
static int bpf_program_load(const struct bpf_program *p, struct bpf_code *code, struct error *e)
{
	struct bpf_func_info function = { .insn_off = 0, .type_id = BTF_FUNCTION };
	struct opener_baggage b = { .fd_at = { AT(attach_prog_fd), AT(prog_btf_fd) }, .n_fds = 2, .code = true };
	union bpf_attr a = { 0 };
	int fd;

	a.prog_type = p->type;
	a.expected_attach_type = p->attach;
	a.license = address(license);
	a.attach_btf_id = p->target_type;
	a.attach_prog_fd = (uint32_t)p->target;
	snprintf(a.prog_name, sizeof(a.prog_name), "%s", p->name);
	a.insns = address(code->insn);
	a.insn_cnt = code->n;
	add_blob(&b, AT(insns), code->insn, code->n * sizeof(*code->insn), false);
	add_text(&b, AT(license), license);
	if (p->btf) {
		a.prog_btf_fd = (uint32_t)p->btf;
		a.func_info = address(&function);
		a.func_info_rec_size = sizeof(function);
		a.func_info_cnt = 1;
		add_blob(&b, AT(func_info), &function, sizeof(function), false);
	}
	fd = call(BPF_PROG_LOAD, &a, &b);
	if (fd < 0) {
		SCOPED(scoped_free) char *log = memory_new(LOG_SIZE, 1);

		error_sys(e, -fd, "the BPF program %s", p->name);
		a.log_buf = address(log);
		a.log_size = LOG_SIZE;
		a.log_level = 1;
		add_blob(&b, AT(log_buf), log, LOG_SIZE, true);
		if (call(BPF_PROG_LOAD, &a, &b) < 0)
			add_log(e, log);
	}
	free(code->insn);
	*code = (struct bpf_code){ 0 };
	return fd;
}

/* Attaches it to the raw tracepoint of this name, or with NULL to what it was loaded for. A descriptor or -errno. */
static int bpf_program_attach(int program, const char *tracepoint)
{
	struct opener_baggage b = { .fd_at = { AT(raw_tracepoint.prog_fd) }, .n_fds = 1 };
	union bpf_attr a = { 0 };

	a.raw_tracepoint.name = address(tracepoint);
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	add_text(&b, AT(raw_tracepoint.name), tracepoint);
	return call(BPF_RAW_TRACEPOINT_OPEN, &a, &b);
}

/* Runs a program for raw tracepoints on the CPU, now. It fails on a CPU that is offline, which has nothing new. */
static void bpf_program_run(int program, uint32_t cpu)
{
	union bpf_attr a = { 0 };

	a.test.prog_fd = (uint32_t)program;
	a.test.flags = BPF_F_TEST_RUN_ON_CPU;
	a.test.cpu = cpu;
	syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a));
}

/* ---- types ---- */

/* Type information (BTF) of the kernel and of BPF programs: offsets of structure members, names of functions, and the
 * minimum that a program needs so that others can attach to it. */
struct btf {
	struct buf data; /* as the kernel has it */
	const uint8_t *types, *types_end;
	const char *names;
	size_t n_names;
};

#define KERNEL_MAX ((size_t)64 << 20)
#define NESTED_MAX 8

/* The bytes after struct btf_type, and after that for each member, by kind as <linux/btf.h> numbers them. Newer
 * kernels have kinds that older headers do not name. */
static const struct {
	uint8_t fixed, each;
} lengths[] = {
	[1] = { 4, 0 },   /* integer */
	[2] = { 0, 0 },   /* pointer */
	[3] = { 12, 0 },  /* array */
	[4] = { 0, 12 },  /* struct */
	[5] = { 0, 12 },  /* union */
	[6] = { 0, 8 },   /* enumeration */
	[7] = { 0, 0 },   /* forward */
	[8] = { 0, 0 },   /* typedef */
	[9] = { 0, 0 },   /* volatile */
	[10] = { 0, 0 },  /* const */
	[11] = { 0, 0 },  /* restrict */
	[12] = { 0, 0 },  /* function */
	[13] = { 0, 8 },  /* prototype */
	[14] = { 4, 0 },  /* variable */
	[15] = { 0, 12 }, /* section */
	[16] = { 0, 0 },  /* float */
	[17] = { 4, 0 },  /* tag of a declaration */
	[18] = { 0, 0 },  /* tag of a type */
	[19] = { 0, 12 }, /* enumeration of 64 bits */
};
enum { KIND_STRUCT = 4, KIND_UNION = 5, KINDS = sizeof(lengths) / sizeof(lengths[0]) };

static unsigned kind_of(const struct btf_type *t)
{
	return t->info >> 24 & 31;
}

static uint32_t count_of(const struct btf_type *t)
{
	return t->info & 0xffff;
}

/* The type at `at`, and in *next the place of the following one; NULL at the end, or if it does not fit. */
static const struct btf_type *type_at(const struct btf *b, const uint8_t *at, const uint8_t **next)
{
	const struct btf_type *t = (const struct btf_type *)(const void *)at;
	size_t left = (size_t)(b->types_end - at), size;

	if (left < sizeof(*t) || !kind_of(t) || kind_of(t) >= KINDS)
		return NULL;
	size = sizeof(*t) + lengths[kind_of(t)].fixed + (size_t)lengths[kind_of(t)].each * count_of(t);
	if (left < size)
		return NULL;
	*next = at + size;
	return t;
}

static const char *name_at(const struct btf *b, uint32_t offset)
{
	return offset < b->n_names ? b->names + offset : "";
}

/* Takes ownership of the bytes, also on failure. -EINVAL: they are incomplete. */
static int btf_take(struct btf *b, struct buf *data)
{
	const struct btf_header *h;
	size_t body;

	*b = (struct btf){ .data = *data };
	*data = (struct buf)BUF_INIT;
	h = (const struct btf_header *)(const void *)b->data.data;
	if (b->data.len < sizeof(*h) || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h) || h->hdr_len > b->data.len)
		return -EINVAL;
	body = b->data.len - h->hdr_len;
	if (h->type_off % 4 || h->hdr_len % 4 || h->type_off > body || h->type_len > body - h->type_off ||
	    h->str_off > body || !h->str_len || h->str_len > body - h->str_off)
		return -EINVAL;
	b->types = (const uint8_t *)b->data.data + h->hdr_len + h->type_off;
	b->types_end = b->types + h->type_len;
	b->names = (const char *)b->data.data + h->hdr_len + h->str_off;
	b->n_names = h->str_len;
	return b->names[b->n_names - 1] ? -EINVAL : 0;
}

/* Reads the kernel's BTF. 0 or -errno: -ENOENT, there is none; -EINVAL, it is incomplete. */
static int btf_read_kernel(struct btf *b, const struct root *root)
{
	SCOPED(buf_release) struct buf data = BUF_INIT;
	ssize_t size = root_read(root, &data, KERNEL_MAX, "/sys/kernel/btf/vmlinux");

	*b = (struct btf){ 0 };
	if (size < 0)
		return (int)size;
	return btf_take(b, &data);
}

static void btf_release(struct btf *b)
{
	buf_release(&b->data);
	*b = (struct btf){ 0 };
}

static const struct btf_type *type_of(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = NULL;
	const uint8_t *at = b->types;

	for (uint32_t i = 0; i < id; i++) {
		t = type_at(b, at, &at);
		if (!t)
			return NULL;
	}
	return t;
}

static int32_t member_of(const struct btf *b, const struct btf_type *t, const char *name, unsigned depth)
{
	const struct btf_member *m = (const struct btf_member *)(const void *)(t + 1);

	if (kind_of(t) != KIND_STRUCT && kind_of(t) != KIND_UNION)
		return -1;
	for (uint32_t i = 0; i < count_of(t); i++) {
		/* With bit fields the upper byte is a width. */
		uint32_t bits = t->info >> 31 ? m[i].offset & 0xffffff : m[i].offset;
		const struct btf_type *inner;
		int32_t offset;

		if (!strcmp(name_at(b, m[i].name_off), name))
			return (int32_t)(bits / 8);
		if (*name_at(b, m[i].name_off) || depth == NESTED_MAX)
			continue;
		inner = type_of(b, m[i].type);
		offset = inner ? member_of(b, inner, name, depth + 1) : -1;
		if (offset >= 0)
			return (int32_t)(bits / 8) + offset;
	}
	return -1;
}

/* Byte offset of a member, also of one in an unnamed structure inside; -1: none. */
static int32_t btf_member(const struct btf *b, const char *structure, const char *member)
{
	const struct btf_type *t;
	const uint8_t *at = b->types;

	while ((t = type_at(b, at, &at)))
		if (kind_of(t) == KIND_STRUCT && !strcmp(name_at(b, t->name_off), structure))
			return member_of(b, t, member, 0);
	return -1;
}

/* Loads the description of a function of that name, which takes a pointer and returns an integer; its type is number
 * BTF_FUNCTION. A descriptor or -errno. */
static int btf_function(const char *name)
{
	/* Type 1: int. 2: a pointer to anything. 3: int (*)(context of type 2). 4: the function, of type 3. */
	struct {
		struct btf_header head;
		struct btf_type integer;
		uint32_t integer_bits;
		struct btf_type pointer, prototype;
		struct btf_param context;
		struct btf_type function;
		char names[64];
	} b = {
		.head = { .magic = BTF_MAGIC, .version = BTF_VERSION, .hdr_len = sizeof(b.head) },
		.integer = { .name_off = 1, .info = BTF_KIND_INT << 24, .size = 4 },
		.integer_bits = BTF_INT_SIGNED << 24 | 32,
		.pointer = { .info = BTF_KIND_PTR << 24 },
		.prototype = { .info = BTF_KIND_FUNC_PROTO << 24 | 1, .type = 1 },
		.context = { .name_off = 5, .type = 2 },
		.function = { .name_off = 9, .info = BTF_KIND_FUNC << 24, .type = 3 },
		.names = "\0int\0ctx",
	};
	struct opener_baggage baggage = { .n_fds = 0 };
	union bpf_attr a = { 0 };

	if (strlen(name) >= sizeof(b.names) - 9)
		return -ENAMETOOLONG;
	memcpy(b.names + 9, name, strlen(name) + 1);
	b.head.type_len = (uint32_t)(offsetof(typeof(b), names) - offsetof(typeof(b), integer));
	b.head.str_off = b.head.type_len;
	b.head.str_len = (uint32_t)(9 + strlen(name) + 1);
	a.btf = address(&b);
	a.btf_size = (uint32_t)sizeof(b.head) + b.head.type_len + b.head.str_len;
	add_blob(&baggage, AT(btf), &b, a.btf_size, false);
	return call(BPF_BTF_LOAD, &a, &baggage);
}

/* ---- cells of counts ---- */

/* A kernel array mapped into pmrec's memory, so reading it needs neither a system call nor a capability. Elements are
 * written on one CPU each, as plain words. A reader on that CPU sees them consistently; a reader on another CPU may
 * see one word that is a task switch newer than the others. */
struct bpf_cells {
	int map; /* -1: none */
	void *memory;
	size_t size;    /* of memory */
	size_t element; /* bytes from one element to the next */
};
#define BPF_CELLS_NONE ((struct bpf_cells){ .map = -1 })

/* `n` elements of `size` bytes, a multiple of 8, all zero. 0 or -errno; nothing is to be released then. */
static int bpf_cells_init(struct bpf_cells *c, const char *name, uint32_t size, uint32_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*c = (struct bpf_cells){ .element = size, .size = ((size_t)size * n + page - 1) / page * page };
	c->map = bpf_map_new(name, BPF_MAP_TYPE_ARRAY, 4, size, n, BPF_MMAPABLE);
	if (c->map < 0)
		return c->map;
	c->memory = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->map, 0);
	if (c->memory == MAP_FAILED) {
		int err = errno;

		close(c->map);
		*c = BPF_CELLS_NONE;
		return -err;
	}
	return 0;
}

static void bpf_cells_release(struct bpf_cells *c)
{
	if (c->map < 0)
		return;
	munmap(c->memory, c->size);
	close(c->map);
	*c = BPF_CELLS_NONE;
}

static void *bpf_cells_at(const struct bpf_cells *c, size_t index)
{
	return (char *)c->memory + index * c->element;
}

/* The first word of state is whether its program counts. */
static void bpf_cells_enable(const struct bpf_cells *c, bool on)
{
	__atomic_store_n((uint64_t *)bpf_cells_at(c, 0), on, __ATOMIC_RELEASE);
}

/* What has been counted in cells that lie `step` bytes apart. */
struct bpf_sum {
	const struct bpf_cell *first;
	size_t step;
	uint32_t n;
};

static struct bpf_cell bpf_sum_read(const struct bpf_sum *s)
{
	struct bpf_cell sum = { 0 };

	for (uint32_t i = 0; i < s->n; i++) {
		const struct bpf_cell *c = (const void *)((const char *)s->first + i * s->step);

		/* In the reverse order of writing: an event has never run for longer than it was enabled. */
		sum.running += __atomic_load_n(&c->running, __ATOMIC_ACQUIRE);
		sum.enabled += __atomic_load_n(&c->enabled, __ATOMIC_ACQUIRE);
		sum.value += __atomic_load_n(&c->value, __ATOMIC_ACQUIRE);
	}
	return sum;
}

/* Starts again from 0; nobody may be counting there. */
static void bpf_sum_clear(const struct bpf_sum *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		*(struct bpf_cell *)((char *)(uintptr_t)s->first + i * s->step) = (struct bpf_cell){ 0 };
}

/* ---- whether BPF programs can count here, and why not ---- */

static int check_refused(int err, struct error *e)
{
	if (err == -ENOSYS)
		return error_set(e, ENOSYS, "this kernel has no BPF (CONFIG_BPF_SYSCALL), or a container hides it");
	if (err != -EPERM && err != -EACCES)
		return err;
	if (!privileges_has("cap_sys_admin") && !(privileges_has("cap_bpf") && privileges_has("cap_perfmon")))
		return error_set(e, EPERM,
				 "counting with BPF needs CAP_BPF and CAP_PERFMON; run pmrec as root, or setcap "
				 "cap_bpf,cap_perfmon=ep \"$(command -v pmrec)\"");
	return error_set(e, EPERM,
			 "BPF is refused although no capability is missing; run pmrec outside the container, "
			 "or with --security-opt seccomp=unconfined");
}

/* Loads a program that does nothing, and makes a map. 0, or -errno with cause and cure in *e. */
static int bpf_check(struct error *e)
{
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int fd = -1, map = -1;

	code_exit(&c);
	fd = bpf_program_load(&(struct bpf_program){ .name = "pmrec_nothing", .type = BPF_PROG_TYPE_RAW_TRACEPOINT },
			      &c, e);
	if (fd < 0)
		return check_refused(fd, e);
	/* As much as the counters of a machine may need. Only kernels that count it as locked memory refuse it. */
	map = bpf_map_new("pmrec_much", BPF_MAP_TYPE_ARRAY, 4, 1024, 1024, 0);
	return map == -EPERM ?
		       error_set(
			       e, EPERM,
			       "this kernel, older than Linux 5.11, counts the memory of BPF as locked; run pmrec as "
			       "root, raise `ulimit -l`, or add cap_sys_resource to the capabilities of pmrec") :
		       0;
}

/* Puts the sentence for a failure to attach to a program into *e; returns the -errno. */
static int bpf_attach_refused(int err, struct error *e)
{
	switch (err) {
	case -EPERM:
		return error_set(e, EPERM,
				 "this kernel lets nobody attach to BPF programs, not even root; some virtual "
				 "machines have such kernels, and only another kernel helps");
	case -BPF_NOT_SUPPORTED:
	case -ENOTSUP:
		return error_set(e, ENOTSUP,
				 "this kernel cannot attach to BPF programs on this processor; a newer "
				 "kernel may (arm64: Linux 6.0)");
	default:
		return err;
	}
}

/* ---- leaders: one event on every CPU, shared by all recorders ---- */

/*
 * One event on every CPU, for --bpf-counters. A *leader* reads it whenever a CPU changes from one task to another;
 * *followers* of any number of processes run after it, take the difference from what they last saw, and add it to a
 * CPU or to one of their tasks.
 *
 * Leaders are found through a map with a name in a BPF file system, from the words of struct perf_event_attr to the
 * ids of the leader's link and of its map of differences. That is the convention of perf stat --bpf-counters (Linux
 * 5.12), names and sizes included; perf's followers are attached to the leader's function and add the differences
 * that it leaves. Those of pmrec need no such trampoline, which some kernels and architectures lack. The leader and
 * its events end with the last follower.
 */

/* An entry in the map of leaders. */
struct entry {
	uint32_t link_id, differences_id;
};

/* perf creates the map with 16 elements, which fills up with leaders that have ended. */
enum { LEADERS_MAX = 1024, BPF_FS = (int)0xcafe4a11 };

/* The map of leaders, locked by flock() so that nobody begins the same one at the same time. */
struct bpf_leaders {
	int map;           /* -1: leaders are not shared */
	uint32_t key_size; /* bytes of struct perf_event_attr that it knows */
};

#define BPF_ATTR_MAP "/sys/fs/bpf/perf_attr_map"

struct bpf_leader {
	int link, program; /* owned; -1: none */
	int events;        /* likewise; map: the event on each CPU; -1 also if the leader was found */
	int readings;      /* likewise; map: what it has read last on each CPU */
	int differences;   /* likewise; map: the difference of that to the reading before */
	bool shared;       /* others find it */
};
#define BPF_LEADER_NONE \
	((struct bpf_leader){ .link = -1, .program = -1, .events = -1, .readings = -1, .differences = -1 })

static int make_map(const char *path, struct error *e)
{
	int map = bpf_map_new("perf_attr_map", BPF_MAP_TYPE_HASH, sizeof(struct perf_event_attr),
			      sizeof(struct entry), LEADERS_MAX, 0);
	int err;

	if (map < 0)
		return error_sys(e, -map, "the map of shared events");
	err = bpf_on_name(BPF_OBJ_PIN, map, path);
	if (!err)
		return map;
	close(map);
	/* Another process was faster. */
	map = err == -EEXIST ? bpf_on_name(BPF_OBJ_GET, 0, path) : err;
	return map < 0 ? error_sys(e, -map, "%.200s", path) : map;
}

/* The directory for the name: it must be on a BPF file system. */
static int check_folder(const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	char folder[512];
	struct statfs fs;

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	if (statfs(*folder ? folder : "/", &fs))
		return error_sys(e, errno, "%.200s", folder);
	if ((int)fs.f_type != BPF_FS)
		return error_set(e, ENOTSUP, "%.200s is not a BPF file system; mount -t bpf bpf /sys/fs/bpf", folder);
	/* Check with the caller's rights: pmrec may have more. */
	if (access(path, R_OK | W_OK) && (errno != ENOENT || access(*folder ? folder : "/", W_OK)))
		return error_sys(e, errno, "%.200s", path);
	return 0;
}

static void bpf_leaders_close(struct bpf_leaders *l)
{
	if (l->map < 0)
		return;
	flock(l->map, LOCK_UN);
	close(l->map);
	l->map = -1;
}

/* 0, or -errno with the text in *e. `path` has to be in a BPF file system. */
static int bpf_leaders_open(struct bpf_leaders *l, const char *path, struct error *e)
{
	struct bpf_map_info info = { 0 };
	int err = check_folder(path, e);

	*l = (struct bpf_leaders){ .map = -1 };
	if (err)
		return err;
	l->map = bpf_on_name(BPF_OBJ_GET, 0, path);
	if (l->map == -ENOENT)
		l->map = make_map(path, e);
	else if (l->map < 0)
		error_sys(e, -l->map, "%.200s", path);
	if (l->map < 0)
		return l->map;
	err = bpf_info(l->map, &info, sizeof(info));
	if (err) {
		error_sys(e, -err, "%.200s", path);
	} else if (info.type != BPF_MAP_TYPE_HASH || info.key_size < PERF_ATTR_SIZE_VER5 ||
		   info.key_size > PERF_ATTR_BYTES || info.value_size != sizeof(struct entry)) {
		err = error_set(e, EINVAL,
				"%.200s is not a map of shared events; name another one with --bpf-attr-map", path);
	} else if (flock(l->map, LOCK_EX)) {
		err = error_sys(e, errno, "locking %.200s", path);
	}
	l->key_size = info.key_size;
	if (err)
		bpf_leaders_close(l);
	return err;
}

/* The event as all users share it: always enabled, without settings of any user, and with both times. */
static void common_attr(union perf_attr *to, const union perf_attr *from)
{
	*to = *from;
	to->a.disabled = 0;
	to->a.inherit = 0;
	to->a.enable_on_exec = 0;
	to->a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

/* R6 = the previous reading, R7 = the difference to it; the current reading is at FP + NOW. */
enum { NOW = -32 };

static void write_leader(struct bpf_code *c, int events, int before, int differences)
{
	code_element_at(c, before, -4, 0);
	code_copy(c, R6, R0);
	code_element_at(c, differences, -4, 0);
	code_copy(c, R7, R0);
	/* What cannot be read adds nothing: otherwise followers would add the last difference again. */
	code_clear_cell(c, R7);
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_read_event(c, events, R0, FP, NOW);
	code_exit_unless_zero(c, R0);
	code_differences(c, FP, NOW, R6, R7, 0);
	code_exit(c);
}

static int load_leader(int events, int before, int differences, struct error *e)
{
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int btf = btf_function("on_switch");

	if (btf < 0)
		return error_sys(e, -btf, "the BTF of a BPF program");
	write_leader(&c, events, before, differences);
	return bpf_program_load(
		&(struct bpf_program){ .name = "on_switch", .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .btf = btf }, &c,
		e);
}

/* Puts the event on a CPU into the map, which keeps it open. */
static int leader_event(int events, const union perf_attr *attr, const char *filter, uint32_t cpu)
{
	union perf_attr common;
	SCOPED(fd_close) int fd = -1;

	common_attr(&common, attr);
	fd = perf_open(&common, perf_on_cpu((int)cpu), -1);
	if (fd < 0)
		return fd;
	return filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) ? -errno : bpf_map_put_fd(events, &cpu, fd);
}

/* Some CPUs may lack the event, or have just gone offline, but not all. */
static int add_events(int events, const union perf_attr *attr, const char *filter, const struct cpulist *cpus,
		      struct error *e)
{
	int err = 0, last = -ENODEV;
	size_t n = 0;

	for (size_t i = 0; i < cpus->n && err != -EMFILE && err != -ENOMEM; i++) {
		err = leader_event(events, attr, filter, cpus->cpu[i]);
		last = err ? err : last;
		n += !err;
	}
	if (n && err != -EMFILE && err != -ENOMEM)
		return 0;
	return error_sys(e, -last, "opening the event on all CPUs");
}

static int make_leader(struct bpf_leader *l, const union perf_attr *attr, const char *filter,
		       const struct cpulist *cpus, uint32_t n_cpus, struct error *e)
{
	int err;

	l->events = bpf_map_new("events", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, n_cpus, BPF_KEEP_EVENTS);
	l->readings =
		l->events < 0 ? l->events : bpf_map_new("prev_readings", BPF_MAP_TYPE_PERCPU_ARRAY, 4, CELL, 1, 0);
	l->differences = l->readings < 0 ? l->readings :
					   bpf_map_new("diff_readings", BPF_MAP_TYPE_PERCPU_ARRAY, 4, CELL, 1, 0);
	err = l->differences < 0 ? error_sys(e, -l->differences, "a BPF map") : 0;
	if (!err)
		err = l->program = load_leader(l->events, l->readings, l->differences, e);
	if (err >= 0)
		err = add_events(l->events, attr, filter, cpus, e);
	if (err >= 0) {
		err = l->link = bpf_program_attach(l->program, "sched_switch");
		if (err < 0)
			error_sys(e, -err, "attaching to sched_switch");
	}
	return err < 0 ? err : 0;
}

enum { MAPS_MAX = 8 };

/* A map of the leader with that type and another id. A descriptor or -errno. */
static int map_of(const struct bpf_leader *l, enum bpf_map_type type, uint32_t other)
{
	uint32_t id[MAPS_MAX];
	struct bpf_prog_info program = { .nr_map_ids = MAPS_MAX };
	int err = bpf_info_list(l->program, &program, sizeof(program), offsetof(struct bpf_prog_info, map_ids), id,
				sizeof(id));

	for (uint32_t i = 0; i < program.nr_map_ids && i < MAPS_MAX && !err; i++) {
		struct bpf_map_info info = { 0 };
		int map = bpf_by_id(BPF_MAP_GET_FD_BY_ID, id[i]);

		err = map < 0 ? map : bpf_info(map, &info, sizeof(info));
		if (!err && info.type == type && info.id != other)
			return map;
		if (map >= 0)
			close(map);
	}
	return err ? err : -ENOENT;
}

/* Joins the leader that the entry names; -ENOENT if it has ended. */
static int find_leader(struct bpf_leader *l, const struct entry *entry)
{
	struct bpf_link_info link = { 0 };
	int err;

	l->link = bpf_by_id(BPF_LINK_GET_FD_BY_ID, entry->link_id);
	if (l->link < 0)
		return l->link;
	err = bpf_info(l->link, &link, sizeof(link));
	if (!err)
		err = l->program = bpf_by_id(BPF_PROG_GET_FD_BY_ID, link.prog_id);
	if (err >= 0)
		err = l->differences = bpf_by_id(BPF_MAP_GET_FD_BY_ID, entry->differences_id);
	if (err >= 0)
		err = l->readings = map_of(l, BPF_MAP_TYPE_PERCPU_ARRAY, entry->differences_id);
	return err < 0 ? err : 0;
}

/* Drops the entries of leaders that have ended. */
static void sweep(const struct bpf_leaders *all)
{
	char key[PERF_ATTR_BYTES] = { 0 }, next[PERF_ATTR_BYTES] = { 0 };
	bool more = !bpf_map_next(all->map, NULL, key);

	while (more) {
		struct entry entry;
		SCOPED(fd_close) int link = -1;

		more = !bpf_map_next(all->map, key, next);
		if (!bpf_map_get(all->map, key, &entry))
			link = bpf_by_id(BPF_LINK_GET_FD_BY_ID, entry.link_id);
		if (link == -ENOENT)
			bpf_map_drop(all->map, key);
		memcpy(key, next, sizeof(key));
	}
}

static int tell_leader(const struct bpf_leaders *all, const void *key, const struct bpf_leader *l, struct error *e)
{
	struct bpf_link_info link = { 0 };
	struct bpf_map_info map = { 0 };
	struct entry entry;
	int err = bpf_info(l->link, &link, sizeof(link));

	if (!err)
		err = bpf_info(l->differences, &map, sizeof(map));
	entry = (struct entry){ .link_id = link.id, .differences_id = map.id };
	if (!err)
		err = bpf_map_put(all->map, key, &entry);
	if (err == -E2BIG) {
		sweep(all);
		err = bpf_map_put(all->map, key, &entry);
	}
	return err ? error_sys(e, -err, "the map of shared events") : 0;
}

/* Keys that are too short for an event would take it for another one. */
static bool has_key(const struct bpf_leaders *all, const union perf_attr *key)
{
	bool has = all->map >= 0;

	for (uint32_t i = all->key_size; i < PERF_ATTR_BYTES; i++)
		has = has && !key->bytes[i];
	return has;
}

static void bpf_leader_release(struct bpf_leader *l)
{
	int *const fd[] = { &l->link, &l->program, &l->events, &l->readings, &l->differences };

	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		fd_close(fd[i]);
}

/* Finds the leader of the event, or begins one with events on `cpus`; n_cpus: possible CPUs. `filter`: of a
 * tracepoint, or NULL; what is filtered is not shared. 0 or -errno with the text in *e; bpf_leader_release() in any
 * case. */
static int bpf_leader_begin(struct bpf_leader *l, const struct bpf_leaders *all, const union perf_attr *attr,
			    const char *filter, const struct cpulist *cpus, uint32_t n_cpus, struct error *e)
{
	union perf_attr key;
	bool shared;
	struct entry entry;
	int err;

	*l = BPF_LEADER_NONE;
	common_attr(&key, attr);
	shared = l->shared = has_key(all, &key) && !filter;
	if (shared && !bpf_map_get(all->map, key.bytes, &entry)) {
		err = find_leader(l, &entry);
		if (!err)
			return 0;
		bpf_leader_release(l);
		if (err == -EPERM)
			return error_set(
				e, EPERM,
				"sharing an event that others count needs CAP_SYS_ADMIN; name another map with "
				"--bpf-attr-map, or setcap cap_sys_admin=ep \"$(command -v pmrec)\"");
	}
	err = make_leader(l, attr, filter, cpus, n_cpus, e);
	return err || !shared ? err : tell_leader(all, key.bytes, l, e);
}

/* A CPU has come online: the event is opened there, too. 0 or -errno. */
static int bpf_leader_add_cpu(const struct bpf_leader *l, const union perf_attr *attr, const char *filter,
			      uint32_t cpu)
{
	int events = l->events < 0 ? map_of(l, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 0) : l->events;
	int err = events < 0 ? events : leader_event(events, attr, filter, cpu);

	if (events >= 0 && events != l->events)
		close(events);
	return err;
}

/* ---- followers of a leader: for every CPU, for some tasks and their children, or for cgroups ---- */

/* Whose counts followers keep apart, for all of them together: a map from the id of a thread, or of a cgroup, to the
 * place of its counts. */
struct bpf_places {
	int map; /* -1: none */
	uint32_t n;
	bool cgroups;    /* else tasks */
	uint32_t *place; /* owned; of each cgroup */
	int link[2];     /* beginning and end of tasks */
};
#define BPF_PLACES_NONE ((struct bpf_places){ .map = -1, .link = { -1, -1 } })

/* The kernel's number for the initial PID namespace. */
#define FIRST_PID_NAMESPACE "pid:[4026531836]"

/* A task starts, and its parent runs: task_newtask(task, clone_flags). */
static void write_begin(struct bpf_code *c, int tasks, int32_t pid)
{
	code_load(c, R6, R1, 0);
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_element_of(c, tasks, -4, R0);
	code_load32(c, R7, R0, 0);
	code_peek32(c, R6, pid, -8);
	code_store32(c, FP, -12, R7);
	code_address(c, R3, FP, -12);
	code_set(c, R4, BPF_NOEXIST);
	code_on_map(c, BPF_FUNC_map_update_elem, tasks, -8);
	code_exit(c);
}

/* A task has been freed, long after it last ran, and so has its id: sched_process_free(task). */
static void write_end(struct bpf_code *c, int tasks, int32_t pid)
{
	code_load(c, R6, R1, 0);
	code_peek32(c, R6, pid, -4);
	code_on_map(c, BPF_FUNC_map_delete_elem, tasks, -4);
	code_exit(c);
}

static const struct watch {
	const char *name, *tracepoint;
	void (*write)(struct bpf_code *c, int tasks, int32_t pid);
	bool if_inherited;
} watches[] = {
	{ "pmrec_begin", "task_newtask", write_begin, true },
	{ "pmrec_end", "sched_process_free", write_end, false },
};

static int watch_tasks(const struct watch *w, int tasks, int32_t pid, struct error *e)
{
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int fd = -1;
	int link;

	w->write(&c, tasks, pid);
	fd = bpf_program_load(&(struct bpf_program){ .name = w->name, .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, &c, e);
	if (fd < 0)
		return fd;
	link = bpf_program_attach(fd, w->tracepoint);
	return link < 0 ? error_sys(e, -link, "attaching to %s", w->tracepoint) : link;
}

static int find_pid(const struct root *root, struct error *e)
{
	SCOPED(btf_release) struct btf b;
	int err = btf_read_kernel(&b, root);
	int32_t pid = err ? -1 : btf_member(&b, "task_struct", "pid");

	if (err || pid < 0)
		return error_set(e, ENOTSUP,
				 "counting tasks with BPF needs /sys/kernel/btf/vmlinux, a kernel with "
				 "CONFIG_DEBUG_INFO_BTF=y");
	return pid;
}

/* For `n` tasks, whose ids are put into the map later. With `inherit`, children count with their task. BPF programs
 * see ids of the whole system: -ENOTSUP in a container with its own. 0 or -errno with the text in *e; call
 * bpf_places_release() in any case. */
static int bpf_tasks_init(struct bpf_places *t, const struct root *root, uint32_t n, bool inherit, struct error *e)
{
	char space[64];
	uint64_t most;
	int pid, err = 0;

	*t = BPF_PLACES_NONE;
	t->n = n;
	if (!root_link_name(root, space, sizeof(space), "/proc/self/ns/pid") && strcmp(space, FIRST_PID_NAMESPACE))
		return error_set(e, ENOTSUP,
				 "BPF programs see process ids other than those in this container; count with -a or "
				 "--for-each-cgroup, or outside the container");
	pid = find_pid(root, e);
	if (pid < 0)
		return pid;
	if (root_u64(root, &most, "/proc/sys/kernel/pid_max") || most > UINT32_MAX)
		most = 1 << 22;
	t->map = bpf_map_new("pmrec_tasks", BPF_MAP_TYPE_HASH, 4, 4, (uint32_t)most, BPF_F_NO_PREALLOC);
	if (t->map < 0)
		return error_sys(e, -t->map, "a BPF map");
	for (size_t i = 0; i < sizeof(watches) / sizeof(watches[0]) && err >= 0; i++)
		if (inherit || !watches[i].if_inherited)
			err = t->link[i] = watch_tasks(&watches[i], t->map, pid, e);
	return err < 0 ? err : 0;
}

/* The type that statfs() reports for a version 2 hierarchy. */
#define VERSION_2 0x63677270u

/* For cgroups, of version 2: the id of each is its directory's inode number. As above. */
static int bpf_cgroups_init(struct bpf_places *t, const struct perf_cgroup *cgroup, uint32_t n, struct error *e)
{
	*t = BPF_PLACES_NONE;
	t->cgroups = true;
	t->n = n;
	t->place = memory_new(n, sizeof(*t->place));
	t->map = bpf_map_new("pmrec_cgroups", BPF_MAP_TYPE_HASH, 8, 4, n, 0);
	if (t->map < 0)
		return error_sys(e, -t->map, "a BPF map");
	for (uint32_t i = 0; i < n; i++) {
		struct statfs fs;
		struct stat st;
		int err = fstat(cgroup[i].fd, &st) || fstatfs(cgroup[i].fd, &fs) ? -errno : 0;

		if (!err && (uint32_t)fs.f_type != VERSION_2)
			return error_set(e, ENOTSUP,
					 "BPF programs see only version 2 cgroups, and perf_event is in version 1 "
					 "here; boot with cgroup_no_v1=perf_event, or count without --bpf-counters");
		/* Of two names of one cgroup, the second has the place of the first. */
		if (!err && bpf_map_get(t->map, &(uint64_t){ st.st_ino }, &t->place[i])) {
			t->place[i] = i;
			err = bpf_map_put(t->map, &(uint64_t){ st.st_ino }, &i);
		}
		if (err)
			return error_sys(e, -err, "cgroup %s", cgroup[i].name);
	}
	return 0;
}

static void bpf_places_release(struct bpf_places *t)
{
	for (size_t i = 0; i < 2; i++)
		fd_close(&t->link[i]);
	fd_close(&t->map);
	free(t->place);
	*t = BPF_PLACES_NONE;
}

struct bpf_follower {
	int link, program;
	uint32_t n_places, n_cpus;
	/* The first: whether it counts. Then, of each CPU, what the leader had read when this one ran last. Then the
	 * counts: CPU * n_places + place. */
	struct bpf_cells cells;
};
#define BPF_FOLLOWER_NONE ((struct bpf_follower){ .link = -1, .program = -1, .cells = BPF_CELLS_NONE })

/* Cells before the counts. */
static uint32_t first_count(const struct bpf_follower *f)
{
	return 1 + f->n_cpus;
}

enum { DIFFERENCE = -40, DEPTH_MAX = 64 };

/* Adds the difference to each cgroup from the root to that of the running task: R8 = the first count of the CPU, R9 =
 * the depth. */
static void write_cgroups(struct bpf_code *c, const struct bpf_follower *f, int places)
{
	uint32_t top, unknown, none;

	code_set(c, R9, 0);
	top = c->n;
	code_copy(c, R1, R9);
	code_call(c, BPF_FUNC_get_current_ancestor_cgroup_id);
	code_exit_if_zero(c, R0);
	code_store(c, FP, -16, R0);
	code_on_map(c, BPF_FUNC_map_lookup_elem, places, -16);
	unknown = code_skip_if_zero(c, R0);
	code_load32(c, R1, R0, 0);
	code_add(c, R1, R8);
	code_store32(c, FP, -4, R1);
	code_on_map(c, BPF_FUNC_map_lookup_elem, f->cells.map, -4);
	none = code_skip_if_zero(c, R0);
	code_add_cell(c, R0, FP, DIFFERENCE);
	code_here(c, unknown);
	code_here(c, none);
	code_add_value(c, R9, 1);
	code_again_if_below(c, R9, DEPTH_MAX, top);
	code_exit(c);
}

/* R6 = the leader's reading, R7 = its previous reading; stores the difference at FP + DIFFERENCE; R8 = the CPU. Then
 * the program ends if this follower is stopped, or if the task that leaves the CPU is in none of its places. */
static void write_follower(struct bpf_code *c, const struct bpf_follower *f, int readings,
			   const struct bpf_places *places)
{
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_copy(c, R8, R0);
	code_element_at(c, readings, -4, 0);
	code_copy(c, R6, R0);
	code_address(c, R1, R8, 1);
	code_element_of(c, f->cells.map, -4, R1);
	code_copy(c, R7, R0);
	code_differences(c, R6, 0, R7, FP, DIFFERENCE);
	code_element_at(c, f->cells.map, -4, 0);
	code_load(c, R1, R0, 0);
	code_exit_if_zero(c, R1);
	code_multiply(c, R8, (int32_t)f->n_places);
	code_add_value(c, R8, (int32_t)first_count(f));
	if (places && places->cgroups) {
		write_cgroups(c, f, places->map);
		return;
	}
	if (places) {
		code_call(c, BPF_FUNC_get_current_pid_tgid);
		code_element_of(c, places->map, -4, R0);
		code_load32(c, R1, R0, 0);
		code_add(c, R8, R1);
	}
	code_element_of(c, f->cells.map, -4, R8);
	code_add_cell(c, R0, FP, DIFFERENCE);
	code_exit(c);
}

/* Runs after the leader; `places`: NULL to count whatever runs, in one place a CPU. It starts disabled. 0 or -errno
 * with the text in *e; bpf_follower_release() in any case. */
static int bpf_follower_init(struct bpf_follower *f, const struct bpf_leader *l, const struct bpf_places *places,
			     uint32_t n_cpus, struct error *e)
{
	struct bpf_code c = { 0 };
	int err;

	*f = BPF_FOLLOWER_NONE;
	f->n_places = places ? places->n : 1;
	f->n_cpus = n_cpus;
	err = bpf_cells_init(&f->cells, "pmrec_counts", sizeof(struct bpf_cell),
			     first_count(f) + f->n_places * n_cpus);
	if (err)
		return error_sys(e, -err, "a BPF map");
	write_follower(&c, f, l->readings, places);
	f->program = bpf_program_load(
		&(struct bpf_program){ .name = "pmrec_follower", .type = BPF_PROG_TYPE_RAW_TRACEPOINT }, &c, e);
	if (f->program < 0)
		return f->program;
	/* What attaches to a tracepoint later runs later: the leader is already attached. */
	f->link = bpf_program_attach(f->program, "sched_switch");
	return f->link < 0 ? error_sys(e, -f->link, "attaching to sched_switch") : 0;
}

static void bpf_follower_release(struct bpf_follower *f)
{
	fd_close(&f->link);
	fd_close(&f->program);
	bpf_cells_release(&f->cells);
	*f = BPF_FOLLOWER_NONE;
}

/* Reads the event on the CPU now, and counts the difference. Task switches meanwhile count as usual. */
static void bpf_follower_read(const struct bpf_follower *f, const struct bpf_leader *l, uint32_t cpu)
{
	bpf_program_run(l->program, cpu);
	bpf_program_run(f->program, cpu);
}

/* The count of a place, on a CPU or (PM_NONE) on all. */
static struct bpf_sum bpf_follower_sum(const struct bpf_follower *f, uint32_t place, uint32_t cpu)
{
	size_t index = first_count(f) + (size_t)(cpu == PM_NONE ? 0 : cpu) * f->n_places + place;

	return (struct bpf_sum){ .first = bpf_cells_at(&f->cells, index),
				 .step = f->n_places * sizeof(struct bpf_cell),
				 .n = cpu == PM_NONE ? f->n_cpus : 1 };
}

/* ---- counting while a BPF program runs (-b) ---- */

/* A program before it reads the events of the CPU, and one after it adds the difference. The kernel's own entry and
 * exit lie between the two: tens of nanoseconds per run. */

/* A program that is loaded in the kernel. */
struct bpf_target {
	uint32_t id;
	uint32_t function; /* in its BTF */
	int fd;            /* owned; -1: none */
	char name[BPF_OBJ_NAME_LEN];
};

struct bpf_profile {
	const struct bpf_target *target; /* borrowed, n_targets of them */
	uint32_t n_targets, n_events, n_cpus;
	int events;             /* map: event * n_cpus + CPU */
	struct bpf_cells cells; /* target * n_cpus + CPU */
	int *link;              /* owned; two of each target */
};
enum { BPF_PROFILE_EVENTS_MAX = 400 }; /* what lies after one address of a program */

/* 0; -ENOENT: no such program; -EPERM; -EINVAL: it has no BTF, so nothing can attach; -EPROTO: it is not compiled. *e
 * has cause and cure. */
static int bpf_target_find(struct bpf_target *t, uint32_t id, struct error *e)
{
	struct bpf_func_info function = { 0 };
	struct bpf_prog_info info = { 0 };
	int err;

	*t = (struct bpf_target){ .id = id, .fd = bpf_by_id(BPF_PROG_GET_FD_BY_ID, id) };
	if (t->fd == -ENOENT)
		return error_set(e, ENOENT, "-b %u: there is no such BPF program; `bpftool prog` lists them", id);
	if (t->fd == -EPERM)
		return error_set(e, EPERM,
				 "-b %u: finding BPF programs needs CAP_SYS_ADMIN; run pmrec as root, or setcap "
				 "cap_sys_admin=ep \"$(command -v pmrec)\"",
				 id);
	if (t->fd < 0)
		return error_sys(e, -t->fd, "-b %u", id);
	err = bpf_info(t->fd, &info, sizeof(info));
	if (err)
		return error_sys(e, -err, "-b %u", id);
	snprintf(t->name, sizeof(t->name), "%s", info.name);
	if (!info.btf_id || !info.nr_func_info)
		return error_set(e, EINVAL,
				 "-b %u: the BPF program %s was loaded without BTF, so nothing can attach to it; "
				 "build it with clang -g and load it with libbpf",
				 id, t->name);
	if (!info.jited_prog_len)
		return error_set(
			e, EPROTO,
			"-b %u: the BPF program %s is interpreted; reload it after sysctl net.core.bpf_jit_enable=1",
			id, t->name);
	info = (struct bpf_prog_info){ .func_info_rec_size = sizeof(function), .nr_func_info = 1 };
	err = bpf_info_list(t->fd, &info, sizeof(info), offsetof(struct bpf_prog_info, func_info), &function,
			    sizeof(function));
	if (err)
		return error_sys(e, -err, "-b %u", id);
	t->function = function.type_id;
	return 0;
}

/* An element of the cells: the run that has begun on the CPU, and three cells for each event. */
enum { AT_TAG = 0, AT_TOTAL = 8 };

static int16_t at_total(uint32_t event)
{
	return (int16_t)(AT_TOTAL + event * CELL);
}

static int16_t at_before(const struct bpf_profile *p, uint32_t event)
{
	return at_total(p->n_events + event);
}

static int16_t at_after(const struct bpf_profile *p, uint32_t event)
{
	return at_total(2 * p->n_events + event);
}

/* R6 = the element of this CPU, R7 = the CPU. */
static void find_element(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	code_call(c, BPF_FUNC_get_smp_processor_id);
	code_copy(c, R7, R0);
	code_add_value(c, R0, (int32_t)(target * p->n_cpus));
	code_element_of(c, p->cells.map, -4, R0);
	code_copy(c, R6, R0);
}

static void read_events(struct bpf_code *c, const struct bpf_profile *p, int16_t first)
{
	for (uint32_t i = 0; i < p->n_events; i++) {
		code_read_event(c, p->events, R7, R6, (int16_t)(first + i * CELL));
		code_add_value(c, R7, (int32_t)p->n_cpus);
	}
}

/* R0 = an identification of the running task: if the program is preempted, another task may begin it meanwhile. Never
 * 0. */
static void tag(struct bpf_code *c)
{
	code_call(c, BPF_FUNC_get_current_pid_tgid);
	code_add_value(c, R0, 1);
}

static void write_entry(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	find_element(c, p, target);
	tag(c);
	code_store(c, R6, AT_TAG, R0);
	read_events(c, p, at_before(p, 0));
	code_exit(c);
}

/* A cell that could not be read is all zero; one that was read has been enabled for some time. */
static void add_difference(struct bpf_code *c, const struct bpf_profile *p, uint32_t event)
{
	uint32_t unread, unread_before;

	code_load(c, R1, R6, (int16_t)(at_after(p, event) + ENABLED));
	unread = code_skip_if_zero(c, R1);
	code_load(c, R1, R6, (int16_t)(at_before(p, event) + ENABLED));
	unread_before = code_skip_if_zero(c, R1);
	for (int16_t word = 0; word < CELL; word += 8) {
		code_load(c, R1, R6, (int16_t)(at_after(p, event) + word));
		code_load(c, R2, R6, (int16_t)(at_before(p, event) + word));
		code_subtract(c, R1, R2);
		code_load(c, R2, R6, (int16_t)(at_total(event) + word));
		code_add(c, R1, R2);
		code_store(c, R6, (int16_t)(at_total(event) + word), R1);
	}
	code_here(c, unread);
	code_here(c, unread_before);
}

static void write_exit(struct bpf_code *c, const struct bpf_profile *p, uint32_t target)
{
	find_element(c, p, target);
	read_events(c, p, at_after(p, 0));
	tag(c);
	code_load(c, R1, R6, AT_TAG);
	code_exit_unless_equal(c, R0, R1);
	code_store_value(c, R6, AT_TAG, 0);
	for (uint32_t i = 0; i < p->n_events; i++)
		add_difference(c, p, i);
	code_exit(c);
}

static int attach(const struct bpf_profile *p, uint32_t target, bool entry, struct error *e)
{
	const struct bpf_target *t = &p->target[target];
	struct bpf_code c = { 0 };
	SCOPED(fd_close) int fd = -1;
	int link;

	(entry ? write_entry : write_exit)(&c, p, target);
	fd = bpf_program_load(&(struct bpf_program){ .name = entry ? "pmrec_entry" : "pmrec_exit",
						     .type = BPF_PROG_TYPE_TRACING,
						     .attach = entry ? BPF_TRACE_FENTRY : BPF_TRACE_FEXIT,
						     .target = t->fd,
						     .target_type = t->function },
			      &c, e);
	link = fd < 0 ? fd : bpf_program_attach(fd, NULL);
	if (link >= 0)
		return link;
	if (fd >= 0 && link == -E2BIG)
		error_set(e, E2BIG, "the kernel attaches no more programs to it; stop what else profiles it");
	else if (fd >= 0)
		error_sys(e, -link, "attaching to it");
	bpf_attach_refused(link, e);
	return error_prefix(e, "-b %u (%s)", t->id, t->name);
}

/* Attaches to all of them. 0 or -errno with the text in *e; bpf_profile_release() in any case. */
static int bpf_profile_init(struct bpf_profile *p, const struct bpf_target *target, uint32_t n_targets,
			    uint32_t n_events, uint32_t n_cpus, struct error *e)
{
	uint32_t size = AT_TOTAL + 3 * CELL * n_events;
	int err;

	*p = (struct bpf_profile){ .target = target,
				   .n_targets = n_targets,
				   .n_events = n_events,
				   .n_cpus = n_cpus,
				   .events = -1,
				   .cells = BPF_CELLS_NONE,
				   .link = memory_new((size_t)n_targets * 2, sizeof(*p->link)) };
	for (uint32_t i = 0; i < 2 * n_targets; i++)
		p->link[i] = -1;
	if (n_events > BPF_PROFILE_EVENTS_MAX)
		return error_set(e, E2BIG, "-b: more than %d events", BPF_PROFILE_EVENTS_MAX);
	p->events = bpf_map_new("pmrec_events", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, n_events * n_cpus, 0);
	err = p->events < 0 ? p->events : bpf_cells_init(&p->cells, "pmrec_runs", size, n_targets * n_cpus);
	if (err)
		return error_sys(e, -err, "a BPF map");
	/* Without an entry nothing is counted: attach to the exits first, so that no run is measured by half. */
	for (uint32_t i = 0; i < 2 * n_targets && err >= 0; i++)
		err = p->link[i] = attach(p, i % n_targets, i >= n_targets, e);
	return err < 0 ? err : 0;
}

static void bpf_profile_release(struct bpf_profile *p)
{
	for (uint32_t i = 0; p->link && i < 2 * p->n_targets; i++)
		fd_close(&p->link[i]);
	free(p->link);
	fd_close(&p->events);
	bpf_cells_release(&p->cells);
	*p = (struct bpf_profile){ .events = -1, .cells = BPF_CELLS_NONE };
}

/* The event is read from this descriptor on the CPU from now on, or no more (-1). 0 or -errno. */
static int bpf_profile_put(const struct bpf_profile *p, uint32_t event, uint32_t cpu, int fd)
{
	uint32_t key = event * p->n_cpus + cpu;

	return fd < 0 ? bpf_map_drop(p->events, &key) : bpf_map_put_fd(p->events, &key, fd);
}

/* What one event counted in one program on one CPU. */
static struct bpf_sum bpf_profile_sum(const struct bpf_profile *p, uint32_t target, uint32_t event, uint32_t cpu)
{
	const char *element = bpf_cells_at(&p->cells, (size_t)target * p->n_cpus + cpu);

	return (struct bpf_sum){ .first = (const void *)(element + at_total(event)), .n = 1 };
}

/* ---- what groups and rows have of it ---- */

/* What all groups that BPF counts share. */
struct perf_bpf {
	uint32_t n_cpus;       /* possible CPUs */
	struct cpulist online; /* when it began */
	struct bpf_target *target;
	uint32_t n_targets;
	struct bpf_profile profile;
	struct bpf_places places; /* of tasks or of cgroups */
	uint32_t *task;           /* owned; instance of each place of a task */
};

/* A member of a group. */
struct bpf_member {
	uint32_t index; /* among the events of the profile */
	struct bpf_leader leader;
	struct bpf_follower follower;
};

static struct bpf_group *row_bpf(const struct perf_row *row)
{
	return row->group->bpf;
}

static uint32_t row_cpu(const struct perf_row *row)
{
	return row->at.cpu < 0 ? PM_NONE : (uint32_t)row->at.cpu;
}

/* ---- around the runs of a program ---- */

/* Puts the row's open events into the map, or takes them out: it would keep them open. */
static int profile_put(const struct perf_row *row, bool in)
{
	const struct bpf_group *b = row_bpf(row);
	int err = 0;

	for (uint32_t k = 0; k < row->n && !b->target && !err; k++)
		if (row->fd[k] >= 0)
			err = bpf_profile_put(&b->all->profile, b->member[k].index, row_cpu(row),
					      in ? row->fd[k] : -1);
	return err;
}

static struct bpf_sum profile_sum(const struct perf_row *row, uint32_t k)
{
	const struct bpf_group *b = row_bpf(row);

	return bpf_profile_sum(&b->all->profile, b->target, b->member[k].index, row_cpu(row));
}

/* ---- through a leader ---- */

static int leader_begin(struct perf_source *s, struct plan *p, struct perf_group *g, struct error *e)
{
	struct perf_bpf *all = s->bpf;
	const char *path = p->options->perf.bpf_attr_map;
	struct bpf_leaders leaders;
	struct error why = { 0 };
	struct bpf_group *b = g->bpf;
	bool shared = true;
	int err = 0;

	if (all->places.map < 0 && g->tasks)
		err = bpf_tasks_init(&all->places, p->root, s->n_tasks, g->inherit, e);
	else if (all->places.map < 0 && g->n_cgroups)
		err = bpf_cgroups_init(&all->places, s->cgroup, s->n_cgroups, e);
	if (err)
		return err;
	if (bpf_leaders_open(&leaders, path ? path : BPF_ATTR_MAP, &why)) {
		if (path)
			return error_set(e, why.number, "--bpf-attr-map: %s", why.text);
		if (b->first)
			err = plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_NOT_SHARED, why.text));
	}
	for (uint32_t k = 0; k < b->n && !err; k++) {
		struct bpf_member *m = &b->member[k];
		const struct perf_event *ev = g->member[k];

		err = bpf_leader_begin(&m->leader, &leaders, &ev->attr, ev->filter, &all->online, all->n_cpus, e);
		if (!err)
			err = bpf_follower_init(&m->follower, &m->leader,
						g->tasks || g->n_cgroups ? &all->places : NULL, all->n_cpus, e);
		if (err)
			error_prefix(e, "%s", ev->ev->name);
		shared = shared && m->leader.shared;
	}
	snprintf(b->text, sizeof(b->text), "%s", shared ? "shared" : "alone");
	bpf_leaders_close(&leaders);
	return err;
}

static uint32_t row_place(const struct perf_row *row)
{
	const struct perf_bpf *all = row_bpf(row)->all;
	uint32_t i = 0;

	if (row->group->n_cgroups)
		return all->places.place[row->cgroup];
	while (row->group->tasks && i < all->places.n && all->task[i] != row->instance)
		i++;
	return i;
}

static struct bpf_sum leader_sum(const struct perf_row *row, uint32_t k)
{
	return bpf_follower_sum(&row_bpf(row)->member[k].follower, row_place(row), row_cpu(row));
}

static int leader_open(struct perf_row *row)
{
	const struct bpf_group *b = row_bpf(row);

	if (!row->group->tasks)
		return 0;
	for (uint32_t k = 0; k < row->n; k++)
		bpf_sum_clear(&row->sum[k]);
	return bpf_map_put(b->all->places.map, &row->at.pid, &(uint32_t){ row_place(row) });
}

static void read_everywhere(const struct bpf_group *b, uint32_t k)
{
	for (size_t i = 0; i < b->all->online.n; i++)
		bpf_follower_read(&b->member[k].follower, &b->member[k].leader, b->all->online.cpu[i]);
}

static void leader_enable(struct perf_row *row, bool on)
{
	struct bpf_group *b = row_bpf(row);

	for (uint32_t k = 0; k < row->n; k++) {
		read_everywhere(b, k);
		bpf_cells_enable(&b->member[k].follower.cells, on);
	}
}

enum perf_way perf_way_of(const struct record_options *o, const struct event *ev)
{
	if (ev->type == EVENT_TYPE_TOOL)
		return PERF_BY_READ;
	if (o->perf.bpf_programs)
		return PERF_BY_PROGRAM;
	/* Events outside of cores belong to no task. */
	return !ev->uncore && (o->perf.bpf_counters || ev->mods & EVENT_MOD_BPF) ? PERF_BY_LEADER : PERF_BY_READ;
}

/* ---- rows ---- */

int bpf_row_open(struct perf_row *row)
{
	bool program = row->group->way == PERF_BY_PROGRAM;

	if (!row->sum)
		row->sum = memory_new(row->n, sizeof(*row->sum));
	for (uint32_t k = 0; k < row->n; k++)
		row->sum[k] = program ? profile_sum(row, k) : leader_sum(row, k);
	return program ? profile_put(row, true) : leader_open(row);
}

void bpf_row_close(struct perf_row *row)
{
	if (row->sum && row->group->way == PERF_BY_PROGRAM)
		profile_put(row, false);
	else if (row->sum && row->group->tasks)
		bpf_map_drop(row_bpf(row)->all->places.map, &row->at.pid);
}

int bpf_row_enable(struct perf_row *row, bool on)
{
	struct bpf_group *b = row_bpf(row);

	/* It concerns all rows alike. */
	if (row->group->way == PERF_BY_LEADER && b->on != on)
		leader_enable(row, on);
	b->on = on;
	return 0;
}

/* The running task has been counted up to its last switch only. Tasks may run anywhere; one reading of a CPU is for
 * all cgroups. */
void bpf_row_refresh(const struct perf_row *row)
{
	const struct perf_group *g = row->group;

	for (uint32_t k = 0; k < row->n && g->way == PERF_BY_LEADER; k++) {
		if (g->tasks && row == g->row[0])
			read_everywhere(g->bpf, k);
		else if (!g->tasks && (!g->n_cgroups || row->cgroup == g->first_cgroup))
			bpf_follower_read(&g->bpf->member[k].follower, &g->bpf->member[k].leader, row_cpu(row));
	}
}

ssize_t bpf_row_read(const struct perf_row *row)
{
	uint32_t words = row->first + row->n_open;

	bpf_row_refresh(row);
	for (uint32_t k = 0; k < row->n_open; k++) {
		struct bpf_cell count = bpf_sum_read(&row->sum[row->place[k]]);

		row->got[row->first + k] = count.value;
		if (k)
			continue;
		row->got[PERF_READ_ENABLED] = count.enabled;
		row->got[PERF_READ_RUNNING] = count.running;
	}
	return (ssize_t)((words < PERF_READ_HEAD ? PERF_READ_HEAD : words) * sizeof(*row->got));
}

void bpf_group_online(struct perf_group *g, uint32_t cpu)
{
	if (g->way != PERF_BY_LEADER)
		return;
	cpulist_add(&g->bpf->all->online, cpu);
	for (uint32_t k = 0; k < g->n; k++)
		(void)bpf_leader_add_cpu(&g->bpf->member[k].leader, &g->member[k]->attr, g->member[k]->filter, cpu);
}

/* ---- groups ---- */

static struct bpf_group *group_new(struct perf_bpf *all, const struct perf_group *g)
{
	struct bpf_group *b = memory_new(1, sizeof(*b));

	*b = (struct bpf_group){ .opens = g->way == PERF_BY_PROGRAM,
				 .all = all,
				 .n = g->n,
				 .member = memory_new(g->n, sizeof(*b->member)) };
	for (uint32_t k = 0; k < g->n; k++)
		b->member[k] = (struct bpf_member){ .leader = BPF_LEADER_NONE, .follower = BPF_FOLLOWER_NONE };
	return b;
}

void bpf_group_free(struct bpf_group *b)
{
	if (!b)
		return;
	for (uint32_t k = 0; k < b->n; k++) {
		bpf_follower_release(&b->member[k].follower);
		bpf_leader_release(&b->member[k].leader);
	}
	free(b->member);
	free(b);
}

/* ---- all together ---- */

static struct perf_bpf *bpf_new(const struct perf_source *s, const struct plan *p)
{
	struct perf_bpf *b = memory_new(1, sizeof(*b));
	SCOPED(cpulist_release) struct cpulist possible = { 0 };
	int err;

	*b = (struct perf_bpf){ .profile = { .events = -1, .cells = BPF_CELLS_NONE },
				.places = BPF_PLACES_NONE,
				.task = memory_new(s->n_tasks, sizeof(*b->task)) };
	err = root_cpulist(p->root, &b->online, "/sys/devices/system/cpu/online");
	if (!err)
		err = root_cpulist(p->root, &possible, "/sys/devices/system/cpu/possible");
	b->n_cpus = err || !possible.n ? 0 : possible.cpu[possible.n - 1] + 1;
	for (uint32_t i = 0; i < s->n_tasks; i++)
		b->task[i] = s->task[i].instance;
	if (b->n_cpus)
		return b;
	perf_bpf_release(b);
	return NULL;
}

void perf_bpf_release(struct perf_bpf *b)
{
	if (!b)
		return;
	bpf_profile_release(&b->profile);
	for (uint32_t i = 0; i < b->n_targets; i++)
		fd_close(&b->target[i].fd);
	free(b->target);
	bpf_places_release(&b->places);
	free(b->task);
	cpulist_release(&b->online);
	free(b);
}

static int find_targets(struct perf_bpf *b, const char *list, struct error *e)
{
	for (const char *at = list; *at;) {
		int err;

		memory_room(&b->target, b->n_targets, sizeof(*b->target));
		err = bpf_target_find(&b->target[b->n_targets], (uint32_t)strtoul(at, NULL, 10), e);
		b->n_targets++;
		if (err)
			return err;
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return 0;
}

/* Groups for the programs after the first: the same events, counted in another program. */
static void add_twin(struct perf_source *s, const struct perf_group *g, uint32_t target)
{
	struct perf_group *twin = perf_group_like(&s->group, &s->n_groups, g);

	twin->copy = memory_new(g->n, sizeof(*twin->copy));
	for (uint32_t k = 0; k < g->n; k++) {
		twin->copy[k] = *g->member[k];
		perf_group_add(twin, &twin->copy[k]);
	}
	twin->bpf = group_new(g->bpf->all, twin);
	for (uint32_t k = 0; k < g->n; k++)
		twin->bpf->member[k].index = g->bpf->member[k].index;
	twin->bpf->target = target;
	twin->bpf->opens = false;
}

static void name_programs(struct perf_source *s)
{
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct bpf_group *b = s->group[i]->bpf;
		const struct bpf_target *t = &s->bpf->target[b ? b->target : 0];

		if (!b || s->group[i]->way != PERF_BY_PROGRAM)
			continue;
		snprintf(b->text, sizeof(b->text), "program %u", t->id);
		b->name = *t->name ? t->name : NULL;
	}
}

static int begin_profile(struct perf_source *s, struct plan *p, uint32_t n_events, struct error *e)
{
	struct perf_bpf *b = s->bpf;
	uint32_t n_groups = s->n_groups;
	int err = find_targets(b, p->options->perf.bpf_programs, e);

	/* The counts in several programs are added up like those of several PMUs. */
	for (uint32_t i = 0; i < n_groups && b->n_targets > 1; i++)
		for (uint32_t k = 0; k < s->group[i]->n; k++)
			if (s->group[i]->way == PERF_BY_PROGRAM && !s->group[i]->member[k]->ev->wildcard)
				s->group[i]->member[k]->ev->wildcard = ++s->set.wildcards;
	if (!err && n_events)
		err = bpf_profile_init(&b->profile, b->target, b->n_targets, n_events, b->n_cpus, e);
	if (err)
		return err;
	for (uint32_t t = 1; t < b->n_targets; t++)
		for (uint32_t i = 0; i < n_groups; i++)
			if (s->group[i]->way == PERF_BY_PROGRAM)
				add_twin(s, s->group[i], t);
	name_programs(s);
	return 0;
}

int perf_bpf_check(const struct perf_source *s, struct plan *p, struct error *e)
{
	bool any = p->options->perf.bpf_programs != NULL, groups = false;
	int err;

	for (size_t i = 0; i < s->set.n; i++) {
		const struct event *ev = &s->set.event[i];
		enum perf_way way = perf_way_of(p->options, ev);

		any = any || way != PERF_BY_READ;
		groups = groups || (way == PERF_BY_LEADER && ev->group && !(ev->mods & EVENT_MOD_WEAK));
	}
	err = any ? bpf_check(e) : 0;
	if (err || !groups)
		return err;
	return plan_refused(p, PM_OK, pm_remark(0), pm_remark(PM_REMARK_BPF_ONE_BY_ONE));
}

int perf_bpf_begin(struct perf_source *s, struct plan *p, struct error *e)
{
	uint32_t events[PERF_BY_LEADER + 1] = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < s->n_groups; i++)
		events[s->group[i]->way] += s->group[i]->n;
	if (!events[PERF_BY_LEADER] && !p->options->perf.bpf_programs)
		return 0;
	/* Options alone do not show single events with the modifier. */
	if (events[PERF_BY_LEADER] && p->options->perf.per_thread)
		return error_set(e, EINVAL, "BPF cannot follow new threads one by one, as --per-thread does");
	s->bpf = bpf_new(s, p);
	if (!s->bpf)
		return error_sys(e, ENOMEM, "counting with BPF");
	memset(events, 0, sizeof(events));
	for (uint32_t i = 0; i < s->n_groups; i++) {
		struct perf_group *g = s->group[i];

		if (g->way == PERF_BY_READ)
			continue;
		g->bpf = group_new(s->bpf, g);
		g->bpf->first = !events[g->way];
		for (uint32_t k = 0; k < g->n; k++)
			g->bpf->member[k].index = events[g->way]++;
	}
	if (p->options->perf.bpf_programs)
		err = begin_profile(s, p, events[PERF_BY_PROGRAM], e);
	for (uint32_t i = 0; i < s->n_groups && !err; i++)
		if (s->group[i]->way == PERF_BY_LEADER)
			err = leader_begin(s, p, s->group[i], e);
	return err;
}

void perf_bpf_doctor(const struct plan *p, struct buf *out)
{
	struct error why = { 0 };

	if (p->root->emulated)
		return;
	if (bpf_check(&why)) {
		buf_printf(out, "no --bpf-counters, no -b: %s\n", why.text);
		return;
	}
	buf_printf(out, "--bpf-counters works here%s\n",
		   root_exists(p->root, "/sys/kernel/btf/vmlinux") ?
			   "" :
			   " for CPUs and cgroups, not for tasks: they need a kernel with CONFIG_DEBUG_INFO_BTF=y");
	if (!privileges_has("cap_sys_admin"))
		buf_addstr(out, "no -b: finding BPF programs needs CAP_SYS_ADMIN\n");
}
