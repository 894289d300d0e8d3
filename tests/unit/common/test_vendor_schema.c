/* Metrics and events in the words of Intel and Arm, and what they are in perf's. */
#include "common/vendor_docs.c"
#include "tests/unit/lib/test.h"

/* Single quotes stand for double ones. */
static struct json *parse(const char *text)
{
	struct error e = { 0 };
	char with[4096];
	struct json *j;

	snprintf(with, sizeof(with), "%s", text);
	for (char *c = with; (c = strchr(c, '\''));)
		*c = '"';
	j = json_parse(with, strlen(with), &e);
	if (!j)
		fail_msg("%s", e.text);
	return j;
}

static struct json *convert(const char *text, const char *pmu)
{
	SCOPED(vendor_docs_release) struct vendor_docs d = { 0 };
	struct json *j;

	(void)add_doc(&d, parse(text), pmu, false, NULL);
	j = d.doc[0];
	d.n_docs = 0;
	return j;
}

static const char *text_of(const struct json *list, size_t i, const char *key)
{
	return json_text(json_get(json_at(list, i), key), "none");
}

/* ---- Intel ---- */

static const char unknown[] = "\"a constant or a modifier that is not known\"";

/* Events a to d, constants x and y. */
static void formula(const char *intel, const char *pmu, const char *want)
{
	char text[2048];
	struct json *j;

	snprintf(text, sizeof(text),
		 "{'Metrics':[{'MetricName':'m','Formula':'%s','Events':["
		 "{'Name':'INST_RETIRED.ANY','Alias':'a'},"
		 "{'Name':'UOPS_RETIRED.MS:c1:e1','Alias':'b'},"
		 "{'Name':'CPU_CLK_UNHALTED.THREAD:SUP','Alias':'c'},"
		 "{'Name':'TOPDOWN.SLOTS:perf_metrics','Alias':'d'},"
		 "{'Name':'UNC_CHA_CLOCKTICKS:one_unit','Alias':'e'},"
		 "{'Name':'OCR.READS:ocr_msr_val=0x10:u0x3:i1:USER','Alias':'f'},"
		 "{'Name':'A.B:c','Alias':'g'},"
		 "{'Name':'A.B:z1','Alias':'h'},"
		 "{'Name':'A.B:c1x','Alias':'i'},"
		 "{'Name':':c1','Alias':'k'},"
		 "{'Name':'PERF_METRICS.RETIRING','Alias':'l'},"
		 "{'Name':'TSC','Alias':'m'}],'Constants':["
		 "{'Name':'THREADS_PER_CORE','Alias':'x'},"
		 "{'Name':'CHAS_PER_SOCKET','Alias':'y'},"
		 "{'Name':'2.5','Alias':'z'},"
		 "{'Name':'SOCKET_COUNT','Alias':'w'},"
		 "{'Name':'NEVER_HEARD_OF','Alias':'v'}]}]}",
		 intel);
	j = convert(text, pmu);
	assert_int_equal(json_count(j), 1);
	assert_string_equal(text_of(j, 0, "MetricExpr"), want);
	json_free(j);
}

static void aliases_are_replaced(void **state)
{
	formula("a", NULL, "INST_RETIRED.ANY");
	formula("100 * ( a / 2.5e3 ) - A", NULL, "100 * ( INST_RETIRED.ANY / 2.5e3 ) - INST_RETIRED.ANY");
	formula("min ( a , 1 ) if a > 2 else max(a,0)", NULL,
		"min ( INST_RETIRED.ANY , 1 ) if INST_RETIRED.ANY > 2 else max(INST_RETIRED.ANY,0)");
	formula("a.b", NULL, unknown);
	formula("a_b", NULL, unknown);
	formula("nowhere", NULL, unknown);
	formula("", NULL, unknown);
	formula("a + a23456789012345678901234567890123456789012345678901234567890123", NULL, unknown);
}

static void modifiers_are_terms_or_letters(void **state)
{
	formula("b", NULL, "cpu@UOPS_RETIRED.MS,cmask=1,edge=1@");
	formula("b", "cpu_atom", "cpu_atom@UOPS_RETIRED.MS,cmask=1,edge=1@");
	formula("c", NULL, "cpu@CPU_CLK_UNHALTED.THREAD@k");
	formula("f", NULL, "cpu@OCR.READS,offcore_rsp=0x10,umask=0x3,inv=1@u");
	formula("e", NULL, "(UNC_CHA_CLOCKTICKS / source_count(UNC_CHA_CLOCKTICKS))");
	formula("l", NULL, "topdown\\-retiring");
	formula("m", NULL, "msr@tsc@");
	formula("g", NULL, unknown);
	formula("h", NULL, unknown);
	formula("i", NULL, unknown);
	formula("k", NULL, unknown);
	/* It says which counter it is on, which perf knows. */
	formula("d", NULL, "TOPDOWN.SLOTS");
}

static void constants_are_of_the_machine(void **state)
{
	formula("x", NULL, "(#num_cpus_online / #num_cores)");
	formula("x", "cpu_core", "(1 + #smt_on)");
	formula("x", "cpu_atom", "1");
	formula("y", NULL, "source_count(UNC_CHA_CLOCKTICKS)");
	formula("z + w", NULL, "2.5 + #num_packages");
	formula("v", NULL, unknown);
	/* Without an alias. */
	formula("HYPERTHREADING_ON", NULL, "#smt_on");
}

UNIT_TESTS(cmocka_unit_test(aliases_are_replaced), cmocka_unit_test(modifiers_are_terms_or_letters),
	   cmocka_unit_test(constants_are_of_the_machine))
