/* What becomes of each kind of field when a recording is redacted. */
#include "tests/unit/lib/builder.h"
#include "tests/unit/lib/redact_bytes.h"
#include "tests/unit/lib/remark.h"
#include "tests/unit/lib/test.h"

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)i;
	return (struct reading){ !strcmp(counter, "state.of") ? row + 1 : 1000 + row, 0 };
}

static void set(struct pm_map *m, uint32_t key, struct pm_value v)
{
	assert_int_equal(pm_map_set(m, key, v), 0);
}

/* "one|two": an array of texts. */
static struct pm_value texts(const char *text)
{
	struct pm_value v = pm_array(16);

	for (v.array.n = 0; *text; text += *text == '|') {
		size_t n = strcspn(text, "|");

		v.array.item[v.array.n++] = pm_text_n(text, n);
		text += n;
	}
	return v;
}

/* Whether a text is as wanted; in `want`, '#' stands for the eight digits of a pseudonym. */
static void is(const char *got, const char *want, const char *what)
{
	const char *p = got ? got : "(null)", *q = want ? want : "(null)";

	for (; *p && *q; p++, q++)
		if (*q == '#' && strspn(p, "0123456789abcdef") >= 8)
			p += 7;
		else if (*p != *q)
			break;
	if (*p || *q)
		fail_msg("%s: \"%s\", not \"%s\"", what, got, want);
}

static void is_text(const struct pm_map *m, uint32_t key, const char *want, const char *what)
{
	is(pm_map_text(m, key, NULL), want, what);
}

static void are_texts(const struct pm_value *v, const char *want, const char *what)
{
	SCOPED(buf_release) struct buf all = BUF_INIT;

	assert_true(v && v->kind == PM_VALUE_ARRAY);
	for (uint32_t i = 0; i < v->array.n; i++)
		buf_printf(&all, "%s%s", i ? "|" : "",
			   v->array.item[i].kind == PM_VALUE_TEXT ? v->array.item[i].str.data : "?");
	is(buf_str(&all), want, what);
}

/* A recording that says who made it: its words begin with zq. */
static void begin(struct builder *b)
{
	struct pm_map *h = &b->model.header;

	builder_init(b, of_row);
	set(h, PM_HEADER_HOST, pm_text("zqhost.zqdomain.org"));
	set(h, PM_HEADER_ARGUMENTS, texts("zqargone|zqargtwo|/srv/zqpath/x|CoreThr"));
}

static void read_all(struct pm_reader *r)
{
	struct pm_item item;

	while (pm_reader_next(r, &item) == 1)
		assert_int_not_equal(item.kind, PM_ITEM_DAMAGE);
}

/* The definitions of two rows of it, redacted. */
static const struct pm_model *redacted(struct builder *b, const struct redact_options *o, struct pm_reader **r,
				       struct buf *out)
{
	struct redact *redact;

	builder_write(b, 0, 2);
	builder_finish(b);
	assert_int_equal(redact_new(&redact, o, &(struct error){ 0 }), 0);
	redact_bytes(redact, &b->file, out);
	redact_free(redact);
	*r = open_bytes(out);
	read_all(*r);
	return pm_reader_model(*r);
}

static void end(struct builder *b, struct pm_reader *r, struct buf *out)
{
	pm_reader_close(r);
	buf_release(out);
	builder_release(b);
}

