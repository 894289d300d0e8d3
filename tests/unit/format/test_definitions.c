/* Definitions of all kinds, written while the n-th allocation or write fails, for every n: an error, or all of them; and
 * bodies at the edges of the rules. */
#include "format/definitions.h"
#include "format/frame.h"
#include "format/reader.h"
#include "format/writer.h"
#include "tests/unit/lib/input_memory.h"
#include "tests/unit/lib/notation.h"
#include "tests/unit/lib/refused.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/test.h"

static int list_of(struct pm_value *v)
{
	*v = pm_array(3);
	if (!v->array.item)
		return -ENOMEM;
	v->array.item[0] = pm_text("in a list");
	v->array.item[1] = pm_u64(7);
	v->array.item[2] = pm_f64(1.5);
	return v->array.item[0].str.data ? 0 : -ENOMEM;
}

/* Types of CPUs, values of all kinds, numbers that are unknown, texts that counters share. */
static int fill_model(struct pm_model *m, struct pm_map *attrs, struct pm_value *list)
{
	char *types[] = { (char *)"big", (char *)"small" }, name[8];
	struct pm_cpu cpu[] = { { .cpu = 0, .online = true }, { .cpu = 1, .package = PM_NONE, .type = 1 } };
	const struct pm_topology t = { .time_ns = 5, .cpu = cpu, .n = 2, .type = types, .n_types = 2 };
	struct pm_counter c = {
		.name = name, .source = (char *)"s", .unit = (char *)"1", .scale.text = (char *)"0.5"
	};
	uint32_t ids[] = { 1, 2, 3, 70 };
	const struct pm_group g = {
		.source = (char *)"s", .counter = ids, .n_counters = 4, .instance = ids, .n_instances = 3
	};
	struct pm_probe p = { (char *)"s", remark_of("w"), remark_of("h"), 5, *attrs };
	int64_t err = pm_model_set_topology(m, &t);

	err = err || pm_remark_code(&p.hint) ? err : -ENOMEM;
	err = err ? err : list_of(list);
	err = err ? err : pm_map_set(attrs, 1, pm_text("a text"));
	err = err ? err : pm_map_set(attrs, 2, pm_bool(true));
	err = err ? err : pm_value_copy(&attrs->field[1].value, list);
	err = err ? err : pm_map_copy(&m->header, attrs);
	for (int i = 0; i < 70 && err >= 0; i++) {
		snprintf(name, sizeof(name), "c%d", i);
		c.display = i % 5 ? NULL : types[i % 2];
		c.attrs = i % 3 ? *attrs : (struct pm_map){ 0 };
		err = pm_model_add_counter(m, &c);
	}
	for (uint32_t i = 0; i < 4 && err >= 0; i++)
		err = pm_model_add_instance(m, &(struct pm_instance){ .kind = PM_CPU, .number = i, .attrs = *attrs });
	err = err < 0 ? err : pm_model_add_group(m, &g);
	err = err < 0 ? err : pm_model_add_string(m, "a string", 8, false);
	err = err < 0 ? err : pm_model_add_pmu(m, &(struct pm_pmu){ .attrs = *attrs });
	err = err < 0 ? err : pm_model_add_probe(m, &p);
	pm_value_release(&p.what);
	pm_value_release(&p.hint);
	for (uint32_t i = 0; i < 50 && err >= 0; i++)
		err = pm_model_add_config(m, &(struct pm_config){ .name = name,
								  .value = *list,
								  .time_ns = i,
								  .instances = { .cpu = ids, .n = i % 4 } });
	return err < 0 ? (int)err : 0;
}

