#include "format/codec/codec.h"

#include <errno.h>
#include <stdlib.h>

#include "format/codec/codec_impl.h"

struct pm_packer *pm_packer_new(void)
{
	struct pm_packer *p = calloc(1, sizeof(*p));

	if (p)
		pm_packer_force(p, 0);
	return p;
}

void pm_packer_free(struct pm_packer *p)
{
	if (!p)
		return;
	buf_release(&p->heads);
	buf_release(&p->varints);
	buf_release(&p->bits);
	buf_release(&p->grains);
	buf_release(&p->whole);
	buf_release(&p->second);
	free(p);
}

void pm_packer_force(struct pm_packer *p, int level)
{
#if defined(__x86_64__)
	p->kernel = level != 1 && __builtin_cpu_supports("avx2") ? &pm_kernel_avx2 : &pm_kernel_portable;
#else
	p->kernel = &pm_kernel_portable;
#endif
}

const char *pm_packer_level(const struct pm_packer *p)
{
	return p->kernel->name;
}

void pm_add_varint(struct buf *b, uint64_t x)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; x >= 0x80; x >>= 7)
		bytes[n++] = (uint8_t)(x | 0x80);
	bytes[n++] = (uint8_t)x;
	buf_add(b, bytes, n);
}

int pm_get_varint(const uint8_t **p, const uint8_t *end, uint64_t *x)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (*p == end)
			return -EBADMSG;
		byte = *(*p)++;
		if (shift == 63 && byte > 1)
			return -EBADMSG;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*x = v;
			return 0;
		}
	}
	return -EBADMSG;
}

int pm_pack_form(struct pm_packer *p, const struct pm_matrix *m, struct buf *out)
{
	return m->rows >= PM_TIMEWISE_ROWS ? pm_pack_time(p, m, out) : pm_pack_rows(p, m, out);
}

int pm_unpack_form(struct pm_packer *p, const struct pm_matrix *m, unsigned form, const uint8_t *in,
		   const uint8_t *end)
{
	switch (form) {
	case PM_FORM_TIME:
		return pm_unpack_time(p, m, in, end);
	case PM_FORM_ROW:
		return pm_unpack_rows(p, m, false, in, end);
	case PM_FORM_ROW_WIDE:
		return pm_unpack_rows(p, m, true, in, end);
	default:
		return -EBADMSG;
	}
}

/* Columns of all bands, and whether doubles are among them. */
static size_t count_columns(const struct pm_matrix *m, bool *real)
{
	size_t columns = 0;

	*real = false;
	for (uint32_t b = 0; b < m->n_bands; b++) {
		columns += m->band[b].columns;
		*real |= m->band[b].real;
	}
	return columns;
}

int pm_pack(struct pm_packer *p, const struct pm_matrix *m, struct buf *out)
{
	size_t start = out->len, columns;
	bool real;
	int err;

	if (!m->rows || m->rows > PM_BLOCK)
		return -EINVAL;
	err = pm_pack_form(p, m, out);
	columns = count_columns(m, &real);
	if (err || !real)
		return err;
	buf_clear(&p->second);
	err = pm_pack_grains(p, m, columns, &p->second);
	if (!err && p->second.len && p->second.len < out->len - start) {
		out->len = start;
		buf_add(out, p->second.data, p->second.len);
	}
	return err ? err : p->second.err;
}

int pm_unpack(struct pm_packer *p, const struct pm_matrix *m, const void *data, size_t len)
{
	const uint8_t *in = data, *end = in + len;
	struct pm_matrix absolute;
	unsigned form;
	size_t columns;
	bool real;

	if (!m->rows || m->rows > PM_BLOCK || !len)
		return -EBADMSG;
	form = *in++;
	/* Columns without history start from absolute values in any chunk. */
	if (form & PM_FORM_FRESH) {
		absolute = *m;
		absolute.before = absolute.growth = NULL;
		m = &absolute;
		form &= ~(unsigned)PM_FORM_FRESH;
	}
	if (!(form & PM_FORM_GRAINS))
		return pm_unpack_form(p, m, form, in, end);
	columns = count_columns(m, &real);
	return real ? pm_unpack_grains(p, m, columns, form & ~(unsigned)PM_FORM_GRAINS, in, end) : -EBADMSG;
}