/* Counters keep what is technical of them, and names that differ stay different. */
static void counters(void **state)
{
	static const struct {
		const char *source, *name, *display, *unit, *scale;
		uint32_t key; /* and a text of an attribute; 0: none */
		const char *text;
		const char *new_source, *new_name, *new_display, *new_unit, *new_scale, *new_text;
	} cases[] = {
		{ "stat", "stat.user", "user", "s", NULL, PM_COUNTER_HELP, "Time of zqhost", "stat", "stat.user",
		  "user", "s", NULL, "Time of host-#" },
		{ "interrupts", "interrupts.zqargone", "irq", "1", NULL, 0, NULL, "interrupts", "interrupts.redacted",
		  "irq", "1", NULL, NULL },
		{ "interrupts", "interrupts.zqargtwo", "irq", "1", NULL, 0, NULL, "interrupts",
		  "interrupts.redacted#2", "irq", "1", NULL, NULL },
		{ "interrupts", "interrupts.ZQARGTWO", "zqargone", "1", NULL, 0, NULL, "interrupts",
		  "interrupts.redacted#3", "redacted", "1", NULL, NULL },
		{ "throttle", "throttle.core", "CoreThr", "1", NULL, 0, NULL, "throttle", "throttle.core", "CoreThr",
		  "1", NULL, NULL },
		{ "throttle", "throttle.package", "CoreThr", "1", NULL, 0, NULL, "throttle", "throttle.package",
		  "redacted", "1", NULL, NULL },
		{ "perf", "cycles", "cycles", "1", "1e-6", PM_COUNTER_PERF_GROUP_NAME, "zqgroup", "perf", "cycles",
		  "cycles", "1", "1e-6", "group-#" },
		{ "perf", "instructions", "mine", "1", NULL, PM_COUNTER_PERF_GROUP_NAME, "core", "perf",
		  "instructions", "mine", "1", NULL, "group-#" },
		{ "perf", "zqevent", "zqevent", "zqunit", NULL, PM_COUNTER_PERF_USER_TEXT, "zqevent:u", "perf",
		  "event-#", "event-#", "1", NULL, NULL },
		{ "perf", "zqmember", "zqmember", "J", NULL, PM_COUNTER_MEMBER, "core", "perf", "event-#", "event-#",
		  "J", NULL, NULL },
		{ "perf", "zqfamily", "zqfamily", "J", NULL, PM_COUNTER_FAMILY, "core", "perf", "event-#", "event-#",
		  "J", NULL, NULL },
		{ "add", "add.zqmine", "zqmine", "Cel", NULL, PM_COUNTER_HELP, "core", "add", "add.counter-#",
		  "counter-#", "Cel", NULL, NULL },
		{ "add", "add.temp1", "temp1", "Cel", NULL, PM_COUNTER_HELP, "/sys/class/net/zqif/speed", "add",
		  "add.counter-#", "counter-#", "Cel", NULL, NULL },
		{ "add", "add.temp2", "temp2", "Cel", NULL, PM_COUNTER_HELP, "/sys/class/hwmon/hwmon12345678/temp1",
		  "add", "add.counter-#", "counter-#", "Cel", NULL, NULL },
		{ "add", "add.temp3", "temp3", "Cel", NULL, PM_COUNTER_HELP, "/sys/class/hwmon/hwmon3/temp1", "add",
		  "add.counter-#", "counter-#", "Cel", NULL, "/sys/class/hwmon/hwmon3/temp1" },
		{ "stat", "stat.nice", "nice", "s", NULL, PM_COUNTER_PERF_CGROUP, "zqgroup", "stat", "stat.nice",
		  "nice", "s", NULL, "cgroup-#" },
		{ "stat", "stat.idle", "idle", "s", NULL, PM_COUNTER_DEVICES, "zqdevice", "stat", "stat.idle", "idle",
		  "s", NULL, NULL },
	};
	struct buf out = BUF_INIT;
	const struct pm_model *m;
	struct pm_reader *r;
	struct builder b;
	uint32_t id[sizeof(cases) / sizeof(*cases)];

	(void)state;
	begin(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pm_counter c = { .width = 64, .scale = { 1, 1, (char *)cases[i].scale } };

		c.source = (char *)cases[i].source;
		c.name = (char *)cases[i].name;
		c.display = (char *)cases[i].display;
		c.unit = (char *)cases[i].unit;
		if (cases[i].key)
			set(&c.attrs, cases[i].key, pm_text(cases[i].text));
		set(&c.attrs, PM_COUNTER_LANE, pm_u64(i));
		id[i] = (uint32_t)pm_model_add_counter(&b.model, &c);
		assert_int_equal(id[i], i + 1);
		pm_map_release(&c.attrs);
	}
	builder_group(&b, PM_SYSTEM, 1, 0, id, sizeof(cases) / sizeof(*cases));
	m = redacted(&b, &(struct redact_options){ 0 }, &r, &out);
	assert_int_equal(m->n_counters, sizeof(cases) / sizeof(*cases));
	for (uint32_t i = 0; i < m->n_counters; i++) {
		const struct pm_counter *c = &m->counter[i];

		is(c->source, cases[i].new_source, cases[i].name);
		is(c->name, cases[i].new_name, cases[i].name);
		is(c->display, cases[i].new_display, cases[i].name);
		is(c->unit, cases[i].new_unit, cases[i].name);
		is(c->scale.text, cases[i].new_scale, cases[i].name);
		if (cases[i].key)
			is_text(&c->attrs, cases[i].key, cases[i].new_text, cases[i].name);
		assert_int_equal(pm_map_u64(&c->attrs, PM_COUNTER_LANE, 99), i);
	}
	end(&b, r, &out);
}

