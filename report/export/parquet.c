#include "report/export/parquet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/utf8.h"
#include "format/compress.h"
#include "report/export/parquet_encode.h"
#include "report/export/thrift.h"

/* Numbers of parquet.thrift. */
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8, BYTE_STREAM_SPLIT = 9 };
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6, CODEC_ZSTD = 6, OPTIONAL = 1 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2, CONVERTED_UTF8 = 0, CONVERTED_MICROS = 10 };
enum { LOGICAL_STRING = 1, LOGICAL_TIMESTAMP = 8, UNIT_MICROS = 2 };

#define NOTHING       UINT32_MAX
#define ZSTD_LEVEL    1
#define STATISTIC_MAX 256 /* bytes of a text that serves as a bound */

/* Equal adjacent rows: an index in the dictionary, or NOTHING. */
struct run {
	uint32_t index, count;
};

struct group {
	uint64_t rows, at, bytes, packed;
	struct buf chunks; /* ColumnChunk structs */
	unsigned n;
};

struct column {
	char *name;
	enum parquet_type type;
};

struct parquet {
	struct output *out;
	struct pm_zstd *zstd;
	struct column *column;
	struct group *group;
	int n_columns, n_groups;
	uint64_t rows;
	/* The column at hand. */
	struct run *run;
	size_t n_runs;
	uint64_t *value; /* distinct ones; of PARQUET_VALUE all */
	size_t n_values;
	uint32_t *slot; /* of value[], by hash; NOTHING: empty */
	size_t n_slots, last;
	uint64_t secret;
	struct buf raw, packed, second;
	uint64_t nulls, count;
	uint32_t run_room, value_room, text_room;
	/* Texts by number. */
	struct buf text;
	size_t *text_at;
	size_t n_texts;
	struct names text_of;
	int err;
};

struct parquet *parquet_new(struct output *out)
{
	struct parquet *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->out = out;
	p->zstd = pm_zstd_new();
	if (!p->zstd) {
		parquet_free(p);
		return NULL;
	}
	buf_addstr(&out->text, "PAR1");
	return p;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	pm_zstd_free(p->zstd);
	for (int i = 0; i < p->n_columns; i++)
		free(p->column[i].name);
	for (int i = 0; i < p->n_groups; i++)
		buf_release(&p->group[i].chunks);
	free(p->column);
	free(p->group);
	free(p->run);
	free(p->value);
	free(p->slot);
	free(p->text_at);
	buf_release(&p->raw);
	buf_release(&p->packed);
	buf_release(&p->second);
	buf_release(&p->text);
	names_release(&p->text_of);
	free(p);
}

/* Makes room for `n` elements; a failure is reported at the end. */
static bool hold(struct parquet *p, void *array, uint32_t *room, size_t n, size_t size)
{
	if (array_hold(array, room, n, size))
		p->err = -ENOMEM;
	return !p->err;
}

int parquet_add(struct parquet *p, const char *name, enum parquet_type type)
{
	struct buf good = BUF_INIT;
	struct column *c;

	if (array_room(&p->column, (size_t)p->n_columns, sizeof(*p->column)))
		return -ENOMEM;
	utf8_repair(&good, name, strlen(name));
	c = &p->column[p->n_columns];
	*c = (struct column){ buf_detach(&good), type };
	return c->name ? p->n_columns++ : -ENOMEM;
}

/* ---- texts ---- */

uint64_t parquet_text(struct parquet *p, const char *text)
{
	uint32_t id;

	if (names_get(&p->text_of, text, &id))
		return id;
	id = (uint32_t)p->n_texts;
	if (!hold(p, &p->text_at, &p->text_room, p->n_texts + 1, sizeof(*p->text_at)))
		return 0;
	p->text_at[p->n_texts++] = p->text.len;
	utf8_repair(&p->text, text, strlen(text));
	buf_addch(&p->text, '\0');
	if (p->text.err || names_set(&p->text_of, text, id))
		p->err = -ENOMEM;
	return id;
}

void parquet_forget(struct parquet *p)
{
	names_release(&p->text_of);
	buf_clear(&p->text);
	p->n_texts = 0;
}