/* Of one of each. */
static int copy_some(const struct pm_model *m)
{
	struct pm_counter c = { 0 };
	struct pm_config one = { 0 };
	struct pm_probe p = { 0 };
	int err = pm_counter_copy(&c, &m->counter[5]);

	if (!err)
		err = pm_config_copy(&one, &m->config[3]);
	if (!err)
		err = pm_probe_copy(&p, &m->probe[0]);
	if (!err) {
		assert_string_equal(c.scale.text, "0.5");
		assert_true(pm_value_equal(&one.value, &m->config[3].value));
		assert_true(pm_value_equal(&p.hint, &m->probe[0].hint));
	}
	pm_counter_release(&c);
	pm_config_release(&one);
	pm_probe_release(&p);
	return err;
}

/* A model that is made and written. */
static int define(struct buf *file)
{
	struct pm_map attrs = { 0 };
	struct pm_value list = pm_u64(0);
	struct pm_writer *w = NULL;
	struct pm_model m;
	struct pm_writer_config config = { .sink = write_bytes, .sink_ctx = file, .model = &m };
	int err;

	pm_model_init(&m);
	err = fill_model(&m, &attrs, &list);
	if (!err)
		err = copy_some(&m);
	if (!err)
		err = pm_writer_new(&w, &config, NULL);
	if (!err)
		err = pm_writer_finish(w);
	pm_writer_free(w);
	pm_model_release(&m);
	pm_map_release(&attrs);
	pm_value_release(&list);
	return err;
}

/* What is read of it is all of that. */
static void reread(const struct buf *file)
{
	const struct pm_model *m;
	struct pm_reader *r;
	struct pm_input in;
	struct pm_item item;
	char said[80];
	int more;

	assert_int_equal(input_memory(&in, file->data, file->len), 0);
	assert_int_equal(pm_reader_open(&r, &in, NULL), 0);
	m = pm_reader_model(r);
	while ((more = pm_reader_next(r, &item)) == 1)
		;
	assert_int_equal(more, 0);
	snprintf(said, sizeof(said), "%u %s %u %u %u %u %u %u %s %u", m->topology.n, m->topology.type[1],
		 m->n_counters, m->n_instances, m->n_groups, m->n_pmus, m->n_probes, m->n_configs,
		 pm_map_text(&m->header, 1, ""), pm_map_get(&m->header, 2)->array.n);
	assert_string_equal(said, "2 small 70 4 1 1 1 50 a text 3");
	pm_reader_close(r);
}

static void each_is_refused(void **state)
{
	struct buf good = BUF_INIT;

	(void)state;
	assert_int_equal(define(&good), 0);
	reread(&good);
	for (enum what w = ALLOCATION; w < WHATS; w++) {
		bool more = true;

		for (long n = 1; more; n++) {
			struct buf file = BUF_INIT;
			int err;

			memset(&world, 0, sizeof(world));
			world.left[w] = n;
			err = define(&file);
			world.left[w] = 0;
			more = world.failed;
			/* What could not be packed is written as it is. */
			if (err)
				assert_int_equal(-err, error_of[w]);
			else
				reread(&file);
			buf_release(&file);
		}
	}
	buf_release(&good);
}

/* ---- bodies ---- */

static void take_type(void *ctx, struct pm_event *e)
{
	pm_event_release(e);
}

/* Each body begins with the letter of its frame; all but the last are good. */
static int decode(const char *bodies, struct pm_model *m, unsigned *parts)
{
	static const char letters[] = "?HTSIPBC";
	struct definitions_seen seen = { .stored = 1000 };
	int err = 0;

	while (*bodies) {
		const char *letter = strchr(letters, *bodies++);
		struct buf body = BUF_INIT;

		assert_int_equal(err, 0);
		put_item(&body, &bodies);
		err = letter ?
			      decode_definitions(m, (unsigned)(letter - letters), body.data, body.len, &seen, parts) :
			      decode_events(body.data, body.len, take_type, NULL, &(enum pm_rule){ 0 });
		buf_release(&body);
	}
	definitions_seen_release(&seen);
	return err;
}