/* Remarks keep what the counter that they are about would keep of its name. */
static void remarks(void **state)
{
	static const struct {
		unsigned code;
		const char *argument, *want;
	} cases[] = {
		{ PM_REMARK_EVENTS, "cycles, cpu/event=1/, zqother", "cycles, cpu/event=1/, event-#" },
		{ PM_REMARK_EVENTS, "cpu/zqgiven/, zqgiven:u", "cpu/event-#/, event-#" },
		{ PM_REMARK_EVENTS, "cpu/ZQGiven,any/", "cpu/event-#,any/" },
		{ PM_REMARK_ADDED, "M0x1a0", "M0x1a0" },
		{ PM_REMARK_ADDED, "temp1", "counter-#" },
		{ PM_REMARK_TEXT, "of zqhost", "redacted" },
	};
	struct pm_value row = pm_array(5), events = pm_array(1);
	struct pm_pmu pmu = { 0 };
	struct buf out = BUF_INIT;
	const struct pm_model *m;
	struct pm_reader *r;
	struct builder b;

	(void)state;
	begin(&b);
	for (int k = 0; k < 4; k++)
		row.array.item[k] = pm_text(k ? "" : "zqgiven");
	row.array.item[4] = pm_u64(PM_PMU_EVENT_GIVEN);
	events.array.item[0] = row;
	set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu"));
	set(&pmu.attrs, PM_PMU_EVENTS, events);
	assert_int_equal(pm_model_add_pmu(&b.model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pm_probe probe = { .source = (char *)"perf",
					  .what = pm_remark(cases[i].code, cases[i].argument),
					  .reason = 7 };

		assert_int_equal(pm_model_add_probe(&b.model, &probe), 0);
		pm_value_release(&probe.what);
	}
	m = redacted(&b, &(struct redact_options){ 0 }, &r, &out);
	assert_int_equal(m->n_probes, sizeof(cases) / sizeof(*cases));
	for (uint32_t i = 0; i < m->n_probes; i++)
		is(said(&m->probe[i].what), cases[i].want, cases[i].argument);
	end(&b, r, &out);
}

/* Events that the kernel, a PMU of the recording or a register has, with modifiers and terms, and not those of a user. */
static void events_are_told_from_names(void **state)
{
	static const char *const known[] = {
		"cycles",
		"cpu-clock",
		"unit_read",
		"cycles:u",
		"unit_read:uk",
		"cycles#2",
		"unit_read#13",
		"L1-dcache-load-misses",
		"L1-dcache-load-misses:ppp",
		"r1a2B",
		"r0",
		"mypmu",
		"mypmu/event=0x3c,umask=7/",
		"mypmu/event=60,name=cycles/",
		"mypmu/x,cpu='mypmu'/",
	};
	static const char *const named[] = {
		"zqother",
		"zqother:u",
		"unit_read:z",
		"unit_read:zu",
		"cycles#zq",
		"cycles#2z",
		"rg1",
		"r1g",
		"zqother/event=1/",
		"mypmu/name=zqmine/",
		"mypmu/event=1,metric-id=zqmine/",
		"mypmu/a='zq mine'/",
		"mypmu/a=1,b=\"zq/mine\"/",
		"unit_reads",
		"zqunit_rea",
	};
	const uint32_t n_known = sizeof(known) / sizeof(*known), n_named = sizeof(named) / sizeof(*named);
	struct pm_value event = pm_array(2), events = pm_array(1);
	struct pm_pmu pmu = { 0 };
	struct buf out = BUF_INIT;
	const struct pm_model *m;
	struct pm_reader *r;
	struct builder b;
	char large[201];

	(void)state;
	begin(&b);
	event.array.item[0] = pm_text("unit_read");
	event.array.item[1] = pm_text("");
	events.array.item[0] = event;
	set(&pmu.attrs, PM_PMU_NAME, pm_text("mypmu"));
	set(&pmu.attrs, PM_PMU_EVENTS, events);
	assert_int_equal(pm_model_add_pmu(&b.model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	/* 199 characters fit. */
	memset(large, '1', sizeof(large));
	large[0] = 'r';
	for (uint32_t i = 0; i < n_known + n_named + 2; i++) {
		struct pm_probe probe = { .source = (char *)"perf", .reason = 7 };

		large[i % 2 ? 199 : 200] = '\0';
		probe.what = pm_remark(PM_REMARK_EVENTS, i < n_known           ? known[i] :
							 i < n_known + n_named ? named[i - n_known] :
										 large);
		large[199] = '1';
		assert_int_equal(pm_model_add_probe(&b.model, &probe), 0);
		pm_value_release(&probe.what);
	}
	m = redacted(&b, &(struct redact_options){ 0 }, &r, &out);
	assert_int_equal(m->n_probes, n_known + n_named + 2);
	for (uint32_t i = 0; i < n_known + n_named; i++)
		is(said(&m->probe[i].what), i < n_known ? known[i] : "event-#",
		   i < n_known ? known[i] : named[i - n_known]);
	for (uint32_t i = n_known + n_named; i < m->n_probes; i++)
		assert_int_equal(!strncmp(said(&m->probe[i].what), "r111", 4), i % 2);
	end(&b, r, &out);
}

/* What --keep names; the rest of what identifies goes. */
static void what_is_kept(void **state)
{
	static const struct {
		const char *list;
		bool shift;
		const char *refused; /* a part of the error */
		bool host, bios, comm;
		const char *values; /* classes of which a value stays that was read once */
	} cases[] = {
		{ NULL, false, NULL, false, false, false, "03" },
		{ "", true, NULL, false, false, false, "0" },
		{ "machine", true, NULL, true, true, false, "01" },
		{ "bios,comm", false, NULL, false, true, true, "03" },
		{ "person", false, NULL, false, false, true, "023" },
		{ "time", false, NULL, false, false, false, "03" },
		{ "person,machine,time", false, NULL, true, true, true, "0123" },
		{ "time", true, "contradict each other", false, false, false, NULL },
		{ "zqfield", false, "'zqfield' is neither machine", false, false, false, NULL },
		{ "bios,machin", false, "'machin' is neither", false, false, false, NULL },
		{ "kernel", false, "'kernel' is neither", false, false, false, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct redact_options options = { .keep = cases[i].list, .shift_time = cases[i].shift };
		SCOPED(buf_release) struct buf values = BUF_INIT;
		struct buf out = BUF_INIT;
		const struct pm_model *m;
		struct error e = { 0 };
		struct redact *redact;
		struct pm_reader *r;
		struct builder b;

		if (cases[i].refused) {
			assert_int_equal(redact_new(&redact, &options, &e), -EINVAL);
			assert_non_null(strstr(e.text, cases[i].refused));
			continue;
		}
		begin(&b);
		set(&b.model.header, PM_HEADER_BIOS, pm_text("1.2"));
		set(&b.model.header, PM_HEADER_KERNEL, pm_text("6.1"));
		set(&b.model.instance[0].attrs, PM_INSTANCE_COMM, pm_text("zqsh"));
		for (int k = PM_PRIVACY_TECHNICAL; k <= PM_PRIVACY_TIME; k++) {
			char name[] = { 'm', 's', 'r', '.', (char)('0' + k), '\0' };
			struct pm_config config = { .name = name, .privacy = (enum pm_privacy)k, .value = pm_u64(7) };

			assert_int_equal(pm_model_add_config(&b.model, &config), 0);
		}
		m = redacted(&b, &options, &r, &out);
		is_text(&m->header, PM_HEADER_HOST, cases[i].host ? "zqhost.zqdomain.org" : "host-#", "host");
		is_text(&m->header, PM_HEADER_BIOS, cases[i].bios ? "1.2" : NULL, "bios");
		is_text(&m->header, PM_HEADER_KERNEL, "6.1", "kernel");
		is_text(&m->instance[0].attrs, PM_INSTANCE_COMM, cases[i].comm ? "zqsh" : "task-#", "comm");
		for (uint32_t k = 0; k < m->n_configs; k++)
			buf_addstr(&values, m->config[k].name + 4);
		is(buf_str(&values), cases[i].values, "values");
		end(&b, r, &out);
	}
}

static void pseudonyms_are_told(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "host-0123abcd", true },     { "a-00000000", true },
		{ "z-ffffffff", true },        { "-0123abcd", false },
		{ "host-0123abc", false },     { "host-0123abcde", false },
		{ "host-0123abcg", false },    { "Host-0123abcd", false },
		{ "ho1st-0123abcd", false },   { "h{st-0123abcd", false },
		{ "h`st-0123abcd", false },    { "host0123abcd", false },
		{ "my-host-0123abcd", false }, { "", false },
	};
	struct redact *redact;
	struct buf once = BUF_INIT, twice = BUF_INIT;
	struct pm_reader *r[2];
	struct builder b;
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (redact_is_pseudonym(cases[i].text) != cases[i].is)
			fail_msg("%s: %d", cases[i].text, !cases[i].is);
	/* Redacting again changes nothing. */
	begin(&b);
	id = builder_counter(&b, "zqevent", "1", PM_CUMULATIVE, PM_AGG_SUM);
	builder_group(&b, PM_SYSTEM, 1, 0, &id, 1);
	builder_write(&b, 0, 1);
	builder_finish(&b);
	assert_int_equal(redact_new(&redact, &(struct redact_options){ 0 }, &(struct error){ 0 }), 0);
	redact_bytes(redact, &b.file, &once);
	redact_bytes(redact, &once, &twice);
	redact_free(redact);
	r[0] = open_bytes(&once);
	r[1] = open_bytes(&twice);
	read_all(r[0]);
	read_all(r[1]);
	is_text(&pm_reader_model(r[0])->header, PM_HEADER_HOST, "host-#", "host");
	assert_string_equal(pm_map_text(&pm_reader_model(r[0])->header, PM_HEADER_HOST, ""),
			    pm_map_text(&pm_reader_model(r[1])->header, PM_HEADER_HOST, ""));
	is(pm_reader_model(r[0])->counter[0].display, "event-#", "event");
	assert_string_equal(pm_reader_model(r[0])->counter[0].name, pm_reader_model(r[1])->counter[0].name);
	assert_string_equal(pm_reader_model(r[0])->counter[0].display, pm_reader_model(r[1])->counter[0].display);
	pm_reader_close(r[0]);
	buf_release(&once);
	end(&b, r[1], &twice);
}

/* What is dropped is found in texts that stay, in any case of letters, and plain words only as words. */
static void secrets_are_found(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "zq", "zq" },
		{ "zqhos", "zqhos" },
		{ "ZQhost", "host-#" },
		{ "xzqhostx", "xhost-#x" },
		{ "at zqHost.zqdomain.ORG, zqhost", "at host-#, host-#" },
		{ "zqdomain.org", "redacted" },
		{ "ZQargone", "redacted" },
		{ "a zqargone-b", "a redacted-b" },
		{ "xzqargone", "xzqargone" },
		{ "zqargone9", "zqargone9" },
		{ "zqargone\xc3\xa9", "zqargone\xc3\xa9" },
		{ "[zqargone`zqargtwo]", "[redacted`redacted]" },
		{ "in /srv/zqpath", "redacted" },
		/* Also a task's name, which is found anywhere. */
		{ "xzqargtwox", "xredactedx" },
		/* The longest that begins there. */
		{ "zqargonetoo", "task-#" },
	};
	struct buf out = BUF_INIT;
	const struct pm_model *m;
	struct pm_reader *r;
	struct builder b;

	(void)state;
	begin(&b);
	set(&b.model.instance[0].attrs, PM_INSTANCE_COMM, pm_text("ZQargTwo"));
	set(&b.model.instance[1].attrs, PM_INSTANCE_COMM, pm_text("zqargoneTOO"));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[32];
		struct pm_config config = { .name = name, .value = pm_text(cases[i].text) };

		snprintf(name, sizeof(name), "cpufreq.c%zu", i);
		assert_int_equal(pm_model_add_config(&b.model, &config), 0);
		pm_value_release(&config.value);
	}
	m = redacted(&b, &(struct redact_options){ 0 }, &r, &out);
	assert_int_equal(m->n_configs, sizeof(cases) / sizeof(*cases));
	for (uint32_t i = 0; i < m->n_configs; i++)
		is(m->config[i].value.str.data, cases[i].want, cases[i].text);
	end(&b, r, &out);
}

