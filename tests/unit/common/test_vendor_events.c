/*
 * Event files of vendors: what the fields of an object become. Expected attr words are packed by hand from the codes
 * in the objects and the format texts of the PMUs below.
 */
#include "common/event/vendor_events.h"
#include "common/vendor_docs.h"
#include "tests/unit/lib/sysroot.h"
#include "tests/unit/lib/test.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- a machine whose descriptions can grow ---- */

struct pmu_row {
	const char *name, *identifier;
	uint32_t type;
	bool core;
	const char *format[14];
	const char *alias[4]; /* name, text ... */
};

/* clang-format off */
static const struct pmu_row rows[] = {
	{ "cpu", NULL, 4, true,
	  { "event=config:0-7", "umask=config:8-15", "edge=config:18", "any=config:21", "inv=config:23",
	    "cmask=config:24-31", "offcore_rsp=config1:0-63", "ldlat=config1:0-15", "frontend=config1:0-23" },
	  { "mine", "event=0x99", "cpu-cycles", "event=0x3c" } },
	{ "uncore_imc_0", NULL, 20, false, { "event=config:0-7", "umask=config:8-15,32-39" }, { 0 } },
	{ "uncore_imc_1", NULL, 21, false, { "event=config:0-7", "umask=config:8-15,32-39" }, { 0 } },
	{ "uncore_cbox_0", NULL, 22, false,
	  { "event=config:0-7", "umask=config:8-15", "filter_state=config1:17-23" }, { 0 } },
	{ "uncore_cha_0", NULL, 30, false, { "event=config:0-7", "umask=config:8-15" }, { 0 } },
	{ "uncore_iio_0", NULL, 23, false,
	  { "event=config:0-7", "umask=config:8-15", "ch_mask=config:36-43", "fc_mask=config:44-46" }, { 0 } },
	{ "uncore_qpi_0", NULL, 24, false, { "event=config:0-7,21" }, { 0 } },
	{ "amd_l3", NULL, 25, false,
	  { "event=config:0-7", "umask=config:8-15", "enallslices=config:46", "threadmask=config:56-63",
	    "sliceid=config:48-50", "enallcores=config:47" }, { 0 } },
	{ "hisi_sccl1_ddrc3", NULL, 26, false, { "event=config:0-7" }, { 0 } },
	{ "arm_cmn_0", "43c01", 27, false,
	  { "type=config:0-15", "eventid=config:16-26", "rdwrmask=config:30-31" }, { 0 } },
	{ "arm_cmn_1", "60000", 28, false, { "type=config:0-15", "eventid=config:16-26" }, { 0 } },
	{ "cpu_lowpower", NULL, 31, false, { "event=config:0-7" }, { 0 } },
	{ "cpum_cf", NULL, 29, false, { "event=config:0-63" }, { 0 } },
};
/* clang-format on */

static struct event_pmu pmus[COUNT(rows)];
static const struct event_view view = { .pmu = pmus, .n_pmus = COUNT(rows) };
static char dir[32];

static char *copy(const char *text, size_t len)
{
	char *c = strndup(text, len);

	assert_non_null(c);
	return c;
}

static int set_up(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct event_pmu *p = &pmus[i];

		*p = (struct event_pmu){ .name = copy(rows[i].name, 99),
					 .type = rows[i].type,
					 .core = rows[i].core,
					 .uncore = !rows[i].core,
					 .identifier = rows[i].identifier ? copy(rows[i].identifier, 99) : NULL,
					 .format = calloc(14, sizeof(*p->format)),
					 .alias = calloc(2, sizeof(*p->alias)) };
		for (size_t k = 0; rows[i].format[k]; k++) {
			const char *equals = strchr(rows[i].format[k], '=');

			p->format[p->n_formats++] =
				(struct event_format){ copy(rows[i].format[k], (size_t)(equals - rows[i].format[k])),
						       copy(equals + 1, 99) };
		}
		for (size_t k = 0; k < 4 && rows[i].alias[k]; k += 2)
			p->alias[p->n_aliases++] = (struct event_alias){ .name = copy(rows[i].alias[k], 99),
									 .text = copy(rows[i].alias[k + 1], 99) };
	}
	sysroot_make(dir, NULL);
	return 0;
}

