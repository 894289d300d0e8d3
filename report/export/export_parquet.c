/* Parquet: the rows of csv as typed columns, with host, machine and labels beside them. Rows are collected until
 * there are about a million, and written ordered by metric, recording, place and time, so that engines skip what a
 * query does not need, and equal values are adjacent.
 *
 * Only the parts of the format (parquet-format 2.10) that pay off: one data page per column of a row group,
 * dictionaries of texts, differences of integers, zstd. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/double_bits.h"
#include "common/names.h"
#include "common/utf8.h"
#include "format/compress.h"
#include "report/export/bytes.h"
#include "report/export/exporter.h"
#include "report/machine/status.h"

#define WAITING       (24u << 20) /* bytes of what waits */
#define GROUP_ROWS    (256u << 10)
#define ZSTD_LEVEL    1
#define STATISTIC_MAX 256        /* bytes of a text that serves as a bound */
#define NONE          UINT64_MAX /* no value; as a double it is a NaN that no formula gives */

/* Numbers of parquet.thrift. */
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8, BYTE_STREAM_SPLIT = 9 };
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6, CODEC_ZSTD = 6, OPTIONAL = 1 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2, CONVERTED_UTF8 = 0, CONVERTED_MICROS = 10 };

enum type {
	TEXT, /* UTF-8; the number that text_id() gave */
	INT,  /* 64 bits, signed */
	TIME, /* microseconds since 1970, UTC */
	VALUE /* the bits of a double */
};

/* Their types and encodings in the file, and the SchemaElement, whose fields are physical type, repetition, name, and
 * for two of them converted and logical type. */
static const struct {
	int physical, encoding, converted;
	const char *schema;
} about_type[] = {
	[TEXT] = { TYPE_BYTE_ARRAY, RLE_DICTIONARY, CONVERTED_UTF8, "{ 1i 3i 4s 6i 10{ 1{ } } }" },
	[INT] = { TYPE_INT64, DELTA_BINARY_PACKED, 0, "{ 1i 3i 4s }" },
	[TIME] = { TYPE_INT64, DELTA_BINARY_PACKED, CONVERTED_MICROS, "{ 1i 3i 4s 6i 10{ 8{ 1t 2{ 2{ } } } } }" },
	[VALUE] = { TYPE_DOUBLE, BYTE_STREAM_SPLIT, 0, "{ 1i 3i 4s }" },
};

/* clang-format off */
static const enum type type_of_column[EXPORT_ALL_COLUMNS] = {
	[EXPORT_RUN] = INT, [EXPORT_TIME] = TIME, [EXPORT_DURATION] = INT, [EXPORT_PACKAGE ... EXPORT_CPU] = INT,
	[EXPORT_VALUE] = VALUE, [EXPORT_COVERAGE] = VALUE, [EXPORT_ELAPSED] = INT,
};
/* clang-format on */

struct column {
	char *name; /* owned */
	enum type type;
};

/* The values of one metric at one place in `n` intervals that arrived together. Texts are numbers of text_id(). */
struct series {
	uint32_t n, metric, unit;
	uint32_t place, columns; /* what else does not change: so many in PLACES, by column; PM_NONE: no value */
	size_t times, values;    /* in WORDS: n of each word below 5, and n of each of the others */
};

/* The word of a column whose values change with time. */
static const uint8_t word_of[EXPORT_ALL_COLUMNS] = {
	[EXPORT_TIME] = 1,  [EXPORT_DURATION] = 2, [EXPORT_ELAPSED] = 3,  [EXPORT_RUN] = 4,
	[EXPORT_VALUE] = 5, [EXPORT_STATUS] = 6,   [EXPORT_COVERAGE] = 7,
};

/* Equal adjacent rows of the column at hand. */
struct run {
	uint64_t v;
	uint32_t n, index; /* rows; of the text in the dictionary */
};

struct group {
	uint64_t rows, at, bytes, packed;
	struct buf chunks; /* ColumnChunk structs */
	unsigned n;
};

