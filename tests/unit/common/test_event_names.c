/* Names around events: those that may have been meant, letters of modifiers, names of PMUs, and rows of the catalog. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "common/catalog/catalog.h"
#include "common/catalog/pmu_class.h"
#include "common/event/resolve.h"

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
		nearest_text(&near, text, sizeof(text));
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

static void few_names_are_listed(void **state)
{
	struct listing l = { 0 };

	assert_string_equal(listing_text(&l, "it has"), "");
	listing_add(&l, "a");
	listing_add(&l, "bc");
	assert_string_equal(listing_text(&l, "it has"), "; it has a, bc");
	for (unsigned n = 11; n <= 12; n++) {
		l = (struct listing){ 0 };
		for (unsigned i = 0; i < n; i++)
			listing_add(&l, "0123456789");
		assert_int_equal(strlen(listing_text(&l, "here are")), n == 11 ? 2 + 8 + 1 + 130 - 2 : 0);
	}
}

static void modifiers_are_letters(void **state)
{
	static const struct {
		const char *text, *printed;
		size_t wrong;
	} cases[] = {
		{ "u", "u", 0 },     { "Hku", "ukH", 0 },     { "p", "p", 0 },     { "pp", "pp", 0 },
		{ "ppp", "ppp", 0 }, { "pupkp", "ukppp", 0 }, { "GIh", "hIG", 0 }, { "XRbWeDSP", "PSDeWbRX", 0 },
		{ "pppp", NULL, 4 }, { "uu", NULL, 2 },       { "z", NULL, 1 },    { "uz", NULL, 2 },
		{ "", "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = BUF_INIT;
		uint32_t mods;

		assert_int_equal(event_mods_parse(cases[i].text, strlen(cases[i].text), &mods), cases[i].wrong);
		if (cases[i].wrong)
			continue;
		event_mods_print(mods, &out);
		assert_string_equal(buf_str(&out), cases[i].printed);
		buf_release(&out);
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

static void rows_of_classes_are_found(void **state)
{
	char upper[64];

	for (const struct pmu_class *c = pmu_classes; c->name; c++) {
		assert_ptr_equal(pmu_class_named(c->name), c);
		for (const struct pmu_class_filter *f = c->filter; f && f->name; f++)
			assert_ptr_equal(pmu_class_filter(c, f->name), f);
		if (c->filter)
			assert_null(pmu_class_filter(c, "nothing"));
		for (const struct pmu_class_event *e = c->event; e->name; e++) {
			const struct pmu_class_event *coded = pmu_class_event_coded(c, e->code);

			snprintf(upper, sizeof(upper), "%s", e->name);
			for (char *at = upper; *at; at++)
				*at = (char)(*at >= 'a' && *at <= 'z' ? *at - 32 : *at);
			if (strlen(e->name) < sizeof(upper))
				assert_string_equal(pmu_class_event(c, upper)->name, e->name);
			/* Where codes are not all of it, none stands for an event. */
			assert_int_equal(coded == NULL, c->pmu != NULL);
			assert_true(!coded || (coded->code == e->code && coded <= e));
		}
		assert_null(pmu_class_event(c, "nothing"));
		assert_null(pmu_class_event_coded(c, UINT64_MAX));
	}
	assert_null(pmu_class_named("nothing"));
}

static void rows_of_sources_are_found(void **state)
{
	size_t n;

	for (const struct catalog_table *t = catalog_tables; t->source; t++) {
		assert_ptr_equal(catalog_source(t->source, &n), t->row);
		assert_int_equal(n, t->n);
		for (size_t i = 0; i < t->n; i++)
			if (t->row[i].key)
				assert_string_equal(catalog_find(t->source, t->row[i].key)->key, t->row[i].key);
		assert_null(catalog_find(t->source, "nothing of it"));
	}
	catalog_source("nothing", &n);
	assert_int_equal(n, 0);
	assert_null(catalog_find("nothing", "x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_may_have_been_meant),  cmocka_unit_test(few_names_are_listed),
		cmocka_unit_test(modifiers_are_letters),     cmocka_unit_test(names_of_pmus_have_parts),
		cmocka_unit_test(rows_of_classes_are_found), cmocka_unit_test(rows_of_sources_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