const char *parquet_text_of(const struct parquet *p, uint64_t id)
{
	return id < p->n_texts && !p->err ? (const char *)p->text.data + p->text_at[id] : "";
}

/* ---- the rows of a column ---- */

static void append(struct parquet *p, uint32_t index, size_t count)
{
	struct run *last = p->n_runs ? &p->run[p->n_runs - 1] : NULL;

	p->count += count;
	if (last && last->index == index) {
		last->count += (uint32_t)count;
		return;
	}
	if (hold(p, &p->run, &p->run_room, p->n_runs + 1, sizeof(*p->run)))
		p->run[p->n_runs++] = (struct run){ index, (uint32_t)count };
}

static size_t slot_of(const struct parquet *p, uint64_t v)
{
	return (size_t)((v ^ v >> 32) * p->secret >> (64 - __builtin_ctzll(p->n_slots)));
}

static void insert(struct parquet *p, uint32_t index)
{
	size_t at = slot_of(p, p->value[index]);

	while (p->slot[at] != NOTHING)
		at = (at + 1) & (p->n_slots - 1);
	p->slot[at] = index;
}

static uint32_t look_up(struct parquet *p, uint64_t v)
{
	size_t at;

	if (p->n_values * 2 >= p->n_slots) {
		size_t n = p->n_slots ? p->n_slots * 2 : 1024;
		uint32_t *more = realloc(p->slot, n * sizeof(*more));

		if (!more) {
			p->err = -ENOMEM;
			return 0;
		}
		p->slot = more;
		p->n_slots = n;
		p->secret = names_secret() | 1;
		memset(more, 0xff, n * sizeof(*more));
		for (size_t i = 0; i < p->n_values; i++)
			insert(p, (uint32_t)i);
	}
	for (at = slot_of(p, v); p->slot[at] != NOTHING; at = (at + 1) & (p->n_slots - 1))
		if (p->value[p->slot[at]] == v)
			return p->slot[at];
	if (!hold(p, &p->value, &p->value_room, p->n_values + 1, sizeof(*p->value)))
		return 0;
	p->value[p->n_values] = v;
	return p->slot[at] = (uint32_t)p->n_values++;
}

void parquet_put(struct parquet *p, uint64_t value, size_t count)
{
	/* Times at one place are those of the previous place. */
	if (p->last + 1 < p->n_values && p->value[p->last + 1] == value)
		p->last++;
	else if (p->last >= p->n_values || p->value[p->last] != value)
		p->last = look_up(p, value);
	append(p, (uint32_t)p->last, count);
}

void parquet_null(struct parquet *p, size_t count)
{
	p->nulls += count;
	append(p, NOTHING, count);
}

void parquet_values(struct parquet *p, const double *v, size_t n)
{
	if (!hold(p, &p->value, &p->value_room, p->n_values + n, sizeof(*p->value)))
		return;
	memcpy(p->value + p->n_values, v, n * sizeof(*v));
	p->n_values += n;
	append(p, 0, n);
}

/* ---- encodings ---- */

/* Which rows have a value. */
static void put_levels(struct parquet *p)
{
	struct hybrid h = { .out = &p->second, .width = 1 };

	buf_clear(&p->second);
	for (size_t i = 0; i < p->n_runs; i++)
		hybrid_put(&h, p->run[i].index != NOTHING, p->run[i].count);
	hybrid_pack(&h);
	put_little(&p->raw, p->second.len, 4);
	buf_add(&p->raw, p->second.data, p->second.len);
	buf_carry(&p->raw, &p->second);
}

static void put_indices(struct parquet *p)
{
	struct hybrid h = { .out = &p->raw, .width = width_of(p->n_values - 1) };

	buf_addch(&p->raw, (char)h.width);
	for (size_t i = 0; i < p->n_runs; i++)
		if (p->run[i].index != NOTHING)
			hybrid_put(&h, p->run[i].index, p->run[i].count);
	hybrid_pack(&h);
}

