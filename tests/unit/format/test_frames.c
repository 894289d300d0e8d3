/* Frames by hand, with what no writer writes, and what the reader says of each. */
#include "format/cbor.h"
#include "format/crc32c.h"
#include "format/frame.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/reader.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/notation.h"
#include "tests/unit/lib/test.h"

/* What every recording begins with: an instance, a counter of it, and their group. */
#define HEADER  "1{}{1:'t'};"
#define MEMBER  "4{}{2:1,3:[{1:0}]};"
#define COUNTER "3{}{1:1,2:[{1:'a',3:'s',4:'1'}],3:1,4:[{1:'s',2:2,3:[1,1,0],4:[1,1,0]}]};"
#define BEGIN   HEADER MEMBER COUNTER
/* A chunk of that group with the tick N, and its block. */
#define VALUES                "[T\"beginsat\",T\"ends  at\",T\"12345678\"]"
#define CHUNK(N, MORE, BLOCK) "8{2:1,8:9,9:" #N ",14:[1,2,3,4],16:[1,1],17:[$,1]" MORE "}" BLOCK ";"
#define GOOD(N)               CHUNK(N, "", VALUES "[]")
#define LAST                  "11{}"

/* Frames are TYPE{meta}items; behind the type may stand "#" and a sequence number, "@" for another recording, "v" for
 * another major version if there is no payload. In the meta the length of the payload is filled in, and "$" is [stored, bits, raw, crc] of one block with all of it. At the end
 * "!" breaks the checksum of the payload, "?" that of the head, and "~" adds bytes that are none. */