enum buffer {
	/* To the end: */
	COLUMNS, /* struct column: the fixed ones, then labels */
	GROUPS,  /* struct group */
	/* Until the rows are written: */
	WORDS,   /* uint64_t */
	SERIES,  /* struct series */
	PLACES,  /* uint32_t */
	TEXTS,   /* each ends with a zero byte */
	TEXT_AT, /* size_t: in TEXTS, by number */
	/* The column at hand: */
	RUNS,  /* struct run */
	INDEX, /* uint32_t: of a text in its dictionary, by number; PM_NONE: not there */
	FLAT,  /* uint64_t: its values, one by one */
	RAW,   /* of a page */
	PACKED,
	BUFFERS
};

struct waiting {
	struct output *out; /* borrowed */
	struct pm_zstd *zstd;
	struct buf buf[BUFFERS];
	struct names text, label; /* -> number of the text; of the column of the label with that key */
	uint32_t place, columns;  /* of the current shape: see struct series */
	size_t times;             /* of the current intervals, in WORDS */
};

#define COUNT(w, b, type) ((w)->buf[b].len / sizeof(type))
#define AT(w, b, type, i) (&((type *)(void *)(w)->buf[b].data)[i])
#define ADD(w, b, item)   (buf_add(&(w)->buf[b], &(item), sizeof(item)), memory_whole(&(w)->buf[b]))

/* A number for the text, which it copies, repairing UTF-8; PM_NONE for NULL. */
static uint32_t text_id(struct waiting *w, const char *text)
{
	uint32_t id;

	if (!text || names_get(&w->text, text, &id))
		return text ? id : PM_NONE;
	id = (uint32_t)COUNT(w, TEXT_AT, size_t);
	ADD(w, TEXT_AT, w->buf[TEXTS].len);
	utf8_repair(&w->buf[TEXTS], text, strlen(text));
	buf_addch(&w->buf[TEXTS], '\0');
	memory_whole(&w->buf[TEXTS]);
	memory_done(names_set(&w->text, text, id));
	return id;
}

static const char *text_of(const struct waiting *w, uint64_t id)
{
	return (const char *)w->buf[TEXTS].data + *AT(w, TEXT_AT, size_t, id);
}

/* ---- encodings ---- */

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

/* Thrift's compact protocol: field numbers are relative to the field before, within each struct. */
struct thrift {
	struct buf *out;
	int last[8], depth;
};

/*
 * Appends what `fields` describes. A field has its number and a letter: i (32 bits), l (64 bits), d (64 bits as a
 * text), s (text), t (true), { (a struct, up to its }), [ and another letter (a list, of which this is the length).
 * Without a number it is an element of a list. All but t, { and } take the next of `v`.
 */
static void put_thrift(struct thrift *t, const char *fields, const uint64_t *v)
{
	static const uint8_t type[128] = {
		['t'] = 1, ['i'] = 5, ['l'] = 6, ['d'] = 8, ['s'] = 8, ['['] = 9, ['{'] = 12
	};
	const char *text;

	for (const char *f = fields; *f; f++) {
		int id = 0;

		for (; *f >= '0' && *f <= '9'; f++)
			id = 10 * id + *f - '0';
		if (id) {
			buf_addch(t->out, (char)((id - t->last[t->depth]) << 4 | type[(unsigned char)*f]));
			t->last[t->depth] = id;
		}
		switch (*f) {
		case 'i':
		case 'l':
			put_varint(t->out, zigzag(*v++));
			break;
		case 'd':
			put_varint(t->out, 8);
			put_little(t->out, *v++, 8);
			break;
		case 's':
			text = (const char *)(uintptr_t)*v++;
			put_varint(t->out, strlen(text));
			buf_addstr(t->out, text);
			break;
		case '[':
			buf_addch(t->out, (char)((*v < 15 ? *v << 4 : 0xf0) | type[(unsigned char)*++f]));
			if (*v >= 15)
				put_varint(t->out, *v);
			v++;
			break;
		case '{':
			t->last[++t->depth] = 0;
			break;
		case '}':
			buf_addch(t->out, 0);
			t->depth--;
			break;
		default:
			break;
		}
	}
}
#define THRIFT(t, fields, ...) put_thrift(t, fields, (const uint64_t[]){ __VA_ARGS__ })

/* Bits that the number takes. */
static unsigned width_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

#define DELTA_BLOCK 128

/* The first number, and blocks of differences above their smallest, of as many bits as the largest takes. Overwrites
 * v[], which has room for a block more. */
