#include "tests/fuzz/reshape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "format/cbor.h"
#include "format/compress.h"
#include "format/crc32c.h"
#include "format/definitions.h"
#include "format/frame.h"

#define DEPTH_MAX 24
#define NODES_MAX 200000

/* An item of CBOR. Maps have keys and values in turn. */
struct node {
	uint8_t major, info; /* info: of floats, which are kept bit by bit */
	uint64_t argument;
	uint8_t *data; /* owned: of strings */
	size_t len;
	struct node **kid; /* owned */
	size_t n, cap;
};

/* A sequence of items; bytes that are none stay as they are. */
struct part {
	struct node **item;
	size_t n, cap;
	uint8_t *raw; /* owned: the part as it was, where it could not be taken apart */
	size_t raw_len;
};

struct block {
	struct part part;
	uint8_t *bits; /* owned */
	size_t n_bits;
	bool packed;
	uint64_t groups;
};

struct frame {
	unsigned type;
	uint64_t sequence;
	uint8_t id[8];
	uint32_t crc, new_crc;
	bool packed;
	struct part meta, body;
	struct block *block; /* owned; of chunks */
	size_t n_blocks;
};

struct shape {
	struct frame **frame; /* owned; one may stand there twice: it is then shared */
	size_t n, cap;
	struct frame *all[4096]; /* that were made */
	size_t n_all;
	struct pm_zstd *zstd;
};

/* ---- items ---- */

static void node_free(struct node *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->n; i++)
		node_free(x->kid[i]);
	free(x->kid);
	free(x->data);
	free(x);
}

static void push(struct node ***list, size_t *n, size_t *cap, struct node *x)
{
	if (*n == *cap) {
		*cap = *cap ? *cap * 2 : 4;
		*list = realloc(*list, *cap * sizeof(**list));
		if (!*list)
			abort();
	}
	(*list)[(*n)++] = x;
}

static struct node *node_new(unsigned major, uint64_t argument)
{
	struct node *x = calloc(1, sizeof(*x));

	if (!x)
		abort();
	x->major = (uint8_t)major;
	x->argument = argument;
	return x;
}

static struct node *node_copy(const struct node *from)
{
	struct node *x = node_new(from->major, from->argument);

	x->info = from->info;
	x->len = from->len;
	if (from->data) {
		x->data = malloc(from->len + 1);
		if (!x->data)
			abort();
		memcpy(x->data, from->data, from->len);
	}
	for (size_t i = 0; i < from->n; i++)
		push(&x->kid, &x->n, &x->cap, node_copy(from->kid[i]));
	return x;
}

/* NULL: no well-formed item of definite length. */
static struct node *node_read(const uint8_t **at, const uint8_t *end, unsigned depth, size_t *budget)
{
	struct node *x;
	uint64_t kids;
	unsigned info;

	if (*at == end || !depth || !*budget)
		return NULL;
	--*budget;
	info = **at & 31;
	x = node_new(**at >> 5, info);
	++*at;
	if (info >= 24) {
		size_t bytes = info < 28 ? 1u << (info - 24) : 99;

		x->argument = 0;
		if (bytes > 8 || (size_t)(end - *at) < bytes)
			goto bad;
		while (bytes--)
			x->argument = x->argument << 8 | *(*at)++;
	}
	x->info = (uint8_t)info;
	if (x->major == CBOR_BYTES || x->major == CBOR_TEXT) {
		if (x->argument > (size_t)(end - *at))
			goto bad;
		x->len = (size_t)x->argument;
		x->data = malloc(x->len + 1);
		if (!x->data)
			abort();
		memcpy(x->data, *at, x->len);
		*at += x->len;
	}
	kids = x->major == CBOR_ARRAY ? x->argument : x->major == CBOR_MAP ? x->argument * 2 : x->major == CBOR_TAG;
	if (kids > (size_t)(end - *at))
		goto bad;
	while (kids--) {
		struct node *kid = node_read(at, end, depth - 1, budget);

		if (!kid)
			goto bad;
		push(&x->kid, &x->n, &x->cap, kid);
	}
	return x;
bad:
	node_free(x);
	return NULL;
}