static int tear_down(void **state)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		event_pmu_release(&pmus[i]);
	sysroot_remove(dir);
	return 0;
}

static const char *write_file(const char *name, const char *text)
{
	static char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	sysroot_put("", path, "%s", text);
	return path;
}

static int load(const char *path, const char *cpuid, struct buf *notes)
{
	struct vendor_events *v = NULL;
	struct error e = { 0 };
	int n;

	if (vendor_events_load(&v, path, NULL, cpuid, &e))
		fail_msg("%s", e.text);
	n = vendor_events_apply(v, pmus, COUNT(rows), notes);
	vendor_events_free(v);
	return n;
}

static int load_text(const char *text, struct buf *notes)
{
	return load(write_file("events.json", text), NULL, notes);
}

static struct event_set resolve(const char *text)
{
	struct event_list *list = NULL;
	struct event_set set = { 0 };
	struct buf notes = BUF_INIT;
	struct error e = { 0 };

	if (event_parse(&list, text, &e) || event_resolve(list, &view, &set, &notes, &e))
		fail_msg("%s: %s", text, e.text);
	event_list_free(list);
	buf_release(&notes);
	return set;
}

/* ---- tests ---- */

#define OBJECT(name, rest) "{\"EventName\": \"" name "\", " rest "}"

static void test_fields(void **state)
{
	static const struct {
		const char *object, *name;
		uint32_t type;
		uint64_t config, config1;
	} row[] = {
		{ OBJECT("A.PLAIN", "\"EventCode\": \"0xc4\", \"UMask\": \"0x20\", \"SampleAfterValue\": \"400009\""),
		  "a.plain", 4, 0x20c4, 0 },
		{ OBJECT("A.LIST",
			 "\"EventCode\": \"0xB7, 0xBB\", \"UMask\": \"0x1\", \"MSRIndex\": \"0x1a6,0x1a7\", "
			 "\"MSRValue\": \"0x3FFC0003C0\""),
		  "a.list", 4, 0x1b7, 0x3ffc0003c0ull },
		{ OBJECT("A.LDLAT", "\"EventCode\": \"0xcd\", \"UMask\": \"0x1\", \"MSRIndex\": \"0x3F6\", "
				    "\"MSRValue\": \"0x80\""),
		  "a.ldlat", 4, 0x1cd, 0x80 },
		{ OBJECT("A.FRONT", "\"EventCode\": \"0xc6\", \"UMask\": \"0x1\", \"MSRIndex\": \"0x3F7\", "
				    "\"MSRValue\": \"0x11\""),
		  "a.front", 4, 0x1c6, 0x11 },
		{ OBJECT("A.NOMSR", "\"EventCode\": \"0xc6\", \"MSRIndex\": \"0x00\", \"MSRValue\": \"0x00\""),
		  "a.nomsr", 4, 0xc6, 0 },
		{ OBJECT("A.FLAGS", "\"EventCode\": \"0x0e\", \"CounterMask\": \"1\", \"Invert\": \"1\", "
				    "\"EdgeDetect\": \"1\", \"AnyThread\": \"1\""),
		  "a.flags", 4, 0x0e | 1 << 24 | 1 << 23 | 1 << 18 | 1 << 21, 0 },
		{ OBJECT("A.NUMBER", "\"EventCode\": 60, \"UMask\": 2"), "a.number", 4, 0x23c, 0 },
		{ OBJECT("INST_RETIRED.ANY", "\"EventCode\": \"0x00\", \"UMask\": \"0x01\""), "inst_retired.any", 4,
		  0xc0, 0 },
		{ OBJECT("CPU_CLK_UNHALTED.THREAD_ANY", "\"UMask\": \"0x2\""), "cpu_clk_unhalted.thread_any", 4,
		  0x3c | 1 << 21, 0 },
		{ OBJECT("A.LEGACY", "\"LegacyConfigCode\": \"1\""), "a.legacy", 0, 1, 0 },
		{ OBJECT("A.CACHE", "\"LegacyCacheCode\": \"0x10002\""), "a.cache", 3, 0x10002, 0 },
		{ OBJECT("U.FILTER", "\"EventCode\": \"0x34\", \"UMask\": \"0x3\", \"Unit\": \"CBO\", "
				     "\"Filter\": \"filter_state=0x1\""),
		  "u.filter", 22, 0x334, 1 << 17 },
		{ OBJECT("U.OPCODE", "\"EventCode\": \"0x35\", \"UMask\": \"0x21\", \"Unit\": \"CHA\", "
				     "\"Filter\": \"config1=0x40433\""),
		  "u.opcode", 30, 0x2135, 0x4043300000000ull },
		{ OBJECT("U.SECOND", "\"EventCode\": \"0x36\", \"UMask\": \"0x21\", \"Unit\": \"CHA\", "
				     "\"Filter\": \"Filter1\", \"FILTER_VALUE\": \"0x40433\""),
		  "u.second", 30, 0x2136, 0x4043300000000ull },
		{ OBJECT("U.WHOLE", "\"EventCode\": \"0x35\", \"Unit\": \"CHA\", "
				    "\"Filter\": \"config1=0x4043300000000\""),
		  "u.whole", 30, 0x35, 0x4043300000000ull },
		{ OBJECT("U.MAYBE", "\"EventCode\": \"0x83\", \"Unit\": \"IIO\", \"Filter\": \"fc, chnl\""),
		  "u.maybe", 23, 0x83, 0 },
		{ OBJECT("U.PORT", "\"EventCode\": \"0x83\", \"UMask\": \"0x4\", \"Unit\": \"IIO\", "
				   "\"PortMask\": \"0x01\", \"FCMask\": \"0x07\""),
		  "u.port", 23, 0x483 | 1ull << 36 | 7ull << 44, 0 },
		{ OBJECT("U.EXT", "\"EventCode\": \"0x3\", \"ExtSel\": \"1\", \"Unit\": \"QPI LL\""), "u.ext", 24,
		  0x3 | 1 << 21, 0 },
		{ OBJECT("L3.X", "\"EventCode\": \"0x04\", \"UMask\": \"0xff\", \"Unit\": \"L3PMC\", "
				 "\"EnAllSlices\": \"0x1\", \"EnAllCores\": \"0x1\", \"SliceId\": \"0x3\", "
				 "\"ThreadMask\": \"0x3\""),
		  "l3.x", 25, 0xff04 | 1ull << 46 | 1ull << 47 | 3ull << 48 | 3ull << 56, 0 },
		{ OBJECT("DDRC", "\"ConfigCode\": \"0x7\", \"Unit\": \"hisi_sccl,ddrc\""), "ddrc", 26, 7, 0 },
		{ OBJECT("HNF", "\"EventidCode\": \"0x3\", \"NodeType\": \"0x5\", \"RdWrMask\": \"0x2\", "
				"\"Unit\": \"arm_cmn\", \"Compat\": \"(434|436|43c|43a).*\""),
		  "hnf", 27, 5 | 3 << 16 | 2ull << 30, 0 },
		{ OBJECT("SLOW", "\"EventCode\": \"0xc0\", \"Unit\": \"cpu_lowpower\""), "slow", 31, 0xc0, 0 },
		{ OBJECT("CRYPTO", "\"EventCode\": \"64\", \"Unit\": \"CPU-M-CF\""), "crypto", 29, 64, 0 },
	};

	for (size_t i = 0; i < COUNT(row); i++) {
		struct buf text = BUF_INIT, notes = BUF_INIT;
		struct event_set set;

		buf_printf(&text, "[%s]", row[i].object);
		if (load_text(buf_str(&text), &notes) != 1)
			fail_msg("%s: %s", row[i].name, buf_str(&notes));
		set = resolve(row[i].name);
		assert_int_equal(set.n, 1);
		if (set.event[0].type != row[i].type || set.event[0].config[0] != row[i].config ||
		    set.event[0].config[1] != row[i].config1)
			fail_msg("%s: type %u, 0x%llx, 0x%llx", row[i].name, set.event[0].type,
				 (unsigned long long)set.event[0].config[0],
				 (unsigned long long)set.event[0].config[1]);
		event_set_release(&set);
		buf_release(&text);
		buf_release(&notes);
	}
}

