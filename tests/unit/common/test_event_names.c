/* Names around events: those that may have been meant, letters of modifiers, names of PMUs, and rows of the catalog. */
#include <strings.h>

#include "common/catalog/catalog.h"
#include "common/catalog/pmu_class.h"
#include "common/parse.h"
#include "tests/unit/lib/test.h"

static void what_may_have_been_meant(void **state)
{
	static const struct {
		const char *word, *offers[6], *text;
	} cases[] = {
		{ "cycle", { "cycles" }, "; did you mean \"cycles\"?" },
		{ "cycle", { "none", "cycles" }, "; did you mean \"cycles\"?" },
		/* Short words may differ in one letter, longer ones in two, long ones in three. */
		{ "cyc", { "cyb" }, "; did you mean \"cyb\"?" },
		{ "cyc", { "cab" }, "" },
		{ "cycl", { "cabl" }, "; did you mean \"cabl\"?" },
		{ "cycl", { "cabx" }, "" },
		{ "ninechars", { "ninechaxyz" }, "" },
		{ "tenletters", { "tenlettxyz" }, "; did you mean \"tenlettxyz\"?" },
		{ "tenletters", { "tenletwxyz" }, "" },
		/* The beginning of a word, from four letters on, is less likely than a mistake. */
		{ "cyc", { "cycles" }, "" },
		{ "inst", { "instructions" }, "; did you mean \"instructions\"?" },
		{ "INST", { "instructions" }, "; did you mean \"instructions\"?" },
		{ "inst", { "instructions", "insx" }, "; did you mean \"insx\"?" },
		{ "inst", { "insx", "instructions" }, "; did you mean \"insx\"?" },
		{ "inst", { "xinstructions" }, "" },
		/* Of too few letters. */
		{ "cycles", { "cycl" }, "; did you mean \"cycl\"?" },
		{ "cycles", { "cyc" }, "" },
		/* Up to three that are as near, each once; capitals are nearest. */
		{ "abcd",
		  { "abce", "abcf", "abcf", "abcg", "abch" },
		  "; did you mean \"abce\", \"abcf\", \"abcg\"?" },
		{ "CYCLES", { "CYCLEX", "cycles", "CYCLEY" }, "; did you mean \"cycles\"?" },
		{ "abcd", { "" }, "" },
	};
	char text[256], name[80];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nearest near = { .word = cases[i].word };

		for (size_t k = 0; k < 6 && cases[i].offers[k]; k++)
			nearest_offer(&near, cases[i].offers[k]);
		nearest_text(&near, NULL, text, sizeof(text));
		if (strcmp(text, cases[i].text))
			fail_msg("%s: %s", cases[i].word, text);
	}
	/* For names there is room for 63 letters. */
	for (size_t len = 63; len <= 64; len++) {
		struct nearest near = { .word = name };
		char other[80];

		memset(name, 'a', len);
		name[len] = '\0';
		memcpy(other, name, len + 1);
		other[5] = 'b';
		nearest_offer(&near, other);
		assert_int_equal(near.n, len == 63);
	}
}

static void names_of_pmus_have_parts(void **state)
{
	static const struct {
		const char *name, *stem;
		int number, rc;
	} cases[] = {
		{ "nvidia_ucf_pmu_0", "ucf", 0, -1 },
		{ "nvidia_pcie_pmu_1_rc_14", "pcie", 1, 14 },
		{ "nvidia_cxlmem_pmu_12_chiplet_3", "cxlmem", 12, 3 },
		{ "nvidia_a_pmu_b_pmu_7", "a_pmu_b", 7, -1 },
		{ "nvidia_ucf_pmu_1000000", "ucf", 1000000, -1 },
		{ "nvidia_ucf_pmu_10000000", NULL, 0, 0 },
		{ "nvidia__pmu_0", NULL, 0, 0 },
		{ "nvidia_ucf_pmu_", NULL, 0, 0 },
		{ "nvidia_ucf_pmu_0_zz_1", NULL, 0, 0 },
		{ "nvidia_ucf_pmu_0_rc_", NULL, 0, 0 },
		{ "nvidia_ucf_pmu_0_rc_1x", NULL, 0, 0 },
		{ "nvidia_ucf_pmu_0x", NULL, 0, 0 },
		{ "nvidia_ucf", NULL, 0, 0 },
		{ "uncore_ucf_pmu_0", NULL, 0, 0 },
	};
	struct pmu_name n;
	char name[100];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(pmu_name_parse(cases[i].name, &n), cases[i].stem != NULL);
		if (!cases[i].stem)
			continue;
		assert_string_equal(n.stem, cases[i].stem);
		assert_int_equal(n.number, cases[i].number);
		assert_int_equal(n.rc, cases[i].rc);
	}
	for (size_t len = sizeof(n.stem) - 1; len <= sizeof(n.stem); len++) {
		snprintf(name, sizeof(name), "nvidia_%0*d_pmu_0", (int)len, 0);
		assert_int_equal(pmu_name_parse(name, &n), len < sizeof(n.stem));
	}
}

UNIT_TESTS(cmocka_unit_test(what_may_have_been_meant), cmocka_unit_test(names_of_pmus_have_parts))
