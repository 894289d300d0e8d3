/*
 * Type information (BTF) of the kernel and of BPF programs: offsets of structure members, names of functions, and the
 * minimum that a program needs so that others can attach to it.
 */
#pragma once

#include "record/host/root.h"

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
