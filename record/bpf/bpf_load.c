#include "record/bpf/bpf_load.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/memory.h"
#include "record/host/opener.h"
#include "record/host/privileges.h"

void code_release(struct bpf_code *c)
{
	free(c->insn);
	*c = (struct bpf_code){ 0 };
}

static void append(struct bpf_code *c, uint8_t code, int to, int from, int16_t offset, int32_t value)
{
	memory_room(&c->insn, c->n, sizeof(*c->insn));
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

static void copy_name(char to[static BPF_OBJ_NAME_LEN], const char *name)
{
	snprintf(to, BPF_OBJ_NAME_LEN, "%s", name);
}

/* ---- maps ---- */

int bpf_map_new(const struct bpf_map_shape *shape)
{
	union bpf_attr a = { 0 };

	a.map_type = shape->type;
	a.key_size = shape->key_size;
	a.value_size = shape->value_size;
	a.max_entries = shape->entries;
	a.map_flags = shape->flags;
	copy_name(a.map_name, shape->name);
	return call(BPF_MAP_CREATE, &a, NULL);
}

/* Another process cannot see the sizes of keys and values. */
static int sizes_of(int map, uint32_t *key, uint32_t *value)
{
	struct bpf_map_info info = { 0 };
	int err = bpf_info(map, &info, sizeof(info));

	*key = info.key_size;
	*value = info.value_size;
	return err;
}

enum direction { IN, OUT, DESCRIPTOR };

static int on_element(enum bpf_cmd command, int map, const void *key, const void *value, enum direction direction)
{
	struct opener_baggage b = { .fd_at = { AT(map_fd) }, .n_fds = 1 };
	uint32_t key_size, value_size;
	union bpf_attr a = { 0 };
	int err;

	a.map_fd = (uint32_t)map;
	a.key = address(key);
	a.value = address(value);
	if (!syscall(SYS_bpf, command, &a, sizeof(a)))
		return 0;
	if (errno != EPERM)
		return -errno;
	/* Before 5.19 the kernel gives unprivileged processes no access to the elements of an open map. */
	err = sizes_of(map, &key_size, &value_size);
	if (err)
		return err;
	add_blob(&b, AT(key), key, key_size, false);
	add_blob(&b, AT(value), value, command == BPF_MAP_GET_NEXT_KEY ? key_size : value_size, direction == OUT);
	if (value)
		b.blob[b.n_blobs - 1].fd = direction == DESCRIPTOR;
	return opener_bpf((int)command, &a, sizeof(a), &b);
}

int bpf_map_get(int map, const void *key, void *value)
{
	return on_element(BPF_MAP_LOOKUP_ELEM, map, key, value, OUT);
}

int bpf_map_put(int map, const void *key, const void *value)
{
	return on_element(BPF_MAP_UPDATE_ELEM, map, key, value, IN);
}

int bpf_map_put_fd(int map, const void *key, int fd)
{
	return on_element(BPF_MAP_UPDATE_ELEM, map, key, &fd, DESCRIPTOR);
}

int bpf_map_drop(int map, const void *key)
{
	return on_element(BPF_MAP_DELETE_ELEM, map, key, NULL, IN);
}

int bpf_map_next(int map, const void *key, void *next)
{
	return on_element(BPF_MAP_GET_NEXT_KEY, map, key, next, OUT);
}

/* ---- programs ---- */

static void describe_program(const struct bpf_program *p, union bpf_attr *a)
{
	a->prog_type = p->type;
	a->expected_attach_type = p->attach;
	a->license = address(license);
	a->attach_btf_id = p->target_type;
	a->attach_prog_fd = (uint32_t)p->target;
	copy_name(a->prog_name, p->name);
}

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

static int load_program(const struct bpf_program *p, const struct bpf_code *code, struct error *e)
{
	struct bpf_func_info function = { .insn_off = 0, .type_id = p->function };
	struct opener_baggage b = { .fd_at = { AT(attach_prog_fd), AT(prog_btf_fd) }, .n_fds = 2, .code = true };
	union bpf_attr a = { 0 };
	char *log;
	int fd;

	describe_program(p, &a);
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
	if (fd >= 0)
		return fd;
	error_sys(e, -fd, "the BPF program %s", p->name);
	log = memory_new(LOG_SIZE, 1);
	a.log_buf = address(log);
	a.log_size = LOG_SIZE;
	a.log_level = 1;
	add_blob(&b, AT(log_buf), log, LOG_SIZE, true);
	if (call(BPF_PROG_LOAD, &a, &b) < 0)
		add_log(e, log);
	free(log);
	return fd;
}

int bpf_program_load(const struct bpf_program *p, struct bpf_code *code, struct error *e)
{
	int fd = load_program(p, code, e);

	code_release(code);
	return fd;
}

int bpf_program_attach(int program, const char *tracepoint)
{
	struct opener_baggage b = { .fd_at = { AT(raw_tracepoint.prog_fd) }, .n_fds = 1 };
	union bpf_attr a = { 0 };

	a.raw_tracepoint.name = address(tracepoint);
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	add_text(&b, AT(raw_tracepoint.name), tracepoint);
	return call(BPF_RAW_TRACEPOINT_OPEN, &a, &b);
}

int bpf_program_run(int program, uint32_t cpu)
{
	union bpf_attr a = { 0 };

	a.test.prog_fd = (uint32_t)program;
	a.test.flags = BPF_F_TEST_RUN_ON_CPU;
	a.test.cpu = cpu;
	return syscall(SYS_bpf, BPF_PROG_TEST_RUN, &a, sizeof(a)) ? -errno : 0;
}

/* ---- what is there ---- */

int bpf_by_id(enum bpf_cmd command, uint32_t id)
{
	union bpf_attr a = { 0 };

	a.prog_id = id; /* the first of a union of ids */
	return call(command, &a, NULL);
}

int bpf_info_list(int fd, void *info, size_t size, size_t at, void *list, size_t list_size)
{
	struct opener_baggage b = { .fd_at = { AT(info.bpf_fd) }, .n_fds = 1 };
	uint64_t there = address(list);
	union bpf_attr a = { 0 };
	int err;

	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = (uint32_t)size;
	a.info.info = address(info);
	add_blob(&b, AT(info.info), info, size, true);
	if (list && list_size) {
		memcpy((char *)info + at, &there, sizeof(there));
		add_blob(&b, (uint16_t)at, list, list_size, true);
		b.blob[1].in = 1;
	}
	/* Without privileges the kernel reports less about a program, but no error. */
	err = opener_bpf(BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a), &b);
	if (list && list_size)
		memcpy((char *)info + at, &there, sizeof(there));
	if (err)
		err = syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &a, sizeof(a)) ? -errno : 0;
	return err;
}

