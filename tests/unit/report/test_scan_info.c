/* All that pmrep info and pmrep dump have words for, from one recording that has each kind of definition once. */
#include "common/double_bits.h"
#include "report/cmd.h"
#include "tests/unit/lib/captured.h"
#include "tests/unit/lib/test.h"

static struct reading of_row(struct builder *b, const char *counter, const struct pm_instance *i, uint64_t row)
{
	(void)b, (void)i;
	if (!strcmp(counter, "far.f"))
		return (struct reading){ double_to_bits(-1.5), 0 };
	return (struct reading){ row, 0 };
}

static void set(struct pm_map *m, uint32_t key, struct pm_value v)
{
	assert_int_equal(pm_map_set(m, key, v), 0);
}

/* "a b,c": an array of arrays of texts, or with no blank in any, of texts. */
static struct pm_value lists(const char *text)
{
	struct pm_value all = pm_array(8);

	for (all.array.n = 0; *text; text += *text == ',') {
		struct pm_value one = pm_array(8);

		for (one.array.n = 0; *text && *text != ','; text += *text == ' ') {
			size_t n = strcspn(text, " ,");

			one.array.item[one.array.n++] = pm_text_n(text, n);
			text += n;
		}
		all.array.item[all.array.n++] = one;
	}
	return all;
}

static void add_config(struct builder *b, const char *name, enum pm_kind kind, const char *on,
		       enum pm_privacy privacy, uint16_t reason, struct pm_value v)
{
	struct pm_config config = {
		.name = (char *)name, .kind = kind, .privacy = privacy, .time_ns = 7, .reason = reason, .value = v
	};
	struct error e = { 0 };

	if (*on)
		assert_int_equal(cpulist_parse(&config.instances, on, false, &e), 0);
	assert_int_equal(pm_model_add_config(&b->model, &config), 0);
	pm_value_release(&config.value);
	cpulist_release(&config.instances);
}

static void add_pmus(struct builder *b)
{
	static const struct {
		uint32_t key;
		const char *lists, *text; /* or, with neither, the number 6 */
	} fields[] = { { PM_PMU_NAME, NULL, "cpu" },
		       { PM_PMU_TYPE, NULL, NULL },
		       { PM_PMU_IDENTIFIER, NULL, "id7" },
		       { PM_PMU_CPUS, NULL, "0-7" },
		       { PM_PMU_FORMATS, "event config:0-7,umask config:8-15", NULL },
		       { PM_PMU_CAPS, "branches 32", NULL },
		       { PM_PMU_FILES, "peer,none 0", NULL },
		       { PM_PMU_EVENTS, "cycles event=60,stalls event=61", NULL },
		       { PM_PMU_COUNTERS, NULL, NULL } };
	struct pm_pmu pmu = { 0 }, empty = { 0 };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		set(&pmu.attrs, fields[i].key,
		    fields[i].lists ? lists(fields[i].lists) :
		    fields[i].text  ? pm_text(fields[i].text) :
				      pm_u64(6));
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	set(&pmu.attrs, PM_PMU_CPUMASK, pm_text("0,4"));
	set(&pmu.attrs, PM_PMU_NAME, pm_text("imc"));
	set(&pmu.attrs, PM_PMU_EVENTS, lists("reads event=1"));
	assert_int_equal(pm_model_add_pmu(&b->model, &pmu), 0);
	set(&empty.attrs, PM_PMU_NAME, pm_text("gone"));
	set(&empty.attrs, PM_PMU_CPUMASK, pm_text(""));
	set(&empty.attrs, PM_PMU_CPUS, pm_text("2"));
	assert_int_equal(pm_model_add_pmu(&b->model, &empty), 0);
	pm_map_remove(&empty.attrs, PM_PMU_NAME);
	pm_map_remove(&empty.attrs, PM_PMU_CPUMASK);
	pm_map_remove(&empty.attrs, PM_PMU_CPUS);
	set(&empty.attrs, PM_PMU_FORMATS, pm_u64(1));
	set(&empty.attrs, PM_PMU_EVENTS, pm_u64(1));
	assert_int_equal(pm_model_add_pmu(&b->model, &empty), 0);
	pm_map_release(&pmu.attrs);
	pm_map_release(&empty.attrs);
}

