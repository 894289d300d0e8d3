/*
 * The first bytes choose the shape of the matrix and how much of the rest are lengths, which pm_unpack() is fed with the
 * bits. What it takes must survive being packed again.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/codec/codec.h"

#define BANDS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(bool good)
{
	if (!good)
		abort();
}

static uint64_t *filled(size_t n)
{
	uint64_t *v = malloc((n + 1) * sizeof(*v));

	check(v);
	for (size_t i = 0; i < n; i++)
		v[i] = i * 0x9e3779b97f4a7c15u >> i % 64;
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct pm_band band[BANDS];
	struct pm_matrix m = { .band = band }, other;
	struct buf lengths = BUF_INIT, bits = BUF_INIT;
	uint64_t *tick, *before, *growth;
	uint32_t columns = 0;
	size_t head, cells, n;
	int err;

	if (len < 4)
		return 0;
	m.n_bands = data[0] % (BANDS + 1);
	m.rows = data[1] % 129; /* 0 is refused */
	head = 4 + 3 * (size_t)m.n_bands;
	if (len < head)
		return 0;
	for (uint32_t b = 0; b < m.n_bands; b++) {
		const uint8_t *d = data + 4 + 3 * b;

		band[b] = (struct pm_band){
			.columns = 1 + d[0] % (d[0] & 0x80 ? 100 : 4),
			.bits = 1 + d[1] % 64,
			.ref_first = d[2] >= 0xf0 ? PM_NO_REF :
				     d[2] >= 0xc0 ? PM_REF_TICK :
						    d[2] % 16,
			.ref_columns = d[1] & 0x80 ? 1 : 1 + d[0] % 4,
		};
		columns += band[b].columns;
	}
	m.stride = m.rows;
	cells = columns * m.stride;
	m.v = filled(cells);
	tick = filled(m.rows);
	before = filled(columns);
	growth = filled(columns + 1);
	m.tick = tick;
	m.before = data[0] & 0x80 ? before : NULL;
	m.growth = data[0] & 0x80 ? growth + 1 : NULL;
	n = ((size_t)data[2] << 8 | data[3]) % (len - head + 1);
	data += head;
	len -= head;

	err = pm_unpack(&m, data, n, data + n, len - n);
	check(err == 0 || err == -EBADMSG);
	if (!err) {
		other = m;
		other.v = filled(cells);
		check(pm_pack(&m, &lengths, &bits) == 0);
		check(pm_unpack(&other, lengths.data, lengths.len, bits.data, bits.len) == 0);
		check(!memcmp(m.v, other.v, cells * sizeof(*m.v)));
		free(other.v);
	}
	buf_release(&lengths);
	buf_release(&bits);
	free(growth);
	free(before);
	free(tick);
	free(m.v);
	return 0;
}