int bpf_info(int fd, void *info, size_t size)
{
	return bpf_info_list(fd, info, size, 0, NULL, 0);
}

/* A descriptor or -errno. */
static int bpf_btf_load(const void *data, size_t size)
{
	struct opener_baggage b = { .n_fds = 0 };
	union bpf_attr a = { 0 };

	a.btf = address(data);
	a.btf_size = (uint32_t)size;
	add_blob(&b, AT(btf), data, size, false);
	return call(BPF_BTF_LOAD, &a, &b);
}

static int on_name(enum bpf_cmd command, int fd, const char *path)
{
	struct opener_baggage b = { .fd_at = { AT(bpf_fd) }, .n_fds = 1 };
	union bpf_attr a = { 0 };

	a.pathname = address(path);
	a.bpf_fd = (uint32_t)fd;
	add_text(&b, AT(pathname), path);
	return call(command, &a, &b);
}

int bpf_pin(int fd, const char *path)
{
	return on_name(BPF_OBJ_PIN, fd, path);
}

int bpf_pinned(const char *path)
{
	return on_name(BPF_OBJ_GET, 0, path);
}

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
enum { KIND_STRUCT = 4, KIND_UNION = 5, KIND_TYPEDEF = 8, KINDS = sizeof(lengths) / sizeof(lengths[0]) };

/* ---- reading ---- */

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

int btf_take(struct btf *b, struct buf *data)
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

int btf_read_kernel(struct btf *b, const struct root *root)
{
	SCOPED(buf_release) struct buf data = BUF_INIT;
	ssize_t size = root_read(root, &data, KERNEL_MAX, "/sys/kernel/btf/vmlinux");

	*b = (struct btf){ 0 };
	if (size < 0)
		return (int)size;
	return btf_take(b, &data);
}

int btf_read(struct btf *b, int fd)
{
	struct bpf_btf_info info = { 0 };
	SCOPED(buf_release) struct buf data = BUF_INIT;
	int err = bpf_info(fd, &info, sizeof(info));

	*b = (struct btf){ 0 };
	if (err)
		return err;
	if (info.btf_size > KERNEL_MAX)
		return -EFBIG;
	memory_must(buf_reserve(&data, info.btf_size));
	info = (struct bpf_btf_info){ .btf_size = info.btf_size };
	err = bpf_info_list(fd, &info, sizeof(info), offsetof(struct bpf_btf_info, btf), data.data, info.btf_size);
	data.len = info.btf_size;
	if (!err)
		return btf_take(b, &data);
	return err;
}

void btf_release(struct btf *b)
{
	buf_release(&b->data);
	*b = (struct btf){ 0 };
}

/* ---- looking up ---- */

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