/* Instances, PMUs, types of CPUs. */
static void machines(void **state)
{
	struct buf out = BUF_INIT;
	const struct pm_model *m;
	struct pm_instance *i;
	struct pm_pmu pmu = { 0 };
	struct pm_value files;
	struct pm_reader *r;
	struct builder b;

	(void)state;
	begin(&b);
	free(b.model.topology.type);
	b.model.topology.type = calloc(2, sizeof(char *));
	b.model.topology.type[0] = strdup("cpu_core");
	b.model.topology.type[1] = strdup("zqargone");
	b.model.topology.n_types = 2;
	i = b.model.instance;
	set(&i[0].attrs, PM_INSTANCE_CPUS, pm_text("0-3,7"));
	set(&i[1].attrs, PM_INSTANCE_CPUS, pm_text("0-3 zq"));
	set(&i[1].attrs, PM_INSTANCE_COMM, pm_text("host-0123abcd"));
	set(&i[2].attrs, PM_INSTANCE_COMM, pm_text("zqsh"));
	set(&i[2].attrs, PM_INSTANCE_PARENT_COMM, pm_text("zqparent"));
	set(&i[2].attrs, PM_INSTANCE_ARGUMENTS, pm_text("zqsh -x"));
	set(&i[2].attrs, PM_INSTANCE_PID, pm_u64(4711));
	set(&i[3].attrs, PM_INSTANCE_CGROUP, pm_text("/zq.slice"));
	set(&i[3].attrs, PM_INSTANCE_DEVICE_PATH, pm_text("/sys/devices/zq"));
	set(&i[3].attrs, PM_INSTANCE_LEVEL, pm_u64(3));
	set(&pmu.attrs, PM_PMU_NAME, pm_text("cpu"));
	set(&pmu.attrs, PM_PMU_TYPE, pm_u64(4));
	set(&pmu.attrs, 66, pm_text("zqlater"));
	files = pm_array(5);
	files.array.item[0] = texts("zqfile|x");
	files.array.item[1] = texts("peer|0");
	files.array.item[2] = texts("peer|0|1");
	files.array.item[3] = pm_text("peer");
	files.array.item[4] = texts("rdpmc|zqargone");
	set(&pmu.attrs, PM_PMU_FILES, files);
	assert_int_equal(pm_model_add_pmu(&b.model, &pmu), 0);
	pm_map_release(&pmu.attrs);
	m = redacted(&b, &(struct redact_options){ 0 }, &r, &out);
	is(m->topology.type[0], "cpu_core", "type");
	is(m->topology.type[1], "redacted", "type");
	i = m->instance;
	is_text(&i[0].attrs, PM_INSTANCE_CPUS, "0-3,7", "cpus");
	is_text(&i[1].attrs, PM_INSTANCE_CPUS, NULL, "cpus");
	is_text(&i[1].attrs, PM_INSTANCE_COMM, "task-#", "comm");
	is_text(&i[2].attrs, PM_INSTANCE_COMM, "task-#", "comm");
	is_text(&i[2].attrs, PM_INSTANCE_PARENT_COMM, "task-#", "comm");
	is_text(&i[2].attrs, PM_INSTANCE_ARGUMENTS, NULL, "arguments");
	assert_null(pm_map_get(&i[2].attrs, PM_INSTANCE_PID));
	is_text(&i[3].attrs, PM_INSTANCE_CGROUP, "cgroup-#", "cgroup");
	is_text(&i[3].attrs, PM_INSTANCE_DEVICE_PATH, "device-#", "device path");
	assert_int_equal(pm_map_u64(&i[3].attrs, PM_INSTANCE_LEVEL, 0), 3);
	is_text(&m->pmu[0].attrs, PM_PMU_NAME, "cpu", "PMU");
	assert_int_equal(pm_map_u64(&m->pmu[0].attrs, PM_PMU_TYPE, 0), 4);
	assert_null(pm_map_get(&m->pmu[0].attrs, 66));
	assert_int_equal(pm_map_get(&m->pmu[0].attrs, PM_PMU_FILES)->array.n, 2);
	are_texts(&pm_map_get(&m->pmu[0].attrs, PM_PMU_FILES)->array.item[0], "peer|0", "file");
	are_texts(&pm_map_get(&m->pmu[0].attrs, PM_PMU_FILES)->array.item[1], "rdpmc|redacted", "file");
	end(&b, r, &out);
}

UNIT_TESTS(cmocka_unit_test(counters), cmocka_unit_test(remarks), cmocka_unit_test(events_are_told_from_names),
	   cmocka_unit_test(what_is_kept), cmocka_unit_test(pseudonyms_are_told), cmocka_unit_test(secrets_are_found),
	   cmocka_unit_test(machines))