static void put_deltas(struct parquet *p)
{
	int64_t delta[DELTA_BLOCK];
	uint64_t before = p->value[p->run[0].index == NOTHING ? p->run[1].index : p->run[0].index];
	size_t n = 0;
	bool first = true;

	thrift_varint(&p->raw, DELTA_BLOCK);
	thrift_varint(&p->raw, DELTA_BLOCK / DELTA_MINI);
	thrift_varint(&p->raw, p->count - p->nulls);
	thrift_varint(&p->raw, thrift_zigzag((int64_t)before));
	for (size_t i = 0; i < p->n_runs; i++)
		for (uint32_t c = 0; p->run[i].index != NOTHING && c < p->run[i].count; c++) {
			uint64_t v = p->value[p->run[i].index];

			if (first) {
				first = false;
				continue;
			}
			delta[n++] = (int64_t)(v - before);
			before = v;
			if (n == DELTA_BLOCK) {
				put_delta_block(&p->raw, delta, n);
				n = 0;
			}
		}
	if (n)
		put_delta_block(&p->raw, delta, n);
}

/* Writes the first bytes of all values, then the second ones, and so on. */
static void put_doubles(struct buf *out, const uint64_t *v, size_t n)
{
	if (buf_reserve(out, n * 8))
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < 8; b++)
			out->data[out->len + b * n + i] = (uint8_t)(v[i] >> 8 * b);
	out->len += n * 8;
}

/* ---- pages ---- */

static uint64_t position(const struct parquet *p)
{
	return p->out->written + p->out->text.len;
}

/* Writes p->raw, compressed, after its head. */
static int put_page(struct parquet *p, int type, int encoding, uint64_t n, struct group *g)
{
	struct thrift t = { .out = &p->out->text };
	uint64_t before = position(p), head;
	int err;

	buf_clear(&p->packed);
	err = p->raw.err ? p->raw.err : pm_zstd_compress(p->zstd, p->raw.data, p->raw.len, ZSTD_LEVEL, &p->packed);
	if (err)
		return err;
	thrift_int(&t, 1, THRIFT_I32, type);
	thrift_int(&t, 2, THRIFT_I32, (int64_t)p->raw.len);
	thrift_int(&t, 3, THRIFT_I32, (int64_t)p->packed.len);
	thrift_open(&t, type == DATA_PAGE ? 5 : 7);
	thrift_int(&t, 1, THRIFT_I32, (int64_t)n);
	thrift_int(&t, 2, THRIFT_I32, encoding);
	if (type == DATA_PAGE) {
		thrift_int(&t, 3, THRIFT_I32, RLE);
		thrift_int(&t, 4, THRIFT_I32, RLE);
	}
	thrift_close(&t);
	buf_addch(t.out, 0);
	head = position(p) - before;
	buf_add(t.out, p->packed.data, p->packed.len);
	g->bytes += head + p->raw.len;
	g->packed += head + p->packed.len;
	return t.out->err;
}

static void put_dictionary(struct parquet *p, bool text)
{
	for (size_t i = 0; i < p->n_values; i++) {
		const char *word = text ? parquet_text_of(p, p->value[i]) : NULL;

		put_little(&p->raw, text ? strlen(word) : p->value[i], text ? 4 : 8);
		if (text)
			buf_add(&p->raw, word, strlen(word));
	}
}

static int compare(const struct parquet *p, enum parquet_type type, uint64_t a, uint64_t b)
{
	if (type == PARQUET_TEXT)
		return strcmp(parquet_text_of(p, a), parquet_text_of(p, b));
	return (int64_t)a < (int64_t)b ? -1 : (int64_t)a > (int64_t)b;
}

static void put_bound(struct parquet *p, struct thrift *t, int id, enum parquet_type type, uint64_t v)
{
	const char *word = parquet_text_of(p, v);

	thrift_field(t, id, THRIFT_TEXT);
	if (type == PARQUET_TEXT) {
		thrift_bytes(t, word, strlen(word));
	} else {
		thrift_varint(t->out, 8);
		put_little(t->out, v, 8);
	}
}