uint32_t btf_typedef(const struct btf *b, const char *name)
{
	const struct btf_type *t;
	const uint8_t *at = b->types;

	for (uint32_t id = 1; (t = type_at(b, at, &at)); id++)
		if (kind_of(t) == KIND_TYPEDEF && !strcmp(name_at(b, t->name_off), name))
			return id;
	return 0;
}

const char *btf_name(const struct btf *b, uint32_t id)
{
	const struct btf_type *t = id ? type_of(b, id) : NULL;

	return t ? name_at(b, t->name_off) : "";
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

int32_t btf_member(const struct btf *b, const char *structure, const char *member)
{
	const struct btf_type *t;
	const uint8_t *at = b->types;

	while ((t = type_at(b, at, &at)))
		if (kind_of(t) == KIND_STRUCT && !strcmp(name_at(b, t->name_off), structure))
			return member_of(b, t, member, 0);
	return -1;
}

/* ---- writing ---- */

int btf_function(const char *name)
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

	if (strlen(name) >= sizeof(b.names) - 9)
		return -ENAMETOOLONG;
	memcpy(b.names + 9, name, strlen(name) + 1);
	b.head.type_len = (uint32_t)(offsetof(typeof(b), names) - offsetof(typeof(b), integer));
	b.head.str_off = b.head.type_len;
	b.head.str_len = (uint32_t)(9 + strlen(name) + 1);
	return bpf_btf_load(&b, sizeof(b.head) + b.head.type_len + b.head.str_len);
}

int bpf_cells_init(struct bpf_cells *c, const char *name, uint32_t size, uint32_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*c = (struct bpf_cells){ .element = size, .size = ((size_t)size * n + page - 1) / page * page };
	c->map = bpf_map_new(&(struct bpf_map_shape){ .name = name,
						      .type = BPF_MAP_TYPE_ARRAY,
						      .key_size = 4,
						      .value_size = size,
						      .entries = n,
						      .flags = BPF_MMAPABLE });
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

void bpf_cells_release(struct bpf_cells *c)
{
	if (c->map < 0)
		return;
	munmap(c->memory, c->size);
	close(c->map);
	*c = BPF_CELLS_NONE;
}

struct bpf_cell bpf_sum_read(const struct bpf_sum *s)
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

void bpf_sum_clear(const struct bpf_sum *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		*(struct bpf_cell *)((char *)(uintptr_t)s->first + i * s->step) = (struct bpf_cell){ 0 };
}

static int load_nothing(enum bpf_attach_type attach, int target, int btf, struct error *e)
{
	struct bpf_program p = { .name = "pmrec_nothing", .btf = btf, .function = BTF_FUNCTION };
	struct bpf_code c = { 0 };

	code_exit(&c);
	p.type = target ? BPF_PROG_TYPE_TRACING : BPF_PROG_TYPE_RAW_TRACEPOINT;
	p.attach = target ? attach : 0;
	p.target = target;
	p.target_type = target ? BTF_FUNCTION : 0;
	return bpf_program_load(&p, &c, e);
}

/* As much as the counters of a machine may need. Only kernels that count it as locked memory refuse it. */
static int map_much(void)
{
	return bpf_map_new(&(struct bpf_map_shape){ .name = "pmrec_much",
						    .type = BPF_MAP_TYPE_ARRAY,
						    .key_size = 4,
						    .value_size = 1024,
						    .entries = 1024 });
}

static int refused(int err, struct error *e)
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

int bpf_check(struct error *e)
{
	SCOPED(fd_close) int fd = load_nothing(0, 0, 0, e);
	SCOPED(fd_close) int map = fd < 0 ? -1 : map_much();

	if (fd < 0)
		return refused(fd, e);
	return map == -EPERM ?
		       error_set(
			       e, EPERM,
			       "this kernel, older than Linux 5.11, counts the memory of BPF as locked; run pmrec as "
			       "root, raise `ulimit -l`, or add cap_sys_resource to the capabilities of pmrec") :
		       0;
}

int bpf_attach_refused(int err, struct error *e)
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

int bpf_check_attach(struct error *e)
{
	SCOPED(fd_close) int btf = btf_function("nothing"), target = -1, fd = -1, link = -1;

	if (btf < 0)
		return error_sys(e, -btf, "BTF");
	target = load_nothing(0, 0, btf, e);
	if (target < 0)
		return target;
	fd = load_nothing(BPF_TRACE_FENTRY, target, 0, e);
	if (fd < 0)
		return bpf_attach_refused(fd, e);
	link = bpf_program_attach(fd, NULL);
	if (link >= 0)
		return 0;
	error_sys(e, -link, "attaching to a BPF program");
	return bpf_attach_refused(link, e);
}