static void put_frames(struct buf *file, const char *at)
{
	uint64_t sequence = 0;

	while (*at) {
		struct buf meta = BUF_INIT, payload = BUF_INIT;
		uint8_t id[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
		size_t start = file->len;
		bool other = false;
		char text[400], block[64], *end;
		unsigned type = (unsigned)strtoul(at, &end, 10);
		const char *from, *close = strchr(end, '}');

		for (at = end; *at != '{'; at++) {
			id[0] = *at == '@' ? 99 : id[0];
			other |= *at == 'v';
			if (*at == '#') {
				sequence = strtoull(at + 1, &end, 10);
				at = end - 1;
			}
		}
		from = at + 1;
		for (at = close + 1; *at && !strchr(";!?~", *at);)
			put_item(&payload, &at);
		snprintf(block, sizeof(block), "%zu,0,0,%u", payload.len, crc32c(payload.data, payload.len));
		snprintf(text, sizeof(text), "{1:%zu%s", payload.len, from < close ? "," : "");
		for (end = text + strlen(text); from <= close; from++)
			end += sprintf(end, "%.*s", *from == '$' ? 64 : 1, *from == '$' ? block : from);
		from = text;
		put_item(&meta, &from);
		frame_add(file, type, sequence++, id, &meta, payload.data, payload.len);
		if (other) {
			uint32_t crc;

			file->data[start + FRAME_MAGIC_LEN] = 2;
			crc = crc32c(file->data + start, file->len - 11 - start);
			for (size_t i = 0; i < 4; i++)
				file->data[file->len - 10 + i] = (uint8_t)(crc >> 8 * (3 - i));
		}
		for (; *at && *at != ';'; at++) {
			if (*at == '!')
				file->data[file->len - 1] ^= 1;
			else if (*at == '?')
				file->data[start + 30] ^= 1;
			else
				buf_addstr(file, "bytes");
		}
		at += *at == ';';
		buf_release(&meta);
		buf_release(&payload);
	}
}

/* One letter an item, of damage that of its kind; of a chunk one more for what decoding it says. */
static void say_item(struct buf *out, struct pm_reader *r, const struct pm_item *item)
{
	static const char items[] = "MVEdIZORd", damage[] = "gcnldpxf";
	const struct pm_chunk *c;
	char letter = items[item->kind];

	if (item->kind == PM_ITEM_DAMAGE)
		letter = damage[item->damage->kind];
	else if (item->kind == PM_ITEM_MODEL && item->parts & PM_PART_REPEATED)
		letter = 'm';
	else if (item->kind == PM_ITEM_OTHER && item->newer)
		letter = 'N';
	buf_addch(out, letter);
	if (item->kind != PM_ITEM_CHUNK)
		return;
	letter = pm_reader_decode(r, &c) ? '-' : c->n_groups && !c->group[0].absent ? '+' : '0';
	if (letter == '+' && c->group[0].status && c->group[0].status[2])
		letter = c->group[0].status[2] == PM_REASON_NEWER ? '/' : '*';
	buf_addch(out, letter);
}

/* Which inputs there are. */
enum { MEMORY, STREAM, GROWING, KINDS };

static ssize_t read_bytes(void *ctx, void *data, size_t len)
{
	struct pm_input *in = ctx;

	return in->read(in->ctx, data, len < 50 ? len : 50);
}

static void close_bytes(void *ctx)
{
	struct pm_input *in = ctx;

	in->close(in->ctx);
}

static int open_frames(struct pm_reader **r, const struct buf *file, struct pm_input *inner, int kind)
{
	struct error e = { 0 };
	struct pm_input in;
	int err;

	assert_int_equal(input_memory(&in, file->data, file->len), 0);
	*inner = in;
	if (kind == STREAM)
		in = (struct pm_input){ .ctx = inner, .read = read_bytes, .close = close_bytes, .size = UINT64_MAX };
	in.growing = kind == GROWING;
	err = pm_reader_open(r, &in, &e);
	assert_int_equal(err != 0, *e.text != '\0');
	return err;
}

static void read_all(struct buf *out, struct pm_reader *r)
{
	struct pm_item item;
	int ok;

	while ((ok = pm_reader_next(r, &item)) == 1)
		say_item(out, r, &item);
	assert_true(ok == 0 || ok == -EAGAIN);
}

static const struct {
	const char *frames, *items;
	int err; /* of opening */
} rows[] = {
	{ BEGIN GOOD(1) GOOD(2) LAST, "MMMV+V+Z", 0 },
	/* bodies */
	{ BEGIN "5{2:1,3:5}{};" GOOD(1) LAST, "MMMxV+Z", 0 },
	{ BEGIN "5{2:2,3:5}{};" GOOD(1) LAST, "MMMxV+Z", 0 },
	{ BEGIN "5{2:3,3:5}{};" GOOD(1) LAST, "MMMNV/Z", 0 },
	{ BEGIN "5{2:1,3:67108864}{};" LAST, "MMMxZ", 0 },
	{ BEGIN "5{2:1,3:67108865}{};" LAST, "MMMxZ", 0 },
	{ BEGIN "5{2:'x'}{};" LAST, "MMMxZ", 0 },
	{ BEGIN "5{}{}!;" LAST, "MMMgZ", 0 },
	{ BEGIN "5{}{}?;" LAST, "MMMgZ", 0 },
	{ BEGIN "9{}{}!;" LAST, "MMMgZ", 0 },
	{ BEGIN "10{}!;" LAST, "MMMgZ", 0 },
	/* events */
	{ BEGIN "9{}{};" LAST, "MMMOZ", 0 },
	{ BEGIN "9{}{1:5,2:[{1:1},{1:1,2:7}]};" LAST, "MMMEEZ", 0 },
	{ BEGIN "9{}{1:5,2:[{1:1},{2:7}]};" LAST, "MMMxZ", 0 },
	{ BEGIN "9{}{1:5,2:[{1:1},{1:1,2:-6}]};" LAST, "MMMxZ", 0 },
	{ BEGIN "9{}{2:{}};" LAST, "MMMxZ", 0 },
	/* frames that nobody knows yet */
	{ BEGIN "63{}{};" LAST, "MMMOZ", 0 },
	{ BEGIN "12{}{};" GOOD(1) LAST, "MMMNV/Z", 0 },
	{ BEGIN "0{}{};" GOOD(1) LAST, "MMMNV/Z", 0 },
	{ BEGIN "77{}{}!;" GOOD(1) LAST, "MMMgV+Z", 0 },
	/* bytes between */
	{ BEGIN GOOD(1) "9{}{}~;" LAST, "MMMV+OgZ", 0 },
	{ BEGIN GOOD(1) LAST "~;", "MMMV+Zg", 0 },
	{ BEGIN GOOD(1), "MMMV+n", 0 },
	/* frames of others, and twice */
	{ BEGIN "9@{}{};11#3{}", "MMMfZ", 0 },
	{ BEGIN GOOD(1) "9#1{}{};11#4{}", "MMMV+fZ", 0 },
	{ BEGIN GOOD(1) "1#0{}{1:'t'};" LAST, "MMMV+nRMZ", 0 },
	{ BEGIN GOOD(1) LAST ";1@#0{}{1:'u'};11@{}", "MMMV+ZRMZ", 0 },
	{ BEGIN GOOD(1) LAST ";9@#7{}{};", "MMMV+ZRlOn", 0 },
	{ BEGIN GOOD(1) "1@#0{}{1:'u'};11@{}", "MMMV+nRMZ", 0 },
	{ HEADER "1{}{1:'t'};" LAST, "MmZ", 0 },
	{ BEGIN "9#9{}{};" LAST, "MMMlOZ", 0 },
	/* features */
	{ "1{}{1:'t',4:8};" LAST, "", -ENOTSUP },
	{ "1{}{1:'t',4:'8'};" LAST, "", -ENOTSUP },
	{ "1{}{1:'t',4:0};" LAST, "MZ", 0 },
	{ "1{}{1:'t',4:8};1{}{1:'t'};11{};1@#0{}{1:'u'};11@{}", "MZ", 0 },
	{ BEGIN GOOD(1) "11{};1@#0{}{1:'u',4:8};9@{}{};11@{};1#0{}{1:'t'};11{}", "MMMV+ZRMZ", 0 },
	{ BEGIN GOOD(1) "1@#0{}{1:'u',4:8};9@{}{};11@{}", "MMMV+n", 0 },
	{ "9{}{};1{}{1:'t'};11{}", "OMZ", 0 },
	{ "9{}{}?;9{}{};1{}{1:'t'};11{}", "gOMZ", 0 },
	{ "1{}{1:'t'}~?;1{}{1:'t'}~?;11{}", "gZ", 0 },
	{ "1{}{1:'t'}?;", "", -EINVAL },
	/* blocks of a chunk */
	{ BEGIN CHUNK(1, "", "[][]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES) LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[][]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", "[T\"beginsat\",T\"ends  at\"][]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", "[T\"beginsat\",T\"ends  at\",\"12345678\"][]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", "[T\"beginsat\",T\"ends  at\",T\"1234567\"][]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "{}") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[1]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,1,2]") LAST, "MMMV*Z", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,1,65535]") LAST, "MMMV*Z", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,1,65536]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,1,0]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,0,2]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[1,1,2]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[2,0,2]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "[0,1,2,0,1,2]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, "", VALUES "['x',1,2]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, ",20:[1,1]", VALUES "[]") LAST, "MMMV-xZ", 0 },
	{ BEGIN CHUNK(1, ",20:[2,1]", VALUES "[]") LAST, "MMMV+Z", 0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[2,1],17:[$,1]}" VALUES "[];" LAST, "MMMV0pZ", 0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[1,1],17:[$,1,0,0,0,0,0],20:[3,1]}" VALUES "[];" LAST, "MMMV+Z", 0 },
	{ BEGIN "8{2:2,8:9,9:1,14:[1,2,3,4],16:[1,1],17:[$,1]}7;" GOOD(2) LAST, "MMMV/V+Z", 0 },
	{ BEGIN "8{8:9,9:1,14:[1,2,3,4],16:[1,1],17:[$,1]}7;" GOOD(2) LAST, "MMMV-xV+Z", 0 },
	{ BEGIN "8{8:9,9:1,14:[1,2,3,4],16:[1,1],17:[$,1]}\"xxxx\"[];" GOOD(2) LAST, "MMMV-xV+Z", 0 },
	{ BEGIN GOOD(5) GOOD(5) GOOD(4) GOOD(6) LAST, "MMMV+V+xV+Z", 0 },
	{ BEGIN CHUNK(9223372036854775807, "", VALUES "[]") LAST, "MMMV+Z", 0 },
	{ BEGIN GOOD(1) "8{2:1,8:9,9:9,14:[1,2,3,4],16:[1,1],17:[$,1]}" VALUES "[]!;" GOOD(10) LAST, "MMMV+V+pV+Z",
	  0 },
	/* other major versions */
	{ "1v{};11{}", "", -ENOTSUP },
	{ "1v{};9{}{};11{}", "", -ENOTSUP },
	{ "1v{};1#0{}{1:'t'};11{}", "MZ", 0 },
	{ "1{2:3,3:5}{1:'t'};11{}", "", -ENOTSUP },
	{ BEGIN "9v{};" LAST, "MMMlZ", 0 },
	/* times */
	{ BEGIN "8{2:1,7:2,8:9223372036854775807,9:5,14:[1,2,3,4],16:[1,1],17:[$,1]}" VALUES "[];" LAST, "MMMxZ", 0 },
	/* no groups, or none that is there */
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[],17:[]};8{2:1,8:9,9:2,14:[1,2,3,4],16:[],17:[]};" LAST, "MMMV0V0Z",
	  0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[],17:[],20:[1,1]};" GOOD(2) LAST, "MMMV0V+Z", 0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[1,2],17:[$,2]}" VALUES "[];" LAST, "MMMV-xZ", 0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[1,2],17:[$,2]}" VALUES "[]0[];" LAST, "MMMV+pZ", 0 },
	{ BEGIN "8{2:2,8:9,9:1,14:[1,2,3,4],16:[2,1],17:[$,1]}7;" LAST, "MMMV0pZ", 0 },
	{ BEGIN "8{2:1,8:9,9:1,14:[1,2,3,4],16:[1,1],17:[9,0,67108864,5,1]}0;" LAST, "MMMV-gZ", 0 },
	/* counters that are newer, or of strings */
	{ HEADER MEMBER "3{}{1:1,2:[{1:'a\nb',3:'s',4:'1',6:9}],3:1,4:[{1:'s',2:2,3:[1,1,0],4:[1,1,0]}]};" GOOD(1)
		  CHUNK(2, "", VALUES "[0,1,2]") LAST,
	  "MMMV/V/Z", 0 },
	{ HEADER MEMBER "3{}{1:1,2:[{1:'a',3:'s',4:'1',6:3}],3:1,4:[{1:'s',2:2,3:[1,1,0],4:[1,1,0]}]};" GOOD(1)
		  CHUNK(2, "", VALUES "[0,1,2]") LAST,
	  "MMMV*V*Z", 0 },
	{ BEGIN "12{}{};12{}{};" LAST, "MMMNNZ", 0 },
	/* topologies */
	{ HEADER "2{}{1:1,2:[0,2],3:[0,0],15:[1,0],16:['t']};" LAST, "MMZ", 0 },
	{ HEADER "2{}{1:1,2:[0,2],3:[0]};" LAST, "MxZ", 0 },
	{ HEADER "2{}{1:1,2:[2,0]};" LAST, "MxZ", 0 },
	{ HEADER "2{}{1:1,2:[1,1]};" LAST, "MxZ", 0 },
	{ HEADER "2{}{1:1,2:[-1]};" LAST, "MxZ", 0 },
	{ HEADER "2{}{1:1,2:[]};" LAST, "MMZ", 0 },
	{ HEADER "2{}{1:1,2:[0],17:[5]};2{}{1:1,2:[0],16:['a','b']};2{}{1:1,2:[0],16:['a','c']};2{}{1:1,2:[0],16:['a'"
		 ",'c']};" LAST,
	  "MMMMmZ", 0 },
	{ HEADER
	  "2{}{1:1,2:[0]};2{}{1:2,2:[0]};2{}{1:2,2:[0,1]};2{}{1:2,2:[0,1],15:[1,1]};2{}{1:2,2:[0,1],15:[1,0]};" LAST,
	  "MMMMMMZ", 0 },
};

