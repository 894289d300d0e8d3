#include "record/bpf/bpf_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/host/opener.h"

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

static void describe(const struct bpf_program *p, union bpf_attr *a)
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

static int load(const struct bpf_program *p, const struct bpf_code *code, struct error *e)
{
	struct bpf_func_info function = { .insn_off = 0, .type_id = p->function };
	struct opener_baggage b = { .fd_at = { AT(attach_prog_fd), AT(prog_btf_fd) }, .n_fds = 2, .code = true };
	union bpf_attr a = { 0 };
	char *log;
	int fd;

	if (code->failed)
		return error_sys(e, ENOMEM, "the BPF program %s", p->name);
	describe(p, &a);
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
	log = calloc(1, LOG_SIZE);
	if (!log)
		return fd;
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
	int fd = load(p, code, e);

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

int bpf_btf_load(const void *data, size_t size)
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