#define COUNTERS   "S{1:1,2:[{1:'a',3:'s',4:'1'},{1:'b',3:'s',4:'1'}]}"
#define INSTANCES  "I{2:1,3:[{1:7,2:0},{1:7,2:1},{1:7,2:2}]}"
#define GROUP      "{1:'s',3:[1,2,1],4:[1,2,1]}"
#define ALL        COUNTERS INSTANCES "S{3:1,4:[" GROUP "]}"
#define COUNTER(x) "S{1:1,2:[{1:'a',3:'s',4:'1'," x "}]}"
#define CPUS       "T{1:5,2:[0,1],3:[0,0],15:[1,0]}"
#define CONFIG(x)  "C{1:[{1:'n',2:1,3:7," x "}]}"

static void edges_of_bodies(void **state)
{
	enum { NEW, SAME = 1 };
	static const struct {
		const char *bodies;
		int err, same;
	} rows[] = {
		{ "S[1]", EBADMSG, 0 },
		{ COUNTERS, 0, NEW },
		{ COUNTERS COUNTERS, 0, SAME },
		/* ids of counters and strings */
		{ "S{2:[{1:'a',3:'s',4:'1'}]}", EBADMSG, 0 },
		{ "S{1:0,2:[{1:'a',3:'s',4:'1'}]}", EBADMSG, 0 },
		{ "S{1:2,2:[{1:'a',3:'s',4:'1'}]}", ENOLINK, 0 },
		{ "S{1:4290772991,2:[]}", ENOLINK, 0 },
		{ "S{1:4290772992,2:[]}", EBADMSG, 0 },
		{ COUNTERS "S{1:3,2:[{1:'c',3:'s',4:'1'}]}", 0, NEW },
		{ COUNTERS "S{1:3,2:[{1:'a',3:'s',4:'1'}]}", EBADMSG, 0 },
		{ COUNTERS "S{1:2,2:[{1:'b',3:'s',4:'2'}]}", EBADMSG, 0 },
		{ "S{5:1,6:['x',\"y\"]}", 0, NEW },
		{ "S{5:1,6:['x']}S{5:1,6:['x']}", 0, SAME },
		{ "S{5:1,6:['x']}S{5:1,6:['y']}", EBADMSG, 0 },
		{ "S{5:1,6:['x']}S{5:1,6:[\"x\"]}", EBADMSG, 0 },
		{ "S{5:2,6:['x']}", ENOLINK, 0 },
		{ "S{5:1,6:[1]}", EBADMSG, 0 },
		{ "S{1:1,6:['x'],9:0}", 0, NEW },
		/* counters */
		{ "S{1:1,2:[{3:'s',4:'1'}]}", EBADMSG, 0 },
		{ "S{1:1,2:[{1:'a',4:'1'}]}", EBADMSG, 0 },
		{ "S{1:1,2:[{1:'a',3:'s'}]}", EBADMSG, 0 },
		{ "S{1:1,2:[{1:'a',2:'A',3:'s',4:'1'}]}", 0, NEW },
		{ "S{1:1,2:[{1:\"a\",3:'s',4:'1'}]}", EBADMSG, 0 },
		{ COUNTER("5:'0.5'"), 0, NEW },
		{ COUNTER("5:'1x'"), EBADMSG, 0 },
		{ COUNTER("5:[1,1000]"), 0, NEW },
		{ COUNTER("5:[1]"), EBADMSG, 0 },
		{ COUNTER("5:[1,2,3]"), EBADMSG, 0 },
		{ COUNTER("5:[0,1]"), EBADMSG, 0 },
		{ COUNTER("5:[1,0]"), EBADMSG, 0 },
		{ COUNTER("6:255"), 0, NEW },
		{ COUNTER("6:256"), EBADMSG, 0 },
		{ COUNTER("7:256"), EBADMSG, 0 },
		{ COUNTER("8:0"), EBADMSG, 0 },
		{ COUNTER("8:1"), 0, NEW },
		{ COUNTER("8:64"), 0, NEW },
		{ COUNTER("8:65"), EBADMSG, 0 },
		{ COUNTER("9:255"), 0, NEW },
		{ COUNTER("9:256"), EBADMSG, 0 },
		{ COUNTER("10:{1:2}"), 0, NEW },
		{ COUNTER("11:0"), EBADMSG, 0 },
		{ COUNTER("11:2"), 0, NEW },
		{ COUNTER("11:4194304"), 0, NEW },
		{ COUNTER("11:4194305"), EBADMSG, 0 },
		/* groups */
		{ ALL, 0, NEW },
		{ ALL "S{3:1,4:[" GROUP "]}", 0, SAME },
		{ ALL "S{3:1,4:[{1:'s',3:[1,2,1],4:[1,1,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:1,4:[{1:'t',3:[1,2,1],4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{3:[1,2,1],4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,2],4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,0,1],4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,1,0],4:[3,1,0]}]}", 0, NEW },
		{ ALL "S{3:2,4:[{1:'s',3:[1,2,1],4:[1,3,1]}]}", 0, NEW },
		{ ALL "S{3:2,4:[{1:'s',3:[1,4194305,1],4:[1,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,2,1],4:[4294967295,2,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',3:[1,2,1],4:[4294967295,1,1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{1:'s',2:65536,3:[1,2,1],4:[1,2,1]}]}", 0, NEW },
		/* their ids */
		{ ALL "S{4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:0,4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[2,1],4:[" GROUP "]}", 0, NEW },
		{ ALL "S{3:[2,1,5,1],4:[" GROUP "," GROUP "]}", 0, NEW },
		{ ALL "S{3:[2],4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[2,2],4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[2,1,5,1],4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[2,0],4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[2,1,2,1],4:[" GROUP "," GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[0,1],4:[" GROUP "]}", EBADMSG, 0 },
		{ ALL "S{3:[4294967296,1],4:[" GROUP "]}", EBADMSG, 0 },
		/* what they continue */
		{ ALL "S{3:2,4:[{5:1}]}", 0, NEW },
		{ ALL "S{3:2,4:[{4:[3,1,1],5:1,6:[1,1]}]}", 0, NEW },
		{ ALL "S{3:2,4:[{5:1,6:[0,1]}]}", 0, NEW },
		{ ALL "S{3:2,4:[{5:1,6:[2,0]}]}", 0, NEW },
		{ ALL "S{3:2,4:[{5:1,6:[0,2]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{5:1,6:[1]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{5:1,6:[1,2]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{5:1,6:[1,0,2,0]}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{2:1,5:1}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{2:65536,5:1}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{3:[1,2,1],5:1}]}", EBADMSG, 0 },
		{ ALL "S{3:1,4:[{5:1}]}", EBADMSG, 0 },
		{ ALL "S{3:2,4:[{5:3}]}", EBADMSG, 0 },
		{ ALL "S{3:3,4:[{5:2}]}", ENOLINK, 0 },
		/* groups that retire */
		{ ALL "S{7:[1]}", EBADMSG, 0 },
		{ ALL "S{7:[1,1]}", 0, NEW },
		{ ALL "S{7:[1,1]}S{7:[1,1]}", 0, SAME },
		{ ALL "S{7:[0,4294967295]}", 0, NEW },
		{ ALL "S{7:[2,4294967295]}", 0, SAME },
		{ ALL "S{7:[4294967295,1]}", 0, SAME },
		{ ALL "S{7:[2,1]}", 0, SAME },
		{ ALL "S{3:9,4:[" GROUP "]}S{7:[3,6]}", 0, SAME },
		{ ALL "S{3:9,4:[" GROUP "]}S{7:[3,7]}", 0, NEW },
		/* instances */
		{ "I{2:1,3:[{2:0}]}", EBADMSG, 0 },
		{ "I{2:1,3:[{1:255}]}", 0, NEW },
		{ "I{2:1,3:[{1:256}]}", EBADMSG, 0 },
		{ "I{3:[{1:7}]}", EBADMSG, 0 },
		{ INSTANCES INSTANCES, 0, SAME },
		{ INSTANCES "I{2:1,3:[{1:7,2:1}]}", EBADMSG, 0 },
		{ INSTANCES "I{2:1,3:[{1:1,2:0}]}", EBADMSG, 0 },
		{ INSTANCES "I{2:1,3:[{1:7,2:0,3:1}]}", EBADMSG, 0 },
		{ INSTANCES "I{2:1,3:[{1:7,2:0,4:1}]}", EBADMSG, 0 },
		{ INSTANCES "I{2:1,3:[{1:7,2:0,6:{1:'x'}}]}", EBADMSG, 0 },
		{ INSTANCES "I{2:1,3:[{1:7,2:0,5:9}]}", 0, NEW },
		{ INSTANCES "I{2:1,3:[{1:7,2:0,5:9}]}I{2:1,3:[{1:7,2:0,5:9}]}", 0, SAME },
		{ "I{1:9223372036854775808}", EBADMSG, 0 },
		{ "I{1:9223372036854775807,2:1,3:[{1:7,4:0}],8:0}", 0, NEW },
		{ "I{1:9223372036854775807,2:1,3:[{1:7,4:1}]}", EBADMSG, 0 },
		{ "I{1:5,2:1,3:[{1:7,4:-5}]}", 0, NEW },
		{ "I{1:5,2:1,3:[{1:7,4:-6}]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[1]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[1,5]}", 0, NEW },
		{ INSTANCES "I{4:[1,5]}I{4:[1,5]}", 0, SAME },
		{ INSTANCES "I{4:[9,5]}", 0, SAME },
		{ INSTANCES "I{4:[3,5,-2,0]}", 0, NEW },
		{ INSTANCES "I{4:[3,5,-3,0]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[0,5]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[4294967295,5]}", 0, SAME },
		{ INSTANCES "I{4:[4294967296,5]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[2,5,4294967295,0]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[1,-1]}", EBADMSG, 0 },
		{ INSTANCES "I{4:[1,5,1,-5]}", 0, NEW },
		{ INSTANCES "I{4:[1,5,1,-6]}", EBADMSG, 0 },
		/* topologies */
		{ CPUS, 0, NEW },
		{ CPUS CPUS, 0, SAME },
		{ CPUS "T{1:6,2:[0,1],3:[0,0],15:[1,0]}", 0, NEW },
		{ CPUS "T{1:5,2:[0,1],3:[0,0],15:[1,1]}", 0, NEW },
		{ CPUS "T{1:5,2:[0,1],3:[0,1],15:[1,0]}", 0, NEW },
		{ CPUS "T{1:5,2:[0],3:[0],15:[1]}", 0, NEW },
		{ "T{1:5,2:[0],13:[0],16:['a']}T{1:5,2:[0],13:[0],16:['a']}", 0, SAME },
		{ "T{1:5,2:[0],13:[0],16:['a']}T{1:5,2:[0],13:[0],16:['b']}", 0, NEW },
		{ "T{1:5,2:[0,1],3:[0]}", EBADMSG, 0 },
		{ "T{1:5,2:[1,0]}", EBADMSG, 0 },
		{ "T{1:5,2:[0,0]}", EBADMSG, 0 },
		{ "T{1:5,2:[-1]}", EBADMSG, 0 },
		{ "T{1:5,2:[4294967295]}", EBADMSG, 0 },
		{ "T{1:5,3:[0]}", EBADMSG, 0 },
		{ "T{1:5,2:[0],13:[0],16:['big'],40:1}", 0, NEW },
		{ "T{1:5,2:[0],16:'big'}", EBADMSG, 0 },
		/* lists without ids */
		{ "P{1:0,2:[{1:'x'}],3:1}", 0, NEW },
		{ "P{1:0,2:[{1:'x'}]}P{1:0,2:[{1:'x'}]}", 0, SAME },
		{ "P{1:0,2:[{1:'x'}]}P{1:1,2:[{1:'y'}]}", 0, NEW },
		{ "P{2:[{1:'x'}]}", EBADMSG, 0 },
		{ "P{1:4194305,2:[]}", EBADMSG, 0 },
		{ "B{1:0,2:[{1:'s',2:[1,'w'],3:[200],4:2,5:{1:2},6:0}]}", 0, NEW },
		{ "B{1:0,2:[{1:'s',2:[1,'w'],4:2}]}B{1:0,2:[{1:'s',2:[1,'w'],4:2}]}", 0, SAME },
		{ "B{1:0,2:[{2:[1,'w'],4:2}]}", EBADMSG, 0 },
		{ "B{1:0,2:[{1:'s',4:2}]}", EBADMSG, 0 },
		{ "B{1:0,2:[{1:'s',2:[1,'w']}]}", EBADMSG, 0 },
		{ "B{1:0,2:[{1:'s',2:[1,'w'],4:65536}]}", EBADMSG, 0 },
		/* values read once */
		{ CONFIG("50:5"), 0, NEW },
		{ CONFIG("50:5") CONFIG("50:5"), 0, SAME },
		{ CONFIG("250:5"), 0, NEW },
		{ CONFIG("5:2"), 0, NEW },
		{ CONFIG("5:65536"), EBADMSG, 0 },
		{ CONFIG("5:2,50:5"), EBADMSG, 0 },
		{ CONFIG("50:5,150:5"), EBADMSG, 0 },
		{ CONFIG("6:1"), EBADMSG, 0 },
		{ "C{1:[{2:1,3:7,50:5}]}", EBADMSG, 0 },
		{ "C{1:[{1:'n',3:7,50:5}]}", EBADMSG, 0 },
		{ "C{1:[{1:'n',2:1,50:5}]}", EBADMSG, 0 },
		{ "C{1:[],2:0}", 0, SAME },
		{ CONFIG("4:[0],50:5"), EBADMSG, 0 },
		{ CONFIG("4:[0,2],50:5"), 0, NEW },
		{ CONFIG("4:[0,2,2,1],50:5"), 0, NEW },
		{ CONFIG("4:[0,2,1,1],50:5"), EBADMSG, 0 },
		{ CONFIG("4:[5,1,4,1],50:5"), EBADMSG, 0 },
		{ CONFIG("4:[65535,1],50:5"), 0, NEW },
		{ CONFIG("4:[65535,2],50:5"), EBADMSG, 0 },
		{ CONFIG("4:[65536,0],50:5"), EBADMSG, 0 },
		{ CONFIG("4:[0,65536],50:5"), 0, NEW },
		{ CONFIG("4:[0,65537],50:5"), EBADMSG, 0 },
		/* events, and no definitions */
		{ "E{1:5,2:[{1:1,2:-5,3:{1:2},4:0}],3:0}", 0, 0 },
		{ "E{1:5,2:[{1:1,2:-6}]}", EBADMSG, 0 },
		{ "E{2:[{2:5}]}", EBADMSG, 0 },
		{ "E{2:[{1:2147483648}]}", EBADMSG, 0 },
		{ "?{}", EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned parts = 0;
		struct pm_model m;
		int err;

		pm_model_init(&m);
		err = decode(rows[i].bodies, &m, &parts);
		if (err != -rows[i].err || (!err && !(parts & PM_PART_REPEATED) != !rows[i].same))
			fail_msg("%s: %d, parts %#x", rows[i].bodies, err, parts);
		pm_model_release(&m);
	}
}

UNIT_TESTS(cmocka_unit_test(each_is_refused), cmocka_unit_test(edges_of_bodies))