static void put_deltas(struct buf *out, uint64_t *v, size_t n)
{
	put_varint(out, DELTA_BLOCK);
	put_varint(out, 1); /* width per block */
	put_varint(out, n);
	put_varint(out, zigzag(v[0]));
	for (size_t i = n; i-- > 1;)
		v[i] -= v[i - 1];
	for (size_t at = 1; at < n; at += DELTA_BLOCK) {
		uint64_t least = v[at], most = 0, bits = 0;
		unsigned width, have = 0;

		for (size_t i = at; i < at + DELTA_BLOCK && i < n; i++)
			least = (int64_t)v[i] < (int64_t)least ? v[i] : least;
		for (size_t i = at; i < at + DELTA_BLOCK; i++) {
			v[i] = i < n ? v[i] - least : 0;
			most |= v[i];
		}
		width = width_of(most);
		put_varint(out, zigzag(least));
		buf_addch(out, (char)width);
		/* Halves, because the rest of a byte and 64 bits are more than a word holds. */
		for (size_t i = 0; width && i < (size_t)2 * DELTA_BLOCK; i++) {
			unsigned take = i % 2 ? (width > 32 ? width - 32 : 0) : width > 32 ? 32 : width;

			bits |= (i % 2 ? v[at + i / 2] >> 32 : v[at + i / 2] & UINT32_MAX) << have;
			for (have += take; have >= 8; have -= 8, bits >>= 8)
				buf_addch(out, (char)bits);
		}
	}
}

/* Writes the first bytes of all values, then the second ones, and so on. */
static void put_doubles(struct buf *out, const uint64_t *v, size_t n)
{
	output_room(out, n * 8);
	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < 8; b++)
			out->data[out->len + b * n + i] = (uint8_t)(v[i] >> 8 * b);
	out->len += n * 8;
}

/* ---- a column of a row group ---- */

/* The next `n` rows have this value, or NONE. */
static void put(struct waiting *w, uint64_t v, uint64_t n)
{
	struct buf *runs = &w->buf[RUNS];
	struct run *end = AT(w, RUNS, struct run, COUNT(w, RUNS, struct run));

	if (runs->len && end[-1].v == v) {
		end[-1].n += (uint32_t)n;
	} else {
		output_room(runs, sizeof(*end));
		*AT(w, RUNS, struct run, COUNT(w, RUNS, struct run)) = (struct run){ .v = v, .n = (uint32_t)n };
		runs->len += sizeof(*end);
	}
}

/* The distinct texts of the runs, each of which learns the index of its own. Returns their number. */
static uint32_t put_dictionary(struct waiting *w)
{
	size_t runs = COUNT(w, RUNS, struct run), size = COUNT(w, TEXT_AT, size_t) * sizeof(uint32_t);
	uint32_t *index = memset(output_room(&w->buf[INDEX], size), 0xff, size), n = 0;

	for (struct run *r = AT(w, RUNS, struct run, 0); runs; r++, runs--) {
		if (r->v == NONE)
			continue;
		if (index[r->v] == PM_NONE) {
			index[r->v] = n++;
			put_little(&w->buf[RAW], strlen(text_of(w, r->v)), 4);
			buf_addstr(&w->buf[RAW], text_of(w, r->v));
		}
		r->index = index[r->v];
	}
	return n;
}

static bool is_above(const struct waiting *w, enum type type, uint64_t a, uint64_t b)
{
	return type == TEXT ? strcmp(text_of(w, a), text_of(w, b)) > 0 : (int64_t)a > (int64_t)b;
}

/* The smallest and the largest value, by which engines skip row groups. */
static bool find_bounds(const struct waiting *w, enum type type, uint64_t *least, uint64_t *most)
{
	const struct run *r = AT(w, RUNS, struct run, 0), *end = r + COUNT(w, RUNS, struct run);

	*least = *most = NONE;
	for (; type != VALUE && r < end; r++) {
		if (r->v == NONE || r->v == *least || r->v == *most)
			continue;
		*least = *least == NONE || is_above(w, type, *least, r->v) ? r->v : *least;
		*most = *most == NONE || is_above(w, type, r->v, *most) ? r->v : *most;
	}
	return *least != NONE && (type != TEXT || (strlen(text_of(w, *least)) <= STATISTIC_MAX &&
						   strlen(text_of(w, *most)) <= STATISTIC_MAX));
}

