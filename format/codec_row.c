/* Row after row, across columns and bands. */
#include <errno.h>

#include "format/codec_impl.h"

int pm_pack_rows(struct pm_packer *p, const struct pm_matrix *m, struct buf *out)
{
	uint64_t zeros = 0;

	buf_addch(out, PM_FORM_ROW);
	for (uint32_t r = 0; r < m->rows; r++) {
		uint32_t first = 0;

		for (uint32_t b = 0; b < m->n_bands; first += m->band[b].columns, b++) {
			struct pm_place place = pm_place(&m->band[b], first);

			for (uint32_t c = 0; c < place.band->columns; c++) {
				size_t column = (size_t)first + c;
				const uint64_t *v = m->v + column * m->stride;
				uint64_t last = r ? v[r - 1] : m->before ? m->before[column] : 0, x;

				if (place.has_ref) {
					const uint64_t *other = pm_ref_rows(m, &place, c, &x);

					last = other[r];
				}
				x = pm_zigzag(v[r] - last);
				if (!x) {
					zeros++;
					continue;
				}
				if (zeros) {
					pm_add_varint(out, 0);
					pm_add_varint(out, zeros);
					zeros = 0;
				}
				pm_add_varint(out, x);
			}
		}
	}
	if (zeros) {
		pm_add_varint(out, 0);
		pm_add_varint(out, zeros);
	}
	return out->err;
}

int pm_unpack_rows(struct pm_packer *p, const struct pm_matrix *m, const uint8_t *needed, const uint8_t *in,
		   const uint8_t *end)
{
	uint64_t zeros = 0;

	for (uint32_t r = 0; r < m->rows; r++) {
		uint32_t first = 0;

		for (uint32_t b = 0; b < m->n_bands; first += m->band[b].columns, b++) {
			struct pm_place place = pm_place(&m->band[b], first);

			for (uint32_t c = 0; c < place.band->columns; c++) {
				size_t column = (size_t)first + c;
				uint64_t *v = m->v + column * m->stride;
				uint64_t x = 0, last;

				if (zeros) {
					zeros--;
				} else if (pm_get_varint(&in, end, &x)) {
					return -EBADMSG;
				} else if (!x) {
					if (pm_get_varint(&in, end, &zeros) || !zeros)
						return -EBADMSG;
					zeros--;
				}
				if (!needed[b])
					continue;
				last = r ? v[r - 1] : m->before ? m->before[column] : 0;
				if (place.has_ref) {
					uint64_t unused;

					last = pm_ref_rows(m, &place, c, &unused)[r];
				}
				v[r] = last + pm_unzigzag(x);
			}
		}
	}
	return in == end && !zeros ? 0 : -EBADMSG;
}