static void node_write(const struct node *x, struct buf *out)
{
	switch (x->major) {
	case CBOR_BYTES:
	case CBOR_TEXT:
		cbor_add_head(out, (enum cbor_major)x->major, x->len);
		buf_add(out, x->data, x->len);
		return;
	case CBOR_ARRAY:
		cbor_add_head(out, CBOR_ARRAY, x->n);
		break;
	case CBOR_MAP:
		cbor_add_head(out, CBOR_MAP, x->n / 2);
		break;
	case CBOR_SIMPLE:
		buf_addch(out, (char)(0xe0 | x->info));
		for (unsigned i = x->info < 24 ? 0 : 1u << (x->info - 24); i; i--)
			buf_addch(out, (char)(x->argument >> 8 * (i - 1)));
		return;
	default:
		cbor_add_head(out, (enum cbor_major)x->major, x->argument);
		break;
	}
	for (size_t i = 0; i < (x->major == CBOR_MAP ? x->n / 2 * 2 : x->n); i++)
		node_write(x->kid[i], out);
}

static void part_release(struct part *p)
{
	for (size_t i = 0; i < p->n; i++)
		node_free(p->item[i]);
	free(p->item);
	free(p->raw);
	*p = (struct part){ 0 };
}

static void part_read(struct part *p, const uint8_t *data, size_t len)
{
	const uint8_t *at = data, *end = data + len;
	size_t budget = NODES_MAX;
	struct node *x;

	*p = (struct part){ 0 };
	while (at < end && (x = node_read(&at, end, DEPTH_MAX, &budget)))
		push(&p->item, &p->n, &p->cap, x);
	if (at == end)
		return;
	part_release(p);
	p->raw = malloc(len + 1);
	if (!p->raw)
		abort();
	memcpy(p->raw, data, len);
	p->raw_len = len;
}

static void part_write(const struct part *p, struct buf *out)
{
	if (p->raw)
		buf_add(out, p->raw, p->raw_len);
	for (size_t i = 0; i < p->n; i++)
		node_write(p->item[i], out);
}

/* The value under a key of a map; NULL: there is none. */
static struct node *value_of(const struct node *map, uint64_t key)
{
	for (size_t i = 0; map && map->major == CBOR_MAP && i + 1 < map->n; i += 2)
		if (map->kid[i]->major == CBOR_UINT && map->kid[i]->argument == key)
			return map->kid[i + 1];
	return NULL;
}

/* New keys go where they ascend. */
static void put_value(struct node *map, uint64_t key, struct node *value)
{
	size_t at = 0;

	while (at + 1 < map->n && map->kid[at]->major == CBOR_UINT && map->kid[at]->argument < key)
		at += 2;
	if (at + 1 < map->n && map->kid[at]->major == CBOR_UINT && map->kid[at]->argument == key) {
		node_free(map->kid[at + 1]);
		map->kid[at + 1] = value;
		return;
	}
	push(&map->kid, &map->n, &map->cap, NULL);
	push(&map->kid, &map->n, &map->cap, NULL);
	memmove(map->kid + at + 2, map->kid + at, (map->n - 2 - at) * sizeof(*map->kid));
	map->kid[at] = node_new(CBOR_UINT, key);
	map->kid[at + 1] = value;
}

static void drop_value(struct node *map, uint64_t key)
{
	for (size_t i = 0; i + 1 < map->n; i += 2)
		if (map->kid[i]->major == CBOR_UINT && map->kid[i]->argument == key) {
			node_free(map->kid[i]);
			node_free(map->kid[i + 1]);
			memmove(map->kid + i, map->kid + i + 2, (map->n - i - 2) * sizeof(*map->kid));
			map->n -= 2;
			return;
		}
}

static struct node *number(int64_t v)
{
	return v < 0 ? node_new(CBOR_NINT, (uint64_t) - (v + 1)) : node_new(CBOR_UINT, (uint64_t)v);
}

static struct node *map_of(const struct part *p)
{
	return p->n && p->item[0]->major == CBOR_MAP ? p->item[0] : NULL;
}

/* ---- frames ---- */