/* Minimum and maximum, by which engines skip row groups. */
static void put_statistics(struct parquet *p, struct thrift *t, enum parquet_type type)
{
	uint64_t least = p->n_values ? p->value[0] : 0, most = least;
	bool bounds = p->n_values && type != PARQUET_DOUBLE && type != PARQUET_VALUE;

	thrift_open(t, 12);
	thrift_int(t, 3, THRIFT_I64, (int64_t)p->nulls);
	for (size_t i = 1; i < p->n_values && bounds; i++) {
		least = compare(p, type, p->value[i], least) < 0 ? p->value[i] : least;
		most = compare(p, type, p->value[i], most) > 0 ? p->value[i] : most;
	}
	if (type == PARQUET_TEXT)
		bounds &= strlen(parquet_text_of(p, least)) <= STATISTIC_MAX &&
			  strlen(parquet_text_of(p, most)) <= STATISTIC_MAX;
	if (bounds) {
		put_bound(p, t, 5, type, most);
		put_bound(p, t, 6, type, least);
	}
	thrift_close(t);
}

static const int physical[] = {
	[PARQUET_INT] = TYPE_INT64,    [PARQUET_TIME] = TYPE_INT64,      [PARQUET_DOUBLE] = TYPE_DOUBLE,
	[PARQUET_VALUE] = TYPE_DOUBLE, [PARQUET_TEXT] = TYPE_BYTE_ARRAY,
};

static void put_chunk(struct parquet *p, const struct group *before, struct group *g, const struct column *c,
		      int encoding, uint64_t dictionary, uint64_t data)
{
	struct thrift t = { .out = &g->chunks };

	thrift_int(&t, 2, THRIFT_I64, 0);
	thrift_open(&t, 3);
	thrift_int(&t, 1, THRIFT_I32, physical[c->type]);
	thrift_list(&t, 2, THRIFT_I32, dictionary ? 3 : 2);
	thrift_varint(t.out, thrift_zigzag(RLE));
	thrift_varint(t.out, thrift_zigzag(encoding));
	if (dictionary)
		thrift_varint(t.out, thrift_zigzag(PLAIN));
	thrift_list(&t, 3, THRIFT_TEXT, 1);
	thrift_bytes(&t, c->name, strlen(c->name));
	thrift_int(&t, 4, THRIFT_I32, CODEC_ZSTD);
	thrift_int(&t, 5, THRIFT_I64, (int64_t)p->count);
	thrift_int(&t, 6, THRIFT_I64, (int64_t)(g->bytes - before->bytes));
	thrift_int(&t, 7, THRIFT_I64, (int64_t)(g->packed - before->packed));
	thrift_int(&t, 9, THRIFT_I64, (int64_t)data);
	if (dictionary)
		thrift_int(&t, 11, THRIFT_I64, (int64_t)dictionary);
	put_statistics(p, &t, c->type);
	thrift_close(&t);
	buf_addch(t.out, 0);
	g->n++;
}

static bool long_series(const struct parquet *p)
{
	return p->n_values * 8 > p->count;
}

static int put_column(struct parquet *p, struct group *g, const struct column *c)
{
	bool text = c->type == PARQUET_TEXT, value = c->type == PARQUET_VALUE;
	bool deltas = (c->type == PARQUET_INT || c->type == PARQUET_TIME) && long_series(p);
	uint64_t dictionary = 0, data, rows = p->count;
	struct group before = *g;
	int encoding = PLAIN, err = 0;

	buf_clear(&p->raw);
	if (p->n_values && !value && !deltas) {
		encoding = RLE_DICTIONARY;
		dictionary = position(p);
		put_dictionary(p, text);
		if ((err = put_page(p, DICTIONARY_PAGE, PLAIN, p->n_values, g)))
			return err;
		buf_clear(&p->raw);
	}
	put_levels(p);
	if (value) {
		encoding = BYTE_STREAM_SPLIT;
		put_doubles(&p->raw, p->value, p->n_values);
	} else if (p->n_values && deltas) {
		encoding = DELTA_BINARY_PACKED;
		put_deltas(p);
	} else if (p->n_values) {
		put_indices(p);
	}
	data = position(p);
	if ((err = put_page(p, DATA_PAGE, encoding, rows, g)))
		return err;
	put_chunk(p, &before, g, c, encoding, dictionary, data);
	return g->chunks.err;
}

