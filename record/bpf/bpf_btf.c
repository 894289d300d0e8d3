#include "record/bpf/bpf_btf.h"

#include <errno.h>
#include <linux/btf.h>
#include <string.h>

#include "record/bpf/bpf_call.h"

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
	if (buf_reserve(&data, info.btf_size))
		return -ENOMEM;
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