/* Which rows have a value, or the indices of those that have one, as runs; zstd finds the patterns in them. */
static void put_runs(struct waiting *w, unsigned width, bool levels)
{
	const struct run *r = AT(w, RUNS, struct run, 0), *end = r + COUNT(w, RUNS, struct run);

	while (r < end) {
		bool there = r->v != NONE;
		uint64_t v = levels ? there : r->index, n = r->n;

		for (r++; levels && r < end && (r->v != NONE) == there; r++)
			n += r->n;
		if (levels || there) {
			put_varint(&w->buf[RAW], n << 1);
			put_little(&w->buf[RAW], v, (int)(width + 7) / 8);
		}
	}
}

static uint64_t position(const struct waiting *w)
{
	return w->out->written + w->out->text.len;
}

/* Writes RAW, compressed, after its head, and empties it. */
static void put_page(struct waiting *w, int type, int encoding, uint64_t n, struct group *g)
{
	struct buf *raw = &w->buf[RAW], *packed = &w->buf[PACKED];
	struct thrift t = { .out = &w->out->text };
	uint64_t from = position(w), raw_len = raw->len;

	buf_clear(packed);
	memory_whole(raw);
	memory_done(pm_zstd_compress(w->zstd, raw->data, raw_len, ZSTD_LEVEL, packed));
	THRIFT(&t, type == DATA_PAGE ? "1i 2i 3i 5{ 1i 2i 3i 4i } }" : "1i 2i 3i 7{ 1i 2i } }", type, raw_len,
	       packed->len, n, encoding, RLE, RLE);
	buf_add(t.out, packed->data, packed->len);
	g->packed += position(w) - from;
	g->bytes += position(w) - from - packed->len + raw_len;
	raw->len = 0;
}

/* The runs become the next column of the group. */
static int end_column(struct waiting *w, size_t group)
{
	struct group *g = AT(w, GROUPS, struct group, group), before = *g;
	const struct column *c = AT(w, COLUMNS, struct column, g->n);
	struct buf *raw = &w->buf[RAW];
	struct thrift t = { .out = &g->chunks };
	uint64_t *flat, rows = 0, n = 0, distinct = 0, dictionary = 0, data, least, most;
	int encoding;

	flat = (uint64_t *)(void *)output_room(&w->buf[FLAT], (g->rows + DELTA_BLOCK) * sizeof(*flat));
	for (const struct run *r = AT(w, RUNS, struct run, 0); rows < g->rows; rows += r++->n)
		for (uint32_t k = 0; k < r->n && r->v != NONE; k++)
			flat[n++] = r->v;
	encoding = n ? about_type[c->type].encoding : PLAIN;
	if (encoding == RLE_DICTIONARY) {
		dictionary = position(w);
		distinct = put_dictionary(w);
		put_page(w, DICTIONARY_PAGE, PLAIN, distinct, g);
	}
	data = position(w);
	put_little(raw, 0, 4);
	put_runs(w, 1, true);
	memory_whole(raw);
	for (int i = 0; i < 4; i++)
		raw->data[i] = (uint8_t)((raw->len - 4) >> 8 * i);
	if (encoding == RLE_DICTIONARY) {
		buf_addch(raw, (char)width_of(distinct - 1));
		put_runs(w, width_of(distinct - 1), false);
	} else if (encoding == BYTE_STREAM_SPLIT) {
		put_doubles(raw, flat, n);
	} else if (encoding == DELTA_BINARY_PACKED) {
		put_deltas(raw, flat, n);
	}
	put_page(w, DATA_PAGE, encoding, rows, g);
	THRIFT(&t, dictionary ? "2l 3{ 1i 2[i i i i" : "2l 3{ 1i 2[i i i", 0, about_type[c->type].physical,
	       dictionary ? 3 : 2, RLE, encoding, PLAIN);
	THRIFT(&t, "3[s s 4i 5l 6l 7l 9l", 1, (uintptr_t)c->name, CODEC_ZSTD, rows, g->bytes - before.bytes,
	       g->packed - before.packed, data);
	if (dictionary)
		THRIFT(&t, "11l", dictionary);
	THRIFT(&t, "12{ 3l", rows - n);
	if (find_bounds(w, c->type, &least, &most)) {
		if (c->type == TEXT)
			THRIFT(&t, "5s 6s", (uintptr_t)text_of(w, most), (uintptr_t)text_of(w, least));
		else
			THRIFT(&t, "5d 6d", most, least);
	}
	THRIFT(&t, "} } }", 0);
	g->n++;
	buf_clear(&w->buf[RUNS]);
	memory_whole(t.out);
	return output_is_full(w->out) ? output_flush(w->out) : 0;
}