static void test_directories(void **state)
{
	struct buf notes = BUF_INIT;
	struct error e = { 0 };
	struct vendor_events *v = NULL;
	struct event_set set;
	char path[200];

	write_file("mapfile.csv", "Family-model,Version,Filename,EventType\n"
				  "GenuineIntel-6-(4E|55),v1,big,core\n0x00000000410fd490,v1,arm/n2,core\n");
	write_file("common.json", "[" OBJECT("STALL", "\"EventCode\": \"0x23\", \"BriefDescription\": \"std\"") "]");
	write_file("big/a.json", "[" OBJECT("BIG.A", "\"EventCode\": \"0x1\"") "]");
	write_file("big/b.json", "[" OBJECT("BIG.B", "\"EventCode\": \"0x2\"") ", {\"MetricName\": \"m\"}]");
	write_file("big/README", "no JSON");
	write_file("arm/n2/x.json", "[{\"ArchStdEvent\": \"STALL\"}, {\"ArchStdEvent\": \"STALL\", "
				    "\"EventName\": \"STALL_TOO\", \"BriefDescription\": \"own\"}]");
	/* A map may leave out the stepping, and Arm's revision. */
	assert_int_equal(load(dir, "GenuineIntel-6-55-7", &notes), 2);
	set = resolve("big.a,big.b");
	assert_int_equal(set.event[1].config[0], 2);
	event_set_release(&set);
	assert_int_equal(load(dir, "0x00000000413fd491", &notes), 2);
	set = resolve("stall,stall_too");
	assert_int_equal(set.event[0].config[0], 0x23);
	assert_int_equal(set.event[1].config[0], 0x23);
	event_set_release(&set);
	assert_string_equal(pmus[0].alias[pmus[0].n_aliases - 1].help, "own");
	assert_string_equal(pmus[0].alias[pmus[0].n_aliases - 2].help, "std");
	assert_int_equal(vendor_events_load(&v, dir, NULL, NULL, &e), -ENOENT);
	assert_non_null(strstr(e.text, "no line for this CPU (whose id is not known)"));
	e = (struct error){ 0 };
	/* The folder of one CPU finds what it refers to above it. */
	snprintf(path, sizeof(path), "%s/arm/n2", dir);
	assert_int_equal(load(path, NULL, &notes), 2);
	assert_string_equal(buf_str(&notes), "");
	assert_int_equal(vendor_events_load(&v, dir, NULL, "GenuineIntel-6-56-1", &e), -ENOENT);
	assert_non_null(strstr(e.text, "no line for this CPU (GenuineIntel-6-56-1)"));
	assert_null(v);
	/* Formulas write Arm's numbers without zeros; a variant and revision are the first ones that are meant. */
	assert_true(vendor_is_cpu("0x410fd490", "0x00000000410fd490"));
	assert_true(vendor_is_cpu("GenuineIntel-6-(3D|47)", "GenuineIntel-6-47-2"));
	assert_false(vendor_is_cpu("GenuineIntel-6-(3D|47)", "GenuineIntel-6-48"));
	assert_true(vendor_is_cpu("AuthenticAMD-1|GenuineIntel-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("A(b)|GenuineIntel-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("[(]|GenuineIntel-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("A\\(|GenuineIntel-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("GenuineIntelX*-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("GenuineIntelX{0,1}-6-47", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("GenuineIntel-6-47-?", "GenuineIntel-6-47"));
	assert_true(vendor_is_cpu("GenuineIntel-6-47", "GenuineIntel-6-47-2"));
	assert_false(vendor_is_cpu("GenuineIntel-6-47+1", "GenuineIntel-6-47-2"));
	assert_true(vendor_is_cpu("GenuineIntel-6-47+", "GenuineIntel-6-477"));
	assert_true(vendor_is_cpu("0x410fd493", "0x00000000411fd490"));
	assert_false(vendor_is_cpu("0x410fd493", "0x00000000410fd492"));
	assert_false(vendor_is_cpu("0x410fd490", "0x00000000410fd4f0"));
	buf_release(&notes);
}

static void test_left_out(void **state)
{
	static const struct {
		const char *object, *says;
	} row[] = {
		{ OBJECT("X.MSR", "\"EventCode\": \"1\", \"MSRIndex\": \"0x777\""), "x.msr|MSRIndex" },
		{ OBJECT("X.CODE", "\"EventCode\": \"zzz\""), "x.code|EventCode is not a number" },
		{ OBJECT("X.MASK", "\"EventCode\": \"1\", \"UMask\": \"-\""), "x.mask|UMask is not a number" },
		{ OBJECT("X.FILTER", "\"EventCode\": \"1\", \"Filter\": \"HA_AddrMatch0[31:6]\""),
		  "x.filter|Filter" },
		{ OBJECT("X Y", "\"EventCode\": \"1\""), "x y|name cannot be used" },
		{ "{\"ArchStdEvent\": \"NOWHERE\"}", "nowhere|ArchStdEvent" },
	};

	for (size_t i = 0; i < COUNT(row); i++) {
		struct buf text = BUF_INIT, notes = BUF_INIT;

		buf_printf(&text, "[%s, " OBJECT("GOOD", "\"EventCode\": \"7\"") "]", row[i].object);
		assert_int_equal(load_text(buf_str(&text), &notes), 1);
		if (!strstr(buf_str(&notes), strchr(row[i].says, '|') + 1))
			fail_msg("%s: '%s'", row[i].says, buf_str(&notes));
		buf_release(&text);
		buf_release(&notes);
	}
}

static void test_wrong_files(void **state)
{
	static const struct {
		const char *text, *says;
	} row[] = {
		{ "{", "line 1" },
		{ "{}", "neither events nor metrics" },
		{ "[]", "no object there has an EventName" },
		{ "[1, \"x\", null, {}]", "no object there has an EventName" },
		{ "[{\"MetricName\": \"x\"}]", "no object there has an EventName" },
	};
	struct vendor_events *v = NULL;
	struct buf notes = BUF_INIT;
	struct error e = { 0 };

	for (size_t i = 0; i < COUNT(row); i++) {
		assert_true(vendor_events_load(&v, write_file("x.json", row[i].text), NULL, NULL, &e) < 0);
		assert_null(v);
		if (!strstr(e.text, row[i].says) || !strstr(e.text, "x.json"))
			fail_msg("%s: %s", row[i].text, e.text);
	}
	assert_int_equal(vendor_events_load(&v, "/nowhere/at/all", NULL, NULL, &e), -ENOENT);
	/* What was read before stays. */
	assert_int_equal(vendor_events_load(&v, write_file("y.json", "[" OBJECT("Y", "\"EventCode\": \"1\"") "]"),
					    NULL, NULL, &e),
			 0);
	assert_int_equal(vendor_events_load(&v, write_file("x.json", "[]"), NULL, NULL, &e), -ENODATA);
	assert_int_equal(vendor_events_apply(v, pmus, COUNT(rows), &notes), 1);
	vendor_events_free(v);
}

static int apply_packed(const char *words)
{
	static const char rows_text[] = "inst_retired.any\t\t\t\tevent=0xc0\t\t\tInstructions\n"
					"llc.reads\tiMC\t\tp\tevent=0x4\t64\tBytes\tReads\n"
					"old\t\t\td\tevent=0x1\n"
					"no_terms\t\t\t\n"
					"\t\t\t\tevent=0x3\n"
					"with-dash\t\t\t\tevent=0x2\t\t\tDash";
	SCOPED(buf_release) struct buf notes = BUF_INIT;
	struct vendor_events *v = NULL;
	int n;

	vendor_events_unpack(&v, strdup(rows_text), NULL);
	if (words)
		vendor_events_words(v, words);
	n = vendor_events_apply(v, pmus, COUNT(rows), &notes);
	vendor_events_free(v);
	return n;
}

static const struct event_alias *alias_of(const struct event_pmu *pmu, const char *name)
{
	for (size_t i = 0; i < pmu->n_aliases; i++)
		if (!strcmp(pmu->alias[i].name, name))
			return &pmu->alias[i];
	return NULL;
}

/* What a pack has of each event; of those that are not named, nothing is applied but what no formula can name. */
static void test_packed(void **state)
{
	char word[300];
	const struct event_alias *a;

	assert_int_equal(apply_packed(NULL), 5);
	a = alias_of(&pmus[1], "llc.reads");
	assert_non_null(a);
	assert_non_null(alias_of(&pmus[2], "llc.reads"));
	assert_string_equal(a->text, "event=0x4");
	assert_string_equal(a->scale, "64");
	assert_string_equal(a->unit, "Bytes");
	assert_true(a->per_pkg);
	a = alias_of(&pmus[0], "inst_retired.any");
	assert_string_equal(a->help, "Instructions");
	assert_null(a->scale);
	assert_false(a->per_pkg);
	assert_string_equal(alias_of(&pmus[0], "with-dash")->help, "Dash");
	assert_non_null(alias_of(&pmus[0], "old"));
	tear_down(state);
	set_up(state);
	assert_int_equal(apply_packed("100 * INST_RETIRED.ANY / cpu@old\\-one@"), 3);
	assert_null(alias_of(&pmus[0], "old")->help);
	assert_null(alias_of(&pmus[1], "llc.reads"));
	tear_down(state);
	set_up(state);
	/* A word that is longer than any name is a word, too. */
	memset(word, 'x', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(apply_packed(word), 1);
}

/* A line for each event, as packs have them. */
static void test_printed(void **state)
{
	static const char json[] =
		"[{\"EventName\": \"A.ONE\", \"EventCode\": \"0x1\", \"BriefDescription\": \"tab\\tand\\r\\nline\"},"
		" {\"EventName\": \"B.TWO\", \"EventCode\": \"0x2\", \"PerPkg\": \"1\", \"Unit\": \"iMC\","
		"  \"ScaleUnit\": \"6.1e-5MiB\"},"
		" {\"EventName\": \"C.THREE\", \"EventCode\": \"0x3\", \"PerPkg\": \"1\", \"Unit\": \"CHA\","
		"  \"Deprecated\": \"1\"},"
		" {\"EventName\": \"D.FOUR\", \"EventCode\": \"0x4\", \"Deprecated\": \"1\","
		"  \"ScaleUnit\": \"2Eggs\"},"
		" {\"EventName\": \"E:request=ANY:response=HIT\", \"EventCode\": \"0xb7\"}]";
	struct buf lines = BUF_INIT, notes = BUF_INIT;
	struct vendor_docs docs = { 0 };
	struct error e = { 0 };
	const char *path = write_file("printed.json", json);

	assert_int_equal(vendor_events_convert(&docs, true, &lines, &notes), 0);
	assert_int_equal(vendor_docs_load(&docs, path, NULL, NULL, &e), 0);
	assert_int_equal(vendor_events_convert(&docs, true, &lines, &notes), 5);
	assert_string_equal(buf_str(&lines), "a.one\t\t\t\tevent=0x1\t\t\ttab and  line\n"
					     "b.two\tiMC\t\tp\tevent=0x2\t6.1e-5\tMiB\t\n"
					     "c.three\tCHA\t\tpd\tevent=0x3\t\t\t\n"
					     "d.four\t\t\td\tevent=0x4\t2\tEggs\t\n"
					     "e.any.hit\t\t\t\tevent=0xb7\t\t\t\n");
	buf_clear(&lines);
	assert_int_equal(vendor_events_convert(&docs, false, &lines, &notes), 5);
	assert_true(!strncmp(buf_str(&lines), "a.one\t\t\t\tevent=0x1\t\t\t\n", 22));
	assert_string_equal(buf_str(&notes), "");
	vendor_docs_release(&docs);
	buf_release(&lines);
}

static void test_patterns(void **state)
{
	char pattern[4096];

	assert_true(vendor_is_pattern("GenuineIntel-6-(4E|5[5-7])"));
	assert_true(vendor_is_pattern(""));
	assert_true(vendor_matches("ab+c", "abbc"));
	assert_false(vendor_matches("abc", "abcdef"));
	assert_false(vendor_is_pattern("GenuineIntel-6-(4E"));
	assert_false(vendor_is_pattern("a\tb"));
	memset(pattern, 'x', sizeof(pattern));
	pattern[sizeof(pattern) - 1] = '\0';
	assert_false(vendor_is_pattern(pattern));
}

UNIT_TESTS(cmocka_unit_test_setup_teardown(test_fields, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_directories, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_left_out, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_wrong_files, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_packed, set_up, tear_down),
	   cmocka_unit_test_setup_teardown(test_printed, set_up, tear_down), cmocka_unit_test(test_patterns))