static void blocks_read(struct shape *s, struct frame *f, const uint8_t *payload, size_t len)
{
	const struct node *list = value_of(map_of(&f->meta), PM_META_BLOCKS);

	if (!list || list->major != CBOR_ARRAY || list->n % 5) {
		part_read(&f->body, payload, len);
		return;
	}
	f->block = calloc(list->n / 5 + 1, sizeof(*f->block));
	for (size_t i = 0; f->block && i < list->n; i += 5) {
		size_t stored = (size_t)list->kid[i]->argument, bits = (size_t)list->kid[i + 1]->argument;
		size_t raw = (size_t)list->kid[i + 2]->argument, items = stored - bits;
		struct block *b = &f->block[f->n_blocks];
		struct buf body = BUF_INIT;

		if (stored > len || bits > stored)
			break;
		b->bits = malloc(bits + 1);
		if (!b->bits)
			break;
		memcpy(b->bits, payload + items, bits);
		b->n_bits = bits;
		b->groups = list->kid[i + 4]->argument;
		b->packed = raw && !pm_zstd_decompress(s->zstd, payload, items, raw, &body);
		part_read(&b->part, b->packed ? body.data : payload, b->packed ? body.len : items);
		f->n_blocks++;
		payload += stored;
		len -= stored;
		buf_release(&body);
	}
}

static void frame_read(struct shape *s, struct frame *f, const struct frame_head *h, const uint8_t *payload)
{
	const struct node *meta, *raw;
	struct buf body = BUF_INIT;

	f->type = h->type;
	f->sequence = h->sequence;
	f->crc = h->crc;
	memcpy(f->id, h->id, sizeof(f->id));
	part_read(&f->meta, h->meta, h->meta_len);
	meta = map_of(&f->meta);
	raw = value_of(meta, PM_META_RAW);
	if (f->type == PM_FRAME_CHUNK) {
		blocks_read(s, f, payload, (size_t)h->payload_len);
		return;
	}
	f->packed = raw && raw->argument < 64 << 20 &&
		    !pm_zstd_decompress(s->zstd, payload, (size_t)h->payload_len, (size_t)raw->argument, &body);
	part_read(&f->body, f->packed ? body.data : payload, f->packed ? body.len : (size_t)h->payload_len);
	buf_release(&body);
}

static void add_frame(struct shape *s, size_t at, struct frame *f)
{
	if (s->n == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 64;
		s->frame = realloc(s->frame, s->cap * sizeof(*s->frame));
		if (!s->frame)
			abort();
	}
	memmove(s->frame + at + 1, s->frame + at, (s->n - at) * sizeof(*s->frame));
	s->frame[at] = f;
	s->n++;
}

struct shape *shape_read(const void *data, size_t len)
{
	struct shape *s = calloc(1, sizeof(*s));
	const uint8_t *at = data, *end = at + len;

	if (!s)
		return NULL;
	s->zstd = pm_zstd_new();
	while (s->zstd && at < end && s->n_all < sizeof(s->all) / sizeof(*s->all)) {
		struct frame_head h;
		unsigned major;
		size_t need;

		if (frame_parse(at, (size_t)(end - at), &h, &need, &major) != FRAME_OK ||
		    frame_len(&h) > (size_t)(end - at))
			break;
		s->all[s->n_all] = calloc(1, sizeof(struct frame));
		if (!s->all[s->n_all])
			break;
		frame_read(s, s->all[s->n_all], &h, at + h.head_len);
		add_frame(s, s->n, s->all[s->n_all++]);
		at += frame_len(&h);
	}
	if (s->n)
		return s;
	shape_free(s);
	return NULL;
}

void shape_free(struct shape *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_all; i++) {
		struct frame *f = s->all[i];

		part_release(&f->meta);
		part_release(&f->body);
		for (size_t k = 0; k < f->n_blocks; k++) {
			part_release(&f->block[k].part);
			free(f->block[k].bits);
		}
		free(f->block);
		free(f);
	}
	pm_zstd_free(s->zstd);
	free(s->frame);
	free(s);
}

/* Appends the part, packed or not. Returns the bytes before packing; 0: it is stored as it is. */
static size_t put_packed(struct shape *s, const struct part *p, bool packed, struct buf *out)
{
	struct buf plain = BUF_INIT;
	size_t raw = 0;

	part_write(p, packed ? &plain : out);
	if (packed && !pm_zstd_compress(s->zstd, plain.data, plain.len, 1, out))
		raw = plain.len;
	buf_release(&plain);
	return raw;
}