static void read_by_hand(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		for (int kind = 0; kind < KINDS; kind++) {
			struct buf file = BUF_INIT, said = BUF_INIT;
			struct pm_clocks clocks[3];
			struct pm_input inner;
			struct pm_extent x;
			struct pm_reader *r;
			int err;

			put_frames(&file, rows[i].frames);
			err = open_frames(&r, &file, &inner, kind);
			/* Of what grows the rest is yet to come. */
			if (err != (kind == GROWING ? 0 : rows[i].err))
				fail_msg("%s: opening as %d says %d", rows[i].frames, kind, err);
			if (err) {
				buf_release(&file);
				continue;
			}
			read_all(&said, r);
			/* There more may follow what is at the end. */
			if (strncmp(buf_str(&said), rows[i].items, kind == GROWING ? said.len : 99) &&
			    (kind != GROWING || !rows[i].err))
				fail_msg("%s: as %d reads %s, not %s", rows[i].frames, kind, buf_str(&said),
					 rows[i].items);
			if (kind == MEMORY) {
				assert_int_equal(pm_reader_extent(r, &x), 0);
				assert_true(pm_reader_clocks(r, clocks, 3, 0) >= 0);
				for (int to = 0; to < 3; to++) {
					assert_int_equal(pm_reader_seek(r, x.from_ns + (uint64_t)to, to != 1), 0);
					read_all(&said, r);
				}
			}
			pm_reader_close(r);
			buf_release(&file);
			buf_release(&said);
		}
	}
}

