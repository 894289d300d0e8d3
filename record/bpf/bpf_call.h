/*
 * bpf(2), and nothing else: maps, programs, links, each a file descriptor that its caller closes. Objects end with
 * their last descriptor (so with pmrec, however it ends), except those that bpf_pin() gave a name.
 */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>

#include "common/error.h"
#include "record/bpf/bpf_code.h"

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

/* A descriptor or -errno. */
int bpf_btf_load(const void *data, size_t size);

/* Gives an object a name in a BPF file system, and finds it by name. 0 or a descriptor, or -errno. */
int bpf_pin(int fd, const char *path);
int bpf_pinned(const char *path);