static void add_probe(struct builder *b, const char *source, const char *what, const char *hint, uint16_t reason)
{
	struct pm_probe probe = {
		.source = (char *)source, .what = (char *)what, .hint = (char *)hint, .reason = reason
	};

	set(&probe.attrs, 77, pm_text("later"));
	assert_true(pm_model_add_probe(&b->model, &probe) >= 0);
	pm_map_release(&probe.attrs);
}

static void write_event(struct builder *b, uint32_t type, uint32_t key, struct pm_value v)
{
	struct pm_event e = { .type = (enum pm_event_type)type, .time_ns = BUILDER_START_NS + 500000000 };

	set(&e.attrs, key, v);
	assert_int_equal(pm_writer_event(b->writer, &e), 0);
	pm_event_release(&e);
}

/* CPU 0 is of another type and its L3 is unknown; CPU 7 is offline. */
static void world(struct builder *b)
{
	struct pm_value labels, rusage = pm_array(2), redacted = pm_array(1);
	struct pm_topology *t;
	struct pm_counter *c;
	uint32_t id[2];

	builder_init(b, of_row);
	t = &b->model.topology;
	free(t->type);
	t->type = calloc(2, sizeof(*t->type));
	t->type[0] = strdup("cpu_core");
	t->type[1] = strdup("cpu_atom");
	t->n_types = 2;
	for (uint32_t i = 0; i < t->n; i++)
		t->cpu[i].type = i ? 0 : 1;
	t->cpu[0].cache[3] = PM_NONE;
	t->cpu[0].capacity = 512;
	t->cpu[7].online = false;
	labels = lists("site north,lone,rack");
	pm_value_release(&labels.array.item[2]);
	labels.array.item[2] = pm_array(2);
	labels.array.item[2].array.item[0] = pm_text("rack");
	labels.array.item[2].array.item[1] = pm_u64(4);
	set(&b->model.header, PM_HEADER_LABELS, labels);
	set(&b->model.header, PM_HEADER_INTERVAL, pm_u64(250000000));
	set(&b->model.header, PM_HEADER_MEMORY, pm_u64(UINT64_C(8) << 30));
	set(&b->model.header, PM_HEADER_HOST, pm_text("host-0123abcd"));
	set(&b->model.header, PM_HEADER_PRODUCT, pm_text("Box 9"));
	set(&b->model.header, PM_HEADER_USER, pm_text("user-0123abcd"));
	redacted.array.item[0] = pm_text("machine");
	set(&b->model.header, PM_HEADER_REDACTED, redacted);
	set(&b->model.header, 78, pm_text("later"));
	set(&b->model.header, 450, pm_text("far"));
	add_pmus(b);
	add_probe(b, "perf", "cycles", "sysctl it", PM_REASON_NO_PERMISSION);
	add_probe(b, "stat", "a remark", NULL, PM_OK);
	add_probe(b, "disks", "sdb", NULL, PM_REASON_NOT_READ);
	add_config(b, "pmrec.readers", PM_SYSTEM, "", PM_PRIVACY_TECHNICAL, PM_OK, pm_u64(3));
	add_config(b, "one.cpu", PM_CPU, "0-2,5", PM_PRIVACY_MACHINE, PM_OK, pm_text("v w"));
	add_config(b, "one.package", PM_PACKAGE, "1", PM_PRIVACY_PERSON, PM_REASON_NOT_SUPPORTED, pm_u64(0));
	id[0] = builder_counter(b, "far.f", "W", PM_GAUGE, PM_AGG_MEAN);
	c = builder_counter_at(b, id[0]);
	c->type = PM_F64;
	set(&c->attrs, PM_COUNTER_DEVICES, pm_text("eth0"));
	id[1] = builder_counter(b, "near.n", "1", PM_CUMULATIVE, PM_AGG_SUM);
	c = builder_counter_at(b, id[1]);
	c->width = 48;
	c->scale.num = 3;
	set(&c->attrs, PM_COUNTER_HELP, pm_text("what it counts"));
	builder_group(b, PM_CPU, 3, PM_GROUP_SHARED_TIME, id, 2);
	builder_group(b, PM_CPU, 2, PM_GROUP_PERF_TIMES, id + 1, 1);
	set(&b->model.instance[0].attrs, PM_INSTANCE_COMM, pm_text("sh"));
	set(&b->model.instance[1].attrs, PM_INSTANCE_COMM, pm_text("sh"));
	builder_write(b, 0, 2);
	for (int k = 0; k < 2; k++)
		rusage.array.item[k] = pm_u64(4 + (uint64_t)k);
	write_event(b, PM_EVENT_CHILD_EXIT, PM_EVENT_KEY_RUSAGE, rusage);
	write_event(b, PM_EVENT_CPU_OFFLINE, PM_EVENT_KEY_CPU, pm_u64(3));
	write_event(b, PM_EVENT_CLOCK_STEP, PM_EVENT_KEY_STEP, pm_s64(-5));
	write_event(b, 77, PM_EVENT_KEY_TEXT, pm_text("of later"));
	write_event(b, PM_EVENT_GONE, PM_EVENT_KEY_INSTANCE, pm_u64(2));
	builder_finish(b);
}