/* ---- rows that arrive ---- */

static void forget(struct waiting *w)
{
	for (int i = WORDS; i <= TEXT_AT; i++)
		buf_clear(&w->buf[i]);
	names_release(&w->text);
}

static void add_column(struct waiting *w, const char *prefix, const char *name, enum type type)
{
	struct buf whole = BUF_INIT;
	struct column c = { .type = type };

	buf_addstr(&whole, prefix);
	utf8_repair(&whole, name, strlen(name));
	c.name = memory_checked(buf_detach(&whole));
	ADD(w, COLUMNS, c);
}

static struct waiting *waiting(struct exporter *x)
{
	struct waiting *w = x->data;

	if (w)
		return w;
	w = x->data = memory_new(1, sizeof(*w));
	w->out = &x->out;
	w->zstd = memory_checked(pm_zstd_new());
	buf_addstr(&w->out->text, "PAR1");
	for (int i = 0; i < EXPORT_ALL_COLUMNS; i++)
		add_column(w, "", export_columns[i], type_of_column[i]);
	return w;
}

static void parquet_release(struct sink *sink)
{
	struct waiting *w = exporter_of(sink)->data;

	if (!w)
		return;
	for (size_t i = 0; i < COUNT(w, COLUMNS, struct column); i++)
		free(AT(w, COLUMNS, struct column, i)->name);
	for (size_t i = 0; i < COUNT(w, GROUPS, struct group); i++)
		buf_release(&AT(w, GROUPS, struct group, i)->chunks);
	for (int i = 0; i < BUFFERS; i++)
		buf_release(&w->buf[i]);
	names_release(&w->text);
	names_release(&w->label);
	pm_zstd_free(w->zstd);
	free(w);
}

/* The labels of a recording, which follow the fixed columns, in what all rows of a shape have in common, by column.
 * The last label with a key counts, as in csv. */
static uint32_t *note_labels(struct waiting *w, const struct pm_model *m)
{
	const struct pm_value *labels = pm_map_get(&m->header, PM_HEADER_LABELS);
	uint32_t n = labels && labels->kind == PM_VALUE_ARRAY ? labels->array.n : 0;
	size_t size = (COUNT(w, COLUMNS, struct column) + n) * sizeof(uint32_t);
	uint32_t *of = memory_new(1, size), column;

	memset(of, 0xff, size);
	for (uint32_t i = 0; i < n; i++) {
		const struct pm_value *pair = export_label_pair(labels, i);

		if (!pair)
			continue;
		column = (uint32_t)COUNT(w, COLUMNS, struct column);
		if (!names_get(&w->label, pair[0].str.data, &column)) {
			add_column(w, "label_", pair[0].str.data, TEXT);
			memory_done(names_set(&w->label, pair[0].str.data, column));
		}
		of[column] = text_id(w, pair[1].str.data);
	}
	return of;
}

static int parquet_shape(struct sink *sink, const struct sheet *s, size_t n_sheets)
{
	struct waiting *w = waiting(exporter_of(sink));
	SCOPED(scoped_free) uint32_t *of = NULL;

	if (!w->buf[SERIES].len)
		forget(w);
	of = note_labels(w, s->places->model);
	w->columns = (uint32_t)COUNT(w, COLUMNS, struct column);
	w->place = (uint32_t)COUNT(w, PLACES, uint32_t);
	for (uint32_t r = 0; r < s->n_rows; r++) {
		for (int i = 0; i < EXPORT_ALL_COLUMNS; i++) {
			struct export_fact fact;

			if (word_of[i] || i == EXPORT_METRIC || i == EXPORT_UNIT)
				continue;
			export_fact(&fact, sink, s, &s->row[r].place, NULL, (enum export_column)i);
			of[i] = fact.is_number          ? (uint32_t)fact.number :
				fact.text && *fact.text ? text_id(w, fact.text) :
							  PM_NONE;
		}
		buf_add(&w->buf[PLACES], of, w->columns * sizeof(*of));
	}
	memory_whole(&w->buf[PLACES]);
	return 0;
}