static void blocks_write(struct shape *s, struct frame *f, struct buf *payload)
{
	struct node *list = node_new(CBOR_ARRAY, 0);

	for (size_t i = 0; i < f->n_blocks; i++) {
		const struct block *b = &f->block[i];
		size_t start = payload->len, raw = put_packed(s, &b->part, b->packed, payload);

		buf_add(payload, b->bits, b->n_bits);
		for (int k = 0; k < 5; k++) {
			const size_t stored = payload->len - start;
			const uint64_t row[] = { stored, b->n_bits, raw, crc32c(payload->data + start, stored),
						 b->groups };

			push(&list->kid, &list->n, &list->cap, node_new(CBOR_UINT, row[k]));
		}
	}
	if (map_of(&f->meta))
		put_value(map_of(&f->meta), PM_META_BLOCKS, list);
	else
		node_free(list);
}

/* A chunk builds on the one before by the checksum of its head, which is another now. */
static void rebase(struct shape *s, struct frame *f)
{
	const struct node *base = value_of(map_of(&f->meta), PM_META_BASE);

	for (size_t i = 0; base && i < s->n_all; i++)
		if (s->all[i]->crc == base->argument && s->all[i]->new_crc) {
			put_value(map_of(&f->meta), PM_META_BASE, node_new(CBOR_UINT, s->all[i]->new_crc));
			return;
		}
}

void shape_write(struct shape *s, struct buf *out)
{
	for (size_t i = 0; i < s->n; i++) {
		struct frame *f = s->frame[i];
		struct buf payload = BUF_INIT, meta = BUF_INIT;
		struct node *map = map_of(&f->meta);
		size_t raw = 0;

		if (f->block)
			blocks_write(s, f, &payload);
		else
			raw = put_packed(s, &f->body, f->packed, &payload);
		if (map && raw)
			put_value(map, PM_META_RAW, node_new(CBOR_UINT, raw));
		if (map && payload.len)
			put_value(map, PM_META_PAYLOAD, node_new(CBOR_UINT, payload.len));
		else if (map)
			drop_value(map, PM_META_PAYLOAD);
		rebase(s, f);
		part_write(&f->meta, &meta);
		f->new_crc = frame_add(out, f->type, f->sequence, f->id, &meta, payload.data, payload.len);
		buf_release(&payload);
		buf_release(&meta);
	}
	/* The sums of the next writing are found by those of this one. */
	for (size_t i = 0; i < s->n_all; i++)
		if (s->all[i]->new_crc)
			s->all[i]->crc = s->all[i]->new_crc;
}

/* ---- changes by chance ---- */

static const char *const evil[] = {
	"",
	"=1+1",
	"@SUM(1)",
	"\x1b[31m\x1b]0;PWN\x07",
	"</script><img src=x onerror=alert(1)>",
	"a\"b'c,d;e\\f",
	("\xe2\x80\xae\xc2\x9b"
	 "31m"),
	"-\n\r\t+",
	"cycles",
	"stat.ctxsw",
	"%s%n%d",
	"../../etc/passwd",
	"1e400",
	"nan",
	"0-4294967295",
	"cpu.time.*",
};

static uint64_t dice(struct statistics_random *r, uint64_t n)
{
	return statistics_random(r) % n;
}

static uint64_t odd_number(struct statistics_random *r, uint64_t v)
{
	switch (dice(r, 8)) {
	case 0:
		return dice(r, 3);
	case 1:
		return (1ull << dice(r, 64)) - dice(r, 2);
	case 2:
		return UINT64_MAX - dice(r, 2);
	case 3:
		return v + 1;
	case 4:
		return v - 1;
	case 5:
		return v * (2 + dice(r, 1000));
	case 6:
		return dice(r, 300);
	default:
		return v ^ 1ull << dice(r, 64);
	}
}

static void change_text(struct node *x, struct statistics_random *r)
{
	const char *text = evil[dice(r, sizeof(evil) / sizeof(*evil))];
	size_t len = strlen(text), times = dice(r, 6) ? 1 : 1 + dice(r, 300);

	if (x->len && !dice(r, 3)) {
		x->data[dice(r, x->len)] ^= (uint8_t)(1 + dice(r, 255));
		return;
	}
	if (x->len && !dice(r, 4)) {
		x->len = dice(r, x->len);
		return;
	}
	free(x->data);
	x->data = malloc(len * times + 1);
	if (!x->data)
		abort();
	for (size_t i = 0; i < times; i++)
		memcpy(x->data + i * len, text, len);
	x->len = len * times;
}