/* clang-format off */
static const struct {
	int (*command)(int argc, char **argv);
	const char *words;
	const char *parts[20];
} cases[] = {
	{ cmd_info, "--all",
	  { "state              complete\n"
	    "format             1.0\n"
	    "start              2026-09-21T14:13:20.000000000Z  [time]\n"
	    "duration           1.000 s\n"
	    "snapshots          2\n"
	    "lost ticks         0\n"
	    "reader threads     3\n"
	    "interval           250.000 ms; achieved: median 1.000 s, at most 1.000 s\n"
	    "behind the tick    median 0 ns, at most 0 ns",
	    " for 8 values\n"
	    "\n"
	    "Host and recorder\n"
	    "tool     builder 1\n"
	    "arch     x86_64\n"
	    "cpu_id   GenuineIntel-6-55-7\n"
	    "interval 250.000 ms\n"
	    "target   system\n"
	    "memory   8.6 GB\n"
	    "redacted machine\n"
	    "key-78   later\n"
	    "host     host-0123abcd  [machine]\n"
	    "product  Box 9  [machine]\n"
	    "labels   site=north, [lone], rack=4  [person]\n"
	    "user     user-0123abcd  [person]\n"
	    "key-450  far  [person]\n"
	    "\n"
	    "Topology (online CPUs)\n"
	    "packages         2\n"
	    "dies             2\n"
	    "nodes            2\n"
	    "clusters         -\n"
	    "cores            4\n"
	    "CPUs             7\n"
	    "threads per core 1 to 2\n"
	    "offline CPUs     1\n"
	    "CPU type         cpu_core\n"
	    "CPU type         cpu_atom\n"
	    "\n"
	    "Clocks\n"
	    "monotonic at start 5000000000 ns\n"
	    "wall clock         recorded  [time]\n"
	    "wall clock moved   +0 ns against monotonic\n"
	    "\n"
	    "Sources\n"
	    "source counters columns groups skew within a snapshot\n"
	    "test          0       8      2 -\n"
	    "far           1       0      0 -\n"
	    "near          1       0      0 -\n"
	    "\n"
	    "Groups (what is read together)\n"
	    "group source counters instances values first counter\n"
	    "    1 test          2         3      6 far.f\n"
	    "    2 test          1         2      2 near.n\n"
	    "\n"
	    "PMUs\n"
	    "cpu  type 6, identifier id7, CPUs 0-7, 6 counters found, 2 named events; formats event config:0-7,"
	    " umask config:8-15; caps branches 32; files peer, none 0; events cycles, stalls\n"
	    "imc  type 6, identifier id7, CPUs 0,4, 6 counters found, 1 named event; formats event config:0-7, "
	    "umask config:8-15; caps branches 32; files peer, none 0; events reads\n"
	    "gone type 0, no CPU online\n"
	    "?    type 0\n",
	    "One-time values\n"
	    "pmrec.readers 3\n"
	    "one.cpu       v w  (cpu 0-2,5)  [machine]\n"
	    "one.package   - (not supported by the kernel or the hardware)  (package 1)\n"
	    "\n"
	    "Not recorded\n"
	    "perf  cycles: permission was refused; try: sysctl it\n"
	    "stat  a remark\n"
	    "disks sdb\n"
	    "\n"
	    "Events\n"
	    "+0.500 s child-exit rusage=4, 5\n"
	    "+0.500 s cpu-offline cpu=3\n"
	    "+0.500 s clock-step step=-5\n"
	    "+0.500 s of a later version text=of later  [person]\n"
	    "+0.500 s gone instance=2\n"
	    "\n"
	    "What this file reveals\n"
	    "machine host (pseudonym), product, counters: devices, config: one.cpu\n"
	    "person  labels, user, key-450, instances: comm (2), events: text\n"
	    "time    wall clock, time since boot\n" } },
	{ cmd_info, "",
	  { "PMUs\n"
	    "cpu  type 6, identifier id7, CPUs 0-7, 6 counters found, 2 named events\n"
	    "imc  type 6, identifier id7, CPUs 0,4, 6 counters found, 1 named event\n"
	    "gone type 0, no CPU online\n"
	    "?    type 0\n",
	    "One-time values\n"
	    "3; --all shows them\n"
	    "\n"
	    "Not recorded\n"
	    "perf  cycles: permission was refused; try: sysctl it\n"
	    "stat  a remark\n"
	    "disks sdb\n"
	    "\n"
	    "Events\n"
	    "+0.500 s child-exit\n"
	    "+0.500 s cpu-offline cpu=3\n"
	    "+0.500 s clock-step step=-5\n"
	    "+0.500 s of a later version text=of later  [person]\n"
	    "tasks, cgroups and devices that ended: 1; --all lists them\n"
	    "\n"
	    "What this file reveals\n"
	    "machine host (pseudonym), product, counters: devices, config: one.cpu\n"
	    "person  labels, user, key-450, instances: comm (2), events: text\n"
	    "time    wall clock, time since boot\n" } },
	{ cmd_info, "--format=json",
	  { "\"format\":\"1.0\",\"snapshots\":2,\"lost_ticks\":0,\"readers\":3,\"start\":\"2026-09-21T14:13:20."
	    "000000000Z\",\"duration_ns\":1000000000,\"interval_ns\":250000000,\"achieved_interval_ns\":{\"medi"
	    "an\":1000000000,\"max\":1000000000},\"late_ns\":{\"median\":0,\"max\":0}",
	    "\"sampled_snapshots\":2,\"values\":16,\"chunks\":1,\"runs\":1,\"segments\":1,\"recordings\":1,\"en"
	    "ded\":true,\"being_written\":false,\"newer\":[],\"damage\":[],\"host\":{\"tool\":\"builder 1\",\"a"
	    "rch\":\"x86_64\",\"cpu_id\":\"GenuineIntel-6-55-7\",\"interval\":250000000,\"target\":\"system\","
	    "\"memory\":8589934592,\"redacted\":[\"machine\"],\"key-78\":\"later\",\"host\":\"host-0123abcd\","
	    "\"product\":\"Box 9\",\"labels\":[[\"site\",\"north\"],[\"lone\"],[\"rack\",4]],\"user\":\"user-01"
	    "23abcd\",\"key-450\":\"far\"},\"labels\":{\"site\":\"north\",\"rack\":4},\"reveals\":{\"machine\":"
	    "[\"host (pseudonym)\",\"product\",\"counters: devices\",\"config: one.cpu\"],\"person\":[\"labels"
	    "\",\"user\",\"key-450\",\"instances: comm\",\"events: text\"],\"time\":[\"wall clock\",\"time sinc"
	    "e boot\"]},\"topology\":{\"cpus\":7,\"cores\":4,\"clusters\":null,\"dies\":2,\"packages\":2,\"node"
	    "s\":2,\"threads_per_core\":2,\"l1d_caches\":4,\"l1i_caches\":4,\"l2_caches\":4,\"l3_caches\":2,\"o"
	    "ffline_cpus\":1,\"cpu_types\":[\"cpu_core\",\"cpu_atom\"]},\"clocks\":{\"monotonic\":5000000000,\""
	    "monotonic_raw\":5000000000,\"realtime\":1790000000000000000,\"boottime\":5000000000,\"counter\":nu"
	    "ll},\"sources\":[{\"name\":\"test\",\"groups\":2,\"counters\":0,\"columns\":8,\"skew_ns\":null},{"
	    "\"name\":\"far\",\"groups\":0,\"counters\":1,\"columns\":0,\"skew_ns\":null},{\"name\":\"near\",\""
	    "groups\":0,\"counters\":1,\"columns\":0,\"skew_ns\":null}],\"groups\":[{\"id\":1,\"source\":\"test"
	    "\",\"counters\":2,\"instances\":3,\"columns\":6,\"shape\":\"matrix\",\"shared_time\":true,\"perf_t"
	    "imes\":false},{\"id\":2,\"source\":\"test\",\"counters\":1,\"instances\":2,\"columns\":2,\"shape\""
	    ":\"matrix\",\"shared_time\":false,\"perf_times\":true}],\"counters\":[{\"name\":\"far.f\",\"displa"
	    "y\":\"far.f\",\"source\":\"far\",\"unit\":\"W\",\"type\":\"f64\",\"semantics\":\"gauge\",\"aggrega"
	    "tion\":\"mean\",\"width\":64,\"attrs\":{\"devices\":\"eth0\"}},{\"name\":\"near.n\",\"display\":\""
	    "near.n\",\"source\":\"near\",\"unit\":\"1\",\"type\":\"u64\",\"semantics\":\"cumulative\",\"aggreg"
	    "ation\":\"sum\",\"width\":48,\"scale_num\":3,\"scale_den\":1,\"attrs\":{\"help\":\"what it counts"
	    "\"}}],\"pmus\":[{\"name\":\"cpu\",\"type\":6,\"identifier\":\"id7\",\"cpus\":\"0-7"
	    "\",\"formats\":[[\"event\",\"config:0-7\"],[\"umask\",\"config:8-15\"]],\"events\":[[\"cycles\",\""
	    "event=60\"],[\"stalls\",\"event=61\"]],\"caps\":[[\"branches\",\"32\"]],\"files\":[[\"peer\"],[\"n"
	    "one\",\"0\"]],\"counters\":6},{\"name\":\"imc\",\"type\":6,\"identifier\":\"id7\",\"cpumask\":\"0,"
	    "4\",\"cpus\":\"0-7\",\"formats\":[[\"event\",\"config:0-7\"],[\"umask\",\"config:8-15\"]],\"events"
	    "\":[[\"reads\",\"event=1\"]],\"caps\":[[\"branches\",\"32\"]],\"files\":[[\"peer\"],[\"none\",\"0"
	    "\"]],\"counters\":6},{\"name\":\"gone\",\"cpumask\":\"\",\"cpus\":\"2\"},{\"formats\":1,\"events\""
	    ":1}],\"probes\":[{\"source\":\"perf\",\"what\":\"cycles\",\"reason\":\"no-permission\",\"text\":\""
	    "permission was refused\",\"hint\":\"sysctl it\"},{\"source\":\"stat\",\"what\":\"a remark\",\"reas"
	    "on\":\"ok\",\"text\":\"there is a value\",\"hint\":null},{\"source\":\"disks\",\"what\":\"sdb\",\""
	    "reason\":\"not-read\",\"text\":\"it was not due in this snapshot\",\"hint\":null}],\"config\":[{\""
	    "name\":\"pmrec.readers\",\"scope\":\"system\",\"instances\":\"\",\"value\":3,\"status\":\"ok\",\"r"
	    "eveals\":null},{\"name\":\"one.cpu\",\"scope\":\"cpu\",\"instances\":\"0-2,5\",\"value\":\"v w\","
	    "\"status\":\"ok\",\"reveals\":\"machine\"},{\"name\":\"one.package\",\"scope\":\"package\",\"insta"
	    "nces\":\"1\",\"value\":null,\"status\":\"not-supported\",\"reveals\":null}],",
	    "\"events\":[{\"event\":\"child-exit\",\"time\":\"2026-09-21T14:13:20.500000000Z\",\"monotonic_ns\""
	    ":5500000000,\"attrs\":{\"rusage\":[4,5]}},{\"event\":\"cpu-offline\",\"time\":\"2026-09-21T14:13:2"
	    "0.500000000Z\",\"monotonic_ns\":5500000000,\"attrs\":{\"cpu\":3}},{\"event\":\"clock-step\",\"time"
	    "\":\"2026-09-21T14:13:20.500000000Z\",\"monotonic_ns\":5500000000,\"attrs\":{\"step\":-5}},{\"even"
	    "t\":77,\"time\":\"2026-09-21T14:13:20.500000000Z\",\"monotonic_ns\":5500000000,\"attrs\":{\"text\""
	    ":\"of later\"}},{\"event\":\"gone\",\"time\":\"2026-09-21T14:13:20.500000000Z\",\"monotonic_ns\":5"
	    "500000000,\"attrs\":{\"instance\":2}}],\"more_events\":0}\n" } },
	/* golden.facts compares all of dump with a second reader; here is what samples have not. */
	{ cmd_dump, "--snapshots=1",
	  { "memory=8589934592 redacted=machine key-78=later host=host-0123abcd product=\"Box 9\" labels=\"site"
	    "=north, [lone], rack=4\" user=user-0123abcd key-450=far\n",
	    "cpu cpu=0 online=1 package=0 die=0 core=0 node=0 thread=0 l1d=0 l1i=0 l2=0 type=cpu_atom capacity="
	    "512\n",
	    "cpu cpu=7 online=0 package=1 die=0 core=1 node=1 thread=1 l1d=3 l1i=3 l2=3 l3=1 type=cpu_core\n",
	    "instance id=1 kind=cpu number=0 cpu=0 added_ns=1 comm=sh\n",
	    "counter id=2 name=near.n display=near.n source=near unit=1 type=u64 semantics=cumulative aggregati"
	    "on=sum width=48 scale_num=3 scale_den=1 help=\"what it counts\"\n",
	    "pmu name=imc type=6 identifier=id7 cpumask=0,4 cpus=0-7 formats=\"event=config:0-7, umask=config:8"
	    "-15\" events=reads=event=1 caps=branches=32 files=\"[peer], none=0\" counters=6\n"
	    "pmu name=gone cpumask=\"\" cpus=2\n"
	    "pmu formats=1 events=1\n",
	    "probe source=stat what=\"a remark\" reason=ok key-77=later\n",
	    "config name=one.cpu kind=cpu instances=0-2,5 time_ns=7 status=ok reveals=machine value=\"v w\"\n"
	    "config name=one.package kind=package instances=1 time_ns=7 status=not-supported\n",
	    "value counter=far.f scope=cpu number=2 instance=3 value=-1.5 status=ok begin=5000000000 end=500000"
	    "0000\n",
	    " enabled=0 running=0\n" } },
	{ cmd_dump, "--snapshots=1 --format=json",
	  { "\"redacted\":[\"machine\"],\"key-78\":\"later\",\"host\":\"host-0123abcd\","
	    "\"product\":\"Box 9\",\"labels\":[[\"site\",\"north\"],[\"lone\"],[\"rack\",4]],",
	    "\"l2\":0,\"type\":\"cpu_atom\",\"capacity\":512}\n",
	    "\"caps\":[[\"branches\",\"32\"]],\"files\":[[\"peer\"],[\"none\",\"0\"]],\"counters\":6}\n"
	    "{\"is\":\"pmu\",\"name\":\"gone\",\"cpumask\":\"\",\"cpus\":\"2\"}\n"
	    "{\"is\":\"pmu\",\"formats\":1,\"events\":1}\n",
	    "\"reason\":\"no-permission\",\"hint\":\"sysctl it\",\"key-77\":\"later\"}\n",
	    "\"value\":0,\"status\":\"ok\",\"begin\":5000000000,\"end\":5000000000,\"enabled\":0,\"running\":0}\n" } },
};
/* clang-format on */

static void said(void **state)
{
	static struct captured c;
	struct builder b;
	char path[64], line[160];
	size_t missing = 0;

	(void)state;
	world(&b);
	captured_file(path, &b.file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(line, sizeof(line), "%s%s%s", cases[i].words, *cases[i].words ? " " : "", path);
		captured_run(&c, cases[i].command, line);
		assert_int_equal(c.status, 0);
		for (size_t k = 0; k < sizeof(cases[i].parts) / sizeof(*cases[i].parts) && cases[i].parts[k]; k++)
			if (!strstr(c.out, cases[i].parts[k]) && ++missing)
				print_error("%s: missing:\n%s\nof:\n%s%s", line, cases[i].parts[k], c.out, c.err);
	}
	captured_remove(path);
	builder_release(&b);
	assert_int_equal(missing, 0);
}

UNIT_TESTS(cmocka_unit_test(said))
