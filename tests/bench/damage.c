/*
 * What one fault costs a recording: damage [--faults=N] FILE...
 *
 * Zeroes each sector of 4 KiB and each of 512 bytes, and flips random bits, one at a time, reads what is left and
 * compares it with the whole recording. Prints the share of the values that are lost (median, worst), how many faults
 * outside the chunks and what is defined between them lost a value, how many inside lost more than the values up to
 * the next key chunk, and how many values were believed that are not those of the recording. The last three have the
 * limit 0, which decides the exit status.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reader.h"
#include "tests/unit/lib/input_memory.h"

#define MAX_FAULTS 2000

/* The values of one group in one snapshot. */
struct row {
	uint64_t tick, hash;
	uint32_t run, group, values;
	uint64_t unit; /* offset of the key chunk that it follows */
};

struct span {
	uint64_t offset, length, unit;
	bool begins; /* definitions before the first chunk: copies have them, but for groups that have retired by then */
};

/* Spans are chunks, and what is defined between them: without it the chunks up to the next key chunk are lost. */
struct rows {
	struct row *row;
	size_t n, cap;
	struct span *span;
	size_t n_spans, cap_spans, n_chunks;
	uint64_t values;
};

static void *grow(void *at, size_t n, size_t *cap, size_t size)
{
	if (n < *cap)
		return at;
	*cap = *cap ? 2 * *cap : 256;
	at = realloc(at, *cap * size);
	if (!at)
		abort();
	return at;
}