static void note_times(struct waiting *w, const struct sink *sink, const struct interval *i, size_t n)
{
	uint64_t *to;

	to = (uint64_t *)(void *)output_room(&w->buf[WORDS], 4 * n * sizeof(*to));
	w->times = COUNT(w, WORDS, uint64_t);
	for (size_t k = 0; k < n; k++) {
		to[k] = i[k].wall_ns >= 1000 ? (uint64_t)i[k].wall_ns / 1000 : NONE;
		to[n + k] = i[k].duration_ns;
		to[2 * n + k] = i[k].to_ns - sink->origin_ns;
		to[3 * n + k] = i[k].run;
	}
	w->buf[WORDS].len += 4 * n * sizeof(*to);
}

static void note_series(struct exporter *x, struct waiting *w, const struct sheet *sheet, uint32_t row,
			const struct sheet_cell *c, size_t n)
{
	const struct bound_metric *m = sheet->column[c->column].metric;
	struct series s = { .n = (uint32_t)n,
			    .metric = text_id(w, m->name),
			    .unit = text_id(w, *m->about->unit ? m->about->unit : NULL),
			    .place = w->place + row * w->columns,
			    .columns = w->columns,
			    .times = w->times,
			    .values = COUNT(w, WORDS, uint64_t) };
	uint32_t ok = text_id(w, "ok");
	uint64_t *to;

	to = (uint64_t *)(void *)output_room(&w->buf[WORDS], 3 * n * sizeof(*to));
	for (size_t k = 0; k < n; k++) {
		enum status_quality quality = sheet_quality(c, k);
		uint16_t reason = c->value[k].reason;
		char word[16];

		to[k] = reason ? NONE : double_to_bits(c->value[k].v);
		to[n + k] = !reason && quality == STATUS_WHOLE ? ok : text_id(w, status_word(reason, quality, word));
		to[2 * n + k] = reason ? NONE : double_to_bits(sheet_coverage(c, k));
		x->partial |= export_lacks(c, k);
	}
	w->buf[WORDS].len += 3 * n * sizeof(*to);
	ADD(w, SERIES, s);
}

/* ---- rows that leave ---- */

static void put_series(struct waiting *w, const struct series *s, unsigned column)
{
	size_t word = column < EXPORT_ALL_COLUMNS ? word_of[column] : 0;
	const uint64_t *times = AT(w, WORDS, uint64_t, s->times), *values = AT(w, WORDS, uint64_t, s->values);
	const uint64_t *v = !word ? NULL : word < 5 ? times + (word - 1) * s->n : values + (word - 5) * s->n;
	uint32_t fixed = column == EXPORT_METRIC ? s->metric :
			 column == EXPORT_UNIT   ? s->unit :
			 column < s->columns     ? *AT(w, PLACES, uint32_t, s->place + column) :
						   PM_NONE;

	if (!word)
		put(w, fixed == PM_NONE ? NONE : fixed, s->n);
	for (uint32_t k = 0; word && k < s->n; k++)
		put(w, v[k], 1);
}

static int put_group(struct waiting *w, const struct series *s, size_t n, uint64_t rows)
{
	struct group g = { .rows = rows, .at = position(w) };
	int err = 0;

	ADD(w, GROUPS, g);
	for (unsigned c = 0; c < COUNT(w, COLUMNS, struct column) && !err; c++) {
		for (size_t i = 0; i < n; i++)
			put_series(w, &s[i], c);
		err = end_column(w, COUNT(w, GROUPS, struct group) - 1);
	}
	return err;
}

/* By metric, recording and place, which have ascending numbers, and time. */
static int in_order(const void *first, const void *second, void *w)
{
	const struct series *a = first, *b = second;

	if (a->metric != b->metric)
		return strcmp(text_of(w, a->metric), text_of(w, b->metric));
	return array_order(a->place, b->place, a->times, b->times);
}