/* Items of a list; pairs of a map. */
static void change_list(struct node *x, struct statistics_random *r)
{
	size_t step = x->major == CBOR_MAP ? 2 : 1, n = x->n / step, a, b;

	if (!n)
		return;
	a = dice(r, n) * step;
	b = dice(r, n) * step;
	switch (dice(r, 4)) {
	case 0:
		for (size_t i = 0; i < step; i++)
			node_free(x->kid[a + i]);
		memmove(x->kid + a, x->kid + a + step, (x->n - a - step) * sizeof(*x->kid));
		x->n -= step;
		return;
	case 1:
		for (uint64_t times = dice(r, 8) ? 1 : dice(r, 500); times && x->n < NODES_MAX; times--)
			for (size_t i = 0; i < step; i++)
				push(&x->kid, &x->n, &x->cap, node_copy(x->kid[a + i]));
		return;
	case 2:
		node_free(x->kid[a + step - 1]);
		x->kid[a + step - 1] = a == b ? number(-1) : node_copy(x->kid[b + step - 1]);
		return;
	default:
		for (size_t i = 0; i < step; i++) {
			struct node *kid = x->kid[a + i];

			x->kid[a + i] = x->kid[b + i];
			x->kid[b + i] = kid;
		}
	}
}

static void change_node(struct node *x, struct statistics_random *r)
{
	static const uint64_t floats[] = { 0x7ff8000000000000, 0x7ff0000000000000, 0xfff0000000000000,
					   0x8000000000000000, 0x7fefffffffffffff, 1 };

	switch (x->major) {
	case CBOR_UINT:
	case CBOR_NINT:
		if (dice(r, 8) == 0)
			x->major ^= 1;
		else
			x->argument = odd_number(r, x->argument);
		return;
	case CBOR_BYTES:
	case CBOR_TEXT:
		change_text(x, r);
		return;
	case CBOR_ARRAY:
	case CBOR_MAP:
		change_list(x, r);
		return;
	case CBOR_TAG:
		x->argument = odd_number(r, x->argument);
		return;
	default:
		x->info = 27;
		x->argument = floats[dice(r, sizeof(floats) / sizeof(*floats))];
	}
}

/* Goes down by chance; large lists do not take all the chances. */
static struct node *some_node(const struct part *p, struct statistics_random *r)
{
	struct node *x = p->n ? p->item[dice(r, p->n)] : NULL;

	while (x && x->n && dice(r, 5))
		x = x->kid[dice(r, x->n)];
	return x;
}

static void change_frames(struct shape *s, struct statistics_random *r)
{
	size_t a = dice(r, s->n), b = dice(r, s->n);
	struct frame *f = s->frame[a];

	switch (dice(r, 6)) {
	case 0:
		if (s->n > 2)
			memmove(s->frame + a, s->frame + a + 1, (--s->n - a) * sizeof(*s->frame));
		return;
	case 1:
		add_frame(s, b, f);
		return;
	case 2:
		s->frame[a] = s->frame[b];
		s->frame[b] = f;
		return;
	case 3:
		f->type = (unsigned)dice(r, 14);
		return;
	case 4:
		f->sequence = odd_number(r, f->sequence);
		return;
	default:
		f->id[dice(r, 8)] ^= 1;
	}
}

void shape_change(struct shape *s, struct statistics_random *r)
{
	struct frame *f = s->frame[dice(r, s->n)];
	const struct part *p = &f->body;
	struct node *x;

	if (!dice(r, 12)) {
		change_frames(s, r);
		/* Else all that follows is foreign. */
		for (size_t i = 0; dice(r, 4) && i < s->n; i++)
			s->frame[i]->sequence = i;
		return;
	}
	if (!dice(r, 4))
		p = &f->meta;
	else if (f->n_blocks)
		p = &f->block[dice(r, f->n_blocks)].part;
	x = some_node(p, r);
	if (x)
		change_node(x, r);
}