int parquet_column(struct parquet *p, int group, int column)
{
	struct group *g = &p->group[group];
	int err = p->err ? p->err : put_column(p, g, &p->column[column]);

	p->n_runs = p->n_values = p->last = 0;
	p->nulls = p->count = 0;
	memset(p->slot, 0xff, p->n_slots * sizeof(*p->slot));
	return err ? err : output_is_full(p->out) ? output_flush(p->out) : 0;
}

int parquet_group(struct parquet *p, uint64_t rows)
{
	if (array_room(&p->group, (size_t)p->n_groups, sizeof(*p->group)))
		return -ENOMEM;
	p->group[p->n_groups] = (struct group){ .rows = rows, .at = position(p) };
	p->rows += rows;
	return p->n_groups++;
}

/* ---- the footer ---- */

static void put_schema(struct thrift *t, const struct column *c)
{
	thrift_open(t, 0);
	thrift_int(t, 1, THRIFT_I32, physical[c->type]);
	thrift_int(t, 3, THRIFT_I32, OPTIONAL);
	thrift_text(t, 4, c->name, strlen(c->name));
	if (c->type == PARQUET_TEXT) {
		thrift_int(t, 6, THRIFT_I32, CONVERTED_UTF8);
		thrift_open(t, 10);
		thrift_open(t, LOGICAL_STRING);
		thrift_close(t);
		thrift_close(t);
	} else if (c->type == PARQUET_TIME) {
		thrift_int(t, 6, THRIFT_I32, CONVERTED_MICROS);
		thrift_open(t, 10);
		thrift_open(t, LOGICAL_TIMESTAMP);
		thrift_field(t, 1, THRIFT_TRUE);
		thrift_open(t, 2);
		thrift_open(t, UNIT_MICROS);
		thrift_close(t);
		thrift_close(t);
		thrift_close(t);
		thrift_close(t);
	}
	thrift_close(t);
}

static void put_group(struct thrift *t, const struct group *g)
{
	thrift_open(t, 0);
	thrift_list(t, 1, THRIFT_STRUCT, g->n);
	buf_add(t->out, g->chunks.data, g->chunks.len);
	thrift_int(t, 2, THRIFT_I64, (int64_t)g->bytes);
	thrift_int(t, 3, THRIFT_I64, (int64_t)g->rows);
	thrift_int(t, 5, THRIFT_I64, (int64_t)g->at);
	thrift_int(t, 6, THRIFT_I64, (int64_t)g->packed);
	thrift_close(t);
}

int parquet_end(struct parquet *p)
{
	static const char by[] = "pmrep version " PM_VERSION;
	struct thrift t = { .out = &p->out->text };
	uint64_t from = position(p);

	thrift_int(&t, 1, THRIFT_I32, 2);
	thrift_list(&t, 2, THRIFT_STRUCT, (size_t)p->n_columns + 1);
	thrift_open(&t, 0);
	thrift_text(&t, 4, "pmrep", 5);
	thrift_int(&t, 5, THRIFT_I32, p->n_columns);
	thrift_close(&t);
	for (int i = 0; i < p->n_columns; i++)
		put_schema(&t, &p->column[i]);
	thrift_int(&t, 3, THRIFT_I64, (int64_t)p->rows);
	thrift_list(&t, 4, THRIFT_STRUCT, (size_t)p->n_groups);
	for (int i = 0; i < p->n_groups; i++)
		put_group(&t, &p->group[i]);
	thrift_text(&t, 6, by, strlen(by));
	/* Bounds are ordered by type. */
	thrift_list(&t, 7, THRIFT_STRUCT, (size_t)p->n_columns);
	for (int i = 0; i < p->n_columns; i++) {
		thrift_open(&t, 0);
		thrift_open(&t, 1);
		thrift_close(&t);
		thrift_close(&t);
	}
	buf_addch(t.out, 0);
	put_little(t.out, position(p) - from, 4);
	buf_addstr(t.out, "PAR1");
	return t.out->err ? t.out->err : output_flush(p->out);
}