static int put_waiting(struct waiting *w)
{
	size_t n = COUNT(w, SERIES, struct series), from = 0;
	struct series *s = AT(w, SERIES, struct series, 0);
	uint64_t rows = 0;
	int err = 0;

	if (n)
		qsort_r(s, n, sizeof(*s), in_order, w);
	for (size_t i = 0; i < n && !err; i++) {
		rows += s[i].n;
		/* A metric begins a new row group if that does not make small ones. */
		if (i + 1 == n || rows >= GROUP_ROWS || (rows >= GROUP_ROWS / 2 && s[i].metric != s[i + 1].metric)) {
			err = put_group(w, &s[from], i + 1 - from, rows);
			from = i + 1;
			rows = 0;
		}
	}
	forget(w);
	return err;
}

static int parquet_intervals(struct sink *sink, const struct sheet *s, const struct interval *interval, size_t n)
{
	struct exporter *x = exporter_of(sink);
	struct waiting *w = x->data;
	int err = 0;

	note_times(w, sink, interval, n);
	for (uint32_t r = 0; r < s->n_rows && !err; r++) {
		for (uint32_t c = 0; c < s->row[r].n_cells; c++)
			note_series(x, w, s, r, &s->row[r].cell[c], n);
		if (w->buf[WORDS].len + w->buf[SERIES].len + w->buf[PLACES].len < WAITING)
			continue;
		err = put_waiting(w);
		(void)parquet_shape(sink, s, 1);
		note_times(w, sink, interval, n);
	}
	return err;
}

static void put_footer(struct waiting *w)
{
	struct thrift t = { .out = &w->out->text };
	size_t columns = COUNT(w, COLUMNS, struct column), groups = COUNT(w, GROUPS, struct group);
	uint64_t from = position(w), rows = 0;

	THRIFT(&t, "1i 2[{ { 4s 5i }", 2, columns + 1, (uintptr_t) "pmrep", columns);
	for (size_t i = 0; i < columns; i++) {
		const struct column *c = AT(w, COLUMNS, struct column, i);

		THRIFT(&t, about_type[c->type].schema, about_type[c->type].physical, OPTIONAL, (uintptr_t)c->name,
		       about_type[c->type].converted);
	}
	for (size_t i = 0; i < groups; i++)
		rows += AT(w, GROUPS, struct group, i)->rows;
	THRIFT(&t, "3l 4[{", rows, groups);
	for (size_t i = 0; i < groups; i++) {
		const struct group *g = AT(w, GROUPS, struct group, i);

		THRIFT(&t, "{ 1[{", columns);
		buf_add(t.out, g->chunks.data, g->chunks.len);
		THRIFT(&t, "2l 3l 5l 6l }", g->bytes, g->rows, g->at, g->packed);
	}
	THRIFT(&t, "6s 7[{", (uintptr_t) "pmrep version " PM_VERSION, columns);
	/* Bounds are ordered by type. */
	for (size_t i = 0; i < columns; i++)
		THRIFT(&t, "{ 1{ } }", 0);
	THRIFT(&t, "}", 0);
	put_little(t.out, position(w) - from, 4);
	buf_addstr(t.out, "PAR1");
}

static int parquet_close(struct sink *sink)
{
	struct waiting *w = waiting(exporter_of(sink));
	int err = put_waiting(w);

	/* Groups lack the labels that only later recordings had. */
	for (size_t i = 0; !err && i < COUNT(w, GROUPS, struct group); i++)
		while (!err && AT(w, GROUPS, struct group, i)->n < COUNT(w, COLUMNS, struct column)) {
			put(w, NONE, AT(w, GROUPS, struct group, i)->rows);
			err = end_column(w, i);
		}
	if (err)
		return err;
	put_footer(w);
	return output_flush(w->out);
}

const struct sink_ops export_parquet = {
	.name = "parquet",
	.help = "columns for DuckDB, ClickHouse, Spark and the like, with host and labels",
	.binary = true,
	.shape = parquet_shape,
	.intervals = parquet_intervals,
	.close = parquet_close,
	.release = parquet_release,
};