static uint64_t mix(uint64_t hash, uint64_t v)
{
	hash = (hash ^ v) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

static struct row row_of(const struct pm_model *m, const struct pm_chunk *c, const struct pm_chunk_group *g,
			 uint32_t r)
{
	const struct pm_group *group = pm_model_group(m, g->group);
	struct row row = { .tick = c->tick[r], .run = c->run, .group = g->group };
	uint32_t columns = pm_group_columns(group), head = pm_group_head(group);

	for (uint32_t k = 0; k < columns; k++) {
		uint16_t status = k >= head && g->status ? g->status[k * g->stride + r] : 0;

		row.hash = mix(row.hash, status ? status : g->v[k * g->stride + r]);
		row.values += k >= head;
	}
	return row;
}

static void add_chunk(struct rows *a, const struct pm_model *m, const struct pm_chunk *c, uint64_t unit)
{
	for (uint32_t i = 0; i < c->n_groups; i++) {
		for (uint32_t r = 0; r < c->rows && !c->group[i].absent; r++) {
			a->row = grow(a->row, a->n, &a->cap, sizeof(*a->row));
			a->row[a->n] = row_of(m, c, &c->group[i], r);
			a->row[a->n].unit = unit;
			a->values += a->row[a->n++].values;
		}
	}
}

static int by_place(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->run != b->run)
		return a->run < b->run ? -1 : 1;
	if (a->tick != b->tick)
		return a->tick < b->tick ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

/* All that can be read; nothing if the input is no recording any more. */
static struct rows read_all(const void *data, size_t len)
{
	struct pm_input in;
	struct pm_reader *reader;
	struct pm_item item;
	struct error e = { 0 };
	struct rows a = { 0 };
	uint64_t unit = 0;

	if (input_memory(&in, data, len) || pm_reader_open(&reader, &in, &e))
		return a;
	while (pm_reader_next(reader, &item) > 0) {
		const struct pm_chunk *chunk;
		bool defines = item.kind == PM_ITEM_MODEL && !(item.parts & PM_PART_REPEATED);

		if (item.kind != PM_ITEM_CHUNK && !defines)
			continue;
		unit = item.kind == PM_ITEM_CHUNK && item.chunk.key ? item.offset : unit;
		a.span = grow(a.span, a.n_spans, &a.cap_spans, sizeof(*a.span));
		a.span[a.n_spans++] = (struct span){ item.offset, item.length, defines ? 0 : unit, !a.n_chunks };
		if (defines)
			continue;
		a.span[a.n_spans - 1].begins = false;
		a.n_chunks++;
		/* What was defined before it is of its unit. */
		for (size_t i = a.n_spans - 1; i && !a.span[i - 1].unit; i--)
			a.span[i - 1].unit = unit;
		if (!pm_reader_decode(reader, &chunk))
			add_chunk(&a, pm_reader_model(reader), chunk, unit);
	}
	pm_reader_close(reader);
	qsort(a.row, a.n, sizeof(*a.row), by_place);
	return a;
}

static void release(struct rows *a)
{
	free(a->row);
	free(a->span);
}

struct outcome {
	uint64_t lost, allowed, wrong;
};

static bool comes_again(const struct rows *truth, const struct row *r)
{
	for (size_t i = 0; i < truth->n; i++)
		if (truth->row[i].group == r->group && truth->row[i].unit != r->unit)
			return true;
	return false;
}

/* Values of the units that a fault touches: a fault in the last chunk before a key chunk may cost no more than that. */
static uint64_t allowed_loss(const struct rows *truth, uint64_t from, uint64_t to)
{
	uint64_t values = 0;

	for (size_t i = 0; i < truth->n_spans; i++) {
		const struct span *c = &truth->span[i];

		if (c->offset >= to || c->offset + c->length <= from)
			continue;
		if (i && truth->span[i - 1].unit == c->unit && truth->span[i - 1].begins == c->begins &&
		    truth->span[i - 1].offset + truth->span[i - 1].length > from)
			continue; /* counted */
		for (size_t k = 0; k < truth->n; k++)
			if (truth->row[k].unit == c->unit && !(c->begins && comes_again(truth, &truth->row[k])))
				values += truth->row[k].values;
	}
	return values;
}

static struct outcome compare(const struct rows *truth, const struct rows *left, uint64_t from, uint64_t to)
{
	struct outcome o = { .lost = truth->values, .allowed = allowed_loss(truth, from, to) };
	size_t t = 0;

	for (size_t i = 0; i < left->n; i++) {
		const struct row *r = &left->row[i];

		while (t < truth->n && by_place(&truth->row[t], r) < 0)
			t++;
		if (t < truth->n && !by_place(&truth->row[t], r) && truth->row[t].hash == r->hash)
			o.lost -= truth->row[t++].values;
		else
			o.wrong += r->values;
	}
	return o;
}

static int by_value(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

/* One kind of fault, all over the file. Returns how many broke a limit. */
static unsigned try_faults(const char *name, uint8_t *data, size_t len, const struct rows *truth, size_t size,
			   unsigned most)
{
	static double share[MAX_FAULTS];
	uint8_t kept[4096];
	size_t places = size ? (len + size - 1) / size : most;
	unsigned n = 0, outside = 0, inside = 0;
	uint64_t wrong = 0, seed = 88172645463325252;
	size_t step = places > most ? (places + most - 1) / most : 1;

	for (size_t i = 0; i < places && n < MAX_FAULTS; i += step) {
		size_t at = i * size, bytes = size && at + size > len ? len - at : size;
		struct rows left;
		struct outcome o;

		if (!size) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			at = seed / 8 % len;
			bytes = 1;
		}
		memcpy(kept, data + at, bytes);
		if (size)
			memset(data + at, 0, bytes);
		else
			data[at] ^= 1 << seed % 8;
		left = read_all(data, len);
		o = compare(truth, &left, at, at + bytes);
		memcpy(data + at, kept, bytes);
		release(&left);
		share[n++] = 100.0 * (double)o.lost / (double)truth->values;
		outside += !o.allowed && o.lost;
		inside += o.allowed && o.lost > o.allowed;
		wrong += o.wrong;
	}
	qsort(share, n, sizeof(*share), by_value);
	printf("  %-13s %5u   lost: median %7.3f %%, worst %7.3f %%   outside chunks with a loss %u, inside beyond "
	       "the "
	       "next key chunk %u, believed %llu\n",
	       name, n, share[n / 2], share[n - 1], outside, inside, (unsigned long long)wrong);
	return outside + inside + (wrong > 0);
}

static uint8_t *load(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;

	if (f && !fseek(f, 0, SEEK_END)) {
		*len = (size_t)ftell(f);
		data = malloc(*len + 1);
		rewind(f);
		if (data && fread(data, 1, *len, f) != *len)
			*len = 0;
	}
	if (f)
		fclose(f);
	return data;
}

int main(int argc, char **argv)
{
	unsigned most = 200, broken = 0;

	for (int i = 1; i < argc; i++) {
		struct rows truth;
		uint8_t *data;
		size_t len = 0;

		if (!strncmp(argv[i], "--faults=", 9)) {
			most = (unsigned)strtoul(argv[i] + 9, NULL, 10);
			most = most && most < MAX_FAULTS ? most : MAX_FAULTS;
			continue;
		}
		data = load(argv[i], &len);
		truth = read_all(data, len);
		if (!truth.values) {
			fprintf(stderr, "damage: %s: no values can be read\n", argv[i]);
			return 2;
		}
		printf("%s: %zu bytes, %zu chunks, %llu values\n", argv[i], len, truth.n_chunks,
		       (unsigned long long)truth.values);
		broken += try_faults("4 KiB zeroed", data, len, &truth, 4096, most);
		broken += try_faults("512 B zeroed", data, len, &truth, 512, most);
		broken += try_faults("bit flipped", data, len, &truth, 0, most);
		release(&truth);
		free(data);
	}
	return broken ? 1 : 0;
}
