#include "format/frame.h"

#include <errno.h>
#include <string.h>

#include "format/crc32c.h"
#include "format/limits.h"

const uint8_t frame_magic[FRAME_MAGIC_LEN] = {
	0xd9, 0xd9, 0xf7, 0x88, 0x48, 'P', 'M', 'R', '\r', '\n', 0x1a, '\n',
};

static const char *const names[] = {
	[PM_FRAME_HEADER] = "header",       [PM_FRAME_TOPOLOGY] = "topology", [PM_FRAME_SCHEMA] = "schema",
	[PM_FRAME_INSTANCES] = "instances", [PM_FRAME_PMUS] = "pmus",         [PM_FRAME_PROBES] = "probes",
	[PM_FRAME_CONFIG] = "config",       [PM_FRAME_CHUNK] = "chunk",       [PM_FRAME_EVENT] = "event",
	[PM_FRAME_INDEX] = "index",         [PM_FRAME_END] = "end",
};

const char *pm_frame_name(unsigned type)
{
	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

static void add_crc(struct buf *out, uint32_t crc)
{
	const uint8_t item[FRAME_TRAILER] = { 0x44, (uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8),
					      (uint8_t)crc };

	buf_add(out, item, sizeof(item));
}

uint32_t frame_add(struct buf *out, unsigned type, uint64_t sequence, const uint8_t id[static 8],
		   const struct buf *meta, const void *payload, size_t payload_len)
{
	const uint8_t major = PM_MAJOR;
	size_t start = out->len;
	uint32_t crc = 0;

	if (meta->err && !out->err)
		out->err = meta->err;
	buf_add(out, frame_magic, sizeof(frame_magic));
	buf_add(out, &major, 1);
	cbor_add_uint(out, type);
	cbor_add_uint(out, sequence);
	cbor_add_bytes(out, id, 8);
	cbor_add_bytes(out, meta->data, meta->len);
	if (!out->err)
		crc = crc32c(out->data + start, out->len - start);
	add_crc(out, crc);
	cbor_add_bytes(out, payload, payload_len);
	add_crc(out, crc32c(payload, payload_len));
	return crc;
}

int frame_trailer(const uint8_t at[static FRAME_TRAILER], uint32_t *crc)
{
	if (at[0] != 0x44)
		return -EBADMSG;
	*crc = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
	return 0;
}

/* Reads the head of a CBOR item of this major type at data[*at]; frames must have the shortest form. */
static int item_head(const uint8_t *data, size_t len, size_t *at, enum cbor_major major, uint64_t *value,
		     size_t *need)
{
	unsigned info, bytes;

	*need = *at + 1;
	if (*at >= len)
		return FRAME_SHORT;
	info = data[*at] & 31;
	if (data[*at] >> 5 != (int)major || info > 27)
		return -EBADMSG;
	bytes = info < 24 ? 0 : 1u << (info - 24);
	*need = *at + 1 + bytes;
	if (*need > len)
		return FRAME_SHORT;
	*value = bytes ? 0 : info;
	for (unsigned i = 1; i <= bytes; i++)
		*value = *value << 8 | data[*at + i];
	if (bytes && *value < (bytes == 1 ? 24 : 1ull << 4 * bytes))
		return -EBADMSG;
	*at = *need;
	return FRAME_OK;
}

void frame_meta(const struct frame_head *h, struct frame_meta *out)
{
	struct cbor c = cbor_over(h->meta, h->meta_len);
	struct cbor_map m;

	*out = (struct frame_meta){ 0 };
	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		switch (m.key) {
		case PM_META_CODEC:
			out->codec = cbor_uint(&c);
			break;
		case PM_META_RAW:
			out->raw = cbor_uint(&c);
			break;
		case PM_META_REPEATED:
			out->repeated = cbor_bool(&c);
			break;
		case PM_META_OFFSET:
			out->offset = cbor_uint(&c);
			break;
		case PM_META_INDEX:
			out->index = cbor_uint(&c);
			break;
		default:
			cbor_skip(&c);
			break;
		}
	}
	out->rule = c.err ? (enum pm_rule)c.rule : PM_RULE_NONE;
}

static int payload_of(struct frame_head *h, uint64_t *payload)
{
	struct cbor c = cbor_over(h->meta, h->meta_len);
	struct cbor_map m;

	*payload = 0;
	for (cbor_map(&c, &m); cbor_next(&c, &m);) {
		if (m.key == PM_META_PAYLOAD)
			*payload = cbor_uint(&c);
		else
			cbor_skip(&c);
	}
	return cbor_finish(&c);
}

int frame_parse(const uint8_t *data, size_t len, struct frame_head *h, size_t *need, unsigned *major)
{
	size_t at = FRAME_MAGIC_LEN + 1, have = len < FRAME_MAGIC_LEN ? len : FRAME_MAGIC_LEN;
	uint64_t type, meta_len, payload;
	uint32_t crc;
	int ok;

	*need = at;
	if (memcmp(data, frame_magic, have) != 0)
		return -EBADMSG;
	if (len < at)
		return FRAME_SHORT;
	*major = data[FRAME_MAGIC_LEN];
	ok = item_head(data, len, &at, CBOR_UINT, &type, need);
	if (ok == FRAME_OK)
		ok = item_head(data, len, &at, CBOR_UINT, &h->sequence, need);
	if (ok != FRAME_OK)
		return ok;
	*need = at + 9;
	if (len < *need)
		return FRAME_SHORT;
	if (data[at] != 0x48 || type > UINT32_MAX)
		return -EBADMSG;
	h->type = (unsigned)type;
	memcpy(h->id, data + at + 1, sizeof(h->id));
	at += 9;
	ok = item_head(data, len, &at, CBOR_BYTES, &meta_len, need);
	if (ok != FRAME_OK)
		return ok;
	if (meta_len > PM_MAX_META)
		return -EBADMSG;
	*need = at + (size_t)meta_len + FRAME_TRAILER;
	if (len < *need)
		return FRAME_SHORT;
	h->meta = data + at;
	h->meta_len = (size_t)meta_len;
	at += h->meta_len;
	if (frame_trailer(data + at, &crc) || crc != crc32c(data, at))
		return -EBADMSG;
	/* The head is the same in all major versions, so a flipped bit cannot pass for a newer one. */
	if (*major != PM_MAJOR)
		return -ENOTSUP;
	h->crc = crc;
	at += FRAME_TRAILER;
	ok = item_head(data, len, &at, CBOR_BYTES, &payload, need);
	if (ok != FRAME_OK)
		return ok;
	h->head_len = at;
	if (payload > PM_MAX_PAYLOAD || payload_of(h, &h->payload_len) || h->payload_len != payload)
		return -EBADMSG;
	return FRAME_OK;
}
