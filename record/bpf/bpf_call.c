#include "record/bpf/bpf_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What reads events and the kernel's memory may only run under a licence that the GPL is compatible with: the
 * programs here are under both. */
static const char license[] = "Dual MIT/GPL";

#define LOG_SIZE (64 << 10)

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int call(enum bpf_cmd command, union bpf_attr *attr)
{
	long result = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return result < 0 ? -errno : (int)result;
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
	return call(BPF_MAP_CREATE, &a);
}

static int on_element(enum bpf_cmd command, int map, const void *key, const void *value)
{
	union bpf_attr a = { 0 };

	a.map_fd = (uint32_t)map;
	a.key = address(key);
	a.value = address(value);
	return call(command, &a);
}

int bpf_map_get(int map, const void *key, void *value)
{
	return on_element(BPF_MAP_LOOKUP_ELEM, map, key, value);
}

int bpf_map_put(int map, const void *key, const void *value)
{
	return on_element(BPF_MAP_UPDATE_ELEM, map, key, value);
}

int bpf_map_drop(int map, const void *key)
{
	return on_element(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

int bpf_map_next(int map, const void *key, void *next)
{
	return on_element(BPF_MAP_GET_NEXT_KEY, map, key, next);
}

/* ---- programs ---- */

static void describe(const struct bpf_program *p, union bpf_attr *a)
{
	a->prog_type = p->type;
	a->expected_attach_type = p->attach;
	a->insns = address(p->code);
	a->insn_cnt = p->n;
	a->license = address(license);
	a->attach_btf_id = p->target_type;
	a->attach_prog_fd = (uint32_t)p->target;
	copy_name(a->prog_name, p->name);
}

/* The last line but one: the last says how much the verifier looked at. */
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

int bpf_program_load(const struct bpf_program *p, struct error *e)
{
	struct bpf_func_info function = { .insn_off = 0, .type_id = p->function };
	union bpf_attr a = { 0 };
	char *log;
	int fd;

	describe(p, &a);
	if (p->btf) {
		a.prog_btf_fd = (uint32_t)p->btf;
		a.func_info = address(&function);
		a.func_info_rec_size = sizeof(function);
		a.func_info_cnt = 1;
	}
	fd = call(BPF_PROG_LOAD, &a);
	if (fd >= 0)
		return fd;
	error_sys(e, -fd, "the BPF program %s", p->name);
	log = calloc(1, LOG_SIZE);
	if (!log)
		return fd;
	a.log_buf = address(log);
	a.log_size = LOG_SIZE;
	a.log_level = 1;
	if (call(BPF_PROG_LOAD, &a) < 0)
		add_log(e, log);
	free(log);
	return fd;
}

int bpf_program_attach(int program, const char *tracepoint)
{
	union bpf_attr a = { 0 };

	a.raw_tracepoint.name = address(tracepoint);
	a.raw_tracepoint.prog_fd = (uint32_t)program;
	return call(BPF_RAW_TRACEPOINT_OPEN, &a);
}

int bpf_program_run(int program, uint32_t cpu)
{
	union bpf_attr a = { 0 };

	a.test.prog_fd = (uint32_t)program;
	a.test.flags = BPF_F_TEST_RUN_ON_CPU;
	a.test.cpu = cpu;
	return call(BPF_PROG_TEST_RUN, &a);
}

/* ---- what is there ---- */

static int by_id(enum bpf_cmd command, uint32_t id)
{
	union bpf_attr a = { 0 };

	a.prog_id = id; /* the first of a union of ids */
	return call(command, &a);
}

int bpf_program_by_id(uint32_t id)
{
	return by_id(BPF_PROG_GET_FD_BY_ID, id);
}

int bpf_map_by_id(uint32_t id)
{
	return by_id(BPF_MAP_GET_FD_BY_ID, id);
}

int bpf_link_by_id(uint32_t id)
{
	return by_id(BPF_LINK_GET_FD_BY_ID, id);
}

int bpf_btf_by_id(uint32_t id)
{
	return by_id(BPF_BTF_GET_FD_BY_ID, id);
}

int bpf_info(int fd, void *info, size_t size)
{
	union bpf_attr a = { 0 };

	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = (uint32_t)size;
	a.info.info = address(info);
	return call(BPF_OBJ_GET_INFO_BY_FD, &a);
}

int bpf_btf_load(const void *data, size_t size)
{
	union bpf_attr a = { 0 };

	a.btf = address(data);
	a.btf_size = (uint32_t)size;
	return call(BPF_BTF_LOAD, &a);
}

static int on_name(enum bpf_cmd command, int fd, const char *path)
{
	union bpf_attr a = { 0 };

	a.pathname = address(path);
	a.bpf_fd = (uint32_t)fd;
	return call(command, &a);
}

int bpf_pin(int fd, const char *path)
{
	return on_name(BPF_OBJ_PIN, fd, path);
}

int bpf_pinned(const char *path)
{
	return on_name(BPF_OBJ_GET, 0, path);
}