/* Of what was left out nothing is said. */
static void leave_a_stream(void **state)
{
	static const struct {
		const char *frames, *items;
	} left[] = {
		{ BEGIN GOOD(1) "9{}{}~!;" GOOD(2), "MM" },
		{ BEGIN GOOD(1) LAST ";1@#0{}{1:'u'};11@{}", "MMRMZ" },
		{ BEGIN "9{}{1:5,2:[{1:1},{1:1,2:7}]};1@#0{}{1:'u'};11@{}", "MMRMZ" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		struct buf file = BUF_INIT, said = BUF_INIT;
		struct pm_input inner;
		struct pm_reader *r;
		struct pm_item item;

		put_frames(&file, left[i].frames);
		assert_int_equal(open_frames(&r, &file, &inner, STREAM), 0);
		for (int k = 0; k < 2; k++) {
			assert_int_equal(pm_reader_next(r, &item), 1);
			say_item(&said, r, &item);
		}
		assert_int_equal(pm_reader_leave(r), 1);
		read_all(&said, r);
		assert_string_equal(buf_str(&said), left[i].items);
		pm_reader_close(r);
		buf_release(&file);
		buf_release(&said);
	}
}

/* A file that ends anywhere, or shrinks to that while it is read, lacks its end; whether its chunks are decoded or not. */
static void ends_anywhere(void **state)
{
	struct buf file = BUF_INIT;

	(void)state;
	put_frames(&file, BEGIN GOOD(1) "9{}{1:5,2:[{1:1}]};" GOOD(2) LAST);
	for (size_t len = 1; len < file.len; len++) {
		for (int way = 0; way < 6; way++) {
			struct pm_input in, inner;
			struct pm_item item;
			const struct pm_chunk *c;
			struct pm_reader *r;
			enum pm_damage_kind kind = PM_DAMAGE_FOREIGN;
			bool ended = false;
			int ok;

			assert_int_equal(input_memory(&in, file.data, len), 0);
			inner = in;
			in.size = way / 2 == 1 ? file.len : in.size;
			if (way / 2 == 2)
				in = (struct pm_input){ &inner, read_bytes, NULL, close_bytes, UINT64_MAX, false };
			ok = pm_reader_open(&r, &in, NULL);
			if (ok) {
				assert_int_equal(ok, -EINVAL);
				continue;
			}
			while ((ok = pm_reader_next(r, &item)) == 1) {
				ended |= item.kind == PM_ITEM_END;
				if (item.kind == PM_ITEM_DAMAGE)
					kind = item.damage->kind;
				if (item.kind == PM_ITEM_CHUNK && way % 2)
					pm_reader_decode(r, &c);
			}
			assert_int_equal(ok, 0);
			assert_false(ended);
			assert_true(kind == PM_DAMAGE_CUT || kind == PM_DAMAGE_NO_END);
			pm_reader_close(r);
		}
	}
	buf_release(&file);
}

struct failing {
	const struct buf *file;
	size_t at, fails_at;
	int err;
};

static ssize_t read_failing(void *ctx, void *data, size_t len)
{
	struct failing *f = ctx;
	size_t n = f->fails_at - f->at < len ? f->fails_at - f->at : len;

	if (!n)
		return f->err;
	memcpy(data, f->file->data + f->at, n);
	f->at += n;
	return (ssize_t)n;
}

static int seek_failing(void *ctx, uint64_t offset)
{
	struct failing *f = ctx;

	if (offset > f->fails_at)
		return f->err;
	f->at = (size_t)offset;
	return 0;
}

/* Wherever the input fails, each call says so that comes to that place. */
static void fails_anywhere(void **state)
{
	struct buf file = BUF_INIT;

	(void)state;
	put_frames(&file, BEGIN GOOD(1) "9{}{1:5,2:[{1:1}]}~;" GOOD(2) "5{}{}!;" GOOD(3) LAST);
	for (size_t at = 0; at < file.len; at++) {
		for (int what = 0; what < 5; what++) {
			struct failing f = { &file, 0, at, at ? -EIO : -EISDIR };
			struct pm_input in = { &f, read_failing, seek_failing, NULL, file.len, false };
			const struct pm_chunk *c;
			struct pm_clocks clocks[9];
			struct error e = { 0 };
			struct pm_extent x;
			struct pm_reader *r;
			struct pm_item item;
			int ok = pm_reader_open(&r, &in, &e);

			if (ok) {
				assert_int_equal(ok, f.err);
				assert_true(*e.text);
				continue;
			}
			if (what == 1)
				ok = pm_reader_extent(r, &x);
			else if (what == 2)
				ok = pm_reader_clocks(r, clocks, 9, UINT64_MAX);
			else if (what == 3)
				ok = pm_reader_seek(r, 2, true);
			else if (what == 4)
				ok = pm_reader_leave(r);
			assert_true(what ? ok == f.err || (what == 2 && ok >= 0) : ok == 0);
			if (!ok || what == 2)
				while ((ok = pm_reader_next(r, &item)) == 1)
					if (item.kind == PM_ITEM_CHUNK && at % 2)
						pm_reader_decode(r, &c);
			assert_int_equal(ok, f.err);
			pm_reader_close(r);
		}
	}
	buf_release(&file);
}

/* A frame with its own offset and the distance back to the index. */
static void put_link(struct buf *file, unsigned type, uint64_t offset, uint64_t back, const struct buf *body,
		     size_t size)
{
	static const uint8_t id[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, zeros[FRAME_END_SIZE];
	size_t start = file->len, len = body ? body->len : 0;

	do {
		struct buf meta = BUF_INIT;
		struct cbor_fields f = cbor_fields(&meta);

		file->len = start;
		cbor_field_unless(&f, PM_META_PAYLOAD, len, 0);
		cbor_field_uint(&f, PM_META_OFFSET, offset);
		cbor_field_unless(&f, PM_META_INDEX, back, 0);
		frame_add(file, type, type == PM_FRAME_END ? 7 : 6, id, &meta, body ? body->data : zeros, len);
		buf_release(&meta);
		len++;
	} while (file->len - start < size);
}

/* An index is believed if it names every frame, and nothing else; without one nothing is lost. */
static void indexes_that_lie(void **state)
{
	enum {
		GOOD_ONE,
		NO_ENTRIES,
		LATE,
		SHORT,
		LONG,
		TINY,
		HUGE,
		OVERLAP,
		END_OFFSET,
		INDEX_OFFSET,
		FAR,
		NEAR,
		WITHIN,
		NO_INDEX,
		OTHER_TYPE,
		EXTRA_LENGTH,
		EXTRA_FROM,
		EXTRA_SPAN,
		EXTRA_ROW,
		TEXT,
		LESS,
		CASES
	};

	(void)state;
	for (int lie = 0; lie < CASES; lie++) {
		struct buf file = BUF_INIT, body = BUF_INIT, said = BUF_INIT;
		struct index_builder b = { 0 };
		struct pm_extent x = { 0 };
		struct pm_input inner;
		struct pm_reader *r;
		uint64_t at, end;

		put_frames(&file, BEGIN GOOD(1) "9{}{1:5,2:[{1:1}]};" GOOD(2));
		for (at = 0; at < file.len && lie != NO_ENTRIES;) {
			struct index_entry e = { .offset = at, .from_ns = 1, .to_ns = 1, .rows = 1, .key = true };
			struct frame_head h;
			unsigned major;
			size_t need;

			assert_int_equal(frame_parse(file.data + at, file.len - at, &h, &need, &major), FRAME_OK);
			e.type = (uint8_t)h.type;
			e.length = frame_len(&h);
			at += e.length;
			/* All but the first are as long as before in sum. */
			e.offset += lie == LATE;
			e.length += at == file.len ? (lie == LONG) - (lie == SHORT) : 0;
			e.length = lie == TINY && !e.offset ? FRAME_LEAST - 1 : e.length;
			e.length = lie == HUGE && !e.offset ? 1u << 29 : e.length;
			assert_int_equal(index_add(&b, &e), 0);
		}
		if (lie < EXTRA_LENGTH) {
			index_encode(&b, &body);
		} else {
			const char *texts[] = {
				"{1:0,2:\"\1\",3:[100,1],4:[],5:[],6:[]}", "{1:0,2:\"\1\",3:[100],4:[1],5:[],6:[]}",
				"{1:0,2:\"\1\",3:[100],4:[],5:[1],6:[]}",  "{1:0,2:\"\1\",3:[100],4:[],5:[],6:[1]}",
				"{1:0,2:\"\1\",3:['a'],4:[],5:[],6:[]}",   "{1:0,2:\"\1\"}",
			};

			put_item(&body, &texts[lie - EXTRA_LENGTH]);
		}
		at = file.len;
		put_link(&file, lie == OTHER_TYPE ? PM_FRAME_PROBES : PM_FRAME_INDEX, at + (lie == INDEX_OFFSET),
			 lie == FAR     ? at + 1 :
			 lie == OVERLAP ? 1 :
					  0,
			 &body, 0);
		end = file.len;
		put_link(&file, PM_FRAME_END, end + (lie == END_OFFSET),
			 lie == NO_INDEX ? 0 : end - at + (lie == NEAR) - (lie == WITHIN), NULL, FRAME_END_SIZE);
		assert_int_equal(file.len - end, FRAME_END_SIZE);
		assert_int_equal(open_frames(&r, &file, &inner, MEMORY), 0);
		assert_int_equal(pm_reader_extent(r, &x), 0);
		assert_int_equal(x.indexed, lie == GOOD_ONE);
		assert_int_equal(x.chunks, 2);
		assert_int_equal(x.snapshots, 2);
		read_all(&said, r);
		assert_string_equal(buf_str(&said), lie == OTHER_TYPE ? "MMMV+EV+xZ" : "MMMV+EV+IZ");
		pm_reader_close(r);
		index_release(&b);
		buf_release(&file);
		buf_release(&body);
		buf_release(&said);
	}
}

UNIT_TESTS(cmocka_unit_test(read_by_hand), cmocka_unit_test(leave_a_stream), cmocka_unit_test(ends_anywhere),
	   cmocka_unit_test(fails_anywhere), cmocka_unit_test(indexes_that_lie))
